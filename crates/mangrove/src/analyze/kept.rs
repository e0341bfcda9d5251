//! Projections of the last commit, kept for the next algorithm.

use std::sync::{Mutex, PoisonError};

use mangrove_analytics::{Projection, Selection};

/// The most bytes of all kept projections.
const BYTES_MAX: u64 = 512 << 20;

/// The projections of a database, the latest last.
#[derive(Default)]
pub struct Projections(Mutex<Vec<Kept>>);

struct Kept {
    version: u64,
    selection: String,
    projection: Projection,
}

impl Projections {
    /// The projection of a version of the graph, if it is kept.
    pub fn get(&self, version: u64, selection: &Selection) -> Option<Projection> {
        let selection = format!("{selection:?}");
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let is_it = |kept: &&Kept| kept.version == version && kept.selection == selection;
        kept.iter().find(is_it).map(|kept| kept.projection.clone())
    }

    /// Keeps a projection, and drops those of other versions, and the oldest that do not fit.
    pub fn put(&self, version: u64, selection: &Selection, projection: &Projection) {
        let selection = format!("{selection:?}");
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.retain(|kept| kept.version == version && kept.selection != selection);
        kept.push(Kept { version, selection, projection: projection.clone() });
        let mut bytes: u64 = kept.iter().map(|kept| kept.projection.bytes()).sum();
        while bytes > BYTES_MAX && !kept.is_empty() {
            bytes -= kept.remove(0).projection.bytes();
        }
    }
}

#[cfg(test)]
mod tests {
    use mangrove_analytics::{Needs, Reading};
    use mangrove_graph::ReadContext;

    use super::*;
    use crate::{Database, Parameters, QueryOptions};

    #[test]
    fn projections_of_the_last_version_are_kept() {
        let directory = tempfile::tempdir().unwrap();
        let db = Database::open(directory.path().join("db")).unwrap();
        let add = "g.addV().as('a').addV().as('b').addE('e').from('a').to('b')";
        db.query(add, &Parameters::new(), &QueryOptions::default()).unwrap();
        let view = db.snapshot().unwrap();
        let limits = ReadContext::default();
        let project = |selection: &Selection| {
            let reading = Reading { threads: 1, bytes_max: u64::MAX, limits: &limits, show: &mut |_| () };
            Projection::new(&*view, selection, Needs { incoming: true, ..Needs::default() }, reading).unwrap()
        };
        let (one, other) = (Selection::default(), Selection { is_directed: true, ..Selection::default() });
        let kept = Projections::default();
        kept.put(1, &one, &project(&one));
        kept.put(1, &other, &project(&other));
        assert!(kept.get(1, &one).is_some_and(|found| !found.is_directed()));
        assert!(kept.get(1, &other).is_some_and(|found| found.is_directed()));
        assert!(kept.get(2, &one).is_none());
        kept.put(2, &one, &project(&one));
        assert!(kept.get(1, &other).is_none() && kept.get(2, &one).is_some(), "a later version replaces all");
    }
}
