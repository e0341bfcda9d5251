//! The table of steps in the documentation, made from a run.
//!
//! A scenario counts for every step it uses. A step is supported in *full* if all its scenarios pass but those that also use a
//! step there is not yet, *not yet* if none passes, else in *part*.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt::Write as _;

use mangrove_query::gremlin::syntax::{Argument, ArgumentKind, PredicateSyntax, Traversal};
use mangrove_query::gremlin::{self, steps::STEPS};

use crate::gherkin::Scenario;
use crate::scenario::{Outcome, Report};

const BEGIN: &str = "<!-- conformance: begin; written by conformance --write-docs, do not edit -->";
const END: &str = "<!-- conformance: end -->";

/// The scenarios that use a step: what came of each, and the steps it uses.
type Uses = BTreeMap<String, Vec<(Outcome, BTreeSet<String>)>>;

/// The table of a run of the whole suite, as Markdown: every step of the language, in the order of the engine's own list.
pub fn table(scenarios: &[Scenario], reports: &[Report]) -> String {
    let uses = uses(scenarios, reports);
    let missing: BTreeSet<&str> = uses.iter().filter(|(_, uses)| passed(uses) == 0).map(|(step, _)| step.as_str()).collect();
    let mut text = String::from("| step | what it is for | scenarios passing | of | support |\n|---|---|---:|---:|---|\n");
    for step in &STEPS {
        let uses = uses.get(step.name).map(Vec::as_slice).unwrap_or_default();
        let excused =
            |steps: &BTreeSet<String>| steps.iter().any(|other| other != step.name && missing.contains(other.as_str()));
        let support = if uses.is_empty() {
            "no scenario"
        } else if passed(uses) == 0 {
            "not yet"
        } else if uses.iter().all(|(outcome, steps)| *outcome == Outcome::Passed || excused(steps)) {
            "full"
        } else {
            "partial"
        };
        let (name, purpose) = (step.name, step.description);
        let _ = writeln!(text, "| `{name}` | {purpose} | {} | {} | {support} |", passed(uses), uses.len());
    }
    text
}

fn uses(scenarios: &[Scenario], reports: &[Report]) -> Uses {
    let outcomes: HashMap<&str, Outcome> = reports.iter().map(|r| (r.id.as_str(), r.outcome)).collect();
    let mut uses = Uses::new();
    for scenario in scenarios {
        let Some(outcome) = outcomes.get(scenario.id.as_str()).filter(|o| **o != Outcome::Skipped) else { continue };
        let steps = steps(scenario);
        for step in &steps {
            uses.entry(step.clone()).or_default().push((*outcome, steps.clone()));
        }
    }
    uses
}

fn passed(uses: &[(Outcome, BTreeSet<String>)]) -> usize {
    uses.iter().filter(|(outcome, _)| *outcome == Outcome::Passed).count()
}

/// The document with `table` between its markers.
pub fn inserted(document: &str, table: &str) -> Result<String, String> {
    let missing = || format!("the document lacks the markers\n{BEGIN}\n{END}");
    let (before, rest) = document.split_once(BEGIN).ok_or_else(missing)?;
    let (_, after) = rest.split_once(END).ok_or_else(missing)?;
    Ok(format!("{before}{BEGIN}\n{table}{END}{after}"))
}

/// The names of the steps a scenario's traversals use; of those that do not parse, none.
fn steps(scenario: &Scenario) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for text in scenario.traversals() {
        if let Ok(traversal) = gremlin::parse(text) {
            of_traversal(&traversal, &mut names);
        }
    }
    names
}

fn of_traversal(traversal: &Traversal, names: &mut BTreeSet<String>) {
    for call in &traversal.calls {
        names.insert(call.name.clone());
        call.args.iter().for_each(|argument| of_argument(argument, names));
    }
}

fn of_argument(argument: &Argument, names: &mut BTreeSet<String>) {
    match &argument.kind {
        ArgumentKind::Traversal(traversal) => of_traversal(traversal, names),
        ArgumentKind::Predicate(predicate) => of_predicate(predicate, names),
        ArgumentKind::List(items) | ArgumentKind::Set(items) => items.iter().for_each(|item| of_argument(item, names)),
        ArgumentKind::Map(entries) => entries.iter().for_each(|(key, value)| {
            of_argument(key, names);
            of_argument(value, names);
        }),
        ArgumentKind::Applied { args, .. } => args.iter().for_each(|item| of_argument(item, names)),
        ArgumentKind::Strategy { options, .. } => options.iter().for_each(|(_, value)| of_argument(value, names)),
        ArgumentKind::Value(_) | ArgumentKind::Constant { .. } | ArgumentKind::Variable(_) => {}
    }
}

fn of_predicate(predicate: &PredicateSyntax, names: &mut BTreeSet<String>) {
    match predicate {
        PredicateSyntax::Test { args, .. } => args.iter().for_each(|item| of_argument(item, names)),
        PredicateSyntax::And(a, b) | PredicateSyntax::Or(a, b) => {
            of_predicate(a, names);
            of_predicate(b, names);
        }
        PredicateSyntax::Not(part) => of_predicate(part, names),
    }
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
    fn a_failure_is_laid_to_the_step_there_is_not() {
        let text = run(&[
            ("g.V().out()", Outcome::Passed),
            ("g.V().out().pageRank()", Outcome::Failed),
            ("g.V().order()", Outcome::Passed),
            ("g.V().order().out()", Outcome::Failed),
        ]);
        assert_eq!(row(&text, "pageRank"), ["0", "1", "not yet"]);
        assert_eq!(row(&text, "order"), ["1", "2", "partial"]);
        assert_eq!(row(&text, "out"), ["1", "3", "partial"]);
        assert_eq!(row(&text, "coin"), ["0", "0", "no scenario"]);
        let text = run(&[("g.V()", Outcome::Passed), ("g.V().pageRank()", Outcome::Failed)]);
        assert_eq!(row(&text, "V"), ["1", "2", "full"]);
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
