//! The store through its public face.

mod groups;
mod indexes;
mod sealing;
mod sides;
mod times;
mod transactions;

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use mangrove_graph::{
    Adjacency, Cell, Direction, ElementId, ElementKind, ExternalId, GraphView, GraphWrite, Hop, KeyId, LabelId, NewEdge,
    VertexId, Wants,
};
use mangrove_hot::{Durability, Hot, HotOptions, HotTransaction, Patience, Writer};
use tempfile::TempDir;

fn new_store() -> (TempDir, Hot) {
    let dir = tempfile::tempdir().unwrap();
    let hot = open(dir.path());
    (dir, hot)
}

fn open(dir: &Path) -> Hot {
    Hot::open(dir, &HotOptions { durability: Durability::Relaxed, ..HotOptions::default() }).unwrap()
}

struct Names {
    person: LabelId,
    knows: LabelId,
    name: KeyId,
}

fn names(t: &mut HotTransaction) -> Names {
    Names {
        person: t.ensure_label(ElementKind::Vertex, "person").unwrap(),
        knows: t.ensure_label(ElementKind::Edge, "knows").unwrap(),
        name: t.ensure_key("name").unwrap(),
    }
}

fn people(t: &mut HotTransaction, label: LabelId, n: i64) -> Vec<VertexId> {
    let mut out = Vec::new();
    t.add_vertices(label, &(0..n).map(|id| Some(ExternalId::Int(id))).collect::<Vec<_>>(), &mut out).unwrap();
    out
}

fn edge(source: VertexId, target: VertexId) -> NewEdge {
    NewEdge { source, target, id: None, time: None }
}

fn hop(direction: Direction) -> Hop {
    let wants = Wants { neighbors: true, edges: true, rows: false };
    Hop::along(direction, None, wants)
}

fn followed(view: &dyn GraphView, from: VertexId, direction: Direction) -> Adjacency {
    let mut out = Adjacency::default();
    view.neighbors(&[from], &hop(direction), &mut out).unwrap();
    out
}

fn assert_clean(hot: &Hot) {
    let report = hot.check().unwrap();
    assert!(report.is_clean(), "{report}");
}

/// Seals everything, but leaves the sealed rows in the tables, as a crash does.
fn seal_and_leave_rows(hot: &Hot, changed: VertexId, key: KeyId) {
    let named = || !hot.stats().unwrap().segments.is_empty();
    let writing = AtomicBool::new(false);
    let cancelled = || {
        // A commit in between keeps the tables from being emptied at once. Work ends once the segment is named.
        if !writing.swap(true, Ordering::Relaxed) {
            let mut t = hot.begin().unwrap();
            t.set_cell(ElementId::Vertex(changed), key, Cell::One(7.into())).unwrap();
            t.commit().unwrap();
        }
        named()
    };
    hot.seal(Writer::this_thread(), Patience { timeout: None, cancelled: &cancelled }).unwrap();
    assert!(named() && hot.stats().unwrap().tables.iter().any(|table| table.name == "out" && table.entries > 0));
}
