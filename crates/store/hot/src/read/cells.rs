//! Reads single cells, in the tables or in segments.

use mangrove_graph::{Cell, ElementId, ElementKind, KeyId, LabelId, Result};
use mangrove_segment::column::{Chunk, cells_across};

use super::Reader;
use crate::format::key::{Column, block_slot, place};
use crate::segments::segment::CHUNK;

/// The newest version of a cell.
enum Kept<'t> {
    Cell(Cell),
    /// The cell is in this chunk. The chunk does not say whether the element was removed since.
    Sealed(&'t Chunk<'t>),
}

impl<'t> Reader<'t> {
    pub fn cell(&self, element: ElementId, key: KeyId) -> Result<Cell> {
        match self.property_of(element.kind(), element.label(), key) {
            Some(column) => self.cell_at(column, place(element.raw())),
            None => Ok(Cell::Absent),
        }
    }

    /// Appends what an element has under each of these keys.
    pub fn cells(&self, element: ElementId, keys: &[KeyId], out: &mut Vec<Cell>) -> Result<()> {
        let (first, place) = (out.len(), place(element.raw()));
        out.resize(first + keys.len(), Cell::Absent);
        let mut chunks = Vec::with_capacity(keys.len());
        for (at, key) in keys.iter().enumerate() {
            let kept = self
                .property_of(element.kind(), element.label(), *key)
                .map(|column| self.kept_at(column, place))
                .transpose()?;
            chunks.push(match kept {
                Some(Kept::Sealed(chunk)) => Some(chunk),
                Some(Kept::Cell(cell)) => {
                    out[first + at] = cell;
                    None
                }
                None => None,
            });
        }
        if chunks.iter().any(Option::is_some) && !self.is_dead(element.kind(), element.label(), place)? {
            cells_across(&chunks, (place % CHUNK) as usize, |at, cell| out[first + at] = cell)?;
        }
        Ok(())
    }

    /// The column of a property, if elements of that label have it.
    pub fn property_of(&self, kind: ElementKind, label: LabelId, key: KeyId) -> Option<Column> {
        self.schema.label_schema(kind, label)?.property(key).map(|_| Column::holding(self.schema, kind, label, key))
    }

    /// The cell at a place of a column.
    pub fn cell_at(&self, column: Column, place: u64) -> Result<Cell> {
        match self.kept_at(column, place)? {
            Kept::Cell(cell) => Ok(cell),
            Kept::Sealed(_) if self.is_dead(column.kind, column.label, place)? => Ok(Cell::Absent),
            Kept::Sealed(chunk) => chunk.cell((place % CHUNK) as usize),
        }
    }

    fn kept_at(&self, column: Column, place: u64) -> Result<Kept<'t>> {
        let (block, slot) = block_slot(place);
        let is_sealed = self.is_covered(column, block);
        let found = if is_sealed && self.is_intact(column, block)? { None } else { self.table_block(column, block)? };
        match found {
            Some(found) if found.said >> slot & 1 != 0 => found.cell(slot).map(Kept::Cell),
            _ if is_sealed => Ok(self.sealed_chunk(column, place)?.map_or(Kept::Cell(Cell::Absent), Kept::Sealed)),
            _ => Ok(Kept::Cell(Cell::Absent)),
        }
    }

    /// Whether an element was sealed, and then removed.
    fn is_dead(&self, kind: ElementKind, label: LabelId, place: u64) -> Result<bool> {
        let (block, slot) = block_slot(place);
        Ok(self.dead(kind, label, block)? >> slot & 1 != 0)
    }
}
