//! Places in the text of a query, and messages that show them: the line, a caret, what to do. Also "did you mean".

use std::fmt::Write;

use serde::{Deserialize, Serialize};
use unicode_width::UnicodeWidthChar;

/// A byte range of the query text, `start..end`. Empty at 0 if there is no text (bytecode).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Span {
    pub start: usize,
    pub end: usize,
}

/// `a, b or c`.
pub fn one_of<S: AsRef<str>>(choices: &[S]) -> String {
    let choices: Vec<&str> = choices.iter().map(AsRef::as_ref).collect();
    match choices.split_last() {
        Some((last, [])) => (*last).to_string(),
        Some((last, rest)) => format!("{} or {last}", rest.join(", ")),
        None => String::new(),
    }
}

/// The known name that a misspelt one most likely means. It compares letters, without case and underscores.
pub fn suggest<'a>(wrong: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    const LENGTH_MAX: usize = 64;
    /// Only the first names are looked at: a hint is not worth more time.
    const CANDIDATES_MAX: usize = 4096;
    let fold = |name: &str| name.replace('_', "").to_lowercase();
    let folded = fold(wrong);
    if folded.is_empty() || folded.len() > LENGTH_MAX {
        return None;
    }
    // One slip in a short name, or one for every three letters of a longer one. None in one or two letters.
    let slips_max = match folded.chars().count() {
        0..=2 => 0,
        letters => letters.div_ceil(3).min(4),
    };
    known
        .take(CANDIDATES_MAX)
        .filter(|candidate| *candidate != wrong && candidate.len() <= LENGTH_MAX)
        .map(|candidate| {
            (strsim::osa_distance(&folded, &fold(candidate)), strsim::osa_distance(wrong, candidate), candidate)
        })
        .filter(|(slips, _, candidate)| *slips <= slips_max && *slips < candidate.len())
        .min_by_key(|(slips, exact, _)| (*slips, *exact))
        .map(|(_, _, candidate)| candidate)
}

/// The most columns of a line shown around an error. Longer lines are cut.
const COLUMNS_MAX: usize = 120;
const TAB: &str = "    ";

/// The message, the line of the query with a caret under the span, and the help. The first line of the help stands beside the
/// caret, further ones below.
///
/// ```text
/// unknown step `ouT`
///   |
/// 1 | g.V().ouT('route').values('code')
///   |       ^^^ did you mean `out`?
/// ```
pub fn render(text: &str, span: Span, message: &str, help: Option<&str>) -> String {
    let mut out = format!("{message}\n");
    let mut notes = help.into_iter().flat_map(str::lines);
    let start = floor_boundary(text, span.start);
    let end = floor_boundary(text, span.end).max(start);
    let line_start = text[..start].rfind('\n').map_or(0, |i| i + 1);
    let line = text[line_start..].split(['\n', '\r']).next().unwrap_or_default();
    let line_number = text[..line_start].matches('\n').count() + 1;
    let gutter = " ".repeat(line_number.to_string().len());

    let marked = (start - line_start).min(line.len())..(end - line_start).min(line.len());
    let (shown, indent, width) = window(line, marked);
    let _ = writeln!(out, "{gutter} |\n{line_number} | {shown}");
    let carets = "^".repeat(width.max(1));
    let marks = format!("{gutter} | {}{carets} {}", " ".repeat(indent), notes.next().unwrap_or_default());
    let _ = write!(out, "{}", marks.trim_end());
    for note in notes {
        let _ = write!(out, "\n{gutter} = {note}");
    }
    out
}

/// The part of a line to show, the number of columns before the mark, and the columns of the mark.
fn window(line: &str, marked: std::ops::Range<usize>) -> (String, usize, usize) {
    let before = display(&line[..marked.start]);
    let inside = display(&line[marked.clone()]);
    let after = display(&line[marked.end..]);
    let before =
        if columns(&before) > COLUMNS_MAX / 2 { format!("…{}", last_columns(&before, COLUMNS_MAX / 2)) } else { before };
    let inside = cut(inside, COLUMNS_MAX / 2);
    let after = cut(after, COLUMNS_MAX - COLUMNS_MAX / 2);
    (format!("{before}{inside}{after}"), columns(&before), columns(&inside))
}

/// The text as a terminal shows it: tabs and control characters are replaced, because their width varies.
fn display(text: &str) -> String {
    text.chars().fold(String::with_capacity(text.len()), |mut out, c| {
        match c {
            '\t' => out.push_str(TAB),
            c if c.is_control() => out.push('\u{fffd}'),
            c => out.push(c),
        }
        out
    })
}

fn width(c: char) -> usize {
    c.width().unwrap_or(1)
}

fn columns(text: &str) -> usize {
    text.chars().map(width).sum()
}

fn cut(text: String, columns_max: usize) -> String {
    let mut used = 0;
    match text.char_indices().find(|(_, c)| {
        used += width(*c);
        used > columns_max
    }) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text,
    }
}

fn last_columns(text: &str, columns_max: usize) -> &str {
    let mut used = 0;
    let start = text.char_indices().rev().take_while(|(_, c)| {
        used += width(*c);
        used <= columns_max
    });
    &text[start.last().map_or(text.len(), |(at, _)| at)..]
}

fn floor_boundary(text: &str, at: usize) -> usize {
    (0..=at.min(text.len())).rev().find(|i| text.is_char_boundary(*i)).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str, marked: &str, help: Option<&str>) -> String {
        let start = text.find(marked).unwrap();
        render(text, Span { start, end: start + marked.len() }, "no", help)
    }

    #[test]
    fn the_caret_stands_under_the_span() {
        let text = "g.V().ouT('route').values('code')";
        assert_eq!(
            shown(text, "ouT", Some("did you mean `out`?")),
            "no\n  |\n1 | g.V().ouT('route').values('code')\n  |       ^^^ did you mean `out`?"
        );
    }

    #[test]
    fn lines_are_counted_and_shown_alone() {
        let text = "g.V().\r\n\thas('a').\n  bogus()\n.x()";
        assert_eq!(shown(text, "bogus", Some("one\ntwo")), "no\n  |\n3 |   bogus()\n  |   ^^^^^ one\n  = two");
        assert_eq!(shown(text, "has", None), "no\n  |\n2 |     has('a').\n  |     ^^^");
    }

    #[test]
    fn wide_characters_take_two_columns() {
        assert_eq!(shown("has('東京', x)", "x", None), "no\n  |\n1 | has('東京', x)\n  |             ^");
        assert_eq!(shown("has('e\u{301}', x)", "x", None), "no\n  |\n1 | has('e\u{301}', x)\n  |          ^");
    }

    #[test]
    fn a_span_over_lines_is_marked_on_its_first() {
        assert_eq!(shown("out(\n1)", "out(\n1)", None), "no\n  |\n1 | out(\n  | ^^^^");
    }

    #[test]
    fn a_long_line_is_cut_around_the_mark() {
        let text = format!("{}bad{}", "a".repeat(5000), "b".repeat(5000));
        let shown = shown(&text, "bad", None);
        let lines: Vec<&str> = shown.lines().collect();
        assert_eq!(lines[2].chars().count(), 4 + 1 + 60 + 3 + 60 + 1);
        assert_eq!(lines[2].find("bad").map(|at| lines[2][..at].chars().count()), lines[3].find('^'));
    }

    #[test]
    fn spans_outside_the_text_are_harmless() {
        for span in [Span { start: 9, end: 90 }, Span { start: 1, end: 0 }, Span { start: 2, end: 3 }] {
            assert!(render("é€", span, "no", None).contains("1 | é€"));
        }
        assert_eq!(render("", Span::default(), "no", None), "no\n  |\n1 | \n  | ^");
    }

    #[test]
    fn suggestions_are_near_and_only_near() {
        let steps = ["out", "outE", "in", "has", "hasLabel", "as", "groupCount"];
        let suggest = |wrong| suggest(wrong, steps.into_iter());
        assert_eq!(suggest("ouT"), Some("out"));
        assert_eq!(suggest("otu"), Some("out"));
        assert_eq!(suggest("has_label"), Some("hasLabel"));
        assert_eq!(suggest("hsaLabel"), Some("hasLabel"));
        assert_eq!(suggest("as_"), Some("as"));
        assert_eq!(suggest("groupcount"), Some("groupCount"));
        assert_eq!(suggest("frobnicate"), None);
        assert_eq!(suggest("iN"), Some("in"));
        assert_eq!(suggest("it"), None);
    }
}
