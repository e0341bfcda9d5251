//! Finds the rows of vertices by their ids, for all edges of a type.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{Array, ArrayRef};
use hashbrown::HashMap;
use hashbrown::hash_map::Entry;
use mangrove_graph::column::value_at;
use mangrove_graph::{ExternalId, ReadContext};

use super::columns::Column;
use super::labels::Flags;
use super::{Lake, VertexType};
use crate::error::{LakeError, Result};
use crate::index::{IdsIndex, NONE, in_parallel};
use crate::pages::{self, Table};

/// The row of each vertex of a label, by its id.
pub enum RowsById {
    /// Integers that leave few gaps: the row of each, from the least one on.
    Dense {
        first: i64,
        rows: Vec<u32>,
    },
    Integers(HashMap<i64, u32>),
    Any(HashMap<ExternalId, u32>),
}

/// The rows of a table may have this many gaps for each id, as long as memory is small.
const GAPS_MAX: u64 = 4;

impl RowsById {
    /// The row of the vertex that a cell names; `NONE` if there is none.
    pub fn find(&self, ids: &ArrayRef, out: &mut Vec<u32>) {
        let integers = ids.as_primitive_opt::<Int64Type>();
        match (self, integers) {
            (RowsById::Dense { first, rows }, Some(integers)) => {
                let row = |id: i64| {
                    let at = id.checked_sub(*first).and_then(|at| usize::try_from(at).ok());
                    at.and_then(|at| rows.get(at).copied()).unwrap_or(NONE)
                };
                match integers.null_count() {
                    0 => out.extend(integers.values().iter().map(|id| row(*id))),
                    _ => out.extend(integers.iter().map(|id| id.map_or(NONE, row))),
                }
            }
            (RowsById::Integers(rows), Some(integers)) => {
                out.extend(integers.iter().map(|id| id.and_then(|id| rows.get(&id).copied()).unwrap_or(NONE)));
            }
            (RowsById::Any(rows), None) => {
                let id = |at| ExternalId::from_value(&value_at(ids, at));
                out.extend((0..ids.len()).map(|at| id(at).and_then(|id| rows.get(&id).copied()).unwrap_or(NONE)));
            }
            // Integers are no texts.
            _ => out.extend(std::iter::repeat_n(NONE, ids.len())),
        }
    }
}

impl Lake {
    /// The row of each vertex of a type, by its id. Fails if two have the same one. O(vertices), on all cores.
    pub(super) fn rows_by_id(&self, of: &VertexType, limits: Option<&ReadContext>) -> Result<RowsById> {
        let Some(column) = &of.columns.id else { return Ok(RowsById::Any(HashMap::new())) };
        let pieces = self.read_ids(of, column, limits)?;
        let built = match pieces.iter().all(Piece::are_integers) {
            true => integers(&pieces),
            false => any(&pieces),
        };
        built.map_err(|clash| self.clash(column, &pieces, clash))
    }

    /// The index of the ids of a type. The first call reads them all, unless an index is there. `if_there` makes none.
    pub(super) fn ids_index(
        &self,
        of: &VertexType,
        if_there: bool,
        limits: Option<&ReadContext>,
    ) -> Result<Option<Arc<IdsIndex>>> {
        let Some(column) = &of.columns.id else { return Ok(None) };
        if let Some(known) = of.by_id.known() {
            return Ok(Some(known));
        }
        if if_there && of.has_no_ids.load(Ordering::Relaxed) {
            return Ok(None);
        }
        let files = of.files(column.group);
        let description = format!(
            "ids, 1\n{}\n{column:?} {:?}\n{}",
            self.tables.files.full_place(),
            of.filters.tests,
            self.describe_files(&files, limits)?
        );
        if let Some(found) = self.indexes.open(&description).and_then(IdsIndex::parse) {
            return of.by_id.get(limits, || Ok(found)).map(Some);
        }
        if if_there {
            of.has_no_ids.store(true, Ordering::Relaxed);
            return Ok(None);
        }
        let made = of.by_id.get(limits, || {
            let pieces = self.read_ids(of, column, limits)?;
            let file = match pieces.iter().all(Piece::are_integers) {
                true => self.indexes.write(&description, |writer| {
                    let ids = pieces.iter().flat_map(Piece::integers).filter_map(|(id, row)| Some((id?, row)));
                    IdsIndex::write_integers(writer, ids.collect(), limits)
                })?,
                false => self.indexes.write(&description, |writer| {
                    let id = |piece: &Piece, at: usize| ExternalId::from_value(&value_at(&piece.array, at));
                    let ids = pieces
                        .iter()
                        .flat_map(|piece| piece.rows().filter_map(move |(at, row)| Some((id(piece, at)?, row))));
                    IdsIndex::write_hashes(writer, ids, limits)
                })?,
            };
            IdsIndex::parse(file).ok_or_else(|| LakeError::Unsupported("an index could not be read back".into()))
        });
        made.map(Some)
    }

    /// The ids of a type, by row group.
    fn read_ids(&self, of: &VertexType, column: &Column, limits: Option<&ReadContext>) -> Result<Vec<Piece>> {
        let files = of.files(column.group);
        if of.rows.count() >= u64::from(NONE) {
            return Err(LakeError::Unsupported(format!("a table with more than {NONE} rows cannot be indexed")));
        }
        let groups = self.pieces(&files, limits)?;
        let read = in_parallel(groups.len(), limits, |at, limits| {
            let (table, group, _) = &groups[at];
            Ok(self.column_of_group(table, *group, &[column], limits)?.pop())
        })?;
        let mut pieces = Vec::with_capacity(read.len());
        for ((table, group, file), array) in groups.into_iter().zip(read) {
            let in_file = table.rows_of(group).start;
            let first = of.rows.locals(file as u64).start + in_file;
            let kept = self.selected_vertices(of, file as u64, limits)?;
            pieces.extend(array.map(|array| Piece { table, first, in_file, array, kept }));
        }
        Ok(pieces)
    }

    /// Files with their versions.
    pub(super) fn describe_files(&self, paths: &[Arc<str>], limits: Option<&ReadContext>) -> Result<String> {
        let opened = self.tables.at(paths, limits)?;
        Ok(format!("{:?}", opened.iter().map(|table| table.file()).collect::<Vec<_>>()))
    }

    /// The row groups of files, with the number of the file.
    pub(super) fn pieces(
        &self,
        files: &[Arc<str>],
        limits: Option<&ReadContext>,
    ) -> Result<Vec<(Arc<Table>, usize, usize)>> {
        let tables = self.tables.at(files, limits)?;
        let groups =
            |(file, table): (usize, Arc<Table>)| (0..table.row_groups()).map(move |group| (table.clone(), group, file));
        Ok(tables.into_iter().enumerate().flat_map(groups).collect())
    }

    /// Columns of a row group, in the form of the graph.
    pub(super) fn column_of_group(
        &self,
        table: &Table,
        group: usize,
        columns: &[&Column],
        limits: Option<&ReadContext>,
    ) -> Result<Vec<ArrayRef>> {
        let places = columns.iter().map(|column| self.place_of(table, column)).collect::<Result<Vec<_>>>()?;
        let found = pages::row_group(&self.tables.files, table, group, &places, limits)?;
        found.into_iter().zip(columns).map(|(array, column)| self.as_declared(table.path(), column, array)).collect()
    }

    /// The number of a column in a file.
    pub(super) fn place_of(&self, table: &Table, column: &Column) -> Result<usize> {
        let missing =
            || LakeError::damaged(&self.tables.files.name(table.path()), format!("it has no column `{}`", column.name));
        table.column(&column.name).map(|(at, _)| at).ok_or_else(missing)
    }

    fn clash(&self, column: &Column, pieces: &[Piece], clash: Clash) -> LakeError {
        let place = |row: u32| {
            let at = pieces.partition_point(|piece| piece.first <= u64::from(row)).saturating_sub(1);
            let piece = &pieces[at];
            (self.tables.files.name(piece.table.path()), piece.in_file + u64::from(row) - piece.first + 1)
        };
        let (file, row) = place(clash.row);
        let name = &column.name;
        LakeError::damaged(
            &file,
            match clash.earlier {
                None => format!("row {row}: there is no id in column `{name}`"),
                Some((id, earlier)) => {
                    let (other, other_row) = place(earlier);
                    format!("row {row}: the id {id} in column `{name}` is that of row {other_row} of {other}, too")
                }
            },
        )
    }
}

/// Ids of some rows.
struct Piece {
    table: Arc<Table>,
    /// The row of the type that the first id belongs to.
    first: u64,
    /// The row of the file.
    in_file: u64,
    array: ArrayRef,
    /// Which rows of the file are vertices.
    kept: Option<Arc<Flags>>,
}

impl Piece {
    fn are_integers(&self) -> bool {
        self.array.as_primitive_opt::<Int64Type>().is_some()
    }

    /// The ids of the rows that are vertices, if they are integers.
    fn integers(&self) -> impl Iterator<Item = (Option<i64>, u32)> {
        let ids = self.array.as_primitive_opt::<Int64Type>();
        let id = move |at: usize| ids.filter(|ids| ids.is_valid(at)).map(|ids| ids.value(at));
        self.rows().map(move |(at, row)| (id(at), row))
    }

    /// The rows that are vertices: the position here, and the row of the type.
    fn rows(&self) -> impl Iterator<Item = (usize, u32)> {
        let is_kept = |at: &usize| self.kept.as_ref().is_none_or(|kept| kept.has((self.in_file as usize) + at));
        (0..self.array.len()).filter(is_kept).map(|at| (at, (self.first + at as u64) as u32))
    }
}

/// A row without an id, or with the id of an earlier one.
struct Clash {
    row: u32,
    earlier: Option<(String, u32)>,
}

fn integers(pieces: &[Piece]) -> Result<RowsById, Clash> {
    let ids = || pieces.iter().flat_map(Piece::integers);
    let (mut least, mut most, mut count) = (i64::MAX, i64::MIN, 0u64);
    for (id, row) in ids() {
        let id = id.ok_or(Clash { row, earlier: None })?;
        (least, most, count) = (least.min(id), most.max(id), count + 1);
    }
    let span = (i128::from(most) - i128::from(least) + 1).max(0) as u128;
    if span <= u128::from(count * GAPS_MAX) {
        let mut rows = vec![NONE; span as usize];
        for (id, row) in ids().filter_map(|(id, row)| Some((id?, row))) {
            let at = &mut rows[(id - least) as usize];
            if *at != NONE {
                return Err(Clash { row, earlier: Some((id.to_string(), *at)) });
            }
            *at = row;
        }
        return Ok(RowsById::Dense { first: least, rows });
    }
    let mut rows = HashMap::with_capacity(count as usize);
    for (id, row) in ids().filter_map(|(id, row)| Some((id?, row))) {
        match rows.entry(id) {
            Entry::Vacant(free) => drop(free.insert(row)),
            Entry::Occupied(taken) => return Err(Clash { row, earlier: Some((id.to_string(), *taken.get())) }),
        }
    }
    Ok(RowsById::Integers(rows))
}

fn any(pieces: &[Piece]) -> Result<RowsById, Clash> {
    let mut rows = HashMap::new();
    for piece in pieces {
        for (at, row) in piece.rows() {
            let id = ExternalId::from_value(&value_at(&piece.array, at)).ok_or(Clash { row, earlier: None })?;
            match rows.entry(id) {
                Entry::Vacant(free) => drop(free.insert(row)),
                Entry::Occupied(taken) => {
                    return Err(Clash { row, earlier: Some((format!("`{}`", taken.key()), *taken.get())) });
                }
            }
        }
    }
    Ok(RowsById::Any(rows))
}
