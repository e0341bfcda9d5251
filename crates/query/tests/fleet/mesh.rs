//! Traversers that go from node to node: for which queries, and that they change no result.

use mangrove_query::plan::mesh::{Stage, at_start, stages};
use mangrove_query::{MeshFleet, MeshRan, Owners};
use mangrove_testkit::canonical;
use mangrove_testkit::parts::{PARTS, part_of, run_parts};

use super::*;

/// How nodes behave.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Going {
    Goes,
    /// One of them does not come to its end.
    Stops,
    /// What they say is no answer.
    Damages,
}

/// Nodes of this process among which traversers go. They run no other steps.
struct Meshed {
    graph: Arc<Oracle>,
    going: Going,
    moved_min: f64,
    ran: AtomicUsize,
}

impl fmt::Debug for Meshed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.going.fmt(f)
    }
}

impl Meshed {
    fn of(graph: &Arc<Oracle>, going: Going, moved_min: f64) -> Arc<Self> {
        Arc::new(Self { graph: graph.clone(), going, moved_min, ran: AtomicUsize::new(0) })
    }
}

impl Fleet for Meshed {
    fn node_of_vertex(&self, vertex: VertexId) -> u16 {
        part_of(vertex) as u16
    }

    fn node_of_edge(&self, edge: &EdgeRef) -> u16 {
        part_of(edge.source) as u16
    }

    fn run(&self, messages: Vec<(u16, Vec<u8>)>, _: &ReadContext) -> Vec<Ran> {
        messages.iter().map(|_| Ran::Unable).collect()
    }

    fn mesh(&self) -> Option<&dyn MeshFleet> {
        Some(self)
    }
}

impl Owners for Meshed {
    fn parts(&self) -> usize {
        PARTS
    }

    fn part_of_vertex(&self, vertex: VertexId) -> usize {
        part_of(vertex)
    }

    fn part_of_edge(&self, edge: &EdgeRef) -> usize {
        part_of(edge.source)
    }
}

impl MeshFleet for Meshed {
    fn moved_min(&self) -> f64 {
        self.moved_min
    }

    fn run_all(&self, mut messages: Vec<Vec<u8>>, limits: &ReadContext) -> Option<MeshRan> {
        self.ran.fetch_add(1, Ordering::Relaxed);
        if self.going == Going::Stops {
            messages[1].truncate(3);
        }
        let ran = run_parts(vec![&*self.graph; PARTS], |graph| *graph, messages, limits)?;
        match self.going {
            Going::Damages => Some(MeshRan { answers: vec![vec![7; 9]; PARTS], ..ran }),
            Going::Goes | Going::Stops => Some(ran),
        }
    }
}

/// Queries whose traversers go from node to node.
const GOING: [&str; 21] = [
    "g.V().out('knows').out('knows').dedup().count()",
    "g.V().out('knows').out('knows').count()",
    "g.V(1, 2, 3).out().out().out().dedup().count()",
    "g.V(1, 1, 2).out('knows').in('knows').out('knows').count()",
    "g.V(1).repeat(out('knows')).times(3).count()",
    "g.V(1).repeat(out('knows')).times(3).emit().count()",
    "g.V(1).repeat(out('knows')).times(3).emit().dedup().count()",
    "g.V(1).emit().repeat(both('knows')).times(2).count()",
    "g.V(1, 1, 2).repeat(out().dedup()).times(4).count()",
    "g.V(1).repeat(out('knows').has('age', gt(20))).times(3).values('age').max()",
    "g.V().out('knows').has('age', gt(40)).values('age').max()",
    "g.V().out('knows').has('age', gt(40)).values('name').min()",
    "g.V().out('knows').values('age').sum()",
    "g.V().in('knows').values('age').mean()",
    "g.V().out('knows').has('age', gt(40)).values('name').dedup().count()",
    "g.V().outE('knows').has('weight', lt(4)).inV().out('knows').dedup().count()",
    "g.E().has('weight', gt(3)).inV().where(out('knows')).dedup().count()",
    "g.V().where(out('knows').count().is(gt(9))).out('knows').has('age').count()",
    "g.V().bothE('knows').dedup().count()",
    "g.V().has('age', gt(10)).values('age').max()",
    "g.V().out('knows').out('knows').valueMap('name').count()",
];

/// Queries whose traversers end in a map of which each node makes its part, or in a sorted list of which each node has its first.
const IN_PARTS: [&str; 29] = [
    "g.V().groupCount().by('name')",
    "g.V().out('knows').groupCount().by('name')",
    "g.V().out('knows').out('knows').groupCount()",
    "g.V().out('knows').groupCount().by(label)",
    "g.V().out('knows').groupCount().by(id)",
    "g.V().out('knows').groupCount().by(out('knows').count())",
    "g.V().out('knows').values('age').groupCount()",
    "g.V(1, 2, 3).out('knows').groupCount().by('age')",
    "g.V().outE('knows').groupCount().by('weight')",
    "g.V(1).repeat(out('knows')).times(3).emit().groupCount().by('name')",
    "g.V().out('knows').group().by('name').by(count())",
    "g.V().out('knows').group().by('name').by(values('age').sum())",
    "g.V().out('knows').group().by('name').by(values('age').mean())",
    "g.V().out('knows').group().by('age').by(values('name').max())",
    "g.V().out('knows').group().by('name').by(values('age').min())",
    "g.V().out('knows').group().by('age').by(out('knows').count())",
    "g.V().out('knows').group().by(id).by(values('age').sum())",
    "g.V().out('knows').groupCount().by('name').unfold()",
    "g.V().out('knows').groupCount().by('name').unfold().order().by(values, desc).by(keys).limit(3)",
    "g.V().out('knows').groupCount().by('name').order(local).by(values, desc).by(keys).limit(local, 3)",
    "g.V().out('knows').groupCount().by('name').count(local)",
    "g.V().out('knows').groupCount().by('age').unfold().select(values).max()",
    "g.V().out('knows').groupCount().unfold().select(keys).values('name')",
    "g.V().out('knows').order().by('age').by(id).limit(10)",
    "g.V().out('knows').order().by('name', desc).by(id, desc).limit(7).values('age')",
    "g.V().out('knows').values('age').order().limit(100)",
    "g.V().out('knows').values('name').order().by(desc).limit(20)",
    "g.V().outE('knows').order().by('weight').by(id).limit(9)",
    "g.V().out('knows').dedup().order().by(out('knows').count(), desc).by(id).range(2, 5).out('knows').count()",
];

/// Queries of which nodes could do parts, but somebody sees an order that would be another one, or equal traversers differ.
const WHOLE: [&str; 10] = [
    "g.V().out('knows').group().by('name').by('age').count(local)",
    "g.V().out('knows').group().by('name').by(values('age').fold()).count(local)",
    "g.V().out('knows').groupCount().by('name').unfold().limit(3).count()",
    "g.V().out('knows').groupCount().by('name').limit(local, 3).count(local)",
    "g.V().out('knows').groupCount().by('age').unfold().select(values).sum()",
    "g.V().out('knows').groupCount('x').by('name').cap('x')",
    "g.V().out('knows').groupCount().by(out('knows').values('name'))",
    "g.V().out('knows').order().by('age').limit(10).count()",
    "g.V().out('knows').order().by(id)",
    "g.V().as('a').out('knows').groupCount().by(select('a').by('name'))",
];

/// Queries whose traversers come back after each hop, or that have nothing to do elsewhere.
const STAYING: [&str; 12] = [
    "g.V().count()",
    "g.V(1).out('knows').count()",
    "g.V().out().out()",
    "g.V().out().out().dedup()",
    "g.V().out().order().by('age').out().count()",
    "g.V().out().limit(10).out().count()",
    "g.V().as('a').out().out().where(neq('a')).count()",
    "g.V().repeat(out()).until(or(has('age', 3), loops().is(3))).count()",
    "g.V(1).repeat(out()).times(1000).count()",
    "g.withSack(1).V().out().out().count()",
    "g.withBulk(false).V().out().out().count()",
    "g.V().out().aggregate('x').out().count()",
];

fn explained(fleet: &Arc<Meshed>, text: &str, options: QueryOptions) -> Vec<bool> {
    let options = QueryOptions { fleet: Some(fleet.clone()), ..options };
    let explained = Query::parse(text).unwrap().explain(&*fleet.graph, &Parameters::new(), &options).unwrap();
    let shows = explained.to_string().contains("from node to node");
    assert_eq!(shows, explained.steps.iter().any(|step| step.between_nodes), "{explained}");
    explained.steps.iter().map(|step| step.between_nodes).collect()
}

fn off() -> QueryOptions {
    QueryOptions { rules_off: vec!["mesh".into()], ..QueryOptions::default() }
}

#[test]
fn traversers_go_on_where_nobody_sees_their_order() {
    let fleet = Meshed::of(&Arc::new(people()), Going::Goes, 0.0);
    for text in GOING {
        assert!(explained(&fleet, text, QueryOptions::default()).contains(&true), "{text}");
        assert!(!explained(&fleet, text, off()).contains(&true), "{text}");
    }
    for text in STAYING {
        assert!(!explained(&fleet, text, QueryOptions::default()).contains(&true), "{text}");
    }
}

/// The results as text, without order.
fn bag(graph: &Oracle, text: &str, options: &QueryOptions) -> Vec<String> {
    let results = run(graph, text, options).unwrap_or_else(|error| panic!("{text}: {}", error.render()));
    let mut texts: Vec<String> = results.iter().map(canonical::text).collect();
    texts.sort_unstable();
    texts
}

#[test]
fn nodes_do_their_parts_of_maps_and_sorted_lists() {
    let graph = Arc::new(people());
    for going in [Going::Goes, Going::Stops, Going::Damages] {
        let fleet = Meshed::of(&graph, going, 0.0);
        let options = QueryOptions { fleet: Some(fleet.clone()), ..QueryOptions::default() };
        for text in IN_PARTS {
            let explained = Query::parse(text).unwrap().explain(&*graph, &Parameters::new(), &options).unwrap();
            assert_eq!(explained.steps.iter().filter(|step| step.in_parts).count(), 1, "{explained}");
            assert!(explained.to_string().contains("in parts at the nodes"), "{explained}");
            let alone = bag(&graph, text, &QueryOptions::default());
            assert_eq!(bag(&graph, text, &options), alone, "{text}, nodes: {going:?}");
            assert_eq!(fleet.ran.swap(0, Ordering::Relaxed), 1, "{text}");
            if text.contains("limit(") && !text.contains("local") {
                let sorted = run(&graph, text, &QueryOptions::default()).unwrap();
                assert_eq!(run(&graph, text, &options).unwrap(), sorted, "{text}, nodes: {going:?}");
                fleet.ran.store(0, Ordering::Relaxed);
            }
        }
        for text in WHOLE {
            assert!(!explained(&fleet, text, QueryOptions::default()).contains(&true), "{text}");
            assert_eq!(bag(&graph, text, &options), bag(&graph, text, &QueryOptions::default()), "{text}");
            assert_eq!(fleet.ran.load(Ordering::Relaxed), 0, "{text}");
        }
    }
}

#[test]
fn parts_that_depend_on_an_order_are_made_by_the_query() {
    let graph = Arc::new(people());
    let fleet = Meshed::of(&graph, Going::Goes, 0.0);
    let options = QueryOptions { fleet: Some(fleet.clone()), ..QueryOptions::default() };
    let tried = [
        "g.V().out('knows').group().by('name').by(values('age').math('_ / 7').sum())",
        "g.V().out('knows').group().by('name').by(values('age').math('_ / 7').mean())",
        "g.V().out('knows').values('age').math('_ / 7').order().limit(9)",
        "g.V().out('knows').values('age', 'name').order().limit(9)",
    ];
    for text in tried {
        assert_eq!(bag(&graph, text, &options), bag(&graph, text, &QueryOptions::default()), "{text}");
        assert_eq!(fleet.ran.swap(0, Ordering::Relaxed), 1, "{text}: it was tried");
    }
}

#[test]
fn a_plan_of_too_many_steps_stays() {
    let fleet = Meshed::of(&Arc::new(people()), Going::Goes, 0.0);
    let conditions: String = (0..12).map(|n| format!(".where(out('knows').count().is(gt({n})))")).collect();
    let goes = |times: u64| {
        let text = format!("g.V(1).repeat(out('knows'){conditions}).times({times}).count()");
        explained(&fleet, &text, QueryOptions::default()).contains(&true)
    };
    assert!(goes(10));
    assert!(!goes(60));
}

#[test]
fn few_traversers_stay() {
    let graph = Arc::new(people());
    let fleet = Meshed::of(&graph, Going::Goes, 2_000.0);
    let is_going = |text: &str| explained(&fleet, text, QueryOptions::default()).contains(&true);
    assert!(is_going("g.V().out('knows').out('knows').count()"), "4,096 edges are expected");
    assert!(!is_going("g.V().has('age', gt(10)).values('age').max()"), "512 vertices");
    assert!(!is_going("g.V(1).out('knows').out('knows').count()"));
    let options = QueryOptions { fleet: Some(fleet.clone()), ..QueryOptions::default() };
    run(&graph, "g.V(1).out('knows').out('knows').count()", &options).unwrap();
    assert_eq!(fleet.ran.load(Ordering::Relaxed), 0);
    run(&graph, "g.V().out('knows').out('knows').count()", &options).unwrap();
    assert_eq!(fleet.ran.load(Ordering::Relaxed), 1, "a plan that runs has estimates");
}

#[test]
fn a_query_has_as_many_exchanges_as_hops() {
    let of = |text: &str| {
        let plan = Query::parse(text).unwrap().plan(&people(), &Parameters::new(), &QueryOptions::default()).unwrap();
        let (_, mesh) = at_start(&plan.traversal.steps, 0.0).expect("a mesh");
        stages(&mesh.traversal().steps).expect("stages of a mesh")
    };
    let count = |stages: &[Stage], test: fn(&Stage) -> bool| stages.iter().filter(|stage| test(stage)).count();
    let distinct = of("g.V(1).out('knows').out('knows').out('knows').dedup().count()");
    assert_eq!(count(&distinct, |stage| matches!(stage, Stage::Exchange)), 3, "{distinct:?}");
    assert_eq!(count(&distinct, |stage| matches!(stage, Stage::Once { seen: None })), 3, "{distinct:?}");
    let reach = of("g.V(1).repeat(out('knows')).times(4).emit().dedup().count()");
    assert_eq!(count(&reach, |stage| matches!(stage, Stage::Exchange)), 4, "{reach:?}");
    assert_eq!(count(&reach, |stage| matches!(stage, Stage::Once { seen: Some(_) })), 4, "{reach:?}");
    assert_eq!(count(&reach, |stage| matches!(stage, Stage::Keep)), 3, "{reach:?}");
}

#[test]
fn traversers_that_go_from_node_to_node_change_no_result() {
    let graph = Arc::new(people());
    for going in [Going::Goes, Going::Stops, Going::Damages] {
        let fleet = Meshed::of(&graph, going, 0.0);
        let options = QueryOptions { fleet: Some(fleet.clone()), ..QueryOptions::default() };
        for text in GOING {
            let alone = run(&graph, text, &QueryOptions::default()).unwrap_or_else(|e| panic!("{text}: {}", e.render()));
            assert_eq!(run(&graph, text, &options).unwrap(), alone, "{text}, nodes: {going:?}");
            assert_eq!(fleet.ran.swap(0, Ordering::Relaxed), 1, "{text}");
            assert_eq!(run(&graph, text, &QueryOptions { fleet: Some(fleet.clone()), ..off() }).unwrap(), alone, "{text}");
            assert_eq!(fleet.ran.load(Ordering::Relaxed), 0, "{text}");
        }
        for text in STAYING {
            let alone = run(&graph, text, &QueryOptions::default());
            if let Ok(alone) = alone {
                assert_eq!(run(&graph, text, &options).unwrap(), alone, "{text}, nodes: {going:?}");
            }
            assert_eq!(fleet.ran.load(Ordering::Relaxed), 0, "{text}");
        }
    }
}

#[test]
fn what_depends_on_the_order_or_fails_is_run_by_the_query() {
    let graph = Arc::new(people());
    let fleet = Meshed::of(&graph, Going::Goes, 0.0);
    let options = QueryOptions { fleet: Some(fleet.clone()), ..QueryOptions::default() };
    let halves = "g.V().out('knows').values('age').math('_ / 7').sum()";
    assert_eq!(run(&graph, halves, &options).unwrap(), run(&graph, halves, &QueryOptions::default()).unwrap());
    let texts = "g.V().out('knows').values('name').sum()";
    let there = run(&graph, texts, &options).unwrap_err();
    let here = run(&graph, texts, &QueryOptions::default()).unwrap_err();
    assert_eq!((there.render(), there.span, there.kind), (here.render(), here.span, here.kind));
    assert_eq!(fleet.ran.load(Ordering::Relaxed), 2, "both were tried");
}

#[test]
fn few_messages_and_bytes_go_from_node_to_node() {
    let graph = Arc::new(people());
    let fleet = Meshed::of(&graph, Going::Goes, 2_000.0);
    let options = QueryOptions { fleet: Some(fleet), profile: true, ..QueryOptions::default() };
    let query = Query::parse("g.V().out('knows').out('knows').dedup().count()").unwrap();
    let mut view = Graph::Read(&*graph);
    let profile = query.execute(&mut view, &Parameters::new(), &options).unwrap().profile(&mut view).unwrap();
    let messages = profile.steps.iter().map(|step| step.messages).find(|messages| messages.sent > 0).unwrap();
    let (hops, parts, edges) = (2, PARTS as u64, 4_096);
    assert!(messages.sent <= hops * parts * parts, "{messages:?}");
    assert!(messages.bytes <= 10 * edges, "{messages:?}");
}
