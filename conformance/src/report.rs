//! Reports on a run: totals, a table by directory, failures grouped by reason, and JSON.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::time::Duration;

use serde_json::json;

use crate::scenario::{Outcome, Report};

/// The number of scenarios with each outcome.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Totals {
    pub passed: usize,
    pub failed: usize,
    pub skipped: usize,
}

impl Totals {
    pub fn of<'a>(reports: impl IntoIterator<Item = &'a Report>) -> Self {
        let mut totals = Totals::default();
        for report in reports {
            match report.outcome {
                Outcome::Passed => totals.passed += 1,
                Outcome::Failed => totals.failed += 1,
                Outcome::Skipped => totals.skipped += 1,
            }
        }
        totals
    }

    pub fn line(&self) -> String {
        format!("{} passed, {} failed, {} skipped", self.passed, self.failed, self.skipped)
    }
}

/// The totals of each directory of the suite.
pub fn by_directory(reports: &[Report]) -> String {
    let mut directories: BTreeMap<&str, Vec<&Report>> = BTreeMap::new();
    for report in reports {
        directories.entry(report.id.split('/').next().unwrap_or_default()).or_default().push(report);
    }
    let mut text = format!("{:<12} {:>6} {:>6} {:>7} {:>7}\n", "directory", "passed", "failed", "skipped", "passed");
    for (directory, reports) in directories {
        let t = Totals::of(reports.iter().copied());
        let share = 100.0 * t.passed as f64 / (t.passed + t.failed).max(1) as f64;
        let _ = writeln!(text, "{directory:<12} {:>6} {:>6} {:>7} {share:>6.1}%", t.passed, t.failed, t.skipped);
    }
    text
}

/// The reasons of failures, the most common first, each with an example.
pub fn by_reason(reports: &[Report]) -> String {
    let mut groups: BTreeMap<String, Vec<&Report>> = BTreeMap::new();
    for report in reports.iter().filter(|r| r.outcome == Outcome::Failed) {
        groups.entry(group(&report.reason)).or_default().push(report);
    }
    let mut groups: Vec<_> = groups.into_iter().collect();
    groups.sort_by_key(|(_, reports)| std::cmp::Reverse(reports.len()));
    let mut text = String::new();
    for (reason, reports) in groups {
        let _ = writeln!(
            text,
            "{:>5}  {reason}\n       e.g. {}\n            {}",
            reports.len(),
            reports[0].id,
            one_line(&reports[0].gremlin)
        );
    }
    text
}

/// A reason without the parts that differ between scenarios.
fn group(reason: &str) -> String {
    const WIDTH: usize = 100;
    const WRONG_RESULTS: [&str; 5] =
        ["expected ", "no result equals ", "result ", "the graph should return ", "expected no result"];
    if WRONG_RESULTS.iter().any(|start| reason.starts_with(start)) && !reason.starts_with("expected an error") {
        return "wrong results".into();
    }
    reason.lines().next().unwrap_or_default().chars().take(WIDTH).collect()
}

pub fn one_line(text: &str) -> String {
    text.lines().map(str::trim).collect::<Vec<_>>().join(" ")
}

pub fn json(reports: &[Report], store: &str, time: Duration) -> String {
    let totals = Totals::of(reports);
    let scenario = |r: &Report| {
        let outcome = match r.outcome {
            Outcome::Passed => "pass",
            Outcome::Failed => "fail",
            Outcome::Skipped => "skip",
        };
        json!({ "id": r.id, "outcome": outcome, "reason": r.reason, "gremlin": r.gremlin, "ms": (r.ms * 100.0).round() / 100.0 })
    };
    let document = json!({
        "store": store,
        "totals": { "pass": totals.passed, "fail": totals.failed, "skip": totals.skipped, "seconds": time.as_secs_f64() },
        "scenarios": reports.iter().map(scenario).collect::<Vec<_>>(),
    });
    format!("{document:#}\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn failed(id: &str, reason: &str) -> Report {
        Report { id: id.into(), outcome: Outcome::Failed, reason: reason.into(), gremlin: "g.V()\n  .x()".into(), ms: 1.0 }
    }

    #[test]
    fn failures_are_grouped_by_what_they_have_in_common() {
        let reports = [
            failed("map/A.feature::a", "expected 3 results, got 2: []"),
            failed("map/A.feature::b", "raised: no step x\n  g.V().x()"),
            failed("map/A.feature::c", "result 1: expected d[1].i, got 2"),
            failed("map/A.feature::d", "expected an error saying \"no\", got []"),
        ];
        let text = by_reason(&reports);
        let heads: Vec<&str> = text.lines().step_by(3).map(str::trim).collect();
        assert_eq!(heads, ["2  wrong results", "1  expected an error saying \"no\", got []", "1  raised: no step x"]);
        assert!(text.contains("g.V() .x()"));
    }
}
