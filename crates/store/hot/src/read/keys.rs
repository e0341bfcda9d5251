//! The keys under which elements have something.

use std::collections::BTreeSet;
use std::ops::Bound;

use mangrove_graph::{ElementKind, KeyId, LabelId, Result};

use super::Reader;
use crate::format::catalog;
use crate::format::key::{Column, block_slot};
use crate::format::keys::{self, LISTS_A_BLOCK, MANY};
use crate::system::fault::lmdb;

impl Reader<'_> {
    /// The keys under which one of these elements may have something, in order. The elements are of one label and sorted by
    /// place. O(keys of their blocks).
    pub fn keys_at(&self, kind: ElementKind, label: LabelId, places: &[u64]) -> Result<Vec<KeyId>> {
        let Some(known) = self.schema.label_schema(kind, label) else { return Ok(Vec::new()) };
        if known.properties.len() <= MANY || catalog::has_no_lists(self.tables, self.txn)? {
            return Ok(known.properties.keys().collect());
        }
        let mut keys = BTreeSet::from_iter(known.time.or(known.key));
        for group in places.chunk_by(|a, b| block_slot(*a).0 == block_slot(*b).0) {
            let slots = group.iter().fold(0, |slots, place| slots | 1 << block_slot(*place).1);
            let block = block_slot(group[0]).0;
            self.listed_keys(kind, label, block, slots, &mut keys)?;
            for segment in self.segments.list() {
                segment.keys(kind, label, block, slots, &mut keys)?;
            }
        }
        Ok(keys.into_iter().collect())
    }

    /// Adds the keys that the tables list for these slots of a block.
    fn listed_keys(
        &self,
        kind: ElementKind,
        label: LabelId,
        block: u64,
        slots: u128,
        out: &mut BTreeSet<KeyId>,
    ) -> Result<()> {
        let at = |block: u64| Column::keys(kind, label).key(block * LISTS_A_BLOCK);
        let range = (Bound::Included(&at(block)[..]), Bound::Excluded(&at(block + 1)[..]));
        for row in self.tables.columns.range(self.txn, &range).map_err(lmdb)? {
            let (_, bytes) = row.map_err(lmdb)?;
            out.extend(keys::parse(bytes)?.into_iter().filter(|(_, present)| present & slots != 0).map(|(key, _)| key));
        }
        Ok(())
    }
}
