//! Results as rows and named columns; what CSV, terminal tables and Arrow are made of.
//!
//! | results | columns |
//! |---|---|
//! | maps (`project`, `select`, `valueMap`, `elementMap`) | one for each key, in the order first met |
//! | vertices | `id`, `label`, then one for each property |
//! | edges | `id`, `label`, `outV`, `inV`, then one for each property |
//! | map entries, properties | `key`, `value` |
//! | anything else, kinds mixed, or maps whose keys are no names | `value` |
//!
//! A property keeps its name, and an element's own id becomes `T.id` beside a property `id`;
//! where the two are the same in every row there is one column.

use std::collections::HashMap;

use mangrove_graph::{Direction, Token, Value, compare};

use crate::describe::{Described, EdgeRecord, PropertyRecord, VertexRecord};
use crate::keys;

#[derive(Clone, Debug, Default)]
pub struct Table {
    pub rows: usize,
    pub columns: Vec<Column>,
}

#[derive(Clone, Debug)]
pub struct Column {
    pub name: String,
    /// One for each row; `None` where the row has nothing under this name.
    pub cells: Vec<Option<Described>>,
}

/// Lays results out in columns.
pub fn of(rows: Vec<Described>) -> Table {
    let mut table = Builder::default();
    match common_shape(&rows) {
        Shape::Maps => table.add_maps(rows),
        Shape::Elements => table.add_elements(rows),
        Shape::Entries => rows.into_iter().for_each(|row| table.add_entry(row)),
        Shape::Values => rows.into_iter().for_each(|row| table.add(vec![("value".into(), row)])),
    }
    table.finish()
}

#[derive(Clone, Copy, PartialEq)]
enum Shape {
    Values,
    Maps,
    Elements,
    Entries,
}

fn shape(row: &Described) -> Option<Shape> {
    Some(match row {
        Described::Plain(Value::Null) => return None,
        Described::Map(entries) if keys::names(entries).is_some() => Shape::Maps,
        Described::Vertex(_) | Described::Edge(_) => Shape::Elements,
        Described::Entry(_) | Described::Property { .. } | Described::VertexProperty(_) => Shape::Entries,
        _ => Shape::Values,
    })
}

/// The shape of all rows that are not null.
fn common_shape(rows: &[Described]) -> Shape {
    let mut shapes = rows.iter().filter_map(shape);
    let Some(first) = shapes.next() else { return Shape::Values };
    if shapes.all(|shape| shape == first) { first } else { Shape::Values }
}

/// Rows whose columns are met as they come.
#[derive(Default)]
struct Builder {
    table: Table,
    by_name: HashMap<String, usize>,
}

impl Builder {
    fn add(&mut self, row: Vec<(String, Described)>) {
        let before = self.table.rows;
        for (name, cell) in row {
            let at = *self.by_name.entry(name).or_insert_with_key(|name| {
                self.table.columns.push(Column { name: name.clone(), cells: Vec::new() });
                self.table.columns.len() - 1
            });
            let cells = &mut self.table.columns[at].cells;
            cells.resize(before, None);
            cells.push(Some(cell));
        }
        self.table.rows += 1;
    }

    fn add_maps(&mut self, rows: Vec<Described>) {
        let strings: Vec<String> = rows.iter().flat_map(string_keys).map(str::to_owned).collect();
        let token_names = TokenNames::beside(strings.iter().map(String::as_str));
        for row in rows {
            let Described::Map(entries) = row else {
                self.add(Vec::new());
                continue;
            };
            let name = |(key, value): (Described, Described)| {
                let name = match &key {
                    Described::Plain(Value::Token(token)) => token_names.of(*token).to_owned(),
                    Described::Plain(value) => value.to_string(),
                    _ => unreachable!("a map with names has plain keys"),
                };
                (name, value)
            };
            self.add(entries.into_iter().map(name).collect());
        }
    }

    fn add_elements(&mut self, rows: Vec<Described>) {
        let token_names = TokenNames::beside(rows.iter().flat_map(property_names));
        let heads = rows.iter().any(|row| matches!(row, Described::Edge(_)));
        let tokens = if heads { &TokenNames::ALL[..] } else { &TokenNames::ALL[..2] };
        for token in tokens {
            self.by_name.insert(token_names.of(*token).into(), self.table.columns.len());
            self.table.columns.push(Column { name: token_names.of(*token).into(), cells: Vec::new() });
        }
        for row in rows {
            self.add(match row {
                Described::Vertex(record) => vertex_row(*record, &token_names),
                Described::Edge(record) => edge_row(*record, &token_names),
                _ => Vec::new(),
            });
        }
    }

    fn add_entry(&mut self, row: Described) {
        let (key, value) = match row {
            Described::Entry(entry) => *entry,
            Described::Property { key, value } => (Described::Plain(key.into()), Described::Plain(value)),
            Described::VertexProperty(record) => (Described::Plain(record.key.into()), Described::Plain(record.value)),
            _ => return self.add(Vec::new()),
        };
        self.add(vec![("key".into(), key), ("value".into(), value)]);
    }

    fn finish(mut self) -> Table {
        for column in &mut self.table.columns {
            column.cells.resize(self.table.rows, None);
        }
        for token in [Token::Id, Token::Label] {
            merge_if_same(&mut self.table.columns, token);
        }
        self.table
    }
}

/// Tables of vertices are often loaded from files whose column `id` stays a property: it need not be shown twice.
fn merge_if_same(columns: &mut Vec<Column>, token: Token) {
    let find = |name: &str| columns.iter().position(|column| column.name == name);
    let (Some(own), Some(property)) = (find(keys::qualified(token)), find(token.name())) else { return };
    let same = |(a, b): (&Option<Described>, &Option<Described>)| match (a, b) {
        (Some(Described::Plain(a)), Some(Described::Plain(b))) => compare::equals(a, b),
        _ => false,
    };
    if columns[own].cells.iter().zip(&columns[property].cells).all(same) {
        columns[own].name = token.name().to_owned();
        columns.remove(property);
    }
}

fn vertex_row(record: VertexRecord, names: &TokenNames) -> Vec<(String, Described)> {
    let mut row = Vec::with_capacity(2 + record.properties.len());
    row.push((names.of(Token::Id).into(), Described::Plain(record.id)));
    row.push((names.of(Token::Label).into(), Described::Plain(record.label.into())));
    row.extend(record.properties.into_iter().map(|property| (property.key.to_string(), property_cell(property))));
    row
}

fn property_cell(property: PropertyRecord) -> Described {
    let mut values = property.values.into_iter().map(|value| value.value);
    match values.len() {
        1 if !property.many => Described::Plain(values.next().unwrap_or_default()),
        _ => Described::Plain(Value::list(values.collect())),
    }
}

fn edge_row(record: EdgeRecord, names: &TokenNames) -> Vec<(String, Described)> {
    let own = [
        (Token::Id, record.id),
        (Token::Label, record.label.into()),
        (Token::Direction(Direction::Out), record.source.id),
        (Token::Direction(Direction::In), record.target.id),
    ];
    let own = own.into_iter().map(|(token, value)| (names.of(token).to_owned(), Described::Plain(value)));
    own.chain(record.properties.into_iter().map(|(key, value)| (key.to_string(), Described::Plain(value)))).collect()
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

/// What the parts of elements are called beside the properties of all rows.
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
    use std::sync::Arc;

    fn names(rows: &[(i64, Value)]) -> Vec<String> {
        let row = |(id, property): &(i64, Value)| {
            let key = |key: Value| Described::Plain(key);
            Described::Map(vec![(key(Token::Id.into()), key((*id).into())), (key("id".into()), key(property.clone()))])
        };
        of(rows.iter().map(row).collect()).columns.into_iter().map(|column| column.name).collect()
    }

    #[test]
    fn an_id_is_shown_twice_only_if_it_differs() {
        assert_eq!(names(&[(1, 1i32.into()), (2, 2i32.into())]), ["id"]);
        assert_eq!(names(&[(1, 1i32.into()), (2, "two".into())]), ["T.id", "id"]);
    }

    #[test]
    fn kinds_that_are_mixed_share_one_column() {
        let property = Described::Property { key: Arc::from("k"), value: 1.into() };
        let table = of(vec![Described::Plain(1.into()), property.clone()]);
        assert_eq!((table.columns[0].name.as_str(), table.columns.len(), table.rows), ("value", 1, 2));
        assert_eq!(of(vec![property]).columns.iter().map(|c| &c.name[..]).collect::<Vec<_>>(), ["key", "value"]);
    }
}
