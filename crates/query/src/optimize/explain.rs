//! Shows a plan before and after each rule that changed it, and the estimates for the plan that runs.

use std::fmt;

use mangrove_graph::{Catalog, Result};
use serde_json::json;

use super::access::{IndexHint, access};
use super::{RULES, RuleContext, apply};
use crate::plan::facts::Flow;
use crate::plan::outline::{Row, indented, outline};
use crate::plan::{self, Plan};

#[derive(Clone, Debug)]
pub struct Explanation {
    pub original: String,
    /// The name of each rule that changed the plan, and the plan after it.
    pub rules: Vec<(&'static str, String)>,
    /// The steps of the plan that runs.
    pub steps: Vec<ExplainedStep>,
}

#[derive(Clone, Debug)]
pub struct ExplainedStep {
    pub step: String,
    /// The depth in the plan. Steps of the query itself have 0; those of a child are one deeper than their parent.
    pub depth: usize,
    /// Whether it is the first step of a child.
    pub first: bool,
    /// How the step finds elements, if it finds any: `by id`, `index on user.email`, or `SCAN of 151,043 vertices`. In a graph
    /// on nodes, an index also says whether it `asks every shard` or `asks the directory`.
    pub access: Option<String>,
    /// The calls that would make indexes, if they would avoid a scan.
    pub hint: Option<IndexHint>,
    /// The estimate of the traversers it gives.
    pub expected: f64,
    /// How traversers pass through it.
    pub flow: Flow,
    /// Whether the nodes of the graph run it, together with steps beside it.
    pub on_nodes: bool,
    /// Whether traversers take it from node to node.
    pub between_nodes: bool,
    /// Whether each node does its part of it, behind such steps. The query makes one result of these parts.
    pub in_parts: bool,
}

impl Explanation {
    /// The plan that runs.
    pub fn last(&self) -> &str {
        self.rules.last().map_or(&self.original, |(_, plan)| plan)
    }

    /// The same plan, whose hints make an index of a label and a key as `call` writes it. Without this, they name
    /// `create_index('label', 'key')`.
    pub fn with_index_call(mut self, call: fn(&str, &str) -> String) -> Self {
        self.steps.iter_mut().filter_map(|step| step.hint.as_mut()).for_each(|hint| hint.call = call);
        self
    }

    /// One JSON object: `original`, `rules` (objects with `rule` and `plan`), `steps` with the fields of [`ExplainedStep`].
    pub fn to_json(&self) -> String {
        let rules: Vec<_> = self.rules.iter().map(|(rule, plan)| json!({ "rule": rule, "plan": plan })).collect();
        let step = |s: &ExplainedStep| json!({ "step": s.step, "depth": s.depth, "first": s.first, "access": s.access, "hint": s.hint.as_ref().map(ToString::to_string), "expected": s.expected, "flow": s.flow.name(), "on_nodes": s.on_nodes, "between_nodes": s.between_nodes, "in_parts": s.in_parts });
        let steps: Vec<_> = self.steps.iter().map(step).collect();
        json!({ "original": self.original, "rules": rules, "steps": steps }).to_string()
    }
}

impl fmt::Display for Explanation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let width = self.rules.iter().map(|(name, _)| name.len()).max().unwrap_or(0).max("original".len());
        writeln!(f, "{:width$}  {}", "original", self.original)?;
        for (name, plan) in &self.rules {
            writeln!(f, "{name:width$}  {plan}")?;
        }
        let names: Vec<String> = self.steps.iter().map(|s| indented(&s.step, s.depth, s.first)).collect();
        let width = names.iter().map(|name| name.chars().count()).max().unwrap_or(0);
        writeln!(f, "\n{:width$}  expected  flow     access", "step")?;
        for (step, name) in self.steps.iter().zip(names) {
            let way = match step {
                ExplainedStep { between_nodes: true, .. } => "from node to node",
                ExplainedStep { in_parts: true, .. } => "in parts at the nodes",
                ExplainedStep { on_nodes: true, .. } => "on the nodes",
                _ => "",
            };
            let access = match &step.access {
                Some(access) if step.between_nodes => format!("{access}, {way}"),
                Some(access) => access.clone(),
                None => way.to_owned(),
            };
            let line = format!("{name:width$}  {:8.0}  {:7}  {access}", step.expected, step.flow.name());
            writeln!(f, "{}", line.trim_end())?;
        }
        self.steps.iter().filter_map(|step| step.hint.as_ref()).try_for_each(|hint| writeln!(f, "\nhint: {hint}"))
    }
}

pub fn explain(plan: &mut Plan, catalog: &dyn Catalog, rules_off: &[String]) -> Result<Explanation> {
    let original = plan.traversal.to_string();
    let mut rules = Vec::new();
    let mut before = original.clone();
    let mut cx = RuleContext::new(plan, catalog);
    for rule in &RULES {
        apply(rule, plan, &mut cx, rules_off);
        let after = plan.traversal.to_string();
        if after != before {
            rules.push((rule.name, after.clone()));
            before = after;
        }
    }
    plan::estimate(plan, catalog)?;
    let counts = catalog.statistics()?;
    let explained = |row: Row<'_>| {
        let access = access(&row.node.step, catalog, &counts, !plan.source.index_off)?;
        let (access, hint) = access.map_or((None, None), |access| (Some(access.how), access.hint));
        Ok(ExplainedStep {
            step: row.node.step.title().to_string(),
            depth: row.depth,
            first: row.first,
            access,
            hint,
            expected: row.node.estimate.unwrap_or_default(),
            flow: row.node.step.facts().flow,
            on_nodes: false,
            between_nodes: false,
            in_parts: false,
        })
    };
    let steps = outline(&plan.traversal).into_iter().map(explained).collect::<Result<_>>()?;
    Ok(Explanation { original, rules, steps })
}
