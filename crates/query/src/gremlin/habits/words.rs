//! The words of a statement in SQL or Cypher, and a reader that takes them one by one.

use crate::gremlin::names;

/// Words, numbers, quoted texts and signs, in their order. `None` for a text of too many words.
pub fn words(mut text: &str) -> Option<Vec<&str>> {
    const MOST: usize = 400;
    let mut words = Vec::new();
    while !text.is_empty() {
        let (word, rest) = text.split_at(length(text));
        if !word.trim().is_empty() && word != "`" {
            words.push(word);
        }
        if words.len() > MOST {
            return None;
        }
        text = rest;
    }
    Some(words)
}

/// The length of the first word of a text that is not empty.
fn length(text: &str) -> usize {
    let run = |from: usize, of: fn(char) -> bool| from + text[from..].find(|c: char| !of(c)).unwrap_or(text.len() - from);
    let is_number = |c: char| c.is_ascii_digit() || c == '.';
    let first = text.chars().next().map_or(1, char::len_utf8);
    match text.as_bytes()[0] {
        quote @ (b'\'' | b'"') => text[1..].find(char::from(quote)).map_or(text.len(), |end| end + 2),
        b'0'..=b'9' => run(first, is_number),
        b'-' if text[1..].starts_with(|c: char| c.is_ascii_digit()) => run(first, is_number),
        b'$' => run(first, is_letter),
        b'<' | b'>' | b'!' if text[1..].starts_with(['=', '>']) => 2,
        _ if text.starts_with(is_letter) => run(first, is_letter),
        _ => first,
    }
}

fn is_letter(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// Takes words from the front. Each method takes nothing if the words do not fit.
#[derive(Clone, Copy)]
pub struct Reader<'w, 't>(pub &'w [&'t str]);

impl<'t> Reader<'_, 't> {
    /// Whether this word comes next. Case does not matter.
    pub fn eat(&mut self, word: &str) -> bool {
        let comes = self.0.first().is_some_and(|next| next.eq_ignore_ascii_case(word));
        if comes {
            self.0 = &self.0[1..];
        }
        comes
    }

    pub fn eat_all(&mut self, words: &[&str]) -> bool {
        let mut ahead = *self;
        let fits = words.iter().all(|word| ahead.eat(word));
        if fits {
            *self = ahead;
        }
        fits
    }

    fn take<T>(&mut self, of: impl FnOnce(&'t str) -> Option<T>) -> Option<T> {
        let taken = of(self.0.first()?)?;
        self.0 = &self.0[1..];
        Some(taken)
    }

    /// A name that is no word of the language, without quotes.
    pub fn name(&mut self) -> Option<&'t str> {
        let is_name = |word: &str| word.starts_with(|c: char| c.is_alphabetic() || c == '_') && !is_reserved(word);
        self.take(|word| Some(word.trim_matches('"')).filter(|name| is_name(name)))
    }

    /// A value as Gremlin writes it. Parameters lose their `$`.
    pub fn value(&mut self) -> Option<String> {
        self.take(|word| match word.as_bytes()[0] {
            quote @ (b'\'' | b'"') => {
                (!word.contains('\\') && word.len() > 1 && word.as_bytes()[word.len() - 1] == quote).then(|| word.into())
            }
            b'0'..=b'9' | b'-' => word.parse::<f64>().is_ok().then(|| word.into()),
            b'$' => parameter(&word[1..]),
            _ => ["true", "false"].iter().find(|known| known.eq_ignore_ascii_case(word)).map(|known| (*known).into()),
        })
    }

    /// A table, perhaps with its schema before a dot.
    pub fn table(&mut self) -> Option<&'t str> {
        let first = self.name()?;
        if self.eat(".") { self.name() } else { Some(first) }
    }

    pub fn count(&mut self) -> Option<u64> {
        self.take(|word| word.parse().ok())
    }

    /// Whether all is read but a last `;`.
    pub fn is_done(mut self) -> bool {
        self.eat(";");
        self.0.is_empty()
    }

    /// `price` or `n.price`: what is before the dot, and the name.
    pub fn property(&mut self) -> Option<(Option<&'t str>, &'t str)> {
        let mut ahead = *self;
        let first = ahead.name()?;
        let property = if ahead.eat(".") { (Some(first), ahead.name()?) } else { (None, first) };
        *self = ahead;
        Some(property)
    }

    /// Items with `between` between them; `None` if one does not fit.
    pub fn list<T>(&mut self, between: &str, item: fn(&mut Self) -> Option<T>) -> Option<Vec<T>> {
        let mut items = vec![item(self)?];
        while self.eat(between) {
            items.push(item(self)?);
        }
        Some(items)
    }

    /// `WHERE n.price > 3 AND …`, or nothing. `None` if there are other conditions.
    pub fn conditions(&mut self) -> Option<Vec<Test<'t>>> {
        if self.eat("WHERE") { self.list("AND", Test::read) } else { Some(Vec::new()) }
    }

    /// `n.price = 3, …`: keys and values. `None` if there is anything else.
    pub fn assignments(&mut self) -> Option<Vec<Test<'t>>> {
        self.list(",", |reader| Test::read(reader).filter(|test| test.is_equal))
    }

    /// `LIMIT`, with `SKIP` or `OFFSET` before or after it, as steps.
    pub fn limit(&mut self) -> Option<String> {
        let (mut skip, mut limit) = (0, None);
        loop {
            if self.eat("SKIP") || self.eat("OFFSET") {
                skip = self.count()?;
            } else if self.eat("LIMIT") {
                limit = Some(self.count()?);
            } else {
                break;
            }
        }
        Some(match (skip, limit) {
            (0, None) => String::new(),
            (0, Some(limit)) => format!(".limit({limit})"),
            (skip, None) => format!(".skip({skip})"),
            (skip, Some(limit)) => format!(".range({skip}, {})", skip.saturating_add(limit)),
        })
    }

    /// `ORDER BY n.age DESC`, or nothing, as a step.
    pub fn order(&mut self) -> Option<String> {
        if !self.eat_all(&["ORDER", "BY"]) {
            return Some(String::new());
        }
        let (_, key) = self.property()?;
        let order = if self.eat("DESC") { ", desc" } else { "" };
        self.eat("ASC");
        Some(format!(".order().by('{key}'{order})"))
    }
}

/// A name for a parameter in Gremlin, where a number is no name and some words have a meaning.
fn parameter(name: &str) -> Option<String> {
    let is_taken = name == "g" || names::bare_constant(name).is_some() || names::type_name(name).is_some();
    match name.chars().next()? {
        first if first.is_ascii_digit() => Some(format!("x{name}")),
        _ if is_taken => Some(format!("{name}_")),
        _ => Some(name.into()),
    }
}

/// Whether a word begins or joins clauses, so that it names nothing.
fn is_reserved(word: &str) -> bool {
    const WORDS: [&str; 38] = [
        "AND", "AS", "ASC", "BY", "CASE", "CREATE", "DELETE", "DESC", "DETACH", "DISTINCT", "FROM", "GROUP", "HAVING", "IN",
        "INNER", "INTO", "IS", "JOIN", "LEFT", "LIKE", "LIMIT", "MATCH", "MERGE", "NOT", "NULL", "OFFSET", "ON", "OPTIONAL",
        "OR", "ORDER", "REMOVE", "RETURN", "SET", "SKIP", "UNION", "VALUES", "WHERE", "WITH",
    ];
    WORDS.iter().any(|reserved| reserved.eq_ignore_ascii_case(word))
}

/// A comparison such as `n.price > 3`.
pub struct Test<'t> {
    /// What is before the dot of the key.
    pub of: Option<&'t str>,
    pub key: &'t str,
    pub value: String,
    /// The value with its comparison, as Gremlin writes it.
    predicate: String,
    is_equal: bool,
}

impl<'t> Test<'t> {
    fn read(reader: &mut Reader<'_, 't>) -> Option<Self> {
        let (of, key) = reader.property()?;
        let sign = reader.take(Some)?;
        let value = reader.value()?;
        let predicate = match sign {
            "=" => value.clone(),
            "<>" | "!=" => format!("neq({value})"),
            ">" => format!("gt({value})"),
            ">=" => format!("gte({value})"),
            "<" => format!("lt({value})"),
            "<=" => format!("lte({value})"),
            _ => return None,
        };
        Some(Self { of, key, value, predicate, is_equal: sign == "=" })
    }

    /// The test `key = value`.
    pub fn equal(key: &'t str, value: String) -> Self {
        Self { of: None, key, predicate: value.clone(), value, is_equal: true }
    }

    pub fn as_property(&self) -> String {
        format!(".property('{}', {})", self.key, self.value)
    }

    fn as_entry(&self) -> String {
        format!("'{}': {}", self.key, self.value)
    }
}

/// Steps that keep what has a label and passes tests.
pub fn filters(label: Option<&str>, tests: &[Test<'_>]) -> String {
    let mut steps = String::new();
    if let Some(label) = label.filter(|_| tests.is_empty()) {
        steps += &format!(".hasLabel('{label}')");
    }
    for (at, test) in tests.iter().enumerate() {
        let label = label.filter(|_| at == 0).map(|label| format!("'{label}', ")).unwrap_or_default();
        steps += &format!(".has({label}'{}', {})", test.key, test.predicate);
    }
    steps
}

/// The entries of a map, without its brackets.
pub fn entries(tests: &[Test<'_>]) -> String {
    tests.iter().map(Test::as_entry).collect::<Vec<_>>().join(", ")
}

/// `valueMap` of these keys.
pub fn value_map(keys: &[&str]) -> String {
    let keys: Vec<String> = keys.iter().map(|key| format!("'{key}'")).collect();
    format!(".valueMap({}).by(unfold())", keys.join(", "))
}

/// The step of a function over values.
pub fn aggregate(function: &str) -> Option<&'static str> {
    let known = [("sum", "sum"), ("avg", "mean"), ("min", "min"), ("max", "max")];
    known.iter().find(|(name, _)| name.eq_ignore_ascii_case(function)).map(|(_, step)| *step)
}
