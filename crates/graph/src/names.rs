//! Lists of what has a name, found by number and by name.
//!
//! A copy shares all it can with what it was copied from: copying takes O(1), a change O(log n). So every transaction has a
//! schema of its own, however many names there are.

use std::ops::{Index, IndexMut};
use std::sync::Arc;

use rpds::{HashTrieMapSync, VectorSync};

/// What a list of names may hold.
pub trait HasName {
    fn name(&self) -> &Arc<str>;
}

impl HasName for Arc<str> {
    fn name(&self) -> &Arc<str> {
        self
    }
}

/// Items in the order they came, each with a name. Numbers never change; names are unique.
#[derive(Clone, Debug, PartialEq)]
pub struct Names<T> {
    items: VectorSync<T>,
    by_name: HashTrieMapSync<Arc<str>, u16>,
}

impl<T> Default for Names<T> {
    fn default() -> Self {
        Self { items: VectorSync::new_sync(), by_name: HashTrieMapSync::new_sync() }
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

    /// The number of a name.
    pub fn find(&self, name: &str) -> Option<u16> {
        self.by_name.get(name).copied()
    }
}

impl<T: HasName> Names<T> {
    /// Appends an item, and gives its number. There is room for 65,536.
    pub fn push(&mut self, item: T) -> u16 {
        let number = self.items.len() as u16;
        if !self.by_name.contains_key(item.name()) {
            self.by_name.insert_mut(item.name().clone(), number);
        }
        self.items.push_back_mut(item);
        number
    }
}

impl<T> Index<usize> for Names<T> {
    type Output = T;

    fn index(&self, number: usize) -> &T {
        &self.items[number]
    }
}

/// Items are changed in all but their names.
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
        assert!(copy != names && names.iter().map(|name| &**name).eq((&names).into_iter().map(|name| &**name)));
    }
}
