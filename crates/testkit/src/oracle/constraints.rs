//! Unique and required properties. The oracle checks them by looking at every element.

use std::collections::BTreeMap;

use mangrove_graph::{
    Cell, Comparison, ElementId, ElementKind, GraphError, IndexSchema, KeyId, LabelId, Predicate, PropertyId, Result, Value,
};

use super::Oracle;

impl Oracle {
    /// Fails if two of these elements share a value.
    pub(super) fn are_distinct(&self, of: PropertyId, cells: Vec<(ElementId, Cell)>) -> Result<()> {
        let values = cells.iter().flat_map(|(element, cell)| cell.values().map(move |value| (*element, value)));
        let values: Vec<(ElementId, &Value)> = values.filter(|(_, value)| !value.is_null()).collect();
        for (at, (element, value)) in values.iter().enumerate() {
            let is_same = Predicate::Compare(Comparison::Eq, (*value).clone());
            if let Some((id, _)) = values[..at].iter().find(|(other, before)| other != element && is_same.matches(before)) {
                let id = match id {
                    ElementId::Vertex(id) => self.vertices[id].external.clone(),
                    ElementId::Edge(id) => self.edges[id].external.clone().unwrap_or_else(|| id.generated()),
                };
                let property = self.schema.property_name(of);
                return Err(GraphError::NotUnique { property, value: value.to_string(), kind: of.kind, id });
            }
        }
        Ok(())
    }

    /// Every element of a label, with its cell under the key.
    pub(super) fn elements_with(&self, of: PropertyId) -> BTreeMap<ElementId, Cell> {
        let all: Vec<ElementId> = match of.kind {
            ElementKind::Vertex => self.vertices.keys().copied().map(ElementId::Vertex).collect(),
            ElementKind::Edge => self.edges.keys().copied().map(ElementId::Edge).collect(),
        };
        let of_label = all.into_iter().filter(|element| element.label() == of.label);
        of_label.map(|element| (element, self.stored(element, of.key))).collect()
    }

    /// Fails if, with these cells, two elements would share a value that must be unique.
    pub(super) fn stay_unique(&self, key: KeyId, cells: &[(ElementId, Cell)]) -> Result<()> {
        for IndexSchema { of, .. } in self.schema.indexes.iter().filter(|index| index.unique && index.of.key == key) {
            let mut all = self.elements_with(*of);
            let changed = cells.iter().filter(|(element, _)| (element.kind(), element.label()) == (of.kind, of.label));
            all.extend(changed.cloned());
            self.are_distinct(*of, all.into_iter().collect())?;
        }
        Ok(())
    }

    /// Fails if an element of the label has nothing under the key.
    pub(super) fn have_it(&self, kind: ElementKind, label: LabelId, key: KeyId) -> Result<()> {
        match self.cells_of(kind, label, key).iter().any(|cell| !cell.has_value()) {
            true => Err(self.lacks(kind, label, key)),
            false => Ok(()),
        }
    }

    /// Fails if an element lacks what its label requires.
    pub fn has_what_is_required(&self) -> Result<()> {
        for kind in [ElementKind::Vertex, ElementKind::Edge] {
            for (label, known) in (0..).map(LabelId).zip(self.schema.labels(kind)) {
                let required = known.properties.iter().filter(|property| property.required);
                required.into_iter().try_for_each(|property| self.have_it(kind, label, property.key))?;
            }
        }
        Ok(())
    }

    pub(super) fn keeps_required(&self, element: ElementId, key: KeyId, cell: &Cell) -> Result<()> {
        let label = self.schema.label_schema(element.kind(), element.label());
        match label.and_then(|label| label.property(key)) {
            Some(property) if property.required && !cell.has_value() => {
                Err(self.lacks(element.kind(), element.label(), key))
            }
            _ => Ok(()),
        }
    }

    fn lacks(&self, kind: ElementKind, label: LabelId, key: KeyId) -> GraphError {
        let label = self.schema.label_name(kind, label).to_string();
        GraphError::Required { label, key: self.schema.key_name(key).to_string(), element: "one".into() }
    }
}
