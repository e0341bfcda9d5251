//! The procedures that every database has. They list what the graph holds, as values for the rest of a query.

use mangrove_graph::{ElementKind, GraphView, LabelId, Map, Value};

use super::{Failure, Invocation, Procedure, Values};

const KIND: &str = "kind";
const KIND_IS: &str = "'vertex' or 'edge'; default: both";

pub(super) fn all() -> [(&'static str, Procedure); 4] {
    [
        (
            "mangrove.indexes",
            Procedure::new(indexes)
                .describe("the indexes: a map of kind, label and key each")
                .columns([KIND, "label", "key"]),
        ),
        (
            "mangrove.labels",
            Procedure::new(labels).describe("the names of the labels that elements have").parameter(KIND, KIND_IS),
        ),
        (
            "mangrove.schema",
            Procedure::new(schema)
                .describe("each property of each label: a map of kind, label, key, types and cardinality")
                .columns([KIND, "label", "key", "types", "cardinality"])
                .parameter(KIND, KIND_IS),
        ),
        (
            "mangrove.statistics",
            Procedure::new(statistics)
                .describe("how many vertices and edges there are of each label, as one map")
                .columns(["vertices", "edges"]),
        ),
    ]
}

fn all_of(values: Vec<Value>) -> Result<Values, Failure> {
    Ok(Box::new(values.into_iter().map(Ok)))
}

fn map(entries: Vec<(&str, Value)>) -> Value {
    Value::map(Map::from_distinct(entries.into_iter().map(|(key, value)| (key.into(), value)).collect()))
}

/// The kinds of elements that the call asks for.
fn kinds(call: &Invocation<'_>) -> Result<Vec<(ElementKind, &'static str)>, Failure> {
    let (vertex, edge) = ((ElementKind::Vertex, "vertex"), (ElementKind::Edge, "edge"));
    match call.parameter(KIND) {
        None => Ok(vec![vertex, edge]),
        Some(Value::String(kind)) if &**kind == "vertex" => Ok(vec![vertex]),
        Some(Value::String(kind)) if &**kind == "edge" => Ok(vec![edge]),
        Some(other) => Err(format!("`{KIND}` must be 'vertex' or 'edge', not {other}").into()),
    }
}

/// The labels that at least one element has, with their counts.
fn counted(graph: &dyn GraphView, kind: ElementKind) -> Result<Vec<(Value, u64)>, Failure> {
    let counts = graph.statistics()?;
    let labels = graph.schema().labels(kind).iter().enumerate();
    let counted = labels.map(|(at, label)| (label.name.clone().into(), counts.count(kind, LabelId(at as u16))));
    Ok(counted.filter(|(_, n)| *n > 0).collect())
}

fn labels(call: &Invocation<'_>) -> Result<Values, Failure> {
    let mut names = Vec::new();
    for (kind, _) in kinds(call)? {
        names.extend(counted(call.graph, kind)?.into_iter().map(|(name, _)| name));
    }
    all_of(names)
}

fn statistics(call: &Invocation<'_>) -> Result<Values, Failure> {
    let of = |kind| -> Result<Value, Failure> {
        let entries = counted(call.graph, kind)?.into_iter().map(|(name, n)| (name, Value::Int64(n as i64)));
        Ok(Value::map(Map::from_distinct(entries.collect())))
    };
    all_of(vec![map(vec![("vertices", of(ElementKind::Vertex)?), ("edges", of(ElementKind::Edge)?)])])
}

fn schema(call: &Invocation<'_>) -> Result<Values, Failure> {
    let schema = call.graph.schema();
    let mut rows = Vec::new();
    for (kind, name) in kinds(call)? {
        for (_, label) in schema.known_labels(kind) {
            rows.extend(label.known_properties().map(|property| {
                let types = property.types.iter().map(|t| t.name().into()).collect();
                map(vec![
                    (KIND, name.into()),
                    ("label", label.name.clone().into()),
                    ("key", schema.key_name(property.key).into()),
                    ("types", Value::list(types)),
                    ("cardinality", property.cardinality.name().into()),
                ])
            }));
        }
    }
    all_of(rows)
}

fn indexes(call: &Invocation<'_>) -> Result<Values, Failure> {
    let schema = call.graph.schema();
    let rows = schema.indexes.iter().map(|index| {
        let label = schema.label_name(index.of.kind, index.of.label);
        let key = schema.key_name(index.of.key);
        map(vec![("kind", index.of.kind.name().into()), ("label", label.into()), ("key", key.into())])
    });
    all_of(rows.collect())
}
