//! Steps that look at all traversers: orders and the steps they permit, counts, lists, groups, side effects.

use super::kinds::{Kind, Nesting, State};
use super::writer::Writer;
use super::{Chain, Unit};

impl Writer<'_> {
    /// A walk whose traversers end in a map, a number or the first of a sorted list, and perhaps what is made of that. Nodes take such
    /// walks together, and do parts of their ends.
    pub fn walk_to_an_end(&mut self) -> (Chain, State) {
        let mut state = State::new(Kind::Vertex);
        let mut chain = Chain::text(".V()");
        for _ in 0..1 + self.below(3) {
            let labels = self.edge_labels();
            let stride = match self.below(9) {
                0 => format!(".in({labels})"),
                1 => format!(".both({labels}).dedup()"),
                2 => format!(".outE({labels}).inV()"),
                3 => format!(".repeat(__.out({labels})).times(2)"),
                4 => format!(".repeat(__.both({labels})).times(2).emit().dedup()"),
                5 => format!(".has('age', gt({}))", self.below(4)),
                _ => format!(".out({labels})"),
            };
            chain.push(Unit::text(stride));
        }
        state.spread(Kind::Vertex);
        state.forget_past();
        if self.one_in(4) {
            chain.push(Unit::text(".values('name')"));
            state.spread(Kind::Text);
        }
        let end = match self.below(4) {
            0 => self.reduction(&mut state),
            1 => self.counts(&mut state),
            2 => self.groups(&mut state),
            _ => self.ordered(&mut state).unwrap_or_else(|| self.counts(&mut state)),
        };
        chain.push(end);
        for _ in 0..self.below(3) {
            let unit = self.unit(&mut state);
            chain.push(unit);
        }
        (chain, state)
    }

    pub fn reduce(&mut self, state: &mut State) -> Option<Unit> {
        match self.below(12) {
            0..4 => self.ordered(state),
            4 | 5 => self.gather(state),
            6 if state.side_effects.is_empty() => {
                let text = format!(".limit({}).count()", self.below(6));
                state.reduced(Kind::Number);
                Some(Unit::text(text))
            }
            7 => {
                state.reduced(Kind::Mixed);
                state.ordered = false;
                Some(Unit::text(".fold().coalesce(__.unfold(), __.constant('none'))"))
            }
            _ if state.place == Nesting::Top && self.one_in(2) => None,
            _ => Some(self.reduction(state)),
        }
    }

    /// `order()`, and behind a total order perhaps a cut.
    fn ordered(&mut self, state: &mut State) -> Option<Unit> {
        let direction = self.pick(&["", ", desc", ", asc"]);
        let by = match &state.kind {
            Kind::Vertex => match self.below(5) {
                0 => String::new(),
                1 => format!(".by('age'{direction}).by(id)"),
                2 => format!(".by('name'{direction}).by(id)"),
                3 => format!(".by(__.both().count(){direction}).by(id)"),
                _ => format!(".by(id{direction})"),
            },
            Kind::Edge { .. } => format!("{}.by(id)", self.pick(&["", ".by('score')", ".by(label)", ".by('at', desc)"])),
            kind if kind.has_total_order() => self.pick(&["", ".by(desc)", ".by(asc)"]).to_owned(),
            Kind::Mixed => {
                state.ordered = false;
                return Some(Unit::text(".order()"));
            }
            Kind::Entry(key, _) if key.has_total_order() => ".by(keys)".into(),
            Kind::Record(fields) if fields[0].1.has_total_order() => {
                let name = &fields[0].0;
                let by = match self.one_in(2) {
                    true => format!(".by('{name}'{direction})"),
                    false => format!(".by(__.select('{name}'){direction})"),
                };
                state.ordered = false;
                return Some(Unit::text(".order()").and(by));
            }
            _ => return None,
        };
        let sorted = format!(".order(){by}");
        if matches!(state.kind, Kind::Entry(..)) {
            // Keys of several maps may be equal.
            state.ordered = false;
            return Some(Unit::text(sorted));
        }
        state.ordered = true;
        let n = self.below(5);
        let cut = match self.below(6) {
            0 if self.one_in(2) => {
                // Equal values may have come by different paths, which a later step may read.
                state.ordered = false;
                return Some(Unit::text(sorted));
            }
            0 => String::new(),
            1 => format!(".tail({n})"),
            2 => format!(".range(1, {})", 1 + n),
            3 => format!(".skip({n})"),
            4 if state.kind == Kind::Vertex => ".dedup().by('name')".into(),
            _ => format!(".limit({})", 1 + n),
        };
        state.forget_past();
        Some(Unit::text(sorted).and(cut))
    }

    /// Gathers side effects where nothing stops before all traversers were seen. The end of the query shows them.
    fn gather(&mut self, state: &mut State) -> Option<Unit> {
        if state.place != Nesting::Top {
            return None;
        }
        if let Some((name, kind)) = state.gathered.last().cloned()
            && kind == state.kind
            && state.kind.is_steady()
            && self.one_in(2)
        {
            return Some(Unit::text(format!(".where({}('{name}'))", self.pick(&["within", "without"]))));
        }
        let name = self.name('x');
        state.side_effects.push(name.clone());
        let (text, child) = match self.below(9) {
            6 if matches!(state.kind, Kind::Edge { .. }) => (format!(".subgraph('{name}')"), None),
            7 if state.kind == Kind::Vertex => {
                state.spread(Kind::Vertex);
                let within = match self.below(5) {
                    0 => format!(".local(__.out().aggregate('{name}'))"),
                    1 => format!(".repeat(__.both('knows').aggregate('{name}')).times(2)"),
                    2 => format!(".union(__.in().aggregate('{name}'), __.out())"),
                    3 => format!(".optional(__.out().groupCount('{name}').by(id))"),
                    _ => format!(".repeat(__.out().groupCount('{name}')).emit().times(2)"),
                };
                (within, None)
            }
            8 if state.kind == Kind::Vertex => {
                (format!(".group('{name}').by('name').by(__.out().values('age').fold())"), None)
            }
            0 | 1 => {
                state.gathered.push((name.clone(), state.kind.clone()));
                (format!(".aggregate('{name}')"), None)
            }
            2 => (format!(".aggregate(local, '{name}')"), None),
            3 if state.kind.is_steady() && !state.bags => (format!(".groupCount('{name}')"), None),
            4 if state.kind.is_element() => (format!(".group('{name}').by(label).by(count())"), None),
            5 if state.kind == Kind::Vertex => (String::new(), Some(Chain::text(&format!(".out().aggregate('{name}')")))),
            _ => (format!(".aggregate('{name}').by("), Some(self.single(state).0)),
        };
        let modulated = text.ends_with('(');
        Some(match child {
            None => Unit::text(text),
            Some(child) if modulated => Unit::text(text).child(child).and(")"),
            Some(child) => Unit::call("sideEffect", vec![child]),
        })
    }

    /// A step that reduces all to one.
    fn reduction(&mut self, state: &mut State) -> Unit {
        match self.below(10) {
            0 | 1 => {
                state.reduced(Kind::Number);
                Unit::text(".count()")
            }
            2 | 3 => {
                let kind = Kind::List(Box::new(state.kind.clone()), state.ordered);
                state.reduced(kind);
                Unit::text(".fold()")
            }
            4 | 5 if state.kind == Kind::Number => {
                state.reduced(Kind::Number);
                Unit::text(self.pick(&[".sum()", ".max()", ".min()", ".mean()", ".fold(0, sum)"]))
            }
            4 if state.kind == Kind::Text => {
                state.reduced(Kind::Text);
                Unit::text(self.pick(&[".max()", ".min()"]))
            }
            5 | 6 => self.counts(state),
            _ => self.groups(state),
        }
    }

    fn counts(&mut self, state: &mut State) -> Unit {
        let steady = state.kind.is_steady() && !state.bags;
        if steady && self.one_in(2) {
            state.reduced(Kind::Map(Box::new(state.kind.clone()), Box::new(Kind::Number)));
            return Unit::text(".groupCount()");
        }
        let (key, kind) = self.group_key(state);
        state.reduced(Kind::Map(Box::new(kind), Box::new(Kind::Number)));
        Unit::text(".groupCount()").then(key)
    }

    fn groups(&mut self, state: &mut State) -> Unit {
        let (key, key_kind) = self.group_key(state);
        let unit = Unit::text(".group()").then(key);
        let (unit, value) = match self.below(5) {
            0 => (unit, Kind::List(Box::new(state.kind.clone()), false)),
            1 if state.kind == Kind::Vertex => (unit.and(".by('age')"), Kind::List(Box::new(Kind::Number), false)),
            2 if state.kind.is_element() => (unit.and(".by(id)"), Kind::List(Box::new(Kind::Id), false)),
            _ => {
                let (child, kind) = self.reducing(&mut state.below(Nesting::Below));
                (unit.and(".by(").child(child).and(")"), kind)
            }
        };
        state.reduced(Kind::Map(Box::new(key_kind), Box::new(value)));
        unit
    }

    fn group_key(&mut self, state: &State) -> (Unit, Kind) {
        if let Kind::Record(fields) = &state.kind
            && fields[0].1.is_steady()
            && self.one_in(2)
        {
            return (Unit::text(format!(".by('{}')", fields[0].0)), fields[0].1.clone());
        }
        if state.kind == Kind::Vertex && self.one_in(2) {
            let (text, kind) = match self.below(3) {
                0 => (".by('name')", Kind::Text),
                1 => (".by('age')", Kind::Number),
                _ => (".by(label)", Kind::Text),
            };
            return (Unit::text(text), kind);
        }
        let (child, kind) = self.single(state);
        match kind.is_steady() {
            true => (Unit::text(".by(").child(child).and(")"), kind),
            false => (Unit::text(".by(constant(1))"), Kind::Number),
        }
    }

    /// A child that reduces its whole input to one value.
    pub fn reducing(&mut self, inner: &mut State) -> (Chain, Kind) {
        let mut chain = if inner.depth < 3 && self.one_in(2) { self.chain(inner, 2) } else { Chain::default() };
        let unit = self.reduction(inner);
        chain.push(unit);
        (chain, inner.kind.clone())
    }
}
