//! Damages the file of the tables while nobody has it open, and checks what opening it reports.
//!
//! ```text
//!   driver  makes some stores, and starts a child for each
//!   child   again and again: copies a store, damages data.mdb, says the number of the damage, opens the copy, compares all
//!           that can be read with the oracle, writes, and says how it went
//! ```
//! Two outcomes are right: an error when the store opens, and a graph that equals the oracle. A store that opens and differs is
//! wrong. A child that panics or dies of a signal is wrong too.
//!
//! `--ignored` selects the long run. `MANGROVE_DAMAGES` and `MANGROVE_SEED` set the number of damages and the random seed.

mod support;

use std::collections::BTreeMap;
use std::fmt;
use std::fs;
use std::io::{BufRead, BufReader};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::process::{Command, Stdio};

use mangrove_directory::OpenOptions;
use mangrove_graph::{Cell, ElementId, ElementKind, ExternalId, GraphWrite, Result, Value};
use mangrove_testkit::graphs::Random;
use mangrove_testkit::suite::{Condensing, StoreUnderTest};
use mangrove_testkit::{Oracle, compare, ledger};
use support::StoreInDir;

const DAMAGES: u64 = 240;
const DAMAGES_LONG: u64 = 10_000;
const PAGE: usize = 4096;
const SECTOR: usize = 512;
/// The bytes of a meta page that have a meaning.
const META: usize = 152;
const LEDGER_SEED: u64 = 3;
const TRANSACTIONS: u64 = 16;
/// In the sealed store, the number of transactions that are sealed.
const SEALED: u64 = 9;
const STORES: [&str; 2] = ["tables", "sealed"];
/// A copy of the tables from some transactions before.
const OLDER: &str = "older.mdb";

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words[..] {
        ["child", dir, from, to] => run(Path::new(dir), number(from)..number(to)),
        ["--list", ..] => println!("damage: test"),
        [filter, ..] if !filter.starts_with('-') && !"damage".contains(filter) => {}
        _ => {
            let damages = if words.contains(&"--ignored") { DAMAGES_LONG } else { DAMAGES };
            drive(support::number_from_env("MANGROVE_DAMAGES").unwrap_or(damages));
        }
    }
}

fn number(word: &str) -> u64 {
    word.parse().expect("a number")
}

fn seed() -> u64 {
    support::number_from_env("MANGROVE_SEED").unwrap_or(1)
}

/// Runs transaction `n`. Some add values that take pages of their own, and later ones remove these.
fn transaction(graph: &mut dyn GraphWrite, n: u64) -> Result<()> {
    ledger::transaction(graph, LEDGER_SEED, n)?;
    let label = graph.ensure_label(ElementKind::Vertex, "large")?;
    let key = graph.ensure_key("text")?;
    let mut made = Vec::new();
    graph.add_vertices(label, &[Some(ExternalId::Int(1_000_000 + n as i64))], &mut made)?;
    let text = format!("{n} and much ado about nothing ").repeat(200 * (n as usize % 5 + 1));
    graph.set_cell(ElementId::Vertex(made[0]), key, Cell::One(Value::string(text)))?;
    if n > 6 {
        let mut gone = Vec::new();
        graph.as_view().find_vertices(Some(label), &[ExternalId::Int(1_000_000 + n as i64 - 6)], &mut gone)?;
        graph.remove_vertices(&gone.into_iter().flatten().collect::<Vec<_>>())?;
    }
    Ok(())
}

fn make(dir: &Path, is_sealed: bool) {
    let store = StoreInDir::try_open(dir, OpenOptions { seal_bytes: 0, ..OpenOptions::default() }).expect("it opens");
    for n in 1..=TRANSACTIONS {
        if n == TRANSACTIONS - 2 {
            fs::copy(dir.join("hot/data.mdb"), dir.join(OLDER)).expect("a copy");
        }
        let mut t = store.begin().expect("a transaction");
        transaction(t.graph(), n).expect("it is done");
        t.commit().expect("a commit");
        if is_sealed && n == SEALED {
            store.condense(Condensing::Compact, &|| false).expect("a compaction");
        }
    }
}

#[derive(Debug, Clone, Copy)]
enum Damage {
    Bit {
        at: usize,
        bit: u32,
    },
    /// A bit of LMDB's own data at the beginning of a page. One time in three it is a meta page.
    HeaderBit {
        page: usize,
        at: usize,
        bit: u32,
    },
    Sector {
        at: usize,
        is_zeroed: bool,
    },
    Page {
        page: usize,
        is_zeroed: bool,
    },
    Misdirected {
        from: usize,
        to: usize,
    },
    /// The page from some transactions before.
    Stale {
        page: usize,
    },
    Cut {
        length: usize,
    },
    Longer {
        length: usize,
    },
}

impl Damage {
    fn random(random: &mut Random, pages: usize) -> Self {
        let page = |random: &mut Random| random.below(pages as u64) as usize;
        match random.below(8) {
            0 => Self::Bit { at: random.below((pages * PAGE) as u64) as usize, bit: random.below(8) as u32 },
            1 => {
                let page = if random.below(3) == 0 { random.below(2) as usize } else { page(random) };
                Self::HeaderBit { page, at: random.below(META as u64) as usize, bit: random.below(8) as u32 }
            }
            2 => {
                Self::Sector { at: page(random) * PAGE + SECTOR * random.below(8) as usize, is_zeroed: random.below(2) == 0 }
            }
            3 => Self::Page { page: page(random), is_zeroed: random.below(2) == 0 },
            4 => Self::Misdirected { from: page(random), to: page(random) },
            5 => Self::Stale { page: page(random) },
            6 => Self::Cut { length: random.below((pages * PAGE) as u64) as usize },
            _ => Self::Longer { length: 1 + random.below(3 * PAGE as u64) as usize },
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Bit { .. } => "a bit",
            Self::HeaderBit { .. } => "a bit of a header",
            Self::Sector { .. } => "a sector",
            Self::Page { .. } => "a page",
            Self::Misdirected { .. } => "a misdirected page",
            Self::Stale { .. } => "a stale page",
            Self::Cut { .. } => "cut",
            Self::Longer { .. } => "made longer",
        }
    }

    fn apply(self, file: &mut Vec<u8>, older: &[u8], random: &mut Random) {
        let mut spoil = |bytes: &mut [u8], is_zeroed: bool| {
            bytes.iter_mut().for_each(|byte| *byte = if is_zeroed { 0 } else { random.below(256) as u8 });
        };
        match self {
            Self::Bit { at, bit } => file[at] ^= 1 << bit,
            Self::HeaderBit { page, at, bit } => file[page * PAGE + at] ^= 1 << bit,
            Self::Sector { at, is_zeroed } => spoil(&mut file[at..at + SECTOR], is_zeroed),
            Self::Page { page, is_zeroed } => spoil(&mut file[page * PAGE..][..PAGE], is_zeroed),
            Self::Misdirected { from, to } => file.copy_within(from * PAGE..(from + 1) * PAGE, to * PAGE),
            Self::Stale { page } => {
                if let Some(before) = older.get(page * PAGE..(page + 1) * PAGE) {
                    file[page * PAGE..][..PAGE].copy_from_slice(before);
                }
            }
            Self::Cut { length } => file.truncate(length),
            Self::Longer { length } => file.resize(file.len() + length, 7),
        }
    }
}

/// The outcome of a damage.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Outcome {
    Refused,
    /// The graph equals the oracle.
    Same,
    Wrong,
    Signal,
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Refused => "refused",
            Self::Same => "without effect",
            Self::Wrong => "WRONG",
            Self::Signal => "SIGNAL",
        })
    }
}

/// The child: makes the damages with these numbers one by one. For each it reports "n refused", "n same" or "n wrong why".
fn run(dir: &Path, numbers: std::ops::Range<u64>) {
    let whole = fs::read(dir.join("hot/data.mdb")).expect("the store's file");
    let older = fs::read(dir.join(OLDER)).expect("the older file");
    let mut expected = Oracle::default();
    (1..=TRANSACTIONS).for_each(|n| transaction(&mut expected, n).expect("the oracle takes it"));
    for n in numbers {
        println!("{n} begun");
        let copy = dir.join("copy");
        copy_store(dir, &copy);
        let (mut random, mut file) = (Random::new(seed().wrapping_mul(0x9e37_79b9).wrapping_add(n)), whole.clone());
        Damage::random(&mut random, whole.len() / PAGE).apply(&mut file, &older, &mut random);
        fs::write(copy.join("hot/data.mdb"), &file).expect("the damaged file");
        let outcome = catch_unwind(AssertUnwindSafe(|| look(&copy, n % 2 == 0, &expected)));
        println!("{n} {}", outcome.unwrap_or("wrong"));
        fs::remove_dir_all(&copy).expect("the copy goes");
    }
}

fn copy_store(dir: &Path, copy: &Path) {
    fs::create_dir_all(copy.join("hot")).expect("a directory");
    fs::copy(dir.join("mangrove.json"), copy.join("mangrove.json")).expect("a copy");
    for entry in fs::read_dir(dir.join("hot")).expect("the store") {
        let path = entry.expect("a file").path();
        if path.extension().is_some_and(|extension| extension == "seg") {
            fs::copy(&path, copy.join("hot").join(path.file_name().expect("a name"))).expect("a copy");
        }
    }
}

/// Opens a damaged store. If it opens, it must contain what was written, and it must accept writes.
fn look(dir: &Path, read_only: bool, expected: &Oracle) -> &'static str {
    let Ok(store) = StoreInDir::try_open(dir, OpenOptions { read_only, seal_bytes: 0, ..OpenOptions::default() }) else {
        return "refused";
    };
    compare::assert_same(&*store.snapshot().expect("a snapshot"), expected);
    if !read_only {
        let mut t = store.begin().expect("a transaction");
        transaction(t.graph(), TRANSACTIONS + 1).expect("it is done");
        t.commit().expect("a commit");
    }
    assert_eq!(store.check().expect("a check"), [""; 0]);
    "same"
}

fn drive(damages: u64) {
    let mut tally = BTreeMap::<(&str, Outcome), u64>::new();
    for (at, name) in STORES.iter().enumerate() {
        let home = tempfile::tempdir().expect("a temporary directory");
        let dir = home.path().join(name);
        make(&dir, *name == "sealed");
        let pages = fs::read(dir.join("hot/data.mdb")).expect("the store's file").len() / PAGE;
        let mut next = at as u64 * damages / STORES.len() as u64;
        let end = (at as u64 + 1) * damages / STORES.len() as u64;
        while next < end {
            next = watch(&dir, next, end, &mut |n, outcome| {
                let damage = Damage::random(&mut Random::new(seed().wrapping_mul(0x9e37_79b9).wrapping_add(n)), pages);
                *tally.entry((damage.name(), outcome)).or_default() += 1;
                if outcome > Outcome::Same {
                    println!("damage: {name}, number {n}, {damage:?}: {outcome}");
                }
            });
        }
    }
    for ((what, outcome), n) in &tally {
        println!("damage: {n:5} {what}, {outcome}");
    }
    let count = |of: Outcome| tally.iter().filter(|((_, outcome), _)| *outcome == of).map(|(_, n)| n).sum::<u64>();
    assert_eq!((count(Outcome::Wrong), count(Outcome::Signal)), (0, 0), "wrong answers, signals");
    assert_eq!(count(Outcome::Same) + count(Outcome::Refused), damages);
    assert!(count(Outcome::Refused) > damages / 4, "damage is noticed");
}

/// Starts a child for the damages from `from` on. Returns the number to continue with: after the last one, or after the one it died
/// of.
fn watch(dir: &Path, from: u64, end: u64, say: &mut dyn FnMut(u64, Outcome)) -> u64 {
    let mut command = Command::new(std::env::current_exe().expect("the path of this program"));
    command.arg("child").arg(dir).args([from.to_string(), end.to_string()]).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = command.spawn().expect("the child starts");
    let (mut begun, mut next) = (from, from);
    for line in BufReader::new(child.stdout.take().expect("it was asked for")).lines() {
        let line = line.expect("the pipe is read");
        let (n, word) = line.split_once(' ').expect("a number and a word");
        begun = number(n);
        let outcome = match word {
            "begun" => continue,
            "refused" => Outcome::Refused,
            "same" => Outcome::Same,
            _ => Outcome::Wrong,
        };
        say(begun, outcome);
        next = begun + 1;
    }
    let status = child.wait().expect("the child ends");
    if next < end {
        assert!(status.code().is_none(), "the child ended by itself: {status}");
        say(begun, Outcome::Signal);
        let _ = fs::remove_dir_all(dir.join("copy"));
        return begun + 1;
    }
    next
}
