//! Reads from a graph that is far away: how many calls they take, and the suite of the stores over such a view.

mod support;

use std::time::{Duration, Instant};

use mangrove_graph::{
    Adjacency, Catalog, Cell, Direction, EdgeId, ElementId, ElementKind, Elements, ExternalId, GraphView, GraphWrite, Hop,
    IdSpace, LabelId, NewEdge, Predicate, PropertyId, Result, Scan, ScanCursor, SearchCursor, VertexId, Wants,
};
use mangrove_query::{Graph, Parameters, Query, QueryOptions};
use mangrove_testkit::Oracle;
use mangrove_testkit::far::{FAILURES, FailingView, SlowView};
use mangrove_testkit::suite::{Condensing, StoreUnderTest, Transaction, suite};
use support::StoreInDir;

/// Reads like LDBC's, each with the number of its hops.
const READS: [(&str, u64, &str); 7] = [
    (
        "profile",
        1,
        "g.V().has('Person', 'id', 0).project('first', 'last', 'born', 'city').by('first').by('last').by('born')
          .by(out('isLocatedIn').values('id'))",
    ),
    (
        "messages",
        3,
        "g.V().has('Person', 'id', 0).in('hasCreator').order().by('date', desc).by('id').limit(10).as('m')
          .until(hasLabel('Post')).repeat(out('replyOf')).as('p').out('hasCreator').as('a').select('m', 'p', 'a')
          .by(project('id', 'content', 'date').by('id').by('content').by('date')).by('id')
          .by(project('id', 'first', 'last').by('id').by('first').by('last'))
          .order().by(select('m').select('date'), desc).by(select('m').select('id'))",
    ),
    (
        "friends",
        1,
        "g.V().has('Person', 'id', 0).bothE('knows').as('k').otherV().as('f').project('id', 'first', 'last', 'since')
          .by('id').by('first').by('last').by(select('k').values('since')).order().by(select('since'), desc).by(select('id'))",
    ),
    ("content", 1, "g.V().has('Post', 'id', 1000000).project('date', 'content').by('date').by('content')"),
    (
        "forum",
        2,
        "g.V().has('Post', 'id', 1000000).in('containerOf').as('f').out('hasModerator').as('m').select('f', 'm')
          .by(project('id', 'title').by('id').by('title')).by(project('id', 'first', 'last').by('id').by('first').by('last'))",
    ),
    (
        "replies",
        4,
        "g.V().has('Post', 'id', 1000000).as('m').out('hasCreator').as('o').select('m').in('replyOf').as('c')
          .out('hasCreator').as('a').project('comment', 'author', 'knows')
          .by(select('c').project('id', 'content', 'date').by('id').by('content').by('date'))
          .by(project('id', 'first', 'last').by('id').by('first').by('last'))
          .by(choose(both('knows').where(eq('o')), constant(true), constant(false)))
          .order().by(select('comment').select('date'), desc).by(select('author').select('id'))
          .by(select('comment').select('id'))",
    ),
    (
        "whole friends",
        1,
        "g.V().has('Person', 'id', 0).both('knows').order().by(T.id).elementMap()",
    ),
];

/// People who all know person 0, a post of each person, and replies of everybody to the first post.
fn network(people: i64) -> Result<Oracle> {
    let mut graph = Oracle::new(IdSpace::Graph);
    fill(&mut graph, people)?;
    Ok(graph)
}

fn fill(graph: &mut dyn GraphWrite, people: i64) -> Result<()> {
    let person = add(graph, "Person", 0..people, &["first", "last", "born"])?;
    let post = add(graph, "Post", 1_000_000..1_000_000 + people, &["content", "date"])?;
    let comment = add(graph, "Comment", 2_000_000..2_000_000 + people, &["content", "date"])?;
    let forum = add(graph, "Forum", [3_000_000], &["title"])?;
    let city = add(graph, "City", [4_000_000], &["name"])?;
    connect(graph, "knows", person[1..].iter().map(|friend| (person[0], *friend)))?;
    let since = graph.ensure_key("since")?;
    let label = graph.ensure_label(ElementKind::Edge, "knows")?;
    for (at, local) in (0..people - 1).enumerate() {
        let edge = ElementId::Edge(mangrove_graph::EdgeId::new(label, 0, local as u64));
        graph.set_cell(edge, since, Cell::One((at as i64 % 7).into()))?;
    }
    connect(graph, "isLocatedIn", person.iter().map(|one| (*one, city[0])))?;
    connect(graph, "hasCreator", post.iter().chain(&comment).zip(person.iter().cycle()).map(|(m, one)| (*m, *one)))?;
    connect(graph, "hasCreator", comment.iter().map(|m| (*m, person[0])))?;
    connect(graph, "replyOf", comment.iter().map(|m| (*m, post[0])))?;
    connect(graph, "containerOf", post.iter().map(|m| (forum[0], *m)))?;
    connect(graph, "hasModerator", [(forum[0], person[0])])
}

fn add(graph: &mut dyn GraphWrite, label: &str, ids: impl IntoIterator<Item = i64>, keys: &[&str]) -> Result<Vec<VertexId>> {
    let label = graph.ensure_label(ElementKind::Vertex, label)?;
    let id = graph.ensure_key("id")?;
    graph.declare_key(label, id)?;
    let ids: Vec<_> = ids.into_iter().map(|id| Some(ExternalId::Int(id))).collect();
    let mut made = Vec::new();
    graph.add_vertices(label, &ids, &mut made)?;
    for key in keys {
        let key = graph.ensure_key(key)?;
        for vertex in &made {
            let value = vertex.local() as i64 % 5;
            graph.set_cell(ElementId::Vertex(*vertex), key, Cell::One(value.into()))?;
        }
    }
    Ok(made)
}

fn connect(graph: &mut dyn GraphWrite, label: &str, ends: impl IntoIterator<Item = (VertexId, VertexId)>) -> Result<()> {
    let label = graph.ensure_label(ElementKind::Edge, label)?;
    let edge = |(source, target)| NewEdge { source, target, id: None, time: None };
    graph.add_edges(label, &ends.into_iter().map(edge).collect::<Vec<_>>(), &mut Vec::new())
}

fn run(view: &dyn GraphView, text: &str) -> usize {
    let mut graph = Graph::Read(view);
    let (query, options) = (Query::parse(text).unwrap(), QueryOptions::default());
    query.execute(&mut graph, &Parameters::new(), &options).unwrap().collect(&mut graph).unwrap().len()
}

/// The network in one segment.
fn sealed(people: i64) -> Result<StoreInDir> {
    let store = StoreInDir::temporary(IdSpace::Graph);
    let mut transaction = store.begin()?;
    fill(transaction.graph(), people)?;
    transaction.commit()?;
    store.condense(Condensing::Compact, &|| false)?;
    Ok(store)
}

/// However many elements a read touches, it takes a dozen calls for each hop at most.
#[test]
fn reads_take_few_calls_whatever_the_number_of_elements() {
    let (small, large) = (network(8).unwrap(), network(400).unwrap());
    reads_take_few_calls([&small, &large]);
    let (small, large) = (sealed(8).unwrap(), sealed(400).unwrap());
    let (small, large) = (small.snapshot().unwrap(), large.snapshot().unwrap());
    reads_take_few_calls([&*small, &*large]);
}

fn reads_take_few_calls(graphs: [&dyn GraphView; 2]) {
    for (name, hops, text) in READS {
        let calls = graphs.map(|graph| {
            let view = SlowView::new(graph, Duration::ZERO);
            let results = run(&view, text);
            assert!(results > 0, "{name} gives nothing");
            view.take_calls()
        });
        println!("{name}: {} calls, {} with 400 people", calls[0], calls[1]);
        assert!(calls[1] <= 12 * hops, "{name} takes {} calls for {hops} hops", calls[1]);
        assert!(calls[1] <= calls[0] + 4, "{name} takes {} calls, and {} with 400 people", calls[0], calls[1]);
    }
}

/// A column that a scan or a filter has read is not read again.
#[test]
fn a_column_is_read_once() {
    let graph = network(40).unwrap();
    let calls = |text: &str| {
        let view = SlowView::new(&graph, Duration::ZERO);
        assert!(run(&view, text) > 0, "{text} gives nothing");
        view.take_calls()
    };
    let posts = calls("g.V().hasLabel('Post')");
    for text in ["values('date')", "order().by('date').limit(3)", "project('d', 'c').by('date').by('content')"] {
        assert_eq!(calls(&format!("g.V().hasLabel('Post').{text}")), posts, "the scan reads what {text} needs");
    }
    // Sorting reads the second key of the candidates only, and these steps read no column.
    for text in ["order().by('date').by('content').limit(3)", "has('date')", "values('date', 'content')"] {
        assert!(calls(&format!("g.V().hasLabel('Post').{text}")) > posts, "{text} reads what it needs itself");
    }
    let all = "g.V().has('Person', 'id', 0).in('hasCreator')";
    let filter = |rest: &str| calls(&format!("{all}.has('date', gt(1)){rest}"));
    assert_eq!(filter(""), filter(".order().by('date').values('date')"));
    assert_eq!(filter(""), filter(".where(values('date').is(lt(4)))"));
    assert_eq!(filter("") + 1, filter(".values('content')"));
    assert_eq!(filter(""), filter(".has('content', lt(9))"), "both columns are read in one call");
}

/// A call that fails gives its error, whatever the call.
#[test]
fn every_call_of_a_lost_graph_fails() {
    let graph = network(4).unwrap();
    let (one, two) = (VertexId(0), VertexId(1));
    let (key, label) = (graph.schema().key("first").unwrap(), LabelId(0));
    let all = Elements::Vertices(&[one, two]);
    let of = PropertyId { kind: ElementKind::Vertex, label, key };
    let hop = Hop::along(Direction::Out, None, Wants { rows: true, neighbors: true, edges: true });
    type Call<'c> = (&'c str, Box<dyn Fn(&dyn GraphView) -> bool + 'c>);
    let scan = || (Scan::of(label), ScanCursor::default());
    let calls: Vec<Call<'_>> = vec![
        ("statistics", Box::new(|view| view.statistics().is_err())),
        ("candidates", Box::new(|view| view.candidates(of, &Predicate::eq(1)).is_err())),
        ("scan_vertices", Box::new(|view| view.scan_vertices(&scan().0, &mut scan().1, 9, &mut Vec::new()).is_err())),
        ("scan_edges", Box::new(|view| view.scan_edges(&scan().0, &mut scan().1, 9, &mut Vec::new()).is_err())),
        ("scan", Box::new(|view| view.scan(ElementKind::Vertex, &scan().0, &mut scan().1, 9).is_err())),
        ("count", Box::new(|view| view.count(ElementKind::Vertex, &scan().0, &mut scan().1).is_err())),
        ("find_vertices", Box::new(|view| view.find_vertices(None, &[ExternalId::Int(0)], &mut Vec::new()).is_err())),
        ("find_edges", Box::new(|view| view.find_edges(&[ExternalId::Int(0)], &mut Vec::new()).is_err())),
        ("external_ids", Box::new(|view| view.external_ids(all).is_err())),
        ("external_id", Box::new(|view| view.external_id(one).is_err())),
        ("edge_external_id", Box::new(|view| view.edge_external_id(EdgeId(0)).is_err())),
        ("contain", Box::new(|view| view.contain(all).is_err())),
        ("contains", Box::new(|view| view.contains(ElementId::Vertex(one)).is_err())),
        ("all_further_labels", Box::new(|view| view.all_further_labels(&[one], &mut Vec::new()).is_err())),
        ("further_labels", Box::new(|view| view.further_labels(one).is_err())),
        ("neighbors", Box::new(|view| view.neighbors(&[one], &hop, &mut Adjacency::default()).is_err())),
        ("degrees", Box::new(|view| view.degrees(&[one], &hop, &mut Vec::new()).is_err())),
        ("columns", Box::new(|view| view.columns(all, &[key], &mut Vec::new()).is_err())),
        ("properties", Box::new(|view| view.properties(all, key).is_err())),
        ("cell", Box::new(|view| view.cell(ElementId::Vertex(one), key).is_err())),
        ("cells", Box::new(|view| view.cells(ElementId::Vertex(one), &[key], &mut Vec::new()).is_err())),
        ("keys", Box::new(|view| view.keys(all, &mut Vec::new()).is_err())),
        ("have", Box::new(|view| view.have(all, key).is_err())),
        ("pass", Box::new(|view| view.pass(all, key, &Predicate::eq(1)).is_err())),
        ("search", Box::new(|view| view.search(of, &Predicate::eq(1), &mut SearchCursor::default(), 9).is_err())),
        ("search_all", Box::new(|view| view.search_all(of, &Predicate::eq(1)).is_err())),
    ];
    for failure in FAILURES {
        for (name, fails) in &calls {
            assert!(fails(&FailingView::new(&graph, 0, failure)), "{name} gives an answer of a graph that is lost");
        }
    }
}

#[test]
fn a_slow_view_takes_its_time_and_gives_the_same() {
    let graph = network(8).unwrap();
    let view = SlowView::new(&graph, Duration::from_millis(1));
    let began = Instant::now();
    let (_, _, text) = READS[2];
    assert_eq!(run(&view, text), run(&graph, text));
    assert!(began.elapsed() >= Duration::from_millis(1) * view.take_calls() as u32);
}

/// A store whose snapshots are far away.
struct FarStore(StoreInDir);

impl StoreUnderTest for FarStore {
    fn snapshot(&self) -> Result<Box<dyn GraphView + '_>> {
        Ok(Box::new(SlowView::new(self.0.snapshot()?, Duration::ZERO)))
    }

    fn begin(&self) -> Result<Box<dyn Transaction + '_>> {
        self.0.begin()
    }

    fn begin_bulk(&self) -> Result<Option<Box<dyn Transaction + '_>>> {
        self.0.begin_bulk()
    }

    fn reopen(&mut self) -> Result<()> {
        self.0.reopen()
    }

    fn condense(&self, how: Condensing, meanwhile: &dyn Fn() -> bool) -> Result<()> {
        self.0.condense(how, meanwhile)
    }

    fn check(&self) -> Result<Vec<String>> {
        self.0.check()
    }
}

#[test]
fn a_far_store_passes_the_suite() {
    suite(|id_space| Box::new(FarStore(StoreInDir::temporary(id_space))));
}
