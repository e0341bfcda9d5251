//! Finds elements without a scan: by the key of their label, or by an index.

use std::collections::BTreeSet;

use mangrove_graph::{
    Catalog, ElementIds, ElementKind, Elements, GraphError, GraphView, KeyId, LabelId, Predicate, PropertyId, Result, Scan,
    SearchCursor, Statistics,
};

/// The elements that pass a scan, found by the key of their label or by an index, page by page.
pub struct Search {
    /// The labels that have the property, the next one last.
    labels: Vec<LabelId>,
    /// The position of the filter that is answered.
    answered: usize,
    cursor: SearchCursor,
}

impl Search {
    /// `None` if neither a key nor an index answers one of the filters.
    pub fn new(view: &dyn GraphView, kind: ElementKind, scan: &Scan) -> Result<Option<Self>> {
        if !view.schema().finds(kind) {
            return Ok(None);
        }
        let labels = match &scan.labels {
            Some(labels) => labels.clone(),
            None => (0..view.schema().labels(kind).len() as u16).map(LabelId).collect(),
        };
        let filters: Vec<_> = scan.filters.iter().map(|filter| (filter.key, &filter.predicate)).collect();
        let Some(answered) = narrowest(view, kind, &labels, &filters)? else { return Ok(None) };
        let mut labels: Vec<LabelId> = with_key(view, kind, &labels, scan.filters[answered].key).collect();
        labels.reverse();
        Ok(Some(Self { labels, answered, cursor: SearchCursor::default() }))
    }

    /// The next elements, at most `limit` and perhaps none; `None` at the end. O(candidates of the filter that is answered).
    pub fn next(
        &mut self,
        view: &dyn GraphView,
        kind: ElementKind,
        scan: &Scan,
        limit: usize,
    ) -> Result<Option<ElementIds>> {
        let Some(label) = self.labels.last().copied() else { return Ok(None) };
        let filter = &scan.filters[self.answered];
        let of = PropertyId { kind, label, key: filter.key };
        let found = view.search(of, &filter.predicate, &mut self.cursor, limit)?;
        let mut found = found.ok_or_else(|| GraphError::corrupt("an index that answers no longer"))?;
        if self.cursor.done {
            self.labels.pop();
            self.cursor = SearchCursor::default();
        }
        if !scan.also.is_empty() && !found.is_empty() {
            let labels = all_labels(view, found.batch())?;
            let passes = labels.iter().map(|labels| scan.also.iter().all(|test| test.passes(labels)));
            found.retain(&passes.collect::<Vec<bool>>());
        }
        for (_, filter) in scan.filters.iter().enumerate().filter(|(at, _)| *at != self.answered) {
            if !found.is_empty() {
                let passes = view.pass(found.batch(), filter.key, &filter.predicate)?;
                found.retain(&passes);
            }
        }
        Ok(Some(found))
    }

    /// All elements that are left.
    pub fn all(mut self, view: &dyn GraphView, kind: ElementKind, scan: &Scan) -> Result<ElementIds> {
        let mut all = ElementIds::none(kind);
        while let Some(more) = self.next(view, kind, scan, CANDIDATES_AT_ONCE)? {
            all.append(more);
        }
        Ok(all)
    }
}

/// The labels of each element: further ones, and its own.
fn all_labels(view: &dyn GraphView, elements: Elements<'_>) -> Result<Vec<Vec<LabelId>>> {
    match elements {
        Elements::Edges(edges) => Ok(edges.iter().map(|edge| vec![edge.id.label()]).collect()),
        Elements::Vertices(vertices) => {
            let mut labels = Vec::with_capacity(vertices.len());
            view.all_further_labels(vertices, &mut labels)?;
            labels.iter_mut().zip(vertices).for_each(|(labels, vertex)| labels.push(vertex.label()));
            Ok(labels)
        }
    }
}

/// Candidates whose values are in memory together.
const CANDIDATES_AT_ONCE: usize = 8192;

/// Whether the graph keeps the count of the elements that have one of these labels; `None` means all.
pub fn is_counted(catalog: &dyn Catalog, kind: ElementKind, labels: Option<&[LabelId]>) -> bool {
    labels.is_none_or(|labels| kind == ElementKind::Edge || !catalog.schema().are_carried_elsewhere(labels))
}

/// The number of elements that have one of these labels; `None` means all. O(labels).
pub fn stored_count(counts: &Statistics, kind: ElementKind, labels: Option<&[LabelId]>) -> u64 {
    match labels {
        Some(labels) => labels.iter().collect::<BTreeSet<_>>().into_iter().map(|label| counts.count(kind, *label)).sum(),
        None => counts.of(kind).iter().sum(),
    }
}

/// The position of the filter to answer by an index; `None` if no index answers any. Elements have one of these labels.
///
/// If indexes answer several filters, one that finds a single element at most wins, and then the one with the fewest candidates. If several
/// have about as many, the first wins.
pub fn narrowest(
    catalog: &dyn Catalog,
    kind: ElementKind,
    labels: &[LabelId],
    filters: &[(KeyId, &Predicate)],
) -> Result<Option<usize>> {
    // The index of a label holds the vertices whose primary label it is. It lacks those that carry the label as a further one.
    if kind == ElementKind::Vertex && catalog.schema().are_carried_elsewhere(labels) {
        return Ok(None);
    }
    let answered = |at: &usize| answers(catalog, kind, labels, filters[*at].0, filters[*at].1);
    let answered: Vec<usize> = (0..filters.len()).filter(answered).collect();
    if answered.len() < 2 {
        return Ok(answered.first().copied());
    }
    let finds_one = |at: &usize| {
        let (key, predicate) = filters[*at];
        let most = |label| catalog.schema().matches_max(PropertyId { kind, label, key }, predicate);
        with_key(catalog, kind, labels, key).map(most).sum::<Option<u64>>().is_some_and(|most| most <= 1)
    };
    if let Some(one) = answered.iter().copied().find(finds_one) {
        return Ok(Some(one)); // to count the candidates of others takes longer
    }
    let mut best = None;
    for at in answered {
        let (key, predicate) = filters[at];
        let mut candidates = 0;
        for label in with_key(catalog, kind, labels, key) {
            candidates += catalog.candidates(PropertyId { kind, label, key }, predicate)?;
        }
        if best.is_none_or(|(fewest, _)| candidates < fewest) {
            best = Some((candidates, at));
        }
    }
    Ok(best.map(|(_, at)| at))
}

/// Whether every label that has the key has an index of it that answers the predicate.
fn answers(catalog: &dyn Catalog, kind: ElementKind, labels: &[LabelId], key: KeyId, predicate: &Predicate) -> bool {
    let mut with_key = with_key(catalog, kind, labels, key).peekable();
    with_key.peek().is_some() && with_key.all(|label| catalog.is_searchable(PropertyId { kind, label, key }, predicate))
}

/// Those of the labels that have the key.
pub fn with_key<'v>(
    catalog: &'v dyn Catalog,
    kind: ElementKind,
    labels: &'v [LabelId],
    key: KeyId,
) -> impl Iterator<Item = LabelId> + 'v {
    let has_key = move |label: &LabelId| {
        catalog.schema().label_schema(kind, *label).is_some_and(|label| label.property(key).is_some())
    };
    labels.iter().copied().filter(has_key)
}
