//! Communities by modularity: Louvain (Blondel, Guillaume, Lambiotte, Lefebvre: Fast unfolding of communities in large networks,
//! J. Stat. Mech. 2008) and Leiden (Traag, Waltman, van Eck: From Louvain to Leiden, Sci. Rep. 9, 2019).
//!
//! Vertices move to the neighbouring community that gains most modularity, until none gains. Then each community becomes a vertex, and
//! the same begins anew. Leiden first splits communities into parts that hang together, and these become the vertices: so no community
//! falls apart. Moves come in the order of vertices, so the outcome is always the same. O(E) for each level in practice.

use mangrove_graph::Value;

use super::communities::{Network, renumber};
use crate::algorithm::{Algorithm, Outcome, Values};
use crate::error::{AnalyticsError, Result};
use crate::project::{Adjacent, Needs, Projection};
use crate::run::Run;

/// The value of a vertex is the number of its community.
pub struct Louvain {
    /// γ: greater values give smaller communities.
    pub resolution: f64,
    /// Whether communities are refined, as Leiden does.
    pub is_refined: bool,
}

/// More levels than any graph needs.
const LEVELS_MAX: usize = 100;

impl Algorithm for Louvain {
    fn needs(&self) -> Needs {
        Needs { incoming: true, outgoing: true, ..Needs::default() }
    }

    fn bytes(&self, vertices: u64, entries: u64) -> u64 {
        64 * vertices + 40 * entries
    }

    fn run(&self, graph: &Projection, run: &Run) -> Result<Outcome> {
        if !(self.resolution > 0.0 && self.resolution.is_finite()) {
            return Err(AnalyticsError::invalid(format!("resolution is {}; it must be greater than 0", self.resolution)));
        }
        run.begin("vertices moved", 0);
        let whole = Network::new(graph, run)?;
        let mut levels = 0;
        let mut found = self.levels(&whole, run, &mut |_, _| levels += 1)?;
        if self.is_refined {
            // What hung together by a vertex that moved on later is no community.
            found = whole.pieces(&found);
        }
        let count = renumber(&mut found);
        let summary = vec![
            ("communities", Value::from(count as i64)),
            ("modularity", Value::from(whole.modularity(&found, self.resolution))),
            ("levels", Value::from(levels as i64)),
        ];
        Ok(Outcome { values: Values::Counts(found), summary })
    }
}

/// Communities within communities. Each level is a network whose vertices are parts of the level before.
pub struct CommunityTree {
    /// The links of each level, the given ones first. Those inside a part are left out.
    pub links: Vec<Adjacent>,
    /// For each level but the last, the part in the next level that each of its vertices belongs to.
    pub parts: Vec<Vec<u32>>,
}

impl Louvain {
    /// The levels at which communities are found in a network of links, each of which is in the lists of both ends, and none of which
    /// is a loop. O(E) for each level.
    pub fn tree(&self, links: Adjacent, run: &Run) -> Result<CommunityTree> {
        let whole = Network::without_loops(links);
        let mut tree = CommunityTree { links: Vec::new(), parts: Vec::new() };
        self.levels(&whole, run, &mut |parts, next| {
            tree.parts.push(parts.to_vec());
            tree.links.push(next.links().clone());
        })?;
        tree.links.insert(0, whole.into_links());
        Ok(tree)
    }

    /// The community of each vertex. `each` is told which part of the next level each vertex of a level belongs to, and the network of
    /// that level.
    fn levels(&self, whole: &Network, run: &Run, each: &mut dyn FnMut(&[u32], &Network)) -> Result<Vec<u32>> {
        // Which vertex of the present level each vertex belongs to, and the communities of that level.
        let mut members: Vec<u32> = (0..whole.vertices() as u32).collect();
        let mut communities = members.clone();
        let mut joined: Option<Network> = None;
        for _ in 0..LEVELS_MAX {
            let network = joined.as_ref().unwrap_or(whole);
            let has_moved = network.move_all(&mut communities, self.resolution, run)?;
            let count = renumber(&mut communities);
            if !has_moved || count == network.vertices() {
                break;
            }
            let mut parts = match self.is_refined {
                true => network.refined(&communities, self.resolution),
                false => communities.clone(),
            };
            let parts_count = renumber(&mut parts);
            let next = network.joined(&parts, parts_count);
            each(&parts, &next);
            // The parts begin in the communities that they are parts of.
            let mut of_parts = vec![0; parts_count];
            parts.iter().zip(&communities).for_each(|(part, community)| of_parts[*part as usize] = *community);
            members.iter_mut().for_each(|member| *member = parts[*member as usize]);
            communities = of_parts;
            joined = Some(next);
        }
        members.iter_mut().for_each(|member| *member = communities[*member as usize]);
        Ok(members)
    }
}
