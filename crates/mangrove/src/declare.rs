//! What is said of properties by the names of label and key: how they are kept where they are compressed, and which have an index.

use mangrove_graph::{ElementKind, Encoding, GraphError, GraphWrite, KeyId, LabelId, PropertySchema, Schema, ValueType};
use mangrove_ingest::LoadOptions;
use mangrove_query::gremlin::error::suggest;

use crate::error::{LoadError, StoreError};

const KINDS: [ElementKind; 2] = [ElementKind::Vertex, ElementKind::Edge];
/// What stands for every property with text.
const ALL: &str = "all";

/// Sets the encoding of a key of a label, of vertices and of edges if there are both.
pub fn set(graph: &mut dyn GraphWrite, label: &str, key: &str, encoding: Encoding) -> Result<(), StoreError> {
    for (kind, label_id, key_id) in named(graph.schema(), label, key)? {
        if graph.schema().is_key(kind, label_id, key_id) {
            let what = format!("{label}.{key} is the id of these vertices, and ids are always kept as takes least room");
            return Err(GraphError::Invalid(what).into());
        }
        let property = graph.schema().label_schema(kind, label_id).and_then(|label| label.property(key_id));
        let types: Vec<_> = property.into_iter().flat_map(|property| property.types.iter()).collect();
        let is_for_text = matches!(encoding, Encoding::Symbols | Encoding::Searchable { .. });
        if is_for_text && !types.is_empty() && !types.iter().any(|t| matches!(t, ValueType::String | ValueType::Bytes)) {
            let types: Vec<_> = types.iter().map(|t| t.name()).collect();
            let what = format!("{label}.{key} holds {}, and {encoding} is for text", types.join(", "));
            return Err(GraphError::Invalid(what).into());
        }
        graph.set_encoding(kind, label_id, key_id, encoding)?;
    }
    Ok(())
}

/// Fails if what a load is to declare is not said as it should be.
pub fn before_load(options: &LoadOptions) -> Result<(), LoadError> {
    options.indexes.iter().try_for_each(|wanted| split("index", wanted, "").map(|_| ()))?;
    let properties = options.searchable.iter().filter(|wanted| *wanted != ALL);
    properties.into_iter().try_for_each(|wanted| split("searchable", wanted, ", or all").map(|_| ()))
}

/// What a load is to declare once everything is there, unless it is `cancelled`.
pub fn after_load(graph: &mut dyn GraphWrite, options: &LoadOptions, cancelled: &dyn Fn() -> bool) -> Result<(), LoadError> {
    make_searchable(graph, &options.searchable)?;
    for wanted in &options.indexes {
        let (label, key) = split("index", wanted, "")?;
        let made = has_property(graph.schema(), label, key).and_then(|()| create_index(graph, label, key));
        made.map_err(|error| of_wanted("index", wanted, error))?;
        if cancelled() {
            return Err(GraphError::Cancelled.into());
        }
    }
    Ok(())
}

/// An error of a name is one of the options.
fn of_wanted(what: &str, wanted: &str, error: StoreError) -> LoadError {
    match error {
        StoreError::Unknown { .. } => wrong(format!("{what} {wanted}: {error}")),
        StoreError::Graph(error) => error.into(),
        StoreError::Bug(bug) => bug.into(),
        StoreError::Aborted => LoadError::Aborted,
    }
}

/// Makes an index over the vertices of a label, unless there is one.
pub fn create_index(graph: &mut dyn GraphWrite, label: &str, key: &str) -> Result<bool, StoreError> {
    let (label, key) = known(graph.schema(), label, key)?;
    Ok(graph.create_index(label, key)?)
}

/// Makes properties searchable: each `LABEL.KEY`, or `all` for whatever has text.
fn make_searchable(graph: &mut dyn GraphWrite, wanted: &[String]) -> Result<(), LoadError> {
    let encoding = Encoding::parse("searchable").unwrap_or_default();
    for wanted in wanted {
        if wanted == ALL {
            for (kind, label, key) in texts(graph.schema()) {
                graph.set_encoding(kind, label, key, encoding)?;
            }
            continue;
        }
        let (label, key) = split("searchable", wanted, ", or all")?;
        set(graph, label, key, encoding).map_err(|error| of_wanted("searchable", wanted, error))?;
    }
    Ok(())
}

fn split<'a>(what: &str, wanted: &'a str, or: &str) -> Result<(&'a str, &'a str), LoadError> {
    wanted.split_once('.').ok_or_else(|| wrong(format!("{what} {wanted}: expected LABEL.KEY, as in Person.name{or}")))
}

fn wrong(reason: String) -> LoadError {
    mangrove_ingest::LoadError::options(reason).into()
}

fn texts(schema: &Schema) -> Vec<(ElementKind, LabelId, KeyId)> {
    let of_kind = |kind| {
        schema.labels(kind).iter().zip(0..).flat_map(move |(label, at)| {
            let is_text =
                |property: &&PropertySchema| property.types.contains(ValueType::String) && label.key != Some(property.key);
            let texts = label.properties.iter().filter(is_text);
            texts.map(move |property| (kind, LabelId(at), property.key))
        })
    };
    KINDS.into_iter().flat_map(of_kind).collect()
}

fn named(schema: &Schema, label: &str, key: &str) -> Result<Vec<(ElementKind, LabelId, KeyId)>, StoreError> {
    let labels: Vec<_> = KINDS.into_iter().filter_map(|kind| Some((kind, schema.label(kind, label)?))).collect();
    if labels.is_empty() {
        let known = KINDS.into_iter().flat_map(|kind| schema.labels(kind)).map(|label| &*label.name);
        return Err(unknown("label", label, known));
    }
    let has = |(kind, id): &(ElementKind, LabelId)| {
        let key = schema.key(key)?;
        schema.label_schema(*kind, *id)?.property(key).map(|_| (*kind, *id, key))
    };
    let found: Vec<_> = labels.iter().filter_map(has).collect();
    if found.is_empty() {
        let keys =
            labels.iter().filter_map(|(kind, id)| schema.label_schema(*kind, *id)).flat_map(|label| label.properties.iter());
        let names: Vec<_> = keys.map(|property| schema.key_name(property.key)).collect();
        return Err(unknown("property", key, names.iter().map(|name| &**name)));
    }
    Ok(found)
}

/// Fails if no vertex of the label has had the property.
fn has_property(schema: &Schema, label: &str, key: &str) -> Result<(), StoreError> {
    let (id, _) = known(schema, label, key)?;
    let properties = schema.label_schema(ElementKind::Vertex, id).into_iter().flat_map(|label| label.properties.iter());
    let names: Vec<_> = properties.map(|property| schema.key_name(property.key)).collect();
    match names.iter().any(|name| **name == *key) {
        true => Ok(()),
        false => Err(unknown("property", key, names.iter().map(|name| &**name))),
    }
}

/// A label of vertices, and a key.
pub fn known(schema: &Schema, label: &str, key: &str) -> Result<(LabelId, KeyId), StoreError> {
    let labels = || schema.vertex_labels.iter().map(|l| &*l.name);
    let keys = || schema.keys.iter().map(|k| &**k);
    let label_id = schema.label(ElementKind::Vertex, label).ok_or_else(|| match schema.label(ElementKind::Edge, label) {
        Some(_) => {
            GraphError::Invalid(format!("{label} is a label of edges, and only properties of vertices have indexes")).into()
        }
        None => unknown("vertex label", label, labels()),
    })?;
    let key_id = schema.key(key).ok_or_else(|| unknown("property key", key, keys()))?;
    Ok((label_id, key_id))
}

fn unknown<'a>(what: &'static str, name: &str, known: impl Iterator<Item = &'a str>) -> StoreError {
    let near = suggest(name, known).map(str::to_owned);
    StoreError::Unknown { what, name: name.to_owned(), near }
}
