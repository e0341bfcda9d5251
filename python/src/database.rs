//! The Python class of a database.

use std::collections::HashMap;
use std::num::NonZeroU64;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::Duration;

use mangrove::graph::{IndexSchema, LabelSchema, PropertyId, Schema};
use mangrove::ingest::{IngestOptions, Spelling};
use mangrove::{
    Cardinality, Declaration, ElementKind, Encoding, ExportFormat, GraphArOptions, IdSpace, LayoutOptions, ListOrder,
    LoadReport, QueryOptions, ValueType,
};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::gc::{PyTraverseError, PyVisit};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyString, PyTuple};

use crate::direct::Direct;
use crate::errors::{self, OpenError, raised};
use crate::ingest::Ingest;
use crate::interrupt::{self, Listening};
use crate::layout;
use crate::load;
use crate::plan::{Explanation, Profile};
use crate::procedure::{self, Slot};
use crate::progress;
use crate::query::{self, Bytecode, Limits, Names, Request};
use crate::result::{self, QueryResult};
use crate::stream::Stream;
use crate::transaction::Transaction;

/// The error for a word that the argument does not take.
pub fn choice(argument: &str, found: &str, choices: &[&str]) -> PyErr {
    PyValueError::new_err(format!("{argument} must be one of {}, not {found:?}", choices.join(", ")))
}

fn list_order(name: &str) -> PyResult<ListOrder> {
    ListOrder::from_name(name).ok_or_else(|| choice("a list of edges", name, &ListOrder::NAMES))
}

/// A property graph in a directory. `open` makes it. Any thread may use it.
///
/// >>> with mg.open("fresh.mg") as fresh:
/// ...     fresh.query("g.V().count()").one()
/// 0
#[pyclass(frozen, module = "mangrovedb", weakref)]
pub struct Database {
    inner: RwLock<Option<mangrove::Database>>,
    path: PathBuf,
    stream_timeout: Option<Duration>,
    /// The functions of procedures. They may refer back to this object.
    procedures: Mutex<HashMap<String, Slot>>,
}

impl Database {
    /// A clone of the handle. The lock is held only for the moment of cloning.
    pub fn handle(&self) -> PyResult<mangrove::Database> {
        let inner = self.inner.read().unwrap_or_else(PoisonError::into_inner);
        let inner = inner.clone().ok_or_else(|| OpenError::new_err("the database has been closed"))?;
        Ok(inner.interruptible(interrupt::token()))
    }

    fn run(&self, py: Python<'_>, request: &Request<'_>) -> PyResult<QueryResult> {
        let inner = self.handle()?;
        let outcome = py.detach(|| {
            let mut stream = inner.query(request.written.clone(), &request.parameters, &request.options)?;
            let results = stream.results()?;
            Ok::<_, mangrove::QueryError>((results, stream.warnings().to_vec()))
        });
        let (results, warnings) = raised(outcome)?;
        result::warn(py, &warnings)?;
        Ok(QueryResult::new(results, warnings))
    }
}

impl Database {
    pub fn place(&self) -> &std::path::Path {
        &self.path
    }

    pub fn new(inner: mangrove::Database, path: PathBuf, stream_timeout: Option<Duration>) -> Self {
        Self { inner: RwLock::new(Some(inner)), path, stream_timeout, procedures: Mutex::default() }
    }
}

#[pymethods]
impl Database {
    /// Runs a Gremlin query and returns its results. The query is a text or a gremlinpython traversal.
    ///
    /// Give the variables of the query by name. If a variable has the name of another argument, give it in the dict
    /// `params`. A query that changes the graph is a transaction of its own: when this returns, all its changes are
    /// durable, or none was made.
    ///
    /// Ctrl-C stops a running query. A query also stops after `timeout` seconds (default: no limit), or when it and its
    /// results need more than `memory_mb` megabytes (default: half of the machine's memory, at most 4 GB). A commit
    /// that has begun is not stopped. It is kept, but a `KeyboardInterrupt` may be raised when it is done. A datetime
    /// without a time zone is taken as UTC.
    ///
    /// >>> db.query("g.V().has('airport', 'code', x).out('route').values('code').order()", x="AUS").to_list()
    /// ['DFW', 'LHR']
    /// >>> db.query("g.V().has('airport', 'code', text).values('city')", {"text": "LHR"}, timeout=5).one()
    /// 'London'
    #[pyo3(signature = (text, params=None, *, timeout=None, memory_mb=None, rules_off=None, **named))]
    #[expect(clippy::too_many_arguments, reason = "they are Python's keyword arguments")]
    fn query(
        &self,
        py: Python<'_>,
        text: query::Asked,
        params: Option<&Bound<'_, PyDict>>,
        timeout: Option<f64>,
        memory_mb: Option<i64>,
        rules_off: Option<Names>,
        named: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<QueryResult> {
        self.run(py, &Request::new(&text, params, named, Limits { timeout, memory_mb, rules_off })?)
    }

    /// Runs a Gremlin query and gives its results one by one, as they come. Use it for results that do not fit in
    /// memory together. The arguments are those of `query`. See `Stream`. A query that changes the graph runs to its
    /// end before it gives its first result.
    ///
    /// >>> sum(db.stream("g.V().hasLabel('airport').values('elev')"))
    /// 1273
    #[pyo3(signature = (text, params=None, *, timeout=None, memory_mb=None, rules_off=None, **named))]
    #[expect(clippy::too_many_arguments, reason = "they are Python's keyword arguments")]
    fn stream(
        &self,
        py: Python<'_>,
        text: query::Asked,
        params: Option<&Bound<'_, PyDict>>,
        timeout: Option<f64>,
        memory_mb: Option<i64>,
        rules_off: Option<Names>,
        named: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Stream> {
        let (inner, request) =
            (self.handle()?, Request::new(&text, params, named, Limits { timeout, memory_mb, rules_off })?);
        let Request { written, parameters, options } = request;
        let options = QueryOptions { timeout: options.timeout.or(self.stream_timeout), ..options };
        raised(py.detach(|| inner.stream(written, &parameters, &options))).map(Stream::new)
    }

    /// Runs the bytecode of a Gremlin language variant. A str is read as GraphSON 3, bytes as GraphBinary 1. All else
    /// is as for `query`.
    ///
    /// >>> from gremlin_python.structure.io.graphbinaryV1 import GraphBinaryWriter
    /// >>> traversal = db.traversal().V().has("airport", "code", "AUS").out("route").values("code").order()
    /// >>> db.query_bytecode(GraphBinaryWriter().write_object(traversal.bytecode)).to_list()
    /// ['DFW', 'LHR']
    #[pyo3(signature = (bytecode, *, timeout=None, memory_mb=None))]
    fn query_bytecode(
        &self,
        py: Python<'_>,
        bytecode: Bytecode,
        timeout: Option<f64>,
        memory_mb: Option<i64>,
    ) -> PyResult<QueryResult> {
        self.run(py, &Request::bytecode(&bytecode, Limits { timeout, memory_mb, ..Limits::default() })?)
    }

    /// Returns the whole graph as a networkx MultiDiGraph, as `Result.to_networkx` does for a part: its nodes are the ids of
    /// vertices, with the properties as attributes. The graph must fit in memory.
    ///
    /// >>> graph = db.to_networkx()
    /// >>> graph.nodes["AUS"]["label"], graph.has_edge("AUS", "DFW")
    /// ('airport', True)
    #[pyo3(signature = (*, directed=true, multigraph=true))]
    fn to_networkx<'py>(slf: &Bound<'py, Self>, directed: bool, multigraph: bool) -> PyResult<Bound<'py, PyAny>> {
        let options = PyDict::new(slf.py());
        options.set_item("directed", directed)?;
        options.set_item("multigraph", multigraph)?;
        let whole = slf.call_method1("query", ("g.V().union(identity(), outE())",))?;
        whole.call_method("to_networkx", (), Some(&options))
    }

    /// Whether a query changes the graph. `False` if the query cannot be read.
    fn _writes(&self, text: query::Asked) -> PyResult<bool> {
        Ok(self.handle()?.writes(text.written()).unwrap_or(false))
    }

    /// Returns the plan of a query, without running it. It shows the plan as written, and the plan after each rule of
    /// the optimiser that changed it. For each step that would run, it shows how many traversers are expected, whether
    /// it waits for all of them, and how elements are found. See `Explanation`.
    ///
    /// >>> print(db.explain("g.V().hasLabel('airport').out('route').count()"))
    /// original      Scan(vertices) → Has(T.label = airport) → Hop(Out, vertices, route) → Count
    /// scan-filters  Scan(vertices, airport) → Hop(Out, vertices, route) → Count
    /// degree        Scan(vertices, airport) → Degree(Out, route) → Count
    /// <BLANKLINE>
    /// step                     expected  flow     access
    /// Scan(vertices, airport)         4  each     SCAN of 4 vertices labelled airport
    /// Degree(Out, route)              5  each
    /// Count                           1  barrier
    /// <BLANKLINE>
    #[pyo3(signature = (text, params=None, *, rules_off=None, **named))]
    fn explain(
        &self,
        py: Python<'_>,
        text: query::Asked,
        params: Option<&Bound<'_, PyDict>>,
        rules_off: Option<Names>,
        named: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Explanation> {
        let limits = Limits { rules_off, ..Limits::default() };
        let (inner, request) = (self.handle()?, Request::new(&text, params, named, limits)?);
        raised(py.detach(|| inner.explain(request.written.clone(), &request.parameters, &request.options))).map(Explanation)
    }

    /// Runs a query to its end and returns what each step did. The results are only counted. Changes are kept. The
    /// arguments are those of `query`. See `Profile`.
    ///
    /// >>> profile = db.profile("g.V().has('airport', 'code', x).out('route')", x="AUS")
    /// >>> [step["rows"] for step in profile.to_dict()["steps"]]
    /// [1, 2]
    #[pyo3(signature = (text, params=None, *, timeout=None, memory_mb=None, rules_off=None, **named))]
    #[expect(clippy::too_many_arguments, reason = "they are Python's keyword arguments")]
    fn profile(
        &self,
        py: Python<'_>,
        text: query::Asked,
        params: Option<&Bound<'_, PyDict>>,
        timeout: Option<f64>,
        memory_mb: Option<i64>,
        rules_off: Option<Names>,
        named: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Profile> {
        let limits = Limits { timeout, memory_mb, rules_off };
        let (inner, request) = (self.handle()?, Request::new(&text, params, named, limits)?);
        raised(py.detach(|| inner.profile(request.written.clone(), &request.parameters, &request.options))).map(Profile)
    }

    /// Returns a transaction: several queries that are kept together or not at all. It begins with its first query.
    /// That query waits for other writers to end, at most `timeout` seconds (default: no limit). See `Transaction`.
    ///
    /// >>> with db.transaction() as tx:
    /// ...     _ = tx.query("g.addV('airport').property(id, 'OSL').property('code', 'OSL')")
    /// ...     _ = tx.query("g.V('AUS').addE('route').to(__.V('OSL')).property('dist', 5100)")
    /// >>> db.query("g.V('AUS').out('route').count()").one()
    /// 3
    #[pyo3(signature = (timeout=None))]
    fn transaction(&self, timeout: Option<f64>) -> PyResult<Transaction> {
        Transaction::new(self.handle()?, query::seconds("timeout", timeout)?)
    }

    /// Finds vertices that are joined by paths whose edge labels match a regular expression. Each row has the ids of the
    /// vertices of the variables, and comes once. See the page `paths` of the documentation.
    ///
    /// Parameters, written `$name`, are given by name, or in the dict `params`. The limits are those of `query`.
    ///
    /// >>> db.paths("'WLG' ^route+ ?x").to_list()
    /// [{'x': 'AUS'}, {'x': 'DFW'}, {'x': 'LHR'}]
    /// >>> db.paths("$from route/route ?x", **{"from": "LHR"}).to_list()
    /// [{'x': 'DFW'}, {'x': 'LHR'}]
    #[pyo3(signature = (text, params=None, *, timeout=None, memory_mb=None, **named))]
    fn paths(
        &self,
        py: Python<'_>,
        text: &str,
        params: Option<&Bound<'_, PyDict>>,
        timeout: Option<f64>,
        memory_mb: Option<i64>,
        named: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<QueryResult> {
        let (inner, parameters) = (self.handle()?, query::parameters_of(params, named)?);
        let options = Limits { timeout, memory_mb, ..Limits::default() }.options(interrupt::token())?;
        let (results, warnings) = raised(py.detach(|| inner.paths(text, &parameters, &options)))?;
        result::warn(py, &warnings)?;
        Ok(QueryResult::new(results, warnings))
    }

    /// Counts the rows of `paths`, without making them. The arguments are the same.
    ///
    /// >>> db.count_paths("?x route* ?y")
    /// 14
    #[pyo3(signature = (text, params=None, *, timeout=None, memory_mb=None, **named))]
    fn count_paths(
        &self,
        py: Python<'_>,
        text: &str,
        params: Option<&Bound<'_, PyDict>>,
        timeout: Option<f64>,
        memory_mb: Option<i64>,
        named: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<u64> {
        let (inner, parameters) = (self.handle()?, query::parameters_of(params, named)?);
        let options = Limits { timeout, memory_mb, ..Limits::default() }.options(interrupt::token())?;
        let (rows, warnings) = raised(py.detach(|| inner.count_paths(text, &parameters, &options)))?;
        result::warn(py, &warnings)?;
        Ok(rows)
    }

    /// Returns the graph without a query language: the fastest way to read one vertex or one list of edges. See `Direct`.
    ///
    /// >>> db.direct().assoc_count("AUS", "route")
    /// 2
    fn direct(slf: Bound<'_, Self>) -> PyResult<Direct> {
        slf.get().handle()?;
        Ok(Direct::new(slf.unbind()))
    }

    /// Starts to write vertices and edges in batches. This is the fast way to write many. See `Ingest`.
    ///
    /// * `batch_rows` — how many rows gather before they are committed. Default: 100,000.
    /// * `edge_time` — order a vertex's edges of a label by the value of this column.
    /// * `on_exists`, `on_duplicate`, `edge_key`, `missing` — as for `load`.
    ///
    /// >>> with db.ingest() as w:
    /// ...     w.add_vertices("airport", [("OSL", 681), ("ZRH", 1416)], columns=["id", "elev"])
    /// 2
    #[pyo3(signature = (
        *, batch_rows=100_000, edge_time=None, on_exists="error", on_duplicate="add", edge_key=None, missing="error"
    ))]
    #[allow(clippy::too_many_arguments)] // Python's keyword arguments are a struct with defaults
    fn ingest(
        &self,
        py: Python<'_>,
        batch_rows: usize,
        edge_time: Option<String>,
        on_exists: &str,
        on_duplicate: &str,
        edge_key: Option<String>,
        missing: &str,
    ) -> PyResult<Ingest> {
        let inner = self.handle()?;
        let merge = load::merging(on_exists, on_duplicate, edge_key, missing)?;
        let options = IngestOptions { batch_rows, edge_time: edge_time.map(Into::into), merge, ..IngestOptions::default() };
        raised(py.detach(|| inner.ingest(options))).map(Ingest::new)
    }

    /// Loads files and tables in one transaction. If anything fails, the graph stays as it was.
    ///
    /// * `files` — paths, globs or directories. The header or format of a file says what it holds. Formats: CSV (with
    ///   Neo4j or Neptune headers, or plain), Parquet, JSON Lines, GraphML, GraphSON 3, lists of edges (SNAP, NetworkX,
    ///   Matrix Market). Files may be compressed.
    /// * `nodes`, `edges` — dicts of tables of one label each. A table is a path, a list of paths, or what `Ingest`
    ///   takes. Keys of `nodes` are labels. Keys of `edges` are labels or (source label, label, target label).
    /// * `format` — the format of files that do not tell it: `"csv"`, `"parquet"`, `"jsonl"`, `"graphml"`,
    ///   `"graphson"`, `"edgelist"`. Default: `"auto"`.
    /// * `mapping` — a YAML file that says how to read tables, for what their headers do not say.
    /// * `write_mapping` — write how the files would be read to such a YAML file, which you can edit. Loads nothing.
    /// * `delimiter` — the character between the fields of CSV files, or `"tab"`. Default: detected.
    /// * `null` — texts that stand for no value in CSV files, such as `["NA"]`. In quotes they are text.
    /// * `encoding` — the encoding of the text of all files, such as `"latin1"`. Default: UTF-8.
    /// * `edge_time` — order a vertex's edges of a label by the value of this column.
    /// * `key` — for each label the column that holds the ids of its vertices, if it is not called `id`:
    ///   `{"user": "email"}`.
    /// * `on_exists` — what to do if the id of a vertex is taken: `"error"` (a bad row; the default), `"skip"`,
    ///   `"update"` (set its properties) or `"replace"` (set them and remove all others).
    /// * `on_duplicate` — what to do if there is an edge with the same label and ends: `"add"` (keep both; the
    ///   default), `"skip"` or `"update"` (set its properties).
    /// * `edge_key` — a column that tells edges with the same label and ends apart.
    /// * `missing` — `"create"` makes the vertices that edges name and that do not exist. Default: `"error"`; such an
    ///   edge is a bad row.
    /// * `on_error` — what to do about bad rows. `"fail"` (the default) stops. `"skip"` loads the rest.
    /// * `rejects` — the file for the rows that `"skip"` leaves out. Default: `rejects.csv`.
    /// * `max_rejects` — how many rows may be left out; one more is an error. It is also an error if all rows are bad.
    ///   Default: no limit.
    /// * `compact` — whether to compress the loaded data into a segment, as `compact()` does. Default: yes if the
    ///   database was empty and the load is larger than 16 MB.
    /// * `searchable` — properties whose text is stored so that substring search needs no index, as
    ///   `set_encoding(…, "searchable")` does: a list of `"Label.key"`, or `["all"]`.
    /// * `indexes` — properties of vertices that get an index, as `create_index` makes: a list of `"Label.key"`. An
    ///   index made with the load is compressed with the rest.
    /// * `layout` — the order in which vertices get their ids, so that what is read together lies together. The database
    ///   must be empty. `"community"` is best for most graphs; `"partition"`, `"degree"` and `"bfs"` are others. Default:
    ///   the order of the files.
    /// * `ties` — for `"community"`: friends are read equally often (`"uniform"`), those with many friends more often
    ///   (`"preferential"`), or those with many common friends (`"overlap"`).
    /// * `progress` — a callable that gets (rows, bytes done, bytes in all) now and then. Default: show a line on a
    ///   terminal. `False` shows nothing.
    ///
    /// Returns a dict. It holds the numbers of new vertices and edges by label; the numbers of elements updated,
    /// unchanged and skipped; the number of rejected rows; and the warnings. With a layout, it holds what that is worth, too
    /// (`"layout"`). Without one, a load into an empty database tries on a sample what `"community"` would be worth; if that is
    /// much, `"layout"` says so, with the vertices of the sample (`"sample"`).
    ///
    /// >>> with open("lakes.csv", "w") as file:
    /// ...     _ = file.write("id,name,area\nL1,Ohrid,358\nL2,Prespa,254\n")
    /// >>> report = db.load(nodes={"lake": "lakes.csv"}, edges={("lake", "drains_to", "lake"): [{"from": "L2", "to": "L1"}]})
    /// >>> report["vertices"], report["edges"]
    /// ({'lake': 2}, {'drains_to': 1})
    /// >>> db.query("g.V('L2').out('drains_to').values('area')").one()
    /// 358
    #[pyo3(signature = (
        *files, nodes=None, edges=None, format="auto", mapping=None, write_mapping=None, delimiter=None, null=None, encoding=None, key=None, on_exists="error", on_duplicate="add", edge_key=None,
        missing="error", edge_time=None, on_error="fail", rejects=None, max_rejects=None, compact=None, searchable=None, indexes=None,
        layout="none", ties="uniform", progress=None
    ))]
    #[allow(clippy::too_many_arguments)] // Python's keyword arguments are a struct with defaults
    fn load<'py>(
        &self,
        py: Python<'py>,
        files: &Bound<'py, PyTuple>,
        nodes: Option<&Bound<'py, PyAny>>,
        edges: Option<&Bound<'py, PyAny>>,
        format: &str,
        mapping: Option<PathBuf>,
        write_mapping: Option<PathBuf>,
        delimiter: Option<&str>,
        null: Option<Names>,
        encoding: Option<String>,
        key: Option<&Bound<'py, PyAny>>,
        on_exists: &str,
        on_duplicate: &str,
        edge_key: Option<String>,
        missing: &str,
        edge_time: Option<String>,
        on_error: &str,
        rejects: Option<PathBuf>,
        max_rejects: Option<u64>,
        compact: Option<bool>,
        searchable: Option<Names>,
        indexes: Option<Names>,
        layout: &str,
        ties: &str,
        progress: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyDict>> {
        let inner = self.handle()?;
        let mut options = load::options(files, nodes, edges, format)?;
        options.mapping = mapping;
        options.delimiter = delimiter.map(load::delimiter).transpose()?;
        options.nulls = null.map(Vec::from).unwrap_or_default();
        options.encoding = encoding;
        options.edge_time = edge_time;
        options.keys = load::keys(key)?;
        options.merge = load::merging(on_exists, on_duplicate, edge_key, missing)?;
        options.on_error = load::on_error(on_error, rejects)?;
        options.rejects_max = max_rejects;
        options.compact = compact;
        options.searchable = searchable.map(Vec::from).unwrap_or_default();
        options.indexes = indexes.map(Vec::from).unwrap_or_default();
        let order = layout::options(layout, ties)?;
        if let Some(path) = write_mapping {
            raised(py.detach(|| inner.write_mapping(&options, &path)))?;
            return load::report(py, &LoadReport::default());
        }
        let line = progress::receiver(py, progress, "Line")?;
        let mut listening = Listening::new(line.as_ref().map(|line| line.clone().unbind()));
        let outcome = raised(py.detach(|| inner.load_in_order(&options, &order, &mut listening)));
        progress::close(line)?;
        let (report, ordered) = outcome?;
        let out = load::report(py, &report)?;
        if let Some(ordered) = ordered {
            out.set_item("layout", layout::report(py, &ordered)?)?;
        }
        Ok(out)
    }

    /// The algorithms on the whole graph: `db.analyze.pagerank()` and others. `help(db.analyze)` lists them.
    ///
    /// >>> db.analyze.pagerank(damping=0.9).summary["converged"]
    /// True
    #[getter]
    fn analyze<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        slf.py().import("mangrovedb.analyze")?.call_method1("Analyze", (slf,))
    }

    /// NetworkX passes a database on to Mangrove: `nx.pagerank(db)`.
    #[classattr]
    fn __networkx_backend__() -> &'static str {
        "mangrove"
    }

    /// For NetworkX: the edges of a database lead one way. `db.analyze.networkx(directed=False)` has it otherwise.
    ///
    /// >>> db.is_directed()
    /// True
    fn is_directed(&self) -> bool {
        true
    }

    /// For NetworkX: its functions need not mind that several edges may join the same vertices.
    ///
    /// >>> db.is_multigraph()
    /// False
    fn is_multigraph(&self) -> bool {
        false
    }

    /// Returns a stock gremlinpython traversal source. Its traversals run in this process. Needs the extra `gremlin`.
    ///
    /// >>> g = db.traversal()
    /// >>> g.V().has("airport", "code", "AUS").out("route").values("code").order().to_list()
    /// ['DFW', 'LHR']
    fn traversal<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        slf.py().import("mangrovedb.gremlin")?.call_method1("source", (slf,))
    }

    /// Builds an index of a property and keeps it up to date. With it, `has(label, key, …)` need not look at every
    /// vertex or edge of the label. Returns whether the index is new.
    ///
    /// * `unique` — no two elements of the label may share a value, now and later. Default: `False`.
    /// * `routed` — in a graph on nodes, `has(label, key, value)` and `within` ask only the shards that may have the value, and not
    ///   all. A directory in the shards knows which. Each write lists its values there. Default: `False`. A database on this
    ///   machine has no shards: there, it only stays with copies and exports.
    /// * `kind` — `"vertex"` or `"edge"`. Needed only if vertices and edges have the same label.
    ///
    /// >>> db.create_index("airport", "code", unique=True)
    /// True
    /// >>> db.create_index("airport", "code", routed=True)
    /// True
    /// >>> db.query("g.addV('airport').property('code', 'AUS')")
    /// Traceback (most recent call last):
    /// mangrovedb.ConstraintError: airport.code is unique, and the vertex AUS has AUS there already
    /// >>> db.create_index("route", "dist")
    /// True
    /// >>> db.query("g.E().has('route', 'dist', gt(4000)).count()").one()
    /// 3
    #[pyo3(signature = (label, key, *, unique=false, routed=false, kind=None))]
    fn create_index(
        &self,
        py: Python<'_>,
        label: &str,
        key: &str,
        unique: bool,
        routed: bool,
        kind: Option<&str>,
    ) -> PyResult<bool> {
        let (inner, kind) = (self.handle()?, kind.map(element_kind).transpose()?);
        raised(py.detach(|| match (routed, unique) {
            (true, unique) => inner.create_routed_index(kind, label, key, unique),
            (false, true) => inner.create_unique_index(kind, label, key),
            (false, false) => inner.create_index(kind, label, key),
        }))
    }

    /// Drops an index. Returns whether there was one. `kind` is as for `create_index`.
    ///
    /// >>> db.drop_index("airport", "code")
    /// False
    #[pyo3(signature = (label, key, *, kind=None))]
    fn drop_index(&self, py: Python<'_>, label: &str, key: &str, kind: Option<&str>) -> PyResult<bool> {
        let (inner, kind) = (self.handle()?, kind.map(element_kind).transpose()?);
        raised(py.detach(|| inner.drop_index(kind, label, key)))
    }

    /// Renames a label. Its vertices or edges keep it, under the new name. `kind` is as for `create_index`.
    ///
    /// >>> db.rename_label("country", "land")
    /// >>> db.query("g.V().hasLabel('land').id()").to_list()
    /// ['US']
    #[pyo3(signature = (label, name, *, kind=None))]
    fn rename_label(&self, py: Python<'_>, label: &str, name: &str, kind: Option<&str>) -> PyResult<()> {
        let (inner, kind) = (self.handle()?, kind.map(element_kind).transpose()?);
        raised(py.detach(|| inner.rename_label(kind, label, name)))
    }

    /// Drops a label, with its declarations and indexes. Fails if a vertex or edge has it. `kind` is as for
    /// `create_index`.
    ///
    /// >>> _ = db.query("g.addV('draft')")
    /// >>> db.drop_label("draft")
    /// Traceback (most recent call last):
    /// mangrovedb.StorageError: the label draft is in use, and cannot be dropped: the vertex #2:0 has it
    /// >>> _ = db.query("g.V().hasLabel('draft').drop()")
    /// >>> db.drop_label("draft")
    #[pyo3(signature = (label, *, kind=None))]
    fn drop_label(&self, py: Python<'_>, label: &str, kind: Option<&str>) -> PyResult<()> {
        let (inner, kind) = (self.handle()?, kind.map(element_kind).transpose()?);
        raised(py.detach(|| inner.drop_label(kind, label)))
    }

    /// Drops a property of `label` from the schema, with its declarations and index. Fails if a vertex or edge of the
    /// label has it. `kind` is as for `create_index`.
    ///
    /// >>> db.declare_property("airport", "runways", "int64")
    /// >>> db.drop_property("airport", "runways")
    #[pyo3(signature = (label, key, *, kind=None))]
    fn drop_property(&self, py: Python<'_>, label: &str, key: &str, kind: Option<&str>) -> PyResult<()> {
        let (inner, kind) = (self.handle()?, kind.map(element_kind).transpose()?);
        raised(py.detach(|| inner.drop_property(kind, label, key)))
    }

    /// Drops each label and property that no element has and that has no declaration. Returns their names.
    ///
    /// >>> _ = db.query("g.addV('draft').property('text', 'x')"), db.query("g.V().hasLabel('draft').drop()")
    /// >>> db.drop_unused()
    /// ['draft']
    fn drop_unused(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        let inner = self.handle()?;
        raised(py.detach(|| inner.drop_unused()))
    }

    /// Makes `key` the key of the vertices of `label`: the property that is their id. A key is found without an index,
    /// is unique, and never changes. Loads declare it on their own. Fails if the key of a vertex has another value than
    /// its id.
    ///
    /// >>> db.declare_key("city", "name")
    /// >>> db.query("g.addV('city').property('name', 'Oslo').id()").one()
    /// 'Oslo'
    fn declare_key(&self, py: Python<'_>, label: &str, key: &str) -> PyResult<()> {
        let inner = self.handle()?;
        let warnings = raised(py.detach(|| inner.declare_key(label, key)))?;
        warnings.iter().try_for_each(|warning| errors::warn(py, warning))
    }

    /// Makes `key` the time of the edges of `label`: the edges of a vertex are then kept in its order. Label and key may be
    /// new; the label must not have edges yet. Loads declare it by `edge_time`.
    ///
    /// >>> db.declare_time("visit", "at")
    /// >>> _ = db.query("g.V('AUS').addE('visit').to(__.V('LHR')).property('at', 3)")
    /// >>> db.direct().get_edge_record("AUS", "visit").get_edge_range(None, 5)
    /// (0, 1)
    fn declare_time(&self, py: Python<'_>, label: &str, key: &str) -> PyResult<()> {
        let inner = self.handle()?;
        raised(py.detach(|| inner.declare_time(label, key)))
    }

    /// Sets how the values of property `key` of the vertices or edges of `label` are stored when they are compressed.
    /// It takes effect at their next compression; `compact()` does that at once.
    ///
    /// * `"auto"` — what takes least room.
    /// * `"plain"` — each value by itself.
    /// * `"dictionary"` — distinct values once, in order.
    /// * `"symbols"` — text by its frequent parts.
    /// * `"searchable"` — text that allows substring search without an index. It means `"searchable:32"`.
    ///   `"searchable:8"` is faster and larger, `"searchable:128"` is smaller and slower.
    ///
    /// >>> db.set_encoding("airport", "code", "searchable")
    /// >>> _ = db.compact()
    /// >>> db.query("g.V().has('airport', 'code', containing('F')).values('code')").to_list()
    /// ['DFW']
    fn set_encoding(&self, py: Python<'_>, label: &str, key: &str, encoding: &str) -> PyResult<()> {
        let inner = self.handle()?;
        let Some(parsed) = Encoding::parse(encoding) else {
            let names = [&Encoding::NAMES[..], &["searchable:N with N a power of two up to 32768"]].concat();
            return Err(choice("encoding", encoding, &names));
        };
        raised(py.detach(|| inner.set_encoding(label, key, parsed)))
    }

    /// Registers `function(params, value)` as a procedure. Queries run it with `call(name)`. `params` is the dict of
    /// the call's parameters. `value` is what the traverser stands on, or `None` if the call starts the query. The
    /// query goes on with the values the function yields, or with the items of the list it returns. The function may
    /// query the database. A procedure is registered for this process only. A new one replaces an older one of the same
    /// name.
    ///
    /// * `description` — what `call('--list').with('verbose')` shows for it. Default: the first line of its
    ///   documentation.
    /// * `parameters` — a dict from the name of each parameter to what it is. A call with another parameter gets a
    ///   warning.
    /// * `columns` — the keys of the maps that the function gives. A table of the results then has these columns.
    ///   Without it, the table has the one column `value`. The query fails if the function gives anything else.
    ///
    /// >>> def initials(params, value):
    /// ...     for word in value.split():
    /// ...         yield word[:params.get("letters", 1)]
    /// >>> db.register_procedure("initials", initials, parameters={"letters": "how many of each word"})
    /// >>> db.query("g.V('AUS').out('in').values('name').call('initials').with('letters', 2)").to_list()
    /// ['Un', 'St']
    #[pyo3(signature = (name, function, *, description=None, parameters=None, columns=None))]
    fn register_procedure(
        &self,
        name: &str,
        function: &Bound<'_, PyAny>,
        description: Option<String>,
        parameters: Option<&Bound<'_, PyDict>>,
        columns: Option<Vec<String>>,
    ) -> PyResult<()> {
        if !function.is_callable() {
            return Err(PyTypeError::new_err("a procedure must be a function that takes parameters and a value"));
        }
        let description = description.or_else(|| procedure::first_line(function));
        let slot: Slot = Arc::new(Mutex::new(Some(function.clone().unbind())));
        let procedure = procedure::of_function(slot.clone(), description, parameters, columns)?;
        raised(self.handle()?.register_procedure(name, procedure))?;
        self.procedures.lock().unwrap_or_else(PoisonError::into_inner).insert(name.to_owned(), slot);
        Ok(())
    }

    /// Removes a procedure. Returns whether there was one of that name.
    ///
    /// >>> db.register_procedure("nothing", lambda params, value: [])
    /// >>> db.unregister_procedure("nothing")
    /// True
    fn unregister_procedure(&self, name: &str) -> PyResult<bool> {
        self.procedures.lock().unwrap_or_else(PoisonError::into_inner).remove(name);
        Ok(self.handle()?.unregister_procedure(name))
    }

    /// Declares the type and the cardinality of a property of a label's vertices. The cardinality is `"single"` (the
    /// default), `"list"` or `"set"`. With `kind="edge"` it is a property of the label's edges. Fails if stored values
    /// do not fit.
    ///
    /// * `unique` — no two elements of the label may share a value. This makes an index.
    /// * `required` — every element of the label must have the property when its transaction is committed, and
    ///   no query may take it away.
    ///
    /// If you do not give `unique` or `required`, it stays as it is. `False` ends it.
    ///
    /// >>> db.declare_property("airport", "code", "string")
    /// >>> db.query("g.addV('airport').property('code', 5)")
    /// Traceback (most recent call last):
    /// mangrovedb.QueryError: ...
    #[pyo3(signature = (label, key, value_type=None, cardinality="single", kind="vertex", *, unique=None, required=None))]
    #[expect(clippy::too_many_arguments, reason = "they are Python's keyword arguments")]
    fn declare_property(
        &self,
        py: Python<'_>,
        label: &str,
        key: &str,
        value_type: Option<&str>,
        cardinality: &str,
        kind: &str,
        unique: Option<bool>,
        required: Option<bool>,
    ) -> PyResult<()> {
        let unknown =
            |name: &str| PyValueError::new_err(format!("there is no type {name:?}; the types are {}", type_names()));
        let value_type = value_type.map(|name| ValueType::from_name(name).ok_or_else(|| unknown(name))).transpose()?;
        let cardinality = match cardinality {
            "single" => Cardinality::Single,
            "list" => Cardinality::List,
            "set" => Cardinality::Set,
            other => return Err(choice("cardinality", other, &["single", "list", "set"])),
        };
        let kind = element_kind(kind)?;
        let inner = self.handle()?;
        let declaration = Declaration { value_type, cardinality, unique, required };
        let warnings = raised(py.detach(|| inner.declare_property(kind, label, key, declaration)))?;
        warnings.iter().try_for_each(|warning| errors::warn(py, warning))
    }

    /// Returns what the graph holds. For vertices and for edges it lists the labels, and for each label its properties
    /// with their types and cardinality. An edge label also has the pairs of vertex labels it joins. The indexes are
    /// listed too.
    ///
    /// >>> db.schema()["vertices"]["airport"]["properties"]["elev"]["types"]
    /// ['int64']
    /// >>> db.schema()["edges"]["route"]["ends"]
    /// [('airport', 'airport')]
    fn schema<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let inner = self.handle()?;
        let schema = raised(py.detach(|| inner.schema()))?;
        let out = PyDict::new(py);
        for (name, kind) in [("vertices", ElementKind::Vertex), ("edges", ElementKind::Edge)] {
            let labels = PyDict::new(py);
            for (_, label) in schema.known_labels(kind) {
                labels.set_item(&*label.name, label_schema(py, &schema, kind, label)?)?;
            }
            out.set_item(name, labels)?;
        }
        let indexes = schema.indexes.iter().map(|IndexSchema { of, .. }| {
            (schema.label_name(of.kind, of.label).to_string(), schema.key_name(of.key).to_string())
        });
        out.set_item("indexes", PyList::new(py, indexes.collect::<Vec<_>>())?)?;
        out.set_item(
            "id_space",
            match schema.id_space {
                IdSpace::Graph => "graph",
                IdSpace::Label => "label",
            },
        )?;
        Ok(out)
    }

    /// Returns how much the graph holds: the number of vertices and edges by label, the bytes on disk, and how many of
    /// them are compressed. `compressed` lists what takes the compressed bytes: each column, list of edges and index,
    /// and how it is stored. `layout` names the order that a load or `relayout` chose; `layouts()` measures it.
    ///
    /// `oldest_snapshot` is about the oldest unfinished stream or query of any process. It is `None` unless the graph
    /// was changed since. `process` and `command` say whose it is. `age_seconds` says for how long, at least, it has
    /// been outdated. `pinned_bytes` says how much of `free_bytes` cannot be used again while it is open.
    ///
    /// >>> stats = db.stats()
    /// >>> stats["vertices"], stats["edges"], stats["disk_bytes"] > 0
    /// ({'airport': 4, 'country': 1}, {'route': 5, 'in': 1}, True)
    fn stats<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let inner = self.handle()?;
        let outcome = py.detach(|| {
            let snapshot = inner.snapshot()?;
            let counts = snapshot.statistics()?;
            Ok::<_, mangrove::StoreError>((snapshot.schema().clone(), counts, inner.stats()?))
        });
        let (schema, counts, stats) = raised(outcome)?;
        let out = PyDict::new(py);
        for (name, kind) in [("vertices", ElementKind::Vertex), ("edges", ElementKind::Edge)] {
            let labels = PyDict::new(py);
            for (id, label) in schema.known_labels(kind) {
                labels.set_item(&*label.name, counts.count(kind, id))?;
            }
            out.set_item(name, labels)?;
        }
        out.set_item("disk_bytes", stats.disk_bytes())?;
        out.set_item("segment_bytes", stats.segment_bytes())?;
        out.set_item("segments", &stats.segments)?;
        let compressed = PyList::empty(py);
        for part in mangrove::compressed::compressed(&schema, &stats.parts) {
            let entry = PyDict::new(py);
            entry.set_item("of", part.of)?;
            entry.set_item("label", part.label)?;
            entry.set_item("part", part.part)?;
            entry.set_item("bytes", part.bytes)?;
            entry.set_item("form", part.form)?;
            compressed.append(entry)?;
        }
        out.set_item("compressed", compressed)?;
        out.set_item("layout", &stats.layout)?;
        out.set_item("sealing_error", &stats.sealing_error)?;
        out.set_item("free_bytes", stats.space.free_bytes)?;
        let oldest = stats.space.oldest.map(|oldest| {
            let entry = PyDict::new(py);
            entry.set_item("process", oldest.process)?;
            entry.set_item("command", oldest.command)?;
            entry.set_item("age_seconds", oldest.age.as_secs_f64())?;
            entry.set_item("pinned_bytes", oldest.pinned_bytes)?;
            Ok::<_, PyErr>(entry)
        });
        out.set_item("oldest_snapshot", oldest.transpose()?)?;
        Ok(out)
    }

    /// Reads the whole database and returns its contradictions, one text each. The list is empty if the database is
    /// whole.
    ///
    /// >>> db.check()
    /// []
    fn check(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        let inner = self.handle()?;
        let report = raised(py.detach(|| inner.check()))?;
        Ok(report.violations.iter().map(ToString::to_string).collect())
    }

    /// Compresses the database into one segment, which queries read in place. Returns its size in bytes. Others read
    /// and write meanwhile.
    ///
    /// >>> db.compact() > 0
    /// True
    fn compact(&self, py: Python<'_>) -> PyResult<u64> {
        let inner = self.handle()?;
        raised(py.detach(|| inner.compact()))
    }

    /// Copies a graph in open files into the database, in one transaction: a directory in the format of Apache GraphAr,
    /// named by its file `NAME.graph.yml`, here or in an object store (`s3://…`). `open_lake` queries such files in place
    /// instead. Returns a dict, as `load` does.
    ///
    /// `progress` is a callable that gets (rows, bytes done, bytes in all) now and then. Default: show a line on a terminal.
    ///
    /// >>> db.export("airlake", "graphar")
    /// {'vertices': 5, 'edges': 6}
    /// >>> copy = mg.open(":memory:")
    /// >>> copy.load_lake("airlake/airlake.graph.yml")["vertices"]
    /// {'airport': 4, 'country': 1}
    #[pyo3(signature = (path, *, progress=None))]
    fn load_lake<'py>(
        &self,
        py: Python<'py>,
        path: PathBuf,
        progress: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyDict>> {
        let inner = self.handle()?;
        let line = progress::receiver(py, progress, "Line")?;
        let mut listening = Listening::new(line.as_ref().map(|line| line.clone().unbind()));
        let report = raised(py.detach(|| inner.load_lake(&path, &mut listening)));
        progress::close(line)?;
        load::report(py, &report?)
    }

    /// Looks for files of an open lake that others have added, changed or removed. Queries that begin from now on see them.
    /// Returns a dict of three lists of names: `added`, `changed` and `removed`. A database always shows what was
    /// committed last: its lists are empty.
    ///
    /// >>> db.refresh()
    /// {'added': [], 'changed': [], 'removed': []}
    fn refresh<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let inner = self.handle()?;
        let changes = raised(py.detach(|| inner.refresh()))?;
        let names = PyDict::new(py);
        names.set_item("added", changes.added)?;
        names.set_item("changed", changes.changed)?;
        names.set_item("removed", changes.removed)?;
        Ok(names)
    }

    /// The last commit that this process has made or read, of a graph on many nodes: a text for `wait_for` of another
    /// process. None for other databases, whose readers all see the last commit.
    ///
    /// >>> db.bookmark() is None
    /// True
    fn bookmark(&self) -> PyResult<Option<String>> {
        Ok(self.handle()?.bookmark().map(|bookmark| bookmark.to_string()))
    }

    /// Waits until this process reads what a `bookmark` names, for `timeout` seconds at most. From then on its queries never
    /// read anything older. Without this, they usually see a commit of another process after 100 ms.
    ///
    /// >>> db.wait_for("00000000000000ff-12")
    /// Traceback (most recent call last):
    /// mangrovedb.StorageError: only a graph on many nodes has bookmarks: here each reader sees the last commit
    #[pyo3(signature = (bookmark, *, timeout=10.0))]
    fn wait_for(&self, py: Python<'_>, bookmark: &str, timeout: f64) -> PyResult<()> {
        let bookmark: mangrove::Bookmark =
            bookmark.parse().map_err(|error: mangrove::BookmarkError| PyValueError::new_err(error.to_string()))?;
        let timeout = query::seconds("timeout", Some(timeout))?.unwrap_or(Duration::MAX);
        let inner = self.handle()?;
        raised(py.detach(|| inner.wait_for(bookmark, timeout)))
    }

    /// Makes the indexes of edges of an open lake now. Without this, the first query that follows edges of a type makes
    /// them. Returns how many types of edges have an index. A database needs none.
    ///
    /// `progress` is a callable that gets (rows, bytes done, bytes in all) now and then. Default: show a line on a terminal.
    ///
    /// >>> db.index_edges()
    /// 0
    #[pyo3(signature = (*, progress=None))]
    fn index_edges(&self, py: Python<'_>, progress: Option<&Bound<'_, PyAny>>) -> PyResult<u64> {
        let inner = self.handle()?;
        let line = progress::receiver(py, progress, "Line")?;
        let mut listening = Listening::new(line.as_ref().map(|line| line.clone().unbind()));
        let made = raised(py.detach(|| inner.index_edges(&mut listening)));
        progress::close(line)?;
        made
    }

    /// Writes a consistent copy of the database to the directory `destination`. The directory must be empty or not
    /// exist yet. Others read and write meanwhile.
    ///
    /// >>> db.backup("copy.mg")
    /// >>> mg.open("copy.mg").query("g.V().count()").one()
    /// 5
    fn backup(&self, py: Python<'_>, destination: PathBuf) -> PyResult<()> {
        let inner = self.handle()?;
        raised(py.detach(|| inner.backup(&destination)))
    }

    /// Writes the graph to a new database in `destination`, with its vertices in another order. The directory must be empty or
    /// not exist yet. Others read and write meanwhile; the copy has what was there when it began. Vertices keep their ids.
    /// Edges without an id of their own get new generated ones. For `layout` and `ties`, see `load`.
    ///
    /// Returns a dict, as `load` does, with what the order is worth: the sum of distances between neighbours (`cost`), the
    /// mean (`distance`), the bits of an edge in lists that are written as differences, and the blocks of 4 kB that hold
    /// the records of a vertex's neighbours, at 40 bytes a record. `seconds` says how long the order took to find.
    ///
    /// >>> report = db.relayout("ordered.mg")
    /// >>> report["vertices"], report["layout"]["after"]["cost"] <= report["layout"]["before"]["cost"]
    /// ({'airport': 4, 'country': 1}, True)
    /// >>> mg.open("ordered.mg").stats()["layout"]
    /// 'community'
    #[pyo3(signature = (destination, layout="community", *, ties="uniform", progress=None))]
    fn relayout<'py>(
        &self,
        py: Python<'py>,
        destination: PathBuf,
        layout: &str,
        ties: &str,
        progress: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyDict>> {
        let (inner, order) = (self.handle()?, layout::options(layout, ties)?);
        let line = progress::receiver(py, progress, "Line")?;
        let mut listening = Listening::new(line.as_ref().map(|line| line.clone().unbind()));
        let outcome = raised(py.detach(|| inner.relayout(&destination, &order, &mut listening)));
        progress::close(line)?;
        let (report, ordered) = outcome?;
        let out = load::report(py, &report)?;
        out.set_item("layout", layout::report(py, &ordered)?)?;
        Ok(out)
    }

    /// What the order of vertices is worth now, and what each layout would give: a dict of dicts, with the measures of
    /// `relayout`.
    ///
    /// >>> sorted(db.layouts())
    /// ['bfs', 'community', 'degree', 'now', 'partition']
    fn layouts<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let inner = self.handle()?;
        let mut listening = Listening::new(None);
        let reports =
            raised(py.detach(|| inner.layouts(&mangrove::Layout::ALL, &LayoutOptions::default(), &mut listening)))?;
        layout::reports(py, &reports)
    }

    /// Writes the graph to files in `directory`. Returns the number of vertices and edges. Formats: `"csv"` (the
    /// default; a file for each label, with headers that neo4j-admin understands), `"parquet"` (a file for each label,
    /// with typed columns), `"graphml"`, `"graphson"`, or `"graphar"`: Parquet files in the format of Apache GraphAr, which
    /// others read, and `open_lake` in place.
    ///
    /// `load(directory)` loads the files back. The file `mangrove.yaml` beside them says how to read each one. It also
    /// holds the keys, types, indexes, constraints and encodings of the graph.
    ///
    /// >>> db.export("files", "parquet")
    /// {'vertices': 5, 'edges': 6}
    /// >>> copy = mg.open(":memory:")
    /// >>> copy.load("files")["edges"]
    /// {'in': 1, 'route': 5}
    ///
    /// If GraphAr cannot hold all of the graph, such as values of several types under one key, nothing is written.
    /// `lossy=True` writes such values as text, and warns of each loss. A GraphAr file has `vertex_chunk` vertices (default
    /// 262,144) or `edge_chunk` edges (4,194,304). `groups` names properties that get files of their own, such as
    /// `[["bio", "photo"]]`. `lists` names the lists of edges to write: `"ordered_by_source"` and `"ordered_by_dest"` (the
    /// default), `"unordered_by_source"`, `"unordered_by_dest"`.
    ///
    /// >>> db.export("lake", "graphar")
    /// {'vertices': 5, 'edges': 6}
    /// >>> mg.open_lake("lake/lake.graph.yml").query("g.V().count()").one()
    /// 5
    ///
    /// `layout` and `ties` order the vertices, and edges by their sources; see `load`.
    #[pyo3(signature = (
        directory, format="csv", *, lossy=false, vertex_chunk=None, edge_chunk=None, groups=None, lists=None, layout="none",
        ties="uniform"
    ))]
    #[expect(clippy::too_many_arguments, reason = "they are Python's keyword arguments")]
    fn export<'py>(
        &self,
        py: Python<'py>,
        directory: PathBuf,
        format: &str,
        lossy: bool,
        vertex_chunk: Option<NonZeroU64>,
        edge_chunk: Option<NonZeroU64>,
        groups: Option<Vec<Vec<String>>>,
        lists: Option<Vec<String>>,
        layout: &str,
        ties: &str,
    ) -> PyResult<Bound<'py, PyDict>> {
        let (inner, order) = (self.handle()?, layout::options(layout, ties)?);
        let mut listening = Listening::new(None);
        let (vertices, edges, warnings) = if format.eq_ignore_ascii_case("graphar") {
            let defaults = GraphArOptions::default();
            let options = GraphArOptions {
                vertex_chunk: vertex_chunk.map_or(defaults.vertex_chunk, NonZeroU64::get),
                edge_chunk: edge_chunk.map_or(defaults.edge_chunk, NonZeroU64::get),
                groups: groups.unwrap_or_default(),
                lists: lists
                    .map_or(Ok(defaults.lists), |names| names.iter().map(|name| list_order(name.as_str())).collect())?,
                is_lossy: lossy,
            };
            let report = raised(py.detach(|| inner.export_lake_in_order(&directory, &options, &order, &mut listening)))?;
            (report.vertices, report.edges, report.losses)
        } else {
            let Some(format) = ExportFormat::from_name(format) else {
                return Err(choice("format", format, &[&ExportFormat::NAMES[..], &["graphar"]].concat()));
            };
            if lossy || vertex_chunk.is_some() || edge_chunk.is_some() || groups.is_some() || lists.is_some() {
                let only = "lossy, vertex_chunk, edge_chunk, groups and lists are for the format \"graphar\"";
                return Err(PyValueError::new_err(only));
            }
            let report = raised(py.detach(|| inner.export_in_order(&directory, format, &order, &mut listening)))?;
            (report.vertices, report.edges, report.warnings)
        };
        let out = PyDict::new(py);
        out.set_item("vertices", vertices)?;
        out.set_item("edges", edges)?;
        warnings.iter().try_for_each(|warning| errors::warn(py, &Spelling::Python.of(warning)))?;
        Ok(out)
    }

    /// The directory of the database. For a connected graph, its address.
    #[getter]
    fn path<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        match self.path.to_str().filter(|path| path.starts_with("mangrove://")) {
            Some(address) => Ok(PyString::new(py, address).into_any()),
            None => Ok(self.path.as_path().into_pyobject(py)?.into_any()),
        }
    }

    /// Whether `close` was called.
    ///
    /// >>> db.closed
    /// False
    #[getter]
    fn closed(&self) -> bool {
        self.inner.read().unwrap_or_else(PoisonError::into_inner).is_none()
    }

    /// Closes the database. A query that is running still finishes, and its results stay as they are.
    ///
    /// >>> fresh = mg.open("fresh.mg")
    /// >>> fresh.close()
    /// >>> fresh.closed
    /// True
    fn close(&self, py: Python<'_>) {
        let inner = self.inner.write().unwrap_or_else(PoisonError::into_inner).take();
        self.procedures.lock().unwrap_or_else(PoisonError::into_inner).clear();
        py.detach(|| drop(inner));
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        let Ok(procedures) = self.procedures.try_lock() else { return Ok(()) };
        procedures.values().try_for_each(|slot| match slot.try_lock() {
            Ok(function) => visit.call(&*function),
            Err(_) => Ok(()),
        })
    }

    fn __clear__(&self) {
        let procedures = std::mem::take(&mut *self.procedures.lock().unwrap_or_else(PoisonError::into_inner));
        for slot in procedures.into_values() {
            slot.lock().unwrap_or_else(PoisonError::into_inner).take();
        }
    }

    fn __enter__(slf: PyRef<'_, Self>) -> PyRef<'_, Self> {
        slf
    }

    #[pyo3(signature = (*exception))]
    fn __exit__(&self, py: Python<'_>, exception: &Bound<'_, PyTuple>) -> bool {
        let _ = exception;
        self.close(py);
        false
    }

    fn __repr__(&self) -> String {
        format!("<mangrove database {}>", self.path.display())
    }

    fn _repr_html_<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        slf.py().import("mangrovedb._display")?.call_method1("database_html", (slf,))
    }
}

fn element_kind(name: &str) -> PyResult<ElementKind> {
    let named = ElementKind::ALL.into_iter().find(|kind| kind.name() == name);
    named.ok_or_else(|| choice("kind", name, &["vertex", "edge"]))
}

fn type_names() -> String {
    ValueType::ALL_STORABLE.iter().skip(1).map(|t| t.name()).collect::<Vec<_>>().join(", ")
}

fn label_schema<'py>(
    py: Python<'py>,
    schema: &Schema,
    kind: ElementKind,
    label: &LabelSchema,
) -> PyResult<Bound<'py, PyDict>> {
    let properties = PyDict::new(py);
    for property in label.known_properties() {
        let entry = PyDict::new(py);
        entry.set_item("types", property.types.iter().map(|t| t.name()).collect::<Vec<_>>())?;
        entry.set_item("cardinality", property.cardinality.name())?;
        entry.set_item("declared", property.declared.map(|t| t.name()))?;
        entry.set_item("required", property.required)?;
        entry.set_item("encoding", property.encoding.to_string())?;
        let label = schema.label(kind, &label.name);
        let index = label.and_then(|label| schema.index(PropertyId { kind, label, key: property.key }));
        entry.set_item("indexed", index.is_some())?;
        entry.set_item("unique", index.is_some_and(|index| index.unique))?;
        properties.set_item(PyString::new(py, &schema.key_name(property.key)), entry)?;
    }
    let out = PyDict::new(py);
    out.set_item("properties", properties)?;
    if kind == ElementKind::Vertex {
        out.set_item("key", label.key.map(|key| schema.key_name(key).to_string()))?;
    }
    if kind == ElementKind::Edge {
        let name = |id| schema.label_name(ElementKind::Vertex, id).to_string();
        let ends = label.ends.iter().map(|(source, target)| (name(*source), name(*target)));
        out.set_item("ends", ends.collect::<Vec<_>>())?;
        out.set_item("time", label.time.map(|key| schema.key_name(key).to_string()))?;
    }
    Ok(out)
}
