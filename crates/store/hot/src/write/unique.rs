//! Values that at most one element of a label may have. An index finds the element that has a value.
//!
//! A write is checked as a whole before it changes anything. So two elements may swap values in one write, but not in two.

use std::hash::{DefaultHasher, Hash, Hasher};

use hashbrown::HashMap;
use mangrove_graph::{Cell, Comparison, ElementId, ExternalId, GraphError, GraphView, Predicate, PropertyId, Result, Value};

use super::HotTransaction;
use crate::format::block::{SLOTS, slots};
use crate::format::index;
use crate::format::key::{Column, element_at};

/// A value that two elements have.
struct Repeated {
    value: Value,
    elements: [ElementId; 2],
}

fn equals(value: &Value) -> Predicate {
    Predicate::Compare(Comparison::Eq, value.clone())
}

impl HotTransaction {
    /// Fails if elements of a label, once they have these cells, share a value with one another or with others. If an
    /// element has several cells, the last one counts.
    pub(super) fn stay_unique(&self, of: PropertyId, cells: &[(ElementId, &Cell)]) -> Result<()> {
        if !self.schema.is_unique(of) {
            return Ok(());
        }
        let new: HashMap<ElementId, &Cell> = cells.iter().copied().collect();
        let mut given: HashMap<u64, Vec<(&Value, ElementId)>> = HashMap::new();
        for (element, cell) in &new {
            for value in cell.values().filter(|value| !value.is_null()) {
                let is_same = equals(value);
                let alike = given.entry(hash_of(value)).or_default();
                let among_these = alike.iter().find(|(other, by)| by != element && is_same.matches(other));
                let before = || -> Result<Option<ElementId>> {
                    let found = self.reader().places(of, &is_same)?.unwrap_or_default();
                    let mut found = found.into_iter().map(|place| element_at(of.kind, of.label, place));
                    Ok(found.find(|other| !new.contains_key(other)))
                };
                if let Some(other) = among_these.map_or_else(before, |(_, other)| Ok(Some(*other)))? {
                    return Err(self.has_it_already(of, value, other));
                }
                alike.push((value, *element));
            }
        }
        Ok(())
    }

    fn has_it_already(&self, of: PropertyId, value: &Value, other: ElementId) -> GraphError {
        match self.known_as(other) {
            Ok(id) => GraphError::NotUnique {
                property: self.schema.property_name(of),
                value: value.to_string(),
                kind: of.kind,
                id,
            },
            Err(error) => error,
        }
    }

    /// The id by which users know an element.
    pub(super) fn known_as(&self, element: ElementId) -> Result<ExternalId> {
        match element {
            ElementId::Vertex(vertex) => self.external_id(vertex),
            ElementId::Edge(edge) => Ok(self.edge_external_id(edge)?.unwrap_or_else(|| edge.generated())),
        }
    }

    /// Makes an index if there is none, and makes it unique. Returns whether it was not unique before.
    pub(super) fn make_unique(&mut self, of: PropertyId) -> Result<bool> {
        self.schema.must_have(of)?;
        if self.schema.is_unique(of) {
            return Ok(false);
        }
        if let (Some(first), more) = self.repeated(of)? {
            return Err(self.cannot_be_unique(of, &first, more));
        }
        self.make_index(of)?;
        self.change_indexes(|indexes| {
            let mine = indexes.iter_mut().find(|index| index.of == of);
            mine.into_iter().for_each(|index| index.unique = true);
        });
        Ok(true)
    }

    fn cannot_be_unique(&self, of: PropertyId, first: &Repeated, more: usize) -> GraphError {
        let [Ok(a), Ok(b)] = first.elements.map(|element| self.known_as(element)) else {
            return GraphError::corrupt("a vertex without an id");
        };
        let (property, elements) = (self.schema.property_name(of), of.kind.plural());
        let others = match more {
            0 => String::new(),
            1 => ", and 1 other value repeats".into(),
            n => format!(", and {n} other values repeat"),
        };
        GraphError::Invalid(format!(
            "{property} cannot be unique: the {elements} {a} and {b} both have the value {}{others}",
            first.value
        ))
    }

    /// A value that several elements have, and how many more such values there are. Takes 16 bytes of memory for each
    /// element.
    fn repeated(&self, of: PropertyId) -> Result<(Option<Repeated>, usize)> {
        let mut hashes: Vec<(u64, u64)> = Vec::new();
        let mut column = self.reader().column(Column::holding(&self.schema, of.kind, of.label, of.key));
        let mut next = 0;
        while let Some((block, cells)) = column.block_from(next)? {
            for slot in slots(cells.present) {
                let place = block * SLOTS as u64 + slot as u64;
                let cell = cells.cell(slot)?;
                hashes.extend(cell.values().filter(|value| !value.is_null()).map(|value| (hash_of(value), place)));
            }
            next = block + 1;
        }
        hashes.sort_unstable();
        hashes.dedup();
        let (mut first, mut more) = (None, 0);
        for alike in hashes.chunk_by(|a, b| a.0 == b.0).filter(|alike| alike.len() > 1) {
            match (self.repeated_among(of, alike)?, &first) {
                (Some(found), None) => first = Some(found),
                (found, _) => more += usize::from(found.is_some()),
            }
        }
        Ok((first, more))
    }

    fn repeated_among(&self, of: PropertyId, alike: &[(u64, u64)]) -> Result<Option<Repeated>> {
        let mut seen: Vec<(Value, ElementId)> = Vec::new();
        for (hash, place) in alike {
            let element = element_at(of.kind, of.label, *place);
            let cell = self.cell(element, of.key)?;
            for value in cell.values().filter(|value| !value.is_null() && hash_of(value) == *hash) {
                let is_same = equals(value);
                if let Some((_, other)) = seen.iter().find(|(other, by)| *by != element && is_same.matches(other)) {
                    return Ok(Some(Repeated { value: value.clone(), elements: [*other, element] }));
                }
                seen.push((value.clone(), element));
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
        // Numbers of different types may be equal, and so may times. The encoding of equal ones is the same.
        other => index::encoded(&Cell::One(other.clone())).hash(&mut hasher),
    }
    hasher.finish()
}
