//! `out().count()` reads degrees, not neighbours.

use super::{Place, Rule, RuleContext};
use crate::plan::{Reduction, Scope, Step, Traversal};

pub(super) const RULE: Rule =
    Rule { name: "degree", description: "a hop that is only counted reads degrees, never neighbours", rewrite };

fn rewrite(traversal: &mut Traversal, _: Place, _: &RuleContext<'_>) {
    for at in 1..traversal.steps.len() {
        let counted = matches!(traversal.steps[at].step, Step::Reduce { reduction: Reduction::Count, scope: Scope::Global });
        let hop = &mut traversal.steps[at - 1];
        if let (true, true, Step::Hop { direction, labels, .. }) = (counted, hop.labels.is_empty(), &hop.step) {
            hop.step = Step::Degree { direction: *direction, labels: labels.clone() };
        }
    }
}
