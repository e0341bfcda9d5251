//! Requests of drivers to a server, with their bytecode as a query.

use std::sync::Arc;

use mangrove::graph::Map;
use mangrove_query::gremlin::syntax::TraversalSyntax;
use mangrove_query::gremlin::{self, BadRequest, RequestSyntax};
use mangrove_query::{Query, QueryError, Result};
use uuid::Uuid;

/// A request to a Gremlin server.
#[derive(Debug)]
pub struct Request {
    pub id: Uuid,
    /// What to do: `eval`, `bytecode`, `close` or `authentication`.
    pub op: String,
    /// For whom: nothing, `traversal` or `session`.
    pub processor: String,
    /// The argument `gremlin`, if it is bytecode. As text it is among `args`.
    pub bytecode: Option<Result<Sent>>,
    pub args: Map,
    /// The values that it holds, those within others included.
    pub values: usize,
}

/// What a driver sends to be run.
#[derive(Clone, Debug)]
pub enum Sent {
    Query(Query),
    /// Queries that run one after the other. The results are those of the last.
    Script(Script),
    /// `g.tx().commit()`
    Commit,
    /// `g.tx().rollback()`
    Rollback,
}

/// A text of several queries.
#[derive(Clone, Debug)]
pub struct Script {
    pub text: Arc<str>,
    pub queries: Vec<Query>,
}

/// What a text asks of a transaction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Control {
    Begin,
    End,
}

/// A request that cannot be read.
#[derive(Debug)]
pub struct RefusedRequest {
    /// The id of the request, if that can be read.
    pub id: Option<Uuid>,
    pub error: QueryError,
}

impl Request {
    /// Reads a request in GraphBinary 1.
    pub fn from_graphbinary(bytes: &[u8]) -> Result<Self, RefusedRequest> {
        Self::new(gremlin::read_binary_request(bytes))
    }

    /// Reads a request in GraphSON 2 or 3.
    pub fn from_graphson(text: &str) -> Result<Self, RefusedRequest> {
        Self::new(gremlin::read_json_request(text))
    }

    fn new(read: Result<RequestSyntax, BadRequest>) -> Result<Self, RefusedRequest> {
        match read {
            Ok(RequestSyntax { id, op, processor, bytecode, args, values }) => {
                Ok(Self { id, op, processor, bytecode: bytecode.map(Sent::of_bytecode), args, values })
            }
            Err(BadRequest { id, error }) => Err(RefusedRequest { id, error: error.into() }),
        }
    }
}

impl Sent {
    fn of_bytecode(syntax: TraversalSyntax) -> Result<Self> {
        match ended_by(&syntax) {
            Some(end) => Ok(end),
            None => Query::of_bytecode(syntax).map(Self::Query),
        }
    }

    /// Reads a text that ends a transaction.
    pub fn end_of_transaction(text: &str) -> Option<Self> {
        ended_by(&about_transaction(text)?)
    }
}

impl Control {
    /// Reads a text that begins or ends a transaction.
    pub fn of(text: &str) -> Option<Self> {
        let syntax = about_transaction(text)?;
        match &syntax.calls[..] {
            [tx, begin] if tx.name == "tx" && begin.name == "begin" && begin.args.is_empty() => Some(Self::Begin),
            _ => ended_by(&syntax).map(|_| Self::End),
        }
    }
}

/// A text that may be about a transaction. Hardly any other text is parsed twice.
fn about_transaction(text: &str) -> Option<TraversalSyntax> {
    let text = Some(text).filter(|text| text.starts_with("g") && text.len() < 100 && text.contains("tx"))?;
    gremlin::parse(text).ok()
}

fn ended_by(syntax: &TraversalSyntax) -> Option<Sent> {
    match &syntax.calls[..] {
        [tx, end] if tx.name == "tx" && end.args.is_empty() => match end.name.as_str() {
            "commit" => Some(Sent::Commit),
            "rollback" => Some(Sent::Rollback),
            _ => None,
        },
        _ => None,
    }
}
