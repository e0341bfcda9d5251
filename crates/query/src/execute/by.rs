//! `by()` modulators: each gives one value for a traverser, or none.

use arrow_array::ArrayRef;
use mangrove_graph::{Cell, PropertyColumn, Token, Value};

use super::batch::{Batch, Items};
use super::chain::Child;
use super::context::{Context, Key};
use super::path::{self, PathMode};
use super::{element, read};
use crate::error::{QueryError, Result};
use crate::plan::Column;

pub enum ByOp {
    Identity,
    Key(Key),
    Token(Token),
    Column(Column),
    Child(Child),
}

impl ByOp {
    /// One value for each row. `None` means that the modulator gives nothing; the caller then skips the traverser.
    pub fn eval(&mut self, cx: &mut Context<'_, '_>, batch: &Batch) -> Result<Vec<Option<Value>>> {
        let mut values = match self {
            ByOp::Identity => (0..batch.len()).map(|row| Some(batch.value(row))).collect(),
            ByOp::Key(key) => by_key(cx, batch, key)?,
            ByOp::Token(token) => by_token(cx, batch, *token)?,
            ByOp::Column(column) => {
                let of = |row| super::select::column_of(&batch.value(row), *column).map(Some);
                (0..batch.len()).map(of).collect::<Result<_>>()?
            }
            ByOp::Child(child) => child.first(cx, batch)?,
        };
        if cx.shared.productive_by && !self.is_known_productive(cx) {
            values.iter_mut().for_each(|v| *v = Some(v.take().unwrap_or_default()));
        }
        Ok(values)
    }

    /// Whether `ProductiveByStrategy` names this key as one that always gives something.
    fn is_known_productive(&self, cx: &Context<'_, '_>) -> bool {
        matches!(self, ByOp::Key(key) if cx.shared.productive_keys.contains(&key.name))
    }

    /// Like [`eval`](Self::eval), for large batches. It works in parts, so that a stop takes effect in between.
    pub fn eval_parts(&mut self, cx: &mut Context<'_, '_>, batch: &Batch) -> Result<Vec<Option<Value>>> {
        const PART: usize = 1 << 16;
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

    /// The values as an Arrow array, if they are a property of elements and of one type. A null marks an element without the
    /// property; the caller skips it.
    pub fn typed_column(&mut self, cx: &mut Context<'_, '_>, batch: &Batch) -> Result<Option<ArrayRef>> {
        let ByOp::Key(key) = self else { return Ok(None) };
        if cx.shared.productive_by || matches!(batch.items, Items::Values(_)) {
            return Ok(None);
        }
        let Some(id) = key.id(cx) else { return Ok(None) };
        match element::column(cx, batch, id)? {
            Some(PropertyColumn::Typed(array)) => Ok(Some(array)),
            _ => Ok(None),
        }
    }
}

fn by_token(cx: &Context<'_, '_>, batch: &Batch, token: Token) -> Result<Vec<Option<Value>>> {
    let any_map = matches!(&batch.items, Items::Values(values) if values.iter().any(|v| matches!(v, Value::Map(_))));
    if !any_map {
        return Ok(element::tokens_of(cx, &batch.items, token)?.into_iter().map(Some).collect());
    }
    let of = |row| match batch.value(row) {
        Value::Map(map) => Ok(map.get(&Value::Token(token)).cloned()),
        value => element::token_of(cx, &value, token).map(Some),
    };
    (0..batch.len()).map(of).collect()
}

fn by_key(cx: &mut Context<'_, '_>, batch: &Batch, key: &mut Key) -> Result<Vec<Option<Value>>> {
    if let Items::Values(values) = &batch.items {
        return by_key_of(cx, &batch.items, values, key);
    }
    let Some(id) = key.id(cx) else { return Ok(vec![None; batch.len()]) };
    Ok(match element::column(cx, batch, id)? {
        Some(PropertyColumn::Absent(n)) => vec![None; n],
        Some(column) => (0..column.len()).map(|row| only(&key.name, &column.cell(row))).collect::<Result<_>>()?,
        None => vec![None; batch.len()],
    })
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
        Value::Map(map) => Ok(map.get_str(name).cloned()),
        Value::Vertex(_) | Value::Edge(_) => cells.get(row).map_or(Ok(None), |cell| only(name, cell)),
        Value::VertexProperty(_) => {
            let meta = meta.next().unwrap_or_default();
            Ok(meta.into_iter().find(|(_, key, _)| &**key == name).map(|(_, _, value)| value))
        }
        other => Err(QueryError::value(format!(
            "The by(\"{name}\") modulator can only be applied to a traverser that is an Element or a Map - \
             it is being applied to the {}",
            super::described(other)
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

/// Traversers that begin at these values, with an empty path.
pub fn beginning(cx: &Context<'_, '_>, values: Vec<Value>) -> Batch {
    let paths = match cx.mode() {
        PathMode::Off => None,
        PathMode::Labels => Some(vec![None; values.len()]),
        PathMode::Full => Some(values.iter().map(|value| path::extend(&None, value.clone())).collect()),
    };
    Batch { paths, ..Batch::new(Items::from_values(values)) }
}
