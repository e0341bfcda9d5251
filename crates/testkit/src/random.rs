//! Random values, and random work run in step on a store and on the oracle.
//!
//! Work is a list of [`Op`]s, some of which end a transaction. Operations refer to elements by their position among the existing
//! ones. So a list from which shrinking has removed operations still has a meaning.

mod values;
mod work;

pub use values::{cell, external_id, value, value_of};
pub use work::work;

use std::cell::{Cell as Counter, RefCell};
use std::collections::VecDeque;
use std::mem::discriminant;

use mangrove_graph::{
    Cardinality, Cell, Date, DateTime, Direction, EdgeRef, ElementId, ElementKind, Elements, Encoding, ExternalId,
    GraphError, GraphView, GraphWrite, Hop, IdSpace, KeyId, NewEdge, PropertyColumn, PropertyId, PropertyValue, Result,
    Scan, Value, ValueType, VertexId, Wants,
};

use crate::compare::{assert_same, scan_edges, scan_vertices};
use crate::graphs::Random;
use crate::oracle::Oracle;
use crate::suite::{Condensing, StoreUnderTest, Transaction};

pub const VERTEX_LABELS: [&str; 3] = ["person", "place", "thing"];
/// Edges of the last label have a time if [`Op::DeclareTime`] comes before the first of them.
pub const EDGE_LABELS: [&str; 3] = ["knows", "likes", "visited"];
pub const KEYS: [&str; 7] = ["name", "age", "tags", "score", "note", "id", "at"];
/// The position of the key that most keyed labels have.
const ID_KEY: usize = 5;

/// An element by its position among the existing ones, modulo their number.
pub type Pick = u32;

#[derive(Clone, Debug)]
pub enum Op {
    AddVertices {
        label: usize,
        ids: Vec<Option<ExternalId>>,
    },
    /// `count` vertices with generated ids.
    AddManyVertices {
        label: usize,
        count: u16,
    },
    AddEdges {
        label: usize,
        edges: Vec<OpEdge>,
    },
    /// `count` edges. The lower `spread` is, the fewer vertices have most of them.
    AddManyEdges {
        label: usize,
        count: u16,
        spread: u16,
        seed: u64,
    },
    Set {
        kind: ElementKind,
        element: Pick,
        key: usize,
        cell: OpCell,
    },
    /// One value for each element of a label, except those that the seed leaves out.
    SetMany {
        kind: ElementKind,
        label: usize,
        key: usize,
        value_type: ValueType,
        seed: u64,
    },
    /// A value under each of `count` keys that nothing else uses.
    SetManyKeys {
        kind: ElementKind,
        element: Pick,
        keys: u16,
    },
    SetFurtherLabels {
        vertex: Pick,
        labels: Vec<usize>,
    },
    RemoveEdges {
        edges: Vec<Pick>,
    },
    /// Removes every edge of a vertex except each `keep`-th.
    RemoveEdgesOf {
        vertex: Pick,
        keep: u16,
    },
    RemoveVertices {
        vertices: Vec<Pick>,
    },
    DeclareProperty {
        kind: ElementKind,
        label: usize,
        key: usize,
        value_type: Option<ValueType>,
        cardinality: Cardinality,
    },
    SetEncoding {
        kind: ElementKind,
        label: usize,
        key: usize,
        encoding: Encoding,
    },
    DeclareTime,
    DeclareKey {
        label: usize,
        key: usize,
    },
    /// Makes the value under a key the id of its vertex from now on.
    SetToId {
        vertex: Pick,
        key: usize,
    },
    CreateIndex {
        kind: ElementKind,
        label: usize,
        key: usize,
        unique: bool,
        routed: bool,
    },
    DropIndex {
        kind: ElementKind,
        label: usize,
        key: usize,
    },
    RenameLabel {
        kind: ElementKind,
        label: usize,
        /// A label that exists, one that does not exist yet, or another.
        to: usize,
    },
    DropLabel {
        kind: ElementKind,
        label: usize,
    },
    DropProperty {
        kind: ElementKind,
        label: usize,
        key: usize,
    },
    /// Compares the two in the middle of the transaction.
    Look,
    Commit,
    Abort,
    /// Commits, closes and opens again.
    Reopen,
    /// Commits, and condenses the store.
    Condense {
        how: Condensing,
        /// The calls during the condensing at which a transaction runs.
        at: [u8; 2],
        /// The call at which the condensing is stopped.
        stop: Option<u8>,
    },
}

#[derive(Clone, Debug)]
pub struct OpEdge {
    pub source: Pick,
    pub target: Pick,
    pub id: Option<ExternalId>,
    /// Skipped if its label has no time.
    pub time: Option<i64>,
}

#[derive(Clone, Debug)]
pub enum OpCell {
    Absent,
    One(Value),
    Many(Vec<OpEntry>),
}

/// One of several values.
#[derive(Clone, Debug)]
pub struct OpEntry {
    /// The number of ordinals between it and the previous value.
    pub step: u8,
    pub value: Value,
    /// Meta-properties. Their keys are positions in [`KEYS`].
    pub meta: Vec<(usize, Value)>,
}

/// Runs `ops` on an empty store and on the oracle. Compares the two after each transaction. At the end it reopens the store and
/// checks its internals.
///
/// # Panics
/// If the two differ.
pub fn run(store: &mut dyn StoreUnderTest, id_space: IdSpace, ops: &[Op]) {
    let mut committed = store.oracle(id_space);
    let mut left = ops.iter();
    while left.len() > 0 {
        match run_transaction(store, &mut committed, &mut left) {
            (Op::Reopen, _) => store.reopen().expect("reopen"),
            (Op::Condense { .. }, true) => committed.end_blocks(),
            (Op::Condense { how, at, stop }, false) => {
                condense(store, &mut committed, &mut left, *how, (*at, *stop));
                assert_eq!(store.check().expect("check"), Vec::<String>::new());
            }
            _ => {}
        }
        assert_same(&*store.snapshot().expect("snapshot"), &committed);
    }
    store.reopen().expect("reopen");
    assert_same(&*store.snapshot().expect("snapshot"), &committed);
    assert_eq!(store.check().expect("check"), Vec::<String>::new());
}

/// The views that [`run_looking_back`] keeps.
const VIEWS_KEPT: usize = 4;

/// Runs `ops` on an empty store and on the oracle. Operations that reopen or condense the store only commit. Keeps the views after the
/// last transactions. After each transaction, compares every one of them with the oracle as it was then.
///
/// # Panics
/// If the two differ.
pub fn run_looking_back(store: &dyn StoreUnderTest, id_space: IdSpace, ops: &[Op]) {
    let or_commit = |op: &Op| match op {
        Op::Reopen | Op::Condense { .. } => Op::Commit,
        op => op.clone(),
    };
    let ops: Vec<Op> = ops.iter().map(or_commit).collect();
    let (mut committed, mut left, mut kept) = (store.oracle(id_space), ops.iter(), VecDeque::new());
    while left.len() > 0 {
        run_transaction(store, &mut committed, &mut left);
        kept.truncate(VIEWS_KEPT - 1);
        kept.push_front((store.snapshot().expect("snapshot"), committed.clone()));
        for (view, then) in &kept {
            assert_same(&**view, then);
        }
    }
}

/// Condenses the store, and runs transactions meanwhile.
fn condense(
    store: &dyn StoreUnderTest,
    committed: &mut Oracle,
    left: &mut std::slice::Iter<'_, Op>,
    how: Condensing,
    (at, stop): ([u8; 2], Option<u8>),
) {
    if how != Condensing::Merge {
        committed.end_blocks();
    }
    let (calls, state) = (Counter::new(0u8), RefCell::new((committed, left)));
    let meanwhile = || {
        let call = calls.get();
        calls.set(call.saturating_add(1));
        if at.contains(&call) {
            let (committed, left) = &mut *state.borrow_mut();
            run_transaction(store, committed, left);
            assert_same(&*store.snapshot().expect("snapshot"), &**committed);
        }
        stop == Some(call)
    };
    match store.condense(how, &meanwhile) {
        Err(GraphError::Cancelled) if stop.is_some() => {}
        outcome => outcome.expect("it is condensed"),
    }
}

fn ends_transaction(op: &Op) -> bool {
    matches!(op, Op::Commit | Op::Abort | Op::Reopen | Op::Condense { .. })
}

/// Runs operations up to one that ends the transaction, and returns that one. The end of the list is a commit. If the operation
/// compacts and the store allows it, the transaction is a bulk load; the flag in the result says so.
fn run_transaction<'a>(
    store: &dyn StoreUnderTest,
    committed: &mut Oracle,
    ops: &mut std::slice::Iter<'a, Op>,
) -> (&'a Op, bool) {
    let bulk = match ops.as_slice().iter().find(|op| ends_transaction(op)) {
        Some(Op::Condense { how: Condensing::Compact, .. }) => store.begin_bulk().expect("begin"),
        _ => None,
    };
    let is_bulk = bulk.is_some();
    let mut transaction: Box<dyn Transaction + '_> = bulk.unwrap_or_else(|| store.begin().expect("begin"));
    let mut work = committed.clone();
    let end = loop {
        match ops.next() {
            None => break &Op::Commit,
            Some(end) if ends_transaction(end) => break end,
            Some(Op::Look) => assert_same(transaction.graph().as_view(), &work),
            Some(op) => run_op(transaction.graph(), &mut work, op),
        }
    };
    if !matches!(end, Op::Abort) {
        transaction.commit().expect("commit");
        *committed = work;
    }
    (end, is_bulk)
}

/// Runs one operation on both and compares their results.
fn run_op(store: &mut dyn GraphWrite, oracle: &mut Oracle, op: &Op) {
    let alive = Alive::of(oracle);
    let expected = apply(op, &alive, oracle);
    let found = apply(op, &alive, store);
    match (&expected, &found) {
        (Ok(expected), Ok(found)) => assert_eq!(found, expected, "what {op:?} returns"),
        (Err(expected), Err(found)) if same_error(expected, found) => {}
        _ => panic!("{op:?} should have given {expected:?}, and gave {found:?}"),
    }
}

fn same_error(a: &GraphError, b: &GraphError) -> bool {
    discriminant(a) == discriminant(b)
}

struct Alive {
    vertices: Vec<VertexId>,
    edges: Vec<EdgeRef>,
}

impl Alive {
    fn of(graph: &dyn GraphView) -> Self {
        let all = Scan::default();
        Self { vertices: scan_vertices(graph, &all, 1 << 20), edges: scan_edges(graph, &all, 1 << 20) }
    }

    fn vertex(&self, pick: Pick) -> Option<VertexId> {
        pick_of(&self.vertices, pick)
    }

    fn edge(&self, pick: Pick) -> Option<EdgeRef> {
        pick_of(&self.edges, pick)
    }

    fn element(&self, kind: ElementKind, pick: Pick) -> Option<ElementId> {
        match kind {
            ElementKind::Vertex => self.vertex(pick).map(ElementId::Vertex),
            ElementKind::Edge => self.edge(pick).map(|edge| ElementId::Edge(edge.id)),
        }
    }
}

fn pick_of<T: Copy>(alive: &[T], pick: Pick) -> Option<T> {
    if alive.is_empty() { None } else { Some(alive[pick as usize % alive.len()]) }
}

/// Runs one operation and returns the ids it made (or 1 for true).
fn apply(op: &Op, alive: &Alive, graph: &mut dyn GraphWrite) -> Result<Vec<u64>> {
    match op {
        Op::AddVertices { label, ids } => add_vertices(graph, *label, ids),
        Op::AddManyVertices { label, count } => add_vertices(graph, *label, &vec![None; usize::from(*count)]),
        Op::AddEdges { label, edges } => add_edges(graph, *label, edges, alive),
        Op::AddManyEdges { label, count, spread, seed } => {
            add_edges(graph, *label, &many_edges(*count, *spread, *seed), alive)
        }
        Op::Set { kind, element, key, cell } => set(graph, alive.element(*kind, *element), *key, cell),
        Op::SetMany { kind, label, key, value_type, seed } => {
            set_many(graph, alive, (*kind, *label), *key, (*value_type, *seed))
        }
        Op::SetManyKeys { kind, element, keys } => set_many_keys(graph, alive.element(*kind, *element), *keys),
        Op::SetFurtherLabels { vertex, labels } => set_further_labels(graph, alive.vertex(*vertex), labels),
        Op::RemoveEdges { edges } => {
            let edges: Vec<EdgeRef> = edges.iter().filter_map(|pick| alive.edge(*pick)).collect();
            graph.remove_edges(&edges).map(|()| Vec::new())
        }
        Op::RemoveEdgesOf { vertex, keep } => remove_edges_of(graph, alive.vertex(*vertex), usize::from(*keep)),
        Op::RemoveVertices { vertices } => {
            let vertices: Vec<VertexId> = vertices.iter().filter_map(|pick| alive.vertex(*pick)).collect();
            graph.remove_vertices(&vertices).map(|()| Vec::new())
        }
        Op::DeclareProperty { kind, label, key, value_type, cardinality } => {
            let (label, key) = (ensure_label(graph, *kind, *label)?, ensure_key(graph, *key)?);
            graph.declare_property(*kind, label, key, *value_type, *cardinality).map(|()| Vec::new())
        }
        Op::SetEncoding { kind, label, key, encoding } => {
            let (label, key) = (ensure_label(graph, *kind, *label)?, ensure_key(graph, *key)?);
            graph.set_encoding(*kind, label, key, *encoding).map(|()| Vec::new())
        }
        Op::DeclareTime => {
            let label = ensure_label(graph, ElementKind::Edge, EDGE_LABELS.len() - 1)?;
            let key = ensure_key(graph, KEYS.len() - 1)?;
            graph.declare_time(label, key).map(|()| Vec::new())
        }
        Op::DeclareKey { label, key } => {
            let (label, key) = (ensure_label(graph, ElementKind::Vertex, *label)?, ensure_key(graph, *key)?);
            graph.declare_key(label, key).map(|()| Vec::new())
        }
        Op::SetToId { vertex, key } => {
            let key = ensure_key(graph, *key)?;
            let Some(vertex) = alive.vertex(*vertex) else { return Ok(Vec::new()) };
            let id = graph.external_id(vertex)?.to_value();
            graph.set_cell(ElementId::Vertex(vertex), key, Cell::One(id)).map(|()| Vec::new())
        }
        Op::CreateIndex { kind, label, key, unique, routed } => {
            let of = PropertyId { kind: *kind, label: ensure_label(graph, *kind, *label)?, key: ensure_key(graph, *key)? };
            let made = if *unique { graph.declare_unique(of) } else { graph.create_index(of) }?;
            let is_routed_now = *routed && graph.declare_routed(of)?;
            Ok(vec![u64::from(made), u64::from(is_routed_now)])
        }
        Op::DropIndex { kind, label, key } => {
            let of = PropertyId { kind: *kind, label: ensure_label(graph, *kind, *label)?, key: ensure_key(graph, *key)? };
            graph.drop_index(of).map(|dropped| vec![u64::from(dropped)])
        }
        Op::RenameLabel { kind, label, to } => {
            let label = ensure_label(graph, *kind, *label)?;
            let names = if *kind == ElementKind::Vertex { &VERTEX_LABELS } else { &EDGE_LABELS };
            let to = names.get(*to).copied().unwrap_or("renamed");
            graph.rename_label(*kind, label, to).map(|()| Vec::new())
        }
        Op::DropLabel { kind, label } => {
            let label = ensure_label(graph, *kind, *label)?;
            graph.drop_label(*kind, label).map(|()| Vec::new())
        }
        Op::DropProperty { kind, label, key } => {
            let of = PropertyId { kind: *kind, label: ensure_label(graph, *kind, *label)?, key: ensure_key(graph, *key)? };
            graph.drop_property(of).map(|()| Vec::new())
        }
        Op::Look | Op::Commit | Op::Abort | Op::Reopen | Op::Condense { .. } => {
            unreachable!("the transaction sees to these")
        }
    }
}

fn ensure_label(graph: &mut dyn GraphWrite, kind: ElementKind, at: usize) -> Result<mangrove_graph::LabelId> {
    match kind {
        ElementKind::Vertex => graph.ensure_label(kind, VERTEX_LABELS[at]),
        ElementKind::Edge => graph.ensure_label(kind, EDGE_LABELS[at]),
    }
}

fn ensure_key(graph: &mut dyn GraphWrite, at: usize) -> Result<KeyId> {
    graph.ensure_key(KEYS[at])
}

fn add_vertices(graph: &mut dyn GraphWrite, label: usize, ids: &[Option<ExternalId>]) -> Result<Vec<u64>> {
    let label = ensure_label(graph, ElementKind::Vertex, label)?;
    let mut made = Vec::new();
    graph.add_vertices(label, ids, &mut made)?;
    Ok(made.into_iter().map(|id| id.0).collect())
}

fn add_edges(graph: &mut dyn GraphWrite, label: usize, edges: &[OpEdge], alive: &Alive) -> Result<Vec<u64>> {
    let label = ensure_label(graph, ElementKind::Edge, label)?;
    let schema = &graph.schema().edge_labels[usize::from(label.0)];
    let timed = schema.time.is_some();
    let types = schema.time.and_then(|key| schema.property(key)).map(|property| property.types).unwrap_or_default();
    // The first edge of a label decides the type of its times.
    let instants = match types.iter().next() {
        Some(_) => types.contains(ValueType::DateTime),
        None => edges.first().and_then(|edge| edge.time).is_some_and(|time| time % 2 != 0),
    };
    let new_edge = |edge: &OpEdge| {
        let (source, target) = (alive.vertex(edge.source)?, alive.vertex(edge.target)?);
        Some(NewEdge { source, target, id: edge.id.clone(), time: edge.time.filter(|_| timed).map(|at| time(at, instants)) })
    };
    let edges: Vec<NewEdge> = edges.iter().filter_map(new_edge).collect();
    let mut made = Vec::new();
    graph.add_edges(label, &edges, &mut made)?;
    Ok(made.into_iter().map(|id| id.0).collect())
}

/// A time. Several instants may lie within a microsecond. Now and then a time has another type.
fn time(at: i64, instants: bool) -> Value {
    match (instants, at.rem_euclid(32)) {
        (true, 5) => Value::Date(Date(at as i32 / 32)),
        (true, _) => Value::DateTime(DateTime { seconds: 0, nanos: at.rem_euclid(64) as u32 * 300, offset_seconds: 0 }),
        (false, 5) => Value::Int32(at as i32),
        (false, _) => Value::Int64(at),
    }
}

fn many_edges(count: u16, spread: u16, seed: u64) -> Vec<OpEdge> {
    let mut random = Random::new(seed);
    let mut end = || {
        let bound = if random.below(4) > 0 { u64::from(spread) + 1 } else { 1 << 20 };
        random.below(bound) as Pick
    };
    let mut ends: Vec<(Pick, Pick)> = (0..count).map(|_| (end(), end())).collect();
    if seed.is_multiple_of(3) {
        ends.sort_unstable(); // as a loader that groups by source hands them over
    }
    ends.into_iter()
        .map(|(source, target)| OpEdge { source, target, id: None, time: Some(random.below(50) as i64 - 5) })
        .collect()
}

fn set(graph: &mut dyn GraphWrite, element: Option<ElementId>, key: usize, cell: &OpCell) -> Result<Vec<u64>> {
    let key = ensure_key(graph, key)?;
    let cell = real_cell(graph, cell)?;
    let Some(element) = element else { return Ok(Vec::new()) };
    graph.set_cell(element, key, cell).map(|()| Vec::new())
}

fn set_many_keys(graph: &mut dyn GraphWrite, element: Option<ElementId>, keys: u16) -> Result<Vec<u64>> {
    let Some(element) = element else { return Ok(Vec::new()) };
    for at in 0..keys {
        let key = graph.ensure_key(&format!("key {at}"))?;
        graph.set_cell(element, key, Cell::One(i64::from(at).into()))?;
    }
    Ok(Vec::new())
}

fn real_cell(graph: &mut dyn GraphWrite, cell: &OpCell) -> Result<Cell> {
    let mut entries = Vec::new();
    let mut ordinal = 0;
    match cell {
        OpCell::Absent => return Ok(Cell::Absent),
        OpCell::One(value) => return Ok(Cell::One(value.clone())),
        OpCell::Many(values) => {
            for OpEntry { step, value, meta } in values {
                ordinal += u32::from(*step);
                let mut real = Vec::new();
                for (key, value) in meta {
                    real.push((ensure_key(graph, *key)?, value.clone()));
                }
                entries.push(PropertyValue { ordinal, value: value.clone(), meta: real });
                ordinal += 1;
            }
        }
    }
    Ok(Cell::Many(entries))
}

fn set_many(
    graph: &mut dyn GraphWrite,
    alive: &Alive,
    (kind, label): (ElementKind, usize),
    key: usize,
    (value_type, seed): (ValueType, u64),
) -> Result<Vec<u64>> {
    let (label, key) = (ensure_label(graph, kind, label)?, ensure_key(graph, key)?);
    let vertices: Vec<VertexId> = alive.vertices.iter().filter(|id| id.label() == label).copied().collect();
    let edges: Vec<EdgeRef> = alive.edges.iter().filter(|edge| edge.id.label() == label).copied().collect();
    let elements = match kind {
        ElementKind::Vertex => Elements::Vertices(&vertices),
        ElementKind::Edge => Elements::Edges(&edges),
    };
    let mut random = Random::new(seed);
    let values: Vec<Option<Value>> =
        (0..elements.len()).map(|_| (random.below(4) > 0).then(|| values::simple(value_type, random.below(40)))).collect();
    let plain: Vec<Option<&Value>> = values.iter().map(Option::as_ref).collect();
    let column = match mangrove_graph::column::array_of(&plain) {
        Some(array) => PropertyColumn::Typed(array),
        None => PropertyColumn::Cells(values.into_iter().map(|value| value.map(Cell::One).unwrap_or_default()).collect()),
    };
    graph.set_properties(elements, key, &column).map(|()| Vec::new())
}

fn set_further_labels(graph: &mut dyn GraphWrite, vertex: Option<VertexId>, labels: &[usize]) -> Result<Vec<u64>> {
    let labels = labels.iter().map(|at| ensure_label(graph, ElementKind::Vertex, *at)).collect::<Result<Vec<_>>>()?;
    let Some(vertex) = vertex else { return Ok(Vec::new()) };
    graph.set_further_labels(vertex, &labels).map(|()| Vec::new())
}

fn remove_edges_of(graph: &mut dyn GraphWrite, vertex: Option<VertexId>, keep: usize) -> Result<Vec<u64>> {
    let Some(vertex) = vertex else { return Ok(Vec::new()) };
    let wants = Wants { rows: false, neighbors: false, edges: true };
    let mut reached = mangrove_graph::Adjacency::default();
    graph.neighbors(&[vertex], &Hop::along(Direction::Both, None, wants), &mut reached)?;
    let gone: Vec<EdgeRef> =
        reached.edges.into_iter().enumerate().filter(|(at, _)| keep == 0 || at % keep > 0).map(|(_, edge)| edge).collect();
    graph.remove_edges(&gone).map(|()| gone.iter().map(|edge| edge.id.0).collect())
}

#[cfg(test)]
mod tests {
    use proptest::test_runner::{Config, TestRunner};

    use super::*;
    use crate::suite::OracleStore;

    #[test]
    fn the_oracle_keeps_step_with_itself() {
        let mut runner = TestRunner::new(Config { cases: 8, failure_persistence: None, ..Config::default() });
        let result = runner.run(&work(60), |ops| {
            run(&mut OracleStore::new(IdSpace::Graph), IdSpace::Graph, &ops);
            Ok(())
        });
        assert!(result.is_ok(), "{result:?}");
    }

    #[test]
    fn the_oracle_keeps_what_it_was() {
        let mut runner = TestRunner::new(Config { cases: 4, failure_persistence: None, ..Config::default() });
        let result = runner.run(&work(40), |ops| {
            run_looking_back(&OracleStore::new(IdSpace::Graph), IdSpace::Graph, &ops);
            Ok(())
        });
        assert!(result.is_ok(), "{result:?}");
    }

    /// A store that loses one edge of a batch. The comparison must notice it, and shrinking must find a small case.
    #[test]
    fn a_store_that_loses_an_edge_is_caught() {
        let mut runner = TestRunner::new(Config { cases: 200, failure_persistence: None, ..Config::default() });
        std::panic::set_hook(Box::new(|_| {}));
        let result = runner.run(&work(40), |ops| {
            run(&mut faulty::LossyStore::default(), IdSpace::Graph, &ops);
            Ok(())
        });
        let _ = std::panic::take_hook();
        let Err(proptest::test_runner::TestError::Fail(_, ops)) = result else { panic!("not caught: {result:?}") };
        assert!(ops.len() <= 5, "a vertex and a few edges are enough: {ops:?}");
    }

    mod faulty {
        use super::*;

        /// The oracle, except that a commit drops the youngest edge if there are more than three.
        #[derive(Default)]
        pub struct LossyStore(OracleStore);

        struct LossyTransaction<'a>(Box<dyn Transaction + 'a>);

        impl StoreUnderTest for LossyStore {
            fn snapshot(&self) -> Result<Box<dyn GraphView + '_>> {
                self.0.snapshot()
            }

            fn begin(&self) -> Result<Box<dyn Transaction + '_>> {
                Ok(Box::new(LossyTransaction(self.0.begin()?)))
            }

            fn reopen(&mut self) -> Result<()> {
                self.0.reopen()
            }

            fn check(&self) -> Result<Vec<String>> {
                self.0.check()
            }
        }

        impl Transaction for LossyTransaction<'_> {
            fn graph(&mut self) -> &mut dyn GraphWrite {
                self.0.graph()
            }

            fn commit(mut self: Box<Self>) -> Result<()> {
                let edges = Alive::of(self.graph().as_view()).edges;
                if edges.len() > 3 {
                    self.graph().remove_edges(&edges[edges.len() - 1..])?;
                }
                self.0.commit()
            }
        }
    }
}
