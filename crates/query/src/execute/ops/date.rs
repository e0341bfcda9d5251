//! Dates and times: `asDate`, `dateAdd`, `dateDiff`.

use mangrove_graph::{DateTime, Value, time::TimeUnit};

use crate::error::{QueryError, Result};
use crate::execute::data::batch::Batch;
use crate::execute::data::items::Items;
use crate::execute::data::words::{shown, type_error};
use crate::execute::ops::operand::OperandOp;
use crate::execute::run::chain::MapBatch;
use crate::execute::run::context::Context;

/// `asDate()`: from ISO 8601 text or milliseconds since 1970.
pub struct AsDateOp;

impl MapBatch for AsDateOp {
    fn map(&mut self, cx: &mut Context<'_, '_>, batch: Batch) -> Result<Batch> {
        let values = (0..batch.len()).map(|row| as_date(&batch.value(row)).map(Value::from)).collect::<Result<_>>()?;
        let mode = cx.mode();
        Ok(batch.moved_in_place(Items::Values(values), mode))
    }
}

fn as_date(value: &Value) -> Result<DateTime> {
    match value {
        Value::DateTime(t) => Ok(*t),
        Value::Date(date) => Ok(date.midnight()),
        Value::String(text) => {
            DateTime::parse(text).ok_or_else(|| QueryError::value(format!("Can't parse {text} as Date.")))
        }
        other => match other.as_i64() {
            Some(millis) => Ok(DateTime::from_millis(millis)),
            None => Err(QueryError::value(format!("Can't parse {} as Date.", shown(other)))),
        },
    }
}

/// The time of a date or date-time. A date stands for its midnight in UTC.
fn time_of(value: &Value, step: &str) -> Result<DateTime> {
    match value {
        Value::DateTime(_) | Value::Date(_) => as_date(value),
        other => Err(type_error(step, "dates and date-times", other)),
    }
}

/// `dateAdd(unit, amount)`. A date stays a date, unless less than a day is added.
pub struct DateAddOp(pub TimeUnit, pub i64);

impl MapBatch for DateAddOp {
    fn map(&mut self, cx: &mut Context<'_, '_>, batch: Batch) -> Result<Batch> {
        let mut values = Vec::with_capacity(batch.len());
        for row in 0..batch.len() {
            let value = batch.value(row);
            let moved = time_of(&value, "dateAdd()")?.add(self.1, self.0);
            let moved = moved.ok_or_else(|| QueryError::value("the date is out of range"))?;
            let stays =
                matches!(value, Value::Date(_)) && matches!(self.0, TimeUnit::Year | TimeUnit::Month | TimeUnit::Day);
            values.push(match moved.date().filter(|_| stays) {
                Some(date) => date.into(),
                None => moved.into(),
            });
        }
        let mode = cx.mode();
        Ok(batch.moved_in_place(Items::Values(values), mode))
    }
}

/// `dateDiff(date)`: milliseconds from the operand to the incoming date. A missing operand counts as the epoch.
pub struct DateDiffOp(pub OperandOp);

impl MapBatch for DateDiffOp {
    fn map(&mut self, cx: &mut Context<'_, '_>, batch: Batch) -> Result<Batch> {
        let operands = self.0.eval(cx, &batch)?;
        let mut values = Vec::with_capacity(batch.len());
        for (row, operand) in operands.into_iter().enumerate() {
            let t = time_of(&batch.value(row), "dateDiff()")?;
            let from = match operand {
                Some(Value::Null) | None => DateTime::from_millis(0),
                Some(value) => as_date(&value)?,
            };
            let apart = t.millis().checked_sub(from.millis());
            values.push(Value::Int64(apart.ok_or_else(|| QueryError::value("the dates are too far apart"))?));
        }
        let mode = cx.mode();
        Ok(batch.moved_in_place(Items::Values(values), mode))
    }
}
