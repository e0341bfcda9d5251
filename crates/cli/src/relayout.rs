//! `mangrove relayout`: writes a database anew, in another order.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::progress::Bar;
use super::{Failure, counted, open_reading, query, say, warn};
use mangrove::ingest::LoadError as IngestError;
use mangrove::{Layout, LayoutOptions, LayoutReport, LoadError, Ties};

/// Copy a database in another order, so that what is read together lies together, while others use it
#[derive(Args)]
pub struct Relayout {
    /// Directory of the database
    db: PathBuf,
    /// Write the new database to this directory; it must be empty or not exist yet
    dest: PathBuf,
    #[command(flatten)]
    order: Order,
    /// Show no progress
    #[arg(long, short)]
    quiet: bool,
}

/// In which order vertices come.
#[derive(Args)]
pub struct Order {
    /// Order vertices by: community (best for most graphs), partition (by halves), degree, bfs, none (as they come)
    #[arg(long, value_enum, value_name = "LAYOUT")]
    layout: Option<LayoutName>,
    /// For --layout community: friends are read equally often (uniform), those with many friends more often (preferential), or those with
    /// many common friends (overlap)
    #[arg(long, value_enum, value_name = "MODEL", default_value = "uniform")]
    ties: TiesName,
}

impl Order {
    /// The options, with the layout that holds if none is named.
    pub fn options(&self, default: Layout) -> Result<LayoutOptions, Failure> {
        let layout = self.layout.map_or(default, LayoutName::layout);
        let ties = self.ties.ties();
        if ties != Ties::Uniform && layout != Layout::Community {
            return Err(Failure::Usage("--ties is for --layout community".into()));
        }
        Ok(LayoutOptions { layout, ties, ..LayoutOptions::default() })
    }
}

#[derive(Clone, Copy, ValueEnum)]
enum LayoutName {
    None,
    Community,
    Partition,
    Degree,
    Bfs,
}

impl LayoutName {
    fn layout(self) -> Layout {
        match self {
            LayoutName::None => Layout::None,
            LayoutName::Community => Layout::Community,
            LayoutName::Partition => Layout::Partition,
            LayoutName::Degree => Layout::Degree,
            LayoutName::Bfs => Layout::Bfs,
        }
    }
}

#[derive(Clone, Copy, ValueEnum)]
enum TiesName {
    Uniform,
    Preferential,
    Overlap,
}

impl TiesName {
    fn ties(self) -> Ties {
        match self {
            TiesName::Uniform => Ties::Uniform,
            TiesName::Preferential => Ties::Preferential,
            TiesName::Overlap => Ties::Overlap,
        }
    }
}

impl Relayout {
    pub fn run(self) -> Result<(), Failure> {
        let options = self.order.options(Layout::Community)?;
        let (report, found) = match open_reading(&self.db)?.relayout(&self.dest, &options, &mut Bar::new(self.quiet)) {
            Err(LoadError::Load(IngestError::Cancelled)) => {
                return Err(Failure::Interrupted(format!("interrupted; nothing was written to {}", self.dest.display())));
            }
            done => done?,
        };
        warn(&report.warnings);
        say(&format!(
            "wrote {} and {} to {} in {}",
            counted(report.vertex_count(), "vertex", "vertices"),
            counted(report.edge_count(), "edge", "edges"),
            self.dest.display(),
            query::elapsed(report.duration),
        ));
        say(&worth(&found));
        Ok(())
    }
}

/// One line about what an order is worth.
pub fn worth(report: &LayoutReport) -> String {
    let LayoutReport { layout, before, after, .. } = report;
    format!(
        "layout {}: neighbours are {:.0} places apart (before: {:.0}) and take {:.1} bits ({:.1}); those of a vertex are in {:.1} blocks ({:.1})",
        layout.name(),
        after.distance(),
        before.distance(),
        after.bits_per_entry(),
        before.bits_per_entry(),
        after.blocks_per_list(),
        before.blocks_per_list(),
    )
}
