//! HTTP/1 on one connection.

use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;

use axum::Router;
use axum::extract::ConnectInfo;
use hyper::server::conn::http1;
use hyper::service::{Service, service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::OwnedSemaphorePermit;

use super::Web;
use super::listen::{HEAD, Serve};
use super::meter::{Meter, Metered, Patience};

/// The buffer of a connection grows up to this.
const BUFFER_BYTES_MAX: usize = 64 << 10;

/// Serves HTTP and WebSockets.
#[derive(Clone)]
pub struct Http {
    pub web: Arc<Web>,
    pub router: Router,
}

impl Serve for Http {
    async fn serve(
        self,
        stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
        from: SocketAddr,
        place: OwnedSemaphorePermit,
    ) {
        let memory = self.web.gremlin.memory(self.web.gremlin.anyone().is_some()).clone();
        let meter = Arc::new(Meter::new(memory, Patience::default(), place));
        let mut http = http1::Builder::new();
        http.timer(TokioTimer::new()).header_read_timeout(HEAD).max_buf_size(BUFFER_BYTES_MAX);
        let (service, stream) = (TowerToHyperService::new(self.router), Metered::new(stream, meter.clone()));
        let service = service_fn(move |mut request: hyper::Request<hyper::body::Incoming>| {
            request.extensions_mut().insert(meter.clone());
            request.extensions_mut().insert(ConnectInfo(from));
            service.call(request)
        });
        let mut connection = pin!(http.serve_connection(TokioIo::new(stream), service).with_upgrades());
        let served = tokio::select! {
            served = connection.as_mut() => served,
            () = self.web.left() => {
                // The response that is on its way is the last one.
                connection.as_mut().graceful_shutdown();
                connection.await
            }
        };
        if let Err(error) = served {
            tracing::debug!("a connection ended: {error}");
        }
    }
}
