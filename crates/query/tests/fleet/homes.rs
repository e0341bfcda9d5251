//! Queries that begin with ids: the nodes that have these vertices look them up.

use super::*;

/// The same nodes. It is known which of them has the vertex with a number.
#[derive(Debug)]
struct AtHome(Three);

impl AtHome {
    fn of(graph: &Arc<Oracle>, nodes: Nodes) -> Arc<Self> {
        Arc::new(Self(Three { graph: graph.clone(), nodes, messages: AtomicUsize::new(0) }))
    }

    fn messages(&self) -> usize {
        self.0.messages.swap(0, Ordering::Relaxed)
    }
}

impl Fleet for AtHome {
    fn node_of_vertex(&self, vertex: VertexId) -> u16 {
        self.0.node_of_vertex(vertex)
    }

    fn node_of_edge(&self, edge: &EdgeRef) -> u16 {
        self.0.node_of_edge(edge)
    }

    fn node_of_id(&self, id: &Value) -> Option<u16> {
        id.as_i64().map(|id| id.rem_euclid(3) as u16)
    }

    fn run(&self, messages: Vec<(u16, Vec<u8>)>, limits: &ReadContext) -> Vec<Ran> {
        self.0.run(messages, limits)
    }
}

fn without_homes(options: &QueryOptions) -> QueryOptions {
    QueryOptions { rules_off: vec!["homes".into()], ..options.clone() }
}

#[test]
fn a_run_may_begin_with_the_ids_of_a_query() {
    let runs = |text: &str| located_from(text, true).matches('[').count();
    assert_eq!(runs("g.V(1).values('name')"), 2);
    assert_eq!(runs("g.V(1, 2).hasLabel('person').values('name')"), 3);
    assert_eq!(runs("g.V(1).out('knows')"), 2);
    assert_eq!(runs("g.V(1).out('knows').values('name')"), 2, "the neighbours may be elsewhere");
    assert_eq!(runs("g.V(1).out('knows').has('age', gt(3)).values('name')"), 4, "the neighbours begin another run");
    assert_eq!(runs("g.V(1).outE('created').has('weight', gt(0.5)).inV()"), 3);
    assert_eq!(runs("g.V().hasId(1).values('name')"), 2, "these are ids, too");
    assert_eq!(runs("g.V().has('person', 'name', 'marko')"), 1, "several shards are asked");
    assert_eq!(runs("g.V().has('person', 'name', 'marko').values('age')"), 2);
    assert_eq!(runs("g.V().has('person', 'name', 'marko').out('knows').values('name')"), 2);
    for text in [
        "g.V().has('name', 'marko').values('age')",
        "g.V().has('person', 'name', 'marko').as('a').out('knows').select('a')",
        "g.V(1)",
        "g.V(1).label()",
        "g.V(1).valueMap()",
        "g.V(1).as('a').out('knows').select('a')",
        "g.V().values('name')",
        "g.E(7).values('weight')",
        "g.V(1).order().by('name')",
    ] {
        assert_eq!(runs(text), 0, "{text}: {}", located_from(text, true));
    }
}

/// Queries of which nodes look up the ids. Nobody has the numbers from 512 on.
const BY_ID: [&str; 12] = [
    "g.V(1).values('name')",
    "g.V(7, 3, 5, 3, 9, 1).values('name', 'age')",
    "g.V(4, 600, 2, 512, 8).values('name')",
    "g.V(1).out('knows')",
    "g.V(3, 2, 1).out('knows').values('name')",
    "g.V(3, 600, 2).out('knows').has('age', gt(20)).values('name')",
    "g.V(1, 2).out('knows').count()",
    "g.V(1).out('knows').as('a').out('knows').as('b').select('a', 'b').by(id)",
    "g.V(5, 6).outE('knows').has('weight', gt(5)).inV().id()",
    "g.withSack(1).V(1, 2).out('knows').sack(sum).by('age').id()",
    "g.V(1, 2, 3).where(out('knows')).project('name', 'friends').by('name').by(out('knows').count())",
    "g.V().hasId(1, 2, 3).where(out('knows')).union(out('knows').id(), values('name'))",
];

/// What a query gives, with its warnings, or its error.
fn told(graph: &Oracle, text: &str, options: &QueryOptions) -> Result<(Vec<Value>, Vec<String>), String> {
    let mut view = Graph::Read(graph);
    let query = Query::parse(text).map_err(|error| error.render())?;
    let mut execution = query.execute(&mut view, &Parameters::new(), options).map_err(|error| error.render())?;
    let values = execution.collect(&mut view).map_err(|error| error.render())?;
    Ok((values, execution.warnings().to_vec()))
}

#[test]
fn wherever_ids_are_looked_up_a_query_gives_the_same_with_the_same_warnings() {
    let graph = Arc::new(people());
    for nodes in [Nodes::Work, Nodes::Refuse, Nodes::Lack, Nodes::Damage] {
        for text in BY_ID {
            let fleet = AtHome::of(&graph, nodes);
            let options = QueryOptions { fleet: Some(fleet.clone()), ..QueryOptions::default() };
            let alone = told(&graph, text, &QueryOptions::default());
            assert_eq!(told(&graph, text, &options), alone, "{text}, nodes: {nodes:?}");
            assert!(fleet.messages() > 0, "{text}: {}", located_from(text, true));
            assert_eq!(told(&graph, text, &without_homes(&options)), alone, "{text}, nodes: {nodes:?}");
        }
    }
}

#[test]
fn each_node_gets_one_message_for_its_ids() {
    let graph = Arc::new(people());
    let fleet = AtHome::of(&graph, Nodes::Work);
    let options = QueryOptions { fleet: Some(fleet.clone()), ..QueryOptions::default() };
    for (text, messages) in [
        ("g.V(1).values('name')", 1),
        ("g.V(1, 4, 7).values('name')", 1),
        ("g.V(1, 2, 3, 4, 5, 6).values('name')", 3),
        ("g.V(600).values('name')", 1),
        ("g.V('1').values('name')", 0),
        ("g.V(1, 'x').values('name')", 0),
        ("g.V([]).values('name')", 0),
    ] {
        let alone = told(&graph, text, &QueryOptions::default());
        assert_eq!(told(&graph, text, &options), alone, "{text}");
        assert_eq!(fleet.messages(), messages, "{text}");
    }
    let (given, warnings) = told(&graph, "g.V(4, 600, 2, 512, 8).values('name')", &options).unwrap();
    assert_eq!(given.len(), 3);
    assert!(warnings.iter().any(|warning| warning.contains("600") && warning.contains("1 other id")), "{warnings:?}");
}

#[test]
fn explanations_show_where_ids_are_looked_up() {
    let graph = Arc::new(people());
    let options = QueryOptions { fleet: Some(AtHome::of(&graph, Nodes::Work)), ..QueryOptions::default() };
    let on_nodes = |text: &str, options: &QueryOptions| {
        let explained = Query::parse(text).unwrap().explain(&*graph, &Parameters::new(), options).unwrap();
        explained.steps.iter().map(|step| step.on_nodes).collect::<Vec<_>>()
    };
    let text = "g.V(1).out('knows').has('age', gt(3)).values('name')";
    assert_eq!(on_nodes(text, &options), [true; 4]);
    assert_eq!(on_nodes(text, &without_homes(&options)), [false, false, true, true]);
    let off = QueryOptions { rules_off: vec!["fragments".into()], ..options.clone() };
    assert_eq!(on_nodes(text, &off), [false; 4]);
    assert_eq!(on_nodes("g.V('x').out('knows')", &options), [false; 2], "nobody knows where that is");
    assert_eq!(on_nodes("g.V(1).out('knows').path()", &options), [false; 3], "a path begins with the vertex");
}
