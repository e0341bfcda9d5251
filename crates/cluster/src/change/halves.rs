//! The halves of edges at the shards of their targets.

use std::collections::BTreeMap;

use hashbrown::{HashMap, HashSet};
use mangrove_graph::{
    Adjacency, Direction, EdgeId, EdgeRef, ElementId, Elements, ExternalId, GraphError, GraphView, Hop, LabelId, Result,
    ShardWrite, VertexId, Wants,
};

use super::ClusterChange;
use crate::names::{Own, coming_in};
use crate::split::Split;

impl<T: ShardWrite> ClusterChange<T> {
    /// Those of some edges that are there, each once, with their ends as the graph has them.
    pub(super) fn living(&self, edges: &[EdgeRef]) -> Result<Vec<EdgeRef>> {
        let view = self.view();
        let there = view.contain(Elements::Edges(edges))?;
        let mut alive: Vec<EdgeRef> = edges.iter().zip(there).filter(|(_, there)| *there).map(|(edge, _)| *edge).collect();
        alive.sort_unstable_by_key(|edge| edge.id);
        alive.dedup_by_key(|edge| edge.id);
        let given = view.external_ids(Elements::Edges(&alive))?;
        let known_as = |(row, edge): (usize, &EdgeRef)| {
            let cell = given.cell(row);
            cell.values().next().and_then(ExternalId::from_value).unwrap_or_else(|| edge.id.generated())
        };
        let ids: Vec<ExternalId> = alive.iter().enumerate().map(known_as).collect();
        let mut found = Vec::with_capacity(ids.len());
        view.find_edges(&ids, &mut found)?;
        let found = found.into_iter().zip(&alive);
        found.map(|(found, edge)| found.ok_or_else(|| GraphError::no_such(ElementId::Edge(edge.id)))).collect()
    }

    /// The halves of edges, by the shards that have them. Fails if one is missing.
    pub(super) fn halves_of(&self, edges: &[EdgeRef]) -> Result<Vec<(u16, Vec<EdgeRef>)>> {
        let split = Split::new(edges.iter().map(|edge| edge.target.shard()), self.placement.shards);
        let mut all = Vec::with_capacity(split.parts.len());
        for (shard, rows) in split.parts {
            let some: Vec<EdgeRef> = rows.iter().map(|row| edges[*row as usize]).collect();
            let found = halves(&self.stores[usize::from(shard)], self.own(shard), &some)?;
            if found.len() < some.len() {
                return Err(GraphError::corrupt("an edge that the shard of its target does not have"));
            }
            all.push((shard, found));
        }
        Ok(all)
    }

    pub(super) fn remove_halves(&mut self, halves: &[(u16, Vec<EdgeRef>)]) -> Result<()> {
        halves.iter().try_for_each(|(shard, halves)| self.stores[usize::from(*shard)].remove_edges(halves))
    }
}

/// The halves of some edges in the store of their targets. O(edges that come into these, and then those from the same sources).
fn halves<T: GraphView>(store: &T, own: Own, edges: &[EdgeRef]) -> Result<Vec<EdgeRef>> {
    let mut by_label: BTreeMap<LabelId, Vec<EdgeRef>> = BTreeMap::new();
    edges.iter().for_each(|edge| by_label.entry(edge.id.label()).or_default().push(*edge));
    let mut found = Vec::with_capacity(edges.len());
    for (label, edges) in by_label {
        let mut wanted: HashMap<VertexId, HashSet<VertexId>> = HashMap::new();
        for edge in &edges {
            wanted.entry(own.vertex(edge.target)).or_default().insert(own.vertex(edge.source));
        }
        let mut targets: Vec<VertexId> = wanted.keys().copied().collect();
        targets.sort_unstable();
        let hop = Hop::along(Direction::In, Some(vec![coming_in(label)]), Wants { edges: true, ..Wants::default() });
        let mut lists = Adjacency::default();
        store.neighbors(&targets, &hop, &mut lists)?;
        lists.edges.retain(|half| wanted.get(&half.target).is_some_and(|sources| sources.contains(&half.source)));
        let gone: HashSet<EdgeId> = edges.iter().map(|edge| edge.id).collect();
        let gone: HashSet<ExternalId> = gone.into_iter().map(|edge| own.carried(edge)).collect();
        let ids = store.external_ids(Elements::Edges(&lists.edges))?;
        found.extend(lists.edges.iter().enumerate().filter_map(|(row, half)| {
            let cell = ids.cell(row);
            let id = cell.values().next().and_then(ExternalId::from_value);
            id.is_some_and(|id| gone.contains(&id)).then_some(*half)
        }));
    }
    Ok(found)
}
