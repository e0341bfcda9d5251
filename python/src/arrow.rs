//! Arrow data in and out through the PyCapsule interface. It passes pointers and copies nothing. Neither side needs a Python
//! library for Arrow.

use std::ffi::CStr;

use arrow_array::ffi_stream::{ArrowArrayStreamReader, FFI_ArrowArrayStream};
use arrow_array::{RecordBatch, RecordBatchIterator, RecordBatchReader};
use arrow_schema::ArrowError;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;

const STREAM: &CStr = c"arrow_array_stream";
const EXPORT: &str = "__arrow_c_stream__";

pub type BatchReader = Box<dyn RecordBatchReader + Send>;

/// A reader of the batches that `object` offers; `None` if it offers none.
pub fn reader(object: &Bound<'_, PyAny>) -> PyResult<Option<BatchReader>> {
    if !object.hasattr(EXPORT)? {
        return Ok(None);
    }
    let capsule = object.call_method0(EXPORT)?.cast_into::<PyCapsule>()?;
    let pointer = capsule.pointer_checked(Some(STREAM))?.cast::<FFI_ArrowArrayStream>();
    // SAFETY: a capsule of this name holds a valid `ArrowArrayStream`. The interface lets the consumer move it out if it leaves a
    // released one (`empty`) behind. The capsule is ours alone and lives until the end of this function.
    let stream = unsafe { std::ptr::replace(pointer.as_ptr(), FFI_ArrowArrayStream::empty()) };
    let reader = ArrowArrayStreamReader::try_new(stream).map_err(error)?;
    Ok(Some(Box::new(reader)))
}

/// A capsule from which a consumer takes `batch`.
pub fn capsule<'py>(py: Python<'py>, batch: RecordBatch) -> PyResult<Bound<'py, PyCapsule>> {
    let schema = batch.schema();
    capsule_of(py, Box::new(RecordBatchIterator::new([Ok(batch)], schema)))
}

/// A capsule from which a consumer reads batches.
pub fn capsule_of<'py>(py: Python<'py>, reader: BatchReader) -> PyResult<Bound<'py, PyCapsule>> {
    PyCapsule::new_with_value(py, FFI_ArrowArrayStream::new(reader), STREAM)
}

pub fn error(error: ArrowError) -> PyErr {
    PyValueError::new_err(error.to_string())
}
