//! Kills a writing process at random moments and looks at what is left.
//!
//! ```text
//!   driver  -- starts -->  writer: open, then transactions 1, 2, 3 … of the ledger
//!           <-- pipe ---   "opened", "bulk n" before the first n at once, "batch n" before a long one, "n" after its commit
//!                          returned, "condensing Seal", "condensed"
//!           -- SIGKILL at a random moment -->
//!           opens the store: it must be exactly what k transactions leave, with k the last number read or one more,
//!           and `check` must find no fault; then starts the next writer on the same store
//! ```
//!
//! This is a program of its own (no test harness), since it starts itself as the writer. `--ignored` asks for the long run, and
//! `MANGROVE_KILLS` and `MANGROVE_SEED` say how many kills and which random numbers. A killed process loses nothing that the
//! operating system holds; whether commits reach the disk itself is not seen here (docs/trust.md says what is).

mod support;

use std::io::{BufRead, BufReader};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use mangrove_snapshot::OpenOptions;
use mangrove_testkit::graphs::Random;
use mangrove_testkit::suite::{Condensing, StoreUnderTest};
use mangrove_testkit::{Oracle, compare, ledger};
use support::StoreInDir;

const KILLS: u64 = 25;
const KILLS_LONG: u64 = 200;
/// Every so many transactions the store is condensed, in turn as these say.
const CONDENSE_EVERY: u64 = 5;
const CONDENSINGS: [Condensing; 5] =
    [Condensing::Seal, Condensing::Seal, Condensing::Merge, Condensing::Seal, Condensing::Compact];
/// A new store is begun after so many kills, so that some hit its making.
const KILLS_A_STORE: u64 = 8;
/// The first transactions, which are loaded in bulk.
const BULK: u64 = 40;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.first().map(String::as_str) {
        Some("writer") => write_for_ever(Path::new(&arguments[1]), arguments[2].parse().expect("a seed")),
        Some("--list") => println!("crash: test"),
        // What a filter given to `cargo test` asks for.
        Some(filter) if !filter.starts_with('-') && !"crash".contains(filter) => {}
        _ => {
            let kills = if arguments.iter().any(|a| a == "--ignored") { KILLS_LONG } else { KILLS };
            drive(support::number_from_env("MANGROVE_KILLS").unwrap_or(kills));
        }
    }
}

// ---- the writer ----

fn write_for_ever(dir: &Path, seed: u64) {
    // Every other writer also seals in the background, and much more often than one would.
    let seal_bytes = if std::process::id().is_multiple_of(2) { 150_000 } else { 0 };
    let store = StoreInDir::try_open(dir, OpenOptions { seal_bytes, ..OpenOptions::default() }).expect("it opens");
    println!("opened");
    let mut n = ledger::last_transaction(&*store.snapshot().expect("snapshot"));
    if n == 0
        && let Some(mut bulk) = store.begin_bulk().expect("begin")
    {
        println!("bulk {BULK}");
        for n in 1..=BULK {
            ledger::transaction(bulk.graph(), seed, n).expect("a transaction of the ledger");
        }
        bulk.commit().expect("commit");
        println!("{BULK}");
        n = BULK;
    }
    loop {
        n += 1;
        if n.is_multiple_of(ledger::BATCH_EVERY) {
            println!("batch {n}");
        }
        let mut transaction = store.begin().expect("begin");
        ledger::transaction(transaction.graph(), seed, n).expect("a transaction of the ledger");
        if n.is_multiple_of(11) {
            drop(transaction); // an abort, and then the same again
            transaction = store.begin().expect("begin");
            ledger::transaction(transaction.graph(), seed, n).expect("a transaction of the ledger");
        }
        transaction.commit().expect("commit");
        println!("{n}");
        if n.is_multiple_of(CONDENSE_EVERY) {
            let condensing = CONDENSINGS[(n / CONDENSE_EVERY) as usize % CONDENSINGS.len()];
            println!("condensing {condensing:?}");
            store.condense(condensing, &|| false).expect("it is condensed");
            println!("condensed");
        }
    }
}

// ---- the driver ----

#[derive(Default, Debug)]
struct Tally {
    kills: u64,
    acknowledged: u64,
    lost: u64,
    half_applied: u64,
    faults: u64,
    while_opening: u64,
    in_batches: u64,
    in_seals: u64,
    in_merges: u64,
    in_compactions: u64,
    in_bulk_loads: u64,
    /// Commits that were durable before the writer could say so.
    unsaid: u64,
}

/// What the writer said before it died.
#[derive(Default)]
struct LastWords {
    opened: bool,
    acknowledged: Option<u64>,
    batch: Option<u64>,
    bulk: Option<u64>,
    condensing: Option<Condensing>,
    count: u64,
}

fn drive(kills: u64) {
    let seed = support::number_from_env("MANGROVE_SEED").unwrap_or(1);
    let mut random = Random::new(seed);
    let mut tally = Tally::default();
    let started = Instant::now();
    while tally.kills < kills {
        let home = tempfile::tempdir().expect("a temporary directory");
        let mut oracle = Oracle::default();
        for at in 0..KILLS_A_STORE.min(kills - tally.kills) {
            let alive = moment(&mut random, at);
            let words = run_and_kill(home.path(), seed, alive);
            tally.kills += 1;
            look(home.path(), seed, &mut oracle, &words, &mut tally);
        }
    }
    println!(
        "crash: {} kills ({} while opening, {} in a batch, {} in a seal, {} in a merge, {} in a compaction, {} in a bulk load), {} commits acknowledged (+ {} done but not yet said), {} lost, \
         {} half applied, {} found damaged by check; seed {seed}, {:.1} s",
        tally.kills,
        tally.while_opening,
        tally.in_batches,
        tally.in_seals,
        tally.in_merges,
        tally.in_compactions,
        tally.in_bulk_loads,
        tally.acknowledged,
        tally.unsaid,
        tally.lost,
        tally.half_applied,
        tally.faults,
        started.elapsed().as_secs_f64()
    );
    assert_eq!((tally.lost, tally.half_applied, tally.faults), (0, 0, 0), "{tally:?}");
    assert!(tally.acknowledged > 0, "the writer wrote: {tally:?}");
}

/// How long a writer lives: most well into its work, some hardly as long as it takes to open.
fn moment(random: &mut Random, at: u64) -> Duration {
    let micros = match random.below(10) {
        _ if at < 2 => random.below(if at == 0 { 12_000 } else { 60_000 }),
        0..2 => random.below(8_000),
        2..8 => 5_000 + random.below(100_000),
        _ => random.below(400_000),
    };
    Duration::from_micros(micros)
}

fn run_and_kill(dir: &Path, seed: u64, alive: Duration) -> LastWords {
    let mut writer: Child = Command::new(std::env::current_exe().expect("the path of this program"))
        .args(["writer".as_ref(), dir.as_os_str(), seed.to_string().as_ref()])
        .stdout(Stdio::piped())
        .spawn()
        .expect("the writer starts");
    let pipe = writer.stdout.take().expect("it was asked for");
    let listener = std::thread::spawn(move || listen(BufReader::new(pipe)));
    std::thread::sleep(alive);
    writer.kill().expect("the writer is killed");
    let status = writer.wait().expect("the writer ends");
    assert_eq!(status.code(), None, "the writer was to live until it was killed, and ended with {status}");
    listener.join().expect("the listener ends with the pipe")
}

fn listen(pipe: impl BufRead) -> LastWords {
    let mut words = LastWords::default();
    for line in pipe.lines() {
        let line = line.expect("the pipe is read");
        match line.split_once(' ') {
            None if line == "opened" => words.opened = true,
            None if line == "condensed" => words.condensing = None,
            Some(("condensing", how)) => {
                words.condensing = CONDENSINGS.into_iter().find(|known| format!("{known:?}") == how)
            }
            Some(("batch", n)) => words.batch = n.parse().ok(),
            Some(("bulk", n)) => words.bulk = n.parse().ok(),
            _ => {
                words.acknowledged = Some(line.parse().expect("a number of a transaction"));
                words.count += 1;
            }
        }
    }
    words
}

/// Opens what the writer left and compares it with what the oracle has after as many transactions.
fn look(dir: &Path, seed: u64, oracle: &mut Oracle, words: &LastWords, tally: &mut Tally) {
    let before = ledger::last_transaction(oracle);
    let acknowledged = words.acknowledged.unwrap_or(before);
    tally.acknowledged += words.count;
    tally.while_opening += u64::from(!words.opened);
    tally.in_batches += u64::from(words.batch.is_some_and(|batch| batch > acknowledged));
    match words.condensing {
        None => {}
        Some(Condensing::Seal) => tally.in_seals += 1,
        Some(Condensing::Merge) => tally.in_merges += 1,
        Some(Condensing::Compact) => tally.in_compactions += 1,
    }
    let in_bulk = words.bulk.filter(|_| words.acknowledged.is_none());
    tally.in_bulk_loads += u64::from(in_bulk.is_some());

    let store = StoreInDir::open(dir);
    let view = store.snapshot().expect("snapshot");
    let found = ledger::last_transaction(&*view);
    tally.lost += acknowledged.saturating_sub(found);
    tally.unsaid += found.saturating_sub(acknowledged);
    for n in before + 1..=found {
        ledger::transaction(oracle, seed, n).expect("the oracle takes it");
    }
    let same = catch_unwind(AssertUnwindSafe(|| compare::assert_same(&*view, oracle)));
    let unsaid = found == acknowledged || found == in_bulk.unwrap_or(acknowledged + 1);
    tally.half_applied += u64::from(same.is_err() || !unsaid);
    let faults = store.check().expect("check");
    faults.iter().for_each(|fault| eprintln!("crash: check found {fault}"));
    tally.faults += u64::from(!faults.is_empty());
}
