//! Metrics of the nodes of databases that are on nodes: who writes, and how far each shard has applied the log.

use std::time::Duration;

use mangrove::Database;
use mangrove::cluster::{NodeHeard, NodeStatus};
use prometheus_client::registry::{Registry, Unit};

use crate::observe::{Labels, gauges};

/// A database with its nodes.
type Graph = (String, Vec<NodeHeard>);

pub fn register(registry: &mut Registry, databases: &[(String, Database)]) {
    // One whose nodes cannot be asked now has no numbers.
    let nodes = |(name, database): &(String, Database)| Some((name.clone(), database.nodes().ok().flatten()?));
    let graphs: Vec<Graph> = databases.iter().filter_map(nodes).collect();
    if graphs.is_empty() {
        return;
    }
    let registry = registry.sub_registry_with_prefix("cluster");
    let newest = |number: fn(&NodeStatus) -> u64| gauges(graphs.iter().map(move |graph| newest(graph, number)));
    registry.register("term", "The term of the writer, as its nodes have read the log", newest(|status| status.term));
    registry.register("commit", "The last commit that a node has read in the log", newest(|status| status.number));
    let answers = gauges(all(&graphs).map(|(labels, node)| (labels, f64::from(u8::from(node.status.is_ok())))));
    registry.register("node_answers", "Whether a node says how it is", answers);
    let writes = gauges(statuses(&graphs).map(|(labels, status)| (labels, f64::from(u8::from(status.is_writer)))));
    registry.register("node_writer", "Whether a node is the writer", writes);
    let heard = statuses(&graphs).filter(|(_, status)| status.silent < Duration::MAX);
    let heard = gauges(heard.map(|(labels, status)| (labels, status.silent.as_secs_f64())));
    registry.register_with_unit("node_heard", "Time since a node has heard of the log", Unit::Seconds, heard);
    let about = "Commits that a node has read and a shard has not applied there";
    registry.register("shard_lag_commits", about, gauges(graphs.iter().flat_map(lags)));
}

/// The largest number of a graph's nodes.
fn newest((graph, nodes): &Graph, number: fn(&NodeStatus) -> u64) -> (Labels, f64) {
    let newest = nodes.iter().filter_map(|node| node.status.as_ref().ok()).map(number).max().unwrap_or(0);
    (vec![("database", graph.clone())], newest as f64)
}

fn all(graphs: &[Graph]) -> impl Iterator<Item = (Labels, &NodeHeard)> {
    let labels = |graph: &str, node: &str| vec![("database", graph.to_owned()), ("node", node.to_owned())];
    graphs.iter().flat_map(move |(graph, nodes)| nodes.iter().map(move |node| (labels(graph, &node.name), node)))
}

/// The nodes that answer.
fn statuses(graphs: &[Graph]) -> impl Iterator<Item = (Labels, &NodeStatus)> {
    all(graphs).filter_map(|(labels, node)| Some((labels, node.status.as_ref().ok()?)))
}

/// How far each shard of a graph is behind, at each node that has it.
fn lags(graph: &Graph) -> Vec<(Labels, f64)> {
    let (_, newest) = newest(graph, |status| status.number);
    let of_node = |(labels, status): (Labels, &NodeStatus)| {
        let lag = |number: u64| (newest - number as f64).max(0.0);
        let labelled = |shard: u16| [labels.clone(), vec![("shard", shard.to_string())]].concat();
        status.shards.iter().map(|shard| (labelled(shard.shard), lag(shard.number))).collect::<Vec<_>>()
    };
    statuses(std::slice::from_ref(graph)).flat_map(of_node).collect()
}
