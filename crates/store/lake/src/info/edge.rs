//! A type of edges between two types of vertices.

use std::fmt::Write as _;
use std::sync::Arc;

use mangrove_ingest::{Malformed, Node, YamlReader};

use super::graph::VERSION;
use super::place::Prefix;
use super::property::{FileType, PropertyGroup, quoted};

/// The columns of lists of edges.
pub const SOURCE: &str = "_graphArSrcIndex";
pub const TARGET: &str = "_graphArDstIndex";
pub const OFFSET: &str = "_graphArOffset";

/// An end of an edge.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Side {
    Source,
    Target,
}

impl Side {
    pub fn other(self) -> Self {
        match self {
            Side::Source => Side::Target,
            Side::Target => Side::Source,
        }
    }
}

/// How a list of edges is arranged: in parts by the chunk of one end. If it is sorted, offsets say where the edges of each vertex
/// are.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Order {
    pub by: Side,
    pub is_sorted: bool,
}

impl Order {
    /// All orders, with the names of their folders.
    const NAMED: [(Self, &'static str); 4] = [
        (Self { by: Side::Source, is_sorted: true }, "ordered_by_source"),
        (Self { by: Side::Target, is_sorted: true }, "ordered_by_dest"),
        (Self { by: Side::Source, is_sorted: false }, "unordered_by_source"),
        (Self { by: Side::Target, is_sorted: false }, "unordered_by_dest"),
    ];
    /// The names of all orders.
    pub const NAMES: [&'static str; 4] = [Self::NAMED[0].1, Self::NAMED[1].1, Self::NAMED[2].1, Self::NAMED[3].1];

    /// The order with a name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::NAMED.iter().find(|(_, known)| *known == name).map(|(order, _)| *order)
    }

    /// The name of its folder.
    pub fn name(self) -> &'static str {
        Self::NAMED.iter().find(|(order, _)| *order == self).map_or("", |(_, name)| name)
    }
}

/// A list of all edges of the type.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct AdjacentList {
    pub order: Order,
    pub prefix: Prefix,
    pub file_type: FileType,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct EdgeInfo {
    pub source: Arc<str>,
    /// The name of the type, which is the label of its edges.
    pub name: Arc<str>,
    pub target: Arc<str>,
    /// Edges to a chunk.
    pub chunk_size: u64,
    pub source_chunk_size: u64,
    pub target_chunk_size: u64,
    pub is_directed: bool,
    pub prefix: Prefix,
    pub lists: Vec<AdjacentList>,
    pub groups: Vec<PropertyGroup>,
}

impl EdgeInfo {
    /// Reads the text of a file.
    pub fn parse(text: &str, name: &Arc<str>) -> Result<Self, Malformed> {
        let yaml = YamlReader { name };
        let node = super::graph::document(&yaml, text)?;
        let (mut source, mut edge_type, mut target, mut prefix) = (None, None, None, None);
        let (mut chunk_size, mut source_chunk_size, mut target_chunk_size) = (None, None, None);
        let (mut lists, mut groups, mut is_directed) = (Vec::new(), None, true);
        for (key, value) in yaml.members(&node)? {
            match key {
                "src_type" => source = Some(yaml.text(value)?),
                "edge_type" => edge_type = Some(yaml.text(value)?),
                "dst_type" => target = Some(yaml.text(value)?),
                "chunk_size" => chunk_size = Some(yaml.count(value)?),
                "src_chunk_size" => source_chunk_size = Some(yaml.count(value)?),
                "dst_chunk_size" => target_chunk_size = Some(yaml.count(value)?),
                "directed" => is_directed = yaml.flag(value)?,
                "prefix" => prefix = Some(Prefix::read(&yaml, value)?),
                "adj_lists" => {
                    for list in yaml.items(value)? {
                        let (list, own) = AdjacentList::read(&yaml, list)?;
                        lists.push(list);
                        groups = groups.or(own); // in files of early versions, each list names the groups
                    }
                }
                "property_groups" => groups = Some(PropertyGroup::read_all(&yaml, value)?),
                "version" => super::graph::check_version(&yaml, value)?,
                _ => {}
            }
        }
        let (Some(source), Some(edge_type), Some(target)) = (source, edge_type, target) else {
            return yaml.fail(&node, "a type of edges needs `src_type`, `edge_type` and `dst_type`");
        };
        let (Some(chunk_size), Some(source_chunk_size), Some(target_chunk_size)) =
            (chunk_size, source_chunk_size, target_chunk_size)
        else {
            return yaml.fail(&node, "a type of edges needs `chunk_size`, `src_chunk_size` and `dst_chunk_size`");
        };
        if lists.is_empty() {
            return yaml.fail(&node, "a type of edges needs `adj_lists`");
        }
        let Some(prefix) = prefix.or_else(|| Prefix::parse(&format!("{source}_{edge_type}_{target}"))) else {
            return yaml.fail(&node, "the names of the types cannot name a folder: give the edges a `prefix`");
        };
        Ok(Self {
            source: source.into(),
            name: edge_type.into(),
            target: target.into(),
            chunk_size,
            source_chunk_size,
            target_chunk_size,
            is_directed,
            prefix,
            lists,
            groups: groups.unwrap_or_default(),
        })
    }

    /// The list with this order.
    pub fn list(&self, order: Order) -> Option<&AdjacentList> {
        self.lists.iter().find(|list| list.order == order)
    }

    /// The vertices of an end to a chunk.
    pub fn vertices_to_chunk(&self, side: Side) -> u64 {
        match side {
            Side::Source => self.source_chunk_size,
            Side::Target => self.target_chunk_size,
        }
    }

    /// The text of its file.
    pub fn text(&self) -> String {
        let mut out = String::new();
        let _ = writeln!(out, "src_type: {}", quoted(&self.source));
        let _ = writeln!(out, "edge_type: {}", quoted(&self.name));
        let _ = writeln!(out, "dst_type: {}", quoted(&self.target));
        let _ = writeln!(out, "chunk_size: {}", self.chunk_size);
        let _ = writeln!(out, "src_chunk_size: {}", self.source_chunk_size);
        let _ = writeln!(out, "dst_chunk_size: {}", self.target_chunk_size);
        let _ = writeln!(out, "directed: {}", self.is_directed);
        let _ = writeln!(out, "prefix: {}", quoted(self.prefix.as_str()));
        out += "adj_lists:\n";
        for list in &self.lists {
            let _ = writeln!(out, "  - ordered: {}", list.order.is_sorted);
            let _ = writeln!(out, "    aligned_by: {}", if list.order.by == Side::Source { "src" } else { "dst" });
            let _ = writeln!(out, "    prefix: {}", quoted(list.prefix.as_str()));
            let _ = writeln!(out, "    file_type: {}", list.file_type.name());
        }
        if !self.groups.is_empty() {
            out += "property_groups:\n";
            self.groups.iter().for_each(|group| group.write(&mut out));
        }
        let _ = writeln!(out, "version: {VERSION}");
        out
    }
}

impl AdjacentList {
    /// A list in the folder that its order names.
    pub fn new(order: Order, file_type: FileType) -> Self {
        Self { order, prefix: Prefix::default().folder(order.name()), file_type }
    }

    /// A list, and the groups of properties that it names.
    fn read(yaml: &YamlReader<'_>, node: &Node<'_>) -> Result<(Self, Option<Vec<PropertyGroup>>), Malformed> {
        let (mut is_sorted, mut by, mut prefix, mut file_type, mut groups) = (None, None, None, None, None);
        for (key, value) in yaml.members(node)? {
            match key {
                "ordered" => is_sorted = Some(yaml.flag(value)?),
                "aligned_by" => match yaml.text(value)? {
                    "src" => by = Some(Side::Source),
                    "dst" => by = Some(Side::Target),
                    _ => return yaml.fail(value, "expected src or dst"),
                },
                "prefix" => prefix = Some(Prefix::read(yaml, value)?),
                "file_type" => file_type = Some(FileType::read(yaml, value)?),
                "property_groups" => groups = Some(PropertyGroup::read_all(yaml, value)?),
                _ => {}
            }
        }
        let (Some(is_sorted), Some(by), Some(file_type)) = (is_sorted, by, file_type) else {
            return yaml.fail(node, "a list of edges needs `ordered`, `aligned_by` and `file_type`");
        };
        let list = Self::new(Order { by, is_sorted }, file_type);
        Ok((Self { prefix: prefix.unwrap_or(list.prefix), ..list }, groups))
    }
}
