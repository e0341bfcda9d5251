//! A regular expression as an automaton: one state for each edge of the expression, and no empty moves.
//!
//! Glushkov: The abstract theory of automata, Russian Mathematical Surveys 16, 1961. States from which the same paths lead to an end
//! then become one, by refining a partition (Paige and Tarjan: Three partition refinement algorithms, SIAM J. Comput. 16, 1987,
//! without its bound).

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::syntax::Expression;
use crate::error::{QueryError, QueryErrorKind, Result};

/// An edge label, or any, and whether the edge is gone backwards.
pub type Symbol = (Option<Arc<str>>, bool);

/// The symbols of a query.
#[derive(Default)]
pub struct Alphabet {
    numbers: BTreeMap<Symbol, u32>,
    pub symbols: Vec<Symbol>,
    positions: usize,
    parts: usize,
}

impl Alphabet {
    fn number(&mut self, symbol: Symbol) -> u32 {
        *self.numbers.entry(symbol.clone()).or_insert_with(|| {
            self.symbols.push(symbol);
            self.symbols.len() as u32 - 1
        })
    }
}

/// An automaton. It starts in state `start`.
#[derive(Clone, PartialEq, Debug)]
pub struct Automaton {
    pub start: u32,
    pub accepts: Vec<bool>,
    /// For each state, the symbols that it takes and where they lead.
    pub moves: Vec<Vec<(u32, u32)>>,
}

/// Edges of an expression after its repetitions are written out.
const POSITIONS_MAX: usize = 1000;
/// Moves to look at before an automaton stays as large as it is.
const REFINED_MAX: usize = 200_000;
/// Edges of all expressions of a query, and parts that are read for them.
const QUERY_POSITIONS_MAX: usize = 10_000;
const QUERY_PARTS_MAX: usize = 1_000_000;

/// Some of the edges of an expression.
#[derive(Clone, Copy)]
struct Set([u64; POSITIONS_MAX.div_ceil(64)]);

impl Set {
    const NONE: Self = Self([0; POSITIONS_MAX.div_ceil(64)]);

    fn has(&self, place: usize) -> bool {
        self.0[place / 64] >> (place % 64) & 1 == 1
    }

    fn add(&mut self, other: &Self) {
        self.0.iter_mut().zip(&other.0).for_each(|(mine, theirs)| *mine |= theirs);
    }

    fn iter(&self) -> impl Iterator<Item = usize> {
        (0..POSITIONS_MAX).filter(|place| self.has(*place))
    }
}

impl Automaton {
    /// # Errors
    /// If the expression has more than 1000 edges.
    pub fn new(expression: &Expression, alphabet: &mut Alphabet) -> Result<Self> {
        let mut places = Places { symbols: Vec::new(), follow: Vec::new(), alphabet };
        let whole = places.read(expression)?;
        let mut accepts = vec![whole.is_nullable];
        accepts.extend((0..places.symbols.len()).map(|place| whole.last.has(place)));
        let moves_to = |to: &Set| to.iter().map(|place| (places.symbols[place], place as u32 + 1)).collect();
        let mut moves: Vec<Vec<(u32, u32)>> = vec![moves_to(&whole.first)];
        moves.extend(places.follow.iter().map(moves_to));
        Ok(Self { start: 0, accepts, moves }.reduced())
    }

    pub fn states(&self) -> usize {
        self.accepts.len()
    }

    /// Whether it takes the path of length 0.
    pub fn takes_nothing(&self) -> bool {
        self.accepts[self.start as usize]
    }

    /// Whether it takes paths of any length.
    pub fn is_cyclic(&self) -> bool {
        // States from which all moves lead to such states are removed, until none is left or all others have a cycle before them.
        let mut ends: Vec<bool> = self.moves.iter().map(Vec::is_empty).collect();
        loop {
            let next =
                (0..ends.len()).find(|state| !ends[*state] && self.moves[*state].iter().all(|(_, to)| ends[*to as usize]));
            match next {
                Some(state) => ends[state] = true,
                None => return ends.contains(&false),
            }
        }
    }

    /// The automaton in which states that take the same paths are one.
    fn reduced(self) -> Self {
        let mut class: Vec<u32> = self.accepts.iter().map(|accepts| u32::from(*accepts)).collect();
        let (mut count, mut looked_at) = (0, 0);
        let moves: usize = self.moves.iter().map(Vec::len).sum();
        loop {
            looked_at += moves;
            if looked_at > REFINED_MAX {
                return self;
            }
            let mut known: BTreeMap<(u32, BTreeSet<(u32, u32)>), u32> = BTreeMap::new();
            let mut next = Vec::with_capacity(class.len());
            for (state, moves) in self.moves.iter().enumerate() {
                let leads = moves.iter().map(|(symbol, to)| (*symbol, class[*to as usize])).collect();
                let fresh = known.len() as u32;
                next.push(*known.entry((class[state], leads)).or_insert(fresh));
            }
            let found = known.len();
            class = next;
            if found == count {
                break;
            }
            count = found;
        }
        let (mut accepts, mut moves) = (vec![false; count], vec![BTreeSet::new(); count]);
        for (state, of) in class.iter().enumerate() {
            accepts[*of as usize] = self.accepts[state];
            moves[*of as usize].extend(self.moves[state].iter().map(|(symbol, to)| (*symbol, class[*to as usize])));
        }
        let moves = moves.into_iter().map(|moves| moves.into_iter().collect()).collect();
        Self { start: class[self.start as usize], accepts, moves }
    }
}

/// The edges of an expression as they are read.
struct Places<'a> {
    /// The symbol of each.
    symbols: Vec<u32>,
    /// Those that may come next.
    follow: Vec<Set>,
    alphabet: &'a mut Alphabet,
}

/// What a part of an expression begins and ends with.
#[derive(Clone, Copy)]
struct Part {
    is_nullable: bool,
    first: Set,
    last: Set,
}

impl Part {
    const NOTHING: Self = Self { is_nullable: true, first: Set::NONE, last: Set::NONE };
}

impl Places<'_> {
    fn read(&mut self, expression: &Expression) -> Result<Part> {
        self.alphabet.parts += 1;
        if self.alphabet.parts > QUERY_PARTS_MAX {
            let message = format!("the paths have more than {QUERY_PARTS_MAX} parts once their repetitions are written out");
            return Err(QueryError::new(QueryErrorKind::Syntax, message));
        }
        match expression {
            Expression::Edge { label, is_inverse, span } => {
                self.alphabet.positions += 1;
                let (what, most) = match self.symbols.len() == POSITIONS_MAX {
                    true => ("path has", POSITIONS_MAX),
                    false => ("paths of the query have", QUERY_POSITIONS_MAX),
                };
                if most == POSITIONS_MAX || self.alphabet.positions > most {
                    let message = format!("the {what} more than {most} edges once repetitions are written out");
                    return Err(QueryError::new(QueryErrorKind::Syntax, message).at(*span));
                }
                let (place, mut alone) = (self.symbols.len(), Set::NONE);
                alone.0[place / 64] |= 1 << (place % 64);
                self.symbols.push(self.alphabet.number((label.clone(), *is_inverse)));
                self.follow.push(Set::NONE);
                Ok(Part { is_nullable: false, first: alone, last: alone })
            }
            Expression::Sequence(parts) => {
                let mut whole = Part::NOTHING;
                for part in parts {
                    let part = self.read(part)?;
                    whole = self.then(whole, part);
                }
                Ok(whole)
            }
            Expression::Choice(parts) => {
                let mut whole = Part { is_nullable: false, ..Part::NOTHING };
                for part in parts {
                    let part = self.read(part)?;
                    whole.is_nullable |= part.is_nullable;
                    whole.first.add(&part.first);
                    whole.last.add(&part.last);
                }
                Ok(whole)
            }
            Expression::Repeat { of, least, most } => self.repeated(of, *least, *most),
        }
    }

    /// `least` copies, and then either as many as one likes, or others that may be left out.
    fn repeated(&mut self, of: &Expression, least: u32, most: Option<u32>) -> Result<Part> {
        let copies = most.unwrap_or(least.max(1));
        let mut parts = Vec::new();
        for copy in 0..copies {
            let before = self.symbols.len();
            let part = self.read(of)?;
            if self.symbols.len() == before {
                // Only the path of length 0: more of it changes nothing.
                break;
            }
            if most.is_none() && copy + 1 == copies {
                self.join(&part.last, &part.first);
            }
            parts.push(part);
        }
        // From the end, so that a copy that may be left out is followed by the next one only.
        let mut whole = Part::NOTHING;
        for (copy, part) in parts.into_iter().enumerate().rev() {
            whole = self.then(part, whole);
            whole.is_nullable |= copy as u32 >= least;
        }
        Ok(whole)
    }

    fn then(&mut self, before: Part, after: Part) -> Part {
        self.join(&before.last, &after.first);
        let (mut first, mut last) = (before.first, after.last);
        if before.is_nullable {
            first.add(&after.first);
        }
        if after.is_nullable {
            last.add(&before.last);
        }
        Part { is_nullable: before.is_nullable && after.is_nullable, first, last }
    }

    fn join(&mut self, before: &Set, after: &Set) {
        before.iter().for_each(|place| self.follow[place].add(after));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::paths::syntax;

    fn automaton(path: &str) -> (Automaton, Alphabet) {
        let rules = syntax::parse(&format!("?x {path} ?y")).unwrap();
        let mut alphabet = Alphabet::default();
        (Automaton::new(&rules[0].atoms[0].path, &mut alphabet).unwrap(), alphabet)
    }

    /// Whether the automaton takes a word of one-letter labels.
    fn takes(path: &str, word: &str) -> bool {
        let (automaton, alphabet) = automaton(path);
        let mut states = BTreeSet::from([automaton.start]);
        for letter in word.chars() {
            let label: Arc<str> = letter.to_lowercase().collect::<String>().into();
            let symbol = alphabet.numbers.get(&(Some(label), letter.is_uppercase())).copied();
            let moves = states.iter().flat_map(|state| &automaton.moves[*state as usize]);
            states = moves.filter(|(of, _)| Some(*of) == symbol).map(|(_, to)| *to).collect();
        }
        states.iter().any(|state| automaton.accepts[*state as usize])
    }

    #[test]
    fn words_are_taken() {
        for (path, taken, refused) in [
            ("a", vec!["a"], vec!["", "aa", "b", "A"]),
            ("a/b", vec!["ab"], vec!["a", "b", "ba"]),
            ("a|b", vec!["a", "b"], vec!["ab", ""]),
            ("a*", vec!["", "a", "aaaa"], vec!["b", "ab"]),
            ("a+", vec!["a", "aaa"], vec![""]),
            ("(a/b)*/c?", vec!["", "c", "ab", "ababc"], vec!["abb", "cc"]),
            ("^(a/b)", vec!["BA"], vec!["AB", "ab"]),
            ("a{2}", vec!["aa"], vec!["a", "aaa"]),
            ("a{1,3}", vec!["a", "aa", "aaa"], vec!["", "aaaa"]),
            ("a{2,}", vec!["aa", "aaaaa"], vec!["a", ""]),
            ("a{0}", vec![""], vec!["a"]),
            ("(a?|b)*", vec!["", "abba"], vec!["c"]),
            ("(a/b?){2,}/c", vec!["aac", "abaabc"], vec!["ac", "abbc"]),
        ] {
            taken.iter().for_each(|word| assert!(takes(path, word), "{path} takes {word:?}"));
            refused.iter().for_each(|word| assert!(!takes(path, word), "{path} refuses {word:?}"));
        }
    }

    #[test]
    fn cycles_are_seen() {
        for (path, is_cyclic) in
            [("a", false), ("a/b|c?", false), ("a{3}", false), ("a*", true), ("a/b+/c", true), ("(a|b/c)*", true)]
        {
            assert_eq!(automaton(path).0.is_cyclic(), is_cyclic, "{path}");
        }
    }

    #[test]
    fn states_that_take_the_same_are_one() {
        for (path, states) in [("a*", 1), ("(a|b)*", 1), ("a+", 2), ("a/b", 3), ("(a|b)/c|(a|b)/c", 3), ("a/b*", 2)] {
            assert_eq!(automaton(path).0.states(), states, "{path}");
        }
    }

    #[test]
    fn long_repetitions_are_refused() {
        let rules = syntax::parse("?x (a{1000}){1000} ?y").unwrap();
        let error = Automaton::new(&rules[0].atoms[0].path, &mut Alphabet::default()).unwrap_err();
        assert!(error.message.contains("more than 1000 edges"), "{}", error.message);
        // Nothing, however often.
        let many = (0..50).map(|_| "?x a{0,1000} ?y").collect::<Vec<_>>().join(", ");
        let rules = syntax::parse(&many).unwrap();
        let mut alphabet = Alphabet::default();
        let outcome = rules[0].atoms.iter().try_for_each(|atom| Automaton::new(&atom.path, &mut alphabet).map(drop));
        assert!(outcome.unwrap_err().message.contains("more than 10000 edges"));
        // A copy that may be left out is followed by the next one only.
        assert!(automaton("a{0,100}").0.moves.iter().map(Vec::len).sum::<usize>() <= 101);
        assert!(takes("(((a{0}){1000}){1000}){1000}", "") && !takes("((a{0}){1000}){1000}", "a"));
    }
}
