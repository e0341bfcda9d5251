//! What those who work in rounds say to each other.

use std::sync::Arc;

use mangrove_analytics::engine::Report;
use mangrove_analytics::{AnalyticsError, Divided, Selection};
use mangrove_cluster::wire::{Opaque, SentError};
use mangrove_graph::{GraphError, Schema};
use serde::{Deserialize, Serialize};

/// What a client or another node says to a node.
#[derive(Debug, Serialize, Deserialize)]
pub enum Asked {
    /// What is your name?
    Name,
    /// Take a part, and begin.
    Begin(Box<PartPlan>),
    /// All parts have come to the end of this round. Go on. If a checkpoint is named, keep the values after the step that has ended, or
    /// after the first that ends.
    Go { job: u64, round: u64, report: Summed, keep: Option<String> },
    /// A frame from another part, or a piece of one.
    Frame { job: u64, round: u64, from: u32, bytes: Opaque },
    /// What are the values of so many of your vertices?
    Values { job: u64, first: u64, count: u64 },
    /// Nobody needs the job any more.
    End { job: u64 },
    /// Nobody needs these checkpoints any more.
    Forget { names: Vec<String> },
}

/// What a node answers.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Told {
    Name(String),
    /// The part has come to the end of a round, and reports this.
    Come {
        round: u64,
        report: Summed,
        /// What has come of a checkpoint since the round before.
        kept: Option<Kept>,
    },
    /// The program has ended.
    Done(Finished),
    /// All stages are done. The job ends with this.
    Gave(Gave),
    /// It does not know the schema of that name.
    Schema,
    Taken,
    Values(Opaque),
    Ended,
    /// The part has failed.
    Failed(Failure),
}

/// The part of a graph that a node has in a job.
#[derive(Debug, Serialize, Deserialize)]
pub struct PartPlan {
    /// Tells jobs apart.
    pub job: u64,
    /// The cut that is read.
    pub number: u64,
    /// The number of the part.
    pub at: u32,
    /// The node of each part.
    pub names: Vec<String>,
    /// The part of each shard.
    pub owners: Vec<u32>,
    pub work: Work,
}

/// Which part of the graph a node has.
#[derive(Clone, Debug)]
pub struct OwnPart {
    /// The cut that is read.
    pub number: u64,
    pub at: u32,
    pub parts: usize,
    /// The part of each shard.
    pub owners: Vec<u32>,
}

impl OwnPart {
    /// The part that has a shard; the largest number if none has it.
    pub fn part_of(&self, shard: u16) -> usize {
        self.owners.get(usize::from(shard)).map_or(usize::MAX, |part| *part as usize)
    }
}

/// What is done with the graph.
#[derive(Debug, Serialize, Deserialize)]
pub enum Work {
    Program(Box<ProgramPlan>),
    Stages(StagesPlan),
}

/// A vertex program.
#[derive(Debug, Serialize, Deserialize)]
pub struct ProgramPlan {
    /// How many vertices all parts have.
    pub vertices: u64,
    /// The numbers of the vertices of this part, in their order.
    pub runs: Vec<NumberRun>,
    /// The places of the ids of these vertices among all, in four bytes each, if the program wants them.
    pub id_places: Opaque,
    pub selection: Selection,
    pub divided: Divided,
    /// 0 for one for each core of the node.
    pub threads: u64,
    /// The most memory that the part may take; `None` for what its machine has left.
    pub memory_bytes: Option<u64>,
    /// From where the program goes on; `None` if it begins.
    pub from: Option<Checkpoint>,
}

/// What was kept after a step.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Checkpoint {
    /// By this, its objects are found.
    pub name: String,
    pub steps: u64,
    /// What all parts reported after the last of these steps.
    pub report: Summed,
    /// The values of all shards that have vertices. A part gets those of its own.
    pub shards: Vec<ShardValues>,
}

/// The values of the vertices of a shard as an object.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct ShardValues {
    pub shard: u16,
    pub bytes: u64,
    /// XXH3.
    pub sum: u64,
}

/// What has come of a checkpoint at a node.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub enum Kept {
    Values {
        steps: u64,
        report: Summed,
        shards: Vec<ShardValues>,
    },
    /// The node has no store.
    NoStore,
    Failed(String),
}

/// Steps of a query whose traversers go from node to node.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct StagesPlan {
    /// The name of the schema of the whole graph, as the client reads it.
    pub name: u128,
    pub schema: Option<Arc<Schema>>,
    /// For the query engine.
    pub message: Opaque,
}

/// What the stages of a part came to.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Gave {
    pub answer: Opaque,
    /// The messages of the part to others.
    pub messages_sent: u64,
    pub bytes_sent: u64,
}

/// The numbers of the chosen vertices of a label in a shard: they follow each other.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct NumberRun {
    pub label: u16,
    pub shard: u16,
    pub first: u32,
    pub count: u32,
}

impl NumberRun {
    pub fn numbers(self) -> impl Iterator<Item = u32> {
        self.first..self.first + self.count
    }
}

/// A report, as it travels.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Summed {
    changed: u64,
    totals: [f64; 2],
}

impl From<Report> for Summed {
    fn from(Report { changed, totals }: Report) -> Self {
        Self { changed, totals }
    }
}

impl From<Summed> for Report {
    fn from(Summed { changed, totals }: Summed) -> Self {
        Self { changed, totals }
    }
}

/// What a part came to.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct Finished {
    pub steps: u64,
    pub totals: [f64; 2],
    pub values_sent: u64,
    pub frames_sent: u64,
    /// The bytes of the messages that carried these values.
    pub bytes_sent: u64,
}

/// An error of a part, as it travels.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Failure {
    Graph(SentError),
    Invalid(String),
    TooManyVertices { vertices: u64, most: u64 },
    TooLittleMemory { needed_mb: u64, allowed_mb: u64 },
    Panicked(String),
}

/// What an error says, without advice for who reads a graph.
pub fn said(error: GraphError) -> String {
    match error {
        GraphError::Unavailable(what) | GraphError::Corrupt(what) | GraphError::Invalid(what) => what,
        error => error.to_string(),
    }
}

impl From<AnalyticsError> for Failure {
    fn from(error: AnalyticsError) -> Self {
        match error {
            AnalyticsError::Graph(error) => Failure::Graph(error.into()),
            AnalyticsError::Invalid(what) => Failure::Invalid(what),
            AnalyticsError::TooManyVertices { vertices, most } => Failure::TooManyVertices { vertices, most },
            AnalyticsError::TooLittleMemory { needed_mb, allowed_mb } => Failure::TooLittleMemory { needed_mb, allowed_mb },
            AnalyticsError::Panicked(what) => Failure::Panicked(what),
        }
    }
}

impl From<Failure> for AnalyticsError {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::Graph(error) => AnalyticsError::Graph(error.into()),
            Failure::Invalid(what) => AnalyticsError::Invalid(what),
            Failure::TooManyVertices { vertices, most } => AnalyticsError::TooManyVertices { vertices, most },
            Failure::TooLittleMemory { needed_mb, allowed_mb } => AnalyticsError::TooLittleMemory { needed_mb, allowed_mb },
            Failure::Panicked(what) => AnalyticsError::Panicked(what),
        }
    }
}
