//! A lake as a backend: a graph in open files, which is read and not written.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use mangrove_directory::{CheckReport, Patience, StoreStats, Violation, Writer};
use mangrove_graph::{ElementKind, GraphError, ReadContext, Result};
use mangrove_lake::{Lake, LakeError, LakeView};

use crate::backend::{Backend, BackendTransaction, BackendView};

const READ_ONLY: &str = "a graph in open files is read, never written: load it into a database to change it";

pub struct LakeBackend {
    pub lake: Arc<Lake>,
    /// The file that names all others.
    pub path: String,
}

impl Backend for LakeBackend {
    fn view(&self, limits: Option<ReadContext>) -> Result<Box<dyn BackendView>> {
        Ok(Box::new(LakeView::new(self.lake.clone(), limits)))
    }

    fn begin(&self, _: Writer, _: Patience<'_>) -> Result<Box<dyn BackendTransaction>> {
        Err(GraphError::Invalid(READ_ONLY.into()))
    }

    fn is_read_only(&self) -> bool {
        true
    }

    fn check(&self) -> Result<CheckReport> {
        // What is in memory may be older than the files. So they are all opened anew.
        let problems = match Lake::open(&self.path) {
            Ok(lake) => lake.check(),
            Err(error) => vec![error.to_string()],
        };
        let statistics = self.lake.statistics();
        Ok(CheckReport {
            violations_total: problems.len() as u64,
            violations: problems.into_iter().take(100).map(|what| Violation { table: "lake", what }).collect(),
            vertices: statistics.of(ElementKind::Vertex).iter().sum(),
            edges: statistics.of(ElementKind::Edge).iter().sum(),
            ..CheckReport::default()
        })
    }

    fn stats(&self) -> Result<StoreStats> {
        Ok(StoreStats { file_bytes: self.lake.disk_bytes()?, ..StoreStats::default() })
    }

    fn backup(&self, _: &Path) -> Result<()> {
        Err(refused("copy its directory for a backup"))
    }

    fn compact(&self, _: Writer, _: Patience<'_>) -> Result<u64> {
        Err(refused("it has nothing to compact"))
    }
}

fn refused(hint: &str) -> GraphError {
    GraphError::Invalid(format!("a lake is files that others may use too: {hint}"))
}

impl BackendView for LakeView {
    fn limit(&mut self, limits: Option<ReadContext>) {
        LakeView::limit(self, limits);
    }
}

/// The file that names the others of a lake, as an address or an absolute path: so it stays the same if the process changes its
/// directory.
pub fn lake_file(path: &Path) -> Result<String, LakeError> {
    let text = path.to_string_lossy();
    if text.contains("://") {
        return Ok(text.into_owned());
    }
    if path.is_dir() {
        let hint = match described(path) {
            Some(file) => format!("name the file {}", file.display()),
            None => "a graph in open files has a file NAME.graph.yml; name that".into(),
        };
        return Err(LakeError::Unsupported(format!("{text} is a directory: {hint}")));
    }
    let absolute = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    Ok(absolute.to_string_lossy().into_owned())
}

/// The file in a directory that describes a graph in open files, if there is one.
fn described(directory: &Path) -> Option<PathBuf> {
    let entries = std::fs::read_dir(directory).ok()?;
    entries.filter_map(Result::ok).map(|entry| entry.path()).find(|path| is_description(path))
}

pub fn is_description(path: &Path) -> bool {
    path.to_str().is_some_and(|path| path.ends_with(".graph.yml") || path.ends_with(".graph.yaml"))
}

/// Refuses a graph in open files where tables are expected.
pub fn not_a_lake(path: &Path) -> Result<(), LakeError> {
    let file = if path.is_dir() { described(path) } else { Some(path.to_owned()).filter(|path| is_description(path)) };
    match file {
        Some(file) => {
            let hint = "load_lake() loads it, and `mangrove load DB FILE` with this file alone";
            Err(LakeError::Unsupported(format!("{} describes a graph in open files: {hint}", file.display())))
        }
        None => Ok(()),
    }
}
