//! What steps gather aside under a name, and tests against it while it grows and when it is complete.

use mangrove_graph::Value;
use mangrove_query::{Graph, Parameters, Query, QueryOptions};
use mangrove_testkit::Oracle;

use crate::*;

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
