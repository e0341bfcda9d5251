//! Who is told the progress of long work: the caller's callable, or a line on a terminal.

use pyo3::prelude::*;

/// The receiver that the caller wishes for, made of a class of `mangrovedb._progress` unless it is a callable.
pub fn receiver<'py>(py: Python<'py>, wish: Option<&Bound<'py, PyAny>>, class: &str) -> PyResult<Option<Bound<'py, PyAny>>> {
    let module = || py.import("mangrovedb._progress");
    let shown = match wish {
        Some(callable) if callable.is_callable() => return Ok(Some(callable.clone())),
        Some(wish) => wish.is_truthy()?,
        None => module()?.call_method0("on_a_terminal")?.is_truthy()?,
    };
    if shown { module()?.call_method0(class).map(Some) } else { Ok(None) }
}

/// Removes the line, if there is one.
pub fn close(receiver: Option<Bound<'_, PyAny>>) -> PyResult<()> {
    if let Some(close) = receiver.and_then(|receiver| receiver.getattr("close").ok()) {
        close.call0()?;
    }
    Ok(())
}
