//! What all formats of an export share: the report, the errors, and the walk through a graph page by page.

use std::fs::File;
use std::io::{self, BufWriter};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use hashbrown::HashMap;
use mangrove_graph::{
    Cell, EdgeRef, ElementIds, ElementKind, Elements, ExternalId, GraphError, GraphView, IdSpace, KeyId, LabelId, Numbering,
    PropertyColumn, Scan, ScanCursor, Value, VertexId, record,
};
use thiserror::Error;

use crate::by_source::by_source;
use crate::progress::{Phase, Progress, Status};
use crate::text::mapping_text::TableText;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ExportFormat {
    Csv,
    GraphMl,
    GraphSon,
    Parquet,
}

impl ExportFormat {
    pub const NAMES: [&str; 4] = ["csv", "parquet", "graphml", "graphson"];

    /// Whether the format has one file for each label.
    pub(super) fn is_of_tables(self) -> bool {
        matches!(self, ExportFormat::Csv | ExportFormat::Parquet)
    }

    pub fn from_name(name: &str) -> Option<Self> {
        Some(match name.to_ascii_lowercase().as_str() {
            "csv" => ExportFormat::Csv,
            "graphml" => ExportFormat::GraphMl,
            "graphson" => ExportFormat::GraphSon,
            "parquet" => ExportFormat::Parquet,
            _ => return None,
        })
    }
}

/// What an export wrote.
#[derive(Clone, Debug, Default)]
pub struct ExportReport {
    pub vertices: u64,
    pub edges: u64,
    pub files: Vec<PathBuf>,
    /// Values that the format could not hold exactly.
    pub warnings: Vec<String>,
}

impl ExportReport {
    pub(super) fn warn(&mut self, warning: String) {
        if !self.warnings.contains(&warning) {
            self.warnings.push(warning);
        }
    }
}

#[derive(Debug, Error)]
pub enum ExportError {
    #[error("{}: the directory is not empty. Name a new or empty one", .0.display())]
    NotEmpty(PathBuf),
    #[error("{}: {source}", path.display())]
    Write { path: PathBuf, source: io::Error },
    #[error("cannot write {what} as {format}: {hint}")]
    Unwritable { what: String, format: &'static str, hint: &'static str },
    #[error("cancelled")]
    Cancelled,
    #[error(transparent)]
    Graph(#[from] GraphError),
}

/// Elements that are read at a time.
pub(super) const PAGE: usize = 4096;

/// Goes through a graph page by page and reports progress. It reads whole pages, since a call may cross a network.
pub(super) struct ExportWalk<'a> {
    pub(super) view: &'a dyn GraphView,
    /// The order of vertices, if it is not that of their ids. The edges of a vertex follow each other then.
    pub(super) order: Option<&'a Numbering>,
    pub(super) progress: &'a mut dyn Progress,
    pub(super) report: ExportReport,
    /// How to read the tables written so far.
    pub(super) tables: Vec<TableText>,
}

impl<'a> ExportWalk<'a> {
    /// Calls `each` with the vertices whose primary label is `label`, one page at a time. No page is empty.
    pub(super) fn vertices(
        &mut self,
        label: LabelId,
        page_size: usize,
        mut each: impl FnMut(&mut Self, &[VertexId]) -> Result<(), ExportError>,
    ) -> Result<(), ExportError> {
        let mut each = |walk: &mut Self, page: &[VertexId]| {
            if !page.is_empty() {
                each(walk, page)?;
            }
            walk.report.vertices += page.len() as u64;
            walk.tell()
        };
        if let Some(order) = self.order {
            let Some(order) = order.of(label) else { return Ok(()) };
            for start in (0..order.count()).step_by(page_size) {
                each(self, &order.slice(start..order.count().min(start + page_size as u64)))?;
            }
            return Ok(());
        }
        let mut cursor = ScanCursor::default();
        while !cursor.done {
            let page = self.next_page(ElementKind::Vertex, label, &mut cursor, page_size)?;
            each(self, &page.into_vertices())?;
        }
        Ok(())
    }

    /// Calls `each` with the edges of a label, one page at a time. No page is empty.
    pub(super) fn edges(
        &mut self,
        label: LabelId,
        mut each: impl FnMut(&mut Self, &[EdgeRef]) -> Result<(), ExportError>,
    ) -> Result<(), ExportError> {
        let mut each = |walk: &mut Self, page: &[EdgeRef]| {
            if !page.is_empty() {
                each(walk, page)?;
            }
            walk.report.edges += page.len() as u64;
            walk.tell()
        };
        if let Some(order) = self.order {
            return by_source(self.view, label, order, &mut |page| each(self, page));
        }
        let mut cursor = ScanCursor::default();
        while !cursor.done {
            let page = self.next_page(ElementKind::Edge, label, &mut cursor, PAGE)?;
            each(self, &page.into_edges())?;
        }
        Ok(())
    }

    /// Whether `test` holds for all pages of the elements of a label. Pages come in any order; the first that fails is the last.
    pub(super) fn all_pages(
        &mut self,
        kind: ElementKind,
        label: LabelId,
        mut test: impl FnMut(&Self, Elements<'_>) -> Result<bool, ExportError>,
    ) -> Result<bool, ExportError> {
        let before = (self.report.vertices, self.report.edges);
        let (mut cursor, mut holds) = (ScanCursor::default(), true);
        while holds && !cursor.done {
            let page = self.next_page(kind, label, &mut cursor, PAGE)?;
            holds = page.is_empty() || test(self, page.batch())?;
            match kind {
                ElementKind::Vertex => self.report.vertices += page.len() as u64,
                ElementKind::Edge => self.report.edges += page.len() as u64,
            }
            self.tell()?;
        }
        // The report counts what was written.
        (self.report.vertices, self.report.edges) = before;
        Ok(holds)
    }

    /// The next elements whose primary label is `label`.
    fn next_page(
        &self,
        kind: ElementKind,
        label: LabelId,
        cursor: &mut ScanCursor,
        limit: usize,
    ) -> Result<ElementIds, ExportError> {
        let (scan, mut page) = (Scan::of(label), ElementIds::none(kind));
        match &mut page {
            ElementIds::Vertices(vertices) => {
                self.view.scan_vertices(&scan, cursor, limit, vertices)?;
                vertices.retain(|vertex| vertex.label() == label);
            }
            ElementIds::Edges(edges) => self.view.scan_edges(&scan, cursor, limit, edges)?,
        }
        Ok(page)
    }

    pub(super) fn tell(&mut self) -> Result<(), ExportError> {
        let phase = if self.report.edges > 0 { Phase::Edges } else { Phase::Vertices };
        let rows = self.report.vertices + self.report.edges;
        self.progress.update(&Status { phase, rows, ..Status::default() });
        if self.progress.cancelled() { Err(ExportError::Cancelled) } else { Ok(()) }
    }

    pub(super) fn labels(&self, kind: ElementKind) -> std::vec::IntoIter<LabelId> {
        self.view.schema().known_labels(kind).map(|(id, _)| id).collect::<Vec<_>>().into_iter()
    }

    /// The names of each vertex's labels, the primary one first.
    pub(super) fn label_names(&self, vertices: &[VertexId]) -> Result<Vec<Vec<Arc<str>>>, ExportError> {
        let mut further = Vec::with_capacity(vertices.len());
        self.view.all_further_labels(vertices, &mut further)?;
        let name = |label| self.view.schema().label_name(ElementKind::Vertex, label);
        let names = |(vertex, further): (&VertexId, Vec<LabelId>)| {
            std::iter::once(vertex.label()).chain(further).map(name).collect()
        };
        Ok(vertices.iter().zip(further).map(names).collect())
    }

    pub(super) fn is_label_space(&self) -> bool {
        self.view.schema().id_space == IdSpace::Label
    }

    /// The external ids of elements: `None` for an edge whose user supplied none. Fails if a vertex is not there.
    pub(super) fn ids(&self, elements: Elements<'_>) -> Result<Vec<Option<ExternalId>>, ExportError> {
        let ids = self.view.external_ids(elements)?;
        let id = |row| match ids.cell(row) {
            Cell::One(id) => ExternalId::from_value(&id).map(Some).ok_or_else(|| GraphError::corrupt("an invalid id")),
            Cell::Many(_) => Err(GraphError::corrupt("several ids of one element")),
            Cell::Absent if elements.kind() == ElementKind::Edge => Ok(None),
            Cell::Absent => Err(GraphError::no_such(elements.get(row))),
        };
        Ok((0..elements.len()).map(id).collect::<Result<_, _>>()?)
    }

    /// The ids of elements as users see them. Fails if a vertex is not there.
    pub(super) fn user_ids(&self, elements: Elements<'_>) -> Result<Vec<Value>, ExportError> {
        let ids = record::ids(self.view, elements)?;
        let id = |row| match ids.cell(row) {
            Cell::One(id) => Ok(id),
            _ => Err(GraphError::no_such(elements.get(row))),
        };
        Ok((0..elements.len()).map(id).collect::<Result<_, _>>()?)
    }

    /// Calls `read` with the vertices, each once, and returns what it read by vertex.
    pub(super) fn by_vertex<T>(
        &self,
        vertices: impl Iterator<Item = VertexId>,
        read: impl FnOnce(&Self, Elements<'_>) -> Result<Vec<T>, ExportError>,
    ) -> Result<HashMap<VertexId, T>, ExportError> {
        let mut vertices: Vec<VertexId> = vertices.collect();
        vertices.sort_unstable();
        vertices.dedup();
        let found = read(self, Elements::Vertices(&vertices))?;
        Ok(vertices.into_iter().zip(found).collect())
    }

    /// What elements have under some keys: one column for each key.
    pub(super) fn columns(
        &self,
        elements: Elements<'_>,
        keys: impl Iterator<Item = KeyId>,
    ) -> Result<Vec<PropertyColumn>, ExportError> {
        let keys: Vec<KeyId> = keys.collect();
        let mut columns = Vec::with_capacity(keys.len());
        if !keys.is_empty() {
            self.view.columns(elements, &keys, &mut columns)?;
        }
        Ok(columns)
    }

    pub(super) fn create(&mut self, path: PathBuf) -> Result<Output, ExportError> {
        let file = self.create_file(&path)?;
        Ok(Output { file: BufWriter::with_capacity(1 << 18, file), path })
    }

    pub(super) fn create_file(&mut self, path: &Path) -> Result<File, ExportError> {
        let file = File::create_new(path).map_err(|source| ExportError::Write { path: path.to_owned(), source })?;
        self.report.files.push(path.to_owned());
        Ok(file)
    }
}

/// The vertices at both ends of edges.
pub(super) fn ends_of(edges: &[EdgeRef]) -> impl Iterator<Item = VertexId> {
    edges.iter().flat_map(|edge| [edge.source, edge.target])
}

/// A file while it is written.
pub(super) struct Output {
    pub(super) file: BufWriter<File>,
    pub(super) path: PathBuf,
}

impl Output {
    pub(super) fn write(&mut self, text: &str) -> Result<(), ExportError> {
        let failed = |source| ExportError::Write { path: self.path.clone(), source };
        io::Write::write_all(&mut self.file, text.as_bytes()).map_err(failed)
    }

    pub(super) fn finish(mut self) -> Result<(), ExportError> {
        io::Write::flush(&mut self.file).map_err(|source| ExportError::Write { path: self.path.clone(), source })
    }
}
