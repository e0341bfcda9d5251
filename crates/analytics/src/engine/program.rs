//! What a vertex program is.

use super::value::VertexValue;

/// A vertex, as a program sees it.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Vertex {
    /// Its number among all.
    pub number: u32,
    /// The number of its outgoing edges, or the sum of their weights.
    pub out_degree: f64,
}

/// A step, as a program sees it.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Step {
    /// 0 for the first.
    pub number: u64,
    /// The number of all vertices.
    pub vertices: usize,
    /// How many of them have changed in the step before; at first, all.
    pub changed: u64,
    /// What they contributed after it, added up.
    pub totals: [f64; 2],
}

/// Which vertices compute in a step.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Reads {
    /// All, from the values of all in-neighbours.
    All,
    /// In the first step all; then those with an in-neighbour that has changed in the step before.
    Updated,
}

/// The values of the in-neighbours of a vertex, with the weights of the edges from them.
pub struct Around<'a, V> {
    pub(super) slots: &'a [u32],
    pub(super) weights: &'a [f64],
    pub(super) values: &'a [V],
}

impl<'a, V> Around<'a, V> {
    #[inline]
    pub fn values(&self) -> impl Iterator<Item = &'a V> + use<'a, V> {
        let values = self.values;
        self.slots.iter().map(move |slot| &values[*slot as usize])
    }

    /// Each in-neighbour once, however many edges lead from it.
    pub fn distinct(&self) -> impl Iterator<Item = &'a V> + use<'a, V> {
        let values = self.values;
        self.slots.chunk_by(|a, b| a == b).map(move |same| &values[same[0] as usize])
    }

    /// Each weighs 1 if there are no weights.
    #[inline]
    pub fn weighted(&self) -> impl Iterator<Item = (&'a V, f64)> + use<'a, V> {
        let weights = self.weights.iter().copied().chain(std::iter::repeat(1.0));
        self.values().zip(weights)
    }
}

/// A program that every vertex runs. It is the same for one partition and for many.
pub trait VertexProgram: Sync {
    type Value: VertexValue;

    /// The value before the first step.
    fn init(&self, vertex: Vertex, vertices: usize) -> Self::Value;

    /// The value after a step, from the values before it.
    fn compute(&self, step: Step, vertex: Vertex, own: &Self::Value, around: Around<'_, Self::Value>) -> Self::Value;

    /// What a vertex adds to [`Step::totals`], from its values before a step and after it.
    fn contribute(&self, _vertex: Vertex, _old: &Self::Value, _new: &Self::Value) -> [f64; 2] {
        [0.0; 2]
    }

    fn reads(&self) -> Reads;

    /// Whether a step is needless, and all values are final: after so many steps, or once none changes.
    fn is_done(&self, step: Step) -> bool;
}
