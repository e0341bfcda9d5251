//! Kills a writing process while others read and open the same database, and checks what remains.
//!
//! ```text
//!   driver  -- starts -->  writer: open, then transactions 1, 2, 3 …, each fifth followed by a seal, a merge or a compaction
//!           <-- pipe ---   "opened", "bulk n" before the first n at once, "batch n" before a long one, "n" after its commit
//!                          returned, "condensing Seal", "condensed", "backup n", "backed-up n"
//!           -- starts -->  readers: one snapshot after the other, by query and by slow stream; they outlive most writers
//!           -- starts -->  openers: open for writing and close again, at once when the writer dies
//!           -- SIGKILL to the writer: at a random moment, or at an exact system call (kill_points.rs)
//!           opens the store: it must be exactly what k transactions leave, with k the last number read or one more,
//!           and `check` must find no fault; then starts the next writer on the same store
//! ```
//!
//! Every fourth store has several writing clients instead, which share syncs (clients.rs).
//!
//! This is a program of its own without a test harness, because it starts itself in each role. `--ignored` selects the long run.
//! `MANGROVE_KILLS` and `MANGROVE_SEED` set the number of kills and the random seed. A killed process loses nothing that the
//! operating system holds. So this test does not show whether commits reach the disk; docs/trust.md says which test does.

mod clients;
mod driver;
mod kill_points;
mod roles;
#[path = "../support/mod.rs"]
mod support;
mod work;

use std::path::Path;

const KILLS: u64 = 60;
const KILLS_LONG: u64 = 1000;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words[..] {
        ["writer", dir, seed] => roles::write_for_ever(Path::new(dir), seed.parse().expect("a seed")),
        ["reader", dir] => roles::read_for_ever(Path::new(dir)),
        ["clients", dir] => clients::write_for_ever(Path::new(dir)),
        ["visitor", dir] => clients::read_for_ever(Path::new(dir)),
        ["opener", dir] => roles::open_for_ever(Path::new(dir)),
        ["--list", ..] => println!("crash: test"),
        // A filter for `cargo test` that matches.
        [filter, ..] if !filter.starts_with('-') && !"crash".contains(filter) => {}
        _ => {
            let kills = if words.contains(&"--ignored") { KILLS_LONG } else { KILLS };
            driver::drive(support::number_from_env("MANGROVE_KILLS").unwrap_or(kills));
        }
    }
}
