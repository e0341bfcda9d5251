//! Long work that goes on without its client: algorithms, checks, backups, compaction.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path as FilePath, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use arrow_array::RecordBatch;
use axum::Json;
use axum::extract::{Path, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use mangrove::analytics::Stage;
use mangrove::describe::Described;
use mangrove::{AnalyzeError, AnalyzeOptions, CancelToken, Database, Parameters, StoreError, json};
use serde::Deserialize;
use serde_json::{Map, Value, json};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot};

use super::super::Web;
use super::caller::{As, Document, database};
use super::problem::Problem;
use super::work;
use crate::gremlin::Room;
use crate::users::Role;

/// The most algorithms that run at a time, and the most other jobs.
const RUNNING_MAX: usize = 2;
/// The longest time of an algorithm.
const ALGORITHM: Duration = Duration::from_secs(3600);
/// The most jobs that are remembered once they are done.
const DONE_MAX: usize = 100;
/// The most jobs whose values are kept.
const VALUES_MAX: usize = 4;

/// What a job is to do.
#[derive(Deserialize)]
#[serde(tag = "do", rename_all = "lowercase", deny_unknown_fields)]
pub enum Todo {
    /// Reads the whole database, and reports every contradiction in it.
    Check {},
    /// Compresses the whole database.
    Compact {},
    /// Copies the database into the directory of backups.
    Backup { name: String },
    /// Runs an algorithm on the whole graph.
    Analyze {
        algorithm: String,
        #[serde(default)]
        options: Map<String, Value>,
        vertices: Option<Vec<String>>,
        edges: Option<Vec<String>>,
        weight: Option<String>,
        #[serde(default = "yes")]
        directed: bool,
        /// The property of vertices to write the values to.
        write: Option<String>,
    },
}

const ANALYZE: &str = "analyze";

fn yes() -> bool {
    true
}

impl Todo {
    fn name(&self) -> &'static str {
        match self {
            Self::Check {} => "check",
            Self::Compact {} => "compact",
            Self::Backup { .. } => "backup",
            Self::Analyze { .. } => ANALYZE,
        }
    }

    fn role(&self) -> Role {
        match self {
            Self::Analyze { write: None, .. } => Role::Read,
            Self::Analyze { .. } => Role::Write,
            Self::Check {} | Self::Compact {} | Self::Backup { .. } => Role::Admin,
        }
    }

    /// The others do not look whether they are to stop.
    fn cancel(&self) -> Option<CancelToken> {
        matches!(self, Self::Analyze { .. } | Self::Compact {}).then(CancelToken::default)
    }

    /// The same, if it can be done.
    fn ready(self, web: &Web, database: &Database) -> Result<Work, Problem> {
        Ok(match self {
            Self::Check {} => Work::Check,
            Self::Compact {} => Work::Compact,
            Self::Backup { name } => Work::Backup { path: backup_path(web.backups.as_deref(), &name)?, name },
            Self::Analyze { algorithm, options, vertices, edges, weight, directed, write } => {
                let parameters = options.iter().map(|(name, value)| (name.clone(), json::value(value))).collect();
                let memory_bytes = Some(web.gremlin.limits.memory_bytes_max as u64);
                let (timeout, rest) = (Some(ALGORITHM), AnalyzeOptions::default());
                let options = AnalyzeOptions { vertices, edges, weight, directed, write, memory_bytes, timeout, ..rest };
                let checked = database.check_analysis(&algorithm, &parameters, &options);
                checked.map_err(|error| match &error {
                    AnalyzeError::Graph(_) | AnalyzeError::Bug(_) => Problem::bug(error.to_string()),
                    AnalyzeError::Invalid(_) | AnalyzeError::Analytics(_) => Problem::wrong(error.to_string()),
                })?;
                Work::Analyze { algorithm, parameters, options: Box::new(options) }
            }
        })
    }
}

/// What a job does.
enum Work {
    Check,
    Compact,
    Backup { name: String, path: PathBuf },
    Analyze { algorithm: String, parameters: Parameters, options: Box<AnalyzeOptions> },
}

/// What came out of a job.
pub struct Outcome {
    pub summary: Value,
    pub values: Option<RecordBatch>,
}

/// Why a job has no outcome.
pub struct Failed {
    pub why: Problem,
    pub is_cancelled: bool,
}

impl Failed {
    pub fn new(why: impl Into<String>, is_cancelled: bool) -> Self {
        Self { why: Problem::new(StatusCode::UNPROCESSABLE_ENTITY, why), is_cancelled }
    }
}

impl From<String> for Failed {
    fn from(why: String) -> Self {
        Self::new(why, false)
    }
}

impl From<Problem> for Failed {
    fn from(why: Problem) -> Self {
        Self { why, is_cancelled: false }
    }
}

pub struct Job {
    id: u64,
    todo: &'static str,
    database: String,
    /// `None` if it cannot be stopped.
    pub cancel: Option<CancelToken>,
    begun: Instant,
    state: Mutex<JobState>,
}

enum JobState {
    Running(Option<Stage>),
    Done { outcome: Result<Outcome, Failed>, seconds: f64 },
}

impl Job {
    fn state(&self) -> MutexGuard<'_, JobState> {
        // A panic cannot leave it half changed.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What an algorithm gave, if it is still known.
    pub fn values(&self) -> Option<RecordBatch> {
        match &*self.state() {
            JobState::Done { outcome: Ok(outcome), .. } => outcome.values.clone(),
            _ => None,
        }
    }

    /// Why it failed, if it did.
    pub fn failure(&self) -> Option<Problem> {
        match &*self.state() {
            JobState::Done { outcome: Err(failed), .. } => Some(failed.why.clone()),
            _ => None,
        }
    }

    fn is_running(&self) -> bool {
        matches!(*self.state(), JobState::Running(_))
    }

    /// Says how far it is.
    pub fn show(&self, stage: Stage) {
        *self.state() = JobState::Running(Some(stage));
    }

    pub fn shown(&self) -> Value {
        let mut shown = json!({"id": self.id, "do": self.todo, "database": self.database});
        match &*self.state() {
            JobState::Running(stage) => {
                shown["state"] = "running".into();
                shown["seconds"] = self.begun.elapsed().as_secs_f64().into();
                if let Some(stage) = stage {
                    // 0 if nobody knows.
                    let of = Some(stage.of).filter(|of| *of > 0);
                    shown["progress"] = json!({"stage": stage.name, "done": stage.done, "of": of});
                }
            }
            JobState::Done { outcome, seconds } => {
                shown["seconds"] = (*seconds).into();
                match outcome {
                    Ok(outcome) => {
                        shown["state"] = "done".into();
                        shown["summary"] = outcome.summary.clone();
                        shown["hasValues"] = outcome.values.is_some().into();
                    }
                    Err(Failed { why, is_cancelled }) => {
                        shown["state"] = if *is_cancelled { "cancelled" } else { "failed" }.into();
                        shown["error"] = why.detail.as_str().into();
                    }
                }
            }
        }
        shown
    }
}

/// The jobs of a server, the newest last.
pub struct Jobs {
    jobs: Mutex<VecDeque<Arc<Job>>>,
    next: AtomicU64,
    /// A permit for each algorithm that may run, and one for each other job.
    algorithms: Arc<Semaphore>,
    upkeep: Arc<Semaphore>,
}

impl Default for Jobs {
    fn default() -> Self {
        let [algorithms, upkeep] = [(); 2].map(|()| Arc::new(Semaphore::new(RUNNING_MAX)));
        Self { jobs: Mutex::default(), next: AtomicU64::default(), algorithms, upkeep }
    }
}

impl Jobs {
    fn lock(&self) -> MutexGuard<'_, VecDeque<Arc<Job>>> {
        // A panic cannot leave it half changed.
        self.jobs.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn running(&self) -> usize {
        self.lock().iter().filter(|job| job.is_running()).count()
    }

    pub fn find(&self, id: u64) -> Result<Arc<Job>, Problem> {
        let found = self.lock().iter().find(|job| job.id == id).cloned();
        found.ok_or_else(|| {
            Problem::missing(format!("there is no job {id}: it may have been forgotten, or the server restarted"))
        })
    }

    /// A place for an algorithm, or for another job.
    pub fn place(&self, is_algorithm: bool) -> Result<OwnedSemaphorePermit, Problem> {
        let room = if is_algorithm { &self.algorithms } else { &self.upkeep };
        room.clone().try_acquire_owned().map_err(|_| {
            let message = format!("{RUNNING_MAX} such jobs are running: wait for one, or cancel one");
            Problem::new(StatusCode::TOO_MANY_REQUESTS, message)
        })
    }

    fn add(&self, todo: &'static str, database: &str, cancel: Option<CancelToken>) -> Arc<Job> {
        let mut jobs = self.lock();
        let is_old = |job: &Arc<Job>| !job.is_running();
        while jobs.len() >= DONE_MAX
            && let Some(at) = jobs.iter().position(is_old)
        {
            jobs.remove(at);
        }
        let job = Arc::new(Job {
            id: self.next.fetch_add(1, Ordering::Relaxed) + 1,
            todo,
            database: database.to_owned(),
            cancel,
            begun: Instant::now(),
            state: Mutex::new(JobState::Running(None)),
        });
        jobs.push_back(job.clone());
        job
    }

    /// Forgets the values of older jobs.
    fn trim_values(&self) {
        let mut kept = 0;
        for job in self.lock().iter().rev() {
            if let JobState::Done { outcome: Ok(outcome), .. } = &mut *job.state()
                && outcome.values.is_some()
            {
                kept += 1;
                if kept > VALUES_MAX {
                    outcome.values = None;
                }
            }
        }
    }

    /// Stops what can be stopped, waits for all to end, and lets no other begin.
    pub async fn end(&self) {
        self.lock().iter().filter_map(|job| job.cancel.as_ref()).for_each(CancelToken::cancel);
        for room in [&self.algorithms, &self.upkeep] {
            if let Ok(places) = room.acquire_many(RUNNING_MAX as u32).await {
                places.forget();
            }
        }
    }
}

pub async fn begin(
    State(web): State<Arc<Web>>,
    caller: As,
    Path(name): Path<String>,
    sent: Document<Todo>,
) -> Result<Response, Problem> {
    let todo = sent.read;
    caller.must_be(todo.role())?;
    let database = database(&web, &name)?.clone();
    let (kind, cancel) = (todo.name(), todo.cancel());
    let place = web.jobs.place(matches!(todo, Todo::Analyze { .. }))?;
    let work = match matches!(todo, Todo::Analyze { .. }) {
        // It reads the schema.
        true => {
            let (its_web, its_database) = (web.clone(), database.clone());
            let ready = move |_| todo.ready(&its_web, &its_database);
            work::run(&web.gremlin, Room::Reading, None, ready).await?
        }
        false => todo.ready(&web, &database)?,
    };
    let (job, _) = spawn(&web, place, kind, &name, cancel, move |job| run(job, &database, &work))?;
    Ok(accepted(&job))
}

/// Begins a job on a thread of its own. What it returns with it is closed when the job has ended.
pub fn spawn(
    web: &Arc<Web>,
    place: OwnedSemaphorePermit,
    todo: &'static str,
    database: &str,
    cancel: Option<CancelToken>,
    work: impl FnOnce(&Job) -> Result<Outcome, Failed> + Send + 'static,
) -> Result<(Arc<Job>, oneshot::Receiver<()>), Problem> {
    let job = web.jobs.add(todo, database, cancel);
    let (web, its, (end, ended)) = (web.clone(), job.clone(), oneshot::channel());
    let thread = std::thread::Builder::new().name("job".into()).spawn(move || {
        let outcome = catch_unwind(AssertUnwindSafe(|| work(&its)));
        let outcome = outcome.unwrap_or_else(|_| Err("the server failed: please report this".to_owned().into()));
        *its.state() = JobState::Done { outcome, seconds: its.begun.elapsed().as_secs_f64() };
        web.jobs.trim_values();
        drop((place, end));
    });
    if let Err(error) = thread {
        *job.state() = JobState::Done { outcome: Err(error.to_string().into()), seconds: 0.0 };
        return Err(Problem::new(StatusCode::SERVICE_UNAVAILABLE, format!("no thread for a job: {error}")));
    }
    Ok((job, ended))
}

/// The answer while a job goes on.
pub fn accepted(job: &Job) -> Response {
    let location = format!("/api/jobs/{}", job.id);
    (StatusCode::ACCEPTED, [(header::LOCATION, location)], Json(job.shown())).into_response()
}

/// Where a backup goes. Its name is that of a new directory, and no path.
fn backup_path(directory: Option<&FilePath>, name: &str) -> Result<PathBuf, Problem> {
    let Some(directory) = directory else {
        return Err(Problem::wrong("the server has no directory of backups: start it with --backups DIRECTORY"));
    };
    let is_plain = !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte));
    if !is_plain || name.starts_with('.') {
        return Err(Problem::wrong("the name of a backup has letters, digits, `-`, `_` and `.`, and begins with no `.`"));
    }
    let path = directory.join(name);
    match path.exists() {
        true => Err(Problem::new(StatusCode::CONFLICT, format!("there is a backup named {name:?}: choose another name"))),
        false => Ok(path),
    }
}

fn run(job: &Job, database: &Database, work: &Work) -> Result<Outcome, Failed> {
    let plain = |summary| Ok(Outcome { summary, values: None });
    match work {
        Work::Check => {
            let report = database.check().map_err(|error| error.to_string())?;
            let violations: Vec<String> = report.violations.iter().map(ToString::to_string).collect();
            plain(json!({"violations": violations, "violationsTotal": report.violations_total,
                "vertices": report.vertices, "edges": report.edges}))
        }
        Work::Compact => {
            let cancel = job.cancel.clone().unwrap_or_default();
            let compacted = database.clone().interruptible(cancel.clone()).compact();
            let failed = |error: StoreError| Failed::new(error.to_string(), cancel.is_cancelled());
            plain(json!({"segmentBytes": compacted.map_err(failed)?}))
        }
        Work::Backup { name, path } => {
            database.backup(path).map_err(|error| error.to_string())?;
            plain(json!({"name": name}))
        }
        Work::Analyze { algorithm, parameters, options } => {
            let cancel = job.cancel.clone().unwrap_or_default();
            let options = AnalyzeOptions { cancel, ..(**options).clone() };
            let mut show = |stage: Stage| job.show(stage);
            let found = database.analyze(algorithm, parameters, &options, &mut show);
            let found = found.map_err(|error| Failed::new(error.to_string(), error.is_cancelled()))?;
            let told = found.summary.iter().map(|(name, value)| {
                let text = json::to_string(&Described::Plain(value.clone()));
                ((*name).to_owned(), serde_json::from_str(&text).unwrap_or(Value::String(text)))
            });
            let summary = Value::Object(told.collect());
            Ok(Outcome { summary, values: options.write.is_none().then_some(found.values) })
        }
    }
}

pub async fn list(State(web): State<Arc<Web>>, _: As) -> Json<Value> {
    let jobs: Vec<Value> = web.jobs.lock().iter().map(|job| job.shown()).collect();
    Json(json!({"jobs": jobs}))
}

pub async fn show(State(web): State<Arc<Web>>, _: As, Path(id): Path<u64>) -> Result<Json<Value>, Problem> {
    Ok(Json(web.jobs.find(id)?.shown()))
}

/// Stops a job. It ends a little later.
pub async fn cancel(State(web): State<Arc<Web>>, caller: As, Path(id): Path<u64>) -> Result<StatusCode, Problem> {
    let job = web.jobs.find(id)?;
    // Whoever may begin it may stop it.
    caller.must_be(if job.todo == ANALYZE { Role::Read } else { Role::Write })?;
    match &job.cancel {
        _ if !job.is_running() => Err(Problem::new(StatusCode::CONFLICT, format!("job {id} has ended"))),
        Some(cancel) => {
            cancel.cancel();
            Ok(StatusCode::ACCEPTED)
        }
        None => Err(Problem::new(StatusCode::CONFLICT, format!("job {id} ({}) cannot be stopped", job.todo))),
    }
}
