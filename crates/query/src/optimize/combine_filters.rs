//! Combines consecutive filters into one.

use super::kinds::Kinds;
use super::reorder_filters::weight;
use super::{ChainPosition, Rule, RuleContext, Way};
use crate::plan::{Step, StepNode, Traversal};

pub(super) const RULE: Rule = Rule {
    name: "combine-filters",
    description: "has() steps in a row become one",
    way: Way::Rewrite { needs: &[Kinds::HAS.or(Kinds::ASKS)], rewrite: combine },
};

fn combine(traversal: &mut Traversal, _: ChainPosition, _: &RuleContext<'_>) {
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

/// Replaces an `and(…)` of nothing but filters by these filters, one after the other.
fn flatten(traversal: &mut Traversal) {
    if !traversal.steps.iter().any(|node| matches!(node.step, Step::And(_))) {
        return;
    }
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
