//! The sources of traversers: `V()`, `E()`, `inject()`.

use mangrove_graph::{EdgeRef, ElementKind, Filter, Predicate, Scan, ScanCursor, Value, VertexId, record};

use crate::access;
use crate::error::Result;
use crate::execute::data::batch::Batch;
use crate::execute::data::items::Items;
use crate::execute::ops::reduce::{counted, per_scope};
use crate::execute::reads::read;
use crate::execute::run::chain::{Input, Op};
use crate::execute::run::context::{Context, Key};
use crate::plan::Name;

/// Batches grow from [`FIRST_BATCH`] to [`LAST_BATCH`] rows, so that a query that needs little reads little.
const FIRST_BATCH: usize = 32;
const LAST_BATCH: usize = 8192;

/// `V()`/`E()`: every element that passes, for each incoming traverser. At the start of a query there is one.
pub struct ScanOp {
    kind: ElementKind,
    ids: Option<Vec<Value>>,
    labels: Option<Vec<Name>>,
    filters: Vec<(Key, Predicate)>,
    input: Option<Batch>,
    row: usize,
    scan: Option<Scan>,
    cursor: ScanCursor,
    size: usize,
}

impl ScanOp {
    pub fn new(
        kind: ElementKind,
        ids: Option<Vec<Value>>,
        labels: Option<Vec<Name>>,
        filters: Vec<(Name, Predicate)>,
    ) -> Self {
        let filters = filters.into_iter().map(|(key, predicate)| (Key::new(key), predicate)).collect();
        Self {
            kind,
            ids,
            labels,
            filters,
            input: None,
            row: 0,
            scan: None,
            cursor: ScanCursor::default(),
            size: FIRST_BATCH,
        }
    }

    /// The scan with names resolved to ids of the store. A filter on a key that the graph does not have passes nothing.
    fn prepare(&mut self, cx: &mut Context<'_, '_>) -> Scan {
        let labels = self.labels.as_ref().map(|names| cx.labels(self.kind, names));
        let mut scan = Scan { labels, filters: Vec::with_capacity(self.filters.len()) };
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
        let unknown: Vec<&Value> = ids.iter().zip(&found).filter(|(_, found)| found.is_none()).map(|(id, _)| id).collect();
        if let Some((first, others)) = unknown.split_first() {
            cx.warn_unknown_id(self.kind, first, others.len())?;
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
        let are_there = read::are_there(cx, &Items::from_values(elements.into_iter().cloned().collect()))?;
        let found: Vec<Option<Value>> = match self.kind {
            ElementKind::Vertex => {
                let found = record::find_vertices(cx.view(), &others)?;
                found.into_iter().map(|vertex| vertex.map(Value::Vertex)).collect()
            }
            ElementKind::Edge => {
                let found = record::find_edges(cx.view(), &others)?;
                found.into_iter().map(|edge| edge.map(Value::Edge)).collect()
            }
        };
        let (mut are_there, mut found) = (are_there.into_iter(), found.into_iter());
        let of = |id: &Value| match is_of_kind(&id) {
            true => are_there.next().unwrap_or(false).then(|| id.clone()),
            false => found.next().flatten(),
        };
        Ok(ids.iter().map(of).collect())
    }

    /// The elements that pass, if the key of their label or an index answers one of the filters.
    fn indexed(&mut self, cx: &mut Context<'_, '_>) -> Result<Option<Items>> {
        let fresh = self.cursor.label == 0 && self.cursor.local == 0;
        let off = cx.shared.index_off || self.filters.is_empty();
        if off || self.ids.is_some() || !fresh || !cx.view().schema().finds(self.kind) {
            return Ok(None);
        }
        let scan = self.prepare(cx);
        Ok(match self.kind {
            ElementKind::Vertex => access::find_vertices(cx.view(), &scan)?.map(Items::Vertices),
            ElementKind::Edge => access::find_edges(cx.view(), &scan)?.map(Items::Edges),
        })
    }

    fn next_of_row(&mut self, cx: &mut Context<'_, '_>) -> Result<Option<Items>> {
        if self.cursor.done {
            return Ok(None);
        }
        if let Some(found) = self.indexed(cx)? {
            self.cursor.done = true;
            return Ok(Some(found));
        }
        if let Some(ids) = self.ids.take() {
            let items = self.named(cx, &ids);
            self.ids = Some(ids);
            self.cursor.done = true;
            return items.map(Some);
        }
        let scan = match self.scan.take() {
            Some(scan) => scan,
            None => {
                self.size = self.size.max(cx.view().distance().rows_min);
                self.prepare(cx)
            }
        };
        let items = match self.kind {
            ElementKind::Vertex => {
                let mut out: Vec<VertexId> = Vec::with_capacity(self.size);
                cx.view().scan_vertices(&scan, &mut self.cursor, self.size, &mut out)?;
                Items::Vertices(out)
            }
            ElementKind::Edge => {
                let mut out: Vec<EdgeRef> = Vec::with_capacity(self.size);
                cx.view().scan_edges(&scan, &mut self.cursor, self.size, &mut out)?;
                Items::Edges(out)
            }
        };
        self.scan = Some(scan);
        self.size = (self.size * 4).min(LAST_BATCH);
        Ok(Some(items))
    }
}

impl Op for ScanOp {
    fn next(&mut self, cx: &mut Context<'_, '_>, input: &mut dyn Input) -> Result<Option<Batch>> {
        loop {
            if self.input.is_none() {
                self.input = input.pull(cx)?;
                self.row = 0;
            }
            let Some(from) = self.input.take() else { return Ok(None) };
            let mode = cx.mode();
            if let Some(items) = self.next_of_row(cx)? {
                let rows = vec![self.row as u32; items.len()];
                let batch = (!items.is_empty()).then(|| from.moved(&rows, items, mode));
                self.input = Some(from);
                if batch.is_some() {
                    return Ok(batch);
                }
                cx.check()?;
                continue;
            }
            self.cursor = ScanCursor::default();
            self.scan = None;
            self.row += 1;
            if self.row < from.len() {
                self.input = Some(from);
            }
        }
    }

    fn reset(&mut self, _: usize) {
        self.input = None;
        self.cursor = ScanCursor::default();
        self.scan = None;
        self.size = FIRST_BATCH;
    }
}

/// A scan at the start of a query whose results are only counted.
pub struct CountScanOp {
    scan: ScanOp,
    done: bool,
}

impl CountScanOp {
    pub fn new(kind: ElementKind, labels: Option<Vec<Name>>, filters: Vec<(Name, Predicate)>) -> Self {
        Self { scan: ScanOp::new(kind, None, labels, filters), done: false }
    }

    fn count(&mut self, cx: &mut Context<'_, '_>) -> Result<u64> {
        if let Some(found) = self.scan.indexed(cx)? {
            return Ok(found.len() as u64);
        }
        let scan = self.scan.prepare(cx);
        let (kind, labels) = (self.scan.kind, scan.labels.as_deref());
        if scan.filters.is_empty() && access::is_counted(cx.view(), kind, labels) {
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
