//! The Gremlin protocol without its transport: what requests ask for, and the responses to them.

mod ask;
mod asker;
mod batches;
mod conversation;
mod in_time;
mod login;
mod memory;
mod rates;
mod refused;
mod rooms;
mod run;
mod session;

use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Bytes;
use mangrove::{Database, QueryOptions};
use tokio::runtime::Handle;
use tokio::sync::Semaphore;
use tokio::task::spawn_blocking;

use crate::observe::Observer;
use crate::status::Status;
use crate::users::{Gatekeeper, Login, Principal};
use crate::wire::{Form, Request};
use ask::Ask;
pub use asker::{Answer, Asker, SMALL};
pub use conversation::{Caller, Conversation, Message};
pub use in_time::{Missed, in_time};
pub use memory::{Memory, Share};
pub use rates::Rates;
pub use refused::{Refused, Unread};
pub use rooms::{Room, Rooms};
pub use session::Session;

/// What bounds the work of a server.
#[derive(Clone, Debug)]
pub struct Limits {
    /// The longest time from a request to its last response. A request may ask for less.
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
    /// How long a transaction of a session may take.
    pub transaction: Duration,
    /// The most bytes that open requests may take together.
    pub requests_bytes_max: usize,
    /// The most bytes that responses on their way may take together. Small ones do not count.
    pub responses_bytes_max: usize,
    /// The most bytes of a response with all results, as HTTP has it.
    pub response_bytes_max: usize,
    /// The most requests of a user in a second, or from an address on a server without users.
    pub rate_max: Option<NonZeroU32>,
}

/// How many queries wait for each that runs. A longer line would only make all of them late.
const WAITING_TIMES: usize = 16;

impl Limits {
    /// The same, with so many queries at a time, and a line that fits.
    pub fn running(self, running_max: usize) -> Self {
        Self { running_max, waiting_max: running_max.saturating_mul(WAITING_TIMES), ..self }
    }

    /// The time of a request that asks for some time, or for none in particular.
    pub fn timeout(&self, asked: Option<Duration>) -> Option<Duration> {
        match (asked, self.timeout) {
            (Some(asked), Some(most)) => Some(asked.min(most)),
            (asked, most) => asked.or(most),
        }
    }
}

impl Default for Limits {
    fn default() -> Self {
        let threads = std::thread::available_parallelism().map_or(2, usize::from);
        Self {
            timeout: Some(Duration::from_secs(30)),
            memory_bytes_max: QueryOptions::default().memory_bytes_max / 4,
            running_max: threads * 2,
            waiting_max: threads * 2 * WAITING_TIMES,
            sessions_max: 256,
            idle_transaction: Duration::from_secs(60),
            transaction: Duration::from_secs(600),
            requests_bytes_max: 256 << 20,
            responses_bytes_max: 256 << 20,
            response_bytes_max: 64 << 20,
            rate_max: None,
        }
    }
}

/// The most passwords that are checked at a time. Each check takes 19 MB.
const CHECKS_MAX: usize = 2;
/// How long whoever gave a wrong password waits for the answer.
const WRONG: Duration = Duration::from_secs(1);
/// The most bytes that open requests of those who have not said who they are may take together.
const STRANGERS_BYTES_MAX: usize = 32 << 20;
/// Longer requests are read on threads of their own.
const LARGE_BYTES: usize = 64 << 10;
/// The most long requests that are read at a time.
const LARGE_MAX: usize = 2;
/// What a value of a request takes, about.
pub const VALUE_BYTES: usize = 96;

/// The databases of a server, and the work on them.
pub struct Gremlin {
    /// By the name of their traversal source. The first is the default.
    pub databases: Vec<(String, Database)>,
    pub limits: Limits,
    /// `None` if everyone may do everything.
    gatekeeper: Option<Gatekeeper>,
    checking: Arc<Semaphore>,
    reading_large: Arc<Semaphore>,
    pub rooms: Rooms,
    pub rates: Rates,
    pub observer: Arc<Observer>,
    pub runtime: Handle,
    sessions: Arc<Semaphore>,
    memory: Memory,
    memory_of_strangers: Memory,
    /// What responses on their way may take.
    pub memory_of_responses: Memory,
}

impl Gremlin {
    pub fn new(
        databases: Vec<(String, Database)>,
        limits: Limits,
        gatekeeper: Option<Gatekeeper>,
        observer: Arc<Observer>,
        runtime: Handle,
    ) -> Self {
        Self {
            databases,
            gatekeeper,
            checking: Arc::new(Semaphore::new(CHECKS_MAX)),
            reading_large: Arc::new(Semaphore::new(LARGE_MAX)),
            rooms: Rooms::new(&limits),
            rates: Rates::new(limits.rate_max),
            observer,
            runtime,
            sessions: Arc::new(Semaphore::new(limits.sessions_max)),
            memory: Memory::new(limits.requests_bytes_max),
            memory_of_strangers: Memory::new(STRANGERS_BYTES_MAX),
            memory_of_responses: Memory::new(limits.responses_bytes_max),
            limits,
        }
    }

    /// The memory of requests from a client that has said who it is, or has not.
    pub fn memory(&self, is_known: bool) -> &Memory {
        if is_known { &self.memory } else { &self.memory_of_strangers }
    }

    /// The database whose traversal source has a name, and that name. `g` stands for the first, unless another has that name.
    pub fn database(&self, source: Option<&str>) -> Option<&(String, Database)> {
        let named = self.databases.iter().find(|(name, _)| Some(name.as_str()) == source);
        named.or_else(|| self.databases.first().filter(|_| source.is_none_or(|source| source == "g")))
    }

    pub fn sources(&self) -> String {
        self.databases.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>().join(", ")
    }

    /// Who whoever has not said who it is counts as; `None` if it must say so.
    pub fn anyone(&self) -> Option<Principal> {
        self.gatekeeper.is_none().then(Principal::anyone)
    }

    pub fn gatekeeper(&self) -> Option<&Gatekeeper> {
        self.gatekeeper.as_ref()
    }

    /// Who a client is, if what it says is right. After a wrong password, the answer takes a second.
    pub async fn check(self: &Arc<Self>, login: Login) -> Option<Principal> {
        let Some(gatekeeper) = &self.gatekeeper else { return Some(Principal::anyone()) };
        if let Some(principal) = gatekeeper.knows(&login) {
            return Some(principal);
        }
        let Login::Password { name, password } = login else { return None };
        let checking = self.checking.clone().acquire_owned().await;
        let gremlin = self.clone();
        // It goes on if the client goes, and so does its permit.
        let check = move || {
            let principal = gremlin.gatekeeper.as_ref()?.check(&name, &password);
            drop(checking);
            principal
        };
        let principal = spawn_blocking(check).await.ok().flatten();
        if principal.is_none() {
            tokio::time::sleep(WRONG).await;
        }
        principal
    }

    /// Reads a request.
    pub async fn read(self: &Arc<Self>, form: Form, bytes: Bytes) -> Result<Request, Unread> {
        let size = bytes.len();
        self.apart(size, move |_| form.read(&bytes)).await?.map_err(Unread::from)
    }

    /// Checks what a request of so many bytes asks for. `share` is what it takes from then on.
    async fn ask(self: &Arc<Self>, request: Request, size: usize, share: &mut Option<Share>) -> Result<Ask, Refused> {
        // Both are read as Gremlin.
        let of = |name| request.args.get_str(name).and_then(|text| text.as_str().map(str::len)).unwrap_or_default();
        let text = of("gremlin") + of("parameters");
        let bytes = size + request.values * VALUE_BYTES + text * TEXT_TIMES;
        *share = self.memory.try_hold(bytes);
        if share.is_none() {
            return Err(Refused::busy(MANY));
        }
        self.apart(text, move |gremlin| Ask::of(request, gremlin)).await?
    }

    /// Does something at once if it takes little time, or else on a thread of its own.
    pub async fn apart<T: Send + 'static>(
        self: &Arc<Self>,
        size: usize,
        work: impl FnOnce(&Self) -> T + Send + 'static,
    ) -> Result<T, Refused> {
        if size <= LARGE_BYTES {
            return Ok(work(self));
        }
        let gremlin = self.clone();
        let permit = self.reading_large.clone().acquire_owned().await;
        let work = move || {
            let done = work(&gremlin);
            drop(permit);
            done
        };
        let message = "the server failed while it read the request: please report this";
        spawn_blocking(work).await.map_err(|_| Refused::new(Status::ServerError, message))
    }

    /// The number of open sessions.
    pub fn sessions(&self) -> usize {
        self.limits.sessions_max - self.sessions.available_permits()
    }

    /// Waits until no query runs, and lets no other begin.
    pub async fn drain(&self) {
        self.rooms.drain().await;
    }

    /// Waits until all sessions have ended, and lets no other begin.
    pub async fn end_of_sessions(&self) {
        let all = u32::try_from(self.limits.sessions_max).unwrap_or(u32::MAX);
        if let Ok(permits) = self.sessions.acquire_many(all).await {
            permits.forget();
        }
    }
}

/// The server has no memory for a request.
pub const MANY: &str = "the server has too many large requests: try again later, or send less at once";
/// How many times the bytes of its text a query takes once it is read, at most, unless it consists of tiny values only.
const TEXT_TIMES: usize = 16;
