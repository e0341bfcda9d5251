//! Files as a graph: a GraphAr directory, or plain tables that a mapping describes.
//!
//! ```text
//!   vertex   label = type, local = row among all files of the type
//!   edge     label = type of edges, local = place among all edges of the label: the types of ends one after the other, and in each
//!            the edges as its first list has them (sorted by source, if there is such a list), or as its tables have them
//! ```
//! Opening reads descriptions: YAML files and counts, or YAML files and footers. Data is read when a query first needs it.

mod check;
mod chunks;
mod columns;
mod counts;
mod ends;
mod expand;
mod find;
mod forms;
mod graphar;
mod hop;
mod labels;
mod lazy;
mod mapped;
mod places;
mod prune;
mod resolve;
mod rows;
mod selected;
mod sorted;
mod tables;
mod topology;
mod view;

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use mangrove_graph::{ElementKind, KeyId, LabelId, LabelSchema, ReadContext, Schema, Statistics};
use mangrove_ingest::YamlReader;
use xxhash_rust::xxh3::xxh3_128;

use crate::error::{LakeError, Result};
use crate::files::{Files, OpenFile};
use crate::index::{IdsIndex, IndexCache};
use crate::info::{EdgeInfo, Prefix, Side, VertexInfo};
use crate::place::usual_place;
use columns::Columns;
use ends::TableOfEdges;
pub use expand::{is_delta, is_iceberg};
use find::LazyIds;
use labels::Chunks;
use lazy::Lazy;
use rows::Rows;
use selected::Filters;
use sorted::LazyLists;
pub use tables::Tables;
pub use view::LakeView;

/// The most bytes of a YAML file.
const TEXT_BYTES_MAX: u64 = 1 << 20;
/// The most names of one kind.
const NAMES_MAX: usize = 60_000;

/// Open files.
pub struct Lake {
    /// No other opening of files in this process has it.
    number: u64,
    tables: Tables,
    schema: Arc<Schema>,
    /// Counted when they are first asked for.
    statistics: OnceLock<Arc<Statistics>>,
    vertices: Vec<VertexType>,
    edges: Vec<EdgeType>,
    /// The edges of each label by the ids that users gave them.
    edge_ids: Vec<LazyIds>,
    /// The property that orders the edges of each label, where somebody noted one.
    times: Vec<Option<Arc<str>>>,
    indexes: IndexCache,
    /// A hash of the texts that describe it.
    description: u128,
}

/// How to open files.
#[derive(Clone, Debug, Default)]
pub struct LakeOptions {
    /// The directory of indexes; by default `mangrove` in the user's directory of caches.
    pub cache: Option<std::path::PathBuf>,
    /// The most bytes of indexes that stay there; by default 10 GB.
    pub cache_bytes_max: Option<u64>,
    /// The most bytes of pages of far files that are kept there, too; by default what `MANGROVE_PAGES_MB` says, or none.
    pub pages_bytes_max: Option<u64>,
}

impl LakeOptions {
    fn indexes(&self) -> IndexCache {
        IndexCache::new(self.cache.clone(), self.cache_bytes_max)
    }

    /// The same files, whose pages are kept if somebody wants that.
    fn keeping_pages(&self, files: Files) -> Result<Files> {
        let bytes_max = match (self.pages_bytes_max, std::env::var_os(PAGES_MB).filter(|text| !text.is_empty())) {
            (Some(given), _) => given,
            (None, None) => 0,
            (None, Some(text)) => {
                let number =
                    text.to_str().and_then(|text| text.parse::<f64>().ok()).filter(|number| (0.0..1e12).contains(number));
                let wrong = || LakeError::Unsupported(format!("{PAGES_MB} must be a number of megabytes"));
                (number.ok_or_else(wrong)? * 1e6) as u64
            }
        };
        match self.cache.clone().or_else(usual_place) {
            Some(directory) => Ok(files.keeping(directory.join("pages"), bytes_max)),
            None => Ok(files),
        }
    }
}

/// The variable that bounds the pages that are kept.
const PAGES_MB: &str = "MANGROVE_PAGES_MB";

/// The files of tables that were added, changed or removed.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct LakeChanges {
    pub added: Vec<String>,
    pub changed: Vec<String>,
    pub removed: Vec<String>,
}

/// The vertices of a label.
struct VertexType {
    rows: Rows,
    files: VertexFiles,
    columns: Columns,
    /// The further labels, in the order of their columns.
    labels: Vec<LabelId>,
    /// Further labels of the chunks that were read.
    chunks: Chunks,
    /// Which rows are vertices.
    filters: Filters,
    /// Made when a vertex is first looked up by its id.
    by_id: Lazy<IdsIndex>,
    /// No index of ids was there when one was looked for.
    has_no_ids: AtomicBool,
}

enum VertexFiles {
    /// Files by number in a folder, groups in folders of it.
    GraphAr {
        info: VertexInfo,
        folder: Prefix,
    },
    Tables(Vec<Arc<str>>),
}

/// The edges of a label from vertices of one label to those of another.
struct EdgeType {
    label: LabelId,
    source: LabelId,
    target: LabelId,
    columns: Columns,
    layout: Layout,
    /// The local id of the first edge.
    base: u64,
    /// The rows of each end.
    ends: [u64; 2],
    /// The edges sorted by each end, where no file has them so; made when a hop first needs them.
    sorted: [LazyLists; 2],
}

/// Where edges are.
enum Layout {
    Lists(Box<Lists>),
    Tables(Box<TableOfEdges>),
}

/// The lists of a GraphAr directory.
struct Lists {
    info: EdgeInfo,
    folder: Prefix,
    /// The list that numbers the edges.
    first: List,
    /// A list sorted by the other end, if there is one.
    other: Option<List>,
}

/// A list of all edges of a type, in parts by the chunk of one end.
struct List {
    order: crate::info::Order,
    folder: Prefix,
    /// Vertices to a part.
    vertices: u64,
    /// The place of the first edge of each part; at the end, the number of edges.
    starts: Vec<u64>,
    /// The ids of edges are places in this list.
    is_numbering: bool,
}

/// A file with properties of some edges.
struct EdgeChunk {
    part: u64,
    chunk: u64,
    places: Range<u64>,
}

impl Lake {
    /// Opens the graph that a YAML file describes: one of GraphAr (`NAME.graph.yml`), or a mapping of tables.
    pub fn open(path: &str, options: &LakeOptions) -> Result<Self> {
        let (directory, file) = match path.rsplit_once('/') {
            Some(("", file)) => ("/", file),
            Some(parts) => parts,
            None => (".", path),
        };
        let files = Files::new(directory)?;
        let name = files.name(file);
        let text = files.text(file, TEXT_BYTES_MAX)?;
        let lake = match is_mapping(&text, &name)? {
            true => mapped::open(files, &text, &name, options)?,
            false => graphar::open(files, &text, &name, options)?,
        };
        let mut description = lake.description.to_le_bytes().to_vec();
        description.extend(text.as_bytes());
        Ok(Self { description: xxh3_128(&description), ..lake })
    }

    pub fn schema(&self) -> &Arc<Schema> {
        &self.schema
    }

    /// Whether the files give vertices of a label ids.
    pub fn has_ids(&self, label: LabelId) -> bool {
        self.vertex_type(label).is_some_and(|of| of.columns.id.is_some())
    }

    /// The property that orders the edges of a label, if the writer noted one.
    pub fn time(&self, label: LabelId) -> Option<&str> {
        self.times.get(usize::from(label.0))?.as_deref()
    }

    /// How many elements each label has. The first call may read columns: those of filters, and the ends of edges that may be missing.
    pub fn statistics(&self, limits: Option<&ReadContext>) -> Result<Arc<Statistics>> {
        if let Some(known) = self.statistics.get() {
            return Ok(known.clone());
        }
        let mut counts =
            Statistics { vertices: vec![0; self.schema.vertex_labels.len()], edges: vec![0; self.schema.edge_labels.len()] };
        for (count, of) in counts.vertices.iter_mut().zip(&self.vertices) {
            *count = self.count_of(of, limits)?;
        }
        for of in &self.edges {
            counts.edges[usize::from(of.label.0)] += self.edge_count(of, limits)?;
        }
        Ok(self.statistics.get_or_init(|| Arc::new(counts)).clone())
    }

    fn is_far(&self) -> bool {
        self.tables.files.is_far()
    }

    /// How the files differ from those of the same graph when it was opened before. Of a GraphAr directory, it knows nothing: its files
    /// are opened when they are needed.
    pub fn changes_since(&self, before: &Lake) -> LakeChanges {
        let files = |lake: &Lake| -> BTreeMap<String, OpenFile> {
            if !lake.tables.are_listed() {
                return BTreeMap::new();
            }
            let opened = lake.tables.opened();
            opened.iter().map(|table| (lake.tables.files.name(table.path()).to_string(), table.file().clone())).collect()
        };
        let (old, new) = (files(before), files(self));
        let mut changes = LakeChanges::default();
        for (name, file) in &new {
            match old.get(name) {
                None => changes.added.push(name.clone()),
                Some(known) if known != file => changes.changed.push(name.clone()),
                Some(_) => {}
            }
        }
        changes.removed = old.into_keys().filter(|name| !new.contains_key(name)).collect();
        changes
    }

    /// The bytes of all files: below the directory of GraphAr, or of the tables.
    pub fn disk_bytes(&self) -> Result<u64> {
        match self.tables.are_listed() {
            true => Ok(self.tables.bytes()),
            false => self.tables.files.disk_bytes(),
        }
    }

    fn vertex_type(&self, label: LabelId) -> Option<&VertexType> {
        self.vertices.get(usize::from(label.0))
    }

    /// Whether each row of a label is a vertex.
    fn has_all_rows(&self, label: LabelId) -> bool {
        self.vertex_type(label).is_none_or(|of| of.filters.are_none())
    }

    /// The local ids of a label are below this.
    fn rows(&self, kind: ElementKind, label: LabelId) -> u64 {
        match kind {
            ElementKind::Vertex => self.vertex_type(label).map_or(0, |of| of.rows.count()),
            ElementKind::Edge => self.edges.iter().filter(|of| of.label == label).map(EdgeType::places).sum(),
        }
    }

    /// The number of the type that an edge is of, and the place of the edge there.
    fn edge_type(&self, label: LabelId, local: u64) -> Option<(usize, u64)> {
        let holds = |of: &EdgeType| of.label == label && (of.base..of.base + of.places()).contains(&local);
        let number = self.edges.iter().position(holds)?;
        Some((number, local - self.edges[number].base))
    }
}

/// Whether a YAML file is a mapping of tables. GraphAr's has other keys.
fn is_mapping(text: &str, name: &Arc<str>) -> Result<bool> {
    let yaml = YamlReader { name };
    let Some(document) = yaml.document(text)? else {
        let reason = "it is empty: expected a graph of GraphAr, or a mapping with `nodes` and `edges`";
        return Err(LakeError::damaged(name, reason));
    };
    let keys = yaml.members(&document)?;
    Ok(!keys.iter().any(|(key, _)| matches!(*key, "vertices" | "name" | "version" | "prefix" | "extra_info")))
}

impl VertexType {
    /// The file with a chunk of a group.
    fn file(&self, group: usize, chunk: u64) -> Arc<str> {
        match &self.files {
            VertexFiles::GraphAr { info, folder } => {
                folder.join(&info.groups[group].prefix).file(format_args!("chunk{chunk}")).into()
            }
            VertexFiles::Tables(files) => files[chunk as usize].clone(),
        }
    }

    /// The files with all chunks of a group.
    fn files(&self, group: usize) -> Vec<Arc<str>> {
        (0..self.rows.chunks()).map(|chunk| self.file(group, chunk)).collect()
    }

    /// The file with the further labels of a chunk.
    fn labels_file(&self, chunk: u64) -> Option<Arc<str>> {
        let VertexFiles::GraphAr { folder, .. } = &self.files else { return None };
        Some(folder.folder("labels").file(format_args!("chunk{chunk}")).into())
    }

    /// How many vertices a chunk has room for.
    fn rows_of(&self, chunk: u64) -> u64 {
        let locals = self.rows.locals(chunk);
        locals.end - locals.start
    }
}

impl EdgeType {
    /// How many places there are. In tables, some may hold no edge.
    fn places(&self) -> u64 {
        match &self.layout {
            Layout::Lists(lists) => lists.first.count(),
            Layout::Tables(tables) => tables.rows.count(),
        }
    }

    /// The label of the vertices at an end.
    fn end(&self, side: Side) -> LabelId {
        match side {
            Side::Source => self.source,
            Side::Target => self.target,
        }
    }

    /// How many rows of vertices there are at an end.
    fn vertices(&self, side: Side) -> u64 {
        self.ends[side as usize]
    }

    /// The chunk that holds the properties of an edge.
    fn chunk_of(&self, place: u64) -> EdgeChunk {
        match &self.layout {
            Layout::Lists(lists) => {
                let (part, row) = lists.first.part_of(place);
                let (first, size) = (lists.first.starts[part as usize], lists.info.chunk_size);
                let chunk = row / size;
                let start = first + chunk * size;
                EdgeChunk { part, chunk, places: start..(start + size).min(lists.first.starts[part as usize + 1]) }
            }
            Layout::Tables(tables) => {
                let chunk = tables.rows.chunk_of(place);
                EdgeChunk { part: 0, chunk, places: tables.rows.locals(chunk) }
            }
        }
    }

    /// The file with the properties of a group.
    fn file(&self, group: usize, chunk: &EdgeChunk) -> Arc<str> {
        match &self.layout {
            Layout::Lists(lists) => lists.first.file(Some(&lists.info.groups[group].prefix), chunk.part, chunk.chunk),
            Layout::Tables(tables) => tables.files[chunk.chunk as usize].clone(),
        }
    }
}

impl EdgeChunk {
    fn rows(&self) -> u64 {
        self.places.end - self.places.start
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

/// The key with a name, which is new or known.
fn key_named(schema: &mut Schema, name: &Arc<str>, file: &Arc<str>) -> Result<KeyId> {
    match schema.key(name) {
        Some(key) => Ok(key),
        None if schema.keys.len() >= NAMES_MAX => Err(LakeError::damaged(file, "there are too many names")),
        None => Ok(KeyId(schema.keys.push(name.clone()))),
    }
}

/// The label of edges with a name, which is new or known.
fn edge_label_named(schema: &mut Schema, name: &Arc<str>) -> LabelId {
    match schema.label(ElementKind::Edge, name) {
        Some(label) => label,
        None => LabelId(schema.edge_labels.push(LabelSchema::new(name.clone()))),
    }
}

impl Lake {
    fn new(
        tables: Tables,
        schema: Schema,
        (vertices, edges): (Vec<VertexType>, Vec<EdgeType>),
        times: Vec<Option<Arc<str>>>,
        indexes: IndexCache,
    ) -> Self {
        let edge_ids = schema.edge_labels.iter().map(|_| LazyIds::default()).collect();
        static OPENINGS: AtomicU64 = AtomicU64::new(0);
        let number = OPENINGS.fetch_add(1, Ordering::Relaxed);
        let (schema, statistics) = (Arc::new(schema), OnceLock::new());
        Self { number, tables, schema, statistics, vertices, edges, edge_ids, times, indexes, description: 0 }
    }
}

impl VertexType {
    fn new(rows: Rows, files: VertexFiles, columns: Columns) -> Self {
        let (labels, chunks, filters, by_id, has_no_ids) = Default::default();
        Self { rows, files, columns, labels, chunks, filters, by_id, has_no_ids }
    }
}
