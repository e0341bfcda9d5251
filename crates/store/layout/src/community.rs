//! Communities, and communities within them, in a greedy order at each level.

use mangrove_analytics::algorithms::{CommunityTree, Louvain};
use mangrove_analytics::{Adjacent, Result, Run};

use crate::bisect;
use crate::greedy::Greedy;
use crate::measure::places;

/// Bondhu orders vertices inside a community, and then communities, with one greedy algorithm. Here the same is done at every level at
/// which communities were found. Each community is then turned to where more of its outer links lead. At last, bisection lets single
/// vertices change places.
pub fn order(links: Adjacent, run: &Run) -> Result<Vec<u32>> {
    run.begin("finding communities", 0);
    let tree = Louvain { resolution: 1.0, is_refined: false }.tree(links, run)?;
    run.begin("ordering communities", 0);
    let mut greedy = Greedy::new(tree.links[0].vertices());
    let Some(top) = tree.links.last() else { return Ok(Vec::new()) };
    let mut order = greedy.order(top, &(0..top.vertices() as u32).collect::<Vec<_>>());
    for level in (0..tree.parts.len()).rev() {
        run.advance(0)?;
        order = within(&tree, level, &order, &mut greedy);
    }
    bisect::improve(&tree.links[0], &mut order, run)?;
    Ok(order)
}

/// The vertices of a level, given the order of those of the next.
fn within(tree: &CommunityTree, level: usize, parents: &[u32], greedy: &mut Greedy) -> Vec<u32> {
    let (links, parts) = (&tree.links[level], &tree.parts[level]);
    let place = places(parents);
    let mut members: Vec<Vec<u32>> = vec![Vec::new(); parents.len()];
    parts.iter().zip(0..).for_each(|(part, vertex)| members[*part as usize].push(vertex));
    let mut order = Vec::with_capacity(parts.len());
    for parent in parents {
        let mut inside = greedy.order(links, &members[*parent as usize]);
        if outward(links, parts, &place, &inside) < 0.0 {
            inside.reverse();
        }
        order.append(&mut inside);
    }
    order
}

/// How far the links that leave a community lead from its left to the right: less than 0 if it should be turned around.
fn outward(links: &Adjacent, parts: &[u32], place: &[u32], inside: &[u32]) -> f64 {
    let middle = (inside.len() as f64 - 1.0) / 2.0;
    let mut sum = 0.0;
    for (vertex, at) in inside.iter().zip(0..) {
        let own = place[parts[*vertex as usize] as usize];
        let side = |other: u32| match place[parts[other as usize] as usize].cmp(&own) {
            std::cmp::Ordering::Less => -1.0,
            std::cmp::Ordering::Equal => 0.0,
            std::cmp::Ordering::Greater => 1.0,
        };
        let pull: f64 = links.weighted(*vertex as usize).map(|(other, weight)| side(other) * weight).sum();
        sum += pull * (f64::from(at) - middle);
    }
    sum
}
