//! Orders consecutive filters from cheap and selective to expensive. A traverser that will be dropped is dropped before it costs
//! much.

use mangrove_graph::Predicate;

use super::kinds::Kinds;
use super::{ChainPosition, Rule, RuleContext, Way};
use crate::plan::facts::{Reads, Writes};
use crate::plan::{HasKey, Step, Traversal, selectivity};

pub(super) const RULE: Rule = Rule {
    name: "reorder-filters",
    description: "filters in a row run from cheap and selective to expensive",
    way: Way::Rewrite { needs: &[Kinds::HAS.or(Kinds::HAS_PROPERTY).or(Kinds::ASKS)], rewrite: reorder },
};

fn reorder(traversal: &mut Traversal, _: ChainPosition, _: &RuleContext<'_>) {
    let mut at = 0;
    while at < traversal.steps.len() {
        let run =
            traversal.steps[at..].iter().take_while(|node| node.labels.is_empty() && weight(&node.step).is_some()).count();
        let filters = &mut traversal.steps[at..at + run];
        filters.iter_mut().for_each(|node| {
            if let Step::Has(tests) = &mut node.step {
                tests.sort_by(|a, b| test_weight(&a.key, &a.predicate).total_cmp(&test_weight(&b.key, &b.predicate)));
            }
        });
        filters.sort_by(|a, b| weight(&a.step).unwrap_or(f64::MAX).total_cmp(&weight(&b.step).unwrap_or(f64::MAX)));
        at += run + 1;
    }
}

/// The cost of a filter for each traverser it drops (Hellerstein and Stonebraker, SIGMOD'93, §3.2). `None` for steps that are no
/// filters, and for filters that must stay in place because they may fail or depend on other traversers.
pub(super) fn weight(step: &Step) -> Option<f64> {
    if !step.is_filter() || step.facts().may_fail {
        return None;
    }
    let (mut below, mut is_safe) = (0, true);
    step.for_each_child(&mut |child| {
        below += steps_of(child);
        is_safe &= !child.any(&|node| !is_harmless(&node.step) || !node.labels.is_empty());
    });
    is_safe.then(|| match step {
        Step::Has(tests) => {
            let costs = tests.iter().map(|test| test_weight(&test.key, &test.predicate));
            costs.fold(f64::MAX, f64::min)
        }
        Step::HasProperty { .. } => 20.0,
        Step::Is(predicate) => worth(0.1, predicate),
        _ => 100.0 * (1 + below) as f64,
    })
}

fn test_weight(key: &HasKey, predicate: &Predicate) -> f64 {
    let cost = match key {
        HasKey::Label => 0.1,
        HasKey::Id => 1.0,
        HasKey::Property(_) => 2.0,
    };
    worth(cost, predicate)
}

fn worth(cost: f64, predicate: &Predicate) -> f64 {
    cost / (1.0 - selectivity(predicate)).max(0.01)
}

fn is_harmless(step: &Step) -> bool {
    let facts = step.facts();
    !facts.may_fail && facts.writes == Writes::NOTHING && !facts.reads.any_of(Reads::CHANCE)
}

fn steps_of(child: &Traversal) -> usize {
    let mut n = child.steps.len();
    child.for_each_child(&mut |below| n += steps_of(below));
    n
}
