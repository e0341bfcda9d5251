//! The store of a shard in another process, at one number of the log.

use std::sync::Arc;
use std::time::Duration;

use mangrove_graph::{
    Adjacency, Catalog, Distance, EdgeRef, ElementIds, ElementKind, Elements, ExternalId, GraphView, Hop, KeyId, LabelId,
    Predicate, PropertyColumn, PropertyId, Result, Scan, ScanCursor, Scanned, Schema, SearchCursor, ShardRead, Statistics,
    VertexId,
};

use crate::wire::{Answer, Ask, NextLocals, SentElements, damaged, ids};

/// What a call costs before it reads anything, on one machine or within a rack, and from how many rows on it pays off.
pub const DISTANCE: Distance = Distance { round_trip: Duration::from_micros(200), rows_min: 1024 };

/// What leads to the store of one shard, as it was at one number of the log.
pub trait Line: Clone + Send + Sync + 'static {
    fn ask(&self, ask: &Ask) -> Result<Answer>;

    /// The same for another thread.
    fn for_another_thread(&self) -> Self {
        self.clone()
    }
}

/// What is known of the store without asking.
pub struct Known {
    pub schema: Arc<Schema>,
    pub statistics: Arc<Statistics>,
    pub next: NextLocals,
}

/// The store of a shard that is somewhere else.
#[derive(Clone)]
pub struct Remote<L> {
    line: L,
    known: Arc<Known>,
}

impl<L: Line> Remote<L> {
    pub fn new(line: L, known: Arc<Known>) -> Self {
        Self { line, known }
    }

    fn scanned(&self, ask: &Ask, cursor: &mut ScanCursor) -> Result<Scanned> {
        let Answer::Scanned(found, columns, after) = self.line.ask(ask)? else { return Err(unexpected()) };
        *cursor = after;
        let columns = columns.into_iter().map(|column| column.into_column()).collect::<Result<_>>()?;
        Ok(Scanned { elements: found.into_ids()?, columns })
    }

    fn flags(&self, ask: &Ask, rows: usize) -> Result<Vec<bool>> {
        match self.line.ask(ask)? {
            Answer::Flags(flags) if flags.len() == rows => Ok(flags),
            _ => Err(unexpected()),
        }
    }
}

fn unexpected() -> mangrove_graph::GraphError {
    damaged("an answer")
}

impl<L: Line> Catalog for Remote<L> {
    fn schema(&self) -> &Arc<Schema> {
        &self.known.schema
    }

    fn statistics(&self) -> Result<Arc<Statistics>> {
        Ok(self.known.statistics.clone())
    }

    fn is_searchable(&self, of: PropertyId, predicate: &Predicate) -> bool {
        // Those above know the declarations, and ask only if these do not tell. If the shard does not answer, the search itself fails.
        self.flags(&Ask::IsSearchable(of, predicate.clone()), 1).map_or(true, |flags| flags == [true])
    }

    fn candidates(&self, of: PropertyId, predicate: &Predicate) -> Result<u64> {
        match self.line.ask(&Ask::Candidates(of, predicate.clone()))? {
            Answer::Number(number) => Ok(number),
            _ => Err(unexpected()),
        }
    }
}

impl<L: Line> ShardRead for Remote<L> {
    fn next_local(&self, kind: ElementKind, label: LabelId) -> Result<u64> {
        Ok(self.known.next.of(kind, label))
    }
}

impl<L: Line> GraphView for Remote<L> {
    fn distance(&self) -> Distance {
        DISTANCE
    }

    fn scan_vertices(&self, scan: &Scan, cursor: &mut ScanCursor, limit: usize, out: &mut Vec<VertexId>) -> Result<()> {
        let ask = Ask::ScanIds(ElementKind::Vertex, scan.clone(), cursor.clone(), limit as u64);
        out.extend(self.scanned(&ask, cursor)?.elements.into_vertices());
        Ok(())
    }

    fn scan_edges(&self, scan: &Scan, cursor: &mut ScanCursor, limit: usize, out: &mut Vec<EdgeRef>) -> Result<()> {
        let ask = Ask::ScanIds(ElementKind::Edge, scan.clone(), cursor.clone(), limit as u64);
        out.extend(self.scanned(&ask, cursor)?.elements.into_edges());
        Ok(())
    }

    fn scan(&self, kind: ElementKind, scan: &Scan, cursor: &mut ScanCursor, limit: usize) -> Result<Scanned> {
        self.scanned(&Ask::Scan(kind, scan.clone(), cursor.clone(), limit as u64), cursor)
    }

    fn count(&self, kind: ElementKind, scan: &Scan, cursor: &mut ScanCursor) -> Result<u64> {
        match self.line.ask(&Ask::Count(kind, scan.clone(), cursor.clone()))? {
            Answer::Counted(count, after) => {
                *cursor = after;
                Ok(count)
            }
            _ => Err(unexpected()),
        }
    }

    fn find_vertices(&self, label: Option<LabelId>, ids: &[ExternalId], out: &mut Vec<Option<VertexId>>) -> Result<()> {
        match self.line.ask(&Ask::FindVertices(label, ids.to_vec()))? {
            Answer::Vertices(found) if found.len() == ids.len() => {
                out.extend(found.into_iter().map(|found| found.map(VertexId)));
                Ok(())
            }
            _ => Err(unexpected()),
        }
    }

    fn find_edges(&self, ids: &[ExternalId], out: &mut Vec<Option<EdgeRef>>) -> Result<()> {
        match self.line.ask(&Ask::FindEdges(ids.to_vec()))? {
            Answer::Edges(there, edges) if there.len() == ids.len() => {
                let mut edges = edges.into_edges()?.into_iter();
                out.extend(there.into_iter().map(|there| if there { edges.next() } else { None }));
                Ok(())
            }
            _ => Err(unexpected()),
        }
    }

    fn external_ids(&self, elements: Elements<'_>) -> Result<PropertyColumn> {
        match self.line.ask(&Ask::ExternalIds(SentElements::new(elements)))? {
            Answer::Column(column) => {
                Some(column.into_column()?).filter(|column| column.len() == elements.len()).ok_or_else(unexpected)
            }
            _ => Err(unexpected()),
        }
    }

    fn contain(&self, elements: Elements<'_>) -> Result<Vec<bool>> {
        self.flags(&Ask::Contain(SentElements::new(elements)), elements.len())
    }

    fn all_further_labels(&self, vertices: &[VertexId], out: &mut Vec<Vec<LabelId>>) -> Result<()> {
        match self.line.ask(&Ask::FurtherLabels(ids(vertices)))? {
            Answer::Labels(mut labels) if labels.len() == vertices.len() => {
                out.append(&mut labels);
                Ok(())
            }
            _ => Err(unexpected()),
        }
    }

    fn neighbors(&self, from: &[VertexId], hop: &Hop, out: &mut Adjacency) -> Result<()> {
        match self.line.ask(&Ask::Neighbors(ids(from), hop.clone()))? {
            Answer::Hops(found) => found.append_to(out),
            _ => Err(unexpected()),
        }
    }

    fn degrees(&self, from: &[VertexId], hop: &Hop, out: &mut Vec<u64>) -> Result<()> {
        match self.line.ask(&Ask::Degrees(ids(from), hop.clone()))? {
            Answer::Counts(mut counts) if counts.len() == from.len() => {
                out.append(&mut counts);
                Ok(())
            }
            _ => Err(unexpected()),
        }
    }

    fn columns(&self, elements: Elements<'_>, keys: &[KeyId], out: &mut Vec<PropertyColumn>) -> Result<()> {
        match self.line.ask(&Ask::Columns(SentElements::new(elements), keys.to_vec()))? {
            Answer::Columns(columns) if columns.len() == keys.len() => {
                for column in columns {
                    out.push(column.into_column()?);
                }
                Ok(())
            }
            _ => Err(unexpected()),
        }
    }

    fn keys(&self, elements: Elements<'_>, out: &mut Vec<KeyId>) -> Result<()> {
        match self.line.ask(&Ask::Keys(SentElements::new(elements)))? {
            Answer::Keys(mut keys) => {
                out.append(&mut keys);
                Ok(())
            }
            _ => Err(unexpected()),
        }
    }

    fn have(&self, elements: Elements<'_>, key: KeyId) -> Result<Vec<bool>> {
        self.flags(&Ask::Have(SentElements::new(elements), key), elements.len())
    }

    fn pass(&self, elements: Elements<'_>, key: KeyId, predicate: &Predicate) -> Result<Vec<bool>> {
        self.flags(&Ask::Pass(SentElements::new(elements), key, predicate.clone()), elements.len())
    }

    fn fork(&self) -> Result<Option<Box<dyn GraphView + Send>>> {
        Ok(Some(Box::new(Self { line: self.line.for_another_thread(), known: self.known.clone() })))
    }

    fn sources(&self) -> Result<Vec<(String, Vec<u8>)>> {
        match self.line.ask(&Ask::Sources)? {
            Answer::Sources(sources) => Ok(sources),
            _ => Err(unexpected()),
        }
    }

    fn listed_shards(&self, of: PropertyId, hashes: &[u64]) -> Result<Option<Vec<Vec<u16>>>> {
        match self.line.ask(&Ask::Listed(of, hashes.to_vec()))? {
            Answer::Listed(listed) if listed.as_ref().is_none_or(|listed| listed.len() == hashes.len()) => Ok(listed),
            _ => Err(unexpected()),
        }
    }

    fn search(
        &self,
        of: PropertyId,
        predicate: &Predicate,
        cursor: &mut SearchCursor,
        limit: usize,
    ) -> Result<Option<ElementIds>> {
        match self.line.ask(&Ask::Search(of, predicate.clone(), cursor.clone(), limit as u64))? {
            Answer::Found(found, after) => {
                *cursor = after;
                found.map(|found| found.into_ids()).transpose()
            }
            _ => Err(unexpected()),
        }
    }
}
