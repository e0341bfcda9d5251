//! Filters, and the literals that they compare with.

use super::Unit;
use super::kinds::{Kind, Nesting, State};
use super::writer::Writer;
use crate::random::VERTEX_LABELS;

impl Writer<'_> {
    pub fn filter(&mut self, state: &mut State) -> Option<Unit> {
        if state.depth < 3 && self.one_in(3) {
            return Some(self.child_filter(state));
        }
        if state.past && !state.bags && self.one_in(10) {
            return Some(Unit::text(self.pick(&[".simplePath()", ".cyclicPath()", ".simplePath().by(constant(1))"])));
        }
        if state.place != Nesting::Test && state.kind.is_steady() && !state.bags && self.one_in(8) {
            state.forget_past();
            return Some(Unit::text(".dedup()"));
        }
        Some(Unit::text(match &state.kind {
            Kind::Vertex => self.vertex_filter(),
            Kind::Edge { .. } => self.edge_filter(),
            Kind::VertexProperty => {
                self.pick(&[".hasKey('name')", ".hasKey('tags','age')", ".has('at')", ".hasValue('t1')"]).into()
            }
            Kind::Property => self.pick(&[".hasKey('score')", ".hasKey(within('at','name'))", ".hasValue(gt(2))"]).into(),
            Kind::Number => format!(".is({})", self.number_test()),
            Kind::Text => format!(".is({})", self.text_test()),
            Kind::Id => {
                format!(".is({})", self.pick(&["1", "within(1, 2, 3)", "neq(2)", "'v1'", "gt(3)", "without(1, 'v2')"]))
            }
            Kind::Mixed => format!(".is({})", self.mixed_test()),
            Kind::List(items, _) | Kind::Set(items) => match **items {
                Kind::Number => {
                    let test = self.number_test();
                    format!(".{}({test})", self.pick(&["any", "all", "none"]))
                }
                Kind::Text => format!(".{}({})", self.pick(&["any", "all", "none"]), self.text_test()),
                _ => return None,
            },
            _ => return None,
        }))
    }

    fn child_filter(&mut self, state: &State) -> Unit {
        let test = self.test(state);
        match self.below(10) {
            0..3 => Unit::call("where", vec![test]),
            3 => Unit::call("filter", vec![test]),
            4 | 5 => Unit::call("not", vec![test]),
            6 => Unit::call("and", vec![test, self.test(state)]),
            7 => Unit::call("or", vec![test, self.test(state)]),
            8 => Unit::call("or", vec![test, self.test(state), self.test(state)]),
            _ => Unit::text(".not(").child(test.clone()).and(")").then(Unit::call("where", vec![self.test(state)])),
        }
    }

    fn vertex_filter(&mut self) -> String {
        match self.below(18) {
            0 | 1 => format!(".hasLabel('{}')", self.vertex_label()),
            16 => format!(".not(__.hasLabel('{}'))", self.vertex_label()),
            17 => format!(".or(__.hasLabel('{}'), __.hasLabel('{}'))", self.vertex_label(), self.vertex_label()),
            2 => format!(".hasLabel('{}', '{}')", self.vertex_label(), self.vertex_label()),
            3 => self.pick(&[".hasLabel(neq('person'))", ".hasLabel(startingWith('p'))", ".hasLabel('nobody')"]).into(),
            4 => format!(".hasId({})", self.ids()),
            5 => {
                let ids = self.ids();
                let id = self.below(9);
                self.pick(&[
                    &*format!(".hasId(within([{ids}]))"),
                    &*format!(".has(id, without({ids}))"),
                    &*format!(".hasId(eq({id}))"),
                    &*format!(".hasId({id}.0)"),
                    &*format!(".has(T.id, gt({id}))"),
                ])
                .into()
            }
            6 => {
                let key = self.vertex_key();
                format!(".has('{}', '{key}', {})", self.pick(&VERTEX_LABELS), self.test_of(key))
            }
            7 => format!(".has('{}')", self.vertex_key()),
            8 => format!(".hasNot('{}')", self.vertex_key()),
            9 => {
                let key = self.vertex_key();
                let test = self.test_of(key);
                format!(".has('{key}', __.is({test}))")
            }
            _ => {
                let key = self.vertex_key();
                format!(".has('{key}', {})", self.test_of(key))
            }
        }
    }

    fn edge_filter(&mut self) -> String {
        let key = self.edge_key();
        match self.below(6) {
            0 => format!(".hasLabel('{}')", self.pick(&crate::random::EDGE_LABELS)),
            1 => format!(".has('{key}')"),
            2 => format!(".hasNot('{key}')"),
            _ => format!(".has('{key}', {})", self.test_of(key)),
        }
    }

    pub fn vertex_key(&mut self) -> &'static str {
        self.pick(&["name", "name", "age", "age", "tags", "score", "note"])
    }

    pub fn edge_key(&mut self) -> &'static str {
        self.pick(&["score", "score", "at", "name", "note"])
    }

    fn test_of(&mut self, key: &str) -> String {
        match key {
            "name" => self.text_test(),
            "tags" => self.pick(&["'t1'", "neq('t2')", "within('t0', 't3')", "startingWith('t')", "gt('t1')"]).into(),
            "note" => self.mixed_test(),
            _ => self.number_test(),
        }
    }

    /// Small numbers of every width.
    pub fn number(&mut self) -> String {
        let n = self.below(7);
        let quarter = n as f64 / 4.0;
        self.pick(&[&*format!("{n}"), &*format!("{n}L"), &*format!("{n}.0"), &*format!("{quarter:.2}d"), &*format!("{n}b")])
            .into()
    }

    pub fn number_test(&mut self) -> String {
        let (a, b) = (self.number(), self.number());
        match self.below(14) {
            0 | 1 => a,
            2 => format!("neq({a})"),
            3 | 4 => format!("gt({a})"),
            5 => format!("gte({a})"),
            6 => format!("lt({a})"),
            7 => format!("lte({a})"),
            8 => format!("within({a}, {b})"),
            9 => format!("without({a}, {b})"),
            10 => format!("between({a}, {b})"),
            11 => format!("inside({a}, {b})"),
            12 => format!("P.not(gt({a}))"),
            _ => format!("gt({a}).or(eq({b}))"),
        }
    }

    fn text_test(&mut self) -> String {
        let (a, b) = (self.pick(&["a", "b", "c", "d", "e", "f"]), self.pick(&["a", "b", "c", "ab", ""]));
        match self.below(10) {
            0..3 => format!("'{a}'"),
            3 => format!("neq('{a}')"),
            4 => format!("within('{a}', '{b}')"),
            5 => format!("gt('{a}')"),
            6 => format!("lte('{a}')"),
            7 => format!("startingWith('{b}')"),
            8 => format!("without('{a}', '{b}').and(neq('c'))"),
            _ => format!("TextP.regex('[a-c{b}]')"),
        }
    }

    fn mixed_test(&mut self) -> String {
        match self.below(6) {
            0 => "null".into(),
            1 => "neq(null)".into(),
            2 => self.text_test(),
            3 => self.pick(&["true", "typeOf(GType.NUMBER)", "P.not(gt('b'))", "typeOf(GType.STRING)"]).into(),
            _ => self.number_test(),
        }
    }
}
