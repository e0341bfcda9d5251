//! Types of results, as far as columns depend on them. A value of a type may always be null.

use std::collections::BTreeSet;

use mangrove_graph::{ElementKind, LabelId, LabelSchema, Schema, Value};

use crate::plan::Name;

#[derive(Clone, Debug, PartialEq)]
pub enum Type {
    /// No value but null.
    Nothing,
    /// Numbers, texts, times and the like.
    Scalar,
    Any,
    Elements(ElementTypes),
    /// Properties of elements.
    Property(ElementTypes),
    /// Maps with these keys. A map may lack some of them.
    Map {
        keys: Vec<(Value, Type)>,
        /// Where a map has both `T.id` and the property `id`, they are equal.
        id_is_key: bool,
    },
    /// Maps whose keys are values of the graph.
    Groups {
        entry: Box<(Type, Type)>,
        /// There is one such map.
        alone: bool,
    },
    /// An entry of a map.
    Entry(Box<(Type, Type)>),
    /// Lists, sets and paths of such items.
    List(Box<Type>),
}

/// The labels that vertices and edges may have; `None` if there are no such elements.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ElementTypes {
    pub vertices: Option<Labels>,
    pub edges: Option<Labels>,
}

/// Primary labels.
#[derive(Clone, Debug, PartialEq)]
pub enum Labels {
    Known(BTreeSet<LabelId>),
    All,
}

/// A type that holds more collections may be any type inside another. Otherwise types could double in size with each step.
const COLLECTIONS_MAX: usize = 64;

impl Type {
    pub fn list(items: Type) -> Self {
        Type::List(Box::new(items.of_many().inside()))
    }

    pub fn map(keys: Vec<(Value, Type)>) -> Self {
        Type::Map { keys: keys.into_iter().map(|(key, value)| (key, value.inside())).collect(), id_is_key: false }
    }

    pub fn groups(entry: (Type, Type), alone: bool) -> Self {
        Type::Groups { entry: Box::new((entry.0.inside(), entry.1.inside())), alone }
    }

    fn entry(entry: (Type, Type)) -> Self {
        Type::Entry(Box::new((entry.0.inside(), entry.1.inside())))
    }

    /// The type as a part of another.
    fn inside(self) -> Self {
        if self.collections() < COLLECTIONS_MAX { self } else { Type::Any }
    }

    /// The number of collections in it, itself included.
    fn collections(&self) -> usize {
        match self {
            Type::Nothing | Type::Scalar | Type::Any | Type::Elements(_) | Type::Property(_) => 0,
            Type::List(items) => 1 + items.collections(),
            Type::Entry(entry) | Type::Groups { entry, .. } => 1 + entry.0.collections() + entry.1.collections(),
            Type::Map { keys, .. } => 1 + keys.iter().map(|(_, value)| value.collections()).sum::<usize>(),
        }
    }

    /// The type of a value in the query.
    pub fn of(value: &Value) -> Self {
        match value {
            Value::Null => Type::Nothing,
            Value::Vertex(_) => Type::Elements(ElementTypes { vertices: Some(Labels::All), edges: None }),
            Value::Edge(_) => Type::Elements(ElementTypes { vertices: None, edges: Some(Labels::All) }),
            Value::Map(map) => Type::map(map.iter().map(|(key, value)| (key.clone(), Type::of(value))).collect()),
            Value::Entry(entry) => Type::entry((Type::of(&entry.0), Type::of(&entry.1))),
            Value::VertexProperty(_) | Value::Property(_) | Value::Tree(_) | Value::Path(_) => Type::Any,
            _ => match value.items() {
                Some(items) => Type::list(items.iter().map(Type::of).fold(Type::Nothing, Type::or)),
                None => Type::Scalar,
            },
        }
    }

    /// The type of values that have one type or the other.
    pub fn or(self, other: Type) -> Type {
        match (self, other) {
            (Type::Nothing, other) | (other, Type::Nothing) => other,
            (Type::Scalar, Type::Scalar) => Type::Scalar,
            (Type::Elements(one), Type::Elements(other)) => Type::Elements(one.or(other)),
            (Type::Property(one), Type::Property(other)) => Type::Property(one.or(other)),
            (Type::List(one), Type::List(other)) => Type::list(one.or(*other)),
            (Type::Entry(one), Type::Entry(other)) => Type::entry(both(*one, *other)),
            (Type::Groups { entry: one, .. }, Type::Groups { entry: other, .. }) => Type::groups(both(*one, *other), false),
            (Type::Map { mut keys, id_is_key: one }, Type::Map { keys: more, id_is_key: other }) => {
                for (key, value) in more {
                    match keys.iter_mut().find(|(known, _)| *known == key) {
                        Some((_, known)) => *known = std::mem::replace(known, Type::Nothing).or(value).inside(),
                        None => keys.push((key, value)),
                    }
                }
                Type::Map { keys, id_is_key: one && other }
            }
            _ => Type::Any,
        }
    }

    /// What `unfold()` gives.
    pub fn unfolded(self) -> Type {
        match self {
            Type::List(items) => *items,
            Type::Groups { entry, .. } => Type::Entry(entry),
            Type::Map { keys, .. } => {
                let values = keys.into_iter().map(|(_, value)| value).fold(Type::Nothing, Type::or);
                Type::entry((Type::Scalar, values))
            }
            other => other,
        }
    }

    /// The value under a string key, if it can only be one of a map.
    pub fn under(&self, name: &str) -> Option<Type> {
        match self {
            Type::Map { keys, .. } => {
                keys.iter().find(|(key, _)| key.as_str() == Some(name)).map(|(_, value)| value.clone())
            }
            Type::Any => Some(Type::Any),
            _ => None,
        }
    }

    /// The same, where several values have this type.
    pub fn of_many(mut self) -> Type {
        if let Type::Groups { alone, .. } = &mut self {
            *alone = false;
        }
        self
    }
}

fn both(one: (Type, Type), other: (Type, Type)) -> (Type, Type) {
    (one.0.or(other.0), one.1.or(other.1))
}

impl ElementTypes {
    pub fn new(kind: ElementKind, labels: Labels) -> Self {
        match kind {
            ElementKind::Vertex => Self { vertices: Some(labels), edges: None },
            ElementKind::Edge => Self { vertices: None, edges: Some(labels) },
        }
    }

    pub fn of(&self, kind: ElementKind) -> Option<&Labels> {
        match kind {
            ElementKind::Vertex => self.vertices.as_ref(),
            ElementKind::Edge => self.edges.as_ref(),
        }
    }

    fn or(self, other: Self) -> Self {
        let either = |one: Option<Labels>, other: Option<Labels>| match (one, other) {
            (Some(one), Some(other)) => Some(one.or(other)),
            (one, other) => one.or(other),
        };
        Self { vertices: either(self.vertices, other.vertices), edges: either(self.edges, other.edges) }
    }
}

impl Labels {
    /// The primary labels of elements that have one of `names`. A vertex may have it as a further label.
    pub fn of(schema: &Schema, kind: ElementKind, names: &[Name]) -> Self {
        let named: BTreeSet<LabelId> = names.iter().filter_map(|name| schema.label(kind, name)).collect();
        let labels = (0..).map(LabelId).zip(schema.labels(kind).iter());
        let carries = |(at, label): &(LabelId, &LabelSchema)| {
            named.contains(at) || label.further.iter().any(|further| named.contains(further))
        };
        Labels::Known(labels.filter(carries).map(|(at, _)| at).collect())
    }

    pub fn contains(&self, label: LabelId) -> bool {
        match self {
            Labels::All => true,
            Labels::Known(labels) => labels.contains(&label),
        }
    }

    /// The labels that are in both.
    pub fn and(self, other: Self) -> Self {
        match (self, other) {
            (Labels::All, both) | (both, Labels::All) => both,
            (Labels::Known(one), Labels::Known(other)) => Labels::Known(one.intersection(&other).copied().collect()),
        }
    }

    fn or(self, other: Self) -> Self {
        match (self, other) {
            (Labels::Known(mut one), Labels::Known(other)) => {
                one.extend(other);
                Labels::Known(one)
            }
            _ => Labels::All,
        }
    }
}
