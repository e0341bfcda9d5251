//! Rows that would break what is declared of properties: values that are to be unique, and properties that are required. They are
//! set aside with their places before the store would refuse the batch as a whole.

use std::collections::BTreeSet;

use hashbrown::{HashMap, HashSet};
use mangrove_graph::{Comparison, ElementKind, KeyId, LabelId, Predicate, Value, VertexId};

use crate::error::{Fault, LoadError};
use crate::rows::{Column, Part, RawCell, Rows};
use crate::write::Writer;

impl Writer<'_> {
    /// The rows of new elements that lack a required property, or repeat a value that is to be unique; they are told of.
    pub(crate) fn reject_breaches(&mut self, rows: &Rows, kind: ElementKind, label: LabelId) -> Result<Vec<u32>, LoadError> {
        let mut dropped = BTreeSet::new();
        for key in self.required(kind, label) {
            let name = self.schema().key_name(key);
            let column = rows.columns.iter().find(|column| column.name == name);
            for row in (0..rows.count).filter(|row| column.is_none_or(|column| column.values.is_absent(*row))) {
                if dropped.insert(row as u32) {
                    let fault = Fault::Required { column: name.clone() };
                    self.rejects.add(rows.places.bad_row(row, Part::Id, String::new(), fault))?;
                }
            }
        }
        if kind == ElementKind::Vertex {
            self.reject_repeated(rows, label, &vec![None; rows.count], &|_| None, &mut dropped)?;
        }
        Ok(dropped.into_iter().collect())
    }

    /// The rows that repeat a value that is to be unique. `of` is the vertex of each row, where it is there already; `says` tells which rows
    /// say what their vertices are to have in a column, if not all do.
    pub(crate) fn reject_repeated(
        &mut self,
        rows: &Rows,
        label: LabelId,
        of: &[Option<VertexId>],
        says: &dyn Fn(&Column) -> Option<HashSet<u32>>,
        dropped: &mut BTreeSet<u32>,
    ) -> Result<(), LoadError> {
        for column in &rows.columns {
            let key = self.schema().key(&column.name);
            let index = key.and_then(|key| self.schema().index(label, key));
            if let Some(key) = index.filter(|index| index.unique).map(|index| index.key) {
                let last = says(column);
                let counts = |row: &u32| last.as_ref().is_none_or(|last| last.contains(row));
                let counting: Vec<u32> = (0..rows.count as u32).filter(counts).collect();
                self.reject_repeated_in(rows, (label, key), column, of, &counting, dropped)?;
            }
        }
        Ok(())
    }

    /// The required properties of a label, but for its key.
    fn required(&self, kind: ElementKind, label: LabelId) -> Vec<KeyId> {
        let known = self.schema().label_schema(kind, label);
        let properties = known.into_iter().flat_map(|known| known.properties.iter());
        let required = properties.filter(|property| property.required).map(|property| property.key);
        required.filter(|key| !self.schema().is_key(kind, label, *key)).collect()
    }

    fn reject_repeated_in(
        &mut self,
        rows: &Rows,
        (label, key): (LabelId, KeyId),
        column: &Column,
        of: &[Option<VertexId>],
        counting: &[u32],
        dropped: &mut BTreeSet<u32>,
    ) -> Result<(), LoadError> {
        let changing: HashSet<VertexId> = counting.iter().filter_map(|row| of[*row as usize]).collect();
        let mut given: HashMap<String, Vec<Value>> = HashMap::new();
        for row in counting {
            let at = *row as usize;
            for value in values(&column.values.cell(at)) {
                let is_same = Predicate::Compare(Comparison::Eq, value.clone());
                let alike = given.entry(bucket(&value)).or_default();
                let in_batch = alike.iter().any(|before| is_same.matches(before));
                let other = match in_batch {
                    true => None,
                    false => self.holder(label, key, &is_same, of[at], &changing)?,
                };
                if !in_batch && other.is_none() {
                    alike.push(value);
                } else if dropped.insert(*row) {
                    let other = other.map(|vertex| self.graph.external_id(vertex)).transpose()?;
                    let fault = Fault::NotUnique { column: column.name.clone(), other };
                    self.rejects.add(rows.places.bad_row(at, Part::Id, value.to_string(), fault))?;
                }
            }
        }
        Ok(())
    }

    /// Another vertex that has such a value, and does not change it with these rows.
    fn holder(
        &self,
        label: LabelId,
        key: KeyId,
        is_same: &Predicate,
        own: Option<VertexId>,
        changing: &HashSet<VertexId>,
    ) -> Result<Option<VertexId>, LoadError> {
        let found = self.graph.search(label, key, is_same)?.unwrap_or_default();
        Ok(found.into_iter().find(|vertex| Some(*vertex) != own && !changing.contains(vertex)))
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

/// Equal values are in one bucket.
fn bucket(value: &Value) -> String {
    match value.as_f64() {
        Some(number) => (number + 0.0).to_string(),
        None => value.as_time().map_or_else(|| value.to_string(), |time| time.to_string()),
    }
}
