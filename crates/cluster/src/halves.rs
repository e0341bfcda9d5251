//! Whether both ends of all edges know them: sums over the halves of edges, which do not depend on their order.
//!
//! The shard of the source lists an edge as leaving, that of the target as coming in. For each pair of shards, the sum over the halves at one must
//! be that at the other. A missing, foreign or changed half changes a sum, except by a chance of 2^-128.

use std::collections::BTreeMap;

use mangrove_graph::{
    Adjacency, Direction, EdgeId, EdgeRef, ElementKind, Elements, GraphError, Hop, KeyId, LabelId, PropertyColumn, Result,
    Scan, ScanCursor, ShardRead, Value, VertexId, Wants,
};
use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_128;

use crate::names::{Own, comes_in};

/// Vertices whose edges are looked at together.
const VERTICES: usize = 1_024;

/// Some halves.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Sum {
    pub count: u64,
    pub sum: u128,
}

/// The halves at one shard, by the shard of their other half.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Halves {
    pub leaving: BTreeMap<u16, Sum>,
    pub coming_in: BTreeMap<u16, Sum>,
}

/// The halves at the shard of a store. O(edges of the store).
pub fn halves(store: &dyn ShardRead, own: Own) -> Result<Halves> {
    let (mut found, mut cursor) = (Halves::default(), ScanCursor::default());
    let labels = (0..store.schema().edge_labels.len() as u16).map(LabelId);
    let (coming_in, leaving): (Vec<LabelId>, Vec<LabelId>) = labels.partition(|label| comes_in(*label));
    while !cursor.done {
        let mut vertices = Vec::new();
        store.scan_vertices(&Scan::default(), &mut cursor, VERTICES, &mut vertices)?;
        for (direction, labels, into) in
            [(Direction::Out, &leaving, &mut found.leaving), (Direction::In, &coming_in, &mut found.coming_in)]
        {
            add(store, own, &vertices, direction, labels, into)?;
        }
    }
    Ok(found)
}

fn add(
    store: &dyn ShardRead,
    own: Own,
    vertices: &[VertexId],
    direction: Direction,
    labels: &[LabelId],
    into: &mut BTreeMap<u16, Sum>,
) -> Result<()> {
    let (mut lists, wants) = (Adjacency::default(), Wants { edges: true, ..Wants::default() });
    store.neighbors(vertices, &Hop::along(direction, Some(labels.to_vec()), wants), &mut lists)?;
    let carried = match direction {
        Direction::In => store.external_ids(Elements::Edges(&lists.edges))?,
        _ => PropertyColumn::Absent(lists.edges.len()),
    };
    let times = times(store, &lists.edges)?;
    for (row, edge) in lists.edges.iter().enumerate() {
        let ends = own.graph_edge_ref(*edge);
        let (id, other) = match direction {
            Direction::In => (carried_by(own, ends.id.label(), &carried, row)?, ends.source.shard()),
            _ => (ends.id, ends.target.shard()),
        };
        let time = times.get(&edge.id.label()).and_then(|column| column.cell(row).values().next().cloned());
        let bytes = postcard::to_allocvec(&(id.0, ends.source.0, ends.target.0, time))
            .map_err(|error| GraphError::Invalid(format!("half an edge: {error}")))?;
        let sum = into.entry(other).or_default();
        (sum.count, sum.sum) = (sum.count + 1, sum.sum.wrapping_add(xxh3_128(&bytes)));
    }
    Ok(())
}

/// The times of edges, by the labels that have one.
fn times(store: &dyn ShardRead, edges: &[EdgeRef]) -> Result<BTreeMap<LabelId, PropertyColumn>> {
    let time = |label: LabelId| store.schema().label_schema(ElementKind::Edge, label)?.time;
    let mut keys: BTreeMap<LabelId, KeyId> = BTreeMap::new();
    edges.iter().for_each(|edge| keys.extend(time(edge.id.label()).map(|key| (edge.id.label(), key))));
    let columns = keys.into_iter().map(|(label, key)| {
        let mut columns = Vec::with_capacity(1);
        store.columns(Elements::Edges(edges), &[key], &mut columns)?;
        Ok((label, columns.pop().unwrap_or(PropertyColumn::Absent(edges.len()))))
    });
    columns.collect()
}

fn carried_by(own: Own, label: LabelId, ids: &PropertyColumn, row: usize) -> Result<EdgeId> {
    let id = ids.cell(row).values().next().and_then(Value::as_i64);
    id.map(|id| own.carrying(label, id)).ok_or_else(|| GraphError::corrupt("an edge that comes into a shard without its id"))
}

/// What is wrong between shards. There is one entry for each shard.
pub fn compared(shards: &[Halves]) -> Vec<String> {
    let (mut wrong, none) = (Vec::new(), Sum::default());
    for (from, at_source) in (0..).zip(shards) {
        for (to, at_target) in (0..).zip(shards) {
            let leaving = at_source.leaving.get(&to).unwrap_or(&none);
            let coming_in = at_target.coming_in.get(&from).unwrap_or(&none);
            if leaving.count != coming_in.count {
                wrong.push(format!(
                    "shard {from} has {} edges to shard {to}, which lists {} of them",
                    leaving.count, coming_in.count
                ));
            } else if leaving != coming_in {
                wrong.push(format!("shard {to} lists other edges from shard {from} than that has"));
            }
        }
        let strange =
            at_source.leaving.keys().chain(at_source.coming_in.keys()).find(|other| usize::from(**other) >= shards.len());
        wrong.extend(
            strange.map(|other| format!("shard {from} has an edge with an end in shard {other}, which is not there")),
        );
    }
    wrong
}
