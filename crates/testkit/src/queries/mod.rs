//! Random small graphs, and random Gremlin over them that has one right answer.
//!
//! A query is valid, and its results are the same multiset in whatever order a store or an optimiser works. Steps that depend on
//! order (`limit`, `tail`, the first of many) come only behind a total order. Graphs and queries shrink by leaving parts out.

mod filters;
mod graph;
mod kinds;
mod reductions;
mod steps;
mod walks;
mod writer;

use std::fmt;

pub use graph::SmallGraph;
pub use writer::query;

/// A query as text, in parts that can be left out one by one.
#[derive(Clone, Debug)]
pub struct RandomQuery {
    source: String,
    chain: Chain,
    /// The order of its results is defined.
    pub ordered: bool,
    /// One of its steps may meet a value that it does not work on.
    pub may_fail: bool,
}

/// The calls after `g` or `__`.
#[derive(Clone, Debug, Default)]
pub(crate) struct Chain(Vec<Unit>);

/// Calls that make sense only together, such as `.order().limit(3)`.
#[derive(Clone, Debug)]
pub(crate) struct Unit(Vec<Piece>);

#[derive(Clone, Debug)]
enum Piece {
    Text(String),
    Child(Chain),
}

impl Unit {
    fn text(text: impl Into<String>) -> Self {
        Unit(vec![Piece::Text(text.into())])
    }

    /// `.name(child, …)`.
    fn call(name: &str, children: Vec<Chain>) -> Self {
        let mut unit = Unit::text(format!(".{name}("));
        for (at, child) in children.into_iter().enumerate() {
            if at > 0 {
                unit = unit.and(", ");
            }
            unit = unit.child(child);
        }
        unit.and(")")
    }

    fn and(mut self, text: impl Into<String>) -> Self {
        self.0.push(Piece::Text(text.into()));
        self
    }

    fn child(mut self, child: Chain) -> Self {
        self.0.push(Piece::Child(child));
        self
    }

    fn then(mut self, other: Unit) -> Self {
        self.0.extend(other.0);
        self
    }
}

impl Chain {
    fn of(unit: Unit) -> Self {
        Chain(vec![unit])
    }

    fn text(text: &str) -> Self {
        Chain::of(Unit::text(text))
    }

    fn push(&mut self, unit: Unit) {
        self.0.push(unit);
    }

    /// This chain without one of its units, or without one of those of its children.
    fn smaller(&self) -> Vec<Chain> {
        let mut smaller = Vec::new();
        for at in 0..self.0.len() {
            let mut without = self.clone();
            without.0.remove(at);
            smaller.push(without);
            for (place, piece) in self.0[at].0.iter().enumerate() {
                if let Piece::Child(child) = piece {
                    smaller.extend(child.smaller().into_iter().map(|child| {
                        let mut other = self.clone();
                        other.0[at].0[place] = Piece::Child(child);
                        other
                    }));
                }
            }
        }
        smaller
    }
}

impl RandomQuery {
    /// The queries with one part less. They may no longer have one right answer.
    pub fn smaller(&self) -> Vec<RandomQuery> {
        let queries = self.chain.smaller().into_iter().map(|chain| RandomQuery { chain, ..self.clone() });
        queries.filter(|query| !query.chain.0.is_empty()).collect()
    }
}

impl fmt::Display for RandomQuery {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.source)?;
        self.chain.write(f)
    }
}

impl Chain {
    fn write(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for piece in self.0.iter().flat_map(|unit| &unit.0) {
            match piece {
                Piece::Text(text) => f.write_str(text)?,
                Piece::Child(child) => write!(f, "{child}")?,
            }
        }
        Ok(())
    }
}

/// Shows the chain as a child traversal.
impl fmt::Display for Chain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("__")?;
        if self.0.is_empty() {
            return f.write_str(".identity()");
        }
        self.write(f)
    }
}
