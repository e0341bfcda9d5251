//! Properties and ids of a batch, by column.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Float32Type;
use arrow_array::{Array, ArrayRef, new_null_array};
use arrow_select::interleave::interleave;
use hashbrown::HashMap;
use mangrove_graph::column::{array_of, arrow_type, value_at, value_type_of};
use mangrove_graph::{
    Cardinality, Cell, Elements, KeyId, PropertyColumn, PropertyValue, ReadContext, Value, ValueType, VertexId,
};

use mangrove_ingest::{ColumnType, as_type, cast_plain, plain_array};

use super::Lake;
use crate::casts::cast_to;
use crate::error::{LakeError, Result};
use crate::info::types::DataType;
use crate::pages::{self, Wanted};

/// A column of the files of a type.
#[derive(Clone, Debug)]
pub struct Column {
    /// Its key; `None` if it holds ids that are no property.
    pub key: Option<KeyId>,
    /// The group that it is in.
    pub group: usize,
    /// Its name in the files.
    pub name: Arc<str>,
    pub cardinality: Cardinality,
    /// The type of its values in the graph.
    pub value_type: ValueType,
    pub written: Written,
}

/// How the values of a column are written.
#[derive(Clone, Debug)]
pub enum Written {
    GraphAr(DataType),
    /// As any program may write a table. The Arrow type that holds all values, and a type that the mapping asks for.
    Table {
        plain: arrow_schema::DataType,
        declared: Option<ColumnType>,
    },
}

/// What is read of each element.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum What {
    Key(KeyId),
    /// The id that users know.
    Id,
}

/// A file: the number of the type, the part (0 for vertices), the chunk.
type Spot = (usize, u64, u64);

/// Where the values of a batch are.
#[derive(Default)]
struct Located<'l> {
    numbers: HashMap<Spot, usize>,
    /// The file that was asked for last, and its number.
    last: Option<(Spot, usize)>,
    paths: Vec<Arc<str>>,
    /// How many rows each file must have.
    sizes: Vec<u64>,
    columns: Vec<&'l Column>,
    /// The rows that are wanted of each file.
    rows: Vec<Vec<u64>>,
    /// For each element, the number of its file, and which of the wanted rows of that it is.
    places: Vec<(u32, u32)>,
}

/// In place of a number of a file: the label of the element lacks the column.
const NOWHERE: u32 = u32::MAX;

impl<'l> Located<'l> {
    /// The number of a file. `file` gives its path and how many rows it must have.
    fn number(&mut self, spot: Spot, column: &'l Column, file: impl FnOnce() -> (Arc<str>, u64)) -> usize {
        let number = match self.last {
            Some((last, number)) if last == spot => number,
            _ => *self.numbers.entry(spot).or_insert_with(|| {
                let (path, size) = file();
                self.paths.push(path);
                self.sizes.push(size);
                self.columns.push(column);
                self.rows.push(Vec::new());
                self.paths.len() - 1
            }),
        };
        self.last = Some((spot, number));
        number
    }

    /// The next elements are in these rows of a file.
    fn add(&mut self, number: usize, rows: impl ExactSizeIterator<Item = u64>) {
        let own = &mut self.rows[number];
        let before = own.len() as u32;
        self.places.extend((before..before + rows.len() as u32).map(|row| (number as u32, row)));
        own.extend(rows);
    }

    /// The next elements lack the column.
    fn add_nowhere(&mut self, count: usize) {
        self.places.resize(self.places.len() + count, (NOWHERE, 0));
    }
}

impl Lake {
    /// What a batch of elements has under each of these keys. Missing pages of all of them are read together.
    pub(super) fn columns(
        &self,
        elements: Elements<'_>,
        whats: &[What],
        limits: Option<&ReadContext>,
    ) -> Result<Vec<PropertyColumn>> {
        let located: Vec<Located<'_>> = whats.iter().map(|what| self.locate(elements, *what)).collect();
        let paths: Vec<Arc<str>> = located.iter().flat_map(|of| of.paths.iter().cloned()).collect();
        let tables = self.tables.at(&paths, limits)?;
        let mut wanted = Vec::with_capacity(tables.len());
        let of_files = located.iter().flat_map(|of| of.columns.iter().zip(&of.rows).zip(&of.sizes));
        for (table, ((column, rows), size)) in tables.iter().zip(of_files) {
            table.must_have(&self.tables.files, *size)?;
            let name = &column.name;
            let missing = || LakeError::damaged(&self.tables.files.name(table.path()), format!("it has no column `{name}`"));
            wanted.push(Wanted { table, column: table.column(name).ok_or_else(missing)?.0, rows });
        }
        let mut arrays = pages::read(&self.tables.files, &self.tables.pages, &wanted, limits)?.into_iter();
        located.into_iter().map(|of| self.column(&of, &mut arrays)).collect()
    }

    fn locate(&self, elements: Elements<'_>, what: What) -> Located<'_> {
        let mut located = Located::default();
        located.places.reserve(elements.len());
        match elements {
            Elements::Vertices(ids) => self.locate_vertices(ids, what, &mut located),
            Elements::Edges(edges) => {
                for edge in edges {
                    let of = self.edge_type(edge.id.label(), edge.id.local());
                    match of.and_then(|(number, place)| Some((number, place, self.edges[number].columns.find(what)?))) {
                        Some((number, place, column)) => {
                            let of = &self.edges[number];
                            let chunk = of.chunk_of(place);
                            let file = || (of.file(column.group, &chunk), chunk.rows());
                            let file = located.number((number, chunk.part, chunk.chunk), column, file);
                            located.add(file, std::iter::once(place - chunk.places.start));
                        }
                        None => located.add_nowhere(1),
                    }
                }
            }
        }
        located
    }

    /// Neighbours often lie in one chunk, one after the other. So a chunk is looked for once for all that do.
    fn locate_vertices<'l>(&'l self, ids: &[VertexId], what: What, located: &mut Located<'l>) {
        let mut start = 0;
        while let Some(first) = ids.get(start) {
            let (label, local) = (first.label(), first.local());
            let of = self.vertex_type(label).filter(|of| local < of.rows.count());
            let Some((of, column)) = of.and_then(|of| Some((of, of.columns.find(what)?))) else {
                located.add_nowhere(1);
                start += 1;
                continue;
            };
            let chunk = of.rows.chunk_of(local);
            let locals = of.rows.locals(chunk);
            let inside = VertexId::new(label, first.shard(), locals.start)..VertexId::new(label, first.shard(), locals.end);
            let count = ids[start..].iter().take_while(|id| inside.contains(id)).count();
            let file = || (of.file(column.group, chunk), locals.end - locals.start);
            let number = located.number((usize::from(label.0), 0, chunk), column, file);
            located.add(number, ids[start..start + count].iter().map(|id| id.local() - locals.start));
            start += count;
        }
    }

    fn column(&self, of: &Located<'_>, arrays: &mut impl Iterator<Item = ArrayRef>) -> Result<PropertyColumn> {
        let mut found = Vec::with_capacity(of.paths.len());
        for ((path, column), array) in of.paths.iter().zip(&of.columns).zip(arrays) {
            found.push(self.as_declared(path, column, array)?);
        }
        let Some(first) = found.first() else { return Ok(PropertyColumn::Absent(of.places.len())) };
        let data_type = first.data_type().clone();
        let is_plain = of.columns.iter().all(|column| column.is_typed(&data_type))
            && found.iter().all(|array| *array.data_type() == data_type);
        if of.places.len() < COLUMN_MIN || !is_plain {
            let cell = |(file, row): &(u32, u32)| match *file {
                NOWHERE => Cell::Absent,
                file => of.columns[file as usize].cell(&*found[file as usize], *row as usize),
            };
            return Ok(PropertyColumn::Cells(of.places.iter().map(cell).collect()));
        }
        if found.len() == 1 && found[0].len() == of.places.len() {
            return Ok(typed(found.remove(0)));
        }
        let absent = new_null_array(&data_type, 1);
        let sources: Vec<&dyn Array> = found.iter().map(|array| &**array).chain([&*absent]).collect();
        let place = |(file, row): &(u32, u32)| ((*file as usize).min(found.len()), *row as usize);
        let places: Vec<(usize, usize)> = of.places.iter().map(place).collect();
        let joined = interleave(&sources, &places).map_err(|error| LakeError::Unsupported(error.to_string()))?;
        Ok(typed(joined))
    }

    /// An array in the form that values of the declared type have in a graph.
    pub(super) fn as_declared(&self, path: &Arc<str>, column: &Column, array: ArrayRef) -> Result<ArrayRef> {
        let name = &column.name;
        let damaged =
            |reason: String| LakeError::damaged(&self.tables.files.name(path), format!("column `{name}` {reason}"));
        match &column.written {
            Written::GraphAr(data_type) => {
                let found = array.data_type().clone();
                column.of_graphar(*data_type, array).ok_or_else(|| damaged(format!("holds {found}, not {data_type}")))
            }
            Written::Table { plain, declared } => column.of_table(plain, declared.as_ref(), array).map_err(damaged),
        }
    }
}

/// Fewer rows come as cells.
const COLUMN_MIN: usize = 2;

fn typed(array: ArrayRef) -> PropertyColumn {
    if array.null_count() == array.len() { PropertyColumn::Absent(array.len()) } else { PropertyColumn::Typed(array) }
}

/// Values of another type: numbers that fit, text by reading it. Types without a form as an array stay as they are until a cell is read.
fn converted(array: ArrayRef, wanted: ValueType) -> Result<ArrayRef, String> {
    let convert = |row: usize| match value_at(&array, row) {
        Value::Null => Ok(None),
        value => match as_type(&value, wanted) {
            Some(value) => Ok(Some(value)),
            None => Err(format!("holds `{value}`, which is no {}", wanted.name())),
        },
    };
    let values = (0..array.len()).map(convert).collect::<Result<Vec<_>, _>>()?;
    match arrow_type(wanted) {
        Some(form) if values.iter().all(Option::is_none) => Ok(new_null_array(&form, values.len())),
        Some(_) => Ok(array_of(&values.iter().map(Option::as_ref).collect::<Vec<_>>()).unwrap_or(array)),
        None => Ok(array),
    }
}

/// Texts as UUIDs; `None` if one is none.
fn uuids(array: &ArrayRef) -> Option<ArrayRef> {
    let texts = array.as_string_opt::<i32>()?;
    let parse = |text: Option<&str>| match text {
        Some(text) => uuid::Uuid::try_parse(text).ok().map(|uuid| Some(Value::Uuid(uuid))),
        None => Some(None),
    };
    let values = texts.iter().map(parse).collect::<Option<Vec<Option<Value>>>>()?;
    match values.iter().all(Option::is_none) {
        true => Some(new_null_array(&arrow_type(ValueType::Uuid)?, values.len())),
        false => array_of(&values.iter().map(Option::as_ref).collect::<Vec<_>>()),
    }
}

impl Column {
    fn of_graphar(&self, data_type: DataType, array: ArrayRef) -> Option<ArrayRef> {
        if self.value_type == ValueType::Uuid {
            return uuids(&array);
        }
        let item = match data_type {
            DataType::One(_) => arrow_type(self.value_type),
            DataType::List(scalar) => arrow_type(scalar.value_type()),
        };
        let Some(item) = item else { return Some(array) };
        let wanted = match array.data_type() {
            arrow_schema::DataType::List(field) => {
                arrow_schema::DataType::List(Arc::new(field.as_ref().clone().with_data_type(item)))
            }
            _ => item,
        };
        if *array.data_type() == wanted {
            return Some(array);
        }
        cast_to(&array, &wanted).ok()
    }

    /// As the loader reads it. Fails with what is wrong with the column.
    fn of_table(
        &self,
        plain: &arrow_schema::DataType,
        declared: Option<&ColumnType>,
        array: ArrayRef,
    ) -> Result<ArrayRef, String> {
        let array = cast_plain(&array, plain).ok_or_else(|| format!("has values that do not fit into {plain}"))?;
        let lists_of = |item: arrow_schema::DataType| {
            let lists = arrow_schema::DataType::List(Arc::new(arrow_schema::Field::new_list_field(item, true)));
            cast_plain(&array, &lists).ok_or_else(|| format!("has values that do not fit into {lists}"))
        };
        match declared {
            Some(ColumnType::Declared(wanted)) if value_type_of(array.data_type()) == Some(*wanted) => {
                match plain_array(&array) {
                    Some(plain) => Ok(plain),
                    // Integers beyond 64 bits are no int64.
                    None if arrow_type(*wanted).is_some() => converted(array, *wanted),
                    None => Ok(array),
                }
            }
            Some(ColumnType::Declared(wanted)) => {
                let form = arrow_type(*wanted).filter(|form| form.is_integer() && array.data_type().is_integer());
                match form.and_then(|form| cast_plain(&array, &form)) {
                    Some(array) => Ok(array),
                    None => converted(array, *wanted),
                }
            }
            Some(ColumnType::Array { item, .. }) => {
                let item = arrow_type(*item).ok_or_else(|| format!("cannot hold several values of type {}", item.name()))?;
                lists_of(item)
            }
            _ => Ok(plain_array(&array).unwrap_or(array)),
        }
    }

    /// Whether bounds of the written values are bounds of the values in the graph. Those of text that is read as numbers are not.
    pub(super) fn keeps_order(&self) -> bool {
        match &self.written {
            Written::GraphAr(_) => true,
            Written::Table { plain, declared } => match declared {
                Some(ColumnType::Declared(wanted)) => plain.is_numeric() && wanted.is_number(),
                Some(_) => false,
                None => true,
            },
        }
    }

    /// Whether an array of this type holds the values themselves. Others have to be made of it, one by one.
    fn is_typed(&self, data_type: &arrow_schema::DataType) -> bool {
        let wanted = match &self.written {
            Written::Table { declared: Some(ColumnType::Declared(wanted)), .. } => Some(*wanted),
            _ => value_type_of(data_type),
        };
        wanted.and_then(arrow_type).as_ref() == Some(data_type)
    }

    /// The values of an array that has the declared form.
    pub(super) fn values(&self, array: ArrayRef) -> PropertyColumn {
        match self.is_typed(array.data_type()) {
            true => typed(array),
            false => PropertyColumn::Cells((0..array.len()).map(|row| self.cell(&*array, row)).collect()),
        }
    }

    /// The cell in a row.
    fn cell(&self, array: &dyn Array, row: usize) -> Cell {
        if array.is_null(row) {
            return Cell::Absent;
        }
        if self.value_type == ValueType::Vector
            && let Some(items) = array.as_list_opt::<i32>().map(|lists| lists.value(row))
            && let Some(numbers) = items.as_primitive_opt::<Float32Type>().filter(|numbers| numbers.null_count() == 0)
        {
            return Cell::One(Value::Vector(numbers.values().to_vec().into()));
        }
        let value = value_at(array, row);
        let value = match &self.written {
            Written::Table { declared: Some(ColumnType::Declared(wanted)), .. } => as_type(&value, *wanted).unwrap_or(value),
            _ => value,
        };
        match (self.cardinality, value.items()) {
            (cardinality @ (Cardinality::List | Cardinality::Set), Some(items)) => {
                let mut kept: Vec<Value> = Vec::with_capacity(items.len());
                for item in items {
                    if cardinality == Cardinality::List || !kept.contains(&item) {
                        kept.push(item);
                    }
                }
                let of = |(ordinal, value)| PropertyValue { ordinal, ..PropertyValue::plain(value) };
                Cell::from_entries((0u32..).zip(kept).map(of).collect())
            }
            _ => Cell::One(value),
        }
    }
}

/// The columns of a type.
#[derive(Clone, Debug, Default)]
pub struct Columns {
    pub properties: Vec<Column>,
    /// The column with the ids that users know. It may be one of the properties.
    pub id: Option<Column>,
}

impl Columns {
    pub(super) fn find(&self, what: What) -> Option<&Column> {
        match what {
            What::Key(key) => self.properties.iter().find(|column| column.key == Some(key)),
            What::Id => self.id.as_ref(),
        }
    }
}
