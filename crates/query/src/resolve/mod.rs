//! Resolves syntax to a plan. Each call becomes a step, or modulates the step before it.

mod argument;
mod compute;
pub mod elements;
pub(crate) mod math;
mod modulate;
mod names;
mod pattern;
mod source;
mod strategy;
mod unbound;

use std::sync::Arc;

use mangrove_graph::{Comparison, Direction, ElementKind, Map, Predicate, Value, ValueType, time::TimeUnit};

use self::argument::{Resolver, arity, constant, one, pop, scope};
use self::modulate::Pending;
use self::source::source_call;
use crate::error::{QueryError, QueryErrorKind, Result};
use crate::gremlin::steps::{STEPS, StepKind};
use crate::gremlin::syntax::{self, Argument, ArgumentKind, Call};
use crate::options::Parameters;
use crate::plan::*;
use crate::procedure::LIST;
use crate::stack::deep;

pub use names::check_names;
pub use strategy::{Effect, STRATEGIES, Strategy};

/// The plan of a traversal from `g`, with its variables bound.
pub fn resolve(syntax: &syntax::TraversalSyntax, parameters: &Parameters) -> Result<Plan> {
    let resolver = Resolver { parameters };
    if !syntax.from_source {
        return Err(QueryError::step("a query starts with `g`, as in g.V()").at(syntax.span));
    }
    let mut source = SourceConfig::default();
    let mut calls = &syntax.calls[..];
    while let Some((call, rest)) = calls.split_first() {
        if !source_call(&resolver, call, &mut source)? {
            break;
        }
        calls = rest;
    }
    let mut ending = Vec::new();
    while let Some((last, rest)) = calls.split_last() {
        let Some(steps) = source::terminal(&resolver, last)? else { break };
        ending.splice(0..0, steps);
        calls = rest;
    }
    let mut traversal = resolver.chain(calls, true)?;
    traversal.steps.extend(ending.into_iter().map(StepNode::from));
    compute::check(&traversal, &source.strategies)?;
    source.warnings.extend(unbound::warnings(&traversal, &source));
    source.warnings.extend(strategy::apply(&mut traversal, &source.strategies)?);
    Ok(Plan { source, traversal })
}

/// The steps of a traversal under construction.
struct Builder {
    pub steps: Vec<StepNode>,
    /// The infix `and()`/`or()`: the number of steps before each, and which it is.
    connectives: Vec<(usize, Connective)>,
    pub pending: Pending,
}

impl Builder {
    /// The number of steps before the current traversal. A new one begins after an infix connective.
    pub fn begun_at(&self) -> usize {
        self.connectives.last().map_or(0, |(at, _)| *at)
    }
}

#[derive(Clone, Copy, PartialEq)]
enum Connective {
    And,
    Or,
}

impl Resolver<'_> {
    pub(super) fn anonymous(&self, syntax: &syntax::TraversalSyntax) -> Result<Traversal> {
        if syntax.from_source {
            return Err(QueryError::step("a child traversal starts with `__` or a step, not with `g`").at(syntax.span));
        }
        self.chain(&syntax.calls, false)
    }

    fn chain(&self, calls: &[Call], spawned: bool) -> Result<Traversal> {
        deep(|| self.steps(calls, spawned))
    }

    fn steps(&self, calls: &[Call], spawned: bool) -> Result<Traversal> {
        let mut builder =
            Builder { steps: Vec::with_capacity(calls.len()), connectives: Vec::new(), pending: Pending::default() };
        for call in calls {
            self.call(call, &mut builder, spawned).map_err(|e| e.at(call.span))?;
        }
        builder.pending.finish()?;
        let connectives = std::mem::take(&mut builder.connectives);
        Ok(Traversal { steps: connect(builder.steps, &connectives) })
    }

    fn call(&self, call: &Call, builder: &mut Builder, spawned: bool) -> Result<()> {
        if self.modulate(call, builder)? {
            return Ok(());
        }
        if call.args.is_empty() && matches!(call.name.as_str(), "and" | "or") {
            let which = if call.name == "and" { Connective::And } else { Connective::Or };
            builder.connectives.push((builder.steps.len(), which));
            return Ok(());
        }
        if spawned && builder.steps.is_empty() && !source::can_spawn(&call.name) {
            return Err(QueryError::step(format!("`{}` cannot start a traversal", call.name))
                .at(call.name_span)
                .help("start with V(), E(), addV(), addE(), mergeV(), mergeE(), inject() or union()"));
        }
        let step = self.step(call, builder)?;
        builder.steps.push(StepNode { span: call.span, ..step.into() });
        Ok(())
    }

    fn step(&self, call: &Call, builder: &mut Builder) -> Result<Step> {
        check_surplus(call)?;
        let args = &call.args[..];
        let name = call.name.as_str();
        Ok(match name {
            "V" | "E" => self.scan(if name == "V" { ElementKind::Vertex } else { ElementKind::Edge }, args)?,
            "inject" => Step::Inject(args.iter().map(|a| self.value(a)).collect::<Result<_>>()?),
            "call" => self.call_step(call)?,
            "out" | "in" | "both" | "outE" | "inE" | "bothE" => {
                let direction = match name.trim_end_matches('E') {
                    "out" => Direction::Out,
                    "in" => Direction::In,
                    _ => Direction::Both,
                };
                Step::hop(direction, self.names(args)?, name.ends_with('E'))
            }
            "to" | "toE" => {
                let (first, rest) = args.split_first().ok_or_else(|| arity(call, "a direction and labels"))?;
                let direction = constant(first, "Direction").and_then(argument::direction);
                let direction = direction.ok_or_else(|| arity(call, "a direction and labels"))?;
                Step::hop(direction, self.names(rest)?, name == "toE")
            }
            "outV" => Step::End(EndOf::Out),
            "inV" => Step::End(EndOf::In),
            "bothV" => Step::End(EndOf::Both),
            "otherV" => Step::End(EndOf::Other),
            "toV" => match constant(one(name, args)?, "Direction").and_then(argument::direction) {
                Some(Direction::Out) => Step::End(EndOf::Out),
                Some(Direction::In) => Step::End(EndOf::In),
                _ => Step::End(EndOf::Both),
            },
            "has" => self.has(call)?,
            "hasId" => Step::Has(vec![Has { key: HasKey::Id, predicate: self.any_of(args)? }]),
            "hasLabel" => Step::Has(vec![Has { key: HasKey::Label, predicate: self.any_of(args)? }]),
            "hasKey" => Step::HasKeyOf(self.any_of(args)?),
            "hasValue" => Step::HasValueOf(self.any_of(args)?),
            "hasNot" => Step::HasProperty { key: self.name(one(name, args)?)?, present: false },
            "is" => Step::Is(self.predicate(one(name, args)?)?),
            "filter" => Step::Where { child: self.child(one(name, args)?)?, negated: false },
            "not" => Step::Where { child: self.child(one(name, args)?)?, negated: true },
            "where" => self.where_step(call)?,
            "and" => Step::And(self.children(args)?),
            "or" => Step::Or(self.children(args)?),
            "all" | "any" | "none" => {
                let quantifier = match name {
                    "all" => Quantifier::All,
                    "any" => Quantifier::Any,
                    _ => Quantifier::None,
                };
                Step::ListFilter { quantifier, predicate: self.predicate(one(name, args)?)? }
            }
            "discard" => Step::Discard,
            "dedup" => {
                let (scope, rest) = scope(args);
                Step::Dedup { labels: self.names(rest)?, by: Vec::new(), scope: scope.unwrap_or(Scope::Global) }
            }
            "limit" | "skip" | "range" => self.range(call)?,
            "tail" => {
                let (scope, rest) = scope(args);
                let count = rest.first().map(|a| self.count(a)).transpose()?.unwrap_or(1);
                Step::Tail { count, scope: scope.unwrap_or(Scope::Global) }
            }
            "coin" => Step::Coin(self.float(one(name, args)?)?),
            "sample" => {
                let (scope, rest) = scope(args);
                let count = self.count(one(name, rest)?)? as usize;
                Step::Sample { count, scope: scope.unwrap_or(Scope::Global), by: None }
            }
            "simplePath" | "cyclicPath" => {
                Step::PathFilter { simple: name == "simplePath", by: Vec::new(), from: None, to: None }
            }
            "timeLimit" => Step::TimeLimit(self.count(one(name, args)?)?),
            "id" => Step::Id,
            "label" => Step::Label,
            "labels" => Step::Labels,
            "key" => Step::Key,
            "value" => Step::ValueOf,
            "values" => Step::Values(self.names(args)?),
            "properties" => Step::Properties(self.names(args)?),
            "valueMap" | "propertyMap" => {
                let (tokens, rest) = match args.first().map(|a| &a.kind) {
                    Some(ArgumentKind::Value(Value::Bool(true))) => (Tokens::ALL, &args[1..]),
                    Some(ArgumentKind::Value(Value::Bool(false))) => (Tokens::default(), &args[1..]),
                    _ => (Tokens::default(), args),
                };
                let of = if name == "valueMap" { MapOf::Values } else { MapOf::Properties };
                Step::PropertyMap { visible: None, of, keys: self.names(rest)?, tokens, by: Vec::new() }
            }
            "elementMap" => Step::ElementMap { keys: self.names(args)?, visible: None },
            "element" => Step::Element,
            "constant" => Step::Constant(self.value(one(name, args)?)?),
            "identity" => Step::Identity,
            "map" => Step::Map(self.child(one(name, args)?)?),
            "flatMap" => Step::FlatMap(self.child(one(name, args)?)?),
            "local" => Step::Local(self.child(one(name, args)?)?),
            "sideEffect" => Step::SideEffect(self.child(one(name, args)?)?),
            "select" => self.select(call)?,
            "project" => self.project(call)?,
            "path" => Step::Path { by: Vec::new(), from: None, to: None },
            "loops" => Step::Loops(args.first().map(|a| self.name(a)).transpose()?),
            "sack" => match args {
                [] => Step::Sack,
                [operator] => Step::SackOp {
                    operator: argument::operator(operator)
                        .ok_or_else(|| arity(call, "an operator, such as Operator.sum"))?,
                    by: None,
                },
                _ => return Err(arity(call, "no argument or one operator")),
            },
            "index" => Step::Index { as_map: false },
            "math" => Step::Math { expression: math::parse(&self.name(one(name, args)?)?)?, by: Vec::new() },
            "fold" => match args {
                [] => Step::Fold { seed: None },
                [seed, operator] => {
                    let operator = argument::operator(operator).ok_or_else(|| arity(call, "a seed and an operator"))?;
                    Step::Fold { seed: Some((self.value(seed)?, operator)) }
                }
                _ => return Err(arity(call, "nothing, or a seed and an operator")),
            },
            "unfold" => Step::Unfold,
            "count" | "sum" | "min" | "max" | "mean" => {
                let reduction = match name {
                    "count" => Reduction::Count,
                    "sum" => Reduction::Sum,
                    "min" => Reduction::Min,
                    "max" => Reduction::Max,
                    _ => Reduction::Mean,
                };
                Step::Reduce { reduction, scope: only_scope(call)? }
            }
            "order" => Step::Order { by: Vec::new(), scope: only_scope(call)?, limit: None },
            "group" => Step::Group { side_effect: args.first().map(|a| self.name(a)).transpose()?, key: None, value: None },
            "groupCount" => Step::GroupCount { side_effect: args.first().map(|a| self.name(a)).transpose()?, key: None },
            "tree" => Step::Tree { side_effect: args.first().map(|a| self.name(a)).transpose()?, by: Vec::new() },
            "aggregate" => {
                let (scope, rest) = scope(args);
                Step::Aggregate { name: self.name(one(name, rest)?)?, scope: scope.unwrap_or(Scope::Global), by: None }
            }
            "store" => Step::Aggregate { name: self.name(one(name, args)?)?, scope: Scope::Local, by: None },
            "shortestPath" if args.is_empty() => Step::ShortestPath(Box::default()),
            "pageRank" | "peerPressure" | "connectedComponent" => compute::step(self, call, &builder.steps)?,
            "subgraph" => Step::Subgraph(self.name(one(name, args)?)?),
            "cap" if args.is_empty() => return Err(arity(call, "the names of side effects")),
            "cap" => Step::Cap(self.names(args)?),
            "barrier" => match args {
                [] => Step::Barrier { max: Some(usize::MAX) },
                [only] if constant(only, "Barrier").is_some() => Step::BarrierSack,
                [only] => Step::Barrier { max: Some(self.count(only)? as usize) },
                _ => return Err(arity(call, "at most one argument")),
            },
            "union" => Step::Union(self.children(args)?),
            "coalesce" => Step::Coalesce(self.children(args)?),
            "optional" => Step::Optional(self.child(one(name, args)?)?),
            "choose" => self.choose(call)?,
            "branch" => Step::Choose { condition: ChooseOn::By(self.by(one(name, args)?)?), options: Vec::new(), all: true },
            "repeat" => self.repeat(call, builder)?,
            "match" => {
                let bound = builder.steps.iter().flat_map(|node| node.labels.iter().cloned()).collect();
                Step::Match(pattern::order(self.children(args)?, bound)?)
            }
            "addV" => Step::AddVertex { label: args.first().map(|a| self.operand(a)).transpose()?, properties: Vec::new() },
            "addE" => Step::AddEdge { label: self.operand(one(name, args)?)?, from: None, to: None, properties: Vec::new() },
            "mergeV" | "mergeE" => Step::Merge(Box::new(Merge {
                kind: if name == "mergeV" { ElementKind::Vertex } else { ElementKind::Edge },
                search: args.first().map(|a| self.operand(a)).transpose()?,
                on_create: None,
                on_match: None,
                out_vertex: None,
                in_vertex: None,
                partition: None,
            })),
            "addLabel" | "dropLabel" if args.is_empty() => return Err(arity(call, "at least one label")),
            "addLabel" | "dropLabel" => Step::ChangeLabels {
                names: args.iter().map(|a| self.name(a)).collect::<Result<_>>()?,
                adds: name == "addLabel",
            },
            "drop" => Step::Drop,
            "fail" => Step::Fail(args.first().map(|a| self.name(a)).transpose()?),
            "asNumber" => Step::AsNumber(args.first().map(number_type).transpose()?),
            "asBool" => Step::AsBool,
            "asDate" => Step::AsDate,
            "dateAdd" => match args {
                [unit, amount] => Step::DateAdd(time_unit(unit)?, self.integer(amount)?),
                _ => return Err(arity(call, "a unit and an amount")),
            },
            "dateDiff" => Step::DateDiff(self.operand(one(name, args)?)?),
            "concat" => Step::Concat(args.iter().map(|a| self.operand(a)).collect::<Result<_>>()?),
            "format" => Step::Format { template: self.name(one(name, args)?)?, by: Vec::new() },
            "conjoin" => Step::Conjoin(self.name(one(name, args)?)?),
            _ => match self.text_step(call)? {
                Some(step) => step,
                None => self.list_step(call)?,
            },
        })
    }

    fn scan(&self, kind: ElementKind, args: &[Argument]) -> Result<Step> {
        let mut ids = Vec::with_capacity(args.len());
        for argument in args {
            match self.value(argument)? {
                Value::List(items) | Value::Set(items) => ids.extend(items.iter().cloned()),
                Value::Null => {}
                value => ids.push(value),
            }
        }
        Ok(Step::Scan { kind, ids: (!args.is_empty()).then_some(ids), labels: None, also: Vec::new(), filters: Vec::new() })
    }

    /// `call()` or `call(name)`, with a map of parameters, a traversal that gives one, or both.
    fn call_step(&self, call: &syntax::Call) -> Result<Step> {
        let Some((name, rest)) = call.args.split_first() else {
            return Ok(Step::Call(Box::new(plan_call(LIST.into()))));
        };
        let mut step = plan_call(self.name(name)?);
        for argument in rest {
            match &argument.kind {
                ArgumentKind::Traversal(_) if step.child.is_none() => step.child = Some(self.child(argument)?),
                _ if step.child.is_none() && step.map.is_empty() => match self.value(argument)? {
                    Value::Map(map) => step.map = Map::clone(&map),
                    _ => return Err(arity(call, "a name, a map of parameters and a traversal that makes one")),
                },
                _ => return Err(arity(call, "a name, a map of parameters and a traversal that makes one")),
            }
        }
        Ok(Step::Call(Box::new(step)))
    }

    /// `hasLabel('a','b')`, `hasId(1, 2)`, `hasKey(P)`: one predicate, or any of the values.
    fn any_of(&self, args: &[Argument]) -> Result<Predicate> {
        if let [only] = args {
            if let ArgumentKind::Predicate(_) = only.kind {
                return self.predicate(only);
            }
            return Ok(match self.value(only)? {
                Value::List(items) | Value::Set(items) => Predicate::Within(Arc::unwrap_or_clone(items).into()),
                value => Predicate::eq(value),
            });
        }
        let mut options = Vec::with_capacity(args.len());
        for argument in args {
            match self.value(argument)? {
                Value::List(items) | Value::Set(items) => options.extend(items.iter().cloned()),
                value => options.push(value),
            }
        }
        Ok(Predicate::Within(options.into()))
    }

    fn has(&self, call: &Call) -> Result<Step> {
        let key_of = |argument: &Argument| -> Result<HasKey> {
            match constant(argument, "T") {
                Some("id") => Ok(HasKey::Id),
                Some("label") => Ok(HasKey::Label),
                _ => self.name(argument).map(HasKey::Property),
            }
        };
        let nothing = |argument: &Argument| matches!(argument.kind, ArgumentKind::Value(Value::Null));
        Ok(match &call.args[..] {
            [key, _] if nothing(key) => Step::Discard,
            [key] => match self.optional_name(key)? {
                Some(key) => Step::HasProperty { key, present: true },
                None => Step::Discard,
            },
            [key, test] => match &test.kind {
                ArgumentKind::Traversal(_) => Step::HasChild { key: key_of(key)?, child: self.child(test)? },
                _ => Step::Has(vec![Has { key: key_of(key)?, predicate: self.id_test(key, test)? }]),
            },
            [label, key, test] => Step::Has(vec![
                Has { key: HasKey::Label, predicate: self.predicate(label)? },
                Has { key: key_of(key)?, predicate: self.id_test(key, test)? },
            ]),
            _ => return Err(arity(call, "a key; a key and a value; or a label, a key and a value")),
        })
    }

    /// `has(T.id, [1,2])` means any of the ids, as in `hasId`. Under other keys a list is a value.
    fn id_test(&self, key: &Argument, test: &Argument) -> Result<Predicate> {
        match constant(key, "T") {
            Some("id" | "label") => self.any_of(std::slice::from_ref(test)),
            _ => self.predicate(test),
        }
    }

    fn where_step(&self, call: &Call) -> Result<Step> {
        Ok(match &call.args[..] {
            [only] => match &only.kind {
                ArgumentKind::Traversal(_) => {
                    let mut child = self.child(only)?;
                    bind_where(&mut child);
                    Step::Where { child, negated: false }
                }
                _ => Step::WhereLabels { start: None, predicate: self.label_predicate(only)?, by: Vec::new() },
            },
            [start, predicate] => Step::WhereLabels {
                start: Some(self.name(start)?),
                predicate: self.label_predicate(predicate)?,
                by: Vec::new(),
            },
            _ => return Err(arity(call, "a traversal, a predicate, or a label and a predicate")),
        })
    }

    fn range(&self, call: &Call) -> Result<Step> {
        let (scope, rest) = scope(&call.args);
        let scope = scope.unwrap_or(Scope::Global);
        let (low, high) = match (call.name.as_str(), rest) {
            ("limit", [n]) => (0, self.integer(n)?),
            ("skip", [n]) => (self.integer(n)?, -1),
            ("range", [low, high]) => (self.integer(low)?, self.integer(high)?),
            _ => return Err(arity(call, "its bounds")),
        };
        if low != -1 && high != -1 && low > high {
            return Err(QueryError::step(format!("Not a legal range: [{low}, {high}]")));
        }
        Ok(Step::Range { low: low.max(0) as u64, high: u64::try_from(high).ok(), scope })
    }

    fn select(&self, call: &Call) -> Result<Step> {
        let (pop, rest) = pop(&call.args);
        if let [only] = rest {
            if let Some(column) = constant(only, "Column") {
                return Ok(Step::SelectColumn(if column == "keys" { Column::Keys } else { Column::Values }));
            }
            if let ArgumentKind::Traversal(_) = only.kind {
                return Ok(Step::SelectChild { pop, child: self.child(only)?, by: Vec::new() });
            }
        }
        if rest.is_empty() {
            return Err(arity(call, "labels, a column or a traversal"));
        }
        Ok(Step::Select { pop, labels: self.names(rest)?, by: Vec::new() })
    }

    fn project(&self, call: &Call) -> Result<Step> {
        let keys = self.names(&call.args)?;
        if keys.is_empty() {
            return Err(arity(call, "the keys of the map"));
        }
        let distinct: std::collections::HashSet<_> = keys.iter().collect();
        if distinct.len() != keys.len() {
            return Err(QueryError::step("keys must be unique in project()"));
        }
        Ok(Step::Project { keys, by: Vec::new() })
    }

    fn choose(&self, call: &Call) -> Result<Step> {
        let condition = |argument: &Argument| -> Result<ChooseOn> {
            Ok(match argument.kind {
                ArgumentKind::Predicate(_) => ChooseOn::Predicate(self.predicate(argument)?),
                _ => ChooseOn::By(self.by(argument)?),
            })
        };
        let taken = |then: Option<&Argument>, otherwise: Option<&Argument>| -> Result<Vec<Option_>> {
            let then =
                then.map(|a| Ok::<_, QueryError>(Option_ { pick: Pick::Value(true.into()), traversal: self.child(a)? }));
            let otherwise = otherwise
                .map(|a| Ok::<_, QueryError>(Option_ { pick: Pick::Value(false.into()), traversal: self.child(a)? }));
            then.into_iter().chain(otherwise).collect()
        };
        Ok(match &call.args[..] {
            [on] => Step::Choose { condition: condition(on)?, options: Vec::new(), all: false },
            [on, then] => self.choose_if(condition(on)?, taken(Some(then), None)?),
            [on, then, otherwise] => self.choose_if(condition(on)?, taken(Some(then), Some(otherwise))?),
            _ => return Err(arity(call, "a condition, a traversal if it holds, and one if not")),
        })
    }

    /// `choose(condition, then, otherwise)`: the condition holds if its traversal gives anything.
    fn choose_if(&self, condition: ChooseOn, options: Vec<Option_>) -> Step {
        let condition = match condition {
            ChooseOn::By(By::Child(child)) => ChooseOn::By(By::Child(productive(child))),
            ChooseOn::By(other) => {
                let child = Traversal::new([
                    Step::Project { keys: vec!["x".into()], by: vec![other] },
                    Step::SelectColumn(Column::Values),
                    Step::Unfold,
                ]);
                ChooseOn::By(By::Child(productive(child)))
            }
            predicate => predicate,
        };
        Step::Choose { condition, options, all: false }
    }

    fn text_step(&self, call: &Call) -> Result<Option<Step>> {
        let (given, args) = scope(&call.args);
        let function = match (call.name.as_str(), args) {
            ("asString", []) => TextFunction::AsString,
            ("length", []) => TextFunction::Length,
            ("toLower", []) => TextFunction::ToLower,
            ("toUpper", []) => TextFunction::ToUpper,
            ("trim", []) => TextFunction::Trim,
            ("lTrim", []) => TextFunction::LTrim,
            ("rTrim", []) => TextFunction::RTrim,
            ("reverse", []) => TextFunction::Reverse,
            ("replace", [old, new]) => TextFunction::Replace(self.optional_name(old)?, self.optional_name(new)?),
            ("split", [separator]) => TextFunction::Split(self.optional_name(separator)?),
            ("substring", [start]) => TextFunction::Substring(self.integer(start)?, None),
            ("substring", [start, end]) => TextFunction::Substring(self.integer(start)?, Some(self.integer(end)?)),
            _ => return Ok(None),
        };
        Ok(Some(Step::Text { function, scope: given.unwrap_or(Scope::Global) }))
    }

    fn list_step(&self, call: &Call) -> Result<Step> {
        let function = match call.name.as_str() {
            "combine" => ListFunction::Combine,
            "difference" => ListFunction::Difference,
            "disjunct" => ListFunction::Disjunct,
            "intersect" => ListFunction::Intersect,
            "merge" => ListFunction::Merge,
            "product" => ListFunction::Product,
            other => return Err(unsupported(other, call)),
        };
        Ok(Step::List { function, operand: self.operand(one(&call.name, &call.args)?)? })
    }
}

fn plan_call(name: Name) -> ProcedureCall {
    ProcedureCall { name, map: Map::new(), child: None, with: Vec::new() }
}

fn unsupported(name: &str, call: &Call) -> QueryError {
    if STEPS.iter().any(|step| step.name == name && step.kind == StepKind::Terminal) {
        return QueryError::step(format!("`{name}` ends a query, so nothing can come after it")).at(call.span);
    }
    let help = match name {
        "io" => "`mangrove load` and `mangrove export` read and write files".to_owned(),
        _ => "`mangrove docs gremlin` lists the supported steps".to_owned(),
    };
    QueryError::new(QueryErrorKind::Unsupported, format!("the step `{name}` is not supported")).at(call.span).help(help)
}

fn number_type(argument: &Argument) -> Result<ValueType> {
    let name = constant(argument, "GType")
        .ok_or_else(|| QueryError::step("expected a number type, such as GType.INT").at(argument.span))?;
    Ok(match name.to_ascii_uppercase().as_str() {
        "BYTE" => ValueType::Int8,
        "SHORT" => ValueType::Int16,
        "INT" => ValueType::Int32,
        "LONG" => ValueType::Int64,
        "FLOAT" => ValueType::Float32,
        "DOUBLE" => ValueType::Float64,
        "BIGINT" => ValueType::BigInt,
        "BIGDECIMAL" => ValueType::Decimal,
        other => {
            return Err(QueryError::step(format!("asNumber() requires a numeric type token, got {other}")).at(argument.span));
        }
    })
}

fn time_unit(argument: &Argument) -> Result<TimeUnit> {
    Ok(match constant(argument, "DT") {
        Some("second") => TimeUnit::Second,
        Some("minute") => TimeUnit::Minute,
        Some("hour") => TimeUnit::Hour,
        Some("day") => TimeUnit::Day,
        _ => return Err(QueryError::step("expected DT.second, DT.minute, DT.hour or DT.day").at(argument.span)),
    })
}

/// A traversal that gives true if `child` gives anything, otherwise false.
pub(super) fn productive(child: Traversal) -> Traversal {
    let yes = Traversal::new([Step::Where { child, negated: false }, Step::Constant(true.into())]);
    Traversal::new([Step::Coalesce(vec![yes, Traversal::new([Step::Constant(false.into())])])])
}

/// In `where(…)`, a label at the start means the value it stands for. A label at the end means a comparison with its value.
pub(super) fn bind_where(child: &mut Traversal) {
    if let [only] = &mut child.steps[..] {
        match &mut only.step {
            Step::And(children) | Step::Or(children) => return children.iter_mut().for_each(bind_where),
            Step::Where { child, .. } => return bind_where(child),
            _ => {}
        }
    }
    let only_a_label = child.steps.len() == 1 && matches!(child.steps[0].step, Step::Identity);
    if !only_a_label
        && let Some(last) = child.steps.last_mut()
        && let Some(label) = last.labels.pop()
    {
        let eq = LabelPredicate::Test(RangeTest::Compare(Comparison::Eq), vec![label]);
        child.steps.push(Step::WhereLabels { start: None, predicate: eq, by: Vec::new() }.into());
    }
    if let Some(first) = child.steps.first_mut()
        && matches!(first.step, Step::Identity)
        && !first.labels.is_empty()
    {
        let labels = std::mem::take(&mut first.labels);
        first.step = Step::Select { pop: Some(Pop::Last), labels, by: Vec::new() };
    }
    for node in &mut child.steps {
        match &mut node.step {
            Step::And(children) | Step::Or(children) => children.iter_mut().for_each(bind_where),
            _ => {}
        }
    }
}

/// Turns infix connectives into `And`/`Or` steps. `and` binds tighter.
fn connect(steps: Vec<StepNode>, connectives: &[(usize, Connective)]) -> Vec<StepNode> {
    if connectives.is_empty() {
        return steps;
    }
    // The steps that start the traversal stay outside.
    let head = steps.iter().take_while(|node| matches!(node.step, Step::Scan { .. } | Step::Inject(_))).count();
    let head = head.min(connectives[0].0);
    let mut steps = steps;
    let body = steps.split_off(head);
    let shifted: Vec<_> = connectives.iter().map(|(at, which)| (at - head, *which)).collect();
    steps.push(connect_parts(body, &shifted).into());
    steps
}

fn connect_parts(body: Vec<StepNode>, connectives: &[(usize, Connective)]) -> Step {
    let which = if connectives.iter().any(|(_, c)| *c == Connective::Or) { Connective::Or } else { Connective::And };
    let mut parts = Vec::new();
    let mut rest = body;
    let mut start = 0;
    let mut inner: Vec<(usize, Connective)> = Vec::new();
    for (at, connective) in connectives {
        if *connective != which {
            inner.push((at - start, *connective));
            continue;
        }
        let tail = rest.split_off(at - start);
        parts.push(Traversal { steps: connect(std::mem::replace(&mut rest, tail), &std::mem::take(&mut inner)) });
        start = *at;
    }
    parts.push(Traversal { steps: connect(rest, &inner) });
    if which == Connective::Or { Step::Or(parts) } else { Step::And(parts) }
}

/// Fails if a step has more arguments than it takes. Otherwise it would silently ignore them.
fn check_surplus(call: &Call) -> Result<()> {
    let (most, what) = match call.name.as_str() {
        "outV" | "inV" | "bothV" | "otherV" | "id" | "label" | "labels" | "key" | "value" | "element" | "identity"
        | "path" | "index" | "unfold" | "discard" | "drop" | "asBool" | "asDate" | "simplePath" | "cyclicPath" => {
            (0, "no argument")
        }
        "loops" | "group" | "groupCount" | "tree" | "fail" | "asNumber" | "addV" | "mergeV" | "mergeE" => {
            (1, "at most one argument")
        }
        "tail" => (2, "at most a scope and a number"),
        _ => return Ok(()),
    };
    match call.args.get(most) {
        None => Ok(()),
        Some(surplus) => {
            let error = QueryError::step(format!("{}() takes {what}", call.name)).at(surplus.span);
            Err(match call.name.as_str() {
                "value" => error.help("values('name') gives the values of a key"),
                "id" => error.help("hasId(x) tests the id, g.V(x) finds a vertex by its id"),
                "label" => error.help("hasLabel('name') tests the label"),
                _ => error,
            })
        }
    }
}

/// The scope, if it is the only argument that the step takes.
fn only_scope(call: &Call) -> Result<Scope> {
    match scope(&call.args) {
        (found, []) => Ok(found.unwrap_or(Scope::Global)),
        (_, [surplus, ..]) => {
            Err(QueryError::step(format!("{}() takes only a scope, local or global", call.name)).at(surplus.span))
        }
    }
}
