//! The nodes that may run steps of a query, if its graph is on nodes.

use std::fmt;

use mangrove_graph::{EdgeRef, GraphView, ReadContext, Value, VertexId};

/// Traversers go from node to node if at least so many are expected to move. A part of a mesh costs its node three messages and a
/// thread; with fewer traversers, the query is quicker step by step.
const MOVED_MIN: f64 = 2_000.0;

/// The nodes of a graph, as a query sees them that reads one state of it.
///
/// Messages are bytes for [`run_fragment`](crate::run_fragment), and so are the answers.
pub trait Fleet: fmt::Debug + Send + Sync {
    /// The node that has a vertex with its properties and edges.
    fn node_of_vertex(&self, vertex: VertexId) -> u16;

    /// The node that has an edge with its properties.
    fn node_of_edge(&self, edge: &EdgeRef) -> u16;

    /// The node that has the vertex with an id in the form users see, if there is such a vertex; `None` if it is not known which node
    /// that would be.
    fn node_of_id(&self, _id: &Value) -> Option<u16> {
        None
    }

    /// The node that has a shard; `None` if nodes do not search shards.
    fn node_of_shard(&self, _shard: u16) -> Option<u16> {
        None
    }

    /// Gives each node its message, all at the same time, and waits within the limits of the query. One outcome for each message, in
    /// their order.
    fn run(&self, messages: Vec<(u16, Vec<u8>)>, limits: &ReadContext) -> Vec<Ran>;

    /// The nodes among which traversers may go; `None` if they do not.
    fn mesh(&self) -> Option<&dyn MeshFleet> {
        None
    }
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

/// Says which part of the graph has an element. Each element is in one part, and each part is at one node.
pub trait Owners {
    fn parts(&self) -> usize;

    /// Less than the number of parts.
    fn part_of_vertex(&self, vertex: VertexId) -> usize;

    /// Less than the number of parts.
    fn part_of_edge(&self, edge: &EdgeRef) -> usize;
}

/// Nodes among which traversers go.
pub trait MeshFleet: Owners {
    /// Traversers go from node to node if at least so many are expected to move.
    fn moved_min(&self) -> f64 {
        MOVED_MIN
    }

    /// Gives each part its message, lets them run to their ends with [`run_stages`](crate::run_stages), and waits within the limits of
    /// the query. `None` if one of them does not come to its end.
    fn run_all(&self, messages: Vec<Vec<u8>>, limits: &ReadContext) -> Option<MeshRan>;
}

/// What all parts came to.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MeshRan {
    /// By part.
    pub answers: Vec<Vec<u8>>,
    /// The messages of the query to nodes, and of nodes to each other.
    pub messages: u64,
    /// Their bytes, and those of the answers.
    pub bytes: u64,
}

/// A part of a graph at its node, while traversers go among all of them.
pub trait MeshPart: Owners {
    /// Its number.
    fn at(&self) -> usize;

    /// Views that find all elements of the part when they are scanned. They may find others too.
    fn scanned(&self) -> Vec<&dyn GraphView>;

    /// Reads what is stored with the elements of the part.
    fn view(&self) -> &dyn GraphView;

    /// Sends bytes to other parts, and tells how many traversers there are here. Waits until all parts have done so. Returns the bytes
    /// that came from others, and how many traversers there are everywhere; `None` if one of the parts has ended early.
    fn exchange(&self, frames: Vec<(usize, Vec<u8>)>, moved: u64) -> Option<(Vec<Vec<u8>>, u64)>;
}
