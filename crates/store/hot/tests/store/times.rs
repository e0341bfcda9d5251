//! Edges in the order of their times, and found by them, in the tables and in segments.

use mangrove_graph::{
    Adjacency, Comparison, Direction, EdgeId, EdgeRef, Filter, GraphError, GraphView, GraphWrite, Hop, Latest, NewEdge,
    Predicate, Value,
};
use mangrove_hot::{Hot, Patience, Writer};

use crate::*;

#[test]
fn edges_with_a_time_stand_in_its_order_however_they_come() {
    let (_dir, hot) = new_store();
    let mut t = hot.begin().unwrap();
    let Names { person, knows, name } = names(&mut t);
    t.declare_time(knows, name).unwrap();
    let ids = people(&mut t, person, 2);
    let mut expected = Vec::new();
    let mut time = 1i64;
    for batch in [1, 400, 3, 90, 1, 250] {
        let times: Vec<Option<i64>> = (0..batch)
            .map(|_| {
                time = time * 48_271 % 2_147_483_647;
                (time % 11 != 0).then_some(time % 200 - 100)
            })
            .collect();
        let new: Vec<NewEdge> =
            times.iter().map(|time| NewEdge { time: time.map(Value::Int64), ..edge(ids[0], ids[1]) }).collect();
        let mut edges = Vec::new();
        t.add_edges(knows, &new, &mut edges).unwrap();
        expected.extend(times.into_iter().zip(edges));
    }
    expected.sort();
    t.commit().unwrap();
    let order = |expected: &[(Option<i64>, EdgeId)]| expected.iter().map(|(_, id)| *id).collect::<Vec<_>>();
    for (vertex, direction) in [(ids[0], Direction::Out), (ids[1], Direction::In)] {
        let edges = followed(&hot.snapshot().unwrap(), vertex, direction).edges;
        assert_eq!(edges.iter().map(|e| e.id).collect::<Vec<_>>(), order(&expected));
    }
    assert_clean(&hot);
    let mut t = hot.begin().unwrap();
    let all = followed(&t, ids[0], Direction::Out).edges;
    t.remove_edges(&all.iter().copied().filter(|e| e.id.local() % 2 == 0).collect::<Vec<_>>()).unwrap();
    t.commit().unwrap();
    expected.retain(|(_, id)| id.local() % 2 != 0);
    let edges = followed(&hot.snapshot().unwrap(), ids[1], Direction::In).edges;
    assert_eq!(edges.iter().map(|e| e.id).collect::<Vec<_>>(), order(&expected));
    assert_clean(&hot);
    let mut t = hot.begin().unwrap();
    assert!(matches!(t.declare_time(knows, name), Err(GraphError::Invalid(_))), "there are edges already");
}

/// Edges with a time are in its order, in the tables and in segments.
#[test]
fn edges_of_several_segments_are_in_the_order_of_their_times() {
    let (_dir, hot) = new_store();
    let mut t = hot.begin().unwrap();
    let Names { person, knows, name: at } = names(&mut t);
    t.declare_time(knows, at).unwrap();
    let ids = people(&mut t, person, 40);
    t.commit().unwrap();
    let add = |times: &[i64]| {
        let mut t = hot.begin().unwrap();
        let edges: Vec<_> = times
            .iter()
            .map(|time| NewEdge { time: Some(Value::Int64(*time)), ..edge(ids[0], ids[*time as usize]) })
            .collect();
        t.add_edges(knows, &edges, &mut Vec::new()).unwrap();
        t.commit().unwrap();
    };
    let in_order = |n: usize| {
        let found = followed(&hot.snapshot().unwrap(), ids[0], Direction::Out).neighbors;
        let mut expected = found.clone();
        expected.sort();
        assert_eq!(found.len(), n);
        assert_eq!(found, expected);
        assert!(hot.check().unwrap().is_clean());
    };
    let (writer, patience) = (Writer::this_thread, Patience::ENDLESS);
    add(&[9, 3, 27]);
    hot.seal(writer(), patience).unwrap();
    add(&[30, 1, 12]);
    in_order(6);
    hot.seal(writer(), patience).unwrap();
    add(&[14, 2]);
    in_order(8);
    hot.seal(writer(), patience).unwrap();
    assert_eq!(hot.stats().unwrap().segments.len(), 3);
    in_order(8);
    assert!(hot.merge(writer(), patience).unwrap() > 0);
    in_order(8);
    add(&[5, 33]);
    hot.compact(writer(), patience).unwrap();
    in_order(10);
    assert_eq!(hot.stats().unwrap().segments.len(), 1);
}

#[test]
fn windows_of_time_pass_over_what_was_left_of_sealed_edges() {
    let (_dir, hot) = new_store();
    let mut t = hot.begin().unwrap();
    let Names { person, knows, name: at } = names(&mut t);
    t.declare_time(knows, at).unwrap();
    let ids = people(&mut t, person, 300);
    let since = |time: usize| NewEdge { time: Some(Value::Int64(time as i64)), ..edge(ids[0], ids[time]) };
    t.add_edges(knows, &(0..300).map(since).collect::<Vec<_>>(), &mut Vec::new()).unwrap();
    t.commit().unwrap();
    seal_and_leave_rows(&hot, ids[7], at);
    let mut t = hot.begin().unwrap();
    t.add_edges(knows, &[since(250), since(3)], &mut Vec::new()).unwrap();
    t.commit().unwrap();
    let bound = |comparison, time| Predicate::Compare(comparison, Value::Int64(time));
    let window = Predicate::And(vec![bound(Comparison::Gte, 249), bound(Comparison::Lt, 252)]);
    let filter = Some(Filter { key: at, predicate: window });
    let window = Hop { filter, ..hop(Direction::Out) };
    let finds = |expected: &[usize]| {
        let (snapshot, mut found, mut degrees) = (hot.snapshot().unwrap(), Adjacency::default(), Vec::new());
        snapshot.neighbors(&[ids[0], ids[1]], &window, &mut found).unwrap();
        snapshot.degrees(&[ids[0], ids[1]], &window, &mut degrees).unwrap();
        assert_eq!(found.neighbors, expected.iter().map(|at| ids[*at]).collect::<Vec<_>>());
        assert_eq!(degrees, [expected.len() as u64, 0]);
        assert_clean(&hot);
    };
    finds(&[249, 250, 250, 251]);
    let mut times: Vec<usize> = (0..300).chain([250, 3]).collect();
    times.sort_unstable();
    let all = followed(&hot.snapshot().unwrap(), ids[0], Direction::Out);
    assert_eq!(all.neighbors, times.iter().map(|at| ids[*at]).collect::<Vec<_>>());
    let places: Vec<u64> = all.edges.iter().filter(|edge| edge.target == ids[250]).map(|edge| edge.id.local()).collect();
    assert!(places.len() == 2 && places.is_sorted(), "of one time the older first: {places:?}");
    // When all is sealed, removed edges do not count, though the tables have no edges.
    hot.compact(Writer::this_thread(), Patience::ENDLESS).unwrap();
    finds(&[249, 250, 250, 251]);
    let mut t = hot.begin().unwrap();
    let gone = followed(t.as_view(), ids[251], Direction::In).edges;
    t.remove_edges(&gone).unwrap();
    t.commit().unwrap();
    finds(&[249, 250, 250]);
}

/// Few of very many edges are read, wherever they are: in the tables, sealed, both, or before others that were removed.
#[test]
fn the_latest_edges_are_read_from_the_end() {
    let (_dir, hot) = new_store();
    let mut t = hot.begin().unwrap();
    let Names { person, knows, name: at } = names(&mut t);
    t.declare_time(knows, at).unwrap();
    let ids = people(&mut t, person, 2);
    let since = |time: i64| NewEdge { time: Some(Value::Int64(time)), ..edge(ids[0], ids[1]) };
    t.add_edges(knows, &(0..2000).map(since).collect::<Vec<_>>(), &mut Vec::new()).unwrap();
    t.commit().unwrap();
    let latest_of = |count: usize, at_most: usize| {
        let (snapshot, mut found) = (hot.snapshot().unwrap(), Adjacency::default());
        let latest = Some(Latest { key: at, count });
        snapshot.neighbors(&ids[..1], &Hop { latest, ..hop(Direction::Out) }, &mut found).unwrap();
        assert!((count..=at_most).contains(&found.edges.len()), "{} for the latest {count}", found.edges.len());
        let all = followed(&snapshot, ids[0], Direction::Out).edges;
        assert_eq!(found.edges, all[all.len() - found.edges.len()..]);
    };
    latest_of(3, 3);
    latest_of(300, 300);
    let add = |times: &[i64]| {
        let mut t = hot.begin().unwrap();
        t.add_edges(knows, &times.iter().map(|time| since(*time)).collect::<Vec<_>>(), &mut Vec::new()).unwrap();
        t.commit().unwrap();
    };
    seal_and_leave_rows(&hot, ids[1], at);
    latest_of(3, 3);
    add(&[5, 1998, 3000]);
    latest_of(3, 5);
    hot.seal(Writer::this_thread(), Patience::ENDLESS).unwrap();
    latest_of(3, 5);
    add(&[3001, 3002, 3003]);
    latest_of(3, 3);
    latest_of(5, 10);
    hot.compact(Writer::this_thread(), Patience::ENDLESS).unwrap();
    let mut t = hot.begin().unwrap();
    let all = followed(t.as_view(), ids[0], Direction::Out).edges;
    t.remove_edges(&all[all.len() - 20..]).unwrap();
    t.commit().unwrap();
    latest_of(3, 28);
    assert_clean(&hot);
}

/// Removed edges that were sealed, and that the tables still have, do not disturb a new declaration.
#[test]
fn a_time_can_be_declared_over_what_was_left_of_sealed_edges() {
    let (_dir, hot) = new_store();
    let mut t = hot.begin().unwrap();
    let Names { person, knows, name: at } = names(&mut t);
    let ids = people(&mut t, person, 300);
    let edges: Vec<_> = ids.iter().map(|id| edge(ids[0], *id)).chain(ids.iter().map(|id| edge(*id, ids[1]))).collect();
    t.add_edges(knows, &edges, &mut Vec::new()).unwrap();
    t.commit().unwrap();
    seal_and_leave_rows(&hot, ids[7], at);
    let mut t = hot.begin().unwrap();
    let all = followed(t.as_view(), ids[0], Direction::Both)
        .edges
        .into_iter()
        .chain(followed(t.as_view(), ids[1], Direction::In).edges);
    t.remove_edges(&all.collect::<Vec<_>>()).unwrap();
    t.declare_time(knows, at).unwrap();
    let mut made = Vec::new();
    let timed = |time| NewEdge { time: Some(Value::Int64(time)), ..edge(ids[0], ids[time as usize]) };
    t.add_edges(knows, &[timed(9), timed(4), timed(6)], &mut made).unwrap();
    t.commit().unwrap();
    let order = || followed(&hot.snapshot().unwrap(), ids[0], Direction::Out).neighbors;
    assert_eq!(order(), [ids[4], ids[6], ids[9]]);
    let mut t = hot.begin().unwrap();
    t.remove_edges(&[EdgeRef { id: made[2], source: ids[0], target: ids[6] }]).unwrap();
    t.commit().unwrap();
    hot.compact(Writer::this_thread(), Patience::ENDLESS).unwrap();
    assert_eq!(order(), [ids[4], ids[9]]);
    let report = hot.check().unwrap();
    assert!(report.is_clean(), "{report}");
}

#[test]
fn edges_of_several_segments_are_in_order_of_time_whoever_is_dead() {
    let (_dir, hot) = new_store();
    let mut t = hot.begin().unwrap();
    let Names { person, knows, name } = names(&mut t);
    t.declare_time(knows, name).unwrap();
    let ids = people(&mut t, person, 2);
    t.commit().unwrap();
    let mut made = Vec::new();
    for times in [[5, 6], [1, 2], [3, 7]] {
        let mut t = hot.begin().unwrap();
        let edges: Vec<_> =
            times.iter().map(|at| NewEdge { time: Some(Value::Int64(*at)), ..edge(ids[0], ids[1]) }).collect();
        t.add_edges(knows, &edges, &mut made).unwrap();
        t.commit().unwrap();
        hot.seal(Writer::this_thread(), Patience::ENDLESS).unwrap();
    }
    let places = |hot: &Hot| {
        let edges = followed(&hot.snapshot().unwrap(), ids[0], Direction::Out).edges;
        edges.into_iter().map(|edge| made.iter().position(|id| *id == edge.id).unwrap()).collect::<Vec<_>>()
    };
    assert_eq!(places(&hot), [2, 3, 4, 0, 1, 5]);
    for (gone, rest) in [(1, vec![2, 3, 4, 0, 5]), (3, vec![2, 4, 0, 5]), (5, vec![2, 4, 0])] {
        let mut t = hot.begin().unwrap();
        t.remove_edges(&[EdgeRef { id: made[gone], source: ids[0], target: ids[1] }]).unwrap();
        t.commit().unwrap();
        assert_eq!(places(&hot), rest);
        assert_clean(&hot);
    }
}
