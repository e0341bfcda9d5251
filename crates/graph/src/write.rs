//! The trait through which queries and loads change a graph.

use crate::cell::{Cell, PropertyColumn};
use crate::error::Result;
use crate::id::{EdgeId, EdgeRef, ElementId, ElementKind, ExternalId, KeyId, LabelId, VertexId};
use crate::schema::{Cardinality, Encoding, PropertyId};
use crate::value::{Value, ValueType};
use crate::view::{Elements, GraphView};

/// An edge to add.
#[derive(Clone, Debug)]
pub struct NewEdge {
    pub source: VertexId,
    pub target: VertexId,
    /// An id that the user supplies, unique among all edges.
    pub id: Option<ExternalId>,
    /// An integer, a date or a date-time. It orders the edge among those of its vertex and label, and becomes its property under
    /// the label's time key. Only edge labels declared with a time key take one.
    pub time: Option<Value>,
}

/// A graph under change. Reads see the changes made so far. The changes last only if their transaction commits.
pub trait GraphWrite: GraphView {
    /// The label of that name; adds it if it is new. At most 65,536 of a kind.
    fn ensure_label(&mut self, kind: ElementKind, name: &str) -> Result<LabelId>;

    /// The key of that name; adds it if it is new. At most 65,536.
    fn ensure_key(&mut self, name: &str) -> Result<KeyId>;

    /// Adds vertices of one label. Appends their ids, with consecutive locals in the order given.
    ///
    /// `None` as an id stands for the [generated](VertexId::generated) one. If a user gave that id to another vertex, `.1`, `.2` …
    /// is appended. On a duplicate id, adds nothing.
    fn add_vertices(&mut self, label: LabelId, ids: &[Option<ExternalId>], out: &mut Vec<VertexId>) -> Result<()>;

    /// Adds edges of one label. Appends their ids in the order given.
    fn add_edges(&mut self, label: LabelId, edges: &[NewEdge], out: &mut Vec<EdgeId>) -> Result<()>;

    /// Replaces the cell of an element under a key; edges take no [`Cell::Many`]. Updates schema and indexes too.
    ///
    /// Fails if it would change the time of an edge, because edges are sorted by time. Fails if it would change the value under a
    /// vertex's key, because that value is the vertex's id.
    fn set_cell(&mut self, element: ElementId, key: KeyId, cell: Cell) -> Result<()>;

    /// Sets one plain value under `key` for each element of a batch of one kind. Arrow nulls and absent cells leave their element
    /// unchanged.
    fn set_properties(&mut self, elements: Elements<'_>, key: KeyId, values: &PropertyColumn) -> Result<()>;

    fn set_further_labels(&mut self, vertex: VertexId, labels: &[LabelId]) -> Result<()>;

    /// Removes edges and their properties. Skips edges that are already removed.
    fn remove_edges(&mut self, edges: &[EdgeRef]) -> Result<()>;

    /// Removes vertices, their properties and all their edges. Skips vertices that are already removed.
    fn remove_vertices(&mut self, vertices: &[VertexId]) -> Result<()>;

    /// Fixes the type and cardinality of a label's key. Fails if stored values do not conform.
    fn declare_property(
        &mut self,
        kind: ElementKind,
        label: LabelId,
        key: KeyId,
        value_type: Option<ValueType>,
        cardinality: Cardinality,
    ) -> Result<()>;

    /// Makes `key` the key of vertices of `label`: the value under it is the vertex's external id. Vertices without a value under
    /// it now have their id there. O(vertices of the label).
    ///
    /// Fails if a vertex has another value there, or if the label has another key.
    fn declare_key(&mut self, label: LabelId, key: KeyId) -> Result<()>;

    /// Makes `key` the time of edges of `label`. Fails if the label has edges.
    fn declare_time(&mut self, label: LabelId, key: KeyId) -> Result<()>;

    /// Sets how the compressed form stores the values under `key`. Takes effect the next time elements of `label` are compressed.
    fn set_encoding(&mut self, kind: ElementKind, label: LabelId, key: KeyId, encoding: Encoding) -> Result<()>;

    /// Builds an index of a property and maintains it from now on. Returns false if the index exists.
    fn create_index(&mut self, of: PropertyId) -> Result<bool>;

    /// Makes the index of a property unique: no two elements share a value, except null. Builds the index if there is none. Returns
    /// false if the index was already unique.
    ///
    /// Fails if two elements share a value. From then on, a write that would make two elements share one fails.
    fn declare_unique(&mut self, of: PropertyId) -> Result<bool>;

    /// Makes the index of a property routed: in a graph of several shards, a directory says which of them may have a value. Then a
    /// search for a value asks only these. Builds the index if there is none. Returns false if the index was already routed.
    /// O(elements of the label).
    ///
    /// In a graph that is one store, it says what the index would be in shards, and changes nothing else.
    fn declare_routed(&mut self, of: PropertyId) -> Result<bool>;

    /// Declares whether every element of `label` must have a value under `key`. Fails if an element has none.
    ///
    /// From then on, removing the value fails, and so does the commit of an element without it.
    fn declare_required(&mut self, kind: ElementKind, label: LabelId, key: KeyId, required: bool) -> Result<()>;

    fn drop_index(&mut self, of: PropertyId) -> Result<bool>;

    /// Renames a label. No label of its kind may have the new name. O(1).
    fn rename_label(&mut self, kind: ElementKind, label: LabelId, name: &str) -> Result<()>;

    /// Drops a label that no element has, with all its declarations. Another label may take its name later. O(vertices) for a label
    /// that vertices may carry beside others.
    fn drop_label(&mut self, kind: ElementKind, label: LabelId) -> Result<()>;

    /// Drops the declarations, the known types and the index of a property that no element has. If no label has the key any more,
    /// drops its name too. O(elements of the label).
    fn drop_property(&mut self, of: PropertyId) -> Result<()>;

    /// Notes how far the graph has read a source, in the words of who reads it. The note lasts exactly if the changes do, and replaces
    /// the one before it.
    fn put_source(&mut self, name: &str, position: &[u8]) -> Result<()>;

    /// Roughly how many bytes of memory the changes hold until the commit. Counts only memory that grows with the changes.
    fn held_bytes(&self) -> u64 {
        0
    }

    /// Frees that memory. Only for graphs that never undo single changes; others keep holding it.
    fn write_out(&mut self) -> Result<()> {
        Ok(())
    }

    /// The writable graph as a readable one.
    fn as_view(&self) -> &dyn GraphView;
}

/// The store of a shard.
pub trait ShardRead: GraphView {
    /// The local id that the next element of a label gets.
    fn next_local(&self, kind: ElementKind, label: LabelId) -> Result<u64>;
}

/// The store of a shard under change.
pub trait ShardWrite: GraphWrite + ShardRead {
    /// Fails if a commit would: if a new element lacks a property that its label requires.
    fn can_commit(&self) -> Result<()>;

    /// Adds entries to the part of the directory that is in this shard: the hash of a value of a property, and a shard that may have
    /// it. They stay until the index of the property is dropped.
    fn list_shards(&mut self, of: PropertyId, entries: &[(u64, u16)]) -> Result<()>;

    /// Drops the name of a key that no label of the graph has. A shard by itself drops no key, because others may have it.
    fn drop_key(&mut self, key: KeyId) -> Result<()>;

    /// Lets the store compress what it has now. The next element of each label begins a new block of ids, so all copies of a shard must
    /// do this at the same place of their log.
    fn end_labels(&mut self) -> Result<()>;
}

/// The store of a shard that follows a log, under change.
pub trait FollowerWrite: ShardWrite {
    /// Notes how far the store has applied the log that it follows. The note lasts exactly if the changes do.
    fn put_log_position(&mut self, position: &[u8]) -> Result<()>;
}
