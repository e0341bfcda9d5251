//! Traces of the calls of a node: each is a part of the trace of a request elsewhere.

use mangrove::cluster::{CallKind, CallSpan, Tracer};
use mangrove::graph::SpanPlace;
use opentelemetry::KeyValue;
use opentelemetry::trace::{Span, Status};
use opentelemetry_sdk::trace::Span as OpenSpan;

use crate::error::ServerError;
use crate::observe::{Traces, place};

/// Sends the calls of a node that are parts of traces to a collector of OpenTelemetry.
pub struct NodeTraces {
    traces: Traces,
    node: String,
}

impl NodeTraces {
    /// `url` is that of the collector, which takes OTLP over HTTP. `node` is the name of the node.
    ///
    /// # Errors
    /// If the URL is none.
    pub fn to(url: String, node: String) -> Result<Self, ServerError> {
        match Traces::to(&url) {
            Ok(traces) => Ok(Self { traces, node }),
            Err(error) => Err(ServerError::Traces { url, error }),
        }
    }

    /// Sends what was not sent yet, and no more.
    pub fn end(&self) {
        self.traces.end();
    }
}

impl Tracer for NodeTraces {
    fn begin(&self, call: CallKind, within: SpanPlace) -> Option<Box<dyn CallSpan>> {
        let mut span = self.traces.begin_call(call.name(), within);
        if !span.is_recording() {
            return None;
        }
        span.set_attribute(KeyValue::new("mangrove.node", self.node.clone()));
        Some(Box::new(Called(span)))
    }
}

/// A call. Its span ends when it is dropped.
struct Called(OpenSpan);

impl CallSpan for Called {
    fn place(&self) -> SpanPlace {
        place(self.0.span_context())
    }

    fn has_failed(&mut self) {
        self.0.set_status(Status::error(""));
    }
}
