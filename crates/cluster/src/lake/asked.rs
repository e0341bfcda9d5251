//! The nodes for one call, without those that do not answer.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use hashbrown::HashMap;
use mangrove_graph::{GraphError, ReadContext, Result};

use super::owners::owner;
use crate::at_once::each_at_once;
use crate::gateway::{Limits, Peer};
use crate::remote::Line;
use crate::split::Split;
use crate::wire::{Answer, Ask, Call, Chunk, LakeRange, Reply, damaged};

/// The nodes of a lake.
pub trait LakeNodes: Send + Sync {
    /// Those that are connected and answered when they were asked last, each once.
    ///
    /// # Errors
    /// [`GraphError::Unavailable`] if there are none.
    fn there(&self) -> Result<Vec<NodeThere>>;

    /// A node did not answer. It is left out for a while.
    fn missed(&self, node: &NodeThere);
}

/// A node that can be asked.
#[derive(Clone)]
pub struct NodeThere {
    pub name: Arc<str>,
    pub peer: Arc<dyn Peer>,
}

/// What leads to the files of a lake, at one node.
#[derive(Clone)]
pub struct LakeLine {
    peer: Arc<dyn Peer>,
    fingerprint: u128,
    /// What scans visit; `None` for all.
    within: Option<LakeRange>,
    limits: Limits,
    /// Whether another node could be asked.
    has_others: bool,
}

impl Line for LakeLine {
    fn ask(&self, ask: &Ask) -> Result<Answer> {
        let limits = self.limits.get();
        limits.as_ref().map_or(Ok(()), ReadContext::begin)?;
        let left = limits.as_ref().and_then(|limits| limits.deadline);
        let left = left.map(|deadline| deadline.saturating_duration_since(Instant::now()));
        let call = Call::AskLake { fingerprint: self.fingerprint, left, within: self.within.clone(), ask: ask.clone() };
        match asked(&*self.peer, &call, limits.as_ref(), self.has_others)? {
            Reply::Answer(answer) => Ok(answer),
            _ => Err(damaged("an answer")),
        }
    }

    fn for_another_thread(&self) -> Self {
        Self { limits: self.limits.for_another_thread(), ..self.clone() }
    }
}

/// Asks a node, and gives up soon if it seems to be frozen and another one could answer.
fn asked(peer: &dyn Peer, call: &Call, limits: Option<&ReadContext>, has_others: bool) -> Result<Reply> {
    match has_others {
        true => peer.call_or_give_up(call, limits),
        false => peer.call(call, limits),
    }
}

/// The nodes for one call.
pub struct Asked<'n> {
    nodes: &'n dyn LakeNodes,
    /// That of the files.
    fingerprint: u128,
    limits: &'n Limits,
    there: Vec<NodeThere>,
    is_gone: Vec<AtomicBool>,
}

impl<'n> Asked<'n> {
    pub fn new(nodes: &'n dyn LakeNodes, fingerprint: u128, limits: &'n Limits) -> Result<Self> {
        let there = nodes.there()?;
        let is_gone = there.iter().map(|_| AtomicBool::new(false)).collect();
        Ok(Self { nodes, fingerprint, limits, there, is_gone })
    }

    fn is_there(&self, at: usize) -> bool {
        !self.is_gone[at].load(Ordering::Relaxed)
    }

    /// The node of a chunk, by its place.
    fn owner(&self, chunk: &Chunk) -> Option<usize> {
        let left: Vec<usize> = (0..self.there.len()).filter(|at| self.is_there(*at)).collect();
        owner(left.iter().map(|at| &*self.there[*at].name), chunk).map(|at| left[at])
    }

    fn lose(&self, at: usize, why: &GraphError) {
        tracing::debug!(node = &*self.there[at].name, %why, "another node is asked");
        self.is_gone[at].store(true, Ordering::Relaxed);
        self.nodes.missed(&self.there[at]);
    }

    /// The way to the files through a node.
    fn line(&self, at: usize, within: Option<LakeRange>) -> LakeLine {
        let has_others = (0..self.there.len()).any(|other| other != at && self.is_there(other));
        let (peer, limits) = (self.there[at].peer.clone(), self.limits.clone());
        LakeLine { peer, fingerprint: self.fingerprint, within, limits, has_others }
    }

    /// Calls `f` with the node of a chunk. If it does not answer, the next one in order of weight is asked.
    pub fn one<T>(&self, chunk: &Chunk, within: Option<&LakeRange>, f: impl Fn(LakeLine) -> Result<T>) -> Result<T> {
        let mut why = None;
        while let Some(at) = self.owner(chunk) {
            match f(self.line(at, within.cloned())) {
                Err(error @ GraphError::Unavailable(_)) => {
                    self.lose(at, &error);
                    why = Some(error);
                }
                outcome => return outcome,
            }
        }
        Err(nobody(why))
    }

    /// Calls `f` for the node of each row, with all rows of that node, at the same time. The rows of a node that does not answer go to the next
    /// ones.
    pub fn batch<T: Send>(
        &self,
        chunks: &[Chunk],
        f: impl Fn(LakeLine, &[u32]) -> Result<T> + Sync,
    ) -> Result<(Split, Vec<T>)> {
        let (mut parts, mut answers) = (Vec::new(), Vec::new());
        let (mut left, mut why): (Vec<u32>, _) = ((0..chunks.len() as u32).collect(), None);
        while !left.is_empty() {
            let Some(groups) = self.by_owner(chunks, &left) else { return Err(nobody(why)) };
            left.clear();
            let outcomes = each_at_once(groups, |(at, rows)| {
                let outcome = f(self.line(at, None), &rows);
                Ok((at, rows, outcome))
            });
            for told in outcomes {
                match told? {
                    (at, rows, Ok(answer)) => {
                        parts.push((at as u16, rows));
                        answers.push(answer);
                    }
                    (at, rows, Err(error @ GraphError::Unavailable(_))) => {
                        self.lose(at, &error);
                        left.extend(rows);
                        why = Some(error);
                    }
                    (.., Err(error)) => return Err(error),
                }
            }
            left.sort_unstable();
        }
        Ok((Split::of_parts(parts), answers))
    }

    /// Rows by the nodes of their chunks; `None` if there are no nodes.
    fn by_owner(&self, chunks: &[Chunk], rows: &[u32]) -> Option<Vec<(usize, Vec<u32>)>> {
        let mut groups: Vec<(usize, Vec<u32>)> = Vec::new();
        let mut known: HashMap<Chunk, usize> = HashMap::new();
        for row in rows {
            let chunk = &chunks[*row as usize];
            let group = match known.get(chunk) {
                Some(group) => *group,
                None => {
                    let at = self.owner(chunk)?;
                    let group = groups.iter().position(|(of, _)| *of == at).unwrap_or(groups.len());
                    if group == groups.len() {
                        groups.push((at, Vec::new()));
                    }
                    known.insert(*chunk, group);
                    group
                }
            };
            groups[group].1.push(*row);
        }
        Some(groups)
    }
}

/// Why no node answers: what the last one said.
fn nobody(why: Option<GraphError>) -> GraphError {
    GraphError::Unavailable(match why {
        Some(GraphError::Unavailable(why)) => format!("no node of the lake answers: {why}"),
        _ => "no node of the lake answers".into(),
    })
}
