//! Orders of vertices, from and to Python.

use mangrove::{Layout, LayoutOptions, LayoutReport, Measures, Ties};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::database::choice;

/// What the arguments `layout` and `ties` ask for.
pub fn options(layout: &str, ties: &str) -> PyResult<LayoutOptions> {
    let layouts = Layout::ALL.map(Layout::name);
    let all_ties = Ties::ALL.map(Ties::name);
    let layout = Layout::parse(layout).ok_or_else(|| choice("layout", layout, &layouts))?;
    let ties = Ties::parse(ties).ok_or_else(|| choice("ties", ties, &all_ties))?;
    if ties != Ties::Uniform && layout != Layout::Community {
        return Err(PyValueError::new_err("ties is for layout=\"community\""));
    }
    Ok(LayoutOptions { layout, ties, ..LayoutOptions::default() })
}

/// What an order is worth, as a dict.
pub fn measures<'py>(py: Python<'py>, measures: &Measures) -> PyResult<Bound<'py, PyDict>> {
    let out = PyDict::new(py);
    out.set_item("cost", measures.cost)?;
    out.set_item("distance", measures.distance())?;
    out.set_item("bits_per_edge", measures.bits_per_entry())?;
    out.set_item("blocks_per_list", measures.blocks_per_list())?;
    Ok(out)
}

/// What an order is worth, beside the one before, and how long it took to find.
pub fn report<'py>(py: Python<'py>, report: &LayoutReport) -> PyResult<Bound<'py, PyDict>> {
    let out = PyDict::new(py);
    out.set_item("name", report.layout.name())?;
    out.set_item("before", measures(py, &report.before)?)?;
    out.set_item("after", measures(py, &report.after)?)?;
    out.set_item("seconds", report.duration.as_secs_f64())?;
    out.set_item("sample", report.sample)?;
    Ok(out)
}

/// What the order that is there is worth, and what each layout would give.
pub fn reports<'py>(py: Python<'py>, reports: &[LayoutReport]) -> PyResult<Bound<'py, PyDict>> {
    let out = PyDict::new(py);
    for found in reports {
        let name = if found.layout == Layout::None { "now" } else { found.layout.name() };
        out.set_item(name, measures(py, &found.after)?)?;
    }
    Ok(out)
}
