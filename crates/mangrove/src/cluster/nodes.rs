//! The nodes of a graph together: which shards they have, how they are, and their end.

use std::sync::Arc;
use std::time::{Duration, Instant};

use mangrove_cluster::gateway::{Gateway, Peer};
use mangrove_cluster::log::{GraphRecord, Log, Member, Record, VERSION_NEWEST, beginning};
use mangrove_cluster::wire::{Call, NodeAbout, NodeStatus, Reply};
use mangrove_cluster::{Placement, at_once};
use mangrove_graph::{GraphError, IdSpace, ReadContext, Result};
use mangrove_link::{GraphAddress, Nodes, Ways};

use super::{BEGUN, PAUSE, SHARDS_MAX, unexpected};

/// How long a log may take to show the record that was written first.
const MADE: Duration = Duration::from_secs(20);
/// How long nodes may take to say how they are.
const SOON: Duration = Duration::from_secs(1);
/// How long a node may take to hear that it shall end.
const TELLING: Duration = Duration::from_secs(5);
/// How long nodes may take to end.
const ENDING: Duration = Duration::from_secs(20);

/// The shards of node `number` of so many, each with `replicas` nodes: they go round, and replicas are on the nodes behind the first.
///
/// # Errors
/// If the numbers do not fit each other.
pub fn shards_of_node(number: u16, nodes: u16, replicas: u16, shards: u16) -> Result<Vec<u16>> {
    let wrong = |what: String| Err(GraphError::Invalid(what));
    match () {
        () if nodes == 0 || nodes > shards => wrong(format!("{shards} shards are for 1 to {shards} nodes, not {nodes}")),
        () if replicas == 0 || replicas > nodes => {
            wrong(format!("{nodes} nodes have 1 to {nodes} replicas of a shard, not {replicas}"))
        }
        () if number >= nodes => wrong(format!("{nodes} nodes have the numbers 0 to {}, not {number}", nodes - 1)),
        () => Ok((0..shards).filter(|shard| (0..replicas).any(|behind| (shard + behind) % nodes == number)).collect()),
    }
}

/// Makes the graph of an empty log: so many shards, which never change. It allows all records that this Mangrove reads.
///
/// # Errors
/// If the log has a graph already.
pub fn make_graph(log: &Arc<dyn Log>, name: &str, shards: u16, id_space: IdSpace) -> Result<GraphRecord> {
    if !(1..=SHARDS_MAX).contains(&shards) {
        return Err(GraphError::Invalid(format!("a graph has 1 to {SHARDS_MAX} shards, not {shards}")));
    }
    let (id, seed) = mangrove_graph::Uuid::new_v4().as_u64_pair();
    let graph = GraphRecord { id: id | 1, name: name.to_owned(), placement: Placement { shards, seed, id_space } };
    log.append(Record::Graph(graph.clone()).to_bytes()?)?;
    let until = Instant::now() + MADE;
    loop {
        match graph_of(log) {
            Ok(found) if found == graph => {
                log.append(Record::Allow { version: VERSION_NEWEST }.to_bytes()?)?;
                return Ok(graph);
            }
            Ok(_) => return Err(GraphError::Invalid("the log has a graph already".into())),
            Err(error) if Instant::now() >= until => return Err(error),
            Err(_) => std::thread::sleep(PAUSE),
        }
    }
}

/// A node of a graph, and how it is.
pub struct NodeFound {
    pub member: Member,
    /// Why it does not say, if it does not.
    pub status: Result<NodeStatus>,
    /// `None` if it does not say that.
    pub about: Option<NodeAbout>,
}

/// A node of a connected graph, and how it is.
pub struct NodeHeard {
    pub name: String,
    /// Why it does not say, if it does not.
    pub status: Result<NodeStatus>,
}

/// Asks the nodes that have shards how they are, side by side. One that seems to be frozen is not waited for, and no other for longer than a second.
pub fn heard(gateway: &Gateway) -> Result<Vec<NodeHeard>> {
    let limits = until(Instant::now() + SOON);
    at_once(gateway.peers().all()?, |(name, node)| {
        let status = node.and_then(|node| match node.call_or_give_up(&Call::Status, Some(&limits))? {
            Reply::Status(status) => Ok(status),
            _ => Err(unexpected(&name)),
        });
        Ok(NodeHeard { name, status })
    })
}

/// The nodes of a graph.
///
/// # Errors
/// If no node answers.
pub fn nodes(address: &GraphAddress) -> Result<(GraphRecord, Vec<NodeFound>)> {
    let ways = Ways::find(address, "status")?;
    let (graph, _) = ways.members()?;
    let found = ways.to_all()?.into_iter().map(|(member, node)| {
        let (status, about) = match node {
            Ok(node) => (status_of(&*node, &member), about(&*node, &member).ok()), // an older one has no answer to the second
            Err(error) => (Err(error), None),
        };
        NodeFound { member, status, about }
    });
    Ok((graph, found.collect()))
}

fn status_of(node: &dyn Peer, member: &Member) -> Result<NodeStatus> {
    match node.call(&Call::Status, None)? {
        Reply::Status(status) => Ok(status),
        _ => Err(unexpected(&member.name)),
    }
}

fn about(node: &dyn Peer, member: &Member) -> Result<NodeAbout> {
    match node.call(&Call::About, None)? {
        Reply::About(about) => Ok(about),
        _ => Err(unexpected(&member.name)),
    }
}

/// Allows the newest records that the nodes of a graph read, once all of them have been upgraded. Gives their version.
///
/// # Errors
/// If a node does not answer, or is older than others. Then nothing has changed.
pub fn finalize(address: &GraphAddress) -> Result<u8> {
    let mut nodes = Vec::new();
    for (member, node) in Ways::find(address, "finalize")?.to_all()? {
        let silent = |error| {
            GraphError::Unavailable(format!(
                "{0} does not say which Mangrove it is: {error}. Start it, or upgrade it, or type `mangrove cluster remove` if {0} never comes back",
                member.name
            ))
        };
        let node = node.map_err(silent)?;
        node.call(&Call::Hello, None).map_err(silent)?;
        let about = about(&*node, &member).map_err(silent)?;
        nodes.push((member, node, about));
    }
    let Some((_, newest, NodeAbout { reads, software, .. })) = nodes.iter().max_by_key(|(.., about)| about.reads) else {
        return Err(GraphError::Unavailable("the graph has no nodes".into()));
    };
    if let Some((member, _, older)) = nodes.iter().find(|(.., about)| about.reads < *reads) {
        return Err(GraphError::Invalid(format!(
            "{} runs Mangrove {}, which reads records of the log up to version {}, and others run {software}, which reads version {reads}: \
             upgrade it first",
            member.name, older.software, older.reads
        )));
    }
    newest.call(&Call::Allow { version: *reads }, None)?;
    Ok(*reads)
}

/// Takes a node that has ended off the list of nodes. If it starts again, it is a member again.
///
/// # Errors
/// If there is no such node, if it answers, if some shard would be on no node, or if no other node answers.
pub fn remove(address: &GraphAddress, name: &str) -> Result<()> {
    let ways = Ways::find(address, "remove")?;
    let (gone, left): (Vec<_>, Vec<_>) = ways.to_all()?.into_iter().partition(|(member, _)| member.name == name);
    let names = || left.iter().map(|(member, _)| member.name.as_str()).collect::<Vec<_>>().join(", ");
    if gone.is_empty() {
        return Err(GraphError::Invalid(format!("the graph has no node {name}: it has {}", names())));
    }
    let is_left = |shard: &u16| left.iter().any(|(member, _)| member.shards.contains(shard));
    let had = gone.iter().flat_map(|(member, _)| &member.shards);
    if let Some(shard) = had.into_iter().find(|shard| !is_left(shard)) {
        return Err(GraphError::Invalid(format!(
            "without {name}, no node has shard {shard}: `mangrove cluster copy` gives it to one"
        )));
    }
    if gone.into_iter().any(|(_, node)| node.is_ok_and(|node| node.call(&Call::Hello, None).is_ok())) {
        return Err(GraphError::Invalid(format!("{name} runs: end it first")));
    }
    let mut why = GraphError::Unavailable("no other node answers".into());
    for node in left.into_iter().filter_map(|(_, node)| node.ok()) {
        match node.call(&Call::Forget { name: name.to_owned() }, None) {
            Ok(_) => return Ok(()),
            Err(error) => why = error,
        }
    }
    Err(why)
}

/// Ends all nodes of a graph that answer, and gives the names of those that do: of a lake also nodes with other files. The log and the shards
/// stay, or the files of a lake.
///
/// # Errors
/// If no node answers, or if some do not end. It names these, after the others have ended.
pub fn stop(address: &GraphAddress) -> Result<Vec<String>> {
    let there = match mangrove_link::find(address, "down")? {
        Nodes::Lake(ways) => ways.to_all(),
        Nodes::Shards(ways) => {
            let connected = ways.to_all()?.into_iter().filter(|(_, node)| node.is_ok());
            connected.map(|(member, node)| (member.name, node)).collect()
        }
    };
    // All hear of it before any is waited for.
    let told = at_once(there, |(name, node)| {
        let told = node.and_then(|node| stopping(&*node, &name).map(|()| node));
        Ok((name, told))
    })?;
    let (mut ended, mut left, until) = (Vec::new(), Vec::new(), Instant::now() + ENDING);
    for (name, told) in told {
        match told.and_then(|node| wait_for_end(&*node, until)) {
            Ok(()) => ended.push(name),
            Err(error) => left.push(format!("{name} ({error})")),
        }
    }
    match left.is_empty() {
        true => Ok(ended),
        false => Err(GraphError::Unavailable(format!(
            "still there: {}; ended: {}",
            left.join(", "),
            if ended.is_empty() { "none".to_owned() } else { ended.join(", ") }
        ))),
    }
}

/// Tells a node to end.
fn stopping(node: &dyn Peer, name: &str) -> Result<()> {
    match node.call(&Call::Stop, Some(&until(Instant::now() + TELLING)))? {
        Reply::Stopping => Ok(()),
        _ => Err(unexpected(name)),
    }
}

/// Waits until a node does not answer any more.
fn wait_for_end(node: &dyn Peer, end: Instant) -> Result<()> {
    loop {
        let answers = node.call(&Call::Hello, Some(&until(end))).is_ok();
        match Instant::now() >= end {
            true => return Err(GraphError::Unavailable("it does not end".into())),
            false if !answers => return Ok(()),
            false => std::thread::sleep(PAUSE),
        }
    }
}

/// The limits of a call that is over at some time.
fn until(end: Instant) -> ReadContext {
    let left = end.saturating_duration_since(Instant::now());
    ReadContext { deadline: Some(end), timeout: Some(left), ..ReadContext::default() }
}

/// The graph that a log is of.
///
/// # Errors
/// If the log has none, or cannot be read.
pub fn graph_of(log: &Arc<dyn Log>) -> Result<GraphRecord> {
    Ok(beginning(log.clone(), BEGUN)?.graph)
}
