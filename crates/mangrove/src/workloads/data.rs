//! Makes the graph of a workload.

use std::sync::Arc;

use arrow_array::{ArrayRef, Int64Array, StringArray};
use hashbrown::HashSet;
use mangrove_analytics::algorithms::Random;
use mangrove_directory::{Patience, Writer};
use mangrove_graph::{
    EdgeRef, ElementKind, Elements, ExternalId, GraphError, NewEdge, PropertyColumn, PropertyId, Schema, Value, VertexId,
};
use mangrove_ingest::{Phase, Progress, Status};

use super::skew::{permutation, power};
use super::values::UserValues;
use super::workload::Workload;
use crate::backend::BulkLoad;
use crate::error::LoadError;
use crate::{Database, StoreError};

/// The label of users, and those of edges between them.
pub const USER: &str = "User";
pub const TYPES: [&str; 5] = ["friend", "follows", "likes", "comments", "tags"];
/// The key of the times of edges, in seconds, and that of what they carry.
pub const TIME: &str = "ts";
pub const PAYLOAD: &str = "payload";
/// Properties of users that graph search asks for.
pub const CITY: &str = "city";
pub const INTEREST: &str = "interest";

/// When the first edge was made, and how long it took until the last one: 50 days.
pub const BEGIN: i64 = 1_400_000_000;
pub const SPAN: i64 = 50 * 86_400;

/// The share of users that no edge leaves (LinkBench).
const WITHOUT_EDGES: f64 = 0.45;
const ROWS_AT_ONCE: usize = 16_384;
/// Fewer users have not as many different edges.
const USERS_MIN: u64 = 100;

/// A graph of users, and what it holds.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct SocialGraph {
    pub users: u64,
    pub edges: u64,
    /// The bytes that each edge carries beside its time.
    pub payload_bytes: usize,
    pub seed: u64,
}

impl SocialGraph {
    /// As many edges for each user as in ZipG's measurements: 4.35.
    pub fn new(users: u64) -> Self {
        Self { users, edges: users * 435 / 100, payload_bytes: 128, seed: 1 }
    }
}

/// Whether a graph has the labels and keys that a workload needs.
pub fn is_social(schema: &Schema, workload: Workload) -> bool {
    let types = TYPES.iter().all(|name| {
        let label = schema.label(ElementKind::Edge, name).and_then(|label| schema.label_schema(ElementKind::Edge, label));
        label.is_some_and(|label| label.time.is_some() && label.time == schema.key(TIME))
    });
    let user = schema.label(ElementKind::Vertex, USER).and_then(|label| schema.label_schema(ElementKind::Vertex, label));
    let has = |name: &&str| user.zip(schema.key(name)).is_some_and(|(label, key)| label.property(key).is_some());
    let label = schema.label(ElementKind::Vertex, USER);
    let is_indexed = |name: &&str| {
        let of = label.zip(schema.key(name)).map(|(label, key)| PropertyId::of_vertices(label, key));
        of.is_some_and(|of| schema.index(of).is_some())
    };
    types && workload.keys().iter().all(has) && workload.indexed().iter().all(is_indexed)
}

/// Loads the graph of a workload into an empty database, with indexes of the properties that its searches ask for.
pub fn make(
    database: &Database,
    workload: Workload,
    graph: &SocialGraph,
    progress: &mut dyn Progress,
) -> Result<(), LoadError> {
    if graph.users < USERS_MIN || graph.users > u64::from(u32::MAX) {
        let reason = format!("the graph of a workload needs at least {USERS_MIN} users, and fewer than 2^32");
        return Err(GraphError::Invalid(reason).into());
    }
    let possible = (graph.users as f64 * (1.0 - WITHOUT_EDGES)).floor() * TYPES.len() as f64;
    if graph.edges as f64 > possible * (graph.users - 1) as f64 / 20.0 && graph.edges > 20 {
        let reason = format!("{} edges are too many for {} users", graph.edges, graph.users);
        return Err(GraphError::Invalid(reason).into());
    }
    database.guarded(&|| "making the graph of a workload".into(), || {
        let transaction = database.backend().begin(Writer::this_thread(), Patience::ENDLESS)?;
        if !transaction.is_unused()? {
            return Err(GraphError::Invalid("the database is not empty".into()).into());
        }
        let mut bulk = transaction.into_bulk()?;
        write(&mut *bulk, workload, graph, progress)?;
        progress.update(&Status { phase: Phase::Compacting, rows: graph.users + graph.edges, ..Status::default() });
        Ok::<_, LoadError>(bulk.commit(&|| progress.cancelled())?)
    })?;
    for key in workload.indexed() {
        database.create_index(Some(ElementKind::Vertex), USER, key).map_err(of_store)?;
    }
    Ok(())
}

fn of_store(error: StoreError) -> LoadError {
    match error {
        StoreError::Graph(error) => error.into(),
        other => GraphError::Invalid(other.to_string()).into(),
    }
}

fn write(
    bulk: &mut dyn BulkLoad,
    workload: Workload,
    graph: &SocialGraph,
    progress: &mut dyn Progress,
) -> Result<(), LoadError> {
    let into = bulk.graph();
    let mut random = Random::of(&[graph.seed, graph.users]);
    let values = workload.values();
    let (user, time) = (into.ensure_label(ElementKind::Vertex, USER)?, into.ensure_key(TIME)?);
    let payload = into.ensure_key(PAYLOAD)?;
    let mut types = Vec::with_capacity(TYPES.len());
    for name in TYPES {
        types.push(into.ensure_label(ElementKind::Edge, name)?);
        into.declare_time(types[types.len() - 1], time)?;
    }
    let mut shown = |rows: u64| {
        progress.update(&Status { phase: Phase::Vertices, rows, ..Status::default() });
        if progress.cancelled() { Err(LoadError::Load(mangrove_ingest::LoadError::Cancelled)) } else { Ok(()) }
    };
    let mut users: Vec<VertexId> = Vec::with_capacity(graph.users as usize);
    while (users.len() as u64) < graph.users {
        let count = ROWS_AT_ONCE.min(graph.users as usize - users.len());
        let ids: Vec<_> = (0..count).map(|at| Some(ExternalId::Int((users.len() + at) as i64))).collect();
        let first = users.len();
        into.add_vertices(user, &ids, &mut users)?;
        for (key, column) in values.columns(&mut random, count) {
            let key = into.ensure_key(key)?;
            into.set_properties(Elements::Vertices(&users[first..]), key, &PropertyColumn::Typed(column))?;
        }
        shown(users.len() as u64)?;
    }
    let links = links(&mut random, graph);
    for (at, label) in types.iter().enumerate() {
        let of_type: Vec<&Link> = links.iter().filter(|link| usize::from(link.edge_type) == at).collect();
        for links in of_type.chunks(ROWS_AT_ONCE) {
            let new = |link: &&Link| NewEdge {
                source: users[link.source as usize],
                target: users[link.target as usize],
                id: None,
                time: Some(Value::Int64(link.time)),
            };
            let (mut added, edges) = (Vec::with_capacity(links.len()), links.iter().map(new).collect::<Vec<_>>());
            into.add_edges(*label, &edges, &mut added)?;
            let refs = added.iter().zip(&edges).map(|(id, new)| EdgeRef { id: *id, source: new.source, target: new.target });
            let texts = links.iter().map(|_| Some(values.edge_payload(&mut random, graph.payload_bytes)));
            let column: ArrayRef = Arc::new(texts.collect::<StringArray>());
            let refs: Vec<EdgeRef> = refs.collect();
            into.set_properties(Elements::Edges(&refs), payload, &PropertyColumn::Typed(column))?;
            shown(graph.users + refs.len() as u64)?;
        }
    }
    let version: ArrayRef = Arc::new(Int64Array::from(vec![0; users.len()]));
    if workload == Workload::LinkBench {
        let key = into.ensure_key("version")?;
        into.set_properties(Elements::Vertices(&users), key, &PropertyColumn::Typed(version))?;
    }
    Ok(())
}

struct Link {
    source: u32,
    target: u32,
    edge_type: u8,
    time: i64,
}

/// Edges in the order of their times. A type joins two users at most once.
fn links(random: &mut Random, graph: &SocialGraph) -> Vec<Link> {
    let active = ((graph.users as f64 * (1.0 - WITHOUT_EDGES)) as u64).max(1);
    let out = permutation(random, graph.users);
    // A user's rank by edges out and by edges in: the two correlate but are not the same.
    let mut into = permutation(random, graph.users);
    (0..into.len()).filter(|_| random.below(2) == 0).collect::<Vec<_>>().into_iter().for_each(|at| into[at] = out[at]);
    let mut found: HashSet<(u32, u8, u32)> = HashSet::with_capacity(graph.edges as usize);
    let step = (SPAN / (graph.edges.max(1) as i64)).max(1);
    let moment = |place: usize| BEGIN + (place as i128 * i128::from(SPAN) / i128::from(graph.edges.max(1))) as i64;
    let mut links = Vec::with_capacity(graph.edges as usize);
    while (links.len() as u64) < graph.edges {
        let source = out[power(random, active, 2.5) as usize];
        let target = into[power(random, graph.users, 2.0) as usize];
        let edge_type = random.below(TYPES.len() as u64) as u8;
        if source != target && found.insert((source, edge_type, target)) {
            let time = moment(links.len()) + random.below(step as u64) as i64;
            links.push(Link { source, target, edge_type, time });
        }
    }
    links
}

impl Workload {
    pub(super) fn values(self) -> UserValues {
        match self {
            Workload::Tao | Workload::GraphSearch => UserValues::profile(),
            Workload::LinkBench => UserValues::payload(128),
        }
    }

    /// Keys that users must have.
    fn keys(self) -> &'static [&'static str] {
        match self {
            Workload::Tao => &["status", "updated"],
            Workload::LinkBench => &["data"],
            Workload::GraphSearch => &[CITY, INTEREST],
        }
    }

    fn indexed(self) -> &'static [&'static str] {
        match self {
            Workload::GraphSearch => &[CITY, INTEREST],
            Workload::Tao | Workload::LinkBench => &[],
        }
    }
}
