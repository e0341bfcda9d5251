//! Counts what each step of a query did.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, ThreadId};
use std::time::Duration;

use crate::execute::data::batch::Batch;
use crate::plan::Traversal;
use crate::plan::outline::outline;
use crate::profile::{Messages, Profile};

/// The counters of one step, shared by all threads of the query.
#[derive(Default)]
pub struct Counters {
    nanos: AtomicU64,
    batches: AtomicU64,
    rows: AtomicU64,
    traversers: AtomicU64,
    messages: Mutex<Messages>,
    threads: Mutex<Vec<ThreadId>>,
}

impl Counters {
    /// One for each row of the plan's outline.
    pub fn of(traversal: &Traversal) -> Arc<[Self]> {
        outline(traversal).iter().map(|_| Self::default()).collect()
    }

    pub fn ran(&self, nanos: u64) {
        self.nanos.fetch_add(nanos, Ordering::Relaxed);
        let mut threads = self.threads.lock().unwrap_or_else(PoisonError::into_inner);
        let me = thread::current().id();
        if !threads.contains(&me) {
            threads.push(me);
        }
    }

    pub fn gave(&self, batch: &Batch) {
        self.batches.fetch_add(1, Ordering::Relaxed);
        self.rows.fetch_add(batch.len() as u64, Ordering::Relaxed);
        let more = |traversers: u64| Some(traversers.saturating_add(batch.total()));
        let _ = self.traversers.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more);
    }

    pub fn cut_up(&self, messages: Messages) {
        let mut sum = self.messages.lock().unwrap_or_else(PoisonError::into_inner);
        sum.all += messages.all;
        sum.helped += messages.helped;
        sum.stolen += messages.stolen;
        sum.sent += messages.sent;
        sum.bytes += messages.bytes;
    }
}

/// Puts what was counted into a profile.
pub fn read(profile: &mut Profile, counters: &[Counters]) {
    for (step, counted) in profile.steps.iter_mut().zip(counters) {
        step.time = Duration::from_nanos(counted.nanos.load(Ordering::Relaxed));
        step.batches = counted.batches.load(Ordering::Relaxed);
        step.rows = counted.rows.load(Ordering::Relaxed);
        step.traversers = counted.traversers.load(Ordering::Relaxed);
        step.messages = *counted.messages.lock().unwrap_or_else(PoisonError::into_inner);
        step.threads = counted.threads.lock().unwrap_or_else(PoisonError::into_inner).len();
    }
}
