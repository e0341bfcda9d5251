//! Detects the format of a file.

use std::io::Read;

use crate::graphs::edgelist::is_edge_list;
use crate::text::format::Format;
use crate::text::source::{Source, read_some};

/// The format of a file: by its first bytes if they show it, else by its extension, else CSV. For `.json` only the content tells
/// GraphSON from JSON Lines; `.graphson` needs no such check.
pub(crate) fn detect(source: &Source, content: &mut dyn Read) -> std::io::Result<Format> {
    let mut head = vec![0; 4096];
    let read = read_some(&mut Bounded(content), &mut head)?;
    let head = head[..read].trim_ascii_start();
    if head.starts_with(b"PAR1") {
        return Ok(Format::Parquet);
    }
    let by_extension = Format::of_extension(&source.extension());
    if source.extension() == "graphson" {
        return Ok(Format::GraphSon);
    }
    Ok(match head.first() {
        Some(b'<') if contains(head, b"<graphml") || contains(head, b"<?xml") => Format::GraphMl,
        Some(b'{') if looks_like_graphson(head) => Format::GraphSon,
        Some(b'{' | b'[') if by_extension != Some(Format::Csv) => Format::Jsonl,
        _ if by_extension != Some(Format::Csv) && is_edge_list(head) => Format::EdgeList,
        // A table would begin with a line of names.
        Some(b'#' | b'%') if is_edge_list(head) => Format::EdgeList,
        _ => by_extension.unwrap_or(Format::Csv),
    })
}

/// Recognizes adjacency lists and documents of vertices. Rows of a table look like neither.
fn looks_like_graphson(head: &[u8]) -> bool {
    let compact: Vec<u8> = head.iter().filter(|b| !b.is_ascii_whitespace()).copied().collect();
    let typed = contains(&compact, b"\"@type\":\"g") || compact.starts_with(b"{\"@type\":\"tinker:graph\"");
    let document = compact.starts_with(b"{\"vertices\":[") || compact.starts_with(b"{\"edges\":[");
    let adjacency = contains(&compact, b"\"outE\":{") || contains(&compact, b"\"inE\":{");
    let properties = contains(&compact, b"\"properties\":{\"") && contains(&compact, b"\"value\":");
    typed || document || adjacency || properties
}

fn contains(text: &[u8], part: &[u8]) -> bool {
    memchr::memmem::find(text, part).is_some()
}

struct Bounded<'a>(&'a mut dyn Read);

impl Read for Bounded<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        self.0.read(buffer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn content_tells_before_the_extension() {
        let format = |name: &str, text: &str| {
            let source = Source { path: name.into(), name: name.into(), bytes: 0, encoding: None };
            detect(&source, &mut text.as_bytes()).unwrap()
        };
        assert_eq!(format("a.csv", "PAR1"), Format::Parquet);
        assert_eq!(format("a", "<?xml version=\"1.0\"?><graphml/>"), Format::GraphMl);
        assert_eq!(format("a.json", "{\"id\":{\"@type\":\"g:Int32\",\"@value\":1}}"), Format::GraphSon);
        assert_eq!(format("a.json", "{ \"vertices\": [] }"), Format::GraphSon);
        assert_eq!(format("a.json", "{\"id\": 1, \"name\": \"x\"}\n"), Format::Jsonl);
        assert_eq!(format("a.json", "[{\"id\": 1}]"), Format::Jsonl);
        assert_eq!(
            format("a.json", "{\"id\":\"x\",\"label\":\"v\",\"properties\":{\"n\":[{\"value\":\"y\"}]}}"),
            Format::GraphSon
        );
        assert_eq!(format("a.graphson", "{\"id\":\"x\",\"label\":\"v\"}"), Format::GraphSon);
        assert_eq!(format("a", "id,name\n"), Format::Csv);
        assert_eq!(format("a.txt", "# SNAP\n0\t1\n"), Format::EdgeList);
        assert_eq!(format("a.csv", "0 1\n"), Format::Csv, "an extension is a word, too");
    }
}
