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
//! comes a barrier that has [`Parts`], with nothing in between that sees the order. `repeat().times(n)` becomes `n` times its stages.

use super::facts::Gives;
use super::fragment::partial;
use super::locate::{Stand, is_near, of_run};
use super::order::ignores_order;
use super::outline::outline;
use super::parts::{Parts, hide_keys};
use super::{Emit, Repeat, Scope, Step, StepNode, Traversal, Until};

/// The most stages, unrolled repeats included.
const STAGES_MAX: usize = 256;
/// The most steps of all stages, with those of their children.
const STEPS_MAX: usize = 1024;

/// Steps that traversers take from node to node.
pub struct Mesh<'a> {
    pub steps: &'a [StepNode],
    /// The step behind them, if nodes do part of its work.
    pub barrier: Option<&'a StepNode>,
}

/// What all nodes do, one after the other.
#[derive(Clone, Debug)]
pub enum Stage {
    /// Steps that read what is stored with an element. With a scan, they begin with what it finds at each node. A partial step may end
    /// the last one.
    Run { scan: Option<Box<StepNode>>, steps: Vec<StepNode>, partial: Option<Box<StepNode>> },
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
        let found = steps.iter().enumerate().find_map(|(at, node)| Some((at, Parts::of(&node.step)?)));
        let (end, parts) = found.filter(|(end, _)| steps[..*end].iter().all(|node| ignores_order(&node.step)))?;
        let mut walk = Walk::default();
        let length = steps[..end].iter().take_while(|node| walk.takes(node)).count();
        let is_whole = length == end && walk.ends(&steps[end].step);
        // Otherwise traversers would come back in another order, which only some barriers do not see.
        if !is_whole && parts != Parts::Any || parts.is_map() && !hide_keys(&steps[end + 1..]) {
            return None;
        }
        let barrier = steps.get(length).filter(|node| is_whole || is_plain_dedup(&node.step));
        let scans = matches!(walk.stages.first(), Some(Stage::Run { scan: Some(_), .. }));
        // Otherwise nothing is left to do at another node than the first.
        let is_worth_it = walk.exchanges() > 0 || scans && is_whole;
        is_worth_it.then_some(Self { steps: &steps[..length], barrier })
    }

    /// The steps of a node.
    pub fn traversal(&self) -> Traversal {
        Traversal { steps: self.steps.iter().cloned().chain(self.barrier.map(partial)).collect() }
    }

    /// How the parts of the barrier become one.
    pub fn parts(&self) -> Option<Parts> {
        self.barrier.and_then(|node| Parts::of(&node.step))
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

/// What the nodes do of a step.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Meshed {
    #[default]
    No,
    /// Traversers take it from node to node.
    Taken,
    /// Each node does its part of it.
    InParts,
}

/// What the nodes do of each step, in the order of the [`outline`].
pub fn in_mesh(traversal: &Traversal, moved_min: f64) -> Vec<Meshed> {
    let mesh = at_start(&traversal.steps, moved_min);
    let (taken, in_parts) = mesh.map_or((0..0, None), |(first, mesh)| {
        let end = first + mesh.steps.len();
        (first..end, mesh.barrier.map(|_| end))
    });
    let mut marks = Vec::new();
    for (at, node) in traversal.steps.iter().enumerate() {
        let mark = match at {
            at if taken.contains(&at) => Meshed::Taken,
            at if in_parts == Some(at) => Meshed::InParts,
            _ => Meshed::No,
        };
        marks.extend(std::iter::repeat_n(mark, rows(node)));
    }
    marks
}

/// The number of a step and the steps below it.
fn rows(node: &StepNode) -> usize {
    let mut below = 0;
    node.step.for_each_child(&mut |child| below += outline(child).len());
    1 + below
}

/// The stages of steps that [`Mesh::traversal`] gave; `None` for other steps.
pub fn stages(steps: &[StepNode]) -> Option<Vec<Stage>> {
    let (last, before) = steps.split_last()?;
    let barrier = barrier_of(last);
    let steps = if barrier.is_some() { before } else { steps };
    let mut walk = Walk::default();
    if !steps.iter().all(|node| walk.takes(node)) {
        return None;
    }
    if let Some(barrier) = barrier {
        if !walk.ends(barrier) {
            return None;
        }
        walk.partial(last);
    }
    Some(walk.stages)
}

/// The barrier of a partial step, if it is one that [`Mesh`] splits.
fn barrier_of(node: &StepNode) -> Option<&Step> {
    match &node.step {
        Step::Partial(of) => match &of.steps[..] {
            [StepNode { step, .. }] => Some(step).filter(|step| Parts::of(step).is_some() || is_plain_dedup(step)),
            _ => None,
        },
        _ => None,
    }
}

fn is_plain_dedup(step: &Step) -> bool {
    match step {
        Step::Dedup { labels, by, scope: Scope::Global } => labels.is_empty() && by.is_empty(),
        _ => false,
    }
}

/// Goes through the steps, and makes their stages.
struct Walk {
    stages: Vec<Stage>,
    /// The steps of all stages, with those below them.
    steps: usize,
    stand: Stand,
    /// Whether the traversers stand on vertices or edges.
    on_elements: bool,
    /// The number of the next `dedup()` of a repeat.
    seen: usize,
}

impl Default for Walk {
    fn default() -> Self {
        Self { stages: Vec::new(), steps: 0, stand: Stand::Here, on_elements: true, seen: 0 }
    }
}

impl Walk {
    fn exchanges(&self) -> usize {
        self.stages.iter().filter(|stage| matches!(stage, Stage::Exchange)).count()
    }

    fn fits(&self) -> bool {
        self.stages.len() <= STAGES_MAX && self.steps <= STEPS_MAX
    }

    /// Takes the next step, if it can. Otherwise nothing changes.
    fn takes(&mut self, node: &StepNode) -> bool {
        let before = Self { stages: Vec::new(), ..*self };
        let (stages, last) = (self.stages.len(), self.last_run().map_or(0, |steps| steps.len()));
        let took = self.take(node, None) && self.fits();
        if !took {
            // A step only adds to the last run, or adds stages behind it.
            let mut kept = std::mem::take(&mut self.stages);
            kept.truncate(stages);
            *self = Self { stages: kept, ..before };
            self.last_run().into_iter().for_each(|steps| steps.truncate(last));
        }
        took
    }

    fn last_run(&mut self) -> Option<&mut Vec<StepNode>> {
        match self.stages.last_mut() {
            Some(Stage::Run { steps, .. }) => Some(steps),
            _ => None,
        }
    }

    /// Goes to where the barrier can read what it looks at. Returns false if that may be elsewhere.
    fn ends(&mut self, barrier: &Step) -> bool {
        // A sort reads the ids of elements.
        let reads = matches!(barrier, Step::Order { .. }) || !is_near(barrier, self.stand);
        if reads && self.on_elements {
            self.come_home();
        }
        is_near(barrier, self.stand)
    }

    /// Puts a partial step at the end.
    fn partial(&mut self, node: &StepNode) {
        if self.last_run().is_none() {
            self.stages.push(Stage::Run { scan: None, steps: Vec::new(), partial: None });
        }
        if let Some(Stage::Run { partial, .. }) = self.stages.last_mut() {
            *partial = Some(Box::new(node.clone()));
        }
    }

    /// `seen` is the number of a `dedup()`, if it is in a repeat.
    fn take(&mut self, node: &StepNode, seen: Option<usize>) -> bool {
        match &node.step {
            Step::Scan { ids: None, .. } if self.stages.is_empty() && seen.is_none() => {
                self.steps += rows(node);
                self.stages.push(Stage::Run { scan: Some(Box::new(node.clone())), steps: Vec::new(), partial: None });
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
        self.steps += rows(node);
        match self.last_run() {
            Some(steps) => steps.push(node.clone()),
            None => self.stages.push(Stage::Run { scan: None, steps: vec![node.clone()], partial: None }),
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
            if !self.on_elements || !self.fits() {
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
