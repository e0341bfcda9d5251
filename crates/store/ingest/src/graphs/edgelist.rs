//! Lists of edges: two ids a line, separated by blanks, as SNAP, NetworkX and Matrix Market write them.
//!
//! ```text
//!   # FromNodeId  ToNodeId        comments begin with # or %
//!   0 4
//!   0 5 2.5                       a third column is the weight
//!   0 6 {'since': 1999}           NetworkX writes properties like this
//!
//!   %%MatrixMarket matrix coordinate real general
//!   34 34 78                      rows, columns, entries: the vertices are 1 to 34
//!   2 1 1.0
//! ```
//! Missing ends of edges are created, because such a file has no other place for vertices.

use std::io::Read;
use std::sync::Arc;

use mangrove_graph::{ElementKind, ExternalId, Value};

use crate::batches::elements::{EdgeElement, ElementBatches, Pass, VertexElement};
use crate::batches::rows::{Event, IdType, LabelSet, RawCell, Scope, Sink};
use crate::error::{BadRow, Fault, LoadError, Location};
use crate::tables::plan::TableHints;
use crate::text::feed::{Feed, Piece};
use crate::text::infer::parse_int;
use crate::text::mapping_text::TableText;
use crate::text::source::Source;

/// How to read a list of edges.
#[derive(Clone, Debug)]
pub struct EdgeList {
    pub label: Arc<str>,
    pub source: Scope,
    pub target: Scope,
    pub id_type: IdType,
}

/// The header of a Matrix Market file.
#[derive(Clone, Copy, PartialEq, Debug)]
struct Matrix {
    vertices: u64,
    is_symmetric: bool,
}

const BANNER: &[u8] = b"%%MatrixMarket";
/// A matrix may have at most this many rows, plus a number for each entry. Otherwise a few bytes could create billions of vertices.
const VERTICES_ALONE_MAX: u64 = 10_000_000;
const VERTICES_OF_ENTRY_MAX: u64 = 1000;
const VERTEX: &str = "vertex";
const WEIGHT: &str = "weight";

impl EdgeList {
    pub fn new(hints: &TableHints, id_type: IdType) -> Self {
        let scope = |label: &Option<Arc<str>>| label.clone().map_or(Scope::Any, Scope::Label);
        let label = hints.label.clone().unwrap_or_else(|| hints.stem.as_str().into());
        Self { label, source: scope(&hints.source), target: scope(&hints.target), id_type }
    }

    /// The entry of the list in a mapping.
    pub fn described(&self, file: &str) -> TableText {
        let mut entry = TableText::new(ElementKind::Edge, file);
        entry.text("format", "edgelist");
        entry.text("label", &self.label);
        for (end, scope) in [("source_label", &self.source), ("target_label", &self.target)] {
            match scope {
                Scope::Label(label) => entry.text(end, label),
                _ => entry.notes.push(format!("{end}: {VERTEX}")),
            }
        }
        if self.id_type != IdType::default() {
            entry.text("id_type", self.id_type.name());
        }
        entry
    }
}

/// Whether text is a list of edges. Each line has two integers, then possibly a number or a dictionary, separated only by blanks.
pub fn is_edge_list(head: &[u8]) -> bool {
    const LINES: usize = 20;
    if head.starts_with(BANNER) {
        return true;
    }
    let whole = head.iter().rposition(|b| *b == b'\n').map_or(head, |last| &head[..last]);
    let lines = whole.split(|b| *b == b'\n').map(|line| line.trim_ascii()).filter(|line| !line.is_empty());
    let mut seen = 0;
    for line in lines.filter(|line| !is_comment(line)).take(LINES) {
        let mut fields = fields(line);
        let is_edge = fields.by_ref().take(2).filter(|field| parse_int(field).is_some()).count() == 2;
        let rest = fields.next();
        let may_follow = rest.is_none_or(|rest| rest.starts_with(b"{") || is_number(rest) && fields.next().is_none());
        if !is_edge || !may_follow {
            return false;
        }
        seen += 1;
    }
    seen > 0
}

fn is_comment(line: &[u8]) -> bool {
    matches!(line.first(), Some(b'#' | b'%'))
}

fn fields(line: &[u8]) -> impl Iterator<Item = &[u8]> {
    line.split(|b| b.is_ascii_whitespace()).filter(|field| !field.is_empty())
}

/// The fields of a line. Without blanks, commas separate them.
fn fields_or_commas(line: &[u8]) -> impl Iterator<Item = &[u8]> {
    let has_blanks = line.iter().any(u8::is_ascii_whitespace);
    let separates = move |b: &u8| if has_blanks { b.is_ascii_whitespace() } else { *b == b',' };
    line.split(separates).filter(|field| !field.is_empty())
}

fn is_number(field: &[u8]) -> bool {
    std::str::from_utf8(field).is_ok_and(|text| text.parse::<f64>().is_ok())
}

/// Reads the edges of a list, or the vertices of a matrix.
pub fn read(content: impl Read, source: &Source, list: &EdgeList, pass: Pass, sink: &mut Sink<'_>) -> Result<(), LoadError> {
    let mut feed = Feed::new(content);
    let mut reader = EdgelistReader { list, matrix: None, batches: ElementBatches::new(&source.name, true, sink) };
    let (mut is_matrix, mut is_symmetric, mut entries) = (false, false, 0u64);
    while let Some(piece) = feed.line().map_err(|e| source.failed(e))? {
        if piece.text.starts_with(BANNER) && piece.line == 1 {
            (is_matrix, is_symmetric) = (true, banner(&piece, source)?);
            continue;
        }
        if is_comment(piece.text.trim_ascii()) {
            continue;
        }
        if is_matrix && reader.matrix.is_none() {
            let matrix = Matrix { vertices: dimension(&piece, source)?, is_symmetric };
            reader.begin_matrix(matrix, source, pass)?;
        } else if pass == Pass::Vertices {
            entries += 1;
        } else if pass == Pass::Edges
            && let Err(fault) = reader.edge(&piece)?
        {
            let raw = String::from_utf8_lossy(piece.text).into_owned();
            let place = Location::at(&source.name, piece.line, 1);
            reader.batches.send(Event::Reject(Box::new(BadRow { place, value: None, fault, raw })))?;
        }
        if !is_matrix && pass == Pass::Vertices {
            break;
        }
    }
    if pass == Pass::Vertices {
        reader.make_vertices(entries, source)?;
    }
    reader.batches.flush()
}

/// Whether a matrix is symmetric. Fails unless it is a list of entries.
fn banner(piece: &Piece<'_>, source: &Source) -> Result<bool, LoadError> {
    let text = String::from_utf8_lossy(piece.text).to_ascii_lowercase();
    let words: Vec<&str> = text.split_whitespace().collect();
    match words[..] {
        [_, "matrix", "coordinate", "real" | "integer" | "pattern", kind @ ("general" | "symmetric")] => {
            Ok(kind == "symmetric")
        }
        _ => {
            let reason = "cannot read this kind of Matrix Market file: the first line must be `%%MatrixMarket matrix coordinate`, \
                          then real, integer or pattern, then general or symmetric";
            Err(LoadError::format(Location::at(&source.name, 1, 1), reason))
        }
    }
}

/// The number of rows of a matrix. Fails unless the matrix is square.
fn dimension(piece: &Piece<'_>, source: &Source) -> Result<u64, LoadError> {
    let numbers: Vec<u64> = fields(piece.text).filter_map(|field| std::str::from_utf8(field).ok()?.parse().ok()).collect();
    match numbers[..] {
        [rows, columns, _] if rows == columns => Ok(rows),
        [_, _, _] => {
            let reason = "the matrix is not square, so its rows and columns cannot be the same vertices";
            Err(LoadError::format(Location::at(&source.name, piece.line, 1), reason))
        }
        _ => {
            let reason = "expected three numbers: the rows, columns and entries of the matrix";
            Err(LoadError::format(Location::at(&source.name, piece.line, 1), reason))
        }
    }
}

struct EdgelistReader<'a, 's> {
    list: &'a EdgeList,
    matrix: Option<Matrix>,
    batches: ElementBatches<'a, 's>,
}

impl EdgelistReader<'_, '_> {
    fn begin_matrix(&mut self, matrix: Matrix, source: &Source, pass: Pass) -> Result<(), LoadError> {
        self.matrix = Some(matrix);
        if pass == Pass::Edges && matrix.is_symmetric {
            let warning =
                format!("{}: each entry of the symmetric matrix is one edge, from its row to its column", source.name);
            self.batches.send(Event::Warning(warning))?;
        }
        Ok(())
    }

    /// Creates the vertices of a matrix. Fails if it has far more rows than its `entries` justify.
    fn make_vertices(&mut self, entries: u64, source: &Source) -> Result<(), LoadError> {
        let Some(matrix) = self.matrix else { return Ok(()) };
        if matrix.vertices > VERTICES_ALONE_MAX.saturating_add(entries.saturating_mul(VERTICES_OF_ENTRY_MAX)) {
            let reason = format!(
                "the matrix claims {} rows, but has only {entries} entries. To load only the vertices that its entries name, \
                 remove the lines before them and load it as a list of edges",
                matrix.vertices
            );
            return Err(LoadError::format(Location::at(&source.name, 2, 1), reason));
        }
        let label = match &self.list.source {
            Scope::Label(label) => label.clone(),
            _ => VERTEX.into(),
        };
        let labels = LabelSet::one(&label);
        for id in 1..=matrix.vertices {
            let (id, labels) = (ExternalId::Int(id as i64), labels.clone());
            self.batches.vertex(VertexElement { id, labels, properties: Vec::new() }, (1, 1))?;
        }
        Ok(())
    }

    fn edge(&mut self, piece: &Piece<'_>) -> Result<Result<(), Fault>, LoadError> {
        let text = piece.text.trim_ascii();
        let mut parts = fields_or_commas(text);
        let (Some(source), Some(target)) = (parts.next(), parts.next()) else {
            return Ok(Err(Fault::Syntax("expected an edge: two ids, separated by a blank or a comma".into())));
        };
        let rest = parts.next().map(|rest| &text[rest.as_ptr() as usize - text.as_ptr() as usize..]);
        let (Ok(source), Ok(target)) = (self.list.id_type.parse(source), self.list.id_type.parse(target)) else {
            return Ok(Err(Fault::Syntax("an id is not UTF-8, or not of the type asked for".into())));
        };
        let properties = match rest.map_or(Ok(Vec::new()), properties) {
            Ok(properties) => properties,
            Err(fault) => return Ok(Err(fault)),
        };
        let (source_scope, target_scope) = (self.list.source.clone(), self.list.target.clone());
        let label = self.list.label.clone();
        let edge = EdgeElement { id: None, label, source, target, source_scope, target_scope, properties };
        self.batches.edge(edge, (piece.line, 1)).map(Ok)
    }
}

/// The properties after the ends of an edge: a weight, or a dictionary in Python's syntax.
fn properties(rest: &[u8]) -> Result<Vec<(Arc<str>, RawCell)>, Fault> {
    let wrong = || {
        Fault::Syntax(
            "after the two ids, expected a number (the weight) or {'name': value, …}; for other columns, use a mapping"
                .into(),
        )
    };
    let text = std::str::from_utf8(rest).map_err(|_| Fault::NotUtf8)?;
    if text.starts_with('{') {
        return dictionary(text).ok_or_else(wrong);
    }
    let value = match (parse_int(rest), text.parse::<f64>()) {
        (Some(int), _) => Value::Int64(int),
        (None, Ok(double)) => Value::Float64(double),
        _ => return Err(wrong()),
    };
    Ok(vec![(WEIGHT.into(), RawCell::One(value))])
}

/// A Python dictionary of plain values.
fn dictionary(text: &str) -> Option<Vec<(Arc<str>, RawCell)>> {
    let mut rest = text.strip_prefix('{')?.trim_start();
    let mut properties = Vec::new();
    if let Some(after) = rest.strip_prefix('}') {
        return after.trim().is_empty().then_some(properties);
    }
    loop {
        let (name, after) = quoted(rest)?;
        rest = after.trim_start().strip_prefix(':')?.trim_start();
        let value;
        (value, rest) = plain(rest)?;
        if let Some(value) = value {
            properties.push((name.into(), RawCell::One(value)));
        }
        rest = rest.trim_start();
        if let Some(after) = rest.strip_prefix('}') {
            return after.trim().is_empty().then_some(properties);
        }
        rest = rest.strip_prefix(',')?.trim_start();
    }
}

/// A Python string, and the text after it.
fn quoted(text: &str) -> Option<(String, &str)> {
    let quote = text.chars().next().filter(|quote| matches!(quote, '\'' | '"'))?;
    let mut found = String::new();
    let mut characters = text.char_indices().skip(1);
    while let Some((at, character)) = characters.next() {
        match character {
            '\\' => match characters.next()?.1 {
                'n' => found.push('\n'),
                't' => found.push('\t'),
                'r' => found.push('\r'),
                escaped @ ('\\' | '\'' | '"') => found.push(escaped),
                _ => return None,
            },
            end if end == quote => return Some((found, &text[at + end.len_utf8()..])),
            other => found.push(other),
        }
    }
    None
}

/// A plain Python value, and the text after it. Python's `None` gives `None`.
fn plain(text: &str) -> Option<(Option<Value>, &str)> {
    if let Some((found, rest)) = quoted(text) {
        return Some((Some(Value::String(found.into())), rest));
    }
    let end = text.find([',', '}'])?;
    let (word, rest) = text.split_at(end);
    let value = match word.trim() {
        "None" => None,
        "True" => Some(Value::Bool(true)),
        "False" => Some(Value::Bool(false)),
        number => match parse_int(number.as_bytes()) {
            Some(int) => Some(Value::Int64(int)),
            None => Some(Value::Float64(number.parse().ok()?)),
        },
    };
    Some((value, rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_of_edges_are_told_from_tables() {
        for list in
            ["0 1\n2 3\n", "# from to\n0\t1\n", "% x\n1 2 0.5\n3 4 1e3\n", "0 1 {'w': 2}\n", "%%MatrixMarket matrix …"]
        {
            assert!(is_edge_list(list.as_bytes()), "{list}");
        }
        for table in ["id,name\n1,a\n", "a b\n1 2\n", "1,2\n3,4\n", "0 1 2 3\n4 5\n", "1 2 x\n", "# only a comment\n", ""] {
            assert!(!is_edge_list(table.as_bytes()), "{table}");
        }
    }

    #[test]
    fn dictionaries_are_read_as_python_writes_them() {
        let found = dictionary("{'a b': 1, \"c\": -2.5, 'd': 'it\\'s', 'e': True, 'f': None}").unwrap();
        let shown: Vec<String> = found.iter().map(|(name, cell)| format!("{name}={cell:?}")).collect();
        assert_eq!(shown.len(), 4);
        assert!(shown[0].starts_with("a b=") && shown[2].contains("it's"), "{shown:?}");
        assert_eq!(dictionary("{}").unwrap().len(), 0);
        for wrong in ["{", "{'a'}", "{'a': }", "{'a': 1", "{'a': [1]}", "{a: 1}", "{'a': 1} x"] {
            assert!(dictionary(wrong).is_none(), "{wrong}");
        }
    }
}
