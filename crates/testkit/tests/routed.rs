//! Which shards a search asks, and whether the check notices what the directory lacks.

mod support;

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

use mangrove_cluster::remote::{Known, Line, Remote};
use mangrove_cluster::wire::{Answer, Ask, NextLocals, answer};
use mangrove_cluster::{ClusterView, ShardView};
use mangrove_graph::{
    Catalog, Cell, Comparison, ElementId, ElementKind, Elements, ExternalId, GraphView, GraphWrite, IdSpace, KeyId, LabelId,
    Predicate, PropertyColumn, PropertyId, Reach, Result, Value, VertexId,
};
use mangrove_hot::HotSnapshot;
use mangrove_testkit::suite::StoreUnderTest;
use support::shards::Shards;

const SHARDS: u16 = 8;
const PEOPLE: i64 = 400;
const CITIES: i64 = 200;
const NOBODY: [u16; 0] = [];

/// A store that notes who is asked.
#[derive(Clone)]
struct Noting {
    store: Arc<Mutex<HotSnapshot>>,
    number: u16,
    asked: Arc<Mutex<Vec<u16>>>,
}

impl Line for Noting {
    fn ask(&self, ask: &Ask) -> Result<Answer> {
        self.asked.lock().expect("no panic").push(self.number);
        answer(&*self.store.lock().expect("no panic"), ask.clone())
    }
}

/// The graph, and who was asked.
struct Noted {
    view: ClusterView<ShardView<Box<Remote<Noting>>>>,
    asked: Arc<Mutex<Vec<u16>>>,
}

impl Noted {
    fn new(shards: &Shards) -> Self {
        let asked = Arc::default();
        let far = |(number, store): (u16, &mangrove_hot::Hot)| {
            let store = store.snapshot().expect("a snapshot");
            let (schema, statistics) = (store.schema().clone(), store.statistics().expect("counts"));
            let known = Known { schema, statistics, next: NextLocals::of_store(&store).expect("local ids") };
            let line = Noting { store: Arc::new(Mutex::new(store)), number, asked: Arc::clone(&asked) };
            Box::new(Remote::new(line, Arc::new(known)))
        };
        let stores = (0..).zip(&shards.stores).map(far).collect();
        Self { view: ClusterView::over_stores(stores, shards.placement), asked }
    }

    /// Who was asked since the last call, in order.
    fn asked(&self) -> Vec<u16> {
        std::mem::take(&mut self.asked.lock().expect("no panic"))
    }

    /// The shards of what a search finds.
    fn found(&self, of: PropertyId, predicate: &Predicate) -> Vec<u16> {
        let found = self.view.search_all(of, predicate).expect("a search").expect("an index");
        let shards: BTreeSet<u16> = found.iter().map(|element| VertexId(element.raw()).shard()).collect();
        shards.into_iter().collect()
    }
}

/// People with cities. The index is made first, or last.
fn people(shards: &Shards, is_first: bool) -> PropertyId {
    let mut writing = shards.begin().unwrap();
    let graph = writing.graph();
    let (person, city) = names(graph);
    let of = PropertyId::of_vertices(person, city);
    if is_first {
        assert!(graph.declare_routed(of).unwrap());
    }
    let ids: Vec<_> = (0..PEOPLE).map(|id| Some(ExternalId::Int(id))).collect();
    let mut made = Vec::new();
    graph.add_vertices(person, &ids, &mut made).unwrap();
    let cities = PropertyColumn::Cells((0..PEOPLE).map(|id| Cell::One(Value::Int64(id % CITIES))).collect());
    graph.set_properties(Elements::Vertices(&made), city, &cities).unwrap();
    if !is_first {
        assert!(graph.declare_routed(of).unwrap());
    }
    assert!(!graph.declare_routed(of).unwrap(), "it is routed");
    writing.commit().unwrap();
    of
}

fn names(graph: &mut dyn GraphWrite) -> (LabelId, KeyId) {
    (graph.ensure_label(ElementKind::Vertex, "person").unwrap(), graph.ensure_key("city").unwrap())
}

#[test]
fn a_search_asks_the_directory_and_who_has_the_value() {
    for is_first in [true, false] {
        for shards in [Shards::new(SHARDS, IdSpace::Graph), Shards::following(SHARDS, IdSpace::Graph)] {
            let of = people(&shards, is_first);
            let noted = Noted::new(&shards);
            for city in 0..CITIES {
                let here = Predicate::eq(Value::Int64(city));
                assert_eq!(noted.view.reach(of, &here), Reach::Directory);
                assert!(noted.view.is_searchable(of, &here));
                assert_eq!(noted.asked(), NOBODY, "all shards have the index");
                let found = noted.found(of, &here);
                let asked = noted.asked();
                assert!((1..=2).contains(&found.len()), "{found:?}");
                assert_eq!(asked[1..], found, "the first one is asked for its part of the directory");
                assert_eq!(noted.view.candidates(of, &here).unwrap(), (PEOPLE / CITIES) as u64);
                assert_eq!(noted.asked(), found, "what the directory has said is known");
                let equal = Predicate::eq(Value::Float64(city as f64));
                assert_eq!(noted.found(of, &equal), found);
                noted.asked();
            }
            assert_eq!(noted.found(of, &Predicate::eq("nowhere")), NOBODY);
            assert_eq!(noted.asked().len(), 1);
            let later = Predicate::Compare(Comparison::Gt, Value::Int64(3));
            assert_eq!(noted.view.reach(of, &later), Reach::EveryShard);
            assert_eq!(noted.found(of, &later).len(), usize::from(SHARDS));
            assert_eq!(noted.asked().into_iter().collect::<BTreeSet<_>>().len(), usize::from(SHARDS));
            assert_eq!(shards.check().unwrap(), Vec::<String>::new());
        }
    }
}

/// Entries stay when values go. When the index goes, they go with it.
#[test]
fn entries_of_values_that_are_gone_go_with_the_index() {
    let shards = Shards::new(SHARDS, IdSpace::Graph);
    let of = people(&shards, true);
    let here = Predicate::eq(Value::Int64(7));
    let had = Noted::new(&shards).found(of, &here);
    let change = |change: &dyn Fn(&mut dyn GraphWrite)| {
        let mut writing = shards.begin().unwrap();
        change(writing.graph());
        writing.commit().unwrap();
    };
    change(&|graph| {
        let gone = graph.search_all(of, &here).unwrap().unwrap();
        gone.iter().for_each(|element| graph.set_cell(element, of.key, Cell::Absent).unwrap());
    });
    let noted = Noted::new(&shards);
    assert_eq!(noted.found(of, &here), NOBODY);
    assert_eq!(noted.asked()[1..], had, "they are asked in vain");
    change(&|graph| {
        assert!(graph.drop_index(of).unwrap());
        assert!(graph.declare_routed(of).unwrap());
    });
    let noted = Noted::new(&shards);
    assert_eq!(noted.found(of, &here), NOBODY);
    assert_eq!(noted.asked().len(), 1);
    assert_eq!(shards.check().unwrap(), Vec::<String>::new());
}

#[test]
fn the_check_notices_what_the_directory_lacks() {
    let shards = Shards::new(SHARDS, IdSpace::Graph);
    let of = people(&shards, true);
    let mut behind = shards.stores[3].begin().unwrap();
    let first = ElementId::Vertex(VertexId::new(of.label, 0, 0));
    behind.set_cell(first, of.key, Cell::One(Value::Int64(CITIES + 1))).unwrap();
    behind.commit().unwrap();
    assert_eq!(shards.check().unwrap(), ["values of person.city that the directory does not list with their shards: 1"]);
}

#[test]
fn an_id_leads_to_its_shard() {
    let shards = Shards::new(SHARDS, IdSpace::Graph);
    let mut writing = shards.begin().unwrap();
    let graph = writing.graph();
    let (person, city) = names(graph);
    graph.declare_key(person, city).unwrap();
    let ids: Vec<_> = (0..PEOPLE).map(|id| Some(ExternalId::from(&format!("v{id}")[..]))).collect();
    let mut made = Vec::new();
    graph.add_vertices(person, &ids, &mut made).unwrap();
    writing.commit().unwrap();
    let noted = Noted::new(&shards);
    for (id, vertex) in made.iter().enumerate() {
        let found = noted.found(PropertyId::of_vertices(person, city), &Predicate::eq(format!("v{id}").as_str()));
        assert_eq!(found, [vertex.shard()]);
        assert_eq!(noted.asked(), found);
    }
}
