//! Batches of traversers, stored by column.
//!
//! A traverser is an item with its bulk, its scope, its path and its sack. The bulk says how many traversers it stands for. In a
//! child traversal, the scope says which row of the parent it came from. A batch omits the columns nobody needs. Bulks saturate at
//! 64 bits; steps that count traversers report an error beyond that.

use std::ops::Range;

use mangrove_graph::{EdgeRef, Value, VertexId};

use crate::execute::data::items::{Items, gather};
use crate::execute::data::known::Known;
use crate::execute::data::path::{self, PathNode, PathRef};
use crate::execute::data::slots::Slots;
use crate::plan::Name;
use crate::plan::paths::PathMode;

#[derive(Clone, Debug, Default)]
pub struct Batch {
    pub items: Items,
    /// What was read of the items, if they are elements.
    pub known: Known,
    /// `None`: all ones.
    pub bulk: Option<Vec<u64>>,
    /// `None`: all zeros.
    pub scope: Option<Vec<u32>>,
    /// Present if the plan tracks paths.
    pub paths: Option<Vec<PathRef>>,
    /// What `as()` named, if the plan tracks slots.
    pub slots: Slots,
    /// Present if the traversal has a sack.
    pub sacks: Option<Vec<Value>>,
}

impl Batch {
    pub fn new(items: Items) -> Self {
        Self { items, ..Self::default() }
    }

    pub fn len(&self) -> usize {
        self.items.len()
    }

    /// Whether all its columns have as many rows as it has items.
    pub fn is_rectangular(&self) -> bool {
        fn fits<T>(column: &Option<Vec<T>>, rows: usize) -> bool {
            column.as_ref().is_none_or(|items| items.len() == rows)
        }
        let rows = self.len();
        fits(&self.bulk, rows)
            && fits(&self.scope, rows)
            && fits(&self.paths, rows)
            && fits(&self.sacks, rows)
            && self.slots.iter().all(|(_, slot)| slot.len() == rows)
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub fn value(&self, row: usize) -> Value {
        self.items.get(row)
    }

    pub fn bulk(&self, row: usize) -> u64 {
        self.bulk.as_ref().map_or(1, |bulk| bulk[row])
    }

    pub fn scope(&self, row: usize) -> usize {
        self.scope.as_ref().map_or(0, |scope| scope[row] as usize)
    }

    pub fn path(&self, row: usize) -> &PathRef {
        self.paths.as_ref().map_or(&None, |paths| &paths[row])
    }

    /// The traversers at `rows`, unchanged.
    pub fn gather(&self, rows: &[u32]) -> Batch {
        Batch { items: self.items.gather(rows), known: self.known.gather(rows), ..self.state(rows) }
    }

    /// The traversers for which `keep` is true.
    pub fn filter(self, keep: &[bool]) -> Batch {
        if keep.iter().all(|k| *k) {
            return self;
        }
        let rows: Vec<u32> = (0u32..).zip(keep).filter(|(_, keep)| **keep).map(|(row, _)| row).collect();
        self.gather(&rows)
    }

    /// The bulk, scope, paths and sacks of the traversers at `rows`, without their items.
    fn state(&self, rows: &[u32]) -> Batch {
        Batch {
            items: Items::default(),
            known: Known::default(),
            bulk: self.bulk.as_ref().map(|c| gather(c, rows)),
            scope: self.scope.as_ref().map(|c| gather(c, rows)),
            paths: self.paths.as_ref().map(|c| gather(c, rows)),
            slots: self.slots.gather(rows),
            sacks: self.sacks.as_ref().map(|c| gather(c, rows)),
        }
    }

    /// Traversers after a move: the `i`-th went from row `rows[i]` to `items[i]`.
    pub fn moved(&self, rows: &[u32], items: Items, mode: PathMode) -> Batch {
        debug_assert_eq!(rows.len(), items.len());
        let mut next = Batch { items, ..self.state(rows) };
        next.extend_paths(mode);
        next
    }

    /// Moves every traverser to the item at its own row.
    pub fn moved_in_place(mut self, items: Items, mode: PathMode) -> Batch {
        debug_assert_eq!(self.len(), items.len());
        self.items = items;
        self.known = Known::default();
        self.extend_paths(mode);
        self
    }

    /// The same for a batch that is still needed.
    pub fn with_items(&self, items: Items, mode: PathMode) -> Batch {
        debug_assert_eq!(self.len(), items.len());
        let Batch { bulk, scope, paths, slots, sacks, .. } = self;
        let (bulk, scope, paths, sacks) = (bulk.clone(), scope.clone(), paths.clone(), sacks.clone());
        let mut next = Batch { items, known: Known::default(), bulk, scope, paths, slots: slots.clone(), sacks };
        next.extend_paths(mode);
        next
    }

    /// The traversers that these have become elsewhere: the `i`-th of `later` came from row `rows[i]`. `later` has the bulk, path and
    /// labels of what began there as one traverser without a past.
    pub fn continued(&self, rows: &[u32], later: Batch, mode: PathMode) -> Batch {
        debug_assert_eq!(rows.len(), later.len());
        let Batch { items, bulk, paths, slots, .. } = later;
        let mut next = Batch { items, ..self.state(rows) };
        if let Some(mut bulks) = bulk {
            bulks.iter_mut().enumerate().for_each(|(row, bulk)| *bulk = bulk.saturating_mul(next.bulk(row)));
            next.bulk = Some(bulks);
        }
        if let (Some(own), Some(later)) = (&mut next.paths, paths) {
            own.iter_mut().zip(&later).for_each(|(own, later)| *own = path::continued(own, later, mode));
        }
        next.slots.put_later(slots);
        next
    }

    /// The traversers on other items, wherever they came from.
    pub fn standing_on(self, items: Items) -> Batch {
        debug_assert_eq!(self.len(), items.len());
        Batch { items, known: Known::default(), ..self }
    }

    fn extend_paths(&mut self, mode: PathMode) {
        if mode == PathMode::Full
            && let Some(paths) = &mut self.paths
        {
            for (row, path) in paths.iter_mut().enumerate() {
                *path = path::extend(path, self.items.get(row));
            }
        }
    }

    /// Gives the labels `names` to the items that traversers stand on.
    pub fn label(&mut self, names: &[Name], mode: PathMode) {
        if names.is_empty() || mode == PathMode::Off {
            return;
        }
        if mode == PathMode::Slots {
            return names.iter().for_each(|name| self.slots.put(name, &self.items));
        }
        let items = &self.items;
        let paths = self.paths.get_or_insert_with(|| vec![None; items.len()]);
        for (row, path) in paths.iter_mut().enumerate() {
            *path = path::label(path, &items.get(row), names, mode);
        }
    }

    /// The traversers of all parts, in order. O(traversers), however many parts there are.
    pub fn joined(mut parts: Vec<Batch>) -> Batch {
        if parts.len() < 2 {
            return parts.pop().unwrap_or_default();
        }
        let lengths: Vec<usize> = parts.iter().map(Batch::len).collect();
        let items = Items::joined(parts.iter_mut().map(|part| std::mem::take(&mut part.items)).collect());
        let slots = parts.iter_mut().zip(&lengths).map(|(part, length)| (std::mem::take(&mut part.slots), *length));
        let slots = Slots::joined(slots.collect());
        let known: Vec<Known> = parts.iter_mut().map(|part| std::mem::take(&mut part.known)).collect();
        let known = Known::joined(&known);
        let (mut all, mut n) = (Batch::default(), 0);
        for (part, length) in parts.into_iter().zip(lengths) {
            all.append_state(part, n, length);
            n += length;
        }
        Batch { items, known, slots, ..all }
    }

    /// Appends one batch. Copies a column of values whole: [`joined`](Self::joined) joins many batches.
    pub fn append(&mut self, mut other: Batch) {
        if self.is_empty() {
            *self = other;
            return;
        }
        let (mine, theirs) = (self.len(), other.len());
        let slots = [(std::mem::take(&mut self.slots), mine), (std::mem::take(&mut other.slots), theirs)];
        self.slots = Slots::joined(slots.into());
        self.known = Known::joined(&[std::mem::take(&mut self.known), std::mem::take(&mut other.known)]);
        self.items.append(std::mem::take(&mut other.items));
        self.append_state(other, mine, theirs);
    }

    fn append_state(&mut self, other: Batch, mine: usize, theirs: usize) {
        append_column(&mut self.bulk, other.bulk, mine, theirs, 1);
        append_column(&mut self.scope, other.scope, mine, theirs, 0);
        append_column(&mut self.paths, other.paths, mine, theirs, None);
        append_column(&mut self.sacks, other.sacks, mine, theirs, Value::Null);
    }

    /// Takes the first `n` traversers out; the rest stay.
    pub fn split_front(&mut self, n: usize) -> Batch {
        if n >= self.len() {
            return std::mem::take(self);
        }
        let first = self.slice(0..n);
        *self = self.slice(n..self.len());
        first
    }

    /// A copy of the traversers in a range of rows.
    pub fn slice(&self, rows: Range<usize>) -> Batch {
        fn part<T: Clone>(column: &Option<Vec<T>>, rows: &Range<usize>) -> Option<Vec<T>> {
            column.as_ref().map(|column| column[rows.clone()].to_vec())
        }
        Batch {
            items: self.items.slice(rows.clone()),
            known: self.known.slice(&rows),
            bulk: part(&self.bulk, &rows),
            scope: part(&self.scope, &rows),
            paths: part(&self.paths, &rows),
            slots: self.slots.slice(rows.clone()),
            sacks: part(&self.sacks, &rows),
        }
    }

    /// A copy in which each row is a scope of its own and stands for one traverser.
    pub fn as_scopes(&self) -> Batch {
        let mut copy = self.clone();
        copy.bulk = None;
        copy.scope = (self.len() > 1).then(|| (0..self.len() as u32).collect());
        copy
    }

    /// The number of traversers, bulk included.
    pub fn total(&self) -> u64 {
        self.bulk.as_ref().map_or(self.len() as u64, |bulk| bulk.iter().fold(0, |sum, n| sum.saturating_add(*n)))
    }

    /// What it takes in memory, approximately.
    pub fn bytes(&self) -> usize {
        fn column<T>(column: &Option<Vec<T>>, item_bytes: usize) -> usize {
            column.as_ref().map_or(0, |items| items.len() * item_bytes)
        }
        self.items.bytes()
            + self.known.bytes()
            + self.slots.bytes()
            + column(&self.bulk, 8)
            + column(&self.scope, 4)
            + column(&self.paths, size_of::<PathNode>() + 32)
            + column(&self.sacks, size_of::<Value>())
    }

    /// The vertices, if all items are vertices.
    pub fn vertices(&self) -> Option<&[VertexId]> {
        match &self.items {
            Items::Vertices(ids) => Some(ids),
            _ => None,
        }
    }

    pub fn edges(&self) -> Option<&[EdgeRef]> {
        match &self.items {
            Items::Edges(edges) => Some(edges),
            _ => None,
        }
    }
}

fn append_column<T: Clone>(mine: &mut Option<Vec<T>>, theirs: Option<Vec<T>>, n: usize, m: usize, default: T) {
    if mine.is_none() && theirs.is_none() {
        return;
    }
    let column = mine.get_or_insert_with(|| vec![default.clone(); n]);
    column.extend(theirs.unwrap_or_else(|| vec![default; m]));
}

/// The values that rows of a batch gave, and the rows they came from.
#[derive(Default)]
pub struct Moves {
    pub rows: Vec<u32>,
    pub values: Vec<Value>,
}

impl Moves {
    pub fn push(&mut self, row: usize, value: Value) {
        self.rows.push(row as u32);
        self.values.push(value);
    }

    pub fn finish(self, from: &Batch, mode: PathMode) -> Batch {
        from.moved(&self.rows, Items::from_values(self.values), mode)
    }
}
