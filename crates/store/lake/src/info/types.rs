//! The types of properties, as GraphAr names them.

use std::fmt;

use arrow_schema::TimeUnit;
use mangrove_graph::ValueType;

/// The type of a property's values.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Scalar {
    Bool,
    Int32,
    Int64,
    Float,
    Double,
    String,
    Date,
    Timestamp,
}

/// The type of a property.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DataType {
    One(Scalar),
    List(Scalar),
}

impl Scalar {
    const NAMED: [(&'static str, Scalar); 8] = [
        ("bool", Scalar::Bool),
        ("int32", Scalar::Int32),
        ("int64", Scalar::Int64),
        ("float", Scalar::Float),
        ("double", Scalar::Double),
        ("string", Scalar::String),
        ("date", Scalar::Date),
        ("timestamp", Scalar::Timestamp),
    ];

    fn from_name(name: &str) -> Option<Self> {
        Self::NAMED.iter().find(|(known, _)| *known == name).map(|(_, scalar)| *scalar)
    }

    fn name(self) -> &'static str {
        Self::NAMED.iter().find(|(_, scalar)| *scalar == self).map_or("", |(name, _)| name)
    }

    /// The type in files that holds all values of a type; `None` if none does.
    pub fn of(t: ValueType) -> Option<Self> {
        Some(match t {
            ValueType::Bool => Scalar::Bool,
            ValueType::Int8 | ValueType::Int16 | ValueType::Int32 => Scalar::Int32,
            ValueType::Int64 => Scalar::Int64,
            ValueType::Float32 => Scalar::Float,
            ValueType::Float64 => Scalar::Double,
            ValueType::String | ValueType::Uuid => Scalar::String,
            ValueType::Date => Scalar::Date,
            ValueType::DateTime => Scalar::Timestamp,
            _ => return None,
        })
    }

    /// The type that values of the property have in a graph.
    pub fn value_type(self) -> ValueType {
        match self {
            Scalar::Bool => ValueType::Bool,
            Scalar::Int32 => ValueType::Int32,
            Scalar::Int64 => ValueType::Int64,
            Scalar::Float => ValueType::Float32,
            Scalar::Double => ValueType::Float64,
            Scalar::String => ValueType::String,
            Scalar::Date => ValueType::Date,
            Scalar::Timestamp => ValueType::DateTime,
        }
    }

    /// The Arrow type in files. GraphAr's own library reads times in milliseconds.
    pub fn arrow_type(self) -> arrow_schema::DataType {
        match self {
            Scalar::Bool => arrow_schema::DataType::Boolean,
            Scalar::Int32 => arrow_schema::DataType::Int32,
            Scalar::Int64 => arrow_schema::DataType::Int64,
            Scalar::Float => arrow_schema::DataType::Float32,
            Scalar::Double => arrow_schema::DataType::Float64,
            Scalar::String => arrow_schema::DataType::Utf8,
            Scalar::Date => arrow_schema::DataType::Date32,
            Scalar::Timestamp => arrow_schema::DataType::Timestamp(TimeUnit::Millisecond, None),
        }
    }
}

impl DataType {
    /// The names that files use, for messages.
    pub const NAMES: &'static str = "bool, int32, int64, float, double, string, date, timestamp or list<…>";

    pub fn from_name(name: &str) -> Option<Self> {
        match name.strip_prefix("list<").and_then(|rest| rest.strip_suffix('>')) {
            Some(item) => Scalar::from_name(item).map(DataType::List),
            None => Scalar::from_name(name).map(DataType::One),
        }
    }
}

impl fmt::Display for DataType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            DataType::One(scalar) => f.write_str(scalar.name()),
            DataType::List(scalar) => write!(f, "list<{}>", scalar.name()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_lead_to_types_and_back() {
        for (name, scalar) in Scalar::NAMED {
            assert_eq!(DataType::from_name(name), Some(DataType::One(scalar)));
            let list = format!("list<{name}>");
            assert_eq!(DataType::from_name(&list).map(|t| t.to_string()), Some(list));
        }
        for other in ["", "int8", "list<", "list<list<int64>>", "list<int64", "Int64"] {
            assert_eq!(DataType::from_name(other), None, "{other}");
        }
    }
}
