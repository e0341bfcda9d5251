//! Messages to the nodes that run steps, and their answers, as bytes.
//!
//! ```text
//!   message   path mode, depth, most bytes, bytes of the plan | plan | traversers
//!   answer    warnings | results, whose scopes are rows of the message
//! ```
//! Paths, labels and sacks stay with the query. An answer tells what became of them since.

use serde::{Deserialize, Serialize};

use crate::execute::data::batch::Batch;
use crate::execute::data::items::Items;
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

/// The head, the bytes of the plan, and the traversers, which stand on elements; `None` if that is no message.
pub fn read_message(bytes: &[u8]) -> Option<(MessageHead, &[u8], Batch)> {
    let ((head, length), rest) = postcard::take_from_bytes::<(MessageHead, u64)>(bytes).ok()?;
    let (plan, traversers) = rest.split_at_checked(usize::try_from(length).ok()?)?;
    let (_, batch) = sent::from_bytes(traversers)?;
    let are_elements = matches!(batch.items, Items::Vertices(_) | Items::Edges(_));
    are_elements.then_some((head, plan, batch))
}

/// An answer as bytes; `None` if it cannot travel.
pub fn answer(warnings: &[String], results: &Batch) -> Option<Vec<u8>> {
    let mut bytes = postcard::to_extend(warnings, Vec::new()).ok()?;
    bytes.append(&mut sent::to_bytes(&[], results).ok()?);
    Some(bytes)
}

/// The warnings and the results for so many rows; `None` if that is no answer.
pub fn read_answer(bytes: &[u8], rows: usize) -> Option<(Vec<String>, Batch)> {
    let (warnings, results) = postcard::take_from_bytes::<Vec<String>>(bytes).ok()?;
    let (_, batch) = sent::from_bytes(results)?;
    (0..batch.len()).all(|at| batch.scope(at) < rows).then_some((warnings, batch))
}

#[cfg(test)]
mod tests {
    use mangrove_graph::{LabelId, VertexId};

    use super::*;

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
        let bytes = answer(&["careful".into()], &results).unwrap();
        let (warnings, again) = read_answer(&bytes, 3).unwrap();
        assert_eq!((&warnings[..], again.scope), (&["careful".to_owned()][..], Some(vec![0, 2])));
        assert!(read_answer(&bytes, 2).is_none(), "the result of a row that was not asked for");
        assert!((0..bytes.len()).all(|end| read_answer(&bytes[..end], 3).is_none()));
    }
}
