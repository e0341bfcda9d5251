//! Adding and removing vertices.

use std::collections::{BTreeSet, HashSet};

use mangrove_graph::{
    Adjacency, Cell, Direction, EdgeId, ElementId, ElementKind, ExternalId, GraphError, Hop, LabelId, PropertyId, Result,
    Value, VertexId, Wants, id::LOCAL_MAX,
};

use super::HotTransaction;
use crate::format::encode::IdRows;
use crate::format::key::{Column, block_slot, flip, place, vertex_at};
use crate::format::names;
use crate::format::sort;
use crate::system::fault::lmdb;

impl HotTransaction {
    pub(super) fn put_vertices(
        &mut self,
        label: LabelId,
        ids: &[Option<ExternalId>],
        out: &mut Vec<VertexId>,
    ) -> Result<()> {
        self.schema.must_have_label(ElementKind::Vertex, label)?;
        let counter = self.counter(ElementKind::Vertex, label)?;
        if ids.len() as u64 > LOCAL_MAX.saturating_sub(counter.next) {
            return Err(GraphError::Limit { what: "too many vertices of one label".into(), limit: LOCAL_MAX });
        }
        let ids = self.complete_ids(label, counter.next, ids)?;
        self.schema.ids_must_fit(label, &ids)?;
        let names = NameBatch::new(&ids, self.id_space(label));
        if let Some(at) = names.duplicate(self)? {
            let label = self.id_space(label).map(|label| self.schema.label_name(ElementKind::Vertex, label).to_string());
            return Err(GraphError::DuplicateVertex { id: ids[at].clone(), label });
        }
        self.change(|t| {
            let made = |at: usize| vertex_at(label, counter.next + at as u64);
            names.put(t, |at| made(at).0)?;
            t.put_run(Column::external(ElementKind::Vertex, label), counter.next, &IdRows(&ids), ids.len(), true)?;
            if let Some(key) = t.schema.key_of(label) {
                t.infer_key(label, key, &ids)?;
                let of = PropertyId::of_vertices(label, key);
                if t.schema.index(of).is_some() {
                    for (at, id) in ids.iter().enumerate() {
                        t.reindex(of, made(at).0, &Cell::Absent, &Cell::One(id.to_value()))?;
                    }
                }
            }
            let counter = t.counter_mut(ElementKind::Vertex, label)?;
            counter.next += ids.len() as u64;
            counter.live += ids.len() as u64;
            Ok(())
        })?;
        out.extend((0..ids.len() as u64).map(|at| vertex_at(label, counter.next + at)));
        Ok(())
    }

    /// The ids of new vertices from place `first` on, with generated ones where none is given.
    fn complete_ids(&self, label: LabelId, first: u64, ids: &[Option<ExternalId>]) -> Result<Vec<ExternalId>> {
        if ids.iter().all(Option::is_some) {
            return Ok(ids.iter().flatten().cloned().collect());
        }
        let given: HashSet<&ExternalId> = ids.iter().flatten().collect();
        let mut complete = Vec::with_capacity(ids.len());
        for (at, id) in ids.iter().enumerate() {
            complete.push(match id {
                Some(id) => id.clone(),
                None => self.free_id(vertex_at(label, first + at as u64), &given)?,
            });
        }
        Ok(complete)
    }

    /// The id generated for a vertex. If somebody supplied that very id, a number is added to it.
    fn free_id(&self, vertex: VertexId, given: &HashSet<&ExternalId>) -> Result<ExternalId> {
        let generated = vertex.generated();
        let (mut id, mut found) = (generated.clone(), Vec::new());
        for number in 1.. {
            found.clear();
            self.reader().find_vertices(self.id_space(vertex.label()), std::slice::from_ref(&id), &mut found)?;
            if found == [None] && !given.contains(&id) {
                break;
            }
            id = ExternalId::String(format!("{generated}.{number}").into());
        }
        Ok(id)
    }

    pub(super) fn put_further_labels(&mut self, vertex: VertexId, labels: &[LabelId]) -> Result<()> {
        self.element_exists(ElementId::Vertex(vertex))?;
        for label in labels {
            self.schema.must_have_label(ElementKind::Vertex, *label)?;
        }
        let further: BTreeSet<LabelId> = labels.iter().copied().filter(|label| *label != vertex.label()).collect();
        let known = &self.schema.vertex_labels[usize::from(vertex.label().0)].further;
        let new: Vec<LabelId> = further.iter().copied().filter(|label| !known.contains(label)).collect();
        if !new.is_empty() {
            let known = &mut self.label_mut(ElementKind::Vertex, vertex.label()).further;
            new.into_iter().for_each(|label| known.insert_mut(label));
        }
        let bytes: Vec<u8> = further.iter().flat_map(|label| label.0.to_le_bytes()).collect();
        let cell = if bytes.is_empty() { Cell::Absent } else { Cell::One(Value::Bytes(bytes.into())) };
        let (block, slot) = block_slot(place(vertex.0));
        self.change(|t| t.edit_block(Column::further(vertex.label()), block, [(slot, cell)]))
    }

    pub(super) fn delete_vertices(&mut self, vertices: &[VertexId]) -> Result<()> {
        let mut alive = vertices.to_vec();
        alive.sort_unstable();
        alive.dedup();
        let mut checked = Ok(());
        let reader = self.reader();
        alive.retain(|vertex| match reader.contains(ElementId::Vertex(*vertex)) {
            Ok(alive) => alive,
            Err(error) => {
                checked = Err(error);
                false
            }
        });
        checked?;
        let edges = self.edges_of(&alive)?;
        self.delete_edges(edges)?;
        self.change(|t| {
            for group in alive.chunk_by(|a, b| a.label() == b.label()) {
                t.delete_vertices_of(group[0].label(), group)?;
            }
            Ok(())
        })
    }

    fn edges_of(&self, vertices: &[VertexId]) -> Result<Vec<EdgeId>> {
        let wants = Wants { edges: true, ..Wants::default() };
        let hop = Hop::along(Direction::Both, None, wants);
        let mut adjacency = Adjacency::default();
        self.reader().neighbors(vertices, &hop, &mut adjacency)?;
        Ok(adjacency.edges.iter().map(|edge| edge.id).collect())
    }

    /// Removes all that vertices of one label have. They are sorted, and have no edges.
    fn delete_vertices_of(&mut self, label: LabelId, vertices: &[VertexId]) -> Result<()> {
        let (ids, space) = (self.owned.shared().tables.ids, self.id_space(label));
        for vertex in vertices {
            let id = self.reader().external_id(*vertex)?;
            ids.delete(self.owned.txn_mut(), &names::key(space, &id))?;
        }
        let places: Vec<u64> = vertices.iter().map(|vertex| place(vertex.0)).collect();
        let keys = self.reader().keys_at(ElementKind::Vertex, label, &places)?;
        for key in keys {
            let column = Column::holding(&self.schema, ElementKind::Vertex, label, key);
            self.unindex(PropertyId::of_vertices(label, key), &places)?;
            if self.schema.key_of(label) != Some(key) {
                self.clear_cells(column, &places)?;
            }
        }
        self.clear_cells(Column::further(label), &places)?;
        self.clear_cells(Column::external(ElementKind::Vertex, label), &places)?;
        let end = self.sealed_end(ElementKind::Vertex, label)?;
        self.bury(ElementKind::Vertex, label, &places[..places.partition_point(|place| *place < end)])?;
        self.counter_mut(ElementKind::Vertex, label)?.live -= vertices.len() as u64;
        Ok(())
    }
}

/// New names, in the order of their table.
pub(super) struct NameBatch<'a> {
    ids: &'a [ExternalId],
    space: Option<LabelId>,
    order: Vec<u32>,
    is_of_edges: bool,
}

impl<'a> NameBatch<'a> {
    pub fn new(ids: &'a [ExternalId], space: Option<LabelId>) -> Self {
        let integer = |id: &ExternalId| if let ExternalId::Int(i) = id { Some(flip(*i)) } else { None };
        let order = match ids.iter().map(integer).collect::<Option<Vec<u64>>>() {
            Some(integers) => sort::order(&integers),
            None => {
                let mut order: Vec<u32> = (0..ids.len() as u32).collect();
                order.sort_unstable_by(|a, b| ids[*a as usize].cmp(&ids[*b as usize]));
                order
            }
        };
        Self { ids, space, order, is_of_edges: false }
    }

    pub fn of_edges(ids: &'a [ExternalId]) -> Self {
        Self { is_of_edges: true, ..Self::new(ids, None) }
    }

    fn table(&self, t: &HotTransaction) -> crate::lmdb::table::Table {
        let tables = &t.owned.shared().tables;
        if self.is_of_edges { tables.edge_ids } else { tables.ids }
    }

    /// The position of an id that is taken already, or that is in the batch twice.
    pub fn duplicate(&self, t: &HotTransaction) -> Result<Option<usize>> {
        let ids = |at: u32| &self.ids[at as usize];
        if let Some(pair) = self.order.windows(2).find(|pair| ids(pair[0]) == ids(pair[1])) {
            return Ok(Some(pair[0].max(pair[1]) as usize));
        }
        let (table, txn) = (self.table(t), t.owned.txn());
        let last = table.last(txn).map_err(lmdb)?.map(|(key, _)| key);
        let mut key = Vec::with_capacity(32);
        for at in &self.order {
            key.clear();
            names::put(&mut key, self.space, ids(*at));
            let is_beyond = last.is_none_or(|last| last < &key[..]);
            if !is_beyond && table.get(txn, &key).map_err(lmdb)?.is_some() || self.is_sealed(t, ids(*at))? {
                return Ok(Some(*at as usize));
            }
        }
        Ok(None)
    }

    fn is_sealed(&self, t: &HotTransaction, id: &ExternalId) -> Result<bool> {
        match self.is_of_edges {
            true => t.reader().sealed_edge(id).map(|found| found.is_some()),
            false => t.reader().sealed_vertex(self.space, id).map(|found| found.is_some()),
        }
    }

    /// Enters the names. `id` gives the raw id of the element of each.
    pub fn put(&self, t: &mut HotTransaction, id: impl Fn(usize) -> u64) -> Result<()> {
        let table = self.table(t);
        let mut last = table.last(t.owned.txn()).map_err(lmdb)?.map(|(key, _)| key.to_vec());
        let mut key = Vec::with_capacity(32);
        for at in &self.order {
            key.clear();
            names::put(&mut key, self.space, &self.ids[*at as usize]);
            let value = id(*at as usize).to_le_bytes();
            let txn = t.owned.txn_mut();
            if last.as_ref().is_none_or(|last| *last < key) {
                table.append(txn, &key, &value)?;
                last.get_or_insert_default().clone_from(&key);
            } else {
                table.put(txn, &key, &value)?;
            }
        }
        Ok(())
    }
}
