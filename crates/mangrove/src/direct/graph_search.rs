//! Facebook's graph search in five queries (ZipG, Table 3). GS2 and GS3 also in the way of a system that joins the answers of two
//! lookups (ZipG, Figure 14).

use hashbrown::HashSet;
use mangrove_graph::{Value, VertexId};

use super::edges::EdgeData;
use super::reads::DirectReads;
use crate::error::StoreError;

/// GS1: all friends of a person, over edges of any type.
pub fn gs1(reads: DirectReads<'_>, person: VertexId) -> Result<Vec<VertexId>, StoreError> {
    reads.get_neighbor_ids(person, None, &[])
}

/// GS2: the friends of a person who have a property, such as those in a city. It looks at each friend, or at those that an index finds, if
/// these are few.
pub fn gs2(reads: DirectReads<'_>, person: VertexId, property: (&str, Value)) -> Result<Vec<VertexId>, StoreError> {
    reads.get_neighbor_ids(person, None, &[property])
}

/// GS2 as a join: all friends, and all vertices with the property; then those in both.
pub fn gs2_joined(
    reads: DirectReads<'_>,
    person: VertexId,
    label: &str,
    property: (&str, Value),
) -> Result<Vec<VertexId>, StoreError> {
    let friends = reads.get_neighbor_ids(person, None, &[])?;
    let with: HashSet<VertexId> = reads.get_node_ids(Some(label), &[property])?.into_iter().collect();
    Ok(friends.into_iter().filter(|friend| with.contains(friend)).collect())
}

/// GS3: everyone with two properties, such as the musicians in a city. An index of one property finds candidates, and each is looked
/// at for the other one.
pub fn gs3(
    reads: DirectReads<'_>,
    label: &str,
    one: (&str, Value),
    other: (&str, Value),
) -> Result<Vec<VertexId>, StoreError> {
    reads.get_node_ids(Some(label), &[one, other])
}

/// GS3 as a join: all vertices with the one, and all with the other property; then those in both.
pub fn gs3_joined(
    reads: DirectReads<'_>,
    label: &str,
    one: (&str, Value),
    other: (&str, Value),
) -> Result<Vec<VertexId>, StoreError> {
    let with: HashSet<VertexId> = reads.get_node_ids(Some(label), &[other])?.into_iter().collect();
    Ok(reads.get_node_ids(Some(label), &[one])?.into_iter().filter(|vertex| with.contains(vertex)).collect())
}

/// GS4: the friends of a person over edges of one type.
pub fn gs4(reads: DirectReads<'_>, person: VertexId, edge_type: &str) -> Result<Vec<VertexId>, StoreError> {
    reads.get_neighbor_ids(person, Some(edge_type), &[])
}

/// GS5: what all edges of a type hold, or of all types, the oldest first.
pub fn gs5(reads: DirectReads<'_>, person: VertexId, edge_type: Option<&str>) -> Result<Vec<EdgeData>, StoreError> {
    let record = reads.get_edge_record(person, edge_type)?;
    record.get_edges(0..record.count()?)
}
