//! Bulk loads. A load writes to tables of its own, which nobody else sees, and then seals them into a segment.
//!
//! ```text
//!   load ──▶ scratch (an LMDB environment of its own) ── sealed ──▶ <number>.seg
//!   tables ◀── schema, counters, the segment's number: one commit
//! ```
//! So the store's tables hold only what changes after the load, and the disk keeps only the segment. LMDB's tree does the
//! sorting. What does not fit in memory spills into the scratch file. The file is removed with the transaction or, after a
//! crash, when the database is next opened for writing.

use std::sync::Arc;

use mangrove_graph::{Catalog, GraphError, GraphView, GraphWrite, Result};

use crate::format::catalog;
use crate::lmdb::table::{SUMS, Table, Tables};
use crate::segments::segment::{self, Segments};
use crate::store::Hot;
use crate::system::fault::lmdb;
use crate::turns::turn::{Patience, Writer};
use crate::write::HotTransaction;

/// A load under way. Dropping it leaves the store as it was.
pub struct Bulk {
    scratch: HotTransaction,
    target: HotTransaction,
    layout: Option<String>,
}

impl HotTransaction {
    /// Turns a transaction that has changed nothing into a bulk load.
    ///
    /// # Errors
    /// [`GraphError::Invalid`] if the store is not empty, or the transaction has changed something; [`GraphError::Storage`]
    /// if there is no room.
    pub fn into_bulk(self) -> Result<Bulk> {
        if !self.is_unused()? {
            return Err(GraphError::Invalid("a bulk load needs a graph without vertices and edges".into()));
        }
        Ok(Bulk { scratch: self.scratch()?, target: self, layout: None })
    }

    /// A transaction on new tables with the schema of this one.
    fn scratch(&self) -> Result<HotTransaction> {
        let directory = segment::scratch(self.shared().env.path());
        let hot = Hot::scratch(&directory, self.reader().schema.id_space, self.shared().sides)?;
        let mut begun = hot.begin_for(Writer::this_thread(), Patience::ENDLESS)?;
        copy(self, &mut begun, |tables| tables.meta, |key| key != SUMS)?;
        copy(self, &mut begun, |tables| tables.schema, |_| true)?;
        begun.commit()?;
        hot.begin_for(Writer::this_thread(), Patience::ENDLESS)
    }

    /// Whether the store has no vertices, no edges and no segments, and the transaction has changed nothing.
    pub fn is_unused(&self) -> Result<bool> {
        let counts = self.statistics()?;
        let any = counts.vertices.iter().chain(&counts.edges).any(|n| *n > 0);
        Ok(!any && self.reader().segments.is_empty() && self.is_unchanged())
    }
}

impl Bulk {
    /// The transaction to which the load writes.
    pub fn graph(&mut self) -> &mut HotTransaction {
        &mut self.scratch
    }

    /// Writes what was loaded anew, in an order named `layout`: `write` reads it, and writes the same graph to the empty one that takes its
    /// place.
    pub fn rewrite(
        &mut self,
        layout: &str,
        write: &mut dyn FnMut(&dyn GraphView, &mut dyn GraphWrite) -> Result<()>,
    ) -> Result<()> {
        let mut again = self.target.scratch()?;
        write(&self.scratch, &mut again)?;
        self.scratch = again;
        self.note_layout(layout);
        Ok(())
    }

    /// Notes that vertices are loaded in an order of that name.
    pub fn note_layout(&mut self, layout: &str) {
        self.layout = Some(layout.to_owned());
    }

    /// Seals what was loaded and makes it part of the store, durably. Returns the segment's size in bytes.
    ///
    /// # Errors
    /// Those of a commit. The store then stays as it was.
    pub fn commit(self, cancelled: &dyn Fn() -> bool) -> Result<u64> {
        let Self { mut scratch, mut target, layout } = self;
        scratch.must_be_sound()?;
        scratch.new_ones_have_all()?;
        let sources = scratch.sources()?;
        let shared = target.shared().clone();
        let new = shared.new_segment();
        let taken = scratch.seal(&new, cancelled).and_then(|()| {
            target.take_over(&mut scratch)?;
            target.empty()
        });
        drop(scratch);
        taken?;
        for (name, position) in sources {
            target.put_source(&name, &position)?;
        }
        if let Some(layout) = layout {
            let tables = shared.tables;
            catalog::put_layout(&tables, target.txn_mut(), &layout)?;
        }
        let segment = new.opened()?;
        let bytes = segment.bytes();
        target.stand_on(new, Segments::new(vec![Arc::new(segment)]))?;
        Ok(bytes)
    }
}

/// Copies the wanted entries of a table of one store into another store.
fn copy(
    from: &HotTransaction,
    to: &mut HotTransaction,
    table: impl Fn(&Tables) -> Table,
    wanted: impl Fn(&[u8]) -> bool,
) -> Result<()> {
    let (source, target) = (table(&from.shared().tables), table(&to.shared().tables));
    for record in source.iter(from.txn()).map_err(lmdb)? {
        let (key, value) = record.map_err(lmdb)?;
        if wanted(key) {
            target.put(to.txn_mut(), key, value)?;
        }
    }
    Ok(())
}
