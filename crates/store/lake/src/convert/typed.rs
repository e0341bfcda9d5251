//! Texts as values of a declared type.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Float32Type;
use arrow_array::{Array, ArrayRef, StringArray};
use arrow_cast::{CastOptions, cast_with_options};
use arrow_schema::{ArrowError, DataType, Field};

/// The texts of a column as its values. Fails with the first text that is none; `place` says where a row is.
pub fn typed(texts: &StringArray, column: &Field, place: impl Fn(usize) -> String) -> Result<ArrayRef, ArrowError> {
    let wanted = column.data_type();
    if *wanted == DataType::Utf8 {
        return Ok(Arc::new(texts.clone()));
    }
    let values = cast_with_options(texts, wanted, &CastOptions { safe: true, ..CastOptions::default() })?;
    // What could not be read became no value, or is infinite.
    let is_lost = |row: &usize| {
        let text = if texts.is_valid(*row) { texts.value(*row) } else { return false };
        match values.as_primitive_opt::<Float32Type>().filter(|values| values.is_valid(*row)) {
            Some(values) => values.value(*row).is_infinite() && text.bytes().any(|byte| byte.is_ascii_digit()),
            None => values.is_null(*row) && !text.is_empty(),
        }
    };
    match (0..texts.len()).find(is_lost) {
        Some(row) => {
            let (place, text, name) = (place(row), texts.value(row), column.name());
            Err(ArrowError::ParseError(format!("{place}: `{text}` in column `{name}` is no {wanted}")))
        }
        None => Ok(values),
    }
}
