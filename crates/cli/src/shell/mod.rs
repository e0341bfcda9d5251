//! `mangrove shell`: runs queries that a person types or that are piped in.

mod editing;
mod scan;
mod session;

use std::io::{self, IsTerminal, Read};
use std::path::PathBuf;

use clap::Args;
use reedline::{
    ColumnarMenu, DefaultPrompt, DefaultPromptSegment, EditCommand, Emacs, FileBackedHistory, KeyCode, KeyModifiers,
    MenuBuilder, Reedline, ReedlineEvent, ReedlineMenu, Signal, default_emacs_keybindings,
};

use self::editing::{GremlinCompleter, GremlinHighlighter, WholeQueries};
use self::session::{Next, Session};
use super::{Failure, say};
use mangrove::Database;

/// Run queries interactively, with history and completion
#[derive(Args)]
pub struct Shell {
    /// Directory of the database
    db: PathBuf,
    /// Refuse to change anything
    #[arg(long)]
    read_only: bool,
    /// Create the database if it does not exist
    #[arg(long)]
    create: bool,
}

/// How a user of the command makes an index.
pub fn index_call(label: &str, key: &str) -> String {
    format!("`:index {label} {key}` in the shell")
}

impl Shell {
    pub fn run(self) -> Result<(), Failure> {
        if self.create {
            Database::open(&self.db)?;
        }
        let mut session = Session::new(self.db, self.read_only);
        session.refresh_names()?;
        if io::stdin().is_terminal() && io::stdout().is_terminal() {
            session.converse()
        } else {
            session.show_times(false);
            session.run_script()
        }
    }
}

impl Session {
    /// Reads queries from a person.
    fn converse(&mut self) -> Result<(), Failure> {
        let failed = |error: &dyn std::fmt::Display| Failure::Request(format!("cannot use the terminal: {error}"));
        let name = self.path().file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
        let prompt = DefaultPrompt::new(DefaultPromptSegment::Basic(name), DefaultPromptSegment::Empty);
        let mut editor = self.editor();
        say("A query ends where its brackets close; type help for more, Tab completes, Ctrl-D leaves.");
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
                Signal::CtrlD => {
                    self.leave();
                    return Ok(());
                }
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
            .with_completer(Box::new(GremlinCompleter { quoted: self.names() }))
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

    /// Runs the statements piped in, and stops at the first failure.
    fn run_script(&mut self) -> Result<(), Failure> {
        let mut script = String::new();
        let read = io::stdin().lock().read_to_string(&mut script);
        read.map_err(|error| Failure::Request(format!("cannot read standard input: {error}")))?;
        for statement in scan::statements(&script) {
            if self.statement(statement)? == Next::Leave {
                return Ok(());
            }
        }
        match self.leave() {
            true => Err(Failure::Request("the input ended before :commit, so nothing since :begin was stored".into())),
            false => Ok(()),
        }
    }
}

/// `$MANGROVE_HISTORY`, else a file in the home directory.
fn history_file() -> Option<PathBuf> {
    let chosen = std::env::var_os("MANGROVE_HISTORY").map(PathBuf::from);
    chosen.or_else(|| Some(PathBuf::from(std::env::var_os("HOME")?).join(".mangrove_history")))
}
