//! Traces: what the library does and how long it takes, on standard error.
//!
//! The library describes its work with the crate `tracing`. A program in Rust may listen with a subscriber of its own. The command
//! and the Python package listen with this one. It shows errors, such as those of work in the background, and on request more.
//!
//! | level | shows |
//! |---|---|
//! | `error` | work in the background that failed |
//! | `info` | also loads, and each segment that is written, with its duration |
//! | `debug` | also each call, the planning and each run of a query, each file that is read, shared commits, and what helper threads did |

use std::str::FromStr;
use std::sync::OnceLock;

use tracing::level_filters::LevelFilter;
use tracing_subscriber::fmt::format::FmtSpan;
use tracing_subscriber::prelude::*;
use tracing_subscriber::{Registry, reload};

type Level = reload::Handle<LevelFilter, Registry>;

static LEVEL: OnceLock<Option<Level>> = OnceLock::new();

/// The levels, from the one that shows least.
pub const LEVELS: [&str; 5] = ["off", "error", "warn", "info", "debug"];

/// Writes traces to standard error from now on, down to a level. Calling it again changes the level.
///
/// # Errors
/// If there is no such level, or if the program has a subscriber of its own.
pub fn trace(level: &str) -> Result<(), String> {
    let known = LEVELS.contains(&level).then(|| LevelFilter::from_str(level).ok()).flatten();
    let filter = known.ok_or_else(|| format!("there is no level `{level}` of traces: use {}", LEVELS.join(", ")))?;
    let handle = LEVEL.get_or_init(|| {
        let (layer, handle) = reload::Layer::new(filter);
        let lines =
            tracing_subscriber::fmt::layer().with_writer(std::io::stderr).with_ansi(false).with_span_events(FmtSpan::CLOSE);
        tracing_subscriber::registry().with(layer).with(lines).try_init().is_ok().then_some(handle)
    });
    match handle {
        Some(handle) => handle.reload(filter).map_err(|error| error.to_string()),
        None => Err("this program has a subscriber of its own for traces".into()),
    }
}
