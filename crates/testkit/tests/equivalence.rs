//! Compares the engine with the interpreter on random queries over random small graphs. The results must be the same with every
//! rule of the optimiser, without any, and without one of them, and over a view that claims to be far away. A view whose calls fail
//! gives an error, never another result. They must equal those of the interpreter, which runs the
//! unoptimised plan one traverser at a time. All of them must have the shape that the engine expects.
//!
//! Each run uses the same pairs of graph and query. `MANGROVE_EQUIVALENCE_PAIRS` sets their number and `MANGROVE_EQUIVALENCE_SEED`
//! selects others. A difference is shown with the smallest graph and query that still differ.

mod support;

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

use mangrove_graph::{EdgeRef, ExternalId, GraphView, IdSpace, ReadContext, Value, VertexId};
use mangrove_query::optimize::RULES;
use mangrove_query::plan::Plan;
use mangrove_query::{
    Crew, CrewOptions, Execution, Fleet, Graph, MeshFleet, MeshRan, Owners, Parameters, Query, QueryError, QueryErrorKind,
    QueryOptions, Ran, gremlin, resolve, run_fragment,
};
use mangrove_testkit::canonical;
use mangrove_testkit::far::{FAILURES, FailingView, SlowView};
use mangrove_testkit::graphs::Random;
use mangrove_testkit::interpreter::{Failure, interpret};
use mangrove_testkit::parts::{PARTS, part_of, run_parts};
use mangrove_testkit::queries::{RandomQuery, SmallGraph, query};
use mangrove_testkit::suite::StoreUnderTest;
use mangrove_testkit::{Oracle, shapes};
use support::StoreInDir;
use support::shards::Shards;

const PAIRS: u64 = 3000;
const SEED: u64 = 7;
const QUERIES_PER_GRAPH: u64 = 25;
/// For one in this many graphs, the hot store runs the queries too, and for one, a graph in shards. `MANGROVE_EQUIVALENCE_STORES` changes it.
const GRAPHS_PER_STORE: u64 = 20;
const SHARDS: [u16; 4] = [1, 2, 3, 8];
/// One in this many graphs is large. `MANGROVE_EQUIVALENCE_LARGE` changes it.
const GRAPHS_PER_LARGE: u64 = 50;
/// Pairs that take more traversers are skipped.
const TRAVERSERS_MAX: usize = 60_000;
const REPORTS_MAX: usize = 12;

/// The outcome of a query: the text of each result in order, or a kind of error.
#[derive(Clone, PartialEq, Debug)]
enum Outcome {
    Results(Vec<String>),
    Error(QueryErrorKind),
    Panic,
}

impl Outcome {
    fn of(results: Result<Vec<mangrove_graph::Value>, QueryErrorKind>) -> Self {
        match results {
            Ok(values) => Outcome::Results(values.iter().map(canonical::text).collect()),
            Err(kind) => Outcome::Error(kind),
        }
    }

    fn sorted(&self) -> Self {
        let mut sorted = self.clone();
        if let Outcome::Results(texts) = &mut sorted {
            texts.sort_unstable();
        }
        sorted
    }
}

/// What two outcomes must agree in.
#[derive(Clone, Copy, PartialEq, Debug)]
struct Demand {
    order: bool,
    /// Whether one run may meet an error that the other stopped before.
    errors_may_hide: bool,
}

impl Demand {
    fn met(self, a: &Outcome, b: &Outcome) -> bool {
        let error = |outcome: &Outcome| matches!(outcome, Outcome::Error(_));
        if self.errors_may_hide && error(a) != error(b) && *a != Outcome::Panic && *b != Outcome::Panic {
            return true;
        }
        if self.order { a == b } else { a.sorted() == b.sorted() }
    }
}

/// One way to run a query, and its outcome.
type Run = (String, Outcome);

enum Verdict {
    /// The flag says whether there were any results.
    Same(bool),
    TooMuch,
    /// It is not a valid query.
    Invalid(String),
    /// The first run is the interpreter's.
    Different(Vec<Run>),
}

/// Which store runs the queries too.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Stored {
    Nowhere,
    InDirectory,
    /// In so many shards. Then the interpreter runs on an oracle that gives the same ids.
    InShards(u16),
}

impl Stored {
    /// That of a graph by its number.
    fn of(number: u64, large: bool, graphs_per_store: u64) -> Self {
        let (group, within) = (number / graphs_per_store, number % graphs_per_store);
        match within {
            _ if large && group.is_multiple_of(2) => Stored::InDirectory,
            0 => Stored::InDirectory,
            _ if large || within == graphs_per_store / 2 => Stored::InShards(SHARDS[group as usize % SHARDS.len()]),
            _ => Stored::Nowhere,
        }
    }

    /// The store with a graph in it, and an oracle with the same ids.
    fn with(self, graph: &SmallGraph) -> (Option<Box<dyn StoreUnderTest>>, Oracle) {
        let store: Box<dyn StoreUnderTest> = match self {
            Stored::Nowhere => return (None, graph.oracle()),
            Stored::InDirectory => Box::new(StoreInDir::temporary(IdSpace::Graph)),
            Stored::InShards(shards) => Box::new(Shards::new(shards, IdSpace::Graph)),
        };
        let mut oracle = store.oracle(IdSpace::Graph);
        graph.write(&mut oracle).expect("an empty graph takes it");
        let mut transaction = store.begin().expect("begin");
        graph.write(transaction.graph()).expect("an empty store takes it");
        transaction.commit().expect("commit");
        (Some(store), oracle)
    }
}

fn judge(view: &dyn GraphView, stored: Option<&dyn GraphView>, text: &str, rule: usize, demand: Demand) -> Verdict {
    let expected = match catch_unwind(AssertUnwindSafe(|| interpreted(view, text))) {
        Ok(Ok(outcome)) => outcome,
        Ok(Err(Failure::TooMuch)) => return Verdict::TooMuch,
        Ok(Err(failure)) => return Verdict::Invalid(failure.to_string()),
        Err(_) => Outcome::Panic,
    };
    let all_off: Vec<String> = RULES.iter().map(|rule| rule.name.to_owned()).collect();
    if let Err(differing) = same_shape(view, text, &all_off) {
        return Verdict::Different(differing);
    }
    let one_off = vec![RULES[rule % RULES.len()].name.to_owned()];
    let mut runs = vec![
        ("every rule".to_owned(), executed(view, text, Vec::new())),
        ("no rule".to_owned(), executed(view, text, all_off)),
        (format!("without {}", one_off[0]), executed(view, text, one_off)),
        (
            "every rule, far away, the plan sent as bytes".to_owned(),
            executed_from_bytes(&SlowView::new(view, Duration::ZERO), text),
        ),
    ];
    let failing = FailingView::new(view, (rule / FAILURES.len()) as u64, FAILURES[rule % FAILURES.len()]);
    let outcome = executed(&failing, text, Vec::new());
    // A query that stops early may not miss what it could not read.
    let is_of_failure =
        matches!(outcome, Outcome::Error(QueryErrorKind::Graph | QueryErrorKind::Timeout | QueryErrorKind::Cancelled));
    if !failing.has_failed() || !is_of_failure {
        runs.push(("far away, with failures".to_owned(), outcome));
    }
    if let Some(stored) = stored {
        runs.push(("every rule, store".to_owned(), executed(stored, text, Vec::new())));
        for (how, sends_bytes) in [("crew", false), ("crew that gets bytes", true)] {
            let options = QueryOptions { crew: Some(crew(sends_bytes)), ..QueryOptions::default() };
            runs.push((format!("every rule, store, {how}"), executed_with(stored, text, options)));
        }
        let options = QueryOptions { crew: Some(crew(true)), ..QueryOptions::default() };
        let far = SlowView::new(stored, Duration::ZERO);
        runs.push(("every rule, store far away, crew that gets bytes".to_owned(), executed_with(&far, text, options)));
        let fleet = Nodes::over(stored).map(|nodes| nodes as _);
        runs.push((
            "every rule, store, nodes".to_owned(),
            executed_with(stored, text, QueryOptions { fleet, ..QueryOptions::default() }),
        ));
    }
    let same = expected != Outcome::Panic && runs.iter().all(|(_, outcome)| demand.met(&expected, outcome));
    if same {
        return Verdict::Same(matches!(expected, Outcome::Results(results) if !results.is_empty()));
    }
    runs.insert(0, ("interpreter".to_owned(), expected));
    Verdict::Different(runs)
}

/// Nodes of this process, each with every third element, that run steps. Traversers go from node to node, however few they are.
struct Nodes(Mutex<Vec<Box<dyn GraphView + Send>>>);

impl Nodes {
    fn over(view: &dyn GraphView) -> Option<Arc<Self>> {
        let views = (0..PARTS).map(|_| view.fork().ok()?).collect::<Option<_>>()?;
        Some(Arc::new(Self(Mutex::new(views))))
    }
}

impl std::fmt::Debug for Nodes {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Nodes")
    }
}

impl Fleet for Nodes {
    fn node_of_vertex(&self, vertex: VertexId) -> u16 {
        part_of(vertex) as u16
    }

    fn node_of_edge(&self, edge: &EdgeRef) -> u16 {
        self.node_of_vertex(edge.source)
    }

    /// Each of them finds all vertices.
    fn node_of_id(&self, id: &Value) -> Option<u16> {
        match ExternalId::from_value(id)? {
            ExternalId::Int(id) => Some(id.rem_euclid(PARTS as i64) as u16),
            _ => Some(0),
        }
    }

    fn run(&self, messages: Vec<(u16, Vec<u8>)>, limits: &ReadContext) -> Vec<Ran> {
        let views = self.0.lock().expect("no thread panicked");
        let answer = |(node, message): (u16, Vec<u8>)| {
            run_fragment(&message, &*views[usize::from(node)], limits).map_or(Ran::Refused, Ran::Gave)
        };
        messages.into_iter().map(answer).collect()
    }

    fn mesh(&self) -> Option<&dyn MeshFleet> {
        Some(self)
    }
}

impl Owners for Nodes {
    fn parts(&self) -> usize {
        PARTS
    }

    fn part_of_vertex(&self, vertex: VertexId) -> usize {
        part_of(vertex)
    }

    fn part_of_edge(&self, edge: &EdgeRef) -> usize {
        part_of(edge.source)
    }
}

impl MeshFleet for Nodes {
    fn moved_min(&self) -> f64 {
        0.0
    }

    fn run_all(&self, messages: Vec<Vec<u8>>, limits: &ReadContext) -> Option<MeshRan> {
        let mut views = self.0.lock().expect("no thread panicked");
        run_parts(views.iter_mut().collect(), |view| &***view, messages, limits)
    }
}

/// Whether the rules leave the shape of the results alone.
fn same_shape(view: &dyn GraphView, text: &str, all_off: &[String]) -> Result<(), Vec<Run>> {
    let shape = |rules_off: &[String]| {
        let options = QueryOptions { rules_off: rules_off.to_vec(), ..QueryOptions::default() };
        let execution =
            Query::parse(text).and_then(|query| query.execute(&mut Graph::Read(view), &Parameters::new(), &options));
        execution.ok().map(|execution| execution.outlook().shape(view.schema()))
    };
    let (with, without) = (shape(&[]), shape(all_off));
    let run = |name: &str, shape| (name.to_owned(), Outcome::Results(vec![format!("{shape:?}")]));
    if with == without { Ok(()) } else { Err(vec![run("shape with every rule", with), run("shape with no rule", without)]) }
}

fn interpreted(view: &dyn GraphView, text: &str) -> Result<Outcome, Failure> {
    let syntax = gremlin::parse(text).map_err(|error| Failure::Uncovered(error.to_string()))?;
    let plan = resolve::resolve(&syntax, &Parameters::new()).map_err(|error| Failure::Uncovered(error.to_string()))?;
    match interpret(&plan, view, TRAVERSERS_MAX) {
        Ok(values) => Ok(Outcome::of(Ok(values))),
        Err(Failure::Error(kind, _)) => Ok(Outcome::Error(kind)),
        Err(other) => Err(other),
    }
}

/// Threads that help with heavy queries. One of these crews gets everything as bytes.
fn crew(sends_bytes: bool) -> Arc<Crew> {
    static CREWS: OnceLock<[Arc<Crew>; 2]> = OnceLock::new();
    // Small batches are handed out too, or few of these graphs would be large enough.
    let options = CrewOptions { workers: 3, rows_min: 4, ..CrewOptions::default() };
    let new = |sends_bytes| Arc::new(Crew::new(CrewOptions { sends_bytes, ..options }));
    CREWS.get_or_init(|| [false, true].map(new))[usize::from(sends_bytes)].clone()
}

fn executed(view: &dyn GraphView, text: &str, rules_off: Vec<String>) -> Outcome {
    executed_with(view, text, QueryOptions { rules_off, ..QueryOptions::default() })
}

fn executed_with(view: &dyn GraphView, text: &str, options: QueryOptions) -> Outcome {
    outcome(view, text, |graph| Query::parse(text)?.execute(graph, &Parameters::new(), &options))
}

/// Runs what is left of a plan after it was written and read.
fn executed_from_bytes(view: &dyn GraphView, text: &str) -> Outcome {
    let options = QueryOptions::default();
    outcome(view, text, |graph| {
        let plan = Query::parse(text)?.plan(view, &Parameters::new(), &options)?;
        let bytes = plan.to_bytes().expect("a plan has bytes");
        let again = Plan::from_bytes(&bytes).expect("its bytes are a plan");
        assert_eq!(format!("{plan:?}"), format!("{again:?}"), "{text}");
        Query::execute_plan(again, graph, &options)
    })
}

fn outcome(
    view: &dyn GraphView,
    text: &str,
    execute: impl FnOnce(&mut Graph<'_>) -> Result<Execution, QueryError>,
) -> Outcome {
    let run = || -> Result<_, QueryError> {
        let mut graph = Graph::Read(view);
        let mut execution = execute(&mut graph)?;
        let values = execution.collect(&mut graph)?;
        let shape = execution.outlook().shape(view.schema());
        assert!(shapes::fit(view, &shape, &values), "{text} gives {shape:?}");
        Ok(values)
    };
    match catch_unwind(AssertUnwindSafe(run)) {
        Ok(results) => Outcome::of(results.map_err(|error| error.kind)),
        Err(_) => Outcome::Panic,
    }
}

/// The smallest graph and query that still differ, found by leaving out one part after the other.
fn shrink(
    mut graph: SmallGraph,
    mut query: RandomQuery,
    rule: usize,
    stored: Stored,
    demand: Demand,
) -> (SmallGraph, RandomQuery) {
    let differs = |graph: &SmallGraph, query: &RandomQuery| {
        matches!(judge_alone(graph, query, rule, stored, demand), Verdict::Different(_))
    };
    loop {
        if let Some(smaller) = query.smaller().into_iter().find(|smaller| differs(&graph, smaller)) {
            query = smaller;
        } else if let Some(smaller) = graph.smaller().into_iter().find(|smaller| differs(smaller, &query)) {
            graph = smaller;
        } else {
            return (graph, query);
        }
    }
}

fn judge_alone(graph: &SmallGraph, query: &RandomQuery, rule: usize, stored: Stored, demand: Demand) -> Verdict {
    let (store, oracle) = stored.with(graph);
    let snapshot = store.as_ref().map(|store| store.snapshot().expect("snapshot"));
    judge(&oracle, snapshot.as_deref(), &query.to_string(), rule, demand)
}

fn report(graph: &SmallGraph, query: &RandomQuery, runs: &[Run], heading: &str) -> String {
    let mut out = format!("{heading}\n{query}\n{graph}");
    for (way, outcome) in runs {
        let _ = writeln!(out, "  {way:24} {}", shown(outcome));
    }
    let oracle = graph.oracle();
    if let Ok(query) = Query::parse(&query.to_string())
        && let Ok(explanation) = query.explain(&oracle, &Parameters::new(), &QueryOptions::default())
    {
        let _ = write!(out, "{explanation}");
    }
    out
}

fn shown(outcome: &Outcome) -> String {
    match outcome {
        Outcome::Results(texts) => {
            let text = texts.join(" | ");
            let cut = text.char_indices().nth(600).map_or(text.len(), |(at, _)| at);
            format!("{} results: {}{}", texts.len(), &text[..cut], if cut < text.len() { "…" } else { "" })
        }
        other => format!("{other:?}"),
    }
}

/// Counts over all pairs.
#[derive(Default)]
struct Tally {
    graphs_per_large: u64,
    graphs_per_store: u64,
    next_graph: AtomicU64,
    /// Pairs that were judged, whatever the verdict.
    pairs: AtomicU64,
    with_results: AtomicU64,
    too_much: AtomicU64,
    /// The rules that changed a plan.
    rules: Mutex<BTreeSet<&'static str>>,
    reports: Mutex<Vec<String>>,
}

fn run_graph(seed: u64, number: u64, tally: &Tally) {
    let mut random = Random::new(seed.wrapping_mul(0x0001_0000_0001).wrapping_add(number));
    let large = number % tally.graphs_per_large == tally.graphs_per_large / 2;
    let graph = if large { SmallGraph::draw_large(&mut random) } else { SmallGraph::draw(&mut random) };
    let stored = Stored::of(number, large, tally.graphs_per_store);
    let (store, oracle) = stored.with(&graph);
    let snapshot = store.as_ref().map(|store| store.snapshot().expect("snapshot"));
    for _ in 0..if large { QUERIES_PER_GRAPH / 5 } else { QUERIES_PER_GRAPH } {
        let query = query(&mut random);
        let rule = random.below(RULES.len() as u64 * 16) as usize;
        let demand = Demand { order: query.ordered, errors_may_hide: query.may_fail };
        note_rules(&oracle, &query.to_string(), tally);
        let verdict = judge(&oracle, snapshot.as_deref(), &query.to_string(), rule, demand);
        tally.pairs.fetch_add(u64::from(!matches!(verdict, Verdict::TooMuch)), Ordering::Relaxed);
        match verdict {
            Verdict::Same(results) => drop(tally.with_results.fetch_add(u64::from(results), Ordering::Relaxed)),
            Verdict::TooMuch => drop(tally.too_much.fetch_add(1, Ordering::Relaxed)),
            Verdict::Invalid(why) => {
                tally
                    .reports
                    .lock()
                    .expect("no thread panicked")
                    .push(format!("seed {seed}, graph {number}: {query}\n{why}"));
            }
            Verdict::Different(runs) => {
                let order_alone = runs.iter().all(|(_, outcome)| outcome.sorted() == runs[0].1.sorted());
                let demand = Demand { order: order_alone && runs[0].1 != Outcome::Panic, ..demand };
                let differs = |(way, outcome): &Run| way.contains("store") && !demand.met(&runs[0].1, outcome);
                let stored = if runs.iter().any(differs) { stored } else { Stored::Nowhere };
                let heading = format!("seed {seed}, graph {number}: {query}\n");
                let (graph, query) = shrink(graph.clone(), query, rule, stored, demand);
                let Verdict::Different(runs) = judge_alone(&graph, &query, rule, stored, demand) else { continue };
                tally.reports.lock().expect("no thread panicked").push(report(&graph, &query, &runs, &heading));
            }
        }
    }
}

/// Records the rules without which a query has another plan, until every rule is recorded.
fn note_rules(view: &dyn GraphView, text: &str, tally: &Tally) {
    let mut noted = tally.rules.lock().expect("no thread panicked");
    let plan = |rules_off: Vec<String>| {
        let options = QueryOptions { rules_off, ..QueryOptions::default() };
        Query::parse(text)
            .and_then(|query| query.plan(view, &Parameters::new(), &options))
            .map(|plan| format!("{plan:?}"))
            .ok()
    };
    if noted.len() < RULES.len() {
        let with_all = plan(Vec::new());
        let shows = |rule: &&'static str| plan(vec![(*rule).to_owned()]) != with_all;
        noted.extend(RULES.iter().map(|rule| rule.name).filter(shows));
    }
}

#[test]
fn rules_change_no_result_and_the_engine_is_right() {
    let pairs = support::number_from_env("MANGROVE_EQUIVALENCE_PAIRS").unwrap_or(PAIRS);
    let seed = support::number_from_env("MANGROVE_EQUIVALENCE_SEED").unwrap_or(SEED);
    let large = support::number_from_env("MANGROVE_EQUIVALENCE_LARGE").unwrap_or(GRAPHS_PER_LARGE).max(1);
    let stores = support::number_from_env("MANGROVE_EQUIVALENCE_STORES").unwrap_or(GRAPHS_PER_STORE).max(2);
    let tally = Tally { graphs_per_large: large, graphs_per_store: stores, ..Tally::default() };
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                loop {
                    let number = tally.next_graph.fetch_add(1, Ordering::Relaxed);
                    let enough = tally.reports.lock().expect("no thread panicked").len() >= REPORTS_MAX;
                    if tally.pairs.load(Ordering::Relaxed) >= pairs || enough {
                        return;
                    }
                    run_graph(seed, number, &tally);
                }
            });
        }
    });
    let (pairs, with_results) = (tally.pairs.into_inner(), tally.with_results.into_inner());
    let too_much = tally.too_much.into_inner();
    println!("{pairs} pairs judged, {with_results} with results; {too_much} more passed over as too large");
    let rules = tally.rules.into_inner().expect("no thread panicked");
    let reports = tally.reports.into_inner().expect("no thread panicked");
    assert!(reports.is_empty(), "{} differences\n\n{}", reports.len(), reports.join("\n\n"));
    let idle: Vec<&str> = RULES.iter().map(|rule| rule.name).filter(|rule| !rules.contains(rule)).collect();
    assert!(idle.is_empty(), "no query has shown what these rules do: {idle:?}");
    assert!(with_results * 10 >= pairs * 3, "too few queries have results: {with_results} of {pairs}");
    assert!(too_much * 10 <= pairs, "too many pairs are too large: {too_much} of {pairs}");
}
