//! Writes GraphSON 2 and 3: values, and responses around them.
//!
//! The two differ in collections. GraphSON 3 says of each whether it is a list, a set or a map; a map is an array of keys and values in
//! turn. GraphSON 2 has JSON's arrays and objects.

use std::fmt::Write;
use std::sync::Arc;

use mangrove::Value;
use mangrove::describe::{
    Branch, Described, EdgeRecord, LonePropertyRecord, PropertyRecord, ValueRecord, VertexPropertyRecord, VertexRecord,
};
use mangrove::graph::record::property_id;
use mangrove::graph::{Direction, Token};

use super::{Attribute, Encoded, Form, Reply, Results, Style};

/// A version of GraphSON.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum GraphSon {
    V2,
    V3,
}

/// Appends a response.
pub fn write_reply(out: &mut String, form: Form, reply: &Reply<'_>) {
    let Form::GraphSon(version) = form else { return };
    let mut out = Writer { out, version, with_properties: true, is_older: false };
    out.raw("{\"requestId\":");
    match reply.id {
        Some(id) => out.string(&id.to_string()),
        None => out.raw("null"),
    }
    out.raw(",\"status\":{\"message\":");
    out.string(&reply.message);
    out.put(format_args!(",\"code\":{},\"attributes\":", reply.status.code()));
    out.map(
        reply.attributes.iter(),
        |out, (key, _)| out.string(key),
        |out, (_, value)| match value {
            Attribute::Text(text) => out.string(text),
            Attribute::Texts(texts) => out.list(texts, |out, text| out.string(text)),
        },
    );
    out.raw("},\"result\":{\"data\":");
    match &reply.results {
        Some(Results { encoded: Encoded::Text(items), .. }) => out.collection_of("g:List", |out| {
            out.raw("[");
            out.raw(items);
            out.raw("]");
        }),
        _ => out.raw("null"),
    }
    out.raw(",\"meta\":");
    out.map([].iter(), |_, (): &()| (), |_, ()| ());
    out.raw("}}");
}

/// Appends a result to those before it.
pub fn write_result(out: &mut String, style: Style, is_first: bool, result: &Described) {
    let Form::GraphSon(version) = style.form else { return };
    let mut out = Writer { out, version, with_properties: style.with_properties, is_older: style.is_older };
    if !is_first {
        out.raw(",");
    }
    match style.as_traversers {
        false => out.described(result),
        true => out.typed("g:Traverser", |out| {
            out.raw("{\"bulk\":{\"@type\":\"g:Int64\",\"@value\":1},\"value\":");
            out.described(result);
            out.raw("}");
        }),
    }
}

struct Writer<'o> {
    out: &'o mut String,
    version: GraphSon,
    /// Elements come with their properties.
    with_properties: bool,
    is_older: bool,
}

impl Writer<'_> {
    fn raw(&mut self, json: &str) {
        self.out.push_str(json);
    }

    fn put(&mut self, json: std::fmt::Arguments<'_>) {
        // Writing to a string never fails.
        let _ = self.out.write_fmt(json);
    }

    fn string(&mut self, text: &str) {
        mangrove::ingest::quote_json(text, self.out);
    }

    fn typed(&mut self, name: &str, body: impl FnOnce(&mut Self)) {
        self.put(format_args!("{{\"@type\":\"{name}\",\"@value\":"));
        body(self);
        self.raw("}");
    }

    fn typed_text(&mut self, name: &str, text: &str) {
        self.typed(name, |out| out.string(text));
    }

    fn items<T>(&mut self, items: impl IntoIterator<Item = T>, mut write: impl FnMut(&mut Self, T)) {
        self.raw("[");
        for (at, item) in items.into_iter().enumerate() {
            if at > 0 {
                self.raw(",");
            }
            write(self, item);
        }
        self.raw("]");
    }

    fn list<T>(&mut self, items: &[T], write: impl FnMut(&mut Self, &T)) {
        self.collection("g:List", items, write);
    }

    fn collection<T>(&mut self, name: &str, items: &[T], write: impl FnMut(&mut Self, &T)) {
        self.collection_of(name, |out| out.items(items, write));
    }

    /// A collection whose array `write` writes.
    fn collection_of(&mut self, name: &str, write: impl FnOnce(&mut Self)) {
        match self.version {
            GraphSon::V2 => write(self),
            GraphSon::V3 => self.typed(name, write),
        }
    }

    /// In GraphSON 2, `key` must write a string.
    fn map<T: Copy>(
        &mut self,
        entries: impl Iterator<Item = T>,
        mut key: impl FnMut(&mut Self, T),
        mut value: impl FnMut(&mut Self, T),
    ) {
        let (open, between, close) = match self.version {
            GraphSon::V2 => ("{", ":", "}"),
            GraphSon::V3 => ("{\"@type\":\"g:Map\",\"@value\":[", ",", "]}"),
        };
        self.raw(open);
        for (at, entry) in entries.enumerate() {
            if at > 0 {
                self.raw(",");
            }
            key(self, entry);
            self.raw(between);
            value(self, entry);
        }
        self.raw(close);
    }

    fn described(&mut self, value: &Described) {
        match value {
            Described::Plain(value) => self.value(value),
            Described::Vertex(vertex) => self.vertex(vertex),
            Described::Edge(edge) => self.edge(edge),
            Described::VertexProperty(property) => {
                let VertexPropertyRecord { ordinal, vertex, key, value, meta, .. } = &**property;
                self.vertex_property(&vertex.id, key, *ordinal, (value, meta));
            }
            Described::Property(property) => {
                let LonePropertyRecord { key, value, .. } = &**property;
                self.property(key, value);
            }
            Described::List(items) => self.list(items, Self::described),
            Described::Set(items) => self.collection("g:Set", items, Self::described),
            Described::Map(entries) => self.entries(entries),
            Described::Entry(entry) => self.entries(std::slice::from_ref(entry)),
            Described::Path { objects, labels } => self.typed("g:Path", |out| {
                out.raw("{\"labels\":");
                out.list(labels, |out, names| out.collection("g:Set", names, |out, name| out.string(name)));
                out.raw(",\"objects\":");
                out.list(objects, Self::described);
                out.raw("}");
            }),
            Described::Tree(branches) => self.branches(branches),
            Described::Subgraph { vertices, edges } => self.typed("tinker:graph", |out| {
                out.raw("{\"vertices\":");
                out.items(vertices, Self::vertex);
                out.raw(",\"edges\":");
                out.items(edges, Self::edge);
                out.raw("}");
            }),
        }
    }

    fn entries(&mut self, entries: &[(Described, Described)]) {
        let key = |out: &mut Self, (key, _): &(Described, Described)| match (out.version, key) {
            (GraphSon::V2, Described::Plain(key)) => out.string(&key_text(key)),
            // An element stands for its id.
            (GraphSon::V2, Described::Vertex(vertex)) => out.string(&vertex.id.to_string()),
            (GraphSon::V2, Described::Edge(edge)) => out.string(&edge.id.to_string()),
            (GraphSon::V2, Described::VertexProperty(of)) => {
                out.string(&property_id(&of.vertex.id, &of.key, of.ordinal));
            }
            (GraphSon::V2, key) => out.string(&mangrove::json::to_string(key)),
            (GraphSon::V3, key) => out.described(key),
        };
        self.map(entries.iter(), key, |out, (_, value)| out.described(value));
    }

    fn branches(&mut self, branches: &[Branch]) {
        self.typed("g:Tree", |out| {
            out.items(branches, |out, Branch { value, below }| {
                out.raw("{\"key\":");
                out.described(value);
                out.raw(",\"value\":");
                out.branches(below);
                out.raw("}");
            });
        });
    }

    fn vertex(&mut self, VertexRecord { id, label, properties, .. }: &VertexRecord) {
        self.typed("g:Vertex", |out| {
            out.head(id, label);
            if out.with_properties && !properties.is_empty() {
                out.raw(",\"properties\":{");
                for (at, PropertyRecord { key, values, .. }) in properties.iter().enumerate() {
                    out.member(at, key);
                    out.items(values, |out, ValueRecord { ordinal, value, meta }| {
                        out.vertex_property(id, key, *ordinal, (value, meta));
                    });
                }
                out.raw("}");
            }
            out.raw("}");
        });
    }

    fn vertex_property(&mut self, vertex: &Value, key: &str, ordinal: u32, (value, meta): (&Value, &[(Arc<str>, Value)])) {
        self.typed("g:VertexProperty", |out| {
            out.raw("{\"id\":");
            out.string(&property_id(vertex, key, ordinal));
            out.raw(",\"value\":");
            out.value(value);
            out.raw(",\"label\":");
            out.string(key);
            if out.with_properties && !meta.is_empty() {
                out.raw(",\"properties\":{");
                for (at, (key, value)) in meta.iter().enumerate() {
                    out.member(at, key);
                    out.value(value);
                }
                out.raw("}");
            }
            out.raw("}");
        });
    }

    fn edge(&mut self, EdgeRecord { id, label, source, target, properties, .. }: &EdgeRecord) {
        self.typed("g:Edge", |out| {
            out.head(id, label);
            for (end, record) in [("in", target), ("out", source)] {
                out.put(format_args!(",\"{end}VLabel\":"));
                out.string(&record.label);
                out.put(format_args!(",\"{end}V\":"));
                out.value(&record.id);
            }
            if out.with_properties && !properties.is_empty() {
                out.raw(",\"properties\":{");
                for (at, (key, value)) in properties.iter().enumerate() {
                    out.member(at, key);
                    out.property(key, value);
                }
                out.raw("}");
            }
            out.raw("}");
        });
    }

    fn property(&mut self, key: &str, value: &Value) {
        self.typed("g:Property", |out| {
            out.raw("{\"key\":");
            out.string(key);
            out.raw(",\"value\":");
            out.value(value);
            out.raw("}");
        });
    }

    fn head(&mut self, id: &Value, label: &Arc<str>) {
        self.raw("{\"id\":");
        self.value(id);
        self.raw(",\"label\":");
        self.string(label);
    }

    fn member(&mut self, at: usize, key: &str) {
        if at > 0 {
            self.raw(",");
        }
        self.string(key);
        self.raw(":");
    }

    fn value(&mut self, value: &Value) {
        match value {
            Value::Bool(flag) => self.put(format_args!("{flag}")),
            Value::Int8(int) => self.number("gx:Byte", int),
            Value::Int16(int) => self.number("gx:Int16", int),
            Value::Int32(int) => self.number("g:Int32", int),
            Value::Int64(int) => self.number("g:Int64", int),
            Value::Float32(float) => self.float("g:Float", f64::from(*float), &float),
            Value::Float64(float) => self.float("g:Double", *float, &float),
            Value::BigInt(int) => self.number("gx:BigInteger", int),
            Value::Decimal(decimal) => self.number("gx:BigDecimal", &decimal.to_plain_string()),
            Value::String(text) => self.string(text),
            // One character for each byte, as TinkerPop writes them.
            Value::Bytes(bytes) => {
                let text: String = bytes.iter().map(|byte| char::from(*byte)).collect();
                self.typed_text("gx:ByteBuffer", &text);
            }
            Value::Uuid(uuid) => self.typed_text("g:UUID", &uuid.to_string()),
            Value::Date(date) => self.value(&Value::DateTime(date.midnight())),
            Value::DateTime(time) if self.is_older => self.number("g:Date", &time.millis()),
            Value::DateTime(time) => self.typed_text("gx:OffsetDateTime", &time.to_string()),
            Value::Duration(duration) => self.typed_text("gx:Duration", &duration.to_string()),
            Value::Vector(floats) => self.list(floats, |out, float| out.float("g:Float", f64::from(*float), float)),
            Value::List(items) => self.list(items, Self::value),
            Value::Set(items) => self.collection("g:Set", items, Self::value),
            Value::Map(map) => {
                let key = |out: &mut Self, (key, _): &(Value, Value)| match out.version {
                    GraphSon::V2 => out.string(&key_text(key)),
                    GraphSon::V3 => out.value(key),
                };
                self.map(map.iter(), key, |out, (_, value)| out.value(value));
            }
            Value::Token(token) => match token {
                Token::Direction(Direction::Out) => self.typed_text("g:Direction", "OUT"),
                Token::Direction(Direction::In) => self.typed_text("g:Direction", "IN"),
                Token::Direction(Direction::Both) => self.typed_text("g:Direction", "BOTH"),
                Token::MergeEnd(_) => self.typed_text("g:Merge", token.name()),
                _ => self.typed_text("g:T", token.name()),
            },
            // Described results hold no others.
            _ => self.raw("null"),
        }
    }

    fn number(&mut self, name: &str, number: &dyn std::fmt::Display) {
        self.typed(name, |out| out.put(format_args!("{number}")));
    }

    /// JSON has neither infinity nor NaN.
    fn float(&mut self, name: &str, value: f64, shown: &dyn std::fmt::Debug) {
        self.typed(name, |out| match value {
            _ if value.is_nan() => out.raw("\"NaN\""),
            f64::INFINITY => out.raw("\"Infinity\""),
            f64::NEG_INFINITY => out.raw("\"-Infinity\""),
            _ => out.put(format_args!("{shown:?}")),
        });
    }
}

fn key_text(key: &Value) -> String {
    match key {
        Value::String(text) => text.to_string(),
        Value::Token(token) => token.name().to_owned(),
        other => other.to_string(),
    }
}
