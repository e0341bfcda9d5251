//! Full disks, directories without write permission, damaged files: each gives a clear error, and nothing is lost.
//!
//! The effect of a fault on a process is observed from outside. Each test starts this program again as its child, under limits or
//! in a directory of its own, and reads how it ended.

mod support;

use std::ffi::OsStr;
use std::fs;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use mangrove_directory::OpenOptions;
use mangrove_graph::{Catalog, Cell, ElementId, ElementKind, ExternalId, GraphError, GraphWrite, PropertyId, Result};
use mangrove_testkit::graphs::Random;
use mangrove_testkit::suite::{Condensing, StoreUnderTest};
use mangrove_testkit::{Oracle, compare, ledger};
use support::StoreInDir;

const ROLE: &str = "MANGROVE_FAULT_ROLE";
const DIR: &str = "MANGROVE_FAULT_DIR";

/// The work of the children. Does nothing when run as a test.
#[test]
fn child() {
    let (Ok(role), Ok(dir)) = (std::env::var(ROLE), std::env::var(DIR)) else { return };
    let dir = Path::new(&dir);
    match role.as_str() {
        "fill" => fill(dir),
        "open for writing" => report(write_a_little(dir)),
        "open for reading" => report(read_only(dir)),
        "read all" => report(read_all(dir)),
        other => panic!("no role {other:?}"),
    }
}

/// This program again, as a child with a role. `words` are a shell or another command in front of it.
fn child_command(words: &[&str], role: &str, dir: &Path) -> Command {
    let this = std::env::current_exe().expect("the path of this program");
    let (program, first_arguments): (&OsStr, &[&str]) = match words {
        [] => (this.as_os_str(), &[]),
        [program, arguments @ ..] => (program.as_ref(), arguments),
    };
    let mut command = Command::new(program);
    command.args(first_arguments);
    if !words.is_empty() {
        command.arg(&this);
    }
    command.args(["child", "--exact", "--nocapture"]);
    command.env(ROLE, role).env(DIR, dir).env("RUST_BACKTRACE", "0");
    command
}

fn run_child(words: &[&str], role: &str, dir: &Path) -> Output {
    child_command(words, role, dir).output().expect("the child starts")
}

type Outcome = std::result::Result<(), Box<dyn std::error::Error>>;

/// Prints how a child's work ended.
fn report(outcome: Outcome) {
    match outcome {
        Ok(()) => println!("outcome: ok"),
        Err(error) => println!("outcome: {error}"),
    }
}

fn outcome_of(output: &Output) -> Option<String> {
    let text = String::from_utf8_lossy(&output.stdout);
    // The test harness may have written to the beginning of the line.
    text.lines().find_map(|line| line.split_once("outcome: ").map(|(_, outcome)| outcome.to_owned()))
}

fn text_of(output: &Output) -> String {
    format!("{}\n{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

fn write_a_little(dir: &Path) -> Outcome {
    let store = StoreInDir::try_open(dir, OpenOptions::default())?;
    let mut transaction = store.begin()?;
    transaction.graph().ensure_key("written")?;
    Ok(transaction.commit()?)
}

fn read_only(dir: &Path) -> Outcome {
    let store = StoreInDir::try_open(dir, OpenOptions { read_only: true, ..OpenOptions::default() })?;
    compare::assert_same(&*store.snapshot()?, &Oracle::modern());
    match store.begin() {
        Err(GraphError::ReadOnly) => Ok(()),
        Err(error) => Err(error.into()),
        Ok(_) => panic!("a read-only store lets nobody write"),
    }
}

fn make_modern(dir: &Path) {
    let store = StoreInDir::open(dir);
    let mut transaction = store.begin().unwrap();
    mangrove_testkit::samples::write_modern(transaction.graph()).unwrap();
    transaction.commit().unwrap();
}

// ---- a full disk ----

/// Adds vertices with large values, about 250 kB.
fn grow(graph: &mut dyn GraphWrite, n: i64) -> Result<()> {
    let label = graph.ensure_label(ElementKind::Vertex, "large")?;
    let key = graph.ensure_key("text")?;
    graph.create_index(PropertyId::of_vertices(label, key))?;
    let ids: Vec<_> = (0..250).map(|at| Some(ExternalId::Int(n * 250 + at))).collect();
    let mut made = Vec::new();
    graph.add_vertices(label, &ids, &mut made)?;
    for vertex in made {
        let text = format!("{n} {} {}", vertex.local(), "much ado ".repeat(110));
        graph.set_cell(ElementId::Vertex(vertex), key, Cell::One(text.into()))?;
    }
    Ok(())
}

fn grow_store(store: &StoreInDir, n: i64) -> Result<()> {
    let mut transaction = store.begin()?;
    grow(transaction.graph(), n)?;
    transaction.commit()
}

/// Fills the disk and checks that all commits are there. If there is a ballast, makes room and continues to write.
fn fill(dir: &Path) {
    let mut store = StoreInDir::open(&dir.join("store"));
    let mut oracle = Oracle::default();
    let error = loop {
        let n = grown(&oracle);
        match grow_store(&store, n) {
            Ok(()) => grow(&mut oracle, n).unwrap(),
            Err(error) => break error,
        }
    };
    assert!(matches!(error, GraphError::DiskFull), "a full disk is told as one: {error:?}");
    let committed = grown(&oracle);
    assert!(committed > 3, "some fitted: {committed}");
    compare::assert_same(&*store.snapshot().unwrap(), &oracle);
    store.reopen().unwrap();
    compare::assert_same(&*store.snapshot().unwrap(), &oracle);
    assert_eq!(store.check().unwrap(), Vec::<String>::new());
    let ballast = dir.join("ballast");
    if ballast.exists() {
        fs::remove_file(ballast).unwrap();
        grow_store(&store, committed).unwrap();
        grow(&mut oracle, committed).unwrap();
        compare::assert_same(&*store.snapshot().unwrap(), &oracle);
    }
    println!("outcome: {error} (after {committed} commits)");
}

/// The number of times the oracle grew.
fn grown(oracle: &Oracle) -> i64 {
    oracle.statistics().unwrap().vertices.first().map_or(0, |count| (*count / 250) as i64)
}

#[test]
fn a_file_that_may_not_grow_loses_nothing() {
    let home = tempfile::tempdir().unwrap();
    // 4 MiB in blocks of 512 bytes, the unit of POSIX. The signal that comes with the error is ignored, as servers do.
    let limited = "trap '' XFSZ; ulimit -f 8192; exec \"$@\"";
    let output = run_child(&["sh", "-c", limited, "sh"], "fill", home.path());
    assert!(output.status.success(), "{}", text_of(&output));
    let outcome = outcome_of(&output).expect("the child told");
    assert!(outcome.contains("the disk is full"), "{outcome}");
    let store = StoreInDir::open(&home.path().join("store"));
    grow_store(&store, 1_000_000).expect("without the limit it goes on");
    assert_eq!(store.check().unwrap(), Vec::<String>::new());
}

#[test]
fn a_full_file_system_loses_nothing() {
    let home = tempfile::tempdir().unwrap();
    let script = "mount -t tmpfs -o size=6m tmpfs \"$MANGROVE_FAULT_DIR\" && \
                  head -c 1500000 /dev/zero > \"$MANGROVE_FAULT_DIR/ballast\" && exec \"$@\"";
    if !can_unshare() {
        return skip("no file system of its own can be mounted: only the limit on the file's size was tested");
    }
    let output = run_child(&["unshare", "-Urm", "sh", "-c", script, "sh"], "fill", home.path());
    assert!(output.status.success(), "{}", text_of(&output));
    let outcome = outcome_of(&output).expect("the child told");
    assert!(outcome.contains("the disk is full"), "{outcome}");
}

/// Reports that a test could not run here. It bypasses the harness, which shows nothing for a test that passes. If the test must
/// run (`MANGROVE_NO_SKIPS`, set by `.ci/run` for the superuser), it fails instead.
fn skip(why: &str) {
    assert!(std::env::var_os("MANGROVE_NO_SKIPS").is_none(), "skipped, though it must not be: {why}");
    let test = std::thread::current().name().unwrap_or_default().to_owned();
    // Without a stderr nobody can see the message.
    let _ = writeln!(std::io::stderr(), "skipped {test}: {why}");
}

fn can_unshare() -> bool {
    let mount = "d=$(mktemp -d) && mount -t tmpfs -o size=64k tmpfs $d && umount $d && rmdir $d";
    Command::new("unshare").args(["-Urm", "sh", "-c", mount]).output().is_ok_and(|output| output.status.success())
}

// ---- directories without write permission ----

#[test]
fn a_read_only_directory_is_told_and_can_be_read() {
    let home = tempfile::tempdir().unwrap();
    let dir = home.path().join("store");
    make_modern(&dir);
    fs::set_permissions(home.path(), fs::Permissions::from_mode(0o755)).unwrap();
    allow(&dir, 0o444, 0o555);
    let Some(reading) = run_unprivileged("open for reading", &dir) else {
        return skip("another user cannot run this program: only a read-only file system was tested");
    };
    assert_eq!(outcome_of(&reading).as_deref(), Some("ok"), "{}", text_of(&reading));
    for dir in [dir.clone(), dir.join("new")] {
        let writing = run_unprivileged("open for writing", &dir).expect("as before");
        let outcome = outcome_of(&writing).unwrap_or_else(|| panic!("{}", text_of(&writing)));
        let path = dir.to_str().expect("a path in UTF-8");
        assert!(outcome.to_lowercase().contains("permission denied") && outcome.contains(path), "{outcome}");
    }
    allow(&dir, 0o644, 0o755);
}

/// Runs a child that permissions apply to. They do not apply to the superuser, so the child becomes another user. `None` if that
/// user may not run this program.
fn run_unprivileged(role: &str, dir: &Path) -> Option<Output> {
    const NOBODY: u32 = 65_534;
    let mut command = child_command(&[], role, dir);
    if is_superuser() {
        command.uid(NOBODY).current_dir("/");
    }
    command.output().ok()
}

/// Sets the permissions of a directory and of everything in it.
fn allow(dir: &Path, files: u32, directories: u32) {
    fs::set_permissions(dir, fs::Permissions::from_mode(0o755)).unwrap();
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true => allow(&path, files, directories),
            false => fs::set_permissions(path, fs::Permissions::from_mode(files)).unwrap(),
        }
    }
    fs::set_permissions(dir, fs::Permissions::from_mode(directories)).unwrap();
}

fn is_superuser() -> bool {
    let id = Command::new("id").arg("-u").output().unwrap();
    id.stdout.starts_with(b"0\n")
}

#[test]
fn a_file_that_may_not_be_read_is_named() {
    let home = tempfile::tempdir().unwrap();
    let dir = home.path().join("store");
    make_modern(&dir);
    fs::set_permissions(home.path(), fs::Permissions::from_mode(0o755)).unwrap();
    allow(&dir, 0o644, 0o755);
    fs::set_permissions(data_file(&dir), fs::Permissions::from_mode(0o000)).unwrap();
    let Some(output) = run_unprivileged("open for reading", &dir) else {
        return skip("nobody else may run this program: an unreadable file was not tested");
    };
    let outcome = outcome_of(&output).unwrap_or_else(|| panic!("{}", text_of(&output)));
    assert!(outcome.contains("data.mdb: Permission denied"), "{outcome}");
}

#[test]
fn a_read_only_file_system_is_told_and_can_be_read() {
    if !can_unshare() {
        return skip("no file system of its own can be mounted: only the permissions of a directory were tested");
    }
    let home = tempfile::tempdir().unwrap();
    make_modern(home.path());
    let script = "mount --bind \"$MANGROVE_FAULT_DIR\" \"$MANGROVE_FAULT_DIR\" && \
                  mount -o remount,ro,bind \"$MANGROVE_FAULT_DIR\" && exec \"$@\"";
    let words = ["unshare", "-Urm", "sh", "-c", script, "sh"];
    let writing = run_child(&words, "open for writing", home.path());
    let outcome = outcome_of(&writing).unwrap_or_else(|| panic!("{}", text_of(&writing)));
    assert!(outcome.to_lowercase().contains("read-only"), "{outcome}");
    let reading = run_child(&words, "open for reading", home.path());
    assert_eq!(outcome_of(&reading).as_deref(), Some("ok"), "{}", text_of(&reading));
}

// ---- damaged files ----

fn make_ledger(dir: &Path) {
    let store = StoreInDir::open(dir);
    for n in 1..=20 {
        let mut transaction = store.begin().unwrap();
        ledger::transaction(transaction.graph(), 3, n).unwrap();
        transaction.commit().unwrap();
    }
}

/// Opens a store, checks it, and reads everything in it.
fn read_all(dir: &Path) -> Outcome {
    let store = StoreInDir::try_open(dir, OpenOptions::default())?;
    let faults = store.check()?;
    if let Some(first) = faults.first() {
        return Err(format!("check found {} faults, first: {first}", faults.len()).into());
    }
    let view = store.snapshot()?;
    let mut expected = Oracle::default();
    for n in 1..=20 {
        ledger::transaction(&mut expected, 3, n)?;
    }
    let same = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| compare::assert_same(&*view, &expected)));
    same.map_err(|_| "it reads as another graph".into())
}

fn data_file(dir: &Path) -> PathBuf {
    dir.join("hot/data.mdb")
}

/// The pages at the end may be unused. Then the graph is whole, and the check must confirm that.
fn allowed(length: usize, outcome: &str) -> bool {
    if outcome == "ok" { length > 12_288 } else { !outcome.contains("another graph") }
}

#[test]
fn a_file_cut_short_is_refused_or_whole() {
    let home = tempfile::tempdir().unwrap();
    let dir = home.path().join("store");
    make_ledger(&dir);
    let whole = fs::read(data_file(&dir)).unwrap();
    let lengths = [1, 100, 4095, 4096, 8191, 8192, 12_288, whole.len() / 2, whole.len() - 4096, whole.len() - 1];
    for length in lengths {
        fs::write(data_file(&dir), &whole[..length]).unwrap();
        let output = run_child(&[], "read all", &dir);
        let outcome = outcome_of(&output);
        assert!(
            outcome.as_ref().is_some_and(|outcome| allowed(length, outcome)),
            "{length} of {} bytes: {outcome:?}, {}\n{}",
            whole.len(),
            output.status,
            text_of(&output)
        );
    }
}

/// Without a check, LMDB would extend the file to the length in the meta page, until the disk is full.
#[test]
fn a_meta_page_that_counts_too_many_pages_is_refused() {
    const COUNTS_PAGES: usize = 4096 + 16 + 120;
    let home = tempfile::tempdir().unwrap();
    let dir = home.path().join("store");
    make_ledger(&dir);
    let whole = fs::read(data_file(&dir)).unwrap();
    for (at, byte) in [(3, 8), (3, 255), (1, whole[COUNTS_PAGES + 1] + 1)] {
        let mut damaged = whole.clone();
        damaged[COUNTS_PAGES + at] = byte;
        fs::write(data_file(&dir), &damaged).unwrap();
        for role in ["open for writing", "open for reading"] {
            let outcome = outcome_of(&run_child(&[], role, &dir)).expect("the child told");
            assert!(outcome.contains("data.mdb, page 1: this meta page counts"), "{role}: {outcome}");
            assert_eq!(fs::read(data_file(&dir)).unwrap(), damaged, "{role}: nothing is written");
        }
    }
}

/// The only segment of a compacted store.
fn segment_file(dir: &Path) -> PathBuf {
    let files = fs::read_dir(dir.join("hot")).unwrap().map(|entry| entry.unwrap().path());
    let segments: Vec<_> = files.filter(|path| path.extension().is_some_and(|extension| extension == "seg")).collect();
    let [segment] = &segments[..] else { panic!("one segment, not {segments:?}") };
    segment.clone()
}

/// Each of these segments is whole and has the right name. Opening the database must report that it is the wrong one.
#[test]
fn a_segment_in_the_place_of_another_is_refused_at_open() {
    let home = tempfile::tempdir().unwrap();
    let [one, other, backup] = ["one", "other", "backup"].map(|name| home.path().join(name));
    let condense = |dir: &Path, how| StoreInDir::open(dir).condense(how, &|| false).unwrap();
    make_ledger(&one);
    make_ledger(&other);
    [&one, &other].into_iter().for_each(|dir| condense(dir, Condensing::Compact));
    let foreign = fs::read(segment_file(&other)).unwrap();
    assert!(refusal(&segment_file(&one), &foreign).contains("belongs to another database"));

    StoreInDir::open(&one).store().backup(&backup).unwrap();
    for dir in [&one, &backup] {
        grow_store(&StoreInDir::open(dir), 1).unwrap();
        condense(dir, Condensing::Compact);
    }
    let (newer, of_backup) = (segment_file(&one), segment_file(&backup));
    assert!(refusal(&newer, &fs::read(of_backup).unwrap()).contains("an older or swapped one"));

    grow_store(&StoreInDir::open(&one), 2).unwrap();
    condense(&one, Condensing::Seal);
    let first = fs::read(&newer).unwrap();
    let sealed = fs::read_dir(one.join("hot")).unwrap().map(|entry| entry.unwrap().path());
    let sealed: Vec<_> = sealed.filter(|path| path.extension() == newer.extension() && *path != newer).collect();
    assert!(refusal(&sealed[0], &first).contains("an older or swapped one"));
}

/// The error of opening a database whose segment has these bytes. Restores the segment afterwards.
fn refusal(segment: &Path, bytes: &[u8]) -> String {
    let dir = segment.parent().and_then(Path::parent).unwrap();
    let kept = fs::read(segment).unwrap();
    fs::write(segment, bytes).unwrap();
    let refusals = [false, true].map(|read_only| {
        let refused = StoreInDir::try_open(dir, OpenOptions { read_only, ..OpenOptions::default() });
        refused.err().expect("it is refused").to_string()
    });
    fs::write(segment, kept).unwrap();
    assert!(StoreInDir::open(dir).check().unwrap().is_empty(), "the right one is back");
    let [writing, reading] = refusals;
    assert_eq!(writing, reading);
    assert!(writing.contains(segment.to_str().unwrap()), "{writing}");
    writing
}

/// Every byte of a segment is covered by a checksum. A damaged byte is found and named, and never returned as data.
#[test]
fn flipped_bits_of_a_segment_are_always_found() {
    let home = tempfile::tempdir().unwrap();
    let dir = home.path().join("store");
    make_ledger(&dir);
    StoreInDir::open(&dir).condense(Condensing::Compact, &|| false).unwrap();
    let segment = &segment_file(&dir);
    read_all(&dir).expect("it is whole");
    let whole = fs::read(segment).unwrap();
    let mut random = Random::new(support::number_from_env("MANGROVE_SEED").unwrap_or(1));
    for _ in 0..support::number_from_env("MANGROVE_FLIPS").unwrap_or(60) {
        let at = random.below(whole.len() as u64) as usize;
        let mut damaged = whole.clone();
        damaged[at] ^= 1 << random.below(8);
        fs::write(segment, &damaged).unwrap();
        let outcome = read_all(&dir).expect_err(&format!("byte {at} is damaged")).to_string();
        assert!(outcome.contains(".seg"), "byte {at} of {}: {outcome}", whole.len());
    }
    for length in [0, 1, whole.len() / 2, whole.len() - 1] {
        fs::write(segment, &whole[..length]).unwrap();
        let outcome = read_all(&dir).expect_err(&format!("cut to {length} bytes")).to_string();
        assert!(outcome.contains(".seg"), "{length} of {} bytes: {outcome}", whole.len());
    }
}
