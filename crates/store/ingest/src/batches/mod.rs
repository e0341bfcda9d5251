//! What every reader gives: batches of rows in columns, and elements.

pub mod column;
pub mod elements;
pub mod rows;
pub mod typed_json;
