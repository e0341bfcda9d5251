//! Lets `order().limit(n)` sort only the first n.

use super::kinds::Kinds;
use super::{ChainPosition, Rule, RuleContext, Way};
use crate::plan::{Scope, Step, Traversal};

pub(super) const RULE: Rule = Rule {
    name: "top",
    description: "an order with a limit sorts no more than it gives",
    way: Way::Rewrite { needs: &[Kinds::ORDER, Kinds::RANGE], rewrite },
};

fn rewrite(traversal: &mut Traversal, _: ChainPosition, _: &RuleContext<'_>) {
    for at in 1..traversal.steps.len() {
        if let Step::Range { high: Some(high), scope: Scope::Global, .. } = traversal.steps[at].step
            && let Step::Order { limit, scope: Scope::Global, .. } = &mut traversal.steps[at - 1].step
        {
            *limit = Some(high);
        }
    }
}
