//! Lets `out().count()` and `where(out())` read degrees instead of neighbours.

use super::kinds::Kinds;
use super::{ChainPosition, Rule, RuleContext, Way};
use crate::plan::{Reduction, Scope, Step, Traversal};

pub(super) const RULE: Rule = Rule {
    name: "degree",
    description: "a hop that is only counted or tested reads degrees, never neighbours",
    way: Way::Rewrite { needs: &[Kinds::HOP, Kinds::COUNT.or(Kinds::ASKS)], rewrite },
};

fn rewrite(traversal: &mut Traversal, _: ChainPosition, _: &RuleContext<'_>) {
    for at in 1..traversal.steps.len() {
        let counted = matches!(traversal.steps[at].step, Step::Reduce { reduction: Reduction::Count, scope: Scope::Global });
        let hop = &mut traversal.steps[at - 1];
        if let (true, true, Step::Hop { direction, labels, filter, .. }) = (counted, hop.labels.is_empty(), &hop.step) {
            hop.step = Step::Degree { direction: *direction, labels: labels.clone(), filter: filter.clone() };
        }
    }
    for node in &mut traversal.steps {
        match &mut node.step {
            Step::Where { child, .. } => ask_whether(child),
            Step::And(children) | Step::Or(children) => children.iter_mut().for_each(ask_whether),
            _ => {}
        }
    }
}

/// For a child that only tests for a result, the number of edges says whether there is an edge.
fn ask_whether(child: &mut Traversal) {
    if let Some(last) = child.steps.last_mut()
        && let Step::Hop { direction, labels, filter, .. } = &last.step
        && last.labels.is_empty()
    {
        last.step = Step::Degree { direction: *direction, labels: labels.clone(), filter: filter.clone() };
    }
}
