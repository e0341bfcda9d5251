//! Finds elements by the ids that users know.

use std::sync::Arc;

use hashbrown::HashMap;
use mangrove_graph::{
    Cell, EdgeId, EdgeRef, ElementKind, Elements, ExternalId, IdSpace, LabelId, Predicate, PropertyColumn, ReadContext,
    VertexId,
};

use super::columns::What;
use super::lazy::Lazy;
use super::{Lake, Layout, VertexFiles, VertexType};
use crate::error::{LakeError, Result};
use crate::index::IdsIndex;

/// The local id of each edge of a label that has an id of its own.
pub type ById = HashMap<ExternalId, u64>;

/// Filled when an edge of the label is first looked up.
pub type LazyIds = Lazy<ById>;

/// More ids than this are looked up among all.
const IDS_MAX: usize = 64;
/// More vertices than this are not looked at for a few ids.
const ROWS_MAX: u64 = 1 << 14;
/// Of smaller tables far away, all ids are read at once.
const FAR_ROWS_MAX: u64 = 1 << 20;
/// Edges whose ids are read at a time.
const AT_ONCE: u64 = 1 << 16;

impl Lake {
    /// The vertices with these ids, of one label or of any.
    ///
    /// A few ids are looked up in the pages whose bounds they lie between. If these are many, because ids are in no order, the first
    /// such look-up in a label reads all its ids and makes an index of them.
    pub(super) fn find_vertices(
        &self,
        label: Option<LabelId>,
        ids: &[ExternalId],
        limits: Option<&ReadContext>,
    ) -> Result<Vec<Option<VertexId>>> {
        let Some(label) = label else {
            let mut found = vec![None; ids.len()];
            let labels = if self.schema.id_space == IdSpace::Graph { self.vertices.len() } else { 0 };
            for label in (0..labels as u16).map(LabelId) {
                for (found, here) in found.iter_mut().zip(self.find_vertices(Some(label), ids, limits)?) {
                    *found = found.or(here);
                }
            }
            return Ok(found);
        };
        let Some(of) = self.vertex_type(label) else { return Ok(vec![None; ids.len()]) };
        let generated = |id: &ExternalId| {
            let Some(vertex) = VertexId::from_generated(id).filter(|vertex| vertex.label() == label) else {
                return Ok(None);
            };
            Ok(self.is_there(vertex, limits)?.then_some(vertex))
        };
        if of.columns.id.is_none() {
            return ids.iter().map(generated).collect();
        }
        // Far away, all ids of a small table take hardly longer than one page, and later look-ups take no time.
        let is_worth_it = self.is_far() && of.rows.count() <= FAR_ROWS_MAX;
        let mut found = match self.ids_index(of, !is_worth_it, limits)? {
            Some(index) => self.find_in_index(label, &index, ids, limits)?,
            None => match self.find_in_pages(label, of, ids, limits)? {
                Some(found) => found,
                None => match self.ids_index(of, false, limits)? {
                    Some(index) => self.find_in_index(label, &index, ids, limits)?,
                    None => vec![None; ids.len()],
                },
            },
        };
        // Vertices whose files give them no id have generated ones.
        for (found, id) in found.iter_mut().zip(ids).filter(|(found, _)| found.is_none()) {
            if let Some(vertex) = generated(id)?
                && ExternalId::from_value(&self.id_of(vertex, limits)?).as_ref() == Some(id)
            {
                *found = Some(vertex);
            }
        }
        Ok(found)
    }

    /// The vertices with these ids. Reads the ids of those that may have one, if the index is not sure.
    fn find_in_index(
        &self,
        label: LabelId,
        index: &IdsIndex,
        ids: &[ExternalId],
        limits: Option<&ReadContext>,
    ) -> Result<Vec<Option<VertexId>>> {
        let candidates = ids.iter().map(|id| index.find(id)).collect::<Result<Vec<_>>>()?;
        let vertex = |row: &u64| VertexId::new(label, 0, *row);
        let unsure = candidates.iter().filter(|of| !of.is_sure);
        let unsure: Vec<VertexId> = unsure.flat_map(|of| of.rows.iter().map(vertex)).collect();
        let theirs = self.ids(Elements::Vertices(&unsure), limits)?;
        let mut at = 0;
        let mut found = Vec::with_capacity(ids.len());
        for (id, of) in ids.iter().zip(&candidates) {
            if of.is_sure {
                found.push(of.rows.first().map(vertex));
                continue;
            }
            let here = at..at + of.rows.len();
            at = here.end;
            let has_it =
                |row: &usize| theirs.cell(*row).values().next().and_then(ExternalId::from_value).as_ref() == Some(id);
            found.push(here.clone().find(has_it).map(|row| unsure[row]));
        }
        Ok(found)
    }

    /// The vertices with these ids, if few vertices have to be looked at.
    fn find_in_pages(
        &self,
        label: LabelId,
        of: &VertexType,
        ids: &[ExternalId],
        limits: Option<&ReadContext>,
    ) -> Result<Option<Vec<Option<VertexId>>>> {
        let Some(column) = of.columns.id.as_ref().filter(|_| ids.len() <= IDS_MAX) else { return Ok(None) };
        let wanted = Predicate::Within(ids.iter().map(ExternalId::to_value).collect::<Vec<_>>().into());
        let paths = of.files(column.group);
        // All footers come together.
        for (chunk, table) in (0..).zip(self.tables.at(&paths, limits)?) {
            table.must_have(&self.tables.files, of.rows_of(chunk))?;
        }
        let mut vertices: Vec<VertexId> = Vec::new();
        for (chunk, path) in (0..).zip(paths) {
            for rows in self.rows_that_may(path, column, &wanted, limits)? {
                if vertices.len() as u64 + (rows.end - rows.start) > ROWS_MAX {
                    return Ok(None);
                }
                let first = of.rows.locals(chunk).start;
                vertices.extend(rows.map(|row| VertexId::new(label, 0, first + row)));
            }
        }
        let found = self.ids(Elements::Vertices(&vertices), limits)?;
        let mut known: HashMap<ExternalId, VertexId> = HashMap::new();
        for row in found.passes(&wanted).into_iter().enumerate().filter(|(_, passes)| *passes).map(|(row, _)| row) {
            if let Some(id) = found.cell(row).values().next().and_then(ExternalId::from_value)
                && self.is_there(vertices[row], limits)?
            {
                known.entry(id).or_insert(vertices[row]);
            }
        }
        Ok(Some(ids.iter().map(|id| known.get(id).copied()).collect()))
    }

    /// The edges with these ids, given by users or generated.
    pub(super) fn find_edges(&self, ids: &[ExternalId], limits: Option<&ReadContext>) -> Result<Vec<Option<EdgeRef>>> {
        let mut found: Vec<Option<EdgeId>> = ids.iter().map(EdgeId::from_generated).collect();
        for (label, by_id) in self.edge_ids.iter().enumerate() {
            let label = LabelId(label as u16);
            let is_asked = found.iter().any(Option::is_none);
            if is_asked && self.edges.iter().any(|of| of.label == label && of.columns.id.is_some()) {
                let known = self.edges_by_id(label, by_id, limits)?;
                for (found, id) in found.iter_mut().zip(ids).filter(|(found, _)| found.is_none()) {
                    *found = known.get(id).map(|local| EdgeId::new(label, 0, *local));
                }
            }
        }
        let edge = |id: Option<EdgeId>| {
            let id = id.filter(|id| id.shard() == 0);
            let Some((number, place)) = id.and_then(|id| self.edge_type(id.label(), id.local())) else { return Ok(None) };
            Ok(self.edges_at(&self.edges[number], &[place], limits)?.pop().flatten())
        };
        found.into_iter().map(edge).collect()
    }

    /// The edges of a label that have ids of their own, read once.
    fn edges_by_id(&self, label: LabelId, kept: &LazyIds, limits: Option<&ReadContext>) -> Result<Arc<ById>> {
        kept.get(limits, || {
            let count = self.rows(ElementKind::Edge, label);
            let mut all = ById::new();
            for first in (0..count).step_by(AT_ONCE as usize) {
                let edge = |local| EdgeRef { id: EdgeId::new(label, 0, local), source: VertexId(0), target: VertexId(0) };
                let edges: Vec<EdgeRef> = (first..count.min(first + AT_ONCE)).map(edge).collect();
                let ids = self.ids(Elements::Edges(&edges), limits)?;
                for (row, edge) in edges.iter().enumerate() {
                    // A row that a filter leaves out may repeat the id of an edge.
                    if let Some(id) = ids.cell(row).values().next().and_then(ExternalId::from_value)
                        && self.has_edge(edge.id, limits)?
                    {
                        all.entry(id).or_insert(edge.id.local());
                    }
                }
            }
            Ok(all)
        })
    }

    /// The ids of elements: of vertices always, of edges those that users gave.
    pub(super) fn ids(&self, elements: Elements<'_>, limits: Option<&ReadContext>) -> Result<PropertyColumn> {
        let column = self.columns(elements, &[What::Id], limits)?.pop();
        let column = column.unwrap_or(PropertyColumn::Absent(elements.len()));
        let Elements::Vertices(vertices) = elements else { return Ok(column) };
        if (0..column.len()).all(|row| column.has(row)) {
            return Ok(column);
        }
        // Vertices whose files give them no id have generated ones.
        let id = |(row, vertex): (usize, &VertexId)| match column.cell(row) {
            Cell::Absent if self.is_there(*vertex, limits)? => self.without_id(*vertex).map(Cell::One),
            cell => Ok(cell),
        };
        Ok(PropertyColumn::Cells(vertices.iter().enumerate().map(id).collect::<Result<_>>()?))
    }

    /// The id of a vertex whose files give it none: a generated one. In tables, every vertex has one of its own.
    fn without_id(&self, vertex: VertexId) -> Result<mangrove_graph::Value> {
        match self.vertex_type(vertex.label()) {
            Some(of) if matches!(of.files, VertexFiles::Tables(_)) => {
                let chunk = of.rows.chunk_of(vertex.local());
                let row = vertex.local() - of.rows.locals(chunk).start + 1;
                let column = of.columns.id.as_ref().map_or("", |column| &column.name);
                let reason = format!("row {row}: there is no id in column `{column}`");
                Err(LakeError::damaged(&self.tables.files.name(&of.file(0, chunk)), reason))
            }
            _ => Ok(vertex.generated().to_value()),
        }
    }

    fn id_of(&self, vertex: VertexId, limits: Option<&ReadContext>) -> Result<mangrove_graph::Value> {
        let id = self.ids(Elements::Vertices(&[vertex]), limits)?.into_cell();
        Ok(id.values().next().cloned().unwrap_or_default())
    }

    pub(super) fn is_there(&self, vertex: VertexId, limits: Option<&ReadContext>) -> Result<bool> {
        let of = self.vertex_type(vertex.label()).filter(|of| vertex.local() < of.rows.count());
        let Some(of) = of.filter(|_| vertex.shard() == 0) else { return Ok(false) };
        if of.filters.are_none() {
            return Ok(true);
        }
        let chunk = of.rows.chunk_of(vertex.local());
        let row = (vertex.local() - of.rows.locals(chunk).start) as usize;
        Ok(self.selected_vertices(of, chunk, limits)?.is_none_or(|kept| kept.has(row)))
    }

    pub(super) fn has_edge(&self, edge: EdgeId, limits: Option<&ReadContext>) -> Result<bool> {
        let Some((number, place)) = self.edge_type(edge.label(), edge.local()).filter(|_| edge.shard() == 0) else {
            return Ok(false);
        };
        let of = &self.edges[number];
        match &of.layout {
            Layout::Lists(_) => Ok(true),
            Layout::Tables(_) => Ok(self.edges_at(of, &[place], limits)?.iter().any(Option::is_some)),
        }
    }
}
