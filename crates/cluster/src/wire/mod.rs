//! What processes say to each other.
//!
//! ```text
//!   ids      ids of elements, in few bytes
//!   values   columns and elements
//!   ask      a call of the view of a shard, and its answer
//!   chunks   which elements of a lake lie together
//!   error    errors
//!   opaque   bytes that mean something to others
//!   call     what is asked of a node, and its reply
//!   kind     the kinds of calls
//! ```
//! All of it travels by postcard. Whoever reads bytes of others needs no more memory than a few times these bytes.

mod ask;
mod call;
mod chunks;
mod error;
mod ids;
mod kind;
mod opaque;
mod values;

pub use ask::{Answer, Ask, NextLocals, answer, answer_of_view};
pub use call::{Call, HeldOf, LakeHello, LakeMap, LakeNode, NodeAbout, NodeStatus, Reply, ShardStatus, Since};
pub use chunks::{Chunk, Chunks, LakeRange};
pub use error::SentError;
pub use kind::CallKind;
pub use opaque::Opaque;
pub use values::{SentElements, damaged, ids};

use mangrove_graph::wire::reading;
use mangrove_graph::{GraphError, Result};
use serde::Serialize;
use serde::de::DeserializeOwned;

/// Something that travels, as bytes.
pub fn to_bytes<T: Serialize>(value: &T) -> Result<Vec<u8>> {
    postcard::to_allocvec(value).map_err(|error| GraphError::Invalid(format!("a message to another process: {error}")))
}

/// Reads what another process sent.
///
/// # Errors
/// [`GraphError::Unavailable`] if the bytes are not that.
pub fn from_bytes<T: DeserializeOwned>(bytes: &[u8]) -> Result<T> {
    match reading(|| postcard::take_from_bytes(bytes)) {
        Ok((value, [])) => Ok(value),
        _ => Err(damaged("a message")),
    }
}
