//! Several processes on one store. Readers beside a writer each have a whole snapshot, and there are never two writers.

mod support;

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use mangrove_directory::{OpenError, OpenOptions};
use mangrove_graph::{Cell, ElementId, ElementKind, ExternalId, Value};
use mangrove_testkit::suite::{Condensing, StoreUnderTest};
use mangrove_testkit::{Oracle, compare, ledger};
use support::StoreInDir;

const ROLE: &str = "MANGROVE_PROCESS_ROLE";
const DIR: &str = "MANGROVE_PROCESS_DIR";
const SEED: u64 = 11;
const TRANSACTIONS: u64 = 120;

/// The work of the children. Does nothing when run as a test.
#[test]
fn child() {
    let (Ok(role), Ok(dir)) = (std::env::var(ROLE), std::env::var(DIR)) else { return };
    match role.as_str() {
        "reader" => read_until_the_end(Path::new(&dir)),
        "holder" => hold(Path::new(&dir)),
        "pinner" => pin(Path::new(&dir)),
        "filler" => fill(Path::new(&dir)),
        other => panic!("no role {other:?}"),
    }
}

fn start(role: &str, dir: &Path) -> Child {
    Command::new(std::env::current_exe().expect("the path of this program"))
        .args(["child", "--exact", "--nocapture"])
        .env(ROLE, role)
        .env(DIR, dir)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the child starts")
}

/// Takes snapshots until it sees the last transaction. Each must be balanced, and must not change however many transactions the
/// writer does meanwhile. A few are compared with the oracle in full.
fn read_until_the_end(dir: &Path) {
    let store = StoreInDir::try_open(dir, OpenOptions { read_only: true, ..OpenOptions::default() }).expect("open");
    let (mut oracle, mut seen, mut snapshots) = (Oracle::default(), 0, 0);
    let deadline = Instant::now() + Duration::from_secs(60);
    while seen < TRANSACTIONS {
        assert!(Instant::now() < deadline, "the writer stopped at {seen}");
        let view = store.snapshot().expect("snapshot");
        let n = ledger::last_transaction(&*view);
        assert!(n >= seen, "time does not run backwards: {n} after {seen}");
        ledger::assert_balanced(&*view);
        if snapshots % 10 == 0 {
            for n in ledger::last_transaction(&oracle) + 1..=n {
                ledger::transaction(&mut oracle, SEED, n).expect("the oracle takes it");
            }
            compare::assert_same(&*view, &oracle);
        }
        assert_eq!(ledger::last_transaction(&*view), n, "a snapshot stays as it is");
        (seen, snapshots) = (n, snapshots + 1);
    }
    assert!(snapshots > 3, "it read while the writer wrote");
}

#[test]
fn readers_in_other_processes_see_whole_transactions() {
    let home = tempfile::tempdir().unwrap();
    let store = StoreInDir::open(home.path());
    let readers: Vec<Child> = (0..2).map(|_| start("reader", home.path())).collect();
    for n in 1..=TRANSACTIONS {
        let mut transaction = store.begin().unwrap();
        ledger::transaction(transaction.graph(), SEED, n).unwrap();
        transaction.commit().unwrap();
        if n % 10 == 0 {
            let how = [Condensing::Seal, Condensing::Seal, Condensing::Merge, Condensing::Compact][n as usize / 10 % 4];
            store.condense(how, &|| false).unwrap();
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    for reader in readers {
        let output = reader.wait_with_output().unwrap();
        let text = String::from_utf8_lossy(&output.stderr).into_owned() + &String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success(), "{text}");
    }
    assert_eq!(store.check().unwrap(), Vec::<String>::new());
}

#[test]
fn reader_threads_see_whole_transactions() {
    let home = tempfile::tempdir().unwrap();
    let store = StoreInDir::open(home.path()).store().clone();
    std::thread::scope(|scope| {
        for _ in 0..3 {
            let store = store.clone();
            scope.spawn(move || {
                let mut seen = 0;
                while seen < TRANSACTIONS {
                    let view = store.snapshot().unwrap();
                    let n = ledger::last_transaction(&view);
                    assert!(n >= seen);
                    ledger::assert_balanced(&view);
                    assert_eq!(ledger::last_transaction(&view), n, "a snapshot stays as it is");
                    seen = n;
                }
            });
        }
        for n in 1..=TRANSACTIONS {
            let mut transaction = store.begin().unwrap();
            ledger::transaction(&mut transaction, SEED, n).unwrap();
            transaction.commit().unwrap();
        }
    });
}

/// Keeps the store open for writing until the test tells it to end.
fn hold(dir: &Path) {
    let _store = StoreInDir::open(dir);
    println!("holding");
    std::io::stdin().read_line(&mut String::new()).expect("a line to end by");
}

#[test]
fn a_second_writer_is_told_who_is_the_first() {
    let home = tempfile::tempdir().unwrap();
    let mut holder = start("holder", home.path());
    let lines = BufReader::new(holder.stdout.take().unwrap()).lines();
    assert!(lines.map_while(Result::ok).any(|line| line.ends_with("holding")), "the first writer opened the store");
    let refused = StoreInDir::try_open(home.path(), OpenOptions::default()).map(|_| ()).unwrap_err();
    let told = refused.to_string();
    let OpenError::Locked { holder: first, .. } = refused else { panic!("{told}") };
    assert_eq!(first.process_id, Some(holder.id()), "{told}");
    assert!(told.contains(&holder.id().to_string()) && told.contains("read-only"), "{told}");
    StoreInDir::try_open(home.path(), OpenOptions { read_only: true, ..OpenOptions::default() })
        .expect("readers may come in");

    holder.kill().unwrap();
    holder.wait().unwrap();
    StoreInDir::try_open(home.path(), OpenOptions::default()).expect("a dead process holds no lock");
}

/// Holds a snapshot until it is killed.
fn pin(dir: &Path) {
    let store = StoreInDir::try_open(dir, OpenOptions { read_only: true, ..OpenOptions::default() }).expect("open");
    let view = store.snapshot().expect("snapshot");
    println!("\npinned");
    std::io::stdin().read_line(&mut String::new()).expect("a line");
    drop(view);
}

/// Takes all slots for readers, and holds them until the test tells it to end.
fn fill(dir: &Path) {
    let store = StoreInDir::try_open(dir, OpenOptions { read_only: true, ..OpenOptions::default() }).expect("open");
    let mut all = Vec::new();
    while let Ok(view) = store.snapshot() {
        all.push(view);
    }
    println!("\nfull");
    std::io::stdin().read_line(&mut String::new()).expect("a line");
}

#[test]
fn no_number_of_readers_keeps_a_writer_from_opening() {
    let home = tempfile::tempdir().unwrap();
    drop(StoreInDir::open(home.path()));
    let mut filler = start("filler", home.path());
    let mut lines = BufReader::new(filler.stdout.take().unwrap()).lines();
    assert!(lines.any(|line| line.unwrap() == "full"));
    let store = StoreInDir::open(home.path());
    let mut transaction = store.begin().unwrap();
    transaction.graph().ensure_label(ElementKind::Vertex, "made").unwrap();
    transaction.commit().unwrap();
    let told = store.snapshot().map(|_| ()).unwrap_err().to_string();
    assert!(
        told.contains(&format!("process {}", filler.id())) && told.contains("snapshots of the database are in use"),
        "{told}"
    );
    filler.kill().unwrap();
    filler.wait().unwrap();
    assert_eq!(store.snapshot().unwrap().schema().vertex_labels.len(), 1);
}

#[test]
fn a_reader_that_was_killed_keeps_no_pages() {
    const COMMITS: u64 = 500;
    let home = tempfile::tempdir().unwrap();
    let store = StoreInDir::open(home.path());
    let write = || {
        for n in 0..COMMITS {
            let mut transaction = store.begin().unwrap();
            let graph = transaction.graph();
            let label = graph.ensure_label(ElementKind::Vertex, "counter").unwrap();
            let key = graph.ensure_key("n").unwrap();
            let mut found = Vec::new();
            graph.find_vertices(None, &[ExternalId::Int(1)], &mut found).unwrap();
            let mut made = Vec::from_iter(found[0]);
            if made.is_empty() {
                graph.add_vertices(label, &[Some(ExternalId::Int(1))], &mut made).unwrap();
            }
            graph.set_cell(ElementId::Vertex(made[0]), key, Cell::One(Value::from(n as i64))).unwrap();
            transaction.commit().unwrap();
        }
        let data = home.path().join("hot/data.mdb");
        std::fs::metadata(data).unwrap().len()
    };
    let before = write();
    let mut reader = start("pinner", home.path());
    let mut lines = BufReader::new(reader.stdout.take().unwrap()).lines();
    assert!(lines.any(|line| line.unwrap() == "pinned"), "the reader has its snapshot");
    reader.kill().unwrap();
    reader.wait().unwrap();
    // Once a second, a writer frees the slots of readers that no longer exist.
    std::thread::sleep(std::time::Duration::from_millis(1100));
    let after = write();
    assert!(after < before + 3_000_000, "{after} bytes after {before}");
}
