//! Measures the phases of a small query, on one thread.
//!
//! ```text
//! cargo run --release -p mangrove-testkit --example query_phases -- DB "g.V(x).elementMap('name','age')"
//! ```
//! `x` runs through the ids 0 to 262,143 of the benchmark's RMAT-18. Its order makes each query hit a cold place of the store.

use std::hint::black_box;
use std::time::Instant;

use mangrove_directory::{OpenOptions, Store};
use mangrove_graph::{Catalog, ElementId, ExternalId, GraphView, Value, VertexId};
use mangrove_query::{Graph, Parameters, Query, QueryOptions};

const RUNS: usize = 200_000;
const IDS: usize = 1 << 18;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let [path, text] = <[String; 2]>::try_from(std::env::args().skip(1).collect::<Vec<_>>())
        .map_err(|_| "a database and a query of x, please")?;
    let store = Store::open(path, &OpenOptions { read_only: true, ..OpenOptions::default() })?;
    let (query, options, view) = (Query::parse(&text)?, QueryOptions::default(), store.snapshot()?);
    let parameters = |run: usize| Parameters::from([("x".to_owned(), Value::Int64(id(run)))]);
    let one = parameters(0);

    time("read the text", |_| drop(black_box(Query::parse(&text))));
    time("take a snapshot", |_| drop(black_box(store.snapshot())));
    time("another view of it", |_| drop(black_box(view.fork())));
    time("resolve and apply the rules", |_| drop(black_box(query.plan(&view, &one, &options))));
    time("the same, and compile", |_| drop(black_box(query.execute(&mut Graph::Read(&view), &one, &options))));
    time("run it, a cold place each time", |run| {
        let graph = &mut Graph::Read(&view);
        drop(black_box(query.execute(graph, &parameters(run), &options).and_then(|mut query| query.collect(graph))));
    });

    let mut vertices = Vec::new();
    let ids: Vec<ExternalId> = (0..RUNS).map(|run| ExternalId::Int(id(run))).collect();
    view.find_vertices(None, &ids, &mut vertices)?;
    let vertices: Vec<VertexId> = vertices.into_iter().flatten().collect();
    if vertices.len() == RUNS {
        time("find a vertex by id", |run| {
            drop(black_box(view.find_vertices(None, &ids[run..=run], &mut Vec::new())));
        });
        for key in 0..view.schema().keys.len() as u16 {
            let key = mangrove_graph::KeyId(key);
            time(&format!("read its `{}`", view.schema().key_name(key)), |run| {
                drop(black_box(view.cell(ElementId::Vertex(vertices[run]), key)));
            });
        }
    }
    Ok(())
}

/// Consecutive runs use ids that are far apart in the store.
fn id(run: usize) -> i64 {
    ((run * 7919) % IDS) as i64
}

fn time(what: &str, mut work: impl FnMut(usize)) {
    (0..RUNS / 10).for_each(&mut work);
    let began = Instant::now();
    (0..RUNS).for_each(&mut work);
    println!("{what:32} {:8.2} µs", began.elapsed().as_secs_f64() * 1e6 / RUNS as f64);
}
