//! Transactions over HTTP, as drivers of TinkerPop 4 have them: `g.tx().begin()` gives an id, and later requests name it.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use axum::http::HeaderMap;
use mangrove::{CancelToken, Value};
use uuid::Uuid;

use crate::gremlin::{Gremlin, Refused, Session};
use crate::status::Status;
use crate::users::Principal;
use crate::wire::Request;

/// The most open transactions of a user.
const OF_USER_MAX: usize = 64;

/// The open transactions of a server.
#[derive(Default)]
pub struct Transactions(Mutex<HashMap<Uuid, Open>>);

struct Open {
    session: Arc<Session>,
    /// Stops what runs in it.
    cancel: CancelToken,
    /// Only who began it may go on with it.
    of: Principal,
    used: Instant,
}

impl Transactions {
    /// Begins one. Forgets those that nobody has used for longer than a transaction may take.
    pub fn begin(&self, gremlin: &Arc<Gremlin>, of: Principal) -> Result<Uuid, Refused> {
        let (id, used, longest) = (Uuid::new_v4(), Instant::now(), gremlin.limits.transaction);
        let mut open = self.open();
        open.retain(|_, open| open.used.elapsed() <= longest);
        if open.values().filter(|open| open.of == of).count() >= OF_USER_MAX {
            return Err(Refused::busy("you have too many open transactions: end some"));
        }
        let cancel = CancelToken::default();
        let session = Arc::new(Session::begin(gremlin, &id.to_string(), cancel.clone())?);
        open.insert(id, Open { session, cancel, of, used });
        Ok(id)
    }

    /// The one of an id.
    pub fn find(&self, id: &str, of: &Principal) -> Result<Arc<Session>, Refused> {
        let missing = || {
            let message = "there is no such transaction: it was ended, or took too long. Begin another by g.tx().begin()";
            Refused::new(Status::InvalidArguments, message)
        };
        let id = Uuid::parse_str(id).map_err(|_| missing())?;
        let mut all = self.open();
        let open = all.get_mut(&id).filter(|open| open.of == *of).ok_or_else(missing)?;
        open.used = Instant::now();
        Ok(open.session.clone())
    }

    /// Forgets one that has ended.
    pub fn forget(&self, id: &str) {
        if let Ok(id) = Uuid::parse_str(id) {
            self.open().remove(&id);
        }
    }

    /// Ends one, and stops what runs in it. What it has not committed is undone.
    pub fn end(&self, id: &str) {
        let ended = Uuid::parse_str(id).ok().and_then(|id| self.open().remove(&id));
        if let Some(open) = ended {
            open.cancel.cancel();
        }
    }

    /// Ends all of them. What they have not committed is undone.
    pub fn forget_all(&self) {
        self.open().drain().for_each(|(_, open)| open.cancel.cancel());
    }

    fn open(&self) -> MutexGuard<'_, HashMap<Uuid, Open>> {
        // A panic cannot leave it half changed.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The transaction that a request names, in its head or in itself.
pub fn named(headers: &HeaderMap, request: &Request) -> Option<String> {
    let in_head = headers.get("x-transaction-id").and_then(|id| id.to_str().ok());
    match (in_head, request.args.get_str("transactionId")) {
        (Some(id), _) => Some(id.to_owned()),
        (None, Some(Value::String(id))) => Some(id.to_string()),
        _ => None,
    }
}
