//! Verifies that the files of a lake agree with each other.

use std::sync::Arc;

use super::topology::Run;
use super::{EdgeType, Lake, List, VertexType};
use crate::error::{LakeError, Result};

/// Vertices whose edges are verified at a time.
const AT_ONCE: u64 = 1 << 14;

impl Lake {
    /// What is wrong with the files, one sentence for each thing. Reads the ends of all edges, and the footers of all other files.
    pub fn check(&self) -> Vec<String> {
        let mut problems = Vec::new();
        for of in &self.vertices {
            problems.extend(self.check_vertices(of).err().map(|error| error.to_string()));
        }
        for of in &self.edges {
            for list in [Some(&of.first), of.other.as_ref()].into_iter().flatten() {
                problems.extend(self.check_list(of, list).err().map(|error| error.to_string()));
            }
        }
        problems
    }

    fn check_vertices(&self, of: &VertexType) -> Result<()> {
        let size = of.info.chunk_size;
        for chunk in 0..of.count.div_ceil(size) {
            let rows = size.min(of.count - chunk * size);
            for group in 0..of.info.groups.len() {
                self.check_rows(of.file(group, chunk), rows)?;
            }
            if !of.labels.is_empty() {
                self.check_rows(of.folder.folder("labels").file(format_args!("chunk{chunk}")).into(), rows)?;
            }
        }
        Ok(())
    }

    fn check_rows(&self, path: Arc<str>, rows: u64) -> Result<()> {
        let table = self.tables.at(std::slice::from_ref(&path), None)?.pop();
        table.map_or(Ok(()), |table| table.must_have(&self.tables.files, rows))
    }

    fn check_list(&self, of: &EdgeType, list: &List) -> Result<()> {
        let size = of.info.chunk_size;
        for (part, bounds) in list.starts.windows(2).enumerate() {
            let (part, edges) = (part as u64, bounds[1] - bounds[0]);
            for chunk in 0..edges.div_ceil(size) {
                let rows = size.min(edges - chunk * size);
                self.check_rows(list.file(None, part, chunk), rows)?;
                for group in &of.info.groups {
                    self.check_rows(list.file(Some(&group.prefix), part, chunk), rows)?;
                }
            }
            self.check_part(of, list, part, edges)?;
        }
        Ok(())
    }

    /// The edges of a part belong to its vertices; if they are sorted, they are where the offsets say.
    fn check_part(&self, of: &EdgeType, list: &List, part: u64, edges: u64) -> Result<()> {
        let side = list.order.by;
        let (first, last) = (part * list.vertices, of.vertices(side).min((part + 1) * list.vertices));
        let wrong = |reason: String| LakeError::damaged(&self.tables.files.name(list.folder.as_str()), reason);
        let mut all = 0;
        for start in (first..last).step_by(AT_ONCE as usize).filter(|_| list.order.is_sorted && edges > 0) {
            let vertices: Vec<u64> = (start..last.min(start + AT_ONCE)).collect();
            let runs = list.runs(&self.tables, &vertices, None)?;
            let near = of.ends(&self.tables, list, &runs, side, None)?;
            let expected = vertices.iter().zip(&runs).flat_map(|(vertex, run)| (run.from..run.to).map(move |_| *vertex));
            if let Some((vertex, found)) = expected.zip(&near).find(|(vertex, found)| vertex != *found) {
                return Err(wrong(format!("an edge of vertex {found} is where those of vertex {vertex} should be")));
            }
            all += near.len() as u64;
        }
        if !list.order.is_sorted {
            let near = of.ends(&self.tables, list, &[Run { part, from: 0, to: edges }], side, None)?;
            if let Some(found) = near.iter().find(|vertex| !(first..last).contains(vertex)) {
                return Err(wrong(format!("an edge of vertex {found} is in part {part}")));
            }
            all = near.len() as u64;
        }
        if all != edges {
            return Err(wrong(format!("the offsets of part {part} lead to {all} edges of {edges}")));
        }
        of.ends(&self.tables, list, &[Run { part, from: 0, to: edges }], side.other(), None).map(drop)
    }
}
