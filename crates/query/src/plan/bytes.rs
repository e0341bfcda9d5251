//! Plans as bytes, for another process that runs them.
//!
//! ```text
//!   "MGPL" | version 8 | source and steps, as postcard writes them
//! ```
//! The layout follows the types of the plan, so any change of these types needs a new version. Ids and labels of elements are
//! numbers: a plan means the same only to a process that sees the same graph. Bytes of others are safe to read: they give a plan or
//! an error, in bounded stack and memory.

use mangrove_graph::wire::reading;
use thiserror::Error;

use super::{Plan, Step, StepNode};
use crate::stack::with_room;

const MAGIC: &[u8; 4] = b"MGPL";
const VERSION: u8 = 8;
/// Reading and writing may nest as deep as [`mangrove_graph::wire::DEPTH_MAX`].
const STACK: usize = 1 << 20;

#[derive(Debug, Error)]
pub enum PlanBytesError {
    #[error("these bytes are not a plan")]
    NotAPlan,
    #[error("the plan has version {0}, but this version of Mangrove reads version {VERSION} only")]
    Version(u8),
    #[error("the bytes of the plan are damaged: {0}")]
    Damaged(postcard::Error),
    #[error("the bytes of the plan end {0} bytes too late")]
    TooLong(usize),
    #[error("the plan names a variable that it does not have")]
    Unsound,
}

impl Plan {
    /// The plan as bytes. O(size of the plan).
    ///
    /// # Errors
    /// If the plan nests deeper than bytes may.
    pub fn to_bytes(&self) -> Result<Vec<u8>, PlanBytesError> {
        let head = [MAGIC.as_slice(), &[VERSION]].concat();
        with_room(STACK, || postcard::to_extend(self, head)).map_err(PlanBytesError::Damaged)
    }

    /// The plan that [`to_bytes`](Self::to_bytes) wrote.
    ///
    /// # Errors
    /// If the bytes are no plan, or one of another version.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, PlanBytesError> {
        let rest = bytes.strip_prefix(MAGIC).ok_or(PlanBytesError::NotAPlan)?;
        match rest.split_first() {
            Some((&VERSION, rest)) => {
                let (plan, left) =
                    with_room(STACK, || reading(|| postcard::take_from_bytes(rest))).map_err(PlanBytesError::Damaged)?;
                match left.len() {
                    0 => Self::sound(plan),
                    more => Err(PlanBytesError::TooLong(more)),
                }
            }
            Some((version, _)) => Err(PlanBytesError::Version(*version)),
            None => Err(PlanBytesError::NotAPlan),
        }
    }

    /// Fails if a number in the plan points to nothing.
    fn sound(plan: Self) -> Result<Self, PlanBytesError> {
        let strategies = plan.source.strategies.subgraph.iter();
        let more = strategies.flat_map(|s| [&s.vertices, &s.edges, &s.vertex_properties]).flatten();
        let is_unsound = |node: &StepNode| matches!(&node.step, Step::Math { expression, .. } if !expression.is_sound());
        let found = [&plan.traversal].into_iter().chain(more).any(|traversal| traversal.any(&is_unsound));
        if found { Err(PlanBytesError::Unsound) } else { Ok(plan) }
    }
}
