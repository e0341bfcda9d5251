//! Arrow Flight: record batches out of queries and into the graph, over gRPC on a port of its own.

mod connection;
mod service;
mod ticket;

pub use connection::Flight;
