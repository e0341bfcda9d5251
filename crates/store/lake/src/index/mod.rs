//! Indexes: which edges each vertex has, and which vertex has an id, where no file says so in that order.
//!
//! ```text
//!   cache   a directory of indexes with a bound, shared by all processes of a user
//!   ends    the rows of both ends of each edge, by its place
//!   lists   the edges of each vertex, by one end
//!   ids     the rows of vertices, by their ids
//!   parquet files of other formats, converted
//! ```
//! An index is a segment file: compressed, mapped into memory, with checksums. It describes what it was made from, down to the
//! version of each file, so that it is never used for other files.

mod cache;
mod ends;
mod ids;
mod lists;
mod parallel;
mod parquet;

pub use cache::IndexCache;
pub use ends::{Ends, EndsIndex, NONE};
pub use ids::IdsIndex;
pub use lists::ListsIndex;
pub use parallel::in_parallel;
pub use parquet::ConvertedFile;

use mangrove_segment::file::PartKey;

/// What a part of an index holds.
#[derive(Clone, Copy)]
enum Part {
    Description = 0,
    Count = 1,
    Ends = 2,
    Lists = 3,
    Firsts = 4,
    Ids = 5,
    Parquet = 6,
}

impl Part {
    fn key(self, chunk: u64) -> PartKey {
        PartKey { part: self as u8, kind: 0, label: 0, sub: 0, chunk }
    }
}
