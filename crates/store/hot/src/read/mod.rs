//! Reading: one reader over an LMDB transaction and a schema. Snapshots and write transactions both use it.

mod cells;
mod find;
mod fragments;
mod gather;
mod index;
mod keys;
mod parts;
mod properties;
mod scan;
mod sealed;
mod search;
mod time;
mod topology;
mod view;

pub(crate) use find::{external, labels as further, word};
pub(crate) use parts::{columns, labels};
pub(crate) use time::order;

use std::sync::{Arc, OnceLock};

use hashbrown::HashMap;
use heed::{AnyTls, RoTxn};
use mangrove_graph::{ElementKind, LabelId, ReadContext, Result, Schema, VertexId};

use crate::format::block::{Block, Home};
use crate::format::catalog::{self, Declared, Times};
use crate::format::key::Column;
use crate::format::walk::Walk;
use crate::lmdb::bloom::{Bloom, Blooms};
use crate::lmdb::spare::ReadTxn;
use crate::lmdb::table::{Table, Tables};
use crate::options::Sides;
use crate::segments::segment::Segments;
use crate::shared::notes::Clean;
use crate::shared::state::StoreState;
use crate::system::fault::{self, lmdb};
use crate::system::identity::Own;
use crate::system::lock::locked;

/// The graph as it was when the snapshot was taken. A snapshot holds old pages in the file while it lives, so keep it short.
pub struct HotSnapshot {
    // A forked child leaves this transaction alone, or the parent's snapshot would end with it. The transaction owns a
    // handle of the environment; `shared` keeps the tables and the last sync.
    txn: OwnTxn,
    schema: Arc<Schema>,
    times: Arc<Times>,
    segments: Arc<Segments>,
    clean: Arc<Clean>,
    /// The keys that the tables may have, if it is known.
    bloom: OnceLock<Arc<Bloom>>,
    /// The limits of the reader, if it has any.
    context: Option<ReadContext>,
    shared: Arc<StoreState>,
}

type OwnTxn = Own<ReadTxn>;

/// How often a snapshot is taken anew because a segment it needs has just been replaced.
const TRIES: usize = 100;

impl HotSnapshot {
    pub(crate) fn new(shared: &Arc<StoreState>) -> Result<Self> {
        shared.process().must_be_this()?;
        let (txn, segments) = Self::begin(shared)?;
        let known = locked(&shared.catalog).clone();
        let current = known.refreshed(&shared.tables, &txn)?;
        if !Arc::ptr_eq(&known.schema, &current.schema) {
            *locked(&shared.catalog) = current.clone();
        }
        let Declared { schema, times, .. } = current;
        let clean = shared.notes.of(txn.id());
        let bloom = shared.blooms.of(txn.id()).map(OnceLock::from).unwrap_or_default();
        Ok(Self { txn, schema, times, segments, clean, bloom, context: None, shared: shared.clone() })
    }

    /// How far the store had applied the log that it follows, if it follows one.
    pub fn log_position(&self) -> Result<Option<Vec<u8>>> {
        catalog::log_position(&self.shared.tables, &self.txn)
    }

    /// Makes all calls honour the limits of a reader from now on; `None` for no limits.
    pub fn limit(&mut self, context: Option<ReadContext>) {
        self.context = context;
    }

    /// A transaction, and the segments under the tables it sees. Their files exist, unless a later commit has replaced them.
    fn begin(shared: &Arc<StoreState>) -> Result<(OwnTxn, Arc<Segments>)> {
        let mut last = None;
        for _ in 0..TRIES {
            let txn = Own::new(shared.readers.begin(&shared.env)?);
            let numbers = catalog::segments(&shared.tables, &txn)?;
            match shared.segments(&numbers) {
                Ok(segments) => return Ok((txn, segments)),
                Err(error) if last.as_ref().is_some_and(|(id, _)| *id == txn.id()) => return Err(error),
                Err(error) => last = Some((txn.id(), error)),
            }
        }
        let last = last.map_or_else(String::new, |(_, error)| format!(" (last error: {error})"));
        Err(mangrove_graph::GraphError::Invalid(format!(
            "others replace the segments faster than this process can open them{last}: \
                                                         try again"
        )))
    }

    /// Another snapshot of the same commit, unless there has been a later one.
    fn forked(&self) -> Result<Option<Self>> {
        let begun = self.shared.readers.begin(&self.shared.env);
        let txn = match begun {
            // The disk has failed. The transactions that are left are for other readers.
            Err(error) if fault::is_given_up(&error) => return Ok(None),
            begun => Own::new(begun?),
        };
        let same = txn.id() == self.txn.id();
        let (schema, times) = (self.schema.clone(), self.times.clone());
        let (segments, clean, shared) = (self.segments.clone(), self.clean.clone(), self.shared.clone());
        let bloom = self.bloom.clone();
        // Another thread uses it.
        let context = self.context.as_ref().map(ReadContext::for_another_thread);
        Ok(same.then(|| Self { txn, schema, times, segments, clean, bloom, context, shared }))
    }

    pub(crate) fn segments(&self) -> &Arc<Segments> {
        &self.segments
    }

    /// The number of the commit it sees.
    pub fn commit_number(&self) -> usize {
        self.txn.id()
    }

    pub(crate) fn reader(&self) -> Reader<'_> {
        Reader {
            tables: &self.shared.tables,
            txn: &self.txn,
            schema: &self.schema,
            times: &self.times,
            segments: &self.segments,
            sides: self.shared.sides,
            counters: None,
            clean: Some(&self.clean),
            bloom: Some((&self.bloom, &self.shared.blooms)),
            context: self.context.as_ref(),
        }
    }

    /// How many parts of the store hold something of a vertex. The parts are the segments and the tables, so there is at
    /// most one more than there are segments.
    pub fn fragments(&self, vertex: VertexId) -> Result<usize> {
        let reader = self.reader();
        let mut fragments = 0;
        for segment in self.segments.list() {
            fragments += usize::from(reader.is_in_segment(segment, vertex)?);
        }
        Ok(fragments + usize::from(reader.is_in_tables(vertex)?))
    }
}

/// All that is needed to read a graph.
#[derive(Clone, Copy)]
pub struct Reader<'t> {
    pub(crate) tables: &'t Tables,
    pub(crate) txn: &'t RoTxn<'t, AnyTls>,
    pub(crate) schema: &'t Arc<Schema>,
    pub(crate) times: &'t Times,
    /// The segments under the tables.
    pub(crate) segments: &'t Segments,
    pub(crate) sides: Sides,
    /// The counts that a write transaction has changed.
    pub(crate) counters: Option<&'t HashMap<(ElementKind, LabelId), catalog::Counter>>,
    /// A snapshot always has it, because a snapshot does not change. A transaction has it for calls of many elements.
    pub(crate) clean: Option<&'t Clean>,
    /// The keys that the tables of a snapshot may have, if it is known, and where to find that out.
    pub(crate) bloom: Option<(&'t OnceLock<Arc<Bloom>>, &'t Blooms)>,
    /// The limits of the reader; none for the transaction that writes.
    pub(crate) context: Option<&'t ReadContext>,
}

/// Rows of long work between two looks at the limits.
pub(super) const ROWS_BETWEEN_CHECKS: usize = 4096;

impl<'t> Reader<'t> {
    /// This reader, which notes in `clean` where the tables decide nothing that is sealed. For one call: what it notes is false
    /// once the transaction writes.
    pub fn with_notes<'c>(&self, clean: &'c Clean) -> Reader<'c>
    where
        't: 'c,
    {
        Reader { clean: self.clean.or(Some(clean)), ..*self }
    }

    /// Fails if the reader has to stop. Call it for every row of long work, with the number of the row.
    #[inline]
    pub fn go_on(&self, row: usize) -> Result<()> {
        match self.context {
            Some(context) if row % ROWS_BETWEEN_CHECKS == ROWS_BETWEEN_CHECKS - 1 => context.check(),
            _ => Ok(()),
        }
    }

    /// Fails if the reader has to stop. Call it now and then in long work.
    pub fn check(&self) -> Result<()> {
        self.context.map_or(Ok(()), ReadContext::check)
    }

    /// Fails if bytes that a call is about to return exceed the reader's memory.
    #[inline]
    pub fn fits(&self, bytes: usize) -> Result<()> {
        self.context.map_or(Ok(()), |context| context.budget.fits(bytes))
    }

    pub fn walk(&self, table: Table) -> Walk<'t> {
        Walk::new(table, self.txn)
    }

    /// The bytes of a block of the tables. For sealed places use [`block`](Self::block).
    pub fn block_bytes(&self, column: Column, block: u64) -> Result<Option<&'t [u8]>> {
        self.get(self.tables.columns, &column.key(block))
    }

    /// Whether it is known, without a search, that a watched table lacks a key.
    #[inline]
    pub fn lacks(&self, table: Table, key: &[u8]) -> bool {
        let bloom = self.bloom.and_then(|(bloom, _)| bloom.get());
        bloom.is_some_and(|bloom| !bloom.may_have(table.hash_of(key)))
    }

    /// The value under a key of a watched table.
    pub fn get(&self, table: Table, key: &[u8]) -> Result<Option<&'t [u8]>> {
        if self.lacks(table, key) {
            return Ok(None);
        }
        let found = table.get(self.txn, key).map_err(lmdb)?;
        if found.is_none() {
            self.searched_in_vain()?;
        }
        Ok(found)
    }

    /// Takes note of a search of a watched table that found nothing.
    pub fn searched_in_vain(&self) -> Result<()> {
        if let Some((bloom, blooms)) = self.bloom
            && let Some(made) = blooms.searched_in_vain(self.tables, self.txn, &|| self.check())?
        {
            let _ = bloom.set(made);
        }
        Ok(())
    }

    pub fn parse(&self, column: Column, block: u64, bytes: &'t [u8]) -> Result<Block<'t>> {
        Block::parse(bytes, Some(Home { table: self.tables.columns, txn: self.txn, key: column.key(block) }))
    }
}
