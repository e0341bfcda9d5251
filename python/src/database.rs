//! A database, and how it is opened.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::Duration;

use mangrove::graph::{GraphView, IndexSchema, LabelSchema, PropertyId, Schema};
use mangrove::ingest::IngestOptions;
use mangrove::{
    Cardinality, CrewOptions, Declaration, Durability, ElementKind, Encoding, ExportFormat, IdSpace, LoadReport,
    OpenOptions, QueryOptions, ValueType,
};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::gc::{PyTraverseError, PyVisit};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyString, PyTuple};

use crate::errors::{self, OpenError, raised};
use crate::ingest::Ingest;
use crate::interrupt::{self, Listening};
use crate::load;
use crate::plan::{Explanation, Profile};
use crate::procedure::{self, Slot};
use crate::query::{self, Bytecode, Limits, Names, Request};
use crate::result::{self, QueryResult};
use crate::stream::Stream;
use crate::transaction::Transaction;

/// Opens the database in the directory `path`, and makes it if there is none. `":memory:"` is a new database of this process, which is
/// gone once it is closed; its files are among the temporary ones.
///
/// * `read_only` — only read: for any number of further processes beside the one that writes. Makes nothing.
/// * `durability` — `"full"`: a commit is on the disk when it returns. `"relaxed"`: commits are handed to the operating system
///   and not waited for; they survive a crash of the process, but a crash of the *system* or a power failure may lose the last
///   ones and damage the database. For data that can be loaded again.
/// * `id_space` — of a new database: `"graph"` (an id names one vertex; so it is if nothing is said) or `"label"` (an id is
///   unique within its label, and `T.id` is `Label/id`). One that is there must have the id space asked for.
/// * `seal_mb` — once what was changed takes so many megabytes, it is compressed in the background, while others read and
///   write; 0 for never. What failed there is told by `stats()["sealing_error"]`, and is tried again later.
/// * `verify_mb` — the file of what was changed is verified while the database is opened if it has no more megabytes than this; 0 for
///   never. `check()` always verifies it. It takes about 0.2 s for 256 MB.
/// * `stream_timeout` — seconds after which an unfinished stream ends that has no timeout of its own, whether it is read or not: then what it
///   held can be used again.
/// * `workers` — threads that help heavy queries, beside the threads that ask them; by default one less than there are cores,
///   but at least one. They belong to regions of `region_workers`, each to a core of its own with `pin`, and take work of
///   other regions unless `steal` is false.
///
/// >>> with mg.open("fresh.mg") as fresh:
/// ...     fresh.query("g.addV('person').property(id, 'ada').id()").one()
/// 'ada'
/// >>> mg.open("fresh.mg", read_only=True).query("g.V().count()").one()
/// 1
#[pyfunction]
#[pyo3(signature = (path, read_only=false, durability="full", id_space=None, *, seal_mb=64.0, verify_mb=256.0, stream_timeout=None, workers=None, region_workers=4, pin=false, steal=true))]
#[expect(clippy::too_many_arguments, reason = "they are Python's keyword arguments")]
pub fn open(
    py: Python<'_>,
    path: PathBuf,
    read_only: bool,
    durability: &str,
    id_space: Option<&str>,
    seal_mb: f64,
    verify_mb: f64,
    stream_timeout: Option<f64>,
    workers: Option<i64>,
    region_workers: i64,
    pin: bool,
    steal: bool,
) -> PyResult<Database> {
    let options = OpenOptions {
        read_only,
        create: !read_only,
        durability: match durability {
            "full" => Durability::Full,
            "relaxed" => Durability::Relaxed,
            other => return Err(choice("durability", other, &["full", "relaxed"])),
        },
        id_space: match id_space {
            None => None,
            Some("graph") => Some(IdSpace::Graph),
            Some("label") => Some(IdSpace::Label),
            Some(other) => return Err(choice("id_space", other, &["graph", "label"])),
        },
        seal_bytes: megabytes("seal_mb", seal_mb)?,
        verify_bytes: megabytes("verify_mb", verify_mb)?,
    };
    let stream_timeout = query::seconds("stream_timeout", stream_timeout)?;
    let region_workers = threads("region_workers", region_workers, 1)?;
    let workers = workers.map(|workers| threads("workers", workers, 0)).transpose()?;
    let crew = CrewOptions { workers: workers.unwrap_or(CrewOptions::default().workers), region_workers, pin, steal };
    let inner = raised(py.detach(|| mangrove::Database::open_with(&path, &options)))?;
    let inner = if crew == CrewOptions::default() { inner } else { inner.with_crew(crew) };
    Ok(Database { inner: RwLock::new(Some(inner)), path, stream_timeout, procedures: Mutex::default() })
}

/// Megabytes as bytes.
fn megabytes(argument: &str, given: f64) -> PyResult<u64> {
    match given {
        0.0..1e12 => Ok((given * 1e6) as u64),
        _ => Err(PyValueError::new_err(format!("{argument} is a number of megabytes from 0 on, not {given}"))),
    }
}

/// A number of threads no machine would choke on.
fn threads(argument: &str, given: i64, least: usize) -> PyResult<usize> {
    const MOST: usize = 1024;
    let fitting = usize::try_from(given).ok().filter(|threads| (least..=MOST).contains(threads));
    fitting.ok_or_else(|| PyValueError::new_err(format!("{argument} is a number from {least} to {MOST}, not {given}")))
}

/// The error for a word that is not among the ones an argument takes.
pub fn choice(argument: &str, found: &str, choices: &[&str]) -> PyErr {
    PyValueError::new_err(format!("{argument} is one of {}, not {found:?}", choices.join(", ")))
}

/// A property graph in a directory. Made by `open`; may be used from any thread.
///
/// >>> with mg.open("fresh.mg") as fresh:
/// ...     fresh.query("g.V().count()").one()
/// 0
#[pyclass(frozen, module = "mangrovedb", weakref)]
pub struct Database {
    inner: RwLock<Option<mangrove::Database>>,
    path: PathBuf,
    stream_timeout: Option<Duration>,
    /// The functions of procedures, which may refer to this.
    procedures: Mutex<HashMap<String, Slot>>,
}

impl Database {
    /// A handle to work with; the lock is held only to take it.
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

#[pymethods]
impl Database {
    /// Runs a Gremlin query, a text or a gremlinpython traversal, and returns its results.
    ///
    /// Parameters are variables of the query; give them by name or, if their names are those of other arguments, in the dict
    /// `params`. A query that changes the graph is a transaction of its own: what it did is durable when this returns, or not
    /// there at all. Ctrl-C stops a running query; so do `timeout`, in seconds, and `memory_mb`, what the query and its results
    /// may take in memory (by default half of the machine's, at most 4 GB). What is being committed is not stopped any more: it
    /// is kept, though a `KeyboardInterrupt` may be raised when it is done. A datetime without a time zone is taken as UTC.
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

    /// Runs a Gremlin query and gives its results one by one, as they come; for results that would not fit in memory together.
    /// Arguments as of `query`. See `Stream`. A query that changes the graph runs whole before its first result is given.
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

    /// Runs bytecode, as Gremlin language variants write it: GraphSON 3 if it is a str, GraphBinary 1 if it is bytes. In all else
    /// as `query`.
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

    /// Whether a query changes the graph. One that cannot be read does not.
    fn _writes(&self, text: query::Asked) -> PyResult<bool> {
        Ok(self.handle()?.writes(text.written()).unwrap_or(false))
    }

    /// The plan of a query: as written, after each rule of the optimiser that changed it, and what is expected of each step. See
    /// `Explanation`.
    ///
    /// >>> print(db.explain("g.V().hasLabel('airport').out('route').count()"))
    /// original      Scan(vertices) → Has(T.label = airport) → Hop(Out, vertices, route) → Count
    /// scan-filters  Scan(vertices, airport) → Hop(Out, vertices, route) → Count
    /// degree        Scan(vertices, airport) → Degree(Out, route) → Count
    /// <BLANKLINE>
    /// step                     expected  access
    /// Scan(vertices, airport)         4  SCAN of 4 vertices labelled airport
    /// Degree(Out, route)              5
    /// Count                           1
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

    /// Runs a query to its end and tells what each step of it did; its results are only counted. What it changes is kept.
    /// Arguments as of `query`. See `Profile`.
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

    /// A transaction: several queries that are kept together or not at all. It begins with its first query, which waits for other
    /// writers to end, for at most `timeout` seconds. See `Transaction`.
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

    /// Begins to take vertices and edges in batches: the fast way to write many. See `Ingest`.
    ///
    /// * `batch_rows` — how many rows gather before they are committed.
    /// * `edge_time` — the column whose value orders a vertex's edges of a label.
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

    /// Loads files and tables in one transaction: if anything fails, the graph is as it was.
    ///
    /// * `files` — paths, globs, directories; what each holds is told by its header or format: CSV with Neo4j or Neptune
    ///   headers or plain, Parquet, JSON Lines, GraphML, GraphSON 3, lists of edges (SNAP, NetworkX, Matrix Market), compressed or not.
    /// * `nodes`, `edges` — tables of one label each: paths, lists of paths, or tables as `Ingest` takes them. Edges are keyed by
    ///   their label or by (source label, label, target label).
    /// * `format` — what the files are, where they do not tell: `"csv"`, `"parquet"`, `"jsonl"`, `"graphml"`, `"graphson"`,
    ///   `"edgelist"`.
    /// * `mapping` — a YAML file that says how tables are read, for what their headers do not say.
    /// * `write_mapping` — writes how the files would be read to such a YAML file, ready to be edited, and loads nothing.
    /// * `delimiter`, `null`, `encoding` — of CSV files what parts their fields, and which texts (where they are not in quotes) stand for
    ///   no value, such as `["NA"]`; of all files what their text is encoded in, such as `"latin1"`.
    /// * `edge_time` — the column whose value orders a vertex's edges of a label.
    /// * `key` — the columns that name vertices, where they are not called `id`: `{"user": "email"}`.
    /// * `on_exists` — what becomes of a vertex whose id is taken: `"error"` (a bad row), `"skip"`, `"update"` (its properties are
    ///   set) or `"replace"` (and all others removed).
    /// * `on_duplicate` — what becomes of an edge that is there already, by its label and ends: `"add"` (beside it), `"skip"` or
    ///   `"update"`. `edge_key` names a column that tells edges of the same label and ends apart.
    /// * `missing` — `"create"` makes vertices that edges name and that are not there.
    /// * `on_error` — `"fail"`, or `"skip"`: load the rest and write the rows left out to `rejects` (`rejects.csv`). More than
    ///   `max_rejects` of them, or only such rows, are an error.
    /// * `compact` — whether what was loaded is compressed into a segment, as `compact()` does; by default if it is more than
    ///   16 MB, and all there is.
    /// * `searchable` — properties whose text is kept so that any part of it is found without an index, as
    ///   `set_encoding(…, "searchable")` does: a list of `"Label.key"`, or `["all"]`.
    /// * `indexes` — properties of vertices that get an index, as `create_index` makes: a list of `"Label.key"`. Made with the load
    ///   it is compressed with the rest.
    /// * `progress` — a callable that is told (rows, bytes done, bytes in all) now and then; by default a line on a terminal,
    ///   with `False` nothing.
    ///
    /// Returns the numbers of new vertices and edges by label, of those updated, unchanged and skipped, of rejected rows, and what was
    /// worth a warning.
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
        progress=None
    ))]
    #[allow(clippy::too_many_arguments)] // Python's keyword arguments are a struct with defaults
    fn load<'py>(
        &self,
        py: Python<'py>,
        files: &Bound<'py, PyTuple>,
        nodes: Option<&Bound<'py, PyDict>>,
        edges: Option<&Bound<'py, PyDict>>,
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
        if let Some(path) = write_mapping {
            raised(py.detach(|| inner.write_mapping(&options, &path)))?;
            return load::report(py, &LoadReport::default());
        }
        let line = progress_line(py, progress)?;
        let mut listening = Listening::new(line.as_ref().map(|line| line.clone().unbind()));
        let outcome = raised(py.detach(|| inner.load(&options, &mut listening)));
        if let Some(close) = line.and_then(|line| line.getattr("close").ok()) {
            close.call0()?;
        }
        load::report(py, &outcome?)
    }

    /// A stock gremlinpython traversal source, whose traversals run in this process. Needs the extra `gremlin`.
    ///
    /// >>> g = db.traversal()
    /// >>> g.V().has("airport", "code", "AUS").out("route").values("code").order().to_list()
    /// ['DFW', 'LHR']
    fn traversal<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        slf.py().import("mangrovedb.gremlin")?.call_method1("source", (slf,))
    }

    /// Builds an index of a property, so that `has(label, key, …)` need not look at every vertex or edge of the label, and keeps it
    /// from now on. Returns whether it is new.
    ///
    /// * `unique` — no two elements of the label may share a value, now and from now on.
    /// * `kind` — `"vertex"` or `"edge"`. Needed only where vertices and edges have the same label.
    ///
    /// >>> db.create_index("airport", "code", unique=True)
    /// True
    /// >>> db.query("g.addV('airport').property('code', 'AUS')")
    /// Traceback (most recent call last):
    /// mangrovedb.ConstraintError: airport.code is unique, and the vertex AUS has AUS there already
    /// >>> db.create_index("route", "dist")
    /// True
    /// >>> db.query("g.E().has('route', 'dist', gt(4000)).count()").one()
    /// 3
    #[pyo3(signature = (label, key, *, unique=false, kind=None))]
    fn create_index(&self, py: Python<'_>, label: &str, key: &str, unique: bool, kind: Option<&str>) -> PyResult<bool> {
        let (inner, kind) = (self.handle()?, kind.map(element_kind).transpose()?);
        raised(py.detach(|| match unique {
            true => inner.create_unique_index(kind, label, key),
            false => inner.create_index(kind, label, key),
        }))
    }

    /// Drops an index. Returns whether there was one. `kind` is as of `create_index`.
    ///
    /// >>> db.drop_index("airport", "code")
    /// False
    #[pyo3(signature = (label, key, *, kind=None))]
    fn drop_index(&self, py: Python<'_>, label: &str, key: &str, kind: Option<&str>) -> PyResult<bool> {
        let (inner, kind) = (self.handle()?, kind.map(element_kind).transpose()?);
        raised(py.detach(|| inner.drop_index(kind, label, key)))
    }

    /// Gives a label another name. All vertices or edges that have it keep it, under the new name. `kind` is as of `create_index`.
    ///
    /// >>> db.rename_label("country", "land")
    /// >>> db.query("g.V().hasLabel('land').id()").to_list()
    /// ['US']
    #[pyo3(signature = (label, name, *, kind=None))]
    fn rename_label(&self, py: Python<'_>, label: &str, name: &str, kind: Option<&str>) -> PyResult<()> {
        let (inner, kind) = (self.handle()?, kind.map(element_kind).transpose()?);
        raised(py.detach(|| inner.rename_label(kind, label, name)))
    }

    /// Drops a label that no vertex or edge has, with its declarations and indexes. `kind` is as of `create_index`.
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

    /// Drops a property that no vertex or edge of `label` has from the schema, with its declarations and index. `kind` is as of
    /// `create_index`.
    ///
    /// >>> db.declare_property("airport", "runways", "int64")
    /// >>> db.drop_property("airport", "runways")
    #[pyo3(signature = (label, key, *, kind=None))]
    fn drop_property(&self, py: Python<'_>, label: &str, key: &str, kind: Option<&str>) -> PyResult<()> {
        let (inner, kind) = (self.handle()?, kind.map(element_kind).transpose()?);
        raised(py.detach(|| inner.drop_property(kind, label, key)))
    }

    /// Drops all labels and properties that nothing has and of which nothing is declared. Returns their names.
    ///
    /// >>> _ = db.query("g.addV('draft').property('text', 'x')"), db.query("g.V().hasLabel('draft').drop()")
    /// >>> db.drop_unused()
    /// ['draft']
    fn drop_unused(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        let inner = self.handle()?;
        raised(py.detach(|| inner.drop_unused()))
    }

    /// Makes `key` the key of vertices of `label`: the property that is their id. It is found without an index, is unique, and never
    /// changes. Loads do it by themselves. Fails if a vertex has another value there.
    ///
    /// >>> db.declare_key("city", "name")
    /// >>> db.query("g.addV('city').property('name', 'Oslo').id()").one()
    /// 'Oslo'
    fn declare_key(&self, py: Python<'_>, label: &str, key: &str) -> PyResult<()> {
        let inner = self.handle()?;
        raised(py.detach(|| inner.declare_key(label, key)))
    }

    /// Says how what vertices or edges of `label` have under `key` is kept where it is compressed, from the next time it is
    /// (`compact()` does it at once): `"auto"` (what takes least), `"plain"`, `"dictionary"`, `"symbols"` (text by its frequent
    /// parts), or `"searchable"`: text of which any part is found without an index; `"searchable:8"` is faster and larger,
    /// `"searchable:128"` smaller and slower than the 32 meant otherwise.
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

    /// Lets queries run `function(params, value)` with `call(name)`: `params` is the dict of the call's parameters, `value` what
    /// the traverser stands on (`None` where the call starts the query). The query goes on with what it yields, or with the items
    /// of the list it returns. It may query the database. Registered for this process; a procedure of the same name is replaced.
    ///
    /// * `description` — what `call('--list').with('verbose')` says of it; by default the first line of its documentation.
    /// * `parameters` — the parameters by name, and what they are; calls with others are warned of.
    ///
    /// >>> def initials(params, value):
    /// ...     for word in value.split():
    /// ...         yield word[:params.get("letters", 1)]
    /// >>> db.register_procedure("initials", initials, parameters={"letters": "how many of each word"})
    /// >>> db.query("g.V('AUS').out('in').values('name').call('initials').with('letters', 2)").to_list()
    /// ['Un', 'St']
    #[pyo3(signature = (name, function, *, description=None, parameters=None))]
    fn register_procedure(
        &self,
        name: &str,
        function: &Bound<'_, PyAny>,
        description: Option<String>,
        parameters: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<()> {
        if !function.is_callable() {
            return Err(PyTypeError::new_err("a procedure is a function of parameters and a value"));
        }
        let description = description.or_else(|| procedure::first_line(function));
        let slot: Slot = Arc::new(Mutex::new(Some(function.clone().unbind())));
        let procedure = procedure::of_function(slot.clone(), description, parameters)?;
        raised(self.handle()?.register_procedure(name, procedure))?;
        self.procedures.lock().unwrap_or_else(PoisonError::into_inner).insert(name.to_owned(), slot);
        Ok(())
    }

    /// Takes back a procedure. Returns whether there was one of that name.
    ///
    /// >>> db.register_procedure("nothing", lambda params, value: [])
    /// >>> db.unregister_procedure("nothing")
    /// True
    fn unregister_procedure(&self, name: &str) -> PyResult<bool> {
        self.procedures.lock().unwrap_or_else(PoisonError::into_inner).remove(name);
        Ok(self.handle()?.unregister_procedure(name))
    }

    /// Fixes the type and the cardinality (`"single"`, `"list"` or `"set"`) of a property of a label's vertices, or of its
    /// edges with `kind="edge"`. Fails if values stored already do not keep to it.
    ///
    /// * `unique` — no two elements of the label may share a value. It makes an index.
    /// * `required` — every element of the label must have the property when its transaction is committed.
    ///
    /// Where one of the two is not given, it stays as it is; `False` ends it.
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
        let unknown = |name: &str| PyValueError::new_err(format!("there is no type {name:?}; types are {}", type_names()));
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
        raised(py.detach(|| inner.declare_property(kind, label, key, declaration)))
    }

    /// What the graph holds and of which types: for vertices and edges, by label, each property with its types and cardinality;
    /// for edge labels the labels they join; the indexes.
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

    /// How much the graph holds: counts of vertices and edges by label, the bytes on disk, how many
    /// of them are compressed, and what takes them: each column, list of edges and index, and how it is kept.
    ///
    /// `oldest_snapshot` tells of the oldest unfinished stream or query of any process, if the graph was changed since: its `process` and
    /// `command`, for how many seconds at least it has been outdated (`age_seconds`), and how much room cannot be used again as long as it
    /// is open (`pinned_bytes`, of `free_bytes`).
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

    /// Reads the whole database and returns what contradicts itself, one text each; nothing if it is whole.
    ///
    /// >>> db.check()
    /// []
    fn check(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        let inner = self.handle()?;
        let report = raised(py.detach(|| inner.check()))?;
        Ok(report.violations.iter().map(ToString::to_string).collect())
    }

    /// Moves all that is stored into one compressed segment, which is queried in place, and returns its size in bytes. Others
    /// read and write meanwhile.
    ///
    /// >>> db.compact() > 0
    /// True
    fn compact(&self, py: Python<'_>) -> PyResult<u64> {
        let inner = self.handle()?;
        raised(py.detach(|| inner.compact()))
    }

    /// Writes a consistent copy of the database to the directory `destination`, which must be empty or not there yet, while
    /// others read and write on.
    ///
    /// >>> db.backup("copy.mg")
    /// >>> mg.open("copy.mg").query("g.V().count()").one()
    /// 5
    fn backup(&self, py: Python<'_>, destination: PathBuf) -> PyResult<()> {
        let inner = self.handle()?;
        raised(py.detach(|| inner.backup(&destination)))
    }

    /// Writes the graph to files in `directory`: `"csv"` (a file for each label, with headers that neo4j-admin understands),
    /// `"parquet"` (a file for each label, with typed columns), `"graphml"` or `"graphson"`. Returns the number of vertices and edges.
    ///
    /// `load(directory)` loads the files back. `mangrove.yaml` beside them says how each is read, and has the keys, types, indexes,
    /// constraints and encodings of the graph.
    ///
    /// >>> db.export("files", "parquet")
    /// {'vertices': 5, 'edges': 6}
    /// >>> copy = mg.open(":memory:")
    /// >>> copy.load("files")["edges"]
    /// {'in': 1, 'route': 5}
    #[pyo3(signature = (directory, format="csv"))]
    fn export<'py>(&self, py: Python<'py>, directory: PathBuf, format: &str) -> PyResult<Bound<'py, PyDict>> {
        let Some(format) = ExportFormat::from_name(format) else {
            return Err(choice("format", format, &ExportFormat::NAMES));
        };
        let inner = self.handle()?;
        let mut listening = Listening::new(None);
        let report = raised(py.detach(|| inner.export(&directory, format, &mut listening)))?;
        let out = PyDict::new(py);
        out.set_item("vertices", report.vertices)?;
        out.set_item("edges", report.edges)?;
        report.warnings.iter().try_for_each(|warning| errors::warn(py, &errors::in_python(warning)))?;
        Ok(out)
    }

    /// The directory of the database.
    #[getter]
    fn path(&self) -> PathBuf {
        self.path.clone()
    }

    /// Whether `close` was called.
    ///
    /// >>> db.closed
    /// False
    #[getter]
    fn closed(&self) -> bool {
        self.inner.read().unwrap_or_else(PoisonError::into_inner).is_none()
    }

    /// Lets go of the database. What is running on it ends first; results stay as they are.
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

/// Who is told of a load's progress: the caller's callable, or a line on a terminal.
fn progress_line<'py>(py: Python<'py>, wish: Option<&Bound<'py, PyAny>>) -> PyResult<Option<Bound<'py, PyAny>>> {
    let module = || py.import("mangrovedb._progress");
    let shown = match wish {
        Some(callable) if callable.is_callable() => return Ok(Some(callable.clone())),
        Some(wish) => wish.is_truthy()?,
        None => module()?.call_method0("on_a_terminal")?.is_truthy()?,
    };
    if shown { module()?.call_method0("Line").map(Some) } else { Ok(None) }
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
