//! A lake as a backend: a graph in open files, which is read and not written.

use std::path::Path;
use std::sync::Arc;

use mangrove_directory::{CheckReport, Patience, StoreStats, Violation, Writer};
use mangrove_graph::{ElementKind, GraphError, ReadContext, Result};
use mangrove_lake::{Lake, LakeView};

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
