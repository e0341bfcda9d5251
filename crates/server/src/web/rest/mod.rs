//! The graph and its upkeep over HTTP, as resources. `openapi.json` describes them.

mod caller;
mod databases;
mod elements;
mod indexes;
mod ingest;
mod jobs;
mod problem;
mod query;
mod work;

use std::sync::Arc;

use axum::Router;
use axum::routing::{get, post};

use super::Web;
pub use jobs::Jobs;

const OPENAPI: &str = include_str!("openapi.json");

/// The resources below `/api`.
pub fn router() -> Router<Arc<Web>> {
    Router::new()
        .route("/openapi.json", get(|| async { ([("content-type", "application/json")], OPENAPI) }))
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
        .route("/databases/{database}/ingest", post(ingest::ingest))
        .route("/databases/{database}/jobs", post(jobs::begin))
        .route("/jobs", get(jobs::list))
        .route("/jobs/{id}", get(jobs::show).delete(jobs::cancel))
        .route("/jobs/{id}/values", get(jobs::values))
        .fallback(problem::no_such_resource)
}
