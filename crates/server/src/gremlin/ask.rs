//! What a request asks for, once its arguments are checked.

use std::borrow::Cow;
use std::time::Duration;

use mangrove::graph::Map;
use mangrove::{Database, Parameters, Value};
use mangrove_query::QueryError;
use mangrove_query::gremlin::{read_parameters, statements};

use super::Gremlin;
use super::batches::Wanted;
use super::refused::Refused;
use super::run::Run;
use crate::status::Status;
use crate::users::Role;
use crate::wire::{Request, Script, Sent};

/// The results of a batch, if a request asks for no other number.
const BATCH: usize = 64;
const BATCH_MAX: usize = 10_000;

pub enum Ask {
    Run { session: Option<String>, run: Box<Run> },
    Close { session: String },
}

impl Ask {
    pub fn of(request: Request, gremlin: &Gremlin) -> Result<Self, Refused> {
        let Request { id: _, op, processor, bytecode, args, values: _ } = request;
        let session = match processor.as_str() {
            "" | "traversal" => None,
            "session" => match text(&args, "session") {
                Some(name) => Some(name.to_owned()),
                None => return Err(wrong("a request to the processor `session` names its `session`")),
            },
            other => {
                return Err(malformed(format!("there is no processor {other:?}: use \"\", \"traversal\" or \"session\"")));
            }
        };
        match (op.as_str(), session) {
            ("close", Some(session)) => Ok(Self::Close { session }),
            ("close", None) => Err(malformed("only a session can be closed")),
            ("eval" | "bytecode", session) => Ok(Self::Run { session, run: Box::new(run(gremlin, &op, bytecode, &args)?) }),
            (other, _) => {
                Err(malformed(format!("there is no operation {other:?}: use \"eval\", \"bytecode\" or \"close\"")))
            }
        }
    }

    /// The same, if a role may ask for it.
    pub fn allowed(self, role: Role) -> Result<Self, Refused> {
        match &self {
            Self::Run { run, .. } if run.writes() && role < Role::Write => {
                let message = "you may read, but not write: ask whoever runs the server for the role `write`";
                Err(Refused::new(Status::Forbidden, message))
            }
            _ => Ok(self),
        }
    }
}

fn run(
    gremlin: &Gremlin,
    op: &str,
    bytecode: Option<Result<Sent, mangrove_query::QueryError>>,
    args: &Map,
) -> Result<Run, Refused> {
    let source = source(args)?;
    let Some((source, database)) = gremlin.database(source.as_deref()) else {
        let source = source.unwrap_or_default();
        return Err(wrong(format!("there is no traversal source named {source:?}: this server has {}", gremlin.sources())));
    };
    let sent = match (op, bytecode, text(args, "gremlin")) {
        (_, Some(sent), _) => sent.map_err(|error| Refused::of(&error.into()))?,
        ("eval", None, Some(text)) => read(database, text)?,
        ("eval", ..) => return Err(wrong("`gremlin` is the text of the query")),
        _ => return Err(wrong("`gremlin` is the bytecode of the query")),
    };
    if let Some(language) = text(args, "language")
        && !matches!(language, "gremlin-lang" | "gremlin-groovy")
    {
        return Err(wrong(format!("queries are in gremlin-lang, not in {language:?}")));
    }
    let limits = &gremlin.limits;
    Ok(Run {
        sent,
        source: source.clone(),
        database: database.clone(),
        parameters: parameters(args)?,
        timeout: limits.timeout(timeout(args)?),
        memory_bytes_max: limits.memory_bytes_max,
        wanted: Wanted {
            batch: Some(batch(args)?),
            bytes_max: limits.response_bytes_max,
            as_traversers: op == "bytecode" || args.get_str("bulkResults") == Some(&Value::Bool(true)),
            with_properties: text(args, "materializeProperties") != Some("tokens"),
        },
        is_managed: args.get_str("manageTransaction") == Some(&Value::Bool(true)),
    })
}

/// Drivers of Java send an empty text to see whether the server answers.
fn read(database: &Database, text: &str) -> Result<Sent, Refused> {
    let text = text.trim().trim_end_matches(';').trim_end();
    let text = if matches!(text, "" | "''" | "\"\"") { "g.inject()" } else { text };
    if let Some(end) = Sent::end_of_transaction(text) {
        return Ok(end);
    }
    let error = match database.prepare(text) {
        Ok(query) => return Ok(Sent::Query(query)),
        Err(error) => error,
    };
    match statements(text) {
        Ok(several) if several.len() > 1 => {
            let prepared = several
                .into_iter()
                .enumerate()
                .map(|(at, statement)| database.prepare(statement).map_err(|error| Refused::of(&error).in_statement(at)));
            let queries = prepared.collect::<Result<_, _>>()?;
            Ok(Sent::Script(Script { text: text.into(), queries }))
        }
        Ok(_) => Err(Refused::of(&error)),
        Err(error) => Err(Refused::of(&QueryError::from(error).in_text(&text.into()).into())),
    }
}

/// The traversal source that stands for `g`.
fn source(args: &Map) -> Result<Option<String>, Refused> {
    // Drivers of TinkerPop 4 name the source itself.
    if let Some(name) = text(args, "g") {
        return Ok(Some(name.to_owned()));
    }
    let alias = match args.get_str("aliases") {
        None | Some(Value::Null) => return Ok(None),
        Some(Value::Map(aliases)) if aliases.is_empty() => return Ok(None),
        Some(Value::Map(aliases)) => aliases.get_str("g").or_else(|| aliases.iter().next().map(|(_, name)| name)),
        Some(Value::String(text)) if text.is_empty() => return Ok(None),
        Some(_) => None,
    };
    match alias {
        Some(Value::String(name)) => Ok(Some(name.to_string())),
        _ => Err(wrong("`aliases` is a map from g to the name of a traversal source")),
    }
}

fn parameters(args: &Map) -> Result<Parameters, Refused> {
    let written;
    let bindings = match args.get_str("bindings").or_else(|| args.get_str("parameters")) {
        None | Some(Value::Null) => return Ok(Parameters::new()),
        Some(Value::Map(bindings)) => bindings,
        // As drivers of TinkerPop 4 send them.
        Some(Value::String(text)) => {
            written = read_parameters(text).map_err(|error| wrong(format!("`parameters`: {}", error.message)))?;
            &written
        }
        Some(_) => return Err(wrong("`bindings` is a map from names to values")),
    };
    let binding = |(name, value): &(Value, Value)| match name {
        Value::String(name) => Ok((name.to_string(), value.clone())),
        _ => Err(wrong("the keys of `bindings` are strings")),
    };
    bindings.iter().map(binding).collect()
}

/// The longest time that the request allows, in milliseconds; 0 for no limit of its own.
fn timeout(args: &Map) -> Result<Option<Duration>, Refused> {
    const NAMES: [&str; 3] = ["evaluationTimeout", "scriptEvaluationTimeout", "timeoutMillis"];
    let asked = NAMES.iter().find_map(|name| args.get_str(name));
    match asked.filter(|asked| !matches!(asked, Value::Null)).map(Value::as_i64) {
        None => Ok(None),
        Some(Some(millis)) => {
            let millis = u64::try_from(millis).map_err(|_| wrong("`evaluationTimeout` is not negative"))?;
            Ok(Some(Duration::from_millis(millis)).filter(|timeout| !timeout.is_zero()))
        }
        Some(None) => Err(wrong("`evaluationTimeout` is a number of milliseconds")),
    }
}

fn batch(args: &Map) -> Result<usize, Refused> {
    match args.get_str("batchSize").filter(|size| !matches!(size, Value::Null)).map(Value::as_i64) {
        None => Ok(BATCH),
        Some(Some(size)) if size > 0 => Ok(usize::try_from(size).unwrap_or(BATCH_MAX).min(BATCH_MAX)),
        Some(_) => Err(wrong("`batchSize` is a number of results, at least 1")),
    }
}

fn text<'a>(args: &'a Map, name: &str) -> Option<&'a str> {
    match args.get_str(name) {
        Some(Value::String(text)) => Some(text),
        _ => None,
    }
}

fn wrong(message: impl Into<Cow<'static, str>>) -> Refused {
    Refused::new(Status::InvalidArguments, message)
}

fn malformed(message: impl Into<Cow<'static, str>>) -> Refused {
    Refused::new(Status::MalformedRequest, message)
}
