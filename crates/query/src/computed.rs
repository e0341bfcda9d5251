//! Properties that a query computes for itself, such as ranks. They last as long as the query.
//!
//! Steps read them as they read any property, because the query sees its graph through a view that adds them.

use std::ops::Deref;
use std::sync::{Arc, OnceLock};

use arrow_array::Float64Array;
use mangrove_graph::{
    Adjacency, Catalog, Cell, Distance, EdgeId, EdgeRef, ElementId, ElementIds, ElementKind, Elements, ExternalId, Filter,
    GraphError, GraphView, Hop, KeyId, LabelId, Numbering, Predicate, PropertyColumn, PropertyId, Reach, Result, Scan,
    ScanCursor, Scanned, Schema, SearchCursor, Statistics, Value, ValueType, VertexId, scan_and_read,
};

use crate::error::{QueryError, Result as QueryResult};
use crate::plan::{Compute, Name, Step, StepNode, Traversal, VertexProgramName};

/// The properties that the steps of a query compute, with their values as soon as there are any.
#[derive(Debug)]
pub struct Computed {
    /// The graph's, with these properties.
    schema: Arc<Schema>,
    columns: Vec<Column>,
}

#[derive(Debug)]
struct Column {
    name: Name,
    key: KeyId,
    values: OnceLock<VertexValues>,
}

/// A value for each vertex that has a number.
#[derive(Debug)]
pub struct VertexValues {
    pub numbering: Numbering,
    pub values: Numbered,
}

/// Values by the numbers of vertices.
#[derive(Debug)]
pub enum Numbered {
    Reals(Vec<f64>),
    /// The place of each value among a few.
    Few(Vec<u32>, Vec<Value>),
}

impl VertexValues {
    fn get(&self, vertex: VertexId) -> Option<Value> {
        let number = self.numbering.number(vertex)? as usize;
        match &self.values {
            Numbered::Reals(values) => values.get(number).copied().map(Value::Float64),
            Numbered::Few(places, values) => values.get(*places.get(number)? as usize).cloned(),
        }
    }

    fn cells(&self, vertices: &[VertexId]) -> PropertyColumn {
        match &self.values {
            Numbered::Reals(values) if vertices.len() > 1 => {
                let number = |vertex: &VertexId| self.numbering.number(*vertex);
                let value = |vertex: &VertexId| number(vertex).and_then(|number| values.get(number as usize).copied());
                PropertyColumn::Typed(Arc::new(vertices.iter().map(value).collect::<Float64Array>()))
            }
            _ => {
                let cell = |vertex: &VertexId| self.get(*vertex).map_or(Cell::Absent, Cell::One);
                PropertyColumn::Cells(vertices.iter().map(cell).collect())
            }
        }
    }
}

impl Computed {
    /// The properties that the steps of a query compute; `None` if there are none.
    ///
    /// # Errors
    /// If the graph or another step has a property of the same name.
    pub fn of(traversal: &Traversal, schema: &Arc<Schema>) -> QueryResult<Option<Arc<Self>>> {
        let asked = |node: &StepNode| matches!(node.step, Step::Compute(_));
        if !traversal.steps.iter().any(asked) {
            return Ok(None);
        }
        let mut computed = Self { schema: schema.clone(), columns: Vec::new() };
        for node in &traversal.steps {
            if let Step::Compute(asked) = &node.step {
                computed.add(asked).map_err(|error| error.at(node.span))?;
            }
        }
        Ok(Some(Arc::new(computed)))
    }

    fn add(&mut self, asked: &Compute) -> QueryResult<()> {
        let schema = Arc::make_mut(&mut self.schema);
        let name = &asked.property;
        if schema.key(name).is_some() {
            let of = if self.columns.iter().any(|column| column.name == *name) { "another step" } else { "the graph" };
            return Err(QueryError::step(format!("{of} has the property `{name}` already"))
                .help(format!("name another one: .with('~tinkerpop.{}.propertyName', …)", asked.program.step())));
        }
        let key = KeyId(schema.keys.push(name.clone()));
        let types = match asked.program {
            VertexProgramName::PageRank { .. } => &[ValueType::Float64][..],
            VertexProgramName::PeerPressure => &[ValueType::Int64, ValueType::String, ValueType::Uuid],
            VertexProgramName::ConnectedComponent => &[ValueType::String],
        };
        for label in 0..schema.vertex_labels.len() {
            let property = schema.vertex_labels[label].property_mut(key);
            types.iter().for_each(|of| property.types.insert(*of));
        }
        self.columns.push(Column { name: name.clone(), key, values: OnceLock::new() });
        Ok(())
    }

    /// Sets the values of a property.
    pub fn set(&self, name: &Name, values: VertexValues) {
        if let Some(column) = self.columns.iter().find(|column| column.name == *name) {
            // A step runs once. If it ran again, it would come to the same.
            let _ = column.values.set(values);
        }
    }

    /// The view of a graph with these properties.
    pub fn over<V>(self: &Arc<Self>, view: V) -> WithComputed<V> {
        WithComputed { view, computed: self.clone() }
    }

    fn has(&self, key: KeyId) -> bool {
        self.columns.iter().any(|column| column.key == key)
    }

    /// What elements have under a key, if it is computed.
    fn column(&self, elements: Elements<'_>, key: KeyId) -> Option<PropertyColumn> {
        let column = self.columns.iter().find(|column| column.key == key)?;
        Some(match (elements, column.values.get()) {
            (Elements::Vertices(vertices), Some(values)) => values.cells(vertices),
            _ => PropertyColumn::Absent(elements.len()),
        })
    }
}

/// A view of a graph in which vertices also have computed properties.
pub struct WithComputed<V> {
    view: V,
    computed: Arc<Computed>,
}

impl<V: Deref<Target: GraphView>> WithComputed<V> {
    /// A scan without the filters of computed properties, and these filters.
    fn parts(&self, scan: &Scan) -> (Scan, Vec<Filter>) {
        let (own, others) = scan.filters.iter().cloned().partition(|filter| self.computed.has(filter.key));
        (Scan { filters: others, ..scan.clone() }, own)
    }

    fn concerns(&self, scan: &Scan) -> bool {
        let keys = scan.filters.iter().map(|filter| &filter.key).chain(&scan.columns);
        keys.into_iter().any(|key| self.computed.has(*key))
    }
}

impl<V: Deref<Target: GraphView>> Catalog for WithComputed<V> {
    fn schema(&self) -> &Arc<Schema> {
        &self.computed.schema
    }

    fn statistics(&self) -> Result<Arc<Statistics>> {
        self.view.statistics()
    }

    fn is_searchable(&self, of: PropertyId, predicate: &Predicate) -> bool {
        !self.computed.has(of.key) && self.view.is_searchable(of, predicate)
    }

    fn candidates(&self, of: PropertyId, predicate: &Predicate) -> Result<u64> {
        self.view.candidates(of, predicate)
    }

    fn reach(&self, of: PropertyId, predicate: &Predicate) -> Reach {
        self.view.reach(of, predicate)
    }
}

impl<V: Deref<Target: GraphView>> GraphView for WithComputed<V> {
    fn distance(&self) -> Distance {
        self.view.distance()
    }

    fn scan_vertices(&self, scan: &Scan, cursor: &mut ScanCursor, limit: usize, out: &mut Vec<VertexId>) -> Result<()> {
        if !self.concerns(scan) {
            return self.view.scan_vertices(scan, cursor, limit, out);
        }
        let (scan, filters) = self.parts(scan);
        let first = out.len();
        self.view.scan_vertices(&scan, cursor, limit, out)?;
        let mut found = ElementIds::Vertices(out.split_off(first));
        for filter in filters {
            let keep = self.pass(found.batch(), filter.key, &filter.predicate)?;
            found.retain(&keep);
        }
        out.append(&mut found.into_vertices());
        Ok(())
    }

    fn scan_edges(&self, scan: &Scan, cursor: &mut ScanCursor, limit: usize, out: &mut Vec<EdgeRef>) -> Result<()> {
        if self.concerns(scan) && !self.parts(scan).1.is_empty() {
            // No edge has such a property.
            cursor.done = true;
            return Ok(());
        }
        self.view.scan_edges(scan, cursor, limit, out)
    }

    fn scan(&self, kind: ElementKind, scan: &Scan, cursor: &mut ScanCursor, limit: usize) -> Result<Scanned> {
        match self.concerns(scan) {
            true => scan_and_read(self, kind, scan, cursor, limit),
            false => self.view.scan(kind, scan, cursor, limit),
        }
    }

    fn count(&self, kind: ElementKind, scan: &Scan, cursor: &mut ScanCursor) -> Result<u64> {
        const LIMIT: usize = 8192;
        match self.concerns(scan) {
            true => self.scan(kind, scan, cursor, LIMIT).map(|found| found.elements.len() as u64),
            false => self.view.count(kind, scan, cursor),
        }
    }

    fn find_vertices(&self, label: Option<LabelId>, ids: &[ExternalId], out: &mut Vec<Option<VertexId>>) -> Result<()> {
        self.view.find_vertices(label, ids, out)
    }

    fn find_edges(&self, ids: &[ExternalId], out: &mut Vec<Option<EdgeRef>>) -> Result<()> {
        self.view.find_edges(ids, out)
    }

    fn external_ids(&self, elements: Elements<'_>) -> Result<PropertyColumn> {
        self.view.external_ids(elements)
    }

    fn external_id(&self, vertex: VertexId) -> Result<ExternalId> {
        self.view.external_id(vertex)
    }

    fn edge_external_id(&self, edge: EdgeId) -> Result<Option<ExternalId>> {
        self.view.edge_external_id(edge)
    }

    fn contain(&self, elements: Elements<'_>) -> Result<Vec<bool>> {
        self.view.contain(elements)
    }

    fn all_further_labels(&self, vertices: &[VertexId], out: &mut Vec<Vec<LabelId>>) -> Result<()> {
        self.view.all_further_labels(vertices, out)
    }

    fn neighbors(&self, from: &[VertexId], hop: &Hop, out: &mut Adjacency) -> Result<()> {
        match &hop.filter {
            // No edge has such a property.
            Some(filter) if self.computed.has(filter.key) => Ok(()),
            _ => self.view.neighbors(from, hop, out),
        }
    }

    fn degrees(&self, from: &[VertexId], hop: &Hop, out: &mut Vec<u64>) -> Result<()> {
        match &hop.filter {
            Some(filter) if self.computed.has(filter.key) => {
                out.extend(from.iter().map(|_| 0));
                Ok(())
            }
            _ => self.view.degrees(from, hop, out),
        }
    }

    fn columns(&self, elements: Elements<'_>, keys: &[KeyId], out: &mut Vec<PropertyColumn>) -> Result<()> {
        if !keys.iter().any(|key| self.computed.has(*key)) {
            return self.view.columns(elements, keys, out);
        }
        let stored: Vec<KeyId> = keys.iter().copied().filter(|key| !self.computed.has(*key)).collect();
        let mut columns = Vec::with_capacity(stored.len());
        if !stored.is_empty() {
            self.view.columns(elements, &stored, &mut columns)?;
        }
        let mut columns = columns.into_iter();
        for key in keys {
            let column = self.computed.column(elements, *key).or_else(|| columns.next());
            out.push(column.ok_or_else(|| GraphError::corrupt("the view gave too few columns"))?);
        }
        Ok(())
    }

    fn properties(&self, elements: Elements<'_>, key: KeyId) -> Result<PropertyColumn> {
        match self.computed.column(elements, key) {
            Some(column) => Ok(column),
            None => self.view.properties(elements, key),
        }
    }

    fn cell(&self, element: ElementId, key: KeyId) -> Result<Cell> {
        match self.computed.has(key) {
            true => element.alone(|elements| self.properties(elements, key)).map(PropertyColumn::into_cell),
            false => self.view.cell(element, key),
        }
    }

    fn cells(&self, element: ElementId, keys: &[KeyId], out: &mut Vec<Cell>) -> Result<()> {
        if !keys.iter().any(|key| self.computed.has(*key)) {
            return self.view.cells(element, keys, out);
        }
        for key in keys {
            out.push(self.cell(element, *key)?);
        }
        Ok(())
    }

    fn keys(&self, elements: Elements<'_>, out: &mut Vec<KeyId>) -> Result<()> {
        self.view.keys(elements, out)?;
        if elements.kind() == ElementKind::Vertex {
            // They are the last keys of the schema.
            out.extend(self.computed.columns.iter().map(|column| column.key));
        }
        Ok(())
    }

    fn have(&self, elements: Elements<'_>, key: KeyId) -> Result<Vec<bool>> {
        match self.computed.column(elements, key) {
            Some(column) => Ok((0..column.len()).map(|row| column.has(row)).collect()),
            None => self.view.have(elements, key),
        }
    }

    fn pass(&self, elements: Elements<'_>, key: KeyId, predicate: &Predicate) -> Result<Vec<bool>> {
        match self.computed.column(elements, key) {
            Some(column) => Ok(column.passes(predicate)),
            None => self.view.pass(elements, key, predicate),
        }
    }

    fn fork(&self) -> Result<Option<Box<dyn GraphView + Send>>> {
        let fork = self.view.fork()?;
        Ok(fork.map(|view| Box::new(self.computed.over(view)) as Box<dyn GraphView + Send>))
    }

    fn sources(&self) -> Result<Vec<(String, Vec<u8>)>> {
        self.view.sources()
    }

    fn search(
        &self,
        of: PropertyId,
        predicate: &Predicate,
        cursor: &mut SearchCursor,
        limit: usize,
    ) -> Result<Option<ElementIds>> {
        match self.computed.has(of.key) {
            true => Ok(None),
            false => self.view.search(of, predicate, cursor, limit),
        }
    }
}
