//! Steps that move traversers: along edges, to properties, into and out of collections, and back to labelled objects.

use super::kinds::{Kind, Nesting, State};
use super::writer::Writer;
use super::{Chain, Unit};

fn list(items: Kind) -> Kind {
    Kind::List(Box::new(items), false)
}

impl Writer<'_> {
    pub fn step(&mut self, state: &mut State) -> Option<Unit> {
        let text = match state.kind.clone() {
            Kind::Vertex => return self.vertex_step(state),
            Kind::Edge { entered } => return Some(self.edge_step(entered, state)),
            Kind::VertexProperty | Kind::Property => self.property_step(state),
            Kind::Number => self.number_step(state),
            Kind::Text => self.text_step(state),
            Kind::Date => self.date_step(state),
            Kind::List(items, ordered) => self.list_step(*items, ordered, state)?,
            Kind::Set(items) => self.set_step(*items, state),
            Kind::Map(key, value) => self.map_step(*key, *value, state),
            Kind::Entry(key, value) => match self.below(2) {
                0 => taken(state, ".select(keys)", *key),
                _ => taken(state, ".select(values)", *value),
            },
            Kind::Record(fields) => {
                let (name, kind) = fields[self.below(fields.len() as u64) as usize].clone();
                match self.below(7) {
                    0 if self.one_in(3) => taken(state, ".select(values)", list(Kind::Mixed)),
                    0 => {
                        // Maps that pass steps by.
                        let between = self.pick(&[".barrier()", ".identity()", ".limit(1000)", ".is(neq('x'))", ".dedup()"]);
                        state.ordered = false;
                        between.to_owned()
                    }
                    1 => taken(state, ".count(local)", Kind::Number),
                    2 if fields.len() > 1 => {
                        let pair = fields[..2].to_vec();
                        let text = format!(".select('{}', '{}')", pair[0].0, pair[1].0);
                        state.moved(Kind::Record(pair));
                        text
                    }
                    _ => {
                        state.moved(kind);
                        format!(".select('{name}')")
                    }
                }
            }
            Kind::Path => match self.below(3) {
                0 => taken(state, ".count(local)", Kind::Number),
                1 => spread(state, ".unfold()", Kind::Mixed),
                _ => taken(state, ".limit(local, 2)", list(Kind::Mixed)),
            },
            Kind::Id | Kind::Mixed | Kind::Tree => match self.below(3) {
                0 => taken(state, ".constant('x')", Kind::Text),
                1 => {
                    state.ordered = false;
                    ".barrier()".into()
                }
                _ => return None,
            },
        };
        Some(Unit::text(text))
    }

    fn vertex_step(&mut self, state: &mut State) -> Option<Unit> {
        let labels = self.edge_labels();
        Some(Unit::text(match self.below(25) {
            22 if state.depth == 0 => {
                state.spread(Kind::Vertex);
                match self.below(3) {
                    0 => format!(".V({})", self.ids()),
                    1 => format!(".V().has('name', '{}')", self.pick(&["a", "b", "c"])),
                    _ => format!(".V().hasLabel('{}').has('age', {})", self.vertex_label(), self.number()),
                }
            }
            23 => spread(state, ".properties('tags', 'age').element()", Kind::Vertex),
            24 => {
                state.spread(Kind::Vertex);
                let (to_edge, to_vertex) =
                    *self.pick(&[&("outE", "inV"), &("inE", "outV"), &("bothE", "otherV"), &("outE", "otherV")]);
                format!(".{to_edge}({labels}).{to_vertex}()")
            }
            0..9 => {
                state.spread(Kind::Vertex);
                let hop = format!(".{}({labels})", self.pick(&["out", "out", "in", "both"]));
                if state.place != Nesting::Top || state.bags || !self.one_in(20) {
                    return Some(Unit::text(hop));
                }
                state.forget_past();
                format!("{hop}.{}({labels}).dedup()", self.pick(&["out", "in"]))
            }
            9..12 => {
                state.spread(Kind::Edge { entered: true });
                let to_edges = self.pick_text(&["outE", "inE", "bothE"]);
                let edges = match self.below(2) {
                    0 => format!(".{to_edges}({labels})"),
                    _ => format!(".{to_edges}({labels}).has('at', {})", self.number_test()),
                };
                if state.place != Nesting::Top || !self.one_in(4) {
                    return Some(Unit::text(edges));
                }
                state.ordered = true;
                state.forget_past();
                format!("{edges}.order().by('at', desc).by(id).limit({})", 1 + self.below(4))
            }
            12 | 13 => match self.below(6) {
                0 => spread(state, ".values('tags')", Kind::Text),
                1 => taken(state, ".values('note')", Kind::Mixed),
                2 => {
                    let text = self.pick_text(&[
                        ".values('name', 'age')",
                        ".values('age', 'name', 'age')",
                        ".values('age', 'age')",
                    ]);
                    spread(state, text, Kind::Mixed)
                }
                3 => spread(state, ".values()", Kind::Mixed),
                4 => {
                    let text =
                        self.pick_text(&[".valueMap('name').select('name')", ".valueMap('tags', 'age').select('tags')"]);
                    spread(state, text, list(Kind::Mixed))
                }
                _ => taken(state, self.pick_text(&[".label()", ".format('%{name} is %{age}')"]), Kind::Text),
            },
            14 | 15 => taken(state, self.pick_text(&[".values('age')", ".values('score')"]), Kind::Number),
            16 => taken(state, ".values('name')", Kind::Text),
            17 => taken(state, ".id()", Kind::Id),
            18 => spread(state, self.pick_text(&[".properties()", ".properties('tags', 'name')"]), Kind::VertexProperty),
            19 => {
                let text = self.pick_text(&[
                    ".valueMap()",
                    ".valueMap('name', 'tags')",
                    ".valueMap(true, 'age')",
                    ".elementMap()",
                    ".elementMap('age', 'name')",
                    ".propertyMap('tags')",
                    ".valueMap().by(unfold().count())",
                    ".valueMap().with(WithOptions.tokens, WithOptions.ids)",
                ]);
                taken(state, text, Kind::Map(Box::new(Kind::Mixed), Box::new(Kind::Mixed)))
            }
            20 => return Some(self.project(state)),
            _ => return self.matching(state),
        }))
    }

    pub fn pick_text(&mut self, of: &[&'static str]) -> &'static str {
        self.pick(of)
    }

    fn edge_step(&mut self, entered: bool, state: &mut State) -> Unit {
        Unit::text(match self.below(11) {
            0..3 => {
                state.moved(Kind::Vertex);
                self.pick(&[".inV()", ".outV()"]).to_owned()
            }
            3..5 if entered => taken(state, ".otherV()", Kind::Vertex),
            3..6 => spread(state, ".bothV()", Kind::Vertex),
            6 => taken(state, self.pick_text(&[".values('score')", ".values('at')"]), Kind::Number),
            7 => taken(state, self.pick_text(&[".label()", ".values('name')"]), Kind::Text),
            8 => taken(state, ".id()", Kind::Id),
            9 => spread(state, ".properties()", Kind::Property),
            _ => {
                let text = self.pick_text(&[
                    ".valueMap()",
                    ".elementMap()",
                    ".elementMap('score')",
                    ".valueMap('note').with(WithOptions.tokens)",
                ]);
                taken(state, text, Kind::Map(Box::new(Kind::Mixed), Box::new(Kind::Mixed)))
            }
        })
    }

    fn property_step(&mut self, state: &mut State) -> String {
        let of_vertex = state.kind == Kind::VertexProperty;
        match self.below(6) {
            0 => taken(state, ".key()", Kind::Text),
            1 | 2 => taken(state, ".value()", Kind::Mixed),
            3 if of_vertex => spread(state, ".properties()", Kind::Property),
            4 if of_vertex => taken(state, ".values('at')", Kind::Number),
            5 if of_vertex => taken(state, ".id()", Kind::Text),
            _ if of_vertex => taken(state, ".element()", Kind::Vertex),
            // Two properties with the same key and value are equal, and their owners do not show.
            _ => taken(state, ".value()", Kind::Mixed),
        }
    }

    fn number_step(&mut self, state: &mut State) -> String {
        match self.below(6) {
            0 => taken(state, ".constant(2)", Kind::Number),
            1 => taken(state, ".asString()", Kind::Text),
            2 if state.place == Nesting::Top => {
                // An injected value has no path.
                state.forget_past();
                spread(state, ".math('_ + 1').inject(1.0d, 2.5d)", Kind::Number)
            }
            3 => taken(state, ".math('abs(_ - 3) * 2')", Kind::Number),
            4 => taken(state, ".math('_ ^ 2 + _ / 4')", Kind::Number),
            _ => taken(state, ".math('(_ + 3) % 4')", Kind::Number),
        }
    }

    fn text_step(&mut self, state: &mut State) -> String {
        match self.below(14) {
            0 => taken(state, ".length()", Kind::Number),
            1 => taken(state, ".split('b')", Kind::List(Box::new(Kind::Text), true)),
            2 => taken(state, ".concat('x', __.toUpper())", Kind::Text),
            3 => taken(state, ".substring(0, 1)", Kind::Text),
            4 => taken(state, ".substring(-1)", Kind::Text),
            5 => taken(state, ".replace('a', 'bb')", Kind::Text),
            6 => taken(state, ".reverse()", Kind::Text),
            7 => taken(state, ".trim()", Kind::Text),
            8 => taken(state, ".constant('k')", Kind::Text),
            9 => taken(state, ".length().asNumber(GType.LONG).asNumber(GType.INT)", Kind::Number),
            10 => taken(state, ".length().asString().asNumber()", Kind::Number),
            11 => taken(state, ".length().asDate()", Kind::Date),
            12 => taken(state, ".format('%{_} or %{_}').by(toLower()).by(length())", Kind::Text),
            _ => taken(state, ".toUpper()", Kind::Text),
        }
    }

    fn date_step(&mut self, state: &mut State) -> String {
        match self.below(5) {
            0 => taken(state, self.pick_text(&[".dateAdd(DT.day, 40)", ".dateAdd(DT.hour, -7)"]), Kind::Date),
            1 => taken(state, self.pick_text(&[".dateAdd(DT.minute, 90)", ".dateAdd(DT.second, -1)"]), Kind::Date),
            2 => taken(state, ".dateDiff(datetime('2000-02-29T12:00:00Z'))", Kind::Number),
            3 => taken(state, ".dateDiff(__.dateAdd(DT.day, 1))", Kind::Number),
            _ => taken(state, ".asNumber()", Kind::Number),
        }
    }

    fn list_step(&mut self, items: Kind, ordered: bool, state: &mut State) -> Option<String> {
        let sorted = || Kind::List(Box::new(items.clone()), true);
        let literal = "['a', 'b', 'bb', 't1']";
        Some(match self.below(14) {
            0 => taken(state, ".count(local)", Kind::Number),
            1 if items == Kind::Number => {
                taken(state, self.pick_text(&[".sum(local)", ".max(local)", ".min(local)"]), Kind::Number)
            }
            2 if items == Kind::Number => taken(state, ".mean(local)", Kind::Number),
            3 if items.has_total_order() => {
                taken(state, self.pick_text(&[".order(local)", ".order(local).by(desc)"]), sorted())
            }
            4 if ordered && items != Kind::Mixed => {
                let text = self.pick_text(&[
                    ".limit(local, 2)",
                    ".tail(local, 1)",
                    ".range(local, 1, 3)",
                    ".reverse()",
                    ".skip(local, 1)",
                ]);
                taken(state, text, sorted())
            }
            5 if items.is_steady() => taken(state, ".dedup(local)", Kind::Set(Box::new(items))),
            6 if items == Kind::Text && ordered => taken(state, ".conjoin('-')", Kind::Text),
            7 if items == Kind::Text && ordered => {
                taken(state, self.pick_text(&[".toUpper(local)", ".substring(local, 0, 1)", ".reverse(local)"]), sorted())
            }
            7..9 if items == Kind::Text => {
                let function = self.pick(&["intersect", "merge", "difference", "disjunct"]);
                taken(state, &format!(".{function}({literal})"), Kind::Set(Box::new(items)))
            }
            9 if items == Kind::Text => taken(state, &format!(".combine({literal})"), Kind::List(Box::new(items), ordered)),
            10 if items.is_steady() => taken(state, ".combine(__.identity())", Kind::List(Box::new(items), ordered)),
            11 if items.is_steady() => {
                let pair = Kind::List(Box::new(Kind::Mixed), true);
                taken(state, ".product(['x', 'y'])", Kind::List(Box::new(pair), ordered))
            }
            12 if ordered => taken(state, ".index()", Kind::List(Box::new(Kind::Mixed), true)),
            _ => match ordered && state.ordered {
                true => taken(state, ".unfold()", items),
                false => spread(state, ".unfold()", items),
            },
        })
    }

    fn set_step(&mut self, items: Kind, state: &mut State) -> String {
        match self.below(6) {
            0 => taken(state, ".count(local)", Kind::Number),
            1 if items.has_total_order() => taken(state, ".order(local)", Kind::List(Box::new(items), true)),
            2 if items == Kind::Text => {
                let function = self.pick(&["merge", "difference", "disjunct"]);
                taken(state, &format!(".{function}(['z', 'a'])"), Kind::Set(Box::new(items)))
            }
            3 if items == Kind::Text => taken(state, ".combine(['z', 'a'])", list(items)),
            _ => spread(state, ".unfold()", items),
        }
    }

    fn map_step(&mut self, key: Kind, value: Kind, state: &mut State) -> String {
        match self.below(6) {
            0 => taken(state, ".select(keys)", Kind::Set(Box::new(key))),
            1 => taken(state, ".select(values)", list(value)),
            2 => taken(state, ".count(local)", Kind::Number),
            3 if key.has_total_order() && value == Kind::Number => {
                let map = Kind::Map(Box::new(key), Box::new(value));
                taken(state, ".order(local).by(values, desc).by(keys).limit(local, 2)", map)
            }
            _ => spread(state, ".unfold()", Kind::Entry(Box::new(key), Box::new(value))),
        }
    }

    /// `project` with one or two modulators.
    fn project(&mut self, state: &mut State) -> Unit {
        let two = self.one_in(2);
        let (first, a) = self.single(state);
        let mut unit =
            Unit::text(if two { ".project('p', 'q')" } else { ".project('p')" }).and(".by(").child(first).and(")");
        let mut fields = vec![("p".to_owned(), a)];
        if two {
            let (second, b) = self.single(state);
            unit = unit.and(".by(").child(second).and(")");
            fields.push(("q".to_owned(), b));
        }
        state.moved(Kind::Record(fields));
        unit
    }

    /// `match` of two or three patterns over vertices.
    fn matching(&mut self, state: &mut State) -> Option<Unit> {
        if state.depth > 1 || state.sack {
            return None;
        }
        let (a, b, c) = (self.name('m'), self.name('m'), self.name('m'));
        let mut unit = Unit::text(format!(".match(__.as('{a}').{}().as('{b}')", self.pick(&["out", "in", "both"])));
        let mut fields = vec![(a.clone(), Kind::Vertex), (b.clone(), Kind::Vertex)];
        match self.below(4) {
            0 => {
                unit = unit.and(format!(", __.as('{b}').{}().as('{c}')", self.pick(&["out", "in"])));
                fields.push((c, Kind::Vertex));
            }
            1 => {
                unit = unit.and(format!(", __.as('{b}').values('age').as('{c}')"));
                fields.push((c, Kind::Number));
            }
            2 => unit = unit.and(format!(", __.as('{b}').out().as('{a}')")),
            _ => unit = unit.and(format!(", __.as('{b}').has('name'), __.not(__.as('{a}').in('likes').as('{b}'))")),
        }
        state.spread(Kind::Record(fields));
        state.forget_past();
        Some(unit.and(")"))
    }

    /// Labels, and steps that go back to labelled objects.
    pub fn remember(&mut self, state: &mut State) -> Option<Unit> {
        if state.labels.is_empty() || self.one_in(3) {
            return self.label(state);
        }
        let at = self.below(state.labels.len() as u64) as usize;
        let (name, kind) = state.labels[at].clone();
        let other = state.labels[self.below(state.labels.len() as u64) as usize].clone();
        match self.below(8) {
            0 => {
                state.moved(kind);
                Some(Unit::text(format!(".select('{name}')")))
            }
            1 if kind == Kind::Vertex && other.1 == Kind::Vertex && self.one_in(3) => {
                let text = format!(".math('{name} * 2 - {}').by(__.both().count())", other.0);
                state.moved(Kind::Number);
                Some(Unit::text(text))
            }
            2 if other.0 != name
                && state.place != Nesting::Test
                && kind.is_steady()
                && other.1.is_steady()
                && self.one_in(2) =>
            {
                let text = format!(".dedup('{name}', '{0}').select('{name}', '{0}')", other.0);
                state.spread(Kind::Record(vec![(name, kind), other]));
                state.forget_past();
                Some(Unit::text(text))
            }
            1 if kind == Kind::Vertex => {
                // Only the labelled value is modulated, whatever the path of the traverser.
                let (child, kind) = self.single(&State { past: false, ..State::new(Kind::Vertex).at(state) });
                state.moved(kind);
                Some(Unit::text(format!(".select('{name}').by(")).child(child).and(")"))
            }
            2 | 3 if other.0 != name => {
                let text = format!(".select('{name}', '{}')", other.0);
                state.moved(Kind::Record(vec![(name, kind), other]));
                Some(Unit::text(text))
            }
            4 if kind.is_element() && state.kind.is_element() => {
                Some(Unit::text(format!(".where({}('{name}'))", self.pick(&["eq", "neq", "within", "without"]))))
            }
            5 if other.0 != name => {
                Some(Unit::text(format!(".where('{name}', {}('{}'))", self.pick(&["eq", "neq"]), other.0)))
            }
            6 if kind == Kind::Vertex && state.kind == Kind::Vertex => {
                let by = self.pick(&["'age'", "'name'", "id", "__.out().count()"]);
                Some(Unit::text(format!(".where({}('{name}')).by({by})", self.pick(&["gt", "lte", "eq", "neq"]))))
            }
            7 if kind == Kind::Vertex && state.kind == Kind::Vertex => {
                Some(Unit::text(format!(".where(__.{}().as('{name}'))", self.pick(&["out", "in", "both"]))))
            }
            _ => {
                let pop = self.pick(&["first", "last", "all", "mixed"]);
                match pop {
                    "all" => state.moved(Kind::List(Box::new(kind), true)),
                    "mixed" => state.moved(Kind::Mixed),
                    _ => state.moved(kind),
                }
                Some(Unit::text(format!(".select({pop}, '{name}')")))
            }
        }
    }

    fn label(&mut self, state: &mut State) -> Option<Unit> {
        if state.place == Nesting::Test {
            return None;
        }
        if self.one_in(6) && state.past {
            return self.path(state);
        }
        let again = state.labels.iter().filter(|(_, kind)| *kind == state.kind).map(|(name, _)| name.clone()).next_back();
        let name = match again {
            Some(name) if self.one_in(6) => name,
            _ => self.name('a'),
        };
        state.labels.retain(|(known, _)| *known != name);
        state.labels.push((name.clone(), state.kind.clone()));
        Some(Unit::text(format!(".as('{name}')")))
    }

    fn path(&mut self, state: &mut State) -> Option<Unit> {
        let text = match (self.below(4), state.labels.first()) {
            (0, _) => ".path().by(constant(0)).by()".to_owned(),
            (1, Some((from, _))) => format!(".path().from('{from}')"),
            (2, _) if state.place == Nesting::Top => {
                state.reduced(Kind::Tree);
                return Some(Unit::text(".tree()"));
            }
            _ => ".path()".to_owned(),
        };
        state.moved(Kind::Path);
        Some(Unit::text(text))
    }

    /// A child with at most one result whose kind is known, and that kind.
    pub fn single(&mut self, state: &State) -> (Chain, Kind) {
        let mut inner = state.below(Nesting::Below);
        if state.depth < 2 && self.one_in(3) {
            return self.reducing(&mut inner);
        }
        let (text, kind): (&str, Kind) = match &state.kind {
            Kind::Vertex => match self.below(7) {
                0 => (".id()", Kind::Id),
                1 | 2 => (".label()", Kind::Text),
                3 => (".values('name')", Kind::Text),
                4 => (".values('age')", Kind::Number),
                5 => (".out().count()", Kind::Number),
                _ => (".in().order().by(id).limit(1)", Kind::Vertex),
            },
            Kind::Edge { .. } => match self.below(5) {
                0 => (".inV()", Kind::Vertex),
                1 => (".outV().values('age')", Kind::Number),
                2 => (".id()", Kind::Id),
                3 => (".values('score')", Kind::Number),
                _ => (".label()", Kind::Text),
            },
            Kind::Number => (self.pick_text(&[".math('_ + 1')", ".constant(4)"]), Kind::Number),
            Kind::Text => (self.pick_text(&[".toUpper()", ".substring(0, 1)"]), Kind::Text),
            kind if kind.is_steady() => (".identity()", kind.clone()),
            _ => (".count(local)", Kind::Number),
        };
        (Chain::text(text), kind)
    }
}

/// `text`, after which traversers stand on `kind` and keep their order.
fn taken(state: &mut State, text: &str, kind: Kind) -> String {
    state.moved(kind);
    text.to_owned()
}

fn spread(state: &mut State, text: &str, kind: Kind) -> String {
    state.spread(kind);
    text.to_owned()
}
