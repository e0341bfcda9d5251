//! `mangrove shell`: queries typed by a person, or piped in.

mod editing;
mod scan;

use std::io::{self, IsTerminal, Read};
use std::path::PathBuf;
use std::sync::PoisonError;
use std::time::Instant;

use clap::Args;
use mangrove_graph::ElementKind;
use reedline::{
    ColumnarMenu, DefaultPrompt, DefaultPromptSegment, EditCommand, Emacs, FileBackedHistory, KeyCode, KeyModifiers,
    MenuBuilder, Reedline, ReedlineEvent, ReedlineMenu, Signal, default_emacs_keybindings,
};

use self::editing::{GremlinCompleter, GremlinHighlighter, Names, WholeQueries};
use super::output::{self, Format};
use super::query::elapsed;
use super::{Failure, counted, interrupt, open_reading, open_writing, say, stats};
use crate::{Database, Parameters, QueryError, QueryOptions};

/// Ask questions interactively, with history and completion
#[derive(Args)]
pub struct Shell {
    /// The database
    db: PathBuf,
    /// Refuse to change anything
    #[arg(long)]
    read_only: bool,
    /// Make the database if there is none
    #[arg(long)]
    create: bool,
}

/// A command of the shell itself.
struct Command {
    name: &'static str,
    what: &'static str,
}

const COMMANDS: [Command; 9] = [
    Command { name: "help", what: "what can be typed here" },
    Command { name: "schema", what: "labels, properties and indexes" },
    Command { name: "stats", what: "counts and sizes" },
    Command { name: "explain", what: ":explain g.V()… shows how a query would be run" },
    Command { name: "format", what: ":format table|json|csv, how results are shown" },
    Command { name: "index", what: ":index LABEL KEY makes has(LABEL, KEY, …) fast" },
    Command { name: "timing", what: "shows or hides how long queries take" },
    Command { name: "quit", what: "leaves the shell, as Ctrl-D does" },
    Command { name: "exit", what: "leaves the shell" },
];

impl Shell {
    pub fn run(self) -> Result<(), Failure> {
        if self.create {
            Database::open(&self.db)?;
        }
        let mut session = Session {
            path: self.db,
            read_only: self.read_only,
            reader: None,
            quoted: Names::default(),
            format: Format::Table,
            timing: true,
        };
        session.refresh_names()?;
        if io::stdin().is_terminal() && io::stdout().is_terminal() {
            session.converse()
        } else {
            session.timing = false;
            session.run_script()
        }
    }
}

/// Opens the database for writing only while a statement writes, so that an open shell keeps nobody else from it.
struct Session {
    path: PathBuf,
    read_only: bool,
    reader: Option<Database>,
    /// Labels and property keys of the graph.
    quoted: Names,
    format: Format,
    timing: bool,
}

/// Whether the shell goes on.
#[derive(PartialEq)]
enum Next {
    GoOn,
    Leave,
}

impl Session {
    /// Reads queries from a person.
    fn converse(&mut self) -> Result<(), Failure> {
        let failed = |error: &dyn std::fmt::Display| Failure::Request(format!("the terminal cannot be used: {error}"));
        let name = self.path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
        let prompt = DefaultPrompt::new(DefaultPromptSegment::Basic(name), DefaultPromptSegment::Empty);
        let mut editor = self.editor();
        say("Gremlin ends where its brackets close; :help tells more, Tab completes, Ctrl-D leaves.");
        loop {
            match editor.read_line(&prompt).map_err(|error| failed(&error))? {
                Signal::Success(text) => match self.statement(&text) {
                    Ok(Next::Leave) => return Ok(()),
                    Ok(Next::GoOn) => {}
                    Err(Failure::NobodyReads) => return Ok(()),
                    Err(Failure::Request(message) | Failure::Usage(message) | Failure::Interrupted(message)) => {
                        say(&message)
                    }
                },
                Signal::CtrlD => return Ok(()),
                _ => {}
            }
        }
    }

    fn editor(&self) -> Reedline {
        const MENU: &str = "completion";
        let mut keys = default_emacs_keybindings();
        let complete = vec![ReedlineEvent::Menu(MENU.into()), ReedlineEvent::MenuNext];
        keys.add_binding(KeyModifiers::NONE, KeyCode::Tab, ReedlineEvent::UntilFound(complete));
        let newline = ReedlineEvent::Edit(vec![EditCommand::InsertNewline]);
        keys.add_binding(KeyModifiers::ALT, KeyCode::Enter, newline);
        let menu = Box::new(ColumnarMenu::default().with_name(MENU));
        let editor = Reedline::create()
            .with_completer(Box::new(GremlinCompleter { quoted: self.quoted.clone() }))
            .with_highlighter(Box::new(GremlinHighlighter))
            .with_validator(Box::new(WholeQueries))
            .with_menu(ReedlineMenu::EngineCompleter(menu))
            .with_quick_completions(true)
            .with_partial_completions(true)
            .with_ansi_colors(std::env::var_os("NO_COLOR").is_none())
            .with_edit_mode(Box::new(Emacs::new(keys)));
        const REMEMBERED: usize = 10_000;
        match history_file().and_then(|file| FileBackedHistory::with_file(REMEMBERED, file).ok()) {
            Some(history) => editor.with_history(Box::new(history)),
            None => editor,
        }
    }

    /// Runs what is piped in, and stops at the first thing that fails.
    fn run_script(&mut self) -> Result<(), Failure> {
        let mut script = String::new();
        let read = io::stdin().lock().read_to_string(&mut script);
        read.map_err(|error| Failure::Request(format!("standard input cannot be read: {error}")))?;
        for statement in scan::statements(&script) {
            if self.statement(statement)? == Next::Leave {
                break;
            }
        }
        Ok(())
    }

    fn statement(&mut self, text: &str) -> Result<Next, Failure> {
        match (text.trim(), command(text)) {
            ("", _) => Ok(Next::GoOn),
            (_, Some(("quit" | "exit", _))) => Ok(Next::Leave),
            (_, Some((name, rest))) => self.command(name, rest.trim()).map(|()| Next::GoOn),
            (query, None) => self.query(query).map(|()| Next::GoOn),
        }
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
        // What is open read-only cannot be opened for writing as well.
        self.reader = None;
        open_writing(&self.path)
    }

    fn query(&mut self, text: &str) -> Result<(), Failure> {
        let query = mangrove_query::Query::parse(text).map_err(QueryError::from)?;
        let database = self.database(query.writes())?;
        let options = QueryOptions { cancel: interrupt::token(), ..QueryOptions::default() };
        let started = Instant::now();
        let mut results = database.query(text, &Parameters::new(), &options)?;
        let rows = output::print(&mut results, self.format)?;
        results.warnings().iter().for_each(|warning| say(&format!("warning: {warning}")));
        drop((results, database));
        if self.timing {
            say(&format!("{} in {}", counted(rows, "row", "rows"), elapsed(started.elapsed())));
        }
        self.refresh_names()
    }

    fn command(&mut self, name: &str, rest: &str) -> Result<(), Failure> {
        match name {
            "help" => output::print_text(&help()),
            "schema" => output::print_text(&stats::schema(&self.reader()?)?),
            "stats" => output::print_text(&stats::summary(&self.reader()?)?),
            "explain" => {
                let plan = self.reader()?.explain(rest, &Parameters::new(), &QueryOptions::default())?;
                output::print_text(&plan.to_string())
            }
            "timing" => {
                self.timing = !self.timing;
                say(if self.timing { "times are shown" } else { "times are not shown" });
                Ok(())
            }
            "format" => self.set_format(rest),
            "index" => self.index(rest),
            _ => Err(Failure::Request(format!("there is no command :{name}; :help lists them"))),
        }
    }

    fn set_format(&mut self, name: &str) -> Result<(), Failure> {
        self.format = match name {
            "table" => Format::Table,
            "json" => Format::Json,
            "csv" => Format::Csv,
            _ => return Err(Failure::Request("formats are table, json and csv".into())),
        };
        Ok(())
    }

    fn index(&mut self, names: &str) -> Result<(), Failure> {
        let Some((label, key)) = names.split_once(char::is_whitespace) else {
            return Err(Failure::Request("say which label and which key, as in :index airport code".into()));
        };
        let made = self.database(true)?.create_index(label, key.trim())?;
        say(if made { "the index is made" } else { "there was such an index already" });
        Ok(())
    }

    /// Completion knows what the graph holds.
    fn refresh_names(&mut self) -> Result<(), Failure> {
        let schema = self.reader()?.schema()?;
        let labels = [ElementKind::Vertex, ElementKind::Edge].into_iter().flat_map(|kind| schema.labels(kind));
        let mut quoted: Vec<String> = labels.map(|label| label.name.to_string()).collect();
        quoted.extend(schema.keys.iter().map(|key| key.to_string()));
        quoted.sort_unstable();
        quoted.dedup();
        *self.quoted.write().unwrap_or_else(PoisonError::into_inner) = quoted;
        Ok(())
    }
}

/// The name and the rest of a command of the shell.
fn command(text: &str) -> Option<(&str, &str)> {
    let text = text.trim_start().strip_prefix(':')?;
    Some(text.split_at(text.find(char::is_whitespace).unwrap_or(text.len())))
}

fn help() -> String {
    let mut text = String::from(
        "Type a Gremlin query, as in g.V().hasLabel('airport').values('code').limit(5); it ends where its brackets close.\n\
         Ctrl-C stops a query that is running, Ctrl-R searches what was typed before.\n\n",
    );
    for command in &COMMANDS {
        text.push_str(&format!("  :{:<8} {}\n", command.name, command.what));
    }
    text
}

/// `$MANGROVE_HISTORY`, else a file in the home directory.
fn history_file() -> Option<PathBuf> {
    let chosen = std::env::var_os("MANGROVE_HISTORY").map(PathBuf::from);
    chosen.or_else(|| Some(PathBuf::from(std::env::var_os("HOME")?).join(".mangrove_history")))
}
