//! Loads a lake into a graph that can be written.

use std::collections::BTreeMap;
use std::sync::Arc;

use hashbrown::HashMap;
use mangrove_graph::{
    EdgeId, EdgeRef, ElementKind, Elements, ExternalId, GraphError, GraphView, GraphWrite, IdSpace, KeyId, LabelId, NewEdge,
    PropertyColumn, Scan, ScanCursor, VertexId,
};
use mangrove_ingest::{LoadReport, Phase, Progress, Status};

use crate::error::{LakeError, Result};
use crate::graph::{Lake, LakeView};

const NO_VERTEX: VertexId = VertexId(u64::MAX);

/// Elements that are copied at a time.
const PAGE: usize = 8192;

/// Copies all vertices and edges with their ids, labels, properties and types. The caller commits, or rolls back after an error.
///
/// It keeps 8 bytes for each vertex. O(elements).
pub fn load(lake: &Arc<Lake>, graph: &mut dyn GraphWrite, progress: &mut dyn Progress) -> Result<LoadReport> {
    let view = LakeView::new(lake.clone(), None);
    if lake.schema().id_space == IdSpace::Label && graph.schema().id_space == IdSpace::Graph {
        let hint = "create the database with id_space=\"label\" (--id-space label)";
        return Err(LakeError::Unsupported(format!("ids in these files are unique only within a label: {hint}")));
    }
    let mut copy = Copy { lake, view, graph, progress, made: HashMap::new(), report: LoadReport::default(), rows: 0 };
    let schema = lake.schema().clone();
    let labels = |kind| (0..schema.labels(kind).len() as u16).map(LabelId);
    for label in labels(ElementKind::Vertex) {
        copy.vertices(label)?;
    }
    for label in labels(ElementKind::Edge) {
        copy.edges(label)?;
    }
    Ok(copy.report)
}

struct Copy<'a> {
    lake: &'a Lake,
    view: LakeView,
    graph: &'a mut dyn GraphWrite,
    progress: &'a mut dyn Progress,
    /// The new vertices of each label of the lake, by local id.
    made: HashMap<LabelId, Vec<VertexId>>,
    report: LoadReport,
    rows: u64,
}

impl Copy<'_> {
    fn vertices(&mut self, label: LabelId) -> Result<()> {
        let schema = self.lake.schema().clone();
        let of = &schema.vertex_labels[usize::from(label.0)];
        let to = self.graph.ensure_label(ElementKind::Vertex, &of.name)?;
        if let Some(key) = of.key {
            let key = self.graph.ensure_key(&schema.key_name(key))?;
            self.graph.declare_key(to, key)?;
        }
        let keys = self.keys(ElementKind::Vertex, label, to)?;
        let further: BTreeMap<LabelId, LabelId> = of
            .further
            .iter()
            .map(|other| {
                Ok((*other, self.graph.ensure_label(ElementKind::Vertex, &schema.vertex_labels[usize::from(other.0)].name)?))
            })
            .collect::<Result<_>>()?;
        let mut all: Vec<VertexId> = Vec::new();
        let (scan, mut cursor, mut count) = (Scan::of(label), ScanCursor::default(), 0);
        while !cursor.done {
            let mut vertices: Vec<VertexId> = Vec::new();
            self.view.scan_vertices(&scan, &mut cursor, PAGE, &mut vertices)?;
            // Others may have this label beside their own.
            vertices.retain(|vertex| vertex.label() == label);
            if vertices.is_empty() {
                continue;
            }
            let ids = match self.lake.has_ids(label) {
                true => external(&self.view.external_ids(Elements::Vertices(&vertices))?),
                // Generated ids are made anew.
                false => vec![None; vertices.len()],
            };
            let mut made = Vec::with_capacity(vertices.len());
            self.graph.add_vertices(to, &ids, &mut made)?;
            self.properties(Elements::Vertices(&vertices), Elements::Vertices(&made), &keys)?;
            if !further.is_empty() {
                let mut labels = Vec::with_capacity(vertices.len());
                self.view.all_further_labels(&vertices, &mut labels)?;
                for (vertex, labels) in made.iter().zip(labels).filter(|(_, labels)| !labels.is_empty()) {
                    let labels: Vec<LabelId> = labels.iter().filter_map(|label| further.get(label).copied()).collect();
                    self.graph.set_further_labels(*vertex, &labels)?;
                }
            }
            for (vertex, made) in vertices.iter().zip(&made) {
                // A row that is no vertex leaves a gap.
                all.resize(vertex.local() as usize, NO_VERTEX);
                all.push(*made);
            }
            count += vertices.len() as u64;
            self.tell(Phase::Vertices, vertices.len())?;
        }
        if count > 0 {
            self.report.vertices.insert(of.name.clone(), count);
        }
        for property in of.properties.iter().filter(|property| property.required && Some(property.key) != of.key) {
            let key = self.graph.ensure_key(&schema.key_name(property.key))?;
            self.graph.declare_required(ElementKind::Vertex, to, key, true)?;
        }
        self.made.insert(label, all);
        Ok(())
    }

    fn edges(&mut self, label: LabelId) -> Result<()> {
        let schema = self.lake.schema().clone();
        let of = &schema.edge_labels[usize::from(label.0)];
        let to = self.graph.ensure_label(ElementKind::Edge, &of.name)?;
        let mut keys = self.keys(ElementKind::Edge, label, to)?;
        let time = self.lake.time(label).and_then(|time| keys.iter().position(|(_, _, name)| **name == *time));
        // The time of an edge is given when it is made.
        let time = time.map(|at| keys.remove(at));
        if let Some((_, key, _)) = &time {
            self.graph.declare_time(to, *key)?;
        }
        let (scan, mut cursor) = (Scan::of(label), ScanCursor::default());
        let mut count = 0;
        while !cursor.done {
            let mut edges: Vec<EdgeRef> = Vec::new();
            self.view.scan_edges(&scan, &mut cursor, PAGE, &mut edges)?;
            if edges.is_empty() {
                continue;
            }
            let ids = external(&self.view.external_ids(Elements::Edges(&edges))?);
            let times = match &time {
                Some((from, _, _)) => Some(self.view.properties(Elements::Edges(&edges), *from)?),
                None => None,
            };
            let mut new = Vec::with_capacity(edges.len());
            for (row, (edge, id)) in edges.iter().zip(ids).enumerate() {
                let time = times.as_ref().and_then(|times| times.cell(row).values().next().cloned());
                new.push(NewEdge { source: self.made_of(edge.source)?, target: self.made_of(edge.target)?, id, time });
            }
            let mut made: Vec<EdgeId> = Vec::with_capacity(new.len());
            self.graph.add_edges(to, &new, &mut made)?;
            let made: Vec<EdgeRef> =
                made.iter().zip(&new).map(|(id, of)| EdgeRef { id: *id, source: of.source, target: of.target }).collect();
            self.properties(Elements::Edges(&edges), Elements::Edges(&made), &keys)?;
            count += edges.len() as u64;
            self.tell(Phase::Edges, edges.len())?;
        }
        if count > 0 {
            self.report.edges.insert(of.name.clone(), count);
        }
        Ok(())
    }

    /// The keys of a label in the lake, each with its key in the graph and its name, except the key that holds the ids. Declares those
    /// that have several values.
    fn keys(&mut self, kind: ElementKind, label: LabelId, to: LabelId) -> Result<Vec<(KeyId, KeyId, Arc<str>)>> {
        let schema = self.lake.schema().clone();
        let Some(of) = schema.label_schema(kind, label) else { return Ok(Vec::new()) };
        let mut keys = Vec::new();
        for property in of.properties.iter().filter(|property| Some(property.key) != of.key) {
            let name = schema.key_name(property.key);
            let key = self.graph.ensure_key(&name)?;
            if property.cardinality != mangrove_graph::Cardinality::Single {
                self.graph.declare_property(kind, to, key, None, property.cardinality)?;
            }
            keys.push((property.key, key, name));
        }
        Ok(keys)
    }

    fn properties(&mut self, from: Elements<'_>, to: Elements<'_>, keys: &[(KeyId, KeyId, Arc<str>)]) -> Result<()> {
        let wanted: Vec<KeyId> = keys.iter().map(|(from, _, _)| *from).collect();
        let mut columns = Vec::with_capacity(keys.len());
        self.view.columns(from, &wanted, &mut columns)?;
        for ((_, key, _), column) in keys.iter().zip(columns) {
            self.report.properties += (0..column.len()).filter(|row| column.has(*row)).count() as u64;
            match &column {
                PropertyColumn::Absent(_) => {}
                PropertyColumn::Cells(cells) if cells.iter().any(|cell| cell.values().count() > 1) => {
                    for (row, cell) in cells.iter().enumerate().filter(|(_, cell)| !cell.is_absent()) {
                        self.graph.set_cell(to.get(row), *key, cell.clone())?;
                    }
                }
                column => self.graph.set_properties(to, *key, column)?,
            }
        }
        Ok(())
    }

    /// The new vertex for one of the lake.
    fn made_of(&self, vertex: VertexId) -> Result<VertexId> {
        let made = self.made.get(&vertex.label()).and_then(|made| made.get(vertex.local() as usize));
        made.copied()
            .filter(|made| *made != NO_VERTEX)
            .ok_or_else(|| GraphError::no_such(mangrove_graph::ElementId::Vertex(vertex)).into())
    }

    fn tell(&mut self, phase: Phase, rows: usize) -> Result<()> {
        self.rows += rows as u64;
        self.progress.update(&Status { phase, rows: self.rows, ..Status::default() });
        if self.progress.cancelled() { Err(LakeError::Cancelled) } else { Ok(()) }
    }
}

/// Ids in a column.
fn external(ids: &PropertyColumn) -> Vec<Option<ExternalId>> {
    (0..ids.len()).map(|row| ids.cell(row).values().next().and_then(ExternalId::from_value)).collect()
}
