//! A graph in shards, as one store: the suite of the stores and random work, beside the oracle. Every shard is a store of its own in this
//! process. Reads and writes go to the shards that own what they ask for.
//!
//! Runs the same cases every time. `MANGROVE_CASES` sets their number and `MANGROVE_SEED` selects others.

mod support;

use mangrove_graph::{
    Adjacency, Cell, Direction, EdgeId, EdgeRef, ElementId, ElementKind, Elements, ExternalId, GraphError, GraphWrite, Hop,
    IdSpace, LabelId, NewEdge, VertexId, Wants,
};
use mangrove_testkit::random;
use mangrove_testkit::suite::{StoreUnderTest, suite};
use proptest::test_runner::{Config, RngSeed, TestRunner};
use support::shards::Shards;

const SHARDS: [u16; 4] = [1, 2, 3, 8];
const CASES: u64 = 12;

#[test]
fn shards_pass_the_suite() {
    for shards in SHARDS {
        println!("{shards} shards");
        suite(|id_space| Box::new(Shards::new(shards, id_space)));
    }
}

#[test]
fn shards_that_follow_a_log_pass_the_suite() {
    suite(|id_space| Box::new(Shards::following(3, id_space)));
}

#[test]
fn random_work_gives_what_one_store_gives() {
    for shards in SHARDS {
        for (id_space, cases) in [(IdSpace::Graph, CASES), (IdSpace::Label, CASES / 4)] {
            let config = Config {
                cases: support::number_from_env("MANGROVE_CASES").unwrap_or(cases) as u32,
                rng_seed: RngSeed::Fixed(support::number_from_env("MANGROVE_SEED").unwrap_or(7)),
                failure_persistence: None,
                max_shrink_iters: 500,
                ..Config::default()
            };
            let outcome = TestRunner::new(config).run(&random::work(50), |ops| {
                random::run(&mut Shards::new(shards, id_space), id_space, &ops);
                random::run(&mut Shards::following(shards, id_space), id_space, &ops);
                Ok(())
            });
            if let Err(failure) = outcome {
                panic!("{shards} shards: {failure}");
            }
        }
    }
}

#[test]
fn a_shard_keeps_to_its_own() {
    let shards = Shards::new(3, IdSpace::Graph);
    let mut writing = shards.begin().unwrap();
    let graph = writing.graph();
    let label = graph.ensure_label(ElementKind::Vertex, "person").unwrap();
    let mut ids = Vec::new();
    graph.add_vertices(label, &(0..30).map(|id| Some(ExternalId::Int(id))).collect::<Vec<_>>(), &mut ids).unwrap();
    assert!((0..3).all(|shard| ids.iter().any(|id| id.shard() == shard)), "{ids:?}");
    let taken = graph.add_vertices(label, &[Some(7.into())], &mut ids).unwrap_err();
    assert!(matches!(taken, GraphError::DuplicateVertex { .. }));
    writing.commit().unwrap();
    let counts: Vec<u64> = shards.stores.iter().map(|store| store.check().unwrap().vertices).collect();
    assert_eq!(counts.iter().sum::<u64>(), 30);
    assert!(counts.iter().all(|count| (1..30).contains(count)), "{counts:?}");
}

/// Ids of another graph, or of nobody: a store says that they are not there, and so do shards.
#[test]
fn ids_of_shards_and_labels_that_are_not_there_are_nowhere() {
    let shards = Shards::new(3, IdSpace::Graph);
    let mut writing = shards.begin().unwrap();
    let graph = writing.graph();
    let (person, knows) = names(graph);
    let name = graph.ensure_key("name").unwrap();
    let mut here = Vec::new();
    graph.add_vertices(person, &[Some(1.into()), Some(2.into()), Some(3.into())], &mut here).unwrap();
    let there = [VertexId::new(person, 3, 0), VertexId::new(person, 4095, 7), VertexId::new(LabelId(65_535), 1, 0)];
    let edge = |label: u16, shard| EdgeRef { id: EdgeId::new(LabelId(label), shard, 0), source: here[0], target: here[1] };
    let edges = [edge(0, 3), edge(32_768, 0), edge(65_535, 4095)];
    graph.add_edges(knows, &[new_edge(here[0], here[1])], &mut Vec::new()).unwrap();
    for vertex in there {
        assert!(graph.add_edges(knows, &[new_edge(here[0], vertex)], &mut Vec::new()).is_err());
        assert!(graph.set_cell(ElementId::Vertex(vertex), name, Cell::One("x".into())).is_err());
    }
    for edge in edges {
        assert!(graph.set_cell(ElementId::Edge(edge.id), name, Cell::One("x".into())).is_err());
    }
    graph.remove_vertices(&there).unwrap();
    graph.remove_edges(&edges).unwrap();
    let mixed = [&there[..], &here].concat();
    let view = graph.as_view();
    assert_eq!(view.contain(Elements::Vertices(&mixed)).unwrap(), [false, false, false, true, true, true]);
    assert_eq!(view.contain(Elements::Edges(&edges)).unwrap(), [false; 3]);
    let ids = view.external_ids(Elements::Vertices(&mixed)).unwrap();
    assert_eq!((0..6).map(|row| ids.has(row)).collect::<Vec<_>>(), [false, false, false, true, true, true]);
    assert!((0..3).all(|row| !view.properties(Elements::Edges(&edges), name).unwrap().has(row)));
    let hop =
        Hop::along(Direction::Both, Some(vec![knows, LabelId(40_000)]), Wants { rows: true, neighbors: true, edges: true });
    let mut found = Adjacency::default();
    view.neighbors(&mixed, &hop, &mut found).unwrap();
    assert_eq!((found.rows, found.neighbors), (vec![3, 4], vec![here[1], here[0]]));
    let mut degrees = Vec::new();
    view.degrees(&mixed, &hop, &mut degrees).unwrap();
    assert_eq!(degrees, [0, 0, 0, 1, 1, 0]);
    let mut found = Vec::new();
    view.find_vertices(None, &["#0:68719476736000".into(), "#0:0.7".into()], &mut found).unwrap();
    assert_eq!(found, [None, None]);
    writing.commit().unwrap();
    assert_eq!(shards.check().unwrap(), Vec::<String>::new());
}

#[test]
fn names_that_would_shift_the_labels_of_sides_are_refused() {
    let shards = Shards::new(2, IdSpace::Graph);
    let mut writing = shards.begin().unwrap();
    let graph = writing.graph();
    let long = "x".repeat(usize::from(u16::MAX));
    for name in ["\u{1}knows", &long] {
        assert!(matches!(graph.ensure_label(ElementKind::Edge, name), Err(GraphError::Invalid(_))));
    }
    let (_, knows) = names(graph);
    assert!(matches!(graph.rename_label(ElementKind::Edge, knows, "\u{1}knows"), Err(GraphError::Invalid(_))));
    assert_eq!(graph.ensure_label(ElementKind::Edge, "likes").unwrap(), LabelId(1));
    writing.commit().unwrap();
}

/// A generated id that somebody has given gets a number behind it. It is found all the same, and nobody can give it again.
#[test]
fn numbered_ids_are_found() {
    for shards in SHARDS {
        let shards = Shards::new(shards, IdSpace::Graph);
        let mut writing = shards.begin().unwrap();
        let graph = writing.graph();
        let (person, _) = names(graph);
        let given: Vec<Option<ExternalId>> = (0..u64::from(shards.placement.shards))
            .map(|shard| Some(VertexId::new(person, shard as u16, 0).generated()))
            .collect();
        graph.add_vertices(person, &given, &mut Vec::new()).unwrap();
        let taken: Vec<Option<ExternalId>> =
            (0..40).map(|at| Some(VertexId::new(person, at % 8, u64::from(at / 8)).generated())).collect();
        let _ = graph.add_vertices(person, &taken[8..], &mut Vec::new());
        let mut made = Vec::new();
        graph.add_vertices(person, &[None, None, None, None, None], &mut made).unwrap();
        for vertex in made {
            let id = graph.external_id(vertex).unwrap();
            let mut found = Vec::new();
            graph.find_vertices(None, std::slice::from_ref(&id), &mut found).unwrap();
            assert_eq!(found, [Some(vertex)], "{id}");
            let again = graph.add_vertices(person, &[Some(id)], &mut Vec::new());
            assert!(matches!(again, Err(GraphError::DuplicateVertex { .. })));
        }
    }
}

#[test]
fn an_edge_goes_with_its_half_whatever_its_ends_are_said_to_be() {
    let shards = Shards::new(3, IdSpace::Graph);
    let mut writing = shards.begin().unwrap();
    let graph = writing.graph();
    let (person, knows) = names(graph);
    let (mut here, mut made) = (Vec::new(), Vec::new());
    graph.add_vertices(person, &(0..9).map(|id| Some(ExternalId::Int(id))).collect::<Vec<_>>(), &mut here).unwrap();
    let edges: Vec<NewEdge> = here.iter().flat_map(|a| here.iter().map(|b| new_edge(*a, *b))).collect();
    graph.add_edges(knows, &edges, &mut made).unwrap();
    let wrong: Vec<EdgeRef> =
        made[..40].iter().map(|id| EdgeRef { id: *id, source: VertexId(0), target: VertexId(0) }).collect();
    graph.remove_edges(&[&wrong[..], &wrong].concat()).unwrap();
    let mut degrees = Vec::new();
    for direction in [Direction::Out, Direction::In] {
        degrees.clear();
        graph.degrees(&here, &Hop::along(direction, None, Wants::default()), &mut degrees).unwrap();
        assert_eq!(degrees.iter().sum::<u64>(), 41);
    }
    writing.commit().unwrap();
    assert_eq!(shards.check().unwrap(), Vec::<String>::new());
}

fn names(graph: &mut dyn GraphWrite) -> (LabelId, LabelId) {
    let person = graph.ensure_label(ElementKind::Vertex, "person").unwrap();
    (person, graph.ensure_label(ElementKind::Edge, "knows").unwrap())
}

fn new_edge(source: VertexId, target: VertexId) -> NewEdge {
    NewEdge { source, target, id: None, time: None }
}
