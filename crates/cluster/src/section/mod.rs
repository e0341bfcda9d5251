//! What a transaction does to one shard, as bytes.
//!
//! ```text
//!   operation   one change of a store, in the ids and numbers of that store
//!   recorder    a store under change that notes every change that was made
//!   apply       makes the changes of a section in another store, or in the same one later
//! ```
//! A section is its operations, one behind the other, by postcard. The sections of several transactions, put behind each other, are one section.
//! Operations name the ids that new elements get. So applying them to a store that has followed all sections before gives the same store again.

mod apply;
mod operation;
mod recorder;

pub use apply::{apply, pieces, version_of};
pub use operation::END_LABELS;
pub use recorder::Recorder;
