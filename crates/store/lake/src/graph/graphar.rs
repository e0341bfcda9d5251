//! Opens a GraphAr directory: reads its YAML files and its counts. A chunk is opened when a query first needs it.

use std::sync::Arc;

use arrow_schema::{Field, TimeUnit};
use mangrove_graph::id::LOCAL_MAX;
use mangrove_graph::{Cardinality, ElementKind, LabelId, LabelSchema, Schema, ValueType};
use xxhash_rust::xxh3::Xxh3;

use super::columns::{Column, Columns, Written};
use super::counts::Counts;
use super::forms::Forms;
use super::rows::Rows;
use super::tables::Tables;
use super::{
    EdgeType, Lake, LakeOptions, Layout, List, Lists, NAMES_MAX, TEXT_BYTES_MAX, VertexFiles, VertexType, edge_label_named,
    key_named,
};
use crate::convert::FileForm;
use crate::error::{LakeError, Result};
use crate::files::Files;
use crate::info::types::{DataType, Scalar};
use crate::info::{
    EdgeInfo, FileType, GraphInfo, Notes, OFFSET, Order, Prefix, Property, PropertyGroup, SOURCE, Side, TARGET, VertexInfo,
};

/// The most chunks of one type. More would take more memory than they are worth.
const CHUNKS_MAX: u64 = 1 << 18;

/// Opens the graph that the text of a file `NAME.graph.yml` describes.
pub fn open(files: Files, text: &str, name: &Arc<str>, options: &LakeOptions) -> Result<Lake> {
    let info = GraphInfo::parse(text, name)?;
    let notes = Notes::of(&info.extra);
    let mut reading = Reading {
        files: &files,
        root: &info.prefix,
        schema: Schema::default(),
        notes,
        counts: Counts::default(),
        folders: Vec::new(),
    };
    reading.schema.id_space = reading.notes.id_space();
    // A few calls for all files: each is a journey if they are far away.
    let named: Vec<&str> = info.vertices.iter().chain(&info.edges).map(String::as_str).collect();
    let texts = files.texts(&named, TEXT_BYTES_MAX)?;
    let (of_vertices, of_edges) = texts.split_at(info.vertices.len());
    let mut vertices = reading.vertex_types(info.vertices.iter().zip(of_vertices))?;
    let edges = reading.edge_types(info.edges.iter().zip(of_edges), &vertices)?;
    for of in &mut vertices {
        of.labels = reading.further(of);
    }
    if reading.schema.vertex_labels.len() > NAMES_MAX {
        return Err(LakeError::damaged(name, "there are too many labels"));
    }
    let (schema, notes, folders) = (reading.schema, reading.notes, reading.folders);
    let times = schema.edge_labels.iter().map(|label| notes.time(&label.name).map(Arc::from)).collect();
    let indexes = options.indexes();
    let forms = Forms::new(folders, indexes.clone());
    let lake = Lake::new(Tables::new(options.keeping_pages(files)?, forms), schema, (vertices, edges), times, indexes);
    Ok(Lake { description: hash_of(&texts), ..lake })
}

/// A hash of some texts, which depends on where each ends.
fn hash_of(texts: &[String]) -> u128 {
    let mut hash = Xxh3::new();
    for text in texts {
        hash.update(&(text.len() as u64).to_le_bytes());
        hash.update(text.as_bytes());
    }
    hash.digest128()
}

/// Reads the description of a graph.
struct Reading<'f> {
    files: &'f Files,
    root: &'f Prefix,
    schema: Schema,
    notes: Notes,
    counts: Counts,
    /// How the files of each folder are written.
    folders: Vec<(Prefix, FileForm)>,
}

impl Reading<'_> {
    /// The types that files with these names and texts describe.
    fn vertex_types<'t>(&mut self, described: impl Iterator<Item = (&'t String, &'t String)>) -> Result<Vec<VertexType>> {
        let parse = |(file, text): (&String, &String)| {
            let name = self.files.name(file);
            Ok((VertexInfo::parse(text, &name)?, name))
        };
        let infos = described.map(parse).collect::<Result<Vec<_>>>()?;
        let paths: Vec<Arc<str>> = infos.iter().map(|(info, _)| self.vertex_count(info)).collect();
        self.counts.fetch(self.files, &paths)?;
        infos.into_iter().map(|(info, name)| self.vertex_type(info, &name)).collect()
    }

    fn vertex_count(&self, info: &VertexInfo) -> Arc<str> {
        self.root.join(&info.prefix).file("vertex_count").into()
    }

    fn edge_types<'t>(
        &mut self,
        described: impl Iterator<Item = (&'t String, &'t String)>,
        vertices: &[VertexType],
    ) -> Result<Vec<EdgeType>> {
        let parse = |(file, text): (&String, &String)| {
            let name = self.files.name(file);
            Ok((EdgeInfo::parse(text, &name)?, name))
        };
        let infos = described.map(parse).collect::<Result<Vec<_>>>()?;
        let mut paths = Vec::new();
        for (info, name) in &infos {
            for list in &info.lists {
                let end = if list.order.by == Side::Source { &info.source } else { &info.target };
                let count = self
                    .schema
                    .label(ElementKind::Vertex, end)
                    .map_or(0, |label| vertices[usize::from(label.0)].rows.count());
                let parts = count.div_ceil(info.vertices_to_chunk(list.order.by));
                if parts > CHUNKS_MAX {
                    return Err(LakeError::damaged(name, format!("{parts} parts are more than can be read")));
                }
                let folder = self.root.join(&info.prefix).join(&list.prefix);
                paths.extend((0..parts).map(|part| Arc::from(folder.file(format_args!("edge_count{part}")))));
            }
        }
        self.counts.fetch(self.files, &paths)?;
        let mut edges: Vec<EdgeType> = Vec::with_capacity(infos.len());
        for (info, name) in infos {
            let found = self.edge_type(info, name, vertices, &edges)?;
            edges.push(found);
        }
        Ok(edges)
    }

    fn vertex_type(&mut self, info: VertexInfo, name: &Arc<str>) -> Result<VertexType> {
        if self.schema.label(ElementKind::Vertex, &info.name).is_some() {
            return Err(LakeError::damaged(name, format!("there are two types of vertices called `{}`", info.name)));
        }
        let folder = self.root.join(&info.prefix);
        let path = self.vertex_count(&info);
        let count = self.counts.get(&path).ok_or_else(|| LakeError::Missing { file: self.files.name(&path) })?;
        if count > LOCAL_MAX || count.div_ceil(info.chunk_size) > CHUNKS_MAX {
            let reason = format!("{count} vertices in chunks of {} are more than can be read", info.chunk_size);
            return Err(LakeError::damaged(name, reason));
        }
        let mut label = LabelSchema::new(info.name.clone());
        let mut columns = self.columns(name, ElementKind::Vertex, &info.groups, &mut label)?;
        if columns.id.is_none() {
            let may_be_id =
                |column: &&Column| matches!(column.value_type, ValueType::Int64 | ValueType::String | ValueType::Uuid);
            let named = |of: &Property| columns.properties.iter().find(|column| column.name == of.name);
            columns.id = info.primary().and_then(named).filter(may_be_id).cloned();
            label.key = columns.id.as_ref().and_then(|column| column.key);
        }
        self.schema.vertex_labels.push(label);
        info.groups.iter().for_each(|group| self.note_form(folder.join(&group.prefix), group.file_type, columns_of(group)));
        self.note_form(folder.folder("labels"), FileType::Parquet, Vec::new());
        let rows = Rows::Even { size: info.chunk_size, count };
        Ok(VertexType::new(rows, VertexFiles::GraphAr { info, folder }, columns))
    }

    /// Notes the further labels of a type in the schema. They come after the types, so that a type's label is its number.
    fn further(&mut self, of: &VertexType) -> Vec<LabelId> {
        let VertexFiles::GraphAr { info, .. } = &of.files else { return Vec::new() };
        let mut further = Vec::with_capacity(info.labels.len());
        for name in &info.labels {
            further.push(match self.schema.label(ElementKind::Vertex, name) {
                Some(label) => label,
                None => LabelId(self.schema.vertex_labels.push(LabelSchema::new(name.clone()))),
            });
        }
        if let Some(label) = self.schema.label(ElementKind::Vertex, &info.name) {
            let mut schema = self.schema.vertex_labels[usize::from(label.0)].clone();
            further.iter().filter(|other| **other != label).for_each(|other| schema.further.insert_mut(*other));
            self.schema.vertex_labels.replace(label.0, schema);
        }
        further
    }

    /// The columns of a type. Notes its properties in the schema.
    fn columns(
        &mut self,
        name: &Arc<str>,
        kind: ElementKind,
        groups: &[PropertyGroup],
        label: &mut LabelSchema,
    ) -> Result<Columns> {
        let id = self.notes.id_column(kind, &label.name).map(str::to_owned);
        let mut columns = Columns::default();
        for (group, of) in groups.iter().enumerate() {
            for property in &of.properties {
                if columns.properties.iter().any(|known| known.name == property.name) {
                    return Err(LakeError::damaged(name, format!("there are two properties called `{}`", property.name)));
                }
                let value_type = self.value_type(kind, &label.name, property);
                let column = Column {
                    key: None,
                    group,
                    name: property.name.clone(),
                    cardinality: property.cardinality,
                    value_type,
                    written: Written::GraphAr(property.data_type),
                };
                if Some(&*property.name) == id.as_deref() {
                    columns.id = Some(column);
                    continue;
                }
                let key = key_named(&mut self.schema, &property.name, name)?;
                let schema = label.property_mut(key);
                schema.types.insert(value_type);
                schema.cardinality = property.cardinality;
                // Edges of one label may be of several types, of which some lack the property.
                schema.required = kind == ElementKind::Vertex && !property.is_nullable;
                columns.properties.push(Column { key: Some(key), ..column });
            }
        }
        Ok(columns)
    }

    /// The type that the values of a property have in the graph. Ids that are integers have 64 bits.
    fn value_type(&self, kind: ElementKind, label: &str, property: &Property) -> ValueType {
        let noted = self.notes.value_type(kind, label, &property.name);
        noted.unwrap_or(match property.data_type {
            DataType::One(Scalar::Int32) if property.is_primary => ValueType::Int64,
            DataType::One(scalar) => scalar.value_type(),
            DataType::List(_) => ValueType::List,
        })
    }

    fn edge_type(
        &mut self,
        info: EdgeInfo,
        name: Arc<str>,
        vertices: &[VertexType],
        before: &[EdgeType],
    ) -> Result<EdgeType> {
        let end = |of: &Arc<str>| {
            let unknown = || LakeError::damaged(&name, format!("there is no type of vertices called `{of}`"));
            self.schema.label(ElementKind::Vertex, of).ok_or_else(unknown)
        };
        let (source, target) = (end(&info.source)?, end(&info.target)?);
        let label = edge_label_named(&mut self.schema, &info.name);
        if before.iter().any(|of| (of.label, of.source, of.target) == (label, source, target)) {
            let reason =
                format!("the edges `{}` from `{}` to `{}` are described twice", info.name, info.source, info.target);
            return Err(LakeError::damaged(&name, reason));
        }
        let mut schema = self.schema.edge_labels[usize::from(label.0)].clone();
        schema.ends.insert_mut((source, target));
        let columns = self.columns(&name, ElementKind::Edge, &info.groups, &mut schema)?;
        self.schema.edge_labels.replace(label.0, schema);
        let folder = self.root.join(&info.prefix);
        for list in &info.lists {
            self.note_forms_of_list(&info, &folder.join(&list.prefix), list.file_type);
        }
        let ends = [source, target].map(|label| vertices[usize::from(label.0)].rows.count());
        let read = |order: Order| match info.list(order) {
            Some(list) => self.list(&info, folder.join(&list.prefix), order, ends[order.by as usize]).map(Some),
            None => Ok(None),
        };
        let orders = [(Side::Source, true), (Side::Target, true), (Side::Source, false), (Side::Target, false)];
        let mut first = None;
        for (by, is_sorted) in orders {
            if first.is_none() {
                first = read(Order { by, is_sorted })?;
            }
        }
        let Some(first) = first else { return Err(LakeError::damaged(&name, "it has no list of edges")) };
        let first = List { is_numbering: true, ..first };
        let other = read(Order { by: first.order.by.other(), is_sorted: true })?.filter(|_| first.order.is_sorted);
        if let Some(other) = other.as_ref().filter(|other| other.count() != first.count()) {
            let reason = format!("one of its lists has {} edges, and another {}", first.count(), other.count());
            return Err(LakeError::damaged(&name, reason));
        }
        let base = before.iter().filter(|of| of.label == label).map(EdgeType::places).sum();
        if first.count() > LOCAL_MAX - base {
            return Err(LakeError::damaged(&name, "it has more edges than can be read"));
        }
        let layout = Layout::Lists(Box::new(Lists { info, folder, first, other }));
        Ok(EdgeType { label, source, target, columns, layout, base, ends, sorted: Default::default() })
    }

    /// Notes how the files of a folder are written. A folder in another may have other files.
    fn note_form(&mut self, folder: Prefix, file_type: FileType, columns: Vec<Field>) {
        self.folders.push((folder, FileForm { file_type, columns: Arc::new(arrow_schema::Schema::new(columns)) }));
    }

    fn note_forms_of_list(&mut self, info: &EdgeInfo, folder: &Prefix, file_type: FileType) {
        let numbers = |name: &str| Field::new(name, arrow_schema::DataType::Int64, true);
        self.note_form(folder.folder("adj_list"), file_type, vec![numbers(SOURCE), numbers(TARGET)]);
        self.note_form(folder.folder("offset"), file_type, vec![numbers(OFFSET)]);
        info.groups.iter().for_each(|group| self.note_form(folder.join(&group.prefix), group.file_type, columns_of(group)));
    }

    /// Whether there are files of edges of a part. One without edges may have no count.
    fn has_edges(&self, folder: &Prefix, part: u64) -> Result<bool> {
        let ends = folder.folder("adj_list").folder(format_args!("part{part}")).file("chunk0");
        Ok(self.files.open(&[ends.into()], 8, None)?.iter().any(Option::is_some))
    }

    fn list(&self, info: &EdgeInfo, folder: Prefix, order: Order, ends: u64) -> Result<List> {
        let vertices = info.vertices_to_chunk(order.by);
        let count_of = |part: u64| folder.file(format_args!("edge_count{part}"));
        let mut starts = vec![0u64];
        for part in 0..ends.div_ceil(vertices) {
            let count = self.counts.get(&count_of(part));
            if count.is_none() && self.has_edges(&folder, part)? {
                return Err(LakeError::Missing { file: self.files.name(&count_of(part)) });
            }
            starts.push(starts[starts.len() - 1].saturating_add(count.unwrap_or(0)));
        }
        Ok(List { order, folder, vertices, starts, is_numbering: false })
    }
}

/// The columns of a group, with the types that their values have in files.
fn columns_of(group: &PropertyGroup) -> Vec<Field> {
    let column = |property: &Property| {
        let (scalar, is_list) = match property.data_type {
            DataType::One(scalar) => (scalar, property.cardinality != Cardinality::Single),
            DataType::List(scalar) => (scalar, true),
        };
        let data_type = match is_list {
            true => arrow_schema::DataType::List(Arc::new(Field::new_list_field(scalar.arrow_type(), true))),
            false if scalar == Scalar::Timestamp => arrow_schema::DataType::Timestamp(TimeUnit::Microsecond, None),
            false => scalar.arrow_type(),
        };
        Field::new(&*property.name, data_type, true)
    };
    group.properties.iter().map(column).collect()
}
