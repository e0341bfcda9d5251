//! Rejects rows that would break a declaration: a unique value or a required property. Without this, the store would refuse the
//! whole batch; here each bad row is set aside with its place.

use std::collections::BTreeSet;

use hashbrown::{HashMap, HashSet};
use mangrove_graph::{Comparison, ElementId, ElementKind, KeyId, LabelId, Predicate, PropertyId, Value};

use crate::batches::rows::{Body, Column, Part, RawCell, Rows};
use crate::error::{Fault, LoadError};
use crate::writing::write::Writer;

impl Writer<'_> {
    /// Rejects rows of new elements that lack a required property or repeat a unique value. Returns these rows.
    pub(crate) fn reject_breaches(&mut self, rows: &Rows, kind: ElementKind, label: LabelId) -> Result<Vec<u32>, LoadError> {
        let mut dropped = self.reject_lacking(rows, kind, label, 0..rows.count as u32)?;
        let others = self.reject_ids(rows, label, &dropped)?;
        dropped.extend(others);
        let says = |_: &Column| (0..rows.count as u32).filter(|row| !dropped.contains(row)).collect();
        let repeated = self.reject_repeated(rows, kind, label, &vec![None; rows.count], &says)?;
        dropped.extend(repeated);
        Ok(dropped.into_iter().collect())
    }

    /// Rejects rows of vertices whose ids do not have the type declared for their label's key. Skips rows in `told`, which are
    /// already rejected.
    fn reject_ids(&mut self, rows: &Rows, label: LabelId, told: &BTreeSet<u32>) -> Result<Vec<u32>, LoadError> {
        let Body::Vertices { ids, .. } = &rows.body else { return Ok(Vec::new()) };
        let known = &self.schema().vertex_labels[usize::from(label.0)];
        let declared = known.key.and_then(|key| Some((key, known.property(key)?.declared?)));
        let Some((key, declared)) = declared else { return Ok(Vec::new()) };
        let fault = Fault::Misfit { column: self.schema().key_name(key), expected: declared.name().into() };
        let is_other = |row: &u32| !told.contains(row) && ids.get(*row as usize).to_value().value_type() != declared;
        let bad: Vec<u32> = (0..rows.count as u32).filter(is_other).collect();
        for row in &bad {
            let value = ids.get(*row as usize).to_string();
            self.rejects.add(rows.places.bad_row(*row as usize, Part::Id, value, fault.clone()))?;
        }
        Ok(bad)
    }

    /// Rejects rows that repeat a unique value. `of` gives the element of each row, if the element exists already. `says` gives the
    /// rows that decide the value of their elements in a column.
    pub(crate) fn reject_repeated(
        &mut self,
        rows: &Rows,
        kind: ElementKind,
        label: LabelId,
        of: &[Option<ElementId>],
        says: &dyn Fn(&Column) -> HashSet<u32>,
    ) -> Result<BTreeSet<u32>, LoadError> {
        let mut unique = Vec::new();
        for column in &rows.columns {
            let key = self.schema().key(&column.name);
            let index = key.and_then(|key| self.schema().index(PropertyId { kind, label, key }));
            let index = index.filter(|index| index.unique);
            unique.extend(index.map(|index| Claims::new(column, index.of, says(column), of)));
        }
        let mut dropped = BTreeSet::new();
        let count = if unique.is_empty() { 0 } else { rows.count };
        for (row, own) in of.iter().enumerate().take(count) {
            let mut claimed = Vec::new();
            let mut refused = None;
            for (at, claims) in unique.iter().enumerate().filter(|(_, claims)| claims.rows.contains(&(row as u32))) {
                for value in values(&claims.column.values.cell(row)) {
                    refused = refused.or(self.refused(claims, &value, *own)?);
                    claimed.push((at, value));
                }
            }
            match refused {
                None => claimed.into_iter().for_each(|(at, value)| unique[at].take(value)),
                Some((value, fault)) => {
                    self.rejects.add(rows.places.bad_row(row, Part::Id, value, fault))?;
                    dropped.insert(row as u32);
                }
            }
        }
        Ok(dropped)
    }

    /// The value and the fault if a row cannot have this value.
    fn refused(
        &self,
        claims: &Claims<'_>,
        value: &Value,
        own: Option<ElementId>,
    ) -> Result<Option<(String, Fault)>, LoadError> {
        let is_same = Predicate::Compare(Comparison::Eq, value.clone());
        let other = match claims.has(value, &is_same) {
            true => None,
            false => {
                let found = self.graph.search_all(claims.of, &is_same)?;
                let mut found = found.iter().flat_map(|found| found.iter());
                let other = found.find(|element| Some(*element) != own && !claims.changing.contains(element));
                let Some(other) = other else { return Ok(None) };
                Some(self.holder(other)?)
            }
        };
        Ok(Some((value.to_string(), Fault::NotUnique { column: claims.column.name.clone(), other })))
    }

    /// The name of an element in messages.
    fn holder(&self, element: ElementId) -> Result<String, LoadError> {
        let id = match element {
            ElementId::Vertex(vertex) => self.graph.external_id(vertex)?,
            ElementId::Edge(edge) => self.graph.edge_external_id(edge)?.unwrap_or_else(|| edge.generated()),
        };
        Ok(format!("the {} {id}", element.kind().name()))
    }

    /// Whether a label has a unique property.
    pub(crate) fn has_unique(&self, kind: ElementKind, label: LabelId) -> bool {
        self.schema().indexes.iter().any(|index| index.unique && (index.of.kind, index.of.label) == (kind, label))
    }

    /// Rejects those of the given rows that lack a required property.
    pub(crate) fn reject_lacking(
        &mut self,
        rows: &Rows,
        kind: ElementKind,
        label: LabelId,
        those: impl Iterator<Item = u32> + Clone,
    ) -> Result<BTreeSet<u32>, LoadError> {
        let mut dropped = BTreeSet::new();
        for key in self.required(kind, label) {
            let name = self.schema().key_name(key);
            let column = rows.columns.iter().find(|column| column.name == name);
            for row in those.clone().filter(|row| column.is_none_or(|column| column.values.is_absent(*row as usize))) {
                if dropped.insert(row) {
                    let fault = Fault::Required { column: name.clone() };
                    self.rejects.add(rows.places.bad_row(row as usize, Part::Id, String::new(), fault))?;
                }
            }
        }
        Ok(dropped)
    }

    /// The required properties of a label, except its key.
    fn required(&self, kind: ElementKind, label: LabelId) -> Vec<KeyId> {
        let known = self.schema().label_schema(kind, label);
        let properties = known.into_iter().flat_map(|known| known.properties.iter());
        let required = properties.filter(|property| property.required).map(|property| property.key);
        required.filter(|key| !self.schema().is_key(kind, label, *key)).collect()
    }
}

/// The unique values that rows of a batch have claimed.
struct Claims<'c> {
    column: &'c Column,
    of: PropertyId,
    /// The rows that decide the value of their elements.
    rows: HashSet<u32>,
    /// Elements that get a new value, so that their old ones do not count.
    changing: HashSet<ElementId>,
    taken: HashMap<String, Vec<Value>>,
}

impl<'c> Claims<'c> {
    fn new(column: &'c Column, of: PropertyId, rows: HashSet<u32>, elements: &[Option<ElementId>]) -> Self {
        let changing = rows.iter().filter_map(|row| elements[*row as usize]).collect();
        Self { column, of, rows, changing, taken: HashMap::new() }
    }

    fn has(&self, value: &Value, is_same: &Predicate) -> bool {
        self.taken.get(&bucket(value)).is_some_and(|alike| alike.iter().any(|before| is_same.matches(before)))
    }

    fn take(&mut self, value: Value) {
        self.taken.entry(bucket(&value)).or_default().push(value);
    }
}

fn values(cell: &RawCell) -> Vec<Value> {
    let values = match cell {
        RawCell::Absent => Vec::new(),
        RawCell::One(value) => vec![value.clone()],
        RawCell::Many(values) => values.iter().map(|value| value.value.clone()).collect(),
    };
    values.into_iter().filter(|value| !value.is_null()).collect()
}

/// A hash bucket for a value. Equal values share a bucket.
fn bucket(value: &Value) -> String {
    match value.as_f64() {
        Some(number) => (number + 0.0).to_string(),
        None => value.as_time().map_or_else(|| value.to_string(), |time| time.to_string()),
    }
}
