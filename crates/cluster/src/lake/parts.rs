//! The nodes for one query, for steps that each runs with the chunks that it answers for.

use std::sync::Arc;
use std::time::Instant;

use mangrove_graph::{GraphError, ReadContext, Result};

use super::asked::NodeThere;
use super::owners::owner;
use super::view::OpenedLake;
use crate::at_once::each_at_once;
use crate::wire::{Call, Chunk, Opaque, Reply};

/// The nodes as they are when a query begins.
pub struct LakeParts {
    there: Vec<NodeThere>,
    seen: Arc<OpenedLake>,
}

impl LakeParts {
    /// # Errors
    /// [`GraphError::Unavailable`] if no node answers.
    pub fn new(seen: &Arc<OpenedLake>) -> Result<Self> {
        Ok(Self { there: seen.nodes().there()?, seen: seen.clone() })
    }

    pub fn seen(&self) -> &OpenedLake {
        &self.seen
    }

    /// The node of a chunk, for [`each`](Self::each).
    pub fn node_of(&self, chunk: &Chunk) -> u16 {
        owner(self.there.iter().map(|node| &*node.name), chunk).map_or(u16::MAX, |at| at as u16)
    }

    /// Gives each node its message, all at the same time. An answer is `None` if the node does not run it.
    pub fn each(&self, messages: Vec<(u16, Vec<u8>)>, limits: &ReadContext) -> Vec<Result<Option<Vec<u8>>>> {
        let left = limits.deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
        let fingerprint = self.seen.fingerprint();
        each_at_once(messages, |(at, message)| {
            let nobody = || GraphError::Unavailable("no node answers for these elements".into());
            let node = self.there.get(usize::from(at)).ok_or_else(nobody)?;
            let call = Call::LakeFragment { fingerprint, left, asked: Opaque(message) };
            // Whoever asks can go on without the node.
            match node.peer.call_or_give_up(&call, Some(limits)) {
                Ok(Reply::Fragment(answer)) => Ok(Some(answer.0)),
                Ok(_) => Ok(None),
                Err(error) => {
                    if let GraphError::Unavailable(_) = error {
                        self.seen.nodes().missed(node);
                    }
                    Err(error)
                }
            }
        })
    }
}
