//! Where files are, below the directory of a graph.

use std::fmt::{self, Write as _};

use mangrove_ingest::{Malformed, Node, YamlReader};

/// A folder below the directory of the graph, as a path with a slash at its end, or nothing for that directory itself.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Prefix(String);

impl Prefix {
    /// Reads a prefix. It must stay below the directory, because a stranger may have written the file.
    pub fn read(yaml: &YamlReader<'_>, node: &Node<'_>) -> Result<Self, Malformed> {
        let text = yaml.text(node)?;
        match Self::parse(text) {
            Some(prefix) => Ok(prefix),
            None => yaml.fail(node, format!("the prefix `{text}` leads out of the directory of the graph")),
        }
    }

    /// `None` if the path leads out of the directory that it starts from.
    pub fn parse(text: &str) -> Option<Self> {
        let mut path = String::new();
        for part in text.split('/').filter(|part| !matches!(*part, "" | ".")) {
            if part == ".." || part.contains(['\\', '\0']) {
                return None;
            }
            path += part;
            path.push('/');
        }
        (!text.starts_with('/')).then_some(Self(path))
    }

    /// A folder of this one.
    pub fn folder(&self, name: impl fmt::Display) -> Self {
        Self(format!("{}{name}/", self.0))
    }

    /// The folder at `prefix` below this one.
    pub fn join(&self, prefix: &Prefix) -> Self {
        Self(format!("{}{}", self.0, prefix.0))
    }

    /// A file in this folder.
    pub fn file(&self, name: impl fmt::Display) -> String {
        format!("{}{name}", self.0)
    }

    /// The name of its last folder.
    pub fn last(&self) -> &str {
        let path = self.0.trim_end_matches('/');
        path.rsplit_once('/').map_or(path, |(_, last)| last)
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Longer names are cut here, so that three of them make the name of a file.
const SAFE_MAX: usize = 56;

/// A name of a file: letters, digits, `-` and `_` as they are, other bytes as `%` and their number.
pub fn safe(name: &str) -> String {
    let mut out = String::with_capacity(name.len());
    for (at, byte) in name.bytes().enumerate() {
        if out.len() > SAFE_MAX {
            // FNV-1a, which tells names apart that begin alike.
            let hash = name
                .bytes()
                .skip(at)
                .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3));
            let _ = write!(out, "-{hash:016x}");
            break;
        }
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' => out.push(byte as char),
            // Writing to a string cannot fail.
            other => drop(write!(out, "%{other:02x}")),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_safe() {
        assert_eq!(safe("a_b-C9"), "a_b-C9");
        assert_eq!(safe("../é: x"), "%2e%2e%2f%c3%a9%3a%20x");
        let long = |end: &str| safe(&("name ".repeat(40) + end));
        assert!(long("a").len() < 80 && long("a") != long("b"));
    }

    #[test]
    fn prefixes_stay_below_their_directory() {
        for (text, path) in [("", ""), ("./", ""), ("a", "a/"), ("a//b/", "a/b/"), ("./a/./b", "a/b/")] {
            assert_eq!(Prefix::parse(text), Some(Prefix(path.into())), "{text}");
        }
        for text in ["/", "/tmp/", "..", "a/../b", "a/..", "a\\..\\b", "a\0"] {
            assert_eq!(Prefix::parse(text), None, "{text}");
        }
    }
}
