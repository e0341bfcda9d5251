//! The table of steps in the documentation, generated from a run.
//!
//! A scenario counts for every step it uses, also if it fails because of another one.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt::Write as _;
use std::ops::ControlFlow;

use mangrove_query::gremlin::{self, steps::STEPS};

use crate::gherkin::Scenario;
use crate::scenario::{Outcome, Report};

const BEGIN: &str = "<!-- conformance: begin; written by conformance --write-docs, do not edit -->";
const END: &str = "<!-- conformance: end -->";

/// The scenarios of a step: how many pass, and how many there are.
#[derive(Default)]
struct Uses {
    passed: usize,
    total: usize,
}

/// The table for a run of the whole suite, in Markdown. It has every step of the language, in the order of the engine's list.
pub fn table(scenarios: &[Scenario], reports: &[Report]) -> String {
    let runs = runs(scenarios, reports);
    let uses = uses(&runs);
    let mut text = String::from("| step | what it is for | scenarios passing | of |\n|---|---|---:|---:|\n");
    for step in &STEPS {
        let Uses { passed, total } = *uses.get(step.name).unwrap_or(&Uses::default());
        let _ = writeln!(text, "| `{}` | {} | {passed} | {total} |", step.name, step.description);
    }
    text
}

/// The steps of every scenario that ran, and whether it passed.
fn runs(scenarios: &[Scenario], reports: &[Report]) -> Vec<(BTreeSet<String>, bool)> {
    let outcomes: HashMap<&str, Outcome> = reports.iter().map(|r| (r.id.as_str(), r.outcome)).collect();
    let outcome = |s: &Scenario| outcomes.get(s.id.as_str()).copied().filter(|o| *o != Outcome::Skipped);
    scenarios.iter().filter_map(|s| Some((steps(s), outcome(s)? == Outcome::Passed))).collect()
}

fn uses(runs: &[(BTreeSet<String>, bool)]) -> BTreeMap<&str, Uses> {
    let mut uses: BTreeMap<&str, Uses> = BTreeMap::new();
    for (steps, passed) in runs {
        for step in steps {
            let uses = uses.entry(step).or_default();
            uses.total += 1;
            uses.passed += usize::from(*passed);
        }
    }
    uses
}

/// The document with `table` between its markers.
pub fn inserted(document: &str, table: &str) -> Result<String, String> {
    let missing = || format!("the document lacks the markers\n{BEGIN}\n{END}");
    let (before, rest) = document.split_once(BEGIN).ok_or_else(missing)?;
    let (_, after) = rest.split_once(END).ok_or_else(missing)?;
    Ok(format!("{before}{BEGIN}\n{table}{END}{after}"))
}

/// The names of the steps in a scenario's traversals. Traversals that do not parse have none.
fn steps(scenario: &Scenario) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for text in scenario.traversals() {
        if let Ok(traversal) = gremlin::parse(text) {
            let _: ControlFlow<()> = traversal.for_each_call(&mut |call, _| {
                names.insert(call.name.clone());
                ControlFlow::Continue(())
            });
        }
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gherkin;

    fn run(cases: &[(&str, Outcome)]) -> String {
        let feature: String = cases
            .iter()
            .enumerate()
            .map(|(at, (text, _))| {
                format!("  Scenario: s{at}\n    And the traversal of\n      \"\"\"\n      {text}\n      \"\"\"\n")
            })
            .collect();
        let scenarios = gherkin::parse("map/A.feature", &format!("Feature: a\n{feature}")).unwrap();
        let reports: Vec<_> = scenarios
            .iter()
            .zip(cases)
            .map(|(scenario, (_, outcome))| Report {
                id: scenario.id.clone(),
                outcome: *outcome,
                reason: String::new(),
                gremlin: String::new(),
                ms: 0.0,
            })
            .collect();
        table(&scenarios, &reports)
    }

    #[test]
    fn a_scenario_counts_for_each_of_its_steps() {
        let text = run(&[
            ("g.V().out()", Outcome::Passed),
            ("g.V().out().pageRank()", Outcome::Failed),
            ("g.V().in().in()", Outcome::Passed),
            ("g.V().in()", Outcome::Skipped),
        ]);
        assert_eq!(row(&text, "pageRank"), ["0", "1"]);
        assert_eq!(row(&text, "in"), ["1", "1"]);
        assert_eq!(row(&text, "out"), ["1", "2"]);
        assert_eq!(row(&text, "V"), ["2", "3"]);
        assert_eq!(row(&text, "coin"), ["0", "0"]);
    }

    /// The last two cells of a step's row.
    fn row<'a>(table: &'a str, step: &str) -> Vec<&'a str> {
        let row = table.lines().find(|line| line.starts_with(&format!("| `{step}` |"))).unwrap();
        row.trim_end_matches('|').split('|').skip(3).map(str::trim).collect()
    }

    #[test]
    fn a_table_replaces_the_one_between_the_markers() {
        let document = format!("before\n{BEGIN}\nold\n{END}\nafter\n");
        assert_eq!(inserted(&document, "new\n").unwrap(), format!("before\n{BEGIN}\nnew\n{END}\nafter\n"));
        assert!(inserted("no markers", "").is_err());
    }
}
