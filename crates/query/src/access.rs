//! By which of several filters vertices are found.

use mangrove_graph::{ElementKind, GraphView, KeyId, LabelId, Predicate, Result};

/// The filter that an index answers, where several are the one with the fewest candidates; its position. Vertices have one of these
/// labels. Nothing if there is no such filter.
///
/// Where several have about as many it is the first.
pub fn narrowest(view: &dyn GraphView, labels: &[LabelId], filters: &[(KeyId, &Predicate)]) -> Result<Option<usize>> {
    // Vertices that carry one of the labels beside their own are in no index of it.
    if labels.iter().any(|label| view.schema().carriers(*label).next().is_some()) {
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
