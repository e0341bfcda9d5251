//! `pageRank()`, `peerPressure()` and `connectedComponent()`: algorithms on the whole graph, whose values later steps read.

use mangrove_analytics::algorithms::{PageRank, PeerPressure, Until, Wcc};
use mangrove_analytics::{Algorithm, AnalyticsError, Outcome, Projection, Reading, Selection, Values, watched};
use mangrove_graph::{Direction, ElementKind, Elements, Filter, Numbering, Value, VertexId};

use crate::computed::{Numbered, VertexValues};
use crate::error::{QueryError, QueryErrorKind, Result};
use crate::execute::data::batch::Batch;
use crate::execute::data::known::Known;
use crate::execute::data::words::type_error;
use crate::execute::ops::barrier::gather_all;
use crate::execute::run::chain::{Input, Op};
use crate::execute::run::context::Context;
use crate::execute::run::memory::{HasBudget, Held};
use crate::plan::{Compute, VertexProgramName};

/// Ranks end to change when they change by less than this, all together.
const TOLERANCE: f64 = 1e-5;
/// Vertices whose ids are read at a time.
const BATCH: u64 = 8192;

pub struct ComputeOp {
    pub asked: Compute,
    pub done: bool,
}

impl Op for ComputeOp {
    fn next(&mut self, cx: &mut Context<'_, '_>, input: &mut dyn Input) -> Result<Option<Batch>> {
        if std::mem::replace(&mut self.done, true) {
            return Ok(None);
        }
        let mut all = gather_all(cx, input, &mut Held::default())?;
        if all.is_empty() {
            return Ok(None);
        }
        let values = self.values(cx, &all)?;
        if let Some(computed) = &cx.shared.computed {
            computed.set(&self.asked.property, values);
        }
        all.known = Known::default();
        Ok(Some(all))
    }

    fn reset(&mut self, _scopes: usize) {
        self.done = false;
    }
}

impl ComputeOp {
    fn values(&self, cx: &mut Context<'_, '_>, all: &Batch) -> Result<VertexValues> {
        let counts = self.traversers(all)?;
        let total: f64 = counts.iter().map(|(_, count)| count).sum();
        let algorithm: Box<dyn Algorithm> = match self.asked.program {
            VertexProgramName::PageRank { damping } => Box::new(PageRank {
                damping,
                until: Until::Tolerance(TOLERANCE / total.max(1.0), self.asked.times),
                preferred: Vec::new(),
                started: counts,
                dangling: Vec::new(),
            }),
            VertexProgramName::PeerPressure => Box::new(PeerPressure { iterations: self.asked.times, votes: counts }),
            VertexProgramName::ConnectedComponent => Box::new(Wcc),
        };
        let (Outcome { values, .. }, numbering) = self.run(cx, &*algorithm)?;
        let of_vertex = size_of::<f64>() + size_of::<Value>();
        cx.keep((numbering.count() as usize).saturating_mul(of_vertex))?;
        let values = match values {
            Values::Reals(mut ranks) => {
                if self.asked.counts_traversers {
                    ranks.iter_mut().for_each(|rank| *rank *= total);
                }
                Numbered::Reals(ranks)
            }
            Values::Vertices(vertices) => {
                let as_text = self.asked.program == VertexProgramName::ConnectedComponent;
                if as_text { first_texts(cx, &numbering, vertices)? } else { ids_of(cx, &numbering, vertices)? }
            }
            other => unreachable!("no step computes {other:?}"),
        };
        Ok(VertexValues { numbering, values })
    }

    /// How many traversers are on each vertex, if that matters.
    fn traversers(&self, all: &Batch) -> Result<Vec<(VertexId, f64)>> {
        let on = |row: usize| match all.value(row) {
            Value::Vertex(vertex) => Ok((vertex, all.bulk(row) as f64)),
            other => Err(type_error(self.asked.program.step(), "a vertex", &other)),
        };
        let counts = (0..all.len()).map(on).collect::<Result<Vec<_>>>()?;
        Ok(if self.asked.counts_traversers { counts } else { Vec::new() })
    }

    fn run(&self, cx: &mut Context<'_, '_>, algorithm: &dyn Algorithm) -> Result<(Outcome, Numbering)> {
        let selection = self.selection(cx);
        let mut needs = algorithm.needs();
        if self.asked.direction == Direction::In {
            std::mem::swap(&mut needs.incoming, &mut needs.outgoing);
        }
        let (threads, limits) = (cx.shared.threads(), cx.shared.limits());
        let bytes_max = cx.budget().bytes_max() as u64;
        let reading = Reading { threads, bytes_max, limits: &limits, show: &mut |_| () };
        let mut graph = Projection::new(cx.view(), &selection, needs, reading).map_err(refused)?;
        if self.asked.direction == Direction::In {
            graph = graph.turned();
        }
        let bytes = graph.bytes().saturating_add(algorithm.bytes(graph.vertices() as u64, graph.entries()));
        cx.fits(usize::try_from(bytes).unwrap_or(usize::MAX))?;
        let outcome = watched(threads, &limits, &mut |_| (), |run| algorithm.run(&graph, run)).map_err(refused)?;
        Ok((outcome, graph.numbering().clone()))
    }

    /// The edges that the algorithm follows.
    fn selection(&self, cx: &mut Context<'_, '_>) -> Selection {
        let Compute { direction, labels, filter, .. } = &self.asked;
        let mut edges = (!labels.is_empty()).then(|| cx.labels(ElementKind::Edge, labels));
        let edge_filter = filter.as_ref().and_then(|(name, predicate)| {
            let key = cx.key(name);
            if key.is_none() {
                edges = Some(Vec::new());
            }
            Some(Filter { key: key?, predicate: predicate.clone() })
        });
        Selection { edges, edge_filter, is_directed: *direction != Direction::Both, ..Selection::default() }
    }
}

fn refused(error: AnalyticsError) -> QueryError {
    match error {
        AnalyticsError::Graph(error) => error.into(),
        AnalyticsError::TooLittleMemory { .. } => QueryError::new(QueryErrorKind::Memory, error.to_string()),
        error => QueryError::value(error.to_string()),
    }
}

/// The ids of some vertices, each once, and where the id of each is.
fn ids_of(cx: &Context<'_, '_>, numbering: &Numbering, vertices: Vec<u32>) -> Result<Numbered> {
    let mut named = vertices.clone();
    named.sort_unstable();
    named.dedup();
    let mut ids = Vec::with_capacity(named.len());
    for part in named.chunks(BATCH as usize) {
        cx.check()?;
        let part: Vec<VertexId> =
            part.iter().flat_map(|number| numbering.slice(u64::from(*number)..u64::from(*number) + 1)).collect();
        ids.extend(ids_as_values(cx, &part)?);
    }
    let place = |vertex: u32| named.binary_search(&vertex).unwrap_or_default() as u32;
    Ok(Numbered::Few(vertices.into_iter().map(place).collect(), ids))
}

/// For each component the id, as text, that comes first in the order of texts.
fn first_texts(cx: &Context<'_, '_>, numbering: &Numbering, components: Vec<u32>) -> Result<Numbered> {
    let mut named = components.clone();
    named.sort_unstable();
    named.dedup();
    let mut first: Vec<Option<String>> = vec![None; named.len()];
    let place = |component: u32| named.binary_search(&component).unwrap_or_default();
    for start in (0..numbering.count()).step_by(BATCH as usize) {
        cx.check()?;
        let numbers = start..numbering.count().min(start + BATCH);
        let ids = ids_as_values(cx, &numbering.slice(numbers.clone()))?;
        for (number, id) in numbers.zip(ids) {
            let (text, first) = (id.to_string(), &mut first[place(components[number as usize])]);
            if first.as_ref().is_none_or(|first| text < *first) {
                *first = Some(text);
            }
        }
    }
    let names = first.into_iter().map(|text| Value::from(text.unwrap_or_default())).collect();
    Ok(Numbered::Few(components.into_iter().map(|component| place(component) as u32).collect(), names))
}

fn ids_as_values(cx: &Context<'_, '_>, vertices: &[VertexId]) -> Result<Vec<Value>> {
    let ids = cx.view().external_ids(Elements::Vertices(vertices))?;
    Ok((0..ids.len()).map(|at| ids.cell(at).values().next().cloned().unwrap_or_default()).collect())
}
