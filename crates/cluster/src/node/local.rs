//! A node of this process, for those who connect, and for a gateway of this process.

use std::sync::Arc;

use mangrove_graph::{CancelToken, ReadContext, Result};

use super::Node;
use super::session::Session;
use crate::gateway::Peer;
use crate::service::{Conversation, Service};
use crate::wire::{Call, Reply};

/// A session of this process with its own node.
pub struct LocalPeer(pub Session);

impl Peer for LocalPeer {
    fn call(&self, call: &Call, limits: Option<&ReadContext>) -> Result<Reply> {
        let cancel = limits.map(|limits| limits.cancel.clone()).unwrap_or_default();
        self.0.serve(call.clone(), cancel)
    }

    fn tell(&self, call: Call) {
        // It tells of an end, and nobody waits for that.
        let _ = self.0.serve(call, Default::default());
    }
}

impl Service for Node {
    fn conversation(self: Arc<Self>, who: String) -> Arc<dyn Conversation> {
        Arc::new(Session::new(self, who))
    }
}

impl Conversation for Session {
    fn serve(&self, call: Call, cancel: CancelToken) -> Result<Reply> {
        Session::serve(self, call, cancel)
    }
}
