//! Lets `outE(label).order().by(key, desc).limit(n)` follow only the latest n edges of each vertex, if edges are ordered by that
//! key.

use mangrove_graph::window::Window;
use mangrove_graph::{LabelSchema, Schema};

use super::edge_filters::is_followed;
use super::kinds::Kinds;
use super::{ChainPosition, Rule, RuleContext, Way};
use crate::plan::{By, Name, Scope, SortOrder, Step, Traversal};

pub(super) const RULE: Rule = Rule {
    name: "latest",
    description: "a hop that keeps only the latest edges reads no others, where edges are ordered by time",
    way: Way::Rewrite { needs: &[Kinds::EDGES, Kinds::ORDER], rewrite },
};

fn rewrite(traversal: &mut Traversal, _: ChainPosition, cx: &RuleContext<'_>) {
    for at in 1..traversal.steps.len() {
        let (before, after) = traversal.steps.split_at_mut(at);
        if let (Step::Hop { labels, to_edges: true, limit: None, latest, .. }, Some((key, count))) =
            (&mut before[at - 1].step, greatest(&after[0].step))
            && are_in_order(cx.catalog.schema(), labels, key)
        {
            *latest = Some((key.clone(), count));
        }
    }
}

/// The property and the number `n`, if the step keeps the `n` elements with the greatest values. Modulators for ties must give a
/// value for every element, as ids and labels do.
fn greatest(step: &Step) -> Option<(&Name, u64)> {
    let Step::Order { by, limit: Some(count @ 1..), scope: Scope::Global } = step else { return None };
    match &by[..] {
        [(By::Key(key), SortOrder::Descending), ties @ ..] if ties.iter().all(|(by, _)| matches!(by, By::Token(_))) => {
            Some((key, *count))
        }
        _ => None,
    }
}

/// Whether edges of one of these labels are ordered by the property.
fn are_in_order(schema: &Schema, labels: &[Name], key: &str) -> bool {
    let is_in_order = |label: &LabelSchema| {
        let time = label.time.and_then(|time| label.property(time));
        time.is_some_and(|time| *schema.key_name(time.key) == *key && Window::keeps_order(time.types))
    };
    schema.edge_labels.iter().any(|label| is_followed(labels, label) && is_in_order(label))
}
