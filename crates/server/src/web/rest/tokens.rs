//! Tokens: a login that a page or a program keeps instead of a password.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Request, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::Deserialize;
use serde_json::json;

use super::super::Web;
use super::caller::Document;
use super::problem::Problem;
use crate::users::{Gatekeeper, Login};

/// Who logs in.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Credentials {
    name: String,
    password: String,
}

/// The longest body of a login.
pub const LOGIN_BYTES: usize = 4096;

/// Gives a token to whoever has a name and its password.
pub async fn issue(State(web): State<Arc<Web>>, sent: Document<Credentials>) -> Result<Response, Problem> {
    let gatekeeper = gatekeeper(&web)?;
    let Credentials { name, password } = sent.read;
    if Gatekeeper::is_token(&password) {
        return Err(Problem::wrong("a token is no password: send it with each request, as Authorization: Bearer TOKEN"));
    }
    let principal = web.gremlin.check(Login::Password { name, password }).await;
    let principal = principal.ok_or_else(|| Problem::new(StatusCode::UNAUTHORIZED, "name or password is wrong"))?;
    let role = principal.role.name();
    let token = gatekeeper.issue(principal);
    let told = json!({"token": token, "role": role, "seconds": Gatekeeper::LASTING.as_secs()});
    Ok((StatusCode::CREATED, [(header::CACHE_CONTROL, "no-store")], Json(told)).into_response())
}

/// Ends the token that comes with the request.
pub async fn revoke(State(web): State<Arc<Web>>, request: Request) -> Result<StatusCode, Problem> {
    let gatekeeper = gatekeeper(&web)?;
    let header = request.headers().get(header::AUTHORIZATION).and_then(|value| value.to_str().ok());
    match header.and_then(Login::of_header) {
        Some(Login::Token(token)) if gatekeeper.revoke(&token) => Ok(StatusCode::NO_CONTENT),
        _ => Err(Problem::missing("the request has no token that a login gave")),
    }
}

fn gatekeeper(web: &Web) -> Result<&Gatekeeper, Problem> {
    let message = "this server has no users: nobody needs a token";
    web.gremlin.gatekeeper().ok_or_else(|| Problem::new(StatusCode::CONFLICT, message))
}
