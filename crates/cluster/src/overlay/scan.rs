//! Scans and searches: what the store finds, without what was changed, and then what was changed and passes.

use std::ops::Deref;

use mangrove_graph::{
    Catalog, EdgeId, EdgeRef, ElementId, ElementIds, ElementKind, Elements, ExternalId, Filter, GraphError, GraphView,
    LabelId, LabelTest, Predicate, PropertyColumn, PropertyId, Result, Scan, ScanCursor, Scanned, SearchCursor, ShardRead,
    VertexId, scan_and_read,
};

use super::Overlay;
use crate::walk::{label_at, scan_of};

/// Elements that are counted together.
const PAGE: usize = 8192;

impl<V: Deref<Target: ShardRead>> Overlay<V> {
    /// Whether elements of a label are as in the store, as far as a scan can tell.
    fn is_as_below(&self, kind: ElementKind, label: LabelId, scan: &Scan) -> bool {
        let new_key = |key| self.is_new_key(PropertyId { kind, label, key });
        let keys = scan.filters.iter().map(|filter| filter.key).chain(scan.columns.iter().copied());
        !self.delta.touched.contains_key(&(kind, label))
            && self.delta.first_new(kind, label) == u64::MAX
            && usize::from(label.0) < self.below.schema().labels(kind).len()
            && !keys.into_iter().any(new_key)
    }

    /// Goes on in the store with a scan of one label. Moves to the next label at its end.
    fn go_on_below<T>(
        &self,
        scan: &Scan,
        cursor: &mut ScanCursor,
        label: LabelId,
        f: impl FnOnce(&V::Target, &Scan, &mut ScanCursor) -> Result<T>,
    ) -> Result<T> {
        let mut within = ScanCursor { label: cursor.label, local: cursor.local, done: false };
        let given = f(&self.below, &scan_of(scan, label), &mut within)?;
        *cursor = match within.done || within.label > cursor.label {
            true => ScanCursor { label: cursor.label + 1, ..ScanCursor::default() },
            false => within,
        };
        Ok(given)
    }

    pub(super) fn scan_rows(
        &self,
        kind: ElementKind,
        scan: &Scan,
        cursor: &mut ScanCursor,
        limit: usize,
    ) -> Result<Scanned> {
        match label_at(&self.schema, kind, scan, cursor) {
            // Behind the label come vertices of others that carry it beside their own.
            Some(label) if self.is_as_below(kind, label, scan) && !self.is_carried(kind, label) => {
                let scanned =
                    self.go_on_below(scan, cursor, label, |below, scan, cursor| below.scan(kind, scan, cursor, limit))?;
                label_at(&self.schema, kind, scan, cursor);
                Ok(scanned)
            }
            _ => scan_and_read(self, kind, scan, cursor, limit),
        }
    }

    pub(super) fn count_next(&self, kind: ElementKind, scan: &Scan, cursor: &mut ScanCursor) -> Result<u64> {
        let Some(label) = label_at(&self.schema, kind, scan, cursor) else { return Ok(0) };
        let count = match self.is_as_below(kind, label, scan) && !self.is_carried(kind, label) {
            true => self.go_on_below(scan, cursor, label, |below, scan, cursor| below.count(kind, scan, cursor))?,
            false => self.scan_ids(kind, scan, cursor, PAGE)?.len() as u64,
        };
        label_at(&self.schema, kind, scan, cursor);
        Ok(count)
    }

    fn is_carried(&self, kind: ElementKind, label: LabelId) -> bool {
        kind == ElementKind::Vertex && self.schema.are_carried_elsewhere(&[label])
    }

    /// The next elements of one label that pass.
    pub(super) fn scan_ids(
        &self,
        kind: ElementKind,
        scan: &Scan,
        cursor: &mut ScanCursor,
        limit: usize,
    ) -> Result<ElementIds> {
        let Some(label) = label_at(&self.schema, kind, scan, cursor) else { return Ok(ElementIds::none(kind)) };
        let (first, start) = (self.delta.first_new(kind, label), cursor.local);
        let is_below = start < first && usize::from(label.0) < self.below.schema().labels(kind).len();
        let found = if is_below {
            let found = self.found_below(kind, label, scan, cursor, limit)?;
            // Before new elements, those of the store come first. A store may look beyond its own.
            if first < u64::MAX && (cursor.label != usize::from(label.0) || cursor.local > first) {
                *cursor = ScanCursor { label: usize::from(label.0), local: first, done: false };
            }
            found
        } else {
            let mut new = self.delta.new_ones(kind, label, start);
            match new.get(limit.max(1)) {
                Some(next) => cursor.local = *next,
                None => *cursor = ScanCursor { label: cursor.label + 1, ..ScanCursor::default() },
            }
            new.truncate(limit.max(1));
            self.judged(self.elements(kind, label, &new)?, label, scan)?
        };
        label_at(&self.schema, kind, scan, cursor);
        Ok(found)
    }

    /// The next elements of a label among those of the store.
    fn found_below(
        &self,
        kind: ElementKind,
        label: LabelId,
        scan: &Scan,
        cursor: &mut ScanCursor,
        limit: usize,
    ) -> Result<ElementIds> {
        let start = cursor.local;
        let is_known = |filter: &&Filter| !self.is_new_key(PropertyId { kind, label, key: filter.key });
        let (known, later): (Vec<_>, Vec<_>) = scan.filters.iter().partition(is_known);
        let below = Scan { filters: known.into_iter().cloned().collect(), columns: Vec::new(), ..scan.clone() };
        let mut found = self.go_on_below(&below, cursor, label, |store, below, cursor| {
            let mut found = ElementIds::none(kind);
            match &mut found {
                ElementIds::Vertices(ids) => store.scan_vertices(below, cursor, limit, ids)?,
                ElementIds::Edges(edges) => store.scan_edges(below, cursor, limit, edges)?,
            }
            Ok(found)
        })?;
        let touched = self.delta.touched.get(&(kind, label));
        let local = |element: ElementId| VertexId(element.raw()).local();
        let is_of_label: Vec<bool> = found
            .iter()
            .map(|element| element.label() == label && !touched.is_some_and(|touched| touched.contains(&local(element))))
            .collect();
        found.retain(&is_of_label);
        if !later.is_empty() {
            found = self.judged(found, label, scan)?;
        }
        let end = if cursor.label == usize::from(label.0) { cursor.local } else { u64::MAX };
        let Some(touched) = touched else { return Ok(found) };
        let changed: Vec<u64> = touched.range(start..end).copied().collect();
        let changed = self.judged(self.elements(kind, label, &changed)?, label, scan)?;
        Ok(merged(found, changed))
    }

    /// Some elements of a label, by their local ids.
    fn elements(&self, kind: ElementKind, label: LabelId, locals: &[u64]) -> Result<ElementIds> {
        match kind {
            ElementKind::Vertex => Ok(ElementIds::Vertices(locals.iter().map(|at| VertexId::new(label, 0, *at)).collect())),
            ElementKind::Edge => {
                let ids: Vec<EdgeId> = locals.iter().map(|at| EdgeId::new(label, 0, *at)).collect();
                self.with_ends(&ids).map(ElementIds::Edges)
            }
        }
    }

    /// Those edges that are there, with their ends.
    fn with_ends(&self, ids: &[EdgeId]) -> Result<Vec<EdgeRef>> {
        let nowhere = |id: &EdgeId| EdgeRef { id: *id, source: VertexId(0), target: VertexId(0) };
        let mut edges = Vec::with_capacity(ids.len());
        let mut below = Vec::new();
        for id in ids {
            match self.delta.new_edge(*id) {
                Some(edge) => edges.push(edge),
                None if self.delta.gone.contains(&ElementId::Edge(*id)) => {}
                None => below.push(nowhere(id)),
            }
        }
        if below.is_empty() {
            return Ok(edges);
        }
        // A store finds an edge by the id that it was given, or else by the generated one.
        let given = self.below.external_ids(Elements::Edges(&below))?;
        let id_of = |(row, edge): (usize, &EdgeRef)| given_id(&given, row).unwrap_or_else(|| edge.id.generated());
        let ids: Vec<ExternalId> = below.iter().enumerate().map(id_of).collect();
        let mut found = Vec::with_capacity(ids.len());
        self.below.find_edges(&ids, &mut found)?;
        edges.extend(found.into_iter().flatten());
        edges.sort_unstable_by_key(|edge| edge.id);
        Ok(edges)
    }

    /// Those elements of a label that are there and pass a scan.
    fn judged(&self, mut elements: ElementIds, label: LabelId, scan: &Scan) -> Result<ElementIds> {
        if elements.is_empty() {
            return Ok(elements);
        }
        let mut passes = self.contain(elements.batch())?;
        if let ElementIds::Vertices(ids) = &elements {
            let Some(tests) = scan.tests_of(&self.schema, ElementKind::Vertex, label) else {
                return Ok(ElementIds::none(ElementKind::Vertex));
            };
            if !tests.is_empty() {
                let mut further = Vec::with_capacity(ids.len());
                self.all_further_labels(ids, &mut further)?;
                let all = |labels: &[LabelId]| tests.iter().all(|test: &LabelTest| test.passes(labels));
                for (passes, mut labels) in passes.iter_mut().zip(further) {
                    labels.push(label);
                    *passes &= all(&labels);
                }
            }
        }
        for filter in &scan.filters {
            let matching = self.pass(elements.batch(), filter.key, &filter.predicate)?;
            passes.iter_mut().zip(matching).for_each(|(passes, matches)| *passes &= matches);
        }
        elements.retain(&passes);
        Ok(elements)
    }

    pub(super) fn search_next(
        &self,
        of: PropertyId,
        predicate: &Predicate,
        cursor: &mut SearchCursor,
        limit: usize,
    ) -> Result<ElementIds> {
        let filter = Filter { key: of.key, predicate: predicate.clone() };
        let scan = Scan { filters: vec![filter], ..Scan::of(of.label) };
        if self.is_searchable_below(of, predicate) {
            if self.is_as_below(of.kind, of.label, &scan) {
                let found = self.below.search(of, predicate, cursor, limit)?;
                return found.ok_or_else(|| GraphError::corrupt("a store that does not search what it said it would"));
            }
            return self.search_below(of, predicate, &scan, cursor, limit);
        }
        // The index is of this transaction: nothing but a scan answers.
        let local = cursor.after.map_or(0, |after| after + 1);
        let mut at = ScanCursor { label: usize::from(of.label.0), local, done: false };
        let mut found = self.scan_ids(of.kind, &scan, &mut at, limit)?;
        let is_of_label: Vec<bool> = found.iter().map(|element| element.label() == of.label).collect();
        found.retain(&is_of_label);
        cursor.done = at.done || at.label != usize::from(of.label.0);
        cursor.after = if cursor.done { cursor.after } else { at.local.checked_sub(1) };
        Ok(found)
    }

    /// Searches the index of the store, and adds what was changed up to the place at which it stops.
    fn search_below(
        &self,
        of: PropertyId,
        predicate: &Predicate,
        scan: &Scan,
        cursor: &mut SearchCursor,
        limit: usize,
    ) -> Result<ElementIds> {
        let start = cursor.after.map_or(0, |after| after + 1);
        let found = self.below.search(of, predicate, cursor, limit)?;
        let mut found = found.ok_or_else(|| GraphError::corrupt("a store that does not search what it said it would"))?;
        let local = |element: ElementId| VertexId(element.raw()).local();
        // A search that keeps what it found does not say how far it looked.
        if cursor.found.is_some() {
            cursor.after = found.iter().last().map(local).or(cursor.after);
        }
        let end = if cursor.done { u64::MAX } else { cursor.after.map_or(start, |after| after + 1) };
        let touched = self.delta.touched.get(&(of.kind, of.label));
        let is_same: Vec<bool> =
            found.iter().map(|element| !touched.is_some_and(|touched| touched.contains(&local(element)))).collect();
        found.retain(&is_same);
        let changed = touched.into_iter().flat_map(|touched| touched.range(start..end.max(start)).copied());
        let mut changed: Vec<u64> = changed.collect();
        if cursor.done {
            changed.extend(self.delta.new_ones(of.kind, of.label, start));
        }
        let changed = self.judged(self.elements(of.kind, of.label, &changed)?, of.label, scan)?;
        Ok(merged(found, changed))
    }
}

/// The id in a row of a column of ids.
fn given_id(ids: &PropertyColumn, row: usize) -> Option<ExternalId> {
    ids.cell(row).values().next().and_then(ExternalId::from_value)
}

/// Two lists of elements of one label, in the order of their ids.
fn merged(mut all: ElementIds, more: ElementIds) -> ElementIds {
    if more.is_empty() {
        return all;
    }
    all.append(more);
    match &mut all {
        ElementIds::Vertices(ids) => ids.sort_unstable(),
        ElementIds::Edges(edges) => edges.sort_unstable_by_key(|edge| edge.id),
    }
    all
}
