//! Adding and removing edges.

use mangrove_graph::{
    Cell, EdgeId, EdgeRef, ElementId, ElementKind, ExternalId, GraphError, KeyId, LabelId, NewEdge, PropertyId, Result,
    TypeSet, Value, VertexId, column, id::LOCAL_MAX,
};

use super::HotTransaction;
use super::links::Linker;
use super::vertices::NameBatch;
use crate::format::adjacency::EdgeEntry;
use crate::format::encode::ArrayRows;
use crate::format::key::{Column, block_slot, edge_at, flip, place};
use crate::format::names;
use crate::format::sort;
use crate::lmdb::table::Table;
use crate::shared::notes::Clean;

/// New edges of one label, which get consecutive ids.
struct Batch<'a> {
    label: LabelId,
    edges: &'a [NewEdge],
    /// The local id of the first.
    first: u64,
    /// The sort key of each edge, if the label has a time.
    times: Option<Vec<i64>>,
}

/// An edge to remove, with all that is needed to find its entries.
#[derive(Clone, Copy)]
struct Gone {
    edge: EdgeRef,
    time: Option<i64>,
}

impl HotTransaction {
    pub(super) fn put_edges(&mut self, label: LabelId, edges: &[NewEdge], out: &mut Vec<EdgeId>) -> Result<()> {
        self.schema.must_have_label(ElementKind::Edge, label)?;
        let first = self.counter(ElementKind::Edge, label)?.next;
        if edges.len() as u64 > LOCAL_MAX.saturating_sub(first) {
            return Err(GraphError::Limit { what: "too many edges of one label".into(), limit: LOCAL_MAX });
        }
        let time_key = self.schema.time_of(label);
        let times = self.schema.times_of(label, edges)?;
        let batch = Batch { label, edges, first, times };
        let [by_source, by_target] = [(true, source as fn(&NewEdge) -> VertexId), (false, target)].map(|(outgoing, end)| {
            let is_listed = self.sides().lists(outgoing, label);
            is_listed.then(|| self.by_end(&batch, end)).transpose()
        });
        let (by_source, by_target) = (by_source?, by_target?);
        let named: Vec<usize> = (0..edges.len()).filter(|at| edges[*at].id.is_some()).collect();
        let ids: Vec<ExternalId> = edges.iter().filter_map(|edge| edge.id.clone()).collect();
        if let Some(id) = ids.iter().find(|id| EdgeId::from_generated(id).is_some()) {
            return Err(GraphError::GeneratedId { id: id.clone() });
        }
        let is_named = self.sides().names(ElementKind::Edge, label);
        let names = NameBatch::of_edges(if is_named { &ids } else { &[] });
        if let Some(at) = names.duplicate(self)? {
            return Err(GraphError::DuplicateEdge { id: ids[at].clone() });
        }
        self.change(|t| {
            let tables = t.owned.shared().tables;
            let ends = |at: usize| EdgeRef { id: EdgeId(0), source: edges[at].source, target: edges[at].target };
            t.put_ends(label, first, ends, edges.len())?;
            if let Some(order) = &by_source {
                t.link_all(tables.out, &batch, order, |edge| (edge.source, edge.target))?;
            }
            if let Some(order) = &by_target {
                t.link_all(tables.incoming, &batch, order, |edge| (edge.target, edge.source))?;
            }
            names.put(t, |at| edge_at(label, first + named[at] as u64).0)?;
            t.put_edge_ids(label, first, &named, &ids)?;
            if let Some(key) = time_key {
                t.have_times_as_properties()?;
                t.put_times_of(label, first, edges, key)?;
            }
            t.widen_ends(label, edges);
            let counter = t.counter_mut(ElementKind::Edge, label)?;
            counter.next += edges.len() as u64;
            counter.live += edges.len() as u64;
            Ok(())
        })?;
        out.extend((0..edges.len() as u64).map(|at| edge_at(label, first + at)));
        Ok(())
    }

    /// The order of the edges by one of their ends, then time, then age. Fails if an end does not exist.
    fn by_end(&self, batch: &Batch, end: fn(&NewEdge) -> VertexId) -> Result<Vec<u32>> {
        let edges = batch.edges;
        let mut order: Vec<u32> = (0..edges.len() as u32).collect();
        if let Some(times) = &batch.times {
            let times: Vec<u64> = times.iter().map(|time| flip(*time)).collect();
            sort::sort(&times, &mut order);
        }
        let ends: Vec<u64> = edges.iter().map(|edge| end(edge).0).collect();
        sort::sort(&ends, &mut order);
        let clean = Clean::default();
        let reader = self.reader();
        let reader = reader.with_notes(&clean);
        let mut known: Option<(LabelId, u64, u128)> = None;
        let mut last = None;
        for at in &order {
            let vertex = VertexId(ends[*at as usize]);
            if last.replace(vertex) == Some(vertex) {
                continue;
            }
            let (block, slot) = block_slot(place(vertex.0));
            let alive = match known {
                Some((label, same, alive)) if (label, same) == (vertex.label(), block) => alive,
                _ => reader.alive(ElementKind::Vertex, vertex.label(), block)?,
            };
            known = Some((vertex.label(), block, alive));
            if alive >> slot & 1 == 0 {
                return Err(GraphError::no_such(ElementId::Vertex(vertex)));
            }
        }
        Ok(order)
    }

    /// Enters the edges into `out` or `in`. `ends` gives the vertex whose edge it is there, and then the other end.
    fn link_all(
        &mut self,
        table: Table,
        batch: &Batch,
        order: &[u32],
        ends: fn(&NewEdge) -> (VertexId, VertexId),
    ) -> Result<()> {
        let ends_at = |at: u32| ends(&batch.edges[at as usize]);
        let mut linker = Linker::new(self, table, batch.label)?;
        let mut group = Vec::new();
        for same in order.chunk_by(|a, b| ends_at(*a).0 == ends_at(*b).0) {
            group.clear();
            group.extend(same.iter().map(|at| EdgeEntry {
                neighbor: ends_at(*at).1,
                time: batch.times.as_ref().map(|times| times[*at as usize]),
                edge: batch.first + u64::from(*at),
            }));
            linker.link(self, ends_at(same[0]).0, &group)?;
        }
        Ok(())
    }

    /// Enters the ids that users gave into their column.
    fn put_edge_ids(&mut self, label: LabelId, first: u64, named: &[usize], ids: &[ExternalId]) -> Result<()> {
        let column = Column::external(ElementKind::Edge, label);
        let rows: Vec<(u64, &ExternalId)> = named.iter().map(|at| first + *at as u64).zip(ids).collect();
        for group in rows.chunk_by(|a, b| block_slot(a.0).0 == block_slot(b.0).0) {
            let changes = group.iter().map(|(place, id)| (block_slot(*place).1, Cell::One(id.to_value())));
            self.edit_block(column, block_slot(group[0].0).0, changes)?;
        }
        Ok(())
    }

    /// Enters the times of new edges, which are a property.
    fn put_times_of(&mut self, label: LabelId, first: u64, edges: &[NewEdge], key: KeyId) -> Result<()> {
        let times: Vec<Option<&Value>> = edges.iter().map(|edge| edge.time.as_ref()).collect();
        let column = Column::property(ElementKind::Edge, label, key);
        for t in types_of(edges).iter() {
            self.infer_type(ElementKind::Edge, label, key, t)?;
        }
        let of = PropertyId::of_edges(label, key);
        if self.schema.index(of).is_some() {
            for (place, time) in (first..).zip(&times).filter_map(|(place, time)| Some((place, (*time)?))) {
                self.reindex(of, edge_at(label, place).0, &Cell::Absent, &Cell::One(time.clone()))?;
            }
        }
        if let Some(array) = column::array_of(&times) {
            return self.put_run(column, first, &ArrayRows(&array), times.len(), true);
        }
        let rows: Vec<(u64, &Value)> = (first..).zip(times).filter_map(|(place, time)| Some((place, time?))).collect();
        for group in rows.chunk_by(|a, b| block_slot(a.0).0 == block_slot(b.0).0) {
            let changes = group.iter().map(|(place, time)| (block_slot(*place).1, Cell::One((*time).clone())));
            self.edit_block(column, block_slot(group[0].0).0, changes)?;
        }
        Ok(())
    }

    /// Notes which vertex labels the edges join.
    fn widen_ends(&mut self, label: LabelId, edges: &[NewEdge]) {
        let mut last = None;
        for edge in edges {
            let ends = (edge.source.label(), edge.target.label());
            if last.replace(ends) != Some(ends) && !self.schema.edge_labels[usize::from(label.0)].ends.contains(&ends) {
                self.label_mut(ElementKind::Edge, label).ends.insert_mut(ends);
            }
        }
    }

    pub(super) fn delete_edges(&mut self, mut ids: Vec<EdgeId>) -> Result<()> {
        ids.sort_unstable();
        ids.dedup();
        let mut gone = Vec::with_capacity(ids.len());
        for id in ids {
            if let Some(edge) = self.reader().edge(id)? {
                gone.push(Gone { edge, time: self.time_of(id)? });
            }
        }
        self.change(|t| {
            for group in gone.chunk_by(|a, b| a.edge.id.label() == b.edge.id.label()) {
                t.delete_edges_of(group[0].edge.id.label(), group)?;
            }
            Ok(())
        })
    }

    /// The time in the keys of an edge, if its label has a time.
    fn time_of(&self, id: EdgeId) -> Result<Option<i64>> {
        let timed = self.schema.label_schema(ElementKind::Edge, id.label()).is_some_and(|label| label.time.is_some());
        if !timed {
            return Ok(None);
        }
        self.reader().time_of(id.label(), place(id.0)).map(Some)
    }

    /// Removes edges of one label, sorted by id.
    fn delete_edges_of(&mut self, label: LabelId, gone: &[Gone]) -> Result<()> {
        let tables = self.owned.shared().tables;
        let places: Vec<u64> = gone.iter().map(|gone| place(gone.edge.id.0)).collect();
        let before = |end| places.partition_point(|place| *place < end);
        let to_be_sealed = before(self.sealed_end(ElementKind::Edge, label)?);
        let (sealed, in_tables) = gone.split_at(before(self.segments.end(ElementKind::Edge, label)));
        if self.sides().lists(true, label) {
            self.unlink_all(tables.out, label, in_tables, |edge| edge.source)?;
        }
        if self.sides().lists(false, label) {
            self.unlink_all(tables.incoming, label, in_tables, |edge| edge.target)?;
        }
        let are_named = self.sides().names(ElementKind::Edge, label);
        for gone in gone.iter().filter(|_| are_named) {
            if let Some(id) = self.reader().edge_external_id(gone.edge.id)? {
                tables.edge_ids.delete(self.owned.txn_mut(), &names::key(None, &id))?;
            }
        }
        for key in self.reader().keys_at(ElementKind::Edge, label, &places)? {
            self.unindex(PropertyId::of_edges(label, key), &places)?;
            self.clear_cells(Column::property(ElementKind::Edge, label, key), &places)?;
        }
        self.clear_cells(Column::external(ElementKind::Edge, label), &places)?;
        self.clear_cells(Column::time(label), &places)?;
        self.clear_ends(label, &places[sealed.len()..])?;
        self.bury(ElementKind::Edge, label, &places[..to_be_sealed])?;
        self.counter_mut(ElementKind::Edge, label)?.live -= gone.len() as u64;
        Ok(())
    }

    fn unlink_all(&mut self, table: Table, label: LabelId, gone: &[Gone], end: fn(&EdgeRef) -> VertexId) -> Result<()> {
        let mut rows: Vec<(VertexId, (Option<i64>, u64))> =
            gone.iter().map(|gone| (end(&gone.edge), (gone.time, place(gone.edge.id.0)))).collect();
        rows.sort_unstable();
        let mut linker = Linker::new(self, table, label)?;
        for group in rows.chunk_by(|a, b| a.0 == b.0) {
            let places: Vec<_> = group.iter().map(|(_, place)| *place).collect();
            linker.unlink(self, group[0].0, &places)?;
        }
        Ok(())
    }
}

fn source(edge: &NewEdge) -> VertexId {
    edge.source
}

fn target(edge: &NewEdge) -> VertexId {
    edge.target
}

/// The types of the times of edges.
fn types_of(edges: &[NewEdge]) -> TypeSet {
    let mut types = TypeSet::default();
    edges.iter().filter_map(|edge| edge.time.as_ref()).for_each(|time| types.insert(time.value_type()));
    types
}
