//! Queries that a crew helps. They give the same results in the same order as alone, and end properly.

use std::sync::Arc;
use std::time::{Duration, Instant};

use mangrove_graph::{ElementKind, GraphWrite, IdSpace, NewEdge, PropertyColumn, Value, VertexId};
use mangrove_query::{CancelToken, Crew, CrewOptions, Graph, Parameters, Query, QueryError, QueryErrorKind, QueryOptions};
use mangrove_testkit::{Oracle, graphs};

/// 2048 people with an age, some with a height and a name, and 8,192 acquaintances.
fn people() -> Oracle {
    let mut graph = Oracle::new(IdSpace::Graph);
    let person = graph.ensure_label(ElementKind::Vertex, "person").unwrap();
    let knows = graph.ensure_label(ElementKind::Edge, "knows").unwrap();
    let mut vertices: Vec<VertexId> = Vec::new();
    graph.add_vertices(person, &(0..2048).map(|id| Some(id.into())).collect::<Vec<_>>(), &mut vertices).unwrap();
    let age = graph.ensure_key("age").unwrap();
    let ages = (0..2048i64).map(|i| mangrove_graph::Cell::One(Value::Int64(i * i % 97))).collect();
    graph.set_properties(mangrove_graph::Elements::Vertices(&vertices), age, &PropertyColumn::Cells(ages)).unwrap();
    let (height, name) = (graph.ensure_key("height").unwrap(), graph.ensure_key("name").unwrap());
    let heights = (0..2048i64).map(|i| match i % 3 {
        0 => mangrove_graph::Cell::Absent,
        _ => mangrove_graph::Cell::One(Value::Float64(1.0 + (i * i % 89) as f64 / 97.0)),
    });
    let names = (0..2048i64).map(|i| mangrove_graph::Cell::One(Value::from(format!("n{}", i * 7 % 31))));
    for (key, cells) in [(height, heights.collect()), (name, names.collect())] {
        graph.set_properties(mangrove_graph::Elements::Vertices(&vertices), key, &PropertyColumn::Cells(cells)).unwrap();
    }
    let edges: Vec<NewEdge> = graphs::rmat(11, 8_192, 11)
        .into_iter()
        .map(|(s, t)| NewEdge { source: vertices[s as usize], target: vertices[t as usize], id: None, time: None })
        .collect();
    graph.add_edges(knows, &edges, &mut Vec::new()).unwrap();
    graph
}

fn helped(workers: usize) -> QueryOptions {
    helped_by(CrewOptions { workers, region_workers: 1, ..CrewOptions::default() })
}

fn helped_by(options: CrewOptions) -> QueryOptions {
    let crew = Crew::new(options);
    QueryOptions { crew: Some(Arc::new(crew)), ..QueryOptions::default() }
}

fn run(graph: &Oracle, text: &str, options: &QueryOptions) -> Result<Vec<Value>, QueryError> {
    let mut graph = Graph::Read(graph);
    Query::parse(text)?.execute(&mut graph, &Parameters::new(), options)?.collect(&mut graph)
}

#[test]
fn helped_or_alone_a_query_gives_the_same_in_the_same_order() {
    let graph = people();
    let queries = [
        "g.V().out('knows').id()",
        "g.V().out().out().dedup().count()",
        "g.V().has('age', gt(50)).out('knows').in('knows').dedup().count()",
        "g.V().where(out('knows').count().is(gt(10))).values('age')",
        "g.V().as('a').out('knows').where(neq('a')).as('b').select('a', 'b').by('age').limit(5000).count()",
        "g.V().out('knows').path().by('age').limit(3000)",
        "g.V().hasLabel('person').project('age', 'friends').by('age').by(out('knows').count())",
        "g.V(1).emit().repeat(out('knows').dedup()).times(5).dedup().count()",
        "g.V().repeat(out('knows')).times(3).count()",
        "g.V().groupCount().by(out('knows').count())",
        "g.V().order().by('age', desc).by(id).out('knows').values('age').limit(2000)",
        "g.V().out('knows').local(out('knows').order().by('age').limit(1)).values('age')",
        "g.V().coalesce(out('nobody'), out('knows')).count()",
        "g.V().union(out('knows'), in('knows')).values('age').sum()",
        "g.withStrategies(new SeedStrategy(seed: 7)).V().out('knows').values('age').coin(0.5)",
        "g.V().out('knows').sideEffect(out('knows').count()).values('age').asNumber().sum()",
        "g.V().match(__.as('a').out('knows').as('b'), __.as('b').has('age', gt(50)).as('c')).select('a', 'c').count()",
        "g.V().as('a').out('knows').as('b').select('a').out('knows').as('c').select('a', 'b', 'c').by('age').limit(3000)",
    ];
    helped_gives_what_alone_gives(&graph, &queries);
}

/// Runs each query alone and with several crews.
fn helped_gives_what_alone_gives(graph: &Oracle, queries: &[&str]) {
    let by_bytes = CrewOptions { workers: 3, sends_bytes: true, ..CrewOptions::default() };
    let small = CrewOptions { rows_min: 3, ..by_bytes };
    let crews = [
        (helped(1), "1 worker"),
        (helped(3), "3 workers"),
        (helped_by(by_bytes), "3 workers, by bytes"),
        (helped_by(small), "3 workers, by bytes, small messages"),
    ];
    for (options, workers) in crews {
        for text in queries {
            let alone = run(graph, text, &QueryOptions::default()).unwrap_or_else(|e| panic!("{text}: {}", e.render()));
            assert!(!alone.is_empty(), "{text}");
            for _ in 0..2 {
                assert_eq!(run(graph, text, &options).unwrap(), alone, "{text} with {workers}");
            }
        }
    }
}

#[test]
fn partial_states_merge_to_what_one_thread_gives() {
    let queries = [
        "g.V().out('knows').count()",
        "g.V().out('knows').values('age').sum()",
        "g.V().out('knows').values('age').mean()",
        "g.V().out('knows').values('age').min()",
        "g.V().out('knows').values('name').max()",
        "g.V().out('knows').values('height').sum()",
        "g.V().out('knows').values('height').mean()",
        "g.V().out('knows').values('height').max()",
        "g.V().out('knows').values('age', 'height').sum()",
        "g.V().out('knows').values('name', 'nothing', 'age').dedup()",
        "g.V().out('knows').dedup().by('age').values('name')",
        "g.V().as('a').out('knows').as('b').dedup('a', 'b').by('age').select('b').values('name')",
        "g.V().out('knows').order().by('age').limit(70).values('name')",
        "g.V().out('knows').order().by('height', desc).by('name').limit(100).id()",
        "g.V().order().by('height').limit(3).valueMap()",
        "g.V().order().by(out('knows').count(), desc).limit(5).id()",
        "g.V().out('knows').groupCount()",
        "g.V().groupCount().by('name')",
        "g.V().out('knows').groupCount().by('height')",
        "g.V().out('knows').groupCount().by(values('nothing'))",
        "g.V().out('knows').out('knows').groupCount().by('age').select(values).unfold().sum()",
        "g.V().out('knows').path().by('age').groupCount().by(unfold().sum())",
        "g.V().out('knows').group().by('name').by(count())",
        "g.V().out('knows').group().by('name').by(out('knows').count())",
        "g.V().group().by('age').by(values('height').sum())",
        "g.V().group().by('age').by(values('height').mean())",
        "g.V().group().by('name').by(values('age').mean())",
        "g.V().group().by('name').by(values('age').sum())",
        "g.V().group().by('name').by(values('height').min())",
        "g.V().group().by(out('knows').count()).by(values('nothing').max())",
        "g.V().has('age', gt(90)).group().by('age').by(values('height').count())",
        "g.V().group().by('age').by(has('height').values('age').min())",
        "g.V().out('knows').group().by('name').by(values('age', 'height').sum())",
        "g.V().out('knows').group().by('name').by(limit(2).count())",
        "g.V().out('knows').group().by('name').by('age').select('n7')",
        "g.V().as('a').out('knows').where(neq('a')).group().by('name').by(count())",
        "g.V().out('knows').simplePath().group().by('name').by(count())",
        "g.V().as('key').as('z').out('knows').where(neq('key')).group().by('name').by(count())",
        "g.V().as('a').out('knows').out('knows').where(neq('a')).count()",
    ];
    helped_gives_what_alone_gives(&people(), &queries);
}

#[test]
fn helpers_prepare_the_barrier() {
    let graph = people();
    let messages = |text: &str, barrier: &str| {
        let options = QueryOptions { profile: true, ..helped(2) };
        let mut graph = Graph::Read(&graph);
        let mut execution = Query::parse(text).unwrap().execute(&mut graph, &Parameters::new(), &options).unwrap();
        let steps = execution.profile(&mut graph).unwrap().steps;
        let step = steps.into_iter().rfind(|step| step.depth == 0 && step.step.starts_with(barrier));
        step.unwrap_or_else(|| panic!("{text}: no {barrier}")).messages.all
    };
    for (text, barrier) in [
        ("g.V().out('knows').groupCount().by('age')", "GroupCount"),
        ("g.V().groupCount().by('age')", "GroupCount"),
        ("g.V().out('knows').values('age').sum()", "Sum"),
        ("g.V().out('knows').out('knows').order().by('age').limit(5)", "Order"),
        ("g.V().out('knows').out('knows').dedup()", "Dedup"),
        ("g.V().group().by('age').by(count())", "Group"),
    ] {
        assert!(messages(text, barrier) > 1, "{text}");
    }
    // Nobody else can prepare what depends on positions, on chance, or on each single traverser.
    for (text, barrier) in [
        ("g.V().out('knows').values('age').fold()", "Fold"),
        ("g.V().out('knows').order().by(shuffle).limit(5)", "Order"),
        ("g.V().out('knows').order().by('age')", "Order"),
        ("g.V().out('knows').group().by('age')", "Group"),
        ("g.V().out('knows').dedup().by(values('age').coin(0.5))", "Dedup"),
    ] {
        assert_eq!(messages(text, barrier), 0, "{text}");
    }
}

/// A sum of integers fails only if it is beyond 64 bits itself, whoever adds them in whatever order.
#[test]
fn the_order_of_integers_does_not_change_their_sum() {
    let graph = people();
    let sum = |text: &str| run(&graph, text, &QueryOptions::default());
    assert_eq!(sum("g.inject(9223372036854775807L, 1, -2).sum()").unwrap(), [Value::Int64(i64::MAX - 1)]);
    assert_eq!(sum("g.inject(127b, 1b).sum()").unwrap(), [Value::Int16(128)]);
    assert_eq!(sum("g.inject(127b, 1b, -1b).sum()").unwrap(), [Value::Int8(127)]);
    assert_eq!(sum("g.inject(1, 0.5, 2).sum()").unwrap(), [Value::Float64(3.5)]);
    let large = sum("g.inject(0.5, 9223372036854775807L, 9223372036854775807L).sum()").unwrap();
    assert_eq!(large, [Value::Float64(18_446_744_073_709_551_614.5)]);
    let exact = sum("g.inject(1N, 9223372036854775807L, 9223372036854775807L).sum()").unwrap();
    assert_eq!(exact[0].to_string(), "18446744073709551615");
    assert!(sum("g.inject(9223372036854775807L, 1).sum()").unwrap_err().render().contains("overflow"));
    assert!(sum("g.inject(9223372036854775807L, 1).mean()").unwrap_err().render().contains("overflow"));
}

#[test]
fn queries_whose_traversers_see_each_other_run_alone() {
    let graph = people();
    let messages = |text: &str| -> u64 {
        let options = QueryOptions { profile: true, ..helped(2) };
        let mut graph = Graph::Read(&graph);
        let mut execution = Query::parse(text).unwrap().execute(&mut graph, &Parameters::new(), &options).unwrap();
        execution.profile(&mut graph).unwrap().steps.iter().map(|step| step.messages.all).sum()
    };
    assert!(messages("g.V().out('knows').values('age').sum()") > 1, "this one can be helped");
    for text in [
        "g.withSack(1).V().out('knows').sack(sum).by('age').sack().sum()",
        "g.V().out('knows').aggregate(local, 'x').out('knows').where(without('x')).count()",
        "g.V().out('knows').sideEffect(values('age').aggregate('x')).out('knows').count()",
    ] {
        assert_eq!(messages(text), 0, "{text}");
    }
}

#[test]
fn large_traversers_travel_in_small_messages() {
    let graph = people();
    let list = |item: Value, n: usize| Value::List(vec![item; n].into());
    let messages = |wide: usize| -> (u64, usize) {
        let options = QueryOptions { profile: true, ..helped(2) };
        let parameters = Parameters::from([("lists".to_owned(), list(list(Value::Int64(1), wide), 2000))]);
        let mut graph = Graph::Read(&graph);
        let query = Query::parse("g.inject(lists).unfold().map(count(local)).sum()").unwrap();
        let profile = query.execute(&mut graph, &parameters, &options).unwrap().profile(&mut graph).unwrap();
        let step = profile.steps.iter().find(|step| step.step.starts_with("Map")).unwrap();
        assert_eq!(step.rows, 2000);
        (step.messages.all, step.threads)
    };
    // A megabyte at most: about sixteen lists of 64 kB.
    let (many, threads) = messages(4000);
    assert!(many > 100 && (1..=3).contains(&threads), "{many} messages on {threads} threads");
    assert!(messages(1).0 < many / 2);
}

#[test]
fn an_error_on_another_thread_is_the_querys_own() {
    let graph = people();
    let text = "g.V().out('knows').values('age').map(math('_ / 2')).is(gt(-1)).values('age')";
    let alone = run(&graph, text, &QueryOptions::default()).expect_err("numbers have no properties");
    let error = run(&graph, text, &helped(2)).expect_err("numbers have no properties");
    assert_eq!((error.kind, error.render()), (alone.kind, alone.render()));
}

#[test]
fn warnings_of_helpers_reach_the_user_once() {
    let graph = people();
    let mut graph = Graph::Read(&graph);
    let query = Query::parse("g.V().out('knows').where(has('aeg'))").unwrap();
    let mut execution = query.execute(&mut graph, &Parameters::new(), &helped(2)).unwrap();
    assert!(execution.collect(&mut graph).unwrap().is_empty());
    assert_eq!(execution.warnings(), ["the graph has no property key `aeg`; did you mean `age`?"]);
}

#[test]
fn a_helped_query_ends_soon_when_it_is_cancelled_or_out_of_time() {
    let graph = people();
    let endless = "g.V().repeat(both('knows')).until(has('nothing')).count()";
    let options = QueryOptions { timeout: Some(Duration::from_millis(30)), ..helped(2) };
    assert_eq!(run(&graph, endless, &options).expect_err("endless").kind, QueryErrorKind::Timeout);
    let cancel = CancelToken::default();
    let options = QueryOptions { cancel: cancel.clone(), ..helped(2) };
    let canceller = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(30));
        cancel.cancel();
        Instant::now()
    });
    assert_eq!(run(&graph, endless, &options).expect_err("cancelled").kind, QueryErrorKind::Cancelled);
    canceller.join().unwrap();
}

#[test]
fn a_query_dropped_midway_leaves_its_helpers_free() {
    let graph = people();
    let options = helped(2);
    for _ in 0..20 {
        let mut graph = Graph::Read(&graph);
        let query = Query::parse("g.V().out('knows').out('knows').values('age')").unwrap();
        let mut execution = query.execute(&mut graph, &Parameters::new(), &options).unwrap();
        assert!(execution.next(&mut graph).unwrap().is_some());
    }
    let crew = options.crew.clone().unwrap();
    drop(options);
    assert_eq!(Arc::strong_count(&crew), 1, "no execution is left behind");
    let options = QueryOptions { crew: Some(crew), ..QueryOptions::default() };
    assert_eq!(run(&graph, "g.V().out('knows').count()", &options).unwrap(), [Value::Int64(8_192)]);
}

#[test]
fn many_queries_share_a_crew() {
    let graph = people();
    let options = helped(2);
    let text = "g.V().out('knows').out('knows').dedup().count()";
    let expected = run(&graph, text, &QueryOptions::default()).unwrap();
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                let mine = graph.clone();
                for _ in 0..5 {
                    assert_eq!(run(&mine, text, &options).unwrap(), expected);
                }
            });
        }
    });
}

#[test]
fn a_helped_query_keeps_to_its_memory() {
    const BUDGET: usize = 1_000_000;
    let graph = people();
    let text = "g.V().out('knows').out('knows').path().fold()";
    let small = |options: QueryOptions| QueryOptions { memory_bytes_max: BUDGET, ..options };
    for options in [small(QueryOptions::default()), small(helped(3))] {
        assert_eq!(run(&graph, text, &options).expect_err(text).kind, QueryErrorKind::Memory);
        // The crew still serves. Results taken as they come need not fit into memory together.
        let mut graph = Graph::Read(&graph);
        let query = Query::parse("g.V().out('knows').out('knows').values('age')").unwrap();
        let mut execution = query.execute(&mut graph, &Parameters::new(), &options).unwrap();
        let mut given = 0;
        while let Some(values) = execution.next(&mut graph).unwrap() {
            given += values.len();
        }
        assert!(given * size_of::<Value>() > BUDGET, "{given}");
    }
}
