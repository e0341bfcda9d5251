//! Runs TinkerPop's own scenarios against Mangrove's Gremlin.
//!
//! ```text
//!  mvn ─ fetch ─ features ─ gherkin ─ scenarios ─┐
//!                   grateful ─ graphs ─ database ─┴─ scenario ─ reports ─┬─ totals, groups, JSON
//!                                          notation ─┘                   ├─ compared with expected-failures.txt
//!                                                                        └─ support table of docs/gremlin.md
//! ```
//!
//! Exit codes: 0 the run is as expected, 1 it is not, 2 usage.

mod database;
mod expected;
mod fetch;
mod gherkin;
mod graphs;
mod nodes;
mod notation;
mod report;
mod scenario;
mod services;
mod shards;
mod support;
mod wire;

use std::collections::{BTreeSet, HashSet};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;
use std::{fs, panic};

use clap::Parser;

use crate::database::StoreKind;
use crate::expected::ExpectedFailures;
use crate::fetch::Suite;
use crate::gherkin::Scenario;
use crate::nodes::Nodes;
use crate::report::Totals;
use crate::scenario::{Outcome, Report, Runner};

/// Runs TinkerPop's Gremlin scenarios and compares what fails with the list of expected failures.
#[derive(Parser)]
#[command(name = "conformance")]
struct Arguments {
    /// The store to run on.
    #[arg(long, value_enum, default_value = "hot")]
    store: StoreKind,
    /// The graph on nodes that `--store nodes` runs on, like mangrove://127.0.0.1:7701/NAME. It is emptied.
    #[arg(long, required_if_eq("store", "nodes"))]
    address: Option<String>,
    /// Runs only the scenarios whose ids are in this file, one a line.
    #[arg(long, value_name = "FILE")]
    names: Option<PathBuf>,
    /// Runs only the scenarios whose id contains this.
    #[arg(long, value_name = "SUBSTRING")]
    only: Vec<String>,
    /// Prints each failure with its query and the reason.
    #[arg(short, long)]
    verbose: bool,
    /// Prints the reasons of failures, the commonest first.
    #[arg(long)]
    group: bool,
    /// Writes the outcome of each scenario.
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Does nothing, and says so, where Maven is missing.
    #[arg(long)]
    if_available: bool,
    /// Rewrites the list of expected failures from this run.
    #[arg(long)]
    write_expected: bool,
    /// A further list, of scenarios that may fail or pass on this store.
    #[arg(long, value_name = "FILE", conflicts_with = "write_expected")]
    may_fail: Option<PathBuf>,
    /// Writes the table of steps into this document.
    #[arg(long, value_name = "FILE")]
    write_docs: Option<PathBuf>,
    /// Fails if the table of steps in this document is not that of this run.
    #[arg(long, value_name = "FILE", conflicts_with = "write_docs")]
    check_docs: Option<PathBuf>,
}

fn main() -> ExitCode {
    let options = Arguments::parse();
    if options.if_available && !fetch::has_maven() {
        println!("conformance skipped: it needs Maven (mvn) to fetch TinkerPop's scenarios, and this machine has none");
        return ExitCode::SUCCESS;
    }
    match run(&options) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(message) => {
            eprintln!("conformance: {message}");
            ExitCode::FAILURE
        }
    }
}

fn run(options: &Arguments) -> Result<bool, String> {
    let home = Path::new(env!("CARGO_MANIFEST_DIR"));
    let suite = Suite::open(&home.join(".cache"))?;
    let scenarios = suite.scenarios()?;
    let mut chosen = select(&scenarios, options)?;
    let nodes = options.address.as_deref().filter(|_| options.store == StoreKind::Nodes).map(Nodes::connect).transpose()?;
    if nodes.is_some() {
        // Their graph becomes another one as rarely as possible. Empty ones come last: each leaves numbers of labels behind.
        chosen.sort_by_key(|scenario| (scenario.graph() == "empty", scenario.graph()));
    }
    let start = Instant::now();
    let reports = run_scenarios(&chosen, Runner::new(options.store, nodes, suite.grateful()?), options.verbose);
    let time = start.elapsed();
    if options.group {
        print!("{}", report::by_reason(&reports));
    }
    print!("\n{}", report::by_directory(&reports));
    println!("\n{}", Totals::of(&reports).line());
    println!("{} scenarios in {:.1} s on the {:?} store", reports.len(), time.as_secs_f64(), options.store);
    if let Some(path) = &options.json {
        write(path, &report::json(&reports, &format!("{:?}", options.store).to_lowercase(), time))?;
    }
    let list = home.join("expected-failures.txt");
    let as_expected = if options.write_expected {
        rewrite_expected(&list, &reports)?
    } else {
        check_expected(&list, options.may_fail.as_deref(), &scenarios, &reports)?
    };
    Ok(check_docs(&scenarios, &reports, options)? && as_expected)
}

fn select<'a>(scenarios: &'a [Scenario], options: &Arguments) -> Result<Vec<&'a Scenario>, String> {
    let names = options.names.as_deref().map(read).transpose()?;
    let names: Option<HashSet<&str>> = names.as_deref().map(|text| text.lines().map(str::trim).collect());
    let chosen = |s: &&Scenario| {
        names.as_ref().is_none_or(|names| names.contains(s.id.as_str()))
            && (options.only.is_empty() || options.only.iter().any(|part| s.id.contains(part.as_str())))
    };
    Ok(scenarios.iter().filter(chosen).collect())
}

fn run_scenarios(scenarios: &[&Scenario], mut runner: Runner, verbose: bool) -> Vec<Report> {
    let mut reports = Vec::with_capacity(scenarios.len());
    for scenario in scenarios {
        let report = runner.run(scenario);
        if verbose && report.outcome == Outcome::Failed {
            println!(
                "FAILED {}\n    {}\n    {}\n",
                report.id,
                report::one_line(&report.gremlin),
                report.reason.replace('\n', "\n    ")
            );
        }
        reports.push(report);
    }
    drop(panic::take_hook());
    reports
}

/// Rewrites the list at `path`.
fn rewrite_expected(path: &Path, reports: &[Report]) -> Result<bool, String> {
    let expected = ExpectedFailures::parse(&if path.exists() { read(path)? } else { String::new() });
    write(path, &expected.rewritten(reports))?;
    println!("wrote {}; fill in the reasons that are missing", path.display());
    Ok(true)
}

/// Compares the run with the list, and with that of scenarios that may fail or pass.
fn check_expected(list: &Path, either: Option<&Path>, scenarios: &[Scenario], reports: &[Report]) -> Result<bool, String> {
    let either = either.map(read).transpose()?.unwrap_or_default();
    let expected = ExpectedFailures::parse(&read(list)?).with_either(&either);
    let suite: BTreeSet<&str> = scenarios.iter().map(|s| s.id.as_str()).collect();
    let differences = expected.differences(reports, &suite);
    for (what, ids) in differences.lists() {
        if !ids.is_empty() {
            println!("\n{} scenarios {what}:\n  {}", ids.len(), ids.join("\n  "));
        }
    }
    if differences.is_empty() {
        println!("every failure is one that {} gives a reason for", list.file_name().unwrap_or_default().display());
    }
    Ok(differences.is_empty())
}

fn check_docs(scenarios: &[Scenario], reports: &[Report], options: &Arguments) -> Result<bool, String> {
    let Some(path) = options.write_docs.as_ref().or(options.check_docs.as_ref()) else { return Ok(true) };
    if reports.len() != scenarios.len() {
        return Err("the table of steps is made from a run of the whole suite: leave --names and --only out".into());
    }
    let document = read(path)?;
    let current =
        support::inserted(&document, &support::table(scenarios, reports)).map_err(|e| format!("{}: {e}", path.display()))?;
    if options.write_docs.is_some() {
        write(path, &current)?;
    } else if current != document {
        println!("the table of steps in {} is out of date: rewrite it with --write-docs", path.display());
        return Ok(false);
    }
    Ok(true)
}

fn read(path: &Path) -> Result<String, String> {
    fs::read_to_string(path).map_err(|e| format!("{}: {e}", path.display()))
}

fn write(path: &Path, text: &str) -> Result<(), String> {
    fs::write(path, text).map_err(|e| format!("{}: {e}", path.display()))
}
