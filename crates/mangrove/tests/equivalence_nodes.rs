//! Random queries over random graphs. A graph on nodes must give what one embedded database gives, in any number of shards, whether
//! the nodes run steps of the queries or not.
//!
//! Each run asks the same queries. `MANGROVE_CASES` sets the number of pairs of graph and query, and `MANGROVE_SEED` selects others. A
//! difference is shown with its graph, and with the smallest query that still differs.

use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use mangrove::backend::Backend;
use mangrove::cluster::{ClusterBackend, GraphAddress, Log, NodeConfig, RunningNode, make_graph, shards_of_node};
use mangrove::describe::{Branch, Described, EdgeRecord, VertexRecord};
use mangrove::{Database, Durability, IdSpace, OpenOptions, Parameters, Patience, QueryError, QueryOptions, Value, Writer};
use mangrove_cluster::log::MemoryLog;
use mangrove_directory::Store;
use mangrove_query::{gremlin, resolve};
use mangrove_testkit::graphs::Random;
use mangrove_testkit::interpreter::{Failure, interpret};
use mangrove_testkit::queries::{RandomQuery, SmallGraph, query};
use mangrove_testkit::{Oracle, canonical};
use tempfile::TempDir;

const PAIRS: u64 = 600;
const SEED: u64 = 7;
const QUERIES_PER_GRAPH: u64 = 30;
const SHARDS: [u16; 4] = [1, 2, 3, 8];
const NODES_MAX: u16 = 3;
/// Pairs that take more traversers are passed over.
const TRAVERSERS_MAX: usize = 20_000;
const REPORTS_MAX: usize = 6;

/// One graph, embedded and on nodes.
struct Both {
    alone: Database,
    // It ends before its nodes.
    on_nodes: Database,
    _nodes: Vec<RunningNode>,
    /// The same, to count traversers.
    oracle: Oracle,
    _home: TempDir,
}

impl Both {
    fn with(graph: &SmallGraph, shards: u16) -> Self {
        let home = tempfile::tempdir().expect("a temporary directory");
        let nodes = started(home.path(), shards);
        let addresses: Vec<String> = nodes.iter().map(|node| node.address().to_string()).collect();
        let address = format!("mangrove://{}/test", addresses.join(","));
        let parsed: GraphAddress = address.parse().expect("an address");
        let on_nodes = ClusterBackend::connect(&parsed, false).expect("nodes that answer");
        write(graph, &on_nodes);
        let options =
            OpenOptions { id_space: Some(IdSpace::Graph), durability: Durability::Relaxed, ..OpenOptions::default() };
        let directory = home.path().join("alone");
        write(graph, &Store::open(&directory, &options).expect("a new store"));
        Self {
            alone: Database::open(&directory).expect("a database"),
            on_nodes: Database::connect(&address).expect("nodes that answer"),
            _nodes: nodes,
            oracle: graph.oracle(),
            _home: home,
        }
    }

    /// What the ways to run a query give: embedded, on nodes with and without steps there.
    fn runs(&self, text: &str) -> Runs {
        [
            ("embedded", outcome(&self.alone, text, &[])),
            ("on nodes", outcome(&self.on_nodes, text, &[])),
            ("on nodes, step by step", outcome(&self.on_nodes, text, &["fragments"])),
        ]
    }

    fn is_too_much(&self, text: &str) -> bool {
        let Ok(syntax) = gremlin::parse(text) else { return false };
        let Ok(plan) = resolve::resolve(&syntax, &Parameters::new()) else { return false };
        matches!(interpret(&plan, &self.oracle, TRAVERSERS_MAX), Err(Failure::TooMuch))
    }

    /// Whether nodes run steps of a query.
    fn is_shipped(&self, text: &str) -> bool {
        let explained = self.on_nodes.explain(text, &Parameters::new(), &QueryOptions::default());
        explained.is_ok_and(|explained| explained.to_string().contains("on the nodes"))
    }

    fn differs(&self, query: &RandomQuery) -> bool {
        let text = query.to_string();
        !self.is_too_much(&text) && !are_same(query, &self.runs(&text))
    }

    /// The smallest query that still differs, found by leaving out one part after the other.
    fn smallest(&self, mut query: RandomQuery) -> RandomQuery {
        while let Some(smaller) = query.smaller().into_iter().find(|smaller| self.differs(smaller)) {
            query = smaller;
        }
        query
    }
}

/// New nodes, each with every so manieth shard.
fn started(home: &Path, shards: u16) -> Vec<RunningNode> {
    let log = MemoryLog::default();
    let shared: Arc<dyn Log> = Arc::new(log.clone());
    make_graph(&shared, "test", shards, IdSpace::Graph).expect("an empty log");
    let count = shards.min(NODES_MAX);
    let node = |number: u16| {
        let config = NodeConfig {
            name: format!("node-{number}"),
            data: home.join(number.to_string()),
            shards: shards_of_node(number, count, 1, shards).expect("shards"),
            listen: "127.0.0.1:0".parse().expect("an address"),
            advertise: None,
            tls: None,
            log: Arc::new(log.clone()),
            store: None,
            is_cancelled: &|| false,
        };
        RunningNode::start(config).expect("a node")
    };
    (0..count).map(node).collect()
}

fn write(graph: &SmallGraph, into: &dyn Backend) {
    let mut transaction = into.begin(Writer::this_thread(), Patience::ENDLESS).expect("a transaction");
    graph.write(transaction.graph()).expect("an empty graph takes it");
    transaction.commit().expect("a commit");
}

/// Ways to run a query, each with what it gives. The first one is right.
type Runs = [(&'static str, Outcome); 3];

/// The text of each result in order, or an error.
#[derive(Clone, PartialEq, Debug)]
enum Outcome {
    Results(Vec<String>),
    Error(String),
}

impl Outcome {
    fn sorted(&self) -> Self {
        let mut sorted = self.clone();
        if let Outcome::Results(texts) = &mut sorted {
            texts.sort_unstable();
        }
        sorted
    }

    fn is_error(&self) -> bool {
        matches!(self, Outcome::Error(_))
    }

    fn shown(&self) -> String {
        match self {
            Outcome::Results(texts) => {
                let some: Vec<String> = texts.iter().take(20).map(|text| text.chars().take(200).collect()).collect();
                format!("{} results: {}", texts.len(), some.join(" | "))
            }
            Outcome::Error(error) => format!("error: {error}"),
        }
    }
}

fn outcome(db: &Database, text: &str, rules_off: &[&str]) -> Outcome {
    let rules_off = rules_off.iter().map(|rule| (*rule).to_owned()).collect();
    let options = QueryOptions { rules_off, ..QueryOptions::default() };
    match db.query(text, &Parameters::new(), &options).and_then(|mut stream| stream.results()) {
        Ok(results) => Outcome::Results(results.iter().map(|result| result_text(&result)).collect()),
        Err(QueryError::Query(failure)) => Outcome::Error(format!("{:?}", failure.kind)),
        Err(error) => Outcome::Error(error.to_string()),
    }
}

/// Whether all runs agree: in order, where the query defines one. One run may meet an error that another stops before.
fn are_same(query: &RandomQuery, runs: &[(&str, Outcome)]) -> bool {
    let (_, first) = &runs[0];
    runs.iter().all(|(_, other)| match query.may_fail && first.is_error() != other.is_error() {
        true => true,
        false if query.ordered => first == other,
        false => first.sorted() == other.sorted(),
    })
}

/// A result as text, with elements as users see them. Equal results give equal text. Lists are sorted, because most have no defined order.
fn result_text(result: &Described) -> String {
    let all = |items: &[Described]| sorted(items.iter().map(result_text));
    let entry = |(key, value): &(Described, Described)| result_text(key) + "=" + &result_text(value);
    match result {
        Described::Plain(value) => canonical::text(value),
        Described::Vertex(vertex) => vertex_text(vertex),
        Described::Edge(edge) => edge_text(edge),
        Described::VertexProperty(p) => {
            let (of, value) = (canonical::text(&p.vertex.id), canonical::text(&p.value));
            format!("vp {of}.{}#{}:{value}{}", p.key, p.ordinal, properties_text(&p.meta))
        }
        // The owner does not count: two properties with the same key and value are equal.
        Described::Property(p) => format!("p {}:{}", p.key, canonical::text(&p.value)),
        Described::List(items) => format!("[{}]", all(items)),
        Described::Set(items) => format!("{{{}}}", all(items)),
        Described::Map(entries) => format!("map{{{}}}", sorted(entries.iter().map(entry))),
        Described::Entry(both) => format!("entry {}", entry(both)),
        Described::Path { objects, labels } => {
            let stop = |(object, labels): (&Described, &Vec<Arc<str>>)| {
                format!("{}@{}", result_text(object), sorted(labels.iter().map(|label| label.to_string())))
            };
            format!("path[{}]", objects.iter().zip(labels).map(stop).collect::<Vec<_>>().join(" "))
        }
        Described::Tree(branches) => tree_text(branches),
        Described::Subgraph { vertices, edges } => {
            format!("graph[{}][{}]", sorted(vertices.iter().map(vertex_text)), sorted(edges.iter().map(edge_text)))
        }
    }
}

fn vertex_text(vertex: &VertexRecord) -> String {
    let cells = vertex.properties.iter().flat_map(|of| {
        of.values.iter().map(|value| {
            format!("{}#{}:{}{}", of.key, value.ordinal, canonical::text(&value.value), properties_text(&value.meta))
        })
    });
    let further = sorted(vertex.further_labels.iter().map(|label| label.to_string()));
    format!("v[{} {} +{further} {}]", canonical::text(&vertex.id), vertex.label, sorted(cells))
}

fn edge_text(edge: &EdgeRecord) -> String {
    let [id, source, target] = [&edge.id, &edge.source.id, &edge.target.id].map(canonical::text);
    format!("e[{id} {source}-{}-{target}{}]", edge.label, properties_text(&edge.properties))
}

fn properties_text(properties: &[(Arc<str>, Value)]) -> String {
    format!("({})", sorted(properties.iter().map(|(key, value)| format!("{key}:{}", canonical::text(value)))))
}

fn tree_text(branches: &[Branch]) -> String {
    format!("tree{{{}}}", sorted(branches.iter().map(|of| result_text(&of.value) + &tree_text(&of.below))))
}

fn sorted(texts: impl Iterator<Item = String>) -> String {
    let mut texts: Vec<String> = texts.collect();
    texts.sort_unstable();
    texts.join(" ")
}

/// Counts over all pairs.
#[derive(Default)]
struct Tally {
    next_graph: AtomicU64,
    pairs: AtomicU64,
    with_results: AtomicU64,
    /// Pairs of which nodes run steps.
    shipped: AtomicU64,
    too_much: AtomicU64,
    reports: Mutex<Vec<String>>,
}

impl Tally {
    fn reports(&self) -> std::sync::MutexGuard<'_, Vec<String>> {
        self.reports.lock().expect("no thread panicked")
    }

    fn is_enough(&self, pairs: u64) -> bool {
        self.pairs.load(Ordering::Relaxed) >= pairs || self.reports().len() >= REPORTS_MAX
    }
}

fn run_graph(seed: u64, number: u64, tally: &Tally) {
    let mut random = Random::new(seed.wrapping_mul(0x0001_0000_0001).wrapping_add(number));
    let shards = SHARDS[number as usize % SHARDS.len()];
    let graph = SmallGraph::draw(&mut random).with_edge_ids();
    let both = Both::with(&graph, shards);
    for _ in 0..QUERIES_PER_GRAPH {
        let query = query(&mut random);
        let text = query.to_string();
        if both.is_too_much(&text) {
            count(&tally.too_much, 1);
            continue;
        }
        let runs = both.runs(&text);
        count(&tally.pairs, 1);
        let has_results = matches!(&runs[0].1, Outcome::Results(results) if !results.is_empty());
        count(&tally.with_results, u64::from(has_results));
        count(&tally.shipped, u64::from(both.is_shipped(&text)));
        if !are_same(&query, &runs) {
            let heading = format!("seed {seed}, graph {number}, {shards} shards: {text}");
            let report = report(&both, query, runs, (&graph, heading));
            tally.reports().push(report);
        }
    }
}

fn count(of: &AtomicU64, more: u64) {
    of.fetch_add(more, Ordering::Relaxed);
}

fn report(both: &Both, query: RandomQuery, runs: Runs, (graph, heading): (&SmallGraph, String)) -> String {
    let text = query.to_string();
    let smallest = both.smallest(query).to_string();
    // What does not differ again is shown as it was.
    let runs = if smallest == text { runs } else { both.runs(&smallest) };
    let mut lines = vec![heading, smallest, graph.to_string()];
    lines.extend(runs.iter().map(|(way, outcome)| format!("  {way:24} {}", outcome.shown())));
    lines.join("\n")
}

fn number_from_env(name: &str, default: u64) -> u64 {
    let text = std::env::var(name).ok();
    text.map_or(default, |text| text.parse().unwrap_or_else(|_| panic!("{name} is a number, not {text:?}")))
}

#[test]
fn nodes_give_what_an_embedded_database_gives() {
    let (wanted, seed) = (number_from_env("MANGROVE_CASES", PAIRS), number_from_env("MANGROVE_SEED", SEED));
    let tally = Tally::default();
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                while !tally.is_enough(wanted) {
                    run_graph(seed, tally.next_graph.fetch_add(1, Ordering::Relaxed), &tally);
                }
            });
        }
    });
    let reports = tally.reports.into_inner().expect("no thread panicked");
    let [pairs, with_results, shipped, too_much] =
        [tally.pairs, tally.with_results, tally.shipped, tally.too_much].map(AtomicU64::into_inner);
    println!("{pairs} pairs, {with_results} with results, {shipped} with steps at the nodes; {too_much} too large");
    assert!(reports.is_empty(), "{} differences\n\n{}", reports.len(), reports.join("\n\n"));
    assert!(with_results * 10 >= pairs, "too few queries have results: {with_results} of {pairs}");
    assert!(shipped > 0, "nodes have run no steps");
}
