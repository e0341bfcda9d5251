//! Fragments: runs of steps that helpers work on, each with a part of the traversers.
//!
//! ```text
//!   before ──▶ │ hop · has · values · partial sum │ ──▶ sum ──▶ …
//!              └──────────── fragment ────────────┘
//! ```
//! A step of a fragment treats each traverser on its own, so a helper needs the traversers, the steps and a view, and nothing else.
//! If a barrier follows, the fragment ends with its *partial* step. This makes fewer traversers of a batch, and the barrier makes
//! the same of them: one traverser with the count as bulk for `count()`, one for each key for `groupCount()`. So a partial state is
//! a batch like any other, and merging is what the barrier does anyway.
//!
//! A helper in this process may read any part of the graph. One in another process should read only the element it was given a
//! traverser for, which it keeps (Grasper, SoCC'19, §4.3): see [`Reach`].

use super::facts::{Flow, Gives, Order, Reads, Rows, Writes};
use super::{By, GroupValue, Scope, SortOrder, Step, StepNode, Traversal};

/// What makes the result of a step depend on more than the traverser and the graph.
const ELSEWHERE: Reads = Reads::LOOPS.and(Reads::SACK).and(Reads::EFFECTS).and(Reads::CHANCE);
/// What is stored with the element a traverser stands on.
const STORED: Reads = Reads::OWN.and(Reads::EDGES);
/// What takes a traverser back to an element it stood on before.
const BACK: Reads = Reads::LABELS.and(Reads::PATH).and(Reads::LAST);

/// What a helper may read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Reach {
    /// Any part of the graph.
    Graph,
    /// The element that the traverser stands on when it comes.
    Element,
}

/// Steps that helpers run together.
pub struct Fragment<'a> {
    pub steps: &'a [StepNode],
    /// The barrier behind them, if helpers run its partial step.
    pub barrier: Option<&'a StepNode>,
}

impl<'a> Fragment<'a> {
    /// The fragment that the steps begin with; `None` if the first step is none for helpers, or if nothing in it is worth the work of
    /// another thread.
    pub fn leading(steps: &'a [StepNode], reach: Reach) -> Option<Self> {
        // A step that makes many of few runs by itself if it is light. Then the steps after it are handed out, traverser by traverser.
        let opens = steps.first().is_some_and(|first| first.step.facts().rows == Rows::Many && !is_heavy(&first.step));
        let (run, after) = steps.split_at(if opens { 0 } else { run_length(steps, reach) });
        // If a limit comes before the next barrier, work ahead of it may be wasted.
        let before_barrier = after.iter().map(|node| &node.step).take_while(|step| !step.is_barrier());
        if before_barrier.into_iter().any(|step| step.facts().order == Order::Counts) {
            return None;
        }
        let barrier = after.first().filter(|node| !opens && has_partial(&node.step) && is_within(node, run, reach));
        let is_worth_it = run.iter().any(|node| is_heavy(&node.step))
            || barrier.is_some_and(|node| reads_keys(&node.step) || node.step.has_children());
        is_worth_it.then_some(Self { steps: run, barrier })
    }

    /// The steps of a helper.
    pub fn traversal(&self) -> Traversal {
        Traversal { steps: self.steps.iter().cloned().chain(self.barrier.map(partial)).collect() }
    }
}

/// The partial step of a barrier.
pub(super) fn partial(barrier: &StepNode) -> StepNode {
    let of = Traversal { steps: vec![StepNode { labels: Vec::new(), ..barrier.clone() }] };
    StepNode { step: Step::Partial(of), labels: Vec::new(), ..barrier.clone() }
}

/// The number of leading steps that a helper can run for one traverser after the other.
fn run_length(steps: &[StepNode], reach: Reach) -> usize {
    let (mut multiplied, mut moved) = (false, false);
    let fits = |node: &&StepNode| {
        let multiplies = node.step.facts().rows == Rows::Many;
        let is_near = reach == Reach::Graph || stays_near(&node.step, &mut moved);
        is_near && is_independent(&node.step) && !(multiplies && std::mem::replace(&mut multiplied, true))
    };
    steps.iter().take_while(fits).count()
}

/// Whether the partial step of a barrier may read what its modulators ask for, after `run`.
fn is_within(barrier: &StepNode, run: &[StepNode], reach: Reach) -> bool {
    let mut moved = false;
    reach == Reach::Graph || run.iter().chain([barrier]).all(|node| stays_near(&node.step, &mut moved))
}

/// Whether the step and its children read only the element that the traverser came with. `moved` says whether it stands on another
/// one.
fn stays_near(step: &Step, moved: &mut bool) -> bool {
    let facts = step.facts();
    let goes_back = facts.reads.any_of(BACK);
    let is_away = *moved || goes_back;
    let mut is_near = !facts.reads.any_of(Reads::GRAPH) && !(is_away && (facts.reads.any_of(STORED) || reads_keys(step)));
    let mut goes = goes_back || facts.gives == Gives::Elements;
    step.for_each_child(&mut |child| {
        let mut below = is_away;
        is_near &= child.steps.iter().all(|node| stays_near(&node.step, &mut below));
        goes |= below;
    });
    *moved |= goes;
    is_near
}

/// Whether the step handles each traverser independently of the others, near the element that the traverser stands on.
fn is_independent(step: &Step) -> bool {
    let facts = step.facts();
    facts.flow == Flow::Each && !facts.reads.any_of(Reads::GRAPH) && !looks_elsewhere(step) && children_are_alone(step)
}

fn children_are_alone(step: &Step) -> bool {
    let mut alone = true;
    step.for_each_child(&mut |child| alone &= !child.any(&|node| looks_elsewhere(&node.step)));
    alone
}

fn looks_elsewhere(step: &Step) -> bool {
    let facts = step.facts();
    facts.writes != Writes::NOTHING || facts.reads.any_of(ELSEWHERE)
}

/// Whether the step is heavy enough to hand over.
fn is_heavy(step: &Step) -> bool {
    step.facts().is_heavy || step.has_children()
}

/// Whether the barrier has a partial step.
pub(super) fn has_partial(step: &Step) -> bool {
    let splits = match step {
        Step::Reduce { scope: Scope::Global, .. } | Step::GroupCount { side_effect: None, .. } => true,
        Step::Dedup { scope: Scope::Global, .. } => true,
        Step::Order { by, limit: Some(_), scope: Scope::Global } => by.iter().all(|(_, order)| *order != SortOrder::Shuffle),
        Step::Group { side_effect: None, value: Some(GroupValue::Reduce(value)), .. } => reduces_each(value),
        _ => false,
    };
    splits && children_are_alone(step)
}

/// Whether the traversal reduces what it makes of each traverser.
fn reduces_each(value: &Traversal) -> bool {
    let Some((last, before)) = value.steps.split_last() else { return false };
    matches!(last.step, Step::Reduce { scope: Scope::Global, .. }) && before.iter().all(|node| is_independent(&node.step))
}

/// Whether a modulator of the step reads the element itself.
fn reads_keys(step: &Step) -> bool {
    let mut reads = false;
    step.for_each_by(&mut |by| reads |= matches!(by, By::Key(_) | By::Token(_)));
    reads
}
