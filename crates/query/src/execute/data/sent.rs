//! Batches of traversers as bytes, for another process that works on them.
//!
//! ```text
//!   version 1 | rounds of the repeats around the traversers | items | bulks | scopes | path nodes, path of each row | slots | sacks
//! ```
//! postcard writes it. Paths share nodes, so they are numbers in one flat table: a node names the node before it, which stands
//! earlier. Bytes of others are safe to read: they give a message or an error.

use std::sync::Arc;

use hashbrown::HashMap;
use mangrove_graph::{EdgeRef, Value, VertexId, column};
use serde::{Deserialize, Serialize};

use crate::execute::data::batch::Batch;
use crate::execute::data::items::Items;
use crate::execute::data::known::Known;
use crate::execute::data::path::{PathNode, PathRef};
use crate::execute::data::slots::{Slot, Slots};
use crate::plan::Name;
use crate::stack::with_room;

const VERSION: u8 = 1;
/// The most stack that reading nested values takes.
const STACK: usize = 1 << 20;

/// The repeats around a traverser, outermost first: name and rounds done.
pub type Loops = Vec<(Option<Name>, u64)>;

#[derive(Serialize, Deserialize)]
struct Message {
    loops: Loops,
    items: SentItems,
    bulk: Option<Vec<u64>>,
    scope: Option<Vec<u32>>,
    nodes: Vec<Node>,
    /// The node of each row, counted from 1; 0 for the empty path.
    paths: Option<Vec<u32>>,
    slots: Vec<(Name, SentSlot)>,
    sacks: Option<Vec<Value>>,
}

#[derive(Serialize, Deserialize)]
enum SentItems {
    Vertices(Vec<VertexId>),
    Edges(Vec<EdgeRef>),
    Values(Vec<Value>),
    /// Values of one type, which become an array again.
    Column(Vec<Value>),
}

#[derive(Serialize, Deserialize)]
enum SentSlot {
    All(SentItems),
    Some(Vec<Option<Value>>),
}

#[derive(Serialize, Deserialize)]
struct Node {
    object: Value,
    labels: Vec<Name>,
    /// As in [`Message::paths`].
    before: u32,
}

impl From<&Items> for SentItems {
    fn from(items: &Items) -> Self {
        match items {
            Items::Vertices(ids) => SentItems::Vertices(ids.clone()),
            Items::Edges(edges) => SentItems::Edges(edges.clone()),
            Items::Values(values) => SentItems::Values(values.clone()),
            Items::Column(_) => SentItems::Column(items.clone().into_values()),
            Items::Maps(_) => SentItems::Values(items.clone().into_values()),
        }
    }
}

impl From<SentItems> for Items {
    fn from(items: SentItems) -> Self {
        match items {
            SentItems::Vertices(ids) => Items::Vertices(ids),
            SentItems::Edges(edges) => Items::Edges(edges),
            SentItems::Values(values) => Items::Values(values),
            SentItems::Column(values) => {
                let array = column::array_of(&values.iter().map(Some).collect::<Vec<_>>());
                array.map_or(Items::Values(values), Items::Column)
            }
        }
    }
}

/// The table of path nodes as it grows.
#[derive(Default)]
struct Table {
    nodes: Vec<Node>,
    /// The number of each node that is in the table, by its address.
    numbers: HashMap<*const PathNode, u32>,
}

impl Table {
    fn number(&mut self, path: &PathRef) -> u32 {
        // From the latest node that is not in the table yet, to the first.
        let mut new: Vec<&Arc<PathNode>> = Vec::new();
        let mut at = path.as_ref();
        let mut number = loop {
            let Some(node) = at else { break 0 };
            if let Some(number) = self.numbers.get(&Arc::as_ptr(node)) {
                break *number;
            }
            new.push(node);
            at = node.before.as_ref();
        };
        for node in new.into_iter().rev() {
            self.nodes.push(Node { object: node.object.clone(), labels: node.labels.clone(), before: number });
            number = self.nodes.len() as u32;
            self.numbers.insert(Arc::as_ptr(node), number);
        }
        number
    }
}

/// The paths of all rows; `None` if a node names one that does not stand before it.
fn paths_of(nodes: Vec<Node>, rows: &[u32]) -> Option<Vec<PathRef>> {
    let mut made: Vec<PathRef> = vec![None];
    for Node { object, labels, before } in nodes {
        let before = made.get(before as usize)?.clone();
        made.push(Some(Arc::new(PathNode { object, labels, before })));
    }
    rows.iter().map(|row| made.get(*row as usize).cloned()).collect()
}

/// The batch as bytes, with the rounds of the repeats around it. O(size of the batch).
pub fn to_bytes(loops: &[(Option<Name>, u64)], batch: &Batch) -> Result<Vec<u8>, postcard::Error> {
    let mut table = Table::default();
    let paths = batch.paths.as_ref().map(|paths| paths.iter().map(|path| table.number(path)).collect());
    let slot = |slot: &Slot| match slot {
        Slot::All(items) => SentSlot::All(items.into()),
        Slot::Some(values) => SentSlot::Some(values.clone()),
    };
    let message = Message {
        loops: loops.to_vec(),
        items: (&batch.items).into(),
        bulk: batch.bulk.clone(),
        scope: batch.scope.clone(),
        nodes: table.nodes,
        paths,
        slots: batch.slots.iter().map(|(name, of)| (name.clone(), slot(of))).collect(),
        sacks: batch.sacks.clone(),
    };
    with_room(STACK, || postcard::to_extend(&message, vec![VERSION]))
}

/// What [`to_bytes`] wrote; `None` if the bytes are damaged, or of another version.
pub fn from_bytes(bytes: &[u8]) -> Option<(Loops, Batch)> {
    let (VERSION, rest) = bytes.split_first().map(|(version, rest)| (*version, rest))? else { return None };
    let (message, left) = with_room(STACK, || postcard::take_from_bytes::<Message>(rest)).ok()?;
    let Message { loops, items, bulk, scope, nodes, paths, slots, sacks } = message;
    let paths = match paths {
        Some(rows) => Some(paths_of(nodes, &rows)?),
        None => None,
    };
    let slots = slots.into_iter().map(|(name, slot)| match slot {
        SentSlot::All(items) => (name, Slot::All(items.into())),
        SentSlot::Some(values) => (name, Slot::Some(values)),
    });
    let batch =
        Batch { items: items.into(), known: Known::default(), bulk, scope, paths, slots: Slots::from_iter(slots), sacks };
    (left.is_empty() && batch.is_rectangular()).then_some((loops, batch))
}

#[cfg(test)]
mod tests {
    use mangrove_graph::{EdgeId, LabelId};
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;
    use crate::execute::data::path;

    fn value() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<i64>().prop_map(Value::Int64),
            any::<f64>().prop_map(Value::Float64),
            "[a-c]{0,3}".prop_map(Value::string),
            (0u64..9).prop_map(|local| Value::Vertex(VertexId::new(LabelId(1), 0, local))),
        ];
        leaf.prop_recursive(3, 12, 4, |inner| vec(inner, 0..4).prop_map(Value::list))
    }

    fn batch() -> impl Strategy<Value = Batch> {
        let rows = vec((value(), any::<u64>(), 0u32..5, vec(value(), 0..4), value()), 1..20);
        (rows, any::<[bool; 5]>(), 0usize..4).prop_map(|(rows, [bulk, scope, paths, slots, sacks], kind)| {
            let vertex = |row: usize| VertexId::new(LabelId(1), 0, row as u64);
            let items = match kind {
                0 => Items::Vertices((0..rows.len()).map(vertex).collect()),
                1 => {
                    let edge = |row| EdgeRef { id: EdgeId::new(LabelId(0), 0, 7), source: vertex(row), target: vertex(1) };
                    Items::Edges((0..rows.len()).map(edge).collect())
                }
                2 => SentItems::Column((0..rows.len()).map(|row| Value::Int64(row as i64)).collect()).into(),
                _ => Items::Values(rows.iter().map(|row| row.0.clone()).collect()),
            };
            // All paths go on from one that they share.
            let shared = path::extend(&path::extend(&None, Value::Null), Value::string("shared"));
            let path = |objects: &Vec<Value>| objects.iter().fold(shared.clone(), |path, o| path::extend(&path, o.clone()));
            let mut named = Slots::default();
            if slots {
                named.put(&"a".into(), &items);
            }
            Batch {
                items,
                known: Known::default(),
                bulk: bulk.then(|| rows.iter().map(|row| row.1).collect()),
                scope: scope.then(|| rows.iter().map(|row| row.2).collect()),
                paths: paths.then(|| rows.iter().map(|row| path(&row.3)).collect()),
                slots: named,
                sacks: sacks.then(|| rows.iter().map(|row| row.4.clone()).collect()),
            }
        })
    }

    proptest! {
        #[test]
        fn a_batch_comes_back_from_its_bytes(batch in batch()) {
            let loops: Loops = vec![(Some("x".into()), 3), (None, 1)];
            let bytes = to_bytes(&loops, &batch).unwrap();
            let (rounds, again) = from_bytes(&bytes).expect("a message");
            prop_assert_eq!(rounds, loops);
            prop_assert_eq!(format!("{:?}", again), format!("{:?}", batch));
        }

        #[test]
        fn damaged_bytes_give_a_message_or_none(batch in batch(), at in any::<prop::sample::Index>(), bit in 0u8..8) {
            let mut bytes = to_bytes(&[], &batch).unwrap();
            let at = at.index(bytes.len());
            bytes[at] ^= 1 << bit;
            if let Some((_, batch)) = from_bytes(&bytes) {
                prop_assert!(batch.is_rectangular());
            }
            prop_assert!(from_bytes(&bytes[..at]).is_none());
        }
    }

    #[test]
    fn nodes_of_paths_that_are_shared_are_sent_once() {
        let long = (0..1000).fold(None, |path, n| path::extend(&path, Value::Int64(n)));
        let paths = (0..1000).map(|n| path::extend(&long, Value::Int64(n))).collect();
        let batch = Batch { paths: Some(paths), ..Batch::new(Items::Values(vec![Value::Null; 1000])) };
        let bytes = to_bytes(&[], &batch).unwrap();
        assert!(bytes.len() < 30_000, "{}", bytes.len());
        let (_, again) = from_bytes(&bytes).unwrap();
        assert_eq!(path::to_path(again.path(999)), path::to_path(batch.path(999)));
        assert!(Arc::ptr_eq(
            again.path(0).as_ref().unwrap().before.as_ref().unwrap(),
            again.path(1).as_ref().unwrap().before.as_ref().unwrap()
        ));
    }
}
