//! Orders that look at no communities, to compare with.

use mangrove_analytics::{Adjacent, Result, Run};

/// Vertices between looks at whether to stop.
const BETWEEN_LOOKS: usize = 1 << 14;

/// The vertices, those with the fewest links first.
fn by_degree(links: &Adjacent) -> Vec<u32> {
    let mut all: Vec<u32> = (0..links.vertices() as u32).collect();
    all.sort_by_key(|vertex| links.degree(*vertex as usize));
    all
}

/// Those with the most links in the middle, the others by turns left and right of them.
pub fn organ_pipe(links: &Adjacent) -> Vec<u32> {
    let all = by_degree(links);
    let left = all.iter().copied().step_by(2);
    let right = all.iter().copied().skip(1).step_by(2);
    left.chain(right.rev()).collect()
}

/// Breadth-first from a vertex with the fewest links of each component, neighbours with fewer links first, and then reversed (Cuthill,
/// McKee: Reducing the bandwidth of sparse symmetric matrices, 1969; George reversed it). O(V·log V + E·log degree).
pub fn breadth_first(links: &Adjacent, run: &Run) -> Result<Vec<u32>> {
    let mut order: Vec<u32> = Vec::with_capacity(links.vertices());
    let mut is_found = vec![false; links.vertices()];
    let mut near: Vec<u32> = Vec::new();
    for first in by_degree(links) {
        if std::mem::replace(&mut is_found[first as usize], true) {
            continue;
        }
        let mut next = order.len();
        order.push(first);
        while let Some(vertex) = order.get(next) {
            near.clear();
            near.extend(links.of(*vertex as usize).iter().filter(|other| !is_found[**other as usize]));
            near.sort_by_key(|other| links.degree(*other as usize));
            near.iter().for_each(|other| is_found[*other as usize] = true);
            order.extend(&near);
            next += 1;
            if next.is_multiple_of(BETWEEN_LOOKS) {
                run.advance(0)?;
            }
        }
    }
    order.reverse();
    Ok(order)
}
