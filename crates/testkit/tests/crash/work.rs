//! The work of one transaction of a writer: the ledger's, and now and then rows of a table or lines of a file.

use std::io::Write;

use mangrove_graph::{ElementKind, GraphWrite, Scan, Schema, Value};
use mangrove_ingest::{Commit, Ingest, IngestOptions, LoadOptions, NodeFiles, Quiet, Table, TableInput, Work, load};
use mangrove_testkit::{compare, ledger};

const ROWS: u64 = 30;

/// Runs transaction `n` without a commit. The result depends on `seed`, `n` and the graph.
pub fn transaction(graph: &mut dyn GraphWrite, seed: u64, n: u64) {
    ledger::transaction(graph, seed, n).expect("a transaction of the ledger");
    match n % 9 {
        3 => ingest_rows(graph, n),
        7 => load_file(graph, n),
        _ => {}
    }
}

/// Replaces the vertices and edges of the previous table by new ones.
fn ingest_rows(graph: &mut dyn GraphWrite, n: u64) {
    remove_all(graph, "row");
    let values = |columns: fn(u64, u64) -> Vec<Value>| (0..ROWS).flat_map(|at| columns(n, at)).collect();
    let vertices = Table::Rows {
        names: vec!["id".into(), "number".into()],
        values: values(|n, at| vec![row_id(n, at), Value::Int64((n * at) as i64)]),
    };
    let edges = Table::Rows {
        names: vec!["src".into(), "dst".into(), "number".into()],
        values: values(|n, at| vec![row_id(n, at), row_id(n, at * at % ROWS), Value::Int64(at as i64)]),
    };
    let mut commit = |work: &mut Work<'_>| work(graph);
    let commit: &mut Commit<'_> = &mut commit;
    let mut ingest = Ingest::new(IngestOptions::default());
    ingest.add(TableInput::vertices("row", vertices), &Schema::default(), commit).expect("vertices");
    ingest.add(TableInput::edges(Some("row"), "follows", Some("row"), edges), &Schema::default(), commit).expect("edges");
    ingest.finish(commit).expect("what has gathered is written");
}

fn row_id(n: u64, at: u64) -> Value {
    Value::from(format!("row {n} {at}"))
}

/// Replaces the vertices of the previous CSV file by new ones.
fn load_file(graph: &mut dyn GraphWrite, n: u64) {
    remove_all(graph, "line");
    let mut file = tempfile::Builder::new().suffix(".csv").tempfile().expect("a temporary file");
    let lines: String = (0..ROWS).map(|at| format!("line {n} {at},{}\n", n + at)).collect();
    write!(file, "id,number\n{lines}").expect("the file is written");
    let nodes = vec![NodeFiles { label: "line".into(), files: vec![file.path().into()] }];
    load(graph, &LoadOptions { nodes, ..LoadOptions::default() }, &mut Quiet).expect("the file is loaded");
}

fn remove_all(graph: &mut dyn GraphWrite, label: &str) {
    let label = graph.ensure_label(ElementKind::Vertex, label).expect("a label");
    let old = compare::scan_vertices(graph.as_view(), &Scan::of(label), 1000);
    graph.remove_vertices(&old).expect("vertices are removed");
}
