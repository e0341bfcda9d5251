//! What a graph knows of itself: names, types, declarations, indexes and counts. Planning a query needs no more.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::error::Result;
use crate::id::{ElementKind, LabelId};
use crate::predicate::Predicate;
use crate::schema::{PropertyId, Schema};

/// Counts for the optimiser and for `stats`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Statistics {
    /// Live vertices by label id.
    pub vertices: Vec<u64>,
    /// Live edges by label id.
    pub edges: Vec<u64>,
}

impl Statistics {
    /// The counts of one kind, by label id.
    pub fn of(&self, kind: ElementKind) -> &[u64] {
        match kind {
            ElementKind::Vertex => &self.vertices,
            ElementKind::Edge => &self.edges,
        }
    }

    pub fn count(&self, kind: ElementKind, label: LabelId) -> u64 {
        self.of(kind).get(usize::from(label.0)).copied().unwrap_or(0)
    }
}

/// Who is asked by a search.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Reach {
    /// One store, which has the whole graph.
    Here,
    /// The directory, and then the shards that it names.
    Directory,
    EveryShard,
}

/// What a query can be planned from, without reading an element.
pub trait Catalog {
    /// Names, types and declarations. Clone the `Arc` to keep them longer than the view.
    fn schema(&self) -> &Arc<Schema>;

    fn statistics(&self) -> Result<Arc<Statistics>>;

    /// Whether a search for this property can answer the predicate. Does not run the search.
    fn is_searchable(&self, of: PropertyId, predicate: &Predicate) -> bool;

    /// About how many elements a search would look at. Returns a large number if counting takes long.
    fn candidates(&self, _: PropertyId, _: &Predicate) -> Result<u64> {
        Ok(u64::from(u32::MAX))
    }

    /// Who is asked by a search for this property.
    fn reach(&self, _: PropertyId, _: &Predicate) -> Reach {
        Reach::Here
    }
}
