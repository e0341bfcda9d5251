//! `mangrove compact`: all that is stored, compressed.

use std::path::PathBuf;

use clap::Args;

use super::{Failure, open_writing, say};
use crate::Encoding;

/// Move all that is stored into one compressed segment, to be queried and changed as before. The tables' file keeps its size, and
/// the room in it is used again
#[derive(Args)]
pub struct Compact {
    /// The database
    db: PathBuf,
    /// First say how a property is kept: auto, plain, dictionary, symbols (of text), or searchable (text of which any part is found
    /// without an index; searchable:SAMPLING for more speed or less room than with 32)
    #[arg(long, value_name = "LABEL.KEY=ENCODING")]
    encode: Vec<String>,
}

impl Compact {
    pub fn run(self) -> Result<(), Failure> {
        let wanted = self.encode.iter().map(|text| parse(text)).collect::<Result<Vec<_>, _>>()?;
        let database = open_writing(&self.db)?;
        for (label, key, encoding) in wanted {
            database.set_encoding(label, key, encoding)?;
        }
        let bytes = database.compact()?;
        say(&format!("{} is in a segment of {}", self.db.display(), indicatif::HumanBytes(bytes)));
        Ok(())
    }
}

/// Reads `LABEL.KEY=ENCODING`.
fn parse(text: &str) -> Result<(&str, &str, Encoding), Failure> {
    let wrong = || {
        let names = Encoding::NAMES.join(", ");
        Failure::Usage(format!(
            "--encode {text}: expected LABEL.KEY=ENCODING, where an encoding is one of {names}, or searchable:N with N a power of two"
        ))
    };
    let (property, encoding) = text.split_once('=').ok_or_else(wrong)?;
    let (label, key) = property.split_once('.').ok_or_else(wrong)?;
    Ok((label, key, Encoding::parse(encoding).ok_or_else(wrong)?))
}
