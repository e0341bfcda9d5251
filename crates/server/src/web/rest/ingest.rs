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
    EdgeFiles, Format, KeyColumn, Merging, NodeFiles, OnDuplicate, OnExists, Phase, Progress, Spelling, Status, Table,
    TableInput,
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

/// What the rows are: vertices or edges.
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

/// The label of rows.
enum Labelled {
    Vertices(Arc<str>),
    /// Edges, with the labels of their ends where they are known.
    Edges {
        source: Option<Arc<str>>,
        label: Arc<str>,
        target: Option<Arc<str>>,
    },
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
    what.check()?;
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
        let told = |message: &str| Spelling::Http.of(&message.replace(&file, Spool::FILE));
        let failed = |error: LoadError| Failed::new(told(&error.to_string()), Shown(job).cancelled());
        let report = database.load(&options, &mut Shown(job)).map_err(failed)?;
        Ok(Outcome { summary: summary(&report, told), values: None })
    };
    jobs::spawn(web, place, "load", name, Some(CancelToken::default()), load)
}

/// Waits until a job has stored its rows. It ends if nobody waits any more.
pub async fn stored(job: &Job, ended: oneshot::Receiver<()>) -> Result<Value, Problem> {
    let _guard = Guard(job.cancel.clone().unwrap_or_default());
    // The thread ends in any case.
    let _ = ended.await;
    job.failure().map_or_else(|| Ok(job.shown()), Err)
}

fn entered(gremlin: &Arc<Gremlin>) -> Result<OwnedSemaphorePermit, Problem> {
    Ok(gremlin.runtime.block_on(gremlin.rooms.enter(Room::Writing, None, std::future::pending()))?)
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
    /// Fails if it does not say what the rows are.
    pub fn check(&self) -> Result<(), Problem> {
        self.labelled().map(drop)
    }

    fn options(&self, path: &FilePath, form: RowForm, bytes_max: usize) -> Result<LoadOptions, Failed> {
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
        match (form, self.labelled()?) {
            (RowForm::Arrow, labelled) => {
                options.tables = vec![self.table(path, labelled, bytes_max).map_err(Failed::from)?]
            }
            (RowForm::File(format), Labelled::Vertices(label)) => {
                options.format = format;
                let key = |column: &String| KeyColumn { label: label.clone(), column: column.clone() };
                options.keys = self.key.iter().map(key).collect();
                options.nodes = vec![NodeFiles { label, files: vec![path.to_owned()] }];
            }
            (RowForm::File(format), Labelled::Edges { source, label, target }) => {
                options.format = format;
                options.edges = vec![EdgeFiles { source, label, target, files: vec![path.to_owned()] }];
            }
        }
        Ok(options)
    }

    /// What the rows are. Fails if that is not said, or contradictory.
    fn labelled(&self) -> Result<Labelled, Problem> {
        let some = |text: &str| Some(text.into()).filter(|_| !text.is_empty());
        let labelled = match (&self.vertices, &self.edges) {
            (Some(label), None) => some(label).map(Labelled::Vertices),
            (None, Some(edges)) => match edges.split(':').collect::<Vec<_>>()[..] {
                [source, label, target] => {
                    some(label).map(|label| Labelled::Edges { source: some(source), label, target: some(target) })
                }
                _ => some(edges).map(|label| Labelled::Edges { source: None, label, target: None }),
            },
            (None, None) => None,
            (Some(_), Some(_)) => return Err(Problem::wrong("rows are vertices or edges, not both")),
        };
        labelled.ok_or_else(|| Problem::wrong("say what the rows are: vertices=LABEL or edges=SOURCE:LABEL:TARGET"))
    }

    fn table(&self, path: &FilePath, labelled: Labelled, bytes_max: usize) -> Result<TableInput, String> {
        let (kind, source, label, target) = match labelled {
            Labelled::Vertices(label) => (ElementKind::Vertex, None, label, None),
            Labelled::Edges { source, label, target } => (ElementKind::Edge, source, label, target),
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
        Ok(TableInput {
            name: Spool::FILE.into(),
            kind,
            label,
            source,
            target,
            key,
            ends: None,
            table: Table::Arrow { schema, batches },
        })
    }
}

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

/// What a load did. `told` makes its warnings those of a client.
fn summary(report: &LoadReport, told: impl Fn(&str) -> String) -> Value {
    let warnings: Vec<String> = report.warnings.iter().map(|warning| told(warning)).collect();
    json!({
        "vertices": report.vertex_count(),
        "edges": report.edge_count(),
        "properties": report.properties,
        "rejects": report.rejects,
        "warnings": warnings,
        "seconds": report.duration.as_secs_f64(),
    })
}
