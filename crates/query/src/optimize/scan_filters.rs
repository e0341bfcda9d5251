//! Moves filters that follow `V()` or `E()` into the scan. Ids become lookups. Labels limit the scan. An index answers predicates
//! on properties, or the scan tests them on columns before it makes traversers.

use mangrove_graph::{ElementKind, ExternalId, Predicate, Value};

use super::kinds::Kinds;
use super::{ChainPosition, Rule, RuleContext, Way};
use crate::plan::shape::{tests_of_labels, wanted_labels};
use crate::plan::{Has, HasKey, LabelsTest, Name, Step, StepNode, Traversal};

pub(super) const RULE: Rule = Rule {
    name: "scan-filters",
    description: "has(), hasLabel() and hasId() after V() or E() are answered by the scan",
    way: Way::Rewrite { needs: &[Kinds::SCAN, Kinds::HAS.or(Kinds::ASKS)], rewrite },
};

fn rewrite(traversal: &mut Traversal, _: ChainPosition, _: &RuleContext<'_>) {
    rewrite_chain(traversal);
}

/// A scan of all elements that pass some filters.
pub(super) fn scan_of(kind: ElementKind, filters: &[StepNode]) -> Traversal {
    let scan = Step::Scan { kind, ids: None, labels: None, also: Vec::new(), filters: Vec::new() };
    let filters = filters.iter().map(|node| StepNode::from(node.step.clone()));
    let mut all = Traversal { steps: std::iter::once(scan.into()).chain(filters).collect() };
    rewrite_chain(&mut all);
    all
}

/// The rule for one chain of steps.
fn rewrite_chain(traversal: &mut Traversal) {
    let mut at = 0;
    while at + 1 < traversal.steps.len() {
        let (before, after) = traversal.steps.split_at_mut(at + 1);
        let (scan, next) = (&mut before[at], &mut after[0]);
        let folded = match (&mut scan.step, &mut next.step) {
            (Step::Scan { .. }, Step::Has(tests)) if scan.labels.is_empty() => {
                // Ids come first: a lookup beats any scan.
                tests.sort_by_key(|test| !matches!(test.key, HasKey::Id));
                tests.retain(|test| !fold(&mut scan.step, test));
                tests.is_empty()
            }
            (Step::Scan { ids: None, labels, also, .. }, step) if scan.labels.is_empty() => match tests_of_labels(step) {
                Some(tests) => {
                    tests.into_iter().for_each(|test| put(labels, also, test));
                    true
                }
                None => false,
            },
            _ => false,
        };
        if folded {
            let gone = traversal.steps.remove(at + 1);
            traversal.steps[at].labels.extend(gone.labels);
        } else {
            at += 1;
        }
    }
}

/// Moves one test into the scan, if the scan can answer it.
fn fold(scan: &mut Step, test: &Has) -> bool {
    let Step::Scan { ids, labels, also, filters, .. } = scan else { return false };
    match &test.key {
        // Few elements are named by id, so their other filters run after the lookup.
        _ if ids.is_some() => false,
        HasKey::Id if labels.is_none() && also.is_empty() && filters.is_empty() => {
            match wanted(&test.predicate).and_then(distinct) {
                Some(values) => {
                    *ids = Some(values);
                    true
                }
                None => false,
            }
        }
        HasKey::Label => match wanted_labels(test) {
            Some(names) => {
                put(labels, also, LabelsTest { labels: names, is_negated: false });
                true
            }
            None => false,
        },
        HasKey::Property(key) => {
            filters.push((key.clone(), test.predicate.clone()));
            true
        }
        _ => false,
    }
}

/// Adds a test to those of a scan, unless it is one of them. The first that asks for labels says which labels are visited.
fn put(labels: &mut Option<Vec<Name>>, also: &mut Vec<LabelsTest>, test: LabelsTest) {
    match labels {
        None if !test.is_negated => {
            // A label is visited once, however often it is named.
            let mut visited: Vec<Name> = Vec::with_capacity(test.labels.len());
            test.labels.into_iter().for_each(|label| {
                if !visited.contains(&label) {
                    visited.push(label);
                }
            });
            *labels = Some(visited);
        }
        Some(visited) if !test.is_negated && *visited == test.labels => {}
        _ if also.contains(&test) => {}
        _ => also.push(test),
    }
}

/// The values that a predicate allows, if it lists them.
fn wanted(predicate: &Predicate) -> Option<Vec<Value>> {
    match predicate {
        Predicate::Compare(mangrove_graph::Comparison::Eq, value) => Some(vec![value.clone()]),
        Predicate::Within(values) => Some(values.to_vec()),
        _ => None,
    }
}

/// The distinct ids to look up, because a filter passes an element once. `None` if a value is no id but may equal one, as 1.0 does.
fn distinct(values: Vec<Value>) -> Option<Vec<Value>> {
    if let [Value::Vertex(_) | Value::Edge(_)] = &values[..] {
        return Some(values);
    }
    let ids = values.iter().map(ExternalId::from_value).collect::<Option<Vec<_>>>()?;
    let mut seen = std::collections::HashSet::with_capacity(ids.len());
    Some(ids.into_iter().zip(values).filter(|(id, _)| seen.insert(id.clone())).map(|(_, value)| value).collect())
}
