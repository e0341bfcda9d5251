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

/// The open transactions of a server.
#[derive(Default)]
pub struct Transactions(Mutex<HashMap<Uuid, Open>>);

struct Open {
    session: Arc<Session>,
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
        let session = Arc::new(Session::begin(gremlin, &id.to_string(), CancelToken::default())?);
        open.insert(id, Open { session, of, used });
        Ok(id)
    }

    /// The one of an id. It is forgotten if its end is asked for.
    pub fn find(&self, id: &str, of: &Principal, is_end: bool) -> Result<Arc<Session>, Refused> {
        let missing = || {
            let message = "there is no such transaction: it was ended, or took too long. Begin another by g.tx().begin()";
            Refused::new(Status::InvalidArguments, message)
        };
        let id = Uuid::parse_str(id).map_err(|_| missing())?;
        let mut all = self.open();
        let open = all.get_mut(&id).filter(|open| open.of == *of).ok_or_else(missing)?;
        open.used = Instant::now();
        let session = open.session.clone();
        if is_end {
            all.remove(&id);
        }
        Ok(session)
    }

    /// Ends all of them. What they have not committed is undone.
    pub fn forget_all(&self) {
        self.open().clear();
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
