//! Walking through a table in key order, with seeks that step forward where the wanted entry is near.

use std::ops::Bound;

use heed::types::Bytes;
use heed::{AnyTls, RoRange, RoTxn};
use mangrove_graph::Result;

use crate::fault::lmdb;
use crate::key::KeyBytes;
use crate::table::Table;

/// A key and its value.
pub type Pair<'t> = (&'t [u8], &'t [u8]);

/// A position in a table.
///
/// Invariant: no entry has a key from `sought` on that is before the current one, except those `passed` and before.
pub struct Walk<'t> {
    table: Table,
    txn: &'t RoTxn<'t, AnyTls>,
    rest: Option<RoRange<'t, Bytes, Bytes>>,
    current: Option<Pair<'t>>,
    passed: &'t [u8],
    sought: KeyBytes,
}

impl<'t> Walk<'t> {
    pub fn new(table: Table, txn: &'t RoTxn<'t, AnyTls>) -> Self {
        Self { table, txn, rest: None, current: None, passed: &[], sought: KeyBytes::new(&[]) }
    }

    /// The entry the walk stands at; nothing at the end.
    pub fn current(&self) -> Option<Pair<'t>> {
        self.current
    }

    /// Goes to the next entry.
    pub fn step(&mut self) -> Result<()> {
        if let Some((key, _)) = self.current {
            self.passed = key;
            self.current = self.rest.as_mut().and_then(Iterator::next).transpose().map_err(lmdb)?;
        }
        Ok(())
    }

    /// Goes to the first entry whose key is not before `key`. From a position before it at most `steps` entries are stepped
    /// over before the tree is searched.
    pub fn seek(&mut self, key: KeyBytes, steps: usize) -> Result<Option<Pair<'t>>> {
        let forward = self.rest.is_some() && self.sought[..] <= key[..] && *self.passed < key[..];
        if forward {
            for _ in 0..=steps {
                if self.current.is_none_or(|(at, _)| *at >= key[..]) {
                    self.sought = key;
                    return Ok(self.current);
                }
                self.step()?;
            }
        }
        self.search(key)?;
        Ok(self.current)
    }

    fn search(&mut self, key: KeyBytes) -> Result<()> {
        let bounds = (Bound::Included(&key[..]), Bound::<&[u8]>::Unbounded);
        let mut rest = self.table.range(self.txn, &bounds).map_err(lmdb)?;
        self.current = rest.next().transpose().map_err(lmdb)?;
        (self.rest, self.passed, self.sought) = (Some(rest), &[], key);
        Ok(())
    }
}
