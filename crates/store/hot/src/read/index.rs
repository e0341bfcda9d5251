//! Finds elements by a property index.
//!
//! Every value an element has is in the table of the indexes or in a segment's index. The table is exact. A segment has the
//! values of the time when it was written. They hold unless a newer segment or the tables decide the cell, or the element
//! has been removed. Where something newer decides the cell, the cell is read.

use std::ops::Bound;

use heed::RoRange;
use heed::types::Bytes;
use mangrove_graph::{EdgeRef, ExternalId, KeyId, LabelId, Predicate, PropertyId, Result, VertexId};

use super::Reader;
use crate::format::block::SLOTS;
use crate::format::index::{self, IndexEntry, IndexRange};
use crate::format::key::{Column, block_slot, edge_at, vertex_at};
use crate::system::fault::lmdb;

/// How many entries of the table are counted at most.
const COUNTED_MAX: usize = 1000;

/// What a search looks for.
struct Sought<'p> {
    of: PropertyId,
    predicate: &'p Predicate,
    column: Column,
}

impl<'t> Reader<'t> {
    pub fn search_vertices(&self, label: LabelId, key: KeyId, predicate: &Predicate) -> Result<Option<Vec<VertexId>>> {
        let of = PropertyId::of_vertices(label, key);
        if let Some(ids) = self.ids_of(of, predicate) {
            return self.named(label, &ids).map(Some);
        }
        let places = self.search(of, predicate)?;
        Ok(places.map(|places| places.into_iter().map(|place| vertex_at(label, place)).collect()))
    }

    pub fn search_edges(&self, label: LabelId, key: KeyId, predicate: &Predicate) -> Result<Option<Vec<EdgeRef>>> {
        let Some(places) = self.search(PropertyId::of_edges(label, key), predicate)? else { return Ok(None) };
        let mut edges = Vec::with_capacity(places.len());
        for same in places.chunk_by(|a, b| block_slot(*a).0 == block_slot(*b).0) {
            let Some(ends) = self.block(Column::ends(label), block_slot(same[0]).0)? else { continue };
            for place in same {
                edges.extend(ends.edge(edge_at(label, *place), block_slot(*place).1)?);
            }
        }
        Ok(Some(edges))
    }

    /// The places of the elements that match, in order; `None` if no index tells. This does not look at ids of vertices.
    pub fn search(&self, of: PropertyId, predicate: &Predicate) -> Result<Option<Vec<u64>>> {
        let Some(parts) = self.index_parts(of, predicate) else {
            return self.finds_text(of, predicate).then(|| self.search_text(of, predicate)).transpose();
        };
        let column = Column::holding(self.schema, of.kind, of.label, of.key);
        let (sought, mut places) = (Sought { of, predicate, column }, Vec::new());
        for part in parts.iter().filter(|part| part.from < part.to) {
            self.tabled(&sought, part, &mut places)?;
            for at in 0..self.segments.list().len() {
                self.sealed(at, &sought, part, &mut places)?;
            }
        }
        places.sort_unstable();
        places.dedup();
        Ok(Some(places))
    }

    pub fn is_searchable(&self, of: PropertyId, predicate: &Predicate) -> bool {
        self.ids_of(of, predicate).is_some() || self.index_parts(of, predicate).is_some() || self.finds_text(of, predicate)
    }

    /// How many entries of an index a search looks at: all those of segments, but at most [`COUNTED_MAX`] of the table for
    /// each part. A search in text without an index counts as many.
    pub fn candidates(&self, of: PropertyId, predicate: &Predicate) -> Result<u64> {
        if let Some(ids) = self.ids_of(of, predicate) {
            return Ok(ids.len() as u64);
        }
        let Some(parts) = self.index_parts(of, predicate) else { return Ok(u64::from(u32::MAX)) };
        let mut count = 0;
        for part in parts.iter().filter(|part| part.from < part.to) {
            count += self.entries(of, part)?.take(COUNTED_MAX).count() as u64;
            for segment in self.segments.list() {
                count += segment.count_with(of, &part.from, &part.to)?;
            }
        }
        Ok(count)
    }

    /// The external ids a predicate on the key of a label allows, if it lists them.
    fn ids_of(&self, of: PropertyId, predicate: &Predicate) -> Option<Vec<ExternalId>> {
        self.schema.is_key(of.kind, of.label, of.key).then(|| predicate.external_ids())?
    }

    /// The vertices of a label with these ids, sorted.
    fn named(&self, label: LabelId, ids: &[ExternalId]) -> Result<Vec<VertexId>> {
        let mut found = Vec::with_capacity(ids.len());
        self.find_vertices(Some(label), ids, &mut found)?;
        let mut found: Vec<VertexId> = found.into_iter().flatten().filter(|vertex| vertex.label() == label).collect();
        found.sort_unstable();
        found.dedup();
        Ok(found)
    }

    /// The entries of a part of the table.
    fn entries(&self, of: PropertyId, part: &IndexRange) -> Result<RoRange<'t, Bytes, Bytes>> {
        let prefix = index::prefix(of);
        let (from, to) = ([&prefix[..], &part.from].concat(), [&prefix[..], &part.to].concat());
        let bounds = (Bound::Included(&from[..]), Bound::Excluded(&to[..]));
        self.tables.index.range(self.txn, &bounds).map_err(lmdb)
    }

    /// The parts of the index that hold all matches; `None` if there is no index, or if it does not answer this.
    fn index_parts(&self, of: PropertyId, predicate: &Predicate) -> Option<Vec<IndexRange>> {
        self.schema.index(of)?;
        let property = self.schema.label_schema(of.kind, of.label).and_then(|label| label.property(of.key));
        index::parts(predicate, property.map(|property| property.types).unwrap_or_default())
    }

    /// Appends the matching places that the table has.
    fn tabled(&self, sought: &Sought<'_>, part: &IndexRange, found: &mut Vec<u64>) -> Result<()> {
        for (row, entry) in self.entries(sought.of, part)?.enumerate() {
            self.go_on(row)?;
            let IndexEntry { place, .. } = IndexEntry::parse(entry.map_err(lmdb)?.0)?;
            if part.is_exact || self.has_match(sought, place)? {
                found.push(place);
            }
        }
        Ok(())
    }

    /// Appends the matching places that the segment at `at` has.
    fn sealed(&self, at: usize, sought: &Sought<'_>, part: &IndexRange, found: &mut Vec<u64>) -> Result<()> {
        let (column, mut places) = (sought.column, Vec::new());
        self.segments.list()[at].places_with(sought.of, &part.from, &part.to, &mut places)?;
        if part.is_exact && at + 1 == self.segments.list().len() && self.is_unchanged(column)? {
            found.append(&mut places);
            return Ok(());
        }
        places.sort_unstable();
        let mut row = 0;
        for places in places.chunk_by(|a, b| a / SLOTS as u64 == b / SLOTS as u64) {
            let standing = self.standing(at, column, places[0] / SLOTS as u64)?;
            for place in places {
                self.go_on(row)?;
                row += 1;
                let stands = part.is_exact && standing >> block_slot(*place).1 & 1 != 0;
                if stands || self.has_match(sought, *place)? {
                    found.push(*place);
                }
            }
        }
        Ok(())
    }

    /// Whether the tables decide no sealed cell of a column, and mark no element of its label as removed.
    fn is_unchanged(&self, column: Column) -> Result<bool> {
        Ok(self.is_clean(column)? && self.is_clean(Column::dead(column.kind, column.label))?)
    }

    /// The slots of a block that are alive, and whose cells nothing newer than the segment at `at` decides.
    pub fn standing(&self, at: usize, column: Column, block: u64) -> Result<u128> {
        if !self.is_covered(column, block) {
            return Ok(0);
        }
        let said = self.said_by_tables(column, block)? | self.segments.said_since(at, column, block)?;
        Ok(!said & !self.dead(column.kind, column.label, block)?)
    }

    fn has_match(&self, sought: &Sought<'_>, place: u64) -> Result<bool> {
        Ok(self.cell_at(sought.column, place)?.values().any(|value| sought.predicate.matches(value)))
    }
}
