//! A graph behind a server. Queries go over a WebSocket, and the elements in their results are found by their ids.

use mangrove::Parameters;
use mangrove_graph::record::{self, property_id};
use mangrove_graph::{GraphView, Map, Path, Subgraph, Tree, Value};
use mangrove_query::gremlin::parse;
use mangrove_server::client::{Branch, Client, ClientError, Received};
use mangrove_server::{Limits, Server, ServerOptions};
use tempfile::TempDir;

use crate::database::TIMEOUT;
use crate::services;

pub struct Wire {
    /// Queries are sent as bytecode, not as text.
    as_bytecode: bool,
    database: mangrove::Database,
    server: Server,
    client: Client,
    /// Removed with the database.
    _directory: TempDir,
}

impl Wire {
    /// Serves the database in a directory.
    pub fn serve(directory: TempDir, as_bytecode: bool) -> Result<Self, String> {
        let database = mangrove::Database::open(directory.path()).map_err(|e| e.to_string())?;
        for (name, service) in services::named() {
            database.register_procedure(name, service).map_err(|e| e.to_string())?;
        }
        let limits = Limits { timeout: Some(TIMEOUT), ..Limits::default() };
        let options = ServerOptions { address: ([127, 0, 0, 1], 0).into(), limits, ..ServerOptions::default() };
        let server = Server::start(vec![("g".into(), database.clone())], options).map_err(|e| e.to_string())?;
        let client = connect(&server)?;
        Ok(Self { as_bytecode, database, server, client, _directory: directory })
    }

    /// All results of a query. With `keep` its changes are committed, otherwise a session undoes them.
    pub fn query(&mut self, text: &str, parameters: &Parameters, keep: bool) -> Result<Vec<Value>, String> {
        let ids =
            self.read(|view| parameters.iter().map(|(name, value)| Ok((name.clone(), sent(view, value)?))).collect())?;
        if keep {
            let results = submit(&mut self.client, text, &ids, self.as_bytecode);
            return self.values(results);
        }
        let mut session = connect(&self.server)?.in_session();
        let results = submit(&mut session, text, &ids, self.as_bytecode);
        session.submit("g.tx().rollback()", &Parameters::new()).map_err(said)?;
        self.values(results)
    }

    pub fn read<T>(&self, read: impl FnOnce(&dyn GraphView) -> Result<T, String>) -> Result<T, String> {
        read(&*self.database.snapshot().map_err(|e| e.to_string())?)
    }

    fn values(&self, results: Result<Vec<Received>, ClientError>) -> Result<Vec<Value>, String> {
        let results = results.map_err(said)?;
        let values: Result<Vec<_>, _> = self.read(|view| results.into_iter().map(|result| value(view, result)).collect());
        Ok(values?.into_iter().filter(|value| !services::is_own_of_database(value)).collect())
    }
}

fn submit(
    client: &mut Client,
    text: &str,
    parameters: &Parameters,
    as_bytecode: bool,
) -> Result<Vec<Received>, ClientError> {
    match parse(text) {
        Ok(query) if as_bytecode => client.submit_bytecode(&query, parameters),
        _ => client.submit(text, parameters),
    }
}

fn connect(server: &Server) -> Result<Client, String> {
    Client::connect(&format!("ws://{}/gremlin", server.address()), "g").map_err(said)
}

/// The message of the engine, without the status.
fn said(error: ClientError) -> String {
    match error {
        ClientError::Refused { message, .. } => message,
        error => error.to_string(),
    }
}

/// A parameter as drivers send it: an element goes by its id.
fn sent(view: &dyn GraphView, value: &Value) -> Result<Value, String> {
    let all = |items: &[Value]| items.iter().map(|item| sent(view, item)).collect::<Result<Vec<_>, _>>();
    Ok(match value {
        Value::Vertex(vertex) => record::vertex_id(view, *vertex).map_err(|e| e.to_string())?,
        Value::Edge(edge) => record::edge_id(view, edge.id).map_err(|e| e.to_string())?,
        Value::List(items) => Value::list(all(items)?),
        Value::Map(map) => {
            let entry = |(key, value): &(Value, Value)| Ok::<_, String>((sent(view, key)?, sent(view, value)?));
            Value::map(map.iter().map(entry).collect::<Result<Map, _>>()?)
        }
        plain => plain.clone(),
    })
}

/// What a server sent, as the engine has it. Elements that are gone are null.
fn value(view: &dyn GraphView, received: Received) -> Result<Value, String> {
    let all = |items: Vec<Received>| items.into_iter().map(|item| value(view, item)).collect::<Result<Vec<_>, _>>();
    Ok(match received {
        Received::Plain(plain) => plain,
        Received::Vertex(id) => vertex(view, &id)?,
        Received::Edge(id) => edge(view, &id)?,
        Received::VertexProperty(id, _) => vertex_property(view, &id.to_string())?,
        Received::Property(key, of) => Value::list(vec![key.as_str().into(), of]),
        Received::List(items) => Value::list(all(items)?),
        Received::Set(items) => Value::set(all(items)?),
        Received::Map(entries) => {
            let entry = |(key, of): (Received, Received)| Ok::<_, String>((value(view, key)?, value(view, of)?));
            Value::map(Map::from_distinct(entries.into_iter().map(entry).collect::<Result<_, _>>()?))
        }
        Received::Path(objects) => Value::Path(Path { objects: all(objects)?, ..Path::default() }.into()),
        Received::Tree(branches) => Value::Tree(tree(view, branches)?.into()),
        Received::Subgraph { vertices, edges } => {
            let mut part = Subgraph::default();
            for id in &vertices {
                if let Value::Vertex(found) = vertex(view, id)? {
                    part.vertices.push(found);
                }
            }
            for id in &edges {
                if let Value::Edge(found) = edge(view, id)? {
                    part.edges.push(found);
                }
            }
            Value::Subgraph(part.into())
        }
    })
}

fn tree(view: &dyn GraphView, branches: Vec<Branch>) -> Result<Tree, String> {
    let branch = |Branch { value: of, below }| Ok::<_, String>((value(view, of)?, tree(view, below)?));
    Ok(Tree(branches.into_iter().map(branch).collect::<Result<_, _>>()?))
}

fn vertex(view: &dyn GraphView, id: &Value) -> Result<Value, String> {
    let found = record::find_vertex(view, id).map_err(|e| e.to_string())?;
    Ok(found.map_or(Value::Null, Value::Vertex))
}

fn edge(view: &dyn GraphView, id: &Value) -> Result<Value, String> {
    let found = record::find_edge(view, id).map_err(|e| e.to_string())?;
    Ok(found.map_or(Value::Null, Value::Edge))
}

/// The property with an id such as `1/name/0`.
fn vertex_property(view: &dyn GraphView, id: &str) -> Result<Value, String> {
    let of_vertex = id.split('/').next().unwrap_or_default();
    let candidates = [of_vertex.parse().ok().map(Value::Int64), Some(of_vertex.into())];
    for candidate in candidates.into_iter().flatten() {
        let Value::Vertex(vertex) = vertex(view, &candidate)? else { continue };
        let properties = services::of_vertex(view, vertex).map_err(|e| e.to_string())?;
        let is_it = |property: &Value| match property {
            Value::VertexProperty(of) => property_id(&candidate, &of.name, of.ordinal) == id,
            _ => false,
        };
        if let Some(found) = properties.into_iter().find(is_it) {
            return Ok(found);
        }
    }
    Ok(Value::Null)
}
