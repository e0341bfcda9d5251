//! Infers the type of a query's results, step by step from its start.
//!
//! A child traversal starts with the type of its parent's traversers. Names given by `as()` and names of side effects gather the
//! types of all that the query keeps under them.

use std::collections::HashMap;

use mangrove_graph::{Direction, ElementKind, Map, Schema, Token, Value};

use super::facts::{pattern_names, takes_all, test_of_labels, wanted_labels};
use super::id_is_key;
use super::types::{ElementTypes, Labels, Type};
use crate::plan::facts::Gives;
use crate::plan::{
    By, ChooseOn, Column, Emit, EndOf, GroupValue, LabelsTest, Merge, Name, Operand, Pattern, Plan, Pop, ProcedureCall,
    Repeat, Step, StepNode, Tokens, Traversal, Until,
};
use crate::procedure::Procedures;
use crate::stack::deep;

/// Rounds after which the type of a `repeat()` must be stable. Otherwise it may be any type.
const ROUNDS_MAX: usize = 3;

/// Steps after which inference gives up, because `repeat()`s in each other take very long.
const STEPS_MAX: usize = 1 << 16;

/// The type of the results of a query.
pub fn results(plan: &Plan, schema: &Schema, procedures: &Procedures) -> Type {
    let seeds = plan.source.side_effects.iter().map(|(name, seed)| (name.clone(), Type::of(&seed.value)));
    let mut scope = Inference {
        schema,
        procedures,
        labels: HashMap::new(),
        effects: seeds.collect(),
        path: Type::Nothing,
        depth: 0,
        steps: 0,
    };
    scope.traversal(&plan.traversal, &Type::Nothing)
}

struct Inference<'a> {
    schema: &'a Schema,
    procedures: &'a Procedures,
    /// What `as()` names.
    labels: HashMap<Name, Type>,
    effects: HashMap<Name, Type>,
    /// The objects of the path.
    path: Type,
    /// The number of traversals around this one.
    depth: usize,
    /// The number of steps so far.
    steps: usize,
}

fn add(to: &mut Type, more: Type) {
    *to = std::mem::replace(to, Type::Nothing).or(more);
}

impl Inference<'_> {
    fn traversal(&mut self, traversal: &Traversal, start: &Type) -> Type {
        let mut now = start.clone();
        let mut hop = None;
        for (at, node) in traversal.steps.iter().enumerate() {
            now = self.node(node, now, hop);
            // If filters narrow the type, only the narrow one is on the path: all others end there.
            let filters = traversal.steps[at + 1..].iter().map(|node| &node.step).take_while(|step| step.is_filter());
            let passing = filters.fold(now.clone(), |passing, step| self.passing(step, passing));
            add(&mut self.path, passing);
            hop = match &node.step {
                Step::Hop { to_edges: true, direction, .. } => Some(*direction),
                step if step.is_filter() => hop,
                _ => None,
            };
        }
        now
    }

    /// What a step gives. `hop` is the direction in which the step before it went to edges, filters aside.
    fn node(&mut self, node: &StepNode, before: Type, hop: Option<Direction>) -> Type {
        self.steps += 1;
        if self.steps > STEPS_MAX {
            return Type::Any;
        }
        let now = match &node.step {
            Step::End(EndOf::Other) => self.ends_of(before, hop.unwrap_or(Direction::Both)),
            step => self.step(step, before),
        };
        for name in &node.labels {
            add(self.labels.entry(name.clone()).or_insert(Type::Nothing), now.clone());
        }
        now
    }

    /// What a child gives.
    fn child(&mut self, child: &Traversal, start: &Type) -> Type {
        self.depth += 1;
        let given = deep(|| self.traversal(child, start));
        self.depth -= 1;
        given.of_many()
    }

    /// What one of several children gives.
    fn any_of<'a>(&mut self, children: impl IntoIterator<Item = &'a Traversal>, start: &Type) -> Type {
        children.into_iter().fold(Type::Nothing, |all, child| all.or(self.child(child, start)))
    }

    /// Notes what the children of a step keep under a name, where their results do not matter.
    fn visit(&mut self, step: &Step, start: &Type) {
        step.for_each_child(&mut |child| drop(self.aside(child, start)));
    }

    /// What a child gives whose way is not part of the path.
    fn aside(&mut self, child: &Traversal, start: &Type) -> Type {
        let (labels, path) = (self.labels.clone(), self.path.clone());
        let given = self.child(child, start);
        (self.labels, self.path) = (labels, path);
        given
    }

    fn step(&mut self, step: &Step, before: Type) -> Type {
        match step {
            Step::Scan { kind, labels, also, .. } => {
                also.iter().fold(self.elements(*kind, labels.as_deref()), |passing, test| self.labelled(passing, test))
            }
            Step::Hop { to_edges: true, labels, .. } => self.elements(ElementKind::Edge, named(labels)),
            Step::Hop { labels, direction, .. } => {
                let edges = self.elements(ElementKind::Edge, named(labels));
                self.ends_of(edges, *direction)
            }
            Step::End(end) => {
                let direction = match end {
                    EndOf::Out => Direction::In,
                    EndOf::In => Direction::Out,
                    EndOf::Both | EndOf::Other => Direction::Both,
                };
                self.ends_of(before, direction)
            }
            Step::Has(_) => self.passing(step, before),
            Step::And(_) | Step::Or(_) | Step::Where { .. } => {
                self.visit(step, &before);
                self.passing(step, before)
            }
            Step::Inject(values) => values.iter().map(Type::of).fold(before, Type::or).of_many(),
            Step::Constant(value) => Type::of(value),
            Step::Call(call) => {
                self.visit(step, &before);
                self.call(call)
            }

            Step::Properties(_) => match before {
                Type::Elements(types) => Type::Property(types),
                _ => Type::Property(ElementTypes { vertices: Some(Labels::All), edges: Some(Labels::All) }),
            },
            Step::PropertyMap { keys, tokens, .. } => self.property_map(&before, keys, *tokens, false),
            Step::ElementMap { keys, .. } => self.property_map(&before, keys, Tokens::ALL, true),
            Step::Element => match before {
                Type::Property(types) => Type::Elements(types),
                _ => Type::Any,
            },

            Step::Map(child) | Step::FlatMap(child) | Step::Local(child) => self.child(child, &before),
            Step::Union(children) | Step::Coalesce(children) => self.any_of(children, &before),
            Step::Optional(child) => self.child(child, &before).or(before),
            Step::Choose { condition, options, all } => {
                if let ChooseOn::By(By::Child(child)) = condition {
                    self.aside(child, &before);
                }
                let given = self.any_of(options.iter().map(|option| &option.traversal), &before);
                if *all || takes_all(condition, options) { given } else { given.or(before) }
            }
            Step::Repeat(repeat) => self.repeat(repeat, before),
            Step::Match(patterns) => {
                self.patterns(patterns, &before);
                let mut names = Vec::new();
                pattern_names(patterns, &mut names);
                let value = |name: &Name| self.labels.get(name).cloned().unwrap_or(Type::Any);
                Type::map(names.iter().map(|name| (Value::String(name.clone()), value(name))).collect())
            }
            _ => self.carrying_step(step, before),
        }
    }

    /// Steps that read what a traverser carries or the query keeps.
    fn carrying_step(&mut self, step: &Step, before: Type) -> Type {
        match step {
            Step::Project { keys, by } => self.map(keys, by, |_, _| before.clone()),
            Step::Select { labels, by, pop } if labels.len() == 1 => {
                let value = self.selected(&labels[0], *pop, &before);
                self.first_by(by, value)
            }
            Step::Select { labels, by, pop } => self.map(labels, by, |scope, name| scope.selected(name, *pop, &before)),
            Step::SelectColumn(column) => column_of(before, *column),
            Step::Path { by, .. } => {
                let objects = self.path.clone();
                let mut given = by.iter().fold(Type::Nothing, |all, by| all.or(self.by(by, &objects)));
                if by.is_empty() {
                    given = objects;
                }
                Type::list(given)
            }
            Step::ShortestPath(_) => {
                self.visit(step, &before);
                Type::list(Type::Any)
            }
            Step::SelectChild { .. } | Step::Sack => {
                self.visit(step, &before);
                Type::Any
            }
            Step::Index { .. } | Step::List { .. } => {
                self.visit(step, &before);
                Type::list(Type::Any)
            }
            _ => self.gathering_step(step, before),
        }
    }

    /// Barriers and changes. All other steps pass traversers on, drop them, or give scalars.
    fn gathering_step(&mut self, step: &Step, before: Type) -> Type {
        match step {
            Step::Fold { seed: None } => Type::list(before),
            Step::Fold { seed: Some(_) } => Type::Any,
            Step::Unfold => before.unfolded(),
            Step::Group { side_effect, key, value } => {
                let key = self.optional_by(key.as_ref(), &before);
                let value = match value {
                    None => Type::list(before.clone()),
                    Some(GroupValue::List(by)) => Type::list(self.by(by, &before)),
                    Some(GroupValue::Reduce(child)) => self.aside(child, &before),
                };
                self.grouped(side_effect.as_ref(), (key, value), before)
            }
            Step::GroupCount { side_effect, key } => {
                let key = self.optional_by(key.as_ref(), &before);
                self.grouped(side_effect.as_ref(), (key, Type::Scalar), before)
            }
            Step::Aggregate { name, by, .. } => {
                let value = self.optional_by(by.as_ref(), &before);
                self.keep(name, Type::list(value));
                before
            }
            Step::Tree { side_effect, .. } => {
                self.visit(step, &before);
                match side_effect {
                    Some(name) => {
                        self.keep(name, Type::Any);
                        before
                    }
                    None => Type::Any,
                }
            }
            Step::Subgraph(name) => {
                self.keep(name, Type::Any);
                before
            }
            Step::Cap(names) => self.cap(names),

            Step::AddVertex { label, .. } => {
                self.visit(step, &before);
                self.made(ElementKind::Vertex, label.as_ref())
            }
            Step::AddEdge { label, .. } => {
                self.visit(step, &before);
                self.made(ElementKind::Edge, Some(label))
            }
            Step::Merge(merge) => {
                self.visit(step, &before);
                self.merged(merge)
            }

            Step::Drop | Step::Discard | Step::Fail(_) => {
                self.visit(step, &before);
                Type::Nothing
            }
            _ => {
                self.visit(step, &before);
                match step.facts().gives {
                    Gives::Scalars | Gives::Values => Type::Scalar,
                    _ => before,
                }
            }
        }
    }

    fn elements(&self, kind: ElementKind, labels: Option<&[Name]>) -> Type {
        let labels = labels.map_or(Labels::All, |names| Labels::of(self.schema, kind, names));
        Type::Elements(ElementTypes::new(kind, labels))
    }

    /// The vertices that edges lead to in a direction.
    fn ends_of(&self, edges: Type, direction: Direction) -> Type {
        let ends = match edges {
            Type::Elements(ElementTypes { edges: Some(Labels::Known(labels)), .. }) => {
                let labels = labels.iter().filter_map(|label| self.schema.label_schema(ElementKind::Edge, *label));
                let ends = labels.flat_map(|label| &label.ends).flat_map(|(source, target)| match direction {
                    Direction::Out => vec![*target],
                    Direction::In => vec![*source],
                    Direction::Both => vec![*source, *target],
                });
                Labels::Known(ends.collect())
            }
            _ => Labels::All,
        };
        Type::Elements(ElementTypes::new(ElementKind::Vertex, ends))
    }

    /// What is left after a filter.
    fn passing(&self, step: &Step, before: Type) -> Type {
        match (step, before) {
            (Step::Has(tests), before) => {
                let test = |labels| LabelsTest { labels, is_negated: false };
                let tests = tests.iter().filter_map(wanted_labels).map(test);
                tests.fold(before, |passing, test| self.labelled(passing, &test))
            }
            (step @ (Step::Where { .. } | Step::Or(_)), before) => match test_of_labels(step) {
                Some(test) => self.labelled(before, &test),
                None => before,
            },
            (Step::And(children), before) => {
                let are_filters = |child: &&Traversal| child.steps.iter().all(|node| node.step.is_filter());
                let tests = children.iter().filter(are_filters).flat_map(|child| &child.steps);
                tests.fold(before, |passing, node| self.passing(&node.step, passing))
            }
            (_, before) => before,
        }
    }

    /// What is left after a test of labels.
    fn labelled(&self, before: Type, test: &LabelsTest) -> Type {
        let named = |kind| Labels::of(self.schema, kind, &test.labels);
        match before {
            Type::Elements(types) if !test.is_negated => Type::Elements(ElementTypes {
                vertices: types.vertices.map(|labels| labels.and(named(ElementKind::Vertex))),
                edges: types.edges.map(|labels| labels.and(named(ElementKind::Edge))),
            }),
            before => before,
        }
    }

    /// Elements that the query creates.
    fn made(&self, kind: ElementKind, label: Option<&Operand>) -> Type {
        match label {
            Some(Operand::Value(Value::String(name))) => self.elements(kind, Some(std::slice::from_ref(name))),
            _ => self.elements(kind, None),
        }
    }

    fn merged(&self, merge: &Merge) -> Type {
        let label = match &merge.search {
            Some(Operand::Value(Value::Map(map))) => map.get(&Value::Token(Token::Label)).cloned(),
            _ => None,
        };
        self.made(merge.kind, label.map(Operand::Value).as_ref())
    }

    /// The maps of `elementMap()` if `of_elements`, otherwise of `valueMap()` and `propertyMap()`.
    fn property_map(&self, of: &Type, keys: &[Name], tokens: Tokens, of_elements: bool) -> Type {
        let any = Type::Elements(ElementTypes { vertices: Some(Labels::All), edges: Some(Labels::All) });
        // Only elements and properties have such a map, and properties are rare.
        let of = if *of == Type::Any { &any } else { of };
        let mut all: Vec<Value> = Vec::new();
        let mut own = |wanted: bool, token: Token| all.extend(wanted.then_some(Value::Token(token)));
        own(tokens.id, Token::Id);
        own(tokens.label && !matches!(of, Type::Property(_)), Token::Label);
        let id_is_key = match of {
            Type::Elements(types) => {
                let ends = of_elements && types.edges.is_some();
                own(ends, Token::Direction(Direction::In));
                own(ends, Token::Direction(Direction::Out));
                // `valueMap()` gives lists.
                of_elements && id_is_key(self.schema, types)
            }
            Type::Property(_) => {
                own(tokens.key, Token::Key);
                own(tokens.value, Token::Value);
                false
            }
            _ => false,
        };
        let names = match of {
            _ if !keys.is_empty() => keys.to_vec(),
            Type::Elements(types) => super::all_keys(self.schema, types),
            // The schema does not list the keys of meta-properties.
            _ => return Type::Any,
        };
        all.extend(names.into_iter().map(Value::String));
        Type::Map { keys: all.into_iter().map(|key| (key, Type::Any)).collect(), id_is_key }
    }

    fn call(&self, call: &ProcedureCall) -> Type {
        let is_verbose = |map: &Map| map.get_str("verbose").and_then(Value::as_bool).unwrap_or(false);
        let with =
            |(name, value): &(Name, Operand)| &**name == "verbose" && matches!(value, Operand::Value(Value::Bool(true)));
        match self.procedures.columns(&call.name, is_verbose(&call.map) || call.with.iter().any(with)) {
            Some(names) => Type::map(names.into_iter().map(|name| (name.into(), Type::Any)).collect()),
            None => Type::Any,
        }
    }

    fn repeat(&mut self, repeat: &Repeat, before: Type) -> Type {
        let mut now = before;
        for _ in 0..=ROUNDS_MAX {
            let either = now.clone().or(self.child(&repeat.body, &now));
            if either == now {
                for test in [&repeat.until.as_ref().and_then(Until::child), &repeat.emit.as_ref().and_then(Emit::child)] {
                    test.iter().for_each(|child| drop(self.aside(child, &now)));
                }
                return now;
            }
            now = either;
        }
        Type::Any
    }

    fn patterns(&mut self, patterns: &[Pattern], before: &Type) {
        for pattern in patterns {
            match pattern {
                Pattern::Any(ways) => ways.iter().for_each(|way| self.patterns(way, before)),
                Pattern::Path(path) => {
                    let bound = path.start.as_ref().and_then(|name| self.labels.get(name));
                    let start = bound.cloned().unwrap_or_else(|| before.clone());
                    if let Some(name) = &path.start {
                        self.labels.insert(name.clone(), start.clone());
                    }
                    let end = self.child(&path.child, &start);
                    if let Some(name) = &path.end {
                        add(self.labels.entry(name.clone()).or_insert(Type::Nothing), end);
                    }
                }
            }
        }
    }

    /// A map with a value for each key, which goes through the modulators in turn.
    fn map(&mut self, keys: &[Name], by: &[By], value: impl Fn(&mut Self, &Name) -> Type) -> Type {
        let mut entries = Vec::with_capacity(keys.len());
        for (at, key) in keys.iter().enumerate() {
            let value = value(self, key);
            let value = match by.get(at % by.len().max(1)) {
                Some(by) => self.by(by, &value),
                None => value,
            };
            entries.push((Value::String(key.clone()), value));
        }
        Type::map(entries)
    }

    /// What `select()` gives for a name: an entry of the incoming map, a side effect, or an object of the path.
    fn selected(&self, name: &Name, pop: Option<Pop>, before: &Type) -> Type {
        if let Some(value) = before.under(name) {
            return value;
        }
        let entry = match before {
            Type::Groups { entry, .. } => entry.1.clone(),
            _ => Type::Nothing,
        };
        let kept = match (self.effects.get(name), self.labels.get(name)) {
            (Some(effect), _) => effect.clone(),
            (None, Some(object)) => match pop {
                Some(Pop::All) => Type::list(object.clone()),
                Some(Pop::Mixed) => Type::Any,
                _ => object.clone(),
            },
            (None, None) => Type::Any,
        };
        match (entry, kept) {
            (Type::Nothing, kept) => kept,
            (entry, Type::Any) => entry,
            (entry, kept) => entry.or(kept),
        }
        .of_many()
    }

    fn by(&mut self, by: &By, of: &Type) -> Type {
        match by {
            By::Identity => of.clone().of_many(),
            By::Key(name) => match of {
                Type::Map { .. } | Type::Any => of.under(name).unwrap_or(Type::Nothing),
                Type::Groups { entry, .. } => entry.1.clone(),
                _ => Type::Scalar,
            },
            By::Token(_) => Type::Scalar,
            By::Column(column) => column_of(of.clone(), *column),
            By::Child(child) => self.aside(child, of),
        }
    }

    fn optional_by(&mut self, by: Option<&By>, of: &Type) -> Type {
        self.by(by.unwrap_or(&By::Identity), of)
    }

    fn first_by(&mut self, by: &[By], of: Type) -> Type {
        match by.first() {
            Some(by) => self.by(by, &of),
            None => of,
        }
    }

    fn grouped(&mut self, side_effect: Option<&Name>, entry: (Type, Type), before: Type) -> Type {
        let groups = Type::groups(entry, self.depth == 0);
        match side_effect {
            Some(name) => {
                self.keep(name, groups);
                before
            }
            None => groups,
        }
    }

    fn keep(&mut self, name: &Name, value: Type) {
        add(self.effects.entry(name.clone()).or_insert(Type::Nothing), value);
    }

    fn cap(&self, names: &[Name]) -> Type {
        let kept = |name: &Name| self.effects.get(name).cloned().unwrap_or(Type::Nothing);
        match (names, self.depth) {
            ([name], 0) => match kept(name) {
                Type::Groups { entry, .. } => Type::Groups { entry, alone: true },
                other => other,
            },
            ([name], _) => kept(name).of_many(),
            _ => Type::map(names.iter().map(|name| (Value::String(name.clone()), kept(name))).collect()),
        }
    }
}

/// Labels of which an empty list means all.
fn named(labels: &[Name]) -> Option<&[Name]> {
    (!labels.is_empty()).then_some(labels)
}

fn column_of(of: Type, column: Column) -> Type {
    let (key, value) = match of {
        Type::Entry(entry) => return if column == Column::Keys { entry.0 } else { entry.1 },
        Type::Groups { entry, .. } => *entry,
        Type::Map { keys, .. } => (Type::Scalar, keys.into_iter().map(|(_, value)| value).fold(Type::Nothing, Type::or)),
        Type::List(objects) => (Type::Scalar, *objects),
        _ => return Type::Any,
    };
    Type::list(if column == Column::Keys { key } else { value })
}
