//! Files that hold both vertices and edges.

pub mod edgelist;
pub mod graphml;
pub mod graphson;
