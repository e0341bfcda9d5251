//! Writing.
//!
//! Every call checks all its arguments before it changes anything. If it fails because of them, the transaction is as it
//! was. If it fails because of the disk or of damaged data, it may have done a part of its work. Then the transaction is
//! *spoilt*: its commit is refused, and everything in it is undone.

mod columns;
mod declare;
mod declare_key;
mod drop;
mod edges;
mod keys;
mod links;
mod properties;
mod required;
mod unique;
mod vertices;

use std::collections::BTreeSet;
use std::sync::Arc;

use hashbrown::HashMap;
use mangrove_graph::{
    Cardinality, Cell, EdgeId, EdgeRef, ElementId, ElementKind, Elements, Encoding, ExternalId, FollowerWrite, GraphError,
    GraphView, GraphWrite, Here, IdSpace, KeyId, LabelId, LabelSchema, NewEdge, PropertyColumn, PropertyId, PropertySchema,
    ReadContext, Result, Schema, ShardRead, ShardWrite, Through, ValueType, VertexId, conform,
};

use crate::format::block::SLOTS;
use crate::format::catalog::{self, Counter, Declared, Record, Times};
use crate::format::key::Column;
use crate::lmdb::table::Writing;
use crate::options::Sides;
use crate::read::Reader;
use crate::segments::segment::Segments;
use crate::shared::owned::OwnedTxn;
use crate::shared::state::StoreState;
use crate::system::fault;
use crate::system::lock::locked;
use crate::turns::turn::{Patience, Writer};

/// The graph being changed. Dropping it undoes everything.
pub struct HotTransaction {
    owned: OwnedTxn,
    schema: Arc<Schema>,
    /// The records of the schema that have changed.
    changed: BTreeSet<Record>,
    times: Arc<Times>,
    first_times: Arc<Times>,
    /// The counters of the labels that this transaction has changed.
    counters: HashMap<(ElementKind, LabelId), Counter>,
    /// The segments under the tables.
    segments: Arc<Segments>,
    /// The limits of who reads in it, if there are any. Writes look at the graph without them, so that they do not stop halfway.
    limits: Option<ReadContext>,
    spoilt: bool,
}

impl HotTransaction {
    pub(crate) fn new(shared: &Arc<StoreState>, writer: Writer, patience: Patience<'_>) -> Result<Self> {
        let owned = OwnedTxn::begin(shared, writer, patience)?;
        let known = locked(&shared.catalog).clone();
        let Declared { schema, times, .. } = known.refreshed(&shared.tables, owned.txn())?;
        let segments = shared.segments(&catalog::segments(&shared.tables, owned.txn())?)?;
        let (changed, counters, first_times) = (BTreeSet::new(), HashMap::new(), times.clone());
        Ok(Self { owned, schema, changed, times, first_times, counters, segments, limits: None, spoilt: false })
    }

    /// Makes calls that read honour these limits from now on; `None` for no limits.
    pub fn limit(&mut self, limits: Option<ReadContext>) {
        self.limits = limits;
    }

    /// Makes the changes last. With [`Durability::Full`](crate::Durability) they are on the disk when this returns.
    ///
    /// # Errors
    /// On an error nothing is kept. [`GraphError::DiskFull`] and [`GraphError::Storage`] if it could not be written;
    /// [`GraphError::Required`] if an element lacks a property; [`GraphError::Invalid`] if a call before failed halfway.
    pub fn commit(self) -> Result<()> {
        let shared = self.owned.shared().clone();
        let table_bytes = self.commit_alone()?;
        shared.keep_up(table_bytes);
        Ok(())
    }

    /// Commits, and begins no work in the background. Returns the bytes that the tables take.
    pub(crate) fn commit_alone(mut self) -> Result<u64> {
        self.can_commit()?;
        let shared = self.owned.shared().clone();
        let tables = &shared.tables;
        for ((kind, label), counter) in &self.counters {
            catalog::put_counter(tables, self.owned.txn_mut(), *kind, *label, *counter)?;
        }
        let mut changed = None;
        if !self.changed.is_empty() || self.times != self.first_times {
            let version = catalog::store_schema(tables, self.owned.txn_mut(), &self.changed, &self.schema)?;
            changed = Some(Declared::new(version, self.schema, self.times));
        }
        let table_bytes = shared.table_bytes(self.owned.txn())?;
        self.owned.commit()?;
        if let Some(changed) = changed {
            locked(&shared.catalog).advance(changed); // members of a group end in any order
        }
        Ok(table_bytes)
    }

    pub(crate) fn must_be_sound(&self) -> Result<()> {
        if self.spoilt {
            return Err(GraphError::Invalid(
                "cannot commit: a write of this transaction failed halfway. Nothing of it was stored".into(),
            ));
        }
        Ok(())
    }

    /// Whether others wait for this transaction to end, to commit together with it. Then it should end soon.
    pub fn is_waited_for(&self) -> bool {
        self.owned.is_waited_for()
    }

    pub(crate) fn is_unchanged(&self) -> bool {
        self.counters.is_empty() && self.changed.is_empty() && self.times == self.first_times && !self.spoilt
    }

    /// Takes over schema and counters of another transaction, which loses them. The store of this one is empty.
    pub(crate) fn take_over(&mut self, other: &mut Self) -> Result<()> {
        self.schema = other.schema.clone();
        self.changed = std::mem::take(&mut other.changed);
        self.counters = std::mem::take(&mut other.counters);
        if let Times::From(old) = &*other.times {
            self.put_times(old.clone())?;
        }
        Ok(())
    }

    /// Keeps times of edges as properties from now on, unless they are so already.
    fn have_times_as_properties(&mut self) -> Result<()> {
        if *self.times != Times::Old {
            return Ok(());
        }
        let mut old = Vec::new();
        for (at, label) in self.schema.edge_labels.iter().enumerate() {
            let next = self.counter(ElementKind::Edge, LabelId(at as u16))?.next;
            old.extend((label.time.is_some() && next > 0).then_some((LabelId(at as u16), next)));
        }
        self.put_times(old)
    }

    fn put_times(&mut self, old: Vec<(LabelId, u64)>) -> Result<()> {
        let tables = self.owned.shared().tables;
        catalog::put_times(&tables, self.owned.txn_mut(), &old)?;
        self.times = Arc::new(Times::From(old));
        Ok(())
    }

    /// Undoes everything, as dropping does.
    pub fn abort(self) {}

    pub(crate) fn reader(&self) -> Reader<'_> {
        let tables = &self.owned.shared().tables;
        let (schema, times, segments) = (&self.schema, &*self.times, &*self.segments);
        Reader {
            tables,
            txn: self.owned.txn(),
            schema,
            times,
            segments,
            sides: self.sides(),
            counters: Some(&self.counters),
            clean: None,
            bloom: None,
            context: None,
        }
    }

    #[cfg(test)]
    pub(crate) fn table(&self, name: &str) -> crate::lmdb::table::Table {
        let named = self.owned.shared().tables.named();
        named.into_iter().find(|(of, _)| *of == name).expect("a table").1
    }

    pub(crate) fn txn(&self) -> &heed::RwTxn<'static> {
        self.owned.txn()
    }

    pub(crate) fn txn_mut(&mut self) -> &mut Writing<'static> {
        self.owned.txn_mut()
    }

    pub(crate) fn shared(&self) -> &Arc<StoreState> {
        self.owned.shared()
    }

    pub(crate) fn counter(&self, kind: ElementKind, label: LabelId) -> Result<Counter> {
        self.reader().counter(kind, label)
    }

    pub(crate) fn counter_mut(&mut self, kind: ElementKind, label: LabelId) -> Result<&mut Counter> {
        let counter = self.counter(kind, label)?;
        Ok(self.counters.entry((kind, label)).or_insert(counter))
    }

    fn sides(&self) -> Sides {
        self.owned.shared().sides
    }

    /// The first place of a label that is neither sealed nor to be sealed.
    fn sealed_end(&self, kind: ElementKind, label: LabelId) -> Result<u64> {
        Ok(self.counter(kind, label)?.sealed.max(self.segments.end(kind, label)))
    }

    /// Whether a block is kept when it becomes empty, because segments have it or may soon have it.
    fn outlives_its_cells(&self, column: Column, block: u64) -> Result<bool> {
        let may_be_sealed = column != Column::dead(column.kind, column.label) && !column.is_fixed();
        Ok(may_be_sealed && block * (SLOTS as u64) < self.sealed_end(column.kind, column.label)?)
    }

    /// A label of the schema, to change anything but its properties.
    fn label_mut(&mut self, kind: ElementKind, label: LabelId) -> &mut LabelSchema {
        self.changed.insert(Record::Label(kind, label));
        &mut Arc::make_mut(&mut self.schema).labels_mut(kind)[usize::from(label.0)]
    }

    /// Changes what the schema knows of a property of a label. Adds the property if it is new.
    fn change_property(
        &mut self,
        kind: ElementKind,
        label: LabelId,
        key: KeyId,
        change: impl FnOnce(&mut PropertySchema),
    ) -> Result<()> {
        let known = self.schema.labels(kind)[usize::from(label.0)].property(key);
        let mut property = known.cloned().unwrap_or_else(|| PropertySchema::new(key));
        change(&mut property);
        if known == Some(&property) {
            return Ok(());
        }
        let is_new = known.is_none();
        self.changed.insert(Record::Property(kind, label, key));
        Arc::make_mut(&mut self.schema).labels_mut(kind)[usize::from(label.0)].properties.put(property);
        if is_new { self.come_to_be_wide(kind, label) } else { Ok(()) }
    }

    /// Makes the changes of a call whose arguments were checked. If they fail, the transaction is spoilt.
    fn change<T>(&mut self, change: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        let outcome = change(self);
        self.spoilt |= outcome.is_err();
        outcome.map_err(|error| fault::of_write(error, self.owned.shared().env.path()))
    }

    fn element_exists(&self, element: ElementId) -> Result<()> {
        if self.reader().contains(element)? { Ok(()) } else { Err(GraphError::no_such(element)) }
    }

    /// The label in which external ids of vertices of `label` are unique; `None` if they are unique in the whole graph.
    fn id_space(&self, label: LabelId) -> Option<LabelId> {
        (self.schema.id_space == IdSpace::Label).then_some(label)
    }
}

impl Through for HotTransaction {
    type View<'a> = Here<Reader<'a>>;

    fn through(&self) -> Result<Here<Reader<'_>>> {
        let context = self.limits.as_ref();
        context.map_or(Ok(()), ReadContext::begin)?;
        Ok(Here(Reader { context, ..self.reader() }))
    }

    fn schema(&self) -> &Arc<Schema> {
        &self.schema
    }
}

impl ShardRead for HotTransaction {
    fn next_local(&self, kind: ElementKind, label: LabelId) -> Result<u64> {
        Ok(self.counter(kind, label)?.next)
    }
}

impl ShardWrite for HotTransaction {
    fn can_commit(&self) -> Result<()> {
        self.must_be_sound()?;
        self.new_ones_have_all()
    }

    fn drop_key(&mut self, key: KeyId) -> Result<()> {
        self.schema.must_have_key(key)?;
        self.forget_key(key);
        Ok(())
    }

    fn list_shards(&mut self, of: PropertyId, entries: &[(u64, u16)]) -> Result<()> {
        let tables = self.owned.shared().tables;
        self.change(|t| catalog::list_shards(&tables, t.owned.txn_mut(), of, entries))
    }

    fn end_labels(&mut self) -> Result<()> {
        self.change(Self::end_all_labels)
    }
}

impl FollowerWrite for HotTransaction {
    fn put_log_position(&mut self, position: &[u8]) -> Result<()> {
        let tables = self.owned.shared().tables;
        self.change(|t| catalog::put_log_position(&tables, t.owned.txn_mut(), position))
    }
}

impl GraphWrite for HotTransaction {
    fn ensure_label(&mut self, kind: ElementKind, name: &str) -> Result<LabelId> {
        if let Some(label) = self.schema.label(kind, name) {
            return Ok(label);
        }
        conform::room_for_a_name("labels", name, self.schema.labels(kind).len())?;
        let label = LabelId(Arc::make_mut(&mut self.schema).labels_mut(kind).push(LabelSchema::new(name)));
        self.changed.insert(Record::Label(kind, label));
        Ok(label)
    }

    fn ensure_key(&mut self, name: &str) -> Result<KeyId> {
        if let Some(key) = self.schema.key(name) {
            return Ok(key);
        }
        conform::room_for_a_name("property keys", name, self.schema.keys.len())?;
        let key = KeyId(Arc::make_mut(&mut self.schema).keys.push(name.into()));
        self.changed.insert(Record::Key(key));
        Ok(key)
    }

    fn add_vertices(&mut self, label: LabelId, ids: &[Option<ExternalId>], out: &mut Vec<VertexId>) -> Result<()> {
        self.put_vertices(label, ids, out)
    }

    fn add_edges(&mut self, label: LabelId, edges: &[NewEdge], out: &mut Vec<EdgeId>) -> Result<()> {
        self.put_edges(label, edges, out)
    }

    fn set_cell(&mut self, element: ElementId, key: KeyId, cell: Cell) -> Result<()> {
        self.put_cell(element, key, cell)
    }

    fn set_properties(&mut self, elements: Elements<'_>, key: KeyId, values: &PropertyColumn) -> Result<()> {
        self.put_properties(elements, key, values)
    }

    fn set_further_labels(&mut self, vertex: VertexId, labels: &[LabelId]) -> Result<()> {
        self.put_further_labels(vertex, labels)
    }

    fn remove_edges(&mut self, edges: &[EdgeRef]) -> Result<()> {
        let ids: Vec<EdgeId> = edges.iter().map(|edge| edge.id).collect();
        self.delete_edges(ids)
    }

    fn remove_vertices(&mut self, vertices: &[VertexId]) -> Result<()> {
        self.delete_vertices(vertices)
    }

    fn declare_property(
        &mut self,
        kind: ElementKind,
        label: LabelId,
        key: KeyId,
        value_type: Option<ValueType>,
        cardinality: Cardinality,
    ) -> Result<()> {
        self.fix_property(kind, label, key, value_type, cardinality)
    }

    fn declare_key(&mut self, label: LabelId, key: KeyId) -> Result<()> {
        self.fix_key(label, key)
    }

    fn declare_time(&mut self, label: LabelId, key: KeyId) -> Result<()> {
        self.fix_time(label, key)
    }

    fn set_encoding(&mut self, kind: ElementKind, label: LabelId, key: KeyId, encoding: Encoding) -> Result<()> {
        self.schema.must_have_label(kind, label)?;
        self.schema.must_have_key(key)?;
        self.change_property(kind, label, key, |property| property.encoding = encoding)
    }

    fn create_index(&mut self, of: PropertyId) -> Result<bool> {
        self.make_index(of)
    }

    fn declare_unique(&mut self, of: PropertyId) -> Result<bool> {
        self.make_unique(of)
    }

    fn declare_routed(&mut self, of: PropertyId) -> Result<bool> {
        self.make_routed(of)
    }

    fn declare_required(&mut self, kind: ElementKind, label: LabelId, key: KeyId, required: bool) -> Result<()> {
        self.fix_required(kind, label, key, required)
    }

    fn drop_index(&mut self, of: PropertyId) -> Result<bool> {
        self.delete_index(of)
    }

    fn rename_label(&mut self, kind: ElementKind, label: LabelId, name: &str) -> Result<()> {
        self.name_label(kind, label, name)
    }

    fn drop_label(&mut self, kind: ElementKind, label: LabelId) -> Result<()> {
        self.delete_label(kind, label)
    }

    fn drop_property(&mut self, of: PropertyId) -> Result<()> {
        self.delete_property(of)
    }

    fn put_source(&mut self, name: &str, position: &[u8]) -> Result<()> {
        let tables = self.owned.shared().tables;
        self.change(|t| catalog::put_source(&tables, t.owned.txn_mut(), name, position))
    }

    fn held_bytes(&self) -> u64 {
        self.owned.large_bytes_kept()
    }

    fn write_out(&mut self) -> Result<()> {
        self.change(|t| t.owned.write_out())
    }

    fn as_view(&self) -> &dyn GraphView {
        self
    }
}
