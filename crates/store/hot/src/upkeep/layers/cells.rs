//! Columns of a new segment.

use std::collections::HashSet;

use mangrove_graph::{Cell, EdgeRef, ElementKind, Encoding, Result};
use mangrove_segment::keys::KeysOfChunks;
use mangrove_segment::text::SYMBOLS_MAX;
use mangrove_segment::value::cell_bytes;

use super::{Layers, Listed};
use crate::format::block::{SLOTS, slots};
use crate::format::key::{Column, place};
use crate::segments::sealing::{BYTES_MAX, Sealing, bytes_of};
use crate::segments::segment::{BLOCKS, CHUNK};

/// The cells of a chunk.
enum Gathered {
    All(Vec<Cell>),
    /// The first ones. All of them are too long to be in memory together.
    Some(Vec<Cell>),
}

/// The slots of each block that the layers decide, by the position of the block.
type Decided = Vec<(usize, u128)>;

impl Layers<'_> {
    /// Seals a column, and lists its key if the label has lists of keys. Returns how many cells the column has, not counting
    /// ends of edges.
    pub(super) fn column(
        &self,
        sealing: &mut Sealing,
        column: Column,
        keys: &mut Option<KeysOfChunks>,
        listed: &Listed,
    ) -> Result<u64> {
        let mut total = 0;
        for chunk in self.column_chunks(column)? {
            self.check()?;
            if column.kind == ElementKind::Edge && column == Column::ends(column.label) {
                self.ends(sealing, column, chunk, listed)?;
                continue;
            }
            let present = self.cells(sealing, column, chunk)?;
            if let (Some(keys), Some(key), false) = (&mut *keys, column.property_key(), present.is_empty()) {
                keys.entry(chunk).or_default().add(key, present.iter().copied());
            }
            total += present.len() as u64;
        }
        Ok(total)
    }

    /// Seals a chunk of cells. Returns the positions that have one.
    fn cells(&self, sealing: &mut Sealing, column: Column, chunk: u64) -> Result<Vec<u16>> {
        let (cells, decided) = match self.gathered(column, chunk)? {
            (Gathered::All(cells), decided) => (cells, decided),
            (Gathered::Some(sample), _) => return self.long_cells(sealing, column, chunk, &sample),
        };
        let positions = (0u16..=u16::MAX).zip(&cells).filter(|(_, cell)| !cell.is_absent()).map(|(at, _)| at);
        let present: Vec<u16> = positions.collect();
        self.patched(sealing, column, chunk, &decided)?;
        if !present.is_empty() {
            sealing.column(column, chunk, cells, self.encoding(column))?;
        }
        Ok(present)
    }

    /// The cells of a chunk, as far as memory is to hold them.
    fn gathered(&self, column: Column, chunk: u64) -> Result<(Gathered, Decided)> {
        let (mut cells, mut decided) = (Vec::new(), Vec::new());
        let (mut bytes, mut bytes_max) = (0, BYTES_MAX);
        for block in self.blocks(column, chunk) {
            let (first, said, found) = block?;
            decided.push((first, said));
            let Some(found) = found else { continue };
            cells.resize(first + SLOTS, Cell::Absent);
            for slot in slots(found.present) {
                cells[first + slot] = found.cell(slot)?;
                bytes += bytes_of(&cells[first + slot]);
                if bytes > bytes_max {
                    bytes_max = gathered_max(self.encoding(column), &cells);
                }
                if bytes > bytes_max {
                    return Ok((Gathered::Some(cells), decided));
                }
            }
        }
        cells.resize(self.positions(column.kind, column.label, chunk), Cell::Absent);
        Ok((Gathered::All(cells), decided))
    }

    /// Seals a chunk of cells that are too long to be in memory together. It looks at all of them, then writes one after the other.
    fn long_cells(&self, sealing: &mut Sealing, column: Column, chunk: u64, sample: &[Cell]) -> Result<Vec<u16>> {
        let (mut present, mut types) = (Vec::new(), HashSet::new());
        let decided = self.each_cell(column, chunk, |position, cell| {
            types.insert(if let Cell::One(value) = &cell { Some(value.value_type()) } else { None });
            present.push(position as u16);
            Ok(())
        })?;
        self.patched(sealing, column, chunk, &decided)?;
        let value_type = if types.len() == 1 { types.into_iter().next().flatten() } else { None };
        let positions = self.positions(column.kind, column.label, chunk);
        sealing.long_column(column, chunk, value_type, self.encoding(column), sample, |values| {
            let mut next = 0;
            self.each_cell(column, chunk, |position, cell| {
                (next..position).try_for_each(|_| values.put(&Cell::Absent))?;
                next = position + 1;
                values.put(&cell)
            })?;
            (next..positions).try_for_each(|_| values.put(&Cell::Absent))
        })?;
        Ok(present)
    }

    /// Calls `f` with each cell of a chunk and its position, in order.
    fn each_cell(&self, column: Column, chunk: u64, mut f: impl FnMut(usize, Cell) -> Result<()>) -> Result<Decided> {
        let mut decided = Vec::new();
        for block in self.blocks(column, chunk) {
            self.check()?;
            let (first, said, found) = block?;
            decided.push((first, said));
            let Some(found) = found else { continue };
            slots(found.present).try_for_each(|slot| f(first + slot, found.cell(slot)?))?;
        }
        Ok(decided)
    }

    /// Seals a chunk of the ends of edges: of the sources alone, where lists have the targets.
    fn ends(&self, sealing: &mut Sealing, column: Column, chunk: u64, listed: &Listed) -> Result<()> {
        let mut all = vec![None; self.positions(column.kind, column.label, chunk)];
        let mut decided = Vec::new();
        for block in self.blocks(column, chunk) {
            let (first, said, found) = block?;
            decided.push((first, said));
            let Some(found) = found else { continue };
            let block = chunk * BLOCKS + (first / SLOTS) as u64;
            let keep = |edge: EdgeRef| all[(place(edge.id.0) % CHUNK) as usize] = Some(edge);
            self.reader.each_edge_in(column.label, block, &found, slots(found.present), keep)?;
        }
        self.patched(sealing, column, chunk, &decided)?;
        if all.iter().all(Option::is_none) {
            return Ok(());
        }
        let are_listed = all.iter().flatten().all(|edge| listed.has(edge));
        sealing.ends(column, chunk, all, are_listed)
    }

    /// Notes which cells of a chunk replace those of older segments.
    fn patched(&self, sealing: &mut Sealing, column: Column, chunk: u64, decided: &Decided) -> Result<()> {
        let own = self.contents.places(column.kind, column.label);
        let is_older = |first: usize| chunk * CHUNK + (first as u64) < own.start;
        let replacing = decided.iter().filter(|(first, said)| *said != 0 && is_older(*first));
        let patched: Vec<_> = replacing.map(|(first, said)| (first / SLOTS, *said)).collect();
        if patched.is_empty() { Ok(()) } else { sealing.patched(column, chunk, patched) }
    }

    /// The encoding that users have set for a column.
    fn encoding(&self, column: Column) -> Encoding {
        let label = self.reader.schema.label_schema(column.kind, column.label);
        let property = column.property_key().and_then(|key| label.and_then(|label| label.property(key)));
        property.map(|property| property.encoding).unwrap_or_default()
    }
}

/// How many bytes of cells to hold in memory, for a chunk that begins with these and has more than [`BYTES_MAX`]. A dictionary or a
/// searchable text needs all cells at once.
fn gathered_max(encoding: Encoding, cells: &[Cell]) -> usize {
    let is_repeated = || {
        let there = || cells.iter().filter(|cell| !cell.is_absent());
        let distinct: HashSet<Vec<u8>> = there().map(cell_bytes).collect();
        distinct.len() * 2 <= there().count()
    };
    match encoding {
        Encoding::Dictionary => usize::MAX,
        Encoding::Searchable { .. } => 2 * SYMBOLS_MAX,
        Encoding::Auto if is_repeated() => 16 * BYTES_MAX,
        _ => BYTES_MAX,
    }
}

#[cfg(test)]
mod tests {
    use mangrove_graph::{
        Cardinality, ElementId, Elements, GraphView, GraphWrite, LabelId, PropertyColumn, PropertyValue, Value,
    };

    use super::*;
    use crate::options::{Durability, HotOptions};
    use crate::store::Hot;
    use crate::{Patience, Writer};

    /// What a vertex has under a key, after some rounds of changes.
    type Content = fn(usize, usize) -> Cell;

    fn text(n: usize, round: usize) -> Cell {
        if n % 9 == 4 { Cell::Absent } else { Cell::One(Value::string(format!("{n} meadow {round} ").repeat(40 + n % 50))) }
    }

    fn repeated(n: usize, round: usize) -> Cell {
        Cell::One(Value::string(format!("lantern {} ", (n + round) % 3).repeat(90)))
    }

    fn mixed(n: usize, round: usize) -> Cell {
        if n.is_multiple_of(100) { Cell::One(Value::from((n + round) as i64)) } else { text(n, round) }
    }

    fn many(n: usize, round: usize) -> Cell {
        let value = |ordinal: u32| Value::string(format!("{n} thistle {round} {ordinal} ").repeat(20));
        let value = |ordinal| PropertyValue { ordinal, value: value(ordinal), meta: Vec::new() };
        Cell::Many((0..2).map(value).collect())
    }

    #[test]
    fn cells_that_do_not_fit_into_memory_together_are_sealed_one_after_the_other() {
        const PEOPLE: usize = 700;
        let directory = tempfile::tempdir().expect("a temporary directory");
        let options = HotOptions { durability: Durability::Relaxed, ..HotOptions::default() };
        let hot = Hot::open(directory.path(), &options).expect("a store");
        let contents: [(&str, Content, &str); 4] = [
            ("text", text, "symbols"),
            ("repeated", repeated, "dictionary"),
            ("mixed", mixed, "cells"),
            ("many", many, "cells"),
        ];
        let (mut people, mut keys, mut label) = (Vec::new(), Vec::new(), LabelId(0));
        for round in 0..3 {
            let mut t = hot.begin().expect("a transaction");
            if round == 0 {
                label = t.ensure_label(ElementKind::Vertex, "person").expect("a label");
                t.add_vertices(label, &vec![None; PEOPLE], &mut people).expect("vertices");
                keys = contents.map(|(key, ..)| t.ensure_key(key).expect("a key")).to_vec();
                t.declare_property(ElementKind::Vertex, label, keys[3], None, Cardinality::List).expect("a declaration");
            }
            // Later rounds change the cells of some vertices, so that a segment holds changes of older ones.
            let changed = (0..PEOPLE).filter(|n| round == 0 || n % 7 == round);
            for n in changed {
                for (key, (_, content, _)) in keys.iter().zip(&contents) {
                    t.set_cell(ElementId::Vertex(people[n]), *key, content(n, round)).expect("a change");
                }
            }
            t.commit().expect("a commit");
            match round {
                1 => hot.seal(Writer::this_thread(), Patience::ENDLESS).expect("a seal"),
                _ => drop(hot.compact(Writer::this_thread(), Patience::ENDLESS).expect("a compaction")),
            }
            let round_of = |n: usize| (1..=round).rev().find(|round| n % 7 == *round).unwrap_or(0);
            let t = hot.begin().expect("a transaction");
            for (key, (name, content, _)) in keys.iter().zip(&contents) {
                // All of them are too much for an array.
                let all = t.properties(Elements::Vertices(&people), *key).expect("a column");
                assert!(!matches!(all, PropertyColumn::Typed(_)), "{name}");
                for (n, person) in people.iter().enumerate() {
                    assert_eq!(cell_bytes(&all.cell(n)), cell_bytes(&content(n, round_of(n))), "{name} of {n} in a batch");
                    let cell = t.cell(ElementId::Vertex(*person), *key).expect("a cell");
                    assert_eq!(cell_bytes(&cell), cell_bytes(&content(n, round_of(n))), "{name} of {n} in round {round}");
                }
            }
        }
        assert!(hot.check().expect("a check").is_clean());
        let snapshot = hot.snapshot().expect("a snapshot");
        for (key, (name, _, form)) in keys.iter().zip(&contents) {
            let column = Column::property(ElementKind::Vertex, label, *key);
            let chunks = snapshot.segments().list().iter().map(|segment| segment.chunk(column, 0).expect("a chunk"));
            assert_eq!(chunks.map(|chunk| chunk.expect("a chunk").form()).collect::<Vec<_>>(), [*form], "{name}");
        }
    }
}
