//! Which records count.

use super::record::{Record, Standing};

impl Standing {
    /// Judges the next record. One that counts changes the standing; one that does not is void for every reader.
    pub fn take(&mut self, record: &Record) -> bool {
        let counts = match record {
            Record::Graph(graph) => self.graph == 0 && graph.id != 0,
            // Members judge them.
            Record::Member(_) | Record::Dropped { .. } | Record::Allow { .. } => true,
            Record::Base(base) => *self == Standing::default() && base.standing.graph != 0 || *self == base.standing,
            // It counts as a part of the commit that names it.
            Record::Part { .. } => false,
            Record::Open { term, .. } => *term > self.term,
            Record::Close { term, writer } | Record::Alive { term, writer } => self.is_of(*term, *writer),
            Record::Commit(commit) => {
                self.is_of(commit.term, commit.writer) && self.number.checked_add(1) == Some(commit.number)
            }
        };
        match record {
            Record::Graph(graph) if counts => self.graph = graph.id,
            Record::Open { term, writer } if counts => (self.term, self.writer) = (*term, *writer),
            Record::Close { .. } if counts => self.writer = 0,
            Record::Base(base) if counts => *self = base.standing,
            Record::Commit(commit) if counts => self.number = commit.number,
            _ => {}
        }
        counts
    }

    /// Whether this writer has the role.
    pub fn is_of(&self, term: u64, writer: u64) -> bool {
        (self.term, self.writer) == (term, writer) && term > 0 && writer > 0
    }
}
