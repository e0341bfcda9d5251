//! Lists of named items, which can be found by number and by name.
//!
//! A copy shares as much as it can with the original: copying takes O(1), a change O(log n). So every transaction can have its own
//! schema, however many names there are.

use std::ops::{Index, IndexMut};
use std::sync::Arc;

use rpds::{HashTrieMapSync, RedBlackTreeSetSync, VectorSync};
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// The most names of a list.
pub const NAMES_MAX: usize = 1 << 16;

/// An item that a list of names may hold.
pub trait HasName {
    fn name(&self) -> &Arc<str>;
}

impl HasName for Arc<str> {
    fn name(&self) -> &Arc<str> {
        self
    }
}

/// Named items in insertion order. Numbers never change. Names are unique, except those of dropped items.
#[derive(Clone, Debug, PartialEq)]
pub struct Names<T> {
    items: VectorSync<T>,
    by_name: HashTrieMapSync<Arc<str>, u16>,
    /// Dropped items, which can be found only by number.
    dropped: RedBlackTreeSetSync<u16>,
}

impl<T> Default for Names<T> {
    fn default() -> Self {
        let (by_name, dropped) = (HashTrieMapSync::new_sync(), RedBlackTreeSetSync::new_sync());
        Self { items: VectorSync::new_sync(), by_name, dropped }
    }
}

impl<T> Names<T> {
    pub fn len(&self) -> usize {
        self.items.len()
    }

    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    pub fn get(&self, number: usize) -> Option<&T> {
        self.items.get(number)
    }

    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &T> + ExactSizeIterator {
        self.items.iter()
    }

    /// Whether the item of this number was dropped.
    pub fn is_dropped(&self, number: u16) -> bool {
        self.dropped.contains(&number)
    }

    /// The items that were not dropped, with their numbers.
    pub fn known(&self) -> impl Iterator<Item = (u16, &T)> {
        (0..).zip(&self.items).filter(|(number, _)| !self.is_dropped(*number))
    }

    /// The number of the item with this name.
    pub fn find(&self, name: &str) -> Option<u16> {
        self.by_name.get(name).copied()
    }
}

impl<T: HasName> Names<T> {
    /// Appends an item and returns its number. The list holds at most 65,536 items.
    pub fn push(&mut self, item: T) -> u16 {
        let number = self.items.len() as u16;
        self.name(&item, number);
        self.items.push_back_mut(item);
        number
    }

    /// Replaces an item with another one, which has its own name.
    pub fn replace(&mut self, number: u16, item: T) {
        self.forget_name(number);
        self.name(&item, number);
        self.items.set_mut(usize::from(number), item);
    }

    /// Drops the name of an item; only its number finds it from now on. Another item may take the name.
    pub fn drop_name(&mut self, number: u16) {
        self.forget_name(number);
        self.dropped.insert_mut(number);
    }

    fn forget_name(&mut self, number: u16) {
        if let Some(name) = self.items.get(usize::from(number)).map(|item| item.name().clone())
            && self.find(&name) == Some(number)
        {
            self.by_name.remove_mut(&name);
        }
    }

    fn name(&mut self, item: &T, number: u16) {
        if !self.by_name.contains_key(item.name()) {
            self.by_name.insert_mut(item.name().clone(), number);
        }
    }
}

/// A list travels as its items, each with whether it was dropped.
impl<T: Serialize> Serialize for Names<T> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_seq((0..).zip(&self.items).map(|(number, item)| (item, self.is_dropped(number))))
    }
}

impl<'de, T: HasName + Deserialize<'de>> Deserialize<'de> for Names<T> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let items = Vec::<(T, bool)>::deserialize(from)?;
        if items.len() > NAMES_MAX {
            return Err(D::Error::custom("too many names"));
        }
        let mut names = Self::default();
        for (item, is_dropped) in items {
            let number = names.push(item);
            if is_dropped {
                names.drop_name(number);
            }
        }
        Ok(names)
    }
}

impl<T> Index<usize> for Names<T> {
    type Output = T;

    fn index(&self, number: usize) -> &T {
        &self.items[number]
    }
}

/// Callers may change anything in an item but its name.
impl<T: Clone> IndexMut<usize> for Names<T> {
    fn index_mut(&mut self, number: usize) -> &mut T {
        self.items.get_mut(number).expect("no item has this number")
    }
}

impl<'a, T> IntoIterator for &'a Names<T> {
    type Item = &'a T;
    type IntoIter = <&'a VectorSync<T> as IntoIterator>::IntoIter;

    fn into_iter(self) -> Self::IntoIter {
        self.items.into_iter()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_found_and_a_copy_stays_as_it_was() {
        let mut names: Names<Arc<str>> = Names::default();
        for number in 0..2000 {
            assert_eq!(names.push(format!("n{number}").into()), number);
        }
        let copy = names.clone();
        names.push("later".into());
        assert_eq!((names.find("n1999"), names.find("later"), names.find("none")), (Some(1999), Some(2000), None));
        assert_eq!((copy.len(), copy.find("later"), &*copy[7]), (2000, None, "n7"));
        names.replace(7, "seven".into());
        names.drop_name(8);
        assert_eq!(
            (names.find("n7"), names.find("seven"), names.find("n8"), names.is_dropped(8)),
            (None, Some(7), None, true)
        );
        assert_eq!((names.push("n8".into()), names.known().count()), (2001, 2001));
        let sent: Names<Arc<str>> = postcard::from_bytes(&postcard::to_allocvec(&names).unwrap()).unwrap();
        assert_eq!(sent, names);
        assert!(copy != names && names.iter().map(|name| &**name).eq((&names).into_iter().map(|name| &**name)));
    }
}
