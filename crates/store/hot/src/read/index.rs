//! Finding vertices by a property index.
//!
//! Every value a vertex has is in the table of the indexes or in a segment's index. The table is exact. A segment says what was so when it was
//! written: its word stands unless a newer segment or the tables say the cell anew, or the vertex has been
//! removed; where something is said anew, the cell is looked at.

use std::ops::Bound;

use heed::RoRange;
use heed::types::Bytes;
use mangrove_graph::{ElementKind, ExternalId, KeyId, LabelId, Predicate, Result, VertexId};

use super::Reader;
use crate::block::SLOTS;
use crate::fault::lmdb;
use crate::index::{self, Part};
use crate::key::{Column, block_slot, place, vertex_at};

/// Entries of the table that are counted, at most.
const COUNTED_MAX: usize = 1000;

/// What is looked for by an index.
struct Sought<'p> {
    label: LabelId,
    key: KeyId,
    predicate: &'p Predicate,
    column: Column,
}

impl<'t> Reader<'t> {
    pub fn search(&self, label: LabelId, key: KeyId, predicate: &Predicate) -> Result<Option<Vec<VertexId>>> {
        if let Some(ids) = self.ids_of(label, key, predicate) {
            return self.named(label, &ids).map(Some);
        }
        let Some(parts) = self.index_parts(label, key, predicate) else {
            let is_text = self.finds_text(label, key, predicate);
            return is_text.then(|| self.search_text(label, key, predicate)).transpose();
        };
        let column = Column::holding(self.schema, ElementKind::Vertex, label, key);
        let (sought, mut places) = (Sought { label, key, predicate, column }, Vec::new());
        for part in parts.iter().filter(|part| part.from < part.to) {
            self.tabled(&sought, part, &mut places)?;
            for at in 0..self.segments.list().len() {
                self.sealed(at, &sought, part, &mut places)?;
            }
        }
        places.sort_unstable();
        places.dedup();
        Ok(Some(places.into_iter().map(|place| vertex_at(label, place)).collect()))
    }

    pub fn is_searchable(&self, label: LabelId, key: KeyId, predicate: &Predicate) -> bool {
        self.ids_of(label, key, predicate).is_some()
            || self.index_parts(label, key, predicate).is_some()
            || self.finds_text(label, key, predicate)
    }

    /// How many entries of an index a search looks at: of segments all, of the table [`COUNTED_MAX`] a part at most. Texts that are
    /// searched for otherwise count for many.
    pub fn candidates(&self, label: LabelId, key: KeyId, predicate: &Predicate) -> Result<u64> {
        if let Some(ids) = self.ids_of(label, key, predicate) {
            return Ok(ids.len() as u64);
        }
        let Some(parts) = self.index_parts(label, key, predicate) else { return Ok(u64::from(u32::MAX)) };
        let mut count = 0;
        for part in parts.iter().filter(|part| part.from < part.to) {
            count += self.entries(label, key, part)?.take(COUNTED_MAX).count() as u64;
            for segment in self.segments.list() {
                count += segment.count_with(label, key, &part.from, &part.to)?;
            }
        }
        Ok(count)
    }

    /// The external ids a predicate on the key of a label allows, if it lists them.
    fn ids_of(&self, label: LabelId, key: KeyId, predicate: &Predicate) -> Option<Vec<ExternalId>> {
        self.schema.is_key(ElementKind::Vertex, label, key).then(|| predicate.external_ids())?
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
    fn entries(&self, label: LabelId, key: KeyId, part: &Part) -> Result<RoRange<'t, Bytes, Bytes>> {
        let prefix = index::prefix(label, key);
        let (from, to) = ([&prefix[..], &part.from].concat(), [&prefix[..], &part.to].concat());
        let bounds = (Bound::Included(&from[..]), Bound::Excluded(&to[..]));
        self.tables.index.range(self.txn, &bounds).map_err(lmdb)
    }

    /// The parts of the index that hold all matches; nothing if there is none, or it does not answer this.
    fn index_parts(&self, label: LabelId, key: KeyId, predicate: &Predicate) -> Option<Vec<Part>> {
        self.schema.index(label, key)?;
        let property = self.schema.vertex_labels.get(usize::from(label.0)).and_then(|label| label.property(key));
        index::parts(predicate, property.map(|property| property.types).unwrap_or_default())
    }

    /// Appends the places that match by the table.
    fn tabled(&self, sought: &Sought<'_>, part: &Part, found: &mut Vec<u64>) -> Result<()> {
        for entry in self.entries(sought.label, sought.key, part)? {
            let place = place(index::vertex_of(entry.map_err(lmdb)?.0)?.0);
            if part.is_exact || self.has_match(sought, place)? {
                found.push(place);
            }
        }
        Ok(())
    }

    /// Appends the places that match by the segment at `at`.
    fn sealed(&self, at: usize, sought: &Sought<'_>, part: &Part, found: &mut Vec<u64>) -> Result<()> {
        let (column, mut places) = (sought.column, Vec::new());
        self.segments.list()[at].places_with(sought.label, sought.key, &part.from, &part.to, &mut places)?;
        if part.is_exact && at + 1 == self.segments.list().len() && self.is_unchanged(column)? {
            found.append(&mut places);
            return Ok(());
        }
        places.sort_unstable();
        for places in places.chunk_by(|a, b| a / SLOTS as u64 == b / SLOTS as u64) {
            let standing = self.standing(at, column, places[0] / SLOTS as u64)?;
            for place in places {
                let stands = part.is_exact && standing >> block_slot(*place).1 & 1 != 0;
                if stands || self.has_match(sought, *place)? {
                    found.push(*place);
                }
            }
        }
        Ok(())
    }

    /// Whether neither the tables nor marks of the dead say anything of what is sealed of a column of vertices.
    fn is_unchanged(&self, column: Column) -> Result<bool> {
        Ok(self.is_clean(column)? && self.is_clean(Column::dead(column.kind, column.label))?)
    }

    /// The slots of a block of vertices that are alive, and of whose cells nothing newer than the segment at `at` speaks.
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
