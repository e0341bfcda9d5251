//! Takes connections, and serves HTTP on each.

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpListener;
use tokio::sync::Semaphore;
use tokio::sync::oneshot::Receiver;
use tokio::time::timeout;
use tokio_rustls::TlsAcceptor;

/// The most open connections. Further ones wait to be taken.
const CONNECTIONS_MAX: usize = 16_384;
/// How long a client may take to send the head of a request.
const HEAD: Duration = Duration::from_secs(10);
/// The buffer of a connection grows up to this.
const BUFFER_BYTES_MAX: usize = 64 << 10;
/// How long to wait after the system refused a connection, for example for want of files.
const REFUSED: Duration = Duration::from_millis(100);

/// Serves until `stop` says so.
pub async fn listen(listener: TcpListener, tls: Option<TlsAcceptor>, router: Router, mut stop: Receiver<()>) {
    let room = Arc::new(Semaphore::new(CONNECTIONS_MAX));
    loop {
        let Ok(place) = room.clone().acquire_owned().await else { return };
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            _ = &mut stop => return,
        };
        match accepted {
            Ok((stream, _)) => {
                let (tls, router) = (tls.clone(), router.clone());
                tokio::spawn(async move {
                    // Responses are small and awaited. If the system cannot send them at once, they are sent a little later.
                    let _ = stream.set_nodelay(true);
                    match tls {
                        None => serve(stream, router).await,
                        Some(tls) => match timeout(HEAD, tls.accept(stream)).await {
                            Ok(Ok(stream)) => serve(stream, router).await,
                            Ok(Err(error)) => tracing::debug!("a connection without TLS: {error}"),
                            Err(_) => tracing::debug!("a connection did not agree on TLS in time"),
                        },
                    }
                    drop(place);
                });
            }
            Err(error) => {
                tracing::warn!("a connection was refused: {error}");
                tokio::time::sleep(REFUSED).await;
            }
        }
    }
}

async fn serve(stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static, router: Router) {
    let mut http = http1::Builder::new();
    http.timer(TokioTimer::new()).header_read_timeout(HEAD).max_buf_size(BUFFER_BYTES_MAX);
    let served = http.serve_connection(TokioIo::new(stream), TowerToHyperService::new(router)).with_upgrades();
    if let Err(error) = served.await {
        tracing::debug!("a connection ended: {error}");
    }
}
