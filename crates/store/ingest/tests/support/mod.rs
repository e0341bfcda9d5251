//! A directory of files, a graph in memory, and short ways to query the graph.
#![allow(dead_code)]

use std::path::PathBuf;

use mangrove_graph::{
    Catalog, Cell, ElementId, ElementKind, ExternalId, GraphView, Hop, IdSpace, PropertyValue, Value, VertexId, Wants,
    record,
};
use mangrove_ingest::{LoadError, LoadOptions, LoadReport, OnError, Quiet, load};
use mangrove_testkit::Oracle;

pub struct Files {
    dir: tempfile::TempDir,
}

impl Files {
    pub fn new(files: &[(&str, &str)]) -> Self {
        let made = Self { dir: tempfile::tempdir().unwrap() };
        files.iter().for_each(|(name, text)| made.write(name, text.as_bytes()));
        made
    }

    pub fn write(&self, name: &str, bytes: &[u8]) {
        std::fs::write(self.path(name), bytes).unwrap();
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    pub fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.path(name)).unwrap()
    }

    /// Options that load these files, which describe themselves.
    pub fn options(&self, names: &[&str]) -> LoadOptions {
        LoadOptions { files: names.iter().map(|name| self.path(name)).collect(), ..LoadOptions::default() }
    }

    pub fn load(&self, names: &[&str]) -> (Oracle, LoadReport) {
        try_load(&self.options(names), IdSpace::Graph).unwrap()
    }

    /// A message without the directory, which differs from run to run.
    pub fn message(&self, error: LoadError) -> String {
        error.to_string().replace(&format!("{}/", self.dir.path().display()), "")
    }

    pub fn skipping(&self, options: LoadOptions) -> LoadOptions {
        LoadOptions { on_error: OnError::Skip { rejects: self.path("rejects.csv") }, ..options }
    }

    /// The rejects file without its header and the directory.
    pub fn rejects(&self) -> Vec<String> {
        self.rejects_in("rejects.csv")
    }

    pub fn rejects_in(&self, name: &str) -> Vec<String> {
        let text = self.read(name).replace(&format!("{}/", self.dir.path().display()), "");
        text.lines().skip(1).map(str::to_owned).collect()
    }
}

pub fn try_load(options: &LoadOptions, space: IdSpace) -> Result<(Oracle, LoadReport), LoadError> {
    let mut graph = Oracle::new(space);
    let report = load(&mut graph, options, &mut Quiet)?;
    Ok((graph, report))
}

pub fn vertex(graph: &Oracle, id: impl Into<ExternalId>) -> VertexId {
    labelled(graph, None, id.into()).expect("the vertex is there")
}

pub fn labelled(graph: &Oracle, label: Option<&str>, id: ExternalId) -> Option<VertexId> {
    let label = label.map(|name| graph.schema().label(ElementKind::Vertex, name).expect("the label is there"));
    let mut found = Vec::new();
    graph.find_vertices(label, &[id], &mut found).unwrap();
    found[0]
}

pub fn cell(graph: &Oracle, element: ElementId, key: &str) -> Cell {
    graph.schema().key(key).map_or(Cell::Absent, |key| graph.cell(element, key).unwrap())
}

/// The one value a vertex has under a key.
pub fn value(graph: &Oracle, id: impl Into<ExternalId>, key: &str) -> Value {
    match cell(graph, ElementId::Vertex(vertex(graph, id)), key) {
        Cell::One(value) => value,
        other => panic!("{key} is {other:?}"),
    }
}

/// The values a vertex has under a key.
pub fn values(graph: &Oracle, id: impl Into<ExternalId>, key: &str) -> Vec<Value> {
    let entries: Vec<PropertyValue> = cell(graph, ElementId::Vertex(vertex(graph, id)), key).into_entries();
    entries.into_iter().map(|entry| entry.value).collect()
}

pub fn labels(graph: &Oracle, id: impl Into<ExternalId>) -> Vec<String> {
    let labels = record::labels(graph, vertex(graph, id)).unwrap();
    labels.iter().map(|label| graph.schema().label_name(ElementKind::Vertex, *label).to_string()).collect()
}

/// `label target` of each outgoing edge, and its property under a key.
pub fn out_edges(graph: &Oracle, from: VertexId, key: &str) -> Vec<(String, String, Option<Value>)> {
    let mut found = mangrove_graph::Adjacency::default();
    let wants = Wants { rows: false, neighbors: false, edges: true };
    let hop = Hop::along(mangrove_graph::Direction::Out, None, wants);
    graph.neighbors(&[from], &hop, &mut found).unwrap();
    let edge = |edge: &mangrove_graph::EdgeRef| {
        let label = graph.schema().label_name(ElementKind::Edge, edge.id.label()).to_string();
        let target = graph.external_id(edge.target).unwrap().to_string();
        let value = match cell(graph, ElementId::Edge(edge.id), key) {
            Cell::One(value) => Some(value),
            _ => None,
        };
        (label, target, value)
    };
    found.edges.iter().map(edge).collect()
}
