//! Reports queries that take long.

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// A query that took long.
#[derive(Clone, Debug)]
pub struct SlowQuery {
    /// As written. Parameters are not reported, because they may be secret.
    pub text: Arc<str>,
    /// How long the engine worked for it, or waited for another writer. The time between two calls for results does not count.
    pub time: Duration,
    /// The results it gave.
    pub results: u64,
    /// False if it failed, or if nobody took its last result.
    pub is_complete: bool,
}

/// Whom to tell of slow queries, and from when on a query is slow.
pub(crate) struct SlowLog {
    pub after: Duration,
    pub tell: Box<dyn Fn(&SlowQuery) + Send + Sync>,
}

/// Measures one query, and reports it once it is dropped.
pub(crate) struct Watch {
    log: Arc<SlowLog>,
    query: SlowQuery,
    /// When the engine began its present work. `None` while it waits for the reader of a stream.
    working_since: Option<Instant>,
}

impl Watch {
    /// The engine begins to work for the query.
    pub fn new(log: &Option<Arc<SlowLog>>, text: &Arc<str>) -> Option<Self> {
        let query = SlowQuery { text: text.clone(), time: Duration::ZERO, results: 0, is_complete: false };
        log.as_ref().map(|log| Self { log: log.clone(), query, working_since: Some(Instant::now()) })
    }

    /// The engine goes on.
    pub fn resume(&mut self) {
        self.working_since = Some(Instant::now());
    }

    /// The engine has given what was asked for.
    pub fn pause(&mut self) {
        self.query.time += self.working_since.take().map_or(Duration::ZERO, |since| since.elapsed());
    }

    pub fn gave(&mut self, results: usize) {
        self.query.results += results as u64;
    }

    pub fn completed(&mut self) {
        self.query.is_complete = true;
    }

    pub fn all_given(&mut self, results: u64) {
        self.query.results += results;
        self.completed();
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.pause();
        if self.query.time >= self.log.after {
            (self.log.tell)(&self.query);
        }
    }
}

impl fmt::Display for SlowQuery {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const TEXT_MAX: usize = 2000;
        let Self { text, time, results, is_complete } = self;
        let count = if *results == 1 { "1 result".to_owned() } else { format!("{results} results") };
        let incomplete = if *is_complete { "" } else { ", not completed" };
        let shown: String = text.chars().take(TEXT_MAX).collect();
        let rest = if shown.len() < text.len() { " …" } else { "" };
        write!(f, "slow query: {:.3} s, {count}{incomplete}: {shown}{rest}", time.as_secs_f64())
    }
}
