//! `repeat` with `until`, `times` and `emit` in every position: rounds over a frontier.
//!
//! All traversers of a round move together. So one number counts the rounds for all of them, and traversers that meet on a vertex
//! can merge between rounds.

use std::collections::VecDeque;

use crate::error::Result;
use crate::execute::data::batch::Batch;
use crate::execute::ops::barrier::gather_all;
use crate::execute::run::chain::{Child, Input, Once, Op};
use crate::execute::run::context::Context;
use crate::execute::run::memory::Held;
use crate::execute::run::nesting;
use crate::plan::Name;

pub enum UntilOp {
    Times(u64),
    Child(Child),
}

pub enum EmitOp {
    Always,
    Child(Child),
}

pub struct RepeatOp {
    body: Child,
    name: Option<Name>,
    until: Option<(UntilOp, bool)>,
    emit: Option<(EmitOp, bool)>,
    /// The body depends on how batches are cut, so it gets all traversers in one batch.
    all_at_once: bool,
    /// The number of rounds that the current frontier has done.
    rounds: u64,
    /// The frontier of the current round, as input of the body.
    start: Option<Once>,
    next_frontier: Vec<Batch>,
    /// The memory of the next frontier.
    held: Held,
    ready: VecDeque<Batch>,
    /// How often the ready ones have waited for others.
    waited: usize,
    scopes: usize,
    begun: bool,
}

impl RepeatOp {
    /// `until` and `emit` come with a flag: whether they stood before the `repeat`.
    pub fn new(
        body: Child,
        name: Option<Name>,
        until: Option<(UntilOp, bool)>,
        emit: Option<(EmitOp, bool)>,
        all_at_once: bool,
    ) -> Self {
        Self {
            all_at_once,
            body,
            name,
            until,
            emit,
            rounds: 0,
            start: None,
            next_frontier: Vec::new(),
            held: Held::default(),
            ready: VecDeque::new(),
            waited: 0,
            scopes: 1,
            begun: false,
        }
    }

    /// Runs `work` inside the current round of this repeat.
    fn inside<T>(
        &mut self,
        cx: &mut Context<'_, '_>,
        work: impl FnOnce(&mut Self, &mut Context<'_, '_>) -> Result<T>,
    ) -> Result<T> {
        cx.shared.loops.push((self.name.clone(), self.rounds));
        let done = work(self, cx);
        cx.shared.loops.pop();
        done
    }

    /// Lets finished traversers leave, emits, and returns those that go on. `first` means before the body, otherwise after it.
    fn pass(&mut self, cx: &mut Context<'_, '_>, batch: Batch, first: bool) -> Result<Batch> {
        let mut staying = batch;
        if let Some((until, until_first)) = &mut self.until
            && *until_first == first
        {
            let leaves = match until {
                UntilOp::Times(n) => vec![self.rounds >= *n; staying.len()],
                UntilOp::Child(child) => child.exists(cx, &staying)?,
            };
            let stays: Vec<bool> = leaves.iter().map(|l| !l).collect();
            let leaving = staying.clone().filter(&leaves);
            staying = staying.filter(&stays);
            self.give(leaving);
        }
        if let Some((emit, emit_first)) = &mut self.emit
            && *emit_first == first
            && !staying.is_empty()
        {
            let emitted = match emit {
                EmitOp::Always => staying.clone(),
                EmitOp::Child(child) => {
                    let keep = child.exists(cx, &staying)?;
                    staying.clone().filter(&keep)
                }
            };
            self.give(emitted);
        }
        Ok(staying)
    }

    fn give(&mut self, batch: Batch) {
        if !batch.is_empty() {
            self.ready.push_back(batch);
        }
    }

    /// Begins a round. If the frontier is used up, takes the next batch of input; false at the end.
    fn begin_round(&mut self, cx: &mut Context<'_, '_>, input: &mut dyn Input) -> Result<bool> {
        let frontier = Batch::joined(std::mem::take(&mut self.next_frontier));
        self.held.clear();
        let frontier = if frontier.is_empty() {
            let batch =
                if self.all_at_once { gather_all(cx, input, &mut self.held)? } else { input.pull(cx)?.unwrap_or_default() };
            if batch.is_empty() {
                return Ok(false);
            }
            self.rounds = 0;
            batch
        } else {
            self.rounds += 1;
            frontier
        };
        let staying = self.inside(cx, |this, cx| this.pass(cx, frontier, true))?;
        if !staying.is_empty() {
            if std::mem::replace(&mut self.begun, true) {
                self.body.next_round(self.scopes);
            } else {
                self.body.begin(self.scopes);
            }
            self.start = Some(if self.all_at_once { Once::whole(staying) } else { Once::new(staying) });
        }
        Ok(true)
    }

    /// Takes one more batch of the current round.
    fn go_on(&mut self, cx: &mut Context<'_, '_>) -> Result<()> {
        let Some(mut start) = self.start.take() else { return Ok(()) };
        let out = self.inside(cx, |this, cx| this.body.pull(cx, &mut start))?;
        let Some(out) = out else { return Ok(()) };
        nesting::check_batch(&out)?;
        self.start = Some(start);
        self.rounds += 1;
        let staying = self.inside(cx, |this, cx| this.pass(cx, out, false));
        self.rounds -= 1;
        let staying = staying?;
        self.held.add_batch(cx, &staying)?;
        if !staying.is_empty() {
            self.next_frontier.push(staying);
        }
        Ok(())
    }
}

impl RepeatOp {
    /// Whether traversers that are ready wait for those of further rounds. If the graph is far away, later steps then ask for all of
    /// them at once. But they do not wait for a frontier that grows, or for many rounds: somebody may want only a few.
    fn gathers(&self, cx: &Context<'_, '_>) -> bool {
        let distance = cx.view().distance();
        let rows = |batches: &mut dyn Iterator<Item = &Batch>| batches.map(Batch::len).sum::<usize>();
        !distance.round_trip.is_zero()
            && self.waited < ROUNDS_MAX
            && (self.start.is_some() || !self.next_frontier.is_empty())
            && rows(&mut self.ready.iter()) < distance.rows_min
            && rows(&mut self.next_frontier.iter()) <= distance.rows_min
    }

    /// The next traversers that leave; all that are ready, if they have waited for each other.
    fn leaving(&mut self) -> Option<Batch> {
        match std::mem::take(&mut self.waited) {
            0 => self.ready.pop_front(),
            _ => Some(Batch::joined(self.ready.drain(..).collect())),
        }
    }
}

/// The most rounds that ready traversers wait for.
const ROUNDS_MAX: usize = 16;

impl Op for RepeatOp {
    fn next(&mut self, cx: &mut Context<'_, '_>, input: &mut dyn Input) -> Result<Option<Batch>> {
        loop {
            if !self.ready.is_empty() && !self.gathers(cx) {
                return Ok(self.leaving());
            }
            self.waited += usize::from(!self.ready.is_empty());
            cx.check()?;
            if self.start.is_some() {
                self.go_on(cx)?;
            } else if !self.begin_round(cx, input)? {
                return Ok(None);
            }
        }
    }

    fn reset(&mut self, scopes: usize) {
        self.rounds = 0;
        self.start = None;
        self.next_frontier.clear();
        self.held.clear();
        self.ready.clear();
        self.waited = 0;
        self.scopes = scopes;
        self.begun = false;
    }
}
