//! Options of a load.

use std::path::PathBuf;
use std::sync::Arc;

use encoding_rs::Encoding;
use mangrove_graph::IdSpace;

use crate::batches::rows::IdType;
use crate::error::LoadError;
use crate::tables::table::TableInput;
use crate::terms::mapping::{self, Mapping};
use crate::terms::merge::Merging;
use crate::terms::report::OnError;
use crate::text::decode::encoding_named;
use crate::text::format::Format;
use crate::text::source::expand;

/// What to load, and how.
#[derive(Clone, Debug)]
pub struct LoadOptions {
    pub format: Format,
    /// Files that describe themselves: by their header or format, else by their name.
    pub files: Vec<PathBuf>,
    pub nodes: Vec<NodeFiles>,
    pub edges: Vec<EdgeFiles>,
    /// Tables in memory.
    pub tables: Vec<TableInput>,
    /// A YAML file that describes how to read tables; see docs/load.md.
    pub mapping: Option<PathBuf>,
    /// The column of edge tables whose value orders a vertex's edges.
    pub edge_time: Option<String>,
    pub on_error: OnError,
    /// Whether to compress the loaded data into a segment. `None`: if the load is large and the database holds nothing else.
    pub compact: Option<bool>,
    /// Properties whose text the compressed form should make searchable: each `LABEL.KEY`, or `all` for every property with text.
    pub searchable: Vec<String>,
    /// Vertex properties to index: each `LABEL.KEY`.
    pub indexes: Vec<String>,
    /// For each label, the column that names its vertices.
    pub keys: Vec<KeyColumn>,
    /// What to do with elements that exist already, and with missing ends of edges.
    pub merge: Merging,
    /// Fails once more rows than this are rejected.
    pub rejects_max: Option<u64>,
    /// CSV files: the delimiter. `None` detects it for each file.
    pub delimiter: Option<u8>,
    /// CSV files: the quote. `None` makes quotes ordinary characters.
    pub quote: Option<u8>,
    /// CSV files: unquoted fields that mean no value, besides blank ones.
    pub nulls: Vec<String>,
    /// The encoding of the text of files, by its name in the WHATWG's Encoding Standard. Default UTF-8.
    pub encoding: Option<String>,
    /// The type of ids in text, if neither header nor mapping states it.
    pub id_type: IdType,
    pub memory: MemoryLimits,
}

impl Default for LoadOptions {
    fn default() -> Self {
        Self {
            format: Format::Auto,
            files: Vec::new(),
            nodes: Vec::new(),
            edges: Vec::new(),
            tables: Vec::new(),
            mapping: None,
            edge_time: None,
            on_error: OnError::Fail,
            compact: None,
            searchable: Vec::new(),
            indexes: Vec::new(),
            keys: Vec::new(),
            merge: Merging::default(),
            rejects_max: None,
            delimiter: None,
            quote: Some(b'"'),
            nulls: Vec::new(),
            encoding: None,
            id_type: IdType::Auto,
            memory: MemoryLimits::default(),
        }
    }
}

/// A load of more bytes than this is large.
const LARGE_BYTES: u64 = 16 << 20;

impl LoadOptions {
    /// Whether to compress the loaded data, provided that the database holds nothing else.
    ///
    /// # Errors
    /// If a file does not exist.
    pub fn wants_compaction(&self) -> Result<bool, LoadError> {
        match self.compact {
            Some(wanted) => Ok(wanted),
            None => Ok(self.input_bytes()? > LARGE_BYTES),
        }
    }

    /// The bytes of the files on disk and of the tables in memory.
    fn input_bytes(&self) -> Result<u64, LoadError> {
        let given = self.nodes.iter().map(|nodes| &nodes.files).chain(self.edges.iter().map(|edges| &edges.files));
        let (files, mappings) = (self.plain_files(), self.mappings()?);
        let mapped = mappings.iter().flat_map(|mapping| &mapping.tables).map(|entry| &entry.files);
        let whole = mappings.iter().map(|mapping| &mapping.files);
        let mut bytes = self.tables.iter().map(|table| table.table.bytes()).sum();
        for files in given.chain(mapped).chain(whole).chain([&files]) {
            bytes += expand(files)?.iter().map(|source| source.bytes).sum::<u64>();
        }
        Ok(bytes)
    }

    /// The files, without directories that an export wrote.
    pub(crate) fn plain_files(&self) -> Vec<PathBuf> {
        self.files.iter().filter(|path| mapping::of_directory(path).is_none()).cloned().collect()
    }

    /// The given mapping, and the mappings of directories that an export wrote.
    pub(crate) fn mappings(&self) -> Result<Vec<Mapping>, LoadError> {
        let named = self.mapping.iter().map(|path| mapping::read(path));
        let exported = self.files.iter().filter_map(|path| mapping::of_directory(path));
        named.chain(exported.map(|path| mapping::read_confined(&path))).collect()
    }

    /// The encoding named in the options, if any.
    pub(crate) fn encoding(&self) -> Result<Option<&'static Encoding>, LoadError> {
        self.encoding.as_deref().map(encoding_named).transpose()
    }

    /// The id space that the database needs, if a mapping states one.
    ///
    /// # Errors
    /// If a mapping cannot be read.
    pub fn id_space(&self) -> Result<Option<IdSpace>, LoadError> {
        Ok(self.mappings()?.iter().find_map(|mapping| mapping.graph.id_space))
    }
}

/// Memory limits of a load.
#[derive(Clone, Copy, Debug)]
pub struct MemoryLimits {
    /// Most edges that are sorted and written together.
    pub run_edges_max: usize,
    /// Most bytes of these edges.
    pub run_bytes_max: usize,
    /// Most external ids of vertices in memory. Each takes about 32 bytes, plus the text of strings. Other ids are looked up in the
    /// graph.
    pub ids_max: usize,
    /// Most memory that large values may take until the load commits.
    pub changes_bytes_max: u64,
}

impl Default for MemoryLimits {
    fn default() -> Self {
        Self { run_edges_max: 4_300_000, run_bytes_max: 384 << 20, ids_max: 24_000_000, changes_bytes_max: 4 << 30 }
    }
}

/// Tables of vertices of one label.
#[derive(Clone, Debug, PartialEq)]
pub struct NodeFiles {
    pub label: Arc<str>,
    pub files: Vec<PathBuf>,
}

/// Tables of edges of one label.
#[derive(Clone, Debug, PartialEq)]
pub struct EdgeFiles {
    /// The label of the vertices where the edges start, if there is only one.
    pub source: Option<Arc<str>>,
    pub label: Arc<str>,
    pub target: Option<Arc<str>>,
    pub files: Vec<PathBuf>,
}

/// The column that names the vertices of a label.
#[derive(Clone, Debug, PartialEq)]
pub struct KeyColumn {
    pub label: Arc<str>,
    pub column: String,
}

impl KeyColumn {
    /// Reads `LABEL:COLUMN`.
    pub fn parse(text: &str) -> Result<Self, LoadError> {
        match text.split_once(':') {
            Some((label, column)) if !label.is_empty() && !column.is_empty() => {
                Ok(Self { label: label.into(), column: column.into() })
            }
            _ => Err(LoadError::options(format!("--key {text}: expected LABEL:COLUMN, as in user:email"))),
        }
    }
}

impl NodeFiles {
    /// Reads `LABEL=FILE`.
    pub fn parse(text: &str) -> Result<Self, LoadError> {
        match text.split_once('=') {
            Some((label, file)) if !label.is_empty() && !file.is_empty() => {
                Ok(Self { label: label.into(), files: vec![file.into()] })
            }
            _ => Err(LoadError::options(format!("--nodes {text}: expected LABEL=FILE, as in Person=person.csv"))),
        }
    }
}

impl EdgeFiles {
    /// Reads `SOURCE:LABEL:TARGET=FILE` or `LABEL=FILE`.
    pub fn parse(text: &str) -> Result<Self, LoadError> {
        let wrong = || {
            let expected = "expected SOURCE:LABEL:TARGET=FILE or LABEL=FILE, as in Person:knows:Person=knows.csv";
            LoadError::options(format!("--edges {text}: {expected}"))
        };
        let (labels, file) = text.split_once('=').filter(|(_, file)| !file.is_empty()).ok_or_else(wrong)?;
        let parts: Vec<&str> = labels.split(':').collect();
        let files = vec![file.into()];
        let end = |label: &str| (!label.is_empty()).then(|| Arc::from(label));
        match parts[..] {
            [label] if !label.is_empty() => Ok(Self { source: None, label: label.into(), target: None, files }),
            [source, label, target] if !label.is_empty() => {
                Ok(Self { source: end(source), label: label.into(), target: end(target), files })
            }
            _ => Err(wrong()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_given_with_their_labels() {
        let nodes = NodeFiles::parse("Person=data/p*.csv").unwrap();
        assert_eq!((&*nodes.label, &nodes.files[0]), ("Person", &PathBuf::from("data/p*.csv")));
        let edges = EdgeFiles::parse("Person:knows:City=k.csv").unwrap();
        assert_eq!(
            (edges.source.as_deref(), &*edges.label, edges.target.as_deref()),
            (Some("Person"), "knows", Some("City"))
        );
        assert_eq!(EdgeFiles::parse("knows=k.csv").unwrap().source, None);
        for wrong in ["knows", "=k.csv", "a:b=k.csv", "a:b:c=", "::=f"] {
            assert!(EdgeFiles::parse(wrong).is_err(), "{wrong}");
        }
        assert!(NodeFiles::parse("=x").is_err());
    }
}
