//! The edges of vertices.
//!
//! A list sorted by the end that a hop starts from has offsets: two numbers say where the edges of a vertex are. So a hop reads a page
//! of offsets, then the pages that hold its edges, and nothing else.

use std::ops::Range;
use std::sync::Arc;

use arrow_array::Array;
use arrow_array::cast::AsArray;
use arrow_array::types::{Int32Type, Int64Type};
use hashbrown::HashMap;
use mangrove_graph::ReadContext;

use super::tables::Tables;
use super::{EdgeType, Layout, List, Lists};
use crate::error::{LakeError, Result};
use crate::info::{Prefix, SOURCE, Side, TARGET};
use crate::pages::{self, Table, Wanted};

/// The rows of a part that hold the edges of one vertex.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Run {
    pub part: u64,
    pub from: u64,
    pub to: u64,
}

impl Run {
    /// The run of one edge.
    pub fn of_one((part, row): (u64, u64)) -> Self {
        Self { part, from: row, to: row + 1 }
    }
}

impl List {
    /// The file with a chunk of a part: of a group of properties, or of the ends.
    pub fn file(&self, group: Option<&Prefix>, part: u64, chunk: u64) -> Arc<str> {
        let folder = match group {
            Some(prefix) => self.folder.join(prefix),
            None => self.folder.folder("adj_list"),
        };
        folder.folder(format_args!("part{part}")).file(format_args!("chunk{chunk}")).into()
    }

    /// The edges of each vertex, by the index in its type. The list must be sorted.
    pub fn runs(&self, tables: &Tables, vertices: &[u64], limits: Option<&ReadContext>) -> Result<Vec<Run>> {
        let (mut paths, mut rows): (Vec<Arc<str>>, Vec<Vec<u64>>) = Default::default();
        let mut numbers: HashMap<u64, usize> = HashMap::new();
        let mut places = Vec::with_capacity(vertices.len());
        for vertex in vertices {
            let (part, row) = (vertex / self.vertices, vertex % self.vertices);
            let edges = self.edges_of(part);
            if edges == 0 {
                places.push(None); // a part without edges may have no file of offsets
                continue;
            }
            let number = *numbers.entry(part).or_insert_with(|| {
                paths.push(self.folder.folder("offset").file(format_args!("chunk{part}")).into());
                rows.push(Vec::new());
                paths.len() - 1
            });
            places.push(Some((part, number, rows[number].len())));
            rows[number].extend([row, row + 1]);
        }
        // The ends of these edges are asked for next. Far away, their files are opened on the same journey.
        let ends = numbers.keys().filter(|_| tables.files.is_far()).map(|part| self.file(None, *part, 0));
        let together: Vec<Arc<str>> = paths.iter().cloned().chain(ends).collect();
        let opened = tables.at(&together, limits)?;
        let mut wanted = Vec::with_capacity(paths.len());
        for ((table, rows), path) in opened.iter().zip(&mut rows).zip(&paths) {
            let (end, needed) = (table.rows(), rows.iter().max().map_or(0, |row| row + 1));
            if end < needed {
                let reason = format!("it has {end} offsets, but {needed} are needed: one for each vertex, and the end");
                return Err(LakeError::damaged(&tables.files.name(path), reason));
            }
            wanted.push(Wanted { table, column: last_column(tables, table, path)?, rows });
        }
        let offsets = pages::read(&tables.files, &tables.pages, &wanted, limits)?;
        let mut numbers = Vec::with_capacity(offsets.len());
        for (array, path) in offsets.iter().zip(&paths) {
            numbers.push(integers(tables, path, array)?);
        }
        let run = |place: Option<(u64, usize, usize)>| {
            let Some((part, file, at)) = place else { return Ok(Run::default()) };
            let (from, to) = (numbers[file][at], numbers[file][at + 1]);
            match (u64::try_from(from), u64::try_from(to)) {
                (Ok(from), Ok(to)) if from <= to && to <= self.edges_of(part) => Ok(Run { part, from, to }),
                _ => Err(LakeError::damaged(&tables.files.name(&paths[file]), format!("{from} to {to} are no offsets"))),
            }
        };
        places.into_iter().map(run).collect()
    }

    /// The files with the ends of all edges, in chunks of `size` edges.
    pub fn files(&self, size: u64) -> impl Iterator<Item = Arc<str>> {
        let of_part =
            move |part: u64| (0..self.edges_of(part).div_ceil(size)).map(move |chunk| self.file(None, part, chunk));
        (0..self.starts.len().saturating_sub(1) as u64).flat_map(of_part)
    }

    /// The number of edges in a part.
    pub fn edges_of(&self, part: u64) -> u64 {
        match self.starts.get(part as usize..part as usize + 2) {
            Some([start, end]) => end - start,
            _ => 0,
        }
    }
}

impl EdgeType {
    /// The list that is sorted by an end, if there is one.
    pub fn sorted_by(&self, side: Side) -> Option<(&Lists, &List)> {
        let Layout::Lists(lists) = &self.layout else { return None };
        let is_it = |list: &&List| list.order.is_sorted && list.order.by == side;
        let found = Some(&lists.first).filter(is_it).or(lists.other.as_ref().filter(is_it));
        found.map(|list| (&**lists, list))
    }

    /// One end of the edges in some runs of a list, one after the other, by the index in its type.
    pub fn ends_of(
        &self,
        tables: &Tables,
        (lists, list): (&Lists, &List),
        runs: &[Run],
        side: Side,
        limits: Option<&ReadContext>,
    ) -> Result<Vec<u64>> {
        let size = lists.info.chunk_size;
        let (mut paths, mut sizes): (Vec<Arc<str>>, Vec<u64>) = Default::default();
        let mut numbers: HashMap<(u64, u64), usize> = HashMap::new();
        // For each piece of a run that lies in one chunk: the file, and the rows that are wanted of it.
        let mut pieces = Vec::with_capacity(runs.len());
        for run in runs {
            let mut at = run.from;
            while at < run.to {
                let chunk = at / size;
                let end = run.to.min((chunk + 1) * size);
                let number = *numbers.entry((run.part, chunk)).or_insert_with(|| {
                    paths.push(list.file(None, run.part, chunk));
                    sizes.push(size.min(list.edges_of(run.part) - chunk * size));
                    paths.len() - 1
                });
                pieces.push((number, at % size..at % size + (end - at)));
                at = end;
            }
        }
        let opened = tables.at(&paths, limits)?;
        // Only once the files have the rows that the counts promise, these are named one by one.
        opened.iter().zip(&sizes).try_for_each(|(table, size)| table.must_have(&tables.files, *size))?;
        let mut rows: Vec<Vec<u64>> = vec![Vec::new(); paths.len()];
        let pieces: Vec<(usize, Range<usize>)> = pieces
            .into_iter()
            .map(|(number, wanted)| {
                let first = rows[number].len();
                rows[number].extend(wanted);
                (number, first..rows[number].len())
            })
            .collect();
        let mut wanted = Vec::with_capacity(opened.len());
        for (table, rows) in opened.iter().zip(&rows) {
            wanted.push(Wanted { table, column: end_column(tables, table, side)?, rows });
        }
        let arrays = pages::read(&tables.files, &tables.pages, &wanted, limits)?;
        let mut found = Vec::with_capacity(arrays.len());
        for (array, path) in arrays.iter().zip(&paths) {
            found.push(indexes(tables, path, array, self.vertices(side))?);
        }
        Ok(pieces.into_iter().flat_map(|(number, rows)| found[number][rows].iter().copied()).collect())
    }
}

/// The column with an end of each edge: by its name, or else by its place.
fn end_column(tables: &Tables, table: &Table, side: Side) -> Result<usize> {
    let (name, place) = match side {
        Side::Source => (SOURCE, 0),
        Side::Target => (TARGET, 1),
    };
    match table.column(name) {
        Some((column, _)) => Ok(column),
        None if table.columns() > place => Ok(place),
        None => Err(LakeError::damaged(&tables.files.name(table.path()), "it has no columns for the ends of edges")),
    }
}

/// The indexes in a column, which must be those of vertices.
fn indexes(tables: &Tables, path: &Arc<str>, array: &dyn Array, vertices: u64) -> Result<Vec<u64>> {
    let index = |number: i64| u64::try_from(number).ok().filter(|index| *index < vertices);
    let found: Option<Vec<u64>> = integers(tables, path, array)?.into_iter().map(index).collect();
    found.ok_or_else(|| {
        LakeError::damaged(&tables.files.name(path), format!("an edge ends at a vertex beyond the {vertices} there are"))
    })
}

/// The integers of a column. Spark writes offsets of 32 bits.
fn integers(tables: &Tables, path: &Arc<str>, array: &dyn Array) -> Result<Vec<i64>> {
    let whole = array.null_count() == 0;
    if let Some(found) = array.as_primitive_opt::<Int64Type>().filter(|_| whole) {
        return Ok(found.values().to_vec());
    }
    if let Some(found) = array.as_primitive_opt::<Int32Type>().filter(|_| whole) {
        return Ok(found.values().iter().map(|number| i64::from(*number)).collect());
    }
    let found = array.data_type();
    Err(LakeError::damaged(
        &tables.files.name(path),
        format!("it holds {found} with {} nulls, not integers", array.null_count()),
    ))
}

/// The column of offsets, which is the last one.
fn last_column(tables: &Tables, table: &Table, path: &Arc<str>) -> Result<usize> {
    let missing = || LakeError::damaged(&tables.files.name(path), "it has no column");
    table.columns().checked_sub(1).ok_or_else(missing)
}
