//! Calls that modulate the step before them (`by`, `as`, `option`, `with`, `from`, `to`) or the `repeat` near them.

use mangrove_graph::Value;

use super::Builder;
use super::argument::{Resolver, arity, constant, direction, one, sort_order};
use super::compute;
use crate::diagnostics::suggest;
use crate::error::{QueryError, Result};
use crate::gremlin::syntax::{Argument, ArgumentKind, Call};
use crate::plan::*;

/// `until`, `times` and `emit` that came before their `repeat`.
#[derive(Default)]
pub(super) struct Pending {
    until: Option<Until>,
    emit: Option<Emit>,
}

impl Pending {
    pub fn finish(&self) -> Result<()> {
        if self.until.is_some() || self.emit.is_some() {
            return Err(QueryError::step(
                "The repeat()-traversal was not defined: until(), times() and emit() modulate a repeat()",
            ));
        }
        Ok(())
    }
}

impl Resolver<'_> {
    /// True if the call was a modulator and has been applied.
    pub(super) fn modulate(&self, call: &Call, builder: &mut Builder) -> Result<bool> {
        match call.name.as_str() {
            "as" => self.label(call, builder)?,
            "by" => self.add_by(call, builder)?,
            "option" => self.option(call, builder)?,
            "with" => self.with(call, builder)?,
            "from" | "to" if call.args.first().is_none_or(|a| constant(a, "Direction").is_none()) => {
                self.end(call, builder)?;
            }
            "times" => {
                let times = self.count(one("times", &call.args)?)?;
                self.until(Until::Times(times), builder);
            }
            "until" => {
                let until = match &one("until", &call.args)?.kind {
                    ArgumentKind::Predicate(_) => Until::Child(Traversal::new([Step::Is(self.predicate(&call.args[0])?)])),
                    _ => Until::Child(self.child(&call.args[0])?),
                };
                self.until(until, builder);
            }
            "emit" => self.emit(call, builder)?,
            "property" => self.property(call, builder)?,
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn label(&self, call: &Call, builder: &mut Builder) -> Result<()> {
        let names = self.names(&call.args)?;
        // After an infix and() or or() a new traversal begins.
        if builder.steps.len() == builder.begun_at() {
            builder.steps.push(StepNode { span: call.span, ..Step::Identity.into() });
        }
        if let Some(last) = builder.steps.last_mut() {
            last.labels.extend(names);
        }
        Ok(())
    }

    fn add_by(&self, call: &Call, builder: &mut Builder) -> Result<()> {
        let misplaced = || QueryError::step("by() must follow a step that it can modulate").at(call.span);
        let step = &mut builder.steps.last_mut().ok_or_else(misplaced)?.step;
        let (by, order) = self.by_arguments(call)?;
        match step {
            Step::Order { by: list, .. } => list.push((by, order)),
            Step::Dedup { by: list, .. } => only_one("Dedup", list.is_empty(), call).map(|()| list.push(by))?,
            Step::PropertyMap { by: list, .. } => only_one("PropertyMap", list.is_empty(), call).map(|()| list.push(by))?,
            Step::PathFilter { by: list, .. }
            | Step::Select { by: list, .. }
            | Step::Project { by: list, .. }
            | Step::Path { by: list, .. }
            | Step::Math { by: list, .. }
            | Step::Format { by: list, .. }
            | Step::Tree { by: list, .. }
            | Step::SelectChild { by: list, .. }
            | Step::WhereLabels { by: list, .. } => list.push(by),
            Step::Sample { by: slot, .. } => only_one("Sample", slot.replace(by).is_none(), call)?,
            Step::SackOp { by: slot, .. } => only_one("Sack", slot.replace(by).is_none(), call)?,
            Step::Aggregate { by: slot, .. } => only_one("Aggregate", slot.replace(by).is_none(), call)?,
            Step::GroupCount { key, .. } => only_one("GroupCount", key.replace(by).is_none(), call)?,
            Step::Group { key: key @ None, .. } => *key = Some(by),
            Step::Group { value: value @ None, .. } => {
                *value = Some(match by {
                    By::Child(child) => GroupValue::Reduce(child),
                    by => GroupValue::List(by),
                });
            }
            Step::Group { .. } => {
                let message = "The key and value traversals for group()-step have already been set";
                return Err(QueryError::step(message).at(call.span));
            }
            _ => return Err(misplaced()),
        }
        Ok(())
    }

    fn by_arguments(&self, call: &Call) -> Result<(By, SortOrder)> {
        Ok(match &call.args[..] {
            [] => (By::Identity, SortOrder::Ascending),
            [only] => match sort_order(only) {
                Some(order) => (By::Identity, order),
                None => (self.by(only)?, SortOrder::Ascending),
            },
            [by, order] => (self.by(by)?, sort_order(order).ok_or_else(|| not_an_order(order))?),
            _ => return Err(arity(call, "at most a key and an order")),
        })
    }

    fn option(&self, call: &Call, builder: &mut Builder) -> Result<()> {
        let misplaced = || QueryError::step("option() belongs to choose(), branch(), mergeV() or mergeE()").at(call.span);
        let step = &mut builder.steps.last_mut().ok_or_else(misplaced)?.step;
        match step {
            Step::Choose { options, all, .. } => {
                let (pick, traversal) = match &call.args[..] {
                    [traversal] => (Pick::Any, self.child(traversal)?),
                    [pick, traversal] => (self.pick(pick, *all)?, self.child(traversal)?),
                    _ => return Err(arity(call, "a value that picks the option, and a traversal")),
                };
                options.push(Option_ { pick, traversal });
            }
            Step::Merge(merge) => self.merge_option(call, merge)?,
            _ => return Err(misplaced()),
        }
        Ok(())
    }

    fn pick(&self, argument: &Argument, branch: bool) -> Result<Pick> {
        if let Some(name) = constant(argument, "Pick") {
            return Ok(match name {
                "any" => Pick::Any,
                "unproductive" => Pick::Unproductive,
                _ => Pick::None,
            });
        }
        Ok(match &argument.kind {
            ArgumentKind::Predicate(_) => Pick::Predicate(self.predicate(argument)?),
            ArgumentKind::Traversal(_) if branch => Pick::Traversal(self.child(argument)?),
            ArgumentKind::Traversal(_) => {
                return Err(QueryError::step("Traversal is not allowed as a Pick token").at(argument.span));
            }
            _ => Pick::Value(self.value(argument)?),
        })
    }

    fn merge_option(&self, call: &Call, merge: &mut Merge) -> Result<()> {
        let (which, value) = match &call.args[..] {
            [which, value] | [which, value, _] => (which, value),
            _ => return Err(arity(call, "Merge.onCreate, onMatch, outV or inV, and a map")),
        };
        let slot = match constant(which, "Merge") {
            Some("onCreate") => &mut merge.on_create,
            Some("onMatch") => &mut merge.on_match,
            Some("outV") => &mut merge.out_vertex,
            Some("inV") => &mut merge.in_vertex,
            _ => return Err(arity(call, "Merge.onCreate, onMatch, outV or inV, and a map")),
        };
        let mut operand = self.operand(value)?;
        if let (Operand::Value(Value::Map(map)), Some(given)) = (&operand, call.args.get(2)) {
            let cardinality = constant(given, "Cardinality").and_then(cardinality);
            let cardinality = cardinality.ok_or_else(|| arity(call, "a cardinality as third argument"))?;
            let entries = map.iter().map(|(key, value)| {
                let value = match (key, split_cardinality(value)) {
                    (Value::String(_), (None, plain)) => cardinality_value(cardinality, plain.clone()),
                    _ => value.clone(),
                };
                Ok((key.clone(), value))
            });
            operand = Operand::Value(Value::map(mangrove_graph::Map::from_distinct(entries.collect::<Result<_>>()?)));
        }
        *slot = Some(operand);
        Ok(())
    }

    /// `with()` on a step. Options that change the result are applied; options that only tune are ignored.
    fn with(&self, call: &Call, builder: &mut Builder) -> Result<()> {
        let Some(last) = builder.steps.last_mut() else { return Ok(()) };
        if let Step::Call(step) = &mut last.step {
            let (key, value) = match &call.args[..] {
                [key] => (key, Operand::Value(true.into())),
                [key, value] => (key, self.operand(value)?),
                _ => return Err(arity(call, "a parameter and its value")),
            };
            step.with.push((self.name(key)?, value));
            return Ok(());
        }
        let key = call.args.first().and_then(|a| self.option_name(a));
        let key = key.as_deref();
        match &mut last.step {
            Step::ShortestPath(asked) => return self.shortest_path_option(call, key, asked),
            Step::Compute(asked) => return compute::option(self, call, key, asked),
            _ => {}
        }
        match (&mut last.step, key) {
            (Step::PropertyMap { tokens, .. }, Some("tokens")) => *tokens = self.tokens(call.args.get(1))?,
            (Step::Index { as_map }, Some("indexer")) => {
                let mode = call.args.get(1);
                *as_map =
                    mode.is_some_and(|a| constant(a, "WithOptions") == Some("map") || matches!(self.integer(a), Ok(1)));
            }
            _ => {}
        }
        Ok(())
    }

    /// An option of `shortestPath()`.
    fn shortest_path_option(&self, call: &Call, key: Option<&str>, asked: &mut ShortestPath) -> Result<()> {
        let value = call.args.get(1);
        let needed = || value.ok_or_else(|| arity(call, "an option of shortestPath() and its value"));
        match key {
            Some("target") => asked.target = Some(self.child(needed()?)?),
            Some("edges") => match constant(needed()?, "Direction").and_then(direction) {
                Some(direction) => (asked.direction, asked.edges) = (direction, None),
                None => asked.edges = Some(self.child(needed()?)?),
            },
            Some("distance") => {
                asked.distance = Some(match &needed()?.kind {
                    ArgumentKind::Traversal(_) => self.child(needed()?)?,
                    _ => Traversal::new([Step::Values(vec![self.name(needed()?)?])]),
                });
            }
            Some("maxDistance") => {
                let most = self.value(needed()?)?;
                let number = most.as_f64().filter(|most| *most >= 0.0);
                asked.max_distance = Some(number.ok_or_else(|| {
                    QueryError::step(format!("maxDistance must be a number of 0 or more, not {most}")).at(call.span)
                })?);
            }
            Some("includeEdges") => {
                asked.includes_edges = match value {
                    None => true,
                    Some(value) => {
                        self.value(value)?.as_bool().ok_or_else(|| arity(call, "includeEdges and true or false"))?
                    }
                };
            }
            _ => {
                let options = "target, edges, distance, maxDistance and includeEdges";
                let message = format!("shortestPath() has the options {options}");
                return Err(QueryError::step(message).at(call.span));
            }
        }
        Ok(())
    }

    /// The name of an option: `WithOptions.tokens`, or the string that language variants send for it.
    fn option_name(&self, argument: &Argument) -> Option<String> {
        let kinds = ["WithOptions", "ShortestPath", "PageRank", "PeerPressure", "ConnectedComponent"];
        if let Some(name) = kinds.iter().find_map(|kind| constant(argument, kind)) {
            return Some(name.to_owned());
        }
        let name = self.name(argument).ok()?;
        name.strip_prefix("~tinkerpop.").and_then(|rest| rest.rsplit('.').next()).map(str::to_owned)
    }

    fn tokens(&self, which: Option<&Argument>) -> Result<Tokens> {
        let Some(which) = which else { return Ok(Tokens::ALL) };
        Ok(match constant(which, "WithOptions") {
            Some("none") => Tokens::default(),
            Some("ids") => Tokens::from_bits(1),
            Some("labels") => Tokens::from_bits(2),
            Some("keys") => Tokens::from_bits(4),
            Some("values") => Tokens::from_bits(8),
            Some(_) => Tokens::ALL,
            None => Tokens::from_bits(self.integer(which)?),
        })
    }

    fn end(&self, call: &Call, builder: &mut Builder) -> Result<()> {
        let misplaced =
            || QueryError::step(format!("{}() must follow a step that it can modulate", call.name)).at(call.span);
        let argument = one(&call.name, &call.args)?;
        let is_from = call.name == "from";
        match &mut builder.steps.last_mut().ok_or_else(misplaced)?.step {
            Step::Path { from, to, .. } | Step::PathFilter { from, to, .. } => {
                *(if is_from { from } else { to }) = Some(self.name(argument)?);
            }
            Step::AddEdge { from, to, .. } => {
                let end = match &argument.kind {
                    ArgumentKind::Traversal(_) => EndRef::Child(self.child(argument)?),
                    _ => match self.value(argument)? {
                        Value::String(label) => EndRef::Label(label),
                        value => EndRef::Value(value),
                    },
                };
                *(if is_from { from } else { to }) = Some(end);
            }
            _ => return Err(misplaced()),
        }
        Ok(())
    }

    fn until(&self, until: Until, builder: &mut Builder) {
        match builder.steps.last_mut().map(|node| &mut node.step) {
            Some(Step::Repeat(repeat)) if repeat.until.is_none() => repeat.until = Some(until),
            _ => builder.pending.until = Some(until),
        }
    }

    fn emit(&self, call: &Call, builder: &mut Builder) -> Result<()> {
        let emit = match call.args.first() {
            None => Emit::Always,
            Some(argument) => match argument.kind {
                ArgumentKind::Predicate(_) => Emit::Child(Traversal::new([Step::Is(self.predicate(argument)?)])),
                _ => Emit::Child(self.child(argument)?),
            },
        };
        match builder.steps.last_mut().map(|node| &mut node.step) {
            Some(Step::Repeat(repeat)) if repeat.emit.is_none() => repeat.emit = Some(emit),
            _ => builder.pending.emit = Some(emit),
        }
        Ok(())
    }

    pub(super) fn repeat(&self, call: &Call, builder: &mut Builder) -> Result<Step> {
        let (name, body) = match &call.args[..] {
            [body] => (None, body),
            [name, body] => (Some(self.name(name)?), body),
            _ => return Err(arity(call, "a traversal")),
        };
        let pending = std::mem::take(&mut builder.pending);
        let body = self.child(body)?;
        if body.steps.iter().any(|node| matches!(node.step, Step::Inject(_))) {
            return Err(QueryError::step("The parent of inject()-step can not be repeat()-step").at(call.span));
        }
        if body.steps.is_empty() {
            return Err(QueryError::step("the traversal of repeat() is empty").at(call.span));
        }
        Ok(Step::Repeat(Box::new(Repeat {
            body,
            name,
            until_first: pending.until.is_some(),
            until: pending.until,
            emit_first: pending.emit.is_some(),
            emit: pending.emit,
            goal: None,
        })))
    }

    /// `property(…)` belongs to the `addV` or `addE` before it. Otherwise it is a step of its own.
    fn property(&self, call: &Call, builder: &mut Builder) -> Result<()> {
        let step = self.property_step(call)?;
        match (builder.steps.last_mut().map(|node| &mut node.step), step) {
            (Some(Step::AddVertex { properties, .. } | Step::AddEdge { properties, .. }), Step::SetProperty(property)) => {
                properties.push(property);
            }
            // A vertex needs its key, and an edge its time, at the moment it is added.
            (
                Some(Step::AddVertex { properties, .. } | Step::AddEdge { properties, .. }),
                Step::SetProperties(Operand::Value(Value::Map(map)), cardinality),
            ) if map.iter().all(|(key, _)| key.as_str().is_some()) => {
                let entries =
                    map.iter().filter_map(|(key, value)| Some((Name::from(key.as_str()?), split_cardinality(value))));
                properties.extend(entries.map(|(key, (own, value))| SetProperty {
                    cardinality: own.or(cardinality),
                    key: PropertyName::Key(key),
                    value: Operand::Value(value.clone()),
                    meta: Vec::new(),
                }));
            }
            (_, step) => builder.steps.push(StepNode { span: call.span, ..step.into() }),
        }
        Ok(())
    }

    fn property_step(&self, call: &Call) -> Result<Step> {
        let args = &call.args[..];
        let (cardinality, rest) = match args.split_first() {
            Some((first, rest)) => match constant(first, "Cardinality") {
                Some(name) => (cardinality(name), rest),
                None => (None, args),
            },
            None => return Err(arity(call, "a key and a value, or a map")),
        };
        Ok(match rest {
            [map] => Step::SetProperties(self.operand(map)?, cardinality),
            [key, value, meta @ ..] if meta.len() % 2 == 0 => {
                let key = match constant(key, "T") {
                    Some("id") => PropertyName::Id,
                    Some("label") => PropertyName::Label,
                    _ => match &key.kind {
                        ArgumentKind::Traversal(_) => PropertyName::Child(self.child(key)?),
                        _ => PropertyName::Key(self.name(key)?),
                    },
                };
                let value = match &value.kind {
                    ArgumentKind::Applied { kind, args, .. } if kind == "Cardinality" && args.len() == 1 => {
                        self.operand(&args[0])?
                    }
                    _ => self.operand(value)?,
                };
                let meta = meta.chunks(2).map(|pair| Ok((self.name(&pair[0])?, self.operand(&pair[1])?)));
                Step::SetProperty(SetProperty { cardinality, key, value, meta: meta.collect::<Result<_>>()? })
            }
            _ => return Err(arity(call, "a key and a value, or a map")),
        })
    }
}

fn only_one(step: &str, first: bool, call: &Call) -> Result<()> {
    if first { Ok(()) } else { Err(QueryError::step(format!("{step} step can only have one by modulator")).at(call.span)) }
}

fn not_an_order(argument: &Argument) -> QueryError {
    let error = QueryError::step("by() takes an order after a key: asc, desc or shuffle").at(argument.span);
    match &argument.kind {
        ArgumentKind::Variable(name) => match suggest(name, ["asc", "desc", "shuffle"].into_iter()) {
            Some(near) => error.help(format!("did you mean `{near}`?")),
            None => error.help("write the order in the query itself: it cannot be a parameter"),
        },
        _ => error,
    }
}
