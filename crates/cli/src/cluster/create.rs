//! `mangrove cluster create`, and what a graph is made of.

use clap::{Args, ValueEnum};
use mangrove::IdSpace;
use mangrove::cluster::{self, GraphRecord};

use super::failed;
use crate::log::LogOptions;
use crate::{Failure, say};

/// Shards of a graph if nobody says how many.
const SHARDS: u16 = 16;

#[derive(Args)]
pub struct Create {
    /// Name of the graph
    pub name: String,
    #[command(flatten)]
    pub log: LogOptions,
    #[command(flatten)]
    pub kind: NewGraph,
}

/// What a new graph is like.
#[derive(Args, Clone, Copy)]
pub struct NewGraph {
    /// Number of shards, fixed for ever: about four for each node that you may ever have. 16 unless you say it
    #[arg(long)]
    shards: Option<u16>,
    /// Copies of the log, on as many brokers. With one, the graph is lost with its broker
    #[arg(long, default_value_t = 1)]
    pub copies: usize,
    /// Whether ids of vertices are unique in the graph (so it is unless you say it), or within their label
    #[arg(long, value_enum)]
    id_space: Option<Space>,
}

#[derive(Args)]
pub struct CreateOnce {
    #[command(flatten)]
    create: Create,
    /// Succeed if the log has this graph already
    #[arg(long)]
    if_missing: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Space {
    Graph,
    Label,
}

impl From<Space> for IdSpace {
    fn from(space: Space) -> Self {
        match space {
            Space::Graph => IdSpace::Graph,
            Space::Label => IdSpace::Label,
        }
    }
}

impl CreateOnce {
    pub fn run(&self) -> Result<(), Failure> {
        let (graph, is_new) = self.create.found_or_made()?;
        if !is_new && self.if_missing {
            say(&format!("the log has the graph {} already", graph.name));
            return Ok(());
        }
        if !is_new {
            return Err(Failure::Request(format!("the log has a graph {} already", graph.name)));
        }
        say("the graph is made; start its nodes with `mangrove node`");
        Ok(())
    }
}

impl Create {
    /// The graph of the log, and whether this has made it.
    pub fn found_or_made(&self) -> Result<(GraphRecord, bool), Failure> {
        let shards = self.kind.shards.unwrap_or(SHARDS);
        if !(1..=cluster::SHARDS_MAX).contains(&shards) {
            return Err(Failure::Usage(format!("a graph has 1 to {} shards, not {shards}", cluster::SHARDS_MAX)));
        }
        let is_new = self.log.create(&self.name, self.kind.copies)?;
        let log = self.log.open(&self.name)?;
        if !is_new && let Ok(graph) = cluster::graph_of(&log) {
            return self.must_be(&graph).map(|()| (graph, false));
        }
        let id_space = self.kind.id_space.map_or(IdSpace::Graph, IdSpace::from);
        match cluster::make_graph(&log, &self.name, shards, id_space) {
            Ok(graph) => Ok((graph, true)),
            // Another program may have been faster.
            Err(error) => match cluster::graph_of(&log) {
                Ok(graph) => self.must_be(&graph).map(|()| (graph, false)),
                Err(_) => Err(failed(error)),
            },
        }
    }

    /// Fails if a graph is not what was asked for.
    fn must_be(&self, graph: &GraphRecord) -> Result<(), Failure> {
        let placement = graph.placement;
        let is_other = |what: &str| Failure::Request(format!("the log has a graph {} already, {what}", self.name));
        if self.kind.shards.is_some_and(|shards| shards != placement.shards) {
            return Err(is_other(&format!("with {} shards, which never change", placement.shards)));
        }
        if self.kind.id_space.is_some_and(|space| IdSpace::from(space) != placement.id_space) {
            return Err(is_other("with another id space"));
        }
        Ok(())
    }
}
