//! Values of vertices, and their bytes.

/// What a vertex holds. Frames carry values as bytes, the least first.
pub trait VertexValue: Clone + PartialEq + Send + Sync {
    /// The bytes of each value; `None` if they differ.
    const WIDTH: Option<usize>;

    /// The bytes of this value.
    fn width(&self) -> usize;

    /// Appends as many bytes.
    fn write(&self, out: &mut Vec<u8>);

    /// The value of all these bytes; `None` if they are none.
    fn read(bytes: &[u8]) -> Option<Self>;
}

macro_rules! number {
    ($($t:ty),*) => {
        $(impl VertexValue for $t {
            const WIDTH: Option<usize> = Some(size_of::<$t>());

            fn width(&self) -> usize {
                size_of::<$t>()
            }

            fn write(&self, out: &mut Vec<u8>) {
                out.extend_from_slice(&self.to_le_bytes());
            }

            fn read(bytes: &[u8]) -> Option<Self> {
                bytes.try_into().ok().map(Self::from_le_bytes)
            }
        })*
    };
}

number!(u32, u64, f32, f64);

/// A list of numbers, of any length.
impl VertexValue for Vec<u32> {
    const WIDTH: Option<usize> = None;

    fn width(&self) -> usize {
        4 * self.len()
    }

    fn write(&self, out: &mut Vec<u8>) {
        self.iter().for_each(|number| number.write(out));
    }

    fn read(bytes: &[u8]) -> Option<Self> {
        let (numbers, rest) = bytes.as_chunks::<4>();
        rest.is_empty().then(|| numbers.iter().map(|bytes| u32::from_le_bytes(*bytes)).collect())
    }
}

/// Writes values: fixed widths one after the other, others with all their widths before.
pub fn write_all<'v, V: VertexValue + 'v>(values: impl Iterator<Item = &'v V> + Clone, out: &mut Vec<u8>) {
    if V::WIDTH.is_none() {
        values.clone().for_each(|value| (value.width() as u32).write(out));
    }
    values.for_each(|value| value.write(out));
}

/// Reads `count` values, and no more; `None` if the bytes are others.
pub fn read_all<V: VertexValue>(bytes: &[u8], count: usize) -> Option<Vec<V>> {
    let widths: Vec<usize> = match V::WIDTH {
        Some(width) => vec![width; count],
        None => {
            let widths = bytes.get(..4 * count)?.as_chunks::<4>().0;
            widths.iter().map(|bytes| u32::from_le_bytes(*bytes) as usize).collect()
        }
    };
    let mut at = if V::WIDTH.is_some() { 0 } else { 4 * count };
    let mut values = Vec::with_capacity(count);
    for width in widths {
        values.push(V::read(bytes.get(at..at.checked_add(width)?)?)?);
        at += width;
    }
    (at == bytes.len()).then_some(values)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn there_and_back<V: VertexValue + std::fmt::Debug>(values: &[V]) {
        let mut bytes = Vec::new();
        write_all(values.iter(), &mut bytes);
        assert_eq!(read_all::<V>(&bytes, values.len()).as_deref(), Some(values));
        bytes.push(0);
        assert_eq!(read_all::<V>(&bytes, values.len()), None, "a byte too many");
        bytes.truncate(bytes.len() - 2);
        assert_eq!(read_all::<V>(&bytes, values.len()), None, "a byte too few");
    }

    #[test]
    fn values_go_there_and_back() {
        there_and_back(&[1.5, f64::INFINITY, -0.0]);
        there_and_back(&[7u32, u32::MAX]);
        there_and_back(&[vec![1, 2, 3], vec![], vec![u32::MAX]]);
    }
}
