//! Queries that write: which of them are brief, which graph they need, and that a limit keeps them from changing too much.

use mangrove_graph::{ElementKind, GraphWrite, IdSpace, PropertyId, Value};
use mangrove_query::{Graph, Parameters, Query, QueryOptions};
use mangrove_testkit::Oracle;

use crate::*;

#[test]
fn a_brief_query_finds_its_elements_and_repeats_nothing() {
    let is_brief = |text: &str| Query::parse(text).unwrap().is_brief();
    let brief = [
        "g.addV('person').property('id', 1)",
        "g.V(1).addE('knows').to(__.V(2)).property('since', 5)",
        "g.V().has('person', 'id', x).property('age', 3)",
        "g.V().hasId(1).drop()",
        "g.mergeE([(T.label): 'knows', (Direction.OUT): 1, (Direction.IN): 2])",
        "g.with('evaluationTimeout', 5).E(3).drop()",
    ];
    brief.iter().for_each(|text| assert!(is_brief(text), "{text}"));
    let long = [
        "g.V().property('age', 3)",
        "g.V().hasLabel('person').drop()",
        "g.V(1).addE('knows').to(__.V().hasLabel('person'))",
        "g.V(1).repeat(out()).times(3).property('seen', true)",
        "g.V(1).property('age', __.call('mine'))",
        "g.E().drop()",
    ];
    long.iter().for_each(|text| assert!(!is_brief(text), "{text}"));
}

#[test]
fn changes_need_a_graph_that_can_be_written() {
    let mut modern = Oracle::modern();
    let query = Query::parse("g.V().has('name','marko').property('age', 30)").unwrap();
    assert!(query.writes());
    let mut read = Graph::Read(&modern);
    let mut execution = query.execute(&mut read, &Parameters::new(), &QueryOptions::default()).unwrap();
    assert!(execution.collect(&mut read).is_err());
    let mut write = Graph::Write(&mut modern);
    query.execute(&mut write, &Parameters::new(), &QueryOptions::default()).unwrap().collect(&mut write).unwrap();
    assert_eq!(run(&modern, "g.V().has('name','marko').values('age')"), [Value::Int32(30)]);
    assert_eq!(modern.as_view().statistics().unwrap().vertices.iter().sum::<u64>(), 6);
}

/// A query that writes never uses a column that it read before.
#[test]
fn a_query_that_writes_reads_what_it_wrote() {
    for text in [
        "g.V().has('age', gt(1)).property('age', 1).values('age')",
        "g.V().hasLabel('person').order().by('age').property('age', 1).values('age')",
        "g.V().has('age', gt(1)).as('a').sideEffect(property('age', 1)).order().by('age').values('age')",
        "g.V().has('age', gt(1)).local(has('age', gt(1)).sideEffect(property('age', 1))).values('age')",
    ] {
        let mut modern = Oracle::modern();
        let query = Query::parse(text).unwrap();
        let mut write = Graph::Write(&mut modern);
        let mut execution = query.execute(&mut write, &Parameters::new(), &QueryOptions::default()).unwrap();
        let found = execution.collect(&mut write).unwrap();
        assert_eq!(found, vec![Value::Int32(1); 4], "{text}");
    }
}

/// A search of an index ends before the query changes what it finds.
#[test]
fn what_a_query_writes_does_not_change_what_it_found() {
    let chain = || {
        let mut graph = Oracle::new(IdSpace::Graph);
        for at in 0..100 {
            write(&mut graph, &format!("g.addV('Task').property(id, {at}).property('state', 'open')"));
        }
        let (label, key) = (graph.ensure_label(ElementKind::Vertex, "Task"), graph.ensure_key("state"));
        assert!(graph.create_index(PropertyId::of_vertices(label.unwrap(), key.unwrap())).unwrap());
        for at in 0..99 {
            write(&mut graph, &format!("g.V({at}).as('a').V({}).addE('next').from('a')", at + 1));
        }
        graph
    };
    let open = "g.V().has('Task', 'state', 'open').count()";
    let mut graph = chain();
    assert_eq!(run(&graph, open), [Value::Int64(100)]);
    write(&mut graph, "g.V().has('Task', 'state', 'open').out('next').property('state', 'closed')");
    assert_eq!(run(&graph, open), [Value::Int64(1)]);
    let mut graph = chain();
    write(&mut graph, "g.inject(1).sideEffect(__.V().has('Task', 'state', 'open').addV('Task').property('state', 'open'))");
    assert_eq!(run(&graph, open), [Value::Int64(200)]);
}

fn write(graph: &mut Oracle, text: &str) {
    let mut graph = Graph::Write(graph);
    let query = Query::parse(text).unwrap();
    query.execute(&mut graph, &Parameters::new(), &QueryOptions::default()).unwrap().collect(&mut graph).unwrap();
}

#[test]
fn traversers_a_limit_does_not_want_change_nothing() {
    for (text, made) in [
        ("g.V().sideEffect(addV('made')).limit(1)", 1),
        ("g.V().addV('made').limit(2)", 2),
        ("g.V().local(addV('made')).limit(1)", 1),
        ("g.V().where(sideEffect(addV('made'))).limit(3)", 3),
        ("g.V().addV('made').fold().limit(1)", 512),
        ("g.V().limit(4).addV('made')", 4),
        ("g.addV('made').V().addV('made')", 514),
        ("g.V().out().limit(1000).sideEffect(addV('made'))", 1000),
    ] {
        let mut graph = hubs();
        let query = Query::parse(text).unwrap();
        let mut execution =
            query.execute(&mut Graph::Write(&mut graph), &Parameters::new(), &QueryOptions::default()).unwrap();
        while execution.next(&mut Graph::Write(&mut graph)).unwrap().is_some() {}
        assert_eq!(run(&graph, "g.V().hasLabel('made').count()"), [Value::Int64(made)], "{text}");
    }
}
