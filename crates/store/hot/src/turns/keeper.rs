//! Work in the background. When the tables have grown, a thread seals them and merges segments. When much of their file is
//! free, it gives that room back to the file system. Then the thread ends.

use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use mangrove_graph::{GraphError, Result};

use crate::system::disk::allocated_bytes;
use crate::system::identity::Own;
use crate::system::lock::locked;

/// How often the keeper looks whether much of the file is free.
const BETWEEN_LOOKS: Duration = Duration::from_secs(1);
const LOOKS_MAX_APART: Duration = Duration::from_secs(600);
/// This many bytes must be free, on top of as many as the tables use.
const FREE_BYTES_MIN: u64 = 32 << 20;

/// Seals the tables of a store in the background.
pub struct Keeper {
    /// Seal once the tables take this many bytes; never if 0.
    seal_bytes: u64,
    /// When the keeper last looked whether much is free, and how long it waits until it looks again.
    looked: Mutex<Option<(Instant, Duration)>>,
    job: Mutex<Option<Job>>,
    last: Arc<Last>,
}

/// What the last work led to.
#[derive(Default)]
struct Last {
    /// Do not seal before the tables take this many bytes. So rows that stay, and work that failed, are not tried again at
    /// every commit.
    not_before: AtomicU64,
    error: Mutex<Option<String>>,
}

/// A thread at work. A forked child does not have it.
struct Job {
    thread: Own<JoinHandle<()>>,
    stopped: Arc<AtomicBool>,
}

impl Keeper {
    pub fn new(seal_bytes: u64) -> Self {
        Self { seal_bytes, looked: Mutex::default(), job: Mutex::default(), last: Arc::default() }
    }

    pub fn seal_bytes(&self) -> u64 {
        self.seal_bytes
    }

    /// Whether most of the file is free, as far as its size shows without a look at its pages. Looks again only after a
    /// while. That while grows as long as much stays free, because a snapshot may hold what is free.
    fn is_wide(&self, data: &Path, table_bytes: u64) -> bool {
        let mut looked = locked(&self.looked);
        if looked.is_some_and(|(then, wait)| then.elapsed() < wait) {
            return false;
        }
        let bytes = allocated_bytes(data);
        let is_wide = bytes.is_ok_and(|bytes| bytes > 2 * table_bytes + FREE_BYTES_MIN);
        let wait = match *looked {
            Some((_, wait)) if is_wide => (2 * wait).min(LOOKS_MAX_APART),
            _ => BETWEEN_LOOKS,
        };
        *looked = Some((Instant::now(), wait));
        is_wide
    }

    /// Begins to `work` if the tables have grown enough or much of their file `data` is free, unless a thread is already at it.
    /// The work returns the bytes that the tables take afterwards.
    pub fn keep_up(
        &self,
        table_bytes: u64,
        data: &Path,
        work: impl FnOnce(&dyn Fn() -> bool) -> Result<u64> + Send + 'static,
    ) {
        let limit = self.seal_bytes.max(self.last.not_before.load(Ordering::Relaxed));
        let is_due = self.seal_bytes > 0 && table_bytes >= limit;
        if !(is_due || self.is_wide(data, table_bytes)) {
            return;
        }
        let mut job = locked(&self.job);
        if job.as_ref().is_some_and(|job| !job.thread.is_finished()) {
            return;
        }
        let stopped = Arc::new(AtomicBool::new(false));
        let (last, is_stopped, seal_bytes) = (self.last.clone(), stopped.clone(), self.seal_bytes);
        // If the thread ends without a result, it is not started again at every commit.
        last.not_before.store(2 * table_bytes, Ordering::Relaxed);
        *locked(&last.error) = Some("sealing ended unexpectedly".into());
        let work = move || {
            let outcome = work(&|| is_stopped.load(Ordering::Relaxed));
            *locked(&last.error) = match outcome {
                Ok(left) => {
                    last.not_before.store(left.saturating_add(seal_bytes), Ordering::Relaxed);
                    None
                }
                Err(GraphError::Cancelled | GraphError::Busy { .. }) => {
                    last.not_before.store(0, Ordering::Relaxed);
                    None
                }
                Err(error) => {
                    tracing::error!(%error, "sealing in the background failed; `stats` tells it until it succeeds");
                    Some(error.to_string())
                }
            };
        };
        // Without a thread the tables grow on, and a later commit tries again.
        let thread = std::thread::Builder::new().name("mangrove-sealing".into()).spawn(work);
        *job = thread.ok().map(|thread| Job { thread: Own::new(thread), stopped });
    }

    /// Why the last work failed, if it did. `None` while work goes on.
    pub fn last_error(&self) -> Option<String> {
        let is_at_work = locked(&self.job).as_ref().is_some_and(|job| !job.thread.is_finished());
        locked(&self.last.error).clone().filter(|_| !is_at_work)
    }

    /// Stops the thread, if there is one, and waits until it has.
    pub fn stop(&self) {
        let job = locked(&self.job).take();
        let Some(job) = job else { return };
        job.stopped.store(true, Ordering::Relaxed);
        if job.thread.thread().id() != std::thread::current().id() {
            // The thread stops at its next check. If it panicked, the message has been printed.
            let _ = job.thread.take().map(JoinHandle::join);
        }
    }
}

#[cfg(test)]
mod tests {
    use tracing::field::{Field, Visit};
    use tracing::span::{Attributes, Id, Record};
    use tracing::{Event, Metadata, Subscriber};

    use super::*;

    static SHOWN: Mutex<Vec<String>> = Mutex::new(Vec::new());

    /// Keeps what events say.
    struct Listener;

    impl Subscriber for Listener {
        fn enabled(&self, _: &Metadata<'_>) -> bool {
            true
        }

        fn new_span(&self, _: &Attributes<'_>) -> Id {
            Id::from_u64(1)
        }

        fn record(&self, _: &Id, _: &Record<'_>) {}

        fn record_follows_from(&self, _: &Id, _: &Id) {}

        fn event(&self, event: &Event<'_>) {
            struct Fields(String);
            impl Visit for Fields {
                fn record_debug(&mut self, field: &Field, value: &dyn std::fmt::Debug) {
                    self.0 += &format!("{field}={value:?} ");
                }
            }
            let mut fields = Fields(format!("{} ", event.metadata().level()));
            event.record(&mut fields);
            locked(&SHOWN).push(fields.0);
        }

        fn enter(&self, _: &Id) {}

        fn exit(&self, _: &Id) {}
    }

    #[test]
    fn a_failure_in_the_background_is_shown_and_kept_until_work_succeeds() {
        tracing::subscriber::set_global_default(Listener).expect("the only subscriber of these tests");
        let (keeper, data) = (Keeper::new(100), Path::new("nowhere"));
        let finished = || {
            while locked(&keeper.job).as_ref().is_some_and(|job| !job.thread.is_finished()) {
                std::thread::yield_now();
            }
        };
        keeper.keep_up(100, data, |_| Err(GraphError::DiskFull));
        finished();
        assert!(keeper.last_error().is_some_and(|error| error.contains("the disk is full")));
        let shown = locked(&SHOWN).join("\n");
        assert!(shown.contains("ERROR") && shown.contains("the disk is full") && shown.contains("background"), "{shown}");
        keeper.keep_up(199, data, |_| panic!("it is not tried again at every commit"));
        finished();
        keeper.keep_up(200, data, |_| Ok(0));
        finished();
        assert_eq!(keeper.last_error(), None);
    }
}
