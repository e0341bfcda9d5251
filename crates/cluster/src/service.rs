//! What answers the processes that connect.

use std::sync::Arc;

use mangrove_graph::{CancelToken, Result};

use crate::wire::{Call, Reply};

/// A process to which others connect.
pub trait Service: Send + Sync {
    /// What answers one of them. It ends with the connection.
    fn conversation(self: Arc<Self>, who: String) -> Arc<dyn Conversation>;
}

/// A connection, at the side that answers.
pub trait Conversation: Send + Sync {
    /// Answers a call. `cancel` stops it.
    fn serve(&self, call: Call, cancel: CancelToken) -> Result<Reply>;
}
