//! Searches go through the shards in order. One that begins asks them all at the same time, if that takes no longer than to ask one.
//!
//! ```text
//!   cursor   behind an element that was looked at    its shard, and its place there
//!            behind a whole shard                    the shard, and the last of all places
//! ```

use std::sync::PoisonError;

use mangrove_graph::id::LOCAL_MAX;
use mangrove_graph::{Catalog, ElementIds, GraphView, Predicate, PropertyId, Result, SearchCursor};

use super::{Asking, ClusterView, LOCAL_BITS};
use crate::wire::to_bytes;

/// So many counts are remembered.
const COUNTED_MAX: usize = 8;

/// Searches as bytes, with their candidates, the latest first. They have the same as long as the view lives.
pub(super) type Counted = Vec<(Vec<u8>, u64)>;

/// Where a search stands: in which shard, and where there.
fn standing(cursor: &mut SearchCursor) -> (u16, SearchCursor) {
    let (shard, after) = match cursor.after {
        None => (0, None),
        Some(after) if after & LOCAL_MAX == LOCAL_MAX => ((after >> LOCAL_BITS) as u16 + 1, None),
        Some(after) => ((after >> LOCAL_BITS) as u16, Some(after & LOCAL_MAX)),
    };
    (shard, SearchCursor { after, found: cursor.found.take(), done: false })
}

/// Moves a cursor to where the search stands in a shard.
fn stand(cursor: &mut SearchCursor, shard: u16, within: SearchCursor) {
    let first = u64::from(shard) << LOCAL_BITS;
    (cursor.after, cursor.found) = match (within.done, within.after) {
        (true, _) => (Some(first | LOCAL_MAX), None),
        (false, Some(after)) => (Some(first | after), within.found),
        (false, None) => ((shard > 0).then(|| (first - 1) | LOCAL_MAX), within.found),
    };
}

impl<V: GraphView, A: Asking<V>> ClusterView<V, A> {
    /// The candidates of a search, in all shards that it asks.
    pub(super) fn counted(&self, of: PropertyId, predicate: &Predicate) -> Result<u64> {
        let (search, counted) =
            (to_bytes(&(of, predicate))?, || self.counted.lock().unwrap_or_else(PoisonError::into_inner));
        if let Some((_, count)) = counted().iter().find(|(known, _)| *known == search) {
            return Ok(*count);
        }
        let asked = self.shards_with(of, predicate)?.into_iter().map(|number| (self.shard(number), ()));
        let all = A::each(asked.collect(), |shard, ()| shard.candidates(of, predicate))?;
        let count = all.into_iter().fold(0, u64::saturating_add);
        let mut counted = counted();
        counted.truncate(COUNTED_MAX - 1);
        counted.insert(0, (search, count));
        Ok(count)
    }

    /// The next elements that a search finds; `None` if a shard cannot answer.
    pub(super) fn search_next(
        &self,
        of: PropertyId,
        predicate: &Predicate,
        cursor: &mut SearchCursor,
        limit: usize,
    ) -> Result<Option<ElementIds>> {
        let asked = self.shards_with(of, predicate)?;
        let begins = cursor.after.is_none() && cursor.found.is_none();
        let (shard, within) = standing(cursor);
        let left = &asked[asked.partition_point(|number| *number < shard)..];
        let Some(first) = left.first() else {
            cursor.done = true;
            return Ok(self.is_searchable(of, predicate).then(|| ElementIds::none(of.kind)));
        };
        let within = if *first > shard { SearchCursor::default() } else { within };
        let together = if begins && A::AT_ONCE { left } else { &left[..1] };
        let questions = together.iter().map(|number| (self.shard(*number), within.clone()));
        // An error of a shard is one of the search only once it comes to that shard.
        let answers = A::each(questions.collect(), |shard, mut within| {
            Ok(shard.search(of, predicate, &mut within, limit).map(|found| (found, within)))
        })?;
        let mut all = ElementIds::none(of.kind);
        for (number, answer) in together.iter().zip(answers) {
            let (found, within) = match answer {
                Err(_) if !all.is_empty() => break,
                answer => answer?,
            };
            let Some(found) = found else { return Ok(None) };
            if !all.is_empty() && all.len() + found.len() > limit {
                break; // the next call asks this shard again
            }
            all.append(found);
            let is_done = within.done;
            stand(cursor, *number, within);
            cursor.done = is_done && asked.last() == Some(number);
            if !is_done {
                break;
            }
        }
        Ok(Some(all))
    }
}
