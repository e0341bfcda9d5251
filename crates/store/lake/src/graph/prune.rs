//! Leaves out rows that cannot pass a filter, before their pages are read.

use std::ops::Range;
use std::sync::Arc;

use mangrove_graph::{ElementKind, Filter, LabelId, LabelTest, Predicate, ReadContext};

use super::Lake;
use super::columns::{Column, Columns, What};
use crate::error::Result;
use crate::pages::common;

/// A chunk of a type: some local ids, and the file of each group.
struct Chunk<'l> {
    columns: &'l Columns,
    locals: Range<u64>,
    file: Box<dyn Fn(usize) -> Arc<str> + 'l>,
}

impl Lake {
    /// The elements that may pass all filters, and whose further labels pass some tests. Looks at the first chunk of
    /// those from one local id to another, and returns the local id at which that chunk ends, too.
    pub(super) fn may_pass(
        &self,
        kind: ElementKind,
        label: LabelId,
        locals: Range<u64>,
        (tests, filters): (&[LabelTest], &[Filter]),
        limits: Option<&ReadContext>,
    ) -> Result<(Vec<Range<u64>>, u64)> {
        let Some(chunk) = self.chunk(kind, label, locals.start) else { return Ok((Vec::new(), locals.end)) };
        let (base, end) = (chunk.locals.start, chunk.locals.end.min(locals.end));
        let mut runs: Vec<Range<u64>> = std::iter::once(locals.start - base..end - base).collect();
        if let Some(of) = self.vertex_type(label).filter(|_| kind == ElementKind::Vertex) {
            let number = of.rows.chunk_of(base);
            if !tests.is_empty() {
                runs = common(&runs, &self.labelled(of, number, tests, limits)?.runs());
            }
            if let Some(kept) = self.selected_vertices(of, number, limits)? {
                runs = common(&runs, &kept.runs());
            }
        }
        for filter in filters {
            let Some(column) = chunk.columns.find(What::Key(filter.key)) else { return Ok((Vec::new(), end)) };
            runs = common(&runs, &self.rows_that_may((chunk.file)(column.group), column, &filter.predicate, limits)?);
            if runs.is_empty() {
                break;
            }
        }
        Ok((runs.into_iter().map(|run| base + run.start..base + run.end).collect(), end))
    }

    /// The rows of a file that may hold what passes a test, by the bounds of its pages.
    pub(super) fn rows_that_may(
        &self,
        path: Arc<str>,
        column: &Column,
        predicate: &Predicate,
        limits: Option<&ReadContext>,
    ) -> Result<Vec<Range<u64>>> {
        let table = self.tables.at(std::slice::from_ref(&path), limits)?.pop();
        let Some(table) = table else { return Ok(Vec::new()) };
        let place = table.column(&column.name).filter(|_| column.keeps_order());
        let bounds = place.and_then(|(at, _)| table.bounds(at));
        Ok(match bounds {
            Some(bounds) => bounds.may_pass(predicate, |array| self.as_declared(&path, column, array.clone()).ok()),
            None => std::iter::once(0..table.rows()).collect(),
        })
    }

    /// The chunk that an element is in.
    fn chunk(&self, kind: ElementKind, label: LabelId, local: u64) -> Option<Chunk<'_>> {
        match kind {
            ElementKind::Vertex => {
                let of = self.vertex_type(label).filter(|of| local < of.rows.count())?;
                let chunk = of.rows.chunk_of(local);
                let file = move |group: usize| of.file(group, chunk);
                Some(Chunk { columns: &of.columns, locals: of.rows.locals(chunk), file: Box::new(file) })
            }
            ElementKind::Edge => {
                let (number, place) = self.edge_type(label, local)?;
                let of = &self.edges[number];
                let chunk = of.chunk_of(place);
                let locals = of.base + chunk.places.start..of.base + chunk.places.end;
                Some(Chunk { columns: &of.columns, locals, file: Box::new(move |group| of.file(group, &chunk)) })
            }
        }
    }
}
