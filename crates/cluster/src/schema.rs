//! The schemas of all shards as one.

use std::sync::Arc;

use mangrove_graph::{Cardinality, ElementKind, IndexSchema, LabelId, LabelSchema, Names, PropertyId, Schema};

use crate::names::comes_in;

/// The schema of a graph whose shards have these. Declarations are the same everywhere. Types, further labels and ends are those that some
/// shard has met.
pub fn joined<'s>(mut shards: impl Iterator<Item = &'s Schema>) -> Arc<Schema> {
    let Some(first) = shards.next() else { return Arc::default() };
    let mut schema = first.clone();
    for other in shards {
        for kind in ElementKind::ALL {
            let labels = schema.labels(kind).len().min(other.labels(kind).len());
            for at in 0..labels {
                add(&mut schema.labels_mut(kind)[at], &other.labels(kind)[at]);
            }
        }
    }
    schema.edge_labels = leaving_ones(&schema.edge_labels);
    schema.indexes.retain(|index| index.of.kind == ElementKind::Vertex || !comes_in(index.of.label));
    schema.indexes.iter_mut().for_each(|IndexSchema { of, .. }| *of = in_graph(*of));
    Arc::new(schema)
}

/// Adds what another shard has met under a label.
fn add(label: &mut LabelSchema, other: &LabelSchema) {
    other.further.iter().for_each(|further| label.further.insert_mut(*further));
    other.ends.iter().for_each(|ends| label.ends.insert_mut(*ends));
    for theirs in other.properties.iter() {
        let mut property = label.property_mut(theirs.key).clone();
        property.types.0 |= theirs.types.0;
        property.has_meta |= theirs.has_meta;
        if property.cardinality == Cardinality::Single {
            property.cardinality = theirs.cardinality; // the other shard may have met several values
        }
        label.properties.put(property);
    }
}

fn leaving_ones(labels: &Names<LabelSchema>) -> Names<LabelSchema> {
    let mut out = Names::default();
    for (number, label) in (0u16..).zip(labels.iter()).filter(|(number, _)| !comes_in(LabelId(*number))) {
        let at = out.push(label.clone());
        if labels.is_dropped(number) {
            out.drop_name(at);
        }
    }
    out
}

fn in_graph(of: PropertyId) -> PropertyId {
    match of.kind {
        ElementKind::Vertex => of,
        ElementKind::Edge => PropertyId { label: LabelId(of.label.0 / 2), ..of },
    }
}
