//! The syntax of path queries.

use std::sync::Arc;

use mangrove_graph::Value;

use crate::diagnostics::Span;
use crate::error::{QueryError, QueryErrorKind, Result};

/// A conjunction of atoms, and which of its variables are asked for.
#[derive(Clone, PartialEq, Debug)]
pub struct PathRule {
    pub head: Vec<usize>,
    pub variables: Vec<Variable>,
    pub atoms: Vec<Atom>,
}

#[derive(Clone, PartialEq, Debug)]
pub struct Variable {
    pub name: Arc<str>,
    /// The label that its vertices must have.
    pub label: Option<(Arc<str>, Span)>,
}

#[derive(Clone, PartialEq, Debug)]
pub struct Atom {
    pub source: End,
    pub path: Expression,
    pub target: End,
}

#[derive(Clone, PartialEq, Debug)]
pub enum End {
    Variable(usize),
    Id(Value, Span),
    Parameter(Arc<str>, Span),
}

#[derive(Clone, PartialEq, Debug)]
pub enum Expression {
    Edge {
        /// `None` for any.
        label: Option<Arc<str>>,
        is_inverse: bool,
        span: Span,
    },
    Sequence(Vec<Expression>),
    Choice(Vec<Expression>),
    Repeat {
        of: Box<Expression>,
        least: u32,
        /// `None` for no bound.
        most: Option<u32>,
    },
}

impl PathRule {
    pub fn head_names(&self) -> Vec<Arc<str>> {
        self.head.iter().map(|at| self.variables[*at].name.clone()).collect()
    }

    pub fn parameters(&self) -> impl Iterator<Item = &str> {
        self.atoms.iter().flat_map(|atom| [&atom.source, &atom.target]).filter_map(|end| match end {
            End::Parameter(name, _) => Some(&**name),
            _ => None,
        })
    }
}

impl Expression {
    /// The expression of the same paths, gone from their ends to their beginnings.
    pub fn reversed(&self) -> Self {
        match self {
            Expression::Edge { label, is_inverse, span } => {
                Expression::Edge { label: label.clone(), is_inverse: !is_inverse, span: *span }
            }
            Expression::Sequence(parts) => Expression::Sequence(parts.iter().rev().map(Self::reversed).collect()),
            Expression::Choice(parts) => Expression::Choice(parts.iter().map(Self::reversed).collect()),
            Expression::Repeat { of, least, most } => {
                Expression::Repeat { of: Box::new(of.reversed()), least: *least, most: *most }
            }
        }
    }

    /// Whether paths may be of any length.
    pub fn is_recursive(&self) -> bool {
        match self {
            Expression::Edge { .. } => false,
            Expression::Sequence(parts) | Expression::Choice(parts) => parts.iter().any(Self::is_recursive),
            Expression::Repeat { most: None, .. } => true,
            Expression::Repeat { of, .. } => of.is_recursive(),
        }
    }
}

/// Parentheses within each other.
const DEPTH_MAX: usize = 32;
/// Bounds in braces one after the other.
const BOUNDS_MAX: usize = 2;
/// A bound in braces.
const REPEAT_MAX: u32 = 1000;

pub fn parse(text: &str) -> Result<Vec<PathRule>> {
    let mut reader = Reader { text, at: 0, depth: 0 };
    let mut rules: Vec<PathRule> = Vec::new();
    loop {
        let start = reader.skip();
        let rule = reader.rule()?;
        if let Some(first) = rules.first().filter(|first| first.head.len() != rule.head.len()) {
            let message = format!("this rule gives {} columns, and the first one {}", rule.head.len(), first.head.len());
            let help = "give all rules heads of the same length, as in (?x, ?y) <- …";
            return Err(syntax(message, Span { start, end: reader.at }).help(help));
        }
        rules.push(rule);
        match reader.take(";") {
            true if reader.skip() < text.len() => {}
            _ => break,
        }
    }
    match reader.skip() {
        at if at < text.len() => Err(reader.unexpected("`,` and another path, `;` and another rule, or the end")),
        _ => Ok(rules),
    }
}

fn syntax(message: impl Into<String>, span: Span) -> QueryError {
    QueryError::new(QueryErrorKind::Syntax, message).at(span)
}

struct Reader<'t> {
    text: &'t str,
    at: usize,
    depth: usize,
}

impl<'t> Reader<'t> {
    /// Skips blanks and comments, and returns where the next word begins.
    fn skip(&mut self) -> usize {
        loop {
            let rest = &self.text[self.at..];
            self.at += rest.len() - rest.trim_start().len();
            match self.text[self.at..].strip_prefix('#') {
                Some(comment) => self.at += 1 + comment.find('\n').unwrap_or(comment.len()),
                None => return self.at,
            }
        }
    }

    fn rest(&mut self) -> &'t str {
        self.skip();
        &self.text[self.at..]
    }

    fn take(&mut self, word: &str) -> bool {
        let there = self.rest().starts_with(word);
        if there {
            self.at += word.len();
        }
        there
    }

    fn need(&mut self, word: &str, why: &str) -> Result<()> {
        if self.take(word) { Ok(()) } else { Err(self.unexpected(&format!("`{word}` {why}"))) }
    }

    fn unexpected(&mut self, wanted: &str) -> QueryError {
        let start = self.skip();
        match self.text[start..].chars().next() {
            Some(found) => {
                let message = format!("expected {wanted}, not `{found}`");
                syntax(message, Span { start, end: start + found.len_utf8() })
            }
            None => {
                let before = self.text[..start].trim_end();
                let last = before.chars().next_back().map_or(0, char::len_utf8);
                syntax(
                    format!("the query ends where {wanted} should follow"),
                    Span { start: before.len() - last, end: before.len() },
                )
            }
        }
    }

    /// Letters, digits and underscores, beginning with no digit.
    fn name(&mut self) -> Option<&'t str> {
        let rest = self.rest();
        let end = rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len());
        let name = &rest[..end];
        name.starts_with(|c: char| c.is_alphabetic() || c == '_').then(|| {
            self.at += end;
            name
        })
    }

    /// A label: a name, or anything between backticks.
    fn label(&mut self) -> Result<Option<(Arc<str>, Span)>> {
        let start = self.skip();
        if self.take("`") {
            let rest = &self.text[self.at..];
            let Some(end) = rest.find('`') else {
                return Err(syntax("this label has no closing backtick", Span { start, end: self.text.len() }));
            };
            self.at += end + 1;
            return Ok(Some((rest[..end].into(), Span { start, end: self.at })));
        }
        Ok(self.name().map(|name| (name.into(), Span { start, end: start + name.len() })))
    }

    fn rule(&mut self) -> Result<PathRule> {
        let mut rule = PathRule { head: Vec::new(), variables: Vec::new(), atoms: Vec::new() };
        let head = self.head()?;
        loop {
            let source = self.end(&mut rule)?;
            let path = self.path()?;
            let target = self.end(&mut rule)?;
            rule.atoms.push(Atom { source, path, target });
            if !self.take(",") {
                break;
            }
        }
        match head {
            None => rule.head = (0..rule.variables.len()).collect(),
            Some(names) => {
                for (name, span) in names {
                    let at = rule.variables.iter().position(|variable| *variable.name == *name);
                    let missing = || {
                        let message = format!("`?{name}` is in the head of the rule, but in none of its paths");
                        syntax(message, span).help("name a variable of the rule, or add a path that leads to it")
                    };
                    let at = at.ok_or_else(missing)?;
                    if rule.head.contains(&at) {
                        return Err(syntax(format!("`?{name}` is in the head twice"), span));
                    }
                    rule.head.push(at);
                }
            }
        }
        Ok(rule)
    }

    /// The variables of a head, if the rule has one. A parenthesis may also begin a path, but no rule begins with a path.
    fn head(&mut self) -> Result<Option<Vec<(&'t str, Span)>>> {
        if !self.take("(") {
            return Ok(None);
        }
        let mut names = Vec::new();
        while !self.take(")") {
            if !names.is_empty() {
                self.need(",", "or `)` after a variable of the head")?;
            }
            let start = self.skip();
            match self.variable() {
                Some(name) => names.push((name, Span { start, end: self.at })),
                None => return Err(self.unexpected("a variable such as `?x`")),
            }
        }
        self.need("<-", "after the head of a rule")?;
        Ok(Some(names))
    }

    fn variable(&mut self) -> Option<&'t str> {
        let before = self.skip();
        let next = self.text[before..].strip_prefix('?')?;
        if !next.starts_with(|c: char| c.is_alphabetic() || c == '_') {
            return None;
        }
        self.at += 1;
        self.name()
    }

    fn end(&mut self, rule: &mut PathRule) -> Result<End> {
        let start = self.skip();
        if let Some(name) = self.variable() {
            let at = match rule.variables.iter().position(|variable| *variable.name == *name) {
                Some(at) => at,
                None => {
                    rule.variables.push(Variable { name: name.into(), label: None });
                    rule.variables.len() - 1
                }
            };
            if self.take(":") {
                let Some(label) = self.label()? else { return Err(self.unexpected("a label of vertices")) };
                let known = &mut rule.variables[at].label;
                if known.as_ref().is_some_and(|(before, _)| *before != label.0) {
                    let message = format!("`?{name}` has two labels");
                    return Err(syntax(message, label.1).help("a variable takes one label"));
                }
                *known = Some(label);
            }
            return Ok(End::Variable(at));
        }
        if self.take("$") {
            let Some(name) = self.name() else { return Err(self.unexpected("the name of a parameter")) };
            return Ok(End::Parameter(name.into(), Span { start, end: self.at }));
        }
        if self.rest().starts_with(['\'', '"']) {
            let id = self.quoted()?;
            return Ok(End::Id(id.into(), Span { start, end: self.at }));
        }
        let rest = self.rest();
        let digits = rest.strip_prefix('-').unwrap_or(rest);
        let end = rest.len() - digits.len() + digits.find(|c: char| !c.is_ascii_digit()).unwrap_or(digits.len());
        if digits.starts_with(|c: char| c.is_ascii_digit()) {
            self.at += end;
            let span = Span { start, end: self.at };
            let number = rest[..end].parse::<i64>().map_err(|_| syntax("this number is too large for an id", span))?;
            return Ok(End::Id(Value::Int64(number), span));
        }
        Err(self.unexpected("a variable such as `?x`, an id such as 'ada' or 17, or a parameter such as `$id`"))
    }

    /// A text between quotes; a backslash takes the next character as it is.
    fn quoted(&mut self) -> Result<String> {
        let start = self.at;
        let quote = self.text[start..].chars().next();
        let (mut text, mut is_escaped) = (String::new(), false);
        for (at, c) in self.text[start..].char_indices().skip(1) {
            match c {
                _ if is_escaped => {
                    text.push(c);
                    is_escaped = false;
                }
                '\\' => is_escaped = true,
                c if Some(c) == quote => {
                    self.at = start + at + c.len_utf8();
                    return Ok(text);
                }
                c => text.push(c),
            }
        }
        Err(syntax("this text has no closing quote", Span { start, end: self.text.len() }))
    }

    fn path(&mut self) -> Result<Expression> {
        let mut choices = vec![self.sequence()?];
        while self.take("|") {
            choices.push(self.sequence()?);
        }
        Ok(if choices.len() == 1 { choices.remove(0) } else { Expression::Choice(choices) })
    }

    fn sequence(&mut self) -> Result<Expression> {
        let mut steps = vec![self.step()?];
        while self.take("/") {
            steps.push(self.step()?);
        }
        Ok(if steps.len() == 1 { steps.remove(0) } else { Expression::Sequence(steps) })
    }

    fn step(&mut self) -> Result<Expression> {
        let mut is_inverse = false;
        while self.take("^") {
            is_inverse = !is_inverse;
        }
        let mut part = self.part()?;
        let mut bounds = 0;
        loop {
            let start = self.skip();
            let (least, most) = match self.rest().chars().next() {
                Some('*') => (0, None),
                Some('+') => (1, None),
                Some('?') if !self.begins_variable() => (0, Some(1)),
                Some('{') => {
                    let (least, most) = self.bounds()?;
                    bounds += 1;
                    if bounds > BOUNDS_MAX {
                        let message = format!("more than {BOUNDS_MAX} bounds follow each other");
                        return Err(syntax(message, Span { start, end: self.at }).help("multiply them"));
                    }
                    part = Expression::Repeat { of: Box::new(part), least, most };
                    continue;
                }
                _ => break,
            };
            self.at += 1;
            part = repeated(part, least, most);
        }
        Ok(if is_inverse { part.reversed() } else { part })
    }

    /// Whether a question mark begins a variable. Right behind a path it does not matter that no blank is between.
    fn begins_variable(&mut self) -> bool {
        self.rest()[1..].starts_with(|c: char| c.is_alphabetic() || c == '_')
    }

    fn bounds(&mut self) -> Result<(u32, Option<u32>)> {
        let start = self.skip();
        self.at += 1;
        let least = self.bound()?;
        let most = match self.take(",") {
            false => Some(least),
            true if self.rest().starts_with('}') => None,
            true => Some(self.bound()?),
        };
        self.need("}", "after the bounds of a repetition")?;
        match most {
            Some(most) if most < least => {
                let message = format!("no path has at least {least} and at most {most} parts");
                Err(syntax(message, Span { start, end: self.at }))
            }
            most => Ok((least, most)),
        }
    }

    fn bound(&mut self) -> Result<u32> {
        let start = self.skip();
        let digits = self.rest();
        let end = digits.find(|c: char| !c.is_ascii_digit()).unwrap_or(digits.len());
        if end == 0 {
            return Err(self.unexpected("a number"));
        }
        self.at += end;
        let bound = digits[..end].parse().ok().filter(|bound| *bound <= REPEAT_MAX);
        bound.ok_or_else(|| {
            syntax(format!("a path repeats at most {REPEAT_MAX} times, or without bound"), Span { start, end: self.at })
        })
    }

    fn part(&mut self) -> Result<Expression> {
        let start = self.skip();
        if self.take("(") {
            self.depth += 1;
            if self.depth > DEPTH_MAX {
                let message = format!("parentheses are nested more than {DEPTH_MAX} times");
                return Err(syntax(message, Span { start, end: self.at }));
            }
            let path = self.path()?;
            self.depth -= 1;
            self.need(")", "after a part of the path")?;
            return Ok(path);
        }
        match self.label()? {
            Some((label, span)) if &*label == "_" && self.text[span.start..].starts_with('_') => {
                Ok(Expression::Edge { label: None, is_inverse: false, span })
            }
            Some((label, span)) => Ok(Expression::Edge { label: Some(label), is_inverse: false, span }),
            None => Err(self.unexpected("an edge label, `_` for any, `^` for an edge gone backwards, or `(`")),
        }
    }
}

/// `of*`, `of+` or `of?`. If `of` is one of these too, so is the whole.
fn repeated(of: Expression, least: u32, most: Option<u32>) -> Expression {
    match of {
        Expression::Repeat { of, least: inner @ (0 | 1), most: inner_most @ (None | Some(1)) } => {
            let most = if (inner_most, most) == (Some(1), Some(1)) { Some(1) } else { None };
            Expression::Repeat { of, least: least * inner, most }
        }
        of => Expression::Repeat { of: Box::new(of), least, most },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn queries_are_read() {
        let rules =
            parse("(?x, ?z) <- ?x:person knows+/^likes? ?y, ?y (a|`b c`){2,3} ?z ; ?p _* 'it\\'s' , 17 ^(a/b) ?q").unwrap();
        assert_eq!(rules[0].head_names().iter().map(|name| &**name).collect::<Vec<_>>(), ["x", "z"]);
        assert_eq!(rules[0].variables[0].label.as_ref().map(|(label, _)| &**label), Some("person"));
        assert_eq!(rules[1].head, [0, 1]);
        assert!(matches!(&rules[1].atoms[0].target, End::Id(Value::String(id), _) if &**id == "it's"));
        let Expression::Sequence(parts) = &rules[1].atoms[1].path else { panic!() };
        let names: Vec<_> = parts
            .iter()
            .map(|part| match part {
                Expression::Edge { label: Some(label), is_inverse: true, .. } => &**label,
                other => panic!("{other:?}"),
            })
            .collect();
        assert_eq!(names, ["b", "a"]);
        // A question mark before a letter begins a variable.
        let rules = parse("?x a? ?y").unwrap();
        assert!(matches!(rules[0].atoms[0].path, Expression::Repeat { least: 0, most: Some(1), .. }));
        assert!(matches!(parse("?x a?y").unwrap()[0].atoms[0].path, Expression::Edge { .. }));
        assert!(parse("() <- ?x a ?y").unwrap()[0].head.is_empty());
        assert_eq!(parse("# all\n?x a $id # of it").unwrap()[0].parameters().collect::<Vec<_>>(), ["id"]);
    }

    #[test]
    fn mistakes_are_shown_where_they_are() {
        for (text, message, at) in [
            ("", "the query ends where a variable", 0),
            ("?x knows", "the query ends where a variable such as `?x`", 7),
            ("?x knows ?y,", "the query ends where a variable", 11),
            ("?x / ?y", "expected an edge label", 3),
            ("?x (a|b ?y", "expected `)` after a part", 8),
            ("?x `a ?y", "no closing backtick", 3),
            ("?x a 'b", "no closing quote", 5),
            ("?x a{3,2} ?y", "at least 3 and at most 2", 4),
            ("?x a{2000} ?y", "at most 1000 times", 5),
            ("(?z) <- ?x a ?y", "in none of its paths", 1),
            ("(?x, ?x) <- ?x a ?y", "in the head twice", 5),
            ("?x:a p ?x:b", "two labels", 10),
            ("?x a ?y ?z", "expected `,` and another path", 8),
            ("?x a ?y; (?x) <- ?x a ?y", "gives 1 columns", 9),
            ("?x a 99999999999999999999", "too large", 5),
        ] {
            let error = parse(text).unwrap_err();
            assert!(error.message.contains(message), "{text}: {}", error.message);
            assert_eq!(error.span.map(|span| span.start), Some(at), "{text}: {}", error.message);
        }
        assert_eq!(parse("?x a?*+ ?y").unwrap(), parse("?x a* ?y").unwrap());
        assert_eq!(parse("?x a++ ?y").unwrap(), parse("?x a+ ?y").unwrap());
        assert_eq!(parse("?x a?? ?y").unwrap(), parse("?x a? ?y").unwrap());
        assert!(parse("?x a{2}{2}{2} ?y").unwrap_err().message.contains("follow each other"));
        let deep = format!("?x {}a{} ?y", "(".repeat(200), ")".repeat(200));
        assert!(parse(&deep).unwrap_err().message.contains("nested"));
    }
}
