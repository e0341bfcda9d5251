//! Setting properties.

use std::collections::HashSet;

use arrow_array::Array;
use arrow_array::cast::AsArray;
use arrow_schema::DataType;
use mangrove_graph::{
    Cardinality, Cell, ElementId, ElementKind, Elements, ExternalId, GraphError, KeyId, LabelId, PropertyColumn, PropertyId,
    PropertySchema, Result, TypeSet, Value, ValueType, VertexId,
};

use super::HotTransaction;
use crate::format::block::SLOTS;
use crate::format::encode::{self, ArrayRows};
use crate::format::index;
use crate::format::key::{Column, block_slot, element_at, place};
use crate::read::order;
use mangrove_segment::value;

impl HotTransaction {
    pub(super) fn put_cell(&mut self, element: ElementId, key: KeyId, cell: Cell) -> Result<()> {
        let cell = Cell::from_entries(cell.into_entries());
        self.element_exists(element)?;
        self.key_exists(key)?;
        self.cell_fits(element.kind(), element.label(), key, &cell)?;
        self.keeps_its_time(element, key, &cell)?;
        if self.is_key(element, key) {
            return self.keeps_its_id(element, key, &cell);
        }
        self.keeps_required(element, key, &cell)?;
        let of = PropertyId { kind: element.kind(), label: element.label(), key };
        self.stay_unique(of, &[(element, &cell)])?;
        self.change(|t| {
            let column = Column::property(element.kind(), element.label(), key);
            t.infer(element.kind(), element.label(), key, &cell)?;
            if t.schema.index(of).is_some() {
                let old = t.reader().cell_at(column, place(element.raw()))?;
                t.reindex(of, element.raw(), &old, &cell)?;
            }
            let (block, slot) = block_slot(place(element.raw()));
            t.edit_block(column, block, [(slot, cell)])
        })
    }

    pub(super) fn put_properties(&mut self, elements: Elements<'_>, key: KeyId, values: &PropertyColumn) -> Result<()> {
        if elements.len() != values.len() {
            let what = format!("{} values were given for {} elements", values.len(), elements.len());
            return Err(GraphError::Invalid(what));
        }
        self.key_exists(key)?;
        match values {
            PropertyColumn::Absent(_) => Ok(()),
            _ if self.some_have_key(elements, key) => self.put_each(elements, key, values),
            PropertyColumn::Typed(array) if is_run(elements) && encode::form_of_array(array.data_type()).is_some() => {
                self.put_array(elements, key, array)
            }
            _ => self.put_cells(elements, key, values),
        }
    }

    /// Sets properties of consecutive elements straight from an array.
    fn put_array(&mut self, elements: Elements<'_>, key: KeyId, array: &arrow_array::ArrayRef) -> Result<()> {
        let n = array.len();
        if array.null_count() == n {
            return Ok(());
        }
        let (first, last) = (elements.get(0), elements.get(n - 1));
        let (kind, label) = (first.kind(), first.label());
        self.run_exists(first, n, |at| array.is_valid(at))?;
        let form = encode::form_of_array(array.data_type()).unwrap_or(ValueType::Null);
        if let Some(at) = (0..n).find(|at| array.is_valid(*at)) {
            let sample = Cell::One(mangrove_graph::column::value_at(array, at));
            self.cell_fits(kind, label, key, &sample)?;
        }
        must_have_room(longest(array))?;
        for at in (0..n).filter(|at| self.is_time(kind, label, key) && array.is_valid(*at)) {
            let cell = Cell::One(mangrove_graph::column::value_at(array, at));
            self.keeps_its_time(elements.get(at), key, &cell)?;
        }
        debug_assert_eq!(last.raw() - first.raw() + 1, n as u64);
        let of = PropertyId { kind, label, key };
        let cell = |at: usize| Cell::One(mangrove_graph::column::value_at(array, at));
        if self.is_unique(of) {
            let there = (0..n).filter(|at| array.is_valid(*at));
            let cells: Vec<_> = there.map(|at| (elements.get(at), cell(at))).collect();
            self.stay_unique(of, &cells.iter().map(|(element, cell)| (*element, cell)).collect::<Vec<_>>())?;
        }
        self.change(|t| {
            t.infer_type(kind, label, key, form)?;
            let column = Column::property(kind, label, key);
            if t.schema.index(of).is_some() {
                for at in (0..n).filter(|at| array.is_valid(*at)) {
                    let raw = elements.get(at).raw();
                    let old = t.reader().cell_at(column, place(raw))?;
                    t.reindex(of, raw, &old, &cell(at))?;
                }
            }
            t.put_run(column, place(first.raw()), &ArrayRows(array), n, false)
        })
    }

    /// Fails if one of `n` consecutive elements does not exist, among those for which `counts` holds.
    fn run_exists(&self, first: ElementId, n: usize, counts: impl Fn(usize) -> bool) -> Result<()> {
        let column = Column::alive(first.kind(), first.label());
        let mut walk = self.reader().column(column);
        let start = place(first.raw());
        let (mut alive, mut known) = (0, None);
        for at in 0..n {
            let (block, slot) = block_slot(start + at as u64);
            if known.replace(block) != Some(block) {
                alive = walk.block_at(block)?.map_or(0, |cells| cells.present);
            }
            if alive >> slot & 1 == 0 && counts(at) {
                return Err(GraphError::no_such(crate::format::key::element_at(
                    first.kind(),
                    first.label(),
                    start + at as u64,
                )));
            }
        }
        Ok(())
    }

    fn put_cells(&mut self, elements: Elements<'_>, key: KeyId, values: &PropertyColumn) -> Result<()> {
        let mut rows: Vec<(ElementId, Cell)> = (0..elements.len())
            .map(|at| (elements.get(at), Cell::from_entries(values.cell(at).into_entries())))
            .filter(|(_, cell)| !cell.is_absent())
            .collect();
        for (element, cell) in &rows {
            self.element_exists(*element)?;
            self.cell_fits(element.kind(), element.label(), key, cell)?;
            self.keeps_its_time(*element, key, cell)?;
            self.keeps_required(*element, key, cell)?;
        }
        rows.sort_by_key(|(element, _)| element.raw()); // stable: of one element the last value stays
        self.stay_unique_by_label(&rows, key)?;
        self.change(|t| {
            for group in rows.chunk_by(|a, b| a.0.raw() / SLOTS as u64 == b.0.raw() / SLOTS as u64) {
                t.put_group(group, key)?;
            }
            Ok(())
        })
    }

    /// Fails if elements, in the order of their labels, would share values that must be unique.
    fn stay_unique_by_label(&self, rows: &[(ElementId, Cell)], key: KeyId) -> Result<()> {
        for of_label in rows.chunk_by(|a, b| a.0.label() == b.0.label()) {
            let of = PropertyId { kind: of_label[0].0.kind(), label: of_label[0].0.label(), key };
            if self.is_unique(of) {
                let cells: Vec<_> = of_label.iter().map(|(element, cell)| (*element, cell)).collect();
                self.stay_unique(of, &cells)?;
            }
        }
        Ok(())
    }

    /// Sets properties of elements of one block.
    fn put_group(&mut self, group: &[(ElementId, Cell)], key: KeyId) -> Result<()> {
        let first = group[0].0;
        let (kind, label) = (first.kind(), first.label());
        let column = Column::property(kind, label, key);
        group.iter().try_for_each(|(_, cell)| self.infer(kind, label, key, cell))?;
        let of = PropertyId { kind, label, key };
        if self.schema.index(of).is_some() {
            for same in group.chunk_by(|a, b| a.0 == b.0) {
                let raw = same[0].0.raw();
                let old = self.reader().cell_at(column, place(raw))?;
                self.reindex(of, raw, &old, &same[same.len() - 1].1)?;
            }
        }
        let changes = group.iter().map(|(element, cell)| (block_slot(place(element.raw())).1, cell.clone()));
        self.edit_block(column, block_slot(place(first.raw())).0, changes)
    }

    /// Updates an index after a change of the cell of the element with this raw id.
    pub(super) fn reindex(&mut self, of: PropertyId, raw: u64, old: &Cell, new: &Cell) -> Result<()> {
        let table = self.owned.shared().tables.index;
        let (before, after) = (index::entries(of, raw, old), index::entries(of, raw, new));
        for gone in before.iter().filter(|entry| after.binary_search(entry).is_err()) {
            table.delete(self.owned.txn_mut(), gone)?;
        }
        for come in after.iter().filter(|entry| before.binary_search(entry).is_err()) {
            table.put(self.owned.txn_mut(), come, &[])?;
        }
        Ok(())
    }

    /// Removes elements from the index of a property, if there is one.
    pub(super) fn unindex(&mut self, of: PropertyId, places: &[u64]) -> Result<()> {
        if self.schema.index(of).is_none() {
            return Ok(());
        }
        let column = Column::holding(&self.schema, of.kind, of.label, of.key);
        for place in places {
            let old = self.reader().cell_at(column, *place)?;
            self.reindex(of, element_at(of.kind, of.label, *place).raw(), &old, &Cell::Absent)?;
        }
        Ok(())
    }

    /// Fails if the cell cannot be under this key of this label.
    pub(super) fn cell_fits(&self, kind: ElementKind, label: LabelId, key: KeyId, cell: &Cell) -> Result<()> {
        must_have_room(cell.values().map(|value| value.memory_bytes(CELL_BYTES_MAX + 1)).sum())?;
        match cell {
            Cell::Absent => return Ok(()),
            Cell::One(value) => value::check_storable(value)?,
            Cell::Many(_) if kind == ElementKind::Edge => {
                return Err(GraphError::Invalid("an edge property has one value, without properties of its own".into()));
            }
            Cell::Many(entries) => {
                for entry in entries {
                    value::check_storable(&entry.value)?;
                    for (key, value) in &entry.meta {
                        self.key_exists(*key)?;
                        value::check_storable(value)?;
                    }
                }
            }
        }
        match self.schema.label_schema(kind, label).and_then(|label| label.property(key)) {
            Some(property) => self.keeps_to(kind, label, property, cell, property.declared.is_some()),
            None => Ok(()),
        }
    }

    /// Sets cells of elements for some of which the property is the id. Checks that each such cell equals the id, and sets
    /// the others.
    fn put_each(&mut self, elements: Elements<'_>, key: KeyId, values: &PropertyColumn) -> Result<()> {
        let of_key = |t: &Self, at: usize| t.is_key(elements.get(at), key);
        for at in (0..elements.len()).filter(|at| of_key(self, *at)) {
            let (element, cell) = (elements.get(at), Cell::from_entries(values.cell(at).into_entries()));
            self.element_exists(element)?;
            if !cell.is_absent() {
                self.keeps_its_id(element, key, &cell)?;
            }
        }
        let others: Vec<usize> = (0..elements.len()).filter(|at| !of_key(self, *at)).collect();
        let cells = PropertyColumn::Cells(others.iter().map(|at| values.cell(*at)).collect());
        match elements {
            Elements::Vertices(ids) => {
                let others: Vec<VertexId> = others.iter().map(|at| ids[*at]).collect();
                self.put_cells(Elements::Vertices(&others), key, &cells)
            }
            Elements::Edges(_) => Ok(()), // they have no key
        }
    }

    pub(super) fn key_of(&self, label: LabelId) -> Option<KeyId> {
        self.schema.vertex_labels.get(usize::from(label.0)).and_then(|label| label.key)
    }

    /// Whether a property is the id of some of these elements.
    fn some_have_key(&self, elements: Elements<'_>, key: KeyId) -> bool {
        let Elements::Vertices(ids) = elements else { return false };
        ids.chunk_by(|a, b| a.label() == b.label()).any(|of_label| self.key_of(of_label[0].label()) == Some(key))
    }

    fn is_key(&self, element: ElementId, key: KeyId) -> bool {
        self.schema.is_key(element.kind(), element.label(), key)
    }

    /// Fails if the cell is not the id that its vertex has.
    fn keeps_its_id(&self, element: ElementId, key: KeyId, cell: &Cell) -> Result<()> {
        let ElementId::Vertex(vertex) = element else { return Ok(()) };
        let id = self.reader().external_id(vertex)?;
        if matches!(cell, Cell::One(value) if ExternalId::from_value(value).as_ref() == Some(&id)) {
            return Ok(());
        }
        let (key, label) =
            (self.schema.key_name(key).to_string(), self.schema.label_name(ElementKind::Vertex, vertex.label()));
        Err(GraphError::Key { label: label.to_string(), key, id })
    }

    /// Fails if ids are not of the type that is declared for the key of their label.
    pub(super) fn ids_fit(&self, label: LabelId, ids: &[ExternalId]) -> Result<()> {
        let Some(property) =
            self.key_of(label).and_then(|key| self.schema.vertex_labels[usize::from(label.0)].property(key))
        else {
            return Ok(());
        };
        let Some(declared) = property.declared else { return Ok(()) };
        match ids.iter().map(ExternalId::to_value).find(|id| id.value_type() != declared) {
            None => Ok(()),
            Some(id) => self.keeps_to(ElementKind::Vertex, label, property, &Cell::One(id), true),
        }
    }

    /// Adds the types of these ids to what the schema knows of the key of a label.
    pub(super) fn infer_key(&mut self, label: LabelId, key: KeyId, ids: &[ExternalId]) -> Result<()> {
        let mut types = TypeSet::default();
        ids.iter().for_each(|id| types.insert(id.value_type()));
        types.iter().try_for_each(|t| self.infer_type(ElementKind::Vertex, label, key, t))
    }

    fn is_time(&self, kind: ElementKind, label: LabelId, key: KeyId) -> bool {
        kind == ElementKind::Edge && self.schema.label_schema(kind, label).is_some_and(|label| label.time == Some(key))
    }

    /// Fails if the cell would change the time of an edge, because edges are found by their time.
    fn keeps_its_time(&self, element: ElementId, key: KeyId, cell: &Cell) -> Result<()> {
        let (kind, label) = (element.kind(), element.label());
        let may_be_time = || cell.values().all(|value| value.is_null() || value.as_time().is_some());
        if !self.is_time(kind, label, key)
            || self.reader().time_of(label, place(element.raw()))? == order(cell) && may_be_time()
            || self.reader().cell(element, key)? == *cell
        {
            return Ok(());
        }
        let (key, label) = (self.schema.key_name(key), self.schema.label_name(kind, label));
        Err(GraphError::Invalid(format!(
            "`{key}` is the time that orders {label} edges, and cannot change once addE() has set it. To change it, remove the \
             edge and add it again"
        )))
    }

    /// Fails if the cell does not keep to the declaration. The cardinality counts only if it is `fixed`.
    pub(super) fn keeps_to(
        &self,
        kind: ElementKind,
        label: LabelId,
        property: &PropertySchema,
        cell: &Cell,
        fixed: bool,
    ) -> Result<()> {
        let names = || (self.schema.label_name(kind, label).to_string(), self.schema.key_name(property.key).to_string());
        if let Some(declared) = property.declared {
            let unfit = cell.values().find(|value| !value.is_null() && value.value_type() != declared);
            if let Some(value) = unfit {
                let ((label, key), found) = (names(), value.value_type().to_string());
                let (declared, value) = (declared.to_string(), value.to_string());
                return Err(GraphError::TypeMismatch { label, key, declared, found, value });
            }
        }
        let Cell::Many(entries) = cell else { return Ok(()) };
        let fits = !fixed
            || match property.cardinality {
                Cardinality::Single => entries.len() <= 1,
                Cardinality::List => true,
                Cardinality::Set => {
                    let distinct: HashSet<&Value> = entries.iter().map(|entry| &entry.value).collect();
                    distinct.len() == entries.len()
                }
            };
        if fits {
            return Ok(());
        }
        let ((label, key), cardinality, n) = (names(), property.cardinality.name(), entries.len());
        Err(GraphError::Invalid(format!("{label}.{key} is declared {cardinality} and cannot hold these {n} values")))
    }

    /// Adds what a cell shows to the schema.
    fn infer(&mut self, kind: ElementKind, label: LabelId, key: KeyId, cell: &Cell) -> Result<()> {
        cell.values().try_for_each(|value| self.infer_type(kind, label, key, value.value_type()))?;
        let Cell::Many(entries) = cell else { return Ok(()) };
        let Some(known) = self.schema.labels(kind)[usize::from(label.0)].property(key) else { return Ok(()) };
        let has_meta = known.has_meta || entries.iter().any(|entry| !entry.meta.is_empty());
        let several = entries.len() > 1 && known.cardinality == Cardinality::Single;
        if has_meta == known.has_meta && !several {
            return Ok(());
        }
        self.change_property(kind, label, key, |property| {
            property.has_meta = has_meta;
            if several {
                property.cardinality = Cardinality::List;
            }
        })
    }

    pub(super) fn infer_type(&mut self, kind: ElementKind, label: LabelId, key: KeyId, t: ValueType) -> Result<()> {
        let known = self.schema.labels(kind)[usize::from(label.0)].property(key);
        if known.is_some_and(|known| known.types.contains(t)) {
            return Ok(());
        }
        self.change_property(kind, label, key, |property| property.types.insert(t))
    }
}

/// The most bytes that all values of an element under a key may take. LMDB allows twice that, but is asked for no more.
const CELL_BYTES_MAX: usize = 1 << 30;

fn must_have_room(bytes: usize) -> Result<()> {
    if bytes <= CELL_BYTES_MAX {
        return Ok(());
    }
    let what = "a property takes too many bytes".into();
    Err(GraphError::Limit { what, limit: CELL_BYTES_MAX as u64 })
}

/// The bytes of the longest text or bytes of an array.
fn longest(array: &arrow_array::ArrayRef) -> usize {
    match array.data_type() {
        DataType::Utf8 => array.as_string::<i32>().offsets().lengths().max(),
        DataType::Binary => array.as_binary::<i32>().offsets().lengths().max(),
        _ => None,
    }
    .unwrap_or(0)
}

/// Whether elements are of one label and have consecutive ids.
fn is_run(elements: Elements<'_>) -> bool {
    let (n, of_one_label) = (elements.len(), |a: LabelId, b: LabelId| a == b);
    n > 0
        && of_one_label(elements.get(0).label(), elements.get(n - 1).label())
        && match elements {
            Elements::Vertices(ids) => ids.windows(2).all(|pair| pair[1].0 == pair[0].0.wrapping_add(1)),
            Elements::Edges(edges) => edges.windows(2).all(|pair| pair[1].id.0 == pair[0].id.0.wrapping_add(1)),
        }
}
