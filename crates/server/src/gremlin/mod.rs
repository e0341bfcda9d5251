//! The Gremlin protocol without its transport: what requests ask for, and the responses to them.

mod ask;
mod refused;
mod run;
mod session;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use mangrove::{CancelToken, Database, QueryOptions};
use tokio::sync::{Semaphore, mpsc};
use uuid::Uuid;

use crate::status::Status;
use crate::wire::{Form, Reply, Request};
use ask::Ask;
pub use refused::Refused;
use run::Sink;
use session::Session;

/// What bounds the work of a server.
#[derive(Clone, Debug)]
pub struct Limits {
    /// The longest time of a query. A request may ask for less.
    pub timeout: Option<Duration>,
    /// The most bytes that a query may hold.
    pub memory_bytes_max: usize,
    /// The most queries that run at a time.
    pub running_max: usize,
    /// The most queries that wait for others to end.
    pub waiting_max: usize,
    /// The most open sessions. Each has a thread.
    pub sessions_max: usize,
    /// How long a transaction of a session may stay without a request.
    pub idle_transaction: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        let threads = std::thread::available_parallelism().map_or(2, usize::from);
        Self {
            timeout: Some(Duration::from_secs(30)),
            memory_bytes_max: QueryOptions::default().memory_bytes_max / 4,
            running_max: threads * 2,
            waiting_max: 1000,
            sessions_max: 256,
            idle_transaction: Duration::from_secs(60),
        }
    }
}

/// The databases of a server, and the work on them.
pub struct Gremlin {
    /// By the name of their traversal source. The first is the default.
    databases: Vec<(String, Database)>,
    pub limits: Limits,
    running: Arc<Semaphore>,
    waiting: AtomicUsize,
    sessions: AtomicUsize,
}

/// A response in the form that its client expects.
pub struct Answer {
    pub status: Status,
    pub bytes: Vec<u8>,
}

/// Responses on their way to a client. It closes when the client is gone.
pub type Replies = mpsc::Sender<Answer>;

impl Gremlin {
    pub fn new(databases: Vec<(String, Database)>, limits: Limits) -> Self {
        let running = Arc::new(Semaphore::new(limits.running_max));
        Self { databases, limits, running, waiting: AtomicUsize::new(0), sessions: AtomicUsize::new(0) }
    }

    /// The database whose traversal source has a name.
    fn database(&self, source: Option<&str>) -> Option<&Database> {
        let mut databases = self.databases.iter();
        match source {
            None => databases.next(),
            Some(source) => databases.find(|(name, _)| name == source),
        }
        .map(|(_, database)| database)
    }

    fn sources(&self) -> String {
        self.databases.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>().join(", ")
    }

    /// Waits until no query runs, and lets no other begin. Sessions go on.
    pub async fn drain(&self) {
        let all = u32::try_from(self.limits.running_max).unwrap_or(u32::MAX);
        // It waits in line before all queries that come later.
        if let Ok(permits) = self.running.acquire_many(all).await {
            permits.forget();
        }
        self.running.close();
    }

    /// Waits for room to run a query. Refuses too many, and those whose client is gone.
    async fn admit(self: &Arc<Self>, cancel: &CancelToken) -> Result<Admitted, Refused> {
        if let Ok(permit) = self.running.clone().try_acquire_owned() {
            return Ok(Admitted { _permit: permit });
        }
        if self.waiting.fetch_add(1, Ordering::Relaxed) >= self.limits.waiting_max {
            self.waiting.fetch_sub(1, Ordering::Relaxed);
            return Err(Refused::new(Status::TooManyRequests, "the server has too many queries to run: try again later"));
        }
        let permit = self.running.clone().acquire_owned().await;
        self.waiting.fetch_sub(1, Ordering::Relaxed);
        match permit {
            Ok(permit) if !cancel.is_cancelled() => Ok(Admitted { _permit: permit }),
            _ => Err(Refused::new(Status::Temporary, "the server is about to stop, or the client is gone")),
        }
    }
}

/// A query that may run. Another one may run once this is dropped.
struct Admitted {
    _permit: tokio::sync::OwnedSemaphorePermit,
}

/// The requests of one client.
pub struct Conversation {
    gremlin: Arc<Gremlin>,
    /// Stops what runs for the client.
    cancel: CancelToken,
    sessions: Vec<Session>,
}

impl Conversation {
    pub fn new(gremlin: Arc<Gremlin>) -> Self {
        Self { gremlin, cancel: CancelToken::default(), sessions: Vec::new() }
    }

    /// Begins to answer a request. Responses go to `replies`, in the form of the request. Requests of a session run one after the
    /// other; others run side by side.
    pub fn take(&mut self, request: Request, form: Form, replies: Replies) {
        let id = request.id;
        match Ask::of(request) {
            Ok(ask) => self.answer(id, ask, form, replies),
            Err(refused) => self.refuse(Some(id), refused, form, replies),
        }
    }

    /// Answers a request with one response that has all results.
    pub async fn collect(&mut self, request: Request, form: Form) -> Answer {
        let id = request.id;
        let refuse = |refused: Refused| Answer::new(form, &refused.reply(Some(id)));
        match Ask::of(request) {
            Ok(Ask::Run { session: None, run }) => {
                let (replies, mut answers) = mpsc::channel(1);
                self.answer(id, Ask::Run { session: None, run: run.whole() }, form, replies);
                let lost = || refuse(Refused::new(Status::ServerError, "the query ended without an answer"));
                answers.recv().await.unwrap_or_else(lost)
            }
            Ok(_) => refuse(Refused::new(Status::InvalidArguments, "sessions need a WebSocket")),
            Err(refused) => refuse(refused),
        }
    }

    /// Sends a response that says why a request is not done.
    pub fn refuse(&self, id: Option<Uuid>, refused: Refused, form: Form, replies: Replies) {
        reply_soon(Answer::new(form, &refused.reply(id)), replies);
    }

    fn answer(&mut self, id: Uuid, ask: Ask, form: Form, replies: Replies) {
        match ask {
            Ask::Close { session } => {
                self.sessions.retain(|open| open.name() != session);
                reply_soon(Answer::new(form, &Reply::new(Some(id), Status::NoContent)), replies);
            }
            Ask::Run { session: Some(name), run } => {
                let taken = self.session(&name).and_then(|session| session.run(id, run, form, replies.clone()));
                if let Err(refused) = taken {
                    self.refuse(Some(id), refused, form, replies);
                }
            }
            Ask::Run { session: None, run } => {
                let (gremlin, cancel) = (self.gremlin.clone(), self.cancel.clone());
                tokio::spawn(async move {
                    match gremlin.admit(&cancel).await {
                        Err(refused) => drop(replies.send(Answer::new(form, &refused.reply(Some(id)))).await),
                        Ok(admitted) => drop(tokio::task::spawn_blocking(move || {
                            run.answer(&gremlin, None, cancel, &mut Sink::new(id, form, &replies));
                            drop(admitted);
                        })),
                    }
                });
            }
        }
    }

    /// The session of a name, which may begin now.
    fn session(&mut self, name: &str) -> Result<&Session, Refused> {
        if let Some(at) = self.sessions.iter().position(|session| session.name() == name) {
            return Ok(&self.sessions[at]);
        }
        self.sessions.push(Session::begin(&self.gremlin, name, self.cancel.clone())?);
        Ok(&self.sessions[self.sessions.len() - 1])
    }
}

impl Drop for Conversation {
    fn drop(&mut self) {
        self.cancel.cancel();
    }
}

impl Answer {
    fn new(form: Form, reply: &Reply<'_>) -> Self {
        Self { status: reply.status, bytes: form.write(reply) }
    }
}

fn reply_soon(answer: Answer, replies: Replies) {
    tokio::spawn(async move { drop(replies.send(answer).await) });
}
