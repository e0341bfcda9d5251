//! What the author of a query is told: errors, warnings, and refusals of arguments and parameters.

use mangrove_graph::Value;
use mangrove_query::{Graph, Parameters, Query, QueryErrorKind, QueryOptions};
use mangrove_testkit::Oracle;

use crate::*;

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
