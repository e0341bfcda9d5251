//! `mergeV`, `mergeE`: finds elements by a map, or makes one.

use mangrove_graph::{
    Adjacency, Comparison, Direction, EdgeRef, ElementId, ElementIds, ElementKind, ExternalId, Filter, Hop, LabelId, Map,
    Predicate, Scan, ScanCursor, Schema, Token, Value, VertexId, Wants, compare, record,
};

use crate::access::Search;
use crate::error::{QueryError, Result};
use crate::execute::data::batch::{Batch, Moves};
use crate::execute::data::items::Items;
use crate::execute::data::words::{described, shown};
use crate::execute::ops::mutate::{PropertyToSet, create_edge, create_vertex, label_name, set_property};
use crate::execute::ops::operand::OperandOp;
use crate::execute::run::chain::MapBatch;
use crate::execute::run::context::Context;
use crate::execute::run::ids;
use crate::plan::{Name, PartitionStrategy, split_cardinality};

pub struct MergeOp {
    pub kind: ElementKind,
    pub search: Option<OperandOp>,
    pub on_create: Option<OperandOp>,
    pub on_match: Option<OperandOp>,
    pub out_vertex: Option<OperandOp>,
    pub in_vertex: Option<OperandOp>,
    pub partition: Option<PartitionStrategy>,
}

impl MapBatch for MergeOp {
    fn map(&mut self, cx: &mut Context<'_, '_>, batch: Batch) -> Result<Batch> {
        let mut moves = Moves::default();
        for row in 0..batch.len() {
            let one = batch.gather(&[row as u32]);
            for _ in 0..batch.bulk(row) {
                cx.check()?;
                for value in self.merge(cx, &one)? {
                    moves.push(row, value);
                }
            }
        }
        let mut out = moves.finish(&batch, cx.mode());
        out.bulk = None;
        Ok(out)
    }
}

impl MergeOp {
    fn step(&self) -> &'static str {
        if self.kind == ElementKind::Vertex { "mergeV" } else { "mergeE" }
    }

    fn merge(&mut self, cx: &mut Context<'_, '_>, one: &Batch) -> Result<Vec<Value>> {
        let step = self.step();
        let search = match &mut self.search {
            Some(operand) => Some(given(cx, operand, one, step)?),
            None => Some(one.value(0)),
        };
        let mut search = self.map_of(search, step)?;
        self.mark(&mut search);
        validate(&search, self.kind, step)?;
        if self.kind == ElementKind::Edge {
            search = self.with_ends(cx, one, search)?;
        }
        if let Some(OperandOp::Value(Value::Map(extra))) = &self.on_create {
            let extra = (**extra).clone();
            self.check_override(cx, one, &search, extra)?;
        }
        if let Some(OperandOp::Value(Value::Map(changes))) = &self.on_match {
            validate_properties(changes, step)?;
        }
        let found = match self.kind {
            ElementKind::Vertex => find_vertices(cx, &search)?.into_iter().map(Value::Vertex).collect::<Vec<_>>(),
            ElementKind::Edge => find_edges(cx, &search)?.into_iter().map(Value::Edge).collect(),
        };
        let found = self.readable(cx, found)?;
        if found.is_empty() {
            let made = self.create(cx, one, search)?;
            cx.wrote()?;
            return Ok(vec![made]);
        }
        for element in &found {
            cx.check()?;
            self.matched(cx, one, element)?;
            cx.wrote()?;
        }
        Ok(found)
    }

    /// Adds the partition that is written to. Both the search and the new element use it.
    fn mark(&self, map: &mut Map) {
        self.partition.iter().for_each(|partition| partition.mark(map));
    }

    /// If the query writes to no partition, the search covered all of them. This keeps the elements in a partition that is read.
    fn readable(&self, cx: &mut Context<'_, '_>, mut found: Vec<Value>) -> Result<Vec<Value>> {
        let Some(partition) = self.partition.as_ref().filter(|partition| partition.write.is_none()) else {
            return Ok(found);
        };
        let Some(key) = cx.view().schema().key(&partition.key) else { return Ok(Vec::new()) };
        let mut cells = Vec::with_capacity(found.len());
        for element in &found {
            cells.push(element.element_id().map(|id| cx.view().cell(id, key)).transpose()?.unwrap_or_default());
        }
        let mut cells = cells.iter();
        found.retain(|_| cells.next().is_some_and(|cell| cell.values().any(|value| partition.reads(value))));
        Ok(found)
    }

    fn map_of(&self, value: Option<Value>, step: &str) -> Result<Map> {
        match value {
            None | Some(Value::Null) => Ok(Map::new()),
            Some(Value::Map(map)) => Ok((*map).clone()),
            Some(other) => Err(QueryError::value(format!("{step}() takes a map, but got the {}", described(&other)))),
        }
    }

    fn matched(&mut self, cx: &mut Context<'_, '_>, one: &Batch, element: &Value) -> Result<()> {
        let step = self.step();
        let Some(on_match) = &mut self.on_match else { return Ok(()) };
        let standing = one.clone().standing_on(Items::from_values(vec![element.clone()]));
        let value = given(cx, on_match, &standing, "option(onMatch)")?;
        let map = self.map_of(Some(value), step)?;
        validate_properties(&map, step)?;
        for property in properties(&map) {
            set_property(cx, element, property)?;
        }
        Ok(())
    }

    fn create(&mut self, cx: &mut Context<'_, '_>, one: &Batch, search: Map) -> Result<Value> {
        let step = self.step();
        let mut all = search.clone();
        if let Some(on_create) = &mut self.on_create {
            let value = given(cx, on_create, one, "option(onCreate)")?;
            let mut extra = self.map_of(Some(value), step)?;
            extra = self.check_override(cx, one, &search, extra)?;
            extra.iter().for_each(|(key, value)| all.insert(key.clone(), value.clone()));
        }
        let label = match all.get(&Token::Label.into()) {
            Some(label) => label_name(label)?,
            None => if self.kind == ElementKind::Vertex { "vertex" } else { "edge" }.into(),
        };
        let id = all.get(&Token::Id.into()).cloned();
        let properties = properties(&all);
        if self.kind == ElementKind::Vertex {
            return create_vertex(cx, &label, id.as_ref(), properties).map(Value::Vertex);
        }
        let source = existing_end(cx, &all, Direction::Out)?;
        let target = existing_end(cx, &all, Direction::In)?;
        create_edge(cx, &label, source, target, id.as_ref(), properties).map(Value::Edge)
    }

    /// The additions of `onCreate`. They may not contradict the search map.
    fn check_override(&mut self, cx: &mut Context<'_, '_>, one: &Batch, search: &Map, extra: Map) -> Result<Map> {
        validate(&extra, self.kind, self.step())?;
        let extra = if self.kind == ElementKind::Edge { self.with_ends(cx, one, extra)? } else { extra };
        for (key, value) in extra.iter() {
            if let Some(before) = search.get(key)
                && !compare::equals(split_cardinality(before).1, split_cardinality(value).1)
            {
                return Err(QueryError::value(format!(
                    "option(onCreate) cannot override values from merge() argument: ({key}, {value})"
                )));
            }
        }
        Ok(extra)
    }

    /// The map with vertices as its ends. `Merge.outV`/`inV` stand for the options of that name.
    fn with_ends(&mut self, cx: &mut Context<'_, '_>, one: &Batch, map: Map) -> Result<Map> {
        let mut resolved = Vec::with_capacity(map.len());
        for (key, value) in map {
            if !matches!(key, Value::Token(Token::Direction(_))) {
                resolved.push((key, value));
                continue;
            }
            let value = if let Value::Token(Token::MergeEnd(end)) = value {
                let wants_out = end == Direction::Out;
                let operand = if wants_out { &mut self.out_vertex } else { &mut self.in_vertex };
                let which = if wants_out { "option(outV)" } else { "option(inV)" };
                let given = match operand {
                    Some(operand) => Some(given(cx, operand, one, which)?),
                    None => Some(one.value(0)),
                };
                self.end_of(cx, given, wants_out)?
            } else {
                value
            };
            let vertex = match &value {
                Value::Vertex(_) => Some(value.clone()),
                id => record::find_vertex(cx.view(), id)?.map(Value::Vertex),
            };
            resolved.push((key, vertex.unwrap_or(value)));
        }
        Ok(Map::from_distinct(resolved))
    }

    /// The vertex for an end: `option(Merge.outV, …)` gives a vertex, or a map that finds one.
    fn end_of(&self, cx: &mut Context<'_, '_>, given: Option<Value>, out: bool) -> Result<Value> {
        match given {
            Some(Value::Map(map)) => match find_vertices(cx, &map)?.first() {
                Some(vertex) => Ok(Value::Vertex(*vertex)),
                None => {
                    let which = if out { "outV" } else { "inV" };
                    Err(QueryError::value(format!(
                        "mergeE(): option({which}) found no vertex for {}",
                        Value::map((*map).clone())
                    )))
                }
            },
            Some(value) => Ok(value),
            None => Ok(Value::Null),
        }
    }
}

/// The value of an operand. As in TinkerPop, a traversal that gives nothing is an error.
fn given(cx: &mut Context<'_, '_>, operand: &mut OperandOp, one: &Batch, what: &str) -> Result<Value> {
    operand.eval(cx, one)?.pop().flatten().ok_or_else(|| {
        let error = QueryError::value(format!("{what}: the traversal does not map to a value"));
        match what {
            "option(onMatch)" => error.help(
                "on a match the traverser is the element: label what came in with as(), as in \
                       .as('row').mergeV(…).option(onMatch, select('row').select('c'))",
            ),
            _ => error,
        }
    })
}

fn existing_end(cx: &Context<'_, '_>, map: &Map, direction: Direction) -> Result<VertexId> {
    let name = if direction == Direction::Out { "Out" } else { "In" };
    match map.get(&Token::Direction(direction).into()) {
        Some(Value::Vertex(id)) if cx.view().contains(ElementId::Vertex(*id))? => Ok(*id),
        Some(other) => {
            let error = QueryError::value(format!(
                "Vertex id could not be resolved from mergeE: Vertex with id {} could not be found and edge could not be created",
                shown(other)
            ));
            Err(match ids::hint(cx.view(), ElementKind::Vertex, other)? {
                Some(hint) => error.help(hint),
                None => error,
            })
        }
        None => Err(QueryError::value(format!("{name} Vertex not specified - edge cannot be created"))),
    }
}

/// The plain properties among a map's entries.
fn properties(map: &Map) -> Vec<PropertyToSet> {
    map.iter()
        .filter_map(|(key, value)| {
            let Value::String(key) = key else { return None };
            let (cardinality, value) = split_cardinality(value);
            Some(PropertyToSet { cardinality, key: key.clone(), value: value.clone(), meta: Vec::new() })
        })
        .collect()
}

/// Checks the keys and values of a merge map.
fn validate(map: &Map, kind: ElementKind, step: &str) -> Result<()> {
    for (key, value) in map.iter() {
        match key {
            Value::String(key) if key.starts_with('~') => {
                return Err(QueryError::value(format!("Property key can not be a hidden key: {key}")));
            }
            Value::String(_) => {}
            Value::Token(Token::Id | Token::Label) => {
                if value.is_null() {
                    return Err(QueryError::value(format!("{step}() does not allow null for T.{}", key)));
                }
                if matches!(key, Value::Token(Token::Label)) {
                    label_name(value)?;
                }
            }
            Value::Token(Token::Direction(Direction::Out | Direction::In)) if kind == ElementKind::Edge => {
                if value.is_null() {
                    return Err(QueryError::value(format!("{step}() does not allow null for the ends of an edge")));
                }
            }
            other => {
                let allowed = match kind {
                    ElementKind::Vertex => "[T.id, T.label] or string keys",
                    ElementKind::Edge => "[T.id, T.label, Direction.OUT, Direction.IN] or string keys",
                };
                return Err(QueryError::value(format!(
                    "{step}() and option(onCreate) args expect keys in Map to be either {allowed} - check: {}",
                    shown(other)
                )));
            }
        }
    }
    Ok(())
}

fn validate_properties(map: &Map, step: &str) -> Result<()> {
    for (key, _) in map.iter() {
        if let Some(key) = key.as_str().filter(|key| key.starts_with('~')) {
            return Err(QueryError::value(format!("Property key can not be a hidden key: {key}")));
        }
        if key.as_str().is_none() {
            return Err(QueryError::value(format!(
                "option(onMatch) expects keys in Map to be of String - check: {key} in {step}()"
            )));
        }
    }
    Ok(())
}

/// The conditions that a search map puts on properties and labels; `None` if no element can meet them.
fn conditions(cx: &Context<'_, '_>, map: &Map, kind: ElementKind) -> Result<Option<Scan>> {
    let schema = cx.view().schema();
    let mut scan = Scan::default();
    for (key, value) in map.iter() {
        match key {
            Value::Token(Token::Label) => {
                let name: Name = label_name(value)?;
                match schema.label(kind, &name) {
                    Some(label) => scan.labels = Some(vec![label]),
                    None => return Ok(None),
                }
            }
            Value::String(name) => match schema.key(name) {
                Some(key) => {
                    let (_, value) = split_cardinality(value);
                    scan.filters.push(Filter { key, predicate: Predicate::eq(value.clone()) });
                }
                None => return Ok(None),
            },
            _ => {}
        }
    }
    if let (ElementKind::Vertex, Some([label])) = (kind, scan.labels.as_deref()) {
        take_label_off(schema, *label, &mut scan.filters);
    }
    Ok(Some(scan))
}

/// Where ids are unique only within labels, users see `Label/7`. This makes it 7 where a map gives it under the key of its label.
fn take_label_off(schema: &Schema, label: LabelId, filters: &mut [Filter]) {
    for filter in filters.iter_mut().filter(|filter| schema.is_key(ElementKind::Vertex, label, filter.key)) {
        if let Predicate::Compare(Comparison::Eq, value) = &filter.predicate
            && let Some(id) = ExternalId::from_value(value)
        {
            filter.predicate = Predicate::eq(record::external_id_in(schema, label, id).to_value());
        }
    }
}

fn meets(cx: &Context<'_, '_>, element: ElementId, scan: &Scan) -> Result<bool> {
    if let Some(labels) = &scan.labels
        && !labels.contains(&element.label())
    {
        return Ok(false);
    }
    for filter in &scan.filters {
        let cell = cx.view().cell(element, filter.key)?;
        if !cell.values().any(|value| filter.predicate.matches(value)) {
            return Ok(false);
        }
    }
    Ok(true)
}

fn find_vertices(cx: &Context<'_, '_>, map: &Map) -> Result<Vec<VertexId>> {
    let Some(scan) = conditions(cx, map, ElementKind::Vertex)? else { return Ok(Vec::new()) };
    if let Some(id) = map.get(&Token::Id.into()) {
        let label = scan.labels.as_deref().and_then(|labels| labels.first().copied());
        let found = record::find_vertex_of(cx.view(), label, id)?;
        let Some(vertex) = found else { return Ok(Vec::new()) };
        return Ok(if meets(cx, ElementId::Vertex(vertex), &scan)? { vec![vertex] } else { Vec::new() });
    }
    Ok(all_passing(cx, ElementKind::Vertex, &scan)?.into_vertices())
}

/// All elements that pass a scan, by an index if one answers.
fn all_passing(cx: &Context<'_, '_>, kind: ElementKind, scan: &Scan) -> Result<ElementIds> {
    if let Some(search) = Search::new(cx.view(), kind, scan)? {
        return Ok(search.all(cx.view(), kind, scan)?);
    }
    let (mut all, mut cursor) = (ElementIds::none(kind), ScanCursor::default());
    while !cursor.done {
        all.append(cx.view().scan(kind, scan, &mut cursor, 8192)?.elements);
        cx.check()?;
    }
    Ok(all)
}

fn find_edges(cx: &Context<'_, '_>, map: &Map) -> Result<Vec<EdgeRef>> {
    let Some(scan) = conditions(cx, map, ElementKind::Edge)? else { return Ok(Vec::new()) };
    let end = |direction| map.get(&Token::Direction(direction).into());
    let vertex = |value: Option<&Value>| match value {
        Some(Value::Vertex(id)) => Some(*id),
        _ => None,
    };
    let (out, into) = (end(Direction::Out), end(Direction::In));
    let (source, target) = (vertex(out), vertex(into));
    // No edge has an end that does not exist.
    if (out.is_some() && source.is_none()) || (into.is_some() && target.is_none()) {
        return Ok(Vec::new());
    }
    let mut candidates: Vec<EdgeRef> = Vec::new();
    if let Some(id) = map.get(&Token::Id.into()) {
        candidates.extend(record::find_edge(cx.view(), id)?);
    } else if let Some((from, direction)) = source.map(|v| (v, Direction::Out)).or(target.map(|v| (v, Direction::In))) {
        let wants = Wants { edges: true, ..Wants::default() };
        let hop = Hop::along(direction, scan.labels.clone(), wants);
        let mut found = Adjacency::default();
        cx.view().neighbors(&[from], &hop, &mut found)?;
        candidates = found.edges;
    } else {
        candidates = all_passing(cx, ElementKind::Edge, &scan)?.into_edges();
    }
    let mut kept = Vec::new();
    for edge in candidates {
        let ends = source.is_none_or(|v| v == edge.source) && target.is_none_or(|v| v == edge.target);
        if ends && meets(cx, ElementId::Edge(edge.id), &scan)? {
            kept.push(edge);
        }
    }
    Ok(kept)
}
