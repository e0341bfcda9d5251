//! A node as those see it who watch it.

use super::Node;
use crate::service::CallsSeen;
use crate::wire::NodeStatus;

/// How a node is, and what it has done since it began.
#[derive(Clone, Debug)]
pub struct NodeSeen {
    pub graph: String,
    pub name: String,
    /// Whether it answers clients. Before that, it reads the log.
    pub answers: bool,
    /// A shard whose files cannot be looked at is missing.
    pub status: NodeStatus,
    pub answered: Vec<CallsSeen>,
    pub asked: Vec<CallsSeen>,
    pub log: LogSeen,
    pub writes: WritesSeen,
    /// The parts of work in rounds that it has.
    pub parts_running: u64,
}

/// The log as a node has read and written it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LogSeen {
    pub records_read: u64,
    pub bytes_read: u64,
    pub records_written: u64,
    pub bytes_written: u64,
    /// The bytes of the last records, in memory for its shards.
    pub records_held: u64,
    /// The bytes of the last commits, in memory for those who write.
    pub commits_held: u64,
}

/// What a node has done as the writer.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct WritesSeen {
    pub commits: u64,
    pub made: u64,
    pub refused: u64,
}

impl Node {
    /// Whether it answers clients.
    pub fn answers(&self) -> bool {
        self.is_announced.load(std::sync::atomic::Ordering::Relaxed) && !self.tail.is_stopped()
    }

    /// How it is, and what it has done.
    pub fn seen(&self) -> NodeSeen {
        let mut status = self.role.status();
        status.shards = self.hosts.staying().iter().filter_map(|host| host.status().ok()).collect();
        let (log, writes) = (&self.counts.log, &self.counts.writes);
        NodeSeen {
            graph: self.graph.name.clone(),
            name: self.name.clone(),
            answers: self.answers(),
            status,
            answered: self.counts.answered.seen(),
            asked: self.counts.asked.seen(),
            log: LogSeen {
                records_read: log.records_read.get(),
                bytes_read: log.bytes_read.get(),
                records_written: log.records_written.get(),
                bytes_written: log.bytes_written.get(),
                records_held: self.tail.held() as u64,
                commits_held: self.role.held() as u64,
            },
            writes: WritesSeen { commits: writes.commits.get(), made: writes.made.get(), refused: writes.refused.get() },
            parts_running: self.runner().map_or(0, |runner| runner.parts_running() as u64),
        }
    }
}
