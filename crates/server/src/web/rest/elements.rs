//! Vertices and edges, one at a time.

use std::fmt::Write;
use std::sync::Arc;

use axum::extract::{Path, Query, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use mangrove::describe::Described;
use mangrove::graph::Value;
use mangrove::{Database, Parameters, QueryOptions, json};
use serde::Deserialize;
use serde_json::{Map, Value as Json};

use super::super::Web;
use super::caller::{As, Document, database};
use super::problem::Problem;
use super::work;
use crate::gremlin::Room;
use crate::users::Role;

/// The most edges of one answer.
const EDGES_MAX: u32 = 10_000;

/// A vertex or an edge that is to be. An edge has ends.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct New {
    id: Option<Json>,
    label: String,
    from: Option<Json>,
    to: Option<Json>,
    #[serde(default)]
    properties: Map<String, Json>,
}

/// Properties to set. Null removes one.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Change {
    properties: Map<String, Json>,
}

/// Which edges of a vertex.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Which {
    #[serde(default)]
    direction: Direction,
    label: Option<String>,
    #[serde(default = "which_limit")]
    limit: u32,
}

fn which_limit() -> u32 {
    100
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "lowercase")]
enum Direction {
    Out,
    In,
    #[default]
    Both,
}

/// A query that grows, with its parameters.
#[derive(Default)]
struct Text {
    text: String,
    parameters: Parameters,
}

impl Text {
    fn new(text: &str) -> Self {
        Self { text: text.to_owned(), ..Self::default() }
    }

    /// Adds a step, whose arguments are parameters.
    fn step(mut self, name: &str, args: &[Value]) -> Self {
        let names: Vec<String> = args.iter().map(|value| self.parameter(value.clone())).collect();
        // Writing to a string never fails.
        let _ = write!(self.text, ".{name}({})", names.join(", "));
        self
    }

    fn parameter(&mut self, value: Value) -> String {
        let name = format!("x{}", self.parameters.len());
        self.parameters.insert(name.clone(), value);
        name
    }

    fn properties(self, properties: &Map<String, Json>) -> Self {
        properties.iter().fold(self, |text, (key, value)| match value {
            Json::Null => {
                let mut text = text;
                let key = text.parameter(key.as_str().into());
                let _ = write!(text.text, ".sideEffect(__.properties({key}).drop())");
                text
            }
            value => text.step("property", &[key.as_str().into(), json::value(value)]),
        })
    }

    fn run(self, database: &Database, options: &QueryOptions) -> Result<Vec<Described>, Problem> {
        let mut results = database.query(self.text.as_str(), &self.parameters, options)?;
        Ok(results.results()?.iter().map(std::borrow::Cow::into_owned).collect())
    }
}

/// The id in an address: a number, or any other text. A text of digits stands in quotes.
fn id(text: &str) -> Value {
    match serde_json::from_str(text) {
        Ok(read @ (Json::Number(_) | Json::String(_))) => json::value(&read),
        _ => text.into(),
    }
}

/// The first result of a query, or a problem if there is none.
async fn one(web: &Arc<Web>, name: &str, room: Room, text: Text, what: String) -> Result<Described, Problem> {
    let database = database(web, name)?.clone();
    let found = work::run(&web.gremlin, room, None, move |limited| text.run(&database, &limited.options)).await?;
    found.into_iter().next().ok_or_else(|| Problem::missing(format!("{what} is not in the graph")))
}

fn document(status: StatusCode, element: &Described) -> Response {
    (status, [(header::CONTENT_TYPE, "application/json")], json::to_string(element)).into_response()
}

pub async fn vertex(State(web): State<Arc<Web>>, _: As, path: Path<(String, String)>) -> Result<Response, Problem> {
    read(&web, &path, "V").await
}

pub async fn edge(State(web): State<Arc<Web>>, _: As, path: Path<(String, String)>) -> Result<Response, Problem> {
    read(&web, &path, "E").await
}

async fn read(web: &Arc<Web>, Path((name, of)): &Path<(String, String)>, step: &str) -> Result<Response, Problem> {
    let text = Text::new("g").step(step, &[id(of)]);
    Ok(document(StatusCode::OK, &one(web, name, Room::Reading, text, of.clone()).await?))
}

pub async fn add_vertex(
    State(web): State<Arc<Web>>,
    caller: As,
    Path(name): Path<String>,
    sent: Document<New>,
) -> Result<Response, Problem> {
    caller.must_be(Role::Write)?;
    let New { id, label, from, to, properties } = sent.read;
    if from.is_some() || to.is_some() {
        return Err(Problem::wrong("a vertex has no ends: post it to /edges"));
    }
    let text = with_id(Text::new("g").step("addV", &[label.into()]), id).properties(&properties);
    Ok(document(StatusCode::CREATED, &one(&web, &name, Room::Writing, text, "the vertex".into()).await?))
}

pub async fn add_edge(
    State(web): State<Arc<Web>>,
    caller: As,
    Path(name): Path<String>,
    sent: Document<New>,
) -> Result<Response, Problem> {
    caller.must_be(Role::Write)?;
    let New { id, label, from: Some(from), to: Some(to), properties } = sent.read else {
        return Err(Problem::wrong("an edge has the ids of two vertices, `from` and `to`"));
    };
    let is_id = |id: &Json| id.is_string() || id.is_number();
    if ![&from, &to].into_iter().all(is_id) {
        return Err(Problem::wrong("an id is a number or a text"));
    }
    let mut text = Text::new("g").step("V", &[json::value(&from)]).step("addE", &[label.into()]);
    let target = text.parameter(json::value(&to));
    let _ = write!(text.text, ".to(__.V({target}))");
    let text = with_id(text, id).properties(&properties);
    let what = format!("the vertex {from}, or {to},");
    Ok(document(StatusCode::CREATED, &one(&web, &name, Room::Writing, text, what).await?))
}

fn with_id(mut text: Text, id: Option<Json>) -> Text {
    if let Some(id) = id {
        let id = text.parameter(json::value(&id));
        let _ = write!(text.text, ".property(T.id, {id})");
    }
    text
}

pub async fn change_vertex(
    State(web): State<Arc<Web>>,
    caller: As,
    path: Path<(String, String)>,
    sent: Document<Change>,
) -> Result<Response, Problem> {
    change(&web, &caller, &path, "V", &sent.read).await
}

pub async fn change_edge(
    State(web): State<Arc<Web>>,
    caller: As,
    path: Path<(String, String)>,
    sent: Document<Change>,
) -> Result<Response, Problem> {
    change(&web, &caller, &path, "E", &sent.read).await
}

async fn change(
    web: &Arc<Web>,
    caller: &As,
    Path((name, of)): &Path<(String, String)>,
    step: &str,
    change: &Change,
) -> Result<Response, Problem> {
    caller.must_be(Role::Write)?;
    let text = Text::new("g").step(step, &[id(of)]).properties(&change.properties);
    Ok(document(StatusCode::OK, &one(web, name, Room::Writing, text, of.clone()).await?))
}

pub async fn drop_vertex(
    State(web): State<Arc<Web>>,
    caller: As,
    path: Path<(String, String)>,
) -> Result<StatusCode, Problem> {
    remove(&web, &caller, &path, "V").await
}

pub async fn drop_edge(
    State(web): State<Arc<Web>>,
    caller: As,
    path: Path<(String, String)>,
) -> Result<StatusCode, Problem> {
    remove(&web, &caller, &path, "E").await
}

async fn remove(
    web: &Arc<Web>,
    caller: &As,
    Path((name, of)): &Path<(String, String)>,
    step: &str,
) -> Result<StatusCode, Problem> {
    caller.must_be(Role::Write)?;
    // Counted before it is gone.
    let text = Text::new("g").step(step, &[id(of)]);
    let text = Text { text: text.text + ".sideEffect(__.drop()).constant(true)", ..text };
    one(web, name, Room::Writing, text, of.clone()).await.map(|_| StatusCode::NO_CONTENT)
}

/// The edges of a vertex.
pub async fn edges_of(
    State(web): State<Arc<Web>>,
    _: As,
    Path((name, of)): Path<(String, String)>,
    Query(which): Query<Which>,
) -> Result<Response, Problem> {
    if which.limit > EDGES_MAX {
        return Err(Problem::wrong(format!("`limit` is at most {EDGES_MAX}: use a query for more")));
    }
    let step = match which.direction {
        Direction::Out => "outE",
        Direction::In => "inE",
        Direction::Both => "bothE",
    };
    let labels: Vec<Value> = which.label.iter().map(|label| label.as_str().into()).collect();
    let text = Text::new("g").step("V", &[id(&of)]).step(step, &labels);
    let mut text = Text { text: format!("{}.limit({}).fold()", text.text, which.limit), ..text };
    // A vertex without edges differs from one that is not there.
    let vertex = text.parameter(id(&of));
    text.text = format!("g.V({vertex}).local({})", text.text.replacen("g.V(x0)", "__", 1));
    text.parameters.remove("x0");
    Ok(document(StatusCode::OK, &one(&web, &name, Room::Reading, text, of).await?))
}
