//! A graph whose edges a program gives as arrays.

use arrow_array::RecordBatch;
use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, UInt32Type};
use arrow_select::concat::concat_batches;
use mangrove::{AnalyzeOptions, Arrays, Parameters};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::analysis::Analysis;
use crate::errors::raised;
use crate::{arrow, interrupt, parameters};

/// A graph in arrays. `mangrovedb.nx_backend` makes it of a NetworkX graph.
#[pyclass(frozen, module = "mangrovedb", name = "_Arrays")]
pub struct ArrayGraph(Arrays);

#[pymethods]
impl ArrayGraph {
    /// `edges` has the columns `source` and `target` of uint32, and perhaps `weight` of float64.
    #[new]
    fn new(py: Python<'_>, vertices: u32, edges: &Bound<'_, PyAny>, directed: bool) -> PyResult<Self> {
        let reader = arrow::reader(edges)?.ok_or_else(|| PyTypeError::new_err("expected an Arrow table"))?;
        let schema = reader.schema();
        let batches = reader.collect::<Result<Vec<RecordBatch>, _>>().map_err(arrow::error)?;
        let all = concat_batches(&schema, &batches).map_err(|error| PyValueError::new_err(error.to_string()))?;
        let ends = |name: &str| {
            let column = all.column_by_name(name).and_then(|column| column.as_primitive_opt::<UInt32Type>());
            column.map(|column| &column.values()[..]).ok_or_else(|| PyTypeError::new_err(format!("`{name}` must be uint32")))
        };
        let weights = match all.column_by_name("weight").map(|column| column.as_primitive_opt::<Float64Type>()) {
            Some(None) => return Err(PyTypeError::new_err("`weight` must be float64")),
            column => column.flatten().map(|column| &column.values()[..]),
        };
        let (sources, targets) = (ends("source")?, ends("target")?);
        raised(py.detach(|| Arrays::new(vertices, (sources, targets), weights, directed))).map(Self)
    }

    /// Runs an algorithm. The ids in what it finds are numbers.
    fn analyze(&self, py: Python<'_>, name: &str, options: &Bound<'_, PyDict>) -> PyResult<Analysis> {
        let mut arguments = Parameters::new();
        for (name, value) in options {
            arguments.insert(name.extract()?, parameters::value(&value)?);
        }
        let wanted = AnalyzeOptions { cancel: interrupt::token(), ..AnalyzeOptions::default() };
        Analysis::new(py, name, raised(py.detach(|| self.0.analyze(name, &arguments, &wanted, &mut |_| ())))?)
    }
}
