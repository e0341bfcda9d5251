//! Verifies that the files of a lake agree with each other.

use std::sync::Arc;

use super::topology::Run;
use super::{EdgeType, Lake, Layout, List, Lists, VertexFiles, VertexType};
use crate::error::{LakeError, Result};
use crate::info::Side;

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
            match &of.layout {
                Layout::Lists(lists) => self.check_lists(of, lists, &mut problems),
                Layout::Tables(tables) => {
                    problems.extend(self.check_tables(of, tables).err().map(|error| error.to_string()));
                }
            }
        }
        problems
    }

    fn check_lists(&self, of: &EdgeType, lists: &Lists, problems: &mut Vec<String>) {
        let sums: Vec<u64> = [Some(&lists.first), lists.other.as_ref()]
            .into_iter()
            .flatten()
            .filter_map(|list| self.check_list((of, lists), list).map_err(|error| problems.push(error.to_string())).ok())
            .collect();
        if sums.windows(2).any(|two| two[0] != two[1]) {
            let name = self.tables.files.name(lists.folder.as_str());
            problems.push(format!("{name}: its lists hold different edges"));
        }
    }

    fn check_vertices(&self, of: &VertexType) -> Result<()> {
        let VertexFiles::GraphAr { info, .. } = &of.files else { return self.check_ids(of) };
        for chunk in 0..of.rows.chunks() {
            let rows = of.rows_of(chunk);
            for group in 0..info.groups.len() {
                self.check_rows(of.file(group, chunk), rows)?;
            }
            if let Some(labels) = of.labels_file(chunk).filter(|_| !of.labels.is_empty()) {
                self.check_rows(labels, rows)?;
            }
        }
        Ok(())
    }

    fn check_rows(&self, path: Arc<str>, rows: u64) -> Result<()> {
        let table = self.tables.at(std::slice::from_ref(&path), None)?.pop();
        table.map_or(Ok(()), |table| table.must_have(&self.tables.files, rows))
    }

    /// Verifies a list. Returns a sum of its edges that does not depend on their order.
    fn check_list(&self, (of, lists): (&EdgeType, &Lists), list: &List) -> Result<u64> {
        let (size, mut sum) = (lists.info.chunk_size, 0u64);
        for (part, bounds) in list.starts.windows(2).enumerate() {
            let (part, edges) = (part as u64, bounds[1] - bounds[0]);
            for chunk in 0..edges.div_ceil(size) {
                let rows = size.min(edges - chunk * size);
                self.check_rows(list.file(None, part, chunk), rows)?;
                for group in &lists.info.groups {
                    self.check_rows(list.file(Some(&group.prefix), part, chunk), rows)?;
                }
            }
            sum = sum.wrapping_add(self.check_part((of, lists), list, part, edges)?);
        }
        Ok(sum)
    }

    /// The edges of a part belong to its vertices; if they are sorted, they are where the offsets say. Returns their sum.
    fn check_part(&self, (of, lists): (&EdgeType, &Lists), list: &List, part: u64, edges: u64) -> Result<u64> {
        let side = list.order.by;
        let (first, last) = (part * list.vertices, of.vertices(side).min((part + 1) * list.vertices));
        let wrong = |reason: String| LakeError::damaged(&self.tables.files.name(list.folder.as_str()), reason);
        let mut all = 0;
        for start in (first..last).step_by(AT_ONCE as usize).filter(|_| list.order.is_sorted && edges > 0) {
            let vertices: Vec<u64> = (start..last.min(start + AT_ONCE)).collect();
            let runs = list.runs(&self.tables, &vertices, None)?;
            let near = of.ends_of(&self.tables, (lists, list), &runs, side, None)?;
            let expected = vertices.iter().zip(&runs).flat_map(|(vertex, run)| (run.from..run.to).map(move |_| *vertex));
            if let Some((vertex, found)) = expected.zip(&near).find(|(vertex, found)| vertex != *found) {
                return Err(wrong(format!("an edge of vertex {found} is where those of vertex {vertex} should be")));
            }
            all += near.len() as u64;
        }
        if !list.order.is_sorted {
            let near = of.ends_of(&self.tables, (lists, list), &[Run { part, from: 0, to: edges }], side, None)?;
            if let Some(found) = near.iter().find(|vertex| !(first..last).contains(vertex)) {
                return Err(wrong(format!("an edge of vertex {found} is in part {part}")));
            }
            all = near.len() as u64;
        }
        if all != edges {
            return Err(wrong(format!("the offsets of part {part} lead to {all} edges of {edges}")));
        }
        let whole = [Run { part, from: 0, to: edges }];
        let sources = of.ends_of(&self.tables, (lists, list), &whole, Side::Source, None)?;
        let targets = of.ends_of(&self.tables, (lists, list), &whole, Side::Target, None)?;
        Ok(sources.iter().zip(&targets).fold(0, |sum: u64, edge| sum.wrapping_add(mixed(edge))))
    }
}

/// A number that tells an edge from others.
fn mixed((source, target): (&u64, &u64)) -> u64 {
    let mut bits = source.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ target.rotate_left(32).wrapping_mul(0xc2b2_ae3d_27d4_eb4f);
    bits ^= bits >> 29;
    bits.wrapping_mul(0xbf58_476d_1ce4_e5b9) ^ (bits >> 32)
}
