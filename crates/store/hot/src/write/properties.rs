//! Setting properties.

use arrow_array::Array;
use arrow_array::cast::AsArray;
use arrow_schema::DataType;
use mangrove_graph::{
    Cell, ElementId, ElementKind, Elements, ExternalId, GraphError, KeyId, LabelId, PropertyColumn, PropertyId, Result,
    TypeSet, ValueType, VertexId, conform,
};

use super::HotTransaction;
use crate::format::block::SLOTS;
use crate::format::encode::{self, ArrayRows};
use crate::format::index;
use crate::format::key::{Column, block_slot, element_at, place};
use crate::read::order;

impl HotTransaction {
    pub(super) fn put_cell(&mut self, element: ElementId, key: KeyId, cell: Cell) -> Result<()> {
        let cell = Cell::from_entries(cell.into_entries());
        self.element_exists(element)?;
        self.schema.must_have_key(key)?;
        self.schema.must_fit(property_of(element, key), &cell)?;
        self.keeps_its_time(element, key, &cell)?;
        if self.is_key(element, key) {
            return self.keeps_its_id(element, key, &cell);
        }
        self.keeps_required(element, key, &cell)?;
        let of = property_of(element, key);
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
        self.schema.must_have_key(key)?;
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
            self.schema.must_fit(PropertyId { kind, label, key }, &sample)?;
        }
        conform::must_have_room(longest(array))?;
        let of = PropertyId { kind, label, key };
        for at in (0..n).filter(|at| self.schema.is_time(of) && array.is_valid(*at)) {
            let cell = Cell::One(mangrove_graph::column::value_at(array, at));
            self.keeps_its_time(elements.get(at), key, &cell)?;
        }
        debug_assert_eq!(last.raw() - first.raw() + 1, n as u64);
        let of = PropertyId { kind, label, key };
        let cell = |at: usize| Cell::One(mangrove_graph::column::value_at(array, at));
        if self.schema.is_unique(of) {
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
            self.schema.must_fit(property_of(*element, key), cell)?;
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
            if self.schema.is_unique(of) {
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

    /// Whether a property is the id of some of these elements.
    fn some_have_key(&self, elements: Elements<'_>, key: KeyId) -> bool {
        let Elements::Vertices(ids) = elements else { return false };
        ids.chunk_by(|a, b| a.label() == b.label()).any(|of_label| self.schema.key_of(of_label[0].label()) == Some(key))
    }

    fn is_key(&self, element: ElementId, key: KeyId) -> bool {
        self.schema.is_key(element.kind(), element.label(), key)
    }

    /// Fails if the cell is not the id that its vertex has.
    fn keeps_its_id(&self, element: ElementId, key: KeyId, cell: &Cell) -> Result<()> {
        let ElementId::Vertex(vertex) = element else { return Ok(()) };
        self.schema.must_be_id(property_of(element, key), cell, &self.reader().external_id(vertex)?)
    }

    /// Adds the types of these ids to what the schema knows of the key of a label.
    pub(super) fn infer_key(&mut self, label: LabelId, key: KeyId, ids: &[ExternalId]) -> Result<()> {
        let mut types = TypeSet::default();
        ids.iter().for_each(|id| types.insert(id.value_type()));
        types.iter().try_for_each(|t| self.infer_type(ElementKind::Vertex, label, key, t))
    }

    /// Fails if the cell would change the time of an edge, because edges are found by their time.
    fn keeps_its_time(&self, element: ElementId, key: KeyId, cell: &Cell) -> Result<()> {
        let of = property_of(element, key);
        let may_be_time = || cell.values().all(|value| value.is_null() || value.as_time().is_some());
        if !self.schema.is_time(of)
            || self.reader().time_of(of.label, place(element.raw()))? == order(cell) && may_be_time()
            || self.reader().cell(element, key)? == *cell
        {
            return Ok(());
        }
        Err(self.schema.time_stays(of))
    }

    /// Adds what a cell shows to the schema.
    fn infer(&mut self, kind: ElementKind, label: LabelId, key: KeyId, cell: &Cell) -> Result<()> {
        if cell.is_absent() { Ok(()) } else { self.change_property(kind, label, key, |property| property.meet(cell)) }
    }

    pub(super) fn infer_type(&mut self, kind: ElementKind, label: LabelId, key: KeyId, t: ValueType) -> Result<()> {
        let known = self.schema.labels(kind)[usize::from(label.0)].property(key);
        if known.is_some_and(|known| known.types.contains(t)) {
            return Ok(());
        }
        self.change_property(kind, label, key, |property| property.types.insert(t))
    }
}

fn property_of(element: ElementId, key: KeyId) -> PropertyId {
    PropertyId { kind: element.kind(), label: element.label(), key }
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
