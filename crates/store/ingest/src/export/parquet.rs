//! Parquet: one file for each label, with Arrow's own types if they hold all values.
//!
//! | column | |
//! |---|---|
//! | the key of the label, else `_id` | ids of vertices: integers, text or UUIDs |
//! | `_labels` | all labels of a vertex, separated by semicolons; only if vertices of the label have further ones |
//! | `src`, `dst` | ids of the ends of edges |
//! | `_id` | ids that users gave edges; only if there are any |
//! | others | properties: a list if they have several values, text if no Arrow type holds them |
//!
//! If a property has the name of such a column, the column gets more underscores in front. `mangrove.yaml` says what each column
//! is.
//!
//! Edges have one file for each pair of end labels in two cases: the ids of the ends have several types, or ids are unique only
//! within labels.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_array::{Array, ArrayRef, FixedSizeBinaryArray, Int64Array, ListArray, RecordBatch, StringArray, new_null_array};
use arrow_buffer::{NullBuffer, OffsetBuffer};
use arrow_schema::{DataType, Field, FieldRef, Schema as ArrowSchema};
use hashbrown::{HashMap, HashSet};
use mangrove_graph::column::{array_of, arrow_type};
use mangrove_graph::{
    Cardinality, Cell, EdgeRef, ElementKind, Elements, ExternalId, KeyId, LabelId, PropertyColumn, PropertySchema, Value,
    ValueType, VertexId,
};
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, ZstdLevel};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;

use super::csv::{FileNames, is_column, labels_text, text_of};
use super::graphson::{write_cell, write_value};
use super::walk::{ExportError, ExportWalk, PAGE, ends_of};
use crate::tables::header::{Style, style};
use crate::text::mapping_text::{TableText, quoted};

const ROW_GROUP: usize = 131_072;
/// Vertices whose properties are in memory together.
const ROWS_AT_ONCE: usize = 512;

pub fn write(walk: &mut ExportWalk<'_>, directory: &Path) -> Result<(), ExportError> {
    let mut names = FileNames::new("parquet");
    let mut forms = Forms::new();
    for label in walk.labels(ElementKind::Vertex) {
        let form = id_form(walk, ElementKind::Vertex, label)?.unwrap_or(IdForm::Text);
        forms.insert(label, form);
        vertices(walk, label, form, directory, &mut names)?;
    }
    for label in walk.labels(ElementKind::Edge) {
        edges(walk, label, &forms, directory, &mut names)?;
    }
    Ok(())
}

/// The form of ids for each label.
type Forms = HashMap<LabelId, IdForm>;

/// The form of the ids of a label.
#[derive(Clone, Copy, PartialEq, Debug)]
enum IdForm {
    Int,
    Text,
    Uuid,
}

impl IdForm {
    fn of(id: &ExternalId) -> Self {
        match id {
            ExternalId::Int(_) => IdForm::Int,
            ExternalId::String(_) => IdForm::Text,
            ExternalId::Uuid(_) => IdForm::Uuid,
        }
    }

    fn data_type(self) -> DataType {
        match self {
            IdForm::Int => DataType::Int64,
            IdForm::Text => DataType::Utf8,
            IdForm::Uuid => DataType::FixedSizeBinary(16),
        }
    }

    /// The ids as a column; `None` if one has another form.
    fn array(self, ids: &[Option<ExternalId>]) -> Option<ArrayRef> {
        if ids.iter().flatten().any(|id| Self::of(id) != self) {
            return None;
        }
        let int = |id: &Option<ExternalId>| if let Some(ExternalId::Int(id)) = id { Some(*id) } else { None };
        let uuid = |id: &Option<ExternalId>| if let Some(ExternalId::Uuid(id)) = id { Some(id.into_bytes()) } else { None };
        Some(match self {
            IdForm::Int => Arc::new(Int64Array::from_iter(ids.iter().map(int))),
            IdForm::Text => Arc::new(StringArray::from_iter(ids.iter().map(|id| id.as_ref().map(ToString::to_string)))),
            IdForm::Uuid => {
                let uuids = FixedSizeBinaryArray::try_from_sparse_iter_with_size(ids.iter().map(uuid), 16);
                Arc::new(uuids.ok()?)
            }
        })
    }
}

/// The form of the ids of a label; `None` if there are none. Fails if they have several forms.
fn id_form(walk: &mut ExportWalk<'_>, kind: ElementKind, label: LabelId) -> Result<Option<IdForm>, ExportError> {
    let mut form = None;
    let is_one = walk.all_pages(kind, label, |walk, page| {
        let ids = walk.ids(page)?;
        Ok(ids.iter().flatten().map(IdForm::of).all(|found| *form.get_or_insert(found) == found))
    })?;
    match is_one {
        true => Ok(form),
        false => Err(mixed_ids(&walk.view.schema().label_name(kind, label))),
    }
}

fn mixed_ids(label: &str) -> ExportError {
    ExportError::Unwritable {
        what: format!("`{label}`, whose ids have several types,"),
        format: "Parquet",
        hint: "a column has one type there. Export GraphSON",
    }
}

/// A property, and the form of its column.
struct ColumnPlan {
    key: KeyId,
    field: FieldRef,
    form: Form,
}

#[derive(Clone, Copy, PartialEq)]
enum Form {
    /// The Arrow type that all values have.
    Native(ValueType),
    /// Lists of values of one type, which has an Arrow type.
    List(ValueType),
    /// One value, as text that loads back as the same value.
    Text,
    /// All values with their properties, as GraphSON.
    Cells,
}

/// The columns of a label's properties, and what the mapping must say about them.
fn column_plans(
    walk: &mut ExportWalk<'_>,
    kind: ElementKind,
    label: LabelId,
    entry: &mut TableText,
) -> Result<Vec<ColumnPlan>, ExportError> {
    let Some(of_label) = walk.view.schema().label_schema(kind, label) else { return Ok(Vec::new()) };
    let (properties, own) = (of_label.properties.clone(), of_label.key);
    let mut plans = Vec::new();
    for property in properties.iter().filter(|property| is_column(property, own)) {
        let name = walk.view.schema().key_name(property.key);
        let (form, mapped) = form_of(walk, kind, label, property)?;
        let (form, data_type) = match (form, property.types.single().and_then(arrow_type)) {
            (Form::Native(_), Some(t)) => (form, t),
            (Form::List(_), Some(t)) => (form, DataType::new_list(t, true)),
            (other, _) => (other, DataType::Utf8),
        };
        let is_said = form != Form::Native(property.types.single().unwrap_or(ValueType::Null)) || name.contains(':');
        if is_said || property.types.single() == Some(ValueType::Uuid) {
            let cardinality = match form {
                Form::List(_) => format!(", cardinality: {}", property.cardinality.name()),
                _ => String::new(),
            };
            entry.properties.push((name.to_string(), format!("{{name: {}, type: {mapped}{cardinality}}}", quoted(&name))));
        }
        plans.push(ColumnPlan { key: property.key, field: Arc::new(Field::new(&*name, data_type, true)), form });
    }
    Ok(plans)
}

/// The form of a property's column, and the type that the mapping names.
fn form_of(
    walk: &mut ExportWalk<'_>,
    kind: ElementKind,
    label: LabelId,
    property: &PropertySchema,
) -> Result<(Form, String), ExportError> {
    let cells = Ok((Form::Cells, "graphson".to_owned()));
    let Some(t) = property.types.single().filter(|_| !property.types.contains(ValueType::Null)) else { return cells };
    if property.has_meta {
        return cells;
    }
    let is_native = arrow_type(t).is_some() && fits_arrow(walk, kind, label, property.key, t)?;
    Ok(match property.cardinality {
        Cardinality::Single if is_native => (Form::Native(t), t.name().into()),
        Cardinality::Single => (Form::Text, t.name().into()),
        _ if is_native && kind == ElementKind::Vertex && t != ValueType::Bytes && t != ValueType::Uuid => {
            (Form::List(t), quoted(&format!("{}[]", t.name())))
        }
        _ => return cells,
    })
}

/// Whether an Arrow column holds all values exactly. Our instants have an offset and nanoseconds; Arrow's have microseconds.
fn fits_arrow(
    walk: &mut ExportWalk<'_>,
    kind: ElementKind,
    label: LabelId,
    key: KeyId,
    t: ValueType,
) -> Result<bool, ExportError> {
    if !matches!(t, ValueType::DateTime | ValueType::Duration) {
        return Ok(true);
    }
    walk.all_pages(kind, label, |walk, page| {
        let column = walk.view.properties(page, key)?;
        let fits = |row| column.cell(row).values().all(|value| array_of(&[Some(value)]).is_some());
        Ok(matches!(column, PropertyColumn::Typed(_)) || (0..column.len()).all(fits))
    })
}

/// The columns of a page of elements. `None` if the values of one do not fit into one array.
fn arrays(
    walk: &ExportWalk<'_>,
    elements: Elements<'_>,
    plans: &[ColumnPlan],
) -> Result<Option<Vec<ArrayRef>>, ExportError> {
    let columns = walk.columns(elements, plans.iter().map(|plan| plan.key))?;
    Ok(columns.into_iter().zip(plans).map(|(column, plan)| array(walk, &column, plan)).collect())
}

/// A column of a page of elements. `None` if its values do not fit into one array.
fn array(walk: &ExportWalk<'_>, column: &PropertyColumn, plan: &ColumnPlan) -> Option<ArrayRef> {
    let cells = || (0..column.len()).map(|row| column.cell(row));
    match plan.form {
        Form::Native(_) => match column {
            PropertyColumn::Typed(array) if array.data_type() == plan.field.data_type() => Some(array.clone()),
            _ => {
                let cells: Vec<Cell> = cells().collect();
                let values: Vec<Option<&Value>> = cells.iter().map(|cell| cell.values().next()).collect();
                values_or_nulls(&values, plan.field.data_type())
            }
        },
        Form::List(_) => lists(&cells().collect::<Vec<_>>(), &plan.field),
        Form::Text => texts(cells().map(|cell| cell.values().next().map(plain_text)).collect()),
        Form::Cells => {
            let text = |cell: Cell| {
                (!cell.is_absent()).then(|| {
                    let mut text = String::new();
                    write_cell(walk.view, &cell, None, &mut text);
                    text
                })
            };
            texts(cells().map(text).collect())
        }
    }
}

/// Values of one type as an array, which is all nulls if there are none. `None` if they do not fit into one array.
fn values_or_nulls(values: &[Option<&Value>], t: &DataType) -> Option<ArrayRef> {
    match values.iter().all(Option::is_none) {
        true => Some(new_null_array(t, values.len())),
        false => array_of(values),
    }
}

/// `None` if the texts do not fit into one array.
fn texts(texts: Vec<Option<String>>) -> Option<ArrayRef> {
    let bytes: usize = texts.iter().flatten().map(String::len).sum();
    (bytes <= i32::MAX as usize).then(|| Arc::new(StringArray::from(texts)) as ArrayRef)
}

/// Writes rows with `write`, which returns false if they are too many for one batch. Then it writes them in halves.
fn in_halves<T>(
    rows: &[T],
    what: &str,
    write: &mut dyn FnMut(&[T]) -> Result<bool, ExportError>,
) -> Result<(), ExportError> {
    if rows.is_empty() || write(rows)? {
        return Ok(());
    }
    if rows.len() == 1 {
        return Err(ExportError::Unwritable {
            what: format!("an element of `{what}` with more than 2 GB in one property"),
            format: "Parquet",
            hint: "export GraphSON",
        });
    }
    let (first, second) = rows.split_at(rows.len() / 2);
    in_halves(first, what, write)?;
    in_halves(second, what, write)
}

fn plain_text(value: &Value) -> String {
    match value {
        Value::List(_) | Value::Set(_) | Value::Map(_) => {
            let mut text = String::new();
            write_value(value, &mut text);
            text
        }
        value => text_of(value),
    }
}

/// The values of each cell as a list. `None` if they do not fit into one array.
fn lists(cells: &[Cell], field: &FieldRef) -> Option<ArrayRef> {
    let DataType::List(item) = field.data_type() else { unreachable!("the column of a list") };
    let values: Vec<Option<&Value>> = cells.iter().flat_map(Cell::values).map(Some).collect();
    let values = values_or_nulls(&values, item.data_type())?;
    let offsets = OffsetBuffer::from_lengths(cells.iter().map(|cell| cell.values().count()));
    let there: NullBuffer = cells.iter().map(|cell| !cell.is_absent()).collect::<Vec<bool>>().into();
    Some(Arc::new(ListArray::new(item.clone(), offsets, values, Some(there))))
}

/// A table while it is written.
struct Table {
    writer: ArrowWriter<File>,
    schema: Arc<ArrowSchema>,
    path: PathBuf,
}

impl Table {
    fn create(walk: &mut ExportWalk<'_>, path: PathBuf, fields: Vec<FieldRef>) -> Result<Self, ExportError> {
        let names: Vec<String> = fields.iter().map(|field| field.name().clone()).collect();
        if style(&names) != Style::Plain {
            return Err(ExportError::Unwritable {
                what: format!("the columns {}", names.join(", ")),
                format: "Parquet",
                hint: "one of them would be read as a header of Neo4j or Neptune. Export GraphSON",
            });
        }
        let file = walk.create_file(&path)?;
        let schema = Arc::new(ArrowSchema::new(fields));
        let properties = WriterProperties::builder()
            .set_compression(Compression::ZSTD(ZstdLevel::default()))
            .set_max_row_group_row_count(Some(ROW_GROUP))
            .build();
        let writer = ArrowWriter::try_new(file, schema.clone(), Some(properties)).map_err(|error| failed(&path, error))?;
        Ok(Self { writer, schema, path })
    }

    fn write(&mut self, columns: Vec<ArrayRef>) -> Result<(), ExportError> {
        let batch = RecordBatch::try_new(self.schema.clone(), columns).map_err(|error| failed(&self.path, error.into()))?;
        self.writer.write(&batch).map_err(|error| failed(&self.path, error))
    }

    fn finish(self) -> Result<(), ExportError> {
        self.writer.close().map(|_| ()).map_err(|error| failed(&self.path, error))
    }
}

fn failed(path: &Path, error: ParquetError) -> ExportError {
    ExportError::Write { path: path.to_owned(), source: std::io::Error::other(error) }
}

/// A column name that no property of the label has: `wanted`, with underscores in front as needed.
fn free_name(walk: &ExportWalk<'_>, kind: ElementKind, label: LabelId, wanted: &str) -> String {
    let schema = walk.view.schema();
    let properties = schema.label_schema(kind, label).into_iter().flat_map(|label| label.properties.keys());
    let taken: HashSet<String> = properties.map(|key| schema.key_name(key).to_lowercase()).collect();
    let mut name = wanted.to_owned();
    while taken.contains(&name) {
        name.insert(0, '_');
    }
    name
}

fn vertices(
    walk: &mut ExportWalk<'_>,
    label: LabelId,
    ids: IdForm,
    directory: &Path,
    names: &mut FileNames,
) -> Result<(), ExportError> {
    let schema = walk.view.schema();
    let Some(of_label) = schema.label_schema(ElementKind::Vertex, label) else { return Ok(()) };
    let (name, has_further) = (of_label.name.clone(), !of_label.further.is_empty());
    let key = of_label.key.map(|key| schema.key_name(key).to_string());
    let id_column = key.clone().unwrap_or_else(|| free_name(walk, ElementKind::Vertex, label, "_id"));
    let file = names.make(&["vertices", &name]);
    let mut entry = TableText::new(ElementKind::Vertex, &file);
    entry.text("label", &name);
    entry.text("id", &id_column);
    let mut fields: Vec<FieldRef> = vec![Arc::new(Field::new(&id_column, ids.data_type(), false))];
    if key.is_none() {
        entry.properties.push((id_column, "ignore".into()));
    }
    if has_further {
        let column = free_name(walk, ElementKind::Vertex, label, "_labels");
        entry.text("label_column", &column);
        fields.push(Arc::new(Field::new(column, DataType::Utf8, false)));
    }
    let plans = column_plans(walk, ElementKind::Vertex, label, &mut entry)?;
    fields.extend(plans.iter().map(|plan| plan.field.clone()));
    let mut table: Option<Table> = None;
    let mut write = |walk: &mut ExportWalk<'_>, page: &[VertexId]| {
        let elements = Elements::Vertices(page);
        let mut columns = vec![ids.array(&walk.ids(elements)?).ok_or_else(|| mixed_ids(&name))?];
        if has_further {
            let labels = walk.label_names(page)?;
            let labels = labels.iter().map(|names| labels_text(names, "Parquet"));
            columns.push(Arc::new(StringArray::from(labels.collect::<Result<Vec<_>, _>>()?)));
        }
        let Some(properties) = arrays(walk, elements, &plans)? else { return Ok(false) };
        columns.extend(properties);
        let table = match &mut table {
            Some(table) => table,
            none => none.insert(Table::create(walk, directory.join(&file), fields.clone())?),
        };
        table.write(columns).map(|()| true)
    };
    walk.vertices(label, PAGE, |walk, page| {
        page.chunks(ROWS_AT_ONCE).try_for_each(|rows| in_halves(rows, &name, &mut |rows| write(walk, rows)))
    })?;
    let Some(table) = table else { return Ok(()) };
    walk.tables.push(entry);
    table.finish()
}

/// The labels of both ends if edges are split by them; `None` if not.
type Ends = Option<(LabelId, LabelId)>;

/// A table of edges while it is written, and its buffered rows.
struct EdgeTable {
    ends: Ends,
    forms: (IdForm, IdForm),
    table: Table,
}

fn edges(
    walk: &mut ExportWalk<'_>,
    label: LabelId,
    forms: &Forms,
    directory: &Path,
    names: &mut FileNames,
) -> Result<(), ExportError> {
    let schema = walk.view.schema();
    let Some(of_label) = schema.label_schema(ElementKind::Edge, label) else { return Ok(()) };
    let (name, time) = (of_label.name.clone(), of_label.time.map(|key| schema.key_name(key)));
    let form = |label: LabelId| forms.get(&label).copied().unwrap_or(IdForm::Text);
    let pairs: Vec<(IdForm, IdForm)> = of_label.ends.iter().map(|(a, b)| (form(*a), form(*b))).collect();
    let apart = walk.is_label_space() || pairs.windows(2).any(|pair| pair[0] != pair[1]);
    let edge_ids = id_form(walk, ElementKind::Edge, label)?;
    let columns = EdgeColumns::new(walk, label);
    let mut mapped = TableText::new(ElementKind::Edge, "");
    let plans = column_plans(walk, ElementKind::Edge, label, &mut mapped)?;
    let mut tables: Vec<EdgeTable> = Vec::new();
    walk.edges(label, |walk, page| {
        let end_ids = walk.by_vertex(ends_of(page), ExportWalk::ids)?;
        for (ends, rows) in by_ends(page, apart) {
            let at = match tables.iter().position(|table| table.ends == ends) {
                Some(at) => at,
                None => {
                    let (source, target) = (page[rows[0] as usize].source.label(), page[rows[0] as usize].target.label());
                    let forms = (form(source), form(target));
                    let file = names.make(&file_parts(walk, &name, ends).iter().map(|part| &**part).collect::<Vec<_>>());
                    let mut entry = TableText {
                        file: file.clone(),
                        properties: mapped.properties.clone(),
                        ..TableText::new(ElementKind::Edge, "")
                    };
                    columns.describe(walk, &mut entry, &name, ends, time.as_deref(), edge_ids.is_some());
                    walk.tables.push(entry);
                    let mut fields = columns.fields(forms, edge_ids);
                    fields.extend(plans.iter().map(|plan| plan.field.clone()));
                    let table = Table::create(walk, directory.join(file), fields)?;
                    tables.push(EdgeTable { ends, forms, table });
                    tables.len() - 1
                }
            };
            let edges: Vec<EdgeRef> = rows.iter().map(|row| page[*row as usize]).collect();
            let table = &mut tables[at];
            in_halves(&edges, &name, &mut |rows| write_edges(walk, rows, &end_ids, table, edge_ids, &plans, &name))?;
        }
        Ok(())
    })?;
    tables.into_iter().try_for_each(|table| table.table.finish())
}

/// Groups the rows of a page by the labels of their ends. The groups and their rows keep the order of the page.
fn by_ends(page: &[EdgeRef], apart: bool) -> Vec<(Ends, Vec<u32>)> {
    let mut groups: Vec<(Ends, Vec<u32>)> = Vec::new();
    for (row, edge) in page.iter().enumerate() {
        let ends = apart.then(|| (edge.source.label(), edge.target.label()));
        match groups.iter_mut().find(|(of, _)| *of == ends) {
            Some((_, rows)) => rows.push(row as u32),
            None => groups.push((ends, vec![row as u32])),
        }
    }
    groups
}

fn file_parts(walk: &ExportWalk<'_>, name: &Arc<str>, ends: Ends) -> Vec<Arc<str>> {
    let end = |label: LabelId| walk.view.schema().label_name(ElementKind::Vertex, label);
    match ends {
        None => vec!["edges".into(), name.clone()],
        Some((source, target)) => vec!["edges".into(), end(source), name.clone(), end(target)],
    }
}

/// The names of the columns of edges that are no properties.
struct EdgeColumns {
    source: String,
    target: String,
    id: String,
}

impl EdgeColumns {
    fn new(walk: &ExportWalk<'_>, label: LabelId) -> Self {
        let free = |wanted| free_name(walk, ElementKind::Edge, label, wanted);
        Self { source: free("src"), target: free("dst"), id: free("_id") }
    }

    fn fields(&self, forms: (IdForm, IdForm), ids: Option<IdForm>) -> Vec<FieldRef> {
        let source = Field::new(&self.source, forms.0.data_type(), false);
        let target = Field::new(&self.target, forms.1.data_type(), false);
        let id = ids.map(|form| Field::new(&self.id, form.data_type(), true));
        [Some(source), Some(target), id].into_iter().flatten().map(Arc::new).collect()
    }

    fn describe(
        &self,
        walk: &ExportWalk<'_>,
        entry: &mut TableText,
        label: &str,
        ends: Ends,
        time: Option<&str>,
        has_ids: bool,
    ) {
        entry.text("label", label);
        entry.text("source", &self.source);
        entry.text("target", &self.target);
        if let Some((source, target)) = ends {
            entry.text("source_label", &walk.view.schema().label_name(ElementKind::Vertex, source));
            entry.text("target_label", &walk.view.schema().label_name(ElementKind::Vertex, target));
        }
        if has_ids {
            entry.text("id", &self.id);
        }
        if let Some(time) = time {
            entry.text("time", time);
        }
    }
}

/// Returns false, and writes nothing, if a property of these edges does not fit into one array.
fn write_edges(
    walk: &ExportWalk<'_>,
    edges: &[EdgeRef],
    end_ids: &HashMap<VertexId, Option<ExternalId>>,
    table: &mut EdgeTable,
    ids: Option<IdForm>,
    plans: &[ColumnPlan],
    name: &str,
) -> Result<bool, ExportError> {
    let array = |form: IdForm, ids: &[Option<ExternalId>]| form.array(ids).ok_or_else(|| mixed_ids(name));
    let end = |form: IdForm, of: fn(&EdgeRef) -> VertexId| {
        array(form, &edges.iter().map(|edge| end_ids[&of(edge)].clone()).collect::<Vec<_>>())
    };
    let mut columns = vec![end(table.forms.0, |edge| edge.source)?, end(table.forms.1, |edge| edge.target)?];
    if let Some(form) = ids {
        columns.push(array(form, &walk.ids(Elements::Edges(edges))?)?);
    }
    let Some(properties) = arrays(walk, Elements::Edges(edges), plans)? else { return Ok(false) };
    columns.extend(properties);
    table.table.write(columns).map(|()| true)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_that_are_too_many_for_a_batch_are_written_in_halves() {
        let mut batches: Vec<Vec<u32>> = Vec::new();
        let mut write = |rows: &[u32]| {
            let fits = rows.iter().sum::<u32>() <= 10;
            batches.extend(fits.then(|| rows.to_vec()));
            Ok(fits)
        };
        in_halves(&[1, 2, 3, 9, 1, 4, 10], "person", &mut write).expect("batches");
        in_halves(&[], "person", &mut write).expect("nothing to write");
        let error = in_halves(&[1, 11], "person", &mut write).expect_err("one row that fits nowhere");
        assert!(error.to_string().contains("`person` with more than 2 GB"), "{error}");
        assert_eq!(batches, [vec![1, 2, 3], vec![9, 1], vec![4], vec![10], vec![1]]);
    }

    #[test]
    fn values_are_nulls_only_where_there_are_none() {
        let texts = [Value::from("a"), Value::from(1)];
        let nulls = values_or_nulls(&[None, None], &DataType::Utf8).expect("nulls");
        assert_eq!((nulls.len(), nulls.null_count(), nulls.data_type()), (2, 2, &DataType::Utf8));
        assert!(values_or_nulls(&[Some(&texts[0]), Some(&texts[1])], &DataType::Utf8).is_none());
        assert_eq!(values_or_nulls(&[Some(&texts[0]), None], &DataType::Utf8).map(|array| array.null_count()), Some(1));
    }
}
