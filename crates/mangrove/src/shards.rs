//! The results of a query, shard by shard.
//!
//! ```text
//!   shards(query) ──▶ 3 shards at commit 17 ─┬─▶ on_shard(0 at 17) ──▶ results of the vertices of shard 0 ─┐
//!                                            ├─▶ on_shard(1 at 17) ──▶ …                                   ├─ all results
//!                                            └─▶ on_shard(2 at 17) ──▶ …                                   ┘
//! ```
//! Who reads a shard may be another process, which knows the query and the commit. All shards are read at that commit, whatever others
//! write meanwhile.

use mangrove_graph::GraphError;
use mangrove_query::{Parameters, Query};

use crate::QueryOptions;
use crate::backend::{NOT_IN_SHARDS, options_over, read_view};
use crate::bookmark::Bookmark;
use crate::database::Database;
use crate::error::QueryError;
use crate::open::DatabaseState;
use crate::stream::ResultStream;
use crate::streams::Stream;
use crate::written::Written;

/// How the results of a query can be read.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Shards {
    /// Shard by shard, in any order and at the same time, for ten minutes: see [`Database::on_shard`].
    Apart {
        /// The shards are 0, 1, … below this.
        count: u16,
        /// The commit at which all of them are to be read.
        at: Bookmark,
    },
    /// Only as a whole.
    Whole { why: String },
}

/// A shard of a graph at a commit.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ShardAt {
    pub shard: u16,
    pub at: Bookmark,
}

/// A shard of a graph, to be read. [`Database::on_shard`] gives it.
pub struct OnShard<'d> {
    pub(crate) database: &'d Database,
    pub(crate) shard: ShardAt,
}

impl OnShard<'_> {
    /// Like [`Database::query`], but the first step of the query finds the elements of the shard only. Later steps read the whole graph.
    ///
    /// # Errors
    /// As for [`Database::query`]. If the query can only be read [as a whole](Shards::Whole). If the graph has no such shard, or if its
    /// state at the commit is kept no longer: then [`Database::shards`] gives another commit, at which all shards are to be read anew.
    pub fn query<'q>(
        &self,
        query: impl Into<Written<'q>>,
        parameters: &Parameters,
        options: &QueryOptions,
    ) -> Result<ResultStream, QueryError> {
        self.database.query_in(query.into(), parameters, options, Some(self.shard))
    }

    /// The same, on demand, as [`Database::stream`].
    ///
    /// # Errors
    /// Those of [`query`](Self::query) and of [`Database::stream`].
    pub fn stream<'q>(
        &self,
        query: impl Into<Written<'q>>,
        parameters: &Parameters,
        options: &QueryOptions,
    ) -> Result<Stream, QueryError> {
        self.database.stream_in(query.into(), parameters, options, Some(self.shard))
    }
}

/// How the results of a query can be read from now on.
pub fn shards_of(
    shared: &DatabaseState,
    query: &Query,
    parameters: &Parameters,
    options: &QueryOptions,
) -> Result<Shards, QueryError> {
    if query.writes() {
        return Ok(Shards::Whole { why: "it may change the graph".into() });
    }
    if !shared.backend.is_far() {
        return Ok(Shards::Whole { why: NOT_IN_SHARDS.into() });
    }
    let (found, _) = read_view(&*shared.backend, Some(&options.read_context()), |view| {
        let Some(shards) = view.shards() else { return Ok(Shards::Whole { why: NOT_IN_SHARDS.into() }) };
        let why = query.whole_because(view, parameters, &options_over(view, options))?;
        Ok::<_, QueryError>(match why {
            Some(why) => Shards::Whole { why },
            None => Shards::Apart { count: shards.count(), at: shards.keep() },
        })
    })?;
    Ok(found)
}

/// Why a query that writes does not run on a shard.
pub fn must_only_read(query: &Query) -> Result<(), QueryError> {
    match query.writes() {
        true => Err(GraphError::Invalid("a query that may change the graph runs as a whole".into()).into()),
        false => Ok(()),
    }
}
