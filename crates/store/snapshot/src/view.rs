//! Snapshots and transactions over the tiers. Today there is one tier.

use std::sync::Arc;

use mangrove_graph::{
    Adjacency, Cardinality, Cell, EdgeId, EdgeRef, ElementId, ElementKind, Elements, Encoding, ExternalId, GraphView,
    GraphWrite, Hop, KeyId, LabelId, NewEdge, Predicate, PropertyColumn, PropertyId, Result, Scan, ScanCursor, Schema,
    Statistics, ValueType, VertexId,
};
use mangrove_hot::{Bulk, HotSnapshot, HotTransaction};

/// A consistent graph that never changes. It can move to other threads.
///
/// While it lives, the database cannot reuse the space of data deleted or replaced since. So do not hold one for long.
pub struct Snapshot {
    hot: HotSnapshot,
}

impl Snapshot {
    pub(crate) fn new(hot: HotSnapshot) -> Self {
        Self { hot }
    }

    /// The schema, which may outlive the snapshot.
    pub fn shared_schema(&self) -> Arc<Schema> {
        self.hot.shared_schema()
    }

    /// How many parts of the database hold data of a vertex. The parts are the segments, and the tables with newer changes.
    pub fn fragments(&self, vertex: VertexId) -> Result<usize> {
        self.hot.fragments(vertex)
    }
}

/// A graph under change. Dropping it undoes everything. It is bound to its thread.
pub struct Transaction {
    hot: HotTransaction,
}

impl Transaction {
    pub(crate) fn new(hot: HotTransaction) -> Self {
        Self { hot }
    }

    /// The schema as it is now.
    pub fn shared_schema(&self) -> Arc<Schema> {
        self.hot.shared_schema()
    }

    /// Commits the changes; see [`HotTransaction::commit`].
    pub fn commit(self) -> Result<()> {
        self.hot.commit()
    }

    /// Whether the database is empty and this transaction has changed nothing.
    pub fn is_unused(&self) -> Result<bool> {
        self.hot.is_unused()
    }

    /// Continues as a bulk load; see [`HotTransaction::into_bulk`].
    pub fn into_bulk(self) -> Result<Bulk> {
        self.hot.into_bulk()
    }

    /// Undoes everything, as dropping does.
    pub fn abort(self) {
        self.hot.abort();
    }
}

/// Implements methods by calling those of the hot tier.
macro_rules! through_hot {
    (read: $($name:ident($($argument:ident: $t:ty),*) -> $result:ty;)*) => {
        $(fn $name(&self, $($argument: $t),*) -> $result {
            self.hot.$name($($argument),*)
        })*
    };
    (write: $($name:ident($($argument:ident: $t:ty),*) -> $result:ty;)*) => {
        $(fn $name(&mut self, $($argument: $t),*) -> $result {
            self.hot.$name($($argument),*)
        })*
    };
}

macro_rules! view_through_hot {
    ($type:ty $(, $fork:item)?) => {
        impl GraphView for $type {
            $($fork)?

            through_hot! { read:
                schema() -> &Schema;
                statistics() -> Result<Statistics>;
                scan_vertices(scan: &Scan, cursor: &mut ScanCursor, limit: usize, out: &mut Vec<VertexId>) -> Result<()>;
                scan_edges(scan: &Scan, cursor: &mut ScanCursor, limit: usize, out: &mut Vec<EdgeRef>) -> Result<()>;
                count(kind: ElementKind, scan: &Scan, cursor: &mut ScanCursor) -> Result<u64>;
                find_vertices(label: Option<LabelId>, ids: &[ExternalId], out: &mut Vec<Option<VertexId>>) -> Result<()>;
                find_edges(ids: &[ExternalId], out: &mut Vec<Option<EdgeRef>>) -> Result<()>;
                external_id(vertex: VertexId) -> Result<ExternalId>;
                edge_external_id(edge: EdgeId) -> Result<Option<ExternalId>>;
                contains(element: ElementId) -> Result<bool>;
                further_labels(vertex: VertexId) -> Result<Vec<LabelId>>;
                neighbors(from: &[VertexId], hop: &Hop, out: &mut Adjacency) -> Result<()>;
                degrees(from: &[VertexId], hop: &Hop, out: &mut Vec<u64>) -> Result<()>;
                cell(element: ElementId, key: KeyId) -> Result<Cell>;
                keys(element: ElementId, out: &mut Vec<KeyId>) -> Result<()>;
                cells(element: ElementId, keys: &[KeyId], out: &mut Vec<Cell>) -> Result<()>;
                properties(elements: Elements<'_>, key: KeyId) -> Result<PropertyColumn>;
                have(elements: Elements<'_>, key: KeyId) -> Result<Vec<bool>>;
                search_vertices(label: LabelId, key: KeyId, predicate: &Predicate) -> Result<Option<Vec<VertexId>>>;
                search_edges(label: LabelId, key: KeyId, predicate: &Predicate) -> Result<Option<Vec<EdgeRef>>>;
                is_searchable(of: PropertyId, predicate: &Predicate) -> bool;
                candidates(of: PropertyId, predicate: &Predicate) -> Result<u64>;
            }
        }
    };
}

view_through_hot!(
    Snapshot,
    fn fork(&self) -> Result<Option<Box<dyn GraphView + Send>>> {
        Ok(self.hot.fork()?.map(|hot| Box::new(Snapshot { hot }) as Box<dyn GraphView + Send>))
    }
);
view_through_hot!(Transaction);

impl GraphWrite for Transaction {
    through_hot! { write:
        ensure_label(kind: ElementKind, name: &str) -> Result<LabelId>;
        ensure_key(name: &str) -> Result<KeyId>;
        add_vertices(label: LabelId, ids: &[Option<ExternalId>], out: &mut Vec<VertexId>) -> Result<()>;
        add_edges(label: LabelId, edges: &[NewEdge], out: &mut Vec<EdgeId>) -> Result<()>;
        set_cell(element: ElementId, key: KeyId, cell: Cell) -> Result<()>;
        set_properties(elements: Elements<'_>, key: KeyId, values: &PropertyColumn) -> Result<()>;
        set_further_labels(vertex: VertexId, labels: &[LabelId]) -> Result<()>;
        remove_edges(edges: &[EdgeRef]) -> Result<()>;
        remove_vertices(vertices: &[VertexId]) -> Result<()>;
        declare_property(
            kind: ElementKind, label: LabelId, key: KeyId, value_type: Option<ValueType>, cardinality: Cardinality
        ) -> Result<()>;
        declare_key(label: LabelId, key: KeyId) -> Result<()>;
        declare_time(label: LabelId, key: KeyId) -> Result<()>;
        set_encoding(kind: ElementKind, label: LabelId, key: KeyId, encoding: Encoding) -> Result<()>;
        create_index(of: PropertyId) -> Result<bool>;
        declare_unique(of: PropertyId) -> Result<bool>;
        declare_required(kind: ElementKind, label: LabelId, key: KeyId, required: bool) -> Result<()>;
        drop_index(of: PropertyId) -> Result<bool>;
        rename_label(kind: ElementKind, label: LabelId, name: &str) -> Result<()>;
        drop_label(kind: ElementKind, label: LabelId) -> Result<()>;
        drop_property(of: PropertyId) -> Result<()>;
    }

    fn held_bytes(&self) -> u64 {
        self.hot.held_bytes()
    }

    fn as_view(&self) -> &dyn GraphView {
        self
    }
}
