//! `outE(label).order().by(key, desc).limit(n)` follows the latest n edges of each vertex, where they are in the order of that key.

use super::{Place, Rule, RuleContext, Way};
use crate::plan::{By, Scope, SortOrder, Step, Traversal};

pub(super) const RULE: Rule = Rule {
    name: "latest",
    description: "a hop to edges of which the latest few are kept reads no others, where edges are in the order of their time",
    way: Way::Rewrite(rewrite),
};

fn rewrite(traversal: &mut Traversal, _: Place, cx: &RuleContext<'_>) {
    let is_time = |key: &str| {
        let schema = cx.view.schema();
        schema.edge_labels.iter().filter_map(|label| label.time).any(|time| *schema.key_name(time) == *key)
    };
    for at in 1..traversal.steps.len() {
        if let Step::Order { by, limit: Some(count @ 1..), scope: Scope::Global } = &traversal.steps[at].step
            && let [(By::Key(key), SortOrder::Descending)] = &by[..]
            && is_time(key)
        {
            let wanted = Some((key.clone(), *count));
            if let Step::Hop { to_edges: true, limit: None, latest, .. } = &mut traversal.steps[at - 1].step {
                *latest = wanted;
            }
        }
    }
}
