//! Vertices and edges in batches, committed as they come.

use mangrove_ingest::{Commit, Ingest, IngestOptions, LoadError as IngestError, LoadReport, TableInput};

use crate::Database;
use crate::error::LoadError;

/// Takes rows of vertices and edges, and commits them batch by batch: the fast way to write many from a program.
///
/// A batch is committed whole or not at all. When one fails its rows are gone, those of earlier batches are stored. Rows that
/// were not [`flush`](Self::flush)ed when it is dropped are gone too.
pub struct Ingestion {
    database: Database,
    ingest: Ingest,
}

impl Ingestion {
    pub(crate) fn new(database: Database, options: IngestOptions) -> Self {
        Self { database, ingest: Ingest::new(options) }
    }

    /// Takes rows; commits if enough have gathered.
    pub fn add(&mut self, rows: TableInput) -> Result<(), LoadError> {
        let schema = self.database.read_schema()?;
        committing(&self.database, |commit| self.ingest.add(rows, &schema, commit))
    }

    /// Commits what has gathered.
    pub fn flush(&mut self) -> Result<(), LoadError> {
        committing(&self.database, |commit| self.ingest.flush(commit))
    }

    /// Ends it: commits what has gathered. Fails, and commits nothing of that, if there were edges to be ordered by a column that none of
    /// them had; what was committed before stays. [`flush`](Self::flush) does not ask, since others may follow. Gives what was committed in all.
    pub fn finish(self) -> Result<LoadReport, LoadError> {
        committing(&self.database, |commit| self.ingest.finish(commit))
    }

    /// What was committed so far.
    pub fn report(&self) -> &LoadReport {
        self.ingest.report()
    }
}

fn committing<T>(database: &Database, work: impl FnOnce(&mut Commit<'_>) -> Result<T, IngestError>) -> Result<T, LoadError> {
    database.guarded(&|| "ingesting".into(), || {
        Ok(work(&mut |batch| {
            let mut transaction = database.begin()?;
            batch(&mut transaction)?;
            Ok(transaction.commit()?)
        })?)
    })
}
