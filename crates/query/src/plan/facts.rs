//! What each step does: one row for each step. Rules, the compiler, the crew, the inference of shapes and `explain` read it here.
//!
//! The facts are about the step itself. Its children have facts of their own. The flow types are those of Grasper (Chen et al.,
//! SoCC'19, §4.3).

use mangrove_graph::{Map, Value};

use super::{EndOf, EndRef, Name, Pop, Reduction, Scope, Step};

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Facts {
    pub flow: Flow,
    pub rows: Rows,
    pub order: Order,
    pub reads: Reads,
    pub writes: Writes,
    pub gives: Gives,
    /// Worth the work of another thread, even without children.
    pub is_heavy: bool,
    /// Some traversers make it fail.
    pub may_fail: bool,
    /// Its child goes on with the traverser of the step, bulk included.
    pub hands_down: bool,
    /// Its modulators read columns of what comes in.
    pub modulates: bool,
}

/// How traversers pass through.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Flow {
    /// Each by itself.
    Each,
    /// As they come, but what becomes of one depends on those before it.
    Stream,
    /// All come in before one goes out.
    Barrier,
    /// The children take all of them together.
    Branch,
}

impl Flow {
    /// The name that `explain` shows.
    pub fn name(self) -> &'static str {
        match self {
            Flow::Each => "each",
            Flow::Stream => "stream",
            Flow::Barrier => "barrier",
            Flow::Branch => "branch",
        }
    }
}

/// How many traversers the step gives.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Rows {
    /// One for all its input.
    One,
    /// One for all its input, or none.
    OneOrNone,
    /// One for each.
    Same,
    /// One for each, or none.
    Fewer,
    /// Any number for each.
    Many,
}

/// What the order of the input does to the results.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Order {
    /// Another order of the input gives the same results in another order.
    Keeps,
    /// The order decides which of several traversers stays.
    Picks,
    /// The results depend on positions.
    Counts,
    /// The step makes an order of its own.
    Makes,
    /// The result is the same for every order. (A sum of doubles is not.)
    Forgets,
}

/// What the results are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Gives {
    /// Values that came in, as they came.
    Same,
    /// Parts of what came in; or what a child gives.
    Input,
    /// Vertices, edges or properties.
    Elements,
    /// Numbers, texts, times.
    Scalars,
    /// Values of properties. They may be lists or maps.
    Values,
    /// Maps whose keys the query does not name.
    Maps,
    Anything,
}

/// What a step looks at, beside the value of its traverser: a set of the constants.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Reads(u16);

impl Reads {
    pub const NOTHING: Self = Self(0);
    /// The element it stands on: id, labels, properties.
    pub const OWN: Self = Self(1);
    /// The edges of the vertex it stands on.
    pub const EDGES: Self = Self(1 << 1);
    /// Any part of the graph.
    pub const GRAPH: Self = Self(1 << 2);
    /// The objects of the path.
    pub const PATH: Self = Self(1 << 3);
    /// Where the traverser was before this step.
    pub const LAST: Self = Self(1 << 4);
    /// What `as()` named, or a side effect of that name.
    pub const LABELS: Self = Self(1 << 5);
    pub const LOOPS: Self = Self(1 << 6);
    pub const SACK: Self = Self(1 << 7);
    pub const EFFECTS: Self = Self(1 << 8);
    pub const RANDOM: Self = Self(1 << 9);
    pub const CLOCK: Self = Self(1 << 10);
    /// It runs a procedure.
    pub const PROCEDURE: Self = Self(1 << 11);
    /// What may give another result each time.
    pub const CHANCE: Self = Self::RANDOM.and(Self::CLOCK);

    pub const fn and(self, more: Self) -> Self {
        Self(self.0 | more.0)
    }

    pub const fn any_of(self, others: Self) -> bool {
        self.0 & others.0 != 0
    }

    pub const fn covers(self, others: Self) -> bool {
        others.0 & !self.0 == 0
    }

    const fn when(self, condition: bool) -> Self {
        if condition { self } else { Self::NOTHING }
    }
}

/// What a step changes: a set of the constants.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Writes(u16);

impl Writes {
    pub const NOTHING: Self = Self(0);
    /// Adds elements.
    pub const ADDS: Self = Self(1);
    /// Changes or removes elements.
    pub const CHANGES: Self = Self(1 << 1);
    pub const EFFECTS: Self = Self(1 << 2);
    pub const SACK: Self = Self(1 << 3);
    /// Ends the query with an error.
    pub const END: Self = Self(1 << 4);
    /// Gives vertices a property for the rest of the query.
    pub const COMPUTED: Self = Self(1 << 5);
    pub const GRAPH: Self = Self::ADDS.and(Self::CHANGES);

    pub const fn and(self, more: Self) -> Self {
        Self(self.0 | more.0)
    }

    pub const fn any_of(self, others: Self) -> bool {
        self.0 & others.0 != 0
    }
}

const EACH: Facts = Facts {
    flow: Flow::Each,
    rows: Rows::Same,
    order: Order::Keeps,
    reads: Reads::NOTHING,
    writes: Writes::NOTHING,
    gives: Gives::Input,
    is_heavy: false,
    may_fail: true,
    hands_down: false,
    modulates: false,
};
/// Gives one traverser for each, or none.
const FEWER: Facts = EACH.rows(Rows::Fewer);
const FILTER: Facts = FEWER.gives(Gives::Same);
const STREAM: Facts = Facts { flow: Flow::Stream, ..FILTER };
const BARRIER: Facts = Facts { flow: Flow::Barrier, ..EACH };
/// Lets traversers through once all are there.
const GATE: Facts = BARRIER.gives(Gives::Same);
const BRANCH: Facts = Facts { flow: Flow::Branch, ..EACH }.rows(Rows::Many);
/// Makes a scalar of the value, or nothing.
const SCALAR: Facts = FEWER.gives(Gives::Scalars);

impl Facts {
    const fn rows(self, rows: Rows) -> Self {
        Self { rows, ..self }
    }

    const fn many(self) -> Self {
        self.rows(Rows::Many)
    }

    const fn order(self, order: Order) -> Self {
        Self { order, ..self }
    }

    const fn reads(self, more: Reads) -> Self {
        Self { reads: self.reads.and(more), ..self }
    }

    const fn writes(self, more: Writes) -> Self {
        Self { writes: self.writes.and(more), ..self }
    }

    const fn gives(self, gives: Gives) -> Self {
        Self { gives, ..self }
    }

    const fn heavy(self) -> Self {
        Self { is_heavy: true, ..self }
    }

    const fn safe(self) -> Self {
        Self { may_fail: false, ..self }
    }

    const fn hands_down(self) -> Self {
        Self { hands_down: true, ..self }
    }

    const fn modulates(self) -> Self {
        Self { modulates: true, ..self }
    }
}

impl Step {
    /// The row of the step. O(1).
    pub fn facts(&self) -> Facts {
        match self {
            Step::Scan { .. } => EACH.many().reads(Reads::GRAPH).gives(Gives::Elements),
            Step::CountScan { .. } => EACH.rows(Rows::One).reads(Reads::GRAPH).gives(Gives::Scalars),
            Step::Inject(values) => STREAM.many().gives(of_values(values)),
            Step::Call(_) => EACH.many().reads(Reads::PROCEDURE.and(Reads::GRAPH)).gives(Gives::Anything),

            Step::ShortestPath(_) => EACH.many().reads(Reads::EDGES.and(Reads::GRAPH)).gives(Gives::Anything).heavy(),
            Step::Compute(_) => GATE.reads(Reads::EDGES.and(Reads::GRAPH)).writes(Writes::COMPUTED),
            Step::Hop { .. } => EACH.many().reads(Reads::EDGES).gives(Gives::Elements).heavy().safe(),
            Step::End(end) => EACH.many().reads(Reads::LAST.when(matches!(end, EndOf::Other))).gives(Gives::Elements).safe(),
            Step::Degree { .. } => EACH.reads(Reads::EDGES).gives(Gives::Scalars).safe(),

            Step::Has(_) => FILTER.reads(Reads::OWN).heavy().safe(),
            Step::HasProperty { .. } => FILTER.reads(Reads::OWN).safe(),
            Step::HasChild { .. } | Step::HasKeyOf(_) | Step::HasValueOf(_) => FILTER.reads(Reads::OWN),
            Step::Is(_) | Step::Where { .. } | Step::SemiJoin { .. } | Step::And(_) | Step::Or(_) | Step::Discard => {
                FILTER.safe()
            }
            Step::WhereLabels { .. } => FILTER.reads(Reads::LABELS.and(Reads::OWN)),
            Step::ListFilter { .. } => FILTER,
            Step::Dedup { scope: Scope::Local, by, .. } => EACH.order(picks(by)).safe(),
            Step::Dedup { labels, by, .. } if labels.is_empty() => STREAM.order(picks(by)).modulates().safe(),
            Step::Dedup { .. } => STREAM.order(Order::Picks).reads(Reads::LABELS).safe(),
            Step::Range { scope: Scope::Local, .. } => FEWER.safe(),
            Step::Range { .. } => STREAM.order(Order::Counts).safe(),
            Step::Tail { scope: Scope::Local, .. } => FEWER,
            Step::Tail { .. } => GATE.rows(Rows::Fewer).order(Order::Counts),
            Step::Coin(_) => FILTER.reads(Reads::RANDOM),
            Step::Sample { scope: Scope::Local, .. } => FEWER.reads(Reads::RANDOM),
            Step::Sample { .. } => GATE.rows(Rows::Fewer).reads(Reads::RANDOM),
            Step::PathFilter { .. } => FILTER.reads(Reads::PATH),
            Step::TimeLimit(_) => STREAM.order(Order::Counts).reads(Reads::CLOCK),

            Step::Id | Step::Label => EACH.reads(Reads::OWN).gives(Gives::Scalars).safe(),
            Step::Labels => EACH.many().reads(Reads::OWN).gives(Gives::Scalars),
            Step::Key => EACH.gives(Gives::Scalars),
            Step::ValueOf => EACH.gives(Gives::Values),
            Step::Values(_) => EACH.many().reads(Reads::OWN).gives(Gives::Values).heavy().safe(),
            Step::Properties(_) => EACH.many().reads(Reads::OWN).gives(Gives::Elements),
            Step::PropertyMap { .. } | Step::ElementMap { .. } => EACH.reads(Reads::OWN).gives(Gives::Maps).heavy(),
            Step::Element => EACH.gives(Gives::Elements),

            Step::Constant(value) => EACH.gives(of_values(std::slice::from_ref(value))).safe(),
            Step::Identity => EACH.gives(Gives::Same).safe(),
            Step::Map(_) => FEWER.hands_down(),
            Step::FlatMap(_) | Step::Local(_) => EACH.many().hands_down(),
            Step::SideEffect(_) => EACH.gives(Gives::Same).hands_down(),
            Step::Select { pop, .. } | Step::SelectChild { pop, .. } => FEWER.reads(Reads::LABELS.and(path_of(*pop))),
            Step::SelectColumn(_) => FEWER,
            Step::Project { .. } => EACH.modulates(),
            Step::Path { .. } => FEWER.reads(Reads::PATH),
            Step::Loops(_) => EACH.reads(Reads::LOOPS).gives(Gives::Scalars),
            Step::Sack => FEWER.reads(Reads::SACK),
            Step::SackOp { .. } => FILTER.reads(Reads::SACK).writes(Writes::SACK).modulates(),
            Step::Index { as_map } => FEWER.gives(if *as_map { Gives::Maps } else { Gives::Input }),
            Step::Math { expression, .. } => {
                SCALAR.reads(Reads::LABELS.when(expression.variables.iter().any(|name| &**name != "_")))
            }
            Step::Format { .. } => SCALAR.reads(Reads::LABELS.and(Reads::OWN)),
            Step::Text { .. } | Step::Concat(_) | Step::Conjoin(_) => SCALAR,
            Step::AsNumber(_) | Step::AsBool | Step::AsDate | Step::DateAdd(..) | Step::DateDiff(_) => SCALAR,
            Step::List { .. } => FEWER.gives(Gives::Anything),
            Step::Unfold => EACH.many(),

            Step::Fold { .. } => BARRIER.rows(Rows::One).gives(Gives::Anything),
            Step::Reduce { scope: Scope::Local, reduction } => Facts { may_fail: !is_count(*reduction), ..SCALAR },
            Step::Reduce { reduction: Reduction::Count, .. } => {
                BARRIER.rows(Rows::One).order(Order::Forgets).gives(Gives::Scalars).safe()
            }
            Step::Reduce { reduction: Reduction::Min | Reduction::Max, .. } => {
                BARRIER.rows(Rows::OneOrNone).order(Order::Forgets).gives(Gives::Scalars)
            }
            Step::Reduce { .. } => BARRIER.rows(Rows::OneOrNone).gives(Gives::Scalars),
            Step::Order { scope: Scope::Local, .. } => EACH,
            Step::Order { .. } => GATE.rows(Rows::Fewer).order(Order::Makes).modulates(),
            Step::Group { side_effect, .. } | Step::GroupCount { side_effect, .. } => {
                gathers(side_effect.is_some()).gives(Gives::Maps).modulates()
            }
            Step::Tree { side_effect, .. } => gathers(side_effect.is_some()).reads(Reads::PATH),
            Step::Aggregate { scope: Scope::Global, .. } => gathers(true).modulates(),
            Step::Aggregate { .. } => EACH.gives(Gives::Same).writes(Writes::EFFECTS).modulates(),
            Step::Subgraph(_) => EACH.gives(Gives::Same).writes(Writes::EFFECTS),
            Step::Cap(_) => BARRIER.rows(Rows::One).reads(Reads::EFFECTS).gives(Gives::Anything),
            Step::Barrier { .. } => GATE.safe(),
            Step::Partial(_) => STREAM.gives(Gives::Input),
            Step::BarrierSack => GATE.reads(Reads::SACK).writes(Writes::SACK),

            Step::Union(_) | Step::Choose { .. } | Step::Repeat(_) => BRANCH,
            Step::Coalesce(_) | Step::Optional(_) => EACH.many().hands_down(),
            Step::Match(_) => EACH.many().reads(Reads::LABELS).gives(Gives::Anything),

            Step::AddVertex { .. } => EACH.writes(Writes::ADDS).gives(Gives::Elements),
            Step::AddEdge { from, to, .. } => {
                let named = [from, to].iter().any(|end| matches!(end, Some(EndRef::Label(_))));
                EACH.reads(Reads::LABELS.when(named)).writes(Writes::ADDS).gives(Gives::Elements)
            }
            Step::Merge(_) => EACH.many().reads(Reads::GRAPH).writes(Writes::GRAPH).gives(Gives::Elements),
            Step::SetProperty(_) | Step::SetProperties(..) | Step::ChangeLabels { .. } => FILTER.writes(Writes::CHANGES),
            Step::Drop => FILTER.writes(Writes::CHANGES),
            Step::Fail(_) => FILTER.writes(Writes::END),
        }
    }

    /// Whether the step changes the graph.
    pub fn mutates(&self) -> bool {
        self.facts().writes.any_of(Writes::GRAPH)
    }

    /// Whether running the step has an effect beside its results.
    pub fn has_side_effect(&self) -> bool {
        self.facts().writes != Writes::NOTHING
    }

    /// Whether the step only drops traversers, each by the value or element it stands on.
    pub fn is_filter(&self) -> bool {
        let facts = self.facts();
        let drops = facts.flow == Flow::Each && facts.rows == Rows::Fewer && facts.gives == Gives::Same;
        drops && facts.writes == Writes::NOTHING && Reads::OWN.covers(facts.reads)
    }

    /// Whether the step goes from vertices to their neighbours.
    pub fn is_hop(&self) -> bool {
        matches!(self, Step::Hop { to_edges: false, .. })
    }

    /// Whether the step needs all its input before it gives any output.
    pub fn is_barrier(&self) -> bool {
        self.facts().flow == Flow::Barrier
    }

    /// Whether the step reduces all its input to one value.
    pub fn is_reducing(&self) -> bool {
        matches!(self.facts().rows, Rows::One | Rows::OneOrNone)
    }

    /// The side effect that the step gathers into, and its value before anything is gathered.
    pub fn gathers_into(&self) -> Option<(&Name, Value)> {
        match self {
            Step::Aggregate { name, .. } => Some((name, Value::BulkSet(Default::default()))),
            Step::Subgraph(name) => Some((name, Value::Subgraph(Default::default()))),
            Step::Group { side_effect, .. } | Step::GroupCount { side_effect, .. } => {
                side_effect.as_ref().map(|name| (name, Value::map(Map::new())))
            }
            Step::Tree { side_effect, .. } => side_effect.as_ref().map(|name| (name, Value::Tree(Default::default()))),
            step if step.facts().writes.any_of(Writes::EFFECTS) => unreachable!("its row says it gathers: {step:?}"),
            _ => None,
        }
    }

    /// Adds the labels that the step itself reads. Returns false if it may read any label.
    pub fn labels_read(&self, names: &mut Vec<Name>) -> bool {
        match self {
            Step::Select { labels, .. } | Step::Dedup { labels, .. } => names.extend(labels.iter().cloned()),
            Step::Math { expression, .. } => names.extend(expression.variables.iter().cloned()),
            Step::WhereLabels { start, predicate, .. } => {
                names.extend(start.iter().cloned());
                predicate.names(names);
            }
            Step::AddEdge { from, to, .. } => names.extend([from, to].into_iter().filter_map(|end| match end {
                Some(EndRef::Label(name)) => Some(name.clone()),
                _ => None,
            })),
            step => return !step.facts().reads.any_of(Reads::LABELS),
        }
        true
    }

    pub fn has_children(&self) -> bool {
        let mut has_child = false;
        self.for_each_child(&mut |_| has_child = true);
        has_child
    }
}

/// A barrier that gathers into a side effect, or reduces its input.
const fn gathers(aside: bool) -> Facts {
    if aside { GATE.writes(Writes::EFFECTS) } else { BARRIER.rows(Rows::One) }
}

/// `dedup().by(…)` keeps the first of each group.
const fn picks<T>(by: &[T]) -> Order {
    if by.is_empty() { Order::Keeps } else { Order::Picks }
}

/// Labels alone cannot tell all or mixed objects apart: two equal labels on one stop are one object, on two stops two objects.
const fn path_of(pop: Option<Pop>) -> Reads {
    Reads::PATH.when(matches!(pop, Some(Pop::All | Pop::Mixed)))
}

const fn is_count(reduction: Reduction) -> bool {
    matches!(reduction, Reduction::Count)
}

fn of_values(values: &[Value]) -> Gives {
    let is_scalar = |value: &Value| matches!(value, Value::String(_) | Value::Bool(_)) || value.is_number();
    if values.iter().all(is_scalar) { Gives::Scalars } else { Gives::Anything }
}
