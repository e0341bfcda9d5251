//! The neighbours of vertices along each symbol. They are read from the graph once, many vertices at a time, and then kept as numbers.

use std::ops::Range;

use hashbrown::HashMap;
use mangrove_graph::{
    Adjacency, Direction, ElementKind, GraphView, Hop, LabelId, Numbering, ReadContext, Result, Scan, VertexId, Wants,
};

/// Vertices whose edges are read together.
const AT_ONCE: usize = 8192;

/// Stands for the number of neighbours that were not read.
const UNREAD: u32 = u32::MAX;

/// Numbers of vertices: 0, 1, 2 …
enum Numbers {
    /// Of those that were met, in the order in which they were.
    Met(HashMap<VertexId, u32>),
    /// Of all, in the order of their ids.
    All(Numbering),
}

/// The edges along one symbol.
struct Along {
    /// `None` if no edge has the label.
    hop: Option<Hop>,
    /// The labels of vertices that have such edges; `None` if any may.
    labels: Option<Vec<LabelId>>,
    /// The number of the first vertex that may have such edges.
    first: u32,
    /// For each vertex from there on the place of its neighbours among the entries, and how many there are: [`UNREAD`] if they are not read
    /// yet.
    places: Vec<(u64, u32)>,
    entries: Vec<u32>,
}

/// What was read so far. Threads share it.
pub struct Neighbours {
    along: Vec<Along>,
}

pub struct Lists<'v> {
    view: &'v dyn GraphView,
    limits: &'v ReadContext,
    numbers: Numbers,
    vertices: Vec<VertexId>,
    known: Neighbours,
    /// What was kept along other symbols.
    others: HashMap<Kept, Along>,
}

/// What path queries have read of all vertices of one state of a graph, for further queries on the same state.
#[derive(Default)]
pub struct KeptLists {
    numbers: Option<(Numbering, Vec<VertexId>)>,
    along: HashMap<Kept, Along>,
}

/// The label of a hop, and its direction.
type Kept = (Option<LabelId>, Direction);

fn kept(hop: &Hop) -> Kept {
    (hop.labels.as_ref().and_then(|labels| labels.first().copied()), hop.direction)
}

impl KeptLists {
    /// The bytes that they take.
    pub fn bytes(&self) -> usize {
        let vertices = self.numbers.as_ref().map_or(0, |(_, vertices)| vertices.len() * size_of::<VertexId>());
        vertices + self.along.values().map(Along::bytes).sum::<usize>()
    }
}

impl Along {
    fn new(view: &dyn GraphView, hop: Option<Hop>) -> Self {
        let labels = hop.as_ref().and_then(|hop| begins(view, hop));
        Self { hop, labels, first: 0, places: Vec::new(), entries: Vec::new() }
    }

    fn bytes(&self) -> usize {
        self.places.len() * size_of::<(u64, u32)>() + self.entries.len() * size_of::<u32>()
    }
}

impl Neighbours {
    /// The neighbours of a vertex, each once. They must have been read.
    pub fn of(&self, symbol: u32, vertex: u32) -> &[u32] {
        let along = &self.along[symbol as usize];
        match along.places.get(vertex.wrapping_sub(along.first) as usize) {
            Some((_, UNREAD)) | None => &[],
            Some((start, count)) => &along.entries[*start as usize..][..*count as usize],
        }
    }
}

impl<'v> Lists<'v> {
    /// Over the vertices that searches meet. Numbers take a hash table.
    pub fn of_met(view: &'v dyn GraphView, limits: &'v ReadContext, hops: Vec<Option<Hop>>) -> Self {
        let known = Neighbours { along: hops.into_iter().map(|hop| Along::new(view, hop)).collect() };
        let (numbers, others) = (Numbers::Met(HashMap::new()), HashMap::new());
        Self { view, limits, numbers, vertices: Vec::new(), known, others }
    }

    /// Over all vertices of the graph, with what others have read of it. O(V), unless it is kept.
    pub fn of_all(
        view: &'v dyn GraphView,
        limits: &'v ReadContext,
        hops: Vec<Option<Hop>>,
        mut before: KeptLists,
    ) -> Result<Self> {
        let (numbering, vertices) = match before.numbers.take() {
            Some(numbers) => numbers,
            None => {
                let numbering = Numbering::new(view, &Scan::default())?;
                let vertices = numbering.slice(0..numbering.count());
                (numbering, vertices)
            }
        };
        limits.budget.fits(vertices.len() * size_of::<VertexId>())?;
        let mut along = Vec::with_capacity(hops.len());
        for hop in hops {
            let known = hop.as_ref().and_then(|hop| before.along.remove(&kept(hop)));
            along.push(known.unwrap_or_else(|| {
                let new = Along::new(view, hop);
                Along { first: beginning(&numbering, &new).start, ..new }
            }));
        }
        let numbers = Numbers::All(numbering);
        Ok(Self { view, limits, numbers, vertices, known: Neighbours { along }, others: before.along })
    }

    /// All that was read, for the next query.
    pub fn into_kept(self) -> KeptLists {
        let Numbers::All(numbering) = self.numbers else { return KeptLists::default() };
        let mut along = self.others;
        for of in self.known.along {
            if let Some(hop) = &of.hop {
                along.insert(kept(hop), of);
            }
        }
        KeptLists { numbers: Some((numbering, self.vertices)), along }
    }

    /// The edge labels of a symbol: none if the graph has no such label; `None` for all.
    pub fn labels(&self, symbol: u32) -> Option<&[LabelId]> {
        match &self.known.along[symbol as usize].hop {
            None => Some(&[]),
            Some(hop) => hop.labels.as_deref(),
        }
    }

    pub fn has_all(&self) -> bool {
        matches!(self.numbers, Numbers::All(_))
    }

    /// How many vertices have numbers.
    pub fn len(&self) -> usize {
        self.vertices.len()
    }

    pub fn vertex(&self, number: u32) -> VertexId {
        self.vertices[number as usize]
    }

    /// The number of a vertex.
    pub fn number(&mut self, vertex: VertexId) -> Option<u32> {
        let Self { numbers, vertices, .. } = self;
        number_in(numbers, vertices, vertex)
    }

    /// How many neighbours were read so far.
    pub fn entries(&self) -> u64 {
        self.known.along.iter().map(|along| along.entries.len() as u64).sum()
    }

    pub fn bytes(&self) -> usize {
        self.vertices.len() * size_of::<VertexId>() + self.known.along.iter().map(Along::bytes).sum::<usize>()
    }

    pub fn known(&self) -> &Neighbours {
        &self.known
    }

    /// Reads the neighbours of these vertices, unless they are known.
    pub fn read(&mut self, symbol: u32, of: &[u32]) -> Result<()> {
        let unknown = |along: &Along, number: u32| {
            let at = number.wrapping_sub(along.first) as usize;
            along.places.get(at).is_none_or(|(_, count)| *count == UNREAD)
        };
        let along = &self.known.along[symbol as usize];
        if along.hop.is_none() {
            return Ok(());
        }
        let may_begin = |number: u32| {
            let label = self.vertices[number as usize].label();
            along.labels.as_ref().is_none_or(|labels| labels.contains(&label))
        };
        let is_missing = |number: &u32| may_begin(*number) && unknown(along, *number);
        let mut missing: Vec<u32> = of.iter().copied().filter(is_missing).collect();
        missing.sort_unstable();
        missing.dedup();
        missing.chunks(AT_ONCE).try_for_each(|some| self.read_missing(symbol, some))
    }

    /// The numbers among which are those of all vertices that may have edges along a symbol.
    pub fn beginning(&self, symbol: u32) -> Range<u32> {
        match &self.numbers {
            Numbers::Met(_) => 0..self.vertices.len() as u32,
            Numbers::All(numbering) => beginning(numbering, &self.known.along[symbol as usize]),
        }
    }

    /// Reads the neighbours of all vertices.
    pub fn read_all(&mut self, symbol: u32) -> Result<()> {
        let all: Vec<u32> = self.beginning(symbol).collect();
        self.read(symbol, &all)
    }

    fn read_missing(&mut self, symbol: u32, some: &[u32]) -> Result<()> {
        let Self { view, limits, numbers, vertices, known, .. } = self;
        limits.check()?;
        let end = match numbers {
            Numbers::Met(_) => vertices.len() as u32,
            Numbers::All(numbering) => beginning(numbering, &known.along[symbol as usize]).end,
        };
        let along = &mut known.along[symbol as usize];
        let Some(hop) = &along.hop else { return Ok(()) };
        let from: Vec<VertexId> = some.iter().map(|number| vertices[*number as usize]).collect();
        let mut found = Adjacency::default();
        view.neighbors(&from, hop, &mut found)?;
        let mut at = 0;
        for (row, of) in some.iter().enumerate() {
            let start = along.entries.len();
            while found.rows.get(at).is_some_and(|of| *of as usize == row) {
                along.entries.extend(number_in(numbers, vertices, found.neighbors[at]));
                at += 1;
            }
            let count = distinct(&mut along.entries, start);
            let place = (*of - along.first) as usize;
            if along.places.len() <= place {
                along.places.resize((end.max(*of + 1) - along.first) as usize, (0, UNREAD));
            }
            along.places[place] = (start as u64, count as u32);
        }
        limits.budget.fits(self.bytes())
    }
}

fn number_in(numbers: &mut Numbers, vertices: &mut Vec<VertexId>, vertex: VertexId) -> Option<u32> {
    match numbers {
        Numbers::All(numbering) => numbering.number(vertex).map(|number| number as u32),
        Numbers::Met(known) => Some(*known.entry(vertex).or_insert_with(|| {
            vertices.push(vertex);
            vertices.len() as u32 - 1
        })),
    }
}

/// Leaves each of the last entries once, in order. Returns how many there are.
fn distinct(entries: &mut Vec<u32>, start: usize) -> usize {
    entries[start..].sort_unstable();
    let mut end = start;
    for at in start..entries.len() {
        if at == start || entries[at] != entries[end - 1] {
            entries[end] = entries[at];
            end += 1;
        }
    }
    entries.truncate(end);
    end - start
}

/// The labels of the vertices that a hop can leave; `None` if it follows edges of any label.
fn begins(view: &dyn GraphView, hop: &Hop) -> Option<Vec<LabelId>> {
    let mut begins = Vec::new();
    for label in hop.labels.as_ref()? {
        for (source, target) in view.schema().label_schema(ElementKind::Edge, *label)?.ends.iter() {
            begins.push(if hop.direction == Direction::Out { *source } else { *target });
        }
    }
    Some(begins)
}

/// The numbers from the first to the last label whose vertices may have such edges.
fn beginning(numbering: &Numbering, along: &Along) -> Range<u32> {
    let (mut range, mut first): (Option<Range<u32>>, u32) = (None, 0);
    for of in numbering.labels() {
        let end = first + of.count() as u32;
        if along.hop.is_some() && along.labels.as_ref().is_none_or(|labels| labels.contains(&of.label())) {
            range = Some(range.map_or(first, |range| range.start)..end);
        }
        first = end;
    }
    range.unwrap_or(0..0)
}

/// What a symbol follows.
pub fn hop(direction: Direction, labels: Option<Vec<LabelId>>) -> Hop {
    Hop::along(direction, labels, Wants { rows: true, neighbors: true, edges: false })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_are_left_once() {
        let mut entries = vec![9, 9, 3, 1, 3, 2, 1];
        assert_eq!(distinct(&mut entries, 2), 3);
        assert_eq!(entries, [9, 9, 1, 2, 3]);
        assert_eq!(distinct(&mut entries, 5), 0);
    }
}
