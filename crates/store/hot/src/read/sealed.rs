//! Reads what is sealed, under what the tables have changed since.

use std::ops::Range;
use std::sync::{Arc, OnceLock};

use mangrove_graph::{ElementKind, LabelId, Result};
use mangrove_segment::adjacency::Lists;
use mangrove_segment::column::Chunk;

use super::Reader;
use crate::format::block::{Block, SLOTS};
use crate::format::key::{AdjacencyKey, Column, block_slot, place, vertex_at};
use crate::lmdb::table::Table;
use crate::segments::segment::{BLOCKS, Segment};
use crate::shared::notes::{Dead, DeadBlocks};
use crate::system::fault::{corrupt, lmdb};
use crate::system::lock::locked;

/// A lookup of one element takes as long as reading this many blocks one after the other.
const BLOCKS_A_LOOK: u64 = 4;

/// Whether a table is empty. Looks only the first time.
fn is_empty(known: &OnceLock<bool>, table: Table, reader: &Reader<'_>) -> Result<bool> {
    match known.get() {
        Some(known) => Ok(*known),
        None => table.is_empty(reader.txn).map(|is_empty| *known.get_or_init(|| is_empty)).map_err(lmdb),
    }
}

impl<'t> Reader<'t> {
    /// Whether the element at a place is sealed, or was.
    #[inline]
    pub fn is_sealed(&self, kind: ElementKind, label: LabelId, place: u64) -> bool {
        place < self.segments.end(kind, label)
    }

    /// Whether a block is sealed. Then what the tables decide of it replaces the sealed cells, even by none.
    #[inline]
    pub fn is_covered(&self, column: Column, block: u64) -> bool {
        self.is_sealed(column.kind, column.label, block * SLOTS as u64) && !column.is_of_tables()
    }

    /// The cells of a block, in the tables or in segments; `None` if there are none.
    pub fn block(&self, column: Column, block: u64) -> Result<Option<Block<'t>>> {
        if !self.is_covered(column, block) {
            return self.table_block(column, block);
        }
        let found = if self.is_intact(column, block)? { None } else { self.table_block(column, block)? };
        match found {
            None => self.sealed_block(column, block, false),
            found => Ok(self.over_segments(found, self.segments.list(), column, block, false)?.1),
        }
    }

    /// The block of the tables, if there is one, over what these segments have. Returns the slots that they all decide, and
    /// the cells.
    pub fn over_segments(
        &self,
        found: Option<Block<'t>>,
        segments: &'t [Arc<Segment>],
        column: Column,
        block: u64,
        all_alive: bool,
    ) -> Result<(u128, Option<Block<'t>>)> {
        let said = found.as_ref().map_or(0, |found| found.said);
        let (said, sealed) = self.under(said, segments, column, block, all_alive)?;
        Ok((said, if let Some(found) = found { found.over(sealed) } else { sealed }))
    }

    /// What segments have of a block in slots that nothing newer decides (`said`). Returns the slots that anything decides,
    /// and the cells.
    fn under(
        &self,
        said: u128,
        segments: &'t [Arc<Segment>],
        column: Column,
        block: u64,
        all_alive: bool,
    ) -> Result<(u128, Option<Block<'t>>)> {
        let Some((segment, older)) = segments.split_last().filter(|_| said != u128::MAX) else { return Ok((said, None)) };
        let here = segment.says(column, block)? & !said;
        let (all, under) = self.under(said | here, older, column, block, all_alive)?;
        let chunk = if here != 0 { segment.chunk(column, block / BLOCKS)? } else { None };
        let found = chunk.map_or(Ok(None), |chunk| self.block_of(chunk, column, block, here, all_alive))?;
        Ok((all, if let Some(found) = found { found.over(under) } else { under }))
    }

    /// The chunk with the newest version of a sealed cell that the tables do not decide; `None` if the newest layer says the
    /// cell is absent.
    pub fn sealed_chunk(&self, column: Column, place: u64) -> Result<Option<&'t Chunk<'t>>> {
        let (block, slot) = block_slot(place);
        let mut n = self.segments.list().len();
        while let Some((at, said)) = self.segments.newest(column, block, n)? {
            if said >> slot & 1 != 0 {
                return self.segments.list()[at].chunk(column, block / BLOCKS);
            }
            n = at;
        }
        Ok(None)
    }

    /// A sealed block as segments have it.
    pub fn sealed_block(&self, column: Column, block: u64, all_alive: bool) -> Result<Option<Block<'t>>> {
        let segments = self.segments.list();
        match self.segments.newest(column, block, segments.len())? {
            Some((at, u128::MAX)) => match segments[at].chunk(column, block / BLOCKS)? {
                Some(chunk) => self.block_of(chunk, column, block, u128::MAX, all_alive),
                None => Ok(None),
            },
            Some(_) => Ok(self.over_segments(None, segments, column, block, all_alive)?.1),
            None => Ok(None),
        }
    }

    /// The slots of a sealed block that the tables decide.
    pub fn said_by_tables(&self, column: Column, block: u64) -> Result<u128> {
        if self.is_intact(column, block)? {
            return Ok(0);
        }
        Ok(self.block_bytes(column, block)?.map(Block::said).transpose()?.map_or(0, |(said, _)| said))
    }

    /// A block of a chunk that decides slots `said`, without removed elements. With `all_alive` it does not look for these.
    pub fn block_of(
        &self,
        chunk: &'t Chunk<'t>,
        column: Column,
        block: u64,
        said: u128,
        all_alive: bool,
    ) -> Result<Option<Block<'t>>> {
        let at = (block % BLOCKS) as usize;
        let stored = chunk.present(at);
        if stored == 0 {
            return Ok(None);
        }
        let first = chunk.before(at * SLOTS);
        if first + stored.count_ones() as usize > chunk.len() {
            return Err(corrupt("a chunk with fewer cells than it says"));
        }
        let dead = if all_alive { 0 } else { self.dead(column.kind, column.label, block)? };
        let present = stored & said & !dead;
        Ok((present != 0).then(|| Block::sealed(chunk, first, said, stored, present)))
    }

    /// The block of the tables, which may be empty. It replaces cells of a sealed block of this column, or is in the tables
    /// alone.
    pub fn table_block(&self, column: Column, block: u64) -> Result<Option<Block<'t>>> {
        self.block_bytes(column, block)?.map(|bytes| self.parse(column, block, bytes)).transpose()
    }

    /// The first block of a column that is not sealed.
    pub fn covered_blocks(&self, column: Column) -> u64 {
        if column.is_of_tables() {
            return 0;
        }
        self.segments.end(column.kind, column.label).div_ceil(SLOTS as u64)
    }

    /// The slots of a block whose elements are alive.
    pub fn alive(&self, kind: ElementKind, label: LabelId, block: u64) -> Result<u128> {
        let column = Column::alive(kind, label);
        if !self.is_covered(column, block) {
            return self.block_bytes(column, block)?.map_or(Ok(0), Block::presence);
        }
        let newest = self.segments.newest(column, block, self.segments.list().len())?;
        let chunk = newest.map(|(at, _)| self.segments.list()[at].chunk(column, block / BLOCKS)).transpose()?.flatten();
        match chunk {
            Some(chunk) => Ok(chunk.present((block % BLOCKS) as usize) & !self.dead(kind, label, block)?),
            None => Ok(0),
        }
    }

    /// The slots of a block whose elements were sealed, and then removed.
    pub fn dead(&self, kind: ElementKind, label: LabelId, block: u64) -> Result<u128> {
        let column = Column::dead(kind, label);
        if self.is_intact(column, block)? {
            return Ok(0);
        }
        match self.all_dead(column, 1)? {
            Some(known) => Ok(known.get(&block).copied().unwrap_or(0)),
            None => self.block_bytes(column, block)?.map_or(Ok(0), Block::presence),
        }
    }

    /// Calls `f` with the positions of the living edges among those at these places of a label.
    pub fn each_living(
        &self,
        label: LabelId,
        places: impl ExactSizeIterator<Item = u64>,
        mut f: impl FnMut(usize),
    ) -> Result<()> {
        let column = Column::dead(ElementKind::Edge, label);
        if self.is_clean(column)? {
            (0..places.len()).for_each(f);
            return Ok(());
        }
        let known = self.all_dead(column, places.len() as u64)?;
        // Outgoing edges of a vertex lie side by side, so most are in the block of the one before.
        let mut last = None;
        for (at, place) in places.enumerate() {
            let (block, slot) = block_slot(place);
            let dead = match (&known, last) {
                (Some(known), _) => known.get(&block).copied().unwrap_or(0),
                (None, Some((looked_at, dead))) if looked_at == block => dead,
                (None, _) if self.lacks(self.tables.columns, &column.key(block)) => 0,
                (None, _) => self.block_bytes(column, block)?.map_or(Ok(0), Block::presence)?,
            };
            last = Some((block, dead));
            if dead >> slot & 1 == 0 {
                f(at);
            }
        }
        Ok(())
    }

    /// All removed elements of a label, once so many were asked for that reading all costs no more. `None` before that.
    fn all_dead(&self, column: Column, asked: u64) -> Result<Option<Arc<DeadBlocks>>> {
        let Some(clean) = self.clean else { return Ok(None) };
        let blocks = self.segments.end(column.kind, column.label) / SLOTS as u64;
        match locked(&clean.dead).entry(column).or_insert(Dead::Asked(0)) {
            Dead::Known(known) => return Ok(Some(known.clone())),
            Dead::Asked(before) => {
                *before += asked;
                if *before * BLOCKS_A_LOOK < blocks {
                    return Ok(None);
                }
            }
        }
        // Without the lock: other readers of this commit go on meanwhile.
        let (mut known, mut walk, mut next) = (DeadBlocks::new(), self.column(column), 0);
        while let Some((block, marks)) = walk.block_from(next)? {
            known.insert(block, marks.present);
            next = block + 1;
        }
        let known = Arc::new(known);
        locked(&clean.dead).insert(column, Dead::Known(known.clone()));
        Ok(Some(known))
    }

    /// Whether the tables are known to decide nothing in a sealed block.
    #[inline]
    pub fn is_intact(&self, column: Column, block: u64) -> Result<bool> {
        Ok(self.lacks(self.tables.columns, &column.key(block)) || self.is_clean(column)?)
    }

    /// Whether all edges of a sealed list are known to be alive.
    pub fn all_live(&self, label: LabelId, lists: &Lists<'_>, list: Range<usize>) -> Result<bool> {
        let column = Column::dead(ElementKind::Edge, label);
        if list.is_empty() || self.is_clean(column)? {
            return Ok(true);
        }
        let place = |at: usize| lists.first_place().and_then(|first| first.checked_add(at as u64));
        let (Some(first), Some(last)) = (place(list.start), place(list.end - 1)) else { return Ok(false) };
        let mut blocks = block_slot(first).0..=block_slot(last).0;
        Ok(blocks.all(|block| self.lacks(self.tables.columns, &column.key(block))))
    }

    /// Whether the tables are known to decide nothing in the sealed blocks of a column.
    pub fn is_clean(&self, column: Column) -> Result<bool> {
        if self.segments.is_empty() {
            return Ok(column == Column::dead(column.kind, column.label));
        }
        if column.is_fixed() {
            return Ok(true);
        }
        let Some(clean) = self.clean else { return Ok(false) };
        if is_empty(&clean.no_columns, self.tables.columns, self)? {
            return Ok(true);
        }
        if let Some(known) = locked(&clean.columns).get(&column) {
            return Ok(*known);
        }
        let end = self.segments.end(column.kind, column.label).div_ceil(SLOTS as u64);
        let first = self.tables.columns.get_greater_than_or_equal_to(self.txn, &column.key(0)).map_err(lmdb)?;
        let is_clean = match first {
            Some((key, _)) => Column::parse(key).map(|(found, block)| found != column || block >= end).unwrap_or(false),
            None => true,
        };
        locked(&clean.columns).insert(column, is_clean);
        Ok(is_clean)
    }

    /// Whether the tables are known to have no ids of vertices.
    pub fn has_no_ids(&self) -> Result<bool> {
        self.clean.map_or(Ok(false), |clean| is_empty(&clean.no_ids, self.tables.ids, self))
    }

    /// Whether the tables are known to have no edges of the sealed vertices of a label.
    pub fn has_clean_lists(&self, outgoing: bool, label: LabelId) -> Result<bool> {
        let Some(clean) = self.clean.filter(|_| !self.segments.is_empty()) else { return Ok(false) };
        if let Some(known) = locked(&clean.lists).get(&(outgoing, label)) {
            return Ok(*known);
        }
        let table = if outgoing { self.tables.out } else { self.tables.incoming };
        let first = table.get_greater_than_or_equal_to(self.txn, &vertex_at(label, 0).0.to_be_bytes()).map_err(lmdb)?;
        let is_clean = match first {
            Some((key, _)) => {
                let vertex = AdjacencyKey::parse(key)?.vertex;
                vertex.label() != label || !self.is_sealed(ElementKind::Vertex, label, place(vertex.0))
            }
            None => true,
        };
        locked(&clean.lists).insert((outgoing, label), is_clean);
        Ok(is_clean)
    }
}
