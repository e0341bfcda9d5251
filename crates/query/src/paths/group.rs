//! A search from many vertices as if they were one: which vertices does any of them reach? A bit for each product vertex says so. The
//! bits of a million vertices are 125 kB for a state, which stay in the processor's cache.

use mangrove_graph::{ReadContext, Result};

use super::automaton::Automaton;
use super::lists::Lists;
use super::reach::Vertices;

/// Product vertices that are gone on from between two looks at the limits.
const CHECK_EVERY: usize = 1 << 16;

/// What the sources have reached in one state of the automaton.
#[derive(Default)]
struct Reached {
    seen: Vertices,
    /// Those of them that were not gone on from.
    fresh: Vec<u32>,
}

/// The targets of all sources together, in order. `None` if it has read more than so many neighbours. O(states · (V + E)).
pub fn targets_of(
    automaton: &Automaton,
    sources: &[u32],
    lists: &mut Lists<'_>,
    limits: &ReadContext,
    entries_max: u64,
) -> Result<Option<Vertices>> {
    let mut reached: Vec<Reached> = (0..automaton.states()).map(|_| Reached::default()).collect();
    reached[automaton.start as usize].add(sources);
    while let Some(state) =
        reached.iter().zip(&automaton.moves).position(|(of, moves)| !of.fresh.is_empty() && !moves.is_empty())
    {
        let fresh = reached[state].take();
        for (symbol, to) in &automaton.moves[state] {
            lists.read(*symbol, &fresh)?;
            if lists.entries() > entries_max {
                return Ok(None);
            }
            for some in fresh.chunks(CHECK_EVERY) {
                limits.check()?;
                some.iter().for_each(|vertex| reached[*to as usize].add(lists.known().of(*symbol, *vertex)));
            }
        }
        limits.budget.fits(reached.iter().map(Reached::bytes).sum())?;
    }
    let mut targets = Vertices::default();
    for (of, accepts) in reached.iter().zip(&automaton.accepts) {
        if *accepts {
            targets.add_all(&of.seen);
        }
    }
    Ok(Some(targets))
}

impl Reached {
    fn add(&mut self, vertices: &[u32]) {
        for vertex in vertices {
            if self.seen.add(*vertex) {
                self.fresh.push(*vertex);
            }
        }
    }

    /// The vertices to go on from, in order: their neighbours lie in that order.
    fn take(&mut self) -> Vec<u32> {
        let mut fresh = std::mem::take(&mut self.fresh);
        fresh.sort_unstable();
        fresh
    }

    fn bytes(&self) -> usize {
        self.seen.bytes() + size_of_val(&self.fresh[..])
    }
}
