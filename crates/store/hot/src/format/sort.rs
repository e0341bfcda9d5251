//! Sorts many ids: a stable radix sort, with one pass for each byte in which keys differ.

/// The radix sort pays from this many keys on.
const RADIX_FROM: usize = 512;

/// The positions of the keys in sorted order. Equal keys keep their order.
///
/// # Panics
/// With 2^32 keys or more.
pub fn order(keys: &[u64]) -> Vec<u32> {
    let mut order: Vec<u32> = (0..u32::try_from(keys.len()).expect("fewer than 2^32 keys")).collect();
    sort(keys, &mut order);
    order
}

/// Sorts positions in `keys` by key. Positions of equal keys keep their order.
pub fn sort(keys: &[u64], order: &mut Vec<u32>) {
    if keys.is_sorted() && order.is_sorted() {
        return;
    }
    if order.len() < RADIX_FROM {
        order.sort_by_key(|at| keys[*at as usize]);
        return;
    }
    let (any, all) = keys.iter().fold((0, u64::MAX), |(any, all), key| (any | key, all & key));
    let differing = any & !all;
    let mut sorted = vec![0; order.len()];
    for byte in (0..8).filter(|byte| differing >> (8 * byte) & 0xff != 0) {
        let digit = |at: u32| (keys[at as usize] >> (8 * byte) & 0xff) as usize;
        let mut starts = [0u32; 256];
        order.iter().for_each(|at| starts[digit(*at)] += 1);
        let mut start = 0;
        for count in &mut starts {
            (*count, start) = (start, start + *count);
        }
        for at in order.iter() {
            let to = &mut starts[digit(*at)];
            sorted[*to as usize] = *at;
            *to += 1;
        }
        std::mem::swap(order, &mut sorted);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn the_order_is_that_of_a_stable_sort(keys in prop::collection::vec(prop_oneof![0u64..300, any::<u64>()], 0..1500)) {
            let mut expected: Vec<u32> = (0..keys.len() as u32).collect();
            expected.sort_by_key(|at| keys[*at as usize]);
            prop_assert_eq!(order(&keys), expected);
        }
    }
}
