//! A plan before and after the rules that changed it, and what is expected of the plan that runs.

use std::fmt;

use mangrove_graph::{ElementKind, GraphView, LabelId, Predicate, Result};
use serde_json::json;

use super::{RULES, RuleContext, apply};
use crate::access::narrowest;
use crate::plan::outline::{Row, indented, outline};
use crate::plan::{self, Name, Plan, Step};

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
    /// 0 for the steps of the query itself; those of a child are one deeper than the step it belongs to.
    pub depth: usize,
    /// Whether a child begins with it.
    pub first: bool,
    /// How elements are found, of steps that find some: by id, by an index, or by a scan.
    pub access: Option<String>,
    /// Traversers the step is likely to give.
    pub expected: f64,
}

impl Explanation {
    /// The plan that runs.
    pub fn last(&self) -> &str {
        self.rules.last().map_or(&self.original, |(_, plan)| plan)
    }

    /// One object: `original`, `rules` (objects with `rule` and `plan`), `steps` with the fields of [`ExplainedStep`].
    pub fn to_json(&self) -> String {
        let rules: Vec<_> = self.rules.iter().map(|(rule, plan)| json!({ "rule": rule, "plan": plan })).collect();
        let step = |s: &ExplainedStep| json!({ "step": s.step, "depth": s.depth, "first": s.first, "access": s.access, "expected": s.expected });
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
        writeln!(f, "\n{:width$}  expected", "step")?;
        for (step, name) in self.steps.iter().zip(names) {
            let access = step.access.as_ref().map(|access| format!("  {access}")).unwrap_or_default();
            writeln!(f, "{name:width$}  {:8.0}{access}", step.expected)?;
        }
        Ok(())
    }
}

pub fn explain(plan: &mut Plan, view: &dyn GraphView, rules_off: &[String]) -> Result<Explanation> {
    let original = plan.traversal.to_string();
    let mut rules = Vec::new();
    let mut before = original.clone();
    let mut cx = RuleContext::new(plan, view);
    for rule in &RULES {
        apply(rule, plan, &mut cx, rules_off);
        let after = plan.traversal.to_string();
        if after != before {
            rules.push((rule.name, after.clone()));
            before = after;
        }
    }
    plan::estimate(plan, view)?;
    // Where indexes are looked for.
    let view = (!plan.source.index_off).then_some(view);
    let explained = |row: Row<'_>| {
        Ok(ExplainedStep {
            step: row.node.step.title().to_string(),
            depth: row.depth,
            first: row.first,
            access: access(&row.node.step, view)?,
            expected: row.node.estimate.unwrap_or_default(),
        })
    };
    let steps = outline(&plan.traversal).into_iter().map(explained).collect::<Result<_>>()?;
    Ok(Explanation { original, rules, steps })
}

fn access(step: &Step, view: Option<&dyn GraphView>) -> Result<Option<String>> {
    let (kind, labels, filters) = match step {
        Step::Scan { ids: Some(_), .. } => return Ok(Some("by id".into())),
        Step::Scan { kind, labels, filters, .. } | Step::CountScan { kind, labels, filters } => (kind, labels, filters),
        _ => return Ok(None),
    };
    let found = match view {
        Some(view) if *kind == ElementKind::Vertex => by_index(view, labels.as_deref(), filters)?,
        _ => None,
    };
    Ok(Some(match (found, labels) {
        (Some(key), _) => format!("index of {key}"),
        (_, Some(labels)) => format!("scan of {}", labels.join(", ")),
        (_, None) => "scan of all".into(),
    }))
}

/// The key of the filter an index is asked for.
fn by_index<'f>(
    view: &dyn GraphView,
    labels: Option<&[Name]>,
    filters: &'f [(Name, Predicate)],
) -> Result<Option<&'f Name>> {
    let schema = view.schema();
    let labels: Vec<LabelId> = match labels {
        Some(names) => names.iter().filter_map(|name| schema.label(ElementKind::Vertex, name)).collect(),
        None => (0..schema.vertex_labels.len() as u16).map(LabelId).collect(),
    };
    let known = filters.iter().filter_map(|(name, predicate)| Some((name, (schema.key(name)?, predicate))));
    let (names, filters): (Vec<_>, Vec<_>) = known.unzip();
    Ok(narrowest(view, &labels, &filters)?.map(|at| names[at]))
}
