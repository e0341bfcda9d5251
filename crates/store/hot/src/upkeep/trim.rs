//! Removes from the tables what has been sealed, a little at a time.
//!
//! Changes made since the sealed snapshot stay: a block whose rows differ from those of the snapshot replaces the sealed
//! one. Edges, names and cells that never change go by their place alone.

use std::ops::Bound;

use mangrove_graph::{ElementKind, Result};

use crate::format::adjacency::{self, AdjacencyBlock};
use crate::format::index::IndexEntry;
use crate::format::key::{AdjacencyKey, Column, place};
use crate::format::keys;
use crate::lmdb::table::{Table, Tables};
use crate::read::{HotSnapshot, Reader, word};
use crate::system::fault::lmdb;
use crate::write::HotTransaction;

/// Rows looked at in the first transaction, and at most. The number doubles each time, so the first transaction ends soon.
const ROWS_FIRST: usize = 16;
const ROWS_MAX: usize = 4096;

/// How far the tables have been trimmed.
pub struct Trim<'s> {
    snapshot: &'s HotSnapshot,
    /// Which table, and the last key looked at there.
    at: usize,
    last: Vec<u8>,
    /// How many rows the next transaction looks at.
    rows: usize,
}

/// What becomes of a row.
enum Fate {
    Stays,
    /// It goes, together with these others.
    Goes(Vec<Vec<u8>>),
    /// This row replaces it.
    Becomes(Vec<u8>, Vec<u8>),
}

/// What becomes of a row of a table, given its key and value.
type Judge = fn(&HotTransaction, &HotSnapshot, &[u8], &[u8]) -> Result<Fate>;

fn steps(tables: &Tables) -> [(Table, Judge); 6] {
    [
        (tables.columns, block_row),
        (tables.out, list_row),
        (tables.incoming, list_row),
        (tables.ids, |t, _, _, value| name_row(t, ElementKind::Vertex, value)),
        (tables.edge_ids, |t, _, _, value| name_row(t, ElementKind::Edge, value)),
        (tables.index, index_row),
    ]
}

impl<'s> Trim<'s> {
    pub fn new(snapshot: &'s HotSnapshot) -> Self {
        Self { snapshot, at: 0, last: Vec::new(), rows: ROWS_FIRST }
    }

    /// Looks at some rows. Returns whether there are more.
    pub fn step(&mut self, t: &mut HotTransaction) -> Result<bool> {
        let steps = steps(&t.shared().tables);
        let (table, judge) = steps[self.at];
        let mut fates = Vec::new();
        let mut rows = 0;
        let from = (if self.last.is_empty() { Bound::Unbounded } else { Bound::Excluded(&self.last[..]) }, Bound::Unbounded);
        let mut last = None;
        for row in table.range(t.txn(), &from).map_err(lmdb)?.take(self.rows) {
            let (key, value) = row.map_err(lmdb)?;
            match judge(t, self.snapshot, key, value)? {
                Fate::Stays => {}
                fate => fates.push((key.to_vec(), fate)),
            }
            last = Some(key);
            rows += 1;
        }
        self.last = last.unwrap_or_default().to_vec();
        for (key, fate) in fates {
            table.delete(t.txn_mut(), &key)?;
            match fate {
                Fate::Stays => {}
                Fate::Goes(others) => {
                    for key in others {
                        table.delete(t.txn_mut(), &key)?;
                    }
                }
                Fate::Becomes(key, value) => table.put(t.txn_mut(), &key, &value)?,
            }
        }
        if rows < self.rows {
            self.at += 1;
            self.last.clear();
        }
        self.rows = ROWS_MAX.min(2 * self.rows);
        Ok(self.at < steps.len())
    }
}

/// Judges a row of `columns`: a block goes with its far cells.
fn block_row(t: &HotTransaction, then: &HotSnapshot, key: &[u8], value: &[u8]) -> Result<Fate> {
    if key.len() != 12 {
        return Ok(Fate::Stays);
    }
    let ((column, block), reader, then) = (Column::parse(key)?, t.reader(), then.reader());
    if column == Column::keys(column.kind, column.label) {
        return keys_row(&reader, column, block, value);
    }
    if !reader.is_covered(column, block) {
        return Ok(Fate::Stays);
    }
    let mut now = reader.tables.columns.prefix_iter(reader.txn, key).map_err(lmdb)?;
    let mut then = then.tables.columns.prefix_iter(then.txn, key).map_err(lmdb)?;
    let mut far = Vec::new();
    loop {
        match (now.next().transpose().map_err(lmdb)?, then.next().transpose().map_err(lmdb)?) {
            (None, None) => return Ok(Fate::Goes(far)),
            (Some((key, _)), _) if column.is_fixed() => far.push(key.to_vec()),
            (None, _) if column.is_fixed() => return Ok(Fate::Goes(far)),
            (Some(row), Some(was)) if row == was => far.push(row.0.to_vec()),
            _ => return Ok(Fate::Stays),
        }
    }
}

/// Judges a list of keys: a key stays while the tables have a block of it.
fn keys_row(reader: &Reader<'_>, column: Column, list: u64, value: &[u8]) -> Result<Fate> {
    let listed = keys::parse(value)?;
    let mut left = Vec::with_capacity(listed.len());
    for (key, slots) in &listed {
        let of_key = Column::property(column.kind, column.label, *key);
        let found = reader.block_bytes(of_key, keys::block_of(list))?;
        left.extend(found.map(|_| (*key, *slots)));
    }
    Ok(match left.len() {
        0 => Fate::Goes(Vec::new()),
        n if n == listed.len() => Fate::Stays,
        _ => Fate::Becomes(column.key(list).to_vec(), keys::encode(&left)),
    })
}

fn list_row(t: &HotTransaction, _: &HotSnapshot, key: &[u8], value: &[u8]) -> Result<Fate> {
    let (at, block) = (AdjacencyKey::parse(key)?, AdjacencyBlock::parse(key, value)?);
    let is_sealed = |edge: u64| t.reader().is_sealed(ElementKind::Edge, at.label, edge);
    let mut entries = Vec::new();
    block.entries(&mut entries);
    entries.retain(|entry| !is_sealed(entry.edge));
    match entries.first() {
        None => Ok(Fate::Goes(Vec::new())),
        Some(_) if entries.len() == block.len() => Ok(Fate::Stays),
        Some(first) => {
            let mut bytes = Vec::new();
            adjacency::encode(&mut bytes, &entries);
            Ok(Fate::Becomes(first.key(at.vertex, at.label).bytes().to_vec(), bytes))
        }
    }
}

fn name_row(t: &HotTransaction, kind: ElementKind, value: &[u8]) -> Result<Fate> {
    let raw = word(value)?;
    let is_sealed = t.reader().is_sealed(kind, mangrove_graph::EdgeId(raw).label(), place(raw));
    Ok(if is_sealed { Fate::Goes(Vec::new()) } else { Fate::Stays })
}

/// Judges a row of `index`: if the snapshot had it and its element is sealed, a segment has it now.
fn index_row(t: &HotTransaction, then: &HotSnapshot, key: &[u8], _: &[u8]) -> Result<Fate> {
    let (IndexEntry { of, place, .. }, then) = (IndexEntry::parse(key)?, then.reader());
    let is_sealed = t.reader().is_sealed(of.kind, of.label, place);
    let goes = is_sealed && then.tables.index.get(then.txn, key).map_err(lmdb)?.is_some();
    Ok(if goes { Fate::Goes(Vec::new()) } else { Fate::Stays })
}
