//! Keys and values of maps, entries and paths.

use mangrove_graph::Value;

use crate::error::Result;
use crate::execute::data::words::type_error;
use crate::plan::{Column, Name};

/// The keys or the values of a map, an entry, or a path.
pub fn column_of(value: &Value, column: Column) -> Result<Value> {
    Ok(match (value, column) {
        (Value::Map(map), Column::Keys) => Value::set(map.iter().map(|(k, _)| k.clone())),
        (Value::Map(map), Column::Values) => Value::list(map.iter().map(|(_, v)| v.clone()).collect()),
        (Value::Entry(entry), Column::Keys) => entry.0.clone(),
        (Value::Entry(entry), Column::Values) => entry.1.clone(),
        (Value::Path(path), Column::Keys) => {
            let labels = |l: &Vec<Name>| Value::set(l.iter().cloned().map(Value::String));
            Value::list(path.labels.iter().map(labels).collect())
        }
        (Value::Path(path), Column::Values) => Value::list(path.objects.clone()),
        (other, _) => return Err(type_error("a column", "maps, entries and paths", other)),
    })
}
