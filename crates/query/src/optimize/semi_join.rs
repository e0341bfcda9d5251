//! Lets `where(out('l').has('k', x))` be answered from its end: find the few vertices with `x` first, and from these the vertices
//! that lead to them. While it runs, the step decides whether that pays.

use super::kinds::Kinds;
use super::scan_filters;
use super::{ChainPosition, Rule, RuleContext, Way};
use crate::plan::{HasKey, Step, Traversal, selectivity};
use mangrove_graph::ElementKind;

pub(super) const RULE: Rule = Rule {
    name: "semi-join",
    description: "a where() that leads to few vertices may be answered backwards from these",
    way: Way::Rewrite { needs: &[Kinds::ASKS, Kinds::HOP, Kinds::HAS], rewrite },
};

/// What passes this part of all values is few.
const FEW: f64 = 0.2;

fn rewrite(traversal: &mut Traversal, _: ChainPosition, _: &RuleContext<'_>) {
    for node in &mut traversal.steps {
        let Step::Where { child, negated } = &mut node.step else { continue };
        if let Some(ends) = ends(child) {
            node.step = Step::SemiJoin { child: std::mem::take(child), ends, negated: *negated };
        }
    }
}

/// All vertices to which the one hop of the child must lead.
fn ends(child: &Traversal) -> Option<Traversal> {
    let [hop, has] = &child.steps[..] else { return None };
    let is_plain = matches!(hop.step, Step::Hop { to_edges: false, filter: None, limit: None, latest: None, .. });
    let Step::Has(tests) = &has.step else { return None };
    let finds = |key: &HasKey| matches!(key, HasKey::Property(_) | HasKey::Id);
    let is_selective = tests.iter().any(|test| finds(&test.key) && selectivity(&test.predicate) < FEW);
    if !is_plain || !is_selective || !hop.labels.is_empty() || !has.labels.is_empty() {
        return None;
    }
    let ends = scan_filters::scan_of(ElementKind::Vertex, std::slice::from_ref(has));
    // A scan of all vertices would cost more than it saves.
    let finds_some = matches!(&ends.steps[0].step, Step::Scan { ids, filters, .. } if ids.is_some() || !filters.is_empty());
    finds_some.then_some(ends)
}
