//! What answers the processes that connect.
//!
//! ```text
//!   calls    what is counted of calls
//!   spans    where it tells of calls that are parts of traces
//! ```

mod calls;
mod spans;

use std::sync::Arc;
use std::time::Duration;

use mangrove_graph::{ReadContext, Result};

use crate::wire::{Call, Reply};

pub use self::calls::{Calls, CallsSeen, Count};
pub use self::spans::{CallSpan, Tracer};

/// A process to which others connect.
pub trait Service: Send + Sync {
    /// What answers one of them. It ends with the connection.
    fn conversation(self: Arc<Self>, who: String) -> Arc<dyn Conversation>;

    /// The calls that it has answered.
    fn answered(&self) -> &Arc<Calls>;

    /// Where it tells of calls that are parts of traces, if somebody wants to know.
    fn tracer(&self) -> Option<&dyn Tracer> {
        None
    }
}

/// A connection, at the side that answers.
pub trait Conversation: Send + Sync {
    /// Answers a call of somebody whose request to stop, and whose trace, are `asker`'s.
    fn serve_for(&self, call: Call, asker: ReadContext) -> Result<Reply>;

    /// Answers a call on a thread that must not wait: one that carries messages. It takes so long at most, and waits for no other thread that
    /// carries any. `None` if the call needs another thread.
    fn serve_briefly(&self, _call: &Call, _longest: Duration) -> Option<Reply> {
        None
    }
}
