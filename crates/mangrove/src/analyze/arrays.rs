//! A graph whose edges a program gives, for those who have it elsewhere.

use std::sync::Arc;

use arrow_array::{ArrayRef, UInt32Array};
use arrow_schema::{DataType, Field};
use mangrove_analytics::{Projection, Stage};
use mangrove_query::Parameters;

use super::question::{Answer, Of, Question};
use super::{Analysis, AnalyzeError, AnalyzeOptions, Result, columns};

/// A graph in memory, without a database. Its vertices are the numbers from 0.
pub struct Arrays(Projection);

impl Arrays {
    /// The graph of these edges, each by the numbers of its ends and, perhaps, its weight. An edge of an undirected graph is given once.
    ///
    /// # Errors
    /// If the lists have different lengths, if a number is too great, or if a weight is NaN.
    pub fn new(vertices: u32, ends: (&[u32], &[u32]), weights: Option<&[f64]>, directed: bool) -> Result<Self> {
        Ok(Self(Projection::of_edges(vertices, ends, weights, directed)?))
    }

    /// Runs an algorithm, as [`Database::analyze`](crate::Database::analyze) does. Of the options, those count that choose no part of
    /// the graph and write nothing.
    ///
    /// ```
    /// use mangrove::{AnalyzeOptions, Arrays, Parameters, Value};
    ///
    /// let graph = Arrays::new(4, (&[0, 1], &[1, 2]), None, true)?;
    /// let found = graph.analyze("wcc", &Parameters::new(), &AnalyzeOptions::default(), &mut |_| ())?;
    /// assert_eq!(found.summary, [("components", Value::Int64(2))]);
    /// # Ok::<(), mangrove::AnalyzeError>(())
    /// ```
    ///
    /// # Errors
    /// If a name is unknown, an option is missing or wrong, or memory does not suffice.
    pub fn analyze(
        &self,
        name: &str,
        arguments: &Parameters,
        options: &AnalyzeOptions,
        show: &mut dyn FnMut(Stage),
    ) -> Result<Analysis> {
        let named = [
            ("vertices", options.vertices.is_some()),
            ("vertices_where", options.vertices_where.is_some()),
            ("edges", options.edges.is_some()),
            ("edges_where", options.edges_where.is_some()),
            ("weight", options.weight.is_some()),
            ("write", options.write.is_some()),
        ];
        if let Some((option, _)) = named.into_iter().find(|(_, is_set)| *is_set) {
            return Err(AnalyzeError::Invalid(format!("arrays have no names: leave `{option}` out")));
        }
        let question = Question::new(Of::Arrays(&self.0), name, arguments, options)?;
        let Answer { outcome, warnings, reading, running, .. } = question.run(&options.limits(), show)?;
        let ids: ArrayRef = Arc::new(UInt32Array::from_iter_values(0..self.0.vertices() as u32));
        let values = columns::columns(outcome.values, Field::new("id", DataType::UInt32, true), ids)?;
        Ok(Analysis { values, mixed_ids: None, named: None, summary: outcome.summary, warnings, reading, running })
    }
}
