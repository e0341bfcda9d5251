//! Regular path queries drawn from a schema, so that their paths exist.
//!
//! Shapes and parameters are gMark's (Bagan et al., 2017, section 5): conjunctions of paths in a chain or a star, each path a choice of
//! sequences, some of them repeated without bound. Sequences are walks through the schema. A chain may begin at a given vertex; others ask
//! for all pairs, and their expected number of answers for each vertex is bounded, as in gMark's classes of selectivity.

use std::time::{Duration, Instant};

use mangrove_analytics::algorithms::Random;

use super::typed::TypedSchema;
use crate::{Database, Parameters, QueryError, QueryOptions};

/// What a query looks like.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PathShape {
    /// Paths one after the other.
    Linear,
    /// Paths from one vertex.
    Branched,
    /// A chain with a path that is repeated without bound.
    Recursive,
}

impl PathShape {
    pub const ALL: [Self; 3] = [PathShape::Linear, PathShape::Branched, PathShape::Recursive];

    pub fn name(self) -> &'static str {
        match self {
            PathShape::Linear => "linear",
            PathShape::Branched => "branched",
            PathShape::Recursive => "recursive",
        }
    }
}

/// Sequences of edge labels, each with whether the edge is gone backwards.
pub type Choices = Vec<Vec<(&'static str, bool)>>;

/// A path between two variables: a choice of sequences of edge labels, each with whether it is gone backwards.
#[derive(Clone, PartialEq, Debug)]
pub struct DrawnPath {
    pub source: usize,
    pub target: usize,
    pub choices: Choices,
    pub is_repeated: bool,
}

/// A query: its rows are the pairs of the first and the last variable.
#[derive(Clone, PartialEq, Debug)]
pub struct DrawnQuery {
    pub shape: PathShape,
    /// The id of the vertex that the first variable stands for, if it is given.
    pub start: Option<String>,
    pub paths: Vec<DrawnPath>,
    pub last: usize,
}

/// Answers for each vertex of the first variable that are expected at most.
const ANSWERS_MAX: f64 = 40.0;
/// Paths of a query, choices of a path, edges of a sequence.
const PATHS_MAX: u64 = 3;
const CHOICES_MAX: u64 = 3;
const LENGTH_MAX: u64 = 3;

impl DrawnQuery {
    /// The text of the query.
    pub fn text(&self) -> String {
        let end = |variable: usize| match (&self.start, variable) {
            (Some(id), 0) => format!("'{id}'"),
            _ => format!("?x{variable}"),
        };
        let edge = |(label, is_inverse): &(&str, bool)| format!("{}{label}", if *is_inverse { "^" } else { "" });
        let sequence = |edges: &Vec<(&str, bool)>| edges.iter().map(edge).collect::<Vec<_>>().join("/");
        let path = |path: &DrawnPath| {
            let choices = path.choices.iter().map(sequence).collect::<Vec<_>>().join("|");
            match (path.is_repeated, path.choices.len()) {
                (true, _) => format!("({choices})*"),
                (false, 1) => choices,
                (false, _) => format!("({choices})"),
            }
        };
        let paths = self.paths.iter().map(|of| format!("{} {} {}", end(of.source), path(of), end(of.target)));
        let head = if self.start.is_some() { String::new() } else { "?x0, ".to_owned() };
        format!("({head}?x{}) <- {}", self.last, paths.collect::<Vec<_>>().join(", "))
    }
}

/// Draws queries whose paths a graph of the schema has.
pub struct QueryWriter<'s> {
    schema: &'s TypedSchema,
    counts: Vec<u64>,
    random: Random,
}

/// A step from a type: the number of an edge label, and whether it is gone backwards.
type SchemaStep = (usize, bool);

impl<'s> QueryWriter<'s> {
    pub fn new(schema: &'s TypedSchema, vertices: u64, seed: u64) -> Self {
        Self { schema, counts: schema.counts(vertices), random: Random::of(&[seed, 77]) }
    }

    /// The next query of a shape.
    pub fn draw(&mut self, shape: PathShape) -> DrawnQuery {
        loop {
            if let Some(query) = self.attempt(shape) {
                return query;
            }
        }
    }

    fn attempt(&mut self, shape: PathShape) -> Option<DrawnQuery> {
        let first = self.below(self.schema.vertices.len() as u64) as usize;
        let paths = 1 + self.below(PATHS_MAX) as usize;
        let paths = if shape == PathShape::Linear { paths } else { paths.max(2) };
        let repeated = (shape == PathShape::Recursive).then(|| self.below(paths as u64) as usize);
        // Repeated paths may reach a large part of the graph, so half of these queries have a start.
        let has_start = self.below(if shape == PathShape::Recursive { 2 } else { 4 }) == 0;
        let (mut drawn, mut expected, mut here) = (Vec::with_capacity(paths), 1.0, first);
        for at in 0..paths {
            let from = if shape == PathShape::Branched { first } else { here };
            let is_repeated = repeated == Some(at);
            let (choices, target, fan_out) = self.path(from, is_repeated, has_start)?;
            expected *= fan_out.max(0.05);
            let source = if shape == PathShape::Branched { 0 } else { at };
            drawn.push(DrawnPath { source, target: at + 1, choices, is_repeated });
            here = target;
        }
        let id = self.below(self.counts[first]);
        let start = has_start.then(|| format!("{}:{id}", self.schema.vertices[first].label));
        (expected <= ANSWERS_MAX || has_start).then_some(DrawnQuery { shape, start, paths: drawn, last: paths })
    }

    /// Choices of walks from a type that end at the same type, with that type and the expected number of ends.
    fn path(&mut self, from: usize, is_repeated: bool, has_start: bool) -> Option<(Choices, usize, f64)> {
        let first = self.walk(from, is_repeated.then_some(from))?;
        let target = first.iter().fold(from, |at, step| self.leads(at, *step).unwrap_or(at));
        let mut walks = vec![first];
        for _ in 0..self.below(CHOICES_MAX) {
            walks.extend(self.walk(from, Some(target)));
        }
        walks.sort_unstable();
        walks.dedup();
        let fan_out =
            |walk: &Vec<SchemaStep>| walk.iter().map(|(edge, back)| self.schema.mean(*edge, *back)).product::<f64>();
        let sum: f64 = walks.iter().map(fan_out).sum();
        // A branching process with more than one child does not end.
        if is_repeated && !has_start && sum > 0.9 {
            return None;
        }
        let expected = if is_repeated && sum < 1.0 { 1.0 / (1.0 - sum) } else { sum };
        let named =
            |walk: Vec<SchemaStep>| walk.iter().map(|(edge, back)| (self.schema.edges[*edge].label, *back)).collect();
        Some((walks.into_iter().map(named).collect(), target, expected))
    }

    /// A walk through the schema, which ends at a type if one is given.
    fn walk(&mut self, from: usize, to: Option<usize>) -> Option<Vec<SchemaStep>> {
        for _ in 0..50 {
            let (mut at, mut walk) = (from, Vec::new());
            for _ in 0..1 + self.below(LENGTH_MAX) {
                let steps: Vec<(SchemaStep, usize)> = (0..self.schema.edges.len())
                    .flat_map(|edge| [(edge, false), (edge, true)])
                    .filter_map(|step| Some((step, self.leads(at, step)?)))
                    .filter(|((edge, back), _)| walk.last() != Some(&(*edge, !*back)))
                    .collect();
                if steps.is_empty() {
                    break;
                }
                let (step, leads) = steps[self.below(steps.len() as u64) as usize];
                walk.push(step);
                at = leads;
            }
            if !walk.is_empty() && to.is_none_or(|to| to == at) {
                return Some(walk);
            }
        }
        None
    }

    /// The type that a step leads to from another one.
    fn leads(&self, at: usize, (edge, is_inverse): SchemaStep) -> Option<usize> {
        let of = self.schema.edges[edge];
        let (from, to) = if is_inverse { (of.target, of.source) } else { (of.source, of.target) };
        (from == at).then_some(to)
    }

    fn below(&mut self, bound: u64) -> u64 {
        self.random.below(bound)
    }
}

/// What a query took.
#[derive(Clone, PartialEq, Debug)]
pub struct PathTime {
    pub query: DrawnQuery,
    /// `None` if it ran longer than its timeout, or needed more memory than it may.
    pub rows: Option<u64>,
    pub wall: Duration,
}

/// Runs queries one after the other, and counts their rows.
pub fn run_paths(
    database: &Database,
    queries: impl IntoIterator<Item = DrawnQuery>,
    options: &QueryOptions,
) -> Result<Vec<PathTime>, QueryError> {
    let mut times = Vec::new();
    for query in queries {
        let started = Instant::now();
        let rows = match database.count_paths(&query.text(), &Parameters::new(), options) {
            Ok((rows, _)) => Some(rows),
            Err(QueryError::Query(error))
                if matches!(error.kind, crate::QueryErrorKind::Timeout | crate::QueryErrorKind::Memory) =>
            {
                None
            }
            Err(error) => return Err(error),
        };
        times.push(PathTime { query, rows, wall: started.elapsed() });
    }
    Ok(times)
}

#[cfg(test)]
mod tests {
    use super::super::typed::SOCIAL;
    use super::*;

    #[test]
    fn queries_have_their_shape_and_can_be_read() {
        let mut writer = QueryWriter::new(&SOCIAL, 10_000, 1);
        let mut texts = Vec::new();
        for shape in PathShape::ALL {
            for _ in 0..100 {
                let query = writer.draw(shape);
                mangrove_query::paths::PathQuery::parse(&query.text()).unwrap();
                let repeated = query.paths.iter().filter(|path| path.is_repeated).count();
                assert_eq!(repeated, usize::from(shape == PathShape::Recursive));
                let sources: Vec<usize> = query.paths.iter().map(|path| path.source).collect();
                match shape {
                    PathShape::Branched => assert!(sources.len() > 1 && sources.iter().all(|source| *source == 0)),
                    _ => assert!(sources.iter().enumerate().all(|(at, source)| at == *source)),
                }
                texts.push(query.text());
            }
        }
        texts.sort_unstable();
        texts.dedup();
        assert!(texts.len() > 250, "{} different queries", texts.len());
    }
}
