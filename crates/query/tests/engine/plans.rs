//! What explanations and profiles say of a query: how it finds its elements, how many it expects, and what each step gave.

use mangrove_graph::{Catalog, ElementKind, GraphView, GraphWrite, PropertyId};
use mangrove_query::{Graph, Parameters, Query, QueryOptions};
use mangrove_testkit::Oracle;

use crate::*;

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
fn an_id_is_looked_up_whatever_else_is_asked_for() {
    let graph = hubs();
    for text in ["g.V().hasLabel('person').hasId(1)", "g.V().hasId(1).hasLabel('person')", "g.V().has('person', T.id, 1)"] {
        let explained = Query::parse(text).unwrap().explain(&graph, &Parameters::new(), &QueryOptions::default()).unwrap();
        assert_eq!(explained.steps[0].access.as_deref(), Some("by id"), "{text}");
        assert_eq!(run(&graph, text).len(), 1, "{text}");
    }
}
