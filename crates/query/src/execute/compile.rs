//! Compiles a plan to operators.

use mangrove_graph::{ElementKind, Token, Value};

use crate::diagnostics::Span;
use crate::error::Result;
use crate::execute::data::maps::ARRAY_MIN;
use crate::execute::fleet::FleetOp;
use crate::execute::mesh::MeshOp;
use crate::execute::modulators::by::ByOp;
use crate::execute::ops::barrier::{BulkOp, GatherOp, OrderLocal, OrderOp, SackBarrierOp};
use crate::execute::ops::between::{BetweenOp, Wanted};
use crate::execute::ops::branch::{ChooseOp, CoalesceOp, ConditionOp, OptionalOp, PickOp, UnionOp};
use crate::execute::ops::call::{CallOp, ParametersOp};
use crate::execute::ops::closing::ClosingOp;
use crate::execute::ops::compute::ComputeOp;
use crate::execute::ops::date::{AsDateOp, DateAddOp, DateDiffOp};
use crate::execute::ops::element::{ElementMapOp, ElementOp, LabelsOp, PropertiesOp, PropertyMapOp, TokenStep, ValuesOp};
use crate::execute::ops::ends::HopEdges;
use crate::execute::ops::filter::*;
use crate::execute::ops::group::{GroupCountOp, GroupOp, GroupValueOp, GroupingOp};
use crate::execute::ops::hop::{DegreeOp, EndOp, Followed, HopOp};
use crate::execute::ops::init::{CountScanOp, InjectOp, ScanOp};
use crate::execute::ops::list::ListOp;
use crate::execute::ops::map::{ConstantOp, FlatMapOp, IdentityOp, IndexOp, LocalOp, MapOp, SpreadOp};
use crate::execute::ops::matching::{self, AnyOp, MatchOp, PatternOp};
use crate::execute::ops::math::MathStep;
use crate::execute::ops::merge::MergeOp;
use crate::execute::ops::mutate::{
    self, AddEdgeOp, AddVertexOp, ChangeLabelsOp, DropOp, PropertiesStep, PropertyStep, SetPropertyOp,
};
use crate::execute::ops::operand::OperandOp;
use crate::execute::ops::partial::{PartialCounts, PartialGroup, PartialGroups, PartialOp, PartialReduce};
use crate::execute::ops::reduce::{FoldOp, ReduceLocal, ReduceOp, UnfoldOp};
use crate::execute::ops::repeat::{EmitOp, RepeatOp, UntilOp};
use crate::execute::ops::resource::TimeLimitOp;
use crate::execute::ops::select::*;
use crate::execute::ops::semi_join::SemiJoinOp;
use crate::execute::ops::set::{DedupOp, LocalSet, RangeOp, SampleOp, TailOp};
use crate::execute::ops::shortest::{EdgesOf, FollowedEdges, ShortestPathOp, Waiting};
use crate::execute::ops::side_effect::{AggregateOp, CapOp, FailOp, SideEffectOp, SubgraphOp};
use crate::execute::ops::text::{AsBoolOp, AsNumberOp, ConcatOp, ConjoinOp, FormatOp, TextOp};
use crate::execute::ops::tree::TreeOp;
use crate::execute::parallel::ParallelOp;
use crate::execute::reads::columns::Many;
use crate::execute::run::chain::{Chain, Child, Link, MapBatch, Mapping, Op};
use crate::execute::run::context::Key;
use crate::execute::run::portion::Portioned;
use crate::plan::facts::{Flow, Reads, Writes};
use crate::plan::fragment::{Fragment, Reach};
use crate::plan::keys::{any_column, read_of_all, takes_maps};
use crate::plan::locate::{run_length, run_length_from_start};
use crate::plan::mesh;
use crate::plan::parts::Parts;
use crate::plan::paths::{PATHS, PathMode, last_uses};
use crate::plan::*;
use crate::stack::deep;

/// What the nodes of a graph do for a query.
#[derive(Clone, Copy, Default)]
pub struct NodesRole {
    /// They run fragments.
    pub fragments: bool,
    /// They look up the ids or values with which it begins.
    pub homes: bool,
    /// Traversers go from node to node, if at least so many are expected to move.
    pub mesh: Option<f64>,
}

/// The chain of a whole query. With a reach, helpers run fragments of it. Nodes may run others.
pub fn root(plan: &Plan, mode: PathMode, helpers: Option<Reach>, nodes: NodesRole) -> Result<Chain> {
    let reads = |node: &StepNode| reads_past(&node.step);
    let forgets = mode != PathMode::Off && !plan.source.paths;
    let last_reader = if forgets { plan.traversal.steps.iter().rposition(reads) } else { None };
    let fleet = nodes.fragments.then_some(&plan.source);
    let mesh = nodes.mesh.map(|moved_min| (&plan.source, moved_min));
    let last_uses = if mode == PathMode::Slots { last_uses(&plan.traversal) } else { Vec::new() };
    chain(
        &plan.traversal,
        ChainRole {
            start: true,
            helpers,
            fleet,
            homes: nodes.homes,
            mesh,
            last_reader,
            last_uses: &last_uses,
            columns: Some(0),
            later: &[],
        },
    )
}

/// The chain of some steps for one thread. Its output has maps by column if they come from at least `columns` traversers.
pub fn serial(traversal: &Traversal, columns: Option<usize>) -> Result<Chain> {
    chain(traversal, ChainRole { columns, ..ChainRole::default() })
}

/// Where a chain stands in the query.
#[derive(Clone, Copy, Default)]
struct ChainRole<'a> {
    /// The chain starts the query: its only input is the initial traverser.
    start: bool,
    /// Its traversers belong to one scope, and helpers may work on them within this reach.
    helpers: Option<Reach>,
    /// The source of the query, if nodes may run some of the steps.
    fleet: Option<&'a SourceConfig>,
    /// It begins with ids or values that the nodes look up.
    homes: bool,
    /// The source of the query, and how many traversers must be expected to move before they go from node to node.
    mesh: Option<(&'a SourceConfig, f64)>,
    /// The last step that asks where traversers have been. Later steps can forget the path.
    last_reader: Option<usize>,
    /// The last step that gives or reads each label. Later steps can forget it.
    last_uses: &'a [(Name, usize)],
    /// Its output has maps by column if they come from at least so many traversers; `None` for never.
    columns: Option<usize>,
    /// Of a single step: the steps behind it in its chain.
    later: &'a [StepNode],
}

impl ChainRole<'_> {
    /// From how many traversers on maps go by column to the first of some steps of the chain. On the way to a step that reads them,
    /// a few maps are quicker as they are.
    fn columns_before(&self, steps: &[StepNode]) -> Option<usize> {
        match steps {
            [] => self.columns,
            steps => takes_maps(steps, self.columns.is_some()).then_some(ARRAY_MIN),
        }
    }
}

fn chain(traversal: &Traversal, place: ChainRole<'_>) -> Result<Chain> {
    deep(|| links(traversal, place)).map(Chain::new)
}

fn links(traversal: &Traversal, place: ChainRole<'_>) -> Result<Vec<Link>> {
    let steps = &traversal.steps;
    let mut links = Vec::with_capacity(steps.len());
    let run_at = |at: usize| match place.fleet {
        None => 0,
        Some(_) if at == 0 && place.homes => run_length_from_start(steps),
        Some(_) => run_length(&steps[at..]),
    };
    let next_run = |at: usize| if place.fleet.is_some() { (at..steps.len()).find(|at| run_at(*at) > 0) } else { None };
    // Helpers would take the steps before a run together with some of the run. Nothing is before the first steps.
    let helpers = place.helpers.filter(|_| next_run(if place.homes { run_at(0) } else { 0 }).is_none());
    let mesh = place.mesh.and_then(|(source, moved_min)| Some((source, mesh::at_start(steps, moved_min)?)));
    let (mut at, mut is_prepared, mut first) = (0, false, 0);
    while at < steps.len() {
        let fragment = match helpers {
            Some(reach) if !is_prepared => Fragment::leading(&steps[at..], reach),
            _ => None,
        };
        if let Some((source, (first, mesh))) = &mesh
            && at == *first
        {
            at += mesh.steps.len();
            let role = ChainRole { start: place.start && *first == 0, mesh: None, homes: false, ..place };
            let columns = place.columns_before(&steps[at..]);
            is_prepared = mesh.parts().is_some_and(Parts::is_map);
            let here = if is_prepared { mesh.traversal() } else { Traversal { steps: mesh.steps.to_vec() } };
            let here = chain(&here, ChainRole { columns, ..role })?;
            links.push(Link::new(Box::new(MeshOp::new(mesh, source, here)), Vec::new(), Span::default()));
        } else if let Some((source, run @ 1..)) = place.fleet.map(|source| (source, run_at(at))) {
            let run = Traversal { steps: steps[at..at + run].to_vec() };
            at += run.steps.len();
            let here = serial(&run, None)?;
            links.push(Link::new(Box::new(FleetOp::new(run, source, here)), Vec::new(), Span::default()));
        } else if let Some(fragment) = fragment {
            at += fragment.steps.len();
            is_prepared = fragment.barrier.is_some();
            let columns = place.columns_before(&steps[at..]);
            let op = Box::new(ParallelOp::new(fragment.traversal(), columns, serial)?);
            links.push(Link::new(op, Vec::new(), Span::default()));
        } else {
            let node = &steps[at];
            if gathers_below(&node.step) {
                links.push(Link::new(mapping(SpreadOp), Vec::new(), node.span));
            }
            if place.start && may_meet_what_it_adds(&steps[..at], &node.step) {
                links.push(Link::new(Box::new(GatherOp::default()), Vec::new(), node.span));
            }
            let columns = place.columns_before(&steps[at + 1..]);
            // What is known here of the elements is not known to nodes.
            let next_mesh = mesh.iter().map(|(_, (first, _))| *first).find(|first| at < *first);
            let later = &steps[at + 1..next_mesh.or_else(|| next_run(at + 1)).unwrap_or(steps.len())];
            let start = place.start && at == 0;
            let role =
                ChainRole { start, mesh: None, homes: false, last_reader: None, last_uses: &[], columns, later, ..place };
            let op = if is_prepared { compile_prepared(&node.step, role)? } else { compile(&node.step, role)? };
            is_prepared = false;
            let mut link = Link::new(op, node.labels.clone(), node.span);
            link.drops_columns = node.step.reads_column() && !any_column(&steps[at + 1..], &|_| true);
            link.row = Some(node.row).filter(|_| !matches!(node.step, Step::Partial(_)));
            links.push(link);
            at += 1;
        }
        if is_prepared {
            // The barrier forgets for both: what the partial step puts beside the traversers is not for it to lose.
            continue;
        }
        if let (Some(link), Some(last)) = (links.last_mut(), place.last_reader) {
            link.forgets = (first..at).contains(&last);
        }
        if let Some(link) = links.last_mut() {
            let gone = place.last_uses.iter().filter(|(_, last)| (first..at).contains(last));
            link.drops = gone.map(|(name, _)| name.clone()).collect();
        }
        first = at;
    }
    Ok(links)
}

/// Whether other threads may help. That needs a query in which nothing is seen by more than one step.
pub fn can_be_helped(plan: &Plan) -> bool {
    let bare = plan.source.side_effects.is_empty() && plan.source.sack.is_none();
    let is_seen = |step: &Step| step.has_side_effect() || step.facts().reads.any_of(Reads::EFFECTS);
    bare && !plan.traversal.any(&|node| is_seen(&node.step))
}

/// Whether a query may become worth helping. A query that takes one hop from named vertices never does.
pub fn may_be_heavy(plan: &Plan) -> bool {
    let named = matches!(plan.traversal.steps.first().map(|node| &node.step), Some(Step::Scan { ids: Some(_), .. }));
    let hops = plan.traversal.steps.iter().filter(|node| matches!(node.step, Step::Hop { .. })).count();
    !named || hops > 1 || plan.traversal.any(&|node| matches!(node.step, Step::Repeat(_)))
}

fn child(traversal: &Traversal) -> Result<Child> {
    Ok(Child::new(serial(traversal, None)?))
}

fn children(traversals: &[Traversal]) -> Result<Vec<Child>> {
    traversals.iter().map(child).collect()
}

fn by(by: &By) -> Result<ByOp> {
    Ok(match by {
        By::Identity => ByOp::Identity,
        By::Key(name) => ByOp::Key(Key::new(name.clone())),
        By::Token(token) => ByOp::Token(*token),
        By::Column(column) => ByOp::Column(*column),
        By::Child(traversal) => ByOp::Child(child(traversal)?),
    })
}

fn bys(list: &[By]) -> Result<Vec<ByOp>> {
    list.iter().map(by).collect()
}

fn operand(operand: &Operand) -> Result<OperandOp> {
    Ok(match operand {
        Operand::Value(value) => OperandOp::Value(value.clone()),
        Operand::Child(traversal) => OperandOp::Child(child(traversal)?),
    })
}

fn set_property(property: &SetProperty) -> Result<SetPropertyOp> {
    let meta = property.meta.iter().map(|(name, value)| Ok((name.clone(), operand(value)?)));
    let key = match &property.key {
        PropertyName::Key(name) => mutate::PropertyKeyOp::Key(name.clone()),
        PropertyName::Id => mutate::PropertyKeyOp::Id,
        PropertyName::Label => mutate::PropertyKeyOp::Label,
        PropertyName::Child(traversal) => mutate::PropertyKeyOp::Child(child(traversal)?),
    };
    Ok(SetPropertyOp {
        cardinality: property.cardinality,
        key,
        value: operand(&property.value)?,
        meta: meta.collect::<Result<_>>()?,
    })
}

fn end(end: &Option<EndRef>) -> Result<mutate::NewEdgeEnd> {
    Ok(match end {
        None => mutate::NewEdgeEnd::Incoming,
        Some(EndRef::Label(name)) => mutate::NewEdgeEnd::Label(name.clone()),
        Some(EndRef::Value(value)) => mutate::NewEdgeEnd::Value(value.clone()),
        Some(EndRef::Child(traversal)) => {
            mutate::NewEdgeEnd::Child { child: child(traversal)?, named: only_id(traversal).cloned() }
        }
    })
}

/// The id in a traversal that is just `V(id)`.
fn only_id(traversal: &Traversal) -> Option<&Value> {
    match &traversal.steps[..] {
        [StepNode { step: Step::Scan { kind: ElementKind::Vertex, ids: Some(ids), .. }, .. }] if ids.len() == 1 => {
            ids.first()
        }
        _ => None,
    }
}

fn mapping<M: MapBatch + 'static>(map: M) -> Box<dyn Op> {
    Box::new(Mapping::new(map))
}

/// Wraps an operator that changes the graph, or that gives properties, which may be long.
fn making<M: MapBatch + 'static>(map: M) -> Box<dyn Op> {
    Box::new(Portioned::of_maker(map))
}

fn portioned<M: MapBatch + 'static>(map: M) -> Box<dyn Op> {
    Box::new(Portioned::new(map))
}

/// Whether the traversal gives a different result when its traversers come in two batches instead of one.
fn tells_batches_apart(traversal: &Traversal) -> bool {
    traversal.steps.iter().any(|node| match node.step.facts().flow {
        Flow::Each => false,
        Flow::Stream | Flow::Barrier => true,
        Flow::Branch => {
            let mut below = false;
            node.step.for_each_child(&mut |child| below |= tells_batches_apart(child));
            below
        }
    })
}

/// Whether the step has a child that gathers side effects and runs once per row. A row may stand for many traversers, and side
/// effects count each of them.
fn gathers_below(step: &Step) -> bool {
    let mut gathers = false;
    if step.facts().hands_down {
        step.for_each_child(&mut |child| gathers |= child.any(&|node| node.step.gathers_into().is_some()));
    }
    gathers
}

fn compile(step: &Step, place: ChainRole<'_>) -> Result<Box<dyn Op>> {
    Ok(match step {
        Step::Scan { kind, ids, labels, also, filters } => {
            let labels = (labels.clone(), also.clone());
            let scan = ScanOp::new(*kind, ids.clone(), labels, filters.clone(), read_of_all(place.later));
            Box::new(scan.at_start(place.start))
        }
        Step::CountScan { kind, labels, also, filters } => {
            Box::new(CountScanOp::new(*kind, (labels.clone(), also.clone()), filters.clone()))
        }
        Step::Inject(values) => Box::new(InjectOp::new(values.clone(), place.start)),
        Step::Call(call) => {
            let with = call.with.iter().map(|(key, value)| Ok((key.clone(), operand(value)?)));
            let parameters = ParametersOp {
                map: call.map.clone(),
                child: call.child.as_ref().map(child).transpose()?,
                with: with.collect::<Result<_>>()?,
            };
            Box::new(CallOp::new(call.name.clone(), parameters, place.start))
        }
        Step::Compute(asked) => Box::new(ComputeOp { asked: Compute::clone(asked), done: false }),
        Step::ShortestPath(asked) => {
            let child = |traversal: &Option<Traversal>| traversal.as_ref().map(child).transpose();
            let followed = FollowedEdges {
                edges: edges_of(asked)?,
                distance: child(&asked.distance)?,
                includes_edges: asked.includes_edges,
            };
            Box::new(ShortestPathOp {
                target: child(&asked.target)?,
                named: child(&asked.named)?,
                followed,
                max_distance: asked.max_distance.unwrap_or(f64::INFINITY),
                waiting: Waiting::default(),
            })
        }
        Step::Hop { direction, labels, to_edges, filter, any_order, limit, latest } => {
            let followed = Followed::new(labels.clone(), filter.clone()).latest(latest.clone());
            Box::new(HopOp::new(*direction, followed, *to_edges, *any_order, *limit))
        }
        Step::End(which) => mapping(EndOp(*which)),
        Step::Degree { direction, labels, filter } => {
            mapping(DegreeOp::new(*direction, Followed::new(labels.clone(), filter.clone())))
        }
        Step::Union(traversals) => {
            let branches = traversals
                .iter()
                .map(|t| Ok(Child::new(chain(t, ChainRole { helpers: None, columns: None, ..place })?)))
                .collect::<Result<_>>()?;
            Box::new(UnionOp::new(branches, traversals.iter().any(tells_batches_apart)))
        }
        Step::Coalesce(traversals) => portioned(CoalesceOp(children(traversals)?)),
        Step::Optional(traversal) => portioned(OptionalOp(child(traversal)?)),
        Step::Choose { condition, options, all } => choose(condition, options, *all)?,
        Step::Repeat(repeat) => compile_repeat(repeat, place)?,
        Step::Match(patterns) => Box::new(MatchOp::new(compile_patterns(patterns)?)),
        Step::Local(traversal) => Box::new(LocalOp::new(child(traversal)?)),
        Step::TimeLimit(millis) => Box::new(TimeLimitOp::new(*millis)),
        Step::Cap(names) => Box::new(CapOp::new(names.clone())),
        Step::Subgraph(name) => Box::new(SubgraphOp::new(name.clone())),
        Step::Aggregate { name, scope, by: modulator } => {
            let modulator = modulator.as_ref().map(by).transpose()?;
            Box::new(AggregateOp::new(name.clone(), modulator, *scope == Scope::Global))
        }
        _ => match compile_filter(step, place.later)? {
            Some(op) => op,
            None => match compile_barrier(step)? {
                Some(op) => op,
                None => compile_map(step, place.columns)?,
            },
        },
    })
}

fn choose(condition: &ChooseOn, options: &[Option_], all: bool) -> Result<Box<dyn Op>> {
    let condition = match condition {
        ChooseOn::By(modulator) => ConditionOp::By(by(modulator)?),
        ChooseOn::Predicate(predicate) => ConditionOp::Predicate(predicate.clone()),
    };
    let barrier = options.iter().any(|option| tells_batches_apart(&option.traversal));
    let options = options.iter().map(|option| {
        let pick = match &option.pick {
            Pick::Any => PickOp::Any,
            Pick::None => PickOp::None,
            Pick::Unproductive => PickOp::Unproductive,
            Pick::Value(value) => PickOp::Value(value.clone()),
            Pick::Predicate(predicate) => PickOp::Predicate(predicate.clone()),
            Pick::Traversal(traversal) => PickOp::Child(child(traversal)?),
        };
        Ok((pick, child(&option.traversal)?))
    });
    Ok(Box::new(ChooseOp::new(condition, options.collect::<Result<_>>()?, all, barrier)))
}

fn compile_repeat(repeat: &Repeat, place: ChainRole<'_>) -> Result<Box<dyn Op>> {
    let until = match &repeat.until {
        None => None,
        Some(Until::Times(n)) => Some(UntilOp::Times(*n)),
        Some(Until::Child(traversal)) => Some(UntilOp::Child(child(traversal)?)),
    };
    let emit = match &repeat.emit {
        None => None,
        Some(Emit::Always) => Some(EmitOp::Always),
        Some(Emit::Child(traversal)) => Some(EmitOp::Child(child(traversal)?)),
    };
    let body = Child::new(chain(&repeat.body, ChainRole { start: false, columns: None, ..place })?);
    let until = until.map(|until| (until, repeat.until_first));
    let emit = emit.map(|emit| (emit, repeat.emit_first));
    let rounds = RepeatOp::new(body, repeat.name.clone(), until, emit, tells_batches_apart(&repeat.body));
    match (&repeat.goal, repeat.body.steps.first().map(|node| &node.step)) {
        (Some(goal), Some(Step::Hop { direction, labels, filter, .. })) => {
            let edges = HopEdges { direction: *direction, followed: Followed::new(labels.clone(), filter.clone()) };
            Ok(Box::new(BetweenOp::new(rounds, child(&goal.targets)?, edges, Wanted::of(goal, repeat.until_first))))
        }
        _ => Ok(Box::new(rounds)),
    }
}

/// How `shortestPath()` finds the edges of a vertex.
fn edges_of(asked: &ShortestPath) -> Result<EdgesOf> {
    let along =
        |direction, labels, filter| Ok(EdgesOf::Along(HopEdges { direction, followed: Followed::new(labels, filter) }));
    let Some(edges) = &asked.edges else { return along(asked.direction, Vec::new(), None) };
    match &edges.steps[..] {
        [
            StepNode {
                step: Step::Hop { direction, labels, to_edges: true, filter, limit: None, latest: None, .. }, ..
            },
        ] => along(*direction, labels.clone(), filter.clone()),
        _ => Ok(EdgesOf::Given { ahead: child(edges)?, back: turned(edges).as_ref().map(child).transpose()? }),
    }
}

/// The edges of a vertex the other way round: those that lead to it, if the traversal gives those that lead on. `None` if the steps
/// after its first ask for more than the edge.
fn turned(edges: &Traversal) -> Option<Traversal> {
    let mut turned = edges.clone();
    let (first, others) = turned.steps.split_first_mut()?;
    let Step::Hop { direction, to_edges: true, limit: None, latest: None, .. } = &mut first.step else { return None };
    *direction = direction.reverse();
    // Where it came from is the other end then, and it is no longer the same question.
    let looks_back = |node: &StepNode| node.step.facts().reads.any_of(PATHS);
    let is_about_the_edge = |node: &StepNode| {
        let mut asks = node.step.is_filter();
        node.step.for_each_child(&mut |child| asks &= !child.any(&looks_back));
        asks
    };
    others.iter().all(is_about_the_edge).then_some(turned)
}

fn compile_patterns(patterns: &[Pattern]) -> Result<Vec<PatternOp>> {
    let compiled = patterns.iter().map(|pattern| {
        Ok(match pattern {
            Pattern::Path(path) => PatternOp::Path(matching::BoundPath {
                start: path.start.clone(),
                binds_start: path.binds_start,
                child: child(&path.child)?,
                end: path.end.clone(),
            }),
            Pattern::Any(ways) => {
                let ways = ways.iter().map(|way| compile_patterns(way)).collect::<Result<_>>()?;
                PatternOp::Any(AnyOp::new(ways))
            }
        })
    });
    compiled.collect()
}

fn compile_filter(step: &Step, later: &[StepNode]) -> Result<Option<Box<dyn Op>>> {
    Ok(Some(match step {
        Step::Has(tests) => mapping(HasOp::new(tests, later)),
        Step::HasProperty { key, present } => mapping(HasPropertyOp { key: Key::new(key.clone()), present: *present }),
        Step::HasChild { key, child: traversal } => mapping(HasChildOp { key: key.clone(), child: child(traversal)? }),
        Step::HasKeyOf(predicate) => mapping(PropertyPartOp { token: Token::Key, predicate: predicate.clone() }),
        Step::HasValueOf(predicate) => mapping(PropertyPartOp { token: Token::Value, predicate: predicate.clone() }),
        Step::Is(predicate) => mapping(IsOp(predicate.clone())),
        Step::Where { child: traversal, negated } => {
            let general = WhereOp { child: child(traversal)?, negated: *negated };
            ClosingOp::of(traversal, general).map_or_else(mapping, mapping)
        }
        Step::SemiJoin { child: traversal, ends, negated } => {
            let forwards = WhereOp { child: child(traversal)?, negated: *negated };
            SemiJoinOp::of(traversal, (ends, child(ends)?), forwards).map_or_else(mapping, mapping)
        }
        Step::And(traversals) => mapping(ConnectiveOp { children: children(traversals)?, all: true }),
        Step::Or(traversals) => mapping(ConnectiveOp { children: children(traversals)?, all: false }),
        Step::WhereLabels { start, predicate, by } => {
            mapping(WhereLabelsOp { start: start.clone(), predicate: predicate.clone(), by: bys(by)? })
        }
        Step::ListFilter { quantifier, predicate } => {
            mapping(ListFilterOp { quantifier: *quantifier, predicate: predicate.clone() })
        }
        Step::Discard => mapping(DiscardOp),
        Step::Dedup { scope: Scope::Local, .. } => mapping(LocalSet::Dedup),
        Step::Dedup { labels, by, .. } => Box::new(DedupOp::new(labels.clone(), bys(by)?)),
        Step::Range { low, high, scope: Scope::Local } => mapping(LocalSet::Range(*low, *high)),
        Step::Range { low, high, .. } => Box::new(RangeOp::new(*low, *high)),
        Step::Tail { count, scope: Scope::Local } => mapping(LocalSet::Tail(*count)),
        Step::Tail { count, .. } => Box::new(TailOp::new(*count)),
        Step::Coin(chance) => mapping(CoinOp(*chance)),
        Step::Sample { count, scope: Scope::Local, .. } => mapping(LocalSet::Sample(*count)),
        Step::Sample { count, by: modulator, .. } => {
            Box::new(SampleOp::new(*count, modulator.as_ref().map(by).transpose()?))
        }
        Step::PathFilter { simple, by, from, to } => {
            mapping(PathFilterOp { simple: *simple, by: bys(by)?, from: from.clone(), to: to.clone() })
        }
        _ => return Ok(None),
    }))
}

fn compile_barrier(step: &Step) -> Result<Option<Box<dyn Op>>> {
    Ok(Some(match step {
        Step::Fold { seed } => Box::new(FoldOp::new(seed.clone())),
        Step::Reduce { reduction, scope: Scope::Local } => mapping(ReduceLocal(*reduction)),
        Step::Reduce { reduction, .. } => Box::new(ReduceOp::new(*reduction)),
        Step::Order { by: list, scope, limit } => {
            let mut orders =
                list.iter().map(|(modulator, order)| Ok((by(modulator)?, *order))).collect::<Result<Vec<_>>>()?;
            if orders.is_empty() {
                orders.push((ByOp::Identity, SortOrder::Ascending));
            }
            match scope {
                Scope::Global => Box::new(OrderOp::new(orders, *limit)),
                Scope::Local => mapping(OrderLocal(orders)),
            }
        }
        Step::Group { side_effect, key, value } => {
            let key = key.as_ref().map_or(Ok(ByOp::Identity), by)?;
            let given = value.as_ref();
            let value = match value {
                None => GroupValueOp::List(ByOp::Identity),
                Some(GroupValue::List(modulator)) => GroupValueOp::List(by(modulator)?),
                Some(GroupValue::Reduce(traversal)) => GroupValueOp::Reduce(child(traversal)?),
            };
            Box::new(GroupingOp::new(side_effect.clone(), GroupOp::new(key, value, combine(given))))
        }
        Step::GroupCount { side_effect, key } => {
            let key = key.as_ref().map_or(Ok(ByOp::Identity), by)?;
            Box::new(GroupingOp::new(side_effect.clone(), GroupCountOp::new(key)))
        }
        Step::Tree { side_effect, by } => Box::new(TreeOp::new(side_effect.clone(), bys(by)?)),
        Step::Barrier { max } => Box::new(BulkOp::new(*max)),
        Step::BarrierSack => Box::new(SackBarrierOp::new()),
        Step::Partial(of) => compile_partial(of)?,
        _ => return Ok(None),
    }))
}

/// The partial step of a barrier, at the end of a fragment.
fn compile_partial(of: &Traversal) -> Result<Box<dyn Op>> {
    let [StepNode { step, .. }] = &of.steps[..] else { return Ok(mapping(IdentityOp)) };
    Ok(match step {
        Step::Reduce { reduction, scope: Scope::Global } => mapping(PartialReduce(*reduction)),
        Step::Dedup { scope: Scope::Global, .. } | Step::Order { limit: Some(_), scope: Scope::Global, .. } => {
            mapping(few_of(step)?)
        }
        Step::GroupCount { key, .. } => mapping(PartialCounts(key.as_ref().map_or(Ok(ByOp::Identity), by)?)),
        Step::Group { key, value: Some(GroupValue::Reduce(value)), .. } => {
            let key = key.as_ref().map_or(Ok(ByOp::Identity), by)?;
            let (before, reduction) = value.steps.split_at(value.steps.len().saturating_sub(1));
            let partial = StepNode::from(Step::Partial(Traversal { steps: reduction.to_vec() }));
            let value = Traversal { steps: before.iter().cloned().chain([partial]).collect() };
            mapping(PartialGroup { key, value: child(&value)? })
        }
        _ => mapping(IdentityOp),
    })
}

/// So few traversers are not worth a partial step.
const FEW_ROWS: usize = 64;

/// A partial step that is the barrier itself: it gives some of its traversers.
fn few_of(barrier: &Step) -> Result<PartialOp> {
    let limit = if let Step::Order { limit, .. } = barrier { *limit } else { None };
    let rows = limit.map_or(0, |limit| usize::try_from(limit).unwrap_or(usize::MAX)).max(FEW_ROWS);
    Ok(PartialOp { op: compile(barrier, ChainRole::default())?, rows })
}

/// Makes fewer traversers of those that the partial step of a barrier gave for several batches; `None` if they are few anyway.
pub fn partial_again(partial: &Step) -> Result<Option<Box<dyn MapBatch>>> {
    let Step::Partial(of) = partial else { return Ok(None) };
    Ok(match of.steps.first().map(|node| &node.step) {
        Some(step @ Step::Dedup { scope: Scope::Global, .. }) => Some(Box::new(few_of(step)?)),
        Some(step @ Step::Order { limit: Some(limit), scope: Scope::Global, .. }) => {
            // They are to be in order, unless all of them are used.
            let rows = usize::try_from(*limit).unwrap_or(usize::MAX);
            Some(Box::new(PartialOp { op: compile(step, ChainRole::default())?, rows }))
        }
        Some(Step::GroupCount { .. }) => Some(Box::new(PartialCounts(ByOp::Identity))),
        Some(Step::Group { value: Some(GroupValue::Reduce(value)), .. }) => {
            match value.steps.last().map(|node| &node.step) {
                Some(Step::Reduce { reduction, .. }) => Some(Box::new(PartialGroups(*reduction))),
                _ => None,
            }
        }
        _ => None,
    })
}

/// A barrier whose partial step ran before.
fn compile_prepared(step: &Step, role: ChainRole<'_>) -> Result<Box<dyn Op>> {
    Ok(match step {
        Step::GroupCount { side_effect, .. } => {
            Box::new(GroupingOp::new(side_effect.clone(), GroupCountOp::new(ByOp::Identity)))
        }
        Step::Group { side_effect, value: given @ Some(GroupValue::Reduce(value)), .. } => {
            let reduction = value.steps.split_at(value.steps.len().saturating_sub(1)).1;
            let reduction = child(&Traversal { steps: reduction.to_vec() })?;
            let group = GroupOp::new(ByOp::Beside, GroupValueOp::Reduce(reduction), combine(given.as_ref()));
            Box::new(GroupingOp::new(side_effect.clone(), group))
        }
        _ => compile(step, role)?,
    })
}

/// How to combine the values of two `group()` steps that share a name. The result is that of one step, where this is known.
fn combine(value: Option<&GroupValue>) -> Operator {
    let Some(GroupValue::Reduce(traversal)) = value else { return Operator::AddAll };
    match traversal.steps.last().map(|node| &node.step) {
        Some(Step::Reduce { reduction: Reduction::Count | Reduction::Sum, .. }) => Operator::Sum,
        Some(Step::Reduce { reduction: Reduction::Min, .. }) => Operator::Min,
        Some(Step::Reduce { reduction: Reduction::Max, .. }) => Operator::Max,
        Some(Step::Fold { seed: None }) => Operator::AddAll,
        _ => Operator::Assign,
    }
}

/// Which values `valueMap` shows, if it can be read by column.
fn property_columns(of: MapOf, by: &[By]) -> Option<Many> {
    let is_unfold = |by: &By| match by {
        By::Child(child) => matches!(&child.steps[..], [StepNode { step: Step::Unfold, .. }]),
        _ => false,
    };
    match (of, by) {
        (MapOf::Values, []) => Some(Many::All),
        (MapOf::Values, [by]) if is_unfold(by) => Some(Many::First),
        _ => None,
    }
}

fn compile_map(step: &Step, columns: Option<usize>) -> Result<Box<dyn Op>> {
    Ok(match step {
        Step::Id => mapping(TokenStep(Token::Id)),
        Step::Label => mapping(TokenStep(Token::Label)),
        Step::Labels => mapping(LabelsOp),
        Step::Key => mapping(TokenStep(Token::Key)),
        Step::ValueOf => mapping(TokenStep(Token::Value)),
        Step::Values(keys) => making(ValuesOp::new(keys.clone())),
        Step::Properties(keys) => making(PropertiesOp::new(keys.clone())),
        Step::PropertyMap { visible, of, keys, tokens, by } => {
            let visible = visible.as_ref().map(child).transpose()?;
            let columns = property_columns(*of, by).filter(|_| columns.is_some() && visible.is_none());
            making(PropertyMapOp { of: *of, keys: Key::all(keys), tokens: *tokens, by: bys(by)?, visible, columns })
        }
        Step::ElementMap { keys, visible } => {
            let visible = visible.as_ref().map(child).transpose()?;
            let columns = columns.is_some() && visible.is_none();
            making(ElementMapOp { keys: Key::all(keys), visible, columns })
        }
        Step::Element => mapping(ElementOp),
        Step::Constant(value) => mapping(ConstantOp(value.clone())),
        Step::Map(traversal) => mapping(MapOp(child(traversal)?)),
        Step::FlatMap(traversal) => portioned(FlatMapOp(child(traversal)?)),
        Step::SideEffect(traversal) => mapping(SideEffectOp(child(traversal)?)),
        Step::Select { pop, labels, by } => {
            making(SelectOp { pop: pop.unwrap_or(Pop::Last), labels: labels.clone(), by: bys(by)?, columns })
        }
        Step::SelectColumn(column) => mapping(ColumnOp(*column)),
        Step::SelectChild { pop, child: traversal, by } => {
            mapping(SelectChildOp { pop: pop.unwrap_or(Pop::Last), child: child(traversal)?, by: bys(by)? })
        }
        Step::Project { keys, by } => making(ProjectOp { keys: keys.clone(), by: bys(by)?, columns }),
        Step::Path { by, from, to } => mapping(PathOp { by: bys(by)?, from: from.clone(), to: to.clone() }),
        Step::Loops(name) => mapping(LoopsOp(name.clone())),
        Step::Sack => mapping(SackOp),
        Step::SackOp { operator, by: modulator } => {
            mapping(SackUpdateOp { operator: *operator, by: modulator.as_ref().map(by).transpose()? })
        }
        Step::Index { as_map } => mapping(IndexOp { as_map: *as_map }),
        Step::Math { expression, by } => mapping(MathStep { expression: expression.clone(), by: bys(by)? }),
        Step::Text { function, scope } => mapping(TextOp { function: function.clone(), scope: *scope }),
        Step::Concat(operands) => mapping(ConcatOp(operands.iter().map(operand).collect::<Result<_>>()?)),
        Step::Format { template, by } => mapping(FormatOp { template: template.clone(), by: bys(by)? }),
        Step::List { function, operand: other } => mapping(ListOp { function: *function, operand: operand(other)? }),
        Step::Conjoin(delimiter) => mapping(ConjoinOp(delimiter.clone())),
        Step::AsNumber(wanted) => mapping(AsNumberOp(*wanted)),
        Step::AsBool => mapping(AsBoolOp),
        Step::AsDate => mapping(AsDateOp),
        Step::DateAdd(unit, amount) => mapping(DateAddOp(*unit, *amount)),
        Step::DateDiff(other) => mapping(DateDiffOp(operand(other)?)),
        Step::Unfold => mapping(UnfoldOp),
        Step::AddVertex { label, properties } => making(AddVertexOp {
            made_bytes: 0,
            label: label.as_ref().map(operand).transpose()?,
            properties: properties.iter().map(set_property).collect::<Result<_>>()?,
        }),
        Step::AddEdge { label, from, to, properties } => making(AddEdgeOp {
            made_bytes: 0,
            label: operand(label)?,
            from: end(from)?,
            to: end(to)?,
            properties: properties.iter().map(set_property).collect::<Result<_>>()?,
        }),
        Step::SetProperty(property) => making(PropertyStep { property: set_property(property)?, made_bytes: 0 }),
        Step::SetProperties(map, cardinality) => {
            making(PropertiesStep { map: operand(map)?, cardinality: *cardinality, made_bytes: 0 })
        }
        Step::Merge(merge) => {
            let slot = |slot: &Option<Operand>| slot.as_ref().map(operand).transpose();
            mapping(MergeOp {
                kind: merge.kind,
                search: slot(&merge.search)?,
                on_create: slot(&merge.on_create)?,
                on_match: slot(&merge.on_match)?,
                out_vertex: slot(&merge.out_vertex)?,
                in_vertex: slot(&merge.in_vertex)?,
                partition: merge.partition.clone(),
            })
        }
        Step::ChangeLabels { names, adds } => mapping(ChangeLabelsOp { names: names.clone(), adds: *adds }),
        Step::Drop => portioned(DropOp),
        Step::Fail(message) => mapping(FailOp(message.clone())),
        Step::Identity => mapping(IdentityOp),
        other => unreachable!("a filter, a barrier or a branch, compiled before: {other:?}"),
    })
}

/// The side effects that the steps gather. They exist from the start of the query, even if empty.
pub fn gathered(traversal: &Traversal, effects: &mut Vec<(Name, Value)>) {
    effects.extend(
        traversal.steps.iter().filter_map(|node| node.step.gathers_into()).map(|(name, empty)| (name.clone(), empty)),
    );
    traversal.for_each_child(&mut |child| gathered(child, effects));
}

/// Whether traversers must go one by one. There are two reasons. The plan reads a side effect that earlier traversers have changed
/// and later ones have not. Or a limit follows a change of the graph, and traversers beyond the limit must not change it.
pub fn one_by_one(plan: &Plan) -> bool {
    changes_before_a_limit(&plan.traversal) || reads_what_is_being_written(&plan.traversal)
}

/// Whether steps read a side effect while other traversers still change it. A barrier keeps steps behind it from that: before it, no
/// traverser is there, and afterwards none is left before it.
fn reads_what_is_being_written(traversal: &Traversal) -> bool {
    // A barrier with a bound lets large numbers of traversers through in several batches.
    let is_whole = |step: &Step| !matches!(step, Step::Barrier { max } if *max != Some(usize::MAX));
    let parts = |node: &StepNode| node.step.is_barrier() && is_whole(&node.step);
    traversal.steps.split_inclusive(parts).any(|steps| {
        let (mut written, mut read): (Vec<Name>, Vec<Name>) = Default::default();
        side_effect_names(steps, false, &mut written, &mut read);
        written.iter().any(|name| read.contains(name))
    })
}

/// Whether the steps before `step` could find the elements it adds. They could, unless they find all of theirs first.
fn may_meet_what_it_adds(before: &[StepNode], step: &Step) -> bool {
    let adds = |step: &Step| step.facts().writes.any_of(Writes::ADDS);
    let mut any_adds = adds(step);
    step.for_each_child(&mut |child| any_adds |= child.any(&|node| adds(&node.step)));
    let since_barrier = before.iter().rev().take_while(|node| !node.step.is_barrier());
    any_adds && since_barrier.into_iter().any(|node| matches!(node.step, Step::Scan { ids: None, .. } | Step::Hop { .. }))
}

fn changes_before_a_limit(traversal: &Traversal) -> bool {
    let mut changes = false;
    for node in &traversal.steps {
        if changes && matches!(node.step, Step::Range { scope: Scope::Global, high: Some(_), .. }) {
            return true;
        }
        // A barrier lets everything through.
        changes = (changes || changes_graph(&node.step)) && !node.step.is_barrier();
    }
    false
}

fn changes_graph(step: &Step) -> bool {
    let mut changes = step.mutates();
    step.for_each_child(&mut |child| changes |= child.any(&|node| node.step.mutates()));
    changes
}

fn side_effect_names(steps: &[StepNode], below: bool, written: &mut Vec<Name>, read: &mut Vec<Name>) {
    for node in steps {
        let changes_for_others = match node.step {
            Step::Aggregate { scope: Scope::Local, .. } => true,
            // A subgraph is one object that grows: whoever selects it early sees all of it in the end.
            Step::Subgraph(_) => false,
            // At the top of the query a barrier gathers all traversers. In a child it gathers those of each parent traverser.
            _ => below,
        };
        written.extend(node.step.gathers_into().filter(|_| changes_for_others).map(|(name, _)| name.clone()));
        match &node.step {
            Step::Select { labels, .. } => read.extend(labels.iter().cloned()),
            Step::WhereLabels { predicate, .. } => predicate.names(read),
            Step::Cap(names) if below => read.extend(names.iter().cloned()),
            _ => {}
        }
    }
    for node in steps {
        let below = below || !matches!(node.step, Step::Repeat(_));
        node.step.for_each_child(&mut |child| side_effect_names(&child.steps, below, written, read));
    }
}

/// Whether the step, or a step of its children, asks where traversers have been.
fn reads_past(step: &Step) -> bool {
    let itself = |step: &Step| step.facts().reads.any_of(PATHS.and(Reads::LABELS));
    let mut reads = itself(step);
    step.for_each_child(&mut |child| reads |= child.any(&|node| itself(&node.step)));
    reads
}
