//! The words of a text in SQL or Cypher, as far as advice needs them.

/// Words, numbers, quoted texts and signs, in their order. Only the first of a long text.
pub struct Words<'t>(Vec<&'t str>);

/// `key sign value`, as in `price > 3`.
pub struct Comparison<'t> {
    pub key: &'t str,
    sign: &'t str,
    value: &'t str,
}

impl<'t> Words<'t> {
    pub fn of(mut text: &'t str) -> Self {
        const MOST: usize = 200;
        let mut words = Vec::new();
        while words.len() < MOST && !text.is_empty() {
            let (word, rest) = text.split_at(length(text));
            if !word.trim().is_empty() && word != "`" {
                words.push(word);
            }
            text = rest;
        }
        Self(words)
    }

    pub fn at(&self, at: usize) -> Option<&'t str> {
        self.0.get(at).copied()
    }

    pub fn position(&self, word: &str) -> Option<usize> {
        self.0.iter().position(|other| other.eq_ignore_ascii_case(word))
    }

    pub fn has(&self, word: &str) -> bool {
        self.position(word).is_some()
    }

    /// The words after a word; none if it is missing.
    pub fn after(&self, word: &str) -> &[&'t str] {
        self.position(word).map_or(&[], |at| &self.0[at + 1..])
    }

    /// The name after a word.
    pub fn name_after(&self, word: &str) -> Option<&'t str> {
        self.after(word).first().and_then(|word| name(word))
    }

    /// The comparisons after `word`, with `between` between them. `None` if something else is there too.
    pub fn comparisons(&self, word: &str, between: &str) -> Option<Vec<Comparison<'t>>> {
        let (mut rest, mut found) = (self.after(word), Vec::new());
        while let Some((comparison, after)) = Comparison::first_of(rest) {
            found.push(comparison);
            match after {
                [next, after @ ..] if next.eq_ignore_ascii_case(between) => rest = after,
                [] => return Some(found),
                [next, ..] if is_clause(next) => return Some(found),
                _ => return None,
            }
        }
        (!self.has(word)).then_some(found)
    }
}

/// The length of the first word of a text that is not empty.
fn length(text: &str) -> usize {
    let run = |from: usize, of: fn(char) -> bool| from + text[from..].find(|c: char| !of(c)).unwrap_or(text.len() - from);
    let first = text.chars().next().map_or(1, char::len_utf8);
    match text.as_bytes()[0] {
        quote @ (b'\'' | b'"') => text[1..].find(char::from(quote)).map_or(text.len(), |end| end + 2),
        b'0'..=b'9' => run(first, |c| c.is_ascii_digit() || c == '.'),
        b'-' if text[1..].starts_with(|c: char| c.is_ascii_digit()) => run(first, |c| c.is_ascii_digit() || c == '.'),
        b'$' => run(first, is_letter),
        b'<' | b'>' | b'!' if text[1..].starts_with(['=', '>']) => 2,
        _ if text.starts_with(is_letter) => run(first, is_letter),
        _ => first,
    }
}

fn is_letter(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// Whether a word ends a list of comparisons.
fn is_clause(word: &str) -> bool {
    const CLAUSES: [&str; 12] =
        ["RETURN", "ORDER", "GROUP", "LIMIT", "OFFSET", "SET", "WITH", "DELETE", "DETACH", "WHERE", "RETURNING", ";"];
    CLAUSES.iter().any(|clause| clause.eq_ignore_ascii_case(word))
}

/// A name without its quotes; `None` for signs and numbers.
pub fn name(word: &str) -> Option<&str> {
    let bare = word.trim_matches(['"', '\'']);
    bare.starts_with(|c: char| c.is_alphabetic() || c == '_').then_some(bare)
}

/// A value as Gremlin writes it. Parameters lose their `$`. `None` for what needs more thought.
pub fn value(word: &str) -> Option<String> {
    match word.as_bytes()[0] {
        b'\'' | b'"' => (!word.contains('\\') && word.len() > 1 && word.as_bytes()[0] == word.as_bytes()[word.len() - 1])
            .then(|| word.into()),
        b'0'..=b'9' | b'-' => word.parse::<f64>().is_ok().then(|| word.into()),
        b'$' => name(&word[1..]).map(str::to_owned),
        _ => ["true", "false"].iter().find(|known| known.eq_ignore_ascii_case(word)).map(|known| (*known).into()),
    }
}

impl<'t> Comparison<'t> {
    /// The comparison that words begin with, and the words after it.
    fn first_of<'w>(words: &'w [&'t str]) -> Option<(Self, &'w [&'t str])> {
        let words = match words {
            [_, ".", words @ ..] => words,
            _ => words,
        };
        let [key, sign, word, after @ ..] = words else { return None };
        value(word)?;
        Some((Self { key: name(key)?, sign, value: word }, after))
    }

    pub fn value(&self) -> String {
        value(self.value).unwrap_or_default()
    }

    /// The predicate, as Gremlin writes it; `None` if the sign compares nothing.
    pub fn predicate(&self) -> Option<String> {
        let value = self.value();
        Some(match self.sign {
            "=" => value,
            "<>" | "!=" => format!("neq({value})"),
            ">" => format!("gt({value})"),
            ">=" => format!("gte({value})"),
            "<" => format!("lt({value})"),
            "<=" => format!("lte({value})"),
            _ => return None,
        })
    }

    pub fn is_assignment(&self) -> bool {
        self.sign == "="
    }
}

/// The search for the vertices of a label, as Gremlin.
pub struct Search {
    pub gremlin: String,
    /// Whether it tests all conditions. It leaves out those that are more than comparisons.
    pub is_whole: bool,
}

impl Search {
    /// All `conditions` must hold, and `first`, a key and a value, before them.
    pub fn new(label: Option<&str>, first: Option<(&str, String)>, conditions: Option<Vec<Comparison<'_>>>) -> Self {
        let tests =
            conditions.and_then(|all| all.iter().map(|one| Some((one.key, one.predicate()?))).collect::<Option<Vec<_>>>());
        let is_whole = tests.is_some();
        let tests: Vec<_> = first.into_iter().chain(tests.unwrap_or_default()).collect();
        let mut gremlin = String::from("g.V()");
        if let Some(label) = label.filter(|_| tests.is_empty()) {
            gremlin += &format!(".hasLabel('{label}')");
        }
        for (at, (key, predicate)) in tests.iter().enumerate() {
            let label = label.filter(|_| at == 0).map(|label| format!("'{label}', ")).unwrap_or_default();
            gremlin += &format!(".has({label}'{key}', {predicate})");
        }
        Self { gremlin, is_whole }
    }

    /// The search and the steps after it.
    pub fn then(self, steps: &str) -> String {
        const REST: &str = ", with the rest of the conditions as has(…), and(…) or or(…) in front";
        self.gremlin + steps + if self.is_whole { "" } else { REST }
    }
}
