//! The calls that read.

use std::sync::Arc;

use hashbrown::HashSet;
use mangrove_graph::record;
use mangrove_graph::{
    Adjacency, Cell, Direction, ElementId, ElementKind, Elements, Filter, GraphView, Hop, KeyId, LabelId, Predicate,
    PropertyId, Scan, ScanCursor, SearchCursor, Value, VertexId, Wants,
};

use crate::declare;
use crate::error::StoreError;

/// Elements to read at a time in a scan.
const AT_ONCE: usize = 8192;
/// Nodes for which it pays to ask an index first. It must find at most one vertex for so many nodes.
const MANY: usize = 64;
const FEW: usize = 2;

/// Property values with their names. A property with several values is a list.
pub type Properties = Vec<(Arc<str>, Value)>;

/// Reads a graph vertex by vertex, edge list by edge list.
///
/// ```
/// # let directory = tempfile::tempdir()?;
/// # let path = directory.path().join("people.mg");
/// use mangrove::direct::DirectReads;
/// use mangrove::{Database, Value};
///
/// let db = Database::open(&path)?;
/// db.declare_time("knows", "since")?;
/// db.write_directly(|graph| {
///     graph.append_node("person", Some("ada".into()), &[("city", "London".into())])?;
///     graph.append_node("person", Some("charles".into()), &[("city", "London".into())])?;
///     graph.append_edge(&"ada".into(), "knows", &"charles".into(), Some(Value::Int64(1833)), &[])
/// })?;
/// let view = db.snapshot()?;
/// let reads = DirectReads::new(&*view);
/// let ada = reads.node(&"ada".into())?;
/// assert_eq!(reads.get_neighbor_ids(ada, Some("knows"), &[("city", "London".into())])?.len(), 1);
/// let record = reads.get_edge_record(ada, Some("knows"))?;
/// assert_eq!(record.get_edge_range(Some(1800), Some(1850))?, 0..1);
/// assert_eq!(record.get_edge_data(0)?.destination, Value::from("charles"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy)]
pub struct DirectReads<'v> {
    pub(super) view: &'v dyn GraphView,
}

impl<'v> DirectReads<'v> {
    pub fn new(view: &'v dyn GraphView) -> Self {
        Self { view }
    }

    /// The vertex with an id, as users see it (`T.id`). O(log vertices).
    ///
    /// # Errors
    /// If there is none.
    pub fn node(&self, id: &Value) -> Result<VertexId, StoreError> {
        let missing = || mangrove_graph::GraphError::NoSuchElement { kind: "vertex", id: id.to_string() };
        Ok(self.find_node(id)?.ok_or_else(missing)?)
    }

    /// The same; `None` if there is none.
    pub fn find_node(&self, id: &Value) -> Result<Option<VertexId>, StoreError> {
        match id {
            Value::Vertex(vertex) => Ok(self.view.contains(ElementId::Vertex(*vertex))?.then_some(*vertex)),
            id => Ok(record::find_vertex(self.view, id)?),
        }
    }

    /// The ids of vertices, as users see them.
    pub fn ids(&self, nodes: &[VertexId]) -> Result<Vec<Value>, StoreError> {
        let ids = record::ids(self.view, Elements::Vertices(nodes))?;
        Ok((0..nodes.len()).map(|row| value_in(ids.cell(row)).unwrap_or(Value::Null)).collect())
    }

    /// The values of some properties of a vertex, in their order; of all its properties if none are named. Leaves out those that it
    /// does not have. O(properties).
    ///
    /// # Errors
    /// If no element of the graph has a property of such a name.
    pub fn get_node_property(&self, node: VertexId, properties: Option<&[&str]>) -> Result<Properties, StoreError> {
        let mut keys = Vec::new();
        match properties {
            Some(names) => {
                for name in names {
                    keys.push(self.key(name)?);
                }
            }
            None => self.view.keys(Elements::Vertices(&[node]), &mut keys)?,
        }
        let mut cells = Vec::with_capacity(keys.len());
        self.view.cells(ElementId::Vertex(node), &keys, &mut cells)?;
        let schema = self.view.schema();
        let named = keys.iter().zip(cells).filter_map(|(key, cell)| Some((schema.key_name(*key), value_in(cell)?)));
        Ok(named.collect())
    }

    /// The vertices that have these values, in the order of their ids. With a label, only those that have it. The key of their label
    /// or an index finds them; without one, it looks at all vertices of the labels that have the properties.
    ///
    /// # Errors
    /// If there is no label or no property of such a name.
    pub fn get_node_ids(&self, label: Option<&str>, properties: &[(&str, Value)]) -> Result<Vec<VertexId>, StoreError> {
        let label = label.map(|name| self.label(ElementKind::Vertex, name)).transpose()?;
        let filters = self.filters(properties)?;
        let schema = self.view.schema();
        let has_all = |label: LabelId| {
            let label = schema.label_schema(ElementKind::Vertex, label);
            label.is_some_and(|label| filters.iter().all(|filter| label.property(filter.key).is_some()))
        };
        let mut found = Vec::new();
        for (at, _) in schema.known_labels(ElementKind::Vertex).filter(|(at, _)| has_all(*at)) {
            let scan = Scan { labels: label.map(|label| vec![label]), filters: filters.clone(), ..Scan::default() };
            // Vertices of another label may have the label beside their own.
            let Some(also) = scan.tests_of(schema, ElementKind::Vertex, at) else { continue };
            match self.by_index(at, &filters)? {
                Some(mut candidates) => {
                    if !also.is_empty() {
                        let mut labels = Vec::with_capacity(candidates.len());
                        self.view.all_further_labels(&candidates, &mut labels)?;
                        let mut labels = labels.iter();
                        candidates.retain(|_| labels.next().is_some_and(|of| also.iter().all(|test| test.passes(of))));
                    }
                    found.append(&mut candidates);
                }
                None => {
                    let (scan, mut cursor) = (Scan { labels: Some(vec![at]), also, ..scan }, ScanCursor::default());
                    let mut page = Vec::new();
                    while !cursor.done {
                        page.clear();
                        self.view.scan_vertices(&scan, &mut cursor, AT_ONCE, &mut page)?;
                        // Vertices that have this label beside their own come with that one.
                        found.extend(page.iter().filter(|vertex| vertex.label() == at));
                    }
                }
            }
        }
        Ok(found)
    }

    /// The vertices of a label that its key or an index finds and that pass all filters; `None` if neither does. Of several indexes, the one
    /// that has the fewest candidates is asked.
    fn by_index(&self, label: LabelId, filters: &[Filter]) -> Result<Option<Vec<VertexId>>, StoreError> {
        let schema = self.view.schema();
        let key = schema.label_schema(ElementKind::Vertex, label).and_then(|label| label.key);
        let of = |filter: &Filter| PropertyId::of_vertices(label, filter.key);
        let mut fewest: Option<(u64, usize)> = None;
        for (at, filter) in filters.iter().enumerate() {
            if let Some(ids) = filter.predicate.external_ids().filter(|_| key == Some(filter.key)) {
                let mut found = Vec::with_capacity(1);
                self.view.find_vertices(Some(label), &ids, &mut found)?;
                let found = found.into_iter().flatten().filter(|vertex| vertex.label() == label).collect();
                return self.passing_others(found, filters, at).map(Some);
            }
            if schema.index(of(filter)).is_some() {
                let candidates = (self.view.candidates(of(filter), &filter.predicate)?, at);
                fewest = Some(fewest.map_or(candidates, |fewest| fewest.min(candidates)));
            }
        }
        let Some((_, at)) = fewest else { return Ok(None) };
        let Some(found) = self.view.search_all(of(&filters[at]), &filters[at].predicate)? else { return Ok(None) };
        self.passing_others(found.into_vertices(), filters, at).map(Some)
    }

    /// Those that pass all filters but one, which they are known to pass.
    fn passing_others(&self, found: Vec<VertexId>, filters: &[Filter], known: usize) -> Result<Vec<VertexId>, StoreError> {
        let others: Vec<Filter> = [&filters[..known], &filters[known + 1..]].concat();
        self.passing(found, &others)
    }

    /// The ends of the edges that leave a vertex, one for each edge: those of a type in the order of time. With properties, only those
    /// that have these values; of many, an index may find these. O(edges).
    ///
    /// # Errors
    /// If there is no edge label or no property of such a name.
    pub fn get_neighbor_ids(
        &self,
        node: VertexId,
        edge_type: Option<&str>,
        properties: &[(&str, Value)],
    ) -> Result<Vec<VertexId>, StoreError> {
        let labels = edge_type.map(|name| self.label(ElementKind::Edge, name)).transpose()?.map(|label| vec![label]);
        let filters = self.filters(properties)?;
        let hop = Hop::along(Direction::Out, labels, Wants { neighbors: true, ..Wants::default() });
        let mut found = Adjacency::default();
        self.view.neighbors(&[node], &hop, &mut found)?;
        self.passing(found.neighbors, &filters)
    }

    pub(super) fn passing(&self, mut nodes: Vec<VertexId>, filters: &[Filter]) -> Result<Vec<VertexId>, StoreError> {
        for filter in filters {
            match self.few_with(filter, &nodes)? {
                Some(with) => nodes.retain(|node| with.contains(node)),
                None => {
                    let passes = self.view.pass(Elements::Vertices(&nodes), filter.key, &filter.predicate)?;
                    let mut passes = passes.into_iter();
                    nodes.retain(|_| passes.next().unwrap_or(false));
                }
            }
        }
        Ok(nodes)
    }

    /// All vertices that pass a filter and have a label of one of the nodes, if indexes find them and they are few beside the nodes.
    /// Then finding them costs less than looking at each node.
    fn few_with(&self, filter: &Filter, nodes: &[VertexId]) -> Result<Option<HashSet<VertexId>>, StoreError> {
        if nodes.len() < MANY {
            return Ok(None);
        }
        let mut labels: Vec<LabelId> = nodes.iter().map(|node| node.label()).collect();
        labels.sort_unstable();
        labels.dedup();
        let mut with = HashSet::new();
        for label in labels {
            let (of, mut cursor) = (PropertyId::of_vertices(label, filter.key), SearchCursor::default());
            while !cursor.done {
                let room = nodes.len() / FEW + 1 - with.len();
                let Some(found) = self.view.search(of, &filter.predicate, &mut cursor, room)? else { return Ok(None) };
                with.extend(found.into_vertices());
                if with.len() > nodes.len() / FEW {
                    return Ok(None);
                }
            }
        }
        Ok(Some(with))
    }

    pub(super) fn filters(&self, properties: &[(&str, Value)]) -> Result<Vec<Filter>, StoreError> {
        let filter =
            |(name, value): &(&str, Value)| Ok(Filter { key: self.key(name)?, predicate: Predicate::eq(value.clone()) });
        properties.iter().map(filter).collect()
    }

    pub(super) fn key(&self, name: &str) -> Result<KeyId, StoreError> {
        declare::known_key(self.view.schema(), name)
    }

    pub(crate) fn label(&self, kind: ElementKind, name: &str) -> Result<LabelId, StoreError> {
        Ok(declare::known_label(self.view.schema(), Some(kind), name)?.1)
    }
}

/// The value in a cell; a list if there are several. Their own properties are left out.
pub(super) fn value_in(cell: Cell) -> Option<Value> {
    match cell {
        Cell::Absent => None,
        Cell::One(value) => Some(value),
        Cell::Many(entries) => Some(Value::list(entries.into_iter().map(|entry| entry.value).collect())),
    }
}
