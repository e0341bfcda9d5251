//! Writes random queries: chooses their start, and what comes next.

use super::kinds::{Kind, Nesting, State};
use super::{Chain, RandomQuery, Unit};
use crate::graphs::Random;
use crate::random::{EDGE_LABELS, VERTEX_LABELS};

/// A random query with one right answer over any [`SmallGraph`](super::SmallGraph).
pub fn query(random: &mut Random) -> RandomQuery {
    let mut writer = Writer { random, names: 0, may_fail: false, forgot: false };
    let has_end = writer.one_in(8);
    let (mut chain, mut state) = if has_end { writer.walk_to_an_end() } else { writer.start() };
    let sack = !has_end && writer.one_in(14);
    let source = match (sack, writer.random.below(30)) {
        (true, 0..15) => "g.withSack(0)",
        (true, _) => "g.withSack(1.5d)",
        (_, 0) => "g.withPath()",
        (_, 1) => "g.withStrategies(ProductiveByStrategy)",
        (_, 2) => "g.withStrategies(new SubgraphStrategy(vertices: __.has('age', lt(5))))",
        (_, 3) => "g.withStrategies(new SubgraphStrategy(edges: __.hasLabel('knows', 'likes')))",
        (_, 5) => "g.withStrategies(new PartitionStrategy(partitionKey: 'name', readPartitions: ['a', 'b', 'ab']))",
        (_, 4) => "g.withSideEffect('z', ['a', 'b', 'person'])",
        _ => "g",
    };
    state.sack = sack;
    let further = if has_end { 0 } else { 1 + writer.random.below(6) };
    for _ in 0..further {
        let unit = writer.unit(&mut state);
        chain.push(unit);
    }
    if source.contains("SideEffect") && state.kind == Kind::Text {
        chain.push(Unit::text(format!(".where({}('z'))", writer.pick(&["within", "without"]))));
    }
    if sack && state.sack {
        chain.push(Unit::text(".sack()"));
    }
    if !state.side_effects.is_empty() {
        let quoted: Vec<String> = state.side_effects.iter().map(|name| format!("'{name}'")).collect();
        chain.push(Unit::text(format!(".cap({})", quoted.join(", "))));
        state.ordered = false;
    }
    if writer.one_in(40) {
        chain = writer.fault(chain);
    }
    RandomQuery { source: source.into(), chain, ordered: state.ordered, may_fail: writer.may_fail }
}

pub(super) struct Writer<'a> {
    pub random: &'a mut Random,
    names: usize,
    may_fail: bool,
    /// A walk has made the past of its traversers undefined.
    pub forgot: bool,
}

impl Writer<'_> {
    pub fn one_in(&mut self, n: u64) -> bool {
        self.random.below(n) == 0
    }

    pub fn below(&mut self, n: u64) -> u64 {
        self.random.below(n)
    }

    pub fn pick<'t, T: ?Sized>(&mut self, of: &[&'t T]) -> &'t T {
        of[self.random.below(of.len() as u64) as usize]
    }

    /// A fresh name.
    pub fn name(&mut self, letter: char) -> String {
        self.names += 1;
        format!("{letter}{}", self.names)
    }

    pub fn vertex_label(&mut self) -> &'static str {
        self.pick(&VERTEX_LABELS)
    }

    /// The arguments of a hop: mostly all labels or one.
    pub fn edge_labels(&mut self) -> String {
        match self.below(8) {
            0..3 => String::new(),
            3..7 => format!("'{}'", self.pick(&EDGE_LABELS)),
            _ => format!("'{}', '{}'", self.pick(&EDGE_LABELS), self.pick(&EDGE_LABELS)),
        }
    }

    fn start(&mut self) -> (Chain, State) {
        let (text, kind) = match self.below(20) {
            0..13 => (".V()".to_owned(), Kind::Vertex),
            13 | 14 => (format!(".V({})", self.ids()), Kind::Vertex),
            15 | 16 => (".E()".to_owned(), Kind::Edge { entered: false }),
            17 => (".inject(3, 1, 2, 1)".to_owned(), Kind::Number),
            18 => (".inject('b', 'a', 'ab')".to_owned(), Kind::Text),
            _ => (format!(".union(__.V().hasLabel('{}'), __.V({}))", self.vertex_label(), self.ids()), Kind::Vertex),
        };
        (Chain::text(&text), State::new(kind))
    }

    /// One to three ids. Some name nothing, and some occur twice.
    pub fn ids(&mut self) -> String {
        let mut one = || match self.below(12) {
            0 => format!("'{}'", 1 + self.below(9)),
            1 => format!("'v{}'", self.below(9)),
            2 => format!("{}L", 1 + self.below(9)),
            _ => format!("{}", 1 + self.below(9)),
        };
        let ids: Vec<String> = (0..3).map(|_| one()).collect();
        ids[..1 + self.below(3) as usize].join(", ")
    }

    /// The next step: one for any kind, or one for the current kind.
    pub fn unit(&mut self, state: &mut State) -> Unit {
        for _ in 0..8 {
            let unit = match self.below(10) {
                0..5 => self.step(state),
                5 | 6 => self.filter(state),
                7 => self.remember(state),
                8 => self.reduce(state),
                _ => self.branch(state),
            };
            if let Some(unit) = unit {
                return unit;
            }
        }
        Unit::text(".identity()")
    }

    /// A chain of up to `n` units that runs inside another step.
    pub fn chain(&mut self, state: &mut State, n: u64) -> Chain {
        let mut chain = Chain::default();
        for _ in 0..1 + self.below(n) {
            let unit = self.unit(state);
            chain.push(unit);
        }
        chain
    }

    /// A test on the current value.
    pub fn test(&mut self, state: &State) -> Chain {
        let mut inner = state.below(Nesting::Test);
        if inner.depth > 2 {
            return Chain::of(self.filter(&mut inner).unwrap_or_else(|| Unit::text(".identity()")));
        }
        self.chain(&mut inner, 3)
    }

    /// Inserts a step somewhere in the chain that may fail on its input.
    fn fault(&mut self, mut chain: Chain) -> Chain {
        self.may_fail = true;
        let faults = [".out()", ".values('name')", ".sum()", ".math('_ + 1')", ".toUpper()", ".fail()", ".inV()", ".id()"];
        let at = 1 + self.below(chain.0.len() as u64) as usize;
        chain.0.insert(at, Unit::text(self.pick(&faults)));
        chain
    }
}
