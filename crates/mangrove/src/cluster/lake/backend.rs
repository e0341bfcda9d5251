//! A lake on nodes as a database that is read.

use std::fmt;
use std::path::Path;
use std::sync::{Arc, PoisonError, RwLock};

use mangrove_cluster::gateway::Limits;
use mangrove_cluster::lake::{LakeParts, LakeRead, OpenedLake};
use mangrove_directory::{CheckReport, Patience, StoreStats, Writer};
use mangrove_graph::{
    Catalog, Distance, EdgeRef, GraphError, GraphView, KeyId, LabelId, ReadContext, Result, Schema, Through, VertexId,
};
use mangrove_ingest::Progress;
use mangrove_lake::LakeChanges;
use mangrove_link::{GraphAddress, LakeWays, Nodes};
use mangrove_query::{Fleet, Ran};

use crate::backend::{Backend, BackendTransaction, BackendView, ViewLater};
use crate::lake::READ_ONLY;

/// A lake on nodes.
pub struct LakeNodesBackend {
    address: GraphAddress,
    /// The files as the nodes had them when they were last asked what there is.
    seen: RwLock<Arc<OpenedLake>>,
}

impl LakeNodesBackend {
    /// The lake of the nodes that were found at an address.
    ///
    /// # Errors
    /// If no node tells what there is.
    pub fn over(address: &GraphAddress, ways: LakeWays) -> Result<Self> {
        Ok(Self { address: address.clone(), seen: RwLock::new(seen(ways)?) })
    }

    fn seen(&self) -> Arc<OpenedLake> {
        self.seen.read().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

fn seen(ways: LakeWays) -> Result<Arc<OpenedLake>> {
    let (map, fingerprint) = (ways.map()?, ways.fingerprint());
    Ok(Arc::new(OpenedLake::new(Arc::new(ways), fingerprint, map)))
}

fn refused<T>(hint: &str) -> Result<T> {
    Err(GraphError::Invalid(format!("the nodes of a lake only read its files: {hint}")))
}

impl Backend for LakeNodesBackend {
    fn view(&self, limits: Option<ReadContext>) -> Result<Box<dyn BackendView>> {
        Ok(Box::new(Read::new(self.seen(), limits)))
    }

    fn view_later(&self) -> Option<ViewLater> {
        let seen = self.seen();
        Some(Box::new(move || Ok(Box::new(Read::new(seen.clone(), None)))))
    }

    fn is_far(&self) -> bool {
        true
    }

    fn begin(&self, _: Writer, _: Patience<'_>) -> Result<Box<dyn BackendTransaction>> {
        Err(GraphError::Invalid(READ_ONLY.into()))
    }

    fn is_read_only(&self) -> bool {
        true
    }

    fn check(&self) -> Result<CheckReport> {
        refused("check them where they are, with `mangrove check` and the name of the file that describes the graph")
    }

    fn stats(&self) -> Result<StoreStats> {
        match self.seen().map().bytes {
            Some(file_bytes) => Ok(StoreStats { file_bytes, ..StoreStats::default() }),
            None => refused("their store does not say how many bytes there are"),
        }
    }

    /// Nodes see the files that were there when they started. Others may have been started since then.
    fn refresh(&self) -> Result<LakeChanges> {
        let Nodes::Lake(ways) = mangrove_link::find(&self.address, &format!("process {}", std::process::id()))? else {
            return Err(GraphError::Unavailable("the nodes have no lake any more".into()));
        };
        let new = seen(ways)?;
        *self.seen.write().unwrap_or_else(PoisonError::into_inner) = new;
        Ok(LakeChanges::default())
    }

    fn index_edges(&self, _: Option<ReadContext>, _: &mut dyn Progress) -> Result<u64> {
        refused(
            "each makes an index of edges when it needs one. `mangrove lake index` makes them before, for the nodes of a machine",
        )
    }

    fn backup(&self, _: &Path) -> Result<()> {
        refused("copy their directory for a backup")
    }

    fn compact(&self, _: Writer, _: Patience<'_>) -> Result<u64> {
        refused("there is nothing to compact")
    }
}

/// The graph, for one reader.
struct Read {
    graph: LakeRead,
    seen: Arc<OpenedLake>,
    limits: Limits,
}

impl Read {
    fn new(seen: Arc<OpenedLake>, limits: Option<ReadContext>) -> Self {
        let shared = Limits::default();
        shared.set(limits);
        Self { graph: LakeRead::new(seen.clone(), shared.clone()), seen, limits: shared }
    }
}

impl Through for Read {
    type View<'a> = &'a LakeRead;

    fn through(&self) -> Result<&LakeRead> {
        Ok(&self.graph)
    }

    fn schema(&self) -> &Arc<Schema> {
        self.graph.schema()
    }

    fn distance(&self) -> Distance {
        GraphView::distance(&self.graph)
    }

    fn fork(&self) -> Result<Option<Box<dyn GraphView + Send>>> {
        GraphView::fork(&self.graph)
    }
}

impl BackendView for Read {
    fn limit(&mut self, limits: Option<ReadContext>) {
        self.limits.set(limits);
    }

    fn version(&self) -> Option<u64> {
        Some(self.seen.number())
    }

    fn fleet(&self) -> Option<Arc<dyn Fleet>> {
        let parts = LakeParts::new(&self.seen).ok()?; // without nodes, reading says why
        Some(Arc::new(LakeFleet(parts)))
    }

    fn noted_time(&self, label: LabelId) -> Option<KeyId> {
        self.seen.map().times.get(usize::from(label.0)).copied().flatten()
    }
}

/// The nodes of a lake, for one query. Each runs steps over the chunks that it answers for.
struct LakeFleet(LakeParts);

impl fmt::Debug for LakeFleet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LakeFleet").field("fingerprint", &self.0.seen().fingerprint()).finish_non_exhaustive()
    }
}

impl Fleet for LakeFleet {
    fn node_of_vertex(&self, vertex: VertexId) -> u16 {
        self.0.node_of(&self.0.seen().chunk_of_vertex(vertex))
    }

    fn node_of_edge(&self, edge: &EdgeRef) -> u16 {
        self.0.node_of(&self.0.seen().chunk_of_edge(edge))
    }

    fn run(&self, messages: Vec<(u16, Vec<u8>)>, limits: &ReadContext) -> Vec<Ran> {
        let ran = |told: Result<Option<Vec<u8>>>| match told {
            Ok(Some(answer)) => Ran::Gave(answer),
            Ok(None) => Ran::Refused,
            // Reading step by step, the query asks other nodes.
            Err(GraphError::Unavailable(why)) => {
                tracing::debug!(%why, "a node of a lake runs no steps of a query");
                Ran::Unable
            }
            Err(_) => Ran::Refused,
        };
        self.0.each(messages, limits).into_iter().map(ran).collect()
    }
}
