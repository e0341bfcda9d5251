//! The index of each vertex in its type.

use hashbrown::HashMap;
use mangrove_graph::{ElementKind, GraphView, LabelId, Scan, ScanCursor, VertexId};

use crate::error::Result;

/// The vertices of all labels, in the order of their ids.
#[derive(Default)]
pub struct Orders(HashMap<LabelId, VertexOrder>);

/// The vertices of a label.
pub struct VertexOrder {
    label: LabelId,
    count: u64,
    /// All vertices, unless their local ids are 0, 1, 2 …
    sparse: Option<Vec<VertexId>>,
}

/// Vertices that are read at a time.
const PAGE: usize = 8192;

impl Orders {
    /// Reads the ids of all vertices. It takes 8 bytes for each vertex of a label that has lost some.
    pub fn new(view: &dyn GraphView) -> Result<Self> {
        let mut all = HashMap::new();
        for (label, _) in view.schema().known_labels(ElementKind::Vertex) {
            all.insert(label, VertexOrder::new(view, label)?);
        }
        Ok(Self(all))
    }

    /// The vertices of a label, if there are any.
    pub fn of(&self, label: LabelId) -> Option<&VertexOrder> {
        self.0.get(&label)
    }

    pub fn count(&self, label: LabelId) -> u64 {
        self.of(label).map_or(0, |order| order.count)
    }
}

impl VertexOrder {
    fn new(view: &dyn GraphView, label: LabelId) -> Result<Self> {
        let scan = Scan::of(label);
        let (mut cursor, mut page) = (ScanCursor::default(), Vec::new());
        let mut order = VertexOrder { label, count: 0, sparse: None };
        while !cursor.done {
            page.clear();
            view.scan_vertices(&scan, &mut cursor, PAGE, &mut page)?;
            page.iter().filter(|vertex| vertex.label() == label).for_each(|vertex| order.push(*vertex));
        }
        Ok(order)
    }

    fn push(&mut self, vertex: VertexId) {
        match &mut self.sparse {
            Some(all) => all.push(vertex),
            None if vertex == VertexId::new(self.label, 0, self.count) => {}
            none => {
                let before = (0..self.count).map(|local| VertexId::new(self.label, 0, local));
                *none = Some(before.chain([vertex]).collect());
            }
        }
        self.count += 1;
    }

    /// The index of a vertex; `None` if it is not there. O(1), or O(log vertices) if the label has lost some.
    pub fn index(&self, vertex: VertexId) -> Option<u64> {
        match &self.sparse {
            None => Some(vertex.local()).filter(|local| *local < self.count && vertex.shard() == 0),
            Some(all) => all.binary_search(&vertex).ok().map(|at| at as u64),
        }
    }

    /// The vertices from one index to another.
    pub fn slice(&self, indexes: std::ops::Range<u64>) -> Vec<VertexId> {
        match &self.sparse {
            None => indexes.map(|local| VertexId::new(self.label, 0, local)).collect(),
            Some(all) => all[indexes.start as usize..indexes.end as usize].to_vec(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn indexes_have_no_holes() {
        let vertex = |local| VertexId::new(LabelId(3), 0, local);
        for locals in [vec![0, 1, 2, 3], vec![0, 1, 5, 6], vec![2, 9]] {
            let mut order = VertexOrder { label: LabelId(3), count: 0, sparse: None };
            locals.iter().for_each(|local| order.push(vertex(*local)));
            let all: Vec<VertexId> = locals.iter().map(|local| vertex(*local)).collect();
            assert_eq!(order.slice(0..order.count), all);
            assert!(all.iter().enumerate().all(|(at, vertex)| order.index(*vertex) == Some(at as u64)));
            assert_eq!(order.index(vertex(4)), None);
        }
    }
}
