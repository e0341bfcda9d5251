//! Declarations and indexes.

use std::sync::Arc;

use mangrove_graph::{
    Cardinality, ElementKind, GraphError, IndexSchema, KeyId, LabelId, PropertyId, PropertySchema, Result, ValueType,
};

use super::HotTransaction;
use crate::format::block::{SLOTS, slots};
use crate::format::catalog::{self, Record};
use crate::format::index;
use crate::format::key::{AdjacencyKey, Column, element_at};
use crate::system::fault::lmdb;

/// The entries of a new index are sorted in memory, about this many bytes at once.
const RUN_BYTES: usize = 64 << 20;

impl HotTransaction {
    pub(super) fn fix_property(
        &mut self,
        kind: ElementKind,
        label: LabelId,
        key: KeyId,
        value_type: Option<ValueType>,
        cardinality: Cardinality,
    ) -> Result<()> {
        self.schema.must_have_label(kind, label)?;
        self.schema.must_have_key(key)?;
        if value_type.is_some_and(|t| !t.is_storable()) {
            let what = format!("{} cannot be the type of a property", value_type.unwrap_or(ValueType::Null));
            return Err(GraphError::Invalid(what));
        }
        let of = PropertyId { kind, label, key };
        let declaration = PropertySchema { declared: value_type, cardinality, ..PropertySchema::new(key) };
        if self.schema.is_key(kind, label, key) {
            self.schema.may_be_key(label, &declaration)?;
        }
        let mut column = self.reader().column(Column::holding(&self.schema, kind, label, key));
        let mut block = 0;
        while let Some((at, cells)) = column.block_from(block)? {
            // If a block is of the declared type, all its cells keep to the declaration.
            if value_type.is_none() || cells.value_type() != value_type {
                for slot in slots(cells.present) {
                    self.schema.must_keep_to(of, &declaration, &cells.cell(slot)?, true)?;
                }
            }
            block = at + 1;
        }
        drop(column);
        self.change_property(kind, label, key, |property| {
            (property.declared, property.cardinality) = (value_type, cardinality);
        })
    }

    pub(super) fn fix_time(&mut self, label: LabelId, key: KeyId) -> Result<()> {
        self.schema.must_have_label(ElementKind::Edge, label)?;
        self.schema.must_have_key(key)?;
        if self.counter(ElementKind::Edge, label)?.live > 0 {
            return Err(self.schema.has_edges_already(label));
        }
        self.change(|t| t.forget_edges_of(label))?;
        if self.schema.edge_labels[usize::from(label.0)].time == Some(key) {
            return Ok(());
        }
        self.label_mut(ElementKind::Edge, label).time = Some(key);
        Ok(())
    }

    /// Removes the edges of a label that the tables still have although they are sealed. None of them is alive.
    fn forget_edges_of(&mut self, label: LabelId) -> Result<()> {
        if self.sealed_end(ElementKind::Edge, label)? == 0 {
            return Ok(());
        }
        let tables = self.owned.shared().tables;
        for table in [tables.out, tables.incoming] {
            let mut gone = Vec::new();
            for row in table.iter(self.owned.txn()).map_err(lmdb)? {
                let (key, _) = row.map_err(lmdb)?;
                if AdjacencyKey::parse(key)?.label == label {
                    gone.push(key.to_vec());
                }
            }
            for key in gone {
                table.delete(self.owned.txn_mut(), &key)?;
            }
        }
        Ok(())
    }

    pub(super) fn make_index(&mut self, of: PropertyId) -> Result<bool> {
        self.schema.must_have(of)?;
        if self.schema.index(of).is_some() {
            return Ok(false);
        }
        self.change(|t| {
            let (table, mut next) = (t.owned.shared().tables.index, Some(0));
            while let Some(block) = next {
                let mut entries;
                (entries, next) = t.entries_from(of, block)?;
                entries.sort_unstable();
                t.put_sorted(table, entries.iter().map(|entry| (&entry[..], &[][..])))?;
            }
            Ok(())
        })?;
        self.change_indexes(|indexes| indexes.push(IndexSchema::new(of)));
        Ok(true)
    }

    pub(super) fn make_routed(&mut self, of: PropertyId) -> Result<bool> {
        self.schema.must_have(of)?;
        if self.schema.index(of).is_some_and(|index| index.routed) {
            return Ok(false);
        }
        self.make_index(of)?;
        self.change_indexes(|indexes| {
            let mine = indexes.iter_mut().find(|index| index.of == of);
            mine.into_iter().for_each(|index| index.routed = true);
        });
        Ok(true)
    }

    /// Some of the entries of a new index: those of the elements from a block on, and the block at which to go on.
    fn entries_from(&self, of: PropertyId, mut block: u64) -> Result<(Vec<Vec<u8>>, Option<u64>)> {
        let (mut entries, mut bytes) = (Vec::new(), 0);
        let mut column = self.reader().column(Column::holding(&self.schema, of.kind, of.label, of.key));
        while let Some((at, cells)) = column.block_from(block)? {
            for slot in slots(cells.present) {
                let element = element_at(of.kind, of.label, at * SLOTS as u64 + slot as u64);
                let of_cell = index::entries(of, element.raw(), &cells.cell(slot)?);
                bytes += of_cell.iter().map(|entry| size_of::<Vec<u8>>() + entry.len()).sum::<usize>();
                entries.extend(of_cell);
            }
            block = at + 1;
            if bytes > RUN_BYTES {
                return Ok((entries, Some(block)));
            }
        }
        Ok((entries, None))
    }

    pub(super) fn delete_index(&mut self, of: PropertyId) -> Result<bool> {
        let Some(IndexSchema { routed, .. }) = self.schema.index(of).copied() else { return Ok(false) };
        self.change(|t| {
            let tables = t.owned.shared().tables;
            let (from, to) = index::range(of);
            let range = (from.as_ref().map(Vec::as_slice), to.as_ref().map(Vec::as_slice));
            tables.index.delete_range(t.owned.txn_mut(), &range)?;
            if routed { catalog::unlist_shards(&tables, t.owned.txn_mut(), of) } else { Ok(()) }
        })?;
        self.change_indexes(|indexes| indexes.retain(|index| index.of != of));
        Ok(true)
    }

    pub(super) fn change_indexes(&mut self, change: impl FnOnce(&mut Vec<IndexSchema>)) {
        let indexes = &mut Arc::make_mut(&mut self.schema).indexes;
        let before = indexes.len();
        change(indexes);
        self.changed.extend((0..before.max(indexes.len())).map(|at| Record::Index(at as u16)));
    }
}
