//! Runs each fuzz target for a few seconds on stable Rust, with the seeds and random mutations of them.
//!
//! `MANGROVE_FUZZ_SECONDS` sets how long a target runs (2), `MANGROVE_SEED` the random seed. `make fuzz` runs the same entry points
//! under libFuzzer. If a target panics, the test prints its input and keeps it in a file, so that you can run it again.

#[path = "../../../fuzz/entry.rs"]
mod entry;
mod support;

use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::time::{Duration, Instant};

use mangrove_testkit::graphs::Random;

/// Words with a meaning for one of the readers.
const WORDS: &[&str] = &[
    "g.V()",
    ".",
    "__",
    "(",
    ")",
    "[",
    "]",
    "{",
    "}",
    "'",
    "\"",
    "\\",
    ",",
    ":",
    ";",
    "\n",
    "\r\n",
    "\t",
    "\0",
    "//",
    "null",
    "true",
    "NaN",
    "-",
    "1e999",
    "9223372036854775808",
    "0x",
    "1.5m",
    "\\u0000",
    "\\ud800",
    "é",
    "日",
    "\u{feff}",
    "@type",
    "@value",
    "g:Int64",
    "g:List",
    "g:Map",
    "g:Bytecode",
    "<node id=\"1\">",
    "</graph>",
    "<![CDATA[",
    "]]>",
    "<!--",
    "&amp;",
    "&#0;",
    "<!DOCTYPE",
    "id:ID",
    ":LABEL",
    ":START_ID",
    "~id",
    "int[]",
    "\"\"",
    "repeat(",
    "out()",
    "P.gt(",
    "by(",
    "as('a')",
    "select('a')",
    "union(",
    "fold()",
    "addV('x')",
    "property('k',1)",
    "drop()",
    "times(2)",
    "choose(",
    "limit(1)",
    "math('_')",
    "?x ",
    "knows",
    "^",
    "*",
    "|",
    "/",
    "{2,9}",
    "{1000}",
    "<-",
    "`",
];

#[test]
fn gremlin_text() {
    fuzz("gremlin_parse", entry::gremlin_parse);
}

#[test]
fn gremlin_bytecode() {
    fuzz("gremlin_bytecode", entry::gremlin_bytecode);
}

#[test]
fn gremlin_graphbinary() {
    fuzz("gremlin_graphbinary", entry::gremlin_graphbinary);
}

#[test]
fn requests() {
    fuzz("requests", entry::requests);
}

#[test]
fn gremlin_queries_run() {
    fuzz("gremlin_run", entry::gremlin_run);
}

#[test]
fn log_records() {
    fuzz("log_records", entry::log_records);
}

#[test]
fn node_messages() {
    fuzz("node_messages", entry::node_messages);
}

#[test]
fn plan_bytes() {
    fuzz("plan_bytes", entry::plan_bytes);
}

#[test]
fn batch_bytes() {
    fuzz("batch_bytes", entry::batch_bytes);
}

#[test]
fn path_queries() {
    fuzz("paths", entry::paths);
}

#[test]
fn csv() {
    fuzz("csv", entry::csv);
}

#[test]
fn graphson() {
    fuzz("graphson", entry::graphson);
}

#[test]
fn graphml() {
    fuzz("graphml", entry::graphml);
}

fn fuzz(target: &str, run: fn(&[u8])) {
    let home = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/seeds").join(target);
    let mut seeds: Vec<Vec<u8>> = Vec::new();
    for entry in fs::read_dir(&home).unwrap_or_else(|error| panic!("{}: {error}", home.display())) {
        seeds.push(fs::read(entry.unwrap().path()).unwrap());
    }
    seeds.sort();
    assert!(!seeds.is_empty());
    let seconds = support::number_from_env("MANGROVE_FUZZ_SECONDS").unwrap_or(2);
    let mut random = Random::new(support::number_from_env("MANGROVE_SEED").unwrap_or(1));
    let end = Instant::now() + Duration::from_secs(seconds);
    let mut runs = 0;
    seeds.iter().for_each(|seed| run_one(target, run, seed));
    while Instant::now() < end {
        let input = mutated(&seeds, &mut random);
        let started = Instant::now();
        run_one(target, run, &input);
        let took = started.elapsed();
        assert!(took < Duration::from_secs(5), "{took:?} for {:?}", String::from_utf8_lossy(&input));
        runs += 1;
    }
    println!("{target}: {runs} inputs in {seconds} s");
    assert!(runs > 100, "{target}: only {runs} inputs in {seconds} s");
}

fn run_one(target: &str, run: fn(&[u8]), input: &[u8]) {
    if let Err(panic) = catch_unwind(AssertUnwindSafe(|| run(input))) {
        let path = std::env::temp_dir().join(format!("mangrove-fuzz-{target}"));
        fs::write(&path, input).unwrap();
        eprintln!("input, kept in {}:\n{}", path.display(), String::from_utf8_lossy(input));
        std::panic::resume_unwind(panic);
    }
}

/// A seed with one to five changes.
fn mutated(seeds: &[Vec<u8>], random: &mut Random) -> Vec<u8> {
    let mut pick = |n: usize| random.below(n.max(1) as u64) as usize;
    let mut input = seeds[pick(seeds.len())].clone();
    for _ in 0..=pick(5) {
        let (at, to) = (pick(input.len() + 1), pick(input.len() + 1));
        let (start, end) = (at.min(to), at.max(to));
        match pick(8) {
            0 if start < input.len() => input[start] ^= 1 << pick(8),
            1 => drop(input.drain(start..end)),
            2 => input.truncate(at),
            3 => {
                let piece = input[start..end].to_vec();
                input.splice(at..at, piece);
            }
            4 => {
                let other = &seeds[pick(seeds.len())];
                let from = pick(other.len());
                input.splice(at.., other[from..].iter().copied());
            }
            5 => {
                let many = WORDS[pick(WORDS.len())].repeat(1 << pick(12));
                input.splice(at..at, many.into_bytes());
            }
            _ => {
                let word = WORDS[pick(WORDS.len())].as_bytes();
                input.splice(at..at, word.iter().copied());
            }
        }
    }
    input
}
