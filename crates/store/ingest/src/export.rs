//! A graph as files, in formats others read and this crate loads again.
//!
//! ```text
//! GraphView --labels, pages of elements, columns--> csv: a file a label | graphson, graphml: one file
//! ```
//!
//! Memory is bounded by a page of elements (and, in GraphSON, the edges of one page's vertices).

mod csv;
mod graphml;
mod graphson;

use std::fs::File;
use std::io::{self, BufWriter};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use mangrove_graph::{
    EdgeRef, ElementKind, GraphError, GraphView, IdSpace, LabelId, Scan, ScanCursor, Value, VertexId, record,
};
use thiserror::Error;

use crate::progress::{Phase, Progress, Status};

pub use csv::csv_field;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ExportFormat {
    Csv,
    GraphMl,
    GraphSon,
}

impl ExportFormat {
    pub fn from_name(name: &str) -> Option<Self> {
        Some(match name.to_ascii_lowercase().as_str() {
            "csv" => ExportFormat::Csv,
            "graphml" => ExportFormat::GraphMl,
            "graphson" => ExportFormat::GraphSon,
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
    /// What the format could not hold as it is.
    pub warnings: Vec<String>,
}

impl ExportReport {
    fn warn(&mut self, warning: String) {
        if !self.warnings.contains(&warning) {
            self.warnings.push(warning);
        }
    }
}

#[derive(Debug, Error)]
pub enum ExportError {
    #[error("{}: the directory is not empty: name one that is new or empty", .0.display())]
    NotEmpty(PathBuf),
    #[error("{}: {source}", path.display())]
    Write { path: PathBuf, source: io::Error },
    #[error("{what} cannot be written as {format}: {hint}")]
    Unwritable { what: String, format: &'static str, hint: &'static str },
    #[error("cancelled")]
    Cancelled,
    #[error(transparent)]
    Graph(#[from] GraphError),
}

/// Writes the whole graph into a new or empty directory.
pub fn export(
    view: &dyn GraphView,
    directory: &Path,
    format: ExportFormat,
    progress: &mut dyn Progress,
) -> Result<ExportReport, ExportError> {
    let failed = |source| ExportError::Write { path: directory.to_owned(), source };
    std::fs::create_dir_all(directory).map_err(failed)?;
    if std::fs::read_dir(directory).map_err(failed)?.next().is_some() {
        return Err(ExportError::NotEmpty(directory.to_owned()));
    }
    let mut walk = Walk { view, progress, report: ExportReport::default() };
    walk.warn_of_what_stays();
    match format {
        ExportFormat::Csv => csv::write(&mut walk, directory)?,
        ExportFormat::GraphMl => graphml::write(&mut walk, directory)?,
        ExportFormat::GraphSon => graphson::write(&mut walk, directory)?,
    }
    Ok(walk.report)
}

const PAGE: usize = 4096;

/// Goes through a graph page by page, telling how far it is.
struct Walk<'a> {
    view: &'a dyn GraphView,
    progress: &'a mut dyn Progress,
    report: ExportReport,
}

impl<'a> Walk<'a> {
    /// Warns of what no format here has a place for.
    fn warn_of_what_stays(&mut self) {
        let schema = self.view.schema();
        if self.is_label_space() {
            let warning = "ids are unique only within labels: load the files into a database made with --id-space label, or ids change";
            self.report.warn(warning.into());
        }
        let indexes = schema.indexes.iter().map(|index| {
            let label = schema.label_name(ElementKind::Vertex, index.label);
            format!("{label}.{}", schema.key_name(index.key))
        });
        let indexes: Vec<String> = indexes.collect();
        if !indexes.is_empty() {
            self.report.warn(format!("indexes are not exported: {}", indexes.join(", ")));
        }
    }

    /// The vertices whose primary label is `label`, a page at a time.
    fn vertices(
        &mut self,
        label: LabelId,
        page_size: usize,
        mut each: impl FnMut(&mut Self, &[VertexId]) -> Result<(), ExportError>,
    ) -> Result<(), ExportError> {
        let scan = Scan { labels: Some(vec![label]), filters: Vec::new() };
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

    fn edges(
        &mut self,
        label: LabelId,
        mut each: impl FnMut(&mut Self, &[EdgeRef]) -> Result<(), ExportError>,
    ) -> Result<(), ExportError> {
        let scan = Scan { labels: Some(vec![label]), filters: Vec::new() };
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

    fn tell(&mut self) -> Result<(), ExportError> {
        let phase = if self.report.edges > 0 { Phase::Edges } else { Phase::Vertices };
        let rows = self.report.vertices + self.report.edges;
        self.progress.update(&Status { phase, rows, ..Status::default() });
        if self.progress.cancelled() { Err(ExportError::Cancelled) } else { Ok(()) }
    }

    fn labels(&self, kind: ElementKind) -> impl Iterator<Item = LabelId> + use<> {
        (0..self.view.schema().labels(kind).len()).map(|at| LabelId(at as u16))
    }

    /// The labels of a vertex by name, the primary one first.
    fn label_names(&self, vertex: VertexId) -> Result<Vec<Arc<str>>, ExportError> {
        let labels = record::labels(self.view, vertex)?;
        Ok(labels.iter().map(|label| self.view.schema().label_name(ElementKind::Vertex, *label)).collect())
    }

    fn is_label_space(&self) -> bool {
        self.view.schema().id_space == IdSpace::Label
    }

    /// The id users know a vertex by.
    fn user_id(&self, vertex: VertexId) -> Result<Value, ExportError> {
        Ok(record::vertex_id(self.view, vertex)?)
    }

    fn create(&mut self, path: PathBuf) -> Result<Output, ExportError> {
        let file = File::create_new(&path).map_err(|source| ExportError::Write { path: path.clone(), source })?;
        self.report.files.push(path.clone());
        Ok(Output { file: BufWriter::with_capacity(1 << 18, file), path })
    }
}

/// A file being written.
struct Output {
    file: BufWriter<File>,
    path: PathBuf,
}

impl Output {
    fn write(&mut self, text: &str) -> Result<(), ExportError> {
        let failed = |source| ExportError::Write { path: self.path.clone(), source };
        io::Write::write_all(&mut self.file, text.as_bytes()).map_err(failed)
    }

    fn finish(mut self) -> Result<(), ExportError> {
        io::Write::flush(&mut self.file).map_err(|source| ExportError::Write { path: self.path.clone(), source })
    }
}
