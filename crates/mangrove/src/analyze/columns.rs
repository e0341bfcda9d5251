//! What an algorithm gives, as columns.

use std::sync::Arc;

use arrow_array::{Array, ArrayRef, Float64Array, Int64Array, LargeListArray, RecordBatch, UInt32Array};
use arrow_buffer::OffsetBuffer;
use arrow_schema::{ArrowError, Field, Schema as ArrowSchema};
use mangrove_analytics::{NONE, Values};
use mangrove_graph::column::array_of;
use mangrove_graph::{Elements, GraphError, GraphView, Numbering, PropertyColumn, Value, record};

use super::{AnalyzeError, BATCH, Result};
use crate::arrow;

/// The ids of all vertices, as a column.
pub struct Ids {
    pub field: Field,
    pub array: ArrayRef,
    /// The ids themselves, if they have several types: the column then holds their text.
    pub mixed: Option<Vec<Value>>,
}

pub fn ids(view: &dyn GraphView, numbering: &Numbering) -> Result<Ids> {
    let mut columns = Vec::new();
    let mut first = 0;
    while first < numbering.count() {
        let end = numbering.count().min(first + BATCH);
        columns.push(record::ids(view, Elements::Vertices(&numbering.slice(first..end)))?);
        first = end;
    }
    let (field, array) = arrow::column("id", &columns).map_err(invalid)?;
    // A batch of one comes as a cell, whatever its type.
    let fits = |column: &PropertyColumn| match column {
        PropertyColumn::Typed(typed) => typed.data_type() == array.data_type(),
        PropertyColumn::Cells(cells) => {
            let values: Vec<Option<&Value>> = cells.iter().map(|cell| cell.values().next()).collect();
            array_of(&values).is_some_and(|typed| typed.data_type() == array.data_type())
        }
        PropertyColumn::Absent(_) => false,
    };
    let is_mixed = !columns.iter().all(fits);
    let value = |column: &PropertyColumn, row: usize| column.cell(row).values().next().cloned().unwrap_or(Value::Null);
    let values = || columns.iter().flat_map(|column| (0..column.len()).map(move |row| value(column, row))).collect();
    Ok(Ids { field, array, mixed: is_mixed.then(values) })
}

/// The ids that name vertices, if ids have several types.
pub fn named_values(ids: &Ids, values: &Values) -> Option<Vec<Value>> {
    let (Some(ids), Values::Vertices(numbers)) = (&ids.mixed, values) else { return None };
    Some(numbers.iter().map(|number| ids.get(*number as usize).cloned().unwrap_or(Value::Null)).collect())
}

pub fn invalid(error: ArrowError) -> AnalyzeError {
    AnalyzeError::Graph(GraphError::Invalid(error.to_string()))
}

/// The values as columns. Those that name a vertex become its id.
pub fn columns(values: Values, id: Field, ids: ArrayRef) -> Result<RecordBatch> {
    let integers = |values: &mut dyn Iterator<Item = Option<i64>>| -> ArrayRef { Arc::new(values.collect::<Int64Array>()) };
    let reals = |values: Vec<f64>| -> ArrayRef {
        Arc::new(values.into_iter().map(|value| value.is_finite().then_some(value)).collect::<Float64Array>())
    };
    let id_of = |name: &str| id.clone().with_name(name);
    let value = |array: ArrayRef| (Field::new("value", array.data_type().clone(), true), array);
    let columns = match values {
        Values::Counts(values) => {
            let array = integers(&mut values.into_iter().map(|value| (value != NONE).then_some(i64::from(value))));
            vec![(id, ids), value(array)]
        }
        Values::Totals(values) => {
            vec![(id, ids), value(integers(&mut values.into_iter().map(|value| Some(value as i64))))]
        }
        Values::Reals(values) => vec![(id, ids), value(reals(values))],
        Values::Vertices(values) => {
            let named = (id_of("value"), named(&ids, values)?);
            vec![(id, ids), named]
        }
        Values::Pairs { vertices, others, values } => {
            let pair = [(id_of("id"), named(&ids, vertices)?), (id_of("other"), named(&ids, others)?)];
            pair.into_iter().chain([value(reals(values))]).collect()
        }
        Values::Walks { starts, vertices } => {
            let first: Vec<u32> = starts[..starts.len() - 1].iter().map(|start| vertices[*start]).collect();
            let lengths = starts.windows(2).map(|ends| ends[1] - ends[0]);
            let item = Arc::new(id_of("item"));
            let walks = LargeListArray::try_new(item, OffsetBuffer::from_lengths(lengths), named(&ids, vertices)?, None);
            vec![(id_of("id"), named(&ids, first)?), value(Arc::new(walks.map_err(invalid)?))]
        }
    };
    let (fields, arrays): (Vec<Field>, Vec<ArrayRef>) = columns.into_iter().unzip();
    RecordBatch::try_new(Arc::new(ArrowSchema::new(fields)), arrays).map_err(invalid)
}

/// The ids of vertices; none for no vertex.
fn named(ids: &ArrayRef, vertices: Vec<u32>) -> Result<ArrayRef> {
    let vertices: UInt32Array = vertices.into_iter().map(|vertex| (vertex != NONE).then_some(vertex)).collect();
    arrow_select::take::take(ids, &vertices, None).map_err(invalid)
}
