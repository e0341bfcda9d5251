//! Work on the segments: sealing, merging, and emptying the tables of what is sealed.

pub mod compact;
pub mod layers;
pub mod room;
pub mod trim;
