//! `mangrove cluster move`, `copy`, `drop` and `rebalance`.

use std::time::{Duration, Instant};

use clap::Args;
use mangrove::GraphError;
use mangrove::cluster::{self, GraphAddress, Watching};

use super::failed;
use crate::{Failure, interrupt, output, say};

/// How often it says how far a shard is.
const SAYING: Duration = Duration::from_secs(5);

#[derive(Args)]
pub struct Move {
    /// Address of the graph: mangrove://host:port/NAME
    address: GraphAddress,
    /// Number of the shard
    shard: u16,
    /// Name of the node that is to have it, as in node-2
    to: String,
    /// Name of the node that gives it away, if several have it
    #[arg(long, value_name = "NODE")]
    from: Option<String>,
}

#[derive(Args)]
pub struct Copy {
    /// Address of the graph: mangrove://host:port/NAME
    address: GraphAddress,
    /// Number of the shard
    shard: u16,
    /// Name of the node that is to have it, too, as in node-2
    to: String,
}

#[derive(Args)]
pub struct Drop {
    /// Address of the graph: mangrove://host:port/NAME
    address: GraphAddress,
    /// Number of the shard
    shard: u16,
    /// Name of the node that is to have it no longer, as in node-2
    from: String,
}

#[derive(Args)]
pub struct Rebalance {
    /// Address of the graph: mangrove://host:port/NAME
    address: GraphAddress,
    /// Nodes that are to have each shard. As many as now, unless you say it
    #[arg(long)]
    replicas: Option<u16>,
    /// Names of nodes that are to have no shards, as in node-2,node-3
    #[arg(long, value_name = "NODES", value_delimiter = ',')]
    without: Vec<String>,
    /// Print what would be done, and do nothing
    #[arg(long)]
    dry_run: bool,
}

impl Move {
    pub fn run(self) -> Result<(), Failure> {
        let Self { address, shard, to, from } = &self;
        let from = watched(*shard, |watching| cluster::move_shard(address, *shard, from.as_deref(), to, watching))?;
        say(&format!("shard {shard} is on {to} instead of {from}"));
        Ok(())
    }
}

impl Copy {
    pub fn run(self) -> Result<(), Failure> {
        let Self { address, shard, to } = &self;
        watched(*shard, |watching| cluster::copy_shard(address, *shard, to, watching))?;
        say(&format!("shard {shard} is on {to}, too"));
        Ok(())
    }
}

impl Drop {
    pub fn run(self) -> Result<(), Failure> {
        let Self { address, shard, from } = &self;
        cluster::drop_shard(address, *shard, from).map_err(failed)?;
        say(&format!("shard {shard} is not on {from} any more"));
        Ok(())
    }
}

impl Rebalance {
    pub fn run(self) -> Result<(), Failure> {
        let moves = cluster::rebalance(&self.address, self.replicas, &self.without).map_err(failed)?;
        if moves.is_empty() {
            say("nothing is to be moved");
            return Ok(());
        }
        if self.dry_run {
            return output::print_text(&moves.iter().map(|step| format!("{}\n", command(step))).collect::<String>());
        }
        for (at, step) in moves.iter().enumerate() {
            say(&format!("{} of {}: {}", at + 1, moves.len(), command(step)));
            self.carry_out(step)?;
        }
        Ok(())
    }

    fn carry_out(&self, step: &cluster::Move) -> Result<(), Failure> {
        let address = &self.address;
        match step {
            cluster::Move::Copy { shard, to } => {
                watched(*shard, |watching| cluster::copy_shard(address, *shard, to, watching))
            }
            cluster::Move::Move { shard, from, to } => {
                watched(*shard, |watching| cluster::move_shard(address, *shard, Some(from), to, watching)).map(drop)
            }
            cluster::Move::Drop { shard, from } => cluster::drop_shard(address, *shard, from).map_err(failed),
        }
    }
}

/// What to type for one step alone, without the address.
fn command(step: &cluster::Move) -> String {
    match step {
        cluster::Move::Copy { shard, to } => format!("copy {shard} {to}"),
        cluster::Move::Move { shard, from, to } => format!("move {shard} {to} --from {from}"),
        cluster::Move::Drop { shard, from } => format!("drop {shard} {from}"),
    }
}

/// Says how far a shard is from time to time, until Ctrl-C.
fn watched<T>(shard: u16, work: impl FnOnce(&mut Watching<'_>) -> Result<T, GraphError>) -> Result<T, Failure> {
    interrupt::listen();
    let mut said = Instant::now();
    let mut show = |applied: u64, of: u64| {
        if said.elapsed() >= SAYING {
            said = Instant::now();
            say(&format!("shard {shard} has applied commit {applied} of {of}"));
        }
    };
    work(&mut Watching { show: &mut show, is_cancelled: &interrupt::requested }).map_err(|error| match error {
        GraphError::Cancelled if interrupt::requested() => Failure::Interrupted(format!(
            "stopped while shard {shard} was copied: `mangrove cluster status` says where it is"
        )),
        error => failed(error),
    })
}
