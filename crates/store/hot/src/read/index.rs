//! Finds elements by a property index.
//!
//! Every value an element has is in the table of the indexes or in a segment's index. The table is exact. A segment has the
//! values of the time when it was written. They hold unless a newer segment or the tables decide the cell, or the element
//! has been removed. Where something newer decides the cell, the cell is read.

use std::ops::Bound;

use heed::RoRange;
use heed::types::Bytes;
use mangrove_graph::{EdgeRef, ElementIds, ElementKind, ExternalId, LabelId, Predicate, PropertyId, Result, SearchCursor};

use super::Reader;
use crate::format::block::SLOTS;
use crate::format::index::{self, IndexEntry, IndexRange};
use crate::format::key::{Column, block_slot, element_at, place, vertex_at};
use crate::system::fault::lmdb;

/// How many entries of the table are counted at most.
const COUNTED_MAX: usize = 1000;

/// What a search looks for.
struct Sought<'p> {
    of: PropertyId,
    predicate: &'p Predicate,
    column: Column,
}

/// Which part of the places with one value a search looks at.
#[derive(Clone, Copy)]
struct Page {
    after: Option<u64>,
    limit: usize,
}

impl Page {
    const ALL: Self = Self { after: None, limit: usize::MAX };

    /// Where the next page begins; `None` if there is none.
    fn end(self, places: &[u64]) -> Option<u64> {
        places.last().copied().filter(|_| places.len() >= self.limit)
    }
}

impl<'t> Reader<'t> {
    pub fn search(
        &self,
        of: PropertyId,
        predicate: &Predicate,
        cursor: &mut SearchCursor,
        limit: usize,
    ) -> Result<Option<ElementIds>> {
        let Some(places) = self.next_places(of, predicate, cursor, limit.max(1))? else { return Ok(None) };
        Ok(Some(match of.kind {
            ElementKind::Vertex => {
                ElementIds::Vertices(places.into_iter().map(|place| vertex_at(of.label, place)).collect())
            }
            ElementKind::Edge => ElementIds::Edges(self.edges_at(of.label, &places)?),
        }))
    }

    fn next_places(
        &self,
        of: PropertyId,
        predicate: &Predicate,
        cursor: &mut SearchCursor,
        limit: usize,
    ) -> Result<Option<Vec<u64>>> {
        if cursor.found.is_some() {
            return Ok(Some(cursor.take(limit)));
        }
        let mut places = match self.ids_of(of, predicate) {
            Some(ids) => self.named(of.label, &ids)?,
            None => match self.index_parts(of, predicate).as_deref() {
                Some([part]) if part.is_one_value && part.from < part.to => {
                    let sought = self.sought(of, predicate);
                    return self.next_of_value(&sought, part, cursor, limit).map(Some);
                }
                _ => match self.places(of, predicate)? {
                    Some(places) => places,
                    None => return Ok(None),
                },
            },
        };
        places.reverse();
        cursor.found = Some(places);
        Ok(Some(cursor.take(limit)))
    }

    /// The next places with one value. Each source gives a page; what lies behind the shortest one waits for the next call.
    fn next_of_value(
        &self,
        sought: &Sought<'_>,
        part: &IndexRange,
        cursor: &mut SearchCursor,
        limit: usize,
    ) -> Result<Vec<u64>> {
        let (page, mut places) = (Page { after: cursor.after, limit }, Vec::new());
        let mut end = self.tabled(sought, part, page, &mut places)?;
        for at in 0..self.segments.list().len() {
            let of_segment = self.sealed(at, sought, part, page, &mut places)?;
            end = [end, of_segment].into_iter().flatten().min();
        }
        places.sort_unstable();
        places.dedup();
        places.retain(|place| end.is_none_or(|end| *place <= end));
        if places.len() > limit {
            places.truncate(limit);
            end = places.last().copied();
        }
        (cursor.after, cursor.done) = (end, end.is_none());
        Ok(places)
    }

    fn edges_at(&self, label: LabelId, places: &[u64]) -> Result<Vec<EdgeRef>> {
        let mut edges = Vec::with_capacity(places.len());
        for same in places.chunk_by(|a, b| block_slot(*a).0 == block_slot(*b).0) {
            let block = block_slot(same[0]).0;
            let Some(ends) = self.block(Column::ends(label), block)? else { continue };
            self.each_edge_in(label, block, &ends, same.iter().map(|place| block_slot(*place).1), |edge| edges.push(edge))?;
        }
        Ok(edges)
    }

    fn sought<'p>(&self, of: PropertyId, predicate: &'p Predicate) -> Sought<'p> {
        Sought { of, predicate, column: Column::holding(self.schema, of.kind, of.label, of.key) }
    }

    /// The places of all elements that match, in order; `None` if no index tells. This does not look at ids of vertices.
    pub fn places(&self, of: PropertyId, predicate: &Predicate) -> Result<Option<Vec<u64>>> {
        let Some(parts) = self.index_parts(of, predicate) else {
            return self.finds_text(of, predicate).then(|| self.search_text(of, predicate)).transpose();
        };
        let (sought, mut places) = (self.sought(of, predicate), Vec::new());
        for part in parts.iter().filter(|part| part.from < part.to) {
            self.tabled(&sought, part, Page::ALL, &mut places)?;
            for at in 0..self.segments.list().len() {
                self.sealed(at, &sought, part, Page::ALL, &mut places)?;
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
            count += self.entries(of, part, None)?.take(COUNTED_MAX).count() as u64;
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

    /// The places of the vertices of a label with these ids, sorted.
    fn named(&self, label: LabelId, ids: &[ExternalId]) -> Result<Vec<u64>> {
        let mut found = Vec::with_capacity(ids.len());
        self.find_vertices(Some(label), ids, &mut found)?;
        let found = found.into_iter().flatten().filter(|vertex| vertex.label() == label);
        let mut places: Vec<u64> = found.map(|vertex| place(vertex.0)).collect();
        places.sort_unstable();
        places.dedup();
        Ok(places)
    }

    /// The entries of a part of the table. Those of one value begin behind the place `after`.
    fn entries(&self, of: PropertyId, part: &IndexRange, after: Option<u64>) -> Result<RoRange<'t, Bytes, Bytes>> {
        let prefix = index::prefix(of);
        let to = [&prefix[..], &part.to].concat();
        let from = match after {
            Some(after) => Bound::Excluded(index::entry(of, &part.from, element_at(of.kind, of.label, after).raw())),
            None => Bound::Included([&prefix[..], &part.from].concat()),
        };
        let bounds = (from.as_ref().map(|from| &from[..]), Bound::Excluded(&to[..]));
        self.tables.index.range(self.txn, &bounds).map_err(lmdb)
    }

    /// The parts of the index that hold all matches; `None` if there is no index, or if it does not answer this.
    fn index_parts(&self, of: PropertyId, predicate: &Predicate) -> Option<Vec<IndexRange>> {
        self.schema.index(of)?;
        let property = self.schema.label_schema(of.kind, of.label).and_then(|label| label.property(of.key));
        index::parts(predicate, property.map(|property| property.types).unwrap_or_default())
    }

    /// Appends the matching places that the table has. Returns where the next page begins; so does [`sealed`](Self::sealed).
    fn tabled(&self, sought: &Sought<'_>, part: &IndexRange, page: Page, found: &mut Vec<u64>) -> Result<Option<u64>> {
        let mut places = Vec::new();
        for (row, entry) in self.entries(sought.of, part, page.after)?.take(page.limit).enumerate() {
            self.go_on(row)?;
            places.push(IndexEntry::parse(entry.map_err(lmdb)?.0)?.place);
        }
        let end = page.end(&places);
        for (row, place) in places.into_iter().enumerate() {
            self.go_on(row)?;
            if part.is_exact || self.has_match(sought, place)? {
                found.push(place);
            }
        }
        Ok(end)
    }

    /// Appends the matching places that the segment at `at` has.
    fn sealed(
        &self,
        at: usize,
        sought: &Sought<'_>,
        part: &IndexRange,
        page: Page,
        found: &mut Vec<u64>,
    ) -> Result<Option<u64>> {
        let (column, mut places) = (sought.column, Vec::new());
        let segment = &self.segments.list()[at];
        match part.is_one_value {
            true => segment.places_of(sought.of, &part.from, page.after, page.limit, &mut places)?,
            false => segment.places_with(sought.of, &part.from, &part.to, &mut places)?,
        }
        let end = page.end(&places);
        if part.is_exact && at + 1 == self.segments.list().len() && self.is_untouched(column)? {
            found.append(&mut places);
            return Ok(end);
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
        Ok(end)
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
