//! Tables in memory, as callers provide them: Arrow record batches, or rows of values.

use std::sync::Arc;

use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_schema::SchemaRef;
use mangrove_graph::column::array_of;
use mangrove_graph::{ElementKind, Schema, Value};

use crate::batches::rows::{IdType, Sink};
use crate::error::{LoadError, Location};
use crate::tables::arrow_table::{Input, plan_arrow, plan_typed, send_batch, send_columns};
use crate::tables::plan::{TableHints, TableMapping, TablePlan};

/// The rules of plain tables give each column its meaning; see docs/load.md.
#[derive(Clone, Debug)]
pub enum Table {
    Arrow {
        schema: SchemaRef,
        batches: Vec<RecordBatch>,
    },
    /// `values` holds one row after another, each with a value for every name. A null is an absent value.
    Rows {
        names: Vec<Arc<str>>,
        values: Vec<Value>,
    },
}

impl Table {
    /// Roughly the memory that the table takes.
    pub fn bytes(&self) -> u64 {
        match self {
            Table::Arrow { batches, .. } => batches.iter().map(|batch| batch.get_array_memory_size() as u64).sum(),
            Table::Rows { values, .. } => values.iter().map(|value| value.memory_bytes(usize::MAX) as u64).sum(),
        }
    }
}

/// A table, and what it holds.
#[derive(Clone, Debug)]
pub struct TableInput {
    /// Its name in messages.
    pub name: Arc<str>,
    pub kind: ElementKind,
    /// If `None`, a column `label` or the name of the table gives the label.
    pub label: Option<Arc<str>>,
    /// Edges: the labels of the source and target vertices, if each is only one.
    pub source: Option<Arc<str>>,
    pub target: Option<Arc<str>>,
    /// Vertices: the column that names them, unless it is called `id`.
    pub key: Option<String>,
    /// Edges: the columns of their sources and targets, unless these have usual names.
    pub ends: Option<(String, String)>,
    pub table: Table,
}

impl TableInput {
    pub fn vertices(label: &str, table: Table) -> Self {
        let (name, label) = (Arc::from(label), Some(label.into()));
        Self { name, kind: ElementKind::Vertex, label, source: None, target: None, key: None, ends: None, table }
    }

    pub fn edges(source: Option<&str>, label: &str, target: Option<&str>, table: Table) -> Self {
        let (source, target) = (source.map(Arc::from), target.map(Arc::from));
        let (name, label) = (label.into(), Some(label.into()));
        Self { name, kind: ElementKind::Edge, label, source, target, key: None, ends: None, table }
    }

    /// Sets the column that names its vertices.
    pub fn keyed(self, key: Option<String>) -> Self {
        Self { key, ..self }
    }

    /// Sets the columns of the sources and targets of its edges.
    pub fn between(self, source: &str, target: &str) -> Self {
        Self { ends: Some((source.to_owned(), target.to_owned())), ..self }
    }

    /// Plans how to read the table into a graph with this schema.
    pub(crate) fn plan(&self, id_type: IdType, schema: &Schema) -> Result<TablePlan, LoadError> {
        let hints = TableHints {
            kind: Some(self.kind),
            label: self.label.clone(),
            source: self.source.clone(),
            target: self.target.clone(),
            key: self.key.clone(),
            mapping: self.ends.as_ref().map(|(source, target)| {
                let (source, target) = (Some(source.clone()), Some(target.clone()));
                Arc::new(TableMapping { source, target, ..TableMapping::default() })
            }),
            stem: self.name.to_string(),
            ..TableHints::default()
        }
        .of_schema(schema);
        let mut plan = match &self.table {
            Table::Arrow { schema, .. } => plan_arrow(schema, &hints, &self.name)?,
            Table::Rows { names, values } => {
                if names.is_empty() || values.len() % names.len() != 0 {
                    let reason = format!("{} values do not make rows of {} columns", values.len(), names.len());
                    return Err(LoadError::format(Location::file(&self.name), reason));
                }
                let names: Vec<String> = names.iter().map(|name| name.to_string()).collect();
                plan_typed(&names, &hints, &self.name)?
            }
        };
        if plan.id_type == IdType::Auto {
            plan.id_type = id_type;
        }
        plan.keep_to(schema);
        Ok(plan)
    }

    /// Sends all rows, in batches.
    pub(crate) fn send(&self, plan: &TablePlan, sink: &mut Sink<'_>) -> Result<(), LoadError> {
        match &self.table {
            Table::Arrow { batches, .. } => {
                let mut row = 1;
                for batch in batches {
                    let bytes = |array: &ArrayRef| array.to_data().get_slice_memory_size().unwrap_or(0);
                    let bytes_of_row = batch.columns().iter().map(bytes).sum::<usize>() / batch.num_rows().max(1);
                    let rows = (BATCH_BYTES / bytes_of_row.max(1)).clamp(1, BATCH_ROWS);
                    for at in (0..batch.num_rows()).step_by(rows) {
                        let piece = batch.slice(at, rows.min(batch.num_rows() - at));
                        send_batch(&piece, plan, &self.name, row, sink)?;
                        row += piece.num_rows() as u64;
                    }
                }
            }
            Table::Rows { names, values } => {
                let mut row = 1;
                for rows in batches(values, names.len(), BATCH_BYTES) {
                    let count = rows.len() / names.len();
                    let columns: Vec<Input> = (0..names.len()).map(|at| column(rows, at, names.len())).collect();
                    send_columns(&columns, count, plan, &self.name, row, sink)?;
                    row += count as u64;
                }
            }
        }
        Ok(())
    }

    pub(crate) fn len(&self) -> usize {
        match &self.table {
            Table::Arrow { batches, .. } => batches.iter().map(RecordBatch::num_rows).sum(),
            Table::Rows { names, values } => values.len() / names.len().max(1),
        }
    }
}

const BATCH_ROWS: usize = 65_536;
/// A batch ends after the row that reaches this many bytes.
const BATCH_BYTES: usize = 64 << 20;

/// Rows of `width` values, in batches of at most [`BATCH_ROWS`] rows, each with little more than `bytes_max` bytes.
fn batches(mut values: &[Value], width: usize, bytes_max: usize) -> impl Iterator<Item = &[Value]> {
    std::iter::from_fn(move || {
        let (mut bytes, mut rows) = (0, 0);
        for row in values.chunks(width).take(BATCH_ROWS) {
            rows += 1;
            bytes += row.iter().map(|value| value.memory_bytes(bytes_max)).sum::<usize>();
            if bytes >= bytes_max {
                break;
            }
        }
        let (batch, rest) = values.split_at(rows * width);
        values = rest;
        (rows > 0).then_some(batch)
    })
}

/// One column of rows that are stored one after another.
fn column(rows: &[Value], at: usize, width: usize) -> Input {
    let values: Vec<Option<&Value>> =
        rows.iter().skip(at).step_by(width).map(|value| (!value.is_null()).then_some(value)).collect();
    match array_of(&values) {
        Some(array) => Input::Array(array),
        None => Input::Values(values.into_iter().map(|value| value.cloned().unwrap_or_default()).collect()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn batches_end_at_their_bytes_and_leave_no_row_out() {
        let row = |n: usize| [Value::from(n as i64), Value::string("x".repeat(if n.is_multiple_of(10) { 1000 } else { 1 }))];
        let values: Vec<Value> = (0..100).flat_map(row).collect();
        let all: Vec<&[Value]> = batches(&values, 2, 3000).collect();
        assert_eq!(all.concat(), values);
        assert!(all.len() > 3 && all.iter().all(|batch| batch.len().is_multiple_of(2)));
        let bytes = |batch: &[Value]| batch.iter().map(|value| value.memory_bytes(usize::MAX)).sum::<usize>();
        assert!(all.iter().all(|batch| bytes(&batch[..batch.len() - 2]) < 3000));
        assert_eq!(batches(&values, 2, usize::MAX).count(), 1);
        assert_eq!(batches(&[], 2, 3000).count(), 0);
    }
}
