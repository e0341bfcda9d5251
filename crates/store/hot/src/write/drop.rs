//! Renames labels, and drops labels and properties that no element has.
//!
//! A dropped label or key keeps its number, but nothing is known of it, because files may still have old cells of it. A
//! later label or key of the same name gets another number, so it never meets these cells.

use std::sync::Arc;

use mangrove_graph::{
    ElementId, ElementKind, GraphError, GraphView, KeyId, LabelId, LabelSchema, PropertyId, PropertySchema, Result, Scan,
    ScanCursor,
};

use super::HotTransaction;
use crate::format::block::{SLOTS, slots};
use crate::format::catalog::Record;
use crate::format::key::{Column, element_at};
use crate::options::Sides;

impl HotTransaction {
    pub(super) fn name_label(&mut self, kind: ElementKind, label: LabelId, name: &str) -> Result<()> {
        if self.schema.may_be_renamed(kind, label, name)? {
            return Ok(());
        }
        let known = &self.schema.labels(kind)[usize::from(label.0)];
        let renamed = LabelSchema { name: name.into(), ..known.clone() };
        self.replace_label(kind, label, renamed);
        Ok(())
    }

    pub(super) fn delete_label(&mut self, kind: ElementKind, label: LabelId) -> Result<()> {
        self.schema.must_have_label(kind, label)?;
        let scan = Scan::of(label);
        if let Some(first) = self.first_of(kind, &scan)? {
            let what = format!("the label {}", self.schema.label_name(kind, label));
            return Err(self.in_use(what, first));
        }
        let indexes: Vec<PropertyId> = self.schema.indexes.iter().map(|index| index.of).collect();
        for of in indexes.into_iter().filter(|of| (of.kind, of.label) == (kind, label)) {
            self.delete_index(of)?;
        }
        let keys: Vec<KeyId> = self.schema.labels(kind)[usize::from(label.0)].properties.keys().collect();
        self.changed.extend(keys.iter().map(|key| Record::Property(kind, label, *key)));
        self.replace_label(kind, label, LabelSchema::new(self.schema.label_name(kind, label)));
        Arc::make_mut(&mut self.schema).labels_mut(kind).drop_name(label.0);
        if kind == ElementKind::Vertex {
            self.forget_label(label);
        }
        keys.into_iter().for_each(|key| self.forget_unused(key));
        Ok(())
    }

    /// The first element a scan finds.
    fn first_of(&self, kind: ElementKind, scan: &Scan) -> Result<Option<ElementId>> {
        let mut cursor = ScanCursor::default();
        while !cursor.done {
            let (mut vertices, mut edges) = (Vec::new(), Vec::new());
            match kind {
                ElementKind::Vertex => self.scan_vertices(scan, &mut cursor, 1, &mut vertices)?,
                ElementKind::Edge => self.scan_edges(scan, &mut cursor, 1, &mut edges)?,
            }
            let vertex = vertices.first().map(|vertex| ElementId::Vertex(*vertex));
            let found = vertex.or(edges.first().map(|edge| ElementId::Edge(edge.id)));
            if found.is_some() {
                return Ok(found);
            }
        }
        Ok(None)
    }

    /// Takes a label of vertices out of what is known of other labels: their further labels, and the labels that edges join.
    fn forget_label(&mut self, label: LabelId) {
        for kind in ElementKind::ALL {
            for at in (0..self.schema.labels(kind).len()).map(|at| LabelId(at as u16)) {
                let known = &self.schema.labels(kind)[usize::from(at.0)];
                let ends = known.ends.iter().filter(|(from, to)| *from == label || *to == label).copied();
                let ends: Vec<(LabelId, LabelId)> = ends.collect();
                if ends.is_empty() && !known.further.contains(&label) {
                    continue;
                }
                let known = self.label_mut(kind, at);
                known.further.remove_mut(&label);
                for ends in &ends {
                    known.ends.remove_mut(ends);
                }
            }
        }
    }

    fn replace_label(&mut self, kind: ElementKind, label: LabelId, by: LabelSchema) {
        self.changed.insert(Record::Label(kind, label));
        Arc::make_mut(&mut self.schema).labels_mut(kind).replace(label.0, by);
    }

    pub(super) fn delete_property(&mut self, of: PropertyId) -> Result<()> {
        self.schema.may_be_dropped(of)?;
        if let Some(first) = self.first_with(of)? {
            return Err(self.in_use(self.schema.property_name(of), first));
        }
        self.delete_index(of)?;
        if self.schema.labels(of.kind)[usize::from(of.label.0)].property(of.key).is_some() {
            self.change_property(of.kind, of.label, of.key, |property| *property = PropertySchema::new(of.key))?;
        }
        self.forget_unused(of.key);
        Ok(())
    }

    /// The first element of a label that has something under a key.
    fn first_with(&self, of: PropertyId) -> Result<Option<ElementId>> {
        let mut column = self.reader().column(Column::property(of.kind, of.label, of.key));
        let mut next = 0;
        while let Some((block, cells)) = column.block_from(next)? {
            if let Some(slot) = slots(cells.present).next() {
                return Ok(Some(element_at(of.kind, of.label, block * SLOTS as u64 + slot as u64)));
            }
            next = block + 1;
        }
        Ok(None)
    }

    /// Drops the name of a key that nothing uses any more. A shard cannot tell.
    fn forget_unused(&mut self, key: KeyId) {
        if self.sides() == Sides::Together && !self.schema.has_use_of(key) {
            self.forget_key(key);
        }
    }

    /// Drops the name of a key.
    pub(super) fn forget_key(&mut self, key: KeyId) {
        self.changed.insert(Record::Key(key));
        Arc::make_mut(&mut self.schema).keys.drop_name(key.0);
    }

    fn in_use(&self, what: String, first: ElementId) -> GraphError {
        match self.known_as(first) {
            Ok(id) => GraphError::InUse { what, first: format!("the {} {id}", first.kind().name()) },
            Err(error) => error,
        }
    }
}
