//! The Gremlin protocol without its transport: what requests ask for, and the responses to them.

mod ask;
mod asker;
mod login;
mod refused;
mod run;
mod session;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use mangrove::{CancelToken, Database, QueryOptions};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};

use crate::status::Status;
use crate::users::{Gatekeeper, Role};
use crate::wire::{Form, Request};
use ask::Ask;
pub use asker::{Answer, Asker};
pub use login::Login;
pub use refused::Refused;
use run::Run;
use session::Session;

/// What bounds the work of a server.
#[derive(Clone, Debug)]
pub struct Limits {
    /// The longest time of a query. A request may ask for less.
    pub timeout: Option<Duration>,
    /// The most bytes that a query may hold.
    pub memory_bytes_max: usize,
    /// The most queries that read at a time, and the most that write or wait to write.
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

/// The most passwords that are checked at a time. Each check takes 19 MB.
const CHECKS_MAX: usize = 2;
/// The most requests of a client that wait until it has said who it is.
const DEFERRED_MAX: usize = 32;
/// The most open sessions of a client. Drivers open one on a connection.
const SESSIONS_OF_CLIENT_MAX: usize = 16;
/// How long whoever gave a wrong password waits for the answer.
const WRONG: Duration = Duration::from_secs(1);

/// The databases of a server, and the work on them.
pub struct Gremlin {
    /// By the name of their traversal source. The first is the default.
    databases: Vec<(String, Database)>,
    pub limits: Limits,
    /// `None` if everyone may do everything.
    gatekeeper: Option<Gatekeeper>,
    checking: Semaphore,
    /// Those that read and those that write do not take each other's room: one writes at a time, and the others wait for it.
    reading: Arc<Semaphore>,
    writing: Arc<Semaphore>,
    waiting: AtomicUsize,
    sessions: AtomicUsize,
}

impl Gremlin {
    pub fn new(databases: Vec<(String, Database)>, limits: Limits, gatekeeper: Option<Gatekeeper>) -> Self {
        let [reading, writing] = [(); 2].map(|()| Arc::new(Semaphore::new(limits.running_max)));
        let (checking, waiting, sessions) = (Semaphore::new(CHECKS_MAX), AtomicUsize::new(0), AtomicUsize::new(0));
        Self { databases, limits, gatekeeper, checking, reading, writing, waiting, sessions }
    }

    /// The database whose traversal source has a name, and that name. `g` stands for the first, unless another has that name.
    fn database(&self, source: Option<&str>) -> Option<&(String, Database)> {
        let named = self.databases.iter().find(|(name, _)| Some(name.as_str()) == source);
        named.or_else(|| self.databases.first().filter(|_| source.is_none_or(|source| source == "g")))
    }

    fn sources(&self) -> String {
        self.databases.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>().join(", ")
    }

    /// The role of whoever has not said who it is; `None` if it must.
    pub fn role_of_all(&self) -> Option<Role> {
        self.gatekeeper.is_none().then_some(Role::Admin)
    }

    /// The role of a user, if name and password are right. After a wrong one, the answer takes a second.
    pub async fn check(self: &Arc<Self>, login: Login) -> Option<Role> {
        let Some(gatekeeper) = &self.gatekeeper else { return Some(Role::Admin) };
        if let Some(role) = gatekeeper.knows(&login.name, &login.password) {
            return Some(role);
        }
        let checking = self.checking.acquire().await;
        let gremlin = self.clone();
        let check = move || gremlin.gatekeeper.as_ref()?.check(&login.name, &login.password);
        let role = tokio::task::spawn_blocking(check).await.ok().flatten();
        drop(checking);
        if role.is_none() {
            tokio::time::sleep(WRONG).await;
        }
        role
    }

    /// Waits until no query runs, and lets no other begin. Sessions go on.
    pub async fn drain(&self) {
        let all = u32::try_from(self.limits.running_max).unwrap_or(u32::MAX);
        let empty = async |room: &Semaphore| {
            // It waits in line before all queries that come later.
            if let Ok(permits) = room.acquire_many(all).await {
                permits.forget();
            }
            room.close();
        };
        tokio::join!(empty(&self.writing), empty(&self.reading));
    }

    fn room(&self, run: &Run) -> &Arc<Semaphore> {
        if run.writes() { &self.writing } else { &self.reading }
    }

    /// Waits for room to run a query. Refuses too many, and those whose client is gone.
    async fn admit(&self, run: &Run, asker: &Asker) -> Result<OwnedSemaphorePermit, Refused> {
        if self.waiting.fetch_add(1, Ordering::Relaxed) >= self.limits.waiting_max {
            self.waiting.fetch_sub(1, Ordering::Relaxed);
            return Err(Refused::new(Status::TooManyRequests, "the server has too many queries to run: try again later"));
        }
        let permit = tokio::select! {
            permit = self.room(run).clone().acquire_owned() => permit.ok(),
            () = asker.answers.closed() => None,
        };
        self.waiting.fetch_sub(1, Ordering::Relaxed);
        permit.ok_or_else(|| Refused::new(Status::Temporary, "the server is about to stop, or the client is gone"))
    }
}

/// Runs a query on a thread that may block. Another one may run once it has ended.
fn begin(gremlin: Arc<Gremlin>, run: Run, cancel: CancelToken, asker: Asker, permit: OwnedSemaphorePermit) {
    drop(tokio::task::spawn_blocking(move || {
        run.answer(&gremlin, None, cancel, &asker);
        drop(permit);
    }));
}

/// The requests of one client.
pub struct Conversation {
    gremlin: Arc<Gremlin>,
    /// Stops what runs for the client.
    cancel: CancelToken,
    sessions: Vec<Session>,
    /// `None` until the client has said who it is.
    role: Option<Role>,
    /// The requests to answer once it has.
    deferred: Vec<(Request, Asker)>,
}

impl Conversation {
    /// A conversation with a client of a role; `None` if it has not yet said who it is.
    pub fn new(gremlin: Arc<Gremlin>, role: Option<Role>) -> Self {
        Self { gremlin, cancel: CancelToken::default(), sessions: Vec::new(), role, deferred: Vec::new() }
    }

    /// Begins to answer a request. Requests of a session run one after the other; others run side by side. A client that has not said who
    /// it is is asked to, and has the requests that it sent before answered then.
    pub async fn take(&mut self, request: Request, asker: Asker) {
        match self.role {
            None if request.op == "authentication" => self.log_in(&request, asker).await,
            None if self.deferred.len() == DEFERRED_MAX => {
                asker.refuse_soon(Refused::new(Status::Unauthorized, "say first who you are"));
            }
            None => {
                if self.deferred.is_empty() {
                    asker.say_soon(&asker.reply(Status::Authenticate));
                }
                self.deferred.push((request, asker));
            }
            Some(role) => self.answer(role, request, asker),
        }
    }

    async fn log_in(&mut self, request: &Request, asker: Asker) {
        self.role = match Login::of_sasl(&request.args) {
            Some(login) => self.gremlin.check(login).await,
            None => None,
        };
        let wrong = || Refused::new(Status::Unauthorized, "name or password is wrong");
        match (self.role, self.deferred.is_empty()) {
            (Some(_), true) => {
                let reply = asker.reply(Status::NoContent);
                asker.send_soon(&reply);
            }
            (None, true) => asker.refuse_soon(wrong()),
            // The responses are those to the requests that came before.
            (_, false) => drop(asker),
        }
        for (request, asker) in std::mem::take(&mut self.deferred) {
            match self.role {
                Some(role) => self.answer(role, request, asker),
                None => asker.refuse_soon(wrong()),
            }
        }
    }

    fn answer(&mut self, role: Role, request: Request, asker: Asker) {
        match Ask::of(request).and_then(|ask| ask.allowed(role)) {
            Ok(Ask::Close { session }) => {
                self.sessions.retain(|open| open.name() != session);
                let reply = asker.reply(Status::NoContent);
                asker.send_soon(&reply);
            }
            Ok(Ask::Run { session: Some(name), run }) => match self.session(&name) {
                Ok(session) => session.run(run, asker),
                Err(refused) => asker.refuse_soon(refused),
            },
            Ok(Ask::Run { session: None, run }) => self.run(run, asker),
            Err(refused) => asker.refuse_soon(refused),
        }
    }

    /// Answers a request with one response that has all results.
    pub async fn collect(&mut self, request: Request, form: Form) -> Option<Answer> {
        let (answers, mut answer) = mpsc::channel(1);
        let asker = Asker { id: Some(request.id), form, is_text: false, is_older: false, answers, place: None };
        let role = self.role.unwrap_or(Role::Read);
        match Ask::of(request).and_then(|ask| ask.allowed(role)) {
            Ok(Ask::Run { session: None, run }) => self.run(run.whole(), asker),
            Ok(_) => asker.refuse_soon(Refused::new(Status::InvalidArguments, "sessions need a WebSocket")),
            Err(refused) => asker.refuse_soon(refused),
        }
        answer.recv().await
    }

    /// Runs a query once there is room.
    fn run(&self, run: Run, asker: Asker) {
        let (gremlin, cancel) = (self.gremlin.clone(), self.cancel.clone());
        let room = gremlin.room(&run).clone();
        if let Ok(permit) = room.try_acquire_owned() {
            return begin(gremlin, run, cancel, asker, permit);
        }
        tokio::spawn(async move {
            match gremlin.admit(&run, &asker).await {
                Err(refused) => asker.refuse_soon(refused),
                Ok(permit) => begin(gremlin, run, cancel, asker, permit),
            }
        });
    }

    /// The session of a name, which may begin now.
    fn session(&mut self, name: &str) -> Result<&Session, Refused> {
        if let Some(at) = self.sessions.iter().position(|session| session.name() == name) {
            return Ok(&self.sessions[at]);
        }
        if self.sessions.len() == SESSIONS_OF_CLIENT_MAX {
            return Err(Refused::new(Status::TooManyRequests, "a connection has too many open sessions: close some"));
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
