//! Filters: a traverser passes or does not.

use mangrove_graph::{Cell, ElementKind, Predicate, PropertyColumn, Value};

use super::batch::{Batch, Items};
use super::by::ByOp;
use super::chain::{Child, MapBatch};
use super::context::{Context, Key};
use super::select::{modulated_path, scope_value};
use super::{column_test, element, path};
use crate::error::Result;
use crate::plan::{Has, HasKey, LabelPredicate, Name, Pop, Quantifier, membership};

/// `has(key, predicate)`, `hasLabel`, `hasId`: all tests must hold.
pub struct HasOp {
    tests: Vec<(HasTarget, Predicate)>,
}

enum HasTarget {
    Property(Key),
    Id,
    Label,
}

impl HasTarget {
    fn new(key: HasKey) -> Self {
        match key {
            HasKey::Property(name) => HasTarget::Property(Key::new(name)),
            HasKey::Id => HasTarget::Id,
            HasKey::Label => HasTarget::Label,
        }
    }
}

impl HasOp {
    pub fn new(tests: Vec<Has>) -> Self {
        Self { tests: tests.into_iter().map(|has| (HasTarget::new(has.key), has.predicate)).collect() }
    }
}

impl MapBatch for HasOp {
    fn map(&mut self, cx: &mut Context<'_, '_>, mut batch: Batch) -> Result<Batch> {
        for (target, predicate) in &mut self.tests {
            if batch.is_empty() {
                break;
            }
            let keep = match target {
                HasTarget::Property(key) => has_property(cx, &batch, key, predicate)?,
                HasTarget::Id => has_id(cx, &batch, predicate)?,
                HasTarget::Label => has_label(cx, &batch, predicate)?,
            };
            batch = batch.filter(&keep);
        }
        Ok(batch)
    }
}

fn has_property(cx: &mut Context<'_, '_>, batch: &Batch, key: &mut Key, predicate: &Predicate) -> Result<Vec<bool>> {
    let matches = |cell: Cell| cell.values().any(|value| predicate.matches(value));
    if matches!(batch.items, Items::Values(_)) {
        let of = |row| {
            let owner = batch.value(row);
            let properties = element::properties_of(cx, &owner, std::slice::from_mut(key), "has()")?;
            Ok(properties.iter().any(|p| match p {
                Value::VertexProperty(p) => predicate.matches(&p.value),
                Value::Property(p) => predicate.matches(&p.value),
                _ => false,
            }))
        };
        return (0..batch.len()).map(of).collect();
    }
    let Some(id) = key.id(cx) else { return Ok(vec![false; batch.len()]) };
    let kind = if matches!(batch.items, Items::Edges(_)) { ElementKind::Edge } else { ElementKind::Vertex };
    cx.warn_of_types(kind, None, id, predicate);
    Ok(match element::column(cx, batch, id)? {
        Some(PropertyColumn::Absent(n)) => vec![false; n],
        Some(PropertyColumn::Typed(array)) => column_test::matches(&array, predicate),
        Some(PropertyColumn::Cells(cells)) => cells.into_iter().map(matches).collect(),
        None => vec![false; batch.len()],
    })
}

fn has_id(cx: &Context<'_, '_>, batch: &Batch, predicate: &Predicate) -> Result<Vec<bool>> {
    let predicate = ids_in(cx, predicate)?;
    let test = |row| Ok(predicate.matches(&element::id_of(cx, &batch.value(row))?));
    (0..batch.len()).map(test).collect()
}

/// The predicate with elements replaced by their ids.
fn ids_in(cx: &Context<'_, '_>, predicate: &Predicate) -> Result<Predicate> {
    let id = |value: &Value| match value {
        Value::Vertex(_) | Value::Edge(_) | Value::VertexProperty(_) => element::id_of(cx, value),
        other => Ok(other.clone()),
    };
    Ok(match predicate {
        Predicate::Compare(comparison, value) => Predicate::Compare(*comparison, id(value)?),
        Predicate::Within(values) => Predicate::Within(values.iter().map(id).collect::<Result<Vec<_>>>()?.into()),
        Predicate::Without(values) => Predicate::Without(values.iter().map(id).collect::<Result<Vec<_>>>()?.into()),
        other => other.clone(),
    })
}

fn has_label(cx: &Context<'_, '_>, batch: &Batch, predicate: &Predicate) -> Result<Vec<bool>> {
    let test = |row| {
        let names = element::label_names_of(cx, &batch.value(row))?;
        Ok(names.into_iter().any(|name| predicate.matches(&Value::String(name))))
    };
    let schema = cx.view().schema();
    // If no vertex has further labels, the id tells the label. Test each label that occurs once.
    if let Items::Vertices(ids) = &batch.items
        && schema.vertex_labels.iter().all(|l| l.further.is_empty())
    {
        let passes: Vec<bool> =
            schema.vertex_labels.iter().map(|l| predicate.matches(&Value::String(l.name.clone()))).collect();
        return Ok(ids.iter().map(|id| passes.get(usize::from(id.label().0)).copied().unwrap_or(false)).collect());
    }
    if let Items::Edges(edges) = &batch.items {
        let passes: Vec<bool> =
            schema.edge_labels.iter().map(|l| predicate.matches(&Value::String(l.name.clone()))).collect();
        return Ok(edges.iter().map(|e| passes.get(usize::from(e.id.label().0)).copied().unwrap_or(false)).collect());
    }
    (0..batch.len()).map(test).collect()
}

/// `has(key)`, `hasNot(key)`.
pub struct HasPropertyOp {
    pub key: Key,
    pub present: bool,
}

impl MapBatch for HasPropertyOp {
    fn map(&mut self, cx: &mut Context<'_, '_>, batch: Batch) -> Result<Batch> {
        let mut keep = match element::elements(&batch) {
            Some(elements) => match self.key.id(cx) {
                Some(key) => cx.view().have(elements, key)?,
                None => vec![false; batch.len()],
            },
            None => self.have(cx, &batch)?,
        };
        keep.iter_mut().for_each(|has| *has = *has == self.present);
        Ok(batch.filter(&keep))
    }
}

impl HasPropertyOp {
    /// Which values of a batch, elements among them, have the property.
    fn have(&mut self, cx: &mut Context<'_, '_>, batch: &Batch) -> Result<Vec<bool>> {
        let has = |row| {
            let owner = batch.value(row);
            let found = element::properties_of(cx, &owner, std::slice::from_mut(&mut self.key), "has()")?;
            Ok(!found.is_empty())
        };
        (0..batch.len()).map(has).collect()
    }
}

/// `has(key, traversal)`: passes if the traversal gives something for a value of the key.
pub struct HasChildOp {
    pub key: HasKey,
    pub child: Child,
}

impl MapBatch for HasChildOp {
    fn map(&mut self, cx: &mut Context<'_, '_>, batch: Batch) -> Result<Batch> {
        let mut keep = Vec::with_capacity(batch.len());
        for row in 0..batch.len() {
            let owner = batch.value(row);
            let values = match &self.key {
                HasKey::Id => vec![element::id_of(cx, &owner)?],
                HasKey::Label => vec![element::label_of(cx, &owner)?],
                HasKey::Property(name) => {
                    let properties = element::properties_of(cx, &owner, &mut [Key::new(name.clone())], "has()")?;
                    properties
                        .iter()
                        .map(|p| element::token_of(cx, p, mangrove_graph::Token::Value))
                        .collect::<Result<_>>()?
                }
            };
            let mut values = Batch::new(Items::from_values(values));
            if cx.mode() != path::PathMode::Off {
                values.paths = Some(vec![batch.path(row).clone(); values.len()]);
            }
            keep.push(self.child.exists(cx, &values)?.contains(&true));
        }
        Ok(batch.filter(&keep))
    }
}

/// `hasKey`, `hasValue` on properties.
pub struct PropertyPartOp {
    pub token: mangrove_graph::Token,
    pub predicate: Predicate,
}

impl MapBatch for PropertyPartOp {
    fn map(&mut self, cx: &mut Context<'_, '_>, batch: Batch) -> Result<Batch> {
        let test = |row| Ok(self.predicate.matches(&element::token_of(cx, &batch.value(row), self.token)?));
        let keep = (0..batch.len()).map(test).collect::<Result<Vec<_>>>()?;
        Ok(batch.filter(&keep))
    }
}

/// `is(predicate)`.
pub struct IsOp(pub Predicate);

impl MapBatch for IsOp {
    fn map(&mut self, _: &mut Context<'_, '_>, batch: Batch) -> Result<Batch> {
        let keep: Vec<bool> = match &batch.items {
            Items::Values(values) => values.iter().map(|value| self.0.matches(value)).collect(),
            _ => (0..batch.len()).map(|row| self.0.matches(&batch.value(row))).collect(),
        };
        Ok(batch.filter(&keep))
    }
}

/// `where(traversal)`, `filter`, `not`.
pub struct WhereOp {
    pub child: Child,
    pub negated: bool,
}

impl MapBatch for WhereOp {
    fn map(&mut self, cx: &mut Context<'_, '_>, batch: Batch) -> Result<Batch> {
        let mut keep = self.child.exists(cx, &batch)?;
        if self.negated {
            keep.iter_mut().for_each(|k| *k = !*k);
        }
        Ok(batch.filter(&keep))
    }
}

/// `and(…)`, `or(…)`: a child sees only the rows that the children before it left undecided.
pub struct ConnectiveOp {
    pub children: Vec<Child>,
    pub all: bool,
}

impl MapBatch for ConnectiveOp {
    fn map(&mut self, cx: &mut Context<'_, '_>, batch: Batch) -> Result<Batch> {
        let mut outcome = vec![self.all; batch.len()];
        let mut open: Vec<u32> = (0..batch.len() as u32).collect();
        for child in &mut self.children {
            if open.is_empty() {
                break;
            }
            let found = child.exists(cx, &batch.gather(&open))?;
            let mut still = Vec::with_capacity(open.len());
            for (row, found) in open.into_iter().zip(found) {
                if found == self.all {
                    still.push(row);
                } else {
                    outcome[row as usize] = found;
                }
            }
            open = still;
        }
        Ok(batch.filter(&outcome))
    }
}

/// `where('a', neq('b'))`, `where(without('x'))`.
pub struct WhereLabelsOp {
    pub start: Option<Name>,
    pub predicate: LabelPredicate,
    pub by: Vec<ByOp>,
}

impl MapBatch for WhereLabelsOp {
    fn map(&mut self, cx: &mut Context<'_, '_>, batch: Batch) -> Result<Batch> {
        if let Some(keep) = self.against_gathered(cx, &batch)? {
            return Ok(batch.filter(&keep));
        }
        let mut keep = Vec::with_capacity(batch.len());
        for row in 0..batch.len() {
            keep.push(self.test(cx, &batch, row)?);
        }
        Ok(batch.filter(&keep))
    }
}

impl WhereLabelsOp {
    /// `where(without('a'))` against a side effect, which is the same for all traversers.
    fn against_gathered(&mut self, cx: &mut Context<'_, '_>, batch: &Batch) -> Result<Option<Vec<bool>>> {
        let (None, [], false) = (&self.start, &self.by[..], batch.is_empty()) else { return Ok(None) };
        let mut names = Vec::new();
        self.predicate.names(&mut names);
        if !names.iter().all(|name| cx.shared.side_effects.contains(name)) {
            return Ok(None);
        }
        if let LabelPredicate::Among(within, names) = &self.predicate
            && let [name] = &names[..]
            && let Some(held) = cx.shared.side_effects.hold(name, (0..batch.len()).map(|row| batch.value(row)))
        {
            return Ok(Some(held.into_iter().map(|held| held == *within).collect()));
        }
        let Some(predicate) = resolve(&self.predicate, &mut self.by, cx, batch, 0, &mut 0)? else {
            return Ok(Some(vec![false; batch.len()]));
        };
        let mut keep = Vec::with_capacity(batch.len());
        for row in 0..batch.len() {
            cx.check()?;
            keep.push(predicate.matches(&batch.value(row)));
        }
        Ok(Some(keep))
    }

    fn test(&mut self, cx: &mut Context<'_, '_>, batch: &Batch, row: usize) -> Result<bool> {
        let left = match &self.start {
            Some(label) => scope_value(cx, batch, row, label, Pop::Last)?,
            None => Some(batch.value(row)),
        };
        let mut at = 0;
        let Some(left) = left else { return Ok(false) };
        let Some(left) = modulated(&mut self.by, cx, left, &mut at)? else { return Ok(false) };
        match resolve(&self.predicate, &mut self.by, cx, batch, row, &mut at)? {
            Some(predicate) => Ok(predicate.matches(&left)),
            None => Ok(false),
        }
    }
}

/// Modulates a label. The first `by()` applies to the start, the next to what it is compared with, and so on in turn.
fn modulated(by: &mut [ByOp], cx: &mut Context<'_, '_>, value: Value, at: &mut usize) -> Result<Option<Value>> {
    match super::by::round_robin(by, *at) {
        Some(by) => {
            *at += 1;
            super::by::eval_one(by, cx, value)
        }
        None => Ok(Some(value)),
    }
}

fn resolve(
    predicate: &LabelPredicate,
    by: &mut [ByOp],
    cx: &mut Context<'_, '_>,
    batch: &Batch,
    row: usize,
    at: &mut usize,
) -> Result<Option<Predicate>> {
    let parts = |parts: &[LabelPredicate], by: &mut [ByOp], cx: &mut Context<'_, '_>, at: &mut usize| {
        parts.iter().map(|part| resolve(part, by, cx, batch, row, at)).collect::<Result<Option<Vec<_>>>>()
    };
    Ok(match predicate {
        LabelPredicate::And(all) => parts(all, by, cx, at)?.map(Predicate::And),
        LabelPredicate::Or(any) => parts(any, by, cx, at)?.map(Predicate::Or),
        LabelPredicate::Not(part) => resolve(part, by, cx, batch, row, at)?.map(|p| Predicate::Not(Box::new(p))),
        LabelPredicate::Test(_, labels) | LabelPredicate::Among(_, labels) => {
            let mut values = Vec::with_capacity(labels.len());
            for label in labels {
                let Some(value) = scope_value(cx, batch, row, label, Pop::Last)? else { return Ok(None) };
                let value = match value.items() {
                    Some(items) if !by.is_empty() => {
                        let here = *at;
                        let mut modulated_items = Vec::with_capacity(items.len());
                        for item in items {
                            let mut at = here;
                            modulated_items.extend(modulated(by, cx, item, &mut at)?);
                        }
                        *at += 1;
                        Value::list(modulated_items)
                    }
                    _ => match modulated(by, cx, value, at)? {
                        Some(value) => value,
                        None => return Ok(None),
                    },
                };
                values.push(value);
            }
            Some(match predicate {
                LabelPredicate::Test(test, _) => test(values),
                among => membership(matches!(among, LabelPredicate::Among(true, _)), values),
            })
        }
    })
}

/// `all(P)`, `any(P)`, `none(P)` on lists. Other values do not pass.
pub struct ListFilterOp {
    pub quantifier: Quantifier,
    pub predicate: Predicate,
}

impl MapBatch for ListFilterOp {
    fn map(&mut self, _: &mut Context<'_, '_>, batch: Batch) -> Result<Batch> {
        let test = |row| {
            let Some(items) = batch.value(row).items() else { return false };
            let mut matches = items.iter().map(|item| self.predicate.matches(item));
            match self.quantifier {
                Quantifier::All => matches.all(|m| m),
                Quantifier::Any => matches.any(|m| m),
                Quantifier::None => !matches.any(|m| m),
            }
        };
        let keep: Vec<bool> = (0..batch.len()).map(test).collect();
        Ok(batch.filter(&keep))
    }
}

/// `simplePath`, `cyclicPath`.
pub struct PathFilterOp {
    pub simple: bool,
    pub by: Vec<ByOp>,
    pub from: Option<Name>,
    pub to: Option<Name>,
}

impl MapBatch for PathFilterOp {
    fn map(&mut self, cx: &mut Context<'_, '_>, batch: Batch) -> Result<Batch> {
        let mut keep = Vec::with_capacity(batch.len());
        for row in 0..batch.len() {
            let path = path::between(path::to_path(batch.path(row)), self.from.as_deref(), self.to.as_deref());
            let path = modulated_path(cx, path, &mut self.by)?;
            keep.push(path.is_some_and(|path| all_distinct(&path.objects) == self.simple));
        }
        Ok(batch.filter(&keep))
    }
}

fn all_distinct(objects: &[Value]) -> bool {
    if objects.len() < 16 {
        return (1..objects.len()).all(|at| !objects[..at].contains(&objects[at]));
    }
    let mut seen = hashbrown::HashSet::with_capacity(objects.len());
    objects.iter().all(|object| seen.insert(object))
}

/// `discard()`.
pub struct DiscardOp;

impl MapBatch for DiscardOp {
    fn map(&mut self, _: &mut Context<'_, '_>, _: Batch) -> Result<Batch> {
        Ok(Batch::default())
    }
}

/// `coin(p)`: each traverser passes with probability `p`.
pub struct CoinOp(pub f64);

impl MapBatch for CoinOp {
    fn map(&mut self, cx: &mut Context<'_, '_>, mut batch: Batch) -> Result<Batch> {
        // For very large bulks the expected number replaces the single tosses.
        let mut toss = |n: u64| match n {
            ..1_000_000 => (0..n).filter(|_| cx.shared.random.fraction() < self.0).count() as u64,
            _ => (n as f64 * self.0).round() as u64,
        };
        let heads: Vec<u64> = (0..batch.len()).map(|row| toss(batch.bulk(row))).collect();
        let keep: Vec<bool> = heads.iter().map(|n| *n > 0).collect();
        if let Some(bulk) = &mut batch.bulk {
            bulk.copy_from_slice(&heads);
        }
        Ok(batch.filter(&keep))
    }
}
