//! Traces of requests, for a collector of OpenTelemetry: the request, each query of it, and what each step of a query took.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use axum::http::HeaderMap;
use mangrove::graph::SpanPlace;
use mangrove::{OnProfile, Profile, StepProfile};
use opentelemetry::propagation::TextMapPropagator;
use opentelemetry::trace::{
    Span, SpanContext, SpanId, SpanKind, Status, TraceContextExt, TraceFlags, TraceId, TraceState, Tracer, TracerProvider,
};
use opentelemetry::{Context, KeyValue, Value};
use opentelemetry_http::HeaderExtractor;
use opentelemetry_otlp::{SpanExporter, WithExportConfig};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::propagation::TraceContextPropagator;
use opentelemetry_sdk::trace::{SdkTracer, SdkTracerProvider, Span as OpenSpan};

use super::Over;

/// Sends traces to a collector, by OTLP over HTTP. Which requests are traced, the usual variables of the environment say
/// (`OTEL_TRACES_SAMPLER`): all, unless they say otherwise.
pub struct Traces {
    provider: SdkTracerProvider,
    tracer: SdkTracer,
}

/// How long the last spans may take to leave when a server stops.
const LEAVING: Duration = Duration::from_secs(5);

impl Traces {
    /// `url` is that of the collector, such as `http://localhost:4318`.
    pub fn to(url: &str) -> Result<Self, String> {
        // Those who chose another one keep it.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let url = format!("{}/v1/traces", url.trim_end_matches('/'));
        let exporter = SpanExporter::builder().with_http().with_endpoint(url).build().map_err(|error| error.to_string())?;
        let is_named = std::env::var_os("OTEL_SERVICE_NAME").is_some();
        let resource = Resource::builder();
        let resource = if is_named { resource } else { resource.with_service_name("mangrove") }.build();
        let provider = SdkTracerProvider::builder().with_batch_exporter(exporter).with_resource(resource).build();
        let tracer = provider.tracer("mangrove");
        Ok(Self { provider, tracer })
    }

    /// A request that came now; `None` if it is not to be traced. Its head may name the trace that it is a part of (`traceparent`).
    pub fn begin(&self, over: Over, head: Option<&HeaderMap>) -> Option<Arc<Trace>> {
        let caller =
            head.map(|head| TraceContextPropagator::new().extract_with_context(&Context::new(), &HeaderExtractor(head)));
        let builder = self.tracer.span_builder(over.name()).with_kind(SpanKind::Server);
        let span = builder.start_with_context(&self.tracer, &caller.unwrap_or_default());
        let within = Context::new().with_remote_span_context(span.span_context().clone());
        let begun = SystemTime::now();
        span.is_recording().then(|| Arc::new(Trace { tracer: self.tracer.clone(), span: Mutex::new(span), within, begun }))
    }

    /// A call of a node that came now, for a span of another process.
    pub fn begin_call(&self, name: &'static str, within: SpanPlace) -> OpenSpan {
        let (trace, span) = (TraceId::from_bytes(within.trace.to_be_bytes()), SpanId::from_bytes(within.span.to_be_bytes()));
        // Whoever does not record its own span does not name it.
        let caller = SpanContext::new(trace, span, TraceFlags::SAMPLED, true, TraceState::default());
        let builder = self.tracer.span_builder(name).with_kind(SpanKind::Server);
        builder.start_with_context(&self.tracer, &Context::new().with_remote_span_context(caller))
    }

    /// Sends what was not sent yet, and no more.
    pub fn end(&self) {
        // Spans that the collector does not take are lost.
        let _ = self.provider.shutdown_with_timeout(LEAVING);
    }
}

impl Drop for Traces {
    fn drop(&mut self) {
        self.end();
    }
}

/// Where a span is, for other processes.
pub fn place(of: &SpanContext) -> SpanPlace {
    SpanPlace { trace: u128::from_be_bytes(of.trace_id().to_bytes()), span: u64::from_be_bytes(of.span_id().to_bytes()) }
}

/// The trace of one request. It ends when it is dropped.
pub struct Trace {
    tracer: SdkTracer,
    span: Mutex<OpenSpan>,
    /// The parent of what the request makes the server do.
    within: Context,
    begun: SystemTime,
}

impl Trace {
    /// Notes a fact about the request.
    pub fn note(&self, name: &'static str, value: impl Into<Value>) {
        self.span().set_attribute(KeyValue::new(name, value));
    }

    /// The request failed.
    pub fn failed(&self) {
        self.span().set_status(Status::error(""));
    }

    /// Adds the queries of the request. What nodes do for them is a part of the request, too.
    pub fn of_queries(self: &Arc<Self>) -> OnProfile {
        let (trace, within) = (self.clone(), place(self.within.span().span_context()));
        OnProfile { told: Arc::new(move |profile| trace.queried(profile)), within: Some(within) }
    }

    /// A query has just ended. Before it, the request waited for others, or ran others.
    fn queried(&self, profile: &Profile) {
        let ended = SystemTime::now();
        let begun = ended.checked_sub(profile.time).unwrap_or(self.begun).max(self.begun);
        let mut query = self.child("query", begun, &self.within);
        query.set_attribute(KeyValue::new("db.response.returned_rows", count(profile.results)));
        let within = Context::new().with_remote_span_context(query.span_context().clone());
        self.steps(&profile.steps, begun, &within);
        query.end_with_timestamp(ended);
    }

    /// Steps run in turns, batch by batch. Here each has its time in one piece, after those before it.
    fn steps(&self, mut steps: &[StepProfile], begun: SystemTime, within: &Context) {
        let mut begin = begun;
        while let Some((step, rest)) = steps.split_first() {
            let inner = rest.iter().position(|next| next.depth <= step.depth).unwrap_or(rest.len());
            let mut span = self.child(name(step), begin, within);
            span.set_attribute(KeyValue::new("mangrove.rows", count(step.rows)));
            span.set_attribute(KeyValue::new("mangrove.traversers", count(step.traversers)));
            span.set_attribute(KeyValue::new("mangrove.threads", count(step.threads as u64)));
            let of_step = Context::new().with_remote_span_context(span.span_context().clone());
            self.steps(&rest[..inner], begin, &of_step);
            begin += step.time;
            span.end_with_timestamp(begin);
            steps = &rest[inner..];
        }
    }

    fn child(&self, name: impl Into<std::borrow::Cow<'static, str>>, begun: SystemTime, within: &Context) -> OpenSpan {
        self.tracer.span_builder(name).with_start_time(begun).start_with_context(&self.tracer, within)
    }

    fn span(&self) -> std::sync::MutexGuard<'_, OpenSpan> {
        // A panic cannot leave it half changed.
        self.span.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The kind of a step. What it compares with may be the value of a parameter, and these are told to nobody.
fn name(step: &StepProfile) -> String {
    step.step.chars().take_while(|c| c.is_alphanumeric()).collect()
}

fn count(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}
