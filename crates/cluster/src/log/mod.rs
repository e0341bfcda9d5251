//! The log is the graph: a shard changes only by applying it, in order.
//!
//! ```text
//!   carrier    what carries the log, and one in memory
//!   base       where a log begins
//!   record     what stands in the log, as bytes
//!   standing   which records count: the rule by which every reader judges them
//!   members    which nodes there are, which shards each has, and which records all can read
//!   follower   a reader that applies the sections of one shard
//!   cuts       the numbers of the log at which a shard can be read
//!   writer     the writer's role: taking it, committing, giving it up
//! ```
//! The log is one sequence of records that every reader sees in the same order. It may lose an append, deliver it late or write it twice. No
//! reader trusts an acknowledgement: it counts what it has read.
//!
//! A commit counts if it is of the writer of the last term, and has the number after that of the last commit. So each number is given once, like
//! a compare-and-append. Two writers may believe in their role at the same time; only one of them has commits that count.
//!
//! `follower` and `writer` do no I/O and know no clock: they take events and give what is to be done. So a simulation can run them through every
//! order of events.

mod base;
mod carrier;
mod cuts;
mod follower;
mod members;
mod record;
mod standing;
mod writer;

pub use base::{Beginning, beginning};
pub use carrier::{Log, LogReader, MemoryLog, was_cut};
pub use cuts::{COARSE, CutPace, Cuts, Found, Reached, rank};
pub use follower::{Follower, LogError, Position, Step};
pub use members::Members;
pub use record::{
    Base, Commit, GraphRecord, Member, PartAt, Record, RequestId, Section, Standing, VERSION_FIRST, VERSION_NEWEST,
    VERSION_OF_ROUTES, VERSION_OF_SOURCES, VERSION_UNSAID,
};
pub use writer::{Event, Output, PART_BYTES, Refusal, TRANSACTION_BYTES_MAX, Transaction, WriterCore, WriterPace};
