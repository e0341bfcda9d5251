//! Which node answers for a chunk: rendezvous hashing (Thaler and Ravishankar, 1998). Each node has a weight for each chunk, and the greatest wins. If
//! a node ends, only its chunks go to others, and to all of them alike.

use mangrove_graph::ElementKind;
use xxhash_rust::xxh3::{xxh3_64, xxh3_64_with_seed};

use crate::wire::Chunk;

/// The node with the greatest weight for a chunk, by its place among the names; `None` if there are none.
pub fn owner<'n>(names: impl Iterator<Item = &'n str>, chunk: &Chunk) -> Option<usize> {
    let seed = seed(chunk);
    let weighed = names.enumerate().map(|(at, name)| (xxh3_64_with_seed(name.as_bytes(), seed), name, at));
    weighed.max().map(|(_, _, at)| at)
}

/// A number for a chunk, the same in every process.
fn seed(chunk: &Chunk) -> u64 {
    let mut bytes = [0; 11];
    bytes[0] = u8::from(chunk.kind == ElementKind::Edge);
    bytes[1..3].copy_from_slice(&chunk.label.0.to_le_bytes());
    bytes[3..].copy_from_slice(&chunk.number.to_le_bytes());
    xxh3_64(&bytes)
}

#[cfg(test)]
mod tests {
    use mangrove_graph::LabelId;

    use super::*;

    const NAMES: [&str; 4] = ["node-0", "node-1", "node-2", "node-3"];

    fn chunks() -> impl Iterator<Item = Chunk> {
        (0..4_000).map(|number| Chunk { kind: ElementKind::Vertex, label: LabelId(3), number })
    }

    #[test]
    fn chunks_are_spread_evenly() {
        let mut counts = [0; NAMES.len()];
        chunks().for_each(|chunk| counts[owner(NAMES.into_iter(), &chunk).unwrap()] += 1);
        assert!(counts.iter().all(|count| (800..1_200).contains(count)), "{counts:?}");
        assert_eq!(owner(std::iter::empty(), &chunks().next().unwrap()), None);
    }

    #[test]
    fn only_the_chunks_of_a_node_that_ended_move() {
        let mut moved = [0; 3];
        for chunk in chunks() {
            let (before, after) =
                (owner(NAMES.into_iter(), &chunk).unwrap(), owner(NAMES[..3].iter().copied(), &chunk).unwrap());
            match before {
                3 => moved[after] += 1,
                before => assert_eq!(before, after),
            }
        }
        assert!(moved.iter().all(|count| *count > 200), "{moved:?}");
    }
}
