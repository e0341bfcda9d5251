//! The patterns of `match()`, put into an order in which each starts from a label that is bound by then.

use std::collections::HashSet;

use super::resolve::bind_where;
use super::{Name, Pattern, Step, Traversal};
use crate::error::{QueryError, Result};

/// `bound` are the labels given before the match.
pub(super) fn order(children: Vec<Traversal>, bound: Vec<Name>) -> Result<Vec<Pattern>> {
    let mut waiting: Vec<Pattern> = children.into_iter().flat_map(flatten).map(pattern).collect();
    let mut bound: HashSet<Name> = bound.into_iter().collect();
    let mut ordered = Vec::with_capacity(waiting.len());
    if !waiting.iter().any(|p| p.start.as_ref().is_some_and(|s| bound.contains(s))) {
        let at = initial(&waiting).ok_or_else(|| QueryError::step("match() needs a pattern that starts with as()"))?;
        let mut first = waiting.remove(at);
        first.binds_start = true;
        bound.extend(first.start.clone());
        bound.extend(first.end.clone());
        ordered.push(first);
    }
    while !waiting.is_empty() {
        let at = next(&waiting, &bound)
            .ok_or_else(|| QueryError::step("match() has a pattern that starts from a label nothing binds"))?;
        let pattern = waiting.remove(at);
        bound.extend(pattern.end.clone());
        ordered.push(pattern);
    }
    Ok(ordered)
}

/// `and(p, q)` as a pattern is p and q.
fn flatten(child: Traversal) -> Vec<Traversal> {
    match &child.steps[..] {
        [only] if matches!(only.step, Step::And(_)) => {}
        _ => return vec![child],
    }
    match child.steps.into_iter().next().map(|node| node.step) {
        Some(Step::And(children)) => children.into_iter().flat_map(flatten).collect(),
        _ => Vec::new(),
    }
}

fn pattern(mut child: Traversal) -> Pattern {
    let starts = child.steps.first().is_some_and(|n| matches!(n.step, Step::Identity) && !n.labels.is_empty());
    if !starts {
        bind_where(&mut child);
        for node in &mut child.steps {
            node.step.for_each_child_mut(&mut bind_where);
        }
        return Pattern { start: None, binds_start: false, child, end: None };
    }
    let start = child.steps.remove(0).labels.pop();
    let end = child.steps.last_mut().and_then(|last| last.labels.pop());
    Pattern { start, binds_start: false, child, end }
}

/// The pattern whose start the fewest others end in.
fn initial(patterns: &[Pattern]) -> Option<usize> {
    let ends = |label: &Name| patterns.iter().filter(|p| p.end.as_ref() == Some(label)).count();
    patterns.iter().enumerate().filter_map(|(at, p)| p.start.as_ref().map(|start| (ends(start), at))).min().map(|(_, at)| at)
}

/// Filters first, then patterns that compare two bound labels, then those that bind a new one.
fn next(patterns: &[Pattern], bound: &HashSet<Name>) -> Option<usize> {
    let ready = |p: &Pattern| match &p.start {
        Some(start) => bound.contains(start),
        None => labels_used(&p.child).iter().all(|label| bound.contains(label)),
    };
    let cost = |p: &Pattern| match &p.end {
        None => 0,
        Some(end) if bound.contains(end) => 1,
        Some(_) => 2,
    };
    let candidates = patterns.iter().enumerate().filter(|(_, p)| ready(p));
    candidates.map(|(at, p)| (cost(p), at)).min().map(|(_, at)| at)
}

fn labels_used(traversal: &Traversal) -> Vec<Name> {
    let mut used = Vec::new();
    for node in &traversal.steps {
        match &node.step {
            Step::Select { labels, .. } => used.extend(labels.iter().cloned()),
            Step::WhereLabels { start, predicate, .. } => {
                used.extend(start.iter().cloned());
                predicate.names(&mut used);
            }
            _ => {}
        }
    }
    traversal.for_each_child(&mut |child| used.extend(labels_used(child)));
    used
}
