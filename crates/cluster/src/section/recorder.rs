//! A store under change that notes every change that was made.

use std::sync::Arc;

use mangrove_graph::{
    Cardinality, Cell, EdgeId, EdgeRef, ElementId, ElementKind, Elements, Encoding, ExternalId, GraphView, GraphWrite,
    KeyId, LabelId, NewEdge, PropertyColumn, PropertyId, Result, Schema, ShardRead, ShardWrite, Through, ValueType,
    VertexId,
};

use super::operation::Operation;
use crate::log::VERSION_FIRST;

/// A store under change, and what was done to it.
pub struct Recorder<T> {
    store: T,
    section: Vec<u8>,
    /// The first version of records that can have all that was ever noted.
    version: u8,
}

impl<T> Recorder<T> {
    pub fn new(store: T) -> Self {
        Self { store, section: Vec::new(), version: VERSION_FIRST }
    }

    /// The first version of records that can have what was noted.
    pub fn version(&self) -> u8 {
        self.version
    }

    /// The store, and the section.
    pub fn into_parts(self) -> (T, Vec<u8>) {
        (self.store, self.section)
    }

    /// The store, to change it without a note.
    pub fn unrecorded(&mut self) -> &mut T {
        &mut self.store
    }

    /// The bytes of what was noted since.
    pub fn section_bytes(&self) -> usize {
        self.section.len()
    }

    /// What was noted since the last call.
    pub fn take_section(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.section)
    }

    fn note(&mut self, operation: Operation) -> Result<()> {
        self.version = self.version.max(operation.version());
        operation.write(&mut self.section)
    }
}

impl<T: GraphView> Through for Recorder<T> {
    type View<'a>
        = &'a T
    where
        T: 'a;

    fn through(&self) -> Result<&T> {
        Ok(&self.store)
    }

    fn schema(&self) -> &Arc<Schema> {
        self.store.schema()
    }
}

impl<T: ShardWrite> ShardRead for Recorder<T> {
    fn next_local(&self, kind: ElementKind, label: LabelId) -> Result<u64> {
        self.store.next_local(kind, label)
    }
}

impl<T: ShardWrite> ShardWrite for Recorder<T> {
    fn can_commit(&self) -> Result<()> {
        self.store.can_commit()
    }

    fn drop_key(&mut self, key: KeyId) -> Result<()> {
        self.store.drop_key(key)?;
        self.note(Operation::DropKey(key))
    }

    fn list_shards(&mut self, of: PropertyId, entries: &[(u64, u16)]) -> Result<()> {
        self.store.list_shards(of, entries)?;
        self.note(Operation::ListShards(of, entries.to_vec()))
    }

    fn end_labels(&mut self) -> Result<()> {
        self.store.end_labels()?;
        self.note(Operation::EndLabels)
    }
}

impl<T: ShardWrite> GraphWrite for Recorder<T> {
    fn ensure_label(&mut self, kind: ElementKind, name: &str) -> Result<LabelId> {
        if let Some(label) = self.store.schema().label(kind, name) {
            return Ok(label);
        }
        let label = self.store.ensure_label(kind, name)?;
        self.note(Operation::EnsureLabel(kind, name.to_owned())).map(|()| label)
    }

    fn ensure_key(&mut self, name: &str) -> Result<KeyId> {
        if let Some(key) = self.store.schema().key(name) {
            return Ok(key);
        }
        let key = self.store.ensure_key(name)?;
        self.note(Operation::EnsureKey(name.to_owned())).map(|()| key)
    }

    fn add_vertices(&mut self, label: LabelId, ids: &[Option<ExternalId>], out: &mut Vec<VertexId>) -> Result<()> {
        let first = self.store.next_local(ElementKind::Vertex, label)?;
        self.store.add_vertices(label, ids, out)?;
        self.note(Operation::AddVertices { label, first, ids: ids.to_vec() })
    }

    fn add_edges(&mut self, label: LabelId, edges: &[NewEdge], out: &mut Vec<EdgeId>) -> Result<()> {
        let first = self.store.next_local(ElementKind::Edge, label)?;
        self.store.add_edges(label, edges, out)?;
        self.note(Operation::add_edges(label, first, edges))
    }

    fn set_cell(&mut self, element: ElementId, key: KeyId, cell: Cell) -> Result<()> {
        self.store.set_cell(element, key, cell.clone())?;
        self.note(Operation::SetCell(element, key, cell))
    }

    fn set_properties(&mut self, elements: Elements<'_>, key: KeyId, values: &PropertyColumn) -> Result<()> {
        self.store.set_properties(elements, key, values)?;
        let rows = (0..elements.len()).filter_map(|row| match values.cell(row) {
            Cell::One(value) => Some((elements.get(row).raw(), value)),
            _ => None,
        });
        let (ids, values) = rows.unzip();
        self.note(Operation::SetProperties(elements.kind(), key, ids, values))
    }

    fn set_further_labels(&mut self, vertex: VertexId, labels: &[LabelId]) -> Result<()> {
        self.store.set_further_labels(vertex, labels)?;
        self.note(Operation::SetFurtherLabels(vertex, labels.to_vec()))
    }

    fn remove_edges(&mut self, edges: &[EdgeRef]) -> Result<()> {
        self.store.remove_edges(edges)?;
        self.note(Operation::RemoveEdges(edges.to_vec()))
    }

    fn remove_vertices(&mut self, vertices: &[VertexId]) -> Result<()> {
        self.store.remove_vertices(vertices)?;
        self.note(Operation::RemoveVertices(vertices.to_vec()))
    }

    fn declare_property(
        &mut self,
        kind: ElementKind,
        label: LabelId,
        key: KeyId,
        value_type: Option<ValueType>,
        cardinality: Cardinality,
    ) -> Result<()> {
        self.store.declare_property(kind, label, key, value_type, cardinality)?;
        self.note(Operation::DeclareProperty(PropertyId { kind, label, key }, value_type, cardinality))
    }

    fn declare_key(&mut self, label: LabelId, key: KeyId) -> Result<()> {
        self.store.declare_key(label, key)?;
        self.note(Operation::DeclareKey(label, key))
    }

    fn declare_time(&mut self, label: LabelId, key: KeyId) -> Result<()> {
        self.store.declare_time(label, key)?;
        self.note(Operation::DeclareTime(label, key))
    }

    fn set_encoding(&mut self, kind: ElementKind, label: LabelId, key: KeyId, encoding: Encoding) -> Result<()> {
        self.store.set_encoding(kind, label, key, encoding)?;
        self.note(Operation::SetEncoding(PropertyId { kind, label, key }, encoding))
    }

    fn create_index(&mut self, of: PropertyId) -> Result<bool> {
        let made = self.store.create_index(of)?;
        self.note(Operation::CreateIndex(of)).map(|()| made)
    }

    fn declare_unique(&mut self, of: PropertyId) -> Result<bool> {
        let made = self.store.declare_unique(of)?;
        self.note(Operation::DeclareUnique(of)).map(|()| made)
    }

    fn declare_routed(&mut self, of: PropertyId) -> Result<bool> {
        let made = self.store.declare_routed(of)?;
        self.note(Operation::DeclareRouted(of)).map(|()| made)
    }

    fn declare_required(&mut self, kind: ElementKind, label: LabelId, key: KeyId, required: bool) -> Result<()> {
        self.store.declare_required(kind, label, key, required)?;
        self.note(Operation::DeclareRequired(PropertyId { kind, label, key }, required))
    }

    fn drop_index(&mut self, of: PropertyId) -> Result<bool> {
        let dropped = self.store.drop_index(of)?;
        self.note(Operation::DropIndex(of)).map(|()| dropped)
    }

    fn rename_label(&mut self, kind: ElementKind, label: LabelId, name: &str) -> Result<()> {
        self.store.rename_label(kind, label, name)?;
        self.note(Operation::RenameLabel(kind, label, name.to_owned()))
    }

    fn drop_label(&mut self, kind: ElementKind, label: LabelId) -> Result<()> {
        self.store.drop_label(kind, label)?;
        self.note(Operation::DropLabel(kind, label))
    }

    fn drop_property(&mut self, of: PropertyId) -> Result<()> {
        self.store.drop_property(of)?;
        self.note(Operation::DropProperty(of))
    }

    fn put_source(&mut self, name: &str, position: &[u8]) -> Result<()> {
        self.store.put_source(name, position)?;
        self.note(Operation::PutSource(name.to_owned(), position.to_vec()))
    }

    fn held_bytes(&self) -> u64 {
        self.store.held_bytes() + self.section.len() as u64
    }

    fn write_out(&mut self) -> Result<()> {
        self.store.write_out()
    }

    fn as_view(&self) -> &dyn GraphView {
        self
    }
}
