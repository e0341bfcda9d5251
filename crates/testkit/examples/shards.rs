//! What it costs to keep a graph in shards: CPU time of changes and of reads, and bytes, beside one store with the same graph.
//!
//! ```text
//! cargo run --release -p mangrove-testkit --example shards -- VERTICES EDGES
//! ```
//! Edges have a time and a weight. They come in transactions of 100,000 each. Their ends are drawn evenly, so of four shards three in four edges
//! join two shards. Everything runs in one process and one thread; there is no network. A two-hop query starts at each of 1,000 vertices.

use std::error::Error;
use std::time::Duration;

use mangrove_cluster::{ClusterChange, ClusterView, Placement};
use mangrove_graph::{
    Adjacency, Direction, ElementKind, Elements, ExternalId, GraphView, GraphWrite, Hop, IdSpace, NewEdge, PropertyColumn,
    ShardWrite, Value, VertexId, Wants,
};
use mangrove_hot::{Durability, Hot, HotOptions, HotTransaction, Patience, Sides, Writer};
use mangrove_testkit::graphs::Random;

type Outcome<T> = std::result::Result<T, Box<dyn Error>>;

const BATCH: usize = 100_000;
const STARTS: usize = 1000;

fn main() -> Outcome<()> {
    let [vertices, edges] = <[String; 2]>::try_from(std::env::args().skip(1).collect::<Vec<_>>())
        .map_err(|_| "the number of vertices and of edges, please")?;
    let (vertices, edges) = (vertices.parse()?, edges.parse()?);
    println!(
        "{:12} {:>14} {:>14} {:>14} {:>14} {:>12}",
        "", "vertices, µs", "edges, µs", "bytes an edge", "two hops, µs", "found"
    );
    measure("one store", &[Sides::Together], vertices, edges)?;
    for shards in [1, 2, 4, 8] {
        measure(&format!("{shards} shards"), &vec![Sides::Apart; shards], vertices, edges)?;
    }
    Ok(())
}

/// CPU time of this process.
fn cpu() -> Duration {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    Duration::new(now.tv_sec as u64, now.tv_nsec as u32)
}

fn measure(name: &str, sides: &[Sides], vertices: usize, edges: usize) -> Outcome<()> {
    let home = tempfile::tempdir()?;
    let mut stores = Vec::new();
    for (number, sides) in sides.iter().enumerate() {
        let options = HotOptions { durability: Durability::Relaxed, sides: *sides, seal_bytes: 0, ..HotOptions::default() };
        stores.push(Hot::open(&home.path().join(number.to_string()), &options)?);
    }
    let placement = Placement { shards: sides.len() as u16, seed: 0, id_space: IdSpace::Graph };
    let is_whole = sides == [Sides::Together];
    let mut random = Random::new(7);
    let began = cpu();
    let mut ids = Vec::new();
    change(&stores, placement, is_whole, |graph| add_vertices(graph, vertices, &mut ids))?;
    let with_vertices = cpu();
    for first in (0..edges).step_by(BATCH) {
        let batch = first..edges.min(first + BATCH);
        change(&stores, placement, is_whole, |graph| add_edges(graph, &ids, batch, &mut random))?;
    }
    let with_edges = cpu();
    let mut bytes = 0;
    for store in &stores {
        let mut transaction = store.begin()?;
        transaction.end_labels()?; // a shard compresses what its log says
        transaction.commit()?;
        bytes += store.compact(Writer::this_thread(), Patience::ENDLESS)?;
    }
    let compacted = cpu();
    let snapshots = stores.iter().map(|store| store.snapshot().map(Box::new)).collect::<mangrove_graph::Result<Vec<_>>>()?;
    let found = match is_whole {
        true => two_hops(&*snapshots[0], &ids)?,
        false => two_hops(&ClusterView::over_stores(snapshots, placement), &ids)?,
    };
    let each = |time: Duration, count: usize| time.as_secs_f64() * 1e6 / count as f64;
    println!(
        "{name:12} {:14.2} {:14.2} {:14.1} {:14.1} {found:12}",
        each(with_vertices - began, vertices),
        each(with_edges - with_vertices, edges),
        bytes as f64 / edges as f64,
        each(cpu() - compacted, STARTS)
    );
    Ok(())
}

/// One transaction of a store, or of all shards.
fn change(
    stores: &[Hot],
    placement: Placement,
    is_whole: bool,
    work: impl FnOnce(&mut dyn GraphWrite) -> Outcome<()>,
) -> Outcome<()> {
    let mut begun = stores.iter().map(Hot::begin).collect::<mangrove_graph::Result<Vec<_>>>()?;
    if is_whole {
        work(&mut begun[0])?;
    } else {
        let mut all = ClusterChange::new(begun, placement);
        work(&mut all)?;
        begun = all.into_stores()?;
    }
    Ok(begun.into_iter().try_for_each(HotTransaction::commit)?)
}

fn add_vertices(graph: &mut dyn GraphWrite, count: usize, ids: &mut Vec<VertexId>) -> Outcome<()> {
    let person = graph.ensure_label(ElementKind::Vertex, "person")?;
    let knows = graph.ensure_label(ElementKind::Edge, "knows")?;
    let (since, _) = (graph.ensure_key("since")?, graph.ensure_key("weight")?);
    graph.declare_time(knows, since)?;
    let given: Vec<Option<ExternalId>> = (0..count as i64).map(|id| Some(ExternalId::Int(id))).collect();
    Ok(graph.add_vertices(person, &given, ids)?)
}

fn add_edges(
    graph: &mut dyn GraphWrite,
    ids: &[VertexId],
    batch: std::ops::Range<usize>,
    random: &mut Random,
) -> Outcome<()> {
    let knows = graph.ensure_label(ElementKind::Edge, "knows")?;
    let weight = graph.ensure_key("weight")?;
    let mut end = || ids[random.below(ids.len() as u64) as usize];
    let new = |at| NewEdge { source: end(), target: end(), id: None, time: Some(Value::Int64(1_600_000_000 + at as i64)) };
    let edges: Vec<NewEdge> = batch.map(new).collect();
    let mut made = Vec::with_capacity(edges.len());
    graph.add_edges(knows, &edges, &mut made)?;
    let refs = made.iter().zip(&edges).map(|(id, edge)| mangrove_graph::EdgeRef {
        id: *id,
        source: edge.source,
        target: edge.target,
    });
    let weights: Vec<Value> = (0..edges.len()).map(|at| Value::Float64((at % 1000) as f64 / 1000.0)).collect();
    let column = mangrove_graph::column::array_of(&weights.iter().map(Some).collect::<Vec<_>>()).ok_or("one type")?;
    Ok(graph.set_properties(Elements::Edges(&refs.collect::<Vec<_>>()), weight, &PropertyColumn::Typed(column))?)
}

/// How many vertices are met by two hops from each of some vertices.
fn two_hops(view: &dyn GraphView, ids: &[VertexId]) -> Outcome<usize> {
    let hop = Hop::along(Direction::Both, None, Wants { neighbors: true, ..Wants::default() });
    let mut found = 0;
    for start in ids.iter().step_by((ids.len() / STARTS).max(1)).take(STARTS) {
        let (mut first, mut second) = (Adjacency::default(), Adjacency::default());
        view.neighbors(&[*start], &hop, &mut first)?;
        view.neighbors(&first.neighbors, &hop, &mut second)?;
        found += second.neighbors.len();
    }
    Ok(found)
}
