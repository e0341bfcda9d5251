//! The algorithms by name, with their options.

use mangrove_graph::VertexId;

use crate::algorithm::Algorithm;
use crate::algorithms::{
    Betweenness, Bfs, Cdlp, Coloring, KCore, Lcc, Louvain, Matching, PageRank, Scc, Similarity, Sssp, Triangles, Until,
    Walks, Wcc,
};
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

impl About {
    /// Whether it gives one value for each vertex, not pairs or walks.
    pub fn gives_values(&self) -> bool {
        !matches!(self.name, "similarity" | "walks")
    }
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
    Flag,
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
    Flag(bool),
    Vertex(VertexId),
    VertexWeights(Vec<(VertexId, f64)>),
}

const ITERATIONS_MAX: u64 = 100;
const TOLERANCE: f64 = 1e-6;

const SOURCE: OptionAbout =
    OptionAbout { name: "source", kind: OptionKind::Vertex, default: None, what: "id of the vertex where paths begin" };

const SEED: OptionAbout = option("seed", OptionKind::Count, Some("0"), "which random numbers are drawn");
const RESOLUTION: OptionAbout = option("resolution", OptionKind::Real, Some("1"), "greater values give smaller communities");

const fn option(name: &'static str, kind: OptionKind, default: Option<&'static str>, what: &'static str) -> OptionAbout {
    OptionAbout { name, kind, default, what }
}

const fn plain(name: &'static str, what: &'static str) -> About {
    About { name, what, options: &[], takes_weights: false }
}

/// All algorithms, in the order of their names.
pub const ALGORITHMS: &[About] = &[
    About {
        name: "betweenness",
        what: "betweenness centrality: how many shortest paths lead through a vertex",
        options: &[
            option("samples", OptionKind::Count, Some("all vertices"), "from how many vertices paths begin"),
            SEED,
            option("normalized", OptionKind::Flag, Some("true"), "whether to divide by the number of pairs of others"),
        ],
        takes_weights: false,
    },
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
    plain("coloring", "colours, as numbers from 0, such that no two linked vertices have the same"),
    plain("kcore", "core number: the greatest k for which a vertex is in the k-core"),
    plain("lcc", "local clustering coefficient: which share of a vertex's neighbours are linked"),
    About {
        name: "leiden",
        what: "communities by modularity, none of which falls apart",
        options: &[RESOLUTION],
        takes_weights: true,
    },
    About { name: "louvain", what: "communities by modularity", options: &[RESOLUTION], takes_weights: true },
    About {
        name: "matching",
        what: "edges of which no two share a vertex: the vertex that each is matched with",
        options: &[],
        takes_weights: true,
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
                what: "how many iterations; with a tolerance, the most",
            },
            OptionAbout {
                name: "tolerance",
                kind: OptionKind::Real,
                default: Some("0.000001"),
                what: "iterations end when all ranks together change by less than this",
            },
            OptionAbout {
                name: "personalization",
                kind: OptionKind::VertexWeights,
                default: Some("all vertices alike"),
                what: "where walks begin: ids of vertices with weights",
            },
            OptionAbout {
                name: "start",
                kind: OptionKind::VertexWeights,
                default: Some("all vertices alike"),
                what: "the ranks of the first iteration, in proportion: ids with weights",
            },
            OptionAbout {
                name: "dangling",
                kind: OptionKind::VertexWeights,
                default: Some("as walks begin"),
                what: "where walks go on that cannot follow an edge: ids with weights",
            },
        ],
        takes_weights: true,
    },
    plain("scc", "strongly connected components: the first vertex of each vertex's component"),
    About {
        name: "similarity",
        what: "pairs of vertices with many neighbours in common, by Jaccard's measure",
        options: &[
            option("top", OptionKind::Count, Some("10"), "the most others for each vertex"),
            option("at_least", OptionKind::Real, Some("0"), "pairs that are less similar are left out"),
        ],
        takes_weights: false,
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
    plain("triangles", "number of triangles that a vertex is part of"),
    About {
        name: "walks",
        what: "random walks, as node2vec takes them",
        options: &[
            option("length", OptionKind::Count, Some("80"), "the most vertices of a walk"),
            option("per_vertex", OptionKind::Count, Some("10"), "how many walks begin at each vertex"),
            option("p", OptionKind::Real, Some("1"), "greater values go back less often"),
            option("q", OptionKind::Real, Some("1"), "greater values stay near more often"),
            SEED,
        ],
        takes_weights: true,
    },
    plain("wcc", "weakly connected components: the first vertex of each vertex's component"),
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
        "betweenness" => Box::new(Betweenness {
            samples: given.count("samples"),
            seed: given.count("seed").unwrap_or(0),
            is_normalized: given.flag("normalized").unwrap_or(true),
        }),
        "coloring" => Box::new(Coloring),
        "kcore" => Box::new(KCore),
        "leiden" | "louvain" => {
            Box::new(Louvain { resolution: given.real("resolution").unwrap_or(1.0), is_refined: name == "leiden" })
        }
        "matching" => Box::new(Matching),
        "scc" => Box::new(Scc),
        "similarity" => {
            Box::new(Similarity { top: given.count("top").unwrap_or(10), at_least: given.real("at_least").unwrap_or(0.0) })
        }
        "walks" => Box::new(Walks {
            length: given.count("length").unwrap_or(80),
            per_vertex: given.count("per_vertex").unwrap_or(10),
            p: given.real("p").unwrap_or(1.0),
            q: given.real("q").unwrap_or(1.0),
            seed: given.count("seed").unwrap_or(0),
        }),
        "cdlp" => Box::new(Cdlp { iterations: given.count("iterations").unwrap_or(10) }),
        "lcc" => Box::new(Lcc),
        "pagerank" => Box::new(page_rank(&given)?),
        "sssp" => Box::new(Sssp { source: given.vertex("source")?, delta: given.real("delta") }),
        "triangles" => Box::new(Triangles),
        "wcc" => Box::new(Wcc),
        other => return Err(AnalyticsError::invalid(format!("there is no algorithm `{other}`"))),
    })
}

fn page_rank(given: &Given<'_>) -> Result<PageRank> {
    let until = match (given.count("iterations"), given.real("tolerance")) {
        (Some(iterations), None) => Until::Iterations(iterations),
        (iterations, tolerance) => Until::Tolerance(tolerance.unwrap_or(TOLERANCE), iterations.unwrap_or(ITERATIONS_MAX)),
    };
    let weights = |option| match given.get(option) {
        Some(Argument::VertexWeights(weights)) => weights.clone(),
        _ => Vec::new(),
    };
    let (preferred, started, dangling) = (weights("personalization"), weights("start"), weights("dangling"));
    Ok(PageRank { damping: given.real("damping").unwrap_or(0.85), until, preferred, started, dangling })
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
                Argument::Flag(_) => known.kind == OptionKind::Flag,
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

    fn flag(&self, option: &str) -> Option<bool> {
        if let Some(Argument::Flag(flag)) = self.get(option) { Some(*flag) } else { None }
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
        let source = [("source", Argument::Vertex(VertexId(0)))];
        for about in ALGORITHMS {
            let needs_source = about.options.iter().any(|option| option.name == "source");
            assert!(algorithm(about.name, if needs_source { &source } else { &[] }).is_ok(), "{}", about.name);
        }
    }
}
