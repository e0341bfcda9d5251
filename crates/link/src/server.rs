//! A node that answers.

use std::collections::HashMap;
use std::convert::Infallible;
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures_util::StreamExt;
use futures_util::future::BoxFuture;
use futures_util::stream::BoxStream;
use hyper::body::Incoming;
use hyper::server::conn::http2;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use mangrove_cluster::service::{Conversation, Service};
use mangrove_cluster::wire::{Call, Reply, SentError};
use mangrove_graph::{CancelToken, GraphError};
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
fn served(session: &dyn Conversation, call: Call, cancel: CancelToken) -> Result<Reply, SentError> {
    let served = std::panic::AssertUnwindSafe(|| session.serve(call, cancel));
    std::panic::catch_unwind(served).unwrap_or_else(|_| Err(bug())).map_err(SentError::from)
}

fn reply_with(number: u64, reply: Result<Reply, SentError>, replies: &mpsc::Sender<Frame>) {
    let sent = frame(&Response { number, reply });
    if let Ok(sent) = sent.or_else(|error| frame(&Response { number, reply: Err(error.into()) })) {
        let _ = replies.blocking_send(sent); // the client may be gone
    }
}

/// The calls of a client that are being answered.
type Running = Arc<Mutex<HashMap<u64, CancelToken>>>;

/// Answers a client until it goes. What it held is given back then.
async fn listen(node: Arc<dyn Service>, from: SocketAddr, mut calls: Streaming<Frame>, replies: mpsc::Sender<Frame>) {
    let (queue, places) = (Arc::new(Semaphore::new(WAITING_MAX)), Arc::new(Semaphore::new(CALLS_MAX)));
    let running = Running::default();
    let mut session: Option<Arc<dyn Conversation>> = None;
    let told = |session: &Option<Arc<dyn Conversation>>, call| {
        if let Some(session) = session {
            let _ = session.serve(call, CancelToken::default()); // nobody waits for it
        }
    };
    while let Some(Ok(message)) = calls.next().await {
        match (read(&message), &session) {
            (Ok(frames::Request::Name(name)), _) => {
                session = Some(node.clone().conversation(format!("{name} ({from})")));
            }
            // These take no time. Nothing else is done on a thread that carries messages.
            (Ok(frames::Request::Tell(call @ (Call::Release { .. } | Call::Rollback { .. }))), _) => told(&session, call),
            (Ok(frames::Request::Cancel(number)), _) => {
                if let Some(cancel) = running.lock().unwrap_or_else(PoisonError::into_inner).get(&number) {
                    cancel.cancel();
                }
            }
            (Ok(frames::Request::Ping), _) => {
                if let Ok(pong) = frame(&Response { number: frames::PING, reply: Ok(Reply::Released) }) {
                    let _ = replies.try_send(pong); // if replies wait to be sent, they say that the node is there
                }
            }
            (Ok(frames::Request::Call(number, call)), Some(session)) => {
                // If so many wait, this waits too, and pings with it: the client asks for too much.
                let Ok(waits) = queue.clone().acquire_owned().await else { break };
                let (session, running, replies) = (session.clone(), running.clone(), replies.clone());
                let (cancel, places) = (CancelToken::default(), places.clone());
                running.lock().unwrap_or_else(PoisonError::into_inner).insert(number, cancel.clone());
                tokio::spawn(async move {
                    let Ok(place) = places.acquire_owned().await else { return };
                    drop(waits);
                    tokio::task::spawn_blocking(move || {
                        let reply = served(&*session, call, cancel);
                        running.lock().unwrap_or_else(PoisonError::into_inner).remove(&number);
                        reply_with(number, reply, &replies);
                        drop(place);
                    });
                });
            }
            (Ok(frames::Request::Call(..) | frames::Request::Tell(_)), _) | (Err(_), _) => {
                let error = GraphError::Invalid("this is no client of this version".into());
                tracing::warn!(%from, %error, "a client was sent away");
                break;
            }
        }
    }
    running.lock().unwrap_or_else(PoisonError::into_inner).values().for_each(CancelToken::cancel);
}
