//! Copies a graph into another one, with its vertices in any order.
//!
//! ```text
//!   vertices, label by label: ids · properties · further labels      in the order of a numbering
//!   edges, label by label:    ends · ids · times · properties        in the order of their sources
//!   declarations that need the data: required, indexes, unique
//! ```
//! Ids that the source made for its edges are made anew.

use std::collections::BTreeMap;

use hashbrown::HashMap;
use mangrove_graph::{
    Cardinality, Cell, EdgeId, EdgeRef, ElementId, ElementKind, Elements, Encoding, ExternalId, GraphError, GraphView,
    GraphWrite, IdSpace, IndexSchema, KeyId, LabelId, LabelSchema, NewEdge, Numbering, PropertyColumn, PropertyId, Scan,
    ScanCursor, Value, VertexId,
};

use crate::by_source::by_source;
use crate::error::LoadError;
use crate::progress::{Phase, Progress, Status};
use crate::terms::report::LoadReport;
use crate::writing::write::WRITTEN_OUT_FROM;

/// Elements that are copied at a time, and about as many edges.
const PAGE: u64 = 8192;
/// Properties are copied of so many elements first. Of how many then, their size tells: twice as many at most.
const ROWS_FIRST: usize = 128;
const BYTES_AT_A_TIME: usize = 64 << 20;

/// How a graph is copied.
pub struct CopyTerms<'a> {
    /// All vertices, in the order in which they are written.
    pub order: &'a Numbering,
    /// Whether edges come in the order of their sources; otherwise they come as the source scans them.
    pub sorts_edges: bool,
    /// Whether vertices of a label have ids worth keeping; otherwise they are generated anew.
    pub has_ids: &'a dyn Fn(LabelId) -> bool,
    /// The key that orders the edges of a label, if the schema does not say it.
    pub time: &'a dyn Fn(LabelId) -> Option<KeyId>,
}

/// Copies all vertices and edges with their ids, labels, properties and declarations. The caller commits, or rolls back after an error.
///
/// O(elements). Memory holds a page of elements, about 64 MB of properties or those of 128 elements, and the edges of one vertex.
pub fn copy(
    view: &dyn GraphView,
    terms: &CopyTerms<'_>,
    graph: &mut dyn GraphWrite,
    progress: &mut dyn Progress,
) -> Result<LoadReport, LoadError> {
    let schema = view.schema().clone();
    if schema.id_space == IdSpace::Label && graph.schema().id_space == IdSpace::Graph {
        let hint = "create the database with id_space=\"label\" (--id-space label)";
        return Err(LoadError::options(format!("ids of this graph are unique only within a label: {hint}")));
    }
    let mut copy = Copy { view, terms, graph, progress, first: HashMap::new(), report: LoadReport::default(), rows: 0 };
    // Labels keep their order, whatever vertices have beside another label.
    for kind in ElementKind::ALL {
        schema.known_labels(kind).try_for_each(|(_, of)| copy.graph.ensure_label(kind, &of.name).map(|_| ()))?;
    }
    for (label, of) in schema.known_labels(ElementKind::Vertex) {
        copy.vertices(label, of)?;
    }
    for (label, of) in schema.known_labels(ElementKind::Edge) {
        copy.edges(label, of)?;
    }
    for index in &schema.indexes {
        copy.index(*index)?;
    }
    // Who follows a source goes on in the copy where it was here.
    for (name, position) in view.sources()? {
        copy.graph.put_source(&name, &position)?;
    }
    Ok(copy.report)
}

struct Copy<'a> {
    view: &'a dyn GraphView,
    terms: &'a CopyTerms<'a>,
    graph: &'a mut dyn GraphWrite,
    progress: &'a mut dyn Progress,
    /// The first new vertex of each label of the source; the others follow it in order.
    first: HashMap<LabelId, VertexId>,
    report: LoadReport,
    rows: u64,
}

/// A key of the source, and its key in the copy.
type Key = (KeyId, KeyId);

impl Copy<'_> {
    fn vertices(&mut self, label: LabelId, of: &LabelSchema) -> Result<(), LoadError> {
        let to = self.graph.ensure_label(ElementKind::Vertex, &of.name)?;
        if let Some(key) = of.key {
            let key = self.key(key)?;
            self.graph.declare_key(to, key)?;
        }
        let keys = self.keys(ElementKind::Vertex, of, to)?;
        let mut further: BTreeMap<LabelId, LabelId> = BTreeMap::new();
        for other in &of.further {
            let name = self.view.schema().label_name(ElementKind::Vertex, *other);
            further.insert(*other, self.graph.ensure_label(ElementKind::Vertex, &name)?);
        }
        if let Some(order) = self.terms.order.of(label) {
            for start in (0..order.count()).step_by(PAGE as usize) {
                let page = order.slice(start..order.count().min(start + PAGE));
                self.page_of_vertices(label, to, &page, &keys, &further)?;
            }
            self.report.vertices.insert(of.name.clone(), order.count());
        }
        self.requirements(ElementKind::Vertex, of, to)
    }

    fn page_of_vertices(
        &mut self,
        label: LabelId,
        to: LabelId,
        page: &[VertexId],
        keys: &[Key],
        further: &BTreeMap<LabelId, LabelId>,
    ) -> Result<(), LoadError> {
        let ids = match (self.terms.has_ids)(label) {
            true => external(&self.view.external_ids(Elements::Vertices(page))?),
            false => vec![None; page.len()],
        };
        let mut made = Vec::with_capacity(page.len());
        self.graph.add_vertices(to, &ids, &mut made)?;
        if let Some(first) = made.first() {
            self.first.entry(label).or_insert(*first);
        }
        self.properties(Elements::Vertices(page), Elements::Vertices(&made), keys)?;
        if !further.is_empty() {
            let mut labels = Vec::with_capacity(page.len());
            self.view.all_further_labels(page, &mut labels)?;
            for (vertex, labels) in made.iter().zip(labels).filter(|(_, labels)| !labels.is_empty()) {
                let labels: Vec<LabelId> = labels.iter().filter_map(|label| further.get(label).copied()).collect();
                self.graph.set_further_labels(*vertex, &labels)?;
            }
        }
        self.tell(Phase::Vertices, page.len())
    }

    fn edges(&mut self, label: LabelId, of: &LabelSchema) -> Result<(), LoadError> {
        let to = self.graph.ensure_label(ElementKind::Edge, &of.name)?;
        let mut keys = self.keys(ElementKind::Edge, of, to)?;
        // The time of an edge is given when it is made.
        let time = of.time.or_else(|| (self.terms.time)(label));
        keys.retain(|(from, _)| Some(*from) != time);
        let time = time.map(|time| Ok::<_, LoadError>((time, self.key(time)?))).transpose()?;
        if let Some((_, key)) = time {
            self.graph.declare_time(to, key)?;
        }
        let edges = EdgesOf { label, to, time, keys };
        let before = self.rows;
        match self.terms.sorts_edges {
            true => by_source(self.view, label, self.terms.order, &mut |page| self.page_of_edges(&edges, page))?,
            false => self.edges_as_scanned(&edges)?,
        }
        if self.rows > before {
            self.report.edges.insert(of.name.clone(), self.rows - before);
        }
        self.requirements(ElementKind::Edge, of, to)
    }

    fn edges_as_scanned(&mut self, of: &EdgesOf) -> Result<(), LoadError> {
        let (scan, mut cursor) = (Scan::of(of.label), ScanCursor::default());
        while !cursor.done {
            let mut page: Vec<EdgeRef> = Vec::new();
            self.view.scan_edges(&scan, &mut cursor, PAGE as usize, &mut page)?;
            self.page_of_edges(of, &page)?;
        }
        Ok(())
    }

    fn page_of_edges(&mut self, of: &EdgesOf, page: &[EdgeRef]) -> Result<(), LoadError> {
        if page.is_empty() {
            return Ok(());
        }
        let ids = external(&self.view.external_ids(Elements::Edges(page))?);
        let times = match of.time {
            Some((time, _)) => Some(self.view.properties(Elements::Edges(page), time)?),
            None => None,
        };
        let time_of = |row: usize| times.as_ref().and_then(|times| times.cell(row).values().next().cloned());
        let mut new = Vec::with_capacity(page.len());
        for (row, (edge, id)) in page.iter().zip(ids).enumerate() {
            let time = time_of(row).filter(|time| !time.is_null());
            new.push(NewEdge { source: self.made(edge.source)?, target: self.made(edge.target)?, id, time });
        }
        let mut made: Vec<EdgeId> = Vec::with_capacity(new.len());
        self.graph.add_edges(of.to, &new, &mut made)?;
        let made: Vec<EdgeRef> =
            made.iter().zip(&new).map(|(id, of)| EdgeRef { id: *id, source: of.source, target: of.target }).collect();
        if let Some((_, key)) = of.time {
            // A null orders nothing, but is kept.
            for row in (0..page.len()).filter(|row| time_of(*row).is_some_and(|time| time.is_null())) {
                self.graph.set_cell(ElementId::Edge(made[row].id), key, Cell::One(Value::Null))?;
            }
        }
        self.properties(Elements::Edges(page), Elements::Edges(&made), &of.keys)?;
        self.tell(Phase::Edges, page.len())
    }

    fn key(&mut self, key: KeyId) -> Result<KeyId, LoadError> {
        let name = self.view.schema().key_name(key);
        Ok(self.graph.ensure_key(&name)?)
    }

    /// The keys of a label except the key that holds the ids, with what is declared of them.
    fn keys(&mut self, kind: ElementKind, of: &LabelSchema, to: LabelId) -> Result<Vec<Key>, LoadError> {
        let mut keys = Vec::new();
        for property in of.known_properties() {
            let key = self.key(property.key)?;
            if property.encoding != Encoding::Auto {
                self.graph.set_encoding(kind, to, key, property.encoding)?;
            }
            if property.declared.is_some() || property.cardinality != Cardinality::Single {
                self.graph.declare_property(kind, to, key, property.declared, property.cardinality)?;
            }
            if Some(property.key) != of.key {
                keys.push((property.key, key));
            }
        }
        Ok(keys)
    }

    /// Copies the properties of elements, of as many at a time as memory is to hold.
    fn properties(&mut self, from: Elements<'_>, to: Elements<'_>, keys: &[Key]) -> Result<(), LoadError> {
        let wanted: Vec<KeyId> = keys.iter().map(|(from, _)| *from).collect();
        let (mut row, mut rows) = (0, ROWS_FIRST);
        while row < from.len() {
            let end = from.len().min(row + rows);
            let mut columns = Vec::with_capacity(keys.len());
            self.view.columns(from.slice(row..end), &wanted, &mut columns)?;
            let bytes: usize = columns.iter().map(PropertyColumn::memory_bytes).sum();
            for ((_, key), column) in keys.iter().zip(columns) {
                self.write(to.slice(row..end), *key, column)?;
            }
            // Whole blocks of the store.
            rows =
                (BYTES_AT_A_TIME / (bytes / (end - row)).max(1)).clamp(ROWS_FIRST, PAGE as usize) / ROWS_FIRST * ROWS_FIRST;
            row = end;
        }
        Ok(())
    }

    /// Writes one property of some elements.
    fn write(&mut self, to: Elements<'_>, key: KeyId, column: PropertyColumn) -> Result<(), LoadError> {
        self.report.properties += (0..column.len()).filter(|row| column.has(*row)).count() as u64;
        match column {
            PropertyColumn::Absent(_) => {}
            PropertyColumn::Cells(cells) if cells.iter().any(|cell| matches!(cell, Cell::Many(_))) => {
                for (row, cell) in cells.into_iter().enumerate().filter(|(_, cell)| !cell.is_absent()) {
                    let cell = self.with_meta(cell)?;
                    self.graph.set_cell(to.get(row), key, cell)?;
                }
            }
            column => self.graph.set_properties(to, key, &column)?,
        }
        Ok(())
    }

    /// A cell with the copy's keys of the properties of its values.
    fn with_meta(&mut self, mut cell: Cell) -> Result<Cell, LoadError> {
        if let Cell::Many(values) = &mut cell {
            for (key, _) in values.iter_mut().flat_map(|value| &mut value.meta) {
                *key = self.key(*key)?;
            }
        }
        Ok(cell)
    }

    fn requirements(&mut self, kind: ElementKind, of: &LabelSchema, to: LabelId) -> Result<(), LoadError> {
        for property in of.properties.iter().filter(|property| property.required && Some(property.key) != of.key) {
            let key = self.key(property.key)?;
            self.graph.declare_required(kind, to, key, true)?;
        }
        Ok(())
    }

    fn index(&mut self, IndexSchema { of, unique, routed }: IndexSchema) -> Result<(), LoadError> {
        let name = self.view.schema().label_name(of.kind, of.label);
        let label = self.graph.ensure_label(of.kind, &name)?;
        let of = PropertyId { kind: of.kind, label, key: self.key(of.key)? };
        if unique {
            self.graph.declare_unique(of)?
        } else {
            self.graph.create_index(of)?
        };
        if routed {
            self.graph.declare_routed(of)?;
        }
        Ok(())
    }

    /// The new vertex for one of the source.
    fn made(&self, vertex: VertexId) -> Result<VertexId, LoadError> {
        let number = self.terms.order.of(vertex.label()).and_then(|of| of.number(vertex));
        let made = self.first.get(&vertex.label()).zip(number).map(|(first, number)| VertexId(first.0 + number));
        made.ok_or_else(|| GraphError::no_such(ElementId::Vertex(vertex)).into())
    }

    fn tell(&mut self, phase: Phase, rows: usize) -> Result<(), LoadError> {
        self.rows += rows as u64;
        if self.graph.held_bytes() > WRITTEN_OUT_FROM {
            self.graph.write_out()?;
        }
        self.progress.update(&Status { phase, rows: self.rows, ..Status::default() });
        if self.progress.cancelled() { Err(LoadError::Cancelled) } else { Ok(()) }
    }
}

/// The edges of a label, and what is copied of them.
struct EdgesOf {
    label: LabelId,
    to: LabelId,
    time: Option<Key>,
    keys: Vec<Key>,
}

/// Ids in a column.
fn external(ids: &PropertyColumn) -> Vec<Option<ExternalId>> {
    (0..ids.len()).map(|row| ids.cell(row).values().next().and_then(ExternalId::from_value)).collect()
}
