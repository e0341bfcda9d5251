//! The shape of a query's results, as far as the query and the schema determine it. So the columns of a result do not depend on the
//! data in the graph.

use std::collections::BTreeSet;
use std::sync::Arc;

use mangrove_graph::{Direction, ElementKind, IdSpace, KeyId, LabelId, Schema, Token, Value};

use super::{MapOf, Name, Scope, Step, StepNode, Traversal};

/// Beyond this many keys, only the keys of actual results are listed.
const KEYS_MAX: usize = 256;

/// What all results have in common.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Shape {
    /// Known only from the results.
    #[default]
    Unknown,
    /// Maps with these keys. A map may lack some of them.
    Maps(Vec<Value>),
    /// Elements of one kind, which may have properties under these keys.
    Elements {
        kind: ElementKind,
        keys: Vec<Name>,
    },
    /// One map, whose keys are values of the graph.
    Groups,
    /// Keys with values.
    Entries,
    Values,
}

/// What a plan knows about its results.
#[derive(Clone, Debug)]
pub struct Outlook(Arc<Traversal>);

impl Outlook {
    pub(crate) fn new(traversal: Traversal) -> Self {
        Self(Arc::new(traversal))
    }

    /// The shape of the results in a graph with this schema.
    pub fn shape(&self, schema: &Schema) -> Shape {
        Flow { steps: &self.0.steps, parent: None, schema }.shape().unwrap_or_default()
    }
}

/// Steps of the query up to some place. A child begins with the traversers of its parent.
#[derive(Clone, Copy)]
struct Flow<'a> {
    steps: &'a [StepNode],
    parent: Option<&'a Flow<'a>>,
    schema: &'a Schema,
}

impl<'a> Flow<'a> {
    fn before(self, at: usize) -> Self {
        Self { steps: &self.steps[..at], ..self }
    }

    fn child<'b>(&'b self, child: &'b Traversal) -> Flow<'b> {
        Flow { steps: &child.steps, parent: Some(self), schema: self.schema }
    }

    /// The steps up to the one that `as()` gave this label; `None` if there are several or none.
    fn labelled(&self, label: &Name) -> Option<Flow<'_>> {
        let mut found = (0..self.steps.len()).filter(|at| self.steps[*at].labels.contains(label));
        match (found.next(), found.next()) {
            (Some(at), None) => Some(self.before(at + 1)),
            (None, _) => self.parent?.labelled(label),
            _ => None,
        }
    }

    /// The last step that does not just pass traversers on.
    fn last(&self) -> Option<usize> {
        self.steps.iter().rposition(|node| !passes_on(&node.step))
    }

    /// If `unfold()` at this place undoes a `fold()`, the steps before that.
    fn unfolded(&self, at: usize) -> Option<Flow<'a>> {
        let before = self.before(at);
        let fold = before.last()?;
        matches!(before.steps[fold].step, Step::Fold { seed: None }).then(|| before.before(fold))
    }

    fn shape(&self) -> Option<Shape> {
        let Some(at) = self.last() else { return self.parent?.shape() };
        let (schema, before) = (self.schema, self.before(at));
        let known = match &self.steps[at].step {
            Step::Project { keys, .. } => Some(Shape::Maps(strings(keys))),
            Step::Select { labels, .. } if labels.len() > 1 => Some(Shape::Maps(strings(labels))),
            Step::Select { labels, by, pop: None } if by.is_empty() => before.labelled(&labels[0])?.shape(),
            Step::PropertyMap { of: MapOf::Values, keys, tokens, .. } => {
                let own = [(tokens.id, Token::Id), (tokens.label, Token::Label)];
                let own = own.into_iter().filter(|(wanted, _)| *wanted).map(|(_, token)| Value::Token(token));
                Some(Shape::Maps(own.chain(before.named_or_all(keys)?).collect()))
            }
            Step::ElementMap { keys, .. } => {
                let mut all = vec![Value::Token(Token::Id), Value::Token(Token::Label)];
                if before.elements()?.0 == ElementKind::Edge {
                    all.extend([Direction::In, Direction::Out].map(|end| Value::Token(Token::Direction(end))));
                }
                all.extend(before.named_or_all(keys)?);
                Some(Shape::Maps(all))
            }
            Step::Group { side_effect: None, .. } | Step::GroupCount { side_effect: None, .. } => Some(Shape::Groups),
            Step::Values(_) | Step::Id | Step::Label | Step::Labels | Step::Key | Step::ValueOf => Some(Shape::Values),
            Step::CountScan { .. } | Step::Degree { .. } | Step::Reduce { .. } | Step::Fold { .. } => Some(Shape::Values),
            Step::Math { .. } | Step::Path { .. } => Some(Shape::Values),
            Step::Properties(_) => Some(Shape::Entries),
            Step::Local(child) | Step::FlatMap(child) | Step::Map(child) => before.child(child).shape(),
            Step::Union(children) | Step::Coalesce(children) => {
                let mut shapes = children.iter().map(|child| before.child(child).shape());
                let first = shapes.next()??;
                shapes.all(|shape| shape.as_ref() == Some(&first)).then_some(first)
            }
            Step::Unfold => match self.unfolded(at) {
                Some(folded) => folded.shape(),
                None => (before.shape() == Some(Shape::Groups)).then_some(Shape::Entries),
            },
            _ => None,
        };
        known.or_else(|| {
            let (kind, labels) = self.elements()?;
            Some(Shape::Elements { kind, keys: all_keys(schema, kind, labels.as_deref())? })
        })
    }

    /// The elements that traversers stand on after these steps: their kind, and their labels if known.
    fn elements(&self) -> Option<Standing> {
        let Some(at) = self.last() else { return self.parent?.elements() };
        let (schema, before) = (self.schema, self.before(at));
        let ids = |kind: ElementKind, names: &[Name]| names.iter().filter_map(|name| schema.label(kind, name)).collect();
        match &self.steps[at].step {
            Step::Scan { kind, labels, .. } => Some((*kind, labels.as_ref().map(|labels| ids(*kind, labels)))),
            Step::Hop { to_edges: true, labels, .. } => {
                Some((ElementKind::Edge, (!labels.is_empty()).then(|| ids(ElementKind::Edge, labels))))
            }
            Step::Hop { labels, direction, .. } => {
                let labels: Vec<LabelId> = ids(ElementKind::Edge, labels);
                let ends = labels.iter().filter_map(|label| schema.label_schema(ElementKind::Edge, *label));
                let ends = ends.flat_map(|label| &label.ends).flat_map(|(source, target)| match direction {
                    Direction::Out => vec![*target],
                    Direction::In => vec![*source],
                    Direction::Both => vec![*source, *target],
                });
                Some((ElementKind::Vertex, (!labels.is_empty()).then(|| ends.collect())))
            }
            Step::End(_) => Some((ElementKind::Vertex, None)),
            Step::Local(child) | Step::FlatMap(child) | Step::Map(child) => before.child(child).elements(),
            Step::Union(children) | Step::Coalesce(children) => {
                children.iter().map(|child| before.child(child).elements()).reduce(joined)?
            }
            Step::Optional(child) => joined(before.elements(), before.child(child).elements()),
            Step::Repeat(repeat) => joined(before.elements(), before.child(&repeat.body).elements()),
            Step::Select { labels, by, pop: None } if by.is_empty() && labels.len() == 1 => {
                before.labelled(&labels[0])?.elements()
            }
            Step::Unfold => self.unfolded(at)?.elements(),
            _ => None,
        }
    }

    fn named_or_all(&self, keys: &[Name]) -> Option<Vec<Value>> {
        if !keys.is_empty() {
            return Some(strings(keys));
        }
        let (kind, labels) = self.elements()?;
        all_keys(self.schema, kind, labels.as_deref()).map(|keys| strings(&keys))
    }
}

/// A kind of elements, and their labels if known.
type Standing = (ElementKind, Option<Vec<LabelId>>);

/// What is true of both; `None` if their kinds differ.
fn joined(one: Option<Standing>, other: Option<Standing>) -> Option<Standing> {
    let ((kind, labels), (other, others)) = (one?, other?);
    let both = labels.zip(others).map(|(labels, others)| [labels, others].concat());
    (kind == other).then_some((kind, both))
}

/// Whether the step passes traversers on unchanged, or drops them.
fn passes_on(step: &Step) -> bool {
    match step {
        Step::Has(_) | Step::HasProperty { .. } | Step::HasChild { .. } | Step::HasKeyOf(_) | Step::HasValueOf(_) => true,
        Step::Is(_) | Step::Where { .. } | Step::And(_) | Step::Or(_) | Step::WhereLabels { .. } | Step::Discard => true,
        Step::Coin(_) | Step::PathFilter { .. } | Step::TimeLimit(_) | Step::Identity | Step::SideEffect(_) => true,
        Step::Dedup { scope, .. } | Step::Range { scope, .. } | Step::Tail { scope, .. } => *scope == Scope::Global,
        Step::Order { scope, .. } | Step::Sample { scope, .. } => *scope == Scope::Global,
        Step::Group { side_effect, .. } | Step::GroupCount { side_effect, .. } => side_effect.is_some(),
        Step::Aggregate { .. } | Step::Barrier { .. } | Step::BarrierSack => true,
        _ => false,
    }
}

fn strings(names: &[Name]) -> Vec<Value> {
    names.iter().cloned().map(Value::String).collect()
}

/// The keys that elements may have; `None` if they are very many.
fn all_keys(schema: &Schema, kind: ElementKind, labels: Option<&[LabelId]>) -> Option<Vec<Name>> {
    let is_meant = |at: usize| labels.is_none_or(|labels| labels.contains(&LabelId(at as u16)));
    let labels = schema.labels(kind).iter().enumerate().filter(|(at, _)| is_meant(*at));
    let properties = labels.flat_map(|(_, label)| label.known_properties());
    let keys: BTreeSet<KeyId> = properties.map(|property| property.key).collect();
    (keys.len() <= KEYS_MAX).then(|| keys.into_iter().map(|key| schema.key_name(key)).collect())
}

/// Whether the property `id` of vertices equals `T.id` wherever it exists.
pub fn id_is_key(schema: &Schema) -> bool {
    let Some(id) = schema.key("id") else { return true };
    let mut labels = schema.vertex_labels.iter().filter(|label| label.property(id).is_some());
    schema.id_space == IdSpace::Graph && labels.all(|label| label.key == Some(id))
}
