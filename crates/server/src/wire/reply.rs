//! Responses, and the results in them.

use std::borrow::Cow;

use uuid::Uuid;

use super::Form;
use crate::status::Status;

/// What a driver expects of results.
#[derive(Clone, Copy, Debug)]
pub struct Style {
    pub form: Form,
    /// The driver is older than 3.8, and reads times as milliseconds only.
    pub is_older: bool,
    /// Each result comes as a traverser, as for bytecode.
    pub as_traversers: bool,
    /// Elements come with their properties.
    pub with_properties: bool,
}

/// Bytes in a form. GraphSON is text.
#[derive(Debug)]
pub enum Encoded {
    Bytes(Vec<u8>),
    Text(String),
}

impl Encoded {
    /// Room for something in a form.
    pub(super) fn new(form: Form, capacity: usize) -> Self {
        match form {
            Form::GraphBinary | Form::GraphBinary4 => Self::Bytes(Vec::with_capacity(capacity)),
            Form::GraphSon(_) => Self::Text(String::with_capacity(capacity)),
        }
    }

    /// The number of bytes.
    pub fn size(&self) -> usize {
        match self {
            Self::Bytes(bytes) => bytes.len(),
            Self::Text(text) => text.len(),
        }
    }

    pub fn into_bytes(self) -> Vec<u8> {
        match self {
            Self::Bytes(bytes) => bytes,
            Self::Text(text) => text.into_bytes(),
        }
    }
}

/// Results that go together, already in the form of the response.
pub struct Results {
    pub(super) style: Style,
    pub(super) count: usize,
    pub(super) encoded: Encoded,
}

impl Results {
    pub fn new(style: Style) -> Self {
        Self { style, count: 0, encoded: Encoded::new(style.form, 0) }
    }

    /// The number of results.
    pub fn count(&self) -> usize {
        self.count
    }

    /// The bytes that they take.
    pub fn bytes(&self) -> usize {
        self.encoded.size()
    }
}

/// A response, or a part of one.
pub struct Reply<'r> {
    pub id: Option<Uuid>,
    pub status: Status,
    pub message: Cow<'r, str>,
    pub attributes: Vec<(&'static str, Attribute)>,
    pub results: Option<Results>,
}

/// What a response says beside its status.
pub enum Attribute {
    Text(String),
    Texts(Vec<String>),
}

impl<'r> Reply<'r> {
    pub fn new(id: Option<Uuid>, status: Status) -> Self {
        Self { id, status, message: Cow::Borrowed(""), attributes: Vec::new(), results: None }
    }

    pub fn message(self, message: impl Into<Cow<'r, str>>) -> Self {
        Self { message: message.into(), ..self }
    }
}
