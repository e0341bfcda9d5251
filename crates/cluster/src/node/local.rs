//! A node of this process, for those who connect, and for a gateway of this process.

use std::sync::Arc;
use std::time::Duration;

use mangrove_graph::{ReadContext, Result};

use super::Node;
use super::session::Session;
use crate::gateway::Peer;
use crate::service::{Calls, Conversation, Service, Tracer};
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

impl Service for Node {
    fn conversation(self: Arc<Self>, who: String) -> Arc<dyn Conversation> {
        Arc::new(Session::new(self, who))
    }

    fn answered(&self) -> &Arc<Calls> {
        &self.counts().answered
    }

    fn tracer(&self) -> Option<&dyn Tracer> {
        Node::tracer(self)
    }
}

impl Conversation for Session {
    fn serve_for(&self, call: Call, asker: ReadContext) -> Result<Reply> {
        Session::serve_for(self, call, asker)
    }

    fn serve_briefly(&self, call: &Call, longest: Duration) -> Option<Reply> {
        Session::serve_briefly(self, call, longest)
    }
}
