//! Work on a thread of its own, for as long as the client waits.

use std::future::pending;
use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::body::Body;
use axum::http::StatusCode;
use mangrove::{CancelToken, QueryOptions};
use tokio::task::spawn_blocking;

use super::super::{Web, http};
use super::problem::Problem;
use crate::gremlin::{Gremlin, Room, in_time};

/// The time and the memory of some work.
#[derive(Clone)]
pub struct Limited {
    pub options: QueryOptions,
    pub deadline: Option<Instant>,
}

/// Stops the work when the client is gone, and its request with it.
pub struct Guard(pub CancelToken);

impl Drop for Guard {
    fn drop(&mut self) {
        self.0.cancel();
    }
}

/// How much longer work may take that looks at the clock by itself.
const GRACE: Duration = Duration::from_secs(1);

/// Runs something once there is room. `timeout` may ask for less time than the server gives.
pub async fn run<T: Send + 'static>(
    gremlin: &Arc<Gremlin>,
    room: Room,
    timeout: Option<Duration>,
    work: impl FnOnce(Limited) -> Result<T, Problem> + Send + 'static,
) -> Result<T, Problem> {
    let guard = Guard(CancelToken::default());
    let (place, limited) = begin(gremlin, room, timeout, guard.0.clone()).await?;
    let deadline = limited.deadline.map(|deadline| deadline + GRACE);
    let mut done = spawn_blocking(move || {
        let done = work(limited);
        drop(place);
        done
    });
    let ended = async { Ok(Some((&mut done).await)) };
    let done = match in_time(deadline, pending(), ended).await {
        Ok(Some(done)) => done,
        // What does not look at the clock looks whether it is to stop.
        _ => {
            guard.0.cancel();
            done.await
        }
    };
    done.map_err(|_| Problem::bug("the server failed at this request: please report this"))?
}

/// Waits for room, and gives what work may then take.
pub async fn begin(
    gremlin: &Arc<Gremlin>,
    room: Room,
    timeout: Option<Duration>,
    cancel: CancelToken,
) -> Result<(tokio::sync::OwnedSemaphorePermit, Limited), Problem> {
    let limits = &gremlin.limits;
    let deadline = limits.timeout(timeout).and_then(|timeout| Instant::now().checked_add(timeout));
    let place = gremlin.rooms.enter(room, deadline, pending()).await?;
    let timeout = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
    let options = QueryOptions { timeout, cancel, memory_bytes_max: limits.memory_bytes_max, ..QueryOptions::default() };
    Ok((place, Limited { options, deadline }))
}

/// A body whose memory is free once it was sent.
pub fn held(web: &Web, bytes: Vec<u8>) -> Result<Body, Problem> {
    match web.gremlin.memory_of_responses.try_hold(bytes.len()) {
        Some(share) => Ok(http::body(bytes, Some(share))),
        None => Err(Problem::new(StatusCode::SERVICE_UNAVAILABLE, "too many responses are on their way: try again later")),
    }
}
