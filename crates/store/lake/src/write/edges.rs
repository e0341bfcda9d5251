//! Writes the edges of a type, in parts by one end.

use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use arrow_array::{ArrayRef, Int64Array};
use arrow_schema::{DataType, Field};
use mangrove_graph::{
    Adjacency, Direction, EdgeRef, ElementKind, Elements, GraphView, Hop, LabelId, Schema, VertexId, Wants,
};

use super::chunk::ChunkFile;
use super::column::{ColumnPlan, Plans};
use super::{GraphArOptions, Written, publish};
use crate::error::{LakeError, Result};
use crate::info::{AdjacentList, EdgeInfo, FileType, OFFSET, Order, Prefix, SOURCE, Side, TARGET};

/// Edges that are read at a time, unless one vertex has more.
const BATCH_EDGES: u64 = 1 << 16;
/// Vertices whose edges are read at a time.
const BATCH: u64 = 4096;
/// Edges that are written at a time.
const ROWS: usize = 8192;

/// One list of the edges of a type.
pub struct EdgeTask {
    label: LabelId,
    source: LabelId,
    target: LabelId,
    /// The list among those of the type.
    list: usize,
    pub info: EdgeInfo,
}

impl EdgeTask {
    /// All lists of a type.
    pub fn all(
        schema: &Schema,
        (label, source, target): (LabelId, LabelId, LabelId),
        plans: &Plans,
        options: &GraphArOptions,
        prefix: Prefix,
    ) -> impl Iterator<Item = EdgeTask> {
        let list = |order: &Order| AdjacentList::new(*order, FileType::Parquet);
        let info = EdgeInfo {
            source: schema.label_name(ElementKind::Vertex, source),
            name: schema.label_name(ElementKind::Edge, label),
            target: schema.label_name(ElementKind::Vertex, target),
            chunk_size: options.edge_chunk,
            source_chunk_size: options.vertex_chunk,
            target_chunk_size: options.vertex_chunk,
            is_directed: true,
            prefix,
            lists: options.lists.iter().map(list).collect(),
            groups: plans.edges[&label].groups(&options.groups),
        };
        (0..info.lists.len()).map(move |list| EdgeTask { label, source, target, list, info: info.clone() })
    }

    /// Whether this is the first list of its type.
    pub fn is_first(&self) -> bool {
        self.list == 0
    }

    fn order(&self) -> Order {
        self.info.lists[self.list].order
    }

    /// What the name of the YAML file begins with.
    pub fn file_name(&self) -> &str {
        self.info.prefix.last()
    }

    fn near(&self) -> LabelId {
        match self.order().by {
            Side::Source => self.source,
            Side::Target => self.target,
        }
    }

    fn far(&self) -> LabelId {
        match self.order().by {
            Side::Source => self.target,
            Side::Target => self.source,
        }
    }

    pub fn run(&self, view: &dyn GraphView, written: &Written<'_>) -> Result<()> {
        let list = &self.info.lists[self.list];
        let folder = written.root.join(self.info.prefix.join(&list.prefix).as_str());
        let count = written.orders.count_of(self.near());
        let size = self.info.vertices_to_chunk(list.order.by);
        for part in 0..count.div_ceil(size) {
            let vertices = part * size..count.min((part + 1) * size);
            Part::new(self, written, folder.clone(), part).write(view, vertices)?;
        }
        publish::write_file(&folder.join("vertex_count"), &count.to_le_bytes())
    }
}

/// The file of a group of properties, and the columns in it.
type GroupFile<'a> = (ChunkFile, Vec<&'a ColumnPlan>);

/// The edges of one chunk of vertices.
struct Part<'a> {
    task: &'a EdgeTask,
    written: &'a Written<'a>,
    folder: PathBuf,
    part: u64,
    /// The files that edges go to now: the ends, and each group of properties with its columns.
    open: Option<(ChunkFile, Vec<GroupFile<'a>>)>,
    edges: u64,
    /// Edges that were not written yet.
    near: Vec<i64>,
    far: Vec<i64>,
    refs: Vec<EdgeRef>,
}

impl<'a> Part<'a> {
    fn new(task: &'a EdgeTask, written: &'a Written<'a>, folder: PathBuf, part: u64) -> Self {
        Self { task, written, folder, part, open: None, edges: 0, near: Vec::new(), far: Vec::new(), refs: Vec::new() }
    }

    fn write(mut self, view: &dyn GraphView, vertices: Range<u64>) -> Result<()> {
        let mut offsets = vec![0i64];
        let mut start = vertices.start;
        while start < vertices.end {
            self.written.counts.check()?;
            start = self.write_batch(view, start..vertices.end, &mut offsets)?;
        }
        self.flush(view, 0)?;
        self.close()?;
        if self.task.order().is_sorted {
            let offset = Field::new(OFFSET, DataType::Int64, false);
            let mut file = ChunkFile::create(self.folder.join(format!("offset/chunk{}", self.part)), vec![offset])?;
            file.write(vec![Arc::new(Int64Array::from(offsets))])?;
            file.finish()?;
        }
        publish::write_file(&self.folder.join(format!("edge_count{}", self.part)), &self.edges.to_le_bytes())
    }

    /// Reads the edges of the first of some vertices. Returns the vertex to go on with.
    fn write_batch(&mut self, view: &dyn GraphView, vertices: Range<u64>, offsets: &mut Vec<i64>) -> Result<u64> {
        let (near, far) = (self.task.near(), self.task.far());
        let orders = self.written.orders;
        let (Some(order), Some(others)) = (orders.of(near), orders.of(far)) else { return Ok(vertices.end) };
        let batch = order.slice(vertices.start..vertices.end.min(vertices.start + BATCH));
        let direction = if self.task.order().by == Side::Source { Direction::Out } else { Direction::In };
        let wants = Wants { rows: true, neighbors: true, edges: true };
        let hop = Hop::along(direction, Some(vec![self.task.label]), wants);
        let from = fewer(view, &batch, &hop)?;
        let mut found = Adjacency::default();
        view.neighbors(from, &hop, &mut found)?;
        let mut at = 0;
        for (row, _) in from.iter().enumerate() {
            let index = (vertices.start + row as u64) as i64;
            let first = self.far.len();
            while found.rows.get(at) == Some(&(row as u32)) {
                if found.neighbors[at].label() == far {
                    let other = others.number(found.neighbors[at]).ok_or_else(|| missing(found.neighbors[at]))?;
                    self.far.push(other as i64);
                    self.refs.push(found.edges[at]);
                }
                at += 1;
            }
            self.near.resize(self.far.len(), index);
            if self.task.order().is_sorted {
                sort_run(&mut self.far[first..], &mut self.refs[first..]);
            }
            offsets.push((self.edges + self.far.len() as u64) as i64);
            self.flush(view, ROWS)?;
        }
        Ok(vertices.start + from.len() as u64)
    }

    /// Writes buffered edges if there are more than `least`.
    fn flush(&mut self, view: &dyn GraphView, least: usize) -> Result<()> {
        if self.far.len() <= least {
            return Ok(());
        }
        let size = self.task.info.chunk_size;
        let mut start = 0;
        while start < self.far.len() {
            let free = (size - self.edges % size) as usize;
            let end = self.far.len().min(start + free.min(ROWS));
            self.write_rows(view, start..end)?;
            self.edges += (end - start) as u64;
            if self.edges.is_multiple_of(size) {
                self.close()?;
            }
            start = end;
        }
        self.near.clear();
        self.far.clear();
        self.refs.clear();
        Ok(())
    }

    fn write_rows(&mut self, view: &dyn GraphView, rows: Range<usize>) -> Result<()> {
        self.written.counts.check()?;
        let (ends, groups) = match &mut self.open {
            Some(open) => open,
            none => {
                let chunk = self.edges / self.task.info.chunk_size;
                let file = |folder: Prefix| {
                    self.folder.join(folder.folder(format_args!("part{}", self.part)).file(format_args!("chunk{chunk}")))
                };
                let fields = [SOURCE, TARGET].map(|name| Field::new(name, DataType::Int64, false)).to_vec();
                let ends = ChunkFile::create(file(Prefix::default().folder("adj_list")), fields)?;
                let mut groups = Vec::with_capacity(self.task.info.groups.len());
                for group in &self.task.info.groups {
                    let columns: Vec<&ColumnPlan> = self.written.plans.edges[&self.task.label].columns_of(group).collect();
                    let fields = columns.iter().map(|column| column.field()).collect();
                    groups.push((ChunkFile::create(file(group.prefix.clone()), fields)?, columns));
                }
                none.insert((ends, groups))
            }
        };
        let array = |all: &[i64]| Arc::new(Int64Array::from(all[rows.clone()].to_vec())) as ArrayRef;
        let (near, far) = (array(&self.near), array(&self.far));
        ends.write(if self.task.order().by == Side::Source { vec![near, far] } else { vec![far, near] })?;
        for (file, columns) in groups {
            let edges = Elements::Edges(&self.refs[rows.clone()]);
            file.write(columns.iter().map(|column| column.array(view, edges)).collect::<Result<Vec<_>>>()?)?;
        }
        if self.task.is_first() {
            self.written.counts.edges.fetch_add(rows.len() as u64, Ordering::Relaxed);
        }
        Ok(())
    }

    fn close(&mut self) -> Result<()> {
        let Some((ends, groups)) = self.open.take() else { return Ok(()) };
        ends.finish()?;
        groups.into_iter().try_for_each(|(file, _)| file.finish())
    }
}

/// The first of some vertices, so many that they have few edges together.
fn fewer<'v>(view: &dyn GraphView, vertices: &'v [VertexId], hop: &Hop) -> Result<&'v [VertexId]> {
    let mut degrees = Vec::with_capacity(vertices.len());
    view.degrees(vertices, hop, &mut degrees)?;
    let mut edges = 0;
    let fits = |degree: &&u64| {
        edges += **degree;
        edges <= BATCH_EDGES
    };
    let taken = degrees.iter().take_while(fits).count();
    Ok(&vertices[..taken.clamp(1, vertices.len().max(1)).min(vertices.len())])
}

/// Sorts the edges of a vertex by the other end. Parallel edges stay in order.
fn sort_run(far: &mut [i64], refs: &mut [EdgeRef]) {
    if far.is_sorted() {
        return;
    }
    let mut both: Vec<(i64, EdgeRef)> = far.iter().copied().zip(refs.iter().copied()).collect();
    both.sort_by_key(|(far, _)| *far);
    for (at, (other, edge)) in both.into_iter().enumerate() {
        (far[at], refs[at]) = (other, edge);
    }
}

fn missing(vertex: VertexId) -> LakeError {
    mangrove_graph::GraphError::no_such(mangrove_graph::ElementId::Vertex(vertex)).into()
}
