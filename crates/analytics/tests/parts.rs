//! Vertex programs over parts of a graph that know each other by messages only, beside those over a whole projection.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use mangrove_analytics::divided::{Collected, Ended, run_divided, run_part};
use mangrove_analytics::engine::{Checkpoints, Frame, PartOf, Placement, Point, Report, Resumed, Transport};
use mangrove_analytics::project::{PartLists, Places, of_ids};
use mangrove_analytics::registry::algorithm;
use mangrove_analytics::{Algorithm, AnalyticsError, Argument, Outcome, Projection, Reading, Selection, Values, watched};
use mangrove_graph::{
    Adjacency, Catalog, Cell, Comparison, Direction, ElementId, ElementKind, ExternalId, Filter, GraphView, GraphWrite, Hop,
    IdSpace, NewEdge, Predicate, ReadContext, Value, VertexId, Wants,
};
use mangrove_testkit::graphs::Random;
use mangrove_testkit::oracle::{Homes, Oracle};

const SHARDS: u16 = 8;
const VERTICES: u64 = 150;

/// Vertices of two labels in shards, and edges with and without weights. Some are loops, and some lead where others do.
fn graph() -> Oracle {
    let home = |_, id: &ExternalId| if let ExternalId::Int(id) = id { (id * 5 % i64::from(SHARDS)) as u16 } else { 0 };
    let mut graph = Oracle::in_shards(IdSpace::Graph, Homes { shards: SHARDS, home: Arc::new(home) });
    let labels = ["red", "blue"].map(|name| graph.ensure_label(ElementKind::Vertex, name).unwrap());
    let road = graph.ensure_label(ElementKind::Edge, "road").unwrap();
    let (weight, size) = (graph.ensure_key("weight").unwrap(), graph.ensure_key("size").unwrap());
    let mut random = Random::new(3);
    let mut made = Vec::new();
    for id in 0..VERTICES {
        graph.add_vertices(labels[(id % 3 / 2) as usize], &[Some(ExternalId::Int(id as i64))], &mut made).unwrap();
        let cell = Cell::One(Value::from(if id == 0 { 0 } else { random.below(10) as i64 }));
        graph.set_cell(ElementId::Vertex(made[id as usize]), size, cell).unwrap();
    }
    for number in 0..6 * VERTICES {
        let mut end = || {
            let within = if random.below(2) == 0 { 12 } else { VERTICES };
            made[random.below(within) as usize]
        };
        let edge = NewEdge { source: end(), target: end(), id: None, time: None };
        let mut added = Vec::new();
        graph.add_edges(road, &[edge], &mut added).unwrap();
        if number % 4 > 0 {
            let cell = Cell::One(Value::from(0.25 * (1 + number % 19) as f64));
            graph.set_cell(ElementId::Edge(added[0]), weight, cell).unwrap();
        }
    }
    graph
}

/// How long parts wait for each other. If one has failed, the others must not hang.
const PATIENCE: Duration = Duration::from_secs(60);

/// Lets parts pass when all have come.
struct Gate {
    parts: usize,
    /// How many have come, and how often all have passed.
    state: Mutex<(usize, u64)>,
    moved: Condvar,
}

impl Gate {
    fn pass(&self) -> Result<(), AnalyticsError> {
        let mut state = self.state.lock().unwrap();
        let round = state.1;
        state.0 += 1;
        if state.0 == self.parts {
            *state = (0, round + 1);
            self.moved.notify_all();
            return Ok(());
        }
        let (_state, waited) = self.moved.wait_timeout_while(state, PATIENCE, |state| state.1 == round).unwrap();
        if waited.timed_out() { Err(AnalyticsError::invalid("another part has not come")) } else { Ok(()) }
    }
}

/// Where parts meet after each round.
struct Meeting {
    all: Gate,
    frames: Vec<Mutex<Vec<Frame>>>,
    reports: Mutex<Vec<Report>>,
}

/// The place of a part there.
struct Seat<'m>(usize, &'m Meeting);

impl Transport for Seat<'_> {
    fn exchange(&self, frames: Vec<Frame>, report: Report) -> Result<(Vec<Frame>, Report), AnalyticsError> {
        let Self(at, Meeting { all, frames: boxes, reports }) = self;
        frames.into_iter().for_each(|frame| boxes[frame.to as usize].lock().unwrap().push(frame));
        reports.lock().unwrap()[*at] = report;
        all.pass()?;
        let received = std::mem::take(&mut *boxes[*at].lock().unwrap());
        let sum = reports.lock().unwrap().iter().fold(Report::default(), |sum, report| sum.and(*report));
        all.pass()?;
        Ok((received, sum))
    }
}

/// What the parts had after a step: what they reported, and the values of each shard.
type Kept = (Report, BTreeMap<u16, Vec<u8>>);

/// Keeps what the parts have after each step, and gives what another run had after one.
#[derive(Default)]
struct Shelf {
    from: Option<(u64, Kept)>,
    kept: Mutex<BTreeMap<u64, Kept>>,
}

/// The place of a part there, with the places of its vertices by shard.
struct Drawer<'s>(&'s Shelf, BTreeMap<u16, Vec<Range<usize>>>);

impl Checkpoints for Drawer<'_> {
    fn begin(&self, _: u32) -> Result<Option<Resumed>, AnalyticsError> {
        let resumed = |(steps, (report, values)): &(u64, Kept)| {
            let values = self.1.iter().map(|(shard, places)| (places.clone(), values[shard].clone())).collect();
            Resumed { steps: *steps, report: *report, values }
        };
        Ok(self.0.from.as_ref().map(resumed))
    }

    fn has_come(&self, point: &Point<'_>) -> Result<(), AnalyticsError> {
        let values: Vec<(u16, Vec<u8>)> = self.1.iter().map(|(shard, places)| (*shard, (point.bytes)(places))).collect();
        let mut kept = self.0.kept.lock().unwrap();
        let (report, shards) = kept.entry(point.steps).or_insert_with(|| (point.report, BTreeMap::new()));
        assert_eq!(*report, point.report, "all parts hear the same");
        shards.extend(values);
        Ok(())
    }
}

/// Runs an algorithm over so many parts, each with every so manieth shard.
fn in_parts(graph: &Oracle, selection: &Selection, algorithm: &dyn Algorithm, parts: usize, shelf: &Shelf) -> Outcome {
    let (limits, numbering) = (ReadContext::default(), selection.numbering(graph).unwrap());
    let divided = algorithm.divided(&numbering).unwrap().unwrap();
    let id_order = of_ids(graph, &numbering, &limits).unwrap();
    let owners: Vec<u32> = (0..SHARDS).map(|shard| u32::from(shard) % parts as u32).collect();
    let (frames, reports) = ((0..parts).map(|_| Mutex::default()).collect(), Mutex::new(vec![Report::default(); parts]));
    let meeting = Meeting { all: Gate { parts, state: Mutex::default(), moved: Condvar::new() }, frames, reports };
    let all = numbering.slice(0..numbering.count());
    let of_part = |at: usize| -> (Vec<u32>, Values, Ended) {
        let is_here = |vertex: VertexId| owners[usize::from(vertex.shard())] == at as u32;
        let places = Places::new(all.iter().copied().filter(|vertex| is_here(*vertex)).collect());
        let mut by_shard: BTreeMap<u16, Vec<Range<usize>>> = BTreeMap::new();
        places.runs().iter().for_each(|run| by_shard.entry(run.shard).or_default().push(run.places.clone()));
        let number = |vertex: &VertexId| numbering.number(*vertex).unwrap() as u32;
        let numbers: Vec<u32> = places.vertices().iter().map(number).collect();
        let ids: Vec<u32> = numbers.iter().map(|number| id_order[*number as usize]).collect();
        let reading = Reading { threads: 1, bytes_max: u64::MAX, limits: &limits, show: &mut |_| () };
        let listed = divided.listed(selection.is_directed, parts);
        let lists = PartLists::read(graph, places, selection, listed, (&is_here, numbering.count()), reading).unwrap();
        let out_degrees = divided.out_degrees(selection.is_directed);
        let part = PartOf { at: at as u32, parts, owners: &owners, numbers: numbers.clone(), out_degrees };
        let (seat, drawer) = (Seat(at, &meeting), Drawer(shelf, by_shard));
        let ran = watched(1, &limits, &mut |_| (), |run| {
            run_part(&divided, lists, part, (all.len(), &ids), (&seat, &drawer), run)
        });
        let (values, ended) = ran.unwrap();
        (numbers, values, ended)
    };
    let ran: Vec<_> = std::thread::scope(|scope| {
        let of_part = &of_part;
        let threads: Vec<_> = (0..parts).map(|at| scope.spawn(move || of_part(at))).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    let (mut collected, mut ended) = (Collected::new(&divided, all.len()), ran[0].2);
    ended.sent = Default::default();
    for (numbers, values, of_one) in &ran {
        let bytes = values.bytes(0..numbers.len()).unwrap();
        collected.put_bytes(numbers, &bytes).unwrap();
        assert_eq!((of_one.steps, of_one.totals), (ended.steps, ended.totals), "all parts agree");
        ended.sent.values += of_one.sent.values;
        ended.sent.bytes += of_one.sent.bytes;
    }
    divided.outcome(collected, ended, &id_order)
}

fn whole(graph: &Oracle, selection: &Selection, algorithm: &dyn Algorithm) -> Outcome {
    let limits = ReadContext::default();
    let reading = Reading { threads: 1, bytes_max: u64::MAX, limits: &limits, show: &mut |_| () };
    let needs = algorithm.needs_divided().unwrap();
    let projection = Projection::new(graph, selection, needs, reading).unwrap();
    let ran = watched(1, &limits, &mut |_| (), |run| run_divided(algorithm, &projection, Placement::Hashed(1), run));
    ran.unwrap().unwrap()
}

fn number(outcome: &Outcome, key: &str) -> i64 {
    outcome.summary.iter().find(|(name, _)| *name == key).and_then(|(_, value)| value.as_i64()).unwrap()
}

fn assert_same(found: &Outcome, expected: &Outcome, what: &str) {
    match (&found.values, &expected.values) {
        (Values::Reals(found), Values::Reals(expected)) => {
            assert_eq!(found.len(), expected.len(), "{what}");
            let is_near = |(a, b): (&f64, &f64)| a == b || (a - b).abs() <= 1e-12 * b.abs().max(1e-3);
            assert!(found.iter().zip(expected).all(is_near), "{what}: {found:?} {expected:?}");
        }
        (found, expected) => assert_eq!(found, expected, "{what}"),
    }
    let said = |outcome: &Outcome| {
        let of_graph = |name: &str| name != "values_sent" && name != "bytes_sent";
        outcome.summary.iter().filter(|(name, _)| of_graph(name)).cloned().collect::<Vec<_>>()
    };
    assert_eq!(said(found), said(expected), "{what}");
}

/// Each algorithm with its arguments.
fn asked(graph: &Oracle) -> Vec<(&'static str, Vec<(&'static str, Argument)>)> {
    let mut first = Vec::new();
    graph.find_vertices(None, &[ExternalId::Int(0)], &mut first).unwrap();
    let source = ("source", Argument::Vertex(first[0].unwrap()));
    let preferred = ("personalization", Argument::VertexWeights(vec![(first[0].unwrap(), 2.0)]));
    vec![
        ("wcc", vec![]),
        ("cdlp", vec![("iterations", Argument::Count(4))]),
        ("triangles", vec![]),
        ("bfs", vec![source.clone()]),
        ("sssp", vec![source]),
        ("pagerank", vec![("iterations", Argument::Count(10))]),
        ("pagerank", vec![preferred, ("tolerance", Argument::Real(1e-5))]),
    ]
}

#[test]
fn parts_give_what_the_whole_gives() {
    let graph = graph();
    let schema = graph.schema().clone();
    let (weight, size) = (schema.key("weight").unwrap(), schema.key("size").unwrap());
    let at_most = |key, value: Value| Filter { key, predicate: Predicate::Compare(Comparison::Lte, value) };
    for is_directed in [true, false] {
        let all = Selection { is_directed, ..Selection::default() };
        let weighted = Selection { weight: Some(weight), ..all.clone() };
        let red = Vec::from_iter(schema.label(ElementKind::Vertex, "red"));
        let some = Selection { filters: vec![at_most(size, 7.into())], vertices: Some(red), ..weighted.clone() };
        let short = Selection { edge_filter: Some(at_most(weight, 3.0.into())), ..all.clone() };
        for (name, arguments) in &asked(&graph) {
            let algorithm = algorithm(name, arguments).unwrap();
            for (of, selection) in [("all", &all), ("weighted", &weighted), ("some", &some), ("short", &short)] {
                let expected = whole(&graph, selection, &*algorithm);
                for parts in [1, 2, 3, 8] {
                    let found = in_parts(&graph, selection, &*algorithm, parts, &Shelf::default());
                    assert_same(&found, &expected, &format!("{name} of {of} in {parts} parts, directed: {is_directed}"));
                }
            }
        }
    }
}

#[test]
fn other_parts_go_on_after_any_step() {
    let graph = graph();
    let weight = graph.schema().key("weight").unwrap();
    for is_directed in [true, false] {
        let selection = Selection { is_directed, weight: Some(weight), ..Selection::default() };
        for (name, arguments) in &asked(&graph) {
            let algorithm = algorithm(name, arguments).unwrap();
            let shelf = Shelf::default();
            let expected = in_parts(&graph, &selection, &*algorithm, 3, &shelf);
            let kept = shelf.kept.into_inner().unwrap();
            assert!(kept.keys().copied().eq(0..number(&expected, "steps") as u64), "{name}: all steps but the last");
            for (steps, kept) in kept {
                for parts in [2, 8] {
                    let again = Shelf { from: Some((steps, kept.clone())), ..Shelf::default() };
                    let found = in_parts(&graph, &selection, &*algorithm, parts, &again);
                    assert_same(
                        &found,
                        &expected,
                        &format!("{name} in {parts} parts after {steps}, directed: {is_directed}"),
                    );
                    let first = again.kept.into_inner().unwrap().into_keys().next();
                    assert_eq!(first, Some(steps), "{name}: no step runs again");
                }
            }
        }
    }
}

#[test]
fn a_value_crosses_once_to_each_part_that_reads_it() {
    let graph = graph();
    let algorithm = algorithm("pagerank", &[("iterations", Argument::Count(0))]).unwrap();
    let selection = Selection { is_directed: true, ..Selection::default() };
    let numbering = selection.numbering(&graph).unwrap();
    let all = numbering.slice(0..numbering.count());
    let wants = Wants { rows: true, neighbors: true, edges: false };
    let mut edges = Adjacency::default();
    graph.neighbors(&all, &Hop::along(Direction::Out, None, wants), &mut edges).unwrap();
    for parts in [1, 2, 3, 8] {
        let owner = |vertex: VertexId| vertex.shard() % parts;
        let ends = edges.rows.iter().map(|row| all[*row as usize]).zip(edges.neighbors.iter().copied());
        let read: BTreeSet<(VertexId, u16)> = ends
            .filter(|(source, target)| owner(*source) != owner(*target))
            .map(|(source, target)| (source, owner(target)))
            .collect();
        let found = in_parts(&graph, &selection, &*algorithm, usize::from(parts), &Shelf::default());
        assert_eq!(number(&found, "values_sent"), read.len() as i64, "{parts} parts");
        let (bytes, frames) = (number(&found, "bytes_sent"), i64::from(parts * (parts - 1)));
        let values = 8 * read.len() as i64;
        assert!((values..=values + frames).contains(&bytes), "a byte for each frame beside the values");
    }
}
