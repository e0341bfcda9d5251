//! What the handles, snapshots and transactions of one store share.

pub mod owned;
pub mod space;
pub mod state;
