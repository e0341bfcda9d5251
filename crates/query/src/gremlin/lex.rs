//! The tokens of gremlin-lang, and the errors of its parsers.
//!
//! Each token parser skips the white space and comments after its token, so the parsers of the grammar never see them. The tokens
//! read so far decide what must follow. Parsers go back over one token at most, so errors are exact.

use winnow::ModalParser;
use winnow::Parser;
use winnow::combinator::{alt, preceded, repeat, terminated};
use winnow::error::{ErrMode, ModalResult, ParserError};
use winnow::stream::{LocatingSlice, Location, Stateful, Stream};
use winnow::token::{any, one_of, take_till, take_while};

use super::error::SyntaxError;
use crate::diagnostics::Span;

pub(super) type Input<'t> = Stateful<LocatingSlice<&'t str>, Usage>;
pub(super) type Parsed<T> = ModalResult<T, Fault>;

/// The resources that a query has used. Hostile input could exhaust each of them.
#[derive(Debug, Default)]
pub(super) struct Usage {
    /// The number of open arguments within arguments.
    pub depth: usize,
    /// The number of all arguments.
    pub arguments: usize,
    /// The number of predicates joined by `and`, `or` and `negate`. Each makes the tree one level deeper.
    pub joints: usize,
    /// The number of steps of all traversals. Each makes the chain of operators one level deeper.
    pub steps: usize,
    /// The number of items of ranges, which can be far more than their text. A long string counts as several.
    pub range_items: usize,
}

/// Where and why the text is not Gremlin.
#[derive(Clone, Debug, Default)]
pub(super) struct Fault {
    pub span: Span,
    /// `None`: the token at `span` was not expected.
    message: Option<String>,
    expected: Vec<&'static str>,
    help: Option<String>,
    /// The bracket that is still open.
    open: Option<Span>,
}

impl Fault {
    pub fn new(span: Span, message: impl Into<String>) -> Self {
        Self { span, message: Some(message.into()), ..Self::default() }
    }

    /// An error at the input's position, where something else was expected.
    pub fn expected(input: &Input<'_>, expected: &[&'static str]) -> Self {
        let start = input.current_token_start();
        Self { span: Span { start, end: start }, expected: expected.to_vec(), ..Self::default() }
    }

    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    pub fn open(mut self, bracket: Span) -> Self {
        self.open = Some(bracket);
        self
    }

    pub fn cut<T>(self) -> Parsed<T> {
        Err(ErrMode::Cut(self))
    }

    /// The error for users. It names the unexpected token.
    pub fn in_text(self, text: &str) -> SyntaxError {
        let expected = self.expected.into_iter().map(str::to_string).collect();
        let (message, span) = match self.message {
            Some(message) => (message, self.span),
            None => unexpected(text, self.span.start),
        };
        let help = self.help.or_else(|| self.open.map(|bracket| not_closed(text, bracket)));
        SyntaxError { message, span, expected, help }
    }
}

fn not_closed(text: &str, bracket: Span) -> String {
    let before = &text[..bracket.start];
    let column = before.rsplit('\n').next().map_or(0, |line| line.chars().count()) + 1;
    let line = before.matches('\n').count() + 1;
    let bracket = &text[bracket.start..bracket.end];
    if line == 1 && !text.contains('\n') {
        format!("the `{bracket}` at character {column} is not closed")
    } else {
        format!("the `{bracket}` at character {column} of line {line} is not closed")
    }
}

impl ParserError<Input<'_>> for Fault {
    type Inner = Self;

    fn from_input(input: &Input<'_>) -> Self {
        Self::expected(input, &[])
    }

    fn into_inner(self) -> Result<Self, Self> {
        Ok(self)
    }
}

fn unexpected(text: &str, at: usize) -> (String, Span) {
    const SHOWN_MAX: usize = 30;
    let rest = text.get(at..).unwrap_or_default();
    let Some(first) = rest.chars().next() else {
        let end = text.trim_end().len();
        let start = text[..end].char_indices().next_back().map_or(0, |(i, _)| i);
        return ("the query ends too early".into(), Span { start, end });
    };
    let length = match first {
        '"' | '\'' => return ("unexpected string".into(), Span { start: at, end: at + 1 }),
        c if is_word_part(c) => rest.find(|c| !is_word_part(c)).unwrap_or(rest.len()),
        c => c.len_utf8(),
    };
    let span = Span { start: at, end: at + length };
    let token: String = rest[..length].chars().take(SHOWN_MAX).collect();
    (format!("unexpected `{}`", token.escape_debug()), span)
}

pub(super) fn span(range: std::ops::Range<usize>) -> Span {
    Span { start: range.start, end: range.end }
}

/// White space, comments from `//` to the end of the line, and the byte order mark that some editors write first.
pub(super) fn space(input: &mut Input<'_>) -> Parsed<()> {
    let blank = take_while(1.., |c: char| c.is_whitespace() || c == '\u{feff}').void();
    let comment = ("//", take_till(0.., ['\n', '\r'])).void();
    repeat(0.., alt((blank, comment))).parse_next(input)
}

/// A token with its span. Skips the space after it.
fn token<'t, T>(parser: impl ModalParser<Input<'t>, T, Fault>) -> impl ModalParser<Input<'t>, (T, Span), Fault> {
    terminated(parser.with_span().map(|(value, range)| (value, span(range))), space)
}

pub(super) fn is_word_start(c: char) -> bool {
    c.is_alphabetic() || c == '_' || c == '$'
}

pub(super) fn is_word_part(c: char) -> bool {
    c.is_alphanumeric() || c == '_' || c == '$'
}

/// Whether the whole text is one name.
pub(super) fn is_word(text: &str) -> bool {
    text.starts_with(is_word_start) && text.chars().all(is_word_part)
}

/// A name.
pub(super) fn word<'t>(input: &mut Input<'t>) -> Parsed<(&'t str, Span)> {
    token((one_of(is_word_start), take_while(0.., is_word_part)).take()).parse_next(input)
}

/// The next character.
pub(super) fn next(input: &Input<'_>) -> Option<char> {
    input.peek_token()
}

/// A mark of the language. `expected` lists what else could stand here, for the error.
pub(super) fn mark(input: &mut Input<'_>, mark: char, expected: &[&'static str]) -> Parsed<Span> {
    match eat(input, mark)? {
        Some(span) => Ok(span),
        None => Fault::expected(input, expected).cut(),
    }
}

/// The mark, if it is next.
pub(super) fn eat(input: &mut Input<'_>, mark: char) -> Parsed<Option<Span>> {
    if next(input) != Some(mark) {
        return Ok(None);
    }
    token(any).map(|(_, span)| Some(span)).parse_next(input)
}

/// A text in single or double quotes.
pub(super) fn string(input: &mut Input<'_>) -> Parsed<(String, Span)> {
    token(quoted).parse_next(input)
}

fn quoted(input: &mut Input<'_>) -> Parsed<String> {
    let start = input.current_token_start();
    let quote = one_of(['"', '\'']).parse_next(input)?;
    let mut text = String::new();
    loop {
        let plain: &str = take_till(0.., [quote, '\\']).parse_next(input)?;
        text.push_str(plain);
        match input.next_token() {
            Some('\\') => text.push(escape(input)?),
            Some(_) => return Ok(text),
            None => {
                let opened = Span { start, end: start + 1 };
                return Fault::new(opened, "the string is not closed").help(format!("end it with {quote}")).cut();
            }
        }
    }
}

/// The character that an escape after a backslash stands for.
fn escape(input: &mut Input<'_>) -> Parsed<char> {
    let start = input.current_token_start() - 1;
    let Some(c) = input.next_token() else { return Fault::expected(input, &["an escape"]).cut() };
    Ok(match c {
        'b' => '\u{8}',
        't' => '\t',
        'n' => '\n',
        'f' => '\u{c}',
        'r' => '\r',
        '"' | '\'' | '\\' | '\n' => c,
        // A line continuation whose line ends in CR LF.
        '\r' if next(input) == Some('\n') => input.next_token().unwrap_or(c),
        '0'..='7' => octal(input, c),
        'u' => return unicode(input, start),
        _ => {
            let here = Span { start, end: input.current_token_start() };
            return Fault::new(here, format!("there is no escape `\\{}`", c.escape_debug()))
                .help(
                    "write a backslash as \\\\; the escapes are \\b \\t \\n \\f \\r \\\" \\' \\\\, octal \\101 and \\u0041",
                )
                .cut();
        }
    })
}

/// Up to three octal digits, at most `\377`.
fn octal(input: &mut Input<'_>, first: char) -> char {
    let digits_max = if first <= '3' { 3 } else { 2 };
    let mut code = first.to_digit(8).unwrap_or(0);
    for _ in 1..digits_max {
        let Some(digit) = next(input).and_then(|c| c.to_digit(8)) else { break };
        input.next_token();
        code = code * 8 + digit;
    }
    char::from_u32(code).unwrap_or_default()
}

/// `u0041`, or a pair of surrogates `uD83D\uDE00`. The first `u` has been read.
fn unicode(input: &mut Input<'_>, start: usize) -> Parsed<char> {
    let code = code_unit(input).and_then(|first| match first {
        0xD800..0xDC00 => Some(0x10000 + ((first - 0xD800) << 10) + low_surrogate(input)?),
        _ => Some(first),
    });
    match code.and_then(char::from_u32) {
        Some(c) => Ok(c),
        None => {
            let here = Span { start, end: input.current_token_start() };
            Fault::new(here, "this is not a character").help("write \\u and four hexadecimal digits, as in \\u00e9").cut()
        }
    }
}

fn code_unit(input: &mut Input<'_>) -> Option<u32> {
    let digits = take_while(4..=4, |c: char| c.is_ascii_hexdigit());
    let unit: Parsed<&str> = preceded(take_while(0.., 'u'), digits).parse_next(input);
    u32::from_str_radix(unit.ok()?, 16).ok()
}

fn low_surrogate(input: &mut Input<'_>) -> Option<u32> {
    let escaped: Parsed<&str> = "\\u".parse_next(input);
    escaped.ok().and_then(|_| code_unit(input)?.checked_sub(0xDC00)).filter(|low| *low < 0x400)
}

/// A number: its text up to the suffix, the suffix, and the span of both. `Infinity` may carry a sign.
pub(super) struct NumberText<'t> {
    pub digits: &'t str,
    pub suffix: &'t str,
    pub span: Span,
}

pub(super) fn number<'t>(input: &mut Input<'t>) -> Parsed<NumberText<'t>> {
    let sign = || take_while(0..=1, ['+', '-']);
    let digits = || (one_of('0'..='9'), take_while(0.., ('0'..='9', '_')));
    let hex = ('0', one_of(['x', 'X']), take_while(1.., ('0'..='9', 'a'..='f', 'A'..='F', '_'))).void();
    let fraction = repeat::<_, _, (), _, _>(0..=1, ('.', digits()));
    let exponent = repeat::<_, _, (), _, _>(0..=1, (one_of(['e', 'E']), sign(), digits()));
    let decimal = (digits(), fraction, exponent).void();
    let body = (sign(), alt((hex, decimal, "Infinity".void()))).take();
    let ((digits, suffix), span) = token((body, take_while(0.., is_word_part))).parse_next(input)?;
    Ok(NumberText { digits, suffix, span })
}
