//! Properties that every element of a label has. Taking one away fails at once. A new element must have them at the commit.

use mangrove_graph::{Cell, ElementId, ElementKind, GraphError, GraphView, KeyId, LabelId, PropertyId, Result};

use super::HotTransaction;
use crate::format::block::{SLOTS, slots};
use crate::format::catalog;
use crate::format::key::{Column, element_at};

impl HotTransaction {
    /// Says whether every element of a label must have a property. Fails if an element lacks it.
    pub(super) fn fix_required(&mut self, kind: ElementKind, label: LabelId, key: KeyId, required: bool) -> Result<()> {
        self.schema.must_have_label(kind, label)?;
        self.schema.must_have_key(key)?;
        if required && let Some(element) = self.first_without(kind, label, key, 0)? {
            return Err(self.lacks(element, key));
        }
        self.change_property(kind, label, key, |property| property.required = required)
    }

    /// Fails if a required property would have no value. A null is none.
    pub(super) fn keeps_required(&self, element: ElementId, key: KeyId, cell: &Cell) -> Result<()> {
        let of = PropertyId { kind: element.kind(), label: element.label(), key };
        if cell.has_value() || !self.schema.is_required(of) {
            return Ok(());
        }
        Err(self.lacks(element, key))
    }

    /// Fails if an element that this transaction added lacks a required property.
    pub(crate) fn new_ones_have_all(&self) -> Result<()> {
        let tables = self.owned.shared().tables;
        for (kind, label) in self.counters.keys() {
            let Some(known) = self.schema.label_schema(*kind, *label) else { continue };
            for property in known.properties.iter().filter(|property| property.required) {
                let first = catalog::counter(&tables, self.owned.txn(), *kind, *label)?.next;
                if let Some(element) = self.first_without(*kind, *label, property.key, first)? {
                    return Err(self.lacks(element, property.key));
                }
            }
        }
        Ok(())
    }

    /// The first element of a label, from a place on, that has nothing under a key.
    fn first_without(&self, kind: ElementKind, label: LabelId, key: KeyId, first: u64) -> Result<Option<ElementId>> {
        if self.schema.is_key(kind, label, key) {
            return Ok(None);
        }
        let mut alive = self.reader().column(Column::alive(kind, label));
        let mut next = first / SLOTS as u64;
        while let Some((block, cells)) = alive.block_from(next)? {
            for slot in slots(cells.present) {
                let at = block * SLOTS as u64 + slot as u64;
                let element = element_at(kind, label, at);
                if at >= first && !self.cell(element, key)?.has_value() {
                    return Ok(Some(element));
                }
            }
            next = block + 1;
        }
        Ok(None)
    }

    fn lacks(&self, element: ElementId, key: KeyId) -> GraphError {
        let label = self.schema.label_name(element.kind(), element.label());
        match self.known_as(element) {
            Ok(id) => GraphError::Required {
                label: label.to_string(),
                key: self.schema.key_name(key).to_string(),
                element: format!("the {} {id}", element.kind().name()),
            },
            Err(error) => error,
        }
    }
}
