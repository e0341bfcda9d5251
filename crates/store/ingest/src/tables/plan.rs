//! How to read the columns of a table.

use std::sync::Arc;

use mangrove_graph::{ElementKind, LabelSchema, Schema};

use crate::batches::column::ColumnType;
use crate::batches::rows::{IdType, PartFields, Scope};
use crate::text::infer::Inferred;

/// How to read one table.
#[derive(Clone, Debug)]
pub struct TablePlan {
    pub kind: ElementKind,
    pub label: LabelRule,
    /// The columns that hold ids.
    pub parts: PartFields,
    pub id_type: IdType,
    /// The property that is the id of the vertices.
    pub key: Option<Arc<str>>,
    pub source_scope: Scope,
    pub target_scope: Scope,
    /// The Neo4j ID space of vertices.
    pub space: Option<Arc<str>>,
    /// The property in each column; `None` for columns that hold an id or label, or are skipped.
    pub columns: Vec<Option<PropertyPlan>>,
    pub names: Vec<Arc<str>>,
    pub array_delimiter: u8,
    /// The property that the header marks as the time of edges.
    pub edge_time: Option<String>,
    /// Guesses that the user should know of.
    pub warnings: Vec<String>,
}

impl TablePlan {
    /// Gives columns the types of their properties. A declared type counts. Without one, a column whose values fit the type that
    /// the property has so far takes that type.
    pub fn keep_to(&mut self, schema: &Schema) {
        let Some(label) = self.fixed_label(schema) else { return };
        for column in self.columns.iter_mut().flatten() {
            let ColumnType::Inferred(found) = column.column_type else { continue };
            let Some(property) = schema.key(&column.name).and_then(|key| label.property(key)) else { continue };
            let known = property.types.single().and_then(Inferred::from_value_type);
            column.column_type = match (property.declared, known) {
                (Some(declared), _) => ColumnType::Declared(declared),
                (None, Some(known)) if found.join(known) == known => ColumnType::Inferred(known),
                _ => continue,
            };
        }
    }

    /// The schema of the label, if all rows have the same one.
    pub fn fixed_label<'s>(&self, schema: &'s Schema) -> Option<&'s LabelSchema> {
        let LabelRule::Fixed(label) = &self.label else { return None };
        schema.label(self.kind, label).and_then(|id| schema.label_schema(self.kind, id))
    }
}

#[derive(Clone, Debug, PartialEq)]
pub enum LabelRule {
    Fixed(Arc<str>),
    /// The label column, the delimiter between several labels, and the label of rows without one.
    Column {
        index: usize,
        delimiter: char,
        default: Arc<str>,
    },
}

impl LabelRule {
    /// Whether some row may have this label.
    pub fn may_be(&self, label: &str) -> bool {
        match self {
            LabelRule::Fixed(fixed) => **fixed == *label,
            LabelRule::Column { .. } => true,
        }
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct PropertyPlan {
    pub name: Arc<str>,
    pub column_type: ColumnType,
}

/// Facts about a table before its header is read.
#[derive(Clone, Debug, Default)]
pub struct TableHints {
    /// From `--nodes` or `--edges`, a mapping, or the position of the table in a call.
    pub kind: Option<ElementKind>,
    pub label: Option<Arc<str>>,
    pub source: Option<Arc<str>>,
    pub target: Option<Arc<str>>,
    /// The column of ids.
    pub key: Option<String>,
    /// The key of the label in the graph.
    pub known_key: Option<Arc<str>>,
    /// The label if nothing else gives one.
    pub stem: String,
    pub mapping: Option<Arc<TableMapping>>,
}

impl TableHints {
    /// Adds the key that the label of the vertices has in the graph.
    pub fn of_schema(self, schema: &Schema) -> Self {
        let label = self.label.as_deref().unwrap_or(&self.stem);
        let known = schema.label(ElementKind::Vertex, label).and_then(|id| schema.label_schema(ElementKind::Vertex, id));
        let known_key = known.and_then(|label| label.key).map(|key| schema.key_name(key));
        Self { known_key, ..self }
    }
}

/// The entry of a table in a mapping file.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TableMapping {
    pub id: Option<String>,
    pub id_type: Option<IdType>,
    pub label_column: Option<String>,
    pub source: Option<String>,
    pub target: Option<String>,
    pub time: Option<String>,
    pub properties: Vec<(String, ColumnMapping)>,
    /// The names of the columns of a file without a header line.
    pub columns: Option<Vec<String>>,
    /// Skip columns that are not listed among the properties.
    pub only_listed: bool,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct ColumnMapping {
    pub name: Option<Arc<str>>,
    pub column_type: Option<ColumnType>,
    pub ignore: bool,
}
