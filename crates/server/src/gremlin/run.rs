//! Runs what a request asks for, and sends the results in batches.

use std::borrow::Cow;
use std::time::Duration;

use mangrove::describe::Described;
use mangrove::{CancelToken, Database, Parameters, QueryError, QueryOptions, Transaction};
use mangrove_query::Query;

use super::Gremlin;
use super::asker::{Asker, Gone};
use super::refused::Refused;
use crate::status::Status;
use crate::wire::{Attribute, Sent};

/// A query, or the end of a transaction, with what the request says of it.
pub struct Run {
    pub sent: Sent,
    pub source: Option<String>,
    pub parameters: Parameters,
    pub timeout: Option<Duration>,
    /// Results that are sent together; `None` for all of them.
    pub batch: Option<usize>,
    pub as_traversers: bool,
    pub with_properties: bool,
    /// Each request of the session is a transaction of its own.
    pub is_managed: bool,
}

impl Run {
    pub fn writes(&self) -> bool {
        matches!(&self.sent, Sent::Query(query) if query.writes())
    }

    /// The same, with all results in one response.
    pub fn whole(self) -> Self {
        Self { batch: None, ..self }
    }

    /// Runs it, in the transaction of a session if there is one, and sends all responses.
    pub fn answer(&self, gremlin: &Gremlin, held: Option<&mut Option<Held>>, cancel: CancelToken, asker: &Asker) {
        let Some((source, database)) = gremlin.database(self.source.as_deref()) else {
            let source = self.source.as_deref().unwrap_or_default();
            let message = format!("there is no traversal source named {source:?}: this server has {}", gremlin.sources());
            return asker.refuse(Refused::new(Status::InvalidArguments, message));
        };
        let timeout = match (self.timeout, gremlin.limits.timeout) {
            (Some(asked), Some(most)) => Some(asked.min(most)),
            (asked, most) => asked.or(most),
        };
        let memory_bytes_max = gremlin.limits.memory_bytes_max;
        let options = QueryOptions { timeout, cancel, memory_bytes_max, ..QueryOptions::default() };
        let outcome = match (&self.sent, held) {
            (Sent::Query(query), None) => self.on_database(database, query, &options, asker),
            (Sent::Query(query), Some(held)) => self.in_session((source, database), held, query, &options, asker),
            (end, Some(held)) => self.end(held.take(), end, asker),
            (_, None) => {
                Err(Refused::new(Status::InvalidArguments, "only a session has a transaction that can be ended").into())
            }
        };
        if let Err(Stopped::Refused(refused)) = outcome {
            asker.refuse(refused);
        }
    }

    fn on_database(&self, database: &Database, query: &Query, options: &QueryOptions, asker: &Asker) -> Result<(), Stopped> {
        let mut results = database.query(query.clone(), &self.parameters, options)?;
        let mut batches = Batches { run: self, asker, held: Vec::new(), sent: false };
        match self.batch {
            // All together they take no more memory than the query may use.
            None => batches.add(results.results()?.iter().map(Cow::into_owned))?,
            Some(_) => {
                while let Some(some) = results.next_described()? {
                    batches.add(some)?;
                }
            }
        }
        batches.end(results.warnings())
    }

    /// A session's transaction begins with its first query that writes. Queries before it read the graph as it is.
    fn in_session(
        &self,
        (source, database): (&str, &Database),
        held: &mut Option<Held>,
        query: &Query,
        options: &QueryOptions,
        asker: &Asker,
    ) -> Result<(), Stopped> {
        if held.is_none() && !query.writes() {
            return self.on_database(database, query, options, asker);
        }
        let is_first = held.is_none();
        let held = match held {
            Some(held) => held,
            None => held.insert(Held { source: source.to_owned(), transaction: Ok(begin(database, options)?) }),
        };
        if held.source != source {
            let message = format!("the session has a transaction in {}: commit it or roll it back first", held.source);
            return Err(Refused::new(Status::InvalidArguments, message).into());
        }
        let transaction = held.transaction.as_mut().map_err(|why| Refused::new(Status::ServerError, why.clone()))?;
        let rows = match transaction.query(query.clone(), &self.parameters, options) {
            Ok(rows) => rows,
            Err(error) => {
                // A transaction without a change would only keep other writers waiting.
                if is_first {
                    held.transaction = Err(FAILED.into());
                }
                return Err(error.into());
            }
        };
        let results = transaction.results(&rows, options)?;
        let mut batches = Batches { run: self, asker, held: Vec::new(), sent: false };
        batches.add(results.iter().map(Cow::into_owned))?;
        batches.end(&rows.warnings)
    }

    fn end(&self, held: Option<Held>, end: &Sent, asker: &Asker) -> Result<(), Stopped> {
        match (held.map(|held| held.transaction), end) {
            (Some(Ok(transaction)), Sent::Commit) => {
                let failed = |error: mangrove::StoreError| Refused::new(Status::ServerError, error.to_string());
                transaction.commit().map_err(failed)?;
            }
            (Some(Err(why)), Sent::Commit) => return Err(Refused::new(Status::ServerError, why).into()),
            _ => {}
        }
        asker.send(&asker.reply(Status::NoContent))?;
        Ok(())
    }
}

/// The transaction of a session.
pub struct Held {
    /// The traversal source of its database.
    source: String,
    /// Why it was rolled back, if it was. Then only its end can follow.
    pub transaction: Result<Transaction, String>,
}

const FAILED: &str = "the first write of the transaction failed, so there is none: roll it back, and begin again";

fn begin(database: &Database, options: &QueryOptions) -> Result<Transaction, Stopped> {
    let waiting = database.clone().interruptible(options.cancel.clone());
    let begun = waiting.transaction_for(mangrove::Writer::this_thread(), options.timeout);
    Ok(begun.map_err(|error| Refused::new(Status::Temporary, error.to_string()))?)
}

/// Why there are no more responses.
enum Stopped {
    Refused(Refused),
    Gone,
}

impl From<Refused> for Stopped {
    fn from(refused: Refused) -> Self {
        Self::Refused(refused)
    }
}

impl From<QueryError> for Stopped {
    fn from(error: QueryError) -> Self {
        Self::Refused(Refused::of(&error))
    }
}

impl From<Gone> for Stopped {
    fn from(_: Gone) -> Self {
        Self::Gone
    }
}

/// Results on their way into batches.
struct Batches<'r> {
    run: &'r Run,
    asker: &'r Asker,
    held: Vec<Described>,
    /// Some were sent.
    sent: bool,
}

impl Batches<'_> {
    /// Adds results. Sends full batches, but keeps the last one, which ends the response.
    fn add(&mut self, results: impl IntoIterator<Item = Described>) -> Result<(), Gone> {
        for result in results {
            if Some(self.held.len()) == self.run.batch {
                self.send(Status::PartialContent, &[])?;
            }
            self.held.push(result);
        }
        Ok(())
    }

    fn end(mut self, warnings: &[String]) -> Result<(), Stopped> {
        // HTTP has one response, which holds a list in any case.
        let is_empty = self.held.is_empty() && !self.sent && self.run.batch.is_some();
        Ok(self.send(if is_empty { Status::NoContent } else { Status::Success }, warnings)?)
    }

    fn send(&mut self, status: Status, warnings: &[String]) -> Result<(), Gone> {
        let mut reply = self.asker.reply(status);
        if status != Status::NoContent {
            reply.results = Some(&self.held);
        }
        if !warnings.is_empty() {
            reply.attributes.push(("warnings", Attribute::Texts(warnings.to_vec())));
        }
        (reply.as_traversers, reply.with_properties) = (self.run.as_traversers, self.run.with_properties);
        self.asker.send(&reply)?;
        self.held.clear();
        self.sent = true;
        Ok(())
    }
}
