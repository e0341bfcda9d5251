//! Edges in tables: which rows of vertices each joins.

use std::sync::Arc;

use arrow_array::{Array, ArrayRef};
use mangrove_graph::column::value_at;
use mangrove_graph::{EdgeId, EdgeRef, ElementKind, LabelId, ReadContext, VertexId};
use mangrove_ingest::Missing;

use super::columns::Column;
use super::labels::Flags;
use super::lazy::Lazy;
use super::resolve::RowsById;
use super::rows::Rows;
use super::selected::Filters;
use super::{EdgeType, Lake, Layout, VertexType};
use crate::error::{LakeError, Result};
use crate::index::{Ends, EndsIndex, NONE, in_parallel};
use crate::info::Side;
use crate::pages::Table;

/// Tables whose rows are edges.
pub struct TableOfEdges {
    pub files: Vec<Arc<str>>,
    pub rows: Rows,
    /// The columns that name the source and the target.
    pub names: [End; 2],
    pub filters: Filters,
    /// What a row is that names no vertex.
    pub missing: Missing,
    pub index: Lazy<EndsIndex>,
}

/// What names an end of an edge.
pub enum End {
    Column(Column),
    /// The row is a vertex, and the edge is its own.
    Row,
}

/// The row of each id at an end; `None` where the row itself is the end.
type Known = [Option<RowsById>; 2];

impl TableOfEdges {
    /// Whether a row may lack a name of another vertex.
    fn is_foreign_key(&self) -> bool {
        self.names.iter().any(|end| matches!(end, End::Row))
    }
}

impl Lake {
    /// How many edges a type has.
    pub(super) fn edge_count(&self, of: &EdgeType, limits: Option<&ReadContext>) -> Result<u64> {
        let Layout::Tables(tables) = &of.layout else { return Ok(of.places()) };
        match self.count_by_footers(of, tables, limits)? {
            Some(count) => Ok(count),
            None => Ok(self.ends_index(of, tables, limits)?.count()),
        }
    }

    /// The number of edges, if what the files say of themselves tells.
    fn count_by_footers(&self, of: &EdgeType, tables: &TableOfEdges, limits: Option<&ReadContext>) -> Result<Option<u64>> {
        let is_filtered = |side: Side| self.vertex_type(of.end(side)).is_some_and(|of| !of.filters.are_none());
        if tables.missing == Missing::Skip || !tables.filters.are_none() {
            return Ok(None);
        }
        if !tables.is_foreign_key() {
            return Ok(Some(tables.rows.count()));
        }
        let (own, column) = match &tables.names {
            [End::Row, End::Column(column)] => (Side::Source, column),
            [End::Column(column), End::Row] => (Side::Target, column),
            _ => return Ok(None),
        };
        if is_filtered(own) {
            return Ok(None);
        }
        let mut count = 0;
        for table in self.tables.at(&tables.files, limits)? {
            match table.nulls(self.place_of(&table, column)?) {
                Some(nulls) => count += table.rows().saturating_sub(nulls),
                None => return Ok(None),
            }
        }
        Ok(Some(count))
    }

    /// The ends of all edges. The first call reads the columns that name them, unless an index is there.
    pub(super) fn ends_index(
        &self,
        of: &EdgeType,
        tables: &TableOfEdges,
        limits: Option<&ReadContext>,
    ) -> Result<Arc<EndsIndex>> {
        tables.index.get(limits, || {
            let description = self.describe_tables(of, tables)?;
            if let Some(found) = self.indexes.open(&description).and_then(EndsIndex::parse) {
                return Ok(found);
            }
            let ends = self.resolve(of, tables, limits)?;
            let file = self.indexes.write(&description, |writer| EndsIndex::write(writer, &ends, limits))?;
            EndsIndex::parse(file).ok_or_else(|| LakeError::Unsupported("an index could not be read back".into()))
        })
    }

    /// The same in memory. It makes no index: a first hop would wait for one that it does not need.
    pub(super) fn all_ends_of_tables(
        &self,
        of: &EdgeType,
        tables: &TableOfEdges,
        limits: Option<&ReadContext>,
    ) -> Result<Ends> {
        if let Some(known) = tables.index.known() {
            return known.all(limits);
        }
        match self.indexes.open(&self.describe_tables(of, tables)?).and_then(EndsIndex::parse) {
            Some(found) => found.all(limits),
            None => self.resolve(of, tables, limits),
        }
    }

    /// Finds the ends of all edges. O(edges + vertices), on all cores.
    fn resolve(&self, of: &EdgeType, tables: &TableOfEdges, limits: Option<&ReadContext>) -> Result<Ends> {
        of.fits_an_index()?;
        let by_id = |side: Side| match (&tables.names[side as usize], self.vertex_type(of.end(side))) {
            (End::Column(_), Some(vertices)) => self.rows_by_id(vertices, limits).map(Some),
            _ => Ok(None),
        };
        let known: Known = [by_id(Side::Source)?, by_id(Side::Target)?];
        let pieces = self.pieces(&tables.files, limits)?;
        let found = in_parallel(pieces.len(), limits, |at, limits| {
            let (table, group, file) = &pieces[at];
            self.resolve_group((of, tables), &known, (table, *group, *file), limits)
        })?;
        let mut all: Ends = Default::default();
        all.iter_mut().for_each(|side| side.reserve_exact(tables.rows.count() as usize));
        for piece in found {
            all.iter_mut().zip(piece).for_each(|(all, mut piece)| all.append(&mut piece));
        }
        Ok(all)
    }

    /// The ends of the edges in a row group.
    fn resolve_group(
        &self,
        (of, tables): (&EdgeType, &TableOfEdges),
        known: &Known,
        (table, group, file): (&Table, usize, usize),
        limits: Option<&ReadContext>,
    ) -> Result<Ends> {
        let columns: Vec<&Column> = tables.names.iter().filter_map(End::column).collect();
        let mut arrays = self.column_of_group(table, group, &columns, limits)?.into_iter();
        let rows = table.rows_of(group);
        let first = tables.rows.locals(file as u64).start + rows.start;
        let mut ends: Ends = Default::default();
        let mut named: [Option<ArrayRef>; 2] = [None, None];
        for side in [Side::Source, Side::Target].map(|side| side as usize) {
            match (&tables.names[side], &known[side]) {
                (End::Column(_), Some(by_id)) => {
                    if let Some(array) = arrays.next() {
                        by_id.find(&array, &mut ends[side]);
                        named[side] = Some(array);
                    }
                }
                _ => ends[side].extend((first..first + (rows.end - rows.start)).map(|row| row as u32)),
            }
        }
        let kept = self.kept_rows((of, tables), file, limits)?;
        for at in 0..(rows.end - rows.start) as usize {
            let in_file = rows.start as usize + at;
            let is_kept = kept.iter().all(|kept| kept.has(in_file));
            let is_named = ends.iter().all(|side| side[at] != NONE);
            if is_kept && !is_named && !self.may_lack(tables, &named, at) {
                return Err(self.no_such_end((of, tables), table, &ends, &named, (at, in_file)));
            }
            if !is_kept {
                ends.iter_mut().for_each(|side| side[at] = NONE);
            }
        }
        Ok(ends)
    }

    /// Which rows of a file may be edges: those that pass the filters, of the vertices too if each row is one.
    fn kept_rows(
        &self,
        (of, tables): (&EdgeType, &TableOfEdges),
        file: usize,
        limits: Option<&ReadContext>,
    ) -> Result<Vec<Arc<Flags>>> {
        let mut kept = Vec::new();
        kept.extend(self.selected(&tables.filters, &tables.files[file], limits)?);
        for side in [Side::Source, Side::Target] {
            if let (End::Row, Some(vertices)) = (&tables.names[side as usize], self.vertex_type(of.end(side))) {
                kept.extend(self.selected_vertices(vertices, file as u64, limits)?);
            }
        }
        Ok(kept)
    }

    /// Whether a row that names no vertex is simply no edge.
    fn may_lack(&self, tables: &TableOfEdges, named: &[Option<ArrayRef>; 2], at: usize) -> bool {
        let is_null = || named.iter().flatten().any(|ids| ids.is_null(at));
        tables.missing == Missing::Skip || tables.is_foreign_key() && is_null()
    }

    fn no_such_end(
        &self,
        (of, tables): (&EdgeType, &TableOfEdges),
        table: &Table,
        ends: &Ends,
        named: &[Option<ArrayRef>; 2],
        (at, in_file): (usize, usize),
    ) -> LakeError {
        let side = if ends[0][at] == NONE { Side::Source } else { Side::Target };
        let column = tables.names[side as usize].column().map_or("", |column| &column.name);
        let id = named[side as usize].as_ref().map(|ids| value_at(ids, at)).unwrap_or_default();
        let label = self.schema.label_name(ElementKind::Vertex, of.end(side));
        let what = match id.is_null() {
            true => format!("column `{column}` names no `{label}`"),
            false => {
                let has_all = self.vertex_type(of.end(side)).is_none_or(|of| of.filters.are_none());
                let passing = if has_all { "" } else { " that passes its `where`" };
                format!("there is no `{label}` with the id {id}{passing}, which column `{column}` names")
            }
        };
        let hint = "`missing: skip` in the mapping leaves such edges out";
        LakeError::damaged(&self.tables.files.name(table.path()), format!("row {}: {what}; {hint}", in_file + 1))
    }

    /// What an index of these edges is made from.
    pub(super) fn describe_tables(&self, of: &EdgeType, tables: &TableOfEdges) -> Result<String> {
        let files = |paths: &[Arc<str>]| self.describe_files(paths, None);
        let tests = |filters: &Filters| format!("{:?}", filters.tests);
        let mut text = format!("edges of tables, 1\n{}\n{}\n", self.tables.files.full_place(), files(&tables.files)?);
        text += &format!("{:?} {}\n", tables.missing, tests(&tables.filters));
        for side in [Side::Source, Side::Target] {
            text += &format!("{:?}\n", tables.names[side as usize].column());
            if let Some(vertices) = self.vertex_type(of.end(side)) {
                let paths = vertices.files(0);
                text += &format!("{:?} {} {}\n", vertices.columns.id, tests(&vertices.filters), files(&paths)?);
            }
        }
        Ok(text)
    }

    /// The edges at places of tables; `None` where a row is no edge.
    pub(super) fn edges_of_tables(
        &self,
        of: &EdgeType,
        tables: &TableOfEdges,
        places: impl Iterator<Item = u64>,
        limits: Option<&ReadContext>,
    ) -> Result<Vec<Option<EdgeRef>>> {
        let index = self.ends_index(of, tables, limits)?;
        let edge = |place: u64| {
            Ok(index.at(place)?.map(|(source, target)| EdgeRef {
                id: EdgeId::new(of.label, 0, of.base + place),
                source: vertex(of.source, source),
                target: vertex(of.target, target),
            }))
        };
        places.map(edge).collect()
    }

    /// Verifies tables of edges: every row names vertices, which have different ids.
    pub(super) fn check_tables(&self, of: &EdgeType, tables: &TableOfEdges) -> Result<()> {
        self.resolve(of, tables, None).map(drop)
    }

    /// Verifies that the vertices of a type have different ids.
    pub(super) fn check_ids(&self, of: &VertexType) -> Result<()> {
        self.rows_by_id(of, None).map(drop)
    }
}

fn vertex(label: LabelId, row: u64) -> VertexId {
    VertexId::new(label, 0, row)
}

impl End {
    pub fn column(&self) -> Option<&Column> {
        match self {
            End::Column(column) => Some(column),
            End::Row => None,
        }
    }
}
