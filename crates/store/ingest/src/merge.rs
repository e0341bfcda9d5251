//! What becomes of elements of a load that are in the graph already, and of ends of edges that are not.

use std::sync::Arc;

/// How a load is joined to what the graph has.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Merging {
    pub on_exists: OnExists,
    pub on_duplicate: OnDuplicate,
    /// The property that tells edges of the same label and ends from one another; without one they are the same edge.
    pub edge_key: Option<Arc<str>>,
    /// Ends of edges that are not there are made.
    pub create_missing: bool,
}

/// What becomes of a vertex whose id is taken by a vertex of the same label.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnExists {
    /// It is a bad row.
    #[default]
    Error,
    /// It stays as it is in the graph.
    Skip,
    /// It gets the properties of the row. What the row lacks stays.
    Update,
    /// It gets the properties of the row, and loses all others. Its edges stay.
    Replace,
}

/// What becomes of an edge that the graph has already.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnDuplicate {
    /// It is added beside the other.
    #[default]
    Add,
    /// It stays as it is in the graph.
    Skip,
    /// It gets the properties of the row. What the row lacks stays.
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

/// How many elements of a load were in the graph already.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Merged {
    /// Some property changed.
    pub updated: u64,
    /// The graph had all that the row says.
    pub unchanged: u64,
    /// The row was passed over.
    pub skipped: u64,
}

impl Merged {
    pub fn add(&mut self, other: Self) {
        self.updated += other.updated;
        self.unchanged += other.unchanged;
        self.skipped += other.skipped;
    }
}
