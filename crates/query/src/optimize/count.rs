//! Lets the scan answer `V().has(…).count()`, without making traversers.

use super::kinds::Kinds;
use super::{ChainPosition, Rule, RuleContext, Way};
use crate::plan::{Reduction, Scope, Step, Traversal};

pub(super) const RULE: Rule = Rule {
    name: "count-scan",
    description: "a scan that is only counted makes no traversers",
    way: Way::Rewrite { needs: &[Kinds::SCAN, Kinds::COUNT], rewrite },
};

fn rewrite(traversal: &mut Traversal, place: ChainPosition, _: &RuleContext<'_>) {
    if place != ChainPosition::Top {
        return;
    }
    let [scan, count, ..] = &mut traversal.steps[..] else { return };
    let counted = matches!(count.step, Step::Reduce { reduction: Reduction::Count, scope: Scope::Global });
    if !counted || !scan.labels.is_empty() {
        return;
    }
    if let Step::Scan { kind, ids: None, labels, also, filters } = &mut scan.step {
        let (labels, also, filters) = (labels.take(), std::mem::take(also), std::mem::take(filters));
        scan.step = Step::CountScan { kind: *kind, labels, also, filters };
        let gone = traversal.steps.remove(1);
        traversal.steps[0].labels = gone.labels;
    }
}
