//! Asks nodes to keep a number of their shards.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Instant;

use mangrove_graph::{GraphError, Result};

use super::applied::Applied;
use super::cut::{HeldCut, HeldShard, Seen, SeenShard};
use super::{Peer, ShardNode};
use crate::at_once::each_at_once;
use crate::remote::Known;
use crate::wire::{Call, HeldOf, Reply, damaged};

/// What a node keeps of the shards that it was asked for: for each, what there is to know, or why it is not there.
struct Kept {
    peer: Arc<dyn Peer>,
    shards: Vec<(u16, Result<HeldOf, String>)>,
}

/// Why a number is not kept of all shards.
pub struct NotHeld {
    pub why: GraphError,
    /// Whether all nodes have answered. Then it is too late for this number.
    pub is_gone: bool,
}

impl From<GraphError> for NotHeld {
    fn from(why: GraphError) -> Self {
        Self { why, is_gone: false }
    }
}

/// Keeps a number of all shards, wherever they have come so far. Shards that were seen before tell what has changed only.
pub fn hold(number: u64, nodes: &[ShardNode], applied: &Applied, seen: &Seen) -> Result<HeldCut, NotHeld> {
    let (kept, mut why) = asked(number, nodes, applied, seen);
    let is_gone = why.is_none();
    let (made, lost) = (Instant::now(), AtomicBool::new(false));
    let mut cut = HeldCut { number, made, nodes: Vec::new(), shards: Vec::new(), seen: Arc::default(), lost };
    cut.shards.resize_with(applied.shards(), HeldShard::default);
    for shard in nodes.iter().flat_map(|(_, shards)| shards) {
        cut.shards.get_mut(usize::from(*shard)).into_iter().for_each(|held| held.copies += 1);
    }
    let mut known: Vec<Option<HeldOf>> = cut.shards.iter().map(|_| None).collect();
    for Kept { peer, shards } in kept {
        let there = shards.iter().filter(|(_, held)| held.is_ok()).map(|(shard, _)| *shard);
        cut.nodes.push((peer.clone(), there.collect())); // from here on, dropping the cut gives these shards back
        for (shard, held) in shards {
            match held {
                Ok(held) => {
                    cut.shards[usize::from(shard)].peers.push(peer.clone());
                    known[usize::from(shard)].get_or_insert(held);
                }
                Err(what) => why = Some(GraphError::Unavailable(what)),
            }
        }
    }
    let missing = || {
        let why = why.unwrap_or_else(|| GraphError::Unavailable("a shard is not there".into()));
        NotHeld { why, is_gone }
    };
    let known: Vec<HeldOf> = known.into_iter().collect::<Option<_>>().ok_or_else(missing)?;
    cut.seen = Arc::new(now_seen(known, seen)?);
    Ok(cut)
}

fn asked(number: u64, nodes: &[ShardNode], applied: &Applied, seen: &Seen) -> (Vec<Kept>, Option<GraphError>) {
    static LAST: AtomicUsize = AtomicUsize::new(0);
    let turn = LAST.fetch_add(1, Ordering::Relaxed); // nodes with the same shard take turns
    let version = |shard: u16| seen.shards.get(usize::from(shard)).map(|seen| seen.version);
    let of_node = |at: usize| {
        let (peer, shards) = &nodes[at];
        let come = shards.iter().filter(|shard| applied.has_come(at, **shard, number));
        (peer, come.map(|shard| (*shard, version(*shard))).collect::<Vec<_>>())
    };
    let asked = (0..nodes.len()).map(|at| of_node((turn + at) % nodes.len())).filter(|(_, shards)| !shards.is_empty());
    let told = each_at_once(asked.collect(), |(peer, shards)| {
        match peer.call_or_give_up(&Call::Hold { number, shards: shards.clone() }, None)? {
            Reply::Held(held) if held.len() == shards.len() => {
                let shards = shards.into_iter().zip(held).map(|((shard, _), held)| (shard, held)).collect();
                Ok(Kept { peer: peer.clone(), shards })
            }
            _ => Err(damaged("a cut")),
        }
    });
    let (mut kept, mut why) = (Vec::new(), None);
    for told in told {
        match told {
            Ok(told) => kept.push(told),
            Err(error) => why = Some(error),
        }
    }
    (kept, why)
}

/// What is known of the shards now.
fn now_seen(held: Vec<HeldOf>, before: &Seen) -> Result<Seen> {
    let mut shards = Vec::with_capacity(held.len());
    for (shard, HeldOf { version, schema, statistics, next }) in held.into_iter().enumerate() {
        let same = before.shards.get(shard).filter(|before| before.version == version);
        let schema = schema.or_else(|| same.map(|same| same.known.schema.clone())).ok_or_else(|| damaged("a schema"))?;
        shards.push(SeenShard { version, known: Arc::new(Known { schema, statistics, next }) });
    }
    let is_same = |(a, b): (&SeenShard, &SeenShard)| Arc::ptr_eq(&a.known.schema, &b.known.schema);
    let schema = match shards.len() == before.shards.len() && shards.iter().zip(&before.shards).all(is_same) {
        true => before.schema.clone(),
        false => crate::schema::joined(shards.iter().map(|seen| &*seen.known.schema)),
    };
    Ok(Seen { shards, schema })
}
