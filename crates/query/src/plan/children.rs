//! Visits the traversals below a step, for reading and for rewriting. One table serves both.

use super::*;
use crate::stack::deep;

/// Steps that never have a traversal below them. A new step does not compile until it is here or has arms of its own.
macro_rules! leaf_steps {
    () => {
        Step::Scan { .. }
            | Step::CountScan { .. }
            | Step::Inject(_)
            | Step::Hop { .. }
            | Step::End(_)
            | Step::Degree { .. }
            | Step::Has(_)
            | Step::HasProperty { .. }
            | Step::HasKeyOf(_)
            | Step::HasValueOf(_)
            | Step::Is(_)
            | Step::ListFilter { .. }
            | Step::Discard
            | Step::Range { .. }
            | Step::Tail { .. }
            | Step::Coin(_)
            | Step::TimeLimit(_)
            | Step::Id
            | Step::Label
            | Step::Labels
            | Step::Key
            | Step::ValueOf
            | Step::Values(_)
            | Step::Properties(_)
            | Step::Element
            | Step::Constant(_)
            | Step::Identity
            | Step::SelectColumn(_)
            | Step::Loops(_)
            | Step::Sack
            | Step::Index { .. }
            | Step::Text { .. }
            | Step::Conjoin(_)
            | Step::AsNumber(_)
            | Step::AsBool
            | Step::AsDate
            | Step::DateAdd(..)
            | Step::Fold { .. }
            | Step::Unfold
            | Step::Reduce { .. }
            | Step::Subgraph(_)
            | Step::Cap(_)
            | Step::Barrier { .. }
            | Step::BarrierSack
            | Step::ChangeLabels { .. }
            | Step::Drop
            | Step::Fail(_)
            | Step::Compute(_)
    };
}

macro_rules! property_children {
    ($property:ident, $visit:ident $(, $mut:tt)?) => {{
        if let PropertyName::Child(child) = & $($mut)? $property.key {
            $visit(child);
        }
        if let Operand::Child(child) = & $($mut)? $property.value {
            $visit(child);
        }
        for (_, operand) in & $($mut)? $property.meta {
            if let Operand::Child(child) = operand {
                $visit(child);
            }
        }
    }};
}

macro_rules! children {
    ($visit:ident, $self:ident, $each:ident $(, $mut:tt)?) => {{
        match $self {
            Step::HasChild { child, .. }
            | Step::Where { child, .. }
            | Step::Map(child)
            | Step::FlatMap(child)
            | Step::Local(child)
            | Step::SideEffect(child)
            | Step::Partial(child)
            | Step::Optional(child) => $visit(child),
            Step::SemiJoin { child, ends, .. } => {
                $visit(child);
                $visit(ends);
            }
            Step::SelectChild { child, by, .. } => {
                $visit(child);
                for by in by {
                    if let By::Child(child) = by {
                        $visit(child);
                    }
                }
            }
            Step::PropertyMap { by, visible, .. } => {
                if let Some(child) = visible {
                    $visit(child);
                }
                for by in by {
                    if let By::Child(child) = by {
                        $visit(child);
                    }
                }
            }
            Step::ElementMap { visible: Some(child), .. } => $visit(child),
            Step::ShortestPath(asked) => {
                let ends = [& $($mut)? asked.target, & $($mut)? asked.named];
                let children = ends.into_iter().chain([& $($mut)? asked.edges, & $($mut)? asked.distance]);
                for child in children.flatten() {
                    $visit(child);
                }
            }
            Step::Call(call) => {
                if let Some(child) = & $($mut)? call.child {
                    $visit(child);
                }
                for (_, operand) in & $($mut)? call.with {
                    if let Operand::Child(child) = operand {
                        $visit(child);
                    }
                }
            }
            Step::And(children) | Step::Or(children) | Step::Union(children) | Step::Coalesce(children) => {
                for child in children {
                    $visit(child);
                }
            }
            Step::Match(patterns) => {
                for pattern in patterns {
                    pattern.$each($visit);
                }
            }
            Step::WhereLabels { by, .. }
            | Step::Dedup { by, .. }
            | Step::PathFilter { by, .. }
            | Step::Select { by, .. }
            | Step::Project { by, .. }
            | Step::Path { by, .. }
            | Step::Math { by, .. }
            | Step::Format { by, .. }
            | Step::Tree { by, .. } => {
                for by in by {
                    if let By::Child(child) = by {
                        $visit(child);
                    }
                }
            }
            Step::Sample { by: Some(By::Child(child)), .. }
            | Step::SackOp { by: Some(By::Child(child)), .. }
            | Step::Aggregate { by: Some(By::Child(child)), .. }
            | Step::GroupCount { key: Some(By::Child(child)), .. } => $visit(child),
            Step::Group { key, value, .. } => {
                if let Some(By::Child(child)) = key {
                    $visit(child);
                }
                if let Some(GroupValue::List(By::Child(child)) | GroupValue::Reduce(child)) = value {
                    $visit(child);
                }
            }
            Step::Order { by, .. } => {
                for (by, _) in by {
                    if let By::Child(child) = by {
                        $visit(child);
                    }
                }
            }
            Step::Concat(operands) => {
                for operand in operands {
                    if let Operand::Child(child) = operand {
                        $visit(child);
                    }
                }
            }
            Step::List { operand: Operand::Child(child), .. }
            | Step::DateDiff(Operand::Child(child))
            | Step::SetProperties(Operand::Child(child), _) => $visit(child),
            Step::Choose { condition, options, .. } => {
                if let ChooseOn::By(By::Child(child)) = condition {
                    $visit(child);
                }
                for option in options {
                    if let Pick::Traversal(child) = & $($mut)? option.pick {
                        $visit(child);
                    }
                    $visit(& $($mut)? option.traversal);
                }
            }
            Step::Repeat(repeat) => {
                $visit(& $($mut)? repeat.body);
                if let Some(Until::Child(child)) = & $($mut)? repeat.until {
                    $visit(child);
                }
                if let Some(Emit::Child(child)) = & $($mut)? repeat.emit {
                    $visit(child);
                }
                if let Some(goal) = & $($mut)? repeat.goal {
                    $visit(& $($mut)? goal.targets);
                }
            }
            Step::AddVertex { label, properties } => {
                if let Some(Operand::Child(child)) = label {
                    $visit(child);
                }
                for property in properties {
                    property_children!(property, $visit $(, $mut)?);
                }
            }
            Step::AddEdge { label, from, to, properties } => {
                if let Operand::Child(child) = label {
                    $visit(child);
                }
                if let Some(EndRef::Child(child)) = from {
                    $visit(child);
                }
                if let Some(EndRef::Child(child)) = to {
                    $visit(child);
                }
                for property in properties {
                    property_children!(property, $visit $(, $mut)?);
                }
            }
            Step::SetProperty(property) => property_children!(property, $visit $(, $mut)?),
            Step::Merge(merge) => {
                let Merge { search, on_create, on_match, out_vertex, in_vertex, .. } = & $($mut)? **merge;
                if let Some(Operand::Child(child)) = search {
                    $visit(child);
                }
                if let Some(Operand::Child(child)) = on_create {
                    $visit(child);
                }
                if let Some(Operand::Child(child)) = on_match {
                    $visit(child);
                }
                if let Some(Operand::Child(child)) = out_vertex {
                    $visit(child);
                }
                if let Some(Operand::Child(child)) = in_vertex {
                    $visit(child);
                }
            }
            // Without a child after all.
            Step::ElementMap { .. }
            | Step::Sample { .. }
            | Step::SackOp { .. }
            | Step::Aggregate { .. }
            | Step::GroupCount { .. }
            | Step::List { .. }
            | Step::DateDiff(_)
            | Step::SetProperties(..) => {}
            leaf_steps!() => {}
        }
    }};
}

macro_rules! modulators {
    ($visit:ident, $self:ident) => {
        match $self {
            Step::WhereLabels { by, .. }
            | Step::Dedup { by, .. }
            | Step::PathFilter { by, .. }
            | Step::PropertyMap { by, .. }
            | Step::Select { by, .. }
            | Step::SelectChild { by, .. }
            | Step::Project { by, .. }
            | Step::Path { by, .. }
            | Step::Math { by, .. }
            | Step::Format { by, .. }
            | Step::Tree { by, .. } => {
                for by in by {
                    $visit(by);
                }
            }
            Step::Sample { by: Some(by), .. }
            | Step::SackOp { by: Some(by), .. }
            | Step::Aggregate { by: Some(by), .. }
            | Step::GroupCount { key: Some(by), .. }
            | Step::Choose { condition: ChooseOn::By(by), .. } => $visit(by),
            Step::Group { key, value, .. } => {
                if let Some(by) = key {
                    $visit(by);
                }
                if let Some(GroupValue::List(by)) = value {
                    $visit(by);
                }
            }
            Step::Order { by, .. } => {
                for (by, _) in by {
                    $visit(by);
                }
            }
            // Without one.
            Step::HasChild { .. }
            | Step::Where { .. }
            | Step::Map(_)
            | Step::FlatMap(_)
            | Step::Local(_)
            | Step::SideEffect(_)
            | Step::Optional(_)
            | Step::Partial(_)
            | Step::SemiJoin { .. }
            | Step::Call(_)
            | Step::ShortestPath(_)
            | Step::And(_)
            | Step::Or(_)
            | Step::Union(_)
            | Step::Coalesce(_)
            | Step::Match(_)
            | Step::Repeat(_)
            | Step::AddVertex { .. }
            | Step::AddEdge { .. }
            | Step::SetProperty(_)
            | Step::Merge(_)
            | Step::Concat(_)
            | Step::ElementMap { .. }
            | Step::List { .. }
            | Step::DateDiff(_)
            | Step::SetProperties(..)
            | Step::Sample { .. }
            | Step::SackOp { .. }
            | Step::Aggregate { .. }
            | Step::GroupCount { .. }
            | Step::Choose { .. } => {}
            leaf_steps!() => {}
        }
    };
}

impl Step {
    #[inline]
    pub fn for_each_child<'a>(&'a self, visit: &mut dyn FnMut(&'a Traversal)) {
        if !self.is_leaf() {
            deep(|| children!(visit, self, for_each_child))
        }
    }

    /// Whether it can have no traversal below it.
    #[inline]
    fn is_leaf(&self) -> bool {
        matches!(self, leaf_steps!())
    }

    #[inline]
    pub fn for_each_child_mut(&mut self, visit: &mut dyn FnMut(&mut Traversal)) {
        if !self.is_leaf() {
            deep(|| children!(visit, self, for_each_child_mut, mut))
        }
    }

    /// Visits the step's `by()` modulators.
    pub fn for_each_by(&self, visit: &mut dyn FnMut(&By)) {
        modulators!(visit, self)
    }

    pub fn for_each_by_mut(&mut self, visit: &mut dyn FnMut(&mut By)) {
        modulators!(visit, self)
    }
}
