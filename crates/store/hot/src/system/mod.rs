//! What the operating system is asked for.

pub mod disk;
pub mod fault;
pub mod identity;
pub mod lock;
