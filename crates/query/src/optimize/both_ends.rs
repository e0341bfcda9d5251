//! Searches from both ends where a query names the vertices that a `repeat()` or `shortestPath()` ends at.

use mangrove_graph::ElementKind;

use super::access::finds_at_once;
use super::kinds::Kinds;
use super::scan_filters;
use super::{ChainPosition, Rule, RuleContext, Way};
use crate::plan::facts::{Flow, Rows, Writes};
use crate::plan::{Goal, Repeat, Scope, Step, StepNode, Traversal, Until};

pub(super) const RULE: Rule = Rule {
    name: "both-ends",
    description: "a search for vertices that the query names begins at both ends",
    way: Way::Rewrite { needs: &[Kinds::REPEAT.or(Kinds::SHORTEST), Kinds::HAS], rewrite },
};

fn rewrite(traversal: &mut Traversal, place: ChainPosition, cx: &RuleContext<'_>) {
    for at in 0..traversal.steps.len() {
        let (before, after) = traversal.steps.split_at_mut(at + 1);
        match &mut before[at].step {
            Step::ShortestPath(asked) => asked.named = asked.target.as_ref().and_then(|target| named(target, cx)),
            Step::Repeat(repeat) if place == ChainPosition::Top && !cx.has_sack => {
                let nearest_only = takes_one(after);
                if is_search(repeat, nearest_only)
                    && let Some(Until::Child(until)) = &repeat.until
                    && let Some(targets) = named(until, cx)
                {
                    let is_simple = repeat.body.steps.iter().any(|node| matches!(node.step, Step::PathFilter { .. }));
                    repeat.goal = Some(Goal { targets, nearest_only, is_simple });
                }
            }
            _ => {}
        }
    }
}

/// A traversal that finds all vertices that pass some filters, if it looks at no others.
fn named(filters: &Traversal, cx: &RuleContext<'_>) -> Option<Traversal> {
    let is_test = |node: &StepNode| matches!(node.step, Step::Has(_)) && node.labels.is_empty();
    if filters.steps.is_empty() || !filters.steps.iter().all(is_test) {
        return None;
    }
    let scan = scan_filters::scan_of(ElementKind::Vertex, &filters.steps);
    let first = scan.steps.first().is_some_and(|node| finds_at_once(&node.step, cx.catalog));
    first.then_some(scan)
}

/// Whether the steps use the first traverser only.
fn takes_one(after: &[StepNode]) -> bool {
    let passes = |node: &&StepNode| {
        if let Step::Path { by, from: None, to: None } = &node.step {
            return by.is_empty();
        }
        let facts = node.step.facts();
        facts.flow == Flow::Each && facts.rows == Rows::Same && facts.writes == Writes::NOTHING && !node.step.has_children()
    };
    let limit = after.iter().find(|node| !passes(node)).map(|node| &node.step);
    matches!(limit, Some(Step::Range { low: 0, high: Some(1), scope: Scope::Global }))
}

/// Whether the first that a `repeat` gives has come a shortest way; and whether it gives nothing else, unless `nearest_only`.
fn is_search(repeat: &Repeat, nearest_only: bool) -> bool {
    let Some((hop, others)) = repeat.body.steps.split_first() else { return false };
    let is_hop = matches!(hop.step, Step::Hop { to_edges: false, limit: None, latest: None, .. });
    let mut visits_once = false;
    let only_drops = others.iter().all(|node| match &node.step {
        Step::Dedup { labels, by, scope: Scope::Global } => {
            visits_once = true;
            labels.is_empty() && by.is_empty()
        }
        Step::PathFilter { simple, by, from, to } => *simple && by.is_empty() && from.is_none() && to.is_none(),
        Step::Barrier { .. } => true,
        _ => false,
    });
    let has_labels = repeat.body.steps.iter().any(|node| !node.labels.is_empty());
    repeat.emit.is_none() && is_hop && only_drops && !has_labels && (visits_once || nearest_only)
}
