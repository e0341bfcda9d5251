//! Who writes and who seals, and when.

pub mod group;
pub mod keeper;
mod rhythm;
pub mod turn;
