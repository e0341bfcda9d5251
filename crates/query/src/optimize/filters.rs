//! Filters that follow each other become one, and go from the cheap and selective to the dear: a traverser that is to be dropped
//! is dropped before anything is spent on it.

use super::{Place, Rule, RuleContext};
use crate::plan::{HasKey, Step, StepNode, Traversal, selectivity};

pub(super) const COMBINE: Rule =
    Rule { name: "combine-filters", description: "has() steps that follow each other become one", rewrite: combine };

pub(super) const REORDER: Rule = Rule {
    name: "reorder-filters",
    description: "filters that follow each other go from cheap and selective to dear",
    rewrite: reorder,
};

fn combine(traversal: &mut Traversal, _: Place, _: &RuleContext<'_>) {
    flatten(traversal);
    let mut at = 0;
    while at + 1 < traversal.steps.len() {
        let (before, after) = traversal.steps.split_at_mut(at + 1);
        match (&mut before[at].step, &mut after[0].step) {
            (Step::Has(tests), Step::Has(more)) if before[at].labels.is_empty() => {
                tests.append(more);
                let gone = traversal.steps.remove(at + 1);
                traversal.steps[at].labels = gone.labels;
            }
            _ => at += 1,
        }
    }
}

/// `and(…)` of filters alone is these filters one after the other.
fn flatten(traversal: &mut Traversal) {
    let is_plain = |child: &Traversal| child.steps.iter().all(|node| node.labels.is_empty() && weight(&node.step).is_some());
    let mut steps: Vec<StepNode> = Vec::with_capacity(traversal.steps.len());
    for mut node in std::mem::take(&mut traversal.steps) {
        match &mut node.step {
            Step::And(children) if !children.is_empty() && children.iter().all(is_plain) => {
                let parts: Vec<StepNode> = children.drain(..).flat_map(|child| child.steps).collect();
                steps.extend(parts);
                if let Some(last) = steps.last_mut() {
                    last.labels.append(&mut node.labels);
                }
            }
            _ => steps.push(node),
        }
    }
    traversal.steps = steps;
}

fn reorder(traversal: &mut Traversal, _: Place, _: &RuleContext<'_>) {
    let mut at = 0;
    while at < traversal.steps.len() {
        let run =
            traversal.steps[at..].iter().take_while(|node| node.labels.is_empty() && weight(&node.step).is_some()).count();
        let filters = &mut traversal.steps[at..at + run];
        filters.iter_mut().for_each(|node| {
            if let Step::Has(tests) = &mut node.step {
                tests.sort_by(|a, b| test_weight(&a.key, &a.predicate).total_cmp(&test_weight(&b.key, &b.predicate)));
            }
        });
        filters.sort_by(|a, b| weight(&a.step).unwrap_or(f64::MAX).total_cmp(&weight(&b.step).unwrap_or(f64::MAX)));
        at += run + 1;
    }
}

/// What a filter costs for each traverser it drops (Hellerstein and Stonebraker, SIGMOD'93, §3.2); nothing for steps that are
/// no filters, or filters that must stay where they are: their outcome depends on what else comes, or they may fail.
fn weight(step: &Step) -> Option<f64> {
    Some(match step {
        Step::Has(tests) => {
            let costs = tests.iter().map(|test| test_weight(&test.key, &test.predicate));
            costs.fold(f64::MAX, f64::min)
        }
        Step::HasProperty { .. } => 20.0,
        Step::Where { child, .. } if is_safe(child) => 100.0 * (1 + steps_of(child)) as f64,
        _ => return None,
    })
}

fn test_weight(key: &HasKey, predicate: &mangrove_graph::Predicate) -> f64 {
    let cost = match key {
        HasKey::Label => 0.1,
        HasKey::Id => 1.0,
        HasKey::Property(_) => 2.0,
    };
    cost / (1.0 - selectivity(predicate)).max(0.01)
}

/// Whether a traversal can be asked in another order than it was written: it fails for nobody and leaves no trace.
fn is_safe(child: &Traversal) -> bool {
    !child.any(&|node| !is_harmless(&node.step) || !node.labels.is_empty())
}

fn is_harmless(step: &Step) -> bool {
    matches!(
        step,
        Step::Hop { .. }
            | Step::Degree { .. }
            | Step::End(_)
            | Step::Has(_)
            | Step::HasProperty { .. }
            | Step::Values(_)
            | Step::Id
            | Step::Label
            | Step::Is(_)
            | Step::Where { .. }
            | Step::Range { .. }
            | Step::Dedup { .. }
            | Step::Identity
            | Step::Reduce { reduction: crate::plan::Reduction::Count, .. }
    )
}

fn steps_of(child: &Traversal) -> usize {
    let mut n = child.steps.len();
    child.for_each_child(&mut |below| n += steps_of(below));
    n
}
