//! Gives a column one type, even if its final type shows late.
//!
//! The type of an inferred column may widen from batch to batch, and may differ between files of one label. The end of the load
//! rewrites values that were written in a narrower type. Integers become doubles, and dates become date-times. If some value is a
//! string, all become strings, in the form this database writes: a double `1.50` becomes `1.5`. Elements without a row in the load
//! do not change.

use std::sync::Arc;

use arrow_schema::DataType;
use hashbrown::{HashMap, HashSet};
use mangrove_graph::{Cell, ElementKind, Elements, GraphWrite, KeyId, LabelId, PropertyColumn, Scan, ScanCursor};

use crate::batches::column::convert_column;
use crate::batches::rows::{Column, RawCell, Values};
use crate::error::LoadError;
use crate::terms::report::LoadReport;
use crate::text::infer::Inferred;

/// The types of inferred columns, and the elements that this load wrote.
#[derive(Default)]
pub struct Retyping {
    seen: HashMap<(ElementKind, LabelId, KeyId), Seen>,
    of_load: HashMap<(ElementKind, LabelId), OfLoad>,
}

/// The elements of a label that this load wrote, by their local ids.
#[derive(Default)]
struct OfLoad {
    /// The first new element. Later ones have greater ids.
    first: Option<u64>,
    /// Existing elements that had rows. 8 bytes each.
    updated: HashSet<u64>,
}

impl OfLoad {
    fn contains(&self, local: u64) -> bool {
        self.first.is_some_and(|first| local >= first) || self.updated.contains(&local)
    }

    /// The smallest local id.
    fn begin(&self) -> Option<u64> {
        self.first.into_iter().chain(self.updated.iter().min().copied()).min()
    }
}

struct Seen {
    wide: Inferred,
    /// Some values were written in a narrower type.
    mixed: bool,
    file: Arc<str>,
}

impl Retyping {
    /// Records that new elements start at this local id.
    pub fn added(&mut self, kind: ElementKind, label: LabelId, local: u64) {
        self.of_load.entry((kind, label)).or_default().first.get_or_insert(local);
    }

    /// Records existing elements that have rows in this load.
    pub fn updated(&mut self, kind: ElementKind, label: LabelId, locals: impl Iterator<Item = u64>) {
        self.of_load.entry((kind, label)).or_default().updated.extend(locals);
    }

    /// Records the type of a column in a batch.
    pub fn saw(&mut self, kind: ElementKind, label: LabelId, key: KeyId, column: &Column, file: &Arc<str>) {
        if !column.inferred {
            return;
        }
        let Some(found) = inferred_type(&column.values) else { return };
        let seen =
            self.seen.entry((kind, label, key)).or_insert_with(|| Seen { wide: found, mixed: false, file: file.clone() });
        let wide = seen.wide.join(found);
        if wide != seen.wide || wide != found {
            if !seen.mixed {
                seen.file = file.clone();
            }
            (seen.wide, seen.mixed) = (wide, true);
        }
    }

    /// Rewrites values that were written in a narrower type.
    pub fn finish(&mut self, graph: &mut dyn GraphWrite, report: &mut LoadReport) -> Result<(), LoadError> {
        let mut mixed: Vec<_> = self.seen.drain().filter(|(_, seen)| seen.mixed).collect();
        mixed.sort_by_key(|(of, _)| *of);
        for ((kind, label, key), seen) in mixed {
            let label_schema = graph.schema().label_schema(kind, label);
            let is_time = kind == ElementKind::Edge && label_schema.is_some_and(|label| label.time == Some(key));
            // Integers among dates are valid times, but text is not.
            if is_time && !matches!(seen.wide, Inferred::Date | Inferred::DateTime) {
                continue;
            }
            if let Some(of_load) = self.of_load.get(&(kind, label)) {
                rewrite(graph, kind, label, key, seen.wide, of_load)?;
            }
            let schema = graph.schema();
            report.warn(format!(
                "{}: `{}` of {} holds values of several types and is loaded as {}; to choose the type, give it in the header \
                 (`name:type`) or a mapping",
                seen.file,
                schema.key_name(key),
                schema.label_name(kind, label),
                seen.wide.value_type(),
            ));
        }
        Ok(())
    }
}

fn inferred_type(values: &Values) -> Option<Inferred> {
    Some(match values {
        Values::Absent(_) => return None,
        Values::Typed(array) => match array.data_type() {
            DataType::Boolean => Inferred::Bool,
            DataType::Int64 => Inferred::Int,
            DataType::Float64 => Inferred::Double,
            DataType::Date32 => Inferred::Date,
            DataType::Timestamp(_, _) => Inferred::DateTime,
            DataType::Utf8 => Inferred::Text,
            _ => return None,
        },
        Values::Cells(cells) => {
            let of = |cell: &RawCell| match cell {
                RawCell::One(value) => Inferred::from_value_type(value.value_type()),
                _ => None,
            };
            cells.iter().filter_map(of).reduce(Inferred::join)?
        }
    })
}

const CHUNK: usize = 65_536;

fn rewrite(
    graph: &mut dyn GraphWrite,
    kind: ElementKind,
    label: LabelId,
    key: KeyId,
    wide: Inferred,
    of_load: &OfLoad,
) -> Result<(), LoadError> {
    let scan = Scan::of(label);
    let mut cursor = ScanCursor { label: 0, local: of_load.begin().unwrap_or(0), done: false };
    while !cursor.done {
        let (mut vertices, mut edges) = (Vec::new(), Vec::new());
        match kind {
            ElementKind::Vertex => graph.scan_vertices(&scan, &mut cursor, CHUNK, &mut vertices)?,
            ElementKind::Edge => graph.scan_edges(&scan, &mut cursor, CHUNK, &mut edges)?,
        }
        // A label's scan also gives vertices that carry it as a further label.
        vertices.retain(|vertex| vertex.label() == label && of_load.contains(vertex.local()));
        edges.retain(|edge| of_load.contains(edge.id.local()));
        let elements = match kind {
            ElementKind::Vertex => Elements::Vertices(&vertices),
            ElementKind::Edge => Elements::Edges(&edges),
        };
        if elements.is_empty() {
            continue;
        }
        let column = graph.properties(elements, key)?;
        if let Some(column) = widened(&column, wide) {
            graph.set_properties(elements, key, &column)?;
        }
    }
    Ok(())
}

/// The column in the wide type; `None` if it has that type already.
fn widened(column: &PropertyColumn, wide: Inferred) -> Option<PropertyColumn> {
    let values = match column {
        PropertyColumn::Absent(_) => return None,
        PropertyColumn::Typed(array) => Values::Typed(array.clone()),
        PropertyColumn::Cells(cells) => Values::Cells(
            cells
                .iter()
                .map(|cell| match cell {
                    Cell::One(value) if Inferred::from_value_type(value.value_type()).is_some() => {
                        RawCell::One(value.clone())
                    }
                    _ => RawCell::Absent,
                })
                .collect(),
        ),
    };
    if inferred_type(&values)? == wide && matches!(values, Values::Typed(_)) {
        return None;
    }
    match convert_column(&values, wide) {
        Values::Absent(_) => None,
        Values::Typed(array) => Some(PropertyColumn::Typed(array)),
        Values::Cells(cells) => Some(PropertyColumn::Cells(
            cells
                .into_iter()
                .map(|cell| match cell {
                    RawCell::One(value) => Cell::One(value),
                    _ => Cell::Absent,
                })
                .collect(),
        )),
    }
}
