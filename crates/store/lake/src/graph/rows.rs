//! How the elements of a type lie in files: one after the other, in chunks.

use std::ops::Range;

/// Which chunk holds which elements. A chunk is a file, or a part of several files that hold different columns.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Rows {
    /// Every chunk has as many elements, but the last may have fewer.
    Even { size: u64, count: u64 },
    /// The first element of each chunk; at the end, the number of elements.
    Each(Vec<u64>),
}

impl Rows {
    /// Chunks with these numbers of elements.
    pub fn of(sizes: impl IntoIterator<Item = u64>) -> Self {
        let ends = sizes.into_iter().scan(0u64, |end, size| {
            *end = end.saturating_add(size);
            Some(*end)
        });
        Rows::Each(std::iter::once(0).chain(ends).collect())
    }

    /// The number of elements.
    pub fn count(&self) -> u64 {
        match self {
            Rows::Even { count, .. } => *count,
            Rows::Each(starts) => starts.last().copied().unwrap_or(0),
        }
    }

    pub fn chunks(&self) -> u64 {
        match self {
            Rows::Even { size, count } => count.div_ceil(*size),
            Rows::Each(starts) => starts.len().saturating_sub(1) as u64,
        }
    }

    /// The chunk that holds an element. O(log chunks).
    pub fn chunk_of(&self, local: u64) -> u64 {
        match self {
            Rows::Even { size, .. } => local / size,
            // Empty chunks begin where the next one does.
            Rows::Each(starts) => starts.partition_point(|start| *start <= local).saturating_sub(1) as u64,
        }
    }

    /// The elements of a chunk.
    pub fn locals(&self, chunk: u64) -> Range<u64> {
        match self {
            Rows::Even { size, count } => {
                let first = chunk.saturating_mul(*size).min(*count);
                first..first.saturating_add(*size).min(*count)
            }
            Rows::Each(starts) => {
                let bound = |at: u64| starts.get(at as usize).copied().unwrap_or(self.count());
                bound(chunk)..bound(chunk + 1)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_element_is_in_one_chunk() {
        for rows in [
            Rows::Even { size: 4, count: 10 },
            Rows::Even { size: 5, count: 10 },
            Rows::Even { size: 9, count: 0 },
            Rows::of([3, 0, 0, 6, 1, 0]),
            Rows::of([]),
        ] {
            let all: Vec<u64> = (0..rows.chunks()).flat_map(|chunk| rows.locals(chunk)).collect();
            assert_eq!(all, (0..rows.count()).collect::<Vec<_>>(), "{rows:?}");
            for local in all {
                assert!(rows.locals(rows.chunk_of(local)).contains(&local), "{rows:?} {local}");
            }
            assert!(rows.locals(rows.chunks()).is_empty());
        }
    }
}
