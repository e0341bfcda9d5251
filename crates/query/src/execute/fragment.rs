//! Steps that a node runs for the query of somebody else.

use std::time::Instant;

use mangrove_graph::{ElementIds, GraphView, ReadContext, Value, record};

use crate::execute::compile;
use crate::execute::data::batch::Batch;
use crate::execute::data::items::Items;
use crate::execute::data::message::{ANSWER_BYTES_MAX, Answer, MessageHead, read_message, shard_number};
use crate::execute::data::path;
use crate::execute::run::chain::Once;
use crate::execute::run::context::{Context, QueryState};
use crate::options::{Graph, QueryOptions};
use crate::plan::locate::{FOUND_MAX, ids_at_start, is_run, lookup_at_start};
use crate::plan::paths::PathMode;
use crate::plan::{Plan, StepNode, Traversal};

/// The most bytes that the steps may hold meanwhile.
const HELD_BYTES_MAX: usize = 64 << 20;

/// Answers a message of a [`Fleet`](crate::Fleet) over the part of the graph that is here. `None` if whoever asks must run the steps:
/// because they fail, because the view does not have what they read, because the answer is too large, or because the message has another
/// version.
pub fn run_fragment(message: &[u8], view: &dyn GraphView, limits: &ReadContext) -> Option<Vec<u8>> {
    let (head, plan, Batch { items, .. }) = read_message(message)?;
    let mut plan = Plan::from_bytes(plan).ok()?;
    let steps = &mut plan.traversal.steps;
    let (are_ids, are_shards) = (ids_at_start(steps).is_some(), lookup_at_start(steps).is_some());
    let first = if are_ids || are_shards { Some(steps.remove(0)) } else { None };
    if !is_run(steps) {
        return None;
    }
    let options = QueryOptions {
        timeout: limits.deadline.map(|deadline| deadline.saturating_duration_since(Instant::now())),
        cancel: limits.cancel.clone(),
        memory_bytes_max: HELD_BYTES_MAX,
        trace: limits.trace,
        ..QueryOptions::default()
    };
    let mut shared = QueryState::new(&plan.source, options, head.mode);
    shared.may_go_deep = head.may_go_deep;
    let (rows, lookup) = (items.len(), first.filter(|_| are_shards));
    let Wanted { elements, at, unknown } = match lookup {
        Some(lookup) => Wanted::searched(items, lookup, view, &mut shared)?,
        None => Wanted::of(items, are_ids, view)?,
    };
    let mut chain = compile::serial(&plan.traversal, None).ok()?;
    chain.reset(rows);
    let graph = &mut Graph::Read(view);
    let (mut context, mut bytes, mut parts) = (Context { graph, shared: &mut shared }, 0, Vec::new());
    let mut start = Once::new(start(head, elements, at, rows));
    // Of ids that no vertex has, nothing comes.
    while let Some(part) = chain.pull(&mut context, &mut start).ok()? {
        bytes += part.bytes() as u64;
        if bytes > head.bytes_max.min(ANSWER_BYTES_MAX as u64) {
            return None;
        }
        parts.push(part);
    }
    Answer { warnings: shared.warnings, unknown, results: Batch::joined(parts) }.to_bytes()
}

/// What a message is about.
struct Wanted {
    elements: Items,
    /// The row of the message of each element.
    at: Vec<u32>,
    /// The rows whose id no vertex has.
    unknown: Vec<u32>,
}

impl Wanted {
    /// `None` if the items are not what they should be, or cannot be looked up.
    fn of(items: Items, are_ids: bool, view: &dyn GraphView) -> Option<Self> {
        let all = 0..items.len() as u32;
        match items {
            Items::Values(ids) if are_ids => {
                let found = record::find_vertices(view, &ids.iter().collect::<Vec<_>>()).ok()?;
                let (at, unknown) = all.partition(|row| found[*row as usize].is_some());
                Some(Self { elements: Items::Vertices(found.into_iter().flatten().collect()), at, unknown })
            }
            elements @ (Items::Vertices(_) | Items::Edges(_)) if !are_ids => {
                Some(Self { elements, at: all.collect(), unknown: Vec::new() })
            }
            _ => None,
        }
    }

    /// What each of some shards has; `None` if these are many.
    fn searched(items: Items, lookup: StepNode, view: &dyn GraphView, shared: &mut QueryState) -> Option<Self> {
        let Items::Values(shards) = items else { return None };
        let sought = lookup_at_start(std::slice::from_ref(&lookup))?;
        let none = ElementIds::none(sought.kind);
        sought.sought(view)?; // nobody scans for somebody else
        let mut chain = compile::serial(&Traversal { steps: vec![lookup] }, None).ok()?;
        let (mut found, mut at) = (Vec::new(), Vec::new());
        for (row, shard) in (0..).zip(&shards) {
            let shard = view.shard_view(shard_number(shard)?)?;
            let mut cx = Context { graph: &mut Graph::Read(shard), shared: &mut *shared };
            let paths = cx.mode().has_paths().then(|| vec![None]);
            let mut start = Once::new(Batch { paths, ..Batch::new(Items::Values(vec![Value::Null])) });
            chain.reset(1);
            while let Some(batch) = chain.pull(&mut cx, &mut start).ok()? {
                at.extend(std::iter::repeat_n(row, batch.len()));
                found.push(batch);
                if at.len() > FOUND_MAX {
                    return None;
                }
            }
        }
        let elements = if at.is_empty() { none.into() } else { Batch::joined(found).items };
        Some(Self { elements, at, unknown: Vec::new() })
    }
}

/// Traversers that begin here, each in the scope of its row. A full path begins with the element that it stands on.
fn start(head: MessageHead, elements: Items, at: Vec<u32>, rows: usize) -> Batch {
    let paths = head.mode.has_paths().then(|| match head.mode {
        PathMode::Full => (0..elements.len()).map(|row| path::extend(&None, elements.get(row))).collect(),
        _ => vec![None; elements.len()],
    });
    Batch { scope: (rows > 1).then_some(at), paths, ..Batch::new(elements) }
}
