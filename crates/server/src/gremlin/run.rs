//! Runs what a request asks for, and sends the results.

use std::borrow::Cow;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

use mangrove::{CancelToken, Database, Parameters, QueryError, QueryOptions, Results, Rows, StoreError, Transaction};
use mangrove_query::Query;

use super::asker::{Answer, Asker};
use super::batches::{Batches, Stopped, Wanted};
use super::refused::Refused;
use super::rooms::Room;
use crate::status::Status;
use crate::wire::Sent;

/// A query may take so long on a thread that serves other clients, too.
const BRIEF: Duration = Duration::from_millis(1);

/// A query, or the end of a transaction, with what the request says of it.
pub struct Run {
    pub sent: Sent,
    /// The traversal source, and its database.
    pub source: String,
    pub database: Database,
    pub parameters: Parameters,
    /// The longest time from the request to its last response.
    pub timeout: Option<Duration>,
    /// The most bytes that the query may hold.
    pub memory_bytes_max: usize,
    pub wanted: Wanted,
    /// Each request of the session is a transaction of its own.
    pub is_managed: bool,
}

impl Run {
    pub fn writes(&self) -> bool {
        match &self.sent {
            Sent::Query(query) => query.writes(),
            Sent::Script(script) => script.queries.iter().any(Query::writes),
            Sent::Commit | Sent::Rollback => false,
        }
    }

    /// The query as written, or the end of a transaction.
    pub fn text(&self) -> &str {
        match &self.sent {
            Sent::Query(query) => query.text(),
            Sent::Script(script) => &script.text,
            Sent::Commit => "g.tx().commit()",
            Sent::Rollback => "g.tx().rollback()",
        }
    }

    pub fn room(&self) -> Room {
        if self.writes() { Room::Writing } else { Room::Reading }
    }

    /// When a request that came at a time must be answered.
    pub fn deadline(&self, begun: Instant) -> Option<Instant> {
        self.timeout.and_then(|timeout| begun.checked_add(timeout))
    }

    /// The same, with all results in one response.
    pub fn whole(self) -> Self {
        Self { wanted: Wanted { batch: None, ..self.wanted }, ..self }
    }

    /// Runs a query that reads and looks short, and gives the only response; `None` if it takes longer, or has more results. Then it
    /// must run anew.
    pub fn attempt(&self, asker: &Asker) -> Option<Answer> {
        let Sent::Query(query) = &self.sent else { return None };
        // A trace would show both runs.
        if query.writes() || !query.is_brief() || self.database.is_far() || asker.seen.is_traced() {
            return None;
        }
        let options = QueryOptions { timeout: Some(BRIEF), ..self.options(asker, CancelToken::default()) };
        let mut batches = Batches::kept(self.wanted, asker);
        match self.on_database(query, &options, &mut batches) {
            Ok(()) => batches.into_kept(),
            Err(Stopped::Refused(refused)) if refused.status != Status::Timeout => {
                Some(asker.answer(&refused.reply(asker.id)))
            }
            Err(_) => None,
        }
    }

    /// Runs it, in the transaction of a session if there is one, and sends all responses.
    pub fn answer(&self, held: Option<&mut Option<Held>>, cancel: CancelToken, asker: Asker) {
        let answered = catch_unwind(AssertUnwindSafe(|| self.run(held, cancel, &asker)));
        match answered.unwrap_or_else(|_| Err(Refused::new(Status::ServerError, BUG).into())) {
            Ok(()) | Err(Stopped::Gone) => {}
            Err(Stopped::Long) => {
                asker.refuse_soon(Refused::late("the results were not taken until the time of the query was over"))
            }
            Err(Stopped::Refused(refused)) => asker.refuse_soon(refused),
        }
    }

    fn run(&self, held: Option<&mut Option<Held>>, cancel: CancelToken, asker: &Asker) -> Result<(), Stopped> {
        let options = || self.options(asker, cancel.clone());
        let mut batches = Batches::sent(self.wanted, asker);
        match (&self.sent, held) {
            (Sent::Query(query), None) => self.on_database(query, &options(), &mut batches),
            (Sent::Query(query), Some(held)) => self.in_session(held, query, &options(), &mut batches),
            (Sent::Script(script), held) => self.script(&script.queries, held, options, &mut batches),
            (end, Some(held)) => {
                finish(held.take(), end)?;
                Ok(asker.send(&asker.reply(Status::NoContent))?)
            }
            (_, None) => {
                Err(Refused::new(Status::InvalidArguments, "only a session has a transaction that can be ended").into())
            }
        }
    }

    fn options(&self, asker: &Asker, cancel: CancelToken) -> QueryOptions {
        let left = asker.deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
        // An error says the whole time, unless the query has waited for a good part of it.
        let timeout = match (left, self.timeout) {
            (Some(left), Some(whole)) if whole - left.min(whole) > whole / 100 => Some(left),
            (_, whole) => whole,
        };
        let (memory_bytes_max, on_profile) = (self.memory_bytes_max, asker.seen.on_profile());
        QueryOptions { timeout, cancel, memory_bytes_max, on_profile, ..QueryOptions::default() }
    }

    fn on_database(&self, query: &Query, options: &QueryOptions, batches: &mut Batches<'_>) -> Result<(), Stopped> {
        let mut results = self.database.query(query.clone(), &self.parameters, options)?;
        while let Some(some) = results.next_described()? {
            batches.add(some)?;
        }
        batches.end(results.warnings())
    }

    /// A session's transaction begins with its first query that writes. Queries before it read the graph as it is.
    fn in_session(
        &self,
        held: &mut Option<Held>,
        query: &Query,
        options: &QueryOptions,
        batches: &mut Batches<'_>,
    ) -> Result<(), Stopped> {
        match held.is_some() || query.writes() {
            true => self.changed(held, query, options)?.send(batches),
            false => self.on_database(query, options, batches),
        }
    }

    /// Runs queries one after the other, and sends the results of the last. The first that writes begins a transaction, which ends
    /// with the script unless a session has it.
    fn script(
        &self,
        queries: &[Query],
        held: Option<&mut Option<Held>>,
        options: impl Fn() -> QueryOptions,
        batches: &mut Batches<'_>,
    ) -> Result<(), Stopped> {
        let Some((last, before)) = queries.split_last() else { return Ok(()) };
        let (is_own, mut own) = (held.is_none(), None);
        let held = held.unwrap_or(&mut own);
        for (at, query) in before.iter().enumerate() {
            self.passed(held, query, &options()).map_err(|stopped| stopped.in_statement(at))?;
        }
        let of_last = |stopped: Stopped| stopped.in_statement(before.len());
        if held.is_none() && !last.writes() {
            return self.on_database(last, &options(), batches).map_err(of_last);
        }
        let done = self.changed(held, last, &options()).map_err(of_last)?;
        if is_own {
            finish(held.take(), &Sent::Commit)?;
        }
        done.send(batches)
    }

    /// Runs a query whose results nobody wants.
    fn passed(&self, held: &mut Option<Held>, query: &Query, options: &QueryOptions) -> Result<(), Stopped> {
        if held.is_some() || query.writes() {
            return self.in_transaction(held, query, options, |_, _| Ok(()));
        }
        let mut results = self.database.query(query.clone(), &self.parameters, options)?;
        while results.next_batch()?.is_some() {}
        Ok(())
    }

    /// Runs a query in a transaction, and reads its results whole.
    fn changed(&self, held: &mut Option<Held>, query: &Query, options: &QueryOptions) -> Result<Done, Stopped> {
        self.in_transaction(held, query, options, |transaction, rows| {
            Ok(Done { results: transaction.results(&rows, options)?, warnings: rows.warnings })
        })
    }

    /// Runs a query in a transaction, which begins if there is none, and does something with its results.
    fn in_transaction<T>(
        &self,
        held: &mut Option<Held>,
        query: &Query,
        options: &QueryOptions,
        take: impl FnOnce(&Transaction, Rows) -> Result<T, QueryError>,
    ) -> Result<T, Stopped> {
        let is_first = held.is_none();
        let held = match held {
            Some(held) => held,
            None => held.insert(Held::begin(&self.source, &self.database, options)?),
        };
        if held.source != self.source {
            let message = format!("the session has a transaction in {}: commit it or roll it back first", held.source);
            return Err(Refused::new(Status::InvalidArguments, message).into());
        }
        let transaction = held.transaction.as_mut().map_err(|why| Refused::new(Status::ServerError, why.clone()))?;
        match transaction.query(query.clone(), &self.parameters, options) {
            Ok(rows) => Ok(take(transaction, rows)?),
            Err(error) => {
                // A transaction without a change would only keep other writers waiting.
                if is_first {
                    held.transaction = Err(FAILED.into());
                }
                Err(error.into())
            }
        }
    }
}

/// What a query in a transaction gave.
struct Done {
    results: Results,
    warnings: Vec<String>,
}

impl Done {
    fn send(&self, batches: &mut Batches<'_>) -> Result<(), Stopped> {
        batches.add(self.results.iter().map(Cow::into_owned))?;
        batches.end(&self.warnings)
    }
}

const BUG: &str = "the server failed while it wrote the response: please report this";

fn finish(held: Option<Held>, end: &Sent) -> Result<(), Refused> {
    let failed = |why: String| Refused::new(Status::ServerError, why);
    match (held.map(|held| held.transaction), end) {
        (Some(Ok(transaction)), Sent::Commit) => transaction.commit().map_err(|error| failed(error.to_string())).map(drop),
        (Some(Err(why)), Sent::Commit) => Err(failed(why)),
        _ => Ok(()),
    }
}

/// The transaction of a session.
pub struct Held {
    /// The traversal source of its database.
    source: String,
    /// Why it was rolled back, if it was. Then only its end can follow.
    pub transaction: Result<Transaction, String>,
    pub since: Instant,
}

const FAILED: &str = "the first write of the transaction failed, so there is none: roll it back, and begin again";

impl Held {
    fn begin(source: &str, database: &Database, options: &QueryOptions) -> Result<Self, Refused> {
        let waiting = database.clone().interruptible(options.cancel.clone());
        let begun = waiting.transaction_for(mangrove::Writer::this_thread(), options.timeout);
        let transaction = begun.map_err(|error| match error {
            StoreError::Graph(error) => Refused::of(&QueryError::from(error)),
            other => Refused::new(Status::Temporary, other.to_string()),
        })?;
        Ok(Self { source: source.to_owned(), transaction: Ok(transaction), since: Instant::now() })
    }
}
