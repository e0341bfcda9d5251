//! Properties, and the groups that are stored together.

use std::fmt::Write as _;
use std::sync::Arc;

use mangrove_graph::Cardinality;
use mangrove_ingest::{Malformed, Node, YamlReader};

use super::place::Prefix;
use super::types::DataType;

/// The format of the files of a group.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FileType {
    Parquet,
    Csv,
    Orc,
    Json,
}

impl FileType {
    const NAMED: [(&'static str, FileType); 4] =
        [("parquet", FileType::Parquet), ("csv", FileType::Csv), ("orc", FileType::Orc), ("json", FileType::Json)];

    pub fn read(yaml: &YamlReader<'_>, node: &Node<'_>) -> Result<Self, Malformed> {
        let text = yaml.text(node)?;
        match Self::NAMED.iter().find(|(name, _)| *name == text) {
            Some((_, file_type)) => Ok(*file_type),
            None => yaml.fail(node, format!("`{text}` is no format of files: expected parquet, csv, orc or json")),
        }
    }

    pub fn name(self) -> &'static str {
        Self::NAMED.iter().find(|(_, file_type)| *file_type == self).map_or("", |(name, _)| name)
    }

    /// Its name in messages.
    pub fn title(self) -> &'static str {
        match self {
            FileType::Parquet => "Parquet",
            FileType::Csv => "CSV",
            FileType::Orc => "ORC",
            FileType::Json => "JSON, one object to a line",
        }
    }
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Property {
    pub name: Arc<str>,
    pub data_type: DataType,
    /// Its values are the ids of the vertices.
    pub is_primary: bool,
    pub is_nullable: bool,
    pub cardinality: Cardinality,
}

impl Property {
    fn read(yaml: &YamlReader<'_>, node: &Node<'_>) -> Result<Self, Malformed> {
        let (mut name, mut data_type, mut is_primary, mut is_nullable) = (None, None, false, None);
        let mut cardinality = Cardinality::Single;
        for (key, value) in yaml.members(node)? {
            match key {
                "name" => name = Some(yaml.text(value)?),
                "data_type" => match DataType::from_name(yaml.text(value)?) {
                    Some(found) => data_type = Some(found),
                    None => return yaml.fail(value, format!("not a type: expected {}", DataType::NAMES)),
                },
                "is_primary" => is_primary = yaml.flag(value)?,
                "is_nullable" => is_nullable = Some(yaml.flag(value)?),
                "cardinality" => match yaml.text(value)? {
                    "single" => cardinality = Cardinality::Single,
                    "list" => cardinality = Cardinality::List,
                    "set" => cardinality = Cardinality::Set,
                    _ => return yaml.fail(value, "expected single, list or set"),
                },
                _ => {}
            }
        }
        match (name, data_type) {
            (Some(name), Some(data_type)) => {
                let is_nullable = is_nullable.unwrap_or(!is_primary);
                Ok(Self { name: name.into(), data_type, is_primary, is_nullable, cardinality })
            }
            _ => yaml.fail(node, "a property needs a `name` and a `data_type`"),
        }
    }
}

/// Properties whose columns are in the same files.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PropertyGroup {
    pub prefix: Prefix,
    pub file_type: FileType,
    pub properties: Vec<Property>,
}

impl PropertyGroup {
    pub fn read_all(yaml: &YamlReader<'_>, node: &Node<'_>) -> Result<Vec<Self>, Malformed> {
        yaml.items(node)?.iter().map(|group| Self::read(yaml, group)).collect()
    }

    fn read(yaml: &YamlReader<'_>, node: &Node<'_>) -> Result<Self, Malformed> {
        let (mut prefix, mut file_type, mut properties) = (None, None, Vec::new());
        for (key, value) in yaml.members(node)? {
            match key {
                "prefix" => prefix = Some(Prefix::read(yaml, value)?),
                "file_type" => file_type = Some(FileType::read(yaml, value)?),
                "properties" => {
                    properties = yaml.items(value)?.iter().map(|p| Property::read(yaml, p)).collect::<Result<_, _>>()?;
                }
                _ => {}
            }
        }
        let Some(file_type) = file_type else { return yaml.fail(node, "a group of properties needs a `file_type`") };
        if properties.is_empty() {
            return yaml.fail(node, "a group of properties needs `properties`");
        }
        let prefix = match prefix {
            Some(prefix) => prefix,
            None => match Prefix::parse(&Self::default_prefix(&properties)) {
                Some(prefix) => prefix,
                None => {
                    return yaml.fail(node, "the names of the properties cannot name a folder: give the group a `prefix`");
                }
            },
        };
        Ok(Self { prefix, file_type, properties })
    }

    /// The prefix of a group that names none: its properties, joined.
    fn default_prefix(properties: &[Property]) -> String {
        properties.iter().map(|property| &*property.name).collect::<Vec<_>>().join("_")
    }

    /// The group as a part of a YAML file.
    pub fn write(&self, out: &mut String) {
        // Writing to a string cannot fail.
        let _ = writeln!(out, "  - prefix: {}", quoted(self.prefix.as_str()));
        let _ = writeln!(out, "    file_type: {}", self.file_type.name());
        let _ = writeln!(out, "    properties:");
        for property in &self.properties {
            let _ = writeln!(out, "      - name: {}", quoted(&property.name));
            let _ = writeln!(out, "        data_type: {}", property.data_type);
            let _ = writeln!(out, "        is_primary: {}", property.is_primary);
            let _ = writeln!(out, "        is_nullable: {}", property.is_nullable);
            if property.cardinality != Cardinality::Single {
                let _ = writeln!(out, "        cardinality: {}", property.cardinality.name());
            }
        }
    }
}

/// A text as a YAML scalar: bare if no reader can take it for anything else, because the C++ library reads no escapes.
pub fn quoted(text: &str) -> String {
    const WORDS: [&str; 8] = ["true", "false", "null", "yes", "no", "on", "off", "nan"];
    let is_bare = text.starts_with(|c: char| c.is_ascii_alphabetic())
        && text.chars().all(|c| c.is_ascii_alphanumeric() || "_-./".contains(c))
        && !WORDS.contains(&text.to_ascii_lowercase().as_str());
    if is_bare {
        return text.to_owned();
    }
    let mut out = String::with_capacity(text.len() + 2);
    mangrove_ingest::quote_json(text, &mut out);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_bare_where_that_is_safe() {
        for bare in ["person", "vertex/person/", "knows-date", "a.b_c"] {
            assert_eq!(quoted(bare), bare);
        }
        for (text, expected) in [("", "\"\""), ("7", "\"7\""), ("No", "\"No\""), ("a: b", "\"a: b\""), ("é", "\"é\"")] {
            assert_eq!(quoted(text), expected);
        }
    }
}
