//! Merges rows of elements that the graph already has.
//!
//! A batch is split into three parts: the first rows of new elements, the rows of existing elements, and further rows of the new
//! ones. If an element has several rows, the last one wins, column by column.

use std::collections::BTreeSet;

use hashbrown::{HashMap, HashSet};
use mangrove_graph::{
    Adjacency, Cell, Direction, EdgeRef, ElementId, ElementKind, Elements, ExternalId, Hop, KeyId, LabelId, PropertyColumn,
    Value, VertexId, Wants, compare,
};

use crate::batches::rows::{Body, Column, Ids, Labels, Part, Rows, Values};
use crate::error::{Fault, LoadError};
use crate::terms::merge::{Merged, OnDuplicate, OnExists};
use crate::writing::resolve::Found;
use crate::writing::write::Writer;

/// The split rows of a batch.
struct Parted<T> {
    /// The first row of each new element.
    new: Vec<u32>,
    known: Known<T>,
    /// Further rows of the new elements.
    repeated: Vec<u32>,
}

/// The rows of elements that the graph has.
struct Known<T> {
    elements: Vec<T>,
    /// Each row with the index of its element, in the order of the rows. An element may have several rows, and a row several
    /// elements.
    rows: Vec<(u32, u32)>,
}

impl<T> Default for Parted<T> {
    fn default() -> Self {
        Self { new: Vec::new(), known: Known { elements: Vec::new(), rows: Vec::new() }, repeated: Vec::new() }
    }
}

impl<T> Known<T> {
    /// How many rows changed an element and how many did not, given which elements changed.
    fn merged(&self, changed: &[bool]) -> Merged {
        let mut merged = Merged::default();
        for of_row in self.rows.chunk_by(|a, b| a.0 == b.0) {
            match of_row.iter().any(|(_, at)| changed[*at as usize]) {
                true => merged.updated += 1,
                false => merged.unchanged += 1,
            }
        }
        merged
    }

    fn count(&self) -> usize {
        self.rows.chunk_by(|a, b| a.0 == b.0).count()
    }

    /// The row that decides each element's value in a column: its last row, or its last row with a value unless `absent_counts`.
    fn last_rows(&self, values: &Values, absent_counts: bool) -> Vec<Option<u32>> {
        let mut last = vec![None; self.elements.len()];
        for (row, at) in &self.rows {
            if absent_counts || !values.is_absent(*row as usize) {
                last[*at as usize] = Some(*row);
            }
        }
        last
    }
}

impl Writer<'_> {
    /// Writes new vertices and updates existing ones from their rows.
    pub(crate) fn merge_vertices(&mut self, rows: Rows, label: LabelId) -> Result<(), LoadError> {
        self.name_vertices(&rows.body, label)?;
        let parted = self.part_vertices(&rows, label)?;
        if !parted.new.is_empty() {
            self.new_vertices(rows.pick(&parted.new), label)?;
        }
        let skips = self.merge.on_exists == OnExists::Skip;
        let merged = match skips {
            true => Merged { skipped: (parted.known.count() + parted.repeated.len()) as u64, ..Merged::default() },
            false => self.update_vertices(&rows, label, &parted.known)?,
        };
        self.report.merged_vertices.add(merged);
        self.count_rows(merged);
        match skips || parted.repeated.is_empty() {
            true => Ok(()),
            // The first rows have just created these vertices, so all are known now.
            false => self.merge_vertices(rows.pick(&parted.repeated), label),
        }
    }

    fn part_vertices(&mut self, rows: &Rows, label: LabelId) -> Result<Parted<VertexId>, LoadError> {
        let Body::Vertices { ids, .. } = &rows.body else { unreachable!("rows of vertices") };
        let found = self.taken_by(ids, label)?;
        let (mut parted, mut seen, mut places) = (Parted::default(), HashSet::new(), HashMap::new());
        let mut any_generated = false;
        for (row, found) in (0u32..).zip(found) {
            match found {
                Found::One(vertex) if vertex.label() == label => {
                    let is_number = matches!(ids, Ids::Ints(_));
                    any_generated |= !is_number && VertexId::from_generated(&ids.get(row as usize)) == Some(vertex);
                    let at = *places.entry(vertex).or_insert_with(|| {
                        parted.known.elements.push(vertex);
                        parted.known.elements.len() as u32 - 1
                    });
                    parted.known.rows.push((row, at));
                }
                Found::One(vertex) => {
                    let schema = self.graph.schema();
                    let name = |label| schema.label_name(ElementKind::Vertex, label);
                    let fault = Fault::DuplicateVertex { label: name(label), other: Some(name(vertex.label())) };
                    let id = ids.get(row as usize).to_string();
                    self.rejects.add(rows.places.bad_row(row as usize, Part::Id, id, fault))?;
                }
                Found::Nothing | Found::Several if seen.insert(ids.get(row as usize)) => parted.new.push(row),
                Found::Nothing | Found::Several => parted.repeated.push(row),
            }
        }
        if any_generated {
            self.warn(
                "ids such as `#0:7` are generated: they name the same vertices only if these rows come from this database, and not \
                 from another one",
            );
        }
        Ok(parted)
    }

    fn update_vertices(&mut self, rows: &Rows, label: LabelId, known: &Known<VertexId>) -> Result<Merged, LoadError> {
        if known.rows.is_empty() {
            return Ok(Merged::default());
        }
        let known = &self.without_breaches(rows, label, known, |vertex| ElementId::Vertex(*vertex))?;
        let (vertices, replaces) = (&known.elements, self.merge.on_exists == OnExists::Replace);
        self.retyping.updated(ElementKind::Vertex, label, vertices.iter().map(|vertex| vertex.local()));
        let mut changed = vec![false; vertices.len()];
        self.merge_further_labels(&rows.labels, known, replaces, &mut changed)?;
        let mut named = Vec::with_capacity(rows.columns.len());
        for column in &rows.columns {
            let key = self.key(&column.name)?;
            named.push(key);
            let last = known.last_rows(&column.values, replaces);
            let changes = self.changes(Elements::Vertices(vertices), key, column, &last, &mut changed)?;
            self.saw((ElementKind::Vertex, label, key), column, &rows.places);
            let elements: Vec<VertexId> = changes.iter().map(|(_, at)| vertices[*at as usize]).collect();
            let changes: Vec<u32> = changes.into_iter().map(|(row, _)| row).collect();
            self.set_vertex_property(&elements, key, &column.values.take(&changes))?;
            self.report.properties += changes.len() as u64;
        }
        if replaces {
            self.clear_others(label, vertices, &named, &mut changed)?;
        }
        Ok(known.merged(&changed))
    }

    /// Drops rows that would remove a required value or make elements share a unique value.
    fn without_breaches<T: Copy>(
        &mut self,
        rows: &Rows,
        label: LabelId,
        known: &Known<T>,
        id: fn(&T) -> ElementId,
    ) -> Result<Known<T>, LoadError> {
        let mut known = Known { elements: known.elements.clone(), rows: known.rows.clone() };
        let kind = rows.body.kind();
        if kind == ElementKind::Vertex && self.merge.on_exists == OnExists::Replace {
            let dropped = self.reject_lacking(rows, ElementKind::Vertex, label, known.rows.iter().map(|(row, _)| *row))?;
            known.rows.retain(|(row, _)| !dropped.contains(row));
        }
        // A dropped row changes nothing. So its element keeps its value, and an earlier row of it may now decide. Repeat until no
        // row drops.
        loop {
            let mut of = vec![None; rows.count];
            known.rows.iter().for_each(|(row, at)| of[*row as usize] = Some(id(&known.elements[*at as usize])));
            let says = |column: &Column| known.last_rows(&column.values, false).into_iter().flatten().collect();
            let dropped = self.reject_repeated(rows, kind, label, &of, &says)?;
            if dropped.is_empty() {
                return Ok(known);
            }
            known.rows.retain(|(row, _)| !dropped.contains(row));
        }
    }

    fn merge_further_labels(
        &mut self,
        labels: &Labels,
        known: &Known<VertexId>,
        replaces: bool,
        changed: &mut [bool],
    ) -> Result<(), LoadError> {
        if !replaces && labels.sets.iter().all(|set| set.further.is_empty()) {
            return Ok(());
        }
        let before = known.elements.iter().map(|v| self.graph.further_labels(*v)).collect::<Result<Vec<_>, _>>()?;
        let before: Vec<BTreeSet<LabelId>> = before.into_iter().map(|labels| labels.into_iter().collect()).collect();
        let mut wanted = before.clone();
        for (row, at) in &known.rows {
            let wanted = &mut wanted[*at as usize];
            if replaces {
                wanted.clear();
            }
            for name in labels.of(*row as usize).further.iter() {
                wanted.insert(self.label(ElementKind::Vertex, name)?);
            }
        }
        for (at, (wanted, _)) in wanted.iter().zip(&before).enumerate().filter(|(_, (wanted, before))| wanted != before) {
            let wanted: Vec<LabelId> = wanted.iter().copied().collect();
            self.graph.set_further_labels(known.elements[at], &wanted)?;
            changed[at] = true;
        }
        Ok(())
    }

    /// The rows of a column that differ from the graph, each with the index of its element. Marks these elements in `changed`.
    /// Removes the value of an element whose row has none.
    fn changes(
        &mut self,
        elements: Elements<'_>,
        key: KeyId,
        column: &Column,
        last: &[Option<u32>],
        changed: &mut [bool],
    ) -> Result<Vec<(u32, u32)>, LoadError> {
        let before = self.graph.properties(elements, key)?;
        let (mut changes, mut gone) = (Vec::new(), Vec::new());
        for (at, row) in last.iter().enumerate().filter_map(|(at, row)| Some((at, (*row)?))) {
            let new = self.cell(&column.values.cell(row as usize))?;
            if is_same(&new, &before.cell(at)) {
                continue;
            }
            changed[at] = true;
            match new.is_absent() {
                true => gone.push(elements.get(at)),
                false => changes.push((row, at as u32)),
            }
        }
        for element in gone {
            self.graph.set_cell(element, key, Cell::Absent)?;
        }
        Ok(changes)
    }

    /// Removes the values of vertices under keys that their rows do not name.
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

    /// Splits rows of edges whose ends are resolved, and updates existing edges. Returns the rows of new edges, and the further
    /// rows of edges that are new in this batch. The caller merges the latter after writing the new edges.
    pub(crate) fn merge_edges(
        &mut self,
        rows: &Rows,
        label: LabelId,
        ends: &[(VertexId, VertexId)],
    ) -> Result<(Vec<u32>, Vec<u32>), LoadError> {
        let mut parted = self.part_edges(rows, label, ends)?;
        if self.merge.on_duplicate == OnDuplicate::Update {
            self.warn_of_parallel_edges(label, &parted.known);
        }
        let merged = match self.merge.on_duplicate {
            OnDuplicate::Skip => {
                let repeated = std::mem::take(&mut parted.repeated);
                Merged { skipped: (parted.known.count() + repeated.len()) as u64, ..Merged::default() }
            }
            _ => self.update_edges(rows, label, &parted.known)?,
        };
        self.report.merged_edges.add(merged);
        self.count_rows(merged);
        Ok((parted.new, parted.repeated))
    }

    /// Warns if a row updates several edges, or several rows update one. Without a key, edges with the same ends are the same edge.
    fn warn_of_parallel_edges(&mut self, label: LabelId, known: &Known<EdgeRef>) {
        if self.merge.edge_key.is_some() {
            return;
        }
        let mut pairs = known.rows.clone();
        pairs.sort_unstable_by_key(|(_, at)| *at);
        let one_edge_twice = pairs.windows(2).any(|pair| pair[0].1 == pair[1].1);
        pairs.sort_unstable();
        let one_row_twice = pairs.windows(2).any(|pair| pair[0].0 == pair[1].0);
        if !(one_edge_twice || one_row_twice) {
            return;
        }
        let label = self.graph.schema().label_name(ElementKind::Edge, label);
        let how = if one_row_twice { "a row updates several edges" } else { "several rows update one edge" };
        self.report.warn(format!(
            "there are parallel edges of {label}, with the same ends: {how}. An edge key, the name of a column, tells them apart"
        ));
    }

    fn part_edges(
        &mut self,
        rows: &Rows,
        label: LabelId,
        ends: &[(VertexId, VertexId)],
    ) -> Result<Parted<EdgeRef>, LoadError> {
        let Body::Edges { ids, .. } = &rows.body else { unreachable!("rows of edges") };
        let keys = self.edge_keys(rows)?;
        let by_ends = self.edges_between(label, ends, keys.as_ref().map(|(key, _)| *key))?;
        let by_id = self.edges_of_ids(ids.as_deref().unwrap_or_default())?;
        let (mut parted, mut seen, mut places) = (Parted::default(), HashSet::new(), HashMap::new());
        for (row, ends) in ends.iter().enumerate() {
            let id = ids.as_ref().and_then(|ids| ids[row].clone());
            let key = || keys.as_ref().map(|(_, values)| values[row].clone()).unwrap_or_default();
            let name = id.map_or_else(|| EdgeName::Ends(*ends, key()), EdgeName::Id);
            let known = match &name {
                EdgeName::Id(id) => by_id.get(id).map(std::slice::from_ref),
                EdgeName::Ends(..) => by_ends.get(&name).map(Vec::as_slice),
            };
            match (known, name) {
                (Some([edge]), EdgeName::Id(id)) if (edge.source, edge.target) != *ends || edge.id.label() != label => {
                    let id = id.to_string();
                    self.rejects.add(rows.places.bad_row(row, Part::Id, id, Fault::DuplicateEdge))?;
                }
                (Some(edges), _) => {
                    for edge in edges {
                        let at = *places.entry(edge.id).or_insert_with(|| {
                            parted.known.elements.push(*edge);
                            parted.known.elements.len() as u32 - 1
                        });
                        parted.known.rows.push((row as u32, at));
                    }
                }
                (None, name) if seen.insert(name.clone()) => parted.new.push(row as u32),
                (None, _) => parted.repeated.push(row as u32),
            }
        }
        Ok(parted)
    }

    /// The key that distinguishes edges, and each row's value of it.
    fn edge_keys(&mut self, rows: &Rows) -> Result<Option<(KeyId, Vec<Value>)>, LoadError> {
        let Some(name) = self.merge.edge_key.clone() else { return Ok(None) };
        let is_here = self.edge_key_column.saw(&name, rows.columns.iter().map(|column| &column.name));
        let column = rows.columns.iter().find(|column| is_here && column.name == name);
        let mut values = vec![Value::Null; rows.count];
        for (row, value) in values.iter_mut().enumerate() {
            *value = column.map_or(Ok(Cell::Absent), |column| self.cell(&column.values.cell(row))).map(name_value)?;
        }
        Ok(Some((self.key(&name)?, values)))
    }

    fn edges_of_ids(&self, ids: &[Option<ExternalId>]) -> Result<HashMap<ExternalId, EdgeRef>, LoadError> {
        let given: Vec<ExternalId> = ids.iter().flatten().cloned().collect();
        let mut found = Vec::with_capacity(given.len());
        self.graph.find_edges(&given, &mut found)?;
        Ok(given.into_iter().zip(found).filter_map(|(id, edge)| Some((id, edge?))).collect())
    }

    /// The existing edges between these ends, by what distinguishes them. O(edges of the sources).
    fn edges_between(
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
                let key = values.as_ref().map(|values| name_value(values.cell(at))).unwrap_or_default();
                known.entry(EdgeName::Ends((edge.source, edge.target), key)).or_default().push(*edge);
            }
        }
        Ok(known)
    }

    fn update_edges(&mut self, rows: &Rows, label: LabelId, known: &Known<EdgeRef>) -> Result<Merged, LoadError> {
        let known = &self.without_breaches(rows, label, known, |edge| ElementId::Edge(edge.id))?;
        let edges = &known.elements;
        self.retyping.updated(ElementKind::Edge, label, edges.iter().map(|edge| edge.id.local()));
        let mut changed = vec![false; edges.len()];
        for column in &rows.columns {
            let key = self.key(&column.name)?;
            let last = known.last_rows(&column.values, false);
            let changes = self.changes(Elements::Edges(edges), key, column, &last, &mut changed)?;
            self.saw((ElementKind::Edge, label, key), column, &rows.places);
            let of: Vec<EdgeRef> = changes.iter().map(|(_, at)| edges[*at as usize]).collect();
            let cells = changes.iter().map(|(row, _)| self.cell(&column.values.cell(*row as usize)));
            let cells = PropertyColumn::Cells(cells.collect::<Result<_, _>>()?);
            self.graph.set_properties(Elements::Edges(&of), key, &cells)?;
            self.report.properties += changes.len() as u64;
        }
        Ok(known.merged(&changed))
    }

    /// Creates the missing vertices that edges name as their ends, all with one label.
    pub(crate) fn create_ends(&mut self, label: LabelId, missing: Vec<ExternalId>) -> Result<(), LoadError> {
        let name = self.graph.schema().label_name(ElementKind::Vertex, label);
        let is_new = self.graph.statistics()?.count(ElementKind::Vertex, label) == 0;
        let named = self.keys_of.iter().find(|key| key.label == name).map(|key| key.column.as_str().into());
        let has_key = self.graph.schema().vertex_labels[usize::from(label.0)].key.is_some();
        if let Some(key) = named.or_else(|| (is_new && !has_key).then(|| "id".into())) {
            let key = self.key(&key)?;
            self.graph.declare_key(label, key)?;
        }
        self.warn_of_any_twin(&Ids::Any(missing.clone()))?;
        let ids: Vec<Option<ExternalId>> = missing.into_iter().map(Some).collect();
        let mut made = Vec::with_capacity(ids.len());
        self.graph.add_vertices(label, &ids, &mut made)?;
        self.resolver.insert(label, &ids, &made);
        *self.report.vertices.entry(name).or_default() += made.len() as u64;
        Ok(())
    }
}

/// Number of vertices whose edges are searched together.
const SOURCES_AT_ONCE: usize = 4096;

/// What identifies an edge of a label: its own id, or its ends and the value of the key.
#[derive(Clone, PartialEq, Eq, Hash)]
enum EdgeName {
    Id(ExternalId),
    Ends((VertexId, VertexId), Value),
}

/// The value that distinguishes edges. Equal numbers become the same value, whatever their types.
fn name_value(cell: Cell) -> Value {
    let Cell::One(value) = cell else { return Value::Null };
    match value {
        Value::Int8(number) => Value::Int64(number.into()),
        Value::Int16(number) => Value::Int64(number.into()),
        Value::Int32(number) => Value::Int64(number.into()),
        Value::Float32(number) => whole(number.into()),
        Value::Float64(number) => whole(number),
        other => other,
    }
}

/// The number as an integer if it is whole.
fn whole(number: f64) -> Value {
    let is_whole = number.fract() == 0.0 && number.abs() < 2f64.powi(63);
    if is_whole { Value::Int64(number as i64) } else { Value::Float64(number) }
}

/// Whether a row agrees with the graph. Numbers compare by value, whatever their types.
fn is_same(new: &Cell, old: &Cell) -> bool {
    match (new, old) {
        (Cell::One(new), Cell::One(old)) if new.is_number() && old.is_number() => new == old || compare::equals(new, old),
        _ => new == old,
    }
}
