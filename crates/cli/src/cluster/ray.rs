//! Nodes that Ray keeps running. Only the Python package knows Ray: it is asked in words of JSON.

use std::process::{Command, Stdio};

use serde_json::{Value, json};

use super::python;
use crate::Failure;

const MODULE: &str = "mangrovedb._launcher";

fn module() -> Result<Command, Failure> {
    let another =
        "Ray needs the command of the Python package, and this is another one: pip install \"mangrovedb[cluster]\"";
    python::module(MODULE).ok_or_else(|| Failure::Request(another.into()))
}

/// Fails, and says what to do, if Ray is not installed or does not run.
pub fn must_run() -> Result<(), Failure> {
    ask(module()?, "check", &json!({})).map(drop)
}

/// Starts the nodes of a graph under Ray, unless they run. Gives the address of the graph.
pub fn up(settings: &Value) -> Result<String, Failure> {
    match &ask(module()?, "up", settings)?["address"] {
        Value::String(address) => Ok(address.clone()),
        _ => Err(silent()),
    }
}

/// Ends those nodes of a graph at some addresses that Ray keeps running, and gives their names. Without Ray, there are none.
pub fn down(graph: &str, addresses: &[&str]) -> Result<Vec<String>, Failure> {
    let Some(python) = python::module(MODULE) else { return Ok(Vec::new()) };
    let said = ask(python, "down", &json!({ "name": graph, "addresses": addresses }))?;
    let ended = said["ended"].as_array().ok_or_else(silent)?;
    Ok(ended.iter().filter_map(|name| name.as_str().map(str::to_owned)).collect())
}

/// Says something to the module. It gives an object, which has an error if it could not do it.
fn ask(mut python: Command, what: &str, settings: &Value) -> Result<Value, Failure> {
    let said = python.arg(what).arg(settings.to_string()).stdin(Stdio::null()).stderr(Stdio::inherit()).output();
    let said = said.map_err(|error| Failure::Request(format!("cannot run Python: {error}")))?;
    let text = String::from_utf8_lossy(&said.stdout);
    let told: Value = text.lines().last().and_then(|line| serde_json::from_str(line).ok()).ok_or_else(silent)?;
    match &told["error"] {
        Value::String(error) => Err(Failure::Request(error.clone())),
        _ => Ok(told),
    }
}

fn silent() -> Failure {
    Failure::Request("Python has ended without an answer: what it has said is above".into())
}
