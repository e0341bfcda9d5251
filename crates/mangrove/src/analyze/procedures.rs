//! The algorithms as procedures: `call('mangrove.pagerank')`.

use mangrove_analytics::{About, NONE, Stage, Values, registry};
use mangrove_graph::{Map, Numbering, Value, VertexId};
use mangrove_query::procedure::{Failure, Invocation, Procedure, Values as Given};

use super::question::{Of, Question};
use super::{AnalyzeOptions, Result};

/// Parameters that every algorithm has.
const COMMON: [(&str, &str); 6] = [
    ("vertices", "labels of vertices, one or a list; default: all"),
    ("edges", "labels of edges, one or a list; default: all"),
    ("vertices_where", "tests of properties that vertices must pass, as text: has('age', gt(30)); default: none"),
    ("edges_where", "tests of one property that edges must pass, as text; default: none"),
    ("directed", "whether edges lead one way only; default: true"),
    ("threads", "how many threads work; default: one for each core"),
];
const WEIGHT: (&str, &str) = ("weight", "the property of edges that is their weight; default: each weighs 1");

/// About what a row takes.
const ROW_BYTES: usize = 160;

/// Each algorithm with its name.
pub fn all() -> impl Iterator<Item = (String, Procedure)> {
    registry::ALGORITHMS.iter().map(|about| (format!("mangrove.{}", about.name), procedure(about)))
}

fn procedure(about: &'static About) -> Procedure {
    let mut procedure = Procedure::new(move |call| run(about, call)).describe(about.what).columns(columns(about).to_vec());
    for option in about.options {
        procedure = procedure.parameter(option.name, option.what);
    }
    let weight = about.takes_weights.then_some(WEIGHT);
    COMMON.into_iter().chain(weight).fold(procedure, |procedure, (name, what)| procedure.parameter(name, what))
}

fn columns(about: &About) -> &'static [&'static str] {
    match about.name {
        "similarity" => &["vertex", "other", "value"],
        "walks" => &["vertex", "walk"],
        _ => &["vertex", "value"],
    }
}

fn run(about: &'static About, call: &Invocation<'_>) -> Result<Given, Failure> {
    let mut options = AnalyzeOptions {
        memory_bytes: Some(call.limits.budget.bytes_max() as u64),
        cancel: call.limits.cancel.clone(),
        ..AnalyzeOptions::default()
    };
    let mut arguments = mangrove_query::Parameters::new();
    for (name, value) in call.parameters.iter() {
        let name = name.as_str().unwrap_or_default();
        match name {
            "vertices" => options.vertices = Some(names(name, value)?),
            "edges" => options.edges = Some(names(name, value)?),
            "vertices_where" => options.vertices_where = Some(text(name, value)?),
            "edges_where" => options.edges_where = Some(text(name, value)?),
            "weight" => options.weight = Some(text(name, value)?),
            "directed" => options.directed = value.as_bool().ok_or_else(|| format!("`{name}` must be true or false"))?,
            "threads" => {
                let count = value.as_i64().and_then(|count| usize::try_from(count).ok()).filter(|count| *count > 0);
                options.threads = count.ok_or_else(|| format!("`{name}` must be a number from 1"))?;
            }
            // A call warns of parameters that the procedure does not have.
            name if about.options.iter().any(|option| option.name == name) => {
                arguments.insert(name.to_owned(), value.clone());
            }
            _ => {}
        }
    }
    let question = Question::new(Of::View(call.graph, None), about.name, &arguments, &options)?;
    let answer = question.run(&call.limits, &mut |_: Stage| ())?;
    let vertices = answer.numbering.count() as usize;
    call.limits.budget.fits(vertices.saturating_mul(ROW_BYTES))?;
    Ok(Box::new(rows(columns(about), answer.outcome.values, &answer.numbering).into_iter().map(Ok)))
}

fn text(name: &str, value: &Value) -> Result<String, Failure> {
    value.as_str().map(str::to_owned).ok_or_else(|| format!("`{name}` must be a name, not {value}").into())
}

fn names(name: &str, value: &Value) -> Result<Vec<String>, Failure> {
    match value {
        Value::List(items) => items.iter().map(|item| text(name, item)).collect(),
        one => Ok(vec![text(name, one)?]),
    }
}

/// A map for each row, with the elements themselves.
fn rows(columns: &[&'static str], values: Values, numbering: &Numbering) -> Vec<Value> {
    let vertices: Vec<VertexId> = numbering.slice(0..numbering.count());
    let vertex = |number: u32| if number == NONE { Value::Null } else { Value::Vertex(vertices[number as usize]) };
    let row = |cells: Vec<Value>| {
        Value::map(Map::from_distinct(columns.iter().map(|name| Value::from(*name)).zip(cells).collect()))
    };
    let with_vertex = |values: &mut dyn Iterator<Item = Value>| -> Vec<Value> {
        vertices.iter().zip(values).map(|(vertex, value)| row(vec![Value::Vertex(*vertex), value])).collect()
    };
    match values {
        Values::Counts(values) => with_vertex(&mut values.into_iter().map(|value| match value {
            NONE => Value::Null,
            value => Value::Int64(value.into()),
        })),
        Values::Totals(values) => with_vertex(&mut values.into_iter().map(|value| Value::Int64(value as i64))),
        Values::Reals(values) => with_vertex(&mut values.into_iter().map(|value| match value.is_finite() {
            true => Value::Float64(value),
            false => Value::Null,
        })),
        Values::Vertices(values) => with_vertex(&mut values.into_iter().map(vertex)),
        Values::Pairs { vertices, others, values } => {
            let pairs = vertices.into_iter().zip(others).zip(values);
            pairs.map(|((a, b), value)| row(vec![vertex(a), vertex(b), Value::Float64(value)])).collect()
        }
        Values::Walks { starts, vertices } => {
            let walks = starts.windows(2).map(|ends| &vertices[ends[0]..ends[1]]);
            walks.map(|walk| row(vec![vertex(walk[0]), Value::list(walk.iter().map(|at| vertex(*at)).collect())])).collect()
        }
    }
}
