//! Collects edges into long runs and writes each run sorted by (source, time). So the ids, the adjacency and the properties of a
//! vertex's edges lie side by side.
//!
//! ```text
//! batch, batch, batch … of one label --4M edges or 384 MB--> sort --> add_edges --> a key at a time: concat, take, set
//! ```

use arrow_array::{Array, ArrayRef, UInt32Array, new_null_array};
use arrow_schema::DataType;
use mangrove_graph::{
    Cell, EdgeId, EdgeRef, Elements, ExternalId, GraphWrite, KeyId, LabelId, NewEdge, PropertyColumn, Result, Value,
    VertexId,
};

use crate::batches::rows::{RawCell, Values};
use crate::terms::options::MemoryLimits;

/// A batch of resolved edges.
pub struct EdgeBatch {
    pub sources: Vec<VertexId>,
    pub targets: Vec<VertexId>,
    pub ids: Option<Vec<Option<ExternalId>>>,
    /// The key of their times, if the label has one.
    pub time_key: Option<KeyId>,
    /// The integers by which edges are ordered. A column holds the value itself, unless it is this integer.
    pub times: Option<Vec<Option<i64>>>,
    pub columns: Vec<(KeyId, Values)>,
}

/// Edges of one label that wait to be written.
#[derive(Default)]
pub struct Run {
    sources: Vec<VertexId>,
    targets: Vec<VertexId>,
    /// Empty until some edge has an id. Then one entry for each edge.
    ids: Vec<Option<ExternalId>>,
    time_key: Option<KeyId>,
    times: Vec<Option<i64>>,
    columns: Vec<RunColumn>,
    bytes: usize,
}

struct RunColumn {
    key: KeyId,
    /// Pieces of the column, each with its first row. Rows between pieces have no value.
    pieces: Vec<(usize, Values)>,
}

impl Run {
    pub fn len(&self) -> usize {
        self.sources.len()
    }

    pub fn is_full(&self, limits: MemoryLimits) -> bool {
        self.len() >= limits.run_edges_max || self.bytes + self.len() * 48 >= limits.run_bytes_max
    }

    pub fn add(&mut self, batch: EdgeBatch) {
        let start = self.len();
        self.sources.extend(batch.sources);
        self.targets.extend(batch.targets);
        if let Some(ids) = batch.ids {
            self.bytes += ids.len() * 48;
            self.ids.resize(start, None);
            self.ids.extend(ids);
        }
        self.time_key = self.time_key.or(batch.time_key);
        if let Some(times) = batch.times {
            self.times.resize(start, None);
            self.times.extend(times);
        }
        for (key, values) in batch.columns {
            if matches!(values, Values::Absent(_)) {
                continue;
            }
            self.bytes += bytes_of(&values);
            match self.columns.iter_mut().find(|c| c.key == key) {
                Some(column) => column.pieces.push((start, values)),
                None => self.columns.push(RunColumn { key, pieces: vec![(start, values)] }),
            }
        }
    }

    /// Writes the run and empties it. Returns the first of its edges.
    pub fn write(&mut self, label: LabelId, graph: &mut dyn GraphWrite) -> Result<Option<EdgeId>> {
        let mut run = std::mem::take(self);
        let count = run.len();
        if count == 0 {
            return Ok(None);
        }
        run.ids.resize(if run.ids.is_empty() { 0 } else { count }, None);
        run.times.resize(if run.times.is_empty() { 0 } else { count }, None);
        let order = run.order();
        let (times, columns) = run.columns.drain(..).partition(|column| Some(column.key) == run.time_key);
        run.columns = columns;
        let edges = run.new_edges(order.as_deref(), times);
        (run.sources, run.targets, run.ids, run.times) = Default::default();
        let mut added = Vec::with_capacity(count);
        graph.add_edges(label, &edges, &mut added)?;
        let refs = edges.iter().zip(&added).map(|(edge, id)| EdgeRef { id: *id, source: edge.source, target: edge.target });
        let refs: Vec<EdgeRef> = refs.collect();
        drop(edges);
        for column in run.columns {
            let key = column.key;
            for values in column.in_order(count, order.as_deref()) {
                graph.set_properties(Elements::Edges(&refs), key, &values)?;
            }
        }
        Ok(added.first().copied())
    }

    /// The rows sorted by (source, time), older edges first among equals. `None` if they are already sorted.
    fn order(&self) -> Option<Vec<u32>> {
        let time = |row: usize| self.times.get(row).copied().flatten().unwrap_or(i64::MIN);
        let sorted = (1..self.len()).all(|row| (self.sources[row - 1], time(row - 1)) <= (self.sources[row], time(row)));
        if sorted {
            return None;
        }
        let rows = 0..self.len() as u32;
        if self.times.is_empty() {
            let mut keys: Vec<(u64, u32)> = rows.map(|row| (self.sources[row as usize].0, row)).collect();
            keys.sort_unstable();
            return Some(keys.into_iter().map(|(_, row)| row).collect());
        }
        let mut keys: Vec<(u64, i64, u32)> =
            rows.map(|row| (self.sources[row as usize].0, time(row as usize), row)).collect();
        keys.sort_unstable();
        Some(keys.into_iter().map(|(_, _, row)| row).collect())
    }

    /// The edges in the order of writing. `times` holds the columns of their times if these are not 64-bit integers.
    fn new_edges(&mut self, order: Option<&[u32]>, times: Vec<RunColumn>) -> Vec<NewEdge> {
        let count = self.sources.len();
        let times: Vec<PropertyColumn> = times.into_iter().flat_map(|column| column.in_order(count, order)).collect();
        let edge = |at: usize| {
            let row = order.map_or(at, |order| order[at] as usize);
            let time = times.iter().find_map(|column| column.cell(at).values().next().cloned());
            NewEdge {
                source: self.sources[row],
                target: self.targets[row],
                id: self.ids.get_mut(row).and_then(Option::take),
                time: time.or_else(|| self.times.get(row).copied().flatten().map(Value::Int64)),
            }
        };
        (0..count).map(edge).collect()
    }
}

fn bytes_of(values: &Values) -> usize {
    match values {
        Values::Absent(_) => 0,
        Values::Typed(array) => array.get_array_memory_size(),
        Values::Cells(cells) => cells.len() * 64,
    }
}

impl RunColumn {
    /// The column in the order of writing: one array for each type of its pieces, and cells for all other pieces.
    fn in_order(self, count: usize, order: Option<&[u32]>) -> Vec<PropertyColumn> {
        let mut types: Vec<DataType> = Vec::new();
        for (_, piece) in &self.pieces {
            if let Values::Typed(array) = piece
                && !types.contains(array.data_type())
            {
                types.push(array.data_type().clone());
            }
        }
        let mut columns: Vec<PropertyColumn> = types.iter().map(|t| self.typed(t, count, order)).collect();
        if self.pieces.iter().any(|(_, piece)| matches!(piece, Values::Cells(_))) {
            columns.push(self.cells(count, order));
        }
        columns
    }

    fn typed(&self, t: &DataType, count: usize, order: Option<&[u32]>) -> PropertyColumn {
        let mut parts: Vec<ArrayRef> = Vec::new();
        let mut at = 0;
        for (start, piece) in &self.pieces {
            let Values::Typed(array) = piece else { continue };
            if array.data_type() != t {
                continue;
            }
            if *start > at {
                parts.push(new_null_array(t, start - at));
            }
            parts.push(array.clone());
            at = start + array.len();
        }
        if count > at {
            parts.push(new_null_array(t, count - at));
        }
        let parts: Vec<&dyn Array> = parts.iter().map(|part| &**part).collect();
        let whole = arrow_select::concat::concat(&parts).expect("the pieces have one type");
        PropertyColumn::Typed(match order {
            None => whole,
            Some(order) => {
                let order = UInt32Array::from(order.to_vec());
                arrow_select::take::take(&whole, &order, None).expect("rows are within the run")
            }
        })
    }

    fn cells(&self, count: usize, order: Option<&[u32]>) -> PropertyColumn {
        let mut cells = vec![Cell::Absent; count];
        for (start, piece) in &self.pieces {
            if let Values::Cells(piece) = piece {
                for (at, cell) in piece.iter().enumerate() {
                    cells[start + at] = plain_cell(cell);
                }
            }
        }
        PropertyColumn::Cells(match order {
            None => cells,
            Some(order) => order.iter().map(|row| std::mem::take(&mut cells[*row as usize])).collect(),
        })
    }
}

/// A cell as an edge can hold it. Several values become a list.
fn plain_cell(cell: &RawCell) -> Cell {
    match cell {
        RawCell::Absent => Cell::Absent,
        RawCell::One(value) => Cell::One(value.clone()),
        RawCell::Many(values) => Cell::One(Value::list(values.iter().map(|v| v.value.clone()).collect())),
    }
}
