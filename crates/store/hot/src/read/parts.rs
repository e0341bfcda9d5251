//! What there is to read of each label.

use mangrove_graph::{ElementKind, LabelId};

use super::Reader;
use crate::format::key::Column;

/// The labels of a kind.
pub fn labels(reader: &Reader<'_>, kind: ElementKind) -> impl Iterator<Item = LabelId> + use<> {
    (0..reader.schema.labels(kind).len()).map(|label| LabelId(label as u16))
}

/// The columns of a label that are sealed.
pub fn columns(reader: &Reader<'_>, kind: ElementKind, label: LabelId) -> Vec<Column> {
    let mut columns = vec![Column::external(kind, label)];
    match kind {
        ElementKind::Vertex => columns.push(Column::further(label)),
        ElementKind::Edge => columns.extend([Column::ends(label), Column::time(label)]),
    }
    let properties = reader.schema.label_schema(kind, label).into_iter().flat_map(|label| label.properties.keys());
    let properties = properties.filter(|key| !reader.schema.is_key(kind, label, *key));
    columns.extend(properties.map(|key| Column::property(kind, label, key)));
    columns
}
