//! What goes over the wire: requests as drivers send them, and responses in the form that they expect.

mod bytecode;
mod graphbinary;
mod graphson;
mod reply;
mod request;

use axum::body::Bytes;
use axum::http::{HeaderMap, header};
use mangrove::describe::Described;

pub use bytecode::bytecode;
pub use graphbinary::write_request;
pub use graphson::GraphSon;
pub use reply::{Attribute, Encoded, Reply, Results, Style};
pub use request::{Control, RefusedRequest, Request, Script, Sent};

/// The form of a request, and of its responses.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Form {
    GraphBinary,
    /// The form of responses to drivers of TinkerPop 4, which send their requests as JSON.
    GraphBinary4,
    GraphSon(GraphSon),
}

/// The forms by media type. A media type may have parameters, and `-stringd` forms are not offered.
const MEDIA_TYPES: [(&str, Form); 9] = [
    ("application/vnd.graphbinary-v4.0", Form::GraphBinary4),
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
    /// The form of a media type such as `application/vnd.graphbinary-v1.0`. Forms without types are not offered.
    pub fn of_media_type(text: &str) -> Option<Self> {
        let (name, parameters) = text.split_once(';').unwrap_or((text, ""));
        let name = name.trim();
        if parameters.split(';').any(|parameter| parameter.trim().eq_ignore_ascii_case("types=false")) {
            return None;
        }
        MEDIA_TYPES.iter().find(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, form)| *form)
    }

    /// The first form of an HTTP header `Accept` that is known.
    pub fn accepted(header: &str) -> Option<Self> {
        header.split(',').find_map(Self::of_media_type)
    }

    pub fn media_type(self) -> &'static str {
        match self {
            Form::GraphBinary => "application/vnd.graphbinary-v1.0",
            Form::GraphBinary4 => "application/vnd.graphbinary-v4.0",
            Form::GraphSon(GraphSon::V2) => "application/vnd.gremlin-v2.0+json",
            Form::GraphSon(GraphSon::V3) => "application/json",
        }
    }

    /// Reads a request that came in this form.
    pub fn read(self, bytes: &[u8]) -> Result<Request, RefusedRequest> {
        let wrong = |why: &str| Err(RefusedRequest { id: None, error: mangrove_query::QueryError::value(why) });
        match (self, str::from_utf8(bytes)) {
            (Form::GraphBinary, _) => Request::from_graphbinary(bytes),
            (Form::GraphBinary4, _) => wrong("requests come in GraphBinary 1 or as JSON, not in GraphBinary 4"),
            (Form::GraphSon(_), Ok(text)) => Request::from_graphson(text),
            (Form::GraphSon(_), Err(_)) => wrong("a request in GraphSON is UTF-8"),
        }
    }
}

impl Form {
    /// Writes a response. Its results are in this form, too.
    pub fn write(self, reply: &Reply<'_>) -> Encoded {
        const AROUND: usize = 256;
        let mut encoded = Encoded::new(self, AROUND + reply.results.as_ref().map_or(0, Results::bytes));
        match &mut encoded {
            Encoded::Bytes(out) if self == Form::GraphBinary4 => graphbinary::write_reply_4(out, reply),
            Encoded::Bytes(out) => graphbinary::write_reply(out, reply),
            Encoded::Text(out) => graphson::write_reply(out, self, reply),
        }
        encoded
    }
}

impl Results {
    pub fn add(&mut self, result: &Described) {
        match &mut self.encoded {
            Encoded::Bytes(out) => graphbinary::write_result(out, self.style, result),
            Encoded::Text(out) => graphson::write_result(out, self.style, self.count == 0, result),
        }
        self.count += 1;
    }
}

/// The frame of a request in a binary WebSocket message: the length of the media type, the media type, the request.
pub fn split_frame(message: &Bytes) -> Option<(Form, Bytes)> {
    let (length, rest) = message.split_first()?;
    let (media_type, request) = rest.split_at_checked(usize::from(*length))?;
    Some((Form::of_media_type(str::from_utf8(media_type).ok()?)?, message.slice_ref(request)))
}

/// Whether a driver is older than 3.8, by its `User-Agent`: `NotAvailable Gremlin-Python.3.7.4 3.11 Linux …`.
pub fn is_older(headers: &HeaderMap) -> bool {
    let agent = headers.get(header::USER_AGENT).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let version = agent.split(' ').find_map(|word| word.strip_prefix("Gremlin-")?.split_once('.'));
    let mut parts = version.map_or("", |(_, version)| version).split('.').map(|part| part.parse::<u32>());
    matches!((parts.next(), parts.next()), (Some(Ok(3)), Some(Ok(..8))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn older_drivers_say_so() {
        let is_older = |agent: &'static str| is_older(&[(header::USER_AGENT, agent.parse().unwrap())].into_iter().collect());
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
        assert_eq!(Form::of_media_type("application/vnd.gremlin-v3.0+json;types=false"), None);
        assert_eq!(
            Form::accepted("text/html, application/vnd.gremlin-v2.0+json;q=0.9, */*"),
            Some(Form::GraphSon(GraphSon::V2))
        );
        let framed = split_frame(&Bytes::from_static(b"\x10application/jsonrest"));
        assert_eq!(framed, Some((Form::GraphSon(GraphSon::V3), Bytes::from_static(b"rest"))));
        for wrong in [&b""[..], b"\x05", b"\x21application/json", b"\x02\xff\xff"] {
            assert_eq!(split_frame(&Bytes::from_static(wrong)), None);
        }
    }
}
