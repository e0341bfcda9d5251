//! Strategies: each one that a query can name is honoured, or accepted without effect, as the documentation says.

use mangrove_graph::Value;
use mangrove_query::resolve::{Effect, STRATEGIES};
use mangrove_query::{Graph, Parameters, Query, QueryError, QueryErrorKind, QueryOptions};
use mangrove_testkit::Oracle;

fn execute(graph: &mut Oracle, text: &str) -> Result<(Vec<Value>, Vec<String>), QueryError> {
    let query = Query::parse(text)?;
    let mut graph = if query.writes() { Graph::Write(graph) } else { Graph::Read(graph) };
    let mut execution = query.execute(&mut graph, &Parameters::new(), &QueryOptions::default())?;
    let values = execution.collect(&mut graph)?;
    Ok((values, execution.warnings().to_vec()))
}

fn run(graph: &mut Oracle, text: &str) -> Vec<Value> {
    execute(graph, text).unwrap_or_else(|e| panic!("{text}: {}", e.render())).0
}

fn refused(text: &str) -> QueryError {
    execute(&mut Oracle::modern(), text).expect_err(text)
}

fn one(graph: &mut Oracle, text: &str) -> String {
    let all = run(graph, text);
    assert_eq!(all.len(), 1, "{text}: {all:?}");
    all[0].to_string()
}

#[test]
fn the_documentation_names_every_strategy() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/gremlin.md");
    let document = std::fs::read_to_string(path).unwrap();
    for strategy in &STRATEGIES {
        let name = format!("`{}`", strategy.name);
        match strategy.effect {
            Effect::None => assert!(document.contains(&name), "docs/gremlin.md lacks {name}"),
            _ => {
                let row = format!("| {name} | {} |", strategy.description);
                assert!(document.contains(&row), "docs/gremlin.md lacks the row\n{row}");
            }
        }
    }
}

#[test]
fn strategies_without_effect_change_nothing() {
    for strategy in STRATEGIES.iter().filter(|strategy| strategy.effect != Effect::Honoured) {
        for how in ["withStrategies", "withoutStrategies"] {
            let text = format!("g.{how}({}).V().out('created').count()", strategy.name);
            assert_eq!(one(&mut Oracle::modern(), &text), "4", "{text}");
        }
    }
    for strategy in STRATEGIES.iter().filter(|strategy| strategy.effect == Effect::Honoured) {
        let text = format!("g.withoutStrategies({}).V().out('created').count()", strategy.name);
        assert_eq!(one(&mut Oracle::modern(), &text), "4", "{text}");
    }
    let error = refused("g.withStrategies(new SubgraphStratgy(vertices: has('age'))).V()");
    assert_eq!(error.kind, QueryErrorKind::Unsupported);
    assert_eq!(error.help.as_deref(), Some("did you mean `SubgraphStrategy`?"));
    assert_eq!(refused("g.withoutStrategies(ReadOnlyStrategi).V()").kind, QueryErrorKind::Unsupported);
}

#[test]
fn an_option_that_a_strategy_does_not_have_is_refused() {
    for (strategy, help) in [
        ("SubgraphStrategy(vertexes: __.hasLabel('person'))", "did you mean vertices?"),
        ("PartitionStrategy(partitionKey: 'part', readPartition: ['a'])", "did you mean readPartitions?"),
        ("SeedStrategy(seed: 1, sed: 2)", "did you mean seed?"),
        ("ReadOnlyStrategy(foo: 3)", "it takes no options"),
        ("ElementIdStrategy(other: 'x')", "it takes idPropertyKey"),
    ] {
        let error = refused(&format!("g.withStrategies(new {strategy}).V()"));
        assert_eq!((error.kind, error.help.as_deref()), (QueryErrorKind::Step, Some(help)), "{strategy}");
    }
}

#[test]
fn what_reads_only_is_all_that_passes() {
    assert_eq!(one(&mut Oracle::modern(), "g.withStrategies(ReadOnlyStrategy).V().count()"), "6");
    for text in [
        "g.withStrategies(ReadOnlyStrategy).addV('x')",
        "g.withStrategies(ReadOnlyStrategy).V().sideEffect(properties().drop())",
        "g.withStrategies(ReadOnlyStrategy).V().local(property('a', 1))",
    ] {
        assert_eq!(refused(text).kind, QueryErrorKind::Verification, "{text}");
    }
    run(&mut Oracle::modern(), "g.withStrategies(ReadOnlyStrategy).withoutStrategies(ReadOnlyStrategy).addV('x')");
}

#[test]
fn hops_without_labels_are_refused_or_warned_of() {
    let named =
        |options: &str, steps: &str| format!("g.withStrategies(new EdgeLabelVerificationStrategy({options})).{steps}");
    let error = refused(&named("throwException: true", "V().local(out())"));
    assert_eq!(error.kind, QueryErrorKind::Verification);
    let graph = &mut Oracle::modern();
    let (values, warnings) = execute(graph, &named("logWarning: true", "V().out().in()")).unwrap();
    assert_eq!((values.len(), warnings.len()), (12, 1), "{warnings:?}");
    assert!(warnings[0].contains("without any specified edge label"));
    let (_, warnings) = execute(graph, &named("throwException: true, logWarning: true", "V().out('knows')")).unwrap();
    assert!(warnings.is_empty(), "{warnings:?}");
}

#[test]
fn reserved_keys_are_refused_or_warned_of() {
    let named =
        |options: &str, steps: &str| format!("g.withStrategies(new ReservedKeysVerificationStrategy({options})).{steps}");
    let error = refused(&named("throwException: true", "addV('x').property('id', 1)"));
    assert_eq!(error.kind, QueryErrorKind::Verification);
    let chosen = "throwException: true, keys: ['age']";
    assert_eq!(refused(&named(chosen, "V().property('age', 1)")).kind, QueryErrorKind::Verification);
    let graph = &mut Oracle::modern();
    run(graph, &named(chosen, "addV('x').property('id', 1)"));
    let (_, warnings) = execute(graph, &named("logWarning: true", "addV('x').property('label', 1)")).unwrap();
    assert!(warnings.len() == 1 && warnings[0].contains("label"), "{warnings:?}");
}

#[test]
fn ids_may_be_a_property() {
    let graph = &mut Oracle::modern();
    let g = "g.withStrategies(new ElementIdStrategy(idPropertyKey: 'name'))";
    assert_eq!(one(graph, &format!("{g}.V('marko').values('age')")), "29");
    assert_eq!(one(graph, &format!("{g}.V().hasId('josh', 'peter').order().by('age').id().fold()")), "[josh, peter]");
    assert_eq!(one(graph, &format!("{g}.addV('person').property(T.id, 'ada').values('name')")), "ada");
    assert_eq!(one(graph, &format!("{g}.mergeV([(T.id): 'ada', (T.label): 'person']).id()")), "ada");
    assert_eq!(one(graph, "g.V().has('name', 'ada').count()"), "1");
    assert_eq!(one(graph, &format!("{g}.V('ada').addE('knows').to(__.V('josh')).inV().id()")), "josh");
    let g = "g.withStrategies(ElementIdStrategy)";
    assert_eq!(one(graph, &format!("{g}.addV('person').property(T.id, 'x').values('__id')")), "x");
}

/// A person with two names, of which one is marked as hidden.
fn with_hidden_name() -> Oracle {
    let mut graph = Oracle::modern();
    run(
        &mut graph,
        "g.addV('person').property(T.id, 'spy').property(list, 'name', 'ann').property(list, 'name', 'bob', 'hidden', true).property('age', 40)",
    );
    graph
}

#[test]
fn hidden_properties_are_seen_by_no_step() {
    let graph = &mut with_hidden_name();
    let g = "g.withStrategies(new SubgraphStrategy(vertexProperties: __.not(has('hidden')))).V('spy')";
    for (steps, expected) in [
        ("values('name').fold()", "[ann]"),
        ("properties('name').count()", "1"),
        ("valueMap('name')", "{name=[ann]}"),
        ("propertyMap('name').select('name').count(local)", "1"),
        ("elementMap('name', 'age').select('name', 'age')", "{name=ann, age=40}"),
        ("has('name', 'bob').count()", "0"),
        ("has('name', 'ann').count()", "1"),
        ("has('name', 'ann').has('age', gt(30)).count()", "1"),
        ("project('n').by('name')", "{n=ann}"),
        ("group().by('name').by('age')", "{ann=[40]}"),
        ("order().by('name').values('age')", "40"),
        ("project('n').by('name').order().by('n').select('n')", "ann"),
    ] {
        assert_eq!(one(graph, &format!("{g}.{steps}")), expected, "{steps}");
    }
    let g = "g.withStrategies(new SubgraphStrategy(vertexProperties: has('hidden'))).V('spy')";
    for (steps, expected) in [
        ("values('name').fold()", "[bob]"),
        ("has('name').count()", "1"),
        ("has('age').count()", "0"),
        ("hasNot('age').count()", "1"),
        ("valueMap()", "{name=[bob]}"),
        ("has('age', is(40)).count()", "0"),
    ] {
        assert_eq!(one(graph, &format!("{g}.{steps}")), expected, "{steps}");
    }
    // Properties of edges have no properties of their own, and are always visible.
    let g = "g.withStrategies(new SubgraphStrategy(vertexProperties: has('hidden')))";
    assert_eq!(one(graph, &format!("{g}.E().has('weight', gt(0.9)).count()")), "2");
}

#[test]
fn shortest_paths_stay_within_what_is_visible() {
    let graph = &mut Oracle::modern();
    let to_peter = "V(1).shortestPath().with(ShortestPath.target, has('name', 'peter')).count()";
    assert_eq!(one(graph, &format!("g.{to_peter}")), "1");
    for narrow in ["vertices: hasLabel('person')", "edges: hasLabel('knows')"] {
        let g = format!("g.withStrategies(new SubgraphStrategy({narrow}))");
        assert_eq!(one(graph, &format!("{g}.{to_peter}")), "0", "{narrow}");
        assert_eq!(one(graph, &format!("{g}.V(1).shortestPath().with(ShortestPath.target, hasId(4)).count()")), "1");
    }
}

#[test]
fn merges_keep_to_their_partition() {
    let graph = &mut Oracle::default();
    let g = |write: &str, read: &str| {
        format!("g.withStrategies(new PartitionStrategy(partitionKey: 'part', {write}readPartitions: [{read}]))")
    };
    let a = g("writePartition: 'a', ", "'a'");
    run(graph, "g.addV('x').property('name', 'one')");
    for merge in [
        "inject([name: 'one', (T.label): 'x']).mergeV()",
        "inject(1).mergeV(constant([name: 'one', (T.label): 'x']))",
        "mergeV([name: 'one', (T.label): 'x'])",
    ] {
        run(graph, &format!("{a}.{merge}"));
        assert_eq!(one(graph, "g.V().has('part', 'a').count()"), "1", "{merge}");
        assert_eq!(one(graph, "g.V().count()"), "2", "{merge}");
    }
    // Without a partition to write to, the search skips partitions that are not read.
    let b = g("", "'b'");
    run(graph, &format!("{b}.mergeV([name: 'one', (T.label): 'x'])"));
    assert_eq!(one(graph, "g.V().count()"), "3");
    let readable = g("", "'a'");
    run(graph, &format!("{readable}.mergeV([name: 'one', (T.label): 'x'])"));
    assert_eq!(one(graph, "g.V().count()"), "3");
}

#[test]
fn a_seed_makes_chance_repeatable() {
    let graph = &mut Oracle::modern();
    for steps in ["V().coin(0.5)", "V().order().by(shuffle)", "V().sample(3)", "V().local(both().sample(1))"] {
        let text = format!("g.withStrategies(new SeedStrategy(seed: 7)).{steps}.values('name').fold()");
        assert_eq!(run(graph, &text), run(graph, &text), "{text}");
    }
}

#[test]
fn a_query_may_shorten_its_own_time() {
    for source in [
        "g.with('evaluationTimeout', 20)",
        "g.withStrategies(new OptionsStrategy(evaluationTimeout: 20, batchSize: 5))",
        "g.withStrategies(new OptionsStrategy(evaluationTimeout: 20)).with('somethingElse', 'x')",
    ] {
        assert_eq!(
            refused(&format!("{source}.inject(1).repeat(identity()).count()")).kind,
            QueryErrorKind::Timeout,
            "{source}"
        );
    }
    let graph = &mut Oracle::modern();
    assert_eq!(one(graph, "g.with('evaluationTimeout', 0).V().count()"), "6");
    assert_eq!(refused("g.with('evaluationTimeout', 'soon').V()").kind, QueryErrorKind::Step);
}

#[test]
fn graph_computers_can_be_forbidden() {
    let error = refused("g.withStrategies(VertexProgramRestrictionStrategy, VertexProgramStrategy).V()");
    assert_eq!(error.kind, QueryErrorKind::Verification);
    assert_eq!(one(&mut Oracle::modern(), "g.withStrategies(VertexProgramStrategy).V().count()"), "6");
}
