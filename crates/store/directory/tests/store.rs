//! Tests of database directories: complete once made, opened by one writer and many readers, and refused with a reason.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use mangrove_directory::{OpenError, OpenOptions, Patience, ShardOf, Store, Writer};
use mangrove_graph::{
    Adjacency, Budget, CancelToken, Catalog, Cell, Direction, ElementId, ElementKind, Elements, ExternalId, GraphError,
    GraphView, GraphWrite, Hop, IdSpace, ReadContext, Scan, ScanCursor, Wants,
};

const HOLD: &str = "MANGROVE_HOLD";

fn open(path: &Path) -> Result<Store, OpenError> {
    Store::open(path, &OpenOptions::default())
}

fn reading() -> OpenOptions {
    OpenOptions { read_only: true, ..OpenOptions::default() }
}

fn add_person(store: &Store) {
    let mut t = store.begin().unwrap();
    let label = t.ensure_label(ElementKind::Vertex, "person").unwrap();
    t.add_vertices(label, &[None], &mut Vec::new()).unwrap();
    t.commit().unwrap();
}

fn people(store: &Store) -> u64 {
    store.snapshot().unwrap().statistics().unwrap().vertices.first().copied().unwrap_or(0)
}

fn refusal(path: &Path, options: &OpenOptions) -> OpenError {
    match Store::open(path, options) {
        Ok(_) => panic!("{} opens", path.display()),
        Err(error) => error,
    }
}

#[test]
fn a_database_is_made_kept_and_copied() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("a/b.mg");
    let store = open(&path).unwrap();
    add_person(&store);
    let backup = home.path().join("copy.mg");
    store.backup(&backup).unwrap();
    assert!(matches!(store.backup(&backup), Err(GraphError::Invalid(_))));
    add_person(&store);
    drop(store);
    assert_eq!(people(&open(&path).unwrap()), 2);
    let copy = open(&backup).unwrap();
    assert_eq!(people(&copy), 1);
    assert!(copy.check().unwrap().is_clean());
    add_person(&copy);
}

#[test]
fn handles_of_one_process_share_the_database() {
    let home = tempfile::tempdir().unwrap();
    let first = open(home.path()).unwrap();
    let second = open(home.path()).unwrap();
    add_person(&first);
    drop(first);
    add_person(&second);
    let reader = Store::open(home.path(), &reading()).unwrap();
    assert_eq!(people(&reader), 2);
    assert!(matches!(reader.begin(), Err(GraphError::ReadOnly)));
    let snapshot = second.snapshot().unwrap();
    drop((second, reader));
    let third = open(home.path()).unwrap();
    add_person(&third);
    let read = std::thread::spawn(move || snapshot.statistics().unwrap().vertices.clone());
    assert_eq!(read.join().unwrap(), [2], "a snapshot outlives its store, and goes to other threads");
}

/// Every call of a snapshot honours the limits that it was taken with. So do a view for another thread and a transaction.
#[test]
fn a_snapshot_stops_when_its_reader_must() {
    let home = tempfile::tempdir().unwrap();
    let store = open(home.path()).unwrap();
    let mut t = store.begin().unwrap();
    let label = t.ensure_label(ElementKind::Vertex, "person").unwrap();
    let name = t.ensure_key("name").unwrap();
    let mut people = Vec::new();
    t.add_vertices(label, &vec![None; 10_000], &mut people).unwrap();
    for person in &people {
        t.set_cell(ElementId::Vertex(*person), name, Cell::One("a name that is long enough".into())).unwrap();
    }
    t.commit().unwrap();
    store.compact(Writer::this_thread(), Patience::ENDLESS).unwrap();
    let calls = |view: &dyn GraphView| -> Vec<mangrove_graph::Result<()>> {
        let elements = Elements::Vertices(&people);
        vec![
            view.properties(elements, name).map(drop),
            view.external_ids(elements).map(drop),
            view.contain(elements).map(drop),
            view.statistics().map(drop),
            view.neighbors(&people, &Hop::along(Direction::Out, None, Wants::default()), &mut Adjacency::default()),
            view.scan_vertices(&Scan::default(), &mut ScanCursor::default(), 10, &mut Vec::new()),
            view.find_vertices(None, &[1.into()], &mut Vec::new()),
        ]
    };
    assert!(calls(&store.snapshot().unwrap()).iter().all(Result::is_ok));
    let context = ReadContext::default();
    let limited = store.snapshot_within(context.clone()).unwrap();
    let forked = limited.fork().unwrap().unwrap();
    assert!(calls(&limited).iter().chain(&calls(&*forked)).all(Result::is_ok));
    let mut writing = store.begin().unwrap();
    writing.limit(Some(context.clone()));
    assert!(calls(&writing).iter().all(Result::is_ok));
    context.cancel.cancel();
    assert!(calls(&writing).iter().all(|call| matches!(call, Err(GraphError::Stopped))));
    writing.limit(None);
    assert!(calls(&writing).iter().all(Result::is_ok), "the next query has limits of its own");
    drop(writing);
    assert!(calls(&limited).iter().chain(&calls(&*forked)).all(|call| matches!(call, Err(GraphError::Stopped))));
    let late = ReadContext { deadline: Some(Instant::now()), ..ReadContext::default() };
    std::thread::sleep(Duration::from_millis(1));
    let late = store.snapshot_within(late).unwrap();
    assert!(calls(&late).iter().all(|call| matches!(call, Err(GraphError::Late(_)))));
    let poor = ReadContext { budget: Budget::new(100_000), ..ReadContext::default() };
    let poor = store.snapshot_within(poor).unwrap();
    assert!(matches!(
        poor.properties(Elements::Vertices(&people), name),
        Err(GraphError::OverBudget { bytes_max: 100_000 })
    ));
    assert!(poor.properties(Elements::Vertices(&people[..100]), name).is_ok());
}

/// The probe of a token is called in the middle of long work, so a host can interrupt a single call.
#[test]
fn long_work_calls_the_probe() {
    let home = tempfile::tempdir().unwrap();
    let store = open(home.path()).unwrap();
    let mut t = store.begin().unwrap();
    let label = t.ensure_label(ElementKind::Vertex, "person").unwrap();
    let mut people = Vec::new();
    t.add_vertices(label, &vec![None; 20_000], &mut people).unwrap();
    t.commit().unwrap();
    let asked = Arc::new(AtomicUsize::new(0));
    let counter = asked.clone();
    let cancel = CancelToken::with_probe(Arc::new(move || counter.fetch_add(1, Ordering::Relaxed) >= 2));
    let limits = ReadContext { cancel, ..ReadContext::default() };
    let view = store.snapshot_within(limits.clone()).unwrap();
    let mut writing = store.begin().unwrap();
    writing.limit(Some(limits));
    let hop = Hop::along(Direction::Out, None, Wants::default());
    for view in [&view as &dyn GraphView, &writing] {
        asked.store(0, Ordering::Relaxed);
        assert!(matches!(view.neighbors(&people, &hop, &mut Adjacency::default()), Err(GraphError::Stopped)));
        assert_eq!(asked.load(Ordering::Relaxed), 3);
    }
}

/// Runs as a child process. Holds the database open until its input ends.
#[test]
fn hold() {
    let Ok(path) = std::env::var(HOLD) else { return };
    let store = open(Path::new(&path)).unwrap();
    add_person(&store);
    println!("holding");
    let _ = std::io::read_to_string(std::io::stdin());
}

#[test]
fn a_second_writing_process_is_told_who_the_first_is() {
    use std::io::{BufRead, BufReader};

    let home = tempfile::tempdir().unwrap();
    let mut holder = Command::new(std::env::current_exe().unwrap())
        .args(["hold", "--exact", "--nocapture"])
        .env(HOLD, home.path())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(holder.stdout.take().unwrap()).lines().map_while(Result::ok);
    assert!(lines.any(|line| line.contains("holding")), "the child opened it");
    let error = refusal(home.path(), &OpenOptions::default());
    let OpenError::Locked { holder: found, .. } = &error else { panic!("{error}") };
    assert_eq!(found.process_id, Some(holder.id()));
    assert!(error.to_string().contains(&format!("process {}", holder.id())), "{error}");
    let reader = Store::open(home.path(), &reading()).unwrap();
    assert_eq!(people(&reader), 1);
    drop(reader);
    drop(holder.stdin.take());
    lines.for_each(drop);
    assert!(holder.wait().unwrap().success());
    assert_eq!(people(&open(home.path()).unwrap()), 1);
}

#[test]
fn what_is_no_database_is_refused_with_the_reason() {
    let home = tempfile::tempdir().unwrap();
    let missing = home.path().join("missing");
    let no_create = OpenOptions { create: false, ..OpenOptions::default() };
    assert!(matches!(refusal(&missing, &no_create), OpenError::NotFound { .. }));
    assert!(matches!(refusal(&missing, &reading()), OpenError::NotFound { .. }));
    assert!(!missing.exists());
    fs::write(home.path().join("notes.txt"), "mine").unwrap();
    assert!(matches!(refusal(&home.path().join("notes.txt"), &OpenOptions::default()), OpenError::NotADirectory { .. }));
    let error = refusal(home.path(), &OpenOptions::default());
    assert!(matches!(error, OpenError::NotADatabase { .. }) && error.to_string().contains("notes.txt"), "{error}");
    assert_eq!(fs::read_dir(home.path()).unwrap().count(), 1, "nothing was left in it");
}

#[test]
fn a_newer_format_and_another_id_space_are_refused() {
    let home = tempfile::tempdir().unwrap();
    let labels = OpenOptions { id_space: Some(IdSpace::Label), ..OpenOptions::default() };
    drop(Store::open(home.path(), &labels).unwrap());
    let graph = OpenOptions { id_space: Some(IdSpace::Graph), ..OpenOptions::default() };
    assert!(matches!(refusal(home.path(), &graph), OpenError::IdSpace { found: IdSpace::Label, .. }));
    assert_eq!(open(home.path()).unwrap().snapshot().unwrap().schema().id_space, IdSpace::Label);

    let manifest = home.path().join("mangrove.json");
    let text = fs::read_to_string(&manifest).unwrap();
    fs::write(&manifest, text.replace("\"format\": 1", "\"format\": 7")).unwrap();
    for options in [OpenOptions::default(), reading()] {
        let message = refusal(home.path(), &options).to_string();
        assert!(message.contains("format 7") && message.contains("up to 2") && message.contains("newer"), "{message}");
    }
    fs::write(&manifest, "{").unwrap();
    assert!(matches!(refusal(home.path(), &OpenOptions::default()), OpenError::NotADatabase { .. }));
}

#[test]
fn a_crash_while_a_database_is_made_leaves_none_and_data_is_never_thrown_away() {
    let home = tempfile::tempdir().unwrap();
    drop(open(home.path()).unwrap());
    fs::remove_file(home.path().join("mangrove.json")).unwrap();
    fs::write(home.path().join("mangrove.json.new"), "{").unwrap();
    assert!(matches!(refusal(home.path(), &reading()), OpenError::NotFound { .. }));
    let labels = OpenOptions { id_space: Some(IdSpace::Label), ..OpenOptions::default() };
    let store = Store::open(home.path(), &labels).unwrap();
    assert_eq!(store.snapshot().unwrap().schema().id_space, IdSpace::Label);
    let mut t = store.begin().unwrap();
    let label = t.ensure_label(ElementKind::Vertex, "person").unwrap();
    t.add_vertices(label, &[Some(ExternalId::Int(1))], &mut Vec::new()).unwrap();
    t.commit().unwrap();
    drop(store);

    let manifest = fs::read(home.path().join("mangrove.json")).unwrap();
    fs::remove_file(home.path().join("mangrove.json")).unwrap();
    let error = refusal(home.path(), &OpenOptions::default());
    assert!(error.to_string().contains("missing"), "{error}");
    fs::write(home.path().join("mangrove.json"), manifest).unwrap();
    assert_eq!(people(&open(home.path()).unwrap()), 1);
}

#[test]
fn a_directory_of_somebody_elses_is_refused_and_left_as_it_is() {
    let home = tempfile::tempdir().unwrap();
    let hot = home.path().join("hot");
    fs::create_dir_all(hot.join("takes")).unwrap();
    fs::write(hot.join("song.mp3"), "la").unwrap();
    let error = refusal(home.path(), &OpenOptions::default());
    assert!(matches!(error, OpenError::NotADatabase { .. }) && error.to_string().contains("hot"), "{error}");
    assert_eq!(fs::read_to_string(hot.join("song.mp3")).unwrap(), "la");
    assert!(hot.join("takes").is_dir());

    let file = tempfile::tempdir().unwrap();
    fs::write(file.path().join("hot"), "not").unwrap();
    assert!(matches!(refusal(file.path(), &OpenOptions::default()), OpenError::NotADatabase { .. }));
    assert_eq!(fs::read_to_string(file.path().join("hot")).unwrap(), "not");
}

#[test]
fn what_a_crash_left_of_a_store_is_made_anew() {
    for left in [&[][..], &["data.mdb"][..], &["data.mdb", "lock.mdb", "probe.tmp"][..]] {
        let home = tempfile::tempdir().unwrap();
        fs::create_dir(home.path().join("hot")).unwrap();
        for name in left {
            fs::write(home.path().join("hot").join(name), "").unwrap();
        }
        add_person(&open(home.path()).unwrap());
        assert_eq!(people(&open(home.path()).unwrap()), 1, "{left:?}");
    }
}

#[test]
fn data_that_is_gone_is_damage_and_not_an_empty_database() {
    let home = tempfile::tempdir().unwrap();
    add_person(&open(home.path()).unwrap());
    let data = home.path().join("hot/data.mdb");
    let bytes = fs::read(&data).unwrap();
    fs::remove_file(&data).unwrap();
    for options in [OpenOptions::default(), reading()] {
        let error = refusal(home.path(), &options).to_string();
        assert!(error.contains("data.mdb is missing"), "{error}");
        assert!(!data.exists(), "nothing was put in its place");
    }
    fs::write(&data, "").unwrap();
    let error = refusal(home.path(), &OpenOptions::default()).to_string();
    assert!(error.contains("data.mdb is empty"), "{error}");
    fs::write(&data, bytes).unwrap();
    assert_eq!(people(&open(home.path()).unwrap()), 1);
}

#[cfg(unix)]
#[test]
fn a_database_deleted_while_it_is_open_is_not_mistaken_for_the_one_in_its_place() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("a.mg");
    let old = open(&path).unwrap();
    add_person(&old);
    fs::remove_dir_all(&path).unwrap();
    let Err(error) = old.begin() else { panic!("what is written there is lost") };
    assert!(error.to_string().contains("deleted or replaced"), "{error}");
    assert_eq!(people(&old), 1, "it can still be read");
    let error = refusal(&path, &OpenOptions::default()).to_string();
    assert!(error.contains("deleted or replaced") && error.contains("close"), "{error}");
    drop(old);
    let new = open(&path).unwrap();
    add_person(&new);
    drop(new);
    assert_eq!(people(&open(&path).unwrap()), 1);
}

#[cfg(unix)]
#[test]
fn a_database_is_known_by_its_files_and_not_by_its_name() {
    let home = tempfile::tempdir().unwrap();
    let (path, moved) = (home.path().join("a.mg"), home.path().join("b.mg"));
    let store = open(&path).unwrap();
    add_person(&store);
    std::os::unix::fs::symlink(&path, home.path().join("link.mg")).unwrap();
    add_person(&open(&home.path().join("link.mg")).unwrap());
    fs::rename(&path, &moved).unwrap();
    assert!(matches!(store.begin(), Err(GraphError::Invalid(_))));
    refusal(&moved, &OpenOptions::default());
    drop(store);
    assert_eq!(people(&open(&moved).unwrap()), 2);
}

#[test]
fn a_backup_that_fails_leaves_room_for_the_next() {
    let home = tempfile::tempdir().unwrap();
    let store = open(&home.path().join("a.mg")).unwrap();
    add_person(&store);
    let copy = home.path().join("copy.mg");
    // The manifest is written last, first under another name. A directory of that name blocks it.
    fs::create_dir_all(copy.join("mangrove.json.new")).unwrap();
    let error = store.backup(&copy).unwrap_err();
    assert!(error.to_string().contains("mangrove.json"), "{error}");
    assert!(!copy.join("hot").exists(), "what was copied is gone");
    fs::remove_dir(copy.join("mangrove.json.new")).unwrap();
    store.backup(&copy).unwrap();
    assert_eq!(people(&open(&copy).unwrap()), 1);
}

#[test]
fn threads_that_make_one_database_at_once_share_it() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("deep/down/a.mg");
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| add_person(&open(&path).unwrap()));
        }
    });
    assert_eq!(people(&open(&path).unwrap()), 8);
}

#[test]
fn a_wait_for_another_writer_ends_when_asked_and_says_whom_it_was_for() {
    use std::cell::Cell;
    use std::time::Duration;

    let home = tempfile::tempdir().unwrap();
    let store = open(home.path()).unwrap();
    let held = store.begin().unwrap();
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| {
            let patience = Patience { timeout: Some(Duration::from_millis(50)), cancelled: &|| false };
            store.begin_for(Writer::this_thread(), patience).err()
        });
        let error = waiting.join().unwrap().expect("the other transaction is open");
        assert!(matches!(&error, GraphError::Busy { timed_out: true, .. }), "{error}");
        assert!(error.to_string().contains("a_wait_for_another_writer"), "the thread is named: {error}");

        let waiting = scope.spawn(|| {
            let asked = Cell::new(0);
            let cancelled = || asked.replace(asked.get() + 1) == 2;
            store.begin_for(Writer::this_thread(), Patience { timeout: None, cancelled: &cancelled }).err()
        });
        let error = waiting.join().unwrap().expect("it was cancelled");
        assert!(matches!(&error, GraphError::Busy { timed_out: false, .. }), "{error}");
    });
    drop(held);
    add_person(&store);
}

/// A shard of a graph on many nodes is opened as that shard, and as nothing else.
#[test]
fn a_shard_is_opened_as_what_it_is() {
    let home = tempfile::tempdir().unwrap();
    let shard = ShardOf { graph: 0xABC, number: 3, shards: 16 };
    let wanted = |shard| OpenOptions { shard, ..OpenOptions::default() };
    drop(Store::open(home.path(), &wanted(Some(shard))).unwrap());
    drop(Store::open(home.path(), &wanted(Some(shard))).unwrap());
    let whole = refusal(home.path(), &wanted(None));
    assert!(matches!(&whole, OpenError::IsShard { .. }), "{whole}");
    assert!(
        whole.to_string().ends_with("is shard 3 of the 16 of graph 0000000000000abc: reach it through the node that has it")
    );
    let other = refusal(home.path(), &wanted(Some(ShardOf { number: 4, ..shard })));
    assert!(matches!(other, OpenError::OtherShard { .. }), "{other}");
    let database = tempfile::tempdir().unwrap();
    drop(open(database.path()).unwrap());
    assert!(matches!(refusal(database.path(), &wanted(Some(shard))), OpenError::OtherShard { found: None, .. }));
}
