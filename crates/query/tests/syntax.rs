//! The readers through their public interface: what parses, the resulting tree, and the text of errors.

use mangrove_graph::Value;
use mangrove_query::gremlin::parse::{DEPTH_MAX, JOINTS_MAX, RANGE_ITEMS_MAX, STEPS_MAX};
use mangrove_query::gremlin::syntax::{Argument, ArgumentKind, PredicateSyntax, TraversalSyntax};
use mangrove_query::gremlin::{parse, print, statements};

fn canonical(query: &str) -> String {
    match parse(query) {
        Ok(tree) => print(&tree),
        Err(error) => panic!("{}", error.render(query)),
    }
}

/// The only argument of the only call.
fn argument(query: &str) -> ArgumentKind {
    let mut tree = parse(&format!("x({query})")).unwrap_or_else(|error| panic!("{query}: {error}"));
    assert_eq!((tree.calls.len(), tree.calls[0].args.len()), (1, 1), "{query}");
    tree.calls.remove(0).args.remove(0).kind
}

fn error(query: &str) -> String {
    match parse(query) {
        Ok(tree) => panic!("{query} parsed as {tree}"),
        Err(error) => error.render(query),
    }
}

/// One query per line. A line after `=>` is its canonical text, if that differs from the query.
#[test]
fn every_query_of_the_corpus_has_its_canonical_text() {
    let corpus = include_str!("syntax_corpus.txt");
    let mut lines = corpus.lines().filter(|line| !line.is_empty() && !line.starts_with('#')).peekable();
    let mut queries = 0;
    while let Some(query) = lines.next() {
        let expected = lines.next_if(|line| line.starts_with("=> ")).map_or(query, |line| &line[3..]);
        assert_eq!(canonical(query), expected, "{query}");
        assert_eq!(canonical(expected), expected, "the canonical text of {query} is not stable");
        queries += 1;
    }
    assert!(queries >= 100, "{queries}");
}

#[test]
fn spans_say_where_things_are() {
    let text = "g.V() // all\n .has('age' , P.gt( 30 )) .out()";
    let tree = parse(text).unwrap();
    let at = |start: usize, end: usize| &text[start..end];
    let has = &tree.calls[1];
    assert_eq!(at(has.name_span.start, has.name_span.end), "has");
    assert_eq!(at(has.span.start, has.span.end), "has('age' , P.gt( 30 ))");
    assert_eq!(at(has.args[0].span.start, has.args[0].span.end), "'age'");
    assert_eq!(at(has.args[1].span.start, has.args[1].span.end), "P.gt( 30 )");
    assert_eq!(at(tree.span.start, tree.span.end), text);
}

#[test]
fn a_root_makes_a_traversal_from_the_source() {
    assert!(parse("g.V()").unwrap().from_source);
    assert!(!parse("__.out()").unwrap().from_source);
    assert!(!parse("out().in()").unwrap().from_source);
    let ArgumentKind::Traversal(nested) = argument("g.V().next()") else { panic!() };
    assert!(nested.from_source);
}

#[test]
fn strings_know_their_escapes() {
    let cases = [
        (r"'it''s'", None),
        (r#"'say "hi"'"#, Some("say \"hi\"")),
        (r#""it's""#, Some("it's")),
        (r"'\t\n\r\b\f\\\'\x'", None),
        (r"'\t\n\r\b\f\\\'\''", Some("\t\n\r\u{8}\u{c}\\''")),
        (r"'\u00e9\uu0041'", Some("éA")),
        (r"'\uD83D\uDE00'", Some("😀")),
        (r"'\uD83D'", None),
        (r"'\uDE00'", None),
        (r"'\u12'", None),
        (r"'\101\7\400'", Some("A\u{7} 0")),
        ("'two\nlines'", Some("two\nlines")),
        ("'joined\\\nlines'", Some("joined\nlines")),
        ("''", Some("")),
    ];
    for (text, expected) in cases {
        match expected {
            Some(expected) => assert_eq!(argument(text), ArgumentKind::Value(expected.into()), "{text}"),
            None => assert!(parse(&format!("x({text})")).is_err(), "{text}"),
        }
    }
}

#[test]
fn now_and_random_ids_are_made_when_read() {
    assert!(matches!(argument("datetime()"), ArgumentKind::Value(Value::DateTime(_))));
    let (a, b) = (argument("UUID()"), argument("UUID()"));
    assert!(matches!(a, ArgumentKind::Value(Value::Uuid(_))) && a != b);
}

#[test]
fn not_is_a_predicate_of_predicates_and_else_a_step() {
    assert!(matches!(argument("not(gt(1))"), ArgumentKind::Predicate(PredicateSyntax::Not(_))));
    assert!(matches!(argument("not(out())"), ArgumentKind::Traversal(_)));
    assert!(
        matches!(argument("not(out()).in()"), ArgumentKind::Traversal(TraversalSyntax { calls, .. }) if calls.len() == 2)
    );
    assert!(error("x(P.not(out()))").contains("P.not takes one predicate"));
}

#[test]
fn ranges_are_the_lists_they_stand_for() {
    let items = |query| match argument(query) {
        ArgumentKind::List(items) => items.into_iter().map(|item: Argument| item.kind).collect::<Vec<_>>(),
        other => panic!("{other:?}"),
    };
    assert_eq!(items("2..4"), [2, 3, 4].map(|i| ArgumentKind::Value(i.into())));
    assert_eq!(items("1 .. -1"), [1, 0, -1].map(|i| ArgumentKind::Value(i.into())));
    assert_eq!(items("'ab'..'ad'"), ["ab", "ac", "ad"].map(|s| ArgumentKind::Value(s.into())));
    assert_eq!(items("''..''"), []);
    assert!(error("x('ab'..'cd')").contains("may differ only in their last character"));
    assert!(error("x(1..2.5)").contains("32-bit integers"));
    let wide = error(&format!("x(0..{RANGE_ITEMS_MAX})"));
    assert!(wide.contains("too wide"), "{wide}");
    assert!(error("x(-2147483648..2147483647)").contains("too wide"));
    let long = "a".repeat(1 << 20);
    assert!(error(&format!("x('{long}a'..'{long}z')")).contains("too wide"));
}

#[test]
fn names_of_types_are_types_where_one_is_asked_for() {
    let constant = |kind: &str, name: &str| ArgumentKind::Constant { kind: kind.into(), name: name.into() };
    assert_eq!(argument("list"), constant("Cardinality", "list"));
    assert_eq!(argument("LIST"), constant("GType", "LIST"));
    assert_eq!(argument("edge"), ArgumentKind::Variable("edge".into()));
    assert_eq!(canonical("is(typeOf(list).or(typeOf(int)))"), "__.is(P.typeOf(GType.LIST).or(P.typeOf(GType.INT)))");
    assert_eq!(canonical("asNumber(bigDecimal)"), "__.asNumber(GType.BIGDECIMAL)");
}

#[test]
fn hostile_nesting_is_refused_and_never_overflows_the_stack() {
    let nested = |open: &str, close: &str, n: usize| format!("g.{}{}", open.repeat(n), close.repeat(n));
    for (open, close) in
        [("a(", ")"), ("a([", "])"), ("a({", "})"), ("a([b:", "])"), ("is(not(gt(", ")))"), ("a(new S(k:", "))")]
    {
        let text = nested(open, close, 1_000_000 / open.len());
        assert!(parse(&text).unwrap_err().message.contains("nested too deep"), "{open}");
        // Unclosed brackets too.
        assert!(parse(&text[..text.len() / 2]).is_err());
    }
    let deepest = format!("g.V().{}{}", "map(".repeat(DEPTH_MAX - 1), ")".repeat(DEPTH_MAX - 1));
    assert_eq!(canonical(&deepest).matches("map").count(), DEPTH_MAX - 1);

    let chain = |n: usize| format!("g.V().is(gt(1){})", ".or(lt(1))".repeat(n));
    assert!(parse(&chain(JOINTS_MAX)).is_ok());
    assert!(error(&chain(JOINTS_MAX + 1)).contains("predicates are joined"));
    let steps = |n: usize| format!("g{}", ".out()".repeat(n));
    assert!(parse(&steps(STEPS_MAX)).is_ok());
    assert!(error(&steps(100_000)).contains("more than 2000 steps"));
    assert!(error(&format!("g.V('{}')", "x".repeat(5 << 20))).contains("too long"));
}

/// Errors as people see them. Every block is a query, then its error.
#[test]
fn errors_show_the_place_and_what_to_do() {
    let blocks = include_str!("syntax_errors.txt").split("\n----\n").map(|block| block.trim_end_matches('\n'));
    let mut count = 0;
    for block in blocks {
        let (query, expected) = block.split_once("\nerror:").unwrap_or_else(|| panic!("no error in block {block:?}"));
        assert_eq!(format!(" {}", error(query)), expected, "{query}");
        count += 1;
    }
    assert!(count >= 25, "{count}");
    assert!(error("\n // nothing\n").starts_with("the query is empty"));
}

#[test]
fn a_script_has_several_statements() {
    let script = "g.V().next() ;; // first; \n __.inject('g.V(); ').iterate()\ng.V().count();";
    assert_eq!(statements(script).unwrap(), ["g.V().next()", "__.inject('g.V(); ').iterate()", "g.V().count()"]);
    assert_eq!(statements(" g.V() ").unwrap(), ["g.V()"]);
    // The bounds of a query hold for each of them.
    let long = format!("g.V(){}.iterate();", ".out()".repeat(STEPS_MAX - 2));
    assert_eq!(statements(&long.repeat(3)).unwrap().len(), 3);
    for (wrong, part) in [
        ("g.V(); g.V()", "nothing runs this statement"),
        ("g.V().next(); 5", "the end of the query"),
        ("g.V().next(); x = g.V()", "expected `.` and a step or the end of the query"),
        ("g.V().next() g.V()", "expected `.` and a step"),
        ("g.V().next(); g.tx().commit()", "cannot begin or end a transaction"),
        ("", "the query is empty"),
    ] {
        let error = statements(wrong).unwrap_err().render(wrong);
        assert!(error.contains(part), "{error}");
    }
}
