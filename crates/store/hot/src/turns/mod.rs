//! Who writes and who seals, and when.

pub mod group;
pub mod keeper;
pub mod turn;
