//! A regular expression as an automaton: one state for each edge of the expression, and no empty moves.
//!
//! Glushkov: The abstract theory of automata, Russian Mathematical Surveys 16, 1961. States from which the same paths lead to an end
//! then become one, by refining a partition (Paige and Tarjan: Three partition refinement algorithms, SIAM J. Comput. 16, 1987,
//! without its bound).

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::syntax::Expression;
use crate::diagnostics::Span;
use crate::error::{QueryError, QueryErrorKind, Result};

/// An edge label, or any, and whether the edge is gone backwards.
pub type Symbol = (Option<Arc<str>>, bool);

/// The symbols of a query, each with its first place in the text.
#[derive(Default)]
pub struct Alphabet {
    numbers: BTreeMap<Symbol, u32>,
    pub symbols: Vec<(Symbol, Span)>,
}

impl Alphabet {
    fn number(&mut self, symbol: Symbol, span: Span) -> u32 {
        *self.numbers.entry(symbol.clone()).or_insert_with(|| {
            self.symbols.push((symbol, span));
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

impl Automaton {
    /// # Errors
    /// If the expression has more than 1000 edges.
    pub fn new(expression: &Expression, alphabet: &mut Alphabet) -> Result<Self> {
        let mut places = Places { symbols: Vec::new(), follow: Vec::new(), alphabet };
        let whole = places.read(expression)?;
        let mut accepts = vec![whole.is_nullable];
        accepts.extend((0..places.symbols.len() as u32).map(|place| whole.last.contains(&place)));
        let move_to = |place: &u32| (places.symbols[*place as usize], place + 1);
        let mut moves = vec![whole.first.iter().map(move_to).collect::<Vec<_>>()];
        moves.extend(places.follow.iter().map(|follow| follow.iter().map(move_to).collect()));
        Ok(Self { start: 0, accepts, moves }.reduced())
    }

    pub fn states(&self) -> usize {
        self.accepts.len()
    }

    /// Whether it takes the path of length 0.
    pub fn takes_nothing(&self) -> bool {
        self.accepts[self.start as usize]
    }

    /// The automaton in which states that take the same paths are one.
    fn reduced(self) -> Self {
        let mut class: Vec<u32> = self.accepts.iter().map(|accepts| u32::from(*accepts)).collect();
        let mut count = 0;
        loop {
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
    follow: Vec<BTreeSet<u32>>,
    alphabet: &'a mut Alphabet,
}

/// What a part of an expression begins and ends with.
#[derive(Clone, Default)]
struct Part {
    is_nullable: bool,
    first: Vec<u32>,
    last: Vec<u32>,
}

impl Places<'_> {
    fn read(&mut self, expression: &Expression) -> Result<Part> {
        match expression {
            Expression::Edge { label, is_inverse, span } => {
                if self.symbols.len() == POSITIONS_MAX {
                    let message =
                        format!("the path has more than {POSITIONS_MAX} edges once its repetitions are written out");
                    return Err(QueryError::new(QueryErrorKind::Syntax, message).at(*span));
                }
                let place = self.symbols.len() as u32;
                self.symbols.push(self.alphabet.number((label.clone(), *is_inverse), *span));
                self.follow.push(BTreeSet::new());
                Ok(Part { is_nullable: false, first: vec![place], last: vec![place] })
            }
            Expression::Sequence(parts) => {
                let mut whole = Part { is_nullable: true, ..Part::default() };
                for part in parts {
                    let part = self.read(part)?;
                    whole = self.then(whole, part);
                }
                Ok(whole)
            }
            Expression::Choice(parts) => {
                let mut whole = Part::default();
                for part in parts {
                    let mut part = self.read(part)?;
                    whole.is_nullable |= part.is_nullable;
                    whole.first.append(&mut part.first);
                    whole.last.append(&mut part.last);
                }
                Ok(whole)
            }
            Expression::Repeat { of, least, most } => self.repeated(of, *least, *most),
        }
    }

    /// `least` copies, and then either as many as one likes, or others that may be left out.
    fn repeated(&mut self, of: &Expression, least: u32, most: Option<u32>) -> Result<Part> {
        let mut whole = Part { is_nullable: true, ..Part::default() };
        let copies = most.unwrap_or(least.max(1));
        for copy in 0..copies {
            let mut part = self.read(of)?;
            if most.is_none() && copy + 1 == copies {
                self.join(&part.last.clone(), &part.first.clone());
            }
            part.is_nullable |= copy >= least;
            whole = self.then(whole, part);
        }
        Ok(whole)
    }

    fn then(&mut self, before: Part, after: Part) -> Part {
        self.join(&before.last, &after.first);
        let with = |mut some: Vec<u32>, more: &[u32], also: bool| {
            if also {
                some.extend_from_slice(more);
            }
            some
        };
        Part {
            is_nullable: before.is_nullable && after.is_nullable,
            first: with(before.first, &after.first, before.is_nullable),
            last: with(after.last, &before.last, after.is_nullable),
        }
    }

    fn join(&mut self, before: &[u32], after: &[u32]) {
        before.iter().for_each(|place| self.follow[*place as usize].extend(after));
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
    }
}
