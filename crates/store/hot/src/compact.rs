//! Compaction: all that the tables and the segment under them hold becomes one new segment, and the tables are empty.
//!
//! The new file is whole and durable before the commit that names it, so a crash leaves the old state or the new one, and at
//! most a file nobody names, which the next opening for writing removes. Readers go on with the snapshots they have; another
//! writer waits.

use std::path::Path;

use mangrove_graph::{
    Adjacency, Cell, Direction, EdgeId, EdgeRef, ElementKind, GraphError, Hop, LabelId, Result, VertexId, Wants,
};
use mangrove_segment::adjacency::{self, Entry};
use mangrove_segment::column::{self, POSITIONS};
use mangrove_segment::names;

use crate::block::{SLOTS, slots};
use crate::catalog;
use crate::fault::lmdb;
use crate::key::{Column, edge_at, place, vertex_at};
use crate::read::{Reader, external};
use crate::segment::{self, BLOCKS, Contents, Sealing};
use crate::store::Hot;
use crate::turn::{Patience, Writer};
use crate::write::HotTransaction;

const KINDS: [ElementKind; 2] = [ElementKind::Vertex, ElementKind::Edge];

impl Hot {
    /// Seals everything in one segment, whose size in bytes is given. O(size of the graph).
    ///
    /// # Errors
    /// As those of a commit; then all is as it was.
    pub fn compact(&self, writer: Writer, patience: Patience<'_>) -> Result<u64> {
        self.begin_for(writer, patience)?.compact(patience.cancelled)
    }
}

impl HotTransaction {
    fn compact(mut self, cancelled: &dyn Fn() -> bool) -> Result<u64> {
        let (directory, number) = (self.shared().env.path().to_owned(), self.next_segment());
        let sealed = self.seal(&directory, number, cancelled);
        self.stand_on(number, sealed)
    }

    /// The number of a segment that takes the place of the one there is.
    pub fn next_segment(&self) -> u64 {
        self.reader().segment.map_or(0, |segment| segment.number) + 1
    }

    /// Writes all there is to a segment in some directory; what comes next begins new blocks.
    pub fn seal(&mut self, directory: &Path, number: u64, cancelled: &dyn Fn() -> bool) -> Result<()> {
        let contents = self.end_labels()?;
        let sealing = Sealing::create(directory, number, contents.clone())?;
        Seal { reader: self.reader(), contents, cancelled }.write(sealing)
    }

    /// Makes the segment of this number all there is, if it was sealed, and gives its size in bytes.
    pub fn stand_on(self, number: u64, sealed: Result<()>) -> Result<u64> {
        let shared = self.shared().clone();
        let outcome = sealed.and_then(|()| self.name(number));
        // What cannot be removed now is when the database is next opened for writing.
        let named = if outcome.is_ok() { Some(number) } else { Some(number - 1) };
        let _ = segment::remove_others(shared.env.path(), named);
        outcome?;
        Ok(shared.segment(Some(number))?.map_or(0, |segment| segment.bytes()))
    }

    /// Lets the tables say nothing but that all is in the segment of this number.
    fn name(mut self, number: u64) -> Result<()> {
        let tables = self.shared().tables;
        for table in [tables.columns, tables.out, tables.incoming, tables.ids, tables.edge_ids] {
            table.clear(self.txn_mut()).map_err(lmdb)?;
        }
        catalog::put_segment(&tables, self.txn_mut(), number)?;
        let shared = self.shared().clone();
        self.commit()?;
        // With relaxed durability too: what the commit before names is about to be removed.
        shared.env.force_sync().map_err(lmdb)
    }

    /// Lets every label go on with a new block, so that what is sealed ends with one.
    fn end_labels(&mut self) -> Result<Contents> {
        let mut contents = Contents::default();
        for kind in KINDS {
            for label in labels(&self.reader(), kind) {
                let counter = self.counter_mut(kind, label)?;
                counter.next = counter.next.next_multiple_of(SLOTS as u64);
                if counter.next > 0 {
                    contents.set_end(kind, label, counter.next);
                }
            }
        }
        Ok(contents)
    }
}

fn labels(reader: &Reader<'_>, kind: ElementKind) -> impl Iterator<Item = LabelId> + use<> {
    (0..reader.schema.labels(kind).len()).map(|label| LabelId(label as u16))
}

/// What is to be sealed.
struct Seal<'t> {
    reader: Reader<'t>,
    contents: Contents,
    cancelled: &'t dyn Fn() -> bool,
}

impl Seal<'_> {
    fn write(&self, mut sealing: Sealing) -> Result<()> {
        for kind in KINDS {
            let mut names = Vec::new();
            for label in labels(&self.reader, kind) {
                for column in self.columns(kind, label) {
                    self.column(&mut sealing, column, &mut names)?;
                }
            }
            sealing.names(kind, names)?;
        }
        for outgoing in [true, false] {
            for edges in labels(&self.reader, ElementKind::Edge) {
                for vertices in labels(&self.reader, ElementKind::Vertex) {
                    if self.may_join(outgoing, vertices, edges) {
                        self.lists(&mut sealing, outgoing, vertices, edges)?;
                    }
                }
            }
        }
        sealing.finish()
    }

    /// Fails if the work is to stop.
    fn check(&self) -> Result<()> {
        if (self.cancelled)() { Err(GraphError::Cancelled) } else { Ok(()) }
    }

    fn columns(&self, kind: ElementKind, label: LabelId) -> Vec<Column> {
        let mut columns = vec![Column::external(kind, label)];
        match kind {
            ElementKind::Vertex => columns.push(Column::further(label)),
            ElementKind::Edge => columns.extend([Column::ends(label), Column::time(label)]),
        }
        let properties = self.reader.schema.label_schema(kind, label).into_iter().flat_map(|label| &label.properties);
        columns.extend(properties.map(|property| Column::property(kind, label, property.key)));
        columns
    }

    fn chunks(&self, kind: ElementKind, label: LabelId) -> u64 {
        self.contents.end(kind, label).div_ceil(POSITIONS as u64)
    }

    /// Seals a column, and gathers the names that are in it.
    fn column(&self, sealing: &mut Sealing, column: Column, names: &mut Vec<(u64, u64)>) -> Result<()> {
        for chunk in 0..self.chunks(column.kind, column.label) {
            self.check()?;
            if column == Column::ends(column.label) && column.kind == ElementKind::Edge {
                let edges = self.ends(column.label, chunk)?;
                if edges.iter().any(Option::is_some) {
                    sealing.column(column, chunk, |out| column::encode_ends(out, &edges))?;
                }
                continue;
            }
            let cells = self.cells(column, chunk)?;
            if column == Column::external(column.kind, column.label) {
                for (place, cell) in (chunk * POSITIONS as u64..).zip(&cells) {
                    if let Some(id) = external(cell.clone())? {
                        names.push((names::hash(&id), raw_id(column, place)));
                    }
                }
            }
            if cells.iter().any(|cell| !cell.is_absent()) {
                sealing.column(column, chunk, |out| column::encode(out, &cells))?;
            }
        }
        Ok(())
    }

    /// Calls `f` with the blocks of a chunk, and the position of each.
    fn each_block(
        &self,
        column: Column,
        chunk: u64,
        mut f: impl FnMut(usize, &crate::block::Block<'_>) -> Result<()>,
    ) -> Result<()> {
        for block in chunk * BLOCKS..(chunk + 1) * BLOCKS {
            if let Some(cells) = self.reader.block(column, block)? {
                f((block % BLOCKS) as usize * SLOTS, &cells)?;
            }
        }
        Ok(())
    }

    fn cells(&self, column: Column, chunk: u64) -> Result<Vec<Cell>> {
        let mut all = vec![Cell::Absent; self.positions(column.kind, column.label, chunk)];
        self.each_block(column, chunk, |first, cells| {
            slots(cells.present).try_for_each(|slot| {
                all[first + slot] = cells.cell(slot)?;
                Ok(())
            })
        })?;
        Ok(all)
    }

    fn ends(&self, label: LabelId, chunk: u64) -> Result<Vec<Option<EdgeRef>>> {
        let mut all = vec![None; self.positions(ElementKind::Edge, label, chunk)];
        self.each_block(Column::ends(label), chunk, |first, cells| {
            slots(cells.present).try_for_each(|slot| {
                all[first + slot] = cells.edge(EdgeId(0), slot)?;
                Ok(())
            })
        })?;
        Ok(all)
    }

    fn positions(&self, kind: ElementKind, label: LabelId, chunk: u64) -> usize {
        let rest = self.contents.end(kind, label) - chunk * POSITIONS as u64;
        usize::try_from(rest).unwrap_or(usize::MAX).min(POSITIONS)
    }

    fn may_join(&self, outgoing: bool, vertices: LabelId, edges: LabelId) -> bool {
        let ends = &self.reader.schema.edge_labels[usize::from(edges.0)].ends;
        ends.iter().any(|(source, target)| vertices == if outgoing { *source } else { *target })
    }

    fn lists(&self, sealing: &mut Sealing, outgoing: bool, vertices: LabelId, edges: LabelId) -> Result<()> {
        let direction = if outgoing { Direction::Out } else { Direction::In };
        let wants = Wants { rows: true, neighbors: true, edges: true };
        let hop = Hop { direction, labels: Some(vec![edges]), limit: None, wants };
        let mut found = Adjacency::default();
        for chunk in 0..self.chunks(ElementKind::Vertex, vertices) {
            self.check()?;
            let first = chunk * POSITIONS as u64;
            let n = self.positions(ElementKind::Vertex, vertices, chunk);
            let from: Vec<VertexId> = (first..first + n as u64).map(|place| vertex_at(vertices, place)).collect();
            found.clear();
            self.reader.neighbors(&from, &hop, &mut found)?;
            if found.rows.is_empty() {
                continue;
            }
            if u32::try_from(found.rows.len()).is_err() {
                let what = format!("edges of one label of {POSITIONS} vertices in a row that are sealed");
                return Err(GraphError::Limit { what, limit: u32::MAX.into() });
            }
            let mut lists: Vec<Vec<Entry>> = vec![Vec::new(); n];
            for (at, row) in found.rows.iter().enumerate() {
                lists[*row as usize].push(Entry { neighbor: found.neighbors[at], edge: place(found.edges[at].id.0) });
            }
            sealing.lists(outgoing, vertices, edges, chunk, |out| adjacency::encode(out, &lists))?;
        }
        Ok(())
    }
}

fn raw_id(column: Column, place: u64) -> u64 {
    match column.kind {
        ElementKind::Vertex => vertex_at(column.label, place).0,
        ElementKind::Edge => edge_at(column.label, place).0,
    }
}

#[cfg(test)]
mod tests {
    use mangrove_graph::{GraphView, GraphWrite, Statistics};

    use super::*;
    use crate::store::HotOptions;

    #[test]
    fn who_knows_no_segments_refuses_what_stands_on_one() {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let hot = Hot::open(directory.path(), &HotOptions::default()).expect("a store");
        let format = || {
            let t = hot.begin().expect("a transaction");
            t.table("meta").get(t.txn(), b"format").expect("meta").map(<[u8]>::to_vec)
        };
        assert_eq!(format(), Some(1u32.to_le_bytes().to_vec()));
        let mut t = hot.begin().expect("a transaction");
        let label = t.ensure_label(ElementKind::Vertex, "person").expect("a label");
        t.add_vertices(label, &[None], &mut Vec::new()).expect("a vertex");
        t.commit().expect("a commit");
        hot.compact(Writer::this_thread(), Patience::ENDLESS).expect("a compaction");
        assert_eq!(format(), Some(2u32.to_le_bytes().to_vec()));
        let counts = hot.snapshot().and_then(|view| view.statistics()).expect("counts");
        assert_eq!(counts, Statistics { vertices: vec![1], edges: vec![] });
    }
}
