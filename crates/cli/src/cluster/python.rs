//! The Python in which this command runs, if it is the one of the Python package.

use std::process::Command;

/// In a Python process, the module is the program. It says which Python runs it.
const PYTHON: &str = "MANGROVE_PYTHON";

/// Runs a module of the Python package; `None` if this is the program that Rust builds.
pub fn module(name: &str) -> Option<Command> {
    let mut command = Command::new(std::env::var_os(PYTHON)?);
    command.args(["-m", name]);
    Some(command)
}
