//! Why a request failed, as a problem document (RFC 9457).

use arrow_schema::ArrowError;
use axum::extract::Request;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use mangrove::{QueryError, QueryErrorKind, StoreError};
use serde_json::json;
use thiserror::Error;

use crate::gremlin::Refused;
use crate::status::Status;
use crate::users::Role;

pub const MEDIA_TYPE: &str = "application/problem+json";

/// Why a request failed.
#[derive(Clone, Debug, Error)]
#[error("{detail}")]
pub struct Problem {
    pub status: StatusCode,
    pub detail: String,
}

impl Problem {
    pub fn new(status: StatusCode, detail: impl Into<String>) -> Self {
        Self { status, detail: detail.into() }
    }

    pub fn wrong(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, detail)
    }

    pub fn missing(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::NOT_FOUND, detail)
    }

    pub fn bug(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, detail)
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let Self { status, detail } = self;
        let title = status.canonical_reason().unwrap_or("failed");
        let body = json!({"type": "about:blank", "title": title, "status": status.as_u16(), "detail": detail});
        let mut response = (status, [(header::CONTENT_TYPE, MEDIA_TYPE)], body.to_string()).into_response();
        if matches!(status, StatusCode::TOO_MANY_REQUESTS | StatusCode::SERVICE_UNAVAILABLE) {
            response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from_static("1"));
        }
        response
    }
}

impl From<QueryError> for Problem {
    fn from(error: QueryError) -> Self {
        let status = match &error {
            QueryError::Query(failure) => match failure.kind {
                QueryErrorKind::Timeout => StatusCode::GATEWAY_TIMEOUT,
                QueryErrorKind::Memory => StatusCode::PAYLOAD_TOO_LARGE,
                QueryErrorKind::Fail | QueryErrorKind::Graph | QueryErrorKind::Procedure => StatusCode::UNPROCESSABLE_ENTITY,
                QueryErrorKind::Cancelled => StatusCode::SERVICE_UNAVAILABLE,
                _ => StatusCode::BAD_REQUEST,
            },
            QueryError::Graph(_) | QueryError::Aborted => StatusCode::UNPROCESSABLE_ENTITY,
            QueryError::Bug(_) => StatusCode::INTERNAL_SERVER_ERROR,
        };
        Self::new(status, error.render())
    }
}

impl From<ArrowError> for Problem {
    fn from(error: ArrowError) -> Self {
        Self::new(StatusCode::UNPROCESSABLE_ENTITY, error.to_string())
    }
}

impl From<StoreError> for Problem {
    fn from(error: StoreError) -> Self {
        Self::new(StatusCode::UNPROCESSABLE_ENTITY, error.to_string())
    }
}

impl From<Refused> for Problem {
    fn from(refused: Refused) -> Self {
        let status = match refused.status {
            Status::TooManyRequests => StatusCode::TOO_MANY_REQUESTS,
            Status::Timeout => StatusCode::GATEWAY_TIMEOUT,
            Status::Temporary => StatusCode::SERVICE_UNAVAILABLE,
            _ => StatusCode::INTERNAL_SERVER_ERROR,
        };
        Self::new(status, refused.message)
    }
}

/// Fails if a role is lower than another.
pub fn must_be(role: Role, wanted: Role) -> Result<(), Problem> {
    match role >= wanted {
        true => Ok(()),
        false => Err(Problem::new(StatusCode::FORBIDDEN, format!("you need the role `{}`", wanted.name()))),
    }
}

/// The answer to a request for something that is not here.
pub async fn no_such_resource(request: Request) -> Problem {
    Problem::missing(format!("{} is not here: /api/openapi.json lists what is", request.uri().path()))
}
