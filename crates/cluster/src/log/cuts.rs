//! The cuts of a shard that can still be read.
//!
//! All shards have cuts at the same numbers of the log. A query names one number everywhere, so it reads one graph.

use std::collections::BTreeMap;

/// How long cuts are kept, in milliseconds.
#[derive(Clone, Copy, Debug)]
pub struct CutPace {
    /// A cut that nobody holds is kept so long, because somebody may be about to read it.
    pub free: u64,
    /// A cut that somebody holds is kept so long.
    pub held: u64,
    /// Cuts at most. The newest stays.
    pub count: usize,
}

impl Default for CutPace {
    fn default() -> Self {
        Self { free: 1_000, held: 600_000, count: 256 }
    }
}

struct Cut<S> {
    /// `None` once the cut is gone. It tells what was there.
    view: Option<S>,
    /// When the shard changed after it; never for the newest.
    replaced: Option<u64>,
    holds: u32,
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
    applied: u64,
    pace: CutPace,
}

impl<S> Cuts<S> {
    /// The shard as it is at its first number.
    pub fn new(number: u64, view: S, pace: CutPace) -> Self {
        let first = Cut { view: Some(view), replaced: None, holds: 0 };
        Self { kept: BTreeMap::from([(number, first)]), applied: number, pace }
    }

    /// The number of the newest cut.
    pub fn applied(&self) -> u64 {
        self.applied
    }

    /// A new cut. If commits have changed the shard since the one before, the first of them, and the shard as it is now. Gives the views that
    /// are not kept any longer.
    pub fn made(&mut self, number: u64, changed: Option<(u64, S)>, now: u64) -> Vec<S> {
        self.applied = self.applied.max(number);
        if let Some((first, view)) = changed {
            if let Some((_, newest)) = self.kept.iter_mut().next_back() {
                newest.replaced = Some(now);
            }
            // Nobody saw the shard between that commit and this cut.
            self.kept.entry(first).or_insert(Cut { view: None, replaced: Some(now), holds: 0 });
            self.kept.insert(number, Cut { view: Some(view), replaced: None, holds: 0 });
        }
        self.prune(now)
    }

    fn key(&self, number: u64) -> Option<u64> {
        self.kept.range(..=number).next_back().map(|(key, _)| *key)
    }

    /// The graph at the number of a cut.
    pub fn at(&self, number: u64) -> Found<&S> {
        if number > self.applied {
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

    /// How many cuts can be read.
    pub fn kept(&self) -> usize {
        self.kept.values().filter(|cut| cut.view.is_some()).count()
    }

    /// Drops what has been kept long enough.
    pub fn prune(&mut self, now: u64) -> Vec<S> {
        let Some(newest) = self.kept.last_key_value().map(|(key, _)| *key) else { return Vec::new() };
        let mut dropped = Vec::new();
        let mut excess = self.kept().saturating_sub(self.pace.count);
        for (_, cut) in self.kept.range_mut(..newest).filter(|(_, cut)| cut.view.is_some()) {
            let age = now.saturating_sub(cut.replaced.unwrap_or(now));
            let is_over = age >= if cut.holds > 0 { self.pace.held } else { self.pace.free };
            if is_over || excess > 0 {
                dropped.extend(cut.view.take());
                excess = excess.saturating_sub(1);
            }
        }
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
}

#[cfg(test)]
mod tests {
    use super::*;

    const PACE: CutPace = CutPace { free: 10, held: 100, count: 4 };

    #[test]
    fn a_cut_is_read_until_it_is_dropped() {
        let mut cuts = Cuts::new(3, "three", PACE);
        assert_eq!((cuts.at(2), cuts.at(3), cuts.at(4)), (Found::Gone, Found::At(&"three"), Found::Later));
        assert!(cuts.made(5, None, 1).is_empty());
        assert_eq!((cuts.at(5), cuts.applied()), (Found::At(&"three"), 5));
        assert!(cuts.made(8, Some((7, "eight")), 2).is_empty() && cuts.hold(6));
        assert_eq!([6, 7, 8].map(|n| cuts.at(n)), [Found::At(&"three"), Found::Gone, Found::At(&"eight")]);
        assert!(cuts.made(9, Some((9, "nine")), 13).is_empty());
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
        assert!(cuts.made(1, Some((1, 1)), 100).is_empty());
        assert_eq!(cuts.prune(200), [0]);
        let dropped: Vec<u64> = (2..10).flat_map(|n| cuts.made(n, Some((n, n)), 200)).collect();
        assert_eq!(dropped, [1, 2, 3, 4, 5]);
        assert_eq!((cuts.at(5), cuts.at(6)), (Found::Gone, Found::At(&6)));
    }
}
