//! Byte strings compressed by a table of symbols: FSST (Boncz, Neumann and Leis, VLDB 2020), with the crate `fsst-rs`.
//!
//! ```text
//!   n 1 | length of each symbol 1 | symbols, 8 bytes each, zeros after their length | strings
//! ```
//! Each byte of a string is the number of a symbol, which stands for up to eight bytes. The byte after 255 stands for itself. So
//! reading a string does not involve the strings beside it.

use std::cmp::Ordering;

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

    /// Decodes the string that `codes` stand for into a buffer, which grows as needed. O(its length).
    pub fn decode<'b>(&self, codes: &[u8], buffer: &'b mut Vec<u8>) -> Result<&'b [u8]> {
        buffer.clear();
        self.decode_into(codes, buffer)?;
        Ok(buffer)
    }

    /// Appends the string that `codes` stand for. O(its length).
    pub fn decode_into(&self, codes: &[u8], out: &mut Vec<u8>) -> Result<()> {
        // Copies whole symbols; the next copy overwrites the bytes beyond a symbol's length.
        let mut end = out.len();
        out.resize(end + codes.len() * SYMBOL, 0);
        let mut codes = codes.iter();
        while let Some(symbol) = self.next(&mut codes)? {
            out[end..end + SYMBOL].copy_from_slice(&symbol.0);
            end += symbol.1;
        }
        out.truncate(end);
        Ok(())
    }

    /// Decodes the string that `codes` stand for.
    pub fn decoded(&self, codes: &[u8]) -> Result<Vec<u8>> {
        let mut out = Vec::new();
        self.decode_into(codes, &mut out)?;
        Ok(out)
    }

    /// A decoder for many strings, one after the other.
    pub fn decoder(&self) -> Decoder {
        let mut decoder = Decoder { lengths: [0; 256], symbols: [[0; SYMBOL]; 256], out: Vec::new() };
        for (code, (symbol, length)) in self.symbols.iter().zip(self.lengths).enumerate() {
            (decoder.symbols[code], decoder.lengths[code]) = (*symbol, (*length).min(SYMBOL as u8));
        }
        decoder
    }

    /// Compares the string that `codes` stand for with another. O(length of the common prefix).
    pub fn compare(&self, codes: &[u8], mut with: &[u8]) -> Result<Ordering> {
        let mut codes = codes.iter();
        while let Some((symbol, length)) = self.next(&mut codes)? {
            let n = length.min(with.len());
            let (here, rest) = with.split_at(n);
            match symbol[..n].cmp(here) {
                Ordering::Equal if n < length => return Ok(Ordering::Greater),
                Ordering::Equal => with = rest,
                differs => return Ok(differs),
            }
        }
        Ok(if with.is_empty() { Ordering::Equal } else { Ordering::Less })
    }

    /// The bytes that the next code stands for, and how many they are.
    #[inline]
    fn next(&self, codes: &mut std::slice::Iter<'_, u8>) -> Result<Option<([u8; SYMBOL], usize)>> {
        let Some(code) = codes.next() else { return Ok(None) };
        if *code == ESCAPE {
            let byte = codes.next().ok_or_else(|| corrupt("a string ends early"))?;
            return Ok(Some((u64::from(*byte).to_le_bytes(), 1)));
        }
        match (self.symbols.get(usize::from(*code)), self.lengths.get(usize::from(*code))) {
            (Some(symbol), Some(length)) => Ok(Some((*symbol, usize::from(*length).min(SYMBOL)))),
            _ => Err(corrupt("a symbol beyond its table")),
        }
    }
}

/// A table of symbols copied out of its chunk, and space for a string.
pub struct Decoder {
    /// 0 where there is no symbol.
    lengths: [u8; 256],
    symbols: [[u8; SYMBOL]; 256],
    out: Vec<u8>,
}

impl Decoder {
    /// Decodes the string that `codes` stand for.
    pub fn decode(&mut self, codes: &[u8]) -> Result<&[u8]> {
        if self.out.len() < codes.len() * SYMBOL {
            self.out.resize(codes.len() * SYMBOL, 0);
        }
        let (mut end, mut at, mut known) = (0, 0, true);
        while let Some(code) = codes.get(at) {
            at += 1;
            if *code == ESCAPE {
                self.out[end] = *codes.get(at).ok_or_else(|| corrupt("a string ends early"))?;
                (at, end) = (at + 1, end + 1);
                continue;
            }
            let length = self.lengths[usize::from(*code)];
            self.out[end..end + SYMBOL].copy_from_slice(&self.symbols[usize::from(*code)]);
            end += usize::from(length);
            known &= length > 0;
        }
        if known { Ok(&self.out[..end]) } else { Err(corrupt("a symbol beyond its table")) }
    }
}

/// A trained table, which encodes strings.
pub struct Encoder {
    compressor: Compressor,
    table: Vec<u8>,
}

impl Encoder {
    /// Trains a table for strings like these.
    pub fn train(strings: &Vec<&[u8]>) -> Self {
        let compressor = Compressor::train(strings);
        let (symbols, lengths) = (compressor.symbol_table(), compressor.symbol_lengths());
        let mut table = vec![lengths.len() as u8];
        table.extend_from_slice(lengths);
        symbols.iter().take(lengths.len()).for_each(|symbol| table.extend_from_slice(&symbol.to_u64().to_le_bytes()));
        Self { compressor, table }
    }

    /// The bytes of the table.
    pub fn table(&self) -> &[u8] {
        &self.table
    }

    /// Encodes strings.
    pub fn encode_all(&self, strings: &[&[u8]]) -> Vec<Vec<u8>> {
        let table = Symbols::split(&self.table).map(|(table, _)| table).ok();
        // Never store what cannot be read back, even if the library has a bug.
        let is_read_back =
            |codes: &[u8], string: &[u8]| table.is_some_and(|table| table.compare(codes, string).is_ok_and(Ordering::is_eq));
        let encode = |string: &&[u8]| {
            let codes = self.compressor.compress(string);
            if is_read_back(&codes, string) { codes } else { escaped(string) }
        };
        strings.iter().map(encode).collect()
    }
}

/// Codes that stand for each byte of a string as it is.
fn escaped(string: &[u8]) -> Vec<u8> {
    string.iter().flat_map(|byte| [ESCAPE, *byte]).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn strings() -> impl Strategy<Value = Vec<Vec<u8>>> {
        let text = prop_oneof!["[a-c]{0,40}".prop_map(String::into_bytes), prop::collection::vec(any::<u8>(), 0..20)];
        prop::collection::vec(text, 0..60)
    }

    proptest! {
        #[test]
        fn strings_come_back(strings in strings(), escapes in any::<bool>()) {
            let all: Vec<&[u8]> = strings.iter().map(|string| &string[..]).collect();
            let encoder = Encoder::train(&all);
            let encoded = if escapes { strings.iter().map(|string| escaped(string)).collect() } else { encoder.encode_all(&all) };
            let bytes = [encoder.table(), &[7]].concat();
            let (symbols, rest) = Symbols::split(&bytes).unwrap();
            prop_assert_eq!(rest, &[7]);
            let mut buffer = vec![7; 3];
            for (string, codes) in strings.iter().zip(&encoded) {
                prop_assert_eq!(&symbols.decoded(codes).unwrap(), string);
                prop_assert_eq!(symbols.decode(codes, &mut buffer).unwrap(), &string[..]);
                let mut decoder = symbols.decoder();
                prop_assert_eq!(decoder.decode(codes).unwrap(), &string[..]);
                for other in &strings {
                    prop_assert_eq!(symbols.compare(codes, other).unwrap(), string.cmp(other));
                }
            }
        }

        #[test]
        fn damaged_tables_are_refused_or_read(data in prop::collection::vec(any::<u8>(), 0..600), codes in prop::collection::vec(any::<u8>(), 0..50)) {
            if let Ok((symbols, _)) = Symbols::split(&data) {
                let _ = (symbols.decoded(&codes), symbols.compare(&codes, b"lantern"), symbols.decoder().decode(&codes).is_ok());
            }
        }
    }

    #[test]
    fn text_takes_less_room() {
        let words = ["harbour ", "lantern ", "meadow ", "thistle ", "orchard "];
        let strings: Vec<String> =
            (0..1000usize).map(|i| (0..9).map(|j| words[(i * 7 + j * j * (i % 11)) % 5]).collect()).collect();
        let all = strings.iter().map(|string| string.as_bytes()).collect();
        let (encoder, encoded) = (Encoder::train(&all), Encoder::train(&all).encode_all(&all));
        let raw: usize = strings.iter().map(String::len).sum();
        let packed = encoder.table().len() + encoded.iter().map(Vec::len).sum::<usize>();
        assert!(packed * 5 < raw, "{packed} of {raw}");
    }
}
