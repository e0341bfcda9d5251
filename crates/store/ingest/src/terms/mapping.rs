//! Reads the mapping file. This YAML file says how to read tables whose headers do not say it, and declares properties of the
//! graph. docs/load.md describes its keys.

use std::ops::Deref;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use mangrove_graph::{Cardinality, Comparison, ElementKind, Encoding, IdSpace, Predicate, Value, ValueType};
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
    /// Where the files are, if not beside the mapping.
    pub root: Option<String>,
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
    /// Rows that do not pass all of these are left out.
    pub conditions: Vec<Condition>,
    /// Columns of a table of vertices that name other vertices.
    pub foreign_keys: Vec<ForeignKey>,
    /// What an edge is whose end is no vertex.
    pub missing: Missing,
    pub table: Arc<TableMapping>,
}

/// A test of a column.
#[derive(Clone, Debug)]
pub struct Condition {
    pub column: String,
    pub test: Test,
}

/// What a value has to be.
#[derive(Clone, Debug)]
pub enum Test {
    Passes(Predicate),
    IsNull,
    IsNotNull,
}

/// A column that names another vertex, and the edges that it stands for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ForeignKey {
    pub column: String,
    /// The label of the edges.
    pub label: Arc<str>,
    /// The label of the vertices that the column names.
    pub to: Option<Arc<str>>,
    /// Edges come from the vertex that is named, instead of going to it.
    pub is_incoming: bool,
    pub missing: Missing,
}

/// What an edge is whose end is no vertex.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Missing {
    #[default]
    Error,
    /// No edge.
    Skip,
}

impl TableEntry {
    /// The key that only reading in place knows, if the entry has one.
    fn only_in_place(&self) -> Option<&'static str> {
        if !self.conditions.is_empty() {
            return Some("where");
        }
        if !self.foreign_keys.is_empty() {
            return Some("foreign_keys");
        }
        (self.missing != Missing::default()).then_some("missing")
    }

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
    let mapping = parse(&text, &name, path.parent().unwrap_or(Path::new("")), is_confined)?;
    check_loadable(&mapping, &name)?;
    Ok(mapping)
}

/// Refuses a mapping that only queries in place can follow.
fn check_loadable(mapping: &Mapping, name: &Arc<str>) -> Result<(), LoadError> {
    let key = mapping.root.as_ref().map(|_| "root").or_else(|| mapping.tables.iter().find_map(TableEntry::only_in_place));
    let Some(key) = key else { return Ok(()) };
    let hint = format!("`mangrove load DB {name}`, load_lake() in Python, copies it into a database");
    Err(LoadError::format(Location::file(name), format!("`{key}` is for tables that are queried in place: {hint}")))
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
            "root" => {
                mapping.root = Some(reader.text(node)?.to_owned());
                continue;
            }
            "schema" => {
                mapping.graph = reader.graph(node)?;
                continue;
            }
            _ => reader.unknown(node, key, &["nodes", "edges", "files", "root", "schema"])?,
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
            conditions: Vec::new(),
            foreign_keys: Vec::new(),
            missing: Missing::default(),
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
                ("where", _) => entry.conditions = self.conditions(value)?,
                ("foreign_keys", ElementKind::Vertex) => entry.foreign_keys = self.foreign_keys(value)?,
                ("missing", ElementKind::Edge) => entry.missing = self.missing(value)?,
                ("missing", ElementKind::Vertex) => {
                    return self.fail(value, "`missing` belongs to a foreign key: `{label: …, to: …, missing: skip}`");
                }
                ("foreign_keys", ElementKind::Edge) => {
                    return self.fail(value, "`foreign_keys` are for tables of vertices (`nodes`)");
                }
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

    /// For each column a value, a list of values, or comparisons.
    fn conditions(&self, node: &Node<'_>) -> Result<Vec<Condition>, Malformed> {
        let condition =
            |(column, test): (&str, &Node<'_>)| Ok(Condition { column: column.to_owned(), test: self.test(test)? });
        self.members(node)?.into_iter().map(condition).collect()
    }

    fn test(&self, node: &Node<'_>) -> Result<Test, Malformed> {
        if self.is_null(node) {
            return Ok(Test::IsNull);
        }
        if let YamlData::Mapping(_) = &node.data
            && let [(word @ ("eq" | "neq"), operand)] = self.members(node)?[..]
            && self.is_null(operand)
        {
            return Ok(if word == "eq" { Test::IsNull } else { Test::IsNotNull });
        }
        self.predicate(node).map(Test::Passes)
    }

    fn is_null(&self, node: &Node<'_>) -> bool {
        matches!(&node.data, YamlData::Value(Scalar::Null))
    }

    fn predicate(&self, node: &Node<'_>) -> Result<Predicate, Malformed> {
        let values = |node: &Node<'_>| {
            let values = self.items(node)?.iter().map(|item| self.value(item)).collect::<Result<Vec<_>, Malformed>>()?;
            Ok(values.into())
        };
        match &node.data {
            YamlData::Mapping(_) => {}
            YamlData::Sequence(_) => return Ok(Predicate::Within(values(node)?)),
            _ => return Ok(Predicate::eq(self.value(node)?)),
        }
        let mut tests = Vec::new();
        for (word, operand) in self.members(node)? {
            let comparison = match word {
                "eq" => Comparison::Eq,
                "neq" => Comparison::Neq,
                "lt" => Comparison::Lt,
                "lte" => Comparison::Lte,
                "gt" => Comparison::Gt,
                "gte" => Comparison::Gte,
                "within" => {
                    tests.push(Predicate::Within(values(operand)?));
                    continue;
                }
                "without" => {
                    tests.push(Predicate::Without(values(operand)?));
                    continue;
                }
                _ => return self.unknown(operand, word, &["eq", "neq", "lt", "lte", "gt", "gte", "within", "without"]),
            };
            tests.push(Predicate::Compare(comparison, self.value(operand)?));
        }
        match tests.pop() {
            Some(only) if tests.is_empty() => Ok(only),
            Some(last) => Ok(Predicate::And(tests.into_iter().chain([last]).collect())),
            None => self.fail(node, "expected a comparison, such as `gt: 7`"),
        }
    }

    fn value(&self, node: &Node<'_>) -> Result<Value, Malformed> {
        match &node.data {
            YamlData::Value(Scalar::String(text)) => Ok(Value::string(text)),
            YamlData::Value(Scalar::Integer(number)) => Ok(Value::Int64(*number)),
            YamlData::Value(Scalar::FloatingPoint(number)) => Ok(Value::Float64(number.into_inner())),
            YamlData::Value(Scalar::Boolean(flag)) => Ok(Value::Bool(*flag)),
            YamlData::Value(Scalar::Null) => {
                self.fail(node, "null stands alone: `column: null`, or `column: {neq: null}` for rows that have a value")
            }
            _ => self.fail(node, "expected a text, a number or a truth value"),
        }
    }

    fn foreign_keys(&self, node: &Node<'_>) -> Result<Vec<ForeignKey>, Malformed> {
        let mut keys = Vec::new();
        for (column, edges) in self.members(node)? {
            let (mut label, mut to, mut is_incoming, mut missing) = (None, None, false, Missing::default());
            for (key, value) in self.members(edges)? {
                match key {
                    "label" => label = Some(self.text(value)?.into()),
                    "to" => to = Some(self.text(value)?.into()),
                    "direction" => {
                        is_incoming = match self.text(value)? {
                            "out" => false,
                            "in" => true,
                            _ => return self.fail(value, "expected out or in"),
                        }
                    }
                    "missing" => missing = self.missing(value)?,
                    _ => return self.unknown(value, key, &["label", "to", "direction", "missing"]),
                }
            }
            let Some(label) = label else {
                return self.fail(
                    edges,
                    "a foreign key needs the `label` of its edges, and `to`: the label of the vertices it names",
                );
            };
            keys.push(ForeignKey { column: column.to_owned(), label, to, is_incoming, missing });
        }
        Ok(keys)
    }

    fn missing(&self, node: &Node<'_>) -> Result<Missing, Malformed> {
        match self.text(node)? {
            "error" => Ok(Missing::Error),
            "skip" => Ok(Missing::Skip),
            _ => self.fail(node, "expected error or skip"),
        }
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
                "routed" => property.routed = self.flag(value)?,
                "encoding" => match Encoding::parse(self.text(value)?) {
                    Some(encoding) => property.encoding = Some(encoding),
                    None => return self.fail(value, format!("expected {}", Encoding::NAMES.join(", "))),
                },
                _ => {
                    let known = ["type", "cardinality", "required", "unique", "index", "routed", "encoding"];
                    return self.unknown(value, key, &known);
                }
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

const KEYS: [&str; 23] = [
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
    "where",
    "foreign_keys",
    "missing",
];
