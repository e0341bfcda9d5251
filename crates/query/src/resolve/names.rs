//! Checks the names of steps as soon as a query is read.

use std::ops::ControlFlow;

use crate::diagnostics::suggest;
use crate::error::{QueryError, Result};
use crate::gremlin::names::{PREDICATES, TEXT_PREDICATES};
use crate::gremlin::steps::STEPS;
use crate::gremlin::syntax::{Call, TraversalSyntax};

/// Fails at the first call that Gremlin does not know, and suggests the nearest name.
pub fn check_names(traversal: &TraversalSyntax) -> Result<()> {
    let check = &mut |call: &Call, _: &[Call]| match STEPS.iter().any(|step| step.name == call.name) {
        true => ControlFlow::Continue(()),
        false => ControlFlow::Break(unknown(call)),
    };
    match traversal.for_each_call(check) {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(error) => Err(error),
    }
}

fn unknown(call: &Call) -> QueryError {
    let predicates = PREDICATES.into_iter().chain(TEXT_PREDICATES);
    let error = QueryError::step(format!("unknown step `{}`", call.name)).at(call.name_span);
    match suggest(&call.name, STEPS.iter().map(|step| step.name).chain(predicates)) {
        Some(near) => error.help(format!("did you mean `{near}`?")),
        None => error.help("`mangrove docs gremlin` lists the steps"),
    }
}
