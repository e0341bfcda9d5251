//! Executes what the user types: queries, commands of the shell, transactions and variables.

use std::path::{Path, PathBuf};
use std::sync::PoisonError;
use std::time::Instant;

use mangrove::graph::{ElementKind, GraphView, Value};

use super::super::output::{self, Format};
use super::super::query::elapsed;
use super::super::{Failure, counted, interrupt, open_reading, open_writing, say, stats, warn};
use super::editing::Names;
use mangrove::{Database, Parameters, QueryError, QueryOptions, Results, Transaction};

/// A session opens the database for writing only while a statement writes. So an open shell does not lock others out.
pub struct Session {
    path: PathBuf,
    read_only: bool,
    reader: Option<Database>,
    /// The transaction between `:begin` and its end.
    transaction: Option<Transaction>,
    variables: Parameters,
    /// Variables set since `:begin`. Their values may refer to elements that a rollback removes.
    unsure: Vec<String>,
    /// Labels and property keys of the graph.
    quoted: Names,
    format: Format,
    timing: bool,
}

/// Whether the shell continues.
#[derive(PartialEq)]
pub enum Next {
    GoOn,
    Leave,
}

/// A command of the shell, not of Gremlin.
pub(super) struct ShellCommand {
    pub name: &'static str,
    pub what: &'static str,
}

pub(super) const COMMANDS: [ShellCommand; 13] = [
    ShellCommand { name: "help", what: "lists what you can type" },
    ShellCommand { name: "schema", what: "shows labels, properties and indexes" },
    ShellCommand { name: "stats", what: "shows counts and sizes" },
    ShellCommand { name: "explain", what: ":explain g.V()… shows how a query would be run" },
    ShellCommand { name: "profile", what: ":profile g.V()… runs a query and shows what each step did" },
    ShellCommand { name: "begin", what: "begins a transaction: all that follows is stored together, or none of it" },
    ShellCommand { name: "commit", what: "stores all changes since :begin" },
    ShellCommand { name: "rollback", what: "undoes all changes since :begin" },
    ShellCommand { name: "format", what: ":format table|json|csv sets how results are shown" },
    ShellCommand { name: "index", what: ":index [--routed] LABEL KEY makes has(LABEL, KEY, …) fast" },
    ShellCommand { name: "timing", what: ":timing on|off shows or hides how long queries take" },
    ShellCommand { name: "quit", what: "leaves the shell, as exit and Ctrl-D do" },
    ShellCommand { name: "exit", what: "leaves the shell" },
];

/// Commands that work without their colon.
const BARE: [&str; 5] = ["help", "quit", "exit", "schema", "stats"];

fn wrong(message: impl Into<String>) -> Failure {
    Failure::Request(message.into())
}

impl Session {
    pub fn new(path: PathBuf, read_only: bool) -> Self {
        let (quoted, variables) = (Names::default(), Parameters::new());
        let unsure = Vec::new();
        Self {
            path,
            read_only,
            reader: None,
            transaction: None,
            variables,
            unsure,
            quoted,
            format: Format::Table,
            timing: true,
        }
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    pub fn names(&self) -> Names {
        self.quoted.clone()
    }

    pub fn show_times(&mut self, shown: bool) {
        self.timing = shown;
    }

    pub fn statement(&mut self, text: &str) -> Result<Next, Failure> {
        let text = text.trim().trim_end_matches(';').trim_end();
        match command(text) {
            _ if text.is_empty() => Ok(Next::GoOn),
            Some(("quit" | "exit" | "q", _)) => {
                self.leave();
                Ok(Next::Leave)
            }
            Some((name, rest)) => self.command(name, rest.trim()).map(|()| Next::GoOn),
            None => match assignment(text) {
                Some((name, query)) => self.assign(name, query).map(|()| Next::GoOn),
                None if text.starts_with("g.tx()") => Err(wrong("in the shell, :begin, :commit and :rollback do this")),
                None if self.variables.contains_key(text) => self.query(&format!("g.inject({text})")).map(|()| Next::GoOn),
                None => self.query(text).map(|()| Next::GoOn),
            },
        }
    }

    /// Rolls an open transaction back, and says so. Returns whether there was one.
    pub fn leave(&mut self) -> bool {
        let was_open = self.transaction.take().is_some();
        if was_open {
            say("the transaction was rolled back");
        }
        was_open
    }

    fn reader(&mut self) -> Result<Database, Failure> {
        let reader = self.reader.take().map_or_else(|| open_reading(&self.path), Ok)?;
        Ok(self.reader.insert(reader).clone())
    }

    /// The database for one statement.
    fn database(&mut self, writes: bool) -> Result<Database, Failure> {
        if !writes || self.read_only {
            return self.reader();
        }
        // The process cannot open a database for writing while it has it open read-only.
        self.reader = None;
        open_writing(&self.path)
    }

    fn query(&mut self, text: &str) -> Result<(), Failure> {
        let started = Instant::now();
        let rows = match self.transaction {
            Some(_) => output::print_results(&self.results(text)?, self.format)?,
            None => {
                let database = self.database(writes(text)?)?;
                let mut results = database.query(text, &self.variables_of(text)?, &options())?;
                let rows = output::print(&mut results, self.format)?;
                warn(results.warnings());
                rows
            }
        };
        if self.timing {
            say(&format!("{} in {}", counted(rows, "row", "rows"), elapsed(started.elapsed())));
        }
        self.refresh_names()
    }

    /// All results of a query. It runs in the transaction, if there is one.
    fn results(&mut self, text: &str) -> Result<Results, Failure> {
        let (variables, options) = (self.variables_of(text)?, options());
        if let Some(transaction) = &mut self.transaction {
            let done = transaction.query(text, &variables, &options);
            let results = done.and_then(|rows| {
                warn(&rows.warnings);
                transaction.results(&rows, &options)
            });
            return results.map_err(|error| self.of_transaction(error));
        }
        let database = self.database(writes(text)?)?;
        let mut stream = database.query(text, &variables, &options)?;
        let results = stream.results()?;
        warn(stream.warnings());
        Ok(results)
    }

    /// Handles an error within a transaction. The error may have ended the transaction.
    fn of_transaction(&mut self, error: QueryError) -> Failure {
        let is_over = self.transaction.as_ref().is_some_and(|transaction| transaction.view().is_err());
        let failure = Failure::from(error);
        if !is_over {
            return failure;
        }
        self.transaction = None;
        self.forget_unsure();
        match failure {
            Failure::Request(message) => wrong(format!("{message}\nthe transaction was rolled back")),
            other => other,
        }
    }

    /// The values of the variables that the query uses.
    fn variables_of(&self, text: &str) -> Result<Parameters, Failure> {
        let query = mangrove_query::Query::parse(text).map_err(QueryError::from)?;
        let known = |(name, _): &(&String, &Value)| query.has_variable(name);
        Ok(self.variables.iter().filter(known).map(|(name, value)| (name.clone(), value.clone())).collect())
    }

    /// `x = g.V()…`: stores the list of the results, or only the first one if the query ends with `.next()`.
    fn assign(&mut self, name: &str, text: &str) -> Result<(), Failure> {
        let is_free = mangrove_query::Query::parse(&format!("g.inject({name})")).is_ok_and(|query| query.has_variable(name));
        if !is_free {
            return Err(wrong(format!("a variable cannot be called `{name}`: that is a word of Gremlin")));
        }
        let (text, takes_first) = match text.strip_suffix(".next()") {
            Some(text) => (text, true),
            None => (text.strip_suffix(".toList()").unwrap_or(text), false),
        };
        let is_traversal = text.starts_with("g.");
        let query = if is_traversal { text.to_owned() } else { format!("g.inject({text})") };
        let database = self.database(writes(&query)?)?;
        let (variables, options) = (self.variables_of(&query)?, options());
        let values = match &mut self.transaction {
            Some(transaction) => transaction.query(&query, &variables, &options).map(|rows| {
                warn(&rows.warnings);
                rows.values
            }),
            None => database.query(&query, &variables, &options).and_then(|mut stream| {
                let values = stream.values();
                warn(stream.warnings());
                values
            }),
        };
        let mut values = values.map_err(|error| self.of_transaction(error))?;
        let value = match takes_first || !is_traversal {
            true if values.is_empty() => return Err(wrong("the query has no results, so there is no first one")),
            true => values.swap_remove(0),
            false => Value::list(values),
        };
        say(&format!("{name} is {}", described(&value)));
        self.variables.insert(name.to_owned(), value);
        if self.transaction.is_some() {
            self.unsure.push(name.to_owned());
        }
        Ok(())
    }

    fn command(&mut self, name: &str, rest: &str) -> Result<(), Failure> {
        match name {
            "help" => output::print_text(&help()),
            "schema" => {
                let text = self.viewed(|view| Ok(stats::schema(view)))?;
                output::print_text(&text)
            }
            "stats" => self.stats(),
            "explain" => self.explain(rest),
            "profile" => self.profile(rest),
            "begin" => self.begin(),
            "commit" => self.commit(),
            "rollback" => {
                self.end()?.rollback();
                self.forget_unsure();
                Ok(())
            }
            "timing" => self.set_timing(rest),
            "format" => self.set_format(rest),
            "index" => self.index(rest),
            _ => Err(wrong(format!("there is no command :{name}; help lists the commands"))),
        }
    }

    /// The graph as the next query will see it.
    fn viewed<T>(&mut self, look: impl FnOnce(&dyn GraphView) -> Result<T, Failure>) -> Result<T, Failure> {
        match &self.transaction {
            Some(transaction) => look(transaction.view()?),
            None => look(&*self.reader()?.snapshot()?),
        }
    }

    fn stats(&mut self) -> Result<(), Failure> {
        let counts = self.viewed(stats::counts)?;
        // The sizes of files change only with the commit.
        let sizes = if self.transaction.is_some() { String::new() } else { stats::sizes(&self.reader()?)? };
        output::print_text(&(counts + &sizes))
    }

    fn explain(&mut self, text: &str) -> Result<(), Failure> {
        let (variables, options) = (self.variables_of(text)?, QueryOptions::default());
        let plan = match &self.transaction {
            Some(transaction) => transaction.explain(text, &variables, &options)?,
            None => self.reader()?.explain(text, &variables, &options)?,
        };
        output::print_text(&plan.with_index_call(super::index_call).to_string())
    }

    fn profile(&mut self, text: &str) -> Result<(), Failure> {
        if self.transaction.is_some() {
            return Err(wrong("cannot profile a query in a transaction: :commit or :rollback first"));
        }
        let database = self.database(writes(text)?)?;
        let profile = database.profile(text, &self.variables_of(text)?, &options())?;
        output::print_text(&profile.to_string())
    }

    fn begin(&mut self) -> Result<(), Failure> {
        if self.transaction.is_some() {
            return Err(wrong("a transaction is open already: :commit or :rollback ends it"));
        }
        if self.read_only {
            return Err(wrong("the shell is read-only"));
        }
        self.transaction = Some(self.database(true)?.transaction()?);
        say("the transaction has begun; other writers wait until :commit or :rollback");
        Ok(())
    }

    fn commit(&mut self) -> Result<(), Failure> {
        if let Err(error) = self.end()?.commit() {
            self.forget_unsure();
            return Err(error.into());
        }
        self.unsure.clear();
        self.refresh_names()
    }

    fn forget_unsure(&mut self) {
        std::mem::take(&mut self.unsure).iter().for_each(|name| drop(self.variables.remove(name)));
    }

    fn end(&mut self) -> Result<Transaction, Failure> {
        self.transaction.take().ok_or_else(|| wrong("no transaction is open: :begin begins one"))
    }

    fn set_timing(&mut self, wish: &str) -> Result<(), Failure> {
        self.timing = match wish {
            "on" => true,
            "off" => false,
            "" => !self.timing,
            _ => return Err(wrong("expected :timing on or :timing off")),
        };
        say(if self.timing { "times are shown" } else { "times are not shown" });
        Ok(())
    }

    fn set_format(&mut self, name: &str) -> Result<(), Failure> {
        self.format = match name {
            "table" => Format::Table,
            "json" => Format::Json,
            "csv" => Format::Csv,
            _ => return Err(wrong("expected a format: table, json or csv")),
        };
        Ok(())
    }

    fn index(&mut self, names: &str) -> Result<(), Failure> {
        let unflagged = names.strip_prefix("--routed ").map(str::trim_start);
        let Some((label, key)) = unflagged.unwrap_or(names).split_once(char::is_whitespace) else {
            return Err(wrong("expected a label and a key, as in :index airport code"));
        };
        if self.transaction.is_some() {
            return Err(wrong("cannot create an index in a transaction: :commit or :rollback first"));
        }
        let (database, key) = (self.database(true)?, key.trim());
        let made = match unflagged {
            Some(_) => database.create_routed_index(None, label, key, false)?,
            None => database.create_index(None, label, key)?,
        };
        say(if made { "created the index" } else { "the index exists already" });
        Ok(())
    }

    /// Updates the names for completion from the graph.
    pub fn refresh_names(&mut self) -> Result<(), Failure> {
        if self.transaction.is_some() {
            return Ok(());
        }
        let schema = self.reader()?.schema()?;
        let labels = ElementKind::ALL.into_iter().flat_map(|kind| schema.known_labels(kind));
        let mut quoted: Vec<String> = labels.map(|(_, label)| label.name.to_string()).collect();
        quoted.extend(schema.known_keys().map(|key| key.to_string()));
        quoted.extend(self.variables.keys().cloned());
        quoted.sort_unstable();
        quoted.dedup();
        *self.quoted.write().unwrap_or_else(PoisonError::into_inner) = quoted;
        Ok(())
    }
}

fn options() -> QueryOptions {
    QueryOptions { cancel: interrupt::token(), ..QueryOptions::default() }
}

fn writes(text: &str) -> Result<bool, Failure> {
    Ok(mangrove_query::Query::parse(text).map_err(QueryError::from)?.writes())
}

/// The value of a variable in short form.
fn described(value: &Value) -> String {
    match value {
        Value::List(items) => format!("a list of {}", items.len()),
        value if value.is_storable() => value.to_string(),
        value => format!("a {}", value.value_type()),
    }
}

/// The name and the arguments of a shell command.
pub(super) fn command(text: &str) -> Option<(&str, &str)> {
    if BARE.contains(&text) {
        return Some((text, ""));
    }
    if let Some(name) = text.strip_suffix("()").filter(|name| BARE.contains(name)) {
        return Some((name, ""));
    }
    let text = text.strip_prefix(':')?;
    Some(text.split_at(text.find(char::is_whitespace).unwrap_or(text.len())))
}

/// The name and the value of `name = value`.
fn assignment(text: &str) -> Option<(&str, &str)> {
    let (name, value) = text.split_once('=')?;
    let (name, value) = (name.trim_end(), value.trim_start());
    let is_name = name.starts_with(|c: char| c.is_alphabetic()) && name.chars().all(|c| c.is_alphanumeric() || c == '_');
    (is_name && !value.starts_with('=')).then_some((name, value))
}

fn help() -> String {
    let mut text = String::from(
        "Type a Gremlin query, as in g.V().hasLabel('airport').values('code').limit(5); it ends where its brackets close.\nx = \
         g.V('AUS').next() keeps the first result as x for later queries; x = g.V() keeps the list of all.\nCtrl-C stops the \
         running query, Ctrl-R searches what you typed before.\n\n",
    );
    for command in &COMMANDS {
        text.push_str(&format!("  :{:<8} {}\n", command.name, command.what));
    }
    text
}
