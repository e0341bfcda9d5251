//! The errors of a load. Each says what happened, where (file:line:column), and what to do.

use std::fmt;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use mangrove_graph::{GraphError, Value};
use thiserror::Error;

/// A position in the input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Location {
    pub file: Arc<str>,
    pub spot: Spot,
}

/// Lines, columns (in characters) and rows count from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Spot {
    File,
    Line { line: u64, column: u64 },
    Row(u64),
}

impl Location {
    pub fn file(file: &Arc<str>) -> Self {
        Self { file: file.clone(), spot: Spot::File }
    }

    pub fn at(file: &Arc<str>, line: u64, column: u64) -> Self {
        Self { file: file.clone(), spot: Spot::Line { line, column } }
    }
}

impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.spot {
            Spot::File => f.write_str(&self.file),
            Spot::Line { line, column } => write!(f, "{}:{line}:{column}", self.file),
            Spot::Row(row) => write!(f, "{}: row {row}", self.file),
        }
    }
}

/// A file that does not say what it should.
#[derive(Clone, Debug, PartialEq, Error)]
#[error("{place}: {reason}")]
pub struct Malformed {
    pub place: Location,
    pub reason: String,
}

impl From<Malformed> for LoadError {
    fn from(Malformed { place, reason }: Malformed) -> Self {
        LoadError::Format { place, reason }
    }
}

/// The reason why a row cannot be loaded.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum Fault {
    #[error("not {} {expected} (column `{column}`)", article(.expected))]
    Misfit { column: Arc<str>, expected: Arc<str> },
    #[error("the values of the row take more than {} MB, most of it in column `{column}`", .limit >> 20)]
    TooLarge { column: Arc<str>, limit: usize },
    #[error("{found} fields, but the header has {expected}")]
    FieldCount { found: usize, expected: usize },
    #[error("a quote inside an unquoted field: quote the whole field and double the quotes in it")]
    QuoteInField,
    #[error("text after the closing quote of a field: double the quotes inside the field")]
    TextAfterQuote,
    #[error("the quote opened here is never closed")]
    UnterminatedQuote,
    #[error("a record of more than {limit} bytes: a quote opened here is probably never closed")]
    RecordTooLong { limit: usize },
    #[error("not UTF-8: name the encoding, as in --encoding latin1, or save the file as UTF-8")]
    NotUtf8,
    #[error("no id (column `{column}` is empty)")]
    NoId { column: Arc<str> },
    #[error("{}", duplicate_vertex(.label, .other))]
    DuplicateVertex { label: Arc<str>, other: Option<Arc<str>> },
    #[error("no value for `{column}`, which is required")]
    Required { column: Arc<str> },
    #[error("`{column}` must be unique, but {} already has this value", holder(.other))]
    NotUnique { column: Arc<str>, other: Option<String> },
    #[error("an edge with this id exists already")]
    DuplicateEdge,
    #[error("there is no vertex{} with this id, the {end} of the edge{}", of_scope(.scope), advice_for_end(.other))]
    NoSuchEnd {
        end: &'static str,
        scope: Option<Arc<str>>,
        /// An existing id of another type with the same text.
        other: Option<Value>,
    },
    #[error("no vertex has this id, and the label of the {end} is unknown: name it, as in --edges SOURCE:LABEL:TARGET=FILE")]
    NoLabelForEnd { end: &'static str },
    #[error("the edge's {end} is a vertex labelled {found}, not {expected}")]
    EndLabel { end: &'static str, expected: Arc<str>, found: Arc<str> },
    #[error("the edge's {end} could have the label {}: say which, as in --edges SOURCE:LABEL:TARGET=FILE", .labels.join(" or "))]
    AmbiguousEnd { end: &'static str, labels: Vec<String> },
    #[error("{0}")]
    Syntax(String),
}

impl Fault {
    /// Whether the reader cannot read the rest of the file after this fault.
    pub fn ends_file(&self) -> bool {
        matches!(self, Fault::UnterminatedQuote | Fault::RecordTooLong { .. })
    }
}

fn article(noun: &str) -> &'static str {
    if noun.starts_with(['a', 'e', 'i', 'o', 'u']) && !noun.starts_with("uu") { "an" } else { "a" }
}

fn of_scope(scope: &Option<Arc<str>>) -> String {
    scope.as_ref().map(|label| format!(" labelled {label}")).unwrap_or_default()
}

fn advice_for_end(other: &Option<Value>) -> String {
    match other {
        Some(Value::String(text)) => {
            format!("; there is one with the text '{text}', but that is a different id: convert the column")
        }
        Some(number) => format!("; there is one with the number {number}, but that is a different id: convert the column"),
        None => ". Load the vertices first, or add --create-missing to create them".into(),
    }
}

fn holder(other: &Option<String>) -> &str {
    other.as_deref().unwrap_or("an earlier row")
}

fn duplicate_vertex(label: &Arc<str>, other: &Option<Arc<str>>) -> String {
    match other {
        Some(other) if other != label => format!(
            "a vertex labelled {other} already has this id, but here the label is {label}. If ids are unique only within a label \
             (or ID space), create the database with --id-space label. If you mean the label {other}, say so: --nodes {other}=FILE"
        ),
        _ => format!(
            "a vertex labelled {label} with this id exists already: choose what happens to it with --on-exists update (skip, \
             replace)"
        ),
    }
}

/// A row that cannot be loaded.
#[derive(Clone, Debug)]
pub struct BadRow {
    pub place: Location,
    pub value: Option<String>,
    pub fault: Fault,
    /// The text of the row in its file; empty if rows have no text.
    pub raw: String,
}

impl fmt::Display for BadRow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: ", self.place)?;
        if let Some(value) = &self.value {
            write!(f, "`{}` – ", shorten(value))?;
        }
        write!(f, "{}", self.fault)
    }
}

fn shorten(value: &str) -> String {
    const SHOWN: usize = 80;
    match value.char_indices().nth(SHOWN) {
        Some((at, _)) => format!("{}…", &value[..at]),
        None => value.to_owned(),
    }
}

/// The reason why a load stopped. The caller rolls its transaction back, so the graph does not change.
#[derive(Debug, Error)]
pub enum LoadError {
    #[error("{0}\nNothing was loaded. Correct the row, or load the others with --on-error skip.")]
    BadRow(Box<BadRow>),
    /// A batch with bad rows. None of its rows was stored.
    #[error("{}", bad_rows(*.count, .first))]
    BadRows { count: u64, first: Vec<BadRow> },
    /// A record of a topic that is followed.
    #[error(
        "{topic}, partition {partition}, offset {offset}: {reason}\nNothing of its batch was stored, and what was stored before stays. \
         To go on without this record, add --skip {partition}:{offset}"
    )]
    BadRecord { topic: String, partition: i32, offset: u64, reason: String },
    #[error("{place}: {reason}")]
    Format { place: Location, reason: String },
    #[error("{file}: {source}")]
    Read { file: Arc<str>, source: io::Error },
    #[error("{0}")]
    Options(String),
    #[error("cannot write the rejects to {}: {source}", path.display())]
    Rejects { path: PathBuf, source: io::Error },
    #[error("all {count} rows are bad, so nothing was loaded. {} has the reasons", path.display())]
    AllRejected { count: u64, path: PathBuf },
    #[error("more than {max} rows are bad, so nothing was loaded. The last: {last}. {} has the others", path.display())]
    TooManyRejects { max: u64, last: Box<BadRow>, path: PathBuf },
    #[error("cancelled; nothing was loaded")]
    Cancelled,
    #[error(transparent)]
    Graph(#[from] GraphError),
}

fn bad_rows(count: u64, first: &[BadRow]) -> String {
    let mut text = format!(
        "{count} row{} cannot be stored, so nothing of the batch was \
                            stored:",
        if count == 1 { "" } else { "s" }
    );
    first.iter().for_each(|bad| text += &format!("\n  {bad}"));
    if count > first.len() as u64 {
        text += &format!("\n  … and {} more", count - first.len() as u64);
    }
    text
}

impl LoadError {
    pub(crate) fn format(place: Location, reason: impl Into<String>) -> Self {
        LoadError::Format { place, reason: reason.into() }
    }

    /// Invalid options.
    pub fn options(reason: impl Into<String>) -> Self {
        LoadError::Options(reason.into())
    }
}
