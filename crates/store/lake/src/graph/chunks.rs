//! Which elements lie together in files, and what tells the files of a lake from others. For processes that share one lake.

use std::ops::Range;

use mangrove_graph::{ElementKind, LabelId};
use xxhash_rust::xxh3::Xxh3;

use super::{EdgeType, Lake, Layout, VertexFiles, VertexType};
use crate::error::{LakeError, Result};
use crate::files::OpenFile;

/// A longer file is cut into parts of so many elements.
const CHUNK_ROWS_MAX: u64 = 1 << 18;

impl Lake {
    /// The first local id of each chunk of a label; at the end, the number of local ids. A chunk is a file, or a part of a long one.
    pub fn chunk_starts(&self, kind: ElementKind, label: LabelId) -> Vec<u64> {
        let mut starts = vec![0];
        match kind {
            ElementKind::Vertex => {
                if let Some(VertexType { rows, .. }) = self.vertex_type(label) {
                    (0..rows.chunks()).for_each(|chunk| cut(&mut starts, rows.locals(chunk), CHUNK_ROWS_MAX));
                }
            }
            ElementKind::Edge => {
                self.edges.iter().filter(|of| of.label == label).for_each(|of| of.add_chunks(&mut starts));
            }
        }
        starts
    }

    /// A number that another state of the files does not have. It is the same for all processes that read them, on every machine: of files on
    /// disks, if they were copied with their times. From now on, a file that is opened must be as it was listed here.
    ///
    /// # Errors
    /// If the files cannot be listed. From a web server, which need not list any, it depends on the descriptions only then.
    pub fn fingerprint(&self) -> Result<u128> {
        let mut hash = Xxh3::new();
        hash.update(&self.description.to_le_bytes());
        for kind in [ElementKind::Vertex, ElementKind::Edge] {
            for (label, of) in (0..).zip(self.schema.labels(kind).iter()) {
                hash.update(of.name.as_bytes());
                self.chunk_starts(kind, LabelId(label)).iter().for_each(|start| hash.update(&start.to_le_bytes()));
            }
        }
        match self.files() {
            Ok(files) => {
                files.iter().for_each(|file| hash.update(file.described().as_bytes()));
                self.tables.must_be(files);
            }
            Err(error @ (LakeError::Store { .. } | LakeError::Missing { .. })) if self.tables.files.may_be_unlisted() => {
                tracing::info!(%error, "changes of single files are not noticed at once")
            }
            Err(LakeError::Store { file, reason }) => return Err(LakeError::Unlisted { file, reason }),
            Err(LakeError::Missing { file }) => {
                return Err(LakeError::Unlisted { file, reason: "it says that there is no such place".into() });
            }
            Err(error) => return Err(error),
        }
        Ok(hash.digest128())
    }

    /// The files as they are now, in the order of paths. Tables are as they were when they were opened.
    fn files(&self) -> Result<Vec<OpenFile>> {
        if self.tables.are_listed() {
            let mut all: Vec<OpenFile> = self.tables.opened().iter().map(|table| table.file().clone()).collect();
            all.sort_unstable_by(|a, b| a.path.cmp(&b.path));
            return Ok(all);
        }
        let of_vertices = self.vertices.iter().filter_map(|of| match &of.files {
            VertexFiles::GraphAr { folder, .. } => Some(folder.as_str()),
            VertexFiles::Tables(_) => None,
        });
        let of_edges = self.edges.iter().filter_map(|of| match &of.layout {
            Layout::Lists(lists) => Some(lists.folder.as_str()),
            Layout::Tables(_) => None,
        });
        let mut folders: Vec<&str> = of_vertices.chain(of_edges).collect();
        folders.sort_unstable();
        folders.dedup();
        let mut all = Vec::new();
        for folder in folders {
            all.extend(self.tables.files.all_below(folder)?);
        }
        Ok(all)
    }
}

impl EdgeType {
    fn add_chunks(&self, starts: &mut Vec<u64>) {
        let (of, size): (Vec<Range<u64>>, u64) = match &self.layout {
            Layout::Lists(lists) => {
                let parts = lists.first.starts.windows(2).map(|part| part[0]..part[1]).collect();
                (parts, lists.info.chunk_size.min(CHUNK_ROWS_MAX))
            }
            Layout::Tables(tables) => {
                ((0..tables.rows.chunks()).map(|chunk| tables.rows.locals(chunk)).collect(), CHUNK_ROWS_MAX)
            }
        };
        of.into_iter().for_each(|places| cut(starts, self.base + places.start..self.base + places.end, size));
    }
}

/// Adds the ends of the chunks of a file.
fn cut(starts: &mut Vec<u64>, of_file: Range<u64>, size: u64) {
    let mut at = of_file.start;
    while at < of_file.end {
        at = of_file.end.min(at.saturating_add(size.max(1)));
        starts.push(at);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_file_has_several_chunks_and_an_empty_one_none() {
        let mut starts = vec![0];
        [0..10, 10..10, 10..14].into_iter().for_each(|file| cut(&mut starts, file, 4));
        assert_eq!(starts, [0, 4, 8, 10, 14]);
    }
}
