//! A batch by the shards that answer for it, and their answers in the order of the batch.

use arrow_array::{Array, ArrayRef, new_null_array};
use arrow_select::interleave::interleave;
use mangrove_graph::{Adjacency, Cell, EdgeId, EdgeRef, ElementIds, Elements, PropertyColumn, VertexId, Wants};

use crate::names::EDGE_LABELS_MAX;

/// The rows of a batch that each shard answers for. Rows of shards that the graph does not have get no answer, as elements that are not there.
pub struct Split {
    /// By shard; only those that have rows. Rows are in order.
    pub parts: Vec<(u16, Vec<u32>)>,
    rows: usize,
}

impl Split {
    /// `owners` gives the shard of each row.
    pub fn new(owners: impl Iterator<Item = u16>, shards: u16) -> Self {
        let owners: Vec<u16> = owners.collect();
        let rows = owners.len();
        if let Some(only) = owners.first().filter(|first| **first < shards && owners.iter().all(|owner| owner == *first)) {
            return Self { parts: vec![(*only, (0..rows as u32).collect())], rows };
        }
        let mut parts: Vec<Vec<u32>> = vec![Vec::new(); usize::from(shards)];
        for (row, owner) in owners.into_iter().enumerate() {
            if let Some(part) = parts.get_mut(usize::from(owner)) {
                part.push(row as u32);
            }
        }
        let parts = (0..).zip(parts).filter(|(_, rows)| !rows.is_empty()).collect();
        Self { parts, rows }
    }

    /// Parts of a batch, by who answered for them, each with its rows in order.
    pub fn of_parts(parts: Vec<(u16, Vec<u32>)>) -> Self {
        let rows = parts.iter().map(|(_, rows)| rows.len()).sum();
        Self { parts, rows }
    }

    /// Parts of these sizes that lie one behind the other.
    pub fn in_order(sizes: impl Iterator<Item = usize>) -> Self {
        let mut end = 0;
        let part = |size: usize| {
            let start = end;
            end += size as u32;
            (0, (start..end).collect())
        };
        Self::of_parts(sizes.map(part).collect())
    }

    pub fn of(elements: Elements<'_>, shards: u16) -> Self {
        match elements {
            Elements::Vertices(ids) => Self::new(ids.iter().map(|id| id.shard()), shards),
            Elements::Edges(edges) => Self::new(edges.iter().map(|edge| home_of_edge(edge.id)), shards),
        }
    }

    /// The shard that answers for all rows, if there is only one.
    pub fn only(&self) -> Option<u16> {
        if let [(shard, rows)] = &self.parts[..] { Some(*shard).filter(|_| rows.len() == self.rows) } else { None }
    }

    /// Puts answers together, one for each row, in the order of the batch.
    pub fn joined<T: Clone + Default>(&self, answers: Vec<Vec<T>>) -> Vec<T> {
        let mut out = vec![T::default(); self.rows];
        for ((_, rows), answers) in self.parts.iter().zip(answers) {
            rows.iter().zip(answers).for_each(|(row, answer)| out[*row as usize] = answer);
        }
        out
    }

    /// Puts hops together, one of each part and each with its rows, and appends the edges in the order of the batch.
    pub fn joined_hops(&self, rows: usize, wants: Wants, found: &[Adjacency], out: &mut Adjacency) {
        // For each row, its answer: which one, and the range there.
        let mut ranges = vec![(0, 0..0); rows];
        for (part, ((_, rows), answer)) in self.parts.iter().zip(found).enumerate() {
            let mut at = 0;
            for (number, row) in rows.iter().enumerate() {
                let start = at;
                while answer.rows.get(at).is_some_and(|of| *of as usize == number) {
                    at += 1;
                }
                ranges[*row as usize] = (part, start..at);
            }
        }
        for (row, (part, range)) in ranges.into_iter().enumerate() {
            let Some(answer) = found.get(part) else { continue };
            if wants.rows {
                out.rows.extend(range.clone().map(|_| row as u32));
            }
            if wants.neighbors {
                out.neighbors.extend_from_slice(&answer.neighbors[range.clone()]);
            }
            if wants.edges {
                out.edges.extend_from_slice(&answer.edges[range]);
            }
        }
    }

    /// Puts columns together, one of each part.
    pub fn joined_columns(&self, columns: &[PropertyColumn]) -> PropertyColumn {
        if columns.iter().all(|column| matches!(column, PropertyColumn::Absent(_))) {
            return PropertyColumn::Absent(self.rows);
        }
        self.joined_arrays(columns).unwrap_or_else(|| {
            let cells = |column: &PropertyColumn| (0..column.len()).map(|at| column.cell(at)).collect::<Vec<Cell>>();
            PropertyColumn::Cells(self.joined(columns.iter().map(cells).collect()))
        })
    }

    /// `None` if the columns are not arrays of one type, or too large for one array.
    fn joined_arrays(&self, columns: &[PropertyColumn]) -> Option<PropertyColumn> {
        let array =
            |column: &PropertyColumn| if let PropertyColumn::Typed(array) = column { Some(array.clone()) } else { None };
        let data_type = columns.iter().find_map(array)?.data_type().clone();
        let mut arrays: Vec<ArrayRef> = Vec::with_capacity(columns.len());
        for column in columns {
            arrays.push(match column {
                PropertyColumn::Absent(rows) => new_null_array(&data_type, *rows),
                PropertyColumn::Typed(array) if *array.data_type() == data_type => array.clone(),
                _ => return None,
            });
        }
        // A row without an answer has a null.
        let mut places = vec![(arrays.len(), 0); self.rows];
        arrays.push(new_null_array(&data_type, 1));
        for (part, (_, rows)) in self.parts.iter().enumerate() {
            rows.iter().enumerate().for_each(|(at, row)| places[*row as usize] = (part, at));
        }
        let arrays: Vec<&dyn Array> = arrays.iter().map(AsRef::as_ref).collect();
        interleave(&arrays, &places).ok().map(PropertyColumn::Typed)
    }
}

/// The shard that has an edge. Edges of labels that a graph in shards cannot have are nowhere.
pub fn home_of_edge(edge: EdgeId) -> u16 {
    if usize::from(edge.label().0) < EDGE_LABELS_MAX { edge.shard() } else { u16::MAX }
}

/// The elements of some rows.
pub fn rows_of(elements: Elements<'_>, rows: &[u32]) -> ElementIds {
    match elements {
        Elements::Vertices(ids) => {
            ElementIds::Vertices(rows.iter().map(|row| ids[*row as usize]).collect::<Vec<VertexId>>())
        }
        Elements::Edges(edges) => ElementIds::Edges(rows.iter().map(|row| edges[*row as usize]).collect::<Vec<EdgeRef>>()),
    }
}
