//! `mangrove cluster`: graphs on many nodes.

mod backup;
mod certs;
mod create;
mod moves;
mod status;
mod up;
mod up_lake;

use clap::{Args, Subcommand, ValueEnum};
use mangrove::cluster::{self, GraphAddress};

use super::{Failure, say};

/// Make graphs on many nodes and certificates for them, see how they are, and end them
#[derive(Subcommand)]
pub enum Cluster {
    /// Make a graph in a log that has none. `mangrove node` starts each of its nodes
    Create(create::CreateOnce),
    /// Make certificates for the nodes of a graph, and for those who connect to them
    Certs(certs::Certs),
    /// Make a graph, if there is none, or open a lake, and start its nodes as processes on this machine, to try it out. They are not started again if they end
    Up(up::Up),
    /// Show the nodes of a graph, and how far each has applied the log
    Status(status::Status),
    /// Copy a graph into the store of its nodes, while they go on. Then the log before the last backup but one is deleted
    Backup(backup::GraphBackup),
    /// List the backups of a graph, the newest first
    Backups(backup::Backups),
    /// Begin a new log with a backup, if the log was lost. `mangrove node` starts nodes with it
    Restore(backup::Restore),
    /// Give a shard to another node, while others read and write
    Move(moves::Move),
    /// Give a shard to one more node
    Copy(moves::Copy),
    /// Take a shard from a node, if another one has it
    Drop(moves::Drop),
    /// Move shards until all nodes have about as many: to a new node, or away from one that is to end
    Rebalance(moves::Rebalance),
    /// Take a node that has ended off the list of nodes, for good. Other nodes must have its shards
    Remove(Remove),
    /// End all nodes of a graph. Its log and its shards stay, or the files of the lake; `up` starts them again
    Down(Down),
}

/// How a command answers.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    /// For reading
    Table,
    /// One JSON document
    Json,
}

#[derive(Args)]
pub struct Remove {
    /// Address of the graph: mangrove://host:port/NAME
    address: GraphAddress,
    /// Name of the node, as in node-2
    node: String,
}

#[derive(Args)]
pub struct Down {
    /// Address of the graph: mangrove://host:port/NAME
    address: GraphAddress,
}

impl Cluster {
    pub fn run(self) -> Result<(), Failure> {
        match self {
            Cluster::Create(create) => create.run(),
            Cluster::Certs(certs) => certs.run(),
            Cluster::Up(up) => up.run(),
            Cluster::Status(status) => status.run(),
            Cluster::Backup(backup) => backup.run(),
            Cluster::Backups(backups) => backups.run(),
            Cluster::Restore(restore) => restore.run(),
            Cluster::Move(shard) => shard.run(),
            Cluster::Copy(copy) => copy.run(),
            Cluster::Drop(drop) => drop.run(),
            Cluster::Rebalance(rebalance) => rebalance.run(),
            Cluster::Remove(remove) => remove.run(),
            Cluster::Down(down) => down.run(),
        }
    }
}

impl Remove {
    fn run(self) -> Result<(), Failure> {
        cluster::remove(&self.address, &self.node).map_err(failed)?;
        say(&format!("{} is not a node of the graph any more", self.node));
        Ok(())
    }
}

impl Down {
    fn run(self) -> Result<(), Failure> {
        let ended = cluster::stop(&self.address).map_err(failed)?;
        say(&format!("ended: {}", ended.join(", ")));
        Ok(())
    }
}

fn failed(error: impl std::fmt::Display) -> Failure {
    Failure::Request(error.to_string())
}
