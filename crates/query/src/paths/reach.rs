//! Which vertices a path that an automaton takes joins: breadth-first search in the product of graph and automaton.
//!
//! 64 sources are searched from at once: each product vertex has a word with a bit for each source (Then et al.: The More the Merrier:
//! Efficient Multi-Source Graph Traversal, VLDB 2014, section 3). O(states · (V + E)) for each 64 sources, at most. Paths of bounded
//! length mostly meet few vertices, and those of other sources are others. There each source is searched from alone.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use mangrove_graph::{GraphError, ReadContext, Result};

use super::automaton::Automaton;
use super::lists::{Lists, Neighbours};

/// Sources that are searched from together.
const WORD: usize = 64;
/// Product vertices that are gone on from between two looks at the limits.
const CHECK_EVERY: usize = 1024;

/// What is wanted of a search.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Sought {
    /// Each source with each of its targets.
    Pairs,
    /// The sources that have a target.
    Sources,
    /// The number of pairs.
    Count,
}

/// What a search found.
#[derive(Default, Debug)]
pub struct Found {
    /// Pairs as `source << 32 | target`, or sources, in order.
    pub words: Vec<u64>,
    pub count: u64,
}

/// Some vertices, by number.
#[derive(Clone, Debug, Default)]
pub struct Vertices {
    words: Vec<u64>,
}

impl Vertices {
    pub fn of(numbers: impl IntoIterator<Item = u32>) -> Self {
        let mut set = Self::default();
        numbers.into_iter().for_each(|number| {
            set.add(number);
        });
        set
    }

    /// Adds a vertex. Returns whether it is new.
    #[inline]
    pub fn add(&mut self, number: u32) -> bool {
        let (word, bit) = (number as usize / 64, 1 << (number % 64));
        if self.words.len() <= word {
            self.words.resize(word + 1, 0);
        }
        let is_new = self.words[word] & bit == 0;
        self.words[word] |= bit;
        is_new
    }

    pub fn add_all(&mut self, others: &Self) {
        self.words.resize(self.words.len().max(others.words.len()), 0);
        self.words.iter_mut().zip(&others.words).for_each(|(word, other)| *word |= other);
    }

    /// Leaves only those that are among others, too.
    pub fn keep(&mut self, others: &Self) {
        self.words.truncate(others.words.len());
        self.words.iter_mut().zip(&others.words).for_each(|(word, other)| *word &= other);
    }

    /// Their numbers, in order.
    pub fn numbers(&self) -> Vec<u32> {
        let mut numbers = Vec::with_capacity(self.words.iter().map(|word| word.count_ones() as usize).sum());
        for (at, word) in self.words.iter().enumerate() {
            each_bit(*word, |bit| numbers.push((at * 64 + bit) as u32));
        }
        numbers
    }

    pub fn bytes(&self) -> usize {
        size_of_val(&self.words[..])
    }

    pub fn has(&self, number: u32) -> bool {
        self.words.get(number as usize / 64).is_some_and(|word| word >> (number % 64) & 1 == 1)
    }
}

/// A search: from some sources along an automaton.
pub struct PathSearch<'a> {
    pub automaton: &'a Automaton,
    /// In order, each once.
    pub sources: &'a [u32],
    /// Only targets of these count; `None` for any.
    pub targets: Option<&'a Vertices>,
    /// Only targets that are their own source count.
    pub is_loop: bool,
    pub wanted: Sought,
}

/// The words of one search of 64 sources, kept for the next one.
#[derive(Default)]
struct Scratch {
    /// For each product vertex (vertex, state), the sources that have reached it, and those that have not gone on from there.
    seen: Vec<u64>,
    next: Vec<u64>,
    /// Product vertices that some source has reached.
    touched: Vec<usize>,
    frontier: Vec<usize>,
    /// For each vertex, the sources of which it is a target.
    reached: Vec<u64>,
    targets: Vec<u32>,
}

impl PathSearch<'_> {
    /// Searches on this thread, and reads neighbours as it meets vertices. `None` if it has read more than so many neighbours.
    pub fn run_met(&self, lists: &mut Lists<'_>, limits: &ReadContext, entries_max: u64) -> Result<Option<Found>> {
        limits.budget.fits(Scratch::bytes(self.automaton, lists.len()))?;
        let (mut scratch, mut found) = (Scratch::default(), Found::default());
        for sources in self.sources.chunks(WORD) {
            scratch.begin(self.automaton, sources, lists.len());
            if !scratch.spread(self.automaton, lists, limits, entries_max)? {
                return Ok(None);
            }
            scratch.end(self, sources, &mut found);
            limits.budget.fits(found.words.len() * 8)?;
        }
        Ok(Some(found))
    }

    /// Searches on several threads. All neighbours along the automaton's symbols must have been read.
    pub fn run_all(&self, lists: &Lists<'_>, limits: &ReadContext, threads: usize) -> Result<Found> {
        let (known, vertices) = (lists.known(), lists.len());
        let chunks: Vec<&[u32]> = self.sources.chunks(WORD).collect();
        let is_cyclic = self.automaton.is_cyclic();
        let of_thread = match is_cyclic {
            true => Scratch::bytes(self.automaton, vertices),
            false => Alone::bytes(self.automaton, vertices),
        };
        // Fewer threads if memory does not suffice for all.
        let mut threads = threads.clamp(1, chunks.len().max(1));
        while threads > 1 && limits.budget.fits(threads * of_thread).is_err() {
            threads -= 1;
        }
        limits.budget.fits(threads * of_thread)?;
        let (next, held) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let parts: Mutex<Vec<(usize, Found)>> = Mutex::new(Vec::with_capacity(chunks.len()));
        let stop = Arc::new(AtomicBool::new(false));
        let search = |limits: &ReadContext| -> Result<()> {
            let (mut scratch, mut alone) = (Scratch::default(), Alone::default());
            loop {
                let at = next.fetch_add(1, Ordering::Relaxed);
                let Some(sources) = chunks.get(at) else { return Ok(()) };
                let mut found = Found::default();
                match is_cyclic {
                    true => {
                        scratch.begin(self.automaton, sources, vertices);
                        while !scratch.frontier.is_empty() {
                            scratch.step(self.automaton, known, limits)?;
                        }
                        scratch.end(self, sources, &mut found);
                    }
                    false => {
                        for source in *sources {
                            alone.search(self, *source, known, vertices, limits, &mut found)?;
                        }
                    }
                }
                let bytes = found.words.len() * 8;
                limits.budget.fits(held.fetch_add(bytes, Ordering::Relaxed) + bytes)?;
                parts.lock().unwrap_or_else(PoisonError::into_inner).push((at, found));
            }
        };
        // What stops one thread stops all.
        let work = |limits: &ReadContext| {
            let done = search(limits);
            if done.is_err() {
                next.store(chunks.len(), Ordering::Relaxed);
                stop.store(true, Ordering::Relaxed);
            }
            done
        };
        let outcome = thread::scope(|scope| {
            let mut others = Vec::new();
            for _ in 1..threads {
                let limits = ReadContext { cancel: limits.cancel.or_when(stop.clone()), ..limits.clone() };
                let work = &work;
                let named = thread::Builder::new().name("mangrove paths".into());
                // Without a thread that can be started, this one does it all.
                others.extend(named.spawn_scoped(scope, move || work(&limits)).ok());
            }
            let mine = work(limits);
            let joined =
                others.into_iter().map(|thread| thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
            let errors: Vec<GraphError> = joined.chain([mine]).filter_map(Result::err).collect();
            // Why one thread stopped matters more than that it stopped the others.
            errors.into_iter().min_by_key(|error| matches!(error, GraphError::Stopped)).map_or(Ok(()), Err)
        });
        outcome?;
        let mut parts = parts.into_inner().unwrap_or_else(PoisonError::into_inner);
        parts.sort_unstable_by_key(|(at, _)| *at);
        let mut whole = Found::default();
        for (_, mut part) in parts {
            whole.count += part.count;
            whole.words.append(&mut part.words);
        }
        Ok(whole)
    }
}

impl Scratch {
    fn begin(&mut self, automaton: &Automaton, sources: &[u32], vertices: usize) {
        self.grow(automaton, vertices);
        for (bit, source) in sources.iter().enumerate() {
            let at = *source as usize * automaton.states() + automaton.start as usize;
            self.mark(at, 1 << bit);
        }
    }

    /// The bytes of the words for so many vertices.
    fn bytes(automaton: &Automaton, vertices: usize) -> usize {
        vertices * (2 * automaton.states() + 1) * size_of::<u64>()
    }

    fn grow(&mut self, automaton: &Automaton, vertices: usize) {
        let wanted = vertices * automaton.states();
        if self.seen.len() < wanted {
            self.seen.resize(wanted, 0);
            self.next.resize(wanted, 0);
            self.reached.resize(vertices, 0);
        }
    }

    /// Notes that some sources have reached a product vertex.
    #[inline]
    fn mark(&mut self, at: usize, bits: u64) {
        let new = bits & !self.seen[at];
        if new == 0 {
            return;
        }
        if self.seen[at] == 0 {
            self.touched.push(at);
        }
        if self.next[at] == 0 {
            self.frontier.push(at);
        }
        self.seen[at] |= new;
        self.next[at] |= new;
    }

    /// Goes on until nothing new is reached, and reads neighbours as it does. Returns false if it has read too many.
    fn spread(
        &mut self,
        automaton: &Automaton,
        lists: &mut Lists<'_>,
        limits: &ReadContext,
        entries_max: u64,
    ) -> Result<bool> {
        while !self.frontier.is_empty() {
            self.read(automaton, lists)?;
            if lists.entries() > entries_max {
                return Ok(false);
            }
            limits.budget.fits(Self::bytes(automaton, lists.len()))?;
            self.grow(automaton, lists.len());
            self.step(automaton, lists.known(), limits)?;
        }
        Ok(true)
    }

    /// Reads the neighbours that the next step needs.
    fn read(&self, automaton: &Automaton, lists: &mut Lists<'_>) -> Result<()> {
        let states = automaton.states();
        let mut symbols: Vec<u32> = automaton.moves.iter().flatten().map(|(symbol, _)| *symbol).collect();
        symbols.sort_unstable();
        symbols.dedup();
        for symbol in symbols {
            let takes = |at: &&usize| automaton.moves[**at % states].iter().any(|(of, _)| *of == symbol);
            let of: Vec<u32> = self.frontier.iter().filter(takes).map(|at| (at / states) as u32).collect();
            lists.read(symbol, &of)?;
        }
        Ok(())
    }

    fn step(&mut self, automaton: &Automaton, known: &Neighbours, limits: &ReadContext) -> Result<()> {
        let states = automaton.states();
        for (count, at) in std::mem::take(&mut self.frontier).into_iter().enumerate() {
            if count % CHECK_EVERY == 0 {
                limits.check()?;
            }
            let bits = std::mem::take(&mut self.next[at]);
            for (symbol, to) in &automaton.moves[at % states] {
                for neighbour in known.of(*symbol, (at / states) as u32) {
                    self.mark(*neighbour as usize * states + *to as usize, bits);
                }
            }
        }
        Ok(())
    }

    /// Adds what the sources have reached to `found`, and forgets it.
    fn end(&mut self, search: &PathSearch<'_>, sources: &[u32], found: &mut Found) {
        let states = search.automaton.states();
        for at in self.touched.drain(..) {
            let bits = std::mem::take(&mut self.seen[at]);
            if search.automaton.accepts[at % states] {
                let vertex = at / states;
                if self.reached[vertex] == 0 {
                    self.targets.push(vertex as u32);
                }
                self.reached[vertex] |= bits;
            }
        }
        let mut any = 0;
        let first = found.words.len();
        for target in self.targets.drain(..) {
            let mut bits = std::mem::take(&mut self.reached[target as usize]);
            if search.targets.is_some_and(|targets| !targets.has(target)) {
                continue;
            }
            if search.is_loop {
                bits &= sources.binary_search(&target).map_or(0, |bit| 1 << bit);
            }
            any |= bits;
            match search.wanted {
                Sought::Count => found.count += u64::from(bits.count_ones()),
                Sought::Sources => {}
                Sought::Pairs => each_bit(bits, |bit| found.words.push(u64::from(sources[bit]) << 32 | u64::from(target))),
            }
        }
        match search.wanted {
            Sought::Pairs => {
                found.words[first..].sort_unstable();
                found.count += (found.words.len() - first) as u64;
            }
            Sought::Sources => {
                each_bit(any, |bit| found.words.push(sources[bit].into()));
                found.count += (found.words.len() - first) as u64;
            }
            Sought::Count => {}
        }
    }
}

/// A search from one source, kept for the next one.
#[derive(Default)]
struct Alone {
    /// For each product vertex, the number of the search that reached it last.
    reached: Vec<u32>,
    number: u32,
    frontier: Vec<(u32, u32)>,
    targets: Vec<u32>,
}

/// Targets that are gathered before those that came twice are dropped.
const TARGETS_AT_ONCE: usize = 1 << 16;

impl Alone {
    fn bytes(automaton: &Automaton, vertices: usize) -> usize {
        vertices * automaton.states() * size_of::<u32>()
    }

    fn search(
        &mut self,
        search: &PathSearch<'_>,
        source: u32,
        known: &Neighbours,
        vertices: usize,
        limits: &ReadContext,
        found: &mut Found,
    ) -> Result<()> {
        let PathSearch { automaton, .. } = search;
        let states = automaton.states();
        self.reached.resize(vertices * states, 0);
        self.number = self.number.wrapping_add(1);
        if self.number == 0 {
            self.reached.fill(0);
            self.number = 1;
        }
        self.frontier.push((source, automaton.start));
        if automaton.takes_nothing() {
            self.targets.push(source);
        }
        let (mut steps, mut targets_max) = (0_usize, TARGETS_AT_ONCE);
        while let Some((vertex, state)) = self.frontier.pop() {
            if steps.is_multiple_of(CHECK_EVERY) {
                limits.check()?;
            }
            steps += 1;
            if self.targets.len() > targets_max {
                self.targets.sort_unstable();
                self.targets.dedup();
                targets_max = 2 * self.targets.len() + TARGETS_AT_ONCE;
                limits.budget.fits(size_of_val(&self.targets[..]) + size_of_val(&found.words[..]))?;
            }
            for (symbol, to) in &automaton.moves[state as usize] {
                let neighbours = known.of(*symbol, vertex);
                if automaton.accepts[*to as usize] {
                    self.targets.extend_from_slice(neighbours);
                }
                if automaton.moves[*to as usize].is_empty() {
                    continue;
                }
                for neighbour in neighbours {
                    let reached = &mut self.reached[*neighbour as usize * states + *to as usize];
                    if *reached != self.number {
                        *reached = self.number;
                        self.frontier.push((*neighbour, *to));
                    }
                }
            }
        }
        self.targets.sort_unstable();
        self.targets.dedup();
        let counts = |target: &u32| {
            search.targets.is_none_or(|targets| targets.has(*target)) && (!search.is_loop || *target == source)
        };
        let before = found.words.len();
        match search.wanted {
            Sought::Count => found.count += self.targets.iter().filter(|target| counts(target)).count() as u64,
            Sought::Sources => found.words.extend(self.targets.iter().any(counts).then_some(u64::from(source))),
            Sought::Pairs => {
                let of_source = self.targets.iter().filter(|target| counts(target));
                found.words.extend(of_source.map(|target| u64::from(source) << 32 | u64::from(*target)));
            }
        }
        found.count += (found.words.len() - before) as u64;
        self.targets.clear();
        Ok(())
    }
}

fn each_bit(mut bits: u64, mut f: impl FnMut(usize)) {
    while bits != 0 {
        f(bits.trailing_zeros() as usize);
        bits &= bits - 1;
    }
}
