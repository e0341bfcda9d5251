//! Steps that nodes run for a query: which these are, and that they change no result.

mod homes;
mod mesh;

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use mangrove_graph::{
    EdgeId, EdgeRef, ElementKind, GraphWrite, IdSpace, NewEdge, PropertyColumn, ReadContext, Value, VertexId,
};
use mangrove_query::plan::locate::in_runs;
use mangrove_query::plan::outline::outline;
use mangrove_query::{Fleet, Graph, Parameters, Query, QueryError, QueryOptions, Ran, run_fragment};
use mangrove_testkit::{Oracle, graphs};

/// The steps of a query, with marks around those in runs. Nodes may look up the ids with which it begins.
fn located_from(text: &str, of_ids: bool) -> String {
    let query = Query::parse(text).unwrap_or_else(|e| panic!("{text}: {}", e.render()));
    let plan = query.plan(&Oracle::modern(), &Parameters::new(), &QueryOptions::default()).unwrap();
    let rows = outline(&plan.traversal);
    let marked = rows.iter().zip(in_runs(&plan.traversal, of_ids)).filter(|(row, _)| row.depth == 0);
    let shown = marked.map(|(row, is_in)| match is_in {
        true => format!("[{}]", row.node.step.title()),
        false => row.node.step.title().to_string(),
    });
    shown.collect::<Vec<_>>().join(" ")
}

fn located(text: &str) -> String {
    located_from(text, false)
}

fn runs(text: &str) -> usize {
    located(text).matches('[').count()
}

#[test]
fn steps_that_read_twice_what_is_stored_with_an_element_are_a_run() {
    assert_eq!(runs("g.V(1).out('knows').has('age', gt(3)).values('name')"), 2, "the neighbours begin a run");
    assert_eq!(runs("g.V(1).where(out('knows')).values('name')"), 2);
    assert_eq!(runs("g.V(1).outE('created').has('weight', gt(0.5)).inV()"), 2, "an edge is stored with its source");
    assert_eq!(runs("g.V(1).project('a', 'b').by('name').by(out().count())"), 1);
    assert_eq!(runs("g.V(1).and(out('knows'), out('created').count().is(gt(1)))"), 1);
    assert_eq!(runs("g.V(1).out().has('age', gt(3)).out('created')"), 2, "a run may end with a hop");
    assert_eq!(runs("g.V(1).out().has('age').values('age').is(gt(5)).limit(2)"), 3, "what drops results belongs to it");
    assert_eq!(runs("g.V(1).outE('knows').has('weight', gt(0.1)).outV().values('name')"), 4, "and a source with its edge");
}

#[test]
fn what_reads_once_or_elsewhere_is_no_run() {
    for text in [
        "g.V(1)",
        "g.V(1).out('knows')",
        "g.V(1).out('knows').values('name')",
        "g.V(1).out().out().out()",
        "g.V(1).where(out().has('name', 'x'))",
        "g.V(1).where(inE().has('weight', gt(1)))",
        "g.V(1).out().valueMap()",
        "g.V(1).as('a').out().where(neq('a'))",
        "g.V(1).out().path().by('name')",
        "g.V(1).out().order().by('name').by('age')",
        "g.V(1).local(out().limit(1))",
        "g.V(1).repeat(out()).times(3)",
        "g.V(1).where(repeat(out()).times(2))",
        "g.withSack(1).V(1).sack(sum).by('age')",
    ] {
        assert_eq!(runs(text), 0, "{text}: {}", located(text));
    }
}

/// How nodes behave.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Nodes {
    Work,
    Refuse,
    /// One of them runs nothing.
    Lack,
    /// What they say is no answer.
    Damage,
}

/// Nodes of this process, each with every third element.
struct Three {
    graph: Arc<Oracle>,
    nodes: Nodes,
    messages: AtomicUsize,
}

impl fmt::Debug for Three {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.nodes.fmt(f)
    }
}

impl Fleet for Three {
    fn node_of_vertex(&self, vertex: VertexId) -> u16 {
        (vertex.local() % 3) as u16
    }

    fn node_of_edge(&self, edge: &EdgeRef) -> u16 {
        self.node_of_vertex(edge.source)
    }

    fn run(&self, messages: Vec<(u16, Vec<u8>)>, limits: &ReadContext) -> Vec<Ran> {
        self.messages.fetch_add(messages.len(), Ordering::Relaxed);
        let answer = |(node, message): (u16, Vec<u8>)| match self.nodes {
            Nodes::Refuse => Ran::Refused,
            Nodes::Lack if node == 1 => Ran::Unable,
            Nodes::Damage => Ran::Gave(message),
            _ => run_fragment(&message, &*self.graph, limits).map_or(Ran::Refused, Ran::Gave),
        };
        messages.into_iter().map(answer).collect()
    }
}

/// 512 people with an age and a name, and 4,096 acquaintances with a weight.
fn people() -> Oracle {
    let mut graph = Oracle::new(IdSpace::Graph);
    let person = graph.ensure_label(ElementKind::Vertex, "person").unwrap();
    let knows = graph.ensure_label(ElementKind::Edge, "knows").unwrap();
    let (mut vertices, mut ids): (Vec<VertexId>, Vec<EdgeId>) = Default::default();
    graph.add_vertices(person, &(0..512).map(|id| Some(id.into())).collect::<Vec<_>>(), &mut vertices).unwrap();
    let new: Vec<NewEdge> = graphs::rmat(9, 4_096, 11)
        .into_iter()
        .map(|(s, t)| NewEdge { source: vertices[s as usize], target: vertices[t as usize], id: None, time: None })
        .collect();
    graph.add_edges(knows, &new, &mut ids).unwrap();
    let edge = |(id, new): (&EdgeId, &NewEdge)| EdgeRef { id: *id, source: new.source, target: new.target };
    let edges: Vec<EdgeRef> = ids.iter().zip(&new).map(edge).collect();
    let one = |value: Value| mangrove_graph::Cell::One(value);
    let ages = (0..512i64).map(|i| if i % 5 == 0 { mangrove_graph::Cell::Absent } else { one(Value::Int64(i * i % 97)) });
    let names = (0..512i64).map(|i| one(Value::from(format!("n{}", i * 7 % 31))));
    let weights = (0..edges.len() as i64).map(|i| one(Value::Int64(i % 13)));
    let mut set = |elements: mangrove_graph::Elements<'_>, key: &str, cells: Vec<mangrove_graph::Cell>| {
        let key = graph.ensure_key(key).unwrap();
        graph.set_properties(elements, key, &PropertyColumn::Cells(cells)).unwrap();
    };
    set(mangrove_graph::Elements::Vertices(&vertices), "age", ages.collect());
    set(mangrove_graph::Elements::Vertices(&vertices), "name", names.collect());
    set(mangrove_graph::Elements::Edges(&edges), "weight", weights.collect());
    graph
}

fn run(graph: &Oracle, text: &str, options: &QueryOptions) -> Result<Vec<Value>, QueryError> {
    let mut graph = Graph::Read(graph);
    Query::parse(text)?.execute(&mut graph, &Parameters::new(), options)?.collect(&mut graph)
}

const QUERIES: [&str; 16] = [
    "g.V().out('knows').has('age', gt(40)).values('name')",
    "g.V().order().by(id).where(out('knows').count().is(gt(9))).values('name', 'age')",
    "g.V().outE('knows').has('weight', lt(4)).inV().values('name')",
    "g.V(1, 2, 3).out().out().has('age', gt(3)).where(out('knows')).out('knows').id()",
    "g.V().as('a').out('knows').has('age', lt(20)).values('name').as('b').select('a', 'b').by(id).by()",
    "g.V().out('knows').has('age', lt(30)).as('x').out('knows').path().by(id)",
    "g.V(1).out().has('age', gt(3)).values('name').path()",
    "g.V(1).as('a').out().as('b').has('age', gt(3)).as('c').out('knows').as('d').select(all, 'b', 'c', 'd')",
    "g.V(1).as('a').out().as('a').has('age', gt(3)).as('a').values('name').as('a').select(all, 'a')",
    "g.V().repeat(out('knows').has('age', gt(60)).where(out('knows'))).times(2).values('name')",
    "g.V().repeat(both('knows')).times(2).has('age', gt(90)).where(out('knows')).groupCount().by('name')",
    "g.V().project('name', 'friends').by('name').by(out('knows').count()).order().by('friends').by('name').limit(20)",
    "g.withSack(1).V().out('knows').sack(sum).by('age').has('age', gt(50)).where(out('knows')).sack()",
    "g.V().union(out('knows').has('age', lt(9)).values('name'), has('age', 3).where(outE()).id())",
    "g.E().has('weight', 3).outV().has('age', gt(20)).values('name').dedup()",
    "g.V().aggregate('all').out('knows').has('age', gt(80)).where(out('knows')).where(within('all')).count()",
];

#[test]
fn with_or_without_nodes_a_query_gives_the_same_in_the_same_order() {
    let graph = Arc::new(people());
    for nodes in [Nodes::Work, Nodes::Refuse, Nodes::Lack, Nodes::Damage] {
        for text in QUERIES {
            let fleet = Arc::new(Three { graph: graph.clone(), nodes, messages: AtomicUsize::new(0) });
            let options = QueryOptions { fleet: Some(fleet.clone()), ..QueryOptions::default() };
            let alone = run(&graph, text, &QueryOptions::default()).unwrap_or_else(|e| panic!("{text}: {}", e.render()));
            assert!(!alone.is_empty(), "{text}");
            assert_eq!(run(&graph, text, &options).unwrap(), alone, "{text}, nodes: {nodes:?}");
            assert!(fleet.messages.swap(0, Ordering::Relaxed) > 0, "{text}: {}", located(text));
            let off = QueryOptions { rules_off: vec!["fragments".into()], ..options };
            assert_eq!(run(&graph, text, &off).unwrap(), alone, "{text}");
            assert_eq!(fleet.messages.load(Ordering::Relaxed), 0, "{text}");
        }
    }
}

#[test]
fn errors_are_those_of_a_query_without_nodes() {
    let graph = Arc::new(people());
    let fleet = Arc::new(Three { graph: graph.clone(), nodes: Nodes::Work, messages: AtomicUsize::new(0) });
    let options = QueryOptions { fleet: Some(fleet.clone()), ..QueryOptions::default() };
    let text = "g.V().out('knows').project('a', 'b').by(values('name').math('_ + 1')).by(out('knows').count())";
    let there = run(&graph, text, &options).unwrap_err();
    let here = run(&graph, text, &QueryOptions::default()).unwrap_err();
    assert_eq!((there.render(), there.span, there.kind), (here.render(), here.span, here.kind));
    assert!(fleet.messages.load(Ordering::Relaxed) > 0);
}

#[test]
fn explanations_and_profiles_show_what_nodes_do() {
    let graph = Arc::new(people());
    let fleet = Arc::new(Three { graph: graph.clone(), nodes: Nodes::Work, messages: AtomicUsize::new(0) });
    let options = QueryOptions { fleet: Some(fleet.clone()), profile: true, ..QueryOptions::default() };
    let query = Query::parse("g.V(1).out('knows').has('age', gt(3)).values('name')").unwrap();
    let on_nodes = |options: &QueryOptions| {
        let explained = query.explain(&*graph, &Parameters::new(), options).unwrap();
        explained.steps.iter().map(|step| step.on_nodes).collect::<Vec<_>>()
    };
    assert_eq!(on_nodes(&options), [false, false, true, true]);
    assert_eq!(on_nodes(&QueryOptions { rules_off: vec!["fragments".into()], ..options.clone() }), [false; 4]);
    assert_eq!(on_nodes(&QueryOptions::default()), [false; 4]);
    let mut view = Graph::Read(&*graph);
    let profile = query.execute(&mut view, &Parameters::new(), &options).unwrap().profile(&mut view).unwrap();
    let last = profile.steps.last().unwrap();
    assert_eq!((last.messages.sent, last.rows), (fleet.messages.load(Ordering::Relaxed) as u64, profile.results));
    assert!(last.messages.sent > 0 && last.messages.bytes > 0);
}
