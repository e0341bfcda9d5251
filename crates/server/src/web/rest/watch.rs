//! What all resources have in common: who asks, how often, what is recorded, and how errors look.

use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll, ready};

use axum::body::{Body, Bytes, HttpBody, to_bytes};
use axum::extract::{ConnectInfo, Request, State};
use axum::http::{StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use hyper::body::{Frame, SizeHint};
use mangrove::OnProfile;

use super::super::meter::Meter;
use super::super::{Web, http};
use super::problem::{self, Problem};
use crate::gremlin::MANY;
use crate::observe::{Fact, Over, Seen};

/// What handlers tell of a request.
#[derive(Default)]
pub struct Noted {
    user: OnceLock<Arc<str>>,
    pub query: OnceLock<String>,
    /// What its queries are to tell.
    pub on_profile: Option<OnProfile>,
}

/// Records a request once its response was sent, and makes its error a problem document.
pub async fn watched(
    State(web): State<Arc<Web>>,
    ConnectInfo(from): ConnectInfo<SocketAddr>,
    mut request: Request,
    next: Next,
) -> Response {
    let mut seen = Seen::new(&web.gremlin.observer, Over::Api, from.ip(), Some(request.headers()));
    seen.note(Fact::Method, Some(request.method().as_str()));
    seen.note(Fact::Path, Some(&format!("/api{}", request.uri().path())));
    let noted = Arc::new(Noted { on_profile: seen.on_profile(), ..Noted::default() });
    request.extensions_mut().insert(noted.clone());
    let meter = request.extensions().get::<Arc<Meter>>().cloned();

    let watched = Watched { seen, noted };
    let mut response = next.run(request).await;
    if meter.is_some_and(|meter| meter.is_refused()) && !response.status().is_success() {
        response = Problem::new(StatusCode::TOO_MANY_REQUESTS, MANY).into_response();
    }
    let response = as_problem(response).await;
    let status = response.status().as_u16();
    watched.seen.answered(status, 0, 0);
    response.map(|body| Body::new(Counted { body, status, watched }))
}

/// A request with what handlers tell of it, whether or not it is answered.
struct Watched {
    seen: Seen,
    noted: Arc<Noted>,
}

impl Drop for Watched {
    fn drop(&mut self) {
        self.seen.note(Fact::User, self.noted.user.get().map(|name| &**name));
        self.seen.note(Fact::Query, self.noted.query.get().map(String::as_str));
    }
}

/// Lets those through who say who they are, and who ask not too often.
pub async fn known(
    State(web): State<Arc<Web>>,
    ConnectInfo(from): ConnectInfo<SocketAddr>,
    mut request: Request,
    next: Next,
) -> Response {
    let Some(principal) = http::principal(&web, request.headers()).await else {
        return http::unknown_user(request.headers());
    };
    if let (Some(noted), Some(name)) = (request.extensions().get::<Arc<Noted>>(), &principal.name) {
        noted.user.get_or_init(|| name.clone());
    }
    if let Err(refused) = web.gremlin.rates.take(&principal, from.ip()) {
        return Problem::from(refused).into_response();
    }
    if let Some(meter) = request.extensions().get::<Arc<Meter>>() {
        meter.take_of(web.gremlin.memory(true).clone());
        drop(meter.whole());
    }
    request.extensions_mut().insert(principal);
    next.run(request).await
}

/// The most bytes of an error that is not yet a problem document.
const ERROR_BYTES: usize = 64 << 10;

/// The same response, as a problem document if it is an error.
async fn as_problem(response: Response) -> Response {
    let status = response.status();
    let is_one = response.headers().get(header::CONTENT_TYPE).is_some_and(|kind| kind == problem::MEDIA_TYPE);
    if !(status.is_client_error() || status.is_server_error()) || is_one {
        return response;
    }
    let (parts, body) = response.into_parts();
    let text = to_bytes(body, ERROR_BYTES).await.unwrap_or_default();
    let detail = match status {
        StatusCode::METHOD_NOT_ALLOWED => "this resource has no such method: see the header Allow".to_owned(),
        StatusCode::PAYLOAD_TOO_LARGE => "the body has more bytes than this resource takes: rows go to `ingest`".to_owned(),
        _ => String::from_utf8_lossy(&text).trim().to_owned(),
    };
    let mut problem = Problem::new(status, detail).into_response();
    for name in [header::ALLOW, header::WWW_AUTHENTICATE] {
        problem.headers_mut().extend(parts.headers.get(&name).map(|value| (name, value.clone())));
    }
    problem
}

/// A body that counts its bytes, and records its request once it was sent.
struct Counted {
    body: Body,
    status: u16,
    watched: Watched,
}

impl HttpBody for Counted {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let frame = ready!(Pin::new(&mut self.body).poll_frame(cx));
        if let Some(data) = frame.as_ref().and_then(|frame| frame.as_ref().ok()).and_then(Frame::data_ref) {
            self.watched.seen.answered(self.status, 0, data.len());
        }
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
