//! Reads and writes without a query language, in Python.

use std::sync::{Arc, Mutex, PoisonError};

use mangrove::BackendView;
use mangrove::direct::{self, DirectEdges, DirectReads, EdgeList, Properties, tao};
use mangrove::graph::Value;
use pyo3::exceptions::{PyIndexError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyIterator, PyList, PyString};

use crate::convert;
use crate::database::Database;
use crate::elements::element_value;
use crate::errors::raised;
use crate::parameters;
use crate::result;

type Object<'py> = PyResult<Bound<'py, PyAny>>;
type Named = Vec<(String, Value)>;

/// The graph without a query language: the calls of the graph store ZipG, and the operations of Facebook's store TAO.
/// `db.direct()` makes one.
///
/// Each call reads the graph as it is at that moment. Each call that writes is a transaction of its own: its change is
/// durable when it returns. A *node* is a vertex, named by its id or given as a `Vertex`. An *edge type* is the label of
/// edges. In calls that read, an `edge_type` or `properties` of `None` stands for all. Times are integers as they are stored, or dates.
///
/// >>> g = db.direct()
/// >>> g.get_node_property("AUS", ["code", "elev"])
/// {'code': 'AUS', 'elev': 542}
/// >>> g.get_neighbor_ids("AUS", "route")
/// ['DFW', 'LHR']
#[pyclass(frozen, module = "mangrovedb", weakref)]
pub struct Direct(Py<Database>);

/// The edges of a type that leave a vertex, the oldest first; of all types if none is named. `Direct.get_edge_record`
/// makes one. It shows the graph as it was then, and keeps that state until it is gone.
///
/// >>> record = db.direct().get_edge_record("AUS", "route")
/// >>> len(record), record[0].destination, record[-1].destination
/// (2, 'DFW', 'LHR')
#[pyclass(frozen, module = "mangrovedb", weakref)]
pub struct EdgeRecord {
    view: Mutex<Box<dyn BackendView>>,
    list: Arc<EdgeList>,
    count: u64,
}

/// An edge of an `EdgeRecord`: the id of the vertex that it leads to, its type, its time and its other properties.
///
/// >>> db.direct().get_edge_record("AUS", "route")[0]
/// EdgeData(destination='DFW', edge_type='route', time=None, properties={'dist': 190})
#[pyclass(frozen, module = "mangrovedb", weakref)]
pub struct EdgeData {
    data: direct::EdgeData,
}

impl Direct {
    pub fn new(database: Py<Database>) -> Self {
        Self(database)
    }

    fn read<T: Send>(
        &self,
        py: Python<'_>,
        read: impl FnOnce(DirectReads<'_>) -> Result<T, mangrove::StoreError> + Send,
    ) -> PyResult<T> {
        let inner = self.0.get().handle()?;
        raised(py.detach(|| inner.read_directly(read)))
    }

    fn write<T: Send>(
        &self,
        py: Python<'_>,
        write: impl FnOnce(&mut direct::DirectWrites<'_>) -> Result<T, mangrove::StoreError> + Send,
    ) -> PyResult<T> {
        let inner = self.0.get().handle()?;
        let (done, warnings) = raised(py.detach(|| inner.write_directly(write)))?;
        result::warn(py, &warnings)?;
        Ok(done)
    }
}

#[pymethods]
impl Direct {
    /// Returns the values of some properties of a vertex, or of all. Leaves out those that it does not have. A property
    /// with several values gives a list.
    ///
    /// >>> db.direct().get_node_property("LHR", ["city"])
    /// {'city': 'London'}
    #[pyo3(signature = (node, properties=None))]
    fn get_node_property<'py>(
        &self,
        py: Python<'py>,
        node: &Bound<'_, PyAny>,
        properties: Option<Vec<String>>,
    ) -> PyResult<Bound<'py, PyDict>> {
        let id = id_of(node)?;
        let found = self.read(py, |reads| {
            let names: Option<Vec<&str>> = properties.as_ref().map(|names| names.iter().map(String::as_str).collect());
            reads.get_node_property(reads.node(&id)?, names.as_deref())
        })?;
        as_dict(py, &found)
    }

    /// Returns the ids of the vertices that have all these values, of a label or of all. An index of one of the
    /// properties finds them; without one, it looks at all vertices of the labels that have the properties.
    ///
    /// >>> db.direct().get_node_ids({"city": "London"})
    /// ['LHR']
    #[pyo3(signature = (properties, label=None))]
    fn get_node_ids<'py>(
        &self,
        py: Python<'py>,
        properties: &Bound<'_, PyDict>,
        label: Option<String>,
    ) -> PyResult<Bound<'py, PyList>> {
        let wanted = named(Some(properties))?;
        let found = self.read(py, |reads| reads.ids(&reads.get_node_ids(label.as_deref(), &refs(&wanted))?))?;
        values(py, &found)
    }

    /// Returns the ids of the vertices that the edges of a type lead to, one for each edge, in the order of their times.
    /// With `properties`, only those that have these values.
    ///
    /// >>> db.direct().get_neighbor_ids("AUS", "route", {"city": "London"})
    /// ['LHR']
    #[pyo3(signature = (node, edge_type=None, properties=None))]
    fn get_neighbor_ids<'py>(
        &self,
        py: Python<'py>,
        node: &Bound<'_, PyAny>,
        edge_type: Option<String>,
        properties: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Bound<'py, PyList>> {
        let (id, wanted) = (id_of(node)?, named(properties)?);
        let found = self.read(py, |reads| {
            reads.ids(&reads.get_neighbor_ids(reads.node(&id)?, edge_type.as_deref(), &refs(&wanted))?)
        })?;
        values(py, &found)
    }

    /// Returns the edges of a type that leave a vertex as one list, the oldest first. See `EdgeRecord`.
    ///
    /// >>> len(db.direct().get_edge_record("AUS", "route"))
    /// 2
    #[pyo3(signature = (node, edge_type=None))]
    fn get_edge_record(&self, py: Python<'_>, node: &Bound<'_, PyAny>, edge_type: Option<String>) -> PyResult<EdgeRecord> {
        let id = id_of(node)?;
        let inner = self.0.get().handle()?;
        let (view, list, count) = raised(py.detach(|| {
            let view = inner.snapshot()?;
            let reads = DirectReads::new(&*view);
            let edges = reads.get_edge_record(reads.node(&id)?, edge_type.as_deref())?;
            let count = edges.count()?;
            let list = edges.into_list();
            Ok::<_, mangrove::StoreError>((view, list, count))
        }))?;
        Ok(EdgeRecord { view: Mutex::new(view), list, count })
    }

    /// Adds a vertex and returns its id. Without `node`, its id is the property that is declared as the key of its label;
    /// without that, a generated one.
    ///
    /// >>> db.direct().append_node("airport", "OSL", {"city": "Oslo"})
    /// 'OSL'
    #[pyo3(signature = (label, node=None, properties=None))]
    fn append_node<'py>(
        &self,
        py: Python<'py>,
        label: String,
        node: Option<&Bound<'_, PyAny>>,
        properties: Option<&Bound<'_, PyDict>>,
    ) -> Object<'py> {
        let (id, wanted) = (node.map(parameters::value).transpose()?, named(properties)?);
        let id = self.write(py, |graph| {
            let added = graph.append_node(&label, id, &refs(&wanted))?;
            Ok(graph.reads().ids(&[added])?.pop().unwrap_or(Value::Null))
        })?;
        convert::plain(py, &id)
    }

    /// Adds an edge between two vertices, beside those that are there. Only edges of a type with a declared time take a
    /// `time` (see `Database.declare_time`). It may be among the properties instead.
    ///
    /// >>> db.direct().append_edge("LHR", "route", "DFW", properties={"dist": 4740})
    #[pyo3(signature = (source, edge_type, destination, time=None, properties=None))]
    fn append_edge(
        &self,
        py: Python<'_>,
        source: &Bound<'_, PyAny>,
        edge_type: String,
        destination: &Bound<'_, PyAny>,
        time: Option<&Bound<'_, PyAny>>,
        properties: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<()> {
        let (source, target, wanted) = (id_of(source)?, id_of(destination)?, named(properties)?);
        let time = time.map(parameters::value).transpose()?;
        self.write(py, |graph| graph.append_edge(&source, &edge_type, &target, time, &refs(&wanted)).map(drop))
    }

    /// Removes a vertex, its properties and its edges. Returns whether it was there.
    ///
    /// >>> db.direct().delete_node("LHR"), db.direct().delete_node("LHR")
    /// (True, False)
    fn delete_node(&self, py: Python<'_>, node: &Bound<'_, PyAny>) -> PyResult<bool> {
        let id = id_of(node)?;
        self.write(py, |graph| graph.delete_node(&id))
    }

    /// Removes the edges of a type from one vertex to another. Returns how many there were.
    ///
    /// >>> db.direct().delete_edges("AUS", "route", "LHR")
    /// 1
    fn delete_edges(
        &self,
        py: Python<'_>,
        source: &Bound<'_, PyAny>,
        edge_type: String,
        destination: &Bound<'_, PyAny>,
    ) -> PyResult<u64> {
        let (source, target) = (id_of(source)?, id_of(destination)?);
        self.write(py, |graph| graph.delete_edges(&source, &edge_type, &target))
    }

    // ---- TAO

    /// TAO: returns all properties of an object; `None` if it is not there.
    ///
    /// >>> db.direct().obj_get("nobody") is None
    /// True
    fn obj_get<'py>(&self, py: Python<'py>, node: &Bound<'_, PyAny>) -> PyResult<Option<Bound<'py, PyDict>>> {
        let id = id_of(node)?;
        let found = self.read(py, |reads| tao::obj_get(reads, &id))?;
        found.map(|found| as_dict(py, &found)).transpose()
    }

    /// TAO: adds an object with an id. The same as `append_node`.
    ///
    /// >>> db.direct().obj_add("airport", "ZRH", {"city": "Zurich"})
    /// 'ZRH'
    #[pyo3(signature = (otype, node=None, properties=None))]
    fn obj_add<'py>(
        &self,
        py: Python<'py>,
        otype: String,
        node: Option<&Bound<'_, PyAny>>,
        properties: Option<&Bound<'_, PyDict>>,
    ) -> Object<'py> {
        self.append_node(py, otype, node, properties)
    }

    /// TAO: sets properties of an object; `None` removes one. Returns whether the object was there.
    ///
    /// >>> db.direct().obj_update("AUS", {"elev": 543})
    /// True
    fn obj_update(&self, py: Python<'_>, node: &Bound<'_, PyAny>, properties: &Bound<'_, PyDict>) -> PyResult<bool> {
        let (id, wanted) = (id_of(node)?, named(Some(properties))?);
        self.write(py, |graph| tao::obj_update(graph, &id, &refs(&wanted)))
    }

    /// TAO: removes an object and its associations. Returns whether it was there. The same as `delete_node`.
    ///
    /// >>> db.direct().obj_del("nobody")
    /// False
    fn obj_del(&self, py: Python<'_>, node: &Bound<'_, PyAny>) -> PyResult<bool> {
        self.delete_node(py, node)
    }

    /// TAO: returns the associations of a type to some objects, the latest first; with bounds, only those with a time of
    /// at least `low` and less than `high`.
    ///
    /// >>> [edge.properties for edge in db.direct().assoc_get("AUS", "route", ["LHR", "OSL"])]
    /// [{'dist': 4921}]
    #[pyo3(signature = (node, edge_type, others, low=None, high=None))]
    fn assoc_get<'py>(
        &self,
        py: Python<'py>,
        node: &Bound<'_, PyAny>,
        edge_type: String,
        others: &Bound<'_, PyAny>,
        low: Option<&Bound<'_, PyAny>>,
        high: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Bound<'py, PyList>> {
        let (id, low, high) = (id_of(node)?, time_of(low)?, time_of(high)?);
        if others.is_instance_of::<PyString>() {
            return Err(PyTypeError::new_err("`others` is a list of ids, and this is a text: put it in a list"));
        }
        let others = others.try_iter()?.map(|other| id_of(&other?)).collect::<PyResult<Vec<Value>>>()?;
        let found = self.read(py, |reads| tao::assoc_get(reads, &id, &edge_type, &others, low, high))?;
        edges(py, found)
    }

    /// TAO: returns how many associations of a type an object has.
    ///
    /// >>> db.direct().assoc_count("AUS", "route")
    /// 2
    fn assoc_count(&self, py: Python<'_>, node: &Bound<'_, PyAny>, edge_type: String) -> PyResult<u64> {
        let id = id_of(node)?;
        self.read(py, |reads| tao::assoc_count(reads, &id, &edge_type))
    }

    /// TAO: returns at most `limit` associations of a type, the latest first, without the `skip` latest.
    ///
    /// >>> [edge.destination for edge in db.direct().assoc_range("AUS", "route", 0, 1)]
    /// ['LHR']
    fn assoc_range<'py>(
        &self,
        py: Python<'py>,
        node: &Bound<'_, PyAny>,
        edge_type: String,
        skip: Places,
        limit: Places,
    ) -> PyResult<Bound<'py, PyList>> {
        let id = id_of(node)?;
        let found = self.read(py, |reads| tao::assoc_range(reads, &id, &edge_type, skip.0, limit.0))?;
        edges(py, found)
    }

    /// TAO: returns at most `limit` associations of a type with a time of at least `low` and less than `high`, the latest
    /// first. `None` stands for any time.
    ///
    /// >>> db.declare_time("visit", "at")
    /// >>> g = db.direct()
    /// >>> for day in (1, 2, 3):
    /// ...     g.append_edge("AUS", "visit", "DFW", day)
    /// >>> [edge.time for edge in g.assoc_time_range("AUS", "visit", 1, 3, 10)]
    /// [2, 1]
    fn assoc_time_range<'py>(
        &self,
        py: Python<'py>,
        node: &Bound<'_, PyAny>,
        edge_type: String,
        low: Option<&Bound<'_, PyAny>>,
        high: Option<&Bound<'_, PyAny>>,
        limit: Places,
    ) -> PyResult<Bound<'py, PyList>> {
        let (id, low, high) = (id_of(node)?, time_of(low)?, time_of(high)?);
        let found = self.read(py, |reads| tao::assoc_time_range(reads, &id, &edge_type, low, high, limit.0))?;
        edges(py, found)
    }

    /// TAO: adds an association, in the place of the one of this type that joins the two objects already. Returns
    /// whether there was none.
    ///
    /// >>> db.direct().assoc_add("AUS", "route", "LHR", properties={"dist": 4902})
    /// False
    #[pyo3(signature = (node, edge_type, other, time=None, properties=None))]
    fn assoc_add(
        &self,
        py: Python<'_>,
        node: &Bound<'_, PyAny>,
        edge_type: String,
        other: &Bound<'_, PyAny>,
        time: Option<&Bound<'_, PyAny>>,
        properties: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<bool> {
        let (id, other, wanted) = (id_of(node)?, id_of(other)?, named(properties)?);
        let time = time.map(parameters::value).transpose()?;
        self.write(py, |graph| tao::assoc_add(graph, &id, &edge_type, &other, time, &refs(&wanted)))
    }

    /// TAO: sets properties of an association; `None` removes one. Returns whether the association was there.
    ///
    /// >>> db.direct().assoc_update("AUS", "route", "LHR", {"dist": 4903})
    /// True
    fn assoc_update(
        &self,
        py: Python<'_>,
        node: &Bound<'_, PyAny>,
        edge_type: String,
        other: &Bound<'_, PyAny>,
        properties: &Bound<'_, PyDict>,
    ) -> PyResult<bool> {
        let (id, other, wanted) = (id_of(node)?, id_of(other)?, named(Some(properties))?);
        self.write(py, |graph| tao::assoc_update(graph, &id, &edge_type, &other, &refs(&wanted)))
    }

    /// TAO: removes an association. Returns whether it was there.
    ///
    /// >>> db.direct().assoc_del("AUS", "route", "OSL")
    /// False
    fn assoc_del(
        &self,
        py: Python<'_>,
        node: &Bound<'_, PyAny>,
        edge_type: String,
        other: &Bound<'_, PyAny>,
    ) -> PyResult<bool> {
        let (id, other) = (id_of(node)?, id_of(other)?);
        self.write(py, |graph| tao::assoc_del(graph, &id, &edge_type, &other))
    }

    fn __repr__(&self) -> String {
        format!("<mangrovedb.Direct of {}>", self.0.get().place().display())
    }
}

impl EdgeRecord {
    fn read<T: Send>(
        &self,
        py: Python<'_>,
        read: impl FnOnce(DirectEdges<'_>) -> Result<T, mangrove::StoreError> + Send,
    ) -> PyResult<T> {
        raised(py.detach(|| {
            // A panic inside a read leaves the view as it was.
            let view = self.view.lock().unwrap_or_else(PoisonError::into_inner);
            read(DirectEdges::over(DirectReads::new(&**view), self.list.clone()))
        }))
    }
}

#[pymethods]
impl EdgeRecord {
    fn __len__(&self) -> usize {
        self.count as usize
    }

    /// Returns the places of the edges with a time of at least `low` and less than `high`, as (first, end). `None`
    /// stands for any time.
    ///
    /// >>> db.declare_time("visit", "at")
    /// >>> g = db.direct()
    /// >>> for day in (1, 2, 3, 5):
    /// ...     g.append_edge("AUS", "visit", "DFW", day)
    /// >>> g.get_edge_record("AUS", "visit").get_edge_range(2, None)
    /// (1, 4)
    #[pyo3(signature = (low=None, high=None))]
    fn get_edge_range(
        &self,
        py: Python<'_>,
        low: Option<&Bound<'_, PyAny>>,
        high: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<(u64, u64)> {
        let (low, high) = (time_of(low)?, time_of(high)?);
        let range = self.read(py, |edges| edges.get_edge_range(low, high))?;
        Ok((range.start, range.end))
    }

    /// Returns the edge at a place, the oldest at 0. `record[place]` does the same, and counts from the end below 0.
    ///
    /// >>> db.direct().get_edge_record("AUS", "route").get_edge_data(1).properties
    /// {'dist': 4921}
    fn get_edge_data(&self, py: Python<'_>, time_order: i64) -> PyResult<EdgeData> {
        self.__getitem__(py, time_order)
    }

    /// Returns the edges from one place up to another, in one call.
    ///
    /// >>> [edge.destination for edge in db.direct().get_edge_record("AUS", "route").get_edges()]
    /// ['DFW', 'LHR']
    #[pyo3(signature = (first=Places(0), end=None), text_signature = "($self, first=0, end=None)")]
    fn get_edges<'py>(&self, py: Python<'py>, first: Places, end: Option<Places>) -> PyResult<Bound<'py, PyList>> {
        let found = self.read(py, |record| record.get_edges(first.0..end.map_or(u64::MAX, |end| end.0)))?;
        edges(py, found)
    }

    fn __getitem__(&self, py: Python<'_>, place: i64) -> PyResult<EdgeData> {
        let from_start = if place < 0 { place + self.count as i64 } else { place };
        let place = u64::try_from(from_start).ok().filter(|place| *place < self.count).ok_or_else(|| {
            PyIndexError::new_err(format!("there is no edge at place {place}: the record has {}", self.count))
        })?;
        self.read(py, |edges| edges.get_edge_data(place)).map(|data| EdgeData { data })
    }

    fn __iter__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyIterator>> {
        self.get_edges(py, Places(0), None)?.try_iter()
    }

    fn __repr__(&self) -> String {
        format!("<mangrovedb.EdgeRecord: {} edges>", self.count)
    }
}

#[pymethods]
impl EdgeData {
    /// The id of the vertex that the edge leads to.
    #[getter]
    fn destination<'py>(&self, py: Python<'py>) -> Object<'py> {
        convert::plain(py, &self.data.destination)
    }

    #[getter]
    fn edge_type(&self) -> &str {
        &self.data.edge_type
    }

    /// The time that orders the edge; `None` if it has none.
    #[getter]
    fn time<'py>(&self, py: Python<'py>) -> Object<'py> {
        convert::plain(py, self.data.time.as_ref().unwrap_or(&Value::Null))
    }

    /// The other properties.
    #[getter]
    fn properties<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        as_dict(py, &self.data.properties)
    }

    fn __eq__(&self, other: &Bound<'_, PyAny>) -> bool {
        other.cast::<Self>().is_ok_and(|other| other.get().data == self.data)
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let show = |object: Bound<'_, PyAny>| object.repr().map(|text| text.to_string());
        let (destination, time) = (show(self.destination(py)?)?, show(self.time(py)?)?);
        let properties = show(self.properties(py)?.into_any())?;
        let edge_type = show(PyString::new(py, &self.data.edge_type).into_any())?;
        Ok(format!("EdgeData(destination={destination}, edge_type={edge_type}, time={time}, properties={properties})"))
    }
}

/// A number of places, which is not negative.
#[derive(Clone, Copy)]
struct Places(u64);

impl<'py> FromPyObject<'_, 'py> for Places {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        let number: i64 = object.extract()?;
        let places =
            u64::try_from(number).map_err(|_| PyValueError::new_err(format!("{number} is negative: count from 0 on")))?;
        Ok(Self(places))
    }
}

/// The id that names a vertex: an id, or the vertex itself.
fn id_of(node: &Bound<'_, PyAny>) -> PyResult<Value> {
    match element_value(node) {
        Some(Value::Vertex(vertex)) => Ok(Value::Vertex(vertex)),
        Some(_) => Err(PyTypeError::new_err("expected the id of a vertex, or a Vertex")),
        None => parameters::value(node),
    }
}

fn named(properties: Option<&Bound<'_, PyDict>>) -> PyResult<Named> {
    let entry = |(key, value): (Bound<'_, PyAny>, Bound<'_, PyAny>)| Ok((key.extract()?, parameters::value(&value)?));
    properties.into_iter().flat_map(|dict| dict.iter()).map(entry).collect()
}

fn refs(named: &Named) -> Vec<(&str, Value)> {
    named.iter().map(|(key, value)| (key.as_str(), value.clone())).collect()
}

/// A bound of times, as the store orders them.
fn time_of(bound: Option<&Bound<'_, PyAny>>) -> PyResult<Option<i64>> {
    let Some(bound) = bound else { return Ok(None) };
    let time = parameters::value(bound)?.as_time();
    time.map(Some).ok_or_else(|| PyTypeError::new_err("a time must be an integer, a date or a datetime"))
}

fn as_dict<'py>(py: Python<'py>, properties: &Properties) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    for (key, value) in properties {
        dict.set_item(&**key, convert::plain(py, value)?)?;
    }
    Ok(dict)
}

fn values<'py>(py: Python<'py>, values: &[Value]) -> PyResult<Bound<'py, PyList>> {
    let objects = values.iter().map(|value| convert::plain(py, value)).collect::<PyResult<Vec<_>>>()?;
    PyList::new(py, objects)
}

fn edges<'py>(py: Python<'py>, found: Vec<direct::EdgeData>) -> PyResult<Bound<'py, PyList>> {
    let objects = found.into_iter().map(|data| Bound::new(py, EdgeData { data })).collect::<PyResult<Vec<_>>>()?;
    PyList::new(py, objects)
}
