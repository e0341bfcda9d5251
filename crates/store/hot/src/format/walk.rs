//! Walks through a table in key order. A seek steps forward if the wanted entry is near.

use std::ops::Bound;

use heed::types::Bytes;
use heed::{AnyTls, RoRange, RoTxn};
use mangrove_graph::Result;

use crate::format::key::KeyBytes;
use crate::lmdb::table::Table;
use crate::system::fault::lmdb;

/// A key and its value.
pub type Pair<'t> = (&'t [u8], &'t [u8]);

/// A position in a table.
///
/// Invariant: each entry with a key from `sought` on that lies before the current one is `passed`, or lies before it.
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

    /// The entry the walk stands at; `None` at the end.
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

    /// Goes to the first entry whose key is not before `key`. If the walk stands before it, it steps over at most `steps`
    /// entries before it searches the tree.
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
