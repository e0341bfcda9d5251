//! Functions of collections: `combine`, `difference`, `disjunct`, `intersect`, `merge`, `product`.

use hashbrown::HashSet;
use mangrove_graph::{Map, Value};

use crate::error::{QueryError, Result};
use crate::execute::data::batch::Batch;
use crate::execute::data::items::Items;
use crate::execute::data::words::not_a_list;
use crate::execute::ops::operand::OperandOp;
use crate::execute::run::chain::MapBatch;
use crate::execute::run::context::Context;
use crate::plan::ListFunction;

pub struct ListOp {
    pub function: ListFunction,
    pub operand: OperandOp,
}

impl MapBatch for ListOp {
    fn map(&mut self, cx: &mut Context<'_, '_>, batch: Batch) -> Result<Batch> {
        let operands = self.operand.eval(cx, &batch)?;
        let mut values = Vec::with_capacity(batch.len());
        for (row, operand) in operands.into_iter().enumerate() {
            let from_traversal = matches!(self.operand, OperandOp::Child(_));
            let (value, operand) = (batch.value(row), operand.unwrap_or_default());
            cx.fits(most_items(self.function, &value, &operand).saturating_mul(size_of::<Value>()))?;
            values.push(apply(self.function, &value, operand, from_traversal)?);
        }
        let mode = cx.mode();
        Ok(batch.moved_in_place(Items::Values(values), mode))
    }
}

/// The most items that the result can have.
fn most_items(function: ListFunction, a: &Value, b: &Value) -> usize {
    let count = |value: &Value| match value {
        Value::List(items) | Value::Set(items) => items.len(),
        Value::BulkSet(items) => items.iter().fold(0usize, |sum, (_, n)| sum.saturating_add(*n as usize)),
        Value::Map(map) => map.len(),
        _ => 1,
    };
    match function {
        ListFunction::Product => count(a).saturating_mul(count(b)).saturating_mul(3),
        _ => count(a).saturating_add(count(b)),
    }
}

fn not_a_list_operand(step: &str, value: &Value, from_traversal: bool) -> QueryError {
    let met = value.value_type();
    QueryError::value(match (value, from_traversal) {
        (Value::Null, true) => format!("traversal argument for {step} step must yield an iterable type, not null"),
        (_, true) => format!("traversal argument for {step} step must yield an iterable type, encountered {met}"),
        (Value::Null, _) => format!("Argument provided for {step} step can't be null"),
        (Value::Map(_), _) => format!("{step} step type mismatch: expected argument to be Iterable but got Map"),
        _ => format!("{step} step can only take an array or an Iterable as an argument, encountered {met}"),
    })
}

fn apply(function: ListFunction, a: &Value, b: Value, from_traversal: bool) -> Result<Value> {
    let step = function.name();
    if let (ListFunction::Merge, Value::Map(a)) = (function, a) {
        let Value::Map(b) = &b else {
            let met = b.value_type();
            return Err(QueryError::value(format!(
                "merge step expected provided argument to evaluate to a Map, encountered {met}"
            )));
        };
        let all: Map = a.iter().chain(b.iter()).cloned().collect();
        return Ok(Value::map(all));
    }
    let a = a.items().ok_or_else(|| not_a_list(step, a))?;
    let b = b.items().ok_or_else(|| not_a_list_operand(step, &b, from_traversal))?;
    let among = |items: &[Value]| items.iter().cloned().collect::<HashSet<Value>>();
    Ok(match function {
        ListFunction::Combine => Value::list(a.into_iter().chain(b).collect()),
        ListFunction::Merge => Value::set(a.into_iter().chain(b)),
        ListFunction::Difference => {
            let b = among(&b);
            Value::set(a.into_iter().filter(|item| !b.contains(item)))
        }
        ListFunction::Intersect => {
            let b = among(&b);
            Value::set(a.into_iter().filter(|item| b.contains(item)))
        }
        ListFunction::Disjunct => {
            let (in_a, in_b) = (among(&a), among(&b));
            let only_a = a.into_iter().filter(|item| !in_b.contains(item));
            Value::set(only_a.chain(b.into_iter().filter(|item| !in_a.contains(item))))
        }
        ListFunction::Product => {
            let pairs = a.iter().flat_map(|x| b.iter().map(move |y| Value::list(vec![x.clone(), y.clone()])));
            Value::list(pairs.collect())
        }
    })
}
