//! Vertices and edges in batches, committed as they come.

use crate::Database;

/// (in progress)
pub struct Ingestion {
    _database: Database,
}

impl Ingestion {
    pub(crate) fn new(database: Database) -> Self {
        Self { _database: database }
    }
}
