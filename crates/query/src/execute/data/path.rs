//! Paths of traversers: persistent lists, shared between traversers with a common past.
//!
//! [`PathMode`] says how much the plan needs: nothing, only the objects that `as()` named, or every object.

use std::sync::Arc;

use mangrove_graph::{Path, Value};

use crate::plan::paths::PathMode;
use crate::plan::{Name, Pop};

/// The latest object and what came before it; `None` is the empty path.
pub type PathRef = Option<Arc<PathNode>>;

#[derive(Clone, Debug)]
pub struct PathNode {
    pub object: Value,
    pub labels: Vec<Name>,
    pub before: PathRef,
}

/// Dropping a long path must not recurse.
impl Drop for PathNode {
    fn drop(&mut self) {
        let mut next = self.before.take();
        while let Some(node) = next {
            // Another thread may drop it at the same time. Exactly one of the two gets the node.
            next = Arc::into_inner(node).and_then(|mut node| node.before.take());
        }
    }
}

pub fn extend(path: &PathRef, object: Value) -> PathRef {
    Some(Arc::new(PathNode { object, labels: Vec::new(), before: path.clone() }))
}

/// Adds the labels `names` to the latest object of the path, which is `object`.
pub fn label(path: &PathRef, object: &Value, names: &[Name], mode: PathMode) -> PathRef {
    let (mut labels, before) = match path {
        Some(node) if mode == PathMode::Full => (node.labels.clone(), node.before.clone()),
        _ => (Vec::new(), path.clone()),
    };
    for name in names {
        if !labels.contains(name) {
            labels.push(name.clone());
        }
    }
    Some(Arc::new(PathNode { object: object.clone(), labels, before }))
}

/// `base` with what came after it. In full paths, `later` begins with the latest object of `base`, which may have got more labels.
pub fn continued(base: &PathRef, later: &PathRef, mode: PathMode) -> PathRef {
    let (mut path, mut nodes): (_, Vec<&PathNode>) = (base.clone(), iter(later).collect());
    if mode == PathMode::Full
        && let Some(first) = nodes.pop()
        && !first.labels.is_empty()
    {
        path = label(&path, &first.object, &first.labels, mode);
    }
    for node in nodes.into_iter().rev() {
        path = Some(Arc::new(PathNode { object: node.object.clone(), labels: node.labels.clone(), before: path }));
    }
    path
}

/// The nodes from the latest to the first.
pub fn iter(path: &PathRef) -> impl Iterator<Item = &PathNode> {
    std::iter::successors(path.as_deref(), |node| node.before.as_deref())
}

/// The object or objects with the label `name`.
pub fn select(path: &PathRef, name: &str, pop: Pop) -> Option<Value> {
    let mut found = iter(path).filter(|node| node.labels.iter().any(|l| &**l == name)).map(|node| &node.object);
    match pop {
        Pop::Last => found.next().cloned(),
        Pop::First => found.last().cloned(),
        Pop::All | Pop::Mixed => {
            let mut all: Vec<Value> = found.cloned().collect();
            all.reverse();
            match (pop, all.len()) {
                (_, 0) => None,
                (Pop::Mixed, 1) => all.pop(),
                _ => Some(Value::list(all)),
            }
        }
    }
}

/// Objects and labels from the first to the latest.
pub fn to_path(path: &PathRef) -> Path {
    let mut objects = Vec::new();
    let mut labels = Vec::new();
    for node in iter(path) {
        objects.push(node.object.clone());
        labels.push(node.labels.clone());
    }
    objects.reverse();
    labels.reverse();
    Path { objects, labels }
}

/// The part from the last object labelled `from` to the last one labelled `to`, both included.
pub fn between(mut path: Path, from: Option<&str>, to: Option<&str>) -> Path {
    let position = |path: &Path, name: &str| path.labels.iter().rposition(|labels| labels.iter().any(|l| &**l == name));
    if let Some(end) = to.and_then(|name| position(&path, name)) {
        path.objects.truncate(end + 1);
        path.labels.truncate(end + 1);
    }
    if let Some(start) = from.and_then(|name| position(&path, name)) {
        path.objects.drain(..start);
        path.labels.drain(..start);
    }
    path
}
