//! Lets `outE(label).has(time, …)` follow only the edges whose time matches. The store finds them by binary search.

use mangrove_graph::window::Window;
use mangrove_graph::{LabelSchema, Predicate, Schema};

use super::kinds::Kinds;
use super::{ChainPosition, Rule, RuleContext, Way};
use crate::plan::{Has, HasKey, Name, Step, Traversal};

pub(super) const RULE: Rule = Rule {
    name: "edge-filters",
    description: "a hop to edges reads only those in the time window that has() asks for",
    way: Way::Rewrite { needs: &[Kinds::EDGES, Kinds::HAS], rewrite },
};

fn rewrite(traversal: &mut Traversal, _: ChainPosition, cx: &RuleContext<'_>) {
    for at in 1..traversal.steps.len() {
        let (before, after) = traversal.steps.split_at_mut(at);
        let (hop, next) = (&mut before[at - 1], &mut after[0]);
        if let (Step::Hop { labels, to_edges: true, filter: filter @ None, .. }, Step::Has(tests)) =
            (&mut hop.step, &mut next.step)
            && let Some(key) = tests.iter().find_map(|test| windowed(cx.catalog.schema(), labels, test))
        {
            let on_time = tests.extract_if(.., |test| windowed(cx.catalog.schema(), labels, test).as_ref() == Some(&key));
            let predicate = on_time.map(|test| test.predicate).reduce(both);
            *filter = predicate.map(|predicate| (key, predicate));
        }
    }
    // A filter with no test left is removed; the hop takes its labels.
    for at in (1..traversal.steps.len()).rev() {
        let is_empty = matches!(&traversal.steps[at].step, Step::Has(tests) if tests.is_empty());
        if is_empty && matches!(traversal.steps[at - 1].step, Step::Hop { filter: Some(_), .. }) {
            let gone = traversal.steps.remove(at);
            traversal.steps[at - 1].labels.extend(gone.labels);
        }
    }
}

fn both(a: Predicate, b: Predicate) -> Predicate {
    match a {
        Predicate::And(mut parts) => {
            parts.push(b);
            Predicate::And(parts)
        }
        a => Predicate::And(vec![a, b]),
    }
}

/// The key of a test, if edges of one of these labels are ordered by that key and the order narrows the search.
fn windowed(schema: &Schema, labels: &[Name], test: &Has) -> Option<Name> {
    let HasKey::Property(name) = &test.key else { return None };
    let mut with_time =
        schema.edge_labels.iter().filter(|label| is_followed(labels, label)).filter_map(|label| label.property(label.time?));
    let says_something = with_time.any(|time| {
        let window = Window::of(&test.predicate, time.types);
        *schema.key_name(time.key) == **name && window.is_some_and(|window| window != Window::unknown())
    });
    says_something.then(|| name.clone())
}

/// Whether a hop along `labels` follows edges of this label. No labels means all.
pub(super) fn is_followed(labels: &[Name], label: &LabelSchema) -> bool {
    labels.is_empty() || labels.iter().any(|followed| **followed == *label.name)
}
