//! `mangrove cluster`: graphs on many nodes.

mod backup;
mod certs;
mod create;
mod moves;
mod python;
mod ray;
mod status;
mod up;
mod up_lake;

use clap::{Args, Subcommand, ValueEnum};
use mangrove::cluster::{self, GraphAddress, LakeNodeFound, NodeFound};

use super::{Failure, say};

/// Make graphs on many nodes and certificates for them, see how they are, and end them
#[derive(Subcommand)]
pub enum Cluster {
    /// Make a graph in a log that has none. `mangrove node` starts each of its nodes
    Create(create::CreateOnce),
    /// Make certificates for the nodes of a graph, and for those who connect to them
    Certs(certs::Certs),
    /// Make a graph, if there is none, or open a lake, and start its nodes as processes on this machine, to try it out: these are not started again if
    /// they end. With --launcher ray, Ray keeps them running
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
    /// Let nodes write what only the newest of them read, once all have been upgraded. Then older ones cannot read the log any more
    Finalize(Finalize),
    /// End all nodes of a graph, also those that Ray keeps running. Its log and its shards stay, or the files of the lake; `up` starts them again
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
pub struct Finalize {
    /// Address of the graph: mangrove://host:port/NAME
    address: GraphAddress,
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
            Cluster::Finalize(finalize) => finalize.run(),
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

impl Finalize {
    fn run(self) -> Result<(), Failure> {
        let version = cluster::finalize(&self.address).map_err(failed)?;
        say(&format!("all nodes read records of version {version}, and the graph allows them from now on"));
        Ok(())
    }
}

impl Down {
    fn run(self) -> Result<(), Failure> {
        let nodes = Known::all(&self.address)?;
        let addresses: Vec<&str> = nodes.iter().map(|node| node.address.as_str()).collect();
        let mut ended = ray::down(&self.address.graph, &addresses)?; // Ray would start its nodes again
        let left = nodes.into_iter().filter(|node| node.is_there && !ended.contains(&node.name));
        let left: Vec<String> = left.map(|node| node.address).collect();
        if !left.is_empty() {
            let more = cluster::stop(&GraphAddress { nodes: left, ..self.address });
            if more.is_err() && !ended.is_empty() {
                say(&format!("ended: {}", ended.join(", ")));
            }
            ended.extend(more.map_err(failed)?);
        }
        say(&format!("ended: {}", ended.join(", ")));
        Ok(())
    }
}

/// A node of a graph or of a lake.
struct Known {
    name: String,
    address: String,
    /// Whether it may run: those of a lake also if they have other files, or seem to be frozen.
    is_there: bool,
}

impl Known {
    /// The nodes that those of an address know.
    fn all(address: &GraphAddress) -> Result<Vec<Self>, Failure> {
        if let Some(nodes) = cluster::lake_nodes(address).map_err(failed)? {
            let known = |LakeNodeFound { node, is_there, .. }| Self { name: node.name, address: node.address, is_there };
            return Ok(nodes.into_iter().map(known).collect());
        }
        let (_, nodes) = cluster::nodes(address).map_err(failed)?;
        let known =
            |NodeFound { member, status, .. }| Self { name: member.name, address: member.address, is_there: status.is_ok() };
        Ok(nodes.into_iter().map(known).collect())
    }
}

fn failed(error: impl std::fmt::Display) -> Failure {
    Failure::Request(error.to_string())
}
