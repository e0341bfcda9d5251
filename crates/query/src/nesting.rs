//! Bounds the nesting of collections. Hashing, comparing, showing or dropping a value recurses as deep as the value.

use mangrove_graph::value::NESTING_MAX;
use mangrove_graph::{Tree, Value};

use crate::error::{QueryError, QueryErrorKind, Result};

/// The most items in all collections within a collection. Many places may share one collection, so walking a value can take far
/// longer than its memory suggests.
const INNER_ITEMS_MAX: usize = 1 << 24;

/// Fails if the value nests too deep.
pub fn check(value: &Value) -> Result<()> {
    Measure::default().value(value)
}

/// The most levels of a tree, trees within trees included. A tree is as deep as its paths are long.
const TREE_DEPTH_MAX: usize = 100;

/// Fails if a path is too long to become a branch of a tree.
pub fn check_tree_depth(depth: usize) -> Result<()> {
    if depth <= TREE_DEPTH_MAX {
        return Ok(());
    }
    Err(QueryError::value(format!("tree() got a path of {depth} objects, but takes at most {TREE_DEPTH_MAX}"))
        .help("path() gives paths of any length; simplePath() drops paths that go in circles"))
}

#[derive(Default)]
struct Measure {
    depth: usize,
    /// Levels of the trees around the current value.
    branches: usize,
    inner_items: usize,
}

impl Measure {
    fn value(&mut self, value: &Value) -> Result<()> {
        match value {
            Value::List(items) | Value::Set(items) => self.within(items.len(), items.iter()),
            Value::Map(map) => self.within(map.len(), map.iter().flat_map(|(key, value)| [key, value])),
            Value::Entry(entry) => self.within(1, [&entry.0, &entry.1].into_iter()),
            Value::Path(path) => self.within(path.objects.len(), path.objects.iter()),
            Value::BulkSet(items) => self.within(items.len(), items.iter().map(|(value, _)| value)),
            Value::Tree(tree) => {
                self.descend(tree.0.len())?;
                self.branches(tree)?;
                self.depth -= 1;
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn within<'v>(&mut self, len: usize, mut items: impl Iterator<Item = &'v Value>) -> Result<()> {
        self.descend(len)?;
        items.try_for_each(|item| self.value(item))?;
        self.depth -= 1;
        Ok(())
    }

    fn branches(&mut self, tree: &Tree) -> Result<()> {
        check_tree_depth(self.branches)?;
        self.branches += 1;
        for (place, below) in &tree.0 {
            self.value(place)?;
            self.branches(below)?;
        }
        self.branches -= 1;
        Ok(())
    }

    fn descend(&mut self, len: usize) -> Result<()> {
        if self.depth == NESTING_MAX {
            return Err(QueryError::value(format!("collections are nested more than {NESTING_MAX} levels deep"))
                .help("each round of a repeat() nests them deeper: unfold() what fold() or a similar step gathered"));
        }
        self.inner_items = self.inner_items.saturating_add(if self.depth == 0 { 0 } else { len });
        self.depth += 1;
        if self.inner_items > INNER_ITEMS_MAX {
            let message = format!("collections within a collection hold more than {INNER_ITEMS_MAX} items");
            return Err(
                QueryError::new(QueryErrorKind::Memory, message).help("unfold() what fold() or a similar step gathered")
            );
        }
        Ok(())
    }
}
