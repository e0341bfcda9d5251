//! The engine on graphs in memory: what TinkerPop's scenarios do not cover. Rules change no result, limits stop work, budgets and
//! clocks end it, parameters and warnings work as documented.

use std::collections::HashMap;
use std::time::Duration;

use mangrove_graph::{
    Catalog, Cell, ElementKind, Elements, GraphView, GraphWrite, IdSpace, NewEdge, PropertyColumn, PropertyId, Value,
    VertexId,
};
use mangrove_query::optimize::RULES;
use mangrove_query::{CancelToken, Graph, Parameters, Query, QueryError, QueryErrorKind, QueryOptions};
use mangrove_testkit::{Oracle, graphs};

fn run_with(graph: &Oracle, text: &str, parameters: &Parameters, options: &QueryOptions) -> Result<Vec<Value>, QueryError> {
    let mut graph = Graph::Read(graph);
    Query::parse(text)?.execute(&mut graph, parameters, options)?.collect(&mut graph)
}

fn run(graph: &Oracle, text: &str) -> Vec<Value> {
    run_with(graph, text, &Parameters::new(), &QueryOptions::default()).unwrap_or_else(|e| panic!("{text}: {}", e.render()))
}

fn error(graph: &Oracle, text: &str, options: &QueryOptions) -> QueryError {
    run_with(graph, text, &Parameters::new(), options).expect_err(text)
}

fn one(graph: &Oracle, text: &str) -> Value {
    let mut all = run(graph, text);
    assert_eq!(all.len(), 1, "{text}: {all:?}");
    all.remove(0)
}

/// A graph with hubs: 512 vertices of one label, 4096 edges.
fn hubs() -> Oracle {
    let mut graph = Oracle::new(IdSpace::Graph);
    let person = graph.ensure_label(ElementKind::Vertex, "person").unwrap();
    let knows = graph.ensure_label(ElementKind::Edge, "knows").unwrap();
    let mut vertices: Vec<VertexId> = Vec::new();
    graph.add_vertices(person, &(0..512).map(|id| Some(id.into())).collect::<Vec<_>>(), &mut vertices).unwrap();
    let edges: Vec<NewEdge> = graphs::rmat(9, 4096, 7)
        .into_iter()
        .map(|(s, t)| NewEdge { source: vertices[s as usize], target: vertices[t as usize], id: None, time: None })
        .collect();
    graph.add_edges(knows, &edges, &mut Vec::new()).unwrap();
    graph
}

/// Results as a multiset.
fn bag(values: Vec<Value>) -> HashMap<String, usize> {
    let mut bag = HashMap::new();
    for value in values {
        *bag.entry(value.to_string()).or_default() += 1;
    }
    bag
}

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

#[test]
fn the_first_of_an_order_are_those_of_the_whole_order() {
    let graph = hubs();
    // Many ties by the first modulator. For some vertices the second gives nothing.
    let order = "g.V().order().by(out().count(), desc).by(in().has('x').count()).by(id)";
    let partial = "g.V().order().by(out().count()).by(out().id().min()).by(id)";
    for text in [order, partial] {
        let whole = run(&graph, text);
        for n in [0, 1, 7, 100] {
            assert_eq!(run(&graph, &format!("{text}.limit({n})")), whole[..n.min(whole.len())], "{text} {n}");
        }
        assert_eq!(run(&graph, &format!("{text}.range(3, 9)")), whole[3..9]);
    }
}

#[test]
fn what_is_gathered_aside_is_a_set_to_compare_with() {
    let graph = hubs();
    let inside = one(&graph, "g.V().has(id, lt(100)).aggregate('a').out().where(within('a')).count()").as_i64().unwrap();
    let outside = one(&graph, "g.V().has(id, lt(100)).aggregate('a').out().where(without('a')).count()").as_i64().unwrap();
    let all = one(&graph, "g.V().has(id, lt(100)).out().count()").as_i64().unwrap();
    assert!(inside > 0 && outside > 0);
    assert_eq!(inside + outside, all);
    assert_eq!(one(&graph, "g.V().has(id, lt(100)).out().has(id, lt(100)).count()").as_i64().unwrap(), inside);
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

/// Behind a barrier nobody writes any more, so traversers need not go one by one.
#[test]
fn what_is_complete_is_read_by_many_at_once() {
    let graph = hubs();
    let batches = |text: &str| {
        let options = QueryOptions { profile: true, ..QueryOptions::default() };
        let mut graph = Graph::Read(&graph);
        let query = Query::parse(text).unwrap();
        let profile = query.execute(&mut graph, &Parameters::new(), &options).unwrap().profile(&mut graph).unwrap();
        let step = profile.steps.iter().rfind(|step| step.step.starts_with("WhereLabels")).unwrap();
        (step.traversers, step.batches)
    };
    let gathered = "g.V().has(id, lt(9)).sideEffect(out().aggregate('x')).aggregate('all').out().where(within('x'))";
    let (all, few) = batches(gathered);
    assert_eq!(one(&graph, "g.V().has(id, lt(9)).out().count()"), Value::Int64(all as i64), "each was gathered before");
    assert!(all > 50 && few < 10, "{all} traversers in {few} batches");
    // Without the barrier each sees what those before it have gathered, and no more.
    let growing = "g.V().has(id, lt(99)).sideEffect(out().aggregate('x')).where(without('x'))";
    let seen = run(&graph, growing).len();
    let complete =
        run(&graph, "g.V().has(id, lt(99)).sideEffect(out().aggregate('x')).aggregate('y').where(without('x'))").len();
    assert!(complete < seen && seen < 99, "{complete} of {seen}");
    // So does barrier(). One with a bound lets large numbers through in several batches.
    let whole = "g.V().has(id, lt(99)).sideEffect(out().aggregate('x')).barrier().where(without('x'))";
    assert_eq!(batches(whole), (complete as u64, 1));
    let mixed = "g.V().has(id, lt(99)).sideEffect(out().aggregate('x')).union(identity(), id(), outE()).barrier().where(without('x'))";
    assert_eq!(batches(mixed).1, 1, "whatever they are");
    let single = "g.withBulk(false).V().has(id, lt(99)).sideEffect(out().aggregate('x')).barrier().where(without('x'))";
    assert_eq!(batches(single), (complete as u64, 1));
    let bounded = "g.V().has(id, lt(99)).sideEffect(out().aggregate('x')).barrier(9).where(without('x'))";
    assert_eq!(batches(bounded).0, batches(bounded).1, "one by one");
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

#[test]
fn an_explanation_says_how_elements_are_found_and_how_many_are_expected() {
    let modern = Oracle::modern();
    let query = Query::parse("g.V().hasLabel('person').out('created').limit(2)").unwrap();
    let explanation = query.explain(&modern, &Parameters::new(), &QueryOptions::default()).unwrap();
    let steps: Vec<_> = explanation.steps.iter().map(|s| (s.access.as_deref(), s.expected)).collect();
    assert_eq!(steps[0], (Some("SCAN of 4 vertices labelled person"), 4.0));
    assert_eq!((steps[1].0, steps[2].1), (None, 2.0));
    assert!(explanation.to_string().contains("expected"), "{explanation}");
    assert!(
        explanation.to_json().contains("\"access\":\"SCAN of 4 vertices labelled person\""),
        "{}",
        explanation.to_json()
    );
}

#[test]
fn an_explanation_names_an_index_only_if_it_answers() {
    let mut graph = Oracle::modern();
    let (person, age) = (graph.schema().label(ElementKind::Vertex, "person").unwrap(), graph.schema().key("age").unwrap());
    graph.create_index(PropertyId::of_vertices(person, age)).unwrap();
    for (predicate, access) in [
        ("gt(30)", "index on person.age"),
        ("within(29, 32)", "index on person.age"),
        ("neq(30)", "SCAN of 4 vertices labelled person"),
        ("without(29)", "SCAN of 4 vertices labelled person"),
    ] {
        let text = format!("g.V().has('person', 'age', {predicate})");
        let explained = Query::parse(&text).unwrap().explain(&graph, &Parameters::new(), &QueryOptions::default()).unwrap();
        assert_eq!(explained.steps[0].access.as_deref(), Some(access), "{text}");
    }
    // A vertex that carries the label as a further one is not in the label's index.
    let software = graph.schema().label(ElementKind::Vertex, "software").unwrap();
    let mut found = Vec::new();
    graph.find_vertices(None, &[3i64.into()], &mut found).unwrap();
    graph.set_further_labels(found[0].unwrap(), &[person]).unwrap();
    assert_ne!(found[0].unwrap().label(), person, "it is a {software:?}");
    let query = Query::parse("g.V().has('person', 'age', 29)").unwrap();
    let explained = query.explain(&graph, &Parameters::new(), &QueryOptions::default()).unwrap();
    assert_eq!(explained.steps[0].access.as_deref(), Some("SCAN of 4 vertices labelled person"));
}

#[test]
fn a_profile_counts_what_each_step_gave() {
    let modern = Oracle::modern();
    let mut graph = Graph::Read(&modern);
    let options = QueryOptions { profile: true, ..QueryOptions::default() };
    let query = Query::parse("g.V().hasLabel('person').repeat(out()).times(2).values('name')").unwrap();
    let profile = query.execute(&mut graph, &Parameters::new(), &options).unwrap().profile(&mut graph).unwrap();
    let rows: Vec<_> = profile.steps.iter().map(|s| (s.depth, s.traversers)).collect();
    assert_eq!(profile.results, 2);
    assert_eq!((rows.first(), rows.last()), (Some(&(0, 4)), Some(&(0, 2))), "{profile}");
    assert!(profile.steps.iter().any(|s| s.depth == 1 && s.step.starts_with("Hop(Out")), "{profile}");
    assert!(profile.to_json().contains("\"results\":2"), "{}", profile.to_json());
}

#[test]
fn a_profile_shows_what_children_did() {
    let modern = Oracle::modern();
    let mut graph = Graph::Read(&modern);
    let options = QueryOptions { profile: true, ..QueryOptions::default() };
    let text = "g.V().where(out('created').count().is(gt(0))).union(values('name'), out().values('age')).fold()";
    let query = Query::parse(text).unwrap();
    let profile = query.execute(&mut graph, &Parameters::new(), &options).unwrap().profile(&mut graph).unwrap();
    let shown: Vec<_> = profile.steps.iter().map(|s| (s.depth, s.first, s.step.as_str())).collect();
    let explained = query.explain(&modern, &Parameters::new(), &options).unwrap();
    assert_eq!(shown, explained.steps.iter().map(|s| (s.depth, s.first, &*s.step)).collect::<Vec<_>>());
    let traversers = |depth: usize| -> Vec<_> {
        profile.steps.iter().filter(|s| s.depth == depth).map(|s| (s.first, s.traversers)).collect()
    };
    // Three created something and have three names. Of the six they lead to, two have an age.
    assert_eq!(traversers(0), [(false, 6), (false, 3), (false, 5), (false, 1)], "{profile}");
    assert_eq!(traversers(1)[3..], [(true, 3), (true, 6), (false, 2)], "{profile}");
    assert!(profile.steps.iter().all(|s| s.threads == 1 && !s.time.is_zero()), "{profile}");
    assert!(profile.to_string().contains("\n  └ Hop(Out, vertices)"), "{profile}");
    assert!(profile.to_string().contains("\n    Values(age)"), "{profile}");
}

#[test]
fn what_is_gathered_is_asked_while_it_grows() {
    let modern = Oracle::modern();
    let distinct = "g.inject(1, 2, 1.0, 3, 2, 'a', 'a').where(without('seen')).aggregate(local, 'seen')";
    assert_eq!(run(&modern, distinct).len(), 4, "1, 2, 3 and a");
    let again = "g.inject(1, 2, 1.0, 3, 2, 'a', 'a').where(within('seen').or(without('seen'))).aggregate(local, 'seen')";
    assert_eq!(run(&modern, again).len(), 7);
    let replaced =
        "g.withSideEffect('seen', 5, Operator.assign).inject(5, 6, 6).where(without('seen')).aggregate(local, 'seen')";
    assert_eq!(run(&modern, replaced).len(), 1);
}

#[test]
fn elements_within_values_read_by_the_ids_users_know() {
    let modern = Oracle::modern();
    let text = |query: &str| one(&modern, query).to_string();
    assert_eq!(text("g.V(1).out('knows').order().by(id).fold().asString()"), "[v[2], v[4]]");
    assert_eq!(text("g.V(1).outE('created').inV().path().asString()"), "path[v[1], e[9][1-created->3], v[3]]");
    assert_eq!(text("g.V(1, 4).fold().conjoin('; ')"), "v[1]; v[4]");
    assert_eq!(text("g.V(5).group().by(label).asString()"), "{software=[v[5]]}");
    assert_eq!(text("g.V(1).as('x').out('created').format('%{x} made %{name}')"), "v[1] made lop");
    assert_eq!(text("g.V(1).out('created').tree().asString()"), "{v[1]={v[3]={}}}");
}

#[test]
fn what_cannot_be_compared_fits_the_negation() {
    let modern = Oracle::modern();
    for (query, n) in [
        ("g.inject('a', 1).is(not(gt(0)))", 1),
        ("g.inject('a', 1).is(gt(0).negate())", 1),
        ("g.inject(null, 'b').is(notStartingWith('a'))", 2),
        ("g.V().has('name', not(gt(3)))", 6),
        ("g.V().has('age', not(gt('x')))", 4),
        ("g.inject('a', 1).not(is(gt(0)))", 1),
        ("g.inject('a', 1).is(gt(0))", 1),
    ] {
        assert_eq!(run(&modern, query).len(), n, "{query}");
    }
}

#[test]
fn plans_of_nested_repeats_are_estimated_at_once() {
    let modern = Oracle::modern();
    let mut text = "out('knows')".to_owned();
    for _ in 0..40 {
        text = format!("repeat(__.{text}).times(64)");
    }
    let query = Query::parse(&format!("g.V().{text}.count()")).unwrap();
    let explained = query.explain(&modern, &Parameters::new(), &QueryOptions::default()).unwrap();
    assert_eq!(explained.steps.len(), 43);
    let hops = Query::parse("g.V().hasLabel('person').out('created')").unwrap();
    let explained = hops.explain(&modern, &Parameters::new(), &QueryOptions::default()).unwrap();
    assert_eq!(explained.steps.last().map(|step| step.expected), Some(4.0), "all that persons created");
}

#[test]
fn a_key_with_several_values_is_no_modulator_and_division_has_a_divisor() {
    let mut graph = Oracle::modern();
    let lists = Query::parse("g.V(1).property(list, 'tag', 1).property(list, 'tag', 2)").unwrap();
    let graph_mut = &mut Graph::Write(&mut graph);
    lists.execute(graph_mut, &Parameters::new(), &QueryOptions::default()).unwrap().collect(graph_mut).unwrap();
    let several = error(&graph, "g.V(1).project('t').by('tag')", &QueryOptions::default());
    assert!(several.message.contains("several values"), "{several}");
    assert!(error(&graph, "g.inject(1).math('_ / 0')", &QueryOptions::default()).message.contains("zero"));
    assert_eq!(
        run(&graph, "g.withSideEffect('s', {1, 2}).V().hasLabel('person').aggregate('s').by(id).cap('s').unfold()").len(),
        4
    );
    let keyed =
        "g.withStrategies(new ProductiveByStrategy(productiveKeys: ['age'])).V().group().by('age').by('name').unfold()";
    assert_eq!(run(&graph, keyed).len(), 4);
}

#[test]
fn errors_say_what_the_author_can_know() {
    let modern = Oracle::modern();
    let failed = |text: &str| error(&modern, text, &QueryOptions::default());
    // The message hides the store's numbers for elements.
    assert_eq!(failed("g.V().sum()").message, "the vertex is not a number");
    let none_before = failed("g.E().otherV()");
    assert!(none_before.message.contains("has visited no vertex"), "{none_before}");
    assert!(none_before.render().contains("bothV()"), "{}", none_before.render());
    let warnings = |text: &str| {
        let mut graph = Graph::Read(&modern);
        let execution =
            Query::parse(text).unwrap().execute(&mut graph, &Parameters::new(), &QueryOptions::default()).unwrap();
        execution.warnings().to_vec()
    };
    let told = "nothing in the query is called `perso`; did you mean `person`?";
    assert_eq!(warnings("g.V().as('person').out().where(neq('perso'))"), [told]);
    for text in [
        "g.V().as('a').out().aggregate('x').in().where(neq('a')).where(without('x')).select('a')",
        "g.V().project('n').by('name').select('n')",
        "g.V().valueMap('name').select('name')",
    ] {
        assert_eq!(warnings(text), Vec::<String>::new(), "{text}");
    }
    let mut graph = Graph::Read(&modern);
    let misspelt = Query::parse("g.with('evaluationTimout', 500).V().count()").unwrap();
    let execution = misspelt.execute(&mut graph, &Parameters::new(), &QueryOptions::default()).unwrap();
    let told = "`evaluationTimout` is not an option of a query; did you mean `evaluationTimeout`?";
    assert_eq!(execution.warnings(), [told]);
}

#[test]
fn ways_are_counted_without_walking_each() {
    // Far more ways than anyone could walk one by one.
    let graph = hubs();
    let ways = one(&graph, "g.V().repeat(out()).times(6).count()").as_i64().unwrap();
    assert!(ways > 100_000_000, "{ways}");
    let reached = one(&graph, "g.V().repeat(out()).times(20).dedup().count()").as_i64().unwrap();
    assert!((1..=512).contains(&reached), "{reached}");
}

#[test]
fn more_ways_than_can_be_counted_are_an_error() {
    let error = error(&hubs(), "g.V().repeat(both()).times(60).count()", &QueryOptions::default());
    assert!(error.message.contains("64-bit count"), "{error}");
}

#[test]
fn a_limit_stops_the_work_before_it() {
    let graph = hubs();
    // Without the limit there would be more results than memory.
    let first = run(&graph, "g.V().repeat(both()).emit().limit(5)");
    assert_eq!(first.len(), 5);
    assert_eq!(run(&graph, "g.V().out().out().out().out().out().out().limit(3).count()"), [Value::Int64(3)]);
}

#[test]
fn results_come_in_bounded_parts() {
    let graph = hubs();
    let mut view = Graph::Read(&graph);
    let query = Query::parse("g.V().repeat(both()).times(12)").unwrap();
    let mut execution = query.execute(&mut view, &Parameters::new(), &QueryOptions::default()).unwrap();
    for _ in 0..3 {
        let part = execution.next(&mut view).unwrap().expect("there are many more");
        assert!(!part.is_empty() && part.len() <= 1 << 16, "{}", part.len());
    }
}

#[test]
fn a_query_ends_at_its_timeout_when_cancelled_and_at_its_memory_budget() {
    let graph = hubs();
    let endless = "g.V().repeat(both().simplePath()).emit().path().count()";
    let options = QueryOptions { timeout: Some(Duration::from_millis(50)), ..QueryOptions::default() };
    assert_eq!(error(&graph, endless, &options).kind, QueryErrorKind::Timeout);

    let cancel = CancelToken::default();
    cancel.cancel();
    let options = QueryOptions { cancel, ..QueryOptions::default() };
    assert_eq!(error(&graph, endless, &options).kind, QueryErrorKind::Cancelled);

    let options = QueryOptions { memory_bytes_max: 1 << 20, ..QueryOptions::default() };
    for hungry in
        ["g.V().repeat(both()).times(9).fold()", "g.V().out().out().out().path().fold()", "g.V().repeat(out()).times(8)"]
    {
        assert_eq!(error(&graph, hungry, &options).kind, QueryErrorKind::Memory, "{hungry}");
    }
}

#[test]
fn whatever_holds_much_is_refused_in_time() {
    let graph = hubs();
    let options = QueryOptions { memory_bytes_max: 200_000, ..QueryOptions::default() };
    for hungry in [
        "g.V().union(out().out(), out().out().out()).fold()",
        "g.V().flatMap(out().out().fold())",
        "g.V().coalesce(out().out().out().fold(), identity())",
        "g.V().optional(both().both().both().fold())",
        "g.V().out().out().out().id().barrier(1000000000).fold()",
        "g.V().out().out().tail(1000000000).count()",
        "g.V().out().out().sample(1000000000).count()",
        "g.V().out().out().order().by(id)",
        "g.V().out().as('a').out().as('b').dedup('a', 'b').count()",
        "g.V().local(out().out().out().path().fold())",
        "g.V().out().out().group().by(id).by(fold())",
        "g.V().out().out().out().aggregate('x').cap('x')",
        "g.V().out().out().as('a').out().as('b').tree()",
        "g.V().out().out().groupCount().by(path())",
        "g.V().match(__.as('a').both().as('b'), __.as('b').both().as('c'), __.as('c').both().as('d')).fold()",
        "g.V().out().out().groupCount('x').by(path()).cap('x')",
    ] {
        assert_eq!(error(&graph, hungry, &options).kind, QueryErrorKind::Memory, "{hungry}");
    }
}

#[test]
fn what_is_held_for_one_batch_is_given_back_for_the_next() {
    let graph = hubs();
    let options = QueryOptions { memory_bytes_max: 2 << 20, ..QueryOptions::default() };
    // One round needs little memory. All two hundred at once would need many times the budget.
    for child in [
        "both().order().by(id)",
        "both().fold()",
        "both().dedup().count()",
        "both().groupCount()",
        "both().group().by(id).by(count())",
        "both().tail(2)",
        "union(both(), both()).count()",
    ] {
        let text = &format!("g.V().limit(100).repeat(where({child})).times(200).count()");
        let results = run_with(&graph, text, &Parameters::new(), &options);
        assert!(results.is_ok(), "{text}: {}", results.unwrap_err().render());
    }
}

#[test]
fn the_last_and_some_of_many() {
    let graph = hubs();
    let all = run(&graph, "g.V().out().out().limit(5000).id()");
    assert_eq!(all.len(), 5000);
    for n in [0usize, 1, 1500, 4999, 5000] {
        assert_eq!(run(&graph, &format!("g.V().out().out().limit(5000).tail({n}).id()")), all[5000 - n..], "{n}");
        assert_eq!(run(&graph, &format!("g.V().out().out().limit(5000).sample({n})")).len(), n);
    }
    assert_eq!(run(&graph, &format!("g.V().out().out().limit(5000).tail({}).id()", i64::MAX)), all);
    // By weight: an item without weight is never drawn, however many are wanted.
    let light = "g.inject(0, 0, 3, 0, 5).sample(4).by().fold()";
    let drawn = one(&graph, light).items().unwrap();
    assert_eq!(drawn.iter().filter_map(Value::as_i64).collect::<Vec<_>>(), [3, 5]);
    let heavier =
        run(&graph, "g.inject(1, 1000).repeat(identity()).times(1).map(union(identity(), constant(1)).sample(1).by())");
    assert_eq!(heavier.len(), 2);
}

#[test]
fn many_rows_are_sorted_as_few_are() {
    let graph = hubs();
    let of = |text: &str| run(&graph, text).iter().filter_map(Value::as_i64).collect::<Vec<_>>();
    let mut ids = of("g.V().out().out().out().limit(50000).id()");
    assert_eq!(ids.len(), 50_000);
    let ordered = of("g.V().out().out().out().limit(50000).id().order()");
    let first = of("g.V().out().out().out().limit(50000).id().order().by(desc).limit(7)");
    ids.sort_unstable();
    assert_eq!(ordered, ids);
    assert_eq!(first, ids.iter().rev().take(7).copied().collect::<Vec<_>>());
}

#[test]
fn long_steps_ask_whether_to_go_on() {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};
    let graph = hubs();
    for text in [
        "g.V().out().out().order().by(id)",
        "g.V().out().out().order().by(id).limit(3)",
        "g.V().out().out().sample(100000)",
        "g.V().out().out().group().by().by(id)",
        "g.V().barrier().out().out().map(out().order().by(id).tail(1)).count()",
        "g.V().match(__.as('a').both().as('b'), __.as('b').both().as('c')).count()",
        "g.V().out().id().aggregate('x').where(within('x')).count()",
    ] {
        let asked = Arc::new(AtomicUsize::new(0));
        let counting = asked.clone();
        let cancel = CancelToken::with_probe(Arc::new(move || {
            counting.fetch_add(1, Ordering::Relaxed);
            false
        }));
        run_with(&graph, text, &Parameters::new(), &QueryOptions { cancel, ..QueryOptions::default() }).unwrap();
        // The number of probes in a whole run. After a probe that says stop, the query must end.
        let all = asked.load(Ordering::Relaxed);
        assert!(all > 20, "{text} asked {all} times");
        for stop in [all / 3, all / 2, all - 2] {
            let left = AtomicUsize::new(stop);
            let late = Arc::new(AtomicUsize::new(0));
            let counting = late.clone();
            let probe = move || {
                let stopped = left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |n| n.checked_sub(1)).is_err();
                counting.fetch_add(usize::from(stopped), Ordering::Relaxed);
                stopped
            };
            let options = QueryOptions { cancel: CancelToken::with_probe(Arc::new(probe)), ..QueryOptions::default() };
            assert_eq!(error(&graph, text, &options).kind, QueryErrorKind::Cancelled, "{text} at {stop} of {all}");
            assert_eq!(late.load(Ordering::Relaxed), 1, "{text}: it ends with the first yes");
        }
    }
}

#[test]
fn a_parameter_means_what_a_literal_means_in_every_width() {
    let modern = Oracle::modern();
    let text = "g.V().has('person','age',x).values('name')";
    for value in [Value::Int8(29), Value::Int16(29), Value::Int32(29), Value::Int64(29), Value::Float64(29.0)] {
        let parameters = Parameters::from([("x".to_owned(), value)]);
        assert_eq!(run_with(&modern, text, &parameters, &QueryOptions::default()).unwrap(), [Value::from("marko")]);
    }
    let ids = Parameters::from([("ids".to_owned(), Value::list(vec![1i64.into(), 2i32.into()]))]);
    assert_eq!(run_with(&modern, "g.V(ids).count()", &ids, &QueryOptions::default()).unwrap(), [Value::Int64(2)]);

    let missing = run_with(&modern, text, &Parameters::new(), &QueryOptions::default()).unwrap_err();
    assert_eq!(missing.kind, QueryErrorKind::Parameter);
    assert!(missing.render().contains("x="), "{}", missing.render());
}

#[test]
fn names_the_graph_does_not_have_are_warned_of() {
    let modern = Oracle::modern();
    let warnings = |text: &str| {
        let mut graph = Graph::Read(&modern);
        let query = Query::parse(text).unwrap();
        let mut execution = query.execute(&mut graph, &Parameters::new(), &QueryOptions::default()).unwrap();
        execution.collect(&mut graph).unwrap();
        execution.warnings().to_vec()
    };
    assert_eq!(warnings("g.V().hasLabel('persn')"), ["the graph has no vertex label `persn`; did you mean `person`?"]);
    assert_eq!(warnings("g.V().out('know')"), ["the graph has no edge label `know`; did you mean `knows`?"]);
    assert_eq!(warnings("g.V().values('nam')"), ["the graph has no property key `nam`; did you mean `name`?"]);
    assert!(warnings("g.V().hasLabel('person').out('knows').values('name')").is_empty());
}

#[test]
fn errors_point_at_the_step() {
    let modern = Oracle::modern();
    let error = error(&modern, "g.V().values('name').out()", &QueryOptions::default());
    let shown = error.render();
    assert!(shown.contains("vertices") && shown.contains("^^^^^"), "{shown}");
    let unknown = Query::parse("g.V().ouT()").unwrap_err().render();
    assert!(unknown.contains("did you mean `out`?"), "{unknown}");
}

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

#[test]
fn an_index_gives_what_a_scan_gives() {
    let plain = Oracle::modern();
    let mut indexed = Oracle::modern();
    for label in ["person", "software"] {
        let label = indexed.schema().label(ElementKind::Vertex, label).unwrap();
        let key = indexed.schema().key("name").unwrap();
        assert!(indexed.create_index(PropertyId::of_vertices(label, key)).unwrap());
    }
    for text in [
        "g.V().has('name','marko').id()",
        "g.V().has('person','name','lop').id()",
        "g.V().has('person','name', within('marko','josh')).has('age', gt(30)).id()",
        "g.V().hasLabel('person','software').has('name', startingWith('p')).id()",
        "g.V().has('name', neq('marko')).id()",
        "g.V().has('age', 29).has('name','marko').id()",
        "g.inject(1, 2).V().has('name','ripple').id()",
    ] {
        assert_eq!(bag(run(&indexed, text)), bag(run(&plain, text)), "{text}");
    }
}

/// A timeout of a fifth of a second, and 64 MB.
fn limited(graph: &Oracle, text: &str) -> Result<Vec<Value>, QueryError> {
    let options =
        QueryOptions { timeout: Some(Duration::from_millis(200)), memory_bytes_max: 64 << 20, ..QueryOptions::default() };
    run_with(graph, text, &Parameters::new(), &options)
}

#[test]
fn enormous_counts_can_be_stopped() {
    let modern = Oracle::modern();
    for text in [
        "g.inject(1).repeat(identity()).times(1000000000000000000)",
        "g.inject(1).repeat(identity()).times(1000000000000000000).emit().count()",
        "g.V().repeat(both()).times(1000000000000000000).count()",
        "g.inject(1).repeat(local(identity())).until(loops().is(1000000000000000000))",
        "g.inject(1,2).repeat(barrier(1000000000000000000)).times(1000000000000000000)",
    ] {
        assert_eq!(limited(&modern, text).expect_err(text).kind, QueryErrorKind::Timeout, "{text}");
    }
    for (text, n) in [
        ("g.V().limit(9000000000000000000)", 6),
        ("g.V().range(2, 9000000000000000000)", 4),
        ("g.V().tail(9000000000000000000)", 6),
        ("g.V().sample(9000000000000000000)", 6),
        ("g.V().barrier(9000000000000000000)", 6),
        ("g.inject([1,2,3]).range(local, 1, 9000000000000000000).unfold()", 2),
        ("g.inject([1,2,3]).sample(local, 9000000000000000000).unfold()", 3),
        ("g.inject('abc').substring(1, 9000000000000000000)", 1),
        ("g.V().repeat(both()).emit().times(9000000000000000000).limit(5)", 5),
    ] {
        assert_eq!(run(&modern, text).len(), n, "{text}");
    }
    let day = "g.inject(datetime('2024-01-01T00:00:00Z')).dateAdd(DT.day, 9000000000000000000)";
    assert_eq!(limited(&modern, day).expect_err(day).kind, QueryErrorKind::Value);
}

#[test]
fn numbers_do_not_grow_without_end() {
    let modern = Oracle::modern();
    for text in [
        "g.withSack(1e9000m).inject(1).repeat(sack(mult).by(constant(1e9000m))).times(1000000).sack()",
        "g.withSack(1e-9000m).inject(1).repeat(sack(mult).by(constant(1e-9000m))).times(1000000).sack()",
        "g.withSack(7n).inject(1).repeat(sack(mult).by(sack())).times(1000000).sack()",
        "g.inject('1e999999999').asNumber()",
    ] {
        assert_eq!(limited(&modern, text).expect_err(text).kind, QueryErrorKind::Value, "{text}");
    }
    let huge: mangrove_graph::BigDecimal = "1e999999999".parse().unwrap();
    let parameters = Parameters::from([("x".to_owned(), Value::from(huge))]);
    let with_huge = |text| run_with(&modern, text, &parameters, &QueryOptions::default());
    assert_eq!(with_huge("g.inject(x).is(gt(1e100))").unwrap()[0].to_string(), "1E999999999");
    assert_eq!(with_huge("g.inject(x, 2, 1.5m).order().fold()").unwrap()[0].to_string(), "[1.5, 2, 1E999999999]");
    for text in
        ["g.inject(x, 1).sum()", "g.inject([x, 1]).sum(local)", "g.inject(x).asNumber(INT)", "g.inject(x).asNumber(BIGINT)"]
    {
        assert_eq!(with_huge(text).expect_err(text).kind, QueryErrorKind::Value, "{text}");
    }
}

#[test]
fn texts_and_lists_do_not_grow_past_the_budget() {
    let modern = Oracle::modern();
    let text = format!("g.inject('x'){}", ".as('a').concat(select('a'))".repeat(60));
    let list = format!("g.inject([1, 2]){}", ".as('a').combine(select('a'))".repeat(60));
    let pairs = format!("g.inject([1, 2, 3]){}", ".as('a').product(select('a'))".repeat(9));
    let options = QueryOptions { memory_bytes_max: 8 << 20, ..QueryOptions::default() };
    for text in [text, list, pairs] {
        assert_eq!(error(&modern, &text, &options).kind, QueryErrorKind::Memory, "{text}");
    }
}

#[test]
fn steps_of_one_name_gather_together() {
    let modern = Oracle::modern();
    let cases = [
        (
            "g.V().hasLabel('person').group('x').by(label).by('name').in('knows').group('x').by(label).by('name').cap('x')",
            "{person=[marko, vadas, josh, peter, marko, marko]}",
        ),
        (
            "g.V().group('x').by(label).by(count()).out('created').group('x').by(label).by(count()).cap('x')",
            "{person=4, software=6}",
        ),
        (
            "g.V().hasLabel('person').group('x').by(label).by(values('age').max()).V().has('name', 'lop').group('x').by(label).by(count()).cap('x')",
            "{person=35, software=4}",
        ),
        (
            "g.V().has('name', 'josh').out('created').tree('x').by('name').V().has('name', 'peter').out('created').tree('x').by('name').cap('x').unfold().count()",
            "1",
        ),
        ("g.V().outE('knows').subgraph('x').V().outE().subgraph('x').cap('x')", "graph[vertices:6 edges:6]"),
        ("g.V().repeat(outE().subgraph('x').inV()).times(2).cap('x')", "graph[vertices:6 edges:6]"),
    ];
    for (text, expected) in cases {
        assert_eq!(one(&modern, text).to_string(), expected, "{text}");
    }
}

#[test]
fn patterns_hold_one_way_or_another() {
    let modern = Oracle::modern();
    let cases = [
        (
            "or(as('a').out('knows').as('b'), as('a').in('knows').as('b'))",
            "[josh-marko, marko-josh, marko-vadas, vadas-marko]",
        ),
        (
            "or(as('a').out('created').as('b'), as('a').out('created').has('name', 'lop').as('b')), as('a').has('age', gt(32))",
            "[peter-lop]",
        ),
        (
            "or(and(as('a').out('knows').as('c'), as('c').out('created').as('b')), as('a').out('knows').as('b'))",
            "[marko-josh, marko-lop, marko-ripple, marko-vadas]",
        ),
    ];
    for (patterns, expected) in cases {
        let text = format!(
            "g.V().match(as('a').hasLabel('person'), {patterns}).select('a', 'b').by('name').select(values).conjoin('-')\
             .dedup().order().fold()"
        );
        assert_eq!(one(&modern, &text).to_string(), expected, "{text}");
    }
}

#[test]
fn the_end_of_a_query_says_how_much_of_it_is_wanted() {
    let modern = Oracle::modern();
    for (text, n) in [
        ("g.V().next()", 1),
        ("g.V().next(4)", 4),
        ("g.V().tryNext()", 1),
        ("g.V().toList()", 6),
        ("g.V().both().toSet()", 6),
        ("g.V().iterate()", 0),
        ("g.V().hasLabel('nothing').next()", 0),
    ] {
        assert_eq!(run(&modern, text).len(), n, "{text}");
    }
    assert_eq!(run(&modern, "g.V().hasNext()"), [Value::Bool(true)]);
    assert_eq!(run(&modern, "g.V().has('name', 'nobody').hasNext()"), [Value::Bool(false)]);
    for text in ["g.V().drop().explain()", "g.V().out().profile()", "g.V().toString()"] {
        let error = error(&modern, text, &QueryOptions::default());
        assert_eq!(error.kind, QueryErrorKind::Unsupported, "{error}");
        assert!(error.message.contains("it was not run"), "{error}");
    }
    let ending = error(&modern, "g.tx().commit()", &QueryOptions::default());
    assert_eq!(ending.kind, QueryErrorKind::Unsupported);
    assert!(ending.help.is_some_and(|help| help.contains("db.transaction()")));
}

#[test]
fn a_parameter_that_no_query_could_use_is_refused() {
    let modern = Oracle::modern();
    let with = |name: &str, text: &str| {
        let parameters = Parameters::from([(name.to_owned(), Value::Int64(1))]);
        run_with(&modern, text, &parameters, &QueryOptions::default())
    };
    for name in ["id", "label", "IN", "desc", "true", "two words", ""] {
        let error = with(name, "g.V(id)").expect_err(name);
        assert_eq!(error.kind, QueryErrorKind::Parameter, "{name}: {error}");
    }
    assert_eq!(with("x", "g.V(x)").unwrap().len(), 1);
    assert_eq!(with("unused", "g.V()").unwrap().len(), 6, "it may be for another query");
}

#[test]
fn arguments_a_step_does_not_take_are_refused() {
    let graph = hubs();
    for text in [
        "g.V().drop(hasLabel('person'))",
        "g.V().identity(1)",
        "g.V().count(1)",
        "g.V().order(1)",
        "g.V().group('a', 'b')",
        "g.V().outE().inV(1)",
        "g.V().cap()",
        "g.V().limit(-5)",
        "g.mergeV([name: 'a'], [name: 'b'])",
    ] {
        assert_eq!(error(&graph, text, &QueryOptions::default()).kind, QueryErrorKind::Step, "{text}");
    }
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

#[test]
fn an_id_is_looked_up_whatever_else_is_asked_for() {
    let graph = hubs();
    for text in ["g.V().hasLabel('person').hasId(1)", "g.V().hasId(1).hasLabel('person')", "g.V().has('person', T.id, 1)"] {
        let explained = Query::parse(text).unwrap().explain(&graph, &Parameters::new(), &QueryOptions::default()).unwrap();
        assert_eq!(explained.steps[0].access.as_deref(), Some("by id"), "{text}");
        assert_eq!(run(&graph, text).len(), 1, "{text}");
    }
}

#[test]
fn steps_that_are_told_a_direction_go_as_those_named_after_it() {
    let graph = hubs();
    for (told, named) in [
        ("g.V().toE(Direction.OUT).id()", "g.V().outE().id()"),
        ("g.V().toE(IN, 'knows').id()", "g.V().inE('knows').id()"),
        ("g.V().toE(BOTH, 'likes').id()", "g.V().bothE('likes').id()"),
        ("g.E().toV(OUT).id()", "g.E().outV().id()"),
        ("g.E().toV(Direction.IN).id()", "g.E().inV().id()"),
        ("g.E().toV(BOTH).id()", "g.E().bothV().id()"),
    ] {
        assert_eq!(run(&graph, told), run(&graph, named), "{told}");
    }
}

#[test]
fn a_time_limit_ends_what_comes_and_lets_through_what_came() {
    let graph = hubs();
    assert_eq!(run(&graph, "g.V().timeLimit(600000).count()"), run(&graph, "g.V().count()"));
    let Value::Int64(came) = one(&graph, "g.inject(0).repeat(math('_ + 1')).emit().timeLimit(20).count()") else {
        panic!("a count")
    };
    assert!(came > 0);
}

/// Far more rows than a sort looks at between two checks for a stop, with many ties.
#[test]
fn the_first_of_very_many_are_those_of_a_whole_sort() {
    let mut graph = Oracle::new(IdSpace::Graph);
    let label = graph.ensure_label(ElementKind::Vertex, "thing").unwrap();
    let (key, other) = (graph.ensure_key("n").unwrap(), graph.ensure_key("tie").unwrap());
    let mut things = Vec::new();
    graph.add_vertices(label, &vec![None; 60_000], &mut things).unwrap();
    let scattered = |at: i64| (at * 7919) % 60_000;
    let cells = |of: fn(i64) -> Value| (0..60_000).map(|at| Cell::One(of(scattered(at)))).collect();
    let whole = PropertyColumn::Cells(cells(|n| Value::Int64(n / 40 - 700)));
    graph.set_properties(Elements::Vertices(&things), key, &whole).unwrap();
    let ties = PropertyColumn::Cells(cells(|n| Value::Float64((n % 7) as f64)));
    graph.set_properties(Elements::Vertices(&things), other, &ties).unwrap();
    for by in [".by('n')", ".by('n', desc)", ".by('tie').by('n', desc)", ".by('tie', desc).by('n')"] {
        for limit in [1, 20, 41, 9_000, 20_000, 59_999] {
            let text = format!("g.V().order(){by}.limit({limit}).id()");
            let all = QueryOptions { rules_off: vec!["top".into()], ..QueryOptions::default() };
            let expected = run_with(&graph, &text, &Parameters::new(), &all).unwrap();
            assert_eq!(run(&graph, &text), expected, "{text}");
        }
    }
}
