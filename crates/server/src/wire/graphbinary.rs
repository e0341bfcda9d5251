//! Writes GraphBinary 1 and 4: values, and responses around them.
//!
//! ```text
//! response = 0x81 id status:int message attributes meta result                      GraphBinary 1
//!          | 0x84 bulk:0|1 { value bulk? }* 0xfd 0x00 0x00 status:int message message     GraphBinary 4
//! id       = 0x00 uuid | 0x01                message = 0x00 string | 0x01
//! value    = type 0x00 body | 0xfe 0x01      attributes, meta = count { value value }*
//! ```
//!
//! In GraphBinary 4, an element has a list of labels, and the last message names an exception.
//!
//! Clients other than Java's read neither dates without a time nor lists of floats. So a date is written as the beginning of its day in
//! UTC, and a vector as a list.

use std::sync::Arc;

use jiff::civil;
use jiff::tz::Offset;
use mangrove::Value;
use mangrove::describe::{
    Branch, Described, EdgeRecord, LonePropertyRecord, PropertyRecord, ValueRecord, VertexPropertyRecord, VertexRecord,
};
use mangrove::graph::record::property_id;
use mangrove::graph::{DateTime, Direction, Token};
use uuid::Uuid;

use super::{Attribute, Encoded, Form, Reply, Results, Style};

const VERSION: u8 = 0x81;
const VERSION_4: u8 = 0x84;
/// A marker.
const END_OF_RESULTS: [u8; 3] = [0xfd, 0x00, 0x00];
const NULL: [u8; 2] = [0xfe, 0x01];
const IS_NULL: u8 = 0x01;
const LIST: u8 = 0x09;
const TRAVERSER: u8 = 0x21;

/// Appends a response.
pub fn write_reply(out: &mut Vec<u8>, reply: &Reply<'_>) {
    let mut out = Writer::new(out);
    out.byte(VERSION);
    match reply.id {
        Some(id) => {
            out.byte(0);
            out.bytes(id.as_bytes());
        }
        None => out.byte(IS_NULL),
    }
    out.int(i32::from(reply.status.code()));
    out.byte(0);
    out.text(&reply.message);
    out.count(reply.attributes.len());
    for (key, values) in &reply.attributes {
        out.string(key);
        match values {
            Attribute::Text(text) => out.string(text),
            Attribute::Texts(texts) => out.list(texts, |out, text| out.string(text)),
        }
    }
    out.count(0);
    match &reply.results {
        Some(Results { count, encoded: Encoded::Bytes(bytes), .. }) => {
            out.kind(LIST);
            out.count(*count);
            out.bytes(bytes);
        }
        _ => out.null(),
    }
}

/// Appends a response in GraphBinary 4.
pub fn write_reply_4(out: &mut Vec<u8>, reply: &Reply<'_>) {
    let mut out = Writer::new(out);
    let results = match &reply.results {
        Some(Results { style, encoded: Encoded::Bytes(bytes), .. }) => Some((style.as_traversers, bytes)),
        _ => None,
    };
    out.bytes(&[VERSION_4, u8::from(results.is_some_and(|(is_bulked, _)| is_bulked))]);
    if let Some((_, bytes)) = results {
        out.bytes(bytes);
    }
    out.bytes(&END_OF_RESULTS);
    out.int(i32::from(reply.status.http()));
    for message in [&*reply.message, reply.status.exception()] {
        match message {
            "" => out.byte(IS_NULL),
            message => {
                out.byte(0);
                out.text(message);
            }
        }
    }
}

/// Appends a request. `bytecode` is that of its query, unless this is a text among the arguments.
pub fn write_request(
    out: &mut Vec<u8>,
    id: Uuid,
    op: &str,
    processor: &str,
    args: &[(&str, Value)],
    bytecode: Option<&[u8]>,
) {
    let mut out = Writer::new(out);
    out.byte(VERSION);
    out.bytes(id.as_bytes());
    out.text(op);
    out.text(processor);
    out.count(args.len() + usize::from(bytecode.is_some()));
    for (name, value) in args {
        out.string(name);
        out.value(value);
    }
    if let Some(bytecode) = bytecode {
        out.string("gremlin");
        out.bytes(bytecode);
    }
}

/// Appends a result.
pub fn write_result(out: &mut Vec<u8>, style: Style, result: &Described) {
    let is_4 = style.form == Form::GraphBinary4;
    let mut out = Writer { out, with_properties: style.with_properties, is_older: style.is_older, is_4 };
    if style.as_traversers && !is_4 {
        out.kind(TRAVERSER);
        out.long(1);
    }
    out.described(result);
    if style.as_traversers && is_4 {
        out.value(&Value::Int64(1));
    }
}

pub(super) struct Writer<'o> {
    out: &'o mut Vec<u8>,
    /// Elements come with their properties.
    with_properties: bool,
    is_older: bool,
    /// GraphBinary 4, not 1.
    is_4: bool,
}

impl<'o> Writer<'o> {
    pub fn new(out: &'o mut Vec<u8>) -> Self {
        Self { out, with_properties: true, is_older: false, is_4: false }
    }

    fn byte(&mut self, byte: u8) {
        self.out.push(byte);
    }

    fn bytes(&mut self, bytes: &[u8]) {
        self.out.extend_from_slice(bytes);
    }

    fn int(&mut self, int: i32) {
        self.bytes(&int.to_be_bytes());
    }

    fn long(&mut self, long: i64) {
        self.bytes(&long.to_be_bytes());
    }

    pub fn count(&mut self, count: usize) {
        // A batch of results is far smaller.
        self.int(i32::try_from(count).unwrap_or(i32::MAX));
    }

    /// The type of a value that is there.
    pub fn kind(&mut self, code: u8) {
        self.bytes(&[code, 0]);
    }

    fn null(&mut self) {
        self.bytes(&NULL);
    }

    /// A string without its type.
    pub fn text(&mut self, text: &str) {
        self.count(text.len());
        self.bytes(text.as_bytes());
    }

    pub fn string(&mut self, text: &str) {
        self.kind(0x03);
        self.text(text);
    }

    /// The label of an element, or the key of a property of a vertex. GraphBinary 4 has a list of them.
    fn label(&mut self, label: &str, further: &[Arc<str>]) {
        if !self.is_4 {
            return self.text(label);
        }
        self.count(1 + further.len());
        self.string(label);
        further.iter().for_each(|label| self.string(label));
    }

    fn collection<T>(&mut self, code: u8, items: &[T], mut write: impl FnMut(&mut Self, &T)) {
        self.kind(code);
        self.count(items.len());
        items.iter().for_each(|item| write(self, item));
    }

    fn list<T>(&mut self, items: &[T], write: impl FnMut(&mut Self, &T)) {
        self.collection(LIST, items, write);
    }

    fn described(&mut self, value: &Described) {
        match value {
            Described::Plain(value) => self.value(value),
            Described::Vertex(vertex) => self.vertex(vertex),
            Described::Edge(edge) => self.edge(edge),
            Described::VertexProperty(property) => self.vertex_property(property),
            Described::Property(property) => {
                let LonePropertyRecord { key, value, .. } = &**property;
                self.property(key, value);
            }
            Described::List(items) => self.list(items, Self::described),
            Described::Set(items) => self.collection(0x0b, items, Self::described),
            Described::Map(entries) => self.entries(entries),
            Described::Entry(entry) => self.entries(std::slice::from_ref(entry)),
            Described::Path { objects, labels } => {
                self.kind(0x0e);
                self.list(labels, |out, names| out.collection(0x0b, names, |out, name| out.string(name)));
                self.list(objects, Self::described);
            }
            Described::Tree(branches) => {
                self.kind(0x2b);
                self.branches(branches);
            }
            Described::Subgraph { vertices, edges } => self.subgraph(vertices, edges),
        }
    }

    fn entries(&mut self, entries: &[(Described, Described)]) {
        self.collection(0x0a, entries, |out, (key, value)| {
            out.described(key);
            out.described(value);
        });
    }

    fn branches(&mut self, branches: &[Branch]) {
        self.count(branches.len());
        for Branch { value, below } in branches {
            self.described(value);
            self.branches(below);
        }
    }

    fn vertex(&mut self, VertexRecord { id, label, further_labels, properties, .. }: &VertexRecord) {
        self.kind(0x11);
        self.value(id);
        self.label(label, further_labels);
        match self.with_properties {
            false => self.null(),
            true => {
                self.kind(LIST);
                self.count(properties.iter().map(|property| property.values.len()).sum());
                self.vertex_properties(id, properties);
            }
        }
    }

    /// The properties of a vertex, without their count.
    fn vertex_properties(&mut self, vertex: &Value, properties: &[PropertyRecord]) {
        for PropertyRecord { key, values, .. } in properties {
            for ValueRecord { ordinal, value, meta } in values {
                self.kind(0x12);
                self.string(&property_id(vertex, key, *ordinal));
                self.label(key, &[]);
                self.value(value);
                self.null();
                self.properties(meta);
            }
        }
    }

    fn vertex_property(&mut self, record: &VertexPropertyRecord) {
        let VertexPropertyRecord { ordinal, vertex, key, value, meta, .. } = record;
        self.kind(0x12);
        self.string(&property_id(&vertex.id, key, *ordinal));
        self.label(key, &[]);
        self.value(value);
        self.null();
        if self.with_properties { self.properties(meta) } else { self.null() }
    }

    fn properties(&mut self, properties: &[(Arc<str>, Value)]) {
        self.list(properties, |out, (key, value)| out.property(key, value));
    }

    fn property(&mut self, key: &str, value: &Value) {
        self.kind(0x0f);
        self.text(key);
        self.value(value);
        self.null();
    }

    fn edge(&mut self, EdgeRecord { id, label, source, target, properties, .. }: &EdgeRecord) {
        self.kind(0x0d);
        self.value(id);
        self.label(label, &[]);
        for end in [target, source] {
            self.value(&end.id);
            self.label(&end.label, &[]);
        }
        self.null();
        if self.with_properties { self.properties(properties) } else { self.null() }
    }

    /// Vertices and edges, each with its properties, in a form of their own.
    fn subgraph(&mut self, vertices: &[VertexRecord], edges: &[EdgeRecord]) {
        self.kind(0x10);
        self.count(vertices.len());
        for VertexRecord { id, label, further_labels, properties, .. } in vertices {
            self.value(id);
            self.label(label, further_labels);
            self.count(properties.iter().map(|property| property.values.len()).sum());
            for PropertyRecord { key, values, .. } in properties {
                for ValueRecord { ordinal, value, meta } in values {
                    self.string(&property_id(id, key, *ordinal));
                    self.label(key, &[]);
                    self.value(value);
                    self.null();
                    self.bare_properties(meta);
                }
            }
        }
        self.count(edges.len());
        for EdgeRecord { id, label, source, target, properties, .. } in edges {
            self.value(id);
            self.label(label, &[]);
            for end in [target, source] {
                self.value(&end.id);
                self.null();
            }
            self.null();
            self.bare_properties(properties);
        }
    }

    /// A list of properties without its type.
    fn bare_properties(&mut self, properties: &[(Arc<str>, Value)]) {
        self.count(properties.len());
        properties.iter().for_each(|(key, value)| self.property(key, value));
    }

    pub fn value(&mut self, value: &Value) {
        match value {
            Value::Bool(flag) => self.fixed(0x27, &[u8::from(*flag)]),
            Value::Int8(int) => self.fixed(0x24, &int.to_be_bytes()),
            Value::Int16(int) => self.fixed(0x26, &int.to_be_bytes()),
            Value::Int32(int) => self.fixed(0x01, &int.to_be_bytes()),
            Value::Int64(int) => self.fixed(0x02, &int.to_be_bytes()),
            Value::Float32(float) => self.fixed(0x08, &float.to_be_bytes()),
            Value::Float64(float) => self.fixed(0x07, &float.to_be_bytes()),
            Value::BigInt(int) => {
                self.kind(0x23);
                self.digits(&int.to_signed_bytes_be());
            }
            Value::Decimal(decimal) => {
                let (digits, scale) = decimal.as_bigint_and_exponent();
                self.kind(0x22);
                self.int(i32::try_from(scale).unwrap_or(i32::MAX));
                self.digits(&digits.to_signed_bytes_be());
            }
            Value::String(text) => self.string(text),
            Value::Bytes(bytes) => {
                self.kind(0x25);
                self.digits(bytes);
            }
            Value::Uuid(uuid) => self.fixed(0x0c, uuid.as_bytes()),
            Value::Date(date) => self.date_time(&date.midnight()),
            Value::DateTime(time) => self.date_time(time),
            Value::Duration(duration) => {
                self.kind(0x81);
                self.long(duration.seconds);
                self.int(duration.nanos as i32);
            }
            Value::Vector(floats) => self.list(floats, |out, float| out.fixed(0x08, &float.to_be_bytes())),
            Value::List(items) => self.list(items, Self::value),
            Value::Set(items) => self.collection(0x0b, items, Self::value),
            Value::Map(map) => {
                self.kind(0x0a);
                self.count(map.len());
                for (key, value) in map.iter() {
                    self.value(key);
                    self.value(value);
                }
            }
            Value::Token(token) => self.token(*token),
            // Described results hold no others.
            _ => self.null(),
        }
    }

    fn fixed(&mut self, code: u8, bytes: &[u8]) {
        self.kind(code);
        self.bytes(bytes);
    }

    /// Bytes after their count.
    fn digits(&mut self, bytes: &[u8]) {
        self.count(bytes.len());
        self.bytes(bytes);
    }

    fn date_time(&mut self, time: &DateTime) {
        if self.is_older {
            return self.fixed(0x04, &time.millis().to_be_bytes());
        }
        let offset = Offset::from_seconds(time.offset_seconds).unwrap_or(Offset::UTC);
        let Some(local) = time.timestamp().map(|timestamp| offset.to_datetime(timestamp)) else { return self.null() };
        self.kind(if self.is_4 { 0x04 } else { 0x88 });
        self.int(i32::from(local.year()));
        self.bytes(&[local.month() as u8, local.day() as u8]);
        self.long(nanos_of_day(local.time()));
        self.int(offset.seconds());
    }

    fn token(&mut self, token: Token) {
        let (code, name) = match token {
            Token::Direction(Direction::Out) => (0x18, "OUT"),
            Token::Direction(Direction::In) => (0x18, "IN"),
            Token::Direction(Direction::Both) => (0x18, "BOTH"),
            Token::MergeEnd(_) => (0x2e, token.name()),
            _ => (0x20, token.name()),
        };
        self.kind(code);
        self.string(name);
    }
}

fn nanos_of_day(time: civil::Time) -> i64 {
    let seconds = i64::from(time.hour()) * 3600 + i64::from(time.minute()) * 60 + i64::from(time.second());
    seconds * 1_000_000_000 + i64::from(time.subsec_nanosecond())
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use mangrove::graph::{BigInt, Date, Duration, Map, Uuid};

    use super::super::Request;
    use super::*;

    /// A value as the argument of a request, read back.
    fn there_and_back(value: &Value) -> Value {
        let mut bytes = Vec::new();
        write_request(&mut bytes, Uuid::nil(), "eval", "", &[("x", value.clone())], None);
        Request::from_graphbinary(&bytes).unwrap().args.get_str("x").unwrap().clone()
    }

    #[test]
    fn values_come_back() {
        let map: Map = [(Value::Int32(1), Value::list(vec![Value::Null, "ä".into()]))].into_iter().collect();
        let time = DateTime::parse("2024-05-31T10:00:00.000000123+02:00").unwrap();
        for value in [
            Value::Null,
            Value::Bool(true),
            Value::Int8(-1),
            Value::Int16(-2),
            Value::Int32(-3),
            Value::Int64(i64::MIN),
            Value::Float32(1.5),
            Value::Float64(-0.1),
            Value::BigInt(Arc::new(BigInt::from(-129))),
            "text\n".into(),
            Value::Bytes([1, 2, 255][..].into()),
            Value::Uuid(Uuid::from_bytes([7; 16])),
            Value::DateTime(time),
            Value::Duration(Duration { seconds: -5, nanos: 7 }),
            Value::set([Value::Int32(1), Value::Int32(2)]),
            Value::map(map),
        ] {
            assert_eq!(there_and_back(&value), value);
        }
        let decimal = Value::from("-12.50".parse::<mangrove::graph::BigDecimal>().unwrap());
        assert_eq!(there_and_back(&decimal), decimal);
        let date = Date::parse("2024-05-31").unwrap();
        assert_eq!(there_and_back(&Value::Date(date)), Value::DateTime(date.midnight()));
    }
}
