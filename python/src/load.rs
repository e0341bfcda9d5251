//! `Database.load`: files and tables, in one transaction.

use std::path::PathBuf;
use std::sync::Arc;

use mangrove::ingest::{EdgeFiles, Format, NodeFiles, OnError};
use mangrove::{LoadOptions, LoadReport};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyList, PyString, PyTuple};

use crate::database::choice;

/// What a call of `load` asks for.
#[derive(Default)]
pub struct Request {
    pub options: LoadOptions,
    pub vertices: Vec<Table>,
    pub edges: Vec<Table>,
}
