//! HTTP/2 on one connection, for gRPC.

use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use arrow_flight::flight_service_server::FlightServiceServer;
use hyper::server::conn::http2;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::OwnedSemaphorePermit;

use super::super::Web;
use super::super::listen::Serve;
use super::service::{Calls, MESSAGE_BYTES_MAX};

/// The most calls of a connection at a time.
const CALLS_MAX: u32 = 16;
/// What a call, and a connection, may receive before somebody has read it.
const CALL_BYTES: u32 = 1 << 20;
const CONNECTION_BYTES: u32 = 4 << 20;
/// The most bytes of the head of a call.
const HEAD_BYTES: u32 = 16 << 10;
/// How often to ask whether a client is there, and how long it may take to answer.
const ASKING: Duration = Duration::from_secs(60);
const ANSWERING: Duration = Duration::from_secs(20);

/// Serves Arrow Flight.
#[derive(Clone)]
pub struct Flight(pub Arc<Web>);

impl Serve for Flight {
    async fn serve(
        self,
        stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
        from: SocketAddr,
        _place: OwnedSemaphorePermit,
    ) {
        let calls = Calls::new(self.0.clone(), from.ip());
        let service = FlightServiceServer::new(calls).max_decoding_message_size(MESSAGE_BYTES_MAX);
        let mut http = http2::Builder::new(TokioExecutor::new());
        http.timer(TokioTimer::new())
            .max_concurrent_streams(CALLS_MAX)
            .initial_stream_window_size(CALL_BYTES)
            .initial_connection_window_size(CONNECTION_BYTES)
            .max_header_list_size(HEAD_BYTES)
            .keep_alive_interval(ASKING)
            .keep_alive_timeout(ANSWERING);
        let mut connection = pin!(http.serve_connection(TokioIo::new(stream), TowerToHyperService::new(service)));
        let served = tokio::select! {
            served = connection.as_mut() => served,
            () = self.0.left() => {
                connection.as_mut().graceful_shutdown();
                connection.await
            }
        };
        if let Err(error) = served {
            tracing::debug!("a connection ended: {error}");
        }
    }
}
