//! Turns `repeat().emit().times(n).dedup()` into a bounded breadth-first search, which expands no vertex twice.

use super::dedup::{dedup, keeps_sets, last_dedup};
use super::kinds::Kinds;
use super::{ChainPosition, Rule, RuleContext, Way};
use crate::plan::paths::PathMode;
use crate::plan::{Emit, Repeat, Step, Traversal, Until};

pub(super) const RULE: Rule = Rule {
    name: "bounded-search",
    description: "a repeat() that gives all within n hops, without duplicates, runs as a breadth-first search",
    way: Way::Rewrite { needs: &[Kinds::REPEAT, Kinds::DEDUP], rewrite },
};

fn rewrite(traversal: &mut Traversal, place: ChainPosition, cx: &RuleContext<'_>) {
    if place != ChainPosition::Top || cx.mode == PathMode::Full || cx.has_sack {
        return;
    }
    let Some(end) = last_dedup(traversal) else { return };
    let hops = traversal.steps[..end].iter().rev().take_while(|node| keeps_sets(node)).count();
    if let Some(Step::Repeat(repeat)) = traversal.steps[..end - hops].last_mut().map(|node| &mut node.step)
        && is_reach(repeat)
    {
        repeat.body.steps.push(dedup());
    }
}

/// Whether the repeat emits everything within a number of hops. Then a vertex need not be expanded again: at its first visit more
/// hops were left.
fn is_reach(repeat: &Repeat) -> bool {
    let everything = matches!(repeat.emit, Some(Emit::Always)) && matches!(repeat.until, Some(Until::Times(_)));
    everything && repeat.body.steps.iter().all(keeps_sets)
}
