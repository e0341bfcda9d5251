//! Orders the patterns of `match()` so that each starts from a label that is bound by then.

use std::collections::HashSet;

use super::bind_where;
use crate::error::{QueryError, Result};
use crate::plan::{Name, PathPattern, Pattern, Step, Traversal};

/// `bound` are the labels that exist before the match.
pub(super) fn order(children: Vec<Traversal>, bound: Vec<Name>) -> Result<Vec<Pattern>> {
    let mut waiting = patterns(children);
    let mut bound: HashSet<Name> = bound.into_iter().collect();
    let mut ordered = Vec::with_capacity(waiting.len());
    if !waiting.iter().any(|p| p.start().is_some_and(|start| bound.contains(start))) {
        let at = initial(&waiting).ok_or_else(|| QueryError::step("match() needs a pattern that starts with as()"))?;
        let mut first = waiting.remove(at);
        if let Pattern::Path(path) = &mut first {
            path.binds_start = true;
            bound.extend(path.start.clone());
        }
        bind(&first, &mut bound);
        ordered.push(first);
    }
    match order_rest(waiting, bound) {
        Some(rest) => ordered.extend(rest),
        None => {
            return Err(QueryError::step(
                "match() has a pattern that starts from a label, but no other pattern binds that \
                                             label",
            ));
        }
    }
    Ok(ordered)
}

/// The patterns, with nested ones, in an order that works; `None` if there is none.
fn order_rest(mut waiting: Vec<Pattern>, mut bound: HashSet<Name>) -> Option<Vec<Pattern>> {
    let mut ordered = Vec::with_capacity(waiting.len());
    while !waiting.is_empty() {
        let mut next = waiting.remove(next(&waiting, &bound)?);
        if let Pattern::Any(ways) = &mut next {
            for way in ways {
                *way = order_rest(std::mem::take(way), bound.clone())?;
            }
        }
        bind(&next, &mut bound);
        ordered.push(next);
    }
    Some(ordered)
}

/// Flattens patterns: `and(p, q)` means p and q.
fn patterns(children: Vec<Traversal>) -> Vec<Pattern> {
    children.into_iter().flat_map(flatten).map(pattern).collect()
}

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

fn starts_with_label(child: &Traversal) -> bool {
    child.steps.first().is_some_and(|node| matches!(node.step, Step::Identity) && !node.labels.is_empty())
}

/// Whether it consists of patterns that start with labels.
fn is_pattern(child: &Traversal) -> bool {
    match &child.steps[..] {
        [only] => match &only.step {
            Step::And(children) | Step::Or(children) => children.iter().all(is_pattern),
            _ => starts_with_label(child),
        },
        _ => starts_with_label(child),
    }
}

fn pattern(mut child: Traversal) -> Pattern {
    if starts_with_label(&child) {
        let start = child.steps.remove(0).labels.pop();
        let end = child.steps.last_mut().and_then(|last| last.labels.pop());
        return Pattern::Path(PathPattern { start, binds_start: false, child, end });
    }
    if is_pattern(&child)
        && let Some(Step::Or(ways)) = child.steps.first_mut().map(|node| &mut node.step)
    {
        return Pattern::Any(std::mem::take(ways).into_iter().map(|way| patterns(vec![way])).collect());
    }
    bind_where(&mut child);
    for node in &mut child.steps {
        node.step.for_each_child_mut(&mut bind_where);
    }
    Pattern::Path(PathPattern { start: None, binds_start: false, child, end: None })
}

/// The position of the pattern whose start is the end of the fewest others.
fn initial(patterns: &[Pattern]) -> Option<usize> {
    let ends = |label: &Name| patterns.iter().filter(|p| p.end() == Some(label)).count();
    let starts = patterns.iter().enumerate().filter_map(|(at, p)| p.start().map(|start| (ends(start), at)));
    starts.min().map(|(_, at)| at)
}

/// The next pattern: filters first, then patterns that compare two bound labels, then those that bind a new label, at last those
/// with alternatives.
fn next(patterns: &[Pattern], bound: &HashSet<Name>) -> Option<usize> {
    let cost = |p: &Pattern| match p {
        Pattern::Any(_) => 3,
        Pattern::Path(path) => match &path.end {
            None => 0,
            Some(end) if bound.contains(end) => 1,
            Some(_) => 2,
        },
    };
    let candidates = patterns.iter().enumerate().filter(|(_, p)| ready(p, bound));
    candidates.map(|(at, p)| (cost(p), at)).min().map(|(_, at)| at)
}

fn ready(pattern: &Pattern, bound: &HashSet<Name>) -> bool {
    let mut needed = Vec::new();
    needs(pattern, &mut needed);
    needed.iter().all(|label| bound.contains(label))
}

/// Appends the labels that must be bound before the pattern.
fn needs(pattern: &Pattern, needed: &mut Vec<Name>) {
    match pattern {
        Pattern::Path(PathPattern { start: Some(start), .. }) => needed.push(start.clone()),
        Pattern::Path(filter) => needed.extend(labels_used(&filter.child)),
        Pattern::Any(ways) => {
            for way in ways {
                let mut of_way = Vec::new();
                way.iter().for_each(|pattern| needs(pattern, &mut of_way));
                let mut bound = HashSet::new();
                way.iter().for_each(|pattern| bind(pattern, &mut bound));
                needed.extend(of_way.into_iter().filter(|label| !bound.contains(label)));
            }
        }
    }
}

/// Adds the labels that the pattern binds. For alternatives it adds those of all, because a traverser may take any. If the one it
/// took binds less, the traverser stops at the pattern that needs the rest.
fn bind(pattern: &Pattern, bound: &mut HashSet<Name>) {
    match pattern {
        Pattern::Path(path) => bound.extend(path.end.clone()),
        Pattern::Any(ways) => ways.iter().flatten().for_each(|pattern| bind(pattern, bound)),
    }
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
