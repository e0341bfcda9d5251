//! The schema of a graph: labels, keys, and the types seen or declared for each.
//!
//! The schema grows as data arrives. A declaration fixes the type and cardinality of a label's key. Names are interned: vertex
//! labels, edge labels and property keys each have a sequence of ids that only grows. Copying a schema takes O(1), a change O(log
//! n).

use std::collections::HashSet;
use std::sync::Arc;

use rpds::{RedBlackTreeMapSync, RedBlackTreeSetSync};
use serde::{Deserialize, Serialize};

use crate::id::{ElementKind, IdSpace, KeyId, LabelId};
use crate::names::{HasName, Names};
use crate::predicate::Predicate;
use crate::value::{Value, ValueType};

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Schema {
    pub id_space: IdSpace,
    pub vertex_labels: Names<LabelSchema>,
    pub edge_labels: Names<LabelSchema>,
    pub keys: Names<Arc<str>>,
    pub indexes: Vec<IndexSchema>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LabelSchema {
    pub name: Arc<str>,
    /// Keys of this label, by id.
    pub properties: Properties,
    /// Vertex labels: the further labels that some vertices carry beside this one.
    pub further: RedBlackTreeSetSync<LabelId>,
    /// Edge labels: the (source, target) labels that the edges join.
    pub ends: RedBlackTreeSetSync<(LabelId, LabelId)>,
    /// Edge labels: the key whose value orders a vertex's edges.
    pub time: Option<KeyId>,
    /// Vertex labels: the key whose value is the external id. The store keeps the value once, as the id.
    pub key: Option<KeyId>,
}

impl LabelSchema {
    pub fn new(name: impl Into<Arc<str>>) -> Self {
        let (further, ends) = (RedBlackTreeSetSync::new_sync(), RedBlackTreeSetSync::new_sync());
        Self { name: name.into(), properties: Properties::default(), further, ends, time: None, key: None }
    }

    pub fn property(&self, key: KeyId) -> Option<&PropertySchema> {
        self.properties.0.get(&key)
    }

    /// The properties with stored values or declarations.
    pub fn known_properties(&self) -> impl Iterator<Item = &PropertySchema> {
        let is_special = |key: KeyId| self.key == Some(key) || self.time == Some(key);
        self.properties.iter().filter(move |property| !property.is_blank() || is_special(property.key))
    }

    /// The entry of `key`; adds it if it is new.
    pub fn property_mut(&mut self, key: KeyId) -> &mut PropertySchema {
        let properties = &mut self.properties.0;
        if !properties.contains_key(&key) {
            properties.insert_mut(key, PropertySchema::new(key));
        }
        properties.get_mut(&key).expect("it was just made")
    }
}

impl HasName for LabelSchema {
    fn name(&self) -> &Arc<str> {
        &self.name
    }
}

/// The properties of a label, in the order of their keys' ids.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Properties(RedBlackTreeMapSync<KeyId, PropertySchema>);

impl Properties {
    pub fn len(&self) -> usize {
        self.0.size()
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &PropertySchema> + ExactSizeIterator {
        self.0.values()
    }

    pub fn keys(&self) -> impl DoubleEndedIterator<Item = KeyId> + ExactSizeIterator {
        self.0.keys().copied()
    }

    /// Sets the entry of the property's key.
    pub fn put(&mut self, property: PropertySchema) {
        self.0.insert_mut(property.key, property);
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PropertySchema {
    pub key: KeyId,
    pub types: TypeSet,
    pub cardinality: Cardinality,
    /// Some value of the property has properties of its own.
    pub has_meta: bool,
    /// The type that writes must conform to.
    pub declared: Option<ValueType>,
    /// Every element of the label must have it.
    pub required: bool,
    /// How the compressed form stores it.
    pub encoding: Encoding,
}

impl PropertySchema {
    pub fn new(key: KeyId) -> Self {
        Self {
            key,
            types: TypeSet::default(),
            cardinality: Cardinality::Single,
            has_meta: false,
            declared: None,
            required: false,
            encoding: Encoding::Auto,
        }
    }

    /// Whether nothing is stored or declared any more. A dropped property stays blank, because a file may still hold old cells of
    /// it.
    pub fn is_blank(&self) -> bool {
        *self == Self::new(self.key)
    }

    /// Whether its declarations allow it to be an external id.
    pub fn may_be_id(&self) -> bool {
        const IDS: [ValueType; 3] = [ValueType::Int64, ValueType::String, ValueType::Uuid];
        self.cardinality == Cardinality::Single && self.declared.is_none_or(|declared| IDS.contains(&declared))
    }
}

impl Schema {
    /// Whether the store can search any property of this kind of element: a key, an indexed one, or one that is searchable in
    /// compressed form.
    pub fn finds(&self, kind: ElementKind) -> bool {
        let is_searchable = |property: &PropertySchema| matches!(property.encoding, Encoding::Searchable { .. });
        self.indexes.iter().any(|index| index.of.kind == kind)
            || self.labels(kind).iter().any(|label| label.key.is_some())
            || self.labels(kind).iter().flat_map(|label| label.properties.iter()).any(is_searchable)
    }

    /// Whether a search for this property answers a predicate; `None` if only the stores can tell.
    pub fn is_searchable(&self, of: PropertyId, predicate: &Predicate) -> Option<bool> {
        let is_id = self.is_key(of.kind, of.label, of.key) && predicate.external_ids().is_some();
        if is_id || self.index(of).is_some() && predicate.is_answered_by_index() {
            return Some(true);
        }
        let encoding = self.property(of).map(|property| property.encoding).unwrap_or_default();
        if matches!(encoding, Encoding::Searchable { .. }) { None } else { Some(false) }
    }

    /// The most elements that can match a predicate, if it lists ids, or values that are unique. Many elements may share null.
    pub fn matches_max(&self, of: PropertyId, predicate: &Predicate) -> Option<u64> {
        let is_unique = self.index(of).is_some_and(|index| index.unique) || self.is_key(of.kind, of.label, of.key);
        let values = predicate.listed().filter(|values| is_unique && !values.contains(&Value::Null))?;
        Some(values.len() as u64)
    }

    /// Whether this property is the external id of its elements.
    pub fn is_key(&self, kind: ElementKind, label: LabelId, key: KeyId) -> bool {
        kind == ElementKind::Vertex && self.label_schema(kind, label).is_some_and(|label| label.key == Some(key))
    }
}

/// What a user declares about a property of a label.
#[derive(Clone, Copy, Debug, Default)]
pub struct Declaration {
    /// `None` leaves the type open.
    pub value_type: Option<ValueType>,
    pub cardinality: Cardinality,
    /// No two elements share a value. `None` leaves it unchanged.
    pub unique: Option<bool>,
    /// Every element of the label must have it. `None` leaves it unchanged.
    pub required: Option<bool>,
}

/// How the compressed form stores the values of a property.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default, Serialize, Deserialize)]
pub enum Encoding {
    /// The form that takes the least room and can be read in place.
    #[default]
    Auto,
    /// Each value by itself.
    Plain,
    /// Each distinct value once, sorted, and a code for each cell.
    Dictionary,
    /// Text by a table of frequent substrings.
    Symbols,
    /// Text as a compressed suffix array, which finds any substring without an index. The array keeps one position in
    /// 2^`sampling_log2`. A smaller value makes searches faster and takes more room.
    Searchable { sampling_log2: u8 },
}

impl Encoding {
    /// The names of the encodings. A sampling may follow the last one: `searchable:64`.
    pub const NAMES: [&'static str; 5] = ["auto", "plain", "dictionary", "symbols", "searchable"];
    const SAMPLING_LOG2: u8 = 5;
    const SAMPLING_LOG2_MAX: u8 = 15;

    /// The encoding of that name; `None` if there is none.
    pub fn parse(name: &str) -> Option<Self> {
        Some(match name {
            "auto" => Encoding::Auto,
            "plain" => Encoding::Plain,
            "dictionary" => Encoding::Dictionary,
            "symbols" => Encoding::Symbols,
            "searchable" => Encoding::Searchable { sampling_log2: Self::SAMPLING_LOG2 },
            other => {
                let sampling: u64 = other.strip_prefix("searchable:")?.parse().ok()?;
                let is_possible = sampling.is_power_of_two() && sampling.ilog2() <= u32::from(Self::SAMPLING_LOG2_MAX);
                is_possible.then(|| Encoding::Searchable { sampling_log2: sampling.ilog2() as u8 })?
            }
        })
    }

    /// The encoding as one byte, for stores.
    pub fn code(self) -> u8 {
        match self {
            Encoding::Auto => 0,
            Encoding::Plain => 1,
            Encoding::Dictionary => 2,
            Encoding::Symbols => 3,
            Encoding::Searchable { sampling_log2 } => 4 | sampling_log2.min(Self::SAMPLING_LOG2_MAX) << 3,
        }
    }

    pub fn from_code(code: u8) -> Option<Self> {
        match (code & 7, code >> 3) {
            (0, 0) => Some(Encoding::Auto),
            (1, 0) => Some(Encoding::Plain),
            (2, 0) => Some(Encoding::Dictionary),
            (3, 0) => Some(Encoding::Symbols),
            (4, sampling_log2 @ 0..=Self::SAMPLING_LOG2_MAX) => Some(Encoding::Searchable { sampling_log2 }),
            _ => None,
        }
    }
}

impl std::fmt::Display for Encoding {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Encoding::Searchable { sampling_log2 } if *sampling_log2 != Self::SAMPLING_LOG2 => {
                write!(f, "searchable:{}", 1u64 << sampling_log2)
            }
            other => f.write_str(Self::NAMES[usize::from(other.code() & 7)]),
        }
    }
}

/// How many values a vertex has of one key.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Default, Serialize, Deserialize)]
pub enum Cardinality {
    #[default]
    Single,
    List,
    /// Several distinct values.
    Set,
}

impl Cardinality {
    pub fn name(self) -> &'static str {
        match self {
            Cardinality::Single => "single",
            Cardinality::List => "list",
            Cardinality::Set => "set",
        }
    }
}

/// The types seen among the values of a key.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default, Serialize, Deserialize)]
pub struct TypeSet(pub u32);

impl TypeSet {
    pub fn insert(&mut self, t: ValueType) {
        self.0 |= 1 << t as u32;
    }

    pub fn contains(self, t: ValueType) -> bool {
        self.0 & 1 << t as u32 != 0
    }

    pub fn iter(self) -> impl Iterator<Item = ValueType> {
        ValueType::ALL_STORABLE.into_iter().filter(move |t| self.contains(*t))
    }

    /// Whether every value has a small, fixed size.
    pub fn is_narrow(self) -> bool {
        use ValueType::{Bool, Date, DateTime, Duration, Float32, Float64, Int8, Int16, Int32, Int64, Null};
        let is_narrow =
            |t| matches!(t, Null | Bool | Int8 | Int16 | Int32 | Int64 | Float32 | Float64 | Date | DateTime | Duration);
        self.iter().all(is_narrow)
    }

    /// The type of every non-null value, if there is only one.
    pub fn single(self) -> Option<ValueType> {
        let mut types = self.iter().filter(|t| *t != ValueType::Null);
        types.next().filter(|_| types.next().is_none())
    }
}

/// A property of the elements of one label.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Serialize, Deserialize)]
pub struct PropertyId {
    pub kind: ElementKind,
    pub label: LabelId,
    pub key: KeyId,
}

impl PropertyId {
    pub fn of_vertices(label: LabelId, key: KeyId) -> Self {
        Self { kind: ElementKind::Vertex, label, key }
    }

    pub fn of_edges(label: LabelId, key: KeyId) -> Self {
        Self { kind: ElementKind::Edge, label, key }
    }
}

/// A property index over the elements of one label.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct IndexSchema {
    pub of: PropertyId,
    /// No two elements share a value.
    pub unique: bool,
    /// In a graph of several shards, a directory says which of them may have a value.
    pub routed: bool,
}

impl IndexSchema {
    /// A plain index.
    pub fn new(of: PropertyId) -> Self {
        Self { of, unique: false, routed: false }
    }
}

impl Schema {
    pub fn labels(&self, kind: ElementKind) -> &Names<LabelSchema> {
        match kind {
            ElementKind::Vertex => &self.vertex_labels,
            ElementKind::Edge => &self.edge_labels,
        }
    }

    pub fn labels_mut(&mut self, kind: ElementKind) -> &mut Names<LabelSchema> {
        match kind {
            ElementKind::Vertex => &mut self.vertex_labels,
            ElementKind::Edge => &mut self.edge_labels,
        }
    }

    /// The labels of a kind that were not dropped, with their ids.
    pub fn known_labels(&self, kind: ElementKind) -> impl Iterator<Item = (LabelId, &LabelSchema)> {
        self.labels(kind).known().map(|(id, label)| (LabelId(id), label))
    }

    /// The keys that were not dropped.
    pub fn known_keys(&self) -> impl Iterator<Item = &Arc<str>> {
        self.keys.known().map(|(_, key)| key)
    }

    pub fn label(&self, kind: ElementKind, name: &str) -> Option<LabelId> {
        self.labels(kind).find(name).map(LabelId)
    }

    pub fn label_schema(&self, kind: ElementKind, id: LabelId) -> Option<&LabelSchema> {
        self.labels(kind).get(usize::from(id.0))
    }

    /// The name of a label; empty if the schema has no such label.
    pub fn label_name(&self, kind: ElementKind, id: LabelId) -> Arc<str> {
        self.label_schema(kind, id).map(|l| l.name.clone()).unwrap_or_default()
    }

    pub fn key(&self, name: &str) -> Option<KeyId> {
        self.keys.find(name).map(KeyId)
    }

    pub fn key_name(&self, id: KeyId) -> Arc<str> {
        self.keys.get(usize::from(id.0)).cloned().unwrap_or_default()
    }

    /// Whether a label knows a key, an index has it, or a property of a property may have it.
    pub fn has_use_of(&self, key: KeyId) -> bool {
        let knows = |label: &LabelSchema| {
            let property = label.property(key).is_some_and(|property| !property.is_blank());
            property || label.key == Some(key) || label.time == Some(key) || label.properties.iter().any(|p| p.has_meta)
        };
        self.indexes.iter().any(|index| index.of.key == key)
            || ElementKind::ALL.iter().any(|kind| self.labels(*kind).iter().any(knows))
    }

    /// The index of a property, if there is one.
    pub fn index(&self, of: PropertyId) -> Option<&IndexSchema> {
        self.indexes.iter().find(|index| index.of == of)
    }

    /// `user.email`, as messages name a property.
    pub fn property_name(&self, of: PropertyId) -> String {
        format!("{}.{}", self.label_name(of.kind, of.label), self.key_name(of.key))
    }

    /// Whether vertices of other labels may carry one of these labels beside their own. O(labels).
    pub fn are_carried_elsewhere(&self, labels: &[LabelId]) -> bool {
        let labels: HashSet<LabelId> = labels.iter().copied().collect();
        let others = (0..).map(LabelId).zip(self.vertex_labels.iter()).filter(|(at, _)| !labels.contains(at));
        others.flat_map(|(_, other)| &other.further).any(|further| labels.contains(further))
    }
}
