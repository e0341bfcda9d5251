//! Shards that go from node to node, for `mangrovedb.moves`, which documents the calls.

use mangrove::cluster::{self, GraphAddress, Move, Watching};
use mangrove::{GraphError, OpenError};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::errors::{Raise, guarded, raised};
use crate::{interrupt, progress};

/// Parts of messages, as the command writes them, and in Python.
const IN_PYTHON: [(&str, &str); 3] = [("--from", "from_node="), ("--replicas", "replicas="), ("--without ", "without=")];

/// One more node has a shard.
#[pyfunction]
#[pyo3(signature = (address, shard, to, progress))]
pub fn copy_shard(py: Python<'_>, address: &str, shard: i64, to: &str, progress: Option<&Bound<'_, PyAny>>) -> PyResult<()> {
    let (address, number) = (parsed(address)?, small("shard", shard)?);
    watched(py, number, progress, |watching| cluster::copy_shard(&address, number, to, watching))
}

/// Another node has a shard instead of one that has it. Gives the name of that.
#[pyfunction]
#[pyo3(signature = (address, shard, to, from_node, progress))]
pub fn move_shard(
    py: Python<'_>,
    address: &str,
    shard: i64,
    to: &str,
    from_node: Option<&str>,
    progress: Option<&Bound<'_, PyAny>>,
) -> PyResult<String> {
    let (address, number) = (parsed(address)?, small("shard", shard)?);
    watched(py, number, progress, |watching| cluster::move_shard(&address, number, from_node, to, watching))
}

/// One node less has a shard.
#[pyfunction]
pub fn drop_shard(py: Python<'_>, address: &str, shard: i64, from_node: &str) -> PyResult<()> {
    let (address, number) = (parsed(address)?, small("shard", shard)?);
    spelled(guarded(py, "dropping a shard", || cluster::drop_shard(&address, number, from_node))?)
}

/// What to do so that nodes have about as many shards: a dict for each shard, with who gives it away and who gets it.
#[pyfunction]
#[pyo3(signature = (address, replicas, without))]
pub fn plan_moves<'py>(
    py: Python<'py>,
    address: &str,
    replicas: Option<i64>,
    without: Vec<String>,
) -> PyResult<Vec<Bound<'py, PyDict>>> {
    let (address, replicas) = (parsed(address)?, replicas.map(|count| small("replicas", count)).transpose()?);
    let planned = spelled(guarded(py, "planning moves", || cluster::rebalance(&address, replicas, &without))?)?;
    planned.iter().map(|step| as_dict(py, step)).collect()
}

/// Takes a node that has ended off the list of nodes.
#[pyfunction]
pub fn remove_node(py: Python<'_>, address: &str, node: &str) -> PyResult<()> {
    let address = parsed(address)?;
    spelled(guarded(py, "removing a node", || cluster::remove(&address, node))?)
}

fn parsed(address: &str) -> PyResult<GraphAddress> {
    let wrong = |error: &dyn std::fmt::Display| OpenError::Cluster(GraphError::Invalid(error.to_string()));
    raised(address.parse::<GraphAddress>().map_err(|error| wrong(&error)))
}

/// A number that may be that of a shard, or count nodes.
fn small(argument: &str, given: i64) -> PyResult<u16> {
    let what = || PyValueError::new_err(format!("{argument} must be a number from 0 to {}, not {given}", u16::MAX));
    u16::try_from(given).map_err(|_| what())
}

fn as_dict<'py>(py: Python<'py>, step: &Move) -> PyResult<Bound<'py, PyDict>> {
    let (shard, from, to) = match step {
        Move::Copy { shard, to } => (shard, None, Some(to)),
        Move::Move { shard, from, to } => (shard, Some(from), Some(to)),
        Move::Drop { shard, from } => (shard, Some(from), None),
    };
    let out = PyDict::new(py);
    out.set_item("shard", shard)?;
    out.set_item("from", from)?;
    out.set_item("to", to)?;
    Ok(out)
}

/// Runs a move of a shard without the interpreter's lock. Shows its progress to whoever wishes; Ctrl-C cancels it.
fn watched<T: Send>(
    py: Python<'_>,
    shard: u16,
    progress: Option<&Bound<'_, PyAny>>,
    work: impl FnOnce(&mut Watching<'_>) -> Result<T, GraphError> + Send,
) -> PyResult<T> {
    let line = progress::receiver(py, progress, "Stages")?;
    let callback = line.as_ref().map(|line| line.clone().unbind());
    let outcome = guarded(py, "moving a shard", || {
        let (cancel, stage) = (interrupt::token(), format!("shard {shard}"));
        let mut show = |applied: u64, of: u64| {
            let Some(callback) = &callback else { return };
            if !interrupt::called(|py| callback.call1(py, (stage.as_str(), applied, of))) {
                cancel.cancel();
            }
        };
        work(&mut Watching { show: &mut show, is_cancelled: &|| cancel.is_cancelled() })
    });
    progress::close(line)?;
    // The shard may have arrived just before the work was to stop.
    match interrupt::take() {
        Some(raised) => Err(raised),
        None => spelled(outcome?),
    }
}

/// Raises an error, with the names of options that Python knows.
fn spelled<T>(outcome: Result<T, GraphError>) -> PyResult<T> {
    let spell = |what: String| IN_PYTHON.iter().fold(what, |what, (from, to)| what.replace(from, to));
    outcome.map_err(|error| match error {
        GraphError::Invalid(what) => GraphError::Invalid(spell(what)).raise(),
        GraphError::Unavailable(what) => GraphError::Unavailable(spell(what)).raise(),
        other => other.raise(),
    })
}
