//! All results of a query. Maps and elements of one shape are stored as columns.
//!
//! A column is an array and takes as much memory as its values. A row is built on request.

use std::borrow::Cow;
use std::sync::Arc;

use arrow_array::{Array, ArrayRef};
use mangrove_graph::{
    Cardinality, EdgeRef, ElementKind, Elements, GraphView, LabelId, PropertyColumn, Schema, TypeSet, Value, VertexId,
    column,
};
use mangrove_query::{Items, MapColumn, Maps, Outlook, Shape, own_maps, whole_maps};

use crate::describe::{self, Described, EdgeRecord, EndRecord, PropertyRecord, ValueRecord, VertexRecord};
use crate::error::QueryError;
use crate::memory::Memory;

/// The results of a query, in order.
#[derive(Clone, Debug, Default)]
pub struct Results {
    parts: Vec<Chunk>,
    /// For each part, the row after its last one.
    ends: Vec<usize>,
    /// What the plan and the schema know about the results.
    expected: Option<(Outlook, Arc<Schema>)>,
}

/// Results that arrived together.
#[derive(Clone, Debug)]
pub(crate) enum Chunk {
    Rows(Vec<Described>),
    /// Plain values of one type, none of them null.
    Values(ArrayRef),
    Maps {
        rows: usize,
        columns: Vec<(Value, MapValues)>,
    },
    Vertices(Vertices),
    Edges(Edges),
}

/// The values of rows in one column.
#[derive(Clone, Debug)]
pub(crate) enum MapValues {
    /// Values that hold no element.
    Plain(MapColumn),
    Described(Vec<Option<Described>>),
}

/// Vertices with at most one value under each key, and without further labels.
#[derive(Clone, Debug)]
pub(crate) struct Vertices {
    internal: Vec<VertexId>,
    /// Id, label and properties.
    pub columns: Maps,
}

#[derive(Clone, Debug)]
pub(crate) struct Edges {
    internal: Vec<EdgeRef>,
    /// Id, label and properties.
    pub columns: Maps,
    /// Ids and labels of the ends.
    pub sources: Maps,
    pub targets: Maps,
}

/// The number of columns for `T.id` and `T.label`, which come before the properties.
pub(crate) const OWN: usize = 2;

impl Results {
    pub(crate) fn expecting(expected: Option<(Outlook, Arc<Schema>)>) -> Self {
        Self { expected, ..Self::default() }
    }

    /// The first `rows_max` results.
    pub fn beginning(&self, rows_max: usize) -> Self {
        let mut first = Self::expecting(self.expected.clone());
        first.push(Chunk::Rows(self.iter().take(rows_max).map(Cow::into_owned).collect()));
        first
    }

    /// What all results have in common, known from the plan.
    pub(crate) fn shape(&self) -> Shape {
        self.expected.as_ref().map_or(Shape::Unknown, |(outlook, schema)| outlook.shape(schema))
    }

    /// The Arrow type of a property, if all its values in the graph have the same.
    pub(crate) fn property_type(&self, name: &str) -> Option<arrow_schema::DataType> {
        let (_, schema) = self.expected.as_ref()?;
        let key = schema.key(name)?;
        let mut types = TypeSet::default();
        for kind in ElementKind::ALL {
            for (_, label) in schema.known_labels(kind) {
                types.0 |= label.property(key).map_or(0, |property| property.types.0);
            }
        }
        column::arrow_type(types.single()?)
    }

    pub(crate) fn add_rows(&mut self, rows: Vec<Described>) {
        self.push(Chunk::Rows(rows));
    }

    /// Adds maps as columns of plain values. Accounts for the memory.
    pub(crate) fn add_maps(
        &mut self,
        rows: usize,
        columns: Vec<(Value, PropertyColumn)>,
        memory: &mut Memory,
    ) -> Result<(), QueryError> {
        let mut maps = Maps { rows, columns: Vec::with_capacity(columns.len()) };
        for (key, column) in columns {
            let column = match column {
                PropertyColumn::Typed(array) => MapColumn::Typed(array),
                column => MapColumn::of((0..rows).map(|at| column.cell(at).values().next().cloned()).collect()),
            };
            maps.columns.push((key, column));
        }
        memory.hold(maps.bytes())?;
        let columns = maps.columns.into_iter().map(|(key, column)| (key, MapValues::Plain(column))).collect();
        self.push(Chunk::Maps { rows, columns });
        Ok(())
    }

    pub fn of_rows(rows: Vec<Described>) -> Self {
        let mut results = Self::default();
        results.push(Chunk::Rows(rows));
        results
    }

    /// Adds results of a query, with their elements read whole. Accounts for the memory.
    pub(crate) fn add(&mut self, view: &dyn GraphView, items: Items, memory: &mut Memory) -> Result<(), QueryError> {
        let at_once = ELEMENTS_AT_ONCE.max(view.distance().rows_min);
        match items {
            Items::Column(array) => {
                memory.hold(column::bytes(&array))?;
                self.push(Chunk::Values(array));
            }
            Items::Maps(maps) => {
                memory.hold(maps.bytes())?;
                self.push(described_maps(view, maps, memory)?);
            }
            Items::Vertices(ids) => {
                for ids in ids.chunks(at_once) {
                    let Some(columns) = vertices(view, ids)? else {
                        self.push(described_rows(view, Items::Vertices(ids.to_vec()), memory)?);
                        continue;
                    };
                    memory.hold(columns.bytes() + size_of_val(ids))?;
                    self.push(Chunk::Vertices(Vertices { internal: ids.to_vec(), columns }));
                }
            }
            Items::Edges(edges) => {
                for edges in edges.chunks(at_once) {
                    let Some(part) = self::edges(view, edges)? else {
                        self.push(described_rows(view, Items::Edges(edges.to_vec()), memory)?);
                        continue;
                    };
                    memory.hold(part.columns.bytes() + part.sources.bytes() + part.targets.bytes())?;
                    self.push(Chunk::Edges(part));
                }
            }
            values => self.push(described_rows(view, values, memory)?),
        }
        Ok(())
    }

    fn push(&mut self, part: Chunk) {
        let rows = self.len() + part.len();
        match (self.parts.last_mut(), part) {
            (Some(Chunk::Rows(last)), Chunk::Rows(mut more)) => {
                last.append(&mut more);
                self.ends.pop();
            }
            (_, part) => self.parts.push(part),
        }
        self.ends.push(rows);
    }

    pub fn len(&self) -> usize {
        self.ends.last().copied().unwrap_or(0)
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// One result. O(log parts), plus the size of the result.
    ///
    /// # Panics
    /// If `at` is not below `len()`.
    pub fn get(&self, at: usize) -> Cow<'_, Described> {
        let part = self.ends.partition_point(|end| *end <= at);
        let first = if part == 0 { 0 } else { self.ends[part - 1] };
        self.parts[part].get(at - first)
    }

    pub fn iter(&self) -> impl Iterator<Item = Cow<'_, Described>> {
        self.parts.iter().flat_map(|part| (0..part.len()).map(|row| part.get(row)))
    }

    pub(crate) fn parts(&self) -> &[Chunk] {
        &self.parts
    }
}

impl Chunk {
    pub fn len(&self) -> usize {
        match self {
            Chunk::Rows(rows) => rows.len(),
            Chunk::Values(array) => array.len(),
            Chunk::Maps { rows, .. } => *rows,
            Chunk::Vertices(vertices) => vertices.internal.len(),
            Chunk::Edges(edges) => edges.internal.len(),
        }
    }

    pub fn get(&self, row: usize) -> Cow<'_, Described> {
        Cow::Owned(match self {
            Chunk::Rows(rows) => return Cow::Borrowed(&rows[row]),
            Chunk::Values(array) => Described::Plain(column::value_at(array, row)),
            Chunk::Maps { columns, .. } => {
                let entry =
                    |(key, column): &(Value, MapValues)| column.get(row).map(|cell| (Described::Plain(key.clone()), cell));
                Described::Map(columns.iter().filter_map(entry).collect())
            }
            Chunk::Vertices(vertices) => Described::Vertex(Box::new(vertices.record(row))),
            Chunk::Edges(edges) => Described::Edge(Box::new(edges.record(row))),
        })
    }
}

impl MapValues {
    fn get(&self, row: usize) -> Option<Described> {
        match self {
            MapValues::Plain(column) => column.get(row).map(Described::Plain),
            MapValues::Described(cells) => cells[row].clone(),
        }
    }
}

fn described_rows(view: &dyn GraphView, items: Items, memory: &mut Memory) -> Result<Chunk, QueryError> {
    Ok(Chunk::Rows(describe::describe_all(view, &items.into_values(), memory)?))
}

fn described_cells(
    view: &dyn GraphView,
    values: Vec<Option<Value>>,
    memory: &mut Memory,
) -> Result<Vec<Option<Described>>, QueryError> {
    let there: Vec<bool> = values.iter().map(Option::is_some).collect();
    let values: Vec<Value> = values.into_iter().flatten().collect();
    let mut described = describe::describe_all(view, &values, memory)?.into_iter();
    Ok(there.into_iter().map(|there| if there { described.next() } else { None }).collect())
}

fn described_maps(view: &dyn GraphView, maps: Maps, memory: &mut Memory) -> Result<Chunk, QueryError> {
    let mut columns = Vec::with_capacity(maps.columns.len());
    for (key, column) in maps.columns {
        let column = match column {
            MapColumn::Values(values) if !values.iter().flatten().all(describe::holds_no_element) => {
                MapValues::Described(described_cells(view, values, memory)?)
            }
            plain => MapValues::Plain(plain),
        };
        columns.push((key, column));
    }
    Ok(Chunk::Maps { rows: maps.rows, columns })
}

/// Elements to read between two checks of the memory. A view far away asks for more.
const ELEMENTS_AT_ONCE: usize = 1024;
/// Fewer rows are read one by one.
const ROWS_MIN: usize = 8;

/// The columns of vertices, if each has one label and at most one value under each key.
fn vertices(view: &dyn GraphView, ids: &[VertexId]) -> Result<Option<Maps>, QueryError> {
    let schema = view.schema();
    let mut before: Option<LabelId> = None;
    let is_plain = |id: &VertexId| {
        if before.replace(id.label()) == Some(id.label()) {
            return true;
        }
        let label = schema.label_schema(ElementKind::Vertex, id.label());
        label.is_some_and(|label| {
            label.further.is_empty() && label.properties.iter().all(|p| p.cardinality == Cardinality::Single && !p.has_meta)
        })
    };
    if ids.len() < ROWS_MIN || !ids.iter().all(is_plain) {
        return Ok(None);
    }
    Ok(whole_maps(view, Elements::Vertices(ids))?)
}

fn edges(view: &dyn GraphView, edges: &[EdgeRef]) -> Result<Option<Edges>, QueryError> {
    if edges.len() < ROWS_MIN {
        return Ok(None);
    }
    let Some(columns) = whole_maps(view, Elements::Edges(edges))? else { return Ok(None) };
    let ends = |end: fn(&EdgeRef) -> VertexId| {
        let ids: Vec<VertexId> = edges.iter().map(end).collect();
        own_maps(view, Elements::Vertices(&ids))
    };
    let (sources, targets) = (ends(|edge| edge.source)?, ends(|edge| edge.target)?);
    Ok(Some(Edges { internal: edges.to_vec(), columns, sources, targets }))
}

fn text(value: Option<Value>) -> Arc<str> {
    match value {
        Some(Value::String(text)) => text,
        _ => Arc::default(),
    }
}

/// The properties of a row, which follow its id and label.
fn properties(maps: &Maps, row: usize) -> impl Iterator<Item = (Arc<str>, Value)> + '_ {
    let properties = maps.columns[OWN..].iter();
    properties.filter_map(move |(key, column)| Some((text(Some(key.clone())), column.get(row)?)))
}

/// The id and label of a row.
fn own(maps: &Maps, row: usize) -> (Value, Arc<str>) {
    let part = |at: usize| maps.columns.get(at).and_then(|(_, column)| column.get(row));
    (part(0).unwrap_or_default(), text(part(1)))
}

impl Vertices {
    fn record(&self, row: usize) -> VertexRecord {
        let (id, label) = own(&self.columns, row);
        let property = |(key, value)| {
            let values = vec![ValueRecord { ordinal: 0, value, meta: Vec::new() }];
            PropertyRecord { key, many: false, values }
        };
        let properties = properties(&self.columns, row).map(property).collect();
        VertexRecord { internal: self.internal[row], id, label, further_labels: Vec::new(), properties }
    }
}

impl Edges {
    fn record(&self, row: usize) -> EdgeRecord {
        let (id, label) = own(&self.columns, row);
        let end = |maps: &Maps| {
            let (id, label) = own(maps, row);
            EndRecord { id, label }
        };
        let (source, target) = (end(&self.sources), end(&self.targets));
        let properties = properties(&self.columns, row).collect();
        EdgeRecord { internal: self.internal[row], id, label, source, target, properties }
    }
}
