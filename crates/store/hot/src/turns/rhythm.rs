//! Tells whether a brief writer that is done should wait a moment for another one, so that both share a sync.
//!
//! Two clients that each wait for their own commit never meet by themselves: while one syncs, the other waits, and then syncs alone. (The
//! setting `commit_delay` of PostgreSQL serves the same purpose. Here the delay follows from how long syncs take.)

use std::thread::ThreadId;
use std::time::{Duration, Instant};

/// A wait takes at most this part of a sync, and never more than [`Rhythm::longest`].
const PART_OF_SYNC: u32 = 3;
const LONGEST: Duration = Duration::from_millis(2);
/// A writer counts as likely to come again for so many syncs after it came last.
const SYNCS_BETWEEN: u32 = 4;
/// And for so many times the longest wait at most.
const BETWEEN_MAX: u32 = 50;
/// After vain waits, so many commits at most do not wait.
const SKIPPED_MAX: u32 = 64;

/// What is known of the brief writers.
pub(super) struct Rhythm {
    /// The last two that came, and when.
    last: [Option<(ThreadId, Instant)>; 2],
    /// How long the last sync took.
    sync: Duration,
    /// How many commits in a row waited in vain, and how many are still not to wait.
    vain: u32,
    skipped: u32,
    longest: Duration,
}

impl Default for Rhythm {
    fn default() -> Self {
        Self { last: [None; 2], sync: Duration::ZERO, vain: 0, skipped: 0, longest: LONGEST }
    }
}

impl Rhythm {
    /// Lets a wait take this long.
    #[cfg(test)]
    pub fn wait_for(&mut self, longest: Duration) {
        (self.longest, self.sync) = (longest, longest * PART_OF_SYNC);
    }

    /// A brief writer came.
    pub fn came(&mut self, thread: ThreadId, now: Instant) {
        if self.last[0].is_none_or(|(last, _)| last != thread) {
            self.last.swap(0, 1);
        }
        self.last[0] = Some((thread, now));
    }

    /// The commit of a brief writer waited for the disk for so long.
    pub fn synced(&mut self, took: Duration) {
        self.sync = took;
    }

    /// How long this writer should wait for another one.
    pub fn patience(&mut self, thread: ThreadId, now: Instant) -> Option<Duration> {
        let between = (self.sync * SYNCS_BETWEEN).min(self.longest * BETWEEN_MAX);
        let is_recent = |(other, came): (ThreadId, Instant)| other != thread && now - came < between;
        if !self.last.iter().flatten().copied().any(is_recent) {
            return None;
        }
        if self.skipped > 0 {
            self.skipped -= 1;
            return None;
        }
        Some((self.sync / PART_OF_SYNC).min(self.longest))
    }

    /// Whether another writer came while one waited for it.
    pub fn waited(&mut self, came: bool) {
        self.vain = if came { 0 } else { self.vain + 1 };
        self.skipped = if came { 0 } else { (1 << self.vain.min(16)).min(SKIPPED_MAX) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SYNC: Duration = Duration::from_micros(600);

    fn threads() -> [ThreadId; 2] {
        [0, 1].map(|_| std::thread::spawn(|| std::thread::current().id()).join().expect("a thread's id"))
    }

    #[test]
    fn a_writer_waits_only_for_another_that_came_lately() {
        let ([one, two], now, mut rhythm) = (threads(), Instant::now(), Rhythm::default());
        rhythm.synced(SYNC);
        assert_eq!(rhythm.patience(one, now), None, "nobody came");
        rhythm.came(one, now);
        rhythm.came(one, now);
        assert_eq!(rhythm.patience(one, now), None, "nobody waits for itself");
        rhythm.came(two, now);
        for thread in [one, two] {
            assert_eq!(rhythm.patience(thread, now), Some(SYNC / 3));
            assert_eq!(rhythm.patience(thread, now + SYNC * 5), None, "the other has gone");
        }
        rhythm.synced(Duration::from_secs(6));
        assert_eq!(rhythm.patience(one, now), Some(LONGEST), "a slow disk makes nobody wait long");
        assert_eq!(rhythm.patience(one, now + Duration::from_secs(1)), None);
        rhythm.synced(SYNC);
        rhythm.came(two, now + SYNC);
        assert_eq!(rhythm.patience(two, now), Some(SYNC / 3), "one who comes twice does not push out the other");
    }

    #[test]
    fn vain_waits_become_rare() {
        let ([one, two], now, mut rhythm) = (threads(), Instant::now(), Rhythm::default());
        rhythm.synced(SYNC);
        rhythm.came(one, now);
        rhythm.came(two, now);
        let mut waits = |commits: usize| {
            let waits = (0..commits).filter(|_| rhythm.patience(one, now).map(|_| rhythm.waited(false)).is_some());
            waits.count()
        };
        assert!((4..12).contains(&waits(200)));
        assert_eq!(waits(650), 10);
        rhythm.waited(true);
        assert!(rhythm.patience(one, now).is_some(), "after a wait that was not in vain, the next one is worth it");
    }
}
