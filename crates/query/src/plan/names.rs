//! Names of steps, checked as soon as a query is read.

use crate::error::{QueryError, Result};
use crate::gremlin::error::suggest;
use crate::gremlin::steps::STEPS;
use crate::gremlin::syntax::{Argument, ArgumentKind, Traversal};

/// Fails on the first call whose name Gremlin does not know, with the nearest that it does.
pub fn check_names(traversal: &Traversal) -> Result<()> {
    for call in &traversal.calls {
        if !STEPS.iter().any(|step| step.name == call.name) {
            let error = QueryError::step(format!("unknown step `{}`", call.name)).at(call.name_span);
            return Err(match suggest(&call.name, STEPS.iter().map(|step| step.name)) {
                Some(near) => error.help(format!("did you mean `{near}`?")),
                None => error,
            });
        }
        call.args.iter().try_for_each(check_argument)?;
    }
    Ok(())
}

fn check_argument(argument: &Argument) -> Result<()> {
    match &argument.kind {
        ArgumentKind::Traversal(traversal) => check_names(traversal),
        ArgumentKind::List(items) | ArgumentKind::Set(items) => items.iter().try_for_each(check_argument),
        ArgumentKind::Map(entries) => entries.iter().try_for_each(|(_, value)| check_argument(value)),
        _ => Ok(()),
    }
}
