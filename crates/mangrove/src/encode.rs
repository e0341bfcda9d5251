//! Choosing how properties are kept where they are compressed.

use mangrove_graph::{ElementKind, Encoding, GraphWrite, KeyId, LabelId, Schema, ValueType};
use mangrove_query::gremlin::error::suggest;

use crate::error::{LoadError, StoreError};

const KINDS: [ElementKind; 2] = [ElementKind::Vertex, ElementKind::Edge];
/// What stands for every property with text.
const ALL: &str = "all";

/// Sets the encoding of a key of a label, of vertices and of edges if there are both.
pub fn set(graph: &mut dyn GraphWrite, label: &str, key: &str, encoding: Encoding) -> Result<(), StoreError> {
    for (kind, label, key) in named(graph.schema(), label, key)? {
        graph.set_encoding(kind, label, key, encoding)?;
    }
    Ok(())
}

/// Makes properties searchable: each `LABEL.KEY`, or `all` for whatever has text.
pub fn make_searchable(graph: &mut dyn GraphWrite, wanted: &[String]) -> Result<(), LoadError> {
    let encoding = Encoding::parse("searchable").unwrap_or_default();
    for wanted in wanted {
        if wanted == ALL {
            for (kind, label, key) in texts(graph.schema()) {
                graph.set_encoding(kind, label, key, encoding)?;
            }
            continue;
        }
        let (label, key) = wanted
            .split_once('.')
            .ok_or_else(|| wrong(format!("searchable {wanted}: expected LABEL.KEY, as in Person.name, or {ALL}")))?;
        set(graph, label, key, encoding).map_err(|error| wrong(format!("searchable {wanted}: {error}")))?;
    }
    Ok(())
}

fn wrong(reason: String) -> LoadError {
    mangrove_ingest::LoadError::options(reason).into()
}

fn texts(schema: &Schema) -> Vec<(ElementKind, LabelId, KeyId)> {
    let of_kind = |kind| {
        schema.labels(kind).iter().zip(0..).flat_map(move |(label, at)| {
            let texts = label.properties.iter().filter(|property| property.types.contains(ValueType::String));
            texts.map(move |property| (kind, LabelId(at), property.key))
        })
    };
    KINDS.into_iter().flat_map(of_kind).collect()
}

fn named(schema: &Schema, label: &str, key: &str) -> Result<Vec<(ElementKind, LabelId, KeyId)>, StoreError> {
    let unknown = |what, name: &str, known: &mut dyn Iterator<Item = &str>| {
        let near = suggest(name, known).map(str::to_owned);
        StoreError::Unknown { what, name: name.to_owned(), near }
    };
    let labels: Vec<_> = KINDS.into_iter().filter_map(|kind| Some((kind, schema.label(kind, label)?))).collect();
    if labels.is_empty() {
        let known = KINDS.into_iter().flat_map(|kind| schema.labels(kind)).map(|label| &*label.name);
        return Err(unknown("label", label, &mut known.into_iter()));
    }
    let has = |(kind, id): &(ElementKind, LabelId)| {
        let key = schema.key(key)?;
        schema.label_schema(*kind, *id)?.property(key).map(|_| (*kind, *id, key))
    };
    let found: Vec<_> = labels.iter().filter_map(has).collect();
    if found.is_empty() {
        let keys =
            labels.iter().filter_map(|(kind, id)| schema.label_schema(*kind, *id)).flat_map(|label| &label.properties);
        let names: Vec<_> = keys.map(|property| schema.key_name(property.key)).collect();
        return Err(unknown("property", key, &mut names.iter().map(|name| &**name)));
    }
    Ok(found)
}
