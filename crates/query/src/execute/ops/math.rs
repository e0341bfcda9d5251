//! `math()`: expressions over doubles, in postfix order.

use mangrove_graph::Value;

use crate::error::{QueryError, Result};
use crate::execute::data::batch::{Batch, Moves};
use crate::execute::data::words::described;
use crate::execute::modulators::by::{ByOp, eval_present, round_robin};
use crate::execute::run::chain::MapBatch;
use crate::execute::run::context::Context;
use crate::execute::run::scope::scope_value;
use crate::plan::{MathExpression, MathOp, Pop};

/// `math('a + b').by(…)`.
pub struct MathStep {
    pub expression: MathExpression,
    pub by: Vec<ByOp>,
}

impl MapBatch for MathStep {
    fn map(&mut self, cx: &mut Context<'_, '_>, batch: Batch) -> Result<Batch> {
        // The variables of each row; `None` once a modulator gave nothing.
        let mut rows = vec![Some(Vec::with_capacity(self.expression.variables.len())); batch.len()];
        for at in 0..self.expression.variables.len() {
            let values = self.values(cx, &batch, at, &rows)?;
            for (row, value) in rows.iter_mut().zip(values) {
                match (row.as_mut(), value) {
                    (Some(row), Some(value)) => row.push(self.number(at, &value)?),
                    _ => *row = None,
                }
            }
        }
        let mut moves = Moves::default();
        for (row, variables) in rows.into_iter().enumerate() {
            if let Some(variables) = variables {
                moves.push(row, Value::Float64(evaluate(&self.expression.ops, &variables)?));
            }
        }
        Ok(moves.finish(&batch, cx.mode()))
    }
}

impl MathStep {
    /// The values of a variable, for the rows that still have all.
    fn values(
        &mut self,
        cx: &mut Context<'_, '_>,
        batch: &Batch,
        at: usize,
        rows: &[Option<Vec<f64>>],
    ) -> Result<Vec<Option<Value>>> {
        let name = &*self.expression.variables[at];
        if let ("_", Some(by)) = (name, round_robin(&mut self.by, at)) {
            let open: Vec<u32> = (0..).zip(rows).filter(|(_, row)| row.is_some()).map(|(at, _)| at).collect();
            let mut values = vec![None; batch.len()];
            for (row, value) in open.iter().zip(by.eval(cx, &batch.gather(&open))?) {
                values[*row as usize] = value;
            }
            return Ok(values);
        }
        let mut values = vec![None; batch.len()];
        for (row, value) in values.iter_mut().enumerate().filter(|(row, _)| rows[*row].is_some()) {
            *value = match name {
                "_" => Some(batch.value(row)),
                name => scope_value(cx, batch, row, name, Pop::Last)?,
            };
            if value.is_none() {
                let what = format!("the variable `{name}` of math(\"{}\") has no value", self.expression.text);
                return Err(QueryError::value(what));
            }
        }
        match round_robin(&mut self.by, at) {
            Some(by) => eval_present(by, cx, values),
            None => Ok(values),
        }
    }

    fn number(&self, at: usize, value: &Value) -> Result<f64> {
        value.as_f64().ok_or_else(|| {
            QueryError::value(format!(
                "The variable {} for math() step must resolve to a Number - it is instead the {}",
                self.expression.variables[at],
                described(value)
            ))
        })
    }
}

fn evaluate(ops: &[MathOp], variables: &[f64]) -> Result<f64> {
    let mut stack: Vec<f64> = Vec::with_capacity(8);
    for op in ops {
        let value = match op {
            MathOp::Number(n) => *n,
            MathOp::Variable(at) => variables[*at],
            MathOp::Neg => -stack.pop().unwrap_or(f64::NAN),
            MathOp::Function(function) => function.of(stack.pop().unwrap_or(f64::NAN)),
            binary => {
                let b = stack.pop().unwrap_or(f64::NAN);
                let a = stack.pop().unwrap_or(f64::NAN);
                match binary {
                    MathOp::Add => a + b,
                    MathOp::Sub => a - b,
                    MathOp::Mul => a * b,
                    MathOp::Div | MathOp::Rem if b == 0.0 => return Err(QueryError::value("math() cannot divide by zero")),
                    MathOp::Div => a / b,
                    MathOp::Rem => a % b,
                    _ => a.powf(b),
                }
            }
        };
        stack.push(value);
    }
    Ok(stack.pop().unwrap_or(f64::NAN))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::resolve::math::parse;

    #[test]
    fn expressions_follow_the_usual_precedence() {
        for (text, wanted) in [
            ("1 + 2 * 3", 7.0),
            ("(1 + 2) * 3", 9.0),
            ("2 ^ 3 ^ 2", 512.0),
            ("-2 ^ 2", -4.0),
            ("10 - 4 - 3", 3.0),
            ("sqrt(16) + abs(-2.5e0)", 6.5),
            ("7 % 4 / 2", 1.5),
        ] {
            assert_eq!(evaluate(&parse(text).unwrap().ops, &[]).unwrap(), wanted, "{text}");
        }
        let with_variables = parse("a + b * a").unwrap();
        assert_eq!(with_variables.variables.len(), 2);
        assert_eq!(evaluate(&with_variables.ops, &[2.0, 3.0]).unwrap(), 8.0);
        assert!(evaluate(&parse("1 / (2 - 2)").unwrap().ops, &[]).is_err());
        for bad in ["1 +", "(1", "1)", "1 2", "$"] {
            assert!(parse(bad).is_err(), "{bad}");
        }
    }
}
