//! What a process asks of a node, and what it gets.

use std::sync::Arc;
use std::time::Duration;

use mangrove_graph::{Schema, Statistics};
use serde::{Deserialize, Serialize};

use super::ask::{Answer, Ask, NextLocals};
use crate::log::{GraphRecord, Member, RequestId, Section};

#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Call {
    /// What graph is this, and who has its shards?
    Hello,
    /// The newest cuts of shards. Waits a little for one at a number or after it.
    Applied {
        shards: Vec<u16>,
        from: u64,
    },
    /// Keeps the cut of a number. The schema is sent if it is not this one.
    Hold {
        shard: u16,
        number: u64,
        version: Option<u64>,
    },
    Release {
        shard: u16,
        number: u64,
    },
    /// Reads a shard at a number.
    Ask {
        shard: u16,
        number: u64,
        left: Option<Duration>,
        ask: Ask,
    },
    /// Waits for a turn to write, at most so long. It may be asked again. Who asks gives it a number.
    Begin {
        turn: u64,
        patience: Duration,
    },
    /// What was committed after a number, and what is to be. Only for who has the turn.
    Since {
        turn: u64,
        number: u64,
    },
    /// Gives the turn back, and commits.
    Commit {
        turn: u64,
        request: RequestId,
        sections: Vec<Section>,
    },
    /// Gives the turn back.
    Rollback {
        turn: u64,
    },
    /// What is wrong with the shards of the node, each by itself?
    Check,
    /// How many bytes do they take?
    Size,
    /// By which commit was a transaction made?
    WasMade(RequestId),
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Reply {
    Hello {
        graph: GraphRecord,
        members: Vec<Member>,
        writer: Option<u64>,
    },
    Applied(Vec<u64>),
    Held {
        version: u64,
        schema: Option<Arc<Schema>>,
        statistics: Arc<Statistics>,
        next: NextLocals,
    },
    Released,
    Answer(Answer),
    /// The turn is yours.
    Turn,
    /// Somebody else has it.
    Busy {
        holder: String,
        held: Duration,
    },
    /// This node is not the writer. That process is, if it is known.
    Elsewhere {
        writer: Option<u64>,
    },
    /// `None` if this is not known any more: read at a newer number first.
    Since(Option<Vec<Section>>),
    Committed(u64),
    RolledBack,
    Made(Option<u64>),
    Checked(Vec<String>),
    Size(u64),
}
