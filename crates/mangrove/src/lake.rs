//! A lake as a backend: a graph in open files, which is read and not written.

use std::path::Path;
use std::sync::Arc;

use mangrove_directory::{CheckReport, Patience, StoreStats, Violation, Writer};
use mangrove_graph::{ElementKind, GraphError, ReadContext, Result};
use mangrove_lake::{Lake, LakeView};

use crate::backend::{Backend, BackendTransaction, BackendView};

pub struct LakeBackend(pub Arc<Lake>);

impl Backend for LakeBackend {
    fn view(&self, limits: Option<ReadContext>) -> Result<Box<dyn BackendView>> {
        Ok(Box::new(LakeView::new(self.0.clone(), limits)))
    }

    fn begin(&self, _: Writer, _: Patience<'_>) -> Result<Box<dyn BackendTransaction>> {
        Err(GraphError::ReadOnly)
    }

    fn is_read_only(&self) -> bool {
        true
    }

    fn check(&self) -> Result<CheckReport> {
        let problems = self.0.check();
        let statistics = self.0.statistics();
        Ok(CheckReport {
            violations_total: problems.len() as u64,
            violations: problems.into_iter().take(100).map(|what| Violation { table: "lake", what }).collect(),
            vertices: statistics.of(ElementKind::Vertex).iter().sum(),
            edges: statistics.of(ElementKind::Edge).iter().sum(),
            ..CheckReport::default()
        })
    }

    fn stats(&self) -> Result<StoreStats> {
        Ok(StoreStats { file_bytes: self.0.disk_bytes()?, ..StoreStats::default() })
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
