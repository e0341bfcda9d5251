//! What a node of a lake answers.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use mangrove_cluster::service::{Calls, Conversation, Service};
use mangrove_cluster::wire::{
    Ask, Call, CallKind, Chunk, Chunks, LakeHello, LakeMap, LakeNode, LakeRange, Opaque, Reply, answer_of_view,
};
use mangrove_graph::{EdgeId, ElementKind, GraphError, LabelId, ReadContext, Result, VertexId};
use mangrove_lake::{Lake, LakeError, LakeView};
use mangrove_query::run_fragment;

/// A node that has said nothing for so long is not named to others any more.
const HEARD: Duration = Duration::from_secs(10);

/// A node remembers so many others.
pub const NODES_MAX: usize = 1_024;

/// A lake, at one of its nodes.
pub struct LakeService {
    graph: String,
    own: LakeNode,
    fingerprint: u128,
    lake: Arc<Lake>,
    map: LakeMap,
    /// The other nodes, by name, and when each said last that it is there.
    met: Mutex<BTreeMap<String, (LakeNode, Instant)>>,
    answered: Arc<Calls>,
    /// The chunks that it was asked for.
    asked: Mutex<BTreeSet<Chunk>>,
    is_asked_to_stop: AtomicBool,
    has_ended: AtomicBool,
}

impl LakeService {
    /// # Errors
    /// If the files cannot be listed.
    pub fn new(graph: String, own: LakeNode, lake: Lake) -> Result<Self, LakeError> {
        let (fingerprint, map) = (lake.fingerprint()?, map_of(&lake));
        let (met, answered, asked, is_asked_to_stop, has_ended) = Default::default();
        Ok(Self { graph, own, fingerprint, lake: Arc::new(lake), map, met, answered, asked, is_asked_to_stop, has_ended })
    }

    pub fn own(&self) -> &LakeNode {
        &self.own
    }

    pub fn fingerprint(&self) -> u128 {
        self.fingerprint
    }

    fn met(&self) -> MutexGuard<'_, BTreeMap<String, (LakeNode, Instant)>> {
        self.met.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn asked(&self) -> MutexGuard<'_, BTreeSet<Chunk>> {
        self.asked.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// All nodes that have said lately that they are there, and this one, by name.
    pub fn nodes(&self) -> Vec<LakeNode> {
        let mut met = self.met();
        met.retain(|_, (_, heard)| heard.elapsed() < HEARD);
        let mut all: Vec<LakeNode> = met.values().map(|(node, _)| node.clone()).collect();
        drop(met);
        all.retain(|node| node.name != self.own.name);
        all.push(self.own.clone());
        all.sort_unstable();
        all
    }

    /// The chunks of which something was read here.
    pub fn chunks_asked(&self) -> Vec<Chunk> {
        self.asked().iter().copied().collect()
    }

    pub fn is_asked_to_stop(&self) -> bool {
        self.is_asked_to_stop.load(Ordering::Relaxed)
    }

    /// From now on, it answers nothing.
    pub fn end(&self) {
        self.has_ended.store(true, Ordering::Relaxed);
    }

    pub fn has_ended(&self) -> bool {
        self.has_ended.load(Ordering::Relaxed)
    }

    fn hello(&self) -> LakeHello {
        LakeHello {
            graph: self.graph.clone(),
            fingerprint: self.fingerprint,
            node: self.own.clone(),
            nodes: self.nodes(),
            calls: [CallKind::AskLake, CallKind::LakeFragment].map(|kind| self.answered.seen_of(kind).replies).iter().sum(),
            chunks: self.asked().len() as u64,
        }
    }

    /// Another node is there.
    fn meet(&self, graph: &str, fingerprint: u128, node: LakeNode) -> Result<Reply> {
        let LakeNode { name, address } = &self.own;
        if graph != self.graph {
            return Err(GraphError::Invalid(format!("{name} at {address} has the graph {}, not {graph}", self.graph)));
        }
        if node.name == *name && node.address != *address {
            return Err(GraphError::Invalid(format!(
                "the node at {address} is called {name}, too: each needs a name of its own"
            )));
        }
        if fingerprint != self.fingerprint {
            return Err(GraphError::Invalid(format!(
                "{name} at {address} has other files of the lake: end all nodes, and start them over the same files. Files that are copied must keep their times"
            )));
        }
        let mut met = self.met();
        met.retain(|_, (_, heard)| heard.elapsed() < HEARD);
        if met.len() >= NODES_MAX && !met.contains_key(&node.name) {
            return Err(GraphError::Unavailable(format!(
                "{name} at {address} knows {NODES_MAX} other nodes: more are too many"
            )));
        }
        met.insert(node.name.clone(), (node, Instant::now()));
        drop(met);
        Ok(Reply::Lake(self.hello()))
    }

    /// Fails if who asks has seen other files.
    fn must_be(&self, fingerprint: u128) -> Result<()> {
        match fingerprint == self.fingerprint {
            true => Ok(()),
            false => Err(GraphError::Unavailable(format!(
                "{} reads other files of the lake now: connect again, or call refresh()",
                self.own.name
            ))),
        }
    }

    /// Notes which chunks a call reads.
    fn note(&self, within: Option<&LakeRange>, ask: &Ask) {
        let mut chunks: Vec<Chunk> = Vec::new();
        let mut add = |(kind, label, local): (ElementKind, LabelId, u64)| {
            let chunk = self.map.chunks.chunk_of(kind, label, local);
            if chunks.last() != Some(&chunk) {
                chunks.push(chunk);
            }
        };
        match (within, ask.elements()) {
            (Some(LakeRange { kind, label, locals }), _) => add((*kind, *label, locals.start)),
            (None, Some((ElementKind::Vertex, ids))) => {
                ids.iter().map(|id| VertexId(*id)).for_each(|id| add((ElementKind::Vertex, id.label(), id.local())));
            }
            (None, Some((ElementKind::Edge, ids))) => {
                ids.iter().map(|id| EdgeId(*id)).for_each(|id| add((ElementKind::Edge, id.label(), id.local())));
            }
            (None, None) => return,
        }
        self.asked().extend(chunks);
    }

    fn answer(&self, within: Option<LakeRange>, ask: Ask, limits: ReadContext) -> Result<Reply> {
        self.note(within.as_ref(), &ask);
        let view = LakeView::new(self.lake.clone(), Some(limits));
        let view = match within {
            Some(LakeRange { kind, label, locals }) => view.within(kind, label, locals),
            None => view,
        };
        Ok(Reply::Answer(answer_of_view(&view, ask)?))
    }

    fn run(&self, message: &[u8], limits: ReadContext) -> Reply {
        let view = LakeView::new(self.lake.clone(), Some(limits.clone()));
        let given = run_fragment(message, &view, &limits);
        given.map_or(Reply::NotRun, |answer| Reply::Fragment(Opaque(answer)))
    }
}

impl Service for LakeService {
    fn conversation(self: Arc<Self>, _: String) -> Arc<dyn Conversation> {
        self
    }

    fn answered(&self) -> &Arc<Calls> {
        &self.answered
    }
}

impl Conversation for LakeService {
    fn serve_for(&self, call: Call, asker: ReadContext) -> Result<Reply> {
        if self.has_ended() {
            return Err(GraphError::Unavailable(format!("{} has ended", self.own.name)));
        }
        match call {
            Call::Hello => Ok(Reply::Lake(self.hello())),
            Call::LakeMap => Ok(Reply::LakeMap(self.map.clone())),
            Call::Meet { graph, fingerprint, node } => self.meet(&graph, fingerprint, node),
            Call::AskLake { fingerprint, left, within, ask } => {
                self.must_be(fingerprint)?;
                self.answer(within, ask, limits(left, asker))
            }
            Call::LakeFragment { fingerprint, left, asked } => {
                self.must_be(fingerprint)?;
                Ok(self.run(&asked.0, limits(left, asker)))
            }
            Call::Stop => {
                self.is_asked_to_stop.store(true, Ordering::Relaxed);
                Ok(Reply::Stopping)
            }
            _ => Err(GraphError::Invalid(format!("{} reads a lake: it has no shards and follows no log", self.own.name))),
        }
    }
}

/// The limits of a call that may take so long.
fn limits(left: Option<Duration>, asker: ReadContext) -> ReadContext {
    let deadline = left.and_then(|left| Instant::now().checked_add(left));
    ReadContext { deadline, timeout: left, ..asker }
}

fn map_of(lake: &Lake) -> LakeMap {
    let schema = lake.schema();
    let labels = [schema.vertex_labels.len(), schema.edge_labels.len()];
    let time = |label: u16| lake.time(LabelId(label)).and_then(|name| schema.key(name));
    LakeMap {
        schema: schema.clone(),
        chunks: Chunks::new(labels, |kind, label| lake.chunk_starts(kind, label)),
        times: (0..labels[1] as u16).map(time).collect(),
        bytes: lake.disk_bytes().ok(),
    }
}
