//! What to load and how.

use std::path::PathBuf;
use std::sync::Arc;

use encoding_rs::Encoding;
use mangrove_graph::IdSpace;

use crate::error::LoadError;
use crate::format::Format;
use crate::mapping::{self, Mapping};
use crate::merge::Merging;
use crate::report::OnError;
use crate::rows::IdType;
use crate::runs::MemoryLimits;
use crate::source::expand;
use crate::table::TableInput;

/// What to load and how.
#[derive(Clone, Debug)]
pub struct LoadOptions {
    pub format: Format,
    /// Files that say themselves what they hold: by their header or format, else by name.
    pub files: Vec<PathBuf>,
    pub nodes: Vec<NodeFiles>,
    pub edges: Vec<EdgeFiles>,
    /// Tables in memory.
    pub tables: Vec<TableInput>,
    /// A YAML file that says how tables are read; see docs/load.md.
    pub mapping: Option<PathBuf>,
    /// The column of edge tables whose value orders a vertex's edges.
    pub edge_time: Option<String>,
    pub on_error: OnError,
    /// Whether what was loaded is compressed into a segment; `None`: if it is large, and all there is.
    pub compact: Option<bool>,
    /// Properties whose text is to be searchable where it is compressed: each `LABEL.KEY`, or `all` for whatever has text.
    pub searchable: Vec<String>,
    /// Properties of vertices that get an index: each `LABEL.KEY`.
    pub indexes: Vec<String>,
    /// The columns that name vertices, by label.
    pub keys: Vec<KeyColumn>,
    /// What becomes of elements that exist already, and of ends of edges that do not.
    pub merge: Merging,
    /// Fails once so many rows were skipped.
    pub rejects_max: Option<u64>,
    /// Of CSV files; `None` finds it out, file by file.
    pub delimiter: Option<u8>,
    /// Of CSV files; `None`: quotes are characters like any other.
    pub quote: Option<u8>,
    /// Of CSV files: fields without quotes that stand for no value, as blank ones do.
    pub nulls: Vec<String>,
    /// What the text of files is encoded in, by a name of the WHATWG's Encoding Standard; UTF-8 if nothing is said.
    pub encoding: Option<String>,
    /// What the text of ids stands for, where neither header nor mapping says it.
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
    /// Whether what is loaded is to be compressed, if it is all there is.
    ///
    /// # Errors
    /// If there is no such file.
    pub fn wants_compaction(&self) -> Result<bool, LoadError> {
        match self.compact {
            Some(wanted) => Ok(wanted),
            None => Ok(self.input_bytes()? > LARGE_BYTES),
        }
    }

    /// Of files as they are on disk, and of tables in memory.
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

    /// The files that are no directories an export has written.
    pub(crate) fn plain_files(&self) -> Vec<PathBuf> {
        self.files.iter().filter(|path| mapping::of_directory(path).is_none()).cloned().collect()
    }

    /// The mapping that is given, and those of directories that an export has written.
    pub(crate) fn mappings(&self) -> Result<Vec<Mapping>, LoadError> {
        let named = self.mapping.iter().map(|path| mapping::read(path));
        let exported = self.files.iter().filter_map(|path| mapping::of_directory(path));
        named.chain(exported.map(|path| mapping::read_confined(&path))).collect()
    }

    /// The encoding that is named, if there is one.
    pub(crate) fn encoding(&self) -> Result<Option<&'static Encoding>, LoadError> {
        self.encoding.as_deref().map(encoding_named).transpose()
    }

    /// What the database has to be made with, as far as mappings say.
    ///
    /// # Errors
    /// If a mapping cannot be read.
    pub fn id_space(&self) -> Result<Option<IdSpace>, LoadError> {
        Ok(self.mappings()?.iter().find_map(|mapping| mapping.graph.id_space))
    }
}

/// The encoding of a name.
pub(crate) fn encoding_named(name: &str) -> Result<&'static Encoding, LoadError> {
    Encoding::for_label(name.as_bytes()).ok_or_else(|| {
        LoadError::options(format!(
            "{name} is no encoding; there are utf-8, utf-16le, utf-16be, latin1, windows-1250 to windows-1258, iso-8859-1 to iso-8859-16, \
             shift_jis, gb18030, euc-kr and others of the Encoding Standard"
        ))
    })
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
    /// The label of the vertices the edges start from, if it is one.
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
