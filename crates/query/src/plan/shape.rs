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
        shape_after(&self.0.steps, schema).unwrap_or_default()
    }
}

fn shape_after(steps: &[StepNode], schema: &Schema) -> Option<Shape> {
    let at = steps.iter().rposition(|node| !passes_on(&node.step))?;
    Some(match &steps[at].step {
        Step::Project { keys, .. } => Shape::Maps(strings(keys)),
        Step::Select { labels, .. } if labels.len() > 1 => Shape::Maps(strings(labels)),
        Step::PropertyMap { of: MapOf::Values, keys, tokens, .. } => {
            let own = [(tokens.id, Token::Id), (tokens.label, Token::Label)];
            let own = own.into_iter().filter(|(wanted, _)| *wanted).map(|(_, token)| Value::Token(token));
            let keys = named_or_all(keys, &steps[..at], schema)?;
            Shape::Maps(own.chain(keys).collect())
        }
        Step::ElementMap { keys, .. } => {
            let mut all = vec![Value::Token(Token::Id), Value::Token(Token::Label)];
            if elements(&steps[..at], schema)?.0 == ElementKind::Edge {
                all.extend([Direction::In, Direction::Out].map(|end| Value::Token(Token::Direction(end))));
            }
            all.extend(named_or_all(keys, &steps[..at], schema)?);
            Shape::Maps(all)
        }
        Step::Group { side_effect: None, .. } | Step::GroupCount { side_effect: None, .. } => Shape::Groups,
        Step::Values(_) | Step::Id | Step::Label | Step::Labels | Step::Key | Step::ValueOf | Step::CountScan { .. } => {
            Shape::Values
        }
        Step::Degree { .. } | Step::Reduce { .. } | Step::Fold { .. } | Step::Math { .. } | Step::Path { .. } => {
            Shape::Values
        }
        Step::Properties(_) => Shape::Entries,
        _ => {
            let (kind, labels) = elements(&steps[..=at], schema)?;
            Shape::Elements { kind, keys: all_keys(schema, kind, labels.as_deref())? }
        }
    })
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

fn named_or_all(keys: &[Name], before: &[StepNode], schema: &Schema) -> Option<Vec<Value>> {
    if !keys.is_empty() {
        return Some(strings(keys));
    }
    let (kind, labels) = elements(before, schema)?;
    all_keys(schema, kind, labels.as_deref()).map(|keys| strings(&keys))
}

/// The keys that elements may have; `None` if they are very many.
fn all_keys(schema: &Schema, kind: ElementKind, labels: Option<&[LabelId]>) -> Option<Vec<Name>> {
    let is_meant = |at: usize| labels.is_none_or(|labels| labels.contains(&LabelId(at as u16)));
    let labels = schema.labels(kind).iter().enumerate().filter(|(at, _)| is_meant(*at));
    let properties = labels.flat_map(|(_, label)| label.known_properties());
    let keys: BTreeSet<KeyId> = properties.map(|property| property.key).collect();
    (keys.len() <= KEYS_MAX).then(|| keys.into_iter().map(|key| schema.key_name(key)).collect())
}

/// The elements that traversers stand on after these steps: their kind, and their labels if known.
fn elements(steps: &[StepNode], schema: &Schema) -> Option<(ElementKind, Option<Vec<LabelId>>)> {
    let at = steps.iter().rposition(|node| !passes_on(&node.step))?;
    let ids = |kind: ElementKind, names: &[Name]| names.iter().filter_map(|name| schema.label(kind, name)).collect();
    match &steps[at].step {
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
        _ => None,
    }
}

/// Whether the property `id` of vertices equals `T.id` wherever it exists.
pub fn id_is_key(schema: &Schema) -> bool {
    let Some(id) = schema.key("id") else { return true };
    let mut labels = schema.vertex_labels.iter().filter(|label| label.property(id).is_some());
    schema.id_space == IdSpace::Graph && labels.all(|label| label.key == Some(id))
}
