//! Declarations, indexes, and what is dropped. The store and the changes are looked at as one.

use std::ops::Deref;
use std::sync::Arc;

use mangrove_graph::{
    Cardinality, Cell, ElementId, ElementKind, Elements, ExternalId, GraphError, GraphView, GraphWrite, IndexSchema,
    LabelId, LabelSchema, PropertyId, PropertySchema, Result, Scan, ScanCursor, ShardRead, TypeSet, ValueType,
};

use super::Overlay;

/// Elements that are looked at together.
const PAGE: usize = 8192;

impl<V: Deref<Target: ShardRead>> Overlay<V> {
    /// Looks at the cells of all elements of a label, until `f` has seen enough.
    fn each_cell(&self, of: PropertyId, mut f: impl FnMut(ElementId, Cell) -> Result<bool>) -> Result<()> {
        let (scan, mut cursor) = (Scan { columns: vec![of.key], ..Scan::of(of.label) }, ScanCursor::default());
        while !cursor.done {
            let scanned = self.scan(of.kind, &scan, &mut cursor, PAGE)?;
            for (row, element) in scanned.elements.iter().enumerate().filter(|(_, element)| element.label() == of.label) {
                if !f(element, scanned.columns[0].cell(row))? {
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    fn first_element(&self, kind: ElementKind, scan: &Scan) -> Result<Option<ElementId>> {
        let mut cursor = ScanCursor::default();
        while !cursor.done {
            if let Some(found) = self.scan_ids(kind, scan, &mut cursor, 1)?.iter().next() {
                return Ok(Some(found));
            }
        }
        Ok(None)
    }

    fn in_use(&self, what: String, first: ElementId) -> GraphError {
        match self.known_as(first) {
            Ok(id) => GraphError::InUse { what, first: format!("the {} {id}", first.kind().name()) },
            Err(error) => error,
        }
    }

    pub(super) fn fix_property(
        &mut self,
        of: PropertyId,
        value_type: Option<ValueType>,
        cardinality: Cardinality,
    ) -> Result<()> {
        self.schema.must_have(of)?;
        if let Some(other) = value_type.filter(|t| !t.is_storable()) {
            return Err(GraphError::Invalid(format!("{other} cannot be the type of a property")));
        }
        let declaration = PropertySchema { declared: value_type, cardinality, ..PropertySchema::new(of.key) };
        if self.schema.is_key(of.kind, of.label, of.key) {
            self.schema.may_be_key(of.label, &declaration)?;
        }
        self.each_cell(of, |_, cell| self.schema.must_keep_to(of, &declaration, &cell, true).map(|()| true))?;
        self.change_property(of, |property| (property.declared, property.cardinality) = (value_type, cardinality));
        Ok(())
    }

    pub(super) fn fix_key(&mut self, of: PropertyId) -> Result<()> {
        self.schema.must_have(of)?;
        if self.schema.may_have_key(of.label, of.key)?.is_some() {
            return Ok(());
        }
        let declared = self.schema.property(of).cloned().unwrap_or_else(|| PropertySchema::new(of.key));
        if declared.declared.is_some() {
            self.schema.may_be_key(of.label, &declared)?;
        }
        let mut types = TypeSet::default();
        self.each_cell(of, |element, cell| {
            let ids = element.alone(|element: Elements<'_>| self.external_ids(element))?.into_cell();
            let Some(id) = ids.values().next().and_then(ExternalId::from_value) else { return Ok(true) };
            if !cell.is_absent() && self.schema.must_be_id(of, &cell, &id).is_err() {
                return Err(self.schema.is_not_its_id(of, &id, &cell));
            }
            self.schema.must_keep_to(of, &declared, &Cell::One(id.to_value()), true)?;
            types.insert(id.value_type());
            Ok(true)
        })?;
        Arc::make_mut(&mut self.schema).vertex_labels[usize::from(of.label.0)].key = Some(of.key);
        self.change_property(of, |property| {
            property.cardinality = Cardinality::Single;
            property.types.0 |= types.0;
        });
        Ok(())
    }

    pub(super) fn fix_required(&mut self, of: PropertyId, required: bool) -> Result<()> {
        self.schema.must_have(of)?;
        let mut first = None;
        if required {
            self.each_cell(of, |element, cell| {
                first = (!cell.has_value()).then_some(element);
                Ok(first.is_none())
            })?;
        }
        if let Some(element) = first {
            return Err(self.lacks(element, of));
        }
        self.change_property(of, |property| property.required = required);
        Ok(())
    }

    /// Returns whether there was no such index.
    pub(super) fn add_index(&mut self, of: PropertyId, unique: bool) -> Result<bool> {
        self.schema.must_have(of)?;
        let indexes = &mut Arc::make_mut(&mut self.schema).indexes;
        match indexes.iter_mut().find(|index| index.of == of) {
            None => {
                indexes.push(IndexSchema { unique, ..IndexSchema::new(of) });
                Ok(true)
            }
            Some(known) => {
                let is_new = unique && !known.unique;
                known.unique |= unique;
                Ok(is_new)
            }
        }
    }

    pub(super) fn delete_label(&mut self, kind: ElementKind, label: LabelId) -> Result<()> {
        self.schema.must_have_label(kind, label)?;
        if let Some(first) = self.first_element(kind, &Scan::of(label))? {
            let what = format!("the label {}", self.schema.label_name(kind, label));
            return Err(self.in_use(what, first));
        }
        let name = self.schema.label_name(kind, label);
        let schema = Arc::make_mut(&mut self.schema);
        schema.indexes.retain(|index| (index.of.kind, index.of.label) != (kind, label));
        schema.labels_mut(kind).replace(label.0, LabelSchema::new(name));
        schema.labels_mut(kind).drop_name(label.0);
        if kind == ElementKind::Vertex {
            self.forget_label(label);
        }
        Ok(())
    }

    /// Takes a label of vertices out of what is known of other labels.
    fn forget_label(&mut self, label: LabelId) {
        for kind in ElementKind::ALL {
            for at in 0..self.schema.labels(kind).len() {
                let known = &self.schema.labels(kind)[at];
                let ends: Vec<(LabelId, LabelId)> =
                    known.ends.iter().filter(|(from, to)| *from == label || *to == label).copied().collect();
                if ends.is_empty() && !known.further.contains(&label) {
                    continue;
                }
                let known = &mut Arc::make_mut(&mut self.schema).labels_mut(kind)[at];
                known.further.remove_mut(&label);
                for ends in &ends {
                    known.ends.remove_mut(ends);
                }
            }
        }
    }

    pub(super) fn delete_property(&mut self, of: PropertyId) -> Result<()> {
        self.schema.may_be_dropped(of)?;
        let mut first = None;
        self.each_cell(of, |element, cell| {
            first = (!cell.is_absent()).then_some(element);
            Ok(first.is_none())
        })?;
        if let Some(first) = first {
            return Err(self.in_use(self.schema.property_name(of), first));
        }
        self.drop_index(of)?;
        if self.schema.property(of).is_some() {
            self.change_property(of, |property| *property = PropertySchema::new(of.key));
        }
        Ok(())
    }
}
