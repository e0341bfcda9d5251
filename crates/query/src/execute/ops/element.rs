//! Parts of elements: ids, labels, properties, and maps of these.

use std::sync::Arc;

use arrow_array::{Array, ArrayRef};
use arrow_select::interleave::interleave;
use mangrove_graph::{Cell, Direction, KeyId, Map, PropertyColumn, PropertyOwner, Token, Value};

use crate::error::Result;
use crate::execute::data::batch::{Batch, Moves};
use crate::execute::data::items::Items;
use crate::execute::data::maps::{ARRAY_MIN, MapColumn};
use crate::execute::data::words::type_error;
use crate::execute::modulators::by::ByOp;
use crate::execute::reads::columns::{self, Many};
use crate::execute::reads::elements::{column, columns as read_columns, elements, key_of, tokens_of, value_of};
use crate::execute::reads::read;
use crate::execute::run::chain::{Child, MapBatch};
use crate::execute::run::context::{Context, Key};
use crate::plan::{MapOf, Name, Tokens};

/// `id()`, `label()`, `key()`, `value()`.
pub struct TokenStep(pub Token);

impl MapBatch for TokenStep {
    fn map(&mut self, cx: &mut Context<'_, '_>, batch: Batch) -> Result<Batch> {
        let column = match elements(&batch) {
            Some(elements) => columns::token_column(cx.view(), elements, self.0)?,
            None => None,
        };
        let items = match column {
            Some(MapColumn::Typed(array)) => Items::of_array(array),
            Some(MapColumn::Values(values)) => Items::from_values(values.into_iter().flatten().collect()),
            None => Items::from_values(tokens_of(cx, &batch.items, self.0)?),
        };
        let mode = cx.mode();
        Ok(batch.moved_in_place(items, mode))
    }
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
        if batch.items.are_values() {
            return Ok(None);
        }
        let Some(key) = key.id(cx) else { return Ok(Some(Batch::default())) };
        let Some(column) = column(cx, batch, key)? else { return Ok(None) };
        let mut moves = Moves::default();
        match &column {
            PropertyColumn::Absent(_) => {}
            PropertyColumn::Typed(array) if array.null_count() == 0 => {
                return Ok(Some(batch.with_items(Items::Column(array.clone()), cx.mode())));
            }
            PropertyColumn::Typed(array) => {
                let rows: Vec<u32> = (0..array.len() as u32).filter(|row| array.is_valid(*row as usize)).collect();
                let items = Items::Column(array.clone()).gather(&rows);
                return Ok(Some(batch.moved(&rows, items, cx.mode())));
            }
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

    /// Several keys of a batch of elements, all with values of one type.
    fn one_type(&mut self, cx: &mut Context<'_, '_>, batch: &Batch) -> Result<Option<Batch>> {
        let Some(elements) = elements(batch).filter(|elements| self.keys.len() > 1 && elements.len() >= ARRAY_MIN) else {
            return Ok(None);
        };
        let keys: Vec<KeyId> = self.keys.iter_mut().filter_map(|key| key.id(cx)).collect();
        let mut arrays: Vec<ArrayRef> = Vec::with_capacity(keys.len());
        for column in read_columns(cx, batch, elements, &keys)? {
            match column {
                PropertyColumn::Absent(_) => {}
                PropertyColumn::Typed(array) if arrays.iter().all(|other| other.data_type() == array.data_type()) => {
                    arrays.push(array);
                }
                _ => return Ok(None),
            }
        }
        if arrays.is_empty() {
            return Ok(Some(Batch::default()));
        }
        let each = (0..batch.len()).flat_map(|row| (0..arrays.len()).map(move |of| (of, row)));
        let places: Vec<(usize, usize)> = each.filter(|(of, row)| arrays[*of].is_valid(*row)).collect();
        let arrays: Vec<&dyn Array> = arrays.iter().map(|array| &**array).collect();
        // More text than one array holds goes value by value.
        let Ok(values) = interleave(&arrays, &places) else { return Ok(None) };
        let rows: Vec<u32> = places.iter().map(|(_, row)| *row as u32).collect();
        Ok(Some(batch.moved(&rows, Items::Column(values), cx.mode())))
    }
}

impl MapBatch for ValuesOp {
    fn map(&mut self, cx: &mut Context<'_, '_>, batch: Batch) -> Result<Batch> {
        if let Some(done) = self.one_key(cx, &batch)? {
            return Ok(done);
        }
        if let Some(done) = self.one_type(cx, &batch)? {
            return Ok(done);
        }
        let mut moves = Moves::default();
        for (row, properties) in read::properties(cx, &batch.items, &mut self.keys, "values()")?.into_iter().enumerate() {
            properties.iter().try_for_each(|property| value_of(property).map(|value| moves.push(row, value)))?;
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
        for (row, properties) in read::properties(cx, &batch.items, &mut self.keys, "properties()")?.into_iter().enumerate()
        {
            properties.into_iter().for_each(|property| moves.push(row, property));
        }
        Ok(moves.finish(&batch, cx.mode()))
    }
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

    /// The entries of one map: first the tokens, then the properties.
    fn entries(&self, owner: &Value, tokens: Entries, properties: Vec<Value>) -> Result<(Entries, Entries)> {
        let tokens: Entries = tokens.into_iter().filter(|(key, _)| self.wants(key)).collect();
        let mut entries = Entries::new();
        let single = !matches!(owner, Value::Vertex(_));
        for property in properties {
            let key = key_of(&property)?;
            let value = if self.of == MapOf::Values { value_of(&property)? } else { property };
            match entries.iter_mut().find(|(k, _)| *k == key) {
                Some((_, Value::List(values))) => Arc::make_mut(values).push(value),
                _ if single => entries.push((key, value)),
                _ => entries.push((key, Value::list(vec![value]))),
            }
        }
        Ok((tokens, entries))
    }

    fn maps(&mut self, cx: &mut Context<'_, '_>, batch: &Batch) -> Result<Vec<Value>> {
        let tokens = match self.tokens == Tokens::default() {
            true => vec![Entries::new(); batch.len()],
            false => token_entries(cx, &batch.items)?,
        };
        let properties = read::properties(cx, &batch.items, &mut self.keys, "a map of properties")?;
        let properties = seen(cx, &mut self.visible, properties)?;
        let entries = tokens.into_iter().zip(properties).enumerate();
        let maps = entries.map(|(row, (tokens, properties))| self.entries(&batch.value(row), tokens, properties));
        let (tokens, mut entries): (Vec<Entries>, Vec<Entries>) = maps.collect::<Result<Vec<_>>>()?.into_iter().unzip();
        if !self.by.is_empty() {
            entries = modulated(cx, entries, &mut self.by)?;
        }
        let map = |(mut tokens, mut entries): (Entries, Entries)| {
            tokens.append(&mut entries);
            Value::map(Map::from_distinct(tokens))
        };
        Ok(tokens.into_iter().zip(entries).map(map).collect())
    }
}

/// The entries of a map.
type Entries = Vec<(Value, Value)>;

/// The entries with their values modulated, round robin within each map. An entry whose modulator gives nothing falls out.
fn modulated(cx: &mut Context<'_, '_>, maps: Vec<Entries>, by: &mut [ByOp]) -> Result<Vec<Entries>> {
    let mut out: Vec<Vec<Option<(Value, Value)>>> = maps.iter().map(|entries| vec![None; entries.len()]).collect();
    let n = by.len();
    for (which, by) in by.iter_mut().enumerate() {
        let (mut places, mut values) = (Vec::new(), Vec::new());
        for (map, entries) in maps.iter().enumerate() {
            for (at, (_, value)) in entries.iter().enumerate().skip(which).step_by(n) {
                places.push((map, at));
                values.push(value.clone());
            }
        }
        let batch = Batch { paths: None, ..Batch::new(Items::from_values(values)) };
        for ((map, at), value) in places.into_iter().zip(by.eval(cx, &batch)?) {
            out[map][at] = value.map(|value| (maps[map][at].0.clone(), value));
        }
    }
    Ok(out.into_iter().map(|entries| entries.into_iter().flatten().collect()).collect())
}

impl MapBatch for PropertyMapOp {
    fn map(&mut self, cx: &mut Context<'_, '_>, batch: Batch) -> Result<Batch> {
        let mode = cx.mode();
        if let Some(many) = self.columns
            && let Some(maps) = columns::property_maps(cx, &batch, &mut self.keys, self.tokens, many)?
        {
            return Ok(batch.moved_in_place(Items::Maps(maps), mode));
        }
        let values = self.maps(cx, &batch)?;
        Ok(batch.moved_in_place(Items::Values(values), mode))
    }
}

/// The tokens of each item: id and label, or for a property id, key and value.
fn token_entries(cx: &Context<'_, '_>, items: &Items) -> Result<Vec<Entries>> {
    let of = |(row, id)| {
        let id = (Token::Id.into(), id);
        Ok(match items.get(row) {
            Value::VertexProperty(p) => {
                vec![id, (Token::Key.into(), Value::String(p.name.clone())), (Token::Value.into(), p.value.clone())]
            }
            owner => vec![id, (Token::Label.into(), read::label_of(cx, &owner)?)],
        })
    };
    read::ids(cx, items)?.into_iter().enumerate().map(of).collect()
}

/// `elementMap`: tokens, the ends of an edge, and the last value of each property.
pub struct ElementMapOp {
    pub keys: Vec<Key>,
    /// Only properties that pass this filter are visible.
    pub visible: Option<Child>,
    /// Later steps take maps by column.
    pub columns: bool,
}

/// The properties of each item that pass the filter. Without a filter, all.
fn seen(cx: &mut Context<'_, '_>, visible: &mut Option<Child>, mut properties: Vec<Vec<Value>>) -> Result<Vec<Vec<Value>>> {
    let Some(visible) = visible else { return Ok(properties) };
    let all: Vec<Value> = properties.iter().flatten().cloned().collect();
    let paths = cx.mode().has_paths().then(|| vec![None; all.len()]);
    let mut passes = visible.exists(cx, &Batch { paths, ..Batch::new(Items::Values(all)) })?.into_iter();
    properties.iter_mut().for_each(|of_one| of_one.retain(|_| passes.next().unwrap_or(false)));
    Ok(properties)
}

impl MapBatch for ElementMapOp {
    fn map(&mut self, cx: &mut Context<'_, '_>, batch: Batch) -> Result<Batch> {
        let mode = cx.mode();
        if self.columns
            && let Some(maps) = columns::element_maps(cx, &batch, &mut self.keys)?
        {
            return Ok(batch.moved_in_place(Items::Maps(maps), mode));
        }
        let properties = read::properties(cx, &batch.items, &mut self.keys, "elementMap()")?;
        let mut properties = seen(cx, &mut self.visible, properties)?.into_iter();
        let mut ends = end_maps(cx, &batch.items)?.into_iter();
        let mut values = Vec::with_capacity(batch.len());
        for (row, tokens) in token_entries(cx, &batch.items)?.into_iter().enumerate() {
            let mut map = Map::from_distinct(tokens);
            if matches!(batch.value(row), Value::Edge(_)) {
                map.insert(Token::Direction(Direction::In).into(), ends.next().unwrap_or_default());
                map.insert(Token::Direction(Direction::Out).into(), ends.next().unwrap_or_default());
            }
            for property in properties.next().unwrap_or_default() {
                map.insert(key_of(&property)?, value_of(&property)?);
            }
            values.push(Value::map(map));
        }
        Ok(batch.moved_in_place(Items::Values(values), mode))
    }
}

/// For each edge among some items, the maps of its target and of its source.
fn end_maps(cx: &Context<'_, '_>, items: &Items) -> Result<Vec<Value>> {
    let mut ends = Vec::new();
    for row in 0..items.len() {
        if let Value::Edge(edge) = items.get(row) {
            ends.extend([edge.target, edge.source]);
        }
    }
    let maps = token_entries(cx, &Items::Vertices(ends))?;
    Ok(maps.into_iter().map(|entries| Value::map(Map::from_distinct(entries))).collect())
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
        for (row, names) in read::label_names(cx, &batch.items)?.into_iter().enumerate() {
            if names.is_empty() {
                read::label_of(cx, &batch.value(row))?; // fails: it has none
            }
            names.into_iter().for_each(|name| moves.push(row, Value::String(name)));
        }
        Ok(moves.finish(&batch, cx.mode()))
    }
}
