//! Where the data of a vertex is.

use mangrove_graph::{ElementKind, Result, VertexId};

use super::Reader;
use crate::format::block::Block;
use crate::format::key::{block_slot, place, vertex_prefix};
use crate::read::{columns, labels};
use crate::segments::segment::CHUNK;
use crate::segments::segment::Segment;
use crate::system::fault::lmdb;

impl Reader<'_> {
    /// Whether a segment has a list of edges of a vertex, or decides one of its cells.
    pub fn is_in_segment(&self, segment: &Segment, vertex: VertexId) -> Result<bool> {
        let (label, place) = (vertex.label(), place(vertex.0));
        if segment.places(ElementKind::Vertex, label).contains(&place) {
            return Ok(true);
        }
        let (block, slot) = block_slot(place);
        for column in columns(self, ElementKind::Vertex, label) {
            if segment.says(column, block)? >> slot & 1 != 0 {
                return Ok(true);
            }
        }
        for edges in labels(self, ElementKind::Edge) {
            for outgoing in [true, false] {
                let lists = segment.lists(outgoing, label, edges, place / CHUNK)?;
                if lists.is_some_and(|lists| !lists.list((place % CHUNK) as usize).is_empty()) {
                    return Ok(true);
                }
            }
        }
        Ok(false)
    }

    /// Whether the tables have an edge of a vertex, or decide one of its cells.
    pub fn is_in_tables(&self, vertex: VertexId) -> Result<bool> {
        let (block, slot) = block_slot(place(vertex.0));
        for column in columns(self, ElementKind::Vertex, vertex.label()) {
            let may_be = !self.is_covered(column, block) || !column.is_fixed();
            let found = if may_be { self.block_bytes(column, block)? } else { None };
            let said = found.map(Block::said).transpose()?.map_or(0, |(said, _)| said);
            if said >> slot & 1 != 0 {
                return Ok(true);
            }
        }
        for table in [self.tables.out, self.tables.incoming] {
            if table.prefix_iter(self.txn, &vertex_prefix(vertex)).map_err(lmdb)?.next().is_some() {
                return Ok(true);
            }
        }
        Ok(false)
    }
}
