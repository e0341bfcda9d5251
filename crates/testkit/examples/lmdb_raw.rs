//! Measures LMDB itself on adjacency in blocks. `make bench` compares the hot store with it.
//!
//! ```text
//! out, in     key    vertex u32 | block u16            (big-endian, so that a vertex's blocks are neighbours)
//!             value  n neighbours u32 | n edges u32    (n ≤ 128)
//! edge        key    edge u32      value  24 bytes, as much as source, target, time and weight take
//! ```
//!
//! `lmdb_raw DATA DATABASE` reads `edges.bin` and `params.json`, which benches/compare/rmat.py writes. It prints a line of JSON for
//! each measurement. There are no names, no schema and no checks: only the cost of the storage engine itself.

use std::collections::HashSet;
use std::error::Error;
use std::path::Path;
use std::time::Instant;
use std::{env, fs};

use heed::types::Bytes;
use heed::{CommitOrAbort, Database, Env, EnvOpenOptions, PutFlags, RoTxn, RwTxn};
use serde_json::{Value as Json, json};

type Result<T> = std::result::Result<T, Box<dyn Error>>;
type Table = Database<'static, Bytes, Bytes>;

const BLOCK: usize = 128;
const BATCH: u32 = 100_000;
const BATCHES: u32 = 5;
const SINGLES: u32 = 2000;
const MAP_BYTES: usize = 8 << 30;

fn main() -> Result<()> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let [data, database] = &arguments[..] else { return Err("usage: lmdb_raw DATA DATABASE".into()) };
    let edges = read_edges(&Path::new(data).join("edges.bin"))?;
    let asked: Json = serde_json::from_str(&fs::read_to_string(Path::new(data).join("params.json"))?)?;
    fs::create_dir_all(database)?;
    let store = Raw::create(Path::new(database))?;
    say(
        json!({ "op": "engine", "version": "heed 0.23", "note": "lists of neighbours and 24 bytes per edge; it reads no CSV" }),
    );
    load(&store, &edges, Path::new(database))?;
    queries(&store, &asked)?;
    let vertices = asked["vertices"].as_u64().ok_or("params.json without vertices")? as u32;
    writes(&store, vertices, edges.len() as u32)
}

/// The edges as (source, target).
fn read_edges(path: &Path) -> Result<Vec<(u32, u32)>> {
    let word = |bytes: &[u8]| u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
    Ok(fs::read(path)?.chunks_exact(8).map(|pair| (word(pair), word(&pair[4..]))).collect())
}

fn say(line: Json) {
    println!("{line}");
}

// ---- the store

struct Raw {
    env: Env,
    out: Table,
    incoming: Table,
    edge: Table,
}

impl Raw {
    fn create(path: &Path) -> Result<Self> {
        let mut options = EnvOpenOptions::new();
        options.map_size(MAP_BYTES).max_dbs(3);
        // SAFETY: this process made the file, and nothing else touches it.
        let env = unsafe { options.open(path)? };
        let txn = env.write_txn()?;
        let tables = env.create_databases_and_commit(txn, |create, txn| {
            let mut table = |name| create.create_database::<Bytes, Bytes>(txn, Some(name));
            Ok::<_, heed::Error>(CommitOrAbort::<_, ()>::Commit([table("out")?, table("in")?, table("edge")?]))
        })?;
        let [out, incoming, edge] = tables.unwrap_commit();
        Ok(Self { env, out, incoming, edge })
    }

    /// Writes all edges into the empty tables, in key order.
    fn fill(&self, edges: &[(u32, u32)]) -> Result<()> {
        let mut txn = self.env.write_txn()?;
        append_blocks(self.out, &mut txn, edges.iter().map(|(source, target)| (*source, *target)))?;
        append_blocks(self.incoming, &mut txn, edges.iter().map(|(source, target)| (*target, *source)))?;
        for id in 0..edges.len() as u32 {
            self.edge.put_with_flags(&mut txn, PutFlags::APPEND, &id.to_be_bytes(), &row(edges[id as usize], id))?;
        }
        Ok(txn.commit()?)
    }

    /// Adds edges with ids from `first` on, in one transaction.
    fn insert(&self, edges: &[(u32, u32)], first: u32, with_rows: bool) -> Result<()> {
        let mut txn = self.env.write_txn()?;
        let mut ends: Vec<(u32, u32, u32)> =
            (first..).zip(edges).map(|(id, (source, target))| (*source, *target, id)).collect();
        ends.sort_unstable();
        for (source, target, id) in &ends {
            append_to(self.out, &mut txn, *source, *target, *id)?;
        }
        ends.sort_unstable_by_key(|(source, target, id)| (*target, *source, *id));
        for (source, target, id) in &ends {
            append_to(self.incoming, &mut txn, *target, *source, *id)?;
        }
        if with_rows {
            for (id, edge) in (first..).zip(edges) {
                self.edge.put_with_flags(&mut txn, PutFlags::APPEND, &id.to_be_bytes(), &row(*edge, id))?;
            }
        }
        Ok(txn.commit()?)
    }

    /// Calls `visit` with each neighbour of `vertex`.
    fn neighbours(&self, txn: &RoTxn<'_>, vertex: u32, mut visit: impl FnMut(u32)) -> Result<()> {
        for block in self.out.prefix_iter(txn, &vertex.to_be_bytes())? {
            let (_, value) = block?;
            let (neighbours, _) = value.split_at(value.len() / 2);
            neighbours.chunks_exact(4).for_each(|n| visit(u32::from_ne_bytes([n[0], n[1], n[2], n[3]])));
        }
        Ok(())
    }
}

fn row((source, target): (u32, u32), id: u32) -> [u8; 24] {
    let mut row = [0; 24];
    row[..4].copy_from_slice(&source.to_ne_bytes());
    row[4..8].copy_from_slice(&target.to_ne_bytes());
    row[8..12].copy_from_slice(&id.to_ne_bytes());
    row
}

fn key(vertex: u32, block: u16) -> [u8; 6] {
    let mut key = [0; 6];
    key[..4].copy_from_slice(&vertex.to_be_bytes());
    key[4..].copy_from_slice(&block.to_be_bytes());
    key
}

/// Sorts (vertex, neighbour) pairs by vertex and appends their blocks.
fn append_blocks(table: Table, txn: &mut RwTxn<'_>, pairs: impl Iterator<Item = (u32, u32)>) -> Result<()> {
    let mut sorted: Vec<(u32, u32, u32)> = pairs.zip(0u32..).map(|((vertex, other), id)| (vertex, id, other)).collect();
    sorted.sort_unstable();
    let mut value = Vec::with_capacity(BLOCK * 8);
    for of_vertex in sorted.chunk_by(|a, b| a.0 == b.0) {
        for (block, part) in of_vertex.chunks(BLOCK).enumerate() {
            value.clear();
            part.iter().for_each(|(_, _, other)| value.extend_from_slice(&other.to_ne_bytes()));
            part.iter().for_each(|(_, id, _)| value.extend_from_slice(&id.to_ne_bytes()));
            table.put_with_flags(txn, PutFlags::APPEND, &key(of_vertex[0].0, block as u16), &value)?;
        }
    }
    Ok(())
}

/// Adds one neighbour to the last block of a vertex, or begins a new one.
fn append_to(table: Table, txn: &mut RwTxn<'_>, vertex: u32, other: u32, id: u32) -> Result<()> {
    let last = table.get_lower_than_or_equal_to(txn, &key(vertex, u16::MAX))?;
    let mut value = Vec::with_capacity(BLOCK * 8);
    let mut block = 0;
    if let Some((found, old)) = last.filter(|(found, _)| found[..4] == vertex.to_be_bytes()) {
        block = u16::from_be_bytes([found[4], found[5]]);
        if old.len() < BLOCK * 8 {
            let (neighbours, ids) = old.split_at(old.len() / 2);
            value.extend_from_slice(neighbours);
            value.extend_from_slice(&other.to_ne_bytes());
            value.extend_from_slice(ids);
        } else {
            block += 1;
        }
    }
    if value.is_empty() {
        value.extend_from_slice(&other.to_ne_bytes());
    }
    value.extend_from_slice(&id.to_ne_bytes());
    Ok(table.put(txn, &key(vertex, block), &value)?)
}

// ---- measurements

fn load(store: &Raw, edges: &[(u32, u32)], database: &Path) -> Result<()> {
    let timer = Timer::start();
    store.fill(edges)?;
    let (wall, cpu) = timer.read();
    let disk = fs::metadata(database.join("data.mdb"))?.len();
    say(
        json!({ "op": "load", "wall_s": wall, "cpu_s": cpu, "edges": edges.len(), "rss_bytes": peak_memory(), "disk_bytes": disk }),
    );
    Ok(())
}

fn queries(store: &Raw, asked: &Json) -> Result<()> {
    let txn = store.env.read_txn()?;
    let mut scratch = Frontier::new(asked["vertices"].as_u64().unwrap_or(0) as usize);
    for op in ["hop1", "hop2", "hop3", "bfs4"] {
        let params: Vec<u32> =
            asked["params"][op].as_array().into_iter().flatten().map(|p| p.as_u64().unwrap_or(0) as u32).collect();
        let mut ask = |vertex: u32| -> Result<u64> {
            match op {
                "hop1" => {
                    let mut found = Vec::new();
                    store.neighbours(&txn, vertex, |n| found.push(n))?;
                    Ok(found.len() as u64)
                }
                "hop2" => scratch.hops(store, &txn, vertex, 2),
                "hop3" => scratch.hops(store, &txn, vertex, 3),
                _ => scratch.within(store, &txn, vertex, 4),
            }
        };
        let (mut times, mut wrong) = (Vec::new(), 0);
        for (vertex, answer) in params.iter().zip(asked["answers"][op].as_array().into_iter().flatten()) {
            let expected = answer.as_u64().or_else(|| answer[0].as_u64());
            wrong += u32::from(Some(ask(*vertex)?) != expected);
            times.push(timed(|| ask(*vertex).map(|_| ()))?);
        }
        report_query(op, &mut times, wrong);
    }
    Ok(())
}

fn report_query(op: &str, times: &mut [(f64, f64)], wrong: u32) {
    let middle = |times: &mut [(f64, f64)], part: fn(&(f64, f64)) -> f64, at: f64| {
        times.sort_by(|a, b| part(a).total_cmp(&part(b)));
        part(&times[((times.len() - 1) as f64 * at) as usize]) * 1e6
    };
    let (wall, cpu, p95) = (middle(times, |t| t.0, 0.5), middle(times, |t| t.1, 0.5), middle(times, |t| t.1, 0.95));
    say(json!({ "op": op, "cpu_us": cpu, "wall_us": wall, "cpu_p95_us": p95, "n": times.len(), "wrong": wrong }));
}

/// Wall and CPU seconds of one call, repeated for a few milliseconds.
fn timed(mut call: impl FnMut() -> Result<()>) -> Result<(f64, f64)> {
    let timer = Timer::start();
    let mut count = 0;
    while count == 0 || timer.wall.elapsed().as_micros() < 3000 {
        call()?;
        count += 1;
    }
    let (wall, cpu) = timer.read();
    Ok((wall / f64::from(count), cpu / f64::from(count)))
}

/// Sets of vertices, as one byte per vertex and as lists. They are reused from query to query.
struct Frontier {
    seen: Vec<bool>,
    now: Vec<u32>,
    next: Vec<u32>,
}

impl Frontier {
    fn new(vertices: usize) -> Self {
        Self { seen: vec![false; vertices], now: Vec::new(), next: Vec::new() }
    }

    /// The number of vertices at the end of walks of exactly `depth` hops.
    fn hops(&mut self, store: &Raw, txn: &RoTxn<'_>, vertex: u32, depth: usize) -> Result<u64> {
        self.now.clear();
        self.now.push(vertex);
        for _ in 0..depth {
            self.expand(store, txn)?;
            self.next.iter().for_each(|v| self.seen[*v as usize] = false);
            std::mem::swap(&mut self.now, &mut self.next);
        }
        Ok(self.now.len() as u64)
    }

    /// The number of vertices within `depth` hops, the start included.
    fn within(&mut self, store: &Raw, txn: &RoTxn<'_>, vertex: u32, depth: usize) -> Result<u64> {
        let mut visited = vec![vertex];
        self.seen[vertex as usize] = true;
        self.now.clear();
        self.now.push(vertex);
        for _ in 0..depth {
            self.expand(store, txn)?;
            visited.extend_from_slice(&self.next);
            std::mem::swap(&mut self.now, &mut self.next);
        }
        visited.iter().for_each(|v| self.seen[*v as usize] = false);
        Ok(visited.len() as u64)
    }

    /// Fills `next` with the unseen neighbours of `now`, and marks them as seen.
    fn expand(&mut self, store: &Raw, txn: &RoTxn<'_>) -> Result<()> {
        self.next.clear();
        for vertex in &self.now {
            store.neighbours(txn, *vertex, |n| {
                if !std::mem::replace(&mut self.seen[n as usize], true) {
                    self.next.push(n);
                }
            })?;
        }
        Ok(())
    }
}

fn writes(store: &Raw, vertices: u32, first: u32) -> Result<()> {
    let mut random = Random(first.into());
    let mut edges =
        |count: u32| -> Vec<(u32, u32)> { (0..count).map(|_| (random.below(vertices), random.below(vertices))).collect() };
    let timer = Timer::start();
    let mut id = first;
    for edge in edges(SINGLES) {
        store.insert(&[edge], id, false)?;
        id += 1;
    }
    let (wall, cpu) = timer.read();
    let (per_s, cpu_us) = (f64::from(SINGLES) / wall, cpu / f64::from(SINGLES) * 1e6);
    say(json!({ "op": "singles", "per_s": per_s, "cpu_us": cpu_us, "n": SINGLES, "durable": true }));
    let size = BATCH.min(first / 10);
    let mut times = Vec::new();
    for _ in 0..BATCHES {
        let batch = edges(size);
        let timer = Timer::start();
        store.insert(&batch, id, true)?;
        times.push(timer.read());
        id += size;
    }
    let middle = |part: fn(&(f64, f64)) -> f64| {
        let mut sorted: Vec<f64> = times.iter().map(part).collect();
        sorted.sort_by(f64::total_cmp);
        f64::from(size) / sorted[sorted.len() / 2]
    };
    say(
        json!({ "op": "batches", "per_s": middle(|t| t.0), "per_cpu_s": middle(|t| t.1), "size": size, "n": BATCHES, "durable": true }),
    );
    let distinct: HashSet<u32> = edges(1000).into_iter().map(|e| e.0).collect();
    let txn = store.env.read_txn()?;
    distinct.into_iter().try_for_each(|vertex| store.neighbours(&txn, vertex, |n| assert!(n < vertices)))
}

/// A small generator (xorshift), the same every run.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: u32) -> u32 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 32) as u32 % bound
    }
}

/// Wall and CPU time since the start. The kernel counts the CPU time of this process, which has one thread. Without that, wall
/// time.
struct Timer {
    wall: Instant,
    cpu: Option<f64>,
}

impl Timer {
    fn start() -> Self {
        Self { cpu: cpu_seconds(), wall: Instant::now() }
    }

    fn read(&self) -> (f64, f64) {
        let wall = self.wall.elapsed().as_secs_f64();
        let cpu = self.cpu.and_then(|start| Some(cpu_seconds()? - start));
        (wall, cpu.unwrap_or(wall))
    }
}

fn cpu_seconds() -> Option<f64> {
    let text = fs::read_to_string("/proc/self/schedstat").ok()?;
    Some(text.split_whitespace().next()?.parse::<f64>().ok()? * 1e-9)
}

/// The peak memory of the process in bytes; 0 if the system does not report it.
fn peak_memory() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap_or_default();
    line.trim().trim_end_matches(" kB").parse::<u64>().unwrap_or(0) * 1024
}
