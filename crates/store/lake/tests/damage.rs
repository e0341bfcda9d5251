//! Damaged files give errors, never panics, wrong memory or endless work.

use std::fs;
use std::path::{Path, PathBuf};

use mangrove_graph::{
    Adjacency, Catalog, Comparison, Direction, ElementId, ElementKind, Elements, Filter, GraphView, GraphWrite, Hop,
    IdSpace, Predicate, Scan, ScanCursor, VertexId, Wants,
};
use mangrove_ingest::{ExportFormat, Quiet};
use mangrove_lake::{GraphArOptions, Lake, LakeOptions, LakeView, export};
use mangrove_testkit::graphs::Random;
use mangrove_testkit::{Oracle, compare};
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;

mod made;

use made::{edges, set, vertices};

/// How many files are damaged. `MANGROVE_DAMAGES` changes it.
const ROUNDS: u64 = 400;

fn files(directory: &Path) -> Vec<PathBuf> {
    let mut all = Vec::new();
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() { all.append(&mut files(&path)) } else { all.push(path) }
    }
    all.sort();
    all
}

/// Reads all that there is to read.
fn read_all(file: &Path, cache: &Path) -> Result<(), String> {
    let options = LakeOptions { cache: Some(cache.to_owned()), cache_bytes_max: Some(20_000), ..LakeOptions::default() };
    let lake = Lake::open(file.to_str().unwrap(), &options).map_err(|e| e.to_string())?;
    let (problems, view) = (lake.check(), LakeView::new(lake.into(), None));
    let read = || -> mangrove_graph::Result<()> {
        for kind in ElementKind::ALL {
            let (mut cursor, mut rounds) = (ScanCursor::default(), 0);
            while !cursor.done && rounds < 100 {
                let found = view.scan(kind, &Scan::default(), &mut cursor, 1000)?;
                mangrove_graph::record::each_cell(&view, found.elements.batch(), None, |_, _, _, _| {})?;
                if let Elements::Vertices(vertices) = found.elements.batch() {
                    hops(&view, vertices)?;
                }
                rounds += 1;
            }
        }
        search(&view)
    };
    read().map_err(|e| e.to_string())?;
    if problems.is_empty() { Ok(()) } else { Err(problems.join("\n")) }
}

/// A filter by bounds, and a look-up of ids.
fn search(view: &LakeView) -> mangrove_graph::Result<()> {
    let Some(key) = view.schema().key("age") else { return Ok(()) };
    let filters = vec![Filter { key, predicate: Predicate::Compare(Comparison::Gt, 30.into()) }];
    let (scan, mut cursor) = (Scan { filters, ..Scan::default() }, ScanCursor::default());
    for _ in 0..100 {
        if !cursor.done {
            view.scan_vertices(&scan, &mut cursor, 10, &mut Vec::new())?;
        }
    }
    view.find_vertices(None, &[1.into(), 5.into()], &mut Vec::new())?;
    view.find_edges(&[8.into()], &mut Vec::new())
}

fn hops(view: &LakeView, vertices: &[VertexId]) -> mangrove_graph::Result<()> {
    let wants = Wants { rows: true, neighbors: true, edges: true };
    view.external_ids(Elements::Vertices(vertices))?;
    view.all_further_labels(vertices, &mut Vec::new())?;
    view.neighbors(vertices, &Hop::along(Direction::Both, None, wants), &mut Adjacency::default())
}

/// A copy of the file with some bytes changed, cut off or added.
fn damaged(bytes: &[u8], random: &mut Random) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    let end = bytes.len() as u64;
    match random.below(6) {
        0 => bytes.truncate(random.below(end + 1) as usize),
        1 => bytes.extend((0..random.below(40)).map(|n| n as u8)),
        2 if end > 8 => {
            // The footer of a Parquet file, and the last bytes of anything.
            let at = end - 1 - random.below(end.min(200));
            bytes[at as usize] ^= 1 << random.below(8);
        }
        _ if end > 0 => {
            for _ in 0..1 + random.below(4) {
                bytes[random.below(end) as usize] = random.below(256) as u8;
            }
        }
        _ => bytes.push(7),
    }
    bytes
}

/// Damages one of these files at a time. Returns in how many of the rounds the damage was an error.
fn damage_each(file: &Path, cache: &Path, victims: &dyn Fn() -> Vec<PathBuf>) -> (u64, u64) {
    read_all(file, cache).unwrap();
    let rounds = std::env::var("MANGROVE_DAMAGES").ok().and_then(|text| text.parse().ok()).unwrap_or(ROUNDS);
    let mut random = Random::new(7);
    let mut noticed = 0;
    for round in 0..rounds {
        let all = victims();
        let victim = &all[random.below(all.len() as u64) as usize];
        let (bytes, modified) = (fs::read(victim).unwrap(), fs::metadata(victim).unwrap().modified().unwrap());
        let changed = damaged(&bytes, &mut random);
        fs::write(victim, &changed).unwrap();
        let outcome = std::panic::catch_unwind(|| read_all(file, cache));
        let Ok(outcome) = outcome else { panic!("round {round}: {} makes a panic", victim.display()) };
        noticed += u64::from(outcome.is_err());
        // As if nothing had happened: the indexes fit again.
        fs::write(victim, &bytes).unwrap();
        fs::File::options().append(true).open(victim).unwrap().set_modified(modified).unwrap();
    }
    read_all(file, cache).unwrap();
    (noticed, rounds)
}

#[test]
fn any_damage_is_an_error_or_changes_nothing_that_is_read() {
    let home = tempfile::tempdir().unwrap();
    let at = home.path().join("graph");
    let mut graph = Oracle::modern();
    let young = graph.ensure_label(ElementKind::Vertex, "young").unwrap();
    let first = compare::scan_vertices(&graph, &Scan::default(), 10)[0];
    graph.set_further_labels(first, &[young]).unwrap();
    let options = GraphArOptions { vertex_chunk: 3, edge_chunk: 2, is_lossy: false, ..GraphArOptions::default() };
    let file = at.join(export(&graph, &at, &options, &mut Quiet).unwrap().graph_file);
    let (noticed, rounds) = damage_each(&file, &home.path().join("indexes"), &|| files(&at));
    assert!(noticed > rounds / 2, "{noticed} of {rounds}");
}

/// The rows of a Parquet file as a file of another format.
fn rewrite(path: &Path, format: &str) {
    let reader = ParquetRecordBatchReaderBuilder::try_new(fs::File::open(path).unwrap()).unwrap();
    let (schema, mut bytes) = (reader.schema().clone(), Vec::new());
    let batches: Vec<_> = reader.build().unwrap().map(Result::unwrap).collect();
    match format {
        "csv" => {
            let mut writer = arrow_csv::Writer::new(&mut bytes);
            batches.iter().for_each(|batch| writer.write(batch).unwrap());
        }
        "json" => {
            let mut writer = arrow_json::LineDelimitedWriter::new(&mut bytes);
            writer.write_batches(&batches.iter().collect::<Vec<_>>()).unwrap();
            writer.finish().unwrap();
        }
        _ => {
            let mut writer = orc_rust::ArrowWriterBuilder::new(&mut bytes, schema).try_build().unwrap();
            batches.iter().for_each(|batch| writer.write(batch).unwrap());
            writer.close().unwrap();
        }
    }
    fs::write(path, bytes).unwrap();
}

#[test]
fn any_damage_to_other_formats_is_an_error_or_changes_nothing_that_is_read() {
    for format in ["csv", "json", "orc"] {
        let home = tempfile::tempdir().unwrap();
        let at = home.path().join("graph");
        let options = GraphArOptions { vertex_chunk: 3, edge_chunk: 2, is_lossy: false, ..GraphArOptions::default() };
        let file = at.join(export(&Oracle::modern(), &at, &options, &mut Quiet).unwrap().graph_file);
        let is_chunk = |path: &PathBuf| path.file_name().unwrap().to_str().unwrap().starts_with("chunk");
        let chunks: Vec<PathBuf> = files(&at).into_iter().filter(is_chunk).collect();
        chunks.iter().for_each(|path| rewrite(path, format));
        for path in files(&at).iter().filter(|path| path.extension().is_some_and(|e| e == "yml")) {
            fs::write(
                path,
                fs::read_to_string(path).unwrap().replace("file_type: parquet", &format!("file_type: {format}")),
            )
            .unwrap();
        }
        let (noticed, rounds) = damage_each(&file, &home.path().join("indexes"), &|| chunks.clone());
        // Another letter in a text is no damage that a file of text can show.
        assert!(noticed > rounds / 5, "{format}: {noticed} of {rounds}");
    }
}

/// The mapping, its tables, and the indexes of their edges. A damaged index is made anew, which is no error.
#[test]
fn any_damage_to_tables_is_an_error_or_changes_nothing_that_is_read() {
    let home = tempfile::tempdir().unwrap();
    let (at, cache) = (home.path().join("graph"), home.path().join("indexes"));
    let mut graph = Oracle::new(IdSpace::Label);
    let people = vertices(&mut graph, "person", 0..30);
    let ends: Vec<_> = (0..30).map(|at| (people[at], people[at * 7 % 30])).collect();
    for (age, person) in people.iter().enumerate() {
        set(&mut graph, ElementId::Vertex(*person), "age", age as i64 * 3);
    }
    edges(&mut graph, "knows", ends);
    mangrove_ingest::export(&graph, &at, ExportFormat::Parquet, &mut Quiet).unwrap();
    let (noticed, rounds) = damage_each(&at.join("mangrove.yaml"), &cache, &|| [files(&at), files(&cache)].concat());
    assert!(noticed > rounds / 10, "{noticed} of {rounds}");
}
