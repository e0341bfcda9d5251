//! Graphs from a schema: types of vertices with their shares, and for each edge label how many edges leave and reach a vertex.
//!
//! Bagan et al.: gMark: Schema-Driven Generation of Graphs and Queries, IEEE TKDE 29, 2017, sections 3 and 4. An edge label joins one type
//! to another. Each vertex gets as many out-stubs and in-stubs as its distributions say; stubs are joined at random, and those left over
//! are dropped.

use mangrove_analytics::algorithms::Random;
use mangrove_directory::{Patience, Writer};
use mangrove_graph::{ElementKind, ExternalId, GraphError, NewEdge, VertexId};
use mangrove_ingest::{Phase, Progress, Status};

use super::skew::zipf;
use crate::Database;
use crate::error::LoadError;

/// How many edges a vertex has.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Degrees {
    /// From one number to another, each as often.
    Uniform(u64, u64),
    /// Around a mean, with a deviation.
    Gaussian(f64, f64),
    /// Some vertices have very many: so many on average, by Zipf's law with this skew.
    Zipf(f64, f64),
    /// As many as the other side makes: any vertex may get any edge.
    Any,
}

/// A label of edges between two types, by number.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct EdgeType {
    pub source: usize,
    pub label: &'static str,
    pub target: usize,
    pub out: Degrees,
    pub into: Degrees,
}

/// The vertices of a type: a share of all.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct VertexType {
    pub label: &'static str,
    pub share: f64,
}

pub struct TypedSchema {
    pub vertices: &'static [VertexType],
    pub edges: &'static [EdgeType],
}

const fn vertices(label: &'static str, share: f64) -> VertexType {
    VertexType { label, share }
}

const fn edges(source: usize, label: &'static str, target: usize, out: Degrees, into: Degrees) -> EdgeType {
    EdgeType { source, label, target, out, into }
}

/// A social network: people who know each other, what they write, and replies to it.
pub const SOCIAL: TypedSchema = TypedSchema {
    vertices: &[
        vertices("person", 0.25),
        vertices("post", 0.25),
        vertices("comment", 0.40),
        vertices("forum", 0.05),
        vertices("tag", 0.03),
        vertices("city", 0.02),
    ],
    edges: &[
        edges(0, "knows", 0, Degrees::Zipf(3.0, 0.6), Degrees::Any),
        edges(0, "livesIn", 5, Degrees::Uniform(1, 1), Degrees::Any),
        edges(0, "likes", 1, Degrees::Zipf(2.0, 0.7), Degrees::Any),
        edges(0, "interestedIn", 4, Degrees::Uniform(0, 3), Degrees::Any),
        edges(1, "postedBy", 0, Degrees::Uniform(1, 1), Degrees::Zipf(1.0, 0.5)),
        edges(1, "hasTag", 4, Degrees::Gaussian(1.5, 1.0), Degrees::Any),
        edges(2, "writtenBy", 0, Degrees::Uniform(1, 1), Degrees::Any),
        edges(2, "replyOf", 1, Degrees::Uniform(0, 1), Degrees::Any),
        edges(2, "answers", 2, Degrees::Uniform(0, 1), Degrees::Any),
        edges(3, "contains", 1, Degrees::Gaussian(5.0, 2.0), Degrees::Uniform(1, 1)),
        edges(3, "hasMember", 0, Degrees::Zipf(8.0, 0.5), Degrees::Any),
        edges(5, "partOf", 5, Degrees::Uniform(0, 1), Degrees::Any),
    ],
};

impl TypedSchema {
    /// How many vertices each type has.
    pub fn counts(&self, vertices: u64) -> Vec<u64> {
        self.vertices.iter().map(|of| ((vertices as f64 * of.share) as u64).max(1)).collect()
    }

    /// The edges of a label on average for a vertex of one of its sides.
    pub fn mean(&self, edge: usize, is_inverse: bool) -> f64 {
        let of = self.edges[edge];
        let edges = self.vertices[of.source].share * of.out.mean();
        edges / self.vertices[if is_inverse { of.target } else { of.source }].share
    }
}

impl Degrees {
    fn mean(self) -> f64 {
        match self {
            Degrees::Uniform(low, high) => (low + high) as f64 / 2.0,
            Degrees::Gaussian(mean, _) | Degrees::Zipf(mean, _) => mean,
            Degrees::Any => 1.0,
        }
    }

    /// The stubs of `count` vertices: each as often as its degree says. `None` if any vertex may have any edge.
    fn stubs(self, random: &mut Random, count: u64) -> Option<Vec<u32>> {
        let mut stubs = Vec::new();
        match self {
            Degrees::Any => return None,
            Degrees::Zipf(mean, skew) => {
                let edges = (mean * count as f64) as u64;
                stubs.extend((0..edges).map(|_| zipf(random, count, skew) as u32));
            }
            Degrees::Uniform(low, high) => {
                for vertex in 0..count {
                    stubs.extend((0..low + random.below(high - low + 1)).map(|_| vertex as u32));
                }
            }
            Degrees::Gaussian(mean, deviation) => {
                for vertex in 0..count {
                    // The sum of twelve numbers from 0 up to 1 has a mean of 6 and a deviation of 1.
                    let normal: f64 = (0..12).map(|_| random.share()).sum::<f64>() - 6.0;
                    let degree = (mean + deviation * normal).round().max(0.0) as u64;
                    stubs.extend((0..degree).map(|_| vertex as u32));
                }
            }
        }
        Some(stubs)
    }
}

/// The edges of a type as pairs of numbers within their types.
fn pairs(random: &mut Random, of: &EdgeType, counts: &[u64]) -> Vec<(u32, u32)> {
    let sources = of.out.stubs(random, counts[of.source]);
    let targets = of.into.stubs(random, counts[of.target]);
    let any = |random: &mut Random, side: usize, count: usize| {
        (0..count).map(|_| random.below(counts[side]) as u32).collect::<Vec<u32>>()
    };
    let (sources, mut targets) = match (sources, targets) {
        (Some(sources), Some(targets)) => (sources, targets),
        (Some(sources), None) => {
            let targets = any(random, of.target, sources.len());
            (sources, targets)
        }
        (None, Some(targets)) => (any(random, of.source, targets.len()), targets),
        (None, None) => (Vec::new(), Vec::new()),
    };
    (1..targets.len()).rev().for_each(|at| targets.swap(at, random.below(at as u64 + 1) as usize));
    sources.into_iter().zip(targets).collect()
}

/// Loads a graph of a schema into an empty database. Ids are `person:0`, `person:1` …, as texts.
pub fn make_typed(
    database: &Database,
    schema: &TypedSchema,
    vertices: u64,
    seed: u64,
    progress: &mut dyn Progress,
) -> Result<(), LoadError> {
    database.guarded(&|| "making a graph from a schema".into(), || {
        let transaction = database.backend().begin(Writer::this_thread(), Patience::ENDLESS)?;
        if !transaction.is_unused()? {
            return Err(GraphError::Invalid("the database is not empty".into()).into());
        }
        let mut bulk = transaction.into_bulk()?;
        let into = bulk.graph();
        let (counts, mut random) = (schema.counts(vertices), Random::of(&[seed, vertices]));
        let mut of_type: Vec<Vec<VertexId>> = Vec::with_capacity(counts.len());
        for (of, count) in schema.vertices.iter().zip(&counts) {
            let label = into.ensure_label(ElementKind::Vertex, of.label)?;
            let ids: Vec<_> = (0..*count).map(|at| Some(ExternalId::from(format!("{}:{at}", of.label).as_str()))).collect();
            let mut added = Vec::with_capacity(ids.len());
            ids.chunks(16_384).try_for_each(|ids| into.add_vertices(label, ids, &mut added))?;
            of_type.push(added);
        }
        let mut rows = vertices;
        for of in schema.edges {
            let label = into.ensure_label(ElementKind::Edge, of.label)?;
            for some in pairs(&mut random, of, &counts).chunks(16_384) {
                let new = |(source, target): &(u32, u32)| NewEdge {
                    source: of_type[of.source][*source as usize],
                    target: of_type[of.target][*target as usize],
                    id: None,
                    time: None,
                };
                let edges: Vec<NewEdge> = some.iter().map(new).collect();
                into.add_edges(label, &edges, &mut Vec::with_capacity(edges.len()))?;
                rows += edges.len() as u64;
                progress.update(&Status { phase: Phase::Edges, rows, ..Status::default() });
                if progress.cancelled() {
                    return Err(LoadError::Load(mangrove_ingest::LoadError::Cancelled));
                }
            }
        }
        progress.update(&Status { phase: Phase::Compacting, rows, ..Status::default() });
        Ok(bulk.commit(&|| progress.cancelled())?)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn degrees_follow_their_distributions() {
        let mut random = Random::new(3);
        let counts = SOCIAL.counts(10_000);
        assert_eq!(counts, [2500, 2500, 4000, 500, 300, 200]);
        for (at, of) in SOCIAL.edges.iter().enumerate() {
            let edges = pairs(&mut random, of, &counts);
            let (from, to) = (counts[of.source] as f64, counts[of.target] as f64);
            let mean = edges.len() as f64 / from;
            assert!((mean - SOCIAL.mean(at, false)).abs() < 0.1 * mean + 0.05, "{}: {mean}", of.label);
            assert!((edges.len() as f64 / to - SOCIAL.mean(at, true)).abs() < 0.1 * edges.len() as f64 / to + 0.05);
            let mut degrees = vec![0u64; counts[of.source] as usize];
            edges.iter().for_each(|(source, _)| degrees[*source as usize] += 1);
            let most = *degrees.iter().max().unwrap();
            match of.out {
                Degrees::Uniform(_, high) => assert!(most <= high),
                Degrees::Gaussian(mean, deviation) => assert!((most as f64) < mean + 6.5 * deviation),
                Degrees::Zipf(mean, _) => assert!(most as f64 > 20.0 * mean, "{}: {most}", of.label),
                Degrees::Any => {}
            }
        }
        // Both sides are kept to: no post is in two forums.
        let contains = pairs(&mut random, &SOCIAL.edges[9], &counts);
        let mut posts: Vec<u32> = contains.iter().map(|(_, post)| *post).collect();
        posts.sort_unstable();
        assert!(posts.windows(2).all(|two| two[0] != two[1]));
    }
}
