//! A graph as arrays: the edges of each vertex by its number.
//!
//! ```text
//!   Numbering   the chosen vertices get the numbers 0, 1, 2 …
//!   Adjacent    the other ends of the edges of each vertex, one after the other (compressed sparse rows)
//!   PartLists   those of some vertices, for a process that has a part of the graph
//! ```

mod adjacent;
mod gather;
mod order;
mod part;
mod simple;

use std::borrow::Cow;
use std::sync::Arc;

use mangrove_graph::{Direction, ElementKind, Filter, GraphView, KeyId, LabelId, Numbering, ReadContext, Scan};
use serde::{Deserialize, Serialize};

pub use adjacent::Adjacent;
pub use gather::{Along, Reduce};
pub use order::of_ids;
pub use part::{ListBatch, Listed, PartLists, PlaceRun, Places};

use crate::error::{AnalyticsError, Result};
use crate::run::{Run, Stage, Views};

/// The most vertices: their numbers have 32 bits, and the greatest is [`NONE`].
pub const VERTICES_MAX: u64 = u32::MAX as u64;
/// No vertex.
pub const NONE: u32 = u32::MAX;

/// Which part of a graph is projected.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Selection {
    /// Vertices that have one of these labels; `None` means all.
    pub vertices: Option<Vec<LabelId>>,
    /// Vertices must pass all of these.
    pub filters: Vec<Filter>,
    /// Edges with one of these labels; `None` means all. Edges that end at a vertex that is not chosen are left out.
    pub edges: Option<Vec<LabelId>>,
    /// Edges must pass this.
    pub edge_filter: Option<Filter>,
    /// The property of edges that is their weight; without one, each weighs 1.
    pub weight: Option<KeyId>,
    /// Whether edges lead one way only.
    pub is_directed: bool,
}

impl Selection {
    /// The numbers of the chosen vertices.
    ///
    /// # Errors
    /// If there are too many.
    pub fn numbering(&self, view: &dyn GraphView) -> Result<Numbering> {
        let numbering = Numbering::new(view, &self.scan())?;
        match numbering.count() < VERTICES_MAX {
            true => Ok(numbering),
            false => Err(AnalyticsError::TooManyVertices { vertices: numbering.count(), most: VERTICES_MAX - 1 }),
        }
    }

    /// A scan of the chosen vertices.
    fn scan(&self) -> Scan {
        Scan { labels: self.vertices.clone(), filters: self.filters.clone(), ..Scan::default() }
    }
}

/// What an algorithm reads of a graph.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Needs {
    /// The edges of each vertex by their target.
    pub incoming: bool,
    /// The edges of each vertex by their source.
    pub outgoing: bool,
    /// The order of the vertices' ids.
    pub id_order: bool,
}

/// A projected graph. A clone shares its arrays.
#[derive(Clone)]
pub struct Projection {
    numbering: Arc<Numbering>,
    is_directed: bool,
    has_weights: bool,
    incoming: Option<Arc<Adjacent>>,
    outgoing: Option<Arc<Adjacent>>,
    id_order: Option<Arc<Vec<u32>>>,
}

/// How a projection is made.
pub struct Reading<'a> {
    pub threads: usize,
    /// The most bytes that it may take.
    pub bytes_max: u64,
    /// When to stop.
    pub limits: &'a ReadContext,
    /// Told how far it is, on the calling thread.
    pub show: &'a mut dyn FnMut(Stage),
}

impl Projection {
    /// Reads what is needed. O(vertices + edges·log degree).
    ///
    /// # Errors
    /// If there are too many vertices or too little memory, which is estimated before the edges are read; if a weight is no number.
    pub fn new(view: &dyn GraphView, selection: &Selection, needs: Needs, reading: Reading<'_>) -> Result<Self> {
        let views = Views::new(view, reading.threads)?;
        let nothing = Self {
            numbering: Arc::new(selection.numbering(view)?),
            is_directed: selection.is_directed,
            has_weights: selection.weight.is_some(),
            incoming: None,
            outgoing: None,
            id_order: None,
        };
        nothing.filled(view, views, selection, needs, reading)
    }

    /// The same projection with all that is needed. What is there already is shared. View and selection must be those that it was made
    /// with.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn extended(&self, view: &dyn GraphView, selection: &Selection, needs: Needs, reading: Reading<'_>) -> Result<Self> {
        match self.missing(needs) {
            Needs { incoming: false, outgoing: false, id_order: false } => Ok(self.clone()),
            _ => self.filled(view, Views::new(view, reading.threads)?, selection, needs, reading),
        }
    }

    fn filled(
        &self,
        view: &dyn GraphView,
        mut views: Views<'_>,
        selection: &Selection,
        needs: Needs,
        mut reading: Reading<'_>,
    ) -> Result<Self> {
        let missing = self.missing(needs);
        let needed = estimate(view, selection, needs, self.numbering.count())?;
        if needed > reading.bytes_max {
            let (needed_mb, allowed_mb) = (needed.div_ceil(1 << 20), reading.bytes_max >> 20);
            return Err(AnalyticsError::TooLittleMemory { needed_mb, allowed_mb });
        }
        let mut all = self.clone();
        let mut read = |direction| {
            Adjacent::read(&mut views, &self.numbering, selection, direction, &mut reading).map(Arc::new).map(Some)
        };
        if !self.is_directed && (missing.incoming || missing.outgoing) {
            all.incoming = read(Direction::Both)?;
            all.outgoing = all.incoming.clone();
        } else {
            if missing.incoming {
                all.incoming = read(Direction::In)?;
            }
            if missing.outgoing {
                all.outgoing = read(Direction::Out)?;
            }
        }
        if missing.id_order {
            all.id_order = Some(Arc::new(order::of_ids(view, &self.numbering, reading.limits)?));
        }
        Ok(all)
    }

    /// A graph whose edges are given, by the numbers of their ends, with all that algorithms need. The order of numbers is that of ids.
    /// An edge of an undirected graph is given once. O(V + E·log degree).
    ///
    /// # Errors
    /// If the lists have different lengths, if a number is too great, or if a weight is NaN.
    pub fn of_edges(
        vertices: u32,
        (sources, targets): (&[u32], &[u32]),
        weights: Option<&[f64]>,
        is_directed: bool,
    ) -> Result<Self> {
        if sources.len() != targets.len() || weights.is_some_and(|weights| weights.len() != sources.len()) {
            return Err(AnalyticsError::invalid("sources, targets and weights must have the same length"));
        }
        if let Some(end) = sources.iter().chain(targets).find(|end| **end >= vertices) {
            return Err(AnalyticsError::invalid(format!("an edge ends at {end}, but there are {vertices} vertices")));
        }
        if weights.is_some_and(|weights| weights.iter().any(|weight| weight.is_nan())) {
            return Err(AnalyticsError::invalid("a weight is NaN"));
        }
        let count = vertices as usize;
        let pairs = sources.iter().copied().zip(targets.iter().copied());
        let given = weights.unwrap_or_default();
        let turn = |(source, target): (u32, u32)| (target, source);
        let (incoming, outgoing) = if is_directed {
            let incoming = Adjacent::of_pairs(count, pairs.clone(), given);
            (Arc::new(incoming), Arc::new(Adjacent::of_pairs(count, pairs.map(turn), given)))
        } else {
            let given: Vec<f64> = given.iter().chain(given).copied().collect();
            let both = pairs.clone().chain(pairs.map(turn));
            let around = Arc::new(Adjacent::of_pairs(count, both, &given));
            (around.clone(), around)
        };
        Ok(Self {
            numbering: Arc::new(Numbering::dense(LabelId(0), vertices.into())),
            is_directed,
            has_weights: weights.is_some(),
            incoming: Some(incoming),
            outgoing: Some(outgoing),
            id_order: Some(Arc::new((0..vertices).collect())),
        })
    }

    /// The same graph with each edge turned around.
    pub fn turned(self) -> Self {
        Self { incoming: self.outgoing, outgoing: self.incoming, ..self }
    }

    /// What of the needs is not there.
    fn missing(&self, needs: Needs) -> Needs {
        Needs {
            incoming: needs.incoming && self.incoming.is_none(),
            outgoing: needs.outgoing && self.outgoing.is_none(),
            id_order: needs.id_order && self.id_order.is_none(),
        }
    }

    /// The number of vertices.
    pub fn vertices(&self) -> usize {
        self.numbering.count() as usize
    }

    pub fn numbering(&self) -> &Numbering {
        &self.numbering
    }

    pub fn is_directed(&self) -> bool {
        self.is_directed
    }

    /// Whether edges have weights; otherwise each weighs 1.
    pub fn has_weights(&self) -> bool {
        self.has_weights
    }

    /// The edges of each vertex by their target; of an undirected graph, by either end.
    ///
    /// # Panics
    /// If the algorithm did not say that it needs them.
    pub fn incoming(&self) -> &Adjacent {
        self.incoming.as_deref().expect("the algorithm needs incoming edges")
    }

    /// The edges of each vertex by their source; of an undirected graph, by either end.
    ///
    /// # Panics
    /// If the algorithm did not say that it needs them.
    pub fn outgoing(&self) -> &Adjacent {
        self.outgoing.as_deref().expect("the algorithm needs outgoing edges")
    }

    /// For each vertex, the number of its outgoing edges, or the sum of their weights. It is counted from the incoming ones. O(E).
    pub fn out_degrees(&self) -> Vec<f64> {
        self.out_degrees_in(self.incoming())
    }

    /// The same for other lists of incoming edges of these vertices.
    pub fn out_degrees_in(&self, incoming: &Adjacent) -> Vec<f64> {
        let mut degrees = vec![0.0; self.vertices()];
        if !self.is_directed && !self.has_weights {
            degrees.iter_mut().enumerate().for_each(|(vertex, degree)| *degree = incoming.degree(vertex) as f64);
            return degrees;
        }
        for vertex in 0..self.vertices() {
            incoming.weighted(vertex).for_each(|(other, weight)| degrees[other as usize] += weight);
        }
        degrees
    }

    /// The edges of each vertex by either end. It needs the incoming edges of a directed graph. O(E·log degree).
    pub fn around(&self, run: &Run) -> Result<Cow<'_, Adjacent>> {
        Ok(if self.is_directed { Cow::Owned(self.incoming().with_turned(run)?) } else { Cow::Borrowed(self.incoming()) })
    }

    /// For each vertex, the place of its id among all ids in order.
    ///
    /// # Panics
    /// If the algorithm did not say that it needs it.
    pub fn id_order(&self) -> &[u32] {
        self.id_order.as_deref().map(Vec::as_slice).expect("the algorithm needs the order of ids")
    }

    /// The number of entries in all lists.
    pub fn entries(&self) -> u64 {
        let of = |adjacent: &Option<Arc<Adjacent>>| adjacent.as_ref().map_or(0, |adjacent| adjacent.edges());
        of(&self.incoming).max(of(&self.outgoing)) * if self.is_directed { 2 } else { 1 }
    }

    /// The bytes that it holds.
    pub fn bytes(&self) -> u64 {
        let of = |adjacent: &Option<Arc<Adjacent>>| adjacent.as_ref().map_or(0, |adjacent| adjacent.bytes());
        let edges = of(&self.incoming) + if self.is_directed { of(&self.outgoing) } else { 0 };
        edges + self.id_order.as_ref().map_or(0, |order| size_of_val(&order[..]) as u64)
    }
}

/// About how many bytes a projection takes, and the values of an algorithm with it. Edges are counted by label.
fn estimate(view: &dyn GraphView, selection: &Selection, needs: Needs, vertices: u64) -> Result<u64> {
    let statistics = view.statistics()?;
    let edges: u64 = match &selection.edges {
        None => statistics.edges.iter().sum(),
        Some(labels) => labels.iter().map(|label| statistics.count(ElementKind::Edge, *label)).sum(),
    };
    let of_edge = if selection.weight.is_some() { 12 } else { 4 };
    let lists = match selection.is_directed {
        true => u64::from(needs.incoming) + u64::from(needs.outgoing),
        false => 2 * u64::from(needs.incoming || needs.outgoing),
    };
    let starts = lists.min(if selection.is_directed { 2 } else { 1 });
    Ok(lists * edges * of_edge + (starts + 3) * vertices * 8)
}
