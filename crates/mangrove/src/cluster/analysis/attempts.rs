//! Runs an analysis until it has ended, although nodes may end meanwhile.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use mangrove_analytics::{AnalyticsError, Result, Stage};
use mangrove_cluster::gateway::{Gateway, HeldCut};
use mangrove_graph::{GraphError, ReadContext};

use super::points::Points;
use super::run::attempt;
use crate::backend::{InParts, RanInParts, Restarts};
use crate::cluster::rounds::words::said;

/// A program begins again so often without a checkpoint after a later step.
const FRUITLESS_MAX: u32 = 8;
/// How long it waits before it begins again. The next time, it waits twice as long.
const PAUSE: Duration = Duration::from_millis(100);
const PAUSE_MAX: Duration = Duration::from_secs(2);
/// A shard without a node is waited for as long as the analysis has run, but at least and at most so long.
const PATIENCE_LEAST: Duration = Duration::from_secs(10);
const PATIENCE_MOST: Duration = Duration::from_secs(300);
/// How often who waits looks whether to stop.
const LOOK: Duration = Duration::from_millis(20);

/// Runs a vertex program on the nodes that keep a cut; `None` if they run none. If one of them ends, it begins again after the last checkpoint, on
/// those that have the graph at the same number. If there are none, the cut is lost.
///
/// # Errors
/// What a node says has failed. [`GraphError::Unavailable`] if nodes end too often, or for too long: nothing was changed, and it may be run again.
pub fn run(
    gateway: &Gateway,
    cut: &Arc<HeldCut>,
    work: &InParts<'_>,
    limits: &ReadContext,
    show: &mut dyn FnMut(Stage),
) -> Result<Option<RanInParts>> {
    let points = Points::new(work.checkpoint_every);
    let (begun, restarts) = (Instant::now(), Restarts::default());
    let mut attempts = Attempts { gateway, first: cut, cut: cut.clone(), begun, points, restarts, fruitless: 0 };
    let outcome = attempts.run(work, limits, show);
    let Attempts { cut, mut points, .. } = attempts;
    points.end(cut.nodes.iter().map(|(peer, _)| &**peer));
    outcome
}

struct Attempts<'a> {
    gateway: &'a Gateway,
    /// The cut of who reads the graph.
    first: &'a HeldCut,
    /// The same graph on the nodes that are there.
    cut: Arc<HeldCut>,
    begun: Instant,
    points: Points,
    restarts: Restarts,
    /// How often it began since the last checkpoint.
    fruitless: u32,
}

impl Attempts<'_> {
    fn run(&mut self, work: &InParts<'_>, limits: &ReadContext, show: &mut dyn FnMut(Stage)) -> Result<Option<RanInParts>> {
        loop {
            let from = self.points.last().map(|last| last.steps);
            let error = match attempt(&self.cut, work, limits, &mut self.points, show) {
                Ok(None) if self.restarts.count > 0 => GraphError::Unavailable("a node runs no analyses".into()).into(),
                Ok(ran) => return Ok(ran.map(|ran| self.told(ran, from.unwrap_or(0)))),
                Err(error) => error,
            };
            limits.check()?;
            self.points.begin_again();
            let is_damaged = from.is_some() && matches!(error, AnalyticsError::Graph(GraphError::Corrupt(_)));
            if is_damaged {
                self.points.give_up_last();
            } else if !self.may_pass(&error) {
                return Err(error);
            }
            let has_come_further = self.points.last().is_some_and(|last| last.steps > from.unwrap_or(0));
            self.fruitless = if has_come_further { 0 } else { self.fruitless + 1 };
            let what = what(error);
            if self.fruitless >= FRUITLESS_MAX {
                return Err(over(&what));
            }
            pause(PAUSE_MAX.min(PAUSE * (1 << self.fruitless)), limits)?;
            self.find(limits)?;
            self.begin_again(&what);
        }
    }

    /// Whether it may go better the next time.
    fn may_pass(&self, error: &AnalyticsError) -> bool {
        match error {
            AnalyticsError::Graph(GraphError::Unavailable(_)) => true,
            // What ran before may still have some.
            AnalyticsError::TooLittleMemory { .. } => self.restarts.count > 0,
            _ => false,
        }
    }

    /// Waits until all shards have nodes with the graph at the same number.
    fn find(&mut self, limits: &ReadContext) -> Result<()> {
        let (since, patience) = (Instant::now(), self.begun.elapsed().clamp(PATIENCE_LEAST, PATIENCE_MOST));
        loop {
            match self.gateway.cut_again(self.cut.number, limits) {
                Ok(Some(cut)) => {
                    self.cut = cut;
                    return Ok(());
                }
                Ok(None) => {
                    self.first.lost.store(true, Ordering::Relaxed);
                    return Err(over(&format!("the nodes do not have the graph at {} any more", self.cut.number)));
                }
                Err(GraphError::Unavailable(what)) if since.elapsed() >= patience => {
                    return Err(over(&format!("{what}, for {} s", patience.as_secs())));
                }
                Err(GraphError::Unavailable(_)) => pause(PAUSE, limits)?,
                Err(error) => return Err(error.into()),
            }
        }
    }

    fn begin_again(&mut self, what: &str) {
        let from = match self.points.last() {
            Some(last) => format!("went on after step {}, from a checkpoint", last.steps),
            None => "began again from the first step".to_owned(),
        };
        let warning = format!("{what}; the analysis {from}");
        tracing::warn!("{warning}");
        self.restarts.warnings.push(warning);
        self.restarts.count += 1;
    }

    fn told(&mut self, ran: RanInParts, resumed_at: u64) -> RanInParts {
        let mut restarts = Restarts { resumed_at, ..std::mem::take(&mut self.restarts) };
        let failed = self.points.failed().map(|what| format!("a checkpoint of the analysis was not made: {what}"));
        restarts.warnings.extend(failed);
        RanInParts { restarts, ..ran }
    }
}

fn what(error: AnalyticsError) -> String {
    match error {
        AnalyticsError::Graph(error) => said(error),
        error => error.to_string(),
    }
}

/// The error of an analysis that does not begin again.
fn over(what: &str) -> AnalyticsError {
    GraphError::Unavailable(format!("{what}; the analysis has ended, and may be run again")).into()
}

fn pause(time: Duration, limits: &ReadContext) -> Result<(), GraphError> {
    let until = Instant::now() + time;
    while Instant::now() < until {
        limits.check()?;
        std::thread::sleep(LOOK);
    }
    limits.check()
}
