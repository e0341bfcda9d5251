//! The optimiser: rules that rewrite a plan into one that gives the same and costs less.
//!
//! One rule a file. Rules run in the order of [`RULES`], each over the whole plan; any can be turned off by name, which must
//! never change a result.

mod adjacency;
mod any_order;
mod bulking;
mod count;
mod dedup;
mod degree;
mod explain;
mod filters;
mod scan_filters;
mod top;

use mangrove_graph::GraphView;

pub use explain::{ExplainedStep, Explanation, explain};

use crate::execute::{PathMode, path_mode};
use crate::plan::{Plan, Traversal};

/// What a rule may look at.
pub struct RuleContext<'a> {
    pub view: &'a dyn GraphView,
    /// How much of paths the plan reads: rules must not drop objects from paths somebody sees.
    pub mode: PathMode,
    pub has_sack: bool,
}

pub struct Rule {
    pub name: &'static str,
    pub description: &'static str,
    /// Rewrites one chain of steps; called for every chain of the plan, children first.
    rewrite: fn(&mut Traversal, Place, &RuleContext<'_>),
}

/// Where a chain stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Place {
    /// The query itself.
    Top,
    /// The body of a `repeat` of the query itself.
    Repeat,
    /// A child that runs for each traverser of its parent.
    Child,
}

pub const RULES: [Rule; 10] = [
    filters::COMBINE,
    filters::REORDER,
    scan_filters::RULE,
    adjacency::RULE,
    count::RULE,
    degree::RULE,
    dedup::RULE,
    bulking::RULE,
    any_order::RULE,
    top::RULE,
];

/// Applies every rule that is not turned off.
pub fn optimize(plan: &mut Plan, view: &dyn GraphView, rules_off: &[String]) {
    for rule in RULES.iter().filter(|rule| !rules_off.iter().any(|off| off == rule.name)) {
        apply(rule, plan, view);
    }
}

fn apply(rule: &Rule, plan: &mut Plan, view: &dyn GraphView) {
    let cx = RuleContext { view, mode: path_mode(plan), has_sack: plan.source.sack.is_some() };
    walk(&mut plan.traversal, Place::Top, rule, &cx);
}

fn walk(traversal: &mut Traversal, place: Place, rule: &Rule, cx: &RuleContext<'_>) {
    for node in &mut traversal.steps {
        match &mut node.step {
            crate::plan::Step::Repeat(repeat) if place == Place::Top => {
                walk(&mut repeat.body, Place::Repeat, rule, cx);
                if let Some(crate::plan::Until::Child(child)) = &mut repeat.until {
                    walk(child, Place::Child, rule, cx);
                }
                if let Some(crate::plan::Emit::Child(child)) = &mut repeat.emit {
                    walk(child, Place::Child, rule, cx);
                }
            }
            step => step.for_each_child_mut(&mut |child| walk(child, Place::Child, rule, cx)),
        }
    }
    (rule.rewrite)(traversal, place, cx);
}
