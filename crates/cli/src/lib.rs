//! The `mangrove` command. Each subcommand is one file.
//!
//! Results go to stdout, everything else to stderr. Exit codes: 0 done; 1 the request failed (the message says why and where); 2
//! the command was not understood; 130 stopped by Ctrl-C. If the reader of stdout closes it (`| head`), the command ends quietly.
//! Commands that only read open the database read-only, so they run beside a writer.

mod analyze;
mod backup;
mod bench;
mod check;
mod cluster;
mod compact;
mod demo;
mod docs;
mod export;
mod follow;
mod interrupt;
mod lake;
mod load;
mod log;
mod mcp;
mod merging;
mod node;
mod output;
mod params;
mod paths;
mod progress;
mod query;
mod relayout;
mod serve;
mod shell;
mod stats;
mod users;

use std::ffi::OsString;
use std::io::{self, Write};
use std::path::Path;

use clap::{Parser, Subcommand};

use mangrove::error::{ExportError, LoadError, OpenError, QueryError, StoreError};
use mangrove::readers::{NoReaders, Readers};
use mangrove::{Database, LakeError, OpenOptions, QueryErrorKind};

/// A property-graph database: load files, ask questions in Gremlin.
#[derive(Parser)]
#[command(name = "mangrove", version, propagate_version = true, max_term_width = 120)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
    /// Show on standard error what happens and how long it takes: off, error, warn, info or debug.
    #[arg(long, global = true, value_name = "LEVEL")]
    #[arg(value_parser = clap::builder::PossibleValuesParser::new(mangrove::LEVELS))]
    trace: Option<String>,
}

#[derive(Subcommand)]
enum Command {
    #[command(alias = "import")]
    Load(Box<load::Load>),
    Follow(Box<follow::Follow>),
    Query(query::Query),
    Analyze(analyze::Analyze),
    Shell(shell::Shell),
    Export(export::Export),
    Stats(stats::Stats),
    Check(check::Check),
    Backup(backup::Backup),
    Compact(compact::Compact),
    Relayout(relayout::Relayout),
    Paths(paths::Paths),
    Bench(bench::Bench),
    Serve(Box<serve::Serve>),
    Mcp(mcp::Mcp),
    Users(users::Users),
    Lake(lake::Lake),
    #[command(subcommand)]
    Cluster(cluster::Cluster),
    Node(node::Node),
    Demo(demo::Demo),
    Docs(docs::Docs),
}

/// Runs the command with these `arguments` and returns its exit code. The first argument is the name of the program.
///
/// ```
/// assert_eq!(mangrove_cli::run(["mangrove", "--version"]), 0);
/// assert_eq!(mangrove_cli::run(["mangrove", "no-such-command"]), 2);
/// ```
pub fn run(arguments: impl IntoIterator<Item = impl Into<OsString> + Clone>) -> u8 {
    run_with(arguments, &NoReaders)
}

/// Like [`run`], for a program that reads some files itself. An error of `readers` is a message for the user.
pub fn run_with(arguments: impl IntoIterator<Item = impl Into<OsString> + Clone>, readers: &dyn Readers<String>) -> u8 {
    let outcome = match Arguments::try_parse_from(arguments) {
        Ok(arguments) => {
            // In a program with a subscriber of its own, that one shows the traces.
            // A node warns of connections that it refuses.
            let usual = if matches!(arguments.command, Command::Node(_)) { "warn" } else { "error" };
            let _ = mangrove::trace(arguments.trace.as_deref().unwrap_or(usual));
            dispatch(arguments.command, readers)
        }
        Err(error) => {
            // Help goes to stdout, errors to stderr. If neither can be written to, nobody can see a message.
            let _ = error.print();
            return if error.use_stderr() { 2 } else { 0 };
        }
    };
    match outcome {
        Ok(()) => 0,
        Err(failure) => failure.report(),
    }
}

fn dispatch(command: Command, readers: &dyn Readers<String>) -> Result<(), Failure> {
    match command {
        Command::Load(load) => load.run(readers),
        Command::Follow(follow) => follow.run(),
        Command::Query(query) => query.run(),
        Command::Analyze(analyze) => analyze.run(),
        Command::Shell(shell) => shell.run(),
        Command::Export(export) => export.run(),
        Command::Stats(stats) => stats.run(),
        Command::Check(check) => check.run(),
        Command::Backup(backup) => backup.run(),
        Command::Compact(compact) => compact.run(),
        Command::Relayout(relayout) => relayout.run(),
        Command::Paths(paths) => paths.run(),
        Command::Bench(bench) => bench.run(),
        Command::Serve(serve) => serve.run(),
        Command::Mcp(mcp) => mcp.run(),
        Command::Users(users) => users.run(),
        Command::Lake(lake) => lake.run(),
        Command::Cluster(cluster) => cluster.run(),
        Command::Node(node) => node.run(),
        Command::Demo(demo) => demo.run(),
        Command::Docs(docs) => docs.run(),
    }
}

/// Why a command failed.
#[derive(Debug)]
pub(crate) enum Failure {
    Request(String),
    Usage(String),
    Interrupted(String),
    /// The reader of stdout has closed it.
    NobodyReads,
}

impl Failure {
    fn report(self) -> u8 {
        let (message, code) = match self {
            Failure::Request(message) if interrupt::requested() => (format!("interrupted: {message}"), interrupt::EXIT_CODE),
            Failure::Request(message) => (message, 1),
            Failure::Usage(message) => (message, 2),
            Failure::Interrupted(message) => (message, interrupt::EXIT_CODE),
            Failure::NobodyReads => return 0,
        };
        say(&format!("error: {message}"));
        code
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::BrokenPipe => Failure::NobodyReads,
            _ => Failure::Request(format!("cannot write the output: {error}")),
        }
    }
}

impl From<QueryError> for Failure {
    fn from(error: QueryError) -> Self {
        match &error {
            QueryError::Query(failure) if failure.kind == QueryErrorKind::Cancelled && interrupt::requested() => {
                Failure::Interrupted("interrupted; the query was stopped and changed nothing".into())
            }
            _ => Failure::Request(in_command(&error.render())),
        }
    }
}

fn warn(warnings: &[String]) {
    warnings.iter().for_each(|warning| say(&format!("warning: {}", in_command(warning))));
}

/// A message of a query with the command's names for what programs call.
fn in_command(message: &str) -> String {
    const NAMES: [(&str, &str); 5] = [
        ("pass it with the query, as in ", "pass it with the query, as in --param "),
        ("in the query, and pass it as in ", "in the query, and pass it as in --param "),
        ("use `db.transaction()`", "use `:begin` in `mangrove shell`"),
        ("declare_key('", "in Python, declare_key('"),
        ("use rename_label() of the database", "use rename_label() in Python"),
    ];
    NAMES.iter().fold(message.to_owned(), |message, (call, name)| message.replace(call, name))
}

impl From<LoadError> for Failure {
    fn from(error: LoadError) -> Self {
        match &error {
            LoadError::Load(mangrove::ingest::LoadError::Cancelled) | LoadError::Lake(LakeError::Cancelled) => {
                Failure::Interrupted("interrupted; the load was rolled back and the database is as it was".into())
            }
            _ => Failure::Request(error.to_string()),
        }
    }
}

macro_rules! request_failures {
    ($($error:ty),*) => {
        $(impl From<$error> for Failure {
            fn from(error: $error) -> Self {
                Failure::Request(error.to_string())
            }
        })*
    };
}

request_failures!(OpenError, StoreError);

impl From<ExportError> for Failure {
    fn from(error: ExportError) -> Self {
        match &error {
            ExportError::Export(mangrove::ingest::ExportError::Cancelled) | ExportError::Lake(LakeError::Cancelled) => {
                Failure::Interrupted("interrupted; the export removed the files it had written".into())
            }
            _ => Failure::Request(error.to_string()),
        }
    }
}

/// Writes a message to stderr.
fn say(message: &str) {
    // Without a stderr nobody can see a message.
    let _ = writeln!(io::stderr().lock(), "{message}");
}

/// Whether a database is named by the address of a graph on many nodes.
fn is_address(path: &Path) -> bool {
    path.to_str().is_some_and(|text| text.starts_with("mangrove://"))
}

/// Connects to a graph on many nodes, if that is what a path is.
fn connected(path: &Path, is_read_only: bool) -> Option<Result<Database, Failure>> {
    let address = path.to_str().filter(|text| text.starts_with("mangrove://"))?;
    Some(Database::connect_with(address, is_read_only).map_err(Failure::from))
}

fn open_reading(path: &Path) -> Result<Database, Failure> {
    if let Some(database) = connected(path, true) {
        return database;
    }
    // Opening a lake tells what to name instead of a directory of files, or of one of them.
    if mangrove::is_description(path) || mangrove::is_files_of_others(path) {
        return Ok(Database::open_lake(path)?);
    }
    Ok(Database::open_with(path, &OpenOptions { read_only: true, create: false, ..OpenOptions::default() })?)
}

fn open_writing(path: &Path) -> Result<Database, Failure> {
    if let Some(database) = connected(path, false) {
        return database;
    }
    if mangrove::is_description(path) {
        let place = path.display();
        return Err(Failure::Request(format!(
            "{place} describes files that others may use too: they are read, never written"
        )));
    }
    Ok(Database::open_with(path, &OpenOptions { create: false, ..OpenOptions::default() })?)
}

/// `1 row`, `2 rows`, `1,234 rows`.
fn counted(count: u64, one: &str, many: &str) -> String {
    format!("{} {}", grouped(count), if count == 1 { one } else { many })
}

/// A number with commas between thousands.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::with_capacity(digits.len() * 4 / 3);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_well_formed() {
        use clap::CommandFactory;
        Arguments::command().debug_assert();
    }

    #[test]
    fn numbers_are_grouped_by_thousands() {
        assert_eq!([0, 999, 1000, 1_234_567].map(grouped), ["0", "999", "1,000", "1,234,567"]);
    }
}
