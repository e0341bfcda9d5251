//! Finds elements by external ids, and external ids of elements.

use mangrove_graph::{
    Cell, EdgeId, EdgeRef, ElementId, ElementKind, ExternalId, GraphError, IdSpace, LabelId, Result, Value, VertexId,
};

use super::Reader;
use crate::format::key::{Column, KeyBytes, block_slot, flip, place, unflip};
use crate::format::names;
use crate::format::sort;
use crate::shared::notes::Clean;
use crate::system::fault::{corrupt, lmdb};

/// From this many ids on, they are looked up in the order of the table.
const SORTED_FROM: usize = 256;

impl<'t> Reader<'t> {
    pub fn find_vertices(&self, label: Option<LabelId>, ids: &[ExternalId], out: &mut Vec<Option<VertexId>>) -> Result<()> {
        let space = match (self.schema.id_space, label) {
            (IdSpace::Graph, _) => None,
            (IdSpace::Label, Some(label)) => Some(label),
            (IdSpace::Label, None) => {
                out.extend(ids.iter().map(|_| None));
                return Ok(());
            }
        };
        let first = out.len();
        match integers(ids).filter(|integers| integers.len() >= SORTED_FROM) {
            Some(integers) => self.with_notes(&Clean::default()).find_integers(space, &integers, out)?,
            None => {
                let mut key = Vec::with_capacity(32);
                let has_no_ids = self.has_no_ids()?;
                for (row, id) in ids.iter().enumerate() {
                    self.go_on(row)?;
                    let found = if has_no_ids { None } else { self.vertex_in_tables(space, id, &mut key)? };
                    out.push(found.map_or_else(|| self.sealed_vertex(space, id), |found| Ok(Some(found)))?);
                }
            }
        }
        if let Some(label) = label {
            out[first..].iter_mut().for_each(|found| *found = found.filter(|vertex| vertex.label() == label));
        }
        Ok(())
    }

    /// The vertex with this id, if the tables have it. `key` is a buffer.
    fn vertex_in_tables(&self, space: Option<LabelId>, id: &ExternalId, key: &mut Vec<u8>) -> Result<Option<VertexId>> {
        key.clear();
        names::put(key, space, id);
        let found = self.get(self.tables.ids, key)?.map(vertex).transpose()?;
        self.verified(found, id)
    }

    /// Looks many integer ids up in one walk.
    fn find_integers(&self, space: Option<LabelId>, ids: &[i64], out: &mut Vec<Option<VertexId>>) -> Result<()> {
        let keys: Vec<u64> = ids.iter().map(|id| flip(*id)).collect();
        let first = out.len();
        out.resize(first + ids.len(), None);
        let (mut walk, has_no_ids) = (self.walk(self.tables.ids), self.has_no_ids()?);
        let mut last: Option<(u64, Option<VertexId>)> = None;
        for (row, at) in sort::order(&keys).into_iter().enumerate() {
            self.go_on(row)?;
            let id = keys[at as usize];
            let found = match last {
                Some((same, found)) if same == id => found,
                _ => {
                    let key = match space {
                        None => KeyBytes::new(&[&[1], &id.to_be_bytes()]),
                        Some(label) => KeyBytes::new(&[&label.0.to_be_bytes(), &[1], &id.to_be_bytes()]),
                    };
                    let steps = if last.is_some_and(|(last, _)| id - last <= 8) { 8 } else { 0 };
                    let at = if has_no_ids { None } else { walk.seek(key, steps)? };
                    let at = at.filter(|(found, _)| *found == &key[..]);
                    match at.map(|(_, value)| vertex(value)).transpose()? {
                        None => self.sealed_vertex(space, &ExternalId::Int(unflip(id)))?,
                        found => found,
                    }
                }
            };
            last = Some((id, found));
            out[first + at as usize] = found;
        }
        Ok(())
    }

    /// `found`, unless it only has the same shortened id as the one looked for.
    fn verified(&self, found: Option<VertexId>, id: &ExternalId) -> Result<Option<VertexId>> {
        match found {
            Some(vertex) if names::is_shortened(id) && self.external_id(vertex)? != *id => Ok(None),
            found => Ok(found),
        }
    }

    /// The sealed vertex with an id that the tables do not have.
    pub fn sealed_vertex(&self, space: Option<LabelId>, id: &ExternalId) -> Result<Option<VertexId>> {
        let is_it = |raw| {
            let vertex = VertexId(raw);
            Ok(space.is_none_or(|label| label == vertex.label()) && self.vertex_name(vertex)?.as_ref() == Some(id))
        };
        Ok(self.segments.find(ElementKind::Vertex, id, is_it)?.map(VertexId))
    }

    /// The sealed edge with an id that its user gave it and that the tables do not have.
    pub fn sealed_edge(&self, id: &ExternalId) -> Result<Option<EdgeId>> {
        let is_it = |raw| Ok(self.edge_external_id(EdgeId(raw))?.as_ref() == Some(id));
        Ok(self.segments.find(ElementKind::Edge, id, is_it)?.map(EdgeId))
    }

    /// The edge to which its user gave this id.
    fn named_edge(&self, id: &ExternalId) -> Result<Option<EdgeId>> {
        if let Some(found) = self.tables.edge_ids.get(self.txn, &names::key(None, id)).map_err(lmdb)? {
            let edge = EdgeId(word(found)?);
            if !names::is_shortened(id) || self.edge_external_id(edge)?.as_ref() == Some(id) {
                return Ok(Some(edge));
            }
        }
        self.sealed_edge(id)
    }

    pub fn find_edges(&self, ids: &[ExternalId], out: &mut Vec<Option<EdgeRef>>) -> Result<()> {
        for (row, id) in ids.iter().enumerate() {
            self.go_on(row)?;
            let found = match (self.named_edge(id)?, EdgeId::from_generated(id)) {
                (Some(edge), _) => self.edge(edge)?,
                (None, Some(edge)) => self.unnamed_edge(edge)?,
                (None, None) => None,
            };
            out.push(found);
        }
        Ok(())
    }

    /// The external id of a vertex, if it is there.
    pub fn vertex_name(&self, vertex: VertexId) -> Result<Option<ExternalId>> {
        external(self.cell_at(Column::external(ElementKind::Vertex, vertex.label()), place(vertex.0))?)
    }

    /// The edge with this generated id, if its user gave it no other.
    fn unnamed_edge(&self, id: EdgeId) -> Result<Option<EdgeRef>> {
        match self.edge(id)? {
            Some(edge) if self.edge_external_id(id)?.is_none() => Ok(Some(edge)),
            _ => Ok(None),
        }
    }

    /// The edge of an id with its ends.
    pub fn edge(&self, id: EdgeId) -> Result<Option<EdgeRef>> {
        let (block, slot) = block_slot(place(id.0));
        let mut found = None;
        if let Some(ends) = self.block(Column::ends(id.label()), block)? {
            self.each_edge_in(id.label(), block, &ends, [slot], |edge| found = Some(edge))?;
        }
        Ok(found)
    }

    pub fn external_id(&self, vertex: VertexId) -> Result<ExternalId> {
        self.vertex_name(vertex)?.ok_or_else(|| GraphError::no_such(ElementId::Vertex(vertex)))
    }

    pub fn edge_external_id(&self, edge: EdgeId) -> Result<Option<ExternalId>> {
        external(self.cell_at(Column::external(ElementKind::Edge, edge.label()), place(edge.0))?)
    }

    pub fn contains(&self, element: ElementId) -> Result<bool> {
        let (block, slot) = block_slot(place(element.raw()));
        Ok(self.alive(element.kind(), element.label(), block)? >> slot & 1 != 0)
    }
}

/// The ids as integers, if all are.
fn integers(ids: &[ExternalId]) -> Option<Vec<i64>> {
    let integer = |id: &ExternalId| if let ExternalId::Int(i) = id { Some(*i) } else { None };
    ids.first().and_then(integer)?;
    ids.iter().map(integer).collect()
}

fn vertex(value: &[u8]) -> Result<VertexId> {
    word(value).map(VertexId)
}

/// The id an entry of `ids` or `edge_ids` names.
pub fn word(value: &[u8]) -> Result<u64> {
    value.try_into().map(u64::from_le_bytes).map_err(|_| corrupt("an id of the wrong length"))
}

/// The id in a cell of an external-id column.
pub fn external(cell: Cell) -> Result<Option<ExternalId>> {
    match cell {
        Cell::Absent => Ok(None),
        Cell::One(value) => ExternalId::from_value(&value).map(Some).ok_or_else(|| corrupt("an invalid id")),
        Cell::Many(_) => Err(corrupt("several ids of one element")),
    }
}

/// The labels in a cell of a further-label column.
pub fn labels(cell: Cell) -> Result<Vec<LabelId>> {
    match cell {
        Cell::Absent => Ok(Vec::new()),
        Cell::One(Value::Bytes(bytes)) if bytes.len() % 2 == 0 => {
            Ok(bytes.as_chunks::<2>().0.iter().map(|label| LabelId(u16::from_le_bytes(*label))).collect())
        }
        _ => Err(corrupt("invalid further labels")),
    }
}
