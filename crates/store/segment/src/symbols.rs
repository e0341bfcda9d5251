//! Byte strings by a table of symbols: FSST (Boncz, Neumann and Leis, VLDB 2020), by the crate `fsst-rs`.
//!
//! ```text
//!   n 1 | length of each symbol 1 | symbols, 8 bytes each, zeros after their length | strings
//! ```
//! Every byte of a string stands for the symbol of that number, of up to eight bytes; after 255 a byte stands for itself. So any string
//! is read without those beside it.

use fsst::Compressor;
use mangrove_graph::Result;

use crate::corrupt;

const ESCAPE: u8 = 255;
const SYMBOL: usize = 8;

/// A table of symbols, read in place.
#[derive(Clone, Copy, Debug)]
pub struct Symbols<'a> {
    lengths: &'a [u8],
    symbols: &'a [[u8; SYMBOL]],
}

impl<'a> Symbols<'a> {
    /// Takes a table off the front of `data`.
    pub fn split(data: &'a [u8]) -> Result<(Self, &'a [u8])> {
        let early = || corrupt("a table of symbols ends early");
        let (n, rest) = data.split_first().ok_or_else(early)?;
        let (lengths, rest) = rest.split_at_checked(usize::from(*n)).ok_or_else(early)?;
        let (symbols, rest) = rest.split_at_checked(usize::from(*n) * SYMBOL).ok_or_else(early)?;
        Ok((Self { lengths, symbols: symbols.as_chunks().0 }, rest))
    }

    /// The string that `codes` stand for. O(its length).
    pub fn decode(&self, codes: &[u8]) -> Result<Vec<u8>> {
        // Whole symbols are copied, and what is beyond their lengths is written over.
        let mut out = vec![0; codes.len() * SYMBOL];
        let (mut end, mut codes) = (0, codes.iter());
        while let Some(code) = codes.next() {
            if *code == ESCAPE {
                out[end] = *codes.next().ok_or_else(|| corrupt("a string ends early"))?;
                end += 1;
                continue;
            }
            let code = usize::from(*code);
            let (Some(symbol), Some(length)) = (self.symbols.get(code), self.lengths.get(code)) else {
                return Err(corrupt("a symbol beyond its table"));
            };
            out[end..end + SYMBOL].copy_from_slice(symbol);
            end += usize::from(*length).min(SYMBOL);
        }
        out.truncate(end);
        Ok(out)
    }
}

/// The table that suits these strings, and what they are by it.
pub fn encode(strings: &Vec<&[u8]>) -> (Vec<u8>, Vec<Vec<u8>>) {
    let compressor = Compressor::train(strings);
    let (symbols, lengths) = (compressor.symbol_table(), compressor.symbol_lengths());
    let mut table = vec![lengths.len() as u8];
    table.extend_from_slice(lengths);
    symbols.iter().take(lengths.len()).for_each(|symbol| table.extend_from_slice(&symbol.to_u64().to_le_bytes()));
    (table, compressor.compress_bulk(strings))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn strings() -> impl Strategy<Value = Vec<Vec<u8>>> {
        let text = prop_oneof!["[a-c]{0,40}".prop_map(String::into_bytes), prop::collection::vec(any::<u8>(), 0..20)];
        prop::collection::vec(text, 0..200)
    }

    proptest! {
        #[test]
        fn strings_come_back(strings in strings()) {
            let (table, encoded) = encode(&strings.iter().map(|string| &string[..]).collect());
            let bytes = [&table[..], &[7]].concat();
            let (symbols, rest) = Symbols::split(&bytes).unwrap();
            prop_assert_eq!(rest, &[7]);
            for (string, codes) in strings.iter().zip(&encoded) {
                prop_assert_eq!(&symbols.decode(codes).unwrap(), string);
            }
        }

        #[test]
        fn damaged_tables_are_refused_or_read(data in prop::collection::vec(any::<u8>(), 0..600), codes in prop::collection::vec(any::<u8>(), 0..50)) {
            if let Ok((symbols, _)) = Symbols::split(&data) {
                let _ = symbols.decode(&codes);
            }
        }
    }

    #[test]
    fn text_takes_less_room() {
        let words = ["harbour ", "lantern ", "meadow ", "thistle ", "orchard "];
        let strings: Vec<String> =
            (0..1000usize).map(|i| (0..9).map(|j| words[(i * 7 + j * j * (i % 11)) % 5]).collect()).collect();
        let (table, encoded) = encode(&strings.iter().map(|string| string.as_bytes()).collect());
        let raw: usize = strings.iter().map(String::len).sum();
        let packed = table.len() + encoded.iter().map(Vec::len).sum::<usize>();
        assert!(packed * 5 < raw, "{packed} of {raw}");
    }
}
