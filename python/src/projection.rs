//! A projected graph, for programs in Python that compute with whole arrays.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Float64Type;
use arrow_array::{Array, ArrayRef, Float64Array, RecordBatch};
use arrow_schema::DataType;
use mangrove::analytics::project::{Along, Reduce};
use mangrove::graph::ReadContext;
use mangrove::{AnalyzeOptions, Projected};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyCapsule;

use crate::database::{Database, choice};
use crate::errors::raised;
use crate::{arrow, interrupt};

/// A projected graph. `mangrovedb.analyze.Projection` wraps it, and documents it.
#[pyclass(frozen, module = "mangrovedb", name = "_Projected")]
pub struct ProjectedGraph(pub Projected);

/// A column of values, which other libraries read through the Arrow interface.
#[pyclass(frozen, module = "mangrovedb", name = "_Values")]
pub struct Values(RecordBatch);

#[pymethods]
impl Values {
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        let _ = requested_schema; // The interface lets a producer leave the wish aside.
        arrow::capsule(py, self.0.clone())
    }
}

#[pymethods]
impl ProjectedGraph {
    fn __len__(&self) -> usize {
        self.0.len()
    }

    /// The number of outgoing edges of each vertex, or the sum of their weights, beside its id.
    fn out_degrees(&self, py: Python<'_>) -> PyResult<Values> {
        let values: ArrayRef = Arc::new(Float64Array::from(py.detach(|| self.0.out_degrees())));
        raised(self.0.batch(values)).map(Values)
    }

    /// The values of in-neighbours, made one.
    fn gather(&self, py: Python<'_>, values: &Bound<'_, PyAny>, reduce: &str, along: Option<&str>) -> PyResult<Values> {
        let reduce = match reduce {
            "sum" => Reduce::Sum,
            "min" => Reduce::Min,
            "max" => Reduce::Max,
            other => return Err(choice("reduce", other, &["sum", "min", "max"])),
        };
        let along = match along {
            None => Along::Nothing,
            Some("times") => Along::Times,
            Some("plus") => Along::Plus,
            Some(other) => return Err(choice("along", other, &["times", "plus"])),
        };
        let values = column(values)?;
        let Some(numbers) = values.as_primitive_opt::<Float64Type>().filter(|numbers| numbers.null_count() == 0) else {
            let found = values.data_type();
            return Err(PyTypeError::new_err(format!("gather() takes float64 without nulls, not {found}")));
        };
        let limits = ReadContext { cancel: interrupt::token(), ..ReadContext::default() };
        let found = raised(py.detach(|| self.0.gather(numbers.values(), reduce, along, &limits)))?;
        let found: ArrayRef = Arc::new(Float64Array::from(found));
        raised(self.0.batch(found)).map(Values)
    }

    /// Writes a value for each vertex to a property. Returns how many were written, and how many others they replaced.
    fn write(&self, py: Python<'_>, db: &Database, key: &str, values: &Bound<'_, PyAny>) -> PyResult<(u64, u64)> {
        let (inner, values) = (db.handle()?, column(values)?);
        let options = AnalyzeOptions { cancel: interrupt::token(), ..AnalyzeOptions::default() };
        let done = raised(py.detach(|| inner.write_projected(&self.0, key, &values, &options)))?;
        Ok((done.written, done.replaced))
    }
}

/// The only column of a table.
fn column(table: &Bound<'_, PyAny>) -> PyResult<ArrayRef> {
    let reader = arrow::reader(table)?.ok_or_else(|| PyTypeError::new_err("expected an Arrow table"))?;
    let kind = reader.schema().fields().first().map_or(DataType::Null, |field| field.data_type().clone());
    let batches = reader.collect::<Result<Vec<RecordBatch>, _>>().map_err(arrow::error)?;
    let arrays: Vec<&dyn Array> = batches.iter().map(|batch| &**batch.column(0)).collect();
    match arrays.is_empty() {
        true => Ok(arrow_array::new_empty_array(&kind)),
        false => arrow_select::concat::concat(&arrays).map_err(|error| PyValueError::new_err(error.to_string())),
    }
}
