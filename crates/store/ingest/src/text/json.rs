//! Parses JSON text into a tree that borrows from the text.
//!
//! A general JSON library does not give all of this at once:
//!
//! - Numbers keep their text, so that integers of any size survive, and so does the difference between `1` and `1.0`.
//! - Objects keep the order of their members.
//! - Errors have a place.

use std::borrow::Cow;

use mangrove_graph::number::{self, DIGITS_MAX};

#[derive(Clone, Debug, PartialEq)]
pub enum Json<'a> {
    Null,
    Bool(bool),
    Number(&'a str),
    String(Cow<'a, str>),
    Array(Vec<Json<'a>>),
    Object(Vec<(Cow<'a, str>, Json<'a>)>),
}

impl<'a> Json<'a> {
    pub fn get(&self, key: &str) -> Option<&Json<'a>> {
        match self {
            Json::Object(members) => members.iter().find(|(k, _)| k == key).map(|(_, v)| v),
            _ => None,
        }
    }

    pub fn as_str(&self) -> Option<&str> {
        match self {
            Json::String(text) => Some(text),
            _ => None,
        }
    }

    pub fn name(&self) -> &'static str {
        match self {
            Json::Null => "null",
            Json::Bool(_) => "a boolean",
            Json::Number(_) => "a number",
            Json::String(_) => "a string",
            Json::Array(_) => "an array",
            Json::Object(_) => "an object",
        }
    }
}

/// The error, and the byte where it is.
#[derive(Clone, Debug, PartialEq)]
pub struct JsonError {
    pub at: usize,
    pub reason: String,
}

const DEPTH_MAX: usize = 128;
/// Most values in one tree. A few bytes of text become some dozens of bytes in the tree.
const VALUES_MAX: usize = 1 << 24;

/// Reads a text that is a single JSON value.
pub fn parse(text: &str) -> Result<Json<'_>, JsonError> {
    let mut parser = Parser { text, at: 0, values: 0 };
    let value = parser.value(0)?;
    parser.skip_space();
    match parser.peek() {
        None => Ok(value),
        Some(_) => Err(parser.error("text after the end of the JSON value")),
    }
}

struct Parser<'a> {
    text: &'a str,
    at: usize,
    /// How many values the parser has begun.
    values: usize,
}

impl<'a> Parser<'a> {
    fn error(&self, reason: impl Into<String>) -> JsonError {
        JsonError { at: self.at, reason: reason.into() }
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn skip_space(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    fn value(&mut self, depth: usize) -> Result<Json<'a>, JsonError> {
        if depth > DEPTH_MAX {
            return Err(self.error(format!("nested more than {DEPTH_MAX} levels deep")));
        }
        self.values += 1;
        if self.values > VALUES_MAX {
            return Err(self.error(format!("more than {VALUES_MAX} values within one")));
        }
        self.skip_space();
        match self.peek() {
            Some(b'{') => self.object(depth),
            Some(b'[') => self.array(depth),
            Some(b'"') => self.string().map(Json::String),
            Some(b'-' | b'0'..=b'9') => self.number(),
            Some(b't') => self.word("true", Json::Bool(true)),
            Some(b'f') => self.word("false", Json::Bool(false)),
            Some(b'n') => self.word("null", Json::Null),
            Some(_) => Err(self.error("expected a JSON value")),
            None => Err(self.error("the text ends where a JSON value should be")),
        }
    }

    fn word(&mut self, word: &str, value: Json<'a>) -> Result<Json<'a>, JsonError> {
        if !self.text[self.at..].starts_with(word) {
            return Err(self.error("expected a JSON value"));
        }
        self.at += word.len();
        Ok(value)
    }

    fn number(&mut self) -> Result<Json<'a>, JsonError> {
        let start = self.at;
        self.at += usize::from(self.peek() == Some(b'-'));
        let leading_zero = self.peek() == Some(b'0');
        let integer = self.digits()?;
        if leading_zero && integer > 1 {
            return Err(JsonError { at: start, reason: "a number with a leading zero".into() });
        }
        if self.peek() == Some(b'.') {
            self.at += 1;
            self.digits()?;
        }
        if matches!(self.peek(), Some(b'e' | b'E')) {
            self.at += 1;
            self.at += usize::from(matches!(self.peek(), Some(b'+' | b'-')));
            self.digits()?;
        }
        if self.at - start > DIGITS_MAX {
            return Err(JsonError { at: start, reason: format!("a number of more than {DIGITS_MAX} digits") });
        }
        let text = &self.text[start..self.at];
        if text.parse().is_ok_and(f64::is_infinite) && number::decimal(text).is_err() {
            return Err(JsonError { at: start, reason: "a number too large to be kept".into() });
        }
        Ok(Json::Number(text))
    }

    fn digits(&mut self) -> Result<usize, JsonError> {
        let start = self.at;
        while matches!(self.peek(), Some(b'0'..=b'9')) {
            self.at += 1;
        }
        if self.at == start { Err(self.error("expected a digit")) } else { Ok(self.at - start) }
    }

    fn string(&mut self) -> Result<Cow<'a, str>, JsonError> {
        let open = self.at;
        self.at += 1;
        let start = self.at;
        let mut owned: Option<String> = None;
        let mut copied = start;
        loop {
            let rest = &self.text.as_bytes()[self.at..];
            let Some(hit) = rest.iter().position(|b| matches!(b, b'"' | b'\\' | 0..=0x1f)) else {
                return Err(JsonError { at: open, reason: "a string that does not end".into() });
            };
            self.at += hit;
            match rest[hit] {
                b'"' => {
                    let tail = &self.text[copied..self.at];
                    self.at += 1;
                    return Ok(match owned {
                        None => Cow::Borrowed(tail),
                        Some(head) => Cow::Owned(head + tail),
                    });
                }
                b'\\' => {
                    let out = owned.get_or_insert_default();
                    out.push_str(&self.text[copied..self.at]);
                    let escaped = self.escape()?;
                    owned.get_or_insert_default().push(escaped);
                    copied = self.at;
                }
                _ => return Err(self.error("a control character within a string")),
            }
        }
    }

    fn escape(&mut self) -> Result<char, JsonError> {
        self.at += 1;
        let letter = self.peek().ok_or_else(|| self.error("a string that does not end"))?;
        let plain = match letter {
            b'"' | b'\\' | b'/' => char::from(letter),
            b'b' => '\u{8}',
            b'f' => '\u{c}',
            b'n' => '\n',
            b'r' => '\r',
            b't' => '\t',
            b'u' => return self.unicode_escape(),
            _ => return Err(self.error("an unknown escape in a string")),
        };
        self.at += 1;
        Ok(plain)
    }

    fn unicode_escape(&mut self) -> Result<char, JsonError> {
        self.at += 1;
        let first = self.hex4()?;
        if !(0xd800..0xdc00).contains(&first) {
            return char::from_u32(first).ok_or_else(|| self.error("half of a surrogate pair"));
        }
        if !self.text[self.at..].starts_with("\\u") {
            return Err(self.error("half of a surrogate pair"));
        }
        self.at += 2;
        let second = self.hex4()?;
        if !(0xdc00..0xe000).contains(&second) {
            return Err(self.error("half of a surrogate pair"));
        }
        let code = 0x10000 + ((first - 0xd800) << 10) + (second - 0xdc00);
        char::from_u32(code).ok_or_else(|| self.error("half of a surrogate pair"))
    }

    fn hex4(&mut self) -> Result<u32, JsonError> {
        let digits = self.text.as_bytes().get(self.at..self.at + 4).filter(|d| d.iter().all(u8::is_ascii_hexdigit));
        let Some(digits) = digits else { return Err(self.error("expected four hexadecimal digits")) };
        self.at += 4;
        Ok(digits.iter().fold(0, |code, digit| code << 4 | (*digit as char).to_digit(16).unwrap_or(0)))
    }

    fn array(&mut self, depth: usize) -> Result<Json<'a>, JsonError> {
        self.at += 1;
        let mut items = Vec::new();
        self.skip_space();
        if self.peek() == Some(b']') {
            self.at += 1;
            return Ok(Json::Array(items));
        }
        loop {
            items.push(self.value(depth + 1)?);
            self.skip_space();
            match self.peek() {
                Some(b',') => self.at += 1,
                Some(b']') => {
                    self.at += 1;
                    return Ok(Json::Array(items));
                }
                _ => return Err(self.error("expected `,` or `]`")),
            }
        }
    }

    fn object(&mut self, depth: usize) -> Result<Json<'a>, JsonError> {
        self.at += 1;
        let mut members = Vec::new();
        self.skip_space();
        if self.peek() == Some(b'}') {
            self.at += 1;
            return Ok(Json::Object(members));
        }
        loop {
            self.skip_space();
            if self.peek() != Some(b'"') {
                return Err(self.error("expected a member's name in quotes"));
            }
            let name = self.string()?;
            self.skip_space();
            if self.peek() != Some(b':') {
                return Err(self.error("expected `:`"));
            }
            self.at += 1;
            members.push((name, self.value(depth + 1)?));
            self.skip_space();
            match self.peek() {
                Some(b',') => self.at += 1,
                Some(b'}') => {
                    self.at += 1;
                    return Ok(Json::Object(members));
                }
                _ => return Err(self.error("expected `,` or `}`")),
            }
        }
    }
}

/// Appends `text` as a JSON string, with quotes. Control characters are escaped, so that they do no harm in a terminal.
pub fn quote(text: &str, out: &mut String) {
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c if c < ' ' || c == '\u{7f}' => out.push_str(&format!("\\u{:04x}", c as u32)),
            c => out.push(c),
        }
    }
    out.push('"');
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn values_keep_their_text_and_order() {
        let tree =
            parse(r#" {"b": [1, 1.0, -2e+3, 123456789012345678901234567890], "a": "x\n\u00e9\ud83d\ude00", "b": null} "#)
                .unwrap();
        let Json::Object(members) = &tree else { panic!() };
        assert_eq!(members.iter().map(|(k, _)| &**k).collect::<Vec<_>>(), ["b", "a", "b"]);
        let numbers = ["1", "1.0", "-2e+3", "123456789012345678901234567890"].map(Json::Number);
        assert_eq!(tree.get("b"), Some(&Json::Array(numbers.into())));
        assert_eq!(tree.get("a").and_then(Json::as_str), Some("x\né😀"));
    }

    #[test]
    fn faults_have_a_place() {
        for (text, at) in [
            ("", 0),
            ("{\"a\" 1}", 5),
            ("[1,]", 3),
            ("\"ab", 0),
            ("01", 0),
            ("1.", 2),
            ("[1] x", 4),
            (r#""\ud800""#, 7),
            ("nul", 0),
            ("{a:1}", 1),
            ("\"\\x\"", 2),
        ] {
            assert_eq!(parse(text).unwrap_err().at, at, "{text}");
        }
        assert!(parse(&"[".repeat(100_000)).is_err());
    }

    proptest! {
        #[test]
        fn quoted_text_reads_as_itself(text in ".*") {
            let mut quoted = String::new();
            quote(&text, &mut quoted);
            let back = parse(&quoted).unwrap();
            prop_assert_eq!(back.as_str(), Some(&text[..]));
        }

        #[test]
        fn no_text_makes_it_panic(text in r#"[\[\]{}:,"\\utrfn0-9.eé -]{0,40}"#) {
            let _ = parse(&text);
        }
    }
}
