//! The nodes that may run steps of a query, if its graph is on nodes.

use std::fmt;

use mangrove_graph::{EdgeRef, ReadContext, VertexId};

/// The nodes of a graph, as a query sees them that reads one state of it.
///
/// Messages are bytes for [`run_fragment`](crate::run_fragment), and so are the answers.
pub trait Fleet: fmt::Debug + Send + Sync {
    /// The node that has a vertex with its properties and edges.
    fn node_of_vertex(&self, vertex: VertexId) -> u16;

    /// The node that has an edge with its properties.
    fn node_of_edge(&self, edge: &EdgeRef) -> u16;

    /// Gives each node its message, all at the same time, and waits within the limits of the query. One outcome for each message, in
    /// their order.
    fn run(&self, messages: Vec<(u16, Vec<u8>)>, limits: &ReadContext) -> Vec<Ran>;
}

/// What becomes of a message to a node.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Ran {
    /// The answer.
    Gave(Vec<u8>),
    /// The node did not run it, or not to the end. It may run others.
    Refused,
    /// No node runs such messages now.
    Unable,
}
