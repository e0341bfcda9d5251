//! `mangrove compact`: compresses everything that is stored.

use std::path::PathBuf;

use clap::Args;

use super::{Failure, open_writing, say};
use mangrove::Encoding;

/// Compress the database into one segment; queries and writes work as before. data.mdb keeps its length,
/// but takes less of the disk (Linux)
#[derive(Args)]
pub struct Compact {
    /// Directory of the database
    db: PathBuf,
    /// First set how a property is stored: auto, plain, dictionary, symbols (text) or searchable (text; substring
    /// search needs no index). searchable alone means searchable:32; a smaller number is faster, a larger one takes
    /// less room
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
        say(&format!("compacted {} into a segment of {}", self.db.display(), indicatif::HumanBytes(bytes)));
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
