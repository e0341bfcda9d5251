//! Branches and loops: `union`, `choose`, `optional`, `local`, `repeat`, `match`.
//!
//! The branches of `union` and `choose`, and the body of `repeat`, take all their traversers at once. The traversals of `local` and
//! `optional`, and the patterns of `match`, take one at a time.

use mangrove_graph::{Map, Value, compare};
use mangrove_query::plan::{ChooseOn, Emit, Name, Option_, PathPattern, Pattern, Pick, Pop, Repeat, Step, Until};

use super::{Interpreter, Result, Seen, Stop, Traverser};

impl Interpreter<'_> {
    pub(super) fn branch(&mut self, step: &Step, input: &[Traverser]) -> Result<Option<Vec<Traverser>>> {
        let mut out = Vec::new();
        match step {
            Step::Union(children) => {
                for child in children.iter().filter(|_| !input.is_empty()) {
                    out.append(&mut self.chain(child, input.to_vec())?);
                }
            }
            Step::Choose { condition, options, all } => out = self.choose(condition, options, *all, input)?,
            Step::Optional(child) => {
                for traverser in input {
                    let found = self.child(child, traverser)?;
                    out.extend(if found.is_empty() { vec![traverser.clone()] } else { found });
                }
            }
            Step::Local(child) => {
                for traverser in input {
                    out.append(&mut self.child(child, traverser)?);
                }
            }
            Step::Repeat(repeat) => out = self.repeat(repeat, input)?,
            Step::Match(patterns) => {
                for traverser in input {
                    out.append(&mut self.matches(patterns, traverser)?);
                }
            }
            _ => return Ok(None),
        }
        Ok(Some(out))
    }

    fn choose(
        &mut self,
        condition: &ChooseOn,
        options: &[Option_],
        all: bool,
        input: &[Traverser],
    ) -> Result<Vec<Traverser>> {
        let mut ways: Vec<Vec<Traverser>> = vec![Vec::new(); options.len()];
        let mut out = Vec::new();
        for traverser in input {
            let value = match condition {
                ChooseOn::By(by) => self.by(by, traverser)?,
                ChooseOn::Predicate(predicate) => Some(Value::Bool(predicate.matches(&traverser.value))),
            };
            let taken = self.options_for(value.as_ref(), options, all)?;
            taken.iter().for_each(|at| ways[*at].push(traverser.clone()));
            // Without a fitting option, `choose` lets the traverser through; `branch` drops it.
            if taken.is_empty() && !all {
                out.push(traverser.clone());
            }
        }
        for (option, way) in options.iter().zip(ways).filter(|(_, way)| !way.is_empty()) {
            out.append(&mut self.chain(&option.traversal, way)?);
        }
        Ok(out)
    }

    /// The options that a value picks, with those for any other value. `choose` takes the first, `branch` takes all.
    fn options_for(&mut self, value: Option<&Value>, options: &[Option_], all: bool) -> Result<Vec<usize>> {
        let (mut picked, mut any, mut none) = (Vec::new(), Vec::new(), Vec::new());
        for (at, option) in options.iter().enumerate() {
            let fits = match (&option.pick, value) {
                (Pick::Any, _) => {
                    any.push(at);
                    false
                }
                (Pick::None, _) => {
                    none.push(at);
                    false
                }
                (Pick::Unproductive, value) => value.is_none(),
                (_, None) => false,
                (Pick::Value(wanted), Some(value)) => compare::equals(value, wanted),
                (Pick::Predicate(predicate), Some(value)) => predicate.matches(value),
                (Pick::Traversal(child), Some(value)) => {
                    let standing = Traverser { path: Vec::new(), ..self.fresh(value.clone()) };
                    self.exists(child, &standing)?
                }
            };
            if fits && (all || picked.is_empty()) {
                picked.push(at);
            }
        }
        if picked.is_empty() && (all || value.is_some()) {
            picked.extend(none.first());
        }
        if all {
            picked.append(&mut any);
        }
        Ok(picked)
    }

    fn repeat(&mut self, repeat: &Repeat, input: &[Traverser]) -> Result<Vec<Traverser>> {
        let mut out = Vec::new();
        let mut seen = Seen::new();
        let mut frontier = input.to_vec();
        frontier.iter_mut().for_each(|traverser| traverser.loops.push((repeat.name.clone(), 0)));
        while !frontier.is_empty() {
            frontier = self.gate(repeat, true, frontier, &mut out)?;
            frontier = self.round(&repeat.body, frontier, &mut seen)?;
            for traverser in &mut frontier {
                if let Some((_, times)) = traverser.loops.last_mut() {
                    *times += 1;
                }
            }
            frontier = self.gate(repeat, false, frontier, &mut out)?;
        }
        for traverser in &mut out {
            traverser.loops.pop();
        }
        Ok(out)
    }

    /// Applies `until` and `emit` on one side of the body. Outputs what leaves and what is emitted; returns what goes on.
    fn gate(
        &mut self,
        repeat: &Repeat,
        before: bool,
        frontier: Vec<Traverser>,
        out: &mut Vec<Traverser>,
    ) -> Result<Vec<Traverser>> {
        let mut on = Vec::new();
        for traverser in frontier {
            let times = traverser.loops.last().map_or(0, |(_, times)| *times);
            let leaves = match &repeat.until {
                Some(Until::Times(n)) if repeat.until_first == before => times >= *n,
                Some(Until::Child(child)) if repeat.until_first == before => self.exists(child, &traverser)?,
                _ => false,
            };
            if leaves {
                out.push(traverser);
                continue;
            }
            let emitted = match &repeat.emit {
                Some(Emit::Always) => repeat.emit_first == before,
                Some(Emit::Child(child)) if repeat.emit_first == before => self.exists(child, &traverser)?,
                _ => false,
            };
            if emitted {
                out.push(traverser.clone());
            }
            on.push(traverser);
        }
        Ok(on)
    }

    /// The bindings that match all patterns, one map for each match.
    fn matches(&mut self, patterns: &[Pattern], traverser: &Traverser) -> Result<Vec<Traverser>> {
        let names = labels(patterns);
        let bindings = |this: &Self, way: &Traverser| {
            let mut map = Map::new();
            for name in &names {
                if let Some(value) = this.labelled(name, Pop::Last, &Traverser { value: Value::Null, ..way.clone() }) {
                    map.insert(Value::String(name.clone()), value);
                }
            }
            way.moved(Value::map(map))
        };
        Ok(self.ways(patterns, traverser.clone())?.iter().map(|way| bindings(self, way)).collect())
    }

    /// The bindings under which all patterns hold.
    fn ways(&mut self, patterns: &[Pattern], way: Traverser) -> Result<Vec<Traverser>> {
        let mut ways = vec![way];
        for pattern in patterns {
            let mut next = Vec::new();
            for way in ways {
                next.append(&mut match pattern {
                    Pattern::Path(pattern) => self.pattern(pattern, way)?,
                    Pattern::Any(options) => self.any(options, &way)?,
                });
            }
            ways = next;
        }
        Ok(ways)
    }

    /// The bindings under which at least one of the options holds, each once.
    fn any(&mut self, options: &[Vec<Pattern>], way: &Traverser) -> Result<Vec<Traverser>> {
        let names: Vec<Name> = options.iter().flat_map(|patterns| labels(patterns)).collect();
        let mut found: Vec<(Vec<Option<Value>>, Traverser)> = Vec::new();
        for patterns in options {
            for way in self.ways(patterns, way.clone())? {
                let bindings = names.iter().map(|name| bound(&way, name).map(|stop| stop.object)).collect();
                if !found.iter().any(|(known, _)| *known == bindings) {
                    found.push((bindings, way));
                }
            }
        }
        Ok(found.into_iter().map(|(_, way)| way).collect())
    }

    fn pattern(&mut self, pattern: &PathPattern, mut way: Traverser) -> Result<Vec<Traverser>> {
        let Some(start) = &pattern.start else {
            return Ok(if self.exists(&pattern.child, &way)? { vec![way] } else { Vec::new() });
        };
        if pattern.binds_start && bound(&way, start).is_none() {
            way.label(std::slice::from_ref(start));
        }
        let Some(Stop { object: value, .. }) = bound(&way, start) else { return Ok(Vec::new()) };
        let standing = Traverser { value, ..way };
        let found = self.child(&pattern.child, &standing)?;
        let Some(end) = &pattern.end else {
            return Ok(if found.is_empty() { Vec::new() } else { vec![standing] });
        };
        let mut ways = Vec::new();
        for value in found.into_iter().map(|found| found.value) {
            match bound(&standing, end) {
                Some(stop) if stop.object == value => ways.push(Traverser { value, ..standing.clone() }),
                Some(_) => {}
                None => {
                    let mut next = standing.moved(value);
                    next.label(std::slice::from_ref(end));
                    ways.push(next);
                }
            }
        }
        Ok(ways)
    }
}

/// The value that a label is bound to.
fn bound(way: &Traverser, name: &Name) -> Option<Stop> {
    way.path.iter().rev().find(|stop| stop.labels.contains(name)).cloned()
}

/// The labels that patterns start from or bind.
fn labels(patterns: &[Pattern]) -> Vec<Name> {
    let of = |pattern: &Pattern| match pattern {
        Pattern::Path(path) => path.start.iter().chain(&path.end).cloned().collect(),
        Pattern::Any(options) => options.iter().flat_map(|patterns| labels(patterns)).collect::<Vec<Name>>(),
    };
    patterns.iter().flat_map(of).collect()
}
