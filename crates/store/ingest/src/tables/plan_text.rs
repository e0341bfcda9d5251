//! How a planned table looks in a mapping file.

use crate::batches::column::ColumnType;
use crate::batches::rows::{IdType, Scope};
use crate::tables::header::{self, Style};
use crate::tables::plan::{LabelRule, PropertyPlan, TablePlan};
use crate::text::mapping_text::{TableText, quoted};

impl TablePlan {
    /// The entry of the table in a mapping. Headers of Neo4j and Neptune themselves say which columns are ids and labels.
    pub fn described(&self, file: &str) -> TableText {
        let mut entry = TableText::new(self.kind, file);
        let names: Vec<String> = self.names.iter().map(ToString::to_string).collect();
        let is_plain = header::style(&names) == Style::Plain;
        let name = |at: usize| &*self.names[at];
        match &self.label {
            LabelRule::Fixed(label) => entry.text("label", label),
            LabelRule::Column { index, .. } if is_plain => entry.text("label_column", name(*index)),
            LabelRule::Column { .. } => {}
        }
        let parts = [("id", self.parts.id), ("source", self.parts.source), ("target", self.parts.target)];
        for (part, at) in parts.into_iter().filter(|_| is_plain) {
            at.into_iter().for_each(|at| entry.text(part, name(at)));
        }
        if self.id_type != IdType::default() {
            entry.text("id_type", self.id_type.name());
        }
        for (end, scope) in [("source_label", &self.source_scope), ("target_label", &self.target_scope)] {
            if let Scope::Label(label) = scope {
                entry.text(end, label);
            }
        }
        for (at, property) in self.columns.iter().enumerate() {
            if let Some(property) = property {
                entry.properties.push((name(at).to_owned(), property.described(name(at))));
            }
        }
        entry
    }
}

impl PropertyPlan {
    /// The entry of its column in a mapping: a type, and a name if the property's differs.
    fn described(&self, column: &str) -> String {
        let (written, cardinality) = match &self.column_type {
            ColumnType::Inferred(found) | ColumnType::Time(found) => (found.value_type().name().to_owned(), None),
            ColumnType::Declared(t) => (t.name().to_owned(), None),
            ColumnType::Array { item, cardinality } => (format!("{}[]", item.name()), Some(cardinality)),
            ColumnType::Cells => ("graphson".to_owned(), None),
        };
        let written = quoted(&written);
        match (*self.name == *column, cardinality) {
            (true, None) => written,
            (_, None) => format!("{{name: {}, type: {written}}}", quoted(&self.name)),
            (_, Some(cardinality)) => {
                format!("{{name: {}, type: {written}, cardinality: {}}}", quoted(&self.name), cardinality.name())
            }
        }
    }
}
