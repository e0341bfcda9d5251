//! The view of a lake that queries read.

use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use mangrove_graph::{
    Adjacency, Catalog, Distance, EdgeRef, ElementIds, ElementKind, Elements, ExternalId, Filter, GraphView, Hop, KeyId,
    LabelId, LabelTest, Predicate, PropertyColumn, PropertyId, ReadContext, Result, Scan, ScanCursor, Schema, SearchCursor,
    Statistics, VertexId,
};

use super::columns::What;
use super::{Lake, VertexType};

/// A lake as a graph, with the limits of its reader.
#[derive(Clone)]
pub struct LakeView {
    lake: Arc<Lake>,
    limits: Option<ReadContext>,
    within: Option<Within>,
}

/// The elements that scans visit.
#[derive(Clone)]
struct Within {
    kind: ElementKind,
    label: LabelId,
    locals: Range<u64>,
}

/// An object store takes some tens of milliseconds for each request.
const FAR: Distance = Distance { round_trip: Duration::from_millis(30), rows_min: 1024 };

/// The most elements that one call of a scan looks at.
const SCAN_MAX: u64 = 1 << 14;

impl LakeView {
    pub fn new(lake: Arc<Lake>, limits: Option<ReadContext>) -> Self {
        Self { lake, limits, within: None }
    }

    /// The same graph, whose scans and counts visit only some elements of one label: those whose local ids are in a range.
    pub fn within(self, kind: ElementKind, label: LabelId, locals: Range<u64>) -> Self {
        Self { within: Some(Within { kind, label, locals }), ..self }
    }

    /// The local ids of a label that scans visit.
    fn locals(&self, kind: ElementKind, label: LabelId) -> Range<u64> {
        let rows = self.lake.rows(kind, label);
        match &self.within {
            None => 0..rows,
            Some(Within { locals, .. }) => locals.start..locals.end.min(rows),
        }
    }

    /// Makes all calls honour these limits from now on; `None` for no limits.
    pub fn limit(&mut self, limits: Option<ReadContext>) {
        self.limits = limits;
    }

    /// The number of the opening that it sees: each opening of files has one of its own.
    pub fn opening(&self) -> u64 {
        self.lake.number
    }

    /// The key that orders the edges of a label, if the writer of the files noted one.
    pub fn time(&self, label: LabelId) -> Option<KeyId> {
        self.lake.time(label).and_then(|name| self.lake.schema().key(name))
    }

    fn limits(&self) -> Option<&ReadContext> {
        self.limits.as_ref()
    }

    fn begin(&self) -> Result<()> {
        self.limits().map_or(Ok(()), ReadContext::begin)
    }

    /// Which elements pass all filters.
    fn passing(&self, elements: Elements<'_>, filters: &[Filter]) -> Result<Vec<bool>> {
        let keys: Vec<What> = filters.iter().map(|filter| What::Key(filter.key)).collect();
        let columns = self.lake.columns(elements, &keys, self.limits())?;
        let mut keep = vec![true; elements.len()];
        for (column, filter) in columns.iter().zip(filters) {
            keep.iter_mut().zip(column.passes(&filter.predicate)).for_each(|(keep, passes)| *keep &= passes);
        }
        Ok(keep)
    }

    /// The next elements that a scan looks at, at most `most`, as runs of local ids of one label; `None` at the end.
    fn window(
        &self,
        kind: ElementKind,
        scan: &Scan,
        cursor: &mut ScanCursor,
        most: u64,
    ) -> Result<Option<(LabelId, Vec<Range<u64>>)>> {
        let visited = self.visited(scan, kind);
        while let Some(label) = visited.get(cursor.label) {
            let all = self.locals(kind, *label);
            cursor.local = cursor.local.max(all.start);
            while cursor.local < all.end {
                let (runs, end) = self.candidates_of(kind, *label, cursor.local..all.end, scan)?;
                let (runs, next) = first_of(runs, most);
                cursor.local = next.unwrap_or(end);
                if !runs.is_empty() {
                    return Ok(Some((*label, runs)));
                }
            }
            (cursor.label, cursor.local) = (cursor.label + 1, 0);
        }
        cursor.done = true;
        Ok(None)
    }

    /// The type of a label, and what further labels must pass, if nothing else decides what passes.
    fn labelled_type(
        &self,
        kind: ElementKind,
        label: Option<&LabelId>,
        scan: &Scan,
    ) -> Option<(&VertexType, Vec<LabelTest>)> {
        let of = self.lake.vertex_type(*label?)?;
        let decides =
            kind == ElementKind::Vertex && scan.filters.is_empty() && of.filters.are_none() && self.within.is_none();
        let tests = scan.tests_of(&self.lake.schema, kind, *label?)?;
        decides.then_some((of, tests))
    }

    /// The labels whose elements may pass a scan.
    fn visited(&self, scan: &Scan, kind: ElementKind) -> Vec<LabelId> {
        let schema = &self.lake.schema;
        let is_within = |label: &LabelId| self.within.as_ref().is_none_or(|of| (of.kind, of.label) == (kind, *label));
        let is_visited = |label: &LabelId| is_within(label) && scan.tests_of(schema, kind, *label).is_some();
        (0..schema.labels(kind).len() as u16).map(LabelId).filter(is_visited).collect()
    }

    /// The elements that may pass a scan, among the first of those from one local id to another, and where those end. They have the
    /// labels that it asks for.
    fn candidates_of(
        &self,
        kind: ElementKind,
        label: LabelId,
        locals: Range<u64>,
        scan: &Scan,
    ) -> Result<(Vec<Range<u64>>, u64)> {
        let Some(tests) = scan.tests_of(&self.lake.schema, kind, label) else { return Ok((Vec::new(), locals.end)) };
        let has_all = kind == ElementKind::Edge || self.lake.has_all_rows(label);
        if tests.is_empty() && scan.filters.is_empty() && has_all {
            return Ok((std::iter::once(locals.clone()).collect(), locals.end));
        }
        Ok(self.lake.may_pass(kind, label, locals, (&tests, &scan.filters), self.limits())?)
    }
}

fn at_once(limit: usize) -> u64 {
    (limit as u64).clamp(1, SCAN_MAX)
}

/// The first elements of some runs, at most `most`, and the element to go on with; `None` if these are all.
fn first_of(runs: Vec<Range<u64>>, most: u64) -> (Vec<Range<u64>>, Option<u64>) {
    let (mut left, mut taken) = (most, Vec::new());
    for run in runs {
        if left == 0 {
            return (taken, Some(run.start));
        }
        let end = run.end.min(run.start.saturating_add(left));
        left -= end - run.start;
        taken.push(run.start..end);
        if end < run.end {
            return (taken, Some(end));
        }
    }
    (taken, None)
}

impl Catalog for LakeView {
    fn schema(&self) -> &Arc<Schema> {
        &self.lake.schema
    }

    fn statistics(&self) -> Result<Arc<Statistics>> {
        self.begin()?;
        Ok(self.lake.statistics(self.limits())?)
    }

    fn is_searchable(&self, of: PropertyId, predicate: &Predicate) -> bool {
        self.lake.schema.is_key(of.kind, of.label, of.key) && predicate.external_ids().is_some()
    }

    fn candidates(&self, of: PropertyId, predicate: &Predicate) -> Result<u64> {
        let ids = predicate.external_ids().filter(|_| self.lake.schema.is_key(of.kind, of.label, of.key));
        Ok(ids.map_or(u64::from(u32::MAX), |ids| ids.len() as u64))
    }
}

impl GraphView for LakeView {
    fn distance(&self) -> Distance {
        if self.lake.is_far() { FAR } else { Distance::HERE }
    }

    fn fork(&self) -> Result<Option<Box<dyn GraphView + Send>>> {
        self.begin()?;
        let limits = self.limits().map(ReadContext::for_another_thread);
        Ok(Some(Box::new(Self { limits, ..self.clone() })))
    }

    fn scan_vertices(&self, scan: &Scan, cursor: &mut ScanCursor, limit: usize, out: &mut Vec<VertexId>) -> Result<()> {
        self.begin()?;
        let Some((label, runs)) = self.window(ElementKind::Vertex, scan, cursor, at_once(limit))? else { return Ok(()) };
        let mut vertices: Vec<VertexId> = runs.into_iter().flatten().map(|local| VertexId::new(label, 0, local)).collect();
        if !scan.filters.is_empty() {
            let mut keep = self.passing(Elements::Vertices(&vertices), &scan.filters)?.into_iter();
            vertices.retain(|_| keep.next().unwrap_or(false));
        }
        out.append(&mut vertices);
        Ok(())
    }

    fn scan_edges(&self, scan: &Scan, cursor: &mut ScanCursor, limit: usize, out: &mut Vec<EdgeRef>) -> Result<()> {
        self.begin()?;
        let Some((label, runs)) = self.window(ElementKind::Edge, scan, cursor, at_once(limit))? else { return Ok(()) };
        let mut edges = self.lake.edges_between(label, &runs, self.limits())?;
        if !scan.filters.is_empty() {
            let mut keep = self.passing(Elements::Edges(&edges), &scan.filters)?.into_iter();
            edges.retain(|_| keep.next().unwrap_or(false));
        }
        out.append(&mut edges);
        Ok(())
    }

    fn count(&self, kind: ElementKind, scan: &Scan, cursor: &mut ScanCursor) -> Result<u64> {
        self.begin()?;
        let visited = self.visited(scan, kind);
        let tests_nothing =
            |label: &LabelId| scan.tests_of(&self.lake.schema, kind, *label).is_some_and(|tests| tests.is_empty());
        let is_whole = |label: &LabelId| self.within.is_none() && scan.filters.is_empty() && tests_nothing(label);
        if let Some(label) = visited.get(cursor.label).filter(|label| cursor.local == 0 && is_whole(label)) {
            cursor.label += 1;
            cursor.done = cursor.label == visited.len();
            return Ok(self.lake.statistics(self.limits())?.count(kind, *label));
        }
        if let Some((of, tests)) = self.labelled_type(kind, visited.get(cursor.label), scan).filter(|_| cursor.local == 0) {
            cursor.label += 1;
            cursor.done = cursor.label == visited.len();
            return Ok(self.lake.count_labelled(of, &tests, self.limits())?);
        }
        match kind {
            ElementKind::Vertex if scan.filters.is_empty() => {
                let found = self.window(kind, scan, cursor, u64::MAX)?;
                Ok(found.map_or(0, |(_, runs)| runs.into_iter().map(|run| run.end - run.start).sum()))
            }
            ElementKind::Vertex => {
                let mut found = Vec::new();
                self.scan_vertices(scan, cursor, SCAN_MAX as usize, &mut found).map(|()| found.len() as u64)
            }
            ElementKind::Edge => {
                let mut found = Vec::new();
                self.scan_edges(scan, cursor, SCAN_MAX as usize, &mut found).map(|()| found.len() as u64)
            }
        }
    }

    fn find_vertices(&self, label: Option<LabelId>, ids: &[ExternalId], out: &mut Vec<Option<VertexId>>) -> Result<()> {
        self.begin()?;
        out.append(&mut self.lake.find_vertices(label, ids, self.limits())?);
        Ok(())
    }

    fn find_edges(&self, ids: &[ExternalId], out: &mut Vec<Option<EdgeRef>>) -> Result<()> {
        self.begin()?;
        out.append(&mut self.lake.find_edges(ids, self.limits())?);
        Ok(())
    }

    fn external_ids(&self, elements: Elements<'_>) -> Result<PropertyColumn> {
        self.begin()?;
        Ok(self.lake.ids(elements, self.limits())?)
    }

    fn contain(&self, elements: Elements<'_>) -> Result<Vec<bool>> {
        self.begin()?;
        let limits = self.limits();
        let found: crate::error::Result<Vec<bool>> = match elements {
            Elements::Vertices(vertices) => vertices.iter().map(|vertex| self.lake.is_there(*vertex, limits)).collect(),
            Elements::Edges(edges) => edges.iter().map(|edge| self.lake.has_edge(edge.id, limits)).collect(),
        };
        Ok(found?)
    }

    fn all_further_labels(&self, vertices: &[VertexId], out: &mut Vec<Vec<LabelId>>) -> Result<()> {
        self.begin()?;
        out.append(&mut self.lake.further_labels(vertices, self.limits())?);
        Ok(())
    }

    fn neighbors(&self, from: &[VertexId], hop: &Hop, out: &mut Adjacency) -> Result<()> {
        self.begin()?;
        Ok(self.lake.neighbors(from, hop, out, self.limits())?)
    }

    fn degrees(&self, from: &[VertexId], hop: &Hop, out: &mut Vec<u64>) -> Result<()> {
        self.begin()?;
        Ok(self.lake.degrees(from, hop, out, self.limits())?)
    }

    fn columns(&self, elements: Elements<'_>, keys: &[KeyId], out: &mut Vec<PropertyColumn>) -> Result<()> {
        self.begin()?;
        let keys: Vec<What> = keys.iter().map(|key| What::Key(*key)).collect();
        out.append(&mut self.lake.columns(elements, &keys, self.limits())?);
        Ok(())
    }

    fn search(
        &self,
        of: PropertyId,
        predicate: &Predicate,
        cursor: &mut SearchCursor,
        limit: usize,
    ) -> Result<Option<ElementIds>> {
        self.begin()?;
        let Some(ids) = predicate.external_ids().filter(|_| self.is_searchable(of, predicate)) else { return Ok(None) };
        if cursor.found.is_none() {
            let found = self.lake.find_vertices(Some(of.label), &ids, self.limits())?;
            let mut locals: Vec<u64> = found.into_iter().flatten().map(VertexId::local).collect();
            locals.sort_unstable_by(|a, b| b.cmp(a));
            locals.dedup();
            cursor.found = Some(locals);
        }
        let next = cursor.take(limit).into_iter().map(|local| VertexId::new(of.label, 0, local));
        Ok(Some(ElementIds::Vertices(next.collect())))
    }
}
