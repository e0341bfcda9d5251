//! A strict reader of RFC 4180 text. Records are slices of one buffer. Every error has a place.
//!
//! ```text
//! buffer: |  consumed  | record | record | rec… |  room  |      a record that does not end within the buffer moves
//!                      ^start                   ^end             to its front, and the buffer grows if need be
//! ```
//!
//! Fields end at the delimiter, records at LF or CRLF. A field that begins with a quote ends with one; quotes inside are doubled.
//! Any other use of quotes is an error, because guessing would load a wrong graph. The reader skips blank lines. After a broken
//! record it continues with the next line. If a quote is never closed, it stops, because nothing shows where the next record
//! begins.

use std::borrow::Cow;
use std::io::{self, Read};

use memchr::{memchr, memchr_iter, memchr3};

use crate::error::Fault;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dialect {
    pub delimiter: u8,
    /// `None` makes a quote an ordinary character.
    pub quote: Option<u8>,
    /// Skip lines that begin with it.
    pub comment: Option<u8>,
}

impl Default for Dialect {
    fn default() -> Self {
        Self { delimiter: b',', quote: Some(b'"'), comment: None }
    }
}

/// A field: its bytes within the record's text, without the quotes around it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Field {
    pub start: u32,
    pub end: u32,
    pub quoting: Quoting,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Quoting {
    Bare,
    Quoted,
    /// Quoted, with doubled quotes inside.
    Escaped,
}

impl Field {
    /// The field's content. Copies it only if quotes are doubled.
    pub fn content<'a>(&self, text: &'a [u8], quote: Option<u8>) -> Cow<'a, [u8]> {
        let raw = &text[self.start as usize..self.end as usize];
        match (self.quoting, quote) {
            (Quoting::Escaped, Some(quote)) => Cow::Owned(undouble(raw, quote)),
            _ => Cow::Borrowed(raw),
        }
    }
}

fn undouble(raw: &[u8], quote: u8) -> Vec<u8> {
    let mut out = Vec::with_capacity(raw.len());
    let mut rest = raw;
    while let Some(at) = memchr(quote, rest) {
        out.extend_from_slice(&rest[..=at]);
        rest = &rest[(at + 2).min(rest.len())..];
    }
    out.extend_from_slice(rest);
    out
}

pub struct Record<'a> {
    /// The line it begins on.
    pub line: u64,
    /// Without the line end.
    pub text: &'a [u8],
    pub fields: &'a [Field],
}

/// A record that is not well formed.
pub struct Broken {
    pub line: u64,
    /// The offset of the fault in `text`.
    pub at: usize,
    pub fault: Fault,
    /// The skipped text, shortened if it is long.
    pub text: Vec<u8>,
}

pub enum Step<'a> {
    Record(Record<'a>),
    Broken(Broken),
    End,
}

/// The result of [`split`].
#[derive(Debug, PartialEq)]
enum Split {
    /// A record of `len` bytes; the next one starts at `next`.
    Record {
        len: usize,
        next: usize,
    },
    /// The text ends within the record. `open` is the position of a quote that is not closed.
    Partial {
        open: Option<usize>,
    },
    Broken {
        at: usize,
        fault: Fault,
    },
}

/// Splits the first record of `text` into fields.
fn split(text: &[u8], whole: bool, dialect: Dialect, fields: &mut Vec<Field>) -> Split {
    fields.clear();
    let quote = dialect.quote.unwrap_or(dialect.delimiter);
    let mut start = 0;
    loop {
        if text.get(start) == Some(&quote) && dialect.quote.is_some() {
            match split_quoted(text, start, whole, dialect, quote, fields) {
                Ok(Some(next)) => start = next,
                Ok(None) => return end_of_record(text, fields),
                Err(outcome) => return outcome,
            }
            continue;
        }
        let rest = &text[start..];
        let hit = find_any(dialect.delimiter, b'\n', quote, rest);
        let bare = |end: usize| Field { start: start as u32, end: end as u32, quoting: Quoting::Bare };
        match hit.map(|at| (start + at, rest[at])) {
            Some((at, byte)) if byte == dialect.delimiter => {
                fields.push(bare(at));
                start = at + 1;
            }
            Some((at, b'\n')) => {
                let end = if at > start && text[at - 1] == b'\r' { at - 1 } else { at };
                fields.push(bare(end));
                return Split::Record { len: end, next: at + 1 };
            }
            Some((at, _)) => return Split::Broken { at, fault: Fault::QuoteInField },
            None if whole => {
                let end = if rest.last() == Some(&b'\r') { text.len() - 1 } else { text.len() };
                fields.push(bare(end));
                return Split::Record { len: end, next: text.len() };
            }
            None => return Split::Partial { open: None },
        }
    }
}

/// The position of the first of three bytes. Most fields are shorter than two words; for these, comparing words is faster than
/// memchr.
#[inline]
fn find_any(a: u8, b: u8, c: u8, text: &[u8]) -> Option<usize> {
    const LOW: u64 = 0x0101_0101_0101_0101;
    const HIGH: u64 = 0x8080_8080_8080_8080;
    // The lowest bit set marks the first byte equal to `byte` (Hacker's Delight, 6-1).
    let equal = |word: u64, byte: u8| {
        let zero_where_equal = word ^ (LOW * u64::from(byte));
        zero_where_equal.wrapping_sub(LOW) & !zero_where_equal & HIGH
    };
    let (words, _) = text.as_chunks::<8>();
    for (at, word) in words.iter().take(2).enumerate() {
        let word = u64::from_le_bytes(*word);
        let hits = equal(word, a) | equal(word, b) | equal(word, c);
        if hits != 0 {
            return Some(at * 8 + hits.trailing_zeros() as usize / 8);
        }
    }
    let seen = words.len().min(2) * 8;
    memchr3(a, b, c, &text[seen..]).map(|at| at + seen)
}

/// Splits off a quoted field that opens at `open`. Returns the start of the next field, or `None` at the end of the record.
fn split_quoted(
    text: &[u8],
    open: usize,
    whole: bool,
    dialect: Dialect,
    quote: u8,
    fields: &mut Vec<Field>,
) -> Result<Option<usize>, Split> {
    let mut quoting = Quoting::Quoted;
    let mut from = open + 1;
    let close = loop {
        let Some(at) = memchr(quote, &text[from..]).map(|at| from + at) else {
            return Err(Split::Partial { open: Some(open) });
        };
        match text.get(at + 1) {
            Some(next) if *next == quote => {
                quoting = Quoting::Escaped;
                from = at + 2;
            }
            None if !whole => return Err(Split::Partial { open: Some(open) }),
            _ => break at,
        }
    };
    let field = Field { start: open as u32 + 1, end: close as u32, quoting };
    match text.get(close + 1) {
        Some(next) if *next == dialect.delimiter => {
            fields.push(field);
            Ok(Some(close + 2))
        }
        None | Some(b'\n') => {
            fields.push(field);
            Ok(None)
        }
        Some(b'\r') if matches!(text.get(close + 2), None | Some(b'\n')) => {
            if text.len() == close + 2 && !whole {
                return Err(Split::Partial { open: None });
            }
            fields.push(field);
            Ok(None)
        }
        Some(_) => Err(Split::Broken { at: close + 1, fault: Fault::TextAfterQuote }),
    }
}

/// Ends the record after the last quoted field.
fn end_of_record(text: &[u8], fields: &[Field]) -> Split {
    let len = fields.last().map_or(0, |f| f.end as usize + 1);
    let line_end = text[len..].iter().take(2).position(|b| *b == b'\n').map_or(text.len() - len, |at| at + 1);
    Split::Record { len, next: len + line_end }
}

/// Reads records from a stream of bytes.
pub struct CsvReader<R> {
    input: R,
    dialect: Dialect,
    record_bytes_max: usize,
    buffer: Vec<u8>,
    start: usize,
    end: usize,
    ended: bool,
    /// The line of `start`.
    line: u64,
    fields: Vec<Field>,
    keeps_blank_lines: bool,
}

const BUFFER_BYTES: usize = 1 << 20;
/// A longer record counts as a quote that was never closed.
pub const RECORD_BYTES_MAX: usize = 16 << 20;

impl<R: Read> CsvReader<R> {
    pub fn new(input: R, dialect: Dialect) -> Self {
        Self::with_limit(input, dialect, RECORD_BYTES_MAX)
    }

    /// A reader that refuses records longer than `record_bytes_max`, which is below 4 GB.
    pub fn with_limit(input: R, dialect: Dialect, record_bytes_max: usize) -> Self {
        let buffer = vec![0; BUFFER_BYTES];
        Self {
            input,
            dialect,
            record_bytes_max,
            buffer,
            start: 0,
            end: 0,
            ended: false,
            line: 1,
            fields: Vec::new(),
            keeps_blank_lines: false,
        }
    }

    /// A reader to which a blank line is a record.
    pub fn keeping_blank_lines(self) -> Self {
        Self { keeps_blank_lines: true, ..self }
    }

    pub fn dialect(&self) -> Dialect {
        self.dialect
    }

    /// The next record; by default the next that is not blank.
    pub fn step(&mut self) -> io::Result<Step<'_>> {
        loop {
            let text = &self.buffer[self.start..self.end];
            if text.is_empty() && self.ended {
                return Ok(Step::End);
            }
            if self.dialect.comment.is_some() && text.first() == self.dialect.comment.as_ref() {
                self.skip_line(0, Fault::QuoteInField)?;
                continue;
            }
            match split(text, self.ended, self.dialect, &mut self.fields) {
                Split::Record { len: 0, next } if !self.keeps_blank_lines => {
                    self.start += next;
                    self.line += 1;
                }
                Split::Record { len, next } => {
                    let (at, line) = (self.start, self.line);
                    self.start += next;
                    self.line += 1 + self.newlines_in_quotes(at);
                    let text = &self.buffer[at..at + len];
                    return Ok(Step::Record(Record { line, text, fields: &self.fields }));
                }
                Split::Broken { at, fault } => return self.skip_line(at, fault).map(Step::Broken),
                Split::Partial { open } if self.ended => {
                    return Ok(Step::Broken(self.give_up(open.unwrap_or(0), Fault::UnterminatedQuote)));
                }
                Split::Partial { open } if text.len() > self.record_bytes_max => {
                    let fault = Fault::RecordTooLong { limit: self.record_bytes_max };
                    return Ok(Step::Broken(self.give_up(open.unwrap_or(0), fault)));
                }
                Split::Partial { .. } => self.fill()?,
            }
        }
    }

    fn newlines_in_quotes(&self, at: usize) -> u64 {
        let quoted = self.fields.iter().filter(|f| f.quoting != Quoting::Bare);
        quoted.map(|f| memchr_iter(b'\n', &self.buffer[at + f.start as usize..at + f.end as usize]).count() as u64).sum()
    }

    /// Skips the line of a fault at `at`, and continues after it.
    fn skip_line(&mut self, at: usize, fault: Fault) -> io::Result<Broken> {
        let mut from = at;
        let len = loop {
            match memchr(b'\n', &self.buffer[self.start + from..self.end]) {
                Some(found) => break from + found,
                None if self.ended => break self.end - self.start,
                None if self.end - self.start > self.record_bytes_max => {
                    return Ok(self.give_up(at, Fault::RecordTooLong { limit: self.record_bytes_max }));
                }
                None => {
                    from = self.end - self.start;
                    self.fill()?;
                }
            }
        };
        let text = self.buffer[self.start..self.start + len].to_vec();
        let broken = Broken { line: self.line, at, fault, text };
        self.line += memchr_iter(b'\n', &broken.text).count() as u64 + 1;
        self.start = (self.start + len + 1).min(self.end);
        Ok(broken)
    }

    /// Stops reading.
    fn give_up(&mut self, at: usize, fault: Fault) -> Broken {
        const KEPT: usize = 4096;
        let len = (self.end - self.start).min(KEPT.max(at + 1));
        let text = self.buffer[self.start..self.start + len].to_vec();
        (self.start, self.end, self.ended) = (0, 0, true);
        Broken { line: self.line, at, fault, text }
    }

    fn fill(&mut self) -> io::Result<()> {
        self.buffer.copy_within(self.start..self.end, 0);
        self.end -= self.start;
        self.start = 0;
        if self.end == self.buffer.len() {
            self.buffer.resize(self.buffer.len() * 2, 0);
        }
        let read = crate::text::source::read_some(&mut self.input, &mut self.buffer[self.end..])?;
        self.end += read;
        self.ended = read == 0 || self.end < self.buffer.len();
        Ok(())
    }
}

/// The line and column (in characters, from 1) of the byte at `at`, in a record that begins on `line`.
pub fn locate(line: u64, text: &[u8], at: usize) -> (u64, u64) {
    let before = &text[..at.min(text.len())];
    let line_start = before.iter().rposition(|b| *b == b'\n').map_or(0, |at| at + 1);
    let column = String::from_utf8_lossy(&before[line_start..]).chars().count() as u64 + 1;
    (line + memchr_iter(b'\n', before).count() as u64, column)
}

/// The position of field `index` of a record (including its quote), and its content.
pub fn field_of(text: &[u8], dialect: Dialect, index: usize) -> Option<(usize, String)> {
    let mut fields = Vec::new();
    split(text, true, dialect, &mut fields);
    let field = fields.get(index)?;
    let content = String::from_utf8_lossy(&field.content(text, dialect.quote)).into_owned();
    let quotes = usize::from(field.quoting != Quoting::Bare);
    Some((field.start as usize - quotes, content))
}

/// Guesses the delimiter: the one that occurs most often in the first lines of `sample`, equally often in each.
pub fn detect_delimiter(sample: &[u8], comment: Option<u8>) -> u8 {
    const CANDIDATES: [u8; 4] = *b",\t;|";
    const LINES: usize = 20;
    let fields_by = |delimiter: u8| -> (bool, usize) {
        let dialect = Dialect { delimiter, comment, ..Dialect::default() };
        let mut reader = CsvReader::new(sample, dialect);
        let mut counts = Vec::new();
        while counts.len() < LINES {
            match reader.step() {
                Ok(Step::Record(record)) => counts.push(record.fields.len()),
                Ok(Step::Broken(_)) => counts.push(0),
                _ => break,
            }
        }
        // A sample may cut its last record short.
        if counts.len() > 2 && counts.len() < LINES {
            counts.pop();
        }
        let header = counts.first().copied().unwrap_or(0);
        (header > 1 && counts.iter().all(|n| *n == header), header)
    };
    let best = CANDIDATES.into_iter().rev().max_by_key(|delimiter| fields_by(*delimiter));
    best.filter(|delimiter| fields_by(*delimiter).1 > 1).unwrap_or(b',')
}

/// Appends a field. Quotes it if needed.
pub fn put_field(text: &str, out: &mut String) {
    let plain = !text.contains([',', '"', '\n', '\r']) && !text.starts_with([' ', '\t']) && !text.ends_with([' ', '\t']);
    if plain {
        return out.push_str(text);
    }
    put_quoted(text, out);
}

/// Appends a field in quotes.
fn put_quoted(text: &str, out: &mut String) {
    out.push('"');
    for c in text.chars() {
        if c == '"' {
            out.push('"');
        }
        out.push(c);
    }
    out.push('"');
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[derive(Debug, PartialEq)]
    enum Seen {
        Record(u64, Vec<String>),
        Broken(u64, u64, Fault),
    }

    fn seen(text: &[u8], dialect: Dialect) -> Vec<Seen> {
        let mut reader = CsvReader::with_limit(text, dialect, 4 << 20);
        let mut out = Vec::new();
        loop {
            match reader.step().unwrap() {
                Step::End => return out,
                Step::Broken(b) => {
                    let (line, column) = locate(b.line, &b.text, b.at);
                    out.push(Seen::Broken(line, column, b.fault));
                }
                Step::Record(r) => {
                    let field = |f: &Field| String::from_utf8_lossy(&f.content(r.text, dialect.quote)).into_owned();
                    out.push(Seen::Record(r.line, r.fields.iter().map(field).collect()));
                }
            }
        }
    }

    fn record(line: u64, fields: &[&str]) -> Seen {
        Seen::Record(line, fields.iter().map(|f| f.to_string()).collect())
    }

    #[test]
    fn quotes_line_ends_and_blank_lines_follow_the_rfc() {
        let text = b"a,b\r\n\n\"x, \"\"y\"\"\nz\",\"\"\n1,\r\n\"last\"";
        let expected =
            [record(1, &["a", "b"]), record(3, &["x, \"y\"\nz", ""]), record(5, &["1", ""]), record(6, &["last"])];
        assert_eq!(seen(text, Dialect::default()), expected);
        let plain = Dialect { quote: None, delimiter: b'|', comment: Some(b'#') };
        assert_eq!(seen(b"# it's \"\n5\" nail|a\n", plain), [record(2, &["5\" nail", "a"])]);
    }

    #[test]
    fn broken_quotes_have_a_place_and_the_next_line_is_read() {
        let text = "é,b\"c\n1,\"x\"y,2\n3,4\n5,\"open\n6,7\n".as_bytes();
        let expected = [
            Seen::Broken(1, 4, Fault::QuoteInField),
            Seen::Broken(2, 6, Fault::TextAfterQuote),
            record(3, &["3", "4"]),
            Seen::Broken(4, 3, Fault::UnterminatedQuote),
        ];
        assert_eq!(seen(text, Dialect::default()), expected);
    }

    #[test]
    fn records_longer_than_the_buffer_are_read_and_endless_ones_refused() {
        let long = "x".repeat(3 << 20);
        assert_eq!(seen(format!("{long},1\n2,3").as_bytes(), Dialect::default())[0], record(1, &[&long, "1"]));
        let endless = format!("1,\"{}", "y\n".repeat(8 << 20));
        assert!(matches!(
            seen(endless.as_bytes(), Dialect::default())[..],
            [Seen::Broken(1, 3, Fault::RecordTooLong { .. })]
        ));
    }

    #[test]
    fn the_delimiter_is_the_one_every_line_agrees_on() {
        assert_eq!(detect_delimiter(b"id;name, first\n1;Ann\n2;Bob\n", None), b';');
        assert_eq!(detect_delimiter(b"a\tb\n1\t2\n", None), b'\t');
        assert_eq!(detect_delimiter(b"id\n1\n", None), b',');
        assert_eq!(detect_delimiter(b"id,tags\n1,a;b;c\n2,d\n", None), b',');
    }

    proptest! {
        /// Written records read back the same, wherever the buffer ends.
        #[test]
        fn written_records_come_back(rows in prop::collection::vec(prop::collection::vec("[a\",\r\n é]{0,6}", 2..4), 1..40)) {
            let mut text = String::new();
            for row in &rows {
                let quoted: Vec<String> = row.iter().map(|f| format!("\"{}\"", f.replace('"', "\"\""))).collect();
                text += &(quoted.join(",") + "\n");
            }
            let back: Vec<Vec<String>> = seen(text.as_bytes(), Dialect::default()).into_iter().map(|s| match s {
                Seen::Record(_, fields) => fields,
                Seen::Broken(..) => vec![],
            }).collect();
            prop_assert_eq!(back, rows);
        }

        /// No input makes the reader panic, loop or miscount lines.
        #[test]
        fn any_bytes_end(text in prop::collection::vec(prop::sample::select(&b"a,\"\r\n\xff;"[..]), 0..200)) {
            let lines = memchr_iter(b'\n', &text).count() as u64 + 1;
            for entry in seen(&text, Dialect::default()) {
                let line = match entry { Seen::Record(line, _) | Seen::Broken(line, ..) => line };
                prop_assert!(line <= lines);
            }
            detect_delimiter(&text, None);
        }
    }
}
