//! Further labels of vertices: a column of truth values for each.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef};
use hashbrown::HashMap;
use mangrove_graph::{LabelId, ReadContext, VertexId};

use super::{Lake, VertexType};
use crate::error::{LakeError, Result};
use crate::pages::{self, Wanted};

/// The vertices of a batch whose labels are in one file.
struct InFile<'l> {
    of: &'l VertexType,
    path: Arc<str>,
    /// Their positions in the batch.
    at: Vec<usize>,
    /// Their rows in the file.
    rows: Vec<u64>,
}

impl Lake {
    /// The further labels of each vertex, sorted.
    pub(super) fn further_labels(&self, vertices: &[VertexId], limits: Option<&ReadContext>) -> Result<Vec<Vec<LabelId>>> {
        let mut all = vec![Vec::new(); vertices.len()];
        let files = self.files_of_labels(vertices);
        let paths: Vec<Arc<str>> = files.iter().map(|file| file.path.clone()).collect();
        let tables = self.tables.at(&paths, limits)?;
        let mut wanted = Vec::new();
        for (file, table) in files.iter().zip(&tables) {
            for (at, name) in file.of.info.labels.iter().enumerate() {
                // The C++ library finds them by their order; so do we, if a name is missing.
                let column = table.column(name).map_or(at, |(column, _)| column);
                if column >= table.columns() {
                    return Err(LakeError::damaged(
                        &self.tables.files.name(&file.path),
                        format!("it has no column `{name}`"),
                    ));
                }
                wanted.push(Wanted { table, column, rows: &file.rows });
            }
        }
        let mut arrays = pages::read(&self.tables.files, &self.tables.pages, &wanted, limits)?.into_iter();
        for file in &files {
            for (label, array) in file.of.labels.iter().zip(arrays.by_ref()) {
                self.flagged(file, &array)?.for_each(|at| all[at].push(*label));
            }
        }
        all.iter_mut().for_each(|labels| labels.sort_unstable());
        Ok(all)
    }

    fn files_of_labels(&self, vertices: &[VertexId]) -> Vec<InFile<'_>> {
        let mut files: Vec<InFile<'_>> = Vec::new();
        let mut numbers: HashMap<(LabelId, u64), usize> = HashMap::new();
        for (at, vertex) in vertices.iter().enumerate() {
            let (label, local) = (vertex.label(), vertex.local());
            let Some(of) = self.vertex_type(label).filter(|of| !of.labels.is_empty() && local < of.count) else { continue };
            let chunk = local / of.info.chunk_size;
            let number = *numbers.entry((label, chunk)).or_insert_with(|| {
                let path = of.folder.folder("labels").file(format_args!("chunk{chunk}")).into();
                files.push(InFile { of, path, at: Vec::new(), rows: Vec::new() });
                files.len() - 1
            });
            files[number].at.push(at);
            files[number].rows.push(local % of.info.chunk_size);
        }
        files
    }

    /// The positions in the batch of the vertices that have a label.
    fn flagged<'f>(&self, file: &'f InFile<'_>, array: &'f ArrayRef) -> Result<impl Iterator<Item = usize> + 'f> {
        let Some(flags) = array.as_boolean_opt() else {
            let reason = format!("a label holds {}, not truth values", array.data_type());
            return Err(LakeError::damaged(&self.tables.files.name(&file.path), reason));
        };
        Ok(file.at.iter().enumerate().filter(|(row, _)| flags.is_valid(*row) && flags.value(*row)).map(|(_, at)| *at))
    }
}
