//! The roles of processes in a crash run: they write, read, and open for writing.

use std::path::Path;
use std::thread::sleep;
use std::time::Duration;

use mangrove_directory::{OpenError, OpenOptions};
use mangrove_graph::{ElementId, ElementKind, GraphView, Scan, ScanCursor};
use mangrove_testkit::graphs::Random;
use mangrove_testkit::suite::{Condensing, StoreUnderTest};
use mangrove_testkit::{compare, ledger};

use crate::kill_points;
use crate::support::StoreInDir;
use crate::work::transaction;

/// After this many transactions the store is condensed. The ways to do it take turns.
const CONDENSE_EVERY: u64 = 5;
pub const CONDENSINGS: [Condensing; 5] =
    [Condensing::Seal, Condensing::Seal, Condensing::Merge, Condensing::Seal, Condensing::Compact];
const BACKUP_EVERY: u64 = 16;
/// The number of first transactions, which are loaded in bulk.
const BULK: u64 = 40;
const RETRY: Duration = Duration::from_millis(1);

/// Opens for writing. Waits while another process has it open.
pub fn open_in_turn(dir: &Path, options: OpenOptions) -> Result<StoreInDir, OpenError> {
    loop {
        match StoreInDir::try_open(dir, options) {
            Err(OpenError::Locked { .. }) => sleep(RETRY),
            result => return result,
        }
    }
}

/// Runs one transaction after the other, and reports its progress on standard output.
pub fn write_for_ever(dir: &Path, seed: u64) {
    // Every other writer also seals in the background, far more often than usual.
    let seal_bytes = if std::process::id().is_multiple_of(2) { 150_000 } else { 0 };
    let store = open_in_turn(dir, OpenOptions { seal_bytes, ..OpenOptions::default() }).expect("it opens");
    println!("opened");
    let mut n = ledger::last_transaction(&*store.snapshot().expect("snapshot"));
    if n == 0
        && let Some(mut bulk) = store.begin_bulk().expect("begin")
    {
        println!("bulk {BULK}");
        (1..=BULK).for_each(|n| transaction(bulk.graph(), seed, n));
        bulk.commit().expect("commit");
        println!("{BULK}");
        n = BULK;
    }
    loop {
        n += 1;
        if n.is_multiple_of(ledger::BATCH_EVERY) {
            println!("batch {n}");
        }
        let mut writing = store.begin().expect("begin");
        transaction(writing.graph(), seed, n);
        if n.is_multiple_of(11) {
            drop(writing); // an abort, and then the same again
            writing = store.begin().expect("begin");
            transaction(writing.graph(), seed, n);
        }
        writing.commit().expect("commit");
        println!("{n}");
        if n.is_multiple_of(CONDENSE_EVERY) {
            let condensing = CONDENSINGS[(n / CONDENSE_EVERY) as usize % CONDENSINGS.len()];
            println!("condensing {condensing:?}");
            kill_points::set_condensing(true);
            store.condense(condensing, &|| false).expect("it is condensed");
            kill_points::set_condensing(false);
            println!("condensed");
        }
        if n.is_multiple_of(BACKUP_EVERY) {
            println!("backup {n}");
            store.store().backup(dir.with_file_name(format!("backup-{n}"))).expect("a backup");
            println!("backed-up {n}");
        }
    }
}

/// Takes snapshot after snapshot. Each must be balanced, must not change, and must not be older than the one before.
pub fn read_for_ever(dir: &Path) {
    let mut random = Random::new(std::process::id().into());
    let mut seen = 0;
    loop {
        let store = match StoreInDir::try_open(dir, OpenOptions { read_only: true, ..OpenOptions::default() }) {
            Ok(store) => store,
            // It is being created, or a writer was killed before it filled the file. The next writer will.
            Err(OpenError::NotFound { .. }) => continue,
            Err(error) if error.to_string().contains("too short") => continue,
            Err(error) => panic!("a reader cannot open: {error}"),
        };
        for _ in 0..random.below(40) {
            let view = store.snapshot().expect("a snapshot");
            let n = ledger::last_transaction(&*view);
            assert!(n >= seen, "a reader saw {seen} transactions and then {n}");
            ledger::assert_balanced(&*view);
            stream(&*view, &mut random);
            assert_eq!(ledger::last_transaction(&*view), n, "a snapshot stays as it is");
            println!("{n}");
            seen = n;
        }
    }
}

/// Reads all edges page by page with pauses, like a stream that is read slowly.
fn stream(view: &dyn GraphView, random: &mut Random) {
    let counted: u64 = view.statistics().expect("statistics").edges.iter().sum();
    let pause = Duration::from_micros(random.below(4) * random.below(2_000));
    let (mut cursor, mut found) = (ScanCursor::default(), Vec::new());
    while !cursor.done {
        view.scan_edges(&Scan::default(), &mut cursor, 400, &mut found).expect("a page of edges");
        sleep(pause);
    }
    assert_eq!(found.len() as u64, counted, "edges of a snapshot");
    let accounts = view.schema().label(ElementKind::Vertex, "account").map(|label| vec![label]);
    let vertices = compare::scan_vertices(view, &Scan { labels: accounts, ..Scan::default() }, 64);
    assert!(
        vertices.iter().all(|vertex| view.contains(ElementId::Vertex(*vertex)).expect("contains")),
        "vertices of a snapshot"
    );
}

/// Opens for writing and closes at once, again and again.
pub fn open_for_ever(dir: &Path) {
    let mut random = Random::new(std::process::id().into());
    loop {
        match StoreInDir::try_open(dir, OpenOptions { create: false, ..OpenOptions::default() }) {
            Ok(store) => drop(store.snapshot().expect("a snapshot")),
            Err(OpenError::Locked { .. } | OpenError::NotFound { .. }) => {}
            Err(error) => panic!("an opener cannot open: {error}"),
        }
        sleep(Duration::from_micros(random.below(3_000)));
    }
}
