//! Adding and removing vertices.

use std::collections::BTreeSet;
use std::ops::Bound;

use heed::types::Bytes;
use mangrove_graph::{
    Adjacency, Cell, Direction, EdgeId, ElementId, ElementKind, ExternalId, GraphError, Hop, LabelId, Result, Value,
    VertexId, Wants, id::LOCAL_MAX,
};

use super::HotTransaction;
use crate::catalog;
use crate::encode::IdRows;
use crate::fault::lmdb;
use crate::key::{Column, block_slot, flip, place, vertex_at};
use crate::names;
use crate::read::Reader;

impl HotTransaction {
    pub(super) fn put_vertices(
        &mut self,
        label: LabelId,
        ids: &[Option<ExternalId>],
        out: &mut Vec<VertexId>,
    ) -> Result<()> {
        self.label_exists(ElementKind::Vertex, label)?;
        let counter = self.counter(ElementKind::Vertex, label)?;
        if ids.len() as u64 > LOCAL_MAX.saturating_sub(counter.next) {
            return Err(GraphError::Limit { what: "vertices of a label".into(), limit: LOCAL_MAX });
        }
        let (ids, next_auto) = self.complete_ids(label, ids)?;
        let names = NameBatch::new(&ids, self.id_space(label));
        if let Some(at) = names.duplicate(self)? {
            let label = self.id_space(label).map(|label| self.schema.label_name(ElementKind::Vertex, label).to_string());
            return Err(GraphError::DuplicateVertex { id: ids[at].clone(), label });
        }
        self.change(|t| {
            names.put(t, |at| vertex_at(label, counter.next + at as u64).0)?;
            t.put_run(Column::external(ElementKind::Vertex, label), counter.next, &IdRows(&ids), ids.len(), true)?;
            if let Some(next) = next_auto {
                let (tables, space) = (t.owned.shared().tables, t.id_space(label).unwrap_or(LabelId(0)));
                catalog::put_next_auto(&tables, t.owned.txn_mut(), space, next)?;
            }
            let counter = t.counter_mut(ElementKind::Vertex, label)?;
            counter.next += ids.len() as u64;
            counter.live += ids.len() as u64;
            Ok(())
        })?;
        out.extend((0..ids.len() as u64).map(|at| vertex_at(label, counter.next + at)));
        Ok(())
    }

    /// The ids with free integers where there are none, and the integer to search on from.
    fn complete_ids(&self, label: LabelId, ids: &[Option<ExternalId>]) -> Result<(Vec<ExternalId>, Option<i64>)> {
        if ids.iter().all(Option::is_some) {
            return Ok((ids.iter().flatten().cloned().collect(), None));
        }
        let space = self.id_space(label);
        let given: BTreeSet<i64> =
            ids.iter().flatten().filter_map(|id| if let ExternalId::Int(i) = id { Some(*i) } else { None }).collect();
        let first = catalog::next_auto(&self.owned.shared().tables, self.owned.txn(), space.unwrap_or(LabelId(0)))?;
        let mut free = FreeIntegers::new(&self.reader(), space, first)?;
        let mut complete = Vec::with_capacity(ids.len());
        for id in ids {
            complete.push(match id {
                Some(id) => id.clone(),
                None => loop {
                    let next = free.next()?;
                    if !given.contains(&next) {
                        break ExternalId::Int(next);
                    }
                },
            });
        }
        Ok((complete, Some(free.next)))
    }

    pub(super) fn put_further_labels(&mut self, vertex: VertexId, labels: &[LabelId]) -> Result<()> {
        self.element_exists(ElementId::Vertex(vertex))?;
        for label in labels {
            self.label_exists(ElementKind::Vertex, *label)?;
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

    /// Removes what vertices of one label, sorted and without edges, have.
    fn delete_vertices_of(&mut self, label: LabelId, vertices: &[VertexId]) -> Result<()> {
        let (ids, space) = (self.owned.shared().tables.ids, self.id_space(label));
        for vertex in vertices {
            let id = self.reader().external_id(*vertex)?;
            ids.delete(self.owned.txn_mut(), &names::key(space, &id))?;
        }
        let places: Vec<u64> = vertices.iter().map(|vertex| place(vertex.0)).collect();
        let keys = self.reader().keys_at(ElementKind::Vertex, label, &places)?;
        for key in keys {
            let column = Column::property(ElementKind::Vertex, label, key);
            if self.schema.index(label, key).is_some() {
                for vertex in vertices {
                    let old = self.reader().cell_at(column, place(vertex.0))?;
                    self.reindex(*vertex, key, &old, &Cell::Absent)?;
                }
            }
            self.clear_cells(column, &places)?;
        }
        self.clear_cells(Column::further(label), &places)?;
        self.clear_cells(Column::external(ElementKind::Vertex, label), &places)?;
        let end = self.sealed_end(ElementKind::Vertex, label)?;
        self.bury(ElementKind::Vertex, label, &places[..places.partition_point(|place| *place < end)])?;
        self.counter_mut(ElementKind::Vertex, label)?.live -= vertices.len() as u64;
        Ok(())
    }
}

/// Integers that name no vertex, from one on.
struct FreeIntegers<'t> {
    next: i64,
    /// The taken ones from `next` on.
    taken: std::iter::Peekable<heed::RoRange<'t, Bytes, Bytes>>,
    prefix: Vec<u8>,
    space: Option<LabelId>,
    reader: Reader<'t>,
}

impl<'t> FreeIntegers<'t> {
    fn new(reader: &Reader<'t>, space: Option<LabelId>, first: i64) -> Result<Self> {
        let start = names::key(space, &ExternalId::Int(first));
        let bounds = (Bound::Included(&start[..]), Bound::<&[u8]>::Unbounded);
        let taken = reader.tables.ids.range(reader.txn, &bounds).map_err(lmdb)?.peekable();
        Ok(Self { next: first, taken, prefix: start[..start.len() - 8].to_vec(), space, reader: *reader })
    }

    fn next(&mut self) -> Result<i64> {
        loop {
            let candidate = self.next;
            self.next = candidate
                .checked_add(1)
                .ok_or(GraphError::Limit { what: "integer ids given out".into(), limit: i64::MAX as u64 })?;
            let wanted = [&self.prefix[..], &flip(candidate).to_be_bytes()].concat();
            match self.taken.peek() {
                Some(Ok((key, _))) if *key == &wanted[..] => {
                    self.taken.next();
                }
                Some(Err(_)) => {
                    self.taken.next().transpose().map_err(lmdb)?;
                }
                _ if self.reader.sealed_vertex(self.space, &ExternalId::Int(candidate))?.is_some() => {}
                _ => return Ok(candidate),
            }
        }
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
            Some(integers) => super::sort::order(&integers),
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

    fn table(&self, t: &HotTransaction) -> crate::table::Table {
        let tables = &t.owned.shared().tables;
        if self.is_of_edges { tables.edge_ids } else { tables.ids }
    }

    /// The position of an id that is taken, or stands twice in the batch.
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

    /// Enters the names, each for the element `id` gives.
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
