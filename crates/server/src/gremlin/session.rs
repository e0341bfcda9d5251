//! A session: requests that run one after the other, and may share a transaction.
//!
//! A transaction belongs to one thread, so a session has a thread. It ends when its client closes it or is gone, and then undoes what
//! was not committed.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TrySendError, sync_channel};
use std::time::Duration;

use mangrove::CancelToken;

use super::Gremlin;
use super::asker::Asker;
use super::refused::Refused;
use super::run::{Held, Run};
use crate::status::Status;

/// The most requests that wait in a session.
const WAITING_MAX: usize = 64;

pub struct Session {
    name: String,
    jobs: SyncSender<Job>,
}

struct Job {
    run: Run,
    asker: Asker,
}

impl Session {
    pub fn begin(gremlin: &Arc<Gremlin>, name: &str, cancel: CancelToken) -> Result<Self, Refused> {
        let place = Place::take(gremlin)?;
        let (jobs, waiting) = sync_channel(WAITING_MAX);
        let thread = std::thread::Builder::new().name("session".into()).spawn(move || work(&place.0, &waiting, &cancel));
        match thread {
            Ok(_) => Ok(Self { name: name.to_owned(), jobs }),
            Err(error) => Err(Refused::new(Status::Temporary, format!("no thread for a session: {error}"))),
        }
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    /// Has a request answered after those before it.
    pub fn run(&self, run: Run, asker: Asker) {
        if let Err(TrySendError::Full(Job { asker, .. }) | TrySendError::Disconnected(Job { asker, .. })) =
            self.jobs.try_send(Job { run, asker })
        {
            let message = "the session has too many requests that wait: send fewer at once";
            asker.refuse_soon(Refused::new(Status::TooManyRequests, message));
        }
    }
}

/// One of the sessions that a server may have.
struct Place(Arc<Gremlin>);

impl Place {
    fn take(gremlin: &Arc<Gremlin>) -> Result<Self, Refused> {
        let place = Self(gremlin.clone());
        match gremlin.sessions.fetch_add(1, Ordering::Relaxed) < gremlin.limits.sessions_max {
            true => Ok(place),
            false => Err(Refused::new(Status::TooManyRequests, "the server has too many open sessions: try again later")),
        }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.0.sessions.fetch_sub(1, Ordering::Relaxed);
    }
}

fn work(gremlin: &Gremlin, jobs: &Receiver<Job>, cancel: &CancelToken) {
    let mut held: Option<Held> = None;
    loop {
        let job = match &held {
            Some(Held { transaction: Ok(_), .. }) => jobs.recv_timeout(gremlin.limits.idle_transaction),
            // Nobody waits for this session.
            _ => jobs.recv().map_err(RecvTimeoutError::from),
        };
        match job {
            Ok(Job { run, asker }) => {
                let transaction = (held.is_some() || !run.is_managed).then_some(&mut held);
                run.answer(gremlin, transaction, cancel.clone(), &asker);
            }
            // Others wait to write.
            Err(RecvTimeoutError::Timeout) => {
                if let Some(held) = &mut held {
                    held.transaction = Err(too_long(gremlin.limits.idle_transaction));
                }
            }
            Err(RecvTimeoutError::Disconnected) => return,
        }
    }
}

fn too_long(idle: Duration) -> String {
    format!("the transaction had no request for {idle:?}, so it was rolled back: roll it back, too, and begin again")
}
