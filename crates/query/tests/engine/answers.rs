//! Right answers from single steps, predicates, patterns, parameters and indexes.

use mangrove_graph::{Catalog, ElementKind, GraphWrite, PropertyId, Value};
use mangrove_query::{Graph, Parameters, Query, QueryErrorKind, QueryOptions};
use mangrove_testkit::Oracle;

use crate::*;

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
fn what_a_map_lacks_is_null_to_a_modulator() {
    let modern = Oracle::modern();
    let text = |query: &str| one(&modern, query).to_string();
    for (query, expected) in [
        ("g.inject([a:1]).project('x').by('b')", "{x=null}"),
        ("g.inject([a:1], [b:2]).groupCount().by('b')", "{null=1, 2=1}"),
        ("g.inject([a:1], [a:2]).order().by('b').count()", "2"),
        ("g.inject([a:1]).path().by('b')", "path[null]"),
        // As columns, of one type and of several.
        ("g.V().valueMap('age').by(unfold()).project('x').by('age').select('x').fold()", "[29, 27, 32, 35, null, null]"),
        ("g.V().valueMap('name').by(unfold()).project('x').by('none').dedup().fold()", "[{x=null}]"),
        ("g.V().groupCount().by('age').order().by('age').unfold().count()", "4"),
        // An element without the property is left out all the same.
        ("g.V().project('x').by('age').where(select('x')).count()", "4"),
    ] {
        assert_eq!(text(query), expected, "{query}");
    }
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

/// `where(out().where(eq('a')))` has an operator of its own. A label in the child keeps it from being used.
#[test]
fn an_edge_that_closes_a_circle_is_found() {
    let graph = hubs();
    for starts in ["g.V().as('a').both()", "g.V().as('a').out().out().dedup()", "g.V().as('a').in().barrier()"] {
        for step in ["out()", "in('knows')", "both()", "out('nothing')"] {
            for test in ["eq", "neq"] {
                for filter in ["where", "not"] {
                    let of = |child: &str| run(&graph, &format!("{starts}.{filter}({step}.{child}).count()"));
                    let closing = of(&format!("where({test}('a'))"));
                    assert_eq!(closing, of(&format!("as('b').where('b', {test}('a'))")), "{starts} {step} {test} {filter}");
                }
            }
        }
    }
    assert_eq!(run(&graph, "g.inject(['a': 1]).unfold().as('a').V().hasLabel('x').where(out().where(eq('a')))"), []);
    let modern = Oracle::modern();
    let circles = "g.V().as('a').out('created').in('created').where(out('knows').where(eq('a'))).values('name')";
    assert_eq!(run(&modern, circles), [Value::from("marko")]);
    let known = "g.V().as('a').out('created').in('created').where(__.in('knows').where(eq('a'))).values('name')";
    assert_eq!(run(&modern, known), [Value::from("josh")]);
}

#[test]
fn maps_that_later_steps_read_by_key_give_what_whole_maps_give() {
    let graph = hubs();
    let people = "g.V().project('id', 'n').by(id).by(__.out().count())";
    // `unfold()` takes maps apart, so the second query of each pair works with whole maps.
    for (read, apart) in [
        (
            ".order().by('n', desc).by('id').limit(20).select('id')",
            ".order().by('n', desc).by('id').limit(20).map(select('id'))",
        ),
        (
            ".groupCount().by('n')",
            ".map(unfold().fold()).unfold().as('e').select(keys).is('n').select('e').select(values).groupCount()",
        ),
        (".select('n').sum()", ".unfold().as('e').select(keys).is('n').select('e').select(values).sum()"),
        (".where(select('n').is(gt(8))).select('id').count()", ".map(select('n')).is(gt(8)).count()"),
        (".dedup().by('n').count()", ".map(select('n')).dedup().count()"),
        (".select('n', 'id').select('n').sum()", ".map(select('n')).sum()"),
        (".as('m').barrier().select('m').select('n').max()", ".map(select('n')).max()"),
    ] {
        assert_eq!(run(&graph, &format!("{people}{read}")), run(&graph, &format!("{people}{apart}")), "{read}");
    }
    let modern = Oracle::modern();
    let ages = run(&modern, "g.V().valueMap('age').by(unfold()).select('age').sum()");
    assert_eq!(ages[0].as_i64(), Some(123), "a map without the key gives nothing");
    assert_eq!(
        run(&modern, "g.V().valueMap('age').order().by('age').count()")[0],
        Value::Int64(6),
        "a map that lacks the key has null there"
    );
    assert_eq!(run(&modern, "g.V().elementMap('name').order().by(T.id, desc).limit(1).select('name')")[0], "peter".into());
    let refused = error(&modern, "g.V().valueMap().has('name')", &QueryOptions::default());
    assert!(refused.message.contains("has()"), "{refused}");
}

#[test]
fn values_of_several_keys_come_element_by_element() {
    let mut graph = hubs();
    let numbered = Query::parse("g.V().property('a', __.id()).property('b', __.out().count())").unwrap();
    let writing = &mut Graph::Write(&mut graph);
    numbered.execute(writing, &Parameters::new(), &QueryOptions::default()).unwrap().collect(writing).unwrap();
    let both = run(&graph, "g.V().limit(300).values('b', 'missing', 'a')");
    let [a, b] = ["a", "b"].map(|key| run(&graph, &format!("g.V().limit(300).values('{key}')")));
    assert_eq!(both.len(), 600);
    assert!(both.chunks(2).zip(b.iter().zip(&a)).all(|(pair, (b, a))| pair == [b.clone(), a.clone()]));
    let modern = Oracle::modern();
    let mixed: Vec<String> = run(&modern, "g.V(1, 3).values('age', 'name')").iter().map(Value::to_string).collect();
    assert_eq!(mixed, ["29", "marko", "lop"]);
}

/// `valueMap` gives lists, which a later step takes apart.
#[test]
fn lists_of_a_map_unfold() {
    let graph = &Oracle::modern();
    for steps in [
        "valueMap('name').select('name')",
        "valueMap('name', 'age').select('name')",
        "valueMap('name').as('m').select('m').by('name')",
        "valueMap('name').as('m').constant(1).select('m').by('name')",
    ] {
        assert_eq!(run(graph, &format!("g.V(1).{steps}.unfold()")), ["marko".into()], "{steps}");
        let all = run(graph, &format!("g.V().{steps}.unfold().order().limit(2)"));
        assert_eq!(all, ["josh".into(), "lop".into()], "{steps}");
    }
}
