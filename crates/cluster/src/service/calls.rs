//! What is counted of calls. Threads add to these numbers without a lock.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use crate::wire::CallKind;

/// A number that only grows.
#[derive(Default)]
pub struct Count(AtomicU64);

impl Count {
    pub fn add(&self, more: u64) {
        self.0.fetch_add(more, Ordering::Relaxed);
    }

    pub fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// Calls in one direction, by their kind.
pub struct Calls(Box<[OfKind]>);

#[derive(Default)]
struct OfKind {
    calls: Count,
    call_bytes: Count,
    replies: Count,
    reply_bytes: Count,
    begun: Count,
    ended: Count,
    failed: Count,
    nanoseconds: Count,
}

/// What was counted of the calls of one kind.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CallsSeen {
    pub kind: CallKind,
    pub calls: u64,
    pub call_bytes: u64,
    pub replies: u64,
    pub reply_bytes: u64,
    pub failed: u64,
    /// Those that run now.
    pub running: u64,
    /// The time of those that have ended.
    pub time: Duration,
}

impl Default for Calls {
    fn default() -> Self {
        Self(CallKind::ALL.iter().map(|_| OfKind::default()).collect())
    }
}

impl Calls {
    fn of(&self, kind: CallKind) -> &OfKind {
        &self.0[kind as usize]
    }

    /// A call of so many bytes goes out, or has come.
    pub fn called(&self, kind: CallKind, bytes: usize) {
        let of = self.of(kind);
        of.calls.add(1);
        of.call_bytes.add(bytes as u64);
    }

    /// The work on a call begins.
    pub fn begun(&self, kind: CallKind) {
        self.of(kind).begun.add(1);
    }

    /// It has ended after this time.
    pub fn ended(&self, kind: CallKind, time: Duration, has_failed: bool) {
        let of = self.of(kind);
        of.nanoseconds.add(u64::try_from(time.as_nanos()).unwrap_or(u64::MAX));
        of.failed.add(u64::from(has_failed));
        of.ended.add(1);
    }

    /// A reply of so many bytes goes out, or has come.
    pub fn replied(&self, kind: CallKind, bytes: usize) {
        let of = self.of(kind);
        of.replies.add(1);
        of.reply_bytes.add(bytes as u64);
    }

    /// What was counted, for each kind.
    pub fn seen(&self) -> Vec<CallsSeen> {
        CallKind::ALL.iter().map(|kind| self.seen_of(*kind)).collect()
    }

    /// What was counted of one kind.
    pub fn seen_of(&self, kind: CallKind) -> CallsSeen {
        let of = self.of(kind);
        let ended = of.ended.get(); // before those that have begun, so that no call runs a negative number of times
        CallsSeen {
            kind,
            calls: of.calls.get(),
            call_bytes: of.call_bytes.get(),
            replies: of.replies.get(),
            reply_bytes: of.reply_bytes.get(),
            failed: of.failed.get(),
            running: of.begun.get().saturating_sub(ended),
            time: Duration::from_nanos(of.nanoseconds.get()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_are_counted_by_their_kind() {
        let (calls, kind) = (Calls::default(), CallKind::Fragment);
        calls.called(kind, 100);
        calls.begun(kind);
        calls.begun(kind);
        calls.ended(kind, Duration::from_millis(3), true);
        calls.replied(kind, 20);
        let seen = calls.seen();
        let others = seen.iter().filter(|seen| seen.kind != kind);
        assert!(others.clone().all(|seen| (seen.calls, seen.running, seen.failed) == (0, 0, 0)));
        assert_eq!(others.count(), CallKind::ALL.len() - 1);
        let time = Duration::from_millis(3);
        let wanted = CallsSeen { kind, calls: 1, call_bytes: 100, replies: 1, reply_bytes: 20, failed: 1, running: 1, time };
        assert!(seen.contains(&wanted), "{seen:?}");
    }
}
