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
//! ```

mod analysis;
mod backend;
mod backups;
mod balance;
mod fragments;
mod jobs;
mod kept;
mod mesh;
mod moves;
mod node;
mod nodes;
mod rounds;
mod runner;
mod stores;

use std::time::Duration;

use mangrove_graph::GraphError;

pub use mangrove_cluster::backup::{Backup, BackupFound, Objects};
pub use mangrove_cluster::log::{GraphRecord, Log, Member};
pub use mangrove_cluster::node::{CallSpan, CallsSeen, LogSeen, NodeSeen, Tracer, WritesSeen};
pub use mangrove_cluster::wire::{CallKind, NodeAbout, NodeStatus, ShardStatus};
pub use mangrove_cluster::{Placement, SHARDS_MAX};
pub use mangrove_link::{CA_FILE, CERTIFICATE_FILE, GraphAddress, KEY_FILE};

pub use self::backend::ClusterBackend;
pub use self::backups::{BackupStage, backup, find_backup, list_backups, objects, restore};
pub use self::balance::Move;
pub use self::moves::{Watching, copy_shard, drop_shard, move_shard, rebalance};
pub use self::node::{NodeConfig, NodeWatch, RunningNode};
pub use self::nodes::{NodeFound, NodeHeard, finalize, graph_of, make_graph, nodes, remove, shards_of_node, stop};

/// How long a log may take to show its first record.
const BEGUN: Duration = Duration::from_secs(10);
const PAUSE: Duration = Duration::from_millis(100);

fn unexpected(node: &str) -> GraphError {
    GraphError::Unavailable(format!("{node} said something else than was asked"))
}
