//! Queries, with their results as JSON, as lines of JSON, or as Arrow record batches.

use std::sync::Arc;
use std::time::Duration;

use arrow_array::{RecordBatch, RecordBatchReader};
use arrow_ipc::writer::StreamWriter;
use arrow_schema::SchemaRef;
use axum::body::{Body, Bytes};
use axum::extract::{Path, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use mangrove::{Batches, Database, OnProfile, Parameters, QueryOptions, ShardAt, Shards, json};
use mangrove_query::Query;
use serde::Deserialize;
use tokio::sync::oneshot;

use super::super::Web;
use super::caller::{As, Document, database, name_or_first};
use super::parts::{Parts, Streamed, streamed};
use super::problem::{Problem, must_be};
use super::work::{self, Limited};
use crate::gremlin::Room;
use crate::users::Role;

/// A query, as the body of a request.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Asked {
    pub gremlin: String,
    #[serde(default)]
    parameters: serde_json::Map<String, serde_json::Value>,
    /// The longest time, in milliseconds.
    timeout_ms: Option<u64>,
}

/// A query that may run.
pub struct Ready {
    database: Database,
    query: Query,
    parameters: Parameters,
    timeout: Option<Duration>,
    room: Room,
    /// The shard in which it begins; `None` for the whole graph.
    shard: Option<ShardAt>,
    /// What the query is to tell once it has ended.
    on_profile: Option<OnProfile>,
}

impl Asked {
    /// Reads the query, on a thread of its own if it is long.
    pub async fn ready(self, web: &Arc<Web>, name: String) -> Result<Ready, Problem> {
        let (size, its) = (self.gremlin.len(), web.clone());
        web.gremlin.apart(size, move |_| self.read(&its, &name)).await?
    }

    fn read(self, web: &Web, name: &str) -> Result<Ready, Problem> {
        let database = database(web, name)?.clone();
        let query = database.prepare(&self.gremlin)?;
        let parameters = self.parameters.iter().map(|(name, value)| (name.clone(), json::value(value))).collect();
        let room = if query.writes() { Room::Writing } else { Room::Reading };
        let timeout = self.timeout_ms.map(Duration::from_millis);
        Ok(Ready { database, query, parameters, timeout, room, shard: None, on_profile: None })
    }
}

impl Ready {
    /// The same, and it tells somebody what it did.
    pub fn told(self, on_profile: Option<OnProfile>) -> Self {
        Self { on_profile, ..self }
    }

    /// The same, in one shard.
    fn on(self, shard: Option<ShardAt>) -> Self {
        Self { shard, ..self }
    }

    fn options(&self, limited: &Limited) -> QueryOptions {
        QueryOptions { on_profile: self.on_profile.clone(), ..limited.options.clone() }
    }

    /// The same, if a role may run it.
    pub fn allowed(self, role: Role) -> Result<Self, Problem> {
        if self.query.writes() {
            must_be(role, Role::Write)?;
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
    caller.note(&sent.read.gremlin);
    let ready = sent.read.ready(&web, name).await?.allowed(caller.principal.role)?.told(caller.on_profile());
    let named = [(header::CONTENT_TYPE, form.name())];
    if form == Form::Json {
        let (bytes_max, timeout, room) = (web.gremlin.limits.response_bytes_max, ready.timeout, ready.room);
        let text = work::run(&web.gremlin, room, timeout, move |limited| whole(&ready, &ready.options(&limited), bytes_max))
            .await?;
        return Ok((named, work::held(&web, text.into_bytes())?).into_response());
    }
    let fill = if form == Form::Arrow { arrow } else { lines };
    let (room, timeout) = (ready.room, ready.timeout);
    let body = streamed(&web.gremlin, room, timeout, move |limited, out| fill(&ready, &limited, out)).await?;
    Ok((named, Body::new(body)).into_response())
}

pub async fn explain(
    State(web): State<Arc<Web>>,
    caller: As,
    Path(name): Path<String>,
    sent: Document<Asked>,
) -> Result<Response, Problem> {
    caller.note(&sent.read.gremlin);
    let ready = sent.read.ready(&web, name).await?;
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
    caller.note(&sent.read.gremlin);
    let ready = sent.read.ready(&web, name).await?.allowed(caller.principal.role)?.told(caller.on_profile());
    let profiled = work::run(&web.gremlin, ready.room, ready.timeout, move |limited| {
        let options = ready.options(&limited);
        Ok(ready.database.profile(ready.query, &ready.parameters, &options)?.to_json())
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

/// A part of so many bytes is full.
const PART_BYTES: usize = 1 << 20;
/// The rows of a record batch, and about the most bytes of one over Arrow Flight.
const BATCH_ROWS: usize = 2048;
const BATCH_BYTES: usize = 4 << 20;

/// A document for each result.
fn lines(ready: &Ready, limited: &Limited, out: &mut Parts<Bytes>) -> Result<(), Problem> {
    let mut results = ready.database.query(ready.query.clone(), &ready.parameters, &ready.options(limited))?;
    while let Some(some) = results.next_described()? {
        let mut text = String::new();
        for result in &some {
            json::write_described(&mut text, result);
            text.push('\n');
            if text.len() >= PART_BYTES {
                send(out, std::mem::take(&mut text).into())?;
            }
        }
        send(out, text.into())?;
    }
    out.begin();
    Ok(())
}

/// How somebody with a role can read the results of a query.
pub async fn shards(web: &Arc<Web>, name: String, asked: Asked, role: Role) -> Result<Shards, Problem> {
    let ready = asked.ready(web, name).await?.allowed(role)?;
    let found = work::run(&web.gremlin, Room::Reading, ready.timeout, move |limited| {
        Ok(ready.database.shards(ready.query.clone(), &ready.parameters, &limited.options)?)
    });
    found.await
}

/// Runs a query of somebody with a role, in one shard or in the whole graph. Gives its results as record batches, with their schema.
pub async fn record_batches(
    web: &Arc<Web>,
    name: Option<String>,
    (asked, shard): (Asked, Option<ShardAt>),
    role: Role,
    on_profile: Option<OnProfile>,
) -> Result<(SchemaRef, Streamed<RecordBatch>), Problem> {
    let ready = asked.ready(web, name_or_first(web, name)).await?.allowed(role)?.told(on_profile).on(shard);
    let (known, schema) = oneshot::channel();
    let results = streamed(&web.gremlin, ready.room, ready.timeout, move |limited, out| {
        let batches = batches(&ready, &limited)?;
        // If the client is gone, nobody wants to know.
        let _ = known.send(batches.schema());
        out.begin();
        batches.into_iter().try_for_each(|batch| {
            let batch = batch?;
            let bytes = batch.get_array_memory_size();
            // Slices share their buffers, so each counts its part of them.
            let (rows, pieces) = (batch.num_rows(), bytes.div_ceil(BATCH_BYTES).clamp(1, batch.num_rows().max(1)));
            let of_piece = rows.div_ceil(pieces).max(1);
            (0..rows.max(1))
                .step_by(of_piece)
                .try_for_each(|at| out.send(batch.slice(at, of_piece.min(rows - at)), bytes / pieces))
        })
    });
    let results = results.await?;
    let schema = schema.await.map_err(|_| Problem::bug("results without a schema: please report this"))?;
    Ok((schema, results))
}

/// Record batches of the results.
fn batches(ready: &Ready, limited: &Limited) -> Result<Batches, Problem> {
    let (query, options) = (ready.query.clone(), ready.options(limited));
    let stream = match ready.shard {
        None => ready.database.stream(query, &ready.parameters, &options),
        Some(shard) => ready.database.on_shard(shard).stream(query, &ready.parameters, &options),
    };
    Ok(Batches::new(stream?, BATCH_ROWS)?)
}

/// The stream format of Arrow IPC.
fn arrow(ready: &Ready, limited: &Limited, out: &mut Parts<Bytes>) -> Result<(), Problem> {
    let batches = batches(ready, limited)?;
    let mut writer = StreamWriter::try_new(Vec::new(), &batches.schema())?;
    for batch in batches {
        writer.write(&batch?)?;
        send(out, std::mem::take(writer.get_mut()).into())?;
    }
    writer.finish()?;
    send(out, std::mem::take(writer.get_mut()).into())
}

/// Sends bytes in pieces. A client that takes them slowly then holds little memory.
fn send(out: &mut Parts<Bytes>, mut part: Bytes) -> Result<(), Problem> {
    while part.len() > PART_BYTES {
        out.send(part.split_to(PART_BYTES), PART_BYTES)?;
    }
    let bytes = part.len();
    out.send(part, bytes)
}
