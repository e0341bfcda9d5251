//! Parts of elements: ids, labels, properties, and maps of these.

use std::sync::Arc;

use mangrove_graph::{
    Cell, Direction, EdgeRef, ElementId, ElementKind, Elements, KeyId, Map, Property, PropertyColumn, PropertyOwner, Token,
    Value, VertexProperty, record,
};

use super::batch::{Batch, Items, Moves};
use super::by::ByOp;
use super::chain::{Child, MapBatch};
use super::columns::{self, Many};
use super::context::{Context, Key};
use super::path::PathMode;
use super::type_error;
use crate::error::Result;
use crate::plan::{MapOf, Name, Tokens};

/// `T.id` of an element or property that has one.
pub fn id_of(cx: &Context<'_, '_>, value: &Value) -> Result<Value> {
    Ok(match value {
        Value::Vertex(v) => record::vertex_id(cx.view(), *v)?,
        Value::Edge(e) => record::edge_id(cx.view(), e.id)?,
        Value::VertexProperty(p) => {
            Value::string(format!("{}/{}/{}", record::vertex_id(cx.view(), p.vertex)?, p.name, p.ordinal))
        }
        other => return Err(type_error("id()", "elements", other)),
    })
}

/// `T.label` of an element or property that has one.
pub fn label_of(cx: &Context<'_, '_>, value: &Value) -> Result<Value> {
    Ok(match value {
        Value::Vertex(v) => Value::String(record::label(cx.view(), ElementId::Vertex(*v))),
        Value::Edge(e) => Value::String(record::label(cx.view(), ElementId::Edge(e.id))),
        Value::VertexProperty(p) => Value::String(p.name.clone()),
        other => return Err(type_error("label()", "elements", other)),
    })
}

/// `T.key` of a property or a map entry.
fn key_of(value: &Value) -> Result<Value> {
    match value {
        Value::VertexProperty(p) => Ok(Value::String(p.name.clone())),
        Value::Property(p) => Ok(Value::String(p.name.clone())),
        Value::Entry(entry) => Ok(entry.0.clone()),
        other => Err(type_error("key()", "properties", other)),
    }
}

/// `T.value` of a property or a map entry.
fn value_of(value: &Value) -> Result<Value> {
    match value {
        Value::VertexProperty(p) => Ok(p.value.clone()),
        Value::Property(p) => Ok(p.value.clone()),
        Value::Entry(entry) => Ok(entry.1.clone()),
        other => Err(type_error("value()", "properties", other)),
    }
}

pub fn token_of(cx: &Context<'_, '_>, value: &Value, token: Token) -> Result<Value> {
    match token {
        Token::Id => id_of(cx, value),
        Token::Label => label_of(cx, value),
        Token::Key => key_of(value),
        Token::Value => value_of(value),
        Token::Direction(direction) | Token::MergeEnd(direction) => match (value, direction) {
            (Value::Edge(e), Direction::Out) => Ok(Value::Vertex(e.source)),
            (Value::Edge(e), _) => Ok(Value::Vertex(e.target)),
            (other, _) => Err(type_error("a direction", "edges", other)),
        },
    }
}

/// `id()`, `label()`, `key()`, `value()`.
pub struct TokenStep(pub Token);

impl MapBatch for TokenStep {
    fn map(&mut self, cx: &mut Context<'_, '_>, batch: Batch) -> Result<Batch> {
        let values = (0..batch.len()).map(|row| token_of(cx, &batch.value(row), self.0)).collect::<Result<_>>()?;
        let mode = cx.mode();
        Ok(batch.moved_in_place(Items::from_values(values), mode))
    }
}

/// The elements of a batch, if all items are vertices or all are edges.
pub fn elements(batch: &Batch) -> Option<Elements<'_>> {
    match &batch.items {
        Items::Vertices(ids) => Some(Elements::Vertices(ids)),
        Items::Edges(edges) => Some(Elements::Edges(edges)),
        Items::Values(_) | Items::Maps(_) => None,
    }
}

/// The values of a batch of elements under a key, as a column.
pub fn column(cx: &Context<'_, '_>, batch: &Batch, key: KeyId) -> Result<Option<PropertyColumn>> {
    let Some(elements) = elements(batch) else { return Ok(None) };
    // A single element is read without an array around it.
    if elements.len() == 1 {
        return Ok(Some(PropertyColumn::Cells(vec![cx.view().cell(elements.get(0), key)?])));
    }
    Ok(Some(cx.view().properties(elements, key)?))
}

/// `values(keys…)`.
pub struct ValuesOp {
    keys: Vec<Key>,
}

impl ValuesOp {
    pub fn new(keys: Vec<Name>) -> Self {
        Self { keys: keys.into_iter().map(Key::new).collect() }
    }

    /// The common case: one key of a batch of elements, read by column.
    fn one_key(&mut self, cx: &mut Context<'_, '_>, batch: &Batch) -> Result<Option<Batch>> {
        let [key] = &mut self.keys[..] else { return Ok(None) };
        if matches!(batch.items, Items::Values(_)) {
            return Ok(None);
        }
        let Some(key) = key.id(cx) else { return Ok(Some(Batch::default())) };
        let Some(column) = column(cx, batch, key)? else { return Ok(None) };
        let mut moves = Moves::default();
        match &column {
            PropertyColumn::Absent(_) => {}
            column => {
                for row in 0..column.len() {
                    match column.cell(row) {
                        Cell::Absent => {}
                        Cell::One(value) => moves.push(row, value),
                        Cell::Many(values) => values.into_iter().for_each(|v| moves.push(row, v.value)),
                    }
                }
            }
        }
        Ok(Some(moves.finish(batch, cx.mode())))
    }
}

impl MapBatch for ValuesOp {
    fn map(&mut self, cx: &mut Context<'_, '_>, batch: Batch) -> Result<Batch> {
        if let Some(done) = self.one_key(cx, &batch)? {
            return Ok(done);
        }
        let mut moves = Moves::default();
        for row in 0..batch.len() {
            for property in properties_of(cx, &batch.value(row), &mut self.keys, "values()")? {
                moves.push(row, value_of(&property)?);
            }
        }
        Ok(moves.finish(&batch, cx.mode()))
    }
}

/// `properties(keys…)`.
pub struct PropertiesOp {
    keys: Vec<Key>,
}

impl PropertiesOp {
    pub fn new(keys: Vec<Name>) -> Self {
        Self { keys: keys.into_iter().map(Key::new).collect() }
    }
}

impl MapBatch for PropertiesOp {
    fn map(&mut self, cx: &mut Context<'_, '_>, batch: Batch) -> Result<Batch> {
        let mut moves = Moves::default();
        for row in 0..batch.len() {
            for property in properties_of(cx, &batch.value(row), &mut self.keys, "properties()")? {
                moves.push(row, property);
            }
        }
        Ok(moves.finish(&batch, cx.mode()))
    }
}

/// The properties of an element under `keys`, as property values. No keys means all keys.
pub fn properties_of(cx: &mut Context<'_, '_>, owner: &Value, keys: &mut [Key], step: &str) -> Result<Vec<Value>> {
    let mut out = Vec::new();
    match owner {
        Value::Vertex(_) | Value::Edge(_) if keys.is_empty() => {
            let element = owner.element_id().unwrap_or(ElementId::Vertex(Default::default()));
            for property in record::properties(cx.view(), element)? {
                let cell = Cell::from_entries(property.values);
                push_properties(owner, property.key, &property.name, cell, &mut out);
            }
        }
        Value::Vertex(_) | Value::Edge(_) => {
            let element = owner.element_id().unwrap_or(ElementId::Vertex(Default::default()));
            for key in keys {
                let Some(id) = key.id(cx) else { continue };
                push_properties(owner, id, &key.name.clone(), cx.view().cell(element, id)?, &mut out);
            }
        }
        Value::VertexProperty(property) => {
            for (key, name, value) in meta_of(cx, property)? {
                if keys.is_empty() || keys.iter().any(|k| k.name == name) {
                    let owner = PropertyOwner::VertexProperty(property.clone());
                    out.push(Value::Property(Arc::new(Property { owner, key, name, value })));
                }
            }
        }
        other => return Err(type_error(step, "elements", other)),
    }
    Ok(out)
}

fn push_properties(owner: &Value, key: KeyId, name: &Name, cell: Cell, out: &mut Vec<Value>) {
    for entry in cell.into_entries() {
        out.push(match owner {
            Value::Edge(edge) => {
                let owner = PropertyOwner::Edge(*edge);
                Value::Property(Arc::new(Property { owner, key, name: name.clone(), value: entry.value }))
            }
            Value::Vertex(vertex) => Value::VertexProperty(Arc::new(VertexProperty {
                vertex: *vertex,
                key,
                ordinal: entry.ordinal,
                name: name.clone(),
                value: entry.value,
            })),
            _ => continue,
        });
    }
}

/// The properties of a vertex property, read from the graph.
pub fn meta_of(cx: &Context<'_, '_>, property: &VertexProperty) -> Result<Vec<(KeyId, Name, Value)>> {
    let cell = cx.view().cell(ElementId::Vertex(property.vertex), property.key)?;
    let Cell::Many(values) = cell else { return Ok(Vec::new()) };
    let found = values.into_iter().find(|v| v.ordinal == property.ordinal);
    let schema = cx.view().schema();
    Ok(found.into_iter().flat_map(|v| v.meta).map(|(key, value)| (key, schema.key_name(key), value)).collect())
}

/// `valueMap`, `propertyMap`.
pub struct PropertyMapOp {
    pub of: MapOf,
    pub keys: Vec<Key>,
    pub tokens: Tokens,
    pub by: Vec<ByOp>,
    /// Only properties that pass this filter are visible.
    pub visible: Option<Child>,
    /// Set if the maps are the results of the query: which values under a key they show.
    pub columns: Option<Many>,
}

impl PropertyMapOp {
    fn wants(&self, key: &Value) -> bool {
        match key {
            Value::Token(Token::Id) => self.tokens.id,
            Value::Token(Token::Label) => self.tokens.label,
            Value::Token(Token::Key) => self.tokens.key,
            _ => self.tokens.value,
        }
    }

    fn map_of(&mut self, cx: &mut Context<'_, '_>, owner: &Value) -> Result<Value> {
        let mut entries: Vec<(Value, Value)> = Vec::new();
        if self.tokens != Tokens::default() {
            entries.extend(token_entries(cx, owner)?.into_iter().filter(|(key, _)| self.wants(key)));
        }
        let properties = properties_of(cx, owner, &mut self.keys, "a map of properties")?;
        let properties = seen(cx, &mut self.visible, properties)?;
        let single = !matches!(owner, Value::Vertex(_));
        let first = entries.len();
        for property in properties {
            let key = key_of(&property)?;
            let value = if self.of == MapOf::Values { value_of(&property)? } else { property };
            match entries[first..].iter_mut().find(|(k, _)| *k == key) {
                Some((_, Value::List(values))) => Arc::make_mut(values).push(value),
                _ if single => entries.push((key, value)),
                _ => entries.push((key, Value::list(vec![value]))),
            }
        }
        if !self.by.is_empty() {
            let rest = entries.split_off(first);
            for (at, (key, value)) in rest.into_iter().enumerate() {
                let by = at % self.by.len();
                let batch = Batch { paths: None, ..Batch::new(Items::from_values(vec![value])) };
                if let Some(value) = self.by[by].eval(cx, &batch)?.pop().flatten() {
                    entries.push((key, value));
                }
            }
        }
        Ok(Value::map(Map::from_distinct(entries)))
    }
}

impl MapBatch for PropertyMapOp {
    fn map(&mut self, cx: &mut Context<'_, '_>, batch: Batch) -> Result<Batch> {
        let mode = cx.mode();
        if let Some(many) = self.columns
            && let Some(maps) = columns::property_maps(cx, &batch, &mut self.keys, self.tokens, many)?
        {
            return Ok(batch.moved_in_place(Items::Maps(maps), mode));
        }
        let values = (0..batch.len()).map(|row| self.map_of(cx, &batch.value(row))).collect::<Result<_>>()?;
        Ok(batch.moved_in_place(Items::Values(values), mode))
    }
}

fn token_entries(cx: &Context<'_, '_>, owner: &Value) -> Result<Vec<(Value, Value)>> {
    let id = (Token::Id.into(), id_of(cx, owner)?);
    Ok(match owner {
        Value::VertexProperty(p) => {
            vec![id, (Token::Key.into(), Value::String(p.name.clone())), (Token::Value.into(), p.value.clone())]
        }
        owner => vec![id, (Token::Label.into(), label_of(cx, owner)?)],
    })
}

/// `elementMap`: tokens, the ends of an edge, and the last value of each property.
pub struct ElementMapOp {
    pub keys: Vec<Key>,
    /// Only properties that pass this filter are visible.
    pub visible: Option<Child>,
    /// The maps are the results of the query.
    pub columns: bool,
}

/// The properties that pass the filter. Without a filter, all.
fn seen(cx: &mut Context<'_, '_>, visible: &mut Option<Child>, properties: Vec<Value>) -> Result<Vec<Value>> {
    let Some(visible) = visible else { return Ok(properties) };
    let paths = (cx.mode() != PathMode::Off).then(|| vec![None; properties.len()]);
    let batch = Batch { paths, ..Batch::new(Items::Values(properties)) };
    let passes = visible.exists(cx, &batch)?;
    Ok((0..batch.len()).filter(|row| passes[*row]).map(|row| batch.value(row)).collect())
}

impl MapBatch for ElementMapOp {
    fn map(&mut self, cx: &mut Context<'_, '_>, batch: Batch) -> Result<Batch> {
        let mode = cx.mode();
        if self.columns
            && let Some(maps) = columns::element_maps(cx, &batch, &mut self.keys)?
        {
            return Ok(batch.moved_in_place(Items::Maps(maps), mode));
        }
        let mut values = Vec::with_capacity(batch.len());
        for row in 0..batch.len() {
            let owner = batch.value(row);
            let mut map = Map::from_distinct(token_entries(cx, &owner)?);
            if let Value::Edge(edge) = &owner {
                map.insert(Token::Direction(Direction::In).into(), end_map(cx, edge, Direction::In)?);
                map.insert(Token::Direction(Direction::Out).into(), end_map(cx, edge, Direction::Out)?);
            }
            let properties = properties_of(cx, &owner, &mut self.keys, "elementMap()")?;
            for property in seen(cx, &mut self.visible, properties)? {
                map.insert(key_of(&property)?, value_of(&property)?);
            }
            values.push(Value::map(map));
        }
        Ok(batch.moved_in_place(Items::Values(values), mode))
    }
}

fn end_map(cx: &Context<'_, '_>, edge: &EdgeRef, direction: Direction) -> Result<Value> {
    let end = Value::Vertex(if direction == Direction::Out { edge.source } else { edge.target });
    let entries = vec![(Token::Id.into(), id_of(cx, &end)?), (Token::Label.into(), label_of(cx, &end)?)];
    Ok(Value::map(Map::from_distinct(entries)))
}

/// `element()`: the element that a property belongs to.
pub struct ElementOp;

impl MapBatch for ElementOp {
    fn map(&mut self, cx: &mut Context<'_, '_>, batch: Batch) -> Result<Batch> {
        let owner = |value: Value| match value {
            Value::VertexProperty(p) => Ok(Value::Vertex(p.vertex)),
            Value::Property(p) => Ok(match &p.owner {
                PropertyOwner::Edge(edge) => Value::Edge(*edge),
                PropertyOwner::VertexProperty(p) => Value::VertexProperty(p.clone()),
            }),
            other => Err(type_error("element()", "properties", &other)),
        };
        let values = (0..batch.len()).map(|row| owner(batch.value(row))).collect::<Result<_>>()?;
        let mode = cx.mode();
        Ok(batch.moved_in_place(Items::from_values(values), mode))
    }
}

/// `labels()`: each label of an element, the primary one first.
pub struct LabelsOp;

impl MapBatch for LabelsOp {
    fn map(&mut self, cx: &mut Context<'_, '_>, batch: Batch) -> Result<Batch> {
        let mut moves = Moves::default();
        for row in 0..batch.len() {
            for name in label_names_of(cx, &batch.value(row))? {
                moves.push(row, Value::String(name));
            }
        }
        Ok(moves.finish(&batch, cx.mode()))
    }
}

/// The names of the labels an element has, the primary one first.
pub fn label_names_of(cx: &Context<'_, '_>, value: &Value) -> Result<Vec<Name>> {
    match value {
        Value::Vertex(v) => {
            let schema = cx.view().schema();
            Ok(record::labels(cx.view(), *v)?.into_iter().map(|l| schema.label_name(ElementKind::Vertex, l)).collect())
        }
        other => match label_of(cx, other)? {
            Value::String(name) => Ok(vec![name]),
            _ => Ok(Vec::new()),
        },
    }
}
