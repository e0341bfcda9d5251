//! Trees under construction.

use std::collections::hash_map::RandomState;

use hashbrown::HashMap;
use mangrove_graph::{Tree, Value};

use crate::execute::data::bytes::value_bytes;

/// A tree under construction.
#[derive(Default)]
pub struct Branches {
    /// The children of each node by node number, the root first: value and number.
    children: Vec<Vec<(Value, u32)>>,
    /// The number of each node, by its parent and value. Users choose the values, so the hash must be unpredictable.
    places: HashMap<(u32, Value), u32, RandomState>,
}

/// Bytes of a node beside its value: its entries in lists and table, here and in the resulting tree.
const NODE_BYTES: usize = 256;

impl Branches {
    /// Adds a path from the root, in O(length). Returns approximately the bytes it added.
    pub fn grow(&mut self, objects: Vec<Value>) -> usize {
        let (mut at, mut bytes) = (0, 0);
        if self.children.is_empty() {
            self.children.push(Vec::new());
        }
        for object in objects {
            let next = self.children.len() as u32;
            let size = value_bytes(&object);
            let place = (at, object);
            at = *self.places.entry(place.clone()).or_insert(next);
            if at == next {
                self.children[place.0 as usize].push((place.1, next));
                self.children.push(Vec::new());
                bytes += NODE_BYTES + size;
            }
        }
        bytes
    }

    pub fn tree(&self) -> Tree {
        if self.children.is_empty() { Tree::default() } else { self.below(0) }
    }

    /// The recursion is bounded: [`nesting::check_tree_depth`] bounds the paths.
    fn below(&self, node: u32) -> Tree {
        let children = self.children[node as usize].iter();
        Tree(children.map(|(value, child)| (value.clone(), self.below(*child))).collect())
    }
}
