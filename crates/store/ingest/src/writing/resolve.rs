//! Finds the vertices of external ids, in bulk and in bounded memory.
//!
//! A table in memory holds the ids of this load's vertices, up to a limit. Ids that the table lacks are looked up in the graph, in
//! batches. This lookup is skipped while the table holds every vertex of the graph.

use std::hash::BuildHasher;

use hashbrown::{DefaultHashBuilder, HashMap, HashTable};
use mangrove_graph::{ExternalId, GraphWrite, IdSpace, LabelId, Result, Uuid, VertexId};

use crate::batches::rows::Ids;

const TEXT_BYTES_MAX: usize = 512 << 20;

/// The vertices among which an id is searched.
pub enum Candidates {
    /// Ids are unique in the graph.
    Whole,
    /// Ids are unique within labels. The vertex has one of these labels.
    Labels(Vec<LabelId>),
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Found {
    Nothing,
    One(VertexId),
    /// Vertices of several labels have the id.
    Several,
}

pub struct Resolver {
    space: IdSpace,
    /// One table for all vertices, or one for each label, depending on the id space.
    tables: HashMap<Option<LabelId>, IdTable>,
    entries: usize,
    entries_max: usize,
    /// Bytes of text in all tables.
    text_bytes: usize,
    /// The tables hold every vertex of the graph.
    complete: bool,
}

impl Resolver {
    /// `graph_is_empty` says whether the graph has no vertices yet. Keeps at most `entries_max` ids in memory.
    pub fn new(space: IdSpace, graph_is_empty: bool, entries_max: usize) -> Self {
        Self { space, tables: HashMap::new(), entries: 0, entries_max, text_bytes: 0, complete: graph_is_empty }
    }

    pub fn space(&self) -> IdSpace {
        self.space
    }

    fn key(&self, label: LabelId) -> Option<LabelId> {
        (self.space == IdSpace::Label).then_some(label)
    }

    /// Remembers new vertices of `label` if there is room.
    pub fn insert(&mut self, label: LabelId, ids: &[Option<ExternalId>], vertices: &[VertexId]) {
        if self.entries + ids.len() > self.entries_max || self.text_bytes > TEXT_BYTES_MAX {
            self.complete = false;
            return;
        }
        let table = self.tables.entry(self.key(label)).or_default();
        let before = table.text.len();
        for (id, vertex) in ids.iter().zip(vertices) {
            if let Some(id) = id {
                table.insert(id, *vertex);
            }
        }
        self.entries += ids.len();
        self.text_bytes += table.text.len() - before;
    }

    /// Appends the vertex that each id names to `out`.
    pub fn resolve(&self, graph: &dyn GraphWrite, ids: &Ids, candidates: &Candidates, out: &mut Vec<Found>) -> Result<()> {
        let base = out.len();
        match candidates {
            Candidates::Whole => self.look_up(None, ids, out),
            Candidates::Labels(labels) => {
                out.resize(base + ids.len(), Found::Nothing);
                let mut hits = Vec::new();
                for label in labels {
                    hits.clear();
                    self.look_up(Some(*label), ids, &mut hits);
                    out[base..].iter_mut().zip(&hits).for_each(|(found, hit)| *found = found.and(*hit));
                }
            }
        }
        if !self.complete {
            match candidates {
                Candidates::Whole => ask_graph(graph, None, ids, &mut out[base..])?,
                Candidates::Labels(labels) => {
                    for label in labels {
                        ask_graph(graph, Some(*label), ids, &mut out[base..])?;
                    }
                }
            }
        }
        Ok(())
    }

    fn look_up(&self, key: Option<LabelId>, ids: &Ids, out: &mut Vec<Found>) {
        let Some(table) = self.tables.get(&key) else {
            out.resize(out.len() + ids.len(), Found::Nothing);
            return;
        };
        let found = |vertex: Option<VertexId>| vertex.map_or(Found::Nothing, Found::One);
        match ids {
            Ids::Ints(ids) => out.extend(ids.iter().map(|id| found(table.int(*id)))),
            Ids::Strings(ids) => out.extend(ids.iter().map(|id| found(table.string(id.unwrap_or_default())))),
            Ids::Any(ids) => out.extend(ids.iter().map(|id| found(table.get(id)))),
        }
    }
}

impl Found {
    fn and(self, other: Found) -> Found {
        match (self, other) {
            (Found::Nothing, other) => other,
            (found, Found::Nothing) => found,
            (Found::One(a), Found::One(b)) if a == b => self,
            _ => Found::Several,
        }
    }
}

/// Looks up the ids not found so far in the graph.
fn ask_graph(graph: &dyn GraphWrite, label: Option<LabelId>, ids: &Ids, found: &mut [Found]) -> Result<()> {
    let is_open = |found: &Found| match found {
        Found::Nothing => true,
        Found::One(vertex) => label.is_some_and(|label| label != vertex.label()),
        Found::Several => false,
    };
    let open: Vec<u32> = (0..found.len() as u32).filter(|row| is_open(&found[*row as usize])).collect();
    if open.is_empty() {
        return Ok(());
    }
    let mut missing: Vec<(ExternalId, u32)> = open.into_iter().map(|row| (ids.get(row as usize), row)).collect();
    // A store with many integers to find sorts them faster than a list of ids is sorted.
    if !matches!(ids, Ids::Ints(_)) {
        missing.sort_unstable();
    }
    let mut distinct: Vec<ExternalId> = missing.iter().map(|(id, _)| id.clone()).collect();
    distinct.dedup();
    let mut answers = Vec::with_capacity(distinct.len());
    graph.find_vertices(label, &distinct, &mut answers)?;
    let mut at = 0;
    for (id, row) in missing {
        if distinct[at] != id {
            at += 1;
        }
        if let Some(vertex) = answers[at] {
            let found = &mut found[row as usize];
            *found = found.and(Found::One(vertex));
        }
    }
    Ok(())
}

/// Maps external ids to vertices. Small non-negative integers use a plain vector while it has few holes.
#[derive(Default)]
struct IdTable {
    dense: Vec<Option<Slot>>,
    dense_used: usize,
    ints: HashMap<i64, VertexId>,
    uuids: HashMap<Uuid, VertexId>,
    strings: HashTable<TextEntry>,
    text: Vec<u8>,
    hasher: DefaultHashBuilder,
}

/// A vertex id plus one, so that an `Option` takes no extra bytes.
type Slot = std::num::NonZeroU64;

struct TextEntry {
    start: u64,
    len: u32,
    vertex: VertexId,
}

impl IdTable {
    fn insert(&mut self, id: &ExternalId, vertex: VertexId) {
        match id {
            ExternalId::Int(id) => self.insert_int(*id, vertex),
            ExternalId::Uuid(id) => {
                self.uuids.insert(*id, vertex);
            }
            ExternalId::String(id) => self.insert_string(id, vertex),
        }
    }

    fn insert_int(&mut self, id: i64, vertex: VertexId) {
        let dense_max = 4096.max(self.dense_used.saturating_mul(4));
        match (usize::try_from(id), Slot::new(vertex.0.wrapping_add(1))) {
            (Ok(at), Some(slot)) if at < dense_max => {
                if at >= self.dense.len() {
                    self.dense.resize(at + 1, None);
                }
                self.dense[at] = Some(slot);
                self.dense_used += 1;
            }
            _ => {
                self.ints.insert(id, vertex);
            }
        }
    }

    fn insert_string(&mut self, id: &str, vertex: VertexId) {
        let entry = TextEntry { start: self.text.len() as u64, len: id.len() as u32, vertex };
        self.text.extend_from_slice(id.as_bytes());
        let (hasher, text) = (&self.hasher, &self.text);
        self.strings.insert_unique(hasher.hash_one(id.as_bytes()), entry, |e| hasher.hash_one(e.bytes(text)));
    }

    fn get(&self, id: &ExternalId) -> Option<VertexId> {
        match id {
            ExternalId::Int(id) => self.int(*id),
            ExternalId::Uuid(id) => self.uuids.get(id).copied(),
            ExternalId::String(id) => self.string(id),
        }
    }

    #[inline]
    fn int(&self, id: i64) -> Option<VertexId> {
        let dense = usize::try_from(id).ok().and_then(|at| self.dense.get(at).copied().flatten());
        match dense {
            Some(slot) => Some(VertexId(slot.get() - 1)),
            None => self.ints.get(&id).copied(),
        }
    }

    fn string(&self, id: &str) -> Option<VertexId> {
        let hash = self.hasher.hash_one(id.as_bytes());
        self.strings.find(hash, |e| e.bytes(&self.text) == id.as_bytes()).map(|e| e.vertex)
    }
}

impl TextEntry {
    fn bytes<'t>(&self, text: &'t [u8]) -> &'t [u8] {
        &text[self.start as usize..self.start as usize + self.len as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_id_is_found_again_and_no_other() {
        let mut table = IdTable::default();
        let mut ids: Vec<ExternalId> = (0..20_000).map(|i| ExternalId::Int((i * 7919) % 50_000 - 100)).collect();
        ids.extend((0..1000).map(|i| ExternalId::from(&*format!("v{i}"))));
        ids.extend((0..10).map(|i| ExternalId::Uuid(Uuid::from_u128(i))));
        ids.sort();
        ids.dedup();
        for (at, id) in ids.iter().enumerate() {
            table.insert(id, VertexId(at as u64));
        }
        assert!(table.dense_used > 1000 && !table.ints.is_empty());
        for (at, id) in ids.iter().enumerate() {
            assert_eq!(table.get(id), Some(VertexId(at as u64)), "{id}");
        }
        assert_eq!(table.get(&ExternalId::Int(-5000)), None);
        assert_eq!(table.get(&ExternalId::from("v1000")), None);
    }
}
