//! Reads JSON documents piece by piece: the lines of a file, or one value after another. Each piece is whole in memory; the file
//! never is.

use std::io::{self, Read};

use memchr::{memchr, memchr_iter};

/// A piece of the input, and where it begins.
pub struct Piece<'a> {
    pub line: u64,
    pub column: u64,
    pub text: &'a [u8],
}

pub struct Feed<R> {
    input: R,
    buffer: Vec<u8>,
    start: usize,
    end: usize,
    ended: bool,
    line: u64,
    column: u64,
}

/// A piece may have at most this many bytes. A vertex with a million edges fits. The tree that a reader makes of it fits into the
/// memory of a small machine.
pub const PIECE_BYTES_MAX: usize = 128 << 20;

fn too_long() -> io::Error {
    io::Error::other(format!("a JSON value or line of more than {} MB", PIECE_BYTES_MAX >> 20))
}

impl<R: Read> Feed<R> {
    pub fn new(input: R) -> Self {
        Self { input, buffer: vec![0; 1 << 18], start: 0, end: 0, ended: false, line: 1, column: 1 }
    }

    pub fn place(&self) -> (u64, u64) {
        (self.line, self.column)
    }

    fn fill(&mut self) -> io::Result<()> {
        self.buffer.copy_within(self.start..self.end, 0);
        self.end -= self.start;
        self.start = 0;
        if self.end == self.buffer.len() {
            if self.buffer.len() >= PIECE_BYTES_MAX {
                return Err(too_long());
            }
            self.buffer.resize(self.buffer.len() * 2, 0);
        }
        let read = crate::text::source::read_some(&mut self.input, &mut self.buffer[self.end..])?;
        self.end += read;
        self.ended = self.end < self.buffer.len();
        Ok(())
    }

    fn consume(&mut self, bytes: usize) {
        let text = &self.buffer[self.start..self.start + bytes];
        match text.iter().rposition(|b| *b == b'\n') {
            Some(last) => {
                self.line += memchr_iter(b'\n', text).count() as u64;
                self.column = String::from_utf8_lossy(&text[last + 1..]).chars().count() as u64 + 1;
            }
            None => self.column += String::from_utf8_lossy(text).chars().count() as u64,
        }
        self.start += bytes;
    }

    /// The buffered bytes, without consuming any. At least `bytes` of them, unless the input ends earlier.
    pub fn peek(&mut self, bytes: usize) -> io::Result<&[u8]> {
        while self.end - self.start < bytes && !self.ended {
            self.fill()?;
        }
        Ok(&self.buffer[self.start..self.end])
    }

    /// The next line that is not blank, without its line end.
    pub fn line(&mut self) -> io::Result<Option<Piece<'_>>> {
        loop {
            let len = loop {
                match memchr(b'\n', &self.buffer[self.start..self.end]) {
                    Some(at) => break at,
                    None if self.ended => break self.end - self.start,
                    None => self.fill()?,
                }
            };
            if len == 0 && self.start == self.end {
                return Ok(None);
            }
            let (start, line) = (self.start, self.line);
            self.start = (start + len + 1).min(self.end);
            (self.line, self.column) = (line + 1, 1);
            if !self.buffer[start..start + len].trim_ascii().is_empty() {
                return Ok(Some(Piece { line, column: 1, text: &self.buffer[start..start + len] }));
            }
        }
    }

    /// Skips white space and the bytes of `also`. Returns the next other byte without consuming it.
    pub fn skip_space(&mut self, also: &[u8]) -> io::Result<Option<u8>> {
        loop {
            let text = &self.buffer[self.start..self.end];
            let space = text.iter().take_while(|b| b.is_ascii_whitespace() || also.contains(b)).count();
            let found = text.get(space).copied();
            self.consume(space);
            match found {
                Some(byte) => return Ok(Some(byte)),
                None if self.ended => return Ok(None),
                None => self.fill()?,
            }
        }
    }

    /// Consumes the byte that `skip_space` returned.
    pub fn take_byte(&mut self) {
        self.consume(1);
    }

    /// The next JSON value. Follows only brackets and quotes; the parser checks whether the value is well formed.
    pub fn value(&mut self) -> io::Result<Option<Piece<'_>>> {
        if self.skip_space(b"")?.is_none() {
            return Ok(None);
        }
        let (line, column) = (self.line, self.column);
        let mut extent = Extent::default();
        loop {
            let text = &self.buffer[self.start..self.end];
            match extent.find(text) {
                Some(len) => {
                    let start = self.start;
                    self.consume(len);
                    return Ok(Some(Piece { line, column, text: &self.buffer[start..start + len] }));
                }
                None if self.ended => {
                    let (start, end) = (self.start, self.end);
                    self.consume(end - start);
                    return Ok(Some(Piece { line, column, text: &self.buffer[start..end] }));
                }
                None => self.fill()?,
            }
        }
    }
}

/// The rows of a file of JSON objects: its lines, or the items of its array if it begins with one.
pub struct Objects<R> {
    feed: Feed<R>,
    /// `None` before the first row.
    in_array: Option<bool>,
    /// Whether the array has given an item.
    begun: bool,
}

impl<R: Read> Objects<R> {
    pub fn new(input: R) -> Self {
        Self { feed: Feed::new(input), in_array: None, begun: false }
    }

    pub fn next(&mut self) -> io::Result<Option<Piece<'_>>> {
        let in_array = match self.in_array {
            Some(in_array) => in_array,
            None => {
                let begins = self.feed.skip_space(b"")? == Some(b'[');
                if begins {
                    self.feed.take_byte();
                }
                *self.in_array.insert(begins)
            }
        };
        if in_array { self.item() } else { self.feed.line() }
    }

    /// The next item of the array, whose opening bracket has been read.
    fn item(&mut self) -> io::Result<Option<Piece<'_>>> {
        let mut next = self.feed.skip_space(b"")?;
        if std::mem::replace(&mut self.begun, true) && next.is_some_and(|byte| byte != b']') {
            if next != Some(b',') {
                return Err(self.misplaced("expected a comma between two items of the JSON array"));
            }
            self.feed.take_byte();
            next = self.feed.skip_space(b"")?;
            if next == Some(b']') {
                return Err(self.misplaced("expected another item of the JSON array after the comma"));
            }
        }
        match next {
            Some(b',') => Err(self.misplaced("expected an item of the JSON array before the comma")),
            Some(b']') => {
                self.feed.take_byte();
                match self.feed.skip_space(b"")? {
                    None => Ok(None),
                    Some(_) => Err(io::Error::other("there is something after the end of the JSON array")),
                }
            }
            Some(_) => self.feed.value(),
            None => Err(io::Error::other("the JSON array has no end")),
        }
    }

    fn misplaced(&self, what: &str) -> io::Error {
        io::Error::other(format!("{what} at line {}, column {}", self.feed.line, self.feed.column))
    }
}

/// Searches for the end of a JSON value in text that may still grow.
#[derive(Default)]
struct Extent {
    seen: usize,
    depth: usize,
    in_string: bool,
    escaped: bool,
}

impl Extent {
    fn find(&mut self, text: &[u8]) -> Option<usize> {
        while self.seen < text.len() {
            let byte = text[self.seen];
            let first = self.seen == 0;
            self.seen += 1;
            if self.in_string {
                match byte {
                    _ if self.escaped => self.escaped = false,
                    b'\\' => self.escaped = true,
                    b'"' => {
                        self.in_string = false;
                        if self.depth == 0 {
                            return Some(self.seen);
                        }
                    }
                    _ => {}
                }
                continue;
            }
            match byte {
                b'"' => self.in_string = true,
                b'{' | b'[' => self.depth += 1,
                b'}' | b']' => {
                    self.depth = self.depth.saturating_sub(1);
                    if self.depth == 0 {
                        return Some(if first { 1 } else { self.seen });
                    }
                }
                b',' | b':' | b' ' | b'\t' | b'\r' | b'\n' if self.depth == 0 => {
                    return Some(if first { 1 } else { self.seen - 1 });
                }
                _ => {}
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_follow_each_other_with_their_places() {
        let text = "{\"a\": \"}\\\"\"}\n\n  [1,\n 2] 17 \"é\"\n{\"open\": ";
        let mut feed = Feed::new(text.as_bytes());
        let mut seen = Vec::new();
        while let Some(piece) = feed.value().unwrap() {
            seen.push((piece.line, piece.column, String::from_utf8(piece.text.to_vec()).unwrap()));
        }
        let expected =
            [(1, 1, "{\"a\": \"}\\\"\"}"), (3, 3, "[1,\n 2]"), (4, 5, "17"), (4, 8, "\"é\""), (5, 1, "{\"open\": ")];
        assert_eq!(seen, expected.map(|(l, c, t)| (l, c, t.to_owned())));
    }

    #[test]
    fn objects_are_lines_or_the_items_of_an_array() {
        let all = |text: &str| {
            let mut objects = Objects::new(text.as_bytes());
            let mut seen = Vec::new();
            while let Some(piece) = objects.next()? {
                seen.push((piece.line, String::from_utf8(piece.text.to_vec()).unwrap()));
            }
            Ok::<_, io::Error>(seen)
        };
        let expected = [(1, "{\"a\":[1,2]}".to_owned()), (2, "{\"a\":3}".to_owned())];
        assert_eq!(all(" {\"a\":[1,2]}\n{\"a\":3}\n").unwrap().len(), 2);
        assert_eq!(all("[{\"a\":[1,2]},\n {\"a\":3}]\n").unwrap(), expected);
        assert_eq!(all("[]").unwrap(), []);
        assert!(all("[{\"a\":3}").unwrap_err().to_string().contains("no end"));
        assert!(all("[] x").unwrap_err().to_string().contains("after the end"));
    }

    #[test]
    fn pieces_may_be_longer_than_the_buffer() {
        let long = format!("[\"{}\"]", "x".repeat(1 << 19));
        let text = format!("{long}\n{long}");
        let mut feed = Feed::new(text.as_bytes());
        assert_eq!(feed.value().unwrap().unwrap().text.len(), long.len());
        let piece = feed.line().unwrap().map(|p| p.text.len());
        assert_eq!((piece, feed.line().unwrap().is_none()), (Some(long.len()), true));
    }
}
