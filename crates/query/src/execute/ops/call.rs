//! `call('name')`: runs a procedure for each traverser and emits its values.

use std::cell::RefCell;

use mangrove_graph::{Map, Value};

use crate::error::{QueryError, QueryErrorKind, Result};
use crate::execute::data::batch::{Batch, Moves};
use crate::execute::ops::operand::OperandOp;
use crate::execute::run::chain::{Child, Input, Op};
use crate::execute::run::context::Context;
use crate::plan::{Name, Step, Traversal};
use crate::procedure::{Failure, Invocation, LIST, Procedures, Values};

/// The most values in one batch. Batches start with one value and double each time, so that `limit` stops a slow procedure early.
const VALUES_MAX: usize = 1024;

/// Fails at the first call of an unknown procedure.
pub fn check(traversal: &Traversal, procedures: &Procedures) -> Result<()> {
    for node in &traversal.steps {
        if let Step::Call(call) = &node.step {
            procedures.check(&call.name).map_err(|e| e.at(node.span))?;
        }
    }
    let mut outcome = Ok(());
    traversal.for_each_child(&mut |child| {
        if outcome.is_ok() {
            outcome = check(child, procedures);
        }
    });
    outcome
}

/// The sources of the parameters; later ones take precedence.
pub struct ParametersOp {
    pub map: Map,
    pub child: Option<Child>,
    pub with: Vec<(Name, OperandOp)>,
}

impl ParametersOp {
    /// The parameters for each row.
    fn eval(&mut self, cx: &mut Context<'_, '_>, batch: &Batch, name: &str) -> Result<Vec<Map>> {
        let mut maps = vec![self.map.clone(); batch.len()];
        if let Some(child) = &mut self.child {
            for (map, made) in maps.iter_mut().zip(child.first(cx, batch)?) {
                let Some(Value::Map(made)) = made else {
                    let message = format!("the traversal for the parameters of `{name}` must give a map");
                    return Err(QueryError::value(message).help("project() gives a map"));
                };
                made.iter().for_each(|(key, value)| map.insert(key.clone(), value.clone()));
            }
        }
        for (key, operand) in &mut self.with {
            for (map, value) in maps.iter_mut().zip(operand.eval(cx, batch)?) {
                if let Some(value) = value {
                    map.insert(Value::String(key.clone()), value);
                }
            }
        }
        Ok(maps)
    }
}

pub struct CallOp {
    name: Name,
    parameters: ParametersOp,
    /// The call starts the query, so there is no input value.
    start: bool,
    batch: Batch,
    /// The parameters of each row of the batch.
    maps: Vec<Map>,
    row: usize,
    /// The rest of the values for `row`, once the call is made.
    values: Option<Values>,
    size: usize,
}

impl CallOp {
    pub fn new(name: Name, parameters: ParametersOp, start: bool) -> Self {
        Self { name, parameters, start, batch: Batch::default(), maps: Vec::new(), row: 0, values: None, size: 1 }
    }

    /// Makes the call for the current row.
    fn call(&self, cx: &mut Context<'_, '_>) -> Result<Values> {
        let parameters = &self.maps[self.row];
        if &*self.name == LIST {
            return Ok(Box::new(cx.procedures().list(parameters).into_iter().map(Ok)));
        }
        cx.procedures().check(&self.name)?;
        let Some(procedure) = cx.procedures().get(&self.name).cloned() else { return Ok(Box::new(std::iter::empty())) };
        if let Some((stranger, near)) = procedure.unknown_parameter(parameters) {
            let hint = near.map(|near| format!("; did you mean `{near}`?")).unwrap_or_default();
            cx.warn(format!("the procedure `{}` has no parameter `{stranger}`{hint}", self.name));
        }
        let input = (!self.start).then(|| self.batch.value(self.row));
        let (limits, warnings) = (cx.shared.limits(), RefCell::default());
        let invocation = Invocation { graph: cx.view(), parameters, input: input.as_ref(), limits, warnings: &warnings };
        let called = procedure.call(&invocation);
        warnings.into_inner().into_iter().for_each(|warning| cx.warn(warning));
        // A procedure that honours the limits fails because of them, too.
        called.map_err(|failure| cx.check().err().unwrap_or_else(|| failed(&self.name, failure)))
    }

    /// The next value and its row.
    fn next_value(&mut self, cx: &mut Context<'_, '_>) -> Result<Option<(usize, Value)>> {
        while self.row < self.batch.len() {
            cx.check()?;
            let mut values = match self.values.take() {
                Some(values) => values,
                None => self.call(cx)?,
            };
            match values.next() {
                Some(value) => {
                    let value = value.map_err(|failure| failed(&self.name, failure))?;
                    self.values = Some(values);
                    return Ok(Some((self.row, value)));
                }
                None => self.row += 1,
            }
        }
        Ok(None)
    }
}

fn failed(name: &str, failure: Failure) -> QueryError {
    let message = format!("the procedure `{name}` failed: {failure}");
    // A query that a procedure runs shares the memory of the query that calls it.
    let (kind, help) = match failure.downcast_ref::<QueryError>() {
        Some(QueryError { kind: QueryErrorKind::Memory, help, .. }) => (QueryErrorKind::Memory, help.clone()),
        _ => (QueryErrorKind::Procedure, None),
    };
    QueryError { cause: Some(failure), help, ..QueryError::new(kind, message) }
}

impl Op for CallOp {
    fn next(&mut self, cx: &mut Context<'_, '_>, input: &mut dyn Input) -> Result<Option<Batch>> {
        loop {
            let mut moves = Moves::default();
            while moves.rows.len() < self.size
                && let Some((row, value)) = self.next_value(cx)?
            {
                moves.push(row, value);
            }
            if !moves.rows.is_empty() {
                self.size = (self.size * 2).min(VALUES_MAX);
                return Ok(Some(moves.finish(&self.batch, cx.mode())));
            }
            let Some(batch) = input.pull(cx)? else { return Ok(None) };
            self.maps = self.parameters.eval(cx, &batch, &self.name)?;
            (self.batch, self.row) = (batch, 0);
        }
    }

    fn reset(&mut self, _: usize) {
        self.batch = Batch::default();
        self.values = None;
        self.row = 0;
        self.size = 1;
    }
}
