//! Declarations for properties, by the names of label and key: their encoding, and which of them have an index.

use mangrove_graph::{
    ElementKind, Encoding, GraphError, GraphWrite, KeyId, LabelId, PropertyId, PropertySchema, Schema, ValueType,
};
use mangrove_ingest::LoadOptions;
use mangrove_query::diagnostics::suggest;

use crate::error::{LoadError, StoreError};

/// Stands for every property with text.
const ALL: &str = "all";

/// Sets the encoding of a key of a label. If both vertices and edges have the label, it sets both.
pub fn set(graph: &mut dyn GraphWrite, label: &str, key: &str, encoding: Encoding) -> Result<(), StoreError> {
    for (kind, label_id, key_id) in named(graph.schema(), label, key)? {
        if graph.schema().is_key(kind, label_id, key_id) {
            let what =
                format!("cannot set the encoding of {label}.{key}: it is the id, and ids always take the smallest encoding");
            return Err(GraphError::Invalid(what).into());
        }
        let property = graph.schema().label_schema(kind, label_id).and_then(|label| label.property(key_id));
        let types: Vec<_> = property.into_iter().flat_map(|property| property.types.iter()).collect();
        let is_for_text = matches!(encoding, Encoding::Symbols | Encoding::Searchable { .. });
        if is_for_text && !types.is_empty() && !types.iter().any(|t| matches!(t, ValueType::String | ValueType::Bytes)) {
            let types: Vec<_> = types.iter().map(|t| t.name()).collect();
            let what = format!("{label}.{key} holds {}, but {encoding} is for text", types.join(", "));
            return Err(GraphError::Invalid(what).into());
        }
        graph.set_encoding(kind, label_id, key_id, encoding)?;
    }
    Ok(())
}

/// Makes an index of a property, unless it holds vectors.
pub fn index(graph: &mut dyn GraphWrite, of: PropertyId) -> Result<bool, StoreError> {
    let schema = graph.schema();
    let property = schema.label_schema(of.kind, of.label).and_then(|label| label.property(of.key));
    if property.and_then(|property| property.declared.or(property.types.single())) == Some(ValueType::Vector) {
        let what = format!(
            "{} holds vectors, and an index finds only values equal to a given one; Mangrove has no index of near vectors",
            schema.property_name(of)
        );
        return Err(GraphError::Invalid(what).into());
    }
    Ok(graph.create_index(of)?)
}

/// Warnings of names that a declaration would make new, and that are almost those of the graph.
pub fn near_misses(schema: &Schema, kind: ElementKind, label: &str, key: &str) -> Vec<String> {
    let warn = |what: &str, name: &str, near: &str| {
        format!("the graph has had no {what} `{name}` so far, and now declares it; did you mean `{near}`?")
    };
    let Some(known) = schema.label(kind, label).and_then(|id| schema.label_schema(kind, id)) else {
        let labels = schema.known_labels(kind).map(|(_, label)| &*label.name);
        let what = format!("{} label", kind.name());
        return suggest(label, labels).map(|near| warn(&what, label, near)).into_iter().collect();
    };
    let keys: Vec<_> = known.known_properties().map(|property| schema.key_name(property.key)).collect();
    if keys.iter().any(|known| **known == *key) {
        return Vec::new();
    }
    let near = suggest(key, keys.iter().map(|key| &**key));
    near.map(|near| warn("property", &format!("{label}.{key}"), &format!("{label}.{near}"))).into_iter().collect()
}

/// Fails if the declarations of a load are malformed.
pub fn before_load(options: &LoadOptions) -> Result<(), LoadError> {
    options.indexes.iter().try_for_each(|wanted| split("index", wanted, "").map(|_| ()))?;
    let properties = options.searchable.iter().filter(|wanted| *wanted != ALL);
    properties.into_iter().try_for_each(|wanted| split("searchable", wanted, ", or all").map(|_| ()))
}

/// Makes the declarations of a load after all data is there, unless it is `cancelled`.
pub fn after_load(graph: &mut dyn GraphWrite, options: &LoadOptions, cancelled: &dyn Fn() -> bool) -> Result<(), LoadError> {
    make_searchable(graph, &options.searchable)?;
    for wanted in &options.indexes {
        let (label, key) = split("index", wanted, "")?;
        let made = has_property(graph.schema(), label, key).and_then(|of| index(graph, of));
        made.map_err(|error| of_wanted("index", wanted, error))?;
        if cancelled() {
            return Err(GraphError::Cancelled.into());
        }
    }
    Ok(())
}

/// An error about a name becomes an error about the options.
fn of_wanted(what: &str, wanted: &str, error: StoreError) -> LoadError {
    match error {
        StoreError::Unknown { .. } => wrong(format!("{what} {wanted}: {error}")),
        StoreError::Layout(error) => error.into(),
        StoreError::Graph(error) => error.into(),
        StoreError::Bug(bug) => bug.into(),
        StoreError::Aborted => LoadError::Aborted,
    }
}

/// Makes properties searchable: each `LABEL.KEY`, or with `all` every property with text.
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
    ElementKind::ALL.into_iter().flat_map(of_kind).collect()
}

fn named(schema: &Schema, label: &str, key: &str) -> Result<Vec<(ElementKind, LabelId, KeyId)>, StoreError> {
    let labels: Vec<_> = ElementKind::ALL.into_iter().filter_map(|kind| Some((kind, schema.label(kind, label)?))).collect();
    if labels.is_empty() {
        let known = ElementKind::ALL.into_iter().flat_map(|kind| schema.known_labels(kind)).map(|(_, label)| &*label.name);
        return Err(unknown("label", label, known));
    }
    let has = |(kind, id): &(ElementKind, LabelId)| {
        let key = schema.key(key)?;
        schema.label_schema(*kind, *id)?.property(key).map(|_| (*kind, *id, key))
    };
    let found: Vec<_> = labels.iter().filter_map(has).collect();
    if found.is_empty() {
        let keys = labels
            .iter()
            .filter_map(|(kind, id)| schema.label_schema(*kind, *id))
            .flat_map(|label| label.known_properties());
        let names: Vec<_> = keys.map(|property| schema.key_name(property.key)).collect();
        return Err(unknown("property", key, names.iter().map(|name| &**name)));
    }
    Ok(found)
}

/// The property of this name, if some element of the label has had it.
fn has_property(schema: &Schema, label: &str, key: &str) -> Result<PropertyId, StoreError> {
    match named(schema, label, key)?[..] {
        [(kind, label, key)] => Ok(PropertyId { kind, label, key }),
        _ => Err(of_both_kinds(label)),
    }
}

/// The property of an existing label and key. Without a `kind`, only vertices or only edges may have the label.
pub fn known(schema: &Schema, kind: Option<ElementKind>, label: &str, key: &str) -> Result<PropertyId, StoreError> {
    let (kind, label) = known_label(schema, kind, label)?;
    Ok(PropertyId { kind, label, key: known_key(schema, key)? })
}

/// An existing key.
pub fn known_key(schema: &Schema, name: &str) -> Result<KeyId, StoreError> {
    let keys = || schema.known_keys().map(|key| &**key);
    schema.key(name).ok_or_else(|| unknown("property key", name, keys()))
}

/// An existing label. Without a `kind`, only vertices or only edges may have it.
pub fn known_label(schema: &Schema, kind: Option<ElementKind>, label: &str) -> Result<(ElementKind, LabelId), StoreError> {
    let kinds = kind.map_or_else(|| ElementKind::ALL.to_vec(), |kind| vec![kind]);
    let labels: Vec<_> = kinds.iter().filter_map(|kind| Some((*kind, schema.label(*kind, label)?))).collect();
    match labels[..] {
        [one] => Ok(one),
        [] => {
            let names = kinds.iter().flat_map(|kind| schema.known_labels(*kind)).map(|(_, label)| &*label.name);
            Err(unknown(label_of(kind), label, names))
        }
        _ => Err(of_both_kinds(label)),
    }
}

/// Drops every label and property that no element has and that has no declaration. Returns their names, as `user` and `user.email`.
pub fn drop_unused(graph: &mut dyn GraphWrite) -> Result<Vec<String>, StoreError> {
    let mut dropped = Vec::new();
    for kind in ElementKind::ALL {
        let labels: Vec<LabelId> = graph.schema().known_labels(kind).map(|(id, _)| id).collect();
        for id in labels {
            let Some(label) = graph.schema().label_schema(kind, id).cloned() else { continue };
            let declares = |of| graph.schema().index(of).is_some();
            let is_plain = |property: &PropertySchema| {
                let of = PropertyId { kind, label: id, key: property.key };
                property.declared.is_none() && !property.required && property.encoding == Encoding::Auto && !declares(of)
            };
            let (plain, declared): (Vec<PropertySchema>, Vec<PropertySchema>) =
                label.known_properties().cloned().partition(is_plain);
            if declared.is_empty()
                && label.key.is_none()
                && label.time.is_none()
                && unless_in_use(graph.drop_label(kind, id))?
            {
                dropped.push(label.name.to_string());
                continue;
            }
            for property in plain.iter().filter(|p| label.key != Some(p.key) && label.time != Some(p.key)) {
                let of = PropertyId { kind, label: id, key: property.key };
                let name = graph.schema().property_name(of);
                dropped.extend(unless_in_use(graph.drop_property(of))?.then_some(name));
            }
        }
    }
    Ok(dropped)
}

/// Whether something was dropped; false if it is in use.
fn unless_in_use(outcome: Result<(), GraphError>) -> Result<bool, StoreError> {
    match outcome {
        Ok(()) => Ok(true),
        Err(GraphError::InUse { .. }) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

fn label_of(kind: Option<ElementKind>) -> &'static str {
    match kind {
        None => "label",
        Some(ElementKind::Vertex) => "vertex label",
        Some(ElementKind::Edge) => "edge label",
    }
}

fn of_both_kinds(label: &str) -> StoreError {
    let what = format!("both vertices and edges have the label {label}: give the kind, \"vertex\" or \"edge\"");
    GraphError::Invalid(what).into()
}

fn unknown<'a>(what: &'static str, name: &str, known: impl Iterator<Item = &'a str>) -> StoreError {
    let near = suggest(name, known).map(str::to_owned);
    StoreError::Unknown { what, name: name.to_owned(), near }
}
