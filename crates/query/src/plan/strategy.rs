//! Strategies users name on `g.withStrategies(…)`: those that change meaning rewrite the plan here; those that only tune
//! TinkerPop's own engine are accepted and have no effect.

use mangrove_graph::{ElementKind, Predicate, Value};

use super::argument::Resolver;
use super::*;
use crate::documentation;
use crate::error::{QueryError, QueryErrorKind, Result};
use crate::gremlin::syntax::{Argument, ArgumentKind, Span};

/// Strategies without effect on results.
const TUNING: [&str; 30] = [
    "AdjacentToIncidentStrategy",
    "ByModulatorOptimizationStrategy",
    "ComputerFinalizationStrategy",
    "ComputerVerificationStrategy",
    "ConnectiveStrategy",
    "CountStrategy",
    "EarlyLimitStrategy",
    "ElementIdStrategy",
    "EventStrategy",
    "FilterRankingStrategy",
    "GraphFilterStrategy",
    "HaltedTraverserStrategy",
    "IdentityRemovalStrategy",
    "IncidentToAdjacentStrategy",
    "InlineFilterStrategy",
    "LambdaRestrictionStrategy",
    "LazyBarrierStrategy",
    "MatchAlgorithmStrategy",
    "MatchPredicateStrategy",
    "MessagePassingReductionStrategy",
    "OptionsStrategy",
    "OrderLimitStrategy",
    "PathProcessorStrategy",
    "PathRetractionStrategy",
    "ProfileStrategy",
    "ReferenceElementStrategy",
    "RepeatUnrollStrategy",
    "StandardVerificationStrategy",
    "VertexProgramRestrictionStrategy",
    "VertexProgramStrategy",
];

pub(super) fn with(
    resolver: &Resolver<'_>,
    name: &str,
    options: &[(String, Argument)],
    span: Span,
    strategies: &mut Strategies,
) -> Result<()> {
    let option = |key: &str| options.iter().find(|(k, _)| k == key).map(|(_, argument)| argument);
    match name {
        "ReadOnlyStrategy" => strategies.read_only = true,
        "ProductiveByStrategy" => strategies.productive_by = true,
        "SeedStrategy" => {
            let seed = option("seed").ok_or_else(|| QueryError::step("SeedStrategy needs a seed").at(span))?;
            strategies.seed = Some(resolver.integer(seed)? as u64);
        }
        "SubgraphStrategy" => {
            let child = |key| option(key).map(|argument| resolver.child(argument)).transpose();
            strategies.subgraph = Some(Box::new(SubgraphStrategy {
                vertices: child("vertices")?,
                edges: child("edges")?,
                vertex_properties: child("vertexProperties")?,
                check_adjacent: option("checkAdjacentVertices").map(|a| resolver.boolean(a)).transpose()?.unwrap_or(true),
            }));
        }
        "PartitionStrategy" => {
            let key =
                option("partitionKey").ok_or_else(|| QueryError::step("PartitionStrategy needs a partitionKey").at(span))?;
            strategies.partition = Some(PartitionStrategy {
                key: resolver.name(key)?,
                write: option("writePartition").map(|a| resolver.name(a)).transpose()?,
                read: option("readPartitions").map(|a| names(resolver, a)).transpose()?.unwrap_or_default(),
                include_meta: option("includeMetaProperties").map(|a| resolver.boolean(a)).transpose()?.unwrap_or(false),
            });
        }
        "EdgeLabelVerificationStrategy" => {
            strategies.edge_label_verification =
                option("throwException").map(|a| resolver.boolean(a)).transpose()?.unwrap_or(false);
        }
        "ReservedKeysVerificationStrategy" => {
            if option("throwException").map(|a| resolver.boolean(a)).transpose()?.unwrap_or(false) {
                strategies.reserved_keys = match option("keys") {
                    Some(argument) => names(resolver, argument)?,
                    None => vec!["id".into(), "label".into()],
                };
            }
        }
        name if TUNING.contains(&name) => {}
        _ => {
            let message = format!("the strategy `{name}` is not supported");
            let help = format!("{} lists what is", documentation::page("gremlin.md"));
            return Err(QueryError::new(QueryErrorKind::Unsupported, message).at(span).help(help));
        }
    }
    Ok(())
}

fn names(resolver: &Resolver<'_>, argument: &Argument) -> Result<Vec<Name>> {
    match &argument.kind {
        ArgumentKind::List(items) | ArgumentKind::Set(items) => resolver.names(items),
        _ => resolver.names(std::slice::from_ref(argument)),
    }
}

pub(super) fn without(name: &str, strategies: &mut Strategies) {
    match name {
        "ReadOnlyStrategy" => strategies.read_only = false,
        "ProductiveByStrategy" => strategies.productive_by = false,
        "SubgraphStrategy" => strategies.subgraph = None,
        "PartitionStrategy" => strategies.partition = None,
        _ => {}
    }
}

pub(super) fn apply(traversal: &mut Traversal, strategies: &Strategies) -> Result<()> {
    verify(traversal, strategies)?;
    if let Some(partition) = &strategies.partition {
        rewrite(traversal, &|node, out| partition_step(partition, node, out));
        partition_merges(traversal, partition);
    }
    if let Some(subgraph) = &strategies.subgraph {
        let criteria = Criteria::new(subgraph);
        rewrite(traversal, &|node, out| criteria.step(node, out));
    }
    Ok(())
}

fn verify(traversal: &Traversal, strategies: &Strategies) -> Result<()> {
    let fail = |node: &StepNode, message: String| Err(QueryError::new(QueryErrorKind::Verification, message).at(node.span));
    for node in &traversal.steps {
        if strategies.read_only && node.step.mutates() {
            return fail(node, "The provided traversal has a mutating step and thus is not read only".into());
        }
        if strategies.edge_label_verification && matches!(&node.step, Step::Hop { labels, .. } if labels.is_empty()) {
            let message = "The provided traversal contains a vertex step without any specified edge label";
            return fail(node, format!("{message}; always specify edge labels which restrict traversal paths"));
        }
        if let Some(key) = written_keys(&node.step).into_iter().find(|key| strategies.reserved_keys.contains(key)) {
            return fail(
                node,
                format!(
                    "The provided traversal contains an AddVertexStep or a property step that is setting a property key to a reserved word: {key}"
                ),
            );
        }
    }
    let mut outcome = Ok(());
    traversal.for_each_child(&mut |child| {
        if outcome.is_ok() {
            outcome = verify(child, strategies);
        }
    });
    outcome
}

fn written_keys(step: &Step) -> Vec<Name> {
    let key = |p: &SetProperty| match &p.key {
        PropertyName::Key(key) => Some(key.clone()),
        _ => None,
    };
    match step {
        Step::SetProperty(property) => key(property).into_iter().collect(),
        Step::AddVertex { properties, .. } | Step::AddEdge { properties, .. } => properties.iter().filter_map(key).collect(),
        _ => Vec::new(),
    }
}

/// Replaces every step, here and below, by what `each` pushes for it.
fn rewrite(traversal: &mut Traversal, each: &dyn Fn(StepNode, &mut Vec<StepNode>)) {
    let steps = std::mem::take(&mut traversal.steps);
    for mut node in steps {
        node.step.for_each_child_mut(&mut |child| rewrite(child, each));
        each(node, &mut traversal.steps);
    }
}

/// Pushes `node` followed by filters; the node's labels move to the last of them, so that `as()` names what passed.
fn push_filtered(mut node: StepNode, filters: impl IntoIterator<Item = Step>, out: &mut Vec<StepNode>) {
    let labels = std::mem::take(&mut node.labels);
    out.push(node);
    out.extend(filters.into_iter().map(StepNode::from));
    if let Some(last) = out.last_mut() {
        last.labels = labels;
    }
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
        Step::Hop { to_edges: false, direction, labels } => {
            let (direction, edge_labels) = (*direction, std::mem::take(labels));
            let names = std::mem::take(&mut node.labels);
            out.push(StepNode { step: Step::Hop { direction, labels: edge_labels, to_edges: true }, ..node });
            out.push(visible().into());
            out.push(end_of(direction).into());
            out.push(StepNode { labels: names, ..visible().into() });
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

/// Vertex properties pass by their own partition; properties of edges have none.
fn meta_visible(partition: &PartitionStrategy, within: Predicate) -> Step {
    Step::Has(vec![Has { key: HasKey::Property(partition.key.clone()), predicate: within }])
}

/// Merges look in the readable partitions and create in the writable one.
fn partition_merges(traversal: &mut Traversal, partition: &PartitionStrategy) {
    for node in &mut traversal.steps {
        if let Step::Merge(merge) = &mut node.step
            && let Some(write) = &partition.write
        {
            let extra = (Value::String(partition.key.clone()), Value::String(write.clone()));
            let slots = [Some(&mut merge.search), merge.on_create.is_some().then_some(&mut merge.on_create)];
            for slot in slots.into_iter().flatten() {
                if let Some(Operand::Value(Value::Map(map))) = slot {
                    let mut map = (**map).clone();
                    map.insert(extra.0.clone(), extra.1.clone());
                    *slot = Some(Operand::Value(Value::map(map)));
                }
            }
        }
        node.step.for_each_child_mut(&mut |child| partition_merges(child, partition));
    }
}

fn end_of(direction: mangrove_graph::Direction) -> Step {
    Step::End(match direction {
        mangrove_graph::Direction::Out => EndOf::In,
        mangrove_graph::Direction::In => EndOf::Out,
        mangrove_graph::Direction::Both => EndOf::Other,
    })
}

/// `SubgraphStrategy`: an edge is seen if it meets the edge criterion and both its ends the vertex criterion.
struct Criteria<'a> {
    strategy: &'a SubgraphStrategy,
    edge: Option<Step>,
    vertex: Option<Step>,
}

impl<'a> Criteria<'a> {
    fn new(strategy: &'a SubgraphStrategy) -> Self {
        let passes = |child: &Traversal| Step::Where { child: child.clone(), negated: false };
        let vertex = strategy.vertices.as_ref().map(passes);
        let mut edge: Vec<Step> = strategy.edges.iter().map(passes).collect();
        if let (Some(vertex), true) = (&vertex, strategy.check_adjacent) {
            for end in [EndOf::In, EndOf::Out] {
                let child = Traversal::new([Step::End(end), vertex.clone()]);
                edge.push(Step::Where { child, negated: false });
            }
        }
        let edge = match edge.len() {
            0 | 1 => edge.pop(),
            _ => Some(Step::And(edge.into_iter().map(|step| Traversal::new([step])).collect())),
        };
        Self { strategy, edge, vertex }
    }

    fn step(&self, mut node: StepNode, out: &mut Vec<StepNode>) {
        match &mut node.step {
            Step::Scan { kind: ElementKind::Vertex, .. } | Step::End(_) => push_filtered(node, self.vertex.clone(), out),
            Step::Scan { .. } | Step::Hop { to_edges: true, .. } => push_filtered(node, self.edge.clone(), out),
            Step::Hop { direction, labels, to_edges: false } if self.edge.is_some() => {
                let (direction, edge_labels) = (*direction, std::mem::take(labels));
                let names = std::mem::take(&mut node.labels);
                out.push(StepNode { step: Step::Hop { direction, labels: edge_labels, to_edges: true }, ..node });
                out.extend(self.edge.clone().map(StepNode::from));
                out.push(end_of(direction).into());
                out.extend(self.vertex.clone().map(StepNode::from));
                if let Some(last) = out.last_mut() {
                    last.labels = names;
                }
            }
            Step::Hop { .. } => push_filtered(node, self.vertex.clone(), out),
            Step::Properties(_) => push_filtered(node, self.vertex_property(), out),
            Step::Values(keys) if self.strategy.vertex_properties.is_some() => {
                let (keys, names) = (std::mem::take(keys), std::mem::take(&mut node.labels));
                out.push(Step::Properties(keys).into());
                out.extend(self.vertex_property().map(StepNode::from));
                out.push(StepNode { labels: names, ..Step::ValueOf.into() });
            }
            _ => out.push(node),
        }
    }

    /// Vertex properties pass by the criterion, properties of edges always.
    fn vertex_property(&self) -> Option<Step> {
        let criterion = self.strategy.vertex_properties.as_ref()?;
        let other =
            Step::Is(Predicate::Not(Box::new(Predicate::TypeOf([mangrove_graph::ValueType::VertexProperty].into()))));
        Some(Step::Or(vec![Traversal::new([other]), criterion.clone()]))
    }
}
