//! Runs of steps that many threads work on at once. Each step decides for itself whether it spreads.
//!
//! ```text
//!   input ──▶ batch ──▶ messages ──▶ workers of the crew, each with a view and a chain of its own ──┐
//!                          └───────▶ the query's own thread ───────────────────────────────────────┴─▶ results, in order
//! ```
//!
//! If a step treats each traverser on its own (hops, filters, values, children …), any thread may run it. While batches are small,
//! the query's own thread pulls them through as if this operator did not exist. A large batch is cut into messages of about half a
//! millisecond of work. Idle workers run some messages; the query's thread runs the rest while it consumes the results. So a light
//! step stays on one thread and a heavy one spreads (Grasper, SoCC'19, §4.3).
//!
//! Invariants
//! 1. Results come in the order of the messages. A query gives the same results with and without help.
//! 2. At most [`WINDOW`] messages per thread are claimed and not yet consumed. Their results count as memory of the query. Only one
//!    step of a run multiplies its traversers, so a message of one traverser gives no more than that step does.
//! 3. After a reset or drop of the operator, no worker holds one of its messages.

use std::any::Any;
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use mangrove_graph::GraphView;

use crate::crew::{Job, Offer};
use crate::error::{QueryError, Result};
use crate::execute::data::batch::Batch;
use crate::execute::data::sent::{self, Loops};
use crate::execute::ops::hop::as_stored;
use crate::execute::run::chain::{Chain, Input, Once, Op};
use crate::execute::run::context::{Context, QueryState};
use crate::execute::run::help::{Help, Views};
use crate::execute::run::memory::Held;
use crate::execute::run::profile::Counters;
use crate::options::Graph;
use crate::plan::{Name, Plan, SourceConfig, Step, Traversal};
use crate::profile::Messages;

/// The most messages per thread that are claimed and not yet consumed.
const WINDOW: usize = 8;
/// The target duration of a message.
const MESSAGE_TIME: Duration = Duration::from_micros(500);
const MESSAGE_ROWS: std::ops::RangeInclusive<usize> = 1..=16_384;
/// The most bytes of traversers in a message, unless it has only one.
const MESSAGE_BYTES_MAX: usize = 1 << 20;
/// How often a waiting thread checks for a stop.
const PATIENCE: Duration = Duration::from_millis(10);

/// Makes a chain of steps. The flag says whether their output is the result of the query.
type Compile = fn(&Traversal, Option<usize>) -> Result<Chain>;

/// A run of independent steps.
pub struct ParallelOp {
    steps: Traversal,
    /// The least number of traversers whose maps go on by column.
    columns: Option<usize>,
    compile: Compile,
    /// The chain of the query's own thread.
    chain: Chain,
    /// It begins with a hop that may follow its rows in storage order.
    any_order: bool,
    team: Option<Team>,
    ready: VecDeque<Batch>,
    input_ended: bool,
}

/// The workers' part of a running batch.
struct Team {
    stage: Arc<Stage>,
    offer: Offer,
}

impl ParallelOp {
    /// `compile` makes a chain of steps, for this thread and for each helper.
    pub fn new(steps: Traversal, columns: Option<usize>, compile: Compile) -> Result<Self> {
        let chain = compile(&steps, columns)?;
        let first = steps.steps.first().map(|node| &node.step);
        let any_order = matches!(first, Some(Step::Hop { any_order: true, .. }));
        Ok(Self { steps, columns, compile, chain, any_order, team: None, ready: VecDeque::new(), input_ended: false })
    }

    /// Starts to hand out messages of `batch`.
    fn gather_team(&mut self, cx: &Context<'_, '_>, batch: Batch) -> Result<()> {
        if let Some(help) = &cx.shared.help {
            let sent = if help.crew.sends_bytes() { Some(self.sent(&help.source)?) } else { None };
            let steps = sent.as_ref().unwrap_or(&self.steps);
            let chain = || (self.compile)(steps, self.columns);
            let stage = Arc::new(Stage::new(&chain, help, cx.shared, self.sorted(batch))?);
            let offer = help.crew.offer(stage.clone());
            self.team = Some(Team { stage, offer });
        }
        Ok(())
    }

    /// The steps as a worker has them who got them as bytes.
    fn sent(&self, source: &SourceConfig) -> Result<Traversal> {
        let plan = Plan { source: source.clone(), traversal: self.steps.clone() };
        let again = plan.to_bytes().and_then(|bytes| Plan::from_bytes(&bytes));
        again.map(|plan| plan.traversal).map_err(|error| QueryError::step(error.to_string()))
    }

    /// The next results of the team; `None` when all input is done.
    fn next_of_team(&mut self, cx: &mut Context<'_, '_>, input: &mut dyn Input) -> Result<Option<Batch>> {
        let Some(team) = &self.team else { return Ok(None) };
        loop {
            if let Some(batch) = self.ready.pop_front() {
                return Ok(Some(batch));
            }
            cx.check()?;
            let mut state = team.stage.locked();
            if let Some(outcome) = state.take() {
                drop(state);
                team.offer.more();
                let done = match outcome {
                    Ok(done) => done?,
                    Err(panic) => resume_unwind(panic),
                };
                self.ready.extend(done.batches);
                done.warnings.into_iter().for_each(|warning| cx.warn(warning));
            } else if !self.input_ended && state.waiting.is_empty() {
                drop(state);
                match input.pull(cx)? {
                    Some(batch) => {
                        let batch = self.sorted(batch);
                        team.stage.locked().add(batch);
                        team.offer.more();
                    }
                    None => self.input_ended = true,
                }
            } else if let Some((number, batch)) = state.claim(team.stage.window) {
                drop(state);
                let (rows, began) = (batch.len(), Instant::now());
                let outcome = run(&mut self.chain, cx, batch);
                team.stage.locked().finish(number, Ok(outcome), rows, began.elapsed());
            } else if state.is_finished() {
                drop(state);
                self.disband();
                return Ok(None);
            } else {
                let waited = team.stage.changed.wait_timeout(state, PATIENCE);
                drop(waited.unwrap_or_else(PoisonError::into_inner));
            }
        }
    }

    /// Sorts the batch before it is cut up, so that no two messages touch the same part of the store.
    fn sorted(&self, batch: Batch) -> Batch {
        if self.any_order { as_stored(batch) } else { batch }
    }

    fn disband(&mut self) {
        if let Some(Team { stage, offer }) = self.team.take() {
            drop(offer);
            stage.stop();
            let Messages { all, helped, stolen, .. } = stage.locked().messages;
            tracing::debug!(messages = all, helped, stolen, "the crew helped");
            if let Some(counters) = &stage.counters {
                let messages = stage.locked().messages;
                self.steps.steps.iter().for_each(|node| counters[node.row].cut_up(messages));
            }
        }
        self.ready.clear();
        self.input_ended = false;
    }
}

impl Op for ParallelOp {
    fn next(&mut self, cx: &mut Context<'_, '_>, input: &mut dyn Input) -> Result<Option<Batch>> {
        if self.team.is_some() {
            return self.next_of_team(cx, input);
        }
        let heavy_rows = cx.shared.help.as_ref().map_or(usize::MAX, |help| help.crew.rows_min());
        let mut gate = Gate { input, heavy: None, heavy_rows };
        if let Some(batch) = self.chain.pull(cx, &mut gate)? {
            return Ok(Some(batch));
        }
        let Some(heavy) = gate.heavy else { return Ok(None) };
        self.chain.reset(1);
        self.gather_team(cx, heavy)?;
        self.next_of_team(cx, input)
    }

    fn reset(&mut self, scopes: usize) {
        self.disband();
        self.chain.reset(scopes);
    }
}

impl Drop for ParallelOp {
    fn drop(&mut self) {
        self.disband();
    }
}

/// Lets small batches pass and keeps the first heavy one.
struct Gate<'a> {
    input: &'a mut dyn Input,
    heavy: Option<Batch>,
    heavy_rows: usize,
}

impl Input for Gate<'_> {
    fn pull(&mut self, cx: &mut Context<'_, '_>) -> Result<Option<Batch>> {
        match self.input.pull(cx)? {
            Some(batch) if batch.len() >= self.heavy_rows => {
                self.heavy = Some(batch);
                Ok(None)
            }
            other => Ok(other),
        }
    }
}

/// All results of the chain for a message.
fn run(chain: &mut Chain, cx: &mut Context<'_, '_>, message: Batch) -> Result<Done> {
    chain.reset(1);
    let mut start = Once::new(message);
    let mut done = Done::default();
    while let Some(batch) = chain.pull(cx, &mut start)? {
        done.held.add_batch(cx, &batch)?;
        done.batches.push(batch);
    }
    Ok(done)
}

/// A batch as another process would get it.
fn sent(loops: &[(Option<Name>, u64)], batch: &Batch) -> Result<(Loops, Batch)> {
    let bytes = sent::to_bytes(loops, batch).map_err(|error| QueryError::value(error.to_string()))?;
    sent::from_bytes(&bytes).ok_or_else(|| QueryError::value("a batch did not come back from its bytes"))
}

/// The results of a message, or its panic.
type Outcome = std::result::Result<Result<Done>, Box<dyn Any + Send>>;

#[derive(Default)]
struct Done {
    batches: Vec<Batch>,
    /// The memory of the results, until they are consumed.
    held: Held,
    warnings: Vec<String>,
}

/// The messages of a run of steps, and their results.
struct Stage {
    views: Views,
    window: usize,
    state: Mutex<State>,
    changed: Condvar,
    stopped: Arc<AtomicBool>,
    /// QueryState by the whole query.
    helped_nanos: Arc<AtomicU64>,
    /// Of the whole plan, while profiling.
    counters: Option<Arc<[Counters]>>,
    /// Whether messages and results go as bytes; then with these rounds of the repeats around them.
    sent: Option<Loops>,
}

struct State {
    /// Batches to cut up. With each, the most rows a message may have for its size in bytes.
    waiting: VecDeque<(Batch, usize)>,
    /// The number of claimed rows of the first batch.
    at: usize,
    /// Rows of the next message.
    rows: usize,
    /// The number of the first message that has not been consumed.
    consumed: usize,
    /// The outcomes of the claimed messages from `consumed` on.
    outcomes: VecDeque<Option<Outcome>>,
    /// The number of workers that run a message now.
    running: usize,
    messages: Messages,
    /// Workers that are free to run messages.
    idle: Vec<Worker>,
}

/// What running a message needs.
struct Worker {
    chain: Chain,
    shared: QueryState,
}

impl State {
    fn add(&mut self, batch: Batch) {
        let row_bytes = batch.bytes() / batch.len().max(1);
        self.waiting.push_back((batch, (MESSAGE_BYTES_MAX / row_bytes.max(1)).max(1)));
    }

    /// The next message and its number.
    fn claim(&mut self, window: usize) -> Option<(usize, Batch)> {
        if self.outcomes.len() >= window {
            return None;
        }
        let (batch, rows_max) = self.waiting.front()?;
        let end = (self.at + self.rows.min(*rows_max)).min(batch.len());
        let message = batch.slice(self.at..end);
        self.at = end;
        if end == batch.len() {
            self.waiting.pop_front();
            self.at = 0;
        }
        self.outcomes.push_back(None);
        self.messages.all += 1;
        Some((self.consumed + self.outcomes.len() - 1, message))
    }

    fn finish(&mut self, number: usize, outcome: Outcome, rows: usize, time: Duration) {
        let pace = MESSAGE_TIME.as_secs_f64() / time.as_secs_f64().max(1e-6);
        let fitting = (rows as f64 * pace.clamp(0.25, 4.0)) as usize;
        self.rows = fitting.clamp(*MESSAGE_ROWS.start(), *MESSAGE_ROWS.end());
        self.outcomes[number - self.consumed] = Some(outcome);
    }

    /// The outcome of the next message in order, if it is done.
    fn take(&mut self) -> Option<Outcome> {
        let outcome = self.outcomes.front_mut()?.take()?;
        self.outcomes.pop_front();
        self.consumed += 1;
        Some(outcome)
    }

    fn is_finished(&self) -> bool {
        self.waiting.is_empty() && self.outcomes.is_empty()
    }
}

impl Stage {
    fn new(chain: &dyn Fn() -> Result<Chain>, help: &Help, shared: &QueryState, first: Batch) -> Result<Self> {
        let stopped = Arc::new(AtomicBool::new(false));
        let cancel = shared.cancel().or_when(stopped.clone());
        let worker = |_| {
            let shared = shared.of_helper(&help.source, cancel.clone());
            Ok(Worker { chain: chain()?, shared })
        };
        let mut state = State {
            waiting: VecDeque::new(),
            at: 0,
            rows: (help.crew.rows_min() / 4).max(1),
            consumed: 0,
            outcomes: VecDeque::new(),
            running: 0,
            messages: Messages::default(),
            idle: (0..help.crew.len()).map(worker).collect::<Result<_>>()?,
        };
        state.add(first);
        Ok(Self {
            views: help.views.clone(),
            window: WINDOW * (help.crew.len() + 1),
            state: Mutex::new(state),
            changed: Condvar::new(),
            stopped,
            helped_nanos: help.helped_nanos.clone(),
            counters: shared.counters.clone(),
            sent: help.crew.sends_bytes().then(|| shared.loops.clone()),
        })
    }

    fn locked(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until no worker holds a message.
    fn stop(&self) {
        self.stopped.store(true, Ordering::Relaxed);
        let mut state = self.locked();
        state.waiting.clear();
        while state.running > 0 {
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn run(&self, worker: &mut Worker, view: &dyn GraphView, message: Batch) -> Result<Done> {
        let _span = tracing::debug_span!("message", query = %worker.shared.trace(), rows = message.len()).entered();
        let graph = &mut Graph::Read(view);
        let message = match &self.sent {
            Some(loops) => {
                let (loops, message) = sent(loops, &message)?;
                worker.shared.loops = loops;
                message
            }
            None => message,
        };
        let mut done = run(&mut worker.chain, &mut Context { graph, shared: &mut worker.shared }, message)?;
        if self.sent.is_some() {
            done.batches = done.batches.iter().map(|batch| Ok(sent(&[], batch)?.1)).collect::<Result<_>>()?;
        }
        Ok(Done { warnings: std::mem::take(&mut worker.shared.warnings), ..done })
    }
}

impl Job for Stage {
    fn run_one(&self, stolen: bool) -> bool {
        let began = Instant::now();
        let mut state = self.locked();
        let views = || self.views.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(view) = views().pop() else { return false };
        let Some(mut worker) = state.idle.pop() else {
            views().push(view);
            return false;
        };
        let Some((number, message)) = state.claim(self.window) else {
            state.idle.push(worker);
            views().push(view);
            return false;
        };
        state.running += 1;
        state.messages.helped += 1;
        state.messages.stolen += u64::from(stolen);
        drop(state);
        let rows = message.len();
        let outcome = catch_unwind(AssertUnwindSafe(|| self.run(&mut worker, &*view, message)));
        views().push(view);
        let time = began.elapsed();
        self.helped_nanos.fetch_add(time.as_nanos() as u64, Ordering::Relaxed);
        let mut state = self.locked();
        state.running -= 1;
        state.idle.push(worker);
        state.finish(number, outcome, rows, time);
        self.changed.notify_all();
        true
    }

    fn helped(&self) -> u64 {
        self.helped_nanos.load(Ordering::Relaxed)
    }
}
