//! Columns and elements as they travel.

use std::io::Cursor;
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_ipc::reader::StreamReader;
use arrow_ipc::writer::StreamWriter;
use arrow_schema::{Field, Schema};
use mangrove_graph::{
    Adjacency, Cell, EdgeId, EdgeRef, ElementIds, ElementKind, Elements, GraphError, PropertyColumn, Result, VertexId, Wants,
};
use serde::{Deserialize, Serialize};

use super::ids::Ids;

/// Fewer values than this travel one by one: the frame of an Arrow array costs more.
const ROWS_OF_ARRAYS: usize = 64;

/// What elements have under a key.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum SentColumn {
    Absent(u64),
    Cells(Vec<Cell>),
    /// A stream of Arrow IPC, with one column.
    Array(Vec<u8>),
}

impl SentColumn {
    pub fn new(column: PropertyColumn) -> Result<Self> {
        Ok(match column {
            PropertyColumn::Absent(rows) => SentColumn::Absent(rows as u64),
            PropertyColumn::Cells(cells) => SentColumn::Cells(cells),
            PropertyColumn::Typed(array) if array.len() < ROWS_OF_ARRAYS => {
                let column = PropertyColumn::Typed(array);
                SentColumn::Cells((0..column.len()).map(|row| column.cell(row)).collect())
            }
            PropertyColumn::Typed(array) => {
                let field = Field::new("c", array.data_type().clone(), true);
                let batch =
                    RecordBatch::try_new(Arc::new(Schema::new(vec![field])), vec![array]).map_err(GraphError::storage)?;
                let mut out = Vec::new();
                let mut writer = StreamWriter::try_new(&mut out, &batch.schema()).map_err(GraphError::storage)?;
                writer.write(&batch).and_then(|()| writer.finish()).map_err(GraphError::storage)?;
                drop(writer);
                SentColumn::Array(out)
            }
        })
    }

    pub fn into_column(self) -> Result<PropertyColumn> {
        Ok(match self {
            SentColumn::Absent(rows) => PropertyColumn::Absent(rows as usize),
            SentColumn::Cells(cells) => PropertyColumn::Cells(cells),
            SentColumn::Array(bytes) => {
                let mut stream = StreamReader::try_new(Cursor::new(bytes), None).map_err(GraphError::storage)?;
                let batch = stream.next().ok_or_else(|| damaged("a column"))?.map_err(GraphError::storage)?;
                PropertyColumn::Typed(batch.columns().first().ok_or_else(|| damaged("a column"))?.clone())
            }
        })
    }
}

/// A batch of elements. Edges go without their ends: who reads looks at the ids only.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct SentElements {
    kind: ElementKind,
    ids: Ids,
}

impl SentElements {
    pub fn new(elements: Elements<'_>) -> Self {
        let ids = match elements {
            Elements::Vertices(ids) => ids.iter().map(|id| id.0).collect(),
            Elements::Edges(edges) => edges.iter().map(|edge| edge.id.0).collect(),
        };
        Self { kind: elements.kind(), ids: Ids(ids) }
    }

    /// Their kind and raw ids.
    pub fn raw(&self) -> (ElementKind, &[u64]) {
        (self.kind, &self.ids.0)
    }

    pub fn into_elements(self) -> ElementIds {
        match self.kind {
            ElementKind::Vertex => ElementIds::Vertices(vertices(self.ids)),
            ElementKind::Edge => {
                let edge = |id| EdgeRef { id: EdgeId(id), source: VertexId(0), target: VertexId(0) };
                ElementIds::Edges(self.ids.0.into_iter().map(edge).collect())
            }
        }
    }
}

/// Edges with their ends.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct SentEdges {
    ids: Ids,
    sources: Ids,
    targets: Ids,
}

impl SentEdges {
    pub fn new(edges: &[EdgeRef]) -> Self {
        Self {
            ids: Ids(edges.iter().map(|edge| edge.id.0).collect()),
            sources: Ids(edges.iter().map(|edge| edge.source.0).collect()),
            targets: Ids(edges.iter().map(|edge| edge.target.0).collect()),
        }
    }

    pub fn into_edges(self) -> Result<Vec<EdgeRef>> {
        if self.ids.0.len() != self.sources.0.len() || self.ids.0.len() != self.targets.0.len() {
            return Err(damaged("edges"));
        }
        let ends = self.sources.0.into_iter().zip(self.targets.0);
        let edge = |(id, (source, target))| EdgeRef { id: EdgeId(id), source: VertexId(source), target: VertexId(target) };
        Ok(self.ids.0.into_iter().zip(ends).map(edge).collect())
    }
}

/// Elements with their ends.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum SentIds {
    Vertices(Ids),
    Edges(SentEdges),
}

impl SentIds {
    pub fn new(elements: &ElementIds) -> Self {
        match elements {
            ElementIds::Vertices(all) => SentIds::Vertices(ids(all)),
            ElementIds::Edges(edges) => SentIds::Edges(SentEdges::new(edges)),
        }
    }

    pub fn into_ids(self) -> Result<ElementIds> {
        Ok(match self {
            SentIds::Vertices(ids) => ElementIds::Vertices(vertices(ids)),
            SentIds::Edges(edges) => ElementIds::Edges(edges.into_edges()?),
        })
    }
}

/// What a hop reached: for each row how many, and then all of them.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct SentHops {
    /// Empty unless rows are wanted.
    counts: Vec<u32>,
    neighbors: Ids,
    edges: SentEdges,
}

impl SentHops {
    pub fn new(found: &Adjacency, rows: usize, wants: Wants) -> Self {
        let mut counts = vec![0; if wants.rows { rows } else { 0 }];
        found.rows.iter().for_each(|row| counts[*row as usize] += 1);
        Self { counts, neighbors: ids(&found.neighbors), edges: SentEdges::new(&found.edges) }
    }

    pub fn append_to(self, out: &mut Adjacency) -> Result<()> {
        for (row, count) in (0..).zip(&self.counts) {
            out.rows.extend(std::iter::repeat_n(row, *count as usize));
        }
        out.neighbors.extend(vertices(self.neighbors));
        out.edges.extend(self.edges.into_edges()?);
        Ok(())
    }
}

pub fn ids(vertices: &[VertexId]) -> Ids {
    Ids(vertices.iter().map(|vertex| vertex.0).collect())
}

pub fn vertices(ids: Ids) -> Vec<VertexId> {
    ids.0.into_iter().map(VertexId).collect()
}

pub fn damaged(what: &str) -> GraphError {
    GraphError::Unavailable(format!("another process sent {what} that cannot be read"))
}
