//! `pageRank()`, `peerPressure()` and `connectedComponent()`: algorithms on the whole graph, whose values later steps read.

use hashbrown::HashMap;
use mangrove_analytics::algorithms::{PageRank, PeerPressure, Until, Wcc};
use mangrove_analytics::{Algorithm, AnalyticsError, Needs, Projection, Reading, Selection, Values, watched};
use mangrove_graph::{Direction, ElementKind, Elements, Filter, Numbering, Value, VertexId, record};

use crate::computed::{Numbered, VertexValues};
use crate::error::{QueryError, QueryErrorKind, Result};
use crate::execute::data::batch::Batch;
use crate::execute::data::bytes::value_bytes;
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
        let all = gather_all(cx, input, &mut Held::default())?;
        if all.is_empty() {
            return Ok(None);
        }
        let values = self.values(cx, &all)?;
        if let Some(computed) = &cx.shared.computed {
            computed.set(&self.asked.property, values);
        }
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
        let graph = self.graph(cx)?;
        let numbering = graph.numbering().clone();
        let of_vertex = size_of::<f64>() + size_of::<Value>();
        cx.keep((numbering.count() as usize).saturating_mul(of_vertex))?;
        let values = match self.asked.program {
            VertexProgramName::PageRank { damping } => {
                let until = Until::Tolerance(TOLERANCE / total.max(1.0), self.asked.times);
                let (preferred, dangling) = Default::default();
                let ranks = PageRank { damping, until, preferred, started: counts, dangling };
                let Values::Reals(mut ranks) = self.run(cx, &ranks, &graph)? else { unreachable!("ranks are reals") };
                if self.asked.counts_traversers {
                    ranks.iter_mut().for_each(|rank| *rank *= total);
                }
                Numbered::Reals(ranks)
            }
            VertexProgramName::PeerPressure => {
                let ids = ids(cx, &numbering)?;
                let order = places_as_texts(&ids);
                let program = PeerPressure { iterations: self.asked.times, votes: counts, order };
                let clusters = vertices(self.run(cx, &program, &graph)?);
                let (places, named) = distinct(clusters);
                Numbered::Few(places, named.into_iter().map(|vertex| ids[vertex as usize].clone()).collect())
            }
            VertexProgramName::ConnectedComponent => {
                let components = vertices(self.run(cx, &Wcc, &graph)?);
                let (places, named) = distinct(components);
                Numbered::Few(places.clone(), first_texts(&ids(cx, &numbering)?, &places, named.len()))
            }
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

    /// The graph, with the edges of each vertex that others follow to it.
    fn graph(&self, cx: &mut Context<'_, '_>) -> Result<Projection> {
        let selection = self.selection(cx);
        let is_turned = self.asked.direction == Direction::In;
        let needs = Needs { incoming: !is_turned, outgoing: is_turned, id_order: false };
        let (threads, limits) = (cx.shared.threads(), cx.shared.limits());
        let bytes_max = cx.budget().bytes_max() as u64;
        let reading = Reading { threads, bytes_max, limits: &limits, show: &mut |_| () };
        let graph = Projection::new(cx.view(), &selection, needs, reading).map_err(refused)?;
        Ok(if is_turned { graph.turned() } else { graph })
    }

    fn run(&self, cx: &Context<'_, '_>, algorithm: &dyn Algorithm, graph: &Projection) -> Result<Values> {
        let (threads, limits) = (cx.shared.threads(), cx.shared.limits());
        let bytes = graph.bytes().saturating_add(algorithm.bytes(graph.vertices() as u64, graph.entries()));
        cx.fits(usize::try_from(bytes).unwrap_or(usize::MAX))?;
        let ran = watched(threads, &limits, &mut |_| (), |run| algorithm.run(graph, run));
        Ok(ran.map_err(refused)?.values)
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

fn vertices(values: Values) -> Vec<u32> {
    let Values::Vertices(vertices) = values else { unreachable!("groups are named by vertices") };
    vertices
}

/// The vertices that name groups, each once, and the place of each vertex's among them.
fn distinct(groups: Vec<u32>) -> (Vec<u32>, Vec<u32>) {
    let mut named = groups.clone();
    named.sort_unstable();
    named.dedup();
    let place = |group: u32| named.binary_search(&group).unwrap_or_default() as u32;
    (groups.into_iter().map(place).collect(), named)
}

/// The ids of all vertices, as users see them.
fn ids(cx: &mut Context<'_, '_>, numbering: &Numbering) -> Result<Vec<Value>> {
    let mut all: Vec<Value> = Vec::with_capacity(numbering.count() as usize);
    for start in (0..numbering.count()).step_by(BATCH as usize) {
        cx.check()?;
        let part = numbering.slice(start..numbering.count().min(start + BATCH));
        let ids = record::ids(cx.view(), Elements::Vertices(&part))?;
        all.extend((0..ids.len()).map(|at| ids.cell(at).values().next().cloned().unwrap_or_default()));
    }
    cx.fits(all.iter().map(value_bytes).sum())?;
    Ok(all)
}

/// The place of each id in the order of their texts.
fn places_as_texts(ids: &[Value]) -> Vec<u32> {
    let mut texts: Vec<(String, u32)> = ids.iter().map(Value::to_string).zip(0..).collect();
    texts.sort_unstable();
    let mut places = vec![0; ids.len()];
    texts.iter().zip(0..).for_each(|((_, number), place)| places[*number as usize] = place);
    places
}

/// For each component the id, as text, that comes first. Ids of different types may have one text: then a count tells components apart.
fn first_texts(ids: &[Value], components: &[u32], count: usize) -> Vec<Value> {
    let mut first: Vec<Option<String>> = vec![None; count];
    for (id, component) in ids.iter().zip(components) {
        let (text, first) = (id.to_string(), &mut first[*component as usize]);
        if first.as_ref().is_none_or(|first| text < *first) {
            *first = Some(text);
        }
    }
    let mut seen: HashMap<String, usize> = HashMap::with_capacity(count);
    let named = first.into_iter().map(Option::unwrap_or_default).map(|text| {
        let times = seen.entry(text.clone()).or_insert(0);
        *times += 1;
        Value::from(if *times > 1 { format!("{text} ({times})") } else { text })
    });
    named.collect()
}
