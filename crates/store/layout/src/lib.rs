//! Orders of vertices in which records that are read together lie together.
//!
//! Vertices that are linked are read together. So vertices of one community should be neighbours on the disk, and those within it most
//! tied to each other should be nearest (Hoque, Gupta: Disk layout techniques for online social network data, IEEE Internet Computing
//! 2012; Hoque: Storage and processing systems for power-law graphs, thesis 2013, ch. 3: Bondhu).
//!
//! ```text
//!   links of all vertices ── weights ── community ─┬─ greedy ── bisect ── the vertices in order
//!                                     partition ───┘
//!                                     degree, bfs
//! ```
//! The order becomes the order of ids, so nothing else in a store knows of it.

mod bisect;
mod community;
mod greedy;
mod labels;
mod measure;
mod sample;
mod simple;
mod weights;

use mangrove_analytics::{Adjacent, Result, Run};

pub use labels::measure_order;
pub use measure::{Measures, measure, places};
pub use sample::Sample;
pub use weights::Ties;

/// How vertices are ordered.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Layout {
    /// As they come.
    #[default]
    None,
    /// By communities of the greatest modularity, and communities within them: Bondhu's ModCom.
    Community,
    /// By halves with the fewest links between them, and halves of these: Bondhu's ParCom.
    Partition,
    /// Those with the most links in the middle, and those with fewer ever farther out: the "organ pipe".
    Degree,
    /// In breadth-first order from a vertex at the edge of its component, reversed: Cuthill and McKee's.
    Bfs,
}

impl Layout {
    pub const ALL: [Self; 5] = [Layout::None, Layout::Community, Layout::Partition, Layout::Degree, Layout::Bfs];

    pub fn name(self) -> &'static str {
        match self {
            Layout::None => "none",
            Layout::Community => "community",
            Layout::Partition => "partition",
            Layout::Degree => "degree",
            Layout::Bfs => "bfs",
        }
    }

    /// The layout of that name; `None` if there is none.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|layout| layout.name() == name)
    }

    /// About how many bytes its making takes on so many threads, beside the links.
    pub fn bytes(self, ties: Ties, vertices: u64, entries: u64, threads: u64) -> u64 {
        let bisection = 24 * vertices * threads;
        let weights = if ties == Ties::Uniform { 0 } else { 36 * entries };
        match self {
            Layout::None => 8 * vertices,
            Layout::Degree | Layout::Bfs => 24 * vertices,
            Layout::Partition => 40 * vertices + bisection,
            Layout::Community => 96 * vertices + 16 * entries + weights + bisection,
        }
    }
}

/// The vertices in order. Each link must be in the lists of both its ends, once, and none may be a loop.
///
/// The order does not depend on the number of threads. Communities cost O(E) for each level, halves O(E·log V).
///
/// # Errors
/// If the run is to stop.
pub fn order(links: Adjacent, layout: Layout, ties: Ties, run: &Run) -> Result<Vec<u32>> {
    match layout {
        Layout::None => Ok((0..links.vertices() as u32).collect()),
        Layout::Degree => Ok(simple::organ_pipe(&links)),
        Layout::Bfs => simple::breadth_first(&links, run),
        Layout::Community => community::order(weights::weighted(links, ties, run)?, run),
        Layout::Partition => {
            let mut order = simple::breadth_first(&links, run)?;
            bisect::halve(&links, &mut order, bisect::FROM_NOTHING, run)?;
            Ok(order)
        }
    }
}
