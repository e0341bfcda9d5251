//! A GraphAr directory as a graph.
//!
//! ```text
//!   vertex   label = type, local = index in the type
//!   edge     label = type of edges, local = place among all edges of the label: the types of ends one after the other, and in each
//!            the edges as its first list has them (sorted by source, if there is such a list)
//! ```
//! Opening reads the YAML files and the counts. A chunk is opened when a query first needs it.

mod check;
mod columns;
mod counts;
mod find;
mod hop;
mod labels;
mod places;
mod prune;
mod tables;
mod topology;
mod view;

use std::sync::{Arc, OnceLock};

use mangrove_graph::{ElementKind, KeyId, LabelId, LabelSchema, Schema, Statistics, ValueType, id::LOCAL_MAX};

use crate::error::{LakeError, Result};
use crate::files::Files;
use crate::info::types::{DataType, Scalar};
use crate::info::{EdgeInfo, FileType, GraphInfo, Notes, Order, Prefix, Property, PropertyGroup, Side, VertexInfo};
use columns::{Column, Columns};
use counts::Counts;
use find::LazyIds;
use labels::Chunks;
use places::Sorted;
use tables::Tables;
pub use view::LakeView;

/// The most bytes of a YAML file.
const TEXT_BYTES_MAX: u64 = 1 << 20;
/// The memory for pages that were read.
const PAGES_BYTES_MAX: usize = 256 << 20;
/// The most names of one kind.
const NAMES_MAX: usize = 60_000;
/// The most chunks of one type. More would take more memory than they are worth.
const CHUNKS_MAX: u64 = 1 << 18;

/// An open directory.
pub struct Lake {
    tables: Tables,
    schema: Arc<Schema>,
    statistics: Arc<Statistics>,
    vertices: Vec<VertexType>,
    edges: Vec<EdgeType>,
    /// The edges of each label by the ids that users gave them.
    edge_ids: Vec<LazyIds>,
    notes: Notes,
}

/// The vertices of a label.
struct VertexType {
    info: VertexInfo,
    count: u64,
    /// The folder of its files.
    folder: Prefix,
    columns: Columns,
    /// The further labels, in the order of their columns.
    labels: Vec<LabelId>,
    /// Further labels of the chunks that were read.
    chunks: Chunks,
    /// Filled when a vertex is first looked up by its id.
    by_id: LazyIds,
}

/// The edges of a label from vertices of one label to those of another.
struct EdgeType {
    info: EdgeInfo,
    label: LabelId,
    source: LabelId,
    target: LabelId,
    folder: Prefix,
    columns: Columns,
    /// The list that numbers the edges.
    first: List,
    /// A list sorted by the other end, if there is one.
    other: Option<List>,
    /// The local id of the first edge.
    base: u64,
    /// The vertices of each end.
    ends: [u64; 2],
    /// The edges sorted by each end, where no file has them so; made when a hop first needs it.
    sorted: [OnceLock<Arc<Sorted>>; 2],
}

/// A list of all edges of a type, in parts by the chunk of one end.
struct List {
    order: Order,
    folder: Prefix,
    /// Vertices to a part.
    vertices: u64,
    /// The place of the first edge of each part; at the end, the number of edges.
    starts: Vec<u64>,
    /// The ids of edges are places in this list.
    is_numbering: bool,
}

impl Lake {
    /// Opens the graph that a file `NAME.graph.yml` describes.
    pub fn open(path: &str) -> Result<Self> {
        let (directory, file) = match path.rsplit_once('/') {
            Some(("", file)) => ("/", file),
            Some(parts) => parts,
            None => (".", path),
        };
        let files = Files::new(directory)?;
        let name = files.name(file);
        let info = GraphInfo::parse(&files.text(file, TEXT_BYTES_MAX)?, &name)?;
        let notes = Notes::of(&info.extra);
        let mut reading =
            Reading { files: &files, root: &info.prefix, schema: Schema::default(), notes, counts: Counts::default() };
        reading.schema.id_space = reading.notes.id_space();
        // A few calls for all files: each is a journey if they are far away.
        let named: Vec<&str> = info.vertices.iter().chain(&info.edges).map(String::as_str).collect();
        let texts = files.texts(&named, TEXT_BYTES_MAX)?;
        let (of_vertices, of_edges) = texts.split_at(info.vertices.len());
        let mut vertices = reading.vertex_types(info.vertices.iter().zip(of_vertices))?;
        let edges = reading.edge_types(info.edges.iter().zip(of_edges), &vertices)?;
        for of in &mut vertices {
            of.labels = reading.further(&of.info);
        }
        if reading.schema.vertex_labels.len() > NAMES_MAX {
            return Err(LakeError::damaged(&name, "there are too many labels"));
        }
        let (schema, notes) = (Arc::new(reading.schema), reading.notes);
        let mut of_labels = vec![0; schema.edge_labels.len()];
        edges.iter().for_each(|of| of_labels[usize::from(of.label.0)] += of.count());
        let mut of_vertices: Vec<u64> = vertices.iter().map(|of| of.count).collect();
        of_vertices.resize(schema.vertex_labels.len(), 0);
        let statistics = Arc::new(Statistics { vertices: of_vertices, edges: of_labels });
        let edge_ids = schema.edge_labels.iter().map(|_| LazyIds::new()).collect();
        Ok(Self { tables: Tables::new(files, PAGES_BYTES_MAX), schema, statistics, vertices, edges, edge_ids, notes })
    }

    pub fn schema(&self) -> &Arc<Schema> {
        &self.schema
    }

    /// Whether the files give vertices of a label ids.
    pub fn has_ids(&self, label: LabelId) -> bool {
        self.vertex_type(label).is_some_and(|of| of.columns.id.is_some())
    }

    /// The property that orders the edges of a label, if the writer noted one.
    pub fn time(&self, label: &str) -> Option<&str> {
        self.notes.time(label)
    }

    pub fn statistics(&self) -> &Arc<Statistics> {
        &self.statistics
    }

    fn is_far(&self) -> bool {
        self.tables.files.is_far()
    }

    /// The bytes of all files below the directory.
    pub fn disk_bytes(&self) -> Result<u64> {
        self.tables.files.disk_bytes()
    }

    fn vertex_type(&self, label: LabelId) -> Option<&VertexType> {
        self.vertices.get(usize::from(label.0))
    }

    /// The number of the type that an edge is of, and the place of the edge there.
    fn edge_type(&self, label: LabelId, local: u64) -> Option<(usize, u64)> {
        let holds = |of: &EdgeType| of.label == label && (of.base..of.base + of.count()).contains(&local);
        let number = self.edges.iter().position(holds)?;
        Some((number, local - self.edges[number].base))
    }
}

impl VertexType {
    /// The file with a chunk of a group.
    fn file(&self, group: usize, chunk: u64) -> Arc<str> {
        let folder = self.folder.join(&self.info.groups[group].prefix);
        folder.file(format_args!("chunk{chunk}")).into()
    }
}

impl EdgeType {
    fn count(&self) -> u64 {
        self.first.count()
    }

    /// The label of the vertices at an end.
    fn end(&self, side: Side) -> LabelId {
        match side {
            Side::Source => self.source,
            Side::Target => self.target,
        }
    }

    /// How many vertices there are at an end.
    fn vertices(&self, side: Side) -> u64 {
        self.ends[side as usize]
    }
}

impl List {
    fn count(&self) -> u64 {
        self.starts.last().copied().unwrap_or(0)
    }

    /// The part that a place is in, and the row there.
    fn part_of(&self, place: u64) -> (u64, u64) {
        let part = self.starts.partition_point(|start| *start <= place).saturating_sub(1);
        // Empty parts begin where the next one does.
        (part as u64, place - self.starts[part])
    }
}

/// Reads the description of a graph.
struct Reading<'f> {
    files: &'f Files,
    root: &'f Prefix,
    schema: Schema,
    notes: Notes,
    counts: Counts,
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
                let count = vertices.iter().find(|of| of.info.name == *end).map_or(0, |of| of.count);
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
            let named = |of: &Property| columns.properties.iter().find(|column| column.property.name == of.name);
            columns.id = info.primary().and_then(named).filter(may_be_id).cloned();
            label.key = columns.id.as_ref().and_then(|column| column.key);
        }
        self.schema.vertex_labels.push(label);
        Ok(VertexType { info, count, folder, columns, labels: Vec::new(), chunks: Chunks::default(), by_id: LazyIds::new() })
    }

    /// Notes the further labels of a type in the schema. They come after the types, so that a type's label is its number.
    fn further(&mut self, info: &VertexInfo) -> Vec<LabelId> {
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
            readable(name, of.file_type)?;
            for property in &of.properties {
                if columns.properties.iter().any(|known| known.property.name == property.name) {
                    return Err(LakeError::damaged(name, format!("there are two properties called `{}`", property.name)));
                }
                let value_type = self.value_type(kind, &label.name, property);
                let column = Column { key: None, group, property: property.clone(), value_type };
                if Some(&*property.name) == id.as_deref() {
                    columns.id = Some(column);
                    continue;
                }
                let key = match self.schema.key(&property.name) {
                    Some(key) => key,
                    None if self.schema.keys.len() >= NAMES_MAX => {
                        return Err(LakeError::damaged(name, "there are too many names"));
                    }
                    None => KeyId(self.schema.keys.push(property.name.clone())),
                };
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
        let label = match self.schema.label(ElementKind::Edge, &info.name) {
            Some(label) => label,
            None => LabelId(self.schema.edge_labels.push(LabelSchema::new(info.name.clone()))),
        };
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
        let ends = [source, target].map(|label| vertices[usize::from(label.0)].count);
        let read = |order: Order| match info.list(order) {
            Some(list) => {
                readable(&name, list.file_type)?;
                self.list(&info, folder.join(&list.prefix), order, ends[order.by as usize]).map(Some)
            }
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
        let base = before.iter().filter(|of| of.label == label).map(EdgeType::count).sum();
        if first.count() > LOCAL_MAX - base {
            return Err(LakeError::damaged(&name, "it has more edges than can be read"));
        }
        Ok(EdgeType { info, label, source, target, folder, columns, first, other, base, ends, sorted: Default::default() })
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

/// Refuses files in formats that are not read here.
fn readable(name: &Arc<str>, file_type: FileType) -> Result<()> {
    match file_type {
        FileType::Parquet => Ok(()),
        other => {
            let hint = "GraphAr's own tools turn such files into Parquet";
            Err(LakeError::Unsupported(format!("{name}: files of the format {} cannot be read; {hint}", other.name())))
        }
    }
}
