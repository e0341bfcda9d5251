//! Why a request is not done, as drivers are told.

use std::borrow::Cow;

use mangrove::QueryError;
use uuid::Uuid;

use crate::status::Status;
use crate::wire::{Attribute, Reply};

/// Why a request is not done.
pub struct Refused {
    pub status: Status,
    pub message: Cow<'static, str>,
    pub attributes: Vec<(&'static str, Attribute)>,
}

impl Refused {
    pub fn new(status: Status, message: impl Into<Cow<'static, str>>) -> Self {
        Self { status, message: message.into(), attributes: Vec::new() }
    }

    /// An error of a query.
    pub fn of(error: &QueryError) -> Self {
        let status = Status::of(error);
        // Drivers look for these two.
        let attributes = vec![
            ("exceptions", Attribute::Texts(vec![exception(status).into()])),
            ("stackTrace", Attribute::Text(error.render())),
        ];
        Self { status, message: error.render().into(), attributes }
    }

    pub fn reply(self, id: Option<Uuid>) -> Reply<'static> {
        Reply { attributes: self.attributes, ..Reply::new(id, self.status).message(self.message) }
    }
}

/// What Gremlin Server names the exception of a status.
fn exception(status: Status) -> &'static str {
    match status {
        Status::FailStep => "org.apache.tinkerpop.gremlin.process.traversal.step.sideEffect.FailStep$FailException",
        Status::Timeout => "java.util.concurrent.TimeoutException",
        _ => "java.lang.IllegalStateException",
    }
}
