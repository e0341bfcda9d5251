//! Loads an R-MAT graph and times the most common operations of the hot tier.
//!
//! ```text
//! cargo run --release -p mangrove-hot --example load_rmat -- [SCALE [EDGES_A_VERTEX]]
//! ```
//! The graph has 2^`SCALE` vertices (`SCALE` is 18 by default), each with a name and an age. It has 16 edges a vertex by
//! default, each with a time and a weight. Edges are drawn with the quadrant probabilities of Graph500 (0.57, 0.19, 0.19,
//! 0.05).
//!
//! Times are processor time of this thread, where the system reports it, so waiting for the disk does not count. Hops report
//! medians over starting vertices, which are ends of random edges.

use std::sync::Arc;
use std::time::Instant;

use arrow_array::{ArrayRef, Float64Array, Int32Array, Int64Array, StringArray};
use mangrove_graph::{
    Adjacency, Catalog, Comparison, Direction, EdgeId, EdgeRef, ElementId, ElementKind, Elements, ExternalId, Filter,
    GraphView, GraphWrite, Hop, NewEdge, Predicate, PropertyColumn, Result, Scan, ScanCursor, VertexId, Wants,
};
use mangrove_hot::{Durability, Hot, HotOptions};

const QUERIES: usize = 101;

fn main() -> Result<()> {
    let mut arguments = std::env::args().skip(1).map(|arg| arg.parse().expect("a number"));
    let scale: u32 = arguments.next().unwrap_or(18);
    let (vertices, edges) = (1usize << scale, arguments.next().unwrap_or(16) as usize * (1 << scale));
    let dir = tempfile::tempdir().expect("a temporary directory");
    let hot = Hot::open(dir.path(), &HotOptions { durability: Durability::Relaxed, ..HotOptions::default() })?;
    let ends = rmat(scale, edges);

    let ids = load(&hot, vertices, &ends)?;
    let stats = hot.stats()?;
    for table in &stats.tables {
        println!(
            "  {:<9} {:>9} entries {:>9.1} MB, depth {}",
            table.name,
            table.entries,
            table.bytes as f64 / 1e6,
            table.depth
        );
    }
    println!("  file {:.1} MB", stats.file_bytes as f64 / 1e6);
    writes(&hot, &ids)?;
    let starts: Vec<VertexId> = ends.iter().step_by(edges / QUERIES).map(|(source, _)| ids[*source as usize]).collect();
    reads(&hot, &ids, &starts)
}

/// Pairs of vertex numbers.
fn rmat(scale: u32, edges: usize) -> Vec<(u32, u32)> {
    let mut random = Random(42);
    (0..edges)
        .map(|_| {
            (0..scale).fold((0, 0), |(source, target), _| {
                let (s, t) = match random.next() % 100 {
                    0..57 => (0, 0),
                    57..76 => (0, 1),
                    76..95 => (1, 0),
                    _ => (1, 1),
                };
                (source << 1 | s, target << 1 | t)
            })
        })
        .collect()
}

/// xorshift64*
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 16
    }
}

fn load(hot: &Hot, vertices: usize, ends: &[(u32, u32)]) -> Result<Vec<VertexId>> {
    let (external, new): (Vec<_>, Vec<_>) = {
        let names = (0..vertices as i64).map(|id| Some(ExternalId::Int(id))).collect();
        (names, ends.iter().map(|(s, t)| (*s as usize, *t as usize)).collect())
    };
    let names: ArrayRef = Arc::new(StringArray::from_iter_values((0..vertices).map(|v| format!("{:032x}", v * 7919))));
    let ages: ArrayRef = Arc::new(Int32Array::from_iter_values((0..vertices as i32).map(|v| v.wrapping_mul(31) % 90)));
    let times: ArrayRef =
        Arc::new(Int64Array::from_iter_values((0..ends.len() as i64).map(|e| 1_600_000_000 + e * 7 % 9973)));
    let weights: ArrayRef = Arc::new(Float64Array::from_iter_values((0..ends.len()).map(|e| e as f64 / 7.0)));

    let mut t = hot.begin()?;
    let clock = Clock::start();
    let person = t.ensure_label(ElementKind::Vertex, "Person")?;
    let knows = t.ensure_label(ElementKind::Edge, "knows")?;
    let [name, age, ts, weight] = ["name", "age", "ts", "weight"].map(|key| t.ensure_key(key).expect("a key"));
    let mut ids = Vec::new();
    t.add_vertices(person, &external, &mut ids)?;
    t.set_properties(Elements::Vertices(&ids), name, &PropertyColumn::Typed(names))?;
    t.set_properties(Elements::Vertices(&ids), age, &PropertyColumn::Typed(ages))?;
    clock.rate("vertices with two properties", vertices);

    let clock = Clock::start();
    let new: Vec<NewEdge> = new
        .iter()
        .map(|(s, t): &(usize, usize)| NewEdge { source: ids[*s], target: ids[*t], id: None, time: None })
        .collect();
    let mut edges = Vec::new();
    t.add_edges(knows, &new, &mut edges)?;
    clock.rate("edges", new.len());
    let edges = refs(&edges, &new);
    let properties = Clock::start();
    t.set_properties(Elements::Edges(&edges), ts, &PropertyColumn::Typed(times))?;
    t.set_properties(Elements::Edges(&edges), weight, &PropertyColumn::Typed(weights))?;
    properties.rate("edges' two properties", new.len());
    t.commit()?;
    clock.rate("edges with two properties, committed", new.len());
    Ok(ids)
}

fn refs(ids: &[EdgeId], new: &[NewEdge]) -> Vec<EdgeRef> {
    ids.iter().zip(new).map(|(id, new)| EdgeRef { id: *id, source: new.source, target: new.target }).collect()
}

fn writes(hot: &Hot, ids: &[VertexId]) -> Result<()> {
    let mut random = Random(7);
    let mut pick = || ids[random.next() as usize % ids.len()];
    let mut batch = |n: usize| -> Vec<NewEdge> {
        (0..n).map(|_| NewEdge { source: pick(), target: pick(), id: None, time: None }).collect()
    };
    let [knows, ts] = {
        let snapshot = hot.snapshot()?;
        [
            snapshot.schema().label(ElementKind::Edge, "knows").map_or(0, |l| l.0),
            snapshot.schema().key("ts").map_or(0, |k| k.0),
        ]
    };
    let (knows, ts) = (mangrove_graph::LabelId(knows), mangrove_graph::KeyId(ts));
    for n in [100_000, 10_000, 1_000] {
        let new = batch(n);
        let clock = Clock::start();
        let mut t = hot.begin()?;
        t.add_edges(knows, &new, &mut Vec::new())?;
        t.commit()?;
        clock.rate(&format!("a batch of {n} edges"), n);
    }
    let new = batch(2_000);
    let clock = Clock::start();
    for edge in &new {
        let (mut t, mut out) = (hot.begin()?, Vec::new());
        t.add_edges(knows, std::slice::from_ref(edge), &mut out)?;
        t.set_cell(ElementId::Edge(out[0]), ts, mangrove_graph::Cell::One(7i64.into()))?;
        t.commit()?;
    }
    clock.each("an edge with a property, committed alone, not synced", new.len());
    Ok(())
}

fn reads(hot: &Hot, ids: &[VertexId], starts: &[VertexId]) -> Result<()> {
    let clock = Clock::start();
    for _ in 0..10_000 {
        hot.snapshot()?;
    }
    clock.each("a snapshot", 10_000);
    let view = hot.snapshot()?;
    let [name, age] = ["name", "age"].map(|key| view.schema().key(key).expect("a key"));
    let mut random = Random(3);
    let some: Vec<VertexId> = (0..100_000).map(|_| ids[random.next() as usize % ids.len()]).collect();

    let clock = Clock::start();
    some.iter().try_for_each(|v| view.cell(ElementId::Vertex(*v), age).map(drop))?;
    clock.each("an integer cell", some.len());
    let clock = Clock::start();
    some.iter().try_for_each(|v| view.cell(ElementId::Vertex(*v), name).map(drop))?;
    clock.each("a string cell", some.len());
    let clock = Clock::start();
    some.iter().try_for_each(|v| view.external_id(*v).map(drop))?;
    clock.each("an external id", some.len());
    let mut found = Vec::new();
    let clock = Clock::start();
    for id in 0..some.len() as i64 {
        view.find_vertices(None, &[ExternalId::Int(id * 7919 % ids.len() as i64)], &mut found)?;
    }
    clock.each("a vertex found by id", some.len());
    let externals: Vec<ExternalId> = some.iter().map(|v| ExternalId::Int(v.local() as i64)).collect();
    let clock = Clock::start();
    view.find_vertices(None, &externals, &mut found)?;
    clock.each("a vertex found by id, of 100k at once", some.len());
    for (what, batch) in [("all in order", ids), ("100k at random", &some[..])] {
        for (property, key) in [("integer", age), ("string", name)] {
            let clock = Clock::start();
            view.properties(Elements::Vertices(batch), key)?;
            clock.each(&format!("an {property} property, {what}"), batch.len());
        }
    }
    let filters = vec![Filter { key: age, predicate: Predicate::Compare(Comparison::Gt, 45.into()) }];
    for (what, scan) in [("all", Scan::default()), ("by age > 45", Scan { labels: None, filters, ..Scan::default() })] {
        let (mut out, mut cursor) = (Vec::new(), ScanCursor::default());
        let clock = Instant::now();
        while !cursor.done {
            view.scan_vertices(&scan, &mut cursor, 65_536, &mut out)?;
        }
        println!("scan {what}: {} of {}, {:.2} ms", out.len(), ids.len(), clock.elapsed().as_secs_f64() * 1e3);
    }
    hops(&view, ids.len(), starts)
}

fn hops(view: &impl GraphView, vertices: usize, starts: &[VertexId]) -> Result<()> {
    let wants = Wants { neighbors: true, ..Wants::default() };
    let hop = Hop::along(Direction::Out, None, wants);
    for depth in 1..=3 {
        let (mut times, mut sizes, mut followed) = (Vec::new(), Vec::new(), 0);
        for start in starts {
            let clock = Instant::now();
            let (reached, edges) = distinct(view, vertices, *start, &hop, depth)?;
            times.push(clock.elapsed().as_secs_f64());
            sizes.push(reached);
            followed += edges;
        }
        let each = times.iter().sum::<f64>() / followed as f64 * 1e9;
        println!(
            "{depth}-hop distinct: {:.1} us, reaching {}; {each:.1} ns an edge followed",
            median(&mut times) * 1e6,
            median(&mut sizes)
        );
    }
    let (mut degrees, all) = (Vec::new(), (0..vertices as u64).map(|v| VertexId(starts[0].0 & !0xf_ffff_ffff | v)));
    let all: Vec<VertexId> = all.collect();
    let clock = Clock::start();
    view.degrees(&all, &hop, &mut degrees)?;
    clock.each("a degree, all in order", all.len());
    let mut adjacency = Adjacency::default();
    let clock = Clock::start();
    view.neighbors(&all, &hop, &mut adjacency)?;
    clock.each("a neighbour, all in order", adjacency.neighbors.len());
    Ok(())
}

/// How many distinct vertices walks of `depth` hops end at, and how many edges they follow.
fn distinct(view: &impl GraphView, vertices: usize, start: VertexId, hop: &Hop, depth: usize) -> Result<(usize, usize)> {
    let (mut frontier, mut adjacency, mut followed) = (vec![start], Adjacency::default(), 0);
    let mut seen = vec![0u64; vertices.div_ceil(64)];
    for _ in 0..depth {
        adjacency.clear();
        view.neighbors(&frontier, hop, &mut adjacency)?;
        followed += adjacency.neighbors.len();
        frontier.clear();
        seen.fill(0);
        for neighbor in &adjacency.neighbors {
            seen[(neighbor.local() / 64) as usize] |= 1 << (neighbor.local() % 64);
        }
        for (at, mut bits) in seen.iter().copied().enumerate() {
            while bits != 0 {
                frontier.push(VertexId::new(start.label(), 0, at as u64 * 64 + u64::from(bits.trailing_zeros())));
                bits &= bits - 1;
            }
        }
    }
    Ok((frontier.len(), followed))
}

fn median<T: PartialOrd + Copy>(values: &mut [T]) -> T {
    values.sort_by(|a, b| a.partial_cmp(b).expect("numbers"));
    values[values.len() / 2]
}

/// Processor time of this thread, or wall time where the system does not report it.
struct Clock {
    wall: Instant,
    cpu: Option<f64>,
}

impl Clock {
    fn start() -> Self {
        Self { cpu: Self::cpu(), wall: Instant::now() }
    }

    fn cpu() -> Option<f64> {
        let stat = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
        Some(stat.split(' ').next()?.parse::<f64>().ok()? / 1e9)
    }

    fn seconds(&self) -> f64 {
        match (self.cpu, Self::cpu()) {
            (Some(start), Some(end)) => end - start,
            _ => self.wall.elapsed().as_secs_f64(),
        }
    }

    fn rate(&self, what: &str, n: usize) {
        let seconds = self.seconds();
        println!("{n} {what}: {seconds:.3} s, {:.0} thousand a second", n as f64 / seconds / 1e3);
    }

    fn each(&self, what: &str, n: usize) {
        println!("{what}: {:.3} us", self.seconds() / n as f64 * 1e6);
    }
}
