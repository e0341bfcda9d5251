//! The layers that a new segment is made of: the tables, some segments next to each other in age, or both.
//!
//! For every cell, the new segment takes the newest version that a layer has. Lists of edges are joined from all layers.
//! Removed elements are left out.

mod cells;
mod index;

use std::collections::{BTreeMap, BTreeSet};
use std::iter::Peekable;
use std::ops::{Bound, Range};
use std::sync::Arc;

use heed::RoRange;
use heed::types::Bytes;
use mangrove_graph::{EdgeRef, ElementKind, GraphError, LabelId, Result, VertexId};
use mangrove_segment::adjacency::{self, Lists};
use mangrove_segment::column::POSITIONS;
use mangrove_segment::keys::KeysOfChunks;
use mangrove_segment::names;

use crate::format::adjacency::{AdjacencyBlock, EdgeEntry};
use crate::format::block::{Block, SLOTS, slots};
use crate::format::key::{AdjacencyKey, Column, KINDS, element_at, place, vertex_at};
use crate::format::keys::is_wide;
use crate::format::walk::Pair;
use crate::lmdb::table::Table;
use crate::read::{Reader, columns, external, labels};
use crate::segments::sealing::Sealing;
use crate::segments::segment::{BLOCKS, CHUNK, Contents, Segment};
use crate::system::fault::lmdb;

/// The layers of one new segment.
pub struct Layers<'t> {
    pub reader: Reader<'t>,
    /// Oldest first.
    pub segments: &'t [Arc<Segment>],
    /// Whether the tables are a layer.
    pub tables: bool,
    /// The places that will be the new segment's own.
    pub contents: Contents,
    pub cancelled: &'t dyn Fn() -> bool,
}

/// How many chunks of names are held in memory at once. A chunk has about 65,536 names.
const NAME_CHUNKS: usize = if cfg!(test) { 1 } else { 128 };

/// The rest of a walk through blocks of edges; `None` if the tables are not sealed.
type Linked<'t> = Option<Peekable<RoRange<'t, Bytes, Bytes>>>;
type Row<'t> = heed::Result<Pair<'t>>;

/// The lists of one chunk and one edge label, as far as they are joined.
#[derive(Default)]
struct Joined<'t> {
    /// Oldest segment first.
    sealed: Vec<&'t Lists<'t>>,
    /// Where the list of each vertex ends.
    ends: Vec<u32>,
    edges: Vec<adjacency::Entry>,
    /// The edges of the current vertex, and where those of each segment begin.
    entries: Vec<EdgeEntry>,
    runs: Vec<usize>,
}

/// The outgoing lists of the new segment whose edge places are consecutive: labels of the vertices and of the edges, and the chunk of
/// vertices. They tell where the edges at these places lead.
#[derive(Default)]
struct Listed(BTreeMap<(LabelId, LabelId, u64), Range<u64>>);

impl Listed {
    fn add(&mut self, lists: (LabelId, LabelId, u64), edges: &[adjacency::Entry]) {
        let first = edges.first().map_or(0, |entry| entry.edge);
        if edges.iter().zip(first..).all(|(entry, place)| entry.edge == place) {
            self.0.insert(lists, first..first + edges.len() as u64);
        }
    }

    fn has(&self, edge: &EdgeRef) -> bool {
        let lists = (edge.source.label(), edge.id.label(), place(edge.source.0) / CHUNK);
        self.0.get(&lists).is_some_and(|places| places.contains(&place(edge.id.0)))
    }
}

/// How many vertices are joined between two looks whether to go on.
const POSITIONS_A_LOOK: usize = 4096;

impl<'t> Layers<'t> {
    /// Writes the new segment. O(size of the layers). Memory holds a few chunks: their cells, or the edges of their
    /// vertices.
    ///
    /// # Errors
    /// [`GraphError::Cancelled`], and those of reading and writing.
    pub fn write(&self, mut sealing: Sealing) -> Result<()> {
        let mut listed = Listed::default();
        for outgoing in [true, false] {
            for vertices in labels(&self.reader, ElementKind::Vertex) {
                for chunk in self.list_chunks(outgoing, vertices)? {
                    self.lists(&mut sealing, outgoing, vertices, chunk, &mut listed)?;
                }
            }
        }
        for kind in KINDS {
            let mut named = 0;
            for label in labels(&self.reader, kind) {
                let mut keys = is_wide(self.reader.schema, kind, label).then(KeysOfChunks::default);
                for column in columns(&self.reader, kind, label) {
                    let cells = self.column(&mut sealing, column, &mut keys, &listed)?;
                    let is_of_names = column == Column::external(kind, label) && self.reader.sides.names(kind, label);
                    named += if is_of_names { cells } else { 0 };
                }
                for (chunk, keys) in keys.into_iter().flatten() {
                    sealing.keys(kind, label, chunk, keys)?;
                }
            }
            self.names(&mut sealing, kind, named)?;
        }
        for index in &self.reader.schema.indexes {
            self.index(&mut sealing, index.of)?;
        }
        sealing.finish()
    }

    /// Fails if the work was cancelled.
    fn check(&self) -> Result<()> {
        if (self.cancelled)() { Err(GraphError::Cancelled) } else { Ok(()) }
    }

    fn end(&self, kind: ElementKind, label: LabelId) -> u64 {
        self.contents.places(kind, label).end
    }

    fn positions(&self, kind: ElementKind, label: LabelId, chunk: u64) -> usize {
        usize::try_from(self.end(kind, label).saturating_sub(chunk * CHUNK)).unwrap_or(usize::MAX).min(POSITIONS)
    }

    /// The chunks of a column in which a layer has anything.
    fn column_chunks(&self, column: Column) -> Result<BTreeSet<u64>> {
        let mut chunks: BTreeSet<u64> = self.segments.iter().flat_map(|segment| segment.column_chunks(column)).collect();
        let table = self.reader.tables.columns;
        let first = |chunk: u64| column.key(chunk * BLOCKS).to_vec();
        let chunk_of = |key: &[u8]| -> Result<Option<u64>> {
            let (of, block) = Column::parse(key.get(..12).unwrap_or(key))?;
            Ok((of == column).then_some(block / BLOCKS))
        };
        self.table_chunks(table, first, chunk_of, &mut chunks)?;
        chunks.retain(|chunk| chunk * CHUNK < self.end(column.kind, column.label));
        Ok(chunks)
    }

    /// Adds the chunks in which a table has rows. `first` gives the first key of a chunk. `chunk_of` gives the chunk of a
    /// key, or `None` if the key is behind all chunks.
    fn table_chunks(
        &self,
        table: Table,
        first: impl Fn(u64) -> Vec<u8>,
        chunk_of: impl Fn(&[u8]) -> Result<Option<u64>>,
        out: &mut BTreeSet<u64>,
    ) -> Result<()> {
        let mut next = Some(0).filter(|_| self.tables);
        while let Some(chunk) = next {
            let found = table.get_greater_than_or_equal_to(self.reader.txn, &first(chunk)).map_err(lmdb)?;
            let chunk = found.map_or(Ok(None), |(key, _)| chunk_of(key))?;
            out.extend(chunk);
            next = chunk.map(|chunk| chunk + 1);
        }
        Ok(())
    }

    /// What all layers together have of a block: the slots they decide, and the cells.
    fn block(&self, column: Column, block: u64) -> Result<(u128, Option<Block<'t>>)> {
        let is_left_over = column.is_fixed() && self.reader.is_covered(column, block);
        let is_in_tables = self.tables && !is_left_over;
        let found = if is_in_tables { self.reader.table_block(column, block)? } else { None };
        self.reader.over_segments(found, self.segments, column, block, false)
    }

    /// The blocks of a chunk: the position of each, the slots that the layers decide, and the cells.
    fn blocks(&self, column: Column, chunk: u64) -> impl Iterator<Item = Result<(usize, u128, Option<Block<'t>>)>> {
        let blocks = self.positions(column.kind, column.label, chunk).div_ceil(SLOTS);
        (0..blocks).map(move |at| {
            let (said, cells) = self.block(column, chunk * BLOCKS + at as u64)?;
            Ok((at * SLOTS, said, cells))
        })
    }

    /// Seals the `total` names of a kind in the order of their hashes. Each pass gathers as many chunks of names as memory
    /// is to hold.
    fn names(&self, sealing: &mut Sealing, kind: ElementKind, total: u64) -> Result<()> {
        if total == 0 {
            return Ok(());
        }
        let bits = names::chunk_bits(total);
        for first in (0..1u64 << bits).step_by(NAME_CHUNKS) {
            let mut found = Vec::new();
            for label in labels(&self.reader, kind).filter(|label| self.reader.sides.names(kind, *label)) {
                self.names_of(Column::external(kind, label), |name| {
                    let chunk = names::chunk_of(name.0, bits);
                    found.extend((first..first + NAME_CHUNKS as u64).contains(&chunk).then_some(name));
                })?;
            }
            sealing.names(kind, bits, found)?;
        }
        Ok(())
    }

    /// Calls `f` with the hash of every name in a column, and the raw id of its element.
    fn names_of(&self, column: Column, mut f: impl FnMut((u64, u64))) -> Result<()> {
        for chunk in self.column_chunks(column)? {
            self.check()?;
            for block in self.blocks(column, chunk) {
                let (first, _, Some(cells)) = block? else { continue };
                for slot in slots(cells.present) {
                    if let Some(id) = external(cells.cell(slot)?)? {
                        let at = chunk * CHUNK + (first + slot) as u64;
                        f((names::hash(&id), element_at(column.kind, column.label, at).raw()));
                    }
                }
            }
        }
        Ok(())
    }

    /// The chunks in which a layer has edges of vertices of a label.
    fn list_chunks(&self, outgoing: bool, vertices: LabelId) -> Result<BTreeSet<u64>> {
        let mut chunks = BTreeSet::new();
        for edges in labels(&self.reader, ElementKind::Edge) {
            chunks.extend(self.segments.iter().flat_map(|segment| segment.list_chunks(outgoing, vertices, edges)));
        }
        let table = if outgoing { self.reader.tables.out } else { self.reader.tables.incoming };
        let first = |chunk: u64| vertex_at(vertices, chunk * CHUNK).0.to_be_bytes().to_vec();
        let chunk_of = |key: &[u8]| -> Result<Option<u64>> {
            let vertex = AdjacencyKey::parse(key)?.vertex;
            Ok((vertex.label() == vertices).then(|| place(vertex.0) / CHUNK))
        };
        self.table_chunks(table, first, chunk_of, &mut chunks)?;
        chunks.retain(|chunk| chunk * CHUNK < self.end(ElementKind::Vertex, vertices));
        Ok(chunks)
    }

    /// Seals the edges of one direction of the vertices of a chunk, with 16 to 32 bytes of memory for each edge. If the
    /// tables are a layer, it holds the edges of all labels at once, because the tables have edges by vertex. Otherwise it
    /// holds one label at a time.
    fn lists(
        &self,
        sealing: &mut Sealing,
        outgoing: bool,
        vertices: LabelId,
        chunk: u64,
        listed: &mut Listed,
    ) -> Result<()> {
        let mut all = BTreeMap::new();
        for edges in labels(&self.reader, ElementKind::Edge) {
            let mut sealed = Vec::new();
            for segment in self.segments {
                sealed.extend(segment.lists(outgoing, vertices, edges, chunk)?);
            }
            if !sealed.is_empty() {
                all.insert(edges, Joined { sealed, ..Joined::default() });
            }
        }
        if self.tables {
            return self.join_all(sealing, outgoing, vertices, chunk, all, listed);
        }
        let mut join = |one| self.join_all(sealing, outgoing, vertices, chunk, BTreeMap::from([one]), listed);
        all.into_iter().try_for_each(&mut join)
    }

    fn join_all(
        &self,
        sealing: &mut Sealing,
        outgoing: bool,
        vertices: LabelId,
        chunk: u64,
        mut joined: BTreeMap<LabelId, Joined<'t>>,
        listed: &mut Listed,
    ) -> Result<()> {
        joined.values_mut().for_each(|joined| joined.edges.reserve(joined.sealed.iter().map(|lists| lists.len()).sum()));
        let positions = self.positions(ElementKind::Vertex, vertices, chunk);
        let mut in_tables = self.linked(outgoing, vertices, chunk, positions)?;
        let mut new: BTreeMap<LabelId, Vec<EdgeEntry>> = BTreeMap::new();
        for position in 0..positions {
            if position % POSITIONS_A_LOOK == 0 {
                self.check()?;
            }
            self.linked_of(&mut in_tables, vertex_at(vertices, chunk * CHUNK + position as u64), &mut new)?;
            for label in new.keys() {
                joined.entry(*label).or_default();
            }
            for (label, joined) in &mut joined {
                self.join(*label, joined, new.entry(*label).or_default(), position)?;
            }
        }
        for (edges, mut joined) in joined {
            if !joined.edges.is_empty() {
                joined.ends.resize(positions, joined.edges.len() as u32);
                if outgoing {
                    listed.add((vertices, edges, chunk), &joined.edges);
                }
                sealing.lists(outgoing, vertices, edges, chunk, joined.ends, joined.edges)?;
            }
        }
        Ok(())
    }

    /// Appends the list of a vertex. `new` has the edges of the tables, and is empty afterwards.
    fn join(&self, label: LabelId, joined: &mut Joined<'t>, new: &mut Vec<EdgeEntry>, position: usize) -> Result<()> {
        let Joined { sealed, entries, runs, ends, edges } = joined;
        runs.clear();
        for lists in sealed.iter() {
            runs.push(entries.len());
            self.reader.living(lists, position, label, entries)?;
        }
        let in_segments = entries.len();
        entries.append(new);
        self.reader.put_in_order(label, entries, in_segments, runs)?;
        // A label that is met late has no edges of the vertices before.
        ends.resize(position, edges.len() as u32);
        edges.extend(entries.drain(..).map(|entry| adjacency::Entry { neighbor: entry.neighbor, edge: entry.edge }));
        ends.push(u32::try_from(edges.len()).map_err(|_| too_many_edges())?);
        Ok(())
    }

    /// A walk through the edges that the tables have of the vertices of a chunk.
    fn linked(&self, outgoing: bool, vertices: LabelId, chunk: u64, positions: usize) -> Result<Linked<'t>> {
        if !self.tables {
            return Ok(None);
        }
        let table = if outgoing { self.reader.tables.out } else { self.reader.tables.incoming };
        let at = |position: usize| vertex_at(vertices, chunk * CHUNK + position as u64).0.to_be_bytes();
        let range = (Bound::Included(&at(0)[..]), Bound::Excluded(&at(positions)[..]));
        Ok(Some(table.range(self.reader.txn, &range).map_err(lmdb)?.peekable()))
    }

    /// Appends those edges of a vertex in the tables that are to be sealed. The walk stands at the vertex, or beyond.
    fn linked_of(
        &self,
        linked: &mut Linked<'t>,
        vertex: VertexId,
        out: &mut BTreeMap<LabelId, Vec<EdgeEntry>>,
    ) -> Result<()> {
        let Some(walk) = linked else { return Ok(()) };
        let is_of = |row: &Row<'t>| row.as_ref().map_or(true, |(key, _)| key.starts_with(&vertex.0.to_be_bytes()));
        while let Some(row) = walk.next_if(is_of) {
            let (key, value) = row.map_err(lmdb)?;
            let label = AdjacencyKey::parse(key)?.label;
            let block = AdjacencyBlock::parse(key, value)?;
            let wanted = self.reader.segments.end(ElementKind::Edge, label)..self.end(ElementKind::Edge, label);
            let entries = (0..block.len()).map(|at| block.entry(at)).filter(|entry| wanted.contains(&entry.edge));
            out.entry(label).or_default().extend(entries);
        }
        Ok(())
    }
}

fn too_many_edges() -> GraphError {
    let what = format!("too many edges of one label at {POSITIONS} consecutive vertices to seal");
    GraphError::Limit { what, limit: u32::MAX.into() }
}

#[cfg(test)]
mod tests {
    use mangrove_graph::{ExternalId, GraphWrite};

    use super::*;
    use mangrove_segment::file::Identity;

    use crate::options::{Durability, HotOptions};
    use crate::segments::segment::{Segments, path};
    use crate::store::Hot;

    /// More names than a chunk holds, gathered one chunk at a time.
    #[test]
    fn names_that_are_gathered_in_parts_are_all_found() {
        const NAMED: i64 = 70_000;
        let directory = tempfile::tempdir().expect("a temporary directory");
        let options = HotOptions { durability: Durability::Relaxed, ..HotOptions::default() };
        let hot = Hot::open(directory.path(), &options).expect("a store");
        let mut t = hot.begin().expect("a transaction");
        let label = t.ensure_label(ElementKind::Vertex, "person").expect("a label");
        let ids: Vec<_> = (0..NAMED).map(|id| Some(ExternalId::Int(id * 31))).collect();
        let mut made = Vec::new();
        t.add_vertices(label, &ids, &mut made).expect("vertices");
        let places = BTreeMap::from([((ElementKind::Vertex, label), 0..(NAMED as u64).next_multiple_of(SLOTS as u64))]);
        let contents = Contents::new(places);
        let sealing = Sealing::create(&path(directory.path(), 1), Identity::default(), contents.clone(), 0).expect("a file");
        let layers = Layers { reader: t.reader(), segments: &[], tables: true, contents, cancelled: &|| false };
        layers.write(sealing).expect("a segment");
        let segments = Segments::new(vec![Arc::new(Segment::found(directory.path(), 1).expect("a segment"))]);
        for (id, vertex) in ids.iter().flatten().zip(&made) {
            let found = segments.find(ElementKind::Vertex, id, |raw| Ok(raw == vertex.0)).expect("a look");
            assert_eq!(found, Some(vertex.0), "{id}");
        }
    }
}
