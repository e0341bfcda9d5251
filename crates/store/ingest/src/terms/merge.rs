//! Options for elements of a load that the graph already has, and for ends of edges that it lacks.

use std::sync::Arc;

/// How a load merges with the graph.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Merging {
    pub on_exists: OnExists,
    pub on_duplicate: OnDuplicate,
    /// The property that distinguishes edges with the same label and ends. Without one, such edges are the same edge.
    pub edge_key: Option<Arc<str>>,
    /// Whether to create missing ends of edges.
    pub create_missing: bool,
}

/// What to do with a vertex whose id a vertex of the same label has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnExists {
    /// Reject the row.
    #[default]
    Error,
    /// Leave the vertex unchanged.
    Skip,
    /// Set the properties of the row. Keep all others.
    Update,
    /// Set the properties of the row. Remove all others. Keep the edges.
    Replace,
}

/// What to do with an edge that the graph already has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnDuplicate {
    /// Add it beside the other.
    #[default]
    Add,
    /// Leave the edge unchanged.
    Skip,
    /// Set the properties of the row. Keep all others.
    Update,
}

impl OnExists {
    pub const NAMES: [&'static str; 4] = ["error", "skip", "update", "replace"];

    pub fn from_name(name: &str) -> Option<Self> {
        let all = [OnExists::Error, OnExists::Skip, OnExists::Update, OnExists::Replace];
        Self::NAMES.iter().position(|known| *known == name).map(|at| all[at])
    }
}

impl OnDuplicate {
    pub const NAMES: [&'static str; 3] = ["add", "skip", "update"];

    pub fn from_name(name: &str) -> Option<Self> {
        let all = [OnDuplicate::Add, OnDuplicate::Skip, OnDuplicate::Update];
        Self::NAMES.iter().position(|known| *known == name).map(|at| all[at])
    }
}

/// How many elements of a load the graph already had.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Merged {
    /// Rows that changed some property.
    pub updated: u64,
    /// Rows whose values the graph already had.
    pub unchanged: u64,
    /// Rows that were skipped.
    pub skipped: u64,
}

impl Merged {
    pub fn add(&mut self, other: Self) {
        self.updated += other.updated;
        self.unchanged += other.unchanged;
        self.skipped += other.skipped;
    }
}
