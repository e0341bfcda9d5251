//! The partition of a process that has a part of the graph.
//!
//! ```text
//!   1  each part tells the others which of their vertices its edges lead from, by ids
//!   2  they answer which of these are chosen, and note what they publish
//!   3  each part adds up the edges that it has seen of the others' vertices, if their out-degrees matter
//! ```

use std::borrow::Cow;
use std::ops::Range;

use mangrove_graph::VertexId;
use rayon::prelude::*;

use super::partition::{CHUNK, Partition};
use super::transport::{Frame, Report, Transport};
use super::value::{read_all, write_all};
use crate::error::{AnalyticsError, Result};
use crate::project::{Adjacent, ListBatch, PartLists, Places};
use crate::run::Run;

/// So many vertices of another part may be listed twice.
const STRANGERS: usize = 1 << 16;

/// Which part of a graph a process has.
pub struct PartOf<'a> {
    /// The number of the part, of so many.
    pub at: u32,
    pub parts: usize,
    /// The part of each shard.
    pub owners: &'a [u32],
    /// The numbers of its vertices among all, in order.
    pub numbers: Vec<u32>,
    pub out_degrees: OutDegrees,
}

/// How out-degrees become known.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum OutDegrees {
    /// They do not matter.
    Zero,
    /// They are the sums of the vertices' own lists.
    Listed,
    /// They are the sums of all lists in which a vertex is.
    Everywhere,
}

impl PartOf<'_> {
    /// Makes the partition of what was read. All parts do so at the same time. O(edges·log vertices).
    ///
    /// # Errors
    /// If another part says what makes no sense, or does not answer.
    pub fn joined(self, lists: PartLists, transport: &dyn Transport, run: &Run) -> Result<Partition<'static>> {
        let PartLists { places, batches, has_weights } = lists;
        let own = places.vertices().len();
        if self.numbers.len() != own {
            return Err(AnalyticsError::invalid("a part has other vertices than numbers"));
        }
        let mut subscribed = self.strangers(batches.iter().flat_map(|batch| &batch.others))?;
        let publishes = self.subscribe(&places, &mut subscribed, transport)?;
        let mut end = own;
        let range = |list: &Vec<VertexId>| {
            end += list.len();
            end - list.len()..end
        };
        let remote: Vec<Range<usize>> = subscribed.iter().map(range).collect();
        let slot = |vertex: VertexId| match places.place(vertex) {
            Some(place) => Some(place),
            None => {
                let owner = *self.owners.get(usize::from(vertex.shard()))? as usize;
                subscribed[owner].binary_search(&vertex).ok().map(|at| (remote[owner].start + at) as u32)
            }
        };
        let with_slots = |batch: ListBatch| {
            run.advance(0)?;
            let (mut reads, mut first) = (Adjacent::empty(), 0);
            for degree in batch.degrees {
                let edges = first..first + degree as usize;
                first = edges.end;
                let weight = |at: usize| batch.weights.get(at).copied().unwrap_or(1.0);
                reads.push(edges.filter_map(|at| Some((slot(batch.others[at])?, weight(at)))), has_weights);
            }
            Ok(reads)
        };
        let reads = batches.into_par_iter().map(with_slots).collect::<Result<Vec<_>>>().map(Adjacent::concat)?;
        let out_degrees = self.sums(&reads, own, &remote, &publishes, transport)?;
        let chunks = reads.chunks(CHUNK);
        let (reads, out_degrees) = (Cow::Owned(reads), Cow::Owned(out_degrees));
        Ok(Partition { at: self.at, numbers: self.numbers, reads, out_degrees, chunks, remote, publishes })
    }

    /// The vertices of each other part that edges lead from, in order.
    fn strangers<'v>(&self, others: impl Iterator<Item = &'v VertexId>) -> Result<Vec<Vec<VertexId>>> {
        let mut lists: Vec<Vec<VertexId>> = vec![Vec::new(); self.parts];
        let mut distinct = vec![0; self.parts];
        for other in others {
            let owner = *self.owners.get(usize::from(other.shard())).ok_or_else(strange)? as usize;
            if owner == self.at as usize {
                continue;
            }
            let list = lists.get_mut(owner).ok_or_else(strange)?;
            list.push(*other);
            // What is there twice goes before it takes much room.
            if list.len() >= 2 * distinct[owner] + STRANGERS {
                list.sort_unstable();
                list.dedup();
                distinct[owner] = list.len();
            }
        }
        for list in &mut lists {
            list.sort_unstable();
            list.dedup();
            list.shrink_to_fit();
        }
        Ok(lists)
    }

    /// Tells the others what this part reads, and leaves out what they have not chosen. Returns what they read of this part.
    fn subscribe(
        &self,
        places: &Places,
        subscribed: &mut [Vec<VertexId>],
        transport: &dyn Transport,
    ) -> Result<Vec<Vec<u32>>> {
        let mut frames = Vec::new();
        for (to, list) in subscribed.iter().enumerate().filter(|(_, list)| !list.is_empty()) {
            let (mut bytes, ids): (_, Vec<u64>) = (Vec::with_capacity(8 * list.len()), list.iter().map(|id| id.0).collect());
            write_all(ids.iter(), &mut bytes);
            frames.push(Frame { from: self.at, to: to as u32, bytes });
        }
        let (mut publishes, mut answers) = (vec![Vec::new(); self.parts], Vec::new());
        for frame in transport.exchange(frames, Report::default())?.0 {
            let ids: Vec<u64> = read_all(&frame.bytes, frame.bytes.len() / 8).ok_or_else(strange)?;
            let found: Vec<Option<u32>> = ids.into_iter().map(|id| places.place(VertexId(id))).collect();
            let bytes = found.iter().map(|place| u8::from(place.is_some())).collect();
            answers.push(Frame { from: self.at, to: frame.from, bytes });
            *publishes.get_mut(frame.from as usize).ok_or_else(strange)? = found.into_iter().flatten().collect();
        }
        let mut answered = vec![false; self.parts];
        for frame in transport.exchange(answers, Report::default())?.0 {
            let list = subscribed.get_mut(frame.from as usize).ok_or_else(strange)?;
            if frame.bytes.len() != list.len() {
                return Err(strange());
            }
            let mut chosen = frame.bytes.iter();
            list.retain(|_| chosen.next() == Some(&1));
            answered[frame.from as usize] = true;
        }
        match subscribed.iter().zip(answered).all(|(list, answered)| answered || list.is_empty()) {
            true => Ok(publishes),
            false => Err(strange()),
        }
    }

    /// The out-degrees of the vertices of this part.
    fn sums(
        &self,
        reads: &Adjacent,
        own: usize,
        remote: &[Range<usize>],
        publishes: &[Vec<u32>],
        transport: &dyn Transport,
    ) -> Result<Vec<f64>> {
        match self.out_degrees {
            OutDegrees::Zero => return Ok(vec![0.0; own]),
            OutDegrees::Listed => {
                let sum = |vertex| reads.weighted(vertex).fold(0.0, |sum, (_, weight)| sum + weight);
                return Ok((0..own).map(sum).collect());
            }
            OutDegrees::Everywhere => {}
        }
        let mut sums = vec![0.0; remote.last().map_or(own, |last| last.end)];
        for vertex in 0..own {
            reads.weighted(vertex).for_each(|(slot, weight)| sums[slot as usize] += weight);
        }
        let mut frames = Vec::new();
        for (to, slots) in remote.iter().enumerate().filter(|(_, slots)| !slots.is_empty()) {
            let mut bytes = Vec::with_capacity(8 * slots.len());
            write_all(sums[slots.clone()].iter(), &mut bytes);
            frames.push(Frame { from: self.at, to: to as u32, bytes });
        }
        sums.truncate(own);
        for frame in transport.exchange(frames, Report::default())?.0 {
            let list = publishes.get(frame.from as usize).ok_or_else(strange)?;
            let seen: Vec<f64> = read_all(&frame.bytes, list.len()).ok_or_else(strange)?;
            list.iter().zip(seen).for_each(|(place, sum)| sums[*place as usize] += sum);
        }
        Ok(sums)
    }
}

fn strange() -> AnalyticsError {
    AnalyticsError::invalid("a part of the graph says something else than was asked")
}
