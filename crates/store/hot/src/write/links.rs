//! Changing adjacency: edges enter and leave the blocks of `out` and `in` in sorted batches.

use heed::PutFlags;
use mangrove_graph::{GraphError, LabelId, Result, VertexId};

use super::HotTransaction;
use crate::adjacency::{self, AdjacencyBlock, EDGES_MAX, Entry};
use crate::fault::lmdb;
use crate::key::{AdjacencyKey, KeyBytes, label_prefix};
use crate::store::Table;

/// Keeps buffers over the groups of a batch.
#[derive(Default)]
pub struct Linker {
    merged: Vec<Entry>,
    bytes: Vec<u8>,
    /// Everything put from here on comes after all keys of the table.
    appending: bool,
}

impl Linker {
    /// A linker for groups in order of their vertices. Those after all vertices of the table are appended.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds the edges of one vertex and label, sorted; each is younger than all there are.
    pub fn link(
        &mut self,
        transaction: &mut HotTransaction,
        table: Table,
        vertex: VertexId,
        label: LabelId,
        new: &[Entry],
    ) -> Result<()> {
        if self.is_beyond(transaction, table, vertex, label)? {
            for chunk in new.chunks(EDGES_MAX) {
                self.put(transaction, table, vertex, label, chunk)?;
            }
            return Ok(());
        }
        let mut rest = new;
        while let Some(first) = rest.first() {
            let Some((key, next)) = self.place_for(transaction, table, vertex, label, first)? else {
                for chunk in rest.chunks(EDGES_MAX) {
                    self.put(transaction, table, vertex, label, chunk)?;
                }
                return Ok(());
            };
            let n = next.map_or(rest.len(), |next| rest.partition_point(|e| e.order() < (next.time, next.edge)));
            let (here, later) = rest.split_at(n);
            self.merge(transaction, table, key, here)?;
            rest = later;
        }
        Ok(())
    }

    /// Whether a vertex and label come after all the table has.
    fn is_beyond(&mut self, t: &HotTransaction, table: Table, vertex: VertexId, label: LabelId) -> Result<bool> {
        if !self.appending {
            let last = table.last(t.owned.txn()).map_err(lmdb)?;
            let prefix = label_prefix(vertex, label);
            self.appending = last.is_none_or(|(key, _)| key < &prefix[..] && !key.starts_with(&prefix));
        }
        Ok(self.appending)
    }

    /// The block a new entry belongs in, now in `merged`, and the key of the next block of the same vertex and label. Nothing
    /// if they have none.
    fn place_for(
        &mut self,
        t: &HotTransaction,
        table: Table,
        vertex: VertexId,
        label: LabelId,
        entry: &Entry,
    ) -> Result<Option<(AdjacencyKey, Option<AdjacencyKey>)>> {
        let prefix = label_prefix(vertex, label);
        let of_group = |key: &[u8]| key.starts_with(&prefix);
        let txn = t.owned.txn();
        // The last block first: it is the right one unless times come out of order.
        let end = KeyBytes::new(&[&prefix, &[u8::MAX; 14]]);
        let Some(last) = table.get_lower_than_or_equal_to(txn, &end).map_err(lmdb)?.filter(|(key, _)| of_group(key)) else {
            return Ok(None);
        };
        let wanted = entry.key(vertex, label).bytes();
        let (found, next) = if *last.0 < wanted[..] {
            (last, None)
        } else {
            let before = table.get_lower_than_or_equal_to(txn, &wanted).map_err(lmdb)?.filter(|(key, _)| of_group(key));
            let next = table.get_greater_than(txn, &wanted).map_err(lmdb)?.filter(|(key, _)| of_group(key));
            match (before, next) {
                (Some(before), next) => (before, next),
                (None, Some(first)) => {
                    (first, table.get_greater_than(txn, first.0).map_err(lmdb)?.filter(|(key, _)| of_group(key)))
                }
                (None, None) => return Ok(None),
            }
        };
        self.merged.clear();
        AdjacencyBlock::parse(found.0, found.1)?.entries(&mut self.merged);
        Ok(Some((AdjacencyKey::parse(found.0)?, next.map(|(key, _)| AdjacencyKey::parse(key)).transpose()?)))
    }

    /// Writes the block of `key`, whose entries are in `merged`, with `new` ones.
    fn merge(&mut self, t: &mut HotTransaction, table: Table, key: AdjacencyKey, new: &[Entry]) -> Result<()> {
        let mut merged = std::mem::take(&mut self.merged);
        let in_order = merged.last().is_none_or(|last| last.order() < new[0].order());
        merged.extend_from_slice(new);
        if !in_order {
            merged.sort_by_key(Entry::order);
        }
        if merged[0].order() != (key.time, key.edge) {
            table.delete(t.owned.txn_mut(), &key.bytes()).map_err(lmdb)?;
        }
        // Edges that come in order leave full blocks behind, others room for more of them.
        let blocks = merged.len().div_ceil(EDGES_MAX);
        let size = if in_order { EDGES_MAX } else { merged.len().div_ceil(blocks) };
        for chunk in merged.chunks(size) {
            self.put(t, table, key.vertex, key.label, chunk)?;
        }
        self.merged = merged;
        Ok(())
    }

    fn put(
        &mut self,
        t: &mut HotTransaction,
        table: Table,
        vertex: VertexId,
        label: LabelId,
        entries: &[Entry],
    ) -> Result<()> {
        self.bytes.clear();
        adjacency::encode(&mut self.bytes, entries);
        let key = entries[0].key(vertex, label).bytes();
        let flags = if self.appending { PutFlags::APPEND } else { PutFlags::empty() };
        table.put_with_flags(t.owned.txn_mut(), flags, &key, &self.bytes).map_err(lmdb)
    }

    /// Removes edges of one vertex and label, sorted by (time, edge).
    pub fn unlink(
        &mut self,
        t: &mut HotTransaction,
        table: Table,
        vertex: VertexId,
        label: LabelId,
        gone: &[(Option<i64>, u64)],
    ) -> Result<()> {
        let mut rest = gone;
        while let Some((time, edge)) = rest.first().copied() {
            let wanted = AdjacencyKey { vertex, label, time, edge };
            let missing = || GraphError::corrupt(format!("edge {edge} is missing among those of {vertex:?}"));
            let found = table.get_lower_than_or_equal_to(t.owned.txn(), &wanted.bytes()).map_err(lmdb)?;
            let prefix = label_prefix(vertex, label);
            let (key, value) = found.filter(|(key, _)| key.starts_with(&prefix)).ok_or_else(missing)?;
            let key = KeyBytes::new(&[key]);
            self.merged.clear();
            AdjacencyBlock::parse(&key, value)?.entries(&mut self.merged);
            let last = self.merged.last().map(Entry::order);
            let n = rest.partition_point(|gone| Some(*gone) <= last);
            let (here, later) = rest.split_at(n);
            let before = self.merged.len();
            self.merged.retain(|entry| here.binary_search(&entry.order()).is_err());
            if n == 0 || before - self.merged.len() != n {
                return Err(missing());
            }
            let kept = std::mem::take(&mut self.merged);
            if kept.first().is_none_or(|first| first.key(vertex, label).bytes()[..] != key[..]) {
                table.delete(t.owned.txn_mut(), &key).map_err(lmdb)?;
            }
            if !kept.is_empty() {
                self.put(t, table, vertex, label, &kept)?;
            }
            self.merged = kept;
            rest = later;
        }
        Ok(())
    }
}
