//! Tables of JSON objects: one on each line (JSON Lines), or one array of all. The members of an object are the columns.
//!
//! Integers become int64 (bigint if too large), other numbers doubles, arrays lists, objects maps. A null member counts as missing.
//! If a column has integers and doubles, all become doubles.

use std::io::Read;
use std::sync::Arc;

use hashbrown::{HashMap, HashSet};
use mangrove_graph::{ElementKind, ExternalId, Value, number};

use crate::batches::column::{ColumnType, cell_of_values};
use crate::batches::elements::{EdgeElement, ElementBatches, VertexElement};
use crate::batches::rows::{Event, IdType, LabelSet, RawCell, Sink};
use crate::error::{BadRow, Fault, LoadError, Location};
use crate::tables::arrow_table::as_type;
use crate::tables::plan::{LabelRule, PropertyPlan, TableHints, TablePlan};
use crate::tables::planner::plan_table;
use crate::text::feed::{Objects, Piece};
use crate::text::json::{self, Json};
use crate::text::source::Source;

const SAMPLE_LINES: usize = 1000;

/// Plans a table from the members of its first objects.
pub fn plan(content: &mut impl Read, hints: &TableHints, source: &Source) -> Result<TablePlan, LoadError> {
    let mut feed = Objects::new(content);
    let mut names: Vec<String> = Vec::new();
    let mut known = HashSet::new();
    let mut wrong = None;
    for _ in 0..SAMPLE_LINES {
        let Some(piece) = feed.next().map_err(|e| source.failed(e))? else { break };
        let Ok(text) = std::str::from_utf8(piece.text) else { continue };
        let reason = match json::parse(text) {
            Ok(Json::Object(members)) => {
                let new = members.into_iter().map(|(name, _)| name.into_owned()).filter(|name| known.insert(name.clone()));
                names.extend(new);
                continue;
            }
            Ok(other) => format!("found {}", other.name()),
            Err(error) => error.reason,
        };
        wrong.get_or_insert((piece.line, reason));
    }
    if names.is_empty() {
        let (line, found) = wrong.unwrap_or((1, "the file has none".into()));
        let reason = format!("expected a JSON object on each line: {found}");
        return Err(LoadError::format(Location::at(&source.name, line, 1), reason));
    }
    plan_table(&names, hints, &source.name)
}

/// Reads the rows of a table.
pub fn read(content: impl Read, source: &Source, plan: &TablePlan, sink: &mut Sink<'_>) -> Result<(), LoadError> {
    let mut feed = Objects::new(content);
    let mut reader = JsonlReader {
        plan,
        columns: plan.names.iter().enumerate().map(|(at, name)| (name.clone(), at)).collect(),
        batches: ElementBatches::new(&source.name, true, sink).keyed(plan.key.clone()),
    };
    while let Some(piece) = feed.next().map_err(|e| source.failed(e))? {
        if let Err(wrong) = reader.line(&piece)? {
            let (line, column) = crate::text::csv::locate(piece.line, piece.text, wrong.at);
            let place = Location::at(&source.name, line, column);
            let raw = String::from_utf8_lossy(piece.text).into_owned();
            let bad = BadRow { place, value: wrong.value, fault: wrong.fault, raw };
            reader.batches.send(Event::Reject(Box::new(bad)))?;
        }
    }
    reader.batches.flush()
}

struct JsonlReader<'a, 's> {
    plan: &'a TablePlan,
    columns: HashMap<Arc<str>, usize>,
    batches: ElementBatches<'a, 's>,
}

/// Why a line was refused.
struct Wrong {
    at: usize,
    value: Option<String>,
    fault: Fault,
}

impl Wrong {
    fn new(fault: Fault) -> Self {
        Self { at: 0, value: None, fault }
    }
}

/// The parts of a row while the reader goes through its members.
#[derive(Default)]
struct Row {
    id: Option<ExternalId>,
    source: Option<ExternalId>,
    target: Option<ExternalId>,
    labels: Option<LabelSet>,
    properties: Vec<(Arc<str>, RawCell)>,
}

impl JsonlReader<'_, '_> {
    fn line(&mut self, piece: &Piece<'_>) -> Result<Result<(), Wrong>, LoadError> {
        let row = match self.row(piece.text) {
            Ok(row) => row,
            Err(wrong) => return Ok(Err(wrong)),
        };
        let place = (piece.line, 1);
        let no_id = |index: Option<usize>| {
            let column = index.map(|index| self.plan.names[index].clone()).unwrap_or_default();
            Wrong::new(Fault::NoId { column })
        };
        let labels = row.labels.unwrap_or_else(|| LabelSet::one(self.default_label()));
        match self.plan.kind {
            ElementKind::Vertex => match row.id {
                Some(id) => self.batches.vertex(VertexElement { id, labels, properties: row.properties }, place)?,
                None => return Ok(Err(no_id(self.plan.parts.id))),
            },
            ElementKind::Edge => {
                let Some(source) = row.source else { return Ok(Err(no_id(self.plan.parts.source))) };
                let Some(target) = row.target else { return Ok(Err(no_id(self.plan.parts.target))) };
                let (source_scope, target_scope) = (self.plan.source_scope.clone(), self.plan.target_scope.clone());
                let (id, label, properties) = (row.id, labels.primary, row.properties);
                self.batches
                    .edge(EdgeElement { id, label, source, target, source_scope, target_scope, properties }, place)?;
            }
        }
        Ok(Ok(()))
    }

    fn default_label(&self) -> &Arc<str> {
        match &self.plan.label {
            LabelRule::Fixed(label) | LabelRule::Column { default: label, .. } => label,
        }
    }

    fn row(&self, text: &[u8]) -> Result<Row, Wrong> {
        let text = std::str::from_utf8(text).map_err(|e| Wrong { at: e.valid_up_to(), ..Wrong::new(Fault::NotUtf8) })?;
        let tree = json::parse(text)
            .map_err(|e| Wrong { at: e.at, ..Wrong::new(Fault::Syntax(format!("not JSON: {}", e.reason))) })?;
        let Json::Object(members) = tree else {
            return Err(Wrong::new(Fault::Syntax(format!("expected a JSON object, not {}", tree.name()))));
        };
        let mut row = Row::default();
        for (name, json) in &members {
            if *json != Json::Null {
                self.member(&mut row, name, json)?;
            }
        }
        Ok(row)
    }

    fn member(&self, row: &mut Row, name: &str, json: &Json<'_>) -> Result<(), Wrong> {
        let Some(index) = self.columns.get(name).copied() else {
            // A member that no sampled object had.
            row.properties.push((name.into(), RawCell::One(value_of(json))));
            return Ok(());
        };
        let parts = &self.plan.parts;
        let at = Some(index);
        if at == parts.id || at == parts.source || at == parts.target {
            let id = Some(self.id(index, json)?);
            match at {
                at if at == parts.id => row.id = id,
                at if at == parts.source => row.source = id,
                _ => row.target = id,
            }
        }
        if let LabelRule::Column { index: label, delimiter, .. } = &self.plan.label
            && *label == index
        {
            row.labels = match json {
                Json::String(text) => LabelSet::parse(text, *delimiter),
                _ => return Err(self.misfit(index, json, "string")),
            };
        }
        if let Some(property) = &self.plan.columns[index] {
            let cell = self.cell(property, json).ok_or_else(|| self.misfit(index, json, &property.column_type.name()))?;
            row.properties.push((property.name.clone(), cell));
        }
        Ok(())
    }

    /// The id of a row. It keeps its JSON type, number or string, unless the plan asks for another type.
    fn id(&self, index: usize, json: &Json<'_>) -> Result<ExternalId, Wrong> {
        let id_type = self.plan.id_type;
        let id = match (json, id_type) {
            (Json::Number(text), IdType::Auto | IdType::Int) => text.parse().ok().map(ExternalId::Int),
            (Json::String(text), IdType::Auto) => Some(ExternalId::from(&**text)),
            (Json::Number(text), id_type) => id_type.parse(text.as_bytes()).ok(),
            (Json::String(text), id_type) => id_type.parse(text.as_bytes()).ok(),
            _ => None,
        };
        id.ok_or_else(|| self.misfit(index, json, id_type.name()))
    }

    fn misfit(&self, index: usize, json: &Json<'_>, expected: &str) -> Wrong {
        let value = match json {
            Json::Number(text) => (*text).to_owned(),
            Json::String(text) => text.to_string(),
            other => other.name().to_owned(),
        };
        let column = self.plan.names[index].clone();
        Wrong { at: 0, value: Some(value), fault: Fault::Misfit { column, expected: expected.into() } }
    }

    fn cell(&self, property: &PropertyPlan, json: &Json<'_>) -> Option<RawCell> {
        let value = value_of(json);
        match &property.column_type {
            ColumnType::Inferred(_) | ColumnType::Time(_) | ColumnType::Cells => Some(RawCell::One(value)),
            ColumnType::Declared(t) => as_type(&value, *t).map(RawCell::One),
            ColumnType::Array { item, cardinality } => {
                let items = value.items().unwrap_or_else(|| vec![value]);
                let items = items.iter().map(|value| as_type(value, *item)).collect::<Option<Vec<_>>>()?;
                Some(cell_of_values(items, *cardinality, self.plan.kind == ElementKind::Edge))
            }
        }
    }
}

/// A JSON value as a property.
pub fn value_of(json: &Json<'_>) -> Value {
    match json {
        Json::Null => Value::Null,
        Json::Bool(b) => Value::Bool(*b),
        Json::Number(text) => number(text),
        Json::String(text) => Value::string(text),
        Json::Array(items) => Value::list(items.iter().map(value_of).collect()),
        Json::Object(members) => {
            Value::map(members.iter().map(|(key, value)| (Value::string(key), value_of(value))).collect())
        }
    }
}

fn number(text: &str) -> Value {
    if let Ok(int) = text.parse::<i64>() {
        return Value::Int64(int);
    }
    match (number::big_int(text), text.parse::<f64>()) {
        (Ok(int), _) => int.into(),
        (_, Ok(double)) if double.is_finite() => Value::Float64(double),
        // The parser accepts no other number.
        _ => number::decimal(text).map_or(Value::Null, Value::from),
    }
}
