//! The file that names all others.

use std::fmt::Write as _;
use std::sync::Arc;

use mangrove_ingest::{Malformed, Node, YamlReader};

use super::place::Prefix;
use super::property::quoted;

/// The format that this crate writes.
pub const VERSION: &str = "gar/v1";

/// A graph, and the files that describe its types of vertices and edges.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct GraphInfo {
    pub name: String,
    /// Where the data is, below the directory of the file.
    pub prefix: Prefix,
    /// Files in the directory of this one.
    pub vertices: Vec<String>,
    pub edges: Vec<String>,
    /// What a writer notes beside.
    pub extra: Vec<(String, String)>,
}

impl GraphInfo {
    /// Reads the text of a file.
    pub fn parse(text: &str, name: &Arc<str>) -> Result<Self, Malformed> {
        let yaml = YamlReader { name };
        let node = document(&yaml, text)?;
        let mut info = Self::default();
        for (key, value) in yaml.members(&node)? {
            match key {
                "name" => info.name = yaml.text(value)?.to_owned(),
                "prefix" => info.prefix = Self::prefix(&yaml, value)?,
                "vertices" => info.vertices = files(&yaml, value)?,
                "edges" => info.edges = files(&yaml, value)?,
                "extra_info" => info.extra = extra(&yaml, value)?,
                "version" => check_version(&yaml, value)?,
                _ => {}
            }
        }
        // Mangrove notes something even if a graph has no vertices.
        if info.vertices.is_empty() && info.extra.is_empty() {
            return yaml.fail(
                &node,
                "a graph needs `vertices`: the files that describe its types of vertices. Name the file NAME.graph.yml",
            );
        }
        Ok(info)
    }

    /// Writers note the absolute path that they wrote to. The files may have moved since, so such a path means the directory of this
    /// file.
    fn prefix(yaml: &YamlReader<'_>, node: &Node<'_>) -> Result<Prefix, Malformed> {
        let text = yaml.text(node)?;
        if text.starts_with('/') || text.contains("://") {
            return Ok(Prefix::default());
        }
        Prefix::read(yaml, node)
    }

    /// The text of its file.
    pub fn text(&self) -> String {
        let mut out = String::new();
        let _ = writeln!(out, "name: {}", quoted(&self.name));
        if !self.prefix.as_str().is_empty() {
            let _ = writeln!(out, "prefix: {}", quoted(self.prefix.as_str()));
        }
        for (key, files) in [("vertices", &self.vertices), ("edges", &self.edges)] {
            if !files.is_empty() {
                let _ = writeln!(out, "{key}:");
                files.iter().for_each(|file| out += &format!("  - {}\n", quoted(file)));
            }
        }
        if !self.extra.is_empty() {
            out += "extra_info:\n";
            for (key, value) in &self.extra {
                let _ = writeln!(out, "  - key: {}\n    value: {}", quoted(key), quoted(value));
            }
        }
        let _ = writeln!(out, "version: {VERSION}");
        out
    }
}

/// The document of a file, which must not be empty.
pub fn document<'y>(yaml: &YamlReader<'_>, text: &'y str) -> Result<Node<'y>, Malformed> {
    let place = mangrove_ingest::Location::file(yaml.name);
    yaml.document(text)?.ok_or_else(|| Malformed { place, reason: "the file is empty".into() })
}

/// Refuses formats other than the first. Types that a user defines may follow its name.
pub fn check_version(yaml: &YamlReader<'_>, node: &Node<'_>) -> Result<(), Malformed> {
    let text = yaml.text(node)?;
    match text.split_whitespace().next() {
        Some(VERSION) => Ok(()),
        _ => yaml.fail(node, format!("the format {text} is not known here: expected {VERSION}")),
    }
}

fn files(yaml: &YamlReader<'_>, node: &Node<'_>) -> Result<Vec<String>, Malformed> {
    let file = |node: &Node<'_>| {
        let text = yaml.text(node)?;
        match Prefix::parse(text) {
            Some(path) if !path.as_str().is_empty() => Ok(path.as_str().trim_end_matches('/').to_owned()),
            _ => yaml.fail(node, format!("`{text}` is not a file in the directory of the graph")),
        }
    };
    yaml.items(node)?.iter().map(file).collect()
}

fn extra(yaml: &YamlReader<'_>, node: &Node<'_>) -> Result<Vec<(String, String)>, Malformed> {
    let pair = |node: &Node<'_>| {
        let (mut name, mut noted) = (String::new(), String::new());
        for (key, value) in yaml.members(node)? {
            match key {
                "key" => name = yaml.text(value)?.to_owned(),
                "value" => noted = yaml.text(value)?.to_owned(),
                _ => {}
            }
        }
        Ok((name, noted))
    };
    yaml.items(node)?.iter().map(pair).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<GraphInfo, String> {
        GraphInfo::parse(text, &"g.yml".into()).map_err(|e| e.to_string())
    }

    #[test]
    fn what_is_written_is_read_back() {
        let info = GraphInfo {
            name: "a \"graph\": #1".into(),
            prefix: Prefix::parse("data").unwrap(),
            vertices: vec!["person.vertex.yml".into(), "- odd name.yml".into()],
            edges: vec!["knows.edge.yml".into()],
            extra: vec![("ids".into(), "label".into())],
        };
        assert_eq!(parse(&info.text()).unwrap(), info);
    }

    #[test]
    fn an_absolute_prefix_means_the_directory_of_the_file() {
        for prefix in ["/tmp/graphar/", "s3://bucket/graph/"] {
            let info = parse(&format!("name: g\nprefix: {prefix}\nvertices: [v.yml]\nversion: gar/v1\n")).unwrap();
            assert_eq!(info.prefix, Prefix::default());
        }
    }

    #[test]
    fn errors_name_the_place() {
        let cases = [
            ("", "g.yml: the file is empty"),
            ("name: g\nversion: gar/v1\n", "g.yml:1:1: a graph needs `vertices`"),
            ("vertices: [v.yml]\nversion: gar/v2\n", "g.yml:2:10: the format gar/v2 is not known here"),
            ("vertices:\n  - ../v.yml\n", "g.yml:2:5: `../v.yml` is not a file in the directory"),
            ("prefix: a/../..\nvertices: [v.yml]\n", "g.yml:1:9: the prefix `a/../..` leads out"),
            ("vertices: {a: b}\n", "g.yml:1:11: expected a list"),
            ("name: [\n", "g.yml:2:1: not YAML"),
        ];
        for (text, expected) in cases {
            let error = parse(text).unwrap_err();
            assert!(error.starts_with(expected), "{text:?}: {error}");
        }
    }
}
