//! What one element costs in the engine's inner loops, on one thread, with the data in a segment.
//!
//! ```text
//! cargo bench -p mangrove-testkit --bench elements
//! ```
//! The data is RMAT-18: 262,144 people with a name and an age, and 4.2 million edges. The first benchmark makes it, which takes some
//! ten seconds. "ns per item" is the time of an iteration divided by the items that the counter names.

use std::sync::LazyLock;

use divan::counter::ItemsCount;
use divan::{Bencher, black_box};
use mangrove_directory::{OpenOptions, Snapshot, Store};
use mangrove_graph::{
    Adjacency, Catalog, Direction, ElementKind, Elements, GraphView, Hop, Scan, ScanCursor, Value, VertexId, Wants,
};
use mangrove_ingest::{EdgeFiles, LoadOptions, NodeFiles, Quiet, load};
use mangrove_query::{Graph, Parameters, Query, QueryOptions};
use mangrove_testkit::graphs::{self, Random};

const SCALE: u32 = 18;
const EDGES: usize = 1 << (SCALE + 4);
const PEOPLE: usize = 1 << SCALE;

fn main() {
    divan::main();
}

struct Data {
    _home: tempfile::TempDir,
    store: Store,
    /// In the order in which they are stored.
    people: Vec<VertexId>,
    shuffled: Vec<VertexId>,
}

static DATA: LazyLock<Data> = LazyLock::new(|| {
    let home = tempfile::tempdir().expect("a temporary directory");
    let edges = graphs::rmat(SCALE, EDGES, 7);
    let [vertices, edges] = graphs::write_csv(home.path(), PEOPLE as u32, &edges, 7).expect("CSV files");
    let store = Store::open(home.path().join("db.mg"), &OpenOptions::default()).expect("a store");
    let options = LoadOptions {
        nodes: vec![NodeFiles { label: "person".into(), files: vec![vertices] }],
        edges: vec![EdgeFiles {
            label: "knows".into(),
            source: Some("person".into()),
            target: Some("person".into()),
            files: vec![edges],
        }],
        ..LoadOptions::default()
    };
    let mut bulk = store.begin().and_then(|transaction| transaction.into_bulk()).expect("an empty store");
    load(bulk.graph(), &options, &mut Quiet).expect("a load");
    bulk.commit(&|| false).expect("a segment");
    let mut people = Vec::new();
    let (scan, mut cursor) = (Scan::default(), ScanCursor::default());
    store.snapshot().and_then(|view| view.scan_vertices(&scan, &mut cursor, usize::MAX, &mut people)).expect("people");
    assert_eq!(people.len(), PEOPLE);
    let (mut shuffled, mut random) = (people.clone(), Random::new(3));
    (1..shuffled.len()).rev().for_each(|at| shuffled.swap(at, random.below(at as u64 + 1) as usize));
    Data { _home: home, store, people, shuffled }
});

fn snapshot() -> Snapshot {
    DATA.store.snapshot().expect("a snapshot")
}

fn gather(bencher: Bencher<'_, '_>, from: &[VertexId], key: &str) {
    let view = snapshot();
    let key = view.schema().key(key).expect("a property");
    bencher.counter(ItemsCount::new(from.len())).bench_local(|| black_box(view.properties(Elements::Vertices(from), key)));
}

#[divan::bench]
fn gather_integers_in_order(bencher: Bencher<'_, '_>) {
    gather(bencher, &DATA.people, "age");
}

#[divan::bench]
fn gather_integers_scattered(bencher: Bencher<'_, '_>) {
    gather(bencher, &DATA.shuffled, "age");
}

#[divan::bench]
fn gather_strings_in_order(bencher: Bencher<'_, '_>) {
    gather(bencher, &DATA.people, "name");
}

#[divan::bench]
fn gather_strings_scattered(bencher: Bencher<'_, '_>) {
    gather(bencher, &DATA.shuffled, "name");
}

/// A whole query, planned and run. The time is that of `items` elements.
fn query(bencher: Bencher<'_, '_>, text: &str, items: usize) {
    let (view, options) = (snapshot(), QueryOptions::default());
    let query = Query::parse(text).expect("a query");
    bencher.counter(ItemsCount::new(items)).bench_local(|| {
        let graph = &mut Graph::Read(&view);
        let mut execution = query.execute(graph, &Parameters::new(), &options).expect("a plan");
        let results: Vec<Value> = execution.collect(graph).expect("results");
        black_box(results)
    });
}

#[divan::bench]
fn filter_and_count(bencher: Bencher<'_, '_>) {
    query(bencher, "g.V().has('age', gt(50)).count()", PEOPLE);
}

#[divan::bench]
fn the_oldest_twenty(bencher: Bencher<'_, '_>) {
    query(bencher, "g.V().order().by('age', desc).limit(20).id()", PEOPLE);
}

#[divan::bench]
fn count_by_age(bencher: Bencher<'_, '_>) {
    query(bencher, "g.V().groupCount().by('age')", PEOPLE);
}

#[divan::bench]
fn sum_of_ages(bencher: Bencher<'_, '_>) {
    query(bencher, "g.V().values('age').sum()", PEOPLE);
}

#[divan::bench]
fn hop_from_everyone(bencher: Bencher<'_, '_>) {
    let view = snapshot();
    let knows = view.schema().label(ElementKind::Edge, "knows").map(|label| vec![label]);
    let hop = Hop::along(Direction::Out, knows, Wants { neighbors: true, edges: false, rows: false });
    bencher.counter(ItemsCount::new(EDGES)).bench_local(|| {
        let mut out = Adjacency::default();
        view.neighbors(&DATA.people, &hop, &mut out).expect("neighbours");
        assert_eq!(out.neighbors.len(), EDGES);
        black_box(out)
    });
}

#[divan::bench]
fn hop_and_count_distinct(bencher: Bencher<'_, '_>) {
    query(bencher, "g.V().out('knows').dedup().count()", EDGES);
}
