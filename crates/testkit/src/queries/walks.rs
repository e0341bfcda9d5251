//! Branches and loops whose children end on the kind they start from.

use super::kinds::{Kind, Nesting, State};
use super::writer::Writer;
use super::{Chain, Unit};

impl Writer<'_> {
    pub fn branch(&mut self, state: &mut State) -> Option<Unit> {
        if state.depth > 2 {
            return None;
        }
        if state.sack && self.one_in(3) {
            return self.sack(state);
        }
        match self.below(14) {
            0..4 if state.kind == Kind::Vertex && state.depth < 2 => return self.repeat(state),
            4 => return self.local(state),
            5 => return self.converge(state),
            6 => {
                let (child, kind) = self.single(state);
                state.moved(kind);
                return Some(Unit::call("map", vec![child]));
            }
            _ => {}
        }
        let mut unit = match self.below(9) {
            0 | 1 => Unit::call("union", vec![self.walk(state)?, self.walk(state)?]),
            2 => Unit::call("union", vec![Chain::default(), self.walk(state)?, self.walk(state)?]),
            3 | 4 => Unit::call("optional", vec![self.walk(state)?]),
            5 => Unit::call("choose", vec![self.test(state), self.walk(state)?, self.walk(state)?]),
            6 => Unit::call("choose", vec![self.test(state), self.walk(state)?]),
            7 => self.options(state)?,
            _ => Unit::call("coalesce", vec![self.walk(state)?, self.walk(state)?]),
        };
        if self.one_in(6) && state.place == Nesting::Top {
            unit = unit.and(".barrier()");
        }
        state.spread(state.kind.clone());
        self.forget(state);
        if let Kind::Edge { entered } = &mut state.kind {
            *entered = false;
        }
        // A branch may end in other types of numbers than it began with.
        if state.kind == Kind::Number {
            state.kind = Kind::Mixed;
        }
        Some(unit)
    }

    fn options(&mut self, state: &State) -> Option<Unit> {
        if state.kind != Kind::Vertex {
            return None;
        }
        let on = self.pick(&["__.label()", "__.values('name')", "__.out().count()", "T.label", "__.values('age')"]);
        let wanted = self.pick(&["'person'", "'a'", "2", "gt(0)", "'place'", "within('b', 'thing')"]);
        let kind = self.pick(&["choose", "choose", "branch"]);
        let unit = Unit::text(format!(".{kind}({on}).option({wanted}, ")).child(self.walk(state)?).and(")");
        Some(match self.below(3) {
            0 => unit.and(".option(Pick.none, ").child(self.walk(state)?).and(")"),
            1 if kind == "branch" => unit.and(".option(Pick.any, ").child(self.walk(state)?).and(")"),
            _ => unit.and(".option('thing', ").child(self.walk(state)?).and(")"),
        })
    }

    /// One or two units from a kind to the same kind. Sets `forgot` if the past of their results is not defined.
    fn walk(&mut self, state: &State) -> Option<Chain> {
        let mut inner = state.below(Nesting::Below);
        let mut chain = Chain::default();
        for _ in 0..1 + self.below(2) {
            let unit = match &state.kind {
                Kind::Vertex => match self.below(8) {
                    0..4 => {
                        let labels = self.edge_labels();
                        Unit::text(format!(".{}({labels})", self.pick(&["out", "in", "both"])))
                    }
                    4 => Unit::text(self.pick(&[".outE().inV()", ".bothE().otherV()", ".inE('knows').outV()"])),
                    5 if inner.depth < 3 => self.branch_to_vertex(&mut inner),
                    6 if self.one_in(3) => {
                        inner.forget_past();
                        Unit::text(".order().by(id).limit(2)")
                    }
                    6 if self.one_in(2) => Unit::text(self.pick(&[
                        ".repeat(__.both('knows')).times(2)",
                        ".repeat(__.out()).emit().times(2)",
                        ".repeat(__.in()).until(__.loops().is(2))",
                        ".emit().repeat(__.out('likes')).times(1)",
                    ])),
                    _ => self.filter(&mut inner)?,
                },
                Kind::Edge { .. } => match self.below(3) {
                    0 => Unit::text(self.pick(&[".inV().outE()", ".outV().bothE()"])),
                    _ => self.filter(&mut inner)?,
                },
                Kind::Number => match self.below(2) {
                    0 => Unit::text(self.pick(&[".math('_ * 2')", ".constant(3)"])),
                    _ => self.filter(&mut inner)?,
                },
                Kind::Text => match self.below(2) {
                    0 => Unit::text(self.pick(&[".toUpper()", ".concat('y')", ".reverse()"])),
                    _ => self.filter(&mut inner)?,
                },
                _ => self.filter(&mut inner)?,
            };
            chain.push(unit);
        }
        self.forgot |= state.past && !inner.past;
        Some(chain)
    }

    fn branch_to_vertex(&mut self, inner: &mut State) -> Unit {
        let children = [self.walk(inner), self.walk(inner)];
        let children: Vec<Chain> = children.into_iter().flatten().collect();
        let name = self.pick(&["union", "coalesce"]);
        self.forget(inner);
        Unit::call(name, children)
    }

    /// `local` and `flatMap` of a child that may end on any kind.
    fn local(&mut self, state: &mut State) -> Option<Unit> {
        let name = self.pick(&["local", "local", "flatMap"]);
        let mut inner = state.below(Nesting::Below);
        let child = self.chain(&mut inner, 3);
        // After `local`, the outer traverser keeps what the child labelled and lost.
        let (kind, past, bags) = (inner.kind.clone(), inner.past && state.past, inner.bags || state.bags);
        state.labels.retain(|label| inner.labels.contains(label));
        state.sack &= inner.sack;
        state.spread(match kind {
            Kind::Edge { .. } => Kind::Edge { entered: false },
            kind => kind,
        });
        (state.past, state.bags) = (past, bags || state.bags);
        Some(Unit::call(name, vec![child]))
    }

    /// Branches that start from one kind and end on another.
    fn converge(&mut self, state: &mut State) -> Option<Unit> {
        if state.kind != Kind::Vertex {
            return None;
        }
        let (a, b, kind) = match self.below(4) {
            0 => (".count()", ".out().count()", Kind::Number),
            1 => (".values('name')", ".label()", Kind::Text),
            2 => (".dedup().count()", ".values('tags').dedup().count()", Kind::Number),
            _ => (".order().by(id).limit(3)", ".out().dedup().order().by(id).limit(2)", Kind::Vertex),
        };
        state.spread(kind);
        state.forget_past();
        let nested = self.one_in(4);
        let (a, b) = (Chain::text(a), Chain::text(b));
        Some(match nested {
            true => Unit::call("union", vec![Chain::of(Unit::call("union", vec![a])), b]),
            false => Unit::call("union", vec![a, b]),
        })
    }

    fn sack(&mut self, state: &mut State) -> Option<Unit> {
        let operator = self.pick(&["sum", "sum", "mult", "max", "min", "assign"]);
        let by = match &state.kind {
            Kind::Vertex => self.pick(&["'age'", "'score'", "__.out().count()", "constant(2)"]),
            Kind::Edge { .. } => self.pick(&["'score'", "constant(1)"]),
            Kind::Number => return Some(Unit::text(format!(".sack({operator})"))),
            _ => return None,
        };
        Some(Unit::text(format!(".sack({operator}).by({by})")))
    }

    fn repeat(&mut self, state: &mut State) -> Option<Unit> {
        if self.one_in(8) && state.place != Nesting::Test {
            // Each vertex is visited once, in any order.
            let hop = self.pick(&["out", "in", "both"]);
            state.spread(Kind::Vertex);
            state.forget_past();
            match self.below(4) {
                0 => return Some(Unit::text(format!(".repeat(__.{hop}().dedup()).emit()"))),
                1 => {
                    // A search for named vertices, from wherever the traversers are.
                    let ids = self.ids();
                    return Some(Unit::text(format!(".repeat(__.{hop}().dedup()).until(__.hasId({ids}))")));
                }
                _ => {}
            }
            let (times, then) = (1 + self.below(3), self.pick(&["", "", ".out()", ".in('knows')", ".has('age')"]));
            return Some(Unit::text(format!(".repeat(__.{hop}()).emit().times({times}){then}.dedup()")));
        }
        let name = if self.one_in(5) { Some(self.name('r')) } else { None };
        let body = self.walk(state)?;
        let times = 1 + self.below(3);
        let loops = name.as_ref().map_or("__.loops()".to_owned(), |name| format!("__.loops('{name}')"));
        let named = name.as_ref().map_or(String::new(), |name| format!("'{name}', "));
        let repeat = Unit::text(format!(".repeat({named}")).child(body).and(")");
        let test = self.walk_test(state);
        let until = Unit::text(".until(")
            .child(Chain::of(Unit::text(format!(".or({loops}.is(gte({times})), ")).child(test.clone()).and(")")));
        let until = until.and(")");
        let emit = match self.one_in(2) {
            true => Unit::text(".emit()"),
            false => Unit::text(".emit(").child(test).and(")"),
        };
        let unit = match self.below(9) {
            0..3 => repeat.and(format!(".times({times})")),
            3 => Unit::text(format!(".times({times})")).then(repeat),
            4 => repeat.then(until),
            5 => until.then(repeat),
            6 => repeat.then(emit).and(format!(".times({times})")),
            7 => emit.then(repeat).and(format!(".times({times})")),
            _ => repeat.then(until).then(emit),
        };
        state.spread(Kind::Vertex);
        self.forget(state);
        Some(unit)
    }

    /// Call it after walks that may have left the past undefined.
    fn forget(&mut self, state: &mut State) {
        if std::mem::take(&mut self.forgot) {
            state.forget_past();
        }
    }

    /// A test of a vertex that does not read its past.
    fn walk_test(&mut self, state: &State) -> Chain {
        let mut inner = State { labels: Vec::new(), ..state.below(Nesting::Test) };
        match self.filter(&mut inner) {
            Some(unit) => Chain::of(unit),
            None => Chain::text(".out()"),
        }
    }
}
