//! `PartitionStrategy`: reads elements of some partitions and writes to one. A property holds the partition of an element.

use mangrove_graph::{Predicate, Value};

use super::{end_of, push_filtered, rewrite};
use crate::plan::*;

pub(super) fn apply(traversal: &mut Traversal, partition: &PartitionStrategy) {
    rewrite(traversal, &|node, out| partition_step(partition, node, out));
}

fn partition_step(partition: &PartitionStrategy, mut node: StepNode, out: &mut Vec<StepNode>) {
    let within = || Predicate::Within(partition.read.iter().cloned().map(Value::String).collect::<Vec<_>>().into());
    let visible = || Step::Has(vec![Has { key: HasKey::Property(partition.key.clone()), predicate: within() }]);
    let mark = |properties: &mut Vec<SetProperty>| {
        if let Some(write) = &partition.write {
            properties.push(SetProperty {
                cardinality: None,
                key: PropertyName::Key(partition.key.clone()),
                value: Operand::Value(Value::String(write.clone())),
                meta: Vec::new(),
            });
        }
    };
    match &mut node.step {
        Step::AddVertex { properties, .. } => {
            if partition.include_meta {
                properties.iter_mut().for_each(|p| mark_meta(p, partition));
            }
            mark(properties);
            out.push(node);
        }
        Step::AddEdge { properties, .. } => {
            mark(properties);
            out.push(node);
        }
        Step::SetProperty(property) if partition.include_meta => {
            mark_meta(property, partition);
            out.push(node);
        }
        Step::Hop { to_edges: false, direction, labels, .. } => {
            let (direction, edge_labels) = (*direction, std::mem::take(labels));
            let names = std::mem::take(&mut node.labels);
            out.push(StepNode { step: Step::hop(direction, edge_labels, true), ..node });
            out.push(visible().into());
            out.push(end_of(direction).into());
            out.push(StepNode { labels: names, ..visible().into() });
        }
        Step::Merge(merge) => {
            merge.partition = Some(partition.clone());
            out.push(node);
        }
        Step::Scan { .. } | Step::Hop { .. } | Step::End(_) => push_filtered(node, [visible()], out),
        Step::Properties(_) if partition.include_meta => push_filtered(node, [meta_visible(partition, within())], out),
        Step::Values(keys) if partition.include_meta => {
            let keys = std::mem::take(keys);
            let names = std::mem::take(&mut node.labels);
            out.push(Step::Properties(keys).into());
            out.push(meta_visible(partition, within()).into());
            out.push(StepNode { labels: names, ..Step::ValueOf.into() });
        }
        _ => out.push(node),
    }
}

fn mark_meta(property: &mut SetProperty, partition: &PartitionStrategy) {
    if let (PropertyName::Key(_), Some(write)) = (&property.key, &partition.write) {
        property.meta.push((partition.key.clone(), Operand::Value(Value::String(write.clone()))));
    }
}

/// A vertex property passes by its own partition. Properties of edges have none and always pass.
fn meta_visible(partition: &PartitionStrategy, within: Predicate) -> Step {
    Step::Has(vec![Has { key: HasKey::Property(partition.key.clone()), predicate: within }])
}
