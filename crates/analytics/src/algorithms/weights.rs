//! Weights that are given for some vertices.

use mangrove_graph::{Numbering, VertexId};

use crate::error::{AnalyticsError, Result};

/// A weight for each vertex by its number: the sum of those given for it. `what` names one in errors.
///
/// # Errors
/// If a vertex was not chosen, or if a weight is negative or no number.
pub fn by_number(numbering: &Numbering, weights: &[(VertexId, f64)], what: &str) -> Result<Vec<f64>> {
    let mut all = vec![0.0; numbering.count() as usize];
    for (number, weight) in given(numbering, weights, what)? {
        all[number as usize] = weight;
    }
    Ok(all)
}

/// The same for the vertices that have one, in the order of numbers.
pub fn given(numbering: &Numbering, weights: &[(VertexId, f64)], what: &str) -> Result<Vec<(u32, f64)>> {
    let weight = |(vertex, weight): &(VertexId, f64)| {
        let number = numbering.number(*vertex);
        let number =
            number.ok_or_else(|| AnalyticsError::invalid(format!("a vertex with a {what} is not among the chosen ones")))?;
        match *weight >= 0.0 && weight.is_finite() {
            true => Ok((number as u32, *weight)),
            false => Err(AnalyticsError::invalid(format!("a {what} is {weight}; it must be 0 or more"))),
        }
    };
    let mut all: Vec<(u32, f64)> = weights.iter().map(weight).collect::<Result<_>>()?;
    all.sort_by_key(|(number, _)| *number);
    all.dedup_by(|next, kept| {
        let is_same = next.0 == kept.0;
        if is_same {
            kept.1 += next.1;
        }
        is_same
    });
    Ok(all)
}
