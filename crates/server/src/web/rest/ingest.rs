//! Rows of vertices or edges, in bulk. All of them are stored, or none.

use std::fs::File;
use std::io::BufReader;
use std::path::Path as FilePath;
use std::pin::Pin;
use std::sync::Arc;

use arrow_ipc::reader::StreamReader;
use axum::Json;
use axum::body::{Body, HttpBody};
use axum::extract::{Path, Query, Request, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use mangrove::analytics::Stage;
use mangrove::ingest::{
    EdgeFiles, Format, KeyColumn, Merging, NodeFiles, OnDuplicate, OnExists, Phase, Progress, Status, Table, TableInput,
};
use mangrove::{CancelToken, ElementKind, LoadError, LoadOptions, LoadReport};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::sync::{OwnedSemaphorePermit, oneshot};

use super::super::Web;
use super::super::meter::Meter;
use super::caller::{As, database};
use super::jobs::{self, Failed, Job, Outcome};
use super::messages;
use super::problem::Problem;
use super::spool::Spool;
use super::work::Guard;
use crate::gremlin::{Gremlin, Room};
use crate::users::Role;

/// What the rows are. Without vertices and edges, they say so themselves, as those that `mangrove export` writes.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct What {
    /// The label of vertices.
    vertices: Option<String>,
    /// The label of edges, or SOURCE:LABEL:TARGET with the labels of their ends.
    edges: Option<String>,
    /// The column that names the vertices, unless it is called `id`.
    key: Option<String>,
    #[serde(default)]
    on_exists: Exists,
    #[serde(default)]
    on_duplicate: Duplicate,
    #[serde(default)]
    create_missing: bool,
    /// Answer at once; the job goes on.
    #[serde(default)]
    background: bool,
}

#[derive(Deserialize, Default, Clone, Copy)]
#[serde(rename_all = "lowercase")]
enum Exists {
    #[default]
    Error,
    Skip,
    Update,
    Replace,
}

#[derive(Deserialize, Default, Clone, Copy)]
#[serde(rename_all = "lowercase")]
enum Duplicate {
    #[default]
    Add,
    Skip,
    Update,
}

/// The form of the rows.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum RowForm {
    File(Format),
    Arrow,
}

/// Rows that have come, and their form.
pub struct Rows {
    pub form: RowForm,
    pub spool: Spool,
}

impl RowForm {
    fn of(headers: &HeaderMap) -> Result<Self, Problem> {
        let kind = headers.get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
        Ok(match kind.split(';').next().unwrap_or_default().trim() {
            "text/csv" => Self::File(Format::Csv),
            "application/x-ndjson" => Self::File(Format::Jsonl),
            "application/vnd.apache.parquet" => Self::File(Format::Parquet),
            "application/vnd.apache.arrow.stream" => Self::Arrow,
            _ => {
                let message = "rows come as text/csv, application/x-ndjson, application/vnd.apache.parquet or \
                               application/vnd.apache.arrow.stream";
                return Err(Problem::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, message));
            }
        })
    }
}

pub async fn ingest(
    State(web): State<Arc<Web>>,
    caller: As,
    Path(name): Path<String>,
    Query(what): Query<What>,
    request: Request,
) -> Result<Response, Problem> {
    caller.must_be(Role::Write)?;
    database(&web, &name)?;
    let form = RowForm::of(request.headers())?;
    let place = web.jobs.place(false)?;
    let rows = Rows { form, spool: received(&web, request).await? };
    let background = what.background;
    let (job, ended) = store(&web, &name, what, rows, place)?;
    if background {
        return Ok(jobs::accepted(&job));
    }
    Ok((StatusCode::OK, Json(stored(&job, ended).await?)).into_response())
}

/// Begins to store rows that have come.
pub fn store(
    web: &Arc<Web>,
    name: &str,
    what: What,
    rows: Rows,
    place: OwnedSemaphorePermit,
) -> Result<(Arc<Job>, oneshot::Receiver<()>), Problem> {
    let (database, gremlin) = (database(web, name)?.clone(), web.gremlin.clone());
    let Rows { form, spool } = rows;
    let load = move |job: &Job| {
        // It waits in line like any other write, but its time is its own.
        let _place = entered(&gremlin)?;
        let path = spool.path();
        let options = what.options(&path, form, gremlin.limits.memory_bytes_max)?;
        // The rows came in no file that the client knows.
        let file = path.display().to_string();
        let failed = |error: LoadError| Failed {
            why: error.to_string().replace(&file, Spool::FILE),
            is_cancelled: Shown(job).cancelled(),
        };
        let report = database.load(&options, &mut Shown(job)).map_err(failed)?;
        Ok(Outcome { summary: summary(&report), values: None })
    };
    jobs::spawn(web, place, "load", name, Some(CancelToken::default()), load)
}

/// Waits until a job has stored its rows. It ends if nobody waits any more.
pub async fn stored(job: &Job, ended: oneshot::Receiver<()>) -> Result<Value, Problem> {
    let _guard = Guard(job.cancel.clone().unwrap_or_default());
    // The thread ends in any case.
    let _ = ended.await;
    let shown = job.shown();
    match shown["state"].as_str() {
        Some("done") => Ok(shown),
        _ => Err(Problem::new(StatusCode::UNPROCESSABLE_ENTITY, shown["error"].as_str().unwrap_or_default())),
    }
}

fn entered(gremlin: &Arc<Gremlin>) -> Result<tokio::sync::OwnedSemaphorePermit, String> {
    let entering = gremlin.rooms.enter(Room::Writing, None, std::future::pending());
    gremlin.runtime.block_on(entering).map_err(|refused| refused.message.into_owned())
}

/// Writes the body to a file.
async fn received(web: &Arc<Web>, request: Request) -> Result<Spool, Problem> {
    let meter = request.extensions().get::<Arc<Meter>>().cloned();
    let (mut body, mut spool): (Body, _) = (request.into_body(), Spool::new(web.ingest_bytes_max)?);
    while let Some(frame) = std::future::poll_fn(|cx| Pin::new(&mut body).poll_frame(cx)).await {
        let frame = frame.map_err(|error| Problem::wrong(format!("the rows did not come whole: {error}")))?;
        // It may take long, as long as something comes.
        meter.iter().for_each(|meter| meter.go_on());
        if let Ok(data) = frame.into_data() {
            spool.write(data).await?;
        }
    }
    Ok(spool)
}

impl What {
    fn options(&self, path: &FilePath, form: RowForm, bytes_max: usize) -> Result<LoadOptions, String> {
        let merge = Merging {
            on_exists: match self.on_exists {
                Exists::Error => OnExists::Error,
                Exists::Skip => OnExists::Skip,
                Exists::Update => OnExists::Update,
                Exists::Replace => OnExists::Replace,
            },
            on_duplicate: match self.on_duplicate {
                Duplicate::Add => OnDuplicate::Add,
                Duplicate::Skip => OnDuplicate::Skip,
                Duplicate::Update => OnDuplicate::Update,
            },
            create_missing: self.create_missing,
            ..Merging::default()
        };
        let mut options = LoadOptions { merge, ..LoadOptions::default() };
        let [source, label, target] = self.ends();
        match form {
            RowForm::Arrow => options.tables = vec![self.table(path, [source, label, target], bytes_max)?],
            RowForm::File(format) => {
                options.format = format;
                match (&self.vertices, label) {
                    (Some(label), None) => {
                        options.nodes = vec![NodeFiles { label: label.as_str().into(), files: vec![path.to_owned()] }];
                        let key = self.key.iter();
                        options.keys =
                            key.map(|column| KeyColumn { label: label.as_str().into(), column: column.clone() }).collect();
                    }
                    (None, Some(label)) => {
                        options.edges = vec![EdgeFiles { source, label, target, files: vec![path.to_owned()] }]
                    }
                    (None, None) => options.files = vec![path.to_owned()],
                    (Some(_), Some(_)) => return Err(BOTH.into()),
                }
            }
        }
        Ok(options)
    }

    /// The labels of edges: of their source, their own, of their target.
    fn ends(&self) -> [Option<Arc<str>>; 3] {
        let Some(edges) = &self.edges else { return [None, None, None] };
        let some = |text: &str| Some(text.into()).filter(|_| !text.is_empty());
        match edges.split(':').collect::<Vec<_>>()[..] {
            [source, label, target] => [some(source), some(label), some(target)],
            _ => [None, some(edges), None],
        }
    }

    fn table(&self, path: &FilePath, ends: [Option<Arc<str>>; 3], bytes_max: usize) -> Result<TableInput, String> {
        let [source, edge, target] = ends;
        let (kind, label) = match (&self.vertices, edge) {
            (Some(label), None) => (ElementKind::Vertex, label.as_str().into()),
            (None, Some(label)) => (ElementKind::Edge, label),
            (None, None) => return Err("say what the rows are: ?vertices=LABEL or ?edges=SOURCE:LABEL:TARGET".into()),
            (Some(_), Some(_)) => return Err(BOTH.into()),
        };
        let failed = |error: &dyn std::fmt::Display| format!("the record batches: {error}");
        let file = File::open(path).map_err(|error| failed(&error))?;
        messages::check(&file, bytes_max).map_err(|error| failed(&error))?;
        let reader = StreamReader::try_new(BufReader::new(file), None).map_err(|error| failed(&error))?;
        let (schema, mut batches, mut bytes) = (reader.schema(), Vec::new(), 0);
        for batch in reader {
            let batch = batch.map_err(|error| failed(&error))?;
            bytes += batch.get_array_memory_size();
            if bytes > bytes_max {
                return Err(format!(
                    "the record batches take more than {} MB: send them in parts, or as Parquet",
                    bytes_max >> 20
                ));
            }
            batches.push(batch);
        }
        let (label, key) = (Some(label), self.key.clone());
        Ok(TableInput { name: "rows".into(), kind, label, source, target, key, table: Table::Arrow { schema, batches } })
    }
}

const BOTH: &str = "rows are vertices or edges, not both";

/// Shows how far a load is, and stops it when its job is cancelled.
struct Shown<'j>(&'j Job);

impl Progress for Shown<'_> {
    fn update(&mut self, status: &Status) {
        let name = match status.phase {
            Phase::Planning => "planning",
            Phase::Vertices => "vertices",
            Phase::Edges => "edges",
            Phase::Retyping => "retyping",
            Phase::Ordering => "ordering",
            Phase::Compacting => "compacting",
        };
        self.0.show(Stage { name, done: status.bytes_done, of: status.bytes_total });
    }

    fn cancelled(&self) -> bool {
        self.0.cancel.as_ref().is_some_and(CancelToken::is_cancelled)
    }
}

/// What a load did.
fn summary(report: &LoadReport) -> Value {
    json!({
        "vertices": report.vertex_count(),
        "edges": report.edge_count(),
        "properties": report.properties,
        "rejects": report.rejects,
        "warnings": report.warnings,
        "seconds": report.duration.as_secs_f64(),
    })
}
