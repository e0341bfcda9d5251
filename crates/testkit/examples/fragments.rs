//! Measures how far updates scatter the data of a vertex over segments, with and without merges, and the effect on reads (ZipG,
//! appendix A).
//!
//! ```text
//! cargo run --release -p mangrove-testkit --example fragments -- 100000 400000 10000
//! ```
//! The arguments are the number of vertices, the number of operations, and the number of operations between two seals. Each vertex
//! has a text of 128 bytes and four timed edges with 128 bytes each. The operations are LinkBench's writes in ZipG's proportions
//! (Table 2), on vertices drawn with its skew. The output is comma-separated. A fragment is a part of the store (a segment or the
//! tables) that holds something of a vertex. A read fetches the ten latest edges of a vertex with their data. Reads run alone, and
//! while another thread writes, seals and merges.

use std::error::Error;
use std::hint::black_box;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use mangrove_directory::{Durability, OpenOptions, Patience, Snapshot, Store, Writer};
use mangrove_graph::{
    Adjacency, Catalog, Cell, Direction, EdgeRef, ElementId, ElementKind, GraphView, GraphWrite, Hop, KeyId, LabelId,
    NewEdge, Value, VertexId, Wants,
};
use mangrove_testkit::graphs::Random;

type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// Operations in one commit.
const BATCH: u64 = 100;
/// At every point, this many vertices have their fragments counted, and this many reads are timed.
const SAMPLES: u64 = 20_000;
/// ZipG's Table 2, LinkBench's writes, per mille: assoc_add, assoc_update, obj_update, assoc_del, obj_add.
const MIX: [(Change, u64); 5] = [
    (Change::AddEdge, 90),
    (Change::UpdateEdge, 80),
    (Change::UpdateVertex, 74),
    (Change::RemoveEdge, 30),
    (Change::AddVertex, 26),
];
/// The skew of the writes: rank r is drawn in proportion to r^-skew.
const SKEW: f64 = 0.741;

#[derive(Clone, Copy)]
enum Change {
    AddEdge,
    UpdateEdge,
    UpdateVertex,
    RemoveEdge,
    AddVertex,
}

fn main() -> Result<()> {
    let [vertices, operations, every] = std::env::args()
        .skip(1)
        .map(|text| text.parse())
        .collect::<std::result::Result<Vec<u64>, _>>()?
        .try_into()
        .map_err(|_| "vertices, operations, and after how many to seal, please")?;
    println!("merging,operations,segments,fragments_mean,fragments_max,read_us_median,read_us_p99");
    for merging in [false, true] {
        let mut work = Work::new(vertices)?;
        work.report(merging, 0)?;
        for at in 1..=operations / BATCH {
            work.change()?;
            if (at * BATCH).is_multiple_of(every) {
                work.store.seal(Writer::this_thread(), Patience::ENDLESS)?;
                if merging {
                    work.store.merge(Writer::this_thread(), Patience::ENDLESS)?;
                }
                work.report(merging, at * BATCH)?;
            }
        }
    }
    println!("\nbeside,reads,read_us_median,read_us_p99,read_us_p999");
    beside(vertices)
}

/// Times reads alone, beside a writer, and beside a writer whose changes are constantly sealed and merged.
fn beside(vertices: u64) -> Result<()> {
    let mut work = Work::new(vertices)?;
    let store = work.store.clone();
    let reads = |name: &str, done: &dyn Fn() -> bool| -> Result<()> {
        let (mut random, mut times) = (Random::new(3), Vec::new());
        while !done() {
            let graph = Reading::new(store.snapshot()?)?;
            times.extend((0..200).map(|_| graph.timed(&mut random, vertices)).collect::<Result<Vec<_>>>()?);
        }
        times.sort_unstable();
        let at = |share: f64| micros(times[((times.len() - 1) as f64 * share) as usize]);
        println!("{name},{},{:.2},{:.2},{:.2}", times.len(), at(0.5), at(0.99), at(0.999));
        Ok(())
    };
    let alone = |name| {
        let started = Instant::now();
        reads(name, &|| started.elapsed() > Duration::from_secs(3))
    };
    alone("nothing, before the work")?;
    for (name, sealing) in [("a writer", false), ("a writer that seals and merges", true)] {
        let done = AtomicBool::new(false);
        std::thread::scope(|scope| -> Result<()> {
            let writer = scope.spawn(|| -> std::result::Result<(), String> {
                let outcome = write(&mut work, sealing);
                done.store(true, Ordering::Relaxed);
                outcome.map_err(|error| error.to_string())
            });
            reads(name, &|| done.load(Ordering::Relaxed))?;
            Ok(writer.join().map_err(|_| "the writer panicked")??)
        })?;
    }
    // The same graph again: vertices that are often written have more edges by now.
    alone("nothing, after the work")
}

fn write(work: &mut Work, sealing: bool) -> Result<()> {
    let started = Instant::now();
    while started.elapsed() < Duration::from_secs(6) {
        for _ in 0..20 {
            work.change()?;
        }
        if sealing {
            work.store.seal(Writer::this_thread(), Patience::ENDLESS)?;
            work.store.merge(Writer::this_thread(), Patience::ENDLESS)?;
        }
    }
    Ok(())
}

struct Work {
    store: Store,
    random: Random,
    vertices: Vec<VertexId>,
    person: LabelId,
    link: LabelId,
    data: KeyId,
    now: i64,
    _home: tempfile::TempDir,
}

impl Work {
    /// The graph, in one segment.
    fn new(n: u64) -> Result<Self> {
        let home = tempfile::tempdir()?;
        let options = OpenOptions { durability: Durability::Relaxed, seal_bytes: 0, ..OpenOptions::default() };
        let store = Store::open(home.path().join("db.mg"), &options)?;
        let (mut random, mut vertices) = (Random::new(1), Vec::new());
        let mut bulk = store.begin()?.into_bulk()?;
        let graph = bulk.graph();
        let person = graph.ensure_label(ElementKind::Vertex, "person")?;
        let link = graph.ensure_label(ElementKind::Edge, "link")?;
        let (data, time) = (graph.ensure_key("data")?, graph.ensure_key("time")?);
        graph.declare_time(link, time)?;
        graph.add_vertices(person, &vec![None; n as usize], &mut vertices)?;
        for vertex in &vertices {
            graph.set_cell(ElementId::Vertex(*vertex), data, text(&mut random))?;
        }
        let mut work = Self { store: store.clone(), random, vertices, person, link, data, now: 0, _home: home };
        let edges: Vec<NewEdge> = (0..4 * n).map(|_| work.edge(|random, n| random.below(n))).collect();
        work.add_edges(graph, &edges)?;
        bulk.commit(&|| false)?;
        Ok(work)
    }

    fn edge(&mut self, mut draw: impl FnMut(&mut Random, u64) -> u64) -> NewEdge {
        self.now += 1;
        let n = self.vertices.len() as u64;
        let mut end = || self.vertices[draw(&mut self.random, n) as usize];
        NewEdge { source: end(), target: end(), id: None, time: Some(Value::Int64(self.now)) }
    }

    fn add_edges(&mut self, graph: &mut dyn GraphWrite, edges: &[NewEdge]) -> Result<()> {
        let mut made = Vec::new();
        graph.add_edges(self.link, edges, &mut made)?;
        for edge in made {
            graph.set_cell(ElementId::Edge(edge), self.data, text(&mut self.random))?;
        }
        Ok(())
    }

    /// One commit of writes.
    fn change(&mut self) -> Result<()> {
        let mut t = self.store.begin()?;
        for _ in 0..BATCH {
            let mut at = self.random.below(MIX.iter().map(|(_, share)| share).sum());
            let (change, _) =
                MIX.iter().find(|(_, share)| at.checked_sub(*share).map(|rest| at = rest).is_none()).unwrap_or(&MIX[0]);
            let vertex = self.vertices[skewed(&mut self.random, self.vertices.len() as u64) as usize];
            match change {
                Change::AddEdge => {
                    let edge = self.edge(skewed);
                    self.add_edges(&mut t, &[edge])?;
                }
                Change::UpdateVertex => t.set_cell(ElementId::Vertex(vertex), self.data, text(&mut self.random))?,
                Change::AddVertex => t.add_vertices(self.person, &[None], &mut self.vertices)?,
                Change::UpdateEdge | Change::RemoveEdge => {
                    let edges = edges_of(&t, vertex)?;
                    let Some(edge) = edges.get(self.random.below(edges.len().max(1) as u64) as usize) else { continue };
                    match change {
                        Change::RemoveEdge => t.remove_edges(&[*edge])?,
                        _ => t.set_cell(ElementId::Edge(edge.id), self.data, text(&mut self.random))?,
                    }
                }
            }
        }
        t.commit()?;
        Ok(())
    }

    fn report(&self, merging: bool, operations: u64) -> Result<()> {
        let graph = Reading::new(self.store.snapshot()?)?;
        let (mut random, n) = (Random::new(2), self.vertices.len() as u64);
        let (mut sum, mut max, mut times) = (0, 0, Vec::new());
        for _ in 0..SAMPLES {
            let fragments = graph.snapshot.fragments(self.vertices[skewed(&mut random, n) as usize])?;
            (sum, max) = (sum + fragments, max.max(fragments));
            times.push(graph.timed(&mut random, n)?);
        }
        times.sort_unstable();
        let segments = self.store.stats()?.segments.len();
        let [median, p99] = [SAMPLES / 2, SAMPLES * 99 / 100].map(|at| micros(times[at as usize]));
        let mean = sum as f64 / SAMPLES as f64;
        println!("{merging},{operations},{segments},{mean:.3},{max},{median:.2},{p99:.2}");
        Ok(())
    }
}

fn text(random: &mut Random) -> Cell {
    const WORDS: [&str; 8] = ["harbour", "lantern", "meadow", "thistle", "orchard", "granite", "willow", "compass"];
    let mut text = format!("{:016x}", random.bits());
    while text.len() < 128 {
        text.push(' ');
        text.push_str(WORDS[random.below(8) as usize]);
    }
    Cell::One(Value::string(text))
}

/// A number below `n`, drawn with the skew. Frequent numbers are the same in every run.
fn skewed(random: &mut Random, n: u64) -> u64 {
    let rank = (n as f64 * random.unit().powf(1.0 / (1.0 - SKEW))) as u64;
    // Spreads the frequent numbers over the whole range.
    rank.min(n - 1).wrapping_mul(0x9e37_79b9_7f4a_7c15) % n
}

fn edges_of(graph: &dyn GraphView, vertex: VertexId) -> Result<Vec<EdgeRef>> {
    let wants = Wants { edges: true, ..Wants::default() };
    let mut found = Adjacency::default();
    graph.neighbors(&[vertex], &Hop::along(Direction::Out, None, wants), &mut found)?;
    Ok(found.edges)
}

/// A snapshot to read.
struct Reading {
    snapshot: Snapshot,
    person: LabelId,
    data: KeyId,
}

impl Reading {
    fn new(snapshot: Snapshot) -> Result<Self> {
        let person = snapshot.schema().label(ElementKind::Vertex, "person").ok_or("no people")?;
        let data = snapshot.schema().key("data").ok_or("no data")?;
        Ok(Self { snapshot, person, data })
    }

    /// The time to read the ten latest edges of a vertex with their data.
    fn timed(&self, random: &mut Random, n: u64) -> Result<Duration> {
        let vertex = VertexId(u64::from(self.person.0) << 48 | skewed(random, n));
        let started = Instant::now();
        let edges = edges_of(&self.snapshot, vertex)?;
        for edge in &edges[edges.len().saturating_sub(10)..] {
            black_box(self.snapshot.cell(ElementId::Edge(edge.id), self.data)?);
        }
        Ok(started.elapsed())
    }
}

fn micros(time: Duration) -> f64 {
    time.as_secs_f64() * 1e6
}
