//! Sorts and selects among many rows in steps, so that the query can be stopped in between.

use std::cmp::Ordering;

use crate::error::Result;
use crate::execute::run::context::Context;

/// Rows to sort, merge or select from between two checks for a stop.
const STEP: usize = 1 << 14;

/// The rows in order. The sort is stable.
pub fn sorted(cx: &Context<'_, '_>, mut rows: Vec<u32>, compare: impl Fn(u32, u32) -> Ordering) -> Result<Vec<u32>> {
    for run in rows.chunks_mut(STEP) {
        cx.check()?;
        run.sort_by(|a, b| compare(*a, *b));
    }
    let mut merged = if rows.len() > STEP { vec![0; rows.len()] } else { Vec::new() };
    let mut run = STEP;
    while run < rows.len() {
        for (two, one) in rows.chunks(2 * run).zip(merged.chunks_mut(2 * run)) {
            let (left, right) = two.split_at(run.min(two.len()));
            merge(cx, left, right, one, &compare)?;
        }
        std::mem::swap(&mut rows, &mut merged);
        run *= 2;
    }
    Ok(rows)
}

fn merge<'a>(
    cx: &Context<'_, '_>,
    mut left: &'a [u32],
    mut right: &'a [u32],
    into: &mut [u32],
    compare: &impl Fn(u32, u32) -> Ordering,
) -> Result<()> {
    for part in into.chunks_mut(STEP) {
        cx.check()?;
        for slot in part {
            let from = match (left.first(), right.first()) {
                (Some(l), Some(r)) if compare(*l, *r).is_gt() => &mut right,
                (Some(_), _) => &mut left,
                (None, _) => &mut right,
            };
            if let Some((first, rest)) = from.split_first() {
                *slot = *first;
                *from = rest;
            }
        }
    }
    Ok(())
}

/// The `n` first rows and all ties of the last one, in any order.
pub fn first(cx: &Context<'_, '_>, rows: &[u32], n: usize, compare: impl Fn(u32, u32) -> Ordering) -> Result<Vec<u32>> {
    let mut best: Vec<u32> = Vec::new();
    // Each part is at least as long as the rows kept, so each row is compared in few rounds.
    for part in rows.chunks(STEP.max(n)) {
        cx.check()?;
        best.extend_from_slice(part);
        if let Some(last) = n.checked_sub(1).filter(|last| *last < best.len()) {
            let last = *best.select_nth_unstable_by(last, |a, b| compare(*a, *b)).1;
            best.retain(|row| compare(*row, last).is_le());
        }
    }
    Ok(best)
}

/// The rows with the `n` least keys and all ties of the last one, in any order. O(keys): most rows are compared once, with the
/// greatest of the keys that are kept.
pub fn least(cx: &Context<'_, '_>, keys: &[i64], n: usize) -> Result<Vec<u32>> {
    let Some(last) = n.checked_sub(1) else { return Ok(Vec::new()) };
    let (mut best, mut greatest): (Vec<(i64, u32)>, i64) = (Vec::new(), i64::MAX);
    // Ties may keep more than `n` rows.
    let mut full = STEP.max(2 * n);
    for (part, keys) in keys.chunks(STEP).enumerate() {
        cx.check()?;
        let rows = (part * STEP) as u32..;
        best.extend(keys.iter().copied().zip(rows).filter(|(key, _)| *key <= greatest));
        if best.len() >= full {
            greatest = best.select_nth_unstable(last).1.0;
            best.retain(|(key, _)| *key <= greatest);
            full = STEP.max(2 * n).max(2 * best.len());
        }
    }
    if last < best.len() {
        greatest = best.select_nth_unstable(last).1.0;
        best.retain(|(key, _)| *key <= greatest);
    }
    Ok(best.into_iter().map(|(_, row)| row).collect())
}
