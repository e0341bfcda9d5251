//! Which columns the files of a label have, and their values.

use std::sync::Arc;

use arrow_array::builder::{Float32Builder, ListBuilder, StringBuilder};
use arrow_array::{Array, ArrayRef, ListArray, new_null_array};
use arrow_buffer::{NullBuffer, OffsetBuffer};
use arrow_cast::cast;
use arrow_schema::{Field, TimeUnit};
use hashbrown::{HashMap, HashSet};
use mangrove_graph::column::array_of;
use mangrove_graph::{
    Cardinality, Cell, EdgeRef, ElementKind, Elements, GraphView, KeyId, LabelId, PropertyColumn, PropertySchema, Scan,
    ScanCursor, TypeSet, Value, ValueType, VertexId,
};

use super::loss;
use super::names::Names;
use crate::casts::cast_to;
use crate::error::{LakeError, Result};
use crate::info::types::{DataType, Scalar};
use crate::info::{FileType, Prefix, Property, PropertyGroup, safe};

/// The columns of all labels.
#[derive(Default)]
pub struct Plans {
    pub vertices: HashMap<LabelId, Plan>,
    pub edges: HashMap<LabelId, Plan>,
}

/// The columns of a label.
#[derive(Default)]
pub struct Plan {
    pub columns: Vec<ColumnPlan>,
}

/// A column of the files.
pub struct ColumnPlan {
    pub name: Arc<str>,
    pub from: From,
    pub form: Form,
    /// The type of the values in the graph.
    pub value_type: ValueType,
    cardinality: Cardinality,
    is_required: bool,
}

/// What a column holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum From {
    /// The ids that users know, which are the values of the label's key, if it has one.
    Id {
        is_key: bool,
    },
    Property(KeyId),
}

/// The form of the values in files.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Form {
    One(Scalar),
    /// Times with parts of a millisecond.
    FineTime,
    /// All values of a vertex.
    Many(Scalar),
    /// A list of numbers that is one value.
    Vector,
    /// Whatever it is, as text.
    Text,
}

impl ColumnPlan {
    fn data_type(&self) -> DataType {
        match self.form {
            Form::One(scalar) | Form::Many(scalar) => DataType::One(scalar),
            Form::FineTime => DataType::One(Scalar::Timestamp),
            Form::Vector => DataType::List(Scalar::Float),
            Form::Text => DataType::One(Scalar::String),
        }
    }

    /// The type of the column in files.
    pub fn arrow_type(&self) -> arrow_schema::DataType {
        match self.form {
            Form::FineTime => arrow_schema::DataType::Timestamp(TimeUnit::Microsecond, None),
            Form::Many(scalar) => arrow_schema::DataType::new_list(scalar.arrow_type(), true),
            Form::Vector => arrow_schema::DataType::new_list(arrow_schema::DataType::Float32, true),
            Form::One(scalar) => scalar.arrow_type(),
            Form::Text => arrow_schema::DataType::Utf8,
        }
    }

    pub fn field(&self) -> Field {
        Field::new(&*self.name, self.arrow_type(), !self.is_required)
    }

    fn property(&self) -> Property {
        Property {
            name: self.name.clone(),
            data_type: self.data_type(),
            is_primary: matches!(self.from, From::Id { .. }) && self.is_required,
            is_nullable: !self.is_required,
            cardinality: self.cardinality,
        }
    }

    /// The values of some elements.
    pub fn array(&self, view: &dyn GraphView, elements: Elements<'_>) -> Result<ArrayRef> {
        let column = match self.from {
            From::Id { .. } => view.external_ids(elements)?,
            From::Property(key) => view.properties(elements, key)?,
        };
        let wanted = self.arrow_type();
        let array = match (self.form, &column) {
            (_, PropertyColumn::Absent(rows)) => new_null_array(&wanted, *rows),
            (Form::One(_) | Form::FineTime, PropertyColumn::Typed(array)) if self.value_type != ValueType::Uuid => {
                array.clone()
            }
            (Form::One(_) | Form::FineTime, _) if self.value_type != ValueType::Uuid => {
                let cells: Vec<Cell> = (0..column.len()).map(|row| column.cell(row)).collect();
                let values: Vec<Option<&Value>> =
                    cells.iter().map(|cell| cell.values().find(|value| **value != Value::Null)).collect();
                arrayed(&values, &wanted)?
            }
            (Form::Many(_), _) => lists(&column, &wanted)?,
            (Form::Vector, _) => vectors(&column),
            _ => texts(&column),
        };
        if *array.data_type() == wanted {
            return Ok(array);
        }
        cast_to(&array, &wanted).map_err(|error| LakeError::Unsupported(format!("column `{}`: {error}", self.name)))
    }
}

impl Plan {
    /// The properties of the label, in groups: those that are named to be apart, and all others.
    pub fn groups(&self, apart: &[Vec<String>]) -> Vec<PropertyGroup> {
        let is_in = |group: &Vec<String>, column: &ColumnPlan| group.iter().any(|name| **name == *column.name);
        let others: Vec<&ColumnPlan> =
            self.columns.iter().filter(|column| !apart.iter().any(|group| is_in(group, column))).collect();
        let named = apart.iter().map(|group| self.columns.iter().filter(|column| is_in(group, column)).collect());
        let mut folders = Folders::default();
        std::iter::once(others).chain(named).enumerate().filter_map(|(at, columns)| folders.group(at, &columns)).collect()
    }

    /// The columns of a group.
    pub fn columns_of<'p>(&'p self, group: &'p PropertyGroup) -> impl Iterator<Item = &'p ColumnPlan> {
        let is_in = |column: &&ColumnPlan| group.properties.iter().any(|property| property.name == column.name);
        self.columns.iter().filter(is_in)
    }
}

/// The folders of groups that were given.
#[derive(Default)]
struct Folders {
    names: Names,
}

impl Folders {
    /// A group of columns; `None` if there are none. The first has the usual name.
    fn group(&mut self, number: usize, columns: &[&ColumnPlan]) -> Option<PropertyGroup> {
        if number == 0 {
            USUAL.iter().for_each(|name| drop(self.names.group((*name).to_owned())));
        }
        let properties: Vec<Property> = columns.iter().map(|column| column.property()).collect();
        let names: Vec<&str> = properties.iter().map(|property| &*property.name).collect();
        let name = safe(&names.join("_"));
        let folder = match number {
            0 => USUAL[0].to_owned(),
            // Beside the folders of groups are files with counts.
            _ if name.starts_with("edge_count") => self.names.group(format!("_{name}")),
            _ => self.names.group(name),
        };
        let prefix = Prefix::default().folder(folder);
        (!properties.is_empty()).then_some(PropertyGroup { prefix, file_type: FileType::Parquet, properties })
    }
}

/// The folder of what is in no named group, and what lies beside.
const USUAL: [&str; 5] = ["properties", "labels", "adj_list", "offset", "vertex_count"];

/// The columns of all labels, and what they cannot hold exactly.
pub fn plan(view: &dyn GraphView) -> Result<(Plans, Vec<String>)> {
    let mut planning = Planning { view, losses: Vec::new() };
    let mut plans = Plans::default();
    for (label, _) in view.schema().known_labels(ElementKind::Vertex) {
        plans.vertices.insert(label, planning.label(ElementKind::Vertex, label)?);
    }
    for (label, _) in view.schema().known_labels(ElementKind::Edge) {
        plans.edges.insert(label, planning.label(ElementKind::Edge, label)?);
    }
    Ok((plans, planning.losses))
}

struct Planning<'v> {
    view: &'v dyn GraphView,
    losses: Vec<String>,
}

impl Planning<'_> {
    fn label(&mut self, kind: ElementKind, label: LabelId) -> Result<Plan> {
        let schema = self.view.schema().clone();
        let Some(of) = schema.label_schema(kind, label) else { return Ok(Plan::default()) };
        let mut columns = Vec::new();
        columns.extend(self.ids(kind, label)?);
        for property in
            of.properties.iter().filter(|property| Some(property.key) != of.key && property.types != TypeSet::default())
        {
            columns.push(self.property(kind, label, property)?);
        }
        Ok(Plan { columns })
    }

    /// The column of ids: of vertices always, of edges if users gave any.
    fn ids(&mut self, kind: ElementKind, label: LabelId) -> Result<Option<ColumnPlan>> {
        let schema = self.view.schema().clone();
        let Some(of) = schema.label_schema(kind, label) else { return Ok(None) };
        let mut types = HashSet::new();
        let mut is_generated = false;
        self.each_id(kind, label, |id| match id {
            Some(id) => drop(types.insert(id.value_type())),
            None => is_generated = true,
        })?;
        if kind == ElementKind::Edge && types.is_empty() {
            return Ok(None);
        }
        let value_type = match types.iter().collect::<Vec<_>>()[..] {
            [one] => *one,
            _ => ValueType::String,
        };
        if types.len() > 1 {
            self.losses.push(format!("ids of {} `{}` have several types: written as text", kind.plural(), of.name));
            let (mut texts, mut twice) = (HashSet::new(), None);
            self.each_id(kind, label, |id| {
                if let Some(text) = id.map(Value::to_string)
                    && !texts.insert(text.clone())
                {
                    twice = Some(text);
                }
            })?;
            if let Some(text) = twice {
                let what = format!("two {} `{}` would both have the text {text} as their id", kind.plural(), of.name);
                return Err(LakeError::Unsupported(format!(
                    "{what}: GraphAr has one type of ids for a type. Nothing was written"
                )));
            }
        }
        let name = match of.key {
            Some(key) => schema.key_name(key),
            None => free_name(&schema, of, "_id"),
        };
        let form = if value_type == ValueType::Int64 { Form::One(Scalar::Int64) } else { Form::One(Scalar::String) };
        Ok(Some(ColumnPlan {
            name,
            from: From::Id { is_key: of.key.is_some() },
            form: if types.len() > 1 { Form::Text } else { form },
            value_type,
            cardinality: Cardinality::Single,
            is_required: kind == ElementKind::Vertex && !is_generated,
        }))
    }

    fn property(&mut self, kind: ElementKind, label: LabelId, property: &PropertySchema) -> Result<ColumnPlan> {
        let schema = self.view.schema().clone();
        let label_name = schema.label_name(kind, label);
        let single = property.types.single();
        if property.has_meta {
            self.losses.push(loss::of_meta(&schema, &label_name, property));
        }
        if property.types.contains(ValueType::Null) && single.is_some() {
            self.losses.push(loss::of_types(&schema, kind, &label_name, property, "a column in which null means absent"));
        }
        let scalar = single.and_then(Scalar::of);
        let form = match (scalar, property.cardinality, single) {
            (Some(Scalar::Timestamp), Cardinality::Single, _) => self.times(kind, label, property.key)?,
            (Some(scalar), Cardinality::Single, _) => Some(Form::One(scalar)),
            (Some(scalar), _, Some(of)) if of != ValueType::Uuid && scalar != Scalar::Timestamp => Some(Form::Many(scalar)),
            (None, Cardinality::Single, Some(ValueType::Vector)) => Some(Form::Vector),
            _ => None,
        };
        if form.is_none() {
            self.losses.push(loss::of_types(&schema, kind, &label_name, property, "text"));
        }
        let form = form.unwrap_or(Form::Text);
        let cardinality = if matches!(form, Form::Many(_)) { property.cardinality } else { Cardinality::Single };
        let is_required =
            property.required && cardinality == Cardinality::Single && !property.types.contains(ValueType::Null);
        let value_type = single.unwrap_or(ValueType::String);
        let from = From::Property(property.key);
        Ok(ColumnPlan { name: schema.key_name(property.key), from, form, value_type, cardinality, is_required })
    }

    /// The form of times: `None` if one is no whole number of microseconds in UTC.
    fn times(&mut self, kind: ElementKind, label: LabelId, key: KeyId) -> Result<Option<Form>> {
        let (mut fits, mut is_fine) = (true, false);
        self.each(kind, label, |view, elements| {
            let column = view.properties(elements, key)?;
            let values: Vec<Option<Value>> =
                (0..column.len()).map(|row| column.cell(row).values().next().cloned()).collect();
            let present: Vec<Option<&Value>> = values.iter().filter(|value| value.is_some()).map(Option::as_ref).collect();
            match array_of(&present) {
                _ if present.is_empty() => {}
                None => fits = false,
                Some(array) => {
                    let whole = arrow_schema::DataType::Timestamp(TimeUnit::Millisecond, Some("UTC".into()));
                    let back = cast_to(&array, &whole).and_then(|whole| cast_to(&whole, array.data_type()));
                    is_fine |= back.map_or(true, |back| back != array);
                }
            }
            Ok(())
        })?;
        Ok(fits.then_some(if is_fine { Form::FineTime } else { Form::One(Scalar::Timestamp) }))
    }

    /// Calls `look` with the ids of all elements of a label, or with nothing for an element without one.
    fn each_id(&self, kind: ElementKind, label: LabelId, mut look: impl FnMut(Option<&Value>)) -> Result<()> {
        self.each(kind, label, |view, elements| {
            let ids = view.external_ids(elements)?;
            (0..ids.len()).for_each(|row| look(ids.cell(row).values().next()));
            Ok(())
        })
    }

    /// Calls `look` with all elements whose primary label this is, page by page.
    fn each(
        &self,
        kind: ElementKind,
        label: LabelId,
        mut look: impl FnMut(&dyn GraphView, Elements<'_>) -> Result<()>,
    ) -> Result<()> {
        const PAGE: usize = 8192;
        let (scan, mut cursor) = (Scan::of(label), ScanCursor::default());
        let (mut vertices, mut edges): (Vec<VertexId>, Vec<EdgeRef>) = Default::default();
        while !cursor.done {
            match kind {
                ElementKind::Vertex => {
                    vertices.clear();
                    self.view.scan_vertices(&scan, &mut cursor, PAGE, &mut vertices)?;
                    vertices.retain(|vertex| vertex.label() == label);
                    look(self.view, Elements::Vertices(&vertices))?;
                }
                ElementKind::Edge => {
                    edges.clear();
                    self.view.scan_edges(&scan, &mut cursor, PAGE, &mut edges)?;
                    look(self.view, Elements::Edges(&edges))?;
                }
            }
        }
        Ok(())
    }
}

/// A name that no property of the label has: `wanted`, with underscores in front as needed.
fn free_name(schema: &mangrove_graph::Schema, of: &mangrove_graph::LabelSchema, wanted: &str) -> Arc<str> {
    let taken: HashSet<String> = of.properties.keys().map(|key| schema.key_name(key).to_lowercase()).collect();
    let mut name = wanted.to_owned();
    while taken.contains(&name) {
        name.insert(0, '_');
    }
    name.into()
}

/// Values as an array. Fails if they are of several types, or of one that has no array.
fn arrayed(values: &[Option<&Value>], wanted: &arrow_schema::DataType) -> Result<ArrayRef> {
    match array_of(values) {
        Some(array) => Ok(array),
        None if values.iter().all(Option::is_none) => Ok(new_null_array(wanted, values.len())),
        None => {
            let what = "holds values of another type, or more than 2 GB of text in the vertices of one chunk";
            Err(LakeError::Unsupported(format!("a column of {wanted} {what}")))
        }
    }
}

/// All values of each cell as a list.
fn lists(column: &PropertyColumn, wanted: &arrow_schema::DataType) -> Result<ArrayRef> {
    let arrow_schema::DataType::List(item) = wanted else { return Ok(new_null_array(wanted, column.len())) };
    let cells: Vec<Cell> = (0..column.len()).map(|row| column.cell(row)).collect();
    let present = |value| Some(value).filter(|value: &&Value| **value != Value::Null);
    let values: Vec<Option<&Value>> = cells.iter().flat_map(Cell::values).map(present).collect();
    let values = arrayed(&values, item.data_type())?;
    let values = cast(&values, item.data_type()).map_err(|error| LakeError::Unsupported(error.to_string()))?;
    let offsets = OffsetBuffer::from_lengths(cells.iter().map(|cell| cell.values().count()));
    let there: NullBuffer = cells.iter().map(|cell| !cell.is_absent()).collect::<Vec<bool>>().into();
    Ok(Arc::new(ListArray::new(item.clone(), offsets, values, Some(there))))
}

fn vectors(column: &PropertyColumn) -> ArrayRef {
    let mut out = ListBuilder::new(Float32Builder::new());
    for row in 0..column.len() {
        let cell = column.cell(row);
        let vector = cell.values().find_map(|value| match value {
            Value::Vector(numbers) => Some(numbers),
            _ => None,
        });
        match vector {
            Some(numbers) => {
                out.values().append_slice(numbers);
                out.append(true);
            }
            None => out.append(false),
        }
    }
    Arc::new(out.finish())
}

/// The first value of each cell as text.
fn texts(column: &PropertyColumn) -> ArrayRef {
    let mut out = StringBuilder::new();
    for row in 0..column.len() {
        let cell = column.cell(row);
        match cell.values().find(|value| **value != Value::Null) {
            Some(_) if cell.values().count() > 1 => {
                out.append_value(Value::list(cell.values().cloned().collect()).to_string());
            }
            Some(value) => out.append_value(value.to_string()),
            None => out.append_null(),
        }
    }
    Arc::new(out.finish())
}
