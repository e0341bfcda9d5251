//! Dense numbers for vertices: 0, 1, 2 … in the order of ids, or in another one.

use std::ops::Range;

use crate::error::Result;
use crate::id::{LabelId, VertexId};
use crate::view::{GraphView, Scan, ScanCursor};

/// Vertices that are read at a time.
const PAGE: usize = 8192;

/// The vertices of one label.
#[derive(Clone, Debug)]
pub struct LabelNumbering {
    label: LabelId,
    count: u64,
    /// All vertices, unless their local ids are 0, 1, 2 …
    sparse: Option<Vec<VertexId>>,
    /// Unless their order is that of ids.
    order: Option<Order>,
}

/// An order of vertices other than that of their ids.
#[derive(Clone, Debug)]
struct Order {
    /// The place of each among the ids.
    places: Vec<u32>,
    /// The number of the vertex at each of these places.
    numbers: Vec<u32>,
}

impl Order {
    fn new(places: Vec<u32>) -> Self {
        let mut numbers = vec![0; places.len()];
        places.iter().zip(0..).for_each(|(place, number)| numbers[*place as usize] = number);
        Self { places, numbers }
    }
}

impl LabelNumbering {
    /// No vertices.
    pub fn new(label: LabelId) -> Self {
        Self { label, count: 0, sparse: None, order: None }
    }

    /// The next vertex of the label, whose id is greater than those before.
    pub fn push(&mut self, vertex: VertexId) {
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

    pub fn label(&self) -> LabelId {
        self.label
    }

    pub fn count(&self) -> u64 {
        self.count
    }

    /// The number of a vertex of the label; `None` if it has none. O(1), or O(log vertices) if local ids are missing.
    pub fn number(&self, vertex: VertexId) -> Option<u64> {
        let place = match &self.sparse {
            None => Some(vertex.local()).filter(|local| *local < self.count && vertex.shard() == 0),
            Some(all) => all.binary_search(&vertex).ok().map(|at| at as u64),
        }?;
        Some(self.order.as_ref().map_or(place, |order| order.numbers[place as usize].into()))
    }

    /// The vertices with some numbers.
    pub fn slice(&self, numbers: Range<u64>) -> Vec<VertexId> {
        let at = |place: u64| match &self.sparse {
            None => VertexId::new(self.label, 0, place),
            Some(all) => all[place as usize],
        };
        match &self.order {
            None => numbers.map(at).collect(),
            Some(order) => {
                let places = &order.places[numbers.start as usize..numbers.end as usize];
                places.iter().map(|place| at((*place).into())).collect()
            }
        }
    }
}

/// The vertices that pass a scan, label after label.
#[derive(Clone, Debug)]
pub struct Numbering {
    /// Those with vertices, in the order of labels.
    labels: Vec<LabelNumbering>,
    /// The first number of each of these; at the end, the number of vertices.
    firsts: Vec<u64>,
    /// For each label of the schema, its place among these.
    places: Vec<Option<u32>>,
}

impl Numbering {
    /// Reads the ids of all vertices that pass. It takes 8 bytes for each vertex of a label of which some do not, or were removed.
    pub fn new(view: &dyn GraphView, scan: &Scan) -> Result<Self> {
        let mut numbering =
            Self { labels: Vec::new(), firsts: vec![0], places: vec![None; view.schema().vertex_labels.len()] };
        let (mut cursor, mut page) = (ScanCursor::default(), Vec::new());
        while !cursor.done {
            page.clear();
            view.scan_vertices(scan, &mut cursor, PAGE, &mut page)?;
            page.iter().for_each(|vertex| numbering.push(*vertex));
        }
        Ok(numbering)
    }

    /// The vertices 0, 1, 2 … of one label.
    pub fn dense(label: LabelId, count: u64) -> Self {
        let mut places = vec![None; usize::from(label.0) + 1];
        places[usize::from(label.0)] = Some(0);
        let labels = vec![LabelNumbering { label, count, sparse: None, order: None }];
        Self { labels, firsts: vec![0, count], places }
    }

    /// The same vertices with numbers in another order: `order` says which number comes first, second and so on. The numbers of a
    /// label still follow each other, so each label has the order of its own vertices. It takes 8 bytes for each vertex.
    ///
    /// # Panics
    /// If `order` does not name each number once.
    pub fn ordered(&self, order: &[u32]) -> Self {
        assert_eq!(order.len() as u64, self.count(), "an order names each vertex");
        let mut of_labels: Vec<Vec<u32>> = self.labels.iter().map(|of| Vec::with_capacity(of.count as usize)).collect();
        for number in order {
            let label = self.firsts.partition_point(|first| *first <= u64::from(*number)) - 1;
            let within = u64::from(*number) - self.firsts[label];
            of_labels[label].push(match &self.labels[label].order {
                None => within as u32,
                Some(order) => order.places[within as usize],
            });
        }
        let mut ordered = self.clone();
        for (of, places) in ordered.labels.iter_mut().zip(of_labels) {
            assert_eq!(places.len() as u64, of.count, "an order names each vertex once");
            of.order = Some(Order::new(places));
        }
        ordered
    }

    /// Those with vertices, in the order of labels.
    pub fn labels(&self) -> &[LabelNumbering] {
        &self.labels
    }

    fn push(&mut self, vertex: VertexId) {
        let label = vertex.label();
        if self.labels.last().is_none_or(|last| last.label != label) {
            self.places[usize::from(label.0)] = Some(self.labels.len() as u32);
            self.labels.push(LabelNumbering::new(label));
            self.firsts.push(self.count());
        }
        if let (Some(last), Some(end)) = (self.labels.last_mut(), self.firsts.last_mut()) {
            last.push(vertex);
            *end += 1;
        }
    }

    /// The number of all vertices.
    pub fn count(&self) -> u64 {
        self.firsts.last().copied().unwrap_or(0)
    }

    /// The vertices of one label, which have numbers of their own; `None` if there are none.
    pub fn of(&self, label: LabelId) -> Option<&LabelNumbering> {
        let place = (*self.places.get(usize::from(label.0))?)?;
        self.labels.get(place as usize)
    }

    /// The number of vertices of a label.
    pub fn count_of(&self, label: LabelId) -> u64 {
        self.of(label).map_or(0, LabelNumbering::count)
    }

    /// The number of a vertex; `None` if it did not pass.
    pub fn number(&self, vertex: VertexId) -> Option<u64> {
        let place = (*self.places.get(usize::from(vertex.label().0))?)? as usize;
        Some(self.firsts[place] + self.labels[place].number(vertex)?)
    }

    /// The vertices with some numbers. O(vertices + log labels).
    pub fn slice(&self, numbers: Range<u64>) -> Vec<VertexId> {
        let mut all = Vec::with_capacity((numbers.end - numbers.start) as usize);
        let first = self.firsts.partition_point(|first| *first <= numbers.start).saturating_sub(1);
        for (of, first) in self.labels.iter().zip(&self.firsts).skip(first) {
            let (start, end) = (numbers.start.max(*first), numbers.end.min(first + of.count));
            if start >= end {
                break;
            }
            all.append(&mut of.slice(start - first..end - first));
        }
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_no_holes() {
        let vertex = |local| VertexId::new(LabelId(3), 0, local);
        for locals in [vec![0, 1, 2, 3], vec![0, 1, 5, 6], vec![2, 9]] {
            let mut numbering = LabelNumbering::new(LabelId(3));
            locals.iter().for_each(|local| numbering.push(vertex(*local)));
            let all: Vec<VertexId> = locals.iter().map(|local| vertex(*local)).collect();
            assert_eq!(numbering.slice(0..numbering.count()), all);
            assert!(all.iter().enumerate().all(|(at, vertex)| numbering.number(*vertex) == Some(at as u64)));
            assert_eq!(numbering.number(vertex(4)), None);
        }
    }

    #[test]
    fn labels_follow_each_other() {
        let all: Vec<VertexId> =
            [(0, 0), (0, 1), (2, 3), (2, 4), (5, 0)].map(|(label, local)| VertexId::new(LabelId(label), 0, local)).into();
        let mut numbering = Numbering { labels: Vec::new(), firsts: vec![0], places: vec![None; 6] };
        all.iter().for_each(|vertex| numbering.push(*vertex));
        assert_eq!(numbering.count(), 5);
        for start in 0..5 {
            assert_eq!(numbering.slice(start..5), all[start as usize..]);
            assert_eq!(numbering.number(all[start as usize]), Some(start));
        }
        assert_eq!(numbering.number(VertexId::new(LabelId(1), 0, 0)), None);
        let dense = Numbering::dense(LabelId(2), 3);
        assert_eq!(dense.slice(1..3), [1, 2].map(|local| VertexId::new(LabelId(2), 0, local)));
        assert_eq!(dense.number(VertexId::new(LabelId(2), 0, 2)), Some(2));
        assert_eq!(dense.number(VertexId::new(LabelId(2), 0, 3)), None);
    }

    #[test]
    fn vertices_come_in_another_order_label_by_label() {
        let all: Vec<VertexId> =
            [(0, 0), (0, 1), (0, 2), (2, 3), (2, 9)].map(|(label, local)| VertexId::new(LabelId(label), 0, local)).into();
        let mut plain = Numbering { labels: Vec::new(), firsts: vec![0], places: vec![None; 6] };
        all.iter().for_each(|vertex| plain.push(*vertex));
        let ordered = plain.ordered(&[4, 2, 0, 3, 1]);
        let wanted = [2, 0, 1, 4, 3].map(|at: usize| all[at]);
        assert_eq!(ordered.slice(0..5), wanted);
        assert_eq!(ordered.slice(1..4), wanted[1..4]);
        assert!(wanted.iter().zip(0..).all(|(vertex, number)| ordered.number(*vertex) == Some(number)));
        // Back to the order of ids, and to another one from there.
        assert_eq!(ordered.ordered(&[1, 2, 0, 4, 3]).slice(0..5), all);
        assert_eq!(ordered.of(LabelId(2)).map(|of| of.slice(0..2)), Some(vec![all[4], all[3]]));
        assert_eq!(ordered.number(VertexId::new(LabelId(2), 0, 4)), None);
    }
}
