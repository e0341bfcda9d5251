//! Rows of elements that are in the graph already.
//!
//! A batch is parted: rows of new elements, rows of elements there are, and rows whose element stands earlier in the batch. Each part is
//! written in this order, so of several rows of one element the last one wins.

use std::hash::{Hash, Hasher};

use hashbrown::{HashMap, HashSet};
use mangrove_graph::{
    Adjacency, Cell, Direction, EdgeRef, ElementId, ElementKind, Elements, ExternalId, Hop, KeyId, LabelId, Value, VertexId,
    Wants,
};

use crate::error::{Fault, LoadError};
use crate::merge::{Merged, OnDuplicate, OnExists};
use crate::resolve::Found;
use crate::rows::{Body, Column, Part, Rows};
use crate::write::Writer;

/// The rows of a batch, parted.
#[derive(Default)]
struct Parted<T> {
    new: Vec<u32>,
    known: Vec<u32>,
    /// What the known ones are in the graph.
    elements: Vec<T>,
    repeated: Vec<u32>,
}

impl Writer<'_> {
    /// Writes vertices, and brings those that are there in step with their rows.
    pub(crate) fn merge_vertices(&mut self, rows: Rows, label: LabelId) -> Result<(), LoadError> {
        let parted = self.part_vertices(&rows, label)?;
        if !parted.new.is_empty() {
            self.new_vertices(rows.pick(&parted.new), label)?;
        }
        let mut merged = Merged::default();
        if self.merge.on_exists == OnExists::Skip {
            merged.skipped = (parted.known.len() + parted.repeated.len()) as u64;
        } else if !parted.known.is_empty() {
            merged = self.update_vertices(&rows.pick(&parted.known), label, &parted.elements)?;
        }
        self.report.merged_vertices.add(merged);
        self.count_rows(merged);
        match parted.repeated.is_empty() || self.merge.on_exists == OnExists::Skip {
            true => Ok(()),
            false => self.merge_vertices(rows.pick(&parted.repeated), label),
        }
    }

    fn part_vertices(&mut self, rows: &Rows, label: LabelId) -> Result<Parted<VertexId>, LoadError> {
        let Body::Vertices { ids, .. } = &rows.body else { unreachable!("rows of vertices") };
        let found = self.taken_by(ids, label)?;
        let (mut parted, mut seen) = (Parted::default(), HashSet::with_capacity(rows.count));
        for (row, found) in found.into_iter().enumerate() {
            if !seen.insert(ids.get(row)) {
                parted.repeated.push(row as u32);
                continue;
            }
            match found {
                Found::One(vertex) if vertex.label() == label => {
                    parted.known.push(row as u32);
                    parted.elements.push(vertex);
                }
                Found::One(vertex) => {
                    let schema = self.graph.schema();
                    let name = |label| schema.label_name(ElementKind::Vertex, label);
                    let fault = Fault::DuplicateVertex { label: name(label), other: Some(name(vertex.label())) };
                    self.rejects.add(rows.places.bad_row(row, Part::Id, ids.get(row).to_string(), fault))?;
                }
                Found::Nothing | Found::Several => parted.new.push(row as u32),
            }
        }
        Ok(parted)
    }

    fn update_vertices(&mut self, rows: &Rows, label: LabelId, vertices: &[VertexId]) -> Result<Merged, LoadError> {
        let replaces = self.merge.on_exists == OnExists::Replace;
        let mut changed = vec![false; vertices.len()];
        let further_before = vertices.iter().map(|v| self.graph.further_labels(*v)).collect::<Result<Vec<_>, _>>()?;
        self.merge_further_labels(&rows.labels, vertices, &further_before, replaces, &mut changed)?;
        let mut named = Vec::with_capacity(rows.columns.len());
        for column in &rows.columns {
            let key = self.key(&column.name)?;
            named.push(key);
            let changes = self.changes(Elements::Vertices(vertices), key, column, replaces, &mut changed)?;
            self.retyping.saw(ElementKind::Vertex, label, key, column, &rows.places.file);
            let elements: Vec<VertexId> = changes.iter().map(|row| vertices[*row as usize]).collect();
            self.set_vertex_property(&elements, key, &column.values.take(&changes))?;
            self.report.properties += changes.len() as u64;
        }
        if replaces {
            self.clear_others(label, vertices, &named, &mut changed)?;
        }
        Ok(merged(&changed))
    }

    fn merge_further_labels(
        &mut self,
        labels: &crate::rows::Labels,
        vertices: &[VertexId],
        before: &[Vec<LabelId>],
        replaces: bool,
        changed: &mut [bool],
    ) -> Result<(), LoadError> {
        for (row, vertex) in vertices.iter().enumerate() {
            let given = labels.of(row).further.clone();
            let given = given.iter().map(|name| self.label(ElementKind::Vertex, name)).collect::<Result<Vec<_>, _>>()?;
            if given.is_empty() && (!replaces || before[row].is_empty()) {
                continue;
            }
            let mut wanted = if replaces { Vec::new() } else { before[row].clone() };
            wanted.extend(given);
            wanted.sort_unstable();
            wanted.dedup();
            let mut known = before[row].clone();
            known.sort_unstable();
            if wanted != known {
                self.graph.set_further_labels(*vertex, &wanted)?;
                changed[row] = true;
            }
        }
        Ok(())
    }

    /// The rows of a column that say something else than the graph has; notes them. Absent values leave what is there, unless they
    /// replace it.
    fn changes(
        &mut self,
        elements: Elements<'_>,
        key: KeyId,
        column: &Column,
        replaces: bool,
        changed: &mut [bool],
    ) -> Result<Vec<u32>, LoadError> {
        let before = self.graph.properties(elements, key)?;
        let mut changes = Vec::new();
        let mut gone = Vec::new();
        for (row, changed) in changed.iter_mut().enumerate() {
            let new = self.cell(&column.values.cell(row))?;
            let old = before.cell(row);
            if new == old {
                continue;
            }
            if !new.is_absent() {
                changes.push(row as u32);
                *changed = true;
            } else if replaces && !old.is_absent() {
                gone.push(elements.get(row));
                *changed = true;
            }
        }
        for element in gone {
            self.graph.set_cell(element, key, Cell::Absent)?;
        }
        Ok(changes)
    }

    /// Removes what vertices have under keys that their rows do not name.
    fn clear_others(
        &mut self,
        label: LabelId,
        vertices: &[VertexId],
        named: &[KeyId],
        changed: &mut [bool],
    ) -> Result<(), LoadError> {
        let schema = self.graph.schema().label_schema(ElementKind::Vertex, label);
        let own = schema.and_then(|label| label.key);
        let others: Vec<KeyId> = schema.into_iter().flat_map(|label| label.properties.keys()).collect();
        for key in others.into_iter().filter(|key| !named.contains(key) && Some(*key) != own) {
            let have = self.graph.have(Elements::Vertices(vertices), key)?;
            for (row, _) in have.iter().enumerate().filter(|(_, has)| **has) {
                self.graph.set_cell(ElementId::Vertex(vertices[row]), key, Cell::Absent)?;
                changed[row] = true;
            }
        }
        Ok(())
    }

    /// Parts rows of edges whose ends are known; brings those that are there in step, and gives the rows of new ones. Rows of an edge that
    /// stands earlier in the batch come back too: they are merged once that one is written.
    pub(crate) fn merge_edges(
        &mut self,
        rows: &Rows,
        label: LabelId,
        ends: &[(VertexId, VertexId)],
    ) -> Result<(Vec<u32>, Vec<u32>), LoadError> {
        let keys = self.edge_keys(rows)?;
        let known = self.known_edges(label, ends, keys.as_ref().map(|(key, _)| *key))?;
        let (mut parted, mut seen) = (Parted::<Vec<EdgeRef>>::default(), HashSet::with_capacity(rows.count));
        for (row, ends) in ends.iter().enumerate() {
            let name =
                EdgeName { ends: *ends, key: keys.as_ref().map(|(_, values)| values[row].clone()).unwrap_or_default() };
            match known.get(&name) {
                Some(edges) => {
                    parted.known.push(row as u32);
                    parted.elements.push(edges.clone());
                }
                None if seen.contains(&name) => parted.repeated.push(row as u32),
                None => {
                    seen.insert(name);
                    parted.new.push(row as u32);
                }
            }
        }
        let mut merged = Merged::default();
        if self.merge.on_duplicate == OnDuplicate::Skip {
            merged.skipped = (parted.known.len() + parted.repeated.len()) as u64;
            parted.repeated.clear();
        } else if !parted.known.is_empty() {
            merged = self.update_edges(&rows.pick(&parted.known), label, &parted.elements)?;
        }
        self.report.merged_edges.add(merged);
        self.count_rows(merged);
        Ok((parted.new, parted.repeated))
    }

    /// The key that tells edges apart, and its value of each row.
    fn edge_keys(&mut self, rows: &Rows) -> Result<Option<(KeyId, Vec<Value>)>, LoadError> {
        let Some(name) = self.merge.edge_key.clone() else { return Ok(None) };
        let Some(column) = rows.columns.iter().find(|column| column.name == name) else {
            let there: Vec<&str> = rows.columns.iter().map(|column| &*column.name).collect();
            return Err(LoadError::options(format!(
                "edges have no column `{name}`, which was to tell them apart; there are: {}",
                there.join(", ")
            )));
        };
        let values =
            (0..rows.count).map(|row| self.cell(&column.values.cell(row)).map(value_of)).collect::<Result<_, _>>()?;
        Ok(Some((self.key(&name)?, values)))
    }

    /// The edges there are between these ends, by what tells them apart. O(edges of the sources).
    fn known_edges(
        &self,
        label: LabelId,
        ends: &[(VertexId, VertexId)],
        key: Option<KeyId>,
    ) -> Result<HashMap<EdgeName, Vec<EdgeRef>>, LoadError> {
        let wanted: HashSet<(VertexId, VertexId)> = ends.iter().copied().collect();
        let mut sources: Vec<VertexId> = ends.iter().map(|(source, _)| *source).collect();
        sources.sort_unstable();
        sources.dedup();
        let mut known: HashMap<EdgeName, Vec<EdgeRef>> = HashMap::new();
        let hop = Hop::along(Direction::Out, Some(vec![label]), Wants { edges: true, ..Wants::default() });
        for sources in sources.chunks(SOURCES_AT_ONCE) {
            let mut found = Adjacency::default();
            self.graph.neighbors(sources, &hop, &mut found)?;
            found.edges.retain(|edge| wanted.contains(&(edge.source, edge.target)));
            let values = key.map(|key| self.graph.properties(Elements::Edges(&found.edges), key)).transpose()?;
            for (at, edge) in found.edges.iter().enumerate() {
                let key = values.as_ref().map(|values| value_of(values.cell(at))).unwrap_or_default();
                known.entry(EdgeName { ends: (edge.source, edge.target), key }).or_default().push(*edge);
            }
        }
        Ok(known)
    }

    fn update_edges(&mut self, rows: &Rows, label: LabelId, known: &[Vec<EdgeRef>]) -> Result<Merged, LoadError> {
        // A row may stand for several edges.
        let each = known.iter().zip(0u32..).flat_map(|(edges, row)| edges.iter().map(move |edge| (row, *edge)));
        let (of_rows, edges): (Vec<u32>, Vec<EdgeRef>) = each.unzip();
        let mut changed = vec![false; edges.len()];
        for column in &rows.columns {
            let key = self.key(&column.name)?;
            let spread =
                Column { name: column.name.clone(), values: column.values.take(&of_rows), inferred: column.inferred };
            let changes = self.changes(Elements::Edges(&edges), key, &spread, false, &mut changed)?;
            self.retyping.saw(ElementKind::Edge, label, key, column, &rows.places.file);
            for row in &changes {
                let cell = self.cell(&spread.values.cell(*row as usize))?;
                self.graph.set_cell(ElementId::Edge(edges[*row as usize].id), key, cell)?;
            }
            self.report.properties += changes.len() as u64;
        }
        let mut of_row = vec![false; known.len()];
        changed.iter().zip(&of_rows).for_each(|(changed, row)| of_row[*row as usize] |= changed);
        Ok(merged(&of_row))
    }

    /// Makes the vertices that edges name as their ends and that are not there, each of a label.
    pub(crate) fn create_ends(&mut self, label: LabelId, missing: Vec<ExternalId>) -> Result<(), LoadError> {
        let is_new = self.graph.statistics()?.count(ElementKind::Vertex, label) == 0;
        if is_new && self.graph.schema().vertex_labels[usize::from(label.0)].key.is_none() {
            let key = self.key(&"id".into())?;
            self.graph.declare_key(label, key)?;
        }
        let ids: Vec<Option<ExternalId>> = missing.into_iter().map(Some).collect();
        let mut made = Vec::with_capacity(ids.len());
        self.graph.add_vertices(label, &ids, &mut made)?;
        self.resolver.insert(label, &ids, &made);
        let name = self.graph.schema().label_name(ElementKind::Vertex, label);
        *self.report.vertices.entry(name).or_default() += made.len() as u64;
        Ok(())
    }
}

/// Vertices whose edges are looked through together.
const SOURCES_AT_ONCE: usize = 4096;

/// What tells an edge of a label from others.
#[derive(PartialEq, Eq)]
struct EdgeName {
    ends: (VertexId, VertexId),
    key: Value,
}

impl Hash for EdgeName {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.ends.hash(state);
        self.key.hash(state);
    }
}

fn value_of(cell: Cell) -> Value {
    match cell {
        Cell::One(value) => value,
        _ => Value::Null,
    }
}

fn merged(changed: &[bool]) -> Merged {
    let updated = changed.iter().filter(|changed| **changed).count() as u64;
    Merged { updated, unchanged: changed.len() as u64 - updated, skipped: 0 }
}
