//! All shards of a graph as one graph under change. Every change goes to the shards that keep what it changes.
//!
//! A call checks what a single shard cannot: ends of edges, and ids and values that other shards may have. If the first shard refuses,
//! nothing has changed. If one refuses after another has changed, the whole is spoilt, and will not be committed. One store would refuse a
//! batch with a bad row and go on.

mod checks;
mod halves;
mod listed;
mod recorded;

use std::collections::BTreeMap;
use std::sync::Arc;

use hashbrown::HashSet;
use mangrove_graph::{
    Adjacency, Cardinality, Cell, Direction, EdgeId, EdgeRef, ElementId, ElementIds, ElementKind, Elements, Encoding,
    ExternalId, GraphError, GraphView, GraphWrite, Here, Hop, IdSpace, KeyId, LabelId, NewEdge, PropertyColumn, PropertyId,
    Result, Schema, ShardWrite, Through, ValueType, VertexId, Wants,
};

use self::checks::{cannot_be_ids, do_not_conform};
use crate::names::{self, EDGE_LABELS_MAX, Own, coming_in, coming_in_name, leaving};
use crate::placement::{Placement, SHARDS_MAX};
use crate::schema;
use crate::shard::ShardView;
use crate::split::{Split, rows_of};
use crate::view::ClusterView;

/// The graph as it is under change.
type Whole<'a, T> = ClusterView<ShardView<&'a T>>;

/// A graph in shards under change.
pub struct ClusterChange<T> {
    /// By number.
    stores: Vec<T>,
    placement: Placement,
    /// That of the graph, and those of the stores from which it was made.
    schema: Arc<Schema>,
    schemas: Vec<Arc<Schema>>,
    spoilt: bool,
}

impl<T: ShardWrite> ClusterChange<T> {
    /// Over the stores of all shards, by number.
    ///
    /// # Panics
    /// If there is not one for each shard.
    pub fn new(stores: Vec<T>, placement: Placement) -> Self {
        assert!(stores.len() == usize::from(placement.shards) && (1..=SHARDS_MAX).contains(&placement.shards));
        let (schema, schemas) = (Arc::default(), Vec::new());
        let mut new = Self { stores, placement, schema, schemas, spoilt: false };
        new.learn();
        new
    }

    /// The stores, to commit one after the other. Fails if one of them would refuse, or if a change was made by some shards only. If the disk fails
    /// between two commits, some shards have the changes and others do not.
    pub fn into_stores(self) -> Result<Vec<T>> {
        self.can_commit()?;
        Ok(self.stores)
    }

    /// Fails if a shard would refuse, or if a change was made by some shards only.
    pub fn can_commit(&self) -> Result<()> {
        if self.spoilt {
            return Err(GraphError::Invalid(
                "cannot commit: a write of this transaction failed halfway. Nothing of it was stored".into(),
            ));
        }
        self.stores.iter().try_for_each(T::can_commit)
    }

    /// Makes the schema anew if a store has changed its own.
    fn learn(&mut self) {
        let is_same = |(known, store): (&Arc<Schema>, &T)| Arc::ptr_eq(known, store.schema());
        if self.schemas.len() != self.stores.len() || !self.schemas.iter().zip(&self.stores).all(is_same) {
            self.schemas = self.stores.iter().map(|store| store.schema().clone()).collect();
            self.schema = schema::joined(self.schemas.iter().map(|schema| &**schema));
        }
    }

    fn view(&self) -> Whole<'_, T> {
        ClusterView::with_schema(self.stores.iter().collect(), self.placement, self.schema.clone())
    }

    fn own(&self, number: u16) -> Own {
        Own { number, shards: self.placement.shards }
    }

    /// Changes some shards, one after the other. `f` gets the number of each, too.
    fn change(
        &mut self,
        shards: impl IntoIterator<Item = usize>,
        mut f: impl FnMut(Own, &mut T) -> Result<()>,
    ) -> Result<()> {
        for (count, shard) in shards.into_iter().enumerate() {
            let outcome = f(self.own(shard as u16), &mut self.stores[shard]);
            self.spoilt |= outcome.is_err() && count > 0;
            outcome?;
        }
        self.learn();
        Ok(())
    }

    /// The same for all shards. If one of them would refuse the change, it must come first.
    fn change_all(&mut self, first: Option<u16>, f: impl FnMut(Own, &mut T) -> Result<()>) -> Result<()> {
        let first = first.map(usize::from);
        let others = (0..self.stores.len()).filter(|number| Some(*number) != first);
        self.change(first.into_iter().chain(others), f)
    }

    /// Changes the labels of both sides of an edge label, or one of vertices, in all shards.
    fn change_label(
        &mut self,
        kind: ElementKind,
        label: LabelId,
        first: Option<u16>,
        mut f: impl FnMut(&mut T, LabelId) -> Result<()>,
    ) -> Result<()> {
        let (labels, mut done) = (labels_within(kind, label), 0);
        let outcome =
            self.change_all(first, |_, store| labels.iter().try_for_each(|label| f(store, *label).inspect(|()| done += 1)));
        self.spoilt |= outcome.is_err() && done > 0;
        outcome
    }

    /// Fails if an edge label cannot have a name.
    fn may_be_named(kind: ElementKind, name: &str) -> Result<()> {
        match kind {
            ElementKind::Edge if !names::may_be_name(name) => Err(GraphError::Invalid(
                "the name of an edge label of a graph in shards begins with no U+0001 and has at most 65,534 bytes".into(),
            )),
            _ => Ok(()),
        }
    }

    /// The homes of new vertices, and their ids. A vertex without an id goes where there are fewest of its label.
    fn housed(&self, label: LabelId, ids: &[Option<ExternalId>]) -> Result<Vec<(u16, ExternalId)>> {
        let given: HashSet<&ExternalId> = ids.iter().flatten().collect();
        let mut next = Vec::with_capacity(self.stores.len());
        for store in &self.stores {
            next.push(store.next_local(ElementKind::Vertex, label)?);
        }
        let mut housed = Vec::with_capacity(ids.len());
        for id in ids {
            let home = match id {
                Some(id) => self.placement.home(label, id),
                None => (0..next.len()).min_by_key(|shard| next[*shard]).unwrap_or(0) as u16,
            };
            let local = &mut next[usize::from(home)];
            let vertex = VertexId::new(label, home, *local);
            *local += 1;
            housed.push((home, id.clone().map_or_else(|| self.free_id(vertex, &given), Ok)?));
        }
        Ok(housed)
    }

    /// The id generated for a vertex. If somebody gave that very id, a number is added to it.
    fn free_id(&self, vertex: VertexId, given: &HashSet<&ExternalId>) -> Result<ExternalId> {
        let generated = vertex.generated();
        let (mut id, mut found) = (generated.clone(), Vec::new());
        for number in 1.. {
            found.clear();
            self.view().find_vertices(self.id_space(vertex.label()), std::slice::from_ref(&id), &mut found)?;
            if found == [None] && !given.contains(&id) {
                break;
            }
            id = ExternalId::String(format!("{generated}.{number}").into());
        }
        Ok(id)
    }

    fn id_space(&self, label: LabelId) -> Option<LabelId> {
        (self.schema.id_space == IdSpace::Label).then_some(label)
    }

    /// Drops the name of a key that nothing uses any more.
    fn drop_unused(&mut self, key: KeyId) -> Result<()> {
        let is_known = !self.schema.keys.is_dropped(key.0);
        if !is_known || self.schema.has_use_of(key) {
            return Ok(());
        }
        self.change_all(None, |_, store| store.drop_key(key))
    }
}

/// The numbers of a label in the store of a shard.
fn labels_within(kind: ElementKind, label: LabelId) -> Vec<LabelId> {
    match kind {
        ElementKind::Vertex => vec![label],
        ElementKind::Edge => vec![leaving(label), coming_in(label)],
    }
}

impl<T: ShardWrite> Through for ClusterChange<T> {
    type View<'a>
        = Here<Whole<'a, T>>
    where
        T: 'a;

    fn through(&self) -> Result<Self::View<'_>> {
        Ok(Here(self.view()))
    }

    fn schema(&self) -> &Arc<Schema> {
        &self.schema
    }
}

impl<T: ShardWrite> GraphWrite for ClusterChange<T> {
    fn ensure_label(&mut self, kind: ElementKind, name: &str) -> Result<LabelId> {
        if let Some(label) = self.schema.label(kind, name) {
            return Ok(label);
        }
        Self::may_be_named(kind, name)?;
        if kind == ElementKind::Edge && self.schema.edge_labels.len() == EDGE_LABELS_MAX {
            return Err(GraphError::Limit { what: "too many labels".into(), limit: EDGE_LABELS_MAX as u64 });
        }
        self.change(0..self.stores.len(), |_, store| {
            store.ensure_label(kind, name)?;
            if kind == ElementKind::Edge {
                store.ensure_label(kind, &coming_in_name(name))?;
            }
            Ok(())
        })?;
        let label = self.schema.label(kind, name);
        label.ok_or_else(|| GraphError::corrupt("the shards have labels under different numbers"))
    }

    fn ensure_key(&mut self, name: &str) -> Result<KeyId> {
        if let Some(key) = self.schema.key(name) {
            return Ok(key);
        }
        self.change(0..self.stores.len(), |_, store| store.ensure_key(name).map(|_| ()))?;
        self.schema.key(name).ok_or_else(|| GraphError::corrupt("the shards have keys under different numbers"))
    }

    fn add_vertices(&mut self, label: LabelId, ids: &[Option<ExternalId>], out: &mut Vec<VertexId>) -> Result<()> {
        let (homes, ids): (Vec<u16>, Vec<ExternalId>) = self.housed(label, ids)?.into_iter().unzip();
        self.vertices_are_new(label, &ids)?;
        let split = Split::new(homes.into_iter(), self.placement.shards);
        let mut made = Vec::with_capacity(split.parts.len());
        let parts: Vec<usize> = split.parts.iter().map(|(shard, _)| usize::from(*shard)).collect();
        let mut rows = split.parts.iter().map(|(_, rows)| rows);
        self.change(parts, |own, store| {
            let some: Vec<_> = rows.next().into_iter().flatten().map(|row| Some(ids[*row as usize].clone())).collect();
            let mut added = Vec::with_capacity(some.len());
            store.add_vertices(label, &some, &mut added)?;
            made.push(added.into_iter().map(|vertex| own.vertex(vertex)).collect());
            Ok(())
        })?;
        out.append(&mut split.joined(made));
        Ok(())
    }

    fn add_edges(&mut self, label: LabelId, edges: &[NewEdge], out: &mut Vec<EdgeId>) -> Result<()> {
        let ends: Vec<VertexId> = edges.iter().flat_map(|edge| [edge.source, edge.target]).collect();
        self.exist(Elements::Vertices(&ends))?;
        self.edges_are_new(edges)?;
        let by_source = Split::new(edges.iter().map(|edge| edge.source.shard()), self.placement.shards);
        let (mut made, parts) = (Vec::with_capacity(by_source.parts.len()), &by_source.parts);
        let mut rows = parts.iter().map(|(_, rows)| rows);
        self.change(parts.iter().map(|(shard, _)| usize::from(*shard)), |own, store| {
            let within = |edge: &NewEdge| NewEdge {
                source: own.vertex(edge.source),
                target: own.vertex(edge.target),
                ..edge.clone()
            };
            let some: Vec<NewEdge> = rows.next().into_iter().flatten().map(|row| within(&edges[*row as usize])).collect();
            let mut added = Vec::with_capacity(some.len());
            store.add_edges(leaving(label), &some, &mut added)?;
            made.push(added.into_iter().map(|edge| own.graph_edge(edge)).collect());
            Ok(())
        })?;
        let added: Vec<EdgeId> = by_source.joined(made);
        let by_target = Split::new(edges.iter().map(|edge| edge.target.shard()), self.placement.shards);
        for (shard, rows) in by_target.parts {
            let own = self.own(shard);
            let half = |row: &u32| {
                let edge = &edges[*row as usize];
                let (source, target) = (own.vertex(edge.source), own.vertex(edge.target));
                NewEdge { source, target, id: Some(own.carried(added[*row as usize])), time: edge.time.clone() }
            };
            let some: Vec<NewEdge> = rows.iter().map(half).collect();
            let outcome = self.stores[usize::from(shard)].add_edges(coming_in(label), &some, &mut Vec::new());
            self.spoilt |= outcome.is_err();
            outcome?;
        }
        self.learn();
        out.extend(added);
        self.list_times(label, edges)
    }

    fn set_cell(&mut self, element: ElementId, key: KeyId, cell: Cell) -> Result<()> {
        element.alone(|elements| self.exist(elements))?;
        let of = PropertyId { kind: element.kind(), label: element.label(), key };
        self.stay_unique(of, &[(element, cell.clone())])?;
        let shard = match element {
            ElementId::Vertex(vertex) => vertex.shard(),
            ElementId::Edge(edge) => edge.shard(),
        };
        self.change([usize::from(shard)], |own, store| {
            let within = match element {
                ElementId::Vertex(vertex) => ElementId::Vertex(own.vertex(vertex)),
                ElementId::Edge(edge) => ElementId::Edge(own.edge(edge)),
            };
            store.set_cell(within, key, cell.clone())
        })?;
        self.list(of, [(shard, cell)])
    }

    fn set_properties(&mut self, elements: Elements<'_>, key: KeyId, values: &PropertyColumn) -> Result<()> {
        let with_values: Vec<u32> =
            (0..elements.len().min(values.len())).filter(|row| values.has(*row)).map(|row| row as u32).collect();
        self.exist(rows_of(elements, &with_values).batch())?;
        for label in elements.labels() {
            let of = PropertyId { kind: elements.kind(), label, key };
            if self.schema.index(of).is_some_and(|index| index.unique) {
                let rows = (0..elements.len()).filter(|row| elements.get(*row).label() == label && values.has(*row));
                // The last value of an element counts.
                let cells: BTreeMap<u64, (ElementId, Cell)> =
                    rows.map(|row| (elements.get(row).raw(), (elements.get(row), values.cell(row)))).collect();
                self.stay_unique(of, &cells.into_values().collect::<Vec<_>>())?;
            }
        }
        let split = Split::of(elements, self.placement.shards);
        let mut rows = split.parts.iter().map(|(_, rows)| rows);
        self.change(split.parts.iter().map(|(shard, _)| usize::from(*shard)), |own, store| {
            let rows = rows.next().map_or(&[][..], |rows| rows);
            let some = PropertyColumn::Cells(rows.iter().map(|row| values.cell(*row as usize)).collect());
            let within = match rows_of(elements, rows) {
                ElementIds::Vertices(ids) => ElementIds::Vertices(ids.into_iter().map(|id| own.vertex(id)).collect()),
                ElementIds::Edges(edges) => ElementIds::Edges(edges.into_iter().map(|edge| own.edge_ref(edge)).collect()),
            };
            store.set_properties(within.batch(), key, &some)
        })?;
        self.list_column(elements, key, values)
    }

    fn set_further_labels(&mut self, vertex: VertexId, labels: &[LabelId]) -> Result<()> {
        self.exist(Elements::Vertices(&[vertex]))?;
        self.change([usize::from(vertex.shard())], |own, store| store.set_further_labels(own.vertex(vertex), labels))
    }

    fn remove_edges(&mut self, edges: &[EdgeRef]) -> Result<()> {
        let gone = self.living(edges)?;
        let halves = self.halves_of(&gone)?;
        let split = Split::of(Elements::Edges(&gone), self.placement.shards);
        let outcome = split.parts.iter().try_for_each(|(shard, rows)| {
            let own = self.own(*shard);
            let some: Vec<EdgeRef> = rows.iter().map(|row| own.edge_ref(gone[*row as usize])).collect();
            self.stores[usize::from(*shard)].remove_edges(&some)
        });
        let outcome = outcome.and_then(|()| self.remove_halves(&halves));
        self.spoilt |= outcome.is_err();
        self.learn();
        outcome
    }

    fn remove_vertices(&mut self, vertices: &[VertexId]) -> Result<()> {
        let there = self.view().contain(Elements::Vertices(vertices))?;
        let alive: Vec<VertexId> =
            vertices.iter().zip(there).filter(|(_, there)| *there).map(|(vertex, _)| *vertex).collect();
        let hop = Hop::along(Direction::Both, None, Wants { edges: true, ..Wants::default() });
        let mut edges = Adjacency::default();
        self.view().neighbors(&alive, &hop, &mut edges)?;
        self.remove_edges(&edges.edges)?;
        let split = Split::of(Elements::Vertices(&alive), self.placement.shards);
        let mut rows = split.parts.iter().map(|(_, rows)| rows);
        self.change(split.parts.iter().map(|(shard, _)| usize::from(*shard)), |own, store| {
            let some = rows.next().into_iter().flatten().map(|row| own.vertex(alive[*row as usize]));
            store.remove_vertices(&some.collect::<Vec<_>>())
        })
    }

    fn declare_property(
        &mut self,
        kind: ElementKind,
        label: LabelId,
        key: KeyId,
        value_type: Option<ValueType>,
        cardinality: Cardinality,
    ) -> Result<()> {
        let first =
            self.shard_of(kind, label, |view, elements| do_not_conform(view, elements, key, value_type, cardinality))?;
        self.change_label(kind, label, first, |store, label| {
            store.declare_property(kind, label, key, value_type, cardinality)
        })
    }

    fn declare_key(&mut self, label: LabelId, key: KeyId) -> Result<()> {
        let known = self.schema.label_schema(ElementKind::Vertex, label).and_then(|label| label.property(key));
        let declared = known.and_then(|property| property.declared);
        let first =
            self.shard_of(ElementKind::Vertex, label, |view, elements| cannot_be_ids(view, elements, key, declared))?;
        self.change_label(ElementKind::Vertex, label, first, |store, label| store.declare_key(label, key))
    }

    fn declare_time(&mut self, label: LabelId, key: KeyId) -> Result<()> {
        let first = self.shard_of(ElementKind::Edge, label, |_, elements| Ok(vec![true; elements.len()]))?;
        self.change_label(ElementKind::Edge, label, first, |store, label| store.declare_time(label, key))
    }

    fn set_encoding(&mut self, kind: ElementKind, label: LabelId, key: KeyId, encoding: Encoding) -> Result<()> {
        self.change_label(kind, label, None, |store, label| store.set_encoding(kind, label, key, encoding))
    }

    fn create_index(&mut self, of: PropertyId) -> Result<bool> {
        let within = names::property(of);
        let mut any = false;
        self.change(0..self.stores.len(), |_, store| store.create_index(within).map(|made| any |= made))?;
        Ok(any)
    }

    fn declare_unique(&mut self, of: PropertyId) -> Result<bool> {
        if !self.schema.index(of).is_some_and(|index| index.unique) {
            self.is_unique(of)?;
        }
        let within = names::property(of);
        let mut any = false;
        self.change(0..self.stores.len(), |_, store| store.declare_unique(within).map(|made| any |= made))?;
        Ok(any)
    }

    fn declare_routed(&mut self, of: PropertyId) -> Result<bool> {
        let within = names::property(of);
        let mut any = false;
        self.change(0..self.stores.len(), |_, store| store.declare_routed(within).map(|made| any |= made))?;
        if any {
            self.list_all(of).inspect_err(|_| self.spoilt = true)?;
        }
        Ok(any)
    }

    fn declare_required(&mut self, kind: ElementKind, label: LabelId, key: KeyId, required: bool) -> Result<()> {
        let lacks = |view: &Whole<'_, T>, elements: Elements<'_>| {
            let column = view.properties(elements, key)?;
            let lacks = |row| elements.get(row).label() == label && !column.cell(row).has_value();
            Ok((0..elements.len()).map(lacks).collect())
        };
        let first = if required { self.shard_of(kind, label, lacks)? } else { None };
        let within = labels_within(kind, label)[0];
        self.change_all(first, |_, store| store.declare_required(kind, within, key, required))
    }

    fn drop_index(&mut self, of: PropertyId) -> Result<bool> {
        let within = names::property(of);
        let mut any = false;
        self.change(0..self.stores.len(), |_, store| store.drop_index(within).map(|dropped| any |= dropped))?;
        Ok(any)
    }

    fn rename_label(&mut self, kind: ElementKind, label: LabelId, name: &str) -> Result<()> {
        Self::may_be_named(kind, name)?;
        self.change(0..self.stores.len(), |_, store| {
            if kind == ElementKind::Vertex {
                return store.rename_label(kind, label, name);
            }
            store.rename_label(kind, leaving(label), name)?;
            store.rename_label(kind, coming_in(label), &coming_in_name(name))
        })
    }

    fn drop_label(&mut self, kind: ElementKind, label: LabelId) -> Result<()> {
        let first = self.shard_of(kind, label, |_, elements| Ok(vec![true; elements.len()]))?;
        let keys = self.schema.label_schema(kind, label).map_or_else(Vec::new, |label| label.properties.keys().collect());
        self.change_label(kind, label, first, |store, label| store.drop_label(kind, label))?;
        keys.into_iter().try_for_each(|key| self.drop_unused(key))
    }

    fn drop_property(&mut self, of: PropertyId) -> Result<()> {
        let first = self.shard_of(of.kind, of.label, |view, elements| {
            let have = view.have(elements, of.key)?;
            Ok(have.into_iter().enumerate().map(|(at, has)| has && elements.get(at).label() == of.label).collect())
        })?;
        self.change_label(of.kind, of.label, first, |store, label| store.drop_property(PropertyId { label, ..of }))?;
        self.drop_unused(of.key)
    }

    /// The first shard keeps it.
    fn put_source(&mut self, name: &str, position: &[u8]) -> Result<()> {
        self.change([0], |_, store| store.put_source(name, position))
    }

    fn held_bytes(&self) -> u64 {
        self.stores.iter().map(T::held_bytes).sum()
    }

    fn write_out(&mut self) -> Result<()> {
        self.stores.iter_mut().try_for_each(T::write_out)
    }

    fn as_view(&self) -> &dyn GraphView {
        self
    }
}
