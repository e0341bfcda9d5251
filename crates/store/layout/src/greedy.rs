//! Bondhu's greedy order (Hoque: Storage and processing systems for power-law graphs, ch. 3): the next vertex is the one most tied to
//! those that have a place, and it takes the free place, left or right of them, that is nearer to its ties.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

use mangrove_analytics::Adjacent;

/// Orders members of a network one after the other. It keeps its arrays between calls.
pub struct Greedy {
    /// The place of a vertex among the members; [`NOT_THERE`] for all others.
    within: Vec<u32>,
}

const NOT_THERE: u32 = u32::MAX;

/// A vertex that may be next, and the share of its ties that lead to those with a place.
#[derive(PartialEq)]
struct Candidate {
    share: f64,
    member: u32,
}

impl Eq for Candidate {}

impl Ord for Candidate {
    fn cmp(&self, other: &Self) -> Ordering {
        self.share.total_cmp(&other.share).then(other.member.cmp(&self.member))
    }
}

impl PartialOrd for Candidate {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// A member while others get their places.
#[derive(Clone, Copy, Default)]
struct Member {
    /// The weight of all its ties to other members.
    ties: f64,
    /// The weight of those to members that have a place, and its product with these places.
    placed: f64,
    moment: f64,
    has_place: bool,
}

impl Greedy {
    pub fn new(vertices: usize) -> Self {
        Self { within: vec![NOT_THERE; vertices] }
    }

    /// The members in order. O(links of the members · log members).
    pub fn order(&mut self, links: &Adjacent, members: &[u32]) -> Vec<u32> {
        if members.len() <= 2 {
            return members.to_vec();
        }
        members.iter().zip(0..).for_each(|(vertex, at)| self.within[*vertex as usize] = at);
        let order = self.places(links, members);
        members.iter().for_each(|vertex| self.within[*vertex as usize] = NOT_THERE);
        order.into_iter().map(|at| members[at as usize]).collect()
    }

    fn places(&self, links: &Adjacent, members: &[u32]) -> Vec<u32> {
        let ties_of = |at: u32| {
            let ties = links.weighted(members[at as usize] as usize);
            ties.map(|(other, weight)| (self.within[other as usize], weight)).filter(|(other, _)| *other != NOT_THERE)
        };
        let count = members.len() as u32;
        let mut all: Vec<Member> =
            (0..count).map(|at| Member { ties: ties_of(at).map(|(_, weight)| weight).sum(), ..Member::default() }).collect();
        // Who is tied to nobody with a place begins anew: those with the most ties first.
        let mut first: Vec<u32> = (0..count).collect();
        first.sort_by(|a, b| all[*b as usize].ties.total_cmp(&all[*a as usize].ties));
        let (mut first, mut near) = (first.into_iter(), BinaryHeap::new());
        let (mut left, mut right): (Vec<u32>, Vec<u32>) = (Vec::new(), Vec::new());
        while left.len() + right.len() < members.len() {
            let Some(next) = next(&mut near, &mut first, &all) else { break };
            let member = &mut all[next as usize];
            member.has_place = true;
            let middle = (right.len() as f64 - left.len() as f64) / 2.0;
            let place = if member.placed > 0.0 && member.moment / member.placed < middle {
                left.push(next);
                -(left.len() as f64)
            } else {
                right.push(next);
                right.len() as f64
            };
            for (other, weight) in ties_of(next) {
                let member = &mut all[other as usize];
                if !member.has_place {
                    member.placed += weight;
                    member.moment += weight * place;
                    near.push(Candidate { share: member.placed / member.ties, member: other });
                }
            }
        }
        left.into_iter().rev().chain(right).collect()
    }
}

/// The member that is most tied to those with a place. Candidates whose ties have grown since are passed over.
fn next(near: &mut BinaryHeap<Candidate>, first: &mut impl Iterator<Item = u32>, all: &[Member]) -> Option<u32> {
    while let Some(Candidate { share, member }) = near.pop() {
        let now = &all[member as usize];
        if !now.has_place && share == now.placed / now.ties {
            return Some(member);
        }
    }
    first.find(|member| !all[*member as usize].has_place)
}
