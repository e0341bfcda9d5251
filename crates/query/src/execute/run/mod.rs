//! What the operators of one query share: its state, memory, limits and counters, and the chain that pulls batches.

pub mod chain;
pub mod context;
pub mod help;
pub mod ids;
pub mod memory;
pub mod nesting;
pub mod pace;
pub mod portion;
pub mod profile;
pub mod scope;
pub mod sort;
pub mod types;
