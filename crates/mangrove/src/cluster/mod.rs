//! A graph on many nodes.
//!
//! ```text
//!   backend   the graph as a database
//!   node      a process of it: its shards, and where it listens
//!   stores    where its shards are on its disk
//!   runner    what a node runs for clients: small queries that write, steps of others, and parts of jobs
//!   fragments steps of queries that run at the nodes
//!   kept      points of the log that others read shard by shard
//!   jobs      the parts of a node in what several nodes do in rounds
//!   analysis  vertex programs on the nodes
//!   mesh      steps of queries whose traversers go from node to node
//!   rounds    work of several nodes, in step with their client
//!   nodes     its nodes together: which shards they have, how they are, and their end
//!   moves     shards that go from node to node
//!   balance   which should go where
//!   backups   copies of it in an object store
//!   lake      a graph in open files on nodes, which keep nothing
//! ```

mod analysis;
mod backend;
mod backups;
mod balance;
mod fragments;
mod jobs;
mod kept;
mod lake;
mod mesh;
mod moves;
mod node;
mod nodes;
mod rounds;
mod runner;
mod stores;

use std::time::Duration;

use mangrove_graph::{GraphError, Result};
use mangrove_link::Nodes;

pub use mangrove_cluster::backup::{Backup, BackupFound, Objects};
pub use mangrove_cluster::lake::owner;
pub use mangrove_cluster::log::{GraphRecord, Log, Member};
pub use mangrove_cluster::node::{LogSeen, NodeSeen, WritesSeen};
pub use mangrove_cluster::service::{CallSpan, CallsSeen, Tracer};
pub use mangrove_cluster::wire::{CallKind, Chunk, LakeHello, LakeNode, NodeAbout, NodeStatus, ShardStatus};
pub use mangrove_cluster::{Placement, SHARDS_MAX};
pub use mangrove_link::{CA_FILE, CERTIFICATE_FILE, GraphAddress, KEY_FILE, LakeNodeFound};

pub use self::backend::ClusterBackend;
pub use self::backups::{BackupStage, backup, find_backup, list_backups, objects, restore};
pub use self::balance::Move;
pub use self::lake::{LakeNodeConfig, LakeNodesBackend, RunningLakeNode, lake_nodes};
pub use self::moves::{Watching, copy_shard, drop_shard, move_shard, rebalance};
pub use self::node::{NodeConfig, NodeWatch, RunningNode};
pub use self::nodes::{NodeFound, NodeHeard, finalize, graph_of, make_graph, nodes, remove, shards_of_node, stop};

/// A graph on nodes.
pub enum Connected {
    Shards(ClusterBackend),
    Lake(LakeNodesBackend),
}

/// Connects to the nodes of an address, whatever they have.
///
/// # Errors
/// If no node answers, or if none has a graph of that name.
pub fn connect(address: &GraphAddress, is_read_only: bool) -> Result<Connected> {
    if let Some(connected) = ClusterBackend::again(address, is_read_only) {
        return Ok(Connected::Shards(connected));
    }
    // Without locks: nodes may not answer.
    match mangrove_link::find(address, &format!("process {}", std::process::id()))? {
        Nodes::Shards(ways) => Ok(Connected::Shards(ClusterBackend::over(address, ways, is_read_only))),
        Nodes::Lake(ways) => Ok(Connected::Lake(LakeNodesBackend::over(address, ways)?)),
    }
}

/// How long a log may take to show its first record.
const BEGUN: Duration = Duration::from_secs(10);
const PAUSE: Duration = Duration::from_millis(100);

fn unexpected(node: &str) -> GraphError {
    GraphError::Unavailable(format!("{node} said something else than was asked"))
}
