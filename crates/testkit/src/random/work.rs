//! Random lists of operations.

use mangrove_graph::{Cardinality, ElementKind, Encoding};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;

use super::values::{SIMPLE_TYPES, cell, external_id};
use super::{EDGE_LABELS, KEYS, Op, OpEdge, Pick, VERTEX_LABELS};
use crate::suite::Condensing;

/// Up to `length` operations. Some of them end a transaction.
pub fn work(length: usize) -> impl Strategy<Value = Vec<Op>> {
    let op = prop_oneof![
        30 => adding(),
        30 => setting(),
        14 => removing(),
        6 => describing(),
        2 => Just(Op::Look),
        8 => Just(Op::Commit),
        2 => Just(Op::Abort),
        3 => Just(Op::Reopen),
        7 => condensing(),
    ];
    vec(op, 1..length)
}

fn condensing() -> impl Strategy<Value = Op> {
    let how = prop_oneof![
        5 => Just(Condensing::Seal),
        2 => Just(Condensing::Merge),
        2 => Just(Condensing::Compact),
    ];
    (how, [0u8..30, 0u8..90], option::weighted(0.2, 0u8..60)).prop_map(|(how, at, stop)| Op::Condense { how, at, stop })
}

fn adding() -> impl Strategy<Value = Op> {
    let ids = vec(option::of(external_id()), 1..6);
    let edge = (pick(), pick(), option::weighted(0.2, external_id()), option::weighted(0.9, -5i64..20))
        .prop_map(|(source, target, id, time)| OpEdge { source, target, id, time });
    let many = prop_oneof![8 => 100u16..600, 2 => 600u16..3000];
    prop_oneof![
        8 => (vertex_label(), ids).prop_map(|(label, ids)| Op::AddVertices { label, ids }),
        2 => (vertex_label(), 1u16..300).prop_map(|(label, count)| Op::AddManyVertices { label, count }),
        8 => (edge_label(), vec(edge, 1..8)).prop_map(|(label, edges)| Op::AddEdges { label, edges }),
        2 => (edge_label(), many, 0u16..40, any::<u64>())
            .prop_map(|(label, count, spread, seed)| Op::AddManyEdges { label, count, spread, seed }),
    ]
}

fn setting() -> impl Strategy<Value = Op> {
    let value_type = prop::sample::select(&SIMPLE_TYPES[..]);
    prop_oneof![
        3 => (pick(), prop_oneof![5 => Just(super::ID_KEY), 1 => key()]).prop_map(|(vertex, key)| Op::SetToId { vertex, key }),
        16 => (kind(), pick(), any_key_but_id(), cell()).prop_map(|(kind, element, key, cell)| Op::Set { kind, element, key, cell }),
        2 => (kind(), pick(), 50u16..90).prop_map(|(kind, element, keys)| Op::SetManyKeys { kind, element, keys }),
        4 => (kind(), vertex_label(), key(), value_type, any::<u64>())
            .prop_map(|(kind, label, key, value_type, seed)| Op::SetMany { kind, label, key, value_type, seed }),
        4 => (pick(), vec(vertex_label(), 0..3)).prop_map(|(vertex, labels)| Op::SetFurtherLabels { vertex, labels }),
    ]
}

fn removing() -> impl Strategy<Value = Op> {
    prop_oneof![
        3 => vec(pick(), 1..6).prop_map(|edges| Op::RemoveEdges { edges }),
        2 => (pick(), 0u16..9).prop_map(|(vertex, keep)| Op::RemoveEdgesOf { vertex, keep }),
        2 => vec(pick(), 1..4).prop_map(|vertices| Op::RemoveVertices { vertices }),
    ]
}

const ENCODINGS: [&str; 6] = ["searchable", "searchable:2", "dictionary", "symbols", "plain", "auto"];

fn describing() -> impl Strategy<Value = Op> {
    let declared = option::of(prop::sample::select(&SIMPLE_TYPES[..7]));
    let cardinality = prop::sample::select(&[Cardinality::Single, Cardinality::List, Cardinality::Set][..]);
    prop_oneof![
        4 => (kind(), vertex_label(), key(), any::<bool>(), any::<bool>())
            .prop_map(|(kind, label, key, unique, routed)| Op::CreateIndex { kind, label, key, unique, routed }),
        1 => (kind(), vertex_label(), key()).prop_map(|(kind, label, key)| Op::DropIndex { kind, label, key }),
        1 => (kind(), vertex_label(), 0..=VERTEX_LABELS.len()).prop_map(|(kind, label, to)| Op::RenameLabel { kind, label, to }),
        1 => (kind(), vertex_label()).prop_map(|(kind, label)| Op::DropLabel { kind, label }),
        2 => (kind(), vertex_label(), key()).prop_map(|(kind, label, key)| Op::DropProperty { kind, label, key }),
        3 => Just(Op::DeclareTime),
        6 => (vertex_label(), prop_oneof![5 => Just(super::ID_KEY), 1 => key()]).prop_map(|(label, key)| Op::DeclareKey { label, key }),
        4 => (kind(), vertex_label(), key(), prop::sample::select(&ENCODINGS[..])).prop_map(
            |(kind, label, key, name)| Op::SetEncoding { kind, label, key, encoding: Encoding::parse(name).unwrap_or_default() }
        ),
        1 => (kind(), vertex_label(), key(), declared, cardinality).prop_map(
            |(kind, label, key, value_type, cardinality)| Op::DeclareProperty { kind, label, key, value_type, cardinality }
        ),
    ]
}

/// Low numbers are more frequent: early elements gather edges and values.
fn pick() -> impl Strategy<Value = Pick> {
    prop_oneof![0u32..12, 0u32..5000]
}

fn kind() -> impl Strategy<Value = ElementKind> {
    prop_oneof![3 => Just(ElementKind::Vertex), 2 => Just(ElementKind::Edge)]
}

fn vertex_label() -> std::ops::Range<usize> {
    0..VERTEX_LABELS.len()
}

fn edge_label() -> std::ops::Range<usize> {
    0..EDGE_LABELS.len()
}

/// Values of other types are rare under the key of ids. Otherwise no label could use it as its key.
fn any_key_but_id() -> impl Strategy<Value = usize> {
    key().prop_map(|at| if at == super::ID_KEY { 0 } else { at })
}

/// The last key is the time's. It is set only by chance, like the others.
fn key() -> std::ops::Range<usize> {
    0..KEYS.len()
}
