//! A node that answers.

use std::collections::HashMap;
use std::convert::Infallible;
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use futures_util::StreamExt;
use futures_util::future::BoxFuture;
use futures_util::stream::BoxStream;
use hyper::body::Incoming;
use hyper::server::conn::http2;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use mangrove_cluster::service::{Calls, Conversation, Service};
use mangrove_cluster::wire::{Call, CallKind, Reply, SentError};
use mangrove_graph::{CancelToken, GraphError, ReadContext, SpanPlace, TraceId};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc, oneshot};
use tokio::task::JoinSet;
use tokio::time::timeout;
use tonic::codegen::http::{Request as HttpRequest, Response as HttpResponse};
use tonic::server::{Grpc, StreamingService};
use tonic::{Request, Response as GrpcResponse, Status, Streaming};

use crate::frames::{self, Frame, Raw, Response, frame, read};
use crate::identity::{Identity, is_here};
use crate::{MESSAGE_BYTES_MAX, PATH, runtime};

/// Calls of one client that run at the same time. More wait.
const CALLS_MAX: usize = 64;
/// So many more may wait for that.
const WAITING_MAX: usize = 1_024;
/// Replies that wait to be sent. Who makes more waits.
const REPLIES_MAX: usize = 64;
const WINDOW_BYTES: u32 = 2 << 20;
/// A read in so few bytes is answered by the thread that has received it, if that takes no longer than this. Otherwise it begins again on
/// another thread.
const BRIEF_BYTES: usize = 1 << 10;
const BRIEF: Duration = Duration::from_millis(1);
/// Behind one that has taken so long, so many reads of the client go to other threads at once.
const SLOW: Duration = Duration::from_micros(500);
const SLOW_SKIPPED: u32 = 16;
/// Connections that agree on TLS at the same time, and how long one may take. Until then, anybody may be there.
const HANDSHAKES_MAX: usize = 256;
const AGREEING: Duration = Duration::from_secs(5);
const PAUSE: Duration = Duration::from_secs(10);

/// A node that is being served. Dropping it ends that.
pub struct Serving {
    pub address: SocketAddr,
    stopped: Option<oneshot::Sender<()>>,
}

impl Drop for Serving {
    fn drop(&mut self) {
        self.stopped.take();
    }
}

/// Answers those who connect. With an identity, they must have one of the same authority.
///
/// # Errors
/// If the listener cannot be used, or if it listens beyond this machine without an identity.
pub fn serve(node: Arc<dyn Service>, listener: TcpListener, identity: Option<Identity>) -> io::Result<Serving> {
    listener.set_nonblocking(true)?;
    let address = listener.local_addr()?;
    if identity.is_none() && !is_here(address.ip()) {
        return Err(io::Error::other(format!("{address} is not only for this machine, and this node has no certificates")));
    }
    let _inside = runtime().enter();
    let listener = tokio::net::TcpListener::from_std(listener)?;
    let (stopped, mut stops) = oneshot::channel::<()>();
    let handshakes = Arc::new(Semaphore::new(HANDSHAKES_MAX));
    runtime().spawn(async move {
        let mut connections = JoinSet::new(); // dropping it ends them
        loop {
            tokio::select! {
                accepted = listener.accept() => match accepted {
                    Ok((stream, from)) => {
                        let _ = stream.set_nodelay(true); // it only makes it slower
                        // With too many that have not said who they are, the newest has to come again.
                        let Ok(place) = handshakes.clone().try_acquire_owned() else { continue };
                        connections.spawn(secured(node.clone(), stream, from, identity.clone(), place));
                    }
                    Err(error) => {
                        tracing::warn!(%error, "a connection was not accepted");
                        tokio::time::sleep(PAUSE / 100).await;
                    }
                },
                Some(_) = connections.join_next() => {}
                _ = &mut stops => return,
            }
        }
    });
    Ok(Serving { address, stopped: Some(stopped) })
}

/// Agrees on TLS, if there is an identity, and answers.
async fn secured(
    node: Arc<dyn Service>,
    stream: TcpStream,
    from: SocketAddr,
    identity: Option<Identity>,
    place: OwnedSemaphorePermit,
) {
    let Some(identity) = identity else {
        drop(place);
        return connection(node, stream, from).await;
    };
    let agreed = timeout(AGREEING, identity.accept(stream)).await;
    drop(place);
    match agreed {
        Ok(Ok(stream)) => connection(node, stream, from).await,
        // Whoever looks whether somebody listens says nothing.
        Ok(Err(error)) if error.kind() == io::ErrorKind::UnexpectedEof => {
            tracing::debug!(%from, "a connection said nothing")
        }
        Ok(Err(error)) => tracing::warn!(%error, %from, "a connection without a certificate that counts here was refused"),
        Err(_) => tracing::warn!(%from, "a connection did not agree on TLS in time"),
    }
}

async fn connection(node: Arc<dyn Service>, stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static, from: SocketAddr) {
    let service = service_fn(move |request| answer(node.clone(), from, request));
    let mut http = http2::Builder::new(TokioExecutor::new());
    http.timer(TokioTimer::new())
        .initial_stream_window_size(WINDOW_BYTES)
        .initial_connection_window_size(2 * WINDOW_BYTES)
        .keep_alive_interval(PAUSE)
        .keep_alive_timeout(PAUSE);
    if let Err(error) = http.serve_connection(TokioIo::new(stream), service).await {
        tracing::debug!(%error, %from, "a connection ended");
    }
}

async fn answer(
    node: Arc<dyn Service>,
    from: SocketAddr,
    request: HttpRequest<Incoming>,
) -> Result<HttpResponse<tonic::body::Body>, Infallible> {
    if request.uri().path() != PATH {
        return Ok(Status::unimplemented("a node answers mangrove.Node/Talk").into_http());
    }
    let mut grpc = Grpc::new(Raw).max_decoding_message_size(MESSAGE_BYTES_MAX);
    Ok(grpc.streaming(Talk { node, from }, request).await)
}

/// A client that is connected.
struct Talk {
    node: Arc<dyn Service>,
    from: SocketAddr,
}

impl StreamingService<Frame> for Talk {
    type Response = Frame;
    type ResponseStream = BoxStream<'static, Result<Frame, Status>>;
    type Future = BoxFuture<'static, Result<GrpcResponse<Self::ResponseStream>, Status>>;

    fn call(&mut self, request: Request<Streaming<Frame>>) -> Self::Future {
        let (node, from) = (self.node.clone(), self.from);
        Box::pin(async move {
            let (replies, received) = mpsc::channel(REPLIES_MAX);
            tokio::spawn(listen(node, from, request.into_inner(), replies));
            let stream = futures_util::stream::unfold(received, |mut received| async move {
                let frame: Frame = received.recv().await?;
                Some((Ok(frame), received))
            });
            Ok(GrpcResponse::new(stream.boxed()))
        })
    }
}

/// A call that panicked. The panic itself was shown by the node.
fn bug() -> GraphError {
    GraphError::Storage { message: "a bug of the node: its output says which".into(), source: None }
}

/// Answers a call, whatever happens.
fn served(session: &dyn Conversation, call: Call, asker: ReadContext) -> Result<Reply, SentError> {
    let served = std::panic::AssertUnwindSafe(|| session.serve_for(call, asker));
    std::panic::catch_unwind(served).unwrap_or_else(|_| Err(bug())).map_err(SentError::from)
}

/// A reply as a message. One that is too large becomes an error.
fn framed(number: u64, reply: Result<Reply, SentError>) -> mangrove_graph::Result<Frame> {
    frame(&Response { number, reply }).or_else(|error| frame(&Response { number, reply: Err(error.into()) }))
}

/// Answers short reads of a client on the thread that carries its messages: to wake another thread, and to be woken by it, costs more than the
/// read.
#[derive(Default)]
struct Brief {
    skips: u32,
}

impl Brief {
    /// The reply, which is counted; `None` if another thread is to answer.
    fn reply(&mut self, session: &dyn Conversation, call: &Call, bytes: usize, counts: &Calls) -> Option<Reply> {
        if bytes > BRIEF_BYTES || self.skips > 0 {
            self.skips = self.skips.saturating_sub(1);
            return None;
        }
        let began = Instant::now();
        let serve = std::panic::AssertUnwindSafe(|| session.serve_briefly(call, BRIEF));
        let reply = std::panic::catch_unwind(serve).ok().flatten(); // the other thread says what was wrong
        let took = began.elapsed();
        if took > SLOW {
            self.skips = SLOW_SKIPPED;
        }
        if reply.is_some() {
            counts.begun(call.kind());
            counts.ended(call.kind(), took, false);
        }
        reply
    }
}

/// Answers a call, counts it, and tells of it if it is a part of a trace.
fn counted(node: &dyn Service, session: &dyn Conversation, call: Call, asker: ReadContext) -> Result<Reply, SentError> {
    let (kind, begun, counts) = (call.kind(), Instant::now(), node.answered());
    counts.begun(kind);
    let mut span = asker.trace.within.zip(node.tracer()).and_then(|(within, tracer)| tracer.begin(kind, within));
    let within = span.as_ref().map(|span| span.place()).or(asker.trace.within);
    let reply = served(session, call, ReadContext { trace: asker.trace.within(within), ..asker });
    if let (Some(span), Err(_)) = (&mut span, &reply) {
        span.has_failed();
    }
    counts.ended(kind, begun.elapsed(), reply.is_err());
    reply
}

/// Sends a reply to a client that may be gone.
fn reply_with(number: u64, kind: CallKind, reply: Result<Reply, SentError>, replies: &mpsc::Sender<Frame>, counts: &Calls) {
    if let Ok(sent) = framed(number, reply) {
        counts.replied(kind, sent.len());
        let _ = replies.blocking_send(sent);
    }
}

/// The calls of a client that are being answered.
type Running = Arc<Mutex<HashMap<u64, CancelToken>>>;

/// Answers the calls of a client, so many at the same time.
struct Answering {
    node: Arc<dyn Service>,
    queue: Arc<Semaphore>,
    places: Arc<Semaphore>,
    running: Running,
    replies: mpsc::Sender<Frame>,
}

impl Answering {
    fn new(node: &Arc<dyn Service>, replies: &mpsc::Sender<Frame>) -> Self {
        let (queue, places) = (Arc::new(Semaphore::new(WAITING_MAX)), Arc::new(Semaphore::new(CALLS_MAX)));
        Self { node: node.clone(), queue, places, running: Running::default(), replies: replies.clone() }
    }

    fn running(&self) -> MutexGuard<'_, HashMap<u64, CancelToken>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Answers a call in another thread, once there is a place for it. If so many wait, this waits too, and pings with it: the client asks for too much.
    async fn begin(&self, session: &Arc<dyn Conversation>, number: u64, call: Call, within: Option<SpanPlace>) {
        let Ok(waits) = self.queue.clone().acquire_owned().await else { return };
        let (node, session, replies) = (self.node.clone(), session.clone(), self.replies.clone());
        let (running, places, cancel) = (self.running.clone(), self.places.clone(), CancelToken::default());
        self.running().insert(number, cancel.clone());
        tokio::spawn(async move {
            let Ok(place) = places.acquire_owned().await else { return };
            drop(waits);
            tokio::task::spawn_blocking(move || {
                let (kind, trace) = (call.kind(), TraceId::default().within(within));
                let reply = counted(&*node, &*session, call, ReadContext { cancel, trace, ..ReadContext::default() });
                running.lock().unwrap_or_else(PoisonError::into_inner).remove(&number);
                reply_with(number, kind, reply, &replies, node.answered());
                drop(place);
            });
        });
    }

    /// Hears what needs no reply. It takes no time: nothing else is done on a thread that carries messages.
    fn told(&self, session: Option<&Arc<dyn Conversation>>, call: Call) {
        if let Some(session) = session {
            let _ = counted(&*self.node, &**session, call, ReadContext::default()); // nobody waits for it
        }
    }
}

/// Answers a client until it goes. What it held is given back then.
async fn listen(node: Arc<dyn Service>, from: SocketAddr, mut calls: Streaming<Frame>, replies: mpsc::Sender<Frame>) {
    let (answering, counts, mut brief) = (Answering::new(&node, &replies), node.answered().clone(), Brief::default());
    let mut session: Option<Arc<dyn Conversation>> = None;
    while let Some(Ok(message)) = calls.next().await {
        match (read(&message), &session) {
            (Ok(frames::Request::Name(name)), _) => {
                session = Some(node.clone().conversation(format!("{name} ({from})")));
            }
            // These take no time. Nothing else is done on a thread that carries messages, but what is brief.
            (Ok(frames::Request::Tell(call @ (Call::Release { .. } | Call::Rollback { .. }))), _) => {
                counts.called(call.kind(), message.len());
                answering.told(session.as_ref(), call);
            }
            (Ok(frames::Request::Cancel(number)), _) => {
                if let Some(cancel) = answering.running().get(&number) {
                    cancel.cancel();
                }
            }
            (Ok(frames::Request::Ping), _) => {
                if let Ok(pong) = frame(&Response { number: frames::PING, reply: Ok(Reply::Released) }) {
                    let _ = replies.try_send(pong); // if replies wait to be sent, they say that the node is there
                }
            }
            (Ok(frames::Request::Call(number, call)), Some(session)) => {
                counts.called(call.kind(), message.len());
                if let Some(reply) = brief.reply(&**session, &call, message.len(), &counts) {
                    if let Ok(reply) = framed(number, Ok(reply)) {
                        counts.replied(call.kind(), reply.len());
                        let _ = replies.send(reply).await; // the client may be gone
                    }
                    continue;
                }
                answering.begin(session, number, call, None).await;
            }
            (Ok(frames::Request::Traced(number, within, call)), Some(session)) => {
                counts.called(call.kind(), message.len());
                answering.begin(session, number, call, Some(within)).await;
            }
            (Ok(frames::Request::Call(..) | frames::Request::Traced(..) | frames::Request::Tell(_)), _) | (Err(_), _) => {
                let error = GraphError::Invalid("this is no client of this version".into());
                tracing::warn!(%from, %error, "a client was sent away");
                break;
            }
        }
    }
    answering.running().values().for_each(CancelToken::cancel);
}
