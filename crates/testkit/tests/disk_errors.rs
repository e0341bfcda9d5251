//! A disk that fails while LMDB writes the page that makes a commit. LMDB then gives up its environment. Earlier commits can still
//! be read, a write reports what to do, and opening again works.
//!
//! This program defines the C library's `pwrite`, which the linker prefers for LMDB too (Linux). On request it fails the write of a
//! meta page.

#![cfg(target_os = "linux")]

mod support;

use std::ffi::{c_int, c_void};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use libc::{off_t, size_t, ssize_t};
use mangrove_directory::{OpenOptions, Patience, Store, Writer};
use mangrove_graph::{Catalog, ElementKind, GraphView, GraphWrite};
use mangrove_testkit::suite::StoreUnderTest;
use mangrove_testkit::{Oracle, compare, ledger};
use support::StoreInDir;

static DISK_FAILS: AtomicBool = AtomicBool::new(false);

/// LMDB's two meta pages come first in its file. LMDB writes only a part of a meta page, but whole pages of everything else.
const META_OFFSET_MAX: i64 = 2 * 4096;
const META_BYTES_MAX: usize = 512;

fn write_at(fd: c_int, from: *const c_void, n: size_t, at: off_t) -> ssize_t {
    if at < META_OFFSET_MAX && n < META_BYTES_MAX && DISK_FAILS.load(Ordering::SeqCst) {
        // SAFETY: each thread has its own number of the last error.
        unsafe { *libc::__errno_location() = libc::EIO };
        return -1;
    }
    // SAFETY: the kernel gets the arguments as the caller passed them.
    unsafe { libc::syscall(libc::SYS_pwrite64, fd, from, n, at) as ssize_t }
}

/// # Safety
/// The same as for the function of this name in the C library.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pwrite(fd: c_int, from: *const c_void, n: size_t, at: off_t) -> ssize_t {
    write_at(fd, from, n, at)
}

/// # Safety
/// The same as for the function of this name in the C library.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pwrite64(fd: c_int, from: *const c_void, n: size_t, at: off_t) -> ssize_t {
    write_at(fd, from, n, at)
}

fn commit(store: &StoreInDir, n: u64) -> mangrove_graph::Result<()> {
    let mut t = store.begin()?;
    ledger::transaction(t.graph(), 3, n)?;
    t.commit()
}

fn assert_holds(view: &dyn GraphView, transactions: u64) {
    let mut expected = Oracle::default();
    (1..=transactions).for_each(|n| ledger::transaction(&mut expected, 3, n).expect("the oracle takes it"));
    compare::assert_same(view, &expected);
}

/// The tests of this file break the same disk.
static DISK: Mutex<()> = Mutex::new(());

/// Each brief writer of a group learns that the commit of the group failed.
#[test]
fn a_failed_commit_of_a_group_fails_for_each_writer() {
    let _disk = DISK.lock();
    let home = tempfile::tempdir().expect("a temporary directory");
    let store = Store::open(home.path().join("store"), &OpenOptions::default()).expect("it opens");
    let waiting = AtomicUsize::new(0);
    let begin = || {
        let is_new = AtomicBool::new(true);
        let cancelled = || {
            // Whoever asks whether to go on waits already.
            waiting.fetch_add(usize::from(is_new.swap(false, Ordering::SeqCst)), Ordering::SeqCst);
            false
        };
        let patience = Patience { timeout: None, cancelled: &cancelled };
        store.begin_for(Writer { is_brief: true, ..Writer::this_thread() }, patience)
    };
    let add = |mut t: mangrove_directory::Transaction, id: i64| -> mangrove_graph::Result<()> {
        let label = t.ensure_label(ElementKind::Vertex, "person")?;
        t.add_vertices(label, &[Some(id.into())], &mut Vec::new())?;
        t.commit()
    };
    add(begin().expect("a transaction"), 0).expect("a commit");
    let leading = begin().expect("a transaction");
    let failed = std::thread::scope(|scope| {
        let writers: Vec<_> = (2..=8).map(|id| scope.spawn(move || begin().and_then(|t| add(t, id)).is_err())).collect();
        while waiting.load(Ordering::SeqCst) < writers.len() {
            std::thread::sleep(Duration::from_millis(1));
        }
        DISK_FAILS.store(true, Ordering::SeqCst);
        let first = add(leading, 1).is_err();
        [first]
            .into_iter()
            .chain(writers.into_iter().map(|writer| writer.join().expect("it ends")))
            .filter(|failed| *failed)
            .count()
    });
    DISK_FAILS.store(false, Ordering::SeqCst);
    assert_eq!(failed, 8, "nobody's commit is acknowledged");
    drop(store);
    let store = Store::open(home.path().join("store"), &OpenOptions::default()).expect("it opens");
    let view = store.snapshot().expect("a snapshot");
    assert_eq!(view.statistics().expect("statistics").vertices.iter().sum::<u64>(), 1);
    assert!(store.check().expect("check").is_clean());
}

#[test]
fn a_failed_write_of_a_meta_page_loses_nothing_and_says_what_to_do() {
    let _disk = DISK.lock();
    let home = tempfile::tempdir().expect("a temporary directory");
    let dir = home.path().join("store");
    let store = StoreInDir::open(&dir);
    commit(&store, 1).expect("a commit");
    let before = store.snapshot().expect("a snapshot");
    DISK_FAILS.store(true, Ordering::SeqCst);
    let error = commit(&store, 2).expect_err("the disk fails").to_string();
    assert!(error.contains("Input/output error"), "{error}");
    DISK_FAILS.store(false, Ordering::SeqCst);
    assert_holds(&*before, 1);
    let says_what_to_do = |error: mangrove_graph::GraphError| {
        let error = error.to_string();
        assert!(error.contains("close the database and open it again"), "{error}");
    };
    for _ in 0..10 {
        says_what_to_do(commit(&store, 2).expect_err("a write"));
        assert_holds(&*store.snapshot().expect("reading goes on"), 1);
    }
    let snapshots: Vec<_> = (0..4).map(|_| store.snapshot().expect("a few at once")).collect();
    says_what_to_do(store.snapshot().map(drop).expect_err("one too many"));
    assert_holds(&*snapshots[3], 1);
    drop(snapshots);
    assert_eq!(store.check().expect("a check"), [""; 0]);
    drop(before);
    assert_holds(&*store.snapshot().expect("one more"), 1);
    drop(store);
    let store = StoreInDir::open(&dir);
    assert_holds(&*store.snapshot().expect("a snapshot"), 1);
    commit(&store, 2).expect("a commit");
    assert_holds(&*store.snapshot().expect("a snapshot"), 2);
    assert_eq!(store.check().expect("a check"), [""; 0]);
}
