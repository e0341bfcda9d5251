//! Reads what a client still sends after its response. A client that writes to a closed connection would not see the response.

use std::mem;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use axum::body::{Body, Bytes, HttpBody};
use axum::extract::{Request, State};
use axum::http::header;
use axum::middleware::Next;
use axum::response::Response;
use hyper::body::{Frame, SizeHint};
use tokio::runtime::Handle;
use tokio::time::timeout;

use super::Web;
use super::meter::Meter;

/// How long the rest of a body is read, and how many bytes of it. Anybody may send one.
const PATIENCE: Duration = Duration::from_secs(30);
const BYTES_MAX: usize = 64 << 20;

/// Lets handlers answer before they have read the whole body. A client that waits for `100 Continue` sends nothing after an error.
pub async fn read_on(State(web): State<Arc<Web>>, request: Request, next: Next) -> Response {
    if request.headers().contains_key(header::EXPECT) || request.body().is_end_stream() {
        return next.run(request).await;
    }
    let meter = request.extensions().get::<Arc<Meter>>().cloned();
    next.run(request.map(|body| Body::new(Unread { body, is_over: false, meter, web }))).await
}

/// A body that is read to its end once nobody wants it.
struct Unread {
    body: Body,
    is_over: bool,
    meter: Option<Arc<Meter>>,
    web: Arc<Web>,
}

impl HttpBody for Unread {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let frame = ready!(Pin::new(&mut self.body).poll_frame(cx));
        self.is_over = matches!(frame, None | Some(Err(_)));
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

impl Drop for Unread {
    fn drop(&mut self) {
        if self.is_over || self.body.is_end_stream() {
            return;
        }
        let Ok(runtime) = Handle::try_current() else { return };
        let (body, meter, web) = (mem::take(&mut self.body), self.meter.take(), self.web.clone());
        runtime.spawn(async move {
            tokio::select! {
                _ = timeout(PATIENCE, read(body, meter)) => {}
                () = web.left() => {}
            }
        });
    }
}

/// Reads a body to its end, and keeps nothing.
async fn read(mut body: Body, meter: Option<Arc<Meter>>) {
    let mut bytes = 0;
    while let Some(Ok(frame)) = std::future::poll_fn(|cx| Pin::new(&mut body).poll_frame(cx)).await {
        bytes += frame.data_ref().map_or(0, Bytes::len);
        if bytes > BYTES_MAX {
            return;
        }
        if let Some(meter) = &meter {
            meter.go_on();
        }
    }
    if let Some(meter) = &meter {
        drop(meter.whole());
    }
}
