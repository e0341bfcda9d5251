//! Opens plain tables that a mapping describes: reads the mapping and the footers.
//!
//! The loader plans how a table is read, so that a graph is the same in place and loaded.

use std::path::Path;
use std::sync::Arc;

use arrow_schema::{DataType as ArrowType, Field, SchemaRef};
use mangrove_graph::column::{arrow_type, value_type_of};
use mangrove_graph::id::LOCAL_MAX;
use mangrove_graph::{Cardinality, ElementKind, IdSpace, LabelId, LabelSchema, Predicate, Schema, ValueType};
use mangrove_ingest::{
    ColumnType, ForeignKey, IdType, LabelRule, Mapping, PropertyPlan, Purpose, Scope, TableEntry, TableHints, TablePlan,
    Test, as_type, parse_mapping, plan_arrow, read_as,
};

use super::columns::{Column, Columns, Written};
use super::ends::{End, TableOfEdges};
use super::expand;
use super::lazy::Lazy;
use super::rows::Rows;
use super::selected::Filters;
use super::tables::Tables;
use super::{EdgeType, Lake, LakeOptions, Layout, VertexFiles, VertexType, edge_label_named, key_named};
use crate::error::{LakeError, Result};
use crate::files::Files;

/// Opens the tables that the text of a mapping describes.
pub fn open(files: Files, text: &str, name: &Arc<str>, options: &LakeOptions) -> Result<Lake> {
    let mapping =
        parse_mapping(text, name, Path::new(""), false).map_err(|error| LakeError::Unsupported(error.to_string()))?;
    if !mapping.files.is_empty() {
        let hint = "load it: `files` are for the loader. Tables are `nodes` and `edges`";
        return Err(LakeError::damaged(name, format!("a file of vertices and edges cannot be queried in place; {hint}")));
    }
    let files = mapping.root.as_deref().map_or(Ok(None), |root| files.at(root).map(Some))?.unwrap_or(files);
    let tables = Tables::of_others(options.keeping_pages(files)?);
    let named: Vec<Vec<String>> = mapping.tables.iter().map(|entry| names(&tables, entry)).collect::<Result<_>>()?;
    let paths = expand::open(&tables, &named)?;
    let mut reading = Reading { tables: &tables, name, mapping: &mapping, schema: Schema::default() };
    // Tables of a company number their rows each for itself.
    reading.schema.id_space = mapping.graph.id_space.unwrap_or(IdSpace::Label);
    for key in &mapping.graph.keys {
        key_named(&mut reading.schema, key, name)?;
    }
    let entries = || mapping.tables.iter().zip(&paths);
    let mut vertices = Vec::new();
    for (entry, paths) in entries().filter(|(entry, _)| entry.kind == ElementKind::Vertex) {
        vertices.push(reading.vertex_type(entry, paths)?);
    }
    let mut edges = Vec::new();
    for (entry, paths) in entries() {
        match entry.kind {
            ElementKind::Edge => {
                let found = reading.edge_type(entry, paths, &vertices, &edges)?;
                edges.push(found);
            }
            ElementKind::Vertex => {
                for key in &entry.foreign_keys {
                    let found = reading.foreign_key((entry, paths), key, &vertices, &edges)?;
                    edges.push(found);
                }
            }
        }
    }
    let schema = reading.schema;
    let times = schema.edge_labels.iter().map(|label| time_of(&mapping, &label.name)).collect();
    Ok(Lake::new(tables, schema, (vertices, edges), times, options.indexes()))
}

/// The names of the files of a table.
fn names(tables: &Tables, entry: &TableEntry) -> Result<Vec<String>> {
    let name = |path: &std::path::PathBuf| {
        let name = path.to_string_lossy().into_owned();
        match name.contains("://") {
            false => Ok(name),
            true => {
                let hint = "give its folder as `root:` of the mapping";
                Err(LakeError::Unsupported(format!("{name}: files are named by their path below one folder; {hint}")))
            }
        }
    };
    let names = entry.files.iter().map(name).collect::<Result<Vec<_>>>()?;
    match entry.format {
        None | Some(mangrove_ingest::Format::Auto | mangrove_ingest::Format::Parquet) => Ok(names),
        Some(_) => {
            let file = tables.files.name(&names.join(", "));
            Err(LakeError::Unsupported(format!(
                "{file}: only Parquet files are queried in place; load others with `mangrove load DB --mapping FILE`"
            )))
        }
    }
}

/// The property that orders the edges of a label.
fn time_of(mapping: &Mapping, label: &str) -> Option<Arc<str>> {
    let declared = mapping.graph.labels.iter().find(|of| of.kind == ElementKind::Edge && *of.name == *label);
    let of_label = |entry: &&TableEntry| entry.kind == ElementKind::Edge && entry.label.as_deref() == Some(label);
    let of_table = || {
        let table = &mapping.tables.iter().find(of_label)?.table;
        let column = table.time.as_deref()?;
        let renamed = table.properties.iter().find(|(name, _)| name == column).and_then(|(_, wish)| wish.name.clone());
        Some(renamed.unwrap_or_else(|| column.into()))
    };
    declared.and_then(|of| of.time.clone()).or_else(of_table)
}

/// A table, and how it is read.
struct Planned {
    schema: SchemaRef,
    plan: TablePlan,
    rows: Rows,
    /// Its name in messages: that of the first file.
    name: Arc<str>,
}

struct Reading<'m> {
    tables: &'m Tables,
    /// Of the mapping.
    name: &'m Arc<str>,
    mapping: &'m Mapping,
    schema: Schema,
}

impl Reading<'_> {
    fn vertex_type(&mut self, entry: &TableEntry, paths: &[Arc<str>]) -> Result<VertexType> {
        let planned = self.plan(entry, paths)?;
        let Planned { plan, schema, .. } = &planned;
        let name = planned.label()?;
        if self.schema.label(ElementKind::Vertex, &name).is_some() {
            let hint = "give one table all `files`";
            return Err(LakeError::damaged(self.name, format!("there are two tables of vertices called `{name}`: {hint}")));
        }
        let mut label = LabelSchema::new(name.clone());
        let mut columns = Columns::default();
        if let Some(at) = plan.parts.id {
            let mut column = id_column(schema.field(at), plan.id_type).map_err(|reason| planned.wrong(reason))?;
            if let Some(key) = &plan.key {
                let key = key_named(&mut self.schema, key, self.name)?;
                column.key = Some(key);
                let property = label.property_mut(key);
                property.types.insert(column.value_type);
                property.required = true;
                label.key = Some(key);
                columns.properties.push(column.clone());
            }
            self.refuse_nulls(entry, paths, &column)?;
            columns.id = Some(column);
        }
        let listed = |name: &str| entry.table.properties.iter().any(|(column, _)| column == name);
        let is_foreign = |at: usize| {
            let name = schema.field(at).name();
            entry.foreign_keys.iter().any(|key| key.column == *name) && !listed(name)
        };
        self.properties(&planned, (ElementKind::Vertex, &mut label), &mut columns, &is_foreign)?;
        self.schema.vertex_labels.push(label);
        let mut of = VertexType::new(planned.rows.clone(), VertexFiles::Tables(paths.to_vec()), columns);
        of.filters = self.filters(&planned, entry)?;
        Ok(of)
    }

    fn edge_type(
        &mut self,
        entry: &TableEntry,
        paths: &[Arc<str>],
        vertices: &[VertexType],
        before: &[EdgeType],
    ) -> Result<EdgeType> {
        let planned = self.plan(entry, paths)?;
        let Planned { plan, schema, .. } = &planned;
        let name = planned.label()?;
        let of_end = |scope: &Scope, word: &str| match scope {
            Scope::Label(label) => self.vertex_label(Some(label), word),
            Scope::Any => self.vertex_label(None, word),
            Scope::Space(space) => self.vertex_label(Some(space), word),
        };
        let source = of_end(&plan.source_scope, "source_label")?;
        let target = of_end(&plan.target_scope, "target_label")?;
        let end = |at: Option<usize>| {
            let missing = || planned.wrong("it has no columns for the ends of edges".into());
            let field = schema.field(at.ok_or_else(missing)?);
            id_column(field, plan.id_type).map(End::Column).map_err(|reason| planned.wrong(reason))
        };
        let names = [end(plan.parts.source)?, end(plan.parts.target)?];
        self.same_ids(&planned, &names[0], source, vertices)?;
        self.same_ids(&planned, &names[1], target, vertices)?;
        let label = edge_label_named(&mut self.schema, &name);
        let mut of_label = self.schema.edge_labels[usize::from(label.0)].clone();
        of_label.ends.insert_mut((source, target));
        let mut columns = Columns::default();
        if let Some(at) = plan.parts.id {
            let column = id_column(schema.field(at), plan.id_type).map_err(|reason| planned.wrong(reason))?;
            columns.id = Some(column);
        }
        self.properties(&planned, (ElementKind::Edge, &mut of_label), &mut columns, &|_| false)?;
        self.schema.edge_labels.replace(label.0, of_label);
        let filters = self.filters(&planned, entry)?;
        let table = TableOfEdges {
            files: paths.to_vec(),
            rows: planned.rows.clone(),
            names,
            filters,
            missing: entry.missing,
            index: Lazy::default(),
        };
        self.joined((label, source, target), columns, table, vertices, before)
    }

    fn foreign_key(
        &mut self,
        (entry, paths): (&TableEntry, &[Arc<str>]),
        key: &ForeignKey,
        vertices: &[VertexType],
        before: &[EdgeType],
    ) -> Result<EdgeType> {
        let planned = self.plan(entry, paths)?;
        let own = planned.label()?;
        let own = self.vertex_label(Some(&own), "label")?;
        let other = self.vertex_label(key.to.as_ref(), "to")?;
        let Some((_, field)) = planned.schema.fields().find(&key.column) else {
            return Err(planned.wrong(format!("it has no column `{}`, which is a foreign key in the mapping", key.column)));
        };
        let id_type = self.id_type_of(other);
        let named = id_column(field, id_type).map(End::Column).map_err(|reason| planned.wrong(reason))?;
        self.same_ids(&planned, &named, other, vertices)?;
        let label = edge_label_named(&mut self.schema, &key.label);
        let (source, target) = if key.is_incoming { (other, own) } else { (own, other) };
        let mut of_label = self.schema.edge_labels[usize::from(label.0)].clone();
        of_label.ends.insert_mut((source, target));
        self.schema.edge_labels.replace(label.0, of_label);
        let table = TableOfEdges {
            files: paths.to_vec(),
            rows: planned.rows.clone(),
            names: if key.is_incoming { [named, End::Row] } else { [End::Row, named] },
            filters: Filters::default(),
            missing: key.missing,
            index: Lazy::default(),
        };
        self.joined((label, source, target), Columns::default(), table, vertices, before)
    }

    fn joined(
        &self,
        (label, source, target): (LabelId, LabelId, LabelId),
        columns: Columns,
        table: TableOfEdges,
        vertices: &[VertexType],
        before: &[EdgeType],
    ) -> Result<EdgeType> {
        let ends = [source, target].map(|label| vertices[usize::from(label.0)].rows.count());
        let base: u64 = before.iter().filter(|of| of.label == label).map(EdgeType::places).sum();
        if table.rows.count() > LOCAL_MAX - base {
            return Err(LakeError::damaged(self.name, "there are more edges than can be read"));
        }
        let layout = Layout::Tables(Box::new(table));
        Ok(EdgeType { label, source, target, columns, layout, base, ends, sorted: Default::default() })
    }

    /// The type that a mapping gives the ids of a label.
    fn id_type_of(&self, label: LabelId) -> IdType {
        let name = self.schema.label_name(ElementKind::Vertex, label);
        let is_it = |entry: &&TableEntry| entry.kind == ElementKind::Vertex && entry.label.as_ref() == Some(&name);
        self.mapping.tables.iter().find(is_it).and_then(|entry| entry.table.id_type).unwrap_or_default()
    }

    /// Refuses a column that cannot name vertices because their ids have another type.
    fn same_ids(&self, planned: &Planned, end: &End, label: LabelId, vertices: &[VertexType]) -> Result<()> {
        let ids = vertices.get(usize::from(label.0)).and_then(|of| of.columns.id.as_ref());
        match (end.column(), ids) {
            (Some(column), Some(ids)) if column.value_type != ids.value_type => {
                let (name, found, expected) = (&column.name, column.value_type.name(), ids.value_type.name());
                let of = self.schema.label_name(ElementKind::Vertex, label);
                let hint = format!(
                    "`id_type: {}` in one of the two tables reads both alike",
                    if found == "string" { expected } else { "string" }
                );
                Err(planned.wrong(format!("column `{name}` holds {found}, but the ids of `{of}` are {expected}; {hint}")))
            }
            _ => Ok(()),
        }
    }

    /// The label of vertices at an end; the only one there is, if none is named.
    fn vertex_label(&self, name: Option<&Arc<str>>, word: &str) -> Result<LabelId> {
        let known = || {
            let names: Vec<String> = self.schema.vertex_labels.iter().map(|label| format!("`{}`", label.name)).collect();
            if names.is_empty() { "there are no tables of vertices (`nodes`)".into() } else { names.join(", ") }
        };
        let wrong = |reason: String| Err(LakeError::damaged(self.name, reason));
        match name {
            Some(name) => match self.schema.label(ElementKind::Vertex, name) {
                Some(label) => Ok(label),
                None => {
                    wrong(format!("edges end at `{name}`, but no table of vertices has this label; there are {}", known()))
                }
            },
            None if self.schema.vertex_labels.len() == 1 => Ok(LabelId(0)),
            None => wrong(format!("say which vertices the edges join, with `{word}`: {}", known())),
        }
    }

    /// How a table is read. All its files must have the same columns.
    fn plan(&self, entry: &TableEntry, paths: &[Arc<str>]) -> Result<Planned> {
        let opened = self.tables.at(paths, None)?;
        let Some(first) = opened.first() else { return Err(LakeError::damaged(self.name, "a table has no files")) };
        let (schema, name) = (first.schema().clone(), self.tables.files.name(first.path()));
        for other in &opened[1..] {
            if let Some(reason) = differ(&schema, other.schema()) {
                let file = self.tables.files.name(other.path());
                return Err(LakeError::damaged(&file, format!("{reason} of {name}, which belongs to the same table")));
            }
        }
        let named = entry.files.first().map(|file| file.file_stem().unwrap_or_default().to_string_lossy().into_owned());
        let hints = TableHints { stem: named.unwrap_or_default(), ..entry.hints() };
        let plan = plan_arrow(&schema, &hints, &name).map_err(|error| LakeError::Unsupported(error.to_string()))?;
        if let Some(guess) = plan.warnings.first() {
            return Err(LakeError::Unsupported(format!("{guess}. Name them in the mapping, as `source` and `target`")));
        }
        Ok(Planned { rows: Rows::of(opened.iter().map(|table| table.rows())), schema, plan, name })
    }

    /// The columns of a table that are properties. Notes them in the schema.
    fn properties(
        &mut self,
        planned: &Planned,
        (kind, label): (ElementKind, &mut LabelSchema),
        columns: &mut Columns,
        is_left_out: &dyn Fn(usize) -> bool,
    ) -> Result<()> {
        for (at, property) in planned.plan.columns.iter().enumerate() {
            // A column without any value gives nothing.
            let is_empty = *planned.schema.field(at).data_type() == ArrowType::Null;
            let Some(property) = property.as_ref().filter(|_| !is_left_out(at) && !is_empty) else { continue };
            let declared = self.declared(kind, &label.name, property);
            let column = value_column(planned.schema.field(at), &declared, kind).map_err(|reason| planned.wrong(reason))?;
            let key = key_named(&mut self.schema, &property.name, self.name)?;
            let noted = label.property_mut(key);
            noted.types.insert(column.value_type);
            noted.cardinality = column.cardinality;
            columns.properties.push(Column { key: Some(key), ..column });
        }
        Ok(())
    }

    /// The type of a column: that of the table in the mapping, or else that of the property.
    fn declared(&self, kind: ElementKind, label: &str, property: &PropertyPlan) -> ColumnType {
        let of_label = self.mapping.graph.labels.iter().find(|of| of.kind == kind && *of.name == *label);
        let found = of_label.and_then(|of| of.properties.iter().find(|of| of.name == property.name));
        match (&property.column_type, found.and_then(|of| of.value_type)) {
            (ColumnType::Inferred(_) | ColumnType::Time(_), Some((Some(t), Cardinality::Single))) => ColumnType::Declared(t),
            (ColumnType::Inferred(_) | ColumnType::Time(_), Some((Some(item), cardinality))) => {
                ColumnType::Array { item, cardinality }
            }
            (given, _) => given.clone(),
        }
    }

    fn filters(&self, planned: &Planned, entry: &TableEntry) -> Result<Filters> {
        let mut tests = Vec::with_capacity(entry.conditions.len());
        for condition in &entry.conditions {
            let Some((_, field)) = planned.schema.fields().find(&condition.column) else {
                return Err(planned.wrong(format!("it has no column `{}` for the condition of `where`", condition.column)));
            };
            let inferred = ColumnType::Inferred(mangrove_ingest::Inferred::Nothing);
            let column = value_column(field, &inferred, ElementKind::Vertex).map_err(|reason| planned.wrong(reason))?;
            let compared = match &condition.test {
                Test::Passes(predicate) => as_compared(predicate, column.value_type).map(Test::Passes),
                other => Some(other.clone()),
            };
            let test = compared.ok_or_else(|| {
                let (name, t) = (&condition.column, column.value_type.name());
                planned
                    .wrong(format!("column `{name}` holds {t}, and the condition of `where` compares it with another type"))
            })?;
            tests.push((column, test));
        }
        Ok(Filters::new(tests))
    }

    /// Every vertex has an id, as far as footers tell.
    fn refuse_nulls(&self, entry: &TableEntry, paths: &[Arc<str>], column: &Column) -> Result<()> {
        if !entry.conditions.is_empty() {
            return Ok(());
        }
        for table in self.tables.at(paths, None)? {
            let nulls = table.column(&column.name).and_then(|(at, _)| table.nulls(at)).unwrap_or(0);
            if nulls > 0 {
                let file = self.tables.files.name(table.path());
                let reason = format!("column `{}` holds the ids, and lacks {nulls} of them", column.name);
                return Err(LakeError::damaged(&file, reason));
            }
        }
        Ok(())
    }
}

impl Planned {
    fn wrong(&self, reason: String) -> LakeError {
        LakeError::damaged(&self.name, reason)
    }

    fn label(&self) -> Result<Arc<str>> {
        match &self.plan.label {
            LabelRule::Fixed(label) => Ok(label.clone()),
            LabelRule::Column { index, .. } => {
                let column = self.schema.field(*index).name();
                let hint = format!("give one table for each label, with `where: {{{column}: …}}` and `label:`");
                Err(self.wrong(format!("column `{column}` would give each row its label, which needs a database; {hint}")))
            }
        }
    }
}

/// How the columns of two files of a table differ.
fn differ(schema: &SchemaRef, other: &SchemaRef) -> Option<String> {
    for field in schema.fields() {
        let Some((_, found)) = other.fields().find(field.name()) else {
            return Some(format!("it lacks column `{}`", field.name()));
        };
        let of = |field: &Field| read_as(field, Purpose::Value).unwrap_or(ArrowType::Null);
        if of(field) != of(found) {
            let (name, found, expected) = (field.name(), found.data_type(), field.data_type());
            return Some(format!("column `{name}` holds {found}, not {expected} as that"));
        }
    }
    let further = other.fields().iter().find(|field| schema.fields().find(field.name()).is_none())?;
    Some(format!("column `{}` is not among those", further.name()))
}

/// A column of ids: integers, strings or UUIDs, as the loader reads them.
fn id_column(field: &Field, id_type: IdType) -> Result<Column, String> {
    let plain = read_as(field, Purpose::Id).map_err(|why| format!("column `{}`: {why}", field.name()))?;
    let t = match id_type {
        IdType::Int => ValueType::Int64,
        IdType::String => ValueType::String,
        IdType::Uuid => ValueType::Uuid,
        IdType::Auto => match value_type_of(&plain) {
            // pandas turns integers into floats if a column has holes.
            Some(t) if t.is_integer() || matches!(t, ValueType::Float32 | ValueType::Float64) => ValueType::Int64,
            Some(t @ (ValueType::String | ValueType::Uuid)) => t,
            _ => {
                let found = field.data_type();
                return Err(format!("column `{}` holds {found}; ids are integers, strings or UUIDs", field.name()));
            }
        },
    };
    Ok(column(field, plain, (t, Cardinality::Single), Some(ColumnType::Declared(t))))
}

/// A column of values, as the loader reads them.
fn value_column(field: &Field, column_type: &ColumnType, kind: ElementKind) -> Result<Column, String> {
    let is_uuid = *column_type == ColumnType::Declared(ValueType::Uuid);
    let purpose = if is_uuid { Purpose::Id } else { Purpose::Value };
    let wrong = |why: String| format!("column `{}`: {why}", field.name());
    let plain = read_as(field, purpose).map_err(wrong)?;
    let found = value_type_of(&plain).unwrap_or(ValueType::Null);
    match column_type {
        ColumnType::Inferred(_) | ColumnType::Time(_) => Ok(column(field, plain, (found, Cardinality::Single), None)),
        ColumnType::Declared(t) => Ok(column(field, plain, (*t, Cardinality::Single), Some(column_type.clone()))),
        ColumnType::Array { item, cardinality } => {
            if arrow_type(*item).is_none() {
                return Err(wrong(format!("several values of type {} cannot be queried in place", item.name())));
            }
            // On edges, several values are one list.
            let (t, cardinality) = match kind {
                ElementKind::Vertex => (*item, *cardinality),
                ElementKind::Edge => (ValueType::List, Cardinality::Single),
            };
            Ok(column(field, plain, (t, cardinality), Some(column_type.clone())))
        }
        ColumnType::Cells => Err(wrong("cells of GraphSON cannot be queried in place".into())),
    }
}

fn column(
    field: &Field,
    plain: ArrowType,
    (value_type, cardinality): (ValueType, Cardinality),
    declared: Option<ColumnType>,
) -> Column {
    let written = Written::Table { plain, declared };
    Column { key: None, group: 0, name: field.name().as_str().into(), cardinality, value_type, written }
}

/// A test whose operands have a type that values of a column can be compared with. `None` if that cannot be.
fn as_compared(predicate: &Predicate, t: ValueType) -> Option<Predicate> {
    let operand = |value: &mangrove_graph::Value| match value.is_number() && t.is_number() {
        true => Some(value.clone()),
        false => as_type(value, t),
    };
    let all = |values: &mangrove_graph::Choices| values.iter().map(operand).collect::<Option<Vec<_>>>();
    Some(match predicate {
        Predicate::Compare(comparison, value) => Predicate::Compare(*comparison, operand(value)?),
        Predicate::Within(values) => Predicate::Within(all(values)?.into()),
        Predicate::Without(values) => Predicate::Without(all(values)?.into()),
        Predicate::And(parts) => Predicate::And(parts.iter().map(|part| as_compared(part, t)).collect::<Option<_>>()?),
        other => other.clone(),
    })
}
