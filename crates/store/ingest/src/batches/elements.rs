//! Gathers the single elements of GraphML, GraphSON and JSON Lines into batches of columns.

use std::hash::Hash;
use std::sync::Arc;

use arrow_schema::DataType;
use hashbrown::HashMap;
use mangrove_graph::value::exact_double;
use mangrove_graph::{ExternalId, Value};

use crate::batches::rows::{
    Body, Column, Event, IdBuilder, IdType, LabelSet, Labels, LabelsBuilder, PlaceKind, Places, RawCell, Rows, Scope, Sink,
    Values,
};
use crate::error::LoadError;

/// A vertex as it was read.
pub struct VertexElement {
    pub id: ExternalId,
    pub labels: LabelSet,
    pub properties: Vec<(Arc<str>, RawCell)>,
}

/// An edge as it was read.
pub struct EdgeElement {
    pub id: Option<ExternalId>,
    pub label: Arc<str>,
    pub source: ExternalId,
    pub target: ExternalId,
    pub source_scope: Scope,
    pub target_scope: Scope,
    pub properties: Vec<(Arc<str>, RawCell)>,
}

/// The elements that a pass over a file reads. Vertices come before edges.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Pass {
    Vertices,
    Edges,
}

const BATCH_ROWS: usize = 16_384;
/// Most cells in all columns of all batches, including absent ones.
const BATCH_CELLS: usize = 1 << 21;
/// Most bytes of text and bytes in cells.
const BATCH_BYTES: usize = 64 << 20;

/// Gathers elements into batches, and sends the batches when they are full. All rows of a batch have the same (primary) label and
/// the same scopes.
pub struct ElementBatches<'a, 's> {
    file: Arc<str>,
    inferred: bool,
    /// The property that is the id of vertices.
    key: Option<Arc<str>>,
    sink: &'a mut Sink<'s>,
    vertices: Batches<Arc<str>>,
    edges: Batches<(Arc<str>, Scope, Scope)>,
    cells: usize,
    bytes: usize,
    rows: usize,
}

/// Batches by what their rows have in common, in the order of their first rows.
struct Batches<K> {
    batches: Vec<(K, Batch)>,
    by_key: HashMap<K, usize>,
}

impl<K: Hash + Eq + Clone> Batches<K> {
    fn new() -> Self {
        Self { batches: Vec::new(), by_key: HashMap::new() }
    }

    fn of(&mut self, key: K) -> &mut Batch {
        let at = *self.by_key.entry(key.clone()).or_insert_with(|| {
            self.batches.push((key, Batch::new()));
            self.batches.len() - 1
        });
        &mut self.batches[at].1
    }

    fn take(&mut self) -> Vec<(K, Batch)> {
        self.by_key.clear();
        std::mem::take(&mut self.batches)
    }
}

struct Batch {
    ids: IdBuilder,
    edge_ids: Vec<Option<ExternalId>>,
    source: IdBuilder,
    target: IdBuilder,
    columns: Vec<(Arc<str>, Vec<RawCell>)>,
    by_name: HashMap<Arc<str>, usize>,
    /// The distinct label sets, and the set of each row.
    labels: LabelsBuilder,
    places: Vec<(u64, u64)>,
}

impl Batch {
    fn new() -> Self {
        let ids = || IdBuilder::new(IdType::Auto);
        Self {
            ids: ids(),
            edge_ids: Vec::new(),
            source: ids(),
            target: ids(),
            columns: Vec::new(),
            by_name: HashMap::new(),
            labels: LabelsBuilder::default(),
            places: Vec::new(),
        }
    }

    /// Adds the properties of a row. Returns by how many cells the batch has grown.
    fn finish_row(&mut self, properties: Vec<(Arc<str>, RawCell)>, place: (u64, u64)) -> usize {
        let row = self.places.len();
        let before = row * self.columns.len();
        for (name, cell) in properties {
            let at = *self.by_name.entry(name.clone()).or_insert_with(|| {
                self.columns.push((name, Vec::new()));
                self.columns.len() - 1
            });
            let cells = &mut self.columns[at].1;
            cells.resize(row, RawCell::Absent);
            cells.push(cell);
        }
        self.places.push(place);
        self.places.len() * self.columns.len() - before
    }

    fn into_rows(self, labels: Labels, body: Body, file: &Arc<str>, inferred: bool) -> Rows {
        let count = self.places.len();
        let columns = self.columns.into_iter().map(|(name, mut cells)| {
            cells.resize(count, RawCell::Absent);
            if inferred {
                unify_numbers(&mut cells);
            }
            let values = Values::of_cells(cells);
            let is_number = |t: &DataType| matches!(t, DataType::Int64 | DataType::Float64);
            let inferred = inferred && matches!(&values, Values::Typed(array) if is_number(array.data_type()));
            Column { name, values, inferred }
        });
        Rows { count, labels, body, columns: columns.collect(), places: Places::new(file, PlaceKind::Lines(self.places)) }
    }
}

/// Turns integers among doubles into doubles, because JSON writers omit the `.0`. An integer that no double equals stays as it is.
fn unify_numbers(cells: &mut [RawCell]) {
    if !cells.iter().any(|cell| matches!(cell, RawCell::One(Value::Float64(_)))) {
        return;
    }
    for cell in cells {
        if let RawCell::One(Value::Int64(int)) = cell
            && let Some(double) = exact_double(*int)
        {
            *cell = RawCell::One(Value::Float64(double));
        }
    }
}

impl<'a, 's> ElementBatches<'a, 's> {
    /// `inferred`: values have no types of their own, so columns of numbers may have to be converted to one type.
    pub fn new(file: &Arc<str>, inferred: bool, sink: &'a mut Sink<'s>) -> Self {
        let (vertices, edges) = (Batches::new(), Batches::new());
        Self { file: file.clone(), inferred, key: None, sink, vertices, edges, cells: 0, bytes: 0, rows: 0 }
    }

    /// Makes `key` the property that is the id of the vertices.
    pub fn keyed(self, key: Option<Arc<str>>) -> Self {
        Self { key, ..self }
    }

    pub fn send(&mut self, event: Event) -> Result<(), LoadError> {
        (self.sink)(event)
    }

    pub fn vertex(&mut self, vertex: VertexElement, place: (u64, u64)) -> Result<(), LoadError> {
        let bytes = vertex.properties.iter().map(|(_, cell)| cell.bytes()).sum();
        let batch = self.vertices.of(vertex.labels.primary.clone());
        batch.labels.add(&vertex.labels);
        batch.ids.push_id(vertex.id);
        let cells = batch.finish_row(vertex.properties, place);
        self.added(cells, bytes)
    }

    pub fn edge(&mut self, edge: EdgeElement, place: (u64, u64)) -> Result<(), LoadError> {
        let bytes = edge.properties.iter().map(|(_, cell)| cell.bytes()).sum();
        let batch = self.edges.of((edge.label, edge.source_scope, edge.target_scope));
        batch.source.push_id(edge.source);
        batch.target.push_id(edge.target);
        batch.edge_ids.push(edge.id);
        let cells = batch.finish_row(edge.properties, place);
        self.added(cells, bytes)
    }

    fn added(&mut self, cells: usize, bytes: usize) -> Result<(), LoadError> {
        self.rows += 1;
        self.cells += cells;
        self.bytes += bytes;
        let is_full = self.rows >= BATCH_ROWS || self.cells >= BATCH_CELLS || self.bytes >= BATCH_BYTES;
        if is_full { self.flush() } else { Ok(()) }
    }

    /// Sends all batches.
    pub fn flush(&mut self) -> Result<(), LoadError> {
        (self.rows, self.cells, self.bytes) = (0, 0, 0);
        for (_, mut batch) in self.vertices.take() {
            let ids = batch.ids.finish();
            let labels = std::mem::take(&mut batch.labels).finish();
            let rows = batch.into_rows(
                labels,
                Body::Vertices { ids, space: None, key: self.key.clone() },
                &self.file,
                self.inferred,
            );
            (self.sink)(Event::Rows(Box::new(rows)))?;
        }
        for ((label, source_scope, target_scope), mut batch) in self.edges.take() {
            let (source, target) = (batch.source.finish(), batch.target.finish());
            let ids = std::mem::take(&mut batch.edge_ids);
            let ids = ids.iter().any(Option::is_some).then_some(ids);
            let body = Body::Edges { ids, source, target, source_scope, target_scope };
            let rows = batch.into_rows(Labels::all(LabelSet::one(&label)), body, &self.file, self.inferred);
            (self.sink)(Event::Rows(Box::new(rows)))?;
        }
        Ok(())
    }
}
