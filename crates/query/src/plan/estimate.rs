//! Estimates how many traversers each step of a plan gives, from the counts of the store.
//!
//! The store counts vertices and edges by label, and the candidates of an index. Otherwise the selectivity of a predicate is a
//! rule of thumb (Selinger et al., SIGMOD'79, §4).

use std::collections::BTreeSet;
use std::sync::Arc;

use mangrove_graph::{Catalog, Comparison, Direction, ElementKind, LabelId, Predicate, PropertyId, Result, Statistics};

use super::*;
use crate::access::{narrowest, with_key};

/// The cap of all estimates.
const MANY: f64 = 1e15;

/// Writes estimates to the steps of a plan and of its children. An estimate covers all runs of a child together.
pub fn estimate(plan: &mut Plan, catalog: &dyn Catalog) -> Result<()> {
    let estimator = Estimator { catalog, statistics: catalog.statistics()?, indexes: !plan.source.index_off };
    estimator.chain(&mut plan.traversal, 1.0, 1.0).map(|_| ())
}

struct Estimator<'a> {
    catalog: &'a dyn Catalog,
    statistics: Arc<Statistics>,
    /// Whether scans use keys and indexes.
    indexes: bool,
}

impl Estimator<'_> {
    /// `scopes` is the number of the parent's traversers. Steps that reduce or limit do so for each of them.
    fn chain(&self, traversal: &mut Traversal, mut rows: f64, scopes: f64) -> Result<f64> {
        for node in &mut traversal.steps {
            rows = self.step(&mut node.step, rows, scopes)?.clamp(0.0, MANY);
            // The sum of nothing is -0.
            node.estimate = Some(rows + 0.0);
        }
        Ok(rows)
    }

    fn step(&self, step: &mut Step, rows: f64, scopes: f64) -> Result<f64> {
        if let Step::Repeat(repeat) = step {
            return self.repeat(repeat, rows, scopes);
        }
        let mut children = Vec::new();
        step.for_each_child_mut(&mut |child| children.push(self.chain(child, rows, rows)));
        let children = children.into_iter().collect::<Result<Vec<f64>>>()?;
        Ok(match step {
            Step::Scan { kind, ids: None, labels, also, filters } => {
                also.iter().fold(rows * self.scanned(*kind, labels.as_deref(), filters)?, |rows, _| rows * 0.5)
            }
            Step::Scan { ids: Some(ids), filters, .. } => {
                rows * filters.iter().fold(ids.len() as f64, |found, (_, predicate)| found * selectivity(predicate))
            }
            Step::Inject(values) => rows + values.len() as f64,
            Step::Hop { direction, labels, filter, .. } | Step::Degree { direction, labels, filter } => {
                let passing = filter.as_ref().map_or(1.0, |(_, predicate)| selectivity(predicate));
                rows * self.degree(*direction, labels) * passing
            }
            Step::End(EndOf::Both) => rows * 2.0,
            Step::Has(tests) => tests.iter().fold(rows, |rows, test| rows * selectivity(&test.predicate)),
            Step::Is(predicate) => rows * selectivity(predicate),
            Step::HasProperty { .. } => rows * 0.9,
            Step::Where { .. } | Step::SemiJoin { .. } | Step::And(_) | Step::Or(_) => rows * 0.5,
            Step::WhereLabels { .. } | Step::HasChild { .. } => rows * 0.5,
            Step::Discard => 0.0,
            Step::Dedup { scope: Scope::Global, .. } => rows.min(scopes * self.elements(ElementKind::Vertex, &[])),
            Step::Range { low, high, scope: Scope::Global } => {
                let most = high.map_or(MANY, |high| high.saturating_sub(*low) as f64);
                (rows - scopes * *low as f64).clamp(0.0, scopes * most)
            }
            Step::Tail { count, scope: Scope::Global } => rows.min(scopes * *count as f64),
            Step::Sample { count, scope: Scope::Global, .. } => rows.min(scopes * *count as f64),
            Step::Coin(chance) => rows * *chance,
            Step::Values(keys) | Step::Properties(keys) => rows * keys.len().max(1) as f64,
            step if step.is_reducing() => scopes,
            Step::FlatMap(_) | Step::Local(_) | Step::Coalesce(_) => children.first().copied().unwrap_or(0.0),
            Step::Optional(_) => children.iter().copied().fold(rows, f64::max),
            Step::Union(_) => children.iter().sum(),
            _ => rows,
        })
    }

    /// What one scan finds. If a key or an index answers a filter, it counts the candidates.
    fn scanned(&self, kind: ElementKind, labels: Option<&[Name]>, filters: &[(Name, Predicate)]) -> Result<f64> {
        let schema = self.catalog.schema();
        let all = self.elements(kind, labels.unwrap_or_default());
        let labels: Vec<LabelId> = match labels {
            Some(names) => names.iter().filter_map(|name| schema.label(kind, name)).collect(),
            None => (0..schema.labels(kind).len()).map(|at| LabelId(at as u16)).collect(),
        };
        let known = filters.iter().map(|(name, predicate)| Some((schema.key(name)?, predicate)));
        let Some(filters) = known.collect::<Option<Vec<_>>>() else { return Ok(0.0) };
        let narrowest = narrowest(self.catalog, kind, &labels, &filters)?.filter(|_| self.indexes);
        let mut found = all;
        if let Some(at) = narrowest {
            let (key, predicate) = filters[at];
            let candidates = with_key(self.catalog, kind, &labels, key)
                .map(|label| self.catalog.candidates(PropertyId { kind, label, key }, predicate));
            found = all.min(candidates.sum::<Result<u64>>()? as f64);
        }
        let others = filters.iter().enumerate().filter(|(at, _)| Some(*at) != narrowest);
        Ok(others.fold(found, |found, (_, (_, predicate))| found * selectivity(predicate)))
    }

    /// Estimates one round of the body. Every other round grows or shrinks in the same proportion.
    fn repeat(&self, repeat: &mut Repeat, rows: f64, scopes: f64) -> Result<f64> {
        let rounds = match repeat.until {
            Some(Until::Times(n)) => n.min(64),
            _ => 4,
        };
        let growth = self.chain(&mut repeat.body, rows, scopes)? / rows.max(f64::MIN_POSITIVE);
        let (mut frontier, mut entered) = (rows, 0.0);
        for _ in 0..rounds {
            entered = (entered + frontier).min(MANY);
            frontier = (frontier * growth).clamp(0.0, MANY);
        }
        scale(&mut repeat.body, entered / rows.max(f64::MIN_POSITIVE));
        if let Some(Until::Child(child)) = &mut repeat.until {
            self.chain(child, entered, entered)?;
        }
        if let Some(Emit::Child(child)) = &mut repeat.emit {
            self.chain(child, entered, entered)?;
        }
        Ok(match repeat.emit {
            Some(_) => entered + frontier,
            None => frontier,
        })
    }

    /// The number of elements of these labels; no labels means all.
    fn elements(&self, kind: ElementKind, labels: &[Name]) -> f64 {
        let counts = self.statistics.of(kind);
        if labels.is_empty() {
            return counts.iter().sum::<u64>() as f64;
        }
        let known = labels.iter().filter_map(|name| self.catalog.schema().label(kind, name));
        known.map(|label| self.statistics.count(kind, label)).sum::<u64>() as f64
    }

    /// The mean degree of the vertices that can have edges of these labels.
    fn degree(&self, direction: Direction, labels: &[Name]) -> f64 {
        let schema = self.catalog.schema();
        let known = labels.iter().filter_map(|name| schema.label(ElementKind::Edge, name));
        let labels: Vec<LabelId> = match labels {
            [] => (0..schema.edge_labels.len()).map(|at| LabelId(at as u16)).collect(),
            _ => known.collect(),
        };
        labels.into_iter().map(|label| self.degree_of(direction, label)).sum()
    }

    fn degree_of(&self, direction: Direction, label: LabelId) -> f64 {
        let ends = &self.catalog.schema().edge_labels[usize::from(label.0)].ends;
        let edges = self.statistics.count(ElementKind::Edge, label) as f64;
        let over = |vertices: BTreeSet<LabelId>| {
            let count = |label: &LabelId| self.statistics.count(ElementKind::Vertex, *label) as f64;
            edges / vertices.iter().map(count).sum::<f64>().max(1.0)
        };
        let sources = || over(ends.iter().map(|(source, _)| *source).collect());
        let targets = || over(ends.iter().map(|(_, target)| *target).collect());
        match direction {
            Direction::Out => sources(),
            Direction::In => targets(),
            // If both ends have the same label, a vertex has edges of both directions.
            Direction::Both if ends.iter().all(|(source, target)| source == target) => sources() + targets(),
            Direction::Both => sources().max(targets()),
        }
    }
}

/// Multiplies all estimates of a traversal.
fn scale(traversal: &mut Traversal, factor: f64) {
    for node in &mut traversal.steps {
        node.estimate = node.estimate.map(|rows| (rows * factor).clamp(0.0, MANY));
        node.step.for_each_child_mut(&mut |child| scale(child, factor));
    }
}

/// The estimated share of values that match.
pub fn selectivity(predicate: &Predicate) -> f64 {
    match predicate {
        Predicate::Compare(Comparison::Eq, _) => 0.1,
        Predicate::Compare(Comparison::Neq, _) | Predicate::Without(_) => 0.9,
        Predicate::Compare(..) => 1.0 / 3.0,
        Predicate::Within(values) => (0.1 * values.len() as f64).min(0.9),
        Predicate::Text(..) | Predicate::Regex(_) => 0.1,
        Predicate::TypeOf(_) => 0.5,
        Predicate::And(parts) => parts.iter().map(selectivity).product(),
        Predicate::Or(parts) => parts.iter().map(selectivity).sum::<f64>().min(1.0),
        Predicate::Not(part) => 1.0 - selectivity(part),
    }
}
