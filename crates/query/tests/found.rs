//! Bugs that the comparison with the interpreter (`crates/testkit/tests/equivalence.rs`) has found, each reduced to a small case.

use mangrove_graph::{Catalog, ElementId, ElementKind, ExternalId, GraphWrite, PropertyId, Value, VertexId};
use mangrove_query::optimize::RULES;
use mangrove_query::{Graph, Parameters, Query, QueryError, QueryErrorKind, QueryOptions};
use mangrove_testkit::Oracle;

fn try_run(graph: &Oracle, text: &str, rules_off: Vec<String>) -> Result<Vec<Value>, QueryError> {
    let options = QueryOptions { rules_off, ..QueryOptions::default() };
    let mut graph = Graph::Read(graph);
    Query::parse(text)?.execute(&mut graph, &Parameters::new(), &options)?.collect(&mut graph)
}

/// The results, which must be the same without the optimiser.
fn run(graph: &Oracle, text: &str) -> Vec<Value> {
    let with = try_run(graph, text, Vec::new()).unwrap_or_else(|e| panic!("{text}: {}", e.render()));
    let off = RULES.iter().map(|rule| rule.name.to_owned()).collect();
    let without = try_run(graph, text, off).unwrap_or_else(|e| panic!("{text}: {}", e.render()));
    assert_eq!(with, without, "{text} with rules and without");
    with
}

fn shown(graph: &Oracle, text: &str) -> String {
    run(graph, text).iter().map(Value::to_string).collect::<Vec<_>>().join(" ")
}

/// More vertices than a scan's first batch. Each has a small number and an edge to the first.
fn many() -> Oracle {
    let mut graph = Oracle::default();
    let label = graph.ensure_label(ElementKind::Vertex, "person").unwrap();
    let (ids, mut made): (Vec<_>, Vec<VertexId>) =
        ((0..100).rev().map(|id| Some(ExternalId::Int(id))).collect(), Vec::new());
    graph.add_vertices(label, &ids, &mut made).unwrap();
    let key = graph.ensure_key("small").unwrap();
    for vertex in &made {
        graph.set_cell(ElementId::Vertex(*vertex), key, mangrove_graph::Cell::One(Value::Int8(1))).unwrap();
    }
    let knows = graph.ensure_label(ElementKind::Edge, "knows").unwrap();
    let edges: Vec<_> = made
        .iter()
        .map(|source| mangrove_graph::NewEdge { source: *source, target: made[0], id: None, time: None })
        .collect();
    graph.add_edges(knows, &edges, &mut Vec::new()).unwrap();
    graph
}

#[test]
fn a_filter_passes_an_element_once_however_often_it_is_named() {
    let mut modern = Oracle::modern();
    let (label, key) = (modern.schema().label(ElementKind::Vertex, "person").unwrap(), modern.schema().key("age").unwrap());
    modern.create_index(PropertyId::of_vertices(label, key)).unwrap();
    for text in [
        "g.V().hasId(1, 1).count()",
        "g.V().hasId(1, 1L).count()",
        "g.V().hasId(1, '1').count()",
        "g.V().hasId(1.0).count()",
        "g.V().hasLabel('person', 'person').has('age', 29).count()",
    ] {
        assert_eq!(run(&modern, text), [Value::Int64(1)], "{text}");
    }
    for text in ["g.V('1').count()", "g.V().hasId('1', '01').count()", "g.V().where(hasId('1')).count()"] {
        assert_eq!(run(&modern, text), [Value::Int64(0)], "text names no integer: {text}");
    }
    assert_eq!(run(&modern, "g.V(1, 1).count()"), [Value::Int64(2)], "a source gives what it is told to");
}

#[test]
fn a_modulator_begins_where_the_value_is() {
    let modern = Oracle::modern();
    let text = "g.V(1).as('a').as('b').select('a', 'b').by(outE('created').otherV().id()).select('a')";
    assert_eq!(run(&modern, text), [Value::Int64(3)]);
    let text = "g.V(1).path().by(outE('created').otherV().id()).unfold()";
    assert_eq!(run(&modern, text), [Value::Int64(3)]);
}

#[test]
fn text_and_the_number_it_reads_as_are_two_ids() {
    let mut graph = Oracle::default();
    let label = graph.ensure_label(ElementKind::Vertex, "thing").unwrap();
    graph.add_vertices(label, &[Some(ExternalId::Int(3)), Some(ExternalId::from("3"))], &mut Vec::new()).unwrap();
    let (likes, mut made) = (graph.ensure_label(ElementKind::Edge, "likes").unwrap(), Vec::new());
    let ends = mangrove_graph::record::find_vertex(&graph, &3.into()).unwrap().unwrap();
    let edge = mangrove_graph::NewEdge { source: ends, target: ends, id: Some(ExternalId::Int(3)), time: None };
    graph.add_edges(likes, &[edge], &mut made).unwrap();
    assert_eq!(run(&graph, "g.V().hasId('3', '4').where(identity()).id()"), ["3".into()]);
    assert_eq!(run(&graph, "g.V().where(hasId('3')).id()"), ["3".into()]);
    assert_eq!(run(&graph, "g.E().where(hasId('3')).id()"), [] as [Value; 0]);
    assert_eq!(run(&graph, "g.E(3).id()"), [Value::Int64(3)]);
    assert_eq!(run(&graph, "g.V().hasId('3').id()"), ["3".into()]);
    assert_eq!(run(&graph, "g.V('3').id()"), ["3".into()]);
}

#[test]
fn branches_and_loops_do_not_tell_how_traversers_came_in_batches() {
    let graph = many();
    assert_eq!(run(&graph, "g.V().out().union(dedup(), limit(1)).count()"), [Value::Int64(2)]);
    assert_eq!(run(&graph, "g.V().union(union(count()))"), [Value::Int64(100)]);
    assert_eq!(run(&graph, "g.V().choose(has('small'), limit(3)).count()"), [Value::Int64(3)]);
    assert_eq!(shown(&graph, "g.V().repeat(order().by(id).limit(2)).times(1).id()"), "0 1");
}

#[test]
fn side_effects_count_every_traverser_of_a_row() {
    let graph = many();
    assert_eq!(
        run(&graph, "g.V().out().barrier().sideEffect(id().aggregate('x')).cap('x').count(local)"),
        [Value::Int64(100)]
    );
    assert_eq!(run(&graph, "g.V().out().barrier().local(id().aggregate('x')).cap('x').count(local)"), [Value::Int64(100)]);
    assert_eq!(shown(&graph, "g.V().out().barrier().sideEffect(groupCount('m').by('small')).cap('m')"), "{1=100}");
}

#[test]
fn side_effects_are_there_though_no_traverser_came_by() {
    let modern = Oracle::modern();
    assert_eq!(shown(&modern, "g.V().hasLabel('nobody').union(group('m')).cap('m')"), "{}");
    assert_eq!(shown(&modern, "g.V().hasLabel('nobody').union(groupCount('m')).cap('m')"), "{}");
}

#[test]
fn elements_of_a_list_are_ordered_by_their_ids() {
    let graph = many();
    assert_eq!(shown(&graph, "g.V().fold().order(local).limit(local, 3).unfold().id()"), "0 1 2");
    let text = "g.V().groupCount().order(local).by(values).by(keys, desc).limit(local, 2).unfold().select(keys).id()";
    assert_eq!(shown(&graph, text), "99 98");
}

#[test]
fn unfolding_what_is_no_collection_is_a_step_of_the_path() {
    let modern = Oracle::modern();
    assert_eq!(run(&modern, "g.V(1).unfold().path().count(local)"), [Value::Int64(2)]);
    assert_eq!(run(&modern, "g.V(1).values('name').unfold().path().count(local)"), [Value::Int64(3)]);
}

#[test]
fn an_object_named_twice_where_it_stands_is_one_object() {
    let modern = Oracle::modern();
    assert_eq!(run(&modern, "g.V(1).as('a').has('name').as('a').select(all, 'a').count(local)"), [Value::Int64(1)]);
    assert_eq!(
        run(&modern, "g.V(1).as('a').out().in().hasId(1).as('a').limit(1).select(all, 'a').count(local)"),
        [Value::Int64(2)]
    );
}

#[test]
fn a_sum_is_of_numbers_and_no_wider_than_it_must_be() {
    let modern = Oracle::modern();
    let error = try_run(&modern, "g.V(1).values('name').sum()", Vec::new()).unwrap_err();
    assert_eq!(error.kind, QueryErrorKind::Value);
    assert_eq!(run(&many(), "g.V().out().barrier().values('small').sum()"), [Value::Int8(100)]);
}

#[test]
fn what_is_selected_begins_anew_in_by() {
    let graph = &Oracle::modern();
    // `otherV()` starts from marko, whatever the traverser passed since.
    assert_eq!(shown(graph, "g.V(3).as('a').in().has('name', 'marko').select('a').by(bothE().otherV().count())"), "3");
    assert_eq!(shown(graph, "g.V(1).as('a').out('created').select('a').by(bothE('created').otherV().id())"), "3");
    assert_eq!(
        shown(
            graph,
            "g.V(3).as('a').in().has('name', 'marko').select('a').by(__.in().has('name', 'josh').path().by('name'))"
        ),
        "path[lop, josh]"
    );
    // The child does not see the labels of the traverser's path.
    assert_eq!(
        shown(graph, "g.V(1).as('a').out('created').as('b').select('a').by(coalesce(select('b'), constant('none')))"),
        "none"
    );
}

#[test]
fn the_shape_knows_labels_that_stand_in_and() {
    let modern = Oracle::modern();
    let shape = |text: &str, rules_off: Vec<String>| {
        let options = QueryOptions { rules_off, ..QueryOptions::default() };
        let execution = Query::parse(text).unwrap().execute(&mut Graph::Read(&modern), &Parameters::new(), &options);
        format!("{:?}", execution.unwrap().outlook().shape(modern.schema()))
    };
    for text in [
        "g.V().and(__.filter(__.identity()), __.hasLabel('software'))",
        "g.V().and(__.and(__.hasLabel('software')), __.has('name'))",
        "g.V().filter(__.out()).hasLabel('software').path()",
    ] {
        let with = shape(text, Vec::new());
        assert_eq!(with, shape(text, RULES.iter().map(|rule| rule.name.to_owned()).collect()), "{text}");
    }
    let known = shape("g.V().and(__.filter(__.identity()), __.hasLabel('software'))", Vec::new());
    assert!(known.contains("lang") && !known.contains("age"), "{known}");
}

fn shape(graph: &Oracle, text: &str) -> String {
    let (query, options) = (Query::parse(text).unwrap(), QueryOptions::default());
    let execution = query.execute(&mut Graph::Read(graph), &Parameters::new(), &options).unwrap();
    format!("{:?}", execution.outlook().shape(graph.schema()))
}

#[test]
fn columns_do_not_depend_on_how_a_test_is_written() {
    let mut graph = Oracle::modern();
    let text = "g.V(1).addLabel('software').addLabel('animal')";
    let mut writer = Graph::Write(&mut graph);
    let query = Query::parse(text).unwrap().execute(&mut writer, &Parameters::new(), &QueryOptions::default());
    query.unwrap().collect(&mut writer).unwrap();
    for (one, other) in [
        (
            "g.V().out('created').hasLabel('animal', 'software').hasLabel('animal')",
            "g.V().out('created').hasLabel('animal').hasLabel('animal', 'software')",
        ),
        ("g.V().outE('created').has('weight', gt(0.5)).otherV()", "g.V().outE('created').otherV()"),
        ("g.V().outE('created').where(inV()).otherV()", "g.V().outE('created').inV()"),
    ] {
        assert_eq!(shape(&graph, one), shape(&graph, other), "{one}");
    }
    assert_ne!(shape(&graph, "g.V().outE('created').otherV()"), shape(&graph, "g.V().bothE('created').otherV()"));
}

#[test]
fn a_map_that_comes_several_times_is_no_table_of_its_entries() {
    let modern = Oracle::modern();
    let alone = "g.V().group().by('name').by('age')";
    let several = "g.V().group().by('name').by('age').as('a').unfold().select(all, 'a').unfold()";
    assert_eq!(run(&modern, several).len(), 6);
    assert!(shape(&modern, alone).contains("Groups") && !shape(&modern, several).contains("Groups"));
}
