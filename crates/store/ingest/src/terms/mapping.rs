//! Reads the mapping file. This YAML file says how to read tables whose headers do not say it, and declares properties of the
//! graph. docs/load.md describes its keys.

use std::ops::Deref;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use mangrove_graph::{Cardinality, ElementKind, Encoding, IdSpace, ValueType};
use saphyr::{Scalar, YamlData};

use crate::batches::column::ColumnType;
use crate::batches::rows::IdType;
use crate::error::{LoadError, Location, Malformed};
use crate::tables::header::mapped_type;
use crate::tables::plan::{ColumnMapping, TableHints, TableMapping};
use crate::terms::declaration::{GraphDeclaration, LabelDeclaration, PropertyDeclaration};
use crate::text::decode::encoding_named;
use crate::text::format::Format;
use crate::text::yaml::{Node, YamlReader};

/// The mapping that an export writes beside its files. It loads the directory back.
pub const FILE_NAME: &str = "mangrove.yaml";

/// The content of a mapping file.
#[derive(Default, Debug)]
pub struct Mapping {
    /// Files that hold both vertices and edges.
    pub files: Vec<PathBuf>,
    pub tables: Vec<TableEntry>,
    pub graph: GraphDeclaration,
}

/// The mapping of a directory that an export wrote; `None` for other paths.
pub fn of_directory(directory: &Path) -> Option<PathBuf> {
    let path = directory.join(FILE_NAME);
    path.is_file().then_some(path)
}

/// One table, or several files of one kind.
#[derive(Debug)]
pub struct TableEntry {
    pub kind: ElementKind,
    pub files: Vec<PathBuf>,
    pub format: Option<Format>,
    pub label: Option<Arc<str>>,
    pub source_label: Option<Arc<str>>,
    pub target_label: Option<Arc<str>>,
    pub delimiter: Option<u8>,
    pub quote: Option<Option<u8>>,
    pub comment: Option<u8>,
    pub nulls: Option<Arc<[String]>>,
    pub encoding: Option<&'static encoding_rs::Encoding>,
    pub table: Arc<TableMapping>,
}

impl TableEntry {
    /// Whether it is a list of edges without names of columns.
    pub fn is_plain_list(&self) -> bool {
        let table = &self.table;
        let is_named = table.columns.is_some() || table.source.is_some() || table.target.is_some();
        self.kind == ElementKind::Edge && !is_named && self.delimiter.is_none()
    }

    pub fn hints(&self) -> TableHints {
        TableHints {
            kind: Some(self.kind),
            label: self.label.clone(),
            source: self.source_label.clone(),
            target: self.target_label.clone(),
            stem: String::new(),
            key: None,
            known_key: None,
            mapping: Some(self.table.clone()),
        }
    }
}

/// Reads a mapping file. Its file names are relative to it.
pub fn read(path: &Path) -> Result<Mapping, LoadError> {
    read_within(path, false)
}

/// Reads the mapping of a directory. All its files must be in the directory: the user did not name the mapping, so it must not lead
/// elsewhere.
pub fn read_confined(path: &Path) -> Result<Mapping, LoadError> {
    read_within(path, true)
}

fn read_within(path: &Path, is_confined: bool) -> Result<Mapping, LoadError> {
    let name: Arc<str> = path.display().to_string().into();
    let text = std::fs::read_to_string(path).map_err(|source| LoadError::Read { file: name.clone(), source })?;
    parse(&text, &name, path.parent().unwrap_or(Path::new("")), is_confined)
}

/// Reads the text of a mapping.
pub fn parse(text: &str, name: &Arc<str>, directory: &Path, is_confined: bool) -> Result<Mapping, LoadError> {
    let yaml = YamlReader { name };
    let Some(document) = yaml.document(text)? else {
        return Err(LoadError::format(
            Location::file(name),
            "the mapping is empty: it needs `nodes`, `edges`, `files` or `schema`",
        ));
    };
    let reader = MappingReader { yaml, directory, is_confined };
    let mut mapping = Mapping::default();
    for (key, node) in reader.members(&document)? {
        let kind = match key {
            "nodes" => ElementKind::Vertex,
            "edges" => ElementKind::Edge,
            "files" => {
                mapping.files = reader.files(node)?;
                continue;
            }
            "schema" => {
                mapping.graph = reader.graph(node)?;
                continue;
            }
            _ => reader.unknown(node, key, &["nodes", "edges", "files", "schema"])?,
        };
        for entry in reader.items(node)? {
            mapping.tables.push(reader.table(entry, kind)?);
        }
    }
    Ok(mapping)
}

struct MappingReader<'a> {
    yaml: YamlReader<'a>,
    directory: &'a Path,
    is_confined: bool,
}

impl<'a> Deref for MappingReader<'a> {
    type Target = YamlReader<'a>;

    fn deref(&self) -> &YamlReader<'a> {
        &self.yaml
    }
}

impl MappingReader<'_> {
    fn byte(&self, node: &Node<'_>) -> Result<u8, Malformed> {
        match self.text(node)?.as_bytes() {
            [byte] => Ok(*byte),
            b"tab" | b"\\t" => Ok(b'\t'),
            _ => self.fail(node, "expected one character, or `tab`"),
        }
    }

    fn files(&self, node: &Node<'_>) -> Result<Vec<PathBuf>, Malformed> {
        let file = |node: &Node<'_>| {
            let named = Path::new(self.text(node)?);
            let stays = named.components().all(|part| matches!(part, Component::Normal(_) | Component::CurDir));
            if self.is_confined && !stays {
                return self.fail(
                    node,
                    "the file is outside the directory of this mapping. To read it anyway, name the mapping itself",
                );
            }
            Ok(self.directory.join(named))
        };
        match &node.data {
            YamlData::Sequence(items) => items.iter().map(file).collect(),
            _ => Ok(vec![file(node)?]),
        }
    }

    fn table(&self, node: &Node<'_>, kind: ElementKind) -> Result<TableEntry, Malformed> {
        let mut entry = TableEntry {
            kind,
            files: Vec::new(),
            format: None,
            label: None,
            source_label: None,
            target_label: None,
            delimiter: None,
            quote: None,
            comment: None,
            nulls: None,
            encoding: None,
            table: Arc::default(),
        };
        let mut table = TableMapping::default();
        for (key, value) in self.members(node)? {
            match (key, kind) {
                ("file" | "files", _) => entry.files = self.files(value)?,
                ("format", _) => match Format::from_name(self.text(value)?) {
                    Some(format) => entry.format = Some(format),
                    None => return self.fail(value, "expected csv, parquet, jsonl or edgelist"),
                },
                ("label", _) => entry.label = Some(self.text(value)?.into()),
                ("label_column", _) => table.label_column = Some(self.text(value)?.to_owned()),
                ("id", _) => table.id = Some(self.text(value)?.to_owned()),
                ("id_type", _) => match IdType::from_name(self.text(value)?) {
                    Some(id_type) => table.id_type = Some(id_type),
                    None => return self.fail(value, "expected auto, int, string or uuid"),
                },
                ("source", ElementKind::Edge) => table.source = Some(self.text(value)?.to_owned()),
                ("target", ElementKind::Edge) => table.target = Some(self.text(value)?.to_owned()),
                ("source_label", ElementKind::Edge) => entry.source_label = Some(self.text(value)?.into()),
                ("target_label", ElementKind::Edge) => entry.target_label = Some(self.text(value)?.into()),
                ("time", ElementKind::Edge) => table.time = Some(self.text(value)?.to_owned()),
                ("delimiter", _) => entry.delimiter = Some(self.byte(value)?),
                ("quote", _) => {
                    let none = matches!(&value.data, YamlData::Value(Scalar::String(text)) if text == "none");
                    entry.quote = Some(if none { None } else { Some(self.byte(value)?) });
                }
                ("comment", _) => entry.comment = Some(self.byte(value)?),
                ("nulls", _) => entry.nulls = Some(self.texts(value)?.into()),
                ("encoding", _) => match encoding_named(self.text(value)?) {
                    Ok(encoding) => entry.encoding = Some(encoding),
                    Err(error) => return self.fail(value, error.to_string()),
                },
                ("columns", _) => table.columns = Some(self.texts(value)?),
                ("only_listed", _) => table.only_listed = self.flag(value)?,
                ("properties", _) => table.properties = self.properties(value)?,
                _ => return self.unknown(value, key, &KEYS),
            }
        }
        if entry.files.is_empty() {
            return self.fail(node, "a table needs a `file`");
        }
        entry.table = Arc::new(table);
        Ok(entry)
    }

    fn properties(&self, node: &Node<'_>) -> Result<Vec<(String, ColumnMapping)>, Malformed> {
        let column = |(column, wish): (&str, &Node<'_>)| Ok((column.to_owned(), self.column(wish)?));
        self.members(node)?.into_iter().map(column).collect()
    }

    /// `ignore`, a type, or keys: `name`, `type`, `cardinality`.
    fn column(&self, node: &Node<'_>) -> Result<ColumnMapping, Malformed> {
        if let YamlData::Value(Scalar::String(text)) = &node.data {
            return match &**text {
                "ignore" => Ok(ColumnMapping { ignore: true, ..ColumnMapping::default() }),
                _ => Ok(ColumnMapping { column_type: Some(self.column_type(node)?), ..ColumnMapping::default() }),
            };
        }
        let mut wish = ColumnMapping::default();
        let mut cardinality = None;
        for (key, value) in self.members(node)? {
            match key {
                "name" => wish.name = Some(self.text(value)?.into()),
                "type" => wish.column_type = Some(self.column_type(value)?),
                "cardinality" => cardinality = Some(self.cardinality(value)?),
                "ignore" => wish.ignore = self.flag(value)?,
                _ => return self.unknown(value, key, &["name", "type", "cardinality", "ignore"]),
            }
        }
        match (&mut wish.column_type, cardinality) {
            (Some(ColumnType::Array { cardinality, .. }), Some(given)) => *cardinality = given,
            (_, Some(_)) => return self.fail(node, "a cardinality needs an array `type`, as in string[]"),
            _ => {}
        }
        Ok(wish)
    }

    fn graph(&self, node: &Node<'_>) -> Result<GraphDeclaration, Malformed> {
        let mut graph = GraphDeclaration::default();
        for (key, value) in self.members(node)? {
            let kind = match key {
                "id_space" => {
                    graph.id_space = Some(match self.text(value)? {
                        "graph" => IdSpace::Graph,
                        "label" => IdSpace::Label,
                        _ => return self.fail(value, "expected graph or label"),
                    });
                    continue;
                }
                "keys" => {
                    graph.keys = self.texts(value)?.into_iter().map(Into::into).collect();
                    continue;
                }
                "vertices" => ElementKind::Vertex,
                "edges" => ElementKind::Edge,
                _ => return self.unknown(value, key, &["id_space", "keys", "vertices", "edges"]),
            };
            for (name, declared) in self.members(value)? {
                graph.labels.push(self.label(kind, name, declared)?);
            }
        }
        Ok(graph)
    }

    fn label(&self, kind: ElementKind, name: &str, node: &Node<'_>) -> Result<LabelDeclaration, Malformed> {
        let mut label = LabelDeclaration { kind, name: name.into(), key: None, time: None, properties: Vec::new() };
        for (key, value) in self.members(node)? {
            match (key, kind) {
                ("key", ElementKind::Vertex) => label.key = Some(self.text(value)?.into()),
                ("time", ElementKind::Edge) => label.time = Some(self.text(value)?.into()),
                ("properties", _) => {
                    for (name, declared) in self.members(value)? {
                        label.properties.push(self.property(name, declared)?);
                    }
                }
                (_, ElementKind::Vertex) => return self.unknown(value, key, &["key", "properties"]),
                (_, ElementKind::Edge) => return self.unknown(value, key, &["time", "properties"]),
            }
        }
        Ok(label)
    }

    fn property(&self, name: &str, node: &Node<'_>) -> Result<PropertyDeclaration, Malformed> {
        let mut property = PropertyDeclaration::new(name.into());
        let (mut value_type, mut cardinality) = (None, None);
        for (key, value) in self.members(node)? {
            match key {
                "type" => match ValueType::from_name(self.text(value)?) {
                    Some(t) => value_type = Some(t),
                    None => return self.fail(value, "not a type: expected one such as int64, float64, string or datetime"),
                },
                "cardinality" => cardinality = Some(self.cardinality(value)?),
                "required" => property.required = self.flag(value)?,
                "unique" => property.unique = self.flag(value)?,
                "index" => property.index = self.flag(value)?,
                "encoding" => match Encoding::parse(self.text(value)?) {
                    Some(encoding) => property.encoding = Some(encoding),
                    None => return self.fail(value, format!("expected {}", Encoding::NAMES.join(", "))),
                },
                _ => return self.unknown(value, key, &["type", "cardinality", "required", "unique", "index", "encoding"]),
            }
        }
        if value_type.is_some() || cardinality.is_some() {
            property.value_type = Some((value_type, cardinality.unwrap_or_default()));
        }
        Ok(property)
    }

    fn cardinality(&self, node: &Node<'_>) -> Result<Cardinality, Malformed> {
        match self.text(node)? {
            "single" => Ok(Cardinality::Single),
            "list" => Ok(Cardinality::List),
            "set" => Ok(Cardinality::Set),
            _ => self.fail(node, "expected single, list or set"),
        }
    }

    fn column_type(&self, node: &Node<'_>) -> Result<ColumnType, Malformed> {
        let text = self.text(node)?;
        match mapped_type(text) {
            Some(column_type) => Ok(column_type),
            None => {
                self.fail(node, format!("`{text}` is not a type: expected one such as int, double, string[] or datetime"))
            }
        }
    }
}

const KEYS: [&str; 20] = [
    "file",
    "files",
    "format",
    "label",
    "label_column",
    "id",
    "id_type",
    "source",
    "target",
    "source_label",
    "target_label",
    "time",
    "delimiter",
    "quote",
    "comment",
    "nulls",
    "encoding",
    "columns",
    "only_listed",
    "properties",
];
