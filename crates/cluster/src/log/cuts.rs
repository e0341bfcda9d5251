//! The cuts of a shard that can still be read.
//!
//! All shards have cuts at the same numbers of the log. A query names one number everywhere, so it reads one graph. If a shard is behind, that is
//! a number which the others have left behind. So they keep cuts for those who wait for it, and all leave out the same ones if they are too many: a
//! cut has a rank, which the log alone decides.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// The rank of a cut, from the number of the cut before it. One in 2^r commits has a cut of rank r or above.
pub fn rank(before: u64, number: u64) -> u32 {
    (before ^ number).checked_ilog2().unwrap_or(0)
}

/// A shard that reads many records at once makes only cuts of this rank or above, and the last one.
pub const COARSE: u32 = 5;

/// How long cuts are kept, in milliseconds.
#[derive(Clone, Copy, Debug)]
pub struct CutPace {
    /// A cut that nobody holds is kept so long, because somebody may be about to read it.
    pub free: u64,
    /// It is kept so long if somebody waits for a shard that is behind.
    pub spared: u64,
    /// A cut that somebody holds is kept so long.
    pub held: u64,
    /// Cuts at most. The newest stays, and then those that are held, and those of a higher rank.
    pub count: usize,
}

impl Default for CutPace {
    fn default() -> Self {
        Self { free: 1_000, spared: 10_000, held: 600_000, count: 256 }
    }
}

struct Cut<S> {
    /// `None` once the cut is gone. It tells what was there.
    view: Option<S>,
    /// When the shard changed after it; never for the newest.
    replaced: Option<u64>,
    holds: u32,
    /// The highest rank of the cuts that it is.
    rank: u32,
}

/// How far a shard is.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Reached {
    /// The number of the newest cut.
    pub number: u64,
    /// The number of the newest coarse cut: one that other shards keep, too.
    pub coarse: u64,
}

/// From which number on somebody waits for a shard that is behind: as was said in this window of time, and in the one before.
#[derive(Default)]
struct Spared {
    since: u64,
    now: Option<u64>,
    before: Option<u64>,
}

impl Spared {
    fn turn(&mut self, now: u64, window: u64) {
        if now >= self.since + window {
            let is_old = now >= self.since + 2 * window;
            self.before = self.now.take().filter(|_| !is_old);
            self.since = now;
        }
    }

    fn least(&self) -> Option<u64> {
        self.now.into_iter().chain(self.before).min()
    }
}

/// What there is to read at a number.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Found<S> {
    At(S),
    /// The shard has not applied the log so far.
    Later,
    /// The cut was dropped.
    Gone,
}

/// The cuts of one shard. `S` is the graph at a cut.
pub struct Cuts<S> {
    /// By the number of the last commit that changed the shard.
    kept: BTreeMap<u64, Cut<S>>,
    reached: Reached,
    spared: Spared,
    pace: CutPace,
}

impl<S> Cuts<S> {
    /// The shard as it is at its first number.
    pub fn new(number: u64, view: S, pace: CutPace) -> Self {
        let first = Cut { view: Some(view), replaced: None, holds: 0, rank: 0 };
        let reached = Reached { number, coarse: number };
        Self { kept: BTreeMap::from([(number, first)]), reached, spared: Spared::default(), pace }
    }

    /// The number of the newest cut.
    pub fn applied(&self) -> u64 {
        self.reached.number
    }

    pub fn reached(&self) -> Reached {
        self.reached
    }

    /// Somebody waits for a shard that has come to this number. What is kept from there on stays a little longer.
    pub fn spare(&mut self, number: u64, now: u64) {
        self.spared.turn(now, self.pace.free);
        self.spared.now = Some(self.spared.now.map_or(number, |known| known.min(number)));
    }

    /// A new cut, and its rank. If commits have changed the shard since the one before, the first of them, and the shard as it is now. Gives the views that
    /// are not kept any longer.
    pub fn made(&mut self, number: u64, rank: u32, changed: Option<(u64, S)>, now: u64) -> Vec<S> {
        self.reached.number = self.reached.number.max(number);
        if rank >= COARSE {
            self.reached.coarse = self.reached.coarse.max(number);
        }
        if let Some((first, view)) = changed {
            if let Some((_, newest)) = self.kept.iter_mut().next_back() {
                newest.replaced = Some(now);
            }
            // Nobody saw the shard between that commit and this cut.
            self.kept.entry(first).or_insert(Cut { view: None, replaced: Some(now), holds: 0, rank: 0 });
            self.kept.insert(number, Cut { view: Some(view), replaced: None, holds: 0, rank });
        } else if let Some((_, newest)) = self.kept.iter_mut().next_back() {
            newest.rank = newest.rank.max(rank);
        }
        self.prune(now)
    }

    fn key(&self, number: u64) -> Option<u64> {
        self.kept.range(..=number).next_back().map(|(key, _)| *key)
    }

    /// The graph at the number of a cut.
    pub fn at(&self, number: u64) -> Found<&S> {
        if number > self.reached.number {
            return Found::Later;
        }
        match self.kept.range(..=number).next_back() {
            Some((_, Cut { view: Some(view), .. })) => Found::At(view),
            _ => Found::Gone,
        }
    }

    /// Keeps the cut of a number. Returns whether it is there.
    pub fn hold(&mut self, number: u64) -> bool {
        let is_there = matches!(self.at(number), Found::At(_));
        if let Some(cut) = self.key(number).filter(|_| is_there).and_then(|key| self.kept.get_mut(&key)) {
            cut.holds += 1;
        }
        is_there
    }

    pub fn release(&mut self, number: u64) {
        if let Some(cut) = self.key(number).and_then(|key| self.kept.get_mut(&key)) {
            cut.holds = cut.holds.saturating_sub(1);
        }
    }

    /// How often cuts are held that can be read.
    pub fn holds(&self) -> u32 {
        self.kept.values().filter(|cut| cut.view.is_some()).map(|cut| cut.holds).sum()
    }

    /// How many cuts can be read.
    pub fn kept(&self) -> usize {
        self.kept.values().filter(|cut| cut.view.is_some()).count()
    }

    /// Drops what has been kept long enough, and then what is too much.
    pub fn prune(&mut self, now: u64) -> Vec<S> {
        let Some(newest) = self.kept.last_key_value().map(|(key, _)| *key) else { return Vec::new() };
        self.spared.turn(now, self.pace.free);
        let (spared, pace) = (self.spared.least(), self.pace);
        let (mut dropped, mut after) = (Vec::new(), u64::MAX);
        for (key, cut) in self.kept.range_mut(..=newest).rev() {
            let is_spared = spared.is_some_and(|number| after > number);
            let limit = match cut.holds {
                0 if is_spared => pace.spared,
                0 => pace.free,
                _ => pace.held,
            };
            if cut.replaced.is_some_and(|replaced| now.saturating_sub(replaced) >= limit) {
                dropped.extend(cut.view.take());
            }
            after = *key;
        }
        dropped.extend(self.thin(newest));
        // One that is gone tells of all after it, up to the next that is there.
        let mut was_gone = true;
        self.kept.retain(|_, cut| {
            let is_gone = cut.view.is_none();
            let is_told = is_gone && was_gone;
            was_gone = is_gone;
            !is_told
        });
        dropped
    }

    /// Drops what is too much: those of the lowest rank that nobody holds, from the oldest on.
    fn thin(&mut self, newest: u64) -> Vec<S> {
        let excess = self.kept().saturating_sub(self.pace.count);
        if excess == 0 {
            return Vec::new();
        }
        let there = self.kept.range(..newest).filter(|(_, cut)| cut.view.is_some());
        let mut order: Vec<_> = there.map(|(key, cut)| (cut.holds > 0, cut.rank, *key)).collect();
        order.sort_unstable();
        let gone = order.into_iter().take(excess);
        gone.filter_map(|(_, _, key)| self.kept.get_mut(&key)?.view.take()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PACE: CutPace = CutPace { free: 10, spared: 50, held: 100, count: 4 };

    #[test]
    fn a_cut_is_read_until_it_is_dropped() {
        let mut cuts = Cuts::new(3, "three", PACE);
        assert_eq!((cuts.at(2), cuts.at(3), cuts.at(4)), (Found::Gone, Found::At(&"three"), Found::Later));
        assert!(cuts.made(5, 0, None, 1).is_empty());
        assert_eq!((cuts.at(5), cuts.applied()), (Found::At(&"three"), 5));
        assert!(cuts.made(8, 0, Some((7, "eight")), 2).is_empty() && cuts.hold(6));
        assert_eq!([6, 7, 8].map(|n| cuts.at(n)), [Found::At(&"three"), Found::Gone, Found::At(&"eight")]);
        assert!(cuts.made(9, 0, Some((9, "nine")), 13).is_empty());
        assert_eq!(cuts.prune(23), ["eight"]);
        assert_eq!([6, 7, 8, 9].map(|n| cuts.at(n)), [Found::At(&"three"), Found::Gone, Found::Gone, Found::At(&"nine")]);
        assert!(!cuts.hold(8));
        cuts.release(6);
        assert_eq!((cuts.prune(24), cuts.at(6)), (vec!["three"], Found::Gone));
    }

    #[test]
    fn holds_end_and_few_cuts_are_kept() {
        let mut cuts = Cuts::new(0, 0, PACE);
        assert!(cuts.hold(0));
        assert!(cuts.made(1, 0, Some((1, 1)), 100).is_empty());
        assert_eq!(cuts.prune(200), [0]);
        let dropped: Vec<u64> = (2..10).flat_map(|n| cuts.made(n, 0, Some((n, n)), 200)).collect();
        assert_eq!(dropped, [1, 2, 3, 4, 5]);
        assert_eq!((cuts.at(5), cuts.at(6)), (Found::Gone, Found::At(&6)));
    }

    #[test]
    fn cuts_are_kept_for_those_who_wait_for_a_shard_that_is_behind() {
        let mut cuts = Cuts::new(0, 0, PACE);
        for n in 1..4 {
            cuts.spare(1, n);
            assert!(cuts.made(n, 0, Some((n, n)), n).is_empty());
        }
        // The cut at 0 is replaced at 1, the one at 1 at 2: only who reads 1 or more was told of.
        assert_eq!(cuts.prune(15), [0]);
        assert_eq!([1, 2].map(|n| cuts.at(n)), [Found::At(&1), Found::At(&2)]);
        cuts.spare(2, 24);
        assert_eq!((cuts.prune(25), cuts.at(2)), (vec![1], Found::At(&2)), "the others are behind by less than before");
        assert_eq!(cuts.prune(60), [2], "nobody waits any more");
    }

    #[test]
    fn all_shards_leave_out_the_same_cuts() {
        let ranks: Vec<u32> = [3, 4, 6, 32, 33, 63, 64].windows(2).map(|pair| rank(pair[0], pair[1])).collect();
        assert_eq!(ranks, [2, 1, 5, 0, 4, 6]);
        let (mut quick, mut slow) = (Cuts::new(0, 0, PACE), Cuts::new(0, 0, PACE));
        for n in 1..=200 {
            quick.made(n, rank(n - 1, n), Some((n, n)), 0);
            if rank(n - 1, n) >= COARSE || n == 150 {
                slow.made(n, rank(n - 1, n), Some((slow.applied() + 1, n)), 0);
            }
            if n == 150 {
                break;
            }
        }
        (151..=200).for_each(|n| drop(quick.made(n, rank(n - 1, n), Some((n, n)), 0)));
        assert_eq!((slow.reached(), quick.reached().number), (Reached { number: 150, coarse: 128 }, 200));
        assert_eq!([128, 150].map(|n| quick.at(n)), [Found::At(&128), Found::Gone]);
        assert_eq!(slow.at(128), Found::At(&128));
    }
}
