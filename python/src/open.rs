//! How Python opens a database.

use std::path::PathBuf;

use mangrove::{CrewOptions, Durability, IdSpace, OpenOptions};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::database::{Database, choice};
use crate::errors::raised;
use crate::{interrupt, query};

/// Opens the database in the directory `path`. Creates the database if it does not exist. The path `":memory:"` gives a
/// new database that belongs to this process. Its files are temporary, and closing it deletes them.
///
/// * `read_only` — only read, and create nothing. Any number of processes can read beside the one that writes. Default:
///   `False`.
/// * `durability` — `"full"` (the default): a commit is on the disk when it returns. `"relaxed"`: a commit goes to the
///   operating system and does not wait for the disk. It survives a crash of the process. A crash of the *system* or a
///   power failure may lose the last commits and damage the database. Use it for data that you can load again.
/// * `id_space` — the id space of a new database. `"graph"` (the default): an id names one vertex. `"label"`: an id is
///   unique within its label, and `T.id` is `Label/id`. A database that exists must have the id space you ask for.
/// * `seal_mb` — when changes take this many megabytes, compress them in the background. Others read and write
///   meanwhile. Default: 64; 0 for never. If it fails, `stats()["sealing_error"]` says why, and it is tried again
///   later.
/// * `verify_mb` — verify the file of the changes, `data.mdb`, while opening, if it has no more megabytes than this.
///   That takes about 0.2 s for 256 MB. Default: 256; 0 for never. `check()` always verifies the file.
/// * `stream_timeout` — end an unfinished stream after this many seconds, even if nobody reads it. What it held can
///   then be used again. A stream with a timeout of its own keeps that one. Default: no limit.
/// * `slow_query` — log each query that takes at least this many seconds, as a warning of the logger `mangrovedb`. The
///   record has the query's text, its time and the number of its results, and no parameters. Default: log none.
///
/// >>> with mg.open("fresh.mg") as fresh:
/// ...     fresh.query("g.addV('person').property(id, 'ada').id()").one()
/// 'ada'
/// >>> mg.open("fresh.mg", read_only=True).query("g.V().count()").one()
/// 1
///
/// Advanced: `workers` threads help heavy queries, beside the threads that run them. Default: one less than the machine
/// has cores, but at least one. Workers belong to regions of `region_workers` threads each (default 4). `pin=True`
/// keeps each worker on a core of its own (default `False`). `steal=False` keeps workers from taking work of other
/// regions (default `True`).
#[pyfunction]
#[pyo3(signature = (path, read_only=false, durability="full", id_space=None, *, seal_mb=64.0, verify_mb=256.0, stream_timeout=None, workers=None, region_workers=4, pin=false, steal=true, slow_query=None))]
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
    slow_query: Option<f64>,
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
        ..OpenOptions::default()
    };
    let stream_timeout = query::seconds("stream_timeout", stream_timeout)?;
    let region_workers = threads("region_workers", region_workers, 1)?;
    let workers = workers.map(|workers| threads("workers", workers, 0)).transpose()?;
    let crew = CrewOptions {
        workers: workers.unwrap_or(CrewOptions::default().workers),
        region_workers,
        pin,
        steal,
        ..CrewOptions::default()
    };
    let inner = raised(py.detach(|| mangrove::Database::open_with(&path, &options)))?;
    let inner = if crew == CrewOptions::default() { inner } else { inner.with_crew(crew) };
    let inner = match query::seconds("slow_query", slow_query)? {
        Some(after) => inner.with_slow_log(after, log_slow),
        None => inner,
    };
    Ok(Database::new(inner, path, stream_timeout))
}

/// Opens a graph in open files, and queries them in place. `path` names the file `NAME.graph.yml` of a directory in the format of
/// Apache GraphAr, or a mapping of plain Parquet tables (`mangrove docs lake`). Nothing is loaded: a query reads the pages that it
/// needs. The graph cannot be written.
///
/// `cache` is the directory of indexes of edges, which are made where no file lists the edges of a vertex. Default: the one that
/// the environment variable MANGROVE_CACHE names, or `mangrove` in the user's directory of caches. `cache_mb` bounds it;
/// indexes that were not used for longest go first. Default: 10,000. `pages_mb` keeps pages of files in a store there, too, up
/// to so many megabytes. Default: what MANGROVE_PAGES_MB says, or none.
///
/// >>> db.export("shop", "graphar")
/// {'vertices': 5, 'edges': 6}
/// >>> shop = mg.open_lake("shop/shop.graph.yml")
/// >>> shop.query("g.V().hasLabel('airport').count()").one()
/// 4
#[pyfunction]
#[pyo3(signature = (path, *, cache=None, cache_mb=None, pages_mb=None))]
pub fn open_lake(
    py: Python<'_>,
    path: PathBuf,
    cache: Option<PathBuf>,
    cache_mb: Option<f64>,
    pages_mb: Option<f64>,
) -> PyResult<Database> {
    let cache_bytes_max = cache_mb.map(|given| megabytes("cache_mb", given)).transpose()?;
    let pages_bytes_max = pages_mb.map(|given| megabytes("pages_mb", given)).transpose()?;
    let options = mangrove::LakeOptions { cache, cache_bytes_max, pages_bytes_max };
    let inner = raised(py.detach(|| mangrove::Database::open_lake_with(&path, &options)))?;
    Ok(Database::new(inner, path, None))
}

/// Connects to a graph on many nodes. `address` names some of them, and the graph: `mangrove://host:7701,other:7701/air`. The nodes
/// tell of each other (`mangrove docs cluster`). Queries run in this process, and ask the nodes for what they read. A process
/// reads its own commits at once, and usually those of others within 100 ms. If the nodes read a lake, the graph cannot be
/// written (`mangrove docs lake`).
///
/// * `stream_timeout` and `slow_query` are those of `open`.
///
/// >>> mg.connect("mangrove://127.0.0.1:1/air")
/// Traceback (most recent call last):
/// mangrovedb.OpenError: cannot reach the node at 127.0.0.1:1: Connection refused (os error 111). Try again
#[pyfunction]
#[pyo3(signature = (address, *, stream_timeout=None, slow_query=None))]
pub fn connect(py: Python<'_>, address: String, stream_timeout: Option<f64>, slow_query: Option<f64>) -> PyResult<Database> {
    let stream_timeout = query::seconds("stream_timeout", stream_timeout)?;
    let inner = raised(py.detach(|| mangrove::Database::connect(&address)))?;
    let inner = match query::seconds("slow_query", slow_query)? {
        Some(after) => inner.with_slow_log(after, log_slow),
        None => inner,
    };
    Ok(Database::new(inner, address.into(), stream_timeout))
}

/// Proposes a mapping for the Parquet files of a folder, here or in an object store (`s3://…`), from their footers. Returns its
/// text. Read it, change what is wrong, write it to a file, and give that to `open_lake`.
///
/// >>> import os, pyarrow as pa, pyarrow.parquet as pq
/// >>> os.mkdir("tables")
/// >>> pq.write_table(pa.table({"id": [1, 2], "name": ["Ann", "Ben"]}), "tables/person.parquet")
/// >>> pq.write_table(pa.table({"src": [1], "dst": [2]}), "tables/knows.parquet")
/// >>> print(mg.propose_mapping("tables").split("nodes:")[1])
/// <BLANKLINE>
///   - file: person.parquet    # 2 vertices
///     label: person
///     id: id
///     # further columns: name (Utf8)
/// edges:
///   - file: knows.parquet    # 1 edge
///     label: knows
///     source: src
///     source_label: person
///     target: dst
///     target_label: person
/// <BLANKLINE>
#[pyfunction]
pub fn propose_mapping(py: Python<'_>, folder: PathBuf) -> PyResult<String> {
    raised(py.detach(|| mangrove::propose_mapping(&folder.to_string_lossy()).map_err(mangrove::OpenError::from)))
}

/// Tells the logger `mangrovedb` of a slow query.
fn log_slow(slow: &mangrove::SlowQuery) {
    let message = slow.to_string();
    let logged = interrupt::with_python(move |py| {
        let logger = py.import("logging")?.call_method1("getLogger", ("mangrovedb",))?;
        logger.call_method1("warning", ("%s", message)).map(|_| ())
    });
    // A handler that fails must not make the query fail. The logging module reports such errors itself.
    drop(logged);
}

/// Megabytes as bytes.
fn megabytes(argument: &str, given: f64) -> PyResult<u64> {
    match given {
        0.0..1e12 => Ok((given * 1e6) as u64),
        _ => Err(PyValueError::new_err(format!("{argument} must be a number of megabytes, 0 or more, not {given}"))),
    }
}

/// A number of threads that a machine can bear.
fn threads(argument: &str, given: i64, least: usize) -> PyResult<usize> {
    const MOST: usize = 1024;
    let fitting = usize::try_from(given).ok().filter(|threads| (least..=MOST).contains(threads));
    fitting.ok_or_else(|| PyValueError::new_err(format!("{argument} must be a number from {least} to {MOST}, not {given}")))
}
