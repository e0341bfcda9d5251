//! The values a property holds and a traversal carries.
//!
//! One type serves both. A property can store the variants up to [`Value::Map`]. Later variants refer to elements of a graph or
//! come from queries; they only flow through a traversal. Cloning is cheap: values share everything larger than two words.
//!
//! TinkerPop's semantics has three notions of sameness:
//! * `==` and `Hash`: same type and content. `dedup`, `group` and map keys use it. `1` (int32) is not `1` (int64).
//! * [`compare::equals`](crate::compare::equals): `P.eq`. Numbers compare by value across types.
//! * [`compare::order`](crate::compare::order): a total order over all values. `order()` sorts by it.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use bigdecimal::{BigDecimal, ToPrimitive};
use num_bigint::BigInt;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::id::{Direction, EdgeRef, ElementId, KeyId, VertexId};
use crate::number;
use crate::time::{Date, DateTime, Duration};
use crate::wire;

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub enum Value {
    #[default]
    Null,
    Bool(bool),
    Int8(i8),
    Int16(i16),
    Int32(i32),
    Int64(i64),
    Float32(f32),
    Float64(f64),
    BigInt(#[serde(with = "wire::big_int")] Arc<BigInt>),
    Decimal(#[serde(with = "wire::decimal")] Arc<BigDecimal>),
    String(Arc<str>),
    Bytes(Arc<[u8]>),
    Uuid(Uuid),
    Date(Date),
    DateTime(DateTime),
    Duration(Duration),
    /// Numbers that all mean the same kind of thing, such as an embedding.
    Vector(Arc<[f32]>),
    List(#[serde(with = "wire::deeper")] Arc<Vec<Value>>),
    /// Distinct values in the order they came.
    Set(#[serde(with = "wire::deeper")] Arc<Vec<Value>>),
    Map(#[serde(with = "wire::deeper")] Arc<Map>),

    Vertex(VertexId),
    Edge(EdgeRef),
    VertexProperty(#[serde(with = "wire::deeper")] Arc<VertexProperty>),
    Property(#[serde(with = "wire::deeper")] Arc<Property>),
    Path(#[serde(with = "wire::deeper")] Arc<Path>),
    Tree(Arc<Tree>),
    Subgraph(Arc<Subgraph>),
    /// Values with the number of times each stands in the collection.
    BulkSet(#[serde(with = "wire::deeper")] Arc<Vec<(Value, u64)>>),
    /// One entry of a map.
    Entry(#[serde(with = "wire::deeper")] Arc<(Value, Value)>),
    Token(Token),
}

/// Names for parts of elements, such as the map keys of `elementMap` and `mergeE`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Serialize, Deserialize)]
pub enum Token {
    Id,
    Label,
    Key,
    Value,
    Direction(Direction),
    /// An end of an edge, among the options of `mergeE`.
    MergeEnd(Direction),
}

impl Token {
    /// The token that `T.id`, `Direction.OUT` or `Merge.outV` names.
    pub fn named(kind: &str, name: &str) -> Option<Self> {
        Some(match (kind, name) {
            ("T", "id") => Token::Id,
            ("T", "label") => Token::Label,
            ("T", "key") => Token::Key,
            ("T", "value") => Token::Value,
            ("Direction", "OUT" | "from") => Token::Direction(Direction::Out),
            ("Direction", "IN" | "to") => Token::Direction(Direction::In),
            ("Direction", "BOTH") => Token::Direction(Direction::Both),
            ("Merge", "outV") => Token::MergeEnd(Direction::Out),
            ("Merge", "inV") => Token::MergeEnd(Direction::In),
            _ => return None,
        })
    }

    pub fn name(self) -> &'static str {
        match self {
            Token::Id => "id",
            Token::Label => "label",
            Token::Key => "key",
            Token::Value => "value",
            Token::Direction(direction) => direction.name(),
            Token::MergeEnd(Direction::Out) => "outV",
            Token::MergeEnd(_) => "inV",
        }
    }
}

/// A property of a vertex, an element in its own right.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct VertexProperty {
    pub vertex: VertexId,
    pub key: KeyId,
    /// Distinguishes the values that one vertex has under one key.
    pub ordinal: u32,
    pub name: Arc<str>,
    pub value: Value,
}

/// A property of an edge, or of a vertex property.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Property {
    pub owner: PropertyOwner,
    pub key: KeyId,
    pub name: Arc<str>,
    pub value: Value,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum PropertyOwner {
    Edge(EdgeRef),
    VertexProperty(#[serde(with = "wire::deeper")] Arc<VertexProperty>),
}

/// Where a traverser has been: the objects, and the labels `as()` gave each.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
pub struct Path {
    pub objects: Vec<Value>,
    pub labels: Vec<Vec<Arc<str>>>,
}

/// Paths merged by their common prefixes.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
pub struct Tree(#[serde(with = "wire::deeper")] pub Vec<(Value, Tree)>);

/// A part of a graph. `vertices` includes every end of every edge.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
pub struct Subgraph {
    pub vertices: Vec<VertexId>,
    pub edges: Vec<EdgeRef>,
}

/// Entries in insertion order. Two maps are equal if they have the same entries in any order.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Map(Vec<(Value, Value)>);

impl Map {
    pub fn new() -> Self {
        Self::default()
    }

    /// The keys must be distinct.
    pub fn from_distinct(entries: Vec<(Value, Value)>) -> Self {
        Self(entries)
    }

    pub fn get(&self, key: &Value) -> Option<&Value> {
        self.0.iter().find(|(k, _)| k == key).map(|(_, v)| v)
    }

    pub fn get_str(&self, key: &str) -> Option<&Value> {
        self.0.iter().find(|(k, _)| matches!(k, Value::String(s) if &**s == key)).map(|(_, v)| v)
    }

    pub fn insert(&mut self, key: Value, value: Value) {
        match self.0.iter_mut().find(|(k, _)| *k == key) {
            Some(entry) => entry.1 = value,
            None => self.0.push((key, value)),
        }
    }

    pub fn iter(&self) -> impl ExactSizeIterator<Item = &(Value, Value)> + DoubleEndedIterator {
        self.0.iter()
    }

    pub fn len(&self) -> usize {
        self.0.len()
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// With more entries than this, a hash table finds keys faster than a scan.
const FEW: usize = 16;

/// If a key repeats, the last value wins and keeps the position of the first.
impl FromIterator<(Value, Value)> for Map {
    fn from_iter<I: IntoIterator<Item = (Value, Value)>>(entries: I) -> Self {
        let mut map = Self::new();
        let mut places = hashbrown::HashMap::new();
        for (key, value) in entries {
            if map.len() < FEW {
                map.insert(key, value);
                continue;
            }
            if places.is_empty() {
                places.extend(map.0.iter().enumerate().map(|(at, (key, _))| (key.clone(), at)));
            }
            match places.entry(key) {
                hashbrown::hash_map::Entry::Occupied(known) => map.0[*known.get()].1 = value,
                hashbrown::hash_map::Entry::Vacant(new) => {
                    map.0.push((new.key().clone(), value));
                    new.insert(map.0.len() - 1);
                }
            }
        }
        map
    }
}

impl PartialEq for Map {
    fn eq(&self, other: &Self) -> bool {
        if self.len() != other.len() {
            return false;
        }
        if self.len() <= FEW {
            return self.0.iter().all(|(k, v)| other.get(k) == Some(v));
        }
        let entries: hashbrown::HashMap<&Value, &Value> = other.0.iter().map(|(k, v)| (k, v)).collect();
        self.0.iter().all(|(k, v)| entries.get(k) == Some(&v))
    }
}

impl Eq for Map {}

impl Hash for Map {
    fn hash<H: Hasher>(&self, state: &mut H) {
        // The order of entries does not count.
        let sum = self.0.iter().fold(0u64, |sum, entry| {
            let mut hasher = std::collections::hash_map::DefaultHasher::new();
            entry.hash(&mut hasher);
            sum.wrapping_add(hasher.finish())
        });
        sum.hash(state);
    }
}

impl IntoIterator for Map {
    type Item = (Value, Value);
    type IntoIter = std::vec::IntoIter<(Value, Value)>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

/// The type of a value. Declarations and error messages use its name.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Serialize, Deserialize)]
#[repr(u8)]
pub enum ValueType {
    Null = 0,
    Bool,
    Int8,
    Int16,
    Int32,
    Int64,
    Float32,
    Float64,
    BigInt,
    Decimal,
    String,
    Bytes,
    Uuid,
    Date,
    DateTime,
    Duration,
    Vector,
    List,
    Set,
    Map,
    Vertex,
    Edge,
    VertexProperty,
    Property,
    Path,
    Tree,
    Subgraph,
    BulkSet,
    Entry,
    Token,
}

impl ValueType {
    pub const ALL_STORABLE: [ValueType; 20] = {
        use ValueType::*;
        [
            Null, Bool, Int8, Int16, Int32, Int64, Float32, Float64, BigInt, Decimal, String, Bytes, Uuid, Date, DateTime,
            Duration, Vector, List, Set, Map,
        ]
    };

    pub fn name(self) -> &'static str {
        use ValueType::*;
        match self {
            Null => "null",
            Bool => "bool",
            Int8 => "int8",
            Int16 => "int16",
            Int32 => "int32",
            Int64 => "int64",
            Float32 => "float",
            Float64 => "double",
            BigInt => "bigint",
            Decimal => "decimal",
            String => "string",
            Bytes => "bytes",
            Uuid => "uuid",
            Date => "date",
            DateTime => "datetime",
            Duration => "duration",
            Vector => "vector",
            List => "list",
            Set => "set",
            Map => "map",
            Vertex => "vertex",
            Edge => "edge",
            VertexProperty => "vertex property",
            Property => "property",
            Path => "path",
            Tree => "tree",
            Subgraph => "subgraph",
            BulkSet => "bulk set",
            Entry => "map entry",
            Token => "token",
        }
    }

    /// The type that a declaration names. Also accepts the names other systems use.
    pub fn from_name(name: &str) -> Option<Self> {
        use ValueType::*;
        Some(match name.trim().to_ascii_lowercase().as_str() {
            "bool" | "boolean" => Bool,
            "int8" | "byte" => Int8,
            "int16" | "short" => Int16,
            "int32" | "int" | "integer" => Int32,
            "int64" | "long" => Int64,
            "float" | "float32" => Float32,
            "double" | "float64" => Float64,
            "bigint" | "biginteger" => BigInt,
            "decimal" | "bigdecimal" => Decimal,
            "string" | "str" | "text" => String,
            "bytes" | "binary" => Bytes,
            "uuid" => Uuid,
            "date" => Date,
            "datetime" | "timestamp" | "localdatetime" => DateTime,
            "duration" => Duration,
            "vector" => Vector,
            "list" => List,
            "set" => Set,
            "map" => Map,
            _ => return None,
        })
    }

    /// The storable type with this discriminant.
    pub fn from_code(code: u8) -> Option<Self> {
        Self::ALL_STORABLE.get(usize::from(code)).copied()
    }

    pub fn is_storable(self) -> bool {
        self <= ValueType::Map
    }

    pub fn is_number(self) -> bool {
        (ValueType::Int8..=ValueType::Decimal).contains(&self)
    }

    pub fn is_integer(self) -> bool {
        (ValueType::Int8..=ValueType::Int64).contains(&self) || self == ValueType::BigInt
    }
}

impl fmt::Display for ValueType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// How deep collections may nest: in stored values, in parameters of queries and in their results.
pub const NESTING_MAX: usize = 64;

/// The double that equals this integer; `None` if there is none. Beyond 2^53 some integers have no equal double.
pub fn exact_double(int: i64) -> Option<f64> {
    let double = int as f64;
    (double as i128 == i128::from(int)).then_some(double)
}

/// A bulk set with more items than this is not expanded into a list.
const BULK_ITEMS_MAX: u64 = 1 << 24;

impl Value {
    pub fn string(text: impl AsRef<str>) -> Self {
        Value::String(text.as_ref().into())
    }

    pub fn list(items: Vec<Value>) -> Self {
        Value::List(Arc::new(items))
    }

    /// Keeps the first of equal items.
    pub fn set(items: impl IntoIterator<Item = Value>) -> Self {
        let mut seen = hashbrown::HashSet::new();
        Value::Set(Arc::new(items.into_iter().filter(|item| seen.insert(item.clone())).collect()))
    }

    pub fn map(map: Map) -> Self {
        Value::Map(Arc::new(map))
    }

    pub fn value_type(&self) -> ValueType {
        match self {
            Value::Null => ValueType::Null,
            Value::Bool(_) => ValueType::Bool,
            Value::Int8(_) => ValueType::Int8,
            Value::Int16(_) => ValueType::Int16,
            Value::Int32(_) => ValueType::Int32,
            Value::Int64(_) => ValueType::Int64,
            Value::Float32(_) => ValueType::Float32,
            Value::Float64(_) => ValueType::Float64,
            Value::BigInt(_) => ValueType::BigInt,
            Value::Decimal(_) => ValueType::Decimal,
            Value::String(_) => ValueType::String,
            Value::Bytes(_) => ValueType::Bytes,
            Value::Uuid(_) => ValueType::Uuid,
            Value::Date(_) => ValueType::Date,
            Value::DateTime(_) => ValueType::DateTime,
            Value::Duration(_) => ValueType::Duration,
            Value::Vector(_) => ValueType::Vector,
            Value::List(_) => ValueType::List,
            Value::Set(_) => ValueType::Set,
            Value::Map(_) => ValueType::Map,
            Value::Vertex(_) => ValueType::Vertex,
            Value::Edge(_) => ValueType::Edge,
            Value::VertexProperty(_) => ValueType::VertexProperty,
            Value::Property(_) => ValueType::Property,
            Value::Path(_) => ValueType::Path,
            Value::Tree(_) => ValueType::Tree,
            Value::Subgraph(_) => ValueType::Subgraph,
            Value::BulkSet(_) => ValueType::BulkSet,
            Value::Entry(_) => ValueType::Entry,
            Value::Token(_) => ValueType::Token,
        }
    }

    /// Whether a property can store the value and everything in it. Numbers beyond the bounds of [`number`] cannot be stored.
    pub fn is_storable(&self) -> bool {
        match self {
            Value::List(items) | Value::Set(items) => items.iter().all(Value::is_storable),
            Value::Map(map) => map.iter().all(|(k, v)| k.is_storable() && v.is_storable()),
            Value::BigInt(int) => number::check_int(int).is_ok(),
            Value::Decimal(decimal) => number::check_decimal(decimal).is_ok(),
            other => other.value_type().is_storable(),
        }
    }

    pub fn is_null(&self) -> bool {
        matches!(self, Value::Null)
    }

    pub fn is_number(&self) -> bool {
        self.value_type().is_number()
    }

    pub fn as_str(&self) -> Option<&str> {
        match self {
            Value::String(s) => Some(s),
            _ => None,
        }
    }

    pub fn as_bool(&self) -> Option<bool> {
        match self {
            Value::Bool(b) => Some(*b),
            _ => None,
        }
    }

    /// The value of an integer of any width, if it fits; `None` for fractions and for all other types.
    pub fn as_i64(&self) -> Option<i64> {
        match self {
            Value::Int8(i) => Some(i64::from(*i)),
            Value::Int16(i) => Some(i64::from(*i)),
            Value::Int32(i) => Some(i64::from(*i)),
            Value::Int64(i) => Some(*i),
            Value::BigInt(i) => i.to_i64(),
            _ => None,
        }
    }

    /// The position of this value in the time order of edges: an integer as it is, a date or date-time as microseconds since 1970.
    pub fn as_time(&self) -> Option<i64> {
        match self {
            Value::Date(date) => Some(i64::from(date.0).saturating_mul(86_400_000_000)),
            Value::DateTime(time) => Some(time.micros()),
            other => other.as_i64(),
        }
    }

    /// The nearest double of any number.
    pub fn as_f64(&self) -> Option<f64> {
        match self {
            Value::Float32(f) => Some(f64::from(*f)),
            Value::Float64(f) => Some(*f),
            Value::BigInt(i) => i.to_f64(),
            Value::Decimal(d) => d.to_f64(),
            other => other.as_i64().map(|i| i as f64),
        }
    }

    /// The vector with the numbers of a list; `None` if it is something else, or empty.
    pub fn to_vector(&self) -> Option<Value> {
        let Value::List(items) = self else { return None };
        let numbers: Vec<f32> = items.iter().map(|item| item.as_f64().map(|f| f as f32)).collect::<Option<_>>()?;
        (!numbers.is_empty()).then(|| Value::Vector(numbers.into()))
    }

    /// The items of a list, set, bulk set, path or vector, in order. `None` for a bulk set that is too large to list.
    pub fn items(&self) -> Option<Vec<Value>> {
        match self {
            Value::List(items) | Value::Set(items) => Some(items.to_vec()),
            Value::BulkSet(items) if items.iter().fold(0u64, |sum, (_, n)| sum.saturating_add(*n)) <= BULK_ITEMS_MAX => {
                Some(items.iter().flat_map(|(v, n)| std::iter::repeat_n(v, *n as usize)).cloned().collect())
            }
            Value::Path(path) => Some(path.objects.clone()),
            Value::Vector(items) => Some(items.iter().map(|f| Value::Float32(*f)).collect()),
            _ => None,
        }
    }

    pub fn element_id(&self) -> Option<ElementId> {
        match self {
            Value::Vertex(id) => Some(ElementId::Vertex(*id)),
            Value::Edge(edge) => Some(ElementId::Edge(edge.id)),
            _ => None,
        }
    }
}

impl PartialEq for Value {
    fn eq(&self, other: &Self) -> bool {
        use Value::*;
        match (self, other) {
            (Null, Null) => true,
            (Bool(a), Bool(b)) => a == b,
            (Int8(a), Int8(b)) => a == b,
            (Int16(a), Int16(b)) => a == b,
            (Int32(a), Int32(b)) => a == b,
            (Int64(a), Int64(b)) => a == b,
            (Float32(a), Float32(b)) => canonical32(*a) == canonical32(*b),
            (Float64(a), Float64(b)) => canonical64(*a) == canonical64(*b),
            (BigInt(a), BigInt(b)) => a == b,
            (Decimal(a), Decimal(b)) => a == b,
            (String(a), String(b)) => a == b,
            (Bytes(a), Bytes(b)) => a == b,
            (Uuid(a), Uuid(b)) => a == b,
            (Date(a), Date(b)) => a == b,
            (DateTime(a), DateTime(b)) => a == b,
            (Duration(a), Duration(b)) => a == b,
            (Vector(a), Vector(b)) => a.len() == b.len() && a.iter().zip(b.iter()).all(|(a, b)| a.to_bits() == b.to_bits()),
            (List(a), List(b)) => a == b,
            (Set(a), Set(b)) => a.len() == b.len() && a.iter().all(|item| b.contains(item)),
            (Map(a), Map(b)) => a == b,
            (Vertex(a), Vertex(b)) => a == b,
            (Edge(a), Edge(b)) => a.id == b.id,
            (VertexProperty(a), VertexProperty(b)) => (a.vertex, a.key, a.ordinal) == (b.vertex, b.key, b.ordinal),
            (Property(a), Property(b)) => a.name == b.name && a.value == b.value,
            (Path(a), Path(b)) => a == b,
            (Tree(a), Tree(b)) => a == b,
            (Subgraph(a), Subgraph(b)) => a == b,
            (BulkSet(a), BulkSet(b)) => a == b,
            (Entry(a), Entry(b)) => a == b,
            (Token(a), Token(b)) => a == b,
            _ => false,
        }
    }
}

impl Eq for Value {}

impl Hash for Value {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (self.value_type() as u8).hash(state);
        match self {
            Value::Null => {}
            Value::Bool(v) => v.hash(state),
            Value::Int8(v) => v.hash(state),
            Value::Int16(v) => v.hash(state),
            Value::Int32(v) => v.hash(state),
            Value::Int64(v) => v.hash(state),
            Value::Float32(v) => canonical32(*v).hash(state),
            Value::Float64(v) => canonical64(*v).hash(state),
            Value::BigInt(v) => v.hash(state),
            Value::Decimal(v) => v.normalized().hash(state),
            Value::String(v) => v.hash(state),
            Value::Bytes(v) => v.hash(state),
            Value::Uuid(v) => v.hash(state),
            Value::Date(v) => v.hash(state),
            Value::DateTime(v) => v.hash(state),
            Value::Duration(v) => v.hash(state),
            Value::Vector(v) => v.iter().for_each(|f| f.to_bits().hash(state)),
            Value::List(v) => v.hash(state),
            Value::Set(v) => v.len().hash(state),
            Value::Map(v) => v.hash(state),
            Value::Vertex(v) => v.hash(state),
            Value::Edge(v) => v.id.hash(state),
            Value::VertexProperty(v) => (v.vertex, v.key, v.ordinal).hash(state),
            Value::Property(v) => (&v.name, &v.value).hash(state),
            Value::Path(v) => v.hash(state),
            Value::Tree(v) => v.hash(state),
            Value::Subgraph(v) => v.hash(state),
            Value::BulkSet(v) => v.hash(state),
            Value::Entry(v) => v.hash(state),
            Value::Token(v) => v.hash(state),
        }
    }
}

/// All NaNs are one key.
fn canonical64(f: f64) -> u64 {
    if f.is_nan() { f64::NAN.to_bits() } else { f.to_bits() }
}

fn canonical32(f: f32) -> u32 {
    if f.is_nan() { f32::NAN.to_bits() } else { f.to_bits() }
}

/// The value as messages and plain text output show it. Elements show as `v[…]` and `e[…]` with internal ids: only a graph knows
/// their external ids.
impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Null => f.write_str("null"),
            Value::Bool(v) => write!(f, "{v}"),
            Value::Int8(v) => write!(f, "{v}"),
            Value::Int16(v) => write!(f, "{v}"),
            Value::Int32(v) => write!(f, "{v}"),
            Value::Int64(v) => write!(f, "{v}"),
            Value::Float32(v) => write!(f, "{}", float_text(f64::from(*v), v.to_string())),
            Value::Float64(v) => write!(f, "{}", float_text(*v, v.to_string())),
            Value::BigInt(v) => write!(f, "{v}"),
            Value::Decimal(v) => f.write_str(&number::text(v)),
            Value::String(v) => f.write_str(v),
            Value::Bytes(v) => v.iter().try_for_each(|b| write!(f, "{b:02x}")),
            Value::Uuid(v) => write!(f, "{v}"),
            Value::Date(v) => write!(f, "{v}"),
            Value::DateTime(v) => write!(f, "{v}"),
            Value::Duration(v) => write!(f, "{v}"),
            Value::Vector(v) => write!(f, "{v:?}"),
            Value::List(v) => write_items(f, "[", v.iter(), "]"),
            Value::Set(v) => write_items(f, "{", v.iter(), "}"),
            Value::Map(v) => write_entries(f, v.iter().map(|(k, v)| (k, v))),
            Value::Vertex(v) => write!(f, "v[{}:{}]", v.label().0, v.place()),
            Value::Edge(v) => write!(f, "e[{}:{}]", v.id.label().0, v.id.place()),
            Value::VertexProperty(v) => write!(f, "vp[{}->{}]", v.name, v.value),
            Value::Property(v) => write!(f, "p[{}->{}]", v.name, v.value),
            Value::Path(v) => write_items(f, "path[", v.objects.iter(), "]"),
            Value::Tree(v) => write_tree(f, v),
            Value::Subgraph(v) => write!(f, "graph[vertices:{} edges:{}]", v.vertices.len(), v.edges.len()),
            Value::BulkSet(_) => write_items(f, "[", self.items().unwrap_or_default().iter(), "]"),
            Value::Entry(v) => write!(f, "{}={}", v.0, v.1),
            Value::Token(v) => f.write_str(v.name()),
        }
    }
}

fn float_text(value: f64, plain: String) -> String {
    if value.is_infinite() {
        return if value > 0.0 { "Infinity".into() } else { "-Infinity".into() };
    }
    if value.is_finite() && !plain.contains(['.', 'e']) { plain + ".0" } else { plain }
}

fn write_items<'a>(
    f: &mut fmt::Formatter<'_>,
    open: &str,
    items: impl Iterator<Item = &'a Value>,
    close: &str,
) -> fmt::Result {
    f.write_str(open)?;
    for (i, item) in items.enumerate() {
        write!(f, "{}{item}", if i > 0 { ", " } else { "" })?;
    }
    f.write_str(close)
}

fn write_entries<'a>(f: &mut fmt::Formatter<'_>, entries: impl Iterator<Item = (&'a Value, &'a Value)>) -> fmt::Result {
    f.write_str("{")?;
    for (i, (key, value)) in entries.enumerate() {
        write!(f, "{}{key}={value}", if i > 0 { ", " } else { "" })?;
    }
    f.write_str("}")
}

fn write_tree(f: &mut fmt::Formatter<'_>, tree: &Tree) -> fmt::Result {
    f.write_str("{")?;
    for (i, (key, below)) in tree.0.iter().enumerate() {
        write!(f, "{}{key}=", if i > 0 { ", " } else { "" })?;
        write_tree(f, below)?;
    }
    f.write_str("}")
}

macro_rules! value_from {
    ($($type:ty => $variant:ident),* $(,)?) => {
        $(impl From<$type> for Value {
            fn from(value: $type) -> Self {
                Value::$variant(value.into())
            }
        })*
    };
}

value_from!(
    bool => Bool, i8 => Int8, i16 => Int16, i32 => Int32, i64 => Int64, f32 => Float32, f64 => Float64,
    &str => String, String => String, Arc<str> => String, Uuid => Uuid, Date => Date, DateTime => DateTime,
    Duration => Duration, BigInt => BigInt, BigDecimal => Decimal, VertexId => Vertex, EdgeRef => Edge, Token => Token,
    Map => Map, Path => Path, Vec<Value> => List,
);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_stays_small() {
        assert!(size_of::<Value>() <= 32, "{}", size_of::<Value>());
    }

    #[test]
    fn identity_is_by_type_and_content() {
        assert_ne!(Value::Int32(1), Value::Int64(1));
        assert_eq!(Value::Float64(f64::NAN), Value::Float64(-f64::NAN));
        assert_eq!(Value::set([Value::Int32(1), Value::Int32(2), Value::Int32(1)]), Value::set([2.into(), 1.into()]));
        let map = |pairs: [(&str, i32); 2]| {
            Value::map(Map::from_distinct(pairs.iter().map(|(k, v)| ((*k).into(), (*v).into())).collect()))
        };
        assert_eq!(map([("a", 1), ("b", 2)]), map([("b", 2), ("a", 1)]));
    }

    #[test]
    fn only_plain_values_can_be_stored() {
        assert!(Value::list(vec![1.into(), "x".into()]).is_storable());
        assert!(!Value::list(vec![Value::Vertex(VertexId(0))]).is_storable());
    }

    #[test]
    fn maps_of_any_size_keep_the_last_value_in_the_first_place() {
        for size in [3i64, 40] {
            let entries = || (0..size).chain([1]).enumerate().map(|(at, key)| (Value::from(key), Value::from(at as i64)));
            let map: Map = entries().collect();
            let mut inserted = Map::new();
            entries().for_each(|(key, value)| inserted.insert(key, value));
            assert_eq!(map, inserted);
            let keys: Vec<Value> = map.iter().map(|(key, _)| key.clone()).collect();
            assert_eq!(keys, (0..size).map(Value::from).collect::<Vec<_>>());
            assert_eq!(map.get(&1i64.into()), Some(&size.into()));
            let backwards: Map = map.iter().rev().cloned().collect();
            assert_eq!(map, backwards);
            assert_ne!(map, (0..size).map(|key| (key.into(), 7i64.into())).collect());
        }
    }

    #[test]
    fn type_names_round_trip() {
        for t in ValueType::ALL_STORABLE.into_iter().skip(1) {
            assert_eq!(ValueType::from_name(t.name()), Some(t));
            assert_eq!(ValueType::from_code(t as u8), Some(t));
        }
    }
}
