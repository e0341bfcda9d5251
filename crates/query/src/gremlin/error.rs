//! Errors from reading a query.

use thiserror::Error;

use crate::diagnostics::{Span, one_of, render};
use crate::error::{QueryError, QueryErrorKind};

/// The text is not Gremlin.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[error("{message}")]
pub struct SyntaxError {
    /// What is wrong.
    pub message: String,
    /// The place; empty for bytecode, whose messages name the step and argument.
    pub span: Span,
    /// What could stand there instead.
    pub expected: Vec<String>,
    /// What to do about it.
    pub help: Option<String>,
}

impl SyntaxError {
    pub fn new(message: impl Into<String>, span: Span) -> Self {
        Self { message: message.into(), span, expected: Vec::new(), help: None }
    }

    pub fn with_help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    /// The error for people.
    pub fn render(&self, text: &str) -> String {
        let expected = (!self.expected.is_empty()).then(|| format!("expected {}", one_of(&self.expected)));
        let notes: Vec<&str> = expected.as_deref().into_iter().chain(self.help.as_deref()).collect();
        let notes = notes.join("\n");
        render(text, self.span, &self.message, (!notes.is_empty()).then_some(&notes))
    }
}

impl From<SyntaxError> for QueryError {
    fn from(error: SyntaxError) -> Self {
        let mut message = error.message;
        if !error.expected.is_empty() {
            message = format!("{message}; expected {}", error.expected.join(" or "));
        }
        Self { span: Some(error.span), help: error.help, ..Self::new(QueryErrorKind::Syntax, message) }
    }
}
