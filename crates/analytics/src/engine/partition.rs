//! A part of the vertices, and where the values that they read lie.

use std::borrow::Cow;
use std::ops::Range;

use rayon::prelude::*;

use super::placement::Placement;
use super::program::Vertex;
use super::transport::{Frame, Report, Transport};
use super::value::{read_all, write_all};
use crate::error::{AnalyticsError, Result};
use crate::project::Adjacent;
use crate::run::Run;

/// Edges and vertices that a thread takes at a time.
pub(super) const CHUNK: u64 = 1 << 14;

/// The vertices of a partition. Values lie in slots: first those of its own vertices, then those of others that it reads.
pub struct Partition<'e> {
    /// Its number among all partitions.
    pub at: u32,
    /// The numbers of its vertices among all, in order.
    pub numbers: Vec<u32>,
    /// The slots that each vertex reads, and the weights of the edges.
    pub reads: Cow<'e, Adjacent>,
    /// For each vertex, the number of its outgoing edges, or the sum of their weights.
    pub out_degrees: Cow<'e, [f64]>,
    /// Vertices that a thread takes at a time.
    pub chunks: Vec<Range<usize>>,
    /// Where the values from each other partition lie.
    pub remote: Vec<Range<usize>>,
    /// For each other partition, which of its own values it reads, in the order in which they are sent.
    pub publishes: Vec<Vec<u32>>,
}

impl Partition<'_> {
    /// One of its vertices.
    #[inline]
    pub fn vertex(&self, place: usize) -> Vertex {
        Vertex { number: self.numbers[place], out_degree: self.out_degrees[place] }
    }

    /// The number of slots.
    pub fn slots(&self) -> usize {
        self.remote.last().map_or(self.numbers.len(), |last| last.end)
    }
}

/// Shares the vertices among partitions of this process, which tell each other what they read. Edges lead from those that are read to
/// those that read, and `out_degrees` has one entry for each vertex. O(vertices + edges·log).
pub fn divide<'e>(
    edges: &'e Adjacent,
    out_degrees: &'e [f64],
    placement: Placement,
    transport: &dyn Transport,
    run: &Run,
) -> Result<Vec<Partition<'e>>> {
    let vertices = edges.vertices();
    let owners: Vec<u32> = (0..vertices as u32).into_par_iter().map(|vertex| placement.owner(vertex)).collect();
    let mut numbers: Vec<Vec<u32>> = vec![Vec::new(); placement.partitions() as usize];
    let mut places = vec![0u32; vertices];
    for (vertex, owner) in owners.iter().enumerate() {
        places[vertex] = numbers[*owner as usize].len() as u32;
        numbers[*owner as usize].push(vertex as u32);
    }
    let whole = Whole { edges, out_degrees, owners: &owners, places: &places, partitions: numbers.len() };
    let found = numbers.into_par_iter().enumerate().map(|(at, numbers)| whole.partition(at as u32, numbers, run));
    let found = found.collect::<Result<Vec<(Partition<'e>, Subscriptions)>>>()?;
    let (mut partitions, subscriptions): (Vec<Partition<'e>>, Vec<Subscriptions>) = found.into_iter().unzip();
    let mut frames = Vec::new();
    for (from, lists) in subscriptions.into_iter().enumerate() {
        for (to, list) in lists.into_iter().enumerate().filter(|(_, list)| !list.is_empty()) {
            let mut bytes = Vec::with_capacity(4 * list.len());
            write_all(list.iter(), &mut bytes);
            frames.push(Frame { from: from as u32, to: to as u32, bytes });
        }
    }
    // What others subscribe to is what a partition publishes to them.
    for frame in transport.exchange(frames, Report::default())?.0 {
        let wrong = || AnalyticsError::invalid("a partition asks for vertices that are not there");
        let list: Vec<u32> = read_all(&frame.bytes, frame.bytes.len() / 4).ok_or_else(wrong)?;
        let publisher = partitions.get_mut(frame.to as usize).ok_or_else(wrong)?;
        if list.iter().any(|place| *place as usize >= publisher.numbers.len()) {
            return Err(wrong());
        }
        publisher.publishes[frame.from as usize] = list;
    }
    Ok(partitions)
}

/// For each other partition, the places there of the vertices that one reads.
type Subscriptions = Vec<Vec<u32>>;

/// All edges, and who owns the vertices.
struct Whole<'a, 'e> {
    edges: &'e Adjacent,
    out_degrees: &'e [f64],
    owners: &'a [u32],
    /// The place of each vertex among those of its partition.
    places: &'a [u32],
    partitions: usize,
}

impl<'e> Whole<'_, 'e> {
    /// A partition, and what it subscribes to.
    fn partition(&self, at: u32, numbers: Vec<u32>, run: &Run) -> Result<(Partition<'e>, Subscriptions)> {
        run.advance(0)?;
        let others = numbers.iter().flat_map(|vertex| self.edges.of(*vertex as usize));
        let mut read: Vec<u32> = others.copied().filter(|other| self.owners[*other as usize] != at).collect();
        read.sort_unstable();
        read.dedup();
        let mut lists: Vec<Vec<u32>> = vec![Vec::new(); self.partitions];
        read.iter().for_each(|other| lists[self.owners[*other as usize] as usize].push(*other));
        let mut end = numbers.len();
        let remote: Vec<Range<usize>> = lists
            .iter()
            .map(|list| {
                end += list.len();
                end - list.len()..end
            })
            .collect();
        let slot = |other: u32| {
            let owner = self.owners[other as usize];
            if owner == at {
                return self.places[other as usize];
            }
            let place = lists[owner as usize].binary_search(&other).unwrap_or_default();
            (remote[owner as usize].start + place) as u32
        };
        // The only partition reads the edges where they are.
        let (reads, out_degrees) = match self.partitions {
            1 => (Cow::Borrowed(self.edges), Cow::Borrowed(self.out_degrees)),
            _ => {
                let own = numbers.iter().map(|vertex| self.out_degrees[*vertex as usize]).collect();
                (Cow::Owned(self.edges.part(&numbers, slot, run)?), Cow::Owned(own))
            }
        };
        let chunks = reads.chunks(CHUNK);
        let subscriptions =
            lists.iter().map(|list| list.iter().map(|other| self.places[*other as usize]).collect()).collect();
        let publishes = vec![Vec::new(); self.partitions];
        Ok((Partition { at, numbers, reads, out_degrees, chunks, remote, publishes }, subscriptions))
    }
}
