//! Operands of steps.

use mangrove_graph::Value;

use crate::error::Result;
use crate::execute::data::batch::Batch;
use crate::execute::run::chain::Child;
use crate::execute::run::context::Context;

/// An operand of a step: a literal or what a child gives.
pub enum OperandOp {
    Value(Value),
    Child(Child),
}

impl OperandOp {
    /// The operand for each row; `None` where the child gives nothing.
    pub fn eval(&mut self, cx: &mut Context<'_, '_>, batch: &Batch) -> Result<Vec<Option<Value>>> {
        match self {
            OperandOp::Value(value) => Ok(vec![Some(value.clone()); batch.len()]),
            OperandOp::Child(child) => child.first(cx, batch),
        }
    }
}
