//! A client of Gremlin servers, for tests and measurements: WebSocket, GraphBinary 1, and one request at a time.

mod received;

use std::net::TcpStream;

use mangrove::{Parameters, Value};
use mangrove_query::gremlin::syntax::TraversalSyntax;
use thiserror::Error;
use tungstenite::{Message, WebSocket};
use uuid::Uuid;

use received::Response;
pub use received::{Branch, Received};

use crate::wire::{Form, bytecode, write_request};

/// The status of a response that others follow.
const PARTIAL: i32 = 206;

/// An error from a server, or from the way to it.
#[derive(Debug, Error)]
pub enum ClientError {
    #[error("{0}: addresses look like ws://127.0.0.1:8182/gremlin")]
    Address(String),
    #[error("cannot connect to {address}: {why}")]
    Connect { address: String, why: String },
    #[error("the connection ended: {0}")]
    Broken(String),
    #[error("a response that cannot be read: {0}")]
    Unreadable(String),
    #[error("{0}")]
    Bytecode(String),
    /// The server refused a request, or a query failed.
    #[error("{code}: {message}")]
    Refused { code: i32, message: String },
}

/// A connection to a Gremlin server.
pub struct Client {
    socket: WebSocket<TcpStream>,
    source: String,
    session: Option<String>,
}

impl Client {
    /// Connects to `ws://host:port/path`. Queries go to the traversal source of this name.
    pub fn connect(address: &str, source: &str) -> Result<Self, ClientError> {
        let host = address.strip_prefix("ws://").and_then(|rest| rest.split('/').next());
        let host = host.ok_or_else(|| ClientError::Address(address.into()))?;
        let failed = |why: &dyn std::fmt::Display| ClientError::Connect { address: address.into(), why: why.to_string() };
        let stream = TcpStream::connect(host).map_err(|error| failed(&error))?;
        stream.set_nodelay(true).map_err(|error| failed(&error))?;
        let (socket, _) = tungstenite::client(address, stream).map_err(|error| failed(&error))?;
        Ok(Self { socket, source: source.into(), session: None })
    }

    /// The same connection. Its requests belong to a session.
    pub fn in_session(self) -> Self {
        Self { session: Some(Uuid::new_v4().to_string()), ..self }
    }

    /// All results of a query.
    pub fn submit(&mut self, text: &str, parameters: &Parameters) -> Result<Vec<Received>, ClientError> {
        self.results(&self.request(text, parameters))
    }

    /// All results of a query that is sent as bytecode.
    pub fn submit_bytecode(
        &mut self,
        query: &TraversalSyntax,
        parameters: &Parameters,
    ) -> Result<Vec<Received>, ClientError> {
        let bytecode = bytecode(query, parameters).map_err(ClientError::Bytecode)?;
        self.results(&self.framed("bytecode", "traversal", Vec::new(), Some(&bytecode)))
    }

    fn results(&mut self, request: &[u8]) -> Result<Vec<Received>, ClientError> {
        let mut results = Vec::new();
        self.run(request, |mut response| {
            for _ in 0..response.count {
                results.push(response.results.value()?);
            }
            Ok(())
        })?;
        Ok(results)
    }

    /// The number of results of a request that [`request`](Self::request) made. The results themselves are not read.
    pub fn count(&mut self, request: &[u8]) -> Result<usize, ClientError> {
        let mut count = 0;
        self.run(request, |response| {
            count += response.count;
            Ok(())
        })?;
        Ok(count)
    }

    /// A request that runs a query. It may be sent several times.
    pub fn request(&self, text: &str, parameters: &Parameters) -> Vec<u8> {
        let bindings = parameters.iter().map(|(name, value)| (name.as_str().into(), value.clone())).collect();
        let args = vec![("gremlin", text.into()), ("language", "gremlin-lang".into()), ("bindings", Value::map(bindings))];
        self.framed("eval", "", args, None)
    }

    /// A request to the traversal source, within the session if there is one.
    fn framed(&self, op: &str, processor: &str, mut args: Vec<(&str, Value)>, bytecode: Option<&[u8]>) -> Vec<u8> {
        let aliases = [("g".into(), self.source.as_str().into())].into_iter().collect();
        args.push(("aliases", Value::map(aliases)));
        args.extend(self.session.as_deref().map(|session| ("session", session.into())));
        framed(op, if self.session.is_some() { "session" } else { processor }, &args, bytecode)
    }

    /// Sends a request, and waits for no response.
    pub fn send(&mut self, request: &[u8]) -> Result<(), ClientError> {
        self.socket.send(Message::Binary(request.to_vec().into())).map_err(broken)
    }

    /// Ends the session, and waits until its transaction is undone.
    pub fn close_session(&mut self) -> Result<(), ClientError> {
        let session = self.session.take().unwrap_or_default();
        let request = framed("close", "session", &[("session", session.as_str().into())], None);
        self.run(&request, |_| Ok(()))
    }

    /// Sends a request, and gives each of the responses.
    fn run(
        &mut self,
        request: &[u8],
        mut take: impl FnMut(Response<'_>) -> Result<(), ClientError>,
    ) -> Result<(), ClientError> {
        self.send(request)?;
        loop {
            let Message::Binary(bytes) = self.socket.read().map_err(broken)? else { continue };
            let response = Response::read(&bytes)?;
            let code = response.code;
            if code >= 300 {
                return Err(ClientError::Refused { code, message: response.message });
            }
            take(response)?;
            if code != PARTIAL {
                return Ok(());
            }
        }
    }
}

/// A request after its media type.
fn framed(op: &str, processor: &str, args: &[(&str, Value)], bytecode: Option<&[u8]>) -> Vec<u8> {
    let media_type = Form::GraphBinary.media_type();
    let mut request = vec![media_type.len() as u8];
    request.extend_from_slice(media_type.as_bytes());
    write_request(&mut request, Uuid::new_v4(), op, processor, args, bytecode);
    request
}

fn broken(error: tungstenite::Error) -> ClientError {
    ClientError::Broken(error.to_string())
}
