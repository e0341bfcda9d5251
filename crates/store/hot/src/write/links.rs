//! Changes adjacency: edges enter and leave the blocks of `out` and `in` in sorted batches.

use mangrove_graph::{GraphError, LabelId, Result, VertexId};

use super::HotTransaction;
use crate::format::adjacency::{self, AdjacencyBlock, EDGES_MAX, EdgeEntry};
use crate::format::key::{AdjacencyKey, KeyBytes, label_prefix};
use crate::format::walk::Pair;
use crate::lmdb::table::Table;
use crate::system::fault::lmdb;

/// Changes one table by groups of edges. Each group is of one vertex and label. Groups come in the order of their keys.
pub struct Linker {
    table: Table,
    label: LabelId,
    /// The last key of the table when the batch began.
    last: Option<KeyBytes>,
    merged: Vec<EdgeEntry>,
    bytes: Vec<u8>,
}

/// The block that new entries belong in.
struct Target {
    key: AdjacencyKey,
    /// What it adds to the sum of the table.
    share: Option<u64>,
    /// The key of the next block of the same vertex and label.
    next: Option<AdjacencyKey>,
}

/// Where new blocks go.
#[derive(Clone, Copy)]
enum Position {
    /// Behind all blocks of the table.
    Behind,
    /// Anywhere.
    Among,
    /// The first one replaces a block that adds this to the sum of the table.
    Over(Option<u64>),
}

impl Linker {
    pub fn new(t: &HotTransaction, table: Table, label: LabelId) -> Result<Self> {
        let last = table.last(t.owned.txn()).map_err(lmdb)?;
        let last = last.map(|(key, _)| AdjacencyKey::parse(key).map(|key| key.bytes())).transpose()?;
        Ok(Self { table, label, last, merged: Vec::new(), bytes: Vec::new() })
    }

    /// Adds sorted edges of one vertex. Each is younger than all there are.
    pub fn link(&mut self, t: &mut HotTransaction, vertex: VertexId, new: &[EdgeEntry]) -> Result<()> {
        let prefix = label_prefix(vertex, self.label);
        if self.last.is_none_or(|last| last[..] < prefix[..]) {
            return self.put_all(t, vertex, new, EDGES_MAX, Position::Behind);
        }
        let mut rest = new;
        while let Some(first) = rest.first() {
            let Some(target) = self.target_of(t, vertex, first)? else {
                return self.put_all(t, vertex, rest, EDGES_MAX, Position::Among);
            };
            let n = target.next.map_or(rest.len(), |next| rest.partition_point(|e| e.order() < (next.time, next.edge)));
            let (here, later) = rest.split_at(n);
            self.merge(t, target, here)?;
            rest = later;
        }
        Ok(())
    }

    /// Reads the block that a new entry belongs in into `merged`. `None` if the vertex has no block for the label.
    fn target_of(&mut self, t: &HotTransaction, vertex: VertexId, entry: &EdgeEntry) -> Result<Option<Target>> {
        let (table, txn, prefix) = (self.table, t.owned.txn(), label_prefix(vertex, self.label));
        let before = |key: &[u8]| -> Result<Option<Pair<'_>>> {
            let found = table.get_lower_than_or_equal_to(txn, key).map_err(lmdb)?;
            Ok(found.filter(|(key, _)| key.starts_with(&prefix)))
        };
        let after = |key: &[u8]| -> Result<Option<Pair<'_>>> {
            let found = table.get_greater_than(txn, key).map_err(lmdb)?;
            Ok(found.filter(|(key, _)| key.starts_with(&prefix)))
        };
        let wanted = entry.key(vertex, self.label).bytes();
        // Look at the last block first: it is the right one unless times come out of order.
        let Some(last) = before(&KeyBytes::new(&[&prefix, &[u8::MAX; 14]]))? else { return Ok(None) };
        let (found, next) = if *last.0 < wanted[..] {
            (last, None)
        } else {
            let found = match before(&wanted)? {
                Some(found) => found,
                None => after(&wanted)?.unwrap_or(last),
            };
            (found, after(found.0)?)
        };
        self.merged.clear();
        AdjacencyBlock::parse(found.0, found.1)?.entries(&mut self.merged);
        let next = next.map(|(key, _)| AdjacencyKey::parse(key)).transpose()?;
        let share = table.share(txn, found.0, found.1);
        Ok(Some(Target { key: AdjacencyKey::parse(found.0)?, share, next }))
    }

    /// Writes the target, whose entries are in `merged`, together with the `new` ones.
    fn merge(&mut self, t: &mut HotTransaction, target: Target, new: &[EdgeEntry]) -> Result<()> {
        let key = target.key;
        let mut merged = std::mem::take(&mut self.merged);
        let in_order = merged.last().is_none_or(|last| last.order() < new[0].order());
        merged.extend_from_slice(new);
        if !in_order {
            merged.sort_by_key(EdgeEntry::order);
        }
        let stays = merged[0].order() == (key.time, key.edge);
        if !stays {
            self.table.delete(t.owned.txn_mut(), &key.bytes())?;
        }
        // Edges that come in order leave full blocks behind. Others leave blocks with room for more.
        let blocks = merged.len().div_ceil(EDGES_MAX);
        let size = if in_order { EDGES_MAX } else { merged.len().div_ceil(blocks) };
        let first = if stays { Position::Over(target.share) } else { Position::Among };
        self.put_all(t, key.vertex, &merged, size, first)?;
        self.merged = merged;
        Ok(())
    }

    /// Writes blocks of `size` entries.
    fn put_all(
        &mut self,
        t: &mut HotTransaction,
        vertex: VertexId,
        entries: &[EdgeEntry],
        size: usize,
        mut position: Position,
    ) -> Result<()> {
        for block in entries.chunks(size) {
            self.bytes.clear();
            adjacency::encode(&mut self.bytes, block);
            let key = block[0].key(vertex, self.label).bytes();
            let (txn, table) = (t.owned.txn_mut(), self.table);
            match position {
                Position::Behind => table.append(txn, &key, &self.bytes)?,
                Position::Among => table.put(txn, &key, &self.bytes)?,
                Position::Over(share) => {
                    table.replace(txn, &key, share, &self.bytes)?;
                    position = Position::Among;
                }
            }
        }
        Ok(())
    }

    /// Removes edges of one vertex, sorted by (time, edge).
    pub fn unlink(&mut self, t: &mut HotTransaction, vertex: VertexId, gone: &[(Option<i64>, u64)]) -> Result<()> {
        let mut rest = gone;
        while let Some((time, edge)) = rest.first().copied() {
            let wanted = AdjacencyKey { vertex, label: self.label, time, edge };
            let missing = || GraphError::corrupt(format!("edge {edge} is missing among those of {vertex:?}"));
            let found = self.table.get_lower_than_or_equal_to(t.owned.txn(), &wanted.bytes()).map_err(lmdb)?;
            let prefix = label_prefix(vertex, self.label);
            let (key, value) = found.filter(|(key, _)| key.starts_with(&prefix)).ok_or_else(missing)?;
            let mut kept = std::mem::take(&mut self.merged);
            kept.clear();
            AdjacencyBlock::parse(key, value)?.entries(&mut kept);
            let key = AdjacencyKey::parse(key)?.bytes();
            let (last, before) = (kept.last().map(EdgeEntry::order), kept.len());
            let (here, later) = rest.split_at(rest.partition_point(|gone| Some(*gone) <= last));
            kept.retain(|entry| here.binary_search(&entry.order()).is_err());
            if here.is_empty() || before - kept.len() != here.len() {
                return Err(missing());
            }
            if kept.first().is_none_or(|first| first.key(vertex, self.label).bytes()[..] != key[..]) {
                self.table.delete(t.owned.txn_mut(), &key)?;
            }
            self.put_all(t, vertex, &kept, EDGES_MAX, Position::Among)?;
            self.merged = kept;
            rest = later;
        }
        Ok(())
    }
}
