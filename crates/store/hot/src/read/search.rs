//! Searching text that is kept as a compressed suffix array, without reading all of it.

use std::collections::BTreeSet;

use mangrove_graph::{ElementKind, Encoding, KeyId, LabelId, Predicate, Result, VertexId};

use super::Reader;
use crate::block::{Body, SLOTS, slots};
use crate::filter;
use crate::key::{Column, vertex_at};
use crate::segment::{BLOCKS, Segment};

impl Reader<'_> {
    /// Whether values of a property are searchable for this where they are sealed.
    pub fn finds_text(&self, label: LabelId, key: KeyId, predicate: &Predicate) -> bool {
        let property = self.schema.label_schema(ElementKind::Vertex, label).and_then(|label| label.property(key));
        let encoding = property.map(|property| property.encoding).unwrap_or_default();
        matches!(encoding, Encoding::Searchable { .. }) && filter::is_found(predicate)
    }

    /// The vertices of a label of which some value matches, sorted. What the tables hold is looked through; in each sealed chunk
    /// that is searchable, it takes a few microseconds and one or two a hit.
    pub fn search_text(&self, label: LabelId, key: KeyId, predicate: &Predicate) -> Result<Vec<VertexId>> {
        let column = Column::property(ElementKind::Vertex, label, key);
        let mut found = BTreeSet::new();
        for segment in self.segments.list() {
            let chunks: BTreeSet<u64> = segment.column_chunks(column).collect();
            for chunk in chunks {
                self.search_chunk(segment, column, chunk, predicate, &mut found)?;
            }
        }
        let mut walk = self.column(column);
        let mut next = 0;
        while let Some((block, cells)) = walk.table_block_from(next)? {
            found.extend(places(block, filter::passing(&cells, predicate, u128::MAX)?));
            next = block + 1;
        }
        Ok(found.into_iter().map(|place| vertex_at(label, place)).collect())
    }

    /// Adds the places that match of a chunk of a segment, as far as it has the newest word on them.
    fn search_chunk(
        &self,
        segment: &Segment,
        column: Column,
        number: u64,
        predicate: &Predicate,
        out: &mut BTreeSet<u64>,
    ) -> Result<()> {
        let Some(chunk) = segment.chunk(column, number)? else { return Ok(()) };
        let matching = filter::found(&chunk, predicate)?;
        for at in 0..BLOCKS {
            let found = matching.as_ref().map(|matching| matching.get(at as usize).copied().unwrap_or(0));
            if found == Some(0) {
                continue;
            }
            let block = number * BLOCKS + at;
            if self.segments.of_block(column, block)?.is_none_or(|newest| newest.number != segment.number) {
                continue;
            }
            let Some(cells) = self.block(column, block)?.filter(|cells| matches!(cells.body, Body::Sealed(..))) else {
                continue;
            };
            let passing = match found {
                Some(found) => found & cells.present,
                None => filter::passing(&cells, predicate, u128::MAX)?,
            };
            out.extend(places(block, passing));
        }
        Ok(())
    }
}

fn places(block: u64, bits: u128) -> impl Iterator<Item = u64> {
    slots(bits).map(move |slot| block * SLOTS as u64 + slot as u64)
}
