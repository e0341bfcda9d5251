//! `mangrove query`: runs one query and writes its results to stdout.

use std::fmt::Display;
use std::io::{IsTerminal, Read};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use clap::Args;

use super::output::{self, Format};
use super::{Failure, counted, interrupt, open_reading, open_writing, params, say, shell, warn};
use mangrove::{Explanation, Profile, QueryError, QueryOptions};

/// Run one Gremlin query, which may read or change the graph
#[derive(Args)]
pub struct Query {
    /// Directory of the database
    db: PathBuf,
    /// Run this query, for example 'g.V().count()'; - reads it from standard input
    gremlin: String,
    /// Write results in this format
    #[arg(long, value_enum, default_value = "table")]
    format: Format,
    /// Set a variable of the query: 5, 1.5, true, "text", [1,2] and {"k":1} as in JSON, anything else is a string
    #[arg(long = "param", value_name = "NAME=VALUE")]
    params: Vec<String>,
    /// Stop the query after this time, for example 500ms, 30s or 5m; default: no limit
    #[arg(long, value_name = "TIME", value_parser = duration)]
    timeout: Option<Duration>,
    /// Stop the query if it needs more megabytes than this; default: half of the machine's memory, at most 4096
    #[arg(long, value_name = "MB")]
    memory: Option<std::num::NonZeroUsize>,
    /// Refuse a query that changes the graph
    #[arg(long)]
    read_only: bool,
    /// Show how the query would run; do not run it
    #[arg(long)]
    explain: bool,
    /// Run the query and show what each step did instead of the results
    #[arg(long, conflicts_with = "explain")]
    profile: bool,
}

impl Query {
    pub fn run(self) -> Result<(), Failure> {
        let parameters = params::parse(&self.params).map_err(Failure::Usage)?;
        let text = self.text()?;
        let writes = mangrove_query::Query::parse(&text).map_err(QueryError::from)?.writes();
        if writes && self.read_only && !self.explain {
            return Err(Failure::Request(
                "the query changes the graph, and --read-only forbids that: nothing was done".into(),
            ));
        }
        let database = if writes && !self.explain { open_writing(&self.db)? } else { open_reading(&self.db)? };
        let defaults = QueryOptions::default();
        let memory_bytes_max = self.memory.map_or(defaults.memory_bytes_max, |mb| mb.get().saturating_mul(1 << 20));
        let cancel = interrupt::token();
        let options = QueryOptions { timeout: self.timeout, cancel, memory_bytes_max, ..defaults };
        if self.explain {
            let plan = database.explain(&text, &parameters, &options)?.with_index_call(shell::index_call);
            return output::print_text(&self.form(&plan, Explanation::to_json));
        }
        if self.profile {
            let profile = database.profile(&text, &parameters, &options)?;
            return output::print_text(&self.form(&profile, Profile::to_json));
        }
        let started = Instant::now();
        let mut results = database.query(&text, &parameters, &options)?;
        let rows = output::print(&mut results, self.format)?;
        warn(results.warnings());
        if self.format == Format::Table && std::io::stderr().is_terminal() {
            say(&format!("{} in {}", counted(rows, "row", "rows"), elapsed(started.elapsed())));
        }
        Ok(())
    }

    /// As text, or as JSON if the results are wanted as JSON.
    fn form<T: Display>(&self, shown: &T, to_json: fn(&T) -> String) -> String {
        if self.format == Format::Json { to_json(shown) + "\n" } else { format!("{}\n", shown.to_string().trim_end()) }
    }

    fn text(&self) -> Result<String, Failure> {
        if self.gremlin != "-" {
            return Ok(self.gremlin.clone());
        }
        let mut text = String::new();
        let read = std::io::stdin().lock().read_to_string(&mut text);
        read.map_err(|error| Failure::Request(format!("cannot read the query from standard input: {error}")))?;
        Ok(text)
    }
}

/// A duration for people.
pub fn elapsed(time: Duration) -> String {
    match time.as_secs_f64() {
        s if s < 0.001 => format!("{:.0} µs", s * 1e6),
        s if s < 1.0 => format!("{:.1} ms", s * 1e3),
        s => format!("{s:.2} s"),
    }
}

/// Reads `500ms`, `30s`, `5m`, `1h`, or a number of seconds.
pub fn duration(text: &str) -> Result<Duration, String> {
    let digits = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let unit_seconds = match unit.trim() {
        "ms" => 0.001,
        "s" | "" => 1.0,
        "m" | "min" => 60.0,
        "h" => 3600.0,
        _ => return Err(format!("{unit:?} is not a unit of time: use ms, s, m or h")),
    };
    let number: f64 = number.parse().map_err(|_| "expected a time such as 500ms, 30s or 5m".to_owned())?;
    Duration::try_from_secs_f64(number * unit_seconds).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_units() {
        assert_eq!(duration("500ms"), Ok(Duration::from_millis(500)));
        assert_eq!(duration("1.5s"), Ok(Duration::from_millis(1500)));
        assert_eq!(duration("2m"), Ok(Duration::from_secs(120)));
        assert_eq!(duration("7"), Ok(Duration::from_secs(7)));
        for wrong in ["", "s", "5 parsecs", "1.2.3s", "9999999999999999999999h"] {
            assert!(duration(wrong).is_err(), "{wrong}");
        }
    }
}
