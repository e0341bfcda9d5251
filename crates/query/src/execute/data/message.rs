//! Messages to the nodes that run steps, and their answers, as bytes.
//!
//! ```text
//!   message   path mode, depth, most bytes, bytes of the plan | plan | traversers
//!   answer    warnings, rows of the message whose id no vertex has | results, whose scopes are rows of the message
//! ```
//! Traversers stand on elements, on the ids of vertices that the node is to look up, or on the numbers of shards that it is to search.
//! Paths, labels and sacks stay with the query. An answer tells what became of them since.

use mangrove_graph::Value;
use serde::{Deserialize, Serialize};

use crate::execute::data::batch::Batch;
use crate::execute::data::sent;
use crate::plan::paths::PathMode;

/// What a message says beside the steps and the elements.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct MessageHead {
    pub mode: PathMode,
    /// Values may nest deep, and are checked after each step.
    pub may_go_deep: bool,
    /// A larger answer is not wanted. Where traversers go from node to node, the most that the query may hold.
    pub bytes_max: u64,
}

/// The most bytes of an answer.
pub const ANSWER_BYTES_MAX: usize = 16 << 20;

/// A message as bytes; `None` if it cannot travel.
pub fn message(head: MessageHead, plan: &[u8], traversers: &Batch) -> Option<Vec<u8>> {
    let mut bytes = postcard::to_extend(&(head, plan.len() as u64), Vec::new()).ok()?;
    bytes.extend_from_slice(plan);
    bytes.append(&mut sent::to_bytes(&[], traversers).ok()?);
    Some(bytes)
}

/// The head of a message; `None` if that is none.
pub fn read_head(bytes: &[u8]) -> Option<MessageHead> {
    postcard::take_from_bytes::<MessageHead>(bytes).ok().map(|(head, _)| head)
}

/// The head, the bytes of the plan, and the traversers; `None` if that is no message.
pub fn read_message(bytes: &[u8]) -> Option<(MessageHead, &[u8], Batch)> {
    let ((head, length), rest) = postcard::take_from_bytes::<(MessageHead, u64)>(bytes).ok()?;
    let (plan, traversers) = rest.split_at_checked(usize::try_from(length).ok()?)?;
    let (_, batch) = sent::from_bytes(traversers)?;
    Some((head, plan, batch))
}

/// The shard that a traverser of a message stands on; `None` if that is none.
pub fn shard_number(value: &Value) -> Option<u16> {
    u16::try_from(value.as_i64()?).ok()
}

/// What a node says.
pub struct Answer {
    pub warnings: Vec<String>,
    /// The rows of the message whose id no vertex has.
    pub unknown: Vec<u32>,
    /// Their scopes are rows of the message.
    pub results: Batch,
}

impl Answer {
    /// The answer as bytes; `None` if it cannot travel.
    pub fn to_bytes(&self) -> Option<Vec<u8>> {
        let mut bytes = postcard::to_extend(&(&self.warnings, &self.unknown), Vec::new()).ok()?;
        bytes.append(&mut sent::to_bytes(&[], &self.results).ok()?);
        Some(bytes)
    }

    /// The answer to a message of so many rows; `None` if that is none.
    pub fn from_bytes(bytes: &[u8], rows: usize) -> Option<Self> {
        let ((warnings, unknown), rest) = postcard::take_from_bytes::<(Vec<String>, Vec<u32>)>(bytes).ok()?;
        let (_, results) = sent::from_bytes(rest)?;
        let are_rows =
            unknown.iter().all(|row| (*row as usize) < rows) && (0..results.len()).all(|at| results.scope(at) < rows);
        are_rows.then_some(Self { warnings, unknown, results })
    }
}

#[cfg(test)]
mod tests {
    use mangrove_graph::{LabelId, VertexId};

    use super::*;
    use crate::execute::data::items::Items;

    fn vertices(count: u64) -> Items {
        Items::Vertices((0..count).map(|local| VertexId::new(LabelId(1), 3, local)).collect())
    }

    #[test]
    fn messages_and_answers_come_back_and_damaged_ones_do_not() {
        let head = MessageHead { mode: PathMode::Labels, may_go_deep: true, bytes_max: 1 << 20 };
        let bytes = message(head, b"a plan", &Batch::new(vertices(3))).unwrap();
        let (again, plan, traversers) = read_message(&bytes).unwrap();
        assert_eq!((again, plan, traversers.len()), (head, &b"a plan"[..], 3));
        assert!((0..bytes.len()).all(|end| read_message(&bytes[..end]).is_none()));
        let results = Batch { scope: Some(vec![0, 2]), ..Batch::new(vertices(2)) };
        let bytes = Answer { warnings: vec!["careful".into()], unknown: vec![1], results }.to_bytes().unwrap();
        let again = Answer::from_bytes(&bytes, 3).unwrap();
        assert_eq!((&again.warnings[..], &again.unknown[..]), (&["careful".to_owned()][..], &[1][..]));
        assert_eq!(again.results.scope, Some(vec![0, 2]));
        assert!(Answer::from_bytes(&bytes, 2).is_none(), "the result of a row that was not asked for");
        assert!((0..bytes.len()).all(|end| Answer::from_bytes(&bytes[..end], 3).is_none()));
    }
}
