//! Results as rows and named columns. CSV, terminal tables and Arrow are built from this.
//!
//! | results | columns |
//! |---|---|
//! | maps (`project`, `select`, `valueMap`, `elementMap`) | one for each key |
//! | vertices | `id`, `label`, then one for each property |
//! | edges, or edges and vertices | `id`, `label`, `outV`, `inV`, then one for each property |
//! | map entries, properties | `key`, `value` |
//! | the map of `group` or `groupCount` | `key`, `value`: a row for each entry |
//! | anything else, kinds mixed, or maps whose keys are no names | `value` |
//!
//! A property keeps its name. Beside a property `id`, the id of the element is in the column `T.id`; if `id` is the key of its
//! labels, there is one column `id`. The query and the schema determine the columns. They exist even without results.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use arrow_array::{Array, ArrayRef};
use mangrove_graph::{Direction, Token, Value, column, compare};
use mangrove_query::{MapColumn, Maps, Shape};

use crate::describe::{Described, EdgeRecord, PropertyRecord, VertexRecord};
use crate::keys;
use crate::results::{self, Chunk, OWN, Results};

#[derive(Clone, Debug, Default)]
pub struct Table<'a> {
    pub rows: usize,
    pub columns: Vec<Column<'a>>,
}

#[derive(Clone, Debug)]
pub struct Column<'a> {
    pub name: String,
    runs: Vec<Run<'a>>,
    rows: usize,
}

/// The values of some rows in a column.
#[derive(Clone, Debug)]
pub enum Run<'a> {
    /// No values.
    Absent(usize),
    /// Null if a row has no value.
    Typed(ArrayRef),
    /// `None` if a row has no value.
    Described(Vec<Option<Cow<'a, Described>>>),
}

type Row<'a> = Vec<(Cow<'a, str>, Cow<'a, Described>)>;

impl Run<'_> {
    fn len(&self) -> usize {
        match self {
            Run::Absent(rows) => *rows,
            Run::Typed(array) => array.len(),
            Run::Described(cells) => cells.len(),
        }
    }

    fn get(&self, row: usize) -> Option<Cow<'_, Described>> {
        match self {
            Run::Absent(_) => None,
            Run::Typed(array) if array.is_null(row) => None,
            Run::Typed(array) => Some(Cow::Owned(Described::Plain(column::value_at(array, row)))),
            Run::Described(cells) => cells[row].as_deref().map(Cow::Borrowed),
        }
    }
}

impl<'a> Column<'a> {
    fn new(name: String) -> Self {
        Self { name, runs: Vec::new(), rows: 0 }
    }

    /// The value of each row; `None` if it has none.
    pub fn iter(&self) -> impl Iterator<Item = Option<Cow<'_, Described>>> {
        self.runs.iter().flat_map(|run| (0..run.len()).map(|row| run.get(row)))
    }

    /// The values in runs of consecutive rows.
    pub fn runs(&self) -> &[Run<'a>] {
        &self.runs
    }

    /// Adds a run of rows that starts at row `at`.
    fn add(&mut self, at: usize, run: Run<'a>) {
        // If two columns of a result share a name, the first one wins.
        if self.rows > at {
            return;
        }
        self.reach(at);
        self.rows += run.len();
        self.runs.push(run);
    }

    fn add_one(&mut self, at: usize, cell: Cow<'a, Described>) {
        if self.rows > at {
            return;
        }
        self.reach(at);
        self.rows += 1;
        match self.runs.last_mut() {
            Some(Run::Described(cells)) => cells.push(Some(cell)),
            _ => self.runs.push(Run::Described(vec![Some(cell)])),
        }
    }

    /// Fills the rows before `rows` that have no value yet with nothing.
    fn reach(&mut self, rows: usize) {
        let missing = rows.saturating_sub(self.rows);
        self.rows += missing;
        match self.runs.last_mut() {
            _ if missing == 0 => {}
            Some(Run::Described(cells)) => cells.resize(cells.len() + missing, None),
            _ => self.runs.push(Run::Absent(missing)),
        }
    }

    fn is_same(&self, other: &Column<'_>) -> bool {
        let same = |(a, b): (Option<Cow<'_, Described>>, Option<Cow<'_, Described>>)| match (a.as_deref(), b.as_deref()) {
            (Some(Described::Plain(a)), Some(Described::Plain(b))) => compare::equals(a, b),
            _ => false,
        };
        let typed = |(a, b): (&Run<'_>, &Run<'_>)| match (a, b) {
            (Run::Typed(a), Run::Typed(b)) => a.null_count() == 0 && a == b,
            _ => false,
        };
        let runs = self.runs.len() == other.runs.len() && self.runs.iter().zip(&other.runs).all(typed);
        runs || self.iter().zip(other.iter()).all(same)
    }
}

/// Lays results out in columns.
pub fn of(results: &Results) -> Table<'_> {
    let (mut table, shape) = (Builder::default(), results.shape());
    for name in fixed(&shape) {
        table.column(name);
    }
    match (Form::common(results), &shape) {
        (_, Shape::Values) => table.add_values(results),
        (Form::Maps | Form::Values, Shape::Groups) => groups(results).for_each(|row| table.add_row(row)),
        (Form::Maps | Form::Nothing, Shape::Maps { keys, .. }) => table.add_maps(results, keys),
        (Form::Elements | Form::Nothing, Shape::Elements { edges, keys, .. }) => table.add_elements(results, *edges, keys),
        (Form::Entries | Form::Nothing, Shape::Entries) | (Form::Entries, Shape::Unknown) => table.add_entries(results),
        (Form::Maps, Shape::Unknown) => table.add_maps(results, &[]),
        (Form::Elements, Shape::Unknown) => table.add_elements(results, false, &[]),
        _ => table.add_values(results),
    }
    let id_is_key = match shape {
        Shape::Unknown => None,
        Shape::Maps { id_is_key, .. } | Shape::Elements { id_is_key, .. } => Some(id_is_key),
        Shape::Groups | Shape::Entries | Shape::Values => Some(false),
    };
    table.finish(id_is_key)
}

/// The columns that exist whatever the results are.
fn fixed(shape: &Shape) -> &[&'static str] {
    match shape {
        Shape::Values => &["value"],
        Shape::Groups | Shape::Entries => &["key", "value"],
        Shape::Unknown | Shape::Maps { .. } | Shape::Elements { .. } => &[],
    }
}

/// The common form of all rows.
#[derive(Clone, Copy, PartialEq)]
enum Form {
    /// All rows are null.
    Nothing,
    Values,
    Maps,
    Elements,
    Entries,
}

impl Form {
    fn of(row: &Described) -> Option<Self> {
        Some(match row {
            Described::Plain(Value::Null) => return None,
            Described::Map(entries) if keys::names(entries).is_some() => Form::Maps,
            Described::Vertex(_) | Described::Edge(_) => Form::Elements,
            Described::Entry(_) | Described::Property(_) | Described::VertexProperty(_) => Form::Entries,
            _ => Form::Values,
        })
    }

    /// The form of all rows that are not null.
    fn common(results: &Results) -> Self {
        let mut forms = results.parts().iter().flat_map(|part| {
            let of_columns = match part {
                Chunk::Rows(_) => None,
                Chunk::Values(_) => Some(Form::Values),
                Chunk::Maps { columns, .. } if has_names(columns) => Some(Form::Maps),
                Chunk::Maps { .. } => Some(Form::Values),
                Chunk::Vertices(_) | Chunk::Edges(_) => Some(Form::Elements),
            };
            of_columns.into_iter().chain(rows(part).iter().filter_map(Form::of))
        });
        let Some(first) = forms.next() else { return Form::Nothing };
        if forms.all(|form| form == first) { first } else { Form::Values }
    }
}

fn has_names(columns: &[(Value, results::MapValues)]) -> bool {
    let token_names = TokenNames::beside(columns.iter().filter_map(|(key, _)| key.as_str()));
    let names: HashSet<_> = columns.iter().map(|(key, _)| key_name(key, &token_names)).collect();
    names.len() == columns.len()
}

/// The rows of a part that is not stored as columns.
fn rows(part: &Chunk) -> &[Described] {
    match part {
        Chunk::Rows(rows) => rows,
        _ => &[],
    }
}

/// Builds columns row by row, as their keys appear.
#[derive(Default)]
struct Builder<'a> {
    table: Table<'a>,
    by_name: HashMap<String, usize>,
}

impl<'a> Builder<'a> {
    fn add_row(&mut self, row: Row<'a>) {
        let before = self.table.rows;
        for (at, (name, cell)) in row.into_iter().enumerate() {
            // Rows of one kind usually have their columns in the same order.
            let is_there = self.table.columns.get(at).is_some_and(|column| column.name == name);
            let at = if is_there { at } else { self.column(&name) };
            self.table.columns[at].add_one(before, cell);
        }
        self.table.rows += 1;
    }

    fn column(&mut self, name: &str) -> usize {
        if let Some(at) = self.by_name.get(name) {
            return *at;
        }
        self.table.columns.push(Column::new(name.to_owned()));
        self.by_name.insert(name.to_owned(), self.table.columns.len() - 1);
        self.table.columns.len() - 1
    }

    fn add_cells(&mut self, name: &str, cells: Run<'a>) {
        let (at, before) = (self.column(name), self.table.rows);
        self.table.columns[at].add(before, cells);
    }

    fn add_values(&mut self, results: &'a Results) {
        for part in results.parts() {
            match part {
                Chunk::Values(array) => {
                    self.add_cells("value", Run::Typed(array.clone()));
                    self.table.rows += array.len();
                }
                part => (0..part.len()).for_each(|row| self.add_row(vec![("value".into(), part.get(row))])),
            }
        }
    }

    fn add_maps(&mut self, results: &'a Results, keys: &[Value]) {
        let strings = results.parts().iter().flat_map(|part| {
            let columns = match part {
                Chunk::Maps { columns, .. } => &columns[..],
                _ => &[],
            };
            rows(part).iter().flat_map(string_keys).chain(columns.iter().filter_map(|(key, _)| key.as_str()))
        });
        let token_names = TokenNames::beside(strings.chain(keys.iter().filter_map(Value::as_str)));
        for key in keys {
            self.column(&key_name(key, &token_names));
        }
        for part in results.parts() {
            if let Chunk::Maps { columns, rows } = part {
                columns.iter().for_each(|(key, column)| self.add_cells(&key_name(key, &token_names), cells_of(column)));
                self.table.rows += rows;
            }
            for row in rows(part) {
                let entries = match row {
                    Described::Map(entries) => &entries[..],
                    _ => &[],
                };
                let named = |(key, value): &'a (Described, Described)| match key {
                    Described::Plain(key) => (key_name(key, &token_names), Cow::Borrowed(value)),
                    _ => unreachable!("a map with names has plain keys"),
                };
                self.add_row(entries.iter().map(named).collect());
            }
        }
    }

    fn add_entries(&mut self, results: &'a Results) {
        results.parts().iter().flat_map(rows).for_each(|row| self.add_row(entry(row)));
    }

    fn add_elements(&mut self, results: &'a Results, edges: bool, keys: &[Arc<str>]) {
        let parts = results.parts();
        let properties = parts.iter().flat_map(|part| {
            let columns = match part {
                Chunk::Vertices(vertices) => &vertices.columns.columns[OWN..],
                Chunk::Edges(edges) => &edges.columns.columns[OWN..],
                _ => &[],
            };
            rows(part).iter().flat_map(property_names).chain(columns.iter().filter_map(|(key, _)| key.as_str()))
        });
        let token_names = TokenNames::beside(properties.chain(keys.iter().map(|key| &**key)));
        let has_edges =
            |part: &Chunk| matches!(part, Chunk::Edges(_)) || rows(part).iter().any(|row| matches!(row, Described::Edge(_)));
        let heads = edges || parts.iter().any(has_edges);
        let tokens = if heads { &TokenNames::ALL[..] } else { &TokenNames::ALL[..OWN] };
        for token in tokens {
            self.column(token_names.of(*token));
        }
        for key in keys {
            self.column(key);
        }
        for part in parts {
            match part {
                Chunk::Vertices(vertices) => self.add_columns(&vertices.columns, &token_names),
                Chunk::Edges(edges) => {
                    let ends = [(Direction::Out, &edges.sources), (Direction::In, &edges.targets)];
                    for (direction, ends) in ends {
                        let (_, ids) = &ends.columns[0];
                        self.add_cells(token_names.of(Token::Direction(direction)), cells_of_values(ids));
                    }
                    self.add_columns(&edges.columns, &token_names);
                }
                part => {
                    for row in rows(part) {
                        self.add_row(match row {
                            Described::Vertex(record) => vertex_row(record, &token_names),
                            Described::Edge(record) => edge_row(record, &token_names),
                            _ => Vec::new(),
                        });
                    }
                }
            }
        }
    }

    fn add_columns(&mut self, maps: &'a Maps, token_names: &TokenNames) {
        for (key, column) in &maps.columns {
            self.add_cells(&key_name(key, token_names), cells_of_values(column));
        }
        self.table.rows += maps.rows;
    }

    fn finish(mut self, id_is_key: Option<bool>) -> Table<'a> {
        for column in &mut self.table.columns {
            column.reach(self.table.rows);
        }
        merge_ids(&mut self.table.columns, id_is_key);
        self.table
    }
}

fn cells_of(column: &results::MapValues) -> Run<'_> {
    match column {
        results::MapValues::Plain(column) => cells_of_values(column),
        results::MapValues::Described(cells) => {
            Run::Described(cells.iter().map(|c| c.as_ref().map(Cow::Borrowed)).collect())
        }
    }
}

fn cells_of_values(column: &MapColumn) -> Run<'_> {
    match column {
        MapColumn::Typed(array) => Run::Typed(array.clone()),
        MapColumn::Values(values) => {
            let plain = |value: &Option<Value>| value.clone().map(|value| Cow::Owned(Described::Plain(value)));
            Run::Described(values.iter().map(plain).collect())
        }
    }
}

fn key_name<'a>(key: &'a Value, token_names: &TokenNames) -> Cow<'a, str> {
    match key {
        Value::Token(token) => token_names.of(*token).into(),
        Value::String(name) => Cow::Borrowed(name),
        other => other.to_string().into(),
    }
}

fn entry(row: &Described) -> Row<'_> {
    let plain = |value: Value| Cow::Owned(Described::Plain(value));
    let (key, value) = match row {
        Described::Entry(entry) => (Cow::Borrowed(&entry.0), Cow::Borrowed(&entry.1)),
        Described::Property(property) => (plain(property.key.clone().into()), plain(property.value.clone())),
        Described::VertexProperty(record) => (plain(record.key.clone().into()), plain(record.value.clone())),
        _ => return Vec::new(),
    };
    vec![("key".into(), key), ("value".into(), value)]
}

/// If the property `id` equals the id of the element, one column suffices. `id_is_key` tells; without it, the values do.
fn merge_ids(columns: &mut Vec<Column<'_>>, id_is_key: Option<bool>) {
    let find = |name: &str| columns.iter().position(|column| column.name == name);
    let (Some(own), Some(property)) = (find(keys::qualified(Token::Id)), find(Token::Id.name())) else { return };
    if id_is_key.unwrap_or_else(|| columns[own].is_same(&columns[property])) {
        columns[own].name = Token::Id.name().to_owned();
        columns.remove(property);
    }
}

/// The entries of the one map that a grouping query returns.
fn groups(results: &Results) -> impl Iterator<Item = Row<'_>> {
    fn entries(row: &Described) -> &[(Described, Described)] {
        match row {
            Described::Map(entries) => entries,
            _ => &[],
        }
    }
    let entries = results.parts().iter().flat_map(rows).flat_map(entries);
    entries.map(|(key, value)| vec![("key".into(), Cow::Borrowed(key)), ("value".into(), Cow::Borrowed(value))])
}

fn vertex_row<'a>(record: &'a VertexRecord, names: &TokenNames) -> Row<'a> {
    let plain = |value: Value| Cow::Owned(Described::Plain(value));
    let mut row = Vec::with_capacity(2 + record.properties.len());
    row.push((names.of(Token::Id).into(), plain(record.id.clone())));
    row.push((names.of(Token::Label).into(), plain(record.label.clone().into())));
    row.extend(record.properties.iter().map(|property| (Cow::Borrowed(&*property.key), plain(property_value(property)))));
    row
}

fn property_value(property: &PropertyRecord) -> Value {
    let mut values = property.values.iter().map(|value| value.value.clone());
    match values.len() {
        1 if !property.many => values.next().unwrap_or_default(),
        _ => Value::list(values.collect()),
    }
}

fn edge_row<'a>(record: &'a EdgeRecord, names: &TokenNames) -> Row<'a> {
    let plain = |value: Value| Cow::Owned(Described::Plain(value));
    let own = [
        (Token::Id, record.id.clone()),
        (Token::Label, record.label.clone().into()),
        (Token::Direction(Direction::Out), record.source.id.clone()),
        (Token::Direction(Direction::In), record.target.id.clone()),
    ];
    let own = own.into_iter().map(|(token, value)| (names.of(token).into(), plain(value)));
    own.chain(record.properties.iter().map(|(key, value)| (Cow::Borrowed(&**key), plain(value.clone())))).collect()
}

fn string_keys(row: &Described) -> impl Iterator<Item = &str> {
    let entries = match row {
        Described::Map(entries) => &entries[..],
        _ => &[],
    };
    entries.iter().filter_map(|(key, _)| match key {
        Described::Plain(Value::String(name)) => Some(&**name),
        _ => None,
    })
}

fn property_names(row: &Described) -> impl Iterator<Item = &str> {
    let (of_vertex, of_edge) = match row {
        Described::Vertex(record) => (&record.properties[..], &[][..]),
        Described::Edge(record) => (&[][..], &record.properties[..]),
        _ => (&[][..], &[][..]),
    };
    of_vertex.iter().map(|p| &*p.key).chain(of_edge.iter().map(|(key, _)| &**key))
}

/// The names of the parts of elements, chosen to differ from the properties of all rows.
struct TokenNames([&'static str; 4]);

impl TokenNames {
    const ALL: [Token; 4] = [Token::Id, Token::Label, Token::Direction(Direction::Out), Token::Direction(Direction::In)];

    fn beside<'a>(properties: impl Iterator<Item = &'a str>) -> Self {
        let mut taken = [false; 4];
        for property in properties {
            for (taken, token) in taken.iter_mut().zip(Self::ALL) {
                *taken |= property == token_name(token);
            }
        }
        let mut names = Self::ALL.map(token_name);
        for ((name, token), _) in names.iter_mut().zip(Self::ALL).zip(taken).filter(|(_, taken)| *taken) {
            *name = keys::qualified(token);
        }
        Self(names)
    }

    fn of(&self, token: Token) -> &'static str {
        Self::ALL.iter().position(|t| *t == token).map_or(token.name(), |at| self.0[at])
    }
}

fn token_name(token: Token) -> &'static str {
    match token {
        Token::Direction(Direction::Out) => "outV",
        Token::Direction(Direction::In) => "inV",
        other => other.name(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(rows: &[(i64, Value)]) -> Vec<String> {
        let row = |(id, property): &(i64, Value)| {
            let key = |key: Value| Described::Plain(key);
            Described::Map(vec![(key(Token::Id.into()), key((*id).into())), (key("id".into()), key(property.clone()))])
        };
        let results = Results::of_rows(rows.iter().map(row).collect());
        of(&results).columns.into_iter().map(|column| column.name).collect()
    }

    #[test]
    fn an_id_is_shown_twice_only_if_it_differs() {
        assert_eq!(names(&[(1, 1i32.into()), (2, 2i32.into())]), ["id"]);
        assert_eq!(names(&[(1, 1i32.into()), (2, "two".into())]), ["T.id", "id"]);
    }

    #[test]
    fn kinds_that_are_mixed_share_one_column() {
        let property = Described::Property(Box::new(crate::describe::LonePropertyRecord {
            element: Value::Null,
            key: Arc::from("k"),
            value: 1.into(),
        }));
        let mixed = Results::of_rows(vec![Described::Plain(1.into()), property.clone()]);
        let table = of(&mixed);
        assert_eq!((table.columns[0].name.as_str(), table.columns.len(), table.rows), ("value", 1, 2));
        assert_eq!(
            of(&Results::of_rows(vec![property])).columns.iter().map(|c| &c.name[..]).collect::<Vec<_>>(),
            ["key", "value"]
        );
    }
}
