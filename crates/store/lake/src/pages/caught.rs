//! Calls of the parquet crate, which panics on some damaged files.

use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::error::{LakeError, Result};

/// What `decode` gives; a panic is an error that names the file.
pub fn caught<T>(name: impl FnOnce() -> std::sync::Arc<str>, decode: impl FnOnce() -> Result<T>) -> Result<T> {
    // What the call has changed is dropped with it.
    let outcome = catch_unwind(AssertUnwindSafe(decode));
    outcome.unwrap_or_else(|_| Err(LakeError::damaged(&name(), "it is damaged in a way that its decoder does not expect")))
}
