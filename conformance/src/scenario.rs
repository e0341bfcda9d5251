//! Runs one scenario and reports its outcome.
//!
//! It checks what TinkerPop's own runners check: the results that a table lists, in order or not; counts; the text of errors
//! (contained in the message, case aside); the content of the graph afterwards. Parameters are written into the query as literals.
//! Only values without a literal, such as edges, are bound.

use std::any::Any;
use std::cell::RefCell;
use std::collections::HashMap;
use std::panic::{self, AssertUnwindSafe};
use std::rc::Rc;
use std::time::Instant;

use mangrove_graph::{Map, Value, record};
use mangrove_query::Parameters;
use regex::{NoExpand, Regex};

use crate::database::{Database, StoreKind};
use crate::gherkin::{Scenario, Step};
use crate::graphs;
use crate::nodes::Nodes;
use crate::notation::{self, Elements, Expected};

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Outcome {
    Passed,
    Failed,
    /// The suite itself marks it as optional.
    Skipped,
}

#[derive(Clone, Debug)]
pub struct Report {
    pub id: String,
    pub outcome: Outcome,
    /// Why it failed or was skipped.
    pub reason: String,
    /// The last query of the scenario, before its parameters are filled in.
    pub gremlin: String,
    pub ms: f64,
}

/// Runs scenarios one after the other. It loads each static graph once.
pub struct Runner {
    store: StoreKind,
    nodes: Option<Rc<Nodes>>,
    grateful: String,
    databases: HashMap<String, Database>,
    /// Elements of the static graphs from earlier look-ups, by graph and query.
    found: HashMap<(String, String), Option<Value>>,
}

impl Runner {
    /// `nodes` are those of [`StoreKind::Nodes`].
    pub fn new(store: StoreKind, nodes: Option<Nodes>, grateful: String) -> Self {
        panic::set_hook(Box::new(|info| {
            let place = info.location().map(|at| format!(" at {}:{}", at.file(), at.line())).unwrap_or_default();
            PANIC.set(format!("panicked{place}: {}", panic_text(info.payload())));
        }));
        Self { store, nodes: nodes.map(Rc::new), grateful, databases: HashMap::new(), found: HashMap::new() }
    }

    pub fn run(&mut self, scenario: &Scenario) -> Report {
        let start = Instant::now();
        let gremlin = scenario.traversals().last().unwrap_or_default().to_owned();
        let (outcome, reason) = if scenario.steps.iter().any(|s| s.text == "an unsupported test") {
            (Outcome::Skipped, "marked unsupported in the suite itself".into())
        } else {
            match panic::catch_unwind(AssertUnwindSafe(|| Run::new(self, scenario).all())) {
                Ok(Ok(())) => (Outcome::Passed, String::new()),
                Ok(Err(reason)) => (Outcome::Failed, reason),
                Err(_) => {
                    self.databases.clear();
                    (Outcome::Failed, PANIC.take())
                }
            }
        };
        Report { id: scenario.id.clone(), outcome, reason, gremlin, ms: start.elapsed().as_secs_f64() * 1000.0 }
    }

    /// Prepares the graph of that name. A static graph is as always; an empty one is empty.
    fn prepare(&mut self, name: &str) -> Result<(), String> {
        if graphs::STATIC.contains(&name) && self.databases.contains_key(name) {
            return Ok(());
        }
        if self.nodes.is_some() {
            // They have one graph, which becomes another.
            self.databases.clear();
            self.found.clear();
        }
        let mut database = Database::create(self.store, self.nodes.as_ref())?;
        if graphs::STATIC.contains(&name) {
            database.fill(|graph| graphs::write(name, graph, &self.grateful))?;
        }
        if self.store == StoreKind::Lake && graphs::STATIC.contains(&name) {
            database = database.into_files()?;
        }
        if matches!(self.store, StoreKind::Wire | StoreKind::Bytecode) {
            database = database.into_served(self.store == StoreKind::Bytecode)?;
        }
        self.databases.insert(name.to_owned(), database);
        Ok(())
    }
}

thread_local! {
    /// The message of the last panic.
    static PANIC: RefCell<String> = const { RefCell::new(String::new()) };
}

fn panic_text(payload: &dyn Any) -> &str {
    let text = payload.downcast_ref::<&str>().copied();
    text.or_else(|| payload.downcast_ref::<String>().map(String::as_str)).unwrap_or("without a message")
}

/// The result of the traversal.
enum Got {
    /// The traversal has not been iterated.
    Nothing,
    List(Vec<Value>),
    /// Its first result, from `iterated next`.
    Next(Value),
    Error(String),
}

struct Run<'a> {
    runner: &'a mut Runner,
    scenario: &'a Scenario,
    graph: String,
    parameters: Vec<(String, Expected)>,
    side_effects: Vec<(String, Expected)>,
    gremlin: String,
    got: Got,
    checked: bool,
    error_expected: bool,
}

impl<'a> Run<'a> {
    fn new(runner: &'a mut Runner, scenario: &'a Scenario) -> Self {
        Self {
            runner,
            scenario,
            graph: String::new(),
            parameters: Vec::new(),
            side_effects: Vec::new(),
            gremlin: String::new(),
            got: Got::Nothing,
            checked: false,
            error_expected: false,
        }
    }

    fn all(mut self) -> Result<(), String> {
        for step in &self.scenario.steps {
            self.step(step)?;
        }
        match &self.got {
            Got::Error(error) if !self.error_expected => Err(format!("raised: {error}")),
            _ if !self.checked => Err("the scenario checks nothing".into()),
            _ => Ok(()),
        }
    }

    fn step(&mut self, step: &Step) -> Result<(), String> {
        let doc = step.doc.as_deref().unwrap_or_default();
        let rows = step.rows.get(1..).unwrap_or_default();
        match step.text.as_str() {
            "the graph initializer of" => self.query(doc).map(|_| ()).map_err(|e| format!("the initializer raised: {e}")),
            "the traversal of" => {
                self.gremlin = doc.to_owned();
                Ok(())
            }
            "iterated to list" => self.iterate(false),
            "iterated next" => self.iterate(true),
            "the traversal will raise an error" => self.error_containing(""),
            "the result should be empty" => match self.items()?[..] {
                [] => Ok(()),
                _ => Err(format!("expected no result, got {}", self.show())),
            },
            "the result should be ordered" => self.ordered(rows),
            "the result should be unordered" => self.unordered(rows),
            "the result should be of" => self.among(rows),
            "the result should be a subgraph with the following" => self.subgraph(&step.rows),
            "the result should be a tree with a structure of" => self.tree(doc),
            other => self.worded(other),
        }
    }

    /// The steps that have their operands in their text.
    fn worded(&mut self, text: &str) -> Result<(), String> {
        let between = |start: &str, end: &str| text.strip_prefix(start)?.strip_suffix(end);
        if let Some(definition) = between("using the parameter ", "\"") {
            let parameter = self.definition(definition)?;
            self.parameters.push(parameter);
            Ok(())
        } else if let Some(definition) = between("using the side effect ", "\"") {
            let side_effect = self.definition(definition)?;
            self.side_effects.push(side_effect);
            Ok(())
        } else if let Some(message) = between("the traversal will raise an error with message ", "\"") {
            let (_, message) = message.split_once(" text of \"").ok_or("a message without its text")?;
            self.error_containing(&unquoted(message))
        } else if let Some(count) = between("the graph should return ", "\"") {
            let (count, of) = count.split_once(" for count of \"").ok_or("a count without its query")?;
            self.graph_count(count, &unquoted(of))
        } else if let Some(count) = between("the result should have a count of ", "") {
            self.count(count)
        } else if let Some(graph) = between("the ", " graph") {
            self.graph = graph.to_owned();
            self.runner.prepare(graph)
        } else {
            Err(format!("the runner does not know the step: {text}"))
        }
    }

    /// Reads `name defined as "value` (without the last quote).
    fn definition(&mut self, text: &str) -> Result<(String, Expected), String> {
        let (name, value) = text.split_once(" defined as \"").ok_or_else(|| format!("no definition: {text}"))?;
        Ok((name.to_owned(), self.expect(&unquoted(value))?))
    }

    fn expect(&mut self, text: &str) -> Result<Expected, String> {
        notation::parse(text, &mut ElementsOf { runner: self.runner, graph: &self.graph })
    }

    /// The cells of a table. An empty cell stands for null.
    fn expect_all(&mut self, rows: &[String]) -> Result<Vec<Expected>, String> {
        rows.iter().map(|row| self.expect(if row.is_empty() { "null" } else { row })).collect()
    }

    // ---- running queries

    fn query(&mut self, text: &str) -> Result<Vec<Value>, String> {
        let (text, parameters) = self.bound(text)?;
        let keep = !graphs::STATIC.contains(&self.graph.as_str());
        let database = self.runner.databases.get_mut(&self.graph).ok_or("the scenario names no graph")?;
        database.query(&text, &parameters, keep)
    }

    /// The query with its parameters as literals, and the parameters that have none.
    fn bound(&self, text: &str) -> Result<(String, Parameters), String> {
        let mut text = text.to_owned();
        let mut parameters = Parameters::new();
        let mut longest_first: Vec<_> = self.parameters.iter().collect();
        longest_first.sort_by_key(|(name, _)| std::cmp::Reverse(name.len()));
        for (name, value) in longest_first {
            let pattern = Regex::new(&format!(r"\b{name}\b")).map_err(|e| e.to_string())?;
            if let Some(literal) = value.literal() {
                text = pattern.replace_all(&text, NoExpand(&literal)).into_owned();
            } else if pattern.is_match(&text) {
                let value = value.to_value().ok_or_else(|| format!("parameter {name} cannot be bound"))?;
                parameters.insert(name.clone(), value);
            }
        }
        for (name, value) in self.side_effects.iter().rev() {
            let literal = value.literal().ok_or_else(|| format!("side effect {name} has no literal form"))?;
            let at = text.find('.').ok_or("a traversal without steps")?;
            text.insert_str(at, &format!(".withSideEffect(\"{name}\",{literal})"));
        }
        Ok((text, parameters))
    }

    fn iterate(&mut self, next: bool) -> Result<(), String> {
        let gremlin = std::mem::take(&mut self.gremlin);
        let results = self.query(&gremlin);
        self.gremlin = gremlin;
        self.got = match results {
            Err(error) => Got::Error(error),
            Ok(results) if !next => Got::List(results),
            Ok(results) => match results.into_iter().next() {
                Some(first) => Got::Next(first),
                None => Got::Error("next() on an empty result: NoSuchElementException".into()),
            },
        };
        Ok(())
    }

    // ---- checks

    fn successful(&mut self) -> Result<&Got, String> {
        self.checked = true;
        match &self.got {
            Got::Error(error) => Err(format!("raised: {error}")),
            got => Ok(got),
        }
    }

    /// The results in the form of a table: if the only result is a collection, its items.
    fn items(&mut self) -> Result<Vec<Value>, String> {
        Ok(match self.successful()? {
            Got::List(results) => results.clone(),
            Got::Next(Value::Map(map)) => {
                map.iter().map(|entry| Value::map(Map::from_distinct(vec![entry.clone()]))).collect()
            }
            Got::Next(value @ Value::Vector(_)) => vec![value.clone()],
            Got::Next(value) => value.items().unwrap_or_else(|| vec![value.clone()]),
            Got::Nothing | Got::Error(_) => Vec::new(),
        })
    }

    fn error_containing(&mut self, text: &str) -> Result<(), String> {
        self.checked = true;
        self.error_expected = true;
        match &self.got {
            Got::Error(error) if error.to_lowercase().contains(&text.to_lowercase()) => Ok(()),
            Got::Error(error) => Err(format!("expected an error saying {text:?}, got: {error}")),
            _ => Err(format!("expected an error{}, got {}", quoted_or_none(text), self.show())),
        }
    }

    fn graph_count(&mut self, count: &str, of: &str) -> Result<(), String> {
        self.successful()?;
        let got = self.query(&format!("{of}.count()")).map_err(|e| format!("count of {of} raised: {e}"))?;
        match &got[..] {
            [one] if one.as_i64() == count.parse().ok() => Ok(()),
            _ => Err(format!("the graph should return {count} for count of {of}, got {}", list(&got))),
        }
    }

    fn count(&mut self, count: &str) -> Result<(), String> {
        let got = match self.successful()? {
            Got::Next(Value::Tree(tree)) => tree.0.len(),
            _ => self.items()?.len(),
        };
        if Some(got) == count.parse().ok() {
            Ok(())
        } else {
            Err(format!("expected {count} results, got {got}: {}", self.show()))
        }
    }

    fn ordered(&mut self, rows: &[String]) -> Result<(), String> {
        let (got, expected) = self.got_and_expected(rows)?;
        let wrong = got.iter().zip(&expected).position(|(got, expected)| !expected.accepts(got));
        wrong.map_or(Ok(()), |at| Err(format!("result {at}: expected {}, got {}", rows[at], got[at])))
    }

    fn unordered(&mut self, rows: &[String]) -> Result<(), String> {
        let (got, expected) = self.got_and_expected(rows)?;
        match notation::unmatched(&expected, &got, Expected::accepts) {
            None => Ok(()),
            Some(missing) => {
                let at = expected.iter().position(|e| std::ptr::eq(e, missing)).unwrap_or_default();
                Err(format!("no result equals {}: {}", rows[at], list(&got)))
            }
        }
    }

    fn got_and_expected(&mut self, rows: &[String]) -> Result<(Vec<Value>, Vec<Expected>), String> {
        let got = self.items()?;
        let expected = self.expect_all(rows)?;
        if got.len() != expected.len() {
            return Err(format!("expected {} results, got {}: {}", expected.len(), got.len(), list(&got)));
        }
        Ok((got, expected))
    }

    fn among(&mut self, rows: &[String]) -> Result<(), String> {
        let got = self.items()?;
        let expected = self.expect_all(rows)?;
        match got.iter().find(|got| !expected.iter().any(|e| e.accepts(got))) {
            None => Ok(()),
            Some(stranger) => Err(format!("{stranger} is none of {}", rows.join(" "))),
        }
    }

    fn subgraph(&mut self, rows: &[String]) -> Result<(), String> {
        let part = match self.successful()? {
            Got::Next(Value::Subgraph(part)) => part.clone(),
            _ => return Err(format!("expected a graph, got {}", self.show())),
        };
        let (kind, rows) = rows.split_first().ok_or("a table without a header")?;
        let expected = rows.iter().map(|row| self.expect(row)).collect::<Result<Vec<_>, _>>()?;
        let got: Vec<Value> = match kind.as_str() {
            "vertices" => part.vertices.iter().map(|v| Value::Vertex(*v)).collect(),
            _ => part.edges.iter().map(|e| Value::Edge(*e)).collect(),
        };
        if notation::bag(&expected, &got, Expected::accepts) {
            return Ok(());
        }
        Err(format!("expected the {kind} {}, got {}", rows.join(" "), list(&got)))
    }

    fn tree(&mut self, doc: &str) -> Result<(), String> {
        self.successful()?;
        let expected = notation::parse_tree(doc, &mut ElementsOf { runner: self.runner, graph: &self.graph })?;
        match &self.got {
            Got::Next(tree) if expected.accepts(tree) => Ok(()),
            _ => Err(format!("expected the tree\n{doc}\ngot {}", self.show())),
        }
    }

    fn show(&self) -> String {
        match &self.got {
            Got::Nothing => "nothing".into(),
            Got::List(results) => list(results),
            Got::Next(value) => value.to_string(),
            Got::Error(error) => format!("the error {error}"),
        }
    }
}

fn list(values: &[Value]) -> String {
    const SHOWN_MAX: usize = 20;
    let shown: Vec<String> = values.iter().take(SHOWN_MAX).map(Value::to_string).collect();
    format!("[{}{}]", shown.join(", "), if values.len() > SHOWN_MAX { ", …" } else { "" })
}

fn quoted_or_none(text: &str) -> String {
    if text.is_empty() { String::new() } else { format!(" saying {text:?}") }
}

fn unquoted(text: &str) -> String {
    text.replace("\\\"", "\"")
}

/// Finds elements with the engine, by its plainest steps.
struct ElementsOf<'a> {
    runner: &'a mut Runner,
    graph: &'a str,
}

impl ElementsOf<'_> {
    fn find(&mut self, query: String) -> Result<Option<Value>, String> {
        let key = (self.graph.to_owned(), query);
        if let Some(found) = self.runner.found.get(&key) {
            return Ok(found.clone());
        }
        let database = self.runner.databases.get_mut(self.graph).ok_or("the scenario names no graph")?;
        let found = database.query(&key.1, &Parameters::new(), false);
        let found = found.map_err(|e| format!("looking up an element, {} raised: {e}", key.1))?.into_iter().next();
        if graphs::STATIC.contains(&self.graph) {
            self.runner.found.insert(key, found.clone());
        }
        Ok(found)
    }
}

impl Elements for ElementsOf<'_> {
    fn vertex(&mut self, name: &str) -> Result<Option<Value>, String> {
        self.find(format!("g.V().has(\"name\",{name:?})"))
    }

    fn edge(&mut self, source: &str, label: &str, target: &str) -> Result<Option<Value>, String> {
        self.find(format!("g.V().has(\"name\",{source:?}).outE({label:?}).where(__.inV().has(\"name\",{target:?}))"))
    }

    fn vertex_property(&mut self, vertex: &str, key: &str, value: &Expected) -> Result<Option<Value>, String> {
        let value = value.literal().ok_or("a property value without literal form")?;
        self.find(format!("g.V().has(\"name\",{vertex:?}).properties({key:?}).hasValue({value})"))
    }

    fn id(&mut self, element: &Value) -> Result<Value, String> {
        let database = self.runner.databases.get(self.graph).ok_or("the scenario names no graph")?;
        database.read(|view| {
            let id = match element {
                Value::Vertex(vertex) => record::vertex_id(view, *vertex),
                Value::Edge(edge) => record::edge_id(view, edge.id),
                _ => return Err(format!("{element} has no id")),
            };
            id.map_err(|e| e.to_string())
        })
    }
}
