//! What `as()` named, by column: a plan whose labels are never asked for their first or all objects needs no paths.
//!
//! A slot holds the latest object of its label for each row of a batch. Rows that never passed the label have none.

use std::ops::Range;

use mangrove_graph::Value;

use crate::execute::data::bytes::value_bytes;
use crate::execute::data::items::Items;
use crate::plan::Name;

#[derive(Clone, Debug, Default)]
pub struct Slots(Vec<(Name, Slot)>);

/// The objects of one label.
#[derive(Clone, Debug)]
pub enum Slot {
    /// Every row has one.
    All(Items),
    Some(Vec<Option<Value>>),
}

impl FromIterator<(Name, Slot)> for Slots {
    fn from_iter<T: IntoIterator<Item = (Name, Slot)>>(slots: T) -> Self {
        Self(slots.into_iter().collect())
    }
}

impl Slots {
    pub fn iter(&self) -> impl Iterator<Item = (&Name, &Slot)> {
        self.0.iter().map(|(name, slot)| (name, slot))
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn get(&self, name: &str) -> Option<&Slot> {
        self.0.iter().find(|(known, _)| **known == *name).map(|(_, slot)| slot)
    }

    /// The object of a label in a row.
    pub fn value(&self, name: &str, row: usize) -> Option<Value> {
        self.get(name)?.value(row)
    }

    /// Names the items of a batch.
    pub fn put(&mut self, name: &Name, items: &Items) {
        let slot = Slot::All(items.clone());
        match self.0.iter_mut().find(|(known, _)| known == name) {
            Some((_, known)) => *known = slot,
            None => self.0.push((name.clone(), slot)),
        }
    }

    /// Names what `later` has. Rows in which it has nothing keep what they have.
    pub fn put_later(&mut self, later: Slots) {
        for (name, mut slot) in later.0 {
            let Some((_, known)) = self.0.iter_mut().find(|(known, _)| *known == name) else {
                self.0.push((name, slot));
                continue;
            };
            if let Slot::Some(values) = &mut slot {
                let missing = values.iter_mut().enumerate().filter(|(_, value)| value.is_none());
                missing.for_each(|(row, value)| *value = known.value(row));
            }
            *known = slot;
        }
    }

    pub fn remove(&mut self, name: &str) {
        self.0.retain(|(known, _)| **known != *name);
    }

    pub fn gather(&self, rows: &[u32]) -> Self {
        Self(self.0.iter().map(|(name, slot)| (name.clone(), slot.gather(rows))).collect())
    }

    pub fn slice(&self, rows: Range<usize>) -> Self {
        Self(self.0.iter().map(|(name, slot)| (name.clone(), slot.slice(rows.clone()))).collect())
    }

    /// The slots of all parts, in order. Each part comes with its number of rows. O(rows), however many parts there are.
    pub fn joined(mut parts: Vec<(Slots, usize)>) -> Self {
        let mut names: Vec<Name> = Vec::new();
        for (name, _) in parts.iter().flat_map(|(slots, _)| &slots.0) {
            if !names.contains(name) {
                names.push(name.clone());
            }
        }
        let mut of_name = |name: &Name| {
            let slots =
                parts.iter_mut().map(|(slots, rows)| slots.take(name).unwrap_or_else(|| Slot::Some(vec![None; *rows])));
            Slot::joined(slots.collect())
        };
        Self(names.iter().map(|name| (name.clone(), of_name(name))).collect())
    }

    fn take(&mut self, name: &Name) -> Option<Slot> {
        let at = self.0.iter().position(|(known, _)| known == name)?;
        Some(self.0.swap_remove(at).1)
    }

    pub fn bytes(&self) -> usize {
        self.0.iter().map(|(_, slot)| slot.bytes()).sum()
    }
}

impl Slot {
    pub fn len(&self) -> usize {
        match self {
            Slot::All(items) => items.len(),
            Slot::Some(values) => values.len(),
        }
    }

    pub fn value(&self, row: usize) -> Option<Value> {
        match self {
            Slot::All(items) => Some(items.get(row)),
            Slot::Some(values) => values[row].clone(),
        }
    }

    fn gather(&self, rows: &[u32]) -> Self {
        match self {
            Slot::All(items) => Slot::All(items.gather(rows)),
            Slot::Some(values) => Slot::Some(rows.iter().map(|row| values[*row as usize].clone()).collect()),
        }
    }

    fn slice(&self, rows: Range<usize>) -> Self {
        match self {
            Slot::All(items) => Slot::All(items.slice(rows)),
            Slot::Some(values) => Slot::Some(values[rows].to_vec()),
        }
    }

    fn joined(slots: Vec<Slot>) -> Self {
        let are_whole = slots.iter().all(|slot| matches!(slot, Slot::All(_)));
        let (mut whole, mut values) = (Vec::new(), Vec::new());
        for slot in slots {
            match slot {
                Slot::All(items) if are_whole => whole.push(items),
                Slot::All(items) => values.extend(items.into_values().into_iter().map(Some)),
                Slot::Some(mut more) => values.append(&mut more),
            }
        }
        if are_whole { Slot::All(Items::joined(whole)) } else { Slot::Some(values) }
    }

    fn bytes(&self) -> usize {
        match self {
            Slot::All(items) => items.bytes(),
            Slot::Some(values) => values.iter().map(|value| value.as_ref().map_or(8, value_bytes)).sum(),
        }
    }
}
