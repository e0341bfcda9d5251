//! `/metrics`: what a server counts, and what it holds now.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64};

use axum::extract::{ConnectInfo, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use mangrove::Database;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::{Registry, Unit};
use tokio::task::spawn_blocking;

use super::{Web, http, nodes};
use crate::gremlin::Room;

pub const MEDIA_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// Whoever may read the graph may read them.
pub async fn show(State(web): State<Arc<Web>>, ConnectInfo(from): ConnectInfo<SocketAddr>, headers: HeaderMap) -> Response {
    let Some(principal) = http::principal(&web, &headers).await else { return http::unknown_user(&headers) };
    if let Err(refused) = web.gremlin.rates.take(&principal, from.ip()) {
        return (StatusCode::TOO_MANY_REQUESTS, refused.message.into_owned()).into_response();
    }
    let show = move || web.gremlin.observer.metrics.show(&present(&web)).ok();
    match spawn_blocking(show).await.ok().flatten() {
        Some(text) => ([(header::CONTENT_TYPE, MEDIA_TYPE)], text).into_response(),
        None => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
    }
}

/// What there is now.
fn present(web: &Web) -> Registry {
    let (mut registry, gremlin) = (Registry::with_prefix("mangrove"), &web.gremlin);
    let (reading, writing) = (gremlin.rooms.running(Room::Reading), gremlin.rooms.running(Room::Writing));
    for (name, about, value) in [
        ("connections", "Open connections", web.connections_open()),
        ("sessions", "Open sessions", gremlin.sessions()),
        ("queries_reading", "Queries that run and read", reading),
        ("queries_writing", "Queries that run and write", writing),
        ("queries_waiting", "Queries that wait for others to end", gremlin.rooms.waiting()),
        ("jobs_running", "Jobs that run", web.jobs.running()),
    ] {
        registry.register(name, about, gauge(value));
    }
    let held = gremlin.memory(true).held();
    registry.register_with_unit("requests_held", "Memory of open requests", Unit::Bytes, gauge(held));
    let held = gremlin.memory_of_responses.held();
    registry.register_with_unit("responses_held", "Memory of responses on their way", Unit::Bytes, gauge(held));
    of_databases(&mut registry, &gremlin.databases);
    nodes::register(&mut registry, &gremlin.databases);
    registry
}

fn gauge(value: usize) -> Gauge {
    let gauge = Gauge::default();
    gauge.set(i64::try_from(value).unwrap_or(i64::MAX));
    gauge
}

/// The label of a database, and a value for each.
type OfDatabases<N, A> = Family<[(&'static str, String); 1], Gauge<N, A>>;

fn of_databases(registry: &mut Registry, databases: &[(String, Database)]) {
    let (disk, segments) = (OfDatabases::<i64, AtomicI64>::default(), OfDatabases::<i64, AtomicI64>::default());
    let age = OfDatabases::<f64, AtomicU64>::default();
    for (name, database) in databases {
        // One that cannot be read now has no numbers.
        let Ok(stats) = database.stats() else { continue };
        let of = [("database", name.clone())];
        disk.get_or_create(&of).set(stats.disk_bytes() as i64);
        segments.get_or_create(&of).set(stats.segment_bytes() as i64);
        age.get_or_create(&of).set(stats.space.oldest.map_or(0.0, |oldest| oldest.age.as_secs_f64()));
    }
    registry.register_with_unit("database_disk", "Size of a database on the disk", Unit::Bytes, disk);
    registry.register_with_unit("database_segments", "Size of what is compressed", Unit::Bytes, segments);
    let about = "Age of the oldest snapshot that a reader holds; 0 if there is none";
    registry.register_with_unit("database_oldest_snapshot", about, Unit::Seconds, age);
}
