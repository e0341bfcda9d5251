//! A type of vertices.

use std::fmt::Write as _;
use std::sync::Arc;

use mangrove_ingest::{Malformed, YamlReader};

use super::graph::VERSION;
use super::place::Prefix;
use super::property::{Property, PropertyGroup, quoted};

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct VertexInfo {
    /// The name of the type, which is the label of its vertices.
    pub name: Arc<str>,
    /// Vertices to a chunk.
    pub chunk_size: u64,
    pub prefix: Prefix,
    pub groups: Vec<PropertyGroup>,
    /// Further labels that vertices of the type may have, each a column of truth values.
    pub labels: Vec<Arc<str>>,
}

impl VertexInfo {
    /// Reads the text of a file.
    pub fn parse(text: &str, name: &Arc<str>) -> Result<Self, Malformed> {
        let yaml = YamlReader { name };
        let node = super::graph::document(&yaml, text)?;
        let (mut vertex_type, mut chunk_size, mut prefix) = (None, None, None);
        let (mut groups, mut labels) = (Vec::new(), Vec::new());
        for (key, value) in yaml.members(&node)? {
            match key {
                "type" => vertex_type = Some(yaml.text(value)?),
                "chunk_size" => chunk_size = Some(yaml.count(value)?),
                "prefix" => prefix = Some(Prefix::read(&yaml, value)?),
                "property_groups" => groups = PropertyGroup::read_all(&yaml, value)?,
                "labels" => labels = yaml.texts(value)?.into_iter().map(Arc::from).collect(),
                "version" => super::graph::check_version(&yaml, value)?,
                _ => {}
            }
        }
        let (Some(vertex_type), Some(chunk_size)) = (vertex_type, chunk_size) else {
            return yaml.fail(&node, "a type of vertices needs a `type` and a `chunk_size`");
        };
        let Some(prefix) = prefix.or_else(|| Prefix::parse(vertex_type)) else {
            return yaml.fail(&node, "the name of the type cannot name a folder: give it a `prefix`");
        };
        Ok(Self { name: vertex_type.into(), chunk_size, prefix, groups, labels })
    }

    /// All properties.
    pub fn properties(&self) -> impl Iterator<Item = &Property> {
        self.groups.iter().flat_map(|group| &group.properties)
    }

    /// The property whose values are the ids, if exactly one is primary.
    pub fn primary(&self) -> Option<&Property> {
        let mut primary = self.properties().filter(|property| property.is_primary);
        primary.next().filter(|_| primary.next().is_none())
    }

    /// The text of its file.
    pub fn text(&self) -> String {
        let mut out = String::new();
        let _ = writeln!(out, "type: {}", quoted(&self.name));
        let _ = writeln!(out, "chunk_size: {}", self.chunk_size);
        let _ = writeln!(out, "prefix: {}", quoted(self.prefix.as_str()));
        if !self.groups.is_empty() {
            out += "property_groups:\n";
            self.groups.iter().for_each(|group| group.write(&mut out));
        }
        if !self.labels.is_empty() {
            out += "labels:\n";
            self.labels.iter().for_each(|label| out += &format!("  - {}\n", quoted(label)));
        }
        let _ = writeln!(out, "version: {VERSION}");
        out
    }
}
