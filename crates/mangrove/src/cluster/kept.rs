//! Points of the log at which others read a graph, shard by shard.
//!
//! The nodes keep a point for ten minutes, as long as some client holds it. Whoever splits a query holds its point here, so that the
//! readers of all shards find the same graph. They name the point by its number, and may be in other processes.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use mangrove_cluster::gateway::{Gateway, HeldCut};
use mangrove_graph::{GraphError, ReadContext, Result};

/// The nodes keep a point for so long.
const KEPT: Duration = Duration::from_secs(600);
/// The most points that a process keeps for others. The one that was read the longest time ago goes first, because the nodes have room for 256
/// of all clients.
const KEPT_MAX: usize = 64;

/// Points that this process keeps, the one that was read last behind the others.
#[derive(Default)]
pub struct KeptCuts(Mutex<Vec<Arc<HeldCut>>>);

impl KeptCuts {
    pub fn keep(&self, cut: &Arc<HeldCut>) {
        self.change(|kept| {
            kept.retain(|other| other.number != cut.number);
            kept.push(cut.clone());
        });
    }

    /// The graph at a number, from here or from the nodes.
    ///
    /// # Errors
    /// [`GraphError::Invalid`] if nobody keeps it any longer. [`GraphError::Unavailable`] if no node answers for some shard.
    pub fn at(&self, number: u64, gateway: &Gateway, limits: &ReadContext) -> Result<Arc<HeldCut>> {
        let mut found = None;
        self.change(|kept| {
            found = kept.iter().position(|cut| cut.number == number && !is_over(cut)).map(|at| kept.remove(at));
            kept.extend(found.clone());
        });
        match found {
            Some(cut) => Ok(cut),
            None => gateway.cut_again(number, limits)?.ok_or_else(|| gone(number)),
        }
    }

    /// Changes what is kept, and lets go what is too old or too much.
    fn change(&self, change: impl FnOnce(&mut Vec<Arc<HeldCut>>)) {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        change(&mut kept);
        let too_many = kept.len().saturating_sub(KEPT_MAX);
        let mut gone: Vec<_> = kept.drain(..too_many).collect();
        gone.extend(kept.extract_if(.., |cut| is_over(cut)));
        drop(kept);
        drop(gone); // nodes are told, without the lock
    }
}

/// Whether a point cannot be read any longer.
fn is_over(cut: &HeldCut) -> bool {
    cut.is_lost() || cut.made.elapsed() >= KEPT
}

fn gone(number: u64) -> GraphError {
    GraphError::Invalid(format!(
        "the graph as it was at commit {number} is gone: it is kept for ten minutes at most. Split the query again, and read all shards anew"
    ))
}
