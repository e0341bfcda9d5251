//! Which steps traversers take from node to node.
//!
//! ```text
//!   V('a') ─▶ │ out() ─▶ dedup() ─▶ out() ─▶ dedup() ─▶ count() │
//!             └ run ─ exchange ─ once ─ run ─ exchange ─ once ─ partial count ─▶ count() at the client
//! ```
//! After each hop, [`locate`](super::locate) lets the results come back to the query. If nobody can see the order of traversers, they
//! need not: each goes on at the node that has its element (Grasper, SoCC'19, §4-5). A *stage* is a run of steps that read only what
//! is stored with the element, or an exchange between nodes.
//!
//! The steps come from the beginning of the query. They treat each traverser by itself, or remove duplicates of elements. Behind them
//! comes a step that does not see the order, with nothing in between that does. `repeat().times(n)` becomes `n` times its stages.

use super::facts::Gives;
use super::fragment::partial;
use super::locate::{Stand, of_run};
use super::order::{forgets_order, ignores_order};
use super::outline::outline;
use super::{Emit, Reduction, Repeat, Scope, Step, StepNode, Traversal, Until};

/// The most stages, unrolled repeats included.
const STAGES_MAX: usize = 256;

/// Steps that traversers take from node to node.
pub struct Mesh<'a> {
    pub steps: &'a [StepNode],
    /// The step behind them, if nodes do part of its work.
    pub barrier: Option<&'a StepNode>,
}

/// What all nodes do, one after the other.
#[derive(Clone, Debug)]
pub enum Stage {
    /// Steps that read what is stored with an element. With a scan, they begin with what it finds at each node.
    Run { scan: Option<StepNode>, steps: Vec<StepNode> },
    /// Traversers go to the nodes that have their elements.
    Exchange,
    /// Each element goes on once. In a repeat, a number names what earlier rounds have seen.
    Once { seen: Option<usize> },
    /// A copy of each traverser waits until the repeat ends.
    Keep,
    /// Those that have waited go on.
    Join,
}

/// The steps of a query that go from node to node, and the place of the first, if at least so many traversers are expected to move.
pub fn at_start(steps: &[StepNode], moved_min: f64) -> Option<(usize, Mesh<'_>)> {
    let first = match &steps.first()?.step {
        Step::Scan { ids: None, .. } => 0,
        Step::Scan { ids: Some(_), .. } => 1,
        _ => return None,
    };
    // A scan behind others would begin once for each of them.
    if first > 0 && matches!(steps.get(first).map(|node| &node.step), Some(Step::Scan { .. })) {
        return None;
    }
    let mesh = Mesh::leading(&steps[first..]).filter(|mesh| moved(mesh.steps) >= moved_min);
    mesh.map(|mesh| (first, mesh))
}

impl<'a> Mesh<'a> {
    fn leading(steps: &'a [StepNode]) -> Option<Self> {
        let end = steps.iter().position(|node| forgets_order(&node.step) || adds_up(&node.step))?;
        if !steps[..end].iter().all(|node| ignores_order(&node.step)) {
            return None;
        }
        let mut walk = Walk::default();
        let length = steps[..end].iter().take_while(|node| walk.takes(node)).count();
        // They would come back in another order, which a sum of floating-point numbers sees.
        if length != end && adds_up(&steps[end].step) {
            return None;
        }
        let barrier = steps.get(length).filter(|node| length == end || is_plain_dedup(&node.step));
        let scans = matches!(walk.stages.first(), Some(Stage::Run { scan: Some(_), .. }));
        // Otherwise nothing is left to do at another node than the first.
        let is_worth_it = walk.exchanges() > 0 || scans && length == end;
        is_worth_it.then_some(Self { steps: &steps[..length], barrier })
    }

    /// The steps of a node.
    pub fn traversal(&self) -> Traversal {
        Traversal { steps: self.steps.iter().cloned().chain(self.barrier.map(partial)).collect() }
    }
}

/// The estimate of the traversers that move at the widest place; 0 if the plan has no estimates.
fn moved(steps: &[StepNode]) -> f64 {
    let of = |node: &StepNode| match &node.step {
        Step::Repeat(repeat) => moved(&repeat.body.steps).max(node.estimate.unwrap_or_default()),
        _ => node.estimate.unwrap_or_default(),
    };
    steps.iter().map(of).fold(0.0, f64::max)
}

/// For each step, in the order of the [`outline`], whether traversers take it from node to node.
pub fn in_mesh(traversal: &Traversal, moved_min: f64) -> Vec<bool> {
    let mesh = at_start(&traversal.steps, moved_min);
    let steps = mesh.map_or(0..0, |(first, mesh)| first..first + mesh.steps.len());
    let mut marks = Vec::new();
    for (at, node) in traversal.steps.iter().enumerate() {
        let rows = outline(&Traversal { steps: vec![node.clone()] }).len();
        marks.extend(std::iter::repeat_n(steps.contains(&at), rows));
    }
    marks
}

/// The stages of steps that [`Mesh::traversal`] gave; `None` for other steps.
pub fn stages(steps: &[StepNode]) -> Option<Vec<Stage>> {
    let (last, before) = steps.split_last()?;
    let (partial, steps) = match &last.step {
        Step::Partial(of) if is_split(of) => (Some(last), before),
        _ => (None, steps),
    };
    let mut walk = Walk::default();
    if !steps.iter().all(|node| walk.takes(node)) {
        return None;
    }
    partial.into_iter().for_each(|node| walk.run(node));
    Some(walk.stages)
}

/// Whether the barrier is one that [`Mesh`] splits.
fn is_split(of: &Traversal) -> bool {
    match &of.steps[..] {
        [StepNode { step, .. }] => forgets_order(step) || adds_up(step) || is_plain_dedup(step),
        _ => false,
    }
}

/// Whether the step adds numbers up. Only a sum of integers is the same for every order.
pub fn adds_up(step: &Step) -> bool {
    matches!(step, Step::Reduce { reduction: Reduction::Sum | Reduction::Mean, scope: Scope::Global })
}

fn is_plain_dedup(step: &Step) -> bool {
    match step {
        Step::Dedup { labels, by, scope: Scope::Global } => labels.is_empty() && by.is_empty(),
        _ => false,
    }
}

/// Goes through the steps, and makes their stages.
#[derive(Clone)]
struct Walk {
    stages: Vec<Stage>,
    stand: Stand,
    /// Whether the traversers stand on vertices or edges.
    on_elements: bool,
    /// The number of the next `dedup()` of a repeat.
    seen: usize,
}

impl Default for Walk {
    fn default() -> Self {
        Self { stages: Vec::new(), stand: Stand::Here, on_elements: true, seen: 0 }
    }
}

impl Walk {
    fn exchanges(&self) -> usize {
        self.stages.iter().filter(|stage| matches!(stage, Stage::Exchange)).count()
    }

    /// Takes the next step, if it can. Otherwise nothing changes.
    fn takes(&mut self, node: &StepNode) -> bool {
        let before = self.clone();
        let took = self.take(node, None) && self.stages.len() <= STAGES_MAX;
        if !took {
            *self = before;
        }
        took
    }

    /// `seen` is the number of a `dedup()`, if it is in a repeat.
    fn take(&mut self, node: &StepNode, seen: Option<usize>) -> bool {
        match &node.step {
            Step::Scan { ids: None, .. } if self.stages.is_empty() && seen.is_none() => {
                self.stages.push(Stage::Run { scan: Some(node.clone()), steps: Vec::new() });
                true
            }
            // Equal traversers are merged anyway.
            Step::Barrier { .. } => true,
            step if is_plain_dedup(step) => {
                self.come_home();
                self.stages.push(Stage::Once { seen });
                self.on_elements
            }
            Step::Repeat(repeat) => seen.is_none() && self.repeat(repeat),
            step => {
                if of_run(step, self.stand).is_none() && self.on_elements {
                    self.come_home();
                }
                let Some((stand, _)) = of_run(step, self.stand) else { return false };
                self.run(node);
                self.stand = stand;
                self.on_elements = match step {
                    Step::Hop { .. } | Step::End(_) => true,
                    step => self.on_elements && step.facts().gives == Gives::Same,
                };
                true
            }
        }
    }

    fn run(&mut self, node: &StepNode) {
        match self.stages.last_mut() {
            Some(Stage::Run { steps, .. }) => steps.push(node.clone()),
            _ => self.stages.push(Stage::Run { scan: None, steps: vec![node.clone()] }),
        }
    }

    /// From now on, traversers are where their elements are.
    fn come_home(&mut self) {
        if self.stand == Stand::Away {
            self.stages.push(Stage::Exchange);
            self.stand = Stand::Here;
        }
    }

    /// Takes the rounds of a repeat. Those of a repeat within it would need a number that counts both.
    fn repeat(&mut self, repeat: &Repeat) -> bool {
        let Repeat { body, until: Some(Until::Times(times)), until_first: false, goal: None, .. } = repeat else {
            return false;
        };
        let emits = match &repeat.emit {
            None => false,
            Some(Emit::Always) => true,
            Some(Emit::Child(_)) => return false,
        };
        if !(1..=STAGES_MAX as u64).contains(times) {
            return false;
        }
        let first_seen = self.seen;
        self.seen += body.steps.len();
        for round in 0..*times {
            if emits && (repeat.emit_first || round > 0) {
                self.come_home();
                self.stages.push(Stage::Keep);
            }
            if !body.steps.iter().zip(first_seen..).all(|(node, seen)| self.take(node, Some(seen))) {
                return false;
            }
            if !self.on_elements || self.stages.len() > STAGES_MAX {
                return false;
            }
        }
        if emits {
            self.come_home();
            self.stages.push(Stage::Join);
        }
        true
    }
}
