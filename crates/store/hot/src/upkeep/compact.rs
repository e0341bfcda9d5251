//! Seals what the tables hold, merges segments, and compacts everything.
//!
//! ```text
//!   1  a commit: every label goes on with a new block; changes to earlier blocks are from now on made as if these were sealed
//!   2  a snapshot: the new segment is written from it, while others read and write
//!   3  a commit: it names the new segment, and no longer the segments that this one replaces
//!   4  small commits: they remove from the tables what the segment holds as well
//! ```
//! The new file is whole and durable before the commit that names it. A crash before that commit leaves the old state, and a file
//! no commit names. A crash after it leaves the files it replaced, and rows in the tables which repeat the segment. The next
//! opening for writing removes such files, by the rules in docs/format/hot.md; the next sealing removes such rows.

use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use mangrove_graph::{Cell, ElementKind, GraphError, LabelId, Result};

use crate::format::block::{Block, SLOTS, slots};
use crate::format::catalog;
use crate::format::key::{Column, KINDS};
use crate::format::named::Named;
use crate::options::Sides;
use crate::read::{HotSnapshot, Reader, labels};
use crate::segments::sealing::{self, Sealing};
use crate::segments::segment::{self, Contents, Segments};
use crate::shared::state::{NewSegment, StoreState};
use crate::system::fault::lmdb;
use crate::turns::turn::{MyTurn, Patience, Writer};
use crate::upkeep::layers::Layers;
use crate::upkeep::room;
use crate::upkeep::trim::Trim;
use crate::write::HotTransaction;

/// A segment is merged with all newer ones while it is at most this many times as large as they are together. So each
/// segment is more than twice as large as all newer ones together, and there are O(log(size)) of them.
const MERGE_RATIO: u64 = 2;
/// The pause between two small commits, in which others may write.
const PAUSE: Duration = Duration::from_micros(200);

/// What a new segment replaces.
#[derive(Clone, Debug)]
enum Of {
    /// What the tables hold.
    Tables,
    /// Adjacent segments, by their positions in order of age.
    Segments(Range<usize>),
    All,
}

impl Of {
    /// The segments that the new one replaces, by their positions among `n`.
    fn replaced(&self, n: usize) -> Range<usize> {
        match self {
            Of::Tables => n..n,
            Of::Segments(range) => range.clone(),
            Of::All => 0..n,
        }
    }

    /// Whether the new segment takes what the tables hold.
    fn has_tables(&self) -> bool {
        !matches!(self, Of::Segments(_))
    }
}

/// Seals and merges as far as it is due, and gives free room back. Returns the bytes that the tables take afterwards.
pub fn keep_up(shared: &Arc<StoreState>, stopped: &dyn Fn() -> bool) -> Result<u64> {
    let patience = Patience { timeout: None, cancelled: stopped };
    // Nobody waits for this, so no other thread helps.
    let work = Work::new(shared, Writer::this_thread(), patience, 0)?;
    if shared.keeper.seal_bytes() > 0 {
        work.seal(shared.keeper.seal_bytes())?;
        work.merge()?;
    }
    // If this fails, the next look does it.
    let _ = work.give_back();
    let txn = shared.readers.begin(&shared.env)?;
    shared.table_bytes(&txn)
}

/// Work on the segments, one at a time.
pub(crate) struct Work<'a> {
    shared: &'a Arc<StoreState>,
    writer: Writer,
    patience: Patience<'a>,
    /// How many threads help to encode.
    threads: usize,
    _alone: MyTurn,
}

impl<'a> Work<'a> {
    pub fn new(shared: &'a Arc<StoreState>, writer: Writer, patience: Patience<'a>, threads: usize) -> Result<Self> {
        if shared.turn.is_of(&writer) {
            return Err(GraphError::OpenAlready); // work on segments may wait for that transaction to end
        }
        let _alone = shared.turn_to_seal(writer.clone(), patience)?;
        Ok(Self { shared, writer, patience, threads, _alone })
    }

    fn begin(&self) -> Result<HotTransaction> {
        HotTransaction::new(self.shared, self.writer.clone(), self.patience)
    }

    /// Seals everything in one segment.
    pub fn all(&self) -> Result<()> {
        self.make(Of::All)
    }

    /// Gives free room in the tables' file back to the file system.
    pub fn give_back(&self) -> Result<()> {
        room::give_back(self.shared, self.writer.clone(), self.patience).map(drop)
    }

    /// Seals the tables if they take at least so many bytes.
    pub fn seal(&self, from_bytes: u64) -> Result<()> {
        let txn = self.shared.readers.begin(&self.shared.env)?;
        let bytes = self.shared.table_bytes(&txn)?;
        drop(txn);
        if bytes < from_bytes { Ok(()) } else { self.make(Of::Tables) }
    }

    /// Merges the segments that are due. Returns by how many their number fell.
    pub fn merge(&self) -> Result<usize> {
        let mut merged = 0;
        while let Some(range) = self.due()? {
            merged += range.len() - 1;
            self.make(Of::Segments(range))?;
        }
        Ok(merged)
    }

    /// The segments that are due to be merged.
    fn due(&self) -> Result<Option<Range<usize>>> {
        let sizes: Vec<u64> =
            HotSnapshot::new(self.shared)?.segments().list().iter().map(|segment| segment.bytes()).collect();
        Ok(due(&sizes))
    }

    fn make(&self, of: Of) -> Result<()> {
        let _span = tracing::info_span!("segment", ?of).entered();
        // Copies of a shard end their labels when their log says so.
        if of.has_tables() && self.shared.sides == Sides::Together {
            let mut t = self.begin()?;
            t.end_all_labels()?;
            t.commit_alone()?;
        }
        let snapshot = HotSnapshot::new(self.shared)?;
        let new = self.shared.new_segment();
        let contents = self.write(&snapshot, &of, &new)?;
        let is_empty = self.name(&snapshot, &of, new, &contents)?;
        tracing::info!(tables_are_empty = is_empty, "the new segment is in place");
        if !is_empty && of.has_tables() {
            self.trim(&snapshot)?;
        }
        Ok(())
    }

    fn write(&self, snapshot: &HotSnapshot, of: &Of, new: &NewSegment) -> Result<Contents> {
        let (reader, list) = (snapshot.reader(), snapshot.segments().list());
        let segments = &list[of.replaced(list.len())];
        let own = |kind, label| -> Result<Range<u64>> {
            let sealed = reader.segments.end(kind, label);
            let to_be = || Ok(catalog::counter(reader.tables, reader.txn, kind, label)?.sealed.max(sealed));
            Ok(match (of, segments) {
                (Of::Tables, _) => sealed..to_be()?,
                (Of::Segments(_), [oldest, .., newest]) => oldest.places(kind, label).start..newest.places(kind, label).end,
                _ => 0..to_be()?,
            })
        };
        let contents = contents(&reader, own)?;
        let sealing = Sealing::create(&new.path(), new.identity, contents.clone(), self.threads)?;
        let layers = Layers { reader, segments, tables: of.has_tables(), contents, cancelled: self.patience.cancelled };
        layers.write(sealing)?;
        Ok(layers.contents)
    }

    /// Names the new segment in place of those it replaces. Empties the tables at once if nothing was written since the
    /// snapshot, and the new segment has all that the snapshot had. Returns whether it did.
    fn name(&self, snapshot: &HotSnapshot, of: &Of, new: NewSegment, contents: &Contents) -> Result<bool> {
        let mut t = self.begin()?;
        let mut list = snapshot.segments().list().to_vec();
        if !snapshot.segments().are(&catalog::segments(&self.shared.tables, t.txn())?) {
            return Err(GraphError::Invalid("another operation replaced the segments in the meantime: try again".into()));
        }
        let replaced = of.replaced(list.len());
        let has_all = replaced == (0..list.len()) && !list.is_empty();
        list.splice(replaced, [Arc::new(new.opened()?)]);
        if has_all {
            t.forget_dead(snapshot)?;
        }
        let is_quiet = t.txn().id() == snapshot.commit_number() + 1;
        let is_all = is_quiet && of.has_tables() && t.has_nothing_beyond(contents)?;
        if is_all {
            t.empty()?;
        }
        t.stand_on(new, Segments::new(list))?;
        Ok(is_all)
    }

    /// Removes from the tables what is sealed, in small commits.
    fn trim(&self, snapshot: &HotSnapshot) -> Result<()> {
        let mut trim = Trim::new(snapshot);
        loop {
            let mut t = self.begin()?;
            let goes_on = trim.step(&mut t)?;
            t.commit_alone()?;
            if !goes_on {
                return Ok(());
            }
            if (self.patience.cancelled)() {
                return Ok(()); // the next sealing removes the rest
            }
            std::thread::sleep(PAUSE);
        }
    }
}

/// Which segments to merge, given the sizes of all, oldest first. The oldest one that is small enough for [`MERGE_RATIO`] is
/// merged with all newer ones.
fn due(sizes: &[u64]) -> Option<Range<usize>> {
    let newer = |at: usize| sizes[at + 1..].iter().sum::<u64>();
    (0..sizes.len().saturating_sub(1)).find(|at| sizes[*at] <= MERGE_RATIO * newer(*at)).map(|at| at..sizes.len())
}

fn contents(reader: &Reader<'_>, own: impl Fn(ElementKind, LabelId) -> Result<Range<u64>>) -> Result<Contents> {
    let mut places = std::collections::BTreeMap::new();
    for kind in KINDS {
        for label in labels(reader, kind) {
            let own = own(kind, label)?;
            if own.end > 0 {
                places.insert((kind, label), own);
            }
        }
    }
    Ok(Contents::new(places))
}

impl HotTransaction {
    /// Lets every label go on with a new block, so that the places to seal end with a whole block.
    pub(crate) fn end_all_labels(&mut self) -> Result<()> {
        for kind in KINDS {
            for label in labels(&self.reader(), kind) {
                let counter = self.counter_mut(kind, label)?;
                counter.next = counter.next.next_multiple_of(SLOTS as u64);
                counter.sealed = counter.next;
            }
        }
        Ok(())
    }

    /// Whether no label has had more elements than a segment of these contents covers.
    fn has_nothing_beyond(&self, contents: &Contents) -> Result<bool> {
        for kind in KINDS {
            for label in labels(&self.reader(), kind) {
                if self.counter(kind, label)?.next > contents.places(kind, label).end {
                    return Ok(false);
                }
            }
        }
        Ok(true)
    }

    /// Seals everything into the first segment of a store, which may be another store than this one. Later elements begin
    /// new blocks.
    pub(crate) fn seal(&mut self, new: &NewSegment, cancelled: &dyn Fn() -> bool) -> Result<()> {
        self.end_all_labels()?;
        let ends = |kind, label| Ok(0..self.counter(kind, label)?.sealed);
        let contents = contents(&self.reader(), ends)?;
        let sealing = Sealing::create(&new.path(), new.identity, contents.clone(), sealing::threads())?;
        Layers { reader: self.reader(), segments: &[], tables: true, contents, cancelled }.write(sealing)
    }

    /// Commits, and makes these segments, one of which is new, the only ones. Then removes the files of the segments that
    /// are no longer among them.
    pub(crate) fn stand_on(mut self, mut new: NewSegment, segments: Segments) -> Result<()> {
        let shared = self.shared().clone();
        let before = catalog::segments(&shared.tables, self.txn())?;
        catalog::put_segments(&shared.tables, self.txn_mut(), &segments.fingerprints())?;
        new.offer();
        // Sync even with relaxed durability: the files that the previous commit names are about to be removed.
        self.commit_alone().and_then(|_| shared.env.force_sync().map_err(lmdb)).inspect_err(|_| new.withdraw())?;
        let is_kept = |named: &Named| segments.list().iter().any(|segment| segment.number == named.number);
        let gone = before.iter().filter(|named| !is_kept(named));
        gone.for_each(|named| segment::remove(shared.env.path(), named.number));
        Ok(())
    }

    /// Empties the tables, given that all they hold is sealed. Marks of removed elements stay.
    pub fn empty(&mut self) -> Result<()> {
        let tables = self.shared().tables;
        let mut marks = Vec::new();
        for kind in KINDS {
            for label in labels(&self.reader(), kind) {
                let column = Column::dead(kind, label);
                let (mut blocks, mut next) = (self.reader().column(column), 0);
                while let Some((block, _)) = blocks.block_from(next)? {
                    marks.extend(self.reader().block_bytes(column, block)?.map(|bytes| (column.key(block), bytes.to_vec())));
                    next = block + 1;
                }
            }
        }
        for table in [tables.columns, tables.out, tables.incoming, tables.ids, tables.edge_ids, tables.index] {
            table.clear(self.txn_mut())?;
        }
        for (key, bytes) in marks {
            tables.columns.put(self.txn_mut(), &key, &bytes)?;
        }
        Ok(())
    }

    /// Removes the marks of removed elements that a snapshot had. A segment made of everything does not have these elements
    /// any more.
    fn forget_dead(&mut self, snapshot: &HotSnapshot) -> Result<()> {
        for kind in KINDS {
            for label in labels(&snapshot.reader(), kind) {
                let column = Column::dead(kind, label);
                let end = snapshot.segments().end(kind, label) / SLOTS as u64;
                let (mut blocks, mut next) = (snapshot.reader().column(column), 0);
                while let Some((block, then)) = blocks.block_from(next)?.filter(|(block, _)| *block < end) {
                    let marked = self.reader().block_bytes(column, block)?.map_or(Ok(0), Block::presence)?;
                    let forgotten = slots(marked & then.present).map(|slot| (slot, Cell::Absent));
                    self.edit_block(column, block, forgotten)?;
                    next = block + 1;
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::HotOptions;
    use crate::store::Hot;

    #[test]
    fn only_the_file_of_a_segment_no_commit_may_name_is_removed() {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let hot = Hot::open(directory.path(), &HotOptions::default()).expect("a store");
        hot.compact(Writer::this_thread(), Patience::ENDLESS).expect("a compaction");
        let made = |new: &NewSegment| {
            let path = segment::path(&hot.path(), new.number);
            std::fs::write(&path, b"in work").expect("a file");
            path
        };
        let (given_up, mut withdrawn, mut offered) =
            (hot.shared().new_segment(), hot.shared().new_segment(), hot.shared().new_segment());
        let paths = [&given_up, &withdrawn, &offered].map(made);
        withdrawn.offer();
        withdrawn.withdraw();
        offered.offer();
        drop((given_up, withdrawn, offered));
        assert_eq!(paths.each_ref().map(|path| path.exists()), [false, false, true]);
        let at = hot.path();
        drop(hot);
        let hot = Hot::open(&at, &HotOptions::default()).expect("the store again");
        assert!(!paths[2].exists(), "opening for writing knows that no commit named it");
        assert!(hot.check().expect("a check").is_clean());
    }

    #[test]
    fn segments_are_merged_so_that_each_is_much_larger_than_all_newer_ones() {
        assert_eq!(due(&[]), None);
        assert_eq!(due(&[7]), None);
        assert_eq!(due(&[100, 10]), None);
        assert_eq!(due(&[100, 10, 10]), Some(1..3));
        assert_eq!(due(&[100, 30, 20]), Some(0..3));
        // Whatever is sealed, there are few segments, and each takes part in few merges.
        let (mut sizes, mut merged) = (Vec::new(), 0);
        for _ in 0..10_000 {
            sizes.push(1);
            while let Some(range) = due(&sizes) {
                let sum = sizes[range.clone()].iter().sum::<u64>();
                merged += sum;
                sizes.splice(range, [sum]);
            }
            assert!(sizes.len() <= 10, "{sizes:?}");
        }
        assert!(merged < 10_000 * 14, "{merged}");
    }
}
