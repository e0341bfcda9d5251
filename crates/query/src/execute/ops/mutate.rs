//! Changes: `addV`, `addE`, `property`, `drop`.

use std::sync::Arc;

use mangrove_graph::{
    Cardinality, Cell, EdgeRef, ElementId, ElementKind, ExternalId, KeyId, LabelId, LabelSchema, NewEdge, PropertyOwner,
    PropertyValue, Schema, Value, ValueType, VertexId, compare, number, record,
};

use crate::error::{QueryError, Result};
use crate::execute::data::batch::Batch;
use crate::execute::data::items::Items;
use crate::execute::data::words::{described, shown, type_error};
use crate::execute::ops::operand::OperandOp;
use crate::execute::run::chain::{Child, MapBatch};
use crate::execute::run::context::Context;
use crate::execute::run::ids;
use crate::execute::run::memory::Held;
use crate::execute::run::scope::scope_value;
use crate::plan::{Name, Pop, split_cardinality};

/// The key of a property to set.
pub enum PropertyKeyOp {
    Key(Name),
    Id,
    Label,
    Child(Child),
}

/// A property to set, with compiled operands.
pub struct SetPropertyOp {
    pub cardinality: Option<Cardinality>,
    pub key: PropertyKeyOp,
    pub value: OperandOp,
    pub meta: Vec<(Name, OperandOp)>,
}

/// A property with its operands evaluated.
#[derive(Clone)]
pub struct PropertyToSet {
    pub cardinality: Option<Cardinality>,
    pub key: Name,
    pub value: Value,
    pub meta: Vec<(Name, Value)>,
}

/// The properties of a new element: its id and label if they are among them, and the rest.
#[derive(Default)]
struct NewElement {
    id: Option<Value>,
    label: Option<Name>,
    properties: Vec<PropertyToSet>,
}

/// Evaluates `properties` for every row. Returns also the bytes of the values.
///
/// # Errors
/// If they exceed the memory of the query.
fn evaluate(properties: &mut [SetPropertyOp], cx: &mut Context<'_, '_>, batch: &Batch) -> Result<(Vec<NewElement>, usize)> {
    let mut held = Held::default();
    let mut elements: Vec<NewElement> = (0..batch.len()).map(|_| NewElement::default()).collect();
    for property in properties {
        let values = property.value.eval(cx, batch)?;
        held.add_values(cx, &values)?;
        let keys = match &mut property.key {
            PropertyKeyOp::Child(child) => child.first(cx, batch)?,
            _ => Vec::new(),
        };
        let mut metas = Vec::with_capacity(property.meta.len());
        for (name, operand) in &mut property.meta {
            let values = operand.eval(cx, batch)?;
            held.add_values(cx, &values)?;
            if values.iter().any(Option::is_none) {
                return Err(maps_to_nothing(&PropertyKeyOp::Key(name.clone())));
            }
            metas.push((name.clone(), values));
        }
        for (row, (element, value)) in elements.iter_mut().zip(values).enumerate() {
            let value = value.ok_or_else(|| maps_to_nothing(&property.key))?;
            let key = match &property.key {
                PropertyKeyOp::Id => None,
                PropertyKeyOp::Label => None,
                PropertyKeyOp::Key(key) => Some(key.clone()),
                PropertyKeyOp::Child(_) => match keys[row].clone() {
                    Some(Value::String(key)) => Some(key),
                    other => {
                        let other = other.unwrap_or_default();
                        return Err(QueryError::value(format!(
                            "a property key must be a string, not the {}",
                            described(&other)
                        )));
                    }
                },
            };
            match (&property.key, key) {
                (PropertyKeyOp::Id, _) => element.id = Some(value),
                (_, None) => element.label = Some(label_name(&value)?),
                (_, Some(key)) => {
                    let meta = metas.iter().filter_map(|(name, values)| Some((name.clone(), values[row].clone()?)));
                    let (own, value) = split_cardinality(&value);
                    element.properties.push(PropertyToSet {
                        cardinality: own.or(property.cardinality),
                        key,
                        value: value.clone(),
                        meta: meta.collect(),
                    });
                }
            }
        }
    }
    Ok((elements, held.bytes()))
}

/// The error of a property whose traversal gives nothing, in TinkerPop's words.
fn maps_to_nothing(key: &PropertyKeyOp) -> QueryError {
    let key = match key {
        PropertyKeyOp::Key(key) => format!("'{key}'"),
        PropertyKeyOp::Id => "id".into(),
        PropertyKeyOp::Label => "label".into(),
        PropertyKeyOp::Child(_) => "a key".into(),
    };
    QueryError::value(format!("property(): the traversal for the value of {key} does not map to a value"))
        .help("use coalesce(…, constant(null)) to set null instead, or where(…) to leave such traversers out")
}

pub fn label_name(value: &Value) -> Result<Name> {
    match value {
        Value::String(label) if label.is_empty() => Err(QueryError::value("Label can not be empty")),
        Value::String(label) if label.starts_with('~') => {
            Err(QueryError::value(format!("Label can not be a hidden key: {label}")))
        }
        Value::String(label) => Ok(label.clone()),
        Value::Null => Err(QueryError::value("Label can not be null")),
        other => Err(QueryError::value(format!("a label must be a string, not the {}", described(other)))),
    }
}

pub fn external_id(value: &Value) -> Result<ExternalId> {
    ExternalId::from_value(value).ok_or_else(|| {
        QueryError::value(format!("an id must be a string, an integer or a UUID, not the {}", described(value)))
    })
}

/// Adds a vertex with its properties.
pub fn create_vertex(
    cx: &mut Context<'_, '_>,
    label: &str,
    id: Option<&Value>,
    properties: Vec<PropertyToSet>,
) -> Result<VertexId> {
    let name = label;
    let label = cx.write()?.ensure_label(ElementKind::Vertex, name)?;
    let (id, properties) = with_key(cx, label, id, properties)?;
    let id = id.map(|id| record::external_id_in(cx.view().schema(), label, id));
    if let Some(ExternalId::String(_)) = &id {
        warn_of_a_twin(cx, id.as_ref())?;
    }
    let graph = cx.write()?;
    let mut made = Vec::with_capacity(1);
    graph.add_vertices(label, &[id], &mut made)?;
    let vertex = made[0];
    let mut seen: Vec<Name> = Vec::with_capacity(properties.len());
    for mut property in properties {
        // The same key twice on a new vertex means two values.
        if property.cardinality.is_none() && seen.contains(&property.key) {
            property.cardinality = Some(Cardinality::List);
        }
        seen.push(property.key.clone());
        set_vertex_property(cx, vertex, property)?;
    }
    Ok(vertex)
}

/// Warns of a new id that is the text of a number, if that number is the id of another vertex.
fn warn_of_a_twin(cx: &mut Context<'_, '_>, id: Option<&ExternalId>) -> Result<()> {
    let Some(number @ Value::Int64(_)) = id.and_then(|id| record::other_spelling(&id.to_value())) else { return Ok(()) };
    if record::find_vertex(cx.view(), &number)?.is_some() {
        cx.warn(format!(
            "the new vertex has the id '{}', the text, beside the vertex with the id {number}, the number: these are different ids",
            id.map(ToString::to_string).unwrap_or_default()
        ));
    }
    Ok(())
}

/// If the label has a key, the value of that property is the id of the new vertex.
fn with_key(
    cx: &mut Context<'_, '_>,
    label: LabelId,
    id: Option<&Value>,
    mut properties: Vec<PropertyToSet>,
) -> Result<(Option<ExternalId>, Vec<PropertyToSet>)> {
    let id = id.map(external_id).transpose()?;
    let schema = cx.view().schema();
    let name = schema.label_name(ElementKind::Vertex, label);
    let key = schema.vertex_labels[usize::from(label.0)].key.map(|key| schema.key_name(key));
    // `vertex` is the default label.
    if &*name == "vertex" && properties.iter().any(|property| &*property.key == "label") {
        cx.warn(format!(
            "`label` is an ordinary property here, and the vertex is labelled {name}; to set the label in a map, use (T.label)"
        ));
    }
    let Some(key) = key else {
        if let (None, Some(own)) = (&id, properties.iter().find(|property| &*property.key == "id")) {
            let value = if matches!(own.value, Value::String(_)) { "'…'" } else { "…" }; // one text for all vertices: it is shown once
            cx.warn(format!(
                "`id` is an ordinary property of {name}, so g.V({value}) does not find this vertex. To set its id, use \
                 property(T.id, {value}), or first declare the key of {name}: declare_key('{name}', 'id')"
            ));
        }
        return Ok((id, properties));
    };
    if let (None, false, Some(other)) = (
        &id,
        properties.iter().any(|property| property.key == key),
        properties.iter().find(|property| &*property.key == "id"),
    ) {
        let value = if matches!(other.value, Value::String(_)) { "'…'" } else { "…" };
        cx.warn(format!(
            "`id` is an ordinary property of {name}, whose key is `{key}`; the new vertex got a generated id. To set its id, use \
             property('{key}', {value})"
        ));
    }
    let mut wanted = id;
    for own in properties.extract_if(.., |property| property.key == key) {
        let given = external_id(&own.value)?;
        if !own.meta.is_empty() {
            return Err(QueryError::value(format!("`{key}` is the id of {name}, and an id has no properties of its own")));
        }
        if let Some(other) = wanted.replace(given.clone()).filter(|other| *other != given) {
            return Err(QueryError::value(format!(
                "`{key}` is the id of {name}: a vertex cannot have two ids, {other} and {given}"
            )));
        }
    }
    Ok((wanted, properties))
}

/// Adds an edge with its properties.
pub fn create_edge(
    cx: &mut Context<'_, '_>,
    label: &str,
    source: VertexId,
    target: VertexId,
    id: Option<&Value>,
    mut properties: Vec<PropertyToSet>,
) -> Result<EdgeRef> {
    let id = id.map(external_id).transpose()?;
    let graph = cx.write()?;
    let label = graph.ensure_label(ElementKind::Edge, label)?;
    let schema = graph.schema();
    let time_key =
        schema.label_schema(ElementKind::Edge, label).and_then(|l| l.time).map(|key| schema.key_name(key).to_string());
    // An edge needs its time when it is added. Of several values the last counts.
    let time = time_key.and_then(|key| Some((properties.iter().rposition(|p| *p.key == key)?, key)));
    let time = time.map(|(at, key)| {
        let last = properties.remove(at);
        properties.retain(|property| *property.key != key);
        last
    });
    let mut new = NewEdge { source, target, id, time: None };
    match time {
        Some(time) if !time.value.is_null() => new.time = Some(fitted_time(graph.schema(), label, time.value)),
        other => properties.extend(other),
    }
    let mut made = Vec::with_capacity(1);
    graph.add_edges(label, &[new], &mut made)?;
    let edge = EdgeRef { id: made[0], source, target };
    for property in properties {
        set_edge_property(cx, edge, &property.key, property.value)?;
    }
    Ok(edge)
}

pub fn set_edge_property(cx: &mut Context<'_, '_>, edge: EdgeRef, key: &str, value: Value) -> Result<()> {
    check_key(key)?;
    let graph = cx.write()?;
    let key = graph.ensure_key(key)?;
    let value = fitted(graph.schema().label_schema(ElementKind::Edge, edge.id.label()), key, value);
    Ok(graph.set_cell(ElementId::Edge(edge.id), key, Cell::One(value))?)
}

fn fitted_time(schema: &Schema, label: LabelId, time: Value) -> Value {
    let label = schema.label_schema(ElementKind::Edge, label);
    match label.and_then(|label| label.time) {
        Some(key) => fitted(label, key, time),
        None => time,
    }
}

/// A number, date or date-time in the type of its property, if that type holds it exactly. A declared type counts, else the type that
/// all values so far have. There, an integer stays one. Where a vector is declared, a list of numbers becomes one.
fn fitted(label: Option<&LabelSchema>, key: KeyId, value: Value) -> Value {
    let Some(property) = label.and_then(|label| label.property(key)) else { return value };
    if property.declared == Some(ValueType::Vector) {
        return value.to_vector().unwrap_or(value);
    }
    match (property.declared.or_else(|| property.types.single()), &value) {
        (Some(ValueType::Date), Value::DateTime(t)) => return t.date().map_or(value, Value::Date),
        (Some(ValueType::DateTime), Value::Date(date)) => return date.midnight().into(),
        _ if !value.is_number() => return value,
        _ => {}
    }
    let is_held = |t: &ValueType| t.is_number() && (value.value_type().is_integer() || !t.is_integer());
    match property.declared.or_else(|| property.types.single().filter(is_held)) {
        Some(wanted) => number::exactly(&value, wanted).unwrap_or(value),
        None => value,
    }
}

fn check_key(key: &str) -> Result<()> {
    if key.is_empty() {
        return Err(QueryError::value("Property key can not be the empty string"));
    }
    if key.starts_with('~') {
        return Err(QueryError::value(format!("Property key can not be a hidden key: {key}")));
    }
    Ok(())
}

/// Sets a property by its cardinality: `single` replaces, `list` appends, `set` appends what is not there yet.
pub fn set_vertex_property(cx: &mut Context<'_, '_>, vertex: VertexId, property: PropertyToSet) -> Result<Value> {
    check_key(&property.key)?;
    let graph = cx.write()?;
    let key = graph.ensure_key(&property.key)?;
    let element = ElementId::Vertex(vertex);
    let label = graph.schema().label_schema(ElementKind::Vertex, vertex.label());
    let value = fitted(label, key, property.value);
    let declared = label.and_then(|label| label.property(key));
    let by_schema = declared.filter(|p| p.declared.is_some()).map(|p| p.cardinality);
    let cardinality = property.cardinality.or(by_schema).unwrap_or_default();
    let mut meta = Vec::with_capacity(property.meta.len());
    for (name, value) in property.meta {
        check_key(&name)?;
        meta.push((graph.ensure_key(&name)?, value));
    }
    let mut entries = match cardinality {
        Cardinality::Single => Vec::new(),
        _ => graph.cell(element, key)?.into_entries(),
    };
    let same = entries.iter().position(|e| cardinality == Cardinality::Set && compare::equals(&e.value, &value));
    let at = match same {
        Some(at) => {
            for (key, value) in meta {
                entries[at].meta.retain(|(k, _)| *k != key);
                entries[at].meta.push((key, value));
            }
            at
        }
        None => {
            let ordinal = entries.iter().map(|e| e.ordinal + 1).max().unwrap_or(0);
            entries.push(PropertyValue { ordinal, value, meta });
            entries.len() - 1
        }
    };
    let set = Value::VertexProperty(Arc::new(mangrove_graph::VertexProperty {
        vertex,
        key,
        ordinal: entries[at].ordinal,
        name: property.key,
        value: entries[at].value.clone(),
    }));
    graph.set_cell(element, key, Cell::from_entries(entries))?;
    Ok(set)
}

/// Sets a property of a vertex, an edge or a vertex property.
pub fn set_property(cx: &mut Context<'_, '_>, owner: &Value, property: PropertyToSet) -> Result<()> {
    match owner {
        Value::Vertex(vertex) => set_vertex_property(cx, *vertex, property).map(drop),
        Value::Edge(edge) => match property.cardinality {
            Some(cardinality) if cardinality != Cardinality::Single => {
                Err(QueryError::value(format!("an edge's property has one value; {} is for vertices", cardinality.name())))
            }
            _ => set_edge_property(cx, *edge, &property.key, property.value),
        },
        Value::VertexProperty(owner) => {
            let (vertex, key, ordinal) = (ElementId::Vertex(owner.vertex), owner.key, owner.ordinal);
            let graph = cx.write()?;
            let meta_key = graph.ensure_key(&property.key)?;
            let mut entries = graph.cell(vertex, key)?.into_entries();
            if let Some(entry) = entries.iter_mut().find(|e| e.ordinal == ordinal) {
                entry.meta.retain(|(k, _)| *k != meta_key);
                entry.meta.push((meta_key, property.value));
            }
            Ok(graph.set_cell(vertex, key, Cell::from_entries(entries))?)
        }
        other => Err(type_error("property()", "elements", other)),
    }
}

/// `addV(label).property(…)…`.
pub struct AddVertexOp {
    pub label: Option<OperandOp>,
    pub properties: Vec<SetPropertyOp>,
    pub made_bytes: usize,
}

impl MapBatch for AddVertexOp {
    fn map(&mut self, cx: &mut Context<'_, '_>, batch: Batch) -> Result<Batch> {
        let labels = match &mut self.label {
            Some(operand) => operand.eval(cx, &batch)?,
            None => vec![Some(Value::string("vertex")); batch.len()],
        };
        let (elements, made_bytes) = evaluate(&mut self.properties, cx, &batch)?;
        self.made_bytes = made_bytes;
        let mut rows = Vec::with_capacity(batch.len());
        let mut made = Vec::with_capacity(batch.len());
        for (row, (element, label)) in elements.into_iter().zip(labels).enumerate() {
            let label = match element.label {
                Some(label) => label,
                None => label_name(&label.unwrap_or_default())?,
            };
            for _ in 0..batch.bulk(row) {
                cx.check()?;
                rows.push(row as u32);
                made.push(create_vertex(cx, &label, element.id.as_ref(), element.properties.clone())?);
            }
        }
        cx.wrote()?;
        let mut out = batch.moved(&rows, Items::Vertices(made), cx.mode());
        out.bulk = None;
        Ok(out)
    }

    fn made_bytes(&self) -> usize {
        self.made_bytes
    }
}

/// An end of a new edge, compiled.
pub enum NewEdgeEnd {
    Incoming,
    Label(Name),
    Value(Value),
    Child {
        child: Child,
        /// The id that it looks up, if it does nothing else.
        named: Option<Value>,
    },
}

impl NewEdgeEnd {
    fn eval(&mut self, cx: &mut Context<'_, '_>, batch: &Batch, which: &str, label: &str) -> Result<Vec<VertexId>> {
        let values: Vec<Option<Value>> = match self {
            NewEdgeEnd::Incoming => (0..batch.len()).map(|row| Some(batch.value(row))).collect(),
            NewEdgeEnd::Label(name) => {
                (0..batch.len()).map(|row| scope_value(cx, batch, row, name, Pop::Last)).collect::<Result<_>>()?
            }
            NewEdgeEnd::Value(value) => vec![Some(value.clone()); batch.len()],
            NewEdgeEnd::Child { child, .. } => child.first(cx, batch)?,
        };
        let incoming = matches!(self, NewEdgeEnd::Incoming);
        let called = if let NewEdgeEnd::Label(name) = &*self { Some(name.clone()) } else { None };
        let unknown = |error: QueryError| match &called {
            Some(name) => error.help(format!(
                "'{name}' here is the label of as('{name}'); for the vertex with that id, write {which}(__.V('{name}'))"
            )),
            None => error,
        };
        let missing = |id: &Value| {
            let message = ids::unknown(cx.view(), ElementKind::Vertex, id, 0)?;
            Err(QueryError::value(format!("addE({label}).{which}(): {message}")))
        };
        let named = if let NewEdgeEnd::Child { named, .. } = &*self { named.as_ref() } else { None };
        values
            .into_iter()
            .map(|value| match (value, named) {
                (Some(Value::Vertex(id)), _) => Ok(id),
                (Some(id), _) if !incoming && ExternalId::from_value(&id).is_some() => {
                    record::find_vertex(cx.view(), &id)?.map_or_else(|| missing(&id), Ok)
                }
                (None, Some(id)) if ExternalId::from_value(id).is_some() => missing(id),
                (other, _) => Err(unknown(QueryError::value(format!(
                    "The value given to addE({label}).{which}() must resolve to a Vertex or the ID of a Vertex present in the graph but {} was specified instead",
                    other.filter(|v| !v.is_null()).map_or("null".to_owned(), |v| shown(&v))
                )))),
            })
            .collect()
    }
}

/// `addE(label).from(…).to(…).property(…)…`.
pub struct AddEdgeOp {
    pub label: OperandOp,
    pub from: NewEdgeEnd,
    pub to: NewEdgeEnd,
    pub properties: Vec<SetPropertyOp>,
    pub made_bytes: usize,
}

impl MapBatch for AddEdgeOp {
    fn map(&mut self, cx: &mut Context<'_, '_>, batch: Batch) -> Result<Batch> {
        let labels = self.label.eval(cx, &batch)?;
        let shown = labels.first().cloned().flatten().unwrap_or_default().to_string();
        let sources = self.from.eval(cx, &batch, "from", &shown)?;
        let targets = self.to.eval(cx, &batch, "to", &shown)?;
        let (elements, made_bytes) = evaluate(&mut self.properties, cx, &batch)?;
        self.made_bytes = made_bytes;
        let mut rows = Vec::with_capacity(batch.len());
        let mut made = Vec::with_capacity(batch.len());
        for (row, (element, label)) in elements.into_iter().zip(labels).enumerate() {
            let label = label_name(&label.unwrap_or_default())?;
            for _ in 0..batch.bulk(row) {
                cx.check()?;
                let properties = element.properties.clone();
                rows.push(row as u32);
                made.push(create_edge(cx, &label, sources[row], targets[row], element.id.as_ref(), properties)?);
            }
        }
        cx.wrote()?;
        let mut out = batch.moved(&rows, Items::Edges(made), cx.mode());
        out.bulk = None;
        Ok(out)
    }

    fn made_bytes(&self) -> usize {
        self.made_bytes
    }
}

/// `property(key, value)`.
pub struct PropertyStep {
    pub property: SetPropertyOp,
    pub made_bytes: usize,
}

impl MapBatch for PropertyStep {
    fn map(&mut self, cx: &mut Context<'_, '_>, batch: Batch) -> Result<Batch> {
        let (elements, made_bytes) = evaluate(std::slice::from_mut(&mut self.property), cx, &batch)?;
        self.made_bytes = made_bytes;
        for (row, element) in elements.into_iter().enumerate() {
            if element.id.is_some() || element.label.is_some() {
                return Err(QueryError::value("the id and the label of an existing element cannot be changed"));
            }
            for property in element.properties {
                set_property(cx, &batch.value(row), property)?;
            }
        }
        cx.wrote()?;
        Ok(batch)
    }

    fn made_bytes(&self) -> usize {
        self.made_bytes
    }
}

/// `property(map)`.
pub struct PropertiesStep {
    pub map: OperandOp,
    pub cardinality: Option<Cardinality>,
    pub made_bytes: usize,
}

impl MapBatch for PropertiesStep {
    fn map(&mut self, cx: &mut Context<'_, '_>, batch: Batch) -> Result<Batch> {
        let (maps, mut held) = (self.map.eval(cx, &batch)?, Held::default());
        held.add_values(cx, &maps)?;
        self.made_bytes = held.bytes();
        for (row, map) in maps.into_iter().enumerate() {
            match map {
                None | Some(Value::Null) => {}
                Some(Value::Map(map)) => {
                    for (key, value) in map.iter() {
                        let (own, value) = split_cardinality(value);
                        let key = match key {
                            Value::String(key) => key.clone(),
                            other => {
                                return Err(QueryError::value(format!("the {} is not a property key", described(other))));
                            }
                        };
                        let cardinality = own.or(self.cardinality);
                        let property = PropertyToSet { cardinality, key, value: value.clone(), meta: Vec::new() };
                        set_property(cx, &batch.value(row), property)?;
                    }
                }
                Some(other) => return Err(type_error("property()", "a map", &other)),
            }
        }
        cx.wrote()?;
        Ok(batch)
    }

    fn made_bytes(&self) -> usize {
        self.made_bytes
    }
}

/// `addLabel(…)`, `dropLabel(…)`.
pub struct ChangeLabelsOp {
    pub names: Vec<Name>,
    pub adds: bool,
}

impl MapBatch for ChangeLabelsOp {
    fn map(&mut self, cx: &mut Context<'_, '_>, batch: Batch) -> Result<Batch> {
        let step = if self.adds { "addLabel()" } else { "dropLabel()" };
        for row in 0..batch.len() {
            match batch.value(row) {
                Value::Vertex(vertex) => self.change(cx, vertex)?,
                Value::Null => {}
                other => return Err(type_error(step, "vertices", &other)),
            }
        }
        cx.wrote()?;
        Ok(batch)
    }
}

impl ChangeLabelsOp {
    fn change(&self, cx: &mut Context<'_, '_>, vertex: VertexId) -> Result<()> {
        let graph = cx.write()?;
        let before = graph.further_labels(vertex)?;
        let mut labels = before.clone();
        for name in &self.names {
            match self.adds {
                true => {
                    let label = graph.ensure_label(ElementKind::Vertex, name)?;
                    labels.extend((label != vertex.label() && !labels.contains(&label)).then_some(label));
                }
                false => {
                    let label = graph.schema().label(ElementKind::Vertex, name);
                    if label == Some(vertex.label()) {
                        let what = format!("cannot drop `{name}`: it is the label the vertex was added with");
                        return Err(QueryError::value(what).help(
                            "to rename a label everywhere, use rename_label() of the database; to change it for one vertex, add \
                             the vertex again",
                        ));
                    }
                    labels.retain(|known| Some(*known) != label);
                }
            }
        }
        if labels != before {
            graph.set_further_labels(vertex, &labels)?;
        }
        Ok(())
    }
}

/// `drop()`.
pub struct DropOp;

impl MapBatch for DropOp {
    fn map(&mut self, cx: &mut Context<'_, '_>, batch: Batch) -> Result<Batch> {
        match &batch.items {
            Items::Vertices(ids) => cx.write()?.remove_vertices(ids)?,
            Items::Edges(edges) => cx.write()?.remove_edges(edges)?,
            items => (0..items.len()).try_for_each(|row| drop_value(cx, &items.get(row)))?,
        }
        Ok(Batch::default())
    }
}

fn drop_value(cx: &mut Context<'_, '_>, value: &Value) -> Result<()> {
    let graph = cx.write()?;
    match value {
        Value::Vertex(id) => graph.remove_vertices(&[*id])?,
        Value::Edge(edge) => graph.remove_edges(&[*edge])?,
        Value::VertexProperty(p) => {
            let element = ElementId::Vertex(p.vertex);
            let mut entries = graph.cell(element, p.key)?.into_entries();
            entries.retain(|e| e.ordinal != p.ordinal);
            graph.set_cell(element, p.key, Cell::from_entries(entries))?;
        }
        Value::Property(p) => match &p.owner {
            PropertyOwner::Edge(edge) => graph.set_cell(ElementId::Edge(edge.id), p.key, Cell::Absent)?,
            PropertyOwner::VertexProperty(owner) => {
                let element = ElementId::Vertex(owner.vertex);
                let mut entries = graph.cell(element, owner.key)?.into_entries();
                for entry in entries.iter_mut().filter(|e| e.ordinal == owner.ordinal) {
                    entry.meta.retain(|(key, _)| *key != p.key);
                }
                graph.set_cell(element, owner.key, Cell::from_entries(entries))?;
            }
        },
        Value::Null => {}
        other => return Err(type_error("drop()", "elements and properties", other)),
    }
    Ok(())
}
