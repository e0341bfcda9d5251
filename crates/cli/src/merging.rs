//! What a load does with elements that the graph has already, as options of a command.

use clap::{Args, ValueEnum};
use mangrove::ingest::{Merging, OnDuplicate, OnExists};

#[derive(Args)]
pub struct MergeOptions {
    /// If a vertex id is taken: error (bad row), skip, update (set the properties), replace (also remove all others)
    #[arg(long, value_enum, default_value = "error")]
    on_exists: Exists,
    /// If an edge has the label and ends of another one: add (keep both), skip, update (set its properties)
    #[arg(long, value_enum, default_value = "add")]
    on_duplicate: Duplicate,
    /// Tell edges with the same label and ends apart by this column
    #[arg(long, value_name = "COLUMN")]
    edge_key: Option<String>,
    /// Create the vertices that edges name and that do not exist
    #[arg(long)]
    create_missing: bool,
}

#[derive(Clone, Copy, PartialEq, ValueEnum)]
enum Exists {
    Error,
    Skip,
    Update,
    Replace,
}

#[derive(Clone, Copy, PartialEq, ValueEnum)]
enum Duplicate {
    Add,
    Skip,
    Update,
}

impl MergeOptions {
    pub fn is_default(&self) -> bool {
        (self.on_exists, self.on_duplicate) == (Exists::Error, Duplicate::Add)
            && self.edge_key.is_none()
            && !self.create_missing
    }

    pub fn merging(&self) -> Merging {
        Merging {
            on_exists: match self.on_exists {
                Exists::Error => OnExists::Error,
                Exists::Skip => OnExists::Skip,
                Exists::Update => OnExists::Update,
                Exists::Replace => OnExists::Replace,
            },
            on_duplicate: match self.on_duplicate {
                Duplicate::Add => OnDuplicate::Add,
                Duplicate::Skip => OnDuplicate::Skip,
                Duplicate::Update => OnDuplicate::Update,
            },
            edge_key: self.edge_key.as_deref().map(Into::into),
            create_missing: self.create_missing,
        }
    }
}
