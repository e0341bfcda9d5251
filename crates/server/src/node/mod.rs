//! `/metrics` and `/healthz` of a node of a graph on many nodes, and the traces of its calls.
//!
//! On this machine, the pages speak HTTP, and whoever reaches it may ask. Beyond, they speak TLS as the node does: whoever asks shows a certificate of the
//! authority of the nodes.

mod metrics;
mod traces;

use std::net::SocketAddr;
use std::path::Path;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use axum::Router;
use axum::extract::{Request, State};
use axum::http::{StatusCode, header};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use mangrove::cluster::{CA_FILE, CERTIFICATE_FILE, KEY_FILE, NodeWatch};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpListener;
use tokio::runtime::Runtime;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot};
use tokio::task::spawn_blocking;
use tokio::time::timeout;

pub use traces::NodeTraces;

use crate::error::ServerError;
use crate::web::{HEAD, METRICS_TYPE, OTHER_SITE, Serve, TlsFiles, is_trusted, listen};

/// The most open connections. Further ones wait.
const CONNECTIONS_MAX: usize = 64;
/// A connection answers one request, in this time.
const ANSWERING: Duration = Duration::from_secs(30);
const BUFFER_BYTES_MAX: usize = 16 << 10;

/// Says over HTTP how a node is. Dropping it ends that.
pub struct NodeMetrics {
    address: SocketAddr,
    is_secure: bool,
    pages: Arc<Pages>,
    stop: Option<oneshot::Sender<()>>,
    runtime: Option<Runtime>,
}

struct Pages {
    /// The node, once it follows the log.
    node: OnceLock<NodeWatch>,
    /// Whether a request may be for a host of any name. Beyond this machine, certificates tell who asks.
    any_name: bool,
}

impl NodeMetrics {
    /// Begins to answer, before there is a node. `identity` is the directory of the node's certificates, which it needs beyond this machine.
    ///
    /// # Errors
    /// If the address is beyond this machine and there are no certificates, if these cannot be read, or if it cannot listen.
    pub fn start(address: SocketAddr, identity: Option<&Path>) -> Result<Self, ServerError> {
        let is_secure = !address.ip().is_loopback();
        let identity = if is_secure { identity.ok_or(ServerError::NoCertificates(address)).map(Some)? } else { None };
        let tls = identity.map(acceptor).transpose()?;
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .max_blocking_threads(2)
            .thread_name("metrics")
            .enable_all()
            .build()
            .map_err(ServerError::Threads)?;
        let failed = |error| ServerError::Listen { address, error };
        let listener = runtime.block_on(TcpListener::bind(address)).map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        let pages = Arc::new(Pages { node: OnceLock::new(), any_name: is_secure });
        let (stop, stopped) = oneshot::channel();
        let (places, serving) = (Arc::new(Semaphore::new(CONNECTIONS_MAX)), Serving(router(pages.clone())));
        runtime.spawn(listen(listener, tls, places, serving, async { drop(stopped.await) }));
        Ok(Self { address, is_secure, pages, stop: Some(stop), runtime: Some(runtime) })
    }

    /// From now on, it says how this node is.
    pub fn show(&self, node: NodeWatch) {
        let _ = self.pages.node.set(node); // the first one stays
    }

    /// Where it answers.
    pub fn url(&self) -> String {
        format!("{}://{}/metrics", if self.is_secure { "https" } else { "http" }, self.address)
    }
}

impl Drop for NodeMetrics {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

/// Agrees on TLS with those who show a certificate of the same authority.
fn acceptor(directory: &Path) -> Result<tokio_rustls::TlsAcceptor, ServerError> {
    let files = TlsFiles { certificate: directory.join(CERTIFICATE_FILE), key: directory.join(KEY_FILE) };
    Ok(files.acceptor_for(Some(&directory.join(CA_FILE)), &["http/1.1"])?)
}

fn router(pages: Arc<Pages>) -> Router {
    Router::new()
        .route("/metrics", get(show))
        .route("/healthz", get(health))
        .layer(from_fn_with_state(pages.clone(), check))
        .with_state(pages)
}

/// Refuses requests that a page of another site sends through a user's browser.
async fn check(State(pages): State<Arc<Pages>>, request: Request, next: Next) -> Response {
    match is_trusted(request.headers(), pages.any_name) {
        true => next.run(request).await,
        false => (StatusCode::FORBIDDEN, OTHER_SITE).into_response(),
    }
}

async fn show(State(pages): State<Arc<Pages>>) -> Response {
    // It looks at files, for their sizes.
    let text = spawn_blocking(move || metrics::text(&pages.node.get()?.seen()?).ok()).await;
    match text.ok().flatten() {
        Some(text) => ([(header::CONTENT_TYPE, METRICS_TYPE)], text).into_response(),
        None => not_yet(),
    }
}

async fn health(State(pages): State<Arc<Pages>>) -> Response {
    match pages.node.get().is_some_and(NodeWatch::answers) {
        true => "ok\n".into_response(),
        false => not_yet(),
    }
}

fn not_yet() -> Response {
    (StatusCode::SERVICE_UNAVAILABLE, "the node does not answer: it reads the log, or it has ended\n").into_response()
}

/// Answers one request of each connection.
#[derive(Clone)]
struct Serving(Router);

impl Serve for Serving {
    async fn serve(
        self,
        stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
        from: SocketAddr,
        place: OwnedSemaphorePermit,
    ) {
        let mut http = http1::Builder::new();
        http.timer(TokioTimer::new()).header_read_timeout(HEAD).max_buf_size(BUFFER_BYTES_MAX).keep_alive(false);
        let connection = http.serve_connection(TokioIo::new(stream), TowerToHyperService::new(self.0));
        match timeout(ANSWERING, connection).await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => tracing::debug!(%from, "a connection ended: {error}"),
            Err(_) => tracing::debug!(%from, "a connection took too long"),
        }
        drop(place);
    }
}
