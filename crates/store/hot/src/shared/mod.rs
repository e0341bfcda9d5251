//! What the handles, snapshots and transactions of one store share.

pub mod notes;
pub mod owned;
pub mod space;
pub mod state;
