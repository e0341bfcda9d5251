//! A graph in open files on nodes, which keep nothing.
//!
//! ```text
//!   service   what a node answers
//!   greetings how nodes hear of each other, without a log
//!   node      a node
//!   backend   the graph as a database that is read
//! ```

mod backend;
mod greetings;
mod node;
mod service;

use mangrove_graph::Result;
use mangrove_link::{GraphAddress, LakeNodeFound, Nodes};

pub use self::backend::LakeNodesBackend;
pub use self::node::{LakeNodeConfig, RunningLakeNode};

/// The nodes of a lake, by name; `None` if the nodes of the address have shards.
///
/// # Errors
/// If no node answers.
pub fn lake_nodes(address: &GraphAddress) -> Result<Option<Vec<LakeNodeFound>>> {
    match mangrove_link::find(address, "status")? {
        Nodes::Shards(_) => Ok(None),
        Nodes::Lake(ways) => Ok(Some(ways.all())),
    }
}
