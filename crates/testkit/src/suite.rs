//! One conformance suite for everything that stores a graph. Each tier runs it from a test of its own.
//!
//! A case opens an empty store and works on it through transactions. It then compares what it reads with the oracle after the same
//! work, or with what the contract says outright. Most cases look twice: after the commit and after reopening.

mod constraints;
mod drops;
mod edges;
mod indexes;
mod keys;
mod transactions;
mod values;
mod vertices;

use std::cell::RefCell;

use mangrove_graph::{
    Cell, EdgeId, ElementId, ElementKind, ExternalId, GraphView, GraphWrite, IdSpace, KeyId, LabelId, NewEdge, PropertyId,
    Result, VertexId,
};

use crate::compare::assert_same;
use crate::oracle::Oracle;

/// A store as the suite handles it. Dropping it must leave nothing behind, except in a directory that was given to it.
pub trait StoreUnderTest {
    /// The last commit. It stays as it is while others commit.
    fn snapshot(&self) -> Result<Box<dyn GraphView + '_>>;

    /// The only writing transaction. Dropping it without a commit aborts it.
    fn begin(&self) -> Result<Box<dyn Transaction + '_>>;

    /// A transaction whose commit leaves everything compacted. `None` if the store has no such thing, or if it ever held data.
    fn begin_bulk(&self) -> Result<Option<Box<dyn Transaction + '_>>> {
        Ok(None)
    }

    /// Closes the store and opens it again.
    fn reopen(&mut self) -> Result<()>;

    /// Moves data to where it takes less space, if the store has such a place. Whenever others could write, it calls `meanwhile`.
    /// If that returns true, it stops with [`Cancelled`](mangrove_graph::GraphError::Cancelled).
    fn condense(&self, how: Condensing, meanwhile: &dyn Fn() -> bool) -> Result<()> {
        let _ = (how, meanwhile);
        Ok(())
    }

    /// Internal faults, one line each.
    fn check(&self) -> Result<Vec<String>>;

    /// An empty oracle that gives the same ids.
    fn oracle(&self, id_space: IdSpace) -> Oracle {
        Oracle::new(id_space)
    }
}

/// What to move to where it takes less space.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Condensing {
    /// Puts recent changes beside what was moved before.
    Seal,
    /// Merges parts that were moved before, as the store sees fit.
    Merge,
    /// Makes everything one part.
    Compact,
}

pub trait Transaction {
    fn graph(&mut self) -> &mut dyn GraphWrite;

    fn commit(self: Box<Self>) -> Result<()>;
}

/// Runs every case on empty stores from `make`.
///
/// # Panics
/// In the first case that fails. It prints the name of the case first.
pub fn suite(make: impl Fn(IdSpace) -> Box<dyn StoreUnderTest>) {
    let groups = [
        vertices::CASES,
        edges::CASES,
        values::CASES,
        indexes::CASES,
        constraints::CASES,
        keys::CASES,
        drops::CASES,
        transactions::CASES,
    ];
    for (name, case) in groups.into_iter().flatten() {
        eprintln!("suite: {name}");
        case(&make);
    }
}

type Make<'a> = &'a dyn Fn(IdSpace) -> Box<dyn StoreUnderTest>;
type Case = (&'static str, fn(Make<'_>));

/// The oracle as a store. It tests the suite itself.
#[derive(Default)]
pub struct OracleStore {
    committed: RefCell<Oracle>,
}

impl OracleStore {
    pub fn new(id_space: IdSpace) -> Self {
        Self { committed: RefCell::new(Oracle::new(id_space)) }
    }
}

impl StoreUnderTest for OracleStore {
    fn snapshot(&self) -> Result<Box<dyn GraphView + '_>> {
        Ok(Box::new(self.committed.borrow().clone()))
    }

    fn begin(&self) -> Result<Box<dyn Transaction + '_>> {
        Ok(Box::new(OracleTransaction { store: self, work: self.committed.borrow().clone() }))
    }

    fn reopen(&mut self) -> Result<()> {
        Ok(())
    }

    fn condense(&self, how: Condensing, _: &dyn Fn() -> bool) -> Result<()> {
        if how != Condensing::Merge {
            self.committed.borrow_mut().end_blocks();
        }
        Ok(())
    }

    fn check(&self) -> Result<Vec<String>> {
        Ok(Vec::new())
    }
}

struct OracleTransaction<'a> {
    store: &'a OracleStore,
    work: Oracle,
}

impl Transaction for OracleTransaction<'_> {
    fn graph(&mut self) -> &mut dyn GraphWrite {
        &mut self.work
    }

    fn commit(self: Box<Self>) -> Result<()> {
        self.work.has_what_is_required()?;
        *self.store.committed.borrow_mut() = self.work;
        Ok(())
    }
}

// ---- tools for the cases ----

/// Runs `work` on the store and on an oracle, commits, and compares the two, also after reopening.
fn same_as_oracle(make: Make<'_>, id_space: IdSpace, work: impl Fn(&mut dyn GraphWrite)) -> Box<dyn StoreUnderTest> {
    let mut store = make(id_space);
    committed(&*store, |graph| work(graph));
    let mut oracle = store.oracle(id_space);
    work(&mut oracle);
    assert_same(&*store.snapshot().unwrap(), &oracle);
    store.reopen().unwrap();
    assert_same(&*store.snapshot().unwrap(), &oracle);
    assert_clean(&*store);
    store
}

fn committed<T>(store: &dyn StoreUnderTest, work: impl FnOnce(&mut dyn GraphWrite) -> T) -> T {
    let mut transaction = store.begin().unwrap();
    let result = work(transaction.graph());
    transaction.commit().unwrap();
    result
}

fn assert_clean(store: &dyn StoreUnderTest) {
    assert_eq!(store.check().unwrap(), Vec::<String>::new());
}

fn vertex_label(graph: &mut dyn GraphWrite, name: &str) -> LabelId {
    graph.ensure_label(ElementKind::Vertex, name).unwrap()
}

fn edge_label(graph: &mut dyn GraphWrite, name: &str) -> LabelId {
    graph.ensure_label(ElementKind::Edge, name).unwrap()
}

fn key(graph: &mut dyn GraphWrite, name: &str) -> KeyId {
    graph.ensure_key(name).unwrap()
}

/// Adds vertices with integer ids.
fn add_vertices(graph: &mut dyn GraphWrite, label: LabelId, ids: impl IntoIterator<Item = i64>) -> Vec<VertexId> {
    let ids: Vec<_> = ids.into_iter().map(|id| Some(ExternalId::Int(id))).collect();
    let mut made = Vec::new();
    graph.add_vertices(label, &ids, &mut made).unwrap();
    made
}

fn add_edges(
    graph: &mut dyn GraphWrite,
    label: LabelId,
    ends: impl IntoIterator<Item = (VertexId, VertexId)>,
) -> Vec<EdgeId> {
    let edges: Vec<_> = ends.into_iter().map(|(source, target)| NewEdge { source, target, id: None, time: None }).collect();
    let mut made = Vec::new();
    graph.add_edges(label, &edges, &mut made).unwrap();
    made
}

fn set_vertex(graph: &mut dyn GraphWrite, vertex: VertexId, key: KeyId, value: impl Into<mangrove_graph::Value>) {
    graph.set_cell(ElementId::Vertex(vertex), key, Cell::One(value.into())).unwrap();
}

fn find(view: &dyn GraphView, label: Option<LabelId>, id: impl Into<ExternalId>) -> Option<VertexId> {
    let mut found = Vec::new();
    view.find_vertices(label, &[id.into()], &mut found).unwrap();
    found[0]
}

/// The ids of vertices that have numbers for ids, in order.
fn numbers(view: &dyn GraphView, vertices: &[VertexId]) -> Vec<u64> {
    let number = |vertex: &VertexId| match view.external_id(*vertex) {
        Ok(ExternalId::Int(id)) => id as u64,
        other => panic!("{vertex:?} has no number for its id: {other:?}"),
    };
    let mut numbers: Vec<u64> = vertices.iter().map(number).collect();
    numbers.sort_unstable();
    numbers
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oracle_passes_its_own_suite() {
        suite(|id_space| Box::new(OracleStore::new(id_space)));
    }
}
