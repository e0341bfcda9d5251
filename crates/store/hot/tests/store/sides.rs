//! Stores that keep the two sides of edges apart, as shards of a larger graph do.

use mangrove_graph::{FollowerWrite, PropertyId, ShardWrite, Value};
use mangrove_hot::Sides;

use super::*;

fn open_shard(dir: &Path) -> Hot {
    let options =
        HotOptions { durability: Durability::Relaxed, sides: Sides::Apart, seal_bytes: 0, ..HotOptions::default() };
    Hot::open(dir, &options).unwrap()
}

/// Vertices of other shards.
fn elsewhere(label: LabelId, shard: u16) -> Vec<VertexId> {
    (0..3000).map(|local| VertexId::new(label, shard, local * 7)).collect()
}

#[test]
fn each_side_of_an_edge_is_in_lists_of_its_own() {
    let dir = tempfile::tempdir().unwrap();
    let hot = open_shard(dir.path());
    let mut t = hot.begin().unwrap();
    let Names { person, knows, .. } = names(&mut t);
    let known = t.ensure_label(ElementKind::Edge, "knows, at its target").unwrap();
    let here = people(&mut t, person, 2);
    let there = elsewhere(person, 4095);
    let near: Vec<NewEdge> = there.iter().map(|other| edge(here[0], *other)).collect();
    let far: Vec<NewEdge> = there.iter().rev().map(|other| edge(*other, here[0])).collect();
    t.add_edges(knows, &near, &mut Vec::new()).unwrap();
    t.add_edges(known, &far, &mut Vec::new()).unwrap();
    t.add_edges(knows, &[edge(here[1], here[0])], &mut Vec::new()).unwrap();
    t.add_edges(known, &[edge(here[1], here[0])], &mut Vec::new()).unwrap();
    assert!(t.add_edges(knows, &[edge(there[0], here[0])], &mut Vec::new()).is_err(), "it leaves no vertex of the store");
    assert!(
        t.add_edges(known, &[edge(here[0], there[0])], &mut Vec::new()).is_err(),
        "it comes into no vertex of the store"
    );
    t.commit().unwrap();

    let look = |hot: &Hot| {
        assert!(hot.check().unwrap().is_clean(), "{}", hot.check().unwrap());
        let view = hot.snapshot().unwrap();
        assert_eq!(followed(&view, here[0], Direction::Out).neighbors, there);
        let comers: Vec<VertexId> = there.iter().rev().copied().chain([here[1]]).collect();
        let found = followed(&view, here[0], Direction::In);
        assert_eq!(found.neighbors, comers);
        assert!(found.edges.iter().all(|edge| edge.id.label() == known && edge.target == here[0]));
        assert_eq!(followed(&view, here[0], Direction::Both).neighbors, [&there[..], &comers].concat());
        assert_eq!(followed(&view, here[1], Direction::In).neighbors, []);
        let mut degrees = Vec::new();
        view.degrees(&here, &hop(Direction::Both), &mut degrees).unwrap();
        assert_eq!(degrees, [6001, 1]);
    };
    look(&hot);
    let file_bytes = |hot: &Hot| hot.stats().unwrap().segment_bytes();
    hot.seal(Writer::this_thread(), Patience::ENDLESS).unwrap();
    assert!(file_bytes(&hot) < 1_000, "a shard seals no element before its log says so");
    let mut t = hot.begin().unwrap();
    t.end_labels().unwrap();
    t.commit().unwrap();
    hot.seal(Writer::this_thread(), Patience::ENDLESS).unwrap();
    assert!(file_bytes(&hot) > 10_000);
    look(&hot);
    hot.compact(Writer::this_thread(), Patience::ENDLESS).unwrap();
    look(&hot);
    drop(hot);
    look(&open(dir.path()));
}

#[test]
fn a_removed_edge_leaves_the_list_that_has_it() {
    let dir = tempfile::tempdir().unwrap();
    let hot = open_shard(dir.path());
    let mut t = hot.begin().unwrap();
    let Names { person, knows, .. } = names(&mut t);
    let known = t.ensure_label(ElementKind::Edge, "knows, at its target").unwrap();
    let since = t.ensure_key("since").unwrap();
    t.declare_time(known, since).unwrap();
    t.create_index(PropertyId::of_edges(known, since)).unwrap();
    let here = people(&mut t, person, 1);
    let there = elsewhere(person, 1);
    let at = |time: i64, source| NewEdge { time: Some(Value::Int64(time)), ..edge(source, here[0]) };
    let mut ids = Vec::new();
    t.add_edges(known, &[at(9, there[0]), at(3, there[1]), at(5, there[2])], &mut ids).unwrap();
    t.add_edges(knows, &[edge(here[0], there[0])], &mut ids).unwrap();
    t.commit().unwrap();
    assert_eq!(followed(&hot.snapshot().unwrap(), here[0], Direction::In).neighbors, [there[1], there[2], there[0]]);
    for (gone, left) in [(0, 2), (3, 2), (1, 1)] {
        if gone == 3 {
            hot.compact(Writer::this_thread(), Patience::ENDLESS).unwrap();
        }
        let found = followed(&hot.snapshot().unwrap(), here[0], Direction::Both);
        let edges: Vec<_> = found.edges.into_iter().filter(|edge| edge.id == ids[gone]).collect();
        let mut t = hot.begin().unwrap();
        t.remove_edges(&edges).unwrap();
        t.commit().unwrap();
        assert_eq!(followed(&hot.snapshot().unwrap(), here[0], Direction::In).neighbors.len(), left);
        assert!(hot.check().unwrap().is_clean(), "{}", hot.check().unwrap());
    }
    let mut t = hot.begin().unwrap();
    t.remove_vertices(&here).unwrap();
    t.commit().unwrap();
    let report = hot.check().unwrap();
    assert!(report.is_clean() && (report.vertices, report.edges) == (0, 0), "{report}");
}

#[test]
fn the_position_in_a_log_is_kept_with_the_changes() {
    let dir = tempfile::tempdir().unwrap();
    let hot = open_shard(dir.path());
    assert_eq!(hot.snapshot().unwrap().log_position().unwrap(), None);
    for (position, commits) in [(&b"7"[..], true), (b"8", false), (b"11", true)] {
        let before = hot.snapshot().unwrap().log_position().unwrap();
        let mut t = hot.begin().unwrap();
        t.put_log_position(position).unwrap();
        if commits {
            t.commit().unwrap();
        } else {
            t.abort();
        }
        let wanted = if commits { Some(position.to_vec()) } else { before };
        assert_eq!(hot.snapshot().unwrap().log_position().unwrap(), wanted);
    }
    drop(hot);
    assert_eq!(open(dir.path()).snapshot().unwrap().log_position().unwrap(), Some(b"11".to_vec()));
}
