//! What a server tells of its work: metrics, a line of a log for each request, and traces.

mod log;
mod metrics;
mod numbers;
mod traces;

use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU16, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use axum::http::HeaderMap;
use mangrove::{Database, OnProfile, SlowQuery};
use serde_json::json;

use log::Log;
pub use log::LogTo;
pub use metrics::{Metrics, Over};
pub use numbers::{Labels, counter, counters, gauge, gauges, times};
pub use traces::{Trace, Traces, place};

/// What becomes of the facts about requests.
pub struct Observer {
    pub metrics: Metrics,
    requests: Option<Log>,
    slow: Option<Log>,
    traces: Option<Traces>,
}

/// The most characters of a query in the log.
const TEXT_MAX: usize = 1000;

impl Observer {
    /// Slow queries go to the log of requests, or else to standard error.
    pub fn new(to: Option<&LogTo>, with_slow: bool, traces: Option<Traces>) -> std::io::Result<Self> {
        let metrics = Metrics::default();
        let requests = to.map(|to| Log::open(to, metrics.lost.clone())).transpose()?;
        let slow = match (&requests, with_slow) {
            (Some(log), true) => Some(log.clone()),
            (None, true) => Some(Log::open(&LogTo::StandardError, metrics.lost.clone())?),
            (_, false) => None,
        };
        Ok(Self { metrics, requests, slow, traces })
    }

    /// Whether requests may be traced.
    pub fn is_tracing(&self) -> bool {
        self.traces.is_some()
    }

    /// A database that tells of queries that take at least so long.
    pub fn watch(self: &Arc<Self>, name: String, database: Database, after: Duration) -> Database {
        let observer = self.clone();
        database.with_slow_log(after, move |query| observer.slow(&name, query))
    }

    fn slow(&self, database: &str, query: &SlowQuery) {
        self.metrics.slow.inc();
        let Some(log) = &self.slow else { return };
        let SlowQuery { text, time, results, is_complete } = query;
        log.write(json!({
            "event": "slow query",
            "database": database,
            "query": shortened(text),
            "seconds": time.as_secs_f64(),
            "results": results,
            "complete": is_complete,
        }));
    }
}

/// A request. It is recorded once it is dropped.
pub struct Seen {
    observer: Arc<Observer>,
    pub from: IpAddr,
    over: Over,
    begun: Instant,
    /// The status of the last response; 0 if there was none.
    status: AtomicU16,
    results: AtomicU64,
    bytes: AtomicU64,
    /// What only the log tells.
    facts: serde_json::Map<String, serde_json::Value>,
    trace: Option<Arc<Trace>>,
}

impl Seen {
    /// A request that came now, with its head if it has one of its own.
    pub fn new(observer: &Arc<Observer>, over: Over, from: IpAddr, head: Option<&HeaderMap>) -> Self {
        Self {
            observer: observer.clone(),
            from,
            over,
            begun: Instant::now(),
            status: AtomicU16::new(0),
            results: AtomicU64::new(0),
            bytes: AtomicU64::new(0),
            facts: serde_json::Map::new(),
            trace: observer.traces.as_ref().and_then(|traces| traces.begin(over, head)),
        }
    }

    /// Notes a fact for the log and the trace. Long texts are shortened.
    pub fn note(&mut self, fact: Fact, text: Option<&str>) {
        let Some(text) = text else { return };
        if self.observer.requests.is_some() {
            self.facts.insert(fact.in_log().to_owned(), shortened(text).into());
        }
        if let Some(trace) = &self.trace {
            trace.note(fact.in_trace(), shortened(text));
        }
    }

    pub fn is_traced(&self) -> bool {
        self.trace.is_some()
    }

    /// What its queries are to tell, if it is traced.
    pub fn on_profile(&self) -> Option<OnProfile> {
        self.trace.as_ref().map(Trace::of_queries)
    }

    /// A response was made, or a part of one.
    pub fn answered(&self, status: u16, results: usize, bytes: usize) {
        self.status.store(status, Ordering::Relaxed);
        self.results.fetch_add(results as u64, Ordering::Relaxed);
        self.bytes.fetch_add(bytes as u64, Ordering::Relaxed);
    }
}

impl Drop for Seen {
    fn drop(&mut self) {
        let (time, status, bytes) = (self.begun.elapsed(), *self.status.get_mut(), *self.bytes.get_mut());
        self.observer.metrics.record(self.over, status, time, bytes);
        if let Some(trace) = &self.trace {
            trace.note("mangrove.status", i64::from(status));
            trace.note("mangrove.response_bytes", bytes as i64);
            if !(200..400).contains(&status) {
                trace.failed();
            }
        }
        if let Some(log) = &self.observer.requests {
            let mut line = json!({
                "event": "request",
                "over": self.over.name(),
                "from": self.from,
                "status": Some(status).filter(|status| *status != 0),
                "seconds": time.as_secs_f64(),
                "bytes": bytes,
            });
            if let Some(fields) = line.as_object_mut() {
                if matches!(self.over, Over::WebSocket | Over::Http) {
                    fields.insert("results".into(), (*self.results.get_mut()).into());
                }
                fields.append(&mut self.facts);
            }
            log.write(line);
        }
    }
}

/// What is told of a request, besides numbers.
#[derive(Clone, Copy)]
pub enum Fact {
    User,
    Database,
    Query,
    Method,
    Path,
    Call,
}

impl Fact {
    fn in_log(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Database => "database",
            Self::Query => "query",
            Self::Method => "method",
            Self::Path => "path",
            Self::Call => "call",
        }
    }

    /// Its name among those that OpenTelemetry knows.
    fn in_trace(self) -> &'static str {
        match self {
            Self::User => "user.name",
            Self::Database => "db.namespace",
            Self::Query => "db.query.text",
            Self::Method => "http.request.method",
            Self::Path => "url.path",
            Self::Call => "rpc.method",
        }
    }
}

fn shortened(text: &str) -> String {
    match text.char_indices().nth(TEXT_MAX) {
        Some((end, _)) => format!("{} …", &text[..end]),
        None => text.to_owned(),
    }
}
