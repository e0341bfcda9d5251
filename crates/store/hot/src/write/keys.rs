//! Keeps the lists of the keys of wide labels.

use mangrove_graph::{ElementKind, LabelId, Result};

use super::HotTransaction;
use crate::format::key::Column;
use crate::format::keys::{self, MANY};

impl HotTransaction {
    /// Call this when a label has got one more property. If that makes it wide, this lists its keys.
    pub(super) fn come_to_be_wide(&mut self, kind: ElementKind, label: LabelId) -> Result<()> {
        if self.schema.labels(kind)[usize::from(label.0)].properties.len() != MANY + 1 {
            return Ok(());
        }
        let tables = self.owned.shared().tables;
        keys::list(&tables, self.owned.txn_mut(), kind, label)
    }

    /// Notes in the list of keys that a block of a column is to have cells in these slots. Without slots, the key leaves the
    /// list.
    pub(super) fn note_key(&mut self, column: Column, block: u64, present: u128) -> Result<()> {
        let Some(key) = column.property_key().filter(|_| keys::is_wide(&self.schema, column.kind, column.label)) else {
            return Ok(());
        };
        let (lists, list) = keys::list_of(column, block, key);
        let mut listed = self.reader().block_bytes(lists, list)?.map_or(Ok(Vec::new()), keys::parse)?;
        match listed.binary_search_by_key(&key, |(key, _)| *key) {
            Ok(at) if listed[at].1 == present => return Ok(()),
            Ok(at) if present == 0 => drop(listed.remove(at)),
            Ok(at) => listed[at].1 = present,
            Err(_) if present == 0 => return Ok(()),
            Err(at) => listed.insert(at, (key, present)),
        }
        let (table, row) = (self.owned.shared().tables.columns, lists.key(list));
        if listed.is_empty() {
            return table.delete(self.owned.txn_mut(), &row).map(|_| ());
        }
        table.put(self.owned.txn_mut(), &row, &keys::encode(&listed))
    }
}
