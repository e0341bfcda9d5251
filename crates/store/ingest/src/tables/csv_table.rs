//! Tables in CSV. The header and a sample give a plan; then rows become columns.
//!
//! ```text
//! records --8k fields--> column by column: ids, label codes, property builders --32k rows or 8 MB--> Rows
//!    |                                          |
//!    +----------- text and line kept -----------+--> bad row: place, value, reason, text
//! ```

use std::io::Read;
use std::sync::Arc;

use hashbrown::HashMap;
use mangrove_graph::ElementKind;

use crate::batches::column::{ColumnBuilder, ColumnType, Text};
use crate::batches::rows::{Body, Column, Event, IdBuilder, LabelSet, Labels, Misfit, PlaceKind, Places, Rows, Sink};
use crate::error::{BadRow, Fault, LoadError, Location};
use crate::tables::plan::{LabelRule, PropertyPlan, TableHints, TablePlan};
use crate::tables::planner::plan_table;
use crate::text::csv::{CsvReader, Dialect, Field, Quoting, Record, Step, detect_delimiter, locate};
use crate::text::infer::Inferred;
use crate::text::mapping_text::{TableText, quoted};
use crate::text::source::{Source, read_some};

const BATCH_ROWS: usize = 32_768;
const BATCH_BYTES: usize = 8 << 20;
/// A sample ends after this many bytes or records of a file.
const SAMPLE_BYTES: usize = 1 << 20;
const SAMPLE_RECORDS: usize = 10_000;

/// A CSV file and how to read it.
#[derive(Clone, Debug)]
pub struct CsvTable {
    pub dialect: Dialect,
    /// The first line names the columns.
    pub has_header: bool,
    /// Unquoted fields that mean no value, besides blank ones.
    pub nulls: Arc<[String]>,
    pub plan: TablePlan,
}

/// Facts about a file's dialect before the file is read.
#[derive(Clone, Debug)]
pub struct DialectHints {
    /// `None` detects it.
    pub delimiter: Option<u8>,
    pub quote: Option<u8>,
    /// Skip lines that begin with it.
    pub comment: Option<u8>,
    pub nulls: Arc<[String]>,
}

impl Default for DialectHints {
    fn default() -> Self {
        Self { delimiter: None, quote: Some(b'"'), comment: None, nulls: Arc::default() }
    }
}

/// Plans a table from the beginning of its content.
pub fn plan_csv(
    content: &mut impl Read,
    given: DialectHints,
    hints: &TableHints,
    source: &Source,
) -> Result<CsvTable, LoadError> {
    let mut sample = vec![0; SAMPLE_BYTES];
    let read = read_some(content, &mut sample).map_err(|e| source.failed(e))?;
    sample.truncate(read);
    let guess = || detect_delimiter(&sample, given.comment);
    let dialect = Dialect { delimiter: given.delimiter.unwrap_or_else(guess), quote: given.quote, comment: given.comment };
    let mut reader = CsvReader::new(&sample[..], dialect);
    let columns = hints.mapping.as_ref().and_then(|mapping| mapping.columns.clone());
    let has_header = columns.is_none();
    let names = match columns {
        Some(columns) => columns,
        None => header(&mut reader, source)?,
    };
    let mut plan = plan_table(&names, hints, &source.name)?;
    infer_columns(&mut plan, reader, &given.nulls, read == SAMPLE_BYTES, source)?;
    Ok(CsvTable { dialect, has_header, nulls: given.nulls, plan })
}

fn header<R: Read>(reader: &mut CsvReader<R>, source: &Source) -> Result<Vec<String>, LoadError> {
    let dialect = reader.dialect();
    let file = &source.name;
    match reader.step().map_err(|e| source.failed(e))? {
        Step::End => {
            Err(LoadError::format(Location::file(file), "the file is empty: a table begins with a line of column names"))
        }
        Step::Broken(broken) => {
            let (line, column) = locate(broken.line, &broken.text, broken.at);
            Err(LoadError::format(Location::at(file, line, column), broken.fault.to_string()))
        }
        Step::Record(record) => {
            let name = |field: &Field| String::from_utf8(field.content(record.text, dialect.quote).into_owned());
            let names: Result<Vec<String>, _> = record.fields.iter().map(name).collect();
            let names = names.map_err(|_| LoadError::format(Location::at(file, 1, 1), Fault::NotUtf8.to_string()))?;
            if record.text.contains(&b'\r') {
                let reason = "lines end in a bare carriage return: convert the file to line feeds";
                return Err(LoadError::format(Location::at(file, 1, 1), reason));
            }
            let number = |name: &String| matches!(Inferred::of(name.as_bytes()), Inferred::Int | Inferred::Double);
            if names.iter().all(number) {
                let edges = match names.len() {
                    2 | 3 => ". If each line is an edge of two ids, give --format edgelist",
                    _ => "",
                };
                let reason = format!(
                    "the first line must name the columns, but holds only numbers: add a line of names, or give them as \
                     `columns` in a mapping file (`mangrove docs load`){edges}"
                );
                return Err(LoadError::format(Location::at(file, record.line, 1), reason));
            }
            if let [name] = &names[..]
                && name.starts_with(['#', '%'])
            {
                let reason = format!(
                    "the first line must name the columns, but `{name}` looks like a comment: remove it, or put a line of names there. For a list of neighbours (an adjlist of NetworkX), load the graph that networkx.read_adjlist() gives"
                );
                return Err(LoadError::format(Location::at(file, record.line, 1), reason));
            }
            if let [name] = &names[..]
                && name.trim().contains([' ', '\t'])
            {
                let reason = format!(
                    "the header `{name}` is one column with blanks in its name. If blanks separate the columns, give --delimiter ' '. If each line is an edge of two ids, give --format edgelist"
                );
                return Err(LoadError::format(Location::at(file, record.line, 1), reason));
            }
            Ok(names)
        }
    }
}

/// Gives each inferred column the type that its sample needs.
fn infer_columns(
    plan: &mut TablePlan,
    mut reader: CsvReader<&[u8]>,
    nulls: &[String],
    cut_short: bool,
    source: &Source,
) -> Result<(), LoadError> {
    let dialect = reader.dialect();
    let mut samples = vec![Sample::default(); plan.columns.len()];
    let mut first_texts: Vec<Option<FirstText>> = vec![None; plan.columns.len()];
    let mut before_last = samples.clone();
    let mut last = 0;
    for number in 0..SAMPLE_RECORDS {
        match reader.step().map_err(|e| source.failed(e))? {
            Step::Record(record) if record.fields.len() == samples.len() => {
                before_last.copy_from_slice(&samples);
                last = number;
                for ((field, sample), first) in record.fields.iter().zip(&mut samples).zip(&mut first_texts) {
                    let content = field.content(record.text, dialect.quote);
                    if is_null(*field, &content, nulls) {
                        continue;
                    }
                    let makes_text = sample.add(Inferred::of(&content));
                    if makes_text && first.is_none() {
                        let quote = usize::from(field.quoting != Quoting::Bare);
                        let (line, column) = locate(record.line, record.text, field.start as usize - quote);
                        let place = Location::at(&source.name, line, column);
                        let value = String::from_utf8_lossy(&content).into_owned();
                        *first = Some(FirstText { number, place, value, is_first: sample.others_count == 0 });
                    }
                }
            }
            Step::End if cut_short => {
                samples = before_last; // the sample may cut the last record short
                first_texts.iter_mut().for_each(|first| drop(first.take_if(|first| first.number == last)));
                break;
            }
            Step::End => break,
            Step::Record(_) | Step::Broken(_) => {}
        }
    }
    for ((column, sample), first) in plan.columns.iter_mut().zip(samples).zip(first_texts) {
        if let Some(column) = column
            && let ColumnType::Inferred(t) = &mut column.column_type
        {
            *t = sample.found;
            plan.warnings.extend(first.and_then(|first| sample.warning(first, &column.name)));
        }
    }
    Ok(())
}

/// What the sample of a column holds.
#[derive(Clone, Copy, Default)]
struct Sample {
    found: Inferred,
    /// The narrowest type of the fields that have not made the column text.
    others: Inferred,
    others_count: u64,
    texts: u64,
}

/// The first field that made a column text.
#[derive(Clone)]
struct FirstText {
    /// The number of its record.
    number: usize,
    place: Location,
    value: String,
    /// No field of another type came before it.
    is_first: bool,
}

impl Sample {
    /// Returns whether the field makes the column text.
    fn add(&mut self, of_field: Inferred) -> bool {
        self.found = self.found.join(of_field);
        let joined = self.others.join(of_field);
        let makes_text = joined == Inferred::Text;
        if makes_text {
            self.texts += 1;
        } else if of_field != Inferred::Nothing {
            (self.others, self.others_count) = (joined, self.others_count + 1);
        }
        makes_text
    }

    /// A warning if a few fields make a column text that would have another type without them.
    fn warning(self, first: FirstText, column: &str) -> Option<String> {
        let is_likely = self.others_count > 0 && (!first.is_first || self.others_count >= self.texts);
        is_likely.then(|| became_text(&first.place, &first.value, column, self.others))
    }
}

/// The warning of a field that makes a column text, though other rows have another type.
fn became_text(place: &Location, value: &str, column: &str, others: Inferred) -> String {
    let others = others.value_type().name();
    format!(
        "{place}: `{value}` makes `{column}` a column of text; other rows hold {others}. To reject such rows, give the column a \
         type, as in the header `{column}:{others}`. To read the value as missing, list it as a null: --null '{value}'"
    )
}

/// Whether a field means no value.
fn is_null(field: Field, content: &[u8], nulls: &[String]) -> bool {
    field.quoting == Quoting::Bare && nulls.iter().any(|null| null.as_bytes() == content.trim_ascii())
}

/// Reads the rows of a table.
pub fn read_csv(content: impl Read, source: &Source, table: &CsvTable, sink: &mut Sink<'_>) -> Result<(), LoadError> {
    let mut reader = CsvReader::new(content, table.dialect);
    if table.has_header {
        header(&mut reader, source)?;
    }
    let mut assembler = Assembler::new(source, table);
    loop {
        match reader.step().map_err(|e| source.failed(e))? {
            Step::Record(record) => {
                assembler.record(&record, sink)?;
                if assembler.is_full() {
                    sink(Event::Rows(Box::new(assembler.finish())))?;
                }
            }
            Step::Broken(broken) => {
                let (line, column) = locate(broken.line, &broken.text, broken.at);
                let ends_file = broken.fault.ends_file();
                let place = Location::at(&source.name, line, column);
                let raw = String::from_utf8_lossy(&broken.text).into_owned();
                sink(Event::Reject(Box::new(BadRow { place: place.clone(), value: None, fault: broken.fault, raw })))?;
                if ends_file {
                    sink(Event::Warning(format!("{place}: the rest of the file could not be read")))?;
                }
            }
            Step::End => break,
        }
    }
    if assembler.rows > 0 {
        assembler.settle(sink)?;
        sink(Event::Rows(Box::new(assembler.finish())))?;
    }
    Ok(())
}

/// The use of one column.
struct Slot {
    part: Option<SlotPart>,
    property: Option<ColumnBuilder>,
}

#[derive(Clone, Copy)]
enum SlotPart {
    Id,
    Source,
    Target,
    Label,
}

struct Assembler<'a> {
    source: &'a Source,
    table: &'a CsvTable,
    slots: Vec<Slot>,
    ids: IdBuilder,
    source_ids: IdBuilder,
    target_ids: IdBuilder,
    /// For each row of edges, whether it has no id of its own.
    no_ids: Vec<bool>,
    labels: LabelCodes,
    rows: usize,
    dropped: Vec<u32>,
    /// The text of the rows, one after the other; `starts` says where each begins.
    text: Vec<u8>,
    starts: Vec<u32>,
    lines: Vec<u64>,
    /// The waiting fields: their columns have not taken them yet. Positions refer to `text`.
    fields: Vec<Field>,
}

/// Most fields that wait until the columns take them, one column after the other. Few enough to stay in the nearest caches.
const WAITING_FIELDS: usize = 8192;

impl<'a> Assembler<'a> {
    fn new(source: &'a Source, table: &'a CsvTable) -> Self {
        let plan = &table.plan;
        let label_column = match &plan.label {
            LabelRule::Column { index, .. } => Some(*index),
            LabelRule::Fixed(_) => None,
        };
        let slot = |index: usize| {
            let part = match Some(index) {
                at if at == plan.parts.id => Some(SlotPart::Id),
                at if at == plan.parts.source => Some(SlotPart::Source),
                at if at == plan.parts.target => Some(SlotPart::Target),
                at if at == label_column => Some(SlotPart::Label),
                _ => None,
            };
            let on_edges = plan.kind == ElementKind::Edge;
            let builder = |p: &PropertyPlan| ColumnBuilder::new(p.column_type.clone(), plan.array_delimiter, on_edges);
            Slot { part, property: plan.columns[index].as_ref().map(builder) }
        };
        Self {
            source,
            table,
            slots: (0..plan.columns.len()).map(slot).collect(),
            ids: IdBuilder::new(plan.id_type),
            source_ids: IdBuilder::new(plan.id_type),
            target_ids: IdBuilder::new(plan.id_type),
            no_ids: Vec::new(),
            labels: LabelCodes::new(&plan.label),
            rows: 0,
            dropped: Vec::new(),
            text: Vec::new(),
            starts: Vec::new(),
            lines: Vec::new(),
            fields: Vec::new(),
        }
    }

    fn is_full(&self) -> bool {
        self.rows >= BATCH_ROWS || self.text.len() >= BATCH_BYTES
    }

    fn record(&mut self, record: &Record<'_>, sink: &mut Sink<'_>) -> Result<(), LoadError> {
        let expected = self.slots.len();
        if record.fields.len() != expected {
            let fault = Fault::FieldCount { found: record.fields.len(), expected };
            let at = record.fields.get(expected).map_or(record.text.len(), |field| field.start as usize);
            return sink(Event::Reject(Box::new(self.bad_row(record.line, record.text, at, None, fault))));
        }
        let base = self.text.len() as u32;
        self.fields.extend(record.fields.iter().map(|f| Field { start: base + f.start, end: base + f.end, ..*f }));
        self.starts.push(base);
        self.text.extend_from_slice(record.text);
        self.lines.push(record.line);
        self.rows += 1;
        if self.fields.len() >= WAITING_FIELDS || self.is_full() { self.settle(sink) } else { Ok(()) }
    }

    fn bad_row(&self, line: u64, text: &[u8], at: usize, value: Option<String>, fault: Fault) -> BadRow {
        let (line, column) = locate(line, text, at);
        let raw = String::from_utf8_lossy(text).into_owned();
        BadRow { place: Location::at(&self.source.name, line, column), value, fault, raw }
    }

    /// Hands the waiting fields to their columns. Each column grows by one for each row, even for a bad row.
    fn settle(&mut self, sink: &mut Sink<'_>) -> Result<(), LoadError> {
        let mut faults: Vec<(usize, usize, Fault)> = Vec::new();
        let mut widened: Vec<(usize, usize, Inferred)> = Vec::new();
        let width = self.slots.len();
        for index in 0..width {
            if self.slots[index].part.is_some() {
                self.settle_part(index, &mut faults);
            }
            if let Some(property) = &mut self.slots[index].property {
                let contents = contents(&self.fields, &self.text, index, width, self.table);
                let texts = contents.iter();
                let table = self.table;
                property.push_all(texts, |row, misfit| faults.push((row, index, table.fault(index, misfit))));
                widened.extend(property.became_text().map(|(row, before)| (row, index, before)));
            }
        }
        let first_row = self.rows - self.fields.len() / width;
        let fields = std::mem::take(&mut self.fields);
        for (row, index, before) in widened {
            let bad = self.bad_field(first_row + row, fields[row * width + index], Fault::NotUtf8);
            let column = &self.table.plan.names[index];
            sink(Event::Warning(became_text(&bad.place, &bad.value.unwrap_or_default(), column, before)))?;
        }
        faults.sort_by_key(|(row, index, _)| (*row, *index));
        faults.dedup_by_key(|(row, ..)| *row);
        for (row, index, fault) in faults {
            let field = fields[row * width + index];
            let row = first_row + row;
            self.dropped.push(row as u32);
            sink(Event::Reject(Box::new(self.bad_field(row, field, fault))))?;
        }
        self.fields = fields;
        self.fields.clear();
        Ok(())
    }

    fn bad_field(&self, row: usize, field: Field, fault: Fault) -> BadRow {
        let start = self.starts[row] as usize;
        let end = self.starts.get(row + 1).map_or(self.text.len(), |next| *next as usize);
        let quote = usize::from(field.quoting != Quoting::Bare);
        let value = String::from_utf8_lossy(&field.content(&self.text, self.table.dialect.quote)).into_owned();
        let at = field.start as usize - quote - start;
        self.bad_row(self.lines[row], &self.text[start..end], at, Some(value), fault)
    }

    /// Hands the ids or labels of a column to their builder.
    fn settle_part(&mut self, index: usize, faults: &mut Vec<(usize, usize, Fault)>) {
        let is_edge = self.table.plan.kind == ElementKind::Edge;
        let contents = contents(&self.fields, &self.text, index, self.slots.len(), self.table);
        let ids = match self.slots[index].part {
            Some(SlotPart::Id) => &mut self.ids,
            Some(SlotPart::Source) => &mut self.source_ids,
            Some(SlotPart::Target) => &mut self.target_ids,
            Some(SlotPart::Label) => {
                for (row, text) in contents.iter().enumerate() {
                    if let Err(misfit) = self.labels.push(text.bytes) {
                        faults.push((row, index, self.table.fault(index, misfit)));
                    }
                }
                return;
            }
            None => return,
        };
        let optional = is_edge && matches!(self.slots[index].part, Some(SlotPart::Id));
        for (row, text) in contents.iter().enumerate() {
            let blank = text.bytes.is_empty() && !text.quoted;
            if optional {
                self.no_ids.push(blank);
            }
            if blank {
                ids.push_placeholder();
                if !optional {
                    faults.push((row, index, self.table.no_id(index)));
                }
            } else if let Err(misfit) = ids.push(text.bytes) {
                ids.push_placeholder();
                faults.push((row, index, self.table.fault(index, misfit)));
            }
        }
    }

    fn finish(&mut self) -> Rows {
        let plan = &self.table.plan;
        let body = match plan.kind {
            ElementKind::Vertex => {
                Body::Vertices { ids: self.ids.finish(), space: plan.space.clone(), key: plan.key.clone() }
            }
            ElementKind::Edge => Body::Edges {
                ids: self.edge_ids(),
                source: self.source_ids.finish(),
                target: self.target_ids.finish(),
                source_scope: plan.source_scope.clone(),
                target_scope: plan.target_scope.clone(),
            },
        };
        let columns = self.slots.iter_mut().zip(&plan.columns).filter_map(|(slot, property)| {
            let (builder, property) = (slot.property.as_mut()?, property.as_ref()?);
            let inferred = builder.column_type().is_inferred();
            Some(Column { name: property.name.clone(), values: builder.finish(), inferred })
        });
        let kind = PlaceKind::Text {
            dialect: self.table.dialect,
            text: take_for_more(&mut self.text),
            starts: take_for_more(&mut self.starts),
            lines: take_for_more(&mut self.lines),
            parts: plan.parts,
        };
        let rows = Rows {
            count: std::mem::take(&mut self.rows),
            labels: self.labels.finish(),
            body,
            columns: columns.collect(),
            places: Places::new(&self.source.name, kind),
        };
        rows.without(&std::mem::take(&mut self.dropped))
    }

    fn edge_ids(&mut self) -> Option<Vec<Option<mangrove_graph::ExternalId>>> {
        self.table.plan.parts.id?;
        let ids = self.ids.finish();
        let missing = std::mem::take(&mut self.no_ids);
        Some(missing.iter().enumerate().map(|(row, missing)| (!missing).then(|| ids.get(row))).collect())
    }
}

/// Takes a vector, and leaves one of the same capacity, so that the next batch need not grow it step by step.
fn take_for_more<T>(vector: &mut Vec<T>) -> Vec<T> {
    let room = Vec::with_capacity(vector.len());
    std::mem::replace(vector, room)
}

/// The contents of one column of the waiting fields.
struct Contents<'f> {
    fields: &'f [Field],
    text: &'f [u8],
    index: usize,
    width: usize,
    /// The content of fields with doubled quotes, with the quotes undoubled, in order.
    undoubled: Vec<Vec<u8>>,
    nulls: &'f [String],
}

fn contents<'f>(fields: &'f [Field], text: &'f [u8], index: usize, width: usize, table: &'f CsvTable) -> Contents<'f> {
    let column = fields.iter().skip(index).step_by(width);
    let escaped = column.filter(|field| field.quoting == Quoting::Escaped);
    let undoubled = escaped.map(|field| field.content(text, table.dialect.quote).into_owned()).collect();
    Contents { fields, text, index, width, undoubled, nulls: &table.nulls }
}

impl Contents<'_> {
    fn iter(&self) -> impl Iterator<Item = Text<'_>> {
        let mut undoubled = self.undoubled.iter();
        (self.index..self.fields.len()).step_by(self.width).map(move |at| {
            let field = &self.fields[at];
            let bytes = match field.quoting {
                Quoting::Escaped => undoubled.next().map(Vec::as_slice).unwrap_or_default(),
                _ => &self.text[field.start as usize..field.end as usize],
            };
            let bytes = if is_null(*field, bytes, self.nulls) { &[] } else { bytes };
            Text { bytes, quoted: field.quoting != Quoting::Bare }
        })
    }
}

impl CsvTable {
    /// Adds to a mapping's entry how the text is read.
    pub fn describe(&self, entry: &mut TableText) {
        let byte = |byte: u8| if byte == b'\t' { "tab".to_owned() } else { char::from(byte).to_string() };
        entry.text("format", "csv");
        if self.dialect.delimiter != b',' {
            entry.text("delimiter", &byte(self.dialect.delimiter));
        }
        match self.dialect.quote {
            Some(b'"') => {}
            quote => entry.text("quote", &quote.map_or_else(|| "none".to_owned(), byte)),
        }
        if let Some(comment) = self.dialect.comment {
            entry.text("comment", &byte(comment));
        }
        let listed =
            |names: &mut dyn Iterator<Item = &str>| format!("[{}]", names.map(quoted).collect::<Vec<_>>().join(", "));
        if !self.nulls.is_empty() {
            entry.keys.push(("nulls", listed(&mut self.nulls.iter().map(String::as_str))));
        }
        if !self.has_header {
            entry.keys.push(("columns", listed(&mut self.plan.names.iter().map(|name| &**name))));
        }
    }

    #[cold]
    fn fault(&self, index: usize, misfit: Misfit) -> Fault {
        let plan = &self.plan;
        let is_part = [plan.parts.id, plan.parts.source, plan.parts.target].contains(&Some(index));
        let (column, expected) = match &plan.columns[index] {
            Some(property) if !is_part => (property.name.clone(), property.column_type.name()),
            _ => (plan.names[index].clone(), plan.id_type.name().to_owned()),
        };
        match misfit {
            Misfit::NotUtf8 => Fault::NotUtf8,
            Misfit::Type => Fault::Misfit { column, expected: expected.into() },
        }
    }

    #[cold]
    fn no_id(&self, index: usize) -> Fault {
        Fault::NoId { column: self.plan.names[index].clone() }
    }
}

/// The labels of rows, as positions in a list of distinct label sets.
struct LabelCodes {
    fixed: Option<LabelSet>,
    default: Arc<str>,
    delimiter: char,
    by_text: HashMap<Vec<u8>, u32>,
    sets: Vec<LabelSet>,
    codes: Vec<u32>,
}

impl LabelCodes {
    fn new(rule: &LabelRule) -> Self {
        let (fixed, default, delimiter) = match rule {
            LabelRule::Fixed(label) => (Some(LabelSet::one(label)), label.clone(), ';'),
            LabelRule::Column { delimiter, default, .. } => (None, default.clone(), *delimiter),
        };
        Self { fixed, default, delimiter, by_text: HashMap::new(), sets: Vec::new(), codes: Vec::new() }
    }

    fn push(&mut self, text: &[u8]) -> Result<(), Misfit> {
        if let Some(code) = self.by_text.get(text) {
            self.codes.push(*code);
            return Ok(());
        }
        let set = match std::str::from_utf8(text) {
            Ok(text) => LabelSet::parse(text, self.delimiter).unwrap_or_else(|| LabelSet::one(&self.default)),
            Err(_) => {
                self.codes.push(0);
                return Err(Misfit::NotUtf8);
            }
        };
        let code = self.sets.len() as u32;
        self.sets.push(set);
        self.by_text.insert(text.to_vec(), code);
        self.codes.push(code);
        Ok(())
    }

    fn finish(&mut self) -> Labels {
        if let Some(set) = &self.fixed {
            return Labels::all(set.clone());
        }
        if self.sets.is_empty() {
            self.sets.push(LabelSet::one(&self.default)); // every row of the batch was bad
        }
        Labels { sets: self.sets.clone(), codes: Some(std::mem::take(&mut self.codes)) }
    }
}
