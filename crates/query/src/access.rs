//! Finds elements without a scan: by the key of their label, or by an index.

use std::collections::BTreeSet;

use mangrove_graph::{
    Catalog, EdgeRef, ElementKind, Elements, Filter, GraphView, KeyId, LabelId, Predicate, PropertyId, Result, Scan,
    Statistics, VertexId,
};

/// The vertices that pass a scan, found by the key of their label or by an index. `None` if neither answers one of the filters.
/// O(candidates of that filter).
pub fn find_vertices(view: &dyn GraphView, scan: &Scan) -> Result<Option<Vec<VertexId>>> {
    let search = |label, filter: &Filter| view.search_vertices(label, filter.key, &filter.predicate);
    find(view, ElementKind::Vertex, scan, &search, |found| Elements::Vertices(found))
}

/// The edges that pass a scan, found by an index. `None` if no index answers one of the filters. O(candidates of that filter).
pub fn find_edges(view: &dyn GraphView, scan: &Scan) -> Result<Option<Vec<EdgeRef>>> {
    let search = |label, filter: &Filter| view.search_edges(label, filter.key, &filter.predicate);
    find(view, ElementKind::Edge, scan, &search, |found| Elements::Edges(found))
}

/// Candidates whose values are in memory together.
const CANDIDATES_AT_ONCE: usize = 8192;

/// Asks the index of a label for the elements that pass a filter.
type Search<'s, T> = dyn Fn(LabelId, &Filter) -> Result<Option<Vec<T>>> + 's;

fn find<T>(
    view: &dyn GraphView,
    kind: ElementKind,
    scan: &Scan,
    search: &Search<'_, T>,
    batch: fn(&[T]) -> Elements<'_>,
) -> Result<Option<Vec<T>>> {
    if !view.schema().finds(kind) {
        return Ok(None);
    }
    let labels = match &scan.labels {
        Some(labels) => labels.clone(),
        None => (0..view.schema().labels(kind).len() as u16).map(LabelId).collect(),
    };
    let filters: Vec<_> = scan.filters.iter().map(|filter| (filter.key, &filter.predicate)).collect();
    let Some(at) = narrowest(view, kind, &labels, &filters)? else { return Ok(None) };
    let mut found = Vec::new();
    for label in with_key(view, kind, &labels, scan.filters[at].key) {
        match search(label, &scan.filters[at])? {
            Some(mut more) => found.append(&mut more),
            None => return Ok(None),
        }
    }
    let others = scan.filters.iter().enumerate().filter(|(other, _)| *other != at).map(|(_, filter)| filter);
    for filter in others {
        if found.is_empty() {
            break;
        }
        let mut passes = Vec::with_capacity(found.len());
        for part in found.chunks(CANDIDATES_AT_ONCE) {
            let column = view.properties(batch(part), filter.key)?;
            let passing = |row| column.cell(row).values().any(|value| filter.predicate.matches(value));
            passes.extend((0..column.len()).map(passing));
        }
        let mut passes = passes.into_iter();
        found.retain(|_| passes.next().unwrap_or(false));
    }
    Ok(Some(found))
}

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
/// If indexes answer several filters, the one with the fewest candidates wins. If several have about as many, the first wins.
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
