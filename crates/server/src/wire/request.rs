//! Requests of drivers to a server, with their bytecode as a query.

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
}

/// What a driver sends to be run.
#[derive(Clone, Debug)]
pub enum Sent {
    Query(Query),
    /// `g.tx().commit()`
    Commit,
    /// `g.tx().rollback()`
    Rollback,
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
            Ok(RequestSyntax { id, op, processor, bytecode, args }) => {
                Ok(Self { id, op, processor, bytecode: bytecode.map(Sent::of_bytecode), args })
            }
            Err(BadRequest { id, error }) => Err(RefusedRequest { id, error: error.into() }),
        }
    }
}

impl Sent {
    fn of_bytecode(syntax: TraversalSyntax) -> Result<Self> {
        match Self::end_of_transaction(&syntax) {
            Some(end) => Ok(end),
            None => Query::of_bytecode(syntax).map(Self::Query),
        }
    }

    /// Reads text: a query, or the end of a transaction.
    pub fn of_text(text: &str) -> Result<Self> {
        let ended = text.contains("tx").then(|| gremlin::parse(text).ok()).flatten();
        match ended.as_ref().and_then(Self::end_of_transaction) {
            Some(end) => Ok(end),
            None => Query::parse(text).map(Self::Query),
        }
    }

    fn end_of_transaction(syntax: &TraversalSyntax) -> Option<Self> {
        match &syntax.calls[..] {
            [tx, end] if tx.name == "tx" && end.args.is_empty() => match end.name.as_str() {
                "commit" => Some(Self::Commit),
                "rollback" => Some(Self::Rollback),
                _ => None,
            },
            _ => None,
        }
    }
}
