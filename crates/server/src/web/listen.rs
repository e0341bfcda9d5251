//! Takes connections, and serves HTTP on each.

use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::ConnectInfo;
use hyper::server::conn::http1;
use hyper::service::{Service, service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use socket2::{SockRef, TcpKeepalive};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::oneshot::Receiver;
use tokio::sync::watch;
use tokio::time::timeout;
use tokio_rustls::TlsAcceptor;

use super::Web;
use super::meter::{Meter, Metered, Patience};

/// How long a client may take to send the head of a request.
const HEAD: Duration = Duration::from_secs(10);
/// The buffer of a connection grows up to this.
const BUFFER_BYTES_MAX: usize = 64 << 10;
/// How long to wait after the system refused a connection, for example for want of files.
const REFUSED: Duration = Duration::from_millis(100);
/// How long nothing comes before the system asks whether the client is still there, and how long it then asks again and again.
const SILENT: Duration = Duration::from_secs(60);
const ASKING: Duration = Duration::from_secs(15);

/// Serves until `stop` says so.
pub async fn listen(listener: TcpListener, tls: Option<TlsAcceptor>, router: Router, web: Arc<Web>, mut stop: Receiver<()>) {
    loop {
        let Ok(connection) = web.connections.clone().acquire_owned().await else { return };
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            _ = &mut stop => return,
        };
        match accepted {
            Ok((stream, from)) => {
                let (tls, router, leaving) = (tls.clone(), router.clone(), web.leaving.clone());
                let memory = web.gremlin.memory(web.gremlin.anyone().is_some()).clone();
                let meter = Arc::new(Meter::new(memory, Patience::default(), connection));
                tokio::spawn(async move {
                    prepare(&stream);
                    match tls {
                        None => serve(stream, from, meter, router, leaving).await,
                        Some(tls) => match timeout(HEAD, tls.accept(stream)).await {
                            Ok(Ok(stream)) => serve(stream, from, meter, router, leaving).await,
                            Ok(Err(error)) => tracing::debug!("a connection without TLS: {error}"),
                            Err(_) => tracing::debug!("a connection did not agree on TLS in time"),
                        },
                    }
                });
            }
            Err(error) => {
                tracing::warn!("a connection was refused: {error}");
                tokio::time::sleep(REFUSED).await;
            }
        }
    }
}

/// Has small responses sent at once, and clients that vanished noticed. A system that cannot do so serves all the same.
fn prepare(stream: &TcpStream) {
    let _ = stream.set_nodelay(true);
    let keepalive = TcpKeepalive::new().with_time(SILENT).with_interval(ASKING);
    let _ = SockRef::from(stream).set_tcp_keepalive(&keepalive);
}

async fn serve(
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    from: SocketAddr,
    meter: Arc<Meter>,
    router: Router,
    mut leaving: watch::Receiver<bool>,
) {
    let mut http = http1::Builder::new();
    http.timer(TokioTimer::new()).header_read_timeout(HEAD).max_buf_size(BUFFER_BYTES_MAX);
    let (service, stream) = (TowerToHyperService::new(router), Metered::new(stream, meter.clone()));
    let service = service_fn(move |mut request: hyper::Request<hyper::body::Incoming>| {
        request.extensions_mut().insert(meter.clone());
        request.extensions_mut().insert(ConnectInfo(from));
        service.call(request)
    });
    let mut connection = pin!(http.serve_connection(TokioIo::new(stream), service).with_upgrades());
    let is_leaving = async { drop(leaving.wait_for(|leaving| *leaving).await) };
    let served = tokio::select! {
        served = connection.as_mut() => served,
        () = is_leaving => {
            // The response that is on its way is the last one.
            connection.as_mut().graceful_shutdown();
            connection.await
        }
    };
    if let Err(error) = served {
        tracing::debug!("a connection ended: {error}");
    }
}
