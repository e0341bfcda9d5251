//! The errors of a query. They show the query with a caret.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use mangrove_graph::GraphError;

use crate::diagnostics::{Span, render};

pub type Result<T, E = QueryError> = std::result::Result<T, E>;

/// An error from reading or running a query.
#[derive(Debug)]
pub struct QueryError {
    pub kind: QueryErrorKind,
    /// What happened.
    pub message: String,
    /// Where in the query text.
    pub span: Option<Span>,
    /// What to do about it.
    pub help: Option<String>,
    /// The text of the query, once known.
    pub text: Option<Arc<str>>,
    pub source: Option<Box<GraphError>>,
    /// The error of the procedure that failed.
    pub cause: Option<Box<dyn std::error::Error + Send + Sync>>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum QueryErrorKind {
    /// The text is not Gremlin.
    Syntax,
    /// There is no step of that name, or it does not take these arguments.
    Step,
    /// Gremlin has this step; this engine does not.
    Unsupported,
    /// A parameter is missing or of the wrong kind.
    Parameter,
    /// A step cannot work with this value.
    Value,
    /// A procedure failed.
    Procedure,
    /// `fail()` in the traversal.
    Fail,
    /// A strategy forbids this traversal.
    Verification,
    Timeout,
    Cancelled,
    Memory,
    /// The store refused a read or a write.
    Graph,
}

impl QueryError {
    pub fn new(kind: QueryErrorKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), span: None, help: None, text: None, source: None, cause: None }
    }

    pub fn value(message: impl Into<String>) -> Self {
        Self::new(QueryErrorKind::Value, message)
    }

    pub fn step(message: impl Into<String>) -> Self {
        Self::new(QueryErrorKind::Step, message)
    }

    pub(crate) fn cancelled() -> Self {
        Self::new(QueryErrorKind::Cancelled, "the query was cancelled")
    }

    pub(crate) fn late(timeout: Option<Duration>) -> Self {
        let of = timeout.map(|timeout| format!(" of {timeout:?}")).unwrap_or_default();
        Self::new(QueryErrorKind::Timeout, format!("the query ran longer than its timeout{of}"))
            .help("narrow it with limit() or an index, or give it a longer timeout")
    }

    pub(crate) fn over_budget(bytes_max: usize) -> Self {
        let what = format!("the query holds more than its memory budget of {} MB", bytes_max >> 20);
        Self::new(QueryErrorKind::Memory, what).help("filter or limit earlier, or give the query more memory")
    }

    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    /// Sets the span, unless a deeper call has already set it.
    pub fn at(mut self, span: Span) -> Self {
        self.span.get_or_insert(span);
        self
    }

    pub fn in_text(mut self, text: &Arc<str>) -> Self {
        self.text.get_or_insert_with(|| text.clone());
        self
    }

    /// The error for people: the query with a caret, what happened, what to do.
    pub fn render(&self) -> String {
        match (&self.text, self.span) {
            (Some(text), Some(span)) if span.end > span.start => render(text, span, &self.message, self.help.as_deref()),
            _ => match &self.help {
                Some(help) => format!("{}\nhelp: {help}", self.message),
                None => self.message.clone(),
            },
        }
    }
}

impl fmt::Display for QueryError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for QueryError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match &self.cause {
            Some(cause) => Some(&**cause),
            None => self.source.as_deref().map(|e| e as _),
        }
    }
}

impl From<GraphError> for QueryError {
    fn from(error: GraphError) -> Self {
        match error {
            GraphError::Stopped => return Self::cancelled(),
            GraphError::Late(timeout) => return Self::late(timeout),
            GraphError::OverBudget { bytes_max } => return Self::over_budget(bytes_max),
            _ => {}
        }
        let of_date = matches!(&error, GraphError::TypeMismatch { declared, found, .. }
            if found == "string" && (declared == "date" || declared == "datetime"));
        let help = of_date.then(|| "write a date or a date-time as datetime('2024-05-31')".into());
        Self { source: Some(Box::new(error)), help, ..Self::new(QueryErrorKind::Graph, String::new()) }.with_source_message()
    }
}

impl QueryError {
    fn with_source_message(mut self) -> Self {
        if let Some(source) = &self.source {
            self.message = source.to_string();
        }
        self
    }
}
