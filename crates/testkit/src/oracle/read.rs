//! Reads from the oracle.

use std::collections::BTreeSet;
use std::sync::Arc;

use mangrove_graph::{
    Adjacency, Catalog, Cell, Direction, EdgeId, EdgeRef, ElementId, ElementIds, ElementKind, Elements, ExternalId, Filter,
    GraphView, Hop, KeyId, LabelId, Predicate, PropertyColumn, PropertyId, Result, Scan, ScanCursor, Schema, SearchCursor,
    Statistics, Value, VertexId, column,
};

use super::{EdgePlace, Oracle, Vertex};

impl Catalog for Oracle {
    fn schema(&self) -> &Arc<Schema> {
        &self.schema
    }

    fn statistics(&self) -> Result<Arc<Statistics>> {
        let mut counts =
            Statistics { vertices: vec![0; self.schema.vertex_labels.len()], edges: vec![0; self.schema.edge_labels.len()] };
        self.vertices.keys().for_each(|id| counts.vertices[usize::from(id.label().0)] += 1);
        self.edges.keys().for_each(|id| counts.edges[usize::from(id.label().0)] += 1);
        Ok(Arc::new(counts))
    }

    fn is_searchable(&self, of: PropertyId, predicate: &Predicate) -> bool {
        let is_key = self.schema.is_key(of.kind, of.label, of.key) && predicate.external_ids().is_some();
        is_key || self.schema.index(of).is_some() && predicate.is_answered_by_index()
    }
}

impl GraphView for Oracle {
    fn sources(&self) -> Result<Vec<(String, Vec<u8>)>> {
        Ok(self.sources.clone().into_iter().collect())
    }

    fn fork(&self) -> Result<Option<Box<dyn GraphView + Send>>> {
        Ok(Some(Box::new(self.clone())))
    }

    fn scan_vertices(&self, scan: &Scan, cursor: &mut ScanCursor, limit: usize, out: &mut Vec<VertexId>) -> Result<()> {
        let start = VertexId(VertexId::new(LabelId(cursor.label as u16), 0, 0).0 | cursor.local);
        let wanted = |id: &VertexId, vertex: &Vertex| {
            let labels: Vec<LabelId> = vertex.further.iter().copied().chain([id.label()]).collect();
            let is_among = |wanted: &Vec<LabelId>| wanted.iter().any(|label| labels.contains(label));
            scan.labels.as_ref().is_none_or(is_among) && scan.also.iter().all(|test| test.passes(&labels))
        };
        let mut found = self
            .vertices
            .range(start..)
            .filter(|(id, vertex)| wanted(id, vertex) && self.passes(ElementId::Vertex(**id), &scan.filters))
            .map(|(id, _)| *id);
        out.extend(found.by_ref().take(limit));
        go_on_at(cursor, found.next().map(|id| (id.label(), id.place())));
        Ok(())
    }

    fn scan_edges(&self, scan: &Scan, cursor: &mut ScanCursor, limit: usize, out: &mut Vec<EdgeRef>) -> Result<()> {
        let start = EdgeId(EdgeId::new(LabelId(cursor.label as u16), 0, 0).0 | cursor.local);
        let wanted = |id: EdgeId| {
            let label = [id.label()];
            scan.labels.as_ref().is_none_or(|labels| labels.contains(&label[0]))
                && scan.also.iter().all(|test| test.passes(&label))
        };
        let mut found = self
            .edges
            .range(start..)
            .filter(|(id, _)| wanted(**id) && self.passes(ElementId::Edge(**id), &scan.filters))
            .map(|(id, edge)| EdgeRef { id: *id, source: edge.source, target: edge.target });
        out.extend(found.by_ref().take(limit));
        go_on_at(cursor, found.next().map(|edge| (edge.id.label(), edge.id.place())));
        Ok(())
    }

    fn find_vertices(&self, label: Option<LabelId>, ids: &[ExternalId], out: &mut Vec<Option<VertexId>>) -> Result<()> {
        out.extend(ids.iter().map(|id| {
            let name_space = label.and_then(|label| self.name_space(label));
            let found = self.vertex_names.get(&(name_space, id.clone())).copied();
            found.filter(|vertex| label.is_none_or(|label| label == vertex.label()))
        }));
        Ok(())
    }

    fn find_edges(&self, ids: &[ExternalId], out: &mut Vec<Option<EdgeRef>>) -> Result<()> {
        out.extend(ids.iter().map(|id| {
            let named = self.edge_names.get(id).and_then(|edge| self.edge_ref(*edge));
            named.or_else(|| self.unnamed_edge(EdgeId::from_generated(id)?))
        }));
        Ok(())
    }

    fn external_ids(&self, elements: Elements<'_>) -> Result<PropertyColumn> {
        let id = |at| match elements.get(at) {
            ElementId::Vertex(id) => self.vertices.get(&id).map(|vertex| vertex.external.clone()),
            ElementId::Edge(id) => self.edges.get(&id).and_then(|edge| edge.external.clone()),
        };
        let cell = |at| id(at).map_or(Cell::Absent, |id| Cell::One(id.to_value()));
        Ok(column_of((0..elements.len()).map(cell).collect()))
    }

    fn contain(&self, elements: Elements<'_>) -> Result<Vec<bool>> {
        let is_there = |at| match elements.get(at) {
            ElementId::Vertex(id) => self.vertices.contains_key(&id),
            ElementId::Edge(id) => self.edges.contains_key(&id),
        };
        Ok((0..elements.len()).map(is_there).collect())
    }

    fn all_further_labels(&self, vertices: &[VertexId], out: &mut Vec<Vec<LabelId>>) -> Result<()> {
        let of = |id| self.vertices.get(id).map(|vertex| vertex.further.iter().copied().collect()).unwrap_or_default();
        out.extend(vertices.iter().map(of));
        Ok(())
    }

    fn neighbors(&self, from: &[VertexId], hop: &Hop, out: &mut Adjacency) -> Result<()> {
        for (row, vertex) in from.iter().enumerate() {
            for (edge, neighbor) in self.hop(*vertex, hop).into_iter().take(hop.limit.unwrap_or(usize::MAX)) {
                if hop.wants.rows {
                    out.rows.push(row as u32);
                }
                if hop.wants.neighbors {
                    out.neighbors.push(neighbor);
                }
                if hop.wants.edges {
                    out.edges.push(edge);
                }
            }
        }
        Ok(())
    }

    fn degrees(&self, from: &[VertexId], hop: &Hop, out: &mut Vec<u64>) -> Result<()> {
        out.extend(from.iter().map(|vertex| self.hop(*vertex, hop).len() as u64));
        Ok(())
    }

    fn columns(&self, elements: Elements<'_>, keys: &[KeyId], out: &mut Vec<PropertyColumn>) -> Result<()> {
        let column = |key| (0..elements.len()).map(|at| self.stored(elements.get(at), key)).collect();
        out.extend(keys.iter().map(|key| column_of(column(*key))));
        Ok(())
    }

    fn search(
        &self,
        of: PropertyId,
        predicate: &Predicate,
        cursor: &mut SearchCursor,
        limit: usize,
    ) -> Result<Option<ElementIds>> {
        if !self.is_searchable(of, predicate) {
            return Ok(None);
        }
        let filter = [Filter { key: of.key, predicate: predicate.clone() }];
        let is_next = |element: &ElementId| {
            element.label() == of.label
                && cursor.after.is_none_or(|after| VertexId(element.raw()).place() > after)
                && self.passes(*element, &filter)
        };
        let mut next: Vec<ElementId> = match of.kind {
            ElementKind::Vertex => self.vertices.keys().copied().map(ElementId::Vertex).filter(is_next).collect(),
            ElementKind::Edge => self.edges.keys().copied().map(ElementId::Edge).filter(is_next).collect(),
        };
        cursor.done = next.len() <= limit;
        next.truncate(limit);
        cursor.after = next.last().map(|element| VertexId(element.raw()).place()).or(cursor.after);
        let mut found = ElementIds::none(of.kind);
        for element in next {
            match (&mut found, element) {
                (ElementIds::Vertices(ids), ElementId::Vertex(id)) => ids.push(id),
                (ElementIds::Edges(edges), ElementId::Edge(id)) => edges.extend(self.edge_ref(id)),
                _ => {}
            }
        }
        Ok(Some(found))
    }
}

impl Oracle {
    /// Whether, for each filter, some value under its key matches.
    fn passes(&self, element: ElementId, filters: &[Filter]) -> bool {
        filters.iter().all(|filter| self.stored(element, filter.key).values().any(|value| filter.predicate.matches(value)))
    }

    /// The edge with this generated id. Only edges without an id of the user's have one.
    fn unnamed_edge(&self, id: EdgeId) -> Option<EdgeRef> {
        self.edge_ref(id).filter(|_| self.edges[&id].external.is_none())
    }

    /// The edges of a hop from one vertex, without its limit, each with the vertex at the other end.
    fn hop(&self, from: VertexId, hop: &Hop) -> Vec<(EdgeRef, VertexId)> {
        let Some(vertex) = self.vertices.get(&from) else { return Vec::new() };
        let mut reached = Vec::new();
        let mut follow = |places: &BTreeSet<EdgePlace>, other_end: fn(&EdgeRef) -> VertexId| {
            for (label, .., id) in places {
                if hop.labels.as_ref().is_none_or(|labels| labels.contains(label)) {
                    let edge = self.edge_ref(*id).expect("invariant 2");
                    if !hop
                        .filter
                        .as_ref()
                        .is_none_or(|filter| self.passes(ElementId::Edge(*id), std::slice::from_ref(filter)))
                    {
                        continue;
                    }
                    reached.push((edge, other_end(&edge)));
                }
            }
        };
        if matches!(hop.direction, Direction::Out | Direction::Both) {
            follow(&vertex.out, |edge| edge.target);
        }
        if matches!(hop.direction, Direction::In | Direction::Both) {
            follow(&vertex.incoming, |edge| edge.source);
        }
        reached
    }
}

fn go_on_at(cursor: &mut ScanCursor, next: Option<(LabelId, u64)>) {
    match next {
        Some((label, local)) => (cursor.label, cursor.local) = (usize::from(label.0), local),
        None => cursor.done = true,
    }
}

/// The plainest column that holds these cells.
fn column_of(cells: Vec<Cell>) -> PropertyColumn {
    if cells.iter().all(Cell::is_absent) {
        return PropertyColumn::Absent(cells.len());
    }
    let plain: Option<Vec<Option<&Value>>> = cells
        .iter()
        .map(|cell| match cell {
            Cell::Absent => Some(None),
            Cell::One(value) => Some(Some(value)),
            Cell::Many(_) => None,
        })
        .collect();
    match plain.and_then(|values| column::array_of(&values)) {
        Some(array) => PropertyColumn::Typed(array),
        None => PropertyColumn::Cells(cells),
    }
}
