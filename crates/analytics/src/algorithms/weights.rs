//! Weights that are given for some vertices.

use mangrove_graph::VertexId;

use crate::error::{AnalyticsError, Result};
use crate::project::Projection;

/// A weight for each vertex by its number: the sum of those given for it. `what` names one in errors.
///
/// # Errors
/// If a vertex was not chosen, or if a weight is negative or no number.
pub fn by_number(graph: &Projection, weights: &[(VertexId, f64)], what: &str) -> Result<Vec<f64>> {
    let mut all = vec![0.0; graph.vertices()];
    for (vertex, weight) in weights {
        let number = graph.numbering().number(*vertex);
        let number =
            number.ok_or_else(|| AnalyticsError::invalid(format!("a vertex with a {what} is not among the chosen ones")))?;
        if !(*weight >= 0.0 && weight.is_finite()) {
            return Err(AnalyticsError::invalid(format!("a {what} is {weight}; it must be 0 or more")));
        }
        all[number as usize] += weight;
    }
    Ok(all)
}
