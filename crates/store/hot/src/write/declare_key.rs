//! Declaring the key of a label: the property that is the external id.
//!
//! The property is then kept once, as the id. Its old cells are compared with the ids, and go from the tables. Segments
//! leave them out when they are next merged. Until then nobody reads them there.

use std::ops::Bound;

use mangrove_graph::{Cardinality, Cell, ElementKind, ExternalId, KeyId, LabelId, PropertyId, PropertySchema, Result};

use super::HotTransaction;
use crate::format::block::slots;
use crate::format::key::Column;
use crate::read::external;

impl HotTransaction {
    pub(super) fn fix_key(&mut self, label: LabelId, key: KeyId) -> Result<()> {
        self.schema.must_have_label(ElementKind::Vertex, label)?;
        self.schema.must_have_key(key)?;
        if self.schema.may_have_key(label, key)?.is_some() {
            return Ok(());
        }
        let declared = self.schema.vertex_labels[usize::from(label.0)].property(key).cloned();
        let declared = declared.unwrap_or_else(|| PropertySchema::new(key));
        if declared.declared.is_some() {
            self.schema.may_be_key(label, &declared)?;
        }
        let ids = self.ids_under(label, &declared)?;
        let of = PropertyId::of_vertices(label, key);
        let (is_indexed, is_unique) = (self.schema.index(of).is_some(), self.schema.is_unique(of));
        self.change(|t| {
            if is_indexed {
                t.delete_index(of)?;
            }
            t.forget_cells_of(Column::property(ElementKind::Vertex, label, key))?;
            t.label_mut(ElementKind::Vertex, label).key = Some(key);
            t.change_property(ElementKind::Vertex, label, key, |property| property.cardinality = Cardinality::Single)?;
            t.infer_key(label, key, &ids)
        })?;
        if is_unique {
            self.make_unique(of)?;
        } else if is_indexed {
            self.make_index(of)?;
        }
        Ok(())
    }

    /// One id of each type among those of a label. Fails if a vertex has another value under the key, or an id that the
    /// declaration forbids.
    fn ids_under(&self, label: LabelId, property: &PropertySchema) -> Result<Vec<ExternalId>> {
        let of = PropertyId::of_vertices(label, property.key);
        let mut ids = self.reader().column(Column::external(ElementKind::Vertex, label));
        let mut cells = self.reader().column(Column::property(ElementKind::Vertex, label, property.key));
        let (mut of_type, mut next): (Vec<ExternalId>, u64) = (Vec::new(), 0);
        while let Some((block, named)) = ids.block_from(next)? {
            next = block + 1;
            let values = cells.block_at(block)?;
            for slot in slots(named.present) {
                let Some(id) = external(named.cell(slot)?)? else { continue };
                let value = values.as_ref().filter(|values| values.present >> slot & 1 != 0);
                let value = value.map_or(Ok(Cell::Absent), |values| values.cell(slot))?;
                if !is_id(&value, &id) {
                    return Err(self.schema.is_not_its_id(of, &id, &value));
                }
                self.schema.must_keep_to(of, property, &Cell::One(id.to_value()), true)?;
                if of_type.iter().all(|known| known.value_type() != id.value_type()) {
                    of_type.push(id);
                }
            }
        }
        Ok(of_type)
    }

    /// Removes all cells of a column from the tables, as if they had never been set.
    fn forget_cells_of(&mut self, column: Column) -> Result<()> {
        let mut blocks = Vec::new();
        let mut walk = self.reader().column(column);
        let mut next = 0;
        while let Some((block, _)) = walk.table_block_from(next)? {
            blocks.push(block);
            next = block + 1;
        }
        drop(walk);
        blocks.into_iter().try_for_each(|block| self.note_key(column, block, 0))?;
        let table = self.owned.shared().tables.columns;
        let (first, last) = (column.key(0), column.key(u64::MAX));
        // The key of a far cell is one byte longer than that of its block.
        let end = [&last[..], &[u8::MAX]].concat();
        let range = (Bound::Included(&first[..]), Bound::Included(&end[..]));
        table.delete_range(self.owned.txn_mut(), &range).map(|_| ())
    }
}

fn is_id(cell: &Cell, id: &ExternalId) -> bool {
    match cell {
        Cell::Absent => true,
        Cell::One(value) => ExternalId::from_value(value).as_ref() == Some(id),
        Cell::Many(_) => false,
    }
}
