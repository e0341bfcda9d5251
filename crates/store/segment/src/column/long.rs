//! Writes a column chunk whose values do not fit into memory together. It takes the cells one after the other, and writes their values at
//! once.

use mangrove_graph::{Cell, Encoding, Result, ValueType};

use super::encode::{Content, DICTIONARY_WORTH, header, raw_bytes};
use super::{BYTES, CELLS, POSITIONS, SYMBOLS};
use crate::file::{PartKey, PiecesWriter, SegmentWriter};
use crate::symbols::Encoder;
use crate::{bits, heap, value};

/// A column chunk that is being written.
pub struct LongValues<'w> {
    pieces: PiecesWriter<'w>,
    /// The type of all cells, if they are plain strings or bytes.
    value_type: Option<ValueType>,
    symbols: Option<Encoder>,
    /// For each position, the length of its value in the file; `None` without a cell.
    lengths: Vec<Option<usize>>,
}

impl<'w> LongValues<'w> {
    /// Begins a chunk. If all its cells are plain strings or bytes, `value_type` is their type, and `sample` are some of them. The sample
    /// tells whether a table of symbols pays.
    pub fn begin(file: &'w mut SegmentWriter, value_type: Option<ValueType>, encoding: Encoding, sample: &[Cell]) -> Self {
        let value_type = value_type.filter(|t| matches!(t, ValueType::String | ValueType::Bytes));
        let tried = value_type.filter(|_| encoding != Encoding::Plain);
        let symbols = tried.and_then(|_| trained(sample, encoding == Encoding::Symbols));
        Self { pieces: file.pieces(), value_type, symbols, lengths: Vec::new() }
    }

    /// Adds the cell of the next position.
    ///
    /// # Panics
    /// If there are more than [`POSITIONS`].
    pub fn put(&mut self, cell: &Cell) -> Result<()> {
        assert!(self.lengths.len() < POSITIONS);
        if cell.is_absent() {
            self.lengths.push(None);
            return Ok(());
        }
        let bytes = match (self.value_type, cell.values().next()) {
            (Some(_), Some(value)) => raw_bytes(value),
            _ => &value::cell_bytes(cell),
        };
        let encoded = self.symbols.as_ref().map(|symbols| symbols.encode_all(&[bytes]).concat());
        let bytes = encoded.as_deref().unwrap_or(bytes);
        self.lengths.push(Some(bytes.len()));
        self.pieces.write(bytes)
    }

    /// Completes the chunk.
    pub fn finish(self, key: PartKey) -> Result<()> {
        let form = match (self.value_type, &self.symbols) {
            (None, _) => CELLS,
            (_, None) => BYTES,
            (_, Some(_)) => SYMBOLS,
        };
        let (content, mut out) = (Content { form, value_type: self.value_type, ..Content::default() }, Vec::new());
        let lengths = self.lengths.iter().flatten();
        let cells = lengths.clone().count();
        header(&mut out, &content, self.lengths.len(), cells);
        if cells < self.lengths.len() {
            bits::encode(&mut out, &self.lengths.iter().map(Option::is_some).collect::<Vec<_>>());
        }
        out.extend_from_slice(self.symbols.as_ref().map_or(&[], Encoder::table));
        heap::starts(&mut out, lengths.copied());
        self.pieces.finish(key, &out)
    }
}

/// A table of symbols, if strings like these take less with it.
fn trained(sample: &[Cell], wanted: bool) -> Option<Encoder> {
    let strings: Vec<&[u8]> = sample.iter().flat_map(Cell::values).map(raw_bytes).collect();
    let size = |strings: &mut dyn Iterator<Item = usize>| strings.sum::<usize>() as f64;
    let encoder = Encoder::train(&strings);
    let plain = size(&mut strings.iter().map(|string| string.len()));
    let encoded = size(&mut strings.iter().map(|string| encoder.encode_all(&[string])[0].len()));
    (wanted || encoded < DICTIONARY_WORTH * plain).then_some(encoder)
}
