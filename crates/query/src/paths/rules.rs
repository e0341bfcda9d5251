//! Runs rules: joins the atoms of each, and unites what the rules give.

use mangrove_graph::{
    Direction, ElementId, ElementKind, GraphView, Hop, LabelId, ReadContext, Scan, ScanCursor, Value, VertexId, record,
};

use super::automaton::{Alphabet, Automaton};
use super::chains;
use super::group;
use super::lists::{self, KeptLists, Lists};
use super::reach::{Found, PathSearch, Sought, Vertices};
use super::syntax::{Atom, End, PathRule};
use super::{PathAnswer, PathOptions};
use crate::diagnostics::{Span, suggest};
use crate::error::{QueryError, QueryErrorKind, Result};
use crate::options::Parameters;

/// Searches from given vertices give up after so many neighbours, and the query runs again over all vertices.
const ENTRIES_MET_MAX: u64 = 200_000;
/// Searches from more than this share of all vertices read all neighbours first, and use several threads.
const SHARE_MET_MAX: usize = 32;
/// So many sources are searched from one by one.
const FEW: usize = 64;

/// A rule with numbers for names.
struct Prepared<'r> {
    rule: &'r PathRule,
    atoms: Vec<PreparedAtom>,
    /// The vertices of constants. Their variables come after those of the rule.
    constants: Vec<VertexId>,
    /// Whether a constant names no vertex: the rule gives nothing.
    is_empty: bool,
}

struct PreparedAtom {
    source: usize,
    target: usize,
    forward: Automaton,
    backward: Automaton,
    is_recursive: bool,
}

pub fn run(
    rules: &[PathRule],
    width: usize,
    view: &dyn GraphView,
    parameters: &Parameters,
    options: &PathOptions,
    kept: &mut KeptLists,
) -> Result<PathAnswer> {
    let mut warnings = Vec::new();
    let mut alphabet = Alphabet::default();
    let mut prepared = Vec::with_capacity(rules.len());
    for rule in rules {
        options.limits.check()?;
        prepared.push(prepare(rule, view, parameters, &mut alphabet, &mut warnings)?);
    }
    let hops: Vec<Option<Hop>> = alphabet.symbols.iter().map(|symbol| hop(symbol, view)).collect();
    for (label, _) in &alphabet.symbols {
        warnings.extend(label.as_ref().and_then(|label| unknown(view, ElementKind::Edge, label)));
    }
    warnings.sort_unstable();
    warnings.dedup();
    let starts_somewhere = |rule: &Prepared<'_>| rule.is_empty || rule.is_connected();
    if !options.reads_all && prepared.iter().all(starts_somewhere) {
        let lists = Lists::of_met(view, &options.limits, hops.clone());
        let mut run = Run { view, options, lists };
        if let Some(mut answer) = run.union(&prepared, width)? {
            answer.warnings = warnings;
            return Ok(answer);
        }
    }
    let lists = Lists::of_all(view, &options.limits, hops, std::mem::take(kept))?;
    let mut run = Run { view, options, lists };
    let answer = run.union(&prepared, width)?.unwrap_or_default();
    *kept = run.lists.into_kept();
    Ok(PathAnswer { warnings, ..answer })
}

fn prepare<'r>(
    rule: &'r PathRule,
    view: &dyn GraphView,
    parameters: &Parameters,
    alphabet: &mut Alphabet,
    warnings: &mut Vec<String>,
) -> Result<Prepared<'r>> {
    let mut prepared = Prepared { rule, atoms: Vec::new(), constants: Vec::new(), is_empty: false };
    for label in rule.variables.iter().filter_map(|variable| variable.label.as_ref()) {
        warnings.extend(unknown(view, ElementKind::Vertex, &label.0));
    }
    for Atom { source, path, target } in &chains::joined(rule, view)? {
        let source = prepared.end(source, view, parameters, warnings)?;
        let target = prepared.end(target, view, parameters, warnings)?;
        prepared.atoms.push(PreparedAtom {
            source,
            target,
            forward: Automaton::new(path, alphabet)?,
            backward: Automaton::new(&path.reversed(), alphabet)?,
            is_recursive: path.is_recursive(),
        });
    }
    Ok(prepared)
}

impl Prepared<'_> {
    /// The variable of an end. A constant gets one of its own.
    fn end(
        &mut self,
        end: &End,
        view: &dyn GraphView,
        parameters: &Parameters,
        warnings: &mut Vec<String>,
    ) -> Result<usize> {
        let id = match end {
            End::Variable(at) => return Ok(*at),
            End::Id(id, _) => id,
            End::Parameter(name, span) => parameter(name, *span, parameters)?,
        };
        let vertex = match id {
            Value::Vertex(vertex) => view.contains(ElementId::Vertex(*vertex))?.then_some(*vertex),
            id => record::find_vertex(view, id)?,
        };
        if vertex.is_none() {
            warnings.push(format!("the graph has no vertex with the id {id}"));
            self.is_empty = true;
        }
        let vertex = vertex.unwrap_or(VertexId(0));
        let at = self.constants.iter().position(|known| *known == vertex).unwrap_or(self.constants.len());
        if at == self.constants.len() {
            self.constants.push(vertex);
        }
        Ok(self.rule.variables.len() + at)
    }

    /// Whether each atom can be searched from a constant, or from what atoms before it have found.
    fn is_connected(&self) -> bool {
        // A variable in the middle of a chain is in no atom.
        let mut bound = vec![true; self.rule.variables.len() + self.constants.len()];
        for end in self.atoms.iter().flat_map(|atom| [atom.source, atom.target]) {
            bound[end] = end >= self.rule.variables.len();
        }
        loop {
            let mut grew = false;
            for atom in &self.atoms {
                if bound[atom.source] != bound[atom.target] {
                    (bound[atom.source], bound[atom.target], grew) = (true, true, true);
                }
            }
            if !grew {
                return bound.iter().all(|bound| *bound);
            }
        }
    }
}

fn parameter<'p>(name: &str, span: Span, parameters: &'p Parameters) -> Result<&'p Value> {
    parameters.get(name).ok_or_else(|| {
        let message = format!("the parameter `${name}` has no value");
        QueryError::new(QueryErrorKind::Parameter, message).at(span).help(format!("pass it with the query, as in {name}=…"))
    })
}

/// What a symbol follows; `None` if no edge has the label.
fn hop((label, is_inverse): &super::automaton::Symbol, view: &dyn GraphView) -> Option<Hop> {
    let direction = if *is_inverse { Direction::In } else { Direction::Out };
    match label {
        None => Some(lists::hop(direction, None)),
        Some(name) => Some(lists::hop(direction, Some(vec![view.schema().label(ElementKind::Edge, name)?]))),
    }
}

/// A warning of a label that the graph does not have.
fn unknown(view: &dyn GraphView, kind: ElementKind, name: &str) -> Option<String> {
    let schema = view.schema();
    if schema.known_labels(kind).any(|(_, label)| *label.name == *name) {
        return None;
    }
    let near = suggest(name, schema.known_labels(kind).map(|(_, label)| &*label.name));
    let hint = near.map(|near| format!("; did you mean `{near}`?")).unwrap_or_default();
    Some(format!("the graph has no {} label `{name}`{hint}", kind.name()))
}

/// What the variables of some atoms are bound to.
struct Bindings {
    variables: Vec<usize>,
    /// `variables.len()` numbers for each row.
    values: Vec<u32>,
    rows: usize,
}

impl Bindings {
    fn column(&self, variable: usize) -> Option<usize> {
        self.variables.iter().position(|of| *of == variable)
    }

    fn row(&self, at: usize) -> &[u32] {
        let width = self.variables.len();
        &self.values[at * width..(at + 1) * width]
    }

    fn distinct(&self, column: usize) -> Vec<u32> {
        let mut values: Vec<u32> = (0..self.rows).map(|at| self.row(at)[column]).collect();
        values.sort_unstable();
        values.dedup();
        values
    }
}

struct Run<'v> {
    view: &'v dyn GraphView,
    options: &'v PathOptions,
    lists: Lists<'v>,
}

impl Run<'_> {
    fn limits(&self) -> &ReadContext {
        &self.options.limits
    }

    /// The rows of all rules; `None` if searches from constants have met too much.
    fn union(&mut self, rules: &[Prepared<'_>], width: usize) -> Result<Option<PathAnswer>> {
        if let ([rule], true) = (rules, self.options.counts)
            && let Some(rows) = self.count(rule)?
        {
            return Ok(Some(PathAnswer { rows, ..PathAnswer::default() }));
        }
        let mut values = Vec::new();
        let mut rows = 0;
        for rule in rules {
            let Some(mut found) = self.rule(rule)? else { return Ok(None) };
            rows += found.rows;
            values.append(&mut found.values);
        }
        if rules.len() > 1 {
            rows = distinct(&mut values, rows, width);
        }
        if self.options.counts {
            return Ok(Some(PathAnswer { rows: rows as u64, ..PathAnswer::default() }));
        }
        self.limits().budget.fits(values.len() * 12)?;
        let mut columns = vec![Vec::with_capacity(rows); width];
        values.chunks(width.max(1)).flat_map(|row| row.iter().enumerate()).for_each(|(column, number)| {
            columns[column].push(self.lists.vertex(*number));
        });
        if !self.lists.has_all() {
            sort_by_id(&mut columns, rows);
        }
        Ok(Some(PathAnswer { rows: rows as u64, columns, warnings: Vec::new() }))
    }

    /// The number of rows of a rule that asks for both ends of one path; `None` for other rules. No pair is kept.
    fn count(&mut self, rule: &Prepared<'_>) -> Result<Option<u64>> {
        let ([atom], 2, true) = (&rule.atoms[..], rule.rule.head.len(), self.lists.has_all()) else { return Ok(None) };
        if !rule.constants.is_empty() {
            return Ok(None);
        }
        let sources = self.all(rule, atom.source, &atom.forward)?;
        let targets = self.allowed(rule, atom.target)?;
        let found = self.search(&atom.forward, &sources, targets.as_ref(), false, Sought::Count)?;
        Ok(found.map(|found| found.count))
    }

    /// The rows of a rule, by its head, each once.
    fn rule(&mut self, rule: &Prepared<'_>) -> Result<Option<Bindings>> {
        let head = &rule.rule.head;
        if rule.is_empty {
            return Ok(Some(Bindings { variables: head.clone(), values: Vec::new(), rows: 0 }));
        }
        let variables: Vec<usize> = (0..rule.constants.len()).map(|at| rule.rule.variables.len() + at).collect();
        let mut values = Vec::with_capacity(variables.len());
        for vertex in &rule.constants {
            values.extend(self.lists.number(*vertex));
        }
        if values.len() < variables.len() {
            // A parameter may be a vertex that is gone.
            return Ok(Some(Bindings { variables: head.clone(), values: Vec::new(), rows: 0 }));
        }
        let mut bindings = Bindings { variables, values, rows: 1 };
        let mut left: Vec<&PreparedAtom> = rule.atoms.iter().collect();
        while !left.is_empty() {
            let next = self.cheapest(&left, &bindings)?;
            let atom = left.remove(next);
            let needed = |variable: usize| {
                head.contains(&variable) || left.iter().any(|atom| atom.source == variable || atom.target == variable)
            };
            let Some(joined) = self.join(rule, atom, bindings, &needed)? else { return Ok(None) };
            bindings = joined;
            if bindings.rows == 0 {
                break;
            }
        }
        Ok(Some(by_head(bindings, head)))
    }

    /// Which atom comes next: one with two ends that are bound, then one with one, then one whose paths have a
    /// bound, then the one that begins with the fewest edges.
    fn cheapest(&self, left: &[&PreparedAtom], bindings: &Bindings) -> Result<usize> {
        let statistics = self.view.statistics()?;
        let all = || self.view.schema().known_labels(ElementKind::Edge).map(|(label, _)| label).collect();
        let count = |symbol: u32| -> u64 {
            let labels: Vec<LabelId> = self.lists.labels(symbol).map_or_else(all, <[LabelId]>::to_vec);
            labels.iter().map(|label| statistics.count(ElementKind::Edge, *label)).sum()
        };
        let cost = |atom: &PreparedAtom| {
            let bound = [atom.source, atom.target].iter().filter(|of| bindings.column(**of).is_some()).count();
            let first = &atom.forward.moves[atom.forward.start as usize];
            (2 - bound, atom.is_recursive, first.iter().map(|(symbol, _)| count(*symbol)).sum::<u64>())
        };
        Ok((0..left.len()).min_by_key(|at| cost(left[*at])).unwrap_or(0))
    }

    /// Joins an atom to what is bound, and keeps the variables that are needed further on.
    fn join(
        &mut self,
        rule: &Prepared<'_>,
        atom: &PreparedAtom,
        bindings: Bindings,
        needed: &dyn Fn(usize) -> bool,
    ) -> Result<Option<Bindings>> {
        let (source, target) = (bindings.column(atom.source), bindings.column(atom.target));
        let is_loop = atom.source == atom.target;
        let turned = match (source, target) {
            // From the side that has fewer vertices.
            (Some(s), Some(t)) => bindings.distinct(t).len() < bindings.distinct(s).len(),
            (s, t) => s.is_none() && t.is_some(),
        };
        let (automaton, back, from, to, known) = match turned {
            true => (&atom.backward, &atom.forward, atom.target, atom.source, target),
            false => (&atom.forward, &atom.backward, atom.source, atom.target, source),
        };
        let sources = match known {
            Some(column) => bindings.distinct(column),
            None => self.all(rule, from, automaton)?,
        };
        let other = if is_loop { None } else { bindings.column(to) };
        let targets = match other {
            Some(column) => Some(Vertices::of(bindings.distinct(column))),
            None if is_loop || !self.lists.has_all() => None,
            None => self.allowed(rule, to)?,
        };
        // Of vertices that are met, only those that are reached are looked at.
        let label = if other.is_none() && !self.lists.has_all() { label_of(rule, to) } else { None };
        let is_free = !is_loop && other.is_none();
        if is_free && needed(to) && !needed(from) && !bindings.variables.iter().any(|variable| needed(*variable)) {
            // Nothing says any more from where a target was reached.
            let Some(mut values) = self.group(automaton, &sources, targets.as_ref())? else { return Ok(None) };
            if let Some(label) = label {
                let has = self.have_label(label, &values)?;
                let mut has = has.into_iter();
                values.retain(|_| has.next().unwrap_or(false));
            }
            let rows = values.len();
            return Ok(Some(Bindings { variables: vec![to], values, rows }));
        }
        let wanted = if is_loop || is_free && !needed(to) && label.is_none() { Sought::Sources } else { Sought::Pairs };
        let found = if is_free && wanted == Sought::Sources && self.lists.has_all() && sources.len() > FEW {
            // The vertices from which some target is reached are those that all targets together reach, gone backwards.
            let ends = self.all(rule, to, back)?;
            let starts = Vertices::of(sources.iter().copied());
            let found = self.group(back, &ends, Some(&starts))?;
            found.map(|found| Found { count: found.len() as u64, words: found.into_iter().map(u64::from).collect() })
        } else {
            self.search(automaton, &sources, targets.as_ref(), is_loop, wanted)?
        };
        let Some(mut found) = found else { return Ok(None) };
        if let Some(label) = label {
            let targets: Vec<u32> = found.words.iter().map(|pair| *pair as u32).collect();
            let mut has = self.have_label(label, &targets)?.into_iter();
            found.words.retain(|_| has.next().unwrap_or(false));
        }
        let lookups = if known.is_some() && wanted == Sought::Pairs { bindings.rows } else { 0 };
        let by_source = BySource::new(&found.words, lookups, self.lists.len());
        let held = found.words.len() * 8 + self.lists.bytes();
        let mut joined = Joined::new(&bindings, needed, [(from, known), (to, other)], is_loop, (&self.options.limits, held));
        for at in 0..bindings.rows {
            let row = bindings.row(at);
            let found = &found.words;
            match (known, wanted) {
                (Some(column), Sought::Sources) => {
                    if found.binary_search(&row[column].into()).is_ok() {
                        joined.push(row, row[column], None)?;
                    }
                }
                (Some(column), _) => {
                    let of = by_source.of(row[column]);
                    match other {
                        Some(other) => {
                            let pair = u64::from(row[column]) << 32 | u64::from(row[other]);
                            if of.binary_search(&pair).is_ok() {
                                joined.push(row, row[column], None)?;
                            }
                        }
                        None => of.iter().try_for_each(|pair| joined.push(row, row[column], Some(*pair as u32)))?,
                    }
                }
                // Nothing asks where it is, only whether there is one.
                (None, Sought::Sources) if !joined.takes_source => {
                    found.first().map_or(Ok(()), |source| joined.push(row, *source as u32, None))?;
                }
                (None, Sought::Sources) => found.iter().try_for_each(|source| joined.push(row, *source as u32, None))?,
                (None, _) => {
                    found.iter().try_for_each(|pair| joined.push(row, (pair >> 32) as u32, Some(*pair as u32)))?;
                }
            }
        }
        Ok(Some(joined.finish()))
    }

    /// The targets of some sources together.
    fn group(&mut self, automaton: &Automaton, sources: &[u32], targets: Option<&Vertices>) -> Result<Option<Vec<u32>>> {
        let entries_max = if self.lists.has_all() { u64::MAX } else { ENTRIES_MET_MAX };
        let found = group::targets_of(automaton, sources, &mut self.lists, &self.options.limits, entries_max)?;
        Ok(found.map(|mut found| {
            targets.into_iter().for_each(|targets| found.keep(targets));
            found.numbers()
        }))
    }

    fn search(
        &mut self,
        automaton: &Automaton,
        sources: &[u32],
        targets: Option<&Vertices>,
        is_loop: bool,
        wanted: Sought,
    ) -> Result<Option<Found>> {
        let limits = &self.options.limits;
        let search = PathSearch { automaton, sources, targets, is_loop, wanted };
        if !self.lists.has_all() {
            return Ok(search.run_met(&mut self.lists, limits, ENTRIES_MET_MAX)?);
        }
        if !self.options.reads_all && sources.len() * SHARE_MET_MAX <= self.lists.len() {
            return Ok(search.run_met(&mut self.lists, limits, u64::MAX)?);
        }
        for (symbol, _) in automaton.moves.iter().flatten() {
            self.lists.read_all(*symbol)?;
        }
        let threads = match self.options.threads {
            0 => std::thread::available_parallelism().map_or(1, Into::into),
            threads => threads,
        };
        Ok(Some(search.run_all(&self.lists, limits, threads)?))
    }

    /// All vertices that an automaton can start from and that have the label of a variable.
    fn all(&mut self, rule: &Prepared<'_>, variable: usize, automaton: &Automaton) -> Result<Vec<u32>> {
        let allowed = self.allowed(rule, variable)?;
        let passes = |number: &u32| allowed.as_ref().is_none_or(|allowed| allowed.has(*number));
        if automaton.takes_nothing() {
            return Ok((0..self.lists.len() as u32).filter(passes).collect());
        }
        let moves = &automaton.moves[automaton.start as usize];
        for (symbol, _) in moves {
            self.lists.read_all(*symbol)?;
        }
        let begins = |number: &u32| moves.iter().any(|(symbol, _)| !self.lists.known().of(*symbol, *number).is_empty());
        let ranges = || moves.iter().map(|(symbol, _)| self.lists.beginning(*symbol)).filter(|range| !range.is_empty());
        let start = ranges().map(|range| range.start).min().unwrap_or(0);
        let end = ranges().map(|range| range.end).max().unwrap_or(0);
        Ok((start..end).filter(passes).filter(begins).collect())
    }

    /// Which of some vertices have a label.
    fn have_label(&self, name: &str, numbers: &[u32]) -> Result<Vec<bool>> {
        let Some(label) = self.view.schema().label(ElementKind::Vertex, name) else { return Ok(vec![false; numbers.len()]) };
        let vertices: Vec<VertexId> = numbers.iter().map(|number| self.lists.vertex(*number)).collect();
        let mut further = Vec::with_capacity(vertices.len());
        self.view.all_further_labels(&vertices, &mut further)?;
        Ok(vertices.iter().zip(further).map(|(vertex, more)| vertex.label() == label || more.contains(&label)).collect())
    }

    /// The vertices that have the label of a variable; `None` if it has none.
    fn allowed(&mut self, rule: &Prepared<'_>, variable: usize) -> Result<Option<Vertices>> {
        let Some(name) = label_of(rule, variable) else { return Ok(None) };
        let Some(label) = self.view.schema().label(ElementKind::Vertex, name) else { return Ok(Some(Vertices::default())) };
        self.with_label(label).map(Some)
    }

    fn with_label(&mut self, label: LabelId) -> Result<Vertices> {
        let (mut found, mut cursor) = (Vec::new(), ScanCursor::default());
        let mut numbers = Vec::new();
        while !cursor.done {
            found.clear();
            self.view.scan_vertices(&Scan::of(label), &mut cursor, 8192, &mut found)?;
            for vertex in &found {
                numbers.extend(self.lists.number(*vertex));
            }
        }
        Ok(Vertices::of(numbers))
    }
}

/// The label that vertices of a variable must have.
fn label_of<'r>(rule: &Prepared<'r>, variable: usize) -> Option<&'r str> {
    rule.rule.variables.get(variable).and_then(|variable| variable.label.as_ref()).map(|(label, _)| &**label)
}

/// Pairs by their source.
struct BySource<'f> {
    pairs: &'f [u64],
    /// Where the pairs of each source begin; none if they are searched for.
    starts: Option<Vec<usize>>,
}

impl<'f> BySource<'f> {
    /// For so many lookups, among so many vertices.
    fn new(pairs: &'f [u64], lookups: usize, vertices: usize) -> Self {
        let starts = (lookups > 0 && lookups > vertices / 8).then(|| {
            let mut starts = vec![0; vertices + 1];
            pairs.iter().for_each(|pair| starts[(pair >> 32) as usize + 1] += 1);
            (1..starts.len()).for_each(|at| starts[at] += starts[at - 1]);
            starts
        });
        Self { pairs, starts }
    }

    fn of(&self, source: u32) -> &'f [u64] {
        if let Some(starts) = &self.starts {
            return &self.pairs[starts[source as usize]..starts[source as usize + 1]];
        }
        let start = self.pairs.partition_point(|pair| (pair >> 32) < u64::from(source));
        let count = self.pairs[start..].partition_point(|pair| (pair >> 32) == u64::from(source));
        &self.pairs[start..start + count]
    }
}

/// The rows of a join as they come.
struct Joined<'l> {
    limits: &'l ReadContext,
    /// The bytes that its inputs take.
    held: usize,
    /// The row at which it looks at the limits again.
    next_look: usize,
    variables: Vec<usize>,
    /// The columns of the rows before that stay.
    kept: Vec<usize>,
    takes_source: bool,
    takes_target: bool,
    values: Vec<u32>,
    rows: usize,
    /// Whether a variable was left out, so that rows may repeat.
    may_repeat: bool,
}

/// Rows between two looks at the limits.
const LOOK_EVERY: usize = 1 << 16;

impl<'l> Joined<'l> {
    fn new(
        before: &Bindings,
        needed: &dyn Fn(usize) -> bool,
        [(from, known), (to, other)]: [(usize, Option<usize>); 2],
        is_loop: bool,
        (limits, held): (&'l ReadContext, usize),
    ) -> Self {
        let kept: Vec<usize> = (0..before.variables.len()).filter(|at| needed(before.variables[*at])).collect();
        let mut variables: Vec<usize> = kept.iter().map(|at| before.variables[*at]).collect();
        let takes_source = known.is_none() && needed(from);
        let takes_target = !is_loop && other.is_none() && needed(to);
        variables.extend(takes_source.then_some(from));
        variables.extend(takes_target.then_some(to));
        let all = before.variables.len() + usize::from(known.is_none()) + usize::from(!is_loop && other.is_none());
        let may_repeat = variables.len() < all;
        Self {
            limits,
            held,
            next_look: 0,
            variables,
            kept,
            takes_source,
            takes_target,
            values: Vec::new(),
            rows: 0,
            may_repeat,
        }
    }

    fn push(&mut self, row: &[u32], source: u32, target: Option<u32>) -> mangrove_graph::Result<()> {
        if self.rows >= self.next_look {
            self.limits.check()?;
            // Growing may double it.
            self.limits.budget.fits(self.held + 2 * size_of_val(&self.values[..]))?;
            self.next_look = self.rows + LOOK_EVERY;
        }
        self.values.extend(self.kept.iter().map(|at| row[*at]));
        if self.takes_source {
            self.values.push(source);
        }
        if self.takes_target {
            self.values.extend(target);
        }
        self.rows += 1;
        Ok(())
    }

    fn finish(mut self) -> Bindings {
        if self.may_repeat {
            self.rows = distinct(&mut self.values, self.rows, self.variables.len());
        }
        Bindings { variables: self.variables, values: self.values, rows: self.rows }
    }
}

/// Rows with the columns of a head, each once, in order.
fn by_head(bindings: Bindings, head: &[usize]) -> Bindings {
    let columns: Vec<usize> = head.iter().filter_map(|variable| bindings.column(*variable)).collect();
    if bindings.rows == 0 || columns.len() < head.len() {
        return Bindings { variables: head.to_vec(), values: Vec::new(), rows: 0 };
    }
    let in_order = columns.iter().enumerate().all(|(at, column)| at == *column) && columns.len() == bindings.variables.len();
    let mut values = match in_order {
        true => bindings.values,
        false => (0..bindings.rows)
            .flat_map(|at| columns.iter().map(move |column| (at, *column)))
            .map(|(at, column)| bindings.values[at * bindings.variables.len() + column])
            .collect(),
    };
    let rows = distinct(&mut values, bindings.rows, head.len());
    Bindings { variables: head.to_vec(), values, rows }
}

/// Sorts rows and leaves each once. Returns how many there are. O(rows · log rows).
fn distinct(values: &mut Vec<u32>, rows: usize, width: usize) -> usize {
    match width {
        0 => return rows.min(1),
        1 => {
            values.sort_unstable();
            values.dedup();
        }
        2 => {
            let mut pairs: Vec<u64> =
                values.chunks_exact(2).map(|row| u64::from(row[0]) << 32 | u64::from(row[1])).collect();
            if !pairs.is_sorted_by(|a, b| a < b) {
                pairs.sort_unstable();
                pairs.dedup();
                *values = pairs.into_iter().flat_map(|pair| [(pair >> 32) as u32, pair as u32]).collect();
            }
        }
        _ => {
            let mut all: Vec<&[u32]> = values.chunks_exact(width).collect();
            all.sort_unstable();
            all.dedup();
            *values = all.concat();
        }
    }
    values.len() / width
}

fn sort_by_id(columns: &mut [Vec<VertexId>], rows: usize) {
    let mut order: Vec<usize> = (0..rows).collect();
    order.sort_unstable_by(|a, b| columns.iter().map(|of| of[*a]).cmp(columns.iter().map(|of| of[*b])));
    for column in columns.iter_mut() {
        *column = order.iter().map(|at| column[*at]).collect();
    }
}
