//! Queries of the greatest length and depth on a thread with 256 kB of stack. A stack overflow would end the process, so each of
//! these tests passes if it gets to its end.

use std::time::Duration;

use mangrove_query::gremlin::parse::{DEPTH_MAX, JOINTS_MAX, STEPS_MAX};
use mangrove_query::gremlin::{parse, print};
use mangrove_query::{Graph, Parameters, Query, QueryError, QueryOptions};
use mangrove_testkit::Oracle;

const STACK_BYTES: usize = 256 << 10;

fn on_a_small_stack(work: impl FnOnce() + Send + 'static) {
    std::thread::Builder::new().stack_size(STACK_BYTES).spawn(work).expect("a thread").join().expect("no panic");
}

/// Does everything that can be done with a query, and stops it soon if it does not end. Returns the number of results.
fn try_all(text: &str) -> Result<usize, QueryError> {
    try_within(text, Duration::from_millis(300))
}

/// The same, for a query that ends.
fn try_to_end(text: &str) -> Result<usize, QueryError> {
    try_within(text, Duration::from_secs(60))
}

fn try_within(text: &str, timeout: Duration) -> Result<usize, QueryError> {
    if std::env::var_os("MANGROVE_SHOW").is_some() {
        eprintln!("{} bytes: {}", text.len(), &text[..text.len().min(60)]);
    }
    let mut graph = Oracle::modern();
    let query = Query::parse(text)?;
    assert_eq!(parse(&print(&parse(text)?))?.calls.len(), parse(text)?.calls.len());
    let parameters = Parameters::new();
    let options = QueryOptions { timeout: Some(timeout), memory_bytes_max: 1 << 26, ..QueryOptions::default() };
    query.explain(&graph, &parameters, &options).map(|explained| explained.to_string())?;
    let profiled = QueryOptions { profile: true, ..options.clone() };
    let mut graph = Graph::Write(&mut graph);
    query.execute(&mut graph, &parameters, &profiled)?.profile(&mut graph).map(|profile| profile.to_string())?;
    let values = query.execute(&mut graph, &parameters, &options)?.collect(&mut graph)?;
    let shown: String = values.iter().map(ToString::to_string).collect();
    assert_eq!(shown.is_empty(), values.is_empty());
    let mut others = values.clone();
    others.sort_by(mangrove_graph::compare::order);
    others.dedup();
    Ok(values.len())
}

/// Steps whose chains run to their end, however long.
const EVEN: [&str; 26] = [
    "out()",
    "in()",
    "outE().inV()",
    "identity()",
    "has('name')",
    "order()",
    "as('a')",
    "dedup()",
    "unfold()",
    "fold().unfold()",
    "aggregate('x')",
    "cap('x')",
    "select('a')",
    "limit(5)",
    "tail(5)",
    "range(0, 9)",
    "sample(3)",
    "barrier()",
    "coalesce(out(), identity())",
    "repeat(identity()).times(2)",
    "local(identity())",
    "optional(out())",
    "where(identity())",
    "sideEffect(identity())",
    "choose(out(), identity())",
    "inject(1).limit(9)",
];

/// Steps whose chains nest collections.
const NESTING: [&str; 7] =
    ["fold()", "project('a').by()", "tree()", "groupCount()", "map(fold())", "index()", "local(union(identity()).fold())"];

/// Steps whose chains grow without end. The timeout, the memory budget or the greatest count stops them.
const GROWING: [&str; 5] = ["both()", "path()", "group()", "union(identity(), identity())", "inject(1)"];

fn chain(step: &str, end: &str) -> String {
    let n = (STEPS_MAX - 5) / step.matches('(').count();
    format!("g.withSideEffect('x', []).V(1).as('a'){}{end}", format!(".{step}").repeat(n))
}

#[test]
fn chains_of_all_steps_there_may_be() {
    on_a_small_stack(|| {
        for step in EVEN {
            for end in ["", ".count()"] {
                try_all(&chain(step, end)).unwrap_or_else(|error| panic!("{step}: {error:.200}"));
            }
        }
    });
}

#[test]
fn chains_that_nest_values_are_refused() {
    on_a_small_stack(|| {
        for step in NESTING {
            let error = try_all(&chain(step, "")).expect_err(step).to_string();
            assert!(error.contains("nested more than 64 levels deep"), "{step}: {error:.200}");
            let few = format!("g.V(1){}", format!(".{step}").repeat(15));
            assert_eq!(try_all(&few).unwrap_or_else(|error| panic!("{few}: {error:.200}")), 1, "{few}");
        }
    });
}

#[test]
fn chains_that_grow_are_stopped() {
    on_a_small_stack(|| {
        for step in GROWING {
            let error = try_all(&chain(step, "")).expect_err(step).to_string();
            let stops = ["timeout", "memory budget", "64-bit count", "hold more than"];
            assert!(stops.iter().any(|stop| error.contains(stop)), "{step}: {error:.200}");
        }
    });
}

/// The beginning and end of a step with a child traversal, and the error when it nests as often as allowed around an unsuitable
/// child.
const HOLDING: [(&str, &str, &str); 40] = [
    ("map(", ")", ""),
    ("flatMap(", ")", ""),
    ("where(", ")", ""),
    ("not(", ")", ""),
    ("local(", ")", ""),
    ("optional(", ")", ""),
    ("union(", ", out())", ""),
    ("coalesce(", ")", ""),
    ("choose(", ", out(), in())", ""),
    ("choose(out(), ", ")", ""),
    ("repeat(", ").times(1)", ""),
    ("repeat(out()).until(", ")", ""),
    ("repeat(out()).times(1).emit(", ")", ""),
    ("sideEffect(", ")", ""),
    ("project('a').by(", ")", "nested more than 64"),
    ("order().by(", ")", ""),
    ("group().by(", ")", "nested more than 64"),
    ("group().by('name').by(", ")", "nested more than 64"),
    ("groupCount().by(", ")", "nested more than 64"),
    ("dedup().by(", ")", ""),
    ("path().by(", ")", "nested more than 64"),
    ("tree().by(", ")", "nested more than 64"),
    ("as('b').select('b').by(", ")", ""),
    ("match(__.as('a').", ".as('b'))", "nested more than 64"),
    ("and(", ")", ""),
    ("or(", ", out())", ""),
    ("property('k', ", ")", "does not map to a value"),
    ("addV(", ")", "a label must be a string"),
    ("mergeV(", ")", "takes a map"),
    ("aggregate('x').by(", ")", ""),
    ("valueMap().by(", ")", "works on elements"),
    ("sack(assign).by(", ")", ""),
    ("concat(", ")", "only take string"),
    ("combine(", ")", "can only take an array"),
    ("filter(", ")", ""),
    ("sample(1).by(", ")", ""),
    ("where(eq('a')).by(", ")", ""),
    ("math('_ + 1').by(", ")", "must resolve to a Number"),
    ("branch(", ").option(1, out())", ""),
    ("call('mangrove.labels').with('k', ", ")", ""),
];

#[test]
fn arguments_as_deep_as_they_may_be() {
    on_a_small_stack(|| {
        let mut others = Vec::new();
        for (open, close, expected) in HOLDING {
            let n = DEPTH_MAX - 1;
            let text = format!("g.V().as('a').{}out(){}", open.repeat(n), close.repeat(n));
            let outcome = try_all(&text).err().map(|error| error.to_string()).unwrap_or_default();
            if !outcome.contains(expected) || outcome.is_empty() != expected.is_empty() {
                others.push(format!("{open}: {outcome:.150}"));
            }
        }
        assert_eq!(others, [""; 0]);
    });
}

#[test]
fn values_predicates_and_formulas_as_deep_as_they_may_be() {
    let (depth, joints) = (DEPTH_MAX - 2, JOINTS_MAX);
    let cases = [
        (format!("inject({}{})", "[".repeat(depth), "]".repeat(depth)), ""),
        (format!("inject({}1{})", "[1: ".repeat(depth), "]".repeat(depth)), ""),
        (format!("inject({}1{})", "{".repeat(depth), "}".repeat(depth)), ""),
        (format!("inject(1).is(gt(0){})", ".and(lt(2))".repeat(joints)), ""),
        (format!("inject(1).is(gt(0){})", ".and(lt(2)).or(gt(7))".repeat(joints / 2)), ""),
        (format!("inject(1).is(gt(0){})", ".negate()".repeat(joints)), ""),
        (format!("inject(1).is({}gt(0){})", "not(".repeat(depth), ")".repeat(depth)), ""),
        (format!("inject('a').is(regex('{}a{}'))", "(".repeat(5000), ")".repeat(5000)), "nested parentheses"),
        (format!("inject('a').is(regex('{}a{}'))", "(".repeat(200), ")".repeat(200)), ""),
        (format!("inject(1).math('{}_{}')", "(".repeat(5000), ")".repeat(5000)), ""),
        (format!("inject(1).math('{}_')", "-".repeat(5000)), ""),
        ("inject(1).repeat(tree()).times(100000)".into(), "nested more than 64"),
        ("inject(1).repeat(fold()).times(100000)".into(), "nested more than 64"),
        ("V(1).repeat(both().limit(1)).times(110).tree()".into(), "takes at most 100"),
        ("V(1).repeat(both().limit(1)).times(90).tree()".into(), ""),
        ("V(1).repeat(both().limit(1)).times(100000).path()".into(), ""),
    ];
    on_a_small_stack(move || {
        for (text, expected) in &cases {
            let outcome = try_to_end(&format!("g.{text}")).err().map(|error| error.to_string()).unwrap_or_default();
            assert!(outcome.contains(expected) && outcome.is_empty() == expected.is_empty(), "{text:.60}: {outcome:.200}");
        }
    });
}

#[test]
fn bytecode_as_deep_as_it_may_be() {
    let of = |argument: &str| format!(r#"{{"@type":"g:Bytecode","@value":{{"step":[["inject",{argument}]]}}}}"#);
    let list = |n: usize| of(&format!("{}1{}", r#"{"@type":"g:List","@value":["#.repeat(n), "]}".repeat(n)));
    let bare = |n: usize| of(&format!("{}1{}", "[".repeat(n), "]".repeat(n)));
    let cases = [(list(DEPTH_MAX - 1), true), (list(200), false), (bare(490), false), (bare(100_000), false)];
    on_a_small_stack(move || {
        for (json, is_read) in &cases {
            let read = Query::from_bytecode(json);
            assert_eq!(read.is_ok(), *is_read, "{json:.60}: {:?}", read.err());
        }
    });
}
