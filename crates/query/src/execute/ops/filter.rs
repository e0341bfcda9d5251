//! Filters: a traverser passes or does not.

use mangrove_graph::{Comparison, ElementKind, KeyId, Path, Predicate, Value, column_test};

use crate::error::Result;
use crate::execute::data::batch::Batch;
use crate::execute::data::items::Items;
use crate::execute::data::path;
use crate::execute::modulators::by::modulated_paths;
use crate::execute::modulators::by::{ByOp, eval_present, eval_values, round_robin};
use crate::execute::reads::elements;
use crate::execute::reads::read;
use crate::execute::run::chain::{Child, MapBatch};
use crate::execute::run::context::{Context, Key};
use crate::execute::run::scope::{scope_items, scope_value};
use crate::plan::keys::any_column;
use crate::plan::{Has, HasKey, LabelPredicate, Name, Pop, Quantifier, RangeTest, StepNode, membership};

/// `has(key, predicate)`, `hasLabel`, `hasId`: all tests must hold.
pub struct HasOp {
    tests: Vec<(HasTarget, Predicate)>,
}

enum HasTarget {
    /// `again`: something later reads the same column.
    Property {
        key: Key,
        again: bool,
    },
    Id,
    Label,
}

impl HasOp {
    /// `later` are the steps behind it.
    pub fn new(tests: &[Has], later: &[StepNode]) -> Self {
        let target = |(at, has): (usize, &Has)| match &has.key {
            HasKey::Property(name) => {
                let again = is_tested(name, &tests[at + 1..]) || any_column(later, &|other| other == name);
                HasTarget::Property { key: Key::new(name.clone()), again }
            }
            HasKey::Id => HasTarget::Id,
            HasKey::Label => HasTarget::Label,
        };
        let test = |(at, has): (usize, &Has)| (target((at, has)), has.predicate.clone());
        Self { tests: tests.iter().enumerate().map(test).collect() }
    }
}

fn is_tested(name: &Name, tests: &[Has]) -> bool {
    tests.iter().any(|test| matches!(&test.key, HasKey::Property(other) if other == name))
}

impl HasOp {
    /// Reads the columns of all tests in one call, if a call is a journey. Near the graph it is better to read the second column of
    /// those that pass the first test only.
    fn read_together(&mut self, cx: &mut Context<'_, '_>, batch: &mut Batch) -> Result<()> {
        if self.tests.len() < 2 || cx.writes() || cx.view().distance().round_trip.is_zero() {
            return Ok(());
        }
        let Some(kind) = elements::elements(batch).map(|elements| elements.kind()) else { return Ok(()) };
        let mut keys = Vec::new();
        for (target, _) in &mut self.tests {
            if let HasTarget::Property { key, .. } = target
                && let Some(key) = key.id(cx)
                && batch.known.get(key).is_none()
                && is_narrow(cx, kind, key)
                && !keys.contains(&key)
            {
                keys.push(key);
            }
        }
        let Some(elements) = elements::elements(batch).filter(|_| keys.len() > 1) else { return Ok(()) };
        let columns = elements::columns(cx, batch, elements, &keys)?;
        keys.into_iter().zip(columns).for_each(|(key, column)| batch.known.put_column(key, column));
        Ok(())
    }
}

impl MapBatch for HasOp {
    fn map(&mut self, cx: &mut Context<'_, '_>, mut batch: Batch) -> Result<Batch> {
        self.read_together(cx, &mut batch)?;
        for (target, predicate) in &mut self.tests {
            if batch.is_empty() {
                break;
            }
            let keep = match target {
                HasTarget::Property { key, again } => has_property(cx, &mut batch, key, predicate, *again)?,
                HasTarget::Id => has_id(cx, &batch, predicate)?,
                HasTarget::Label => has_label(cx, &batch, predicate)?,
            };
            batch = batch.filter(&keep);
        }
        Ok(batch)
    }
}

fn has_property(
    cx: &mut Context<'_, '_>,
    batch: &mut Batch,
    key: &mut Key,
    predicate: &Predicate,
    again: bool,
) -> Result<Vec<bool>> {
    if batch.items.are_values() {
        let found = read::properties(cx, &batch.items, std::slice::from_mut(key), "has()")?;
        let passes = |property: &Value| match property {
            Value::VertexProperty(p) => predicate.matches(&p.value),
            Value::Property(p) => predicate.matches(&p.value),
            _ => false,
        };
        return Ok(found.iter().map(|properties| properties.iter().any(passes)).collect());
    }
    let Some(id) = key.id(cx) else { return Ok(vec![false; batch.len()]) };
    let kind = if matches!(batch.items, Items::Edges(_)) { ElementKind::Edge } else { ElementKind::Vertex };
    cx.warn_of_types(kind, None, id, predicate);
    let Some(elements) = elements::elements(batch) else { return Ok(vec![false; batch.len()]) };
    // A query that writes reads anew: the column could be out of date. A view may test texts without reading all of them.
    let is_known = batch.known.get(id).is_some();
    if cx.writes() || !(is_known || again && is_narrow(cx, kind, id)) {
        return Ok(cx.view().pass(elements, id, predicate)?);
    }
    let Some(column) = elements::column(cx, batch, id)? else { return Ok(vec![false; batch.len()]) };
    let passes = column.passes(predicate);
    if again {
        batch.known.put_column(id, column);
    }
    Ok(passes)
}

/// Whether all values under a key have a fixed, small size.
fn is_narrow(cx: &Context<'_, '_>, kind: ElementKind, key: KeyId) -> bool {
    let labels = cx.view().schema().labels(kind);
    labels.iter().filter_map(|label| label.property(key)).all(|property| property.types.is_narrow())
}

fn has_id(cx: &Context<'_, '_>, batch: &Batch, predicate: &Predicate) -> Result<Vec<bool>> {
    let predicate = ids_in(cx, predicate)?;
    Ok(read::ids(cx, &batch.items)?.iter().map(|id| predicate.matches(id)).collect())
}

/// The predicate with elements replaced by their ids.
fn ids_in(cx: &Context<'_, '_>, predicate: &Predicate) -> Result<Predicate> {
    let id = |value: &Value| match value {
        Value::Vertex(_) | Value::Edge(_) | Value::VertexProperty(_) => read::id_of(cx, value),
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
    let any_matches = |(row, names): (usize, Vec<Name>)| {
        if names.is_empty() {
            read::label_of(cx, &batch.value(row))?; // fails: it has none
        }
        Ok(names.into_iter().any(|name| predicate.matches(&Value::String(name))))
    };
    read::label_names(cx, &batch.items)?.into_iter().enumerate().map(any_matches).collect()
}

/// `has(key)`, `hasNot(key)`.
pub struct HasPropertyOp {
    pub key: Key,
    pub present: bool,
}

impl MapBatch for HasPropertyOp {
    fn map(&mut self, cx: &mut Context<'_, '_>, batch: Batch) -> Result<Batch> {
        let mut keep = match elements::elements(&batch) {
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
        let found = read::properties(cx, &batch.items, std::slice::from_mut(&mut self.key), "has()")?;
        Ok(found.iter().map(|properties| !properties.is_empty()).collect())
    }
}

/// `has(key, traversal)`: passes if the traversal gives something for a value of the key.
pub struct HasChildOp {
    pub key: HasKey,
    pub child: Child,
}

impl MapBatch for HasChildOp {
    fn map(&mut self, cx: &mut Context<'_, '_>, batch: Batch) -> Result<Batch> {
        let (rows, values) = self.values(cx, &batch)?;
        let mut values = Batch::new(Items::from_values(values));
        values.slots = batch.slots.gather(&rows);
        if cx.mode().has_paths() {
            values.paths = Some(rows.iter().map(|row| batch.path(*row as usize).clone()).collect());
        }
        let mut keep = vec![false; batch.len()];
        for (row, passes) in rows.into_iter().zip(self.child.exists(cx, &values)?) {
            keep[row as usize] |= passes;
        }
        Ok(batch.filter(&keep))
    }
}

impl HasChildOp {
    /// The values under the key, each with its row.
    fn values(&self, cx: &mut Context<'_, '_>, batch: &Batch) -> Result<(Vec<u32>, Vec<Value>)> {
        let rows = 0..batch.len() as u32;
        Ok(match &self.key {
            HasKey::Id => (rows.collect(), read::ids(cx, &batch.items)?),
            HasKey::Label => {
                let label = |row| read::label_of(cx, &batch.value(row as usize));
                (rows.clone().collect(), rows.map(label).collect::<Result<_>>()?)
            }
            HasKey::Property(name) => {
                let found = read::properties(cx, &batch.items, &mut [Key::new(name.clone())], "has()")?;
                let mut of_rows = (Vec::new(), Vec::new());
                for (row, property) in rows.zip(found).flat_map(|(row, found)| found.into_iter().map(move |p| (row, p))) {
                    of_rows.0.push(row);
                    of_rows.1.push(elements::token_of(cx, &property, mangrove_graph::Token::Value)?);
                }
                of_rows
            }
        })
    }
}

/// `hasKey`, `hasValue` on properties.
pub struct PropertyPartOp {
    pub token: mangrove_graph::Token,
    pub predicate: Predicate,
}

impl MapBatch for PropertyPartOp {
    fn map(&mut self, cx: &mut Context<'_, '_>, batch: Batch) -> Result<Batch> {
        let tokens = elements::tokens_of(cx, &batch.items, self.token)?;
        let keep: Vec<bool> = tokens.iter().map(|token| self.predicate.matches(token)).collect();
        Ok(batch.filter(&keep))
    }
}

/// `is(predicate)`.
pub struct IsOp(pub Predicate);

impl MapBatch for IsOp {
    fn map(&mut self, _: &mut Context<'_, '_>, batch: Batch) -> Result<Batch> {
        let keep: Vec<bool> = match &batch.items {
            Items::Values(values) => values.iter().map(|value| self.0.matches(value)).collect(),
            Items::Column(array) => column_test::matches(array, &self.0),
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
        if let Some(keep) = self.same_elements(cx, &batch) {
            return Ok(batch.filter(&keep));
        }
        if let Some(keep) = self.against_gathered(cx, &batch)? {
            return Ok(batch.filter(&keep));
        }
        let keep = self.test(cx, &batch)?;
        Ok(batch.filter(&keep))
    }
}

impl WhereLabelsOp {
    /// `where(eq('a'))` and `where(neq('a'))` of elements, by column.
    fn same_elements(&self, cx: &Context<'_, '_>, batch: &Batch) -> Option<Vec<bool>> {
        let LabelPredicate::Test(RangeTest::Compare(comparison), names) = &self.predicate else { return None };
        let (Comparison::Eq | Comparison::Neq, [name], []) = (comparison, &names[..], &self.by[..]) else { return None };
        let left = match &self.start {
            Some(start) => scope_items(cx, batch, start)?,
            None => &batch.items,
        };
        let is_wanted = *comparison == Comparison::Eq;
        match (left, scope_items(cx, batch, name)?) {
            (Items::Vertices(a), Items::Vertices(b)) => Some(a.iter().zip(b).map(|(a, b)| (a == b) == is_wanted).collect()),
            (Items::Edges(a), Items::Edges(b)) => Some(a.iter().zip(b).map(|(a, b)| (a.id == b.id) == is_wanted).collect()),
            _ => None,
        }
    }

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
        let first = batch.gather(&[0]);
        let (mut operands, mut open) = (Vec::new(), vec![true]);
        for name in &names {
            operands.push(labelled(cx, &first, name, None, &mut open)?);
        }
        if !open[0] {
            return Ok(Some(vec![false; batch.len()]));
        }
        let predicate = resolve(&self.predicate, &mut operands, 0, &mut 0);
        let mut keep = Vec::with_capacity(batch.len());
        for row in 0..batch.len() {
            cx.check()?;
            keep.push(predicate.matches(&batch.value(row)));
        }
        Ok(Some(keep))
    }

    /// The first `by()` applies to the start, the next to the first label that it is compared with, and so on in turn.
    fn test(&mut self, cx: &mut Context<'_, '_>, batch: &Batch) -> Result<Vec<bool>> {
        let mut open = vec![true; batch.len()];
        let mut left: Vec<Option<Value>> = (0..batch.len()).map(|row| Some(batch.value(row))).collect();
        if let Some(label) = &self.start {
            for (row, left) in left.iter_mut().enumerate() {
                *left = scope_value(cx, batch, row, label, Pop::Last)?;
            }
        }
        if let Some(by) = round_robin(&mut self.by, 0) {
            left = eval_present(by, cx, left)?;
        }
        open.iter_mut().zip(&left).for_each(|(open, left)| *open = left.is_some());
        let (mut names, mut operands) = (Vec::new(), Vec::new());
        self.predicate.names(&mut names);
        for (at, name) in names.iter().enumerate() {
            operands.push(labelled(cx, batch, name, round_robin(&mut self.by, at + 1), &mut open)?);
        }
        let passes = |(row, left): (usize, Option<Value>)| {
            open[row] && left.is_some_and(|left| resolve(&self.predicate, &mut operands, row, &mut 0).matches(&left))
        };
        Ok(left.into_iter().enumerate().map(passes).collect())
    }
}

/// The value of a label for each open row. A row without one is closed. The items of lists are modulated one by one.
fn labelled(
    cx: &mut Context<'_, '_>,
    batch: &Batch,
    label: &str,
    by: Option<&mut ByOp>,
    open: &mut [bool],
) -> Result<Vec<Option<Value>>> {
    let mut values = vec![None; batch.len()];
    for (row, value) in values.iter_mut().enumerate().filter(|(row, _)| open[*row]) {
        *value = scope_value(cx, batch, row, label, Pop::Last)?;
    }
    if let Some(by) = by {
        let lists: Vec<Option<Vec<Value>>> = values.iter().map(|value| value.as_ref()?.items()).collect();
        values.iter_mut().zip(&lists).filter(|(_, list)| list.is_some()).for_each(|(value, _)| *value = None);
        values = eval_present(by, cx, values)?;
        let items: Vec<Value> = lists.iter().flatten().flatten().cloned().collect();
        let mut items = eval_values(by, cx, items)?.into_iter();
        for (value, list) in values.iter_mut().zip(lists) {
            if let Some(list) = list {
                *value = Some(Value::list(items.by_ref().take(list.len()).flatten().collect()));
            }
        }
    }
    open.iter_mut().zip(&values).for_each(|(open, value)| *open &= value.is_some());
    Ok(values)
}

/// The predicate for a row. `operands` are the values of its labels, in the order in which it names them; `at` counts them.
fn resolve(predicate: &LabelPredicate, operands: &mut [Vec<Option<Value>>], row: usize, at: &mut usize) -> Predicate {
    let mut parts = |parts: &[LabelPredicate]| parts.iter().map(|part| resolve(part, operands, row, at)).collect();
    match predicate {
        LabelPredicate::And(all) => Predicate::And(parts(all)),
        LabelPredicate::Or(any) => Predicate::Or(parts(any)),
        LabelPredicate::Not(part) => Predicate::Not(Box::new(resolve(part, operands, row, at))),
        LabelPredicate::Test(_, labels) | LabelPredicate::Among(_, labels) => {
            let values = operands[*at..*at + labels.len()].iter_mut().map(|column| column[row].take().unwrap_or_default());
            let tested = match predicate {
                LabelPredicate::Test(test, _) => test.with(values),
                among => membership(matches!(among, LabelPredicate::Among(true, _)), values.collect()),
            };
            *at += labels.len();
            tested
        }
    }
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
        let path = |row| path::between(path::to_path(batch.path(row)), self.from.as_deref(), self.to.as_deref());
        let paths = modulated_paths(cx, (0..batch.len()).map(path).collect(), &mut self.by)?;
        let passes = |path: Option<Path>| path.is_some_and(|path| all_distinct(&path.objects) == self.simple);
        let keep: Vec<bool> = paths.into_iter().map(passes).collect();
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
