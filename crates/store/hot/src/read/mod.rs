//! Reading: one reader over an LMDB transaction and a schema. Snapshots and write transactions both use it.

mod cells;
mod find;
mod fragments;
mod index;
mod properties;
mod scan;
mod sealed;
mod search;
mod time;
mod topology;

pub(crate) use find::{external, labels as further, word};
pub(crate) use sealed::Clean;
pub(crate) use time::order;

use std::sync::Arc;

use heed::{AnyTls, RoTxn};
use mangrove_graph::{
    Adjacency, Cell, EdgeId, EdgeRef, ElementId, ElementKind, Elements, ExternalId, GraphView, Hop, KeyId, LabelId,
    Predicate, PropertyColumn, PropertyId, Result, Scan, ScanCursor, Schema, Statistics, VertexId,
};

use crate::block::{Block, Home};
use crate::catalog::{self, Catalog, Times};
use crate::fault::{self, lmdb};
use crate::identity::Own;
use crate::key::Column;
use crate::segment::Segments;
use crate::spare::ReadTxn;
use crate::store::{StoreState, locked};
use crate::table::{Table, Tables};
use crate::walk::Walk;

/// The graph as it was when the snapshot was taken. A snapshot holds old pages in the file while it lives, so keep it short.
pub struct HotSnapshot {
    // A forked child leaves this transaction alone, or the parent's snapshot would end with it. The transaction owns a
    // handle of the environment; `shared` keeps the tables and the last sync.
    txn: OwnTxn,
    schema: Arc<Schema>,
    times: Arc<Times>,
    segments: Arc<Segments>,
    clean: Clean,
    shared: Arc<StoreState>,
}

type OwnTxn = Own<ReadTxn>;

/// How often a snapshot is taken anew because a segment it needs has just been replaced.
const TRIES: usize = 100;

impl HotSnapshot {
    pub fn shared_schema(&self) -> Arc<Schema> {
        self.schema.clone()
    }

    pub(crate) fn new(shared: &Arc<StoreState>) -> Result<Self> {
        shared.process().must_be_this()?;
        let (txn, segments) = Self::begin(shared)?;
        let known = locked(&shared.catalog).clone();
        let current = known.refreshed(&shared.tables, &txn)?;
        if !Arc::ptr_eq(&known.schema, &current.schema) {
            *locked(&shared.catalog) = current.clone();
        }
        let Catalog { schema, times, .. } = current;
        Ok(Self { txn, schema, times, segments, clean: Clean::default(), shared: shared.clone() })
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
    pub fn fork(&self) -> Result<Option<Self>> {
        let begun = self.shared.readers.begin(&self.shared.env);
        let txn = match begun {
            // The disk has failed. The transactions that are left are for other readers.
            Err(error) if fault::is_given_up(&error) => return Ok(None),
            begun => Own::new(begun?),
        };
        let same = txn.id() == self.txn.id();
        let (schema, times) = (self.schema.clone(), self.times.clone());
        let (segments, shared) = (self.segments.clone(), self.shared.clone());
        Ok(same.then(|| Self { txn, schema, times, segments, clean: Clean::default(), shared }))
    }

    pub(crate) fn segments(&self) -> &Arc<Segments> {
        &self.segments
    }

    /// The number of the commit it sees.
    pub(crate) fn commit_number(&self) -> usize {
        self.txn.id()
    }

    pub(crate) fn reader(&self) -> Reader<'_> {
        let (tables, clean) = (&self.shared.tables, Some(&self.clean));
        Reader { tables, txn: &self.txn, schema: &self.schema, times: &self.times, segments: &self.segments, clean }
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

    fn counts(&self) -> Result<Statistics> {
        let reader = self.reader();
        reader.statistics(|kind, label| catalog::counter(reader.tables, reader.txn, kind, label))
    }
}

/// All that is needed to read a graph.
#[derive(Clone, Copy)]
pub(crate) struct Reader<'t> {
    pub tables: &'t Tables,
    pub txn: &'t RoTxn<'t, AnyTls>,
    pub schema: &'t Schema,
    pub times: &'t Times,
    /// The segments under the tables.
    pub segments: &'t Segments,
    /// Only a snapshot has it, because a snapshot does not change.
    pub clean: Option<&'t Clean>,
}

impl<'t> Reader<'t> {
    pub fn walk(&self, table: Table) -> Walk<'t> {
        Walk::new(table, self.txn)
    }

    /// The bytes of a block of the tables. For sealed places use [`block`](Self::block).
    pub fn block_bytes(&self, column: Column, block: u64) -> Result<Option<&'t [u8]>> {
        self.tables.columns.get(self.txn, &column.key(block)).map_err(lmdb)
    }

    pub fn parse(&self, column: Column, block: u64, bytes: &'t [u8]) -> Result<Block<'t>> {
        Block::parse(bytes, Some(Home { table: self.tables.columns, txn: self.txn, key: column.key(block) }))
    }

    pub fn statistics(&self, counter: impl Fn(ElementKind, LabelId) -> Result<catalog::Counter>) -> Result<Statistics> {
        let live = |kind| {
            let labels = 0..self.schema.labels(kind).len();
            labels.map(|label| Ok(counter(kind, LabelId(label as u16))?.live)).collect::<Result<_>>()
        };
        Ok(Statistics { vertices: live(ElementKind::Vertex)?, edges: live(ElementKind::Edge)? })
    }
}

/// Implements `GraphView` through the reader of a type that has `reader()`, `counts()` and a `schema`.
macro_rules! read_through_reader {
    ($type:ty $(, $fork:item)?) => {
        impl GraphView for $type {
            $($fork)?

            fn schema(&self) -> &Schema {
                &self.schema
            }

            fn statistics(&self) -> Result<Statistics> {
                self.counts()
            }

            fn scan_vertices(
                &self,
                scan: &Scan,
                cursor: &mut ScanCursor,
                limit: usize,
                out: &mut Vec<VertexId>,
            ) -> Result<()> {
                self.reader().scan_vertices(scan, cursor, limit, out)
            }

            fn scan_edges(&self, scan: &Scan, cursor: &mut ScanCursor, limit: usize, out: &mut Vec<EdgeRef>) -> Result<()> {
                self.reader().scan_edges(scan, cursor, limit, out)
            }

            fn count(&self, kind: ElementKind, scan: &Scan, cursor: &mut ScanCursor) -> Result<u64> {
                self.reader().count(kind, scan, cursor)
            }

            fn find_vertices(
                &self,
                label: Option<LabelId>,
                ids: &[ExternalId],
                out: &mut Vec<Option<VertexId>>,
            ) -> Result<()> {
                self.reader().find_vertices(label, ids, out)
            }

            fn find_edges(&self, ids: &[ExternalId], out: &mut Vec<Option<EdgeRef>>) -> Result<()> {
                self.reader().find_edges(ids, out)
            }

            fn external_id(&self, vertex: VertexId) -> Result<ExternalId> {
                self.reader().external_id(vertex)
            }

            fn edge_external_id(&self, edge: EdgeId) -> Result<Option<ExternalId>> {
                self.reader().edge_external_id(edge)
            }

            fn contains(&self, element: ElementId) -> Result<bool> {
                self.reader().contains(element)
            }

            fn further_labels(&self, vertex: VertexId) -> Result<Vec<LabelId>> {
                self.reader().further_labels(vertex)
            }

            fn neighbors(&self, from: &[VertexId], hop: &Hop, out: &mut Adjacency) -> Result<()> {
                self.reader().neighbors(from, hop, out)
            }

            fn degrees(&self, from: &[VertexId], hop: &Hop, out: &mut Vec<u64>) -> Result<()> {
                self.reader().degrees(from, hop, out)
            }

            fn cell(&self, element: ElementId, key: KeyId) -> Result<Cell> {
                self.reader().cell(element, key)
            }

            fn keys(&self, element: ElementId, out: &mut Vec<KeyId>) -> Result<()> {
                let places = [crate::key::place(element.raw())];
                out.extend(self.reader().keys_at(element.kind(), element.label(), &places)?);
                Ok(())
            }

            fn cells(&self, element: ElementId, keys: &[KeyId], out: &mut Vec<Cell>) -> Result<()> {
                self.reader().cells(element, keys, out)
            }

            fn properties(&self, elements: Elements<'_>, key: KeyId) -> Result<PropertyColumn> {
                self.reader().properties(elements, key)
            }

            fn have(&self, elements: Elements<'_>, key: KeyId) -> Result<Vec<bool>> {
                self.reader().have(elements, key)
            }

            fn search_vertices(&self, label: LabelId, key: KeyId, predicate: &Predicate) -> Result<Option<Vec<VertexId>>> {
                self.reader().search_vertices(label, key, predicate)
            }

            fn search_edges(&self, label: LabelId, key: KeyId, predicate: &Predicate) -> Result<Option<Vec<EdgeRef>>> {
                self.reader().search_edges(label, key, predicate)
            }

            fn is_searchable(&self, of: PropertyId, predicate: &Predicate) -> bool {
                self.reader().is_searchable(of, predicate)
            }

            fn candidates(&self, of: PropertyId, predicate: &Predicate) -> Result<u64> {
                self.reader().candidates(of, predicate)
            }
        }
    };
}

pub(crate) use read_through_reader;
read_through_reader!(
    HotSnapshot,
    fn fork(&self) -> Result<Option<Box<dyn GraphView + Send>>> {
        Ok(HotSnapshot::fork(self)?.map(|fork| Box::new(fork) as Box<dyn GraphView + Send>))
    }
);
