//! The edges of a label, vertex after vertex in any order.

use std::collections::BTreeSet;

use mangrove_graph::{
    Adjacency, Direction, EdgeRef, ElementKind, GraphError, GraphView, Hop, LabelId, LabelNumbering, Numbering, Wants,
};

/// Vertices whose edges are asked for at a time, and about as many edges.
const PAGE: u64 = 8192;

/// Calls `each` with pages of the edges of a label, in the order of their sources and, of one source, as the view orders them. Memory is
/// bounded by a page, and the edges of one vertex.
pub fn by_source<E: From<GraphError>>(
    view: &dyn GraphView,
    label: LabelId,
    order: &Numbering,
    each: &mut dyn FnMut(&[EdgeRef]) -> Result<(), E>,
) -> Result<(), E> {
    let ends = view.schema().label_schema(ElementKind::Edge, label).map(|of| &of.ends);
    let sources: BTreeSet<LabelId> = ends.into_iter().flatten().map(|(source, _)| *source).collect();
    sources.into_iter().filter_map(|source| order.of(source)).try_for_each(|of| of_label(view, label, of, each))
}

fn of_label<E: From<GraphError>>(
    view: &dyn GraphView,
    label: LabelId,
    order: &LabelNumbering,
    each: &mut dyn FnMut(&[EdgeRef]) -> Result<(), E>,
) -> Result<(), E> {
    let hop = Hop::along(Direction::Out, Some(vec![label]), Wants { edges: true, ..Wants::default() });
    let (mut degrees, mut found) = (Vec::new(), Adjacency::default());
    for start in (0..order.count()).step_by(PAGE as usize) {
        let page = order.slice(start..order.count().min(start + PAGE));
        degrees.clear();
        view.degrees(&page, &hop, &mut degrees)?;
        let mut first = 0;
        while first < page.len() {
            let (mut end, mut edges) = (first + 1, degrees[first]);
            while end < page.len() && edges + degrees[end] <= PAGE {
                edges += degrees[end];
                end += 1;
            }
            found.clear();
            view.neighbors(&page[first..end], &hop, &mut found)?;
            found.edges.chunks(PAGE as usize).try_for_each(&mut *each)?;
            first = end;
        }
    }
    Ok(())
}
