//! What each step of a query did.

use std::fmt;
use std::time::Duration;

use serde_json::json;

use super::batch::Batch;
use super::chain::{Chain, Inside};

/// Of one operator; only kept while profiling.
#[derive(Clone, Copy, Debug, Default)]
pub struct Stats {
    pub nanos: u64,
    pub batches: u64,
    pub rows: u64,
    pub traversers: u64,
}

impl Stats {
    pub fn gave(&mut self, batch: &Batch) {
        self.batches += 1;
        self.rows += batch.len() as u64;
        self.traversers = self.traversers.saturating_add(batch.total());
    }

    pub fn add(&mut self, other: Stats) {
        self.nanos += other.nanos;
        self.batches += other.batches;
        self.rows += other.rows;
        self.traversers = self.traversers.saturating_add(other.traversers);
    }
}

/// Messages of a run of steps that many threads worked on.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Messages {
    pub all: u64,
    /// Run by workers of the crew.
    pub helped: u64,
    /// Run by workers of other regions than the one they were offered to.
    pub stolen: u64,
}

/// One step of a [`Profile`].
#[derive(Clone, Debug)]
pub struct StepProfile {
    /// As in the plan that ran.
    pub step: String,
    /// 0 for the steps of the query itself; those of a repeat's body are one deeper than the repeat.
    pub depth: usize,
    /// Spent in the step and its children, on all threads together; not in the steps before it.
    pub time: Duration,
    /// Batches, rows and traversers (rows with their bulk) it gave.
    pub batches: u64,
    pub rows: u64,
    pub traversers: u64,
    /// Traversers it was expected to give.
    pub estimate: Option<f64>,
    /// How its work was cut up, if it was.
    pub messages: Messages,
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
    pub(super) fn new(chain: &Chain, time: Duration, results: u64) -> Self {
        let mut steps = Vec::new();
        read(chain, 0, Messages::default(), &mut steps);
        Self { time, results, steps }
    }

    /// One object: `time_us`, `results`, and `steps` with the fields of [`StepProfile`].
    pub fn to_json(&self) -> String {
        let step = |s: &StepProfile| {
            json!({
                "step": s.step, "depth": s.depth, "time_us": micros(s.time), "batches": s.batches, "rows": s.rows,
                "traversers": s.traversers, "estimate": s.estimate, "messages": s.messages.all,
                "helped": s.messages.helped, "stolen": s.messages.stolen,
            })
        };
        let steps: Vec<_> = self.steps.iter().map(step).collect();
        json!({ "time_us": micros(self.time), "results": self.results, "steps": steps }).to_string()
    }
}

fn micros(time: Duration) -> f64 {
    time.as_nanos() as f64 / 1000.0
}

fn read(chain: &Chain, depth: usize, messages: Messages, steps: &mut Vec<StepProfile>) {
    for link in chain.links() {
        if let Some(Inside::Run(run, messages)) = link.op.inside() {
            read(run, depth, messages, steps);
            continue;
        }
        steps.push(StepProfile {
            step: link.name.clone(),
            depth,
            time: Duration::from_nanos(link.stats.nanos),
            batches: link.stats.batches,
            rows: link.stats.rows,
            traversers: link.stats.traversers,
            estimate: link.estimate,
            messages,
        });
        if let Some(Inside::Body(body)) = link.op.inside() {
            read(body, depth + 1, Messages::default(), steps);
        }
    }
}

impl fmt::Display for Profile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<String> =
            self.steps.iter().map(|s| format!("{:1$}{2}", "", 2 * s.depth, shortened(&s.step))).collect();
        let width = names.iter().map(|name| name.chars().count()).max().unwrap_or(0).max(4);
        writeln!(
            f,
            "{:width$}  {:>10}  {:>10}  {:>12}  {:>10}  {:>8}  helped",
            "step", "time", "rows", "traversers", "expected", "batches"
        )?;
        for (step, name) in self.steps.iter().zip(names) {
            let expected = step.estimate.map(|n| format!("{n:.0}")).unwrap_or_default();
            let helped = match step.messages {
                Messages { all: 0, .. } => String::new(),
                Messages { all, helped, .. } => format!("{helped}/{all}"),
            };
            let time = format!("{:.1} µs", micros(step.time));
            let (rows, traversers, batches) = (step.rows, step.traversers, step.batches);
            let line =
                format!("{name:width$}  {time:>10}  {rows:>10}  {traversers:>12}  {expected:>10}  {batches:>8}  {helped}");
            writeln!(f, "{}", line.trim_end())?;
        }
        write!(f, "{} results in {:.1} µs", self.results, micros(self.time))
    }
}

const NAME_CHARS_MAX: usize = 60;

fn shortened(name: &str) -> String {
    match name.char_indices().nth(NAME_CHARS_MAX) {
        Some((end, _)) => format!("{}…", &name[..end]),
        None => name.to_owned(),
    }
}
