//! The operations of TAO, Facebook's graph store, and of its benchmark LinkBench: objects, and associations between them.
//!
//! An *object* is a vertex, its type the label. An *association* is an edge from one object to another; a type joins two objects at most
//! once. Lists of associations come with the latest first. An object that is not there has no associations. ZipG composes these
//! operations of its own calls (section 4.2, Table 2 and algorithms 1 to 3).
//!
//! Bronson et al.: TAO: Facebook's Distributed Data Store for the Social Graph, USENIX ATC 2013, section 3. Armstrong et al.:
//! LinkBench: a Database Benchmark Based on the Facebook Social Graph, SIGMOD 2013.

use mangrove_graph::{ElementId, ElementKind, Value, VertexId};

use super::edges::{DirectEdges, EdgeData};
use super::reads::{DirectReads, Properties};
use super::writes::DirectWrites;
use crate::error::StoreError;

/// All properties of an object; `None` if it is not there.
pub fn obj_get(reads: DirectReads<'_>, id: &Value) -> Result<Option<Properties>, StoreError> {
    reads.find_node(id)?.map(|node| reads.get_node_property(node, None)).transpose()
}

/// The associations of a type from an object to some others, with times of at least `from` and less than `to`, the latest first
/// (algorithm 2). O(associations of the type).
pub fn assoc_get(
    reads: DirectReads<'_>,
    id: &Value,
    edge_type: &str,
    others: &[Value],
    from: Option<i64>,
    to: Option<i64>,
) -> Result<Vec<EdgeData>, StoreError> {
    let Some(list) = list(reads, id, edge_type)? else { return Ok(Vec::new()) };
    let mut targets: Vec<VertexId> = Vec::with_capacity(others.len());
    for other in others {
        targets.extend(reads.find_node(other)?);
    }
    let mut edges = list.to_targets(&targets, from, to)?;
    edges.reverse();
    list.data(&edges)
}

/// How many associations of a type an object has. O(1).
pub fn assoc_count(reads: DirectReads<'_>, id: &Value, edge_type: &str) -> Result<u64, StoreError> {
    list(reads, id, edge_type)?.map_or(Ok(0), |list| list.count())
}

/// At most `limit` associations of a type, the latest first, without the `skip` latest (algorithm 1). O(skip + limit).
pub fn assoc_range(
    reads: DirectReads<'_>,
    id: &Value,
    edge_type: &str,
    skip: u64,
    limit: u64,
) -> Result<Vec<EdgeData>, StoreError> {
    let Some(list) = list(reads, id, edge_type)? else { return Ok(Vec::new()) };
    let mut edges = list.latest_within(None, None, skip.saturating_add(limit))?;
    edges.drain(..edges.len().min(usize::try_from(skip).unwrap_or(usize::MAX)));
    list.data(&edges)
}

/// At most `limit` associations of a type with times of at least `from` and less than `to`, the latest first (algorithm 3).
/// O(log associations + limit).
pub fn assoc_time_range(
    reads: DirectReads<'_>,
    id: &Value,
    edge_type: &str,
    from: Option<i64>,
    to: Option<i64>,
    limit: u64,
) -> Result<Vec<EdgeData>, StoreError> {
    let Some(list) = list(reads, id, edge_type)? else { return Ok(Vec::new()) };
    let edges = list.latest_within(from, to, limit)?;
    list.data(&edges)
}

fn list<'v>(reads: DirectReads<'v>, id: &Value, edge_type: &str) -> Result<Option<DirectEdges<'v>>, StoreError> {
    reads.label(ElementKind::Edge, edge_type)?;
    reads.find_node(id)?.map(|node| reads.get_edge_record(node, Some(edge_type))).transpose()
}

/// Adds an object.
///
/// # Errors
/// If the id is taken.
pub fn obj_add(
    writes: &mut DirectWrites<'_>,
    otype: &str,
    id: Option<Value>,
    properties: &[(&str, Value)],
) -> Result<VertexId, StoreError> {
    writes.append_node(otype, id, properties)
}

/// Sets properties of an object. Returns whether it was there.
pub fn obj_update(writes: &mut DirectWrites<'_>, id: &Value, properties: &[(&str, Value)]) -> Result<bool, StoreError> {
    if writes.reads().find_node(id)?.is_none() {
        return Ok(false);
    }
    writes.update_node(id, properties)?;
    Ok(true)
}

/// Removes an object and its associations. Returns whether it was there.
pub fn obj_del(writes: &mut DirectWrites<'_>, id: &Value) -> Result<bool, StoreError> {
    writes.delete_node(id)
}

/// Adds an association, in the place of the one of this type that joins the two objects already. Returns whether there was none.
///
/// # Errors
/// If one of the objects is not there.
pub fn assoc_add(
    writes: &mut DirectWrites<'_>,
    id: &Value,
    edge_type: &str,
    other: &Value,
    time: Option<Value>,
    properties: &[(&str, Value)],
) -> Result<bool, StoreError> {
    let (source, target) = (writes.reads().node(id)?, writes.reads().node(other)?);
    let is_known = writes.reads().label(ElementKind::Edge, edge_type).is_ok();
    let before = if is_known { writes.between(id, edge_type, other)? } else { Vec::new() };
    writes.remove(&before)?;
    writes.add_edge(source, edge_type, target, time, properties)?;
    Ok(before.is_empty())
}

/// Sets properties of an association. Returns whether it was there.
///
/// # Errors
/// If there is no such type.
pub fn assoc_update(
    writes: &mut DirectWrites<'_>,
    id: &Value,
    edge_type: &str,
    other: &Value,
    properties: &[(&str, Value)],
) -> Result<bool, StoreError> {
    let there = writes.between(id, edge_type, other)?;
    if !there.is_empty() {
        writes.near_misses(ElementKind::Edge, edge_type, properties);
    }
    for edge in &there {
        writes.set(ElementId::Edge(edge.id), properties)?;
    }
    Ok(!there.is_empty())
}

/// Removes an association. Returns whether it was there.
///
/// # Errors
/// If there is no such type.
pub fn assoc_del(writes: &mut DirectWrites<'_>, id: &Value, edge_type: &str, other: &Value) -> Result<bool, StoreError> {
    Ok(writes.delete_edges(id, edge_type, other)? > 0)
}
