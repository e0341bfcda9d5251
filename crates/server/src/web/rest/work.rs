//! Work on a thread of its own, for as long as the client waits.

use std::future::pending;
use std::sync::Arc;
use std::time::{Duration, Instant};

use mangrove::{CancelToken, QueryOptions};
use tokio::task::spawn_blocking;

use super::problem::Problem;
use crate::gremlin::{Gremlin, Room};

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

/// Runs something once there is room. `timeout` may ask for less time than the server gives.
pub async fn run<T: Send + 'static>(
    gremlin: &Arc<Gremlin>,
    room: Room,
    timeout: Option<Duration>,
    work: impl FnOnce(Limited) -> Result<T, Problem> + Send + 'static,
) -> Result<T, Problem> {
    let guard = Guard(CancelToken::default());
    let (place, limited) = begin(gremlin, room, timeout, guard.0.clone()).await?;
    let done = spawn_blocking(move || {
        let done = work(limited);
        drop(place);
        done
    });
    done.await.map_err(|_| Problem::bug("the server failed at this request: please report this"))?
}

/// Waits for room, and gives what work may then take.
pub async fn begin(
    gremlin: &Arc<Gremlin>,
    room: Room,
    timeout: Option<Duration>,
    cancel: CancelToken,
) -> Result<(tokio::sync::OwnedSemaphorePermit, Limited), Problem> {
    let limits = &gremlin.limits;
    let timeout = match (timeout, limits.timeout) {
        (Some(asked), Some(most)) => Some(asked.min(most)),
        (asked, most) => asked.or(most),
    };
    let deadline = timeout.and_then(|timeout| Instant::now().checked_add(timeout));
    let place = gremlin.rooms.enter(room, deadline, pending()).await?;
    let timeout = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
    let options = QueryOptions { timeout, cancel, memory_bytes_max: limits.memory_bytes_max, ..QueryOptions::default() };
    Ok((place, Limited { options, deadline }))
}
