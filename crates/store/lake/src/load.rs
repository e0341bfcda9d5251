//! Loads a lake into a graph that can be written.

use std::sync::Arc;

use mangrove_graph::{GraphWrite, Numbering, Scan};
use mangrove_ingest::{CopyTerms, LoadError, LoadReport, Progress};

use crate::graph::{Lake, LakeView};

/// Copies all vertices and edges with their ids, labels, properties and types. The caller commits, or rolls back after an error.
///
/// O(elements).
pub fn load(lake: &Arc<Lake>, graph: &mut dyn GraphWrite, progress: &mut dyn Progress) -> Result<LoadReport, LoadError> {
    let view = LakeView::new(lake.clone(), None);
    let terms = CopyTerms {
        order: &Numbering::new(&view, &Scan::default())?,
        sorts_edges: false,
        has_ids: &|label| lake.has_ids(label),
        time: &|label| view.time(label),
    };
    mangrove_ingest::copy(&view, &terms, graph, progress)
}
