//! The algorithms by name, with their options.

use mangrove_graph::VertexId;

use crate::algorithm::Algorithm;
use crate::algorithms::{Bfs, Cdlp, Lcc, PageRank, Sssp, Triangles, Until, Wcc};
use crate::error::{AnalyticsError, Result};

/// An algorithm, for those who choose one.
#[derive(Clone, Copy, Debug)]
pub struct About {
    pub name: &'static str,
    pub what: &'static str,
    pub options: &'static [OptionAbout],
    /// Whether the weights of edges matter.
    pub takes_weights: bool,
}

/// An option of an algorithm.
#[derive(Clone, Copy, Debug)]
pub struct OptionAbout {
    pub name: &'static str,
    pub kind: OptionKind,
    /// What it is if it is not given, in words.
    pub default: Option<&'static str>,
    pub what: &'static str,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum OptionKind {
    /// 0 or more.
    Count,
    Real,
    /// The id of a vertex.
    Vertex,
    /// Ids of vertices, each with a weight.
    VertexWeights,
}

/// The value of an option.
#[derive(Clone, Debug, PartialEq)]
pub enum Argument {
    Count(u64),
    Real(f64),
    Vertex(VertexId),
    VertexWeights(Vec<(VertexId, f64)>),
}

const ITERATIONS_MAX: u64 = 100;
const TOLERANCE: f64 = 1e-6;

const SOURCE: OptionAbout =
    OptionAbout { name: "source", kind: OptionKind::Vertex, default: None, what: "id of the vertex where paths begin" };

/// All algorithms, in the order of their names.
pub const ALGORITHMS: &[About] = &[
    About { name: "bfs", what: "least number of edges from a vertex to each", options: &[SOURCE], takes_weights: false },
    About {
        name: "cdlp",
        what: "communities by label propagation",
        options: &[OptionAbout {
            name: "iterations",
            kind: OptionKind::Count,
            default: Some("10"),
            what: "how often labels are passed on, unless nothing changes",
        }],
        takes_weights: false,
    },
    About {
        name: "lcc",
        what: "local clustering coefficient: which share of a vertex's neighbours are linked",
        options: &[],
        takes_weights: false,
    },
    About {
        name: "pagerank",
        what: "PageRank: which share of all random walks is at a vertex",
        options: &[
            OptionAbout {
                name: "damping",
                kind: OptionKind::Real,
                default: Some("0.85"),
                what: "which share of walks follow edges, from 0 to 1; the others begin anew",
            },
            OptionAbout {
                name: "iterations",
                kind: OptionKind::Count,
                default: Some("as many as the tolerance needs, at most 100"),
                what: "how many iterations",
            },
            OptionAbout {
                name: "tolerance",
                kind: OptionKind::Real,
                default: Some("0.000001"),
                what: "iterations end when all ranks together change by less than this for each vertex",
            },
            OptionAbout {
                name: "personalization",
                kind: OptionKind::VertexWeights,
                default: Some("all vertices alike"),
                what: "where walks begin: ids of vertices with weights",
            },
        ],
        takes_weights: true,
    },
    About {
        name: "sssp",
        what: "length of the shortest path from a vertex to each",
        options: &[
            SOURCE,
            OptionAbout {
                name: "delta",
                kind: OptionKind::Real,
                default: Some("one that suits the weights"),
                what: "how wide the buckets of lengths are; it changes the speed only",
            },
        ],
        takes_weights: true,
    },
    About { name: "triangles", what: "number of triangles that a vertex is part of", options: &[], takes_weights: false },
    About {
        name: "wcc",
        what: "weakly connected components: the first vertex of each vertex's component",
        options: &[],
        takes_weights: false,
    },
];

/// The algorithm of this name.
pub fn about(name: &str) -> Option<&'static About> {
    ALGORITHMS.iter().find(|about| about.name == name)
}

/// An algorithm with its options.
///
/// # Errors
/// If there is no such algorithm or option, if an option has the wrong kind, or if one is missing.
pub fn algorithm(name: &str, arguments: &[(&str, Argument)]) -> Result<Box<dyn Algorithm>> {
    let about = about(name).ok_or_else(|| AnalyticsError::invalid(format!("there is no algorithm `{name}`")))?;
    let given = Given { about, arguments };
    given.check()?;
    Ok(match name {
        "bfs" => Box::new(Bfs { sources: vec![given.vertex("source")?] }),
        "cdlp" => Box::new(Cdlp { iterations: given.count("iterations").unwrap_or(10) }),
        "lcc" => Box::new(Lcc),
        "pagerank" => Box::new(page_rank(&given)?),
        "sssp" => Box::new(Sssp { source: given.vertex("source")?, delta: given.real("delta") }),
        "triangles" => Box::new(Triangles),
        _ => Box::new(Wcc),
    })
}

fn page_rank(given: &Given<'_>) -> Result<PageRank> {
    let until = match (given.count("iterations"), given.real("tolerance")) {
        (Some(_), Some(_)) => return Err(AnalyticsError::invalid("pagerank takes iterations or tolerance, not both")),
        (Some(iterations), None) => Until::Iterations(iterations),
        (None, tolerance) => Until::Tolerance(tolerance.unwrap_or(TOLERANCE), ITERATIONS_MAX),
    };
    let preferred = match given.get("personalization") {
        Some(Argument::VertexWeights(weights)) => weights.clone(),
        _ => Vec::new(),
    };
    Ok(PageRank { damping: given.real("damping").unwrap_or(0.85), until, preferred })
}

/// The arguments of an algorithm.
struct Given<'a> {
    about: &'a About,
    arguments: &'a [(&'a str, Argument)],
}

impl Given<'_> {
    fn check(&self) -> Result<()> {
        let name = self.about.name;
        for (option, argument) in self.arguments {
            let Some(known) = self.about.options.iter().find(|known| known.name == *option) else {
                return Err(AnalyticsError::invalid(format!("{name} has no option `{option}`")));
            };
            let fits = match argument {
                Argument::Count(_) => known.kind == OptionKind::Count,
                Argument::Real(_) => known.kind == OptionKind::Real,
                Argument::Vertex(_) => known.kind == OptionKind::Vertex,
                Argument::VertexWeights(_) => known.kind == OptionKind::VertexWeights,
            };
            if !fits {
                return Err(AnalyticsError::invalid(format!("{name}: `{option}` is of another kind")));
            }
        }
        Ok(())
    }

    fn get(&self, option: &str) -> Option<&Argument> {
        self.arguments.iter().find(|(name, _)| *name == option).map(|(_, argument)| argument)
    }

    fn count(&self, option: &str) -> Option<u64> {
        if let Some(Argument::Count(count)) = self.get(option) { Some(*count) } else { None }
    }

    fn real(&self, option: &str) -> Option<f64> {
        if let Some(Argument::Real(real)) = self.get(option) { Some(*real) } else { None }
    }

    fn vertex(&self, option: &str) -> Result<VertexId> {
        match self.get(option) {
            Some(Argument::Vertex(vertex)) => Ok(*vertex),
            _ => Err(AnalyticsError::invalid(format!("{} needs `{option}`", self.about.name))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_checked() {
        let message = |name, arguments: &[(&str, Argument)]| algorithm(name, arguments).map(|_| ()).unwrap_err().to_string();
        assert_eq!(message("bfs", &[]), "bfs needs `source`");
        assert_eq!(message("cdlp", &[("rounds", Argument::Count(3))]), "cdlp has no option `rounds`");
        assert_eq!(message("cdlp", &[("iterations", Argument::Real(3.0))]), "cdlp: `iterations` is of another kind");
        assert!(ALGORITHMS.iter().map(|about| about.name).is_sorted());
    }
}
