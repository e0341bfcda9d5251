//! The sources of traversers: `V()`, `E()`, `inject()`.

use mangrove_graph::{
    ElementKind, Filter, GraphError, GraphView, LabelTest, Predicate, Scan, ScanCursor, Scanned, Value, record,
};

use crate::access::{self, Search};
use crate::error::Result;
use crate::execute::data::batch::Batch;
use crate::execute::data::items::Items;
use crate::execute::data::known::Known;
use crate::execute::ops::reduce::{counted, per_scope};
use crate::execute::reads::read;
use crate::execute::run::chain::{Input, Op};
use crate::execute::run::context::{Context, Key};
use crate::execute::run::memory::HasBudget;
use crate::execute::run::pace::{self, Pace};
use crate::plan::paths::PathMode;
use crate::plan::{LabelsTest, Name};

const FIRST_BATCH: usize = 32;
const LAST_BATCH: usize = 8192;
const PACE: Pace = Pace::new(FIRST_BATCH, LAST_BATCH);

/// `V()`/`E()`: every element that passes, for each incoming traverser. At the start of a query there is one.
pub struct ScanOp {
    kind: ElementKind,
    ids: Option<Vec<Value>>,
    labels: Option<Vec<Name>>,
    also: Vec<LabelsTest>,
    filters: Vec<(Key, Predicate)>,
    /// What the next steps read of all elements.
    columns: Vec<Name>,
    /// It begins the query, so it may find the elements of a part of the graph only.
    is_start: bool,
    input: Option<Batch>,
    row: usize,
    reading: Reading,
    pace: Pace,
}

/// How the elements for a row of the input are read.
enum Reading {
    /// Not begun.
    Not,
    /// All at once, in a query that writes: what it writes must not change what it finds.
    Found(Items),
    Searching(Scan, Search),
    Scanning(Scan, ScanCursor),
    Done,
}

impl ScanOp {
    pub fn new(
        kind: ElementKind,
        ids: Option<Vec<Value>>,
        (labels, also): (Option<Vec<Name>>, Vec<LabelsTest>),
        filters: Vec<(Name, Predicate)>,
        columns: Vec<Name>,
    ) -> Self {
        let filters = filters.into_iter().map(|(key, predicate)| (Key::new(key), predicate)).collect();
        let (reading, is_start) = (Reading::Not, false);
        Self { kind, ids, labels, also, filters, columns, is_start, input: None, row: 0, reading, pace: PACE }
    }

    /// The same. It may be the first step of the query.
    pub fn at_start(self, is_start: bool) -> Self {
        Self { is_start, ..self }
    }

    /// The scan with names resolved to ids of the store. A filter on a key that the graph does not have passes nothing.
    fn prepare(&mut self, cx: &mut Context<'_, '_>) -> Scan {
        let labels = self.labels.as_ref().map(|names| cx.labels(self.kind, names));
        let test = |test: &LabelsTest| LabelTest { labels: cx.labels(self.kind, &test.labels), is_negated: test.is_negated };
        let also = self.also.iter().map(test).collect();
        let mut scan = Scan { labels, also, filters: Vec::with_capacity(self.filters.len()), columns: Vec::new() };
        for (key, predicate) in &mut self.filters {
            match key.id(cx) {
                Some(key) => {
                    cx.warn_of_types(self.kind, scan.labels.as_deref(), key, predicate);
                    scan.filters.push(Filter { key, predicate: predicate.clone() });
                }
                None => scan.labels = Some(Vec::new()),
            }
        }
        scan
    }

    /// The elements with these ids, in that order, that also pass the scan's labels and filters.
    fn named(&mut self, cx: &mut Context<'_, '_>, ids: &[Value]) -> Result<Items> {
        let found = self.look_up(cx, ids)?;
        let mut unknown = ids.iter().zip(&found).filter(|(_, found)| found.is_none()).map(|(id, _)| id);
        if let Some(first) = unknown.next() {
            cx.warn_unknown_id(self.kind, first, unknown.count())?;
        }
        Ok(Items::from_values(found.into_iter().flatten().collect()))
    }

    /// The element of each id. An id may be the element itself.
    fn look_up(&self, cx: &Context<'_, '_>, ids: &[Value]) -> Result<Vec<Option<Value>>> {
        let is_of_kind = |id: &&Value| match self.kind {
            ElementKind::Vertex => matches!(id, Value::Vertex(_)),
            ElementKind::Edge => matches!(id, Value::Edge(_)),
        };
        let (elements, others): (Vec<&Value>, Vec<&Value>) = ids.iter().partition(is_of_kind);
        if elements.is_empty() {
            return self.find(cx, &others);
        }
        let are_there = read::are_there(cx, &Items::from_values(elements.into_iter().cloned().collect()))?;
        let (mut are_there, mut found) = (are_there.into_iter(), self.find(cx, &others)?.into_iter());
        let of = |id: &Value| match is_of_kind(&id) {
            true => are_there.next().unwrap_or(false).then(|| id.clone()),
            false => found.next().flatten(),
        };
        Ok(ids.iter().map(of).collect())
    }

    /// The element of each id, none of which is an element.
    fn find(&self, cx: &Context<'_, '_>, ids: &[&Value]) -> Result<Vec<Option<Value>>> {
        Ok(match self.kind {
            ElementKind::Vertex => {
                let found = record::find_vertices(cx.view(), ids)?;
                found.into_iter().map(|vertex| vertex.map(Value::Vertex)).collect()
            }
            ElementKind::Edge => {
                let found = record::find_edges(cx.view(), ids)?;
                found.into_iter().map(|edge| edge.map(Value::Edge)).collect()
            }
        })
    }

    /// A search for the elements that pass, if the key of their label or an index answers one of the filters.
    fn search(&self, cx: &Context<'_, '_>, scan: &Scan) -> Result<Option<Search>> {
        match cx.shared.index_off || self.filters.is_empty() {
            true => Ok(None),
            false => Ok(Search::new(cx.scanned(self.is_start), self.kind, scan)?),
        }
    }

    fn begin(&mut self, cx: &mut Context<'_, '_>) -> Result<Reading> {
        let mut scan = self.prepare(cx);
        if let Some(search) = self.search(cx, &scan)? {
            return match cx.writes() {
                true => Ok(Reading::Found(search.all(cx.view(), self.kind, &scan)?.into())),
                false => Ok(Reading::Searching(scan, search)),
            };
        }
        // In a query that writes, a column could be out of date when it is used.
        if !cx.writes() {
            scan.columns = self.columns.iter().filter_map(|name| cx.view().schema().key(name)).collect();
        }
        Ok(Reading::Scanning(scan, ScanCursor::default()))
    }

    /// The next elements for a row, perhaps none, with what is known of them; `None` at the end.
    fn next_of_row(&mut self, cx: &mut Context<'_, '_>) -> Result<Option<(Items, Known)>> {
        if let Reading::Not = self.reading {
            self.pace.at_least(cx.view().distance().rows_min);
            if let Some(ids) = self.ids.take() {
                self.reading = Reading::Done;
                let items = self.named(cx, &ids);
                self.ids = Some(ids);
                return items.map(|items| Some((items, Known::default())));
            }
            self.reading = self.begin(cx)?;
        }
        let (size, view) = (self.pace.rows(), cx.scanned(self.is_start));
        Ok(match &mut self.reading {
            Reading::Not | Reading::Done => None,
            Reading::Found(items) => {
                let items = std::mem::take(items);
                self.reading = Reading::Done;
                Some((items, Known::default()))
            }
            Reading::Searching(scan, search) => {
                self.pace.took(size, []);
                search.next(view, self.kind, scan, size)?.map(|found| (found.into(), Known::default()))
            }
            Reading::Scanning(_, cursor) if cursor.done => None,
            Reading::Scanning(scan, cursor) => {
                let (Scanned { elements, columns }, size) = scan_some(cx, view, (self.kind, scan), cursor, size)?;
                let mut known = Known::default();
                for (key, column) in scan.columns.iter().zip(columns) {
                    known.put_column(*key, column);
                }
                self.pace.took(size, [(known.bytes(), pace::bytes_target(cx.budget().bytes_max()))]);
                Some((elements.into(), known))
            }
        })
    }

    /// The traverser of the present row, at each of the elements.
    fn moved(&self, items: Items, known: Known, mode: PathMode) -> Option<Batch> {
        let rows = vec![self.row as u32; items.len()];
        self.input.as_ref().map(|from| Batch { known, ..from.moved(&rows, items, mode) })
    }
}

impl Op for ScanOp {
    fn next(&mut self, cx: &mut Context<'_, '_>, input: &mut dyn Input) -> Result<Option<Batch>> {
        loop {
            if self.input.is_none() {
                (self.input, self.row) = (input.pull(cx)?, 0);
            }
            let Some(rows) = self.input.as_ref().map(Batch::len) else { return Ok(None) };
            match self.next_of_row(cx)? {
                Some((items, _)) if items.is_empty() => cx.check()?,
                Some((items, known)) => return Ok(self.moved(items, known, cx.mode())),
                None => {
                    self.reading = Reading::Not;
                    self.row += 1;
                    self.input.take_if(|_| self.row >= rows);
                }
            }
        }
    }

    fn reset(&mut self, _: usize) {
        self.input = None;
        self.reading = Reading::Not;
        self.pace = PACE;
    }
}

/// The next elements of a scan and their columns. If the columns of so many do not fit the query's memory, it reads those of fewer.
/// The second result says of how many at most.
fn scan_some(
    cx: &Context<'_, '_>,
    view: &dyn GraphView,
    (kind, scan): (ElementKind, &Scan),
    cursor: &mut ScanCursor,
    mut size: usize,
) -> Result<(Scanned, usize)> {
    loop {
        let before = cursor.clone();
        match view.scan(kind, scan, cursor, size) {
            Err(GraphError::OverBudget { .. }) if size > 1 => {
                cx.check()?;
                *cursor = before;
                size = size.div_ceil(8);
            }
            scanned => return Ok((scanned?, size)),
        }
    }
}

/// A scan at the start of a query whose results are only counted.
pub struct CountScanOp {
    scan: ScanOp,
    done: bool,
}

impl CountScanOp {
    pub fn new(kind: ElementKind, labels: (Option<Vec<Name>>, Vec<LabelsTest>), filters: Vec<(Name, Predicate)>) -> Self {
        Self { scan: ScanOp::new(kind, None, labels, filters, Vec::new()), done: false }
    }

    fn count(&mut self, cx: &mut Context<'_, '_>) -> Result<u64> {
        let scan = self.scan.prepare(cx);
        let (kind, labels) = (self.scan.kind, scan.labels.as_deref());
        if let Some(mut search) = self.scan.search(cx, &scan)? {
            let mut count = 0;
            while let Some(found) = search.next(cx.view(), kind, &scan, LAST_BATCH)? {
                cx.check()?;
                count += found.len() as u64;
            }
            return Ok(count);
        }
        if scan.filters.is_empty() && scan.also.is_empty() && access::is_counted(cx.view(), kind, labels) {
            return Ok(access::stored_count(&*cx.view().statistics()?, kind, labels));
        }
        let (mut cursor, mut count) = (ScanCursor::default(), 0);
        while !cursor.done {
            cx.check()?;
            count += cx.view().count(self.scan.kind, &scan, &mut cursor)?;
        }
        Ok(count)
    }
}

impl Op for CountScanOp {
    fn next(&mut self, cx: &mut Context<'_, '_>, input: &mut dyn Input) -> Result<Option<Batch>> {
        if std::mem::replace(&mut self.done, true) || input.pull(cx)?.is_none() {
            return Ok(None);
        }
        let count = counted(self.count(cx)?)?;
        Ok(per_scope(vec![Some(count)], cx))
    }

    fn reset(&mut self, scopes: usize) {
        self.scan.reset(scopes);
        self.done = false;
    }
}

/// `inject(…)`: appends its values after the incoming traversers, in each scope. At the start of a query nothing comes in.
pub struct InjectOp {
    values: Vec<Value>,
    /// It starts the query, and replaces the initial traverser.
    start: bool,
    scopes: usize,
    given: bool,
}

impl InjectOp {
    pub fn new(values: Vec<Value>, start: bool) -> Self {
        Self { values, start, scopes: 1, given: false }
    }
}

impl Op for InjectOp {
    fn next(&mut self, cx: &mut Context<'_, '_>, input: &mut dyn Input) -> Result<Option<Batch>> {
        let mode = cx.mode();
        if self.given {
            return Ok(None);
        }
        if !self.start
            && let Some(batch) = input.pull(cx)?
        {
            return Ok(Some(batch));
        }
        self.given = true;
        if self.start {
            let Some(from) = input.pull(cx)? else { return Ok(None) };
            let rows = vec![0; self.values.len()];
            let batch = from.moved(&rows, Items::from_values(self.values.clone()), mode);
            return Ok(Some(batch).filter(|b| !b.is_empty()));
        }
        let values: Vec<Value> = (0..self.scopes).flat_map(|_| self.values.iter().cloned()).collect();
        let mut batch = Batch::new(Items::from_values(values));
        let n = self.values.len();
        batch.scope = (self.scopes > 1).then(|| (0..self.scopes as u32).flat_map(|s| std::iter::repeat_n(s, n)).collect());
        if mode.has_paths() {
            batch.paths = Some(vec![None; batch.len()]);
            let items = batch.items.clone();
            batch = batch.moved_in_place(items, mode);
        }
        batch.sacks = cx.shared.sack.as_ref().map(|sack| vec![sack.initial.clone(); batch.len()]);
        Ok(Some(batch).filter(|b| !b.is_empty()))
    }

    fn reset(&mut self, scopes: usize) {
        self.scopes = scopes;
        self.given = false;
    }
}
