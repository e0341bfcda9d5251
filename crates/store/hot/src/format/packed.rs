//! Integers as offsets from a base, all of the same few bytes. They allow random access, and decode at memory speed.

use std::ops::Range;

use mangrove_graph::Result;

use crate::system::fault::corrupt;

/// `base + offset`, wrapping; offsets are little-endian.
#[derive(Clone, Copy, Debug)]
pub struct Packed<'a> {
    pub base: u64,
    width: usize,
    len: usize,
    data: &'a [u8],
}

/// The bytes an offset takes: 0 to 6, or 8.
pub fn width_of(offset_max: u64) -> usize {
    match (u64::BITS - offset_max.leading_zeros()).div_ceil(8) {
        7 => 8,
        width => width as usize,
    }
}

/// Appends the offsets of `values` from `base`, of `width` bytes each.
#[inline]
pub fn pack(out: &mut Vec<u8>, values: impl Iterator<Item = u64>, base: u64, width: usize) {
    match width {
        0 => {}
        1 => pack_as::<1>(out, values, base),
        2 => pack_as::<2>(out, values, base),
        3 => pack_as::<3>(out, values, base),
        4 => pack_as::<4>(out, values, base),
        5 => pack_as::<5>(out, values, base),
        6 => pack_as::<6>(out, values, base),
        _ => pack_as::<8>(out, values, base),
    }
}

#[inline]
fn pack_as<const W: usize>(out: &mut Vec<u8>, values: impl Iterator<Item = u64>, base: u64) {
    for value in values {
        let offset = value.wrapping_sub(base).to_le_bytes();
        out.extend_from_slice(&offset[..W]);
    }
}

#[inline]
fn unpack<const W: usize>(offset: &[u8; W]) -> u64 {
    let mut bytes = [0; 8];
    bytes[..W].copy_from_slice(offset);
    u64::from_le_bytes(bytes)
}

impl<'a> Packed<'a> {
    /// Takes `len` offsets off the front of `data`.
    pub fn split(base: u64, width: usize, len: usize, data: &'a [u8]) -> Result<(Self, &'a [u8])> {
        if width > 8 || width == 7 {
            return Err(corrupt("integers of an impossible width"));
        }
        let (data, rest) = data.split_at_checked(width * len).ok_or_else(|| corrupt("a block ends early"))?;
        Ok((Self { base, width, len, data }, rest))
    }

    #[inline]
    pub fn len(&self) -> usize {
        self.len
    }

    /// # Panics
    /// If `at` is not below `len()`.
    #[inline]
    pub fn get(&self, at: usize) -> u64 {
        assert!(at < self.len);
        let offset = match self.width {
            0 => 0,
            1 => u64::from(self.data[at]),
            2 => unpack(&self.data.as_chunks::<2>().0[at]),
            3 => unpack(&self.data.as_chunks::<3>().0[at]),
            4 => unpack(&self.data.as_chunks::<4>().0[at]),
            5 => unpack(&self.data.as_chunks::<5>().0[at]),
            6 => unpack(&self.data.as_chunks::<6>().0[at]),
            _ => unpack(&self.data.as_chunks::<8>().0[at]),
        };
        self.base.wrapping_add(offset)
    }

    /// Appends the values of a range, each through `f`.
    ///
    /// # Panics
    /// If the range is not within `len()`.
    #[inline]
    pub fn extend<T>(&self, range: Range<usize>, out: &mut Vec<T>, f: impl Fn(u64) -> T) {
        assert!(range.end <= self.len);
        match self.width {
            0 => out.extend(range.map(|_| f(self.base))),
            1 => self.extend_as::<1, T>(range, out, f),
            2 => self.extend_as::<2, T>(range, out, f),
            3 => self.extend_as::<3, T>(range, out, f),
            4 => self.extend_as::<4, T>(range, out, f),
            5 => self.extend_as::<5, T>(range, out, f),
            6 => self.extend_as::<6, T>(range, out, f),
            _ => self.extend_as::<8, T>(range, out, f),
        }
    }

    /// Calls `f` with every position and value.
    #[inline]
    pub fn each(&self, mut f: impl FnMut(usize, u64)) {
        match self.width {
            0 => (0..self.len).for_each(|at| f(at, self.base)),
            1 => self.each_as::<1>(f),
            2 => self.each_as::<2>(f),
            3 => self.each_as::<3>(f),
            4 => self.each_as::<4>(f),
            5 => self.each_as::<5>(f),
            6 => self.each_as::<6>(f),
            _ => self.each_as::<8>(f),
        }
    }

    #[inline]
    fn each_as<const W: usize>(&self, mut f: impl FnMut(usize, u64)) {
        let offsets = self.data.as_chunks::<W>().0.iter().enumerate();
        offsets.for_each(|(at, offset)| f(at, self.base.wrapping_add(unpack(offset))));
    }

    #[inline]
    fn extend_as<const W: usize, T>(&self, range: Range<usize>, out: &mut Vec<T>, f: impl Fn(u64) -> T) {
        let offsets = &self.data.as_chunks::<W>().0[range];
        out.extend(offsets.iter().map(|offset| f(self.base.wrapping_add(unpack(offset)))));
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn packed_integers_come_back(
            values in prop::collection::vec(any::<u64>(), 1..130), shift in 0u32..64, base in any::<u64>(),
        ) {
            let values: Vec<u64> = values.into_iter().map(|v| base.wrapping_add(v >> shift)).collect();
            let width = width_of(u64::MAX >> shift);
            let mut bytes = Vec::new();
            pack(&mut bytes, values.iter().copied(), base, width);
            let (packed, rest) = Packed::split(base, width, values.len(), &bytes).unwrap();
            prop_assert!(rest.is_empty());
            let mut all = Vec::new();
            packed.extend(0..values.len(), &mut all, |v| v);
            prop_assert_eq!(&all, &values);
            prop_assert!((0..values.len()).all(|at| packed.get(at) == values[at]));
            let mut n = 0;
            packed.each(|at, value| n += usize::from(values[at] == value));
            prop_assert_eq!(n, values.len());
        }
    }

    #[test]
    fn a_short_block_is_refused() {
        assert!(Packed::split(0, 3, 2, &[0; 5]).is_err());
        assert!(Packed::split(0, 7, 1, &[0; 8]).is_err());
    }
}
