//! Modulators, and the order they give.

pub mod by;
pub mod sort_keys;
