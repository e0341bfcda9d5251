//! Leaves out rows that cannot pass a filter, before their pages are read.

use std::ops::Range;
use std::sync::Arc;

use mangrove_graph::{ElementKind, Filter, LabelId, Predicate, ReadContext};

use super::columns::{Column, Columns, What};
use super::{Lake, VertexType};
use crate::error::Result;
use crate::pages::common;

/// A chunk of a type: some local ids, and the file of each group.
struct Chunk<'l> {
    columns: &'l Columns,
    locals: Range<u64>,
    file: Box<dyn Fn(usize) -> Arc<str> + 'l>,
}

impl Lake {
    /// The elements that may pass all filters and have one of some further labels, if any are wanted. Looks at the first chunk of
    /// those from one local id to another, and returns the local id at which that chunk ends, too.
    pub(super) fn may_pass(
        &self,
        kind: ElementKind,
        label: LabelId,
        locals: Range<u64>,
        (further, filters): (&[LabelId], &[Filter]),
        limits: Option<&ReadContext>,
    ) -> Result<(Vec<Range<u64>>, u64)> {
        let Some(chunk) = self.chunk(kind, label, locals.start) else { return Ok((Vec::new(), locals.end)) };
        let (base, end) = (chunk.locals.start, chunk.locals.end.min(locals.end));
        let mut runs: Vec<Range<u64>> = std::iter::once(locals.start - base..end - base).collect();
        if let Some(of) = self.vertex_type(label).filter(|_| kind == ElementKind::Vertex && !further.is_empty()) {
            runs = common(&runs, &self.labelled(of, base / of.info.chunk_size, further, limits)?);
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
        let bounds = table.column(&column.property.name).and_then(|(at, _)| table.bounds(at));
        Ok(match bounds {
            Some(bounds) => bounds.may_pass(predicate, |array| self.as_declared(&path, column, array.clone()).ok()),
            None => std::iter::once(0..table.rows()).collect(),
        })
    }

    /// The chunk that an element is in.
    fn chunk(&self, kind: ElementKind, label: LabelId, local: u64) -> Option<Chunk<'_>> {
        match kind {
            ElementKind::Vertex => {
                let of = self.vertex_type(label).filter(|of| local < of.count)?;
                Some(vertex_chunk(of, local / of.info.chunk_size))
            }
            ElementKind::Edge => {
                let (number, place) = self.edge_type(label, local)?;
                let of = &self.edges[number];
                let (part, row) = of.first.part_of(place);
                let (chunk, size) = (row / of.info.chunk_size, of.info.chunk_size);
                let first = of.base + of.first.starts[part as usize];
                let end = (first + (chunk + 1) * size).min(of.base + of.first.starts[part as usize + 1]);
                let file = move |group: usize| of.first.file(Some(&of.info.groups[group].prefix), part, chunk);
                Some(Chunk { columns: &of.columns, locals: first + chunk * size..end, file: Box::new(file) })
            }
        }
    }
}

fn vertex_chunk(of: &VertexType, chunk: u64) -> Chunk<'_> {
    let first = chunk * of.info.chunk_size;
    let locals = first..of.count.min(first + of.info.chunk_size);
    Chunk { columns: &of.columns, locals, file: Box::new(move |group| of.file(group, chunk)) }
}
