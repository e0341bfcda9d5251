//! Shards that go from node to node, while others read and write.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use mangrove_cluster::gateway::{Peer, Way};
use mangrove_cluster::log::Member;
use mangrove_cluster::wire::{Call, NodeStatus, Reply};
use mangrove_graph::{CancelToken, GraphError, ReadContext, Result};
use mangrove_link::{GraphAddress, Ways};

use super::balance::{Balanced, Move, Stay, balance};
use super::unexpected;

/// How often it is looked how far a shard is.
const LOOK: Duration = Duration::from_millis(200);

/// Who wants to know how far a shard is, and may give up.
pub struct Watching<'w> {
    /// Called with the commit that the new copy of the shard has, and with the last one of the log.
    pub show: &'w mut dyn FnMut(u64, u64),
    pub is_cancelled: &'w dyn Fn() -> bool,
}

/// A node of the graph, and the way to it.
struct Found {
    member: Member,
    way: Way,
}

/// The nodes of a graph.
struct Nodes {
    shards: u16,
    all: Vec<Found>,
}

impl Nodes {
    fn of(address: &GraphAddress) -> Result<Self> {
        let ways = Ways::find(address, "move")?;
        let (shards, all) = (ways.members()?.0.placement.shards, ways.to_all()?);
        Ok(Self { shards, all: all.into_iter().map(|(member, way)| Found { member, way }).collect() })
    }

    fn find(&self, name: &str) -> Result<&Found> {
        let names = || self.all.iter().map(|node| node.member.name.as_str()).collect::<Vec<_>>().join(", ");
        let missing = || GraphError::Invalid(format!("the graph has no node {name}: it has {}", names()));
        self.all.iter().find(|node| node.member.name == name).ok_or_else(missing)
    }

    fn must_have(&self, shard: u16) -> Result<()> {
        match shard < self.shards {
            true => Ok(()),
            false => Err(GraphError::Invalid(format!(
                "there is no shard {shard}: the graph has the shards 0 to {}",
                self.shards - 1
            ))),
        }
    }

    fn with(&self, shard: u16) -> impl Iterator<Item = &Found> {
        self.all.iter().filter(move |node| node.member.shards.contains(&shard))
    }
}

impl Found {
    fn peer(&self) -> Result<&Arc<dyn Peer>> {
        let gone = |error: &GraphError| GraphError::Unavailable(format!("{} does not answer: {error}", self.member.name));
        self.way.as_ref().map_err(gone)
    }

    fn status(&self) -> Result<NodeStatus> {
        match self.peer()?.call_or_give_up(&Call::Status, None)? {
            Reply::Status(status) => Ok(status),
            _ => Err(unexpected(&self.member.name)),
        }
    }

    /// Whether it answers, and a shard there follows the log.
    fn has_well(&self, shard: u16) -> bool {
        let is_well = |status: NodeStatus| status.shards.iter().any(|own| own.shard == shard && own.trouble.is_none());
        self.status().is_ok_and(is_well)
    }

    fn take(&self, shard: u16, watching: &mut Watching<'_>) -> Result<()> {
        let (peer, cancel) = (self.peer()?, CancelToken::default());
        let limits = ReadContext { cancel: cancel.clone(), ..ReadContext::default() };
        std::thread::scope(|scope| {
            let taking = scope.spawn(|| peer.call(&Call::TakeShard { shard }, Some(&limits)));
            while !taking.is_finished() {
                std::thread::sleep(LOOK);
                if (watching.is_cancelled)() {
                    cancel.cancel();
                } else if let Ok(status) = self.status()
                    && let Some(own) = status.shards.iter().find(|own| own.shard == shard)
                {
                    (watching.show)(own.number, status.number);
                }
            }
            match taking.join() {
                Ok(Ok(Reply::ShardTaken)) => Ok(()),
                Ok(Ok(_)) => Err(unexpected(&self.member.name)),
                Ok(Err(GraphError::Stopped)) => Err(GraphError::Cancelled),
                Ok(Err(error)) => Err(error),
                Err(_) => Err(unexpected(&self.member.name)),
            }
        })
    }

    fn drop(&self, shard: u16) -> Result<()> {
        match self.peer()?.call(&Call::DropShard { shard }, None)? {
            Reply::ShardDropped => Ok(()),
            _ => Err(unexpected(&self.member.name)),
        }
    }
}

/// One more node has a shard. It comes from a backup and the log, or from the log alone.
///
/// # Errors
/// If there is no such shard or node, if the node has it or does not answer, or if its copy does not come to the end of the log.
pub fn copy_shard(address: &GraphAddress, shard: u16, to: &str, watching: &mut Watching<'_>) -> Result<()> {
    let nodes = Nodes::of(address)?;
    nodes.must_have(shard)?;
    let to = nodes.find(to)?;
    if to.member.shards.contains(&shard) {
        return Err(GraphError::Invalid(format!("{} has shard {shard} already", to.member.name)));
    }
    to.take(shard, watching)
}

/// One node less has a shard. Who reads it there goes on; then its files are deleted.
///
/// # Errors
/// If there is no such shard or node, if the node does not have it or does not answer, or if no other node that answers has it.
pub fn drop_shard(address: &GraphAddress, shard: u16, from: &str) -> Result<()> {
    let nodes = Nodes::of(address)?;
    nodes.must_have(shard)?;
    let from = nodes.find(from)?;
    if !from.member.shards.contains(&shard) {
        return Err(GraphError::Invalid(format!("{} does not have shard {shard}", from.member.name)));
    }
    if !nodes.with(shard).any(|node| node.member.name != from.member.name && node.has_well(shard)) {
        return Err(GraphError::Invalid(format!("no other node that answers has shard {shard}: copy it to one first")));
    }
    from.drop(shard)
}

/// Another node has a shard instead of one that has it. Gives the name of that.
///
/// # Errors
/// Those of [`copy_shard`] and [`drop_shard`]. If several nodes have the shard, `from` must name one.
pub fn move_shard(
    address: &GraphAddress,
    shard: u16,
    from: Option<&str>,
    to: &str,
    watching: &mut Watching<'_>,
) -> Result<String> {
    let nodes = Nodes::of(address)?;
    nodes.must_have(shard)?;
    let with: Vec<&str> = nodes.with(shard).map(|node| node.member.name.as_str()).collect();
    let from = match (from, &with[..]) {
        (Some(from), _) => {
            if !nodes.find(from)?.member.shards.contains(&shard) {
                return Err(GraphError::Invalid(format!("{from} does not have shard {shard}: {} has it", with.join(", "))));
            }
            from.to_owned()
        }
        (None, [only]) => (*only).to_owned(),
        (None, []) => return Err(GraphError::Invalid(format!("no node has shard {shard}: copy it to {to}"))),
        (None, several) => {
            let several = several.join(", ");
            return Err(GraphError::Invalid(format!("several nodes have shard {shard}: {several}. Name one with --from")));
        }
    };
    nodes.find(&from)?.peer()?;
    copy_shard(address, shard, to, watching)?;
    drop_shard(address, shard, &from)?;
    Ok(from)
}

/// What to do so that all nodes have about as many shards, and each shard has so many nodes: as many as now, if `replicas` does not say. Nodes in
/// `without` are to have none.
///
/// # Errors
/// If a node does not answer and is not in `without`, or if shards have different numbers of nodes and `replicas` does not say.
pub fn rebalance(address: &GraphAddress, replicas: Option<u16>, without: &[String]) -> Result<Vec<Move>> {
    let nodes = Nodes::of(address)?;
    for name in without {
        nodes.find(name)?;
    }
    let stay = |node: &Found| match (without.contains(&node.member.name), node.status()) {
        (false, Ok(_)) => Ok(Stay::Stays),
        (true, Ok(_)) => Ok(Stay::Leaves),
        (true, Err(_)) => Ok(Stay::Gone),
        (false, Err(error)) => {
            let name = &node.member.name;
            Err(GraphError::Unavailable(format!("{name} does not answer: {error}. Start it, or say --without {name}")))
        }
    };
    let balanced = |node: &Found| {
        let (name, shards) = (node.member.name.clone(), node.member.shards.iter().copied().collect());
        Ok(Balanced { name, shards, stay: stay(node)? })
    };
    let balanced: Vec<Balanced> = nodes.all.iter().map(balanced).collect::<Result<_>>()?;
    let replicas = replicas.map_or_else(|| nodes.copies(), Ok)?;
    balance(&balanced, nodes.shards, replicas).map_err(|error| GraphError::Invalid(error.to_string()))
}

impl Nodes {
    /// How many nodes have each shard.
    fn copies(&self) -> Result<u16> {
        let copies: BTreeSet<usize> = (0..self.shards).map(|shard| self.with(shard).count()).collect();
        match (copies.first(), copies.last()) {
            (Some(least), Some(most)) if least == most => Ok(*least as u16),
            (least, most) => {
                let (least, most) = (least.copied().unwrap_or(0), most.copied().unwrap_or(0));
                Err(GraphError::Invalid(format!("shards have {least} to {most} nodes: say --replicas")))
            }
        }
    }
}
