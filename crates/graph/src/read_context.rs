//! What a reader may use: how long, how much memory, and whether it was asked to stop. It is given when a view is taken, and every
//! call of the view honours it. It also says for which query the reader works.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use crate::error::{GraphError, Result};

/// The limits of one reader. By default there are none. Clones share the token and the budget. A view does not take from the budget:
/// it fails if a single call would return more text than is left.
#[derive(Clone, Debug, Default)]
pub struct ReadContext {
    /// Calls fail after this moment.
    pub deadline: Option<Instant>,
    /// How long the reader had until the deadline, for its error.
    pub timeout: Option<Duration>,
    pub cancel: CancelToken,
    pub budget: Budget,
    pub trace: TraceId,
}

/// The number of a query in traces. What threads and machines do for one query has the same number. It is unique in this process.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct TraceId {
    pub number: u64,
    /// The span that asks for the query, if somebody collects spans of several processes.
    pub within: Option<SpanPlace>,
}

/// A span in a trace that leads through several processes, as W3C's `traceparent` names it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct SpanPlace {
    pub trace: u128,
    pub span: u64,
}

impl TraceId {
    /// The number of a new query.
    pub fn fresh() -> Self {
        static LAST: AtomicU64 = AtomicU64::new(0);
        Self { number: LAST.fetch_add(1, Ordering::Relaxed) + 1, within: None }
    }

    /// The same, for which a span asks.
    pub fn within(self, within: Option<SpanPlace>) -> Self {
        Self { within, ..self }
    }
}

impl fmt::Display for TraceId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.number.fmt(f)
    }
}

impl ReadContext {
    /// The same limits for another thread, which does not call the probe of the token.
    pub fn for_another_thread(&self) -> Self {
        Self { cancel: self.cancel.without_probe(), ..self.clone() }
    }

    /// Fails if the reader has to stop. For the middle of long work: it calls the probe of the token.
    pub fn check(&self) -> Result<()> {
        if self.cancel.is_cancelled() {
            return Err(GraphError::Stopped);
        }
        self.begin()
    }

    /// Fails if the reader has to stop. For the beginning of a call: it costs next to nothing.
    #[inline]
    pub fn begin(&self) -> Result<()> {
        if self.cancel.requested.load(Ordering::Relaxed) {
            return Err(GraphError::Stopped);
        }
        match self.deadline {
            Some(deadline) if Instant::now() > deadline => Err(GraphError::Late(self.timeout)),
            _ => Ok(()),
        }
    }
}

/// Asks a reader to stop. Clones share the request.
#[derive(Clone, Default)]
pub struct CancelToken {
    requested: Arc<AtomicBool>,
    probe: Option<Arc<dyn Fn() -> bool + Send + Sync>>,
}

impl CancelToken {
    /// A token that also calls `probe`, on the thread of the reader, each time the token is checked. It serves hosts that learn of an
    /// interruption only on that thread. `probe` must be cheap.
    pub fn with_probe(probe: Arc<dyn Fn() -> bool + Send + Sync>) -> Self {
        Self { probe: Some(probe), ..Self::default() }
    }

    pub fn cancel(&self) {
        self.requested.store(true, Ordering::Relaxed);
    }

    #[inline]
    pub fn is_cancelled(&self) -> bool {
        self.requested.load(Ordering::Relaxed) || self.probe.as_ref().is_some_and(|probe| probe())
    }

    /// The token without its probe, for other threads.
    pub fn without_probe(&self) -> Self {
        Self { requested: self.requested.clone(), probe: None }
    }

    /// A token for other threads: cancelled with this one, or when `stopped` is set. It does not call the probe.
    pub fn or_when(&self, stopped: Arc<AtomicBool>) -> Self {
        let requested = self.requested.clone();
        Self::with_probe(Arc::new(move || requested.load(Ordering::Relaxed) || stopped.load(Ordering::Relaxed)))
    }
}

impl fmt::Debug for CancelToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CancelToken").field("requested", &self.requested).finish_non_exhaustive()
    }
}

/// Memory that all threads of a reader share. Clones share it too.
#[derive(Clone, Debug)]
pub struct Budget {
    held: Arc<AtomicUsize>,
    bytes_max: usize,
}

impl Default for Budget {
    fn default() -> Self {
        Self::new(usize::MAX)
    }
}

impl Budget {
    pub fn new(bytes_max: usize) -> Self {
        Self { held: Arc::default(), bytes_max }
    }

    pub fn bytes_max(&self) -> usize {
        self.bytes_max
    }

    /// Takes bytes. Returns false if the budget is then exceeded; they are taken all the same.
    pub fn take(&self, bytes: usize) -> bool {
        self.held.fetch_add(bytes, Ordering::Relaxed).saturating_add(bytes) <= self.bytes_max
    }

    pub fn give_back(&self, bytes: usize) {
        self.held.fetch_sub(bytes, Ordering::Relaxed);
    }

    /// Fails if bytes that are held only for a moment exceed the budget.
    #[inline]
    pub fn fits(&self, bytes: usize) -> Result<()> {
        match self.held.load(Ordering::Relaxed).saturating_add(bytes) <= self.bytes_max {
            true => Ok(()),
            false => Err(GraphError::OverBudget { bytes_max: self.bytes_max }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reader_stops_when_it_is_asked_to_or_late() {
        let context = ReadContext::default();
        assert!(context.check().is_ok());
        let clone = context.clone();
        context.cancel.cancel();
        assert!(matches!(clone.check(), Err(GraphError::Stopped)));
        let late = ReadContext { deadline: Instant::now().checked_sub(Duration::from_millis(1)), ..ReadContext::default() };
        assert!(matches!(late.check(), Err(GraphError::Late(None))));
    }

    #[test]
    fn a_budget_is_shared() {
        let budget = Budget::new(10);
        let clone = budget.clone();
        assert!(budget.take(8) && clone.fits(2).is_ok() && clone.fits(3).is_err());
        assert!(!clone.take(8));
        clone.give_back(8);
        assert!(budget.fits(2).is_ok());
    }
}
