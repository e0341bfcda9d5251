//! Follows edges: the sealed ones, and those in the tables.

use std::sync::Arc;

use mangrove_graph::{Adjacency, Direction, EdgeRef, ElementKind, Hop, LabelId, Result, VertexId, Wants};
use mangrove_segment::adjacency::Lists;

use super::{ROWS_BETWEEN_CHECKS, Reader};
use crate::format::adjacency::{self, AdjacencyBlock, EdgeEntry};
use crate::format::block::{Block, SLOTS};
use crate::format::key::{AdjacencyKey, Column, KeyBytes, edge_at, label_prefix, place, vertex_prefix};
use crate::format::walk::{Pair, Walk};
use crate::lmdb::table::Table;
use crate::segments::segment::{CHUNK, Segment};
use crate::system::fault::corrupt;

/// If the id of the next vertex is at most this much greater, the walk steps over blocks rather than searching for them.
const NEAR: u64 = 8;

impl<'t> Reader<'t> {
    pub fn neighbors(&self, from: &[VertexId], hop: &Hop, out: &mut Adjacency) -> Result<()> {
        if hop.filter.is_some() || hop.latest.is_some() {
            return self.matching_neighbors(from, hop, out);
        }
        let mut sides = self.sides(hop);
        let mut next_check = ROWS_BETWEEN_CHECKS;
        let mut found = Found::default();
        let mut next_row = 0;
        while let Some(vertex) = from.get(next_row) {
            let row = next_row;
            let done = row + out.neighbors.len().max(out.edges.len());
            if done >= next_check {
                self.check()?;
                self.fits(out.bytes())?;
                next_check = done + ROWS_BETWEEN_CHECKS;
            }
            next_row += match &mut sides[..] {
                [side] if !hop.wants.edges && hop.limit != Some(0) => {
                    self.only_neighbors(side, from, row, hop.wants, out)?
                }
                _ => 0,
            };
            if next_row > row {
                continue;
            }
            next_row += 1;
            // In storage order, rows of the same vertex follow each other.
            if row > 0 && from[row - 1] == *vertex {
                found.again(row as u32, out);
                continue;
            }
            found = Found::at_end(out);
            let mut gather = Gather { row: row as u32, wants: hop.wants, room: hop.limit.unwrap_or(usize::MAX), out };
            for side in &mut sides {
                let outgoing = side.outgoing;
                if self.is_sealed(ElementKind::Vertex, vertex.label(), place(vertex.0)) {
                    match side.plain_lists(self, *vertex)? {
                        Some((plain, position)) => gather.lists(plain, position, *vertex, outgoing),
                        None => self.sealed_lists(side, *vertex, &mut gather)?,
                    }
                    continue;
                }
                side.each_block(*vertex, |(key, value)| {
                    let block = AdjacencyBlock::parse(key, value)?;
                    Ok(gather.block(&block, outgoing))
                })?;
            }
        }
        Ok(())
    }

    /// Follows the only edge of each vertex from `row` on, as long as the vertices lie in one chunk in which each has one. Returns how
    /// many rows that were.
    fn only_neighbors(
        &self,
        side: &mut Side<'t>,
        from: &[VertexId],
        row: usize,
        wants: Wants,
        out: &mut Adjacency,
    ) -> Result<usize> {
        let vertex = from[row];
        if !self.is_sealed(ElementKind::Vertex, vertex.label(), place(vertex.0)) {
            return Ok(0);
        }
        let Some(([(_, lists)], _)) = side.plain_lists(self, vertex)?.map(|(lists, at)| (&lists[..], at)) else {
            return Ok(0);
        };
        let near = from[row..].iter().take(ROWS_BETWEEN_CHECKS).take_while(|next| next.0 / CHUNK == vertex.0 / CHUNK);
        let positions = near.map(|next| (next.0 % CHUNK) as usize);
        let n = lists.each_only_neighbor(positions, |neighbor| {
            if wants.neighbors {
                out.neighbors.push(neighbor);
            }
        });
        if wants.rows {
            out.rows.extend(row as u32..(row + n) as u32);
        }
        Ok(n)
    }

    pub fn degrees(&self, from: &[VertexId], hop: &Hop, out: &mut Vec<u64>) -> Result<()> {
        if let Some(filter) = &hop.filter {
            return self.matching_degrees(from, hop, filter, out);
        }
        let mut sides = self.sides(hop);
        for (row, vertex) in from.iter().enumerate() {
            self.go_on(row)?;
            let mut degree = 0;
            for side in &mut sides {
                let is_sealed = self.is_sealed(ElementKind::Vertex, vertex.label(), place(vertex.0));
                if is_sealed {
                    if let Some((plain, position)) = side.plain_lists(self, *vertex)? {
                        degree += plain.iter().map(|(_, lists)| lists.list(position).len() as u64).sum::<u64>();
                        continue;
                    }
                    degree += self.sealed_degree(side, *vertex)?;
                    if self.has_no_rows(side, *vertex)? {
                        continue;
                    }
                }
                side.each_block(*vertex, |(key, value)| {
                    degree += if is_sealed { self.unsealed_edges(key, value)? } else { adjacency::len(value)? as u64 };
                    Ok(true)
                })?;
            }
            out.push(degree);
        }
        Ok(())
    }

    /// How many edges of a block of the tables are not sealed. Just after sealing, the block may still have sealed ones.
    fn unsealed_edges(&self, key: &[u8], value: &[u8]) -> Result<u64> {
        let at = AdjacencyKey::parse(key)?;
        let end = self.segments.end(ElementKind::Edge, at.label);
        // Without times a block begins with its oldest edge.
        if at.time.is_none() && at.edge >= end {
            return adjacency::len(value).map(|n| n as u64);
        }
        let block = AdjacencyBlock::parse(key, value)?;
        Ok((0..block.len()).filter(|at| block.entry(*at).edge >= end).count() as u64)
    }

    fn sealed_degree(&self, side: &mut Side<'t>, vertex: VertexId) -> Result<u64> {
        let mut degree = 0;
        for at in 0..side.label_count(self) {
            let label = side.label(at);
            let (found, position) = side.lists(self, vertex, label)?;
            for lists in found {
                let list = lists.list(position);
                match self.all_live(label, lists, list.clone())? {
                    true => degree += list.len() as u64,
                    false => self.each_living(label, list.map(|at| lists.edge(at)), |_| degree += 1)?,
                }
            }
        }
        Ok(degree)
    }

    /// Gathers the edges of a sealed vertex, label by label. Within a label they are in the order of time, if edges have
    /// one, else of age.
    fn sealed_lists(&self, side: &mut Side<'t>, vertex: VertexId, gather: &mut Gather<'_>) -> Result<()> {
        for at in 0..side.label_count(self) {
            if gather.room == 0 {
                break;
            }
            let label = side.label(at);
            let outgoing = side.outgoing;
            let all_sealed = !self.has_rows(side, vertex, label)?;
            let (found, position) = side.lists(self, vertex, label)?;
            let mut all_alive = true;
            for lists in found {
                all_alive = all_alive && self.all_live(label, lists, lists.list(position))?;
            }
            // The times of removed edges are not known.
            if all_sealed && all_alive && self.are_in_order(found, position, label)? {
                found.iter().for_each(|lists| gather.list(lists, position, vertex, label, outgoing));
                continue;
            }
            let (mut entries, mut runs) = (Vec::new(), vec![0]);
            for lists in found {
                self.living(lists, position, label, &mut entries)?;
                runs.push(entries.len());
            }
            let sealed = entries.len();
            if !all_sealed {
                each_with_prefix(&mut side.walk, label_prefix(vertex, label), 0, &mut |(key, value)| {
                    AdjacencyBlock::parse(key, value)?.entries(&mut entries);
                    Ok(true)
                })?;
            }
            let end = self.segments.end(ElementKind::Edge, label);
            let unsealed = entries.split_off(sealed).into_iter().filter(|entry| entry.edge >= end);
            entries.extend(unsealed);
            self.put_in_order(label, &mut entries, sealed, &runs)?;
            entries.iter().for_each(|entry| gather.entry(entry, vertex, label, side.outgoing));
        }
        Ok(())
    }

    /// Whether the tables have edges of a sealed vertex. It takes a lookup, unless the tables have none for the label of the
    /// vertex.
    pub(super) fn has_rows(&self, side: &mut Side<'t>, vertex: VertexId, label: LabelId) -> Result<bool> {
        let prefix = label_prefix(vertex, label);
        if self.lacks(side.table(self), &prefix) || self.has_clean_lists(side.outgoing, vertex.label())? {
            return Ok(false);
        }
        let has_rows = side.walk.seek(prefix, 0)?.is_some_and(|(key, _)| key.starts_with(&prefix));
        if !has_rows {
            self.searched_in_vain()?;
        }
        Ok(has_rows)
    }

    /// Whether the tables are known to have no edges of a sealed vertex, of any label that a side asks for.
    fn has_no_rows(&self, side: &Side<'t>, vertex: VertexId) -> Result<bool> {
        let table = side.table(self);
        let lacks = |label| self.lacks(table, &label_prefix(vertex, label));
        Ok((0..side.label_count(self)).all(|at| lacks(side.label(at)))
            || self.has_clean_lists(side.outgoing, vertex.label())?)
    }

    /// Whether lists one after the other are in order: by time if edges have one, else by age, which is the order of
    /// segments.
    fn are_in_order(&self, found: &[&'t Lists<'t>], position: usize, label: LabelId) -> Result<bool> {
        if found.len() < 2 || !self.is_timed(label) {
            return Ok(true);
        }
        let mut last = None;
        for lists in found {
            let list = lists.list(position);
            if list.is_empty() {
                continue;
            }
            let order = |at| self.time_of(label, lists.edge(at)).map(|time| (time, lists.edge(at)));
            if last > Some(order(list.start)?) {
                return Ok(false);
            }
            last = Some(order(list.end - 1)?);
        }
        Ok(true)
    }

    /// Puts edges of several sources, each in order, in the order of all. The first `sealed` edges lack their times, and
    /// `runs` says where their sources begin. The edges after `sealed` are of one more source.
    pub fn put_in_order(&self, label: LabelId, entries: &mut [EdgeEntry], sealed: usize, runs: &[usize]) -> Result<()> {
        if !self.is_timed(label) {
            return Ok(()); // older segments have older edges
        }
        let order = |at: usize| -> Result<(Option<i64>, u64)> {
            let EdgeEntry { time, edge, .. } = entries[at];
            Ok((if at < sealed { Some(self.time_of(label, edge)?) } else { time }, edge))
        };
        let mut in_order = true;
        for start in runs.iter().chain([&sealed]).filter(|start| (1..entries.len()).contains(*start)) {
            in_order = in_order && order(start - 1)? <= order(*start)?;
        }
        if in_order {
            return Ok(());
        }
        let first = runs.iter().copied().chain([sealed]).find(|start| *start > 0).unwrap_or(entries.len());
        let halvings = (usize::BITS - first.leading_zeros()) as usize;
        if (entries.len() - first) * halvings < first {
            return self.put_in_place(label, entries, sealed, first);
        }
        self.fill_times(label, &mut entries[..sealed])?;
        entries.sort_by_key(EdgeEntry::order);
        Ok(())
    }

    /// Puts the few edges from `first` on among the many before, which are in order. O(few · log many), and one move of the
    /// many.
    fn put_in_place(&self, label: LabelId, entries: &mut [EdgeEntry], sealed: usize, first: usize) -> Result<()> {
        let mut few = entries[first..].to_vec();
        self.fill_times(label, &mut few[..sealed - first])?;
        few.sort_by_key(EdgeEntry::order);
        let (mut many, mut end) = (first, entries.len());
        for entry in few.into_iter().rev() {
            let (mut low, mut high) = (0, many);
            while low < high {
                let middle = low.midpoint(high);
                let time = self.time_of(label, entries[middle].edge)?;
                if (Some(time), entries[middle].edge) < entry.order() { low = middle + 1 } else { high = middle }
            }
            let after = end - (many - low);
            entries.copy_within(low..many, after);
            entries[after - 1] = entry;
            (many, end) = (low, after - 1);
        }
        Ok(())
    }

    fn fill_times(&self, label: LabelId, entries: &mut [EdgeEntry]) -> Result<()> {
        for entry in entries {
            entry.time = Some(self.time_of(label, entry.edge)?);
        }
        Ok(())
    }

    /// Calls `f` with the edges in some slots of a block of the column of ends.
    pub fn each_edge_in(
        &self,
        label: LabelId,
        block: u64,
        ends: &Block<'t>,
        slots: impl IntoIterator<Item = usize>,
        mut f: impl FnMut(EdgeRef),
    ) -> Result<()> {
        // Edges with near places have near sources.
        let mut lists: Option<(u64, &Lists<'t>)> = None;
        for slot in slots {
            let (place, missing) = (block * SLOTS as u64 + slot as u64, || corrupt("an edge that no list has"));
            let id = edge_at(label, place);
            let Some(source) = ends.source(slot) else {
                ends.edge(id, slot)?.into_iter().for_each(&mut f);
                continue;
            };
            let of_source = match lists.filter(|(chunk, _)| *chunk == source.0 / CHUNK) {
                Some((_, known)) => known,
                None => self.lists_of_segment(label, place, source)?.ok_or_else(missing)?,
            };
            lists = Some((source.0 / CHUNK, of_source));
            f(EdgeRef { id, source, target: of_source.neighbor_of(place).ok_or_else(missing)? });
        }
        Ok(())
    }

    /// The outgoing lists of a vertex in the segment that has an edge at this place.
    fn lists_of_segment(&self, label: LabelId, edge: u64, vertex: VertexId) -> Result<Option<&'t Lists<'t>>> {
        let is_own = |segment: &&Arc<Segment>| segment.places(ElementKind::Edge, label).contains(&edge);
        let Some(segment) = self.segments.list().iter().find(is_own) else { return Ok(None) };
        segment.lists(true, vertex.label(), label, place(vertex.0) / CHUNK)
    }

    /// The living sealed edges of a sealed vertex, with their times if the label has times.
    pub fn sealed_edges(&self, outgoing: bool, vertex: VertexId, label: LabelId) -> Result<Vec<EdgeEntry>> {
        let (place, mut living, mut runs) = (place(vertex.0), Vec::new(), Vec::new());
        for segment in self.segments.list() {
            if let Some(lists) = segment.lists(outgoing, vertex.label(), label, place / CHUNK)? {
                runs.push(living.len());
                self.living(lists, (place % CHUNK) as usize, label, &mut living)?;
            }
        }
        let sealed = living.len();
        self.put_in_order(label, &mut living, sealed, &runs)?;
        if self.is_timed(label) {
            self.fill_times(label, &mut living)?;
        }
        Ok(living)
    }

    /// Appends the living edges of a sealed list, without their times.
    pub fn living(&self, lists: &Lists<'t>, position: usize, label: LabelId, out: &mut Vec<EdgeEntry>) -> Result<()> {
        let list = lists.list(position);
        let entry = |at| EdgeEntry { neighbor: lists.neighbor(at), time: None, edge: lists.edge(at) };
        self.each_living(label, list.clone().map(|at| lists.edge(at)), |at| out.push(entry(list.start + at)))
    }

    pub(super) fn sides(&self, hop: &Hop) -> Vec<Side<'t>> {
        let labels = hop.labels.as_ref().map(|labels| {
            let mut labels = labels.clone();
            labels.sort_unstable();
            labels.dedup();
            labels
        });
        let side = |outgoing| {
            let table = if outgoing { self.tables.out } else { self.tables.incoming };
            let walk = self.walk(table);
            Side {
                outgoing,
                walk,
                labels: labels.clone(),
                last: VertexId(u64::MAX),
                chunks: Vec::new(),
                plain: Vec::new(),
                last_plain: 0,
            }
        };
        match hop.direction {
            Direction::Out => vec![side(true)],
            Direction::In => vec![side(false)],
            Direction::Both => vec![side(true), side(false)],
        }
    }
}

/// Where the results of the last vertex begin.
#[derive(Default)]
struct Found {
    rows: usize,
    neighbors: usize,
    edges: usize,
}

impl Found {
    fn at_end(out: &Adjacency) -> Self {
        Self { rows: out.rows.len(), neighbors: out.neighbors.len(), edges: out.edges.len() }
    }

    /// Appends the same results for another row, and moves on to them.
    fn again(&mut self, row: u32, out: &mut Adjacency) {
        let last = std::mem::replace(self, Self::at_end(out));
        out.rows.resize(self.rows + (self.rows - last.rows), row);
        out.neighbors.extend_from_within(last.neighbors..);
        out.edges.extend_from_within(last.edges..);
    }
}

/// Collects what one row leads to.
pub(super) struct Gather<'o> {
    pub(super) row: u32,
    pub(super) wants: Wants,
    /// How many more edges there is room for.
    pub(super) room: usize,
    pub(super) out: &'o mut Adjacency,
}

impl Gather<'_> {
    fn rows(&mut self, n: usize) {
        self.room -= n;
        if self.wants.rows {
            self.out.rows.resize(self.out.rows.len() + n, self.row);
        }
    }

    /// Returns whether there is room for more.
    fn block(&mut self, block: &AdjacencyBlock<'_>, outgoing: bool) -> bool {
        let n = block.len().min(self.room);
        self.rows(n);
        if self.wants.neighbors {
            block.neighbors(n, &mut self.out.neighbors);
        }
        if self.wants.edges {
            block.edges(n, outgoing, &mut self.out.edges);
        }
        self.room > 0
    }

    fn lists(&mut self, plain: &[(LabelId, &Lists<'_>)], position: usize, vertex: VertexId, outgoing: bool) {
        for (label, lists) in plain {
            self.list(lists, position, vertex, *label, outgoing);
        }
    }

    fn list(&mut self, lists: &Lists<'_>, position: usize, vertex: VertexId, label: LabelId, outgoing: bool) {
        let list = lists.list(position);
        let list = list.start..list.start + list.len().min(self.room);
        self.rows(list.len());
        if self.wants.neighbors {
            lists.each_neighbor(list.clone(), |neighbor| self.out.neighbors.push(neighbor));
        }
        if self.wants.edges {
            let (mut at, edges) = (self.out.edges.len(), &mut self.out.edges);
            lists.each_neighbor(list.clone(), |neighbor| edges.push(joined(vertex, neighbor, label, 0, outgoing)));
            lists.each_edge(list, |place| {
                edges[at].id = edge_at(label, place);
                at += 1;
            });
        }
    }

    pub(super) fn entry(&mut self, entry: &EdgeEntry, vertex: VertexId, label: LabelId, outgoing: bool) {
        if self.room == 0 {
            return;
        }
        self.rows(1);
        if self.wants.neighbors {
            self.out.neighbors.push(entry.neighbor);
        }
        if self.wants.edges {
            self.out.edges.push(joined(vertex, entry.neighbor, label, entry.edge, outgoing));
        }
    }
}

fn joined(vertex: VertexId, neighbor: VertexId, label: LabelId, place: u64, outgoing: bool) -> EdgeRef {
    let (source, target) = if outgoing { (vertex, neighbor) } else { (neighbor, vertex) };
    EdgeRef { id: edge_at(label, place), source, target }
}

/// The key of lists: label of the vertices, label of the edges, number of the chunk.
type ListsKey = (LabelId, LabelId, u64);

/// The edges of one direction.
pub(super) struct Side<'t> {
    pub(super) outgoing: bool,
    pub(super) walk: Walk<'t>,
    /// Sorted; `None` for all.
    labels: Option<Vec<LabelId>>,
    last: VertexId,
    /// The chunks of lists met so far, of every segment that has one, oldest first.
    chunks: Vec<(ListsKey, Vec<&'t Lists<'t>>)>,
    /// The chunks of vertices met so far: the label of the vertices, the number of the chunk, and what
    /// [`plain_lists`](Self::plain_lists) found.
    plain: Vec<(LabelId, u64, Option<PlainLists<'t>>)>,
    /// Which of them was asked for last.
    last_plain: usize,
}

/// For each edge label, the only lists of a chunk of vertices.
type PlainLists<'t> = Vec<(LabelId, &'t Lists<'t>)>;

/// Chunks of lists a hop remembers.
const CHUNKS_MAX: usize = 32;

impl<'t> Side<'t> {
    fn table(&self, reader: &Reader<'t>) -> Table {
        if self.outgoing { reader.tables.out } else { reader.tables.incoming }
    }

    pub(super) fn label_count(&self, reader: &Reader<'t>) -> usize {
        self.labels.as_ref().map_or(reader.schema.edge_labels.len(), Vec::len)
    }

    pub(super) fn label(&self, at: usize) -> LabelId {
        self.labels.as_ref().map_or(LabelId(at as u16), |labels| labels[at])
    }

    /// The lists of the chunk of a vertex, oldest segment first, and the position of the vertex there.
    pub(super) fn lists(
        &mut self,
        reader: &Reader<'t>,
        vertex: VertexId,
        label: LabelId,
    ) -> Result<(&[&'t Lists<'t>], usize)> {
        let place = place(vertex.0);
        let (chunk, position) = (place / CHUNK, (place % CHUNK) as usize);
        let key = (vertex.label(), label, chunk);
        let known = self.chunks.iter().position(|(known, _)| *known == key);
        let at = match known {
            Some(at) => at,
            None => {
                let mut found = Vec::with_capacity(1);
                for segment in reader.segments.list() {
                    found.extend(segment.lists(self.outgoing, vertex.label(), label, chunk)?);
                }
                if self.chunks.len() == CHUNKS_MAX {
                    self.chunks.clear();
                }
                self.chunks.push((key, found));
                self.chunks.len() - 1
            }
        };
        Ok((&self.chunks[at].1, position))
    }

    /// The lists of the chunk of a sealed vertex, and the position of the vertex there, if these lists alone say which edges it has:
    /// at most one segment has some of each label, and the tables neither add an edge nor remove one.
    fn plain_lists(&mut self, reader: &Reader<'t>, vertex: VertexId) -> Result<Option<(&PlainLists<'t>, usize)>> {
        let (label, place) = (vertex.label(), place(vertex.0));
        let (chunk, position) = (place / CHUNK, (place % CHUNK) as usize);
        let is_it = |at: &usize| self.plain.get(*at).is_some_and(|(of, number, _)| (*of, *number) == (label, chunk));
        let known = Some(self.last_plain).filter(is_it).or_else(|| (0..self.plain.len()).find(is_it));
        let at = match known {
            Some(at) => at,
            None => {
                let found = self.find_plain_lists(reader, vertex)?;
                if self.plain.len() == CHUNKS_MAX {
                    self.plain.clear();
                }
                self.plain.push((label, chunk, found));
                self.plain.len() - 1
            }
        };
        self.last_plain = at;
        Ok(self.plain[at].2.as_ref().map(|lists| (lists, position)))
    }

    fn find_plain_lists(&mut self, reader: &Reader<'t>, vertex: VertexId) -> Result<Option<PlainLists<'t>>> {
        if !reader.has_clean_lists(self.outgoing, vertex.label())? {
            return Ok(None);
        }
        let mut plain = Vec::new();
        for at in 0..self.label_count(reader) {
            let label = self.label(at);
            if !reader.is_clean(Column::dead(ElementKind::Edge, label))? {
                return Ok(None);
            }
            match self.lists(reader, vertex, label)?.0 {
                [] => {}
                [only] => plain.push((label, *only)),
                _ => return Ok(None),
            }
        }
        Ok(Some(plain))
    }

    /// Calls `f` with the blocks of a vertex until it returns false.
    fn each_block(&mut self, vertex: VertexId, mut f: impl FnMut(Pair<'t>) -> Result<bool>) -> Result<()> {
        let near = vertex.0.checked_sub(self.last.0).is_some_and(|gap| gap <= NEAR);
        let steps = if near { NEAR as usize } else { 0 };
        self.last = vertex;
        match &self.labels {
            None => each_with_prefix(&mut self.walk, vertex_prefix(vertex), steps, &mut f).map(|_| ()),
            Some(labels) => {
                for label in labels {
                    if !each_with_prefix(&mut self.walk, label_prefix(vertex, *label), steps, &mut f)? {
                        break;
                    }
                }
                Ok(())
            }
        }
    }
}

/// Returns false if `f` did.
fn each_with_prefix<'t>(
    walk: &mut Walk<'t>,
    prefix: KeyBytes,
    steps: usize,
    f: &mut impl FnMut(Pair<'t>) -> Result<bool>,
) -> Result<bool> {
    let mut at = walk.seek(prefix, steps)?;
    while let Some((key, value)) = at.filter(|(key, _)| key.starts_with(&prefix)) {
        if !f((key, value))? {
            return Ok(false);
        }
        walk.step()?;
        at = walk.current();
    }
    Ok(true)
}
