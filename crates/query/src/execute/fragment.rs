//! Steps that a node runs for the query of somebody else.

use std::time::Instant;

use mangrove_graph::{GraphView, ReadContext};

use crate::execute::compile;
use crate::execute::data::batch::Batch;
use crate::execute::data::items::Items;
use crate::execute::data::message::{MessageHead, answer, read_message};
use crate::execute::data::path;
use crate::execute::run::chain::Once;
use crate::execute::run::context::{Context, QueryState};
use crate::options::{Graph, QueryOptions};
use crate::plan::Plan;
use crate::plan::locate::is_run;
use crate::plan::paths::PathMode;

/// The most bytes of an answer.
const ANSWER_BYTES_MAX: u64 = 16 << 20;
/// The most bytes that the steps may hold meanwhile.
const HELD_BYTES_MAX: usize = 64 << 20;

/// Answers a message of a [`Fleet`](crate::Fleet) over the part of the graph that is here. `None` if whoever asks must run the steps:
/// because they fail, because the view does not have what they read, because the answer is too large, or because the message has another
/// version.
pub fn run_fragment(message: &[u8], view: &dyn GraphView, limits: &ReadContext) -> Option<Vec<u8>> {
    let (head, plan, Batch { items: elements, .. }) = read_message(message)?;
    let plan = Plan::from_bytes(plan).ok().filter(|plan| is_run(&plan.traversal.steps))?;
    let options = QueryOptions {
        timeout: limits.deadline.map(|deadline| deadline.saturating_duration_since(Instant::now())),
        cancel: limits.cancel.clone(),
        memory_bytes_max: HELD_BYTES_MAX,
        trace: limits.trace,
        ..QueryOptions::default()
    };
    let mut shared = QueryState::new(&plan.source, options, head.mode);
    shared.may_go_deep = head.may_go_deep;
    let mut chain = compile::serial(&plan.traversal, None).ok()?;
    chain.reset(elements.len());
    let (mut start, graph) = (Once::new(start(head, elements)), &mut Graph::Read(view));
    let (mut context, mut bytes, mut parts) = (Context { graph, shared: &mut shared }, 0, Vec::new());
    while let Some(part) = chain.pull(&mut context, &mut start).ok()? {
        bytes += part.bytes() as u64;
        if bytes > head.bytes_max.min(ANSWER_BYTES_MAX) {
            return None;
        }
        parts.push(part);
    }
    answer(&shared.warnings, &Batch::joined(parts))
}

/// Traversers that begin here, each in a scope of its own. A full path begins with the element that it stands on.
fn start(head: MessageHead, elements: Items) -> Batch {
    let rows = elements.len();
    let scope = (rows > 1).then(|| (0..rows as u32).collect());
    let paths = head.mode.has_paths().then(|| match head.mode {
        PathMode::Full => (0..rows).map(|row| path::extend(&None, elements.get(row))).collect(),
        _ => vec![None; rows],
    });
    Batch { scope, paths, ..Batch::new(elements) }
}
