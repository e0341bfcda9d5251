//! A lake on nodes as one view. Every call goes to the nodes of the chunks that it reads, and their answers come in its order.

use std::ops::Range;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use mangrove_graph::{
    Adjacency, Catalog, Distance, EdgeRef, ElementIds, ElementKind, Elements, ExternalId, GraphError, GraphView, Hop, KeyId,
    LabelId, Predicate, PropertyColumn, PropertyId, Result, Scan, ScanCursor, Scanned, Schema, SearchCursor, Statistics,
    VertexId, Wants,
};

use super::asked::{Asked, LakeLine, LakeNodes};
use crate::at_once::at_once;
use crate::gateway::Limits;
use crate::remote::{DISTANCE, Known, Line, Remote};
use crate::split::{Split, rows_of};
use crate::walk;
use crate::wire::{Answer, Ask, Chunk, LakeMap, LakeRange, damaged};

/// A node looks at no more elements than this in one call of a scan.
const PIECE_MAX: u64 = 1 << 14;
/// A scan with filters looks at this many elements at least, because few may pass.
const PIECE_MIN: u64 = 1 << 8;
/// So many calls of a scan go out at the same time.
const AHEAD_MAX: usize = 64;
/// A scan that reads columns, or that all elements pass, looks at no more elements than this at a time: it may give all of them.
const ROWS_MAX: u64 = 1 << 16;

/// What is the same for all views of one opening of a lake.
pub struct OpenedLake {
    nodes: Arc<dyn LakeNodes>,
    /// No other opening in this process has it.
    number: u64,
    fingerprint: u128,
    map: LakeMap,
    known: Arc<Known>,
    /// Counted by a node when they are first asked for.
    statistics: OnceLock<Arc<Statistics>>,
}

impl OpenedLake {
    pub fn new(nodes: Arc<dyn LakeNodes>, fingerprint: u128, map: LakeMap) -> Self {
        static OPENINGS: AtomicU64 = AtomicU64::new(0);
        let number = OPENINGS.fetch_add(1, Ordering::Relaxed);
        let known = Known { schema: map.schema.clone(), statistics: Arc::default(), next: Default::default() };
        Self { nodes, number, fingerprint, map, known: Arc::new(known), statistics: OnceLock::new() }
    }

    pub fn nodes(&self) -> &dyn LakeNodes {
        &*self.nodes
    }

    /// A number that no other opening in this process has: the files may differ, even if their fingerprint does not.
    pub fn number(&self) -> u64 {
        self.number
    }

    pub fn fingerprint(&self) -> u128 {
        self.fingerprint
    }

    pub fn map(&self) -> &LakeMap {
        &self.map
    }

    /// The nodes, for one call.
    pub fn asked<'n>(&'n self, limits: &'n Limits) -> Result<Asked<'n>> {
        Asked::new(&*self.nodes, self.fingerprint, limits)
    }

    pub fn chunk_of_vertex(&self, vertex: VertexId) -> Chunk {
        self.map.chunks.chunk_of(ElementKind::Vertex, vertex.label(), vertex.local())
    }

    pub fn chunk_of_edge(&self, edge: &EdgeRef) -> Chunk {
        self.map.chunks.chunk_of(ElementKind::Edge, edge.id.label(), edge.id.local())
    }

    fn chunks_of(&self, elements: Elements<'_>) -> Vec<Chunk> {
        match elements {
            Elements::Vertices(ids) => ids.iter().map(|id| self.chunk_of_vertex(*id)).collect(),
            Elements::Edges(edges) => edges.iter().map(|edge| self.chunk_of_edge(edge)).collect(),
        }
    }
}

/// A lake on nodes, with the limits of its reader.
pub struct LakeRead {
    seen: Arc<OpenedLake>,
    limits: Limits,
    /// How many calls a scan makes at the same time: more, the fewer elements pass.
    ahead: AtomicUsize,
}

/// Elements that a node looks at in one call.
type Piece = (Chunk, Range<u64>);

impl LakeRead {
    pub fn new(seen: Arc<OpenedLake>, limits: Limits) -> Self {
        Self { seen, limits, ahead: AtomicUsize::new(1) }
    }

    fn at_node(&self, line: LakeLine) -> Remote<LakeLine> {
        Remote::new(line, self.seen.known.clone())
    }

    /// The answers of the nodes of some elements, each for a part of them.
    fn of_owners<T: Send>(
        &self,
        elements: Elements<'_>,
        ask: impl Fn(&Remote<LakeLine>, Elements<'_>) -> Result<T> + Sync,
    ) -> Result<(Split, Vec<T>)> {
        let (asked, chunks) = (self.seen.asked(&self.limits)?, self.seen.chunks_of(elements));
        asked.batch(&chunks, |line, rows| {
            let node = self.at_node(line);
            match rows.len() == elements.len() {
                true => ask(&node, elements),
                false => ask(&node, rows_of(elements, rows).batch()),
            }
        })
    }

    /// The answers of the nodes of some elements, one for each element.
    fn for_each<T: Clone + Default + Send>(
        &self,
        elements: Elements<'_>,
        ask: impl Fn(&Remote<LakeLine>, Elements<'_>) -> Result<Vec<T>> + Sync,
    ) -> Result<Vec<T>> {
        let (split, answers) = self.of_owners(elements, ask)?;
        Ok(split.joined(answers))
    }

    /// Asks the node that answers for a whole label, or for all labels: look-ups read of everything a little.
    fn of_whole<T>(&self, kind: ElementKind, label: Option<LabelId>, ask: impl Fn(LakeLine) -> Result<T>) -> Result<T> {
        let chunk = Chunk { kind, label: label.unwrap_or(LabelId(u16::MAX)), number: u64::MAX };
        self.seen.asked(&self.limits)?.one(&chunk, None, ask)
    }

    /// The next elements that a scan looks at: at most `count`, in pieces of at most `most`.
    fn pieces(&self, kind: ElementKind, label: LabelId, cursor: &ScanCursor, most: u64, count: u64) -> Vec<Piece> {
        let chunks = self.seen.map.chunks.beginning_at(kind, label, cursor.local);
        let cut = |(chunk, locals): Piece| {
            let starts = locals.clone().step_by(most as usize);
            starts.map(move |start| (chunk, start..locals.end.min(start + most)))
        };
        let mut pieces: Vec<Piece> = chunks.flat_map(cut).take(AHEAD_MAX).collect();
        up_to(&mut pieces, count);
        pieces
    }

    /// Asks the nodes of some pieces at the same time. The answers are in the order of the pieces.
    fn of_pieces<T: Send>(
        &self,
        pieces: Vec<Piece>,
        ask: impl Fn(&Remote<LakeLine>, &Range<u64>) -> Result<T> + Sync,
    ) -> Result<Vec<T>> {
        let asked = self.seen.asked(&self.limits)?;
        at_once(pieces, |(chunk, locals)| {
            let within = LakeRange { kind: chunk.kind, label: chunk.label, locals: locals.clone() };
            asked.one(&chunk, Some(&within), |line| ask(&self.at_node(line), &locals))
        })
    }

    /// The next elements of a scan, asked for by `ask` of the nodes that have them.
    fn scanned(
        &self,
        kind: ElementKind,
        scan: &Scan,
        cursor: &mut ScanCursor,
        limit: usize,
        ask: impl Fn(&Remote<LakeLine>, &mut ScanCursor) -> Result<Scanned> + Sync,
    ) -> Result<Scanned> {
        if (cursor.label, cursor.local) == (0, 0) {
            self.ahead.store(1, Ordering::Relaxed); // nothing is known of a scan that begins
        }
        let Some(label) = walk::label_at(self.schema(), kind, scan, cursor) else { return Ok(nothing(kind)) };
        let visits_all = self.visits_all(kind, scan, label);
        let least = if visits_all { 1 } else { PIECE_MIN };
        let (most, ahead) = ((limit as u64).clamp(least, PIECE_MAX), self.ahead.load(Ordering::Relaxed));
        let may_give = if visits_all || !scan.columns.is_empty() { ROWS_MAX } else { u64::MAX };
        let pieces = self.pieces(kind, label, cursor, most, may_give.min(most * ahead as u64));
        self.step(kind, scan, cursor, label, &pieces);
        let found = self.of_pieces(pieces, |node, locals| {
            let mut within = ScanCursor { label: 0, local: locals.start, done: false };
            let mut found = Vec::new();
            while !within.done && within.label == 0 && within.local < locals.end {
                found.push(ask(node, &mut within)?);
            }
            Ok(joined(kind, found))
        })?;
        let found = joined(kind, found);
        let next = if found.elements.len() > limit / 2 { ahead / 2 } else { ahead * 2 };
        self.ahead.store(next.clamp(1, AHEAD_MAX), Ordering::Relaxed);
        Ok(found)
    }

    /// Puts a cursor behind some pieces.
    fn step(&self, kind: ElementKind, scan: &Scan, cursor: &mut ScanCursor, label: LabelId, pieces: &[Piece]) {
        let rows = self.seen.map.chunks.rows(kind, label);
        cursor.local = pieces.last().map_or(rows, |(_, locals)| locals.end);
        if cursor.local >= rows {
            (cursor.label, cursor.local) = (cursor.label + 1, 0);
        }
        walk::label_at(self.schema(), kind, scan, cursor);
    }

    /// Whether all elements of a label pass a scan.
    fn visits_all(&self, kind: ElementKind, scan: &Scan, label: LabelId) -> bool {
        scan.filters.is_empty() && scan.tests_of(self.schema(), kind, label).is_some_and(|tests| tests.is_empty())
    }
}

/// Keeps the first of some pieces, with `most` elements at most.
fn up_to(pieces: &mut Vec<Piece>, most: u64) {
    let mut left = most;
    pieces.retain_mut(|(_, locals)| {
        locals.end = locals.end.min(locals.start.saturating_add(left));
        left -= locals.end - locals.start;
        !locals.is_empty()
    });
}

fn nothing(kind: ElementKind) -> Scanned {
    Scanned { elements: ElementIds::none(kind), columns: Vec::new() }
}

/// Puts what was found in pieces together, one behind the other.
fn joined(kind: ElementKind, mut found: Vec<Scanned>) -> Scanned {
    if found.len() == 1 {
        return found.pop().unwrap_or_else(|| nothing(kind));
    }
    found.retain(|some| !some.elements.is_empty());
    let split = Split::in_order(found.iter().map(|some| some.elements.len()));
    let columns = found.first().map_or(0, |some| some.columns.len());
    let column = |key: usize| {
        let of_pieces: Vec<PropertyColumn> = found.iter().filter_map(|some| some.columns.get(key)).cloned().collect();
        split.joined_columns(&of_pieces)
    };
    let columns = (0..columns).map(column).collect();
    let mut elements = ElementIds::none(kind);
    found.into_iter().for_each(|some| elements.append(some.elements));
    Scanned { elements, columns }
}

impl Catalog for LakeRead {
    fn schema(&self) -> &Arc<Schema> {
        &self.seen.map.schema
    }

    fn statistics(&self) -> Result<Arc<Statistics>> {
        if let Some(known) = self.seen.statistics.get() {
            return Ok(known.clone());
        }
        let told = self.of_whole(ElementKind::Vertex, None, |line| line.ask(&Ask::Statistics))?;
        let Answer::Statistics(counts) = told else { return Err(damaged("an answer")) };
        Ok(self.seen.statistics.get_or_init(|| Arc::new(counts)).clone())
    }

    fn is_searchable(&self, of: PropertyId, predicate: &Predicate) -> bool {
        self.schema().is_key(of.kind, of.label, of.key) && predicate.external_ids().is_some()
    }

    fn candidates(&self, of: PropertyId, predicate: &Predicate) -> Result<u64> {
        let ids = predicate.external_ids().filter(|_| self.schema().is_key(of.kind, of.label, of.key));
        Ok(ids.map_or(u64::from(u32::MAX), |ids| ids.len() as u64))
    }
}

impl GraphView for LakeRead {
    fn distance(&self) -> Distance {
        DISTANCE
    }

    fn fork(&self) -> Result<Option<Box<dyn GraphView + Send>>> {
        Ok(Some(Box::new(Self::new(self.seen.clone(), self.limits.for_another_thread()))))
    }

    fn scan_vertices(&self, scan: &Scan, cursor: &mut ScanCursor, limit: usize, out: &mut Vec<VertexId>) -> Result<()> {
        let found = self.scanned(ElementKind::Vertex, scan, cursor, limit, |node, within| {
            let mut ids = Vec::new();
            node.scan_vertices(scan, within, PIECE_MAX as usize, &mut ids)?;
            Ok(Scanned { elements: ElementIds::Vertices(ids), columns: Vec::new() })
        })?;
        out.append(&mut found.elements.into_vertices());
        Ok(())
    }

    fn scan_edges(&self, scan: &Scan, cursor: &mut ScanCursor, limit: usize, out: &mut Vec<EdgeRef>) -> Result<()> {
        let found = self.scanned(ElementKind::Edge, scan, cursor, limit, |node, within| {
            let mut edges = Vec::new();
            node.scan_edges(scan, within, PIECE_MAX as usize, &mut edges)?;
            Ok(Scanned { elements: ElementIds::Edges(edges), columns: Vec::new() })
        })?;
        out.append(&mut found.elements.into_edges());
        Ok(())
    }

    fn scan(&self, kind: ElementKind, scan: &Scan, cursor: &mut ScanCursor, limit: usize) -> Result<Scanned> {
        self.scanned(kind, scan, cursor, limit, |node, within| node.scan(kind, scan, within, PIECE_MAX as usize))
    }

    fn count(&self, kind: ElementKind, scan: &Scan, cursor: &mut ScanCursor) -> Result<u64> {
        let Some(label) = walk::label_at(self.schema(), kind, scan, cursor) else { return Ok(0) };
        if cursor.local == 0 && self.visits_all(kind, scan, label) {
            self.step(kind, scan, cursor, label, &[]);
            return Ok(self.statistics()?.count(kind, label));
        }
        let pieces: Vec<Piece> = self.seen.map.chunks.beginning_at(kind, label, cursor.local).take(AHEAD_MAX).collect();
        self.step(kind, scan, cursor, label, &pieces);
        let counts = self.of_pieces(pieces, |node, locals| {
            let (mut count, mut within) = (0, ScanCursor { label: 0, local: locals.start, done: false });
            while !within.done && within.label == 0 && within.local < locals.end {
                count += node.count(kind, scan, &mut within)?;
            }
            Ok(count)
        })?;
        Ok(counts.into_iter().sum())
    }

    fn find_vertices(&self, label: Option<LabelId>, ids: &[ExternalId], out: &mut Vec<Option<VertexId>>) -> Result<()> {
        let mut found = self.of_whole(ElementKind::Vertex, label, |line| {
            let mut found = Vec::with_capacity(ids.len());
            self.at_node(line).find_vertices(label, ids, &mut found).map(|()| found)
        })?;
        out.append(&mut found);
        Ok(())
    }

    fn find_edges(&self, ids: &[ExternalId], out: &mut Vec<Option<EdgeRef>>) -> Result<()> {
        let mut found = self.of_whole(ElementKind::Edge, None, |line| {
            let mut found = Vec::with_capacity(ids.len());
            self.at_node(line).find_edges(ids, &mut found).map(|()| found)
        })?;
        out.append(&mut found);
        Ok(())
    }

    fn external_ids(&self, elements: Elements<'_>) -> Result<PropertyColumn> {
        let (split, answers) = self.of_owners(elements, |node, some| node.external_ids(some))?;
        Ok(one_of(&split, answers))
    }

    fn contain(&self, elements: Elements<'_>) -> Result<Vec<bool>> {
        self.for_each(elements, |node, some| node.contain(some))
    }

    fn all_further_labels(&self, vertices: &[VertexId], out: &mut Vec<Vec<LabelId>>) -> Result<()> {
        let mut found = self.for_each(Elements::Vertices(vertices), |node, some| {
            let mut labels = Vec::with_capacity(some.len());
            of_vertices(some, |some| node.all_further_labels(some, &mut labels)).map(|()| labels)
        })?;
        out.append(&mut found);
        Ok(())
    }

    fn neighbors(&self, from: &[VertexId], hop: &Hop, out: &mut Adjacency) -> Result<()> {
        let with_rows = Hop { wants: Wants { rows: true, ..hop.wants }, ..hop.clone() };
        let (split, found) = self.of_owners(Elements::Vertices(from), |node, some| {
            let mut found = Adjacency::default();
            of_vertices(some, |some| node.neighbors(some, &with_rows, &mut found)).map(|()| found)
        })?;
        split.joined_hops(from.len(), hop.wants, &found, out);
        Ok(())
    }

    fn degrees(&self, from: &[VertexId], hop: &Hop, out: &mut Vec<u64>) -> Result<()> {
        let mut found = self.for_each(Elements::Vertices(from), |node, some| {
            let mut counts = Vec::with_capacity(some.len());
            of_vertices(some, |some| node.degrees(some, hop, &mut counts)).map(|()| counts)
        })?;
        out.append(&mut found);
        Ok(())
    }

    fn columns(&self, elements: Elements<'_>, keys: &[KeyId], out: &mut Vec<PropertyColumn>) -> Result<()> {
        let (split, answers) = self.of_owners(elements, |node, some| {
            let mut columns = Vec::with_capacity(keys.len());
            node.columns(some, keys, &mut columns).map(|()| columns)
        })?;
        let mut of_parts: Vec<_> = answers.into_iter().map(Vec::into_iter).collect();
        for _ in keys {
            let columns = of_parts.iter_mut().map(|columns| columns.next().ok_or_else(|| damaged("an answer")));
            out.push(one_of(&split, columns.collect::<Result<_>>()?));
        }
        Ok(())
    }

    fn have(&self, elements: Elements<'_>, key: KeyId) -> Result<Vec<bool>> {
        self.for_each(elements, |node, some| node.have(some, key))
    }

    fn pass(&self, elements: Elements<'_>, key: KeyId, predicate: &Predicate) -> Result<Vec<bool>> {
        self.for_each(elements, |node, some| node.pass(some, key, predicate))
    }

    fn search(
        &self,
        of: PropertyId,
        predicate: &Predicate,
        cursor: &mut SearchCursor,
        limit: usize,
    ) -> Result<Option<ElementIds>> {
        if !self.is_searchable(of, predicate) {
            return Ok(None);
        }
        let (found, after) = self.of_whole(of.kind, Some(of.label), |line| {
            let mut after = cursor.clone();
            self.at_node(line).search(of, predicate, &mut after, limit).map(|found| (found, after))
        })?;
        *cursor = after;
        Ok(found)
    }
}

/// Columns of parts as one. That of a single part stays as it is.
fn one_of(split: &Split, mut columns: Vec<PropertyColumn>) -> PropertyColumn {
    match columns.len() {
        1 => columns.remove(0),
        _ => split.joined_columns(&columns),
    }
}

/// Calls `f` with elements that are vertices.
fn of_vertices(elements: Elements<'_>, f: impl FnOnce(&[VertexId]) -> Result<()>) -> Result<()> {
    match elements {
        Elements::Vertices(vertices) => f(vertices),
        Elements::Edges(_) => Err(GraphError::Invalid("a hop from an edge".into())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_end_where_enough_elements_are_looked_at() {
        let chunk = |number| Chunk { kind: ElementKind::Vertex, label: LabelId(0), number };
        let mut pieces = vec![(chunk(0), 0..4), (chunk(1), 4..8), (chunk(2), 8..10)];
        up_to(&mut pieces, 6);
        assert_eq!(pieces, [(chunk(0), 0..4), (chunk(1), 4..6)]);
    }
}
