//! The values that an algorithm gave.

use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_ipc::writer::StreamWriter;
use arrow_json::ArrayWriter;
use arrow_ord::sort::{SortOptions, sort_to_indices};
use arrow_schema::ArrowError;
use arrow_select::take::take_record_batch;
use axum::extract::{Path, Query, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::Deserialize;

use super::super::Web;
use super::caller::As;
use super::problem::Problem;
use super::work;
use crate::gremlin::Room;

/// Which values of a job are wanted.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Part {
    /// So many of the largest values; all of them if it is not given.
    largest: Option<usize>,
}

/// The columns of an algorithm's values, such as `id` and `value`, as Arrow IPC or as JSON.
pub async fn values(
    State(web): State<Arc<Web>>,
    _: As,
    Path(id): Path<u64>,
    Query(part): Query<Part>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let missing = || Problem::missing(format!("job {id} has no values, or not yet, or they were forgotten"));
    let values = web.jobs.find(id)?.values().ok_or_else(missing)?;
    const ARROW: &str = "application/vnd.apache.arrow.stream";
    let accepted = headers.get(header::ACCEPT).and_then(|accepted| accepted.to_str().ok()).unwrap_or(ARROW);
    let media_type = if accepted.contains("json") { "application/json" } else { ARROW };
    let bytes_max = web.gremlin.limits.response_bytes_max;
    let encode = move |_| {
        let values = match part.largest {
            Some(count) => largest(&values, count).map_err(|error| Problem::wrong(error.to_string()))?,
            None => values,
        };
        // Numbers as text are a few times longer.
        if values.get_array_memory_size() > bytes_max / 2 {
            let message = format!("the values take more than {} MB: ask for the `largest`", bytes_max >> 21);
            return Err(Problem::new(StatusCode::PAYLOAD_TOO_LARGE, message));
        }
        let bytes = if media_type == ARROW { as_arrow(&values) } else { as_json(&values) };
        bytes.map_err(|error| Problem::bug(error.to_string()))
    };
    let bytes = work::run(&web.gremlin, Room::Reading, None, encode).await?;
    Ok(([(header::CONTENT_TYPE, media_type)], work::held(&web, bytes)?).into_response())
}

/// The rows with the largest values, the largest first. The last column has the values.
fn largest(rows: &RecordBatch, count: usize) -> Result<RecordBatch, ArrowError> {
    let values = rows.column(rows.num_columns() - 1);
    let order = SortOptions { descending: true, nulls_first: false };
    take_record_batch(rows, &sort_to_indices(values, Some(order), Some(count))?)
}

fn as_arrow(rows: &RecordBatch) -> Result<Vec<u8>, ArrowError> {
    let mut writer = StreamWriter::try_new(Vec::new(), &rows.schema())?;
    writer.write(rows)?;
    writer.into_inner()
}

fn as_json(rows: &RecordBatch) -> Result<Vec<u8>, ArrowError> {
    let mut writer = ArrayWriter::new(Vec::from(&b"{\"values\":"[..]));
    writer.write(rows)?;
    writer.finish()?;
    let mut bytes = writer.into_inner();
    bytes.push(b'}');
    Ok(bytes)
}
