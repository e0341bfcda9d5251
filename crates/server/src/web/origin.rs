//! Refuses requests that a page of another site sends through a user's browser.
//!
//! A server without users trusts whoever reaches it. A browser on the same machine reaches it on behalf of every page that it shows.
//! Browsers say which site a request comes from (`Origin`), and which name it was sent to (`Host`): a name that is not this machine's
//! may have been made to lead here.

use std::net::IpAddr;
use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderName, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

use super::meter::Meter;
use super::{Web, rest};

pub async fn check(State(web): State<Arc<Web>>, request: Request, next: Next) -> Response {
    // Users are known by their passwords, whatever name the server has.
    let any_name = web.gremlin.anyone().is_none();
    match is_trusted(request.headers(), any_name) {
        true => {
            let meter = request.extensions().get::<Arc<Meter>>().cloned();
            let response = next.run(request).await;
            // What was not read of the request is not kept either.
            if let Some(meter) = meter {
                drop(meter.whole());
            }
            response
        }
        false => rest::Problem::new(StatusCode::FORBIDDEN, OTHER_SITE).into_response(),
    }
}

pub const OTHER_SITE: &str = "this request was sent by a page of another site, or to another name";

/// Whether no page of another site has sent a request with these headers. Without `any_name`, its host must be this machine.
pub fn is_trusted(headers: &HeaderMap, any_name: bool) -> bool {
    let text = |name: HeaderName| headers.get(name).map(|value| value.to_str().unwrap_or("?"));
    let host = text(header::HOST);
    let is_local = host.is_none_or(|host| is_this_machine(host_name(host)));
    let is_same = text(header::ORIGIN).is_none_or(|origin| {
        let site = origin.split_once("://").map(|(_, site)| site);
        site.is_some() && site == host
    });
    // Browsers send no origin with an address that a page only shows.
    let is_ours = text(HeaderName::from_static("sec-fetch-site")).is_none_or(|site| matches!(site, "same-origin" | "none"));
    (any_name || is_local) && is_same && is_ours
}

/// The host without its port.
fn host_name(host: &str) -> &str {
    match host.strip_prefix('[') {
        Some(rest) => rest.split(']').next().unwrap_or_default(),
        None => host.split(':').next().unwrap_or_default(),
    }
}

fn is_this_machine(name: &str) -> bool {
    name.eq_ignore_ascii_case("localhost") || name.parse().is_ok_and(|address: IpAddr| address.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trusted_as(headers: &[(header::HeaderName, &'static str)], any_name: bool) -> bool {
        let value = |value| header::HeaderValue::from_static(value);
        is_trusted(&headers.iter().map(|(name, text)| (name.clone(), value(text))).collect(), any_name)
    }

    fn trusted(headers: &[(header::HeaderName, &'static str)]) -> bool {
        trusted_as(headers, false)
    }

    #[test]
    fn only_pages_of_this_server_are_trusted() {
        use header::{HOST, ORIGIN};
        assert!(trusted(&[]));
        assert!(trusted(&[(HOST, "localhost:8182")]));
        assert!(trusted(&[(HOST, "127.0.0.1:8182"), (ORIGIN, "http://127.0.0.1:8182")]));
        assert!(trusted(&[(HOST, "[::1]:8182"), (ORIGIN, "http://[::1]:8182")]));
        assert!(!trusted(&[(HOST, "localhost:8182"), (ORIGIN, "http://evil.example")]));
        assert!(!trusted(&[(HOST, "localhost:8182"), (ORIGIN, "http://localhost:3000")]));
        assert!(!trusted(&[(HOST, "localhost:8182"), (ORIGIN, "null")]));
        // A name of others that leads here.
        assert!(!trusted(&[(HOST, "evil.example:8182"), (ORIGIN, "http://evil.example:8182")]));
        assert!(!trusted(&[(HOST, "127.0.0.1.evil.example")]));
        let site = HeaderName::from_static("sec-fetch-site");
        assert!(trusted(&[(HOST, "localhost"), (site.clone(), "none")]));
        assert!(!trusted(&[(HOST, "localhost"), (site, "cross-site")]));
        assert!(trusted_as(&[(HOST, "graph.example"), (ORIGIN, "https://graph.example")], true));
        assert!(!trusted_as(&[(HOST, "graph.example"), (ORIGIN, "https://evil.example")], true));
    }
}
