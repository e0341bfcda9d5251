//! Unique and required properties, told by looking at everything.

use std::collections::BTreeMap;

use mangrove_graph::{
    Cell, Comparison, ElementId, ElementKind, GraphError, KeyId, LabelId, Predicate, Result, Value, VertexId,
};

use super::Oracle;

impl Oracle {
    /// Fails if two of these vertices share a value.
    pub(super) fn are_distinct(&self, label: LabelId, key: KeyId, cells: Vec<(VertexId, Cell)>) -> Result<()> {
        let values = cells.iter().flat_map(|(vertex, cell)| cell.values().map(move |value| (*vertex, value)));
        let values: Vec<(VertexId, &Value)> = values.filter(|(_, value)| !value.is_null()).collect();
        for (at, (vertex, value)) in values.iter().enumerate() {
            let is_same = Predicate::Compare(Comparison::Eq, (*value).clone());
            if let Some((id, _)) = values[..at].iter().find(|(other, before)| other != vertex && is_same.matches(before)) {
                let (label, id) = (self.schema.label_name(ElementKind::Vertex, label), self.vertices[id].external.clone());
                let (label, key) = (label.to_string(), self.schema.key_name(key).to_string());
                return Err(GraphError::NotUnique { label, key, value: value.to_string(), id });
            }
        }
        Ok(())
    }

    /// Fails if these cells would have vertices share values that are to be unique.
    pub(super) fn stay_unique(&self, key: KeyId, cells: &[(ElementId, Cell)]) -> Result<()> {
        let unique = self.schema.indexes.iter().filter(|index| index.unique && index.key == key);
        for label in unique.map(|index| index.label) {
            let of_label = self.vertices.keys().filter(|id| id.label() == label);
            let mut all: BTreeMap<VertexId, Cell> =
                of_label.map(|id| (*id, self.stored(ElementId::Vertex(*id), key))).collect();
            for (element, cell) in cells {
                if let ElementId::Vertex(vertex) = element
                    && vertex.label() == label
                {
                    all.insert(*vertex, cell.clone());
                }
            }
            self.are_distinct(label, key, all.into_iter().collect())?;
        }
        Ok(())
    }

    /// Fails if an element of the label has nothing under the key.
    pub(super) fn have_it(&self, kind: ElementKind, label: LabelId, key: KeyId) -> Result<()> {
        match self.cells_of(kind, label, key).iter().any(Cell::is_absent) {
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
            Some(property) if property.required && cell.is_absent() => Err(self.lacks(element.kind(), element.label(), key)),
            _ => Ok(()),
        }
    }

    fn lacks(&self, kind: ElementKind, label: LabelId, key: KeyId) -> GraphError {
        let label = self.schema.label_name(kind, label).to_string();
        GraphError::Required { label, key: self.schema.key_name(key).to_string(), element: "one".into() }
    }
}
