//! Metrics in the form of Prometheus (OpenMetrics 1.0).

use std::fmt::Write;
use std::time::Duration;

use prometheus_client::encoding::text::{encode_eof, encode_registry};
use prometheus_client::encoding::{EncodeLabelSet, EncodeLabelValue, LabelValueEncoder};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::{Registry, Unit};

/// The way by which a request came.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Over {
    /// The Gremlin protocol over WebSocket.
    WebSocket,
    /// The Gremlin protocol over HTTP.
    Http,
    /// The resources below `/api`.
    Api,
    /// Arrow Flight.
    Flight,
}

impl Over {
    pub fn name(self) -> &'static str {
        match self {
            Self::WebSocket => "websocket",
            Self::Http => "http",
            Self::Api => "api",
            Self::Flight => "flight",
        }
    }
}

impl EncodeLabelValue for Over {
    fn encode(&self, encoder: &mut LabelValueEncoder<'_>) -> std::fmt::Result {
        encoder.write_str(self.name())
    }
}

#[derive(Clone, PartialEq, Eq, Hash, Debug, EncodeLabelSet)]
struct Way {
    over: Over,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug, EncodeLabelSet)]
struct Outcome {
    over: Over,
    /// The status of the response; 0 if the client went before it came.
    status: u16,
}

/// What a server counts.
pub struct Metrics {
    registry: Registry,
    requests: Family<Outcome, Counter>,
    seconds: Family<Way, Histogram>,
    bytes: Family<Way, Counter>,
    pub slow: Counter,
    /// Lines of logs that were not written.
    pub lost: Counter,
}

/// In seconds.
const TIMES: [f64; 17] =
    [50e-6, 1e-4, 25e-5, 5e-4, 1e-3, 25e-4, 5e-3, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0, 30.0];

fn histogram() -> Histogram {
    Histogram::new(TIMES)
}

impl Default for Metrics {
    fn default() -> Self {
        let mut registry = Registry::with_prefix("mangrove");
        let requests = Family::default();
        let seconds = Family::new_with_constructor(histogram as fn() -> Histogram);
        let (bytes, slow, lost) = (Family::default(), Counter::default(), Counter::default());
        registry.register("requests", "Requests that were answered, by the status of the answer", requests.clone());
        let about = "Time from a request to its last response";
        registry.register_with_unit("request_duration", about, Unit::Seconds, seconds.clone());
        registry.register_with_unit("response", "Bytes of responses", Unit::Bytes, bytes.clone());
        registry.register("slow_queries", "Queries that took longer than the server was told to accept", slow.clone());
        registry.register("log_lines_lost", "Lines of the log that could not be written", lost.clone());
        Self { registry, requests, seconds, bytes, slow, lost }
    }
}

impl Metrics {
    pub fn record(&self, over: Over, status: u16, time: Duration, bytes: u64) {
        let way = Way { over };
        self.requests.get_or_create(&Outcome { over, status }).inc();
        self.seconds.get_or_create(&way).observe(time.as_secs_f64());
        self.bytes.get_or_create(&way).inc_by(bytes);
    }

    /// All of them, and those of `present`, which are as they are now.
    pub fn show(&self, present: &Registry) -> Result<String, std::fmt::Error> {
        let mut text = String::new();
        encode_registry(&mut text, &self.registry)?;
        encode_registry(&mut text, present)?;
        encode_eof(&mut text)?;
        Ok(text)
    }
}
