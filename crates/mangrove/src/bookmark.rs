//! Where a process has come in the commits of a graph on many nodes.

use std::fmt;
use std::str::FromStr;

use thiserror::Error;

/// A commit of a graph. As text, it can go to other programs.
///
/// ```
/// let bookmark: mangrove::Bookmark = "00000000000000ff-12".parse().unwrap();
/// assert_eq!((bookmark.graph, bookmark.number, bookmark.to_string().as_str()), (255, 12, "00000000000000ff-12"));
/// assert!("12".parse::<mangrove::Bookmark>().is_err());
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Bookmark {
    /// The id of the graph.
    pub graph: u64,
    /// The number of the commit.
    pub number: u64,
}

/// Why a text is no bookmark.
#[derive(Debug, Error)]
#[error("{0:?} is no bookmark: take what bookmark() of another connection gives")]
pub struct BookmarkError(String);

impl fmt::Display for Bookmark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}-{}", self.graph, self.number)
    }
}

impl FromStr for Bookmark {
    type Err = BookmarkError;

    fn from_str(text: &str) -> Result<Self, BookmarkError> {
        let parts = text.split_once('-').filter(|(graph, _)| graph.len() == 16);
        let parsed = parts.and_then(|(graph, number)| {
            Some(Self { graph: u64::from_str_radix(graph, 16).ok()?, number: number.parse().ok()? })
        });
        parsed.ok_or_else(|| BookmarkError(text.to_owned()))
    }
}
