//! Starts the processes, kills them, and compares what remains with what was acknowledged.

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use mangrove_directory::OpenOptions;
use mangrove_testkit::graphs::Random;
use mangrove_testkit::suite::StoreUnderTest;
use mangrove_testkit::{Oracle, compare, ledger};
use tempfile::TempDir;

use crate::clients;
use crate::kill_points;
use crate::roles::{CONDENSINGS, open_in_turn};
use crate::support::{self, StoreInDir};
use crate::work::transaction;

/// A new store begins after this many kills, so that some kills hit its creation.
const KILLS_A_STORE: u64 = 12;
/// The first of so many stores has many writing clients, the others have one.
const STORES_A_TURN: u64 = 4;
const READERS_MAX: usize = 2;
/// A writer that has not reached its kill point by then is killed.
const LIFE_MAX: Duration = Duration::from_millis(500);
const KILLS_A_REPORT: u64 = 500;

#[derive(Default, Debug)]
pub struct Tally {
    pub kills: u64,
    reader_kills: u64,
    opener_kills: u64,
    pub acknowledged: u64,
    /// Commits that were durable although the writer had not reported them.
    pub unsaid: u64,
    backups: u64,
    snapshots: u64,
    /// What the writer was doing when it died.
    pub during: BTreeMap<String, u64>,
    pub lost: u64,
    pub half_applied: u64,
    pub wrong: u64,
}

impl Tally {
    pub fn failures(&self) -> u64 {
        self.lost + self.half_applied + self.wrong
    }

    fn print(&self, seed: u64, started: Instant) {
        let during: Vec<String> = self.during.iter().map(|(what, n)| format!("{n} {what}")).collect();
        println!(
            "crash: {} kills ({}), beside {} reader kills, {} opener kills, {} snapshots read; {} commits acknowledged (+ {} \
             done but not yet said), {} backups whole; {} lost, {} half applied, {} wrong; seed {seed}, {:.0} s",
            self.kills,
            during.join(", "),
            self.reader_kills,
            self.opener_kills,
            self.snapshots,
            self.acknowledged,
            self.unsaid,
            self.backups,
            self.lost,
            self.half_applied,
            self.wrong,
            started.elapsed().as_secs_f64()
        );
    }
}

/// What the writer reported before it died.
#[derive(Default)]
struct LastWords {
    opened: bool,
    acknowledged: Option<u64>,
    batch: Option<u64>,
    bulk: Option<u64>,
    condensing: Option<String>,
    backup: Option<u64>,
    backed_up: Vec<u64>,
    count: u64,
    /// It ended by itself.
    failed: bool,
}

pub fn drive(kills: u64) {
    let seed = support::number_from_env("MANGROVE_SEED").unwrap_or(1);
    let mut random = Random::new(seed);
    let mut tally = Tally::default();
    let started = Instant::now();
    for store in 0.. {
        let kills = KILLS_A_STORE.min(kills - tally.kills);
        match store % STORES_A_TURN {
            _ if kills == 0 => break,
            0 => clients::run(kills, &mut random, &mut tally),
            _ => Life::new(seed).run(kills, &mut random, &mut tally),
        }
        if tally.kills % KILLS_A_REPORT < KILLS_A_STORE && tally.kills > KILLS_A_STORE {
            tally.print(seed, started);
        }
    }
    tally.print(seed, started);
    assert_eq!(tally.failures(), 0, "{tally:?}");
    assert!(tally.acknowledged > 0, "the writer wrote: {tally:?}");
    assert!(tally.snapshots > 0, "readers read: {tally:?}");
}

/// One store, from its creation to its last kill.
struct Life {
    home: TempDir,
    seed: u64,
    oracle: Oracle,
    readers: Vec<Beside>,
    openers: Vec<Beside>,
}

/// A process beside the writer. It reports the numbers of transactions it has seen.
pub struct Beside {
    child: Child,
    seen: Arc<AtomicU64>,
    listener: JoinHandle<u64>,
}

impl Beside {
    pub fn start(role: &str, dir: &Path) -> Self {
        let mut child = command(role, dir).stdout(Stdio::piped()).spawn().expect("it starts");
        let seen = Arc::new(AtomicU64::new(0));
        let (pipe, said) = (child.stdout.take().expect("it was asked for"), seen.clone());
        let listener = std::thread::spawn(move || {
            let numbers =
                BufReader::new(pipe).lines().map(|line| line.expect("the pipe is read").parse().expect("a number"));
            numbers.inspect(|n| said.store(*n, Ordering::SeqCst)).count() as u64
        });
        Self { child, seen, listener }
    }

    /// The last number it reported.
    pub fn seen(&self) -> u64 {
        self.seen.load(Ordering::SeqCst)
    }

    /// Kills it and returns how much it reported. `None` if it had ended by itself, which it must not.
    fn kill(mut self) -> Option<u64> {
        self.child.kill().expect("it is killed");
        let status = self.child.wait().expect("it ends");
        let said = self.listener.join().expect("the listener ends with the pipe");
        status.code().is_none().then_some(said)
    }
}

fn command(role: &str, dir: &Path) -> Command {
    let mut command = Command::new(std::env::current_exe().expect("the path of this program"));
    command.arg(role).arg(dir);
    command
}

impl Life {
    fn new(seed: u64) -> Self {
        let home = tempfile::tempdir().expect("a temporary directory");
        Self { home, seed, oracle: Oracle::default(), readers: Vec::new(), openers: Vec::new() }
    }

    fn run(mut self, kills: u64, random: &mut Random, tally: &mut Tally) {
        let dir = self.home.path().join("db");
        let failures = tally.failures();
        for at in 0..kills {
            while self.readers.len() < READERS_MAX.min(random.below(4) as usize) {
                self.readers.push(Beside::start("reader", &dir));
            }
            if random.below(4) == 0 {
                self.openers.extend((0..2).map(|_| Beside::start("opener", &dir)));
            }
            let aim = aim(random, at);
            let seed = self.seed.to_string();
            let (words, failed) = run_and_kill(&["writer", &seed], &self.home, &dir, &aim, listen);
            let words = LastWords { failed, ..words };
            tally.kills += 1;
            if random.below(2) == 0 {
                self.end_openers(tally);
            }
            let looked = catch_unwind(AssertUnwindSafe(|| self.look(&dir, &words, &aim, tally)));
            tally.lost += u64::from(looked.is_err()); // it cannot even be opened
            self.end_openers(tally);
            if random.below(3) == 0 {
                self.readers.drain(..).for_each(|reader| end_reader(reader, tally));
            }
            if tally.failures() > failures {
                println!(
                    "crash: kill {} of the run, {} of its store: {aim:?}, writer at {}",
                    tally.kills,
                    at + 1,
                    doing(&words)
                );
                break;
            }
        }
        self.readers.drain(..).for_each(|reader| end_reader(reader, tally));
    }

    fn end_openers(&mut self, tally: &mut Tally) {
        for opener in self.openers.drain(..) {
            tally.opener_kills += 1;
            tally.wrong += u64::from(opener.kill().is_none());
        }
    }

    /// Opens what the writer left, and compares it with the oracle after the same number of transactions.
    fn look(&mut self, dir: &Path, words: &LastWords, aim: &Aim, tally: &mut Tally) {
        let before = ledger::last_transaction(&self.oracle);
        let acknowledged = words.acknowledged.unwrap_or(before);
        tally.acknowledged += words.count;
        tally.wrong += u64::from(words.failed);
        *tally.during.entry(doing(words)).or_default() += 1;
        if let Aim::Call((_, value)) = aim {
            let call = value.split(' ').next().unwrap_or_default();
            *tally.during.entry(format!("aimed at {call}")).or_default() += 1;
        }
        // Read before the store is opened. A reader must not see a later commit than exists.
        let seen = self.readers.iter().map(Beside::seen).max().unwrap_or(0);
        let in_bulk = words.bulk.filter(|_| words.acknowledged.is_none());

        let store = open_in_turn(dir, OpenOptions::default()).unwrap_or_else(|error| panic!("{}: {error}", dir.display()));
        let view = store.snapshot().expect("snapshot");
        let found = ledger::last_transaction(&*view);
        tally.lost += acknowledged.max(seen).saturating_sub(found);
        tally.unsaid += found.saturating_sub(acknowledged);
        for n in before + 1..=found {
            transaction(&mut self.oracle, self.seed, n);
        }
        let same = catch_unwind(AssertUnwindSafe(|| compare::assert_same(&*view, &self.oracle)));
        let unsaid = found == acknowledged || found == in_bulk.unwrap_or(acknowledged + 1);
        tally.half_applied += u64::from(same.is_err() || !unsaid);
        let faults = store.check().expect("check");
        faults.iter().for_each(|fault| eprintln!("crash: check found {fault}"));
        tally.wrong += u64::from(!faults.is_empty());
        self.look_at_backups(words, tally);
    }

    /// An acknowledged backup must be whole. An interrupted one may be refused.
    fn look_at_backups(&self, words: &LastWords, tally: &mut Tally) {
        let backups: Vec<u64> = words.backed_up.iter().copied().chain(words.backup).collect();
        for n in backups {
            let path = self.home.path().join(format!("backup-{n}"));
            let acknowledged = words.backed_up.contains(&n);
            let options = OpenOptions { create: false, ..OpenOptions::default() };
            match StoreInDir::try_open(&path, options) {
                Ok(backup) => {
                    let view = backup.snapshot().expect("a snapshot of a backup");
                    let same = ledger::last_transaction(&*view) == n && backup.check().expect("check").is_empty();
                    ledger::assert_balanced(&*view);
                    tally.wrong += u64::from(!same);
                    tally.backups += 1;
                }
                Err(error) if acknowledged => {
                    eprintln!("crash: a whole backup: {error}");
                    tally.wrong += 1;
                }
                Err(_) => {}
            }
            // It may not exist yet.
            let _ = fs::remove_dir_all(&path);
        }
    }
}

/// Starts a writing process in a role, with the arguments after its directory, and kills it. Returns what `listen` made of its
/// words, and whether it had ended by itself.
pub fn run_and_kill<T: Send + 'static>(
    role: &[&str],
    home: &TempDir,
    dir: &Path,
    aim: &Aim,
    listen: fn(ChildStdout) -> T,
) -> (T, bool) {
    let mut command = command(role[0], dir);
    command.args(&role[1..]).env("TMPDIR", home.path()).stdout(Stdio::piped());
    let life = match aim {
        Aim::Moment(life) => *life,
        Aim::Call((name, value)) => {
            command.env(name, value);
            LIFE_MAX
        }
    };
    let mut writer: Child = command.spawn().expect("the writer starts");
    let pipe = writer.stdout.take().expect("it was asked for");
    let listener = std::thread::spawn(move || listen(pipe));
    let started = Instant::now();
    while started.elapsed() < life && writer.try_wait().expect("its status").is_none() {
        std::thread::sleep(Duration::from_millis(1).min(life.saturating_sub(started.elapsed())));
    }
    writer.kill().expect("the writer is killed");
    let status = writer.wait().expect("the writer ends");
    let words = listener.join().expect("the listener ends with the pipe");
    (words, status.code().is_some())
}

/// When the writer is killed.
#[derive(Debug)]
pub enum Aim {
    Moment(Duration),
    Call((String, String)),
}

pub fn aim(random: &mut Random, at: u64) -> Aim {
    if random.below(2) == 0 { Aim::Call(kill_points::random(random)) } else { Aim::Moment(moment(random, at)) }
}

/// How long a writer lives. Most get well into their work; some live hardly as long as opening takes.
fn moment(random: &mut Random, at: u64) -> Duration {
    let micros = match random.below(10) {
        _ if at < 2 => random.below(if at == 0 { 12_000 } else { 60_000 }),
        0..2 => random.below(8_000),
        2..8 => 5_000 + random.below(100_000),
        _ => random.below(400_000),
    };
    Duration::from_micros(micros)
}

pub fn end_reader(reader: Beside, tally: &mut Tally) {
    tally.reader_kills += 1;
    match reader.kill() {
        Some(snapshots) => tally.snapshots += snapshots,
        None => tally.wrong += 1,
    }
}

fn listen(pipe: ChildStdout) -> LastWords {
    let mut words = LastWords::default();
    for line in BufReader::new(pipe).lines() {
        let line = line.expect("the pipe is read");
        match line.split_once(' ') {
            None if line == "opened" => words.opened = true,
            None if line == "condensed" => words.condensing = None,
            Some(("condensing", how)) => {
                assert!(CONDENSINGS.iter().any(|known| format!("{known:?}") == how), "{line}");
                words.condensing = Some(how.into());
            }
            Some(("batch", n)) => words.batch = n.parse().ok(),
            Some(("bulk", n)) => words.bulk = n.parse().ok(),
            Some(("backup", n)) => words.backup = n.parse().ok(),
            Some(("backed-up", n)) => {
                words.backup = None;
                words.backed_up.push(n.parse().expect("a number of a transaction"));
            }
            _ => {
                words.acknowledged = Some(line.parse().expect("a number of a transaction"));
                words.count += 1;
            }
        }
    }
    words
}

/// What the writer was doing when it died.
fn doing(words: &LastWords) -> String {
    let acknowledged = words.acknowledged.unwrap_or(0);
    match words {
        _ if !words.opened => "in an open".into(),
        LastWords { condensing: Some(how), .. } => format!("in a {}", how.to_lowercase()),
        LastWords { backup: Some(_), .. } => "in a backup".into(),
        LastWords { bulk: Some(_), acknowledged: None, .. } => "in a bulk load".into(),
        LastWords { batch: Some(batch), .. } if *batch > acknowledged => "in a batch".into(),
        _ => "in a transaction".into(),
    }
}
