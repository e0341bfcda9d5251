//! A query in one of its written forms.

use std::borrow::Cow;
use std::fmt;

use mangrove_graph::Value;
use mangrove_query::Query;

#[derive(Clone, Debug)]
pub enum Written<'a> {
    /// Gremlin as people write it.
    Text(Cow<'a, str>),
    /// GraphSON 3 bytecode, as Gremlin language variants send it.
    GraphSon(Cow<'a, str>),
    /// GraphBinary 1 bytecode, the other form they send.
    GraphBinary(Cow<'a, [u8]>),
    /// A query that has been read before.
    Query(Query),
}

impl Written<'_> {
    pub fn into_owned(self) -> Written<'static> {
        match self {
            Written::Text(text) => Written::Text(text.into_owned().into()),
            Written::GraphSon(json) => Written::GraphSon(json.into_owned().into()),
            Written::GraphBinary(bytes) => Written::GraphBinary(bytes.into_owned().into()),
            Written::Query(query) => Written::Query(query),
        }
    }
}

impl<'a> From<&'a str> for Written<'a> {
    fn from(text: &'a str) -> Self {
        Written::Text(text.into())
    }
}

impl From<Query> for Written<'_> {
    fn from(query: Query) -> Self {
        Written::Query(query)
    }
}

impl<'a> From<&'a String> for Written<'a> {
    fn from(text: &'a String) -> Self {
        text.as_str().into()
    }
}

impl fmt::Display for Written<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Written::Text(text) => f.write_str(text),
            Written::GraphSon(json) => write!(f, "bytecode {json}"),
            Written::Query(query) => f.write_str(query.text()),
            Written::GraphBinary(bytes) => write!(f, "the GraphBinary {}", Value::Bytes((&**bytes).into())),
        }
    }
}
