//! Where a node tells of calls that are parts of traces.

use mangrove_graph::SpanPlace;

use crate::wire::CallKind;

/// Takes the calls that are parts of traces.
pub trait Tracer: Send + Sync {
    /// A call begins, for a span of another process; `None` if nobody collects it.
    fn begin(&self, call: CallKind, within: SpanPlace) -> Option<Box<dyn CallSpan>>;
}

/// A call that runs. It ends when this is dropped.
pub trait CallSpan: Send {
    /// The span of the call, for what it asks of others.
    fn place(&self) -> SpanPlace;

    fn has_failed(&mut self);
}
