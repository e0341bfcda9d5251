//! Regular path queries on a database: as a call, and as the procedure `mangrove.paths`.

use std::sync::{Arc, Mutex, PoisonError};

use mangrove_graph::{Elements, GraphView, Map, PropertyColumn, Value, VertexId, record};
use mangrove_query::paths::{KeptLists, PathAnswer, PathOptions, PathQuery};
use mangrove_query::procedure::{Failure, Invocation, Procedure, Values};

use crate::backend::{BackendView, read_view};
use crate::error::QueryError;
use crate::memory::Memory;
use crate::results::Results;
use crate::{Database, Parameters, QueryOptions};

/// The most bytes of lists that are kept for further queries.
const KEPT_BYTES_MAX: usize = 512 << 20;

/// What path queries have read of the last commit, with its version. A query takes it out and puts it back.
#[derive(Default)]
pub struct KeptPaths(Mutex<Option<(u64, KeptLists)>>);

impl KeptPaths {
    fn take(&self, version: Option<u64>) -> KeptLists {
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
        kept.filter(|(of, _)| version == Some(*of)).map(|(_, lists)| lists).unwrap_or_default()
    }

    fn put(&self, version: Option<u64>, lists: KeptLists) {
        if let Some(version) = version.filter(|_| (1..=KEPT_BYTES_MAX).contains(&lists.bytes())) {
            *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some((version, lists));
        }
    }
}

/// Rows whose ids are read together.
const ROWS_AT_ONCE: usize = 8192;

impl Database {
    /// Finds the vertices that are joined by paths whose edge labels match regular expressions. The language is that of
    /// [`mangrove_query::paths`]. Returns a row for each answer, once, as a map from variables to the ids of vertices; and warnings,
    /// of names that the graph does not have.
    ///
    /// ```
    /// # let directory = tempfile::tempdir()?;
    /// # let path = directory.path().join("people.mg");
    /// use mangrove::{Database, Parameters, QueryOptions, json};
    ///
    /// let (none, options) = (Parameters::new(), QueryOptions::default());
    /// let db = Database::open(&path)?;
    /// db.query("g.addV('n').property(id, 'a').as('a').addV('n').property(id, 'b').addE('knows').from('a')", &none, &options)?;
    /// let (found, _) = db.paths("?x knows+ ?y", &none, &options)?;
    /// assert_eq!(json::to_string(&found.get(0)), r#"{"x":"a","y":"b"}"#);
    /// assert_eq!(db.count_paths("?x knows* ?y", &none, &options)?.0, 3);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// If the text cannot be read, a parameter is missing, or the limits in `options` are exceeded.
    pub fn paths(
        &self,
        text: &str,
        parameters: &Parameters,
        options: &QueryOptions,
    ) -> Result<(Results, Vec<String>), QueryError> {
        self.guarded(&|| format!("finding paths {text}"), || {
            let mut watch = self.watch(text);
            let query = PathQuery::parse(text)?;
            let (view, answer) = self.answered(&query, parameters, options, false)?;
            let results = rows(&*view, query.names(), &answer, &mut Memory::new(options))?;
            watch.iter_mut().for_each(|watch| watch.all_given(answer.rows));
            Ok((results, answer.warnings))
        })
    }

    /// Counts the rows of [`paths`](Self::paths) without making them.
    pub fn count_paths(
        &self,
        text: &str,
        parameters: &Parameters,
        options: &QueryOptions,
    ) -> Result<(u64, Vec<String>), QueryError> {
        self.guarded(&|| format!("counting paths {text}"), || {
            let mut watch = self.watch(text);
            let (_, answer) = self.answered(&PathQuery::parse(text)?, parameters, options, true)?;
            watch.iter_mut().for_each(|watch| watch.all_given(1));
            Ok((answer.rows, answer.warnings))
        })
    }

    /// The answer of a query, with the view that it is of.
    fn answered(
        &self,
        query: &PathQuery,
        parameters: &Parameters,
        options: &QueryOptions,
        counts: bool,
    ) -> Result<(Box<dyn BackendView>, PathAnswer), QueryError> {
        let limits = options.read_context();
        let options = PathOptions { limits: limits.clone(), counts, ..PathOptions::default() };
        let (mut answer, view) = read_view(self.backend(), Some(&limits), |view| {
            let version = view.version();
            let mut kept = self.kept_paths().take(version);
            let answer = query.run_keeping(view, parameters, &options, &mut kept);
            self.kept_paths().put(version, kept);
            Ok::<_, QueryError>(answer?)
        })?;
        answer.warnings.append(&mut unused(query, parameters));
        Ok((view, answer))
    }
}

/// Warnings of parameters that a query does not have.
fn unused(query: &PathQuery, parameters: &Parameters) -> Vec<String> {
    let unused = parameters.keys().filter(|name| !query.parameters().any(|known| known == name.as_str()));
    let mut unused: Vec<String> =
        unused.map(|name| format!("the query has no parameter `${name}`, so its value is not used")).collect();
    unused.sort_unstable();
    unused
}

/// The ids of the vertices of an answer, as a map for each row.
fn rows(view: &dyn GraphView, names: &[Arc<str>], answer: &PathAnswer, memory: &mut Memory) -> Result<Results, QueryError> {
    let mut results = Results::default();
    if answer.rows == 0 {
        // Columns have their names all the same.
        let none = names.iter().map(|name| (Value::String(name.clone()), PropertyColumn::Absent(0)));
        results.add_maps(0, none.collect(), memory)?;
    }
    for start in (0..answer.rows as usize).step_by(ROWS_AT_ONCE) {
        let end = (start + ROWS_AT_ONCE).min(answer.rows as usize);
        let mut columns = Vec::with_capacity(names.len());
        for (name, vertices) in names.iter().zip(&answer.columns) {
            let ids = record::ids(view, Elements::Vertices(&vertices[start..end]))?;
            columns.push((Value::String(name.clone()), ids));
        }
        results.add_maps(end - start, columns, memory)?;
    }
    Ok(results)
}

/// The name of the procedure.
pub const NAME: &str = "mangrove.paths";

/// `g.call('mangrove.paths').with('query', '?x knows+ ?y')`: a map for each row, with the vertices themselves.
pub fn procedure() -> Procedure {
    Procedure::new(call)
        .describe(
            "the vertices that are joined by paths whose edge labels match: a map from variables to vertices for each row",
        )
        .parameter("query", "a regular path query, such as \"?x knows+/likes ?y\"")
        .parameter("parameters", "the values of its parameters, as a map; default: none")
}

fn call(call: &Invocation<'_>) -> Result<Values, Failure> {
    let text = call.parameter("query").and_then(Value::as_str).ok_or("`query` is a text such as \"?x knows+ ?y\"")?;
    let mut parameters = Parameters::new();
    match call.parameter("parameters") {
        None => {}
        Some(Value::Map(given)) => {
            for (name, value) in given.iter() {
                let name = name.as_str().ok_or("the names in `parameters` are texts")?;
                parameters.insert(name.to_owned(), value.clone());
            }
        }
        Some(other) => return Err(format!("`parameters` is a map from names to values, not {other}").into()),
    }
    let query = PathQuery::parse(text).map_err(|error| error.render())?;
    let options = PathOptions { limits: call.limits.clone(), ..PathOptions::default() };
    let answer = query.run(call.graph, &parameters, &options)?;
    call.warnings.borrow_mut().extend(answer.warnings.into_iter().chain(unused(&query, &parameters)));
    let names: Vec<Arc<str>> = query.names().to_vec();
    let row = move |at: usize| {
        let vertex = |column: &Vec<VertexId>| Value::Vertex(column[at]);
        let entries = names.iter().map(|name| Value::String(name.clone())).zip(answer.columns.iter().map(vertex));
        Ok(Value::map(Map::from_distinct(entries.collect())))
    };
    Ok(Box::new((0..answer.rows as usize).map(row)))
}
