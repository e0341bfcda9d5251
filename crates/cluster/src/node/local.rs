//! A node of this process, for a gateway of this process.

use mangrove_graph::{ReadContext, Result};

use super::session::Session;
use crate::gateway::Peer;
use crate::wire::{Call, Reply};

/// A session of this process with its own node.
pub struct LocalPeer(pub Session);

impl Peer for LocalPeer {
    fn call(&self, call: &Call, limits: Option<&ReadContext>) -> Result<Reply> {
        let own =
            |limits: &ReadContext| ReadContext { cancel: limits.cancel.clone(), trace: limits.trace, ..Default::default() };
        self.0.serve_for(call.clone(), limits.map(own).unwrap_or_default())
    }

    fn tell(&self, call: Call) {
        // It tells of an end, and nobody waits for that.
        let _ = self.0.serve(call, Default::default());
    }
}
