//! `mangrove docs`: shows the documentation on the terminal.

use clap::Args;
use mangrove_query::diagnostics::suggest;

use super::{Failure, output};
use mangrove::docs::{PAGES, page, title};

/// Print a page of the documentation, or list the pages
#[derive(Args)]
pub struct Docs {
    /// Print this page, for example recipes; default: list the pages
    page: Option<String>,
}

impl Docs {
    pub fn run(self) -> Result<(), Failure> {
        let Some(name) = self.page else {
            let listed = PAGES.iter().map(|(name, text)| format!("{name:<14} {}\n", title(text)));
            return output::print_text(&listed.collect::<String>());
        };
        let Some(text) = page(&name) else {
            let near = suggest(&name, PAGES.iter().map(|(name, _)| *name)).map(|near| format!("; did you mean {near}?"));
            let hint = near.unwrap_or_else(|| "; `mangrove docs` lists the pages".into());
            return Err(Failure::Request(format!("there is no page {name}{hint}")));
        };
        output::print_text(text)
    }
}
