//! The notes of a graph that is written.

use mangrove_graph::{ElementKind, LabelId, Schema, ValueType};

use super::column::{ColumnPlan, Form, From, Plans};
use crate::info::Notes;
use crate::info::types::Scalar;

/// `has_files` says whether a label of vertices is a type of its own.
pub fn all(schema: &Schema, plans: &Plans, has_files: impl Fn(LabelId) -> bool) -> Notes {
    let mut notes = Notes::default();
    notes.set_id_space(schema.id_space);
    for kind in ElementKind::ALL {
        for (label, of) in schema.known_labels(kind).filter(|(label, _)| kind == ElementKind::Edge || has_files(*label)) {
            if let Some(time) = of.time {
                notes.set_time(&of.name, &schema.key_name(time));
            }
            let plans = if kind == ElementKind::Vertex { &plans.vertices } else { &plans.edges };
            for column in plans.get(&label).map_or(&[][..], |plan| &plan.columns) {
                if column.from == (From::Id { is_key: false }) {
                    notes.set_id_column(kind, &of.name, &column.name);
                }
                if is_another(column) {
                    notes.set_value_type(kind, &of.name, &column.name, column.value_type);
                }
            }
        }
    }
    notes
}

/// Whether the values have another type in files.
fn is_another(column: &ColumnPlan) -> bool {
    match column.form {
        Form::One(scalar) | Form::Many(scalar) => scalar.value_type() != column.value_type,
        Form::FineTime => Scalar::Timestamp.value_type() != column.value_type,
        Form::Vector => column.value_type == ValueType::Vector,
        Form::Text => false,
    }
}
