//! The list of expected failures, each with its reason.
//!
//! Each line holds the id of a scenario, a tab, and the reason. A run is good if exactly the listed scenarios fail. An unlisted
//! failure is wrong, and so is a listed scenario that passes. A second list has those that may fail or pass.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use crate::scenario::{Outcome, Report};

const HEADER: &str = "\
# Scenarios of TinkerPop's suite that fail, and why: scenario id, tab, reason. A run fails if any other scenario fails, if one of
# these passes, or if a reason is missing. `conformance --write-expected` rewrites the list and keeps the reasons.
";

#[derive(Debug, Default)]
pub struct ExpectedFailures {
    reasons: BTreeMap<String, String>,
    /// Scenarios that may fail, or pass, and why.
    either: BTreeMap<String, String>,
}

/// The differences between a run and the list. Empty if there are none.
#[derive(Debug, Default)]
pub struct Differences {
    pub unexpected_failures: Vec<String>,
    pub unexpected_passes: Vec<String>,
    /// Listed, but not a scenario of the suite.
    pub unknown: Vec<String>,
    pub without_reason: Vec<String>,
}

impl Differences {
    pub fn is_empty(&self) -> bool {
        self.lists().iter().all(|(_, ids)| ids.is_empty())
    }

    pub fn lists(&self) -> [(&'static str, &[String]); 4] {
        [
            ("failed unexpectedly", &self.unexpected_failures),
            ("passed, but are listed as failing (take them off the list)", &self.unexpected_passes),
            ("are listed, but the suite has no such scenario", &self.unknown),
            ("are listed without a reason", &self.without_reason),
        ]
    }
}

impl ExpectedFailures {
    pub fn parse(text: &str) -> Self {
        Self { reasons: entries(text), either: BTreeMap::new() }
    }

    /// With the scenarios of another list, which may fail or pass.
    pub fn with_either(self, text: &str) -> Self {
        Self { either: entries(text), ..self }
    }

    /// The differences between the reports of a run and the list. The run may cover a part of the suite.
    pub fn differences(&self, reports: &[Report], suite: &BTreeSet<&str>) -> Differences {
        let ids = |outcome, listed| {
            let is_open = |r: &Report| self.either.contains_key(&r.id);
            let chosen = |r: &&Report| r.outcome == outcome && self.reasons.contains_key(&r.id) == listed && !is_open(r);
            reports.iter().filter(chosen).map(|r| r.id.clone()).collect()
        };
        let both = || self.reasons.iter().chain(&self.either);
        Differences {
            unexpected_failures: ids(Outcome::Failed, false),
            unexpected_passes: ids(Outcome::Passed, true),
            unknown: both().map(|(id, _)| id).filter(|id| !suite.contains(id.as_str())).cloned().collect(),
            without_reason: both().filter(|(_, r)| r.is_empty()).map(|(id, _)| id.clone()).collect(),
        }
    }

    /// The list rewritten from this run. Reasons are kept. New entries have no reason; a person must add it.
    pub fn rewritten(&self, reports: &[Report]) -> String {
        let run: BTreeMap<&str, Outcome> = reports.iter().map(|r| (r.id.as_str(), r.outcome)).collect();
        let not_run = self.reasons.keys().map(String::as_str).filter(|id| !run.contains_key(id));
        let failed = run.iter().filter(|(_, outcome)| **outcome == Outcome::Failed).map(|(id, _)| *id);
        let ids: BTreeSet<&str> = failed.chain(not_run).collect();
        let mut text = HEADER.to_owned();
        for id in ids {
            let reason = self.reasons.get(id).map(String::as_str).unwrap_or_default();
            let _ = writeln!(text, "{id}\t{reason}");
        }
        text
    }
}

fn entries(text: &str) -> BTreeMap<String, String> {
    let lines = text.lines().map(str::trim_end).filter(|line| !line.is_empty() && !line.starts_with('#'));
    let entry = |line: &str| {
        let (id, reason) = line.split_once('\t').unwrap_or((line, ""));
        (id.to_owned(), reason.trim().to_owned())
    };
    lines.map(entry).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report(id: &str, outcome: Outcome) -> Report {
        Report { id: id.into(), outcome, reason: String::new(), gremlin: String::new(), ms: 0.0 }
    }

    #[test]
    fn a_run_must_fail_exactly_what_is_listed() {
        let expected = ExpectedFailures::parse("# header\na\tno such step\nb\tnot yet\nc\t\ngone\twhy\n");
        let reports = [
            ("a", Outcome::Failed),
            ("b", Outcome::Passed),
            ("c", Outcome::Failed),
            ("d", Outcome::Failed),
            ("e", Outcome::Skipped),
        ]
        .map(|(id, outcome)| report(id, outcome));
        let differences = expected.differences(&reports, &BTreeSet::from(["a", "b", "c", "d", "e"]));
        assert_eq!(differences.unexpected_failures, ["d"]);
        assert_eq!(differences.unexpected_passes, ["b"]);
        assert_eq!(differences.unknown, ["gone"]);
        assert_eq!(differences.without_reason, ["c"]);
        assert!(!differences.is_empty());
    }

    #[test]
    fn what_is_left_open_may_fail_or_pass() {
        let expected = ExpectedFailures::parse("a\twhy\n").with_either("b\torder\nc\torder\nd\t\ngone\torder\n");
        let reports = [report("a", Outcome::Failed), report("b", Outcome::Failed), report("c", Outcome::Passed)];
        let differences = expected.differences(&reports, &BTreeSet::from(["a", "b", "c", "d"]));
        assert!(differences.unexpected_failures.is_empty() && differences.unexpected_passes.is_empty());
        assert_eq!(differences.unknown, ["gone"]);
        assert_eq!(differences.without_reason, ["d"]);
    }

    #[test]
    fn rewriting_keeps_reasons_and_what_was_not_run() {
        let expected = ExpectedFailures::parse("a\tno such step\nb\tfixed\nz\tnot run\n");
        let reports = [report("a", Outcome::Failed), report("b", Outcome::Passed), report("c", Outcome::Failed)];
        let text = expected.rewritten(&reports);
        let rest = text.strip_prefix(HEADER).unwrap();
        assert_eq!(rest, "a\tno such step\nc\t\nz\tnot run\n");
        let again = ExpectedFailures::parse(&text);
        assert_eq!(again.differences(&[], &BTreeSet::from(["a", "c", "z"])).without_reason, ["c"]);
    }
}
