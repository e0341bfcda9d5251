//! Scans: the blocks of a label one after the other, each filter as a set of 128 bits.

use hashbrown::HashMap;
use hashbrown::hash_map::Entry;
use mangrove_graph::{EdgeRef, ElementKind, LabelId, LabelTest, Predicate, Result, Scan, ScanCursor, VertexId};
use mangrove_segment::column::Chunk;

use super::Reader;
use crate::format::block::{Block, Body, SLOTS, slots};
use crate::format::encode::ones;
use crate::format::filter;
use crate::format::key::{Column, KeyBytes, block_slot, vertex_at};
use crate::format::walk::Walk;
use crate::segments::segment::BLOCKS;

/// The most blocks a call looks at. So a scan that finds nothing can be stopped.
const BLOCKS_MAX: usize = 4096;

impl<'t> Reader<'t> {
    pub fn scan_vertices(&self, scan: &Scan, cursor: &mut ScanCursor, limit: usize, out: &mut Vec<VertexId>) -> Result<()> {
        self.scan(ElementKind::Vertex, scan, cursor, limit, |label, block, found, _| {
            let at = |slot: usize| vertex_at(label, block * SLOTS as u64 + slot as u64);
            match found {
                u128::MAX => out.extend((0..SLOTS).map(at)),
                found => out.extend(slots(found).map(at)),
            }
            Ok(())
        })
    }

    pub fn scan_edges(&self, scan: &Scan, cursor: &mut ScanCursor, limit: usize, out: &mut Vec<EdgeRef>) -> Result<()> {
        self.scan(ElementKind::Edge, scan, cursor, limit, |label, block, found, ends| {
            self.each_edge_in(label, block, ends, slots(found), |edge| out.push(edge))
        })
    }

    pub fn count(&self, kind: ElementKind, scan: &Scan, cursor: &mut ScanCursor) -> Result<u64> {
        let mut count = 0;
        self.scan(kind, scan, cursor, usize::MAX, |_, _, found, _| {
            count += u64::from(found.count_ones());
            Ok(())
        })?;
        Ok(count)
    }

    /// Calls `found` for every block with elements that pass: with its label, number, passing slots, and the cells of the
    /// built-in column.
    fn scan(
        &self,
        kind: ElementKind,
        scan: &Scan,
        cursor: &mut ScanCursor,
        limit: usize,
        mut found: impl FnMut(LabelId, u64, u128, &Block<'t>) -> Result<()>,
    ) -> Result<()> {
        let (mut room, mut blocks) = (limit, BLOCKS_MAX);
        while !cursor.done && room > 0 && blocks > 0 {
            let label = LabelId(cursor.label as u16);
            if cursor.label >= self.schema.labels(kind).len() {
                cursor.done = true;
                break;
            }
            let Some(mut scanner) = self.label_scanner(kind, label, scan) else {
                next_label(cursor);
                continue;
            };
            while room > 0 && blocks > 0 {
                blocks -= 1;
                let Some((block, cells, mut passing)) = scanner.next(cursor.local)? else {
                    next_label(cursor);
                    break;
                };
                cursor.local = (block + 1) * SLOTS as u64;
                if passing.count_ones() as usize > room {
                    let next = slots(passing).nth(room).unwrap_or_default();
                    cursor.local = block * SLOTS as u64 + next as u64;
                    passing &= ones(next);
                }
                room -= passing.count_ones() as usize;
                if passing != 0 {
                    found(label, block, passing, &cells)?;
                }
            }
        }
        Ok(())
    }

    /// `None` if no element of the label can pass.
    fn label_scanner<'s>(&self, kind: ElementKind, label: LabelId, scan: &'s Scan) -> Option<LabelScanner<'s, 't>> {
        let tests = scan.tests_of(self.schema, kind, label)?;
        let schema = self.schema.label_schema(kind, label)?;
        let mut filters = Vec::with_capacity(scan.filters.len());
        for filter in &scan.filters {
            schema.property(filter.key)?;
            let column = Column::holding(self.schema, kind, label, filter.key);
            filters.push(ColumnFilter::new(self.column(column), &filter.predicate));
        }
        let further = (!tests.is_empty()).then(|| (self.column(Column::further(label)), tests));
        Some(LabelScanner { alive: self.column(Column::alive(kind, label)), filters, further })
    }

    pub fn column(&self, column: Column) -> ColumnWalk<'t> {
        ColumnWalk { column, reader: *self, walk: self.walk(self.tables.columns), chunk: None, clean: None, all_alive: None }
    }
}

fn next_label(cursor: &mut ScanCursor) {
    cursor.label += 1;
    cursor.local = 0;
}

/// The blocks of a column in order, in the tables and in segments.
pub struct ColumnWalk<'t> {
    column: Column,
    reader: Reader<'t>,
    walk: Walk<'t>,
    /// The last chunk met that decides a whole block: its number, the position of its segment, and the chunk itself, if
    /// there is one.
    chunk: Option<(u64, usize, Option<&'t Chunk<'t>>)>,
    /// Whether the tables decide no sealed cell of the column, and whether no sealed element of its label was removed.
    /// `None` before the first look.
    clean: Option<bool>,
    all_alive: Option<bool>,
}

impl<'t> ColumnWalk<'t> {
    fn is_clean(&mut self) -> Result<bool> {
        if self.clean.is_none() {
            self.clean = Some(self.reader.is_clean(self.column)?);
        }
        Ok(self.clean == Some(true))
    }

    fn all_alive(&mut self) -> Result<bool> {
        if self.all_alive.is_none() {
            let dead = Column::dead(self.column.kind, self.column.label);
            self.all_alive = Some(self.reader.is_clean(dead)?);
        }
        Ok(self.all_alive == Some(true))
    }

    /// The first block of the tables from `block` on.
    fn table_from(&mut self, block: u64) -> Result<Option<(u64, &'t [u8])>> {
        let Some((key, bytes)) = self.walk.seek(KeyBytes::new(&[&self.column.key(block)]), 2)? else { return Ok(None) };
        let (column, at) = Column::parse(key)?;
        Ok((column == self.column).then_some((at, bytes)))
    }

    /// The first block of the tables from `block` on, without what is sealed under it.
    pub fn table_block_from(&mut self, block: u64) -> Result<Option<(u64, Block<'t>)>> {
        self.table_from(block)?.map(|found| self.parsed(found)).transpose()
    }

    fn parsed(&self, found: (u64, &'t [u8])) -> Result<(u64, Block<'t>)> {
        Ok((found.0, self.reader.parse(self.column, found.0, found.1)?))
    }

    /// The first sealed block from `block` on and before `end`.
    fn sealed_from(&mut self, mut block: u64, end: u64) -> Result<Option<(u64, Block<'t>)>> {
        while block < end {
            if let Some(found) = self.sealed_at(block)? {
                return Ok(Some((block, found)));
            }
            let has_chunk = self.reader.segments.has_chunk(self.column, block / BLOCKS);
            block = if has_chunk { block + 1 } else { (block / BLOCKS + 1) * BLOCKS };
        }
        Ok(None)
    }

    /// A block as segments have it.
    fn sealed_at(&mut self, block: u64) -> Result<Option<Block<'t>>> {
        let (all_alive, segments) = (self.all_alive()?, self.reader.segments.list());
        let Some((at, said)) = self.reader.segments.newest(self.column, block, segments.len())? else { return Ok(None) };
        if said != u128::MAX {
            return self.reader.sealed_block(self.column, block, all_alive);
        }
        let chunk = match self.chunk {
            Some((number, of, known)) if (number, of) == (block / BLOCKS, at) => known,
            _ => {
                let found = segments[at].chunk(self.column, block / BLOCKS)?;
                self.chunk = Some((block / BLOCKS, at, found));
                found
            }
        };
        chunk.map_or(Ok(None), |chunk| self.reader.block_of(chunk, self.column, block, said, all_alive))
    }

    /// A block of the tables, over what segments have.
    fn over_sealed(&mut self, (block, bytes): (u64, &'t [u8])) -> Result<Option<Block<'t>>> {
        let found = self.parsed((block, bytes))?.1;
        let all_alive = self.all_alive()?;
        let segments = self.reader.segments.list();
        Ok(self.reader.over_segments(Some(found), segments, self.column, block, all_alive)?.1)
    }

    pub fn block_at(&mut self, block: u64) -> Result<Option<Block<'t>>> {
        if !self.reader.is_covered(self.column, block) {
            let found = self.table_from(block)?.filter(|(at, _)| *at == block);
            return found.map(|found| self.parsed(found).map(|(_, block)| block)).transpose();
        }
        if !self.is_clean()?
            && let Some(found) = self.table_from(block)?.filter(|(at, _)| *at == block)
        {
            return self.over_sealed(found);
        }
        self.sealed_at(block)
    }

    /// The first block with a cell from `block` on.
    pub fn block_from(&mut self, mut block: u64) -> Result<Option<(u64, Block<'t>)>> {
        let end = self.reader.covered_blocks(self.column);
        while block < end {
            let found = match self.is_clean()? {
                true => None,
                false => self.table_from(block)?.filter(|(at, _)| *at < end),
            };
            let before = found.map_or(end, |(at, _)| at);
            if let Some(sealed) = self.sealed_from(block, before)? {
                return Ok(Some(sealed));
            }
            let Some(found) = found else { break };
            // A block of the tables replaces what is sealed, even if it leaves no cell.
            if let Some(cells) = self.over_sealed(found)? {
                return Ok(Some((found.0, cells)));
            }
            block = found.0 + 1;
        }
        self.table_from(block.max(end))?.map(|found| self.parsed(found)).transpose()
    }
}

/// What the cells of a column must match.
struct ColumnFilter<'s, 't> {
    column: ColumnWalk<'t>,
    predicate: &'s Predicate,
    /// The matches in the searchable chunks of one number, by the address of each chunk; `None` if a search does not find
    /// them.
    found: HashMap<usize, Option<Vec<u128>>>,
    /// The number of these chunks, the same in each segment.
    number: u64,
}

impl<'s, 't> ColumnFilter<'s, 't> {
    fn new(column: ColumnWalk<'t>, predicate: &'s Predicate) -> Self {
        Self { column, predicate, found: HashMap::new(), number: 0 }
    }

    /// The slots of a block that pass.
    fn passing(&mut self, block: u64, among: u128) -> Result<u128> {
        match self.column.block_at(block)? {
            Some(cells) => self.passing_of(&cells, block, among),
            None => Ok(0),
        }
    }

    fn passing_of(&mut self, cells: &Block<'t>, block: u64, among: u128) -> Result<u128> {
        let among = among & cells.present;
        match &cells.body {
            Body::Mixed(layers) => {
                let (over, under) = &**layers;
                Ok(self.passing_of(over, block, among)? | self.passing_of(under, block, among)?)
            }
            Body::Sealed(chunk, _) if chunk.is_searchable() => match self.found(chunk, block / BLOCKS)? {
                Some(found) => {
                    let here = found.get((block % BLOCKS) as usize).copied().unwrap_or(0);
                    Ok(here & among)
                }
                None => filter::passing(cells, self.predicate, among),
            },
            _ => filter::passing(cells, self.predicate, among),
        }
    }

    /// The matches in a searchable chunk; `None` if a search does not find them.
    fn found(&mut self, chunk: &Chunk<'t>, number: u64) -> Result<Option<&Vec<u128>>> {
        if self.number != number {
            self.found.clear();
            self.number = number;
        }
        Ok(match self.found.entry(chunk.address()) {
            Entry::Occupied(known) => known.into_mut().as_ref(),
            Entry::Vacant(new) => new.insert(filter::found(chunk, self.predicate)?).as_ref(),
        })
    }
}

struct LabelScanner<'s, 't> {
    alive: ColumnWalk<'t>,
    filters: Vec<ColumnFilter<'s, 't>>,
    further: Option<(ColumnWalk<'t>, Vec<LabelTest>)>,
}

impl<'t> LabelScanner<'_, 't> {
    /// The next block from a local id on, and which of its slots pass.
    fn next(&mut self, local: u64) -> Result<Option<(u64, Block<'t>, u128)>> {
        let (first, slot) = block_slot(local);
        let Some((block, cells)) = self.alive.block_from(first)? else { return Ok(None) };
        let mut passing = cells.present;
        if block == first {
            passing &= !ones(slot);
        }
        for filter in &mut self.filters {
            if passing == 0 {
                break;
            }
            passing = filter.passing(block, passing)?;
        }
        if let Some((column, tests)) = &mut self.further
            && passing != 0
        {
            passing = labelled(column.block_at(block)?.as_ref(), tests, passing)?;
        }
        Ok(Some((block, cells, passing)))
    }
}

/// The slots whose further labels pass all tests. Slots without a cell have none.
fn labelled(block: Option<&Block>, tests: &[LabelTest], among: u128) -> Result<u128> {
    let passes = |labels: &[LabelId]| tests.iter().all(|test| test.passes(labels));
    let Some(block) = block else { return Ok(if passes(&[]) { among } else { 0 }) };
    let mut passing = if passes(&[]) { among & !block.present } else { 0 };
    for slot in slots(among & block.present) {
        passing |= u128::from(passes(&super::find::labels(block.cell(slot)?)?)) << slot;
    }
    Ok(passing)
}
