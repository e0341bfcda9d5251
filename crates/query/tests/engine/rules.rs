//! What the optimiser's rules do to a plan: each shows in an explanation, and none changes a result.

use mangrove_graph::{ElementKind, GraphWrite, NewEdge, Value};
use mangrove_query::optimize::RULES;
use mangrove_query::{Graph, Parameters, Query, QueryOptions};
use mangrove_testkit::Oracle;

use crate::*;

#[test]
fn no_rule_changes_a_result() {
    let queries = [
        "g.V().hasLabel('person').has('age', gt(28)).values('name')",
        "g.V().has('person','name','marko').out('created').in('created').values('name')",
        "g.V().hasId(1, 3).outE().inV().values('name')",
        "g.V().outE('knows').inV().out('created').count()",
        "g.V().out().out().dedup().count()",
        "g.V().repeat(both()).times(3).groupCount().by('name')",
        "g.V().where(out().count().is(gt(1))).values('name')",
        "g.V().group().by(label).by(bothE().count())",
        "g.V().as('a').out().as('b').in().where(neq('a')).select('a','b').by('name')",
        "g.V().bothE().otherV().path().by('name').by(label)",
        "g.E().has('weight', lt(0.5)).outV().dedup().values('name')",
        "g.V().hasLabel('nobody').count()",
        "g.V().has('nothing', 1).count()",
        "g.V().local(out().limit(1)).values('name')",
        "g.V().out().hasLabel('software').order().by('name').limit(2).values('name')",
    ];
    let modern = Oracle::modern();
    for text in queries {
        let expected = bag(run(&modern, text));
        for rule in RULES {
            let options = QueryOptions { rules_off: vec![rule.name.into()], ..QueryOptions::default() };
            let without = run_with(&modern, text, &Parameters::new(), &options).unwrap();
            assert_eq!(bag(without), expected, "{text} without {}", rule.name);
        }
        let options =
            QueryOptions { rules_off: RULES.iter().map(|r| r.name.to_owned()).collect(), ..QueryOptions::default() };
        assert_eq!(bag(run_with(&modern, text, &Parameters::new(), &options).unwrap()), expected, "{text} without any rule");
    }
}

#[test]
fn every_rule_shows_in_an_explanation() {
    let modern = Oracle::modern();
    let explained = |text: &str| {
        let query = Query::parse(text).unwrap();
        query.explain(&modern, &Parameters::new(), &QueryOptions::default()).unwrap()
    };
    let explanation = explained("g.V().has('person','name','marko').outE('knows').inV().out().out().count()");
    let changed: Vec<&str> = explanation.rules.iter().map(|(name, _)| *name).collect();
    assert_eq!(changed, ["scan-filters", "adjacency", "degree", "bulking", "any-order"], "{explanation}");
    assert!(explanation.last().starts_with("Scan(vertices, person, name = marko)"), "{explanation}");

    let others = [
        ("combine-filters", "g.V().out().has('age', gt(3)).has('name', 'x')", "Has(age"),
        ("reorder-filters", "g.V().out().where(out().out()).hasLabel('person')", "Has(T.label = person) → Where"),
        ("count-scan", "g.V().hasLabel('person').count()", "CountScan(vertices, person)"),
        ("degree", "g.V().where(out('knows'))", "Where[Degree(Out, knows)]"),
        ("bulking", "g.V(1).aggregate('a').in().out().where(without('a')).count()", "Hop(In, vertices) → Barrier"),
        ("top", "g.V().order().by('age').limit(2)", "Order(first 2)"),
        ("limit", "g.V(1).local(out('knows').limit(2))", "Hop(Out, vertices, knows, at most 2 each)"),
        ("adjacency", "g.V(1).bothE().otherV().values('name')", "Hop(Both, vertices)"),
        ("any-order", "g.V().where(out().has('name', 'x'))", "any order"),
        (
            "semi-join",
            "g.V().where(out('knows').has('name', 'josh'))",
            "SemiJoin[Hop(Out, vertices, knows, any order) → Has(name = josh) | Scan(vertices, name = josh)]",
        ),
        ("early-dedup", "g.V(1).out().out().dedup().id()", "Dedup → Barrier → Hop"),
        (
            "bounded-search",
            "g.V(1).repeat(out()).emit().times(3).dedup().id()",
            "Repeat(times 3)[Hop(Out, vertices) → Dedup",
        ),
    ];
    for (rule, text, expected) in others {
        let explanation = explained(text);
        let after = explanation.rules.iter().find(|(name, _)| *name == rule).map(|(_, plan)| plan);
        assert!(after.is_some_and(|plan| plan.contains(expected)), "{rule}: {explanation}");
    }
}

/// One vertex with edges to itself, since 0, 10, … 90.
fn timed() -> Oracle {
    let mut graph = Oracle::default();
    let (thing, knows) =
        (graph.ensure_label(ElementKind::Vertex, "thing").unwrap(), graph.ensure_label(ElementKind::Edge, "knows").unwrap());
    let since = graph.ensure_key("since").unwrap();
    graph.declare_time(knows, since).unwrap();
    let mut made = Vec::new();
    graph.add_vertices(thing, &[Some(0.into())], &mut made).unwrap();
    let edge = |at: i64| NewEdge { source: made[0], target: made[0], id: None, time: Some(Value::Int64(10 * at)) };
    graph.add_edges(knows, &(0..10).map(edge).collect::<Vec<_>>(), &mut Vec::new()).unwrap();
    graph
}

#[test]
fn windows_of_time_are_read_by_hops() {
    let graph = timed();
    for (text, plan, expected) in [
        ("outE('knows').has('since', gt(70)).count()", "Degree(Out, knows, since > 70)", 2),
        ("outE().has('since', gte(20)).has('since', lt(50)).has('since', neq(30)).count()", "Has(since", 2),
        ("inE('knows').has('since', between(20, 40)).outV().count()", "since", 2),
        ("where(outE('knows').has('since', 40)).count()", "Degree(Out, knows, since = 40)", 1),
        ("where(outE('knows').has('since', 45)).count()", "Degree(Out, knows, since = 45)", 0),
        ("local(outE('knows').has('since', gt(10)).limit(3)).count()", "at most 3 each", 3),
    ] {
        let text = format!("g.V().{text}");
        let explanation =
            Query::parse(&text).unwrap().explain(&graph, &Parameters::new(), &QueryOptions::default()).unwrap();
        assert!(explanation.rules.iter().any(|(name, _)| *name == "edge-filters"), "{explanation}");
        assert!(explanation.last().contains(plan), "{explanation}");
        assert_eq!(one(&graph, &text), Value::Int64(expected), "{text}");
    }
    let latest = "g.V().outE('knows').order().by('since', desc).limit(2).values('since').fold()";
    let explanation = Query::parse(latest).unwrap().explain(&graph, &Parameters::new(), &QueryOptions::default()).unwrap();
    assert!(
        explanation.last().contains("the 2 of each with the greatest since at least) → Order(first 2)"),
        "{explanation}"
    );
    assert_eq!(one(&graph, latest), Value::List(vec![90i64.into(), 80i64.into()].into()));
    // The order of times does not help with this predicate, so it stays a filter.
    let text = "g.V().outE('knows').has('since', without(10, 20)).count()";
    let explanation = Query::parse(text).unwrap().explain(&graph, &Parameters::new(), &QueryOptions::default()).unwrap();
    assert!(explanation.rules.iter().all(|(name, _)| *name != "edge-filters"), "{explanation}");
    assert_eq!(one(&graph, text), Value::Int64(8));
}

/// A profile tells which way a `where()` went: backwards it follows few hops, however many rows there are.
#[test]
fn a_test_for_few_ends_is_answered_from_these() {
    let graph = hubs();
    let end = one(&graph, "g.V().where(__.in('knows').count().is(between(3, 6))).id().limit(1)").to_string();
    let profile = |text: &str, rules_off: &[&str]| {
        let rules_off = rules_off.iter().map(|rule| (*rule).to_owned()).collect();
        let options = QueryOptions { profile: true, rules_off, ..QueryOptions::default() };
        let mut graph = Graph::Read(&graph);
        let query = Query::parse(text).unwrap();
        let profile = query.execute(&mut graph, &Parameters::new(), &options).unwrap().profile(&mut graph).unwrap();
        let hops = profile.steps.iter().filter(|step| step.depth == 1 && step.step.starts_with("Hop"));
        hops.map(|step| step.rows).sum::<u64>()
    };
    for text in [
        "g.V().out('knows').out('knows').where(out('knows').has(id, 500)).id()",
        "g.V().out('knows').out('knows').not(__.in('knows').has(id, within(500, 77))).id()",
        "g.V().out('knows').out('knows').where(both().has(id, 500)).id()",
        "g.V().out('knows').out('knows').where(out('knows').has('person', id, 500)).id()",
        "g.V().out('knows').out('knows').union(where(out('knows').has(id, 500)), where(out().has(id, 77))).id()",
        "g.V().out('knows').out('knows').where(out('nothing').has(id, 500)).id()",
    ] {
        let text = &text.replace("500", &end);
        let off = QueryOptions { rules_off: vec!["semi-join".into()], ..QueryOptions::default() };
        let forwards = run_with(&graph, text, &Parameters::new(), &off).unwrap();
        assert_eq!(run(&graph, text), forwards, "{text}");
    }
    let few = &format!("g.V().out('knows').out('knows').where(out('knows').has(id, {end})).id()");
    let (with, without) = (profile(few, &[]), profile(few, &["semi-join"]));
    assert!(!run(&graph, few).is_empty() && with * 10 < without, "{with} hops instead of {without}");
    // Hubs are reached from nearly everywhere. A set of all that lead to them is no use, so the test goes forwards.
    let many = "g.V().out('knows').limit(64).where(both('knows').has(id, within(0, 1, 2))).id()";
    assert_eq!(profile(many, &[]), profile(many, &["semi-join"]));
    // A query that writes goes forwards: what it adds may pass.
    let mut graph = graph.clone();
    let mut graph = Graph::Write(&mut graph);
    let text = "g.V().out('knows').out('knows').where(out('knows').has(id, 500)).addE('knows').to(__.V(500)).count()";
    let added =
        Query::parse(&text.replace("500", &end)).unwrap().execute(&mut graph, &Parameters::new(), &QueryOptions::default());
    assert!(added.unwrap().collect(&mut graph).unwrap()[0].as_i64() > Some(0));
}

/// Vertices that are visited in storage order keep what `as()` named beside them.
#[test]
fn labels_stay_with_their_traversers() {
    let graph = hubs();
    for text in ["g.V().as('a').out().out().where(neq('a')).count()", "g.V().as('a').out().in().where(eq('a')).count()"] {
        let off = QueryOptions { rules_off: vec!["any-order".into()], ..QueryOptions::default() };
        let expected = run_with(&graph, text, &Parameters::new(), &off).unwrap();
        assert_eq!(run(&graph, text), expected, "{text}");
        assert!(expected[0].as_i64() > Some(100), "{text}");
    }
}
