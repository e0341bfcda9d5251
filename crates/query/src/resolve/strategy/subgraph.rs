//! `SubgraphStrategy`: only elements that meet its criteria are visible.

use mangrove_graph::{ElementKind, Predicate, ValueType};

use super::{end_of, push_filtered, rewrite};
use crate::plan::*;

pub(super) fn apply(traversal: &mut Traversal, subgraph: &SubgraphStrategy) {
    let criteria = Criteria::new(subgraph);
    rewrite(traversal, &|node, out| criteria.step(node, out));
}

/// An edge is visible if it meets the edge criterion and both its ends meet the vertex criterion.
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
        if self.strategy.vertex_properties.is_some() {
            node.step.for_each_by_mut(&mut |by| {
                if let By::Key(key) = by {
                    *by = By::Child(self.value_of(key));
                }
            });
        }
        match &mut node.step {
            Step::PropertyMap { visible, .. } | Step::ElementMap { visible, .. } => {
                *visible = self.vertex_property().map(|step| Traversal::new([step]));
                out.push(node);
            }
            Step::Has(tests) if self.strategy.vertex_properties.is_some() => {
                let labels = std::mem::take(&mut node.labels);
                out.extend(std::mem::take(tests).into_iter().map(|test| StepNode::from(self.test(test))));
                if let Some(last) = out.last_mut() {
                    last.labels = labels;
                }
            }
            Step::HasProperty { key, present } if self.strategy.vertex_properties.is_some() => {
                node.step = Step::Where { child: self.values(vec![key.clone()]), negated: !*present };
                out.push(node);
            }
            Step::HasChild { key: HasKey::Property(key), child } if self.strategy.vertex_properties.is_some() => {
                let mut values = self.values(vec![key.clone()]);
                values.steps.append(&mut child.steps);
                node.step = Step::Where { child: values, negated: false };
                out.push(node);
            }
            Step::Scan { kind: ElementKind::Vertex, .. } | Step::End(_) => push_filtered(node, self.vertex.clone(), out),
            Step::Scan { .. } | Step::Hop { to_edges: true, .. } => push_filtered(node, self.edge.clone(), out),
            // Without an edge criterion, the vertices decide which edges are visible, and paths hold only vertices.
            Step::Hop { direction, labels, to_edges: false, .. } if self.strategy.edges.is_some() => {
                let (direction, edge_labels) = (*direction, std::mem::take(labels));
                let names = std::mem::take(&mut node.labels);
                out.push(StepNode { step: Step::hop(direction, edge_labels, true), ..node });
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
                out.extend(self.values(keys).steps);
                if let Some(last) = out.last_mut() {
                    last.labels = names;
                }
            }
            _ => out.push(node),
        }
    }

    /// The visible values of the properties under these keys.
    fn values(&self, keys: Vec<Name>) -> Traversal {
        let steps = [Some(Step::Properties(keys)), self.vertex_property(), Some(Step::ValueOf)];
        Traversal { steps: steps.into_iter().flatten().map(StepNode::from).collect() }
    }

    /// The result of `by(key)`: an entry of a map, or a visible value.
    fn value_of(&self, key: &Name) -> Traversal {
        let is_map = Step::Is(Predicate::TypeOf([ValueType::Map].into()));
        let entry = Step::Select { pop: None, labels: vec![key.clone()], by: Vec::new() };
        Traversal::new([Step::Coalesce(vec![Traversal::new([is_map, entry]), self.values(vec![key.clone()])])])
    }

    /// A test of a property that considers only its visible values.
    fn test(&self, test: Has) -> Step {
        let HasKey::Property(key) = test.key else { return Step::Has(vec![test]) };
        let mut child = self.values(vec![key]);
        child.steps.push(Step::Is(test.predicate).into());
        Step::Where { child, negated: false }
    }

    /// Vertex properties must meet the criterion. Properties of edges always pass.
    fn vertex_property(&self) -> Option<Step> {
        let criterion = self.strategy.vertex_properties.as_ref()?;
        let other = Step::Is(Predicate::Not(Box::new(Predicate::TypeOf([ValueType::VertexProperty].into()))));
        Some(Step::Or(vec![Traversal::new([other]), criterion.clone()]))
    }
}
