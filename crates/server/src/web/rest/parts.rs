//! The results of a query on their way to a client, in parts, while the query runs. Parts on their way take memory that all responses
//! share.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::{Duration, Instant};

use axum::body::{Bytes, HttpBody};
use axum::http::StatusCode;
use hyper::body::Frame;
use mangrove::CancelToken;
use tokio::runtime::Handle;
use tokio::sync::{mpsc, oneshot};
use tokio::task::spawn_blocking;

use super::problem::Problem;
use super::work::{self, Guard, Limited};
use crate::gremlin::{Gremlin, Memory, Missed, Room, SMALL, Share, in_time};

/// Parts of a response that wait for the client to take them. Then the query waits.
const PARTS_MAX: usize = 4;

/// What comes next, and the memory that it takes. `None` says that the response is whole.
type Next<T> = Result<Option<(T, Option<Share>)>, Problem>;

/// Begins a query, whose results `fill` sends as they come. Fails if the query fails before it has some. Later failures break the
/// response off.
pub async fn streamed<T: Send + 'static>(
    gremlin: &Arc<Gremlin>,
    room: Room,
    timeout: Option<Duration>,
    fill: impl FnOnce(Limited, &mut Parts<T>) -> Result<(), Problem> + Send + 'static,
) -> Result<Streamed<T>, Problem> {
    let guard = Guard(CancelToken::default());
    let (place, limited) = work::begin(gremlin, room, timeout, guard.0.clone()).await?;
    let (parts, received) = mpsc::channel(PARTS_MAX);
    let (begun, beginning) = oneshot::channel();
    let memory = gremlin.memory_of_responses.clone();
    spawn_blocking(move || {
        let mut out = Parts { parts, memory, deadline: limited.deadline, begun: Some(begun) };
        let done = fill(limited, &mut out);
        out.end(done);
        drop(place);
    });
    match beginning.await {
        Ok(Ok(())) => Ok(Streamed { received, share: None, failed: None, _guard: guard }),
        Ok(Err(problem)) => Err(problem),
        Err(_) => Err(Problem::bug("the server failed at this query: please report this")),
    }
}

/// The way to the client.
pub struct Parts<T> {
    parts: mpsc::Sender<Next<T>>,
    memory: Memory,
    deadline: Option<Instant>,
    /// Tells that the response may begin.
    begun: Option<oneshot::Sender<Result<(), Problem>>>,
}

impl<T> Parts<T> {
    /// The query runs, whether or not it has results.
    pub fn begin(&mut self) {
        if let Some(begun) = self.begun.take() {
            // If the client is gone, nobody wants to know.
            let _ = begun.send(Ok(()));
        }
    }

    /// Waits while the client takes the parts before, and for memory.
    pub fn send(&mut self, part: T, bytes: usize) -> Result<(), Problem> {
        self.begin();
        let share = match bytes > SMALL {
            true => self.wait(async { self.memory.hold(bytes).await.ok_or(Missed::Gone) }).map(Some)?,
            false => None,
        };
        self.put(Ok(Some((part, share))))
    }

    fn put(&self, next: Next<T>) -> Result<(), Problem> {
        self.wait(async { self.parts.send(next).await.map_err(|_| Missed::Gone) })
    }

    fn wait<D>(&self, done: impl Future<Output = Result<D, Missed>>) -> Result<D, Problem> {
        Handle::current()
            .block_on(in_time(self.deadline, self.parts.closed(), done))
            .map_err(|_| Problem::new(StatusCode::GATEWAY_TIMEOUT, "the client did not take the results in time"))
    }

    /// Ends the response. An error breaks it off, if it has begun.
    fn end(mut self, done: Result<(), Problem>) {
        match (done, self.begun.take()) {
            (Err(problem), Some(begun)) => drop(begun.send(Err(problem))),
            // A client that took nothing in time is not told so.
            (Err(problem), None) => drop(self.parts.try_send(Err(problem))),
            (Ok(()), _) => drop(self.put(Ok(None))),
        }
    }
}

/// Parts that come from a query. Without it, the query ends.
pub struct Streamed<T> {
    received: mpsc::Receiver<Next<T>>,
    /// What the part takes that was given last.
    share: Option<Share>,
    /// Why the query failed, until the client is told.
    failed: Option<Problem>,
    _guard: Guard,
}

impl<T> Streamed<T> {
    /// The next part; nothing after the last one.
    pub fn poll_part(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<T, Problem>>> {
        // It was taken. Whoever makes the next one may wait for this memory.
        self.share = None;
        let next = ready!(self.received.poll_recv(cx));
        Poll::Ready(match next {
            Some(Ok(Some((part, share)))) => {
                self.share = share;
                Some(Ok(part))
            }
            Some(Ok(None)) => None,
            Some(Err(problem)) => Some(Err(problem)),
            None => Some(Err(Problem::bug("the query did not come to its end"))),
        })
    }
}

/// A body that is broken off if the query fails, so that a client never takes a part for the whole.
impl HttpBody for Streamed<Bytes> {
    type Data = Bytes;
    type Error = Problem;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Problem>>> {
        if let Some(problem) = self.failed.take() {
            return Poll::Ready(Some(Err(problem)));
        }
        match ready!(self.poll_part(cx)) {
            Some(Err(problem)) => {
                // A connection that breaks takes with it what it has not sent. While it waits, it sends.
                self.failed = Some(problem);
                cx.waker().wake_by_ref();
                Poll::Pending
            }
            part => Poll::Ready(part.map(|part| part.map(Frame::data))),
        }
    }
}
