//! Loads a lake into a graph that can be written.

use std::sync::Arc;

use mangrove_graph::{Catalog, GraphWrite, KeyId, LabelId, Numbering, Scan};
use mangrove_ingest::{CopyTerms, LoadError, LoadReport, Progress};

use crate::graph::{Lake, LakeView};

/// Copies all vertices and edges with their ids, labels, properties and types. The caller commits, or rolls back after an error.
///
/// O(elements).
pub fn load(lake: &Arc<Lake>, graph: &mut dyn GraphWrite, progress: &mut dyn Progress) -> Result<LoadReport, LoadError> {
    let view = LakeView::new(lake.clone(), None);
    let time = |label: LabelId| -> Option<KeyId> { lake.time(label).and_then(|name| view.schema().key(name)) };
    let terms = CopyTerms {
        order: &Numbering::new(&view, &Scan::default())?,
        sorts_edges: false,
        has_ids: &|label| lake.has_ids(label),
        keeps_generated: true,
        time: &time,
    };
    mangrove_ingest::copy(&view, &terms, graph, progress)
}
