//! Queries, with their results as JSON, as lines of JSON, or as Arrow record batches.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use arrow_ipc::writer::StreamWriter;
use axum::body::{Body, Bytes, HttpBody};
use axum::extract::{Path, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use hyper::body::Frame;
use mangrove::{Batches, CancelToken, Database, Parameters, QueryOptions, json};
use mangrove_query::Query;
use serde::Deserialize;
use tokio::runtime::Handle;
use tokio::sync::{mpsc, oneshot};
use tokio::task::spawn_blocking;

use super::super::Web;
use super::caller::{As, Document, database};
use super::problem::Problem;
use super::work::{self, Guard, Limited};
use crate::gremlin::{Gremlin, Missed, Room, in_time};
use crate::users::Role;

/// A query, as the body of a request.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Asked {
    gremlin: String,
    #[serde(default)]
    parameters: serde_json::Map<String, serde_json::Value>,
    /// The longest time, in milliseconds.
    timeout_ms: Option<u64>,
}

/// A query that may run.
struct Ready {
    database: Database,
    query: Query,
    parameters: Parameters,
    timeout: Option<Duration>,
    room: Room,
}

impl Asked {
    /// Reads the query, on a thread of its own if it is long.
    async fn ready(self, web: &Arc<Web>, name: String, caller: &As) -> Result<Ready, Problem> {
        caller.note(&self.gremlin);
        let (size, its) = (self.gremlin.len(), web.clone());
        web.gremlin.apart(size, move |_| self.read(&its, &name)).await?
    }

    fn read(self, web: &Web, name: &str) -> Result<Ready, Problem> {
        let database = database(web, name)?.clone();
        let query = database.prepare(&self.gremlin)?;
        let parameters = self.parameters.iter().map(|(name, value)| (name.clone(), json::value(value))).collect();
        let room = if query.writes() { Room::Writing } else { Room::Reading };
        let timeout = self.timeout_ms.map(Duration::from_millis);
        Ok(Ready { database, query, parameters, timeout, room })
    }
}

impl Ready {
    /// The same, if whoever asks may run it.
    fn allowed(self, caller: &As) -> Result<Self, Problem> {
        if self.query.writes() {
            caller.must_be(Role::Write)?;
        }
        Ok(self)
    }
}

/// The form of results.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    Json,
    Lines,
    Arrow,
}

impl Form {
    const ALL: [(Self, &'static str); 3] = [
        (Self::Json, "application/json"),
        (Self::Lines, "application/x-ndjson"),
        (Self::Arrow, "application/vnd.apache.arrow.stream"),
    ];

    /// The first that a client accepts.
    fn accepted(headers: &HeaderMap) -> Result<Self, Problem> {
        let Some(accepted) = headers.get(header::ACCEPT) else { return Ok(Self::Json) };
        let accepted = accepted.to_str().unwrap_or_default();
        let of = |text: &str| match text.split(';').next().unwrap_or_default().trim() {
            "*/*" | "application/*" => Some(Self::Json),
            text => Self::ALL.iter().find(|(_, name)| name.eq_ignore_ascii_case(text)).map(|(form, _)| *form),
        };
        accepted.split(',').find_map(of).ok_or_else(|| {
            let known = Self::ALL.map(|(_, name)| name).join(", ");
            Problem::new(StatusCode::NOT_ACCEPTABLE, format!("results come as {known}"))
        })
    }

    fn name(self) -> &'static str {
        Self::ALL.iter().find(|(form, _)| *form == self).map_or("", |(_, name)| name)
    }
}

pub async fn run(
    State(web): State<Arc<Web>>,
    caller: As,
    Path(name): Path<String>,
    headers: HeaderMap,
    sent: Document<Asked>,
) -> Result<Response, Problem> {
    let form = Form::accepted(&headers)?;
    let ready = sent.read.ready(&web, name, &caller).await?.allowed(&caller)?;
    let named = [(header::CONTENT_TYPE, form.name())];
    if form == Form::Json {
        let (bytes_max, timeout, room) = (web.gremlin.limits.response_bytes_max, ready.timeout, ready.room);
        let text = work::run(&web.gremlin, room, timeout, move |limited| whole(&ready, &limited.options, bytes_max)).await?;
        return Ok((named, work::held(&web, text.into_bytes())?).into_response());
    }
    let body = streamed(&web.gremlin, ready, form).await?;
    Ok((named, Body::new(body)).into_response())
}

pub async fn explain(
    State(web): State<Arc<Web>>,
    caller: As,
    Path(name): Path<String>,
    sent: Document<Asked>,
) -> Result<Response, Problem> {
    let ready = sent.read.ready(&web, name, &caller).await?;
    let explained = work::run(&web.gremlin, Room::Reading, ready.timeout, move |limited| {
        Ok(ready.database.explain(ready.query, &ready.parameters, &limited.options)?.to_json())
    });
    Ok(as_json(explained.await?))
}

pub async fn profile(
    State(web): State<Arc<Web>>,
    caller: As,
    Path(name): Path<String>,
    sent: Document<Asked>,
) -> Result<Response, Problem> {
    let ready = sent.read.ready(&web, name, &caller).await?.allowed(&caller)?;
    let profiled = work::run(&web.gremlin, ready.room, ready.timeout, move |limited| {
        Ok(ready.database.profile(ready.query, &ready.parameters, &limited.options)?.to_json())
    });
    Ok(as_json(profiled.await?))
}

fn as_json(text: String) -> Response {
    ([(header::CONTENT_TYPE, Form::Json.name())], text).into_response()
}

/// All results in one document.
fn whole(ready: &Ready, options: &QueryOptions, bytes_max: usize) -> Result<String, Problem> {
    let mut results = ready.database.query(ready.query.clone(), &ready.parameters, options)?;
    let mut text = String::from("{\"results\":[");
    let mut is_first = true;
    while let Some(some) = results.next_described()? {
        for result in &some {
            if !std::mem::take(&mut is_first) {
                text.push(',');
            }
            json::write_described(&mut text, result);
        }
        if text.len() > bytes_max {
            let message =
                format!("the results take more than {} MB: ask for less, or for lines of JSON or Arrow", bytes_max >> 20);
            return Err(Problem::new(StatusCode::PAYLOAD_TOO_LARGE, message));
        }
    }
    text.push_str("],\"warnings\":");
    text.push_str(&serde_json::Value::from(results.warnings().to_vec()).to_string());
    text.push('}');
    Ok(text)
}

/// Parts of a response that wait for the client to take them. Then the query waits.
const PARTS_MAX: usize = 4;
/// A part of so many bytes is full.
const PART_BYTES: usize = 1 << 20;
/// The rows of a record batch.
const BATCH_ROWS: usize = 2048;

/// Begins a query, and gives its results as they come. Errors that come later break the response off.
async fn streamed(gremlin: &Arc<Gremlin>, ready: Ready, form: Form) -> Result<Streamed, Problem> {
    let guard = Guard(CancelToken::default());
    let (place, limited) = work::begin(gremlin, ready.room, ready.timeout, guard.0.clone()).await?;
    let (parts, received) = mpsc::channel(PARTS_MAX);
    let (begun, beginning) = oneshot::channel();
    spawn_blocking(move || {
        let mut out = Parts { parts, deadline: limited.deadline, begun: Some(begun) };
        let done = match form {
            Form::Arrow => arrow(&ready, limited, &mut out),
            _ => lines(&ready, &limited.options, &mut out),
        };
        out.end(done);
        drop(place);
    });
    match beginning.await {
        Ok(Ok(())) => Ok(Streamed { received, _guard: guard }),
        Ok(Err(problem)) => Err(problem),
        Err(_) => Err(Problem::bug("the server failed at this query: please report this")),
    }
}

/// A document for each result.
fn lines(ready: &Ready, options: &QueryOptions, out: &mut Parts) -> Result<(), Problem> {
    let mut results = ready.database.query(ready.query.clone(), &ready.parameters, options)?;
    while let Some(some) = results.next_described()? {
        let mut text = String::new();
        for result in &some {
            json::write_described(&mut text, result);
            text.push('\n');
            if text.len() >= PART_BYTES {
                out.send(std::mem::take(&mut text).into())?;
            }
        }
        out.send(text.into())?;
    }
    out.begin();
    Ok(())
}

/// The stream format of Arrow IPC.
fn arrow(ready: &Ready, limited: Limited, out: &mut Parts) -> Result<(), Problem> {
    let stream = ready.database.stream(ready.query.clone(), &ready.parameters, &limited.options)?;
    let batches = Batches::new(stream, BATCH_ROWS)?;
    let failed = |error: arrow_schema::ArrowError| Problem::new(StatusCode::UNPROCESSABLE_ENTITY, error.to_string());
    let schema = arrow_array::RecordBatchReader::schema(&batches);
    let mut writer = StreamWriter::try_new(Vec::new(), &schema).map_err(failed)?;
    for batch in batches {
        writer.write(&batch.map_err(failed)?).map_err(failed)?;
        out.send(std::mem::take(writer.get_mut()).into())?;
    }
    writer.finish().map_err(failed)?;
    out.send(std::mem::take(writer.get_mut()).into())
}

/// The way to the body of a response.
struct Parts {
    /// `None` says that the response is whole.
    parts: mpsc::Sender<Option<Bytes>>,
    deadline: Option<Instant>,
    /// Tells that the response may begin.
    begun: Option<oneshot::Sender<Result<(), Problem>>>,
}

impl Parts {
    fn begin(&mut self) {
        if let Some(begun) = self.begun.take() {
            // If the client is gone, nobody wants to know.
            let _ = begun.send(Ok(()));
        }
    }

    fn send(&mut self, part: Bytes) -> Result<(), Problem> {
        self.begin();
        self.put(Some(part))
    }

    fn put(&self, part: Option<Bytes>) -> Result<(), Problem> {
        let sent = async { self.parts.send(part).await.map_err(|_| Missed::Gone) };
        Handle::current()
            .block_on(in_time(self.deadline, self.parts.closed(), sent))
            .map_err(|_| Problem::new(StatusCode::GATEWAY_TIMEOUT, "the client did not take the results in time"))
    }

    /// Ends the response. An error breaks it off, if it has begun.
    fn end(mut self, done: Result<(), Problem>) {
        match (done, self.begun.take()) {
            (Err(problem), Some(begun)) => drop(begun.send(Err(problem))),
            // The client sees that the response is not whole.
            (Err(_), None) => {}
            (Ok(()), _) => drop(self.put(None)),
        }
    }
}

/// A body whose parts come from a query.
struct Streamed {
    received: mpsc::Receiver<Option<Bytes>>,
    _guard: Guard,
}

impl HttpBody for Streamed {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<io::Result<Frame<Bytes>>>> {
        self.received.poll_recv(cx).map(|part| match part {
            Some(Some(part)) => Some(Ok(Frame::data(part))),
            Some(None) => None,
            None => Some(Err(io::Error::other("the query did not come to its end"))),
        })
    }
}
