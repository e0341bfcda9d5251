//! How vertices are found without a scan: by the key of their label, or by an index.

use mangrove_graph::{ElementId, ElementKind, Filter, GraphView, KeyId, LabelId, Predicate, Result, Scan, VertexId};

/// The vertices that pass a scan, if the key of their label or an index answers one of its filters. O(candidates of that filter).
pub fn find(view: &dyn GraphView, scan: &Scan) -> Result<Option<Vec<VertexId>>> {
    if !view.schema().finds_vertices() {
        return Ok(None);
    }
    let labels = match &scan.labels {
        Some(labels) => labels.clone(),
        None => (0..view.schema().vertex_labels.len() as u16).map(LabelId).collect(),
    };
    let filters: Vec<_> = scan.filters.iter().map(|filter| (filter.key, &filter.predicate)).collect();
    let Some(at) = narrowest(view, &labels, &filters)? else { return Ok(None) };
    let Some(found) = search(view, &labels, &scan.filters[at])? else { return Ok(None) };
    let others = scan.filters.iter().enumerate().filter(|(other, _)| *other != at).map(|(_, filter)| filter);
    let others: Vec<&Filter> = others.collect();
    let mut passed = Vec::with_capacity(found.len());
    for vertex in found {
        if passes(view, vertex, &others)? {
            passed.push(vertex);
        }
    }
    Ok(Some(passed))
}

/// What indexes say of one filter over several labels; `None` if one of the labels has the key and no index of it that answers.
fn search(view: &dyn GraphView, labels: &[LabelId], filter: &Filter) -> Result<Option<Vec<VertexId>>> {
    let mut all = Vec::new();
    for label in with_key(view, labels, filter.key) {
        match view.search(label, filter.key, &filter.predicate)? {
            Some(mut found) => all.append(&mut found),
            None => return Ok(None),
        }
    }
    Ok(Some(all))
}

fn passes(view: &dyn GraphView, vertex: VertexId, filters: &[&Filter]) -> Result<bool> {
    for filter in filters {
        let cell = view.cell(ElementId::Vertex(vertex), filter.key)?;
        if !cell.values().any(|value| filter.predicate.matches(value)) {
            return Ok(false);
        }
    }
    Ok(true)
}

/// The filter that an index answers, where several are the one with the fewest candidates; its position. Vertices have one of these
/// labels. Nothing if there is no such filter.
///
/// Where several have about as many it is the first.
pub fn narrowest(view: &dyn GraphView, labels: &[LabelId], filters: &[(KeyId, &Predicate)]) -> Result<Option<usize>> {
    // An index has the vertices whose own label it is of.
    if view.schema().are_carried_elsewhere(labels) {
        return Ok(None);
    }
    let answered = |at: &usize| answers(view, labels, filters[*at].0, filters[*at].1);
    let answered: Vec<usize> = (0..filters.len()).filter(answered).collect();
    if answered.len() < 2 {
        return Ok(answered.first().copied());
    }
    let mut best = None;
    for at in answered {
        let (key, predicate) = filters[at];
        let mut candidates = 0;
        for label in with_key(view, labels, key) {
            candidates += view.candidates(label, key, predicate)?;
        }
        if best.is_none_or(|(fewest, _)| candidates < fewest) {
            best = Some((candidates, at));
        }
    }
    Ok(best.map(|(_, at)| at))
}

/// Whether every label that has the key has an index of it that answers the predicate.
fn answers(view: &dyn GraphView, labels: &[LabelId], key: KeyId, predicate: &Predicate) -> bool {
    let mut with_key = with_key(view, labels, key).peekable();
    with_key.peek().is_some() && with_key.all(|label| view.is_searchable(label, key, predicate))
}

/// Those of the labels that have a key.
pub fn with_key<'v>(view: &'v dyn GraphView, labels: &'v [LabelId], key: KeyId) -> impl Iterator<Item = LabelId> + 'v {
    let has_key = move |label: &LabelId| {
        view.schema().label_schema(ElementKind::Vertex, *label).is_some_and(|label| label.property(key).is_some())
    };
    labels.iter().copied().filter(has_key)
}
