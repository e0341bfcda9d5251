//! What a schema allows. Every store refuses the same things with the same words.

use std::collections::HashSet;

use crate::cell::{Cell, PropertyValue};
use crate::error::{GraphError, Result};
use crate::id::{ElementKind, ExternalId, KeyId, LabelId};
use crate::names::NAMES_MAX;
use crate::schema::{Cardinality, PropertyId, PropertySchema, Schema};
use crate::value::{NESTING_MAX, Value};
use crate::write::NewEdge;

/// The most bytes that all values of an element under a key may take. LMDB allows twice that, but is asked for no more.
pub const CELL_BYTES_MAX: usize = 1 << 30;
const NAME_BYTES_MAX: usize = u16::MAX as usize;

/// Fails if a name is too long, or if there are as many as there can be.
pub fn room_for_a_name(what: &str, name: &str, names: usize) -> Result<()> {
    if name.len() > NAME_BYTES_MAX {
        let what = format!("a name of {} bytes is too long for {what}", name.len());
        return Err(GraphError::Limit { what, limit: NAME_BYTES_MAX as u64 });
    }
    if names >= NAMES_MAX {
        return Err(GraphError::Limit { what: format!("too many {what}"), limit: NAMES_MAX as u64 });
    }
    Ok(())
}

/// Fails if values take more bytes than a property may.
pub fn must_have_room(bytes: usize) -> Result<()> {
    if bytes <= CELL_BYTES_MAX {
        return Ok(());
    }
    let what = "a property takes too many bytes".into();
    Err(GraphError::Limit { what, limit: CELL_BYTES_MAX as u64 })
}

impl Schema {
    /// Fails if there is no such label.
    pub fn must_have_label(&self, kind: ElementKind, label: LabelId) -> Result<()> {
        let known = self.label_schema(kind, label).filter(|_| !self.labels(kind).is_dropped(label.0));
        known
            .map(|_| ())
            .ok_or_else(|| GraphError::Invalid(format!("there is no {kind:?} label with the number {}", label.0)))
    }

    /// Fails if there is no such key.
    pub fn must_have_key(&self, key: KeyId) -> Result<()> {
        let known = self.keys.get(usize::from(key.0)).filter(|_| !self.keys.is_dropped(key.0));
        known.map(|_| ()).ok_or_else(|| GraphError::Invalid(format!("there is no property key with the number {}", key.0)))
    }

    /// Fails if there is no such label, or no such key.
    pub fn must_have(&self, of: PropertyId) -> Result<()> {
        self.must_have_label(of.kind, of.label)?;
        self.must_have_key(of.key)
    }

    /// What is known of a property; `None` if it was never met.
    pub fn property(&self, of: PropertyId) -> Option<&PropertySchema> {
        self.label_schema(of.kind, of.label)?.property(of.key)
    }

    /// The key whose value is the id of vertices of a label.
    pub fn key_of(&self, label: LabelId) -> Option<KeyId> {
        self.vertex_labels.get(usize::from(label.0))?.key
    }

    /// The key whose value orders edges of a label.
    pub fn time_of(&self, label: LabelId) -> Option<KeyId> {
        self.edge_labels.get(usize::from(label.0))?.time
    }

    pub fn is_time(&self, of: PropertyId) -> bool {
        of.kind == ElementKind::Edge && self.time_of(of.label) == Some(of.key)
    }

    pub fn is_unique(&self, of: PropertyId) -> bool {
        self.index(of).is_some_and(|index| index.unique)
    }

    pub fn is_required(&self, of: PropertyId) -> bool {
        self.property(of).is_some_and(|property| property.required)
    }

    /// Fails if the cell cannot be under this key of this label.
    pub fn must_fit(&self, of: PropertyId, cell: &Cell) -> Result<()> {
        must_have_room(cell.values().map(|value| value.memory_bytes(CELL_BYTES_MAX + 1)).sum())?;
        match cell {
            Cell::Absent => return Ok(()),
            Cell::One(value) => must_be_storable(value)?,
            Cell::Many(_) if of.kind == ElementKind::Edge => {
                return Err(GraphError::Invalid("an edge property has one value, without properties of its own".into()));
            }
            Cell::Many(entries) => entries.iter().try_for_each(|entry| self.entry_must_fit(entry))?,
        }
        match self.property(of) {
            Some(property) => self.must_keep_to(of, property, cell, property.declared.is_some()),
            None => Ok(()),
        }
    }

    fn entry_must_fit(&self, entry: &PropertyValue) -> Result<()> {
        must_be_storable(&entry.value)?;
        entry.meta.iter().try_for_each(|(key, value)| {
            self.must_have_key(*key)?;
            must_be_storable(value)
        })
    }

    /// Fails if the cell does not keep to a declaration. The cardinality counts only if it is `fixed`.
    pub fn must_keep_to(&self, of: PropertyId, declaration: &PropertySchema, cell: &Cell, fixed: bool) -> Result<()> {
        let names = || (self.label_name(of.kind, of.label).to_string(), self.key_name(of.key).to_string());
        if let Some(declared) = declaration.declared {
            let unfit = cell.values().find(|value| !value.is_null() && value.value_type() != declared);
            if let Some(value) = unfit {
                let ((label, key), found) = (names(), value.value_type().to_string());
                let (declared, value) = (declared.to_string(), value.to_string());
                return Err(GraphError::TypeMismatch { label, key, declared, found, value });
            }
        }
        let Cell::Many(entries) = cell else { return Ok(()) };
        let fits = !fixed
            || match declaration.cardinality {
                Cardinality::Single => entries.len() <= 1,
                Cardinality::List => true,
                Cardinality::Set => {
                    let distinct: HashSet<&Value> = entries.iter().map(|entry| &entry.value).collect();
                    distinct.len() == entries.len()
                }
            };
        if fits {
            return Ok(());
        }
        let ((label, key), cardinality, n) = (names(), declaration.cardinality.name(), entries.len());
        Err(GraphError::Invalid(format!("{label}.{key} is declared {cardinality} and cannot hold these {n} values")))
    }

    /// Fails if ids are not of the type that is declared for the key of their label.
    pub fn ids_must_fit(&self, label: LabelId, ids: &[ExternalId]) -> Result<()> {
        let Some(key) = self.key_of(label) else { return Ok(()) };
        let of = PropertyId::of_vertices(label, key);
        let Some(property) = self.property(of) else { return Ok(()) };
        let Some(declared) = property.declared else { return Ok(()) };
        match ids.iter().map(ExternalId::to_value).find(|id| id.value_type() != declared) {
            None => Ok(()),
            Some(id) => self.must_keep_to(of, property, &Cell::One(id), true),
        }
    }

    /// Fails if a property declared so cannot be an external id.
    pub fn may_be_key(&self, label: LabelId, declared: &PropertySchema) -> Result<()> {
        if declared.may_be_id() {
            return Ok(());
        }
        let reason = match (declared.cardinality, declared.declared) {
            (Cardinality::Single, Some(other)) => format!("{other}, but a key must be an int64, a string or a uuid"),
            (cardinality, _) => format!("{}, but a key must have one value", cardinality.name()),
        };
        let name = self.property_name(PropertyId::of_vertices(label, declared.key));
        Err(GraphError::Invalid(format!("{name} is declared {reason}")))
    }

    /// The sort keys of edges, if their label has a time. Fails if an edge has a time and the label has none, or if a value cannot be a
    /// time.
    pub fn times_of(&self, label: LabelId, edges: &[NewEdge]) -> Result<Option<Vec<i64>>> {
        let name = || self.label_name(ElementKind::Edge, label);
        let time = |edge: &NewEdge| match &edge.time {
            None => Ok(i64::MIN),
            Some(time) => time.as_time().ok_or_else(|| {
                GraphError::Invalid(format!(
                    "the time of a {} edge must be an integer, a date or a date-time, not the {} {time}",
                    name(),
                    time.value_type()
                ))
            }),
        };
        let Some(key) = self.time_of(label) else {
            if edges.iter().all(|edge| edge.time.is_none()) {
                return Ok(None);
            }
            let what = format!("cannot give {} edges a time: declare the property that holds it first", name());
            return Err(GraphError::Invalid(what));
        };
        let times = edges.iter().map(time).collect::<Result<_>>()?;
        let of = PropertyId::of_edges(label, key);
        if let Some(declared) = self.property(of).and_then(|property| property.declared) {
            let unfit = edges.iter().filter_map(|edge| edge.time.as_ref()).find(|time| time.value_type() != declared);
            unfit.map_or(Ok(()), |time| self.must_fit(of, &Cell::One(time.clone())))?;
        }
        Ok(Some(times))
    }

    /// The error of a cell that would change the time of an edge.
    pub fn time_stays(&self, of: PropertyId) -> GraphError {
        let (key, label) = (self.key_name(of.key), self.label_name(of.kind, of.label));
        GraphError::Invalid(format!(
            "`{key}` is the time that orders {label} edges, and cannot change once addE() has set it. To change it, remove the \
             edge and add it again"
        ))
    }

    /// Fails if a cell is not the id that its vertex has. The property is the key of its label.
    pub fn must_be_id(&self, of: PropertyId, cell: &Cell, id: &ExternalId) -> Result<()> {
        if matches!(cell, Cell::One(value) if ExternalId::from_value(value).as_ref() == Some(id)) {
            return Ok(());
        }
        let (label, key) = (self.label_name(of.kind, of.label).to_string(), self.key_name(of.key).to_string());
        Err(GraphError::Key { label, key, id: id.clone() })
    }

    /// Fails if a label cannot have this name too. Returns whether it has it already.
    pub fn may_be_renamed(&self, kind: ElementKind, label: LabelId, name: &str) -> Result<bool> {
        self.must_have_label(kind, label)?;
        if self.label_name(kind, label).as_ref() == name {
            return Ok(true);
        }
        room_for_a_name("labels", name, 0)?;
        if self.label(kind, name).is_some() {
            let what = format!(
                "cannot rename: there is already a label {name} of {}, and two labels cannot become one",
                kind.plural()
            );
            return Err(GraphError::Invalid(what));
        }
        Ok(false)
    }

    /// Fails if a property is what its label cannot be without.
    pub fn may_be_dropped(&self, of: PropertyId) -> Result<()> {
        self.must_have(of)?;
        let is_key = self.is_key(of.kind, of.label, of.key);
        if is_key || self.is_time(of) {
            let role = if is_key { "key of its label" } else { "time of its edges" };
            return Err(GraphError::Invalid(format!("cannot drop {}: it is the {role}", self.property_name(of))));
        }
        Ok(())
    }

    /// The error of a time that is declared too late.
    pub fn has_edges_already(&self, label: LabelId) -> GraphError {
        let name = self.label_name(ElementKind::Edge, label);
        GraphError::Invalid(format!(
            "cannot declare the time of {name}: it already has edges. Load them into a new database, or under another label"
        ))
    }

    /// The key that a label has, if it is this one. Fails if it is another.
    pub fn may_have_key(&self, label: LabelId, key: KeyId) -> Result<Option<KeyId>> {
        match self.key_of(label) {
            Some(known) if known != key => {
                let label = self.label_name(ElementKind::Vertex, label);
                let (known, key) = (self.key_name(known), self.key_name(key));
                Err(GraphError::Invalid(format!("cannot make `{key}` the key of {label}: its key is already `{known}`")))
            }
            same => Ok(same),
        }
    }

    /// The error of a vertex with something else under a key than its id.
    pub fn is_not_its_id(&self, of: PropertyId, id: &ExternalId, cell: &Cell) -> GraphError {
        let (label, key) = (self.label_name(of.kind, of.label), self.key_name(of.key));
        let value = cell.values().next().map(ToString::to_string).unwrap_or_default();
        GraphError::Invalid(format!(
            "`{key}` cannot be the key of {label}: the vertex with the id {id} has {value} there. Remove or rename that property, or choose \
             another key"
        ))
    }
}

impl PropertySchema {
    /// Adds what a cell shows.
    pub fn meet(&mut self, cell: &Cell) {
        cell.values().for_each(|value| self.types.insert(value.value_type()));
        if let Cell::Many(entries) = cell {
            self.has_meta |= entries.iter().any(|entry| !entry.meta.is_empty());
            if entries.len() > 1 && self.cardinality == Cardinality::Single {
                self.cardinality = Cardinality::List;
            }
        }
    }
}

/// Fails if a value cannot be stored.
fn must_be_storable(value: &Value) -> Result<()> {
    if !value.is_storable() {
        return Err(GraphError::NotStorable { found: value.value_type().name() });
    }
    if depth(value) > NESTING_MAX {
        let what = "the collections in a property are nested too deep".into();
        return Err(GraphError::Limit { what, limit: NESTING_MAX as u64 });
    }
    Ok(())
}

fn depth(value: &Value) -> usize {
    match value {
        Value::List(items) | Value::Set(items) => 1 + items.iter().map(depth).max().unwrap_or(0),
        Value::Map(map) => 1 + map.iter().map(|(k, v)| depth(k).max(depth(v))).max().unwrap_or(0),
        _ => 0,
    }
}
