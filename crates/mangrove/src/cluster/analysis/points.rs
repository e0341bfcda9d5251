//! The checkpoints of an analysis, as its client knows them.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use mangrove_cluster::gateway::Peer;
use mangrove_graph::{ReadContext, Uuid};

use super::checkpoints::name;
use crate::cluster::rounds::between::say;
use crate::cluster::rounds::words::{Asked, Checkpoint, Kept};

/// How long a node may take to hear that nobody needs a checkpoint any more. What is left over is deleted later.
const FORGETTING: Duration = Duration::from_secs(1);

/// When checkpoints are made, and which there are.
pub struct Points {
    analysis: u64,
    every: Duration,
    /// When the last one was asked for, or when the program began.
    since: Instant,
    number: u64,
    /// Whether all nodes have a store, as far as is known.
    has_store: bool,
    /// The name of the one that is being made.
    begun: Option<String>,
    last: Option<Checkpoint>,
    /// The names of those that nobody needs any more.
    old: Vec<String>,
    /// Why the last one that failed was not made.
    failed: Option<String>,
}

impl Points {
    pub fn new(every: Duration) -> Self {
        Self {
            analysis: Uuid::new_v4().as_u64_pair().0,
            every,
            since: Instant::now(),
            number: 0,
            has_store: true,
            begun: None,
            last: None,
            old: Vec::new(),
            failed: None,
        }
    }

    /// From where the program can go on.
    pub fn last(&self) -> Option<&Checkpoint> {
        self.last.as_ref()
    }

    /// Why a checkpoint was not made.
    pub fn failed(&self) -> Option<&str> {
        self.failed.as_deref()
    }

    /// The name of a checkpoint that is to be made now.
    pub fn due(&mut self) -> Option<String> {
        if !self.has_store || self.begun.is_some() || self.since.elapsed() < self.every {
            return None;
        }
        let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
        (self.since, self.number) = (Instant::now(), self.number + 1);
        self.begun = Some(name(now, self.analysis, self.number));
        self.begun.clone()
    }

    /// Takes what has come of the checkpoint that is being made, from all nodes.
    pub fn take(&mut self, kept: impl Iterator<Item = Kept>) {
        let Some(name) = self.begun.take() else { return };
        match joined(&name, kept) {
            Joined::Whole(checkpoint) => self.old.extend(self.last.replace(checkpoint).map(|before| before.name)),
            Joined::NoStore => {
                self.has_store = false;
                self.old.push(name);
            }
            Joined::Failed(what) => {
                tracing::warn!("a checkpoint of an analysis was not made: {what}");
                self.failed = Some(what);
                self.old.push(name);
            }
        }
    }

    /// The program has ended before the checkpoint was made that was asked for, and begins again.
    pub fn begin_again(&mut self) {
        self.old.extend(self.begun.take());
        self.since = Instant::now();
    }

    /// The last checkpoint cannot be used.
    pub fn give_up_last(&mut self) {
        self.old.extend(self.last.take().map(|last| last.name));
    }

    /// Lets the first node that answers delete what nobody needs any more.
    pub fn tidy<'p>(&mut self, mut nodes: impl Iterator<Item = &'p dyn Peer>) {
        if self.old.is_empty() {
            return;
        }
        let asked = Asked::Forget { names: self.old.clone() };
        let forgets = |node: &dyn Peer| {
            let deadline = Some(Instant::now() + FORGETTING);
            say(node, &asked, &ReadContext { deadline, timeout: Some(FORGETTING), ..ReadContext::default() }).is_ok()
        };
        if nodes.any(forgets) {
            self.old.clear();
        }
    }

    /// The analysis has ended: nobody needs any of them.
    pub fn end<'p>(&mut self, nodes: impl Iterator<Item = &'p dyn Peer>) {
        self.begin_again();
        self.give_up_last();
        self.tidy(nodes);
    }
}

/// What came of a checkpoint at all nodes.
enum Joined {
    Whole(Checkpoint),
    NoStore,
    Failed(String),
}

fn joined(name: &str, kept: impl Iterator<Item = Kept>) -> Joined {
    let mut whole: Option<Checkpoint> = None;
    for of_node in kept {
        match of_node {
            Kept::Values { steps, report, shards } => {
                let begun = || Checkpoint { name: name.to_owned(), steps, report, shards: Vec::new() };
                let whole = whole.get_or_insert_with(begun);
                if (whole.steps, whole.report) != (steps, report) {
                    return Joined::Failed("the nodes have kept values of different steps".into());
                }
                whole.shards.extend(shards);
            }
            Kept::NoStore => return Joined::NoStore,
            Kept::Failed(what) => return Joined::Failed(what),
        }
    }
    whole.map_or(Joined::Failed("no node has kept values".into()), Joined::Whole)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cluster::rounds::words::{ShardValues, Summed};

    fn kept(steps: u64, shard: u16) -> Kept {
        Kept::Values { steps, report: Summed::default(), shards: vec![ShardValues { shard, bytes: 8, sum: 1 }] }
    }

    #[test]
    fn a_checkpoint_is_there_once_all_nodes_have_it() {
        let mut points = Points::new(Duration::ZERO);
        let first = points.due().unwrap();
        assert_eq!(points.due(), None, "one at a time");
        points.take([kept(3, 0), kept(3, 5)].into_iter());
        let last = points.last().unwrap();
        assert_eq!((&last.name, last.steps, last.shards.len()), (&first, 3, 2));
        let second = points.due().unwrap();
        points.take([kept(4, 0), kept(5, 5)].into_iter());
        assert_eq!((points.last().unwrap().steps, points.failed().is_some()), (3, true));
        let third = points.due().unwrap();
        points.take([kept(6, 0), kept(6, 5)].into_iter());
        assert_eq!((points.last().unwrap().steps, &points.old), (6, &vec![second, first]));
        let fourth = points.due().unwrap();
        points.begin_again();
        points.give_up_last();
        assert_eq!((points.last(), &points.old[2..]), (None, &[fourth, third][..]));
        points.due().unwrap();
        points.take([kept(7, 0), Kept::NoStore].into_iter());
        assert_eq!(points.last(), None);
        assert_eq!(points.due(), None, "nodes without a store are not asked again");
    }

    #[test]
    fn checkpoints_are_not_made_before_their_time() {
        let mut points = Points::new(Duration::from_secs(3_600));
        assert_eq!(points.due(), None);
        points.take(std::iter::empty());
        assert_eq!((points.last(), points.failed()), (None, None));
    }
}
