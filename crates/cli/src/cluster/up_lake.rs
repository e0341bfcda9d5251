//! `mangrove cluster up --lake`: the nodes of a lake as processes on this machine.

use std::collections::BTreeSet;
use std::path::Path;
use std::time::{Duration, Instant};

use mangrove::cluster::{self, GraphAddress, LakeNode};
use serde_json::json;

use super::failed;
use super::up::{Addresses, PAUSE, Places, Planned, Started, Up, name_of, print};
use crate::{Failure, output, say};

/// How long nodes may take to open the lake and to hear of each other.
const STARTING: Duration = Duration::from_secs(60);

/// Starts those nodes that do not run.
pub fn run(up: &Up, lake: &Path) -> Result<(), Failure> {
    if up.is_under_ray() {
        return up.run_under_ray(json!({ "lake": lake.display().to_string() }));
    }
    let (addresses, mut places) = (Addresses(&up.data), Places::default());
    let last: Vec<String> =
        (0..up.nodes).filter_map(|node| addresses.last(&name_of(node))).map(|address| address.to_string()).collect();
    let (running, place) = (running(&address(up, last)), full(lake));
    running.iter().try_for_each(|node| must_have(&addresses, node, &place))?;
    let mut planned = Vec::new();
    for name in (0..up.nodes).map(name_of) {
        match running.iter().find(|node| node.name == name) {
            Some(node) => say(&format!("{name} runs already: {}", node.address)),
            None => {
                let address = places.take(addresses.last(&name)).map_err(failed)?;
                planned.push(Planned { name, address, shards: Vec::new(), arguments: Vec::new() });
            }
        }
    }
    let all: Vec<String> =
        running.iter().map(|node| &node.address).chain(planned.iter().map(|node| &node.address)).cloned().collect();
    for node in &mut planned {
        node.arguments = arguments(up, lake, node, &all);
    }
    drop(places);
    if up.prints() {
        return print(&planned);
    }
    let mut started = Started::default();
    started.start_all(&planned, &up.data)?;
    planned.iter().try_for_each(|node| addresses.keep_lake(&node.name, &place))?;
    let address = address(up, all);
    wait_for(&mut started, &address)?;
    planned.iter().for_each(|node| say(&format!("{} has started", node.name)));
    started.release();
    output::print_text(&format!("{address}\n"))
}

fn address(up: &Up, nodes: Vec<String>) -> GraphAddress {
    GraphAddress { nodes, graph: up.name.clone(), tls: up.tls.clone() }
}

/// The place of a lake, the same from every directory.
fn full(lake: &Path) -> String {
    let text = lake.display().to_string();
    match text.contains("://") {
        true => text,
        false => std::fs::canonicalize(lake).map_or(text, |path| path.display().to_string()),
    }
}

/// Fails if a node that runs has another lake. Nothing is known of one that another command started.
fn must_have(addresses: &Addresses<'_>, node: &LakeNode, lake: &str) -> Result<(), Failure> {
    match addresses.lake(&node.name) {
        Some(other) if other != lake => Err(Failure::Request(format!(
            "{} runs already, and reads another lake: {other}. End its nodes first (`mangrove cluster down`), or name another directory with --data",
            node.name
        ))),
        _ => Ok(()),
    }
}

/// The nodes of the lake that run, if the nodes that this command started last say so.
fn running(address: &GraphAddress) -> Vec<LakeNode> {
    let found = if address.nodes.is_empty() { None } else { cluster::lake_nodes(address).ok().flatten() };
    found.into_iter().flatten().filter_map(|found| found.hello.ok()).map(|hello| hello.node).collect()
}

fn arguments(up: &Up, lake: &Path, node: &Planned, all: &[String]) -> Vec<String> {
    let others: Vec<&str> = all.iter().map(String::as_str).filter(|address| *address != node.address).collect();
    let mut words = vec!["node".to_owned(), up.name.clone()];
    let mut option = |name: &str, value: &dyn std::fmt::Display| words.extend([name.to_owned(), value.to_string()]);
    option("--as", &node.name);
    option("--lake", &lake.display());
    option("--listen", &node.address);
    if !others.is_empty() {
        option("--join", &others.join(","));
    }
    up.tls.iter().for_each(|directory| option("--tls", &directory.display()));
    words
}

/// Waits until each node answers, and has heard of all others.
fn wait_for(started: &mut Started, address: &GraphAddress) -> Result<(), Failure> {
    let (began, wanted): (_, BTreeSet<&String>) = (Instant::now(), address.nodes.iter().collect());
    loop {
        started.must_run()?;
        let why = match cluster::lake_nodes(address) {
            Ok(Some(found)) => {
                let hellos: Vec<_> = found.into_iter().filter_map(|node| node.hello.ok()).collect();
                let knows_all = |nodes: &[LakeNode]| {
                    let known: BTreeSet<&String> = nodes.iter().map(|node| &node.address).collect();
                    wanted.is_subset(&known)
                };
                if hellos.len() >= wanted.len() && hellos.iter().all(|hello| knows_all(&hello.nodes)) {
                    return Ok(());
                }
                "not all of them have heard of each other".to_owned()
            }
            Ok(None) => return Err(Failure::Request("nodes of another graph are there".into())),
            Err(error) => error.to_string(),
        };
        if began.elapsed() >= STARTING {
            return Err(Failure::Request(format!("the nodes do not start: {why}; see their logs")));
        }
        std::thread::sleep(PAUSE);
    }
}
