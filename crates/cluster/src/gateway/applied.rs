//! How far the nodes have applied the log, shard by shard.

use std::sync::Arc;
use std::time::{Duration, Instant};

use mangrove_graph::{GraphError, ReadContext, Result};

use super::{Peer, ShardNode};
use crate::at_once::each_at_once;
use crate::log::{COARSE, Reached};
use crate::wire::{Call, Reply, damaged};

/// A node that seems to be frozen is waited for so long at a time. Meanwhile another one may have started.
const WAITING: Duration = Duration::from_secs(1);

/// Asks a node that may be frozen.
fn waited(peer: &dyn Peer, call: &Call, limits: Option<&ReadContext>) -> Result<Reply> {
    let (own, until) = (limits.cloned().unwrap_or_default(), Instant::now() + WAITING);
    let deadline = own.deadline.map_or(until, |deadline| deadline.min(until));
    peer.call(call, Some(&ReadContext { deadline: Some(deadline), ..own.clone() })).map_err(|error| match error {
        GraphError::Late(_) if own.begin().is_ok() => GraphError::Unavailable("a node does not answer".into()),
        error => error,
    })
}

/// How far the shards have applied the log.
pub struct Applied {
    /// By shard: which node has come how far.
    nodes: Vec<Vec<(usize, Reached)>>,
    /// To which number a shard had come that was behind when it was asked last.
    behind: Option<u64>,
    /// Why the last of those that do not tell does not.
    why: Option<String>,
}

impl Applied {
    pub fn new(shards: u16, behind: Option<u64>) -> Self {
        Self { nodes: vec![Vec::new(); usize::from(shards)], behind, why: None }
    }

    /// How many shards the graph has.
    pub fn shards(&self) -> usize {
        self.nodes.len()
    }

    /// Whether no node has told of some shard.
    pub fn is_incomplete(&self) -> bool {
        self.nodes.iter().any(Vec::is_empty)
    }

    /// Asks all nodes for their shards, without waiting for a number.
    pub fn ask_all(&mut self, nodes: &[ShardNode], gives_up: bool, limits: Option<&ReadContext>) -> Result<()> {
        self.ask(nodes.iter().map(|(peer, shards)| (peer, shards.clone())), 0, gives_up, limits)
    }

    /// Asks nodes for their shards. They wait a little for a number. `gives_up` leaves nodes out that seem to be frozen.
    pub fn ask<'p>(
        &mut self,
        nodes: impl Iterator<Item = (&'p Arc<dyn Peer>, Vec<u16>)>,
        from: u64,
        gives_up: bool,
        limits: Option<&ReadContext>,
    ) -> Result<()> {
        let nodes: Vec<_> = nodes.enumerate().filter(|(_, (_, shards))| !shards.is_empty()).collect();
        let told = each_at_once(nodes, |(at, (peer, shards))| {
            let call = Call::Applied { shards: shards.clone(), from, behind: self.behind };
            let reply = if gives_up { peer.call_or_give_up(&call, limits) } else { waited(&**peer, &call, limits) }?;
            let Reply::Applied(numbers) = reply else { return Err(damaged("numbers")) };
            Ok((at, shards, numbers))
        });
        for told in told {
            let (at, shards, numbers) = match told {
                Ok(told) => told,
                Err(GraphError::Unavailable(what)) => {
                    self.why = Some(what);
                    continue;
                }
                Err(error) => return Err(error),
            };
            for (shard, reached) in shards.into_iter().zip(numbers) {
                let Some(of_shard) = self.nodes.get_mut(usize::from(shard)) else { continue };
                of_shard.retain(|(known, _)| *known != at);
                match reached {
                    Ok(reached) => of_shard.push((at, reached)),
                    Err(what) => self.why = Some(what),
                }
            }
        }
        Ok(())
    }

    fn best(&self, shard: u16) -> Option<(usize, u64)> {
        self.furthest(shard).map(|(at, reached)| (at, reached.number))
    }

    fn furthest(&self, shard: u16) -> Option<(usize, Reached)> {
        self.nodes.get(usize::from(shard))?.iter().copied().max_by_key(|(_, reached)| reached.number)
    }

    /// The number to which all shards have come.
    pub fn least(&self) -> u64 {
        (0..self.nodes.len() as u16).map(|shard| self.best(shard).map_or(0, |(_, number)| number)).min().unwrap_or(0)
    }

    /// The number to which a shard has come that is behind others. If it is far behind, that of the coarse cut before it.
    pub fn is_behind(&self) -> Option<u64> {
        let numbers = || (0..self.nodes.len() as u16).map(|shard| self.best(shard).map(|(_, number)| number));
        let (least, most) = (numbers().min()??, numbers().max()??);
        let is_far = (most - least).checked_ilog2().is_some_and(|distance| distance >= COARSE);
        (least < most).then(|| if is_far { self.coarse().min(least) } else { least })
    }

    /// The number of the last coarse cut to which all shards have come: the others keep it rather than the cuts around it.
    pub fn coarse(&self) -> u64 {
        let coarse = |shard| self.furthest(shard).map_or(0, |(_, reached)| reached.coarse);
        (0..self.nodes.len() as u16).map(coarse).min().unwrap_or(0)
    }

    /// The number to which all shards have come, if that is `from` or after it.
    pub fn all_have(&self, from: u64) -> Result<u64> {
        let said = || self.why.as_ref().map_or(String::new(), |why| format!(": {why}"));
        for shard in 0..self.nodes.len() as u16 {
            let what = match self.best(shard) {
                Some((_, number)) if number >= from => continue,
                Some((_, number)) => format!("shard {shard} has applied the log up to {number}, not up to {from}{}", said()),
                None => format!("no node answers for shard {shard}{}", said()),
            };
            return Err(GraphError::Unavailable(what));
        }
        Ok(self.least())
    }

    /// Whether all nodes that have answered have come to a number, with all shards.
    pub fn all_nodes_have(&self, number: u64) -> bool {
        self.nodes
            .iter()
            .all(|of_shard| !of_shard.is_empty() && of_shard.iter().all(|(_, reached)| reached.number >= number))
    }

    /// The sum of all numbers, which grows as long as some node goes on.
    pub fn sum(&self) -> u64 {
        self.nodes.iter().flatten().map(|(_, reached)| reached.number).sum()
    }

    /// Whether a node has come to a number with a shard.
    pub fn has_come(&self, at: usize, shard: u16, number: u64) -> bool {
        self.nodes[usize::from(shard)].iter().any(|(node, reached)| *node == at && reached.number >= number)
    }

    /// A message, and which shard is behind the others.
    pub fn with_what_is_behind(&self, what: String) -> String {
        let numbers = || (0..self.nodes.len() as u16).map(|shard| (self.best(shard).map_or(0, |(_, number)| number), shard));
        match (numbers().min(), numbers().max()) {
            (Some((least, shard)), Some((most, _))) if least < most => {
                format!("{what}; shard {shard} has applied the log up to {least}, and others up to {most}")
            }
            _ => what,
        }
    }

    /// The shards that have not come to a number, by the node on which each is furthest. One entry for each node up to the last of them.
    pub fn behind(&self, number: u64) -> Vec<(usize, Vec<u16>)> {
        let mut nodes: Vec<(usize, Vec<u16>)> = Vec::new();
        for shard in 0..self.nodes.len() as u16 {
            let Some((at, _)) = self.best(shard).filter(|(_, applied)| *applied < number) else { continue };
            while nodes.len() <= at {
                nodes.push((nodes.len(), Vec::new()));
            }
            nodes[at].1.push(shard);
        }
        nodes
    }
}
