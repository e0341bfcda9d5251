//! The edges of a vertex as a list in the order of their times.

use std::ops::Range;
use std::sync::{Arc, OnceLock};

use mangrove_graph::{
    Adjacency, Comparison, DateTime, Direction, EdgeRef, ElementKind, Elements, Filter, GraphView, Hop, KeyId, LabelId,
    Latest, Predicate, Value, ValueType, VertexId, Wants,
};

use super::reads::{DirectReads, Properties, value_in};
use crate::error::StoreError;

/// The edges of one type, or of all types, that leave a vertex: ZipG's EdgeRecord. The edge at place 0 is the oldest. Edges without a
/// time come first, in the order in which they were added.
pub struct DirectEdges<'v> {
    reads: DirectReads<'v>,
    list: Arc<EdgeList>,
}

/// What is known of a list, without the graph that holds it.
pub struct EdgeList {
    node: VertexId,
    /// `None` for all.
    label: Option<LabelId>,
    /// The key that orders the edges of the label.
    time: Option<KeyId>,
    count: OnceLock<u64>,
    /// All edges with their times, if they are of several types: no store keeps these in one order.
    merged: Vec<(i64, EdgeRef)>,
}

/// An edge of a list.
#[derive(Clone, PartialEq, Debug)]
pub struct EdgeData {
    /// The id of the vertex that it leads to, as users see it.
    pub destination: Value,
    pub edge_type: Arc<str>,
    /// An integer, a date or a date-time; `None` if it has no time.
    pub time: Option<Value>,
    /// Without the time.
    pub properties: Properties,
}

/// Where edges without a time are in the order of times.
const NO_TIME: i64 = i64::MIN;

impl<'v> DirectReads<'v> {
    /// The edges of a type that leave a vertex, as one list in the order of their times; of all types if none is named. It is only a
    /// reference: reading it reads edges.
    ///
    /// # Errors
    /// If there is no edge label of that name.
    pub fn get_edge_record(&self, node: VertexId, edge_type: Option<&str>) -> Result<DirectEdges<'v>, StoreError> {
        let label = edge_type.map(|name| self.label(ElementKind::Edge, name)).transpose()?;
        DirectEdges::new(*self, node, label)
    }
}

impl<'v> DirectEdges<'v> {
    fn new(reads: DirectReads<'v>, node: VertexId, label: Option<LabelId>) -> Result<Self, StoreError> {
        let mut list = EdgeList { node, label, time: None, count: OnceLock::new(), merged: Vec::new() };
        match label {
            Some(of) => {
                let schema = reads.view.schema();
                list.time = schema.label_schema(ElementKind::Edge, of).and_then(|label| label.time);
            }
            None => {
                list.merged = merge(reads.view, node)?;
                list.count = OnceLock::from(list.merged.len() as u64);
            }
        }
        Ok(Self { reads, list: Arc::new(list) })
    }

    /// The list without its graph, for [`over`](Self::over).
    pub fn into_list(self) -> Arc<EdgeList> {
        self.list
    }

    /// A list that was found in the same state of the graph.
    pub fn over(reads: DirectReads<'v>, list: Arc<EdgeList>) -> Self {
        Self { reads, list }
    }

    /// How many edges there are. O(1).
    pub fn count(&self) -> Result<u64, StoreError> {
        match self.list.count.get() {
            Some(count) => Ok(*count),
            None => {
                let count = self.count_of(None)?;
                Ok(*self.list.count.get_or_init(|| count))
            }
        }
    }

    /// The places of the edges with a time of at least `from` and less than `to`. `None` stands for any time: without `from`, edges that
    /// have no time are among them, because they come first. Times are integers as they are, and dates as microseconds since 1970.
    /// O(log edges).
    ///
    /// # Errors
    /// If edges of the type have no time, and a bound is given.
    pub fn get_edge_range(&self, from: Option<i64>, to: Option<i64>) -> Result<Range<u64>, StoreError> {
        let place = |bound: i64| match self.list.label {
            Some(_) => self.before(bound),
            None => Ok(self.list.merged.partition_point(|(time, _)| *time < bound) as u64),
        };
        let start = from.map_or(Ok(0), place)?;
        let end = to.map_or_else(|| self.count(), place)?;
        Ok(start..end.max(start))
    }

    /// The edge at a place. As many as `count` and more have none.
    ///
    /// # Errors
    /// If there is no edge at the place.
    pub fn get_edge_data(&self, place: u64) -> Result<EdgeData, StoreError> {
        let data = self.get_edges(place..place.saturating_add(1))?.pop();
        let count = self.count()?;
        let missing = || {
            let reason = format!("there is no edge at place {place}: the vertex has {count} of them, counted from 0");
            mangrove_graph::GraphError::Invalid(reason)
        };
        Ok(data.ok_or_else(missing)?)
    }

    /// The edges at some places; those beyond the end are left out. O(edges from the nearer end of the list to the places).
    pub fn get_edges(&self, places: Range<u64>) -> Result<Vec<EdgeData>, StoreError> {
        self.data(&self.edges(places)?)
    }

    /// What edges of the list lead to and hold.
    pub(super) fn data(&self, edges: &[EdgeRef]) -> Result<Vec<EdgeData>, StoreError> {
        let view = self.reads.view;
        let targets: Vec<VertexId> = edges.iter().map(|edge| edge.target).collect();
        let ids = self.reads.ids(&targets)?;
        let schema = view.schema();
        let mut found: Vec<EdgeData> = Vec::with_capacity(edges.len());
        for (edge, destination) in edges.iter().zip(ids) {
            let edge_type = schema.label_name(ElementKind::Edge, edge.id.label());
            found.push(EdgeData { destination, edge_type, time: None, properties: Vec::new() });
        }
        for (start, of_label) in runs(edges) {
            let label = schema.label_schema(ElementKind::Edge, edges[start].id.label());
            let (mut keys, mut columns) = (Vec::new(), Vec::new());
            view.keys(Elements::Edges(of_label), &mut keys)?;
            view.columns(Elements::Edges(of_label), &keys, &mut columns)?;
            for (key, column) in keys.iter().zip(columns) {
                let is_time = label.is_some_and(|label| label.time == Some(*key));
                let name = schema.key_name(*key);
                for (row, data) in found[start..start + of_label.len()].iter_mut().enumerate() {
                    match value_in(column.cell(row)) {
                        value if is_time => data.time = value,
                        value => data.properties.extend(value.map(|value| (name.clone(), value))),
                    }
                }
            }
        }
        Ok(found)
    }

    /// References to the edges at some places.
    pub(super) fn edges(&self, places: Range<u64>) -> Result<Vec<EdgeRef>, StoreError> {
        let count = self.count()?;
        let places = places.start.min(count)..places.end.min(count);
        if places.is_empty() {
            return Ok(Vec::new());
        }
        if self.list.label.is_none() {
            return Ok(self.list.merged[places.start as usize..places.end as usize].iter().map(|(_, edge)| *edge).collect());
        }
        let from_end = count - places.start;
        let hop = match self.list.time {
            Some(key) if from_end < places.end => {
                Hop { latest: Some(Latest { key, count: from_end as usize }), ..self.hop(None, true) }
            }
            _ => Hop { limit: Some(places.end as usize), ..self.hop(None, true) },
        };
        let mut found = self.follow(&hop)?;
        if hop.latest.is_some() {
            // A view may return more than the latest ones, and not all of those before them.
            found.drain(..found.len().saturating_sub(from_end as usize));
            found.truncate((places.end - places.start) as usize);
            return Ok(found);
        }
        Ok(found.split_off(found.len().min(places.start as usize)))
    }

    /// The edges with times from `from` up to `to`, to these vertices.
    pub(super) fn to_targets(
        &self,
        targets: &[VertexId],
        from: Option<i64>,
        to: Option<i64>,
    ) -> Result<Vec<EdgeRef>, StoreError> {
        let filter = match (from, to) {
            (None, None) => None,
            _ => Some(self.window(from, to)?),
        };
        let mut found = self.follow(&self.hop(filter, true))?;
        found.retain(|edge| targets.contains(&edge.target));
        Ok(found)
    }

    /// At most `limit` edges with times from `from` up to `to`, the latest first.
    pub(super) fn latest_within(&self, from: Option<i64>, to: Option<i64>, limit: u64) -> Result<Vec<EdgeRef>, StoreError> {
        let limit = usize::try_from(limit).unwrap_or(usize::MAX);
        let (Some(key), 1..) = (self.list.time, limit) else {
            let range = self.get_edge_range(from, to)?;
            let mut found = self.edges(range.end.saturating_sub(limit as u64).max(range.start)..range.end)?;
            found.reverse();
            return Ok(found);
        };
        let filter = if (from, to) == (None, None) { None } else { Some(self.window(from, to)?) };
        let mut found = self.follow(&Hop { latest: Some(Latest { key, count: limit }), ..self.hop(filter, true) })?;
        found.drain(..found.len().saturating_sub(limit));
        found.reverse();
        Ok(found)
    }

    fn follow(&self, hop: &Hop) -> Result<Vec<EdgeRef>, StoreError> {
        let mut found = Adjacency::default();
        self.reads.view.neighbors(&[self.list.node], hop, &mut found)?;
        Ok(found.edges)
    }

    fn hop(&self, filter: Option<Filter>, edges: bool) -> Hop {
        let wants = Wants { edges, ..Wants::default() };
        Hop { filter, ..Hop::along(Direction::Out, self.list.label.map(|label| vec![label]), wants) }
    }

    fn count_of(&self, filter: Option<Filter>) -> Result<u64, StoreError> {
        let mut counts = Vec::with_capacity(1);
        self.reads.view.degrees(&[self.list.node], &self.hop(filter, false), &mut counts)?;
        Ok(counts.pop().unwrap_or(0))
    }

    /// How many edges of the type have a time before one, or none.
    fn before(&self, bound: i64) -> Result<u64, StoreError> {
        let later = self.count_of(Some(self.window(Some(bound), None)?))?;
        Ok(self.count()? - later)
    }

    fn window(&self, from: Option<i64>, to: Option<i64>) -> Result<Filter, StoreError> {
        let key = self.list.time.ok_or_else(|| self.untimed())?;
        Ok(Filter { key, predicate: within(self.reads.view, self.list.label, key, from, to) })
    }

    fn untimed(&self) -> StoreError {
        let name =
            self.list.label.map(|label| self.reads.view.schema().label_name(ElementKind::Edge, label)).unwrap_or_default();
        let reason = format!(
            "edges of `{name}` are not in the order of a time, so no range of times can be asked of them. Declare the property that \
             is their time with declare_time() before the first edge, or load them with --edge-time"
        );
        mangrove_graph::GraphError::Invalid(reason).into()
    }
}

/// All edges that leave a vertex, in the order of their times.
fn merge(view: &dyn GraphView, node: VertexId) -> Result<Vec<(i64, EdgeRef)>, StoreError> {
    let mut found = Adjacency::default();
    view.neighbors(&[node], &Hop::along(Direction::Out, None, Wants { edges: true, ..Wants::default() }), &mut found)?;
    let edges = found.edges;
    let mut merged: Vec<(i64, EdgeRef)> = Vec::with_capacity(edges.len());
    for (start, of_label) in runs(&edges) {
        let schema = view.schema().label_schema(ElementKind::Edge, edges[start].id.label());
        match schema.and_then(|label| label.time) {
            Some(key) => {
                let times = view.properties(Elements::Edges(of_label), key)?;
                let time = |row| value_in(times.cell(row)).and_then(|value| value.as_time()).unwrap_or(NO_TIME);
                merged.extend(of_label.iter().enumerate().map(|(row, edge)| (time(row), *edge)));
            }
            None => merged.extend(of_label.iter().map(|edge| (NO_TIME, *edge))),
        }
    }
    merged.sort_by_key(|(time, _)| *time);
    Ok(merged)
}

/// The runs of edges of one label, with the places where they begin.
fn runs(edges: &[EdgeRef]) -> impl Iterator<Item = (usize, &[EdgeRef])> {
    let mut start = 0;
    edges.chunk_by(|a, b| a.id.label() == b.id.label()).map(move |run| {
        start += run.len();
        (start - run.len(), run)
    })
}

/// A test of times from `from` up to `to`, in each type that the edges' times have.
fn within(view: &dyn GraphView, label: Option<LabelId>, key: KeyId, from: Option<i64>, to: Option<i64>) -> Predicate {
    let schema = label.and_then(|label| view.schema().label_schema(ElementKind::Edge, label));
    let types = schema.and_then(|label| label.property(key)).map(|property| property.types).unwrap_or_default();
    let has = |wanted: &[ValueType]| types.iter().any(|found| wanted.contains(&found));
    let instants = has(&[ValueType::Date, ValueType::DateTime]);
    let integers = !instants || has(&[ValueType::Int8, ValueType::Int16, ValueType::Int32, ValueType::Int64]);
    let window = |value: &dyn Fn(i64) -> Value| {
        let bound = |comparison, time| Predicate::Compare(comparison, value(time));
        let from = from.map(|time| bound(Comparison::Gte, time));
        let to = to.map(|time| bound(Comparison::Lt, time));
        Predicate::And(from.into_iter().chain(to).collect())
    };
    let of_integers = integers.then(|| window(&Value::Int64));
    let of_instants = instants.then(|| window(&|time| Value::DateTime(DateTime::from_micros(time))));
    match (of_integers, of_instants) {
        (Some(one), Some(other)) => Predicate::Or(vec![one, other]),
        (one, other) => one.or(other).unwrap_or(Predicate::And(Vec::new())),
    }
}
