//! Algorithms as vertex programs: over partitions of this process, or over the part of a graph that a process has.
//!
//! ```text
//!   run_divided   a projection, shared among partitions of this process
//!   run_part      the vertices of one process, of several that run at the same time
//!   Collected     the values of all parts by the numbers of vertices
//! ```

use std::borrow::Cow;
use std::ops::Range;

use mangrove_graph::Direction;

use crate::algorithm::{Algorithm, Divided, Outcome, Values};
use crate::algorithms::{bfs, cdlp, pagerank, sssp, triangles, wcc};
use crate::engine::{
    self, ByNumber, Checkpoints, InMemory, OutDegrees, PartOf, Partition, PartsRan, Placement, Sent, Transport, Unkept,
    VertexProgram, VertexValue,
};
use crate::error::{AnalyticsError, Result};
use crate::project::{Adjacent, Listed, PartLists, Projection};
use crate::run::Run;

/// What a vertex program came to, as an algorithm says it.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Ended {
    pub steps: u64,
    /// What vertices contributed after the last step.
    pub totals: [f64; 2],
    pub sent: Sent,
}

/// Runs an algorithm as a vertex program over partitions of this process; `None` if it is none.
///
/// # Errors
/// If its options make no sense, or if it is to stop.
pub fn run_divided(
    algorithm: &dyn Algorithm,
    graph: &Projection,
    placement: Placement,
    run: &Run,
) -> Result<Option<Outcome>> {
    let Some(divided) = algorithm.divided(graph.numbering())? else { return Ok(None) };
    let edges = divided.edges(graph, run)?;
    let out_degrees = match divided {
        Divided::PageRank { .. } => pagerank::divisors(graph, &edges)?,
        _ => vec![0.0; graph.vertices()],
    };
    let id_order = if divided.reads_ids() { graph.id_order() } else { &[] };
    let partitions = engine::divide(&edges, &out_degrees, placement, &InMemory, run)?;
    let ids = ByNumber::All(id_order);
    let (values, ended) = divided.run(&partitions, graph.vertices(), ids, (&InMemory, &Unkept), run)?;
    let mut all = Collected::new(&divided, graph.vertices());
    for (partition, values) in partitions.iter().zip(&values) {
        all.put(&partition.numbers, values)?;
    }
    Ok(Some(divided.outcome(all, ended, id_order)))
}

/// Runs a vertex program over the part of a graph that this process has, while others run theirs. There are `vertices` in all parts. `ids`
/// holds the places of the ids of its vertices, if they matter. Returns the values of its vertices, in their order.
///
/// # Errors
/// If weights make no sense, if another part fails, or if it is to stop.
pub fn run_part(
    divided: &Divided,
    lists: PartLists,
    part: PartOf<'_>,
    (vertices, ids): (usize, &[u32]),
    (transport, checkpoints): (&dyn Transport, &dyn Checkpoints),
    run: &Run,
) -> Result<(Values, Ended)> {
    let partition = part.joined(lists, transport, run)?;
    divided.check(&partition)?;
    let partitions = [partition];
    let ids = ByNumber::Part { numbers: &partitions[0].numbers, values: ids };
    let (mut values, ended) = divided.run(&partitions, vertices, ids, (transport, checkpoints), run)?;
    let values = values.pop().ok_or_else(|| AnalyticsError::invalid("a part without values"))?;
    Ok((values, ended))
}

impl Divided {
    /// Whether a vertex reads its neighbours along edges of both directions, also in a directed graph.
    fn reads_around(&self) -> bool {
        matches!(self, Divided::Cdlp { .. } | Divided::Triangles | Divided::Wcc)
    }

    /// Whether the order of ids matters.
    pub fn reads_ids(&self) -> bool {
        matches!(self, Divided::Cdlp { .. })
    }

    /// Which edges of a vertex are listed, for a graph that is directed or not, in so many parts.
    pub fn listed(&self, is_directed: bool, parts: usize) -> Listed {
        let is_rank = matches!(self, Divided::PageRank { .. });
        Listed {
            direction: if is_directed && !self.reads_around() { Direction::In } else { Direction::Both },
            loops_once: is_rank && !is_directed,
            // Vertices send each other their lists of neighbours. A part has two versions of its own, and about as many of each other part.
            bytes: if matches!(self, Divided::Triangles) { 8 * parts as u64 } else { 0 },
        }
    }

    /// How the out-degrees of vertices become known, in a graph that is directed or not.
    pub fn out_degrees(&self, is_directed: bool) -> OutDegrees {
        match self {
            Divided::PageRank { .. } if is_directed => OutDegrees::Everywhere,
            Divided::PageRank { .. } => OutDegrees::Listed,
            _ => OutDegrees::Zero,
        }
    }

    /// The edges that vertices read along.
    fn edges<'g>(&self, graph: &'g Projection, run: &Run) -> Result<Cow<'g, Adjacent>> {
        match self {
            Divided::PageRank { .. } => Ok(pagerank::edges(graph)),
            Divided::Sssp { .. } => {
                sssp::check(graph.incoming())?;
                Ok(Cow::Borrowed(graph.incoming()))
            }
            _ if self.reads_around() => graph.around(run),
            _ => Ok(Cow::Borrowed(graph.incoming())),
        }
    }

    /// Fails if the weights of a part make no sense.
    fn check(&self, partition: &Partition<'_>) -> Result<()> {
        match self {
            Divided::PageRank { .. } => {
                pagerank::check_weights(&partition.reads)?;
                pagerank::check_sums(&partition.out_degrees)
            }
            Divided::Sssp { .. } => sssp::check(&partition.reads),
            _ => Ok(()),
        }
    }

    /// Runs over the partitions of this process, and gives the values of each.
    fn run(
        &self,
        partitions: &[Partition<'_>],
        vertices: usize,
        ids: ByNumber<'_, u32>,
        (transport, checkpoints): (&dyn Transport, &dyn Checkpoints),
        run: &Run,
    ) -> Result<(Vec<Values>, Ended)> {
        let over = Over { partitions, vertices, transport, checkpoints, run };
        match self {
            Divided::Bfs { sources } => over.run(&bfs::BfsProgram { sources }, |_, values| Values::Counts(values)),
            // The labels are places of ids.
            Divided::Cdlp { iterations } => {
                over.run(&cdlp::CdlpProgram { ids, iterations: *iterations }, |_, values| Values::Counts(values))
            }
            Divided::PageRank { damping, iterations_max, enough, preference, dangling, start } => {
                let anew = pagerank::Anew { preference: &preference[..], dangling: &dangling[..] };
                let (damping, iterations_max, enough) = (*damping, *iterations_max, *enough);
                let program = pagerank::RankProgram { damping, anew, start, iterations_max, enough };
                over.run(&program, |partition, given| {
                    let ranks = given.iter().zip(&*partition.out_degrees);
                    Values::Reals(ranks.map(|(given, out)| pagerank::rank(*given, *out)).collect())
                })
            }
            Divided::Sssp { source } => over.run(&sssp::SsspProgram { source: *source }, |_, values| Values::Reals(values)),
            Divided::Triangles => over.run(&triangles::TriangleProgram, |_, values| {
                Values::Totals(values.iter().map(|parts| triangles::total(parts)).collect())
            }),
            Divided::Wcc => over.run(&wcc::WccProgram, |_, values| Values::Vertices(values)),
        }
    }

    /// What the algorithm says of the values of all vertices. `id_order` has the place of the id of each, if that matters.
    pub fn outcome(&self, all: Collected, ended: Ended, id_order: &[u32]) -> Outcome {
        let values = all.0;
        let (values, summary) = match (self, values) {
            (Divided::Bfs { .. }, Values::Counts(depths)) => {
                let summary = bfs::summary(&depths);
                (Values::Counts(depths), summary)
            }
            (Divided::Cdlp { .. }, Values::Counts(labels)) => {
                (cdlp::named(id_order, &labels), cdlp::summary(&labels, ended.steps))
            }
            (Divided::PageRank { enough, .. }, values) => (values, pagerank::summary(ended.steps, *enough, ended.totals[1])),
            (Divided::Sssp { .. }, Values::Reals(lengths)) => {
                let summary = sssp::summary(&lengths);
                (Values::Reals(lengths), summary)
            }
            (Divided::Triangles, Values::Totals(found)) => {
                let summary = triangles::summary(&found);
                (Values::Totals(found), summary)
            }
            (Divided::Wcc, Values::Vertices(components)) => {
                let summary = wcc::summary(&components);
                (Values::Vertices(components), summary)
            }
            (_, values) => (values, Vec::new()),
        };
        Outcome::of_program(values, summary, ended.steps, ended.sent)
    }
}

/// Where a program runs.
struct Over<'a> {
    partitions: &'a [Partition<'a>],
    vertices: usize,
    transport: &'a dyn Transport,
    checkpoints: &'a dyn Checkpoints,
    run: &'a Run,
}

impl Over<'_> {
    fn run<P: VertexProgram>(
        &self,
        program: &P,
        said: impl Fn(&Partition<'_>, Vec<P::Value>) -> Values,
    ) -> Result<(Vec<Values>, Ended)> {
        let Over { partitions, vertices, transport, checkpoints, run } = *self;
        let ran = engine::run_parts(program, partitions, vertices, transport, checkpoints, run)?;
        let PartsRan { values, steps, totals, sent } = ran;
        let values = partitions.iter().zip(values).map(|(partition, values)| said(partition, values)).collect();
        Ok((values, Ended { steps, totals, sent }))
    }
}

/// The values of all vertices, of which those of the parts become known.
pub struct Collected(Values);

impl Collected {
    pub fn new(divided: &Divided, vertices: usize) -> Self {
        Self(match divided {
            Divided::Bfs { .. } | Divided::Cdlp { .. } => Values::Counts(vec![0; vertices]),
            Divided::PageRank { .. } | Divided::Sssp { .. } => Values::Reals(vec![0.0; vertices]),
            Divided::Triangles => Values::Totals(vec![0; vertices]),
            Divided::Wcc => Values::Vertices(vec![0; vertices]),
        })
    }

    /// Takes the values of vertices with these numbers.
    ///
    /// # Errors
    /// If there is not one for each, or if they are of another kind.
    pub fn put(&mut self, numbers: &[u32], values: &Values) -> Result<()> {
        let put = match (&mut self.0, values) {
            (Values::Counts(all), Values::Counts(some)) | (Values::Vertices(all), Values::Vertices(some)) => {
                spread(all, numbers, some)
            }
            (Values::Totals(all), Values::Totals(some)) => spread(all, numbers, some),
            (Values::Reals(all), Values::Reals(some)) => spread(all, numbers, some),
            _ => None,
        };
        put.ok_or_else(strange)
    }

    /// The same, from [bytes](Values::bytes).
    ///
    /// # Errors
    /// If there is not one for each.
    pub fn put_bytes(&mut self, numbers: &[u32], bytes: &[u8]) -> Result<()> {
        fn read<V: VertexValue>(all: &mut [V], numbers: &[u32], bytes: &[u8]) -> Option<()> {
            spread(all, numbers, &engine::read_all::<V>(bytes, numbers.len())?)
        }
        let put = match &mut self.0 {
            Values::Counts(all) | Values::Vertices(all) => read(all, numbers, bytes),
            Values::Totals(all) => read(all, numbers, bytes),
            Values::Reals(all) => read(all, numbers, bytes),
            Values::Pairs { .. } | Values::Walks { .. } => None,
        };
        put.ok_or_else(strange)
    }
}

/// Puts values to their numbers; `None` if there is not one for each.
fn spread<V: Clone>(all: &mut [V], numbers: &[u32], values: &[V]) -> Option<()> {
    for (number, value) in numbers.iter().zip(values) {
        *all.get_mut(*number as usize)? = value.clone();
    }
    (numbers.len() == values.len()).then_some(())
}

fn strange() -> AnalyticsError {
    AnalyticsError::invalid("the values of a part are not those of its vertices")
}

impl Values {
    /// Some of the values as bytes; `None` if there are none, or not one for each vertex.
    pub fn bytes(&self, range: Range<usize>) -> Option<Vec<u8>> {
        fn written<V: VertexValue>(values: Option<&[V]>) -> Option<Vec<u8>> {
            let mut bytes = Vec::new();
            engine::write_all(values?.iter(), &mut bytes);
            Some(bytes)
        }
        match self {
            Values::Counts(values) | Values::Vertices(values) => written(values.get(range)),
            Values::Totals(values) => written(values.get(range)),
            Values::Reals(values) => written(values.get(range)),
            Values::Pairs { .. } | Values::Walks { .. } => None,
        }
    }
}
