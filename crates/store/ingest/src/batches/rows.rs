//! The output of readers: batches of rows in columns, with labels, external ids, and the place of every row.

use std::sync::Arc;

use arrow_array::builder::StringBuilder;
use arrow_array::{Array, ArrayRef, StringArray, UInt32Array};
use hashbrown::HashMap;
use mangrove_graph::column::{array_of, value_at};
use mangrove_graph::{ElementKind, ExternalId, Value};

use crate::error::{BadRow, Fault, LoadError, Location, Spot};
use crate::text::csv::{Dialect, field_of, locate};
use crate::text::infer;

/// Why a field was refused.
#[derive(Debug, PartialEq)]
pub enum Misfit {
    Type,
    NotUtf8,
}

/// What a reader reports.
pub enum Event {
    Rows(Box<Rows>),
    Reject(Box<BadRow>),
    Warning(String),
}

/// Receives events. An error stops the reader.
pub type Sink<'a> = dyn FnMut(Event) -> Result<(), LoadError> + 'a;

/// A batch of vertices or of edges.
pub struct Rows {
    pub count: usize,
    pub labels: Labels,
    pub body: Body,
    pub columns: Vec<Column>,
    pub places: Places,
}

pub enum Body {
    Vertices {
        ids: Ids,
        space: Option<Arc<str>>,
        /// The property that is the id.
        key: Option<Arc<str>>,
    },
    Edges {
        ids: Option<Vec<Option<ExternalId>>>,
        source: Ids,
        target: Ids,
        source_scope: Scope,
        target_scope: Scope,
    },
}

impl Body {
    pub fn kind(&self) -> ElementKind {
        match self {
            Body::Vertices { .. } => ElementKind::Vertex,
            Body::Edges { .. } => ElementKind::Edge,
        }
    }
}

/// The vertices among which an edge's end is searched.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Default)]
pub enum Scope {
    #[default]
    Any,
    Label(Arc<str>),
    /// A Neo4j ID space.
    Space(Arc<str>),
}

/// A property of the rows.
pub struct Column {
    pub name: Arc<str>,
    pub values: Values,
    /// Whether the type was inferred, and may widen with later batches.
    pub inferred: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct LabelSet {
    pub primary: Arc<str>,
    pub further: Vec<Arc<str>>,
}

impl LabelSet {
    pub fn one(label: &Arc<str>) -> Self {
        Self { primary: label.clone(), further: Vec::new() }
    }

    /// The labels in `text`, separated by `delimiter`; `None` if there are none.
    pub fn parse(text: &str, delimiter: char) -> Option<Self> {
        let mut parts = text.split(delimiter).map(str::trim).filter(|part| !part.is_empty()).map(Arc::from);
        Some(Self { primary: parts.next()?, further: parts.collect() })
    }
}

/// The labels of each row.
pub struct Labels {
    pub sets: Vec<LabelSet>,
    /// For each row, the position of its set in `sets`. `None`: all rows have the first set.
    pub codes: Option<Vec<u32>>,
}

impl Labels {
    pub fn all(set: LabelSet) -> Self {
        Self { sets: vec![set], codes: None }
    }

    pub fn of(&self, row: usize) -> &LabelSet {
        let code = self.codes.as_ref().map_or(0, |codes| codes[row] as usize);
        &self.sets[code]
    }

    /// The labels of the rows at these positions, without the sets of other rows. O(rows).
    fn pick(&self, rows: &[u32]) -> Self {
        if self.codes.is_none() {
            return Self { sets: self.sets.clone(), codes: None };
        }
        let mut picked = LabelsBuilder::default();
        rows.iter().for_each(|row| picked.add(self.of(*row as usize)));
        picked.finish()
    }
}

/// Builds the labels of a batch, row by row.
#[derive(Default)]
pub struct LabelsBuilder {
    sets: Vec<LabelSet>,
    known: HashMap<LabelSet, u32>,
    codes: Vec<u32>,
}

impl LabelsBuilder {
    /// Adds the labels of the next row. O(1).
    pub fn add(&mut self, labels: &LabelSet) {
        let code = match self.known.get(labels) {
            Some(code) => *code,
            None => {
                let code = self.sets.len() as u32;
                self.sets.push(labels.clone());
                self.known.insert(labels.clone(), code);
                code
            }
        };
        self.codes.push(code);
    }

    pub fn finish(self) -> Labels {
        Labels { sets: self.sets, codes: Some(self.codes) }
    }
}

/// The values of one key for the rows of a batch.
#[derive(Clone, Debug)]
pub enum Values {
    Absent(usize),
    /// Plain values of one type. An Arrow null is an absent value.
    Typed(ArrayRef),
    Cells(Vec<RawCell>),
}

/// Like [`mangrove_graph::Cell`], but meta-properties have names instead of key ids.
#[derive(Clone, Debug, PartialEq, Default)]
pub enum RawCell {
    #[default]
    Absent,
    One(Value),
    Many(Vec<RawValue>),
}

/// Roughly the bytes that a value takes on the heap.
fn value_bytes(value: &Value) -> usize {
    value.memory_bytes(usize::MAX / 4) - size_of::<Value>()
}

#[derive(Clone, Debug, PartialEq)]
pub struct RawValue {
    pub value: Value,
    pub meta: Vec<(Arc<str>, Value)>,
}

impl RawValue {
    pub fn plain(value: Value) -> Self {
        Self { value, meta: Vec::new() }
    }
}

impl RawCell {
    /// Roughly the bytes that the cell takes on the heap.
    pub fn bytes(&self) -> usize {
        match self {
            RawCell::Absent => 0,
            RawCell::One(value) => value_bytes(value),
            RawCell::Many(values) => {
                let meta = |value: &RawValue| value.meta.iter().map(|(_, value)| 32 + value_bytes(value)).sum::<usize>();
                values.iter().map(|value| size_of::<RawValue>() + value_bytes(&value.value) + meta(value)).sum()
            }
        }
    }

    /// The simplest cell that holds these values.
    pub fn from_values(mut values: Vec<RawValue>) -> Self {
        match &values[..] {
            [] => RawCell::Absent,
            [one] if one.meta.is_empty() => RawCell::One(values.remove(0).value),
            _ => RawCell::Many(values),
        }
    }
}

impl Values {
    /// The values of an array whose nulls are absent values.
    pub fn of_array(array: ArrayRef) -> Self {
        if array.null_count() == array.len() { Values::Absent(array.len()) } else { Values::Typed(array) }
    }

    /// The values of cells, as an array if there is a form for them.
    pub fn of_cells(cells: Vec<RawCell>) -> Self {
        if cells.iter().all(|c| *c == RawCell::Absent) {
            return Values::Absent(cells.len());
        }
        let plain = |cell: &RawCell| matches!(cell, RawCell::Absent | RawCell::One(_)) && *cell != RawCell::One(Value::Null);
        if cells.iter().all(plain) {
            let values: Vec<Option<&Value>> = cells
                .iter()
                .map(|cell| match cell {
                    RawCell::One(value) => Some(value),
                    _ => None,
                })
                .collect();
            if let Some(array) = array_of(&values) {
                return Values::Typed(array);
            }
        }
        Values::Cells(cells)
    }

    pub fn len(&self) -> usize {
        match self {
            Values::Absent(n) => *n,
            Values::Typed(array) => array.len(),
            Values::Cells(cells) => cells.len(),
        }
    }

    pub fn cell(&self, row: usize) -> RawCell {
        match self {
            Values::Absent(_) => RawCell::Absent,
            Values::Typed(array) if array.is_null(row) => RawCell::Absent,
            Values::Typed(array) => RawCell::One(value_at(array, row)),
            Values::Cells(cells) => cells[row].clone(),
        }
    }

    /// Whether a row has no value.
    pub fn is_absent(&self, row: usize) -> bool {
        match self {
            Values::Absent(_) => true,
            Values::Typed(array) => array.is_null(row),
            Values::Cells(cells) => matches!(cells[row], RawCell::Absent),
        }
    }

    /// How many values the rows have.
    pub fn present(&self) -> u64 {
        match self {
            Values::Absent(_) => 0,
            Values::Typed(array) => (array.len() - array.null_count()) as u64,
            Values::Cells(cells) => cells.iter().map(RawCell::len).sum(),
        }
    }

    pub fn take(&self, rows: &[u32]) -> Self {
        match self {
            Values::Absent(_) => Values::Absent(rows.len()),
            Values::Typed(array) => {
                let rows = UInt32Array::from(rows.to_vec());
                let taken = arrow_select::take::take(array, &rows, None).expect("rows are within the batch");
                Values::of_array(taken)
            }
            Values::Cells(cells) => Values::Cells(rows.iter().map(|row| cells[*row as usize].clone()).collect()),
        }
    }
}

impl RawCell {
    fn len(&self) -> u64 {
        match self {
            RawCell::Absent => 0,
            RawCell::One(_) => 1,
            RawCell::Many(values) => values.len() as u64,
        }
    }
}

/// The external ids of a batch.
#[derive(Clone, Debug)]
pub enum Ids {
    Ints(Vec<i64>),
    Strings(StringArray),
    Any(Vec<ExternalId>),
}

impl Ids {
    pub fn len(&self) -> usize {
        match self {
            Ids::Ints(ids) => ids.len(),
            Ids::Strings(ids) => ids.len(),
            Ids::Any(ids) => ids.len(),
        }
    }

    pub fn get(&self, row: usize) -> ExternalId {
        match self {
            Ids::Ints(ids) => ExternalId::Int(ids[row]),
            Ids::Strings(ids) => ExternalId::from(ids.value(row)),
            Ids::Any(ids) => ids[row].clone(),
        }
    }

    pub fn take(&self, rows: &[u32]) -> Self {
        match self {
            Ids::Ints(ids) => Ids::Ints(rows.iter().map(|row| ids[*row as usize]).collect()),
            Ids::Strings(ids) => Ids::Strings(rows.iter().map(|row| Some(ids.value(*row as usize))).collect()),
            Ids::Any(ids) => Ids::Any(rows.iter().map(|row| ids[*row as usize].clone()).collect()),
        }
    }
}

/// The type of the ids in an id column of text.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum IdType {
    /// An integer if the text reads as one, else a string. Decided value by value, so that files agree.
    #[default]
    Auto,
    Int,
    String,
    Uuid,
}

impl IdType {
    pub fn name(self) -> &'static str {
        match self {
            IdType::Auto => "id",
            IdType::Int => "int64",
            IdType::String => "string",
            IdType::Uuid => "uuid",
        }
    }

    pub fn from_name(name: &str) -> Option<Self> {
        Some(match name.trim().to_ascii_lowercase().as_str() {
            "auto" => IdType::Auto,
            "int" | "long" | "integer" | "int64" => IdType::Int,
            "string" => IdType::String,
            "uuid" => IdType::Uuid,
            _ => return None,
        })
    }

    pub fn parse(self, text: &[u8]) -> Result<ExternalId, Misfit> {
        if matches!(self, IdType::Auto | IdType::Int)
            && let Some(id) = infer::parse_int(text.trim_ascii())
        {
            return Ok(ExternalId::Int(id));
        }
        let text = std::str::from_utf8(text).map_err(|_| Misfit::NotUtf8)?;
        match self {
            IdType::Int => text.trim().parse().map(ExternalId::Int).map_err(|_| Misfit::Type),
            IdType::Uuid => text.trim().parse().map(ExternalId::Uuid).map_err(|_| Misfit::Type),
            IdType::Auto | IdType::String => Ok(ExternalId::from(text)),
        }
    }
}

/// Gathers ids from text in the fastest form that holds all of them.
pub struct IdBuilder {
    id_type: IdType,
    ids: Building,
}

enum Building {
    Ints(Vec<i64>),
    Strings(StringBuilder),
    Any(Vec<ExternalId>),
}

impl IdBuilder {
    pub fn new(id_type: IdType) -> Self {
        Self { id_type, ids: Building::Ints(Vec::new()) }
    }

    #[inline]
    pub fn push(&mut self, text: &[u8]) -> Result<(), Misfit> {
        if matches!(self.id_type, IdType::Auto | IdType::Int)
            && let (Building::Ints(ids), Some(id)) = (&mut self.ids, infer::parse_int(text))
        {
            ids.push(id);
            return Ok(());
        }
        self.push_id(self.id_type.parse(text)?);
        Ok(())
    }

    pub fn push_id(&mut self, id: ExternalId) {
        match (&mut self.ids, id) {
            (Building::Ints(ids), ExternalId::Int(id)) => ids.push(id),
            (Building::Strings(ids), ExternalId::String(id)) => ids.append_value(&id),
            (Building::Any(ids), id) => ids.push(id),
            (Building::Ints(ids), ExternalId::String(id)) if ids.is_empty() => {
                let mut strings = StringBuilder::new();
                strings.append_value(&id);
                self.ids = Building::Strings(strings);
            }
            (_, id) => {
                let before = self.finish();
                let mut ids: Vec<ExternalId> = (0..before.len()).map(|row| before.get(row)).collect();
                ids.push(id);
                self.ids = Building::Any(ids);
            }
        }
    }

    /// Adds a placeholder for a row that will be dropped.
    pub fn push_placeholder(&mut self) {
        match &mut self.ids {
            Building::Ints(ids) => ids.push(0),
            Building::Strings(ids) => ids.append_value(""),
            Building::Any(ids) => ids.push(ExternalId::Int(0)),
        }
    }

    /// Returns the ids so far and starts over.
    pub fn finish(&mut self) -> Ids {
        let room = match &self.ids {
            Building::Ints(ids) => ids.len(),
            _ => 0,
        };
        match std::mem::replace(&mut self.ids, Building::Ints(Vec::with_capacity(room))) {
            Building::Ints(ids) => Ids::Ints(ids),
            Building::Strings(mut ids) => Ids::Strings(ids.finish()),
            Building::Any(ids) => Ids::Any(ids),
        }
    }
}

/// The part of a row that a fault of the loader refers to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Part {
    Id,
    Source,
    Target,
}

/// The places of a batch's rows, and the text there.
pub struct Places {
    pub file: Arc<str>,
    pub kind: Arc<PlaceKind>,
    /// The rows of `kind` that the batch still has. `None`: all of them.
    pub kept: Option<Vec<u32>>,
}

pub enum PlaceKind {
    Text {
        dialect: Dialect,
        text: Vec<u8>,
        starts: Vec<u32>,
        lines: Vec<u64>,
        parts: PartFields,
    },
    Lines(Vec<(u64, u64)>),
    /// Consecutive rows that start at this one.
    Rows(u64),
}

/// The fields that hold the ids.
#[derive(Clone, Copy, Default, Debug)]
pub struct PartFields {
    pub id: Option<usize>,
    pub source: Option<usize>,
    pub target: Option<usize>,
}

impl PartFields {
    fn get(&self, part: Part) -> Option<usize> {
        match part {
            Part::Id => self.id,
            Part::Source => self.source,
            Part::Target => self.target,
        }
    }
}

impl Places {
    pub fn new(file: &Arc<str>, kind: PlaceKind) -> Self {
        Self { file: file.clone(), kind: Arc::new(kind), kept: None }
    }

    fn pick(&self, rows: &[u32]) -> Self {
        let kept = match &self.kept {
            Some(kept) => rows.iter().map(|row| kept[*row as usize]).collect(),
            None => rows.to_vec(),
        };
        Self { file: self.file.clone(), kind: self.kind.clone(), kept: Some(kept) }
    }

    /// A bad row with its place and text.
    pub fn bad_row(&self, row: usize, part: Part, value: String, fault: Fault) -> BadRow {
        let (place, raw) = self.locate(row, part);
        BadRow { place, value: Some(value), fault, raw }
    }

    /// Where a part of a row is, and the text of the row.
    pub fn locate(&self, row: usize, part: Part) -> (Location, String) {
        let row = self.kept.as_ref().map_or(row, |kept| kept[row] as usize);
        let (spot, raw) = match &*self.kind {
            PlaceKind::Rows(first) => (Spot::Row(first + row as u64), String::new()),
            PlaceKind::Lines(places) => {
                let (line, column) = places[row];
                (Spot::Line { line, column }, String::new())
            }
            PlaceKind::Text { dialect, text, starts, lines, parts } => {
                let start = starts[row] as usize;
                let end = starts.get(row + 1).map_or(text.len(), |next| *next as usize);
                let raw = &text[start..end];
                let at = parts.get(part).and_then(|index| field_of(raw, *dialect, index)).map_or(0, |(at, _)| at);
                let (line, column) = locate(lines[row], raw, at);
                (Spot::Line { line, column }, String::from_utf8_lossy(raw).into_owned())
            }
        };
        (Location { file: self.file.clone(), spot }, raw)
    }
}

impl Rows {
    /// Only the rows at these positions.
    pub fn pick(&self, rows: &[u32]) -> Self {
        let body = match &self.body {
            Body::Vertices { ids, space, key } => {
                Body::Vertices { ids: ids.take(rows), space: space.clone(), key: key.clone() }
            }
            Body::Edges { ids, source, target, source_scope, target_scope } => Body::Edges {
                ids: ids.as_ref().map(|ids| rows.iter().map(|row| ids[*row as usize].clone()).collect()),
                source: source.take(rows),
                target: target.take(rows),
                source_scope: source_scope.clone(),
                target_scope: target_scope.clone(),
            },
        };
        let column = |c: &Column| Column { name: c.name.clone(), values: c.values.take(rows), inferred: c.inferred };
        Self {
            count: rows.len(),
            labels: self.labels.pick(rows),
            body,
            columns: self.columns.iter().map(column).collect(),
            places: self.places.pick(rows),
        }
    }

    /// All rows except `dropped`, which is sorted.
    pub fn without(self, dropped: &[u32]) -> Self {
        if dropped.is_empty() {
            return self;
        }
        let mut dropped = dropped.iter().peekable();
        let kept: Vec<u32> = (0..self.count as u32).filter(|row| dropped.next_if(|next| *next == row).is_none()).collect();
        self.pick(&kept)
    }
}
