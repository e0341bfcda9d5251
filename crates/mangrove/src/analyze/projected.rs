//! A projected graph for programs of the user's own, over whole arrays.

use std::sync::Arc;

use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_schema::{Field, Schema as ArrowSchema};
use mangrove_analytics::engine::{self, InMemory, Placement, Ran, VertexProgram};
use mangrove_analytics::project::{Along, Reduce};
use mangrove_analytics::{AnalyticsError, Needs, Projection, Stage, watched};
use mangrove_graph::ReadContext;

use super::question::chosen;
use super::{AnalyzeError, AnalyzeOptions, Column, Result, ValuesWritten, columns};
use crate::Database;

/// A part of the graph as arrays. It is a snapshot: changes of the database do not change it.
pub struct Projected {
    pub(super) projection: Projection,
    /// The ids of the vertices, in the order of values.
    pub ids: (Field, ArrayRef),
    threads: usize,
}

impl Database {
    /// Reads a part of the graph into arrays, for programs that compute with the values of all vertices at once.
    ///
    /// # Errors
    /// As [`analyze`](Self::analyze).
    pub fn project(&self, options: &AnalyzeOptions, show: &mut dyn FnMut(Stage)) -> Result<Projected> {
        self.guarded(&|| "projecting the graph".into(), || {
            let limits = options.limits();
            let view = self.backend().view(Some(limits.clone()))?;
            let needs = Needs { incoming: true, ..Needs::default() };
            let (projection, threads) = chosen(&*view, self.source(&*view), options, needs, &limits, show)?;
            let ids = columns::ids(&*view, projection.numbering())?;
            let ids = (ids.field, ids.array);
            Ok(Projected { projection, ids, threads })
        })
    }

    /// Writes a value for each vertex of a projected graph to a property, in one transaction. Nulls remove it. Vertices that were removed
    /// meanwhile are passed over.
    ///
    /// # Errors
    /// If there is not one value for each vertex, or if the graph cannot be written.
    pub fn write_projected(
        &self,
        graph: &Projected,
        key: &str,
        values: &ArrayRef,
        options: &AnalyzeOptions,
    ) -> Result<ValuesWritten> {
        self.guarded(&|| "writing values".into(), || {
            if values.len() != graph.len() {
                return Err(wrong_length(values.len(), graph.len()));
            }
            self.write_values(Column::Array(values), graph.projection.numbering(), key, &options.limits())
        })
    }
}

fn wrong_length(found: usize, wanted: usize) -> AnalyzeError {
    AnalyzeError::Invalid(format!("there are {found} values for {wanted} vertices"))
}

impl Projected {
    pub fn len(&self) -> usize {
        self.projection.vertices()
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// For each vertex, the number of its outgoing edges, or the sum of their weights.
    pub fn out_degrees(&self) -> Vec<f64> {
        self.projection.out_degrees()
    }

    /// For each vertex, the values of its in-neighbours as one. O(E), on all threads.
    ///
    /// # Errors
    /// If there is not one value for each vertex, or if edges have no weights and `along` wants them.
    pub fn gather(&self, values: &[f64], reduce: Reduce, along: Along, limits: &ReadContext) -> Result<Vec<f64>> {
        if values.len() != self.len() {
            return Err(wrong_length(values.len(), self.len()));
        }
        if along != Along::Nothing && !self.projection.has_weights() {
            return Err(AnalyzeError::Invalid("the edges have no weights: project the graph with `weight`".into()));
        }
        let found = watched(self.threads, limits, &mut |_| (), |_| {
            Ok::<_, AnalyticsError>(self.projection.gather(values, reduce, along))
        });
        Ok(found?)
    }

    /// Runs a vertex program over so many partitions. What it comes to does not depend on their number.
    ///
    /// ```
    /// # let directory = tempfile::tempdir()?;
    /// # let path = directory.path().join("people.mg");
    /// use mangrove::analytics::engine::{Around, Reads, Step, Vertex, VertexProgram};
    /// use mangrove::graph::ReadContext;
    /// use mangrove::{AnalyzeOptions, Database, Parameters, QueryOptions};
    ///
    /// /// How many steps it takes until no vertex hears of a greater number: each takes the greatest that it hears of.
    /// struct Greatest;
    ///
    /// impl VertexProgram for Greatest {
    ///     type Value = u32;
    ///
    ///     fn init(&self, vertex: Vertex, _vertices: usize) -> u32 {
    ///         vertex.number
    ///     }
    ///
    ///     fn compute(&self, _step: Step, _vertex: Vertex, own: &u32, around: Around<'_, u32>) -> u32 {
    ///         around.values().copied().fold(*own, u32::max)
    ///     }
    ///
    ///     fn reads(&self) -> Reads {
    ///         Reads::Updated
    ///     }
    ///
    ///     fn is_done(&self, step: Step) -> bool {
    ///         step.changed == 0
    ///     }
    /// }
    ///
    /// let db = Database::open(&path)?;
    /// let add = "g.addV().as('a').addV().as('b').addV().as('c').addE('e').from('c').to('b').addE('e').from('b').to('a')";
    /// db.query(add, &Parameters::new(), &QueryOptions::default())?;
    /// let graph = db.project(&AnalyzeOptions::default(), &mut |_| ())?;
    /// let ran = graph.run(&Greatest, 4, &ReadContext::default())?;
    /// assert_eq!(ran.values, [2, 2, 2]);
    /// assert_eq!(ran.steps, 3); // in the last step nothing changes
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// If the limits end the work.
    pub fn run<P: VertexProgram>(&self, program: &P, partitions: u32, limits: &ReadContext) -> Result<Ran<P::Value>> {
        let ran = watched(self.threads, limits, &mut |_| (), |run| {
            let degrees = self.projection.out_degrees();
            let placement = Placement::Hashed(partitions);
            engine::run(program, self.projection.incoming(), &degrees, placement, &InMemory, run)
        });
        Ok(ran?)
    }

    /// The columns `id` and `value`.
    ///
    /// # Errors
    /// If there is not one value for each vertex.
    pub fn batch(&self, values: ArrayRef) -> Result<RecordBatch> {
        if values.len() != self.len() {
            return Err(wrong_length(values.len(), self.len()));
        }
        let value = Field::new("value", values.data_type().clone(), true);
        let (id, ids) = self.ids.clone();
        let schema = Arc::new(ArrowSchema::new(vec![id, value]));
        RecordBatch::try_new(schema, vec![ids, values]).map_err(columns::invalid)
    }
}
