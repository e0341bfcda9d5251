//! The optimiser: rules that rewrite a plan into a cheaper one with the same results.
//!
//! Each rule is one file. Rules run in the order of [`RULES`], each over the whole plan. Any rule can be turned off by name, which
//! never changes a result.

mod access;
mod adjacency;
mod any_order;
mod both_ends;
mod bounded_search;
mod bulking;
mod combine_filters;
mod count;
mod dedup;
mod degree;
mod edge_filters;
mod explain;
mod kinds;
mod latest;
mod limit;
mod reorder_filters;
mod scan_filters;
mod semi_join;
mod switches;
mod top;

use mangrove_graph::Catalog;

pub use explain::{ExplainedStep, Explanation, explain};

use self::kinds::Kinds;
use crate::plan::paths::{PathMode, needs};
use crate::plan::{Plan, SourceConfig, Traversal};

/// The facts that a rule may use.
pub struct RuleContext<'a> {
    pub catalog: &'a dyn Catalog,
    /// How much of the paths the plan reads. A rule must keep the objects that somebody sees.
    pub mode: PathMode,
    /// Whether a step gives paths or parts of them. (`otherV` only looks back for a vertex.)
    pub shows_paths: bool,
    pub has_sack: bool,
    /// The kinds of steps that the plan has, and perhaps some that rules have removed. Rules add none that later rules look for.
    kinds: Kinds,
}

impl<'a> RuleContext<'a> {
    fn new(plan: &Plan, catalog: &'a dyn Catalog) -> Self {
        let (mode, shows_paths) = needs(plan);
        Self { catalog, mode, shows_paths, has_sack: plan.source.sack.is_some(), kinds: Kinds::of(&plan.traversal) }
    }
}

pub struct Rule {
    pub name: &'static str,
    pub description: &'static str,
    way: Way,
}

type Rewrite = fn(&mut Traversal, ChainPosition, &RuleContext<'_>);

/// How a rule works.
enum Way {
    /// Rewrites one chain of steps; called for every chain of the plan, children first. The plan must have a step of each of these
    /// sets.
    Rewrite { needs: &'static [Kinds], rewrite: Rewrite },
    /// It is part of every plan. If the rule is off, this function removes it.
    Switch(fn(&mut SourceConfig)),
}

/// Where a chain of steps stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ChainPosition {
    /// The query itself.
    Top,
    /// The body of a `repeat` at the top of the query.
    Repeat,
    /// A child that runs for each traverser of its parent.
    Child,
}

pub const RULES: [Rule; 21] = [
    switches::PATHS,
    switches::INDEX,
    switches::FRAGMENTS,
    switches::HOMES,
    switches::MESH,
    combine_filters::RULE,
    reorder_filters::RULE,
    scan_filters::RULE,
    edge_filters::RULE,
    adjacency::RULE,
    both_ends::RULE,
    count::RULE,
    degree::RULE,
    bounded_search::RULE,
    dedup::RULE,
    bulking::RULE,
    any_order::RULE,
    top::RULE,
    latest::RULE,
    limit::RULE,
    semi_join::RULE,
];

/// Applies every rule that is not turned off.
pub fn optimize(plan: &mut Plan, catalog: &dyn Catalog, rules_off: &[String]) {
    let mut cx = RuleContext::new(plan, catalog);
    for rule in &RULES {
        apply(rule, plan, &mut cx, rules_off);
    }
}

fn apply(rule: &Rule, plan: &mut Plan, cx: &mut RuleContext<'_>, rules_off: &[String]) {
    let is_off = rules_off.iter().any(|off| off == rule.name);
    match rule.way {
        Way::Switch(keep_from) if is_off => {
            keep_from(&mut plan.source);
            *cx = RuleContext::new(plan, cx.catalog);
        }
        Way::Rewrite { needs, rewrite } if !is_off && cx.kinds.has_each(needs) => {
            walk(&mut plan.traversal, ChainPosition::Top, rewrite, cx);
            // Only this rule can remove the last step that reads paths.
            if rule.name == adjacency::RULE.name && cx.mode == PathMode::Full {
                *cx = RuleContext::new(plan, cx.catalog);
            }
        }
        _ => {}
    }
}

fn walk(traversal: &mut Traversal, place: ChainPosition, rewrite: Rewrite, cx: &RuleContext<'_>) {
    for node in &mut traversal.steps {
        match &mut node.step {
            crate::plan::Step::Repeat(repeat) if place == ChainPosition::Top => {
                walk(&mut repeat.body, ChainPosition::Repeat, rewrite, cx);
                if let Some(crate::plan::Until::Child(child)) = &mut repeat.until {
                    walk(child, ChainPosition::Child, rewrite, cx);
                }
                if let Some(crate::plan::Emit::Child(child)) = &mut repeat.emit {
                    walk(child, ChainPosition::Child, rewrite, cx);
                }
            }
            step => step.for_each_child_mut(&mut |child| walk(child, ChainPosition::Child, rewrite, cx)),
        }
    }
    rewrite(traversal, place, cx);
}
