//! Two paths that meet in a variable nobody asks for are one path: `?x a ?y, ?y b ?z` is `?x a/b ?z`. One search then takes the place of
//! two and a join, and never makes the pairs in the middle.

use std::sync::Arc;

use mangrove_graph::{ElementKind, GraphView, Result, Statistics};

use super::syntax::{Atom, End, Expression, PathRule};

/// Rules of more atoms stay as they are.
const ATOMS_MAX: usize = 64;
/// Longer paths stay apart.
const EDGES_MAX: u64 = 64;
/// Paths stay apart if it pays to begin in the middle: if both ends have more than so many times as many edges to begin with.
const MIDDLE_WORTH: u64 = 8;

/// The atoms of a rule, with chains as one atom.
pub fn joined(rule: &PathRule, view: &dyn GraphView) -> Result<Vec<Atom>> {
    let mut atoms = rule.atoms.clone();
    if !(2..=ATOMS_MAX).contains(&atoms.len()) {
        return Ok(atoms);
    }
    let counts = Counts { view, statistics: view.statistics()? };
    while let Some((first, second, whole)) = pair(rule, &atoms, &counts) {
        atoms.remove(first.max(second));
        atoms[first.min(second)] = whole;
    }
    Ok(atoms)
}

/// Two atoms that are one, and what they are together.
fn pair(rule: &PathRule, atoms: &[Atom], counts: &Counts<'_>) -> Option<(usize, usize, Atom)> {
    (0..rule.variables.len()).filter(|variable| !rule.head.contains(variable)).find_map(|variable| {
        let meets = |end: &End| *end == End::Variable(variable);
        let of = |at: &usize| meets(&atoms[*at].source) || meets(&atoms[*at].target);
        let those: Vec<usize> = (0..atoms.len()).filter(of).collect();
        let [first, second] = those[..] else { return None };
        if rule.variables[variable].label.is_some()
            || [first, second].iter().any(|at| atoms[*at].source == atoms[*at].target)
        {
            return None;
        }
        let before = if meets(&atoms[first].target) { atoms[first].clone() } else { reversed(&atoms[first]) };
        let after = if meets(&atoms[second].source) { atoms[second].clone() } else { reversed(&atoms[second]) };
        let whole = whole(before, after, counts)?;
        Some((first, second, whole))
    })
}

/// One atom for two, from the end that has fewer edges to begin with. `None` if they should stay apart.
fn whole(before: Atom, after: Atom, counts: &Counts<'_>) -> Option<Atom> {
    let (start, end) = (counts.first(&before.path), counts.first(&after.path.reversed()));
    let middle = counts.first(&before.path.reversed()).min(counts.first(&after.path));
    let is_long = edges(&before.path).saturating_add(edges(&after.path)) > EDGES_MAX;
    if is_long || before.source == after.target || start.min(end) > middle.saturating_mul(MIDDLE_WORTH) {
        return None;
    }
    let path = Expression::Sequence([parts(before.path), parts(after.path)].concat());
    let whole = Atom { source: before.source, path, target: after.target };
    Some(if end < start { reversed(&whole) } else { whole })
}

fn reversed(atom: &Atom) -> Atom {
    Atom { source: atom.target.clone(), path: atom.path.reversed(), target: atom.source.clone() }
}

/// The parts of a sequence; of another expression, itself.
fn parts(path: Expression) -> Vec<Expression> {
    if let Expression::Sequence(parts) = path { parts } else { vec![path] }
}

/// The edges of an expression, with its repetitions written out.
fn edges(path: &Expression) -> u64 {
    match path {
        Expression::Edge { .. } => 1,
        Expression::Sequence(parts) | Expression::Choice(parts) => parts.iter().map(edges).fold(0, u64::saturating_add),
        Expression::Repeat { of, least, most } => edges(of).saturating_mul(most.unwrap_or((*least).max(1)).into()),
    }
}

/// Whether the path of length 0 matches.
fn takes_nothing(path: &Expression) -> bool {
    match path {
        Expression::Edge { .. } => false,
        Expression::Sequence(parts) => parts.iter().all(takes_nothing),
        Expression::Choice(parts) => parts.iter().any(takes_nothing),
        Expression::Repeat { of, least, .. } => *least == 0 || takes_nothing(of),
    }
}

struct Counts<'v> {
    view: &'v dyn GraphView,
    statistics: Arc<Statistics>,
}

impl Counts<'_> {
    /// About how many edges a path can begin with; of one that may have no edge, how many vertices there are.
    fn first(&self, path: &Expression) -> u64 {
        if takes_nothing(path) {
            return self.all(ElementKind::Vertex);
        }
        match path {
            Expression::Edge { label: None, .. } => self.all(ElementKind::Edge),
            Expression::Edge { label: Some(name), .. } => {
                let label = self.view.schema().label(ElementKind::Edge, name);
                label.map_or(0, |label| self.statistics.count(ElementKind::Edge, label))
            }
            Expression::Sequence(parts) => {
                let first = parts.iter().position(|part| !takes_nothing(part)).map_or(0, |at| at + 1);
                parts[..first].iter().map(|part| self.first(part)).fold(0, u64::saturating_add)
            }
            Expression::Choice(parts) => parts.iter().map(|part| self.first(part)).fold(0, u64::saturating_add),
            Expression::Repeat { of, .. } => self.first(of),
        }
    }

    fn all(&self, kind: ElementKind) -> u64 {
        self.view.schema().known_labels(kind).map(|(label, _)| self.statistics.count(kind, label)).sum()
    }
}
