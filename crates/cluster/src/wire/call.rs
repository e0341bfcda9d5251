//! What a process asks of a node, and what it gets.

use std::sync::Arc;
use std::time::Duration;

use mangrove_graph::{KeyId, Schema, Statistics};
use serde::{Deserialize, Serialize};

use super::ask::{Answer, Ask, NextLocals};
use super::chunks::{Chunks, LakeRange};
use super::opaque::Opaque;
use crate::backup::{Backup, ShardCopy};
use crate::log::{GraphRecord, Member, PartAt, Reached, RequestId, Section};

#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Call {
    /// What graph is this, and who has its shards?
    Hello,
    /// How far are shards? Waits a little until they are at a number or after it. If who asks waits for a shard that is behind, cuts from that number
    /// on are kept longer.
    Applied {
        shards: Vec<u16>,
        from: u64,
        behind: Option<u64>,
    },
    /// Keeps the cut of a number of some shards. The schema of each is sent if it is not of this version.
    Hold {
        number: u64,
        shards: Vec<(u16, Option<u64>)>,
    },
    Release {
        number: u64,
        shards: Vec<u16>,
    },
    /// Reads a shard at a number.
    Ask {
        shard: u16,
        number: u64,
        left: Option<Duration>,
        ask: Ask,
    },
    /// Runs a small query that writes, in a transaction of its own.
    Run {
        request: RequestId,
        left: Option<Duration>,
        query: Vec<u8>,
    },
    /// Waits for the commit of a query that has run.
    Outcome(RequestId),
    /// Waits for a turn to write, at most so long. It may be asked again. Who asks gives it a number.
    Begin {
        turn: u64,
        patience: Duration,
    },
    /// What was committed after a number, and what is to be. Only for who has the turn. Fails if the node does not know of the commit `own`.
    Since {
        turn: u64,
        number: u64,
        own: u64,
    },
    /// Writes the first changes of a large transaction to the log. Only for who has the turn.
    Part {
        turn: u64,
        section: Section,
    },
    /// Writes what the log has said to it, as a place where it may begin. Only for who has the turn.
    Base {
        turn: u64,
    },
    /// Stores a copy of a shard, once it has applied the log beyond a base.
    CopyShard {
        shard: u16,
        base: PartAt,
    },
    /// Stores the log from a base to behind copies of all shards. Then the backup is complete.
    CopyLog {
        base: PartAt,
        shards: Vec<ShardCopy>,
    },
    /// Reads the last backup but one, and deletes the log before it if it is whole.
    CutLog,
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
    /// By which commit was a transaction made?
    WasMade(RequestId),
    /// How is the node?
    Status,
    /// A node of this name is no member any more. It must have ended.
    Forget {
        name: String,
    },
    /// Ends the node.
    Stop,
    /// The node is to have a shard, too: it follows the log from now on. Answered once it can be read there.
    TakeShard {
        shard: u16,
    },
    /// The node is to have a shard no longer. Another one must have it.
    DropShard {
        shard: u16,
    },
    /// A word about work that several nodes do together, in rounds. Those who do it know what it means. What a client has begun in this way ends
    /// with its connection.
    Rounds {
        left: Option<Duration>,
        asked: Opaque,
    },
    /// Steps of a query, to run over the shards that the node has. Who asks keeps them at this number.
    Fragment {
        left: Option<Duration>,
        number: u64,
        asked: Opaque,
    },
    /// Which Mangrove is the node? One that is older than this call ends the connection.
    About,
    /// Records of the log may have this version from now on. All nodes must read it.
    Allow {
        version: u8,
    },
    /// What is there to know of a lake, before anything is read?
    LakeMap,
    /// Another node of the lake is there.
    Meet {
        graph: String,
        fingerprint: u128,
        node: LakeNode,
    },
    /// Reads a lake whose files have this fingerprint. A scan visits only the elements `within`.
    AskLake {
        fingerprint: u128,
        left: Option<Duration>,
        within: Option<LakeRange>,
        ask: Ask,
    },
    /// Steps of a query, to run over a lake whose files have this fingerprint.
    LakeFragment {
        fingerprint: u128,
        left: Option<Duration>,
        asked: Opaque,
    },
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Reply {
    Hello {
        graph: GraphRecord,
        members: Vec<Member>,
        writer: Option<u64>,
    },
    /// How far each shard is, or why it does not tell.
    Applied(Vec<Result<Reached, String>>),
    /// For each shard, what there is to know of it, or why it is not there.
    Held(Vec<Result<HeldOf, String>>),
    Released,
    Answer(Answer),
    /// The query has run, and gave this. If it changed something, that is on its way into the log.
    Ran {
        given: Vec<u8>,
        commits: bool,
    },
    /// Whoever asked must run the query, the steps, or the work in rounds. Nothing of it was stored.
    NotRun,
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
    Since(Option<Since>),
    Part(PartAt),
    Base(PartAt),
    ShardCopied(ShardCopy),
    LogCopied(Backup),
    /// Where the log begins now, if it was cut.
    LogCut(Option<u64>),
    Committed(u64),
    RolledBack,
    Made(Option<u64>),
    Checked(Vec<String>),
    Status(NodeStatus),
    Forgotten,
    Stopping,
    ShardTaken,
    ShardDropped,
    /// What is said of work in rounds.
    Rounds(Opaque),
    /// What the steps gave.
    Fragment(Opaque),
    About(NodeAbout),
    Allowed,
    /// This node has a lake. It says so to a greeting.
    Lake(LakeHello),
    LakeMap(LakeMap),
}

/// A node of a lake.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct LakeNode {
    pub name: String,
    pub address: String,
}

/// What a node of a lake says first.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct LakeHello {
    pub graph: String,
    /// Other files have another one.
    pub fingerprint: u128,
    pub node: LakeNode,
    /// All nodes that it has heard of lately, and itself, by name.
    pub nodes: Vec<LakeNode>,
    /// How many calls it has answered that read something, and of how many chunks.
    pub calls: u64,
    pub chunks: u64,
}

/// What is known of a lake without a look at its data.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct LakeMap {
    pub schema: Arc<Schema>,
    pub chunks: Chunks,
    /// The key that orders the edges of each label, where somebody noted one.
    pub times: Vec<Option<KeyId>>,
    /// The bytes of all files, if they can be listed.
    pub bytes: Option<u64>,
}

/// What was committed after a number, and what is to be.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Since {
    /// What it did, in order.
    pub sections: Vec<Section>,
    /// The last commit of the log.
    pub number: u64,
    /// Whether something of it is not in the log yet.
    pub is_pending: bool,
}

/// A shard at a cut that is kept.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct HeldOf {
    /// Tells schemas of the shard apart: a number at which it had this one.
    pub version: u64,
    /// `None` if who asks has it.
    pub schema: Option<Arc<Schema>>,
    pub statistics: Arc<Statistics>,
    pub next: NextLocals,
}

/// How a node is.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct NodeStatus {
    /// Another one than its member record says until the log has the new one.
    pub process: u64,
    /// The last commit of the log, and the term of its writer, as far as the node has read.
    pub number: u64,
    pub term: u64,
    pub is_writer: bool,
    /// How long ago the node has last heard of the log.
    pub silent: Duration,
    pub shards: Vec<ShardStatus>,
}

/// Which Mangrove a node is.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct NodeAbout {
    /// The version of Mangrove.
    pub software: String,
    /// The newest version of records of the log that it reads.
    pub reads: u8,
    /// The newest version that the graph allows, as far as the node has read.
    pub allowed: u8,
}

/// How a shard is on a node.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct ShardStatus {
    pub shard: u16,
    /// Its newest cut.
    pub number: u64,
    /// How many cuts it keeps.
    pub cuts: u64,
    pub bytes: u64,
    /// Why it cannot go on.
    pub trouble: Option<String>,
}
