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
        self.committing(|ingest, commit| ingest.add(rows, commit))
    }

    /// Commits what has gathered.
    pub fn flush(&mut self) -> Result<(), LoadError> {
        self.committing(|ingest, commit| ingest.flush(commit))
    }

    /// What was committed so far.
    pub fn report(&self) -> &LoadReport {
        self.ingest.report()
    }

    fn committing(
        &mut self,
        work: impl FnOnce(&mut Ingest, &mut Commit<'_>) -> Result<(), IngestError>,
    ) -> Result<(), LoadError> {
        let Self { database, ingest } = self;
        database.guarded(&|| "ingesting".into(), || {
            Ok(work(ingest, &mut |batch| {
                let mut transaction = database.begin()?;
                batch(&mut transaction)?;
                Ok(transaction.commit()?)
            })?)
        })
    }
}
