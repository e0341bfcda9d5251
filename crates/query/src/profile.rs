//! What each step of a query did.

use std::fmt;
use std::time::Duration;

use serde_json::json;

use crate::plan::Traversal;
use crate::plan::outline::{indented, outline};

/// The messages of a run of steps that many threads, or nodes, worked on.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Messages {
    pub all: u64,
    /// Messages run by workers of the crew.
    pub helped: u64,
    /// Messages run by workers of another region than the one they were offered to.
    pub stolen: u64,
    /// Messages to nodes that ran the steps.
    pub sent: u64,
    /// The bytes of these, and of the answers.
    pub bytes: u64,
}

/// One step of a [`Profile`].
#[derive(Clone, Debug)]
pub struct StepProfile {
    /// The step as it stands in the plan that ran.
    pub step: String,
    /// The depth in the plan. Steps of the query itself have 0; those of a child are one deeper than their parent.
    pub depth: usize,
    /// Whether it is the first step of a child.
    pub first: bool,
    /// Time in the step and its children, over all threads, without the steps before it.
    pub time: Duration,
    /// What it gave: batches, rows, and traversers (rows times bulk).
    pub batches: u64,
    pub rows: u64,
    pub traversers: u64,
    /// The estimate of the traversers it gives.
    pub expected: Option<f64>,
    /// The messages its work was cut into, if it was.
    pub messages: Messages,
    /// The number of threads that worked on it.
    pub threads: usize,
}

/// What each step of a query did while it ran.
#[derive(Clone, Debug)]
pub struct Profile {
    /// From beginning to end.
    pub time: Duration,
    pub results: u64,
    pub steps: Vec<StepProfile>,
}

impl Profile {
    /// The steps of a plan, before anything is counted.
    pub(crate) fn of(traversal: &Traversal) -> Self {
        let steps = outline(traversal).into_iter().map(|row| StepProfile {
            step: row.node.step.title().to_string(),
            depth: row.depth,
            first: row.first,
            time: Duration::ZERO,
            batches: 0,
            rows: 0,
            traversers: 0,
            expected: row.node.estimate,
            messages: Messages::default(),
            threads: 0,
        });
        Self { time: Duration::ZERO, results: 0, steps: steps.collect() }
    }

    /// One JSON object: `time_us`, `results`, and `steps` with the fields of [`StepProfile`].
    pub fn to_json(&self) -> String {
        let step = |s: &StepProfile| {
            json!({
                "step": s.step, "depth": s.depth, "first": s.first, "time_us": micros(s.time), "batches": s.batches,
                "rows": s.rows, "traversers": s.traversers, "expected": s.expected, "messages": s.messages.all,
                "helped": s.messages.helped, "stolen": s.messages.stolen, "sent": s.messages.sent,
                "bytes": s.messages.bytes, "threads": s.threads,
            })
        };
        let steps: Vec<_> = self.steps.iter().map(step).collect();
        json!({ "time_us": micros(self.time), "results": self.results, "steps": steps }).to_string()
    }
}

fn micros(time: Duration) -> f64 {
    time.as_nanos() as f64 / 1000.0
}

impl fmt::Display for Profile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<String> =
            self.steps.iter().map(|s| indented(shortened(&s.step).as_str(), s.depth, s.first)).collect();
        let width = names.iter().map(|name| name.chars().count()).max().unwrap_or(0).max(4);
        writeln!(
            f,
            "{:width$}  {:>10}  {:>10}  {:>12}  {:>10}  {:>8}  {:>7}  helped",
            "step", "time", "rows", "traversers", "expected", "batches", "threads"
        )?;
        for (step, name) in self.steps.iter().zip(names) {
            let expected = step.expected.map(|n| format!("{n:.0}")).unwrap_or_default();
            let helped = match step.messages {
                Messages { all: 0, sent: 0, .. } => String::new(),
                Messages { all: 0, sent, bytes, .. } => format!("{sent} to nodes, {bytes} B"),
                Messages { all, helped, .. } => format!("{helped}/{all}"),
            };
            let time = format!("{:.1} µs", micros(step.time));
            let (rows, traversers, batches, threads) = (step.rows, step.traversers, step.batches, step.threads);
            let line = format!(
                "{name:width$}  {time:>10}  {rows:>10}  {traversers:>12}  {expected:>10}  {batches:>8}  {threads:>7}  {helped}"
            );
            writeln!(f, "{}", line.trim_end())?;
        }
        let plural = if self.results == 1 { "" } else { "s" };
        write!(f, "{} result{plural} in {:.1} µs", self.results, micros(self.time))
    }
}

const NAME_CHARS_MAX: usize = 60;

fn shortened(name: &str) -> String {
    match name.char_indices().nth(NAME_CHARS_MAX) {
        Some((end, _)) => format!("{}…", &name[..end]),
        None => name.to_owned(),
    }
}
