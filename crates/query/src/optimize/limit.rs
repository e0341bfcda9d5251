//! Reads no more than n edges of a vertex if only n results of a hop are used.

use super::kinds::Kinds;
use super::{ChainPosition, Rule, RuleContext, Way};
use crate::plan::{Scope, Step, Traversal};

pub(super) const RULE: Rule = Rule {
    name: "limit",
    description: "a hop that is limited reads no more edges of a vertex than it gives",
    way: Way::Rewrite { needs: &[Kinds::HOP, Kinds::RANGE], rewrite },
};

fn rewrite(traversal: &mut Traversal, _: ChainPosition, _: &RuleContext<'_>) {
    for at in 1..traversal.steps.len() {
        if let Step::Range { high: Some(high), scope: Scope::Global, .. } = traversal.steps[at].step
            && let Step::Hop { limit, .. } = &mut traversal.steps[at - 1].step
        {
            *limit = Some(high);
        }
    }
}
