//! A rough reading of Gremlin while it is typed: enough to colour it, complete it, and know whether it is complete.

use std::ops::Range;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// A name before an opening parenthesis.
    Step,
    Word,
    Number,
    String {
        closed: bool,
    },
    Open,
    Close,
    Space,
    Other,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Token {
    pub kind: Kind,
    pub range: Range<usize>,
}

/// Cuts `text` into tokens. Together they cover all of it.
pub fn scan(text: &str) -> Vec<Token> {
    let mut tokens = Vec::new();
    let mut at = 0;
    while let Some(first) = text[at..].chars().next() {
        let rest = &text[at..];
        let run = |accept: fn(char) -> bool| rest.find(|c| !accept(c)).unwrap_or(rest.len());
        let (kind, length) = match first {
            '\'' | '"' => string(rest, first),
            '(' | '[' | '{' => (Kind::Open, 1),
            ')' | ']' | '}' => (Kind::Close, 1),
            c if c.is_whitespace() => (Kind::Space, run(char::is_whitespace)),
            c if c.is_ascii_digit() => (Kind::Number, run(|c| c.is_alphanumeric() || c == '.')),
            c if is_name(c) => {
                let length = run(is_name);
                (if rest[length..].starts_with('(') { Kind::Step } else { Kind::Word }, length)
            }
            c => (Kind::Other, c.len_utf8()),
        };
        tokens.push(Token { kind, range: at..at + length });
        at += length;
    }
    tokens
}

fn is_name(c: char) -> bool {
    c.is_alphanumeric() || c == '_' || c == '$'
}

fn string(rest: &str, quote: char) -> (Kind, usize) {
    let mut escaped = false;
    for (at, c) in rest.char_indices().skip(1) {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            c if c == quote => return (Kind::String { closed: true }, at + c.len_utf8()),
            _ => {}
        }
    }
    (Kind::String { closed: false }, rest.len())
}

/// Whether the text can run as it is: its brackets and quotes are closed, and it does not end in the middle of a chain.
pub fn is_whole(text: &str) -> bool {
    if text.trim_start().starts_with(':') {
        return true;
    }
    let mut depth = 0i32;
    for token in scan(text) {
        match token.kind {
            Kind::Open => depth += 1,
            Kind::Close => depth -= 1,
            Kind::String { closed: false } => return false,
            _ => {}
        }
    }
    depth <= 0 && !text.trim_end().ends_with(['.', ','])
}

/// The statements of a script. A statement ends with the line that completes it, unless the next line begins with a dot.
pub fn statements(script: &str) -> impl Iterator<Item = &str> {
    let mut rest = script;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let ends = rest.match_indices('\n').map(|(at, _)| at + 1).chain([rest.len()]);
        let is_end = |end: &usize| is_whole(&rest[..*end]) && !rest[*end..].trim_start().starts_with('.');
        let (statement, after) = rest.split_at(ends.into_iter().find(is_end).unwrap_or(rest.len()));
        rest = after;
        Some(statement)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statements_go_on_while_brackets_are_open_or_a_dot_follows() {
        let script = ":help\ng.V()\n  .out(\n'a')\n\ng.E()";
        let found: Vec<&str> = statements(script).map(str::trim).collect();
        assert_eq!(found, [":help", "g.V()\n  .out(\n'a')", "", "g.E()"]);
    }

    #[test]
    fn tokens_are_all_of_the_text() {
        let text = r#"g.V().has('na\'me', "é(").limit(10L)"#;
        let tokens = scan(text);
        assert_eq!(tokens.iter().map(|t| &text[t.range.clone()]).collect::<String>(), text);
        let strings: Vec<_> =
            tokens.iter().filter(|t| matches!(t.kind, Kind::String { .. })).map(|t| &text[t.range.clone()]).collect();
        assert_eq!(strings, [r"'na\'me'", r#""é(""#]);
        let steps: Vec<_> = tokens.iter().filter(|t| t.kind == Kind::Step).map(|t| &text[t.range.clone()]).collect();
        assert_eq!(steps, ["V", "has", "limit"]);
    }

    #[test]
    fn a_query_is_whole_once_its_brackets_and_quotes_are_closed() {
        for whole in ["g.V()", ":help", "g.V().has('a','(')", "g.V())", ""] {
            assert!(is_whole(whole), "{whole}");
        }
        for part in ["g.V(", "g.V().", "g.V().has('a", "g.V().project('a',", "g.inject([1"] {
            assert!(!is_whole(part), "{part}");
        }
    }
}
