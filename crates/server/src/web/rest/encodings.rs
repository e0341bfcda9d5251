//! How properties are stored when they are compressed, as `db.set_encoding` sets it.

use std::sync::Arc;

use axum::extract::{Path, State};
use axum::http::StatusCode;
use mangrove::Encoding;
use serde::Deserialize;

use super::super::Web;
use super::caller::{As, Document, database};
use super::problem::Problem;
use super::work::{self, Limited};
use crate::gremlin::Room;
use crate::users::Role;

/// How the values of a key are stored.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Stored {
    label: String,
    key: String,
    encoding: String,
}

/// Sets an encoding. It holds from the next compression on, and the job `compact` is one.
pub async fn set(
    State(web): State<Arc<Web>>,
    caller: As,
    Path(name): Path<String>,
    sent: Document<Stored>,
) -> Result<StatusCode, Problem> {
    caller.must_be(Role::Admin)?;
    let database = database(&web, &name)?.clone();
    let Stored { label, key, encoding } = sent.read;
    let Some(encoding) = Encoding::parse(&encoding) else {
        return Err(Problem::wrong(format!("no encoding is called {encoding:?}: use {}", Encoding::NAMES.join(", "))));
    };
    let set = move |limited: Limited| {
        let database = database.interruptible(limited.options.cancel);
        Ok(database.set_encoding(&label, &key, encoding)?)
    };
    work::run(&web.gremlin, Room::Writing, None, set).await.map(|()| StatusCode::NO_CONTENT)
}
