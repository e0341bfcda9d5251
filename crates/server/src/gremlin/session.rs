//! A session: requests that run one after the other, and may share a transaction.
//!
//! A transaction belongs to one thread, so a session has a thread. It ends when its client closes it or is gone, and then undoes what
//! was not committed.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TrySendError, sync_channel};
use std::time::Duration;

use mangrove::CancelToken;
use tokio::runtime::Handle;
use tokio::sync::OwnedSemaphorePermit;

use super::asker::Asker;
use super::refused::Refused;
use super::rooms::Room;
use super::run::{Held, Run};
use super::{Gremlin, Limits};
use crate::status::Status;
use crate::wire::Sent;

/// The most requests that wait in a session.
const WAITING_MAX: usize = 64;

pub struct Session {
    name: String,
    jobs: SyncSender<Job>,
}

enum Job {
    Run(Box<Run>, Asker),
    Close(Asker),
}

impl Session {
    /// Begins a session. `cancel` stops what runs in it.
    pub fn begin(gremlin: &Arc<Gremlin>, name: &str, cancel: CancelToken) -> Result<Self, Refused> {
        let Ok(permit) = gremlin.sessions.clone().try_acquire_owned() else {
            return Err(Refused::busy("the server has too many open sessions: try again later"));
        };
        let (jobs, waiting) = sync_channel(WAITING_MAX);
        let (gremlin, runtime) = (gremlin.clone(), Handle::current());
        let thread = std::thread::Builder::new().name("session".into()).spawn(move || {
            let _entered = runtime.enter();
            work(&gremlin, &waiting, &cancel, permit);
        });
        match thread {
            Ok(_) => Ok(Self { name: name.to_owned(), jobs }),
            Err(error) => Err(Refused::new(Status::Temporary, format!("no thread for a session: {error}"))),
        }
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    /// Has a request answered after those before it.
    pub fn run(&self, run: Box<Run>, asker: Asker) {
        self.send(Job::Run(run, asker));
    }

    /// Ends the session after the requests before, and then answers. What was not committed is undone. Returns whether it will.
    pub fn close(&self, asker: Asker) -> bool {
        self.send(Job::Close(asker))
    }

    /// Whether the session will do the job.
    fn send(&self, job: Job) -> bool {
        let (job, refused) = match self.jobs.try_send(job) {
            Ok(()) => return true,
            Err(TrySendError::Full(job)) => {
                (job, Refused::busy("the session has too many requests that wait: send fewer at once"))
            }
            Err(TrySendError::Disconnected(job)) => {
                (job, Refused::new(Status::ServerError, "the session has ended: open another"))
            }
        };
        let (Job::Run(_, asker) | Job::Close(asker)) = job;
        asker.refuse_soon(refused);
        false
    }
}

/// Does the jobs of a session until it is closed, or its client is gone.
fn work(gremlin: &Gremlin, jobs: &Receiver<Job>, cancel: &CancelToken, permit: OwnedSemaphorePermit) {
    let mut held: Option<Held> = None;
    loop {
        match next(jobs, held.as_ref(), &gremlin.limits) {
            Ok(Job::Run(run, asker)) => answer(gremlin, &run, &mut held, cancel, asker),
            Ok(Job::Close(asker)) => {
                drop((held, permit));
                let reply = asker.reply(Status::NoContent);
                return asker.send_soon(&reply);
            }
            // Others wait to write.
            Err(RecvTimeoutError::Timeout) => {
                if let Some(held) = &mut held {
                    held.transaction = Err(too_long(&gremlin.limits));
                }
            }
            Err(RecvTimeoutError::Disconnected) => return,
        }
    }
}

/// The next job. A transaction waits for it as long as it may.
fn next(jobs: &Receiver<Job>, held: Option<&Held>, limits: &Limits) -> Result<Job, RecvTimeoutError> {
    match held {
        Some(Held { transaction: Ok(_), since, .. }) => {
            let left = limits.transaction.saturating_sub(since.elapsed());
            match left.is_zero() {
                true => Err(RecvTimeoutError::Timeout),
                false => jobs.recv_timeout(left.min(limits.idle_transaction)),
            }
        }
        // Nobody waits for this session.
        _ => jobs.recv().map_err(RecvTimeoutError::from),
    }
}

fn answer(gremlin: &Gremlin, run: &Run, held: &mut Option<Held>, cancel: &CancelToken, asker: Asker) {
    let is_query = matches!(run.sent, Sent::Query(_) | Sent::Script(_));
    // Those that wait to write wait for this transaction, so it must not wait for room among them.
    let room = if held.is_some() { Room::Reading } else { run.room() };
    match is_query
        .then(|| Handle::current().block_on(gremlin.rooms.enter(room, asker.deadline, asker.answers.closed())))
        .transpose()
    {
        Err(refused) => asker.refuse_soon(refused),
        Ok(place) => {
            let transaction = (held.is_some() || !run.is_managed).then_some(held);
            run.answer(transaction, cancel.clone(), asker);
            drop(place);
        }
    }
}

fn too_long(limits: &Limits) -> String {
    let Limits { idle_transaction: idle, transaction: whole, .. } = limits;
    let seconds = Duration::as_secs;
    let (idle, whole) = (seconds(idle), seconds(whole));
    format!(
        "the transaction had no request for {idle} s, or took {whole} s in all, so it was rolled back: roll it back, too, and begin again"
    )
}
