//! Why a request is not done, as drivers are told.

use std::borrow::Cow;

use mangrove::QueryError;
use uuid::Uuid;

use crate::status::Status;
use crate::wire::{Attribute, RefusedRequest, Reply};

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

    /// The server has too much to do.
    pub fn busy(message: &'static str) -> Self {
        Self::new(Status::TooManyRequests, message)
    }

    /// The time of a request is over.
    pub fn late(message: &'static str) -> Self {
        Self { attributes: exception_of(Status::Timeout, message.into()), ..Self::new(Status::Timeout, message) }
    }

    /// An error of a query.
    pub fn of(error: &QueryError) -> Self {
        let (status, message) = (Status::of(error), error.render());
        Self { status, attributes: exception_of(status, message.clone()), message: message.into() }
    }

    /// The same, of a statement of a script. The first one is 0.
    pub fn in_statement(self, at: usize) -> Self {
        Self { message: format!("statement {} of the script: {}", at + 1, self.message).into(), ..self }
    }

    pub fn reply(self, id: Option<Uuid>) -> Reply<'static> {
        Reply { attributes: self.attributes, ..Reply::new(id, self.status).message(self.message) }
    }
}

/// The attributes of an error that drivers look for.
fn exception_of(status: Status, message: String) -> Vec<(&'static str, Attribute)> {
    let mut attributes = vec![("exceptions", Attribute::Texts(vec![exception(status).into()]))];
    if status == Status::FailStep {
        attributes.push(("failStepMessage", Attribute::Text(message.clone())));
    }
    attributes.push(("stackTrace", Attribute::Text(message)));
    attributes
}

/// What Gremlin Server names the exception of a status.
fn exception(status: Status) -> &'static str {
    match status {
        Status::FailStep => "org.apache.tinkerpop.gremlin.process.traversal.step.sideEffect.FailStep$FailException",
        Status::Timeout => "java.util.concurrent.TimeoutException",
        _ => "java.lang.IllegalStateException",
    }
}

/// Why a request could not be read, with its id if that could.
pub struct Unread {
    pub id: Option<Uuid>,
    pub refused: Refused,
}

impl From<RefusedRequest> for Unread {
    fn from(RefusedRequest { id, error }: RefusedRequest) -> Self {
        Self { id, refused: Refused::new(Status::MalformedRequest, error.render()) }
    }
}

impl From<Refused> for Unread {
    fn from(refused: Refused) -> Self {
        Self { id: None, refused }
    }
}
