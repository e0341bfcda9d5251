//! The calls that change a graph.

use mangrove_graph::{
    Adjacency, Cell, Direction, EdgeRef, ElementId, ElementKind, ExternalId, GraphError, GraphWrite, Hop, KeyId, LabelId,
    LabelSchema, NewEdge, Value, VertexId, Wants,
};

use super::reads::DirectReads;
use crate::declare;
use crate::error::StoreError;

/// Changes a graph vertex by vertex and edge by edge, within a transaction. [`Database::write_directly`](crate::Database::write_directly)
/// gives one.
pub struct DirectWrites<'g> {
    graph: &'g mut dyn GraphWrite,
    /// Of new names that are almost those of the graph.
    pub(crate) warnings: Vec<String>,
}

impl<'g> DirectWrites<'g> {
    pub(crate) fn new(graph: &'g mut dyn GraphWrite) -> Self {
        Self { graph, warnings: Vec::new() }
    }

    /// The graph with the changes made so far.
    pub fn reads(&self) -> DirectReads<'_> {
        DirectReads::new(self.graph.as_view())
    }

    /// Adds a vertex. Without an id, its id is the property that is declared as the key of its label; without that, a generated one.
    ///
    /// # Errors
    /// If the id is taken, or a value does not fit what is declared.
    pub fn append_node(
        &mut self,
        label: &str,
        id: Option<Value>,
        properties: &[(&str, Value)],
    ) -> Result<VertexId, StoreError> {
        self.near_misses(ElementKind::Vertex, label, properties);
        let label = self.graph.ensure_label(ElementKind::Vertex, label)?;
        let id = id.or_else(|| self.declared(ElementKind::Vertex, label, |known| known.key, properties));
        let id = id.map(|id| external_id(&id)).transpose()?;
        let mut added = Vec::with_capacity(1);
        self.graph.add_vertices(label, &[id], &mut added)?;
        let vertex = added[0];
        self.set(ElementId::Vertex(vertex), properties)?;
        Ok(vertex)
    }

    /// Adds an edge between two vertices, beside those that are there. Only edges of a type with a declared time take a time. It may be
    /// among the properties instead.
    ///
    /// # Errors
    /// If there is no such vertex, or a value does not fit what is declared.
    pub fn append_edge(
        &mut self,
        source: &Value,
        edge_type: &str,
        destination: &Value,
        time: Option<Value>,
        properties: &[(&str, Value)],
    ) -> Result<EdgeRef, StoreError> {
        let (source, target) = (self.reads().node(source)?, self.reads().node(destination)?);
        self.add_edge(source, edge_type, target, time, properties)
    }

    pub(super) fn add_edge(
        &mut self,
        source: VertexId,
        edge_type: &str,
        target: VertexId,
        time: Option<Value>,
        properties: &[(&str, Value)],
    ) -> Result<EdgeRef, StoreError> {
        self.near_misses(ElementKind::Edge, edge_type, properties);
        let label = self.graph.ensure_label(ElementKind::Edge, edge_type)?;
        let time = time.or_else(|| self.declared(ElementKind::Edge, label, |known| known.time, properties));
        let mut added = Vec::with_capacity(1);
        let new = NewEdge { source, target, id: None, time };
        self.graph.add_edges(label, &[new], &mut added).map_err(|error| self.explained(error))?;
        let edge = EdgeRef { id: added[0], source, target };
        self.set(ElementId::Edge(edge.id), properties)?;
        Ok(edge)
    }

    /// Sets properties of a vertex; a null removes one.
    ///
    /// # Errors
    /// If there is no such vertex, or a value does not fit what is declared.
    pub fn update_node(&mut self, id: &Value, properties: &[(&str, Value)]) -> Result<(), StoreError> {
        let vertex = self.reads().node(id)?;
        let label = self.graph.schema().label_name(ElementKind::Vertex, vertex.label());
        self.near_misses(ElementKind::Vertex, &label, properties);
        self.set(ElementId::Vertex(vertex), properties)
    }

    /// Removes a vertex, its properties and its edges. Returns whether it was there.
    pub fn delete_node(&mut self, id: &Value) -> Result<bool, StoreError> {
        let Some(vertex) = self.reads().find_node(id)? else { return Ok(false) };
        self.graph.remove_vertices(&[vertex])?;
        Ok(true)
    }

    /// Removes the edges of a type from one vertex to another. Returns how many there were. O(edges of the vertex that has fewer).
    ///
    /// # Errors
    /// If there is no edge label of that name.
    pub fn delete_edges(&mut self, source: &Value, edge_type: &str, destination: &Value) -> Result<u64, StoreError> {
        let between = self.between(source, edge_type, destination)?;
        self.graph.remove_edges(&between)?;
        Ok(between.len() as u64)
    }

    /// The edges of a type from one vertex to another, the oldest first; none if one of them is not there.
    pub(super) fn between(&self, source: &Value, edge_type: &str, destination: &Value) -> Result<Vec<EdgeRef>, StoreError> {
        let reads = self.reads();
        let label = reads.label(ElementKind::Edge, edge_type)?;
        match (reads.find_node(source)?, reads.find_node(destination)?) {
            (Some(source), Some(target)) => self.edges_between(source, label, target),
            _ => Ok(Vec::new()),
        }
    }

    /// Looks on the side that has fewer edges.
    fn edges_between(&self, source: VertexId, label: LabelId, target: VertexId) -> Result<Vec<EdgeRef>, StoreError> {
        let view = self.graph.as_view();
        let wants = Wants { edges: true, ..Wants::default() };
        let [out, back] = [Direction::Out, Direction::In].map(|direction| Hop::along(direction, Some(vec![label]), wants));
        let mut counts = Vec::with_capacity(2);
        view.degrees(&[source], &out, &mut counts)?;
        view.degrees(&[target], &back, &mut counts)?;
        let mut found = Adjacency::default();
        match counts[0] <= counts[1] {
            true => view.neighbors(&[source], &out, &mut found)?,
            false => view.neighbors(&[target], &back, &mut found)?,
        }
        found.edges.retain(|edge| edge.source == source && edge.target == target);
        Ok(found.edges)
    }

    pub(super) fn set(&mut self, element: ElementId, properties: &[(&str, Value)]) -> Result<(), StoreError> {
        for (name, value) in properties {
            let key = self.graph.ensure_key(name)?;
            let cell = if value.is_null() { Cell::Absent } else { Cell::One(value.clone()) };
            self.graph.set_cell(element, key, cell)?;
        }
        Ok(())
    }

    pub(super) fn remove(&mut self, edges: &[EdgeRef]) -> Result<(), StoreError> {
        Ok(self.graph.remove_edges(edges)?)
    }

    /// The value of the property that a label's schema declares to be something.
    fn declared(
        &self,
        kind: ElementKind,
        label: LabelId,
        declared: impl FnOnce(&LabelSchema) -> Option<KeyId>,
        properties: &[(&str, Value)],
    ) -> Option<Value> {
        let schema = self.graph.schema();
        let name = schema.key_name(schema.label_schema(kind, label).and_then(declared)?);
        properties.iter().find(|(key, value)| **key == *name && !value.is_null()).map(|(_, value)| value.clone())
    }

    /// The error with the warnings so far, which may say what it comes from. They promise names that will not be there.
    fn explained(&self, error: GraphError) -> GraphError {
        match error {
            GraphError::Invalid(what) if !self.warnings.is_empty() => {
                let why =
                    self.warnings.join("; ").replace(" has had no ", " has no ").replace(" so far, and now declares it", "");
                GraphError::Invalid(format!("{what} ({why})"))
            }
            error => error,
        }
    }

    pub(super) fn near_misses(&mut self, kind: ElementKind, label: &str, properties: &[(&str, Value)]) {
        let schema = self.graph.schema();
        let warnings = match properties {
            [] => declare::near_misses(schema, kind, label, ""),
            some => some.iter().flat_map(|(key, _)| declare::near_misses(schema, kind, label, key)).collect(),
        };
        self.warnings.extend(warnings);
        self.warnings.dedup();
    }
}

fn external_id(id: &Value) -> Result<ExternalId, StoreError> {
    ExternalId::from_value(id).ok_or_else(|| {
        let reason = format!("{id} cannot be the id of a vertex: ids are text, integers and UUIDs");
        GraphError::Invalid(reason).into()
    })
}
