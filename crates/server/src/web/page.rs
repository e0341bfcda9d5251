//! The explorer: the page that a browser shows at the address of a server. `web/` has its source.

use std::io::Write;
use std::sync::LazyLock;

use axum::extract::{Path, Request};
use axum::http::{HeaderMap, Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use flate2::Compression;
use flate2::write::GzEncoder;
use sha2::{Digest, Sha256};

/// A file of the page.
struct File {
    name: &'static str,
    media_type: &'static str,
    bytes: &'static [u8],
    zipped: Vec<u8>,
    /// It changes with the bytes.
    tag: String,
}

/// They are compressed when the first browser comes.
static FILES: LazyLock<[File; 5]> = LazyLock::new(|| {
    [
        file("index.html", "text/html; charset=utf-8", include_bytes!("../../explorer/index.html")),
        file("explorer.js", "text/javascript; charset=utf-8", include_bytes!("../../explorer/explorer.js")),
        file("explorer.css", "text/css; charset=utf-8", include_bytes!("../../explorer/explorer.css")),
        file("icon.svg", "image/svg+xml", include_bytes!("../../explorer/icon.svg")),
        file("licences.txt", "text/plain; charset=utf-8", include_bytes!("../../explorer/licences.txt")),
    ]
});

fn file(name: &'static str, media_type: &'static str, bytes: &'static [u8]) -> File {
    let mut zip = GzEncoder::new(Vec::new(), Compression::default());
    // A vector takes all that is written. An empty one stands for a failure.
    let zipped = zip.write_all(bytes).and_then(|()| zip.finish()).unwrap_or_default();
    let tag = Sha256::digest(bytes)[..8].iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    File { name, media_type, bytes, zipped, tag: format!("\"{tag}\"") }
}

/// What a browser may do with the page: run and show what this server sends, and nothing of others.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data: blob:; \
                      connect-src 'self'; worker-src 'self' blob:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// Shows the page to a browser that opens the address of the server. Programs that ask for something else there get that.
pub async fn or_next(request: Request, next: Next) -> Response {
    match is_wanted(&request) {
        true => show("index.html", request.headers()),
        false => next.run(request).await,
    }
}

fn is_wanted(request: &Request) -> bool {
    let has = |name, part: &str| request.headers().get(name).and_then(|v| v.to_str().ok()).is_some_and(|v| v.contains(part));
    let is_query = request.uri().query().is_some_and(|query| query.contains("gremlin="));
    matches!(*request.method(), Method::GET | Method::HEAD) && has(header::ACCEPT, "text/html") && !is_query
}

/// A file of the page, by its name.
pub async fn part(Path(name): Path<String>, headers: HeaderMap) -> Response {
    show(&name, &headers)
}

fn show(name: &str, headers: &HeaderMap) -> Response {
    let Some(file) = FILES.iter().find(|file| file.name == name) else { return StatusCode::NOT_FOUND.into_response() };
    let says = |name, text: &str| headers.get(name).and_then(|v| v.to_str().ok()).is_some_and(|said| said.contains(text));
    let about = [
        (header::CONTENT_TYPE, file.media_type),
        (header::ETAG, file.tag.as_str()),
        // A browser asks each time whether it has the bytes of this version.
        (header::CACHE_CONTROL, "no-cache"),
        (header::VARY, "accept-encoding"),
        (header::CONTENT_SECURITY_POLICY, POLICY),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::REFERRER_POLICY, "no-referrer"),
    ];
    if says(header::IF_NONE_MATCH, &file.tag) {
        return (StatusCode::NOT_MODIFIED, about).into_response();
    }
    match says(header::ACCEPT_ENCODING, "gzip") && !file.zipped.is_empty() {
        true => (about, [(header::CONTENT_ENCODING, "gzip")], file.zipped.as_slice()).into_response(),
        false => (about, file.bytes).into_response(),
    }
}
