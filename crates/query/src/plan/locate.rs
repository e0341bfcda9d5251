//! Which steps run at the nodes of a graph.
//!
//! ```text
//!   V('a') ─▶ out() ─▶ │ has('age') ─▶ where(outE('knows')) ─▶ values('name') │ ─▶ order()
//!                      └── one message to each node that has some of the vertices ──┘
//! ```
//! A query asks the shards step by step: each step that reads the store costs a round of messages. A *run* is a chain of steps that
//! takes one round instead. Its steps treat each traverser by itself, and read nothing but what is stored with the element that the
//! traverser stands on when it comes. A vertex is stored with its edges, and an edge with its source. A run has one hop at
//! most: what is stored with a neighbour may be elsewhere, so a neighbour begins another run.
//!
//! A query that begins with the ids of vertices begins with a run, if it is known which nodes have them: these look the vertices up. So does one
//! that begins with values that an index finds: the nodes search their shards.

use mangrove_graph::{Catalog, Direction, ElementKind, Predicate, PropertyId, Token, Value};

use super::facts::{Flow, Gives, Reads, Writes};
use super::{By, EndOf, HasKey, Name, Scope, Step, StepNode, Traversal};

/// Steps that read less often are as quick one by one.
const CALLS_MIN: usize = 2;
/// Of more vertices than this, the query looks the ids up itself.
const IDS_MAX: usize = 1 << 12;
/// Nodes do not look up more values than these, and refuse a lookup that finds more elements.
pub const FOUND_MAX: usize = 1 << 12;
/// What the message has not: other parts of the graph, where a traverser was, and what it shares with others.
const ELSEWHERE: Reads = Reads::GRAPH
    .and(Reads::PATH)
    .and(Reads::LAST)
    .and(Reads::LABELS)
    .and(Reads::LOOPS)
    .and(Reads::SACK)
    .and(Reads::EFFECTS)
    .and(Reads::PROCEDURE)
    .and(Reads::CHANCE);
const STORED: Reads = Reads::OWN.and(Reads::EDGES);

/// Where a traverser stands, as the node sees it that got the message.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Stand {
    /// On an element that is stored with the one it came with.
    Here,
    /// On anything else.
    Away,
}

/// The number of leading steps that are worth a message; 0 if they are none.
pub fn run_length(steps: &[StepNode]) -> usize {
    length_after(steps, 0)
}

/// The ids with which the steps begin, if the nodes that have these vertices may look them up: `V(ids)` without a label.
pub fn ids_at_start(steps: &[StepNode]) -> Option<&[Value]> {
    let StepNode { step: Step::Scan { kind, ids: Some(ids), labels: None, also, filters }, labels: names, .. } =
        steps.first()?
    else {
        return None;
    };
    let is_plain = *kind == ElementKind::Vertex && also.is_empty() && filters.is_empty() && names.is_empty();
    Some(&ids[..]).filter(|ids| is_plain && ids.len() <= IDS_MAX)
}

/// Elements of one label, by what they have.
#[derive(Clone, Copy)]
pub struct Lookup<'a> {
    pub kind: ElementKind,
    label: &'a Name,
    filters: &'a [(Name, Predicate)],
}

/// The lookup with which the steps begin, if nodes may do it where an index finds the elements.
pub fn lookup_at_start(steps: &[StepNode]) -> Option<Lookup<'_>> {
    let StepNode { step: Step::Scan { kind, ids: None, labels: Some(labels), also, filters }, labels: names, .. } =
        steps.first()?
    else {
        return None;
    };
    let [label] = &labels[..] else { return None };
    let is_plain = also.is_empty() && names.is_empty();
    is_plain.then_some(Lookup { kind: *kind, label, filters })
}

impl<'a> Lookup<'a> {
    /// The values to search for, if a filter lists them, and the key of the label or an index finds them. The one that finds the fewest elements, if
    /// that is known.
    pub fn sought(self, catalog: &dyn Catalog) -> Option<(PropertyId, &'a Predicate)> {
        let (schema, kind) = (catalog.schema(), self.kind);
        let label = schema.label(kind, self.label)?;
        let properties = schema.label_schema(kind, label)?;
        // An index lacks the vertices that carry the label as a further one.
        if kind == ElementKind::Vertex && schema.are_carried_elsewhere(&[label]) {
            return None;
        }
        let of = |(name, predicate): &'a (Name, Predicate)| {
            let key = properties.property(schema.key(name)?)?.key;
            let of = PropertyId { kind, label, key };
            let are_few = predicate.listed().is_some_and(|values| values.len() <= FOUND_MAX);
            (are_few && catalog.is_searchable(of, predicate)).then_some((of, predicate))
        };
        let found = self.filters.iter().filter_map(of);
        found.min_by_key(|(of, predicate)| schema.matches_max(*of, predicate).unwrap_or(u64::MAX))
    }
}

/// Whether some step takes the first traversers that come, and not all are needed before.
pub fn takes_first(steps: &[StepNode]) -> bool {
    let mut until = steps.iter().take_while(|node| node.step.facts().flow != Flow::Barrier);
    until.any(|node| matches!(node.step, Step::Range { high: Some(_), scope: Scope::Global, .. }))
}

/// The same as [`run_length`] for steps that begin with [ids](ids_at_start): to look them up is a call, too. A [lookup](lookup_at_start) is worth
/// a message by itself, because it asks several shards.
pub fn run_length_from_start(steps: &[StepNode]) -> usize {
    let behind = || length_after(&steps[1..], 1);
    match (ids_at_start(steps), lookup_at_start(steps)) {
        (Some(_), _) => Some(behind()).filter(|behind| *behind > 0).map_or(0, |behind| 1 + behind),
        (None, Some(_)) => 1 + behind(),
        (None, None) => 0,
    }
}

/// The length of a run behind something that saves so many calls already.
fn length_after(steps: &[StepNode], saved: usize) -> usize {
    let (mut stand, mut has_hopped, mut calls, mut length) = (Stand::Here, false, saved, 0);
    for (at, node) in steps.iter().enumerate() {
        let hops = matches!(node.step, Step::Hop { .. });
        let Some((after, more)) = of_run(&node.step, stand).filter(|_| !(hops && has_hopped)) else { break };
        if at == 0 && calls + more == 0 {
            return 0;
        }
        (stand, has_hopped, calls) = (after, has_hopped || hops, calls + more);
        // What neither reads nor drops is done where the results go.
        if more > 0 || node.step.is_filter() {
            length = at + 1;
        }
    }
    if calls < CALLS_MIN { 0 } else { length }
}

/// Whether a node may run these steps for somebody else.
pub fn is_run(steps: &[StepNode]) -> bool {
    let next = |stand, node: &StepNode| of_run(&node.step, stand).map(|(after, _)| after);
    steps.iter().try_fold(Stand::Here, next).is_some()
}

/// For each step, in the order of the [`outline`](super::outline::outline), whether it is in a run. The first run may begin with ids or a lookup.
pub fn in_runs(traversal: &Traversal, from_start: bool) -> Vec<bool> {
    let (mut marks, first) = (Vec::new(), if from_start { run_length_from_start(&traversal.steps) } else { 0 });
    mark(traversal, first, true, false, &mut marks);
    marks
}

/// `left` steps are in a run that is known already.
fn mark(traversal: &Traversal, mut left: usize, has_runs: bool, is_inside: bool, marks: &mut Vec<bool>) {
    for (at, node) in traversal.steps.iter().enumerate() {
        if has_runs && left == 0 {
            left = run_length(&traversal.steps[at..]);
        }
        let is_in = is_inside || left > 0;
        left = left.saturating_sub(1);
        marks.push(is_in);
        node.step.for_each_child(&mut |child| {
            mark(child, 0, has_runs && !is_in && has_chain_of_its_own(&node.step, child), is_in, marks);
        });
    }
}

/// Whether traversers go through this child as they go through the query: each once, and not to answer something about another one.
fn has_chain_of_its_own(step: &Step, child: &Traversal) -> bool {
    match step {
        Step::Union(_) => true,
        Step::Repeat(repeat) => std::ptr::eq(child, &repeat.body),
        _ => false,
    }
}

/// Where a step of a run leads, and how many calls of a view it saves; `None` if the run ends before it.
pub(super) fn of_run(step: &Step, stand: Stand) -> Option<(Stand, usize)> {
    let is_kept = match step {
        // Their results forget where they came from, or come in another order.
        Step::Local(_) | Step::Optional(_) | Step::Coalesce(_) | Step::SideEffect(_) => false,
        // Maps of properties go by column, which takes fewer bytes.
        Step::PropertyMap { .. } | Step::ElementMap { .. } => false,
        step => step.facts().flow == Flow::Each,
    };
    if is_kept { near(step, stand) } else { None }
}

/// The same for a step at any depth; `None` if it reads anything that may be elsewhere.
fn near(step: &Step, stand: Stand) -> Option<(Stand, usize)> {
    let facts = step.facts();
    let is_alone = facts.writes == Writes::NOTHING && !facts.reads.any_of(ELSEWHERE) && !asks_others(step);
    let reads = facts.reads.any_of(STORED) || reads_keys(step);
    if !is_alone || reads && stand == Stand::Away {
        return None;
    }
    let mut calls = Some(own_calls(step));
    step.for_each_child(&mut |child| {
        calls = calls.and_then(|sum| Some(sum + calls_of(&child.steps, stand)?));
    });
    Some((after(step, stand), calls?))
}

/// Whether a barrier and what modulates it read nothing that may be elsewhere.
pub(super) fn is_near(barrier: &Step, stand: Stand) -> bool {
    let facts = barrier.facts();
    let mut is_near = facts.writes == Writes::NOTHING && !facts.reads.any_of(ELSEWHERE);
    is_near &= stand == Stand::Here || !reads_keys(barrier);
    barrier.for_each_child(&mut |child| is_near &= calls_of(&child.steps, stand).is_some());
    is_near
}

fn calls_of(steps: &[StepNode], mut stand: Stand) -> Option<usize> {
    let mut sum = 0;
    for node in steps {
        let (after, calls) = near(&node.step, stand)?;
        (stand, sum) = (after, sum + calls);
    }
    Some(sum)
}

fn after(step: &Step, stand: Stand) -> Stand {
    match step {
        Step::Hop { direction: Direction::Out, to_edges: true, .. } => Stand::Here,
        Step::End(EndOf::Out) => stand,
        step if step.facts().gives == Gives::Same => stand,
        _ => Stand::Away,
    }
}

/// Whether the step may read what is stored with other elements than the one the traverser stands on.
fn asks_others(step: &Step) -> bool {
    match step {
        Step::Repeat(_) => true,
        // An edge has its properties with its source. The other end knows that it is there.
        Step::Hop { direction, filter: Some(_), .. } | Step::Degree { direction, filter: Some(_), .. } => {
            *direction != Direction::Out
        }
        Step::Project { .. } | Step::Math { .. } => false,
        step => reads_keys(step),
    }
}

/// The calls of a view that the step itself makes for a batch, at least.
fn own_calls(step: &Step) -> usize {
    let is_call = match step {
        Step::Hop { .. } | Step::Degree { .. } | Step::Values(_) | Step::Properties(_) | Step::Id | Step::Labels => true,
        Step::Has(tests) => tests.iter().any(|test| !matches!(test.key, HasKey::Label)),
        Step::HasProperty { .. } => true,
        Step::HasChild { key, .. } => !matches!(key, HasKey::Label),
        _ => false,
    };
    // Keys are read together, and ids by themselves.
    let of_keys = any_by(step, &|by| matches!(by, By::Key(_)));
    let of_ids = any_by(step, &|by| matches!(by, By::Token(Token::Id)));
    [is_call, of_keys, of_ids].into_iter().map(usize::from).sum()
}

/// Whether a modulator of the step reads elements.
fn reads_keys(step: &Step) -> bool {
    any_by(step, &|by| matches!(by, By::Key(_) | By::Token(_)))
}

fn any_by(step: &Step, test: &dyn Fn(&By) -> bool) -> bool {
    let mut found = false;
    step.for_each_by(&mut |by| found |= test(by));
    found
}
