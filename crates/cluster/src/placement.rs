//! The shard in which a vertex lives.

use mangrove_graph::{ExternalId, IdSpace, LabelId, VertexId};
use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_64_with_seed;

/// The most shards that a graph can have: an id has 12 bits for its shard.
pub const SHARDS_MAX: u16 = 1 << 12;

/// How vertices are spread over shards. It never changes during the life of a graph.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Placement {
    /// From 1 to [`SHARDS_MAX`].
    pub shards: u16,
    pub seed: u64,
    pub id_space: IdSpace,
}

impl Placement {
    /// The home of the vertex with an id: the upper bits of the 64-bit XXH3 of its key, times the number of shards.
    ///
    /// The key is the label in two bytes, big-endian, if ids are unique within labels; then 1 and an integer in eight bytes, big-endian, or
    /// 2 and the bytes of a UUID, or 3 and UTF-8.
    pub fn home(&self, label: LabelId, id: &ExternalId) -> u16 {
        let mut key = Vec::with_capacity(32);
        if self.id_space == IdSpace::Label {
            key.extend_from_slice(&label.0.to_be_bytes());
        }
        match id {
            ExternalId::Int(int) => {
                key.push(1);
                key.extend_from_slice(&int.to_be_bytes());
            }
            ExternalId::Uuid(uuid) => {
                key.push(2);
                key.extend_from_slice(uuid.as_bytes());
            }
            ExternalId::String(text) => {
                key.push(3);
                key.extend_from_slice(text.as_bytes());
            }
        }
        self.home_of_hash(self.hash(&key))
    }

    /// The 64-bit XXH3 of some bytes.
    pub fn hash(&self, bytes: &[u8]) -> u64 {
        xxh3_64_with_seed(bytes, self.seed)
    }

    /// The shard of what has a hash: its upper bits, times the number of shards.
    pub fn home_of_hash(&self, hash: u64) -> u16 {
        ((u128::from(hash) * u128::from(self.shards)) >> 64) as u16
    }

    /// The shards in which the vertex with an id may be: its home, and the one that a generated id names. Without a label, ids are unique in the
    /// graph.
    pub fn homes(&self, label: Option<LabelId>, id: &ExternalId) -> impl Iterator<Item = u16> {
        let (home, shards) = (self.home(label.unwrap_or(LabelId(0)), id), self.shards);
        let named = made_for(id).map(VertexId::shard).filter(|shard| *shard < shards && *shard != home);
        std::iter::once(home).chain(named)
    }
}

/// The vertex for which an id was generated. A number behind a point tells the id from one that a user gave.
fn made_for(id: &ExternalId) -> Option<VertexId> {
    let ExternalId::String(text) = id else { return None };
    let numbered = text.rsplit_once('.').filter(|(_, number)| number.parse::<u64>().is_ok());
    VertexId::from_generated(id).or_else(|| VertexId::from_generated(&numbered?.0.into()))
}

#[cfg(test)]
mod tests {
    use mangrove_graph::Uuid;

    use super::*;

    fn placement(shards: u16, id_space: IdSpace) -> Placement {
        Placement { shards, seed: 7, id_space }
    }

    #[test]
    fn homes_are_spread_evenly_and_stay_where_they_are() {
        let placement = placement(8, IdSpace::Graph);
        let mut counts = [0; 8];
        (0..80_000).for_each(|id| counts[usize::from(placement.home(LabelId(0), &ExternalId::Int(id)))] += 1);
        assert!(counts.iter().all(|count| (9_600..10_400).contains(count)), "{counts:?}");
        // Files of graphs depend on these.
        let ids = [ExternalId::Int(1), ExternalId::Uuid(Uuid::from_u128(1)), "1".into(), "ada".into()];
        assert_eq!(ids.map(|id| placement.home(LabelId(3), &id)), HOMES);
    }

    const HOMES: [u16; 4] = [7, 2, 0, 2];

    #[test]
    fn the_label_counts_where_ids_belong_to_labels() {
        let homes = |id_space| {
            let placement = placement(SHARDS_MAX, id_space);
            (0..50)
                .map(move |label| placement.home(LabelId(label), &"ada".into()))
                .collect::<std::collections::BTreeSet<_>>()
        };
        assert_eq!(homes(IdSpace::Graph).len(), 1);
        assert!(homes(IdSpace::Label).len() > 40);
    }
}
