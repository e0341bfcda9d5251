//! The table of steps in the documentation, generated from a run.
//!
//! A scenario counts for every step it uses. A failing scenario is attributed to one of its steps. If it uses a step that is not
//! supported yet (none of the step's scenarios passes), it counts against that one. Otherwise it counts against the step with the
//! highest share of failures. A step is supported in *full* if no failure is attributed to it, *not yet* if none of its scenarios
//! passes, else *partial*.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt::Write as _;
use std::ops::ControlFlow;

use mangrove_query::gremlin::{self, steps::STEPS};

use crate::gherkin::Scenario;
use crate::scenario::{Outcome, Report};

const BEGIN: &str = "<!-- conformance: begin; written by conformance --write-docs, do not edit -->";
const END: &str = "<!-- conformance: end -->";

/// The scenarios of a step: how many pass, how many there are, and how many failures are attributed to it.
#[derive(Default)]
struct Uses {
    passed: usize,
    total: usize,
    suspect: usize,
}

/// The table for a run of the whole suite, in Markdown. It has every step of the language, in the order of the engine's list.
pub fn table(scenarios: &[Scenario], reports: &[Report]) -> String {
    let runs = runs(scenarios, reports);
    let uses = uses(&runs);
    let blamed: BTreeSet<&str> =
        runs.iter().filter(|(_, passed)| !passed).filter_map(|(steps, _)| blamed(steps, &uses)).collect();
    let mut text = String::from("| step | what it is for | scenarios passing | of | support |\n|---|---|---:|---:|---|\n");
    for step in &STEPS {
        let Uses { passed, total, .. } = *uses.get(step.name).unwrap_or(&Uses::default());
        let support = match (passed, total) {
            (_, 0) => "no scenario",
            (0, _) => "not yet",
            _ if blamed.contains(step.name) => "partial",
            _ => "full",
        };
        let _ = writeln!(text, "| `{}` | {} | {passed} | {total} | {support} |", step.name, step.description);
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
    let missing: BTreeSet<&str> = uses.iter().filter(|(_, uses)| uses.passed == 0).map(|(step, _)| *step).collect();
    for (steps, _) in runs.iter().filter(|(steps, passed)| !passed && steps.iter().all(|s| !missing.contains(s.as_str()))) {
        steps.iter().for_each(|step| uses.entry(step).or_default().suspect += 1);
    }
    uses
}

/// The step that a failure is attributed to. `None` if a step without a passing scenario explains it.
fn blamed<'a>(steps: &'a BTreeSet<String>, uses: &BTreeMap<&str, Uses>) -> Option<&'a str> {
    if steps.iter().any(|step| uses[step.as_str()].passed == 0) {
        return None;
    }
    let part = |step: &str| uses[step].suspect as f64 / uses[step].total as f64;
    steps.iter().map(String::as_str).max_by(|a, b| part(a).total_cmp(&part(b)))
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
            let _: ControlFlow<()> = traversal.for_each_call(&mut |call| {
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
    fn a_failure_is_laid_to_one_step() {
        let text = run(&[
            ("g.V().out()", Outcome::Passed),
            ("g.V().out().pageRank()", Outcome::Failed),
            ("g.V().order()", Outcome::Passed),
            ("g.V().order().in()", Outcome::Failed),
            ("g.V().in()", Outcome::Passed),
            ("g.V().in().in()", Outcome::Passed),
        ]);
        assert_eq!(row(&text, "pageRank"), ["0", "1", "not yet"]);
        assert_eq!(row(&text, "order"), ["1", "2", "partial"]);
        assert_eq!(row(&text, "in"), ["2", "3", "full"]);
        assert_eq!(row(&text, "out"), ["1", "2", "full"]);
        assert_eq!(row(&text, "V"), ["4", "6", "full"]);
        assert_eq!(row(&text, "coin"), ["0", "0", "no scenario"]);
    }

    /// The last three cells of a step's row.
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
