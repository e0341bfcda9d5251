//! `pageRank()`, `peerPressure()` and `connectedComponent()`, and their options.

use mangrove_graph::{Direction, ElementKind};

use super::argument::{Resolver, arity};
use crate::error::{QueryError, Result};
use crate::gremlin::syntax::Call;
use crate::plan::*;

/// The step of a call.
pub(super) fn step(resolver: &Resolver<'_>, call: &Call, before: &[StepNode]) -> Result<Step> {
    let (program, property, direction, times) = match (call.name.as_str(), &call.args[..]) {
        ("pageRank", args) => {
            let damping = args.first().map(|argument| resolver.float(argument)).transpose()?.unwrap_or(0.85);
            if !(0.0..=1.0).contains(&damping) {
                return Err(QueryError::step(format!("pageRank() needs a share from 0 to 1, not {damping}")).at(call.span));
            }
            (VertexProgramName::PageRank { damping }, "gremlin.pageRankVertexProgram.pageRank", Direction::Out, 20)
        }
        ("peerPressure", _) => {
            (VertexProgramName::PeerPressure, "gremlin.peerPressureVertexProgram.cluster", Direction::Out, 30)
        }
        _ => {
            let property = "gremlin.connectedComponentVertexProgram.component";
            (VertexProgramName::ConnectedComponent, property, Direction::Both, u64::MAX)
        }
    };
    let starts_alike =
        |node: &StepNode| matches!(&node.step, Step::Scan { kind: ElementKind::Vertex, ids: None, .. } | Step::Compute(_));
    let counts_traversers = program != VertexProgramName::ConnectedComponent && !before.iter().all(starts_alike);
    let (labels, filter) = Default::default();
    let asked = Compute { program, property: property.into(), direction, labels, filter, times, counts_traversers };
    Ok(Step::Compute(Box::new(asked)))
}

/// `with()` on such a step.
pub(super) fn option(resolver: &Resolver<'_>, call: &Call, key: Option<&str>, asked: &mut Compute) -> Result<()> {
    let step = asked.program.step();
    let has_times = asked.program != VertexProgramName::ConnectedComponent;
    let value = call.args.get(1).ok_or_else(|| arity(call, &format!("an option of {step}() and its value")));
    match key {
        Some("propertyName") => {
            asked.property = resolver.name(value?)?;
            if asked.property.is_empty() {
                return Err(QueryError::step("a property has a name").at(call.span));
            }
        }
        Some("times") if has_times => asked.times = resolver.count(value?)?,
        Some("edges") => follow(&resolver.child(value?)?, asked).map_err(|error| error.at(call.span))?,
        _ => {
            let options = if has_times { "edges, propertyName and times" } else { "edges and propertyName" };
            return Err(QueryError::step(format!("{step}() has the options {options}")).at(call.span));
        }
    }
    Ok(())
}

/// Takes over which edges a traversal gives.
fn follow(edges: &Traversal, asked: &mut Compute) -> Result<()> {
    let (direction, labels, filter) = match &edges.steps[..] {
        [StepNode { step: Step::Hop { direction, labels, to_edges: true, .. }, .. }, filter @ ..] => match filter {
            [] => (*direction, labels, None),
            [StepNode { step: Step::Has(tests), .. }] => match &tests[..] {
                [Has { key: HasKey::Property(name), predicate }] => (*direction, labels, Some((name, predicate))),
                _ => return Err(unknown_edges(asked)),
            },
            _ => return Err(unknown_edges(asked)),
        },
        _ => return Err(unknown_edges(asked)),
    };
    if asked.program == VertexProgramName::ConnectedComponent && direction != Direction::Both {
        return Err(QueryError::step("a component follows its edges in both directions").help("use bothE(…)"));
    }
    (asked.direction, asked.labels) = (direction, labels.clone());
    asked.filter = filter.map(|(name, predicate)| (name.clone(), predicate.clone()));
    Ok(())
}

fn unknown_edges(asked: &Compute) -> QueryError {
    let step = asked.program.step();
    QueryError::step(format!("{step}() follows outE(…), inE(…) or bothE(…), and then at most one has() of a property"))
}

/// Fails if such a step stands where it cannot run.
pub(super) fn check(traversal: &Traversal, strategies: &Strategies) -> Result<()> {
    let computes = |node: &StepNode| matches!(node.step, Step::Compute(_));
    let Some(first) = traversal.steps.iter().find(|node| computes(node)) else {
        return check_children(traversal);
    };
    check_children(traversal)?;
    let Step::Compute(asked) = &first.step else { return Ok(()) };
    let step = asked.program.step();
    let why = if traversal.any(&|node| node.step.mutates()) {
        Some(("runs on the graph as it was when the query began, so the query cannot change it", "use two queries"))
    } else if strategies.subgraph.is_some() || strategies.partition.is_some() {
        Some((
            "looks at the whole graph, not at what a strategy lets through",
            "choose edges: .with(…edges, __.outE('label'))",
        ))
    } else {
        None
    };
    match why {
        Some((why, help)) => Err(QueryError::step(format!("{step}() {why}")).at(first.span).help(help)),
        None => Ok(()),
    }
}

fn check_children(traversal: &Traversal) -> Result<()> {
    let mut found = Ok(());
    traversal.for_each_child(&mut |child| {
        if found.is_ok() {
            let inner = child.steps.iter().find_map(|node| match &node.step {
                Step::Compute(asked) => Some((asked.program.step(), node.span)),
                _ => None,
            });
            found = match inner {
                Some((step, span)) => {
                    let message = format!("{step}() looks at the whole graph, so it cannot stand inside another step");
                    Err(QueryError::step(message).at(span).help("move it before that step"))
                }
                None => check_children(child),
            };
        }
    });
    found
}
