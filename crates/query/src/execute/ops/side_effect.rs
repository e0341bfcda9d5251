//! Steps that gather beside the traversers: `aggregate`, `cap`, `subgraph`, `sideEffect`.

use std::sync::Arc;

use hashbrown::HashSet;
use mangrove_graph::{EdgeRef, Subgraph, Value, VertexId};

use crate::error::{QueryError, QueryErrorKind, Result};
use crate::execute::data::batch::Batch;
use crate::execute::data::bytes::value_bytes;
use crate::execute::data::words::type_error;
use crate::execute::modulators::by::ByOp;
use crate::execute::ops::barrier::gather_all;
use crate::execute::ops::reduce::per_scope;
use crate::execute::run::chain::{Input, MapBatch, Op};
use crate::execute::run::context::Context;
use crate::execute::run::memory::Held;
use crate::plan::Name;

/// `aggregate('x')`: gathers everything first (a barrier), or with `local` as traversers pass.
pub struct AggregateOp {
    name: Name,
    by: Option<ByOp>,
    eager: bool,
    done: bool,
}

impl AggregateOp {
    pub fn new(name: Name, by: Option<ByOp>, eager: bool) -> Self {
        Self { name, by, eager, done: false }
    }

    fn add(&mut self, cx: &mut Context<'_, '_>, batch: &Batch) -> Result<()> {
        let values = match &mut self.by {
            Some(by) => Some(by.eval(cx, batch)?),
            None => None,
        };
        if cx.shared.side_effects.is_bulk_set(&self.name) {
            return match values {
                Some(values) => gather(cx, &self.name, batch, values.into_iter()),
                None => gather(cx, &self.name, batch, (0..batch.len()).map(|row| Some(batch.value(row)))),
            };
        }
        let values = values.unwrap_or_else(|| (0..batch.len()).map(|row| Some(batch.value(row))).collect());
        let mut bytes = 0;
        if self.eager && cx.shared.side_effects.is_assigned(&self.name) {
            // In a child, the items of each traverser replace those of the one before it. So only the last scope counts.
            let last = batch.scope(batch.len().saturating_sub(1));
            let rows = values.into_iter().enumerate().filter(|(row, _)| batch.scope(*row) == last);
            let all = rows.filter_map(|(row, value)| Some((value?, batch.bulk(row))));
            cx.shared.side_effects.set(&self.name, Value::BulkSet(Arc::new(all.collect())));
            return Ok(());
        }
        for (row, value) in values.into_iter().enumerate() {
            if let Some(value) = value {
                if !matches!(cx.shared.side_effects.get(&self.name), Some(Value::BulkSet(_))) {
                    cx.keep_items(batch.bulk(row))?;
                }
                bytes += value_bytes(&value);
                cx.shared.side_effects.add(&self.name, value, batch.bulk(row))?;
            }
        }
        cx.keep(bytes)
    }
}

/// Adds the value of each row, if it has one, to a bulk set.
fn gather(cx: &mut Context<'_, '_>, name: &Name, batch: &Batch, values: impl Iterator<Item = Option<Value>>) -> Result<()> {
    let mut bytes = 0;
    let all = values.enumerate().filter_map(|(row, value)| Some((value?, batch.bulk(row))));
    let all = all.inspect(|(value, _)| bytes += value_bytes(value));
    cx.shared.side_effects.add_all(name, all)?;
    cx.keep(bytes)
}

impl Op for AggregateOp {
    fn next(&mut self, cx: &mut Context<'_, '_>, input: &mut dyn Input) -> Result<Option<Batch>> {
        if !self.eager {
            let Some(batch) = input.pull(cx)? else { return Ok(None) };
            self.add(cx, &batch)?;
            return Ok(Some(batch));
        }
        if std::mem::replace(&mut self.done, true) {
            return Ok(None);
        }
        let mut held = Held::default();
        let all = gather_all(cx, input, &mut held)?;
        self.add(cx, &all)?;
        Ok(Some(all).filter(|b| !b.is_empty()))
    }

    fn reset(&mut self, _: usize) {
        self.done = false;
    }
}

/// `cap('x')`: runs everything before it, then gives the side effect.
pub struct CapOp {
    names: Vec<Name>,
    scopes: usize,
    done: bool,
}

impl CapOp {
    pub fn new(names: Vec<Name>) -> Self {
        Self { names, scopes: 1, done: false }
    }

    fn value(&self, cx: &Context<'_, '_>) -> Result<Value> {
        let get = |name: &Name| {
            cx.shared
                .side_effects
                .get(name)
                .ok_or_else(|| QueryError::value(format!("the side effect `{name}` does not exist")))
        };
        if let [name] = &self.names[..] {
            return get(name);
        }
        let entries = self.names.iter().map(|name| Ok((Value::String(name.clone()), get(name)?)));
        Ok(Value::map(mangrove_graph::Map::from_distinct(entries.collect::<Result<_>>()?)))
    }
}

impl Op for CapOp {
    fn next(&mut self, cx: &mut Context<'_, '_>, input: &mut dyn Input) -> Result<Option<Batch>> {
        if std::mem::replace(&mut self.done, true) {
            return Ok(None);
        }
        while input.pull(cx)?.is_some() {}
        let value = self.value(cx)?;
        Ok(per_scope(vec![Some(value); self.scopes], cx))
    }

    fn reset(&mut self, scopes: usize) {
        self.scopes = scopes.max(1);
        self.done = false;
    }
}

/// `subgraph('x')`: gathers edges and their ends.
pub struct SubgraphOp {
    name: Name,
    vertices: HashSet<VertexId>,
    edges: HashSet<EdgeRef>,
}

impl SubgraphOp {
    pub fn new(name: Name) -> Self {
        Self { name, vertices: HashSet::new(), edges: HashSet::new() }
    }

    /// Takes out the graph gathered so far under this name, to extend it in place.
    fn take_graph(&mut self, cx: &mut Context<'_, '_>) -> Arc<Subgraph> {
        let graph = match cx.shared.side_effects.take(&self.name) {
            Some(Value::Subgraph(graph)) => graph,
            _ => Arc::default(),
        };
        if (graph.vertices.len(), graph.edges.len()) != (self.vertices.len(), self.edges.len()) {
            self.vertices = graph.vertices.iter().copied().collect();
            self.edges = graph.edges.iter().copied().collect();
        }
        graph
    }

    fn add(&mut self, graph: &mut Subgraph, value: Value) -> Result<()> {
        let Value::Edge(edge) = value else { return Err(type_error("subgraph()", "edges", &value)) };
        for end in [edge.source, edge.target] {
            if self.vertices.insert(end) {
                graph.vertices.push(end);
            }
        }
        if self.edges.insert(edge) {
            graph.edges.push(edge);
        }
        Ok(())
    }
}

impl Op for SubgraphOp {
    fn next(&mut self, cx: &mut Context<'_, '_>, input: &mut dyn Input) -> Result<Option<Batch>> {
        let Some(batch) = input.pull(cx)? else {
            if !cx.shared.side_effects.contains(&self.name) {
                cx.shared.side_effects.set(&self.name, Value::Subgraph(Arc::new(Subgraph::default())));
            }
            return Ok(None);
        };
        let mut shared = self.take_graph(cx);
        // This copies only if a traverser still holds the earlier graph.
        let graph = Arc::make_mut(&mut shared);
        let before = graph.vertices.len() + graph.edges.len();
        let added = (0..batch.len()).try_for_each(|row| self.add(graph, batch.value(row)));
        let grown = graph.vertices.len() + graph.edges.len() - before;
        cx.shared.side_effects.set(&self.name, Value::Subgraph(shared));
        added?;
        cx.keep(grown * 2 * size_of::<EdgeRef>())?;
        Ok(Some(batch))
    }
}

/// `sideEffect(traversal)`: runs the traversal only for its effects.
pub struct SideEffectOp(pub crate::execute::run::chain::Child);

impl MapBatch for SideEffectOp {
    fn map(&mut self, cx: &mut Context<'_, '_>, batch: Batch) -> Result<Batch> {
        self.0.run_rows(cx, &batch)?;
        Ok(batch)
    }
}

/// `fail()`.
pub struct FailOp(pub Option<Name>);

impl MapBatch for FailOp {
    fn map(&mut self, _: &mut Context<'_, '_>, _: Batch) -> Result<Batch> {
        let message = self.0.as_deref().unwrap_or("fail() step triggered");
        Err(QueryError::new(QueryErrorKind::Fail, message))
    }
}
