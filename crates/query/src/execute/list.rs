//! Functions of collections: `combine`, `difference`, `disjunct`, `intersect`, `merge`, `product`.

use mangrove_graph::{Map, Value};

use super::batch::{Batch, Items};
use super::chain::MapBatch;
use super::context::Context;
use super::text::OperandOp;
use crate::error::{QueryError, Result};
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
            values.push(apply(self.function, &batch.value(row), operand.unwrap_or_default())?);
        }
        let mode = cx.mode();
        Ok(batch.moved_in_place(Items::Values(values), mode))
    }
}

pub fn not_a_list(step: &str, value: &Value) -> QueryError {
    let what = if value.is_null() { "null".to_owned() } else { value.value_type().to_string() };
    QueryError::value(format!("Incoming traverser for {step} step can't be {what}; it takes an Iterable/Iterator or an Array type for incoming traversers, encountered {what}"))
}

fn not_a_list_operand(step: &str, value: &Value) -> QueryError {
    let what = if value.is_null() { "null".to_owned() } else { value.value_type().to_string() };
    QueryError::value(format!("Argument provided for {step} step can't be {what}; {step} step can only take an array or an Iterable as argument, encountered {what}"))
}

fn apply(function: ListFunction, a: &Value, b: Value) -> Result<Value> {
    let step = function.name();
    if let (ListFunction::Merge, Value::Map(a)) = (function, a) {
        let Value::Map(b) = &b else { return Err(not_a_list_operand(step, &b)) };
        let mut all: Map = (**a).clone();
        b.iter().for_each(|(k, v)| all.insert(k.clone(), v.clone()));
        return Ok(Value::map(all));
    }
    let a = a.items().ok_or_else(|| not_a_list(step, a))?;
    let b = b.items().ok_or_else(|| not_a_list_operand(step, &b))?;
    Ok(match function {
        ListFunction::Combine => Value::list(a.into_iter().chain(b).collect()),
        ListFunction::Merge => Value::set(a.into_iter().chain(b)),
        ListFunction::Difference => Value::set(a.into_iter().filter(|item| !b.contains(item))),
        ListFunction::Intersect => Value::set(a.into_iter().filter(|item| b.contains(item))),
        ListFunction::Disjunct => {
            let only_a: Vec<Value> = a.iter().filter(|item| !b.contains(item)).cloned().collect();
            Value::set(only_a.into_iter().chain(b.into_iter().filter(|item| !a.contains(item))))
        }
        ListFunction::Product => {
            let pairs = a.iter().flat_map(|x| b.iter().map(move |y| Value::list(vec![x.clone(), y.clone()])));
            Value::list(pairs.collect())
        }
    })
}
