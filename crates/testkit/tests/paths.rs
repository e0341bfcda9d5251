//! Regular path queries against an evaluator that shares nothing with the engine: it has its own expressions, multiplies relations as
//! matrices of bits, and tries every assignment of vertices to variables.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use mangrove_directory::{OpenOptions, Patience, Store, Writer};
use mangrove_graph::{ElementKind, ExternalId, GraphView, GraphWrite, NewEdge, Value, VertexId};
use mangrove_query::Parameters;
use mangrove_query::paths::{KeptLists, PathAnswer, PathOptions, PathQuery};
use mangrove_testkit::Oracle;
use mangrove_testkit::far::SlowView;
use mangrove_testkit::graphs::Random;

const LABELS: [&str; 3] = ["a", "b", "has part"];
const KINDS: [&str; 2] = ["person", "thing"];

/// A graph of at most 128 vertices, named 0, 1, 2 …
struct Toy {
    kinds: Vec<usize>,
    edges: Vec<(usize, usize, usize)>,
}

/// For each vertex the set of those that it is joined with, as bits.
type Relation = Vec<u128>;

enum Walk {
    Edge(usize),
    Any,
    Back(Box<Walk>),
    Then(Vec<Walk>),
    Either(Vec<Walk>),
    Times(Box<Walk>, u32, Option<u32>),
}

impl Walk {
    fn draw(random: &mut Random, depth: u32) -> Self {
        let below = |random: &mut Random| Box::new(Walk::draw(random, depth.saturating_sub(1)));
        let several = |random: &mut Random| (0..2 + random.below(2)).map(|_| *below(random)).collect();
        match random.below(if depth == 0 { 4 } else { 11 }) {
            0..=2 => Walk::Edge(random.below(LABELS.len() as u64) as usize),
            3 => Walk::Any,
            4 => Walk::Back(below(random)),
            5 | 6 => Walk::Then(several(random)),
            7 => Walk::Either(several(random)),
            8 => Walk::Times(below(random), 0, None),
            9 => Walk::Times(below(random), 1, None),
            _ => {
                let least = random.below(3) as u32;
                let most = (random.below(3) > 0).then(|| least + random.below(2) as u32);
                Walk::Times(below(random), least, most)
            }
        }
    }

    fn text(&self) -> String {
        let joined =
            |parts: &[Walk], with: &str| format!("({})", parts.iter().map(Walk::text).collect::<Vec<_>>().join(with));
        match self {
            Walk::Edge(2) => "`has part`".into(),
            Walk::Edge(label) => LABELS[*label].into(),
            Walk::Any => "_".into(),
            Walk::Back(of) => format!("^({})", of.text()),
            Walk::Then(parts) => joined(parts, " / "),
            Walk::Either(parts) => joined(parts, "|"),
            Walk::Times(of, 0, None) => format!("({})*", of.text()),
            Walk::Times(of, 1, None) => format!("({})+", of.text()),
            Walk::Times(of, 0, Some(1)) => format!("({})?", of.text()),
            Walk::Times(of, least, None) => format!("({}){{{least},}}", of.text()),
            Walk::Times(of, least, Some(most)) => format!("({}){{{least},{most}}}", of.text()),
        }
    }

    fn relation(&self, toy: &Toy) -> Relation {
        let n = toy.kinds.len();
        match self {
            Walk::Edge(label) => of_edges(toy, |found| found == *label),
            Walk::Any => of_edges(toy, |_| true),
            Walk::Back(of) => transposed(&of.relation(toy)),
            Walk::Then(parts) => parts.iter().fold(identity(n), |before, part| times(&before, &part.relation(toy))),
            Walk::Either(parts) => parts.iter().fold(vec![0; n], |all, part| plus(&all, &part.relation(toy))),
            Walk::Times(of, least, most) => {
                let once = of.relation(toy);
                let mut power = (0..*least).fold(identity(n), |power, _| times(&power, &once));
                // Beyond as many repetitions as there are pairs nothing new is found.
                let more = most.map_or(n * n, |most| (most - least) as usize);
                let mut all = power.clone();
                for _ in 0..more {
                    power = times(&power, &once);
                    let grown = plus(&all, &power);
                    if grown == all && most.is_none() {
                        break;
                    }
                    all = grown;
                }
                all
            }
        }
    }
}

fn of_edges(toy: &Toy, takes: impl Fn(usize) -> bool) -> Relation {
    let mut relation = vec![0; toy.kinds.len()];
    toy.edges.iter().filter(|(_, label, _)| takes(*label)).for_each(|(from, _, to)| relation[*from] |= 1u128 << to);
    relation
}

fn identity(n: usize) -> Relation {
    (0..n).map(|at| 1u128 << at).collect()
}

fn plus(a: &Relation, b: &Relation) -> Relation {
    a.iter().zip(b).map(|(a, b)| a | b).collect()
}

fn times(a: &Relation, b: &Relation) -> Relation {
    a.iter().map(|row| (0..b.len()).filter(|at| row >> at & 1 == 1).fold(0u128, |all, at| all | b[at])).collect()
}

fn transposed(a: &Relation) -> Relation {
    (0..a.len())
        .map(|to| (0..a.len()).filter(|from| a[*from] >> to & 1 == 1).fold(0u128, |all, from| all | 1 << from))
        .collect()
}

/// An end of an atom: a variable, or a constant.
#[derive(Clone, Copy, PartialEq)]
enum Place {
    Variable(usize),
    Vertex(usize),
    Parameter(usize),
}

struct Conjunction {
    head: Vec<usize>,
    kinds: BTreeMap<usize, usize>,
    atoms: Vec<(Place, Walk, Place)>,
}

impl Conjunction {
    /// On a large graph one atom, because all assignments are tried.
    fn draw(random: &mut Random, n: usize) -> Self {
        let place = |random: &mut Random| match random.below(8) {
            0 => Place::Vertex(random.below(n as u64) as usize),
            1 => Place::Parameter(random.below(n as u64) as usize),
            _ => Place::Variable(random.below(3) as usize),
        };
        let atom = |random: &mut Random| (place(random), Walk::draw(random, 2), place(random));
        let count = if n > 14 { 1 } else { 1 + random.below(3) };
        let atoms: Vec<_> = (0..count).map(|_| atom(random)).collect();
        let mut variables: Vec<usize> = Vec::new();
        for place in atoms.iter().flat_map(|(from, _, to)| [from, to]) {
            if let Place::Variable(at) = place
                && !variables.contains(at)
            {
                variables.push(*at);
            }
        }
        let kind = |random: &mut Random, at: usize| (random.below(5) == 0).then(|| (at, random.below(2) as usize));
        let kinds = variables.iter().filter_map(|at| kind(random, *at)).collect();
        let mut head = variables.clone();
        if random.below(2) == 0 {
            head.retain(|_| random.below(3) > 0);
            head.reverse();
        }
        Self { head, kinds, atoms }
    }

    fn text(&self) -> String {
        let mut named = BTreeSet::new();
        let mut place = |place: Place| match place {
            Place::Vertex(at) => at.to_string(),
            Place::Parameter(at) => format!("$p{at}"),
            Place::Variable(at) => match self.kinds.get(&at).filter(|_| named.insert(at)) {
                Some(kind) => format!("?v{at}:{}", KINDS[*kind]),
                None => format!("?v{at}"),
            },
        };
        let atoms: Vec<String> =
            self.atoms.iter().map(|(from, walk, to)| format!("{} {} {}", place(*from), walk.text(), place(*to))).collect();
        let head: Vec<String> = self.head.iter().map(|at| format!("?v{at}")).collect();
        format!("({}) <- {}", head.join(", "), atoms.join(", "))
    }

    fn rows(&self, toy: &Toy) -> BTreeSet<Vec<usize>> {
        let atoms: Vec<(Place, Relation, Place)> =
            self.atoms.iter().map(|(from, walk, to)| (*from, walk.relation(toy), *to)).collect();
        let mut found = BTreeSet::new();
        self.assign(toy, &atoms, 0, &mut [None; 3], &mut found);
        found
    }

    fn assign(
        &self,
        toy: &Toy,
        atoms: &[(Place, Relation, Place)],
        variable: usize,
        chosen: &mut [Option<usize>; 3],
        found: &mut BTreeSet<Vec<usize>>,
    ) {
        let is_used = |at: usize| atoms.iter().any(|(from, _, to)| [from, to].contains(&&Place::Variable(at)));
        let value = |place: Place, chosen: &[Option<usize>; 3]| match place {
            Place::Variable(at) => chosen[at],
            Place::Vertex(at) | Place::Parameter(at) => Some(at),
        };
        let holds = |(from, relation, to): &(Place, Relation, Place), chosen: &[Option<usize>; 3]| match (
            value(*from, chosen),
            value(*to, chosen),
        ) {
            (Some(from), Some(to)) => relation[from] >> to & 1 == 1,
            _ => true,
        };
        if !atoms.iter().all(|atom| holds(atom, chosen)) {
            return;
        }
        if variable == 3 {
            found.insert(self.head.iter().map(|at| chosen[*at].unwrap()).collect());
            return;
        }
        if !is_used(variable) {
            return self.assign(toy, atoms, variable + 1, chosen, found);
        }
        for vertex in 0..toy.kinds.len() {
            if self.kinds.get(&variable).is_none_or(|kind| toy.kinds[vertex] == *kind) {
                chosen[variable] = Some(vertex);
                self.assign(toy, atoms, variable + 1, chosen, found);
            }
        }
        chosen[variable] = None;
    }
}

impl Toy {
    fn draw(random: &mut Random) -> Self {
        let n = if random.below(6) == 0 { 65 + random.below(60) as usize } else { 1 + random.below(14) as usize };
        let kinds = (0..n).map(|_| random.below(2) as usize).collect();
        let edge = |random: &mut Random| {
            let end = |random: &mut Random| random.below(n as u64) as usize;
            (end(random), random.below(LABELS.len() as u64) as usize, end(random))
        };
        let edges = (0..random.below(2 * n as u64 + 2)).map(|_| edge(random)).collect();
        Self { kinds, edges }
    }

    fn write(&self, graph: &mut dyn GraphWrite) {
        // All names exist, so that nothing but ids may earn a warning.
        let kinds = KINDS.map(|name| graph.ensure_label(ElementKind::Vertex, name).unwrap());
        let labels = LABELS.map(|name| graph.ensure_label(ElementKind::Edge, name).unwrap());
        let mut vertices = Vec::new();
        for (at, kind) in self.kinds.iter().enumerate() {
            graph.add_vertices(kinds[*kind], &[Some(ExternalId::Int(at as i64))], &mut vertices).unwrap();
        }
        for (from, label, to) in &self.edges {
            let edge = NewEdge { source: vertices[*from], target: vertices[*to], id: None, time: None };
            graph.add_edges(labels[*label], &[edge], &mut Vec::new()).unwrap();
        }
    }
}

fn rows(view: &dyn GraphView, answer: &PathAnswer) -> BTreeSet<Vec<usize>> {
    let id = |vertex: VertexId| match view.external_id(vertex).unwrap() {
        ExternalId::Int(id) => id as usize,
        other => panic!("{other}"),
    };
    let row = |at: usize| answer.columns.iter().map(|column| id(column[at])).collect();
    (0..answer.rows as usize).map(row).collect()
}

#[test]
fn random_queries_have_the_rows_of_the_definition() {
    let cases: u64 = std::env::var("MANGROVE_PATHS_CASES").ok().and_then(|count| count.parse().ok()).unwrap_or(12_000);
    let seed: u64 = std::env::var("MANGROVE_PATHS_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(1);
    let directory = tempfile::tempdir().unwrap();
    let (mut done, mut rows_seen, mut graphs) = (0, 0, 0);
    while done < cases {
        let mut random = Random::new(seed * 1_000_000 + graphs);
        graphs += 1;
        let toy = Toy::draw(&mut random);
        let mut oracle = Oracle::default();
        toy.write(&mut oracle);
        let store = Store::open(directory.path().join(format!("{graphs}.mg")), &OpenOptions::default()).unwrap();
        let mut transaction = store.begin_for(Writer::this_thread(), Patience::ENDLESS).unwrap();
        toy.write(&mut transaction);
        transaction.commit().unwrap();
        if graphs % 3 == 0 {
            store.compact(Writer::this_thread(), Patience::ENDLESS).unwrap();
        }
        let snapshot = store.snapshot().unwrap();
        let parameters: Parameters = (0..toy.kinds.len()).map(|at| (format!("p{at}"), Value::Int64(at as i64))).collect();
        let mut kept = [KeptLists::default(), KeptLists::default()];
        for _ in 0..150 {
            let first = Conjunction::draw(&mut random, toy.kinds.len());
            let mut all = vec![first];
            for _ in 0..random.below(3) / 2 {
                let other = Conjunction::draw(&mut random, toy.kinds.len());
                all.extend((other.head.len() == all[0].head.len()).then_some(other));
            }
            let text = all.iter().map(Conjunction::text).collect::<Vec<_>>().join(" ; ");
            let expected: BTreeSet<Vec<usize>> = all.iter().flat_map(|part| part.rows(&toy)).collect();
            let query = PathQuery::parse(&text).unwrap_or_else(|error| panic!("{text}: {error}"));
            for (view, kept) in [&oracle as &dyn GraphView, &snapshot].into_iter().zip(&mut kept) {
                let (threads, reads_all) = (1 + random.below(2) as usize, random.below(2) == 0);
                let options = PathOptions { threads, reads_all, ..PathOptions::default() };
                let answer =
                    query.run_keeping(view, &parameters, &options, kept).unwrap_or_else(|error| panic!("{text}: {error}"));
                let found = rows(view, &answer);
                assert_eq!(found, expected, "{text} on {:?} {:?}", toy.kinds, toy.edges);
                assert_eq!(answer.rows, expected.len() as u64, "{text}: each row comes once");
                assert!(answer.warnings.is_empty(), "{text}: {:?}", answer.warnings);
                let counted = query.run(view, &parameters, &PathOptions { counts: true, ..options }).unwrap();
                assert_eq!(counted.rows, answer.rows, "{text}: counted");
            }
            done += 1;
            rows_seen += expected.len();
        }
    }
    println!("{done} queries on {graphs} graphs, {rows_seen} rows");
    assert!(rows_seen as u64 > done, "most queries find something");
}

/// A path from a constant reads what it meets, also where the variable in the middle is asked for by nobody.
#[test]
fn a_chain_from_a_constant_reads_only_what_it_meets() {
    let calls = |others: i64| {
        let mut graph = Oracle::default();
        let person = graph.ensure_label(ElementKind::Vertex, "person").unwrap();
        let knows = graph.ensure_label(ElementKind::Edge, "knows").unwrap();
        let mut made = Vec::new();
        let ids: Vec<Option<ExternalId>> = (0..others + 3).map(|id| Some(ExternalId::Int(id))).collect();
        graph.add_vertices(person, &ids, &mut made).unwrap();
        let edge = |at: usize| NewEdge { source: made[at], target: made[at + 1], id: None, time: None };
        graph.add_edges(knows, &[edge(0), edge(1)], &mut Vec::new()).unwrap();
        let far = SlowView::new(&graph, Duration::ZERO);
        let query = PathQuery::parse("(?z) <- 0 knows ?y, ?y knows ?z").unwrap();
        assert_eq!(query.run(&far, &Parameters::new(), &PathOptions::default()).unwrap().rows, 1);
        far.take_calls()
    };
    assert_eq!(calls(0), calls(30_000));
}
