//! Searches in shards that are asked at the same time: they give what shards give one after the other, and ask no more than they must.

mod support;

use std::sync::{Arc, Mutex};

use mangrove_cluster::Placement;
use mangrove_cluster::gateway::{HeldCut, Limits, Peer};
use mangrove_cluster::wire::{Ask, Call, Reply, answer};
use mangrove_graph::{
    Catalog, Cell, Comparison, ElementKind, Elements, ExternalId, GraphError, GraphView, IdSpace, Predicate, PropertyColumn,
    PropertyId, ReadContext, Result, SearchCursor, TextTest, Value, VertexId,
};
use mangrove_hot::HotSnapshot;
use mangrove_testkit::suite::StoreUnderTest;
use support::shards::Shards;

const SHARDS: u16 = 4;
const PEOPLE: i64 = 400;

/// A node with all shards, which notes what it is asked.
struct Noting {
    stores: Vec<Mutex<HotSnapshot>>,
    asked: Mutex<Vec<(u16, &'static str)>>,
    /// This one does not answer.
    gone: Mutex<Option<u16>>,
}

impl Peer for Noting {
    fn call(&self, call: &Call, _: Option<&ReadContext>) -> Result<Reply> {
        let Call::Ask { shard, ask, .. } = call else { panic!("{call:?}") };
        let what = match ask {
            Ask::IsSearchable(..) => "is searchable",
            Ask::Candidates(..) => "candidates",
            Ask::Search(..) => "search",
            _ => "another call",
        };
        self.asked.lock().unwrap().push((*shard, what));
        if *self.gone.lock().unwrap() == Some(*shard) {
            return Err(GraphError::Unavailable("it has ended".into()));
        }
        answer(&*self.stores[usize::from(*shard)].lock().unwrap(), ask.clone()).map(Reply::Answer)
    }

    fn tell(&self, _: Call) {}
}

/// What the people have: an id that is unique, a city of three, and a name without an index.
struct People {
    shards: Shards,
    number: PropertyId,
    city: PropertyId,
    name: PropertyId,
    node: Arc<Noting>,
    cut: Arc<HeldCut>,
}

impl People {
    fn new() -> Self {
        let shards = Shards::new(SHARDS, IdSpace::Graph);
        let mut writing = shards.begin().unwrap();
        let graph = writing.graph();
        let person = graph.ensure_label(ElementKind::Vertex, "person").unwrap();
        let mut key = |name: &str| PropertyId::of_vertices(person, graph.ensure_key(name).unwrap());
        let (number, city, name) = (key("number"), key("city"), key("name"));
        let ids: Vec<_> = (0..PEOPLE).map(|id| Some(ExternalId::Int(id))).collect();
        let mut made = Vec::new();
        graph.add_vertices(person, &ids, &mut made).unwrap();
        let mut set = |of: PropertyId, value: &dyn Fn(i64) -> Value| {
            let cells = (0..PEOPLE).map(|id| Cell::One(value(id))).collect();
            graph.set_properties(Elements::Vertices(&made), of.key, &PropertyColumn::Cells(cells)).unwrap();
        };
        set(number, &Value::Int64);
        set(city, &|id| Value::Int64(id % 3));
        set(name, &|id| Value::string(format!("n{id}")));
        assert!(graph.declare_unique(number).unwrap());
        assert!(graph.create_index(city).unwrap());
        writing.commit().unwrap();
        let stores: Vec<HotSnapshot> = shards.stores.iter().map(|store| store.snapshot().unwrap()).collect();
        let schema = stores[0].schema().clone();
        let stores = stores.into_iter().map(Mutex::new).collect();
        let node = Arc::new(Noting { stores, asked: Mutex::default(), gone: Mutex::default() });
        let peer: Arc<dyn Peer> = node.clone();
        let cut = HeldCut::of_node(1, &peer, shards.placement, schema);
        Self { shards, number, city, name, node, cut }
    }

    fn placement(&self) -> Placement {
        self.shards.placement
    }

    /// What was asked since the last call, sorted.
    fn asked(&self) -> Vec<(u16, &'static str)> {
        let mut asked = std::mem::take(&mut *self.node.asked.lock().unwrap());
        asked.sort_unstable();
        asked
    }
}

fn of_every_shard(what: &'static str) -> Vec<(u16, &'static str)> {
    (0..SHARDS).map(|shard| (shard, what)).collect()
}

/// What each call of a search gives.
fn pages(view: &dyn GraphView, of: PropertyId, predicate: &Predicate, limit: usize) -> Vec<Vec<VertexId>> {
    let (mut cursor, mut pages) = (SearchCursor::default(), Vec::new());
    while !cursor.done {
        let page = view.search(of, predicate, &mut cursor, limit).unwrap().expect("an index").into_vertices();
        assert!(page.len() <= limit, "{} of {limit}", page.len());
        assert!(pages.len() < 2 * PEOPLE as usize, "it does not end");
        pages.push(page);
    }
    pages
}

fn at_least(number: i64) -> Predicate {
    Predicate::Compare(Comparison::Gte, Value::Int64(number))
}

#[test]
fn shards_that_are_asked_together_give_what_they_give_in_turn() {
    let people = People::new();
    let limits = Limits::default();
    let together = people.cut.graph(people.placement(), &limits);
    let in_turn = people.cut.graph_in_turn(people.placement(), &limits);
    let within = |values: &[i64]| Predicate::Within(values.iter().map(|n| Value::Int64(*n)).collect::<Vec<_>>().into());
    for (of, predicate, count) in [
        (people.city, Predicate::eq(Value::Int64(1)), 133),
        (people.city, Predicate::eq(Value::Int64(7)), 0),
        (people.city, within(&[0, 2]), 267),
        (people.city, within(&[]), 0),
        (people.number, Predicate::eq(Value::Int64(77)), 1),
        (people.number, within(&[5, 399, 12, 1000, 5]), 3),
        (people.number, at_least(390), 10),
        (people.number, at_least(0), 400),
    ] {
        for limit in [1, 2, 7, 30, 50, 1000, usize::MAX] {
            let expected = pages(&in_turn, of, &predicate, limit).concat();
            let found = pages(&together, of, &predicate, limit).concat();
            assert_eq!(found.len(), count, "{predicate}, {limit}");
            assert_eq!(found, expected, "{predicate}, {limit}");
        }
    }
}

#[test]
fn a_search_that_begins_asks_all_shards_and_a_large_one_goes_on_in_turn() {
    let people = People::new();
    let view = people.cut.graph(people.placement(), &Limits::default());
    let here = Predicate::eq(Value::Int64(1));
    assert!(view.is_searchable(people.city, &here) && !view.is_searchable(people.name, &Predicate::eq("n1")));
    assert!(!view.is_searchable(people.city, &Predicate::Text(TextTest::Contains, "1".into())));
    assert!(people.asked().is_empty(), "the schema tells");
    assert_eq!(pages(&view, people.city, &here, 1000).len(), 1);
    assert_eq!(people.asked(), of_every_shard("search"));
    let all = pages(&view, people.number, &at_least(0), 10);
    assert_eq!(people.asked().len(), all.len() + usize::from(SHARDS) - 1, "a page of each other shard is read again");
    let turn = people.cut.graph_in_turn(people.placement(), &Limits::default());
    assert_eq!(pages(&turn, people.number, &at_least(0), 10).len(), people.asked().len());
}

#[test]
fn what_a_shard_has_is_found_before_another_fails() {
    let people = People::new();
    *people.node.gone.lock().unwrap() = Some(2);
    let view = people.cut.graph(people.placement(), &Limits::default());
    let (here, mut cursor) = (Predicate::eq(Value::Int64(1)), SearchCursor::default());
    let found = view.search(people.city, &here, &mut cursor, 1000).unwrap().unwrap();
    let shards: Vec<u16> = found.iter().map(|element| VertexId(element.raw()).shard()).collect();
    assert!(shards.is_sorted() && shards.first() == Some(&0) && shards.last() == Some(&1) && !cursor.done, "{shards:?}");
    assert!(matches!(view.search(people.city, &here, &mut cursor, 1000), Err(GraphError::Unavailable(_))));
}

#[test]
fn candidates_are_counted_once_and_those_of_unique_values_not_at_all() {
    let people = People::new();
    let view = people.cut.graph(people.placement(), &Limits::default());
    let (one, two) = (Predicate::eq(Value::Int64(1)), Predicate::Within(vec![Value::Int64(1), Value::Int64(2)].into()));
    assert_eq!(view.candidates(people.number, &one).unwrap(), 1);
    assert_eq!(view.candidates(people.number, &two).unwrap(), 2);
    assert!(people.asked().is_empty());
    for _ in 0..3 {
        assert_eq!(view.candidates(people.city, &one).unwrap(), 133);
        assert_eq!(view.candidates(people.city, &two).unwrap(), 266);
        assert_eq!(view.candidates(people.number, &at_least(390)).unwrap(), 10);
    }
    assert_eq!(people.asked().len(), 3 * usize::from(SHARDS));
    // Another view may be of another state.
    let other = people.cut.graph(people.placement(), &Limits::default());
    assert_eq!(other.candidates(people.city, &one).unwrap(), 133);
    assert_eq!(people.asked(), of_every_shard("candidates"));
}
