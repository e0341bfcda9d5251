//! The graph and its upkeep over HTTP, as resources. `openapi.json` describes them.

mod caller;
mod databases;
mod elements;
mod encodings;
mod indexes;
mod ingest;
mod jobs;
mod language;
mod messages;
mod parts;
mod problem;
mod query;
mod spool;
mod tokens;
mod values;
mod watch;
mod work;

use std::sync::Arc;

use axum::Router;
use axum::extract::DefaultBodyLimit;
use axum::middleware::from_fn_with_state;
use axum::routing::{get, post, put};

use super::Web;
pub use caller::{database, name_or_first};
pub use ingest::{RowForm, Rows, What, store, stored};
pub use jobs::Jobs;
pub use parts::Streamed;
pub use problem::{Problem, must_be};
pub use query::{Asked, record_batches, shards};
pub use spool::Spool;

const OPENAPI: &str = include_str!("openapi.json");

/// The resources below `/api`. All but three need a user, if the server has users.
pub fn router(web: &Arc<Web>) -> Router<Arc<Web>> {
    Router::new()
        .route("/databases", get(databases::list))
        .route("/databases/{database}", get(databases::about))
        .route("/databases/{database}/query", post(query::run))
        .route("/databases/{database}/explain", post(query::explain))
        .route("/databases/{database}/profile", post(query::profile))
        .route("/databases/{database}/vertices", post(elements::add_vertex))
        .route(
            "/databases/{database}/vertices/{id}",
            get(elements::vertex).patch(elements::change_vertex).delete(elements::drop_vertex),
        )
        .route("/databases/{database}/vertices/{id}/edges", get(elements::edges_of))
        .route("/databases/{database}/edges", post(elements::add_edge))
        .route(
            "/databases/{database}/edges/{id}",
            get(elements::edge).patch(elements::change_edge).delete(elements::drop_edge),
        )
        .route("/databases/{database}/indexes", get(indexes::list).post(indexes::create).delete(indexes::drop))
        .route("/databases/{database}/encodings", put(encodings::set))
        .route("/databases/{database}/ingest", post(ingest::ingest))
        .route("/databases/{database}/jobs", post(jobs::begin))
        .route("/jobs", get(jobs::list))
        .route("/jobs/{id}", get(jobs::show).delete(jobs::cancel))
        .route("/jobs/{id}/values", get(values::values))
        .route("/language", get(language::language))
        .route("/algorithms", get(language::algorithms))
        .fallback(problem::no_such_resource)
        .layer(from_fn_with_state(web.clone(), watch::known))
        .route("/openapi.json", get(|| async { ([("content-type", "application/json")], OPENAPI) }))
        .route("/tokens", post(tokens::issue).layer(DefaultBodyLimit::max(tokens::LOGIN_BYTES)).delete(tokens::revoke))
        .layer(from_fn_with_state(web.clone(), watch::watched))
}
