//! The declarations in a mapping: keys, times, types, constraints, indexes and encodings.
//!
//! Declarations that decide how rows are read and stored come before the rows. Declarations that are faster to check or build for
//! all rows at once come after them.

use std::sync::Arc;

use mangrove_graph::{Cardinality, ElementKind, Encoding, GraphWrite, IdSpace, KeyId, LabelId, PropertyId, ValueType};

use crate::error::LoadError;

/// The declarations of a graph.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct GraphDeclaration {
    /// The id space with which the graph was made.
    pub id_space: Option<IdSpace>,
    /// Names of properties, in the order of the columns of results.
    pub keys: Vec<Arc<str>>,
    pub labels: Vec<LabelDeclaration>,
}

/// The declarations of a label. The label is added if it is new.
#[derive(Clone, Debug, PartialEq)]
pub struct LabelDeclaration {
    pub kind: ElementKind,
    pub name: Arc<str>,
    /// Vertex labels: the property that is the id.
    pub key: Option<Arc<str>>,
    /// Edge labels: the property that orders the edges.
    pub time: Option<Arc<str>>,
    pub properties: Vec<PropertyDeclaration>,
}

/// The declarations of a property of a label.
#[derive(Clone, Debug, PartialEq)]
pub struct PropertyDeclaration {
    pub name: Arc<str>,
    /// The type, and how many values an element may have. `None` leaves both open.
    pub value_type: Option<(Option<ValueType>, Cardinality)>,
    pub required: bool,
    pub index: bool,
    pub unique: bool,
    /// Its index is routed.
    pub routed: bool,
    pub encoding: Option<Encoding>,
}

impl PropertyDeclaration {
    pub fn new(name: Arc<str>) -> Self {
        Self { name, value_type: None, required: false, index: false, unique: false, routed: false, encoding: None }
    }
}

impl GraphDeclaration {
    /// Makes the declarations that decide how rows are read and stored.
    pub fn before(&self, graph: &mut dyn GraphWrite) -> Result<(), LoadError> {
        if self.id_space == Some(IdSpace::Label) && graph.schema().id_space == IdSpace::Graph {
            return Err(LoadError::options(
                "ids in these files are unique only within a label: load them into a database created with --id-space label",
            ));
        }
        self.keys.iter().try_for_each(|key| graph.ensure_key(key).map(drop))?;
        for declared in &self.labels {
            let label = graph.ensure_label(declared.kind, &declared.name)?;
            for property in &declared.properties {
                if let Some((value_type, cardinality)) = property.value_type {
                    let key = graph.ensure_key(&property.name)?;
                    graph.declare_property(declared.kind, label, key, value_type, cardinality)?;
                }
            }
            if let Some(key) = &declared.key {
                let key = graph.ensure_key(key)?;
                graph.declare_key(label, key)?;
            }
            if let Some(time) = &declared.time {
                let key = graph.ensure_key(time)?;
                if graph.schema().edge_labels[usize::from(label.0)].time != Some(key) {
                    graph.declare_time(label, key)?;
                }
            }
        }
        Ok(())
    }

    /// Makes the declarations that hold for all rows.
    pub fn after(&self, graph: &mut dyn GraphWrite, cancelled: &dyn Fn() -> bool) -> Result<(), LoadError> {
        for declared in &self.labels {
            let label = graph.ensure_label(declared.kind, &declared.name)?;
            for property in &declared.properties {
                let key = graph.ensure_key(&property.name)?;
                property.after(graph, declared.kind, label, key)?;
                if cancelled() {
                    return Err(LoadError::Cancelled);
                }
            }
        }
        Ok(())
    }
}

impl PropertyDeclaration {
    fn after(&self, graph: &mut dyn GraphWrite, kind: ElementKind, label: LabelId, key: KeyId) -> Result<(), LoadError> {
        let of = PropertyId { kind, label, key };
        if let Some(encoding) = self.encoding {
            graph.set_encoding(kind, label, key, encoding)?;
        }
        if self.required {
            graph.declare_required(kind, label, key, true)?;
        }
        if self.unique {
            graph.declare_unique(of)?;
        } else if self.index {
            graph.create_index(of)?;
        }
        if self.routed {
            graph.declare_routed(of)?;
        }
        Ok(())
    }
}
