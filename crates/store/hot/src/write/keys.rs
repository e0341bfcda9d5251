//! Keeping the lists of the keys of wide labels.

use mangrove_graph::{ElementKind, LabelId, Result};

use super::HotTransaction;
use crate::key::Column;
use crate::keys::{self, MANY};

impl HotTransaction {
    /// A label has got one more property: is it wide now, its keys are listed.
    pub(super) fn come_to_be_wide(&mut self, kind: ElementKind, label: LabelId) -> Result<()> {
        if self.schema.labels(kind)[usize::from(label.0)].properties.len() != MANY + 1 {
            return Ok(());
        }
        let tables = self.owned.shared().tables;
        keys::list(&tables, self.owned.txn_mut(), kind, label)
    }

    /// The tables are to have a block of a column with cells in these slots; none if they are not to have it.
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
