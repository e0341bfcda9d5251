//! Changes of elements and their properties.

use std::collections::BTreeMap;
use std::ops::Deref;
use std::sync::Arc;

use mangrove_graph::id::LOCAL_MAX;
use mangrove_graph::{
    Cardinality, Catalog, Cell, EdgeId, EdgeRef, ElementId, ElementKind, Elements, Encoding, ExternalId, GraphError,
    GraphView, GraphWrite, KeyId, LabelId, LabelSchema, NewEdge, PropertyColumn, PropertyId, PropertySchema, Result,
    ShardRead, ShardWrite, Value, ValueType, VertexId, conform,
};

use super::Overlay;
use super::delta::{Added, AddedEdge, Delta, Place};
use crate::names::comes_in;

/// Elements of a label begin a new block of ids when their store compresses what it has.
const BLOCK: u64 = 128;

/// About what a new element costs in memory beside its cells and its id.
const ADDED_BYTES: u64 = 96;

/// About what an entry of the directory costs in memory.
const LISTED_BYTES: u64 = 24;

impl<V: Deref<Target: ShardRead>> Overlay<V> {
    /// The local id behind all that the store has given.
    fn next_below(&self, kind: ElementKind, label: LabelId) -> Result<u64> {
        match usize::from(label.0) < self.below.schema().labels(kind).len() {
            true => self.below.next_local(kind, label),
            false => Ok(0),
        }
    }

    fn added_vertices(&mut self, label: LabelId) -> Result<&mut Added<ExternalId>> {
        let first = self.next_local(ElementKind::Vertex, label)?;
        Ok(self.delta.vertices.entry(label).or_insert(Added { first, rows: Vec::new() }))
    }

    fn added_edges(&mut self, label: LabelId) -> Result<&mut Added<AddedEdge>> {
        let first = self.next_local(ElementKind::Edge, label)?;
        Ok(self.delta.edges.entry(label).or_insert(Added { first, rows: Vec::new() }))
    }

    fn label_mut(&mut self, kind: ElementKind, label: LabelId) -> &mut LabelSchema {
        &mut Arc::make_mut(&mut self.schema).labels_mut(kind)[usize::from(label.0)]
    }

    /// Changes what the schema knows of a property, unless it stays as it is.
    pub(super) fn change_property(&mut self, of: PropertyId, change: impl FnOnce(&mut PropertySchema)) {
        let known = self.schema.property(of);
        let mut property = known.cloned().unwrap_or_else(|| PropertySchema::new(of.key));
        change(&mut property);
        if known != Some(&property) {
            self.label_mut(of.kind, of.label).properties.put(property);
        }
    }

    /// Puts a cell that fits.
    fn put(&mut self, of: PropertyId, element: ElementId, cell: Cell) {
        if !cell.is_absent() {
            self.change_property(of, |property| property.meet(&cell));
        }
        let place = self.delta.place(element);
        self.delta.put_cell(of, VertexId(element.raw()).local(), place, cell);
    }

    /// Fails if a cell cannot be under a key of an element. Returns whether it is the element's id, which is there already.
    fn must_fit(&self, element: ElementId, of: PropertyId, cell: &Cell) -> Result<bool> {
        self.schema.must_fit(of, cell)?;
        if self.schema.is_time(of) {
            let (old, new) = (self.cell(element, of.key)?, cell);
            let time = |cell: &Cell| cell.values().next().and_then(Value::as_time).unwrap_or(i64::MIN);
            let may_be_time = new.values().all(|value| value.is_null() || value.as_time().is_some());
            if old != *new && !(time(&old) == time(new) && may_be_time) {
                return Err(self.schema.time_stays(of));
            }
        }
        if let ElementId::Vertex(vertex) = element
            && self.schema.is_key(of.kind, of.label, of.key)
        {
            return self.schema.must_be_id(of, cell, &self.external_id(vertex)?).map(|()| true);
        }
        if !cell.has_value() && self.schema.is_required(of) {
            return Err(self.lacks(element, of));
        }
        Ok(false)
    }

    /// The error of an element without a required property.
    pub(super) fn lacks(&self, element: ElementId, of: PropertyId) -> GraphError {
        let label = self.schema.label_name(of.kind, of.label).to_string();
        match self.known_as(element) {
            Ok(id) => GraphError::Required {
                label,
                key: self.schema.key_name(of.key).to_string(),
                element: format!("the {} {id}", element.kind().name()),
            },
            Err(error) => error,
        }
    }

    /// The id by which users know an element.
    pub(super) fn known_as(&self, element: ElementId) -> Result<ExternalId> {
        match element {
            ElementId::Vertex(vertex) => self.external_id(vertex),
            ElementId::Edge(edge) => Ok(self.edge_external_id(edge)?.unwrap_or_else(|| edge.generated())),
        }
    }

    /// The first new element of a label that has no value under a key.
    fn first_new_without(&self, of: PropertyId) -> Option<ElementId> {
        let without = |local: &u64| {
            let element = element_at(of.kind, of.label, *local);
            let cell = self.delta.cell(of, *local, self.delta.place(element));
            !cell.is_some_and(Cell::has_value)
        };
        let new = self.delta.new_ones(of.kind, of.label, 0);
        new.into_iter().find(without).map(|local| element_at(of.kind, of.label, local))
    }

    /// Whether the values of an array need no look at each: they are of one plain type, and the property takes that.
    fn takes_all(&self, of: PropertyId, values: &PropertyColumn) -> Result<bool> {
        let PropertyColumn::Typed(array) = values else { return Ok(false) };
        let is_special = self.schema.is_time(of) || self.schema.is_key(of.kind, of.label, of.key);
        if is_special || mangrove_graph::column::bytes(array.as_ref()) > conform::CELL_BYTES_MAX {
            return Ok(false);
        }
        match (0..array.len()).find(|row| values.has(*row)) {
            Some(row) => self.schema.must_fit(of, &values.cell(row)).map(|()| true),
            None => Ok(true),
        }
    }

    fn remove_edge(&mut self, edge: &EdgeRef) {
        let (id, label) = (edge.id, edge.id.label());
        match self.delta.place(ElementId::Edge(id)) {
            Place::New(row) => {
                let removed = self.delta.edges.get_mut(&label).and_then(|added| added.rows[row].take());
                if let Some(id) = removed.and_then(|edge| edge.id).filter(|_| !comes_in(label)) {
                    self.delta.edge_names.remove(&id);
                }
            }
            Place::Below => {
                self.delta.gone.insert(ElementId::Edge(id));
                self.delta.touch(ElementKind::Edge, label, id.local());
                self.delta.thinned.insert(Delta::lister(edge));
            }
            Place::Nowhere => return,
        }
        self.delta.grow(ElementKind::Edge, label, -1);
    }

    fn remove_vertex(&mut self, vertex: VertexId) {
        let label = vertex.label();
        match self.delta.place(ElementId::Vertex(vertex)) {
            Place::New(row) => {
                let removed = self.delta.vertices.get_mut(&label).and_then(|added| added.rows[row].take());
                if let Some(id) = removed {
                    let space = self.id_space(Some(label));
                    self.delta.names.remove(&(space, id));
                }
            }
            Place::Below => {
                self.delta.gone.insert(ElementId::Vertex(vertex));
                self.delta.touch(ElementKind::Vertex, label, vertex.local());
            }
            Place::Nowhere => return,
        }
        self.delta.grow(ElementKind::Vertex, label, -1);
    }
}

pub(super) fn element_at(kind: ElementKind, label: LabelId, local: u64) -> ElementId {
    match kind {
        ElementKind::Vertex => ElementId::Vertex(VertexId::new(label, 0, local)),
        ElementKind::Edge => ElementId::Edge(EdgeId::new(label, 0, local)),
    }
}

/// Fails if a label would get more elements than ids.
fn must_have_ids(next: u64, more: usize, what: &str) -> Result<()> {
    match more as u64 > LOCAL_MAX.saturating_sub(next) {
        true => Err(GraphError::Limit { what: format!("too many {what} of one label"), limit: LOCAL_MAX }),
        false => Ok(()),
    }
}

impl<V: Deref<Target: ShardRead>> ShardRead for Overlay<V> {
    fn next_local(&self, kind: ElementKind, label: LabelId) -> Result<u64> {
        let added = match kind {
            ElementKind::Vertex => self.delta.vertices.get(&label).map(Added::next),
            ElementKind::Edge => self.delta.edges.get(&label).map(Added::next),
        };
        added.map_or_else(|| self.next_below(kind, label), Ok)
    }
}

impl<V: Deref<Target: ShardRead>> ShardWrite for Overlay<V> {
    fn can_commit(&self) -> Result<()> {
        let of_kind = |kind, label: &LabelId| {
            let known = self.schema.label_schema(kind, *label).into_iter().flat_map(|label| label.properties.iter());
            let required = known.filter(|property| property.required).map(|property| property.key);
            required.map(move |key| PropertyId { kind, label: *label, key }).collect::<Vec<_>>()
        };
        let vertices = self.delta.vertices.keys().flat_map(|label| of_kind(ElementKind::Vertex, label));
        let edges = self.delta.edges.keys().flat_map(|label| of_kind(ElementKind::Edge, label));
        let is_no_key = |of: &PropertyId| !self.schema.is_key(of.kind, of.label, of.key);
        for of in vertices.chain(edges).filter(is_no_key) {
            if let Some(element) = self.first_new_without(of) {
                return Err(self.lacks(element, of));
            }
        }
        Ok(())
    }

    fn drop_key(&mut self, key: KeyId) -> Result<()> {
        self.schema.must_have_key(key)?;
        Arc::make_mut(&mut self.schema).keys.drop_name(key.0);
        Ok(())
    }

    fn list_shards(&mut self, of: PropertyId, entries: &[(u64, u16)]) -> Result<()> {
        let listed = self.listed.entry(of).or_default();
        let before = listed.len();
        listed.extend(entries);
        self.delta.bytes += LISTED_BYTES * (listed.len() - before) as u64;
        Ok(())
    }

    fn end_labels(&mut self) -> Result<()> {
        for label in (0..self.schema.vertex_labels.len() as u16).map(LabelId) {
            let added = self.added_vertices(label)?;
            added.rows.resize((added.next().next_multiple_of(BLOCK) - added.first) as usize, None);
        }
        for label in (0..self.schema.edge_labels.len() as u16).map(LabelId) {
            let added = self.added_edges(label)?;
            added.rows.resize((added.next().next_multiple_of(BLOCK) - added.first) as usize, None);
        }
        Ok(())
    }
}

impl<V: Deref<Target: ShardRead>> GraphWrite for Overlay<V> {
    fn ensure_label(&mut self, kind: ElementKind, name: &str) -> Result<LabelId> {
        if let Some(label) = self.schema.label(kind, name) {
            return Ok(label);
        }
        conform::room_for_a_name("labels", name, self.schema.labels(kind).len())?;
        Ok(LabelId(Arc::make_mut(&mut self.schema).labels_mut(kind).push(LabelSchema::new(name))))
    }

    fn ensure_key(&mut self, name: &str) -> Result<KeyId> {
        if let Some(key) = self.schema.key(name) {
            return Ok(key);
        }
        conform::room_for_a_name("property keys", name, self.schema.keys.len())?;
        Ok(KeyId(Arc::make_mut(&mut self.schema).keys.push(name.into())))
    }

    fn add_vertices(&mut self, label: LabelId, ids: &[Option<ExternalId>], out: &mut Vec<VertexId>) -> Result<()> {
        self.schema.must_have_label(ElementKind::Vertex, label)?;
        let ids: Option<Vec<ExternalId>> = ids.iter().cloned().collect();
        let Some(ids) = ids else {
            return Err(GraphError::Invalid("a shard is given the ids of its vertices".into()));
        };
        self.schema.ids_must_fit(label, &ids)?;
        let (space, added) = (self.id_space(Some(label)), self.added_vertices(label)?);
        let next = added.next();
        must_have_ids(next, ids.len(), "vertices")?;
        added.rows.extend(ids.iter().cloned().map(Some));
        if let Some(key) = self.schema.key_of(label) {
            let of = PropertyId::of_vertices(label, key);
            self.change_property(of, |property| ids.iter().for_each(|id| property.types.insert(id.value_type())));
        }
        self.delta.grow(ElementKind::Vertex, label, ids.len() as i64);
        self.delta.bytes += ADDED_BYTES * ids.len() as u64;
        for (local, id) in (next..).zip(ids) {
            let vertex = VertexId::new(label, 0, local);
            self.delta.names.insert((space, id), vertex);
            out.push(vertex);
        }
        Ok(())
    }

    fn add_edges(&mut self, label: LabelId, edges: &[NewEdge], out: &mut Vec<EdgeId>) -> Result<()> {
        self.schema.must_have_label(ElementKind::Edge, label)?;
        let times = self.schema.times_of(label, edges)?;
        let added = self.added_edges(label)?;
        let next = added.next();
        must_have_ids(next, edges.len(), "edges")?;
        added.rows.extend(edges.iter().enumerate().map(|(at, edge)| {
            let time = times.as_ref().map_or(i64::MIN, |times| times[at]);
            Some(AddedEdge { source: edge.source, target: edge.target, id: edge.id.clone(), time })
        }));
        let mut last = None;
        for ends in edges.iter().map(|edge| (edge.source.label(), edge.target.label())) {
            if last.replace(ends) != Some(ends) && !self.schema.edge_labels[usize::from(label.0)].ends.contains(&ends) {
                self.label_mut(ElementKind::Edge, label).ends.insert_mut(ends);
            }
        }
        self.delta.grow(ElementKind::Edge, label, edges.len() as i64);
        self.delta.bytes += ADDED_BYTES * edges.len() as u64;
        let time = self.schema.time_of(label).map(|key| PropertyId::of_edges(label, key));
        for (local, edge) in (next..).zip(edges) {
            let id = EdgeId::new(label, 0, local);
            if let Some(given) = edge.id.as_ref().filter(|_| !comes_in(label)) {
                self.delta.edge_names.insert(given.clone(), id);
            }
            if let (Some(of), Some(time)) = (time, &edge.time) {
                self.put(of, ElementId::Edge(id), Cell::One(time.clone()));
            }
            out.push(id);
        }
        Ok(())
    }

    fn set_cell(&mut self, element: ElementId, key: KeyId, cell: Cell) -> Result<()> {
        let cell = Cell::from_entries(cell.into_entries());
        self.schema.must_have_key(key)?;
        let of = PropertyId { kind: element.kind(), label: element.label(), key };
        if !self.must_fit(element, of, &cell)? {
            self.put(of, element, cell);
        }
        Ok(())
    }

    fn set_properties(&mut self, elements: Elements<'_>, key: KeyId, values: &PropertyColumn) -> Result<()> {
        if elements.len() != values.len() {
            let what = format!("{} values were given for {} elements", values.len(), elements.len());
            return Err(GraphError::Invalid(what));
        }
        self.schema.must_have_key(key)?;
        let property = |element: ElementId| PropertyId { kind: element.kind(), label: element.label(), key };
        let mut plain: BTreeMap<LabelId, bool> = BTreeMap::new();
        for label in elements.labels() {
            plain.insert(label, self.takes_all(PropertyId { kind: elements.kind(), label, key }, values)?);
        }
        let mut rows = Vec::with_capacity(elements.len());
        for row in (0..elements.len()).filter(|row| values.has(*row)) {
            let (element, cell) = (elements.get(row), Cell::from_entries(values.cell(row).into_entries()));
            let is_id = !plain[&element.label()] && self.must_fit(element, property(element), &cell)?;
            rows.extend((!is_id).then_some((element, cell)));
        }
        rows.into_iter().for_each(|(element, cell)| self.put(property(element), element, cell));
        Ok(())
    }

    fn set_further_labels(&mut self, vertex: VertexId, labels: &[LabelId]) -> Result<()> {
        labels.iter().try_for_each(|label| self.schema.must_have_label(ElementKind::Vertex, *label))?;
        let mut further: Vec<LabelId> = labels.iter().copied().filter(|label| *label != vertex.label()).collect();
        further.sort_unstable();
        further.dedup();
        let known = &self.schema.vertex_labels[usize::from(vertex.label().0)].further;
        if further.iter().any(|label| !known.contains(label)) {
            let known = &mut self.label_mut(ElementKind::Vertex, vertex.label()).further;
            further.iter().for_each(|label| known.insert_mut(*label));
        }
        if self.delta.place(ElementId::Vertex(vertex)) == Place::Below {
            self.delta.touch(ElementKind::Vertex, vertex.label(), vertex.local());
        }
        self.delta.further.insert(vertex, further);
        Ok(())
    }

    fn remove_edges(&mut self, edges: &[EdgeRef]) -> Result<()> {
        let there = self.contain(Elements::Edges(edges))?;
        edges.iter().zip(there).filter(|(_, there)| *there).for_each(|(edge, _)| self.remove_edge(edge));
        Ok(())
    }

    fn remove_vertices(&mut self, vertices: &[VertexId]) -> Result<()> {
        let there = self.contain(Elements::Vertices(vertices))?;
        vertices.iter().zip(there).filter(|(_, there)| *there).for_each(|(vertex, _)| self.remove_vertex(*vertex));
        Ok(())
    }

    fn declare_property(
        &mut self,
        kind: ElementKind,
        label: LabelId,
        key: KeyId,
        value_type: Option<ValueType>,
        cardinality: Cardinality,
    ) -> Result<()> {
        self.fix_property(PropertyId { kind, label, key }, value_type, cardinality)
    }

    fn declare_key(&mut self, label: LabelId, key: KeyId) -> Result<()> {
        self.fix_key(PropertyId::of_vertices(label, key))
    }

    fn declare_time(&mut self, label: LabelId, key: KeyId) -> Result<()> {
        self.schema.must_have(PropertyId::of_edges(label, key))?;
        if self.statistics()?.count(ElementKind::Edge, label) > 0 {
            return Err(self.schema.has_edges_already(label));
        }
        self.label_mut(ElementKind::Edge, label).time = Some(key);
        Ok(())
    }

    fn set_encoding(&mut self, kind: ElementKind, label: LabelId, key: KeyId, encoding: Encoding) -> Result<()> {
        let of = PropertyId { kind, label, key };
        self.schema.must_have(of)?;
        self.change_property(of, |property| property.encoding = encoding);
        Ok(())
    }

    fn create_index(&mut self, of: PropertyId) -> Result<bool> {
        self.add_index(of, false)
    }

    fn declare_unique(&mut self, of: PropertyId) -> Result<bool> {
        self.add_index(of, true)
    }

    fn declare_routed(&mut self, of: PropertyId) -> Result<bool> {
        self.add_index(of, false)?;
        let indexes = &mut Arc::make_mut(&mut self.schema).indexes;
        let mine = indexes.iter_mut().find(|index| index.of == of);
        Ok(mine.is_some_and(|index| !std::mem::replace(&mut index.routed, true)))
    }

    fn declare_required(&mut self, kind: ElementKind, label: LabelId, key: KeyId, required: bool) -> Result<()> {
        self.fix_required(PropertyId { kind, label, key }, required)
    }

    fn drop_index(&mut self, of: PropertyId) -> Result<bool> {
        let indexes = &mut Arc::make_mut(&mut self.schema).indexes;
        let before = indexes.len();
        indexes.retain(|index| index.of != of);
        Ok(indexes.len() < before)
    }

    fn rename_label(&mut self, kind: ElementKind, label: LabelId, name: &str) -> Result<()> {
        if !self.schema.may_be_renamed(kind, label, name)? {
            let renamed = LabelSchema { name: name.into(), ..self.schema.labels(kind)[usize::from(label.0)].clone() };
            Arc::make_mut(&mut self.schema).labels_mut(kind).replace(label.0, renamed);
        }
        Ok(())
    }

    fn drop_label(&mut self, kind: ElementKind, label: LabelId) -> Result<()> {
        self.delete_label(kind, label)
    }

    fn drop_property(&mut self, of: PropertyId) -> Result<()> {
        self.delete_property(of)
    }

    fn put_source(&mut self, name: &str, position: &[u8]) -> Result<()> {
        conform::room_for_a_name("sources", name, 0)?;
        self.sources.insert(name.to_owned(), position.to_vec());
        Ok(())
    }

    fn held_bytes(&self) -> u64 {
        self.delta.bytes
    }

    fn as_view(&self) -> &dyn GraphView {
        self
    }
}
