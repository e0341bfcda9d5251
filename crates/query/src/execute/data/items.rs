//! The items that a batch of traversers stands on, by column.

use std::ops::Range;

use arrow_array::{Array, ArrayRef, UInt32Array};
use arrow_select::concat::concat;
use arrow_select::take::take;
use mangrove_graph::{EdgeRef, ElementIds, Value, ValueType, VertexId, column};

use crate::execute::data::bytes::value_bytes;
use crate::execute::data::maps::Maps;

#[derive(Clone, Debug)]
pub enum Items {
    Vertices(Vec<VertexId>),
    Edges(Vec<EdgeRef>),
    Values(Vec<Value>),
    /// Values of one type, none of them null and no collections, in an array form of [`mangrove_graph::column`].
    Column(ArrayRef),
    /// Maps by column, where later steps pass them on or read them by key.
    Maps(Maps),
}

impl Default for Items {
    fn default() -> Self {
        Items::Values(Vec::new())
    }
}

impl From<ElementIds> for Items {
    fn from(elements: ElementIds) -> Self {
        match elements {
            ElementIds::Vertices(ids) => Items::Vertices(ids),
            ElementIds::Edges(edges) => Items::Edges(edges),
        }
    }
}

impl Items {
    /// The values of an array without nulls.
    pub fn of_array(array: ArrayRef) -> Self {
        match array.data_type().is_nested() {
            true => Items::Values(values_of(&array).collect()),
            false => Items::Column(array),
        }
    }

    /// The narrowest form of `values`.
    pub fn from_values(values: Vec<Value>) -> Self {
        let vertices = values.iter().map(|v| match v {
            Value::Vertex(id) => Some(*id),
            _ => None,
        });
        match values.first() {
            Some(Value::Vertex(_)) => match vertices.collect() {
                Some(ids) => Items::Vertices(ids),
                None => Items::Values(values),
            },
            Some(Value::Edge(_)) => {
                let edges = values.iter().map(|v| match v {
                    Value::Edge(edge) => Some(*edge),
                    _ => None,
                });
                match edges.collect() {
                    Some(edges) => Items::Edges(edges),
                    None => Items::Values(values),
                }
            }
            _ => Items::Values(values),
        }
    }

    /// The type that all items have, if items of this type that a sort finds equal are equal. Floats need not be: there are two zeros.
    pub fn kind_told_apart(&self) -> Option<ValueType> {
        use ValueType::*;
        let kind = match self {
            Items::Vertices(_) => Vertex,
            Items::Edges(_) => Edge,
            Items::Values(values) => {
                let first = values.first()?.value_type();
                values.iter().all(|value| value.value_type() == first).then_some(first)?
            }
            Items::Column(array) if !array.is_empty() => column::value_at(array, 0).value_type(),
            Items::Column(_) | Items::Maps(_) => return None,
        };
        let is_told_apart = matches!(kind, Vertex | Edge | String | Uuid | Bool | Int8 | Int16 | Int32 | Int64 | Date);
        is_told_apart.then_some(kind)
    }

    pub fn len(&self) -> usize {
        match self {
            Items::Vertices(ids) => ids.len(),
            Items::Edges(edges) => edges.len(),
            Items::Values(values) => values.len(),
            Items::Column(array) => array.len(),
            Items::Maps(maps) => maps.rows,
        }
    }

    /// The items as a column, if they are one.
    pub fn column(&self) -> Option<&ArrayRef> {
        match self {
            Items::Column(array) => Some(array),
            _ => None,
        }
    }

    /// Whether the items are values or maps, rather than elements alone.
    pub fn are_values(&self) -> bool {
        !matches!(self, Items::Vertices(_) | Items::Edges(_))
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub fn get(&self, at: usize) -> Value {
        match self {
            Items::Vertices(ids) => Value::Vertex(ids[at]),
            Items::Edges(edges) => Value::Edge(edges[at]),
            Items::Values(values) => values[at].clone(),
            Items::Column(array) => column::value_at(array, at),
            Items::Maps(maps) => maps.value(at),
        }
    }

    pub fn gather(&self, rows: &[u32]) -> Self {
        match self {
            Items::Vertices(ids) => Items::Vertices(gather(ids, rows)),
            Items::Edges(edges) => Items::Edges(gather(edges, rows)),
            Items::Values(values) => Items::Values(gather(values, rows)),
            Items::Column(array) => taken(array, rows),
            Items::Maps(maps) => Items::Maps(maps.gather(rows)),
        }
    }

    /// A copy of the items in a range of rows.
    pub fn slice(&self, rows: Range<usize>) -> Self {
        match self {
            Items::Vertices(ids) => Items::Vertices(ids[rows].to_vec()),
            Items::Edges(edges) => Items::Edges(edges[rows].to_vec()),
            Items::Values(values) => Items::Values(values[rows].to_vec()),
            Items::Column(array) => Items::Column(array.slice(rows.start, rows.len())),
            Items::Maps(maps) => Items::Maps(maps.gather(&(rows.start as u32..rows.end as u32).collect::<Vec<_>>())),
        }
    }

    pub fn append(&mut self, other: Items) {
        match (&mut *self, other) {
            (mine, other) if mine.is_empty() => *mine = other,
            (_, other) if other.is_empty() => {}
            (Items::Vertices(a), Items::Vertices(mut b)) => a.append(&mut b),
            (Items::Edges(a), Items::Edges(mut b)) => a.append(&mut b),
            (Items::Maps(a), Items::Maps(b)) if a.is_like(&b) => a.append(b),
            (Items::Column(a), Items::Column(b)) if a.data_type() == b.data_type() => {
                *self = concatenated(&[a.clone(), b]);
            }
            (mine, other) => {
                let mut all = std::mem::take(mine).into_values();
                all.append(&mut other.into_values());
                *mine = Items::Values(all);
            }
        }
    }

    /// The items of all parts, in order. O(items), however many parts there are.
    pub fn joined(mut parts: Vec<Items>) -> Items {
        let is_like = |a: &Items, b: &Items| match (a, b) {
            (Items::Column(one), Items::Column(other)) => one.data_type() == other.data_type(),
            (Items::Maps(one), Items::Maps(other)) => one.is_like(other),
            _ => false,
        };
        let mut all = Items::default();
        for run in parts.chunk_by_mut(is_like) {
            all.append(if run.len() > 1 { Self::of_alike(run) } else { std::mem::take(&mut run[0]) });
        }
        all
    }

    /// Columns of one type, or maps of one shape, as one.
    fn of_alike(run: &mut [Items]) -> Items {
        let arrays: Vec<ArrayRef> = run.iter().filter_map(|part| part.column().cloned()).collect();
        if !arrays.is_empty() {
            return concatenated(&arrays);
        }
        let maps = run.iter_mut().filter_map(|part| match std::mem::take(part) {
            Items::Maps(maps) => Some(maps),
            _ => None,
        });
        Items::Maps(Maps::joined(maps.collect()))
    }

    /// What they take in memory, approximately.
    pub fn bytes(&self) -> usize {
        match self {
            Items::Vertices(ids) => size_of_val(&ids[..]),
            Items::Edges(edges) => size_of_val(&edges[..]),
            Items::Values(values) => values.iter().map(value_bytes).sum(),
            Items::Column(array) => column::bytes(array),
            Items::Maps(maps) => maps.bytes(),
        }
    }

    pub fn into_values(self) -> Vec<Value> {
        match self {
            Items::Vertices(ids) => ids.into_iter().map(Value::Vertex).collect(),
            Items::Edges(edges) => edges.into_iter().map(Value::Edge).collect(),
            Items::Values(values) => values,
            Items::Column(array) => values_of(&array).collect(),
            Items::Maps(maps) => maps.into_values(),
        }
    }
}

fn values_of(array: &ArrayRef) -> impl Iterator<Item = Value> + '_ {
    (0..array.len()).map(|at| column::value_at(array, at))
}

/// Arrays of one type as one.
fn concatenated(arrays: &[ArrayRef]) -> Items {
    match concat(&arrays.iter().map(|array| &**array).collect::<Vec<_>>()) {
        Ok(whole) => Items::Column(whole),
        // More text than one array holds.
        Err(_) => Items::Values(arrays.iter().flat_map(values_of).collect()),
    }
}

fn taken(array: &ArrayRef, rows: &[u32]) -> Items {
    match take(array, &UInt32Array::from(rows.to_vec()), None) {
        Ok(taken) => Items::Column(taken),
        // More text than one array holds.
        Err(_) => Items::Values(rows.iter().map(|row| column::value_at(array, *row as usize)).collect()),
    }
}

pub fn gather<T: Clone>(items: &[T], rows: &[u32]) -> Vec<T> {
    rows.iter().map(|row| items[*row as usize].clone()).collect()
}
