//! What a database holds, as JSON: labels with their counts and properties, indexes, and sizes.

use std::sync::Arc;

use mangrove_graph::{ElementKind, IdSpace, IndexSchema, LabelSchema, PropertySchema, Schema, Statistics};
use serde_json::{Value as Json, json};

use crate::Database;
use crate::compressed::compressed;
use crate::error::StoreError;

/// The schema of a database, and its counts.
pub fn read(database: &Database) -> Result<(Arc<Schema>, Arc<Statistics>), StoreError> {
    let snapshot = database.snapshot()?;
    let counts = snapshot.statistics().map_err(StoreError::from)?;
    Ok((snapshot.schema().clone(), counts))
}

/// The labels of a kind of elements, with the number of elements that have each.
pub fn labels<'a>(
    schema: &'a Schema,
    counts: &'a Statistics,
    kind: ElementKind,
) -> impl Iterator<Item = (&'a LabelSchema, u64)> {
    schema.known_labels(kind).map(move |(id, label)| (label, counts.count(kind, id)))
}

/// The number of elements of a kind.
pub fn total(schema: &Schema, counts: &Statistics, kind: ElementKind) -> u64 {
    labels(schema, counts, kind).map(|(_, count)| count).sum()
}

/// Labels, properties, indexes and sizes, as `mangrove stats --format json` shows them.
pub fn about(database: &Database) -> Result<Json, StoreError> {
    let (schema, counts) = read(database)?;
    let describe = |kind: ElementKind| -> Json {
        let entries = labels(&schema, &counts, kind).map(|(label, count)| {
            let properties = label
                .known_properties()
                .map(|property| (schema.key_name(property.key).to_string(), property_as_json(property)));
            (label.name.to_string(), json!({ "count": count, "properties": Json::Object(properties.collect()) }))
        });
        Json::Object(entries.collect())
    };
    let indexes = schema.indexes.iter().map(|index| {
        let IndexSchema { of, unique, routed } = *index;
        json!({ "kind": of.kind.name(), "label": &*schema.label_name(of.kind, of.label), "key": &*schema.key_name(of.key), "unique": unique, "routed": routed })
    });
    let stats = database.stats()?;
    Ok(json!({
        "vertices": total(&schema, &counts, ElementKind::Vertex),
        "edges": total(&schema, &counts, ElementKind::Edge),
        "vertexLabels": describe(ElementKind::Vertex),
        "edgeLabels": describe(ElementKind::Edge),
        "indexes": indexes.collect::<Vec<_>>(),
        "idSpace": match schema.id_space { IdSpace::Graph => "graph", IdSpace::Label => "label" },
        "diskBytes": stats.disk_bytes(),
        "segmentBytes": stats.segment_bytes(),
        "segments": stats.segments,
        "freeBytes": stats.space.free_bytes,
        "oldestSnapshot": stats.space.oldest.map(|oldest| json!({
            "process": oldest.process,
            "command": oldest.command,
            "ageSeconds": oldest.age.as_secs_f64(),
            "pinnedBytes": oldest.pinned_bytes,
        })),
        "segment": compressed(&schema, &stats.parts).iter().map(|part| json!({
            "of": part.of,
            "label": part.label,
            "part": part.part,
            "bytes": part.bytes,
            "form": part.form,
        })).collect::<Vec<_>>(),
    }))
}

fn property_as_json(property: &PropertySchema) -> Json {
    json!({
        "types": property.types.iter().map(|t| t.name()).collect::<Vec<_>>(),
        "declared": property.declared.map(|t| t.name()),
        "cardinality": property.cardinality.name(),
        "encoding": property.encoding.to_string(),
    })
}
