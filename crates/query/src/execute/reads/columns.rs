//! Maps by column: reads ids, labels and properties of a batch of elements, key by key.
//!
//! Each function returns `None` if the caller must make the maps row by row. That is so for values that are no elements, for few
//! elements, and for labels with very many keys, of which each row has few.

use std::collections::BTreeSet;
use std::sync::Arc;

use arrow_array::{Array, ArrayRef, ListArray, StringArray};
use arrow_buffer::OffsetBuffer;
use arrow_schema::{DataType, Field};
use mangrove_graph::{
    Cell, Direction, EdgeRef, ElementId, Elements, GraphError, GraphView, KeyId, LabelId, PropertyColumn, Token, Value,
    VertexId, record,
};

use crate::error::Result;
use crate::execute::data::batch::Batch;
use crate::execute::data::maps::{ARRAY_MIN, MapColumn, Maps};
use crate::execute::reads::elements::{self, elements};
use crate::execute::run::context::{Context, Key};
use crate::plan::{Name, Tokens};

/// With more keys, reading what each element has is faster.
const KEYS_MAX: usize = 64;

/// Which of several values under one key a map shows.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Many {
    First,
    Last,
    /// A list of all values, even of a single one. Edges have one value and no list.
    All,
}

/// Maps of the wanted tokens, then of the properties under `keys`. No keys means all keys.
pub fn property_maps(
    cx: &mut Context<'_, '_>,
    batch: &Batch,
    keys: &mut [Key],
    tokens: Tokens,
    many: Many,
) -> Result<Option<Maps>> {
    let Some(elements) = elements(batch) else { return Ok(None) };
    let Some(ids) = key_ids(cx, elements, keys) else { return Ok(None) };
    let mut columns = Vec::with_capacity(2 + ids.len());
    if tokens.id {
        columns.push((Token::Id.into(), id_column(cx.view(), elements)?));
    }
    if tokens.label {
        columns.push((Token::Label.into(), label_values(cx.view(), elements)));
    }
    let (ids, names): (Vec<KeyId>, Vec<Name>) = ids.into_iter().unzip();
    let read = elements::columns(cx, batch, elements, &ids)?;
    let Some(mut properties) = property_columns(read, elements, names, many) else { return Ok(None) };
    columns.append(&mut properties);
    Ok(Some(Maps { rows: batch.len(), columns }))
}

/// The keys to read, in order, without those that the graph does not know.
fn key_ids(cx: &mut Context<'_, '_>, elements: Elements<'_>, keys: &mut [Key]) -> Option<Vec<(KeyId, Name)>> {
    if !keys.is_empty() {
        let mut known: Vec<(KeyId, Name)> = Vec::with_capacity(keys.len());
        for key in keys {
            let Some(id) = key.id(cx) else { continue };
            if known.iter().any(|(other, _)| *other == id) {
                return None;
            }
            known.push((id, key.name.clone()));
        }
        return Some(known);
    }
    all_keys(cx.view(), elements)
}

/// All keys that elements may have; `None` if they are very many.
fn all_keys(view: &dyn GraphView, elements: Elements<'_>) -> Option<Vec<(KeyId, Name)>> {
    let schema = view.schema();
    let of_label =
        |label: LabelId| schema.label_schema(elements.kind(), label).into_iter().flat_map(|l| l.properties.keys());
    let ids: BTreeSet<KeyId> = elements.labels().into_iter().flat_map(of_label).collect();
    (ids.len() <= KEYS_MAX).then(|| ids.into_iter().map(|id| (id, schema.key_name(id))).collect())
}

/// The columns of properties in the maps, without those of which no element has anything.
fn property_columns(
    columns: Vec<PropertyColumn>,
    elements: Elements<'_>,
    names: Vec<Name>,
    many: Many,
) -> Option<Vec<(Value, MapColumn)>> {
    let mut shown = Vec::with_capacity(names.len());
    for (name, column) in names.into_iter().zip(columns) {
        shown.extend(property_column(column, elements, many)?.map(|column| (Value::String(name), column)));
    }
    Some(shown)
}

/// The column of a property in the maps. The inner `None` means that no element has the property.
fn property_column(column: PropertyColumn, elements: Elements<'_>, many: Many) -> Option<Option<MapColumn>> {
    let listed = many == Many::All && matches!(elements, Elements::Vertices(_));
    Some(match column {
        PropertyColumn::Absent(_) => None,
        // A list would lose the mark of its type.
        PropertyColumn::Typed(array) if listed && matches!(array.data_type(), DataType::FixedSizeBinary(_)) => return None,
        PropertyColumn::Typed(array) if listed => Some(MapColumn::Typed(lists_of_one(array)?)),
        PropertyColumn::Typed(array) => Some(MapColumn::Typed(array)),
        // An edge has no list around its value, so a collection would itself be unfolded.
        PropertyColumn::Cells(_) if many == Many::First && matches!(elements, Elements::Edges(_)) => return None,
        PropertyColumn::Cells(cells) => {
            let values = cells.into_iter().map(|cell| match (cell, many) {
                (Cell::Absent, _) => None,
                (cell, _) if listed => Some(Value::list(cell.into_entries().into_iter().map(|v| v.value).collect())),
                (cell, Many::First) => cell.into_entries().into_iter().next().map(|v| v.value),
                (cell, _) => cell.into_entries().pop().map(|v| v.value),
            });
            Some(MapColumn::Values(values.collect()))
        }
    })
}

/// Wraps each value that is present into a list of one.
fn lists_of_one(array: ArrayRef) -> Option<ArrayRef> {
    let nulls = array.nulls().cloned();
    let lengths = (0..array.len()).map(|row| usize::from(array.is_valid(row)));
    let offsets = OffsetBuffer::from_lengths(lengths);
    let there = match array.null_count() {
        0 => array,
        _ => {
            arrow_select::filter::filter(&array, &arrow_array::BooleanArray::new(nulls.clone()?.into_inner(), None)).ok()?
        }
    };
    let field = Arc::new(Field::new("item", there.data_type().clone(), true));
    Some(Arc::new(ListArray::try_new(field, offsets, there, nulls).ok()?))
}

/// The ids of elements that users see.
fn id_column(view: &dyn GraphView, elements: Elements<'_>) -> Result<MapColumn> {
    match record::ids(view, elements)? {
        PropertyColumn::Typed(array) if array.null_count() == 0 => Ok(MapColumn::Typed(array)),
        ids => {
            let id = |row| match ids.cell(row) {
                Cell::One(id) => Ok(Some(id)),
                _ => Err(GraphError::no_such(elements.get(row))),
            };
            Ok(MapColumn::of((0..elements.len()).map(id).collect::<mangrove_graph::Result<_>>()?))
        }
    }
}

/// The names of the labels of elements.
fn label_column(view: &dyn GraphView, elements: Elements<'_>) -> ArrayRef {
    let mut known: Option<(LabelId, Arc<str>)> = None;
    let mut name = |element: ElementId| match &known {
        Some((label, name)) if *label == element.label() => name.clone(),
        _ => {
            let name = record::label(view, element);
            known = Some((element.label(), name.clone()));
            name
        }
    };
    let names: Vec<Arc<str>> = (0..elements.len()).map(|row| name(elements.get(row))).collect();
    Arc::new(StringArray::from_iter_values(names))
}

/// The ids or the labels of elements; `None` for other tokens.
pub fn token_column(view: &dyn GraphView, elements: Elements<'_>, token: Token) -> Result<Option<MapColumn>> {
    Ok(match token {
        Token::Id => Some(id_column(view, elements)?),
        Token::Label => Some(label_values(view, elements)),
        _ => None,
    })
}

/// The names of the labels. Few rows need no array.
fn label_values(view: &dyn GraphView, elements: Elements<'_>) -> MapColumn {
    if elements.len() >= ARRAY_MIN {
        return MapColumn::Typed(label_column(view, elements));
    }
    let name = |row| Some(Value::String(record::label(view, elements.get(row))));
    MapColumn::Values((0..elements.len()).map(name).collect())
}

/// A column of maps for the ends of edges, each with id and label.
fn end_column(view: &dyn GraphView, edges: &[EdgeRef], end: impl Fn(&EdgeRef) -> VertexId) -> Result<MapColumn> {
    let ends: Vec<VertexId> = edges.iter().map(end).collect();
    let ends = Elements::Vertices(&ends);
    let maps = own_maps(view, ends)?;
    Ok(MapColumn::Values(maps.into_values().into_iter().map(Some).collect()))
}

/// Maps with the ids and labels of elements.
pub fn own_maps(view: &dyn GraphView, elements: Elements<'_>) -> Result<Maps> {
    let columns = vec![(Token::Id.into(), id_column(view, elements)?), (Token::Label.into(), label_values(view, elements))];
    Ok(Maps { rows: elements.len(), columns })
}

/// Maps with the ids, labels and properties of elements, with the last value under each key. `None` if their labels have very many
/// keys.
pub fn whole_maps(view: &dyn GraphView, elements: Elements<'_>) -> Result<Option<Maps>> {
    let Some(keys) = all_keys(view, elements) else { return Ok(None) };
    let mut maps = own_maps(view, elements)?;
    let (ids, names): (Vec<KeyId>, Vec<Name>) = keys.into_iter().unzip();
    let mut read = Vec::with_capacity(ids.len());
    view.columns(elements, &ids, &mut read)?;
    let Some(mut properties) = property_columns(read, elements, names, Many::Last) else { return Ok(None) };
    maps.columns.append(&mut properties);
    Ok(Some(maps))
}

/// The maps of `elementMap`.
pub fn element_maps(cx: &mut Context<'_, '_>, batch: &Batch, keys: &mut [Key]) -> Result<Option<Maps>> {
    let tokens = Tokens { id: true, label: true, ..Tokens::default() };
    let Some(mut maps) = property_maps(cx, batch, keys, tokens, Many::Last)? else { return Ok(None) };
    if let Some(edges) = batch.edges() {
        let ends = [
            (Token::Direction(Direction::In).into(), end_column(cx.view(), edges, |edge| edge.target)?),
            (Token::Direction(Direction::Out).into(), end_column(cx.view(), edges, |edge| edge.source)?),
        ];
        maps.columns.splice(2..2, ends);
    }
    Ok(Some(maps))
}
