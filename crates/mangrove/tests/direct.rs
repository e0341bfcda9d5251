//! Calls without a query language: against a model so simple that it is easy to see that it is right, over tables, segments, both,
//! and open files.

use std::collections::{BTreeMap, BTreeSet};

use mangrove::direct::{DirectReads, EdgeData, graph_search, tao};
use mangrove::graph::Value;
use mangrove::ingest::Quiet;
use mangrove::{Database, ElementKind, GraphArOptions, StoreError};
use mangrove_testkit::graphs::Random;

const TYPES: [&str; 3] = ["knows", "likes", "plain"];
const CITIES: [&str; 3] = ["Ithaca", "London", "Rome"];
const TASTES: [&str; 2] = ["music", "films"];

/// An edge as the model keeps it. Edges of the type `plain` have no time.
#[derive(Clone, Debug)]
struct Link {
    source: i64,
    edge_type: usize,
    target: i64,
    time: Option<i64>,
    note: String,
}

#[derive(Default)]
struct Model {
    /// The properties of each vertex.
    nodes: BTreeMap<i64, BTreeMap<&'static str, String>>,
    /// In the order in which they were added.
    links: Vec<Link>,
}

impl Model {
    /// The edges of one type, or of all types by time; the oldest first.
    fn list(&self, source: i64, edge_type: Option<usize>) -> Vec<Link> {
        let mut list: Vec<Link> = self
            .links
            .iter()
            .filter(|link| link.source == source && edge_type.is_none_or(|wanted| link.edge_type == wanted))
            .cloned()
            .collect();
        // Of edges with the same time, those of the type that came first to the graph come first.
        list.sort_by_key(|link| (link.time, link.edge_type));
        list
    }

    fn with(&self, wanted: &[(&'static str, &str)]) -> BTreeSet<i64> {
        let has = |of: &BTreeMap<&str, String>| wanted.iter().all(|(key, value)| of.get(key).is_some_and(|v| v == value));
        self.nodes.iter().filter(|(_, of)| has(of)).map(|(id, _)| *id).collect()
    }

    fn add(&mut self, link: Link) {
        self.links.push(link);
    }

    fn remove(&mut self, source: i64, edge_type: usize, target: i64) -> usize {
        let before = self.links.len();
        self.links.retain(|link| (link.source, link.edge_type, link.target) != (source, edge_type, target));
        before - self.links.len()
    }
}

fn id(number: i64) -> Value {
    Value::Int64(number)
}

fn shown(data: &[EdgeData]) -> Vec<(Value, String, Option<i64>, String)> {
    let note = |data: &EdgeData| data.properties.iter().map(|(key, value)| format!("{key}={value}")).collect::<String>();
    data.iter()
        .map(|data| {
            (data.destination.clone(), data.edge_type.to_string(), data.time.as_ref().and_then(Value::as_time), note(data))
        })
        .collect()
}

fn expected<'l>(links: impl IntoIterator<Item = &'l Link>) -> Vec<(Value, String, Option<i64>, String)> {
    let one = |link: &Link| (id(link.target), TYPES[link.edge_type].to_owned(), link.time, format!("note={}", link.note));
    links.into_iter().map(one).collect()
}

/// Random changes, through TAO's operations and through ZipG's calls.
fn change(db: &Database, model: &mut Model, random: &mut Random, seconds: &mut i64) {
    let mut pick = |bound: usize| random.below(bound as u64) as usize;
    let known: Vec<i64> = model.nodes.keys().copied().collect();
    let some = |at: usize| known.get(at % known.len().max(1)).copied().unwrap_or(-1);
    let (x, y, kind) = (some(pick(1 << 20)), some(pick(1 << 20)), pick(TYPES.len()));
    *seconds += pick(3) as i64;
    let (time, note) = ((kind < 2).then_some(*seconds), format!("n{}", pick(1000)));
    let link = Link { source: x, edge_type: kind, target: y, time, note: note.clone() };
    match pick(12) {
        0..3 => {
            let number = pick(100_000) as i64;
            let (city, taste) = (CITIES[pick(3)], TASTES[pick(2)]);
            let label = if number % 3 == 0 { "artist" } else { "person" };
            let added = db.write_directly(|graph| {
                tao::obj_add(graph, label, Some(id(number)), &[("city", city.into()), ("taste", taste.into())])
            });
            assert_eq!(added.is_err(), model.nodes.contains_key(&number), "{added:?}");
            if added.is_ok() {
                model.nodes.insert(number, BTreeMap::from([("city", city.into()), ("taste", taste.into())]));
            }
        }
        3..7 if known.len() > 1 => {
            let (is_new, _) = db
                .write_directly(|graph| {
                    let time = time.map(Value::Int64);
                    tao::assoc_add(graph, &id(x), TYPES[kind], &id(y), time, &[("note", note.clone().into())])
                })
                .unwrap();
            assert_eq!(is_new, model.remove(x, kind, y) == 0);
            model.add(link);
        }
        7 if known.len() > 1 => {
            // Beside the one that may be there.
            let add = |graph: &mut mangrove::direct::DirectWrites<'_>| {
                graph.append_edge(&id(x), TYPES[kind], &id(y), time.map(Value::Int64), &[("note", note.clone().into())])
            };
            db.write_directly(add).unwrap();
            model.add(link);
        }
        8 => {
            let city = CITIES[pick(3)];
            let (was_there, _) =
                db.write_directly(|graph| tao::obj_update(graph, &id(x), &[("city", city.into())])).unwrap();
            assert_eq!(was_there, model.nodes.contains_key(&x));
            model.nodes.entry(x).and_modify(|of| drop(of.insert("city", city.into())));
            if !was_there {
                model.nodes.remove(&x);
            }
        }
        9 if !model.links.is_empty() => {
            let Link { source, edge_type, target, .. } = model.links[pick(model.links.len())].clone();
            let change = [("note", Value::from("changed"))];
            let (was_there, _) = db
                .write_directly(|graph| tao::assoc_update(graph, &id(source), TYPES[edge_type], &id(target), &change))
                .unwrap();
            assert!(was_there);
            let of_pair = |link: &&mut Link| (link.source, link.edge_type, link.target) == (source, edge_type, target);
            model.links.iter_mut().filter(of_pair).for_each(|link| link.note = "changed".into());
        }
        10 if !model.links.is_empty() => {
            let Link { source, edge_type, target, .. } = model.links[pick(model.links.len())].clone();
            let (was_there, _) =
                db.write_directly(|graph| tao::assoc_del(graph, &id(source), TYPES[edge_type], &id(target))).unwrap();
            assert!(was_there);
            assert!(model.remove(source, edge_type, target) > 0);
        }
        11 if pick(4) == 0 => {
            let (was_there, _) = db.write_directly(|graph| tao::obj_del(graph, &id(x))).unwrap();
            assert_eq!(was_there, model.nodes.remove(&x).is_some());
            model.links.retain(|link| link.source != x && link.target != x);
        }
        _ => {}
    }
}

/// Holds every call against the model, for some vertices.
fn hold(reads: DirectReads<'_>, model: &Model, random: &mut Random) -> Result<(), StoreError> {
    let known: Vec<i64> = model.nodes.keys().copied().collect();
    for _ in 0..12 {
        let x = known[random.below(known.len() as u64) as usize];
        let node = reads.node(&id(x))?;
        assert_eq!(reads.ids(&[node])?, [id(x)]);
        let of = |found: mangrove::direct::Properties| -> BTreeMap<String, String> {
            found.into_iter().map(|(key, value)| (key.to_string(), value.to_string())).collect()
        };
        let all: BTreeMap<String, String> =
            model.nodes[&x].iter().map(|(key, value)| ((*key).into(), value.clone())).collect();
        assert_eq!(of(tao::obj_get(reads, &id(x))?.unwrap()), all);
        let city = &model.nodes[&x]["city"];
        assert_eq!(reads.get_node_property(node, Some(&["city"]))?[0].1, Value::from(&**city));
        for edge_type in [None, Some(0), Some(1), Some(2)] {
            let name = edge_type.map(|at: usize| TYPES[at]);
            let list = model.list(x, edge_type);
            let record = reads.get_edge_record(node, name)?;
            let count = record.count()?;
            assert_eq!(count, list.len() as u64);
            let all = record.get_edges(0..count)?;
            assert_eq!(shown(&all), expected(&list), "of {x} along {name:?}");
            assert_eq!(graph_search::gs5(reads, node, name)?, all);
            let (first, last) = (random.below(1 + count), random.below(2 + count));
            let some = list.iter().skip(first as usize).take(last.saturating_sub(first) as usize);
            assert_eq!(shown(&record.get_edges(first..last)?), expected(some), "{first}..{last} of {}", list.len());
            assert!(record.get_edge_data(count).is_err());
            if edge_type != Some(2) {
                let (low, high) = (random.below(200) as i64, random.below(400) as i64);
                let before =
                    |bound: i64| list.iter().filter(|link| link.time.is_none_or(|time| time < bound)).count() as u64;
                let range = record.get_edge_range(Some(low), Some(high))?;
                assert_eq!(range, before(low)..before(high).max(before(low)));
                assert_eq!(record.get_edge_range(None, Some(high))?, 0..before(high));
                assert_eq!(record.get_edge_range(Some(low), None)?, before(low)..count);
            }
            let ids = reads.ids(&reads.get_neighbor_ids(node, name, &[])?)?;
            let by_type = TYPES.iter().enumerate().filter(|(at, _)| edge_type.is_none_or(|wanted| wanted == *at));
            let in_order: Vec<Value> =
                by_type.flat_map(|(at, _)| model.list(x, Some(at))).map(|link| id(link.target)).collect();
            assert_eq!(sorted(&ids), sorted(&in_order));
            if edge_type.is_some() {
                assert_eq!(ids, in_order);
            }
            hold_tao(reads, model, random, x, edge_type)?;
        }
        hold_searches(reads, model, x, node)?;
    }
    Ok(())
}

fn hold_tao(
    reads: DirectReads<'_>,
    model: &Model,
    random: &mut Random,
    x: i64,
    edge_type: Option<usize>,
) -> Result<(), StoreError> {
    let Some(at) = edge_type else { return Ok(()) };
    let (name, mut list) = (TYPES[at], model.list(x, edge_type));
    list.reverse();
    assert_eq!(tao::assoc_count(reads, &id(x), name)?, list.len() as u64);
    let (skip, limit) = (random.below(4), random.below(6));
    let latest = tao::assoc_range(reads, &id(x), name, skip, limit)?;
    assert_eq!(shown(&latest), expected(list.iter().skip(skip as usize).take(limit as usize)));
    let (low, high) = (random.below(200) as i64, random.below(400) as i64);
    let within = |link: &&Link| link.time.is_some_and(|time| (low..high).contains(&time));
    let others: Vec<Value> = list.iter().step_by(2).map(|link| id(link.target)).chain([id(-7)]).collect();
    let to_them = |link: &&Link| others.contains(&id(link.target));
    let got = tao::assoc_get(reads, &id(x), name, &others, None, None)?;
    assert_eq!(shown(&got), expected(list.iter().filter(to_them)));
    if at != 2 {
        let got = tao::assoc_get(reads, &id(x), name, &others, Some(low), Some(high))?;
        assert_eq!(shown(&got), expected(list.iter().filter(to_them).filter(within)));
        let latest = tao::assoc_time_range(reads, &id(x), name, Some(low), Some(high), limit)?;
        assert_eq!(shown(&latest), expected(list.iter().filter(within).take(limit as usize)));
        let latest = tao::assoc_time_range(reads, &id(x), name, None, None, limit)?;
        assert_eq!(shown(&latest), expected(list.iter().take(limit as usize)));
    }
    Ok(())
}

fn hold_searches(reads: DirectReads<'_>, model: &Model, x: i64, node: mangrove::graph::VertexId) -> Result<(), StoreError> {
    let friends: Vec<i64> = model.list(x, None).iter().map(|link| link.target).collect();
    let numbers = |found: Vec<mangrove::graph::VertexId>| -> Result<Vec<i64>, StoreError> {
        let mut ids: Vec<i64> = reads.ids(&found)?.iter().filter_map(Value::as_i64).collect();
        ids.sort_unstable();
        Ok(ids)
    };
    let ordered = |mut ids: Vec<i64>| {
        ids.sort_unstable();
        ids
    };
    assert_eq!(numbers(graph_search::gs1(reads, node)?)?, ordered(friends.clone()));
    for label in ["person", "artist"] {
        let has_label = |number: &i64| (number % 3 == 0) == (label == "artist");
        for (city, taste) in CITIES.iter().flat_map(|city| TASTES.map(|taste| (*city, taste))) {
            let there = model.with(&[("city", city)]);
            let in_city = friends.iter().copied().filter(|friend| there.contains(friend));
            assert_eq!(numbers(graph_search::gs2(reads, node, ("city", city.into()))?)?, ordered(in_city.clone().collect()));
            let joined = graph_search::gs2_joined(reads, node, label, ("city", city.into()))?;
            assert_eq!(numbers(joined)?, ordered(in_city.filter(has_label).collect()));
            let both: Vec<i64> = model.with(&[("city", city), ("taste", taste)]).into_iter().filter(has_label).collect();
            let (one, other) = (("city", Value::from(city)), ("taste", Value::from(taste)));
            assert_eq!(numbers(graph_search::gs3(reads, label, one.clone(), other.clone())?)?, both);
            assert_eq!(numbers(graph_search::gs3_joined(reads, label, one, other)?)?, both);
        }
    }
    let rome: Vec<i64> = model.with(&[("city", "Rome")]).into_iter().collect();
    assert_eq!(numbers(reads.get_node_ids(None, &[("city", "Rome".into())])?)?, rome);
    let knows: Vec<i64> = model.list(x, Some(0)).iter().map(|link| link.target).collect();
    assert_eq!(numbers(graph_search::gs4(reads, node, "knows")?)?, ordered(knows));
    Ok(())
}

/// Files keep no order of times.
fn hold_in_files(reads: DirectReads<'_>, model: &Model) -> Result<(), StoreError> {
    for (x, properties) in model.nodes.iter().take(40) {
        let found = tao::obj_get(reads, &id(*x))?.unwrap();
        let shown: BTreeMap<String, String> =
            found.into_iter().map(|(key, value)| (key.to_string(), value.to_string())).collect();
        assert!(properties.iter().all(|(key, value)| shown.get(*key) == Some(value)), "{shown:?}");
        for (at, name) in TYPES.iter().enumerate().filter(|(at, _)| model.links.iter().any(|link| link.edge_type == *at)) {
            let list = model.list(*x, Some(at));
            assert_eq!(tao::assoc_count(reads, &id(*x), name)?, list.len() as u64);
            let ids = reads.ids(&reads.get_neighbor_ids(reads.node(&id(*x))?, Some(name), &[])?)?;
            assert_eq!(sorted(&ids), sorted(&list.iter().map(|link| id(link.target)).collect::<Vec<_>>()));
        }
    }
    Ok(())
}

fn sorted(values: &[Value]) -> Vec<i64> {
    let mut all: Vec<i64> = values.iter().filter_map(Value::as_i64).collect();
    all.sort_unstable();
    all
}

#[test]
fn all_calls_agree_with_a_model_over_every_tier() {
    for seed in 0..6 {
        let directory = tempfile::tempdir().unwrap();
        let db = Database::open(directory.path().join("db.mg")).unwrap();
        let (mut model, mut random, mut seconds) = (Model::default(), Random::new(seed), 0);
        for label in &TYPES[..2] {
            db.declare_time(label, "at").unwrap();
        }
        // Types have the order of the model, and all names are known.
        let (first, _) = db
            .write_directly(|graph| {
                graph.append_node("person", Some(id(-1)), &[("city", "Rome".into()), ("taste", "music".into())])?;
                graph.append_node("artist", Some(id(-3)), &[("city", "Rome".into()), ("taste", "music".into())])?;
                graph.append_edge(&id(-1), "plain", &id(-1), None, &[("note", "a loop".into())])
            })
            .unwrap();
        db.write_directly(|graph| {
            assert!(graph.delete_node(&id(-1))?);
            graph.delete_node(&id(-3))
        })
        .unwrap();
        assert!(!db.snapshot().unwrap().contains(mangrove::graph::ElementId::Edge(first.id)).unwrap());
        if seed % 2 == 0 {
            db.create_index(Some(ElementKind::Vertex), "person", "city").unwrap();
        }
        for round in 0..8 {
            (0..60).for_each(|_| change(&db, &mut model, &mut random, &mut seconds));
            if round % 3 == 2 {
                db.compact().unwrap();
            }
            db.read_directly(|reads| hold(reads, &model, &mut random)).unwrap();
        }
        assert!(db.check().unwrap().violations.is_empty());
        let lake = directory.path().join("lake");
        db.export_lake(&lake, &GraphArOptions::default(), &mut Quiet).unwrap();
        let lake = Database::open_lake(lake.join("lake.graph.yml")).unwrap();
        lake.read_directly(|reads| hold_in_files(reads, &model)).unwrap();
        let refused = lake.write_directly(|graph| graph.delete_node(&id(0))).unwrap_err();
        assert!(refused.to_string().contains("never written"), "{refused}");
    }
}

#[test]
fn what_is_not_there_is_named() {
    let directory = tempfile::tempdir().unwrap();
    let db = Database::open(directory.path().join("db.mg")).unwrap();
    let ((), warnings) = db
        .write_directly(|graph| {
            graph.append_node("person", Some("ada".into()), &[("city", "London".into())])?;
            graph.append_node("person", Some("bob".into()), &[])?;
            graph.append_edge(&"ada".into(), "knows", &"bob".into(), None, &[]).map(|_| ())
        })
        .unwrap();
    assert!(warnings.is_empty(), "{warnings:?}");
    let fails = |read: &dyn Fn(DirectReads<'_>) -> Result<(), StoreError>| db.read_directly(read).unwrap_err().to_string();
    assert_eq!(fails(&|reads| reads.node(&"eve".into()).map(|_| ())), "vertex eve is not in the graph");
    let near = fails(&|reads| tao::assoc_count(reads, &"ada".into(), "knws").map(|_| ()));
    assert!(near.contains("there is no edge label named \"knws\"; did you mean \"knows\"?"), "{near}");
    let near = fails(&|reads| reads.get_node_ids(None, &[("cty", "London".into())]).map(|_| ()));
    assert!(near.contains("did you mean \"city\"?"), "{near}");
    let untimed = fails(&|reads| {
        let ada = reads.node(&"ada".into())?;
        reads.get_edge_record(ada, Some("knows"))?.get_edge_range(Some(1), None).map(|_| ())
    });
    assert!(untimed.contains("declare_time()"), "{untimed}");
    // Objects that are not there have nothing.
    db.read_directly(|reads| {
        assert_eq!(tao::obj_get(reads, &"eve".into())?, None);
        assert_eq!(tao::assoc_count(reads, &"eve".into(), "knows")?, 0);
        assert_eq!(tao::assoc_range(reads, &"eve".into(), "knows", 0, 10)?, []);
        Ok(())
    })
    .unwrap();
    // A write that fails changes nothing, and a new name that is almost a known one earns a warning.
    let failed = db.write_directly(|graph| {
        graph.append_node("person", Some("cleo".into()), &[])?;
        graph.append_edge(&"cleo".into(), "knows", &"nobody".into(), None, &[]).map(|_| ())
    });
    assert!(failed.is_err());
    assert!(db.read_directly(|reads| reads.find_node(&"cleo".into())).unwrap().is_none());
    let (_, warnings) =
        db.write_directly(|graph| graph.append_node("persn", Some("dan".into()), &[("city", "Rome".into())])).unwrap();
    assert_eq!(warnings.len(), 1, "{warnings:?}");
    assert!(warnings[0].contains("did you mean `person`?"), "{warnings:?}");
}

/// Whatever indexes there are: a hub's friends of two labels, one of them several times, in a city of few or of many.
#[test]
fn an_index_finds_the_same_friends_of_a_hub() {
    let directory = tempfile::tempdir().unwrap();
    let db = Database::open(directory.path().join("db.mg")).unwrap();
    let city = |number: i64| ["Ithaca", "Rome", "Rome", "Oslo"][if number % 40 == 3 { 0 } else { 1 + number as usize % 3 }];
    let label = |number: i64| if number % 7 == 0 { "artist" } else { "person" };
    db.write_directly(|graph| {
        graph.append_node("person", Some(id(-1)), &[("city", "Rome".into())])?;
        for number in 0..400 {
            graph.append_node(label(number), Some(id(number)), &[("city", city(number).into())])?;
        }
        // Not in the order of ids.
        for friend in (0..300).map(|at| at * 7 % 300).chain([43, 43, 83, 0]) {
            graph.append_edge(&id(-1), "knows", &id(friend), None, &[])?;
        }
        Ok(())
    })
    .unwrap();
    let found = |city: &str| {
        let read = |reads: DirectReads<'_>| {
            reads.ids(&reads.get_neighbor_ids(reads.node(&id(-1))?, Some("knows"), &[("city", city.into())])?)
        };
        db.read_directly(read).unwrap()
    };
    let expected = |wanted: &str| -> Vec<Value> {
        let friends = (0..300).map(|at| at * 7 % 300).chain([43, 43, 83, 0]);
        friends.filter(|friend| city(*friend) == wanted).map(id).collect()
    };
    assert_eq!((expected("Ithaca").len(), expected("Rome").len()), (11, 195));
    for indexed in [None, Some("person"), Some("artist")] {
        indexed.map(|label| db.create_index(Some(ElementKind::Vertex), label, "city").unwrap());
        for compacted in [false, true] {
            for wanted in ["Ithaca", "Rome", "Oslo", "Paris"] {
                assert_eq!(found(wanted), expected(wanted), "{wanted}, with an index of {indexed:?}, {compacted}");
            }
            db.compact().unwrap();
        }
    }
}
