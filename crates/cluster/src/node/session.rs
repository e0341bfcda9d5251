//! Who is connected to a node, and what it holds there. All of that ends with the connection.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use mangrove_graph::{CancelToken, GraphError, ReadContext, Result};

use super::Node;
use super::turns::Ticket;
use crate::log::{RequestId, Section, Transaction};
use crate::wire::{Ask, Call, Reply, answer};

/// How long a node tries to become the writer before it says who is.
const PATIENCE: Duration = Duration::from_secs(2);

/// A connection to a node.
pub struct Session {
    node: Arc<Node>,
    /// Who is at the other end, for those who wait for it.
    who: String,
    held: Mutex<HashMap<(u16, u64), u32>>,
    turn: Mutex<Option<Ticket>>,
}

impl Session {
    pub fn new(node: Arc<Node>, who: String) -> Self {
        Self { node, who, held: Mutex::default(), turn: Mutex::default() }
    }

    pub fn node(&self) -> &Arc<Node> {
        &self.node
    }

    fn turn(&self) -> MutexGuard<'_, Option<Ticket>> {
        self.turn.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn held(&self) -> MutexGuard<'_, HashMap<(u16, u64), u32>> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Answers a call. `cancel` stops it.
    pub fn serve(&self, call: Call, cancel: CancelToken) -> Result<Reply> {
        match call {
            Call::Hello => {
                let (graph, members, writer) = self.node.role.graph(Duration::ZERO)?;
                Ok(Reply::Hello { graph, members, writer })
            }
            Call::Applied(shards) => {
                let applied = shards.into_iter().map(|shard| Ok(self.node.host(shard)?.applied()));
                applied.collect::<Result<_>>().map(Reply::Applied)
            }
            Call::Hold { shard, number, version } => self.hold(shard, number, version),
            Call::Release { shard, number } => {
                self.release(shard, number);
                Ok(Reply::Released)
            }
            Call::Ask { shard, number, left, ask } => self.ask(shard, number, left, ask, cancel),
            Call::Begin { patience } => Ok(self.begin(patience)),
            Call::Since { number } => {
                self.must_have_the_turn()?;
                Ok(Reply::Since(self.node.role.since(number)))
            }
            Call::Commit { request, sections } => self.commit(request, sections),
            Call::Rollback => {
                *self.turn() = None;
                Ok(Reply::RolledBack)
            }
            Call::WasMade(request) => match self.node.role.become_writer(PATIENCE) {
                Ok(()) => self.node.role.settle(request).map(Reply::Made),
                Err(writer) => Ok(Reply::Elsewhere { writer }),
            },
        }
    }

    fn hold(&self, shard: u16, number: u64, version: Option<u64>) -> Result<Reply> {
        let pool = self.node.host(shard)?.hold(number)?;
        *self.held().entry((shard, number)).or_default() += 1;
        let statistics = pool.with(None, |store| store.statistics())?;
        let schema = (version != Some(pool.version())).then(|| pool.schema().clone());
        Ok(Reply::Held { version: pool.version(), schema, statistics })
    }

    fn release(&self, shard: u16, number: u64) {
        let mut held = self.held();
        if let Some(count) = held.get_mut(&(shard, number)) {
            *count -= 1;
            if *count == 0 {
                held.remove(&(shard, number));
            }
            if let Ok(host) = self.node.host(shard) {
                host.release(number);
            }
        }
    }

    fn ask(&self, shard: u16, number: u64, left: Option<Duration>, ask: Ask, cancel: CancelToken) -> Result<Reply> {
        let deadline = left.map(|left| Instant::now() + left);
        let limits = ReadContext { deadline, timeout: left, cancel, ..ReadContext::default() };
        let pool = self.node.host(shard)?.at(number)?;
        pool.with(Some(limits), |store| answer(store, ask)).map(Reply::Answer)
    }

    fn begin(&self, patience: Duration) -> Reply {
        let until = Instant::now() + patience;
        if let Err(writer) = self.node.role.become_writer(patience.max(PATIENCE)) {
            *self.turn() = None;
            return Reply::Elsewhere { writer };
        }
        let mut turn = self.turn();
        let ticket = turn.get_or_insert_with(|| self.node.turns.queue());
        match ticket.wait(until.saturating_duration_since(Instant::now()), &self.who) {
            Ok(()) => Reply::Turn,
            Err(holder) => Reply::Busy { holder: holder.who, held: holder.held },
        }
    }

    fn must_have_the_turn(&self) -> Result<()> {
        let turn = self.turn();
        let has_it = turn.as_ref().is_some_and(|ticket| ticket.wait(Duration::ZERO, &self.who).is_ok());
        if has_it { Ok(()) } else { Err(GraphError::Unavailable("the turn to write has ended".into())) }
    }

    fn commit(&self, request: RequestId, sections: Vec<Section>) -> Result<Reply> {
        self.must_have_the_turn()?;
        let outcome = self.node.role.submit(Transaction { request, sections });
        *self.turn() = None; // what comes next sees this one before it is in the log
        match outcome.recv() {
            Ok(Ok(number)) => Ok(Reply::Committed(number)),
            Ok(Err(writer)) => Ok(Reply::Elsewhere { writer }),
            Err(_) => Err(GraphError::Unavailable("the node was stopped before it knew of the commit".into())),
        }
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        let held = std::mem::take(&mut *self.held());
        for ((shard, number), count) in held {
            if let Ok(host) = self.node.host(shard) {
                (0..count).for_each(|_| host.release(number));
            }
        }
    }
}
