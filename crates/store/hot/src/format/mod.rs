//! How keys, values and the catalog are written as bytes in the tables.

pub mod adjacency;
pub mod block;
pub mod catalog;
pub mod encode;
pub mod filter;
pub mod index;
pub mod key;
pub mod keys;
pub mod named;
pub mod names;
pub mod packed;
pub mod sort;
pub mod walk;
