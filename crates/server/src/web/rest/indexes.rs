//! Indexes, as `db.create_index` makes them.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Path, Query, State};
use axum::http::StatusCode;
use mangrove::ElementKind;
use serde::Deserialize;
use serde_json::Value;

use super::super::Web;
use super::caller::{As, Document, database};
use super::problem::Problem;
use super::work::{self, Limited};
use crate::gremlin::Room;
use crate::users::Role;

/// An index of the values that elements with a label have under a key.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Index {
    /// `vertex` or `edge`, if both have such a label.
    kind: Option<Kind>,
    label: String,
    key: String,
    #[serde(default)]
    unique: bool,
    #[serde(default)]
    routed: bool,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Kind {
    Vertex,
    Edge,
}

impl Index {
    fn kind(&self) -> Option<ElementKind> {
        self.kind.map(|kind| match kind {
            Kind::Vertex => ElementKind::Vertex,
            Kind::Edge => ElementKind::Edge,
        })
    }
}

pub async fn list(State(web): State<Arc<Web>>, _: As, Path(name): Path<String>) -> Result<Json<Value>, Problem> {
    let database = database(&web, &name)?.clone();
    let about = move |_| Ok(mangrove::about::about(&database)?["indexes"].take());
    work::run(&web.gremlin, Room::Reading, None, about).await.map(Json)
}

/// Makes an index, and answers once it is complete.
pub async fn create(
    State(web): State<Arc<Web>>,
    caller: As,
    Path(name): Path<String>,
    sent: Document<Index>,
) -> Result<StatusCode, Problem> {
    caller.must_be(Role::Admin)?;
    let database = database(&web, &name)?.clone();
    let index = sent.read;
    let make = move |limited: Limited| {
        let database = database.interruptible(limited.options.cancel);
        let (kind, label, key) = (index.kind(), &index.label, &index.key);
        match index {
            Index { routed: true, unique, .. } => Ok(database.create_routed_index(kind, label, key, unique)?),
            Index { unique: true, .. } => Ok(database.create_unique_index(kind, label, key)?),
            _ => Ok(database.create_index(kind, label, key)?),
        }
    };
    let is_new = work::run(&web.gremlin, Room::Writing, None, make).await?;
    Ok(if is_new { StatusCode::CREATED } else { StatusCode::OK })
}

pub async fn drop(
    State(web): State<Arc<Web>>,
    caller: As,
    Path(name): Path<String>,
    Query(index): Query<Index>,
) -> Result<StatusCode, Problem> {
    caller.must_be(Role::Admin)?;
    let database = database(&web, &name)?.clone();
    let what = format!("an index of {}.{}", index.label, index.key);
    let remove = move |limited: Limited| {
        let database = database.interruptible(limited.options.cancel);
        Ok(database.drop_index(index.kind(), &index.label, &index.key)?)
    };
    match work::run(&web.gremlin, Room::Writing, None, remove).await? {
        true => Ok(StatusCode::NO_CONTENT),
        false => Err(Problem::missing(format!("there is no {what}"))),
    }
}
