//! What each tool does.

use std::time::Duration;

use mangrove::{CancelToken, Database, Parameters, QueryOptions, json};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value as Json, json};

use crate::search;

/// What a client may do, and what bounds it.
#[derive(Clone, Debug)]
pub struct Allowed {
    /// Queries may change the graph.
    pub writes: bool,
    /// The longest time of a query.
    pub timeout: Duration,
    /// The most bytes that a query may hold.
    pub memory_bytes_max: usize,
    /// The most results of a query.
    pub results_max: usize,
    /// The most bytes of the results of a query, as JSON.
    pub bytes_max: usize,
}

impl Default for Allowed {
    fn default() -> Self {
        Self {
            writes: false,
            timeout: Duration::from_secs(30),
            memory_bytes_max: QueryOptions::default().memory_bytes_max / 4,
            results_max: 1000,
            bytes_max: 100_000,
        }
    }
}

/// The results of a query, if it asks for no other number.
const RESULTS: usize = 100;

/// A tool: its name, what it does, and the JSON schema of its arguments.
pub struct Tool {
    pub name: &'static str,
    pub about: &'static str,
    pub arguments: fn() -> Json,
    pub run: fn(&Call<'_>, Map<String, Json>) -> Result<Json, String>,
}

pub const TOOLS: [Tool; 4] = [
    Tool {
        name: "schema",
        about: "The labels of vertices and edges with their counts and properties, the ends of edges, and the indexes. Look here first.",
        arguments: || json!({"type": "object", "properties": {}, "additionalProperties": false}),
        run: schema,
    },
    Tool {
        name: "query",
        about: "Runs a query in Gremlin (gremlin-lang) and gives its results. Use limit() and aggregates: results are cut off.",
        arguments: || {
            json!({"type": "object", "required": ["gremlin"], "additionalProperties": false, "properties": {
                "gremlin": {"type": "string", "description": "For example g.V().has('person', 'name', x).out('knows').values('name')"},
                "parameters": {"type": "object", "description": "Values of the variables of the query, such as x"},
                "limit": {"type": "integer", "minimum": 1, "description": "At most so many results; 100 if it is not given"},
            }})
        },
        run: query,
    },
    Tool {
        name: "explain",
        about: "Shows how a Gremlin query would run: its plan, and what it would read. It does not run.",
        arguments: || {
            json!({"type": "object", "required": ["gremlin"], "additionalProperties": false, "properties": {
                "gremlin": {"type": "string"},
                "parameters": {"type": "object", "description": "Values of the variables of the query"},
            }})
        },
        run: explain,
    },
    Tool {
        name: "search",
        about: "Finds vertices that have a text in one of their properties. Case counts.",
        arguments: || {
            json!({"type": "object", "required": ["text"], "additionalProperties": false, "properties": {
                "text": {"type": "string", "minLength": 1},
                "label": {"type": "string", "description": "Only vertices with this label"},
                "limit": {"type": "integer", "minimum": 1, "description": "At most so many vertices; 100 if it is not given"},
            }})
        },
        run: search,
    },
];

/// A call of a tool.
pub struct Call<'d> {
    pub database: &'d Database,
    pub allowed: &'d Allowed,
    /// Stops the query.
    pub cancel: CancelToken,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Asked {
    gremlin: String,
    #[serde(default)]
    parameters: Map<String, Json>,
    limit: Option<usize>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Sought {
    text: String,
    label: Option<String>,
    limit: Option<usize>,
}

fn read<T: DeserializeOwned>(arguments: Map<String, Json>) -> Result<T, String> {
    serde_json::from_value(Json::Object(arguments)).map_err(|error| format!("the arguments: {error}"))
}

fn parameters(given: &Map<String, Json>) -> Parameters {
    given.iter().map(|(name, value)| (name.clone(), json::value(value))).collect()
}

impl Call<'_> {
    fn options(&self) -> QueryOptions {
        let Allowed { timeout, memory_bytes_max, .. } = *self.allowed;
        QueryOptions { timeout: Some(timeout), cancel: self.cancel.clone(), memory_bytes_max, ..QueryOptions::default() }
    }

    /// The first results of a query, and whether there are more.
    fn results(&self, gremlin: &str, parameters: &Parameters, limit: Option<usize>) -> Result<Json, String> {
        let most = limit.unwrap_or(RESULTS).min(self.allowed.results_max);
        let failed = |error: mangrove::QueryError| error.render();
        let mut results = self.database.query(gremlin, parameters, &self.options()).map_err(failed)?;
        let (mut shown, mut bytes, mut is_cut) = (Vec::new(), 0, false);
        'all: while let Some(some) = results.next_described().map_err(failed)? {
            for result in &some {
                let text = json::to_string(result);
                bytes += text.len();
                is_cut = shown.len() == most || bytes > self.allowed.bytes_max;
                if is_cut {
                    break 'all;
                }
                shown.push(serde_json::from_str(&text).unwrap_or(Json::String(text)));
            }
        }
        let mut answer = json!({"results": shown, "truncated": is_cut});
        if is_cut {
            answer["note"] = "there are more results, or larger ones: use limit(), count() or fewer properties".into();
        }
        if !results.warnings().is_empty() {
            answer["warnings"] = results.warnings().to_vec().into();
        }
        Ok(answer)
    }
}

fn schema(call: &Call<'_>, arguments: Map<String, Json>) -> Result<Json, String> {
    if let Some(name) = arguments.keys().next() {
        return Err(format!("this tool takes no argument, but {name:?} is given"));
    }
    let mut about = mangrove::about::about(call.database).map_err(|error| error.to_string())?;
    about["edgesBetween"] = search::ends(call.database).map_err(|error| error.to_string())?;
    // Sizes and compressed parts say nothing about the graph.
    for key in ["diskBytes", "segmentBytes", "segments", "freeBytes", "oldestSnapshot", "segment"] {
        about.as_object_mut().map(|about| about.remove(key));
    }
    Ok(about)
}

fn query(call: &Call<'_>, arguments: Map<String, Json>) -> Result<Json, String> {
    let asked: Asked = read(arguments)?;
    if !call.allowed.writes && call.database.writes(asked.gremlin.as_str()).map_err(|error| error.render())? {
        return Err("the query would change the graph, and this server only reads: nothing was done".into());
    }
    call.results(&asked.gremlin, &parameters(&asked.parameters), asked.limit)
}

fn explain(call: &Call<'_>, arguments: Map<String, Json>) -> Result<Json, String> {
    let asked: Asked = read(arguments)?;
    let plan = call.database.explain(asked.gremlin.as_str(), &parameters(&asked.parameters), &call.options());
    Ok(json!({"plan": plan.map_err(|error| error.render())?.to_string()}))
}

fn search(call: &Call<'_>, arguments: Map<String, Json>) -> Result<Json, String> {
    let Sought { text, label, limit } = read(arguments)?;
    let most = limit.unwrap_or(RESULTS).min(call.allowed.results_max);
    match search::query(call.database, label.as_deref(), most)? {
        Some(gremlin) => call.results(&gremlin, &[("text".to_owned(), text.as_str().into())].into_iter().collect(), limit),
        None => Ok(json!({"results": [], "truncated": false, "note": "no vertex has a property with text"})),
    }
}
