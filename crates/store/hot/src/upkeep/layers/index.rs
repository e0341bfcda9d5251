//! Indexes of a new segment. They merge, in order, the pairs of value and place that the layers have and that still hold.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use mangrove_graph::{Cell, PropertyId, Result};
use mangrove_segment::index::{PAIRS_MAX, Pair, VALUE_BYTES};

use super::Layers;
use crate::format::index::{self, IndexEntry};
use crate::format::key::{Column, block_slot};
use crate::segments::sealing::Sealing;
use crate::system::fault::lmdb;

type Pairs<'a> = Box<dyn Iterator<Item = Result<Pair>> + 'a>;

impl Layers<'_> {
    /// Seals an index. O(pairs · log(layers)), with memory for a chunk of each layer.
    pub(super) fn index(&self, sealing: &mut Sealing, of: PropertyId) -> Result<()> {
        let mut sources = Vec::new();
        if self.tables {
            sources.push(self.tabled(of)?);
        }
        sources.extend((0..self.segments.len()).map(|at| self.of_segment(at, of)));
        let (mut next, mut chunk, mut bytes, mut chunks) = (BinaryHeap::new(), Vec::new(), 0, 0);
        let mut last: Option<Pair> = None;
        for (at, source) in sources.iter_mut().enumerate() {
            next.extend(source.next().transpose()?.map(|pair| Reverse((pair, at))));
        }
        while let Some(Reverse((pair, at))) = next.pop() {
            next.extend(sources[at].next().transpose()?.map(|pair| Reverse((pair, at))));
            if last.as_ref() == Some(&pair) {
                continue;
            }
            if last.as_ref().is_none_or(|(value, _)| *value != pair.0) {
                bytes += pair.0.len();
            }
            last = Some(pair.clone());
            chunk.push(pair);
            if chunk.len() == PAIRS_MAX || bytes > VALUE_BYTES {
                sealing.index(of, chunks, std::mem::take(&mut chunk))?;
                (bytes, chunks) = (0, chunks + 1);
            }
        }
        if chunk.is_empty() { Ok(()) } else { sealing.index(of, chunks, chunk) }
    }

    /// The pairs of the table whose elements will be sealed.
    fn tabled(&self, of: PropertyId) -> Result<Pairs<'_>> {
        let (from, to) = index::range(of);
        let range = (from.as_ref().map(Vec::as_slice), to.as_ref().map(Vec::as_slice));
        let rows = self.reader.tables.index.range(self.reader.txn, &range).map_err(lmdb)?;
        let end = self.end(of.kind, of.label);
        let pairs = rows.map(|row| {
            let (entry, _) = row.map_err(lmdb)?;
            let entry = IndexEntry::parse(entry)?;
            Ok((entry.value.into(), entry.place))
        });
        Ok(Box::new(pairs.filter(move |pair: &Result<Pair>| pair.as_ref().map_or(true, |(_, place)| *place < end))))
    }

    /// The pairs of a segment that still hold.
    fn of_segment(&self, at: usize, of: PropertyId) -> Pairs<'_> {
        let segment = &self.segments[at];
        let chunks = (0..segment.index_chunks(of)).flat_map(move |chunk| {
            let index = self.check().and_then(|()| segment.index(of, chunk));
            match index.and_then(|index| index.pairs()) {
                Ok(pairs) => pairs.into_iter().map(Ok).collect(),
                Err(error) => vec![Err(error)],
            }
        });
        let column = Column::holding(self.reader.schema, of.kind, of.label, of.key);
        Box::new(chunks.filter_map(move |pair| {
            let is_still = pair.as_ref().map_or(Ok(true), |pair| self.is_still(at, column, pair));
            match is_still {
                Ok(is_still) => is_still.then_some(pair),
                Err(error) => Some(Err(error)),
            }
        }))
    }

    /// Whether the element of a pair of the segment at `at` is alive and, by all layers, still has the value.
    fn is_still(&self, at: usize, column: Column, (value, place): &Pair) -> Result<bool> {
        let (block, slot) = block_slot(*place);
        if self.reader.dead(column.kind, column.label, block)? >> slot & 1 != 0 {
            return Ok(false);
        }
        let mut said = if self.tables { self.reader.said_by_tables(column, block)? } else { 0 };
        for newer in &self.segments[at + 1..] {
            said |= newer.says(column, block)?;
        }
        if said >> slot & 1 == 0 {
            return Ok(true);
        }
        let cell = self.block(column, block)?.1.map_or(Ok(Cell::Absent), |cells| cells.cell(slot))?;
        Ok(index::encoded(&cell).iter().any(|now| now[..] == **value))
    }
}
