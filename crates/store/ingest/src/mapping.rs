//! The mapping file: YAML that says how tables are read where their headers do not. Its keys are described in docs/load.md.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use mangrove_graph::{Cardinality, ElementKind};
use saphyr::{LoadableYamlNode, MarkedYaml, Scalar, YamlData};

use crate::column::ColumnType;
use crate::error::{LoadError, Place};
use crate::format::Format;
use crate::header::mapped_type;
use crate::plan::{ColumnMapping, TableHints, TableMapping};
use crate::rows::IdType;

/// What a mapping file says.
#[derive(Default, Debug)]
pub struct Mapping {
    pub tables: Vec<TableEntry>,
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
    pub table: Arc<TableMapping>,
}

impl TableEntry {
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

/// Reads a mapping file; the files it names are relative to it.
pub fn read(path: &Path) -> Result<Mapping, LoadError> {
    let name: Arc<str> = path.display().to_string().into();
    let text = std::fs::read_to_string(path).map_err(|source| LoadError::Read { file: name.clone(), source })?;
    parse(&text, &name, path.parent().unwrap_or(Path::new("")))
}

/// Reads the text of a mapping.
pub fn parse(text: &str, name: &Arc<str>, directory: &Path) -> Result<Mapping, LoadError> {
    let documents = MarkedYaml::load_from_str(text).map_err(|e| {
        let at = e.marker();
        LoadError::format(Place::at(name, at.line() as u64, at.col() as u64 + 1), format!("not YAML: {}", e.info()))
    })?;
    let Some(document) = documents.first() else {
        return Err(LoadError::format(Place::file(name), "empty: a mapping has `nodes` and `edges`"));
    };
    let reader = Reader { name, directory };
    let mut mapping = Mapping::default();
    for (key, node) in reader.members(document)? {
        let kind = match key {
            "nodes" => ElementKind::Vertex,
            "edges" => ElementKind::Edge,
            _ => return reader.unknown(node, key, &["nodes", "edges"]),
        };
        for entry in reader.items(node)? {
            mapping.tables.push(reader.table(entry, kind)?);
        }
    }
    Ok(mapping)
}

struct Reader<'a> {
    name: &'a Arc<str>,
    directory: &'a Path,
}

type Node<'y> = MarkedYaml<'y>;

impl Reader<'_> {
    fn fail<T>(&self, node: &Node<'_>, reason: impl Into<String>) -> Result<T, LoadError> {
        let at = node.span.start;
        Err(LoadError::format(Place::at(self.name, at.line() as u64, at.col() as u64 + 1), reason))
    }

    fn unknown<T>(&self, node: &Node<'_>, key: &str, known: &[&str]) -> Result<T, LoadError> {
        let near = known.iter().find(|k| strsim::jaro(k, key) > 0.8).map(|k| format!(", did you mean `{k}`?"));
        let hint = near.unwrap_or_else(|| format!("; there are {}", known.join(", ")));
        self.fail(node, format!("no key `{key}` here{hint}"))
    }

    fn members<'n, 'y>(&self, node: &'n Node<'y>) -> Result<Vec<(&'n str, &'n Node<'y>)>, LoadError> {
        let YamlData::Mapping(members) = &node.data else { return self.fail(node, "expected keys with values") };
        members.iter().map(|(key, value)| Ok((self.text(key)?, value))).collect()
    }

    fn items<'n, 'y>(&self, node: &'n Node<'y>) -> Result<&'n [Node<'y>], LoadError> {
        match &node.data {
            YamlData::Sequence(items) => Ok(items),
            _ => self.fail(node, "expected a list"),
        }
    }

    fn text<'n>(&self, node: &'n Node<'_>) -> Result<&'n str, LoadError> {
        match &node.data {
            YamlData::Value(Scalar::String(text)) => Ok(text),
            _ => self.fail(node, "expected text; put it in quotes if it looks like a number or a truth value"),
        }
    }

    fn flag(&self, node: &Node<'_>) -> Result<bool, LoadError> {
        match &node.data {
            YamlData::Value(Scalar::Boolean(flag)) => Ok(*flag),
            _ => self.fail(node, "expected true or false"),
        }
    }

    fn byte(&self, node: &Node<'_>) -> Result<u8, LoadError> {
        match self.text(node)?.as_bytes() {
            [byte] => Ok(*byte),
            b"tab" | b"\\t" => Ok(b'\t'),
            _ => self.fail(node, "expected one character, or `tab`"),
        }
    }

    fn files(&self, node: &Node<'_>) -> Result<Vec<PathBuf>, LoadError> {
        let file = |node: &Node<'_>| Ok(self.directory.join(self.text(node)?));
        match &node.data {
            YamlData::Sequence(items) => items.iter().map(file).collect(),
            _ => Ok(vec![file(node)?]),
        }
    }

    fn table(&self, node: &Node<'_>, kind: ElementKind) -> Result<TableEntry, LoadError> {
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
            table: Arc::default(),
        };
        let mut table = TableMapping::default();
        for (key, value) in self.members(node)? {
            match (key, kind) {
                ("file" | "files", _) => entry.files = self.files(value)?,
                ("format", _) => match Format::from_name(self.text(value)?) {
                    Some(format) => entry.format = Some(format),
                    None => return self.fail(value, "expected csv, parquet or jsonl"),
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
                ("columns", _) => {
                    let names = self.items(value)?.iter().map(|name| self.text(name).map(str::to_owned));
                    table.columns = Some(names.collect::<Result<_, _>>()?);
                }
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

    fn properties(&self, node: &Node<'_>) -> Result<Vec<(String, ColumnMapping)>, LoadError> {
        let column = |(column, wish): (&str, &Node<'_>)| Ok((column.to_owned(), self.column(wish)?));
        self.members(node)?.into_iter().map(column).collect()
    }

    /// `ignore`, a type, or keys: `name`, `type`, `cardinality`.
    fn column(&self, node: &Node<'_>) -> Result<ColumnMapping, LoadError> {
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
                "cardinality" => {
                    cardinality = Some(match self.text(value)? {
                        "single" => Cardinality::Single,
                        "list" => Cardinality::List,
                        "set" => Cardinality::Set,
                        _ => return self.fail(value, "expected single, list or set"),
                    });
                }
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

    fn column_type(&self, node: &Node<'_>) -> Result<ColumnType, LoadError> {
        let text = self.text(node)?;
        match mapped_type(text) {
            Some(column_type) => Ok(column_type),
            None => self.fail(node, format!("`{text}` is not a type; as in int, double, string[], datetime")),
        }
    }
}

const KEYS: [&str; 18] = [
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
    "columns",
    "only_listed",
    "properties",
];
