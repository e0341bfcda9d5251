//! Statements of SQL in Gremlin: a table is a label, and a row is a vertex.

use super::Said;
use super::words::{Reader, Test, aggregate, filters, value_map};

/// The columns that a `SELECT` gives.
enum Columns<'t> {
    All,
    Count,
    Names(Vec<&'t str>),
    Aggregate(&'static str, &'t str),
    Distinct(&'t str),
}

pub fn select(mut words: Reader<'_, '_>) -> Option<Said> {
    let at = words.0.iter().position(|word| word.eq_ignore_ascii_case("FROM"))?;
    let columns = columns(Reader(&words.0[..at]));
    words.0 = &words.0[at + 1..];
    let label = words.table()?;
    let whole = columns.and_then(|columns| rows(words, label, &columns));
    Some(Said::whole_or_first(whole, format!("g.V().hasLabel('{label}')")))
}

fn rows(mut words: Reader<'_, '_>, label: &str, columns: &Columns<'_>) -> Option<String> {
    words.eat("AS");
    let _alias = words.name();
    let tests = words.conditions()?;
    let (order, limit) = (words.order()?, words.limit()?);
    let results = match columns {
        Columns::All => ".elementMap()".into(),
        Columns::Count if order.is_empty() && limit.is_empty() => ".count()".into(),
        Columns::Names(names) => value_map(names),
        Columns::Aggregate(step, key) if order.is_empty() && limit.is_empty() => format!(".values('{key}').{step}()"),
        Columns::Distinct(key) if order.is_empty() => {
            return words.is_done().then(|| format!("g.V(){}.values('{key}').dedup(){limit}", filters(Some(label), &tests)));
        }
        _ => return None,
    };
    words.is_done().then(|| format!("g.V(){}{order}{limit}{results}", filters(Some(label), &tests)))
}

/// `None` for expressions.
fn columns<'t>(mut words: Reader<'_, 't>) -> Option<Columns<'t>> {
    let is_distinct = words.eat("DISTINCT");
    let found = match words.0 {
        ["*"] => Columns::All,
        [count, "(", "*", ")"] if count.eq_ignore_ascii_case("count") => Columns::Count,
        [function, "(", of @ .., ")"] => {
            let mut of = Reader(of);
            let (_, key) = of.property()?;
            Columns::Aggregate(aggregate(function).filter(|_| of.is_done())?, key)
        }
        _ => {
            let names = words.list(",", |reader| reader.property().map(|(_, key)| key))?;
            match &names[..] {
                _ if !words.is_done() => return None,
                [only] if is_distinct => return Some(Columns::Distinct(only)),
                _ => Columns::Names(names),
            }
        }
    };
    (!is_distinct).then_some(found)
}

pub fn insert(mut words: Reader<'_, '_>) -> Option<Said> {
    words.eat("INTO");
    let label = words.table()?;
    Some(match inserted(words) {
        Some(row) => Said::Whole(format!("g.addV('{label}'){row}")),
        None => Said::Instead(format!(
            "for each row: g.addV('{label}') with a property('column', value) for each column; load() in Python takes many rows"
        )),
    })
}

/// The properties of one row.
fn inserted(mut words: Reader<'_, '_>) -> Option<String> {
    words.eat("(").then_some(())?;
    let keys = words.list(",", Reader::name)?;
    words.eat_all(&[")", "VALUES", "("]).then_some(())?;
    let values = words.list(",", Reader::value)?;
    let is_whole = words.eat(")") && words.is_done() && keys.len() == values.len();
    is_whole.then(|| keys.iter().zip(values).map(|(key, value)| Test::equal(key, value).as_property()).collect())
}

pub fn update(mut words: Reader<'_, '_>) -> Option<Said> {
    let label = words.table()?;
    let whole = updated(words, label);
    Some(Said::whole_or_first(whole, format!("g.V().hasLabel('{label}')")))
}

fn updated(mut words: Reader<'_, '_>, label: &str) -> Option<String> {
    words.eat("SET").then_some(())?;
    let assigned: String = words.assignments()?.iter().map(Test::as_property).collect();
    let tests = words.conditions()?;
    words.is_done().then(|| format!("g.V(){}{assigned}", filters(Some(label), &tests)))
}

pub fn delete(mut words: Reader<'_, '_>) -> Option<Said> {
    words.eat("FROM").then_some(())?;
    let label = words.table()?;
    let tests = words.conditions().filter(|_| words.is_done());
    let whole = tests.map(|tests| format!("g.V(){}.drop()", filters(Some(label), &tests)));
    Some(Said::whole_or_first(whole, format!("g.V().hasLabel('{label}')")))
}
