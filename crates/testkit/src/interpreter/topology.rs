//! Sources and moves of traversers: `V`, `E`, `inject`, `out`, `inE`, `otherV` and the like.

use mangrove_graph::{
    Adjacency, Direction, EdgeRef, ElementId, ElementKind, Hop, LabelId, Scan, ScanCursor, Value, VertexId, Wants, record,
};
use mangrove_query::plan::{EndOf, Name, Step};

use super::{Failure, Interpreter, Result, Traverser};

impl Interpreter<'_> {
    pub(super) fn topology(&mut self, step: &Step, input: &[Traverser]) -> Result<Option<Vec<Traverser>>> {
        Ok(Some(match step {
            Step::Scan { kind, ids: None, .. } => {
                let all = self.all(*kind)?;
                self.each(input, |_, _| Ok(all.clone()))?
            }
            Step::Scan { kind, ids: Some(ids), .. } => {
                let mut found = Vec::new();
                for id in ids {
                    found.extend(self.named(*kind, id)?);
                }
                self.each(input, |_, _| Ok(found.clone()))?
            }
            Step::Inject(values) => {
                let injected = values.iter().map(|value| self.fresh(value.clone()));
                input.iter().filter(|traverser| !traverser.start).cloned().chain(injected).collect()
            }
            Step::Hop { direction, labels, to_edges, .. } => {
                self.each(input, |this, traverser| this.hop(&traverser.value, *direction, labels, *to_edges))?
            }
            Step::End(which) => self.each(input, |_, traverser| ends(*which, traverser))?,
            _ => return Ok(None),
        }))
    }

    fn all(&self, kind: ElementKind) -> Result<Vec<Value>> {
        let (scan, mut cursor) = (Scan::default(), ScanCursor::default());
        let (mut vertices, mut edges) = (Vec::new(), Vec::new());
        while !cursor.done {
            match kind {
                ElementKind::Vertex => self.view.scan_vertices(&scan, &mut cursor, 1000, &mut vertices)?,
                ElementKind::Edge => self.view.scan_edges(&scan, &mut cursor, 1000, &mut edges)?,
            }
        }
        Ok(vertices.into_iter().map(Value::Vertex).chain(edges.into_iter().map(Value::Edge)).collect())
    }

    /// The element with this id, or the given element if it exists.
    pub(super) fn named(&self, kind: ElementKind, id: &Value) -> Result<Option<Value>> {
        Ok(match (kind, id) {
            (ElementKind::Vertex, Value::Vertex(vertex)) => {
                self.view.contains(ElementId::Vertex(*vertex))?.then(|| id.clone())
            }
            (ElementKind::Edge, Value::Edge(edge)) => self.view.contains(ElementId::Edge(edge.id))?.then(|| id.clone()),
            (ElementKind::Vertex, id) => record::find_vertex(self.view, id)?.map(Value::Vertex),
            (ElementKind::Edge, id) => record::find_edge(self.view, id)?.map(Value::Edge),
        })
    }

    fn hop(&self, from: &Value, direction: Direction, labels: &[Name], to_edges: bool) -> Result<Vec<Value>> {
        let Value::Vertex(vertex) = from else { return Err(Failure::met("a hop", from)) };
        let known = |name: &Name| self.view.schema().label(ElementKind::Edge, name);
        let labels: Option<Vec<LabelId>> = (!labels.is_empty()).then(|| labels.iter().filter_map(known).collect());
        let wants = Wants { rows: false, neighbors: true, edges: true };
        let mut found = Adjacency::default();
        self.view.neighbors(&[*vertex], &Hop::along(direction, labels, wants), &mut found)?;
        Ok(match to_edges {
            true => found.edges.into_iter().map(Value::Edge).collect(),
            false => found.neighbors.into_iter().map(Value::Vertex).collect(),
        })
    }
}

fn ends(which: EndOf, traverser: &Traverser) -> Result<Vec<Value>> {
    let Value::Edge(edge) = &traverser.value else { return Err(Failure::met("the end of an edge", &traverser.value)) };
    Ok(match which {
        EndOf::Out => vec![Value::Vertex(edge.source)],
        EndOf::In => vec![Value::Vertex(edge.target)],
        EndOf::Both => vec![Value::Vertex(edge.source), Value::Vertex(edge.target)],
        EndOf::Other => vec![Value::Vertex(other_end(edge, traverser)?)],
    })
}

/// The end of the edge that is not the last visited vertex.
fn other_end(edge: &EdgeRef, traverser: &Traverser) -> Result<VertexId> {
    let (_here, before) = traverser.path.split_last().map_or((None, &[][..]), |(here, before)| (Some(here), before));
    let visited = before.iter().rev().find_map(|stop| match stop.object {
        Value::Vertex(vertex) => Some(vertex),
        _ => None,
    });
    let visited = visited.ok_or_else(|| Failure::value("otherV() met an edge that was come to from no vertex"))?;
    Ok(if visited == edge.source { edge.target } else { edge.source })
}
