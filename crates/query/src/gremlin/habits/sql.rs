//! How a statement of SQL would begin in Gremlin.

use super::words::{Comparison, Search, Words, name, value};

pub fn select(words: &Words<'_>) -> String {
    let columns: Vec<&str> =
        words.after("SELECT").iter().copied().take_while(|word| !word.eq_ignore_ascii_case("FROM")).collect();
    let results = match &columns[..] {
        [count, "(", ..] if count.eq_ignore_ascii_case("count") => ".count()".into(),
        [function, "(", column, ")"] if aggregate(function).is_some() => {
            format!(".values('{column}').{}()", aggregate(function).unwrap_or_default())
        }
        ["*"] | [] => ".elementMap()".into(),
        _ => match plain(&columns) {
            Some(names) => format!(".valueMap({}).by(unfold())", quoted(&names)),
            None => ".elementMap()".into(),
        },
    };
    let limit = words.after("LIMIT").first().and_then(|word| value(word));
    let limit = limit.map(|limit| format!(".limit({limit})")).unwrap_or_default();
    search(words, "FROM").then(&(order(words) + &limit + &results))
}

pub fn insert(words: &Words<'_>) -> String {
    let label = words.name_after("INTO").unwrap_or("label");
    let inside = |from: &[&str]| -> Vec<String> {
        let from = from.iter().position(|word| *word == "(").map_or(&[][..], |at| &from[at + 1..]);
        from.iter().take_while(|word| **word != ")").filter(|word| **word != ",").map(|word| (*word).into()).collect()
    };
    let until = words.position("VALUES").unwrap_or(usize::MAX);
    let into: Vec<&str> = words.after("INTO").iter().copied().take(until.saturating_sub(2)).collect();
    let (keys, values) = (inside(&into), inside(words.after("VALUES")));
    if keys.len() != values.len() || keys.is_empty() {
        return format!("g.addV('{label}').property('key', 'value'), with the name of a column as the key");
    }
    let pairs = keys.iter().zip(&values).filter_map(|(key, word)| Some((name(key)?, value(word)?)));
    let properties: Vec<String> = pairs.map(|(key, value)| format!(".property('{key}', {value})")).collect();
    format!("g.addV('{label}'){}", properties.concat())
}

pub fn update(words: &Words<'_>) -> String {
    search(words, "UPDATE").then(&assigned(words))
}

pub fn delete(words: &Words<'_>) -> String {
    search(words, "FROM").then(".drop()")
}

/// What `SET a = 1, b = 2` writes, as steps.
pub fn assigned(words: &Words<'_>) -> String {
    let assigned = words.comparisons("SET", ",").filter(|all| all.iter().all(Comparison::is_assignment));
    match assigned {
        Some(all) => all.iter().map(|one| format!(".property('{}', {})", one.key, one.value())).collect(),
        None => {
            let key = words.after("SET").iter().take_while(|word| **word != "=").last().and_then(|word| name(word));
            format!(".property('{}', x), with the new value as the parameter x", key.unwrap_or("key"))
        }
    }
}

/// The rows of the table named after `word`, as far as `WHERE` keeps them.
fn search(words: &Words<'_>, word: &str) -> Search {
    Search::new(words.name_after(word), None, words.comparisons("WHERE", "AND"))
}

fn order(words: &Words<'_>) -> String {
    let [by, key, after @ ..] = words.after("ORDER") else { return String::new() };
    match name(key).filter(|_| by.eq_ignore_ascii_case("by")) {
        Some(key) if after.first().is_some_and(|word| word.eq_ignore_ascii_case("desc")) => {
            format!(".order().by('{key}', desc)")
        }
        Some(key) => format!(".order().by('{key}')"),
        None => String::new(),
    }
}

fn aggregate(function: &str) -> Option<&'static str> {
    let known = [("sum", "sum"), ("avg", "mean"), ("min", "min"), ("max", "max")];
    known.iter().find(|(name, _)| name.eq_ignore_ascii_case(function)).map(|(_, step)| *step)
}

/// The names of columns, if nothing but names is selected.
fn plain<'t>(columns: &[&'t str]) -> Option<Vec<&'t str>> {
    columns
        .split(|word| *word == ",")
        .map(|column| match column {
            [one] | [_, ".", one] => name(one),
            _ => None,
        })
        .collect()
}

fn quoted(names: &[&str]) -> String {
    names.iter().map(|name| format!("'{name}'")).collect::<Vec<_>>().join(", ")
}
