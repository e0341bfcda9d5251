//! The nodes of a cut, for work that each does with the shards that it has.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use mangrove_graph::{GraphError, Result};

use super::{HeldCut, Peer};
use crate::at_once::each_at_once;

/// The nodes that keep a cut. Each shard goes to one of them, and to others only if that one is gone.
pub struct CutNodes {
    cut: Arc<HeldCut>,
    /// By shard: the place of its node among those of the cut.
    of_shard: Vec<u16>,
    /// Nodes that did not answer.
    gone: Vec<AtomicBool>,
}

impl CutNodes {
    pub fn new(cut: Arc<HeldCut>) -> Self {
        let shards = 0..cut.shards.len() as u16;
        let node_of = |shard| cut.nodes.iter().position(|(_, shards)| shards.contains(&shard)).unwrap_or(usize::MAX);
        let of_shard = shards.map(|shard| u16::try_from(node_of(shard)).unwrap_or(u16::MAX)).collect();
        let gone = cut.nodes.iter().map(|_| AtomicBool::new(false)).collect();
        Self { cut, of_shard, gone }
    }

    pub fn cut(&self) -> &Arc<HeldCut> {
        &self.cut
    }

    /// The node of a shard, which is one of [`each`](Self::each).
    pub fn node_of(&self, shard: u16) -> u16 {
        self.of_shard.get(usize::from(shard)).copied().unwrap_or(u16::MAX)
    }

    /// Calls `f` for each node with what it is asked, at the same time. If a node does not answer, another one is asked that keeps its shards.
    /// `f` also hears whether there is one.
    pub fn each<Q: Send, T: Send>(
        &self,
        asked: Vec<(u16, Q)>,
        f: impl Fn(&dyn Peer, &Q, bool) -> Result<T> + Sync,
    ) -> Vec<Result<T>> {
        each_at_once(asked, |(node, question)| {
            let mut why = GraphError::Unavailable("no node keeps these shards".into());
            let nodes = self.with_shards_of(node);
            for (at, other) in nodes.iter().enumerate() {
                match f(&*self.cut.nodes[*other].0, &question, at + 1 < nodes.len()) {
                    Err(error @ GraphError::Unavailable(_)) => {
                        self.gone[*other].store(true, Ordering::Relaxed);
                        why = error;
                    }
                    outcome => return outcome,
                }
            }
            Err(why)
        })
    }

    /// A node and those that keep all its shards too. Those that did not answer are left out.
    fn with_shards_of(&self, node: u16) -> Vec<usize> {
        let own: Vec<u16> = (0..).zip(&self.of_shard).filter(|(_, of)| **of == node).map(|(shard, _)| shard).collect();
        let has_them = |at: &usize| own.iter().all(|shard| self.cut.nodes[*at].1.contains(shard));
        let is_there = |at: &usize| !self.gone[*at].load(Ordering::Relaxed);
        let mut nodes: Vec<usize> =
            (0..self.cut.nodes.len()).filter(|at| !own.is_empty() && is_there(at) && has_them(at)).collect();
        nodes.sort_by_key(|at| *at != usize::from(node));
        nodes
    }
}
