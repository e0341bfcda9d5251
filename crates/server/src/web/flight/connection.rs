//! HTTP/2 on one connection, for gRPC.

use std::convert::Infallible;
use std::net::{IpAddr, SocketAddr};
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use arrow_flight::flight_service_server::FlightServiceServer;
use axum::http::{Request, Response, StatusCode};
use hyper::body::Incoming;
use hyper::server::conn::http2;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::OwnedSemaphorePermit;
use tonic::Status;
use tonic::codegen::Service;

use super::super::listen::Serve;
use super::super::{Web, http};
use super::service::{Calls, MESSAGE_BYTES_MAX};
use crate::observe::{Over, Seen};

/// The most calls of a connection at a time.
const CALLS_MAX: u32 = 16;
/// What a call, and a connection, may receive before somebody has read it. Messages other than rows have no more, either.
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
        let (web, from) = (self.0.clone(), from.ip());
        let service = service_fn(move |request| answer(web.clone(), from, request));
        let mut http = http2::Builder::new(TokioExecutor::new());
        http.timer(TokioTimer::new())
            .max_concurrent_streams(CALLS_MAX)
            .initial_stream_window_size(CALL_BYTES)
            .initial_connection_window_size(CONNECTION_BYTES)
            .max_header_list_size(HEAD_BYTES)
            .keep_alive_interval(ASKING)
            .keep_alive_timeout(ANSWERING);
        let mut connection = pin!(http.serve_connection(TokioIo::new(stream), service));
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

/// Answers a call of somebody who is known. What strangers send is not read.
async fn answer(
    web: Arc<Web>,
    from: IpAddr,
    mut request: Request<Incoming>,
) -> Result<Response<tonic::body::Body>, Infallible> {
    let Some(principal) = http::principal(&web, request.headers()).await else {
        Seen::new(&web.gremlin.observer, Over::Flight, from, None).answered(StatusCode::UNAUTHORIZED.as_u16(), 0, 0);
        return Ok(Status::unauthenticated(STRANGER).into_http());
    };
    request.extensions_mut().insert(principal);
    let bytes_max = if request.uri().path().ends_with("/DoPut") { MESSAGE_BYTES_MAX } else { CALL_BYTES as usize };
    FlightServiceServer::new(Calls::new(web, from)).max_decoding_message_size(bytes_max).call(request).await
}

const STRANGER: &str = "name and password are wanted, or a token, and must be right: send the header authorization";
