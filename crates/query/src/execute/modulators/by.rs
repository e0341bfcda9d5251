//! `by()` modulators: each gives one value for a traverser, or none.

use arrow_array::{Array, ArrayRef};
use mangrove_graph::{Cell, KeyId, Path, PropertyColumn, Token, Value, column};

use crate::error::{QueryError, Result};
use crate::execute::data::batch::Batch;
use crate::execute::data::entries::column_of;
use crate::execute::data::items::Items;
use crate::execute::data::maps::{MapColumn, Maps};
use crate::execute::data::path;
use crate::execute::data::words::described;
use crate::execute::reads::columns::token_column;
use crate::execute::reads::elements;
use crate::execute::reads::read;
use crate::execute::run::chain::{Child, PART};
use crate::execute::run::context::{Context, Key};
use crate::plan::paths::PathMode;
use crate::plan::{Column, Name};

/// What a modulator gives for the rows of a batch.
#[derive(Clone)]
pub enum ByColumn {
    /// Values of one type; null where it gives nothing.
    Typed(ArrayRef),
    Values(Vec<Option<Value>>),
}

impl ByColumn {
    pub fn array(&self) -> Option<&ArrayRef> {
        match self {
            ByColumn::Typed(array) => Some(array),
            ByColumn::Values(_) => None,
        }
    }

    pub fn into_values(self) -> Vec<Option<Value>> {
        match self {
            ByColumn::Typed(array) => {
                (0..array.len()).map(|row| array.is_valid(row).then(|| column::value_at(&array, row))).collect()
            }
            ByColumn::Values(values) => values,
        }
    }
}

pub enum ByOp {
    Identity,
    Key(Key),
    Token(Token),
    Column(Column),
    Child(Child),
    /// The key that a partial `group()` found, and put beside the traversers.
    Beside,
}

/// The slot of that key.
pub const GROUP_KEY: &str = "key";

impl ByOp {
    /// One value for each row. `None` means that the modulator gives nothing; the caller then skips the traverser.
    pub fn eval(&mut self, cx: &mut Context<'_, '_>, batch: &Batch) -> Result<Vec<Option<Value>>> {
        self.column(cx, batch).map(ByColumn::into_values)
    }

    /// The same as a column, where it has that form.
    pub fn column(&mut self, cx: &mut Context<'_, '_>, batch: &Batch) -> Result<ByColumn> {
        let column = match self {
            ByOp::Identity => match &batch.items {
                Items::Column(array) => ByColumn::Typed(array.clone()),
                _ => ByColumn::Values((0..batch.len()).map(|row| Some(batch.value(row))).collect()),
            },
            ByOp::Key(key) => by_key(cx, batch, key)?,
            ByOp::Token(token) => by_token(cx, batch, *token)?,
            ByOp::Column(column) => {
                let of = |row| column_of(&batch.value(row), *column).map(Some);
                ByColumn::Values((0..batch.len()).map(of).collect::<Result<_>>()?)
            }
            ByOp::Child(child) => ByColumn::Values(child.first(cx, batch)?),
            ByOp::Beside => ByColumn::Values((0..batch.len()).map(|row| batch.slots.value(GROUP_KEY, row)).collect()),
        };
        Ok(self.productive(cx, column))
    }

    /// With `ProductiveByStrategy`, nothing counts as null.
    fn productive(&self, cx: &Context<'_, '_>, column: ByColumn) -> ByColumn {
        if !cx.shared.productive_by || self.is_known_productive(cx) {
            return column;
        }
        ByColumn::Values(column.into_values().into_iter().map(|value| Some(value.unwrap_or_default())).collect())
    }

    /// Whether `ProductiveByStrategy` names this key as one that always gives something.
    fn is_known_productive(&self, cx: &Context<'_, '_>) -> bool {
        matches!(self, ByOp::Key(key) if cx.shared.productive_keys.contains(&key.name))
    }

    /// Like [`eval`](Self::eval), for large batches. It works in parts, so that a stop takes effect in between.
    pub fn eval_parts(&mut self, cx: &mut Context<'_, '_>, batch: &Batch) -> Result<Vec<Option<Value>>> {
        if batch.len() <= PART {
            return self.eval(cx, batch);
        }
        let mut values = Vec::with_capacity(batch.len());
        for start in (0..batch.len()).step_by(PART) {
            cx.check()?;
            values.append(&mut self.eval(cx, &batch.slice(start..batch.len().min(start + PART)))?);
        }
        Ok(values)
    }
}

/// The columns of `n` modulators in turn, round robin. Reads the properties that several of them want in one call, unless children
/// between them may change the graph.
pub fn eval_all(by: &mut [ByOp], n: usize, cx: &mut Context<'_, '_>, batch: &Batch) -> Result<Vec<ByColumn>> {
    let used = by.len().min(n);
    let by = &mut by[..used];
    let mut read = read_together(by, cx, batch)?.into_iter();
    let mut columns = Vec::with_capacity(n);
    for by in by.iter_mut() {
        let is_read = matches!(by, ByOp::Key(key) if key.known().is_some());
        columns.push(match (&*by, is_read.then(|| read.next()).flatten()) {
            (ByOp::Key(key), Some(column)) => {
                let column = of_property(&key.name, column)?;
                by.productive(cx, column)
            }
            _ => by.column(cx, batch)?,
        });
    }
    for at in used..n {
        columns.push(match &mut by[at % used] {
            child @ ByOp::Child(_) => child.column(cx, batch)?,
            _ => columns[at % used].clone(),
        });
    }
    Ok(columns)
}

/// The columns of all keys that the graph has, in order, if there are several; nothing otherwise.
fn read_together(by: &mut [ByOp], cx: &mut Context<'_, '_>, batch: &Batch) -> Result<Vec<PropertyColumn>> {
    let Some(elements) = elements::elements(batch) else { return Ok(Vec::new()) };
    let mut ids: Vec<KeyId> = Vec::with_capacity(by.len());
    for by in by.iter_mut() {
        if let ByOp::Key(key) = by {
            ids.extend(key.id(cx));
        }
    }
    match ids.len() > 1 && !(cx.writes() && by.iter().any(|by| matches!(by, ByOp::Child(_)))) {
        true => elements::columns(cx, batch, elements, &ids),
        false => Ok(Vec::new()),
    }
}

/// What elements have under a key. Several values of one element are an error.
fn of_property(name: &str, column: PropertyColumn) -> Result<ByColumn> {
    Ok(match column {
        PropertyColumn::Typed(array) => ByColumn::Typed(array),
        PropertyColumn::Absent(n) => ByColumn::Values(vec![None; n]),
        PropertyColumn::Cells(cells) => ByColumn::Values(cells.iter().map(|cell| only(name, cell)).collect::<Result<_>>()?),
    })
}

/// A column of maps. What a map lacks is null, and not nothing, as in TinkerPop.
fn entries(maps: &Maps, column: Option<&MapColumn>) -> ByColumn {
    match column.cloned().map(ByColumn::from) {
        None => ByColumn::Values(vec![Some(Value::Null); maps.rows]),
        Some(ByColumn::Typed(array)) if array.null_count() == 0 => ByColumn::Typed(array),
        Some(column) => ByColumn::Values(column.into_values().into_iter().map(or_null).collect()),
    }
}

fn or_null(value: Option<Value>) -> Option<Value> {
    value.or(Some(Value::Null))
}

fn by_token(cx: &Context<'_, '_>, batch: &Batch, token: Token) -> Result<ByColumn> {
    if let Items::Maps(maps) = &batch.items {
        return Ok(entries(maps, maps.column(&Value::Token(token))));
    }
    if let Some(elements) = elements::elements(batch)
        && let Some(column) = token_column(cx.view(), elements, token)?
    {
        return Ok(column.into());
    }
    let any_map = matches!(&batch.items, Items::Values(values) if values.iter().any(|v| matches!(v, Value::Map(_))));
    if !any_map {
        return Ok(ByColumn::Values(elements::tokens_of(cx, &batch.items, token)?.into_iter().map(Some).collect()));
    }
    let of = |row| match batch.value(row) {
        Value::Map(map) => Ok(or_null(map.get(&Value::Token(token)).cloned())),
        value => elements::token_of(cx, &value, token).map(Some),
    };
    (0..batch.len()).map(of).collect::<Result<_>>().map(ByColumn::Values)
}

fn by_key(cx: &mut Context<'_, '_>, batch: &Batch, key: &mut Key) -> Result<ByColumn> {
    match &batch.items {
        Items::Values(values) => return by_key_of(cx, &batch.items, values, key).map(ByColumn::Values),
        Items::Maps(maps) => return Ok(entries(maps, maps.column_named(&key.name))),
        Items::Column(_) => {
            return by_key_of(cx, &batch.items, &batch.items.clone().into_values(), key).map(ByColumn::Values);
        }
        _ => {}
    }
    let column = key.id(cx).map(|id| elements::column(cx, batch, id)).transpose()?.flatten();
    of_property(&key.name, column.unwrap_or(PropertyColumn::Absent(batch.len())))
}

/// The same for values of all kinds.
fn by_key_of(cx: &mut Context<'_, '_>, items: &Items, values: &[Value], key: &mut Key) -> Result<Vec<Option<Value>>> {
    let any_element = values.iter().any(|value| value.element_id().is_some());
    let cells = match any_element.then(|| key.id(cx)).flatten() {
        Some(id) => read::cells(cx, items, id)?,
        None => Vec::new(),
    };
    let properties = values.iter().filter_map(|value| if let Value::VertexProperty(p) = value { Some(&**p) } else { None });
    let mut meta = read::meta(cx, properties)?.into_iter();
    let name = &*key.name;
    let of = |(row, value): (usize, &Value)| match value {
        Value::Map(map) => Ok(or_null(map.get_str(name).cloned())),
        Value::Vertex(_) | Value::Edge(_) => cells.get(row).map_or(Ok(None), |cell| only(name, cell)),
        Value::VertexProperty(_) => {
            let meta = meta.next().unwrap_or_default();
            Ok(meta.into_iter().find(|(_, key, _)| &**key == name).map(|(_, _, value)| value))
        }
        other => Err(QueryError::value(format!(
            "The by(\"{name}\") modulator can only be applied to a traverser that is an Element or a Map - \
             it is being applied to the {}",
            described(other)
        ))),
    };
    values.iter().enumerate().map(of).collect()
}

/// The single value of a cell, if it has one. Several values are an error.
fn only(name: &str, cell: &Cell) -> Result<Option<Value>> {
    let mut values = cell.values();
    let first = values.next();
    if values.next().is_some() {
        let message = format!("by('{name}') needs one value, but an element has several values under that key");
        return Err(QueryError::value(message)
            .help(format!("by(values('{name}')) takes the first, by(values('{name}').fold()) all")));
    }
    Ok(first.cloned())
}

/// The modulator for item number `at`. Modulators are used in turn, round robin.
pub fn round_robin(by: &mut [ByOp], at: usize) -> Option<&mut ByOp> {
    let n = by.len();
    if n == 0 { None } else { by.get_mut(at % n) }
}

/// The values of one modulator for traversers that begin at these values.
pub fn eval_values(by: &mut ByOp, cx: &mut Context<'_, '_>, values: Vec<Value>) -> Result<Vec<Option<Value>>> {
    if matches!(by, ByOp::Identity) || values.is_empty() {
        return Ok(values.into_iter().map(Some).collect());
    }
    let batch = beginning(cx, values);
    by.eval(cx, &batch)
}

/// The same for values of which some are missing, and stay so.
pub fn eval_present(by: &mut ByOp, cx: &mut Context<'_, '_>, mut values: Vec<Option<Value>>) -> Result<Vec<Option<Value>>> {
    if values.iter().all(Option::is_some) {
        return eval_values(by, cx, values.into_iter().flatten().collect());
    }
    let present: Vec<bool> = values.iter().map(Option::is_some).collect();
    let given = values.iter_mut().filter_map(Option::take).collect();
    let mut made = eval_values(by, cx, given)?.into_iter();
    Ok(present.into_iter().map(|there| if there { made.next().flatten() } else { None }).collect())
}

/// Modulates lists of values, round robin within each list.
pub fn eval_lists(by: &mut [ByOp], cx: &mut Context<'_, '_>, lists: Vec<Vec<Value>>) -> Result<Vec<Vec<Option<Value>>>> {
    let n = by.len();
    let mut out: Vec<Vec<Option<Value>>> = lists.into_iter().map(|list| list.into_iter().map(Some).collect()).collect();
    for (which, by) in by.iter_mut().enumerate() {
        let mut values = Vec::new();
        for list in &mut out {
            values.extend(list.iter_mut().skip(which).step_by(n).filter_map(Option::take));
        }
        let mut values = eval_values(by, cx, values)?.into_iter();
        for list in &mut out {
            list.iter_mut().skip(which).step_by(n).for_each(|value| *value = values.next().flatten());
        }
    }
    Ok(out)
}

/// Modulates lists of values, round robin within each list, position by position. A list for which a modulator gives nothing is
/// `None`, and what comes later in it is not looked at.
pub fn eval_whole_lists(
    by: &mut [ByOp],
    cx: &mut Context<'_, '_>,
    lists: Vec<Vec<Value>>,
) -> Result<Vec<Option<Vec<Value>>>> {
    let longest = lists.iter().map(Vec::len).max().unwrap_or(0);
    let mut out: Vec<Option<Vec<Value>>> = lists.into_iter().map(Some).collect();
    for at in 0..longest {
        let Some(by) = round_robin(by, at) else { break };
        let values = out.iter_mut().flatten().filter_map(|list| list.get_mut(at).map(std::mem::take)).collect();
        let mut made = eval_values(by, cx, values)?.into_iter();
        for list in out.iter_mut().filter(|list| list.as_ref().is_some_and(|list| list.len() > at)) {
            match (made.next().flatten(), list.as_mut()) {
                (Some(value), Some(values)) => values[at] = value,
                _ => *list = None,
            }
        }
    }
    Ok(out)
}

/// Traversers that begin at these values, with an empty path.
pub fn beginning(cx: &Context<'_, '_>, values: Vec<Value>) -> Batch {
    let paths = match cx.mode() {
        PathMode::Off | PathMode::Slots => None,
        PathMode::Labels => Some(vec![None; values.len()]),
        PathMode::Full => Some(values.iter().map(|value| path::extend(&None, value.clone())).collect()),
    };
    Batch { paths, ..Batch::new(Items::from_values(values)) }
}

/// Paths whose objects went through the modulators in turn; `None` for a path where one gives nothing.
pub fn modulated_paths(cx: &mut Context<'_, '_>, paths: Vec<Path>, by: &mut [ByOp]) -> Result<Vec<Option<Path>>> {
    if by.is_empty() {
        return Ok(paths.into_iter().map(Some).collect());
    }
    let (labels, objects): (Vec<_>, Vec<_>) = paths.into_iter().map(|path| (path.labels, path.objects)).unzip();
    let objects = eval_whole_lists(by, cx, objects)?.into_iter();
    let path = |(labels, objects): (_, Option<Vec<Value>>)| Some(Path { objects: objects?, labels });
    Ok(labels.into_iter().zip(objects).map(path).collect())
}

impl From<MapColumn> for ByColumn {
    fn from(column: MapColumn) -> Self {
        match column {
            MapColumn::Typed(array) => ByColumn::Typed(array),
            MapColumn::Values(values) => ByColumn::Values(values),
        }
    }
}

impl From<ByColumn> for MapColumn {
    fn from(column: ByColumn) -> Self {
        match column {
            ByColumn::Typed(array) => MapColumn::Typed(array),
            ByColumn::Values(values) => MapColumn::of(values),
        }
    }
}

/// The maps of `project`.
pub fn projected(cx: &mut Context<'_, '_>, batch: &Batch, keys: &[Name], by: &mut [ByOp]) -> Result<Maps> {
    let columns = modulated(cx, batch, keys.len(), by)?.into_iter().map(MapColumn::from);
    let keys = keys.iter().map(|key| Value::String(key.clone()));
    Ok(Maps { rows: batch.len(), columns: keys.zip(columns).collect() })
}

/// The columns of `n` modulators in turn. Without any, the items themselves.
pub fn modulated(cx: &mut Context<'_, '_>, batch: &Batch, n: usize, by: &mut [ByOp]) -> Result<Vec<ByColumn>> {
    match by.is_empty() {
        true => Ok(vec![ByOp::Identity.column(cx, batch)?; n]),
        false => eval_all(by, n, cx, batch),
    }
}
