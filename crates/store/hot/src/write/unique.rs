//! Values that one vertex of a label may have at most. An index finds who has them.
//!
//! A write is checked as a whole before it changes anything: two vertices may change values in one write, but not in two.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use hashbrown::HashMap;
use mangrove_graph::{
    Cell, Comparison, ElementId, ElementKind, GraphError, GraphView, KeyId, LabelId, Predicate, Result, Value, VertexId,
};

use super::HotTransaction;
use crate::block::{SLOTS, slots};
use crate::index;
use crate::key::{Column, vertex_at};

/// A value of two vertices.
struct Repeated {
    value: Value,
    vertices: [VertexId; 2],
}

fn equals(value: &Value) -> Predicate {
    Predicate::Compare(Comparison::Eq, value.clone())
}

impl HotTransaction {
    pub(super) fn is_unique(&self, label: LabelId, key: KeyId) -> bool {
        self.schema.index(label, key).is_some_and(|index| index.unique)
    }

    /// Fails if vertices of a label, once they have these cells, share a value with one another or with others. Of several cells of
    /// a vertex the last one counts.
    pub(super) fn stay_unique(&self, label: LabelId, key: KeyId, cells: &[(VertexId, Cell)]) -> Result<()> {
        if !self.is_unique(label, key) {
            return Ok(());
        }
        let new: HashMap<VertexId, &Cell> = cells.iter().map(|(vertex, cell)| (*vertex, cell)).collect();
        let mut given: HashMap<u64, Vec<(&Value, VertexId)>> = HashMap::new();
        for (vertex, cell) in &new {
            for value in cell.values().filter(|value| !value.is_null()) {
                let is_same = equals(value);
                let alike = given.entry(hash_of(value)).or_default();
                let among_these = alike.iter().find(|(other, of)| of != vertex && is_same.matches(other));
                let before = || -> Result<Option<VertexId>> {
                    let found = self.search(label, key, &is_same)?.unwrap_or_default();
                    Ok(found.into_iter().find(|other| !new.contains_key(other)))
                };
                if let Some(other) = among_these.map_or_else(before, |(_, other)| Ok(Some(*other)))? {
                    return Err(self.has_it_already(label, key, value, other));
                }
                alike.push((value, *vertex));
            }
        }
        Ok(())
    }

    fn has_it_already(&self, label: LabelId, key: KeyId, value: &Value, other: VertexId) -> GraphError {
        let id = match self.external_id(other) {
            Ok(id) => id,
            Err(error) => return error,
        };
        let (label, key) = (self.schema.label_name(ElementKind::Vertex, label), self.schema.key_name(key));
        GraphError::NotUnique { label: label.to_string(), key: key.to_string(), value: value.to_string(), id }
    }

    /// Makes an index, if there is none, and makes it unique. Gives whether it was not.
    pub(super) fn make_unique(&mut self, label: LabelId, key: KeyId) -> Result<bool> {
        self.label_exists(ElementKind::Vertex, label)?;
        self.key_exists(key)?;
        if self.is_unique(label, key) {
            return Ok(false);
        }
        if let (Some(first), more) = self.repeated(label, key)? {
            return Err(self.cannot_be_unique(label, key, &first, more));
        }
        self.make_index(label, key)?;
        self.change_indexes(|indexes| {
            let mine = indexes.iter_mut().find(|index| (index.label, index.key) == (label, key));
            mine.into_iter().for_each(|index| index.unique = true);
        });
        Ok(true)
    }

    fn cannot_be_unique(&self, label: LabelId, key: KeyId, first: &Repeated, more: usize) -> GraphError {
        let [Ok(a), Ok(b)] = first.vertices.map(|vertex| self.external_id(vertex)) else {
            return GraphError::corrupt("a vertex without an id");
        };
        let (label, key): (Arc<str>, Arc<str>) =
            (self.schema.label_name(ElementKind::Vertex, label), self.schema.key_name(key));
        let others = match more {
            0 => String::new(),
            1 => ", and 1 other value repeats".into(),
            n => format!(", and {n} other values repeat"),
        };
        GraphError::Invalid(format!(
            "{label}.{key} cannot be unique: the vertices {a} and {b} both have {} there{others}",
            first.value
        ))
    }

    /// A value that several vertices have, and how many more there are. Takes 16 bytes of memory for each vertex.
    fn repeated(&self, label: LabelId, key: KeyId) -> Result<(Option<Repeated>, usize)> {
        let mut hashes: Vec<(u64, VertexId)> = Vec::new();
        let mut column = self.reader().column(Column::holding(&self.schema, ElementKind::Vertex, label, key));
        let mut next = 0;
        while let Some((block, cells)) = column.block_from(next)? {
            for slot in slots(cells.present) {
                let vertex = vertex_at(label, block * SLOTS as u64 + slot as u64);
                let cell = cells.cell(slot)?;
                hashes.extend(cell.values().filter(|value| !value.is_null()).map(|value| (hash_of(value), vertex)));
            }
            next = block + 1;
        }
        hashes.sort_unstable();
        hashes.dedup();
        let (mut first, mut more) = (None, 0);
        for alike in hashes.chunk_by(|a, b| a.0 == b.0).filter(|alike| alike.len() > 1) {
            match (self.repeated_among(key, alike)?, &first) {
                (Some(found), None) => first = Some(found),
                (found, _) => more += usize::from(found.is_some()),
            }
        }
        Ok((first, more))
    }

    fn repeated_among(&self, key: KeyId, alike: &[(u64, VertexId)]) -> Result<Option<Repeated>> {
        let mut seen: Vec<(Value, VertexId)> = Vec::new();
        for (hash, vertex) in alike {
            let cell = self.cell(ElementId::Vertex(*vertex), key)?;
            for value in cell.values().filter(|value| !value.is_null() && hash_of(value) == *hash) {
                let is_same = equals(value);
                if let Some((_, other)) = seen.iter().find(|(other, of)| of != vertex && is_same.matches(other)) {
                    return Ok(Some(Repeated { value: value.clone(), vertices: [*other, *vertex] }));
                }
                seen.push((value.clone(), *vertex));
            }
        }
        Ok(None)
    }
}

/// Equal values have equal hashes.
fn hash_of(value: &Value) -> u64 {
    let mut hasher = DefaultHasher::new();
    match value {
        Value::String(text) => text.hash(&mut hasher),
        Value::Bytes(bytes) => bytes.hash(&mut hasher),
        // Numbers of all types are compared with one another, and times are.
        other => index::encoded(&Cell::One(other.clone())).hash(&mut hasher),
    }
    hasher.finish()
}
