//! Which shards should go where, so that all nodes have about as many, and each shard has as many nodes as wanted.

use std::collections::BTreeSet;

use thiserror::Error;

/// Whether a node is to keep shards.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Stay {
    Stays,
    /// It answers, and is to have no shards.
    Leaves,
    /// It does not answer. Nothing can be taken from it.
    Gone,
}

/// A node and what it has.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Balanced {
    pub name: String,
    pub shards: BTreeSet<u16>,
    pub stay: Stay,
}

/// What is to be done with a shard.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Move {
    /// One more node has it.
    Copy { shard: u16, to: String },
    /// Another node has it instead.
    Move { shard: u16, from: String, to: String },
    /// One node less has it.
    Drop { shard: u16, from: String },
}

/// Why shards cannot be shared among nodes.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum Unbalanced {
    #[error("{nodes} nodes have 1 to {nodes} replicas of a shard, not {replicas}")]
    Replicas { nodes: usize, replicas: u16 },
    #[error("no node stays")]
    Nobody,
}

/// What to do so that each of the shards has so many nodes, and no node has two more than another. Few shards move. O(shards × nodes) for each move.
///
/// # Errors
/// If there are not as many nodes as replicas.
pub fn balance(nodes: &[Balanced], shards: u16, replicas: u16) -> Result<Vec<Move>, Unbalanced> {
    let staying: Vec<&Balanced> = nodes.iter().filter(|node| node.stay == Stay::Stays).collect();
    if staying.is_empty() {
        return Err(Unbalanced::Nobody);
    }
    if replicas == 0 || usize::from(replicas) > staying.len() {
        return Err(Unbalanced::Replicas { nodes: staying.len(), replicas });
    }
    let mut target: Vec<BTreeSet<u16>> = staying.iter().map(|node| node.shards.clone()).collect();
    for shard in 0..shards {
        set_copies(&mut target, shard, usize::from(replicas));
    }
    level(&mut target);
    let wanted = |name: &str| staying.iter().position(|node| node.name == name).map(|at| &target[at]);
    let steps = (0..shards).flat_map(|shard| {
        let is_wanted = |node: &Balanced| wanted(&node.name).is_some_and(|target| target.contains(&shard));
        let with = |has: bool| {
            let chosen = nodes.iter().filter(move |node| node.shards.contains(&shard) == has && is_wanted(node) != has);
            chosen.filter(|node| node.stay != Stay::Gone).map(|node| node.name.clone()).collect::<Vec<_>>()
        };
        steps(shard, with(true), with(false))
    });
    Ok(steps.collect())
}

/// Gives a shard to nodes with few shards, or takes it from nodes with many, until so many have it.
fn set_copies(target: &mut [BTreeSet<u16>], shard: u16, wanted: usize) {
    loop {
        let has = |own: &&mut BTreeSet<u16>| own.contains(&shard);
        let copies = target.iter().filter(|own| own.contains(&shard)).count();
        let chosen = match copies.cmp(&wanted) {
            std::cmp::Ordering::Equal => return,
            std::cmp::Ordering::Less => target.iter_mut().filter(|own| !has(own)).min_by_key(|own| own.len()),
            std::cmp::Ordering::Greater => target.iter_mut().filter(has).max_by_key(|own| own.len()),
        };
        let Some(own) = chosen else { return };
        if !own.remove(&shard) {
            own.insert(shard);
        }
    }
}

/// Moves shards from the node with the most to the one with the fewest, as long as they differ by two. The first always has one that the other lacks.
fn level(target: &mut [BTreeSet<u16>]) {
    loop {
        let by_length = |at: &usize| target[*at].len();
        let ends = ((0..target.len()).min_by_key(by_length), (0..target.len()).max_by_key(by_length));
        let (Some(fewest), Some(most)) = ends else { return };
        if target[most].len() - target[fewest].len() < 2 {
            return;
        }
        let Some(shard) = target[most].difference(&target[fewest]).next().copied() else { return };
        target[most].remove(&shard);
        target[fewest].insert(shard);
    }
}

/// What is done with a shard that goes from some nodes to others.
fn steps(shard: u16, from: Vec<String>, to: Vec<String>) -> Vec<Move> {
    let both = from.len().min(to.len());
    let (mut from, mut to) = (from.into_iter(), to.into_iter());
    let moved = from.by_ref().zip(to.by_ref()).take(both).map(|(from, to)| Move::Move { shard, from, to });
    let mut all: Vec<Move> = moved.collect();
    all.extend(to.map(|to| Move::Copy { shard, to }));
    all.extend(from.map(|from| Move::Drop { shard, from }));
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node(name: &str, shards: impl IntoIterator<Item = u16>, stay: Stay) -> Balanced {
        Balanced { name: name.into(), shards: shards.into_iter().collect(), stay }
    }

    /// What the nodes have after all steps. No step takes the last copy that somebody has.
    fn after(nodes: &[Balanced], steps: &[Move]) -> Vec<Balanced> {
        let mut nodes = nodes.to_vec();
        for step in steps {
            let (shard, from, to) = match step {
                Move::Copy { shard, to } => (shard, None, Some(to)),
                Move::Move { shard, from, to } => (shard, Some(from), Some(to)),
                Move::Drop { shard, from } => (shard, Some(from), None),
            };
            for node in &mut nodes {
                if Some(&node.name) == to {
                    assert!(node.stay == Stay::Stays && node.shards.insert(*shard), "{step:?}");
                }
                if Some(&node.name) == from {
                    assert!(node.stay != Stay::Gone && node.shards.remove(shard), "{step:?}");
                }
            }
            assert!(nodes.iter().any(|node| node.shards.contains(shard)), "{step:?}");
        }
        nodes
    }

    #[test]
    fn a_new_node_gets_its_share_and_nothing_else_moves() {
        let nodes = [node("a", [0, 2, 4, 6], Stay::Stays), node("b", [1, 3, 5, 7], Stay::Stays), node("c", [], Stay::Stays)];
        let steps = balance(&nodes, 8, 1).unwrap();
        assert_eq!(steps.len(), 2, "{steps:?}");
        assert!(steps.iter().all(|step| matches!(step, Move::Move { to, .. } if to == "c")), "{steps:?}");
        assert_eq!(balance(&after(&nodes, &steps), 8, 1), Ok(Vec::new()));
    }

    #[test]
    fn a_node_that_leaves_gives_its_shards_and_one_that_is_gone_cannot() {
        let nodes = [node("a", [0, 1], Stay::Leaves), node("b", [2], Stay::Stays), node("c", [3], Stay::Gone)];
        let steps = balance(&nodes, 4, 1).unwrap();
        let moved = |shard| Move::Move { shard, from: "a".into(), to: "b".into() };
        assert_eq!(steps, [moved(0), moved(1), Move::Copy { shard: 3, to: "b".into() }]);
        assert_eq!(balance(&nodes, 4, 2), Err(Unbalanced::Replicas { nodes: 1, replicas: 2 }));
        assert_eq!(balance(&nodes[2..], 4, 1), Err(Unbalanced::Nobody));
    }

    #[test]
    fn random_nodes_are_balanced() {
        let mut dice = 5_u64;
        let mut draw = |of: u64| {
            dice = dice.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407); // Knuth, MMIX
            (dice >> 33) % of
        };
        for _ in 0..2_000 {
            let (count, shards) = (2 + draw(5), 1 + draw(20) as u16);
            let mut nodes: Vec<Balanced> = (0..count)
                .map(|name| {
                    let stay = [Stay::Stays, Stay::Stays, Stay::Stays, Stay::Leaves, Stay::Gone][draw(5) as usize];
                    node(&name.to_string(), (0..shards).filter(|_| draw(2) == 0), if name == 0 { Stay::Stays } else { stay })
                })
                .collect();
            for shard in 0..shards {
                nodes[0].shards.insert(shard);
            }
            let staying = nodes.iter().filter(|node| node.stay == Stay::Stays).count() as u64;
            let replicas = 1 + draw(staying) as u16;
            let done = after(&nodes, &balance(&nodes, shards, replicas).unwrap());
            let kept: Vec<&Balanced> = done.iter().filter(|node| node.stay == Stay::Stays).collect();
            let counts = || kept.iter().map(|node| node.shards.len());
            assert!(counts().max().unwrap() - counts().min().unwrap() <= 1, "{done:?}");
            for shard in 0..shards {
                let copies = kept.iter().filter(|node| node.shards.contains(&shard)).count();
                assert_eq!(copies, usize::from(replicas), "shard {shard} of {done:?}");
            }
            assert!(done.iter().all(|node| node.stay != Stay::Leaves || node.shards.is_empty()), "{done:?}");
        }
    }
}
