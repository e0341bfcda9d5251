//! What drivers put around a query when they send it to a server, in GraphBinary or as GraphSON.
//!
//! ```text
//! request  = 0x81 id:16 bytes op:string processor:string args          GraphBinary
//! args     = count { key:value value }*
//! ```
//! ```json
//! {"requestId": …, "op": "bytecode", "processor": "traversal", "args": {"gremlin": {"@type": "g:Bytecode", …}}}
//! ```

use mangrove_graph::{Map, Token, Uuid, Value};
use serde_json::Value as Json;

use super::graphbinary::BinaryReader;
use super::graphson::{self, JsonReader, typed};
use super::{Problem, Read, problem};
use crate::diagnostics::Span;
use crate::gremlin::error::SyntaxError;
use crate::gremlin::parse::parse;
use crate::gremlin::syntax::{Argument, ArgumentKind, TraversalSyntax};

/// The argument that holds the query.
const QUERY: &str = "gremlin";
/// The most named arguments of a request. Drivers send six at most.
const NAMED_MAX: usize = 64;

/// A request to a server.
#[derive(Debug)]
pub struct RequestSyntax {
    pub id: Uuid,
    pub op: String,
    pub processor: String,
    /// The query, if it is bytecode. As text it is among `args`.
    pub bytecode: Option<TraversalSyntax>,
    pub args: Map,
    /// The values that it holds, those within others included.
    pub values: usize,
}

/// A request that cannot be read, with its id if that can.
#[derive(Debug)]
pub struct BadRequest {
    pub id: Option<Uuid>,
    pub error: SyntaxError,
}

/// Reads a request in GraphBinary 1.
pub fn read_binary_request(bytes: &[u8]) -> Result<RequestSyntax, BadRequest> {
    let mut id = None;
    let read = |id: &mut Option<Uuid>| {
        let mut reader = BinaryReader::new(bytes)?;
        let mut request = RequestSyntax::new(*id.insert(reader.request_id()?));
        (request.op, request.processor) = (reader.text()?, reader.text()?);
        reader.request_arguments(|key, value| request.put(key, value))?;
        request.values = reader.values();
        Ok(request)
    };
    read(&mut id).map_err(|problem| BadRequest { id, error: Problem::into_error(problem) })
}

/// Reads a request in GraphSON 2 or 3. One over HTTP may consist of the arguments alone.
pub fn read_json_request(text: &str) -> Result<RequestSyntax, BadRequest> {
    let mut id = None;
    let read = |id: &mut Option<Uuid>| {
        let json = graphson::parse_json(text, "the request")?;
        let Json::Object(fields) = &json else { return problem("a request is a JSON object") };
        let written = |name: &str| fields.get(name).map(|json| typed(json).map_or(json, |(_, value)| value));
        let text = |name: &str| written(name).and_then(Json::as_str).unwrap_or_default();
        *id = match written("requestId") {
            None => Some(Uuid::new_v4()),
            Some(json) => json.as_str().and_then(|text| Uuid::parse_str(text).ok()),
        };
        let Some(known) = *id else { return problem("the `requestId` of a request is a UUID") };
        let mut request = RequestSyntax::new(known);
        (request.op, request.processor) = (text("op").into(), text("processor").into());
        let is_bare = !fields.contains_key("op") && !fields.contains_key("args");
        if is_bare {
            request.op = "eval".into();
        }
        let mut reader = JsonReader::default();
        for (key, json) in arguments(if is_bare { Some(&json) } else { written("args") })? {
            let value = match typed(json) {
                Some(("g:Bytecode", _)) if key == QUERY => ArgumentKind::Traversal(reader.query(json)?),
                _ => reader.argument(json).map_err(|problem| problem.within(|| format!("`{key}`")))?.kind,
            };
            request.put(key.into(), value)?;
        }
        request.values = reader.values();
        Ok(request)
    };
    crate::stack::with_room(graphson::STACK_BYTES, || read(&mut id))
        .map_err(|problem| BadRequest { id, error: Problem::into_error(problem) })
}

/// The arguments of a request in GraphSON: an object, or the array of a `g:Map`.
fn arguments(json: Option<&Json>) -> Read<Vec<(&str, &Json)>> {
    match json {
        Some(Json::Object(fields)) => Ok(fields.iter().map(|(key, value)| (key.as_str(), value)).collect()),
        Some(Json::Array(flat)) => {
            let pairs = flat.as_chunks::<2>().0.iter().map(|[key, value]| Some((key.as_str()?, value)));
            pairs.collect::<Option<_>>().map_or_else(|| problem("the arguments of a request have names"), Ok)
        }
        _ => problem("a request has `args`, which is an object"),
    }
}

/// Reads parameters as drivers of TinkerPop 4 send them: a map in Gremlin, such as `["x":1,"y":"a"]`.
pub fn read_parameters(text: &str) -> Result<Map, SyntaxError> {
    let syntax = parse(&format!("g.inject({text})"))?;
    let [call] = &syntax.calls[..] else { return Err(not_a_map()) };
    let [argument] = &call.args[..] else { return Err(not_a_map()) };
    match plain(argument.kind.clone()).map_err(Problem::into_error)? {
        Value::Map(map) => Ok(Map::clone(&map)),
        _ => Err(not_a_map()),
    }
}

fn not_a_map() -> SyntaxError {
    SyntaxError::new("parameters are a map in Gremlin, such as [\"x\":1]", Span::default())
}

impl RequestSyntax {
    fn new(id: Uuid) -> Self {
        Self { id, op: String::new(), processor: String::new(), bytecode: None, args: Map::new(), values: 0 }
    }

    fn put(&mut self, key: String, value: ArgumentKind) -> Read<()> {
        if self.args.len() == NAMED_MAX {
            return problem(format!("a request has at most {NAMED_MAX} arguments"));
        }
        match value {
            ArgumentKind::Traversal(mut query) if key == QUERY => {
                query.from_source = true;
                self.bytecode = Some(query);
            }
            value => {
                let value = plain(value).map_err(|problem| problem.within(|| format!("`{key}`")))?;
                self.args.insert(key.into(), value);
            }
        }
        Ok(())
    }
}

/// The value of an argument.
fn plain(kind: ArgumentKind) -> Read<Value> {
    let all = |items: Vec<Argument>| items.into_iter().map(|item| plain(item.kind)).collect::<Read<Vec<_>>>();
    Ok(match kind {
        ArgumentKind::Value(value) => value,
        ArgumentKind::List(items) => Value::list(all(items)?),
        ArgumentKind::Set(items) => Value::set(all(items)?),
        ArgumentKind::Map(entries) => {
            let entries = entries.into_iter().map(|(key, value)| Ok((plain(key.kind)?, plain(value.kind)?)));
            Value::map(entries.collect::<Read<Map>>()?)
        }
        ArgumentKind::Constant { kind, name } => match Token::named(&kind, &name) {
            Some(token) => Value::Token(token),
            None => return problem(format!("{kind}.{name} cannot be a parameter: write it into the query")),
        },
        ArgumentKind::Applied { kind, args, .. } if kind == "Element" => {
            // A reference to an element stands for its id.
            args.into_iter().next().map_or_else(|| problem("an element without an id"), |id| plain(id.kind))?
        }
        _ => return problem("a parameter is a plain value, a constant such as T.id, a list, a set or a map"),
    })
}
