//! Elements as Python objects: `Vertex`, `Edge`, `VertexProperty`, `Property`, `Path` and `Graph`.
//!
//! Each element is a plain, immutable object that was read completely. It keeps no database open. Two are equal if they are the
//! same element (by kind, label and id), whatever their properties were at the time.

use std::borrow::Cow;
use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use mangrove::describe::{
    Described, EdgeRecord, EndRecord, LonePropertyRecord, PropertyRecord, ValueRecord, VertexPropertyRecord, VertexRecord,
};
use mangrove_graph::value::NESTING_MAX;
use mangrove_graph::{EdgeRef, Value, VertexId};
use pyo3::exceptions::{PyIndexError, PyKeyError, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PySet, PyString, PyTuple};

use crate::convert;

type Object<'py> = PyResult<Bound<'py, PyAny>>;

/// A vertex, with the properties it had when the query read it.
///
/// `properties` maps each key to its value, or to the list of its values if the key takes several. `vertex[key]`,
/// `get`, `keys`, `items` and `dict(vertex)` use the entries of `to_dict()`, which also has `id` and `label`.
#[pyclass(frozen, module = "mangrovedb", weakref)]
pub struct Vertex {
    pub internal: VertexId,
    id: Value,
    label: Arc<str>,
    further_labels: Vec<Arc<str>>,
    properties: Py<PyDict>,
}

/// An edge with its properties. `outV` is the vertex it leaves, and `inV` is the vertex it enters. Both come without
/// properties.
#[pyclass(frozen, module = "mangrovedb", weakref)]
pub struct Edge {
    pub internal: EdgeRef,
    id: Value,
    label: Arc<str>,
    source: Py<Vertex>,
    target: Py<Vertex>,
    properties: Py<PyDict>,
}

/// One value of a property of a vertex. It is an element in its own right and may have properties.
#[pyclass(frozen, module = "mangrovedb", weakref)]
pub struct VertexProperty {
    element: Value,
    id: String,
    key: Arc<str>,
    value: Py<PyAny>,
    vertex: Py<Vertex>,
    properties: Py<PyDict>,
}

/// A property of an edge or of a vertex property: a key and a value.
#[pyclass(frozen, module = "mangrovedb", weakref)]
pub struct Property {
    element: Value,
    key: Arc<str>,
    value: Py<PyAny>,
}

/// The path of a traverser. `objects` lists what it visited, in order. `labels` has a set for each object: the labels
/// that `as()` gave it.
///
/// `path[0]` is the first object, and `path["a"]` is the last one labelled `a`. A path has a length and can be
/// iterated.
#[pyclass(frozen, module = "mangrovedb", weakref)]
pub struct Path {
    objects: Py<PyList>,
    labels: Py<PyList>,
}

/// A part of a graph, as `subgraph()` gives it: the lists `vertices` and `edges`.
#[pyclass(frozen, module = "mangrovedb", weakref)]
pub struct Graph {
    vertices: Py<PyList>,
    edges: Py<PyList>,
}

pub fn vertex<'py>(py: Python<'py>, record: &VertexRecord) -> Object<'py> {
    let properties = PyDict::new(py);
    for property in &record.properties {
        let value = match &property.values[..] {
            [one] if !property.many => convert::plain(py, &one.value)?,
            values => {
                let values = values.iter().map(|v| convert::plain(py, &v.value)).collect::<PyResult<Vec<_>>>()?;
                PyList::new(py, values)?.into_any()
            }
        };
        properties.set_item(key(py, &property.key), value)?;
    }
    let vertex = Vertex {
        internal: record.internal,
        id: record.id.clone(),
        label: record.label.clone(),
        further_labels: record.further_labels.clone(),
        properties: properties.unbind(),
    };
    Ok(Bound::new(py, vertex)?.into_any())
}

pub fn edge<'py>(py: Python<'py>, record: &EdgeRecord) -> Object<'py> {
    let properties = PyDict::new(py);
    for (name, value) in &record.properties {
        properties.set_item(key(py, name), convert::plain(py, value)?)?;
    }
    let edge = Edge {
        internal: record.internal,
        id: record.id.clone(),
        label: record.label.clone(),
        source: end(py, record.internal.source, &record.source)?,
        target: end(py, record.internal.target, &record.target)?,
        properties: properties.unbind(),
    };
    Ok(Bound::new(py, edge)?.into_any())
}

pub fn vertex_property<'py>(py: Python<'py>, record: &VertexPropertyRecord) -> Object<'py> {
    let properties = PyDict::new(py);
    for (name, value) in &record.meta {
        properties.set_item(key(py, name), convert::plain(py, value)?)?;
    }
    let property = VertexProperty {
        element: record.element.clone(),
        id: mangrove_graph::record::property_id(&record.vertex.id, &record.key, record.ordinal),
        key: record.key.clone(),
        value: convert::plain(py, &record.value)?.unbind(),
        vertex: end(py, record.internal, &record.vertex)?,
        properties: properties.unbind(),
    };
    Ok(Bound::new(py, property)?.into_any())
}

pub fn property<'py>(py: Python<'py>, record: &LonePropertyRecord) -> Object<'py> {
    let value = convert::plain(py, &record.value)?.unbind();
    let property = Property { element: record.element.clone(), key: record.key.clone(), value };
    Ok(Bound::new(py, property)?.into_any())
}

pub fn path<'py>(py: Python<'py>, objects: &[Described], labels: &[Vec<Arc<str>>]) -> Object<'py> {
    let objects = objects.iter().map(|object| convert::described(py, object)).collect::<PyResult<Vec<_>>>()?;
    let labels = labels.iter().map(|names| PySet::new(py, names.iter().map(|n| &**n)));
    let labels = labels.collect::<PyResult<Vec<_>>>()?;
    let path = Path { objects: PyList::new(py, objects)?.unbind(), labels: PyList::new(py, labels)?.unbind() };
    Ok(Bound::new(py, path)?.into_any())
}

pub fn graph<'py>(py: Python<'py>, vertices: &[VertexRecord], edges: &[EdgeRecord]) -> Object<'py> {
    let vertices = vertices.iter().map(|record| vertex(py, record)).collect::<PyResult<Vec<_>>>()?;
    let edges = edges.iter().map(|record| edge(py, record)).collect::<PyResult<Vec<_>>>()?;
    let graph = Graph { vertices: PyList::new(py, vertices)?.unbind(), edges: PyList::new(py, edges)?.unbind() };
    Ok(Bound::new(py, graph)?.into_any())
}

fn end(py: Python<'_>, internal: VertexId, record: &EndRecord) -> PyResult<Py<Vertex>> {
    let properties = PyDict::new(py).unbind();
    let (id, label) = (record.id.clone(), record.label.clone());
    Py::new(py, Vertex { internal, id, label, further_labels: Vec::new(), properties })
}

/// Interned, because there are few property names and many elements have them.
fn key<'py>(py: Python<'py>, name: &str) -> Bound<'py, PyString> {
    PyString::intern(py, name)
}

fn hash_of(value: impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}

fn lookup<'py>(dict: &Bound<'py, PyDict>, key: &str) -> Object<'py> {
    dict.get_item(key)?.ok_or_else(|| PyKeyError::new_err(key.to_owned()))
}

/// An element as a dict: its own parts first, then its properties.
fn as_dict<'py>(
    py: Python<'py>,
    id: &Value,
    label: &str,
    ends: &[(&str, &Value)],
    properties: &Py<PyDict>,
) -> PyResult<Bound<'py, PyDict>> {
    let (dict, properties) = (PyDict::new(py), properties.bind(py));
    let id = convert::plain(py, id)?;
    // If the property `id` is the key of the label, it is the id.
    let is_other = match properties.get_item("id")? {
        Some(property) => !property.eq(&id)?,
        None => false,
    };
    dict.set_item(if is_other { "T.id" } else { "id" }, id)?;
    dict.set_item(if properties.contains("label")? { "T.label" } else { "label" }, label)?;
    for (name, end) in ends {
        dict.set_item(*name, convert::plain(py, end)?)?;
    }
    dict.update(properties.as_mapping())?;
    Ok(dict)
}

/// The properties by name, as values of the database.
fn values_of(py: Python<'_>, properties: &Py<PyDict>) -> PyResult<Vec<(Arc<str>, Value)>> {
    let pair = |(key, held): (Bound<'_, PyAny>, Bound<'_, PyAny>)| {
        Ok((Arc::from(key.extract::<String>()?), crate::parameters::value(&held)?))
    };
    properties.bind(py).iter().map(pair).collect()
}

impl Vertex {
    fn record(&self, py: Python<'_>) -> PyResult<VertexRecord> {
        let value = |value| ValueRecord { ordinal: 0, value, meta: Vec::new() };
        let property = |(key, held)| PropertyRecord { key, many: false, values: vec![value(held)] };
        Ok(VertexRecord {
            internal: self.internal,
            id: self.id.clone(),
            label: self.label.clone(),
            further_labels: self.further_labels.clone(),
            properties: values_of(py, &self.properties)?.into_iter().map(property).collect(),
        })
    }

    fn as_end(&self) -> EndRecord {
        EndRecord { id: self.id.clone(), label: self.label.clone() }
    }
}

impl Edge {
    fn record(&self, py: Python<'_>) -> PyResult<EdgeRecord> {
        Ok(EdgeRecord {
            internal: self.internal,
            id: self.id.clone(),
            label: self.label.clone(),
            source: self.source.get().as_end(),
            target: self.target.get().as_end(),
            properties: values_of(py, &self.properties)?,
        })
    }
}

impl VertexProperty {
    fn record(&self, py: Python<'_>) -> PyResult<VertexPropertyRecord> {
        Ok(VertexPropertyRecord {
            ordinal: 0,
            internal: self.vertex.get().internal,
            element: self.element.clone(),
            vertex: self.vertex.get().as_end(),
            key: self.key.clone(),
            value: crate::parameters::value(self.value.bind(py))?,
            meta: values_of(py, &self.properties)?,
        })
    }
}

impl Property {
    fn record(&self, py: Python<'_>) -> PyResult<LonePropertyRecord> {
        let value = crate::parameters::value(self.value.bind(py))?;
        Ok(LonePropertyRecord { element: self.element.clone(), key: self.key.clone(), value })
    }
}

impl Path {
    fn described(&self, py: Python<'_>, levels: usize) -> PyResult<Described> {
        let objects = self.objects.bind(py).iter().map(|object| described(&object, levels)).collect::<PyResult<_>>()?;
        let names = |names: Bound<'_, PyAny>| {
            let names = names.try_iter()?.map(|name| Ok(Arc::from(name?.extract::<String>()?)));
            let mut names = names.collect::<PyResult<Vec<Arc<str>>>>()?;
            names.sort();
            Ok(names)
        };
        let labels = self.labels.bind(py).iter().map(names).collect::<PyResult<_>>()?;
        Ok(Described::Path { objects, labels })
    }
}

/// What a result is in the form that JSON is written from. It may nest `levels` deep.
fn described(object: &Bound<'_, PyAny>, levels: usize) -> PyResult<Described> {
    let py = object.py();
    let Some(deeper) = levels.checked_sub(1) else { return Err(PyTypeError::new_err("the path nests too deep")) };
    Ok(if let Ok(vertex) = object.cast::<Vertex>() {
        Described::Vertex(Box::new(vertex.get().record(py)?))
    } else if let Ok(edge) = object.cast::<Edge>() {
        Described::Edge(Box::new(edge.get().record(py)?))
    } else if let Ok(property) = object.cast::<VertexProperty>() {
        Described::VertexProperty(Box::new(property.get().record(py)?))
    } else if let Ok(property) = object.cast::<Property>() {
        Described::Property(Box::new(property.get().record(py)?))
    } else if let Ok(path) = object.cast::<Path>() {
        path.get().described(py, deeper)?
    } else if let Ok(items) = object.cast::<PyList>() {
        Described::List(items.iter().map(|item| described(&item, deeper)).collect::<PyResult<_>>()?)
    } else if let Ok(entries) = object.cast::<PyDict>() {
        let entry =
            |(key, value): (Bound<'_, PyAny>, Bound<'_, PyAny>)| Ok((described(&key, deeper)?, described(&value, deeper)?));
        Described::Map(entries.iter().map(entry).collect::<PyResult<_>>()?)
    } else {
        Described::Plain(crate::parameters::value(object)?)
    })
}

#[pymethods]
impl Vertex {
    /// The id that users know the vertex by.
    #[getter]
    fn id<'py>(&self, py: Python<'py>) -> Object<'py> {
        convert::plain(py, &self.id)
    }

    #[getter]
    fn label(&self) -> &str {
        &self.label
    }

    /// All labels of the vertex, the primary one first.
    #[getter]
    fn labels<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, std::iter::once(&self.label).chain(&self.further_labels).map(|l| &**l).collect::<Vec<_>>())
    }

    #[getter]
    fn properties(&self, py: Python<'_>) -> Py<PyDict> {
        self.properties.clone_ref(py)
    }

    fn __getitem__<'py>(&self, py: Python<'py>, key: &str) -> Object<'py> {
        lookup(&self.to_dict(py)?, key)
    }

    /// Returns `id`, `label` and the properties as a dict; `dict(vertex)` gives the same. If a property is called
    /// `label`, the label is under `T.label`. If a property is called `id` and differs from the id, the id is under
    /// `T.id`.
    ///
    /// >>> db.query("g.V('AUS')").one().to_dict()["code"]
    /// 'AUS'
    fn to_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        as_dict(py, &self.id, &self.label, &[], &self.properties)
    }

    /// Returns the vertex as JSON, as `Result.to_json()` writes it, but without the properties of its properties.
    fn to_json(&self, py: Python<'_>) -> PyResult<String> {
        Ok(mangrove::json::to_string(&Described::Vertex(Box::new(self.record(py)?))))
    }

    /// Returns the value under `key` in `to_dict()`, or `default` if there is none.
    #[pyo3(signature = (key, default=None))]
    fn get<'py>(&self, py: Python<'py>, key: &str, default: Option<Bound<'py, PyAny>>) -> Object<'py> {
        let found = self.to_dict(py)?.get_item(key)?;
        Ok(found.or(default).unwrap_or_else(|| py.None().into_bound(py)))
    }

    fn keys<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        Ok(self.to_dict(py)?.keys())
    }

    fn values<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        Ok(self.to_dict(py)?.values())
    }

    fn items<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        Ok(self.to_dict(py)?.items())
    }

    fn __contains__(&self, py: Python<'_>, key: &Bound<'_, PyAny>) -> PyResult<bool> {
        self.to_dict(py)?.contains(key)
    }

    fn __eq__(&self, other: &Bound<'_, PyAny>) -> bool {
        other.cast::<Vertex>().is_ok_and(|other| (&self.id, &self.label) == (&other.get().id, &other.get().label))
    }

    fn __hash__(&self) -> u64 {
        hash_of((&self.id, &self.label))
    }

    fn __repr__(&self) -> String {
        format!("v[{}]", self.id)
    }
}

#[pymethods]
impl Edge {
    /// The id given when the edge was made, else a number.
    #[getter]
    fn id<'py>(&self, py: Python<'py>) -> Object<'py> {
        convert::plain(py, &self.id)
    }

    #[getter]
    fn label(&self) -> &str {
        &self.label
    }

    #[getter(outV)]
    fn out_v(&self, py: Python<'_>) -> Py<Vertex> {
        self.source.clone_ref(py)
    }

    #[getter(inV)]
    fn in_v(&self, py: Python<'_>) -> Py<Vertex> {
        self.target.clone_ref(py)
    }

    #[getter]
    fn properties(&self, py: Python<'_>) -> Py<PyDict> {
        self.properties.clone_ref(py)
    }

    fn __getitem__<'py>(&self, py: Python<'py>, key: &str) -> Object<'py> {
        lookup(&self.to_dict(py)?, key)
    }

    /// Returns `id`, `label`, `outV` and `inV` (the ids of the ends) and the properties as a dict; `dict(edge)` gives
    /// the same. If a property is called `label`, the label is under `T.label`. If a property is called `id` and
    /// differs from the id, the id is under `T.id`.
    fn to_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let ends = [("outV", &self.source.get().id), ("inV", &self.target.get().id)];
        as_dict(py, &self.id, &self.label, &ends, &self.properties)
    }

    /// Returns the edge as JSON, as `Result.to_json()` writes it.
    fn to_json(&self, py: Python<'_>) -> PyResult<String> {
        Ok(mangrove::json::to_string(&Described::Edge(Box::new(self.record(py)?))))
    }

    /// Returns the value under `key` in `to_dict()`, or `default` if there is none.
    #[pyo3(signature = (key, default=None))]
    fn get<'py>(&self, py: Python<'py>, key: &str, default: Option<Bound<'py, PyAny>>) -> Object<'py> {
        let found = self.to_dict(py)?.get_item(key)?;
        Ok(found.or(default).unwrap_or_else(|| py.None().into_bound(py)))
    }

    fn keys<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        Ok(self.to_dict(py)?.keys())
    }

    fn values<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        Ok(self.to_dict(py)?.values())
    }

    fn items<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        Ok(self.to_dict(py)?.items())
    }

    fn __contains__(&self, py: Python<'_>, key: &Bound<'_, PyAny>) -> PyResult<bool> {
        self.to_dict(py)?.contains(key)
    }

    fn __eq__(&self, other: &Bound<'_, PyAny>) -> bool {
        other.cast::<Edge>().is_ok_and(|other| (&self.id, &self.label) == (&other.get().id, &other.get().label))
    }

    fn __hash__(&self) -> u64 {
        hash_of((&self.id, &self.label))
    }

    fn __repr__(&self) -> String {
        format!("e[{}][{}-{}->{}]", self.id, self.source.get().id, self.label, self.target.get().id)
    }
}

#[pymethods]
impl VertexProperty {
    /// The id of this value among all values of all vertices: `vertex id/key/number`.
    #[getter]
    fn id(&self) -> &str {
        &self.id
    }

    #[getter]
    fn key(&self) -> &str {
        &self.key
    }

    /// The same as `key`, because the property is an element.
    #[getter]
    fn label(&self) -> &str {
        &self.key
    }

    #[getter]
    fn value(&self, py: Python<'_>) -> Py<PyAny> {
        self.value.clone_ref(py)
    }

    /// The vertex that has the property. It comes without its properties.
    #[getter]
    fn vertex(&self, py: Python<'_>) -> Py<Vertex> {
        self.vertex.clone_ref(py)
    }

    /// The properties of this property.
    #[getter]
    fn properties(&self, py: Python<'_>) -> Py<PyDict> {
        self.properties.clone_ref(py)
    }

    /// Returns the property as JSON, as `Result.to_json()` writes it.
    fn to_json(&self, py: Python<'_>) -> PyResult<String> {
        Ok(mangrove::json::to_string(&Described::VertexProperty(Box::new(self.record(py)?))))
    }

    fn __eq__(&self, other: &Bound<'_, PyAny>) -> bool {
        other.cast::<VertexProperty>().is_ok_and(|other| self.id == other.get().id)
    }

    fn __hash__(&self) -> u64 {
        hash_of(&self.id)
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        Ok(format!("vp[{}->{}]", self.key, self.value.bind(py).str()?))
    }
}

#[pymethods]
impl Property {
    #[getter]
    fn key(&self) -> &str {
        &self.key
    }

    #[getter]
    fn value(&self, py: Python<'_>) -> Py<PyAny> {
        self.value.clone_ref(py)
    }

    /// Returns the property as JSON, as `Result.to_json()` writes it.
    fn to_json(&self, py: Python<'_>) -> PyResult<String> {
        Ok(mangrove::json::to_string(&Described::Property(Box::new(self.record(py)?))))
    }

    fn __eq__(&self, other: &Bound<'_, PyAny>) -> PyResult<bool> {
        let Ok(other) = other.cast::<Property>() else { return Ok(false) };
        Ok(self.key == other.get().key && self.value.bind(other.py()).eq(&other.get().value)?)
    }

    fn __hash__(&self) -> u64 {
        hash_of(&self.key)
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        Ok(format!("p[{}->{}]", self.key, self.value.bind(py).str()?))
    }
}

#[pymethods]
impl Path {
    #[getter]
    fn objects(&self, py: Python<'_>) -> Py<PyList> {
        self.objects.clone_ref(py)
    }

    #[getter]
    fn labels(&self, py: Python<'_>) -> Py<PyList> {
        self.labels.clone_ref(py)
    }

    fn __len__(&self, py: Python<'_>) -> usize {
        self.objects.bind(py).len()
    }

    fn __iter__<'py>(&self, py: Python<'py>) -> Object<'py> {
        Ok(self.objects.bind(py).try_iter()?.into_any())
    }

    fn __getitem__<'py>(&self, key: &Bound<'py, PyAny>) -> Object<'py> {
        let py = key.py();
        let objects = self.objects.bind(py);
        if let Ok(label) = key.cast::<PyString>() {
            let labels = self.labels.bind(py);
            for at in (0..labels.len()).rev() {
                if labels.get_item(at)?.contains(label)? {
                    return objects.get_item(at);
                }
            }
            return Err(PyKeyError::new_err(label.to_string()));
        }
        let Ok(at) = key.extract::<isize>() else {
            return Err(PyTypeError::new_err("index a path by position or by label"));
        };
        let at = if at < 0 { at + objects.len() as isize } else { at };
        match usize::try_from(at) {
            Ok(at) if at < objects.len() => objects.get_item(at),
            _ => Err(PyIndexError::new_err("the path has no such position")),
        }
    }

    /// Returns the path as JSON, as `Result.to_json()` writes it.
    fn to_json(&self, py: Python<'_>) -> PyResult<String> {
        Ok(mangrove::json::to_string(&self.described(py, NESTING_MAX)?))
    }

    fn __eq__(&self, other: &Bound<'_, PyAny>) -> PyResult<bool> {
        let Ok(other) = other.cast::<Path>() else { return Ok(false) };
        let (py, path) = (other.py(), other.get());
        Ok(self.objects.bind(py).eq(&path.objects)? && self.labels.bind(py).eq(&path.labels)?)
    }

    fn __hash__(&self, py: Python<'_>) -> PyResult<isize> {
        convert::hashable(self.objects.bind(py).clone().into_any())?.hash()
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let objects = self.objects.bind(py).iter().map(|o| Ok(o.str()?.to_string())).collect::<PyResult<Vec<_>>>()?;
        Ok(format!("path[{}]", objects.join(", ")))
    }
}

#[pymethods]
impl Graph {
    #[getter]
    fn vertices(&self, py: Python<'_>) -> Py<PyList> {
        self.vertices.clone_ref(py)
    }

    #[getter]
    fn edges(&self, py: Python<'_>) -> Py<PyList> {
        self.edges.clone_ref(py)
    }

    fn __repr__(&self, py: Python<'_>) -> String {
        format!("graph[vertices:{} edges:{}]", self.vertices.bind(py).len(), self.edges.bind(py).len())
    }
}

/// The vertices and edges for networkx: nodes with their attributes, and edges (source, target, key, attributes). `None` if a row
/// is neither. It makes no Python objects for the elements themselves.
pub fn nodes_and_edges<'py, 'r>(
    py: Python<'py>,
    rows: impl Iterator<Item = Cow<'r, Described>>,
) -> PyResult<Option<(Bound<'py, PyList>, Bound<'py, PyList>)>> {
    let (nodes, edges) = (PyList::empty(py), PyList::empty(py));
    let mut known: HashSet<Value> = HashSet::new();
    let mut end = |end: &EndRecord, nodes: &Bound<'py, PyList>| -> Object<'py> {
        let id = convert::plain(py, &end.id)?;
        if known.insert(end.id.clone()) {
            let attributes = PyDict::new(py);
            attributes.set_item("label", key(py, &end.label))?;
            nodes.append((&id, attributes))?;
        }
        Ok(id)
    };
    let mut vertices = Vec::new();
    for row in rows {
        match &*row {
            Described::Edge(record) => {
                let (source, target) = (end(&record.source, &nodes)?, end(&record.target, &nodes)?);
                let attributes = PyDict::new(py);
                let is_taken = record.properties.iter().any(|(name, _)| **name == *"label");
                attributes.set_item(if is_taken { "T.label" } else { "label" }, key(py, &record.label))?;
                for (name, value) in &record.properties {
                    attributes.set_item(key(py, name), convert::plain(py, value)?)?;
                }
                edges.append((source, target, convert::plain(py, &record.id)?, attributes))?;
            }
            Described::Vertex(record) => vertices.push(vertex(py, record)?),
            _ => return Ok(None),
        }
    }
    // Vertices come last, because they have properties that the ends of edges lack.
    for vertex in vertices {
        let vertex = vertex.cast_into::<Vertex>()?;
        let (of, attributes) = (vertex.get(), PyDict::new(py));
        let properties = of.properties.bind(py);
        attributes.set_item(if properties.contains("label")? { "T.label" } else { "label" }, key(py, &of.label))?;
        attributes.update(properties.as_mapping())?;
        nodes.append((of.id(py)?, attributes))?;
    }
    Ok(Some((nodes, edges)))
}

/// The element that a Python object stands for, so that it can be a parameter of a query. `None` for other objects.
pub fn element_value(object: &Bound<'_, PyAny>) -> Option<Value> {
    if let Ok(vertex) = object.cast::<Vertex>() {
        return Some(Value::Vertex(vertex.get().internal));
    }
    if let Ok(property) = object.cast::<VertexProperty>() {
        return Some(property.get().element.clone());
    }
    if let Ok(property) = object.cast::<Property>() {
        return Some(property.get().element.clone());
    }
    object.cast::<Edge>().ok().map(|edge| Value::Edge(edge.get().internal))
}

/// The value of a path or a subgraph; `None` for anything else. `value` reads the objects of a path.
pub fn composed(object: &Bound<'_, PyAny>, value: impl Fn(&Bound<'_, PyAny>) -> PyResult<Value>) -> PyResult<Option<Value>> {
    let py = object.py();
    if let Ok(path) = object.cast::<Path>() {
        let objects = path.get().objects.bind(py).iter().map(|item| value(&item)).collect::<PyResult<_>>()?;
        let labels = path.get().labels.bind(py).iter().map(|labels| {
            let names = labels.try_iter()?.map(|name| Ok(name?.extract::<String>()?.into()));
            names.collect::<PyResult<Vec<_>>>()
        });
        let path = mangrove::graph::Path { objects, labels: labels.collect::<PyResult<_>>()? };
        return Ok(Some(Value::Path(Arc::new(path))));
    }
    let Ok(graph) = object.cast::<Graph>() else { return Ok(None) };
    let mut part = mangrove::graph::Subgraph::default();
    for vertex in graph.get().vertices.bind(py) {
        part.vertices.push(vertex.cast::<Vertex>()?.get().internal);
    }
    for edge in graph.get().edges.bind(py) {
        part.edges.push(edge.cast::<Edge>()?.get().internal);
    }
    Ok(Some(Value::Subgraph(Arc::new(part))))
}

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<Vertex>()?;
    module.add_class::<Edge>()?;
    module.add_class::<VertexProperty>()?;
    module.add_class::<Property>()?;
    module.add_class::<Path>()?;
    module.add_class::<Graph>()
}
