//! What all formats of an export share: the report, the errors, and the walk through a graph page by page.

use std::fs::File;
use std::io::{self, BufWriter};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use mangrove_graph::{
    EdgeRef, ElementKind, GraphError, GraphView, IdSpace, LabelId, Numbering, Scan, ScanCursor, Value, VertexId, record,
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

pub(super) const PAGE: usize = 4096;

/// Goes through a graph page by page and reports progress.
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
    /// Calls `f` with the vertices whose primary label is `label`, one page at a time.
    pub(super) fn vertices(
        &mut self,
        label: LabelId,
        page_size: usize,
        mut each: impl FnMut(&mut Self, &[VertexId]) -> Result<(), ExportError>,
    ) -> Result<(), ExportError> {
        if let Some(order) = self.order {
            let Some(order) = order.of(label) else { return Ok(()) };
            for start in (0..order.count()).step_by(page_size) {
                let page = order.slice(start..order.count().min(start + page_size as u64));
                each(self, &page)?;
                self.report.vertices += page.len() as u64;
                self.tell()?;
            }
            return Ok(());
        }
        let scan = Scan::of(label);
        let (mut cursor, mut page) = (ScanCursor::default(), Vec::new());
        while !cursor.done {
            page.clear();
            self.view.scan_vertices(&scan, &mut cursor, page_size, &mut page)?;
            page.retain(|vertex| vertex.label() == label);
            each(self, &page)?;
            self.report.vertices += page.len() as u64;
            self.tell()?;
        }
        Ok(())
    }

    pub(super) fn edges(
        &mut self,
        label: LabelId,
        mut each: impl FnMut(&mut Self, &[EdgeRef]) -> Result<(), ExportError>,
    ) -> Result<(), ExportError> {
        if let Some(order) = self.order {
            let view = self.view;
            return by_source(view, label, order, &mut |page| {
                each(self, page)?;
                self.report.edges += page.len() as u64;
                self.tell()
            });
        }
        let scan = Scan::of(label);
        let (mut cursor, mut page) = (ScanCursor::default(), Vec::new());
        while !cursor.done {
            page.clear();
            self.view.scan_edges(&scan, &mut cursor, PAGE, &mut page)?;
            each(self, &page)?;
            self.report.edges += page.len() as u64;
            self.tell()?;
        }
        Ok(())
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

    /// The names of a vertex's labels, the primary one first.
    pub(super) fn label_names(&self, vertex: VertexId) -> Result<Vec<Arc<str>>, ExportError> {
        let labels = record::labels(self.view, vertex)?;
        Ok(labels.iter().map(|label| self.view.schema().label_name(ElementKind::Vertex, *label)).collect())
    }

    pub(super) fn is_label_space(&self) -> bool {
        self.view.schema().id_space == IdSpace::Label
    }

    /// The id of a vertex as users see it.
    pub(super) fn user_id(&self, vertex: VertexId) -> Result<Value, ExportError> {
        Ok(record::vertex_id(self.view, vertex)?)
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
