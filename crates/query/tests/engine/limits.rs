//! What stops or ends a query: limits, timeouts, cancellation, the memory budget, and numbers too large to count or hold.

use std::time::Duration;

use mangrove_graph::Value;
use mangrove_query::{CancelToken, Graph, Parameters, Query, QueryError, QueryErrorKind, QueryOptions};
use mangrove_testkit::Oracle;

use crate::*;

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
fn a_time_limit_ends_what_comes_and_lets_through_what_came() {
    let graph = hubs();
    assert_eq!(run(&graph, "g.V().timeLimit(600000).count()"), run(&graph, "g.V().count()"));
    let Value::Int64(came) = one(&graph, "g.inject(0).repeat(math('_ + 1')).emit().timeLimit(20).count()") else {
        panic!("a count")
    };
    assert!(came > 0);
}
