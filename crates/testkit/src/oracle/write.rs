//! Writes to the oracle. Every call checks all its arguments before it changes anything.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::sync::Arc;

use mangrove_graph::{
    Cardinality, Cell, EdgeId, EdgeRef, ElementId, ElementKind, Elements, Encoding, ExternalId, GraphError, GraphView,
    GraphWrite, IndexSchema, KeyId, LabelId, LabelSchema, NewEdge, PropertyColumn, PropertyId, PropertySchema,
    PropertyValue, Result, Value, ValueType, VertexId,
};

use super::{Edge, Oracle, Vertex};

const NAMES_MAX: usize = 1 << 16;

impl GraphWrite for Oracle {
    fn ensure_label(&mut self, kind: ElementKind, name: &str) -> Result<LabelId> {
        if let Some(label) = self.schema.label(kind, name) {
            return Ok(label);
        }
        let labels = Arc::make_mut(&mut self.schema).labels_mut(kind);
        room_for_a_name("labels", labels.len())?;
        labels.push(LabelSchema::new(name));
        Ok(LabelId((labels.len() - 1) as u16))
    }

    fn ensure_key(&mut self, name: &str) -> Result<KeyId> {
        if let Some(key) = self.schema.key(name) {
            return Ok(key);
        }
        room_for_a_name("property keys", self.schema.keys.len())?;
        Arc::make_mut(&mut self.schema).keys.push(name.into());
        Ok(KeyId((self.schema.keys.len() - 1) as u16))
    }

    fn add_vertices(&mut self, label: LabelId, ids: &[Option<ExternalId>], out: &mut Vec<VertexId>) -> Result<()> {
        self.label_exists(ElementKind::Vertex, label)?;
        let mut given = BTreeSet::new();
        for id in ids.iter().flatten() {
            self.id_fits(label, id)?;
            if self.vertex_names.contains_key(&self.name_of(label, id)) || !given.insert(id) {
                return Err(self.duplicate_vertex(label, id));
            }
        }
        for id in ids {
            let shard = match id {
                Some(id) => (self.homes.home)(label, id),
                None => self.emptiest(label),
            };
            let external = id.clone().unwrap_or_else(|| self.free_id(label, shard, &given));
            let vertex = VertexId::new(label, shard, self.next_local(ElementKind::Vertex, label, shard));
            if let Some(key) = self.schema.vertex_labels[usize::from(label.0)].key {
                self.infer(ElementKind::Vertex, label, key, &Cell::One(external.to_value()));
            }
            self.vertex_names.insert(self.name_of(label, &external), vertex);
            self.vertices.insert(vertex, Vertex::new(external));
            out.push(vertex);
        }
        Ok(())
    }

    fn add_edges(&mut self, label: LabelId, edges: &[NewEdge], out: &mut Vec<EdgeId>) -> Result<()> {
        self.label_exists(ElementKind::Edge, label)?;
        let mut given = BTreeSet::new();
        for edge in edges {
            self.element_exists(ElementId::Vertex(edge.source))?;
            self.element_exists(ElementId::Vertex(edge.target))?;
            self.time_fits(label, edge)?;
            if let Some(id) = edge.id.as_ref().filter(|id| EdgeId::from_generated(id).is_some()) {
                return Err(GraphError::GeneratedId { id: id.clone() });
            }
            if let Some(id) = &edge.id
                && (self.edge_names.contains_key(id) || !given.insert(id))
            {
                return Err(GraphError::DuplicateEdge { id: id.clone() });
            }
        }
        for edge in edges {
            out.push(self.add_edge(label, edge));
        }
        Ok(())
    }

    fn set_cell(&mut self, element: ElementId, key: KeyId, cell: Cell) -> Result<()> {
        let cell = Cell::from_entries(cell.into_entries());
        self.element_exists(element)?;
        self.cell_fits(element, key, &cell)?;
        self.keeps_its_time(element, key, &cell)?;
        if !self.is_id(element, key, &cell)? {
            self.keeps_required(element, key, &cell)?;
            self.stay_unique(key, &[(element, cell.clone())])?;
            self.store(element, key, cell);
        }
        Ok(())
    }

    fn set_properties(&mut self, elements: Elements<'_>, key: KeyId, values: &PropertyColumn) -> Result<()> {
        if elements.len() != values.len() {
            return Err(GraphError::Invalid(format!("{} values for {} elements", values.len(), elements.len())));
        }
        let cells: Vec<(ElementId, Cell)> = (0..elements.len())
            .map(|at| (elements.get(at), Cell::from_entries(values.cell(at).into_entries())))
            .filter(|(_, cell)| !cell.is_absent())
            .collect();
        for (element, cell) in &cells {
            self.element_exists(*element)?;
            self.cell_fits(*element, key, cell)?;
            self.keeps_its_time(*element, key, cell)?;
            if !self.is_id(*element, key, cell)? {
                self.keeps_required(*element, key, cell)?;
            }
        }
        self.stay_unique(key, &cells)?;
        for (element, cell) in cells {
            if !self.is_id(element, key, &cell)? {
                self.store(element, key, cell);
            }
        }
        Ok(())
    }

    fn set_further_labels(&mut self, vertex: VertexId, labels: &[LabelId]) -> Result<()> {
        self.element_exists(ElementId::Vertex(vertex))?;
        for label in labels {
            self.label_exists(ElementKind::Vertex, *label)?;
        }
        let further: BTreeSet<LabelId> = labels.iter().copied().filter(|label| *label != vertex.label()).collect();
        let known = &mut self.label_mut(ElementKind::Vertex, vertex.label()).further;
        further.iter().for_each(|label| known.insert_mut(*label));
        self.vertices.get_mut(&vertex).expect("checked above").further = further;
        Ok(())
    }

    fn remove_edges(&mut self, edges: &[EdgeRef]) -> Result<()> {
        edges.iter().for_each(|edge| self.remove_edge(edge.id));
        Ok(())
    }

    fn remove_vertices(&mut self, vertices: &[VertexId]) -> Result<()> {
        for id in vertices {
            let Some(vertex) = self.vertices.get(id).cloned() else { continue };
            for (.., edge) in vertex.out.iter().chain(&vertex.incoming) {
                self.remove_edge(*edge);
            }
            self.vertices.remove(id);
            self.vertex_names.remove(&self.name_of(id.label(), &vertex.external));
        }
        Ok(())
    }

    fn declare_property(
        &mut self,
        kind: ElementKind,
        label: LabelId,
        key: KeyId,
        value_type: Option<ValueType>,
        cardinality: Cardinality,
    ) -> Result<()> {
        self.label_exists(kind, label)?;
        self.key_exists(key)?;
        let declaration = PropertySchema { declared: value_type, cardinality, ..PropertySchema::new(key) };
        if self.schema.is_key(kind, label, key) && !declaration.may_be_id() {
            return Err(GraphError::Invalid("it is no declaration of an id".into()));
        }
        for cell in self.cells_of(kind, label, key) {
            self.keeps_to(kind, label, &declaration, &cell, true)?;
        }
        let property = self.label_mut(kind, label).property_mut(key);
        (property.declared, property.cardinality) = (value_type, cardinality);
        Ok(())
    }

    fn declare_key(&mut self, label: LabelId, key: KeyId) -> Result<()> {
        self.label_exists(ElementKind::Vertex, label)?;
        self.key_exists(key)?;
        let schema = &self.schema.vertex_labels[usize::from(label.0)];
        match (schema.key, schema.property(key)) {
            (Some(known), _) if known == key => return Ok(()),
            (Some(_), _) => return Err(GraphError::Invalid("a label has one key".into())),
            (_, Some(property)) if property.declared.is_some() && !property.may_be_id() => {
                return Err(GraphError::Invalid("it is declared as no id".into()));
            }
            _ => {}
        }
        let ids: Vec<(VertexId, ExternalId)> =
            self.vertices.iter().filter(|(id, _)| id.label() == label).map(|(id, v)| (*id, v.external.clone())).collect();
        for (vertex, external) in &ids {
            match self.stored(ElementId::Vertex(*vertex), key) {
                Cell::Absent => {}
                Cell::One(value) if ExternalId::from_value(&value).as_ref() == Some(external) => {}
                other => return Err(GraphError::Invalid(format!("{external} has {other:?}"))),
            }
            if let Some(property) = self.schema.vertex_labels[usize::from(label.0)].property(key) {
                self.keeps_to(ElementKind::Vertex, label, property, &Cell::One(external.to_value()), true)?;
            }
        }
        self.label_mut(ElementKind::Vertex, label).key = Some(key);
        self.label_mut(ElementKind::Vertex, label).property_mut(key).cardinality = Cardinality::Single;
        for (vertex, external) in &ids {
            self.vertices.get_mut(vertex).expect("it is one of them").cells.remove(&key);
            self.infer(ElementKind::Vertex, label, key, &Cell::One(external.to_value()));
        }
        Ok(())
    }

    fn declare_time(&mut self, label: LabelId, key: KeyId) -> Result<()> {
        self.label_exists(ElementKind::Edge, label)?;
        self.key_exists(key)?;
        if self.edges.keys().any(|edge| edge.label() == label) {
            let name = self.schema.label_name(ElementKind::Edge, label);
            return Err(GraphError::Invalid(format!("{name} has edges already, so its time can no longer be declared")));
        }
        self.label_mut(ElementKind::Edge, label).time = Some(key);
        Ok(())
    }

    fn set_encoding(&mut self, kind: ElementKind, label: LabelId, key: KeyId, encoding: Encoding) -> Result<()> {
        self.label_exists(kind, label)?;
        self.key_exists(key)?;
        self.label_mut(kind, label).property_mut(key).encoding = encoding;
        Ok(())
    }

    fn create_index(&mut self, of: PropertyId) -> Result<bool> {
        self.label_exists(of.kind, of.label)?;
        self.key_exists(of.key)?;
        let is_new = self.schema.index(of).is_none();
        if is_new {
            Arc::make_mut(&mut self.schema).indexes.push(IndexSchema::new(of));
        }
        Ok(is_new)
    }

    fn declare_unique(&mut self, of: PropertyId) -> Result<bool> {
        self.label_exists(of.kind, of.label)?;
        self.key_exists(of.key)?;
        if self.schema.index(of).is_some_and(|index| index.unique) {
            return Ok(false);
        }
        self.are_distinct(of, self.elements_with(of).into_iter().collect())?;
        self.create_index(of)?;
        let mine = Arc::make_mut(&mut self.schema).indexes.iter_mut().find(|index| index.of == of);
        mine.expect("it was made").unique = true;
        Ok(true)
    }

    fn declare_routed(&mut self, of: PropertyId) -> Result<bool> {
        self.create_index(of)?;
        let mine = Arc::make_mut(&mut self.schema).indexes.iter_mut().find(|index| index.of == of);
        Ok(!std::mem::replace(&mut mine.expect("it is there").routed, true))
    }

    fn declare_required(&mut self, kind: ElementKind, label: LabelId, key: KeyId, required: bool) -> Result<()> {
        self.label_exists(kind, label)?;
        self.key_exists(key)?;
        if required {
            self.have_it(kind, label, key)?;
        }
        self.label_mut(kind, label).property_mut(key).required = required;
        Ok(())
    }

    fn drop_index(&mut self, of: PropertyId) -> Result<bool> {
        let before = self.schema.indexes.len();
        Arc::make_mut(&mut self.schema).indexes.retain(|index| index.of != of);
        Ok(self.schema.indexes.len() < before)
    }

    fn rename_label(&mut self, kind: ElementKind, label: LabelId, name: &str) -> Result<()> {
        self.label_exists(kind, label)?;
        match self.schema.label(kind, name) {
            Some(other) if other == label => return Ok(()),
            Some(_) => return Err(GraphError::Invalid("two labels cannot become one".into())),
            None => {}
        }
        let renamed = LabelSchema { name: name.into(), ..self.schema.labels(kind)[usize::from(label.0)].clone() };
        Arc::make_mut(&mut self.schema).labels_mut(kind).replace(label.0, renamed);
        Ok(())
    }

    fn drop_label(&mut self, kind: ElementKind, label: LabelId) -> Result<()> {
        self.label_exists(kind, label)?;
        let in_use = match kind {
            ElementKind::Vertex => self.vertices.iter().any(|(id, v)| id.label() == label || v.further.contains(&label)),
            ElementKind::Edge => self.edges.keys().any(|id| id.label() == label),
        };
        if in_use {
            return Err(GraphError::InUse { what: "the label".into(), first: "one".into() });
        }
        Arc::make_mut(&mut self.schema).indexes.retain(|index| (index.of.kind, index.of.label) != (kind, label));
        let keys: Vec<KeyId> = self.schema.labels(kind)[usize::from(label.0)].properties.keys().collect();
        let name = self.schema.label_name(kind, label);
        Arc::make_mut(&mut self.schema).labels_mut(kind).replace(label.0, LabelSchema::new(name));
        Arc::make_mut(&mut self.schema).labels_mut(kind).drop_name(label.0);
        if kind == ElementKind::Vertex {
            self.forget_label(label);
        }
        keys.into_iter().for_each(|key| self.drop_key(key));
        Ok(())
    }

    fn put_source(&mut self, name: &str, position: &[u8]) -> Result<()> {
        self.sources.insert(name.to_owned(), position.to_vec());
        Ok(())
    }

    fn drop_property(&mut self, of: PropertyId) -> Result<()> {
        self.label_exists(of.kind, of.label)?;
        self.key_exists(of.key)?;
        let label = &self.schema.labels(of.kind)[usize::from(of.label.0)];
        if label.key == Some(of.key) || label.time == Some(of.key) {
            return Err(GraphError::Invalid("it is the key or the time".into()));
        }
        if self.elements_with(of).values().any(|cell| !cell.is_absent()) {
            return Err(GraphError::InUse { what: "the property".into(), first: "one".into() });
        }
        let is_known = label.property(of.key).is_some();
        self.drop_index(of)?;
        if is_known {
            *self.label_mut(of.kind, of.label).property_mut(of.key) = PropertySchema::new(of.key);
        }
        self.drop_key(of.key);
        Ok(())
    }

    fn as_view(&self) -> &dyn GraphView {
        self
    }
}

impl Vertex {
    fn new(external: ExternalId) -> Self {
        Self { external, further: BTreeSet::new(), cells: BTreeMap::new(), out: BTreeSet::new(), incoming: BTreeSet::new() }
    }
}

/// The checks.
impl Oracle {
    fn label_exists(&self, kind: ElementKind, label: LabelId) -> Result<()> {
        let known = self.schema.label_schema(kind, label).filter(|_| !self.schema.labels(kind).is_dropped(label.0));
        known.map(|_| ()).ok_or_else(|| GraphError::Invalid(format!("there is no {kind:?} label {}", label.0)))
    }

    fn key_exists(&self, key: KeyId) -> Result<()> {
        let known = self.schema.keys.get(usize::from(key.0)).filter(|_| !self.schema.keys.is_dropped(key.0));
        known.map(|_| ()).ok_or_else(|| GraphError::Invalid(format!("there is no property key {}", key.0)))
    }

    fn element_exists(&self, element: ElementId) -> Result<()> {
        let (kind, id) = match element {
            ElementId::Vertex(id) => ("vertex", Value::Vertex(id).to_string()),
            ElementId::Edge(id) => ("edge", id.0.to_string()),
        };
        if self.contains(element)? { Ok(()) } else { Err(GraphError::NoSuchElement { kind, id }) }
    }

    fn duplicate_vertex(&self, label: LabelId, id: &ExternalId) -> GraphError {
        let label = self.name_space(label).map(|label| self.schema.label_name(ElementKind::Vertex, label).to_string());
        GraphError::DuplicateVertex { id: id.clone(), label }
    }

    fn time_fits(&self, label: LabelId, edge: &NewEdge) -> Result<()> {
        let schema = &self.schema.edge_labels[usize::from(label.0)];
        let Some(time) = &edge.time else { return Ok(()) };
        let Some(key) = schema.time else {
            return Err(GraphError::Invalid(format!("edges of {} have no time: declare its key first", schema.name)));
        };
        if time.as_time().is_none() {
            return Err(GraphError::Invalid("a time is an integer, a date or a date-time".into()));
        }
        let Some(property) = schema.property(key) else { return Ok(()) };
        let cell = Cell::One(time.clone());
        self.keeps_to(ElementKind::Edge, label, property, &cell, property.declared.is_some())
    }

    /// Fails if the cell would change the time of an edge. The time decides the edge's place and stays.
    fn keeps_its_time(&self, element: ElementId, key: KeyId, cell: &Cell) -> Result<()> {
        let ElementId::Edge(id) = element else { return Ok(()) };
        let is_time = self.schema.edge_labels[usize::from(id.label().0)].time == Some(key);
        let time = cell.values().next().and_then(Value::as_time).unwrap_or(i64::MIN);
        let is_text = cell.values().any(|value| !value.is_null() && value.as_time().is_none());
        if is_time && (is_text || self.edges[&id].time != Some(time)) {
            return Err(GraphError::Invalid("the time of an edge stays".into()));
        }
        Ok(())
    }

    /// Whether the property is the id of its vertex. A cell must not change it.
    fn is_id(&self, element: ElementId, key: KeyId, cell: &Cell) -> Result<bool> {
        let ElementId::Vertex(vertex) = element else { return Ok(false) };
        if !self.schema.is_key(ElementKind::Vertex, vertex.label(), key) {
            return Ok(false);
        }
        let id = self.external_id(vertex)?;
        if matches!(cell, Cell::One(value) if ExternalId::from_value(value).as_ref() == Some(&id)) {
            return Ok(true);
        }
        let label = self.schema.label_name(ElementKind::Vertex, vertex.label()).to_string();
        Err(GraphError::Key { label, key: self.schema.key_name(key).to_string(), id })
    }

    fn id_fits(&self, label: LabelId, id: &ExternalId) -> Result<()> {
        let schema = &self.schema.vertex_labels[usize::from(label.0)];
        match schema.key.and_then(|key| schema.property(key)).filter(|property| property.declared.is_some()) {
            Some(property) => self.keeps_to(ElementKind::Vertex, label, property, &Cell::One(id.to_value()), true),
            None => Ok(()),
        }
    }

    fn cell_fits(&self, element: ElementId, key: KeyId, cell: &Cell) -> Result<()> {
        self.key_exists(key)?;
        if matches!((element, cell), (ElementId::Edge(_), Cell::Many(_))) {
            return Err(GraphError::Invalid("an edge has one plain value under a key".into()));
        }
        let meta = match cell {
            Cell::Many(entries) => entries.iter().flat_map(|entry| &entry.meta).collect(),
            _ => Vec::new(),
        };
        for (key, _) in &meta {
            self.key_exists(*key)?;
        }
        for value in cell.values().chain(meta.iter().map(|(_, value)| value)) {
            if !value.is_storable() {
                return Err(GraphError::NotStorable { found: value.value_type().name() });
            }
        }
        let (kind, label) = (element.kind(), element.label());
        let Some(property) = self.schema.labels(kind)[usize::from(label.0)].property(key) else { return Ok(()) };
        self.keeps_to(kind, label, property, cell, property.declared.is_some())
    }

    /// Whether `cell` fits the property's schema. Its cardinality counts only if `fixed`.
    fn keeps_to(
        &self,
        kind: ElementKind,
        label: LabelId,
        property: &PropertySchema,
        cell: &Cell,
        fixed: bool,
    ) -> Result<()> {
        let name = || (self.schema.label_name(kind, label).to_string(), self.schema.key_name(property.key).to_string());
        for value in cell.values().filter(|value| !value.is_null()) {
            if let Some(declared) = property.declared.filter(|declared| *declared != value.value_type()) {
                let (label, key) = name();
                let (declared, found) = (declared.to_string(), value.value_type().to_string());
                return Err(GraphError::TypeMismatch { label, key, declared, found, value: value.to_string() });
            }
        }
        let values: Vec<&Value> = cell.values().collect();
        let distinct: HashSet<&Value> = values.iter().copied().collect();
        let too_many = match property.cardinality {
            Cardinality::Single => fixed && values.len() > 1,
            Cardinality::List => false,
            Cardinality::Set => fixed && distinct.len() < values.len(),
        };
        if too_many {
            let ((label, key), cardinality) = (name(), property.cardinality.name());
            return Err(GraphError::Invalid(format!("{label}.{key} is declared {cardinality} and cannot hold {values:?}")));
        }
        Ok(())
    }
}

/// The changes, after the checks.
impl Oracle {
    fn label_mut(&mut self, kind: ElementKind, label: LabelId) -> &mut LabelSchema {
        &mut Arc::make_mut(&mut self.schema).labels_mut(kind)[usize::from(label.0)]
    }

    /// Removes a vertex label from the schema of other labels.
    fn forget_label(&mut self, label: LabelId) {
        for kind in ElementKind::ALL {
            for at in 0..self.schema.labels(kind).len() {
                let known = &mut Arc::make_mut(&mut self.schema).labels_mut(kind)[at];
                let all: Vec<(LabelId, LabelId)> = known.ends.iter().copied().collect();
                let gone = all.into_iter().filter(|(from, to)| *from == label || *to == label);
                for ends in gone {
                    known.ends.remove_mut(&ends);
                }
                known.further.remove_mut(&label);
            }
        }
    }

    /// Drops the name of a key that no label uses.
    fn drop_key(&mut self, key: KeyId) {
        let knows = |label: &LabelSchema| {
            let is_known = |p: &PropertySchema| p.has_meta || p.key == key && *p != PropertySchema::new(key);
            label.key == Some(key) || label.time == Some(key) || label.properties.iter().any(is_known)
        };
        let is_indexed = self.schema.indexes.iter().any(|index| index.of.key == key);
        if !is_indexed && !ElementKind::ALL.iter().any(|kind| self.schema.labels(*kind).iter().any(knows)) {
            Arc::make_mut(&mut self.schema).keys.drop_name(key.0);
        }
    }

    fn next_local(&mut self, kind: ElementKind, label: LabelId, shard: u16) -> u64 {
        let made = self.made.entry((kind, label, shard)).or_default();
        *made += 1;
        *made - 1
    }

    fn made_of(&self, label: LabelId, shard: u16) -> u64 {
        self.made.get(&(ElementKind::Vertex, label, shard)).copied().unwrap_or(0)
    }

    /// The first of the shards that had the fewest vertices of a label.
    fn emptiest(&self, label: LabelId) -> u16 {
        (0..self.homes.shards).min_by_key(|shard| self.made_of(label, *shard)).unwrap_or(0)
    }

    /// The generated id of the next vertex of a label. If a vertex has that id, or if the call has it in `given`, a number is
    /// appended that makes it free.
    fn free_id(&self, label: LabelId, shard: u16, given: &BTreeSet<&ExternalId>) -> ExternalId {
        let generated = VertexId::new(label, shard, self.made_of(label, shard)).generated();
        let taken = |id: &ExternalId| given.contains(id) || self.vertex_names.contains_key(&self.name_of(label, id));
        let numbered = (1..).map(|number| ExternalId::from(&*format!("{generated}.{number}")));
        let mut wanted = std::iter::once(generated.clone()).chain(numbered);
        wanted.find(|id| !taken(id)).expect("there is no end of numbers")
    }

    fn add_edge(&mut self, label: LabelId, edge: &NewEdge) -> EdgeId {
        let shard = edge.source.shard();
        let id = EdgeId::new(label, shard, self.next_local(ElementKind::Edge, label, shard));
        let age = self.edges_made;
        self.edges_made += 1;
        let schema = self.label_mut(ElementKind::Edge, label);
        schema.ends.insert_mut((edge.source.label(), edge.target.label()));
        let time_key = schema.time;
        let time = time_key.map(|_| edge.time.as_ref().and_then(Value::as_time).unwrap_or(i64::MIN));
        let (source, target, external) = (edge.source, edge.target, edge.id.clone());
        self.edges.insert(id, Edge { source, target, external, time, age, cells: BTreeMap::new() });
        self.vertices.get_mut(&source).expect("checked").out.insert((label, time, age, id));
        self.vertices.get_mut(&target).expect("checked").incoming.insert((label, time, age, id));
        if let Some(external) = &edge.id {
            self.edge_names.insert(external.clone(), id);
        }
        if let (Some(key), Some(time)) = (time_key, &edge.time) {
            self.store(ElementId::Edge(id), key, Cell::One(time.clone()));
        }
        id
    }

    fn remove_edge(&mut self, id: EdgeId) {
        let Some(edge) = self.edges.remove(&id) else { return };
        let place = (id.label(), edge.time, edge.age, id);
        self.vertices.get_mut(&edge.source).expect("invariant 2").out.remove(&place);
        self.vertices.get_mut(&edge.target).expect("invariant 2").incoming.remove(&place);
        if let Some(external) = &edge.external {
            self.edge_names.remove(external);
        }
    }

    fn store(&mut self, element: ElementId, key: KeyId, cell: Cell) {
        self.infer(element.kind(), element.label(), key, &cell);
        let cells = match element {
            ElementId::Vertex(id) => &mut self.vertices.get_mut(&id).expect("checked").cells,
            ElementId::Edge(id) => &mut self.edges.get_mut(&id).expect("checked").cells,
        };
        match cell {
            Cell::Absent => cells.remove(&key),
            cell => cells.insert(key, cell),
        };
    }

    /// Widens the schema to hold `cell`.
    fn infer(&mut self, kind: ElementKind, label: LabelId, key: KeyId, cell: &Cell) {
        if cell.is_absent() {
            return;
        }
        let property = self.label_mut(kind, label).property_mut(key);
        cell.values().for_each(|value| property.types.insert(value.value_type()));
        if let Cell::Many(entries) = cell {
            property.has_meta |= entries.iter().any(|entry: &PropertyValue| !entry.meta.is_empty());
            if entries.len() > 1 && property.cardinality == Cardinality::Single {
                property.cardinality = Cardinality::List;
            }
        }
    }

    pub(super) fn cells_of(&self, kind: ElementKind, label: LabelId, key: KeyId) -> Vec<Cell> {
        let elements: Vec<ElementId> = match kind {
            ElementKind::Vertex => self.vertices.keys().map(|id| ElementId::Vertex(*id)).collect(),
            ElementKind::Edge => self.edges.keys().map(|id| ElementId::Edge(*id)).collect(),
        };
        elements.into_iter().filter(|e| e.label() == label).map(|e| self.stored(e, key)).collect()
    }
}

fn room_for_a_name(what: &str, names: usize) -> Result<()> {
    if names < NAMES_MAX {
        return Ok(());
    }
    Err(GraphError::Limit { what: format!("too many {what}"), limit: NAMES_MAX as u64 })
}
