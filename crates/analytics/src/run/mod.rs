//! Long work on several threads, which can be watched and stopped.

mod views;

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError, mpsc};
use std::time::Duration;

use mangrove_graph::{GraphError, ReadContext};

pub use views::Views;

use crate::error::{AnalyticsError, Result};

/// How often the thread that waits looks at its limits, and tells how far the work is.
const BETWEEN_LOOKS: Duration = Duration::from_millis(50);

/// What work is doing, and how far it is.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Stage {
    pub name: &'static str,
    pub done: u64,
    /// 0 if nobody knows.
    pub of: u64,
}

/// The thread that works tells a run how far it is, and learns from it when to stop.
#[derive(Default)]
pub struct Run {
    name: Mutex<&'static str>,
    done: AtomicU64,
    of: AtomicU64,
    is_stopped: AtomicBool,
}

impl Run {
    /// Begins a stage of `of` units.
    pub fn begin(&self, name: &'static str, of: u64) {
        *self.name.lock().unwrap_or_else(PoisonError::into_inner) = name;
        self.done.store(0, Ordering::Relaxed);
        self.of.store(of, Ordering::Relaxed);
    }

    /// Notes that further units are done. Fails if the work is to stop.
    pub fn advance(&self, units: u64) -> Result<()> {
        self.done.fetch_add(units, Ordering::Relaxed);
        match self.is_stopped.load(Ordering::Relaxed) {
            true => Err(GraphError::Stopped.into()),
            false => Ok(()),
        }
    }

    fn stage(&self) -> Stage {
        Stage {
            name: *self.name.lock().unwrap_or_else(PoisonError::into_inner),
            done: self.done.load(Ordering::Relaxed),
            of: self.of.load(Ordering::Relaxed),
        }
    }
}

/// Runs work on `threads` threads. The calling thread only waits: it honours its limits, and shows how far the work is.
pub fn watched<T: Send>(
    threads: usize,
    limits: &ReadContext,
    show: &mut dyn FnMut(Stage),
    work: impl FnOnce(&Run) -> Result<T> + Send,
) -> Result<T> {
    let pool =
        rayon::ThreadPoolBuilder::new().num_threads(threads.max(1)).thread_name(|at| format!("mangrove-analyze-{at}"));
    let pool = pool.build().map_err(|error| AnalyticsError::Invalid(format!("no threads: {error}")))?;
    let (run, (tell, told)) = (Run::default(), mpsc::channel());
    let run = &run;
    std::thread::scope(|scope| {
        scope.spawn(move || {
            let outcome = catch_unwind(AssertUnwindSafe(|| pool.install(|| work(run))));
            let outcome = outcome.unwrap_or_else(|panic| Err(AnalyticsError::Panicked(text_of(&*panic))));
            // Nobody waits if the caller panicked.
            let _ = tell.send(outcome);
        });
        let mut stopped = None;
        loop {
            match told.recv_timeout(BETWEEN_LOOKS) {
                Ok(outcome) => return stopped.map_or(outcome, Err),
                Err(mpsc::RecvTimeoutError::Disconnected) => return Err(AnalyticsError::Panicked("it told nothing".into())),
                Err(mpsc::RecvTimeoutError::Timeout) => show(run.stage()),
            }
            if let (None, Err(error)) = (&stopped, limits.check()) {
                run.is_stopped.store(true, Ordering::Relaxed);
                stopped = Some(error.into());
            }
        }
    })
}

/// What a panic says.
pub fn text_of(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_stops_when_its_caller_says_so_and_panics_are_errors() {
        let limits = ReadContext::default();
        assert_eq!(watched(2, &limits, &mut |_| (), |_| Ok(rayon::current_num_threads())).unwrap(), 2);
        let failed = watched(1, &limits, &mut |_| (), |_| -> Result<()> { panic!("here") });
        assert!(matches!(failed, Err(AnalyticsError::Panicked(text)) if text == "here"));
        let mut seen = Vec::new();
        let cancel = limits.cancel.clone();
        let mut show = |stage: Stage| {
            seen.push(stage);
            cancel.cancel();
        };
        let stopped: Result<()> = watched(1, &limits, &mut show, |run| {
            run.begin("counting", 7);
            loop {
                run.advance(1)?;
                std::thread::sleep(Duration::from_millis(1));
            }
        });
        assert!(matches!(stopped, Err(AnalyticsError::Graph(GraphError::Stopped))));
        assert!(seen.first().is_some_and(|stage| stage.name == "counting" && stage.of == 7 && stage.done > 0));
    }
}
