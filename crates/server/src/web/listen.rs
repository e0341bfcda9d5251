//! Takes connections, with or without TLS.

use std::io;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use socket2::{SockRef, TcpKeepalive};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;
use tokio_rustls::TlsAcceptor;

/// How long a client may take to agree on TLS, or to send the head of a request.
pub const HEAD: Duration = Duration::from_secs(10);
/// How long to wait after the system refused a connection, for example for want of files.
const REFUSED: Duration = Duration::from_millis(100);
/// How long nothing comes before the system asks whether the client is still there, and how long it then asks again and again.
const SILENT: Duration = Duration::from_secs(60);
const ASKING: Duration = Duration::from_secs(15);

/// What to do with a connection. `place` is its place among those that may be open.
pub trait Serve: Clone + Send + Sync + 'static {
    fn serve(
        self,
        stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
        from: SocketAddr,
        place: OwnedSemaphorePermit,
    ) -> impl Future<Output = ()> + Send;
}

/// Serves connections until `stop` ends. Each takes one of the `places`.
pub async fn listen(
    listener: TcpListener,
    tls: Option<TlsAcceptor>,
    places: Arc<Semaphore>,
    serve: impl Serve,
    stop: impl Future<Output = ()>,
) {
    let mut stop = pin!(stop);
    loop {
        let accepted = tokio::select! {
            accepted = taken(&listener, &places) => accepted,
            () = &mut stop => return,
        };
        match accepted {
            Ok((stream, from, place)) => {
                prepare(&stream);
                tokio::spawn(secured(stream, tls.clone(), from, place, serve.clone()));
            }
            Err(error) => {
                tracing::warn!("a connection was refused: {error}");
                tokio::time::sleep(REFUSED).await;
            }
        }
    }
}

/// The next connection, once there is a place for it.
async fn taken(
    listener: &TcpListener,
    places: &Arc<Semaphore>,
) -> io::Result<(TcpStream, SocketAddr, OwnedSemaphorePermit)> {
    let (stream, from) = listener.accept().await?;
    let place = places.clone().acquire_owned().await.map_err(io::Error::other)?;
    Ok((stream, from, place))
}

/// Has small responses sent at once, and clients that vanished noticed. A system that cannot do so serves all the same.
fn prepare(stream: &TcpStream) {
    let _ = stream.set_nodelay(true);
    let keepalive = TcpKeepalive::new().with_time(SILENT).with_interval(ASKING);
    let _ = SockRef::from(stream).set_tcp_keepalive(&keepalive);
}

async fn secured(
    stream: TcpStream,
    tls: Option<TlsAcceptor>,
    from: SocketAddr,
    place: OwnedSemaphorePermit,
    serve: impl Serve,
) {
    let Some(tls) = tls else { return serve.serve(stream, from, place).await };
    match timeout(HEAD, tls.accept(stream)).await {
        Ok(Ok(stream)) => serve.serve(stream, from, place).await,
        Ok(Err(error)) => tracing::debug!("a connection without TLS: {error}"),
        Err(_) => tracing::debug!("a connection did not agree on TLS in time"),
    }
}
