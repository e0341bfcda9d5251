//! Procedures: functions that a query runs with `call('name')`.
//!
//! A [`Procedure`] maps parameters and the value of a traverser to further values. [`Procedures`] are those that a query may call.
//! Some are built in (`built_in`); the host registers others. They read the graph and do not change it.

mod built_in;

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::error::Error;
use std::fmt;
use std::sync::{Arc, OnceLock};

use mangrove_graph::{GraphView, Map, ReadContext, Value};

use crate::diagnostics::suggest;
use crate::error::{QueryError, QueryErrorKind, Result};

/// The procedure that lists the others. `call()` without a name runs it.
pub const LIST: &str = "--list";
/// The prefix of the names of built-in procedures.
pub const RESERVED_PREFIX: &str = "mangrove.";

/// What to do about a procedure that other databases have.
const USE_ANALYZE: &str = "use steps such as pageRank(), or g.call('mangrove.pagerank'), 'mangrove.wcc' or another algorithm (g.call() lists them), or db.analyze in Python";

/// Whether a procedure of this name would compute an algorithm of Gremlin's own steps, in any spelling.
fn is_algorithm(name: &str) -> bool {
    let plain: String = name.chars().filter(char::is_ascii_alphanumeric).map(|c| c.to_ascii_lowercase()).collect();
    ["pagerank", "peerpressure", "connectedcomponent", "shortestpath"].iter().any(|algorithm| plain.contains(algorithm))
}

/// What a list says about each procedure.
const DESCRIBED: [&str; 3] = ["name", "description", "params"];

/// Why a procedure failed.
pub type Failure = Box<dyn Error + Send + Sync>;

/// The values of a procedure. The query pulls them one by one, and only as far as it needs.
pub type Values = Box<dyn Iterator<Item = Result<Value, Failure>> + Send>;

type Run = dyn Fn(&Invocation<'_>) -> Result<Values, Failure> + Send + Sync;

/// One call of a procedure.
pub struct Invocation<'a> {
    /// The graph as the query sees it.
    pub graph: &'a dyn GraphView,
    pub parameters: &'a Map,
    /// The value of the traverser; `None` if the call starts the query.
    pub input: Option<&'a Value>,
    /// What the query may use. A long procedure should check it now and then.
    pub limits: ReadContext,
    /// Add to these what the user most likely did not mean. They become warnings of the query.
    pub warnings: &'a RefCell<Vec<String>>,
}

impl Invocation<'_> {
    pub fn parameter(&self, name: &str) -> Option<&Value> {
        self.parameters.get_str(name)
    }
}

/// A procedure for `call`.
///
/// ```
/// use mangrove_query::procedure::Procedure;
/// use mangrove_graph::Value;
///
/// let countdown = Procedure::new(|call| {
///     let from = call.parameter("from").and_then(Value::as_i64).ok_or("`from` is an integer")?;
///     Ok(Box::new((0..=from).rev().map(|n| Ok(Value::Int64(n)))))
/// });
/// let countdown = countdown.describe("counts down to zero").parameter("from", "the first number");
/// ```
#[derive(Clone)]
pub struct Procedure {
    description: String,
    parameters: Vec<(String, String)>,
    /// The keys of the maps that it gives; `None` if it may give other values.
    columns: Option<Vec<Arc<str>>>,
    run: Arc<Run>,
}

impl Procedure {
    pub fn new(run: impl Fn(&Invocation<'_>) -> Result<Values, Failure> + Send + Sync + 'static) -> Self {
        Self { description: String::new(), parameters: Vec::new(), columns: None, run: Arc::new(run) }
    }

    /// Sets the description that lists of procedures show.
    pub fn describe(mut self, description: impl Into<String>) -> Self {
        self.description = description.into();
        self
    }

    /// Adds a parameter with a description. If a procedure names its parameters, calls with other parameters get a warning.
    pub fn parameter(mut self, name: impl Into<String>, description: impl Into<String>) -> Self {
        self.parameters.push((name.into(), description.into()));
        self
    }

    /// Says that all its values are maps with these keys. Then results of a call have these columns.
    pub fn columns(mut self, keys: impl IntoIterator<Item = impl Into<Arc<str>>>) -> Self {
        self.columns = Some(keys.into_iter().map(Into::into).collect());
        self
    }

    pub(crate) fn call(&self, invocation: &Invocation<'_>) -> Result<Values, Failure> {
        let values = (self.run)(invocation)?;
        let Some(columns) = self.columns.clone() else { return Ok(values) };
        Ok(Box::new(values.map(move |value| value.and_then(|value| fits(&columns, &value).map(|()| value)))))
    }

    /// The first given parameter that is not among the named ones, and the name it may mean.
    pub(crate) fn unknown_parameter<'a>(&'a self, given: &'a Map) -> Option<(&'a str, Option<&'a str>)> {
        let known = || self.parameters.iter().map(|(name, _)| name.as_str());
        let stranger = given.iter().filter_map(|(name, _)| name.as_str()).find(|name| known().all(|k| k != *name))?;
        (!self.parameters.is_empty()).then(|| (stranger, suggest(stranger, known())))
    }

    fn described(&self, name: &str) -> Value {
        let parameters =
            self.parameters.iter().map(|(name, description)| (name.as_str().into(), description.as_str().into()));
        Value::map(Map::from_distinct(vec![
            (DESCRIBED[0].into(), name.into()),
            (DESCRIBED[1].into(), self.description.as_str().into()),
            (DESCRIBED[2].into(), Value::map(Map::from_distinct(parameters.collect()))),
        ]))
    }
}

/// Whether a value is a map with no other keys than these.
fn fits(columns: &[Arc<str>], value: &Value) -> Result<(), Failure> {
    let named = columns.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
    let Value::Map(map) = value else {
        return Err(format!("it must give maps, because it names its columns ({named}), but gave {value}").into());
    };
    let is_known = |key: &Value| key.as_str().is_some_and(|key| columns.iter().any(|name| **name == *key));
    match map.iter().find(|(key, _)| !is_known(key)) {
        Some((key, _)) => {
            Err(format!("it gave a map with the key `{key}`, which is not one of its columns ({named})").into())
        }
        None => Ok(()),
    }
}

impl fmt::Debug for Procedure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Procedure").field("description", &self.description).finish_non_exhaustive()
    }
}

/// The procedures a query may call, by name.
#[derive(Clone, Debug, Default)]
pub struct Procedures {
    by_name: BTreeMap<String, Procedure>,
}

impl Procedures {
    /// No procedures at all.
    pub fn none() -> Self {
        Self::default()
    }

    /// The procedures that every database has.
    pub fn built_in() -> &'static Arc<Self> {
        static BUILT_IN: OnceLock<Arc<Procedures>> = OnceLock::new();
        BUILT_IN.get_or_init(|| {
            let by_name = built_in::all().into_iter().map(|(name, procedure)| (name.to_owned(), procedure));
            Arc::new(Self { by_name: by_name.collect() })
        })
    }

    /// Adds a procedure, or replaces the one of that name.
    pub fn insert(&mut self, name: impl Into<String>, procedure: Procedure) {
        self.by_name.insert(name.into(), procedure);
    }

    /// Removes a procedure. Returns whether there was one.
    pub fn remove(&mut self, name: &str) -> bool {
        self.by_name.remove(name).is_some()
    }

    pub fn get(&self, name: &str) -> Option<&Procedure> {
        self.by_name.get(name)
    }

    /// The keys of the maps that a procedure gives, if it names them.
    pub(crate) fn columns(&self, name: &str, verbose: bool) -> Option<Vec<Arc<str>>> {
        match name {
            LIST => verbose.then(|| DESCRIBED.map(Arc::from).to_vec()),
            _ => self.get(name)?.columns.clone(),
        }
    }

    /// Fails if there is no procedure of that name, and suggests the one it may mean.
    pub(crate) fn check(&self, name: &str) -> Result<()> {
        if name == LIST || self.by_name.contains_key(name) {
            return Ok(());
        }
        let known = self.by_name.keys().map(String::as_str).chain([LIST]);
        let error = QueryError::new(QueryErrorKind::Step, format!("there is no procedure `{name}`"));
        Err(match suggest(name, known) {
            Some(near) => error.help(format!("did you mean `{near}`?")),
            None if is_algorithm(name) => error.help(USE_ANALYZE),
            None => error.help("g.call() lists the procedures"),
        })
    }

    /// The results of [`LIST`]: the names, or with `verbose` everything known. `service` selects one procedure.
    pub(crate) fn list(&self, parameters: &Map) -> Vec<Value> {
        let wanted = parameters.get_str("service").and_then(Value::as_str);
        let verbose = parameters.get_str("verbose").and_then(Value::as_bool).unwrap_or(false);
        let listed = self.by_name.iter().filter(|(name, _)| wanted.is_none_or(|wanted| wanted == *name));
        listed.map(|(name, p)| if verbose { p.described(name) } else { name.as_str().into() }).collect()
    }
}
