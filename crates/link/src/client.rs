//! A way to a node: one stream, on which the calls of all threads go side by side.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use futures_util::future::BoxFuture;
use futures_util::{FutureExt, StreamExt};
use hyper::body::Incoming;
use hyper::client::conn::http2;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use mangrove_cluster::gateway::Peer;
use mangrove_cluster::service::Calls;
use mangrove_cluster::wire::{Call, Reply, SentError};
use mangrove_graph::{GraphError, ReadContext, Result, SpanPlace};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::sync::mpsc;
use tonic::body::Body;
use tonic::codegen::Service;
use tonic::codegen::http::uri::PathAndQuery;
use tonic::codegen::http::{Request as HttpRequest, Response as HttpResponse};
use tonic::{Request, Streaming};

use crate::frames::{self, Frame, Raw, Response, frame, read};
use crate::identity::{Identity, is_here};
use crate::{MESSAGE_BYTES_MAX, PATH, runtime};

/// Calls that wait to be sent. Who makes more waits.
const CALLS_MAX: usize = 256;
const WINDOW_BYTES: u32 = 2 << 20;
/// How long a node may take to let a client in.
const CONNECTING: Duration = Duration::from_secs(5);
/// How often a thread that waits for a reply looks whether it should stop.
const LOOK: Duration = Duration::from_millis(20);
/// How often a node is asked whether it is there, and how long it may take to say so.
const ASKING: Duration = Duration::from_secs(2);
const ANSWERING: Duration = Duration::from_secs(8);

/// A node that has said nothing for so long, while somebody waits, is asked whether it is there.
const QUIET: Duration = Duration::from_millis(100);
/// If it does not say so in this time, who can ask another node does.
const MUTE: Duration = Duration::from_millis(250);

/// What a node has replied, and the bytes of that.
type Outcome = (Result<Reply, SentError>, usize);

/// A connection to a node.
pub struct Link {
    address: String,
    calls: mpsc::Sender<Frame>,
    waiting: Arc<Waiting>,
    last: AtomicU64,
    counts: Arc<Calls>,
}

struct Waiting {
    replies: Mutex<HashMap<u64, SyncSender<Outcome>>>,
    is_gone: AtomicBool,
    hearing: Mutex<Hearing>,
}

/// When the node was heard of last, and when it was asked since then whether it is there.
struct Hearing {
    heard: Instant,
    pinged: Option<Instant>,
}

impl Waiting {
    fn new() -> Self {
        let hearing = Mutex::new(Hearing { heard: Instant::now(), pinged: None });
        Self { replies: Mutex::default(), is_gone: AtomicBool::new(false), hearing }
    }

    fn hearing(&self) -> MutexGuard<'_, Hearing> {
        self.hearing.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn has_heard(&self) {
        *self.hearing() = Hearing { heard: Instant::now(), pinged: None };
    }

    fn replies(&self) -> MutexGuard<'_, HashMap<u64, SyncSender<Outcome>>> {
        self.replies.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Link {
    /// Connects to a node, as somebody with a name for those who wait for it. Without an identity, only a node on this machine is spoken to.
    ///
    /// # Errors
    /// [`GraphError::Unavailable`] if no node answers there. [`GraphError::Invalid`] if it is on another machine, and this one has no identity.
    pub fn connect(address: &str, name: &str, identity: Option<&Identity>) -> Result<Self> {
        runtime().block_on(async {
            let connecting = tokio::time::timeout(CONNECTING, open(address, name, identity));
            connecting.await.unwrap_or_else(|_| Err(cannot(address, "it does not answer")))
        })
    }

    /// The same, whose calls are counted here from now on.
    pub fn counting(self, counts: Arc<Calls>) -> Self {
        Self { counts, ..self }
    }

    /// Whether the connection has ended.
    pub fn is_gone(&self) -> bool {
        self.waiting.is_gone.load(Ordering::Acquire) || self.calls.is_closed()
    }

    fn gone(&self) -> GraphError {
        GraphError::Unavailable(format!("the connection to the node at {} has ended", self.address))
    }

    fn send(&self, number: u64, call: &Call, within: Option<SpanPlace>) -> Result<()> {
        let frame = match within {
            None => frame(&frames::Request::Call(number, call))?,
            Some(span) => frame(&frames::Request::Traced(number, span, call))?,
        };
        self.counts.called(call.kind(), frame.len());
        self.calls.blocking_send(frame).map_err(|_| self.gone())
    }

    /// Whether the node says nothing, although it was asked whether it is there. A call that waits since this time asks it.
    fn is_mute(&self, since: Instant) -> bool {
        let mut hearing = self.waiting.hearing();
        match hearing.pinged {
            Some(pinged) => pinged.elapsed() >= MUTE,
            None if hearing.heard.max(since).elapsed() < QUIET => false,
            None => {
                // Behind calls that wait to be sent, a ping would tell nothing.
                let sent = frame(&frames::Request::<Call>::Ping).is_ok_and(|ping| self.calls.try_send(ping).is_ok());
                hearing.pinged = sent.then(Instant::now);
                false
            }
        }
    }

    fn mute(&self) -> GraphError {
        GraphError::Unavailable(format!("the node at {} does not answer", self.address))
    }

    fn ask(&self, call: &Call, limits: Option<&ReadContext>, gives_up: bool) -> Result<Reply> {
        let since = Instant::now();
        if gives_up && self.is_mute(since) {
            return Err(self.mute());
        }
        let kind = call.kind();
        self.counts.begun(kind);
        let reply = self.asked(call, since, limits, gives_up);
        self.counts.ended(kind, since.elapsed(), reply.is_err());
        reply
    }

    /// Sends a call, and waits for its reply.
    fn asked(&self, call: &Call, since: Instant, limits: Option<&ReadContext>, gives_up: bool) -> Result<Reply> {
        let number = self.last.fetch_add(1, Ordering::Relaxed);
        let (reply, received) = sync_channel(1);
        self.waiting.replies().insert(number, reply);
        let sent = self.send(number, call, limits.and_then(|limits| limits.trace.within));
        let outcome = sent.and_then(|()| {
            loop {
                match received.recv_timeout(LOOK) {
                    Ok((reply, bytes)) => {
                        self.counts.replied(call.kind(), bytes);
                        return reply.map_err(GraphError::from);
                    }
                    Err(RecvTimeoutError::Disconnected) => return Err(self.gone()),
                    Err(RecvTimeoutError::Timeout) if self.is_gone() => return Err(self.gone()),
                    Err(RecvTimeoutError::Timeout) => {}
                }
                let is_over = match limits.map_or(Ok(()), ReadContext::check) {
                    Ok(()) if gives_up && self.is_mute(since) => Err(self.mute()),
                    checked => checked,
                };
                if let Err(error) = is_over {
                    // Who stops waits for nothing.
                    let _ = frame(&frames::Request::<Call>::Cancel(number)).map(|cancel| self.calls.try_send(cancel));
                    return Err(error);
                }
            }
        });
        self.waiting.replies().remove(&number);
        outcome
    }
}

impl Peer for Link {
    fn call(&self, call: &Call, limits: Option<&ReadContext>) -> Result<Reply> {
        self.ask(call, limits, false)
    }

    fn call_or_give_up(&self, call: &Call, limits: Option<&ReadContext>) -> Result<Reply> {
        self.ask(call, limits, true)
    }

    fn tell(&self, call: Call) {
        // Without a connection, the node has ended the session, and with it what this call would end.
        let kind = call.kind();
        let Ok(frame) = frame(&frames::Request::Tell(call)) else { return };
        self.counts.called(kind, frame.len());
        match tokio::runtime::Handle::try_current() {
            // A thread that carries messages must not wait for them.
            Ok(_) => {
                let calls = self.calls.clone();
                runtime().spawn(async move { calls.send(frame).await });
            }
            Err(_) => drop(self.calls.blocking_send(frame)),
        }
    }
}

fn cannot(address: &str, why: impl std::fmt::Display) -> GraphError {
    GraphError::Unavailable(format!("cannot reach the node at {address}: {why}"))
}

async fn open(address: &str, name: &str, identity: Option<&Identity>) -> Result<Link> {
    let stream = TcpStream::connect(address).await.map_err(|error| cannot(address, error))?;
    let _ = stream.set_nodelay(true); // it only makes it slower
    match identity {
        Some(identity) => match identity.connect(address, stream).await {
            Ok(stream) => talk(address, name, stream, "it may not accept these certificates: its output says so").await,
            Err(error) => Err(cannot(address, format!("no agreement on TLS: {error}"))),
        },
        None if stream.peer_addr().is_ok_and(|there| is_here(there.ip())) => {
            talk(address, name, stream, "it may want certificates: name a directory with them, as in ?tls=DIRECTORY").await
        }
        None => Err(GraphError::Invalid(format!(
            "the node at {address} is not on this machine: name a directory with your certificates, as in mangrove://{address}/NAME?tls=DIRECTORY"
        ))),
    }
}

/// Begins to talk over a connection. `hint` says why the node may have ended it.
async fn talk<S>(address: &str, name: &str, stream: S, hint: &str) -> Result<Link>
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let mut http = http2::Builder::new(TokioExecutor::new());
    http.timer(TokioTimer::new())
        .initial_stream_window_size(WINDOW_BYTES)
        .initial_connection_window_size(2 * WINDOW_BYTES)
        .keep_alive_interval(ASKING)
        .keep_alive_timeout(ANSWERING);
    let (sender, connection) =
        http.handshake::<_, Body>(TokioIo::new(stream)).await.map_err(|error| cannot(address, error))?;
    tokio::spawn(async move {
        if let Err(error) = connection.await {
            tracing::debug!(%error, "a connection to a node ended");
        }
    });
    let (calls, to_send) = mpsc::channel(CALLS_MAX);
    let hello = frame(&frames::Request::<Call>::Name(name.to_owned()))?;
    calls.send(hello).await.map_err(|error| cannot(address, error))?;
    let stream = futures_util::stream::unfold(to_send, |mut to_send| async move {
        let frame: Frame = to_send.recv().await?;
        Some((frame, to_send))
    });
    let origin = format!("http://{address}").parse().map_err(|error| cannot(address, format!("{error}")))?;
    let mut grpc = tonic::client::Grpc::with_origin(Sender(sender), origin).max_decoding_message_size(MESSAGE_BYTES_MAX);
    grpc.ready().await.map_err(|error| cannot(address, format!("{error}; {hint}")))?;
    let replies = grpc.streaming(Request::new(stream), PathAndQuery::from_static(PATH), Raw).await;
    let replies = replies.map_err(|status| cannot(address, format!("{}; {hint}", status.message())))?.into_inner();
    let waiting = Arc::new(Waiting::new());
    tokio::spawn(listen(replies, waiting.clone()));
    Ok(Link { address: address.to_owned(), calls, waiting, last: AtomicU64::new(0), counts: Arc::default() })
}

/// Gives replies to those who wait for them, until the connection ends.
async fn listen(mut replies: Streaming<Frame>, waiting: Arc<Waiting>) {
    while let Some(Ok(message)) = replies.next().await {
        let Ok(Response { number, reply }) = read(&message) else { break };
        waiting.has_heard();
        if let Some(wanted) = waiting.replies().remove(&number) {
            let _ = wanted.send((reply, message.len())); // whoever asked may have stopped
        }
    }
    waiting.is_gone.store(true, Ordering::Release);
    waiting.replies().clear();
}

/// A connection of HTTP/2, as gRPC wants it.
struct Sender(http2::SendRequest<Body>);

impl Service<HttpRequest<Body>> for Sender {
    type Response = HttpResponse<Incoming>;
    type Error = hyper::Error;
    type Future = BoxFuture<'static, std::result::Result<Self::Response, Self::Error>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<std::result::Result<(), Self::Error>> {
        self.0.poll_ready(context)
    }

    fn call(&mut self, request: HttpRequest<Body>) -> Self::Future {
        self.0.send_request(request).boxed()
    }
}
