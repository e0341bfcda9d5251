//! Edges at the shards of their targets.

use std::collections::BTreeMap;

use hashbrown::HashSet;
use mangrove_graph::{
    Adjacency, Direction, EdgeId, EdgeRef, Elements, ExternalId, GraphView, Hop, LabelId, Result, ShardWrite, VertexId,
    Wants,
};

use super::ClusterChange;
use crate::names::{Own, carried, coming_in};
use crate::split::Split;

impl<T: ShardWrite> ClusterChange<T> {
    /// Removes the lists' entries of edges at the shards of their targets.
    pub(super) fn remove_comers(&mut self, edges: &[EdgeRef]) -> Result<()> {
        let split = Split::new(edges.iter().map(|edge| edge.target.shard()), self.placement.shards);
        for (shard, rows) in split.parts {
            let gone: Vec<EdgeRef> = rows.iter().map(|row| edges[*row as usize]).collect();
            let store = &mut self.stores[usize::from(shard)];
            let found = comers(store, Own(shard), &gone)?;
            store.remove_edges(&found)?;
        }
        Ok(())
    }
}

/// The edges of a store that stand for edges which come into its shard.
fn comers<T: GraphView>(store: &T, own: Own, edges: &[EdgeRef]) -> Result<Vec<EdgeRef>> {
    let mut found = Vec::with_capacity(edges.len());
    let mut by_label: BTreeMap<LabelId, BTreeMap<VertexId, Vec<EdgeId>>> = BTreeMap::new();
    for edge in edges {
        by_label.entry(edge.id.label()).or_default().entry(own.vertex(edge.target)).or_default().push(edge.id);
    }
    for (label, targets) in by_label {
        let hop = Hop::along(Direction::In, Some(vec![coming_in(label)]), Wants { edges: true, ..Wants::default() });
        let mut lists = Adjacency::default();
        store.neighbors(&targets.keys().copied().collect::<Vec<_>>(), &hop, &mut lists)?;
        let gone: HashSet<ExternalId> = targets.values().flatten().map(|edge| carried(*edge)).collect();
        let ids = store.external_ids(Elements::Edges(&lists.edges))?;
        found.extend(lists.edges.iter().enumerate().filter_map(|(row, edge)| {
            let cell = ids.cell(row);
            let id = cell.values().next().and_then(ExternalId::from_value);
            id.is_some_and(|id| gone.contains(&id)).then_some(*edge)
        }));
    }
    Ok(found)
}
