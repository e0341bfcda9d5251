//! The transports: WebSocket and HTTP.

mod connection;
mod flight;
mod http;
mod listen;
mod meter;
mod metrics;
mod nodes;
mod origin;
mod page;
mod rest;
mod socket;
mod tls;
mod transactions;
mod unread;

use std::path::PathBuf;
use std::sync::Arc;

use axum::Router;
use axum::extract::DefaultBodyLimit;
use axum::middleware::{from_fn, from_fn_with_state};
use axum::routing::get;
use tokio::sync::{Semaphore, watch};

use crate::gremlin::Gremlin;
pub use connection::Http;
pub use flight::Flight;
pub use listen::{HEAD, Serve, listen};
pub use metrics::MEDIA_TYPE as METRICS_TYPE;
pub use origin::{OTHER_SITE, is_trusted};
use rest::Jobs;
pub use tls::{TlsError, TlsFiles};
use transactions::Transactions;

/// What the handlers of requests share.
pub struct Web {
    pub gremlin: Arc<Gremlin>,
    /// The most bytes of a request.
    pub request_bytes_max: usize,
    /// One permit for each connection that may be open.
    pub connections: Arc<Semaphore>,
    /// The most bytes of rows that come in bulk.
    pub ingest_bytes_max: u64,
    /// Where backups go; `None` if there may be none.
    pub backups: Option<PathBuf>,
    pub jobs: Jobs,
    pub transactions: Transactions,
    /// True once connections are to end.
    pub leaving: watch::Receiver<bool>,
}

/// The most open connections. Further ones wait to be taken.
pub const CONNECTIONS_MAX: usize = 16_384;

impl Web {
    /// Waits until connections are to end.
    pub async fn left(&self) {
        // A server that is gone has left, too.
        drop(self.leaving.clone().wait_for(|leaving| *leaving).await);
    }

    fn connections_open(&self) -> usize {
        CONNECTIONS_MAX - self.connections.available_permits()
    }
}

/// The address space of a server.
pub fn router(web: Arc<Web>) -> Router {
    let limit = DefaultBodyLimit::max(web.request_bytes_max);
    let gremlin = || get(socket::or_query).post(http::post);
    Router::new()
        .route("/gremlin", gremlin())
        .route("/", gremlin().layer(from_fn(page::or_next)))
        .route("/explorer/{file}", get(page::part))
        .route("/metrics", get(metrics::show))
        .route("/healthz", get(|| async { "ok\n" }))
        .nest("/api", rest::router(&web))
        .layer(limit)
        .layer(from_fn_with_state(web.clone(), origin::check))
        .layer(from_fn_with_state(web.clone(), unread::read_on))
        .with_state(web)
}
