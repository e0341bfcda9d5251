//! Measures the crate `graph` (Neo4j Labs) for `run.py`: `graph-crate FILE THREADS ALGORITHMS` prints JSON.
//!
//! The file holds numbers of 32 bits: the count of vertices, the first vertex, and then source, target and weight of each edge.

use std::time::Instant;

use graph::page_rank::{PageRankConfig, page_rank};
use graph::prelude::*;
use graph::sssp::{DeltaSteppingConfig, delta_stepping};
use graph::triangle_count::{global_triangle_count, relabel_graph};
use graph::wcc::{WccConfig, wcc_afforest};

const RUNS: usize = 3;

type Edges<'a> = &'a [[u32; 3]];

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let threads: usize = arguments[2].parse().expect("a number of threads");
    rayon::ThreadPoolBuilder::new().num_threads(threads).build_global().expect("the only pool");
    let bytes = std::fs::read(&arguments[1]).expect("a file of edges");
    let numbers: Vec<u32> = bytes.as_chunks::<4>().0.iter().map(|four| u32::from_le_bytes(*four)).collect();
    drop(bytes);
    let (first, edges) = (numbers[1] as usize, numbers[2..].as_chunks::<3>().0);
    let before = peak();
    let started = Instant::now();
    let flat = flat(edges);
    let ready = started.elapsed().as_secs_f64();
    let memory = peak() - before;
    let (mut times, mut answers) = (Vec::new(), Vec::new());
    for name in arguments[3].split(',') {
        let runs = match name {
            "pagerank" => (0..RUNS).map(|_| ranks(&flat)).collect(),
            "sssp" => lengths(edges, first),
            "cc" => (0..RUNS).map(|_| components(&flat)).collect(),
            "tc" => vec![triangles(edges)],
            _ => continue, // it has no breadth-first search
        };
        let best = runs.iter().map(|(seconds, _)| *seconds).fold(f64::INFINITY, f64::min);
        times.push(format!("\"{name}\": [{best}, null]"));
        answers.push(format!("\"{name}\": {:?}", runs[0].1));
    }
    let (times, answers) = (times.join(", "), answers.join(", "));
    println!("{{\"bytes\": {memory}, \"ready\": [{ready}, null], \"times\": {{{times}}}, \"answers\": {{{answers}}}}}");
}

/// Each edge in both directions.
fn flat(edges: Edges) -> DirectedCsrGraph<u32> {
    let both = edges.iter().flat_map(|[a, b, _]| [(*a, *b), (*b, *a)]).collect::<Vec<_>>();
    GraphBuilder::new().csr_layout(CsrLayout::Sorted).edges(both).build()
}

fn timed<T>(work: impl FnOnce() -> T) -> (f64, T) {
    let started = Instant::now();
    let found = work();
    (started.elapsed().as_secs_f64(), found)
}

fn ranks(graph: &DirectedCsrGraph<u32>) -> (f64, Vec<f64>) {
    let (seconds, (ranks, ..)) = timed(|| page_rank(graph, PageRankConfig::new(20, 0.0, 0.85)));
    let mut best: Vec<f64> = ranks.into_iter().map(f64::from).filter(|rank| rank.is_finite()).collect();
    best.sort_by(f64::total_cmp);
    let best = &best[best.len() - 1000..];
    let sum = |ranks: &[f64]| ranks.iter().sum::<f64>();
    (seconds, vec![best[999] / best[0], sum(&best[..500]) / sum(best)])
}

fn lengths(edges: Edges, first: usize) -> Vec<(f64, Vec<f64>)> {
    let both = edges.iter().flat_map(|[a, b, weight]| [(*a, *b, *weight as f32), (*b, *a, *weight as f32)]);
    let graph: DirectedCsrGraph<u32, (), f32> =
        GraphBuilder::new().csr_layout(CsrLayout::Sorted).edges_with_values(both.collect::<Vec<_>>()).build();
    let run = |_| {
        let (seconds, lengths) = timed(|| delta_stepping(&graph, DeltaSteppingConfig::new(first, 32.0)));
        let lengths: Vec<f64> = lengths.into_iter().map(|length| f64::from(length.into_inner())).collect();
        let reached: Vec<f64> = lengths.into_iter().filter(|length| *length < 1e15).collect();
        (seconds, vec![reached.len() as f64, reached.iter().sum()])
    };
    (0..RUNS).map(run).collect()
}

fn components(graph: &DirectedCsrGraph<u32>) -> (f64, Vec<f64>) {
    let (seconds, components) = timed(|| wcc_afforest(graph, WccConfig::default()));
    let mut found: Vec<u32> = (0..graph.node_count()).map(|vertex| components.component(vertex)).collect();
    found.sort_unstable();
    found.dedup();
    (seconds, vec![found.len() as f64])
}

/// As the crate does it, with the vertices in the order of their degrees first.
fn triangles(edges: Edges) -> (f64, Vec<f64>) {
    let pairs = edges.iter().map(|[a, b, _]| (*a, *b)).collect::<Vec<_>>();
    let mut graph: UndirectedCsrGraph<u32> = GraphBuilder::new().csr_layout(CsrLayout::Deduplicated).edges(pairs).build();
    let (seconds, found) = timed(|| {
        relabel_graph(&mut graph);
        global_triangle_count(&graph)
    });
    (seconds, vec![found as f64])
}

/// The most memory of the process so far, in bytes.
fn peak() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("Linux tells it");
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).expect("it is there");
    line.trim().trim_end_matches(" kB").parse::<u64>().expect("a number") * 1024
}
