//! Sorted byte strings with front coding (Witten, Moffat, Bell, *Managing Gigabytes*, §4.1): each string omits the prefix that it
//! shares with the one before.
//!
//! ```text
//!   len 4 | bytes of the strings 4 | for every 16 strings: where the first begins 4
//!   | strings: shared 1 | length of the rest 2 | rest …
//! ```
//! The first of every 16 shares nothing.

use std::cmp::Ordering;

use mangrove_graph::Result;

use crate::corrupt;

const GROUP: usize = 16;
const HEADER: usize = 3;

#[derive(Clone, Copy, Debug)]
pub struct Sorted<'a> {
    len: usize,
    groups: &'a [[u8; 4]],
    bytes: &'a [u8],
}

/// Appends sorted strings of at most 65,535 bytes.
pub fn encode(out: &mut Vec<u8>, strings: &[&[u8]]) {
    let (mut groups, mut bytes) = (Vec::new(), Vec::new());
    for (at, string) in strings.iter().enumerate() {
        let shared = match at % GROUP {
            0 => {
                groups.push(bytes.len() as u32);
                0
            }
            _ => string.iter().zip(strings[at - 1]).take(usize::from(u8::MAX)).take_while(|(a, b)| a == b).count(),
        };
        let rest = &string[shared..];
        bytes.push(shared as u8);
        bytes.extend_from_slice(&(rest.len() as u16).to_le_bytes());
        bytes.extend_from_slice(rest);
    }
    out.extend_from_slice(&(strings.len() as u32).to_le_bytes());
    out.extend_from_slice(&(bytes.len() as u32).to_le_bytes());
    groups.iter().for_each(|start| out.extend_from_slice(&start.to_le_bytes()));
    out.extend_from_slice(&bytes);
}

impl<'a> Sorted<'a> {
    /// Takes sorted strings off the front of `data`.
    pub fn split(data: &'a [u8]) -> Result<(Self, &'a [u8])> {
        let early = || corrupt("sorted strings end early");
        let (len, rest) = data.split_first_chunk().ok_or_else(early)?;
        let (size, rest) = rest.split_first_chunk().ok_or_else(early)?;
        let (len, size) = (u32::from_le_bytes(*len) as usize, u32::from_le_bytes(*size) as usize);
        let (groups, rest) = rest.split_at_checked(len.div_ceil(GROUP) * 4).ok_or_else(early)?;
        let (bytes, rest) = rest.split_at_checked(size).ok_or_else(early)?;
        Ok((Self { len, groups: groups.as_chunks().0, bytes }, rest))
    }

    pub fn len(&self) -> usize {
        self.len
    }

    /// The first string of a group.
    fn head(&self, group: usize) -> Result<&'a [u8]> {
        let start = u32::from_le_bytes(self.groups[group]) as usize;
        let (shared, head, _) = string(self.bytes.get(start..).unwrap_or_default())?;
        if shared == 0 { Ok(head) } else { Err(corrupt("a string that shares a beginning with none")) }
    }

    /// The first of all strings.
    pub fn first(&self) -> Result<&'a [u8]> {
        if self.len == 0 { Ok(&[]) } else { self.head(0) }
    }

    /// Calls `f` with the strings of a group, until `f` returns that it has seen enough.
    fn each_of(&self, group: usize, mut f: impl FnMut(&[u8]) -> bool) -> Result<()> {
        let mut rest = self.bytes.get(u32::from_le_bytes(self.groups[group]) as usize..).unwrap_or_default();
        let mut whole: Vec<u8> = Vec::new();
        for _ in group * GROUP..self.len.min((group + 1) * GROUP) {
            let (shared, end, after) = string(rest)?;
            if shared > whole.len() {
                return Err(corrupt("a string that shares more than the one before has"));
            }
            whole.truncate(shared);
            whole.extend_from_slice(end);
            rest = after;
            if !f(&whole) {
                break;
            }
        }
        Ok(())
    }

    /// Calls `f` with all strings, in order.
    pub fn each(&self, mut f: impl FnMut(&[u8])) -> Result<()> {
        (0..self.groups.len()).try_for_each(|group| {
            self.each_of(group, |string| {
                f(string);
                true
            })
        })
    }

    /// How many strings are before `bound`. O(log len).
    pub fn below(&self, bound: &[u8]) -> Result<usize> {
        let (mut low, mut high) = (0, self.groups.len());
        while low < high {
            let middle = low.midpoint(high);
            if self.head(middle)? < bound { low = middle + 1 } else { high = middle }
        }
        let Some(group) = low.checked_sub(1) else { return Ok(0) };
        let mut before = group * GROUP;
        self.each_of(group, |string| {
            let is_before = string.cmp(bound) == Ordering::Less;
            before += usize::from(is_before);
            is_before
        })?;
        Ok(before)
    }
}

/// The length that the first string shares, the rest of that string, and the bytes after it.
fn string(bytes: &[u8]) -> Result<(usize, &[u8], &[u8])> {
    let early = || corrupt("a sorted string ends early");
    let ([shared, len @ ..], rest) = bytes.split_first_chunk::<HEADER>().ok_or_else(early)?;
    let (string, rest) = rest.split_at_checked(usize::from(u16::from_le_bytes(*len))).ok_or_else(early)?;
    Ok((usize::from(*shared), string, rest))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn strings_come_back_and_are_found(
            strings in prop::collection::btree_set(prop::collection::vec(0u8..3, 0..6), 0..90),
            long in 0usize..600, bound in prop::collection::vec(0u8..4, 0..6),
        ) {
            let mut strings: Vec<Vec<u8>> = strings.into_iter().collect();
            strings.extend([vec![3; long.max(1)], [vec![3; long.max(1)], vec![1]].concat()]);
            let slices: Vec<&[u8]> = strings.iter().map(|string| &string[..]).collect();
            let mut bytes = Vec::new();
            encode(&mut bytes, &slices);
            let (sorted, rest) = Sorted::split(&bytes).unwrap();
            prop_assert!(rest.is_empty());
            let mut found = Vec::new();
            sorted.each(|string| found.push(string.to_vec())).unwrap();
            prop_assert_eq!(&found, &strings);
            prop_assert_eq!(sorted.first().unwrap(), &strings[0][..]);
            for bound in strings.iter().chain([&bound]) {
                prop_assert_eq!(sorted.below(bound).unwrap(), strings.partition_point(|string| string < bound));
            }
        }
    }
}
