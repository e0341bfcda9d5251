//! Edges by their time: their sort keys, the edges that match a filter (found by halving if it is on their time), and the
//! latest edges.

use std::ops::{Bound, Range, RangeInclusive};

use mangrove_graph::window::Window;
use mangrove_graph::{
    Adjacency, Cell, EdgeRef, ElementKind, Elements, Filter, GraphView, Hop, KeyId, LabelId, Latest, Result, Value, VertexId,
};
use mangrove_segment::adjacency::Lists;

use super::Reader;
use super::topology::{Gather, Side};
use crate::format::adjacency::{AdjacencyBlock, EdgeEntry};
use crate::format::key::{AdjacencyKey, Column, KeyBytes, PLACE_MASK, edge_at, label_prefix, place};
use crate::segments::segment::CHUNK;
use crate::system::fault::lmdb;

/// The sort key of an edge with this time. Edges without a time come first.
pub fn order(cell: &Cell) -> i64 {
    cell.values().next().and_then(Value::as_time).unwrap_or(i64::MIN)
}

/// A sealed list is read whole if it is no longer than this many times the number of wanted edges.
const SHORT: usize = 4;

/// Which edges of a label a search wants.
struct Wanted<'f> {
    label: LabelId,
    filter: Option<&'f Filter>,
    window: Window,
    /// At most this many of the latest.
    latest: Option<usize>,
}

impl<'t> Reader<'t> {
    pub fn is_timed(&self, label: LabelId) -> bool {
        self.time_key(label).is_some()
    }

    fn time_key(&self, label: LabelId) -> Option<KeyId> {
        self.schema.label_schema(ElementKind::Edge, label).and_then(|label| label.time)
    }

    /// The sort key of an edge whose label has a time.
    pub fn time_of(&self, label: LabelId, place: u64) -> Result<i64> {
        let column = match self.time_key(label) {
            Some(key) if place >= self.times.first(label) => Column::property(ElementKind::Edge, label, key),
            _ => Column::time(label),
        };
        self.cell_at(column, place).map(|cell| order(&cell))
    }

    /// Follows the edges that match, or the latest of them.
    pub fn matching_neighbors(&self, from: &[VertexId], hop: &Hop, out: &mut Adjacency) -> Result<()> {
        let mut sides = self.sides(hop);
        // A limit takes the first of all edges, so the latest are not enough.
        let latest = hop.latest.filter(|latest| hop.limit.is_none() && latest.count > 0);
        let (wanted, mut entries) = (self.wanted(&sides[0], hop.filter.as_ref(), latest), Vec::new());
        for (row, vertex) in from.iter().enumerate() {
            self.go_on(row)?;
            let mut gather = Gather { row: row as u32, wants: hop.wants, room: hop.limit.unwrap_or(usize::MAX), out };
            for side in &mut sides {
                for wanted in &wanted {
                    if gather.room > 0 {
                        let window = self.latest_window(side, *vertex, wanted)?;
                        self.matching(side, *vertex, &Wanted { window, ..*wanted }, &mut entries)?;
                        let gather = |entry: &EdgeEntry| gather.entry(entry, *vertex, wanted.label, side.outgoing);
                        entries.iter().for_each(gather);
                    }
                }
            }
        }
        Ok(())
    }

    /// Counts the edges that match. If the filter compares integer times and all is sealed, halving alone counts them.
    pub fn matching_degrees(&self, from: &[VertexId], hop: &Hop, filter: &Filter, out: &mut Vec<u64>) -> Result<()> {
        let mut sides = self.sides(hop);
        let (wanted, mut entries) = (self.wanted(&sides[0], Some(filter), None), Vec::new());
        for (row, vertex) in from.iter().enumerate() {
            self.go_on(row)?;
            let mut degree = 0;
            for side in &mut sides {
                for wanted in &wanted {
                    degree += match self.sealed_matches(side, *vertex, wanted)? {
                        Some(n) => n,
                        None => {
                            self.matching(side, *vertex, wanted, &mut entries)?;
                            entries.len() as u64
                        }
                    };
                }
            }
            out.push(degree);
        }
        Ok(())
    }

    /// The labels of a hop that have the filter's property, with what filter and order say of the times of their edges.
    fn wanted<'f>(&self, side: &Side<'t>, filter: Option<&'f Filter>, latest: Option<Latest>) -> Vec<Wanted<'f>> {
        let wanted = |label| {
            let schema = self.schema.label_schema(ElementKind::Edge, label)?;
            // Old times did not change with the property.
            let time = schema.time.filter(|_| self.times.first(label) == 0).and_then(|time| schema.property(time));
            let window = match filter {
                None => Some(Window::whole()),
                Some(filter) => {
                    schema.property(filter.key)?;
                    let time = time.filter(|time| time.key == filter.key);
                    time.and_then(|time| Window::of(&filter.predicate, time.types))
                }
            };
            let is_in_order =
                |latest: &Latest| time.is_some_and(|time| time.key == latest.key && Window::keeps_order(time.types));
            let latest = latest.filter(is_in_order).map(|latest| latest.count);
            Some(Wanted { label, filter, window: window.unwrap_or_else(Window::unknown), latest })
        };
        (0..side.label_count(self)).filter_map(|at| wanted(side.label(at))).collect()
    }

    /// The window of the wanted edges. If only the latest are wanted, it begins at the first of these, or before.
    fn latest_window(&self, side: &mut Side<'t>, vertex: VertexId, wanted: &Wanted<'_>) -> Result<Window> {
        let Some(count) = wanted.latest else { return Ok(wanted.window.clone()) };
        let (mut since, mut end) = (None, 0);
        let is_sealed = self.is_sealed(ElementKind::Vertex, vertex.label(), place(vertex.0));
        if is_sealed {
            let (found, position) = side.lists(self, vertex, wanted.label)?;
            for lists in found {
                since = since.max(self.since_in_list(lists, position, wanted, count)?);
            }
            end = self.segments.end(ElementKind::Edge, wanted.label);
        }
        if !is_sealed || self.has_rows(side, vertex, wanted.label)? {
            since = since.max(self.since_in_tables(side, vertex, wanted, (end, since), count)?);
        }
        Ok(since.map_or_else(|| wanted.window.clone(), |since| wanted.window.since(since)))
    }

    /// A time from which on a sealed list has `count` edges that live and match; `None` if these would be most of the list,
    /// or if it is short.
    fn since_in_list(&self, lists: &Lists<'t>, position: usize, wanted: &Wanted<'_>, count: usize) -> Result<Option<i64>> {
        if lists.list(position).len() / SHORT <= count {
            return Ok(None);
        }
        let (_, matching) = self.halved(lists, position, wanted)?;
        let mut tail = count;
        while tail < matching.len() {
            let (start, mut living) = (matching.end - tail, 0);
            self.each_living(wanted.label, (start..matching.end).map(|at| lists.edge(at)), |_| living += 1)?;
            if living >= count {
                return self.sealed_time(wanted, lists.edge(start)).map(Some);
            }
            tail *= 2;
        }
        Ok(None)
    }

    /// A time from which on the tables have `count` matching edges of places from `end` on, if they have. The search stops
    /// before `enough`.
    fn since_in_tables(
        &self,
        side: &Side<'t>,
        vertex: VertexId,
        wanted: &Wanted<'_>,
        (end, enough): (u64, Option<i64>),
        count: usize,
    ) -> Result<Option<i64>> {
        let table = if side.outgoing { self.tables.out } else { self.tables.incoming };
        let (prefix, times) = (label_prefix(vertex, wanted.label), &wanted.window.must);
        let last = AdjacencyKey { vertex, label: wanted.label, time: Some(*times.end()), edge: PLACE_MASK }.bytes();
        let (first, mut counted) = (enough.unwrap_or(i64::MIN).max(*times.start()), 0);
        for row in table.rev_range(self.txn, &(Bound::Included(&prefix[..]), Bound::Included(&last[..]))).map_err(lmdb)? {
            let (key, value) = row.map_err(lmdb)?;
            let block = AdjacencyBlock::parse(key, value)?;
            let entries = (0..block.len()).rev().map(|at| block.entry(at)).filter(|entry| entry.edge >= end);
            for time in entries.filter_map(|entry| entry.time).filter(|time| times.contains(time)) {
                counted += 1;
                if counted == count {
                    return Ok(Some(time));
                }
            }
            if AdjacencyKey::parse(key)?.time < Some(first) {
                break;
            }
        }
        Ok(None)
    }

    /// The wanted edges of a vertex, in their order.
    fn matching(&self, side: &mut Side<'t>, vertex: VertexId, wanted: &Wanted<'_>, out: &mut Vec<EdgeEntry>) -> Result<()> {
        out.clear();
        let (label, mut runs, mut end) = (wanted.label, Vec::new(), 0);
        // The positions of edges whose time does not tell whether they match.
        let mut open = Vec::new();
        let is_sealed = self.is_sealed(ElementKind::Vertex, vertex.label(), place(vertex.0));
        if is_sealed {
            let (found, position) = side.lists(self, vertex, label)?;
            for lists in found {
                runs.push(out.len());
                let (may, must) = self.halved(lists, position, wanted)?;
                self.each_living(label, may.clone().map(|at| lists.edge(at)), |at| {
                    let at = may.start + at;
                    open.extend((!must.contains(&at)).then_some(out.len()));
                    out.push(EdgeEntry { neighbor: lists.neighbor(at), time: None, edge: lists.edge(at) });
                })?;
                self.keep_matching(wanted, &mut open, out)?;
            }
            end = self.segments.end(ElementKind::Edge, label);
        }
        let sealed = out.len();
        if !is_sealed || self.has_rows(side, vertex, label)? {
            self.matching_in_tables(side, vertex, wanted, end, (out, &mut open))?;
            self.keep_matching(wanted, &mut open, out)?;
        }
        self.put_in_order(label, out, sealed, &runs)
    }

    /// Removes those of the `open` edges that have no matching value. `open` is in order.
    fn keep_matching(&self, wanted: &Wanted<'_>, open: &mut Vec<usize>, entries: &mut Vec<EdgeEntry>) -> Result<()> {
        let (Some(first), Some(filter)) = (open.first().copied(), wanted.filter) else {
            open.clear();
            return Ok(());
        };
        let nowhere = VertexId(0);
        let edge = |at: &usize| EdgeRef { id: edge_at(wanted.label, entries[*at].edge), source: nowhere, target: nowhere };
        let edges: Vec<EdgeRef> = open.iter().map(edge).collect();
        let column = self.properties(Elements::Edges(&edges), filter.key)?;
        let mut open = open.drain(..).enumerate().peekable();
        let (mut kept, all) = (first, entries.len());
        for at in first..all {
            let matches = open
                .next_if(|(_, open)| *open == at)
                .is_none_or(|(row, _)| column.cell(row).values().any(|value| filter.predicate.matches(value)));
            entries[kept] = entries[at];
            kept += usize::from(matches);
        }
        entries.truncate(kept);
        Ok(())
    }

    /// Appends the edges of the tables that may match, of places from `end` on, and the positions of those that are `open`.
    fn matching_in_tables(
        &self,
        side: &mut Side<'t>,
        vertex: VertexId,
        wanted: &Wanted<'_>,
        end: u64,
        (out, open): (&mut Vec<EdgeEntry>, &mut Vec<usize>),
    ) -> Result<()> {
        let prefix = label_prefix(vertex, wanted.label);
        let mut at = side.walk.seek(self.block_before(side, vertex, wanted, prefix)?, 0)?;
        while let Some((key, value)) = at.filter(|(key, _)| key.starts_with(&prefix)) {
            if AdjacencyKey::parse(key)?.time.is_some_and(|time| time > *wanted.window.may.end()) {
                break;
            }
            let block = AdjacencyBlock::parse(key, value)?;
            for entry in (0..block.len()).map(|at| block.entry(at)).filter(|entry| entry.edge >= end) {
                let is_in = |window: &RangeInclusive<i64>| entry.time.is_some_and(|time| window.contains(&time));
                if entry.time.is_none() || is_in(&wanted.window.may) {
                    open.extend((!is_in(&wanted.window.must)).then_some(out.len()));
                    out.push(entry);
                }
            }
            side.walk.step()?;
            at = side.walk.current();
        }
        Ok(())
    }

    /// Where the wanted edges of the tables may begin: at the block in which the first time would be.
    fn block_before(&self, side: &Side<'t>, vertex: VertexId, wanted: &Wanted<'_>, prefix: KeyBytes) -> Result<KeyBytes> {
        let first = *wanted.window.may.start();
        if first == i64::MIN {
            return Ok(prefix);
        }
        let table = if side.outgoing { self.tables.out } else { self.tables.incoming };
        let at = AdjacencyKey { vertex, label: wanted.label, time: Some(first), edge: 0 };
        let block = table.get_lower_than_or_equal_to(self.txn, &at.bytes()).map_err(lmdb)?;
        Ok(block.filter(|(key, _)| key.starts_with(&prefix)).map_or(prefix, |(key, _)| KeyBytes::new(&[key])))
    }

    /// How many edges of a sealed vertex match; `None` if times alone do not tell. O(segments · log n).
    fn sealed_matches(&self, side: &mut Side<'t>, vertex: VertexId, wanted: &Wanted<'_>) -> Result<Option<u64>> {
        let times_tell = wanted.window.may == wanted.window.must
            && self.is_sealed(ElementKind::Vertex, vertex.label(), place(vertex.0))
            && !self.has_rows(side, vertex, wanted.label)?;
        if !times_tell {
            return Ok(None);
        }
        let (found, position) = side.lists(self, vertex, wanted.label)?;
        let mut n = 0;
        for lists in found {
            let matching = self.halved(lists, position, wanted)?.0;
            if !self.all_live(wanted.label, lists, matching.clone())? {
                return Ok(None);
            }
            n += matching.len() as u64;
        }
        Ok(Some(n))
    }

    /// The edges of a sealed list that may match, and those among them that do.
    fn halved(&self, lists: &Lists<'t>, position: usize, wanted: &Wanted<'_>) -> Result<(Range<usize>, Range<usize>)> {
        let (list, window) = (lists.list(position), &wanted.window);
        if *window == Window::unknown() {
            return Ok((list.clone(), list.start..list.start));
        }
        let may = self.within(lists, list, wanted, &window.may)?;
        let must =
            if window.must == window.may { may.clone() } else { self.within(lists, may.clone(), wanted, &window.must)? };
        Ok((may, must))
    }

    /// The edges of a part of a sealed list whose times are in a range.
    fn within(
        &self,
        lists: &Lists<'t>,
        list: Range<usize>,
        wanted: &Wanted<'_>,
        times: &RangeInclusive<i64>,
    ) -> Result<Range<usize>> {
        if times.is_empty() {
            return Ok(list.start..list.start);
        }
        let start = self.first_from(lists, list.clone(), wanted, Some(*times.start()))?;
        let end = self.first_from(lists, start..list.end, wanted, times.end().checked_add(1))?;
        Ok(start..end)
    }

    /// The first edge of a part of a sealed list whose time is not before this one; the end of the part if `time` is `None`.
    /// O(log n).
    fn first_from(&self, lists: &Lists<'t>, list: Range<usize>, wanted: &Wanted<'_>, time: Option<i64>) -> Result<usize> {
        let Some(time) = time else { return Ok(list.end) };
        let (mut low, mut high) = (list.start, if time == i64::MIN { list.start } else { list.end });
        while low < high {
            let middle = low.midpoint(high);
            if self.sealed_time(wanted, lists.edge(middle))? < time { low = middle + 1 } else { high = middle }
        }
        Ok(low)
    }

    /// The time of a sealed edge, whether it is alive or removed. It never changes, so it is as it was sealed.
    fn sealed_time(&self, wanted: &Wanted<'_>, place: u64) -> Result<i64> {
        let own =
            self.segments.list().iter().find(|segment| segment.places(ElementKind::Edge, wanted.label).contains(&place));
        let Some(key) = self.time_key(wanted.label) else { return Ok(i64::MIN) };
        let column = Column::property(ElementKind::Edge, wanted.label, key);
        match own.map_or(Ok(None), |segment| segment.chunk(column, place / CHUNK))? {
            Some(chunk) => chunk.cell((place % CHUNK) as usize).map(|cell| order(&cell)),
            None => Ok(i64::MIN),
        }
    }
}
