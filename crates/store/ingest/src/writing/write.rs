//! Writes batches of rows to the graph: interns labels and keys, checks and resolves ids, sets bad rows aside.

use std::collections::BTreeSet;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Date32Type, Int8Type, Int16Type, Int32Type, Int64Type, TimestampMicrosecondType};
use arrow_array::{Array, ArrayRef, ArrowPrimitiveType, Float64Array, Int64Array, PrimitiveArray};
use arrow_schema::DataType;
use hashbrown::{HashMap, HashSet};
use mangrove_graph::{
    Cell, EdgeId, ElementId, ElementKind, Elements, ExternalId, GraphWrite, IdSpace, KeyId, LabelId, PropertyColumn,
    PropertyValue, Schema, TypeSet, Value, VertexId, record,
};

use crate::batches::column::A_TIME;
use crate::batches::rows::{Body, Column, Event, Ids, Labels, Part, Places, RawCell, RawValue, Rows, Scope, Values};
use crate::error::{Fault, LoadError};
use crate::terms::merge::{Merged, Merging, OnDuplicate, OnExists};
use crate::terms::options::{KeyColumn, LoadOptions, MemoryLimits};
use crate::terms::report::{LoadReport, Rejects};
use crate::writing::resolve::{Candidates, Found, Resolver};
use crate::writing::retype::Retyping;
use crate::writing::runs::{EdgeBatch, Run};

pub struct Writer<'g> {
    pub(crate) graph: &'g mut dyn GraphWrite,
    pub(crate) resolver: Resolver,
    pub(crate) rejects: Rejects,
    pub(crate) report: LoadReport,
    pub(crate) retyping: Retyping,
    /// The types that properties had before the load. Empty once a warning was given.
    pub(crate) types_before: HashMap<(ElementKind, LabelId, KeyId), TypeSet>,
    pub(crate) merge: Merging,
    keys: HashMap<Arc<str>, KeyId>,
    labels: HashMap<(ElementKind, Arc<str>), LabelId>,
    /// The labels of vertices in each Neo4j ID space.
    spaces: HashMap<Arc<str>, BTreeSet<LabelId>>,
    runs: Vec<(LabelId, Run)>,
    /// The index in `runs` of each label's run.
    run_of: HashMap<LabelId, usize>,
    /// The number of edges in all runs.
    waiting: usize,
    limits: MemoryLimits,
    /// Ids of the edges that wait in a run.
    waiting_ids: HashSet<ExternalId>,
    /// The graph had no vertices when the load began.
    had_no_vertices: bool,
    /// The report has warned of ids that are the text of other ids.
    has_twins: bool,
    edge_time: Option<Arc<str>>,
    makes_ends: bool,
    times: NamedColumn,
    pub(crate) edge_key_column: NamedColumn,
    pub(crate) keys_of: Vec<KeyColumn>,
    rows: u64,
}

impl<'g> Writer<'g> {
    pub fn new(graph: &'g mut dyn GraphWrite, options: &LoadOptions) -> Result<Self, LoadError> {
        if options.merge.edge_key.is_some() && options.merge.on_duplicate == OnDuplicate::Add {
            let message = "a column that tells edges apart has no effect while every edge is added: choose what happens to edges \
                           that exist, skip or update (--on-duplicate)";
            return Err(LoadError::options(message));
        }
        let statistics = graph.statistics()?;
        let space = graph.schema().id_space;
        Ok(Self {
            graph,
            resolver: Resolver::new(space, statistics.vertices.iter().all(|n| *n == 0), options.memory.ids_max),
            rejects: Rejects::new(options.on_error.clone(), options.rejects_max),
            merge: options.merge.clone(),
            report: LoadReport::default(),
            retyping: Retyping::default(),
            types_before: HashMap::new(),
            keys: HashMap::new(),
            labels: HashMap::new(),
            spaces: HashMap::new(),
            runs: Vec::new(),
            run_of: HashMap::new(),
            waiting: 0,
            limits: options.memory,
            waiting_ids: HashSet::new(),
            has_twins: false,
            had_no_vertices: statistics.vertices.iter().all(|n| *n == 0),
            edge_time: None,
            makes_ends: options.merge.create_missing,
            times: NamedColumn::default(),
            edge_key_column: NamedColumn::default(),
            keys_of: options.keys.clone(),
            rows: 0,
        })
    }

    /// A writer that reports bad rows at the end. It shows the first few together.
    pub fn collecting(graph: &'g mut dyn GraphWrite, options: &LoadOptions) -> Result<Self, LoadError> {
        Ok(Self { rejects: Rejects::collecting(), ..Self::new(graph, options)? })
    }

    /// Vertices and edges processed so far.
    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// The current schema of the graph.
    pub fn schema(&self) -> &Schema {
        self.graph.schema()
    }

    pub fn warn(&mut self, warning: &str) {
        self.report.warn(warning.into());
    }

    /// Begins a new file. `edge_time` is the column with the times of its edges. `makes_ends` says whether it creates the ends of
    /// its edges.
    pub fn begin(&mut self, edge_time: Option<&str>, makes_ends: bool) {
        self.makes_ends = makes_ends || self.merge.create_missing;
        self.edge_time = edge_time.map(Arc::from);
    }

    pub fn event(&mut self, event: Event) -> Result<(), LoadError> {
        match event {
            Event::Rows(rows) => self.rows_of_a_label_each(*rows),
            Event::Reject(bad) => self.rejects.add(*bad),
            Event::Warning(warning) => {
                self.report.warn(warning);
                Ok(())
            }
        }
    }

    /// Writes the waiting runs of edges.
    pub fn finish_pass(&mut self) -> Result<(), LoadError> {
        for (label, mut run) in std::mem::take(&mut self.runs) {
            if let Some(first) = run.write(label, self.graph)? {
                self.retyping.added(ElementKind::Edge, label, first.local());
            }
        }
        self.waiting = 0;
        self.run_of.clear();
        self.waiting_ids.clear();
        Ok(())
    }

    /// Fails if no table of edges has the column for their times.
    pub fn check_time(&self, name: &str) -> Result<(), LoadError> {
        self.times.check(name, "give their time")
    }

    pub fn finish(mut self) -> Result<LoadReport, LoadError> {
        self.finish_pass()?;
        if let Some(name) = &self.merge.edge_key {
            self.edge_key_column.check(name, "tell them apart")?;
        }
        self.retyping.finish(self.graph, &mut self.report)?;
        self.rejects.finish(&mut self.report, self.rows)?;
        Ok(self.report)
    }

    /// Writes the rows of each (primary) label separately, in their order.
    fn rows_of_a_label_each(&mut self, rows: Rows) -> Result<(), LoadError> {
        let Some(members) = rows_by_label(&rows.labels) else { return self.rows_of_one_label(rows) };
        for rows_of in &members {
            self.rows_of_one_label(rows.pick(rows_of))?;
        }
        Ok(())
    }

    fn rows_of_one_label(&mut self, rows: Rows) -> Result<(), LoadError> {
        if rows.count == 0 {
            return Ok(());
        }
        match rows.body {
            Body::Vertices { .. } => self.vertices(rows)?,
            Body::Edges { .. } => self.edges(rows)?,
        }
        self.keep_within()
    }

    /// Fails if uncommitted changes take too much memory.
    fn keep_within(&mut self) -> Result<(), LoadError> {
        if self.graph.held_bytes() > WRITTEN_OUT_FROM {
            self.graph.write_out()?;
        }
        if self.graph.held_bytes() <= self.limits.changes_bytes_max {
            return Ok(());
        }
        Err(LoadError::options(format!(
            "this load holds more than {} MB of large values in memory before it commits: load into an empty database with \
             --compact yes, or in several loads",
            self.limits.changes_bytes_max >> 20
        )))
    }

    pub(crate) fn label(&mut self, kind: ElementKind, name: &Arc<str>) -> Result<LabelId, LoadError> {
        if let Some(label) = self.labels.get(&(kind, name.clone())) {
            return Ok(*label);
        }
        let label = self.graph.ensure_label(kind, name)?;
        self.labels.insert((kind, name.clone()), label);
        Ok(label)
    }

    pub(crate) fn key(&mut self, name: &Arc<str>) -> Result<KeyId, LoadError> {
        if let Some(key) = self.keys.get(name) {
            return Ok(*key);
        }
        let key = self.graph.ensure_key(name)?;
        self.keys.insert(name.clone(), key);
        Ok(key)
    }

    fn vertices(&mut self, mut rows: Rows) -> Result<(), LoadError> {
        let name = rows.labels.of(0).primary.clone();
        let label = self.label(ElementKind::Vertex, &name)?;
        if let Body::Vertices { ids, .. } = &mut rows.body {
            self.take_label_off(ids, label);
        }
        if self.merge.on_exists != OnExists::Error {
            return self.merge_vertices(rows, label);
        }
        let duplicates = self.reject_duplicates(&rows, label, &name)?;
        self.new_vertices(rows.without(&duplicates), label)
    }

    /// Where ids are unique only within labels, users see `Label/7`. This makes it 7.
    fn take_label_off(&self, ids: &mut Ids, label: LabelId) {
        let schema = self.graph.schema();
        if schema.id_space == IdSpace::Graph || matches!(ids, Ids::Ints(_)) {
            return;
        }
        let name = schema.label_name(ElementKind::Vertex, label);
        let has_label = |id: &ExternalId| matches!(id, ExternalId::String(id) if id.strip_prefix(&*name).is_some_and(|rest| rest.starts_with('/')));
        let given: Vec<ExternalId> = (0..ids.len()).map(|row| ids.get(row)).collect();
        if given.iter().any(has_label) {
            *ids = Ids::Any(given.into_iter().map(|id| record::external_id_in(schema, label, id)).collect());
        }
    }

    /// Writes vertices whose ids are not taken.
    pub(crate) fn new_vertices(&mut self, rows: Rows, label: LabelId) -> Result<(), LoadError> {
        self.name_vertices(&rows.body, label)?;
        let breaches = self.reject_breaches(&rows, ElementKind::Vertex, label)?;
        let rows = rows.without(&breaches);
        if rows.count == 0 {
            return Ok(());
        }
        let Body::Vertices { ids, key, .. } = &rows.body else { unreachable!("rows of vertices") };
        if key.is_some() {
            self.report.properties += rows.count as u64;
        }
        self.warn_of_twins(ids)?;
        let ids: Vec<Option<ExternalId>> = (0..rows.count).map(|row| Some(ids.get(row))).collect();
        let mut added = Vec::with_capacity(ids.len());
        self.graph.add_vertices(label, &ids, &mut added)?;
        self.resolver.insert(label, &ids, &added);
        if let Some(first) = added.first() {
            self.retyping.added(ElementKind::Vertex, label, first.local());
        }
        self.set_further_labels(&rows.labels, &added)?;
        for column in &rows.columns {
            let key = self.key(&column.name)?;
            self.saw((ElementKind::Vertex, label, key), column, &rows.places);
            self.report.properties += column.values.present();
            self.set_vertex_property(&added, key, &column.values)?;
        }
        self.rows += added.len() as u64;
        let name = self.graph.schema().label_name(ElementKind::Vertex, label);
        *self.report.vertices.entry(name).or_default() += added.len() as u64;
        Ok(())
    }

    /// Records the types of a column of a batch, before the batch is written.
    pub(crate) fn saw(&mut self, of: (ElementKind, LabelId, KeyId), column: &Column, places: &Places) {
        self.warn_of_drift(of, column, places);
        self.retyping.saw(of.0, of.1, of.2, column, &places.file);
    }

    /// Declares the key of a label, and records the ID space of its vertices.
    pub(crate) fn name_vertices(&mut self, body: &Body, label: LabelId) -> Result<(), LoadError> {
        let Body::Vertices { space, key, .. } = body else { unreachable!("rows of vertices") };
        if let Some(key) = key {
            let key = self.key(key)?;
            self.graph.declare_key(label, key)?;
        }
        if let Some(space) = space {
            self.spaces.entry(space.clone()).or_default().insert(label);
        }
        Ok(())
    }

    /// Counts rows of elements that existed before the load.
    pub(crate) fn count_rows(&mut self, merged: Merged) {
        self.rows += merged.updated + merged.unchanged + merged.skipped;
    }

    /// Warns if an id is new but the graph has an id of another type with the same text.
    fn warn_of_twins(&mut self, ids: &Ids) -> Result<(), LoadError> {
        if self.had_no_vertices { Ok(()) } else { self.warn_of_any_twin(ids) }
    }

    /// The same, also if the vertices with the other ids are of this load.
    pub(crate) fn warn_of_any_twin(&mut self, ids: &Ids) -> Result<(), LoadError> {
        if self.has_twins || matches!(ids, Ids::Ints(_)) {
            return Ok(());
        }
        for row in 0..ids.len() {
            let id = ids.get(row);
            if let Some(Value::Int64(number)) = self.other_spelling(&id)? {
                self.report.warn(format!(
                    "some ids of this load are text, such as '{id}', but ids in the graph are numbers, such as {number}: these are \
                     different ids. If they should be the same, convert the column"
                ));
                self.has_twins = true;
                break;
            }
        }
        Ok(())
    }

    fn set_further_labels(&mut self, labels: &Labels, vertices: &[VertexId]) -> Result<(), LoadError> {
        let further = labels
            .sets
            .iter()
            .map(|set| set.further.iter().map(|name| self.label(ElementKind::Vertex, name)).collect::<Result<Vec<_>, _>>());
        let further = further.collect::<Result<Vec<_>, _>>()?;
        for (row, vertex) in vertices.iter().enumerate() {
            let code = labels.codes.as_ref().map_or(0, |codes| codes[row] as usize);
            if !further[code].is_empty() {
                self.graph.set_further_labels(*vertex, &further[code])?;
            }
        }
        Ok(())
    }

    /// The vertices that already have the ids of new vertices of a label.
    pub(crate) fn taken_by(&self, ids: &Ids, label: LabelId) -> Result<Vec<Found>, LoadError> {
        let candidates = match self.resolver.space() {
            IdSpace::Graph => Candidates::Whole,
            IdSpace::Label => Candidates::Labels(vec![label]),
        };
        let mut found = Vec::with_capacity(ids.len());
        self.resolver.resolve(self.graph, ids, &candidates, &mut found)?;
        Ok(found)
    }

    /// Rejects rows whose id an earlier row or the graph has.
    fn reject_duplicates(&mut self, rows: &Rows, label: LabelId, name: &Arc<str>) -> Result<Vec<u32>, LoadError> {
        let Body::Vertices { ids, .. } = &rows.body else { unreachable!("rows of vertices") };
        let found = self.taken_by(ids, label)?;
        let repeated = repeated(ids);
        let mut dropped = Vec::new();
        for (row, (found, repeated)) in found.iter().zip(repeated).enumerate() {
            let other = match found {
                Found::One(vertex) => Some(self.graph.schema().label_name(ElementKind::Vertex, vertex.label())),
                Found::Nothing | Found::Several if repeated => None,
                _ => continue,
            };
            let fault = Fault::DuplicateVertex { label: name.clone(), other };
            self.rejects.add(rows.places.bad_row(row, Part::Id, ids.get(row).to_string(), fault))?;
            dropped.push(row as u32);
        }
        Ok(dropped)
    }

    pub(crate) fn set_vertex_property(
        &mut self,
        vertices: &[VertexId],
        key: KeyId,
        values: &Values,
    ) -> Result<(), LoadError> {
        let elements = Elements::Vertices(vertices);
        match values {
            Values::Absent(_) => {}
            Values::Typed(array) => {
                self.graph.set_properties(elements, key, &PropertyColumn::Typed(array.clone()))?;
            }
            Values::Cells(cells) if cells.iter().any(|cell| matches!(cell, RawCell::Many(_))) => {
                for (vertex, cell) in vertices.iter().zip(cells) {
                    let cell = self.cell(cell)?;
                    if !cell.is_absent() {
                        self.graph.set_cell(ElementId::Vertex(*vertex), key, cell)?;
                    }
                }
            }
            Values::Cells(cells) => {
                let cells = cells.iter().map(|cell| self.cell(cell)).collect::<Result<Vec<_>, _>>()?;
                self.graph.set_properties(elements, key, &PropertyColumn::Cells(cells))?;
            }
        }
        Ok(())
    }

    pub(crate) fn cell(&mut self, raw: &RawCell) -> Result<Cell, LoadError> {
        Ok(match raw {
            RawCell::Absent => Cell::Absent,
            RawCell::One(value) => Cell::One(value.clone()),
            RawCell::Many(values) => {
                let entries = values.iter().zip(0..).map(|(raw, ordinal)| self.entry(raw, ordinal));
                Cell::Many(entries.collect::<Result<_, LoadError>>()?)
            }
        })
    }

    fn entry(&mut self, raw: &RawValue, ordinal: u32) -> Result<PropertyValue, LoadError> {
        let mut meta: Vec<(KeyId, Value)> = Vec::with_capacity(raw.meta.len());
        for (name, value) in &raw.meta {
            meta.push((self.key(name)?, value.clone()));
        }
        Ok(PropertyValue { ordinal, value: raw.value.clone(), meta })
    }

    fn edges(&mut self, rows: Rows) -> Result<(), LoadError> {
        let name = rows.labels.of(0).primary.clone();
        let label = self.label(ElementKind::Edge, &name)?;
        let time_key = self.time_key(label, &rows)?;
        let mut rows = self.with_times(rows, time_key)?;
        if let Body::Edges { ids: Some(ids), .. } = &mut rows.body {
            // Another database generated such an id. This one generates its own.
            ids.iter_mut().for_each(|id| *id = id.take().filter(|id| EdgeId::from_generated(id).is_none()));
        }
        let (mut sources, mut targets) = (Vec::with_capacity(rows.count), Vec::with_capacity(rows.count));
        let dropped = self.resolve_ends(&rows, &mut sources, &mut targets)?;
        let rows = rows.without(&dropped);
        if self.merge.on_duplicate == OnDuplicate::Add {
            return self.new_edges(rows, label, time_key, sources, targets);
        }
        // The merge searches the graph, so it must hold the waiting edges.
        self.finish_pass()?;
        let ends: Vec<(VertexId, VertexId)> = sources.into_iter().zip(targets).collect();
        self.merge_edge_rows(rows, label, time_key, ends)
    }

    fn merge_edge_rows(
        &mut self,
        rows: Rows,
        label: LabelId,
        time_key: Option<KeyId>,
        ends: Vec<(VertexId, VertexId)>,
    ) -> Result<(), LoadError> {
        let (new, repeated) = self.merge_edges(&rows, label, &ends)?;
        let of = |rows: &[u32]| rows.iter().map(|row| ends[*row as usize]).collect::<Vec<_>>();
        let (sources, targets) = of(&new).into_iter().unzip();
        self.new_edges(rows.pick(&new), label, time_key, sources, targets)?;
        if repeated.is_empty() {
            return Ok(());
        }
        self.finish_pass()?;
        self.merge_edge_rows(rows.pick(&repeated), label, time_key, of(&repeated))
    }

    /// Writes edges whose ends are resolved.
    fn new_edges(
        &mut self,
        rows: Rows,
        label: LabelId,
        time_key: Option<KeyId>,
        sources: Vec<VertexId>,
        targets: Vec<VertexId>,
    ) -> Result<(), LoadError> {
        if self.has_unique(ElementKind::Edge, label) {
            // The check for unique values searches the graph, so it must hold the waiting edges.
            self.finish_pass()?;
        }
        let breaches = self.reject_breaches(&rows, ElementKind::Edge, label)?;
        let (sources, targets) = (without(sources, &breaches), without(targets, &breaches));
        let rows = rows.without(&breaches);
        if rows.count == 0 {
            return Ok(());
        }
        let Rows { body: Body::Edges { ids, .. }, columns, places, count, .. } = rows else { unreachable!("rows of edges") };
        let mut batch = EdgeBatch { sources, targets, ids, time_key, times: None, columns: Vec::new() };
        for column in columns {
            let key = self.key(&column.name)?;
            self.saw((ElementKind::Edge, label, key), &column, &places);
            self.report.properties += column.values.present();
            if Some(key) == time_key {
                batch.times = times_of(&column.values).ok();
                // A time that is an int64 needs no column for its value.
                if matches!(&column.values, Values::Typed(array) if *array.data_type() == DataType::Int64) {
                    continue;
                }
            }
            batch.columns.push((key, column.values));
        }
        self.rows += count as u64;
        let name = self.graph.schema().label_name(ElementKind::Edge, label);
        *self.report.edges.entry(name).or_default() += count as u64;
        self.add_to_run(label, batch)
    }

    /// Rejects rows whose time is invalid. Turns whole doubles into integers: tables hold integers as doubles if some are missing.
    fn with_times(&mut self, rows: Rows, time_key: Option<KeyId>) -> Result<Rows, LoadError> {
        let name = time_key.map(|key| self.graph.schema().key_name(key));
        let Some(at) = rows.columns.iter().position(|column| Some(&column.name) == name.as_ref()) else { return Ok(rows) };
        let column = &rows.columns[at];
        let bad = times_of(&column.values).err().unwrap_or_default();
        for row in &bad {
            let value = match column.values.cell(*row as usize) {
                RawCell::One(value) => value.to_string(),
                _ => "several values".into(),
            };
            let fault = Fault::Misfit { column: column.name.clone(), expected: A_TIME.into() };
            self.rejects.add(rows.places.bad_row(*row as usize, Part::Id, value, fault))?;
        }
        let mut rows = rows.without(&bad);
        let values = &mut rows.columns[at].values;
        if matches!(values, Values::Typed(array) if *array.data_type() == DataType::Float64) {
            *values = Values::of_array(Arc::new(Int64Array::from(times_of(values).unwrap_or_default())));
        }
        Ok(rows)
    }

    fn add_to_run(&mut self, label: LabelId, batch: EdgeBatch) -> Result<(), LoadError> {
        let at = *self.run_of.entry(label).or_insert_with(|| {
            self.runs.push((label, Run::default()));
            self.runs.len() - 1
        });
        let run = &mut self.runs[at].1;
        self.waiting += batch.sources.len();
        run.add(batch);
        // The limit on edges applies to all runs together.
        if run.is_full(self.limits) || self.waiting >= self.limits.run_edges_max {
            self.finish_pass()?;
        }
        Ok(())
    }

    /// Resolves the ends of edges. Appends the pairs found to `sources` and `targets`. Returns the rows of all other edges.
    fn resolve_ends(
        &mut self,
        rows: &Rows,
        sources: &mut Vec<VertexId>,
        targets: &mut Vec<VertexId>,
    ) -> Result<Vec<u32>, LoadError> {
        let Body::Edges { ids, source, target, source_scope, target_scope } = &rows.body else {
            unreachable!("rows of edges")
        };
        let (mut from, mut to) = (Vec::with_capacity(rows.count), Vec::with_capacity(rows.count));
        self.resolve(source, source_scope, &mut from)?;
        self.resolve(target, target_scope, &mut to)?;
        if self.makes_ends {
            self.create_missing(source, source_scope, &mut from)?;
            self.resolve(target, target_scope, &mut to)?;
            self.create_missing(target, target_scope, &mut to)?;
        }
        let taken = match ids {
            Some(ids) if self.merge.on_duplicate == OnDuplicate::Add => self.taken_edge_ids(ids)?,
            _ => Vec::new(),
        };
        let mut dropped = Vec::new();
        for row in 0..rows.count {
            let from = self.end(from[row], source, row, source_scope, "source")?;
            match (from, self.end(to[row], target, row, target_scope, "target")?) {
                (Ok(from), Ok(to)) if !taken.get(row).copied().unwrap_or(false) => {
                    sources.push(from);
                    targets.push(to);
                    continue;
                }
                (Err(fault), _) => self.reject(rows, row, Part::Source, source.get(row), fault)?,
                (_, Err(fault)) => self.reject(rows, row, Part::Target, target.get(row), fault)?,
                _ => {
                    let id = ids.as_ref().and_then(|ids| ids[row].clone()).expect("only ids can be taken");
                    self.reject(rows, row, Part::Id, id, Fault::DuplicateEdge)?;
                }
            }
            dropped.push(row as u32);
        }
        Ok(dropped)
    }

    /// Finds the vertices of ends. An end may also have the form `Label/7` where ids are unique only within labels.
    fn resolve(&mut self, ids: &Ids, scope: &Scope, found: &mut Vec<Found>) -> Result<(), LoadError> {
        found.clear();
        self.resolver.resolve(self.graph, ids, &self.candidates(scope), found)?;
        if self.resolver.space() == IdSpace::Graph || matches!(ids, Ids::Ints(_)) {
            return Ok(());
        }
        for row in (0..found.len()).filter(|row| found[*row] == Found::Nothing).collect::<Vec<_>>() {
            let schema = self.graph.schema();
            let Some((label, _)) = record::qualified(schema, &ids.get(row)) else { continue };
            let id = Ids::Any(vec![record::external_id_in(schema, label, ids.get(row))]);
            let mut one = Vec::with_capacity(1);
            self.resolver.resolve(self.graph, &id, &Candidates::Labels(vec![label]), &mut one)?;
            found[row] = one[0];
        }
        Ok(())
    }

    /// Creates the missing vertices if their label is known. It is the given label, or the only one in the graph.
    fn create_missing(&mut self, ids: &Ids, scope: &Scope, found: &mut Vec<Found>) -> Result<(), LoadError> {
        if found.iter().all(|found| *found != Found::Nothing) {
            return Ok(());
        }
        let schema = self.graph.schema();
        let label: Arc<str> = match (scope, schema.vertex_labels.len()) {
            (Scope::Label(name), _) => name.clone(),
            (Scope::Space(name), _) => match self.spaces.get(name) {
                Some(labels) if labels.len() > 1 => return Ok(()), // several labels are possible: see the last arm
                labels => labels
                    .and_then(BTreeSet::first)
                    .map_or_else(|| name.clone(), |label| schema.label_name(ElementKind::Vertex, *label)),
            },
            (Scope::Any, 0) => "vertex".into(),
            (Scope::Any, 1) => schema.label_name(ElementKind::Vertex, LabelId(0)),
            (Scope::Any, _) => return Ok(()), // each row becomes a bad row that says so
        };
        let label = self.label(ElementKind::Vertex, &label)?;
        let mut known = HashSet::new();
        let missing = found.iter().enumerate().filter(|(_, found)| **found == Found::Nothing);
        let schema = self.graph.schema();
        let missing = missing.map(|(row, _)| record::external_id_in(schema, label, ids.get(row)));
        let missing: Vec<ExternalId> = missing.filter(|id| known.insert(id.clone())).collect();
        self.create_ends(label, missing)?;
        self.resolve(ids, scope, found)
    }

    fn reject(&mut self, rows: &Rows, row: usize, part: Part, id: ExternalId, fault: Fault) -> Result<(), LoadError> {
        self.rejects.add(rows.places.bad_row(row, part, id.to_string(), fault))
    }

    /// Which ids of edges are taken: by the graph, by waiting edges, or by an earlier row of the batch.
    fn taken_edge_ids(&mut self, ids: &[Option<ExternalId>]) -> Result<Vec<bool>, LoadError> {
        let given: Vec<ExternalId> = ids.iter().flatten().cloned().collect();
        let mut found = Vec::with_capacity(given.len());
        self.graph.find_edges(&given, &mut found)?;
        let mut found = found.into_iter();
        let taken = ids.iter().map(|id| match id {
            Some(id) => found.next().flatten().is_some() | !self.waiting_ids.insert(id.clone()),
            None => false,
        });
        Ok(taken.collect())
    }

    /// Where to search for the ends of edges. A graph-wide id space searches all vertices.
    fn candidates(&self, scope: &Scope) -> Candidates {
        if self.resolver.space() == IdSpace::Graph {
            return Candidates::Whole;
        }
        let schema = self.graph.schema();
        let named = |name: &str| schema.label(ElementKind::Vertex, name);
        let all = || (0..schema.vertex_labels.len()).map(|at| LabelId(at as u16)).collect();
        Candidates::Labels(match scope {
            Scope::Any => all(),
            Scope::Label(name) => named(name).into_iter().collect(),
            Scope::Space(name) => match self.spaces.get(name) {
                Some(labels) => labels.iter().copied().collect(),
                None => named(name).map_or_else(all, |label| vec![label]),
            },
        })
    }

    /// The vertex found for an end, or the fault.
    fn end(
        &self,
        found: Found,
        ids: &Ids,
        row: usize,
        scope: &Scope,
        end: &'static str,
    ) -> Result<Result<VertexId, Fault>, LoadError> {
        let wanted = match scope {
            Scope::Label(name) => Some(name),
            Scope::Any | Scope::Space(_) => None,
        };
        match found {
            Found::One(vertex) => match wanted {
                Some(wanted) if !self.carries(vertex, wanted)? => {
                    let found = self.graph.schema().label_name(ElementKind::Vertex, vertex.label());
                    Ok(Err(Fault::EndLabel { end, expected: wanted.clone(), found }))
                }
                _ => Ok(Ok(vertex)),
            },
            Found::Nothing if self.makes_ends => Ok(Err(Fault::NoLabelForEnd { end })),
            Found::Nothing => {
                let scope = wanted.cloned();
                Ok(Err(Fault::NoSuchEnd { end, scope, other: self.other_spelling(&ids.get(row))? }))
            }
            Found::Several => {
                let labels =
                    self.graph.schema().known_labels(ElementKind::Vertex).map(|(_, l)| l.name.to_string()).collect();
                Ok(Err(Fault::AmbiguousEnd { end, labels }))
            }
        }
    }

    /// An existing id of another type that has the same text.
    fn other_spelling(&self, id: &ExternalId) -> Result<Option<Value>, LoadError> {
        let Some(other) = record::other_spelling(&id.to_value()) else { return Ok(None) };
        let is_there = record::find_vertex(self.graph.as_view(), &other)?.is_some();
        Ok(is_there.then_some(other))
    }

    fn carries(&self, vertex: VertexId, label: &str) -> Result<bool, LoadError> {
        let schema = self.graph.schema();
        let primary = schema.label_schema(ElementKind::Vertex, vertex.label());
        if primary.is_some_and(|primary| &*primary.name == label) {
            return Ok(true);
        }
        let Some(wanted) = schema.label(ElementKind::Vertex, label) else { return Ok(false) };
        Ok(self.graph.further_labels(vertex)?.contains(&wanted))
    }

    /// The key with the times of these edges. Declares it if needed.
    fn time_key(&mut self, label: LabelId, rows: &Rows) -> Result<Option<KeyId>, LoadError> {
        let declared = self.graph.schema().label_schema(ElementKind::Edge, label).and_then(|l| l.time);
        let wanted = match self.edge_time.clone() {
            Some(name) if self.times.saw(&name, rows.columns.iter().map(|column| &column.name)) => Some(self.key(&name)?),
            _ => None,
        };
        match (declared, wanted) {
            (None, Some(key)) => {
                self.graph.declare_time(label, key)?;
                Ok(Some(key))
            }
            (Some(declared), Some(key)) if declared != key => {
                let schema = self.graph.schema();
                Err(LoadError::options(format!(
                    "edges labelled {} are already ordered by `{}`, so they cannot be ordered by `{}`",
                    schema.label_name(ElementKind::Edge, label),
                    schema.key_name(declared),
                    schema.key_name(key)
                )))
            }
            (declared, _) => Ok(declared),
        }
    }
}

/// The items without those at `rows`, which are sorted.
fn without<T>(mut items: Vec<T>, rows: &[u32]) -> Vec<T> {
    let mut row = 0u32..;
    items.retain(|_| row.next().is_none_or(|row| rows.binary_search(&row).is_err()));
    items
}

/// If uncommitted changes take more memory than this, they are written out if possible.
pub const WRITTEN_OUT_FROM: u64 = 256 << 20;

/// Tracks a column that tables of edges should have: whether some table had it, and the columns of the first table that lacked it.
#[derive(Default)]
pub(crate) struct NamedColumn {
    found: bool,
    missed: Option<Vec<Arc<str>>>,
}

impl NamedColumn {
    /// Records a table of edges with these columns. Returns whether one has this name.
    pub fn saw<'c>(&mut self, name: &str, columns: impl Iterator<Item = &'c Arc<str>> + Clone) -> bool {
        let here = columns.clone().any(|column| **column == *name);
        self.found |= here;
        if !here && self.missed.is_none() {
            self.missed = Some(columns.cloned().collect());
        }
        here
    }

    /// Fails if there were tables of edges but none had the column.
    pub fn check(&self, name: &str, purpose: &str) -> Result<(), LoadError> {
        match &self.missed {
            Some(columns) if !self.found => Err(LoadError::options(format!(
                "no table of edges has the column `{name}`, which should {purpose}; the columns are: {}",
                columns.join(", ")
            ))),
            _ => Ok(()),
        }
    }
}

/// The rows of each (primary) label; `None` if all rows have the same label.
fn rows_by_label(labels: &Labels) -> Option<Vec<Vec<u32>>> {
    let codes = labels.codes.as_ref()?;
    let mut group_of: HashMap<&Arc<str>, usize> = HashMap::new();
    let mut group_of_set = vec![None; labels.sets.len()];
    let mut groups: Vec<Vec<u32>> = Vec::new();
    for (row, code) in codes.iter().enumerate() {
        let code = *code as usize;
        let group = *group_of_set[code].get_or_insert_with(|| {
            let next = groups.len();
            *group_of.entry(&labels.sets[code].primary).or_insert(next)
        });
        groups.resize(groups.len().max(group + 1), Vec::new());
        groups[group].push(row as u32);
    }
    (groups.len() > 1).then_some(groups)
}

/// Whether each id occurs earlier in the batch.
fn repeated(ids: &Ids) -> Vec<bool> {
    match ids {
        Ids::Ints(ids) if ids.is_sorted_by(|a, b| a < b) => vec![false; ids.len()],
        Ids::Ints(ids) => {
            let mut seen = HashSet::with_capacity(ids.len());
            ids.iter().map(|id| !seen.insert(*id)).collect()
        }
        Ids::Strings(ids) => {
            let mut seen = HashSet::with_capacity(ids.len());
            ids.iter().map(|id| !seen.insert(id)).collect()
        }
        Ids::Any(ids) => {
            let mut seen = HashSet::with_capacity(ids.len());
            ids.iter().map(|id| !seen.insert(id)).collect()
        }
    }
}

/// The times in a column: integers as they are, dates and date-times in microseconds since 1970. On error, the rows that hold no
/// time.
fn times_of(values: &Values) -> Result<Vec<Option<i64>>, Vec<u32>> {
    let days = |days| Value::Date(mangrove_graph::Date(days)).as_time().unwrap_or_default();
    let all = |is_bad: &dyn Fn(usize) -> bool, time: &dyn Fn(usize) -> Option<i64>| {
        let bad: Vec<u32> = (0..values.len() as u32).filter(|row| is_bad(*row as usize)).collect();
        if bad.is_empty() { Ok((0..values.len()).map(time).collect()) } else { Err(bad) }
    };
    match values {
        Values::Absent(n) => Ok(vec![None; *n]),
        Values::Typed(array) => match array.data_type() {
            DataType::Int64 => Ok(longs::<Int64Type>(array, |v| v)),
            DataType::Int32 => Ok(longs::<Int32Type>(array, i64::from)),
            DataType::Int16 => Ok(longs::<Int16Type>(array, i64::from)),
            DataType::Int8 => Ok(longs::<Int8Type>(array, i64::from)),
            DataType::Date32 => Ok(longs::<Date32Type>(array, days)),
            DataType::Timestamp(_, _) => Ok(longs::<TimestampMicrosecondType>(array, |v| v)),
            DataType::Float64 => {
                let doubles: &Float64Array = array.as_primitive();
                let double = |row: usize| doubles.is_valid(row).then(|| doubles.value(row)).filter(|v| !v.is_nan());
                let time = |row| double(row).filter(|v| v.fract() == 0.0 && v.abs() <= WHOLE_MAX).map(|v| v as i64);
                all(&|row| double(row).is_some() && time(row).is_none(), &time)
            }
            _ => all(&|row| array.is_valid(row), &|_| None),
        },
        Values::Cells(cells) => {
            let time = |row: usize| if let RawCell::One(value) = &cells[row] { value.as_time() } else { None };
            let is_absent = |row: usize| matches!(cells[row], RawCell::Absent | RawCell::One(Value::Null));
            all(&|row| !is_absent(row) && time(row).is_none(), &time)
        }
    }
}

/// Up to this bound, each integer has its own double.
const WHOLE_MAX: f64 = (1u64 << 53) as f64;

fn longs<T: ArrowPrimitiveType>(array: &ArrayRef, of: impl Fn(T::Native) -> i64) -> Vec<Option<i64>> {
    let array: &PrimitiveArray<T> = array.as_primitive();
    array.iter().map(|v| v.map(&of)).collect()
}
