//! Who sends a request, and what it says.

use std::sync::Arc;

use axum::body::Bytes;
use axum::extract::{FromRequest, FromRequestParts, Request};
use axum::http::StatusCode;
use axum::http::request::Parts;
use axum::response::{IntoResponse, Response};
use mangrove::{Database, OnProfile};
use mangrove_query::gremlin::Outline;
use serde::de::DeserializeOwned;

use super::super::Web;
use super::super::meter::Meter;
use super::problem::{Problem, must_be};
use super::watch::Noted;
use crate::gremlin::{MANY, Share, VALUE_BYTES};
use crate::users::{Principal, Role};

/// The most values of a document, within others or not.
const VALUES_MAX: usize = 1 << 20;

/// Whoever sends a request.
pub struct As {
    pub principal: Principal,
    noted: Arc<Noted>,
}

impl As {
    /// Fails if the role is lower.
    pub fn must_be(&self, wanted: Role) -> Result<(), Problem> {
        must_be(self.principal.role, wanted)
    }

    /// What the queries of the request are to tell.
    pub fn on_profile(&self) -> Option<OnProfile> {
        self.noted.on_profile.clone()
    }

    /// Notes the query of a request for the log.
    pub fn note(&self, query: &str) {
        self.noted.query.get_or_init(|| query.to_owned());
    }
}

impl FromRequestParts<Arc<Web>> for As {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &Arc<Web>) -> Result<Self, Problem> {
        let found = (parts.extensions.get().cloned(), parts.extensions.get().cloned());
        let (Some(principal), Some(noted)) = found else {
            return Err(Problem::bug("a request came past the check of users: please report this"));
        };
        Ok(Self { principal, noted })
    }
}

/// A document in the body of a request.
pub struct Document<T> {
    pub read: T,
    /// What it takes.
    _share: Share,
}

impl<T: DeserializeOwned + Send + 'static> FromRequest<Arc<Web>> for Document<T> {
    type Rejection = Response;

    async fn from_request(request: Request, web: &Arc<Web>) -> Result<Self, Response> {
        let meter = request.extensions().get::<Arc<Meter>>().cloned();
        let body = Bytes::from_request(request, web).await.map_err(IntoResponse::into_response)?;
        let share = meter.and_then(|meter| meter.whole());
        let wrong = |why: String| Problem::wrong(why).into_response();
        let text = str::from_utf8(&body).map_err(|_| wrong("the body is not UTF-8".into()))?;
        let outline = Outline::of(text);
        if let Some(number) = outline.long_number {
            return Err(wrong(format!("JSON cannot carry all digits of the number {number}: send it as text")));
        }
        if outline.values > VALUES_MAX {
            return Err(wrong(format!("the body has more than {VALUES_MAX} values: send rows to `ingest`")));
        }
        drop(share);
        let Some(share) = web.gremlin.memory(true).try_hold(body.len() + outline.values * VALUE_BYTES) else {
            return Err(Problem::new(StatusCode::TOO_MANY_REQUESTS, MANY).into_response());
        };
        let read = web.gremlin.apart(body.len(), move |_| serde_json::from_slice(&body)).await;
        let read = read.map_err(|refused| Problem::from(refused).into_response())?;
        Ok(Self { read: read.map_err(|error| wrong(format!("the body: {error}")))?, _share: share })
    }
}

/// A name, or that of the first database.
pub fn name_or_first(web: &Web, name: Option<String>) -> String {
    name.or_else(|| web.gremlin.databases.first().map(|(name, _)| name.clone())).unwrap_or_default()
}

/// The database of a name.
pub fn database<'w>(web: &'w Web, name: &str) -> Result<&'w Database, Problem> {
    let found = web.gremlin.databases.iter().find(|(known, _)| known == name);
    found
        .map(|(_, database)| database)
        .ok_or_else(|| Problem::missing(format!("there is no database {name:?}: this server has {}", web.gremlin.sources())))
}
