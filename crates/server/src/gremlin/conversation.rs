//! What one client asks for, and the answers.

use std::sync::Arc;
use std::time::Instant;

use axum::body::Bytes;
use mangrove::CancelToken;
use tokio::sync::{OwnedSemaphorePermit, mpsc};
use tokio::task::spawn_blocking;

use super::ask::Ask;
use super::asker::{Answer, Asker};
use super::memory::Share;
use super::refused::Refused;
use super::run::Run;
use super::session::Session;
use super::{Gremlin, Unread};
use crate::observe::{Fact, Seen};
use crate::status::Status;
use crate::users::{Login, Principal};
use crate::wire::{Form, Request};

/// The most requests of a client that wait until it has said who it is.
const DEFERRED_MAX: usize = 32;
/// The most open sessions of a client. Drivers open one on a connection.
const SESSIONS_OF_CLIENT_MAX: usize = 16;

/// A request as it came.
pub struct Message {
    pub form: Form,
    pub bytes: Bytes,
    /// The memory that it takes, if it is large.
    pub share: Option<Share>,
}

/// Who sends a request over HTTP, and what the response is to be.
pub struct Caller {
    pub principal: Principal,
    pub form: Form,
    /// Its driver is older than 3.8.
    pub is_older: bool,
    /// The request may change a graph.
    pub may_write: bool,
    /// The bytes of the request.
    pub size: usize,
    pub seen: Seen,
}

/// The requests of one client.
pub struct Conversation {
    gremlin: Arc<Gremlin>,
    /// Stops what runs for the client.
    cancel: CancelToken,
    sessions: Vec<Session>,
    /// `None` until the client has said who it is.
    principal: Option<Principal>,
    /// The requests to answer once it has.
    deferred: Vec<(Message, Asker)>,
}

impl Conversation {
    /// A conversation with a client; `None` if it has not yet said who it is.
    pub fn new(gremlin: Arc<Gremlin>, principal: Option<Principal>) -> Self {
        Self { gremlin, cancel: CancelToken::default(), sessions: Vec::new(), principal, deferred: Vec::new() }
    }

    /// Whether the client has said who it is, or need not.
    pub fn is_known(&self) -> bool {
        self.principal.is_some()
    }

    /// Begins to answer a request, and gives the answer if it is there at once. Requests of a session run one after the other; others
    /// run side by side. A client that has not said who it is is asked to, and has the requests that it sent before answered then.
    pub async fn take(&mut self, message: Message, mut asker: Asker) -> Option<Answer> {
        let request = match self.gremlin.read(message.form, message.bytes.clone()).await {
            Ok(request) => request,
            Err(Unread { id, refused }) => {
                asker.id = id;
                return Some(asker.answer(&refused.reply(id)));
            }
        };
        asker.id = Some(request.id);
        match &self.principal {
            None if request.op == "authentication" => self.log_in(&request, asker).await,
            None => self.defer(message, asker),
            Some(principal) => {
                let (principal, size) = (principal.clone(), message.bytes.len());
                drop(message);
                self.answer(&principal, request, size, asker).await
            }
        }
    }

    fn defer(&mut self, mut message: Message, asker: Asker) -> Option<Answer> {
        if message.share.is_none() {
            message.share = self.gremlin.memory(false).try_hold(message.bytes.len());
        }
        if self.deferred.len() == DEFERRED_MAX || message.share.is_none() {
            let refused = Refused::new(Status::Unauthorized, "say first who you are");
            return Some(asker.answer(&refused.reply(asker.id)));
        }
        let wanted = self.deferred.is_empty().then(|| asker.answer(&asker.reply(Status::Authenticate)));
        self.deferred.push((message, asker));
        wanted
    }

    async fn log_in(&mut self, request: &Request, asker: Asker) -> Option<Answer> {
        self.principal = match Login::of_sasl(&request.args) {
            Some(login) => self.gremlin.check(login).await,
            None => None,
        };
        let wrong =
            |asker: &Asker| asker.answer(&Refused::new(Status::Unauthorized, "name or password is wrong").reply(asker.id));
        let deferred = std::mem::take(&mut self.deferred);
        if deferred.is_empty() {
            return Some(match self.principal {
                Some(_) => asker.answer(&asker.reply(Status::NoContent)),
                None => wrong(&asker),
            });
        }
        // The responses are those to the requests that came before. This one is only recorded.
        let status = if self.is_known() { Status::NoContent } else { Status::Unauthorized };
        asker.seen.answered(status.code(), 0, 0);
        for (message, asker) in deferred {
            let answers = asker.answers.clone();
            let answer = match self.principal {
                // Known now, so it does not come here again.
                Some(_) => Box::pin(self.take(message, asker)).await,
                None => Some(wrong(&asker)),
            };
            if let Some(answer) = answer {
                // If the client is gone, nobody wants to know.
                tokio::spawn(async move { drop(answers.send(answer).await) });
            }
        }
        None
    }

    /// What a request asks for, if whoever sends it may ask for it now.
    async fn asked(&self, principal: &Principal, request: Request, size: usize, asker: &mut Asker) -> Result<Ask, Refused> {
        asker.seen.note(Fact::User, principal.name.as_deref());
        self.gremlin.rates.take(principal, asker.seen.from)?;
        let ask = self.gremlin.ask(request, size, &mut asker.share).await?;
        if let Ask::Run { run, .. } = &ask {
            asker.seen.note(Fact::Database, Some(&run.source));
            asker.seen.note(Fact::Query, Some(run.text()));
        }
        ask.allowed(principal.role)
    }

    async fn answer(&mut self, principal: &Principal, request: Request, size: usize, mut asker: Asker) -> Option<Answer> {
        let begun = Instant::now();
        match self.asked(principal, request, size, &mut asker).await {
            Ok(Ask::Close { session }) => match self.sessions.iter().position(|open| open.name() == session) {
                // A session that takes no more requests stays.
                Some(at) => {
                    if self.sessions[at].close(asker) {
                        self.sessions.swap_remove(at);
                    }
                }
                None => return Some(asker.answer(&asker.reply(Status::NoContent))),
            },
            Ok(Ask::Run { session: Some(name), run }) => {
                asker.deadline = run.deadline(begun);
                match self.session(&name) {
                    Ok(session) => session.run(run, asker),
                    Err(refused) => return Some(asker.answer(&refused.reply(asker.id))),
                }
            }
            Ok(Ask::Run { session: None, run }) => {
                asker.deadline = run.deadline(begun);
                return self.run(run, asker);
            }
            Err(refused) => return Some(asker.answer(&refused.reply(asker.id))),
        }
        None
    }

    /// Answers a request with one response that has all results. It may belong to a session that others share.
    pub async fn collect(&mut self, request: Request, caller: Caller, within: Option<&Session>) -> Option<Answer> {
        let (answers, mut answer) = mpsc::channel(1);
        let begun = Instant::now();
        let mut asker = Asker::new(caller.form, answers, self.gremlin.memory_of_responses.clone(), caller.seen);
        (asker.id, asker.is_older) = (Some(request.id), caller.is_older);
        let refused = match self.asked(&caller.principal, request, caller.size, &mut asker).await {
            Ok(Ask::Run { run, .. }) if run.writes() && !caller.may_write => {
                Refused::new(Status::Forbidden, "a query in an address must not write: send it in the body of a POST")
            }
            Ok(Ask::Run { session: None, run }) => {
                asker.deadline = run.deadline(begun);
                let run = Box::new(run.whole());
                let at_once = match within {
                    Some(session) => {
                        session.run(run, asker);
                        None
                    }
                    None => self.run(run, asker),
                };
                return match at_once {
                    Some(answer) => Some(answer),
                    None => answer.recv().await,
                };
            }
            Ok(_) => Refused::new(Status::InvalidArguments, "sessions need a WebSocket"),
            Err(refused) => refused,
        };
        Some(asker.answer(&refused.reply(asker.id)))
    }

    /// Answers a short query at once. Runs others once there is room.
    fn run(&self, run: Box<Run>, asker: Asker) -> Option<Answer> {
        let (gremlin, cancel) = (self.gremlin.clone(), self.cancel.clone());
        match gremlin.rooms.try_enter(run.room()) {
            Some(place) => {
                let answer = run.attempt(&asker);
                if answer.is_none() {
                    begin(run, cancel, asker, place);
                }
                answer
            }
            None => {
                tokio::spawn(async move {
                    match gremlin.rooms.enter(run.room(), asker.deadline, asker.answers.closed()).await {
                        Err(refused) => asker.refuse_soon(refused),
                        Ok(place) => begin(run, cancel, asker, place),
                    }
                });
                None
            }
        }
    }

    /// The session of a name, which may begin now.
    fn session(&mut self, name: &str) -> Result<&Session, Refused> {
        if let Some(at) = self.sessions.iter().position(|session| session.name() == name) {
            return Ok(&self.sessions[at]);
        }
        if self.sessions.len() == SESSIONS_OF_CLIENT_MAX {
            return Err(Refused::busy("a connection has too many open sessions: close some"));
        }
        self.sessions.push(Session::begin(&self.gremlin, name, self.cancel.clone())?);
        Ok(&self.sessions[self.sessions.len() - 1])
    }
}

/// Runs a query on a thread that may block. Another one may run once it has ended.
fn begin(run: Box<Run>, cancel: CancelToken, asker: Asker, place: OwnedSemaphorePermit) {
    drop(spawn_blocking(move || {
        run.answer(None, cancel, asker);
        drop(place);
    }));
}

impl Drop for Conversation {
    fn drop(&mut self) {
        self.cancel.cancel();
    }
}
