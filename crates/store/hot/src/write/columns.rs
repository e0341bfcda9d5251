//! Changes columns: writes whole blocks where a batch fills them, and edits the other blocks.

use std::ops::Range;

use mangrove_graph::{Cell, EdgeRef, ElementKind, LabelId, Result, Value};

use super::HotTransaction;
use crate::format::block::{Block, SLOTS, far_key, slots};
use crate::format::encode::{self, Kept, Rows};
use crate::format::key::{Column, block_slot, place};
use crate::lmdb::table::Table;
use crate::system::fault::lmdb;

/// A slot of a block, and its new cell.
pub type Change = (usize, Cell);

impl HotTransaction {
    /// Writes `rows` to consecutive places from `first` on. Absent rows leave what is there. `are_new` says that the column
    /// has nothing from `first` on.
    pub fn put_run(&mut self, column: Column, first: u64, rows: &impl Rows, n: usize, are_new: bool) -> Result<()> {
        let mut bytes = Vec::with_capacity(2048);
        for (block, slot, range) in blocks(first, n) {
            let untouched = are_new && slot == 0;
            if !untouched && self.reader().block(column, block)?.is_some() {
                let cells = range.enumerate().map(|(at, row)| (slot + at, rows.cell(row)));
                self.edit_block(column, block, cells.filter(|(_, cell)| !cell.is_absent()))?;
                continue;
            }
            bytes.clear();
            let far = rows.encode(range, slot, &mut bytes);
            if !bytes.is_empty() {
                self.put_block(column, block, &bytes, &far)?;
            }
        }
        Ok(())
    }

    /// Replaces cells of one block. If the block is sealed, the tables decide these cells from now on.
    pub fn edit_block(&mut self, column: Column, block: u64, changes: impl IntoIterator<Item = Change>) -> Result<()> {
        let old = self.reader().table_block(column, block)?;
        let is_over = self.reader().is_covered(column, block);
        let mut said = old.as_ref().map_or(if is_over { 0 } else { u128::MAX }, |old| old.said);
        let changes: Vec<Change> = changes.into_iter().collect();
        let mut kept = old.as_ref().map_or(Kept::default(), |old| Kept { slots: old.far, of_type: old.value_type() });
        for (slot, _) in &changes {
            kept.slots &= !(1 << slot);
            said |= 1 << slot;
        }
        let (was_there, old_far) = (old.is_some(), old.as_ref().map_or(0, |old| old.far));
        let mut bytes = Vec::with_capacity(1024);
        encode::said(&mut bytes, said);
        let empty = bytes.len();
        let spliced = old.as_ref().map_or(Ok(None), |old| encode::spliced(&mut bytes, old, &changes, kept))?;
        let far = match spliced {
            Some(far) => far,
            None => {
                let mut cells = old.map_or_else(|| Ok(vec![Cell::Absent; SLOTS]), |old| old.near_cells())?;
                changes.into_iter().for_each(|(slot, cell)| cells[slot] = cell);
                encode::cells(&mut bytes, &cells, kept)
            }
        };
        let table = self.owned.shared().tables.columns;
        for slot in slots(old_far & !kept.slots) {
            if !far.iter().any(|(at, _)| *at == slot) {
                table.delete(self.owned.txn_mut(), &far_key(&column.key(block), slot))?;
            }
        }
        if bytes.len() > empty {
            self.put_block(column, block, &bytes, &far)
        } else if was_there && self.outlives_its_cells(column, block)? || is_over && self.hides(column, block, said)? {
            bytes.extend_from_slice(&encode::EMPTY);
            self.put_block(column, block, &bytes, &[])
        } else if was_there {
            self.note_key(column, block, 0)?;
            table.delete(self.owned.txn_mut(), &column.key(block)).map(|_| ())
        } else {
            Ok(())
        }
    }

    /// Whether segments have cells in these slots of a block.
    fn hides(&self, column: Column, block: u64, slots: u128) -> Result<bool> {
        Ok(self.reader().sealed_block(column, block, false)?.is_some_and(|under| under.present & slots != 0))
    }

    /// Marks sealed elements, sorted by place, as removed.
    pub fn bury(&mut self, kind: ElementKind, label: LabelId, places: &[u64]) -> Result<()> {
        for group in places.chunk_by(|a, b| block_slot(*a).0 == block_slot(*b).0) {
            let dead = group.iter().map(|place| (block_slot(*place).1, Cell::One(Value::Bool(true))));
            self.edit_block(Column::dead(kind, label), block_slot(group[0]).0, dead)?;
        }
        Ok(())
    }

    /// Removes the cells at these places, which are sorted.
    pub fn clear_cells(&mut self, column: Column, places: &[u64]) -> Result<()> {
        for group in places.chunk_by(|a, b| block_slot(*a).0 == block_slot(*b).0) {
            let (block, _) = block_slot(group[0]);
            let is_sealed = column.is_fixed() && self.reader().is_covered(column, block);
            if !is_sealed && self.reader().block_bytes(column, block)?.is_some() {
                self.edit_block(column, block, group.iter().map(|place| (block_slot(*place).1, Cell::Absent)))?;
            }
        }
        Ok(())
    }

    /// Writes the ends of consecutive new edges from place `first` on.
    pub fn put_ends(&mut self, label: LabelId, first: u64, edges: impl Fn(usize) -> EdgeRef, n: usize) -> Result<()> {
        let column = Column::ends(label);
        let mut bytes = Vec::with_capacity(2048);
        for (block, slot, range) in blocks(first, n) {
            let mut ends = if slot == 0 { [None; SLOTS] } else { self.ends_of(label, block)? };
            for (at, row) in range.enumerate() {
                ends[slot + at] = Some(edges(row));
            }
            bytes.clear();
            encode::ends(&mut bytes, &ends);
            self.put_block(column, block, &bytes, &[])?;
        }
        Ok(())
    }

    /// Removes the ends at these places, which are sorted.
    pub fn clear_ends(&mut self, label: LabelId, places: &[u64]) -> Result<()> {
        let mut bytes = Vec::new();
        for group in places.chunk_by(|a, b| block_slot(*a).0 == block_slot(*b).0) {
            let (block, _) = block_slot(group[0]);
            let mut ends = self.ends_of(label, block)?;
            group.iter().for_each(|place| ends[block_slot(*place).1] = None);
            bytes.clear();
            encode::ends(&mut bytes, &ends);
            if bytes.is_empty() {
                let table = self.owned.shared().tables.columns;
                table.delete(self.owned.txn_mut(), &Column::ends(label).key(block))?;
            } else {
                self.put_block(Column::ends(label), block, &bytes, &[])?;
            }
        }
        Ok(())
    }

    fn ends_of(&self, label: LabelId, block: u64) -> Result<[Option<EdgeRef>; SLOTS]> {
        let mut ends = [None; SLOTS];
        if let Some(old) = self.reader().block(Column::ends(label), block)? {
            let keep = |edge: EdgeRef| ends[block_slot(place(edge.id.0)).1] = Some(edge);
            self.reader().each_edge_in(label, block, &old, 0..SLOTS, keep)?;
        }
        Ok(ends)
    }

    fn put_block(&mut self, column: Column, block: u64, bytes: &[u8], far: &[(usize, Vec<u8>)]) -> Result<()> {
        self.note_key(column, block, Block::presence(bytes)?)?;
        let (table, key) = (self.owned.shared().tables.columns, column.key(block));
        table.put(self.owned.txn_mut(), &key, bytes)?;
        for (slot, cell) in far {
            table.put(self.owned.txn_mut(), &far_key(&key, *slot), cell)?;
        }
        Ok(())
    }

    /// Puts sorted entries into a table. Appends those beyond its end.
    pub fn put_sorted<'a>(&mut self, table: Table, entries: impl Iterator<Item = (&'a [u8], &'a [u8])>) -> Result<()> {
        let mut last = table.last(self.owned.txn()).map_err(lmdb)?.map(|(key, _)| key.to_vec());
        for (key, value) in entries {
            let txn = self.owned.txn_mut();
            if last.as_deref().is_none_or(|last| last < key) {
                table.append(txn, key, value)?;
                last = None; // from here on every key is beyond the last
            } else {
                table.put(txn, key, value)?;
            }
        }
        Ok(())
    }
}

/// The blocks of `n` places from `first` on: block, first slot, and the range of rows that fall into it.
fn blocks(first: u64, n: usize) -> impl Iterator<Item = (u64, usize, Range<usize>)> {
    let mut row = 0;
    std::iter::from_fn(move || {
        if row == n {
            return None;
        }
        let (block, slot) = block_slot(first + row as u64);
        let end = n.min(row + SLOTS - slot);
        let range = row..end;
        row = end;
        Some((block, slot, range))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_fall_into_blocks() {
        let all: Vec<_> = blocks(120, 140).collect();
        assert_eq!(all, [(0, 120, 0..8), (1, 0, 8..136), (2, 0, 136..140)]);
    }
}
