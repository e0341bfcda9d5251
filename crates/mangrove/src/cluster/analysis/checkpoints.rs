//! Checkpoints at a node: the values of a part in the node's store, shard by shard.
//!
//! ```text
//!   GRAPH/analyses/CHECKPOINT/shard-0003   the values of the vertices of shard 3, in the order of their ids
//! ```
//! The client keeps the list of these objects with their checksums. It has a checkpoint once all nodes have told what they stored.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use mangrove_analytics::AnalyticsError;
use mangrove_analytics::engine::{Checkpoints, KeptValues, Point, Resumed};
use mangrove_cluster::backup::{ObjectCopy, Objects, get_bytes, put_bytes};
use mangrove_graph::{GraphError, Result};

use crate::cluster::rounds::between::Between;
use crate::cluster::rounds::words::{Checkpoint, Kept, NumberRun, ShardValues, said};

/// Checkpoints older than this are of analyses whose clients have ended. Whoever makes a checkpoint deletes them.
const LEFT_OVER_SECONDS: u64 = 24 * 3600;

/// The name of a checkpoint: when it was made, in seconds since 1970, the analysis, and a number within that.
pub fn name(made: u64, analysis: u64, number: u64) -> String {
    format!("{made:020}-{analysis:016x}-{number:016x}")
}

/// When a checkpoint of this name was made; `None` if there can be none.
fn made(name: &str) -> Option<u64> {
    let mut parts = name.split('-');
    let made = parts.next()?.parse().ok()?;
    let mut number = || u64::from_str_radix(parts.next()?, 16).ok();
    let (analysis, count) = (number()?, number()?);
    (self::name(made, analysis, count) == name).then_some(made)
}

fn object(shard: u16) -> String {
    format!("shard-{shard:04}")
}

/// Where a node keeps checkpoints.
#[derive(Clone)]
pub struct Shelf {
    pub objects: Option<Arc<dyn Objects>>,
    /// The name of the graph.
    pub graph: String,
}

impl Shelf {
    fn all(&self) -> String {
        format!("{}/analyses", self.graph)
    }

    /// Where the objects of a checkpoint are.
    fn place(&self, name: &str) -> Result<String> {
        match made(name) {
            Some(_) => Ok(format!("{}/{name}", self.all())),
            None => Err(GraphError::Invalid(format!("{name:?} is no name of a checkpoint"))),
        }
    }

    /// Deletes checkpoints, in another thread.
    ///
    /// # Errors
    /// If the node has no store.
    pub fn forget(&self, names: Vec<String>) -> Result<()> {
        let objects = self.objects.clone().ok_or_else(|| GraphError::Unavailable("it has no store".into()))?;
        let shelf = self.clone();
        let deleting = move || names.iter().for_each(|name| shelf.delete(&*objects, name));
        let thread = std::thread::Builder::new().name("mangrove checkpoints".into());
        thread.spawn(deleting).map(drop).map_err(GraphError::storage)
    }

    /// Deletes a checkpoint. What is left of it goes with those that are left over.
    fn delete(&self, objects: &dyn Objects, name: &str) {
        let delete = || -> Result<()> {
            let place = self.place(name)?;
            objects.list(&place)?.iter().try_for_each(|object| objects.remove(&format!("{place}/{object}")))
        };
        if let Err(error) = delete() {
            tracing::warn!(%error, "the checkpoint {name} in {} was not deleted", objects.place());
        }
    }

    /// Deletes what clients that were killed have left over, as seen from a checkpoint that is made now.
    fn sweep(&self, objects: &dyn Objects, now: &str) {
        let is_left_over = |name: &String| match (made(name), made(now)) {
            (Some(made), Some(now)) => made.saturating_add(LEFT_OVER_SECONDS) < now,
            _ => false,
        };
        match objects.list(&self.all()) {
            Ok(names) => names.iter().filter(|name| is_left_over(name)).for_each(|name| self.delete(objects, name)),
            Err(error) => tracing::debug!(%error, "checkpoints that are left over stay"),
        }
    }
}

/// The checkpoints of a part.
pub struct PartCheckpoints<'a> {
    shelf: &'a Shelf,
    between: &'a Between<'a>,
    /// From where the program goes on.
    from: Option<Checkpoint>,
    /// The places of the vertices of each shard.
    shards: BTreeMap<u16, Vec<Range<usize>>>,
}

impl<'a> PartCheckpoints<'a> {
    /// `runs` are the vertices of the part, in the order of their places.
    pub fn new(shelf: &'a Shelf, between: &'a Between<'a>, from: Option<Checkpoint>, runs: &[NumberRun]) -> Self {
        let (mut shards, mut first): (BTreeMap<u16, Vec<Range<usize>>>, usize) = (BTreeMap::new(), 0);
        for run in runs {
            let places = first..first + run.count as usize;
            first = places.end;
            shards.entry(run.shard).or_default().push(places);
        }
        Self { shelf, between, from, shards }
    }

    fn keep(&self, name: &str, point: &Point<'_>) -> Result<Kept> {
        let Some(objects) = &self.shelf.objects else { return Ok(Kept::NoStore) };
        let (place, mut shards) = (self.shelf.place(name)?, Vec::new());
        for (shard, places) in &self.shards {
            self.between.limits.check()?;
            match put_bytes(&**objects, &place, object(*shard), &(point.bytes)(places)) {
                Ok(ObjectCopy { bytes, sum, .. }) => shards.push(ShardValues { shard: *shard, bytes, sum }),
                Err(error) => return Ok(Kept::Failed(said(error))),
            }
        }
        if point.partition == 0 {
            self.shelf.sweep(&**objects, name);
        }
        Ok(Kept::Values { steps: point.steps, report: point.report.into(), shards })
    }

    /// The values of the part in a checkpoint.
    fn values(&self, from: &Checkpoint) -> Result<Vec<KeptValues>> {
        let no_store = || GraphError::Invalid("this node has no store".into());
        let objects = self.shelf.objects.as_deref().ok_or_else(no_store)?;
        let place = self.shelf.place(&from.name)?;
        let of_shard = |(shard, places): (&u16, &Vec<Range<usize>>)| {
            let kept = from.shards.iter().find(|kept| kept.shard == *shard);
            let kept = kept.ok_or_else(|| GraphError::Invalid(format!("it has nothing of shard {shard}")))?;
            let copy = ObjectCopy { name: object(*shard), bytes: kept.bytes, sum: kept.sum };
            Ok((places.clone(), get_bytes(objects, &place, &copy)?))
        };
        self.shards.iter().map(of_shard).collect()
    }
}

impl Checkpoints for PartCheckpoints<'_> {
    fn begin(&self, _: u32) -> Result<Option<Resumed>, AnalyticsError> {
        self.between.count();
        let Some(from) = &self.from else { return Ok(None) };
        let unusable = |error| GraphError::corrupt(format!("the last checkpoint cannot be used: {}", said(error)));
        let values = self.values(from).map_err(unusable)?;
        Ok(Some(Resumed { steps: from.steps, report: from.report.into(), values }))
    }

    fn has_come(&self, point: &Point<'_>) -> Result<(), AnalyticsError> {
        // Where it began, there is nothing new to keep.
        if point.steps > self.from.as_ref().map_or(0, |from| from.steps)
            && let Some(name) = self.between.job.due()
        {
            self.between.job.has_kept(self.keep(&name, point)?);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use mangrove_cluster::backup::Directory;

    use super::*;

    #[test]
    fn only_checkpoints_are_deleted() {
        let home = tempfile::tempdir().unwrap();
        let objects: Arc<dyn Objects> = Arc::new(Directory::new(home.path()));
        let shelf = Shelf { objects: Some(objects.clone()), graph: "air".into() };
        let (old, young, now) = (name(1_000, 7, 1), name(80_000, 8, 1), name(1_000 + LEFT_OVER_SECONDS + 1, 9, 1));
        let place = |name: &str| shelf.place(name).unwrap();
        let backup = "air/00000000000000000008-5f71854127f1aa87";
        for name in [&place(&old), &place(&young), backup, "air/analyses/somebody's"] {
            put_bytes(&*objects, name, object(3), b"values").unwrap();
        }
        let left = || {
            let mut names = objects.list("air/analyses").unwrap();
            names.sort_unstable();
            names
        };
        shelf.sweep(&*objects, &now);
        assert_eq!(left(), [young.as_str(), "somebody's"]);
        assert!(home.path().join(backup).join("shard-0003").exists());
        for strange in ["../00000000000000000008-5f71854127f1aa87", "", "1-2-3", "somebody's"] {
            shelf.delete(&*objects, strange);
        }
        assert_eq!(left(), [young.as_str(), "somebody's"]);
        shelf.delete(&*objects, &young);
        assert_eq!(left(), ["somebody's"]);
        assert!(home.path().join(backup).join("shard-0003").exists());
    }
}
