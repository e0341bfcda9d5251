//! Sealing in the background: once the tables have grown, a thread seals them and merges segments, and ends when that is done.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

use mangrove_graph::{GraphError, Result};

use crate::compact::Work;
use crate::identity::Process;
use crate::store::{Shared, locked};
use crate::turn::{Patience, Writer};

/// The thread of a store that seals.
pub struct Keeper {
    /// From so many bytes in the tables on; never if 0.
    seal_bytes: u64,
    /// After a failure: only from so many on.
    not_before: AtomicU64,
    stopped: AtomicBool,
    at_work: Mutex<Option<JoinHandle<()>>>,
    error: Mutex<Option<String>>,
}

impl Keeper {
    pub fn new(seal_bytes: u64) -> Self {
        let (not_before, stopped) = (AtomicU64::new(0), AtomicBool::new(false));
        Self { seal_bytes, not_before, stopped, at_work: Mutex::default(), error: Mutex::default() }
    }

    /// Begins to seal if the tables have grown enough, and nobody does so yet.
    pub fn keep_up(shared: &Arc<Shared>, table_bytes: u64) {
        let keeper = &shared.keeper;
        let limit = keeper.seal_bytes.max(keeper.not_before.load(Ordering::Relaxed));
        if keeper.seal_bytes == 0 || table_bytes < limit {
            return;
        }
        let mut at_work = locked(&keeper.at_work);
        if at_work.as_ref().is_some_and(|thread| !thread.is_finished()) {
            return;
        }
        keeper.stopped.store(false, Ordering::Relaxed);
        let shared = shared.clone();
        let work = move || {
            let outcome = Self::work(&shared);
            let failed = !matches!(outcome, Ok(()) | Err(GraphError::Cancelled | GraphError::Busy { .. }));
            // Not again at every commit.
            shared.keeper.not_before.store(if failed { 2 * table_bytes } else { 0 }, Ordering::Relaxed);
            *locked(&shared.keeper.error) = outcome.err().filter(|_| failed).map(|error| error.to_string());
        };
        // Without a thread the tables grow on, and the next commit tries again.
        *at_work = std::thread::Builder::new().name("mangrove-sealing".into()).spawn(work).ok();
    }

    fn work(shared: &Arc<Shared>) -> Result<()> {
        let stopped = || shared.keeper.stopped.load(Ordering::Relaxed);
        let patience = Patience { timeout: None, cancelled: &stopped };
        Work::new(shared, Writer::this_thread(), patience)?.keep_up(shared.keeper.seal_bytes)
    }

    /// Why the last work failed, if it did.
    pub fn last_error(&self) -> Option<String> {
        locked(&self.error).clone()
    }

    /// Stops the thread, if there is one, and waits until it has.
    pub fn stop(&self, owner: Process) {
        if !owner.is_this() {
            return; // a forked child has no such thread
        }
        self.stopped.store(true, Ordering::Relaxed);
        let thread = locked(&self.at_work).take();
        if let Some(thread) = thread.filter(|thread| thread.thread().id() != std::thread::current().id()) {
            // It ends with what it does in between; a panic of it has been printed.
            let _ = thread.join();
        }
    }
}
