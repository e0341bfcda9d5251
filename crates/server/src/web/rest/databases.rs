//! The databases of a server, and what each holds.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Path, State};
use serde_json::{Value, json};

use super::super::Web;
use super::caller::{As, database};
use super::problem::Problem;
use super::work;
use crate::gremlin::Room;

/// Names, and whether they can be changed.
pub async fn list(State(web): State<Arc<Web>>, caller: As) -> Json<Value> {
    let databases = web.gremlin.databases.iter();
    let databases: Vec<Value> =
        databases.map(|(name, database)| json!({"name": name, "readOnly": database.is_read_only()})).collect();
    let mut told = json!({"databases": databases, "role": caller.principal.role.name()});
    if let Some(name) = &caller.principal.name {
        told["user"] = (**name).into();
    }
    Json(told)
}

/// Labels, properties, indexes, counts and sizes.
pub async fn about(State(web): State<Arc<Web>>, _: As, Path(name): Path<String>) -> Result<Json<Value>, Problem> {
    let database = database(&web, &name)?.clone();
    let about = move |_| Ok(mangrove::about::about(&database)?);
    work::run(&web.gremlin, Room::Reading, None, about).await.map(Json)
}
