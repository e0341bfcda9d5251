//! Who sends a request, and what it says.

use std::sync::Arc;

use axum::body::Bytes;
use axum::extract::{FromRequest, FromRequestParts, Request};
use axum::http::StatusCode;
use axum::http::request::Parts;
use axum::response::{IntoResponse, Response};
use mangrove::Database;
use mangrove_query::gremlin::long_number;
use serde::de::DeserializeOwned;

use super::super::meter::Meter;
use super::super::{Web, http};
use super::problem::Problem;
use crate::gremlin::Share;
use crate::users::Role;

/// The role of whoever sends a request.
pub struct As(pub Role);

impl As {
    /// Fails if the role is lower.
    pub fn must_be(&self, wanted: Role) -> Result<(), Problem> {
        match self.0 >= wanted {
            true => Ok(()),
            false => Err(Problem::new(StatusCode::FORBIDDEN, format!("you need the role `{}`", wanted.name()))),
        }
    }
}

impl FromRequestParts<Arc<Web>> for As {
    type Rejection = Response;

    async fn from_request_parts(parts: &mut Parts, web: &Arc<Web>) -> Result<Self, Response> {
        let role = http::role(web, &parts.headers).await.ok_or_else(http::unknown_user)?;
        if let Some(meter) = parts.extensions.get::<Arc<Meter>>() {
            meter.take_of(web.gremlin.memory(true).clone());
            drop(meter.whole());
        }
        Ok(Self(role))
    }
}

/// A document in the body of a request.
pub struct Document<T> {
    pub read: T,
    /// What it takes.
    _share: Option<Share>,
}

impl<T: DeserializeOwned> FromRequest<Arc<Web>> for Document<T> {
    type Rejection = Response;

    async fn from_request(request: Request, web: &Arc<Web>) -> Result<Self, Response> {
        let meter = request.extensions().get::<Arc<Meter>>().cloned();
        let body = Bytes::from_request(request, web).await.map_err(IntoResponse::into_response)?;
        let share = meter.and_then(|meter| meter.whole());
        let wrong = |why: String| Problem::wrong(why).into_response();
        let text = str::from_utf8(&body).map_err(|_| wrong("the body is not UTF-8".into()))?;
        if let Some(number) = long_number(text) {
            return Err(wrong(format!("JSON cannot carry all digits of the number {number}: send it as text")));
        }
        let document = serde_json::from_str(text).map_err(|error| wrong(format!("the body: {error}")))?;
        Ok(Self { read: document, _share: share })
    }
}

/// The database of a name.
pub fn database<'w>(web: &'w Web, name: &str) -> Result<&'w Database, Problem> {
    let found = web.gremlin.databases.iter().find(|(known, _)| known == name);
    found
        .map(|(_, database)| database)
        .ok_or_else(|| Problem::missing(format!("there is no database {name:?}: this server has {}", web.gremlin.sources())))
}
