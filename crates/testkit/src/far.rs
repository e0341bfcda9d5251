//! Views that behave as if their graph were far away: every call takes its time, or fails.

use std::cell::Cell;
use std::ops::Deref;
use std::sync::Arc;
use std::thread::sleep;
use std::time::Duration;

use mangrove_graph::{Catalog, Distance, GraphError, GraphView, Result, Schema, Through};

/// A view that counts the calls, each of which takes a while longer.
pub struct SlowView<V> {
    view: V,
    latency: Duration,
    calls: Cell<u64>,
}

impl<V> SlowView<V> {
    /// `view` is a reference to a view, or a box with one.
    pub fn new(view: V, latency: Duration) -> Self {
        Self { view, latency, calls: Cell::new(0) }
    }

    /// The calls since the last time this was asked.
    pub fn take_calls(&self) -> u64 {
        self.calls.take()
    }
}

impl<V: Deref<Target: GraphView>> Through for SlowView<V> {
    type View<'a>
        = &'a V::Target
    where
        Self: 'a;

    fn through(&self) -> Result<&V::Target> {
        self.calls.set(self.calls.get() + 1);
        if !self.latency.is_zero() {
            sleep(self.latency);
        }
        Ok(&self.view)
    }

    fn schema(&self) -> &Arc<Schema> {
        self.view.schema()
    }

    fn distance(&self) -> Distance {
        Distance { round_trip: self.latency.max(Duration::from_millis(1)), rows_min: 1024 }
    }

    fn fork(&self) -> Result<Option<Box<dyn GraphView + Send>>> {
        let slow = |fork| Box::new(SlowView::new(fork, self.latency)) as Box<dyn GraphView + Send>;
        Ok(self.view.fork()?.map(slow))
    }
}

/// How a call to a graph far away may fail.
pub const FAILURES: [fn() -> GraphError; 4] = [
    || GraphError::Invalid("lost contact".into()),
    || GraphError::Late(Some(Duration::from_secs(1))),
    || GraphError::Stopped,
    || GraphError::storage(std::io::Error::from(std::io::ErrorKind::TimedOut)),
];

/// A view whose calls fail from some call on.
pub struct FailingView<'g> {
    view: &'g dyn GraphView,
    /// The calls that succeed before the first that fails.
    left: Cell<u64>,
    error: fn() -> GraphError,
    failed: Cell<bool>,
}

impl<'g> FailingView<'g> {
    pub fn new(view: &'g dyn GraphView, successes: u64, error: fn() -> GraphError) -> Self {
        Self { view, left: Cell::new(successes), error, failed: Cell::new(false) }
    }

    /// Whether a call failed.
    pub fn has_failed(&self) -> bool {
        self.failed.get()
    }
}

impl Through for FailingView<'_> {
    type View<'a>
        = &'a dyn GraphView
    where
        Self: 'a;

    fn through(&self) -> Result<&dyn GraphView> {
        match self.left.get().checked_sub(1) {
            Some(left) => {
                self.left.set(left);
                Ok(self.view)
            }
            None => {
                self.failed.set(true);
                Err((self.error)())
            }
        }
    }

    fn schema(&self) -> &Arc<Schema> {
        self.view.schema()
    }
}
