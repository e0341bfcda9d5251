//! What is asked of the store of a shard, and what it answers. Ids and labels are those of the store.

use mangrove_graph::{
    Adjacency, ElementIds, ElementKind, ExternalId, GraphError, GraphView, Hop, KeyId, LabelId, Predicate, PropertyId,
    Result, Scan, ScanCursor, SearchCursor, ShardRead, Statistics,
};
use serde::{Deserialize, Serialize};

use crate::halves::{Halves, halves};
use crate::names::Own;

use super::ids::Ids;
use super::values::{SentColumn, SentEdges, SentElements, SentHops, SentIds, vertices};

/// One call of a view.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Ask {
    IsSearchable(PropertyId, Predicate),
    Candidates(PropertyId, Predicate),
    ScanIds(ElementKind, Scan, ScanCursor, u64),
    Scan(ElementKind, Scan, ScanCursor, u64),
    Count(ElementKind, Scan, ScanCursor),
    FindVertices(Option<LabelId>, Vec<ExternalId>),
    FindEdges(Vec<ExternalId>),
    ExternalIds(SentElements),
    Contain(SentElements),
    FurtherLabels(Ids),
    Neighbors(Ids, Hop),
    Degrees(Ids, Hop),
    Columns(SentElements, Vec<KeyId>),
    Keys(SentElements),
    Have(SentElements, KeyId),
    Pass(SentElements, KeyId, Predicate),
    Search(PropertyId, Predicate, SearchCursor, u64),
    /// The sums over the halves of edges at the store of this shard.
    Halves(Own),
    /// How far sources were read, as this shard keeps it.
    Sources,
    /// The shards that the directory lists here for the hashes of values of a property.
    Listed(PropertyId, Vec<u64>),
    /// How many elements each label has.
    Statistics,
}

impl Ask {
    /// The elements that it names, as raw ids.
    pub fn elements(&self) -> Option<(ElementKind, &[u64])> {
        match self {
            Ask::FurtherLabels(of) | Ask::Neighbors(of, _) | Ask::Degrees(of, _) => Some((ElementKind::Vertex, &of.0)),
            Ask::ExternalIds(of)
            | Ask::Contain(of)
            | Ask::Columns(of, _)
            | Ask::Keys(of)
            | Ask::Have(of, _)
            | Ask::Pass(of, ..) => Some(of.raw()),
            _ => None,
        }
    }

    /// Whether it most likely takes a moment only: it names the elements that are read, or an index leads to them.
    pub fn is_brief(&self) -> bool {
        match self {
            Ask::FindVertices(..) | Ask::FindEdges(_) | Ask::ExternalIds(_) | Ask::Contain(_) | Ask::FurtherLabels(_) => {
                true
            }
            Ask::Neighbors(..) | Ask::Degrees(..) | Ask::Columns(..) | Ask::Keys(_) | Ask::Have(..) | Ask::Pass(..) => true,
            Ask::IsSearchable(..) | Ask::Candidates(..) | Ask::Search(..) | Ask::Listed(..) => true,
            Ask::ScanIds(..) | Ask::Scan(..) | Ask::Count(..) | Ask::Halves(_) | Ask::Sources | Ask::Statistics => false,
        }
    }
}

/// What the store gives.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Answer {
    Number(u64),
    Scanned(SentIds, Vec<SentColumn>, ScanCursor),
    Counted(u64, ScanCursor),
    Vertices(Vec<Option<u64>>),
    /// For each id, whether there is an edge; and the edges.
    Edges(Vec<bool>, SentEdges),
    Column(SentColumn),
    Columns(Vec<SentColumn>),
    Flags(Vec<bool>),
    Labels(Vec<Vec<LabelId>>),
    Hops(SentHops),
    Counts(Vec<u64>),
    Keys(Vec<KeyId>),
    /// `None` if no index answers.
    Found(Option<SentIds>, SearchCursor),
    Halves(Halves),
    Sources(Vec<(String, Vec<u8>)>),
    /// For each hash; `None` if there is no directory.
    Listed(Option<Vec<Vec<u16>>>),
    Statistics(Statistics),
}

/// The local ids that the next elements of each label get.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct NextLocals {
    vertices: Vec<u64>,
    edges: Vec<u64>,
}

impl NextLocals {
    /// Those of a store.
    pub fn of_store(store: &dyn ShardRead) -> Result<Self> {
        let all = |kind| {
            let labels = 0..store.schema().labels(kind).len();
            labels.map(|label| store.next_local(kind, LabelId(label as u16))).collect::<Result<_>>()
        };
        Ok(Self { vertices: all(ElementKind::Vertex)?, edges: all(ElementKind::Edge)? })
    }

    /// 0 for a label that is not there.
    pub fn of(&self, kind: ElementKind, label: LabelId) -> u64 {
        let all = if kind == ElementKind::Vertex { &self.vertices } else { &self.edges };
        all.get(usize::from(label.0)).copied().unwrap_or(0)
    }
}

/// Answers a call.
pub fn answer(store: &dyn ShardRead, ask: Ask) -> Result<Answer> {
    match ask {
        Ask::Halves(own) => Ok(Answer::Halves(halves(store, own)?)),
        ask => answer_of_view(store, ask),
    }
}

/// Answers a call about a graph that may be no shard.
///
/// # Errors
/// Those of the view. [`GraphError::Invalid`] if only a shard has an answer.
pub fn answer_of_view(store: &dyn GraphView, ask: Ask) -> Result<Answer> {
    Ok(match ask {
        Ask::IsSearchable(of, predicate) => Answer::Flags(vec![store.is_searchable(of, &predicate)]),
        Ask::Candidates(of, predicate) => Answer::Number(store.candidates(of, &predicate)?),
        Ask::ScanIds(kind, scan, mut cursor, limit) => {
            let mut found = ElementIds::none(kind);
            match &mut found {
                ElementIds::Vertices(ids) => store.scan_vertices(&scan, &mut cursor, limit as usize, ids)?,
                ElementIds::Edges(edges) => store.scan_edges(&scan, &mut cursor, limit as usize, edges)?,
            }
            Answer::Scanned(SentIds::new(&found), Vec::new(), cursor)
        }
        Ask::Scan(kind, scan, mut cursor, limit) => {
            let scanned = store.scan(kind, &scan, &mut cursor, limit as usize)?;
            Answer::Scanned(SentIds::new(&scanned.elements), sent(scanned.columns)?, cursor)
        }
        Ask::Count(kind, scan, mut cursor) => Answer::Counted(store.count(kind, &scan, &mut cursor)?, cursor),
        Ask::FindVertices(label, ids) => {
            let mut found = Vec::with_capacity(ids.len());
            store.find_vertices(label, &ids, &mut found)?;
            Answer::Vertices(found.into_iter().map(|found| found.map(|vertex| vertex.0)).collect())
        }
        Ask::FindEdges(ids) => {
            let mut found = Vec::with_capacity(ids.len());
            store.find_edges(&ids, &mut found)?;
            let edges: Vec<_> = found.iter().flatten().copied().collect();
            Answer::Edges(found.iter().map(Option::is_some).collect(), SentEdges::new(&edges))
        }
        Ask::Neighbors(from, hop) => {
            let (from, mut found) = (vertices(from), Adjacency::default());
            store.neighbors(&from, &hop, &mut found)?;
            Answer::Hops(SentHops::new(&found, from.len(), hop.wants))
        }
        Ask::Degrees(from, hop) => {
            let (from, mut counts) = (vertices(from), Vec::new());
            store.degrees(&from, &hop, &mut counts)?;
            Answer::Counts(counts)
        }
        Ask::FurtherLabels(of) => {
            let (of, mut labels) = (vertices(of), Vec::new());
            store.all_further_labels(&of, &mut labels)?;
            Answer::Labels(labels)
        }
        Ask::Search(of, predicate, mut cursor, limit) => {
            let found = store.search(of, &predicate, &mut cursor, usize::try_from(limit).unwrap_or(usize::MAX))?;
            Answer::Found(found.as_ref().map(SentIds::new), cursor)
        }
        Ask::Statistics => Answer::Statistics(Statistics::clone(&*store.statistics()?)),
        Ask::Sources => Answer::Sources(store.sources()?),
        Ask::Listed(of, hashes) => Answer::Listed(store.listed_shards(of, &hashes)?),
        of_elements => about(store, of_elements)?,
    })
}

/// Answers a call about elements that it names.
fn about(store: &dyn GraphView, ask: Ask) -> Result<Answer> {
    Ok(match ask {
        Ask::ExternalIds(of) => Answer::Column(SentColumn::new(store.external_ids(of.into_elements().batch())?)?),
        Ask::Contain(of) => Answer::Flags(store.contain(of.into_elements().batch())?),
        Ask::Columns(of, keys) => {
            let mut columns = Vec::with_capacity(keys.len());
            store.columns(of.into_elements().batch(), &keys, &mut columns)?;
            Answer::Columns(sent(columns)?)
        }
        Ask::Keys(of) => {
            let mut keys = Vec::new();
            store.keys(of.into_elements().batch(), &mut keys)?;
            Answer::Keys(keys)
        }
        Ask::Have(of, key) => Answer::Flags(store.have(of.into_elements().batch(), key)?),
        Ask::Pass(of, key, predicate) => Answer::Flags(store.pass(of.into_elements().batch(), key, &predicate)?),
        other => return Err(GraphError::Invalid(format!("{other:?} has no answer here"))),
    })
}

fn sent(columns: Vec<mangrove_graph::PropertyColumn>) -> Result<Vec<SentColumn>> {
    columns.into_iter().map(SentColumn::new).collect()
}
