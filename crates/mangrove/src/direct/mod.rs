//! Reads and writes without a query language: the interface of the graph store ZipG, and the operations of TAO and of graph search
//! on top of it.
//!
//! [`DirectReads`] has the calls of ZipG's Table 1 that read, over any [`GraphView`](mangrove_graph::GraphView). [`DirectWrites`] has
//! those that change a graph. Names of the calls are the paper's; a *node* is a vertex, and an *edge type* the label of an edge. Where
//! the paper has a wildcard, a call takes `None`.
//!
//! | ZipG | here |
//! |---|---|
//! | `get_node_property(node, properties or *)` | [`DirectReads::get_node_property`] |
//! | `get_node_ids(properties)` | [`DirectReads::get_node_ids`] |
//! | `get_neighbor_ids(node, type or *, properties or *)` | [`DirectReads::get_neighbor_ids`] |
//! | `get_edge_record(node, type or *)` | [`DirectReads::get_edge_record`] |
//! | `get_edge_range(record, from or *, to or *)` | [`DirectEdges::get_edge_range`] |
//! | `get_edge_data(record, time order or *)` | [`DirectEdges::get_edge_data`] |
//! | `append(node, properties)`, `append(node, type, edges)` | [`DirectWrites::append_node`], [`DirectWrites::append_edge`] |
//! | `delete(node)`, `delete(node, type, destination)` | [`DirectWrites::delete_node`], [`DirectWrites::delete_edges`] |
//!
//! [`tao`] has the operations of Facebook's graph store, with ZipG's algorithms 1 to 3, and [`graph_search`] the queries GS1 to GS5.
//!
//! Agarwal, Khandelwal, Stoica: ZipG: A Memory-efficient Graph Store for Interactive Queries, SIGMOD 2017, sections 2.2 and 4.2.

mod edges;
pub mod graph_search;
mod reads;
pub mod tao;
mod writes;

pub use edges::{DirectEdges, EdgeData, EdgeList};
pub use reads::{DirectReads, Properties};
pub use writes::DirectWrites;
