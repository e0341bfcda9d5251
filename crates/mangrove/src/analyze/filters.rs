//! Which vertices and edges are analysed, as tests of Gremlin: `has('age', gt(30))`.

use std::sync::Arc;

use mangrove_graph::{ElementKind, Filter, GraphView, Predicate};
use mangrove_query::plan::Step;
use mangrove_query::{Parameters, Query, QueryOptions};

use super::question::unknown;
use super::{AnalyzeError, Result};

/// The filters that some `has()` tests make.
///
/// # Errors
/// If the text is no Gremlin, tests more than properties, or names a property that the graph does not have.
fn filters(view: &dyn GraphView, kind: ElementKind, option: &str, text: &str) -> Result<Vec<Filter>> {
    let start = if kind == ElementKind::Vertex { "V" } else { "E" };
    let refused = |why: &str| AnalyzeError::Invalid(format!("`{option}` is {text:?}; {why}"));
    const TAKES: &str = "it takes has(key, value) or has(key, predicate), one after the other";
    let plan = Query::parse(&format!("g.{start}().{text}"))
        .and_then(|query| query.plan(view, &Parameters::new(), &QueryOptions::default()))
        .map_err(|error| refused(&format!("{}; {TAKES}", error.message)))?;
    let tests = match &plan.traversal.steps[..] {
        [node] => match &node.step {
            Step::Scan { kind: of, ids: None, labels: None, also, filters }
                if *of == kind && also.is_empty() && !filters.is_empty() =>
            {
                filters
            }
            _ => return Err(refused(TAKES)),
        },
        _ => return Err(refused(TAKES)),
    };
    let schema = view.schema();
    let filter = |(key, predicate): &(Arc<str>, Predicate)| {
        let known = schema.key(key).ok_or_else(|| unknown("property key", key, schema.known_keys().map(|name| &**name)));
        Ok(Filter { key: known?, predicate: predicate.clone() })
    };
    tests.iter().map(filter).collect()
}

/// Which vertices pass.
pub fn of_vertices(view: &dyn GraphView, text: Option<&str>) -> Result<Vec<Filter>> {
    text.map_or(Ok(Vec::new()), |text| filters(view, ElementKind::Vertex, "vertices_where", text))
}

/// Which edges pass: they can be tested for one property.
pub fn of_edges(view: &dyn GraphView, text: Option<&str>) -> Result<Option<Filter>> {
    let Some(text) = text else { return Ok(None) };
    let mut found = filters(view, ElementKind::Edge, "edges_where", text)?.into_iter();
    let Some(mut filter) = found.next() else { return Ok(None) };
    for other in found {
        if other.key != filter.key {
            return Err(AnalyzeError::Invalid(format!("`edges_where` is {text:?}; it may test one property only")));
        }
        filter.predicate = Predicate::And(vec![filter.predicate, other.predicate]);
    }
    Ok(Some(filter))
}
