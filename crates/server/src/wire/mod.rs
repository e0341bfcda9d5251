//! What goes over the wire: requests as drivers send them, and responses in the form that they expect.

mod graphbinary;
mod graphson;
mod request;

use std::borrow::Cow;

use mangrove::describe::Described;
use uuid::Uuid;

use crate::status::Status;
pub use graphson::GraphSon;
pub use request::{RefusedRequest, Request, Sent};

/// The form of a request, and of its responses.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Form {
    GraphBinary,
    GraphSon(GraphSon),
}

/// The forms by media type. A media type may have parameters, and `-stringd` forms are not offered.
const MEDIA_TYPES: [(&str, Form); 8] = [
    ("application/vnd.graphbinary-v1.0", Form::GraphBinary),
    ("application/vnd.gremlin-v3.0+json", Form::GraphSon(GraphSon::V3)),
    ("application/vnd.graphson-v3.0", Form::GraphSon(GraphSon::V3)),
    ("application/vnd.gremlin-v2.0+json", Form::GraphSon(GraphSon::V2)),
    ("application/vnd.graphson-v2.0", Form::GraphSon(GraphSon::V2)),
    ("application/json", Form::GraphSon(GraphSon::V3)),
    ("application/*", Form::GraphSon(GraphSon::V3)),
    ("*/*", Form::GraphSon(GraphSon::V3)),
];

impl Form {
    /// The form of a media type such as `application/vnd.graphbinary-v1.0`.
    pub fn of_media_type(text: &str) -> Option<Self> {
        let name = text.split(';').next().unwrap_or_default().trim();
        MEDIA_TYPES.iter().find(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, form)| *form)
    }

    /// The first form of an HTTP header `Accept` that is known.
    pub fn accepted(header: &str) -> Option<Self> {
        header.split(',').find_map(Self::of_media_type)
    }

    pub fn media_type(self) -> &'static str {
        match self {
            Form::GraphBinary => "application/vnd.graphbinary-v1.0",
            Form::GraphSon(GraphSon::V2) => "application/vnd.gremlin-v2.0+json",
            Form::GraphSon(GraphSon::V3) => "application/json",
        }
    }

    /// Reads a request that came in this form.
    pub fn read(self, bytes: &[u8]) -> Result<Request, RefusedRequest> {
        match (self, str::from_utf8(bytes)) {
            (Form::GraphBinary, _) => Request::from_graphbinary(bytes),
            (Form::GraphSon(_), Ok(text)) => Request::from_graphson(text),
            (Form::GraphSon(_), Err(_)) => {
                let error = mangrove_query::QueryError::value("a request in GraphSON is UTF-8");
                Err(RefusedRequest { id: None, error })
            }
        }
    }

    /// Writes a response.
    pub fn write(self, reply: &Reply<'_>) -> Vec<u8> {
        match self {
            Form::GraphBinary => {
                let mut out = Vec::with_capacity(256);
                graphbinary::write_reply(&mut out, reply);
                out
            }
            Form::GraphSon(version) => {
                let mut out = String::with_capacity(256);
                graphson::write_reply(&mut out, version, reply);
                out.into_bytes()
            }
        }
    }
}

/// The frame of a request in a binary WebSocket message: the length of the media type, the media type, the request.
pub fn split_frame(message: &[u8]) -> Option<(Form, &[u8])> {
    let (length, rest) = message.split_first()?;
    let (media_type, request) = rest.split_at_checked(usize::from(*length))?;
    Some((Form::of_media_type(str::from_utf8(media_type).ok()?)?, request))
}

/// Whether a driver is older than 3.8, by its `User-Agent`: `NotAvailable Gremlin-Python.3.7.4 3.11 Linux …`.
pub fn is_older(user_agent: &str) -> bool {
    let version = user_agent.split(' ').find_map(|word| word.strip_prefix("Gremlin-")?.split_once('.'));
    let mut parts = version.map_or("", |(_, version)| version).split('.').map(|part| part.parse::<u32>());
    matches!((parts.next(), parts.next()), (Some(Ok(3)), Some(Ok(..8))))
}

/// A response, or a part of one.
pub struct Reply<'r> {
    pub id: Option<Uuid>,
    pub status: Status,
    pub message: Cow<'r, str>,
    pub attributes: Vec<(&'static str, Attribute)>,
    pub results: Option<&'r [Described]>,
    /// Each result comes as a traverser, as for bytecode.
    pub as_traversers: bool,
    /// Elements come with their properties.
    pub with_properties: bool,
    /// The driver is older than 3.8, and reads times as milliseconds only.
    pub is_older: bool,
}

impl<'r> Reply<'r> {
    pub fn new(id: Option<Uuid>, status: Status) -> Self {
        let (message, attributes) = (Cow::Borrowed(""), Vec::new());
        Self { id, status, message, attributes, results: None, as_traversers: false, with_properties: true, is_older: false }
    }

    pub fn message(self, message: impl Into<Cow<'r, str>>) -> Self {
        Self { message: message.into(), ..self }
    }
}

/// What a response says beside its status.
pub enum Attribute {
    Text(String),
    Texts(Vec<String>),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn older_drivers_say_so() {
        assert!(is_older("NotAvailable Gremlin-Python.3.7.4 3.11.7 Linux.5.10 x86_64"));
        assert!(is_older("app Gremlin-Java.3.6.0 17 Linux"));
        for newer in [
            "NotAvailable Gremlin-Go.3.8.0 go1.26 linux",
            "NotAvailable Gremlin-Java.4.0.0-beta 17",
            "curl/8.0",
            "",
            "Gremlin-",
        ] {
            assert!(!is_older(newer), "{newer}");
        }
    }

    #[test]
    fn forms_have_media_types() {
        assert_eq!(Form::of_media_type("application/vnd.graphbinary-v1.0"), Some(Form::GraphBinary));
        assert_eq!(Form::of_media_type("Application/JSON; charset=utf-8"), Some(Form::GraphSon(GraphSon::V3)));
        assert_eq!(Form::of_media_type("application/vnd.graphbinary-v1.0-stringd"), None);
        assert_eq!(
            Form::accepted("text/html, application/vnd.gremlin-v2.0+json;q=0.9, */*"),
            Some(Form::GraphSon(GraphSon::V2))
        );
        assert_eq!(split_frame(b"\x10application/jsonrest"), Some((Form::GraphSon(GraphSon::V3), &b"rest"[..])));
        for wrong in [&b""[..], b"\x05", b"\x21application/json", b"\x02\xff\xff"] {
            assert_eq!(split_frame(wrong), None);
        }
    }
}
